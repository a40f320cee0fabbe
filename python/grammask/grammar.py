"""Grammars: from a text of some grammar language, or a schema, to masks for a vocabulary.

Front ends are imported where they are used: whoever reads KBNF pays for no other language.
"""

from __future__ import annotations

import hashlib
import json
import pickle
from typing import TYPE_CHECKING, Any, Literal

from grammask import _grammask, composition
from grammask.compile_cache import CompileCache, default_compile_cache
from grammask.composition import Part
from grammask.errors import SchemaNotStrict

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from typing_extensions import Unpack

    from grammask._grammask import CompiledGrammar, Limits, Vocabulary
    from grammask.errors import Diagnostic
    from grammask.lark_grammars import PostLexer
    from grammask.lark_grammars.indentation import IndentationTuple
    from grammask.lark_grammars.loading import Lexer, Parser
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

    __slots__ = ("_key", "_made", "_part", "_recipe", "_text")

    _made: _grammask.Grammar | _grammask.LexedGrammar | None
    """None while a grammar that is made of others was not used."""
    _part: Part | None
    """The description of a grammar that is made of others."""
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
        grammar._made = core
        grammar._part = None
        grammar._text = text
        grammar._key = key
        grammar._recipe = recipe
        return grammar

    @property
    def _core(self) -> _grammask.Grammar | _grammask.LexedGrammar:
        if self._made is None:
            assert self._part is not None
            self._made = composition.build(self._part)
        return self._made

    @classmethod
    def of_part(cls, part: Part) -> Grammar:
        """Makes a grammar of a part of :mod:`grammask.composition`."""
        grammar = object.__new__(cls)
        grammar._made = None
        grammar._part = part
        grammar._text = part.digest
        grammar._key = ("composition",)
        grammar._recipe = ("of_part", (part,))
        return grammar

    def as_part(self) -> Part:
        """Returns the grammar as a part of others.

        Raises:
            TypeError: It has a lexer.
        """
        if self._part is not None:
            return self._part
        if isinstance(self._made, _grammask.LexedGrammar):
            msg = "a grammar with a lexer (from_lark, bundled) cannot be a part of another grammar"
            raise TypeError(msg)
        return Part("grammar", (self,))

    def digest(self) -> bytes:
        """Returns a hash of what the grammar was made from; equal for equal grammars in all processes."""
        return hashlib.sha256(pickle.dumps((self._text, self._key), protocol=5)).digest()

    def graft_into(self, joined: _grammask.Composition) -> int:
        """Adds the grammar to a composition; returns the number of the part.

        Raises:
            TypeError: It has a lexer.
        """
        core = self._core
        if isinstance(core, _grammask.LexedGrammar):
            msg = "a grammar with a lexer (from_lark, bundled) cannot be a part of another grammar"
            raise TypeError(msg)
        return joined.grammar(core)

    @classmethod
    def from_kbnf(
        cls,
        text: str | bytes,
        *,
        start: str = "start",
        lexer: Lexer | None = None,
        parser: Parser | None = None,
        limits: Limits | None = None,
    ) -> Grammar:
        """Reads a grammar in KBNF: an EBNF with embedded regular expressions. See ``docs/kbnf.md``.

        Args:
            text: The grammar; bytes must be UTF-8.
            start: The nonterminal that derives whole texts.
            lexer: Reads texts with a lexer, for whose terminals the text has directives: ``"contextual"``, ``"basic"``
                and others as of :meth:`from_lark`. See ``docs/lexed_grammars.md``. None if ``parser`` is not given
                either: rules derive texts byte by byte.
            parser: The parser behind the lexer, as of :meth:`from_lark`.
            limits: Budgets for reading the text.

        Raises:
            GrammarSyntaxError: Everything in the text that is not KBNF, all at once.
            GrammarSemanticError: Undefined symbols, and the like.
            UnsupportedGrammar: A regular expression with features that are not regular; with a lexer, terminals that
                are not regular or that rules cannot use.
            LimitExceeded: The text is too large.
            ValueError: There is no such parser or lexer.
        """
        encoded = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
        if lexer is not None or parser is not None:
            from grammask.lark_grammars import parser_and_lexer

            parser, lexer = parser_and_lexer(parser, lexer, has_layout=False)
            lexed = _grammask.LexedGrammar.from_kbnf(encoded, start, lexer, parser, limits)
            recipe = ("_again_lexed_kbnf", (encoded, start, lexer, parser, limits))
            return cls._make(lexed, encoded, ("kbnf", start, lexer, parser), recipe)
        core = _grammask.Grammar.from_kbnf(encoded, start, limits)
        return cls._make(core, encoded, ("kbnf", start), ("_again_kbnf", (encoded, start, limits)))

    @classmethod
    def from_lark(
        cls,
        grammar: str | os.PathLike[str],
        *,
        start: str = "start",
        parser: Literal["lalr", "earley"] | None = None,
        lexer: Literal["contextual", "basic", "dynamic", "dynamic_complete"] | None = None,
        postlex: PostLexer | None = None,
        limits: Limits | None = None,
    ) -> Grammar:
        """Reads a grammar of the lark library, for programming languages. See ``docs/lexed_grammars.md``.

        The texts are those that ``lark.Lark(grammar, parser=parser, lexer=lexer)`` parses. Needs the lark library.

        Args:
            grammar: The grammar's text, or its path: a ``PathLike``, or a string that ends in ``.lark``.
            start: The rule that derives whole texts.
            parser: ``"lalr"``, unless the lexer is a dynamic one. ``"earley"`` reads ambiguous grammars too, and all
                that need more look-ahead than one terminal.
            lexer: ``"contextual"`` (the default of ``"lalr"``, and for it only): it looks for the terminals that the
                parser can use at a place. ``"basic"``: for all of them. ``"dynamic"`` (the default of ``"earley"``, and
                for it only) matches each terminal that the parser can use on its own, as long as it can;
                ``"dynamic_complete"`` shorter too.
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
            ValueError: There is no such parser or lexer.
        """
        from grammask.lark_grammars import lark_text, layout_of, parser_and_lexer

        text, path = lark_text(grammar)
        indentation, accepted = layout_of(postlex)
        how = parser_and_lexer(parser, lexer, has_layout=postlex is not None)
        return cls._from_lark_text(text, path, start, how, indentation, accepted, limits)

    @classmethod
    def bundled(cls, name: str, *, limits: Limits | None = None) -> Grammar:
        """Reads a grammar that comes with the package; ``grammask grammars`` lists them.

        Needs the lark library. See ``docs/lexed_grammars.md`` for what each of them covers.

        Raises:
            ImportError: The lark library is not installed.
            ValueError: There is no such grammar.
        """
        from grammask.lark_grammars import bundled

        grammar = bundled(name)
        return cls.from_lark(grammar.path, lexer=grammar.lexer, postlex=grammar.postlex, limits=limits)

    @classmethod
    def _from_lark_text(
        cls,
        text: str,
        path: str,
        start: str,
        parser_and_lexer: tuple[Parser, Lexer],
        indentation: IndentationTuple | None,
        accepted: list[str],
        limits: Limits | None,
    ) -> Grammar:
        from grammask.lark_grammars import lark_definition, with_brackets_of

        parser, lexer = parser_and_lexer
        newline = None if indentation is None else indentation[0]
        definition = lark_definition(
            text, path=path, start=start, lexer=lexer, newline=newline, always_accepted=accepted
        )
        if indentation is not None:
            indentation = with_brackets_of(indentation, {terminal[0] for terminal in definition.terminals})
        core = _grammask.LexedGrammar(
            definition.terminals,
            definition.productions,
            start,
            lexer=lexer,
            rule="lark",
            parser=parser,
            prefer_shift=True,
            indentation=indentation,
            source=text,
            limits=limits,
        )
        # Imported files count too, so what was loaded is the key, not the text.
        content = repr((definition.terminals, definition.productions)).encode()
        recipe = ("_from_lark_text", (text, path, start, parser_and_lexer, indentation, accepted, limits))
        return cls._make(core, content, ("lark", start, parser, lexer, repr(indentation)), recipe)

    @classmethod
    def from_gbnf(
        cls,
        text: str | bytes,
        *,
        start: str = "root",
        lexer: Lexer | None = None,
        parser: Parser | None = None,
        limits: Limits | None = None,
    ) -> Grammar:
        r"""Reads a grammar of llama.cpp. See ``docs/gbnf.md``.

        >>> import grammask
        >>> grammar = grammask.Grammar.from_gbnf(r'root ::= "yes" | "no" [.!]?')
        >>> bytes_only = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
        >>> grammar.compile(bytes_only).is_valid(b"no!")
        True

        Args:
            text: The grammar; bytes must be UTF-8.
            start: The rule that derives whole texts.
            lexer: Reads texts with a lexer, as of :meth:`from_kbnf`.
            parser: The parser behind the lexer, as of :meth:`from_lark`.
            limits: Budgets for reading the text.

        Raises:
            GrammarSyntaxError: Everything in the text that is not GBNF, all at once.
            GrammarSemanticError: Undefined rules, rules that are defined twice.
            UnsupportedGrammar: With a lexer, terminals that are not regular or that rules cannot use.
            LimitExceeded: The text is too large.
            UnicodeDecodeError: The bytes are not UTF-8.
            ValueError: There is no such parser or lexer.
        """
        if lexer is not None or parser is not None:
            from grammask.lark_grammars import parser_and_lexer

            decoded = text if isinstance(text, str) else bytes(text).decode()
            parser, lexer = parser_and_lexer(parser, lexer, has_layout=False)
            lexed = _grammask.LexedGrammar.from_gbnf(decoded, start, lexer, parser, limits)
            recipe = ("_again_lexed_gbnf", (decoded, start, lexer, parser, limits))
            return cls._make(lexed, decoded.encode(), ("gbnf", start, lexer, parser), recipe)
        return cls._from_gbnf(text, start, "llama.cpp", limits)

    @classmethod
    def from_xgrammar_ebnf(
        cls, text: str | bytes, *, root: str = "root", limits: Limits | None = None
    ) -> Grammar:
        """Reads a grammar in XGrammar's EBNF. See ``docs/gbnf.md``.

        Args:
            text: The grammar; bytes must be UTF-8.
            root: The rule that derives whole texts.
            limits: Budgets for reading the text.

        Raises:
            GrammarSyntaxError: Everything in the text that is not in this notation, all at once.
            GrammarSemanticError: Undefined rules, rules that are defined twice.
            UnsupportedGrammar: Options of rules; ``Regex`` and ``Substring``.
            LimitExceeded: The text is too large.
            UnicodeDecodeError: The bytes are not UTF-8.
        """
        return cls._from_gbnf(text, root, "xgrammar", limits)

    @classmethod
    def _from_gbnf(cls, text: str | bytes, start: str, dialect: str, limits: Limits | None) -> Grammar:
        decoded = text if isinstance(text, str) else bytes(text).decode()
        core = _grammask.Grammar.from_gbnf(decoded, start, dialect, limits)
        recipe = ("_from_gbnf", (decoded, start, dialect, limits))
        return cls._make(core, decoded.encode(), ("gbnf", dialect, start), recipe)

    @classmethod
    def _again_lexed_gbnf(
        cls, text: str, start: str, lexer: Lexer, parser: Parser, limits: Limits | None
    ) -> Grammar:
        return cls.from_gbnf(text, start=start, lexer=lexer, parser=parser, limits=limits)

    @classmethod
    def _again_lexed_kbnf(
        cls, text: bytes, start: str, lexer: Lexer, parser: Parser, limits: Limits | None
    ) -> Grammar:
        return cls.from_kbnf(text, start=start, lexer=lexer, parser=parser, limits=limits)

    @classmethod
    def from_llguidance_lark(
        cls,
        text: str,
        *,
        grammars: Mapping[str, str | Grammar] | None = None,
        limits: Limits | None = None,
    ) -> Grammar:
        """Reads a grammar in llguidance's dialect of Lark. See ``docs/llguidance_lark.md``.

        Args:
            text: The grammar; its start symbol is ``start``.
            grammars: What ``@name`` stands for: grammars, or texts in the same dialect, which may name each other.
            limits: Budgets for expressions and schemas inside, and for rules with parameters.

        Raises:
            GrammarSyntaxError: Everything in the text that is not in this notation, all at once.
            GrammarSemanticError: Names without a definition, terminals that are made of themselves.
            UnsupportedGrammar: Priorities, templates, and uses of ``stop`` that would take text back.
            LimitExceeded: The text is too large.
        """
        from grammask.llguidance_grammars import llguidance_grammar

        named = dict(grammars or {})
        core = llguidance_grammar(text, cls, limits, named)
        key = (
            "llguidance",
            *((name, one if isinstance(one, str) else one.digest()) for name, one in named.items()),
        )
        return cls._make(core, text.encode(), key, ("_again_llguidance", (text, named, limits)))

    @classmethod
    def _again_llguidance(
        cls, text: str, grammars: dict[str, str | Grammar], limits: Limits | None
    ) -> Grammar:
        return cls.from_llguidance_lark(text, grammars=grammars, limits=limits)

    @classmethod
    def from_structural_tag(
        cls, tag: str | bytes | Mapping[str, Any], *, limits: Limits | None = None
    ) -> Grammar:
        """Makes the grammar of a structural tag: free text, tags and schemas, as XGrammar describes them in JSON.

        See ``docs/structural_tags.md``.

        Args:
            tag: The tag, or its JSON text: ``{"type": "structural_tag", "format": ...}``, or the older form with
                ``structures`` and ``triggers``.
            limits: Budgets for reading each grammar and schema inside; once the time is over none is begun.

        Raises:
            LimitExceeded: The time is over.
            StructuralTagError: Everything that is wrong, also in grammars and schemas inside, each with its pointer.
            UnsupportedGrammar: What cannot be enforced exactly, if nothing else is wrong.
        """
        from grammask.structural_tags import json_object, structural_tag_part

        return cls.of_part(structural_tag_part(json_object(tag), cls, limits))

    @classmethod
    def from_response_format(
        cls, response_format: str | bytes | Mapping[str, Any], **options: Unpack[SchemaKeywords]
    ) -> Grammar:
        """Makes the grammar of OpenAI's ``response_format``, or ``text.format``. See ``docs/tools.md``.

        Args:
            response_format: An object, or its JSON text, of the type ``text``, ``json_object``, ``json_schema``,
                ``structural_tag`` or ``grammar``.
            options: As of :meth:`from_json_schema`, for schemas.

        Raises:
            ValueError: There is no such type, or what it needs is missing.
            GrammarError: As of the schema, grammar or structural tag inside.
        """
        from grammask.structural_tags import json_object
        from grammask.tools import response_format_grammar

        return response_format_grammar(json_object(response_format), cls, options)

    @classmethod
    def from_tools(
        cls,
        tools: Iterable[Mapping[str, Any]],
        *,
        style: str | Mapping[str, Any],
        tool_choice: str | Mapping[str, Any] | None = "auto",
        parallel: bool = True,
        vocabulary: Vocabulary | None = None,
        **options: Unpack[SchemaKeywords],
    ) -> Grammar:
        """Makes the grammar of outputs that call tools, in the style of a family of models. See ``docs/tools.md``.

        Args:
            tools: Functions and custom tools, in the shape of Chat Completions or Responses.
            style: The name of a style (:func:`grammask.tool_styles.tool_styles`), or one of your own.
            tool_choice: ``"auto"``: text, calls, or text before calls. ``"none"``: text. ``"required"``: calls only. An
                object: calls of this tool only, or among ``allowed_tools``.
            parallel: Whether there may be several calls; a tool that is chosen by name is called once.
            vocabulary: Which of the style's marks are special tokens. Without it, those that are in the models' own
                tokenizers. Special tokens match by id only.
            options: As of :meth:`from_json_schema`, for the schemas of arguments.

        Raises:
            ValueError: There is no such style or tool; two tools have one name.
            GrammarError: Everything that cannot be enforced exactly, each with its JSON pointer.
        """
        from grammask.tool_styles import tool_style
        from grammask.tools import calls_part, chosen_tools

        chosen, choice, is_forced = chosen_tools(tools, tool_choice)
        return cls.of_part(
            calls_part(
                chosen,
                choice,
                tool_style(style) if isinstance(style, str) else style,
                cls,
                most_calls=None if parallel and not is_forced else 1,
                vocabulary=vocabulary,
                schema_options=options,
            )
        )

    @classmethod
    def literal(cls, text: str | bytes) -> Grammar:
        """Makes the grammar of a single text, as a part of others.

        >>> import grammask
        >>> from grammask import Grammar
        >>> answer = "Answer: " + Grammar.from_regex("[0-9]+") + (Grammar.literal("!") | "?")
        >>> bytes_only = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
        >>> answer.compile(bytes_only).is_valid(b"Answer: 42?")
        True
        """
        return cls.of_part(composition.literal(text))

    @classmethod
    def token(cls, token: int | str) -> Grammar:
        """Makes the grammar of one token as a whole: its id counts, its text does not.

        Args:
            token: Its id, or the name of a special token, or the text that only this token has. Looked up when the
                grammar meets a vocabulary.
        """
        return cls.of_part(composition.token(token))

    @classmethod
    def any_token(cls, *tokens: int | str, but: Iterable[int | str] | None = None) -> Grammar:
        """Makes the grammar of any one of some tokens, or of any but some, as a whole.

        Args:
            tokens: Ids, names or texts, as for :meth:`token`.
            but: Any token with text and any special token but these; never an end token.

        Raises:
            TypeError: Both are given, or none of them.
        """
        if bool(tokens) == (but is not None):
            msg = "give the tokens, or those that are meant not to match (`but=`)"
            raise TypeError(msg)
        listed = tokens if but is None else but
        return cls.of_part(composition.tokens(listed, others=but is not None))

    @classmethod
    def text(
        cls,
        *,
        before: str | None = None,
        stops: Sequence[str] = (),
        without: Sequence[str] = (),
        max_characters: int | None = None,
        max_tokens: int | None = None,
    ) -> Grammar:
        """Makes the grammar of any text in UTF-8, as a part of others.

        >>> import grammask
        >>> from grammask import Grammar
        >>> thought = Grammar.text(before="</think>") + "</think>" + Grammar.from_choices(["yes", "no"])
        >>> bytes_only = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
        >>> thought.compile(bytes_only).is_valid(b"hm, a < b</think>no")
        True

        Args:
            before: A word that must follow, in the grammar around this one; the text is what is before the place where
                it ends first. It is no part of the text.
            stops: Other words at which the text would have ended too.
            without: Words that are not in the text.
            max_characters: The most characters.
            max_tokens: The most tokens of the model.

        Raises:
            ValueError: A word is empty, or a bound negative.
        """
        return cls.of_part(
            composition.free_text(
                before=before,
                stops=stops,
                without=without,
                max_characters=max_characters,
                max_tokens=max_tokens,
            )
        )

    @classmethod
    def text_until(
        cls,
        *ends: str,
        without: Sequence[str] = (),
        max_characters: int | None = None,
        max_tokens: int | None = None,
    ) -> Grammar:
        """Makes the grammar of any text up to the first of some words, and this word.

        Args:
            ends: The words.
            without: As for :meth:`text`.
            max_characters: As for :meth:`text`, without the word at the end.
            max_tokens: As for :meth:`text`, without the word at the end.

        Raises:
            ValueError: There is no word, or as for :meth:`text`.
        """
        parts = []
        for end in ends:
            before = composition.free_text(
                before=end,
                stops=ends,
                without=without,
                max_characters=max_characters,
                max_tokens=max_tokens,
            )
            parts.append(composition.sequence([before, composition.literal(end)]))
        return cls.of_part(composition.choice(parts))

    @classmethod
    def concat(cls, *parts: Grammar | str | bytes) -> Grammar:
        """Makes the grammar of a text of each part, in order. Also ``a + b``.

        Raises:
            TypeError: A part has a lexer, or is no grammar.
        """
        return cls.of_part(composition.sequence(_part_of(part) for part in parts))

    @classmethod
    def union(cls, *parts: Grammar | str | bytes) -> Grammar:
        """Makes the grammar of the texts of any part. Also ``a | b``.

        Raises:
            TypeError: A part has a lexer, or is no grammar.
            ValueError: There are no parts.
        """
        return cls.of_part(composition.choice(_part_of(part) for part in parts))

    def repeat(self, least: int = 0, most: int | None = None) -> Grammar:
        """Makes the grammar of ``least`` to ``most`` texts of this one in a row; of any more, if ``most`` is None.

        Raises:
            ValueError: The bounds are negative or contradict each other.
        """
        return self.of_part(composition.repeat(self.as_part(), least, most))

    def optional(self) -> Grammar:
        """Makes the grammar of the texts of this one and the empty text."""
        return self.repeat(0, 1)

    def named(self, name: str) -> Grammar:
        """Makes the same grammar with a name, which explanations show where it is a part of another."""
        return self.of_part(composition.named(self.as_part(), name))

    def __add__(self, other: Grammar | str | bytes) -> Grammar:
        """Returns the concatenation."""
        return self.concat(self, other) if isinstance(other, Grammar | str | bytes) else NotImplemented

    def __radd__(self, other: str | bytes) -> Grammar:
        """Returns the concatenation."""
        return self.concat(other, self) if isinstance(other, str | bytes) else NotImplemented

    def __or__(self, other: Grammar | str | bytes) -> Grammar:
        """Returns the union."""
        return self.union(self, other) if isinstance(other, Grammar | str | bytes) else NotImplemented

    def __ror__(self, other: str | bytes) -> Grammar:
        """Returns the union."""
        return self.union(other, self) if isinstance(other, str | bytes) else NotImplemented

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
        excludes: Sequence[str] = (),
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
            key_order: ``"declared"``: first the declared names in their order, then all others. ``"any"``: any order.
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
            excludes: Words that no string and no name contains as it is written, between its quotes.
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
        from grammask.schemas.json_text import schema_text
        from grammask.schemas.spelling import schema_options

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
            excludes=excludes,
        )
        if strict:
            _check_strict(schema, text)
        if resolver is not None:
            from grammask.schemas import documents

            options = documents.resolve(text, options, resolver, limits)
        return cls._from_schema_text(text, options, limits)

    @classmethod
    def from_string_schema(
        cls,
        schema: Schema,
        *,
        formats: bool = True,
        excludes: Sequence[str] = (),
        limits: Limits | None = None,
    ) -> Grammar:
        """Makes the grammar of the strings that are valid under a JSON Schema, as they are, without quotes and escapes.

        >>> import grammask
        >>> grammar = grammask.Grammar.from_string_schema({"format": "date", "not": {"const": "2000-01-01"}})
        >>> bytes_only = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
        >>> compiled = grammar.compile(bytes_only)
        >>> compiled.is_valid(b"2000-01-02"), compiled.is_valid(b"2000-01-01")
        (True, False)

        Args:
            schema: The schema, or its JSON text. What it says of other values does not matter.
            formats: Whether ``format`` constrains strings.
            excludes: Words that are not in the strings.
            limits: Budgets for reading the schema.

        Raises:
            GrammarError: As :meth:`from_json_schema`; also if no string is valid.
            TypeError: ``schema`` holds what JSON does not have.
            ValueError: A word is empty.
        """
        from grammask.schemas.json_text import schema_text
        from grammask.schemas.spelling import plain_options

        options = plain_options(formats=formats, excludes=excludes)
        return cls._from_string_schema_text(schema_text(schema), options, limits)

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
        from grammask.schemas import python_types

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
        from grammask.schemas import python_types

        return cls.from_json_schema(python_types.schema_of(tp), **options)

    @classmethod
    def _from_schema_text(cls, text: str, options: _grammask.SchemaOptions, limits: Limits | None) -> Grammar:
        core = _grammask.json_schema_grammar(text, options, limits)
        recipe = ("_from_schema_text", (text, options, limits))
        return cls._make(core, text.encode(), ("json_schema", options), recipe)

    @classmethod
    def _from_string_schema_text(
        cls, text: str, options: _grammask.SchemaOptions, limits: Limits | None
    ) -> Grammar:
        core = _grammask.plain_text_grammar(text, options, limits)
        recipe = ("_from_string_schema_text", (text, options, limits))
        return cls._make(core, text.encode(), ("string_schema", options), recipe)

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


def _part_of(part: object) -> Part:
    if isinstance(part, Grammar):
        return part.as_part()
    if isinstance(part, (str, bytes)):
        return composition.literal(part)
    msg = f"a part is a Grammar, a string or bytes, and not {type(part).__name__}"
    raise TypeError(msg)


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
    from grammask.schemas import strict_subset

    violations = strict_subset.strict_violations(value)
    if violations:
        raise SchemaNotStrict("\n\n".join(violation.rendered for violation in violations), violations)
