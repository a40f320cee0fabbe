"""A view of a matcher for notebooks: type a text, and see its tokens, where it stops to fit, and the next tokens.

Needs the package ``anywidget``. The engine runs in the kernel, so any grammar and vocabulary works; the playground is a
page for grammars of some notations.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import anywidget
import traitlets

from grammask.integrations.serving.row_tracking import check_compiled
from grammask.named_keywords import named_keywords
from grammask.notebooks import matcher_html

if TYPE_CHECKING:
    from grammask._grammask import CompiledGrammar, Matcher

__all__ = ["MatcherView"]

MAX_NEXT_TOKENS = 60
"""Maximum number of shown next tokens."""

_SCRIPT = """
function render({model, el}) {
  const area = document.createElement("textarea");
  area.rows = 4;
  area.style.cssText = "width: 100%; box-sizing: border-box; font-family: monospace";
  area.setAttribute("aria-label", "Text so far");
  area.value = model.get("text");
  area.addEventListener("input", () => {
    model.set("text", area.value);
    model.save_changes();
  });
  const result = document.createElement("div");
  result.setAttribute("aria-live", "polite");
  const show = () => {
    result.innerHTML = model.get("html");
    if (area.value !== model.get("text")) area.value = model.get("text");
  };
  model.on("change:html", show);
  model.on("change:text", show);
  show();
  el.append(area, result);
}
export default {render};
"""

_STYLE = """
.grammask-token { border-radius: 3px; padding: 0 1px; margin-right: 1px; white-space: pre; }
.grammask-token:nth-child(odd) { background: #7db8ff55; }
.grammask-token:nth-child(even) { background: #f0c06055; }
.grammask-wrong { background: #ff6f6177; text-decoration: underline wavy; white-space: pre; }
"""


@named_keywords
class MatcherView(anywidget.AnyWidget):  # type: ignore[misc, unused-ignore]
    """A view of the texts of a compiled grammar. ``text`` may be set from Python too; ``html`` is the result.

    ::

        from grammask.integrations.anywidget import MatcherView

        MatcherView(compiled, "[1, [2")

    Args:
        compiled: The grammar.
        text: The text at first.

    Attributes:
        text: The text.
        html: The tokens of the text, each the longest of the vocabulary that fits, and the legal next tokens. Escaped,
            and of bounded size.

    Cost of a change: reading the text, and a mask.
    """

    _esm = _SCRIPT
    _css = _STYLE
    text = traitlets.Unicode("").tag(sync=True)
    html = traitlets.Unicode("").tag(sync=True)

    def __init__(self, compiled: CompiledGrammar, text: str = "") -> None:
        check_compiled(compiled)
        vocabulary = compiled.matcher().vocabulary
        self._compiled = compiled
        self._tokens = {
            token: id for id in range(vocabulary.size) if (token := vocabulary.token(id)) is not None
        }
        self._longest = max(map(len, self._tokens), default=0)
        super().__init__(text=text)
        self.observe(lambda _: self._show(), "text")
        self._show()

    def _show(self) -> None:
        text = self.text.encode("utf-8", "replace")
        error = self._compiled.first_error(text)
        fits = text if error is None else text[:error]
        matcher = self._compiled.matcher()
        shown = []
        for token in self._split(fits):
            matcher.accept_bytes(token)
            shown.append(f'<span class="grammask-token">{_escaped(token)}</span>')
        if len(fits) < len(text):
            shown.append(f'<span class="grammask-wrong">{_escaped(text[len(fits) :])}</span>')
        place = f"<p>byte {len(fits)} does not fit</p>" if len(fits) < len(text) else ""
        self.html = f"<p>{''.join(shown)}</p>{place}{_next_tokens(matcher)}{matcher_html(matcher)}"

    def _split(self, text: bytes) -> list[bytes]:
        """Splits a text into the longest tokens; bytes without a token are single."""
        parts = []
        at = 0
        while at < len(text):
            ends = range(min(len(text), at + self._longest), at + 1, -1)
            end = next((end for end in ends if text[at:end] in self._tokens), at + 1)
            parts.append(text[at:end])
            at = end
        return parts


def _next_tokens(matcher: Matcher) -> str:
    if matcher.is_finished:
        return ""
    allowed = matcher.allowed_ids().tolist()
    shown = [matcher.vocabulary.token(id) for id in allowed[:MAX_NEXT_TOKENS]]
    tokens = " ".join(f"<code>{_escaped(token)}</code>" for token in shown if token is not None)
    more = f" … {len(allowed) - MAX_NEXT_TOKENS:,} more" if len(allowed) > MAX_NEXT_TOKENS else ""
    return f"<p>{len(allowed):,} of {matcher.vocabulary.size:,} tokens can come next: {tokens}{more}</p>"


def _escaped(token: bytes) -> str:
    return escape(token.decode("utf-8", "backslashreplace").replace("\n", "⏎\n"))
