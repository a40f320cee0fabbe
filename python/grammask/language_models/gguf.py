"""Models in GGUF files, run by llama.cpp through the package llama-cpp-python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from grammask.language_models import ModelNotFound
from grammask.language_models.chat_encoding import encode_rendered
from grammask.language_models.greedy_tokenizer import plain_chat
from grammask.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt


class LlamaModel:
    """A model and its tokenizer from one file."""

    def __init__(self, llama: Any) -> None:
        """Wraps a ``llama_cpp.Llama``, whose text is replaced."""
        import llama_cpp

        self._llama: Any = llama
        self._logits_of: Any = llama_cpp.llama_get_logits_ith
        self.vocabulary = Vocabulary.from_gguf(llama.model_path)
        self._pending: list[int] = []
        self._logits: npt.NDArray[np.float32] = np.zeros(0, np.float32)

    @classmethod
    def open(cls, path: str) -> LlamaModel:
        """Loads a file, with the context length of the training.

        Raises:
            ModelNotFound: There is no such file, it is no model, or llama-cpp-python is not installed.
        """
        try:
            import llama_cpp
        except ImportError as error:
            raise ModelNotFound(f"gguf:{path} needs the package llama-cpp-python ({error})") from None
        if not Path(path).is_file():
            raise ModelNotFound(f"gguf:{path}: there is no such file")
        try:
            return cls(llama_cpp.Llama(model_path=path, n_ctx=0, verbose=False))
        except ValueError as error:
            raise ModelNotFound(f"gguf:{path}: {error}") from None

    @property
    def context_length(self) -> int:
        """The maximum number of tokens of a prompt and its text."""
        return int(self._llama.n_ctx())

    def encode(self, prompt: str) -> list[int]:
        """Encodes the prompt with the model's tokenizer, with the tokens that begin texts."""
        return list(self._llama.tokenize(prompt.encode("utf-8", "surrogateescape")))

    def encode_chat(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()
    ) -> list[int]:
        """Encodes the chat with the template of the file, or as plain text if there is none.

        Only the template writes control tokens: their spellings in the chat are text.

        Raises:
            ValueError: The template does not admit such a chat.
        """
        template = self._llama.metadata.get("tokenizer.chat_template")
        if template is None:
            return self.encode(plain_chat(messages))
        from jinja2 import TemplateError
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        def text_of(id: int) -> str:
            return "" if id < 0 else str(self._llama._model.token_get_text(id))  # noqa: SLF001

        formatter: Any = Jinja2ChatFormatter(
            template, eos_token=text_of(self._llama.token_eos()), bos_token=text_of(self._llama.token_bos())
        )

        def render(messages: list[Any], tools: list[Any]) -> str:
            try:
                return str(formatter(messages=messages, tools=tools or None).prompt)
            except (TemplateError, ValueError) as error:
                raise ValueError(f"the chat template of the model: {error}") from None

        return encode_rendered(
            messages,
            tools,
            control=self.vocabulary.special,
            render=render,
            encode=lambda text: list(self._llama.tokenize(text.encode(), add_bos=False, special=True)),
            encode_text=self.encode_text,
        )

    def begin(self, tokens: Sequence[int]) -> None:
        """Starts a text with these tokens; without tokens, with the token that begins texts."""
        self._llama.reset()
        first = self._llama.token_bos()
        self._pending = list(tokens) or [first if first >= 0 else self._llama.token_eos()]

    def append(self, token: int) -> None:
        """Appends a token to the text."""
        self._pending.append(token)

    def logits(self) -> npt.NDArray[np.float32]:
        """Runs the model on the tokens that it has not read, and returns the logits."""
        if self._pending:
            self._llama.eval(self._pending)
            pointer = self._logits_of(self._llama.ctx, -1)
            self._logits = np.ctypeslib.as_array(pointer, shape=(self.vocabulary.size,)).astype(np.float32)
            self._pending = []
        copy: npt.NDArray[np.float32] = self._logits.copy()
        return copy

    def encode_text(self, text: str) -> list[int]:
        """Encodes a text inside a longer one."""
        return list(
            self._llama.tokenize(text.encode("utf-8", "surrogateescape"), add_bos=False, special=False)
        )

    def logits_along(self, draft: Sequence[int]) -> npt.NDArray[np.float32]:
        """Runs the model on the tokens that it has not read and a draft, which is appended.

        ``Llama.eval`` returns either the logits after the last token or, with ``logits_all``, those of a whole context,
        so the batch is decoded here.
        """
        before = [] if self._pending else [self._logits]
        tokens = [*self._pending, *draft]
        llama = self._llama
        if len(tokens) > llama.n_batch:
            llama.eval(tokens[: -llama.n_batch])
            tokens = tokens[-llama.n_batch :]
        begin, end = llama.n_tokens, llama.n_tokens + len(tokens)
        llama._ctx.kv_cache_seq_rm(-1, begin, -1)  # noqa: SLF001
        batch = llama._batch  # noqa: SLF001
        batch.set_batch(batch=tokens, n_past=begin, logits_all=False)
        positions = range(len(tokens) - len(draft) - (not before), len(tokens))
        for position in positions:
            batch.batch.logits[position] = True
        llama._ctx.decode(batch)  # noqa: SLF001
        llama.input_ids[begin:end] = tokens
        llama.n_tokens = end
        rows = [
            np.ctypeslib.as_array(self._logits_of(llama.ctx, position), shape=(self.vocabulary.size,))
            for position in positions
        ]
        stacked: npt.NDArray[np.float32] = np.stack([*before, *rows]).astype(np.float32)
        self._logits, self._pending = stacked[-1].copy(), []
        return stacked

    def remove_last(self, count: int) -> None:
        """Removes the last tokens of the text; the next run overwrites them."""
        self._llama.n_tokens -= count
