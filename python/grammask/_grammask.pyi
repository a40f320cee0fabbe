"""The compiled engine. Use it through the package ``grammask``."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, SupportsIndex, final

import numpy as np
import numpy.typing as npt
from typing_extensions import Self, disjoint_base

from grammask.errors import Diagnostic

__all__ = [
    "CompiledGrammar",
    "Composition",
    "Expectation",
    "Explanation",
    "FirstMatches",
    "Grammar",
    "LexedGrammar",
    "Limits",
    "MatchLanguage",
    "Matcher",
    "OrderedPattern",
    "Parse",
    "Parser",
    "SchemaOptions",
    "StreamliningReport",
    "Vocabulary",
    "embedded_vocabulary",
    "encode_ordinary",
    "fill_masks",
    "json_schema_grammar",
    "kbnf_syntax_tree",
    "missing_documents",
    "plain_text_grammar",
    "quote_bytes",
    "set_threads",
    "streamlining_report",
    "threads",
    "xgrammar_expression",
]

@disjoint_base
class Vocabulary:
    """The tokens of a model: their bytes, the special ones, and the ones that end a text.

    Immutable, safe to share between threads, and shared by all grammars without copying; make one per model.
    Copies are the object itself. Can be pickled.
    """

    def __new__(
        cls,
        tokens: Iterable[bytes | None],
        *,
        special: Mapping[str, int] | None = None,
        eos: int | str | Iterable[int | str] | None = None,
        size: int | None = None,
    ) -> Self:
        """Make a vocabulary in which the i-th of ``tokens`` is the text of id i.

        Args:
            tokens: The bytes of each token, or None (or ``b""``) for one without text, which no grammar
                matches. Several ids may have the same bytes: they are legal together.
            special: Names of special tokens with their ids. A special token has no text: only a grammar that
                names it matches it, even if ``tokens`` has bytes for it. Ids may share names, not names ids.
            eos: The tokens that end a text, by id or by special name. They have no text either.
            size: Number of ids with padding, usually the width of the model's logits; ``len(tokens)`` if None.

        Raises:
            TypeError: A token is not bytes, a name not a string or an id not an integer.
            VocabularyError: There are no tokens, an id is outside the vocabulary, a name is ambiguous or
                unknown, the size is too small, or a token has more than 65,535 bytes.

        Cost: 20 ms for 200,000 tokens; 45 bytes of memory per token.
        """

    @property
    def size(self) -> int:
        """Number of ids, padding included: the width of a mask in bits."""

    @property
    def eos(self) -> tuple[int, ...]:
        """Ids of the tokens that end a text, ascending."""

    @property
    def special(self) -> dict[str, int]:
        """Names of the special tokens with their ids, as a new dictionary."""

    def token(self, id: SupportsIndex) -> bytes | None:
        """Return the bytes of a token; None for special tokens, end tokens, padding and others without text.

        Raises:
            IndexError: The vocabulary has no such id.
        """

    def tokens(self) -> list[bytes | None]:
        """Return what ``token`` says of each id, as a new list; it may leave out padding at the end."""

    def name_of(self, id: SupportsIndex) -> str | None:
        """Return the name of a special token, its first one if it has several; None for all other tokens.

        Raises:
            IndexError: The vocabulary has no such id.
        """

    def ids_of(self, text: bytes) -> list[int]:
        """Return the ids of all tokens whose bytes are exactly ``text``, ascending."""

    @property
    def cache_bytes(self) -> int:
        """Memory of what is known about terminals on this vocabulary, for all grammars; an estimate in bytes."""

    def set_cache_capacity(self, bytes: int) -> None:
        """Set how much memory :attr:`cache_bytes` may take, 256 MiB if never set; 0 keeps nothing.

        When it is full it is emptied: masks stay right, and some cost a walk through the vocabulary again.
        """

    def __len__(self) -> int: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: Any, /) -> Self: ...
    def __getnewargs_ex__(self) -> tuple[tuple[list[bytes | None]], dict[str, Any]]: ...

def embedded_vocabulary(name: str) -> tuple[list[bytes | None], dict[str, int]]:
    """Return the tokens and the special tokens of a vocabulary that is compiled into the extension.

    Args:
        name: ``"o200k_base"`` or ``"cl100k_base"``.

    Raises:
        KeyError: No such vocabulary is embedded.

    Cost: the first use of a name takes about 0.3 s.
    """

def encode_ordinary(name: str, text: str) -> list[int]:
    """Split a text into token ids as an embedded vocabulary's own tokenizer does, knowing no special tokens.

    Args:
        name: As for ``embedded_vocabulary``.
        text: Any text.

    Raises:
        KeyError: No such vocabulary is embedded.
    """

@final
class Limits:
    """Budgets for one grammar, from its text to its masks. Immutable; compared by value; can be pickled.

    The defaults fit a server that compiles grammars of strangers. Passing a budget raises
    :class:`grammask.LimitExceeded`, which names it.
    """

    def __new__(
        cls,
        *,
        grammar_bytes: int | None = None,
        grammar_size: int | None = None,
        automaton_states: int | None = None,
        set_items: int | None = None,
        memory_bytes: int | None = None,
        seconds: float | None = None,
    ) -> Self:
        """Make limits; what is not given keeps its default.

        Raises:
            ValueError: A negative time.
        """

    @property
    def grammar_bytes(self) -> int:
        """Longest grammar text, in bytes."""

    @property
    def grammar_size(self) -> int:
        """Most symbols and alternatives of a grammar, before and after lowering."""

    @property
    def automaton_states(self) -> int:
        """Most states of all terminals' automata together."""

    @property
    def set_items(self) -> int:
        """Most items of one Earley set, predicted ones included."""

    @property
    def memory_bytes(self) -> int:
        """Most memory of one compiled grammar, in bytes (an estimate)."""

    @property
    def seconds(self) -> float:
        """Longest time of one call (compile, mask)."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, float]]: ...

@final
class Grammar:
    """A grammar in the engine's own representation. Use :class:`grammask.Grammar`."""

    @staticmethod
    def from_kbnf(text: bytes, start: str, limits: Limits | None = None) -> Grammar: ...
    @staticmethod
    def from_gbnf(text: str, start: str, dialect: str, limits: Limits | None = None) -> Grammar: ...
    @staticmethod
    def from_regex(pattern: str, syntax: str, limits: Limits | None = None) -> Grammar: ...
    @staticmethod
    def from_choices(texts: Sequence[bytes], limits: Limits | None = None) -> Grammar: ...
    @property
    def source(self) -> str: ...
    @property
    def relaxations(self) -> list[Diagnostic]: ...
    def warnings(self) -> list[Diagnostic]: ...
    def check(self, limits: Limits | None = None) -> list[Diagnostic]: ...
    def compile(
        self, vocabulary: Vocabulary, end: str, limits: Limits | None = None, finite: bool = False
    ) -> CompiledGrammar: ...
    def stages(self, limits: Limits | None = None) -> list[tuple[str, str]]: ...

