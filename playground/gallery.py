"""The examples of the gallery with a picture of each, which the engine draws.

``examples/gallery.json`` lists the examples; their grammars are files beside it. The picture is the railroad diagram of
a rule: the first, unless the example names another in ``picture``. Bundled languages have no diagrams: their picture is
the mask after the text, on the curve of the page.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from grammask import Grammar, Vocabulary, allocate_mask

_EXAMPLES = Path(__file__).resolve().parent / "examples"
_SIDE = 512
"""Cells of a side of the curve: the smallest power of two with a cell for each token."""
_SHOWN = (68, 256)
"""Rows and columns of cells in a picture, from the first on. The other half of these rows has no tokens."""
_HUES = {"letter": (31, 133, 224), "space": (31, 223, 175), "digit": (223, 133, 31), "other": (175, 31, 223)}
"""Colours of the classes of tokens, as in ``src/panels/mask_panel.js``."""


def examples() -> list[dict[str, Any]]:
    """Returns the examples: ``id``, ``title``, ``about``, ``state`` (of the page), and ``picture`` (an SVG element)."""
    vocabulary = Vocabulary.default()
    return [_example(entry, vocabulary) for entry in json.loads((_EXAMPLES / "gallery.json").read_text())]


def grammar_of(state: dict[str, Any]) -> Grammar:
    """Returns the grammar of a state of the page."""
    text = state["grammar"]
    match state["notation"]:
        case "kbnf":
            return Grammar.from_kbnf(text, lexer=state.get("lexer"))
        case "gbnf":
            return Grammar.from_gbnf(text, lexer=state.get("lexer"))
        case "regex":
            return Grammar.from_regex(text.rstrip("\n"), syntax="rust")
        case "choices":
            return Grammar.from_choices(text.splitlines())
        case "schema":
            return Grammar.from_json_schema(text)
        case "bundled":
            return Grammar.bundled(text)
        case other:
            msg = f"there is no notation {other!r}"
            raise ValueError(msg)


def _example(entry: dict[str, Any], vocabulary: Vocabulary) -> dict[str, Any]:
    state = dict(entry["state"])
    for name, notation in (("grammar", "notation"), ("otherGrammar", "otherNotation")):
        if name in state and state[notation] != "bundled":
            state[name] = (_EXAMPLES / state[name]).read_text()
    grammar = grammar_of(state)
    diagrams = dict(grammar.diagrams()) if state["notation"] != "bundled" else {}
    rule = entry.get("picture", next(iter(diagrams), None))
    picture = diagrams[rule] if rule else _mask_picture(grammar, state["text"], vocabulary)
    return {**entry, "state": state, "picture": picture}


def _mask_picture(grammar: Grammar, text: str, vocabulary: Vocabulary) -> str:
    """Returns the mask after a text as an image in an SVG element."""
    matcher = grammar.compile(vocabulary).matcher()
    if not matcher.accept_bytes(text.encode()):
        msg = f"the text of an example does not fit: {text!r}"
        raise ValueError(msg)
    mask = allocate_mask(1, vocabulary.size)
    matcher.fill_mask(mask)
    allowed = np.unpackbits(mask.view(np.uint8)[0], bitorder="little").astype(bool)
    listed = sorted(
        (token, id) for id in range(vocabulary.size) if (token := vocabulary.token(id)) is not None
    )
    pixels = np.zeros((_SIDE, _SIDE, 4), np.uint8)
    rows, columns = _curve(_SIDE)
    for index, (token, id) in enumerate(listed):
        alpha = 255 if allowed[id] else 40
        pixels[rows[index], columns[index]] = (*_HUES[_class_of(token)], alpha)
    height, width = _SHOWN
    image = base64.b64encode(_png(pixels[:height, :width])).decode()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">'
        f'<image width="{width}" height="{height}" href="data:image/png;base64,{image}"/></svg>'
    )


def _class_of(token: bytes) -> str:
    first = token[:1]
    if first == b" ":
        return "space"
    return "letter" if first.isalpha() else "digit" if first.isdigit() else "other"


def _curve(side: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Returns the rows and columns of the cells of the Hilbert curve of a square, as ``src/hilbert.js``."""
    rest = np.arange(side * side)
    x, y = np.zeros_like(rest), np.zeros_like(rest)
    size = 1
    while size < side:
        right = 1 & (rest >> 1)
        up = 1 & (rest ^ right)
        is_turned = up == 0
        is_flipped = is_turned & (right == 1)
        x, y = np.where(is_flipped, size - 1 - x, x), np.where(is_flipped, size - 1 - y, y)
        x, y = np.where(is_turned, y, x), np.where(is_turned, x, y)
        x, y, rest = x + size * right, y + size * up, rest // 4
        size *= 2
    return y, x


def _png(pixels: np.ndarray[Any, Any]) -> bytes:
    """Returns rows of red, green, blue and opacity in the format of the PNG specification."""
    height, width, _ = pixels.shape
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(lines.tobytes(), 9))
        + chunk(b"IEND", b"")
    )
