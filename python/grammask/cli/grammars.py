"""``grammask grammars``: the bundled grammars."""

from grammask.cli.terminal import OUT
from grammask.lark_grammars import BUNDLED


def grammars() -> None:
    """List the bundled languages (bundled:NAME) and their start symbols."""
    width = max(map(len, BUNDLED))
    for name, grammar in sorted(BUNDLED.items()):
        starts = ", ".join(grammar.starts)
        OUT.print(f"{name:{width}}  {grammar.title} ({starts})", highlight=False, soft_wrap=True)
