"""Metrics of servers in Prometheus' registry."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import pytest
from grammask import CompileCache, Grammar, GrammarSyntaxError, Vocabulary
from grammask.integrations.serving import metrics

client: Any = pytest.importorskip("prometheus_client")

BYTES = Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)


def value(name: str, **labels: str) -> float:
    return float(client.REGISTRY.get_sample_value(name, labels) or 0)


def test_compiles_hits_and_refusals() -> None:
    metrics._registered()

    def counts() -> tuple[float, ...]:
        return (
            value("grammask_compile_seconds_count", kind="regex"),
            value("grammask_cache_hits_total", kind="regex"),
            value("grammask_refusals_total", kind="regex", code="invalid-regex"),
        )

    before = counts()
    for _ in range(3):
        grammar, compiled = metrics.compile_measured(
            "regex", lambda: Grammar.from_regex("metrics[0-9]+"), BYTES
        )
        assert compiled.is_valid(b"metrics1")
    assert grammar.compile(BYTES) is compiled, "it is in the cache of the process"
    with pytest.raises(GrammarSyntaxError):
        metrics.compile_measured("regex", lambda: Grammar.from_regex("("), BYTES)
    assert [after - earlier for after, earlier in zip(counts(), before, strict=True)] == [1, 2, 1]


def test_masks_are_added_up(monkeypatch) -> None:
    before = value("grammask_masks_total"), value("grammask_mask_seconds_total")
    monkeypatch.setattr(metrics, "FLUSH_SECONDS", 3600)
    for _ in range(5):
        metrics.add_masks(2, time.perf_counter() - 0.5)
    assert value("grammask_masks_total") == before[0]
    monkeypatch.setattr(metrics, "FLUSH_SECONDS", 0)
    metrics.add_masks(1, time.perf_counter())
    assert value("grammask_masks_total") - before[0] >= 11
    assert value("grammask_mask_seconds_total") - before[1] >= 2.5


def test_without_the_package(monkeypatch) -> None:
    monkeypatch.setattr(metrics, "_registered", lambda: None)
    _, compiled = metrics.compile_measured("regex", lambda: Grammar.from_regex("b"), BYTES)
    assert compiled.is_valid(b"b")
    metrics.add_masks(1, 0.0)
    assert isinstance(metrics._ObservedCache(), CompileCache)


def test_threads_register_the_metrics_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class SlowMetrics:
        count = 0

        def __init__(self, _client: Any) -> None:
            time.sleep(0.02)
            SlowMetrics.count += 1

    monkeypatch.setattr(metrics, "_Metrics", SlowMetrics)
    monkeypatch.setattr(metrics, "_register", cache(metrics._register.__wrapped__))
    with ThreadPoolExecutor(8) as threads:
        registered = list(threads.map(lambda _: metrics._registered(), range(8)))
    assert len(set(registered)) == SlowMetrics.count == 1