@final
class Composition:
    """Joins grammars and plain parts in one grammar. Parts, rules and languages are known by the numbers they get.

    Languages are regular; ``terminal`` makes a part of one. Nothing can be used after :meth:`finish`.
    """

    def __new__(cls) -> Self: ...
    def literal(self, bytes: bytes) -> int: ...
    def grammar(self, grammar: Grammar) -> int: ...
    def token(self, token: int | str) -> int: ...
    def tokens(
        self, listed: Sequence[int | str], others: bool, ranges: Sequence[tuple[int, int]] = ...
    ) -> int: ...
    def text(
        self,
        ends: Sequence[bytes],
        end: int,
        excludes: Sequence[bytes],
        most_characters: int | None = None,
        most_tokens: int | None = None,
    ) -> int: ...
    def sequence(self, parts: Sequence[int]) -> int: ...
    def choice(self, parts: Sequence[int]) -> int: ...
    def repeat(self, part: int, least: int, most: int | None = None) -> int: ...
    def selection(
        self, parts: Sequence[int], required: Sequence[int], repeatable: Sequence[int], separator: int
    ) -> int: ...
    def named(self, name: str, part: int) -> int: ...
    def rule(self, name: str) -> int: ...
    def reference(self, rule: int) -> int: ...
    def define(self, rule: int, part: int) -> None: ...
    def regex_language(self, pattern: str, limits: Limits | None = None) -> int: ...
    def literal_language(self, bytes: bytes) -> int: ...
    def range_language(self, first: str, last: str) -> int: ...
    def substring_language(self, text: str) -> int: ...
    def chunks_language(self, chunks: list[str]) -> int: ...
    def is_nullable_language(self, language: int) -> bool: ...
    def warn(self, message: str, help: str) -> None: ...
    def concatenated_language(self, languages: Sequence[int]) -> int: ...
    def union_language(self, languages: Sequence[int]) -> int: ...
    def intersection_language(self, languages: Sequence[int]) -> int: ...
    def complement_language(self, language: int) -> int: ...
    def repeated_language(self, language: int, least: int, most: int | None = None) -> int: ...
    def shortest_language(self, language: int) -> int: ...
    def terminal(self, language: int, label: str, most_tokens: int | None = None) -> int: ...
    def finish(self, part: int) -> Grammar: ...

