"""Writes the bundled grammars in the dialects of the peers, with what their lexers lack said in other words.

The rules are those that the lark library makes of ours: without templates, operators written out. The terminals are
regular expressions. What a name of ours matches and a keyword matches too is the keyword, in all lexers that look for
one lexeme at a time; the peers would take both, so keywords are subtracted from names.

What stays different, all of it texts that only the peers allow: they look for the lexemes that the parser can take
(`ifx` is `if` and `x` where no name can stand), and have no terminals that refuse a text (SQL's `1a`). llguidance takes
the longest lexeme and no shorter one; glrmask the longest of each terminal, and all terminals.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from grammask.lark_grammars import bundled, lark_definition

CASES = Path(__file__).parent / "cases" / "lexed"

FOLLOWED_BY_NOTHING = {"json"}
"""The grammars with texts that no text of the grammar continues."""


class Terminal(NamedTuple):
    """A regular expression or a string, without the strings that other terminals take."""

    name: str
    source: str
    """Its name in our grammar."""
    pattern: str
    """In slashes or quotes, which all dialects share."""
    without: list[str]
    """Names of the terminals that it leaves out."""


class PlainGrammar(NamedTuple):
    """A bundled grammar, with names that all dialects read."""

    rules: dict[str, list[list[str]]]
    terminals: list[Terminal]
    ignored: list[str]
    named: list[str]
    """Terminals that our grammar names."""

    def pattern(self, name: str) -> str:
        """Return the pattern of a terminal."""
        return next(terminal.pattern for terminal in self.terminals if terminal.name == name)


def llguidance_lark(name: str) -> str:
    """Return a bundled grammar in llguidance's dialect of lark.

    The rules are our text, with templates written out: llguidance is several times slower on those of `plain`. White
    space is allowed at the start, which takes an option, and at the end, which takes a rule where nothing but it can
    follow: the parser stops there otherwise.
    """
    grammar = plain(name)
    end = " IGNORED?" if name in FOLLOWED_BY_NOTHING else ""
    lines = ['%llguidance {"no_forcing": true, "allow_initial_skip": true}', f"start: text{end}"]
    lines += [
        f"{'text' if rule == 'start' else rule}: {body}"
        for rule, body in _rules(bundled(name).path.read_text("utf-8"))
    ]
    for terminal in grammar.terminals:
        without = " | ".join(map(grammar.pattern, terminal.without))
        if terminal.source in grammar.named:
            lines.append(f"{terminal.source}: {terminal.pattern}{f' & ~({without})' if without else ''}")
    lines += [f"IGNORED: ({' | '.join(grammar.ignored)})+"] if end else []
    lines += [f"%ignore {pattern}" for pattern in grammar.ignored]
    return "\n".join(lines) + "\n"


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
        f"t {terminal.name} = {' - '.join(map(grammar.pattern, [terminal.name, *terminal.without]))};"
        for terminal in grammar.terminals
    ]
    return "\n".join(lines) + "\n"


def plain(name: str, rules_instead: str = "") -> PlainGrammar:
    """Return a bundled grammar as the lark library loads it, some of its rules replaced."""
    grammar = bundled(name)
    text = grammar.path.read_text("utf-8")
    for replaced in re.findall(r"^(\w+):", rules_instead, flags=re.MULTILINE):
        text = re.sub(rf"^{replaced}:(.|\n(?=[ \t]))*\n", "", text, flags=re.MULTILINE)
    definition = lark_definition(
        text + rules_instead,
        path=str(grammar.path),
        start="start",
        lexer=grammar.lexer,
        newline=None,
        always_accepted=list(getattr(grammar.postlex, "always_accept", ())),
    )
    spelled = {one[0]: f"T{index}" for index, one in enumerate(definition.terminals)}
    rules: dict[str, list[list[str]]] = defaultdict(list)
    for left, right, _ in definition.productions:
        rules[left].append(right)
    names = {left: "text" if left == "start" else f"r{index}" for index, left in enumerate(rules)}
    used = [one for one in definition.terminals if one[5] not in ("ignored", "refused")]
    strings = {spelled[one[0]]: one[2] for one in used if one[1] == "literal"}
    terminals, ignored = [], []
    for terminal, kind, string, spellings, _, role in definition.terminals:
        expression = spellings or string
        exact = kind == "literal" and not spellings
        pattern = json.dumps(string) if exact else f"/{_slashed(expression)}/"
        if role == "ignored":
            ignored.append(pattern)
        elif role != "refused":
            matches = None if kind == "literal" else re.compile(_for_python(expression)).fullmatch
            without = [other for other, taken in strings.items() if matches and matches(taken)]
            terminals.append(Terminal(spelled[terminal], terminal, pattern, without))
    return PlainGrammar(
        {
            names[left]: [[spelled.get(s) or names[s] for s in body] for body in bodies]
            for left, bodies in rules.items()
        },
        terminals,
        ignored,
        re.findall(r"^(_?[A-Z]\w*)(?:\.\d+)?:", text, flags=re.MULTILINE),
    )


def _rules(text: str) -> list[tuple[str, str]]:
    """Return the names and bodies of a grammar's rules, templates instantiated."""
    code = re.sub(r"^(//|%).*\n", "", text, flags=re.MULTILINE)
    found = re.findall(r"^(_?[a-z]\w*)(?:\{(\w+)\})?:((?:.|\n(?=[ \t]))*)", code, flags=re.MULTILINE)
    templates = {name: (parameter, body) for name, parameter, body in found if parameter}
    pending = [(name, body) for name, parameter, body in found if not parameter]
    rules, seen = [], {name for name, _ in pending}
    while pending:
        name, body = pending.pop(0)
        for template, argument in re.findall(r"(\w+)\{(\w+)\}", body):
            parameter, general = templates[template]
            if f"{template}_{argument}" not in seen:
                seen.add(f"{template}_{argument}")
                pending.append((f"{template}_{argument}", re.sub(rf"\b{parameter}\b", argument, general)))
        rules.append((name, re.sub(r"(\w+)\{(\w+)\}", r"\1_\2", body).strip()))
    return rules


def _slashed(pattern: str) -> str:
    return re.sub(r"(?<!\\)/", r"\\/", pattern)


def _for_python(pattern: str) -> str:
    r"""Return a pattern with `\U0000002D` for `\x{2D}`."""
    return re.sub(r"\\x\{([0-9A-F]+)\}", lambda point: f"\\U{int(point[1], 16):08X}", pattern)
