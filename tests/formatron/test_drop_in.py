"""Formatron's own package runs on ``grammask.kbnf`` in place of ``kbnf``: its examples, and the grammars of its tests.

Skips where Formatron is not installed. ``GRAMMASK_FORMATRON_TESTS`` names the folder ``tests`` of its source
distribution, whose grammars are then built and walked through too.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from grammask import GrammarSemanticError, kbnf

if TYPE_CHECKING:
    from types import ModuleType

pytestmark = pytest.mark.usefixtures("formatron")

BYTES = kbnf.Vocabulary(
    {byte: kbnf.Token(bytes([byte])) for byte in range(256)}, {byte: chr(byte) for byte in range(256)}
)


def captures(builder: Any, text: str) -> dict[str, Any]:
    formatter = builder.build(BYTES, lambda ids: bytes(ids).decode())
    for byte in text.encode():
        assert not formatter.is_completed(), "the format ended early"
        formatter.compute_allowed_tokens()
        assert byte in formatter.get_allowed_tokens_since_last_computation()
        formatter.accept_token(byte)
    assert formatter.is_completed()
    return formatter.captures


def test_regular_expressions(formatron: ModuleType) -> None:
    f = formatron.formatter.FormatterBuilder()
    digit = f.regex("([1-9][0-9]*)", capture_name="digit")
    f.append_line(f"My favorite integer is {digit}.")
    f.append_str(f"I think integer {digit} is also very interesting.")
    found = captures(f, "My favorite integer is 42.\nI think integer 7 is also very interesting.")
    assert [match.group() for match in found["digit"]] == ["42", "7"]


def test_choices_and_models(formatron: ModuleType) -> None:
    class Goods(formatron.schemas.pydantic.ClassSchema):
        name: str
        price: float
        remaining: int

    f = formatron.formatter.FormatterBuilder()
    f.append_line(f"Today, I want to eat {f.choose('railroad', 'orange', 'banana', capture_name='food')}")
    f.append_str(f"ID {f.choose(f.regex('[0-9]+'), f.regex('[a-z]+'), capture_name='ID')}.\n")
    f.append_line(f"{f.json(Goods, capture_name='json')}")
    text = 'Today, I want to eat orange\nID 12.\n{"name": "a", "price": 1.5, "remaining": 2}\n'
    found = captures(f, text)
    assert (found["food"], found["ID"].group()) == ("orange", "12")
    assert found["json"] == Goods(name="a", price=1.5, remaining=2)


def test_examples_of_objects(formatron: ModuleType) -> None:
    f = formatron.formatter.FormatterBuilder()
    schema = formatron.schemas.dict_inference.infer_mapping({"name": "foo", "age": 28})
    f.append_line(f"{f.json(schema, capture_name='json')}")
    assert captures(f, '{"name": "周明瑞", "age": 34}\n') == {"json": {"name": "周明瑞", "age": 34}}


def test_documents_of_json_schema(formatron: ModuleType) -> None:
    schema = {
        "$id": "https://example.com/person.json",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"],
    }
    f = formatron.formatter.FormatterBuilder()
    f.append_line(f"{f.json(formatron.schemas.json_schema.create_schema(schema), capture_name='json')}")
    assert captures(f, '{"name":"A","age":34}\n') == {"json": {"name": "A", "age": 34}}


def test_functions(formatron: ModuleType) -> None:
    @formatron.schemas.pydantic.callable_schema
    def add(a: int, b: int, /, *, c: int) -> int:
        return a + b + c

    f = formatron.formatter.FormatterBuilder()
    f.append_line(f"{f.json(add, capture_name='json')}")
    assert captures(f, '{"a": 1, "b": 6, "c": 7}\n') == {"json": 14}


def test_extractors_of_users(formatron: ModuleType) -> None:
    class Arithmetic(formatron.extractor.NonterminalExtractor):
        def extract(self, input_str: str) -> tuple[str, str]:
            size = len(re.match(r"[-0-9+*/.()]*", input_str).group())  # type: ignore[union-attr]
            return input_str[size:], input_str[:size]

        @property
        def kbnf_definition(self) -> str:
            return """
            expression ::= term { ("+" | "-") term };
            term ::= factor { ("*" | "/") factor };
            factor ::= number | "(" expression ")";
            number ::= #"[0-9]+(\\\\.[0-9]+)?";
            """.replace("expression", self.nonterminal)

    f = formatron.formatter.FormatterBuilder()
    f.append_line(f"{f.extractor(lambda nonterminal: Arithmetic(nonterminal, 'json'))}")
    assert captures(f, "((32+43)*(114-514))*1.5\n") == {"json": "((32+43)*(114-514))*1.5"}


def test_pieces_and_complements(formatron: ModuleType) -> None:
    f = formatron.formatter.FormatterBuilder()
    f.append_str(f"{f.substr('Name: Umbrella', capture_name='piece', extract_empty_substring=True)}<eos>")
    assert captures(f, "e: Umb<eos>") == {"piece": "e: Umb"}
    f = formatron.formatter.FormatterBuilder()
    f.append_str(f"{f.regex_complement('[0-9]', capture_name='words')}7")
    assert captures(f, "no digits 7") == {"words": "no digits "}
    f = formatron.formatter.FormatterBuilder()
    f.append_line(f"{f.str(stop=['.'], capture_name='line')}")
    assert captures(f, "One.\n")["line"].group() == "One."


WITHOUT_A_RULE = {"test_pydantic_sequence_constraints"}
"""Tests with grammars in which Formatron forgets a rule; kbnf 0.4.2 refuses them too."""


class Recorder:
    """Replaces the snapshots of Formatron's tests: stores the values that they compare."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def assert_match(self, value: Any, *_: Any) -> None:
        self.seen.append(value)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_grammars_of_its_tests(formatron: ModuleType) -> None:
    folder = os.environ.get("GRAMMASK_FORMATRON_TESTS")
    if folder is None:
        pytest.skip("GRAMMASK_FORMATRON_TESTS names no folder")
    spec = importlib.util.spec_from_file_location("formatron_tests", Path(folder) / "test_grammar_gen.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tests = [
        test for name, test in inspect.getmembers(module, inspect.isfunction) if name.startswith("test_")
    ]
    header = formatron.formats.json.GRAMMAR_HEADER
    walked = 0
    for test in tests:
        recorder = Recorder()
        test(recorder)
        for definition in recorder.seen:
            text = definition if "integer ::=" in definition else header + definition
            if test.__name__ in WITHOUT_A_RULE:
                with pytest.raises(GrammarSemanticError) as failure:
                    kbnf.Engine(text, BYTES)
                assert failure.value.code == "undefined-symbol"
                continue
            engine = kbnf.Engine(text, BYTES)
            rng = random.Random(walked)
            for _ in range(60):
                engine.compute_allowed_token_ids()
                allowed = engine.get_allowed_token_ids_from_last_computation()
                assert allowed
                if engine.try_accept_new_token(rng.choice(allowed)) == kbnf.AcceptTokenResult.Finished:
                    break
            walked += 1
    assert walked == len(tests) - len(WITHOUT_A_RULE)
