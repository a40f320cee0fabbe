"""Grammars: from a text of some grammar language to masks for a vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from grammask import _grammask
from grammask.compile_cache import CompileCache, default_compile_cache

if TYPE_CHECKING:
    from grammask._grammask import CompiledGrammar, Limits, Vocabulary
    from grammask.errors import Diagnostic


class Grammar:
    """A language of texts. Made by one of the ``from_*`` methods; immutable and picklable.

    >>> import grammask
    >>> grammar = grammask.Grammar.from_kbnf('start ::= "yes" | "no";')
    >>> vocabulary = grammask.Vocabulary([b"y", b"es", b"no", b"n", None], eos=4)
    >>> matcher = grammar.compile(vocabulary).matcher()
    >>> matcher.allowed_ids().tolist()
    [0, 2, 3]
    """

    __slots__ = ("_core", "_start", "_text")

    _core: _grammask.Grammar
    _text: bytes
    _start: str

    def __init__(self) -> None:
        msg = "make a Grammar with one of its from_* methods, for example Grammar.from_kbnf(text)"
        raise TypeError(msg)

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
        grammar = object.__new__(cls)
        grammar._core = _grammask.Grammar.from_kbnf(encoded, start, limits)
        grammar._text = encoded
        grammar._start = start
        return grammar

    @property
    def source(self) -> str:
        """The text that the grammar was made from."""
        return self._core.source

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
            ("kbnf", self._start, end, limits, finite),
            lambda: self._core.compile(vocabulary, end, limits, finite),
        )

    def check(self, limits: Limits | None = None) -> list[Diagnostic]:
        """Warnings: unused rules, rules that derive nothing or never end, rules that derive themselves.

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

    def __reduce__(self) -> tuple[object, tuple[bytes, str]]:
        return _restore_kbnf, (self._text, self._start)

    def __repr__(self) -> str:
        first_line = self.source.strip().split("\n", 1)[0]
        return f"<Grammar {first_line[:60]!r}>"


def _restore_kbnf(text: bytes, start: str) -> Grammar:
    return Grammar.from_kbnf(text, start=start)
