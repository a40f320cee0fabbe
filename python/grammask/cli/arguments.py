"""The arguments and options that several commands share, and the objects that they stand for."""

import inspect
import json
import re
import sys
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from grammask import _grammask
from grammask._grammask import CompiledGrammar, Matcher, quote_bytes
from grammask.cli.failures import Failure
from grammask.cli.terminal import ERR
from grammask.errors import GrammarError, GrammarSyntaxError
from grammask.grammar import Grammar
from grammask.vocabulary import Vocabulary, file_kinds
from grammask.vocabulary.tiktoken import END_OF_TEXT
from grammask.vocabulary.token_table import TokenTable


class End(str, Enum):
    """When a text ends."""

    eos = "eos"
    eager = "eager"


_SCHEMA_OPTIONS = set(inspect.signature(Grammar.from_json_schema).parameters) - {
    "schema",
    "resolver",
    "limits",
}

GrammarFile: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="G",
        help="A grammar's file: KBNF, or *.gbnf (llama.cpp), *.ebnf (XGrammar), *.lark, *.json (JSON Schema); "
        "bundled:NAME; or - for standard input.",
    ),
]
Schema: TypeAlias = Annotated[
    bool, typer.Option("--schema", help="G is a JSON Schema, whatever it is called.")
]
SchemaOptions: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        help="An option of a schema as NAME=VALUE, for example key_order=any, indent=2, on_unsupported=relax; "
        "docs/json_schema.md has all. May be repeated.",
        metavar="NAME=VALUE",
    ),
]
Start: TypeAlias = Annotated[
    str | None,
    typer.Option(help="The rule that derives whole texts: start if not given, root in *.gbnf and *.ebnf."),
]
VocabularyName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--vocab",
        help="o200k, cl100k, the path of a tokenizer's file of any kind (tokenizer.json, tekken.json, *.tiktoken, "
        "SentencePiece, GGUF) or of a model's folder, or hf:NAME, loaded by transformers.",
        metavar="V",
    ),
]
VocabularyOfModel: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--vocab",
        help="The vocabulary of the models demo and random, o200k if not given; the others bring their own.",
        metavar="V",
    ),
]
EndTokens: TypeAlias = Annotated[
    str | None,
    typer.Option("--eos", help="End tokens by id or name, separated by commas; else the vocabulary's own."),
]
EndMode: TypeAlias = Annotated[
    End | None,
    typer.Option(
        "--end",
        help="eos: an end token ends a complete text. eager: the first complete text ends. "
        "Default: eos if the vocabulary has end tokens.",
    ),
]
Prefix: TypeAlias = Annotated[str, typer.Option(help="The text so far; it counts as one token.")]
Tokens: TypeAlias = Annotated[
    str, typer.Option(help="Ids of tokens after the prefix, separated by commas.", metavar="IDS")
]


def read_with_directives(read: Callable[..., Grammar], text: bytes, start: str) -> Grammar:
    """Reads a grammar, with a contextual lexer if it has directives: without one they are errors."""
    try:
        return read(text, start=start)
    except GrammarSyntaxError:
        if not re.search(rb"(?m)(^|;)\s*%(terminal|ignore|refuse|priority)\b", text):
            raise
        return read(text, start=start, lexer="contextual")


def read_grammar(
    path: str, start: str | None = None, *, schema: bool = False, options: list[str] | None = None
) -> Grammar:
    """Reads a grammar or a schema from a file, by the end of its name, or from standard input if the path is ``-``."""
    if schema or is_schema(path):
        try:
            return Grammar.from_json_schema(read_bytes(path), **schema_options(options))
        except (TypeError, UnicodeDecodeError) as error:
            raise Failure(str(error)) from None
    if options:
        msg = "--option is for schemas: files called *.json, or with --schema"
        raise Failure(msg)
    kind, _, name = path.partition(":")
    try:
        if kind == "bundled" and name:
            return Grammar.bundled(name)
        suffix = Path(path).suffix
        if suffix == ".lark":
            return Grammar.from_lark(Path(path), start=start or "start")
        if suffix == ".gbnf":
            return read_with_directives(Grammar.from_gbnf, read_bytes(path), start or "root")
        if suffix == ".ebnf":
            return Grammar.from_xgrammar_ebnf(read_bytes(path), root=start or "root")
        return read_with_directives(Grammar.from_kbnf, read_bytes(path), start or "start")
    except GrammarError:
        raise
    except (ImportError, ValueError) as error:
        raise Failure(f"{path}: {error}") from None


def read_bytes(path: str) -> bytes:
    """Reads a file, or standard input if the path is ``-``."""
    return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()


def is_schema(path: str) -> bool:
    """Whether a file is a JSON Schema by its name."""
    return path.endswith(".json")


