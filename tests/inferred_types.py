"""Types that mypy infers for calls of the package: `python -m mypy` checks this file, and nothing runs it."""

import grammask
from typing_extensions import assert_type


class Point:
    x: int


def check_types_of_generated_values() -> None:
    assert_type(grammask.generate("demo", "A point: ", Point), Point)
    assert_type(grammask.generate("demo", "Numbers: ", list[int], key_order="any"), list[int])
    assert_type(grammask.generate("demo", "JSON: ", grammask.Grammar.bundled("json")), str)
