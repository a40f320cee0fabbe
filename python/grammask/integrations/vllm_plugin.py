"""The entry point of vLLM's plugins: replaces one of vLLM's own structured-output backends by grammask.

vLLM has no registry of backends (``contrib/vllm`` has a patch that adds one; where it is applied, this module registers
the backend ``grammask``), so this module assigns to names in vLLM's modules. It first compares their names and
signatures with those that grammask knows. It does nothing unless the environment variable ``GRAMMASK_VLLM`` names the
backends to replace, so installing grammask changes no server:

    GRAMMASK_VLLM=guidance vllm serve MODEL --structured-outputs-config '{"backend": "guidance"}'

``GRAMMASK_VLLM=xgrammar,guidance`` replaces all backends that the default (``auto``) selects for constraints that
grammask can enforce exactly. See ``docs/servers.md``.
"""

from __future__ import annotations

import importlib.util
import os
from typing import Any

from grammask.integrations.serving.interfaces import UnexpectedInterface, check_signature, owner_of

__all__ = [
    "ENVIRONMENT_VARIABLE",
    "NAME",
    "TESTED_VERSIONS",
    "check_interface",
    "has_registry",
    "install",
    "plugin",
    "replaced_names",
]

TESTED_VERSIONS = ("0.31.0", "0.32.0", "0.33.0")
"""The versions of vLLM whose managers of grammars `make test-engines` runs."""

ENVIRONMENT_VARIABLE = "GRAMMASK_VLLM"
"""Names the backends to replace, separated by commas."""

NAME = "grammask"
"""The name of the backend in vLLM's registry."""

_REGISTRY = "vllm.plugins.structured_outputs"
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
    """Registers the backend where vLLM has a registry, and replaces the backends that ``GRAMMASK_VLLM`` names.

    vLLM calls it in every process of a server.

    Raises:
        ValueError: The variable names a backend that cannot be replaced.
        UnexpectedInterface: This version of vLLM does not have the interface that grammask knows.
    """
    if has_registry():
        registry: Any = importlib.import_module(_REGISTRY)
        registry.register_structured_output_backend(NAME, "grammask.integrations.vllm.GrammaskBackend")
    names = [name.strip() for name in os.environ.get(ENVIRONMENT_VARIABLE, "").split(",")]
    install(*[name for name in names if name])


def has_registry() -> bool:
    """Whether this vLLM has a registry of backends, so that ``{"backend": "grammask"}`` selects grammask."""
    return importlib.util.find_spec("vllm") is not None and importlib.util.find_spec(_REGISTRY) is not None


def install(*names: str) -> None:
    """Replaces structured-output backends of vLLM by grammask in this process; idempotent.

    Args:
        names: ``"guidance"``, ``"xgrammar"`` or both.

    Raises:
        ValueError: There is no such backend, it cannot be replaced, or ``GRAMMASK_BUDGET`` has an unknown value.
        UnexpectedInterface: This version of vLLM does not have the interface that grammask knows. Nothing is replaced.
    """
    unknown = [name for name in names if name not in _PATCHES]
    if unknown:
        msg = (
            f"grammask can take the place of {' and '.join(sorted(_PATCHES))} in vLLM, not of {unknown[0]!r}"
        )
        raise ValueError(msg)
    if not names:
        return
    from grammask.integrations.serving.request_budget import BudgetPolicy

    BudgetPolicy.of_environment()
    replacements = _checked_replacements(names)
    for module, theirs in replaced_names(*names):
        setattr(owner_of(module, theirs), theirs.rpartition(".")[2], replacements[module, theirs])


def check_interface(*names: str) -> None:
    """Checks that backends of vLLM can be replaced, and replaces nothing.

    Args:
        names: As of :func:`install`; all that can be replaced if there are none.

    Raises:
        UnexpectedInterface: This version of vLLM does not have the interface that grammask knows.
    """
    _checked_replacements(names or tuple(_PATCHES))


def replaced_names(*names: str) -> list[tuple[str, str]]:
    """Returns the module and the dotted name of each object in vLLM that :func:`install` replaces."""
    return [(module, theirs) for name in names for module, theirs, _ in _PATCHES[name]]


def _checked_replacements(names: tuple[str, ...]) -> dict[tuple[str, str], Any]:
    """Returns the objects that replace others in vLLM, after the checks of :func:`check_interface`."""
    try:
        from grammask.integrations import vllm as ours
    except ImportError as error:
        raise UnexpectedInterface(
            error.name or "vllm", f"cannot be imported as expected ({error})"
        ) from error
    ours.check_interface()
    available: dict[str, Any] = {
        "GrammaskBackend": ours.GrammaskBackend,
        "create_grammar": ours.create_grammar,
        "validate_request": ours.validate_request,
        "nothing_unsupported": _nothing_unsupported,
    }
    replacements = {}
    for name in names:
        for module, theirs, mine in _PATCHES[name]:
            replaced = getattr(owner_of(module, theirs), theirs.rpartition(".")[2])
            replacement = replacements[module, theirs] = available[mine]
            if not isinstance(replaced, type):
                check_signature(replacement, replaced, is_method="." in theirs)
    return replacements


def _nothing_unsupported(schema: Any) -> bool:  # noqa: ARG001
    """Replaces vLLM's list of unsupported keywords; ``validate_request`` refuses unsupported constructs by name."""
    return False
