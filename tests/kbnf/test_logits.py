"""Masking logits in all types and shapes: in place, without a change to other logits."""

from typing import Any

import numpy as np
import pytest
from grammask import kbnf

INF = float("inf")
SIZE = 70
ALLOWED = {1, 2, 69}


@pytest.fixture
def engine() -> kbnf.Engine:
    texts = {id: b"x%d" % id for id in range(SIZE)} | {1: b"a", 2: b"ab", 69: b"abc"}
    vocabulary = kbnf.Vocabulary({id: kbnf.Token(text) for id, text in texts.items()}, {})
    engine = kbnf.Engine('start ::= "abc" "!";', vocabulary)
    engine.compute_allowed_token_ids()
    return engine


def expected(length: int) -> list[float]:
    return [float(id) if id in ALLOWED else -INF for id in range(length)]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
@pytest.mark.parametrize("length", [SIZE, SIZE + 1, 96, 97, 200])
def test_floats_are_masked_in_place_beyond_the_vocabulary_too(
    engine: kbnf.Engine, dtype: Any, length: int
) -> None:
    logits = np.arange(length).astype(dtype)
    assert engine.mask_logits(logits) is logits
    assert logits.dtype == dtype
    assert logits.tolist() == expected(length)


def test_padding_is_masked_when_most_tokens_are_allowed() -> None:
    vocabulary = kbnf.Vocabulary({id: kbnf.Token(b"a" * (id + 1)) for id in range(8)}, {})
    engine = kbnf.Engine('start ::= #"a+" "!";', vocabulary)
    engine.compute_allowed_token_ids()
    assert engine.mask_logits(np.zeros(10, np.float32)).tolist() == [0] * 8 + [-INF] * 2


def test_one_row(engine: kbnf.Engine) -> None:
    logits = np.arange(SIZE, dtype=np.float32)[None, :]
    assert engine.mask_logits(logits) is logits
    assert logits.tolist() == [expected(SIZE)]


def test_strided_arrays_in_place(engine: kbnf.Engine) -> None:
    memory = np.arange(2 * SIZE, dtype=np.float32) / 2
    logits = memory[::2]
    assert engine.mask_logits(logits) is logits
    assert logits.tolist() == expected(SIZE)
    assert memory[1::2].tolist() == [id + 0.5 for id in range(SIZE)]


def test_read_only_arrays_and_integers_are_copied(engine: kbnf.Engine) -> None:
    frozen = np.arange(SIZE, dtype=np.float64)
    frozen.flags.writeable = False
    integers = np.arange(SIZE)
    for logits, dtype in ((frozen, np.float64), (integers, np.float32)):
        masked = engine.mask_logits(logits)
        assert masked is not logits
        assert masked.dtype == dtype
        assert masked.tolist() == expected(SIZE)
        assert logits.tolist() == list(range(SIZE))


@pytest.mark.parametrize("shape", [(), (2, SIZE), (1, 1, SIZE), (0, SIZE)])
def test_other_shapes_are_refused(engine: kbnf.Engine, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="shape"):
        engine.mask_logits(np.zeros(shape, np.float32))


@pytest.mark.parametrize("logits", [[0.0] * SIZE, None, "logits", b"\0" * 4 * SIZE])
def test_other_objects_are_refused(engine: kbnf.Engine, logits: Any) -> None:
    with pytest.raises(TypeError, match="numpy array or a torch tensor"):
        engine.mask_logits(logits)
    with pytest.raises(TypeError, match="numpy array or a torch tensor"):
        engine.update_logits(1, logits)
    assert engine.try_accept_new_token(1) == kbnf.AcceptTokenResult.Ongoing


def test_nothing_is_allowed_after_the_end(engine: kbnf.Engine) -> None:
    engine.try_accept_new_bytes(b"abc!")
    engine.compute_allowed_token_ids()
    assert engine.mask_logits(np.zeros(SIZE, np.float32)).tolist() == [-INF] * SIZE


@pytest.mark.hosts
@pytest.mark.parametrize("shape", [(SIZE,), (1, SIZE), (100,)])
def test_tensors_of_torch(engine: kbnf.Engine, shape: tuple[int, ...]) -> None:
    torch = pytest.importorskip("torch")
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        logits = torch.arange(shape[-1], dtype=dtype).reshape(shape)
        assert engine.mask_logits(logits) is logits
        assert logits.dtype == dtype
        assert logits.flatten().tolist() == expected(shape[-1])
    with pytest.raises(kbnf.MaskLogitsError.InvalidLogitsLength):
        engine.mask_logits(torch.zeros(SIZE - 1))
    engine.try_accept_new_bytes(b"abc!")
    engine.compute_allowed_token_ids()
    assert engine.mask_logits(torch.zeros(SIZE)).tolist() == [-INF] * SIZE
