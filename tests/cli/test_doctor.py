"""``grammask doctor``: what it reports on hosts that are absent, changed, or make wrong masks."""

from typing import Any

import pytest
from cli.test_commands import run
from grammask.integrations import hosts, vllm_plugin
from grammask.integrations.hosts import Finding, Host
from grammask.integrations.serving.interfaces import UnexpectedInterface


def host(examine: Any = list, **fields: Any) -> Host:
    """Return a host whose package is numpy, which is always installed."""
    values: dict[str, Any] = {
        "name": "fake",
        "distribution": "numpy",
        "adapter": "grammask.masks",
        "tested": ("0.0",),
        "examine": examine,
    }
    return Host(**{**values, **fields})


@pytest.fixture
def only(monkeypatch) -> Any:
    def replace(*those: Host) -> None:
        monkeypatch.setattr("grammask.cli.doctor.HOSTS", {each.name: each for each in those})

    return replace


def test_the_engine_is_examined(only) -> None:
    only()
    output = run("doctor")
    assert output.startswith("grammask 0.")
    assert "ok       a mask made by the engine equals the tokens that a matcher accepts" in output


def test_wrong_masks_are_problems(only, monkeypatch) -> None:
    only()
    monkeypatch.setattr(hosts, "_ids", lambda row: [1, 2, 3])
    assert "problem  a mask made by the engine is wrong: it allows [1, 2, 3]" in run("doctor", status=1)


def test_hosts(only) -> None:
    def renamed() -> list[Finding]:
        symbol = "server.Backend.fill"
        raise UnexpectedInterface(symbol, "does not exist")

    absent = host(name="absent", distribution="no-such-package")
    only(host(), absent)
    output = run("doctor")
    assert "not tested; tested are 0.0" in output
    assert "absent" not in output, "tools that are not installed are examined by name only"
    assert "problem  no-such-package is not installed" in run("doctor", "absent", status=1)
    only(host(renamed))
    assert "problem  grammask.masks does not work with it: server.Backend.fill" in run("doctor", status=1)

    def broken() -> list[Finding]:
        msg = "no compiler"
        raise RuntimeError(msg)

    only(host(broken))
    assert "grammask.masks does not work with it: RuntimeError: no compiler" in run("doctor", status=1)
    only(host(adapter="grammask.no_such_module"))
    assert "problem  grammask.no_such_module does not work with it" in run("doctor", "fake", status=1)
    assert "there is no tool 'other'; known are fake" in run("doctor", "other", status=1)


@pytest.mark.hosts
def test_a_missing_server_is_an_unexpected_interface() -> None:
    pytest.importorskip("torch")
    try:
        import vllm  # noqa: F401
    except ImportError:
        with pytest.raises(UnexpectedInterface, match="vllm"):
            vllm_plugin.install("guidance")
    else:
        vllm_plugin.check_interface()
