"""The grammars of xgrammar: its EBNF, JSON schemas, expressions, llguidance's Lark and structural tags."""

from __future__ import annotations

import contextlib
import json
import re
from typing import TYPE_CHECKING, Any

from grammask import _grammask
from grammask.compat.rule_captures import CapturesUnavailable, captured_rules
from grammask.compat.xgrammar.builtin_structural_tag import tool_calls_grammar
from grammask.compat.xgrammar.closed_schemas import closed
from grammask.compat.xgrammar.config import SERIALIZATION_VERSION, check_depth
from grammask.compat.xgrammar.exception import (
    DeserializeFormatError,
    DeserializeVersionError,
    InvalidJSONError,
    InvalidStructuralTagError,
    grammar_errors,
)
from grammask.compat.xgrammar.structural_tag import StructuralTag
from grammask.errors import GrammarError
from grammask.grammar import Grammar as CoreGrammar
from grammask.llguidance_grammars import LlguidanceLarkSource
from grammask.llguidance_grammars import captured_rules as lark_captured_rules
from grammask.structural_tags import structural_tag_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grammask.compat.xgrammar.tokenizer_info import TokenizerInfo
    from grammask.composition import Part
    from grammask.llguidance_grammars import CapturedRule
    from grammask.vocabulary import Vocabulary

__all__ = ["Grammar"]

UNLIMITED_WHITESPACE = 2**31 - 1
"""The default of xgrammar, which does not bound white space."""


