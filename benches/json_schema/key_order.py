"""Decides whether a rejected instance is accepted with another order of its keys.

A backtracking search writes the value with a matcher and takes, at each place of an object, the next member that is
accepted. Members are tried in the order in which the text of the schema first names them, which needs little
backtracking, and if that exceeds the limit, in the order of the instance. If both exceed it, a grammar with
``key_order="any"`` decides.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MOST_STEPS = 200_000


class Undecided(Exception):
    """The search exceeded its limit of steps."""


def is_accepted_in_some_order(compiled: Any, schema: str, text: str, in_any_order: Callable[[], Any]) -> bool:
    """Return whether a grammar of grammask accepts the value of ``text`` with some order of its keys.

    ``in_any_order`` compiles the grammar of the same schema that allows all orders.
    """
    value = json.loads(text)
    for names in (schema, ""):
        writer = _Writer(compiled.matcher(), names, ascii_only=text.isascii())
        try:
            return any(writer.is_complete() for _ in writer.write(value))
        except (RecursionError, Undecided):
            continue
    return bool(in_any_order().is_valid(text.encode("utf-8", "surrogatepass")))


@dataclass
class _Writer:
    """Writes values; each step of the generators is one way to do so, which they undo when they are resumed."""

    matcher: Any
    schema: str
    ascii_only: bool
    steps: int = 0

    def is_complete(self) -> bool:
        """Whether the written text is complete."""
        return bool(self.matcher.is_complete)

    def write(self, value: Any) -> Iterator[None]:
        """Write a value in all possible ways."""
        if isinstance(value, dict):
            return self._in_brackets(
                "{", self._members(sorted(value.items(), key=self._place), "}", is_object=True)
            )
        if isinstance(value, list):
            return self._in_brackets("[", self._members([("", item) for item in value], "]", is_object=False))
        return self._text(json.dumps(value, ensure_ascii=self.ascii_only))

    def _place(self, member: tuple[str, Any]) -> int:
        place = self.schema.find(f"{json.dumps(member[0])}:")
        return place if place >= 0 else len(self.schema)

    def _in_brackets(self, begin: str, inside: Iterator[None]) -> Iterator[None]:
        for _ in self._text(begin):
            yield from inside

    def _members(
        self, left: list[tuple[str, Any]], end: str, *, is_object: bool, comma: str = ""
    ) -> Iterator[None]:
        if not left:
            yield from self._text(end)
        for index, (name, value) in enumerate(left if is_object else left[:1]):
            label = f"{json.dumps(name, ensure_ascii=self.ascii_only)}: " if is_object else ""
            others = left[:index] + left[index + 1 :]
            for _ in self._text(comma + label):
                for _ in self.write(value):
                    yield from self._members(others, end, is_object=is_object, comma=", ")

    def _text(self, text: str) -> Iterator[None]:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise Undecided
        before = self.matcher.step_count
        if self.matcher.accept_bytes(text.encode("utf-8", "surrogatepass")):
            taken = self.matcher.step_count - before
            yield
            self.matcher.rollback(taken)
