"""The commands of ``grammask``."""

import typer

from grammask.cli.check import check
from grammask.cli.debug import debug
from grammask.cli.doctor import doctor
from grammask.cli.draw import draw
from grammask.cli.explain import explain
from grammask.cli.failures import ReportingGroup
from grammask.cli.generate import generate_text
from grammask.cli.grammars import grammars
from grammask.cli.mask import mask
from grammask.cli.serve import serve
from grammask.cli.streamline import streamline
from grammask.cli.validate import validate
from grammask.cli.warm import warm

application = typer.Typer(
    cls=ReportingGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Exact next-token masks for grammars.",
)
application.command()(check)
application.command()(mask)
application.command()(explain)
application.command()(draw)
application.command("generate")(generate_text)
application.command()(validate)
application.command()(serve)
application.command()(warm)
application.command()(grammars)
application.command()(doctor)
application.command()(streamline)
application.add_typer(debug, name="debug")
