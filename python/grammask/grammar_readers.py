"""The readers of grammars as class methods.

Each method imports its reader when it is called, so that a program loads only the readers that it uses.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from grammask._grammask import Limits, Vocabulary
from grammask.arguments import check_flag, check_mapping, check_type, listed_texts
from grammask.composition import Part
from grammask.grammar_texts import decoded, grammar_text
from grammask.named_keywords import named_keywords
from grammask.request_limits import request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from typing_extensions import Self, Unpack

    from grammask.lark_grammars import PostLexer
    from grammask.lark_grammars.loading import Lexer, Parser
    from grammask.readers.regex import RegexSyntax
    from grammask.readers.terminal_grammars import TerminalGrammars
    from grammask.schemas.json_text import Schema
    from grammask.schemas.options import (
        ContentGrammars,
        ContentKeywords,
        SchemaKeywords,
        SchemaOptions,
    )
    from grammask.sources import EngineGrammar, Source
    from grammask.tools.style import ReasoningMode, ToolStyle

__all__ = ["GrammarReaders"]


@named_keywords
class GrammarReaders:
    """The methods that read a grammar.

    An error has all mistakes in a text as diagnostics. ``limits`` bound the work of reading, and exceeding them is a
    ``LimitExceeded``.
    """

    __slots__ = ()

    _source: Source

    @property
    def _core(self) -> EngineGrammar:
        raise NotImplementedError

    @classmethod
    def of_source(cls, source: Source) -> Self:
        """Returns the grammar of a reader's source.

        Raises:
            GrammarError: As of the reader.
        """
        raise NotImplementedError

    @classmethod
    @request
    def from_kbnf(
        cls,
        text: str | bytes,
        *,
        start: str = "start",
        lexer: Lexer | None = None,
        parser: Parser | None = None,
        terminals: Mapping[str, Self] | None = None,
        limits: Limits | None = None,
    ) -> Self:
        """Reads a grammar in KBNF: an EBNF with embedded regular expressions. See ``docs/kbnf.md``.

        Args:
            text: The grammar; bytes must be UTF-8.
            start: The start symbol.
            lexer: A lexer as of :meth:`from_lark`, for the terminals that the directives of the text declare; see
                ``docs/lexed_grammars.md``. None without a ``parser``: rules derive texts byte by byte.
            parser: The parser of the lexer's terminals, as of :meth:`from_lark`.
            terminals: The grammars of terminals that the text declares by ``%declare``, as of :meth:`from_lark`.
            limits: Limits of reading.

        Raises:
            GrammarSyntaxError: The text is not KBNF; all mistakes at once.
            GrammarSemanticError: A symbol is undefined, or has no sensible definition.
            UnsupportedGrammar: An expression is not regular; with a lexer, rules cannot use a terminal.
            LimitExceeded: The text exceeds a limit.
            ValueError: There is no such parser or lexer, or there are terminals without a lexer.
        """
        from grammask.readers.kbnf import kbnf_source

        return cls.of_source(
            kbnf_source(text, start, lexer, parser, cls._terminal_grammars(terminals), limits)
        )

    @classmethod
    @request
    def from_lark(
        cls,
        grammar: str | os.PathLike[str],
        *,
        start: str = "start",
        parser: Parser | None = None,
        lexer: Lexer | None = None,
        postlex: PostLexer | None = None,
        lexical_rules: Iterable[str] = (),
        ignored_rules: Iterable[str] = (),
        terminals: Mapping[str, Self] | None = None,
        limits: Limits | None = None,
    ) -> Self:
        """Reads a grammar of the lark library, which must be installed. See ``docs/lexed_grammars.md``.

        The texts are those that ``lark.Lark(grammar, parser=parser, lexer=lexer)`` parses.

        Args:
            grammar: The text, or its path: a ``PathLike``, or a string that ends in ``.lark``.
            start: The start symbol.
            parser: ``"lalr"``, the default unless the lexer is dynamic; or ``"earley"``, for all grammars.
            lexer: ``"contextual"`` (default of ``"lalr"``) matches the terminals that the parser accepts next,
                ``"basic"`` all. ``"dynamic"`` (default of ``"earley"``) matches each acceptable terminal separately, as
                long as it can, ``"dynamic_complete"`` also shorter.
            postlex: Blocks by indentation, a ``lark.indenter.Indenter`` as class or object; with an attribute
                ``measure = "python"`` lines are measured as by Python's tokenizer. Or
                :class:`grammask.lark_grammars.RefusedTerminals`.
            lexical_rules: Names of rules that the lexer reads as it reads terminals: without ignored text between
                their symbols. They may nest, and may contain other rules between two terminals. Needs ``"lalr"``.
            ignored_rules: Names of further such rules, whose texts are allowed between all lexemes, as nested comments
                are. Needs ``lexer="basic"``; each alternative begins with a terminal that no other rule uses there.
            terminals: The grammars of terminals that the text declares by ``%declare``: without a lexer, and regular,
                or with texts of which none is a proper prefix of another one, or with bindings. A text of those with
                bindings ends where it is first complete: raw strings, here-documents.
            limits: Limits of reading.

        Raises:
            ImportError: The lark library is not installed.
            OSError: The file cannot be read.
            GrammarSyntaxError: The lark library refuses the text.
            UnsupportedGrammar: A terminal is not regular, or depends on the text outside its lexeme; or another feature
                has no exact form. Conflicts of rules are found by :meth:`compile` and :meth:`check`.
            LimitExceeded: The grammar exceeds a limit.
            ValueError: There is no such parser or lexer.
        """
        from grammask.readers.lark import LexicalRules, lark_source

        check_type("grammar", grammar, (str, os.PathLike), "a path or a text, as str or os.PathLike")
        check_type("start", start, str, "the name of a rule")
        rules = LexicalRules(
            tuple(listed_texts("lexical_rules", lexical_rules)),
            tuple(listed_texts("ignored_rules", ignored_rules)),
        )
        return cls.of_source(
            lark_source(
                grammar, start, parser, lexer, postlex, rules, cls._terminal_grammars(terminals), limits
            )
        )

    @staticmethod
    def _terminal_grammars(grammars: Mapping[str, GrammarReaders] | None) -> TerminalGrammars:
        if grammars is None:
            return ()
        check_mapping("terminals", grammars, GrammarReaders, "a Grammar")
        from grammask.readers.terminal_grammars import terminal_grammars

        return terminal_grammars((name, one._source, one._core) for name, one in grammars.items())  # noqa: SLF001

    @classmethod
    @request
    def bundled(cls, name: str, *, start: str = "file", limits: Limits | None = None) -> Self:
        """Reads a grammar of the package, as ``grammask grammars`` lists them.

        JSON has white space and digits of any length; ``from_json_schema({})`` has natural ones, which end.

        Args:
            name: The name of the language.
            start: The part of the language that a text is: ``"file"``, and for most languages ``"statements"``,
                ``"expression"`` and ``"type"``. ``grammask grammars`` lists them all.
            limits: Limits of reading.

        Raises:
            ValueError: There is no such grammar, or it has no such start symbol.
        """
        from grammask.readers.lark import bundled_source

        check_type("name", name, str, "the name of a language")
        check_type("start", start, str, "the name of a part of the language")
        return cls.of_source(bundled_source(name, start, limits))

    @classmethod
    @request
    def from_gbnf(
        cls,
        text: str | bytes,
        *,
        start: str = "root",
        lexer: Lexer | None = None,
        parser: Parser | None = None,
        terminals: Mapping[str, Self] | None = None,
        limits: Limits | None = None,
    ) -> Self:
        r"""Reads a grammar of llama.cpp. See ``docs/gbnf.md``.

        >>> import grammask
        >>> grammar = grammask.Grammar.from_gbnf(r'root ::= "yes" | "no" [.!]?')
        >>> bytes_only = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
        >>> grammar.compile(bytes_only).is_valid(b"no!")
        True

        Args:
            text: The grammar; bytes must be UTF-8.
            start: The start symbol.
            lexer: A lexer, as of :meth:`from_kbnf`.
            parser: The parser of the lexer's terminals, as of :meth:`from_lark`.
            terminals: The grammars of terminals that the text declares by ``%declare``, as of :meth:`from_lark`.
            limits: Limits of reading.

        Raises:
            GrammarSyntaxError: The text is not GBNF; all mistakes at once.
            GrammarSemanticError: A rule is undefined, or defined twice.
            UnsupportedGrammar: With a lexer, a terminal is not regular, or rules cannot use it.
            LimitExceeded: The text exceeds a limit.
            UnicodeDecodeError: The bytes are not UTF-8.
            ValueError: There is no such parser or lexer, or there are terminals without a lexer.
        """
        from grammask.readers.gbnf import gbnf_source

        return cls.of_source(
            gbnf_source(text, start, lexer, parser, cls._terminal_grammars(terminals), limits)
        )

    @classmethod
    @request
    def from_xgrammar_ebnf(
        cls, text: str | bytes, *, root: str = "root", limits: Limits | None = None
    ) -> Self:
        """Reads a grammar in XGrammar's EBNF. See ``docs/gbnf.md``.

        Args:
            text: The grammar; bytes must be UTF-8.
            root: The start symbol.
            limits: Limits of reading.

        Raises:
            GrammarSyntaxError: The text is not in this notation; all mistakes at once.
            GrammarSemanticError: A rule is undefined, or defined twice.
            UnsupportedGrammar: The text has options of rules, ``Regex`` or ``Substring``.
            LimitExceeded: The text exceeds a limit.
            UnicodeDecodeError: The bytes are not UTF-8.
        """
        from grammask.readers.gbnf import xgrammar_ebnf_source

        check_type("root", root, str, "the name of a rule")
        return cls.of_source(xgrammar_ebnf_source(text, root, limits))

    @classmethod
    @request
    def from_llguidance_lark(
        cls,
        text: str,
        *,
        grammars: Mapping[str, str | Self] | None = None,
        limits: Limits | None = None,
    ) -> Self:
        """Reads a grammar in llguidance's dialect of Lark. See ``docs/gbnf.md``.

        Args:
            text: The grammar; its start symbol is ``start``.
            grammars: The grammars that ``@name`` refers to, or texts in this dialect, which may refer to each other.
            limits: Limits of reading, expressions, schemas and rules with parameters included.

        Raises:
            GrammarSyntaxError: The text is not in this notation; all mistakes at once.
            GrammarSemanticError: A name is undefined, or a terminal contains itself.
            TypeError: One of ``grammars`` is neither a grammar nor a text.
            UnsupportedGrammar: The text has priorities or templates, or a ``stop`` that would take text back.
            LimitExceeded: The text exceeds a limit.
        """
        from grammask.llguidance_grammars import LlguidanceLarkSource

        named: list[tuple[str, str | Part]] = []
        if grammars is not None:
            check_mapping("grammars", grammars, (str, GrammarReaders), "a Grammar or a text")
        for name, given in (grammars or {}).items():
            # A grammar with a lexer is refused where it is used, not here.
            part = given if isinstance(given, str) else Part.of_source(given._source, given._core)  # noqa: SLF001
            named.append((name, part))
        return cls.of_source(LlguidanceLarkSource(grammar_text(text, "text"), tuple(named), limits=limits))

    @classmethod
    @request
    def from_structural_tag(
        cls, tag: str | bytes | Mapping[str, Any], *, limits: Limits | None = None
    ) -> Self:
        """Reads a structural tag, which describes free text, tags and schemas. See ``docs/structural_tags.md``.

        Args:
            tag: ``{"type": "structural_tag", "format": ...}``, or the older form with ``structures`` and ``triggers``,
                as an object or JSON text.
            limits: Limits of reading, all inner grammars and schemas together.

        Raises:
            StructuralTagError: The tag, or an inner grammar or schema, has mistakes, each with its JSON pointer.
            UnsupportedGrammar: Parts cannot be enforced exactly, and there are no other mistakes.
            LimitExceeded: Reading exceeds a limit.
        """
        from grammask.structural_tags import json_object, structural_tag_part

        return cls.of_source(structural_tag_part(json_object(tag), limits=limits))

    @classmethod
    @request
    def from_response_format(
        cls, response_format: str | bytes | Mapping[str, Any], **keywords: Unpack[SchemaKeywords]
    ) -> Self:
        """Reads OpenAI's ``response_format``, or ``text.format``. See ``docs/tools.md``.

        Args:
            response_format: An object of the type ``text``, ``json_object``, ``json_schema``, ``structural_tag``,
                ``grammar`` or ``markdown_answer``, or its JSON text.
            keywords: As of :meth:`from_json_schema`, for schemas.

        Raises:
            ValueError: There is no such type, or a field is missing.
            GrammarError: A mistake in the schema, grammar or structural tag.
        """
        from grammask.schemas.options import check_schema_keywords
        from grammask.structural_tags import json_object
        from grammask.tools import response_format_source

        check_schema_keywords(keywords)
        expected = "an object or its JSON text (Grammar.from_type takes types)"
        check_type("response_format", response_format, (str, bytes, Mapping), expected)
        return cls.of_source(response_format_source(json_object(response_format), keywords))

    @classmethod
    @request
    def from_tools(
        cls,
        tools: Iterable[Mapping[str, Any] | Callable[..., Any]],
        *,
        style: str | Mapping[str, Any] | ToolStyle,
        tool_choice: str | Mapping[str, Any] | None = "auto",
        parallel: bool = True,
        reasoning: ReasoningMode | None = None,
        vocabulary: Vocabulary | None = None,
        response_format: str | bytes | Mapping[str, Any] | GrammarReaders | None = None,
        **keywords: Unpack[SchemaKeywords],
    ) -> Self:
        """Makes the grammar of outputs that call tools, in the style of a family of models. See ``docs/tools.md``.

        Args:
            tools: Functions, custom tools and built-in tools of the style, in the shape of Chat Completions or
                Responses; or functions of Python and models of Pydantic, whose arguments and fields are those of calls.
            style: The name of a style (:func:`grammask.tool_styles.tool_styles`) or of a model that uses it, such as
                ``"Qwen/Qwen3-8B"``; or a style.
            tool_choice: ``"auto"``: text, calls, or text before calls. ``"none"``: text. ``"required"``: calls. An
                object: calls of one tool, or of those in ``allowed_tools``.
            parallel: Whether several calls may follow each other, unless ``tool_choice`` names one tool.
            reasoning: Whether the output begins with reasoning: ``"none"``; ``"optional"``: if the model chooses so;
                ``"required"``; ``"open"``: the prompt has begun it. None is the default of the style: ``"optional"``
                where reasoning is a part of every format, otherwise ``"none"``.
            vocabulary: Decides which marks of the style are special tokens, which match by id. Without it, those that
                are special in the models' own tokenizers.
            response_format: The form of outputs without calls, as of :meth:`from_response_format`: a ``text``, a
                ``json_object`` or a ``json_schema``, and no text precedes calls with the last two. Without tools also
                other types, or a grammar. None for any text.
            keywords: As of :meth:`from_json_schema`, for the schemas of arguments and of the response format.

        Raises:
            ValueError: There is no such style or tool, two tools have one name, or the style cannot distinguish answers
                in JSON from calls.
            GrammarError: A constraint that cannot be enforced exactly, each with its JSON pointer.
        """
        from grammask.schemas.options import check_schema_keywords
        from grammask.structural_tags import json_object
        from grammask.tools import calls_part, chosen_tools, parsed_style

        check_schema_keywords(keywords)
        if vocabulary is not None:
            check_type("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
        check_flag("parallel", parallel)
        chosen, choice, is_forced = chosen_tools(tools, tool_choice, parsed_style(style).builtins)
        answer: Mapping[str, Any] | Part | None = None
        if isinstance(response_format, GrammarReaders):
            answer = Part.of_source(response_format._source)  # noqa: SLF001
        elif response_format is not None:
            answer = json_object(response_format)
        part = calls_part(
            chosen,
            choice,
            style,
            most_calls=None if parallel and not is_forced else 1,
            reasoning=reasoning,
            vocabulary=vocabulary,
            schema_options=keywords,
            response_format=answer,
        )
        return cls.of_source(part)

    @classmethod
    @request
    def from_regex(
        cls, pattern: str | re.Pattern[str], *, syntax: RegexSyntax = "python", limits: Limits | None = None
    ) -> Self:
        """Makes the grammar of the texts that match a regular expression as a whole.

        >>> import grammask
        >>> vocabulary = grammask.Vocabulary([b"0", b"1", b"12", b"-", None], eos=4)
        >>> compiled = grammask.Grammar.from_regex("-?[1-9][0-9]*").compile(vocabulary)
        >>> compiled.matcher().allowed_ids().tolist()
        [1, 2, 3]

        Args:
            pattern: A regular expression, or a compiled pattern of ``re`` with its flags.
            syntax: ``"python"``: that of Python's ``re``; the texts are those that ``re.fullmatch`` matches in the
                running interpreter. ``"ecma"``: that of ECMA-262 (JavaScript) with the flag ``u``. ``"rust"``: that of
                the Rust crate ``regex``, with Unicode, as in KBNF. The first two have look-around.
            limits: Limits of reading.

        Raises:
            GrammarSyntaxError: It is no regular expression.
            UnsupportedGrammar: It uses features that are not regular.
            LimitExceeded: It exceeds a limit.
            TypeError: It is a compiled pattern of bytes.
            ValueError: There is no such syntax, or a compiled pattern is given with another syntax than that of ``re``.
        """
        from grammask.readers.regex import RegexSource

        flags = 0
        if isinstance(pattern, re.Pattern):
            if syntax != "python":
                msg = f"a compiled pattern has the syntax of Python's re, unlike syntax={syntax!r}"
                raise ValueError(msg)
            check_type("pattern", pattern.pattern, str, "a compiled pattern of str")
            flags, pattern = pattern.flags, pattern.pattern
        return cls.of_source(RegexSource(decoded(pattern, "pattern"), syntax, limits, flags))

    @classmethod
    @request
    def from_choices(cls, choices: Iterable[str | bytes], *, limits: Limits | None = None) -> Self:
        """Makes the grammar of some texts. 100,000 texts take about 10 ms.

        >>> import grammask
        >>> vocabulary = grammask.Vocabulary([b"y", b"es", b"no", None], eos=3)
        >>> grammask.Grammar.from_choices(["yes", "no"]).compile(vocabulary).matcher().allowed_ids().tolist()
        [0, 2]

        Raises:
            GrammarSemanticError: There are no choices.
            LimitExceeded: Their total length exceeds a limit.
            TypeError: A choice is neither str nor bytes.
        """
        from grammask.readers.choices import choices_source

        return cls.of_source(choices_source(choices, limits))

    @classmethod
    @request
    def from_json_schema(
        cls,
        schema: Schema,
        *,
        options: SchemaOptions | None = None,
        **keywords: Unpack[SchemaKeywords],
    ) -> Self:
        """Makes the grammar of the JSON texts that are valid under a JSON Schema. See ``docs/json_schema.md``.

        >>> import grammask
        >>> schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
        >>> grammar = grammask.Grammar.from_json_schema(schema, separators=(", ", ": "))
        >>> bytes_only = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
        >>> compiled = grammar.compile(bytes_only)
        >>> compiled.is_valid(b'{"a": 12}'), compiled.first_error(b'{"a": "12"}')
        (True, 6)

        Args:
            schema: The schema, or its JSON text. The order of its properties is the order in texts.
            options: How the schema is read, and how values are written.
            keywords: Fields of :class:`grammask.SchemaOptions`, which replace those of ``options``; and ``limits``.

        Raises:
            UnsupportedSchema: Keywords cannot be enforced exactly, each with its JSON pointer.
            GrammarSyntaxError: The text is no JSON, or no schema.
            GrammarSemanticError: A reference has no target, or no value is valid.
            SchemaNotStrict: With ``strict``, the schema is outside OpenAI's strict subset.
            LimitExceeded: Reading exceeds a limit.
            TypeError: ``schema`` holds a value that JSON does not have, or there is no such keyword.
            ValueError: An option has no such value, or contradicts another.
        """
        from grammask.readers.json_schema import json_schema_source

        return cls.of_source(json_schema_source(schema, options, **keywords))

    @classmethod
    @request
    def from_string_schema(
        cls,
        schema: Schema,
        *,
        formats: bool = True,
        content: ContentKeywords = "annotation",
        content_grammars: ContentGrammars = (),
        excludes: Sequence[str] = (),
        limits: Limits | None = None,
    ) -> Self:
        """Makes the grammar of the strings that are valid under a JSON Schema, written without quotes and escapes.

        >>> import grammask
        >>> grammar = grammask.Grammar.from_string_schema({"format": "date", "not": {"const": "2000-01-01"}})
        >>> bytes_only = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
        >>> compiled = grammar.compile(bytes_only)
        >>> compiled.is_valid(b"2000-01-02"), compiled.is_valid(b"2000-01-01")
        (True, False)

        Args:
            schema: The schema, or its JSON text. Constraints on other values have no effect.
            formats: Whether ``format`` constrains strings.
            content: As of :class:`grammask.SchemaOptions`; JSON is not supported.
            content_grammars: As of :class:`grammask.SchemaOptions`.
            excludes: Words that no string contains.
            limits: Limits of reading.

        Raises:
            GrammarError: As of :meth:`from_json_schema`; also if no string is valid.
            TypeError: ``schema`` holds a value that JSON does not have.
            ValueError: A word is empty.
        """
        from grammask.readers.json_schema import string_schema_source

        source = string_schema_source(
            schema,
            formats=formats,
            content=content,
            content_grammars=content_grammars,
            excludes=excludes,
            limits=limits,
        )
        return cls.of_source(source)

    @classmethod
    @request
    def from_pydantic(
        cls, model: type, *, options: SchemaOptions | None = None, **keywords: Unpack[SchemaKeywords]
    ) -> Self:
        """Makes the grammar of the JSON texts of a model of Pydantic, with aliases.

        Every text validates, and what the model dumps and validates is a text; see ``docs/json_schema.md``. Integers of
        more than 20 digits are texts as in :meth:`from_type`. Objects have the declared names only, unless the model
        allows others.

        Args:
            model: A subclass of ``pydantic.BaseModel``, or another class with ``model_json_schema``.
            options: As of :meth:`from_json_schema`.
            keywords: As of :meth:`from_json_schema`.

        Raises:
            UnsupportedType: It is no such class, or the type of a field has no JSON form.
            GrammarError: As of :meth:`from_json_schema`. ``UnsupportedSchema`` names the fields whose constraints
                cannot be enforced, such as validators written in Python.
        """
        from grammask.schemas import python_types
        from grammask.schemas.options import numbers_option

        numbers = numbers_option(options, keywords)
        return cls.from_json_schema(
            python_types.validated_schema(model, numbers=numbers), options=options, **keywords
        )

    @classmethod
    @request
    def from_type(
        cls, tp: Any, *, options: SchemaOptions | None = None, **keywords: Unpack[SchemaKeywords]
    ) -> Self:
        """Makes the grammar of the JSON texts of the values of a Python type; see ``docs/json_schema.md``.

        Every text is read by Pydantic's validator of the type (msgspec's for a struct), and what the validator reads of
        the dumped values is a text; integers of more than 20 digits only with ``numbers="any"``, or where the type has
        such a bound.

        >>> import dataclasses, grammask
        >>> @dataclasses.dataclass
        ... class Point:
        ...     x: int
        ...     y: int = 0
        >>> grammar = grammask.Grammar.from_type(list[Point], whitespace="compact")
        >>> bytes_only = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
        >>> grammar.compile(bytes_only).is_valid(b'[{"x":1},{"x":2,"y":3}]')
        True

        Args:
            tp: A dataclass, TypedDict, NamedTuple, enumeration, Literal, union, container, ``Annotated`` type, class of
                attrs or msgspec, type of Pydantic or simple type; or a callable, for objects of its arguments.
            options: As of :meth:`from_json_schema`.
            keywords: As of :meth:`from_json_schema`.

        Raises:
            UnsupportedType: A type has no JSON form, or an annotation an unknown constraint.
            GrammarError: As of :meth:`from_json_schema`.
        """
        from grammask.schemas import python_types
        from grammask.schemas.options import numbers_option

        numbers = numbers_option(options, keywords)
        return cls.from_json_schema(python_types.schema_of(tp, numbers=numbers), options=options, **keywords)
