"""Translates the bundled grammars into the dialects of the peers.

The rules are those that the lark library derives: templates and operators are expanded. Terminals are regular
expressions. A text that both a name and a keyword match is the keyword in a lexer with one lexeme at a time; the peers
accept both, so keywords, refused ones (Java's `goto`) included, are subtracted from names. The exception is JavaScript:
its lexer is contextual, and a keyword is a name where the parser can take no keyword, so the peers accept more.

The remaining differences are texts that only the peers allow. They recognise the lexemes that the parser can take
(`ifx` is `if` and `x` where no name is possible), and have neither priorities of terminals nor refused terminals
(SQL's `1a`, an unclosed `/*` in C). llguidance takes the longest lexeme and no shorter one; glrmask takes the longest
match of each terminal. Conflicts that the LALR tables resolve by shifting remain ambiguous.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Literal, NamedTuple

from automaton_regex import regex_of_automaton
from grammask.lark_grammars import RefusedTerminals, bundled, lark_definition

CASES = Path(__file__).parent / "cases" / "lexed"

FOLLOWED_BY_NOTHING = {"json"}
"""Grammars with complete texts that cannot be continued."""

ON_THE_SAME_LINE = {"javascript": ["IN", "INSTANCEOF", "OF", "AS", "FROM", "INCREMENT"]}
"""Grammars with significant line breaks, with the terminals that continue an operand only on its line."""

PARTS = {"python-lines": ("python", RefusedTerminals(("UNCLOSED",)))}
"""Parts of grammars that the peers cannot express as a whole: the grammar and its refused terminals."""


class Source(NamedTuple):
    """A grammar without indentation: text, lexer and refused terminals."""

    text: str
    lexer: Literal["basic", "contextual"]
    refused: RefusedTerminals | None


INSTEAD_OF_LEXICAL_RULES = {
    "javascript": r"""template{inside, waits}: TEMPLATE
