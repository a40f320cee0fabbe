"""Reads messages in the wire format of Protocol Buffers, as far as SentencePiece models use it.

Source: the encoding chapter of the Protocol Buffers documentation. Groups, which are obsolete, are errors here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

Value: TypeAlias = "int | bytes"

VARINT, EIGHT_BYTES, LENGTH_DELIMITED, FOUR_BYTES = 0, 1, 2, 5


class DamagedMessage(ValueError):
    """The bytes are not a message."""


def fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """Yields numbers and values of the fields of a message: integers for varints, bytes for other types.

    Raises:
        DamagedMessage: The bytes are not a message.
    """
    position, end = 0, len(message)
    while position < end:
        key, position = _varint(message, position)
        kind = key & 7
        if kind == VARINT:
            number, position = _varint(message, position)
            yield key >> 3, number
            continue
        if kind == LENGTH_DELIMITED:
            size, position = _varint(message, position)
        elif kind in (EIGHT_BYTES, FOUR_BYTES):
            size = 8 if kind == EIGHT_BYTES else 4
        else:
            raise DamagedMessage(f"a field of the unknown kind {kind}")
        if size > end - position:
            raise DamagedMessage("a field that is longer than the message")
        yield key >> 3, message[position : position + size]
        position += size


def _varint(message: bytes, position: int) -> tuple[int, int]:
    """Reads a number of up to 64 bits, 7 bits per byte; returns it with the position after it."""
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(message):
            break
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise DamagedMessage("a number without an end")
