"""The language of Markdown answers by its definition, a line at a time; and random answers of short lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

Validators = Mapping[tuple[str, ...], Callable[[str], bool]]
"""Whether the content of a block is valid, by the names of its language."""

_CONTAINER = r"(?:[ \t>*+-]|[0-9]{1,9}[.)])*"
_NOT_TEXT = re.compile(rf"{_CONTAINER}(?:`{{3,}}[^`]*\Z|~~~)")
_RAW_ELEMENTS = "script|pre|style|textarea"
_RAW_HTML = [
    # The first line, its beginning in all readers, and the end.
    (rf"<(?:{_RAW_ELEMENTS})(?:[ \t>]|\Z)", rf"</(?:{_RAW_ELEMENTS})>"),
    ("<!--", "-->"),
    (r"<\?", r"\?>"),
    ("<![A-Za-z]", ">"),
    (r"<!\[CDATA\[", r"\]\]>"),
]
_COMMENT = re.compile(rf"{_CONTAINER}<!--")
_HTML = re.compile(rf"{_CONTAINER}</?[A-Za-z]")


def is_answer(
    text: str,
    validators: Validators,
    *,
    fences: tuple[str, ...],
    max_indent: int,
    is_other_free: bool,
    max_quotations: int = 0,
) -> bool:
    """Whether a text of printable characters and line feeds is an answer."""
    lines = text.split("\n")
    is_in_html = is_in_comment = False
    while lines:
        line = lines.pop(0)
        opening = re.fullmatch(r"((?:> )*)( *)(```+|~~~+)(.*)", line)
        is_fence = opening is not None and not ("`" in opening[4] and opening[3][0] == "`")
        if (
            is_fence
            and opening is not None
            and len(opening[1]) <= 2 * max_quotations
            and len(opening[2]) <= max_indent
            and opening[3] in fences
        ):
            if is_in_html or is_in_comment:
                return False
            prefix = opening[1] + opening[2]
            block = _content(lines, prefix, opening[3])
            if block is None:
                return False
            content, is_indented = block
            first = (opening[4].split() or [""])[0]
            found = [check for names, check in validators.items() if first.lower() in names]
            if found:
                is_cut = any(_is_fence(line, prefix, opening[3]) for line in content.split("\n"))
                if not is_indented or is_cut or not found[0](content):
                    return False
            elif not is_other_free or set(first) & set("&\\`"):
                return False
        elif not is_in_html and not is_in_comment and (after := _after_raw_html(line, lines)) is not None:
            lines = after
        elif _NOT_TEXT.match(line) or any(
            re.match(_CONTAINER + begin, line, re.IGNORECASE) for begin, _ in _RAW_HTML if begin != "<!--"
        ):
            return False
        else:
            comment = _COMMENT.match(line)
            rest = line if comment is None else line[comment.end() :]
            is_in_comment = (is_in_comment or comment is not None) and "-->" not in rest
            is_in_html = bool(line.strip(" \t")) and (is_in_html or _HTML.match(line) is not None)
    return True


def _after_raw_html(line: str, lines: list[str]) -> list[str] | None:
    """Returns the lines after a block of raw HTML that begins with the line, where all readers find it; or None."""
    for begin, end in _RAW_HTML:
        found = re.match(begin, line, re.IGNORECASE)
        if found is not None and not re.match("<![a-z]", line):
            for index, later in enumerate([line[found.end() :], *lines]):
                if re.search(end, later, re.IGNORECASE):
                    is_early = index > 0 and re.search(end, line, re.IGNORECASE)
                    return None if is_early else lines[index:]
    return None


def _content(lines: list[str], prefix: str, fence: str) -> tuple[str, bool] | None:
    """Takes the lines of a block away; returns its content, and whether its blank lines only lack spaces."""
    content = ""
    is_indented = True
    while lines:
        line = lines.pop(0)
        if re.fullmatch(f"{prefix}{fence}{fence[0]}*[ \t]*", line):
            return content, is_indented
        if not line.startswith(prefix):
            if not line.startswith(prefix.rstrip()) or line[len(prefix.rstrip()) :].strip(" \t"):
                return None
            is_indented &= "\t" not in line
        rest = line
        for character in prefix:
            rest = rest.removeprefix(character)
        if _is_fence(rest, prefix, fence) and re.fullmatch(f"[ \t]*{fence[0]}+[ \t]*", rest):
            return None
        content += rest + "\n"
    return None


def _is_fence(line: str, prefix: str, fence: str) -> bool:
    """Whether a line after its prefix begins with a fence that is indented by at most three columns."""
    spaces = line[: len(line) - len(line.lstrip(" \t"))]
    columns = len((" " * len(prefix) + spaces).expandtabs(4)) - len(prefix)
    return columns <= 3 and line[len(spaces) :].startswith(fence)


_FRAGMENTS = (
    *(
        "```",
        "````",
        "~~~",
        "`",
        "python",
        "py",
        "PYTHON",
        "json",
        "text",
        "pythonx",
        " ",
        "  ",
        "    ",
        "\t",
    ),
    *(
        "\n",
        "\n",
        "\n",
        "\n",
        "- ",
        "> ",
        "1. ",
        "<b>",
        "<!-- a -->",
        "<!-- ",
        "-->",
        "<pre>",
        "</Style>",
        "<SCRIPT a",
        "<!a",
        "<!DOCTYPE a",
        "?>",
        "<?",
        "<![CDATA[",
        "]]>",
        "<!",
        "x",
        "x = 1",
        "if x:",
    ),
    *("[1]", "{}", '"""', "```\n", "```python\n", "```json\n", "\n```", "a`b", "&", "\\"),
)
_CODE = (
    "x = 1\n",
    "if x:\n    y\n",
    'x = """\n```\n"""\n',
    "x = (\n~~~\n1)\n",
    '"""\n    ```\n"""\n',
    "[1]",
    "[1,\n  2]",
    "x\n",
    "\nx = 1\n\n\ny\n\n",
    'x = """\n\t```\n\t~~~\n"""\n',
    'x = """\n \t ````\n"""\n',
    "if x:\n    y\n\n    z\n",
    'x = """\n\n  \n   \n    a"""\n',
    "[1,\n\n  2\n ]",
)


