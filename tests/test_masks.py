"""Masks as arrays: filling rows, batches, and applying masks to logits."""

from typing import Any

import numpy as np
import pytest
from grammask import DeadEnd, Grammar, Matcher, Vocabulary, allocate_mask, apply_mask, fill_masks

SIZE = 70
VOCABULARY = Vocabulary([b"a", b"b", None, b"ab"], eos=2, size=SIZE)
COMPILED = Grammar.from_kbnf('start ::= "a" "b" "b"?;').compile(VOCABULARY)
INF = float("inf")


def matcher_after(*tokens: int) -> Matcher:
    matcher = COMPILED.matcher()
    for token in tokens:
        assert matcher.accept(token)
    return matcher


@pytest.mark.parametrize(
    ("rows", "size", "shape"), [(1, 1, (1, 1)), (3, 32, (3, 1)), (2, 33, (2, 2)), (0, 64, (0, 2))]
)
def test_allocate(rows: int, size: int, shape: tuple[int, int]) -> None:
    mask = allocate_mask(rows, size)
    assert mask.shape == shape
    assert mask.dtype == np.int32
    assert not mask.any()


def test_allocate_refuses_negative_sizes() -> None:
    with pytest.raises(ValueError, match="negative"):
        allocate_mask(-1, 10)


def test_fills_only_its_row() -> None:
    mask = np.full((4, 3), -1, np.int32)
    matcher_after(0).fill_mask(mask, row=2)
    assert mask.tolist() == [[-1] * 3, [-1] * 3, [0b10, 0, 0], [-1] * 3]


def test_fills_vectors_and_strided_matrices() -> None:
    vector = np.full(3, -1, np.int32)
    matcher_after(3).fill_mask(vector)
    assert vector.tolist() == [0b110, 0, 0]
    memory = np.full((2, 6), -1, np.int32)
    matcher_after(3).fill_mask(memory[:, ::2], row=1)
    assert memory.tolist() == [[-1] * 6, [0b110, -1, 0, -1, 0, -1]]


def test_fills_arrays_of_other_classes_and_descriptions() -> None:
    class Rows(np.ndarray[Any, Any]):
        """A class of its own."""

    described = np.dtype(np.int32, metadata={"of": "masks"})
    for mask in (np.zeros((1, 3), np.int32).view(Rows), np.zeros((1, 3), described)):
        matcher_after(3).fill_mask(mask)
        assert mask.tolist() == [[0b110, 0, 0]]


@pytest.mark.parametrize(
    ("mask", "row", "exception"),
    [
        (np.zeros((1, 2), np.int32), 0, ValueError),
        (np.zeros((1, 4), np.int32), 0, ValueError),
        (np.zeros((1, 3), np.int32), 1, ValueError),
        (np.zeros(3, np.int32), 1, ValueError),
        (np.zeros(4, np.int32), 0, ValueError),
        (np.zeros((1, 1, 3), np.int32), 0, TypeError),
        (np.zeros((1, 3), np.uint32), 0, TypeError),
        (np.zeros((1, 3), np.int64), 0, TypeError),
        (np.zeros((1, 3), ">i4"), 0, TypeError),
        ([[0, 0, 0]], 0, TypeError),
        (None, 0, TypeError),
    ],
)
def test_refuses_other_arrays(mask: Any, row: int, exception: type[Exception]) -> None:
    with pytest.raises(exception):
        matcher_after().fill_mask(mask, row)


def test_the_dtype_of_a_refused_mask_is_named() -> None:
    for mask in (np.zeros((1, 3), np.int64), np.zeros((1, 1, 3), np.int32)):
        expected = rf"not ndarray of dtype {mask.dtype} and shape \({', '.join(map(str, mask.shape))}\)"
        with pytest.raises(TypeError, match=expected):
            matcher_after().fill_mask(mask)
    with pytest.raises(TypeError, match=r"not ndarray of dtype bool and shape \(3,\)"):
        apply_mask(np.zeros(SIZE, np.float32), np.zeros(3, bool))


def test_refuses_read_only_arrays() -> None:
    mask = allocate_mask(1, SIZE)
    mask.flags.writeable = False
    with pytest.raises(ValueError, match=r"."):
        matcher_after().fill_mask(mask)
    assert not mask.any()


