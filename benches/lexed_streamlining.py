"""Reproduces the figures and checks of the blog post on mask store streamlining, with the Python grammar of lark.

    python benches/lexed_streamlining.py tokenizer.model.v1 files.txt

The post counts the entries of a mask store before and after each step, for the vocabulary of Mistral 7B v0.1 restricted
to printable ASCII and line breaks, and verifies the masks: real Python is never masked, sampled texts parse, and masks
do not change. grammask has no mask store, so the last check compares each mask with the verdicts of ``accept`` on a
sample of tokens at every tenth position.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import grammask
import lark
from grammask.cli.streamline import in_ascii
from grammask.streamlining import entries_by_state, entries_by_step, streamlining_report
from lark.indenter import PythonIndenter

GRAMMAR = Path(lark.__file__).parent / "grammars" / "python.lark"
CLOSING = ["\n", ")", "]", "}", '"', "'", ":", " ", "x", "1", "pass", "\n ", "=", ","]


def counts(vocabulary: grammask.Vocabulary, charts: Path | None) -> dict[str, Any]:
    """Return the report on streamlining, and draw its charts."""
    grammar = grammask.Grammar.from_lark(GRAMMAR, start="file_input", lexer="basic", postlex=PythonIndenter)
    report = streamlining_report(grammar, vocabulary)
    if charts is not None:
        for drawing, name in ((entries_by_step(report), "steps"), (entries_by_state(report), "states")):
            charts.with_name(f"{charts.name}-{name}.svg").write_text(drawing.svg(), "utf-8")
    return {
        "steps": dict(report.steps),
        "states": len(report.states),
        "pairs never, sometimes, always": report.pairs,
        "representatives": report.representatives,
        "pairs of representatives": report.representative_pairs,
        "seconds for pairs": round(report.pair_seconds, 2),
        "seconds": round(report.seconds, 2),
    }


def never_masked(
    compiled: grammask.CompiledGrammar, encode: Any, texts: list[str], most: int
) -> dict[str, Any]:
    """Check that tokens of real files are never masked, and compare masks with single tokens."""
    tokens = files = compared = 0
    chance, begin = random.Random(1), time.process_time()
    for text in texts:
        if tokens >= most:
            break
        matcher = compiled.matcher()
        ids = encode(text)
        for token in ids:
            if not matcher.is_allowed(token):
                return {"masked": text[:100], "token": token}
            if tokens % 10 == 0:
                allowed = set(matcher.allowed_ids().tolist())
                for other in chance.sample(range(32_000), 10):
                    if matcher.fork().accept(other) != (other in allowed):
                        return {"differs": text[:100], "token": other}
                    compared += 1
            matcher.accept(token)
            tokens += 1
        files += 1
    seconds = round(time.process_time() - begin, 1)
    return {"files": files, "tokens never masked": tokens, "bits compared": compared, "seconds": seconds}


def sampled(
    compiled: grammask.CompiledGrammar, vocabulary: grammask.Vocabulary, count: int
) -> dict[str, int]:
    """Sample texts along masks until ``count`` of them end, and parse these with lark."""
    library = lark.Lark(
        GRAMMAR.read_text("utf-8"), start="file_input", parser="lalr", lexer="basic", postlex=PythonIndenter()
    )
    chance, end = random.Random(2), vocabulary.eos[0]
    closing = [next(iter(vocabulary.ids_of(text.encode())), None) for text in CLOSING]
    ended = tried = 0
    while ended < count:
        tried += 1
        matcher, text = compiled.matcher(), b""
        wanted = chance.randrange(1, 60)
        for step in range(wanted + 200):
            allowed = matcher.allowed_ids()
            if step >= wanted and matcher.is_allowed(end):
                library.parse(text.decode())
                ended += 1
                break
            ids = allowed[allowed != end]
            steps = [token for token in closing if token is not None and matcher.is_allowed(token)]
            token = chance.choice(steps) if step >= wanted and steps else int(ids[chance.randrange(len(ids))])
            matcher.accept(token)
            text += vocabulary.token(token) or b""
    return {"sampled": tried, "ended, and parsed by lark": ended}


def main() -> None:
    """Count, check, and print a line of JSON for each."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("model", type=Path, help="tokenizer.model.v1 of Mistral")
    options.add_argument("files", type=Path, help="a file with the path of a program in each line")
    options.add_argument("--tokens", type=int, default=1_000_000)
    options.add_argument("--texts", type=int, default=400)
    options.add_argument("--charts", type=Path)
    given = options.parse_args()
    vocabulary = grammask.Vocabulary.from_sentencepiece(given.model)
    sys.stdout.write(json.dumps(counts(in_ascii(vocabulary), given.charts)) + "\n")
    grammar = grammask.Grammar.from_lark(GRAMMAR, start="file_input", lexer="basic", postlex=PythonIndenter)
    by_byte = grammar.compile(grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257))
    paths = [Path(line) for line in given.files.read_text("utf-8").splitlines()]
    texts = [
        text
        for text in (path.read_text("utf-8", errors="ignore") for path in paths)
        if by_byte.is_valid(text.encode())
    ]
    processor: Any = importlib.import_module("sentencepiece").SentencePieceProcessor(
        model_file=str(given.model)
    )
    compiled = grammar.compile(vocabulary)

    def encode(text: str) -> list[int]:
        ids: list[int] = processor.encode(text)
        if not ids:
            return []
        # SentencePiece puts a space before the text, often into the first token.
        rest = (vocabulary.token(ids[0]) or b"").removeprefix(b" ")
        return [vocabulary.ids_of(bytes([byte]))[-1] for byte in rest] + ids[1:]

    sys.stdout.write(json.dumps(never_masked(compiled, encode, texts, given.tokens)) + "\n")
    sys.stdout.write(json.dumps(sampled(compiled, vocabulary, given.texts)) + "\n")


if __name__ == "__main__":
    main()
