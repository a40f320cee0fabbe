"""States of many grammars with hashes of their masks, as the native engine computes them, for a file that node reads.

Run as a program, it writes the file: ``python tests/wasm/recorded_states.py FILE``.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grammask
import numpy as np

EXPRESSIONS = """
start ::= sum "\\n";
sum ::= product | sum #"[+-]" product;
product ::= atom | product #"[*/]" atom;
atom ::= #"[0-9]+" | name | "(" sum ")";
name ::= #"[a-zé你]+";
"""

ENGLISH = """
start ::= sentence+;
sentence ::= "the " noun " " verb (" " "the " noun)? ". ";
noun ::= "cat" | "dog" | "house" | "tree" | #"[a-z]{3,9}";
verb ::= "sees" | "builds" | "eats" | #e"s";
"""

ARITHMETIC = """
root ::= expression ("\\n" expression)*
expression ::= term ([-+] term)*
term ::= [0-9]+ | "(" expression ")" | [a-zA-Z_] [a-zA-Z_0-9]{0,12}
"""

TOKENS = """
%terminal NAME NUMBER STRING;
%ignore SPACE;
start ::= statement*;
statement ::= NAME "=" value ";" | "if" value "{" statement* "}";
value ::= NAME | NUMBER | STRING | "[" (value ("," value)*)? "]" | value "+" value_end;
value_end ::= NUMBER | NAME;
NAME ::= #"[a-z_]+";
NUMBER ::= #"[0-9]+([.][0-9]+)?";
STRING ::= #"'[^']*'";
SPACE ::= #"[ \\n]+";
"""

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 40},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "mail": {"type": "string", "format": "email"},
        "born": {"type": "string", "format": "date"},
        "tags": {"type": "array", "items": {"enum": ["a", "b", "long tag", "ünïcode"]}, "uniqueItems": True},
        "address": {"$ref": "#/$defs/address"},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
    "$defs": {
        "address": {
            "type": "object",
            "properties": {"street": {"type": "string"}, "number": {"type": "number", "multipleOf": 0.5}},
            "required": ["street"],
        }
    },
}

TREE = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"value": {}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
        }
    },
    "$ref": "#/$defs/node",
}


@dataclass(frozen=True)
class RecordedGrammar:
    """A grammar for both bindings.

    Attributes:
        name: The name in messages.
        kind: The name of the reader in JavaScript.
        source: The text, a list of texts, or the name of a bundled language.
        options: The options of the reader in JavaScript.
        end: When a text ends.
        max_tokens: The budget of every second walk.
    """

    name: str
    kind: str
    source: Any
    options: dict[str, Any] = field(default_factory=dict)
    end: str = "eos"
    max_tokens: int | None = None

    def compile(self, vocabulary: grammask.Vocabulary) -> grammask.CompiledGrammar:
        """Compiles the grammar natively."""
        return self.read().compile(vocabulary, end=self.end)

    def read(self) -> grammask.Grammar:
        """Reads the grammar natively."""
        match self.kind:
            case "kbnf":
                return grammask.Grammar.from_kbnf(self.source, **self.options)
            case "gbnf":
                return grammask.Grammar.from_gbnf(self.source, **self.options)
            case "regex":
                return grammask.Grammar.from_regex(self.source, syntax="rust")
            case "choices":
                return grammask.Grammar.from_choices(self.source)
            case "schema":
                names = {"keyOrder": "key_order", "uniqueNames": "unique_names"}
                options = {names.get(name, name): value for name, value in self.options.items()}
                return grammask.Grammar.from_json_schema(self.source, **options)
            case _:
                return grammask.Grammar.bundled(self.source)


GRAMMARS = [
    RecordedGrammar("expressions", "kbnf", EXPRESSIONS),
    RecordedGrammar("english", "kbnf", ENGLISH, end="eager", max_tokens=40),
    RecordedGrammar("arithmetic", "gbnf", ARITHMETIC, max_tokens=60),
    RecordedGrammar("tokens", "kbnf", TOKENS, {"lexer": "contextual"}),
    RecordedGrammar("dates", "regex", r"(19|20)\d\d-(0[1-9]|1[0-2])-([0-2]\d|3[01])( \w+){0,6}"),
    RecordedGrammar("choices", "choices", ["yes", "no", "maybe", "yesterday", "不", "not at all"]),
    RecordedGrammar("person", "schema", PERSON, max_tokens=90),
    RecordedGrammar("person in any order", "schema", PERSON, {"keyOrder": "any", "uniqueNames": True}),
    RecordedGrammar("tree", "schema", TREE, {"whitespace": "compact"}),
    RecordedGrammar("any JSON", "schema", {}, {"indent": 2}),
    *(
        RecordedGrammar(name, "bundled", name)
        for name in ("json", "python", "c", "go", "java", "javascript", "sql")
    ),
]


def record(states_per_grammar: int, vocabularies: dict[str, grammask.Vocabulary]) -> dict[str, Any]:
    """Walks through each grammar by random legal tokens; returns the tokens and a hash of the mask of each state."""
    chance = random.Random(33)
    cases = []
    for vocabulary_name, vocabulary in vocabularies.items():
        for grammar in GRAMMARS:
            compiled = grammar.compile(vocabulary)
            walks = []
            states = 0
            while states < states_per_grammar:
                budget = grammar.max_tokens if len(walks) % 2 else None
                walk = _walk(compiled, budget, min(60, states_per_grammar - states), chance)
                states += len(walk["hashes"])
                walks.append(walk)
            cases.append(
                {
                    "name": grammar.name,
                    "vocabulary": vocabulary_name,
                    "kind": grammar.kind,
                    "source": grammar.source,
                    "options": grammar.options,
                    "end": grammar.end,
                    "walks": walks,
                }
            )
    saved = {
        name: base64.b64encode(vocabulary.to_bytes()).decode() for name, vocabulary in vocabularies.items()
    }
    return {"vocabularies": saved, "cases": cases}


def _walk(
    compiled: grammask.CompiledGrammar, budget: int | None, length: int, chance: random.Random
) -> dict[str, Any]:
    matcher = compiled.matcher(budget)
    mask = np.zeros((compiled.vocabulary_size + 31) // 32, dtype=np.int32)
    tokens: list[int] = []
    hashes: list[str] = []
    while len(hashes) < length:
        matcher.fill_mask(mask)
        hashes.append(hashlib.sha256(mask.tobytes()).hexdigest()[:16])
        if matcher.is_finished:
            break
        allowed = matcher.allowed_ids()
        token = int(allowed[chance.randrange(len(allowed))])
        assert matcher.accept(token)
        tokens.append(token)
    return {"budget": budget, "tokens": tokens, "hashes": hashes}


def vocabularies() -> dict[str, grammask.Vocabulary]:
    """Returns a vocabulary of bytes, and a real one."""
    size = 257
    of_bytes = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=size)
    return {"bytes": of_bytes, "o200k": grammask.Vocabulary.default()}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(record(300, vocabularies())), "utf-8")
