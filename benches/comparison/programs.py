"""Generates random programs of the C-like language of ``cases/compare/c_like.toml``."""

from __future__ import annotations

import random  # noqa: TC003

_NOUNS = (
    "buffer",
    "count",
    "index",
    "item",
    "left",
    "limit",
    "node",
    "offset",
    "result",
    "right",
    "size",
    "total",
    "value",
    "width",
    "x",
    "y",
)
_VERBS = (
    "add",
    "check",
    "clear",
    "find",
    "insert",
    "merge",
    "next",
    "print",
    "read",
    "sort",
    "update",
    "write",
)
_TYPES = ("int", "int", "int", "double", "char", "struct node")
_COMPARISONS = ("==", "!=", "<", ">", "<=", ">=")
_ASSIGNMENTS = ("=", "=", "=", "+=", "-=", "*=")


def program(random_: random.Random, size: int) -> str:
    """Return a program of about ``size`` bytes."""
    text = "/* A program made by a seeded generator;\n * it means nothing. */\n"
    while len(text) < size:
        text += _Writer(random_).item() + "\n"
    return text


class _Writer:
    """Writes one item of a program, nested at most ``depth`` levels."""

    def __init__(self, random_: random.Random) -> None:
        self._random = random_

    def item(self) -> str:
        if self._random.random() < 0.2:
            return self._declaration("")
        kind = self._random.choice((*_TYPES, "void"))
        parameters = ", ".join(
            f"{self._random.choice(_TYPES)} {self._name()}" for _ in range(self._random.randint(0, 3))
        )
        return f"{kind} {self._function()}({parameters}) {self._block('', 0)}\n"

    def _block(self, indent: str, depth: int) -> str:
        lines = [self._statement(indent + "    ", depth + 1) for _ in range(self._random.randint(1, 6))]
        return "{\n" + "".join(f"{line}\n" for line in lines) + indent + "}"

    def _statement(self, indent: str, depth: int) -> str:
        kind = self._random.random()
        if depth > 3 or kind < 0.3:
            statement = f"{self._name()} {self._random.choice(_ASSIGNMENTS)} {self._expression(0)};"
        elif kind < 0.45:
            return self._declaration(indent)
        elif kind < 0.58:
            statement = f"{self._function()}({self._arguments(0)});"
        elif kind < 0.72:
            statement = f"if ({self._condition()}) {self._block(indent, depth)}"
            if self._random.random() < 0.4:
                statement += f" else {self._block(indent, depth)}"
        elif kind < 0.8:
            statement = f"while ({self._condition()}) {self._block(indent, depth)}"
        elif kind < 0.88:
            name = self._name()
            head = f"int {name} = 0; {name} < {self._expression(2)}; {name} += 1"
            statement = f"for ({head}) {self._block(indent, depth)}"
        else:
            statement = f"return {self._expression(0)};"
        return indent + self._comment(indent) + statement

    def _comment(self, indent: str) -> str:
        if self._random.random() > 0.12:
            return ""
        words = " ".join(self._random.choice(_NOUNS) for _ in range(self._random.randint(2, 8)))
        return self._random.choice((f"// {words}\n{indent}", f"/* {words} */ "))

    def _declaration(self, indent: str) -> str:
        name = self._name()
        kind = self._random.random()
        if kind < 0.2:
            name += f"[{self._random.randint(1, 512)}]"
        elif kind < 0.8:
            name += f" = {self._expression(1)}"
        return f"{indent}{self._random.choice(_TYPES)} {name};"

    def _condition(self) -> str:
        condition = f"{self._expression(2)} {self._random.choice(_COMPARISONS)} {self._expression(2)}"
        if self._random.random() < 0.3:
            condition += f" {self._random.choice(('&&', '||'))} !{self._function()}({self._arguments(2)})"
        return condition

    def _expression(self, depth: int) -> str:
        kind = self._random.random()
        if depth > 3 or kind < 0.45:
            return self._operand()
        if kind < 0.75:
            return (
                f"{self._expression(depth + 1)} {self._random.choice('+-*/%')} {self._expression(depth + 1)}"
            )
        if kind < 0.83:
            return f"({self._expression(depth + 1)})"
        if kind < 0.9:
            return f"{self._function()}({self._arguments(depth + 1)})"
        if kind < 0.95:
            return f"{self._name()}[{self._expression(depth + 1)}]"
        return f"-{self._name()}"

    def _arguments(self, depth: int) -> str:
        return ", ".join(self._expression(depth + 1) for _ in range(self._random.randint(0, 3)))

    def _operand(self) -> str:
        kind = self._random.random()
        if kind < 0.55:
            return self._name()
        if kind < 0.8:
            return str(self._random.choice((0, 1, 2, 8, 10, 64, 100, 4096)))
        if kind < 0.87:
            return f"{self._random.uniform(0, 10):.2f}"
        if kind < 0.93:
            return f'"{self._random.choice(_NOUNS)}: %d\\n"'
        return f"'{self._random.choice('abcxyz')}'"

    def _name(self) -> str:
        name = self._random.choice(_NOUNS)
        return name if self._random.random() < 0.5 else f"{name}_{self._random.choice(_NOUNS)}"

    def _function(self) -> str:
        return f"{self._random.choice(_VERBS)}_{self._random.choice(_NOUNS)}"
