"""xgrammar's printed form of grammars in EBNF, which is EBNF again.

Each rule is a choice of sequences; repeated and nested parts are rules of their own. The reader presumes a text that
:meth:`Grammar.from_ebnf` accepts. No function recurses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["EbnfRule", "joined", "normalized", "printed", "read_rules"]


@dataclass(frozen=True)
class _Atom:
    """A part that is printed as it is.

    Attributes:
        parts: Its text, in pieces; those with odd indices are names of rules.
        is_macro: Whether it is a call that must be the whole body of a rule in the normal form.
        character: For a class of one character, the string that stands for it in the normal form.
    """

    parts: tuple[str, ...]
    is_macro: bool = False
    character: str | None = None


@dataclass(frozen=True, eq=False)
class _Sequence:
    items: tuple[_Node, ...]


@dataclass(frozen=True, eq=False)
class _Choice:
    alternatives: tuple[_Node, ...]


_Node = _Atom | _Sequence | _Choice

_EMPTY = _Atom(('""',))


@dataclass(frozen=True)
class EbnfRule:
    """A rule: its name, its options as they are printed, its body, and the condition of its look-ahead assertion."""

    name: str
    options: str
    body: _Node
    lookahead: _Node | None


def printed(rules: Iterable[EbnfRule]) -> str:
    """Returns rules as text, a line each."""
    return "".join(map(_line, rules))


def _line(rule: EbnfRule) -> str:
    lookahead = "" if rule.lookahead is None else f" (={_group(rule.lookahead)})"
    return f"{rule.name}{rule.options} ::= {_text(rule.body)}{lookahead}\n"


def _group(node: _Node) -> str:
    text = _text(node)
    return f"({text})" if isinstance(node, _Atom) else text


def _text(node: _Node) -> str:
    written: list[str] = []
    waiting: list[_Node | str] = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            written.append(part)
        elif isinstance(part, _Atom):
            written.extend(part.parts)
        else:
            between = " " if isinstance(part, _Sequence) else " | "
            waiting.append(")")
            for child in reversed(_children(part)):
                waiting += (child, between)
            waiting[-1] = "("
    return "".join(written)


def _children(node: _Node) -> tuple[_Node, ...]:
    if isinstance(node, _Atom):
        return ()
    return node.items if isinstance(node, _Sequence) else node.alternatives


def _post_order(node: _Node) -> Iterator[_Node]:
    """Returns a node and all below it, parts first, from left to right."""
    waiting, reached = [node], []
    while waiting:
        reached.append(waiting.pop())
        waiting.extend(_children(reached[-1]))
    return reversed(reached)


class _Names:
    """The names of rules that are in use."""

    def __init__(self, used: Iterable[str] = ()) -> None:
        self._used = set(used)
        self._next: dict[str, int] = {}

    def new(self, stem: str) -> str:
        """Returns a new name: the first unused one of ``stem_1``, ``stem_2``, ..."""
        number = self._next.get(stem, 1)
        while (name := f"{stem}_{number}") in self._used:
            number += 1
        self._next[stem] = number
        self._used.add(name)
        return name

    def own(self, name: str) -> str:
        """Returns a name itself if it is unused, or else a new one."""
        if name in self._used:
            return self.new(name)
        self._used.add(name)
        return name


# The normal form ------------------------------------------------------------------------------------------------------


def normalized(rules: list[EbnfRule]) -> list[EbnfRule]:
    """Returns rules without nested groups and unneeded empty strings."""
    names = _Names(rule.name for rule in rules)
    result: list[EbnfRule] = []
    added: list[EbnfRule] = []
    for rule in rules:
        body, own = _flattened(rule.body, rule.name, names)
        lookahead: _Node | None = None
        if rule.lookahead is not None:
            flat, further = _flattened(rule.lookahead, rule.name, names)
            own += further
            lookahead = flat.alternatives[0] if isinstance(flat, _Choice) else flat
            if not isinstance(lookahead, _Sequence) or _children(flat) != (lookahead,):
                own.append(EbnfRule(names.new(rule.name), "", flat, None))
                lookahead = _Sequence((_Atom(("", own[-1].name, "")),))
        result.append(replace(rule, body=body, lookahead=lookahead))
        added += own
    return result + added


def _flattened(body: _Node, stem: str, names: _Names) -> tuple[_Node, list[EbnfRule]]:
    """Returns the normal form of a body, and the rules of the expressions nested in it."""
    forms: dict[int, _Node] = {}
    top = body
    for node in _post_order(body):
        if isinstance(node, _Sequence):
            form: _Node = _sequence([forms[id(item)] for item in node.items])
        elif isinstance(node, _Choice):
            form = _choice([forms[id(alternative)] for alternative in node.alternatives])
        else:
            form = node if node.character is None else _Atom((node.character,))
        forms[id(node)] = form
        top = form
    if not isinstance(top, _Choice):
        top = _choice([top])
    macro = _only_item(top)
    if isinstance(macro, _Atom) and macro.is_macro:
        return macro, []
    rules: list[EbnfRule] = []
    bodies: dict[int, _Node] = {}
    for node in _post_order(top):
        if isinstance(node, _Sequence):
            bodies[id(node)] = _Sequence(tuple(bodies[id(item)] for item in node.items))
            continue
        if isinstance(node, _Choice):
            own: _Node = _Choice(tuple(bodies[id(alternative)] for alternative in node.alternatives))
        else:
            own = node
        if isinstance(node, _Choice) or node.is_macro:
            if node is top:
                return own, rules
            rules.append(EbnfRule(names.new(stem), "", own, None))
            own = _Atom(("", rules[-1].name, ""))
        bodies[id(node)] = own
    raise AssertionError


def _sequence(items: list[_Node]) -> _Sequence:
    parts: list[_Node] = []
    for item in items:
        if isinstance(item, _Sequence):
            parts.extend(item.items)
        elif isinstance(item, _Choice) and len(item.alternatives) == 1:
            parts.extend(_children(item.alternatives[0]))
        elif item != _EMPTY:
            parts.append(item)
    return _Sequence(tuple(parts))


def _choice(alternatives: list[_Node]) -> _Choice:
    parts: list[_Node] = []
    for alternative in alternatives:
        single = _only_item(_Choice((alternative,)))
        if isinstance(single, _Choice):
            parts.extend(single.alternatives)
        elif isinstance(alternative, _Sequence):
            parts.append(alternative if alternative.items else _EMPTY)
        else:
            parts.append(alternative if alternative == _EMPTY else _Sequence((alternative,)))
    empty = (_EMPTY,) if _EMPTY in parts else ()
    return _Choice((*empty, *(part for part in parts if part != _EMPTY)))


def _only_item(choice: _Choice) -> _Node | None:
    """Returns the item of a choice of one sequence of one item."""
    alternative = choice.alternatives[0]
    if len(choice.alternatives) > 1 or (isinstance(alternative, _Sequence) and len(alternative.items) != 1):
        return None
    return alternative.items[0] if isinstance(alternative, _Sequence) else alternative


# Several grammars -----------------------------------------------------------------------------------------------------


def joined(
    grammars: list[tuple[list[EbnfRule], str]], body_of: Callable[[list[_Node]], _Node]
) -> list[EbnfRule]:
    """Returns the rules of a union or concatenation, with new names where several grammars use one.

    Args:
        grammars: The rules of each grammar, and the name of its root.
        body_of: Makes the body of the root of references to the roots of the grammars.
    """
    names = _Names(["root"])
    roots: list[_Node] = []
    rules: list[EbnfRule] = []
    for grammar, root in grammars:
        new = {rule.name: names.own(rule.name) for rule in grammar}
        roots.append(_Atom(("", new[root], "")))
        for rule in grammar:
            lookahead = None if rule.lookahead is None else _renamed(rule.lookahead, new)
            rules.append(EbnfRule(new[rule.name], rule.options, _renamed(rule.body, new), lookahead))
    return [EbnfRule("root", "", body_of(roots), None), *rules]


def union_of(roots: list[_Node]) -> _Node:
    """Returns a choice of references."""
    return _Choice(tuple(_Sequence((root,)) for root in roots))


def sequence_of(roots: list[_Node]) -> _Node:
    """Returns a sequence of references."""
    return _Choice((_Sequence(tuple(roots)),))


def _renamed(node: _Node, names: dict[str, str]) -> _Node:
    forms: dict[int, _Node] = {}
    for part in _post_order(node):
        if isinstance(part, _Atom):
            texts = (names[text] if index % 2 else text for index, text in enumerate(part.parts))
            form: _Node = _Atom(tuple(texts), part.is_macro)
        elif isinstance(part, _Sequence):
            form = _Sequence(tuple(forms[id(item)] for item in part.items))
        else:
            form = _Choice(tuple(forms[id(item)] for item in part.alternatives))
        forms[id(part)] = form
    return forms[id(node)]


# Reading --------------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""[ \t\r\n]+ | \#[^\n\r]*
    | (?P<rule>[A-Za-z_][\w.-]*)(?P<options>\[(?:[^"\]\n]|"(?:\\.|[^"\\\n])*")*\])?\s*(?P<define>::=)
    | (?P<call>TagDispatch|TokenTagDispatch|Token|ExcludeToken|Regex|Substring)[ \t\r\n]*(?=\()
    | (?P<name>[A-Za-z_][\w.-]*)
    | "(?P<string>(?:\\.|[^"\\\n])*)"
    | \[(?P<class>\^?(?:\\.|[^\]\\\n])*)\]
    | (?P<quantifier>[*+?] | \{\s*(?P<min>\d+)\s*(?P<comma>,?)\s*(?P<max>\d+|-1)?\s*\})
    | (?P<number>\d+)
    | (?P<lookahead>\(\s*=) | (?P<mark>[()|,=])
    """,
    re.VERBOSE | re.ASCII,
)


