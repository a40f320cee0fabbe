"""The arguments and options that several commands share, and the objects that they select."""

import difflib
import functools
import inspect
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from grammask._grammask import CompiledGrammar, Matcher
from grammask.cli import completions
from grammask.cli.completions import OPTION_NAMES
from grammask.cli.failures import Failure
from grammask.cli.raised_limits import limits_of_command
from grammask.cli.terminal import ERR, working
from grammask.errors import GrammarError, GrammarSyntaxError
from grammask.grammar import Grammar
from grammask.lark_grammars import BUNDLED
from grammask.vocabulary import Vocabulary, file_kinds
from grammask.vocabulary.token_table import TokenTable


class End(str, Enum):
    """When a text ends."""

    eos = "eos"
    eager = "eager"


GRAMMAR_FILE = typer.Argument(
    metavar="G",
    autocompletion=completions.grammars,
    help="A grammar's file: KBNF, or *.gbnf (llama.cpp), *.ebnf (XGrammar), *.lark (lark or llguidance), *.json (JSON "
    "Schema); "
    "bundled:NAME; markdown:NAMES, answers with code in bundled languages; html:page; or - for standard input.",
)
GrammarFile: TypeAlias = Annotated[str, GRAMMAR_FILE]
IsSchema: TypeAlias = Annotated[
    bool, typer.Option("--schema", help="G is a JSON Schema, whatever the name of its file.")
]
OptionValues: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        help="An option of a schema as NAME=VALUE, for example key_order=any, indent=2, on_unsupported=relax; "
        "docs/json_schema.md lists them. May be repeated.",
        metavar="NAME=VALUE",
        autocompletion=completions.options,
    ),
]
Start: TypeAlias = Annotated[
    str | None,
    typer.Option(help="The start symbol. Default: start; root for *.gbnf and *.ebnf."),
]
VocabularyName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--vocab",
        help="o200k, cl100k, the path of a tokenizer file of any kind (tokenizer.json, tekken.json, *.tiktoken, "
        "SentencePiece, GGUF) or of a model's folder, or hf:NAME, loaded by transformers.",
        metavar="V",
        autocompletion=completions.vocabularies,
    ),
]
VocabularyOfModel: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--vocab",
        help="The vocabulary of the models demo and random. Default: o200k. Other models have their own.",
        metavar="V",
        autocompletion=completions.vocabularies,
    ),
]
EndTokens: TypeAlias = Annotated[
    str | None,
    typer.Option("--eos", help="End tokens by id or name, separated by commas. Default: the vocabulary's."),
]
EndMode: TypeAlias = Annotated[
    End | None,
    typer.Option(
        "--end",
        help="eos: an end token ends a complete text. eager: the first complete text ends. "
        "Default: eos if the vocabulary has end tokens.",
    ),
]
HasDrafts: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--drafts",
        help="Let hf: and gguf: models verify drafts from the grammar, several tokens in one pass.",
    ),
]
Prefix: TypeAlias = Annotated[str, typer.Option(help="The text so far, read as if it were one token.")]
Tokens: TypeAlias = Annotated[
    str, typer.Option(help="Ids of tokens after the prefix, separated by commas.", metavar="IDS")
]


@dataclass(frozen=True, slots=True)
class Position:
    """A position in a text.

    Attributes:
        vocabulary: The vocabulary of ``--vocab`` and ``--eos``.
        matcher: The matcher after ``--prefix`` and ``--tokens``.
    """

    vocabulary: Vocabulary
    matcher: Matcher


def open_position(
    grammar: GrammarFile,
    vocab: VocabularyName = "o200k",
    prefix: Prefix = "",
    tokens: Tokens = "",
    end: EndMode = None,
    eos: EndTokens = None,
    start: Start = None,
    schema: IsSchema = False,
    option: OptionValues = None,
) -> Position:
    """Reads and compiles a grammar, and reads the text before a position."""
    vocabulary = open_vocabulary(vocab, eos)
    read = read_grammar(grammar, start, schema=schema, options=option)
    compiled = compile_grammar(read, vocabulary, end)
    return Position(vocabulary, matcher_after(compiled, vocabulary, prefix, tokens))


