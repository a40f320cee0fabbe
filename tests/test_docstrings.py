"""Native classes, methods and functions have the docstrings of the stub at run time, so that `help` shows them."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest
from grammask import _grammask

STUB = Path(__file__).parents[1] / "python" / "grammask" / "_grammask.pyi"

Documented = ast.Module | ast.ClassDef | ast.FunctionDef


def stub_items() -> list[tuple[str, Documented]]:
    """Return the public names of the stub; those of methods as `Class.method`."""
    module = ast.parse(STUB.read_text("utf-8"))
    items: list[tuple[str, Documented]] = [("", module)]
    for item in module.body:
        if isinstance(item, (ast.ClassDef, ast.FunctionDef)):
            items.append((item.name, item))
        if isinstance(item, ast.ClassDef):
            methods = [
                method
                for method in item.body
                # The docstring of a property is that of its getter.
                if isinstance(method, ast.FunctionDef)
                and not any(isinstance(decorator, ast.Attribute) for decorator in method.decorator_list)
                # The last overload has the docstring of all.
                and (ast.get_docstring(method) or not is_overload(method))
            ]
            items += [(f"{item.name}.{method.name}", method) for method in methods]
    # Python has docstrings of its own for special methods.
    return [(name, item) for name, item in items if not name.split(".")[-1].startswith("__")]


def is_overload(method: ast.FunctionDef) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "overload" for each in method.decorator_list)


@pytest.mark.parametrize(
    ("name", "item"), [pytest.param(*item, id=item[0] or "module") for item in stub_items()]
)
def test_native_docstrings_are_those_of_the_stub(name: str, item: Documented) -> None:
    native: Any = _grammask
    for part in filter(None, name.split(".")):
        native = getattr(native, part)
    docstring = native.__doc__
    assert docstring, "write a docstring in the stub, and run crates/grammask-python/docstrings.py"
    assert inspect.cleandoc(docstring) == inspect.cleandoc(ast.get_docstring(item) or "")


def test_the_stub_names_everything_public() -> None:
    names = {name for name, _ in stub_items()}
    public = {name for name in dir(_grammask) if not name.startswith("_")}
    methods = {
        f"{name}.{method}"
        for name in public
        if inspect.isclass(native := getattr(_grammask, name))
        for method in vars(native)
        if not method.startswith("_")
    }
    assert (public | methods) - names == set()
