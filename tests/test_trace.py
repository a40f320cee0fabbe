"""Traces of texts: their steps, pages, JSON, spans and representations in notebooks."""

import html
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import grammask
import numpy as np
import pytest
from grammask.language_models import open_model
from grammask.language_models.generation import generate
from grammask.trace import Trace

GRAMMAR = grammask.Grammar.from_kbnf(r"""
    start ::= "[" value { "," value } "]";
    value ::= "true" | #"[0-9]+" | "<b>&";
""")
BYTES = grammask.Vocabulary([*(bytes([byte]) for byte in range(256)), None], eos=256)


class WellFormed(HTMLParser):
    """Checks that elements nest, and that there is neither a script from text nor a reference to another host."""

    VOID = frozenset({"meta", "polyline", "line", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        assert not any(name in {"src", "href"} for name, _ in attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def assert_well_formed(html: str) -> list[str]:
    parser = WellFormed()
    parser.feed(html)
    assert parser.open == []
    return parser.tags


def traced(seed: int = 0) -> tuple[Trace, list[Any]]:
    rng = np.random.default_rng(seed)
    model = open_model("random", BYTES, rng)
    trace = Trace(BYTES)
    steps = list(generate(GRAMMAR.compile(BYTES).matcher(), model, rng, max_tokens=40, trace=trace))
    return trace, steps


def test_steps_are_those_of_the_text() -> None:
    trace, steps = traced()
    assert [step.token for step in trace] == [step.token for step in steps]
    assert [step.allowed for step in trace] == [step.allowed for step in steps]
    assert trace.text == b"".join(step.text for step in steps)
    assert trace.steps[0].is_forced
    assert trace.steps[0].text == b"["
    assert 0 < trace.steps[0].mass < 1
    assert trace.steps[0].rules == ("start",)
    assert all(step.rules for step in trace.steps[:-1])  # At the end, an end token.
    assert all(step.is_preferred == (step.token == step.preferred) for step in trace)


def test_the_text_is_the_same_without_a_trace() -> None:
    _, steps = traced(5)
    rng = np.random.default_rng(5)
    model = open_model("random", BYTES, rng)
    plain = generate(GRAMMAR.compile(BYTES).matcher(), model, rng, max_tokens=40)
    assert [step.token for step in plain] == [step.token for step in steps]


def test_json_and_pages(tmp_path: Path) -> None:
    trace, _ = traced()
    trace.before(None, mass=math.nan, preferred=-1, allowed=3)
    trace.write(tmp_path / "trace.json")
    read = json.loads((tmp_path / "trace.json").read_text())
    assert read["text"] == trace.text.decode()
    assert read["summary"]["tokens"] == len(trace) == len(read["steps"])
    assert read["steps"][-1]["mass"] is None
    assert read["steps"][-1]["token"] is None
    trace.write(tmp_path / "trace.html")
    page = (tmp_path / "trace.html").read_text()
    tags = assert_well_formed(page)
    assert tags.count("tr") == len(trace) + 1
    assert tags.count("script") == 1
    assert "http" not in page
    assert "prefers-color-scheme:dark" in page
    assert_well_formed(trace._repr_html_())


def test_texts_are_escaped() -> None:
    vocabulary = grammask.Vocabulary([b"<script>", b"&x", None], eos=2)
    trace = Trace(vocabulary)
    trace.before(None, mass=0.5, preferred=1, allowed=2)
    trace.after(0)
    assert "<script>" not in trace._repr_html_()
    assert "&lt;script&gt;" in trace.to_html()
    assert "&amp;x" in trace.to_html()


def test_after_needs_a_step() -> None:
    with pytest.raises(ValueError, match="before"):
        Trace(BYTES).after(1)


def test_empty_traces() -> None:
    assert Trace(BYTES).mean_surprise == 0
    assert_well_formed(Trace(BYTES).to_html())


def test_spans() -> None:
    pytest.importorskip("opentelemetry")
    from grammask.integrations.opentelemetry import record_spans

    class Tracer:
        def __init__(self) -> None:
            self.begun: list[tuple[str, dict[str, Any], int]] = []
            self.ended: list[int] = []

        def start_span(
            self, name: str, *, start_time: int, attributes: dict[str, Any], context: Any = None
        ) -> Any:
            from opentelemetry.trace import INVALID_SPAN_CONTEXT, NonRecordingSpan

            self.begun.append((name, attributes, start_time))
            span = NonRecordingSpan(INVALID_SPAN_CONTEXT)
            span.end = lambda time: self.ended.append(time)  # type: ignore[method-assign, assignment]
            return span

    trace, _ = traced()
    tracer = Tracer()
    record_spans(trace, tracer=tracer)
    names = [name for name, _, _ in tracer.begun]
    assert names == ["grammask.text", *["grammask.token"] * len(trace)]
    assert tracer.begun[1][1]["grammask.mass"] == trace.steps[0].mass
    assert len(tracer.ended) == len(trace) + 1
    record_spans(trace)


def test_notebooks() -> None:
    diagrams = GRAMMAR._repr_html_()
    assert 'data-rule="value"' in diagrams
    assert "<b>" not in diagrams
    compiled = GRAMMAR.compile(BYTES)
    assert "256" not in compiled._repr_html_()
    assert "257 ids" in compiled._repr_html_()
    matcher = compiled.matcher()
    matcher.accept(ord("["))
    html = matcher._repr_html_()
    assert_well_formed(html)
    assert "incomplete" in html
    assert "&lt;b&gt;&amp;" in html


def test_diagrams_of_all_notations() -> None:
    schema = grammask.Grammar.from_json_schema({"type": "object", "properties": {"a": {"type": "integer"}}})
    lexed = grammask.Grammar.bundled("json")
    choices = grammask.Grammar.from_choices(["yes", "no"])
    for grammar in (schema, lexed, choices):
        drawn = grammar.diagrams()
        assert drawn
        assert all(svg.startswith("<svg ") and svg.endswith("</svg>") for _, svg in drawn)
        rules = {rule for rule, _ in drawn}
        for _, svg in drawn:
            references = re.findall(r'<g class="reference" data-rule="([^"]*)"', svg)
            assert {html.unescape(rule) for rule in references} <= rules


def test_automata() -> None:
    assert "[0-9]" in GRAMMAR.automaton('#"[0-9]+"')
    assert "<svg" in GRAMMAR.automaton("value")
    with pytest.raises(ValueError, match="valeu: the grammar has no such terminal or rule; there is `value`"):
        GRAMMAR.automaton("valeu")


def test_ambiguity() -> None:
    report = grammask.Grammar.from_kbnf('start ::= start "-" start | "1";').ambiguity()
    assert report.ambiguity is not None
    assert report.ambiguity.text == '"1-1-1"'
    lines = report.ambiguity.side_by_side()
    assert lines[0].split() == ["start", "start"]
    assert len(lines) == 10
    assert GRAMMAR.ambiguity().ambiguity is None


def test_ambiguity_with_a_lexer() -> None:
    text = """
        start: expression
        expression: expression "+" expression | NAME | "if" expression "then" expression ("else" expression)?
        NAME: /[a-z]+/
        %ignore " "
    """
    grammar = grammask.Grammar.from_lark(text, parser="earley", lexer="dynamic")
    report = grammar.ambiguity()
    assert report.ambiguity is not None
    assert report.ambiguity.text == 'NAME "+" NAME "+" NAME'
    assert report.conflicts
    assert all(each.severity == "warning" for each in report.conflicts)
