"""The extensions of schemas: texts of numbers, and constraints that no schema expresses."""

import pytest
from grammask import Grammar, GrammarError, UnsupportedSchema, Vocabulary

BYTES = Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
TEXTS = "x-grammask-number-texts"


@pytest.mark.parametrize("numbers", ["any", "natural", "plain"])
def test_texts_of_numbers(numbers: str) -> None:
    schema = {"type": ["integer", "string"], "minimum": 3, TEXTS: "^[0-9]+$|^1e5$"}
    compiled = Grammar.from_json_schema(schema, numbers=numbers).compile(BYTES)  # type: ignore[arg-type]
    for text in (b"3", b"100", b"9" * 20, b'"x"'):
        assert compiled.is_valid(text), text
    assert compiled.is_valid(b"9" * 21) == (numbers != "natural")
    for text in (b"2", b"3.0", b"-3", b"03", b"3e0"):
        assert not compiled.is_valid(text), text
    assert compiled.is_valid(b"1e5") == (numbers == "any")


def test_texts_are_numbers() -> None:
    compiled = Grammar.from_json_schema({"type": "number", TEXTS: "1"}).compile(BYTES)
    assert compiled.is_valid(b"21")
    assert not compiled.is_valid(b"a1")
    assert not compiled.is_valid(b"01")


def test_no_text_is_surely_outside() -> None:
    with pytest.raises(GrammarError):
        Grammar.from_json_schema({"type": "number", "not": {TEXTS: "1"}})


def test_a_constraint_that_no_schema_expresses() -> None:
    schema = {"properties": {"a/b": {"x-grammask-unenforceable": "the moon is full"}}}
    with pytest.raises(UnsupportedSchema, match="the moon is full") as error:
        Grammar.from_json_schema(schema)
    assert error.value.pointer == "#/properties/a~1b"
    grammar = Grammar.from_json_schema(schema, on_unsupported="relax")
    assert [item.message for item in grammar.relaxations] == ["the moon is full"]
    with pytest.raises(GrammarError, match="expected a message"):
        Grammar.from_json_schema({"x-grammask-unenforceable": 1})
