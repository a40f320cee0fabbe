"""Checks code in Markdown and in calls of tools against the parsers of the languages.

    python benches/code_in_texts.py [FOLDER ...]

*Real files*: the Markdown files in the folders, and the descriptions of the packages there (by default the folder of
installed packages and this repository's documentation). A file counts if a reader of CommonMark (markdown-it-py) finds
blocks of Python, SQL, JSON or JavaScript in it, and each compiles with its own parser: ``ast.parse``, a prepared
statement of sqlite3, ``json.loads``, ``node --check``. It should then be accepted token by token in three vocabularies.

*Samples*: random answers and calls of tools, ``GRAMMASK_SAMPLES`` of each, by default 1,000. Each block and each
argument should be read by the parser of its language. What the bundled languages leave to the interpreter (see
``docs/lexed_grammars.md``) is listed by the parser's message.
"""

from __future__ import annotations

import ast
import json
import os
import re
import sqlite3
import subprocess
import sys
import sysconfig
import time
import warnings
from collections import Counter
from email import message_from_bytes
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from grammask import CompiledGrammar, Grammar, Limits, Vocabulary
from grammask._grammask import embedded_vocabulary
from grammask.markdown.languages import LANGUAGE_NAMES
from grammask.texts import markdown_answer
from grammask.tools import read_calls
from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROOT = Path(__file__).parents[1]
_DATA = Path(os.environ.get("GRAMMASK_DATA", _ROOT.parent / "shared" / "data"))
_SAMPLES = int(os.environ.get("GRAMMASK_SAMPLES", "1000"))
_LANGUAGES = ("python", "sql", "json", "javascript")
_FENCES = ("```", "````", "~~~")
_READER = MarkdownIt("commonmark")
_LIMITS = Limits(seconds=600)
"""The shortest end of a text in JavaScript takes seconds of CPU time, which is more on a busy machine."""