@final
class OrderedPattern:
    """A pattern of a backtracking matcher, such as Python's ``re``.

    Nodes are numbered, and added after the nodes that they contain; the last one is the pattern.
    """

    def __new__(cls) -> Self: ...
    def characters(self, ranges: Sequence[tuple[int, int]], negated: bool) -> int:
        """Adds one character of a set, given by ranges of code points, or one that is not in it."""

    def sequence(self, items: Sequence[int]) -> int:
        """Adds a concatenation."""

    def choice(self, items: Sequence[int]) -> int:
        """Adds alternatives, the preferred one first."""

    def repeat(self, item: int, min: int, max: int | None, greedy: bool) -> int:
        """Adds a repetition, unbounded without `max`. A greedy one prefers more copies, a lazy one fewer."""

    def look(self, item: int, ahead: bool, negated: bool) -> int:
        """Adds a look-ahead or look-behind at an item that must match, or must not match if `negated`."""

    def first_matches(self, name: str) -> FirstMatches:
        """The leftmost-first matches of the pattern. `name` is the terminal, for messages."""

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

        None without such look-aheads.
        """

    @property
    def can_match_inside(self) -> list[tuple[int, int]]:
        """Ranges of characters of violations that can follow a shorter match without failing its look-aheads at once.

        The match may take any alternatives, in any order of preference.
        """

    @property
    def can_match_beyond(self) -> bool:
        """Whether the pattern can match a violation or a text that begins with one, with any alternatives."""

@final
class MatchLanguage:
    """The language of a terminal, as a deterministic automaton over code points."""

    def accepts(self, text: str) -> bool:
        """Whether a text is in the language."""

    def includes(self, other: MatchLanguage) -> bool:
        """Whether all texts of another language are in this one."""

    def overlaps(self, other: MatchLanguage) -> bool:
        """Whether both languages can match at one position: a text of one is, or begins with, a text of the other."""

    def begins_with(self, ranges: Sequence[tuple[int, int]]) -> bool:
        """Whether a text begins with a character of some ranges."""

    def relation_to(self, violations: MatchLanguage) -> tuple[bool, bool, list[tuple[int, int]]]:
        """Compares the language with violations.

        Returns:
            Whether a text is a violation or begins with one; whether all texts do; and ranges of the characters of
            violations that follow a text of the language which is a shorter part of the violation.
        """

    def to_bytes(self) -> bytes:
        """The language over UTF-8, as the pattern of an ``"automaton"`` terminal of `LexedGrammar`."""

@final
class LexedGrammar:
    """A grammar with a lexer, from plain lists that a front end fills.

    Args:
        terminals: Name, kind (``"literal"``, ``"regex"`` in the syntax of the Rust crate ``regex``, ``"automaton"``
            as :meth:`MatchLanguage.to_bytes` serialises it, or ``"declared"`` for what comes from indentation),
            pattern, other spellings of a literal as a regular expression (or ``""``), priority, and role
            (``"parsed"``, ``"ignored"``, or ``"refused"``: found everywhere, and makes the text wrong). ``rule`` gives
            the meaning of their order.
        productions: Left side, right side without operators, priority among rules that could both end at one place.
        start: The start symbol.
        lexer: ``"basic"`` looks for all terminals everywhere, ``"contextual"`` for those that the parser has an
            action for, ``"dynamic"`` and ``"dynamic_complete"`` for each on its own.
        rule: ``"maximal_munch"`` takes the longest match, then the highest priority, then literals, then the first;
            ``"lark"`` takes the first terminal that matches at all, by priority and then in the given order.
        parser: ``"lalr"``, or ``"earley"`` for all grammars, but not for contextual lexers.
        prefer_shift: Decide shift/reduce conflicts as lark does, in place of refusing them.
        indentation: The terminals for newlines, and for beginnings and ends of blocks; the columns of a tab; the
            terminals that open and that close brackets.
        source: The text that the grammar was made from, for people.

    Raises:
        GrammarError: Names without a definition, patterns that are refused, an empty language. On compiling:
            conflicts, and terminals or layouts that the rules need and no text has.
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
        indentation: tuple[str, str, str, int, Sequence[str], Sequence[str]] | None = None,
        source: str = "",
        limits: Limits | None = None,
    ) -> Self: ...
    @staticmethod
    def from_kbnf(
        text: bytes, start: str, lexer: str, parser: str, limits: Limits | None = None
    ) -> LexedGrammar: ...
    @staticmethod
    def from_gbnf(
        text: str, start: str, lexer: str, parser: str, limits: Limits | None = None
    ) -> LexedGrammar: ...
    @property
    def source(self) -> str: ...
    @property
    def relaxations(self) -> list[Diagnostic]: ...
    def warnings(self) -> list[Diagnostic]: ...
    def check(self, limits: Limits | None = None) -> list[Diagnostic]: ...
    def compile(
        self, vocabulary: Vocabulary, end: str, limits: Limits | None = None, finite: bool = False
    ) -> CompiledGrammar: ...
    def stages(self, limits: Limits | None = None) -> list[tuple[str, str]]: ...