class Grammar:
    """A grammar. Made by one of the static methods."""

    def __init__(self, grammar: CoreGrammar, recipe: tuple[Any, ...]) -> None:
        self._grammar = grammar
        self._recipe = recipe

    @property
    def grammar(self) -> CoreGrammar:
        """The grammar of grammask that implements it; an addition to xgrammar's interface."""
        return self._grammar

    @property
    def recipe(self) -> tuple[Any, ...]:
        """The arguments that it was made from: a kind, and values that JSON can represent."""
        return self._recipe

    @staticmethod
    def from_ebnf(ebnf_string: str, *, root_rule_name: str = "root") -> Grammar:
        """Reads a grammar in xgrammar's EBNF, which is close to GBNF.

        Raises:
            RuntimeError: The text is invalid, or cannot be enforced exactly.
        """
        with grammar_errors():
            grammar = CoreGrammar.from_xgrammar_ebnf(ebnf_string, root=root_rule_name)
        return Grammar(grammar, ("ebnf", ebnf_string, root_rule_name))

    @staticmethod
    def from_json_schema(
        schema: Any,
        *,
        any_whitespace: bool = True,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        strict_mode: bool = True,
        max_whitespace_cnt: int | None = None,
        print_converted_ebnf: bool = False,
        any_order: bool = False,
    ) -> Grammar:
        """Reads a JSON schema.

        Args:
            schema: The schema, its JSON text, or a model of Pydantic.
            any_whitespace: Whether white space is permitted wherever JSON permits it. ``indent`` and ``separators``
                are ignored then.
            indent: As for ``json.dumps``.
            separators: As for ``json.dumps``.
            strict_mode: Whether properties and items that the schema does not declare are forbidden.
            max_whitespace_cnt: The maximum number of consecutive characters of white space; None for no maximum, as in
                xgrammar.
            print_converted_ebnf: Whether to print the grammar.
            any_order: Whether properties may come in any order. Unlike in xgrammar, required properties are required.

        Raises:
            RuntimeError: The schema is invalid, or cannot be enforced exactly.
        """
        if isinstance(schema, type):
            schema = schema.model_json_schema()  # type: ignore[attr-defined]
        text = schema if isinstance(schema, str) else json.dumps(schema)
        check_depth(text)
        options = {
            "any_whitespace": any_whitespace,
            "indent": indent,
            "separators": separators,
            "strict_mode": strict_mode,
            "max_whitespace_cnt": max_whitespace_cnt,
            "any_order": any_order,
        }
        loaded: Any = text
        if strict_mode:
            # The reader of schemas reports errors.
            with contextlib.suppress(ValueError, RecursionError):
                loaded = closed(json.loads(text))
        layout: dict[str, Any] = {"whitespace": "flexible", "numbers": "any", "unique_names": False}
        if any_whitespace:
            layout["max_whitespace"] = (
                UNLIMITED_WHITESPACE if max_whitespace_cnt is None else max_whitespace_cnt
            )
        elif indent is None:
            layout["separators"] = separators or (", ", ": ")
        elif separators in (None, (",", ": ")):
            layout["indent"] = indent
        else:
            msg = f"with an indent the separators are ',' and ': ', not {separators}"
            raise RuntimeError(msg)
        with grammar_errors():
            grammar = CoreGrammar.from_json_schema(
                loaded, key_order="any" if any_order else "declared", **layout
            )
        result = Grammar(grammar, ("json_schema", text, options))
        if print_converted_ebnf:
            print(result)
        return result

    @staticmethod
    def from_regex(regex_string: str, *, print_converted_ebnf: bool = False) -> Grammar:
        """Reads a regular expression in ECMAScript's syntax; texts match it as a whole.

        Raises:
            RuntimeError: The expression is invalid, or not regular.
        """
        if "\0" in regex_string:
            msg = "The regex must not contain null characters; write \\0"
            raise RuntimeError(msg)
        if _has_consecutive_quantifiers(regex_string):
            msg = f"Two consecutive repetition modifiers are not allowed. The expression is {regex_string!r}"
            raise RuntimeError(msg)
        with grammar_errors():
            grammar = CoreGrammar.from_regex(_grammask.xgrammar_expression(regex_string), syntax="rust")
        result = Grammar(grammar, ("regex", regex_string))
        if print_converted_ebnf:
            print(result)
        return result

    @staticmethod
    def from_lark(
        lark_string: str,
        *,
        tokenizer_info: TokenizerInfo | None = None,
        named_grammars: dict[str, Grammar | str] | None = None,
    ) -> Grammar:
        """Reads a grammar in llguidance's dialect of Lark.

        Args:
            lark_string: The text.
            tokenizer_info: The vocabulary in which names of tokens are looked up; if it is None, they are looked up
                when the grammar is compiled.
            named_grammars: The grammars of ``@name``: grammars, or texts in Lark.

        Raises:
            RuntimeError: The text is invalid, or cannot be enforced exactly.
            TypeError: A named grammar is neither.
        """
        parts: list[tuple[str, str | Part]] = []
        recipes: dict[str, Any] = {}
        given: Any = {} if named_grammars is None else named_grammars
        if not isinstance(given, dict):
            msg = "named_grammars must be a dictionary"
            raise TypeError(msg)
        for name, value in given.items():
            if not isinstance(name, str):
                msg = "named grammar names must be strings"
                raise TypeError(msg)
            if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
                msg = f"Invalid named grammar name: {name!r}"
                raise RuntimeError(msg)
            if isinstance(value, str):
                recipes[name] = value
                parts.append((name, value))
            elif isinstance(value, Grammar):
                recipes[name] = value.recipe
                parts.append((name, value.grammar.as_part()))
            else:
                msg = "named grammar values must be Grammar instances or Lark strings"
                raise TypeError(msg)
        with grammar_errors():
            source = LlguidanceLarkSource(lark_string, tuple(parts), keeps_stops=True)
            grammar = CoreGrammar.of_source(source)
            if tokenizer_info is not None:
                grammar.compile(tokenizer_info.vocabulary)
        return Grammar(grammar, ("lark", lark_string, recipes))

    @staticmethod
    def from_structural_tag(*args: Any, **kwargs: Any) -> Grammar:
        """Reads a structural tag, or, given ``(tags, triggers)``, one of the older form.

        A tag is an object, its JSON text, or an object with the method ``model_dump_json``.

        Raises:
            InvalidJSONError: The text is not JSON.
            InvalidStructuralTagError: The tag is invalid, or cannot be enforced exactly.
            TypeError: The arguments have another form.
        """
        tag = _structural_tag(args, kwargs)
        with grammar_errors(InvalidStructuralTagError):
            grammar = _grammar_of_calls(tag, None)
            if grammar is None:
                options = {"whitespace": "flexible", "numbers": "any", "unique_names": False}
                part = structural_tag_part(tag, schema_options=options)
                grammar = CoreGrammar.of_source(part)
        return Grammar(grammar, ("structural_tag", json.dumps(tag)))

    @staticmethod
    def builtin_json_grammar() -> Grammar:
        """Returns the grammar of all JSON objects and arrays."""
        with grammar_errors():
            grammar = CoreGrammar.from_json_schema(
                {"type": ["object", "array"]},
                max_whitespace=UNLIMITED_WHITESPACE,
                numbers="any",
                unique_names=False,
            )
        return Grammar(grammar, ("builtin_json",))

    @staticmethod
    def concat(*grammars: Grammar) -> Grammar:
        """Returns the concatenation of grammars."""
        with grammar_errors():
            joined = CoreGrammar.concat(*[each.grammar for each in grammars])
        return Grammar(joined, ("concat", *(each.recipe for each in grammars)))

    @staticmethod
    def union(*grammars: Grammar) -> Grammar:
        """Returns the union of grammars."""
        with grammar_errors():
            joined = CoreGrammar.union(*[each.grammar for each in grammars])
        return Grammar(joined, ("union", *(each.recipe for each in grammars)))

    def for_vocabulary(self, vocabulary: Vocabulary) -> CoreGrammar:
        """Returns the grammar with the marks of tool styles as a vocabulary has them.

        It is an addition to xgrammar's interface.
        """
        found = None
        if self._recipe[0] == "structural_tag":
            found = _grammar_of_calls(json.loads(self._recipe[1]), vocabulary)
        return self._grammar if found is None else found

    def captured_rules(self) -> list[CapturedRule]:
        """Returns the rules that concern captures; an addition to xgrammar's interface.

        Raises:
            CapturesUnavailable: A grammar within this one has captures, or a rule in EBNF hides a part of its text.
        """
        kind, *arguments = self._recipe
        rules: list[CapturedRule] = []
        inner: list[Any] = []
        if kind == "lark":
            texts = {name: value for name, value in arguments[1].items() if isinstance(value, str)}
            rules = lark_captured_rules(arguments[0], texts)
            inner = [value for name, value in arguments[1].items() if name not in texts]
        elif kind == "ebnf":
            rules = captured_rules(arguments[0])
        elif kind in ("concat", "union"):
            inner = arguments
        if any(captured_rules(text) for text in _texts(inner)):
            msg = "captures of grammars within others are not supported"
            raise CapturesUnavailable(msg)
        return rules

    def __str__(self) -> str:
        """Returns the text that the grammar was made from, or a description of its parts."""
        kind, *arguments = self._recipe
        return str(arguments[0]) if kind in _GIVEN_AS_TEXT else self._grammar.source

    def serialize_json(self) -> str:
        """Returns the arguments that the grammar was made from, as JSON."""
        return json.dumps({"grammar": self._recipe, "__VERSION__": SERIALIZATION_VERSION})

    @staticmethod
    def deserialize_json(json_string: str) -> Grammar:
        """Makes a grammar from the output of ``serialize_json``.

        Raises:
            InvalidJSONError: The text is not JSON.
            DeserializeVersionError: The text was written by xgrammar or by another version.
            DeserializeFormatError: The text is not a serialised object of this class.
        """
        check_depth(json_string, InvalidJSONError)
        try:
            parts = json.loads(json_string)
        except ValueError as error:
            raise InvalidJSONError(str(error)) from error
        if not isinstance(parts, dict) or "__VERSION__" not in parts:
            msg = "this is no serialised grammar"
            raise DeserializeFormatError(msg)
        if parts["__VERSION__"] != SERIALIZATION_VERSION:
            msg = f"this was written in the format {parts['__VERSION__']}, not in {SERIALIZATION_VERSION}"
            raise DeserializeVersionError(msg)
        if parts.keys() != {"grammar", "__VERSION__"}:
            msg = "a serialised grammar has the members 'grammar' and '__VERSION__'"
            raise DeserializeFormatError(msg)
        try:
            return _from_recipe(parts["grammar"])
        except (KeyError, TypeError, ValueError, IndexError) as error:
            msg = f"this is no serialised grammar: {error!r}"
            raise DeserializeFormatError(msg) from error