_HTML_BLOCKS = (
    "<pre>\n```python\n</pre>\n",
    "<!--\n```\nx\n-->\n",
    "<?php\n?>\n",
    "- <script>\n  x\n  </script> y\n",
    "> <!DOCTYPE html\n> >\n> ```\n",
    "> <!DOCTYPE html\n> x>\n",
    "<![CDATA[\n~~~\n]]]>\n",
)


def random_answer(rng: random.Random) -> str:
    """Returns a text, often nearly an answer."""
    parts = []
    for _ in range(rng.randint(1, 4)):
        if rng.random() < 0.6:
            indent = rng.choice(("", "", "", "> ", "> > ")) + rng.choice(("", "", "", " ", "   ", "     "))
            fence = rng.choice(("```", "```", "```", "````", "~~~"))
            info = rng.choice(("python", "json", "py x", " Python", "", "text", "JSON"))
            code = rng.choice(_CODE)
            code += "" if code.endswith("\n") else "\n"
            closing = fence + rng.choice(("", "", "", "`", " ", "\t "))
            block = f"{fence}{info}\n{code}{closing}".replace("\n", "\n" + indent)
            if rng.random() < 0.5:
                # Some of the blank lines have less indentation, and seldom other lines.
                block = re.sub(
                    r"(?<=\n)[> ]+(?=\n)" if rng.random() < 0.9 else r"(?<=\n)[> ]+",
                    lambda found: found[0][: max(rng.randint(0, 3), found[0].rfind(">") + 1)],
                    block,
                )
            before = rng.choice(
                ("", "", "hello\n", *_HTML_BLOCKS, "- a\n  - b\n", "- a\n  - b\n\n", "> 1. a\n")
            )
            parts.append(before + indent + block + rng.choice(("\n", "\n", "\n", "")))
        else:
            parts.append("".join(rng.choice(_FRAGMENTS) for _ in range(rng.randint(0, 6))))
    text = "".join(parts)
    if rng.random() < 0.4:
        place = rng.randint(0, len(text))
        text = text[:place] + rng.choice(_FRAGMENTS) + text[place + rng.randint(0, 2) :]
    return text
