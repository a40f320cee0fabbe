"""Bundled languages as parts: what is known of them without tables, which are made when a text first reaches them."""

from __future__ import annotations

import pickle
import threading

import grammask
import pytest
from case_counts import by_profile
from grammask import Grammar
from grammask.lark_grammars.bundled import BUNDLED
from grammask.markdown.fences import Fence, code_of_block
from grammask.readers.encoded import EncodedSource
from grammask.readers.lark import bundled_source
from grammask.texts import markdown_answer

BYTES = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
STARTS = [(name, start) for name, grammar in sorted(BUNDLED.items()) for start in grammar.starts]
REPRESENTATIVES = by_profile([(name, "file") for name in sorted(BUNDLED)], STARTS)
"""One start of each language, or all of them."""


@pytest.mark.parametrize(("name", "start"), STARTS)
def test_whether_the_empty_text_is_one_is_known(name: str, start: str) -> None:
    compiled = Grammar.bundled(name, start=start).compile(BYTES)
    assert bundled_source(name, start, None).known_empty == compiled.is_valid(b"")


@pytest.mark.parametrize("encoding", ["json-string", "python-string", "line-prefix"])
@pytest.mark.parametrize(("name", "start"), REPRESENTATIVES)
def test_languages_compile_through_encodings_of_all_characters(name: str, start: str, encoding: str) -> None:
    EncodedSource(bundled_source(name, start, None), encoding, "any", '"', "> ").build().check()


@pytest.mark.parametrize("fence", ["```", "~~~"])
@pytest.mark.parametrize(("name", "start"), REPRESENTATIVES)
def test_languages_compile_in_fenced_blocks(name: str, start: str, fence: str) -> None:
    block = code_of_block(Fence(fence[0], 3, ""), name, bundled_source(name, start, None))
    if block is not None:
        assert block.known_empty == Grammar.of_source(block).compile(BYTES).is_valid(b"")


@pytest.mark.parametrize("prefix", ["   ", "> ", "> >  "])
@pytest.mark.parametrize("name", sorted(BUNDLED))
def test_languages_compile_in_fenced_blocks_with_a_prefix(name: str, prefix: str) -> None:
    block = code_of_block(Fence("`", 3, prefix), name, bundled_source(name, "file", None))
    assert block is not None
    EncodedSource(block, "indented-block", "any", '"', prefix).build().check()


def test_threads_reach_a_part_at_the_same_time() -> None:
    compiled = markdown_answer(["python", "sql"]).compile(BYTES)
    texts = [b"```python\nx = f(1)\n```", b"```sql\nselect 1;\n```"] * 4
    results: list[bool] = []
    barrier = threading.Barrier(len(texts))

    def read(text: bytes) -> None:
        barrier.wait()
        results.append(compiled.is_valid(text))

    threads = [threading.Thread(target=read, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * len(texts)


def test_shortest_completions_are_those_with_all_tables() -> None:
    def answer() -> grammask.CompiledGrammar:
        names = ["python", "javascript", "sql"]
        return markdown_answer(names, max_indent=2).compile(BYTES, cache=False)

    compiled, made = answer(), answer()
    for name in ("python", "javascript", "sql"):
        for spaces in ("", " ", "  "):
            assert made.matcher().accept_bytes(f"{spaces}```{name}\n{spaces}s".encode())
    texts = (
        b"",
        b"So:\n",
        b"```",
        b"```sql",
        b" ```javascript\n",
        b"```sql\nselect (",
        b"  ```sql\n  select (",
    )
    for text in texts:
        completions = []
        for grammar in (compiled, made):
            matcher = grammar.matcher()
            assert matcher.accept_bytes(text)
            completions.append(matcher.shortest_completion().text)
        assert completions[0] == completions[1]


def test_pickled_answers_are_deferred_too() -> None:
    restored = pickle.loads(pickle.dumps(markdown_answer(["python"])))
    assert restored.compile(BYTES).is_valid(b"```python\nif x:\n    y()\n```")


def test_grammars_of_users_are_checked_when_they_become_parts() -> None:
    pytest.importorskip("lark")
    broken = Grammar.from_lark('start: a | b\na: "x"\nb: "x"')  # A reduce/reduce conflict.
    with pytest.raises(grammask.GrammarError):
        ("<" + broken + ">").compile(BYTES)


def test_parts_that_are_not_entered_have_no_states() -> None:
    compiled = markdown_answer(["python", "sql", "javascript"]).compile(BYTES)
    matcher = compiled.matcher()
    assert matcher.accept_bytes(b"No code here, only `x`.\n\n> Nor here.\n")
    before = compiled.stats()["recognizer_bytes"]
    assert before < 1 << 20
    assert matcher.accept_bytes(b"```python\nx = 1\n```\n")
    assert compiled.stats()["recognizer_bytes"] > before