def parser_error(language: str, code: str) -> str | None:
    """Return the message of the language's own parser, without names and numbers; None if it reads the code."""
    try:
        if language == "python":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(code)
        elif language == "json":
            json.loads(code)
        elif language == "sql":
            return _sql_error(code)
        else:
            return _javascript_errors([code])[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"{type(error).__name__}: {re.sub(r'[0-9]+', 'N', str(error).partition(' (<unknown>')[0])}"
    return None


def _sql_error(code: str) -> str | None:
    """Prepare each statement; tables and columns need not exist."""
    connection = sqlite3.connect(":memory:")
    statement = ""
    for piece in re.split(r"(;)", code):
        statement += piece
        if piece == ";" and not sqlite3.complete_statement(statement):
            continue
        if piece == ";" or piece is None:
            error = _statement_error(connection, statement)
            if error is not None:
                return error
            statement = ""
    return _statement_error(connection, statement) if statement.strip() else None


def _statement_error(connection: sqlite3.Connection, statement: str) -> str | None:
    if not re.sub(r"--[^\n]*|/\*.*?\*/", "", statement, flags=re.DOTALL).strip(" \t\r\n\f;"):
        return None  # Nothing to explain.
    try:
        connection.execute(f"explain {statement}")
    except sqlite3.Error as error:
        message = str(error)
        if "syntax error" in message or "incomplete" in message or "unrecognized token" in message:
            return f"sqlite3: {re.sub(r'near .*:', 'near ...:', message)}"
    return None


def _javascript_errors(codes: list[str]) -> list[str | None]:
    """Check programs with one process of node, each as a module and as a script; one of them suffices."""
    program = """
        const vm = require('vm'); const codes = JSON.parse(require('fs').readFileSync(0, 'utf8'));
        const check = code => {
            try { new vm.Script(code); return null; } catch (error) { if (!(error instanceof SyntaxError)) return null;
                try { new vm.SourceTextModule(code); return null; } catch (other) {
                    return other instanceof SyntaxError ? other.message : null; } } };
        console.log(JSON.stringify(codes.map(check)));
    """
    run = subprocess.run(
        ["node", "--experimental-vm-modules", "--no-warnings", "-e", program],
        input=json.dumps(codes),
        capture_output=True,
        text=True,
        check=True,
    )
    errors = [error and re.sub(r"'[^']*'|[0-9]+", "...", error) for error in json.loads(run.stdout)]
    return [error and f"node: {error}" for error in errors]


def blocks_of(text: str) -> list[tuple[str, str]]:
    """Return language and content of the fenced blocks in one of the languages."""
    found = []
    for token in _READER.parse(text):
        if token.type == "fence":
            name = (token.info.split() or [""])[0].lower()
            found += [
                (language, token.content) for language in _LANGUAGES if name in LANGUAGE_NAMES[language]
            ]
    return found


def vocabularies() -> dict[str, Vocabulary]:
    """Return three vocabularies."""
    found = {}
    for name in ("o200k_base", "cl100k_base"):
        tokens, special = embedded_vocabulary(name)
        found[name] = Vocabulary(tokens, special=special, eos="<|endoftext|>")
    found["r50k"] = Vocabulary.from_tiktoken(str(_DATA / "vocab" / "r50k.tiktoken"), eos=50256, size=50257)
    return found


def longest_tokens(text: bytes, vocabulary: Vocabulary) -> list[int]:
    """Return the longest tokens, from the beginning."""
    tokens = []
    position = 0
    while position < len(text):
        for length in range(min(32, len(text) - position), 0, -1):
            ids = vocabulary.ids_of(text[position : position + length])
            if ids:
                tokens.append(ids[0])
                position += length
                break
    return tokens


def real_files(folders: list[Path]) -> Iterator[tuple[str, str]]:
    """Yield the names and texts of Markdown files and descriptions of packages."""
    for folder in folders:
        for path in sorted(folder.rglob("*.md")):
            yield str(path), path.read_text("utf-8", "replace")
        for path in sorted(folder.glob("*.dist-info/METADATA")):
            message = message_from_bytes(path.read_bytes())
            if str(message["Description-Content-Type"]).startswith("text/markdown"):
                payload = message.get_payload(decode=True)
                assert isinstance(payload, bytes)
                yield str(path), payload.decode("utf-8", "replace")


def check_real_files(folders: list[Path]) -> None:
    """Print how many files are accepted, and the place of the first error in the others."""
    grammar = markdown_answer(_LANGUAGES, fences=_FENCES, max_indent=3, max_quotations=1)
    compiled = {
        name: (vocabulary, grammar.compile(vocabulary)) for name, vocabulary in vocabularies().items()
    }
    counts: Counter[str] = Counter()
    accepted: Counter[str] = Counter()
    for name, text in real_files(folders):
        counts["files"] += 1
        text = text.replace("\r\n", "\n")
        blocks = blocks_of(text)
        if not blocks:
            continue
        counts["files with blocks"] += 1
        if any(parser_error(language, code) for language, code in blocks):
            continue
        counts["files whose blocks compile"] += 1
        counts["blocks"] += len(blocks)
        for vocabulary_name, (vocabulary, one) in compiled.items():
            matcher = one.matcher()
            tokens = longest_tokens(text.encode(), vocabulary)
            read = 0
            for token in tokens:
                if not (matcher.is_allowed(token) and matcher.accept(token)):
                    break
                read += 1
            if read == len(tokens) and matcher.is_complete:
                accepted[vocabulary_name] += 1
            elif vocabulary_name == "o200k_base":
                at = one.first_error(text.encode())
                place = text.encode()[max(0, (at or 0) - 90) : (at or 0) + 20]
                print(f"refused: {name} at byte {at}: {place!r}")
    print(dict(counts))
    print({"accepted": dict(accepted)}, flush=True)


_PIECES = (
    *(
        "```",
        "```python\n",
        "```sql\n",
        "```json\n",
        "```js\n",
        "\n```",
        "\n",
        "    ",
        "\n    ",
        "def f(",
        "):\n",
        "return ",
    ),
    *(
        "x = ",
        "import a",
        "class A:\n",
        "if x:\n",
        "else:\n",
        "for i in ",
        "SELECT ",
        " FROM t",
        " WHERE ",
        "INSERT INTO ",
    ),
    *(
        " VALUES (",
        "CREATE TABLE ",
        "let a = ",
        "const ",
        "function f(",
        ") {\n",
        "}\n",
        "=> ",
        ";\n",
        "await ",
        '"""',
        "'''",
    ),
    *(
        '"a"',
        "'b'",
        "1",
        "23",
        "[1, 2]",
        '{"a": ',
        "null",
        "true",
        ", ",
        " = ",
        " + ",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "`",
        "a.b",
    ),
    *(
        "Hello ",
        "world.\n",
        "- item\n",
        "> quote\n",
        "\\n",
        "\\",
        "#",
        "-- ",
        "//",
        "/*",
        "*/",
        "~~~",
        "lambda ",
        "yield ",
        "async ",
    ),
)


def sampling_vocabulary() -> Vocabulary:
    """Return a vocabulary of bytes and pieces of code, wide enough that shortest ends are not searched exhaustively."""
    pieces = [*(bytes([byte]) for byte in range(256)), *(piece.encode() for piece in _PIECES)]
    return Vocabulary([*pieces, None], eos=len(pieces), size=2048)


def sample(
    compiled: CompiledGrammar,
    vocabulary: Vocabulary,
    weights: np.ndarray,
    rng: np.random.Generator,
    begin: str = "",
) -> str:
    """Return a text that begins as given, goes on with random tokens, and has the shortest end."""
    matcher = compiled.matcher()
    assert matcher.accept_bytes(begin.encode()), begin
    text = begin.encode()
    for _ in range(rng.integers(1, 80)):
        allowed = matcher.allowed_ids()
        chances = weights[allowed]
        token = int(rng.choice(allowed, p=chances / chances.sum()))
        assert matcher.accept(token)
        if matcher.is_finished:
            return text.decode()
        text += vocabulary.token(token) or b""
    return (text + matcher.shortest_completion().text).decode()


def report(codes: list[tuple[str, str]], title: str) -> None:
    """Print the number of codes that the parsers read, and the messages for the others with an example each."""
    javascript = [code for language, code in codes if language == "javascript"]
    messages = dict(zip(javascript, _javascript_errors(javascript), strict=True))
    totals: Counter[str] = Counter()
    failures: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], str] = {}
    for language, code in codes:
        totals[language] += 1
        message = messages[code] if language == "javascript" else parser_error(language, code)
        if message is not None:
            failures[language, message] += 1
            shortest = min(examples.get((language, message), code), code, key=len)
            examples[language, message] = shortest
    print(title, dict(totals))
    for (language, message), count in failures.most_common():
        print(f"  {count:5} {language}: {message}: {examples[language, message][:160]!r}")


