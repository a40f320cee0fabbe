"""The regular expressions of requests to servers."""

from __future__ import annotations

import pytest
from grammask import Vocabulary
from grammask.integrations.serving import request_grammars

BYTES = Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos=256)


@pytest.mark.parametrize(
    ("syntax", "texts"), [(None, ["<a"]), ("", ["<a"]), ("python", ["<a"]), ("ecma", ["<a"]), ("rust", ["a"])]
)
def test_the_environment_selects_the_syntax_of_expressions(
    syntax: str | None, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if syntax is None:
        monkeypatch.delenv(request_grammars.REGEX_SYNTAX, raising=False)
    else:
        monkeypatch.setenv(request_grammars.REGEX_SYNTAX, syntax)
    accepts = request_grammars.regex(r"\<a").compile(BYTES).is_valid
    assert [text for text in ("<a", "a") if accepts(text.encode())] == texts


def test_an_unknown_syntax_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(request_grammars.REGEX_SYNTAX, "perl")
    with pytest.raises(ValueError, match="the values are python, ecma, rust"):
        request_grammars.regex("a")
