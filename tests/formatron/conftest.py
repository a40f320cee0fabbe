"""Formatron's own package, on `grammask.kbnf`."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

import pytest
from grammask import kbnf

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


@pytest.fixture(scope="module")
def formatron() -> Iterator[ModuleType]:
    """Import Formatron's own package with this ``kbnf``."""
    before = {
        name: sys.modules.pop(name)
        for name in list(sys.modules)
        if name.split(".")[0] in ("kbnf", "formatron")
    }
    sys.modules["kbnf"] = kbnf
    try:
        try:
            importlib.import_module("formatron.formatter")
            importlib.import_module("formatron.schemas")
        except ImportError as absent:
            pytest.skip(f"Formatron cannot be imported: {absent}")
        yield importlib.import_module("formatron")
    finally:
        for name in list(sys.modules):
            if name.split(".")[0] in ("kbnf", "formatron"):
                del sys.modules[name]
        sys.modules.update(before)
