"""The statements of a grammar text: rules and terminals as trees, directives as values.

Open brackets are on an explicit stack. After an error, reading continues at the next line that begins a statement.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from grammask.llguidance_grammars.imported_terminals import COMMON_TERMINALS
from grammask.llguidance_grammars.parameters import Condition, ParameterReader
from grammask.llguidance_grammars.scanning import SyntaxToken, scan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammask.llguidance_grammars.diagnostics import TextErrors

__all__ = ["Definition", "Node", "Statements", "bottom_up", "read", "read_tokens"]

Span = tuple[int, int]

_OPTIONS = ("allow_initial_skip", "allow_invalid_utf8", "no_forcing", "skip_repetition")
"""The options of ``%llguidance``."""


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a definition.

    ``kind`` is ``choice``, ``sequence``, ``and``, ``not``, ``repeat`` (``value``: bounds), ``if`` (``value``: the
    condition), ``rule`` (``value``: the name, and the parameter or None), ``terminal``, ``string``, ``range``,
    ``regex``, ``special``, ``binding`` (``value``: the word, the name and the operand or None), ``json``, ``lark``
    (``value``: the tokens of its statements) or ``grammar`` (``value``: a name).
    """

    kind: str
    span: Span
    value: Any = None
    parts: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Definition:
    """A rule or terminal with its attributes."""

    name: str
    span: Span
    body: Node
    attributes: dict[str, tuple[Any, Span]] = field(default_factory=dict)
    is_parametric: bool = False


@dataclass
class Statements:
    """All statements of a text."""

    rules: dict[str, Definition] = field(default_factory=dict)
    terminals: dict[str, Definition] = field(default_factory=dict)
    ignored: list[Node] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)
    """The names of all definitions, including those with errors."""


class _StatementError(Exception):
    """A statement has an error, which is collected already."""


def bottom_up(root: Node, parameter: int | None = None) -> Iterator[Node]:
    """Yields the nodes of a tree, parts first, without the parts of conditions that do not hold for a parameter."""
    stack = [(root, False)]
    while stack:
        node, is_ready = stack.pop()
        is_cut = node.kind == "if" and parameter is not None and not node.value.holds(parameter)
        if is_ready or is_cut or not node.parts:
            yield node
        else:
            stack.append((node, True))
            stack.extend((part, False) for part in reversed(node.parts))


def read(text: str, errors: TextErrors) -> Statements:
    """Returns the statements of a text without those that have errors."""
    return read_tokens(scan(text, errors), errors)


def read_tokens(tokens: list[SyntaxToken], errors: TextErrors) -> Statements:
    """Returns the statements of tokens that end with an ``end`` token."""
    return _StatementReader(tokens, errors).statements()


@dataclass
class _OpenBracket:
    """The right-hand side of a definition, or a bracket in it, up to the current token."""

    opening: SyntaxToken
    alternatives: list[Node] = field(default_factory=list)
    conjuncts: list[Node] = field(default_factory=list)
    sequence: list[Node] = field(default_factory=list)
    negations: int = 0
    can_repeat: bool = False
    condition: Condition | None = None
    binding: tuple[SyntaxToken, SyntaxToken] | None = None
    """The word and the name of the binding whose operand the bracket contains."""

    def push(self, node: Node) -> None:
        for _ in range(self.negations):
            node = Node("not", node.span, None, (node,))
        self.negations = 0
        self.sequence.append(node)
        self.can_repeat = True

    def end_sequence(self, span: Span) -> None:
        parts = tuple(self.sequence)
        self.conjuncts.append(parts[0] if len(parts) == 1 else Node("sequence", span, None, parts))
        self.sequence, self.can_repeat = [], False

    def end_alternative(self, span: Span) -> None:
        self.end_sequence(span)
        parts = tuple(self.conjuncts)
        alternative = parts[0] if len(parts) == 1 else Node("and", span, None, parts)
        if self.condition is not None:
            alternative = Node("if", span, self.condition, (alternative,))
        self.alternatives.append(alternative)
        self.conjuncts, self.condition = [], None

    def close(self, span: Span) -> Node:
        self.end_alternative(span)
        parts = tuple(self.alternatives)
        return parts[0] if len(parts) == 1 else Node("choice", span, None, parts)


