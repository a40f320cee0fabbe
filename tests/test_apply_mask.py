"""Masks applied to logits of every kind of array that is installed; numpy's float64 is the measure."""

import ast
import importlib.util
import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from grammask import apply_mask
from grammask.masks import copy_legal

ROOT = Path(__file__).parents[1]
INF = float("inf")
WITHOUT_SCORES = -1000.0
"""The score of legal tokens of which none has a finite one."""


def random_mask(rows: int, words: int) -> np.ndarray:
    return np.random.default_rng(rows * words).integers(-(1 << 31), 1 << 31, (rows, words)).astype(np.int32)


def expected(width: int, rows: int, mask: np.ndarray, chosen: list[int] | None) -> np.ndarray:
    """Compute by hand which logits become negative infinity; the others are 1."""
    logits = np.ones((rows, width))
    chosen = list(range(rows)) if chosen is None else chosen
    for index, row in enumerate(chosen):
        words = mask[index % len(mask)]
        for column in range(width):
            if column >> 5 >= len(words) or not words[column >> 5] >> (column & 31) & 1:
                logits[row, column] = -INF
    return logits


def of_numpy(dtype: Any) -> Callable[[int, int], Any]:
    return lambda rows, width: np.ones((rows, width), dtype)


def bits_of_bfloat16(rows: int, width: int) -> np.ndarray:
    return np.full((rows, width), 0x3F80, np.uint16)


def of_ml_dtypes(rows: int, width: int) -> Any:
    return np.ones((rows, width), pytest.importorskip("ml_dtypes").bfloat16)


def of_torch(dtype: str, device: str = "cpu") -> Callable[[int, int], Any]:
    def make(rows: int, width: int) -> Any:
        torch = pytest.importorskip("torch")
        if device == "cuda" and not torch.cuda.is_available():
            pytest.skip("there is no CUDA device")
        return torch.ones((rows, width), dtype=getattr(torch, dtype), device=device)

    return make


def of_mlx(dtype: str) -> Callable[[int, int], Any]:
    def make(rows: int, width: int) -> Any:
        mlx = pytest.importorskip("mlx.core")
        return mlx.ones((rows, width), dtype=getattr(mlx, dtype))

    return make


KINDS = {
    "numpy-float16": of_numpy(np.float16),
    "numpy-float32": of_numpy(np.float32),
    "numpy-float64": of_numpy(np.float64),
    **{f"numpy-{dtype}": of_numpy(dtype) for dtype in (">f2", ">f4", ">f8")},
    "numpy-longdouble": of_numpy(np.longdouble),
    "numpy-bits": bits_of_bfloat16,
    "ml_dtypes-bfloat16": of_ml_dtypes,
    **{f"torch-{dtype}": of_torch(dtype) for dtype in ("float16", "bfloat16", "float32")},
    **{f"cuda-{dtype}": of_torch(dtype, "cuda") for dtype in ("float16", "bfloat16", "float32")},
    **{f"mlx-{dtype}": of_mlx(dtype) for dtype in ("float16", "bfloat16", "float32")},
}
KIND_PARAMETERS = [
    pytest.param(kind, marks=pytest.mark.hosts if kind.startswith(("torch", "cuda")) else ())
    for kind in KINDS
]


def values(logits: Any) -> np.ndarray:
    if isinstance(logits, np.ndarray) and logits.dtype == np.uint16:
        return (logits.astype(np.uint32) << 16).view(np.float32)
    if hasattr(logits, "cpu"):
        return logits.float().cpu().numpy()
    if not isinstance(logits, np.ndarray):
        import mlx.core as mx

        return np.array(logits.astype(mx.float32))
    return logits.astype(np.float64)


@pytest.mark.parametrize("kind", KIND_PARAMETERS)
@pytest.mark.parametrize("width", [1, 31, 32, 33, 64, 100])
@pytest.mark.parametrize("words", [1, 2])
def test_all_rows(kind: str, width: int, words: int) -> None:
    if words * 32 - 31 > width:
        with pytest.raises(ValueError, match="do not fit"):
            apply_mask(KINDS[kind](3, width), random_mask(3, words))
        return
    for rows_of_mask in (1, 3):
        mask = random_mask(rows_of_mask, words)
        logits = KINDS[kind](3, width)
        result = apply_mask(logits, mask)
        assert result.dtype == logits.dtype
        assert (values(result) == expected(width, 3, mask, None)).all()
        if kind.startswith("mlx"):
            assert (values(logits) == 1).all()
        else:
            assert result is logits
    vector = apply_mask(KINDS[kind](1, width)[0], mask[0])
    assert vector.shape == (width,)
    assert (values(vector) == expected(width, 1, mask, None)[0]).all()
    assert (values(apply_mask(KINDS[kind](1, width)[0], mask[:1])) == expected(width, 1, mask, None)[0]).all()


