"""Hashes every mask, verdict and error of fixed inputs, to show that a change of the code does not change behaviour.

    python benches/fingerprint.py [--suite NAME ...] [--every N] [--details FILE]

The suites are the schemas of MaskBench with their instances, the official JSON Schema suite, the conformance cases, the
bundled programming languages with real programs, and the grammars of the comparison. Two builds behave alike on them if
the printed hashes are equal; ``--details`` writes a line per case, so that ``diff`` names the first difference. Run it
with ``PYTHONPATH`` set to the ``python`` folder of the build to examine; ``builds.py`` compares speed.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import build_inputs
import grammask
import tomllib
from comparison import vocabularies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import tiktoken


class _Readings:
    """Compiles grammars over one vocabulary and hashes the masks along texts."""

    def __init__(self, table: vocabularies.TokenTable) -> None:
        self.vocabulary = grammask.Vocabulary(table.tokens, eos=table.eos, size=table.size)
        self.encoding: tiktoken.Encoding = table.encoding()
        self.mask = grammask.allocate_mask(1, table.size)

    def case(self, make: Callable[[], grammask.Grammar], texts: list[list[int]]) -> str:
        """Return the hash of all masks along texts, or of the error that compiling raises."""
        state = hashlib.blake2b(digest_size=16)
        try:
            grammar = make()
            compiled = grammar.compile(self.vocabulary, cache=False)
        except grammask.GrammarError as error:
            state.update(repr([_place(item) for item in error.diagnostics]).encode())
            return "error " + state.hexdigest()
        state.update(repr([_place(item) for item in getattr(grammar, "relaxations", ())]).encode())
        for tokens in texts:
            self._read(state, compiled.matcher(), tokens)
        return state.hexdigest()

    def _read(self, state: Any, matcher: grammask.Matcher, tokens: list[int]) -> None:
        for position, token in enumerate([*tokens, None]):
            try:
                matcher.fill_mask(self.mask)
            except grammask.GrammarError as error:
                state.update(f"{position} {type(error).__name__} {getattr(error, 'code', '')}".encode())
                return
            state.update(self.mask)
            if token is not None and not matcher.accept(token):
                state.update(f"rejected {position}".encode())
                return
        state.update(f"complete {matcher.is_complete}".encode())


def _place(diagnostic: Any) -> tuple[Any, ...]:
    return tuple(str(getattr(diagnostic, name, "")) for name in ("code", "location", "pointer", "severity"))


def _inputs(suite: str, readings: _Readings) -> Iterator[tuple[str, Callable[[], str]]]:
    for item in build_inputs.SUITES[suite]():

        def hashed(item: build_inputs.Input = item) -> str:
            return readings.case(
                item.grammar, [readings.encoding.encode_ordinary(text) for text in item.texts()]
            )

        yield item.name, hashed


def _conformance() -> Iterator[tuple[str, Callable[[], str]]]:
    file = build_inputs.ROOT / "testdata" / "conformance" / "kbnf.toml"
    for definition in tomllib.loads(file.read_text("utf-8"))["case"]:
        yield definition["name"], lambda definition=definition: _conformance_case(definition)


def _conformance_case(case: dict[str, Any]) -> str:
    state = hashlib.blake2b(digest_size=16)
    tokens: list[bytes | None] = []
    special: dict[str, int] = {}
    for id, token in enumerate(case["tokens"]):
        text = token if isinstance(token, dict) else {"hex": token.encode().hex()}
        tokens.append(bytes.fromhex(text["hex"]) if "hex" in text else None)
        if "special" in text:
            special[text["special"]] = id
    try:
        vocabulary = grammask.Vocabulary(
            tokens, special=special, eos=case.get("eos", []), size=case.get("size")
        )
        grammar = grammask.Grammar.from_kbnf(case["grammar"], start=case.get("start", "start"))
        matcher = grammar.compile(vocabulary, end=case.get("end", "eager"), cache=False).matcher()
    except grammask.GrammarError as error:
        return f"error {getattr(error, 'code', '')} {getattr(error, 'location', '')}"
    for step in [{}, *case.get("steps", [])]:
        if "token" in step:
            state.update(bytes([matcher.accept(step["token"]), matcher.is_finished]))
        elif "rollback" in step:
            matcher.rollback(step["rollback"])
        elif "reset" in step:
            matcher.reset()
        try:
            state.update(repr(matcher.allowed_ids().tolist()).encode())
        except grammask.GrammarError as error:
            state.update(type(error).__name__.encode())
    return state.hexdigest()


_SUITES = ("maskbench", "schema-suite", "conformance", "languages", "comparison")


def main() -> None:
    """Hash the suites and print a line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", nargs="+", choices=_SUITES, default=_SUITES, metavar="NAME")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each Nth case of a suite")
    parser.add_argument("--vocabulary", default=vocabularies.default_name(), metavar="NAME")
    parser.add_argument("--details", type=Path, metavar="FILE", help="write a line per case")
    options = parser.parse_args()
    readings = _Readings(vocabularies.load(options.vocabulary))
    lines = []
    for suite in options.suite:
        state, count = hashlib.blake2b(digest_size=16), 0
        cases = _conformance() if suite == "conformance" else _inputs(suite, readings)
        for name, hashed in list(cases)[:: options.every]:
            line = f"{suite} {name} {hashed()}"
            state.update(line.encode())
            lines.append(line)
            count += 1
        print(f"{suite}: {state.hexdigest()}, {count} cases", flush=True)
    if options.details:
        options.details.write_text("\n".join([*lines, ""]), "utf-8")


if __name__ == "__main__":
    main()
