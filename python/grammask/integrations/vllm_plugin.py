"""The entry point of vLLM's plugins: replaces one of vLLM's own structured-output backends by grammask.

vLLM 0.33 has no registry of backends, so this module assigns to names in vLLM's modules. It therefore accepts only
versions of vLLM that were tested. It does nothing unless the environment variable ``GRAMMASK_VLLM`` names the backends
to replace, so installing grammask changes no server:

    GRAMMASK_VLLM=guidance vllm serve MODEL --structured-outputs-config '{"backend": "guidance"}'

``GRAMMASK_VLLM=xgrammar,guidance`` replaces all backends that the default (``auto``) selects for constraints that
grammask can enforce exactly. See ``docs/vllm.md``.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

__all__ = ["install", "plugin"]

TESTED_VERSIONS = ("0.33.",)
"""Prefixes of the supported versions of vLLM."""

_MANAGER = "vllm.v1.structured_output"

_BUDGETS = (_MANAGER, "StructuredOutputManager._create_grammar", "create_grammar")
"""A backend does not learn the maximum number of tokens of a request, but the manager of backends does."""

_PATCHES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "guidance": (
        _BUDGETS,
        (_MANAGER, "GuidanceBackend", "GrammaskBackend"),
        (f"{_MANAGER}.backend_guidance", "GuidanceBackend", "GrammaskBackend"),
        (f"{_MANAGER}.backend_guidance", "validate_guidance_grammar", "validate_request"),
        (f"{_MANAGER}.backend_guidance", "has_guidance_unsupported_json_features", "nothing_unsupported"),
    ),
    "xgrammar": (
        _BUDGETS,
        (_MANAGER, "XgrammarBackend", "GrammaskBackend"),
        (f"{_MANAGER}.backend_xgrammar", "XgrammarBackend", "GrammaskBackend"),
        (f"{_MANAGER}.backend_xgrammar", "validate_xgrammar_grammar", "validate_request"),
    ),
}
"""For each backend, the module and the dotted name to be replaced in vLLM, and the name of the replacement."""


def plugin() -> None:
    """Replaces the backends that ``GRAMMASK_VLLM`` names. vLLM calls it in every process of a server.

    Raises:
        ValueError: The variable names a backend that cannot be replaced.
        RuntimeError: This version of vLLM was not tested.
    """
    names = [name.strip() for name in os.environ.get("GRAMMASK_VLLM", "").split(",")]
    install(*[name for name in names if name])


def install(*names: str) -> None:
    """Replaces structured-output backends of vLLM by grammask in this process; idempotent.

    Args:
        names: ``"guidance"``, ``"xgrammar"`` or both.

    Raises:
        ValueError: There is no such backend, it cannot be replaced, or ``GRAMMASK_BUDGET`` has an unknown value.
        RuntimeError: This version of vLLM was not tested, or lacks a name that is to be replaced.
    """
    unknown = [name for name in names if name not in _PATCHES]
    if unknown:
        msg = (
            f"grammask can take the place of {' and '.join(sorted(_PATCHES))} in vLLM, not of {unknown[0]!r}"
        )
        raise ValueError(msg)
    if not names:
        return
    _check_version()
    from grammask.integrations import vllm as ours
    from grammask.integrations.serving.request_budget import BudgetPolicy

    BudgetPolicy.of_environment()
    replacements: dict[str, Any] = {
        "GrammaskBackend": ours.GrammaskBackend,
        "create_grammar": ours.create_grammar,
        "validate_request": ours.validate_request,
        "nothing_unsupported": _nothing_unsupported,
    }
    patches = [patch for name in names for patch in _PATCHES[name]]
    owners = [_owner(module, theirs) for module, theirs, _ in patches]
    for owner, (_, theirs, mine) in zip(owners, patches, strict=True):
        setattr(owner, theirs.rpartition(".")[2], replacements[mine])


def _owner(module: str, name: str) -> Any:
    """Returns the module or class with the attribute that a dotted name denotes.

    Raises:
        RuntimeError: There is none.
    """
    *path, attribute = name.split(".")
    owner: Any = importlib.import_module(module)
    for part in path:
        owner = getattr(owner, part, None)
    if not hasattr(owner, attribute):
        msg = f"{module} has no {name}: grammask's plugin does not fit this build of vLLM"
        raise RuntimeError(msg)
    return owner


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
    """Replaces vLLM's list of unsupported keywords; ``validate_request`` refuses unsupported constructs by name."""
    return False
