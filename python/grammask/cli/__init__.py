"""The command line ``grammask``: check grammars, see masks, generate texts.

Importing this package is cheap: the modules of the commands are imported when the command line starts.
"""


def main() -> None:
    """Runs the command line with the arguments of the process."""
    from grammask.cli.application import application

    application(prog_name="grammask")
