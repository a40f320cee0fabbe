"""Tests of the bundled grammars of C, Go, Java and JavaScript: corner cases, and damaged texts as in lark."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import grammask
import lark
import numpy as np
import pytest
from case_counts import by_profile
from grammask._grammask import embedded_vocabulary, encode_ordinary
from grammask.lark_grammars import BUNDLED
from lexed.without_lexical_rules import may_have_lexical_rules, text_without_lexical_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

BYTES = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
SAMPLES = Path(__file__).parents[2] / "testdata" / "languages"
FILES = {"c": "sample.c", "go": "sample.go", "java": "Sample.java", "javascript": "sample.js"}
INSERTED = [
    *"()[]{}<>:,.;?*&\n \t\"'`#\\1a_=@$+-/~!%é",
    *[
        "/*",
        "*/",
        "//",
        "...",
        "->",
        "=>",
        "::",
        ":=",
        "<-",
        "0x",
        "1e",
        "++",
        ">>",
        "if ",
        "else ",
        "case ",
        "class ",
    ],
    *[
        "int ",
        "new ",
        "struct ",
        "func ",
        "function ",
        "return",
        "static ",
        "in ",
        "of ",
        "default",
        "type ",
        "(T)",
    ],
]


@cache
def compiled(name: str) -> grammask.CompiledGrammar:
    return grammask.Grammar.bundled(name).compile(BYTES)


@cache
def library(name: str) -> lark.Lark:
    grammar = BUNDLED[name]
    text = text_without_lexical_rules(name)
    return lark.Lark(text, parser="lalr", lexer=grammar.lexer, postlex=grammar.postlex)


def is_parsed(name: str, text: str) -> bool:
    try:
        library(name).parse(text)
    except lark.LarkError:
        return False
    return True


def sample(name: str) -> str:
    return (SAMPLES / FILES[name]).read_text("utf-8")


def mutants(text: str, chance: random.Random, count: int) -> Iterator[str]:
    for _ in range(count):
        place = chance.randrange(len(text) + 1)
        end = place + chance.randrange(4)
        word = chance.choice(INSERTED)
        yield chance.choice(
            [text[:place] + text[end:], text[:place] + word + text[place:], text[:place] + word + text[end:]]
        )


@pytest.mark.parametrize("name", FILES)
def test_the_sample_is_read(name: str) -> None:
    assert may_have_lexical_rules(name, sample(name)) or is_parsed(name, sample(name))
    assert compiled(name).first_error(sample(name).encode()) is None


@pytest.mark.parametrize("name", FILES)
def test_broken_texts_are_refused_as_lark_refuses_them(name: str) -> None:
    chance = random.Random(11)
    verdicts = []
    lines = sample(name).splitlines(keepends=True)
    text = "".join(line for line in lines if not may_have_lexical_rules(name, line))
    assert is_parsed(name, text)
    for mutant in mutants(text, chance, by_profile(40, 250)):
        if may_have_lexical_rules(name, mutant):
            continue
        verdicts.append(is_parsed(name, mutant))
        assert compiled(name).is_valid(mutant.encode()) == verdicts[-1], mutant
    assert 0.1 < sum(verdicts) / len(verdicts) < 0.8


@pytest.mark.parametrize("name", FILES)
def test_tokens_of_the_sample_are_never_masked(name: str) -> None:
    tokens, special = embedded_vocabulary("cl100k_base")
    vocabulary = grammask.Vocabulary(tokens, special=special, eos="<|endoftext|>")
    matcher = grammask.Grammar.bundled(name).compile(vocabulary).matcher()
    chance = random.Random(12)
    for token in encode_ordinary("cl100k_base", sample(name)):
        allowed = np.isin(np.arange(vocabulary.size), matcher.allowed_ids())
        assert allowed[token]
        for other in chance.sample(range(100_000), 4):
            assert allowed[other] == matcher.fork().accept_bytes(tokens[other] or b"\0"), tokens[other]
        matcher.accept(token)
    assert vocabulary.eos[0] in matcher.allowed_ids()


@pytest.mark.parametrize(
    ("text", "is_c"),
    [
        ("int x;", True),
        ("", False),
        ("T f(U u, V *);", True),
        ("int f(void) { a * b; T *c, **d = 0; }", True),
        ("int f(void) { return (T)x + (T)-1 + (T *)&y * (T)(U)(z)[1]; }", True),
        ("int f(void) { x = (int) y z; }", False),
        ("int f(void) { a b c; }", False),
        ("int f(void) { if (a) if (b) c; else d; else e; }", True),
        ("int if;", False),
        ("int a[] = { 1, 2, };", True),
        ("int a = 08;", True),  # The compiler says more.
        ("int a = 1x;", False),
        ("int f(int (*)(T), T (*)[3], T (x));", True),
        ("x = 1;", False),
        ("int main() { L: }", False),
        ('char *s = "a\nb";', False),
        ("int a = '';", False),
        ("int a = b / *c;", True),
        ("int a = b /*c;", False),
        ("int a\u00b2, \u00e9, e\u0301;", True),
        ("int \u0301;", False),
        ("int a\u20ac\u2192;", False),
    ],
)
def test_c_where_it_is_special(text: str, *, is_c: bool) -> None:
    assert is_parsed("c", text) == is_c
    assert compiled("c").is_valid(text.encode()) == is_c


@pytest.mark.parametrize(
    ("body", "is_go"),
    [
        ("f()\n", True),
        ("f() g()\n", False),
        ("f(); g()", True),
        ("x := f(\n\t1,\n\t2,\n)\n", True),
        ("x := f(\n\t1\n)\n", False),
        ("a +\n\tb\n", True),
        ("a\n\t+ b\n", True),  # Two statements.
        ("a\n\t* b\n", True),
        ("a\n\t/ b\n", False),
        ("if x {\n}\nelse {\n}\n", False),
        ("if x { } else { }", True),
        ("if x\n{\n}\n", False),
        ("for i := 0; i < 1; i++ {}", True),
        ("if T{} == x {}", False),
        ("if (T{}) == x {}", True),
        ("if f(T{1}) {}", True),
        ("switch x := y.(type) {}", True),
        ("if x := y.(type) {}", False),
        ("return /* a\n */ 1", True),
        ("return /* a */ 1", True),
        ("break x // y\n", True),
        ("x.\n\ty()\n", True),
        ("x\n\t.y()\n", False),
        ("func() {\n}()\n", True),
        ("var a, b = 0x1p-2, 1_000i", True),
        ("a := 0b12", False),
        ("a := [...]T[int]{}[:]", True),
        ("if = 1", False),
        ("a / *b", True),
        ("a /*b\n", False),
        ("\u00e9\u0663 := 1", True),
        ("a\u00b2 := 1", False),
        ("e\u0301 := 1", False),
        ("const a", False),
        ("const (a = 1; b\nc, d)", True),
        ("var a [...]b", False),
        ("a := [...][]b{}", True),
        ("var a b[3]", False),
        ("var a []b[c.d, []e]", True),
        ("func(a, b.c, d[3], [4]e, ...f) {}(g)", True),
        ("func(a, b c, d ...e) (f, g [3]h) {}(i)", True),
        ("func(a, b c, d) {}(e)", False),
        ("func(a b, c.d) {}(e)", False),
        ("func(a, ...b, c) {}(d)", True),  # The compiler says more.
        ("// a\0\n", False),
    ],
)
def test_go_where_it_is_special(body: str, *, is_go: bool) -> None:
    text = f"package p\nfunc f() {{\n{body}}}"
    assert is_parsed("go", text) == is_go
    assert compiled("go").is_valid(text.encode()) == is_go


@pytest.mark.parametrize(
    ("declarations", "is_go"),
    [
        ("", True),
        (";", True),
        ('\nimport a `b.c/d-e~f+g`; import ()\nimport (\n\t_ "h"; . "i"\n)\nconst (j = 1)', True),
        ('\nimport "a b"', False),
        ('\nimport ""', False),
        ("\nimport `a\\b`", False),
        ('\nvar a = "a/b" + "a b"\nimport "c"', False),
        ("\nfunc (a b) c[d any]()", False),
        ("\nfunc c[d any]()", True),
    ],
)
def test_go_outside_of_functions(declarations: str, *, is_go: bool) -> None:
    text = f"package p{declarations}"
    assert is_parsed("go", text) == is_go
    assert compiled("go").is_valid(text.encode()) == is_go


@pytest.mark.parametrize(
    ("body", "is_java"),
    [
        ("A<B<C>> x; A<B<C<D>>> y;", True),
        ("A<B<C<D<E>>>> x;", True),
        ("A<B<C> x;", False),
        ("A<B<C>>> x;", False),
        ("x = a < b;", True),
        ("x = f(a < b, c > d);", True),
        ("x = a < b < c;", False),
        ("x = (A) b + (a) - b;", True),
        ("x = (A<B>) b;", True),
        ("x = (a, b) -> c;", True),
        ("x = (a, b);", False),
        ("a + b;", False),
        ("x = y -> { return; };", True),
        ("int goto = 1;", False),
        ("int _ = 1;", False),
        ("int $_a = 1;", True),
        ("yield 1;", True),
        ("case 1: ;", False),
        ("switch (x) { case 1 -> a(); case 2: }", False),
        ("class A {} record B() {}", True),
        ('x = """\n a""";', True),
        ('x = """ a""";', False),
        ("x = 1_0L + 09;", False),
        ("x = new int[1][]; y = new int[] { 1, };", True),
        ("if (a) int x;", False),
        ("A @B [] x = y; for (@A B @C [] x : y) {}", True),
        ("A.@B C<@D E, ? extends @F G @H []> x = new @I A.@J C<>();", True),
        ("x = (@A String) y; x = (@A int) y; x = (@A B<C> & @D E) y;", True),
        ("x = (final String) y;", False),
        ("x = (@A final B y) -> y; x = y instanceof @A B || y instanceof @A B z;", True),
        ("x = new @A B[3]; x = new @A B @C [] {};", True),
        ("x = String @A [].class;", False),
        (
            "class A<T extends @B C & @D E> extends @F G implements @H I { <T> @A T f(B @C ... x) throws @D E {} }",
            True,
        ),
        ("<T> @A B() {}", False),
        ("int \u20ac_e\u0301 = 1;", True),
        ("int a\u00b2 = 1;", False),
        ("x = f(Class<?>[]::new, List<String>::new, a < b, c > d);", True),
        ("x = a ? List<int[]>::size : A.B<C.D>::<E>f;", True),
        ("if (a / b < 0 && c + d < e[1] || (F) g < h) i();", True),
        ("Class<?>[] a = new Class<?>[1], b = new List<?>[] {}; x = (Class<?>[]) y;", True),
        ("for (Class<?>[] a : b) {}", True),
        ("List<String>::new;", False),
        ("x = y + List<String>::new;", False),
    ],
)
def test_java_where_it_is_special(body: str, *, is_java: bool) -> None:
    text = f"class A {{ void f() {{ {body} }} }}"
    assert is_parsed("java", text) == is_java
    assert compiled("java").is_valid(text.encode()) == is_java


@pytest.mark.parametrize(
    ("text", "is_java"),
    [
        ("@A package b;", True),
        ("public package a;", False),
        ("@A open module b { }", True),
        ("final module a { }", False),
        ("import a.b; module c { }", True),
        ("; module a { }", False),
        ("package a; import b.c;; import d.*; ; class E { };", True),
        ("@A final @B class C { @D public E f; @G C() { } }", True),
        ("class record { }", False),
        ("interface A<yield> { }", False),
        ("class module { open open; record record() { } }", True),
        ("record A(@B int c, D... e) { }", True),
        ("record A(final int b) { }", False),
        ("record A(int b[]) { }", False),
        ("record A(int... b, int c) { }", False),
        ("class A { void b(int... c, int d) { } }", False),
        ("class A { void b(@C A this, final int c[], D @E ... f) { } }", True),
    ],
)
def test_java_outside_of_methods(text: str, *, is_java: bool) -> None:
    assert is_parsed("java", text) == is_java
    assert compiled("java").is_valid(text.encode()) == is_java


@pytest.mark.parametrize(
    ("text", "is_javascript"),
    [
        ("a b", False),
        ("a\nb", True),
        ("a /* \n */ b", True),
        ("a/*\n*/b/*\u2028*/c", True),
        ("f(a)/*\n*/\n.b/*\n*/+ c", True),
        ("a /*\n*/ ++b", True),
        ("(a/*\n*/++)", False),
        ("a // b\rc", True),
        ("// a\u2028if", False),
        ("// a\rif", False),
        ("a\ufeff = (b) \ufeff => c", True),
        ("a\n\ufeff=> b", False),
        ("a\ufeff\n=> b", False),
        ("a < !--b", True),
        ("a<!--b", False),
        ("export async\nfunction a() {}", False),
        ("async\nfunction a() {}", True),
        ("({ async\na() {} })", False),
        ("({ async\n, b, async c() {}, async /**/ *d() {} })", True),
        ("class A { async\n*b() {} }", True),
        (
            "export { if } from 'a'\nexport { 'b' as else, c } from 'a'\nexport { a, b as 'c', d as if, }",
            True,
        ),
        ("export { if }", False),
        ("export { a, 'b' as c, }", False),
        ("a\n(b)", True),
        ("a\n.b\n[c]\n`d`", True),
        ("{ a }", True),
        ("if (a) b else c", False),
        ("if (a) b\nelse c", True),
        ("() => { return\na }", True),
        ("x = a / b / c", True),
        ("x = /b/ / c", True),
        ("if (a) /b/.test(c)", True),
        ("x = a /b/ c d", False),
        ("(a, b) => {}\n(c)", True),
        ("({ a, if: 1, get b() {} })", True),
        ("`a ${b + { c: `d` }} e`", True),
        ("`a ${b", False),
        ("for (x of y) z\nfor (const x in y) z", True),
        ("for (index index y) z", False),
        ("a instanceof b in c", True),
        ("a index", False),
        ("class A { a = 1\n b() {}\n c }", True),
        ("class A { a b }", False),
        ("do a\nwhile (b) c", True),
        ("x = function () {}\ny", True),
        ("function f() {} y", True),
        ("x = function () {} y", False),
        ("#!a\nb", True),
        ("// #!a\nb; // (#!c)\n\nd", True),
        ("/* #! */ /**/ #!a", False),
        ("const a", False),
        ("let a, { b } = c", True),
        ("'a\nb'", False),
        ("import a, { b as c } from 'd'\nexport { c as default }", True),
        ("async (a, ...b) => await c\nasync(d)", True),
        ("let if = 1", False),
        ("else: a", False),
        ("a.if = { else: 1, new() {} }.else", True),
        ("class A { if() {} static new = 1 }", True),
        ("import { default as a } from 'b'\nexport { a as if }", True),
        ("import a from 'b' with { type: 'json' }\nexport * from 'c' with { 'd': 'e', if: 'f', }", True),
        ("import a from 'b' with { type }", False),
        ("let async = get, of = from\nstatic: as", True),
        ("switch (a) { casex: b }", False),
        ("switch (a) { case(x): b }", True),
        ("1 = a", False),
        ("this = a", False),
        ("a.b++ + --c[d]", True),
        ("a()++", False),
        ("a() = b", False),
        ("a().b = c", True),
        ("a?.b = c", False),
        ("a?.b.c++", False),
        ("a?.b(c)[d].e?.[f]", True),
        ("new a = b", False),
        ("new a.b(c).d = new (e)(f)", True),
        ("[a, { b: c }] = d", True),
        ("({ a, ...b } = c)", True),
        ("[a] += b", False),
        ("for (a().b of c) d", True),
        ("for (a() of c) d", False),
        ("for ([a, b.c] of d) e", True),
        ("return a", False),
        ("() => { return a }", True),
        ("class A { static { return } }", False),
        (
            "class A { static // a\n\n{ b } static {}\nstatic\n{} static\nc\nstatic\nd() {} static\n=\ne\nstatic\n}",
            True,
        ),
        ("class A { c\n{} }", False),
        ("break", False),
        ("while (a) { if (b) break\nelse continue }", True),
        ("switch (a) { case b: break }", True),
        ("switch (a) { case b: continue }", False),
        ("for (;;) switch (a) { case b: continue }", True),
        ("while (a) { () => { break } }", False),
        ("a: { break a }", True),
        ("{ import 'a' }", False),
        ("if (a) let b = 1", False),
        ("if (a) function b() {}", True),
        ("'a'--'b'", False),
        ("'a' - -'b'", True),
        ("a ?? b || c", False),
        ("a ?? (b || c)", True),
        ("a && b || c", True),
        ("-a ** b", False),
        ("(-a) ** b ** -c", True),
        ("a\n&& b\n|| c", True),
        ("super", False),
        ("super.a = new super.b(super[c])", True),
        ("import(a).b", True),
        ("import", False),
        ("let yield = 1", False),
        ("a.yield = { await: 1 }", True),
        (r"'\x4'", False),
        (r"'\x41\u{10ffff}\u0041\q'", True),
        (r"'\u{110000}'", False),
        (r"`\0${a}\01`", False),
        (r"`\0${a}\0b`", True),
        (r"a`\01\xz`", True),
        (r"`\u00`", False),
        ("/a/gi.b", True),
        ("/a/ax", False),
        ("/(?<a>b)(?:c(?=d)*|(?!e)){2,}?(?<=f)(?<!g)\\k<a>/", True),
        ("/a{,2}{b{1c]}/", True),
        ("/[\\w-a\\-[(]+[^]/", True),
        ("/[--9+--]/", True),
        ("/[z-a]/", True),  # Left to the interpreter.
        ("/[a-Z]/", False),
        ("/[\\x7a-Z]/", True),
        ("/(a/", False),
        ("/a)/", False),
        ("/(?a)/", False),
        ("/a**/", False),
        ("/^*/", False),
        ("/(?<=a)*/", False),
        ("/{2}/", False),
        ("/a|*b/", False),
        ("yield 1", False),
        ("function* f() { yield\nyield* [] }", True),
        ("function f() { yield 1 }", False),
        ("({ *a() { yield }, b() {} })", True),
        ("({ b() { yield } })", False),
        ("await a", True),
        ("function f() { await a }", False),
        ("async function f() { for await (const a of b) await a }", True),
        ("async () => { (() => await a)() }", False),
        ("({ async a() { await b }, async() {}, async, get: c })", True),
        ("#a in b", False),
        ("a.#b", False),
        ("class A { #a; static b(c) { return #a in c && c?.#a } }", True),
        ("({ #a() {} })", False),
        ("()\n=> a", False),
        ("() /*\n*/ => a", False),
        ("() /*\n*//**/ => a", False),
        ("async a /*\n*/ //b\n => a", False),
        ("a /**/ /*b*/ => a", True),
        ("a = b\n++c", True),
        ("(a\n++b)", False),
        ("(a\n- -b)", True),
        ("[a\n++]", False),
        ("for (;;\n++a) b", True),
        ("1in a", False),
        ("a³", False),
        ("é = a", True),
        ("e\u0301 = a\u00b7b\u200d = \u2118", True),
        ("\u2e2f = a", False),
        ("new function() {}; new class extends a {}; new {}.a()", True),
        ("() => new function() {}()", True),
        ("function() {}", False),
        ("({ a = 1 })", False),
        ("({ a = 1 } = b)", True),
        ("[{ a = 1 }, ...b] = c", True),
        ("f([{ a = 1 }])", False),
        ("(a, { b: [{ c = 1 }] }, ...d) => a", True),
        ("async ({ a = 1 }) => a", True),
        ("async ({ a = 1 })", False),
        ("for (const { a = 1 } of b) for ({ a = 1 } of b) c", True),
        ("0x1fn + 12n + 1.5e3", True),
        ("1.5n", False),
        ("010 + 08.5e1 + 09 + 017.toString()", True),
        ("010.5", False),
        ("08n", False),
        ("a\v=\v\n\vb", True),
        ("export default { a: 1 }", True),
        ("export default { a = 1 } = b\n", True),
        ("export default [a]\n/b/g", True),
        ("export default a, b", False),
        ("export default function () {} a()", True),
        ("class A\n{}\nx = class B\nextends c.d\n{}", True),
        ("class A extends B\n{}\nexport default class C\n{}", True),
        ("import a\nfrom 'b'\nimport { c\nas d }\nfrom 'e'\nexport * as f\nfrom 'g'", True),
        ("with (a) b\nwith (a) { b }", True),
        ("with (a) function b() {}", False),
        ("a: function b() {}\nc: d: function e() {}", True),
        ("async\n(a)", True),
        ("async (a) => b", True),
        ("switch (a)\n{}", True),
        ("({ get a() {}, set a({ b } = c) {}, get() {}, set(a, b) {} })", True),
        ("a.let = { let: 1, let() {} }", True),
        ("do a\nwhile (b)\n{ c }", True),
        ("async(...a, b)", True),
        ("async (a, ...[b, { c = 1 }]) => d", True),
        ("({ a: [b, ...c.d], ...e.f } = g)", True),
        ("({ ...[a] })", True),
        ("[...[a, { b = 1 }].c] = d", False),
        ("[a, , b, ,] = [, c]", True),
        ("[...a, ]", True),
        ("(a, b, ) => c", True),
        ("((a)) = ((b.c))++", True),
        ("[(a), { b: (c.d) }] = e", True),
        ("[a = b, c.d = e] = f", True),
        ("new a.b(c).d = e", True),
        ("[new a().b] = c", True),
        ("new (a?.b)()", True),
        ("class A extends a?.b {}", True),
        ("class A extends new b {}", True),
        ("new new a(b)(c)", True),
        ("new a`b`(c)", True),
        ("new a(b)(c)(d)\n(e)", True),
        ("() => function () {}()", True),
        ("() => class {}.a", True),
        ("() => async function () {}()", True),
        ("async () => {}\n(a)", True),
        ("for ((a.b) of c);", True),
        ("for ({ a, b: c.d } of e);", True),
        ("a ? (b) : c => d", True),
        ("(a) ? b : c", True),
        ("[[{ a = 1 }] = b] = c", True),
        ("f({ a = 1 } = b)", True),
        ("if (a) function b() {}\nelse c", True),
        ("a\n/ b", True),
        ("(a // b\n\t/ c)", True),
        ("a\n/b\n/c", True),
        ("a // b\n // c\n / d / e", True),
        ("a\n/* b */c", True),
        ("a\n/** b */\n.c", True),
        ("{ a\n//b\n}", True),
        ("a\n//b", True),
        ("{}\n/a/g", True),
        ("() => {}\n/a/g", True),
        ("while (a) { continue\n/a/g }", True),
        ("class A { b = c\n/* d */ e\n//f\n}", True),
        ("import a\n/* b */ from 'b'", True),
        ("class A\n// b\n{}", True),
        ("x = class extends A\n/* b */\n{}", True),
        ("#!a", True),
        ("async\n(a) => b", False),
        ("({ get a(b) {} })", False),
        ("({ set a() {} })", False),
        ("({ set a(b, c) {} })", False),
        ("class A { set a(...b) {} }", False),
        ("let let = 1", False),
        ("class let {}", False),
        ("async(...a, b) => c", False),
        ("async (a.b) => c", False),
        ("async (a, [b.c]) => d", False),
        ("([a.b]) => c", False),
        ("({ ...{ a } } = b)", False),
        ("[...[a = 1] = b] = c", False),
        ("[...a, b] = c", False),
        ("[...a, ] = b", False),
        ("((a)) => b", False),
        ("((a, b)) = c", False),
        ("(a, ) + b", False),
        ("[(a = 1)] = b", False),
        ("[([a])] = b", False),
        ("({ a: (b = 1) } = c)", False),
        ("({ a: b + c } = d)", False),
        ("({ a() {} } = b)", False),
        ("[a, b + c] = d", False),
        ("[a += b] = c", False),
        ("(a += b) => c", False),
        ("([a.b = c]) => d", False),
        ("[f()] = a", False),
        ("[new a.b] = c", False),
        ("new a.b = c", False),
        ("new a?.b()", False),
        ("new import(a)", False),
        ("(a?.b) = c", False),
        ("for ((a, b) of c);", False),
        ("for ((f()) of c);", False),
        ("for await (a in b);", False),
        ("([{ a = 1 }].b)", False),
        ("[{ a = 1 }.b] = c", False),
        ("--(f`x`)", False),
        ("--(f())", False),
        ("(a + b) = 1", False),
        ("for ((f()) in x);", False),
        ("[(a + b)] = c", False),
        ("(a)\n=> b", False),
        (" #!a", False),
        ("/**/#!a", False),
        ("a\n#!b", False),
        ("a\n/b/", False),
    ],
)
def test_javascript_where_it_is_special(text: str, *, is_javascript: bool) -> None:
    if not may_have_lexical_rules("javascript", text):
        assert is_parsed("javascript", text) == is_javascript
    assert compiled("javascript").is_valid(text.encode()) == is_javascript
