"""The interface of the ``kbnf`` package, 0.4.2, on grammask's engine: ``from grammask import kbnf``.

Names are those of kbnf, and masks are exact. The intended differences are:

- A text ends with the first token after which it is complete; a token with a complete text as a proper prefix does not
  end it.
- A failed call changes neither the engine nor the logits, and raises an exception class of its own, a subclass of
  ``ValueError``. If no token is legal, ``grammask.DeadEnd`` is raised instead of returning an empty mask.
- Writers accept arrays and tensors, whose length is known, and addresses with a length, but no address alone.
- In logits that are longer than the vocabulary, ids beyond it are illegal.
- Configurations are mutable: ``config.engine_config.cache_enabled = False`` changes the option.

>>> from grammask import kbnf
>>> tokens = {0: b"yes", 1: b"no", 2: b"n", 3: b"o"}
>>> vocabulary = kbnf.Vocabulary(
...     {id: kbnf.Token(text) for id, text in tokens.items()},
...     {id: text.decode() for id, text in tokens.items()},
... )
>>> engine = kbnf.Engine('start ::= "yes" | "no";', vocabulary)
>>> engine.compute_allowed_token_ids()
>>> engine.get_allowed_token_ids_from_last_computation()
[0, 1, 2]
>>> engine.try_accept_new_token(2)
AcceptTokenResult.Ongoing
>>> engine.try_accept_new_token(3)
AcceptTokenResult.Finished
"""

from grammask.kbnf.config import CompressionConfig, Config, EngineConfig, Fsa, RegexConfig
from grammask.kbnf.engine import Engine
from grammask.kbnf.outcomes import AcceptTokenError, AcceptTokenResult, MaskLogitsError, UpdateLogitsError
from grammask.kbnf.vocabulary import Token, Vocabulary

InternalEngine = Engine
"""The name of kbnf's compiled engine; here it is the same class."""

__all__ = [
    "AcceptTokenError",
    "AcceptTokenResult",
    "CompressionConfig",
    "Config",
    "Engine",
    "EngineConfig",
    "Fsa",
    "InternalEngine",
    "MaskLogitsError",
    "RegexConfig",
    "Token",
    "UpdateLogitsError",
    "Vocabulary",
]