class _StatementReader:
    def __init__(self, tokens: list[SyntaxToken], errors: TextErrors) -> None:
        self.tokens = tokens
        self.position = 0
        self.errors = errors
        self.result = Statements()
        self.parameters = ParameterReader(lambda: self.token, self.take, self.error)

    @property
    def token(self) -> SyntaxToken:
        return self.tokens[self.position]

    def take(self) -> SyntaxToken:
        token = self.token
        if token.kind != "end":
            self.position += 1
        return token

    def is_symbol(self, text: str) -> bool:
        return self.token.kind == "symbol" and self.token.text == text

    def expect(self, text: str) -> SyntaxToken:
        if not self.is_symbol(text):
            raise self.error(f"`{text}` is expected")
        return self.take()

    def error(self, message: str, help: str | None = None, code: str = "unexpected-input") -> _StatementError:
        self.errors.add(code, self.token.span, message, help)
        return _StatementError()

    def unsupported(self, message: str, help: str | None = None) -> _StatementError:
        return self.error(message, help, "unsupported-grammar")

    def statements(self) -> Statements:
        while self.token.kind != "end":
            if self.token.kind == "newline":
                self.take()
                continue
            try:
                self.statement()
                if self.token.kind not in ("newline", "end"):
                    raise self.error(
                        "a statement ends with its line", "a rule continues on a line that begins with `|`"
                    )
            except _StatementError:
                self.skip()
        return self.result

    def skip(self) -> None:
        """Skips to the next line that begins with a name and a colon, or with a directive."""
        while self.token.kind != "end":
            was_newline = self.take().kind == "newline"
            following = self.tokens[min(self.position + 1, len(self.tokens) - 1)]
            begins = self.token.kind in ("rule", "terminal") and following.text in (":", "[", ".", "::")
            if was_newline and (begins or self.token.kind == "directive"):
                return

    def statement(self) -> None:
        token = self.take()
        if token.kind in ("rule", "terminal"):
            self.definition(token)
        elif token.text == "%ignore":
            self.result.ignored.append(self.expansions(token))
        elif token.text == "%import":
            self.imports()
        elif token.text in ("%llguidance", "%grammar_options"):
            self.options(token)
        else:
            self.position -= 1
            if token.kind == "directive":
                raise self.unsupported(f"the directive {token.text} is not supported here")
            raise self.error("a statement begins with a name or a directive")

    def definition(self, token: SyntaxToken) -> None:
        name = token.text.lstrip("?!")
        self.result.begun.add(name)
        if self.is_symbol("."):
            raise self.unsupported("priorities are not supported", "all readings of a text are legal here")
        if self.is_symbol("{"):
            raise self.unsupported("Lark templates are not supported")
        is_parametric = self.is_symbol("::") and token.kind == "rule"
        if is_parametric:
            self.take()
            self.expect("_")
        attributes = self.attributes() if self.is_symbol("[") else {}
        if not self.is_symbol(":"):
            raise self.error("expected `:` after rule name")
        self.take()
        body = self.expansions(token)
        definitions = self.result.rules if token.kind == "rule" else self.result.terminals
        if name in definitions:
            self.errors.add("duplicate-rule", token.span, f"`{name}` is defined twice")
        if token.kind == "terminal" and attributes:
            self.errors.add("unexpected-input", token.span, "attributes are only supported on rules")
        definitions[name] = Definition(name, token.span, body, attributes, is_parametric)

    def attributes(self) -> dict[str, tuple[Any, Span]]:
        """Reads ``[name, name=value]``; values are strings, numbers, or terminals as nodes."""
        attributes: dict[str, tuple[Any, Span]] = {}
        self.expect("[")
        while not self.is_symbol("]"):
            name = self.take()
            value: Any = True
            if name.kind != "rule":
                self.position -= 1
                raise self.error("the name of an attribute is expected")
            if self.is_symbol("="):
                self.take()
                value = self.attribute_value(name.text)
            is_empty_stop = name.text == "stop" and isinstance(value, Node) and value.value == ("", False)
            if name.text in attributes:
                message = f"{name.text} attribute is specified more than once"
                self.errors.add("unexpected-input", name.span, message)
            # An empty `stop` is the end token, which ends every text.
            if not is_empty_stop:
                attributes[name.text] = (value, name.span)
            if not self.is_symbol("]"):
                self.expect(",")
        self.take()
        return attributes

    def attribute_value(self, attribute: str) -> Any:
        token = self.token
        if token.kind == "number":
            return self.attribute_number()
        if token.kind in ("string", "regex", "terminal"):
            return self.atom(self.take())
        if attribute in ("suffix", "stop") and token.kind == "rule":
            raise self.error(f"{attribute} terminal name must be uppercase")
        numbers = ("temperature", "max_tokens", "max_chars")
        kind = "number" if attribute in numbers else "number, string, expression or terminal"
        raise self.error(f"expected {kind} after {attribute}=")

    def attribute_number(self) -> int | float:
        """Reads a number such as ``3``, ``-0.5`` or ``1e-2``, up to the next comma or bracket."""
        first = self.token
        text = ""
        while not (self.is_symbol(",") or self.is_symbol("]") or self.token.kind in ("newline", "end")):
            text += self.take().text
        try:
            return int(text) if text.isdecimal() else float(text)
        except ValueError:
            self.errors.add("unexpected-input", first.span, f"`{text}` is no number")
            raise _StatementError from None

    def imports(self) -> None:
        module = self.take()
        if module.text != "common":
            self.position -= 1
            raise self.unsupported("only `common` can be imported")
        if self.is_symbol("."):
            self.take()
            name = self.take()
            alias = name
            if self.is_symbol("->"):
                self.take()
                alias = self.take()
            self.import_terminal(name, alias)
            return
        self.expect("(")
        while not self.is_symbol(")"):
            name = self.take()
            self.import_terminal(name, name)
            if not self.is_symbol(")"):
                self.expect(",")
        self.take()

    def import_terminal(self, name: SyntaxToken, alias: SyntaxToken) -> None:
        pattern = COMMON_TERMINALS.get(name.text)
        if pattern is None or alias.kind != "terminal":
            message = f"unknown common import `{name.text}`"
            self.errors.add("undefined-symbol", name.span, message, f"it has {', '.join(COMMON_TERMINALS)}")
            return
        body = Node("regex", name.span, (pattern, ""))
        self.result.terminals.setdefault(alias.text, Definition(alias.text, alias.span, body))

    def options(self, directive: SyntaxToken) -> None:
        token = self.take()
        if not isinstance(token.value, dict):
            self.position -= 1
            raise self.error(f"{directive.text} value must be an object")
        for name, value in token.value.items():
            if name not in _OPTIONS:
                message = f"unknown {directive.text} option `{name}`"
                self.errors.add("unsupported-grammar", token.span, message, f"options: {', '.join(_OPTIONS)}")
            elif name != "skip_repetition" and not isinstance(value, bool):
                self.errors.add("unexpected-input", token.span, f"{name} must be a boolean")
            elif name == "allow_initial_skip" or (name, value) == ("skip_repetition", "once"):
                self.result.options[name] = value
            elif name != "no_forcing" and value is not False:
                message = f"{directive.text} option `{name}` is not supported with this value"
                self.errors.add("unsupported-grammar", token.span, message)

    def expansions(self, opening: SyntaxToken) -> Node:
        stack = [_OpenBracket(opening)]
        while True:
            frame = stack[-1]
            token = self.token
            span = (frame.opening.span[1], token.span[0])
            if token.kind in ("newline", "end"):
                if (
                    len(stack) > 1
                    and token.kind == "newline"
                    and self.tokens[self.position + 1].kind != "end"
                ):
                    self.take()
                    continue
                if len(stack) > 1:
                    raise self.unclosed(frame)
                self.check_negations(frame)
                return frame.close(span)
            if token.kind == "symbol" and token.text in ("(", "["):
                stack.append(_OpenBracket(self.take()))
            elif token.kind == "binding":
                self.binding(stack)
            elif token.kind == "symbol" and token.text in (")", "]") and len(stack) > 1:
                self.close_bracket(stack, span)
            elif self.is_symbol("|"):
                self.check_negations(frame)
                frame.end_alternative(span)
                self.take()
            elif self.is_symbol("&"):
                self.check_negations(frame)
                frame.end_sequence(span)
                self.take()
            elif token.text == "%if" and frame.condition is None:
                self.take()
                self.check_negations(frame)
                frame.condition = self.parameters.condition()
                frame.can_repeat = False
            elif frame.condition is not None:
                raise self.error("a condition ends an alternative")
            elif self.is_symbol("->"):
                self.take()
                if self.take().kind not in ("rule", "terminal"):
                    self.position -= 1
                    raise self.error("expected alias name after `->`")
            elif frame.can_repeat and token.kind == "symbol" and (bounds := self.bounds()) is not None:
                part = frame.sequence.pop()
                frame.sequence.append(Node("repeat", part.span, bounds, (part,)))
                frame.can_repeat = False
            elif self.is_symbol("~"):
                self.take()
                frame.negations += 1
                frame.can_repeat = False
            else:
                frame.push(self.atom(self.take()))

    def binding(self, stack: list[_OpenBracket]) -> None:
        """Reads ``same!(name)``, or another binding up to its operand, for which it opens a bracket."""
        word = self.take()
        opening = self.take()
        if self.token.kind not in ("rule", "terminal"):
            raise self.error("the name of a bound text is expected")
        name = self.take()
        if word.text == "same!":
            end = self.expect(")").span[1]
            stack[-1].push(Node("binding", (word.span[0], end), ("same", name.text, None)))
            return
        self.expect(",")
        stack.append(_OpenBracket(opening, binding=(word, name)))

    def unclosed(self, frame: _OpenBracket) -> _StatementError:
        expected = "`)` after group" if frame.opening.text == "(" else "`]` after optional group"
        self.errors.add("unclosed-bracket", frame.opening.span, f"expected {expected}")
        return _StatementError()

    def check_negations(self, frame: _OpenBracket) -> None:
        if frame.negations:
            raise self.error("`~` stands before the expression that it negates")

    def close_bracket(self, stack: list[_OpenBracket], span: Span) -> None:
        frame = stack.pop()
        self.check_negations(frame)
        if self.token.text != {"(": ")", "[": "]"}[frame.opening.text]:
            raise self.unclosed(frame)
        self.take()
        node = frame.close(span)
        if frame.binding is not None:
            word, name = frame.binding
            place = (word.span[0], self.tokens[self.position - 1].span[1])
            stack[-1].push(Node("binding", place, (word.text[:-1], name.text, node)))
        elif frame.opening.text == "[":
            stack[-1].push(Node("repeat", node.span, (0, 1), (node,)))
            stack[-1].can_repeat = False
        else:
            stack[-1].push(node)

    def bounds(self) -> tuple[int, int | None] | None:
        """Reads the bounds of a repetition, if the current token begins one."""
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        text = self.token.text
        if text in simple:
            self.take()
            return simple[text]
        if text == "~" and self.tokens[self.position + 1].kind == "number":
            self.take()
            minimum = maximum = self.number()
            if self.is_symbol(".."):
                self.take()
                maximum = self.number()
            return self.checked(minimum, maximum)
        if text != "{":
            return None
        self.take()
        first = self.number() if self.token.kind == "number" else None
        last = first
        if self.is_symbol(","):
            self.take()
            last = self.number() if self.token.kind == "number" else None
            if first is None and last is None:
                raise self.error("a repetition has a bound")
        elif first is None and self.token.kind in ("rule", "terminal"):
            raise self.unsupported("Lark templates are not supported", "a repetition is written `{2,5}`")
        elif first is None:
            raise self.error("a repetition has a bound")
        self.expect("}")
        return self.checked(first or 0, last)

    def number(self) -> int:
        if self.token.kind != "number" or len(self.token.text) > 10 or not self.token.text.isdigit():
            raise self.error(
                "invalid repetition count", "it is a number below 4294967296", code="invalid-repetition"
            )
        return int(self.take().text)

    def checked(self, minimum: int, maximum: int | None) -> tuple[int, int | None]:
        if (maximum is not None and maximum < minimum) or max(minimum, maximum or 0) >= 1 << 32:
            raise self.error(
                "repetition end must be greater than or equal to its start, and below 4294967296",
                code="invalid-repetition",
            )
        return minimum, maximum

    def atom(self, token: SyntaxToken) -> Node:
        span = token.span
        if token.kind == "rule":
            parameter = None
            if self.is_symbol("::"):
                self.take()
                parameter = self.parameters.expression()
            return Node("rule", span, (token.text, parameter))
        if token.kind in ("terminal", "special"):
            return Node(token.kind, span, token.text)
        if token.kind == "grammar":
            return Node("grammar", span, token.text[1:])
        if token.text == "%lark":
            return Node("lark", span, self.nested())
        if token.kind == "string":
            node = Node("string", span, (self.string(token), token.text.endswith("i")))
            if not self.is_symbol(".."):
                return node
            self.take()
            last = self.take()
            ends = (node.value[0], self.string(last) if last.kind == "string" else "")
            defect = None
            if node.value[1] or (last.kind == "string" and last.text.endswith("i")):
                defect = "flags are not allowed on character ranges"
            elif any(len(end) != 1 for end in ends):
                defect = "range endpoints must be one character"
            elif ends[0] > ends[1]:
                defect = "range start must not exceed end"
            if defect is not None:
                self.errors.add("unexpected-input", span, defect)
                raise _StatementError
            return Node("range", (span[0], last.span[1]), ends)
        if token.kind == "regex":
            pattern, _, flags = token.text[1:].rpartition("/")
            if "l" in flags:
                message = "regular-expression flag `l` is not supported"
                self.errors.add("unsupported-grammar", span, message)
            return Node("regex", span, (pattern, flags.replace("l", "")))
        if token.kind == "directive" and token.text in ("%json", "%regex"):
            value = self.take()
            return Node(token.text[1:], (span[0], value.span[1]), value.value)
        self.position -= 1
        if token.kind == "directive":
            raise self.unsupported(f"the directive {token.text} is not supported here")
        if token.text == "@":
            raise self.error("empty grammar reference", "it is written `@name`")
        raise self.error("expected a name, a string, an expression or a bracket")

    def nested(self) -> list[SyntaxToken]:
        """Returns the tokens between braces, with an ``end`` token."""
        opening = self.expect("{")
        start, depth = self.position, 1
        while depth:
            token = self.take()
            if token.kind == "end":
                self.errors.add("unclosed-bracket", opening.span, "the brace has no partner")
                raise _StatementError
            if token.kind == "symbol":
                depth += (token.text == "{") - (token.text == "}")
        end = self.tokens[self.position - 1].span
        return [
            *self.tokens[start : self.position - 1],
            SyntaxToken("newline", "\n", end),
            SyntaxToken("end", "", end),
        ]

    def string(self, token: SyntaxToken) -> str:
        r"""Decodes the escapes of JSON, and ``\xHH``."""
        text = token.text.removesuffix("i")
        try:
            # Without the pairs of backslashes, each remaining `\\x` begins an escape.
            pieces = text[1:-1].split("\\\\")
            value = json.loads(
                '"' + "\\\\".join(piece.replace("\\x", "\\u00") for piece in pieces) + '"', strict=False
            )
            value.encode()
        except ValueError:
            message = "invalid string literal: it has an escape that JSON does not have"
            self.errors.add("invalid-escape", token.span, message)
            raise _StatementError from None
        decoded: str = value
        return decoded
