"""`Vocabulary.from_tekken`, on files made here and on those that mistral-common ships."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from grammask import Vocabulary, VocabularyError


def document(special_tokens: list[dict[str, Any]] | None) -> dict[str, Any]:
    texts = [b"a", b"\xe4", b" b", b"beyond the size"]
    return {
        "config": {"default_vocab_size": 7, "default_num_special_tokens": 4},
        "vocab": [
            {"rank": i, "token_bytes": base64.b64encode(text).decode(), "token_str": None}
            for i, text in enumerate(texts)
        ],
        "special_tokens": special_tokens,
    }


def load(folder: Path, content: object, **options: Any) -> Vocabulary:
    path = folder / "tekken.json"
    path.write_text(json.dumps(content))
    return Vocabulary.from_tekken(path, **options)


def test_special_tokens_come_first(tmp_path: Path) -> None:
    special = [
        {"rank": i, "token_str": name, "is_control": True} for i, name in enumerate(["<unk>", "<s>", "</s>"])
    ]
    vocabulary = load(tmp_path, document(special))
    assert vocabulary.tokens() == [None, None, None, None, b"a", b"\xe4", b" b"]
    assert vocabulary.special == {"<unk>": 0, "<s>": 1, "</s>": 2, "<SPECIAL_3>": 3}
    assert vocabulary.eos == (2,)


def test_old_files_list_no_special_tokens(tmp_path: Path) -> None:
    assert load(tmp_path, document(None)).special == {"<unk>": 0, "<s>": 1, "</s>": 2, "[INST]": 3}


def test_no_end_token_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError) as caught:
        load(tmp_path, document([]))
    assert caught.value.code == "no-eos"
    assert load(tmp_path, document([]), eos="<SPECIAL_1>").eos == (1,)


@pytest.mark.parametrize(
    "change",
    [
        {"config": None},
        {"config": {"default_vocab_size": 2, "default_num_special_tokens": 4}},
        {"config": {"default_vocab_size": 1 << 40, "default_num_special_tokens": 4}},
        {"vocab": {}},
        {"vocab": [3]},
        {"vocab": [{"rank": 0, "token_bytes": "!"}]},
        {"vocab": [{"rank": -9, "token_bytes": "YQ=="}]},
        {"special_tokens": [{"rank": 0}]},
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises(VocabularyError, match=r"tekken\.json") as caught:
        load(tmp_path, document([]) | change, eos=())
    assert caught.value.code == "damaged-file"


@pytest.mark.filterwarnings("ignore")
def test_equals_mistral_common() -> None:
    mistral_common = pytest.importorskip("mistral_common")
    tekken = pytest.importorskip("mistral_common.tokens.tokenizers.tekken")
    path = Path(mistral_common.__file__).parent / "data" / "tekken_240911.json"
    if not path.is_file():
        pytest.skip("this mistral-common ships no tekken file")
    peer = tekken.Tekkenizer.from_file(path)
    vocabulary = Vocabulary.from_tekken(path)
    assert vocabulary.size == peer.n_words
    assert vocabulary.eos == (peer.eos_id,)
    for i in range(vocabulary.size):
        if i < peer.num_special_tokens:
            assert vocabulary.name_of(i) == peer.id_to_piece(i)
            assert vocabulary.token(i) is None
        else:
            assert vocabulary.token(i) == peer.id_to_byte_piece(i)
