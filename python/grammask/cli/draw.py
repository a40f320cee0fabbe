"""``grammask draw``: railroad diagrams, the automaton of a terminal, and the item sets of a text."""

from html import escape
from pathlib import Path
from typing import Annotated

import typer

from grammask import _grammask
from grammask.cli import arguments
from grammask.cli.failures import Failure
from grammask.cli.terminal import ERR, OUT
from grammask.grammar import Grammar

MAX_SET_BYTES = 60
"""Maximum length of a text whose item sets are drawn, in bytes."""


def draw(
    grammar: arguments.GrammarFile,
    output: Annotated[
        str, typer.Option("--output", "-o", help="The file, .svg or .html; - is standard output.")
    ] = "-",
    automaton: Annotated[
        str | None, typer.Option(help="Draw the automaton of this terminal or regular rule.", metavar="NAME")
    ] = None,
    sets: Annotated[
        str | None, typer.Option(help="Draw the item sets of this text, a column per byte.", metavar="TEXT")
    ] = None,
    rule: Annotated[
        list[str] | None, typer.Option(help="Draw only this rule. May be repeated.", metavar="NAME")
    ] = None,
    start: arguments.Start = None,
    schema: arguments.IsSchema = False,
    option: arguments.OptionValues = None,
) -> None:
    """Draw a grammar as SVG or HTML: the railroad diagram of each rule, or --automaton, or --sets.

    Of a schema, the rules that express it are drawn.
    """
    if sum(each is not None for each in (automaton, sets, rule)) > 1:
        msg = "give one of --automaton, --sets and --rule"
        raise Failure(msg)
    if Path(output).suffix.lower() not in ("", ".svg", ".html", ".htm"):
        msg = f"--output: {output} is neither .svg nor .html"
        raise Failure(msg)
    read = arguments.read_grammar(grammar, start, schema=schema, options=option)
    if automaton is not None:
        try:
            drawn = [(automaton, read.automaton(automaton))]
        except ValueError as error:
            raise Failure(str(error)) from None
    elif sets is not None:
        drawn = [("item sets", _item_sets(read, sets.encode()))]
    else:
        drawn = _of_rules(read.diagrams(), rule)
    text = _page(grammar, drawn) if output.lower().endswith((".html", ".htm")) else joined(drawn)
    if output == "-":
        OUT.print(text, markup=False, highlight=False, soft_wrap=True)
        return
    Path(output).write_text(text, encoding="utf-8")
    ERR.print(f"{len(drawn)} {'diagram' if len(drawn) == 1 else 'diagrams'} in {output}")


def _of_rules(drawn: list[tuple[str, str]], names: list[str] | None) -> list[tuple[str, str]]:
    if not names:
        return drawn
    known = {rule for rule, _ in drawn}
    for name in names:
        if name not in known:
            msg = f"--rule: the grammar has no rule {name}; it has {', '.join(sorted(known)[:20])}"
            raise Failure(msg)
    return [(rule, svg) for rule, svg in drawn if rule in names]


def _item_sets(grammar: Grammar, text: bytes) -> str:
    if len(text) > MAX_SET_BYTES:
        msg = f"--sets: the text has {len(text)} bytes, and item sets are drawn for at most {MAX_SET_BYTES}"
        raise Failure(msg)
    vocabulary = _grammask.Vocabulary([*(bytes([byte]) for byte in range(256)), None], eos=256)
    matcher = grammar.compile(vocabulary, cache=False).matcher()
    columns = []
    for position in range(len(text) + 1):
        read = text[position - 1 : position] if position else b""
        if read and not matcher.accept_bytes(read):
            msg = f"--sets: byte {position - 1}, {_grammask.quote_bytes(read)}, is not legal after the text before it"
            raise Failure(msg)
        # The first line has the number of the set; the items are followed by the continuations that they name.
        items = [line.strip() for line in matcher.describe_set().splitlines()[1:]]
        notation = _grammask.quote_bytes(read) if read else ""
        columns.append((notation, matcher.is_complete, items))
    return _grammask.item_sets_diagram(columns)


def joined(drawn: list[tuple[str, str]]) -> str:
    """Returns diagrams as one SVG element, one below the other."""
    if len(drawn) == 1:
        return drawn[0][1] + "\n"
    parts, top, width = [], 0, 0
    for _, svg in drawn:
        head = svg[: svg.index(">")]
        size = {name: int(head.split(f' {name}="', 1)[1].split('"', 1)[0]) for name in ("width", "height")}
        parts.append(svg.replace("<svg ", f'<svg y="{top}" ', 1))
        top += size["height"] + 12
        width = max(width, size["width"])
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top}" viewBox="0 0 {width} {top}">\n'
        f"{body}\n</svg>\n"
    )


def _page(name: str, drawn: list[tuple[str, str]]) -> str:
    """Returns diagrams as a page of HTML, in which a click on a reference goes to its rule."""
    body = "\n".join(f"<section>{svg}</section>" for _, svg in drawn)
    return _PAGE.format(title=escape(f"Diagrams of {Path(name).name}"), body=body)


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
body{{font-family:system-ui,sans-serif;margin:1.5rem}}
section{{overflow-x:auto;margin-bottom:1rem}}
.reference{{cursor:pointer}}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
<script>
document.addEventListener("click", event => {{
  const reference = event.target.closest(".reference");
  const rules = [...document.querySelectorAll("svg[data-rule]")];
  rules.find(each => each.dataset.rule === reference?.dataset.rule)?.scrollIntoView({{behavior: "smooth"}});
}});
</script>
</body>
</html>
"""
