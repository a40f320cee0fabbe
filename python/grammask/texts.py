"""Grammars of whole texts that contain code: answers in Markdown, and pages in HTML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from grammask.arguments import listed_texts
from grammask.grammar import Grammar
from grammask.markdown import bundled_language, markdown_answer_part
from grammask.readers.html_pages import html_page_part
from grammask.readers.lark import bundled_source
from grammask.request_limits import request

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grammask.markdown import OtherBlocks

__all__ = ["html_page", "markdown_answer"]


@request
def markdown_answer(
    code: Mapping[str, Grammar | Literal[True]] | Iterable[str],
    *,
    other: OtherBlocks = "free",
    fences: Sequence[str] = ("```",),
    max_indent: int = 0,
    max_quotations: int = 0,
    min_blocks: int = 0,
) -> Grammar:
    r"""Makes the grammar of answers in CommonMark whose fenced blocks are valid in the language that they name.

    See ``docs/composition.md`` for which texts these are.

    >>> import grammask
    >>> from grammask.texts import markdown_answer
    >>> answer = markdown_answer(["python", "sql"], other="refuse")
    >>> bytes_only = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
    >>> compiled = answer.compile(bytes_only)
    >>> compiled.is_valid(b"So:\n```py\nf(x)\n```"), compiled.is_valid(b"So:\n```py\nf(x\n```")
    (True, False)

    Args:
        code: The languages by a name of info strings, which stands for all names of a bundled language: with the
            grammar of the code, or True for the bundled grammar. Names alone are bundled languages.
        other: ``"free"``: blocks without a name, or with another one, hold any text. ``"refuse"``: there are none.
        fences: The opening fences, of 3 to 8 backticks or tildes. Other fences do not occur.
        max_indent: The maximum number of spaces before fences, 0 to 8. All lines of a block that are not blank have
            those of its fence, as in items of lists.
        max_quotations: The maximum number of block quotes around a block, 0 to 3. All lines of a block begin with a
            ``>`` for each, and a space if they are not blank.
        min_blocks: The minimum number of blocks.

    Raises:
        UnsupportedGrammar: It cannot be excluded that the code closes its block: the grammar is neither of
            :meth:`Grammar.bundled`, :meth:`Grammar.from_lark` or a JSON Schema, nor, where fences have no prefix, of
            :meth:`Grammar.from_regex`.
        GrammarError: When the grammar is used: no code of a language begins with an empty line, for grammars with a
            lexer.
        ValueError: There is no such language or option, or two names are of one language.
    """
    if isinstance(code, str):
        msg = f"code is a list of names of languages, not the single name {code!r}"
        raise TypeError(msg)
    languages = (
        code.items() if isinstance(code, Mapping) else ((name, True) for name in listed_texts("code", code))
    )
    sources = {
        name: one._source  # noqa: SLF001
        if isinstance(one, Grammar)
        else bundled_source(bundled_language(name), "file", None)
        for name, one in languages
    }
    part = markdown_answer_part(
        sources,
        other=other,
        fences=fences,
        max_indent=max_indent,
        max_quotations=max_quotations,
        min_blocks=min_blocks,
    )
    return Grammar.of_source(part)


@request
def html_page() -> Grammar:
    """Makes the grammar of pages in HTML with style sheets and scripts. See ``docs/composition.md``.

    >>> import grammask
    >>> from grammask.texts import html_page
    >>> bytes_only = grammask.Vocabulary([bytes([byte]) for byte in range(256)], eos=256, size=257)
    >>> compiled = html_page().compile(bytes_only)
    >>> page = "<!doctype html><html><head><title>A</title></head><body><p>{}</p></body></html>"
    >>> [compiled.is_valid(page.format(text).encode()) for text in ("x<br>y", "<b>x", "<p>x</p>")]
    [True, False, False]
    """
    return Grammar.of_source(html_page_part())