MAX_DEPTH = 200
"""Maximum depth of groups: normalization copies the alternatives of a group into those of the group around it."""


@dataclass
class _OpenGroup:
    """A group that is being read: its finished alternatives, and the current one."""

    is_lookahead: bool = False
    alternatives: list[_Node] = field(default_factory=list)
    items: list[_Node] = field(default_factory=list)

    def close(self) -> _Node:
        if not self.items and not self.alternatives:
            return _EMPTY
        self.end_alternative()
        return _Choice(tuple(self.alternatives))

    def end_alternative(self) -> None:
        self.alternatives.append(_Sequence(tuple(self.items or [_EMPTY])))
        self.items = []


def read_rules(text: str) -> list[EbnfRule]:
    """Returns the rules of a grammar, with those of repeated parts at the end.

    Raises:
        ValueError: The text has a construct that xgrammar does not have, such as a binding, or groups at a depth of
            more than ``MAX_DEPTH``.
    """
    tokens = list(_tokens(text))
    names = _Names(token["rule"] for token in tokens if token["rule"])
    rules: list[EbnfRule] = []
    repeated: list[EbnfRule] = []
    position = 0
    while position < len(tokens):
        head = tokens[position]
        if head["rule"] is None:
            raise ValueError(head[0])
        reader = _BodyReader(tokens, position + 1, head["rule"], names, repeated)
        body = reader.read()
        rules.append(EbnfRule(head["rule"], _options(head["options"], head["rule"]), body, reader.lookahead))
        position = reader.position
    return rules + repeated