@pytest.mark.parametrize("kind", KIND_PARAMETERS)
def test_some_rows(kind: str) -> None:
    for chosen in ([2, 0], [1], [], [-1, 1]):
        positive = [row % 4 for row in chosen]
        for mask in (random_mask(len(chosen), 3), random_mask(1, 3)):
            result = apply_mask(KINDS[kind](4, 90), mask, rows=chosen)
            assert (values(result) == expected(90, 4, mask, positive)).all()
    with pytest.raises(IndexError, match="no row 4"):
        apply_mask(KINDS[kind](4, 90), random_mask(1, 3), rows=[4])
    with pytest.raises(ValueError, match="2 rows of them"):
        apply_mask(KINDS[kind](4, 90), random_mask(4, 3), rows=[0, 1])
    with pytest.raises(ValueError, match="do not fit"):
        apply_mask(KINDS[kind](1, 90)[0], random_mask(1, 3), rows=[0])


@pytest.mark.hosts
@pytest.mark.parametrize("kind", ["torch-float32", "cuda-float32", "cuda-float16"])
def test_tensors_that_are_not_contiguous(kind: str) -> None:
    mask = random_mask(3, 2)
    wide = KINDS[kind](3, 140)
    apply_mask(wide[:, ::2], mask)
    assert (values(wide[:, ::2]) == expected(70, 3, mask, None)).all()
    assert (values(wide[:, 1::2]) == 1).all()
    narrow = KINDS[kind](3, 140)
    apply_mask(narrow[:, 70:], mask)
    assert (values(narrow[:, 70:]) == expected(70, 3, mask, None)).all()
    assert (values(narrow[:, :70]) == 1).all()


def restored(scores: np.ndarray, legal: np.ndarray) -> np.ndarray:
    """Mask a row by hand: legal tokens get a finite score if none of them has one, the others negative infinity."""
    if not legal.any() or np.isfinite(scores[legal]).any():
        return np.where(legal, scores, -INF)
    ranked = np.where(legal & ~np.isnan(scores), scores, -INF)
    return np.where(legal & (ranked == ranked.max()), WITHOUT_SCORES, -INF)


