"""Measures loading a vocabulary from each kind of tokenizer, and the start of a process with files that grammask saved.

Loading from a tokenizer includes the check against its decoding.
Needs tokenizers, tiktoken and mistral-common (the group `dev`); missing ones are skipped. The Hugging Face tokenizer
has the 199,998 tokens of the embedded o200k. Times are CPU time of the process, medians of five runs. ``--record``
overwrites the results in ``benches/results``.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

from grammask import Grammar, Vocabulary
from grammask.vocabulary.token_decoder import BYTE_ALPHABET
from suite_results import Section, Stamp, SuiteResults, Table, add_record_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TIMES = 5
_START = """
import sys, time
import numpy
times = [time.process_time()]
def measure():
    times.append(time.process_time())
import grammask
measure()
vocabulary = grammask.Vocabulary.load(sys.argv[1])
measure()
compiled = grammask.CompiledGrammar.load(sys.argv[2], vocabulary)
measure()
compiled.matcher().fill_mask(grammask.allocate_mask(1, vocabulary.size))
measure()
print(*(after - before for before, after in zip(times, times[1:])))
"""
"""A process that reads two files, after numpy, which a program with arrays imports anyway."""
_SCHEMA = (
    '{"properties": {"name": {"type": "string"}, "born": {"type": "integer"}}, "required": ["name", "born"]}'
)
_STEPS = ("importing grammask, after numpy", "the vocabulary", "the compiled grammar", "the first mask")
LETTERS = {byte: chr(letter) for letter, byte in BYTE_ALPHABET.items() if byte < 0x100}


def hugging_face() -> Any:
    """Return a byte-level tokenizer with the tokens of o200k."""
    import tokenizers

    texts = Vocabulary.default().tokens()
    letters = [LETTERS.get(byte, chr(byte)) for byte in range(256)]
    vocab = {"".join(letters[byte] for byte in text): id for id, text in enumerate(texts) if text}
    result = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocab, merges=[]))
    result.decoder = tokenizers.decoders.ByteLevel()
    result.add_special_tokens(["<|end|>"])
    return result


def loads(folder: Path) -> Iterator[tuple[str, Callable[[], Vocabulary]]]:
    """Yield the kinds of tokenizers with a function that loads a vocabulary from each."""
    saved = folder / "saved"
    Vocabulary.default().save(saved)
    yield "saved by grammask", lambda: Vocabulary.load(saved)
    with contextlib.suppress(ImportError):
        tokenizer = hugging_face()
        yield "Hugging Face, fast", lambda: Vocabulary.from_huggingface(tokenizer, eos="<|end|>")
        path = folder / "tokenizer.json"
        tokenizer.save(str(path))
        yield "tokenizer.json", lambda: Vocabulary.from_tokenizer_json(path, eos="<|end|>")
    with contextlib.suppress(ImportError):
        import tiktoken

        ranks = {text: id for id, text in enumerate(Vocabulary.default().tokens()) if text}
        encoding = tiktoken.Encoding(
            name="o200k", pat_str=".", mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 199_999}
        )
        yield "tiktoken", lambda: Vocabulary.from_tiktoken(encoding)
    with contextlib.suppress(ImportError):
        import mistral_common

        data = Path(mistral_common.__file__).parent / "data"
        for name in sorted(data.glob("tekken*.json"))[-1:]:
            yield "tekken.json", partial(Vocabulary.from_tekken, name)
        for model in sorted(data.glob("*.model.v3"))[-1:]:
            yield "SentencePiece model", partial(Vocabulary.from_sentencepiece, model)


def process_start(folder: Path) -> list[list[str]]:
    """Return the steps of a new process from files to its first mask, with their medians, and the sum."""
    vocabulary = Vocabulary.default()
    files = (folder / "saved.vocabulary", folder / "saved.grammar")
    vocabulary.save(files[0])
    Grammar.from_json_schema(_SCHEMA).compile(vocabulary).save(files[1], ['{"name": "Ada", "born": 1815}'])
    command = [sys.executable, "-c", _START, *map(str, files)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    runs = []
    for _ in range(3 * TIMES):  # The first one writes the bytecode of modules, if that is missing.
        output = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
        runs.append([1000 * float(seconds) for seconds in output.split()])
    medians = [statistics.median(times) for times in zip(*runs, strict=True)]
    total = statistics.median(map(sum, runs))
    return [[name, f"{time:.1f}"] for name, time in zip((*_STEPS, "all"), (*medians, total), strict=True)]


def main() -> None:
    """Measure, print, and record the results if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    add_record_option(parser)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, load in loads(Path(folder)):
            times = []
            for _ in range(TIMES):
                start = process_time()
                vocabulary = load()
                times.append(process_time() - start)
            rows.append([name, f"{vocabulary.size:,}", f"{statistics.median(times):.3f}"])
        steps = Table(("step", "CPU milliseconds"), process_start(Path(folder)))
    table = Table(("source", "tokens", "CPU seconds"), rows)
    print(table.markdown(), steps.markdown(), sep="\n\n")
    if options.record:
        sections = [Section("Loading", "", table, "loading"), Section("Process start", "", steps, "start")]
        title = "Loading vocabularies"
        SuiteResults("vocabulary_loading", title, Stamp.now(), sections).write(options.record)


if __name__ == "__main__":
    main()