_IN_BRACES_3: /([^{}`]|`[^`]*`)*/
_IN_BRACES_2: _IN_BRACES_3 ("{" _IN_BRACES_3 "}" _IN_BRACES_3)*
_IN_BRACES: _IN_BRACES_2 ("{" _IN_BRACES_2 "}" _IN_BRACES_2)*
TEMPLATE: "`" (/[^`\\$]/ | /\\(.|\n)/ | /\$(?!\{)/ | "${" _IN_BRACES "}")* "`"
regex: REGEX
REGEX: /\/([^*\/\\\[\n]|\\[^\n]|\[([^\]\\\n]|\\[^\n])*\])([^\/\\\[\n]|\\[^\n]|\[([^\]\\\n]|\\[^\n])*\])*\/[dgimsuvy]*/
""",
    "python": r"""formatted: FORMATTED | LONG_FORMATTED
LONG_FORMATTED.3: /(f|fr|rf)("{3}([^"\\]|\\.|"{1,2}([^"\\]|\\.))*"{3}|'{3}([^'\\]|\\.|'{1,2}([^'\\]|\\.))*'{3})/is
FORMATTED.1: /(f|fr|rf)("([^"\\\n]|\\(\r\n|.))*"|'([^'\\\n]|\\(\r\n|.))*')/is
""",
}
"""Terminals for what lexical rules read, in which the peers, which have none, see no expressions."""


def text_for_peers(name: str) -> str:
    """Return the text of a bundled grammar without lexical rules."""
    return _replaced(bundled(name).path.read_text("utf-8"), INSTEAD_OF_LEXICAL_RULES.get(name, ""))


def source(name: str) -> Source:
    """Return a bundled grammar, or a part of one."""
    whole, refused = PARTS.get(name, (name, None))
    grammar = bundled(whole)
    text = text_for_peers(whole)
    if name in PARTS:
        return Source(_replaced(text, (CASES / f"{name}.lark").read_text("utf-8")), grammar.lexer, refused)
    if not isinstance(grammar.postlex, RefusedTerminals | None):
        raise ValueError(f"the peers have no indentation, so they cannot be given the grammar {name!r}")
    return Source(text, grammar.lexer, grammar.postlex)


def _absent_terminals(name: str) -> tuple[str, ...]:
    whole, _ = PARTS.get(name, (name, None))
    return bundled(whole).absent_terminals


class Terminal(NamedTuple):
    """A regular expression or a string, without the strings that other terminals take."""

    name: str
    source: str
    """The name in the bundled grammar."""
    pattern: str
    """In slashes or quotes, which all dialects share."""
    without: list[str]
    """Patterns of the excluded texts."""


class PlainGrammar(NamedTuple):
    """A bundled grammar with names that are valid in all dialects."""

    rules: dict[str, list[list[str]]]
    terminals: list[Terminal]
    ignored: list[str]
    named: list[str]
    """Terminals with a name in the bundled grammar."""


def llguidance_lark(name: str) -> str:
    """Return a bundled grammar in llguidance's dialect of lark.

    The rules are those of the original text with expanded templates: llguidance is several times slower on those of
    `plain`. White space is allowed at the start, by an option, and at the end, by a rule, without which the parser
    stops where nothing else can follow.
    """
    grammar = plain(name)
    rules = _rules(source(name).text)
    lines = [f"{'text' if rule == 'start' else rule}: {body}" for rule, body in rules]
    lines += [f"{absent}: {_ABSENT_TEXT}" for absent in _absent_terminals(name)]
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
    """Make ignored text a part of the terminal after it, because llguidance always skips ignored text."""
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
    """Return a bundled grammar in GLRM, the language of glrmask, with other rules where it rejects the original."""
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
        starts=["start"],
        lexer=grammar.lexer,
        newline=None,
        always_accepted=list(getattr(grammar.refused, "always_accept", ())),
        absent_terminals=_absent_terminals(name),
    )
    spelled = {one[0]: f"T{index}" for index, one in enumerate(definition.terminals)}
    rules: dict[str, list[list[str]]] = defaultdict(list)
    for left, right, _ in definition.productions:
        rules[left].append(right)
    names = {left: "text" if left == "start" else f"r{index}" for index, left in enumerate(rules)}
    sources = [
        (terminal, kind, regex_of_automaton(text) if isinstance(text, bytes) else text, spellings, role)
        for terminal, kind, text, spellings, _, role in definition.terminals
    ]
    strings = {one[2]: _pattern(*one[1:4]) for one in sources if one[1] == "literal"}
    terminals, ignored = [], []
    for terminal, kind, string, spellings, role in sources:
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
    for name in re.findall(r"^(\w+)(?:\{.*\})?:", rules, flags=re.MULTILINE):
        text = re.sub(rf"^{name}(\{{.*\}})?:(.|\n(?=[ \t]))*\n", "", text, flags=re.MULTILINE)
    return text + rules


_USE = r"(\w+)\{([\w, ]+)\}"
"""The use of a template without other uses among its arguments: its name and its arguments."""

_ABSENT_TEXT = r"/\x00{8}/"
"""A text that no program has, for the terminals that no text has."""


def _instance(template: str, arguments: str) -> str:
    """Return the name of the rule that a template with arguments becomes; arguments may be terminals."""
    return f"{template}_{arguments.replace(', ', '_')}".lower()


def _rules(text: str) -> list[tuple[str, str]]:
    """Return names and bodies of the rules that are reachable from the start, with expanded templates."""
    code = re.sub(r"^(//|%).*\n", "", text, flags=re.MULTILINE)
    head = r"^(_?[a-z]\w*)(?:\{([\w, ]+)\})?(?:\.\d+)?:"
    found = re.findall(rf"{head}((?:.|\n(?=[ \t]))*)", code, flags=re.MULTILINE)
    templates = {name: (parameters.split(", "), body) for name, parameters, body in found if parameters}
    bodies = {name: body for name, parameters, body in found if not parameters}
    rules, pending = {}, ["start"]
    while pending:
        name = pending.pop()
        if name in rules or name not in bodies:
            continue
        body = bodies[name]
        while (use := re.search(_USE, body)) is not None:
            template, arguments = use.groups()
            parameters, general = templates[template]
            values = dict(zip(parameters, arguments.split(", "), strict=True))
            words = re.split(r"(\w+)", general)
            bodies[_instance(template, arguments)] = "".join(values.get(word, word) for word in words)
            body = body[: use.start()] + _instance(template, arguments) + body[use.end() :]
        rules[name] = body.strip() or '""'
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
