"""The native extension module. Use it through the package ``grammask``."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, SupportsIndex, TypeVar, final, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, disjoint_base

from grammask.errors import Diagnostic

__all__ = [
    "AccountEntry",
    "BatchStep",
    "CompiledGrammar",
    "Completion",
    "Composition",
    "Expectation",
    "Explanation",
    "FirstMatches",
    "Grammar",
    "LexedGrammar",
    "Limits",
    "MatchLanguage",
    "Matcher",
    "MemoryAccount",
    "OrderedPattern",
    "PairMerges",
    "Parse",
    "Parser",
    "PiecePattern",
    "SchemaOptions",
    "StreamliningReport",
    "TextExplanation",
    "Vocabulary",
    "apply_mask_row",
    "check_limits",
    "compact_json",
    "content_names",
    "copy_legal_row",
    "embedded_vocabulary",
    "encode_ordinary",
    "fill_masks",
    "item_sets_diagram",
    "json_schema_grammar",
    "kbnf_syntax_tree",
    "keyword_effects",
    "measure_mask_row",
    "missing_documents",
    "open_vocabulary",
    "plain_text_grammar",
    "quote_bytes",
    "saved_vocabulary",
    "set_threads",
    "step_batch",
    "streamlining_report",
    "threads",
    "within_limits",
    "xgrammar_expression",
]

_Result = TypeVar("_Result")

@disjoint_base
class Vocabulary:
    """The tokens of a model: their bytes, the special tokens, and the end tokens.

    Immutable, thread-safe, and shared by all grammars without copying: make one per model. Copies are the object
    itself. Can be pickled.
    """

    def __new__(
        cls,
        tokens: Iterable[bytes | None] | Vocabulary,
        *,
        special: Mapping[str, int] | None = None,
        eos: int | str | Iterable[int | str] | None = None,
        size: int | None = None,
    ) -> Self:
        """Make a vocabulary in which ``tokens[i]`` is the text of id i.

        Args:
            tokens: The bytes of each token, or None (or ``b""``) for a token without text, which no grammar
                matches. Ids with equal bytes are legal together. A vocabulary, without other arguments, is copied:
                the copy equals it and shares its memory.
            special: Ids of the special tokens by name. A special token has no text, even if ``tokens`` has bytes for
                it: only a grammar that names it matches it. An id can have several names; a name has one id.
            eos: The end tokens, by id or by special name. They have no text either.
            size: Number of ids including padding, usually the width of the model's logits; ``len(tokens)`` if None.

        Raises:
            TypeError: A token is not bytes, a name not a string or an id not an integer.
            VocabularyError: There are no tokens, an id is outside the vocabulary, a name is ambiguous or unknown, the
                size is too small, or a token has more than 65,535 bytes.

        Cost: 20 ms for 200,000 tokens, and 45 bytes of memory per token.
        """

    @property
    def size(self) -> int:
        """Number of ids, including padding: the width of a mask in bits."""

    @property
    def eos(self) -> tuple[int, ...]:
        """Ids of the end tokens, in ascending order."""

    @property
    def special(self) -> dict[str, int]:
        """Ids of the special tokens by name, as a new dictionary."""

    def token(self, id: SupportsIndex) -> bytes | None:
        """Return the bytes of a token; None for a token without text, such as special tokens, end tokens and padding.

        Raises:
            IndexError: The vocabulary has no such id.
        """

    def tokens(self) -> list[bytes | None]:
        """Return the bytes of each token as :meth:`token` does, as a new list; padding at the end may be omitted."""

    def name_of(self, id: SupportsIndex) -> str | None:
        """Return the name of a special token, the first one if it has several; None for all other tokens.

        Raises:
            IndexError: The vocabulary has no such id.
        """

    def ids_of(self, text: bytes) -> list[int]:
        """Return the ids of all tokens whose bytes equal ``text``, in ascending order."""

    @property
    def cache_bytes(self) -> int:
        """Estimated memory of the summaries of terminals that all grammars of this vocabulary share, in bytes."""

    def set_cache_capacity(self, bytes: int) -> None:
        """Set the maximum of :attr:`cache_bytes`: 22 MiB by default; 0 disables the cache.

        From a full cache, what was not read lately is removed. Masks stay correct, and some of them are computed again.
        """

    def to_bytes(self) -> bytes:
        """Return the vocabulary in few bytes, for :meth:`grammask.Vocabulary.from_bytes`."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the vocabulary to a file, for :meth:`grammask.Vocabulary.load`.

        The file has about 140 bytes per token, 14 times those of :meth:`to_bytes`: all tables as they are in memory.
        It is replaced as a whole, so processes that have it open keep the previous one; on Windows it cannot be
        replaced while a process has it open.

        Raises:
            OSError: The file cannot be written.
        """

    def __len__(self) -> int: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any, /) -> Self: ...
    def __getnewargs_ex__(self) -> tuple[tuple[list[bytes | None]], dict[str, Any]]: ...

def saved_vocabulary(saved: bytes) -> Vocabulary:
    """Read the bytes of a saved vocabulary. Use :meth:`grammask.Vocabulary.from_bytes`."""

def open_vocabulary(path: str | os.PathLike[str]) -> Vocabulary:
    """Read the file of a saved vocabulary. Use :meth:`grammask.Vocabulary.load`."""

def embedded_vocabulary(name: str) -> tuple[list[bytes | None], dict[str, int]]:
    """Return the tokens and the special tokens of a vocabulary that is embedded in the extension module.

    Args:
        name: ``"o200k_base"`` or ``"cl100k_base"``.

    Raises:
        KeyError: No such vocabulary is embedded.

    Cost: some 20 ms.
    """

def encode_ordinary(name: str, text: str) -> list[int]:
    """Tokenize a text with the tokenizer of an embedded vocabulary, without special tokens.

    Args:
        name: As for ``embedded_vocabulary``.
        text: The text.

    Raises:
        KeyError: No such vocabulary is embedded.
    """

@final
class Limits:
    """Limits for one grammar, from its source to its masks. Immutable; compared by value; can be pickled.

    The defaults suit a server that compiles untrusted grammars. Exceeding a limit raises
    :class:`grammask.LimitExceeded`, which names the limit.
    """

    def __new__(
        cls,
        *,
        grammar_bytes: int | None = None,
        grammar_size: int | None = None,
        automaton_states: int | None = None,
        set_items: int | None = None,
        bound_bytes: int | None = None,
        memory_bytes: int | None = None,
        seconds: float | None = None,
    ) -> Self:
        """Make limits. None selects the default of a limit.

        Raises:
            ValueError: A negative number.
        """

    @property
    def grammar_bytes(self) -> int:
        """Maximum length of the source, in bytes."""

    @property
    def grammar_size(self) -> int:
        """Maximum number of symbols and alternatives of a grammar, before and after lowering."""

    @property
    def automaton_states(self) -> int:
        """Maximum number of states of the automata of all terminals together."""

    @property
    def set_items(self) -> int:
        """Maximum number of items of one Earley set, including predicted ones."""

    @property
    def bound_bytes(self) -> int:
        """Maximum length of a text that is bound to a name, in bytes."""

    @property
    def memory_bytes(self) -> int:
        """Maximum memory of one compiled grammar, and that one call allocates, in bytes, within a factor of two."""

    @property
    def seconds(self) -> float:
        """Maximum duration of one call (read, compile, mask, accept) with all that it does, in seconds."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, float]]: ...

