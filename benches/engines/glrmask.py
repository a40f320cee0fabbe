"""Adapter for glrmask."""

from __future__ import annotations

import importlib
import importlib.metadata
from functools import partial
from typing import TYPE_CHECKING, Any

from engines import Steps

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from comparison.vocabularies import TokenTable

glrmask: Any = importlib.import_module("glrmask")

LANGUAGES = ("json_schema",)
SETTINGS = "defaults"
COMPARES_END = False


def version() -> str:
    """Return the version of the package."""
    return importlib.metadata.version("glrmask")


def vocabulary(table: TokenTable) -> Any:
    """Return a vocabulary without end tokens: the states say whether a text may end."""
    return glrmask.Vocab.from_id_to_bytes({id: token for id, token in enumerate(table.tokens) if token})


def compile(language: str, grammar: str, vocabulary: Any) -> Any:
    """Compile a JSON Schema."""
    assert language == "json_schema"
    return glrmask.Grammar.from_json_schema(grammar).compile(vocabulary)


def start(compiled: Any, mask: npt.NDArray[np.int32]) -> Steps:
    """Start a text."""
    state = compiled.start()
    return Steps(partial(state.fill_mask, mask[0]), state.commit_token, lambda: None, state.is_accepting)


def ignored_ids(table: TokenTable) -> list[int]:
    """Return the end token, which is in no mask."""
    return [table.eos]
