"""Checks that a version can be released: its number, changelog, texts, archives and their sizes.

Usage: ``python xtask/release_check.py FOLDER``, with a source archive and wheels in the folder, which ``make
release-check`` makes. Prints each fault, and exits with 1 if there is one.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import tomllib

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parents[1]
MAX_WHEEL_BYTES = 6 << 20
MAX_LIBRARY_BYTES = 12 << 20
TEXTS = ("LICENSE-MIT", "LICENSE-APACHE")
POLICIES = (
    "CHANGELOG.md",
    "CITATION.cff",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
)


def main(folder: Path) -> int:
    """Prints the faults, and returns the exit status."""
    wheels, sources = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    faults = [*version_faults(), *text_faults()]
    faults += [fault for wheel in wheels for fault in wheel_faults(wheel)]
    faults += [fault for source in sources for fault in source_faults(source)]
    if not wheels or not sources:
        faults.append(f"{folder} lacks a wheel or a source archive")
    for fault in faults:
        print(f"- {fault}")
    print(f"{len(faults)} faults, {len(wheels)} wheels, {len(sources)} source archives")
    return bool(faults)


def version_faults() -> Iterator[str]:
    """One version in the manifests, the changelog and the citation, with a date, that has no tag yet."""
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]
    version = workspace["package"]["version"]
    for name, dependency in workspace["dependencies"].items():
        if isinstance(dependency, dict) and "path" in dependency and dependency.get("version") != version:
            yield f"Cargo.toml: {name} has the version {dependency.get('version')}, not {version}"
    heading = re.search(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    if heading is None or not re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", heading[1]):
        yield f"CHANGELOG.md: the first version is {heading and heading[1]}, not {version} (YEAR-MONTH-DAY)"
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    if f"\nversion: {version}\n" not in citation:
        yield f"CITATION.cff: the version is not {version}"
    tags = subprocess.run(
        ["git", "tag", "--list", f"v{version}"], cwd=ROOT, check=False, capture_output=True, text=True
    )
    if tags.stdout.strip():
        yield f"the tag v{version} exists"


def text_faults() -> Iterator[str]:
    """The texts that a package index and a repository show exist, and their links lead somewhere from elsewhere."""
    yield from (f"{name} is missing" for name in (*TEXTS, *POLICIES) if not (ROOT / name).is_file())
    readme = (ROOT / "README.md").read_text("utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", readme):
        if not re.match(r"https://|#", target) and not (ROOT / target.split("#")[0]).exists():
            yield f"README.md: {target} does not exist"


def wheel_faults(wheel: Path) -> Iterator[str]:
    """The wheel has its texts, types and nothing of tests, and is small."""
    with zipfile.ZipFile(wheel) as archive:
        sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    yield from (f"{wheel.name}: {fault}" for fault in content_faults(sizes))
    if wheel.stat().st_size > MAX_WHEEL_BYTES:
        yield f"{wheel.name}: {wheel.stat().st_size:,} bytes, {MAX_WHEEL_BYTES:,} allowed"
    for name, size in sizes.items():
        if name.endswith((".so", ".pyd")) and size > MAX_LIBRARY_BYTES:
            yield f"{wheel.name}: {name} has {size:,} bytes, {MAX_LIBRARY_BYTES:,} allowed"
    yield from (f"{wheel.name}: {name} does not belong in it" for name in sizes if name.startswith("tests/"))
    if not any(".sboms/" in name or "/sboms/" in name for name in sizes):
        yield f"{wheel.name}: no list of the Rust crates in it (SBOM)"


def source_faults(source: Path) -> Iterator[str]:
    """The source archive has what a build needs, and nothing that was built."""
    with tarfile.open(source) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    yield from (f"{source.name}: {fault}" for fault in content_faults(names))
    needed = ("Cargo.lock", "Cargo.toml", "pyproject.toml", "crates/grammask-python/Cargo.toml")
    yield from (f"{source.name}: {name} is missing" for name in needed if name not in names)


def content_faults(names: Iterable[str]) -> Iterator[str]:
    """What both kinds of archives have in common."""
    found = {PurePosixPath(name).name: name for name in names}
    needed = (*TEXTS, "py.typed", "_grammask.pyi", "playground.html")
    yield from (f"{name} is missing" for name in needed if name not in found)
    for name in found.values():
        if re.search(r"(^|/)(target|shared|\.venv)/|\.profraw$", name) or name.endswith((".pyc", ".rlib")):
            yield f"{name} does not belong in it"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