@final
class Grammar:
    """A grammar in the representation of the core. Use :class:`grammask.Grammar`."""

    @staticmethod
    def from_kbnf(text: bytes, start: str, limits: Limits | None = None) -> Grammar:
        """Read a grammar in KBNF."""

    @staticmethod
    def from_gbnf(text: str, start: str, dialect: str, limits: Limits | None = None) -> Grammar:
        """Read a grammar in GBNF; ``dialect`` is ``"llama.cpp"`` or ``"xgrammar"``."""

    @staticmethod
    def from_regex(pattern: str, syntax: str, limits: Limits | None = None) -> Grammar:
        """Make the grammar of a regular expression; ``syntax`` is ``"rust"`` or ``"ecma"``."""

    @staticmethod
    def from_choices(texts: Sequence[bytes], limits: Limits | None = None) -> Grammar:
        """Make the grammar of a list of texts."""

    def encoded(
        self, encoding: str, spellings: str, quote: str, prefix: str, limits: Limits | None = None
    ) -> Grammar:
        """Return the grammar of the texts that decode to a text of this one.

        Args:
            encoding: ``"json-string"``, ``"xml-text"``, ``"xml-attribute"``, ``"python-string"``, ``"line-prefix"`` or
                ``"indented-block"``.
            spellings: ``"any"`` or ``"canonical"``.
            quote: The delimiter of an attribute or a Python string.
            prefix: The text after each line feed, for ``"line-prefix"``; that of lines of an ``"indented-block"``.
            limits: Limits of the automata of the encoded terminals.

        Raises:
            ValueError: There is no such encoding or option.
            GrammarError: A terminal names tokens, or a limit was exceeded.
        """

    @property
    def source(self) -> str:
        """The source text."""

    @property
    def rule_names(self) -> list[str]:
        """The names of the rules, in the order of their definition; a composition adds numbers to equal names."""

    @property
    def relaxations(self) -> list[Diagnostic]:
        """The constraints of a schema that the grammar does not enforce, with ``on_unsupported="relax"``."""

    def railroad(self) -> list[tuple[str, str]]:
        """Draw the rules as railroad diagrams: pairs of a rule and an SVG element."""

    def automaton(self, name: str) -> str:
        """Draw the automaton of a terminal or of a rule whose language is regular, as an SVG element.

        Raises:
            ValueError: There is no such terminal or rule, it has no automaton, or the automaton is too large.
        """

    def ambiguity(
        self, limits: Limits | None = None
    ) -> tuple[tuple[str, str, list[tuple[int, str]], list[tuple[int, str]]] | None, int | None]:
        """Search for the shortest ambiguous text; see :meth:`grammask.Grammar.ambiguity`.

        Returns:
            The ambiguity (rule, text, and the lines of two trees as depth and label) or None, and the length up to
            which all words were compared, or None if parts of the grammar are not searched.
        """

    def conflicts(self, limits: Limits | None = None) -> list[Diagnostic]:
        """Return an empty list, for the interface of :class:`LexedGrammar`."""

    def warnings(self) -> list[Diagnostic]:
        """Return the warnings of the front end."""

    def check(self, limits: Limits | None = None) -> list[Diagnostic]:
        """Lower the grammar; return the warnings of the passes.

        Raises:
            GrammarError: The grammar has no texts, or a limit was exceeded.
        """

    def compile(
        self,
        vocabulary: Vocabulary,
        end: str,
        limits: Limits | None = None,
        finite: bool = False,
        source: object = None,
    ) -> CompiledGrammar:
        """Compile the grammar for a vocabulary; see :meth:`grammask.Grammar.compile`.

        ``source`` is the source of the grammar, for :meth:`CompiledGrammar.save`.
        """

    def stages(self, limits: Limits | None = None) -> list[tuple[str, str]]:
        """Return the grammar before and after each pass of lowering, as pairs of pass and text."""

@final
class Composition:
    """Joins grammars and other parts in one grammar.

    Parts, rules and languages are identified by the numbers that the methods return. Languages are regular;
    :meth:`terminal` makes a part of one. Nothing can be used after :meth:`finish`.
    """

    def __new__(cls) -> Self: ...
    def literal(self, bytes: bytes) -> int:
        """Make a part of a byte string."""

    def grammar(self, grammar: Grammar) -> int:
        """Make a part of a grammar. The same grammar is the same part."""

    def lexed(self, grammar: LexedGrammar, label: str, limits: Limits | None = None) -> int:
        """Make a part of a grammar with a lexer, which sees only the text of the part; messages call it ``label``.

        Raises:
            GrammarError: As of :meth:`LexedGrammar.compile`.
        """

    def binding(self, word: str, name: str, operand: int | None = None) -> int:
        """Make a part that binds a name (``"bind"``) or refers to the bound text.

        The other words are ``"same"``, without an operand, ``"other"`` and ``"without_prefix"``.
        """

    def scope(self, part: int) -> int:
        """Make a part of another one in which names are bound."""

    def token(self, token: int | str) -> int:
        """Make a part of one token, by id, special name or text."""

    def tokens(
        self, listed: Sequence[int | str], others: bool, ranges: Sequence[tuple[int, int]] = ...
    ) -> int:
        """Make a part of any one of the listed tokens and ranges of ids or, with ``others``, of all other tokens."""

    def text(
        self,
        ends: Sequence[bytes],
        end: int,
        excludes: Sequence[bytes],
        max_characters: int | None = None,
        max_tokens: int | None = None,
    ) -> int:
        """Make a part of free text before the end word ``ends[end]``, which is the first of ``ends`` to occur.

        The text contains no word of ``excludes``, and has the given maximum length.
        """

    def sequence(self, parts: Sequence[int]) -> int:
        """Make the sequence of parts."""

    def choice(self, parts: Sequence[int]) -> int:
        """Make the choice of parts.

        Raises:
            ValueError: There are no parts.
        """

    def repeat(self, part: int, min_count: int, max_count: int | None = None) -> int:
        """Make a repetition of a part, ``min_count`` to ``max_count`` times.

        Raises:
            ValueError: ``max_count`` is less than ``min_count``.
        """

    def selection(
        self, parts: Sequence[int], required: Sequence[int], repeatable: Sequence[int], separator: int
    ) -> int:
        """Make a selection: parts in any order with separators between them, at least one in all.

        A required part occurs once, a repeatable part any number of times, any other part at most once. No part and
        no separator may match the empty text.

        Args:
            parts: The parts.
            required: Positions in ``parts``.
            repeatable: Positions in ``parts``.
            separator: The part between two parts.

        Raises:
            ValueError: There is no such part, or the conditions are contradictory.
        """

    def named(self, name: str, part: int) -> int:
        """Make a rule of a part, which names it and lets the parser share it between its uses."""

    def rule(self, name: str) -> int:
        """Make a rule without a definition. Names need not be unique."""

    def reference(self, rule: int) -> int:
        """Make a part of a rule."""

    def define(self, rule: int, part: int) -> None:
        """Define a rule. Several definitions are alternatives."""

    def regex_language(self, pattern: str, limits: Limits | None = None) -> int:
        """Make the language of a regular expression in the syntax of the Rust crate ``regex``."""

    def literal_language(self, bytes: bytes) -> int:
        """Make the language of one byte string."""

    def range_language(self, first: str, last: str) -> int:
        """Make the language of the characters from ``first`` to ``last``."""

    def substring_language(self, text: str) -> int:
        """Make the language of the substrings of a text, including the empty one."""

    def chunks_language(self, chunks: list[str]) -> int:
        """Make the language of the concatenations of consecutive chunks, including the empty one.

        Raises:
            ValueError: There are more than a million distinct chunks.
        """

    def is_nullable_language(self, language: int) -> bool:
        """Return whether a language contains the empty text."""

    def warn(self, message: str, help: str) -> None:
        """Add a warning about an annotation without effect."""

    def concatenated_language(self, languages: Sequence[int]) -> int:
        """Make the concatenation of languages."""

    def union_language(self, languages: Sequence[int]) -> int:
        """Make the union of languages."""

    def intersection_language(self, languages: Sequence[int]) -> int:
        """Make the intersection of languages."""

    def complement_language(self, language: int) -> int:
        """Make the complement of a language: the other byte strings, including those that are not UTF-8."""

    def repeated_language(self, language: int, min_count: int, max_count: int | None = None) -> int:
        """Make a repetition of a language, ``min_count`` to ``max_count`` times."""

    def shortest_language(self, language: int) -> int:
        """Make the language of the words without a proper prefix in the language; the empty word if it is nullable."""

    def terminal(self, language: int, label: str, max_tokens: int | None = None) -> int:
        """Make a part of a language, which may span at most ``max_tokens`` tokens; messages call it ``label``."""

    def limited(self, part: int, max_tokens: int) -> int:
        """Make a part with the texts of a part that overlap at most ``max_tokens`` tokens.

        Raises:
            UnsupportedGrammar: The part names tokens, or refers to a rule that is not defined yet.
            GrammarError: No text of the part ends.
        """

    def finish(self, part: int) -> Grammar:
        """Return the grammar of a part. The composition is empty afterwards."""

