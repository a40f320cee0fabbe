"""Runs grammask over the official JSON-Schema-Test-Suite, and counts what it gets right.

Each instance is given in several spellings that the options allow; all of them must get the suite's verdict. A schema
is *exact* if every instance is right, or if nothing satisfies it and the engine says so. It is exact *in any order* if
that takes ``key_order="any"``. What the engine refuses with a typed error is *refused*; nothing may be *accepted* that
is invalid.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

import grammask

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DRAFTS = {
    "draft4": "4",
    "draft6": "6",
    "draft7": "7",
    "draft2019-09": "2019-09",
    "draft2020-12": "2020-12",
}
"""Folders of the suite, and what ``from_json_schema`` calls the draft."""

_REMOTE = "http://localhost:1234/"
_SPELLINGS: tuple[dict[str, Any], ...] = (
    {},
    {"separators": (",", ":"), "ensure_ascii": False},
    {"indent": 2, "ensure_ascii": False},
)
_LIMITS = grammask.Limits(seconds=20)


class Verdict(Enum):
    """How grammask does on a schema of the suite."""

    EXACT = "exact"
    ANY_ORDER = "exact in any order"
    ACCEPTS = "accepts invalid"
    REJECTS = "rejects valid"
    REFUSED = "refused"


@dataclass(frozen=True)
class Group:
    """A schema of the suite with its instances."""

    file: str
    description: str
    schema: Any
    tests: list[dict[str, Any]]


@dataclass
class Tally:
    """What came out for one part of the suite."""

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    """A line for each schema that is not exact."""

    @property
    def total(self) -> int:
        """How many schemas there are."""
        return sum(self.verdicts.values())

    @property
    def right(self) -> int:
        """How many are exact, modulo the order of keys."""
        return self.verdicts[Verdict.EXACT] + self.verdicts[Verdict.ANY_ORDER]


class Suite:
    """The suite in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._vocabulary = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)

    def required(self, draft: str) -> list[Group]:
        """The required part of a draft."""
        return list(self._groups(self._folder / draft))

    def formats(self, draft: str) -> list[Group]:
        """The optional tests of formats of a draft."""
        return list(self._groups(self._folder / draft / "optional" / "format"))

    def run(self, draft: str, groups: list[Group], *, formats: bool) -> Tally:
        """Judge schemas. The required part takes ``format`` for an annotation, the optional one for a constraint."""
        tally = Tally()
        for group in groups:
            verdict, note = self.judge(draft, group, formats=formats)
            tally.verdicts[verdict] += 1
            if note:
                tally.notes.append(f"{group.file}: {group.description}: {verdict.value}: {note}")
        return tally

    def judge(self, draft: str, group: Group, *, formats: bool) -> tuple[Verdict, str]:
        """Judge one schema: the verdict, and what is wrong if it is not exact."""
        verdict, note = self._judge(draft, group, formats=formats, key_order="declared")
        if verdict is Verdict.REJECTS:
            again, problem = self._judge(draft, group, formats=formats, key_order="any")
            if again is Verdict.EXACT:
                return Verdict.ANY_ORDER, ""
            if again is Verdict.ACCEPTS:
                return again, problem
        return verdict, note

    def _judge(self, draft: str, group: Group, *, formats: bool, key_order: Any) -> tuple[Verdict, str]:
        try:
            grammar = grammask.Grammar.from_json_schema(
                group.schema,
                draft=DRAFTS[draft],
                formats=formats,
                key_order=key_order,
                resolver=self._remote,
                limits=_LIMITS,
            )
            compiled = grammar.compile(self._vocabulary, limits=_LIMITS, cache=False)
        except grammask.GrammarError as error:
            if error.code == "unsatisfiable-schema" and not any(test["valid"] for test in group.tests):
                return Verdict.EXACT, ""
            reasons = {f"{item.code} at {item.pointer}: {item.message}" for item in error.diagnostics}
            return Verdict.REFUSED, "; ".join(sorted(reasons))
        rejected = ""
        for test in group.tests:
            for spelling in _SPELLINGS:
                text = json.dumps(test["data"], **spelling)
                position = compiled.first_error(text.encode("utf-8", "surrogatepass"))
                if position is None and not test["valid"]:
                    return Verdict.ACCEPTS, f"{test['description']}: {text}"
                if position is not None and test["valid"]:
                    rejected = rejected or f"{test['description']}: {text} at byte {position}"
        return (Verdict.REJECTS, rejected) if rejected else (Verdict.EXACT, "")

    def _remote(self, uri: str) -> bytes | None:
        file = self._folder / "remotes" / uri.removeprefix(_REMOTE)
        return file.read_bytes() if uri.startswith(_REMOTE) and file.is_file() else None

    def _groups(self, folder: Path) -> Iterator[Group]:
        for file in sorted(folder.glob("*.json")):
            for group in json.loads(file.read_text("utf-8")):
                yield Group(file.stem, group["description"], group["schema"], group["tests"])
