"""Makes ``import xgrammar`` and ``import llguidance`` in a peer's tests mean the compatible modules.

Some things of xgrammar's tests cannot be run on another engine as they are:

- Modules that only describe formats of models in pure Python (`BORROWED`) come from the source archive. They build
  their structural tags from the classes of the compatible module.
- Functions that print or rewrite xgrammar's internal grammars (`INTERNAL`) fail, and so do the tests about
  them. Those that print the grammar of a schema or an expression return the serialised grammar of the
  compatible module, which ``Grammar.from_ebnf`` reads back, so that tests of its texts run.
- Helpers of the tests that compare a printed grammar (`COMPARISONS`) only make the grammar. Where tests print a
  grammar, compare the print and then read texts with it (`PRINTING`), the print is the serialised grammar and equals
  any text.
- Wordings of errors in grammars are grammask's, so `pytest.raises` ignores the `match` of a `RuntimeError`.
- The kernels of logits for each device (`KERNELS`) mean `apply_token_bitmask_inplace`.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import pkgutil
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BORROWED = ("openai_tool_call_schema", "builtin_structural_tag")
INTERNAL = (
    "GrammarFunctor",
    *("_generate_float_regex", "_generate_range_regex"),
    *("_get_allow_empty_rule_ids", "_is_rule_fsm_accept_string", "_print_grammar_fsms"),
)
KERNELS = ("cpu", "cuda", "torch", "torch_compile", "triton")
COMPARISONS = (
    *("check_grammar_with_expected_grammar", "check_stag_with_grammar"),
    "_assert_repeat_ref_active",
)
PRINTING = {
    "test_function_calling_converter": ("_json_schema_to_ebnf",),
    "test_json_schema_converter": (),
    "test_lark": (),
    "test_regex_converter": ("_regex_to_ebnf",),
    "test_structural_tag_converter": (),
    "test_temperature": (),
}
"""The modules whose tests print a grammar, compare the print, and then read texts with the grammar, or with what it is
read back as; and the functions that print it there besides ``str``."""


def substitute(name: str, archive: Path) -> None:
    """Registers ``grammask.compat.NAME`` and its submodules as the package ``NAME``."""
    package = importlib.import_module(f"grammask.compat.{name}")
    sys.modules[name] = package
    for module in pkgutil.walk_packages(package.__path__, f"grammask.compat.{name}."):
        try:
            found = importlib.import_module(module.name)
        except ImportError:
            continue  # A library that it is for is not installed.
        sys.modules[module.name.removeprefix("grammask.compat.")] = found
    if name == "xgrammar":
        for borrowed in BORROWED:
            _borrow(package, borrowed, archive)
        _add_internal_functions(package)
        _add_kernels(package)
        pytest.raises = _raises  # type: ignore[assignment]


ONLY_PRINTING = (
    "test_ebnf_all_three_attributes_round_trip",
    "test_lark_capture_serialization_round_trip",
)
"""Tests in these modules that read no text."""


def begin_test(module: ModuleType, name: str) -> None:
    """Lets printed grammars equal the expected ones if a test also reads texts with them."""
    _is_printing[0] = module.__name__ in PRINTING and name not in ONLY_PRINTING


_is_printing = [False]


def without_comparisons(module: ModuleType) -> None:
    """Replaces the helpers of a module of tests that compare printed grammars."""
    for name in COMPARISONS:
        if hasattr(module, name):
            setattr(module, name, _grammar_of_tag if name == "check_stag_with_grammar" else _nothing)
    for name in PRINTING.get(module.__name__, ()):
        setattr(module, name, _printing(getattr(module, name)))


def _borrow(package: ModuleType, name: str, archive: Path) -> None:
    path = archive / "python" / "xgrammar" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"xgrammar.{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    setattr(package, name, module)
    for public in ("get_model_structural_tag", "normalize_tool_choice", "register_model_structural_tag"):
        if hasattr(module, public):
            setattr(package, public, getattr(module, public))


def _add_internal_functions(package: ModuleType) -> None:
    testing = sys.modules["xgrammar.testing"]
    for name in INTERNAL:
        setattr(testing, name, _Internal(name))
    tokenizers = sys.modules["xgrammar.tokenizer_info"]
    tokenizers._BYTE_LEVEL_CHARSET = frozenset(tokenizers._BYTES_OF_CHARACTERS)
    testing._json_schema_to_ebnf = _text_of_schema
    testing._regex_to_ebnf = _text_of_expression
    package.Grammar.__str__ = _printed(package.Grammar.__str__)
    package.Grammar.from_ebnf = staticmethod(_reading_texts_of_grammars(package.Grammar.from_ebnf))


def _add_kernels(package: ModuleType) -> None:
    for kernel in KERNELS:
        name = f"apply_token_bitmask_inplace_{kernel}"
        module = sys.modules[f"xgrammar.kernels.{name}"] = ModuleType(name)
        setattr(module, name, package.apply_token_bitmask_inplace)


_raises_with_wording = pytest.raises


def _raises(expected: Any, *args: Any, match: str | None = None, **options: Any) -> Any:
    kinds = expected if isinstance(expected, tuple) else (expected,)
    is_of_grammar = any(kind is Exception or issubclass(kind, RuntimeError) for kind in kinds)
    return _raises_with_wording(expected, *args, match=None if is_of_grammar else match, **options)


class _Internal:
    """A function or class of xgrammar that does not exist here."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return _Internal(f"{self._name}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        del args, kwargs
        pytest.fail(f"{self._name} is about xgrammar's internal grammars")


