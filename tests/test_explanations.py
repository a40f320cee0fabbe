"""Why texts are refused: ``explain_text``, ``Matcher.explain`` of texts, and texts as ``str``."""

import json

import pytest
from grammask import CompiledGrammar, Grammar, TextExplanation, Vocabulary

BYTES = Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)

ORDER = {
    "type": "object",
    "properties": {
        "colour": {"enum": ["red", "green"]},
        "age": {"type": "integer", "minimum": 0, "maximum": 10},
    },
    "required": ["colour", "age"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def compiled() -> CompiledGrammar:
    return Grammar.from_json_schema(ORDER).compile(BYTES)


def test_message_of_a_refused_text(compiled: CompiledGrammar) -> None:
    explanation = compiled.explain_text('{"colour": "blue", "age": 3}')
    assert isinstance(explanation, TextExplanation)
    assert not explanation.is_allowed
    assert (explanation.position, explanation.line, explanation.column) == (12, 1, 13)
    assert explanation.place == "#/properties/colour"
    assert explanation.help is None
    assert [each.terminal for each in explanation.expected] == ['"red" or "green"']
    assert str(explanation) == (
        "byte 12 does not fit\n"
        "   --> line 1, column 13\n"
        '  1 | {"colour": "blue", "age": 3}\n'
        "    |             ^\n"
        '  expected: more of "red" or "green" at #/properties/colour'
    )
    assert repr(explanation) == "<TextExplanation: byte 12 does not fit>"


def test_help_for_members_in_another_order(compiled: CompiledGrammar) -> None:
    explanation = compiled.explain_text(b'{"age": 3, "colour": "red"}')
    assert explanation.help == 'members come in the declared order; key_order="any" lifts that'
    assert str(explanation).endswith(f'expected: more of the member "colour" at # ({explanation.help})')
    twice = compiled.explain_text('{"colour": "red", "colour": "red"}')
    assert twice.help is None


def test_accepted_texts(compiled: CompiledGrammar) -> None:
    text = '{"colour": "red", "age": 3}'
    for explanation in (compiled.explain_text(text), compiled.explain_text(f"\n {text}\n", strip=True)):
        assert explanation.is_allowed
        assert (explanation.position, explanation.line, explanation.place, explanation.expected) == (
            None,
            None,
            None,
            [],
        )
        assert str(explanation) == "the text fits"
    assert not compiled.explain_text(f"\n {text}\n").is_allowed
    assert compiled.explain_text(f"\n\n{text[:-1]}", strip=True).line == 3


def test_matchers_explain_texts_and_tokens(compiled: CompiledGrammar) -> None:
    matcher = compiled.matcher()
    assert matcher.accept_bytes('{"colour": ')
    for text in ('"blue"', b'"blue"'):
        explanation = matcher.explain(text)
        assert (explanation.position, explanation.place) == (12, "#/properties/colour")
    assert matcher.explain('"red"').is_allowed
    token = matcher.explain(ord("x"))
    assert "at #/properties/colour" in str(token)
    assert matcher.step_count == 1


def test_texts_are_str_or_bytes() -> None:
    compiled = Grammar.from_regex("é+").compile(BYTES)
    assert compiled.is_valid("éé")
    assert compiled.is_valid("éé".encode())
    assert compiled.first_error("éx") == 2
    matcher = compiled.matcher()
    assert matcher.accept_bytes("é")
    assert not matcher.accept_bytes("x")
    for wrong in (3, None, bytearray(b"x")):
        with pytest.raises(TypeError, match="a text is str or bytes"):
            compiled.is_valid(wrong)  # type: ignore[arg-type]
    with pytest.raises(UnicodeEncodeError):
        compiled.is_valid("\ud800")


def test_places_follow_references_and_patterns() -> None:
    schema = {
        "type": "object",
        "properties": {
            "tree": {"$ref": "#/$defs/node"},
            "pair": {"prefixItems": [{"type": "null"}, {"const": 1}]},
        },
        "patternProperties": {"^n[0-9]$": {"type": "number", "maximum": 5}},
        "$defs": {
            "node": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/node"}},
            }
        },
    }
    compiled = Grammar.from_json_schema(schema).compile(BYTES)
    for value, place in [
        ({"tree": {"name": 1}}, "#/$defs/node/properties/name"),
        ({"tree": {"next": {"next": {"name": 1}}}}, "#/$defs/node/properties/name"),
        ({"pair": [None, 2]}, "#/properties/pair/prefixItems/1"),
        ({"n4": "x"}, "#/patternProperties/^n[0-9]$"),
    ]:
        assert compiled.explain_text(json.dumps(value)).place == place, value
