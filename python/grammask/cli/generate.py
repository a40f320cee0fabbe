"""``grammask generate``: a text under a grammar, as it comes out of a model."""

import time
from typing import Annotated

import numpy as np
import typer
from rich.text import Text

from grammask import CompiledGrammar, Vocabulary
from grammask.cli import arguments
from grammask.cli.failures import Failure
from grammask.cli.generation import Step, generate, is_text_of
from grammask.cli.language_models import DemoModel, LanguageModel, RandomModel
from grammask.cli.terminal import ERR, OUT, token_label

_TOKEN_STYLES = ("", "on grey30")


def generate_text(
    grammar: arguments.GrammarFile,
    vocab: arguments.VocabularyName = "o200k",
    model: Annotated[
        str, typer.Option(help="demo (a small n-gram model) or random (seeded noise).")
    ] = "demo",
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same text.")] = 0,
    max_tokens: Annotated[int, typer.Option(min=1, help="Stop after so many tokens, complete or not.")] = 256,
    temperature: Annotated[float, typer.Option(min=0.01, help="Lower is more faithful to the model.")] = 1.0,
    prompt: Annotated[
        str, typer.Option(help="What the model reads first; the grammar does not see it.")
    ] = "",
    end: arguments.EndMode = None,
    eos: arguments.EndTokens = None,
    start: arguments.Start = "start",
    schema: arguments.Schema = False,
    option: arguments.SchemaOptions = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="A line per token: id, allowed, time of mask, text.")
    ] = False,
) -> None:
    """Generate a text under a grammar.

    The text goes to standard output, everything about it to standard error.
    """
    vocabulary = arguments.open_vocabulary(vocab, eos)
    rng = np.random.default_rng(seed)
    language_model = _model(model, vocabulary, rng)
    begin = time.perf_counter()
    read = arguments.read_grammar(grammar, start, schema=schema, options=option)
    compiled = arguments.compile_grammar(read, vocabulary, end)
    compile_seconds = time.perf_counter() - begin
    matcher = compiled.matcher()
    steps: list[Step] = []
    for step in generate(
        matcher,
        vocabulary,
        language_model,
        rng,
        prompt=prompt.encode("utf-8", "surrogateescape"),
        temperature=temperature,
        max_tokens=max_tokens,
    ):
        steps.append(step)
        if trace:
            _print_row(vocabulary, step)
        elif OUT.is_terminal:
            _print_token(step, len(steps))
    if OUT.is_terminal and not trace:
        OUT.print()
    if trace or not OUT.is_terminal:
        OUT.print(b"".join(step.text for step in steps).decode("utf-8", "replace"))
    _report(compiled, steps, compile_seconds, is_finished=matcher.is_finished)


def _model(name: str, vocabulary: Vocabulary, rng: np.random.Generator) -> LanguageModel:
    if name == "demo":
        with ERR.status("reading the demo model's corpus"):
            return DemoModel(vocabulary)
    if name == "random":
        return RandomModel(vocabulary, rng)
    if name.startswith("hf:"):
        msg = f"--model {name}: models of Hugging Face are not supported yet; use demo or random"
    else:
        msg = f"--model {name}: there are demo and random"
    raise Failure(msg)


def _print_token(step: Step, count: int) -> None:
    """One token on a terminal, on a background that tells it from its neighbours."""
    OUT.print(Text(step.text.decode("utf-8", "replace"), style=_TOKEN_STYLES[count % 2]), end="")


def _print_row(vocabulary: Vocabulary, step: Step) -> None:
    label = token_label(vocabulary, step.token)
    ERR.print(f"{step.token:>8} {step.allowed:>8,} allowed {step.mask_seconds * 1e6:>9,.1f} us  {label}")


def _report(
    compiled: CompiledGrammar, steps: list[Step], compile_seconds: float, *, is_finished: bool
) -> None:
    """Says how the text ended, whether it parses, and how long the masks took."""
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
