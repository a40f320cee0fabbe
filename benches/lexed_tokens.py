"""Compares bundled grammars with the lark library token by token, on programs and on programs with small changes.

Each text is read twice: in the tokens of the tokenizer, and split at random into other tokens of the vocabulary. At
each token, its bit of the mask must agree with accepting it. The last mask must allow the end if and only if lark
parses the text (same grammar, lexer and post-lexer, ``parser="lalr"``). An invalid text must be rejected in the token
that contains the first invalid byte, in both tokenisations.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grammask
import lark
import lexed_dialects
import numpy as np
import tiktoken
from grammask._grammask import embedded_vocabulary
from grammask.lark_grammars import BUNDLED
from grammask.lark_grammars.bundled import BlockIndentation
from lark.indenter import Indenter

if TYPE_CHECKING:
    from collections.abc import Iterator

INSERTED = [
    *"()[]{}<>:,.;?*&\n \"'`#\\1a=@+-/!%\té",
    *[
        "/*",
        "//",
        "=>",
        "->",
        "++",
        "if ",
        "else ",
        "new ",
        "return ",
        "case ",
        "\n  ",
        '"""',
        "in ",
        "SELECT ",
    ],
]
SPLIT = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|"""
    r"""\s*[\r\n]|\s+(?!\S)|\s"""
)
"""How cl100k cuts texts before it looks for tokens."""


def changed(text: str, chance: random.Random) -> str:
    """Return a text with a small change."""
    place, word = chance.randrange(len(text) + 1), chance.choice(INSERTED)
    end = place + chance.randrange(4)
    kind = chance.randrange(4)
    if kind == 0:
        return text[:place] + text[end:]
    if kind == 1:
        return text[:place] + word + text[place:]
    if kind == 2:
        return text[:place]
    return text[:place] + word + text[end:]


def cut_at_random(text: bytes, ids: dict[bytes, int], chance: random.Random) -> list[int]:
    """Return tokens that a text is made of, each of a random length."""
    tokens = []
    place = 0
    while place < len(text):
        lengths = [
            length
            for length in range(1, 13)
            if place + length <= len(text) and text[place : place + length] in ids
        ]
        length = chance.choice(lengths)
        tokens.append(ids[text[place : place + length]])
        place += length
    return tokens


class Reader:
    """Reads texts in tokens."""

    def __init__(self, name: str) -> None:
        """Compile a bundled grammar, for the engine and for the library."""
        texts, special = embedded_vocabulary("cl100k_base")
        self.vocabulary = grammask.Vocabulary(texts, special=special, eos="<|endoftext|>")
        self.ids = {text: token for token, text in enumerate(texts) if text}
        self.encoding = tiktoken.Encoding(
            "cl100k", pat_str=SPLIT, mergeable_ranks=self.ids, special_tokens={}
        )
        self.compiled = grammask.Grammar.bundled(name).compile(self.vocabulary)
        self.mask = np.zeros((self.vocabulary.size + 31) // 32, dtype=np.int32)
        bundled = BUNDLED[name]
        postlex: Any = bundled.postlex
        if isinstance(postlex, BlockIndentation):
            attributes = {field.name: getattr(postlex, field.name) for field in fields(postlex)}
            postlex = type("Blocks", (Indenter,), attributes)()
        self.library = lark.Lark(
            lexed_dialects.text_for_peers(name), parser="lalr", lexer=bundled.lexer, postlex=postlex
        )
        self.tokens = 0

    def is_parsed(self, text: str) -> bool:
        """Return what the library says."""
        try:
            self.library.parse(text)
        except (lark.LarkError, AssertionError):
            return False
        return True

    def faults(self, tokens: list[int], text: bytes, *, is_parsed: bool) -> Iterator[str]:
        """Return what is wrong with the verdicts on a text in some tokens."""
        matcher = self.compiled.matcher()
        place = 0
        first_error = self.compiled.first_error(text)
        for token in tokens:
            matcher.fill_mask(self.mask)
            in_mask = bool(self.mask[token // 32] >> (token % 32) & 1)
            self.tokens += 1
            length = len(self.vocabulary.token(token) or b"")
            if in_mask != matcher.accept(token):
                yield f"mask and step differ at byte {place}"
                return
            if not in_mask:
                if is_parsed:
                    yield f"refused at byte {place}, and lark parses the text"
                if first_error is None or not place <= first_error < place + length:
                    yield f"refused in the token at byte {place}, and the first error is at {first_error}"
                return
            place += length
        matcher.fill_mask(self.mask)
        end = self.vocabulary.eos[0]
        can_end = bool(self.mask[end // 32] >> (end % 32) & 1)
        if can_end != is_parsed:
            yield f"read to the end, which is {'' if can_end else 'not '}complete; lark says otherwise"
        if first_error is not None and first_error < len(text):
            yield f"read to the end, and the first error is at {first_error}"


def main() -> None:
    """Compare and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("grammar", choices=sorted(BUNDLED))
    options.add_argument(
        "files", type=Path, help="a folder of programs, or a file with the path of one in each line"
    )
    options.add_argument("--count", type=int, default=300, help="how many programs that lark parses")
    options.add_argument("--changes", type=int, default=2, help="how many changed texts of each")
    options.add_argument("--largest", type=int, default=10_000, help="the largest program, in bytes")
    options.add_argument("--seconds", type=float, default=3600, help="stop after so much CPU time")
    given = options.parse_args()
    if given.files.is_dir():
        paths = sorted(path for path in given.files.rglob("*") if path.is_file())
    else:
        paths = [Path(line) for line in given.files.read_text().splitlines()]
    chance = random.Random(7)
    chance.shuffle(paths)
    reader = Reader(given.grammar)
    counts: Counter[str] = Counter()
    for path in paths:
        if counts["programs: lark parses"] >= given.count or time.process_time() > given.seconds:
            break
        if path.stat().st_size > given.largest:
            continue
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            continue
        texts = [("programs", text), *(("changed", changed(text, chance)) for _ in range(given.changes))]
        for kind, one in texts:
            if kind == "changed" and one == text:
                continue
            is_parsed = reader.is_parsed(one)
            counts[f"{kind}: lark {'parses' if is_parsed else 'refuses'}"] += 1
            encoded = one.encode()
            ways = {
                "canonical": reader.encoding.encode(one),
                "random": cut_at_random(encoded, reader.ids, chance),
            }
            for way, tokens in ways.items():
                for fault in reader.faults(tokens, encoded, is_parsed=is_parsed):
                    counts["faults"] += 1
                    sys.stdout.write(f"{path} ({kind}, {way}): {fault}\n")
                    if kind == "changed":
                        same = next((i for i, (a, b) in enumerate(zip(one, text, strict=False)) if a != b), 0)
                        sys.stdout.write(f"  {one[max(0, same - 60) : same + 60]!r}\n")
            if kind == "programs" and not is_parsed:
                break
    counts["tokens"] = reader.tokens
    sys.stdout.write(json.dumps({"grammar": given.grammar, "faults": 0, **counts}) + "\n")


if __name__ == "__main__":
    main()
