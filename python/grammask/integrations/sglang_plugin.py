"""The entry point of SGLang's plugins: adds ``grammask`` to the choices of ``--grammar-backend``.

See ``docs/sglang.md``. SGLang has a registry of backends; the backend is imported only if a server requests it.
"""

from __future__ import annotations

from typing import Any

__all__ = ["plugin"]

TESTED_VERSIONS = ("0.5.23",)
"""Prefixes of the supported versions of SGLang."""

NAME = "grammask"


def plugin() -> None:
    """Registers the backend; idempotent. SGLang calls it in every process of a server."""
    from sglang.srt.arg_groups import choices
    from sglang.srt.constrained.base_grammar_backend import register_grammar_backend

    if NAME not in choices.GRAMMAR_BACKEND_CHOICES:
        choices.add_grammar_backend_choices([NAME])
    register_grammar_backend(NAME, _make)


def _make(server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: Any) -> Any:
    """Makes the backend of a server that was started with ``--grammar-backend grammask``.

    Raises:
        RuntimeError: This version of SGLang was not tested.
    """
    import sglang

    version = str(sglang.__version__)
    if not version.startswith(TESTED_VERSIONS):
        msg = (
            f"grammask's backend was made for SGLang {' and '.join(TESTED_VERSIONS)}, and this is {version}: use the "
            "versions that docs/sglang.md names"
        )
        raise RuntimeError(msg)
    from grammask.integrations.sglang import make_backend

    return make_backend(server_args, tokenizer, vocab_size, eos_token_ids)
