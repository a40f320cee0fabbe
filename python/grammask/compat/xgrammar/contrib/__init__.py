"""What xgrammar has for other libraries: the logits processor for transformers."""

from grammask.compat.xgrammar.contrib import hf

__all__ = ["hf"]