def _reading_texts_of_grammars(from_ebnf: Callable[..., Any]) -> Callable[..., Any]:
    def read(ebnf_string: str, **options: Any) -> Any:
        if ebnf_string.startswith('{"grammar":'):
            return sys.modules["xgrammar"].Grammar.deserialize_json(ebnf_string)
        return from_ebnf(ebnf_string, **options)

    return read


def _text_of_schema(schema: Any, *, json_format: str = "json", **options: Any) -> str:
    grammar = sys.modules["xgrammar"].Grammar
    if json_format == "json":
        return grammar.from_json_schema(schema, **options).serialize_json()
    if isinstance(schema, type):
        schema = schema.model_json_schema()
    content = {
        "type": "json_schema",
        "json_schema": json.loads(schema) if isinstance(schema, str) else schema,
        "style": json_format,
        **{name: options[name] for name in ("any_order", "max_whitespace_cnt") if name in options},
    }
    # White space within values is flexible in all styles.
    if options.keys() - {"any_order", "max_whitespace_cnt", "any_whitespace", "separators"}:
        pytest.fail(f"the options {sorted(options)} of a style")
    return grammar.from_structural_tag({"type": "structural_tag", "format": content}).serialize_json()


def _text_of_expression(regex: str, with_rule_name: bool = True) -> str:  # noqa: FBT001, FBT002
    del with_rule_name
    return sys.modules["xgrammar"].Grammar.from_regex(regex).serialize_json()


def _grammar_of_tag(structural_tag_format: dict[str, Any], expected_grammar_ebnf: str) -> None:
    del expected_grammar_ebnf
    tag = {"type": "structural_tag", "format": structural_tag_format}
    sys.modules["xgrammar"].Grammar.from_structural_tag(tag)


class _PrintedGrammar(str):
    """The text of a grammar that equals, and contains, whatever a test compares it with."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    def __contains__(self, part: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash(str.__str__(self))

    def __str__(self) -> str:
        return self


def _printed(as_text: Callable[[Any], str]) -> Callable[[Any], str]:
    def text(grammar: Any) -> str:
        return _PrintedGrammar(grammar.serialize_json()) if _is_printing[0] else as_text(grammar)

    return text


def _printing(function: Callable[..., str]) -> Callable[..., str]:
    return lambda *args, **options: _PrintedGrammar(function(*args, **options))


def _nothing(*args: Any, **kwargs: Any) -> None:
    del args, kwargs
