"""The interface of the ``kbnf`` package, 0.4.2, on grammask's engine: ``from grammask import kbnf``.

Code that uses kbnf keeps its names and gets exact masks. The differences are deliberate:

- A text ends with the first token after which it is complete; a token that only passes through a complete text does
  not end it.
- What fails changes nothing, neither the engine nor the logits, and raises an exception class of its own, always
  a subclass of ``ValueError``. Where no token can come next, ``grammask.DeadEnd`` is raised in place of an empty mask.
- Writers take arrays or tensors, whose length is known, beside addresses with a length; never an address alone.
- Ids beyond the vocabulary are refused in logits that are longer than it.
- Configurations can be changed in place: ``config.engine_config.cache_enabled = False`` does what it says.

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
"""kbnf's compiled engine; there is only one engine here."""

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
