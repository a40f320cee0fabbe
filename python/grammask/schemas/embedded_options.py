"""Options that a schema carries: the keyword ``x-grammask`` at its root.

A request to a server has a schema and no options, so a client that wants another order of keys or other white
space writes ``{"x-grammask": {"key_order": "any"}, ...}``. Options that read files or call functions are not among
these, nor are limits: a schema can come from a stranger.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from grammask.diagnostics import error_diagnostic
from grammask.errors import GrammarSemanticError
from grammask.schemas import keywords
from grammask.schemas.options import SchemaOptions

if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["BUDGET", "KEYWORD", "embedded_keywords", "embedded_options", "with_embedded_options"]

KEYWORD = "x-grammask"
"""The keyword of the options."""

BUDGET = "budget"
"""An option that servers read: the policy of the request's token budget."""

_NAMES = frozenset(
    {
        "content", "draft", "ensure_ascii", "escapes", "excludes", "formats", "indent", "key_order", "max_whitespace",
        "numbers", "on_unsupported", "openapi_nullable", "separators", "strict", "unique_names", "whitespace",
    }
)  # fmt: skip

_EXCLUSIVE = (
    {"whitespace": "natural", "max_whitespace": None, "indent": None, "separators": None},
    {"escapes": "natural", "ensure_ascii": None},
)
"""Options of which some contradict others, with their defaults. One that a schema carries resets the others."""


def with_embedded_options(options: SchemaOptions, text: str) -> SchemaOptions:
    """Returns options, of which those that a schema carries are replaced.

    Args:
        options: The options given with the schema.
        text: The schema as JSON. A text that is not JSON carries none; its reader reports the error.

    Raises:
        GrammarSemanticError: As of :func:`embedded_keywords`.
    """
    if KEYWORD not in text:
        return options
    embedded = embedded_keywords(text)
    return replace(options, **embedded) if embedded else options


def embedded_keywords(schema: Any) -> dict[str, Any]:
    """Returns the options that a schema or a structural tag carries, and the defaults of those that they contradict.

    Args:
        schema: As of :func:`embedded_options`.

    Raises:
        GrammarSemanticError: There is no such option, it has no such value or contradicts another, or the keyword is
            not at the root.
    """
    carried = {name: value for name, value in embedded_options(schema).items() if name != BUDGET}
    if isinstance(carried.get("separators"), list):
        carried["separators"] = tuple(carried["separators"])
    for name, value in carried.items():
        _check({name: value}, f"#/{KEYWORD}/{name}")
    _check(carried, f"#/{KEYWORD}")
    contradicted = [group for group in _EXCLUSIVE if group.keys() & carried.keys()]
    return {**{name: value for group in contradicted for name, value in group.items()}, **carried}


def embedded_options(schema: Any) -> Mapping[str, Any]:
    """Returns the options that a schema or a structural tag carries. Only their names are checked.

    Args:
        schema: The schema or the tag, as a value or as JSON text. What is not JSON carries none.

    Raises:
        GrammarSemanticError: There is no such option, or the keyword is not at the root.
    """
    try:
        root = json.loads(schema) if isinstance(schema, str | bytes) else schema
        places = [pointer for pointer, node in keywords.places(root) if KEYWORD in node]
    except RecursionError:
        _refuse("#", f"a schema with `{KEYWORD}` is not nested as deeply")
    except ValueError:
        return {}
    for pointer in places:
        if pointer != "#":
            _refuse(f"{pointer}/{KEYWORD}", f"`{KEYWORD}` is read at the root of a schema only")
    options: Any = root.get(KEYWORD, {}) if isinstance(root, Mapping) else {}
    if not isinstance(options, Mapping):
        _refuse(f"#/{KEYWORD}", f"`{KEYWORD}` is an object with options")
    for name in options:
        if name not in _NAMES and name != BUDGET:
            known = ", ".join(sorted(_NAMES | {BUDGET}))
            _refuse(
                f"#/{KEYWORD}/{keywords.escaped(str(name))}",
                f"there is no option `{name}`; there are {known}",
            )
    return options


def _check(carried: Mapping[str, Any], pointer: str) -> None:
    try:
        SchemaOptions(**carried)
    except (TypeError, ValueError) as error:
        _refuse(pointer, str(error))


def _refuse(pointer: str, message: str) -> NoReturn:
    diagnostic = error_diagnostic("invalid-schema", message, pointer=pointer)
    raise GrammarSemanticError(diagnostic.rendered, [diagnostic])
