"""Patterns with limits on their length, which masks take apart: each mask against the acceptance of single tokens.

On a real vocabulary, because what goes wrong near a limit does so for long tokens.
"""

import random
from typing import Any

import numpy as np
import pytest
from grammask import DeadEnd, Grammar, GrammarError, Vocabulary

PIECES = ["[a-z]", r"\S", r"\d", ".", "[A-Za-z0-9_-]", r"\w", "[^,]", "(ab|c)", "a", r"\s", "é", "[0-9a-f]"]
COUNTS = ["", "*", "+", "?", "{2}", "{0,5}", "{1,30}", "{3,}", "{0,300}"]
TOKENS_PER_MASK = 400


def pattern(generator: random.Random) -> str:
    def sequence() -> str:
        return "".join(
            generator.choice(PIECES) + generator.choice(COUNTS) for _ in range(generator.randint(1, 4))
        )

    body = generator.choice(
        [
            sequence(),
            f"({sequence()}){generator.choice(['*', '+', '{1,4}', '{0,49}'])}{sequence()}",
            f"{sequence()}|{sequence()}",
            rf"(\S+\s+){{0,{generator.randint(1, 20)}}}\S+",
        ]
    )
    before, after = generator.choice([("^", "$"), ("^", "$"), ("", ""), ("^", ""), ("", "$")])
    return f"{before}({body}){after}"


def schema(generator: random.Random) -> dict[str, Any]:
    text: dict[str, Any] = {"type": "string", "pattern": pattern(generator)}
    if generator.random() < 0.8:
        text["maxLength"] = generator.choice([1, 3, 5, 8, 12, 20, 40, 64, 200, 1000])
    if generator.random() < 0.4:
        text["minLength"] = generator.choice([1, 2, 4, 10, 30])
    if generator.random() < 0.25:
        text = {"allOf": [text, {"pattern": pattern(generator)}]}
    if generator.random() < 0.15:
        text["not"] = {"pattern": pattern(generator)}
    if generator.random() < 0.3:
        return {"properties": {"a": text}, "additionalProperties": {"type": "string", "maxLength": 5}}
    return text


@pytest.mark.parametrize("seed", range(30))
def test_masks_are_what_is_accepted(seed: int) -> None:
    generator = random.Random(seed)
    vocabulary = Vocabulary.default()
    checked = schema(generator)
    try:
        matcher = Grammar.from_json_schema(checked).compile(vocabulary, cache=False).matcher()
    except GrammarError as error:
        pytest.skip(error.code)
    for _ in range(generator.choice([3, 6, 20])):
        try:
            allowed = matcher.allowed_ids()
        except DeadEnd:
            return
        in_mask = np.zeros(vocabulary.size, dtype=bool)
        in_mask[allowed] = True
        tokens = [
            *generator.sample(range(vocabulary.size), TOKENS_PER_MASK),
            *generator.sample(allowed.tolist(), min(len(allowed), TOKENS_PER_MASK)),
        ]
        wrong = [token for token in tokens if (matcher.validate([token]) == 1) != in_mask[token]]
        assert wrong == [], (checked, matcher.tokens, vocabulary.token(wrong[0]))
        assert matcher.accept(generator.choice(allowed.tolist()))
        if matcher.is_finished:
            return
