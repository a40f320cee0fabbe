"""xgrammar's adapters for other libraries: the logits processor for transformers."""

from grammask.compat.xgrammar.contrib import hf

__all__ = ["hf"]
