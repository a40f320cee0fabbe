"""Reads the tokens of a tokenizer object of the libraries ``transformers`` and ``tokenizers``.

Each token is compared with its decoding by the object, independently of the source of its bytes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from grammask.errors import VocabularyError
from grammask.vocabulary import byte_pair_encoder, decode_check, sentencepiece, slow_tokenizer, tekken
from grammask.vocabulary.token_decoder import token_decoder
from grammask.vocabulary.token_table import TokenTable, by_id

if TYPE_CHECKING:
    from collections.abc import Iterator

Tokenizer: TypeAlias = Any
"""A tokenizer of ``transformers``, fast or slow, or a ``tokenizers.Tokenizer``; neither library is needed."""


def read(tokenizer: Tokenizer) -> TokenTable:
    """Reads the tokens of a tokenizer, with its end token."""
    source = type(tokenizer).__name__
    if tekken.is_tokenizer(unwrapped := _unwrapped(tokenizer)):
        return tekken.table_of(unwrapped, source)
    if callable(getattr(unwrapped, "serialized_model_proto", None)):
        return sentencepiece.read(unwrapped)
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if callable(getattr(backend, "id_to_token", None)) and callable(getattr(backend, "decode_batch", None)):
        tokens, special = _of_backend(backend, source)
    elif callable(getattr(tokenizer, "convert_ids_to_tokens", None)):
        tokens, special = slow_tokenizer.read(tokenizer, source)
    else:
        raise VocabularyError(
            f"{source} is no tokenizer that is known; pass one of transformers or tokenizers, or the bytes of each "
            "token to Vocabulary(tokens, special=..., eos=...)",
            "unsupported-tokenizer",
        )
    special |= _named_special(tokenizer)
    eos = getattr(tokenizer, "eos_token_id", None)
    return TokenTable(
        tokens,
        special,
        [] if eos is None else [eos],
        f"the {source} has no eos_token_id",
        lambda: _encoder(backend, source),
    )


def _encoder(backend: Any, source: str) -> byte_pair_encoder.BytePairEncoder:
    """Returns the encoder of a tokenizer of the library ``tokenizers``.

    Raises:
        VocabularyError: It is a slow tokenizer of transformers, or no byte-pair encoding that is known.
    """
    if not callable(getattr(backend, "to_str", None)):
        raise byte_pair_encoder.unsupported(source, "it is no tokenizer of the library tokenizers")
    return byte_pair_encoder.of_document(json.loads(backend.to_str()), source)


def _unwrapped(tokenizer: Tokenizer) -> Any:
    """Returns the tokenizer inside the wrappers of mistral-common and transformers; other objects are unchanged."""
    inner = tokenizer
    for attribute in ("tokenizer", "instruct_tokenizer", "tokenizer"):
        inner = getattr(inner, attribute, inner)
    if inner is tokenizer or tekken.is_tokenizer(inner):
        return inner
    return getattr(inner, "_model", inner)


def _of_backend(backend: Any, source: str) -> tuple[list[bytes | None], dict[str, int]]:
    decoder = None if backend.decoder is None else json.loads(backend.decoder.__getstate__())
    decode = token_decoder(decoder, source)
    tokens = by_id(((id, decode(spelling)) for id, spelling in _spellings(backend)), source)
    added = backend.get_added_tokens_decoder()
    special = {token.content: id for id, token in added.items() if token.special}
    decode_check.check(
        tokens,
        lambda texts: backend.decode_batch(texts, skip_special_tokens=False),
        source,
        except_for=set(special.values()),
    )
    return tokens, special


def _spellings(backend: Any) -> Iterator[tuple[int, str]]:
    count = backend.get_vocab_size(with_added_tokens=True)
    name = backend.id_to_token
    yielded = 0
    for id in range(count):
        if (spelling := name(id)) is not None:
            yielded += 1
            yield id, spelling
    if yielded < count:  # The ids have gaps, so some are beyond the count.
        for spelling, id in backend.get_vocab(with_added_tokens=True).items():
            if id >= count:
                yield id, spelling


def _named_special(tokenizer: Tokenizer) -> dict[str, int]:
    """Returns the special tokens that only the configuration of a tokenizer of transformers has."""
    ids = getattr(tokenizer, "all_special_ids", None) or ()
    names = {id: tokenizer.convert_ids_to_tokens(id) for id in ids if isinstance(id, int) and id >= 0}
    return {name: id for id, name in names.items() if isinstance(name, str)}
