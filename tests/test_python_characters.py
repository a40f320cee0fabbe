"""The characters of classes, beside ``re``, code point by code point."""

from __future__ import annotations

import re
import sys

import pytest
from grammask.python_characters import members, sre_parse

ALL = "".join(map(chr, range(sys.maxunicode + 1)))


@pytest.mark.parametrize(
    "flags", [0, re.ASCII, re.IGNORECASE, re.IGNORECASE | re.ASCII, re.DOTALL | re.IGNORECASE]
)
@pytest.mark.parametrize(
    "pattern",
    [
        *(
            r"\w",
            r"\W",
            r"\d",
            r"\D",
            r"\s",
            r"\S",
            ".",
            "a",
            "k",
            "S",
            "1",
            "[^a]",
            "[^k-s]",
            r"[\w-]",
            r"[^\W\d]",
        ),
        *(
            "\u00df",
            "\u0345",
            "\u01c5",
            "\u0130",
            "\u0131",
            "\u03c2",
            "[\ufb05]",
            "[a-z\u00e9]",
            "[A-\u017f]",
        ),
        *("[\u0370-\u03ff]", "[\u03b8-\u03d1]", "[\u1c90-\u1cb0]", "[\u13a0-\u13f4]", "[\ud800-\udfff]"),
        *("[^\U00010400-\U00010410]", "[\U0001e900-\U0001e943]"),
    ],
)
def test_members_are_those_of_re(pattern: str, flags: int) -> None:
    parsed = sre_parse.parse(pattern, flags)
    operation, argument = parsed[0]
    ranges, is_negated = members(operation, argument, parsed.state.flags)
    found = bytearray([is_negated]) * len(ALL)
    for first, last in ranges:
        found[first : last + 1] = bytes([not is_negated]) * (last + 1 - first)
    expected = bytearray(len(ALL))
    for match in re.compile(f"(?:{pattern})+", flags).finditer(ALL):
        expected[match.start() : match.end()] = b"\1" * (match.end() - match.start())
    assert found == expected
