"""The entry point of vLLM's plugins: puts grammask in the place of one of vLLM's own structured-output backends.

vLLM 0.33 has no registry of backends; it finds them by the names of its modules, which this file gives new values. That
ties it to versions that were tested, and others are refused. It does nothing unless the environment variable
``GRAMMASK_VLLM`` names the backends to replace, so that having grammask installed changes no server:

    GRAMMASK_VLLM=guidance vllm serve MODEL --structured-outputs-config '{"backend": "guidance"}'

``GRAMMASK_VLLM=xgrammar,guidance`` replaces all that the default choice of backends (``auto``) ever takes for texts
that grammask can make exact. See ``docs/vllm.md``.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

__all__ = ["install", "plugin"]

TESTED_VERSIONS = ("0.33.",)
"""What the version of vLLM may begin with."""

_MANAGER = "vllm.v1.structured_output"

_NAMES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "guidance": (
        (_MANAGER, "GuidanceBackend", "GrammaskBackend"),
        (f"{_MANAGER}.backend_guidance", "GuidanceBackend", "GrammaskBackend"),
        (f"{_MANAGER}.backend_guidance", "validate_guidance_grammar", "validate_request"),
        (f"{_MANAGER}.backend_guidance", "has_guidance_unsupported_json_features", "nothing_unsupported"),
    ),
    "xgrammar": (
        (_MANAGER, "XgrammarBackend", "GrammaskBackend"),
        (f"{_MANAGER}.backend_xgrammar", "XgrammarBackend", "GrammaskBackend"),
        (f"{_MANAGER}.backend_xgrammar", "validate_xgrammar_grammar", "validate_request"),
    ),
}
"""For each backend the names of vLLM's modules that mean it, with what takes their place."""


def plugin() -> None:
    """Replace the backends that ``GRAMMASK_VLLM`` names, in every process of a server. Called by vLLM.

    Raises:
        ValueError: It names a backend that cannot be replaced.
        RuntimeError: This version of vLLM was not tested.
    """
    names = [name.strip() for name in os.environ.get("GRAMMASK_VLLM", "").split(",")]
    install(*[name for name in names if name])


def install(*names: str) -> None:
    """Replace some of vLLM's structured-output backends by grammask, in this process. Doing it again changes nothing.

    Args:
        names: ``"guidance"``, ``"xgrammar"`` or both.

    Raises:
        ValueError: There is no such backend, or it cannot be replaced.
        RuntimeError: This version of vLLM was not tested, or lacks a name that it should have.
    """
    unknown = [name for name in names if name not in _NAMES]
    if unknown:
        msg = f"grammask can take the place of {' and '.join(sorted(_NAMES))} in vLLM, not of {unknown[0]!r}"
        raise ValueError(msg)
    if not names:
        return
    _check_version()
    from grammask.integrations import vllm as ours

    replacements: dict[str, Any] = {
        "GrammaskBackend": ours.GrammaskBackend,
        "validate_request": ours.validate_request,
        "nothing_unsupported": _nothing_unsupported,
    }
    places = [place for name in names for place in _NAMES[name]]
    modules = {module: importlib.import_module(module) for module, _, _ in places}
    for module, theirs, _ in places:
        if not hasattr(modules[module], theirs):
            msg = f"{module} has no {theirs}: grammask's plugin does not fit this build of vLLM"
            raise RuntimeError(msg)
    for module, theirs, mine in places:
        setattr(modules[module], theirs, replacements[mine])


def _check_version() -> None:
    import vllm

    version = str(vllm.__version__)
    if not version.startswith(TESTED_VERSIONS):
        tested = ", ".join(f"{start}*" for start in TESTED_VERSIONS)
        msg = (
            f"grammask's plugin was made for vLLM {tested}, and this is {version}: unset GRAMMASK_VLLM, or use the "
            "versions that docs/vllm.md names"
        )
        raise RuntimeError(msg)


def _nothing_unsupported(_: Any) -> bool:
    """In place of vLLM's own list of keywords: what cannot be enforced is refused by name in ``validate_request``."""
    return False