@final
class Parser:
    """Finds the named parts of texts of one grammar, by one reading of each text. Immutable; for all threads.

    Which reading: of a sequence the first part takes as much as it can, then the second, and so on; of several
    alternatives that fit the same text the first one counts.

    Args:
        grammar: The grammar; if it names or counts tokens of a model it needs a vocabulary.
        parts: The names of the rules to capture.
        limits: Budgets.
        vocabulary: The tokens that texts can be fed as.

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
            LimitExceeded: A budget was passed.
        """

@final
class Parse:
    """A text that is being read by a :class:`Parser`.

    Captures are tuples: the part's number, its first byte, the one behind its last, whether it has ended, and the
    number of the capture around it in the list. They are in the order in which they begin, outer ones first.
    """

    def feed(self, text: bytes) -> int:
        """Read bytes as far as they are the beginning of a text; return how many that were.

        Raises:
            LimitExceeded: A budget was passed; the parse has no captures any more.
        """

    def feed_tokens(self, tokens: list[int]) -> int:
        """Read tokens as far as they are the beginning of a text; return how many that were.

        After a whole text end tokens may come. Tokens without text, such as special ones, take no bytes. A parser
        without a vocabulary reads none.

        Raises:
            LimitExceeded: A budget was passed; the parse has no captures any more.
        """

    @property
    def position(self) -> int:
        """How many bytes were read."""

    @property
    def is_complete(self) -> bool:
        """Whether what was read is a whole text."""

    def whole(self) -> list[tuple[int, int, int, bool, int | None]] | None:
        """Return the captures of the whole text; None if more has to come."""

    def growing(self) -> list[tuple[int, int, int, bool, int | None]]:
        """Return the captures of a text that may go on: what has begun and can go on does."""

    def fork(self) -> Parse:
        """Make an independent parse of the same text."""