def _grammar_of_calls(tag: dict[str, Any], vocabulary: Vocabulary | None) -> CoreGrammar | None:
    """Returns the grammar of a structural tag of a model; None if it is another structural tag."""
    try:
        return tool_calls_grammar(tag, vocabulary)
    except GrammarError:
        raise
    except ValueError as error:
        raise InvalidStructuralTagError(str(error)) from error


_ELEMENTS = re.compile(
    r"\\.|\[(?:\\.|[^\]\\])*\]|(?P<quantifier>[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??|\(\?|.", re.DOTALL
)


def _has_consecutive_quantifiers(pattern: str) -> bool:
    """Whether a quantifier follows another, which ECMAScript does not permit."""
    was_quantifier = False
    for element in _ELEMENTS.finditer(pattern):
        is_quantifier = element["quantifier"] is not None
        if is_quantifier and was_quantifier:
            return True
        was_quantifier = is_quantifier
    return False


def _texts(values: list[Any]) -> Iterator[str]:
    """Yields the texts in nested recipes."""
    while values:
        value = values.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            values.extend(value.values())
        elif isinstance(value, list | tuple):
            values.extend(value)


_GIVEN_AS_TEXT = ("ebnf", "json_schema", "lark", "regex", "structural_tag")
"""The kinds of grammars whose first argument is a text."""


