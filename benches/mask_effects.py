"""The cost of measuring the probability that a mask leaves, compared with applying the mask alone.

    python benches/mask_effects.py [--width 200064] [--cuda]

Prints, per format of the logits and share of legal tokens, the median CPU time of ``apply_mask`` without and with
``mass=`` and ``preferred=``, measured in alternation in one run, and their ratio. With ``--cuda``, times of the device.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from grammask import apply_mask

ROUNDS = 40


def alternated(
    calls: list[Callable[[], Any]], prepare: Callable[[], Any], clock: Callable[[], float]
) -> list[float]:
    """Return the median times of calls, which are made in turn; ``prepare`` runs before each."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for index, call in enumerate(calls):
            prepare()
            begin = clock()
            call()
            times[index].append(clock() - begin)
    return [statistics.median(each) for each in times]


def report(
    name: str, apply: list[Callable[[], Any]], prepare: Callable[[], Any], clock: Callable[[], float]
) -> None:
    """Print the times of applying a mask alone, and with the probability, as a row of a table."""
    alone, both = alternated(apply, prepare, clock)
    print(f"| {name} | {alone * 1e6:.0f} | {both * 1e6:.0f} | {both / alone:.2f} |")


def on_cpu(kind: str, share: float, width: int) -> None:
    """Measure logits of a format under a mask with a share of legal tokens."""
    random = np.random.default_rng(1)
    single = random.standard_normal(width).astype(np.float32)
    bits = (single.view(np.uint32) >> 16).astype(np.uint16)
    original = bits if kind == "bfloat16" else single.astype(kind)
    logits = original.copy()
    mass, preferred = np.empty(1), np.empty(1, np.int64)
    mask = np.packbits(random.random(-(-width // 32) * 32) < share, bitorder="little").view(np.int32)
    report(
        f"{kind}, {share:.1%} legal",
        [
            lambda: apply_mask(logits, mask),
            lambda: apply_mask(logits, mask, mass=mass, preferred=preferred),
        ],
        lambda: np.copyto(logits, original),
        time.process_time,
    )


def on_cuda(kind: str, rows: int, width: int) -> None:
    """Measure rows of logits of a format on a CUDA device, synchronising around each call."""
    import torch

    def clock() -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    original = torch.randn((rows, width), device="cuda").to(getattr(torch, kind))
    logits = original.clone()
    mask = torch.randint(-(1 << 31), 1 << 31, (rows, -(-width // 32)), device="cuda").to(torch.int32)
    mass = torch.empty(rows, dtype=torch.float64, device="cuda")
    report(
        f"{kind}, {rows} rows on {torch.cuda.get_device_name()}",
        [lambda: apply_mask(logits, mask), lambda: apply_mask(logits, mask, mass=mass)],
        lambda: logits.copy_(original),
        clock,
    )


def main() -> None:
    """Run the measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=200_064)
    parser.add_argument("--cuda", action="store_true")
    options = parser.parse_args()
    print(f"| logits of {options.width:,} tokens | mask alone, us | with mass, us | ratio |")
    print("|---|---|---|---|")
    if options.cuda:
        for kind in ("float32", "bfloat16"):
            for rows in (1, 32, 256):
                on_cuda(kind, rows, options.width)
        return
    for kind in ("float32", "float16", "bfloat16", "float64"):
        for share in (0.001, 0.5, 0.999):
            on_cpu(kind, share, options.width)


if __name__ == "__main__":
    main()
