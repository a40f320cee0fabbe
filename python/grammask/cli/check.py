"""``grammask check``: the errors and warnings of a grammar or a schema."""

import functools
import json
from collections.abc import Callable
from typing import Annotated, Any, Literal

import typer

from grammask.ambiguity import has_only_conflicts
from grammask.cli import arguments, completions
from grammask.cli.failures import Failure
from grammask.cli.raised_limits import limits_of_command
from grammask.cli.terminal import OUT, show, working
from grammask.errors import Diagnostic, GrammarError
from grammask.grammar import Grammar
from grammask.readers.keyword_effects import keyword_effects
from grammask.schemas.portability import ENGINES, portability, table

_MAX_LISTED_PLACES = 60
"""Maximum number of lines about keywords of a schema."""


def check(
    grammar: arguments.GrammarFile,
    start: arguments.Start = None,
    vocab: Annotated[
        str | None,
        typer.Option(
            help="Also look up the tokens that the grammar refers to.",
            metavar="V",
            autocompletion=completions.vocabularies,
        ),
    ] = None,
    finite: Annotated[bool, typer.Option("--finite", help="Refuse rules that never end.")] = False,
    schema: arguments.IsSchema = False,
    option: arguments.OptionValues = None,
    engines: Annotated[
        str | None,
        typer.Option(
            "--for",
            help=f"For a schema: which keywords these do not enforce, separated by commas: {', '.join(ENGINES)}. "
            "The exit status is 1 if there are any.",
            metavar="ENGINES",
            autocompletion=completions.engines,
        ),
    ] = None,
    ambiguity: Annotated[
        bool,
        typer.Option(
            "--ambiguity",
            help="Search for a text with two parse trees, for at most 10 s; with a lexer, list resolved conflicts.",
        ),
    ] = False,
) -> None:
    """Diagnose a grammar or a JSON Schema. The exit status is 1 if it has errors.

    For a schema it also lists, by JSON pointer, the keywords that are enforced, without effect, refused, dropped or
    annotations.
    """
    if engines is not None:
        _check_engines(grammar, [name.strip() for name in engines.split(",")])
        return
    if schema or arguments.is_schema(grammar):
        arguments.refuse_start(start)
        text, options = arguments.read_bytes(grammar), arguments.schema_options(option)
        read = functools.partial(arguments.read_schema, text, options)
        checked, diagnostics = _checked(read, vocab, finite=finite)
        _show_effects(text, options)
    else:
        read = functools.partial(arguments.read_grammar, grammar, start, options=option)
        checked, diagnostics = _checked(read, vocab, finite=finite)
    if ambiguity and checked is not None and has_only_conflicts(diagnostics):
        conflicts = _show_ambiguity(checked)
        # Errors are listed already.
        diagnostics += [conflict for conflict in conflicts if conflict.severity == "warning"]
    show(diagnostics)
    errors = sum(diagnostic.severity == "error" for diagnostic in diagnostics)
    warnings = len(diagnostics) - errors
    counts = [_count(errors, "error")] * (errors > 0) + [_count(warnings, "warning")] * (warnings > 0)
    name = "standard input" if grammar == "-" else grammar
    OUT.print(f"{name}: {', '.join(counts) or 'no errors'}", style="red" if errors else "green")
    if errors:
        raise typer.Exit(1)


def _checked(
    read: Callable[[], Grammar], vocab: str | None, *, finite: bool
) -> tuple[Grammar | None, list[Diagnostic]]:
    """Returns the grammar of ``read``, unless it is refused, and all diagnostics."""
    checked, limits = None, limits_of_command()
    try:
        with working("checking the grammar"):
            checked = read()
            diagnostics = [*checked.relaxations, *checked.check(limits)]
        if vocab is not None or finite:
            vocabulary = arguments.open_vocabulary(vocab or "o200k")
            end: Literal["eos", "eager"] = "eos" if vocabulary.eos else "eager"
            with working("compiling the grammar"):
                checked.compile(vocabulary, end=end, finite=finite, limits=limits)
    except GrammarError as error:
        return checked, error.diagnostics
    return checked, diagnostics


def _show_ambiguity(grammar: Grammar) -> list[Diagnostic]:
    """Prints an ambiguous text with its parse trees; returns the conflicts of the parser's tables."""
    with working("searching for an ambiguous text"):
        report = grammar.ambiguity()
    found, length = report.ambiguity, report.searched_length
    if found is not None:
        OUT.print(
            f"ambiguous: the rule {found.rule} derives this text in two ways: {found.text}",
            style="yellow",
            markup=False,
        )
        for line in found.side_by_side():
            OUT.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
        OUT.print()
    elif length is None:
        OUT.print("no ambiguous text was found; parts of the grammar were not searched")
    else:
        OUT.print(f"no ambiguous text of at most {length} bytes or terminals")
    return report.conflicts


def _show_effects(text: bytes, options: dict[str, Any]) -> None:
    """Lists the keywords of a schema by effect."""
    lines = _effects(text, options)
    for line in lines[:_MAX_LISTED_PLACES]:
        OUT.print(line)
    if len(lines) > _MAX_LISTED_PLACES:
        OUT.print(f"… and {len(lines) - _MAX_LISTED_PLACES} more places", style="dim")
    if lines:
        OUT.print()


def _check_engines(path: str, engines: list[str]) -> None:
    """Prints the keywords of a schema that other engines do not enforce."""
    try:
        schema = json.loads(arguments.read_bytes(path))
    except (ValueError, RecursionError) as error:
        msg = f"--for is for schemas, and {path} is no JSON: {error}"
        raise Failure(msg) from None
    try:
        found = portability(schema, engines)
    except (ValueError, RecursionError) as error:
        raise Failure(str(error)) from None
    measured = table()
    not_enforced = [each for each in found if each.status != "enforced"]
    for engine in engines:
        source = measured[engine]["source"] if engine in measured else "its documentation"
        problems = [each for each in not_enforced if each.engine == engine]
        OUT.print(f"{engine} ({source})", style="bold")
        for each in problems:
            OUT.print(f"  {each.status:11}  {each.pointer}  {each.reason or each.keyword}")
        if not problems:
            OUT.print("  enforces all keywords", style="green")
    if not_enforced:
        raise typer.Exit(1)


def _effects(text: bytes, options: dict[str, Any]) -> list[str]:
    """Returns lines for each subschema: its enforced keywords, and those without an effect."""
    try:
        effects = keyword_effects(text, **options)
    except GrammarError:
        return []
    shown = {"enforced": "enforced", "idle": "without effect", "unknown": "without effect"}
    lines: dict[tuple[str, str], list[str]] = {}
    for effect in effects:
        if effect.kind in shown:
            place = effect.pointer.rpartition("/")[0]
            lines.setdefault((place, shown[effect.kind]), []).append(effect.keyword)
    return [f"{what} at {place}: {', '.join(names)}" for (place, what), names in lines.items()]


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