def _from_recipe(recipe: list[Any]) -> Grammar:
    kind, *arguments = recipe
    match kind:
        case "ebnf":
            return Grammar.from_ebnf(arguments[0], root_rule_name=arguments[1])
        case "json_schema":
            options = dict(arguments[1])
            separators = options.pop("separators")
            return Grammar.from_json_schema(
                arguments[0], separators=None if separators is None else tuple(separators), **options
            )
        case "regex":
            return Grammar.from_regex(arguments[0])
        case "lark":
            named = {
                name: value if isinstance(value, str) else _from_recipe(value)
                for name, value in arguments[1].items()
            }
            return Grammar.from_lark(arguments[0], named_grammars=named)
        case "structural_tag":
            return Grammar.from_structural_tag(arguments[0])
        case "builtin_json":
            return Grammar.builtin_json_grammar()
        case "concat":
            return Grammar.concat(*[_from_recipe(part) for part in arguments])
        case "union":
            return Grammar.union(*[_from_recipe(part) for part in arguments])
    msg = f"there are no grammars of the kind {kind!r}"
    raise ValueError(msg)


def _structural_tag(args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Returns the structural tag in the arguments of xgrammar's two signatures."""
    given = [*args, *(kwargs[name] for name in ("structural_tag", "tags", "triggers") if name in kwargs)]
    if len(given) == 2:
        try:
            return StructuralTag.from_legacy_structural_tag(*given).model_dump()
        except ValueError as error:
            msg = f"Failed to parse JSON: {error}"
            raise InvalidJSONError(msg) from error
    if len(given) != 1:
        msg = "a structural tag, or tags and triggers, are expected"
        raise TypeError(msg)
    tag = given[0]
    if hasattr(tag, "model_dump_json"):
        tag = tag.model_dump_json()
    if isinstance(tag, str):
        check_depth(tag, InvalidJSONError)
        try:
            tag = json.loads(tag)
        except ValueError as error:
            msg = f"Failed to parse JSON: {error}"
            raise InvalidJSONError(msg) from error
    if not isinstance(tag, dict):
        msg = f"Structural tag must be an object, not {type(tag).__name__}"
        raise TypeError(msg)
    return tag
