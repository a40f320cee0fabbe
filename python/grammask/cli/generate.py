"""``grammask generate``: a text that a model writes under a grammar."""

import math
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.text import Text

from grammask._grammask import CompiledGrammar
from grammask.cli import arguments, completions
from grammask.cli.failures import Failure
from grammask.cli.terminal import ERR, OUT, token_label, working
from grammask.integrations.drafts import Drafter
from grammask.language_models import DraftVerifier, LanguageModel, open_model
from grammask.language_models.generation import Step, generate, is_text_of
from grammask.language_models.remote import NoFittingContinuation, RemoteModel
from grammask.preparation import prepare
from grammask.trace import Trace
from grammask.vocabulary import Vocabulary

_TOKEN_STYLES = ("", "on grey30")
_PIECE_STYLES = {"model": "", "forced": "dim", "alternative": "underline", "completion": "dim"}


def generate_text(
    grammar: Annotated[str | None, arguments.GRAMMAR_FILE] = None,
    vocab: arguments.VocabularyOfModel = None,
    model: Annotated[
        str,
        typer.Option(
            help="demo (a small n-gram model), random (seeded noise), hf:NAME (transformers), gguf:PATH (llama.cpp), "
            "or openai:URL#NAME (a server; without logits, its text is checked and corrected).",
            autocompletion=completions.models,
        ),
    ] = "demo",
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same text.")] = 0,
    max_tokens: Annotated[
        int, typer.Option(min=1, help="Maximum number of tokens, within which the text is completed.")
    ] = 256,
    budget: Annotated[
        bool, typer.Option("--budget/--no-budget", help="Without a budget, --max-tokens truncates the text.")
    ] = True,
    temperature: Annotated[
        float, typer.Option(min=0.0, help="Of sampling; low values prefer likely tokens.")
    ] = 1.0,
    prompt: Annotated[
        str, typer.Option(help="Text that the model reads first; the grammar does not apply to it.")
    ] = "",
    end: arguments.EndMode = None,
    eos: arguments.EndTokens = None,
    start: arguments.Start = None,
    schema: arguments.IsSchema = False,
    option: arguments.OptionValues = None,
    markdown: Annotated[
        str | None,
        typer.Option(
            help="An answer in Markdown whose fenced blocks are valid in these bundled languages, instead of G.",
            metavar="NAMES",
        ),
    ] = None,
    drafts: arguments.HasDrafts = False,
    trace: Annotated[
        str | None,
        typer.Option(
            help="Record each token: a page (.html), JSON (.json), or with - a line per token on standard error.",
            metavar="FILE",
        ),
    ] = None,
) -> None:
    """Generate a text under a grammar.

    The text goes to standard output, all other information to standard error.
    """
    if (grammar is None) == (markdown is None):
        msg = "give a grammar G or --markdown"
        raise Failure(msg)
    if not math.isfinite(temperature):
        msg = f"--temperature: {temperature} is no finite number"
        raise Failure(msg)
    if trace is not None and trace != "-":
        _check_is_writable(Path(trace))
    rng = np.random.default_rng(seed)
    begin = time.perf_counter()
    read = arguments.read_grammar(grammar or f"markdown:{markdown}", start, schema=schema, options=option)
    read_seconds = time.perf_counter() - begin
    kind, _, place = model.partition(":")
    if kind == "openai" and place:
        for name, is_given in (("--trace", trace is not None), ("--drafts", drafts)):
            if is_given:
                msg = f"{name}: a server gives no logits"
                raise Failure(msg)
        vocabulary = arguments.open_vocabulary(vocab or "o200k", eos)
        compiled = arguments.compile_grammar(read, vocabulary, end)
        _write_remotely(place, compiled, prompt, temperature, seed, max_tokens, has_budget=budget)
        return
    language_model = open_language_model(model, vocab, eos, rng)
    if drafts and not isinstance(language_model, DraftVerifier):
        msg = f"--drafts: the model {model} verifies no drafts; those of hf: and gguf: do"
        raise Failure(msg)
    begin = time.perf_counter()
    compiled = arguments.compile_grammar(read, language_model.vocabulary, end)
    compile_seconds = read_seconds + time.perf_counter() - begin
    drafter = (
        Drafter(language_model.encode_text) if drafts and isinstance(language_model, DraftVerifier) else None
    )
    record = None if trace in (None, "-") else Trace(language_model.vocabulary)
    steps, is_finished = _write_locally(
        language_model,
        compiled,
        rng,
        prompt,
        temperature,
        max_tokens,
        drafter,
        has_budget=budget,
        trace=record,
        has_lines=trace == "-",
    )
    if record is not None and trace is not None:
        record.write(trace)
    if OUT.is_terminal and trace != "-":
        OUT.print()
    if trace == "-" or not OUT.is_terminal:
        OUT.print(b"".join(step.text for step in steps).decode("utf-8", "replace"))
    _report(compiled, steps, compile_seconds, is_finished=is_finished)
    if drafter is not None:
        passes = len(steps) - drafter.accepted
        ERR.print(
            f"{passes} passes of the model, {drafter.accepted} of {drafter.proposed} drafted tokens accepted"
        )


