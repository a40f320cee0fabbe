"""``grammask grammars``: the bundled grammars."""

from grammask.cli.terminal import OUT
from grammask.lark_grammars import BUNDLED


def grammars() -> None:
    """List the bundled grammars, the names for ``Grammar.bundled``."""
    width = max(map(len, BUNDLED))
    for name, grammar in sorted(BUNDLED.items()):
        OUT.print(f"{name:{width}}  {grammar.title}", highlight=False)
