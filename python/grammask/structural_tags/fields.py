"""The fields of formats: their values, and errors in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grammask.utf8 import has_surrogates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grammask.structural_tags.diagnostics import DiagnosticList

__all__ = ["FieldReader", "is_count"]


class FieldReader:
    """Reads the fields of formats, and records errors with their JSON pointers."""

    def __init__(self, diagnostics: DiagnosticList) -> None:
        self._diagnostics = diagnostics

    def text(self, node: Mapping[str, Any], name: str, pointer: str) -> str:
        """Returns a string; an empty one if it is absent or an error."""
        value = node.get(name)
        if not isinstance(value, str):
            self._diagnostics.invalid(f"{pointer}/{name}", f"`{name}` is a string")
            return ""
        if has_surrogates(value):
            self._diagnostics.invalid(f"{pointer}/{name}", f"`{name}` has half of a surrogate pair")
            return ""
        return value

    def words(self, node: Mapping[str, Any], name: str, pointer: str) -> list[str]:
        """Returns a list of strings that are not empty; an empty list if it is absent or an error."""
        value = node.get(name, [])
        if not isinstance(value, list) or not all(isinstance(word, str) and word for word in value):
            self._diagnostics.invalid(
                f"{pointer}/{name}", f"`{name}` is a list of strings that are not empty"
            )
            return []
        if any(map(has_surrogates, value)):
            self._diagnostics.invalid(f"{pointer}/{name}", f"`{name}` has half of a surrogate pair")
            return []
        return value

    def flag(self, node: Mapping[str, Any], name: str, pointer: str) -> bool:
        """Returns a boolean; false if it is absent or an error."""
        value = node.get(name, False)
        if not isinstance(value, bool):
            self._diagnostics.invalid(f"{pointer}/{name}", f"`{name}` is true or false")
        return value is True

    def bound(self, node: Mapping[str, Any], name: str, pointer: str) -> int | None:
        """Returns a number; None if it is absent, null or an error."""
        value = node.get(name)
        if value is not None and not is_count(value):
            self._diagnostics.invalid(
                f"{pointer}/{name}", f"`{name}` is a number from 0 to 2147483647, or null"
            )
            return None
        return value

    def token(self, value: Any, pointer: str) -> int | str:
        """Returns a token: an id or a name."""
        if (
            isinstance(value, bool)
            or not isinstance(value, int | str)
            or (isinstance(value, int) and value < 0)
        ):
            self._diagnostics.invalid(pointer, "a token is an id or a string")
            return 0
        return value

    def tokens(self, node: Mapping[str, Any], name: str, pointer: str) -> list[int | str]:
        """Returns a list of tokens; an empty list if it is absent or an error."""
        value = node.get(name, [])
        if not isinstance(value, list):
            self._diagnostics.invalid(f"{pointer}/{name}", f"`{name}` is a list of tokens")
            return []
        return [self.token(token, f"{pointer}/{name}/{index}") for index, token in enumerate(value)]

    def formats(self, node: Mapping[str, Any], name: str, pointer: str) -> list[Any]:
        """Returns a list with at least one format; an empty list if it is absent or an error."""
        value = node.get(name)
        if not isinstance(value, list) or not value:
            self._diagnostics.invalid(f"{pointer}/{name}", f"`{name}` is a list with at least one format")
            return []
        return value


def is_count(value: Any) -> bool:
    """Whether a value is a number from 0 to 2147483647."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31
