"""The entry point of SGLang's plugins: adds ``grammask`` to the choices of ``--grammar-backend``.

See ``docs/servers.md``. SGLang has a registry of backends; the backend is imported only if a server requests it. The
environment variable ``GRAMMASK_SGLANG_PARSERS`` names tool styles whose parsers of calls and reasoning are registered,
too; importing SGLang's registries of parsers takes seconds, so they are not imported otherwise.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from grammask.integrations.serving.interfaces import UnexpectedInterface, owner_of

__all__ = ["NAME", "PARSERS_VARIABLE", "TESTED_VERSIONS", "check_interface", "plugin"]

TESTED_VERSIONS = ("0.5.21", "0.5.22", "0.5.23")
"""The versions of SGLang whose managers of grammars `make test-engines` runs."""

NAME = "grammask"
"""The choice of ``--grammar-backend``."""

PARSERS_VARIABLE = "GRAMMASK_SGLANG_PARSERS"
"""Names the tool styles whose parsers are registered, separated by commas; ``all`` for all styles."""

_REGISTRY = "sglang.srt.constrained.base_grammar_backend"


def plugin() -> None:
    """Registers the backend and the parsers; idempotent. SGLang calls it in every process of a server.

    Raises:
        UnexpectedInterface: This version of SGLang has no such registry.
        ValueError: The variable names a style that does not exist.
    """
    choices = "sglang.srt.arg_groups.choices"
    if NAME not in owner_of(choices, "GRAMMAR_BACKEND_CHOICES").GRAMMAR_BACKEND_CHOICES:
        owner_of(choices, "add_grammar_backend_choices").add_grammar_backend_choices([NAME])
    owner_of(_REGISTRY, "register_grammar_backend").register_grammar_backend(NAME, _make)
    names = [name.strip() for name in os.environ.get(PARSERS_VARIABLE, "").split(",") if name.strip()]
    if names:
        try:
            from grammask.integrations.sglang_parsers import register
        except ImportError as error:
            raise UnexpectedInterface(
                error.name or "sglang", f"cannot be imported as expected ({error})"
            ) from error
        register(*([] if names == ["all"] else names), is_backend=_is_requested())


def _is_requested() -> bool:
    """Whether the command line of this server requests the backend.

    The parsers are made before the options are read.
    """
    option = "--grammar-backend"
    return f"{option}={NAME}" in sys.argv or any(
        pair == (option, NAME) for pair in zip(sys.argv, sys.argv[1:], strict=False)
    )


def check_interface() -> None:
    """Checks that SGLang has the classes, methods and attributes that grammask uses, and registers nothing.

    Raises:
        UnexpectedInterface: It has not; the error names the first one that is different.
    """
    try:
        from grammask.integrations import sglang as ours
    except ImportError as error:
        raise UnexpectedInterface(
            error.name or "sglang", f"cannot be imported as expected ({error})"
        ) from error
    owner_of(_REGISTRY, "register_grammar_backend")
    ours.check_interface()


def _make(server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: Any) -> Any:
    """Makes the backend of a server that was started with ``--grammar-backend grammask``.

    Raises:
        UnexpectedInterface: This version of SGLang does not have the interface that grammask knows.
    """
    check_interface()
    from grammask.integrations.sglang import make_backend

    return make_backend(server_args, tokenizer, vocab_size, eos_token_ids)