@final
class StreamliningReport:
    """How many entries the tables of a whole lexer would have, and what streamlining leaves of them.

    An entry of a state of the lexer, inside the terminal X, is a sequence of terminals that some token emits and enters
    after X, with the question whether the token goes on in X.
    """

    @property
    def steps(self) -> list[tuple[str, int]]:
        """The steps in order: what is counted, and how many entries all states have together."""
    @property
    def states(self) -> list[tuple[str | None, list[int]]]:
        """For each state its terminal, or None before the first one, and its entries after each step."""
    @property
    def pairs(self) -> tuple[int, int, int]:
        """How many pairs of terminals follow each other never, sometimes and always."""
    @property
    def representatives(self) -> int:
        """How many sets of interchangeable terminals there are."""
    @property
    def representative_pairs(self) -> tuple[int, int, int]:
        """As ``pairs``, for one terminal of each set."""
    @property
    def pair_seconds(self) -> float:
        """How long it took to decide all pairs."""
    @property
    def seconds(self) -> float:
        """How long the report took."""

@final
class SchemaOptions:
    """How a JSON schema is read and how its values are written. Use :meth:`grammask.Grammar.from_json_schema`.

    Immutable; compared by value; can be pickled.
    """

    def __new__(
        cls,
        *,
        draft: str | None,
        max_whitespace: int | None,
        separators: tuple[str, str] | None,
        indent: int | None,
        key_order: str,
        escapes: str,
        numbers: str,
        on_unsupported: str,
        formats: bool,
        openapi_nullable: bool,
        resources: list[tuple[str, str]],
        excludes: list[str],
    ) -> Self:
        """Make options. The first of ``indent``, ``separators`` and ``max_whitespace`` that is given counts.

        Raises:
            ValueError: An option has no such value.
        """

    def with_resources(self, resources: list[tuple[str, str]]) -> SchemaOptions:
        """Return the same options with more documents, as (absolute URI, JSON text), that references may name."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]: ...

@final
class CompiledGrammar:
    """A grammar made ready for a vocabulary: what all matchers of it share. Immutable; safe to share between threads.

    States and masks are made when a matcher first needs them and kept for all matchers.
    """

    def matcher(self) -> Matcher:
        """Make a matcher at the beginning of a text. Costs next to nothing: make one per text."""

    @property
    def end(self) -> str:
        """When a text ends: ``"eos"`` or ``"eager"``."""

    @property
    def vocabulary_size(self) -> int:
        """Number of ids, padding included: the width of a mask in bits."""

    @property
    def memory_bytes(self) -> int:
        """Memory of what is kept by now, in bytes, an estimate; the vocabulary's is not in it."""

    def warnings(self) -> list[Diagnostic]:
        """What should be said about the grammar: unused rules, rules that never end, and so on."""

    @property
    def relaxations(self) -> list[Diagnostic]:
        """What a schema asks for and the grammar does not enforce, with ``on_unsupported="relax"``."""

    def is_valid(self, text: bytes) -> bool:
        """Whether bytes are a text of the grammar, read by the recogniser that makes the masks.

        Raises:
            LimitExceeded: A budget was passed.

        Cost: one table lookup per byte where its states were seen before.
        """

    def first_error(self, text: bytes) -> int | None:
        """Find the position of the first byte with which no text of the grammar goes on.

        Returns:
            None if the bytes are a text of the grammar; their number if more would have to come.

        Raises:
            LimitExceeded: A budget was passed.
        """

    def precompute(
        self,
        max_sets: int | None = None,
        progress: Callable[[int, int], object] | None = None,
        *,
        seconds: float | None = None,
    ) -> int:
        """Make ahead what is otherwise made when a mask needs it.

        Of a context-free grammar these are masks, those nearest to the beginning of texts first. Of a lexed grammar it
        is what masks are made of: for each state of the lexer, those in which frequent tokens end first, what every
        stack of the parser allows. That takes seconds for a programming language, until it takes a quarter of
        ``Limits.memory_bytes``; masks of texts that nobody has read are then as fast as others, nearly. With half a
        second, what counts most is made, and the slowest hundredth of the tokens of new texts takes half as long. With
        indentation it is done for lines outside of blocks. Lexed grammars without LALR(1) tables are treated like
        context-free ones.

        Args:
            max_sets: How many states at most: of texts, or of the lexer. By default 1,000 of a context-free grammar,
                and all of a lexed one that fit.
            progress: Called now and then with (states done, states known so far, at most ``max_sets``); may return
                False to stop. :func:`grammask.progress_bar` makes one that draws a bar on the terminal.
            seconds: Time after which it stops; that is looked at every few milliseconds. None: no limit.

        Returns:
            How many states were done: fewer than ``max_sets`` if the grammar has fewer, or for a lexed grammar if no
            more fit. Those of which a part was made do not count.

        Raises:
            LimitExceeded: A budget was passed; what was made is kept.
            ValueError: ``seconds`` is negative or not a number.
        """

    def save(self, path: str | os.PathLike[str]) -> None:
        """Keep a lexed grammar in a file, for :meth:`load`.

        The file holds the grammar as it was read and how it was compiled, without what was learned since: loading it
        spares the lark library and takes some tens of milliseconds.

        Raises:
            OSError: The file cannot be written.
            UnsupportedGrammar: The grammar is not a lexed one.
        """

    @staticmethod
    def load(
        path: str | os.PathLike[str], vocabulary: Vocabulary, limits: Limits | None = None
    ) -> CompiledGrammar:
        """Load what :meth:`save` wrote, for an equal vocabulary.

        Raises:
            OSError: The file cannot be read.
            GrammarSyntaxError: It is no saved grammar, is damaged, or has another version of the format.
            GrammarSemanticError: It was saved for another vocabulary.
            LimitExceeded: A budget was passed.
        """

    def to_bytes(self) -> bytes:
        """Return what :meth:`save` writes."""

    @staticmethod
    def from_bytes(saved: bytes, vocabulary: Vocabulary, limits: Limits | None = None) -> CompiledGrammar:
        """Load what :meth:`to_bytes` returned; raises as :meth:`load`."""

    def stats(self) -> dict[str, int]:
        """Count what is kept.

        ``sets``: different Earley sets; ``recognizer_bytes``: their memory, an estimate; ``mask_hits`` and
        ``mask_misses``: how often a mask was known (threads that ask at the same moment may count once); ``masks``:
        different masks kept; ``mask_bytes``: their memory; ``masks_composed``, ``masks_recalled`` and
        ``masks_walked``: how the others were made, from summaries, from a state that looks alike as far as masks look,
        or by a walk through the vocabulary's trie; ``summary_bytes`` and ``vocabulary_bytes``: memory of the summaries
        kept with this grammar, and of the summaries and masks kept with the vocabulary for all grammars.
        """

