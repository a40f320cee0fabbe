"""Grammars: from a text of some grammar language, or a schema, to masks for a vocabulary."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from grammask import _grammask
from grammask.compile_cache import CompileCache, default_compile_cache
from grammask.errors import SchemaNotStrict
from grammask.lark_grammars import bundled, lark_definition, lark_text, layout_of
from grammask.schemas import documents, python_types, strict_subset
from grammask.schemas.json_text import schema_text
from grammask.schemas.spelling import schema_options

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Hashable, Iterable

    from typing_extensions import Unpack

    from grammask._grammask import CompiledGrammar, Limits, Vocabulary
    from grammask.errors import Diagnostic
    from grammask.lark_grammars import PostLexer
    from grammask.lark_grammars.indentation import IndentationTuple
    from grammask.schemas.json_text import Schema
    from grammask.schemas.spelling import Draft, Escapes, KeyOrder, SchemaKeywords


class Grammar:
    """A language of texts. Made by one of the ``from_*`` methods; immutable and picklable.

    >>> import grammask
    >>> grammar = grammask.Grammar.from_kbnf('start ::= "yes" | "no";')
    >>> vocabulary = grammask.Vocabulary([b"y", b"es", b"no", b"n", None], eos=4)
    >>> matcher = grammar.compile(vocabulary).matcher()
    >>> matcher.allowed_ids().tolist()
    [0, 2, 3]
    """

    __slots__ = ("_core", "_key", "_recipe", "_text")

    _core: _grammask.Grammar | _grammask.LexedGrammar
    _text: bytes
    """What the grammar was made from."""
    _key: tuple[Hashable, ...]
    """The front end and its options: with the text, what the compile cache knows the grammar by."""
    _recipe: tuple[str, tuple[Any, ...]]
    """A method of this class and its arguments, which make the grammar again."""

    def __init__(self) -> None:
        msg = "make a Grammar with one of its from_* methods, for example Grammar.from_kbnf(text)"
        raise TypeError(msg)

    @classmethod
    def _make(
        cls,
        core: _grammask.Grammar | _grammask.LexedGrammar,
        text: bytes,
        key: tuple[Hashable, ...],
        recipe: tuple[str, tuple[Any, ...]],
    ) -> Grammar:
        grammar = object.__new__(cls)
        grammar._core = core
        grammar._text = text
        grammar._key = key
        grammar._recipe = recipe
        return grammar

    @classmethod
    def from_kbnf(cls, text: str | bytes, *, start: str = "start", limits: Limits | None = None) -> Grammar:
        """Reads a grammar in KBNF: an EBNF with embedded regular expressions. See ``docs/kbnf.md``.

        Args:
            text: The grammar; bytes must be UTF-8.
            start: The nonterminal that derives whole texts.
            limits: Budgets for reading the text.

        Raises:
            GrammarSyntaxError: Everything in the text that is not KBNF, all at once.
            GrammarSemanticError: Undefined symbols, and the like.
            UnsupportedGrammar: A regular expression with features that are not regular.
            LimitExceeded: The text is too large.
        """
        encoded = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
        core = _grammask.Grammar.from_kbnf(encoded, start, limits)
        return cls._make(core, encoded, ("kbnf", start), ("_again_kbnf", (encoded, start, limits)))

    @classmethod
    def from_lark(
        cls,
        grammar: str | os.PathLike[str],
        *,
        start: str = "start",
        lexer: Literal["contextual", "basic", "dynamic"] = "contextual",
        postlex: PostLexer | None = None,
        limits: Limits | None = None,
    ) -> Grammar:
        """Reads a grammar of the lark library, for programming languages. See ``docs/lexed_grammars.md``.

        The texts are those that ``lark.Lark(grammar, parser="lalr", lexer=lexer)`` parses. Needs the lark library.

        Args:
            grammar: The grammar's text, or its path: a ``PathLike``, or a string that ends in ``.lark``.
            start: The rule that derives whole texts.
            lexer: ``"contextual"``: it looks for the terminals that the parser can use at a place. ``"basic"``: for
                all of them. ``"dynamic"`` is refused: lark's dynamic lexer cuts texts in a way that no automaton knows.
            postlex: Blocks by indentation: a subclass of ``lark.indenter.Indenter``, or one of its objects;
                or :class:`grammask.lark_grammars.RefusedTerminals`.
            limits: Budgets for reading the grammar.

        Raises:
            ImportError: The lark library is not installed.
            OSError: The file cannot be read.
            GrammarSyntaxError: What the lark library refuses.
            UnsupportedGrammar: Terminals that are not regular or look outside of their lexeme; other features without
                an exact form. Conflicts are found by :meth:`compile` and :meth:`check`.
            LimitExceeded: The grammar is too large.
            ValueError: There is no such lexer.
        """
        text, path = lark_text(grammar)
        indentation, accepted = layout_of(postlex)
        return cls._from_lark_text(text, path, start, lexer, indentation, accepted, limits)

    @classmethod
    def bundled(cls, name: str, *, limits: Limits | None = None) -> Grammar:
        """Reads a grammar that comes with the package; ``grammask grammars`` lists them.

        Needs the lark library. See ``docs/lexed_grammars.md`` for what each of them covers.

        Raises:
            ImportError: The lark library is not installed.
            ValueError: There is no such grammar.
        """
        grammar = bundled(name)
        return cls.from_lark(grammar.path, lexer=grammar.lexer, postlex=grammar.postlex, limits=limits)

    @classmethod
    def _from_lark_text(
        cls,
        text: str,
        path: str,
        start: str,
        lexer: str,
        indentation: IndentationTuple | None,
        accepted: list[str],
        limits: Limits | None,
    ) -> Grammar:
        newline = None if indentation is None else indentation[0]
        definition = lark_definition(
            text, path=path, start=start, lexer=lexer, newline=newline, always_accepted=accepted
        )
        core = _grammask.LexedGrammar(
            definition.terminals,
            definition.productions,
            start,
            lexer=lexer,
            rule="lark",
            prefer_shift=True,
            indentation=indentation,
            source=text,
            limits=limits,
        )
        # Imported files count too, so what was loaded is the key, not the text.
        content = repr((definition.terminals, definition.productions)).encode()
        recipe = ("_from_lark_text", (text, path, start, lexer, indentation, accepted, limits))
        return cls._make(core, content, ("lark", start, lexer, repr(indentation)), recipe)

    @classmethod
    def from_regex(
        cls, pattern: str, *, syntax: Literal["rust", "ecma"] = "rust", limits: Limits | None = None
    ) -> Grammar:
        """Makes the grammar of the texts that match a regular expression as a whole.

        >>> import grammask
        >>> vocabulary = grammask.Vocabulary([b"0", b"1", b"12", b"-", None], eos=4)
        >>> compiled = grammask.Grammar.from_regex("-?[1-9][0-9]*").compile(vocabulary)
        >>> compiled.matcher().allowed_ids().tolist()
        [1, 2, 3]

        Args:
            pattern: A regular expression; its alternatives and ``^`` and ``$`` are about the whole text.
            syntax: ``"rust"``, the syntax of the Rust crate ``regex``, Unicode on, without look-around and
                back-references; or ``"ecma"``, that of ECMA-262 (JavaScript) with the flag ``u``, where look-around is
                allowed as far as it is regular, as in the ``pattern`` of a JSON Schema.
            limits: Budgets for reading the pattern.

        Raises:
            GrammarSyntaxError: It is no regular expression.
            UnsupportedGrammar: It uses features that are not regular.
            LimitExceeded: It is too large.
            ValueError: There is no such syntax.
        """
        core = _grammask.Grammar.from_regex(pattern, syntax, limits)
        return cls._make(
            core, pattern.encode(), ("regex", syntax), ("_again_regex", (pattern, limits, syntax))
        )

    @classmethod
    def from_choices(cls, choices: Iterable[str | bytes], *, limits: Limits | None = None) -> Grammar:
        """Makes the grammar of some texts. A hundred thousand of them take some ten milliseconds.

        >>> import grammask
        >>> vocabulary = grammask.Vocabulary([b"y", b"es", b"no", None], eos=3)
        >>> grammask.Grammar.from_choices(["yes", "no"]).compile(vocabulary).matcher().allowed_ids().tolist()
        [0, 2]

        Raises:
            GrammarSemanticError: There are no choices.
            LimitExceeded: They are too long together.
            TypeError: A choice is neither str nor bytes.
        """
        if isinstance(choices, (str, bytes)):
            msg = "choices are a list of texts, not a single text"
            raise TypeError(msg)
        texts = [text.encode() if isinstance(text, str) else bytes(memoryview(text)) for text in choices]
        core = _grammask.Grammar.from_choices(texts, limits)
        # With the length before each, so that different lists are different keys.
        joined = b"".join(b"%d:%b" % (len(text), text) for text in texts)
        return cls._make(core, joined, ("choices",), ("_again_choices", (texts, limits)))

    @classmethod
    def from_json_schema(
        cls,
        schema: Schema,
        *,
        draft: Draft | None = None,
        whitespace: Literal["flexible", "compact"] = "flexible",
        max_whitespace: int = 32,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        key_order: KeyOrder = "declared",
        escapes: Escapes = "natural",
        ensure_ascii: bool | None = None,
        numbers: Literal["any", "plain"] = "any",
        on_unsupported: Literal["error", "relax"] = "error",
        resolver: Callable[[str], Schema | None] | None = None,
        formats: bool = True,
        openapi_nullable: bool = False,
        strict: bool = False,
        limits: Limits | None = None,
    ) -> Grammar:
        r"""Makes the grammar of the JSON texts that are valid under a JSON Schema. See ``docs/json_schema.md``.

        >>> import grammask
        >>> schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
        >>> grammar = grammask.Grammar.from_json_schema(schema, separators=(", ", ": "))
        >>> bytes_only = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
        >>> compiled = grammar.compile(bytes_only)
        >>> compiled.is_valid(b'{"a": 12}'), compiled.first_error(b'{"a": "12"}')
        (True, 6)

        Args:
            schema: The schema, or its JSON text. The order of its properties is the order in texts.
            draft: The draft of a schema that does not say it by ``$schema``: ``"4"``, ``"6"``, ``"7"``, ``"2019-09"``
                or ``"2020-12"``. If None it is 2020-12, and forms of older drafts that it lacks keep their meaning.
            whitespace: ``"flexible"``: spaces, tabs and line ends wherever JSON allows them inside a text, at most
                ``max_whitespace`` in a row. ``"compact"``: none.
            max_whitespace: The bound of ``"flexible"``.
            indent: As of ``json.dumps``: every member on a line of its own. Goes before ``whitespace``.
            separators: As of ``json.dumps``: exactly this between items and after names. Goes before ``whitespace``.
            key_order: ``"declared"``: first the declared names in their order, then all others. ``"any"``: any order;
                exponential in the number of declared names.
            escapes: What may be written as an escape. ``"natural"``: what JSON wants escaped, and characters outside
                ASCII if the model likes. ``"any"``: everything. ``"ascii"``: characters outside ASCII must be.
                ``"raw"``: characters outside ASCII must not be.
            ensure_ascii: As of ``json.dumps``: True is ``escapes="ascii"``, False ``escapes="raw"``.
            numbers: ``"any"``: also with exponents, and integers as ``1.0``. ``"plain"``: decimals, integers without a
                point.
            on_unsupported: What to do with a keyword that cannot be enforced exactly: ``"error"``, or ``"relax"``: go
                on without it and list it in :attr:`relaxations`.
            resolver: Called with the absolute URI of each document that the schema refers to and that is not known;
                returns it as ``schema``, or None. The meta-schemas of all drafts are known.
            formats: Whether ``format`` constrains strings.
            openapi_nullable: Read OpenAPI 3.0's ``nullable``.
            strict: First check that the schema is in OpenAI's strict subset.
            limits: Budgets for reading the schema.

        Raises:
            UnsupportedSchema: Everything that cannot be enforced exactly, each with its JSON pointer.
            GrammarSyntaxError: The text is no JSON, or no schema.
            GrammarSemanticError: References lead nowhere; nothing satisfies the schema.
            SchemaNotStrict: With ``strict``: all violations.
            LimitExceeded: A budget was passed.
            TypeError: ``schema`` holds what JSON does not have.
            ValueError: An option has no such value, or contradicts another.
        """
        text = schema_text(schema)
        options = schema_options(
            draft=draft,
            whitespace=whitespace,
            max_whitespace=max_whitespace,
            indent=indent,
            separators=separators,
            key_order=key_order,
            escapes=escapes,
            ensure_ascii=ensure_ascii,
            numbers=numbers,
            on_unsupported=on_unsupported,
            formats=formats,
            openapi_nullable=openapi_nullable,
            resources=[],
        )
        if strict:
            _check_strict(schema, text)
        if resolver is not None:
            options = documents.resolve(text, options, resolver, limits)
        return cls._from_schema_text(text, options, limits)

    @classmethod
    def from_pydantic(cls, model: type, **options: Unpack[SchemaKeywords]) -> Grammar:
        """Makes the grammar of the JSON texts that a model of Pydantic takes: its schema for validation, with aliases.

        Args:
            model: A subclass of ``pydantic.BaseModel``; anything with its ``model_json_schema`` will do.
            options: As of :meth:`from_json_schema`.

        Raises:
            UnsupportedType: It is no such class.
            GrammarError: As :meth:`from_json_schema`.
        """
        return cls.from_json_schema(python_types.model_schema(model), **options)

    @classmethod
    def from_type(cls, tp: Any, **options: Unpack[SchemaKeywords]) -> Grammar:
        """Makes the grammar of the JSON texts that stand for values of a Python type; see ``docs/json_schema.md``.

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
            tp: A dataclass, TypedDict, NamedTuple, enumeration, Literal, union, container, ``Annotated`` type, model of
                Pydantic, a simple type, or a callable: that stands for the object of its arguments.
            options: As of :meth:`from_json_schema`.

        Raises:
            UnsupportedType: Part of the type has no JSON form, or a constraint is not understood.
            GrammarError: As :meth:`from_json_schema`.
        """
        return cls.from_json_schema(python_types.schema_of(tp), **options)

    @classmethod
    def _from_schema_text(cls, text: str, options: _grammask.SchemaOptions, limits: Limits | None) -> Grammar:
        core = _grammask.json_schema_grammar(text, options, limits)
        recipe = ("_from_schema_text", (text, options, limits))
        return cls._make(core, text.encode(), ("json_schema", options), recipe)

    @property
    def source(self) -> str:
        """The text that the grammar was made from."""
        return self._core.source

    @property
    def relaxations(self) -> list[Diagnostic]:
        """What a schema asks for and the grammar does not enforce, with ``on_unsupported="relax"``."""
        return self._core.relaxations

    def compile(
        self,
        vocabulary: Vocabulary,
        *,
        end: Literal["eos", "eager"] = "eos",
        limits: Limits | None = None,
        finite: bool = False,
        cache: CompileCache | bool = True,
    ) -> CompiledGrammar:
        """Makes the grammar ready for a vocabulary. Cheap: states and masks are made when they are needed.

        Args:
            vocabulary: The tokens of the model; shared, not copied.
            end: ``"eos"``: the vocabulary's end tokens are legal exactly when the text is complete.
                ``"eager"``: the text ends with the first token after which it is complete, as KBNF ends.
            limits: Budgets for compiling and for every later call on the compiled grammar.
            finite: Refuse rules that never end, such as ``start ::= "a" start;``.
            cache: Where to look for the same grammar compiled before, and to keep it: the process's own bounded
                :data:`grammask.default_compile_cache`, none, or a cache of yours.

        Raises:
            GrammarSemanticError: No text matches the grammar; it names tokens that the vocabulary lacks;
                ``end="eos"`` without an end token; rules that never end, with ``finite``.
            LimitExceeded: A budget was passed.
        """
        if cache is False:
            return self._core.compile(vocabulary, end, limits, finite)
        return (default_compile_cache if cache is True else cache).find(
            vocabulary,
            self._text,
            (*self._key, end, limits, finite),
            lambda: self._core.compile(vocabulary, end, limits, finite),
        )

    def check(self, limits: Limits | None = None) -> list[Diagnostic]:
        """Warnings: unused rules, rules that derive nothing or never end, rules that derive themselves.

        For a schema: keywords that constrain nothing and might be thought to, such as unknown formats.

        Raises:
            GrammarSemanticError: No text matches the grammar.
            LimitExceeded: A budget was passed.
        """
        return [*self._core.warnings(), *self._core.check(limits)]

    def stages(self, limits: Limits | None = None) -> list[tuple[str, str]]:
        """The grammar after each pass of the lowering, as (name of the pass, text), for people.

        Raises:
            GrammarError: As :meth:`compile`.
        """
        return self._core.stages(limits)

    def __reduce__(self) -> tuple[object, tuple[str, tuple[Any, ...]]]:
        return _restore, self._recipe

    def __repr__(self) -> str:
        first_line = self.source.strip().split("\n", 1)[0]
        return f"<Grammar {first_line[:60]!r}>"

    @classmethod
    def _again_kbnf(cls, text: bytes, start: str, limits: Limits | None) -> Grammar:
        return cls.from_kbnf(text, start=start, limits=limits)

    @classmethod
    def _again_regex(
        cls, pattern: str, limits: Limits | None, syntax: Literal["rust", "ecma"] = "rust"
    ) -> Grammar:
        return cls.from_regex(pattern, syntax=syntax, limits=limits)

    @classmethod
    def _again_choices(cls, texts: list[str | bytes], limits: Limits | None) -> Grammar:
        return cls.from_choices(texts, limits=limits)


def _restore(method: str, arguments: tuple[Any, ...]) -> Grammar:
    grammar: Grammar = getattr(Grammar, method)(*arguments)
    return grammar


def _check_strict(schema: Schema, text: str) -> None:
    """Raises an error with all that OpenAI's strict subset does not have; text that is no JSON is for the reader."""
    value: Any = schema
    if isinstance(schema, str | bytes):
        try:
            value = json.loads(text)
        except (json.JSONDecodeError, RecursionError):
            return
    violations = strict_subset.strict_violations(value)
    if violations:
        raise SchemaNotStrict("\n\n".join(violation.rendered for violation in violations), violations)
