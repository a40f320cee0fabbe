"""Copies the docstrings of the stub `_grammask.pyi` into the bindings, as doc comments that `help` shows.

The stub is the source, since its docstrings are the reference of the API. Run this program after an edit of the stub;
`tests/test_docstrings.py` compares the two.
"""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
STUB = ROOT / "python" / "grammask" / "_grammask.pyi"
SOURCES = Path(__file__).parent / "src"

ATTRIBUTE_END = re.compile(r"\)*\]")


def docstrings() -> dict[str, str]:
    """Return the docstrings of the stub by name; those of methods by `Class.method`. Special methods have none."""
    found = {}
    for item in ast.parse(STUB.read_text("utf-8")).body:
        if isinstance(item, (ast.ClassDef, ast.FunctionDef)):
            found[item.name] = ast.get_docstring(item)
        if isinstance(item, ast.ClassDef):
            # The docstring of a property is that of its getter, not of its setter.
            methods = [
                method
                for method in item.body
                if isinstance(method, ast.FunctionDef)
                and not any(isinstance(decorator, ast.Attribute) for decorator in method.decorator_list)
            ]
            found |= {
                f"{item.name}.{method.name}": ast.get_docstring(method)
                for method in methods
                if not method.name.startswith("__")
            }
    return {name: inspect.cleandoc(text) for name, text in found.items() if text}


def head(lines: list[str], item: int) -> int:
    """Return the index of the first attribute or doc comment of the item at a line."""
    start = item
    while start:
        line = lines[start - 1].strip()
        if line.startswith(("#[", "///")):
            start -= 1
        elif ATTRIBUTE_END.fullmatch(line):
            # The end of an attribute of several lines.
            start -= 1
            while not lines[start].strip().startswith("#["):
                start -= 1
        else:
            break
    return start


def names(lines: list[str]) -> dict[int, str]:
    """Return the Python names of the classes, methods and functions of a Rust file, by line."""
    found = {}
    classes: dict[str, str] = {}
    for number, line in enumerate(lines):
        if match := re.match(r"pub\(crate\) struct (\w+)", line):
            attributes = "\n".join(lines[head(lines, number) : number])
            if name := re.search(r'#\[pyclass\(name = "(\w+)"', attributes):
                classes[match[1]] = name[1]
                found[number] = name[1]
        elif (match := re.match(r"pub\(crate\) fn (\w+)", line)) and (
            "#[pyfunction]" in lines[head(lines, number) : number]
        ):
            found[number] = match[1]
    current = None
    for number, line in enumerate(lines):
        if match := re.match(r"impl (\w+) \{", line):
            current = classes.get(match[1]) if lines[number - 1] == "#[pymethods]" else None
        elif line == "}":
            current = None
        elif current and (match := re.match(r"    fn (\w+)", line)):
            found[number] = f"{current}.{match[1]}"
    return found


def documented(source: str, texts: dict[str, str]) -> str:
    """Return a source with the given doc comments in place of those that it has."""
    lines = source.split("\n")
    for number, name in sorted(names(lines).items(), reverse=True):
        if name not in texts:
            continue
        start = head(lines, number)
        indent = lines[number][: len(lines[number]) - len(lines[number].lstrip())]
        attributes = [line for line in lines[start:number] if not line.strip().startswith("///")]
        comment = [f"{indent}/// {line}".rstrip() for line in texts[name].split("\n")]
        lines[start:number] = comment + attributes
    return "\n".join(lines)


if __name__ == "__main__":
    texts = docstrings()
    for file in sorted(SOURCES.glob("*.rs")):
        before = file.read_text("utf-8")
        after = documented(before, texts)
        if after != before:
            file.write_text(after, "utf-8")
            print(f"{file.relative_to(ROOT)}: doc comments updated")
