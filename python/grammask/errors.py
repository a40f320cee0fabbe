"""The exceptions of grammask. Each has a stable ``code`` that programs may match on; messages may change."""

from __future__ import annotations


class VocabularyError(ValueError):
    """The given tokens, special tokens, end tokens, size or tokenizer make no vocabulary.

    The message says what to do about it.

    Attributes:
        code: Stable identifier, for example ``"eos-out-of-range"``.
    """

    code: str

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message, code)
        self.code = code

    def __str__(self) -> str:
        return str(self.args[0])
