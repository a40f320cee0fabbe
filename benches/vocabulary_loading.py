"""Measures how long vocabularies take to load from each kind of tokenizer, comparison with its decoding included.

Needs tokenizers, tiktoken and mistral-common (the group `dev`); what is missing is left out. The tokenizer of Hugging
Face is made of the embedded o200k, with all its 199,998 tokens. Times are CPU time of the whole process, the median of
five.
"""

from __future__ import annotations

import contextlib
import statistics
import tempfile
from functools import partial
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

from grammask import Vocabulary
from grammask.vocabulary.token_decoder import BYTE_ALPHABET

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TIMES = 5
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
    """Yield what there is to load."""
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


def main() -> None:
    """Print one line per kind, as a table of Markdown."""
    print("| from | tokens | seconds |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, load in loads(Path(folder)):
            times = []
            for _ in range(TIMES):
                start = process_time()
                vocabulary = load()
                times.append(process_time() - start)
            print(f"| {name} | {vocabulary.size} | {statistics.median(times):.2f} |")


if __name__ == "__main__":
    main()