@final
class OrderedPattern:
    """A pattern of a backtracking matcher, such as Python's ``re``.

    Nodes are numbered, and added after the nodes that they contain; the last one is the pattern.
    """

    def __new__(cls) -> Self: ...
    def characters(self, ranges: Sequence[tuple[int, int]], negated: bool) -> int:
        """Add one character of a set, given by ranges of code points, or one that is not in it."""

    def sequence(self, items: Sequence[int]) -> int:
        """Add a concatenation."""

    def choice(self, items: Sequence[int]) -> int:
        """Add alternatives, the preferred one first."""

    def repeat(self, item: int, min_count: int, max_count: int | None, greedy: bool) -> int:
        """Add a repetition, unbounded without ``max_count``. A greedy one prefers more copies, a lazy one fewer."""

    def look(self, item: int, ahead: bool, negated: bool) -> int:
        """Add a look-ahead or look-behind at an item that must match, or must not match if ``negated``."""

    def atomic(self, item: int) -> int:
        """Add an atomic group, for :meth:`full_match_grammar` only."""

    @property
    def unordered_regex(self) -> str | None:
        """The pattern in the syntax of the Rust crate ``regex``; None with look-around or an atomic group."""

    def full_match_grammar(self, source: str, limits: Limits | None = None) -> Grammar:
        """Return the grammar of the texts that the pattern matches from start to end, as ``re.fullmatch`` does.

        Args:
            source: The pattern as it is written.
            limits: Limits of reading.

        Raises:
            UnsupportedGrammar: An atomic group contains look-around, an atomic group, or a bounded repetition with a
                nullable body.
            LimitExceeded: The pattern is too long or too deep, or the automaton of its look-around is too large.
        """

    def first_matches(self, name: str) -> FirstMatches:
        """Return the leftmost-first matches of the pattern.

        Args:
            name: The terminal, for messages.

        Raises:
            UnsupportedGrammar: A look-around inspects text outside of the match, or contains a look-around; or a
                bounded repetition has a nullable body.
            LimitExceeded: The automaton is too large.
        """

@final
class FirstMatches:
    """The leftmost-first matches of a pattern."""

    @property
    def language(self) -> MatchLanguage:
        """The texts that the matcher matches as a whole."""

    @property
    def unordered_regex(self) -> str | None:
        """The language as a regular expression in the syntax of the Rust crate ``regex``.

        None if the order of alternatives and repetitions excludes texts, or with look-around.
        """

    @property
    def violations(self) -> MatchLanguage | None:
        """The violations of negative look-aheads at the end: a match, and the text that must not follow it.

        None without such look-aheads that can fail.
        """

    @property
    def can_match_inside(self) -> list[tuple[int, int]]:
        """Ranges of characters of violations that can follow a shorter match whose look-aheads hold to their end.

        The match may take any alternatives, in any order of preference.
        """

    @property
    def can_match_beyond(self) -> bool:
        """Whether the pattern can match a violation or a text that begins with one, with any alternatives."""

@final
class MatchLanguage:
    """The language of a terminal, as a deterministic automaton over code points."""

    @property
    def has_shorter_texts(self) -> bool:
        """Whether a text of the language begins with a shorter one."""

    def accepts(self, text: str) -> bool:
        """Return whether a text is in the language."""

    def includes(self, other: MatchLanguage) -> bool:
        """Return whether all texts of another language are in this one."""

    def overlaps(self, other: MatchLanguage) -> bool:
        """Return whether both languages can match at one position.

        That is, whether a text of one of them is, or begins with, a text of the other.
        """

    def begins_with(self, ranges: Sequence[tuple[int, int]]) -> bool:
        """Return whether a text begins with a character of some ranges."""

    def relation_to(self, violations: MatchLanguage) -> tuple[bool, bool, list[tuple[int, int]]]:
        """Compare the language with violations.

        Returns:
            Whether a text is a violation or begins with one; whether all texts do; and ranges of the characters of
            violations that follow a text of the language which is a shorter part of the violation.
        """

    def to_bytes(self) -> bytes:
        """Return the language over UTF-8, as the pattern of an ``"automaton"`` terminal of :class:`LexedGrammar`."""

@final
class PairMerges:
    """The merges of a byte-pair encoding: left token, right token and the token of both, in order."""

    def __new__(cls, merges: Sequence[tuple[int, int, int]]) -> Self: ...
    def apply(self, symbols: Sequence[int]) -> list[int]:
        """Return the tokens of a piece of text, given as its symbols."""

@final
class PiecePattern:
    """An expression that divides texts into pieces, in the syntax of the crate ``fancy-regex``.

    Raises:
        ValueError: The expression is invalid.
    """

    def __new__(cls, pattern: str) -> Self: ...
    def split(self, text: str) -> list[tuple[str, bool]]:
        """Return the parts of a text in order, each with whether it is a match.

        Raises:
            ValueError: The expression backtracks too much on the text.
        """

