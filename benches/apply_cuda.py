"""Applies masks to logits on a CUDA device: correctness against numpy, and time against torch operations.

``python3 benches/apply_cuda.py`` needs torch, triton and numpy, but not the extension module of grammask. Exits with 1
if a result is wrong and with 2 without a CUDA device. ``--record`` overwrites the results in ``benches/results``.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
from suite_results import Section, Stamp, SuiteResults, Table, add_record_option

KERNEL = Path(__file__).parents[1] / "python" / "grammask" / "masks" / "triton.py"
SHAPES = [(1, 1), (1, 31), (3, 33), (2, 4095), (2, 4097), (7, 50_257), (4, 128_256), (64, 200_019)]
TIMED = [(1, 128_256), (16, 128_256), (64, 128_256), (256, 128_256), (256, 200_064)]


def load_kernel() -> Any:
    """Import the module of the kernel without its package."""
    spec = importlib.util.spec_from_file_location("triton_kernel", KERNEL)
    if spec is None or spec.loader is None:
        raise ImportError(KERNEL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def random_mask(random: np.random.Generator, rows: int, words: int) -> np.ndarray:
    """Return full, empty, sparse and dense rows."""
    mask = random.integers(-(1 << 31), 1 << 31, (rows, words)).astype(np.int32)
    for row in range(rows):
        match row % 4:
            case 0:
                mask[row] &= random.integers(-(1 << 31), 1 << 31, words).astype(np.int32)
            case 1:
                mask[row] = 0
                mask[row, random.integers(words)] = 1
            case 2:
                mask[row] = -1
    return mask


def expected(logits: np.ndarray, mask: np.ndarray, rows: list[int]) -> np.ndarray:
    """Return the expected logits, computed with numpy."""
    result = logits.copy()
    allowed = np.unpackbits(mask.view(np.uint8), axis=-1, bitorder="little").astype(bool)
    for index, row in enumerate(rows):
        of_row = allowed[index if len(allowed) > 1 else 0][: logits.shape[1]]
        of_row = np.pad(of_row, (0, logits.shape[1] - len(of_row)))
        result[row, ~of_row] = -np.inf
    return result


def check(torch: Any, refuse: Any) -> int:
    """Return the number of verified results; raise at a wrong one."""
    random = np.random.default_rng(1)
    count = 0
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        for rows, size in SHAPES:
            for padding in (0, 1, 64):
                words = -(-size // 32)
                # Logits narrower than the mask's last word, and wider than the mask.
                logits = torch.randn((rows, size + padding), dtype=dtype, device="cuda")
                for of_mask, chosen in ((rows, None), (1, None), (max(rows - 1, 1), list(range(rows))[::-1])):
                    chosen = None if chosen is None else chosen[:of_mask]
                    mask = random_mask(random, of_mask, words)
                    result = logits.clone()
                    indices = None if chosen is None else torch.tensor(chosen, device="cuda")
                    refuse(result, torch.from_numpy(mask).cuda(), indices)
                    reference = expected(logits.float().cpu().numpy(), mask, chosen or list(range(rows)))
                    if not np.array_equal(result.float().cpu().numpy(), reference):
                        raise AssertionError(
                            f"{dtype} {rows}x{size}+{padding}, mask rows {of_mask}, rows {chosen}"
                        )
                    count += 1
    return count


def by_torch(torch: Any, logits: Any, words: Any) -> None:
    """Apply the masks with operations of torch."""
    shifts = torch.arange(32, dtype=torch.int32, device=logits.device)
    refused = ((words.unsqueeze(-1) >> shifts) & 1).eq(0).flatten(-2)[:, : logits.shape[-1]]
    logits.masked_fill_(refused, float("-inf"))


def microseconds(torch: Any, run: Any) -> float:
    """Return the median time of a call on the device."""
    for _ in range(10):
        run()
    times = []
    for _ in range(100):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        run()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1000)
    return float(np.median(times))


def main() -> int:
    """Verify, measure, print, and record the results if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    add_record_option(parser)
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("torch is not installed")
        return 2
    if not torch.cuda.is_available():
        print("there is no CUDA device")
        return 2
    refuse = load_kernel().refuse
    setting = f"{torch.cuda.get_device_name()}, torch {torch.__version__}. {check(torch, refuse)} results equal numpy."
    cells = []
    random = np.random.default_rng(2)
    for rows, size in TIMED:
        mask = torch.from_numpy(random_mask(random, rows, -(-size // 32))).cuda()
        for dtype in (torch.bfloat16, torch.float32):
            logits = torch.randn((rows, size), dtype=dtype, device="cuda")
            kernel = microseconds(torch, lambda: refuse(logits, mask))  # noqa: B023
            plain = microseconds(torch, lambda: by_torch(torch, logits, mask))  # noqa: B023
            rate = logits.numel() * logits.element_size() / kernel / 1000
            cells.append(
                [f"{rows}", f"{size:,}", str(dtype)[6:], f"{kernel:.1f}", f"{plain:.1f}", f"{rate:,.0f}"]
            )
    table = Table(("rows", "vocabulary", "dtype", "kernel us", "torch us", "GB/s of logits, kernel"), cells)
    print(f"{setting}\n\n{table.markdown()}")
    if options.record:
        sections = [Section("Calls", setting, table, "calls")]
        SuiteResults("apply_cuda", "Applying masks on a CUDA device", Stamp.now(), sections).write(
            options.record
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
