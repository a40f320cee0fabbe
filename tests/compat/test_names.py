"""Every public name of a peer's package exists in the compatible module, or is listed here with a reason."""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
import warnings
from types import ModuleType
from typing import Any

import pytest

PEERS = {
    "xgrammar": ("0.2.8", "grammask.compat.xgrammar"),
    "llguidance": ("1.9.1", "grammask.compat.llguidance"),
    "kbnf": ("0.4.2", "grammask.kbnf"),
    "formatron": ("0.5.0", "grammask.formatron"),
}

_OF_PYDANTIC = (
    *("dict", "json", "copy", "construct", "schema", "schema_json", "parse_obj", "parse_raw", "parse_file"),
    *("from_orm", "validate", "update_forward_refs"),
)
ABSENT = {
    "xgrammar": {
        "base": "the objects of xgrammar's C++ library",
        "load_binding": "loads xgrammar's C++ library",
        "tvm_ffi_binding": "calls xgrammar's C++ library",
        "testing.GrammarFunctor": "transforms xgrammar's internal grammars",
        "kernels.*": "`apply_token_bitmask_inplace` selects the kernel by the device of the logits",
        "builtin_structural_tag.*": "`get_model_structural_tag` takes the name of the model",
    },
    "llguidance": {
        "cli": "llguidance's command line; see `grammask --help`",
        "LLTokenizer.from_llamacpp": "takes addresses of C functions; see `llamacpp.lltokenizer_from_vocab`",
        "gbnf_to_lark.*": "the syntax tree of llguidance's reader of GBNF",
    },
    "kbnf": {
        "kbnf": "kbnf's Rust library",
        "triton_logits_mask": "the kernel of `Engine.mask_logits`, which has another one here",
    },
    "formatron": {
        "formats.json.strict_schema": "a switch with which Formatron ignores keywords",
        "formats.utils": "writes Formatron's own grammars",
        "integrations.utils": "reads vocabularies; see `grammask.Vocabulary`",
        "schemas.dict_inference.FieldInfo": "a part of `infer_mapping`",
    },
}
"""Per package: a module, a name, or `MODULE.*` for all other names of a module; and why it does not exist."""


def modules(name: str, package: ModuleType) -> dict[str, ModuleType | None]:
    """Returns the modules of a package by their names in it; None for those that cannot be imported."""
    found: dict[str, ModuleType | None] = {"": package}
    for info in pkgutil.walk_packages(package.__path__, f"{name}."):
        if any(part.startswith("_") for part in info.name.split(".")):
            continue
        try:
            module = importlib.import_module(info.name)
        except Exception:  # noqa: BLE001 - a module that needs an absent library or device
            module = None
        found[info.name.removeprefix(f"{name}.")] = module
    return found


def public_names(name: str, module: ModuleType) -> dict[str, Any]:
    """Returns the names that a module defines, or imports from its own package."""
    if hasattr(module, "__all__"):
        return {each: getattr(module, each) for each in module.__all__ if not each.startswith("__")}
    values = {each: value for each, value in vars(module).items() if not each.startswith("_")}
    is_package = hasattr(module, "__path__")
    return {
        each: value
        for each, value in values.items()
        if (
            getattr(value, "__module__", "").partition(".")[0] == name
            if isinstance(value, type) or callable(value)
            else is_package and isinstance(value, ModuleType) and value.__name__.startswith(f"{name}.")
        )
        and (is_package or getattr(value, "__module__", "") == module.__name__)
    }


@pytest.mark.parametrize("name", PEERS)
def test_names(name: str) -> None:
    version, ours = PEERS[name]
    try:
        is_installed = importlib.metadata.version(name) == version
    except importlib.metadata.PackageNotFoundError:
        is_installed = False
    if not is_installed:
        pytest.skip(f"{name} {version} is not installed")
    listed = ABSENT[name]
    used: set[str] = set()
    absent: list[str] = []

    def check(path: str, value: Any) -> None:
        parts = path.split(".")
        heads = {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
        reasons = (heads | {f"{head}.*" for head in heads}) & listed.keys()
        used.update(reasons)
        if not reasons:
            absent.append(path)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = importlib.import_module(name)
        found = modules(name, package)
        for path, module in found.items():
            if module is None:
                used.update(each for each in listed if each.startswith(f"{path}."))
                continue
            try:
                mine = importlib.import_module(f"{ours}.{path}".rstrip("."))
            except ImportError:
                check(path, module)
                continue
            for each, value in public_names(name, module).items():
                own = f"{path}.{each}".lstrip(".")
                if isinstance(value, ModuleType):
                    continue  # It is one of the modules.
                if not hasattr(mine, each):
                    check(own, value)
                elif isinstance(value, type):
                    attributes = {one for one in vars(value) if not one.startswith("_")}
                    model = getattr(mine, each)
                    fields = {
                        *getattr(model, "__dataclass_fields__", ()),
                        *getattr(getattr(model.__init__, "__code__", None), "co_names", ()),
                    }
                    for one in sorted(attributes - fields):
                        if one.startswith("model_") or hasattr(model, one) or one in _OF_PYDANTIC:
                            continue
                        check(f"{own}.{one}", None)
    assert not absent, f"absent, and not listed: {absent}"
    assert used == listed.keys(), f"listed, and not absent: {sorted(listed.keys() - used)}"
