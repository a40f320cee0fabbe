"""Writers of ids and bitmasks: arrays, tensors and addresses, never a byte beyond them."""

from typing import Any

import numpy as np
import pytest
from grammask import kbnf

SIZE = 70
ALLOWED = [1, 2, 69]
DISALLOWED = [id for id in range(SIZE) if id not in ALLOWED]


@pytest.fixture
def engine() -> kbnf.Engine:
    texts = {id: b"x%d" % id for id in range(SIZE)} | {1: b"a", 2: b"ab", 69: b"abc"}
    vocabulary = kbnf.Vocabulary({id: kbnf.Token(text) for id, text in texts.items()}, {})
    engine = kbnf.Engine('start ::= "abc" "!";', vocabulary)
    engine.compute_allowed_token_ids()
    return engine


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.uintp])
def test_ids_into_arrays(engine: kbnf.Engine, dtype: Any) -> None:
    buffer = np.full(100, 7, dtype)
    engine.write_allowed_token_ids_to_buffer(buffer)
    assert buffer[:4].tolist() == [*ALLOWED, 7]
    engine.write_disallowed_token_ids_to_buffer(buffer)
    assert buffer.tolist() == DISALLOWED + [7] * (100 - len(DISALLOWED))


def test_ids_to_an_address(engine: kbnf.Engine) -> None:
    buffer = np.full(8, 7, np.uintp)
    engine.write_allowed_token_ids_to_buffer(buffer.ctypes.data, 3)
    assert buffer.tolist() == [*ALLOWED, 7, 7, 7, 7, 7]
    with pytest.raises(ValueError, match="2 elements, and 3 are needed"):
        engine.write_allowed_token_ids_to_buffer(buffer.ctypes.data, 2)


def test_nothing_to_write_needs_no_memory() -> None:
    engine = kbnf.Engine('start ::= "a";', kbnf.Vocabulary({0: kbnf.Token(b"a")}, {}))
    engine.write_allowed_token_ids_to_buffer(0, 0)
    engine.compute_allowed_token_ids()
    engine.write_disallowed_token_ids_to_buffer(0, 0)


@pytest.mark.parametrize(
    ("buffer", "exception"),
    [
        (np.zeros(2, np.int64), ValueError),
        (np.zeros(200, np.int64)[::2], ValueError),
        (np.zeros(100, np.int32), TypeError),
        (np.zeros(100, np.float64), TypeError),
        ([0] * 100, TypeError),
        (None, TypeError),
        ("0", TypeError),
    ],
)
def test_unfit_buffers_are_refused(engine: kbnf.Engine, buffer: Any, exception: type[Exception]) -> None:
    before = list(buffer) if isinstance(buffer, np.ndarray) else None
    with pytest.raises(exception):
        engine.write_allowed_token_ids_to_buffer(buffer)
    assert before is None or list(buffer) == before


@pytest.mark.parametrize(("address", "length"), [(0, 3), (12, 0), (8, -1), (3, 4)])
def test_impossible_addresses_are_refused(engine: kbnf.Engine, address: int, length: int) -> None:
    with pytest.raises(ValueError, match=r"cannot be|are needed"):
        engine.write_allowed_token_ids_to_buffer(address, length)


@pytest.mark.parametrize("words", [3, 4, 9])
def test_bitmask_into_an_array(engine: kbnf.Engine, words: int) -> None:
    memory = np.full(words + 1, -1, np.int32)
    engine.fill_torch_bitmask(memory[:words])
    assert memory.tolist() == [0b110, 0, 1 << 5] + [0] * (words - 3) + [-1]
    memory[:] = -1
    engine.fill_torch_bitmask(memory.ctypes.data, words)
    assert memory.tolist() == [0b110, 0, 1 << 5] + [0] * (words - 3) + [-1]
    matrix = np.full((1, words), -1, np.int32)
    engine.fill_torch_bitmask(matrix)
    assert matrix[0].tolist() == [0b110, 0, 1 << 5] + [0] * (words - 3)


def test_bitmask_refuses_short_and_unknown_buffers(engine: kbnf.Engine) -> None:
    short = np.full(2, -1, np.int32)
    with pytest.raises(ValueError, match="2 elements, and 3 are needed"):
        engine.fill_torch_bitmask(short)
    with pytest.raises(ValueError, match="2 elements, and 3 are needed"):
        engine.fill_torch_bitmask(short.ctypes.data, 2)
    with pytest.raises(TypeError, match="an address alone"):
        engine.fill_torch_bitmask(short.ctypes.data)
    with pytest.raises(TypeError, match="int64"):
        engine.fill_torch_bitmask(np.zeros(9, np.int64))
    assert short.tolist() == [-1, -1]


@pytest.mark.hosts
def test_tensors_of_torch(engine: kbnf.Engine) -> None:
    torch = pytest.importorskip("torch")
    bitmask = torch.full((1, 3), -1, dtype=torch.int32)
    engine.fill_torch_bitmask(bitmask)
    assert bitmask.tolist() == [[0b110, 0, 1 << 5]]
    engine.fill_torch_bitmask(bitmask.data_ptr(), bitmask.numel())
    ids = torch.zeros(3, dtype=torch.int64)
    engine.write_allowed_token_ids_to_buffer(ids)
    assert ids.tolist() == ALLOWED