def check_samples() -> None:
    """Print how many blocks and arguments of random texts the parsers read."""
    vocabulary = sampling_vocabulary()
    weights = np.ones(vocabulary.size)
    weights[:32] = weights[127:256] = 0.02
    weights[256 : 256 + len(_PIECES)] = 6
    rng = np.random.default_rng(0)
    answer = markdown_answer(
        _LANGUAGES, fences=_FENCES, max_indent=3, max_quotations=1, min_blocks=1
    ).compile(vocabulary, limits=_LIMITS)
    start = time.perf_counter()
    codes = []
    for _ in range(_SAMPLES):
        # In most samples a block begins at once: random text rarely begins one.
        language, fence = rng.choice(_LANGUAGES), rng.choice(_FENCES)
        prefix = "> " * rng.integers(2) + " " * rng.integers(4)
        begin = f"{prefix}{fence}{language}\n{prefix}" if rng.random() < 0.9 else ""
        codes += blocks_of(sample(answer, vocabulary, weights, rng, begin))
    print(f"{_SAMPLES} answers in {time.perf_counter() - start:.0f} s", flush=True)
    report(codes, "blocks of answers")
    start = time.perf_counter()
    codes = []
    for language in _LANGUAGES:
        parameters = {
            "type": "object",
            "properties": {"code": Grammar.bundled(language)},
            "required": ["code"],
        }
        tools = [{"type": "function", "function": {"name": "run", "parameters": parameters}}]
        for style in ("hermes", "qwen3_coder"):
            grammar = Grammar.from_tools(
                tools, style=style, tool_choice="required", parallel=False, vocabulary=vocabulary
            )
            compiled = grammar.compile(vocabulary, limits=_LIMITS)
            for _ in range(_SAMPLES // (2 * len(_LANGUAGES))):
                output = sample(compiled, vocabulary, weights, rng)
                (call,) = read_calls(output, style, tools)[1]
                codes.append((language, json.loads(call.arguments)["code"]))
    print(f"{len(codes)} calls in {time.perf_counter() - start:.0f} s", flush=True)
    report(codes, "arguments of calls")


def main() -> None:
    """Print both reports."""
    folders = [Path(argument) for argument in sys.argv[1:]]
    check_real_files(folders or [Path(sysconfig.get_paths()["purelib"]), _ROOT / "docs"])
    check_samples()


if __name__ == "__main__":
    main()
