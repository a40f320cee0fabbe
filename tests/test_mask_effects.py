"""The probability that masks leave and the preferred tokens, compared with a softmax in float64."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from grammask import apply_mask
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).parents[1]
TOLERANCE = 1e-6
FORMATS = ("float16", "bfloat16", "float32", "float64")


def softmax_mass(logits: np.ndarray, mask: np.ndarray) -> float:
    """Compute the probability of the legal tokens in float64; the oracle."""
    scores = logits.astype(np.float64)
    legal = np.zeros(len(scores), bool)
    bits = np.unpackbits(mask.view(np.uint8), bitorder="little").view(bool)[: len(scores)]
    legal[: len(bits)] = bits
    with np.errstate(invalid="ignore", over="ignore"):
        weights = np.exp(scores - scores.max())
        return float(weights[legal].sum() / weights.sum())


def rounded_to(logits: np.ndarray, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return logits in a format, and the same numbers as float64."""
    with np.errstate(over="ignore"):
        if kind == "bfloat16":
            bits = (logits.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
            return bits, (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        array = logits.astype(kind)
        return array, array.astype(np.float64)


def assert_effect(logits: np.ndarray, mask: np.ndarray, kind: str) -> None:
    array, exact = rounded_to(logits, kind)
    right = array.copy()
    apply_mask(right, mask)
    mass, preferred = np.empty(1), np.empty(1, np.int64)
    apply_mask(array, mask, mass=mass, preferred=preferred)
    assert np.array_equal(array.view(np.uint8), right.view(np.uint8))
    expected = softmax_mass(exact, mask)
    if np.isnan(expected):
        assert np.isnan(mass[0])
    else:
        assert abs(mass[0] - expected) <= TOLERANCE
        assert preferred[0] == exact.argmax()


LOGITS = st.one_of(
    st.floats(-30, 30, width=32),
    st.floats(-60000, 60000, width=16),
    st.sampled_from([-np.inf, 0.0, -0.0, 1e-40, 3e38, -3e38, 65504.0, -65504.0]),
)
WORDS = st.integers(-(1 << 31), (1 << 31) - 1)


@pytest.mark.parametrize("kind", FORMATS)
@given(
    logits=st.lists(LOGITS, min_size=1, max_size=90),
    words=st.lists(st.integers(-(1 << 31), (1 << 31) - 1), max_size=3),
)
@settings(deadline=None, max_examples=200)
def test_the_mass_is_that_of_a_softmax(kind: str, logits: list[float], words: list[int]) -> None:
    needed = -(-len(logits) // 32)
    mask = np.array((words or [0])[:needed], np.int32)
    assert_effect(np.array(logits), mask, kind)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("width", [1_000, 1_024, 1_025, 50_257, 200_064])
@pytest.mark.parametrize("spread", [0.0, 0.01, 1.0, 10.0, 1_000.0])
def test_large_vocabularies(kind: str, width: int, spread: float) -> None:
    random = np.random.default_rng(width)
    logits = random.standard_normal(width) * spread + 5
    for share in (0.0, 0.001, 0.5, 1.0):
        bits = random.random(-(-width // 32) * 32) < share
        assert_effect(logits, np.packbits(bits, bitorder="little").view(np.int32), kind)


@pytest.mark.parametrize("kind", FORMATS)
def test_undefined_softmaxes(kind: str) -> None:
    mask = np.array([0b0110], np.int32)
    for logits in ([-np.inf] * 4, [0, np.nan, 0, 0], [0, np.inf, 0, 0], [np.nan] * 4):
        array, _ = rounded_to(np.array(logits, np.float64), kind)
        mass = np.zeros(1)
        apply_mask(array, mask, mass=mass)
        assert np.isnan(mass[0])
    preferred = np.zeros(1, np.int64)
    apply_mask(np.full(4, -np.inf, np.float32), mask, preferred=preferred)
    assert preferred[0] == -1


def test_rows_and_strides() -> None:
    random = np.random.default_rng(7)
    wide = random.standard_normal((5, 200))
    masks = random.integers(-(1 << 31), 1 << 31, (2, 3)).astype(np.int32)
    logits = wide[:, ::2]
    before = logits.copy()
    mass, preferred = np.zeros(3), np.zeros(3, np.int64)
    apply_mask(logits, masks, rows=[3, -5], mass=mass, preferred=preferred)
    for at, row in enumerate([3, 0]):
        assert abs(mass[at] - softmax_mass(before[row], masks[at])) <= TOLERANCE
        assert preferred[at] == before[row].argmax()
    assert mass[2] == 0
    assert np.array_equal(logits[[1, 2, 4]], before[[1, 2, 4]])
    with pytest.raises(ValueError, match="mass has the shape"):
        apply_mask(np.zeros((3, 32)), masks[:1, :1], mass=np.zeros(2))
    with pytest.raises(TypeError, match=r"not float128|not longdouble"):
        apply_mask(np.zeros(32, np.longdouble), masks[0, :1], mass=np.zeros(1))


@pytest.mark.hosts
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("device", ["cpu", "cuda", "cpu-and-numpy"])
def test_tensors(dtype: str, device: str) -> None:
    torch = pytest.importorskip("torch")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    place = "cuda" if device == "cuda" else "cpu"
    random = np.random.default_rng(3)
    logits = torch.from_numpy(random.standard_normal((3, 5_000)) * 4).to(getattr(torch, dtype)).to(place)
    before = logits.double().cpu().numpy().copy()
    masks = random.integers(-(1 << 31), 1 << 31, (3, 157)).astype(np.int32)
    expected = apply_mask(logits.clone(), masks)
    mass: Any = (
        torch.empty(3, dtype=torch.float64, device=place) if device != "cpu-and-numpy" else np.empty(3)
    )
    preferred = torch.empty(3, dtype=torch.int64, device=place)
    apply_mask(logits, masks, mass=mass, preferred=preferred)
    assert torch.equal(logits, expected)
    for row in range(3):
        assert abs(float(mass[row]) - softmax_mass(before[row], masks[row])) <= TOLERANCE
        assert before[row][int(preferred[row])] == before[row].max()


@pytest.mark.hosts
def test_the_kernel_in_the_interpreter_of_triton() -> None:
    """The kernel itself, on a machine without a GPU."""
    pytest.importorskip("torch")
    pytest.importorskip("triton")
    code = """if True:
        import sys
        sys.path.insert(0, sys.argv[1])
        sys.path.insert(0, sys.argv[2])
        import numpy as np, torch
        from apply_cuda import load_kernel
        from test_mask_effects import softmax_mass
        kernel = load_kernel()
        random = np.random.default_rng(3)
        for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            for width, words in ((1, 1), (33, 2), (4097, 128), (9000, 282)):
                for of_mask, rows in ((3, None), (1, None), (2, [2, 0])):
                    logits = (torch.from_numpy(random.standard_normal((3, width))) * 5).to(dtype)
                    logits[1] = float("-inf")
                    before = logits.clone()
                    mask = random.integers(-(1 << 31), 1 << 31, (of_mask, words)).astype(np.int32)
                    mask[0, 1:] = -1  # Few refused tokens, which are stored in another way than many.
                    indices = None if rows is None else torch.tensor(rows)
                    right = before.clone()
                    kernel.refuse(right, torch.from_numpy(mask), indices)
                    mass, preferred = kernel.refuse_with_effects(logits, torch.from_numpy(mask), indices)
                    assert torch.equal(logits, right), (dtype, width)
                    for at, row in enumerate(rows or [0, 1, 2]):
                        exact = before[row].double().numpy()
                        if row == 1:
                            assert mass[at].isnan() and preferred[at] == -1
                            continue
                        assert abs(float(mass[at]) - softmax_mass(exact, mask[at % of_mask])) <= 1e-6
                        assert int(preferred[at]) == exact.argmax()
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


@pytest.mark.parametrize(
    ("name", "array"),
    [("mass", np.zeros(1, np.int64)), ("mass", [0.0]), ("preferred", np.zeros(1)), ("preferred", 0)],
)
def test_arrays_for_other_numbers_are_refused(name: str, array: Any) -> None:
    arrays: dict[str, Any] = {name: array}
    with pytest.raises(TypeError, match=f"{name} is an array or tensor of dtype"):
        apply_mask(np.zeros(32, np.float32), np.zeros(1, np.int32), **arrays)
