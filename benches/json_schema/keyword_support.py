"""Which keywords of JSON Schema other engines enforce, ignore or reject.

    python benches/json_schema/keyword_support.py [ENGINE...] [--write]

Tries the probes of ``testdata/json_schema/keyword_probes.toml`` on the installed engines and prints a table;
``--write`` stores it where ``grammask check --for`` reads it. A keyword is *enforced* if the engine accepts all valid
texts of its probes and no invalid one, *ignored* if it accepts an invalid text of each, *rejected* if it refuses each
schema, and *partial* otherwise.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Accepts = Callable[[str], bool]

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib  # type: ignore[no-redef, unused-ignore]

import grammask
from grammask.schemas import portability

PROBES = Path(__file__).parents[2] / "testdata" / "json_schema" / "keyword_probes.toml"


class Rejected(Exception):
    """The engine refuses a schema."""


def probes() -> list[dict[str, Any]]:
    """Return the probes."""
    read: list[dict[str, Any]] = tomllib.loads(PROBES.read_text("utf-8"))["probe"]
    return read


def of_xgrammar() -> Callable[[str], Accepts]:
    """Return the compiler of xgrammar, as its users call it for schemas whose objects may be open."""
    import xgrammar

    tokens = [bytes([byte]) for byte in range(256)] + [b"</s>"]
    info = xgrammar.TokenizerInfo(tokens, xgrammar.VocabType.RAW, vocab_size=257, stop_token_ids=[256])
    compiler = xgrammar.GrammarCompiler(info, max_threads=1)

    def compile(schema: str) -> Accepts:
        try:
            compiled = compiler.compile_json_schema(schema, strict_mode=False)
        except RuntimeError as error:
            raise Rejected(str(error)) from None

        def accepts(text: str) -> bool:
            matcher = xgrammar.GrammarMatcher(compiled)
            return all(matcher.accept_token(token) for token in [*text.encode(), 256])

        return accepts

    return compile


def of_llguidance() -> Callable[[str], Accepts]:
    """Return the compiler of llguidance, with its defaults."""
    import llguidance

    tokenizer = llguidance.LLTokenizer("byte")

    def compile(schema: str) -> Accepts:
        grammar = llguidance.LLMatcher.grammar_from_json_schema(schema)
        if llguidance.LLMatcher.validate_grammar(grammar, tokenizer):
            raise Rejected(schema)

        def accepts(text: str) -> bool:
            matcher = llguidance.LLMatcher(tokenizer, grammar)
            return matcher.consume_tokens([*text.encode(), tokenizer.eos_token]) and not matcher.is_error()

        return accepts

    return compile


def of_outlines() -> Callable[[str], Accepts]:
    """Return the compiler of outlines-core, which makes a regular expression."""
    from outlines_core.json_schema import build_regex_from_schema

    def compile(schema: str) -> Accepts:
        try:
            expression = re.compile(build_regex_from_schema(schema))
        except Exception as error:  # noqa: BLE001  Errors of its Rust code have several classes.
            raise Rejected(str(error)) from None
        return lambda text: expression.fullmatch(text) is not None

    return compile


def of_llama_cpp() -> Callable[[str], Accepts]:
    """Return the converter of llama-cpp-python to GBNF; grammask reads its result."""
    from llama_cpp.llama_grammar import json_schema_to_gbnf

    def compile(schema: str) -> Accepts:
        try:
            grammar = grammask.Grammar.from_gbnf(json_schema_to_gbnf(schema))
        except Exception as error:  # noqa: BLE001  It also raises KeyError and the like.
            raise Rejected(str(error)) from None
        compiled = grammar.compile(_bytes())
        return lambda text: compiled.is_valid(text.encode())

    return compile


def of_grammask() -> Callable[[str], Accepts]:
    """Return the compiler of grammask, with its defaults."""

    def compile(schema: str) -> Accepts:
        try:
            compiled = grammask.Grammar.from_json_schema(schema).compile(_bytes())
        except grammask.GrammarError as error:
            raise Rejected(str(error)) from None
        return lambda text: compiled.is_valid(text.encode())

    return compile


ENGINES = {
    "grammask": ("grammask", of_grammask),
    "llama.cpp": ("llama-cpp-python", of_llama_cpp),
    "llguidance": ("llguidance", of_llguidance),
    "outlines": ("outlines-core", of_outlines),
    "xgrammar": ("xgrammar", of_xgrammar),
}
"""For each engine, the name of its distribution and the function that returns its compiler."""


def _bytes() -> grammask.Vocabulary:
    return grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)


def support(engine: str) -> dict[str, str]:
    """Return the status of each keyword in an installed engine.

    Texts are written compactly and as ``json.dumps`` writes them, since engines differ in the white space they allow.
    """
    compile = ENGINES[engine][1]()
    found: dict[str, set[str]] = defaultdict(set)
    for probe in probes():
        found[probe["keyword"]].add(_status(compile, probe))
    return {
        keyword: next(iter(statuses)) if len(statuses) == 1 else "partial"
        for keyword, statuses in sorted(found.items())
    }


def _status(compile: Callable[[str], Accepts], probe: dict[str, Any]) -> str:
    try:
        accepts = compile(probe["schema"])
    except Rejected:
        return "rejected"

    def accepted(text: str) -> bool:
        return accepts(text) or accepts(json.dumps(json.loads(text)))

    valid = [accepted(text) for text in probe["valid"]]
    invalid = [accepted(text) for text in probe["invalid"]]
    if all(valid) and not any(invalid):
        return "enforced"
    return "ignored" if all(valid) and any(invalid) else "partial"


def main() -> None:
    """Print or store the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("engines", nargs="*", metavar="ENGINE", help=", ".join(ENGINES))
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    table = portability.table()
    for engine in arguments.engines or ENGINES:
        distribution, _ = ENGINES[engine]
        try:
            version = importlib.metadata.version(distribution)
            statuses = support(engine)
        except ImportError as error:
            print(f"{engine}: {error}", file=sys.stderr)
            continue
        source = f"{distribution} {version}"
        print(f"{engine} ({source})")
        for keyword, status in statuses.items():
            print(f"  {status:9} {keyword}")
        if engine != "grammask":
            table[engine] = {"source": source, "keywords": statuses}
    if arguments.write:
        text = json.dumps(dict(sorted(table.items())), indent=1)
        portability.TABLE.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
