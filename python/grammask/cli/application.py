"""The commands of ``grammask``."""

from importlib import metadata
from typing import Annotated

import typer

from grammask.cli.check import check
from grammask.cli.debug import debug
from grammask.cli.derive_style import derive_style
from grammask.cli.doctor import doctor
from grammask.cli.draw import draw
from grammask.cli.explain import explain
from grammask.cli.failures import ReportingGroup
from grammask.cli.generate import generate_text
from grammask.cli.grammars import grammars
from grammask.cli.mask import mask
from grammask.cli.raised_limits import set_limits
from grammask.cli.serve import serve
from grammask.cli.streamline import streamline
from grammask.cli.terminal import OUT
from grammask.cli.validate import validate
from grammask.cli.warm import warm

application = typer.Typer(
    cls=ReportingGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_asked: bool) -> None:  # noqa: FBT001
    if is_asked:
        OUT.print(f"grammask {metadata.version('grammask')}")
        raise typer.Exit


@application.callback()
def _options_of_all(
    version: Annotated[  # noqa: ARG001
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
    limits: Annotated[
        list[str] | None,
        typer.Option(
            help="A limit of reading and compiling as NAME=NUMBER: seconds, memory_bytes and others. May be repeated.",
            metavar="NAME=NUMBER",
        ),
    ] = None,
) -> None:
    """Exact next-token masks for grammars."""
    set_limits(limits or [])


application.command()(check)
application.command()(mask)
application.command()(explain)
application.command()(draw)
application.command("generate")(generate_text)
application.command()(validate)
application.command()(serve)
application.command("derive-style")(derive_style)
application.command()(warm)
application.command()(grammars)
application.command()(doctor)
application.command()(streamline)
application.add_typer(debug, name="debug")