def _tokens(text: str) -> Iterator[re.Match[str]]:
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise ValueError(text[position : position + 20])
        position = token.end()
        if token.lastgroup is not None:
            yield token


class _BodyReader:
    """Reads the body of a rule up to the next rule."""

    def __init__(
        self,
        tokens: list[re.Match[str]],
        position: int,
        name: str,
        names: _Names,
        repeated: list[EbnfRule],
    ) -> None:
        self.position = position
        self.lookahead: _Node | None = None
        self._tokens = tokens
        self._name = name
        self._names = names
        self._repeated = repeated

    def read(self) -> _Node:
        groups = [_OpenGroup()]
        while self.position < len(self._tokens) and self._tokens[self.position]["rule"] is None:
            token = self._tokens[self.position]
            self.position += 1
            if token["mark"] == "(" or token["lookahead"]:
                groups.append(_OpenGroup(is_lookahead=token["lookahead"] is not None))
                if len(groups) > MAX_DEPTH:
                    msg = "groups nest too deeply"
                    raise ValueError(msg)
            elif token["mark"] == "|":
                groups[-1].end_alternative()
            elif token["mark"] == ")" and len(groups) > 1:
                group = groups.pop()
                if group.is_lookahead:
                    self.lookahead = group.close()
                else:
                    groups[-1].items.append(group.close())
            elif token["quantifier"] and groups[-1].items:
                groups[-1].items[-1] = self._repeat(groups[-1].items[-1], token)
            else:
                groups[-1].items.append(self._atom(token))
        groups[0].end_alternative()
        return _Choice(tuple(groups[0].alternatives))

    def _repeat(self, item: _Node, quantifier: re.Match[str]) -> _Node:
        if isinstance(item, _Atom) and item.parts[0].startswith("[") and quantifier[0] == "*":
            return _Atom((item.parts[0] + "*",))
        is_reference = isinstance(item, _Atom) and len(item.parts) == 3 and not item.is_macro
        if quantifier["min"] is not None:
            most = quantifier["max"] or ("-1" if quantifier["comma"] else quantifier["min"])
            bounds = f"{{{int(quantifier['min'])}, {int(most)}}}"
            name = item.parts[1] if is_reference else self._add(item)  # type: ignore[union-attr]
            return _Atom(("", name, bounds))
        name = self._names.new(self._name)
        this = _Atom(("", name, ""))
        self._add(
            {
                "*": _Choice((_EMPTY, _Sequence((item, this)))),
                "+": _Choice((_Sequence((item, this)), item)),
                "?": _Choice((_EMPTY, item)),
            }[quantifier[0]],
            name,
        )
        return this

    def _add(self, body: _Node, name: str | None = None) -> str:
        name = self._names.new(self._name) if name is None else name
        self._repeated.append(EbnfRule(name, "", body, None))
        return name

    def _atom(self, token: re.Match[str]) -> _Node:
        if token["call"] is not None:
            return self._call(token["call"])
        if token["name"] is not None:
            return _Atom(("", token["name"], ""))
        if token["string"] is not None:
            return _Atom((_string(token["string"]),))
        if token["class"] is not None:
            return _class(token["class"])
        raise ValueError(token[0])

    def _call(self, macro: str) -> _Atom:
        """Reads the arguments of a call; lists in them are flat."""
        arguments: list[str] = []
        options: dict[str, str] = {}
        depth, keyword = 0, ""
        pairs: list[str] = [""]
        while True:
            token = self._tokens[self.position]
            self.position += 1
            if token["mark"] == "(":
                depth += 1
            elif token["mark"] == ")":
                depth -= 1
                if depth == 0:
                    break
                keyword = keyword if depth > 1 else ""
            elif token["mark"] == ",":
                keyword = keyword if depth > 1 else ""
            elif token["name"] is not None and self._tokens[self.position]["mark"] == "=":
                keyword = token["name"]
                self.position += 1
                options[keyword] = ""
            else:
                value = token[0] if token["string"] is None else _string(token["string"])
                if keyword:
                    options[keyword] += ", " * bool(options[keyword]) + value
                elif token["name"] is not None:
                    pairs[-1] += f"  ({arguments.pop()}, "
                    pairs += (value, "),\n")
                else:
                    arguments.append(value)
        if macro in ("TagDispatch", "TokenTagDispatch"):
            loops = options.get("loop_after_dispatch", "true")
            end = f"  loop_after_dispatch={loops},\n  excludes=({options.get('excludes', '')})\n)"
            return _Atom((f"{macro}(\n{pairs[0]}", *pairs[1:-1], pairs[-1] + end), is_macro=True)
        if macro in ("Token", "ExcludeToken"):
            ids = sorted({int(argument) for argument in arguments})
            return _Atom((f"{macro}({', '.join(map(str, ids))})",))
        # `false` is the default of the only option with a Boolean value.
        given = [*arguments, *(f"{name}={value}" for name, value in options.items() if value != "false")]
        return _Atom((f"{macro}({', '.join(given)})",), is_macro=True)