def at_position(command: Callable[..., None]) -> Callable[..., None]:
    """Replaces the first parameter of a command, a position, with the parameters of :func:`open_position`."""
    shared = inspect.signature(open_position).parameters
    grammar, *options = shared.values()
    _, *own = inspect.signature(command).parameters.values()

    @functools.wraps(command)
    def command_at_position(**values: Any) -> None:
        command(open_position(**{name: values.pop(name) for name in shared}), **values)

    # Typer reads the parameters of a command from its signature and its annotations. The grammar is the first argument.
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (grammar, *own, *options)]
    command_at_position.__dict__["__signature__"] = inspect.Signature(parameters)
    command_at_position.__annotations__ = {each.name: each.annotation for each in parameters}
    return command_at_position


def read_with_directives(read: Callable[..., Grammar], text: bytes, start: str) -> Grammar:
    """Reads a grammar, with a contextual lexer if it has directives, which are errors without a lexer."""
    limits = limits_of_command()
    try:
        return read(text, start=start, limits=limits)
    except GrammarSyntaxError:
        if not re.search(rb"(?m)(^|;)\s*%(terminal|ignore|refuse|priority)\b", text):
            raise
        return read(text, start=start, lexer="contextual", limits=limits)


def read_grammar(
    path: str, start: str | None = None, *, schema: bool = False, options: list[str] | None = None
) -> Grammar:
    """Reads a grammar or a schema from a file, by its suffix, or from standard input if the path is ``-``."""
    from grammask import texts

    if schema or is_schema(path):
        refuse_start(start)
        return read_schema(read_bytes(path), schema_options(options))
    if options:
        msg = "--option is for schemas: files called *.json, or with --schema"
        raise Failure(msg)
    kind, _, name = path.partition(":")
    limits = limits_of_command()
    try:
        if kind == "bundled" and name:
            return Grammar.bundled(name, start=start or "file", limits=limits)
        if kind == "html" and name:
            if name != "page":
                msg = f"{path}: there is no such grammar; there is html:page"
                raise Failure(msg)
            return texts.html_page()
        if kind == "markdown" and name:
            return texts.markdown_answer(name.split(","))
        suffix = Path(path).suffix
        if suffix == ".lark":
            text = read_bytes(path)
            if is_llguidance_lark(text):
                if start not in (None, "start"):
                    msg = f"{path}: --start: the start symbol of llguidance's Lark is start"
                    raise Failure(msg)
                return Grammar.from_llguidance_lark(text.decode("utf-8"), limits=limits)
            return Grammar.from_lark(Path(path), start=start or "start", limits=limits)
        if suffix == ".gbnf":
            return read_with_directives(Grammar.from_gbnf, read_bytes(path), start or "root")
        if suffix == ".ebnf":
            return Grammar.from_xgrammar_ebnf(read_bytes(path), root=start or "root", limits=limits)
        return read_with_directives(Grammar.from_kbnf, read_bytes(path), start or "start")
    except GrammarError:
        raise
    except (ImportError, ValueError) as error:
        raise Failure(f"{path}: {error}") from None


def read_schema(text: bytes, options: dict[str, Any]) -> Grammar:
    """Reads a JSON Schema with the options of :func:`schema_options`."""
    try:
        return Grammar.from_json_schema(text, limits=limits_of_command(), **options)
    except GrammarError:
        raise
    except (TypeError, ValueError) as error:
        raise Failure(str(error)) from None


_LLGUIDANCE = re.compile(
    rb"""
    "(?:[^"\\\n]|\\.)*" | /(?![/*])(?:[^/\\\n]|\\.)+/ | (?://|\#)[^\n]*
    | (?P<directive>%(?:llguidance|json|regex|lark)\b)
    """,
    re.VERBOSE,
)
"""Strings, expressions and comments of a grammar, and the directives that only llguidance's dialect has."""


def is_llguidance_lark(text: bytes) -> bool:
    """Whether a grammar of Lark is in llguidance's dialect: it has one of its directives."""
    return any(match["directive"] for match in _LLGUIDANCE.finditer(text))


