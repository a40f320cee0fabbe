"""Runs the test suite of xgrammar or llguidance on the compatible module: ``make test-peers``.

The suite comes from the source archive of the release that the module is compatible with. ``NAME.toml`` beside this
file lists the cases that fail, each with its reason. The exit status is 1 if a case fails that is not listed, or if a
listed one passes. Without network the suite is skipped.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from compat.peer_suites.substitution import begin_test, substitute, without_comparisons

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Suite:
    """A suite of a release."""

    name: str
    version: str
    folder: str
    """Where its tests are in the archive."""
    options: tuple[str, ...] = ()


SUITES = {
    # Tests with this mark need tokenizers of the Hugging Face Hub, to which one must log in.
    "xgrammar": Suite("xgrammar", "0.2.8", "tests/python", ("-m", "not hf_token_required")),
    "llguidance": Suite("llguidance", "1.9.1", "python/torch_tests"),
}


def archive_of(suite: Suite, directory: Path) -> Path | None:
    """Returns the unpacked source archive, which is downloaded once; None if it cannot be."""
    unpacked = directory / f"{suite.name}-{suite.version}"
    if unpacked.is_dir():
        return unpacked
    directory.mkdir(parents=True, exist_ok=True)
    requirement = f"{suite.name}=={suite.version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", suite.name]
    done = subprocess.run([*command, "--dest", str(directory), requirement], check=False)
    if done.returncode:
        return None
    with tarfile.open(directory / f"{suite.name}-{suite.version}.tar.gz") as archive:
        archive.extractall(directory, filter="data")
    return unpacked


UNAVAILABLE = re.compile(
    "LocalEntryNotFoundError|ConnectionError|gaierror|No module named '(cohere_melody|llama_cpp|requests)'"
)
"""Errors of cases that need a file of the Hugging Face Hub, which is offline here, or a library that is absent."""


@dataclass(eq=False)
class Outcomes:
    """A plugin of pytest: substitutes the module, and records the outcome of each case."""

    root: Path
    reasons: dict[str, str] = field(default_factory=dict)
    """Per case, why it did not pass."""
    passed: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for module in {item.module for item in items if isinstance(item, pytest.Function)}:
            without_comparisons(module)

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if isinstance(item, pytest.Function):
            begin_test(item.module, item.name)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and UNAVAILABLE.search(str(report.longrepr)):
            self.skipped.add(_case(report.nodeid))
        elif report.failed:
            self.reasons[_case(report.nodeid)] = str(report.longrepr)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        case = _case(report.nodeid)
        if report.failed and UNAVAILABLE.search(str(report.longrepr)):
            self.skipped.add(case)
        elif report.failed:
            self.passed.discard(case)
            self.reasons[case] = str(report.longrepr)
        elif report.skipped:
            self.skipped.add(case)
        elif report.when == "call":
            self.passed.add(case)


def _case(nodeid: str) -> str:
    """Returns the name of a case: its file, its function, and its parameters in characters that are easy to read."""
    return re.sub(r"[^\x20-\x7e]", "?", nodeid.rpartition("torch_tests/")[2].rpartition("tests/python/")[2])


def listed(path: Path) -> dict[str, str]:
    """Returns the kind of each listed case.

    It is `internals` if the case is about the peer's internal grammars, `gap` if the compatible module is at fault, and
    `contract` if grammask's contract forbids the result, or accepts more. A function without parameters in its name
    stands for all its cases.
    """
    groups = tomllib.loads(path.read_text()).get("failing", [])
    kinds = {"is_about_internals": "internals", "is_gap": "gap"}
    return {
        case: next((kind for name, kind in kinds.items() if group.get(name)), "contract")
        for group in groups
        for case in group["cases"]
    }


def report(suite: Suite, outcomes: Outcomes, *, is_verbose: bool) -> int:
    """Prints the comparison with the list; returns the exit status."""
    expected = listed(HERE / f"{suite.name}.toml")
    functions = {case.partition("[")[0] for case in expected if "[" not in case}
    failed = outcomes.reasons.keys()

    def is_listed(case: str) -> bool:
        return case in expected or case.partition("[")[0] in functions

    surprises = sorted(case for case in failed if not is_listed(case))
    fixed = sorted(case for case in outcomes.passed if is_listed(case))
    present = {*failed, *outcomes.passed, *outcomes.skipped}
    absent = sorted(expected.keys() - present - {case.partition("[")[0] for case in present})
    total = len(failed) + len(outcomes.passed)
    kinds = Counter(expected.get(case, expected.get(case.partition("[")[0], "gap")) for case in failed)
    for title, cases in (
        ("fails, and is not listed", surprises),
        ("passes, and is listed", fixed),
        ("is listed, and does not exist", absent),
    ):
        for case in cases:
            print(f"{title}: {case}")
            if is_verbose and case in outcomes.reasons:
                print(outcomes.reasons[case])
    passed = len(outcomes.passed)
    comparable = total - kinds["internals"]
    share, share_of_comparable, share_of_common = (
        100 * passed / max(number, 1) for number in (total, comparable, passed + kinds["gap"])
    )
    print(f"{suite.name} {suite.version}: {passed} of {total} cases pass ({share:.1f} %);", end=" ")
    print(
        f"{share_of_comparable:.1f} % without the {kinds['internals']} failures about its internal grammars, and",
        f"{share_of_common:.1f} % also without the {kinds['contract']} that contradict grammask's contract;",
        end=" ",
    )
    print(f"{kinds['gap']} are gaps.", end=" ")
    print(f"{len(outcomes.skipped)} are skipped, {len(failed) - len(surprises)} failures are listed")
    return 1 if surprises or fixed or absent or not total else 0


def main() -> int:
    """Runs a suite; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", choices=sorted(SUITES))
    parser.add_argument("--directory", type=Path, default=Path(".venv-engines/peer-suites"))
    parser.add_argument(
        "--verbose", action="store_true", help="Print the tracebacks of cases that are not listed."
    )
    parser.add_argument("tests", nargs="*", help="Files of the suite; all if none is given.")
    arguments = parser.parse_args()
    suite = SUITES[arguments.suite]
    archive = archive_of(suite, arguments.directory.resolve())
    if archive is None:
        print(f"skipped: the source archive of {suite.name} {suite.version} cannot be downloaded")
        return 0
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    substitute(suite.name, archive)
    outcomes = Outcomes(archive)
    folder = archive / suite.folder
    pytest.main(
        [
            *("-c", os.devnull, f"--rootdir={archive}", "-q", "--tb=short", "-p", "no:cacheprovider"),
            *(
                "--continue-on-collection-errors",
                "-W",
                "ignore",
                "--no-header",
                "--no-summary",
                *suite.options,
            ),
            *([str(folder / name) for name in arguments.tests] or [str(folder)]),
        ],
        plugins=[outcomes],
    )
    return report(suite, outcomes, is_verbose=arguments.verbose)


if __name__ == "__main__":
    sys.exit(main())
