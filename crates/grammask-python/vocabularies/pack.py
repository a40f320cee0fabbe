"""Writes a vocabulary in the packed form that the extension embeds, from a file in tiktoken's format.

    python crates/grammask-python/vocabularies/pack.py o200k_base.tiktoken o200k_base.packed

The ids of the file have to be 0 to n - 1. The packed form is the number of tokens (4 bytes, little endian), the tokens
in byte order with *front coding*, and their ids in the same order, each in the bits that n - 1 takes, least significant
first. A front-coded token is a byte with two lengths, of the prefix that it shares with the token before (high half)
and of the rest (low half), and the rest. A half of 15 stands for 15 and more: the difference follows in a byte of its
own, first for the prefix. Source: Witten, Moffat and Bell, *Managing Gigabytes*, 2nd edition, section 4.1.
"""

from __future__ import annotations

import base64
import sys
from itertools import takewhile
from pathlib import Path

HALF = 15


def packed(tokens: list[bytes]) -> bytes:
    """Return the packed form of tokens, whose positions are their ids."""
    order = sorted(range(len(tokens)), key=tokens.__getitem__)
    out = bytearray(len(tokens).to_bytes(4, "little"))
    before = b""
    for token in map(tokens.__getitem__, order):
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, token, strict=False)))
        rest = token[shared:]
        out.append(min(shared, HALF) << 4 | min(len(rest), HALF))
        out += bytes(length - HALF for length in (shared, len(rest)) if length >= HALF)
        out += rest
        before = token
    width = (len(tokens) - 1).bit_length()
    for start in range(0, len(order), 8):  # Eight ids fill whole bytes.
        bits = sum(id << (position * width) for position, id in enumerate(order[start : start + 8]))
        out += bits.to_bytes((min(8, len(order) - start) * width + 7) // 8, "little")
    return bytes(out)


def main(source: str, target: str) -> None:
    """Pack the file ``source`` into the file ``target``."""
    lines = [line.split() for line in Path(source).read_bytes().splitlines()]
    tokens = {int(id): base64.b64decode(text) for text, id in lines}
    Path(target).write_bytes(packed([tokens[id] for id in range(len(tokens))]))


if __name__ == "__main__":
    main(*sys.argv[1:])
