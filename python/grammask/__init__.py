"""Exact next-token masks for grammars: constrained decoding at memory speed."""

from grammask.errors import VocabularyError
from grammask.vocabulary import Vocabulary

__all__ = ["Vocabulary", "VocabularyError"]
