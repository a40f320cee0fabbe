"""A directory of masks, so that a new process begins with the masks that others have computed.

A file names a state by a text that leads to it, and belongs to one grammar, vocabulary, end mode and release. Files are
replaced as a whole, so processes can share them.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
import weakref
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from grammask.arguments import check_counts, check_path
from grammask.errors import GrammarError
from grammask.learned_masks import DEFAULT_MAX_BYTES, write_whole

if TYPE_CHECKING:
    import os

    from grammask._grammask import CompiledGrammar, Vocabulary
    from grammask.grammar import Grammar

__all__ = ["MaskDirectory"]

_MAX_TEXTS = 256
"""Texts of a grammar that a directory remembers."""

_MAX_GRAMMARS = 256
"""Grammars whose texts a directory remembers; the files of others remain."""


class MaskDirectory:
    """A directory of learned masks, a file for each grammar. Thread-safe, and shared by processes.

    >>> import grammask, os, tempfile
    >>> from grammask.mask_directory import MaskDirectory
    >>> vocabulary = grammask.Vocabulary([b"a", b"b", None], eos=2)
    >>> grammar = grammask.Grammar.from_kbnf('start ::= "a" start | "b";')
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     directory = MaskDirectory(folder)
    ...     matcher = directory.compile(grammar, vocabulary).matcher()
    ...     while not matcher.is_finished:
    ...         _ = matcher.accept(int(matcher.allowed_ids()[-1]))
    ...     directory.learn(grammar, vocabulary, b"b")
    ...     directory.flush()
    ...     len(os.listdir(folder))
    1
    """

    def __init__(self, path: str | os.PathLike[str], *, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        """Opens a directory, which is made if it does not exist.

        Args:
            path: The directory.
            max_bytes: The maximum length of a file.

        Raises:
            OSError: It cannot be made.
        """
        check_path("path", path)
        check_counts(max_bytes=max_bytes)
        self._path = Path(path)
        self._path.mkdir(parents=True, exist_ok=True)
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._loaded: weakref.WeakSet[CompiledGrammar] = weakref.WeakSet()
        self._learned: dict[Path, _Learned] = {}

    def compile(self, grammar: Grammar, vocabulary: Vocabulary) -> CompiledGrammar:
        """Compiles a grammar as :meth:`grammask.Grammar.compile` does, and adds the masks of its file, if it has one.

        A file that cannot be used, because it is damaged or from another release, is ignored; it is replaced by
        :meth:`learn`.
        """
        compiled = grammar.compile(vocabulary)
        with self._lock:
            if compiled not in self._loaded:
                self._loaded.add(compiled)
                file = self._file(grammar, vocabulary)
                with contextlib.suppress(OSError, GrammarError):
                    self._of(file).texts.extend(compiled.add_masks(grammar.digest(), file.read_bytes()))
        return compiled

    def learn(self, grammar: Grammar, vocabulary: Vocabulary, text: bytes) -> None:
        """Remembers a text that was generated, along which masks are cached.

        The file of the grammar is written after 1, 2, 4, 8, ... texts, then after each 64.
        """
        compiled = self.compile(grammar, vocabulary)
        with self._lock:
            learned = self._of(self._file(grammar, vocabulary))
            learned.grammar, learned.compiled = grammar, compiled
            if text in learned.texts:
                return
            learned.texts.append(text)
            learned.count += 1
            if learned.count % 64 == 0 or learned.count & (learned.count - 1) == 0:
                self._write(self._file(grammar, vocabulary), learned)

    def flush(self) -> None:
        """Writes the files of all grammars with texts since the last write.

        Raises:
            OSError: A file cannot be written.
        """
        with self._lock:
            for file, learned in self._learned.items():
                if learned.count != learned.written_count:
                    self._write(file, learned)

    def _of(self, file: Path) -> _Learned:
        """Returns the entry of a grammar. Above the maximum, the least recently used one is removed."""
        learned = self._learned.pop(file, None) or _Learned()
        self._learned[file] = learned
        if len(self._learned) > _MAX_GRAMMARS:
            oldest = next(iter(self._learned))
            forgotten = self._learned.pop(oldest)
            if forgotten.count != forgotten.written_count:
                with contextlib.suppress(OSError):
                    self._write(oldest, forgotten)
        return learned

    def _write(self, file: Path, learned: _Learned) -> None:
        if learned.grammar is None or learned.compiled is None:
            return
        newest_first = list(reversed(learned.texts))
        saved = learned.compiled.masks_to_bytes(learned.grammar.digest(), newest_first, self._max_bytes)
        write_whole(file, saved)
        learned.written_count = learned.count

    def _file(self, grammar: Grammar, vocabulary: Vocabulary) -> Path:
        # Another vocabulary with the same name is an error when the file is read.
        of_vocabulary = ascii((vocabulary.size, vocabulary.eos, sorted(vocabulary.special.items())))
        name = hashlib.sha256(grammar.digest() + of_vocabulary.encode()).hexdigest()
        return self._path / f"{name}.masks"


class _Learned:
    """The texts of a file, oldest first."""

    __slots__ = ("compiled", "count", "grammar", "texts", "written_count")

    def __init__(self) -> None:
        self.grammar: Grammar | None = None
        self.compiled: CompiledGrammar | None = None
        self.texts: deque[bytes] = deque(maxlen=_MAX_TEXTS)
        self.count = 0
        self.written_count = 0