def test_batches() -> None:
    mask = np.full((4, 3), -1, np.int32)
    fill_masks([matcher_after(), matcher_after(0)], mask)
    assert mask[:, 0].tolist() == [0b1001, 0b10, -1, -1]
    fill_masks([matcher_after(), matcher_after(0), matcher_after(3)], mask, [3, 2, 0])
    assert mask[:, 0].tolist() == [0b110, 0b10, 0b10, 0b1001]
    fill_masks([], mask)
    with pytest.raises(ValueError, match="as many rows"):
        fill_masks([matcher_after()], mask, [0, 1])


def test_a_failed_batch_changes_nothing() -> None:
    vocabulary = Vocabulary([b"a", b"b", None], eos=2, size=SIZE)
    dead = Grammar.from_kbnf('start ::= "a" "c";').compile(vocabulary).matcher()
    dead.accept(0)
    mask = np.full((2, 3), -1, np.int32)
    with pytest.raises(DeadEnd):
        fill_masks([matcher_after(), dead], mask)
    assert (mask == -1).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("width", [SIZE, 96, 100])
def test_apply_to_logits(dtype: Any, width: int) -> None:
    mask = allocate_mask(2, SIZE)
    fill_masks([matcher_after(), matcher_after(3)], mask)
    logits = np.ones((2, width), dtype)
    apply_mask(logits, mask)
    assert logits.dtype == dtype
    assert [np.flatnonzero(row > -INF).tolist() for row in logits] == [[0, 3], [1, 2]]
    assert set(logits.flatten().tolist()) == {1, -INF}


def test_one_mask_for_all_rows_and_one_row() -> None:
    mask = allocate_mask(1, SIZE)
    matcher_after().fill_mask(mask)
    for logits in (np.zeros((3, SIZE), np.float32), np.zeros(SIZE, np.float32)):
        for some_mask in (mask, mask[0]):
            apply_mask(logits, some_mask)
            assert (logits > -INF).sum() == 2 * (logits.size // SIZE)


def test_applies_to_views() -> None:
    mask = allocate_mask(1, SIZE)
    matcher_after().fill_mask(mask)
    memory = np.zeros((2, SIZE, 2), np.float32)
    apply_mask(memory[:, :, 1], mask)
    assert (memory[:, :, 0] == 0).all()
    assert (memory[:, :, 1] > -INF).sum() == 4


@pytest.mark.parametrize(
    ("logits", "mask", "exception"),
    [
        (np.zeros((2, SIZE), np.float32), np.zeros((3, 3), np.int32), ValueError),
        (np.zeros(64, np.float32), np.zeros(3, np.int32), ValueError),
        (np.zeros((1, 1, SIZE), np.float32), np.zeros(3, np.int32), ValueError),
        (np.zeros(SIZE, np.int32), np.zeros(3, np.int32), TypeError),
        ([0.0] * SIZE, np.zeros(3, np.int32), TypeError),
        (np.zeros(SIZE, np.float32), np.zeros(3, np.float32), TypeError),
        (np.zeros(SIZE, np.float32), np.zeros(3, np.int16), TypeError),
        (np.zeros(SIZE, np.float32), np.zeros(3, bool), TypeError),
    ],
)
def test_apply_refuses_what_does_not_fit(logits: Any, mask: Any, exception: type[Exception]) -> None:
    with pytest.raises(exception):
        apply_mask(logits, mask)


@pytest.mark.hosts
def test_tensors_of_torch() -> None:
    torch = pytest.importorskip("torch")
    mask = torch.full((2, 3), -1, dtype=torch.int32)
    fill_masks([matcher_after(), matcher_after(3)], mask)
    assert mask.tolist() == [[0b1001, 0, 0], [0b110, 0, 0]]
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        logits = torch.ones((2, 100), dtype=dtype)
        apply_mask(logits, mask)
        assert [torch.nonzero(row > -INF).flatten().tolist() for row in logits] == [[0, 3], [1, 2]]
    with pytest.raises(TypeError):
        matcher_after().fill_mask(torch.zeros((1, 3), dtype=torch.int64))
