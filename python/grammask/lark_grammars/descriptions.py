"""What messages call the terminals and rules of a bundled grammar: ``a number`` for ``DECIMAL``.

A name is described by its own words, ``else_part`` by "an else part". A comment of the grammar states others, as a
phrase and the names that it describes: ``//: a number = DECIMAL BASED FLOAT``. Rules that begin with an underscore,
which trees of lark do not have, are named in no message: their descriptions are empty. Literals are shown as they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_STATED = re.compile(r"^//: *(?P<phrase>.+?) = (?P<names>\w+(?: +\w+)*) *$", re.MULTILINE)
_RULE = re.compile(r"^[!?]*(?P<name>_?[a-z]\w*)(?:\{[^}]*\})?(?:\.-?\d+)?\s*:", re.MULTILINE)


def descriptions(text: str, terminals: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Returns pairs of a name and its description, by name.

    Args:
        text: The grammar, which imports nothing.
        terminals: The names of its terminals that are no literals; an unnamed pattern is shown as it is.

    Raises:
        ValueError: A comment describes a name that the grammar does not have, or has described before.
    """
    names = (*terminals, *(rule["name"] for rule in _RULE.finditer(text)))
    described = {name: _phrase(name) for name in names if name.isidentifier()}
    stated: dict[str, str] = {}
    for comment in _STATED.finditer(text):
        for name in comment["names"].split():
            if name not in described or name in stated:
                message = f"`{comment[0]}` describes `{name}`, which is unknown or described before"
                raise ValueError(message)
            stated[name] = comment["phrase"]
    return tuple(sorted({**described, **stated}.items()))


def _phrase(name: str) -> str:
    """Returns the words of a name, with an article unless the last one is a plural; none for hidden rules."""
    if name.startswith("_") and name.islower():
        return ""
    words = name.strip("_").lower().replace("_", " ")
    if re.search(r"[^s]s$", words):
        return words
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"
