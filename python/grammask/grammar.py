"""Grammars: immutable values with a source, which are combined, checked, and compiled for a vocabulary."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

from grammask import _grammask
from grammask._grammask import Limits, Vocabulary
from grammask.arguments import check_flag, check_path, check_type
from grammask.compile_cache import CompileCache, default_compile_cache
from grammask.composition import Part
from grammask.grammar_algebra import GrammarAlgebra
from grammask.grammar_readers import GrammarReaders
from grammask.learned_masks import DEFAULT_MAX_BYTES, masks_along, write_whole
from grammask.named_keywords import named_keywords
from grammask.request_limits import request
from grammask.sources import SourceKey, source_digest

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from typing_extensions import Self

    from grammask._grammask import CompiledGrammar
    from grammask.ambiguity import AmbiguityReport
    from grammask.errors import Diagnostic
    from grammask.markdown import OtherBlocks
    from grammask.readers.encoded import Encoding, Spellings
    from grammask.sources import EngineGrammar, Source


@named_keywords
class Grammar(GrammarAlgebra, GrammarReaders):
    """A language of texts. Made by a ``from_*`` method; immutable and picklable.

    >>> import grammask
    >>> grammar = grammask.Grammar.from_kbnf('start ::= "yes" | "no";')
    >>> vocabulary = grammask.Vocabulary([b"y", b"es", b"no", b"n", None], eos=4)
    >>> matcher = grammar.compile(vocabulary).matcher()
    >>> matcher.allowed_ids().tolist()
    [0, 2, 3]
    """

    __slots__ = ("_built", "_key", "_source")

    _source: Source
    _key: SourceKey | None
    _built: EngineGrammar | None

    def __init__(self) -> None:
        msg = "make a Grammar with one of its from_* methods, for example Grammar.from_kbnf(text)"
        raise TypeError(msg)

    @classmethod
    def of_source(cls, source: Source) -> Self:
        """Returns the grammar of a reader's source.

        Raises:
            GrammarError: As of the reader.
        """
        grammar = object.__new__(cls)
        grammar._source, grammar._key = source, None
        # A part is built when it is first used: most parts only go into larger ones.
        is_part = isinstance(source, Part)
        limits = getattr(source, "limits", None)
        grammar._built = None if is_part else _grammask.within_limits(limits, source.build)
        return grammar

    @property
    def _core(self) -> EngineGrammar:
        if self._built is None:
            self._built = _grammask.within_limits(None, self._source.build)
        return self._built

    @classmethod
    def of_part(cls, part: Part) -> Self:
        """Returns the grammar of a part of :mod:`grammask.composition`."""
        return cls.of_source(part)

    def as_part(self) -> Part:
        """Returns the grammar as a part of others."""
        return Part.of_source(self._source, self._built)

    def digest(self) -> bytes:
        """Returns a hash of the grammar's source; equal for equal grammars in all processes."""
        return source_digest(self._source)

    def graft_into(self, joined: _grammask.Composition) -> int:
        """Adds the grammar to a composition; returns the number of the part.

        Raises:
            GrammarError: It has a lexer, and its tables cannot be made.
        """
        return Part.of_source(self._source, self._core).graft_into(joined)

    @request
    def encoded(
        self,
        encoding: Encoding,
        *,
        spellings: Spellings = "any",
        quote: Literal['"', "'"] = '"',
        prefix: str | None = None,
        first_line: bool = True,
        limits: Limits | None = None,
    ) -> Self:
        r"""Returns the grammar of the texts that decode to a text of this one. See ``docs/composition.md``.

        Encodings nest: the result may be encoded again. With a lexer, lexemes and indentation are those of the decoded
        text.

        >>> import grammask
        >>> query = grammask.Grammar.from_choices(['SELECT "a"', "SELECT 1"])
        >>> call = '{"query": "' + query.encoded("json-string") + '"}'
        >>> bytes_only = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
        >>> compiled = call.compile(bytes_only)
        >>> compiled.is_valid(rb'{"query": "SELECT \u0022a\""}'), compiled.is_valid(rb'{"query": "SELECT "a""}')
        (True, False)

        Args:
            encoding: ``"json-string"``: the inside of a JSON string. ``"xml-text"``, ``"xml-attribute"``: the text of
                an XML element, and the value of an attribute between quotes. ``"python-string"``: the inside of a
                Python string on one line. ``"indented"``, ``"block-quote"``: lines with a prefix.
            spellings: ``"any"``: every spelling of a character. ``"canonical"``: one, which is the character itself
                where the encoding allows it.
            quote: The delimiter of an attribute or a Python string, which the text does not contain unescaped.
            prefix: The prefix of lines; four spaces for ``"indented"`` and ``"> "`` for ``"block-quote"`` by default.
            first_line: Whether the first line has the prefix, or is the remainder of a line.
            limits: Limits of the automata of terminals.

        Raises:
            UnsupportedGrammar: The grammar names tokens, or a terminal of a lexer matches parts of characters.
            GrammarSemanticError: A terminal of a lexer has no text that can be spelled.
            LimitExceeded: A limit is exceeded.
            ValueError: There is no such encoding or option.
        """
        from grammask.readers.encoded import EncodedSource, line_prefix

        check_type("encoding", encoding, str, "the name of an encoding")
        check_flag("first_line", first_line)
        before_lines = line_prefix(encoding, prefix)
        name = encoding if before_lines is None else "line-prefix"
        source = EncodedSource(self._source, name, spellings, quote, before_lines or "", limits)
        grammar = self.of_source(source)
        return before_lines + grammar if before_lines and first_line else grammar

    @property
    def source(self) -> str:
        """The text that the grammar was made from."""
        return self._core.source

    @property
    def relaxations(self) -> list[Diagnostic]:
        """The constraints of a schema that the grammar does not enforce, with ``on_unsupported="relax"``."""
        return self._core.relaxations

    def compile(
        self,
        vocabulary: Vocabulary,
        *,
        end: Literal["eos", "eager"] = "eos",
        limits: Limits | None = None,
        finite: bool = False,
        cache: CompileCache | bool = True,
        masks: str | os.PathLike[str] | None = None,
    ) -> CompiledGrammar:
        """Compiles the grammar for a vocabulary. Cheap: states and masks are computed when they are first needed.

        Args:
            vocabulary: The tokens of the model; shared, not copied.
            end: ``"eos"``: end tokens are legal exactly when the text is complete. ``"eager"``: the text ends with the
                first token after which it is complete, as in KBNF.
            limits: Limits of compiling, and of all later calls on the compiled grammar.
            finite: Whether rules that never end are an error, such as ``start ::= "a" start;``.
            cache: Where compiled grammars are looked up and kept: :data:`grammask.default_compile_cache`, nowhere
                (False), or another cache.
            masks: A file of :meth:`save_masks`, whose masks are cached, so that the texts that it was made of need no
                others to be computed.

        Raises:
            GrammarSemanticError: No text matches; a token is not in the vocabulary; ``end="eos"`` without an end token;
                a rule never ends, with ``finite``; ``masks`` are of another vocabulary.
            GrammarSyntaxError: ``masks`` are damaged, or of another grammar or release.
            LimitExceeded: A limit is exceeded.
            OSError: ``masks`` cannot be read.
        """
        if masks is not None:
            check_path("masks", masks)
        compiled = self._compiled(vocabulary, end, limits, finite=finite, cache=cache)
        if masks is not None:
            from pathlib import Path  # Takes as long as a quarter of the package.

            compiled.add_masks(self.digest(), Path(masks).read_bytes())
        return compiled

    def save_masks(
        self,
        path: str | os.PathLike[str],
        vocabulary: Vocabulary,
        texts: Iterable[str | bytes],
        *,
        end: Literal["eos", "eager"] = "eos",
        limits: Limits | None = None,
        cache: CompileCache | bool = True,
        max_bytes: int = DEFAULT_MAX_BYTES,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Writes the masks at all bytes of texts to a file, for :meth:`compile` in other processes.

        The file belongs to this grammar, vocabulary, end mode and release of grammask. It is replaced as a whole, so
        processes can share it. Masks under token budgets that are nearly used up, and after tokens that the grammar
        names or counts, are not in it: they are computed when they are needed, as all others that it lacks.

        Args:
            path: The file.
            vocabulary: The tokens of the model.
            texts: Typical texts, the most important first. Each counts up to its first illegal byte.
            end: As for :meth:`compile`.
            limits: As for :meth:`compile`.
            cache: As for :meth:`compile`.
            max_bytes: About the maximum length of the file.
            progress: Called with the number of bytes that are done and that of all: :func:`grammask.progress_bar`.

        Raises:
            GrammarError: As of :meth:`compile`.
            OSError: The file cannot be written.
        """
        check_path("path", path)
        compiled = self.compile(vocabulary, end=end, limits=limits, cache=cache)
        write_whole(path, masks_along(compiled, self.digest(), texts, max_bytes, progress))

    def _compiled(
        self,
        vocabulary: Vocabulary,
        end: Literal["eos", "eager"],
        limits: Limits | None,
        *,
        finite: bool,
        cache: object,
    ) -> CompiledGrammar:
        if not isinstance(cache, bool | CompileCache):
            msg = f"cache is True, False or a CompileCache, not {type(cache).__name__}"
            raise TypeError(msg)
        check_type("vocabulary", vocabulary, Vocabulary, "a Vocabulary")
        check_type("end", end, str, "'eos' or 'eager'")
        check_type("limits", limits, (Limits, type(None)), "a Limits or None")
        check_flag("finite", finite)

        def compiled() -> CompiledGrammar:
            # A part is built here, within the limits of compiling.
            return _grammask.within_limits(
                limits, lambda: self._core.compile(vocabulary, end, limits, finite, self._source)
            )

        if cache is False:
            return compiled()
        if self._key is None:
            self._key = SourceKey(self._source)
        return (default_compile_cache if cache is True else cache).find(
            vocabulary,
            self._key,
            (end, limits, finite),
            compiled,
        )

    def shortest_text(self, limits: Limits | None = None) -> bytes:
        """Returns a shortest text of the grammar, in bytes. Deterministic.

        Raises:
            GrammarSemanticError: No text matches, all texts are infinite (code ``no-completion``), or the grammar names
                tokens.
            LimitExceeded: A limit is exceeded.
        """
        compiled = self.compile(_byte_vocabulary(), limits=limits, cache=False)
        return compiled.matcher().shortest_completion().text

    def check(self, limits: Limits | None = None) -> list[Diagnostic]:
        """Returns warnings: unused rules, rules that derive nothing, never end, or derive themselves.

        Also constructs of regular expressions in Rust's syntax that mean something else in Python's; for a schema,
        keywords that have no effect although they appear to, such as unknown formats.

        Raises:
            GrammarSemanticError: No text matches the grammar.
            LimitExceeded: A limit is exceeded.
        """
        return _grammask.within_limits(limits, lambda: [*self._core.warnings(), *self._core.check(limits)])

    def ambiguity(self, limits: Limits | None = None) -> AmbiguityReport:
        """Searches for the shortest text with two parse trees, for at most 10 s. See ``docs/inspecting.md``.

        Masks are exact for ambiguous grammars too. Ambiguity matters for captures and for other parsers.

        >>> import grammask
        >>> report = grammask.Grammar.from_kbnf('start ::= start "+" start | "n";').ambiguity()
        >>> report.ambiguity.rule, report.ambiguity.text
        ('start', '"n+n+n"')

        Raises:
            GrammarError: A limit was exceeded.
        """
        from grammask.ambiguity import find_ambiguity

        return _grammask.within_limits(limits, lambda: find_ambiguity(self._core, limits))

    def diagrams(self) -> list[tuple[str, str]]:
        """Returns the railroad diagrams of the rules, as pairs of a rule and an ``<svg>`` element.

        The rules are those that the author wrote, in their order; of a schema, those that express it. Each reference to
        a rule has an attribute ``data-rule``.

        >>> import grammask
        >>> [rule for rule, svg in grammask.Grammar.from_kbnf('start ::= "a" b; b ::= "b"+;').diagrams()]
        ['start', 'b']
        """
        return self._core.railroad()

    def automaton(self, name: str) -> str:
        """Returns the automaton of a terminal or of a rule whose language is regular, as an ``<svg>`` element.

        Args:
            name: A terminal as the grammar writes it, the text of a literal, or the name of a rule; with a lexer, the
                name of a terminal.

        Raises:
            ValueError: There is no such terminal or rule, its language is not regular, or its automaton is too large.
        """
        return self._core.automaton(name)

    def _repr_html_(self) -> str:
        from grammask.notebooks import grammar_html

        return grammar_html(self.source, self.diagrams())

    @staticmethod
    def markdown_answer(
        code: Mapping[str, Grammar | Literal[True]] | Iterable[str],
        *,
        other: OtherBlocks = "free",
        fences: Sequence[str] = ("```",),
        max_indent: int = 0,
        max_quotations: int = 0,
        min_blocks: int = 0,
    ) -> Grammar:
        """Calls :func:`grammask.texts.markdown_answer`."""
        from grammask.texts import markdown_answer

        return markdown_answer(
            code,
            other=other,
            fences=fences,
            max_indent=max_indent,
            max_quotations=max_quotations,
            min_blocks=min_blocks,
        )

    @staticmethod
    def html_page() -> Grammar:
        """Calls :func:`grammask.texts.html_page`."""
        from grammask.texts import html_page

        return html_page()

    def stages(self, limits: Limits | None = None) -> list[tuple[str, str]]:
        """Returns the grammar after each pass of the lowering for display, as (name of the pass, text).

        Raises:
            GrammarError: As of :meth:`compile`.
        """
        return self._core.stages(limits)

    def __reduce__(self) -> tuple[object, tuple[Source]]:
        return _restore, (self._source,)

    def __repr__(self) -> str:
        source = self._source
        if isinstance(source, Part) and source.kind != "source":
            return f"<Grammar: {source.summary()[:60]}>"
        first_line = self.source.strip().split("\n", 1)[0]
        return f"<Grammar {first_line[:60]!r}>"


@cache
def _byte_vocabulary() -> Vocabulary:
    return _grammask.Vocabulary([*(bytes([byte]) for byte in range(256)), None], eos=256)


def _restore(source: Source) -> Grammar:
    # A function of the module, since unpicklers with a list of approved names cannot approve class methods.
    return Grammar.of_source(source)