def excluded_rows(width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores of other processors and the legal tokens: few and many of these, in one part and in all parts."""
    random = np.random.default_rng(width)
    rows, masks = [], []
    kinds = ([-INF], [np.nan], [INF, -INF], [np.nan, -INF], [np.nan, INF], [-INF, 0.0], [np.nan, INF, -0.0])
    for share, scores_of_legal, begin in itertools.product(
        (0.0, 1 / width, 0.01, 0.5, 0.95, 1.0), kinds, (0, width // 2, width - 1)
    ):
        legal = random.random(width) < share
        legal[:begin] = False
        legal[random.integers(begin, width)] = share > 0
        scores = random.standard_normal(width).astype(np.float16)
        # The last kind is rare, so some rows have one finite score and some have none.
        shares = np.full(len(scores_of_legal), 0.001 if len(scores_of_legal) > 1 else 1)
        shares[:-1] = 0.999 / max(len(scores_of_legal) - 1, 1)
        scores[legal] = random.choice(scores_of_legal, legal.sum(), p=shares)
        scores[~legal & (random.random(width) < 0.1)] = random.choice([np.nan, INF])
        rows.append(scores)
        masks.append(legal)
    return np.array(rows, np.float64), np.array(masks)


def packed(legal: np.ndarray) -> np.ndarray:
    """Return rows of booleans as a mask."""
    padded = np.pad(legal, ((0, 0), (0, -legal.shape[1] % 32)))
    return np.packbits(padded, axis=-1, bitorder="little").view(np.int32)


def of_values(kind: str, scores: np.ndarray) -> Any:
    """Return logits of a kind with these values, which float16 can represent."""
    logits = KINDS[kind](*scores.shape)
    if kind == "numpy-bits":
        return (scores.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if isinstance(logits, np.ndarray):
        return scores.astype(logits.dtype)
    if kind.startswith("mlx"):
        return logits * sys.modules["mlx.core"].array(scores.astype(np.float32)).astype(logits.dtype)
    return sys.modules["torch"].tensor(scores).to(logits)


@pytest.mark.parametrize("kind", KIND_PARAMETERS)
@pytest.mark.parametrize("result", ["logits", "effects"])
@pytest.mark.parametrize("width", [7, 64, 100, 9000])
def test_rows_whose_legal_tokens_others_have_excluded(kind: str, result: str, width: int) -> None:
    if result == "effects" and kind == "numpy-longdouble":
        pytest.skip("effects are computed in float64")
    scores, legal = excluded_rows(width)
    logits = of_values(kind, scores)
    count = len(scores)
    right = np.array([restored(*row) for row in zip(values(logits).astype(np.float64), legal, strict=True)])
    mask = packed(legal)
    effects = {"mass": np.empty(count), "preferred": np.empty(count, np.int64)} if result == "effects" else {}
    assert np.array_equal(values(apply_mask(logits, mask, **effects)), right, equal_nan=True)
    effects = {name: array[:1] for name, array in effects.items()}
    for row in range(0, count, 5):
        logits = of_values(kind, scores)
        masked = values(apply_mask(logits, mask[row : row + 1], rows=[row], **effects))
        assert np.array_equal(masked[row], right[row], equal_nan=True)
        other = (row + 1) % count
        assert np.array_equal(masked[other], values(of_values(kind, scores))[other], equal_nan=True)
    if kind in ("numpy-float32", "numpy-float64"):
        given, copied = of_values(kind, scores), of_values(kind, scores)
        copy_legal(given, mask, copied, None)
        assert np.array_equal(copied, right, equal_nan=True)


@pytest.mark.parametrize(
    "make", [of_numpy(np.int32), pytest.param(of_torch("int32"), marks=pytest.mark.hosts), of_mlx("int32")]
)
def test_integers_are_no_logits(make: Callable[[int, int], Any]) -> None:
    logits = make(1, 32)
    with pytest.raises(TypeError, match="floating"):
        apply_mask(logits, random_mask(1, 1))


def test_the_kernel_annotates_nothing_but_constants() -> None:
    """Triton compiles annotations for the device; its interpreter does not, so only this sees it without a GPU."""
    kernel = ROOT / "python" / "grammask" / "masks" / "triton.py"
    for node in ast.parse(kernel.read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            annotations = {
                ast.unparse(argument.annotation) for argument in node.args.args if argument.annotation
            }
            assert annotations <= {"tl.constexpr"}


@pytest.mark.hosts
@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("torch", "triton")),
    reason="needs torch and triton",
)
def test_the_kernel_in_the_interpreter_of_triton() -> None:
    """The kernel itself, on a machine without a GPU."""
    code = """if True:
        import sys
        sys.path.insert(0, sys.argv[1])
        import numpy as np, torch
        from apply_cuda import load_kernel, expected, random_mask
        sys.path.insert(0, sys.argv[2])
        from test_apply_mask import excluded_rows, packed, restored
        kernel = load_kernel()
        refuse = kernel.refuse
        random = np.random.default_rng(3)
        for dtype in (torch.float16, torch.float32):
            for width in (7, 9000):
                some = random.permutation(126)[:20]
                scores, legal = (rows[some] for rows in excluded_rows(width))
                mask = torch.from_numpy(packed(legal))
                for apply in (refuse, kernel.refuse_with_effects):
                    logits = torch.tensor(scores).to(dtype)
                    right = [restored(*row) for row in zip(logits.double().numpy(), legal, strict=True)]
                    apply(logits, mask)
                    assert np.array_equal(logits.double().numpy(), right, equal_nan=True), (dtype, width, apply)
                rows = torch.arange(len(mask) - 1, -1, -1)
                logits = torch.tensor(scores).to(dtype).flip(0)
                refuse(logits, mask, rows)
                assert np.array_equal(logits.flip(0).double().numpy(), right, equal_nan=True)
        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            for width, words in ((1, 1), (33, 2), (4097, 128), (5000, 157)):
                for of_mask, rows in ((3, None), (1, None), (2, [2, 0])):
                    logits = torch.randn((3, width)).to(dtype)
                    mask = random_mask(random, of_mask, words)
                    right = expected(logits.float().numpy(), mask, rows or [0, 1, 2])
                    refuse(logits, torch.from_numpy(mask), None if rows is None else torch.tensor(rows))
                    assert np.array_equal(logits.float().numpy(), right), (dtype, width, words, rows)
        print("equal")
    """
    run = subprocess.run(
        [sys.executable, "-c", code, str(ROOT / "benches"), str(ROOT / "tests")],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert run.stdout == "equal\n", run.stderr


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [5, 32, 511, 512, 513, 2000])
@pytest.mark.parametrize("chosen", [None, [2], [1, 0], []])
def test_a_masked_copy_equals_a_mask_on_a_copy(dtype: Any, width: int, chosen: list[int] | None) -> None:
    generator = np.random.default_rng(width)
    logits = generator.standard_normal((3, width)).astype(dtype)
    logits.flags.writeable = False
    mask = random_mask(3 if chosen is None else len(chosen), -(-width // 32))
    mask[:, generator.integers(0, mask.shape[1], mask.shape[1] // 2)] = 0
    mask[:, mask.shape[1] // 2 :] = 0
    for words in (mask, mask[:, : mask.shape[1] // 2 + 1], mask[:1]):
        copied = np.full((3, width), np.nan, dtype)
        copy_legal(logits, words, copied, chosen)
        assert np.array_equal(copied, apply_mask(logits.copy(), words, rows=chosen))


def test_wrong_masked_copies() -> None:
    logits, mask = np.zeros((2, 40), np.float32), np.zeros((2, 2), np.int32)
    with pytest.raises(ValueError, match="do not fit"):
        copy_legal(logits, np.zeros((3, 2), np.int32), np.zeros((2, 40), np.float32), None)
    with pytest.raises(ValueError, match="40 logits cannot be copied to 39"):
        copy_legal(logits, mask, np.zeros((2, 39), np.float32), None)
    with pytest.raises(TypeError, match="float32 or of float64"):
        copy_legal(logits, mask, np.zeros((2, 40), np.float64), None)
    read_only = np.zeros((2, 40), np.float32)
    read_only.flags.writeable = False
    for target in (read_only, logits):
        with pytest.raises(ValueError, match=r"."):
            copy_legal(logits, mask, target, None)