def schema_options(options: list[str] | None) -> dict[str, Any]:
    """Reads ``--option``: values are JSON where they can be, and text otherwise."""
    read: dict[str, Any] = {}
    for option in options or ():
        name, equals, value = option.partition("=")
        if not equals or name not in _SCHEMA_OPTIONS:
            msg = f"--option {option}: give NAME=VALUE with one of the names {', '.join(sorted(_SCHEMA_OPTIONS))}"
            raise Failure(msg)
        try:
            read[name] = value if name == "draft" else json.loads(value)
        except json.JSONDecodeError:
            read[name] = value
    return read


def open_vocabulary(name: str, end_tokens: str | None = None) -> Vocabulary:
    """Opens the vocabulary that ``--vocab`` and ``--eos`` stand for; shows a spinner on a terminal meanwhile."""
    eos: list[int | str] | None = None
    if end_tokens is not None:
        eos = [int(token) if token.isdecimal() else token for token in end_tokens.split(",") if token]
    with ERR.status(f"opening the vocabulary {name}"):
        if name in ("o200k", "o200k_base") and eos is None:
            return Vocabulary.default()
        if name in ("o200k", "o200k_base", "cl100k", "cl100k_base"):
            tokens, special = _grammask.embedded_vocabulary(f"{name.removesuffix('_base')}_base")
            return Vocabulary(tokens, special=special, eos=END_OF_TEXT if eos is None else eos)
        if name.startswith("hf:"):
            return _with_known_end(file_kinds.of_name(name.removeprefix("hf:")), None, eos)
        if not Path(name).exists():
            msg = f"there is no vocabulary {name!r}; give o200k, cl100k, hf:NAME, or the path of {file_kinds.KINDS}"
            raise Failure(msg)
        return _with_known_end(*file_kinds.read(name), eos)


def _with_known_end(table: TokenTable, width: int | None, eos: list[int | str] | None) -> Vocabulary:
    """Makes a vocabulary; files without any special token, as tiktoken's, have no end token unless one is given."""
    if eos is None:
        if table.special and not table.eos:
            msg = f"no end token is known: {table.eos_source}; give --eos with ids or names of end tokens"
            raise Failure(msg)
        eos = list(table.eos)
    tokens = table.with_room_for(table.special.values())
    size = None if width is None else max(width, len(tokens))
    return Vocabulary(tokens, special=table.special, eos=eos, size=size)


def compile_grammar(grammar: Grammar, vocabulary: Vocabulary, end: End | None) -> CompiledGrammar:
    """Compiles a grammar; where no ``--end`` was given, texts end in the way that the vocabulary makes possible."""
    mode: Literal["eos", "eager"] = "eos"
    if end is End.eager or (end is None and not vocabulary.eos):
        mode = "eager"
    if end is None and mode == "eager":
        ERR.print(
            "note: there are no end tokens (--eos), so a text ends as soon as it is complete", style="dim"
        )
    return grammar.compile(vocabulary, end=mode)


def matcher_after(
    compiled: CompiledGrammar, vocabulary: Vocabulary, prefix: str, tokens: str = ""
) -> Matcher:
    """Makes a matcher that has read ``--prefix`` and then ``--tokens``."""
    matcher = compiled.matcher()
    text = prefix.encode("utf-8", "surrogateescape")
    if not matcher.accept_bytes(text):
        raise Failure(_why_refused(compiled, text))
    for token in _token_ids(tokens, vocabulary):
        if not matcher.accept(token):
            raise Failure(str(matcher.explain(token)))
    return matcher


def _token_ids(tokens: str, vocabulary: Vocabulary) -> list[int]:
    """Reads ``--tokens``."""
    ids = []
    for token in filter(None, tokens.split(",")):
        if not token.strip().isdecimal() or int(token) >= vocabulary.size:
            msg = f"--tokens: {token!r} is no id of the vocabulary, which go from 0 to {vocabulary.size - 1}"
            raise Failure(msg)
        ids.append(int(token))
    return ids


def _why_refused(compiled: CompiledGrammar, text: bytes) -> str:
    """Says where a refused prefix stops fitting the grammar."""
    fits, too_long = 0, len(text)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if compiled.matcher().accept_bytes(text[:middle]):
            fits = middle
        else:
            too_long = middle
    matcher = compiled.matcher()
    matcher.accept_bytes(text[:fits])
    expected = list(
        dict.fromkeys(
            f"{'more of ' * item.has_begun}{item.terminal} in {item.rule}" for item in matcher.expected()
        )
    )
    more = [f"and {len(expected) - 12} more"] if len(expected) > 12 else []
    return (
        f"the prefix does not fit the grammar: after {quote_bytes(text[:fits][-40:])} comes "
        f"{quote_bytes(text[fits : fits + 1])} (byte {fits})\n  expected: {', '.join([*expected[:12], *more])}"
    )