_OPTION = re.compile(r'([\w]+)(?:\s*=\s*("(?:\\.|[^"\\])*"|[^\s,\]]+))?')
_OPTION_ORDER = ("max_tokens", "max_chars", "capture", "stop_capture", "lazy", "temperature")


def _options(text: str | None, rule: str) -> str:
    if text is None:
        return ""
    given = {match[1]: match[2] for match in _OPTION.finditer(text)}
    if "capture" in given and given["capture"] is None:
        given["capture"] = f'"{rule}"'
    if "temperature" in given:
        given["temperature"] = f"{float(given['temperature']):.9g}"
    ordered = sorted(given, key=lambda name: (*_OPTION_ORDER, name).index(name))
    return f"[{', '.join(name if given[name] is None else f'{name}={given[name]}' for name in ordered)}]"


# Characters -----------------------------------------------------------------------------------------------------------

_CHARACTER = re.compile(
    r"\\(?:x([0-9a-fA-F]+)|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))|(.)", re.DOTALL | re.ASCII
)
_ESCAPES = dict(zip("abfnrtve0", "\a\b\f\n\r\t\v\x1b\0", strict=True))
_HEXADECIMAL_DIGITS = frozenset("0123456789abcdefABCDEF")
_WRITTEN = {
    character: f"\\{letter}"
    for letter, character in [*_ESCAPES.items(), *zip("\\\"'?", "\\\"'?", strict=True)]
}


