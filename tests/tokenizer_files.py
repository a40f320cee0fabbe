"""The smallest useful file of each kind of tokenizer, all with the tokens ` a`, `b`, a line break and an end token."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any


def tokenizer_json() -> dict[str, Any]:
    """Return a byte-level `tokenizer.json`."""
    return {
        "version": "1.0",
        "model": {"type": "BPE", "vocab": {"Ġa": 0, "b": 1, "Ċ": 2}, "merges": []},
        "added_tokens": [{"id": 3, "content": "</s>", "special": True}],
        "decoder": {"type": "ByteLevel"},
    }


def tekken_json() -> dict[str, Any]:
    """Return a `tekken.json`; the special tokens come first."""
    texts = [b" a", b"b", b"\n"]
    return {
        "config": {"default_vocab_size": 4, "default_num_special_tokens": 1},
        "vocab": [
            {"rank": rank, "token_bytes": base64.b64encode(text).decode()} for rank, text in enumerate(texts)
        ],
        "special_tokens": [{"rank": 0, "token_str": "</s>"}],
    }


TIKTOKEN = b"IGE= 0\nYg== 1\nCg== 2\n"


def sentencepiece() -> bytes:
    """Return a SentencePiece model, whose third piece is a byte and whose last ends texts."""
    pieces = [("▁a", b""), ("b", b""), ("<0x0A>", b"\x18\x06"), ("</s>", b"\x18\x03")]
    written = b""
    for text, kind in pieces:
        raw = text.encode()
        message = b"\x0a" + bytes([len(raw)]) + raw + kind
        written += b"\x0a" + bytes([len(message)]) + message
    return written


def gguf() -> bytes:
    """Return the metadata of a GGUF file."""

    def string(text: str) -> bytes:
        raw = text.encode()
        return struct.pack("<Q", len(raw)) + raw

    tokens, kinds = ["▁a", "b", "<0x0A>", "</s>"], [1, 1, 6, 3]
    values = {
        "tokenizer.ggml.model": struct.pack("<I", 8) + string("llama"),
        "tokenizer.ggml.tokens": struct.pack("<IIQ", 9, 8, 4) + b"".join(map(string, tokens)),
        "tokenizer.ggml.token_type": struct.pack("<IIQ4i", 9, 5, 4, *kinds),
        "tokenizer.ggml.eos_token_id": struct.pack("<II", 4, 3),
    }
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, len(values))
    return head + b"".join(string(key) + value for key, value in values.items())


FILES: dict[str, bytes] = {
    "tokenizer.json": json.dumps(tokenizer_json()).encode(),
    "tekken.json": json.dumps(tekken_json()).encode(),
    "ranks.tiktoken": TIKTOKEN,
    "tokenizer.model": sentencepiece(),
    "model.gguf": gguf(),
}
"""Names and contents; only the `tokenizer.json` and tiktoken's ranks name no end token."""