@final
class LexedGrammar:
    """A grammar with a lexer, from plain lists that a front end fills.

    Args:
        terminals: Name, kind (``"literal"``, ``"regex"`` in the syntax of the Rust crate ``regex``, ``"automaton"``
            as :meth:`MatchLanguage.to_bytes` serialises it, or ``"declared"`` for terminals that indentation
            generates), pattern, other spellings of a literal as a regular expression (or ``""``), priority, and role
            (``"parsed"``, ``"reserved"``: parsed, and matched everywhere, ``"ignored"``, ``"refused"``: matched
            everywhere, and makes the text invalid, or ``"violation"``: refused as matches of the next terminal).
            ``rule`` determines the meaning of their order.
        productions: Left side, right side without operators, priority among rules that could end at one position.
        start: The start symbol.
        lexer: ``"basic"`` matches all terminals everywhere, ``"contextual"`` those for which the parser has an
            action, ``"dynamic"`` and ``"dynamic_complete"`` each terminal separately.
        rule: ``"maximal_munch"`` selects the longest match, then the highest priority, then literals, then the first
            terminal; ``"lark"`` selects the first terminal that matches, by priority and then in the given order.
        parser: ``"lalr"``, or ``"earley"`` for all grammars, which excludes contextual lexers.
        prefer_shift: Resolve shift/reduce conflicts in favour of shift, as lark does; otherwise they are errors.
        indentation: The terminals for newlines, and for beginnings and ends of blocks; the columns of a tab, or
            ``None`` for lines as Python's tokenizer measures them; the terminals that open and that close brackets;
            whether white space before the first lexeme is part of a newline.
        lexical_rules: Nonterminals that the lexer reads as it reads terminals: without ignored text between the symbols
            of their productions. Other nonterminals may occur in them between two terminals.
        ignored_rules: Further such nonterminals, whose texts are allowed between all lexemes; for the basic lexer.
        beginning: Bytes of which each text is the continuation.
        descriptions: What messages call terminals and rules, as pairs with their names.
        grammars: The grammars of declared terminals, by name.
        known_empty: Whether the empty text is one, for a grammar that is known to compile and has other texts. As a
            part of others, its tables are made when a text first reaches it.
        source: The source text, for display.

    Raises:
        GrammarError: Undefined names, invalid patterns, an empty language. On compiling: conflicts, and terminals or
            layouts that the rules need but no text has.
    """

    def __new__(
        cls,
        terminals: Sequence[tuple[str, str, str | bytes, str, int, str]],
        productions: Sequence[tuple[str, Sequence[str], int]],
        start: str,
        *,
        lexer: str = "basic",
        rule: str = "maximal_munch",
        parser: str = "lalr",
        prefer_shift: bool = False,
        indentation: tuple[str, str, str, int | None, Sequence[str], Sequence[str], bool] | None = None,
        lexical_rules: Sequence[str] = ...,
        ignored_rules: Sequence[str] = ...,
        beginning: bytes = ...,
        descriptions: Sequence[tuple[str, str]] = ...,
        grammars: Sequence[tuple[str, Grammar]] = ...,
        known_empty: bool | None = None,
        source: str = "",
        limits: Limits | None = None,
    ) -> Self: ...
    @staticmethod
    def from_kbnf(
        text: bytes,
        start: str,
        lexer: str,
        parser: str,
        limits: Limits | None = None,
        grammars: Sequence[tuple[str, Grammar]] = ...,
    ) -> LexedGrammar:
        """Read a grammar in KBNF with directives; ``grammars`` has those of declared terminals by name."""

    @staticmethod
    def from_gbnf(
        text: str,
        start: str,
        lexer: str,
        parser: str,
        limits: Limits | None = None,
        grammars: Sequence[tuple[str, Grammar]] = ...,
    ) -> LexedGrammar:
        """Read a grammar in llama.cpp's GBNF with directives; ``grammars`` has those of declared terminals by name."""

    def encoded(
        self, encoding: str, spellings: str, quote: str, prefix: str, limits: Limits | None = None
    ) -> LexedGrammar:
        """Return the grammar of the texts that decode to a text of this one.

        Args:
            encoding: ``"json-string"``, ``"xml-text"``, ``"xml-attribute"``, ``"python-string"``, ``"line-prefix"`` or
                ``"indented-block"``.
            spellings: ``"any"`` or ``"canonical"``.
            quote: The delimiter of an attribute or a Python string.
            prefix: The text after each line feed, for ``"line-prefix"``; that of lines of an ``"indented-block"``.
            limits: Limits of the automata of the encoded terminals.

        Raises:
            ValueError: There is no such encoding or option.
            GrammarError: A terminal cuts characters or has no spelling, or a limit was exceeded.
        """

    @property
    def source(self) -> str:
        """The source text."""

    @property
    def relaxations(self) -> list[Diagnostic]:
        """The constraints of schemas of terminals that are not enforced, as warnings."""

    def railroad(self) -> list[tuple[str, str]]:
        """Draw the rules as railroad diagrams: pairs of a rule and an SVG element."""

    def automaton(self, name: str) -> str:
        """Draw the automaton of a terminal as an SVG element.

        Raises:
            ValueError: There is no such terminal, it has no automaton, or the automaton is too large.
        """

    def ambiguity(
        self, limits: Limits | None = None
    ) -> tuple[tuple[str, str, list[tuple[int, str]], list[tuple[int, str]]] | None, int | None]:
        """Search for the shortest ambiguous text; see :meth:`grammask.Grammar.ambiguity`.

        Returns:
            The ambiguity (rule, text, and the lines of two trees as depth and label) or None, and the length up to
            which all words were compared, or None if parts of the grammar are not searched.
        """

    def conflicts(self, limits: Limits | None = None) -> list[Diagnostic]:
        """Return the conflicts of the LALR(1) tables that the parser resolves, as warnings.

        Raises:
            GrammarError: Conflicts that are not resolved; a limit was exceeded.
        """

    def warnings(self) -> list[Diagnostic]:
        """Return the warnings of the front end."""

    def check(self, limits: Limits | None = None) -> list[Diagnostic]:
        """Make the parser's tables; return an empty list, for the interface of :class:`Grammar`.

        Raises:
            GrammarError: As compiling the grammar.
        """

    def compile(
        self,
        vocabulary: Vocabulary,
        end: str,
        limits: Limits | None = None,
        finite: bool = False,
        source: object = None,
    ) -> CompiledGrammar:
        """Compile the grammar for a vocabulary; see :meth:`grammask.Grammar.compile`.

        ``finite`` has no effect: a prefix of a lexed grammar is viable only if a finite text completes it.
        ``source`` is the source of the grammar.
        """

    def stages(self, limits: Limits | None = None) -> list[tuple[str, str]]:
        """Return the terminals and the productions, as pairs of title and text."""

