"""Adapter for kbnf (https://github.com/Dan-wanna-M/kbnf)."""

from __future__ import annotations

import importlib.metadata
import re
from typing import TYPE_CHECKING

import kbnf

from engines import Steps

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from comparison.vocabularies import TokenTable

LANGUAGES = ("kbnf",)
SETTINGS = (
    "a text ends as soon as it is complete, so grammars end with a symbol that no text contains, U+10FFFF; bits of the "
    "end token and of tokens that begin that symbol are not compared; `#r` regexes are rewritten as escaped ones"
)
COMPARES_END = False

_END = "\U0010ffff"
_RAW = re.compile(r"#(e|ex)?r(?:'([^']*)'|\"([^\"]*)\")")


def version() -> str:
    """Return the version of the package."""
    return importlib.metadata.version("kbnf")


def vocabulary(table: TokenTable) -> kbnf.Vocabulary:
    """Return a vocabulary in which the end token is the symbol that ends a text."""
    tokens = {id: token for id, token in enumerate(table.tokens) if token} | {table.eos: _END.encode()}
    return kbnf.Vocabulary(
        {id: kbnf.Token(token) for id, token in tokens.items()},
        {id: token.decode("utf-8", "replace") for id, token in tokens.items()},
    )


def compile(language: str, grammar: str, vocabulary: kbnf.Vocabulary) -> kbnf.Engine:
    """Compile a grammar in the dialect of kbnf 0.4."""
    config = kbnf.Config()
    config.expected_output_length = 100_000_000
    config.start_nonterminal = "text_with_end"
    text = _RAW.sub(_escaped, grammar)
    return kbnf.Engine(f'{text}\ntext_with_end ::= start "{_END}";', vocabulary, config)


def start(compiled: kbnf.Engine, mask: npt.NDArray[np.int32]) -> Steps:
    """Start a text. An engine is one matcher; resetting it keeps its caches."""
    compiled.reset()
    compute, write, address = (
        compiled.compute_allowed_token_ids,
        compiled.fill_torch_bitmask,
        mask.ctypes.data,
    )

    def fill() -> None:
        compute()
        write(address)

    def accept(token: int) -> bool:
        compiled.try_accept_new_token(token)
        return True

    return Steps(fill, accept, lambda: None)


def ignored_ids(table: TokenTable) -> list[int]:
    """Return the end token, which represents the last symbol, and the tokens that are part of that symbol."""
    end = _END.encode()
    return [table.eos, *(id for id, token in enumerate(table.tokens) if token and end.startswith(token))]


def _escaped(raw: re.Match[str]) -> str:
    kind, single, double = raw.groups()
    quote, text = ("'", single) if double is None else ('"', double)
    return f"#{kind or ''}{quote}{text.replace(chr(92), chr(92) * 2)}{quote}"
