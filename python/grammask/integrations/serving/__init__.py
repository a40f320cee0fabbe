"""The code that adapters of servers and generation loops share; it needs no library but numpy.

``request_grammars`` reads the constraint of a request, ``server_vocabulary`` the tokenizer of a server.
``request_matcher`` is a matcher with the end tokens of one request, and ``request_budget`` sets its token budget.
``row_tracking`` finds the matcher of each row of a batch from token ids alone.
"""
