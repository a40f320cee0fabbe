"""Tests of the benchmarks' translations to llguidance's language: both engines accept short programs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="the benchmarks need tomllib")
pytest.importorskip("llguidance")

BENCHES = Path(__file__).parents[2] / "benches"
PROGRAMS = {
    "c": "int main(void) { return a[1] * 2; }\n",
    "go": 'package main\n\nfunc main() {\n\tprintln("a")\n}\n',
    "java": "sealed class A<T> permits B { int goto_(int x) { return x + 0x1; } }\n",
    "javascript": "const f = (x) => {\n  if (x)\n    g(x.if)\n  return [x\n    + 1]\n}\nf(1)\n",
    "json": '{"a": [1, true]} \n',
    "python-lines": "from a import b\nx = [1, 2]  # a list\n",
    "sql": "SELECT a FROM b WHERE c = 1;\n",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_engines_read_a_program(name, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHES))
    monkeypatch.delitem(sys.modules, "lexed", raising=False)  # The folder of this file, as pytest names it.
    import lexed
    from comparison import vocabularies

    for engine in ("grammask", "llguidance"):
        compile_it, begin = lexed.ENGINES[engine](name, vocabularies.byte_vocabulary())
        steps = begin(compile_it())
        for place, byte in enumerate(PROGRAMS[name].encode()):
            steps.fill()
            assert steps.accept(byte), (engine, PROGRAMS[name][: place + 1])


def test_indentation_is_refused(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHES))
    import lexed_dialects

    with pytest.raises(ValueError, match="no indentation"):
        lexed_dialects.llguidance_lark("python")
