"""Applies masks to logits on a CUDA device: correctness against numpy, and time against torch operations.

The time of a call includes its launches from Python, which a serving engine hides behind the model; that of the device
does not.

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
TIMED = [(1, 128_256), (64, 128_256), (256, 128_256)]
SHARES = (0.0005, 0.5, 0.98)
"""Shares of legal tokens: next to a delimiter, in a word, and in a string."""


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


def mask_of_share(torch: Any, rows: int, size: int, share: float) -> Any:
    """Return masks in which a share of the tokens is legal."""
    legal = torch.rand((rows, -(-size // 32) * 32), device="cuda") < share
    words = np.packbits(legal.cpu().numpy(), axis=-1, bitorder="little").view(np.int32)
    return torch.from_numpy(words).cuda()


def of_call(torch: Any, run: Any) -> float:
    """Return the median time of a call in microseconds, with its launches from Python."""
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


def of_device(torch: Any, run: Any) -> float:
    """Return the median time of a call in microseconds on the device alone: that of a graph of some calls."""
    calls = 20
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            run()
    return of_call(torch, graph.replay) / calls


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
    kernel = load_kernel()
    verified = check(torch, kernel.refuse)
    setting = f"{torch.cuda.get_device_name()}, torch {torch.__version__}. {verified} results equal numpy."
    cells = []
    for rows, size in TIMED:
        for dtype in (torch.bfloat16, torch.float32):
            for share in SHARES:
                mask = mask_of_share(torch, rows, size, share)
                logits = torch.randn((rows, size), dtype=dtype, device="cuda")
                runs = [
                    lambda: kernel.refuse(logits, mask),  # noqa: B023
                    lambda: kernel.refuse_with_effects(logits, mask),  # noqa: B023
                    lambda: by_torch(torch, logits, mask),  # noqa: B023
                ]
                times = [f"{time(torch, run):.1f}" for time in (of_call, of_device) for run in runs]
                cells.append([f"{rows}", f"{size:,}", str(dtype)[6:], f"{share:.2%}", *times])
    columns = [
        f"{what}, {where}"
        for where in ("call", "device")
        for what in ("kernel us", "with mass us", "torch us")
    ]
    table = Table(("rows", "vocabulary", "dtype", "legal", *columns), cells)
    print(f"{setting}\n\n{table.markdown()}")
    if options.record:
        sections = [Section("Calls", setting, table, "calls")]
        SuiteResults("apply_cuda", "Applying masks on a CUDA device", Stamp.now(), sections).write(
            options.record
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
