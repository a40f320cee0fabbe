"""``grammask doctor``: whether grammask works, and in which of the installed tools it is active."""

import importlib.metadata
from typing import Annotated

import typer

from grammask.cli.failures import Failure
from grammask.cli.terminal import OUT
from grammask.integrations.hosts import HOSTS, Finding, engine_findings


def doctor(
    hosts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="HOST...", help=f"Tools to examine: {', '.join(HOSTS)}. Default: the installed ones."
        ),
    ] = None,
) -> None:
    """Examine grammask in the tools that serve models: versions, interfaces, and whether it is active.

    Each examined tool is imported and, where it is possible without a model, a mask is made through its adapter and
    compared with the engine. The exit status is 1 if there is a problem.
    """
    unknown = [name for name in hosts or () if name not in HOSTS]
    if unknown:
        msg = f"there is no tool {unknown[0]!r}; known are {', '.join(HOSTS)}"
        raise Failure(msg)
    problems = _show(f"grammask {importlib.metadata.version('grammask')}", engine_findings())
    for host in HOSTS.values():
        if host.name in hosts if hosts else host.version is not None:
            problems += _show(host.name, host.findings())
    if problems:
        raise typer.Exit(1)


def _show(title: str, findings: list[Finding]) -> int:
    """Prints findings, and returns the number of problems."""
    OUT.print(title, style="bold")
    for finding in findings:
        OUT.print(
            f"  {'problem' if finding.is_problem else 'ok':7}  {finding.text}",
            style="red" if finding.is_problem else None,
        )
    return sum(finding.is_problem for finding in findings)