@final
class Parser:
    """Finds the named parts of texts of one grammar, in one derivation per text. Immutable; thread-safe.

    The derivation: of a sequence, the first part matches as much as possible, then the second, and so on; of several
    alternatives that match the same text, the first is chosen.

    Args:
        grammar: The grammar. If it names or counts tokens of a model, ``vocabulary`` is required.
        parts: The names of the rules to capture.
        limits: The limits.
        vocabulary: The vocabulary, for texts that are fed as tokens.

    Raises:
        GrammarError: As on compiling; a name that the grammar does not have; tokens without a vocabulary.
    """

    def __new__(
        cls,
        grammar: Grammar,
        parts: list[str],
        limits: Limits | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> Self: ...
    def parse(self) -> Parse:
        """Make a parse at the beginning of a text.

        Raises:
            LimitExceeded: A limit was exceeded.
        """

@final
class Parse:
    """A text that a :class:`Parser` parses incrementally.

    A capture is a tuple: number of the part, start and end in bytes, whether it has ended, and the position of the
    enclosing capture in the list. Captures are ordered by start, outer ones first.
    """

    def feed(self, text: bytes) -> int:
        """Read the longest prefix of the bytes that continues the text to a viable prefix; return its length.

        Raises:
            LimitExceeded: A limit was exceeded; the parse has no captures afterwards.
        """

    def feed_tokens(self, tokens: list[int]) -> int:
        """Read the longest prefix of the tokens that continues the text to a viable prefix; return its length.

        End tokens are accepted after a complete text. Tokens without text, such as special tokens, add no bytes. A
        parser without a vocabulary reads no tokens.

        Raises:
            LimitExceeded: A limit was exceeded; the parse has no captures afterwards.
        """

    @property
    def position(self) -> int:
        """Number of bytes read."""

    @property
    def is_complete(self) -> bool:
        """Whether the bytes read are a complete text."""

    def whole(self) -> list[tuple[int, int, int, bool, int | None]] | None:
        """Return the captures of a complete text; None if the text is incomplete."""

    def growing(self) -> list[tuple[int, int, int, bool, int | None]]:
        """Return the captures of a prefix of a text, as if every part that can continue did."""

    def ended_parts(self) -> list[tuple[int, int]]:
        """Return the parts that end at the end of the text so far, over all its derivations.

        Each is a tuple: number of the part, and start in bytes. Digits end a number at each of them. Of parts that are
        not empty, inner ones come first.
        """

    def open_parts(self) -> list[int]:
        """Return the numbers of the parts that the next byte or token can belong to, over all derivations of the text.

        For each symbol in progress or expected next, it is the innermost part around it.
        """

    def fork(self) -> Parse:
        """Return an independent parse of the same text."""

@final
class StreamliningReport:
    """The number of entries of the mask store of a whole lexer, before and after each step of streamlining.

    An entry of a lexer state inside terminal X is a sequence of terminals that some token emits and enters after X,
    together with whether the token continues X.
    """

    @property
    def steps(self) -> list[tuple[str, int]]:
        """The steps in order: name, and number of entries of all states together."""
    @property
    def states(self) -> list[tuple[str | None, list[int]]]:
        """For each state, its terminal (None for the initial state) and the number of its entries after each step."""
    @property
    def pairs(self) -> tuple[int, int, int]:
        """Numbers of pairs of terminals that follow each other never, sometimes and always."""
    @property
    def representatives(self) -> int:
        """Number of sets of interchangeable terminals."""
    @property
    def representative_pairs(self) -> tuple[int, int, int]:
        """As :attr:`pairs`, for one terminal of each set."""
    @property
    def pair_seconds(self) -> float:
        """Time to decide all pairs, in seconds."""
    @property
    def seconds(self) -> float:
        """Time to make the report, in seconds."""

@final
class SchemaOptions:
    """Options of the JSON Schema front end. Use :meth:`grammask.Grammar.from_json_schema`.

    Immutable; compared by value; can be pickled.
    """

    def __new__(
        cls,
        *,
        draft: str | None,
        whitespace_pattern: str | None,
        max_whitespace: int | None,
        separators: tuple[str, str] | None,
        indent: int | None,
        key_order: str,
        unique_names: str,
        escapes: str,
        numbers: str,
        on_unsupported: str,
        formats: bool,
        content: str,
        openapi_nullable: bool,
        resources: list[tuple[str, str]],
        excludes: list[str],
    ) -> Self:
        """Make options.

        White space is as of the first of ``indent``, ``separators``, ``whitespace_pattern`` and ``max_whitespace`` that
        is not None, and natural if all are. A maximum of 0 is no white space.

        Raises:
            GrammarError: The pattern is no regular expression, or matches more than white space.
            ValueError: An option has an unknown value.
        """

    def with_resources(self, resources: list[tuple[str, str]]) -> SchemaOptions:
        """Return the options with further documents for references, as pairs of absolute URI and JSON text."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]: ...

@final
class CompiledGrammar:
    """A grammar compiled for a vocabulary, shared by its matchers. Thread-safe.

    States and masks are computed when a matcher first needs them, and cached for all matchers.
    """

    def _repr_html_(self) -> str:
        """Return the object for notebooks as HTML: the end mode, the vocabulary, warnings and counters."""

    def matcher(self, max_tokens: int | None = None) -> Matcher:
        """Return a new matcher at the beginning of a text. Cheap: make one per text.

        Args:
            max_tokens: The budget of the text, see :attr:`Matcher.budget`; none by default.

        Raises:
            BudgetTooSmall, GrammarSemanticError, LimitExceeded: As for :attr:`Matcher.budget`.
        """

    @property
    def end(self) -> str:
        """When a text ends: ``"eos"``, with an end token, or ``"eager"``, as soon as it is complete."""

    @property
    def vocabulary_size(self) -> int:
        """Number of ids, including padding: the width of a mask in bits."""

    @property
    def memory_bytes(self) -> int:
        """Estimated memory of the grammar and its caches, in bytes, without the vocabulary."""

    def warnings(self) -> list[Diagnostic]:
        """Return the warnings about the grammar: unused rules, rules that derive infinite texts only, and others."""

    @property
    def relaxations(self) -> list[Diagnostic]:
        """The constraints of a schema that the grammar does not enforce, with ``on_unsupported="relax"``."""

    def is_valid(self, text: str | bytes) -> bool:
        """Return whether a text is a complete text of the grammar, by the recogniser that computes the masks.

        A str is read as UTF-8.

        Raises:
            LimitExceeded: A limit was exceeded.

        Cost: one table lookup per byte in memoised states.
        """

    def first_error(self, text: str | bytes) -> int | None:
        """Find the first byte of a text, as UTF-8 or bytes, after which no text of the grammar can continue.

        Returns:
            The position of the byte; the number of bytes if the text is incomplete; None if the text is complete.

        Raises:
            LimitExceeded: A limit was exceeded.
        """

    def explain_text(self, text: str | bytes, *, strip: bool = False) -> TextExplanation:
        """Explain why a text is refused: the first byte that does not fit, and what the grammar expects there.

        ``str`` of the result is the message of ``grammask validate``, with the line and a caret.

        Args:
            text: The text, as UTF-8 or bytes.
            strip: Whether white space around the text is ignored, as for JSON in files.

        Raises:
            LimitExceeded: A limit was exceeded.

        Cost: the text is read twice; under a schema, the schema is parsed too.
        """

    def precompute(
        self,
        max_sets: int | None = None,
        progress: Callable[[int, int], object] | None = None,
        *,
        seconds: float | None = None,
        until_first_token: bool = False,
    ) -> int:
        """Fill the caches in advance.

        For a context-free grammar these are the states of terminals, such as patterns and comments, and then masks, in
        the order in which texts are likely to reach them. For a lexed grammar they are the parts of which masks
        consist: for each lexer state, in order of the frequency of the tokens that end in it, the legal tokens for
        every stack of the parser. That takes seconds for a programming language, and uses up to a quarter of
        ``Limits.memory_bytes``; afterwards masks of new texts cost little more than cached ones. With ``seconds=0.5``
        the most frequent states are done, and the 99th percentile of the time per token of new texts is halved. For
        languages with indentation, lines outside of blocks are covered. Lexed grammars without LALR(1) tables are
        treated like context-free ones. Hosts call this for each grammar on another thread, for 20 ms or
        ``GRAMMASK_PREPARE_MS``.

        Args:
            max_sets: Maximum number of states: of texts, or of the lexer. By default 1,000 for a context-free grammar,
                and all that fit for a lexed one.
            progress: Called periodically with (states done, states known so far, at most ``max_sets``); stops the call
                if it returns False. :func:`grammask.progress_bar` draws a bar on the terminal.
            seconds: Time limit, checked every few milliseconds. None: no limit.
            until_first_token: Whether the call ends when a matcher of the grammar accepts a token.

        Returns:
            The number of states that were completed. It is less than ``max_sets`` if the grammar has fewer, or for a
            lexed grammar if no more fit.

        Raises:
            LimitExceeded: A limit was exceeded; the caches keep the results so far.
            ValueError: ``seconds`` is negative or not a number.
        """

    def save(
        self,
        path: str | os.PathLike[str],
        texts: Iterable[str | bytes] | None = None,
        *,
        max_bytes: int | None = None,
    ) -> None:
        """Write the grammar to a file, for :meth:`load` in other processes.

        The file has the grammar, when its texts end, and the masks at all bytes of texts, which are computed if they
        are not cached. It belongs to the vocabulary and the release of grammask, and is replaced as a whole, so
        processes can share it. A grammar with a lexer loads in tens of milliseconds, without the lark library; others
        are compiled from their source.

        Args:
            path: The file.
            texts: Typical texts, as str or bytes, the most important first. Each counts up to its first illegal byte.
            max_bytes: About the maximum length of the masks; 16 MiB by default.

        Raises:
            OSError: The file cannot be written.
            LimitExceeded: A limit was exceeded.
        """

    @staticmethod
    def load(
        path: str | os.PathLike[str], vocabulary: Vocabulary, limits: Limits | None = None
    ) -> CompiledGrammar:
        """Load a file that :meth:`save` wrote, for an equal vocabulary.

        Files are data: reading one does not unpickle, and a damaged one is an error. A forged file can hold another
        grammar or other masks.

        Args:
            path: The file.
            vocabulary: A vocabulary with the same tokens.
            limits: Limits of reading the grammar, compiling it, and all later calls.

        Raises:
            OSError: The file cannot be read.
            GrammarSyntaxError: The file is not a saved grammar, is damaged, or has another version of the format, or is
                of another release (code ``invalid-saved-grammar``).
            GrammarSemanticError: The grammar was saved for another vocabulary (code ``other-vocabulary``).
            LimitExceeded: A limit was exceeded.
        """

    def to_bytes(self, texts: Iterable[str | bytes] | None = None, *, max_bytes: int | None = None) -> bytes:
        """Return the bytes that :meth:`save` writes. Takes the same arguments, and raises the same exceptions."""

    @staticmethod
    def from_bytes(saved: bytes, vocabulary: Vocabulary, limits: Limits | None = None) -> CompiledGrammar:
        """Load the bytes that :meth:`to_bytes` returned. Raises the same exceptions as :meth:`load`."""

    def masks_to_bytes(self, identity: bytes, texts: list[bytes], max_bytes: int) -> bytes:
        """Return the masks that are cached for the states along texts, for :meth:`add_masks`.

        Use :meth:`grammask.Grammar.save_masks`.

        Args:
            identity: A hash of the grammar, which :meth:`add_masks` requires.
            texts: The texts; each counts up to its first illegal byte.
            max_bytes: About the maximum length of the result; earlier texts count first.

        Raises:
            LimitExceeded: A limit was exceeded.
        """

    def add_masks(self, identity: bytes, saved: bytes) -> list[bytes]:
        """Cache the masks that :meth:`masks_to_bytes` returned; return the texts along which they are.

        Raises:
            GrammarSyntaxError: They are damaged, or were saved for another grammar or by another release.
            GrammarSemanticError: They were saved for another vocabulary.
            LimitExceeded: A limit was exceeded.

            After an exception nothing is cached.
        """

    def stats(self) -> dict[str, int]:
        """Return the statistics of the caches.

        ``sets``: distinct Earley sets; ``recognizer_bytes``: their estimated memory; ``mask_hits`` and
        ``mask_misses``: lookups in the mask cache (simultaneous misses of several threads may count once); ``masks``:
        distinct cached masks; ``mask_bytes``: their memory; ``masks_composed``, ``masks_recalled`` and
        ``masks_walked``: masks that were computed from summaries, found by the equivalence cache, or computed by a
        walk along the token trie; ``summary_bytes`` and ``vocabulary_bytes``: memory of the summaries of this grammar,
        and of the summaries and masks that are cached with the vocabulary for all grammars; ``budget_masks``: distinct
        masks under scarce budgets; ``budget_bytes``: memory of the costs of states.
        """

@final
class MemoryAccount:
    """The memory of several compiled grammars, as they last reported it.

    A grammar reports its growth itself: while matchers are used, when they are dropped, and after calls on the compiled
    grammar. So the sum is a number, and the cost of a report does not depend on the number of entries.
    """

    def __new__(cls) -> Self: ...
    @property
    def bytes(self) -> int:
        """Memory of all open entries, in bytes."""

    def add(self, compiled: CompiledGrammar, constant_bytes: int = 0) -> AccountEntry:
        """Add a compiled grammar, which reports its memory until the entry is closed or dropped.

        Args:
            compiled: The grammar.
            constant_bytes: Memory that is added to what the grammar reports.
        """

@final
class AccountEntry:
    """The memory of one compiled grammar in a :class:`MemoryAccount`."""

    @property
    def bytes(self) -> int:
        """Memory of the entry, in bytes; 0 after it was closed."""

    def close(self) -> None:
        """Subtract the entry from its account."""

@final
class Matcher:
    """The state of one text under a :class:`CompiledGrammar`.

    For one thread at a time; fork it for others. A call that conflicts with a call of another thread raises
    ``RuntimeError`` and changes nothing.
    """

    def _repr_html_(self) -> str:
        """Return the object for notebooks as HTML: the text, the forced text and the expected terminals."""

    def accept(self, token: int) -> bool:
        """Append a token and return True; if it is not legal, change nothing and return False.

        After the end of the text only end tokens are accepted; they only count as a step.

        Raises:
            ValueError: The vocabulary has no such id.
            LimitExceeded: A limit was exceeded; the matcher is unchanged.

        Cost: one table lookup per byte of the token in memoised states.
        """

    def accept_bytes(self, text: str | bytes) -> bool:
        """Append a text like one token and return True; if it is not legal, change nothing and return False.

        A str is read as UTF-8.

        Raises:
            LimitExceeded: A limit was exceeded; the matcher is unchanged.
        """

    def validate(self, tokens: Iterable[int]) -> int:
        """Return the length of the longest prefix of ``tokens`` that could be accepted. Changes nothing.

        Raises:
            ValueError: The vocabulary has no such id.
            LimitExceeded: A limit was exceeded.
        """

    def rollback(self, count: int = 1) -> None:
        """Undo the last ``count`` steps (tokens, or calls of ``accept_bytes``), including the end of the text.

        Raises:
            ValueError: There are fewer steps.
        """

    def fork(self) -> Matcher:
        """Return an independent matcher in the same state. Equivalent to ``copy.copy``."""

    def __copy__(self) -> Matcher: ...
    def __deepcopy__(self, memo: Any) -> Matcher: ...
    def reset(self) -> None:
        """Go back to the beginning of the text. The caches of the grammar are not affected."""

    def fill_mask(self, mask: Any, row: int = 0) -> None:
        """Write the mask of the next token into a row of an int32 array.

        Args:
            mask: A writable int32 numpy array or CPU tensor of shape ``[rows, ceil(vocab_size / 32)]``, or of shape
                ``[ceil(vocab_size / 32)]`` with row 0.
            row: The row to write.

        Raises:
            DeadEnd: No token is legal although the text has not ended. The array is unchanged.
            LimitExceeded: A limit was exceeded. The array is unchanged.
            TypeError, ValueError: The array has another type or shape.

        Cost: for a cached mask a copy of the row, under the interpreter lock. Other masks are computed without the
        lock.
        """

    def step(self, token: int, mask: Any, row: int = 0) -> bool:
        """Append a token, and write the mask of the next one: :meth:`accept` and :meth:`fill_mask` in one call.

        Args:
            token: The token.
            mask: As for :meth:`fill_mask`.
            row: The row to write.

        Returns:
            Whether the token is legal. If it is not, the matcher and the array are unchanged. After the end of the text
            the row has the end tokens.

        Raises:
            DeadEnd: No token can follow although the text has not ended.
            LimitExceeded: A limit was exceeded.
            TypeError, ValueError: As :meth:`accept` and :meth:`fill_mask`.

            After an exception the matcher and the array are unchanged.

        Cost: that of both methods, less the overhead of a call, which exceeds all else when the caches of the CPU are
        cold.
        """

    def mask(self) -> npt.NDArray[np.int32]:
        """Return the mask of the next token without a copy.

        Returns:
            A read-only int32 array of shape ``[ceil(vocab_size / 32)]``. It owns its memory, and does not change when
            the matcher accepts tokens.

        Raises:
            DeadEnd, LimitExceeded: As :meth:`fill_mask`.

        Cost: for a cached mask, independent of the size of the vocabulary.
        """

    def draft_masks(self, tokens: Iterable[int], mask: Any, first_row: int = 0) -> int:
        """Write the masks before and after each token of a draft. The matcher does not change.

        Row ``first_row + i`` gets the mask after the first ``i`` tokens, up to the first token that is not legal.

        Args:
            tokens: The draft.
            mask: As for :meth:`fill_mask`, with ``len(tokens) + 1`` rows starting at ``first_row``.
            first_row: The row of the mask before the first token.

        Returns:
            The number of rows written: one more than the number of tokens that can be accepted.

        Raises:
            DeadEnd, LimitExceeded: As :meth:`fill_mask`, with the position in the draft as ``row``; nothing is written.
            ValueError: The vocabulary has no such id, or there are too few rows.
        """

    def draft_tree_masks(
        self,
        tokens: Any,
        retrieve_next_token: Any,
        retrieve_next_sibling: Any,
        mask: Any,
        first_row: int = 0,
    ) -> npt.NDArray[np.bool_]:
        """Write the masks of a tree of draft tokens, in the layout of EAGLE in SGLang. The matcher does not change.

        Row ``first_row + i`` gets the mask after the tokens on the path to node ``i``. Node 0 is the last accepted
        token: its row gets the mask of the matcher, and its id is ignored.

        Args:
            tokens: The token of each node. All three are sequences of integers, arrays or tensors of equal length.
            retrieve_next_token: The first child of each node, or -1.
            retrieve_next_sibling: The next sibling of each node, or -1.
            mask: As for :meth:`fill_mask`, with a row per node starting at ``first_row``.
            first_row: The row of node 0.

        Returns:
            For each node, whether its path can be accepted. Rows of other nodes are not written.

        Raises:
            DeadEnd, LimitExceeded: As :meth:`fill_mask`, with the node as ``row``; nothing is written.
            ValueError: The links are not a tree, the vocabulary has no such id, or there are too few rows.
        """

    def allowed_ids(self) -> npt.NDArray[np.int64]:
        """Return the ids of the legal tokens in ascending order, as a new int64 array.

        Raises:
            DeadEnd, LimitExceeded: As :meth:`fill_mask`.
        """

    def is_allowed(self, token: int) -> bool:
        """Return whether a token is legal, without computing the mask.

        Raises:
            ValueError: The vocabulary has no such id.
        """

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary that the grammar was compiled for."""

    @property
    def tokens(self) -> list[int]:
        """The accepted tokens as a new list, without the bytes of ``accept_bytes``."""

    @property
    def step_count(self) -> int:
        """Number of steps (tokens, or calls of ``accept_bytes``) that can be rolled back."""

    @property
    def is_complete(self) -> bool:
        """Whether the text so far is complete. It may still be possible to continue it."""

    @property
    def is_finished(self) -> bool:
        """Whether the text has ended: with an end token or, with ``end="eager"``, by becoming complete."""

    @property
    def budget(self) -> int | None:
        """The number of tokens that the text may still have, its end token included; None without a budget.

        It can be set. From then on a token is legal only if the text after it can be finished within the remaining
        budget, so the text always ends within it. A fork has the same budget, and ``rollback`` restores that of the
        earlier state. ``accept_bytes`` costs nothing, and refuses bytes after which the text cannot be finished within
        the budget.

        Raises:
            BudgetTooSmall: The text cannot be finished with this number of tokens; ``minimum`` suffices.
            GrammarSemanticError: No completion is known (code ``no-completion``): the grammar never ends here, or the
                vocabulary cannot spell what is missing.
            UnsupportedGrammar: Over a large vocabulary values must repeat others (``uniqueItems`` under ``not``), or
                must differ inside a part with a maximum number of tokens, or texts are bound to names in such a part or
                in another encoding.
            LimitExceeded: A limit was exceeded.
            ValueError: The number is negative.

        Cost: that of :attr:`tokens_to_finish`. Masks cost the same as without a budget until it approaches the length
        of the shortest completion.
        """

    @budget.setter
    def budget(self, budget: int | None) -> None: ...
    @property
    def tokens_to_finish(self) -> int:
        """The number of tokens with which the text can be finished: the least sufficient budget. 0 after the end.

        It is the fewest tokens that spell the shortest completion in bytes, or in states with more than 512 items the
        number of its bytes, so a few more than the fewest possible.

        Raises:
            GrammarSemanticError: No completion is known (code ``no-completion``).
            LimitExceeded: A limit was exceeded.

        Cost: cached by state.
        """

    def shortest_completion(self) -> Completion:
        """Return a completion with at most :attr:`tokens_to_finish` tokens. Does not depend on the budget.

        Raises:
            GrammarSemanticError, LimitExceeded: As :attr:`tokens_to_finish`.
        """

    def forced_bytes(self, limit: int = 4096) -> bytes:
        """Return the longest common prefix of all continuations of the text, at most ``limit`` bytes.

        It ends at a character boundary, unless the grammar permits a text to end within a character. A token may
        extend beyond it.

        Cost: one lookup per byte in memoised states.
        """

    def forced_tokens(
        self, encode: Callable[[str], Sequence[int]] | None = None, *, limit: int = 256
    ) -> list[int]:
        """Return the tokens of the forced text. All of them can be accepted in order.

        Without ``encode`` a token is forced if it is the only legal one; end tokens are never returned. With it the
        forced text is tokenized, up to the first token that later text could change.

        Args:
            encode: The tokenizer of the model, without special tokens, such as tiktoken's
                ``encoding.encode_ordinary``. Its result is ignored if the tokens do not spell the text.
            limit: Maximum number of tokens.

        Raises:
            LimitExceeded: A limit was exceeded.
        """

    def expected(self) -> list[Expectation]:
        """Return the terminals that the grammar expects next; those of which a part was read are first."""

    @overload
    def explain(self, token: int) -> Explanation: ...
    @overload
    def explain(self, token: str | bytes) -> TextExplanation:
        """Explain why a token, or a text as UTF-8 or bytes, can or cannot come next.

        Returns:
            An :class:`Explanation` of a token; a :class:`TextExplanation` of a text, with positions in the whole text.

        Raises:
            ValueError: The vocabulary has no such id.
            LimitExceeded: A limit was exceeded.
        """

    def describe_set(self) -> str:
        """Return a description of the current Earley set, one item per line, for debugging of grammars."""

    def describe_plans(self) -> str:
        """Describe the strategies that compute the current mask, a line each, for people who debug grammars.

        Empty for grammars with a lexer, whose masks have one strategy.
        """

@final
class Completion:
    """A completion of a text: ``text``, its bytes, and ``tokens``, its tokens with an end token if one is required."""

    @property
    def text(self) -> bytes:
        """The bytes of the tokens that have text."""

    @property
    def tokens(self) -> tuple[int, ...]:
        """The ids of the tokens."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Expectation:
    """A terminal that the grammar expects."""

    @property
    def terminal(self) -> str:
        """The terminal in the notation of the grammar."""

    @property
    def rule(self) -> str:
        """The rule in which the terminal is expected."""

    @property
    def has_begun(self) -> bool:
        """Whether a part of the terminal has been read."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Explanation:
    """The reason why a token is legal or not; ``str`` returns a message."""

    @property
    def id(self) -> int:
        """The id of the token."""

    @property
    def text(self) -> bytes | None:
        """The bytes of the token, if it has text."""

    @property
    def is_allowed(self) -> bool:
        """Whether the token is legal."""

    @property
    def reason(self) -> str:
        """Stable identifier of the reason.

        One of ``allowed``, ``refused-byte``, ``too-many-tokens``, ``over-budget``, ``incomplete``, ``no-text``,
        ``finished``.
        """

    @property
    def position(self) -> int | None:
        """For ``refused-byte``, the position of the first illegal byte of the token."""

    @property
    def needed_budget(self) -> int | None:
        """For ``over-budget``, the least budget with which the token would be legal, if one is known."""

    @property
    def expected(self) -> list[Expectation]:
        """The terminals that the grammar expects there."""

@final
class TextExplanation:
    """The reason why a text is refused; ``str`` returns a message with the line, a caret and what was expected."""

    @property
    def is_allowed(self) -> bool:
        """Whether the text is accepted. Then all other attributes are None or empty."""

    @property
    def position(self) -> int | None:
        """The position of the first byte that does not fit; the number of bytes if the text ends too early."""

    @property
    def line(self) -> int | None:
        """The line of the position, from 1."""

    @property
    def column(self) -> int | None:
        """The column of the position in characters, from 1."""

    @property
    def expected(self) -> list[Expectation]:
        """The terminals that the grammar expects at the position."""

    @property
    def place(self) -> str | None:
        """The place in the source of the grammar that describes the text at the position, if it is known.

        For a schema a JSON pointer such as ``#/properties/colour``.
        """

    @property
    def help(self) -> str | None:
        """What the author of the text or of the grammar can do."""

def apply_mask_row(logits: npt.NDArray[Any], mask: npt.NDArray[np.int32], format: str) -> None:
    """Apply a mask to the logits of a row in place, as :func:`grammask.apply_mask` does.

    Args:
        logits: A contiguous array of shape ``[vocab]`` and dtype float32, float64 or uint16, which holds the bits of
            numbers in ``format``.
        mask: A contiguous int32 array of shape ``[words]``; logits beyond it are refused.
        format: ``"float16"`` or ``"bfloat16"`` for uint16; ignored for other dtypes.

    Raises:
        TypeError: ``logits`` has another dtype.
        ValueError: An array is not contiguous or not writable.
    """

def copy_legal_row(logits: npt.NDArray[Any], mask: npt.NDArray[np.int32], target: npt.NDArray[Any]) -> None:
    """Copy the logits of a row, changed as by :func:`apply_mask_row`.

    Args:
        logits: A contiguous array of shape ``[vocab]`` and dtype float32 or float64.
        mask: As for :func:`apply_mask_row`.
        target: A contiguous array of the same shape and dtype, which is overwritten.

    Raises:
        TypeError: An array has another dtype.
        ValueError: An array is not contiguous, the target is not writable, or the shapes differ.
    """

def measure_mask_row(
    logits: npt.NDArray[Any], mask: npt.NDArray[np.int32], format: str
) -> tuple[float, int | None]:
    """As :func:`apply_mask_row`, and return the effect of the mask.

    Returns:
        The probability of the legal tokens together, and the first token with the largest logit. The probability is NaN
        if the softmax is undefined; the token is None if all logits are negative infinity.
    """

def item_sets_diagram(columns: list[tuple[str, bool, list[str]]]) -> str:
    """Draw item sets as an SVG element, one column per position of a text.

    Args:
        columns: The notation of the bytes between the previous set and this one, whether the text may be complete, and
            the items.
    """

def fill_masks(matchers: list[Matcher], mask: Any, rows: list[int] | None = None) -> None:
    """Write the masks of several matchers into rows of one array.

    Args:
        matchers: The matchers.
        mask: As for :meth:`Matcher.fill_mask`.
        rows: The row of each matcher; rows 0, 1, 2, ... if None.

    Raises:
        DeadEnd, LimitExceeded, TypeError, ValueError: As :meth:`Matcher.fill_mask`; the numbers of rows and matchers
            differ, or a row is given twice. If a mask cannot be computed, the exception has the position of the first
            such matcher as ``row``, and the array is unchanged.
        RuntimeError: Another thread is using one of the matchers.

    Cost: copies of the rows for cached masks. Each distinct other mask is computed once, without the interpreter lock,
    by the thread pool of the process (:func:`set_threads`).
    """

@final
class BatchStep:
    """The positions of matchers with a special outcome of :func:`step_batch`."""

    @property
    def refused(self) -> list[int]:
        """The matchers that refused their tokens, ascending. They and their rows are unchanged."""

    @property
    def finished(self) -> list[int]:
        """The matchers whose texts have ended, ascending. Their rows have the end tokens, unless they are refused."""

def step_batch(matchers: list[Matcher], tokens: Any, mask: Any, rows: list[int] | None = None) -> BatchStep:
    """Append a token to each of several matchers, and write the masks of the next ones into rows of one array.

    Args:
        matchers: Distinct matchers.
        tokens: The token of each matcher: a sequence of integers, an array or a tensor.
        mask: As for :meth:`Matcher.fill_mask`.
        rows: The row of each matcher; rows 0, 1, 2, ... if None.

    Returns:
        The matchers that refused their tokens, and those whose texts have ended.

    Raises:
        DeadEnd, LimitExceeded, TypeError, ValueError: As :meth:`Matcher.step`; the numbers of rows, tokens and matchers
            differ, or a row is given twice. If a token or a mask cannot be computed, the exception has the position of
            the first such matcher as ``row``.
        RuntimeError: A matcher is given twice, or another thread is using it.

        After an exception all matchers and the array are unchanged: without the matcher ``row`` the others can take
        their steps.

    Cost: that of :meth:`Matcher.accept` for each matcher, and of :func:`fill_masks`.
    """

def set_threads(count: int | None = None) -> None:
    """Set the number of threads of :func:`fill_masks`; the number of cores if None.

    The environment variable ``GRAMMASK_THREADS`` sets it when grammask is imported.

    Raises:
        ValueError: The number is less than 1.
    """

def threads() -> int:
    """Return the number of threads of :func:`fill_masks`."""

def streamlining_report(
    grammar: LexedGrammar, vocabulary: Vocabulary, limits: Limits | None = None
) -> StreamliningReport:
    """Count the entries of the mask store of a grammar before and after streamlining. Masks do not need the report.

    Raises:
        GrammarError: As compiling the grammar.
    """

def json_schema_grammar(
    schema: str,
    options: SchemaOptions,
    content_grammars: Sequence[tuple[str, Grammar | LexedGrammar]],
    limits: Limits | None = None,
) -> Grammar:
    """Make the grammar of the JSON texts that a schema validates. Use :class:`grammask.Grammar`.

    Args:
        schema: The schema.
        options: The options.
        content_grammars: The grammars of contents by media type or name.
        limits: Limits of reading.
    """

def plain_text_grammar(
    schema: str,
    options: SchemaOptions,
    content_grammars: Sequence[tuple[str, Grammar | LexedGrammar]],
    limits: Limits | None = None,
) -> Grammar:
    """Make the grammar of the strings that a schema validates, as plain text without quotes and escapes.

    Args: As of :func:`json_schema_grammar`.
    """

def content_names(schema: str, options: SchemaOptions, limits: Limits | None = None) -> list[str]:
    """Return the names of contents in a schema and its documents: media types, and grammars of parameters."""

def keyword_effects(
    schema: str,
    options: SchemaOptions,
    content_grammars: Sequence[tuple[str, Grammar | LexedGrammar]],
    limits: Limits | None = None,
) -> list[tuple[str, str, str, str | None]]:
    """Return the keywords of a schema: name, JSON pointer, kind and finding. Use :func:`grammask.keyword_effects`."""

def missing_documents(schema: str, options: SchemaOptions, limits: Limits | None = None) -> list[str]:
    """Return the URIs of the documents that a schema refers to and the options do not have."""

def within_limits(limits: Limits | None, read: Callable[[], _Result]) -> _Result:
    """Return what a function returns, which reads or builds a grammar as one request.

    All that it calls, readers within readers included, has the time and the memory of ``limits`` together, and
    within an outer request at most what is left of that.
    """

def check_limits() -> None:
    """Check the limits of the request that is being served.

    Raises:
        LimitExceeded: Its time has passed, or it has allocated too much memory.
    """

def compact_json(value: object) -> str | None:
    """Write a value as compact JSON, with the characters of its strings as they are.

    The result is that of ``json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))``; None where
    this function leaves the value to Python: subclasses of the types of JSON, names that are no strings, numbers that
    are not finite, lone surrogates, more than 100 nested containers, and values that JSON does not have.
    """

def xgrammar_expression(pattern: str) -> str:
    """Translate a pattern from the dialect of ``xgrammar.Grammar.from_regex`` to the syntax of the crate ``regex``."""

def kbnf_syntax_tree(text: bytes) -> tuple[str, list[Diagnostic]]:
    """Return the syntax tree of a grammar in KBNF, as far as it can be parsed, and all diagnostics."""

def quote_bytes(bytes: bytes) -> str:
    """Quote bytes as in messages: valid UTF-8 as text, other bytes as byte escapes of KBNF."""
