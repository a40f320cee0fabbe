"""Writes the bundled grammars in the dialects of the peers, with what their lexers lack said in other words.

The rules are those that the lark library makes of ours: without templates, operators written out. The terminals are
regular expressions. What a name of ours matches and a keyword matches too is the keyword, in all lexers that look for
one lexeme at a time; the peers would take both, so keywords are subtracted from names, those that we refuse too (Java's
`goto`). Not so where our lexer is contextual (JavaScript): a keyword is a name there where the parser can take no
keyword, so the peers, which take both, have more readings.

What stays different, all of it texts that only the peers allow: they look for the lexemes that the parser can take
(`ifx` is `if` and `x` where no name can stand), have no priorities of terminals, and no patterns that refuse a text
(SQL's `1a`, C's `/*` that is not closed). llguidance takes the longest lexeme and no shorter one; glrmask the
longest of each terminal, and all terminals. Conflicts that our tables decide by shifting stay open.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Literal, NamedTuple

from grammask.lark_grammars import RefusedTerminals, bundled, lark_definition

CASES = Path(__file__).parent / "cases" / "lexed"

FOLLOWED_BY_NOTHING = {"json"}
"""The grammars with texts that no text of the grammar continues."""

ON_THE_SAME_LINE = {"javascript": ["IN", "INSTANCEOF", "OF", "AS", "FROM", "INCREMENT"]}
"""Grammars in which line breaks are terminals here, ignored there, and what continues an operand in its line only."""

PARTS = {"python-lines": ("python", RefusedTerminals(("UNCLOSED",)))}
"""What is measured of grammars that the peers cannot read whole: the grammar, and what our lexer refuses."""


class Source(NamedTuple):
    """A grammar without indentation, as we read it."""

    text: str
    lexer: Literal["basic", "contextual"]
    refused: RefusedTerminals | None


def source(name: str) -> Source:
    """Return a bundled grammar, or a part of one."""
    whole, refused = PARTS.get(name, (name, None))
    grammar = bundled(whole)
    text = grammar.path.read_text("utf-8")
    if name in PARTS:
        return Source(_replaced(text, (CASES / f"{name}.lark").read_text("utf-8")), grammar.lexer, refused)
    if not isinstance(grammar.postlex, RefusedTerminals | None):
        raise ValueError(f"the peers have no indentation, so they cannot be given the grammar {name!r}")
    return Source(text, grammar.lexer, grammar.postlex)


class Terminal(NamedTuple):
    """A regular expression or a string, without the strings that other terminals take."""

    name: str
    source: str
    """Its name in our grammar."""
    pattern: str
    """In slashes or quotes, which all dialects share."""
    without: list[str]
    """Patterns of what it leaves out."""


class PlainGrammar(NamedTuple):
    """A bundled grammar, with names that all dialects read."""

    rules: dict[str, list[list[str]]]
    terminals: list[Terminal]
    ignored: list[str]
    named: list[str]
    """Terminals that our grammar names."""


def llguidance_lark(name: str) -> str:
    """Return a bundled grammar in llguidance's dialect of lark.

    The rules are our text, with templates written out: llguidance is several times slower on those of `plain`. White
    space is allowed at the start, which takes an option, and at the end, which takes a rule where nothing but it can
    follow: the parser stops there otherwise.
    """
    grammar = plain(name)
    rules = _rules(source(name).text)
    lines = [f"{'text' if rule == 'start' else rule}: {body}" for rule, body in rules]
    ignored = f"IGNORED: ({' | '.join(grammar.ignored)})+"
    if name in ON_THE_SAME_LINE:
        return "\n".join([*_with_ignored_inside(name, [*lines, "start: text IGNORED?"]), ignored]) + "\n"
    lines += [f"start: text{' IGNORED?' if name in FOLLOWED_BY_NOTHING else ''}", ignored]
    for terminal in grammar.terminals:
        without = f" & ~({' | '.join(terminal.without)})" if terminal.without else ""
        if terminal.source in grammar.named:
            lines.append(f"{terminal.source}: {terminal.pattern}{without}")
    lines += [f"%ignore {pattern}" for pattern in grammar.ignored]
    return "\n".join(['%llguidance {"no_forcing": true, "allow_initial_skip": true}', *lines]) + "\n"


def _with_ignored_inside(name: str, rules: list[str]) -> list[str]:
    """Make what is ignored a part of the terminal after it: llguidance skips it, whatever else it may be."""
    grammar = plain(name)
    names = {
        one.pattern: one.source if one.source in grammar.named else one.name for one in grammar.terminals
    }
    rules = [re.sub(r'"(\\.|[^"\\])+"', lambda string: names[string[0]], rule) for rule in rules]
    terminals = ["IN_LINE: IGNORED & /[^\\n]*/"]
    for terminal in grammar.terminals:
        before = "IN_LINE" if terminal.source in ON_THE_SAME_LINE[name] else "IGNORED"
        terminals.append(f"{names[terminal.pattern]}: {before}? {terminal.pattern}")
    return ['%llguidance {"no_forcing": true}', *rules, *terminals]


def glrmask_glrm(name: str) -> str:
    """Return a bundled grammar in GLRM, glrmask's own language, with other rules where it refuses ours."""
    rules = CASES / f"glrmask-{name}.lark"
    grammar = plain(name, rules.read_text("utf-8") if rules.exists() else "")
    lines = ["glrm 1;", "start text;", "ignore IGNORED;", f"t IGNORED = {' | '.join(grammar.ignored)};"]
    lines += [
        f"nt {left} = {' | '.join(' '.join(body) or 'eps' for body in bodies)};"
        for left, bodies in grammar.rules.items()
    ]
    lines += [
        f"t {terminal.name} = {' - '.join([terminal.pattern, *terminal.without])};"
        for terminal in grammar.terminals
    ]
    return "\n".join(lines) + "\n"


