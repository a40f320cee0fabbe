"""Tests of the preprocessing directives in the bundled grammar of C: lines of their own, and conditional groups."""

from __future__ import annotations

import random
from functools import cache

import grammask
import pytest

LINES = """typedef unsigned long size;
enum color {
    RED = 1,
    GREEN,
    BLUE
};
struct point {
    int x, y;
    struct { char *name; };
};
static const int sizes[] = {
    1, 2,
    [4] = 3,
    5
};
int first(int a)
{
    int b = a;
    if (a > 1) {
        b = 2;
        a--;
    } else
        b++;
    switch (b) {
    case 1:
        return a;
    default:
        break;
    }
    for (int i = 0; i < a; i++)
        ;
    return g(a,
             b);
}
int second(void) { return 0; }""".splitlines()


@cache
def compiled() -> grammask.CompiledGrammar:
    vocabulary = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
    return grammask.Grammar.bundled("c").compile(vocabulary)


@pytest.mark.parametrize(
    ("text", "is_c"),
    [
        # Lines with a directive, next to a declaration.
        ("#include <a.h>", True),
        ('#include "a.h" // b', True),
        ("/* a */\n  # include <a>", True),
        ("#include <a> int y;", False),
        ("#include <a> /* b */ int y;", False),
        ("#include <a> / 2", False),
        ("#define A", True),
        ("#define A 1", True),
        ("  #  define A\r", True),
        ("#define A(a, b) \\\n ((a) > (b) ? (a) : (b)) // c", True),
        ("#define A /* a\n b */ 2", True),
        ("#define A '\"'", True),
        ("#define A /", True),
        ("#define A // \\\n b c", True),
        ("#define A+1", False),
        ("#define 1", False),
        ("#define", False),
        ('#define A "b', False),
        ("#define A /* b", False),
        ("#undef A", True),
        ("#undef A b", False),
        ("#undef A+", False),
        ("#error don't /* a\n */ b", True),
        ("#warning \\\n a", True),
        ("#errors", False),
        ("#pragma once", True),
        ("#pragma a \\\n b / c /*\n*/ d", True),
        ("#pragma", True),
        ("#pragmatic", False),
        ("#pragma/ a", False),
        ('# 1 "a.c"', True),
        ('#  7 "b \\"c" 1 3 4', True),
        ("#line 7", True),
        ('# 1 "a" 5', False),
        ('# 1 "a"1', False),
        ("# 7x", False),
        ("#assign A", False),
        # Conditional groups; a structure may have no other members.
        ("#ifdef A\nint a;\n#endif", True),
        ("#ifndef A\n#else /* B */\nint a;\n#endif // don't", True),
        ("#if A > 1\n#elif defined(B) && \\\n C\nint c;\n#elif(D)\n#else\n#endif", True),
        ("#if A\n#if B\nint b;\n#endif\n#endif", True),
        ("#if A\nint a;", False),
        ("#endif", False),
        ("#if A\n#else\n#else\n#endif", False),
        ("#if A\n#else\n#elif B\n#endif", False),
        ("#if\n#endif", False),
        ("#ifdef A b\n#endif", False),
        ("#ifdefA\n#endif", False),
        ("#if A\n#else B\n#endif", False),
        ("#if A\n#endif B", False),
        ("#if A\nint a\n#endif\n;", False),
        ("int f(void) {\n#if A\n return 1;\n#else\n int b; b = 2;\n#endif\n}", True),
        ("int f(void) { switch (a) {\n#if A\n case 1: b();\n#endif\n default: c(); } }", True),
        ("int f(void) {\n#if A\n if (a) {\n#else\n if (b) {\n#endif\n } }", False),
        ("struct s { int a;\n#if A\n int b;\n#endif\n};", True),
        ("struct s {\n#if A\n int a;\n#else\n int b;\n#endif\n};", True),
        ("enum e {\n#if A\n B,\n#endif\n C\n};", True),
        ("enum e { C,\n#if A\n B,\n#else\n D, E,\n#endif\n};", True),
        ("enum e {\n#if A\n B,\n#endif\n};", False),
        ("enum e { C\n#if A\n , B\n#endif\n};", False),
        ("int a[] = { 1,\n#if A\n 2,\n#endif\n [3] = 4 };", True),
        ("int a = 1\n#if A\n + 2\n#endif\n;", False),
    ],
)
def test_directives_and_groups(text: str, *, is_c: bool) -> None:
    assert compiled().is_valid(f"{text}\nint x;\n".encode()) == is_c
    assert compiled().is_valid(f"int x;\n{text}\nint y;".encode()) == is_c


@pytest.mark.parametrize(
    ("text", "is_c"),
    [
        ("#include <a>", False),
        ("#ifndef A\n#define A\n#endif", True),
        ("int x; #pragma a", False),
        ("int x; #if A\n#endif", False),
        ('int f(void) { return g("%" PRIu64 "\\n", A "b" B); }', True),
        ("int f(void) { return A B; }", False),
        ("// a \\\n }\nint x;", True),
    ],
)
def test_files_with_directives_and_macros(text: str, *, is_c: bool) -> None:
    assert compiled().is_valid(text.encode()) == is_c


def test_what_remains_of_a_text_is_c_whichever_groups_are_kept() -> None:
    chance = random.Random(13)
    accepted = 0
    for _ in range(1500):
        first = chance.randrange(len(LINES))
        places = sorted([first, *(first + chance.randrange(1, 6) for _ in range(2))])
        begin, middle, end = (min(place, len(LINES)) for place in places)
        kept, other = LINES[begin:middle], LINES[middle:end]
        before, after = LINES[:begin], LINES[end:]
        text = "\n".join([*before, "#if A", *kept, "#else", *other, "#endif", *after])
        if compiled().is_valid(text.encode()):
            accepted += 1
            for group in (kept, other):
                rest = "\n".join([*before, *group, *after])
                assert compiled().is_valid(rest.encode()) or "struct point {\n}" in rest, text
    assert accepted > 50