def _characters(text: str) -> list[tuple[str, bool]]:
    """Returns the characters that a text stands for, each with whether it is escaped."""
    found = []
    for match in _CHARACTER.finditer(text):
        digits = match[1] or match[2] or match[3]
        if digits:
            found.append((chr(int(digits, 16)), True))
        elif match[4]:
            found.append((_ESCAPES.get(match[4], match[4]), True))
        else:
            found.append((match[5], False))
    return found


def _written(character: str, following: str) -> str:
    code = ord(character)
    if character in _WRITTEN:
        return _WRITTEN[character]
    if 0x20 <= code < 0x7F:
        return character
    # All hexadecimal digits after `\\x` belong to it.
    if code < 0x100 and following not in _HEXADECIMAL_DIGITS:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _string(text: str) -> str:
    return _quoted("".join(character for character, _ in _characters(text)))


def _quoted(text: str) -> str:
    following = [*text[1:], ""]
    return f'"{"".join(map(_written, text, following))}"'


def _class(text: str) -> _Atom:
    is_negated = text.startswith("^")
    characters = _characters(text[is_negated:])
    ranges: list[tuple[str, str]] = []
    position = 0
    while position < len(characters):
        first = last = characters[position][0]
        position += 1
        # A dash at the end is a character.
        if characters[position : position + 1] == [("-", False)] and position + 1 < len(characters):
            last = characters[position + 1][0]
            position += 2
        ranges.append((first, last))
    written = "".join(
        _member(first) if first == last else f"{_member(first)}-{_member(last)}" for first, last in ranges
    )
    if not is_negated and written.startswith("^"):
        written = f"\\{written}"
    is_single = not is_negated and len(ranges) == 1 and ranges[0][0] == ranges[0][1]
    character = _quoted(ranges[0][0]) if is_single else None
    return _Atom((f"[{'^' * is_negated}{written}]",), character=character)


def _member(character: str) -> str:
    return f"\\{character}" if character in "-]" else _written(character, "")