def plain(name: str, rules_instead: str = "") -> PlainGrammar:
    """Return a bundled grammar as the lark library loads it, some of its rules replaced."""
    grammar = source(name)
    text = _replaced(grammar.text, rules_instead)
    definition = lark_definition(
        text,
        path=name,
        start="start",
        lexer=grammar.lexer,
        newline=None,
        always_accepted=list(getattr(grammar.refused, "always_accept", ())),
    )
    spelled = {one[0]: f"T{index}" for index, one in enumerate(definition.terminals)}
    rules: dict[str, list[list[str]]] = defaultdict(list)
    for left, right, _ in definition.productions:
        rules[left].append(right)
    names = {left: "text" if left == "start" else f"r{index}" for index, left in enumerate(rules)}
    strings = {one[2]: _pattern(*one[1:4]) for one in definition.terminals if one[1] == "literal"}
    terminals, ignored = [], []
    for terminal, kind, string, spellings, _, role in definition.terminals:
        pattern = _pattern(kind, string, spellings)
        if role == "ignored":
            ignored.append(pattern)
        elif role != "refused":
            gives_way = kind != "literal" and grammar.lexer == "basic"
            matches = re.compile(_for_python(spellings or string)).fullmatch if gives_way else None
            without = [other for taken, other in strings.items() if matches and matches(taken)]
            terminals.append(Terminal(spelled[terminal], terminal, pattern, without))
    return PlainGrammar(
        {
            names[left]: [[spelled.get(s) or names[s] for s in body] for body in bodies]
            for left, bodies in rules.items()
        },
        terminals,
        ignored,
        re.findall(r"^(_?[A-Z]\w*)(?:\.-?\d+)?:", text, flags=re.MULTILINE),
    )


def _replaced(text: str, rules: str) -> str:
    """Return a grammar with other rules in place of those of the same names."""
    for name in re.findall(r"^(\w+):", rules, flags=re.MULTILINE):
        text = re.sub(rf"^{name}:(.|\n(?=[ \t]))*\n", "", text, flags=re.MULTILINE)
    return text + rules


def _rules(text: str) -> list[tuple[str, str]]:
    """Return the names and bodies of the rules that a grammar's start leads to, templates instantiated."""
    code = re.sub(r"^(//|%).*\n", "", text, flags=re.MULTILINE)
    head = r"^(_?[a-z]\w*)(?:\{(\w+)\})?(?:\.\d+)?:"
    found = re.findall(rf"{head}((?:.|\n(?=[ \t]))*)", code, flags=re.MULTILINE)
    templates = {name: (parameter, body) for name, parameter, body in found if parameter}
    bodies = {name: body for name, parameter, body in found if not parameter}
    rules, pending = {}, ["start"]
    while pending:
        name = pending.pop()
        if name in rules or name not in bodies:
            continue
        for template, argument in re.findall(r"(\w+)\{(\w+)\}", bodies[name]):
            parameter, general = templates[template]
            bodies[f"{template}_{argument}"] = re.sub(rf"\b{parameter}\b", argument, general)
        rules[name] = re.sub(r"(\w+)\{(\w+)\}", r"\1_\2", bodies[name]).strip()
        pending += re.findall(r"\b_?[a-z]\w*", re.sub(r'"(\\.|[^"\\])+"', "", rules[name]))
    return list(rules.items())


def _pattern(kind: str, string: str, spellings: str | None) -> str:
    """Return a terminal in quotes, or as an expression in slashes."""
    if kind == "literal" and not spellings:
        return json.dumps(string)
    return "/" + re.sub(r"(?<!\\)/", r"\\/", spellings or string) + "/"


def _for_python(pattern: str) -> str:
    r"""Return a pattern with `\U0000002D` for `\x{2D}`."""
    return re.sub(r"\\x\{([0-9A-F]+)\}", lambda point: f"\\U{int(point[1], 16):08X}", pattern)