def refuse_start(start: str | None) -> None:
    """Refuses a start symbol for a schema."""
    if start is not None:
        msg = "--start is for grammars: a schema has no start symbol"
        raise Failure(msg)


def read_bytes(path: str) -> bytes:
    """Reads a file, or standard input if the path is ``-``. A missing word may be the name of a bundled grammar."""
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        similar = difflib.get_close_matches(path, BUNDLED, n=1) if path.isidentifier() else []
        if similar:
            error.strerror = f"{error.strerror}; did you mean bundled:{similar[0]}?"
        raise


def is_schema(path: str) -> bool:
    """Whether the name of a file says that it is a JSON Schema."""
    return path.endswith(".json")


def schema_options(options: list[str] | None) -> dict[str, Any]:
    """Reads ``--option``: a value is JSON if it parses as JSON, and text otherwise."""
    read: dict[str, Any] = {}
    for option in options or ():
        name, equals, value = option.partition("=")
        if not equals or name not in OPTION_NAMES:
            msg = f"--option {option}: give NAME=VALUE with one of the names {', '.join(OPTION_NAMES)}"
            raise Failure(msg)
        try:
            read[name] = value if name == "draft" else json.loads(value)
        except json.JSONDecodeError:
            read[name] = value
    return read


def open_vocabulary(name: str, end_tokens: str | None = None) -> Vocabulary:
    """Opens the vocabulary of ``--vocab`` and ``--eos``, with a spinner on terminals."""
    eos: list[int | str] | None = None
    if end_tokens is not None:
        eos = [int(token) if token.isdecimal() else token for token in end_tokens.split(",") if token]
    with working(f"opening the vocabulary {name}"):
        if name in ("o200k", "o200k_base") and eos is None:
            return Vocabulary.default()
        if name in ("o200k", "o200k_base", "cl100k", "cl100k_base"):
            return Vocabulary.embedded(f"{name.removesuffix('_base')}_base", eos=eos)
        if name.startswith("hf:"):
            return _with_end_tokens(file_kinds.of_name(name.removeprefix("hf:")), None, eos)
        if not Path(name).exists():
            msg = f"there is no vocabulary {name!r}; give o200k, cl100k, hf:NAME, or the path of {file_kinds.KINDS}"
            raise Failure(msg)
        if eos is None and Path(name).is_file() and Vocabulary.is_saved(name):
            return Vocabulary.load(name)
        return _with_end_tokens(*file_kinds.read(name), eos)


def _with_end_tokens(table: TokenTable, width: int | None, eos: list[int | str] | None) -> Vocabulary:
    """Makes a vocabulary. A file with special tokens and no end token is refused unless ``--eos`` is given."""
    if eos is None:
        if table.special and not table.eos:
            msg = f"no end token is known: {table.eos_source}; give --eos with ids or names of end tokens"
            raise Failure(msg)
        eos = list(table.eos)
    tokens = table.with_room_for(table.special.values())
    size = None if width is None else max(width, len(tokens))
    return Vocabulary(tokens, special=table.special, eos=eos, size=size)


def compile_grammar(grammar: Grammar, vocabulary: Vocabulary, end: End | None) -> CompiledGrammar:
    """Compiles a grammar. Without ``--end``, texts end with end tokens if the vocabulary has any."""
    mode: Literal["eos", "eager"] = "eos"
    if end is End.eager or (end is None and not vocabulary.eos):
        mode = "eager"
    if end is None and mode == "eager":
        ERR.print(
            "note: there are no end tokens (--eos), so a text ends as soon as it is complete", style="dim"
        )
    with working("compiling the grammar"):
        return grammar.compile(vocabulary, end=mode, limits=limits_of_command())


def matcher_after(
    compiled: CompiledGrammar, vocabulary: Vocabulary, prefix: str, tokens: str = ""
) -> Matcher:
    """Returns a matcher that has read ``--prefix`` and then ``--tokens``."""
    matcher = compiled.matcher()
    text = prefix.encode("utf-8", "surrogateescape")
    if not matcher.accept_bytes(text):
        msg = f"the prefix does not fit the grammar: {matcher.explain(text)}"
        raise Failure(msg)
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
