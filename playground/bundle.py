"""Joins ES modules into one classic script, for a page without requests.

Each module becomes a function that returns its exports, in the order of its imports. This needs no parser, because the
modules use few forms: ``import`` and ``export`` begin a line, an import names a relative path, and declarations are
exported where they stand or in a list. Anything else is an error.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_IMPORT = re.compile(r'^import\s+([^"\']*?)\s*(?:from\s+)?"(\./|\.\./)([^"]+)";\n', re.MULTILINE)
_EXPORT_LIST = re.compile(r"^export\s*\{([^}]*)\};?\n?", re.MULTILINE)
_EXPORTED = re.compile(
    r"^export\s+(async\s+function\*?|function\*?|class|const|let)\s+([\w$]+)", re.MULTILINE
)


def bundle(entry: Path, folders: dict[str, Path]) -> str:
    """Returns the script of a module and all that it imports.

    Args:
        entry: The module that runs last.
        folders: Where modules are that are not found beside their importer, by the name of the file.

    Raises:
        ValueError: A module has another form of import or export, or modules import each other in a cycle.
        FileNotFoundError: There is no such module.
    """
    parts: list[str] = []
    names: dict[Path, str] = {}
    _add(entry.resolve(), folders, parts, names, ())
    return '"use strict";\n' + "".join(parts)


def _add(
    path: Path,
    folders: dict[str, Path],
    parts: list[str],
    names: dict[Path, str],
    importers: tuple[Path, ...],
) -> str:
    if path in importers:
        raise ValueError(f"{path.name} imports itself through {', '.join(p.name for p in importers)}")
    if path in names:
        return names[path]
    source = path.read_text()
    lines: list[str] = []
    for match in _IMPORT.finditer(source):
        target = path.parent / (match[2] + match[3])
        if not target.exists() and target.name in folders:
            target = folders[target.name]
        module = _add(target.resolve(), folders, parts, names, (*importers, path))
        lines.append(_binding(match[1], module))
    source = _IMPORT.sub("", source)
    exports = {match[2]: match[2] for match in _EXPORTED.finditer(source)}
    source = _EXPORTED.sub(r"\1 \2", source)
    for match in _EXPORT_LIST.finditer(source):
        for item in filter(None, (part.strip() for part in match[1].split(","))):
            local, _, exported = item.partition(" as ")
            exports[(exported or local).strip()] = local.strip()
    source = _EXPORT_LIST.sub("", source)
    # The address of a module of the page is that of the page.
    source = source.replace("import.meta.url", "self.location.href")
    if found := re.search(r"^(import|export)\b.*", source, re.MULTILINE):
        raise ValueError(f"{path.name}: this form is not supported: {found[0]}")
    name = f"module_{len(names)}"
    names[path] = name
    returned = ", ".join(f"get {key}() {{ return {value}; }}" for key, value in exports.items())
    parts.append(
        f"// {path.name}\nconst {name} = (() => {{\n{''.join(lines)}{source}\nreturn {{ {returned} }};\n}})();\n"
    )
    return name


def _binding(clause: str, module: str) -> str:
    """Returns the declarations of an import: ``default, * as all``, ``* as all``, ``default``, or ``{a, b as c}``."""
    if not clause:
        return ""
    found = re.fullmatch(r"(?:(\w+)\s*,?\s*)?(?:\*\s+as\s+(\w+)|\{([^}]*)\})?", clause.strip())
    if found is None:
        raise ValueError(f"this import is not supported: {clause}")
    lines = []
    if found[1]:
        lines.append(f"const {found[1]} = {module}.default;\n")
    if found[2]:
        lines.append(f"const {found[2]} = {module};\n")
    if found[3]:
        names = re.sub(r"\s+as\s+", ": ", found[3])
        lines.append(f"const {{ {names} }} = {module};\n")
    return "".join(lines)