@final
class Matcher:
    """One text being generated under a :class:`CompiledGrammar`.

    For one thread at a time; fork it for others. What a thread asks of a matcher while another thread changes it, or
    asks to change while another reads, is a ``RuntimeError`` and changes nothing.
    """

    def accept(self, token: int) -> bool:
        """Append a token and return True; if it cannot come next, change nothing and return False.

        After the end of the text only end tokens are accepted, and do nothing but count as a step.

        Raises:
            ValueError: The vocabulary has no such id.
            LimitExceeded: A budget was passed; the matcher is unchanged.

        Cost: one table lookup per byte of the token where its states were seen before.
        """

    def accept_bytes(self, text: bytes) -> bool:
        """Append bytes as if they were one token, or change nothing and return False.

        Raises:
            LimitExceeded: A budget was passed; the matcher is unchanged.
        """

    def validate(self, tokens: Iterable[int]) -> int:
        """How many of the tokens, from the first on, could be accepted one after the other. Changes nothing.

        Raises:
            ValueError: The vocabulary has no such id.
            LimitExceeded: A budget was passed.
        """

    def rollback(self, count: int = 1) -> None:
        """Take back the last ``count`` steps (tokens, or calls of ``accept_bytes``), also across the end of the text.

        Raises:
            ValueError: Fewer steps were accepted.
        """

    def fork(self) -> Matcher:
        """Make an independent matcher with the same text. ``copy.copy`` does the same."""

    def __copy__(self) -> Matcher: ...
    def __deepcopy__(self, memo: Any) -> Matcher: ...
    def reset(self) -> None:
        """Go back to the beginning of the text; what was learned about the grammar is kept."""

    def fill_mask(self, mask: Any, row: int = 0) -> None:
        """Write the mask of the next token into a row of an int32 array.

        Args:
            mask: A writable int32 numpy array or CPU tensor of shape ``[rows, ceil(vocab_size / 32)]``, or of shape
                ``[ceil(vocab_size / 32)]`` with row 0.
            row: The row to write.

        Raises:
            DeadEnd: No token can come next although the text has not ended. The array is unchanged.
            LimitExceeded: A budget was passed. The array is unchanged.
            TypeError, ValueError: The array has another type or shape.

        Cost: a copy of the row where the state was seen before, under the interpreter's lock. Else the mask is made
        without that lock.
        """

    def mask(self) -> npt.NDArray[np.int32]:
        """Show the mask of the next token without copying it.

        Returns:
            A read-only int32 array of shape ``[ceil(vocab_size / 32)]``. It keeps its memory alive, and stays as it is
            when the matcher goes on.

        Raises:
            DeadEnd, LimitExceeded: As :meth:`fill_mask`.

        Cost: independent of the size of the vocabulary where the state was seen before.
        """

    def draft_masks(self, tokens: Iterable[int], mask: Any, first_row: int = 0) -> int:
        """Write the masks before the first and after each token of a draft, and change nothing else.

        Row ``first_row + i`` gets the mask after the first ``i`` tokens, up to the first token that cannot be accepted.

        Args:
            tokens: The draft.
            mask: As for :meth:`fill_mask`, with ``len(tokens) + 1`` rows from ``first_row`` on.
            first_row: The row of the mask before the first token.

        Returns:
            How many rows were written: one more than the number of tokens that can be accepted.

        Raises:
            DeadEnd, LimitExceeded: As :meth:`fill_mask`, with the place in the draft as ``row``; nothing is written.
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
        """Write the masks of a tree of drafted tokens, in the layout of EAGLE in SGLang, and change nothing else.

        Row ``first_row + i`` gets the mask after the tokens on the path to node ``i``. Node 0 is the last accepted
        token: its row gets the mask of the matcher, and its id is not looked at.

        Args:
            tokens: The token of each node. All three are sequences of integers, arrays or tensors of one length.
            retrieve_next_token: For each node the first node that follows it, or -1.
            retrieve_next_sibling: For each node the next alternative to it, or -1.
            mask: As for :meth:`fill_mask`, with a row per node from ``first_row`` on.
            first_row: The row of node 0.

        Returns:
            For each node whether its path can be accepted. Only then its row was written.

        Raises:
            DeadEnd, LimitExceeded: As :meth:`fill_mask`, with the node as ``row``; nothing is written.
            ValueError: The links make no tree, the vocabulary has no such id, or there are too few rows.
        """

    def allowed_ids(self) -> npt.NDArray[np.int64]:
        """Ids of the tokens that can come next, ascending, as a new int64 array.

        Raises:
            DeadEnd, LimitExceeded: As :meth:`fill_mask`.
        """

    def is_allowed(self, token: int) -> bool:
        """Whether the token can come next, without making the whole mask.

        Raises:
            ValueError: The vocabulary has no such id.
        """

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary that the grammar was compiled for."""

    @property
    def tokens(self) -> list[int]:
        """The accepted tokens, as a new list; bytes accepted as bytes are not among them."""

    @property
    def step_count(self) -> int:
        """How many steps (tokens, or calls of ``accept_bytes``) can be rolled back."""

    @property
    def is_complete(self) -> bool:
        """Whether the text so far is complete. It may be possible to go on all the same."""

    @property
    def is_finished(self) -> bool:
        """Whether the text has ended: by an end token or, with ``end="eager"``, by being complete."""

    def forced_bytes(self, limit: int = 4096) -> bytes:
        """Find the bytes that must come next whatever the model says, at most ``limit``.

        They end where a character ends, unless the grammar lets the text end inside one. A token may reach beyond them.

        Cost: a lookup per byte where it was asked before.
        """

    def forced_tokens(
        self, encode: Callable[[str], Sequence[int]] | None = None, *, limit: int = 256
    ) -> list[int]:
        """Find the tokens that must come next whatever the model says. All can be accepted, one after the other.

        Without ``encode`` these are the tokens that are alone in their masks; end tokens are never among them. With it
        forced text is split as the tokenizer splits it, as far as nothing that may come after it can change that.

        Args:
            encode: The model's tokenizer, without special tokens, such as tiktoken's ``encoding.encode_ordinary``.
                Where its tokens do not spell the text that it was given, they are not used.
            limit: Most tokens.

        Raises:
            LimitExceeded: A budget was passed.
        """

    def expected(self) -> list[Expectation]:
        """List what the grammar expects next, in its own names; what has begun comes first."""

    def explain(self, token: int) -> Explanation:
        """Say why a token can or cannot come next.

        Raises:
            ValueError: The vocabulary has no such id.
        """

    def describe_set(self) -> str:
        """Describe the current Earley set, an item a line, for people who debug grammars."""

