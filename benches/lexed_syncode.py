"""Runs SynCode (https://github.com/structuredllm/syncode) without a model: its logits processor on scores of zero.

    pip install --no-deps syncode==0.4.16 transformers==4.53.2 tokenizers==0.21.2 huggingface_hub==0.33.2
    pip install torch regex==2024.11.6 interegular fire jsonschema tqdm pyyaml requests filelock fsspec safetensors

SynCode 0.4.16 reads the bundled grammars unchanged, with lark's basic lexer, but requires a tokenizer of transformers
and imports `datasets` for its evaluations. This program passes an adapter with the methods that SynCode calls, and an
empty module for `datasets`. Indentation works only for grammars that it ships. For these, measure only files that its
own parser accepts: `lexed_syncode.py java files.txt` prints their paths.

A step includes all work of a user's step: decoding and lexing the whole text, parsing the new part, the mask, and
setting the scores of excluded tokens. The mode is `grammar_mask`, the default.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import lexed_dialects
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt
    from comparison.vocabularies import TokenTable


class VocabularyTokenizer:
    """The methods of a byte-level tokenizer that SynCode calls: token names in the alphabet of GPT-2, and decoding."""

    def __init__(self, table: TokenTable, spellings: dict[int, str]) -> None:
        """Spell each token."""
        self._ids = {
            "".join(spellings[byte] for byte in token): id for id, token in enumerate(table.tokens) if token
        }
        self._ids[table.end_name] = table.eos
        self._texts = {id: token.decode("utf-8", "replace") for id, token in enumerate(table.tokens) if token}
        self.eos_token_id = table.eos
        self.all_special_ids = [table.eos]
        self.vocab_size = len(self._ids)

    def get_vocab(self) -> dict[str, int]:
        """Return the tokens with their ids."""
        return self._ids

    def decode(self, ids: list[int]) -> str:
        """Return the text of tokens."""
        return "".join(self._texts.get(id, "") for id in ids)


class LogitsSteps:
    """The state of a text."""

    def __init__(self, processor: Any, size: int) -> None:
        """Start a text."""
        self._torch: Any = importlib.import_module("torch")
        self._processor, self._size = processor, size
        self._ids: list[int] = []
        self._scores: Any = None
        processor.reset()

    def fill(self) -> None:
        """Compute the mask."""
        scores = self._torch.zeros((1, self._size))
        ids = self._torch.tensor([self._ids], dtype=self._torch.long)
        self._scores = self._processor(ids, scores)

    def accept(self, token: int) -> bool:
        """Append a token, whether the mask allows it or not."""
        self._ids.append(token)
        return bool(self._scores[0, token] == 0)

    def allowed(self) -> npt.NDArray[np.bool_]:
        """Return the mask."""
        return np.asarray(self._scores[0].numpy() == 0)


def imported() -> Any:
    """Import SynCode and its slow dependencies."""
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    # Imported before the module for `datasets`, whose presence transformers examines.
    importlib.import_module("transformers.generation.utils")
    stand_in: Any = ModuleType("datasets")
    stand_in.load_dataset = None
    sys.modules.setdefault("datasets", stand_in)
    with tempfile.TemporaryDirectory() as cache, _silence():
        os.environ["SYNCODE_CACHE"] = cache + "/"
        return importlib.import_module("syncode")


def logits_processor(syncode: Any, grammar: Any, table: TokenTable) -> Any:
    """Build the mask store for a grammar."""
    spellings = importlib.import_module("syncode.mask_store.byte_tokenizer").bytes_to_unicode()
    with tempfile.TemporaryDirectory() as cache, _silence():
        syncode.common.SYNCODE_CACHE = cache + "/"
        return syncode.SyncodeLogitsProcessor(
            grammar=grammar,
            tokenizer=VocabularyTokenizer(table, spellings),
            use_cache=False,
            parse_output_only=False,
            indent=grammar.name == "python",
        )


def grammar(syncode: Any, name: str, author: str) -> Any:
    """Return a grammar that comes with grammask or with SynCode."""
    return syncode.Grammar(name if author == "syncode" else lexed_dialects.source(name).text)


def reader(syncode: Any, name: str) -> Callable[[str], bool]:
    """Return a predicate: the parser of SynCode accepts a text under its own grammar."""
    parsers: Any = importlib.import_module("syncode.parsers")
    errors: Any = importlib.import_module("syncode.larkm.exceptions")
    indenter = parsers.PythonIndenter() if name == "python" else None
    parser = parsers.create_base_parser(grammar(syncode, name, "syncode"), indenter=indenter)

    def reads(text: str) -> bool:
        steps = parser.parse_interactive(text)
        try:
            for token in steps.lexer_thread.lex(steps.parser_state):
                if token.type != "EOS" or "EOS" in steps.accepts():  # Its Go parser drops these.
                    steps.feed_token(token)
        except (errors.LarkError, AssertionError):
            return False
        return bool(steps.accepts() & {"$END", "EOF", "EOS"})

    return reads


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def main() -> None:
    """Print the paths of the files that the parser of SynCode accepts under its own grammar."""
    name, files = sys.argv[1:]
    reads = reader(imported(), name)
    for path in Path(files).read_text("utf-8").splitlines():
        if reads(Path(path).read_text("utf-8", errors="ignore")):
            sys.stdout.write(path + "\n")


if __name__ == "__main__":
    main()
