"""Reads the tokens of a ``tokenizer.json``, the file format of the Hugging Face ``tokenizers`` library."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grammask.errors import VocabularyError
from grammask.vocabulary import byte_pair_encoder
from grammask.vocabulary.json_file import load, load_if_exists, member, objects, text_member
from grammask.vocabulary.token_decoder import token_decoder
from grammask.vocabulary.token_table import TokenTable, by_id

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence


def read(path: str | os.PathLike[str]) -> TokenTable:
    """Reads the tokens of a file, with the end tokens of the model's configuration in the same folder."""
    path = Path(path)
    return of_document(load(path.read_bytes(), str(path)), path)


def of_document(document: dict[str, Any], path: Path) -> TokenTable:
    """Reads the tokens of a parsed file, with the end tokens of the model's configuration in the same folder."""
    reason = f"no generation_config.json or tokenizer_config.json next to {path} names one"
    return replace(
        _table(document, str(path), _configured_eos(path), reason),
        encoder=lambda: byte_pair_encoder.of_document(load(path.read_bytes(), str(path)), str(path)),
    )


def table(text: str | bytes, source: str, eos: Sequence[int | str], eos_source: str) -> TokenTable:
    """Reads the tokens of a file that is given as text.

    Raises:
        VocabularyError: The text is damaged, or its tokens cannot be mapped to bytes.
    """
    return replace(
        _table(load(text, source), source, eos, eos_source),
        encoder=lambda: byte_pair_encoder.of_document(load(text, source), source),
    )


def _table(document: dict[str, Any], source: str, eos: Sequence[int | str], eos_source: str) -> TokenTable:
    spellings = dict(_model_tokens(member(document, "model", dict, source), source))
    special: dict[str, int] = {}
    for entry in objects(document, "added_tokens", source) if document.get("added_tokens") else []:
        id, spelling = member(entry, "id", int, source), text_member(entry, "content", source)
        spellings[id] = spelling
        if entry.get("special"):
            special[spelling] = id
    decoder = member(document, "decoder", dict, source) if document.get("decoder") is not None else None
    decode = token_decoder(decoder, source)
    tokens = by_id(((id, decode(spelling)) for id, spelling in spellings.items()), source)
    ids = {spelling: id for id, spelling in spellings.items()}
    eos = [ids.get(end, end) if isinstance(end, str) else end for end in eos]
    return TokenTable(tokens, special, eos, eos_source)


def _model_tokens(model: dict[str, Any], source: str) -> Iterator[tuple[int, str]]:
    """Yields ids and tokens as written: a list of pieces with scores in Unigram models, a dictionary in all others."""
    if isinstance(vocab := model.get("vocab"), list):
        for id, piece in enumerate(vocab):
            if not (isinstance(piece, list) and piece and isinstance(piece[0], str)):
                raise VocabularyError(
                    f"{source}: piece {id} has no text; is the file damaged?", "damaged-file"
                )
            yield id, piece[0]
    else:
        vocab = member(model, "vocab", dict, source)
        for spelling in vocab:
            yield member(vocab, spelling, int, source), spelling


def _configured_eos(path: Path) -> list[int | str]:
    """Returns the end tokens of ``generation_config.json``, or else of ``tokenizer_config.json``."""
    generation = load_if_exists(path.with_name("generation_config.json")).get("eos_token_id")
    ids = generation if isinstance(generation, list) else [generation]
    if ids and all(isinstance(id, int) and not isinstance(id, bool) for id in ids):
        return list(ids)
    configuration = path.with_name("tokenizer_config.json")
    eos = load_if_exists(configuration).get("eos_token")
    holder = eos if isinstance(eos, dict) else {"content": eos}
    is_named = isinstance(holder.get("content"), str)
    return [text_member(holder, "content", str(configuration))] if is_named else []