@final
class Expectation:
    """A terminal that can come next."""

    @property
    def terminal(self) -> str:
        """The terminal as the grammar writes it."""

    @property
    def rule(self) -> str:
        """The rule that needs it."""

    @property
    def has_begun(self) -> bool:
        """Whether part of it was read already."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Explanation:
    """Why a token can or cannot come next. ``str`` of it is for people."""

    @property
    def id(self) -> int:
        """The token."""

    @property
    def text(self) -> bytes | None:
        """Its bytes, if it has any."""

    @property
    def is_allowed(self) -> bool:
        """Whether it can come next."""

    @property
    def reason(self) -> str:
        """One of ``allowed``, ``refused-byte``, ``too-many-tokens``, ``incomplete``, ``no-text``, ``finished``."""

    @property
    def position(self) -> int | None:
        """For ``refused-byte`` the position in the token's bytes of the byte that does not fit."""

    @property
    def expected(self) -> list[Expectation]:
        """What the grammar expects at that place."""

def fill_masks(matchers: list[Matcher], mask: Any, rows: list[int] | None = None) -> None:
    """Write the masks of several matchers into rows of one array.

    Args:
        matchers: The matchers.
        mask: As for :meth:`Matcher.fill_mask`.
        rows: The row of each matcher; rows 0, 1, 2, ... if None.

    Raises:
        DeadEnd, LimitExceeded, TypeError, ValueError: As :meth:`Matcher.fill_mask`, and other numbers of rows than of
            matchers, or a row given twice. If a mask cannot be made, the exception names the first such matcher as
            ``row``, and the array is unchanged.
        RuntimeError: Another thread is using one of the matchers.

    Cost: copies of the rows whose states were seen before. New masks are made, each different one once and without the
    interpreter's lock, by a pool of threads that lives as long as the process (:func:`set_threads`).
    """

