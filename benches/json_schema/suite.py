"""Runs grammask on the official JSON-Schema-Test-Suite and counts the verdicts.

Each instance is written in several spellings that the options allow; all of them must get the verdict of the suite. A
schema is *exact* if all instances are right, or if it is unsatisfiable and the engine reports it. It is exact *in any
order* if this needs ``key_order="any"``, and *refused* if the engine raises a typed error. *accepts invalid* must be 0.
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
"""Folders of the suite, and the name of the draft in ``from_json_schema``."""

_REMOTE = "http://localhost:1234/"
_SPELLINGS: tuple[dict[str, Any], ...] = (
    {},
    {"separators": (",", ":"), "ensure_ascii": False},
    {"indent": 2, "ensure_ascii": False},
)
_LIMITS = grammask.Limits(seconds=20)


class Verdict(Enum):
    """The verdict on a schema of the suite."""

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


@dataclass(frozen=True)
class Judgement:
    """The result for one schema: verdict, number of right instances, and a note on the errors."""

    verdict: Verdict
    right: int
    note: str = ""


@dataclass
class Tally:
    """The totals of one part of the suite."""

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    instances: int = 0
    right_instances: int = 0
    """Number of instances that are right in all spellings; those of refused schemas do not count."""
    notes: list[str] = field(default_factory=list)
    """One line per schema that is not exact."""

    @property
    def total(self) -> int:
        """Number of schemas."""
        return sum(self.verdicts.values())

    @property
    def right(self) -> int:
        """Number of exact schemas, in the declared or in any key order."""
        return self.verdicts[Verdict.EXACT] + self.verdicts[Verdict.ANY_ORDER]


class Suite:
    """The suite in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._vocabulary = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)

    def required(self, draft: str) -> list[Group]:
        """Return the required part of a draft."""
        return list(self._groups(self._folder / draft))

    def formats(self, draft: str) -> list[Group]:
        """Return the optional format tests of a draft."""
        return list(self._groups(self._folder / draft / "optional" / "format"))

    def run(self, draft: str, groups: list[Group], *, formats: bool) -> Tally:
        """Judge schemas. ``format`` is an annotation in the required part and a constraint in the optional one."""
        tally = Tally()
        for group in groups:
            judgement = self.judge(draft, group, formats=formats)
            tally.verdicts[judgement.verdict] += 1
            tally.instances += len(group.tests)
            tally.right_instances += judgement.right
            if judgement.note:
                line = f"{group.file}: {group.description}: {judgement.verdict.value}: {judgement.note}"
                tally.notes.append(line)
        return tally

    def judge(self, draft: str, group: Group, *, formats: bool) -> Judgement:
        """Judge one schema."""
        declared = self._judge(draft, group, formats=formats, key_order="declared")
        if declared.verdict is not Verdict.REJECTS:
            return declared
        free = self._judge(draft, group, formats=formats, key_order="any")
        if free.verdict is Verdict.EXACT:
            return Judgement(Verdict.ANY_ORDER, free.right)
        return free if free.verdict is Verdict.ACCEPTS else declared

    def _judge(self, draft: str, group: Group, *, formats: bool, key_order: Any) -> Judgement:
        try:
            grammar = grammask.Grammar.from_json_schema(
                group.schema,
                draft=DRAFTS[draft],
                whitespace="flexible",
                numbers="any",
                formats=formats,
                key_order=key_order,
                resolver=self._remote,
                limits=_LIMITS,
            )
            compiled = grammar.compile(self._vocabulary, limits=_LIMITS, cache=False)
        except grammask.GrammarError as error:
            if error.code == "unsatisfiable-schema" and not any(test["valid"] for test in group.tests):
                return Judgement(Verdict.EXACT, len(group.tests))
            reasons = {f"{item.code} at {item.pointer}: {item.message}" for item in error.diagnostics}
            return Judgement(Verdict.REFUSED, 0, "; ".join(sorted(reasons)))
        right, accepted, rejected = 0, "", ""
        for test in group.tests:
            texts = [json.dumps(test["data"], **spelling) for spelling in _SPELLINGS]
            errors = [compiled.first_error(text.encode("utf-8", "surrogatepass")) for text in texts]
            wrong = [index for index, error in enumerate(errors) if (error is None) != test["valid"]]
            right += not wrong
            if wrong and test["valid"]:
                text, error = texts[wrong[0]], errors[wrong[0]]
                rejected = rejected or f"{test['description']}: {text} at byte {error}"
            elif wrong:
                accepted = accepted or f"{test['description']}: {texts[wrong[0]]}"
        verdict = Verdict.ACCEPTS if accepted else Verdict.REJECTS if rejected else Verdict.EXACT
        return Judgement(verdict, right, accepted or rejected)

    def _remote(self, uri: str) -> bytes | None:
        file = self._folder / "remotes" / uri.removeprefix(_REMOTE)
        return file.read_bytes() if uri.startswith(_REMOTE) and file.is_file() else None

    def _groups(self, folder: Path) -> Iterator[Group]:
        for file in sorted(folder.glob("*.json")):
            for group in json.loads(file.read_text("utf-8")):
                yield Group(file.stem, group["description"], group["schema"], group["tests"])