def _check_is_writable(path: Path) -> None:
    """Makes a file that cannot be written an error before the text, not after it. Leaves no empty file."""
    is_new = not path.exists()
    with path.open("a"):
        pass
    if is_new:
        path.unlink()


def open_language_model(
    model: str, vocab: str | None, eos: str | None, rng: np.random.Generator
) -> LanguageModel:
    """Opens the model of ``--model``; the vocabulary of ``--vocab`` is for models without one."""
    given = None if vocab is None and eos is None else arguments.open_vocabulary(vocab or "o200k", eos)
    with working(f"opening the model {model}"):
        try:
            return open_model(model, given, rng)
        except ValueError as error:
            msg = f"--vocab and --eos: {error}"
            raise Failure(msg) from None


def _write_locally(
    model: LanguageModel,
    compiled: CompiledGrammar,
    rng: np.random.Generator,
    prompt: str,
    temperature: float,
    max_tokens: int,
    drafter: Drafter | None,
    *,
    has_budget: bool,
    trace: Trace | None,
    has_lines: bool,
) -> tuple[list[Step], bool]:
    """Generates with masks; returns the tokens, and whether the text is finished."""
    prepare(compiled)
    matcher = compiled.matcher()
    steps: list[Step] = []
    for step in generate(
        matcher,
        model,
        rng,
        prompt=model.encode(prompt) if prompt else (),
        temperature=temperature,
        max_tokens=max_tokens,
        has_budget=has_budget,
        drafter=drafter,
        trace=trace,
    ):
        steps.append(step)
        if has_lines:
            _print_row(model.vocabulary, step)
        elif OUT.is_terminal:
            _print_piece(step.text, _TOKEN_STYLES[len(steps) % 2])
    return steps, matcher.is_finished


def _write_remotely(
    place: str,
    compiled: CompiledGrammar,
    prompt: str,
    temperature: float,
    seed: int,
    max_tokens: int,
    *,
    has_budget: bool,
) -> None:
    """Generates with a server that gives no logits, up to four bytes per token."""
    matcher = compiled.matcher()
    text = b""
    try:
        with working(f"asking {place}"):
            for piece in RemoteModel(place).write(
                matcher,
                prompt,
                temperature=temperature,
                seed=seed,
                max_bytes=max_tokens * 4,
                is_completed=has_budget,
            ):
                text += piece.text
                if OUT.is_terminal:
                    _print_piece(piece.text, _PIECE_STYLES[piece.source])
    except NoFittingContinuation as error:
        raise Failure(str(error)) from None
    OUT.print("" if OUT.is_terminal else text.decode("utf-8", "replace"))
    if matcher.is_complete or matcher.is_finished:
        ERR.print(f"complete, {len(text)} bytes", style="green")
    else:
        ERR.print(f"cut off after {len(text)} bytes: not a complete text", style="yellow")


def _print_piece(text: bytes, style: str) -> None:
    """Prints a part of the text on a terminal, in the style of its source."""
    OUT.print(Text(text.decode("utf-8", "replace"), style=style), end="")


def _print_row(vocabulary: Vocabulary, step: Step) -> None:
    label = token_label(vocabulary, step.token)
    ERR.print(f"{step.token:>8} {step.allowed:>8,} allowed {step.mask_seconds * 1e6:>9,.1f} us  {label}")


def _report(
    compiled: CompiledGrammar, steps: list[Step], compile_seconds: float, *, is_finished: bool
) -> None:
    """Prints whether the text is complete and parses, and the times of the masks."""
    parses = is_finished and is_text_of(compiled, steps)
    if parses:
        ERR.print("complete; it parses when read again as bytes", style="green")
    elif is_finished:
        ERR.print(
            "complete, but it does not parse when read again as bytes: a defect of grammask", style="bold red"
        )
    else:
        ERR.print(f"cut off after {len(steps)} tokens (--max-tokens): not a complete text", style="yellow")
    micros = np.array([step.mask_seconds for step in steps]) * 1e6
    p50, p99 = np.percentile(micros, (50, 99))
    ERR.print(
        f"{len(steps)} tokens, grammar read and compiled in {compile_seconds * 1e3:.1f} ms; masks: "
        f"first {micros[0]:,.0f} us, mean {micros.mean():,.0f} us, p50 {p50:,.0f} us, p99 {p99:,.0f} us; "
        f"{compiled.stats()['sets']:,} sets",
        style="dim",
    )
    if is_finished and not parses:
        raise typer.Exit(1)