def set_threads(count: int | None = None) -> None:
    """Set how many threads make the masks of :func:`fill_masks`; as many as there are cores if None.

    The environment variable ``GRAMMASK_THREADS`` sets it when grammask is imported.

    Raises:
        ValueError: Less than one.
    """

def threads() -> int:
    """Return how many threads make the masks of :func:`fill_masks`."""

def streamlining_report(
    grammar: LexedGrammar, vocabulary: Vocabulary, limits: Limits | None = None
) -> StreamliningReport:
    """Counts what streamlining would do to the tables of a grammar on a vocabulary. Made for people, not for masks.

    Raises:
        GrammarError: As compiling the grammar; a limit that was passed.
    """

def json_schema_grammar(schema: str, options: SchemaOptions, limits: Limits | None = None) -> Grammar:
    """Make the grammar of the JSON texts that are valid under a schema. Use :class:`grammask.Grammar`."""

def plain_text_grammar(schema: str, options: SchemaOptions, limits: Limits | None = None) -> Grammar:
    """Make the grammar of the strings that are valid under a schema, written as they are."""

def missing_documents(schema: str, options: SchemaOptions, limits: Limits | None = None) -> list[str]:
    """List the URIs of documents that a schema refers to and that the options do not have."""

def xgrammar_expression(pattern: str) -> str:
    """Return a regular expression as ``xgrammar.Grammar.from_regex`` reads it, in the syntax of the crate ``regex``."""

def kbnf_syntax_tree(text: bytes) -> tuple[str, list[Diagnostic]]:
    """Print the syntax tree of a KBNF text, as far as it can be read, with everything that is wrong with it."""

def quote_bytes(bytes: bytes) -> str:
    """Quote bytes as messages do: as text where they are UTF-8, as byte escapes of KBNF where they are not."""
