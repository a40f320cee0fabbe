"""The measured process of a collection: compiles one schema in both key orders, and judges its test files.

Usage: ``python -m json_schema.collection_worker DOCUMENTS.json``. Each line of standard input is a job, each line of
standard output an answer, as in ``worker.py``.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import grammask
import jsonschema
import referencing
from comparison import vocabularies

KEY_ORDERS = ("declared", "any")
"""The key orders that are measured."""
_WARM_UP = (
    '{"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "number"}}'
)


class Judge:
    """Compiles schemas over one vocabulary, with the documents of the collection."""

    def __init__(self, documents: dict[str, str]) -> None:
        table = vocabularies.load(vocabularies.default_name())
        self._vocabulary = grammask.Vocabulary(table.tokens, eos=table.eos, size=table.size)
        self._mask = grammask.allocate_mask(1, table.size)
        self._documents = documents
        self.compile(_WARM_UP, "declared", [])

    def compile(self, schema: str, key_order: Any, texts: list[str]) -> dict[str, Any]:
        """Compile, compute the first mask and judge texts: CPU times in nanoseconds, verdicts, or why it is refused."""
        found: dict[str, Any] = {"key_order": key_order, "refused": None, "verdicts": []}
        gc.collect()
        before, memory = time.process_time_ns(), _resident_bytes()
        try:
            grammar = grammask.Grammar.from_json_schema(
                schema, key_order=key_order, resolver=self._documents.get
            )
            compiled = grammar.compile(self._vocabulary, cache=False)
            found["compile_ns"] = time.process_time_ns() - before
            compiled.matcher().fill_mask(self._mask)
            found["ready_ns"] = time.process_time_ns() - before
            found["memory_bytes"] = max(_resident_bytes() - memory, 0)
            for text in texts:
                found["verdicts"].append(compiled.is_valid(text.encode("utf-8", "surrogatepass")))
        except grammask.GrammarError as error:
            found["compile_ns"] = time.process_time_ns() - before
            found["refused"] = [
                {"code": item.code, "pointer": item.pointer, "message": item.message}
                for item in error.diagnostics
                if item.severity == "error"
            ]
        return found

    def oracle(self, schema: str, texts: list[str]) -> list[bool | None]:
        """Return the verdicts of the ``jsonschema`` library; None where it fails, or a document is not there."""

        def retrieve(uri: str) -> referencing.Resource[Any]:
            text = self._documents.get(uri.partition("#")[0])
            if text is None:
                raise referencing.exceptions.NoSuchResource(uri)
            return referencing.Resource.from_contents(json.loads(text), referencing.jsonschema.DRAFT7)

        read = json.loads(schema)
        library = jsonschema.validators.validator_for(read)
        registry: Any = referencing.Registry(retrieve=retrieve)  # type: ignore[call-arg]
        validator = library(read, registry=registry, format_checker=library.FORMAT_CHECKER)
        verdicts: list[bool | None] = []
        for text in texts:
            try:
                verdicts.append(bool(validator.is_valid(json.loads(text))))
            except Exception:  # noqa: BLE001 - any error of the library means that it has no verdict
                verdicts.append(None)
        return verdicts


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize()


def main(documents: str) -> None:
    """Run jobs until standard input ends."""
    judge = Judge(json.loads(Path(documents).read_text("utf-8")))
    _say({"ready": True})
    for line in sys.stdin:
        job = json.loads(line)
        if "key_order" in job:
            _say(judge.compile(job["schema"], job["key_order"], job["texts"]))
        else:
            _say({"verdicts": judge.oracle(job["schema"], job["texts"])})


def _say(facts: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
