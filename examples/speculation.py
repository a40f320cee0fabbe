"""Speculative decoding: validate a draft in one call, roll back rejected tokens, and try branches on forks."""

from grammask import Grammar, Vocabulary
from grammask._grammask import encode_ordinary

vocabulary = Vocabulary.default()
grammar = Grammar.from_kbnf("""
    start ::= "SELECT " column { ", " column } " FROM " table ";";
    column ::= "name" | "age" | "city";
    table ::= "people" | "places";
""")
matcher = grammar.compile(vocabulary).matcher()

# A draft model proposes tokens; the grammar allows a prefix of them. The state does not change.
draft = encode_ordinary("o200k_base", "SELECT name, age FROM people WHERE")
fits = matcher.validate(draft)
print("the grammar takes", fits, "of", len(draft), "drafted tokens")

# The tokens are accepted one by one; a token that is not allowed leaves the state unchanged.
print([matcher.accept(token) for token in draft])
print(matcher.explain(draft[fits]))

# The target model rejects the last two of them, which are rolled back.
matcher.rollback(2)
print("left:", [vocabulary.token(token) for token in matcher.tokens])

# Branches are forks; a fork copies a list of numbers.
for ending in (" FROM people;", " FROM", ", city FROM p"):
    branch = matcher.fork()
    print(repr(ending), branch.accept_bytes(ending.encode()), "then must come", branch.forced_bytes())
print("the trunk is still", matcher)
