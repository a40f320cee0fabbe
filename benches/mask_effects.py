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

ROUNDS = 60


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


def on_cpu(width: int) -> None:
    random = np.random.default_rng(1)
    print(f"| format, {width:,} tokens | legal | mask alone, us | with mass, us | ratio |")
    print("|---|---|---|---|---|")
    for kind in ("float32", "float16", "bfloat16", "float64"):
        original = random.standard_normal(width).astype(np.float32)
        if kind == "bfloat16":
            original = (original.view(np.uint32) >> 16).astype(np.uint16)
        else:
            original = original.astype(kind)
        logits = original.copy()
        mass, preferred = np.empty(1), np.empty(1, np.int64)
        for share in (0.001, 0.5, 0.999):
            bits = random.random(-(-width // 32) * 32) < share
            mask = np.packbits(bits, bitorder="little").view(np.int32)
            alone, both = alternated(
                [
                    lambda mask=mask: apply_mask(logits, mask),
                    lambda mask=mask: apply_mask(logits, mask, mass=mass, preferred=preferred),
                ],
                lambda: np.copyto(logits, original),
                time.process_time,
            )
            print(f"| {kind} | {share:.1%} | {alone * 1e6:.0f} | {both * 1e6:.0f} | {both / alone:.2f} |")


def on_cuda(width: int) -> None:
    import torch

    print(
        f"| format, {width:,} tokens, {torch.cuda.get_device_name()} | rows | mask alone, us | with mass, us | ratio |"
    )
    print("|---|---|---|---|---|")

    def clock() -> float:
        torch.cuda.synchronize()
        return time.perf_counter()

    for dtype in (torch.float32, torch.bfloat16):
        for rows in (1, 32, 256):
            original = torch.randn((rows, width), device="cuda").to(dtype)
            logits = original.clone()
            mask = torch.randint(-(1 << 31), 1 << 31, (rows, -(-width // 32)), device="cuda").to(torch.int32)
            mass = torch.empty(rows, dtype=torch.float64, device="cuda")
            alone, both = alternated(
                [lambda: apply_mask(logits, mask), lambda: apply_mask(logits, mask, mass=mass)],  # noqa: B023
                lambda: logits.copy_(original),  # noqa: B023
                clock,
            )
            print(f"| {dtype} | {rows} | {alone * 1e6:.0f} | {both * 1e6:.0f} | {both / alone:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=200_064)
    parser.add_argument("--cuda", action="store_true")
    options = parser.parse_args()
    (on_cuda if options.cuda else on_cpu)(options.width)


if __name__ == "__main__":
    main()
