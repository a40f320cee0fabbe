"""The texts after uses of rules with ``stop=``.

llguidance reads a text up to the stop word, takes the word back, and continues, so the next part may begin with the
word. grammask takes nothing back. It supports a use if the next part is a string that begins with the word, which is
then removed from the string; or one with another first character; or the end of the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grammask.llguidance_grammars.syntax import Node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammask.llguidance_grammars.syntax import Statements

__all__ = ["Stops"]

_END = Node("end", (0, 0))
_UNKNOWN = Node("unknown", (0, 0))


class UnsupportedStop(NamedTuple):
    """An error for a use that would take text back."""

    span: tuple[int, int]
    message: str
    help: str


class Stops:
    """The rules of a grammar that have a stop, and their uses."""

    def __init__(self, statements: Statements) -> None:
        self._stops = {
            name: definition.attributes["stop"][0]
            for name, definition in statements.rules.items()
            if isinstance(definition.attributes.get("stop", (None,))[0], Node)
            and definition.attributes["stop"][0].value != ("", False)
        }
        self._uses: list[tuple[Node, Node]] = []
        self._stripped: dict[int, str] = {}
        if self._stops:
            self._uses = list(_uses(statements, self._stops))
            for use, following in self._uses:
                word = _word(self._stops[use.value[0]])
                after = _word(following)
                if word is not None and after is not None and after.startswith(word):
                    self._stripped[id(following)] = after.removeprefix(word)

    def stripped(self, node: Node) -> str | None:
        """Returns a string without the stop word before it and at its beginning; None for other strings."""
        return self._stripped.get(id(node))

    def unsupported(self, *, has_ignored: bool) -> Iterator[UnsupportedStop]:
        """Yields errors for the uses that would take text back."""
        for use, following in self._uses:
            word, after = _word(self._stops[use.value[0]]), _word(following)
            if following is _END:
                continue
            is_supported = False
            if word is not None and after and not has_ignored:
                is_supported = after.startswith(word) or word[0] != after[0]
            if not is_supported:
                yield UnsupportedStop(
                    use.span,
                    f"the text after the `stop` of `{use.value[0]}` may begin with it",
                    "write `suffix=`, which makes the word a part of the text",
                )


def _uses(statements: Statements, stops: dict[str, Node]) -> Iterator[tuple[Node, Node]]:
    """Yields the uses of rules with stops, each with the next part."""
    used = set()
    uses = []
    for name, definition in statements.rules.items():
        stack = [(definition.body, _END if name == "start" else _UNKNOWN)]
        while stack:
            node, following = stack.pop()
            if node.kind == "rule":
                used.add(node.value[0])
                if node.value[0] in stops:
                    uses.append((node, following))
            elif node.kind == "sequence":
                stack.extend(zip(node.parts, (*node.parts[1:], following), strict=True))
            else:
                inherited = following if node.kind in ("choice", "if") else _UNKNOWN
                stack.extend((part, inherited) for part in node.parts)
    for node, following in uses:
        yield node, _UNKNOWN if following is _END and "start" in used else following


def _word(node: Node) -> str | None:
    """Returns the text of a node that is a case-sensitive string; None for others."""
    if node.kind == "string" and not node.value[1]:
        word: str = node.value[0]
        return word
    return None
