"""Records the grammars of conformance cases that are read in Python, so that the Rust engines run these cases too.

A context-free grammar is recorded as the calls of ``_grammask.Composition`` that make it, a grammar with a lexer as its
definition in bytes. ``pytest tests/conformance --update`` writes the file.
"""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from grammask import Grammar, Vocabulary, _grammask
from grammask.composition import Part
from grammask.readers.json_schema import json_schema_source

if TYPE_CHECKING:
    from collections.abc import Callable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parents[2] / "testdata" / "conformance"
FILE = FOLDER / "recorded_grammars.toml"
READERS: dict[str, Callable[..., Grammar]] = {
    "gbnf": Grammar.from_gbnf,
    "kbnf": Grammar.from_kbnf,
    "lexed": Grammar.from_lark,
    "llguidance_lark": Grammar.from_llguidance_lark,
    "structural_tag": Grammar.from_structural_tag,
}
HEAD = """\
# Written by `pytest tests/conformance --update` from the cases of the other files of this folder, whose grammars are
# read in Python. A [[grammar]] has the file and the name of its case, and either `calls`, which make a context-free
# grammar in a GrammarBuilder, or `saved`, a compiled grammar with a lexer whose tokens are all bytes and an end token.
# Byte strings are written in hexadecimal digits.
"""


class RecordingComposition:
    """A ``_grammask.Composition`` that records its calls."""

    def __init__(self, native: Any, calls: list[str], sources: dict[int, Any]) -> None:
        self._native = native
        self._calls = calls
        self._sources = sources

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._native, name)

        def call(*arguments: Any, **keywords: Any) -> Any:
            bound = inspect.signature(method).bind(*arguments, **keywords).arguments
            if name == "grammar":
                bound = described(self._sources[id(bound["grammar"])])
            if name not in ("is_nullable_language", "warn"):
                self._calls.append(table({"call": name, **bound}))
            return method(*arguments, **keywords)

        return call


def described(source: Any) -> dict[str, Any]:
    """Return the fields for the source of an inner grammar: a regular expression or a schema."""
    if hasattr(source, "pattern"):
        assert source.syntax == "rust"
        return {"regex": source.pattern}
    options = source.options.__getnewargs_ex__()[1]
    defaults = json_schema_source("true").options.__getnewargs_ex__()[1]
    own = {name: value for name, value in options.items() if value != defaults[name]}
    assert own.keys() <= {"max_whitespace", "numbers", "unique_names"}, "a Rust test reads only these options"
    return {"schema": source.text, **own}


def table(fields: dict[str, Any]) -> str:
    """Return a table of TOML; limits do not change a grammar."""
    values = {key: value for key, value in fields.items() if value is not None and key != "limits"}
    return "{ " + ", ".join(f"{key} = {value_text(value)}" for key, value in values.items()) + " }"


def value_text(value: Any) -> str:
    match value:
        case bytes():
            return json.dumps(value.hex())
        case list() | tuple():
            return "[" + ", ".join(map(value_text, value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)


def definition_in(saved: bytes) -> bytes:
    """Return the definition of a grammar with a lexer from the bytes of ``CompiledGrammar.to_bytes``.

    It follows a word in the identity of the grammar, whose length stands before it.
    """
    word = b"definition\n"
    start = saved.index(word)
    length = int.from_bytes(saved[start - 4 : start], "little")
    return saved[start + len(word) : start + length]


def recorded(case: dict[str, Any], read: Callable[..., Grammar]) -> str:
    """Return the lines of the grammar of a case."""
    calls: list[str] = []
    sources: dict[int, Any] = {}
    alive: list[Any] = []
    native, build = _grammask.Composition, Part.build

    def remember(part: Part) -> Any:
        grammar = build(part)
        alive.append(grammar)
        sources[id(grammar)] = part.arguments[0] if part.kind == "source" else part
        return grammar

    with (
        patch.object(_grammask, "Composition", lambda: RecordingComposition(native(), calls, sources)),
        patch.object(Part, "build", remember),
    ):
        options = {name: case[name] for name in ("start", "lexer", "parser") if name in case}
        vocabulary = Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
        compiled = read(case["grammar"], **options).compile(vocabulary, cache=False)
    if calls:
        return "calls = [\n" + "".join(f"    {call},\n" for call in calls) + "]\n"
    return f'saved = "{definition_in(compiled.to_bytes()).hex()}"\n'


def test_the_file_is_recorded_anew(request: pytest.FixtureRequest) -> None:
    pytest.importorskip("lark")
    text = HEAD
    for file in ("llguidance_lark", "structural_tag", "lexed"):
        for case in tomllib.loads((FOLDER / f"{file}.toml").read_text("utf-8"))["case"]:
            if "error" not in case:
                read = READERS[case.get("notation", file)]
                text += f'\n[[grammar]]\nfile = "{file}"\ncase = "{case["name"]}"\n{recorded(case, read)}'
    if request.config.getoption("--update"):
        FILE.write_text(text, "utf-8")
    assert FILE.read_text("utf-8") == text
