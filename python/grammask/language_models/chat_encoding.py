"""Encodes chats so that only the chat template writes control tokens.

Tokenizers read the spelling of a control token, such as ``<|im_end|>``, as the token wherever it occurs in a prompt. In
the text of a user or in the result of a tool it would end the message and begin another one, in any role. Therefore a
mark is put into each such spelling before the template writes the prompt. The mark is a sequence of private-use
characters that occurs nowhere else, so the spellings without it are those of the template, whatever the template does
with the texts.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["encode_rendered"]

_PRIVATE_USE = range(0xE000, 0xF8FF)
_MARK_LENGTH = 8


def encode_rendered(
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]],
    *,
    control: Mapping[str, int],
    render: Callable[[list[Any], list[Any]], str],
    encode: Callable[[str], list[int]],
    encode_text: Callable[[str], list[int]],
) -> list[int]:
    """Returns the ids of a chat.

    Args:
        messages: The messages.
        tools: The tools.
        control: The ids of the control tokens, by their spellings.
        render: Writes the prompt from messages and tools.
        encode: Encodes a prompt, with control tokens.
        encode_text: Encodes a part of a prompt, without control tokens.

    Cost: a search for the spellings in all texts, and once more in the prompt if one is found.
    """
    given = [list(messages), list(tools)]
    spellings = sorted(filter(None, control), key=len, reverse=True)
    pattern = "|".join(map(re.escape, spellings))
    if not spellings or not _has_match(re.compile(pattern), given):
        return encode(render(*given))
    mark = _mark_beside(given)
    # The look-ahead finds overlapping spellings, too.
    starts = re.compile(f"(?=(?:{pattern}))(.)", re.DOTALL)
    prompt = render(*_mapped(given, lambda text: starts.sub(lambda found: found[1] + mark, text)))
    # A mark in JSON may be written as escape sequences.
    marks = re.compile(f"{mark}|{re.escape(_escaped(mark))}")
    ids: list[int] = []
    end = 0
    for found in re.finditer(f"(?:{pattern})(?!{marks.pattern})", prompt):
        ids += _encoded(marks.sub("", prompt[end : found.start()]), encode_text)
        ids.append(control[found[0]])
        end = found.end()
    return ids + _encoded(marks.sub("", prompt[end:]), encode_text)


def _encoded(text: str, encode_text: Callable[[str], list[int]]) -> list[int]:
    return encode_text(text) if text else []


def _mark_beside(values: Any) -> str:
    """Returns a mark that occurs in no text, also not as escape sequences."""
    while True:
        mark = "".join(chr(secrets.choice(_PRIVATE_USE)) for _ in range(_MARK_LENGTH))
        if not _has_match(re.compile(f"{mark}|{re.escape(_escaped(mark))}"), values):
            return mark


def _escaped(text: str) -> str:
    return "".join(f"\\u{ord(character):04x}" for character in text)


def _has_match(pattern: re.Pattern[str], value: Any) -> bool:
    """Whether a text in a value of JSON has a match."""
    if isinstance(value, str):
        return pattern.search(value) is not None
    if isinstance(value, Mapping):
        return any(_has_match(pattern, part) for item in value.items() for part in item)
    return isinstance(value, Sequence) and any(_has_match(pattern, part) for part in value)


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """Returns a value of JSON with its texts changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {_mapped(name, change): _mapped(inner, change) for name, inner in value.items()}
    return [_mapped(inner, change) for inner in value] if isinstance(value, list | tuple) else value
