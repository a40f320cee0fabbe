"""Translates the formats of structural tags to parts of grammars.

Free text ends at the first delimiter: a trigger, or the end of the enclosing tag. The delimiters that may follow a
format (``_Delimiters``) are passed down to its free text, so that the boundary between them is exact. Formats are
translated bottom-up with an explicit stack, because user input may nest them deeply.

The formats are those of XGrammar 0.2.8 (documentation: "Structural Tag"); ``docs/structural_tags.md`` lists the
intended differences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from grammask import _grammask, composition
from grammask.composition import Part
from grammask.errors import GrammarError, LimitExceeded
from grammask.markdown import bundled_language, markdown_answer_part
from grammask.readers.gbnf import xgrammar_ebnf_part
from grammask.readers.html_pages import html_page_part
from grammask.readers.lark import bundled_source
from grammask.readers.regex import regex_part
from grammask.request_limits import request
from grammask.schemas.embedded_options import embedded_keywords
from grammask.schemas.keywords import escaped
from grammask.structural_tags.diagnostics import DiagnosticList
from grammask.structural_tags.dispatch import FreeText, dispatched, token_dispatched
from grammask.structural_tags.fields import FieldReader, is_count
from grammask.structural_tags.parameters import PARAMETER_STYLES, EncodingContext
from grammask.structural_tags.root_format import root_format

if TYPE_CHECKING:
    from grammask._grammask import Limits

__all__ = ["structural_tag_part"]

_EMPTY = composition.literal("")


@dataclass(frozen=True)
class _Delimiters:
    """The delimiters that may follow a format.

    Attributes:
        words: Texts; free text at the end of the format contains none of them, and the first one follows.
        tokens: Tokens that end the format.
    """

    words: tuple[str, ...] = ()
    tokens: tuple[int | str, ...] = ()


_NONE = _Delimiters()
_FormatMethod = Callable[[Mapping[str, Any], str, _Delimiters], "_Frame"]


@dataclass(frozen=True)
class _InnerFormat:
    """A format inside another one, with its JSON pointer and the delimiters that may follow it."""

    node: Any
    pointer: str
    delimiters: _Delimiters = _NONE


@dataclass
class _Frame:
    """A format on the stack, whose inner formats are being translated.

    Attributes:
        finish: Makes the part of the format from those of its inner formats.
        inner: The inner formats.
        parts: The parts of the inner formats that are finished.
        key: The key of the part in the memo table: its pointer, and its delimiters if they make a difference.
    """

    finish: Callable[[list[Part]], Part]
    inner: list[_InnerFormat]
    parts: list[Part] = field(default_factory=list)
    key: tuple[str, _Delimiters] | None = None


@request
def structural_tag_part(
    tag: Mapping[str, Any],
    *,
    limits: Limits | None = None,
    schema_options: Mapping[str, Any] | None = None,
) -> Part:
    """Returns the part that matches the outputs of a structural tag.

    Args:
        tag: ``{"type": "structural_tag", "format": ...}``, the older form with ``structures`` and ``triggers``, or a
            format alone.
        limits: Limits of reading, all embedded grammars and schemas together.
        schema_options: Options of embedded schemas, which those that the tag carries (``x-grammask``) replace, and
            these those of a format and those of a schema.

    Raises:
        LimitExceeded: A limit is exceeded.
        StructuralTagError: All errors, each with its JSON pointer.
        UnsupportedGrammar: All errors, if each is about a construct that cannot be enforced exactly.
    """
    diagnostics = DiagnosticList()
    root, pointer = root_format(tag, diagnostics)
    translator = _Translator(limits, diagnostics, {**(schema_options or {}), **embedded_keywords(tag)})
    part = translator.translate(root, pointer)
    diagnostics.raise_all()
    return part


class _Translator:
    """Translates one tag. The method ``format_X`` translates formats of the type ``X``."""

    def __init__(
        self, limits: Limits | None, diagnostics: DiagnosticList, schema_options: Mapping[str, Any]
    ) -> None:
        self.limits = limits
        self.schema_options = schema_options
        self.diagnostics = diagnostics
        self.fields = FieldReader(diagnostics)

    def translate(self, root: Any, pointer: str) -> Part:
        # The content of a tag is translated once for each end of the tag; most of it does not depend on the end.
        memo: dict[tuple[str, _Delimiters], Part] = {}
        stack = [_Frame(lambda parts: parts[0], [_InnerFormat(root, pointer)])]
        while True:
            frame = stack[-1]
            if len(frame.parts) < len(frame.inner):
                inner = frame.inner[len(frame.parts)]
                kind = inner.node.get("type") if isinstance(inner.node, Mapping) else None
                key = (inner.pointer, _NONE if kind in _INDEPENDENT_OF_DELIMITERS else inner.delimiters)
                part = memo.get(key)
                if part is None:
                    opened = self._open(inner)
                    opened.key = key
                    stack.append(opened)
                else:
                    frame.parts.append(part)
                continue
            part = frame.finish(frame.parts)
            stack.pop()
            if not stack:
                return part
            if frame.key is not None:
                memo[frame.key] = part
            stack[-1].parts.append(part)

    def _open(self, inner: _InnerFormat) -> _Frame:
        node, pointer = inner.node, inner.pointer
        self._part(pointer, _grammask.check_limits)
        if not isinstance(node, Mapping):
            self.diagnostics.invalid(pointer, "a format is an object with a `type`")
            return _leaf(_EMPTY)
        kind = node.get("type")
        if not isinstance(kind, str) or kind not in _FIELDS:
            help = f"formats: {', '.join(_FIELDS)}"
            self.diagnostics.invalid(f"{pointer}/type", f"there is no format {kind!r}", help)
            return _leaf(_EMPTY)
        fields = _FIELDS[kind]
        for name in node:
            if name not in fields and name != "type":
                place = f"{pointer}/{escaped(str(name))}"
                self.diagnostics.invalid(
                    place, f"`{kind}` has no field `{name}`", f"fields: {', '.join(fields)}"
                )
        method: _FormatMethod = getattr(self, f"format_{kind}")
        return method(node, pointer, inner.delimiters)

    def _part(self, pointer: str, make: Callable[[], Part | None]) -> Part:
        """Returns the part of an embedded text; records what its reader raises.

        Raises:
            LimitExceeded: The tag exceeds a limit.
        """
        try:
            return make() or _EMPTY
        except LimitExceeded as error:
            self.diagnostics.raise_limit(pointer, error)
        except GrammarError as error:
            self.diagnostics.embedded(pointer, error)
        except (TypeError, ValueError) as error:
            self.diagnostics.invalid(pointer, str(error))
        return _EMPTY

    # Text, grammars and schemas ---------------------------------------------------------------------------------

    def format_const_string(self, node: Mapping[str, Any], pointer: str, _delimiters: _Delimiters) -> _Frame:
        return _leaf(composition.literal(self.fields.text(node, "value", pointer)))

    def format_json_schema(self, node: Mapping[str, Any], pointer: str, _delimiters: _Delimiters) -> _Frame:
        schema = node.get("json_schema")
        place = f"{pointer}/json_schema"
        if not isinstance(schema, bool | Mapping):
            self.diagnostics.invalid(place, "`json_schema` is a schema: an object, true or false")
            return _leaf(_EMPTY)
        style_name = node.get("style", "json")
        excludes = self.fields.words(node, "excludes", pointer)
        if style_name != "json" and any(word.strip() != word for word in excludes):
            self.diagnostics.unsupported(
                f"{pointer}/excludes",
                "words with white space at an end, since there may be some around values",
            )
        max_whitespace = self.fields.bound(node, "max_whitespace_cnt", pointer)
        options = {**self.schema_options, "limits": self.limits, "excludes": excludes}
        if max_whitespace is not None:
            options["max_whitespace"] = max_whitespace
        if self.fields.flag(node, "any_order", pointer):
            options["key_order"] = "any"
        if "content" in node:
            options["content"] = self.fields.text(node, "content", pointer)
        style = PARAMETER_STYLES.get(style_name)
        if style is None:
            self.diagnostics.unsupported(
                f"{pointer}/style",
                f"there is no style {style_name!r}",
                f"styles: {', '.join(PARAMETER_STYLES)}",
            )
            return _leaf(_EMPTY)

        def encode() -> Part:
            # The style `json` passes the whole schema to its reader, others pass its parts.
            context = EncodingContext(place, self.diagnostics, {**options, **embedded_keywords(schema)})
            return style.encode(schema, context)

        return _leaf(self._part(place, encode))

    def format_qwen_xml_parameter(
        self, node: Mapping[str, Any], pointer: str, delimiters: _Delimiters
    ) -> _Frame:
        return self.format_json_schema({**node, "style": "qwen_xml"}, pointer, delimiters)

    def format_regex(self, node: Mapping[str, Any], pointer: str, _delimiters: _Delimiters) -> _Frame:
        # In XGrammar's syntax, classes such as `\w` are ASCII, and the dot matches line ends.
        pattern = _grammask.xgrammar_expression(self.fields.text(node, "pattern", pointer))
        return _leaf(self._part(f"{pointer}/pattern", lambda: regex_part(pattern, self.limits)))

    def format_grammar(self, node: Mapping[str, Any], pointer: str, _delimiters: _Delimiters) -> _Frame:
        as_part = getattr(node.get("grammar"), "as_part", None)
        if as_part is not None:  # A `Grammar` in a tag that is an object of Python, as in templates.
            return _leaf(self._part(f"{pointer}/grammar", as_part))
        text = self.fields.text(node, "grammar", pointer)
        return _leaf(self._part(f"{pointer}/grammar", lambda: xgrammar_ebnf_part(text, self.limits)))

    def format_bundled(self, node: Mapping[str, Any], pointer: str, _delimiters: _Delimiters) -> _Frame:
        name, start = (
            self.fields.text(node, "name", pointer),
            self.fields.text({"start": "file", **node}, "start", pointer),
        )
        return _leaf(self._part(pointer, lambda: Part.of_source(bundled_source(name, start, self.limits))))

    def format_html_page(self, node: Mapping[str, Any], pointer: str, _delimiters: _Delimiters) -> _Frame:  # noqa: ARG002
        return _leaf(self._part(pointer, html_page_part))

    def format_markdown_answer(
        self, node: Mapping[str, Any], pointer: str, delimiters: _Delimiters
    ) -> _Frame:
        if delimiters.words:
            self.diagnostics.unsupported(
                pointer,
                f"an answer in Markdown that ends at {delimiters.words[0]!r}",
                "let it be the last format",
            )
        options = {name: node[name] for name in _FIELDS["markdown_answer"] if name in node and name != "code"}
        for name in ("max_indent", "max_quotations", "min_blocks"):
            if name in options and not is_count(options[name]):
                self.diagnostics.invalid(f"{pointer}/{name}", f"`{name}` is a number")
                return _leaf(_EMPTY)
        if "fences" in options:
            options["fences"] = self.fields.words(node, "fences", pointer)
        names = self.fields.words(node, "code", pointer)

        def make() -> Part:
            code = {name: bundled_source(bundled_language(name), "file", self.limits) for name in names}
            return markdown_answer_part(code, **options)

        return _leaf(self._part(pointer, make))

    def format_any_text(self, node: Mapping[str, Any], pointer: str, delimiters: _Delimiters) -> _Frame:
        return _leaf(
            composition.free_text(
                before=delimiters.words[0] if delimiters.words else None,
                stops=delimiters.words,
                without=self.fields.words(node, "excludes", pointer),
                max_characters=self.fields.bound(node, "max_chars", pointer),
                max_tokens=self.fields.bound(node, "max_tokens", pointer),
            )
        )

    # Combinations -----------------------------------------------------------------------------------------------

    def format_sequence(self, node: Mapping[str, Any], pointer: str, delimiters: _Delimiters) -> _Frame:
        elements = self.fields.formats(node, "elements", pointer)
        last = len(elements) - 1
        return _Frame(
            composition.sequence,
            [
                _InnerFormat(element, f"{pointer}/elements/{index}", delimiters if index == last else _NONE)
                for index, element in enumerate(elements)
            ],
        )

    def format_or(self, node: Mapping[str, Any], pointer: str, delimiters: _Delimiters) -> _Frame:
        elements = self.fields.formats(node, "elements", pointer)
        return _Frame(
            lambda parts: composition.choice(parts or [_EMPTY]),
            [
                _InnerFormat(element, f"{pointer}/elements/{index}", delimiters)
                for index, element in enumerate(elements)
            ],
        )

    def format_optional(self, node: Mapping[str, Any], pointer: str, delimiters: _Delimiters) -> _Frame:
        return self._copies(node, pointer, delimiters, 0, 1)

    def format_star(self, node: Mapping[str, Any], pointer: str, delimiters: _Delimiters) -> _Frame:
        return self._copies(node, pointer, delimiters, 0, None)

    def format_plus(self, node: Mapping[str, Any], pointer: str, delimiters: _Delimiters) -> _Frame:
        return self._copies(node, pointer, delimiters, 1, None)

    def format_repeat(self, node: Mapping[str, Any], pointer: str, delimiters: _Delimiters) -> _Frame:
        min_count: Any = node.get("min")
        max_count: Any = node.get("max")
        has_no_maximum = max_count == -1
        is_range = is_count(min_count) and is_count(max_count) and min_count <= max_count
        if not (is_range or (is_count(min_count) and has_no_maximum)):
            self.diagnostics.invalid(
                pointer, "`min` and `max` are numbers, `max` not below `min` or -1 for any number"
            )
            min_count, max_count = 0, 1
        return self._copies(node, pointer, delimiters, min_count, None if has_no_maximum else max_count)

    def _copies(
        self,
        node: Mapping[str, Any],
        pointer: str,
        delimiters: _Delimiters,
        min_count: int,
        max_count: int | None,
    ) -> _Frame:
        return _Frame(
            lambda parts: composition.repeat(parts[0], min_count, max_count),
            [_InnerFormat(node.get("content"), f"{pointer}/content", delimiters)],
        )

    # Tags -------------------------------------------------------------------------------------------------------

    def _begin(self, tag: Mapping[str, Any], pointer: str) -> Part:
        begin = tag.get("begin")
        if isinstance(begin, Mapping) and begin.get("type") == "token":
            return composition.token(self.fields.token(begin.get("token"), f"{pointer}/begin/token"))
        return composition.literal(self.fields.text(tag, "begin", pointer))

    def format_tag(self, node: Mapping[str, Any], pointer: str, _delimiters: _Delimiters) -> _Frame:
        return self._tag_after(node, pointer, self._begin(node, pointer))

    def _tag_after(self, tag: Mapping[str, Any], pointer: str, begin: Part) -> _Frame:
        """Translates a tag.

        Args:
            tag: The tag.
            pointer: Its JSON pointer.
            begin: The part of its beginning, which may be shortened by a trigger.
        """
        content, place = tag.get("content"), f"{pointer}/content"
        end = tag.get("end")
        if isinstance(end, Mapping) and end.get("type") == "token":
            reference = self.fields.token(end.get("token"), f"{pointer}/end/token")
            close = composition.token(reference)
            return _Frame(
                lambda parts: composition.sequence([begin, *parts, close]),
                [_InnerFormat(content, place, _Delimiters(tokens=(reference,)))],
            )
        words = [end] if isinstance(end, str) else end
        if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
            self.diagnostics.invalid(f"{pointer}/end", "`end` is a string, a list of strings or a token")
            words = [""]
        words = list(dict.fromkeys(words))
        if "" in words:
            # An empty end does not delimit free text, which then continues as at the end of the output.
            closes = composition.choice([composition.literal(word) for word in words])
            return _Frame(
                lambda parts: composition.sequence([begin, *parts, closes]), [_InnerFormat(content, place)]
            )
        # One copy of the content for each end, because free text depends on the end that follows it.
        return _Frame(
            lambda parts: composition.sequence(
                [
                    begin,
                    composition.choice(
                        composition.sequence([part, composition.literal(word)])
                        for part, word in zip(parts, words, strict=True)
                    ),
                ]
            ),
            [
                _InnerFormat(
                    content, place, _Delimiters((word, *(other for other in words if other != word)))
                )
                for word in words
            ],
        )

    def _tags(self, node: Mapping[str, Any], pointer: str) -> list[_InnerFormat]:
        tags = []
        for index, tag in enumerate(self.fields.formats(node, "tags", pointer)):
            place = f"{pointer}/tags/{index}"
            if isinstance(tag, Mapping) and tag.get("type", "tag") == "tag":
                tags.append(_InnerFormat({"type": "tag", **tag}, place))
            else:
                self.diagnostics.invalid(place, "this is a tag, `{'type': 'tag', ...}`")
        return tags

    def format_tags_with_separator(
        self, node: Mapping[str, Any], pointer: str, _delimiters: _Delimiters
    ) -> _Frame:
        separator = composition.literal(self.fields.text(node, "separator", pointer))
        required = self.fields.flag(node, "at_least_one", pointer)
        once = self.fields.flag(node, "stop_after_first", pointer)

        def finish(parts: list[Part]) -> Part:
            tag = composition.choice(parts or [_EMPTY])
            more = composition.repeat(composition.sequence([separator, tag]), 0, None)
            tags = tag if once else composition.sequence([tag, more])
            return tags if required else composition.choice([_EMPTY, tags])

        return _Frame(finish, self._tags(node, pointer))

    def format_triggered_tags(self, node: Mapping[str, Any], pointer: str, delimiters: _Delimiters) -> _Frame:
        triggers = self.fields.words(node, "triggers", pointer)
        if not triggers:
            self.diagnostics.invalid(f"{pointer}/triggers", "there is at least one trigger")
        text = FreeText(
            delimiters.words, tuple(triggers), tuple(self.fields.words(node, "excludes", pointer))
        )
        required = self.fields.flag(node, "at_least_one", pointer)
        once = self.fields.flag(node, "stop_after_first", pointer)
        trigger_of_tag: list[str] = []
        inner: list[_InnerFormat] = []
        for tag in self._tags(node, pointer):
            begin = self.fields.text(tag.node, "begin", tag.pointer)
            matching = [trigger for trigger in triggers if begin.startswith(trigger)]
            if len(matching) != 1 and triggers:
                count = "several triggers" if matching else "no trigger"
                self.diagnostics.invalid(
                    f"{tag.pointer}/begin", f"{begin!r} begins with {count}, and not with exactly one"
                )
            trigger = matching[0] if matching else ""
            trigger_of_tag.append(trigger)
            rest = str(tag.node.get("begin"))[len(trigger) :]
            inner.append(_InnerFormat({**tag.node, "begin": rest}, tag.pointer))

        def finish(parts: list[Part]) -> Part:
            by_trigger: dict[str, list[Part]] = {}
            for part, trigger in zip(parts, trigger_of_tag, strict=True):
                if trigger:
                    by_trigger.setdefault(trigger, []).append(part)
            return dispatched(by_trigger, text, is_required=required, is_once=once)

        return _Frame(finish, inner)

    def format_dispatch(self, node: Mapping[str, Any], pointer: str, _delimiters: _Delimiters) -> _Frame:
        rules = self.fields.formats(node, "rules", pointer)
        patterns: list[str] = []
        inner: list[_InnerFormat] = []
        for index, rule in enumerate(rules):
            place = f"{pointer}/rules/{index}"
            if isinstance(rule, list | tuple) and len(rule) == 2 and isinstance(rule[0], str) and rule[0]:
                patterns.append(rule[0])
                inner.append(_InnerFormat(rule[1], f"{place}/1"))
            else:
                self.diagnostics.invalid(place, "a rule is a pair of a string that is not empty and a format")
        text = FreeText((), tuple(patterns), tuple(self.fields.words(node, "excludes", pointer)))
        once = not self.fields.flag({"loop": True, **node}, "loop", pointer)

        def finish(parts: list[Part]) -> Part:
            by_pattern: dict[str, list[Part]] = {}
            for part, pattern in zip(parts, patterns, strict=True):
                by_pattern.setdefault(pattern, []).append(part)
            return dispatched(by_pattern, text, is_required=False, is_once=once)

        return _Frame(finish, inner)

    # Tokens -----------------------------------------------------------------------------------------------------

    def format_token(self, node: Mapping[str, Any], pointer: str, _delimiters: _Delimiters) -> _Frame:
        return _leaf(composition.token(self.fields.token(node.get("token"), f"{pointer}/token")))

    def format_exclude_token(self, node: Mapping[str, Any], pointer: str, delimiters: _Delimiters) -> _Frame:
        excluded = [*self.fields.tokens(node, "exclude_tokens", pointer), *delimiters.tokens]
        return _leaf(composition.tokens(excluded, others=True))

    def format_any_tokens(self, node: Mapping[str, Any], pointer: str, delimiters: _Delimiters) -> _Frame:
        excluded = [*self.fields.tokens(node, "exclude_tokens", pointer), *delimiters.tokens]
        max_tokens = self.fields.bound(node, "max_tokens", pointer)
        return _leaf(composition.repeat(composition.tokens(excluded, others=True), 0, max_tokens))

    def format_token_triggered_tags(
        self, node: Mapping[str, Any], pointer: str, delimiters: _Delimiters
    ) -> _Frame:
        triggers = self.fields.tokens(node, "trigger_tokens", pointer)
        tags = self._tags(node, pointer)
        for tag in tags:
            begin = tag.node.get("begin")
            token = begin.get("token") if isinstance(begin, Mapping) else None
            if token is None or token not in triggers:
                self.diagnostics.invalid(
                    f"{tag.pointer}/begin", "the tag begins with one of the trigger tokens"
                )
        required = self.fields.flag(node, "at_least_one", pointer)
        once = self.fields.flag(node, "stop_after_first", pointer)
        excluded = [*triggers, *self.fields.tokens(node, "exclude_tokens", pointer), *delimiters.tokens]
        return _Frame(
            lambda parts: token_dispatched(parts, excluded, is_required=required, is_once=once),
            tags,
        )

    def format_token_dispatch(
        self, node: Mapping[str, Any], pointer: str, _delimiters: _Delimiters
    ) -> _Frame:
        patterns: list[int | str] = []
        inner: list[_InnerFormat] = []
        for index, rule in enumerate(self.fields.formats(node, "rules", pointer)):
            place = f"{pointer}/rules/{index}"
            if isinstance(rule, list | tuple) and len(rule) == 2:
                patterns.append(self.fields.token(rule[0], f"{place}/0"))
                inner.append(_InnerFormat(rule[1], f"{place}/1"))
            else:
                self.diagnostics.invalid(place, "a rule is a pair of a token and a format")
        once = not self.fields.flag({"loop": True, **node}, "loop", pointer)
        excluded = [*patterns, *self.fields.tokens(node, "exclude_tokens", pointer)]

        def finish(parts: list[Part]) -> Part:
            rules = [
                composition.sequence([composition.token(pattern), part])
                for pattern, part in zip(patterns, parts, strict=True)
            ]
            return token_dispatched(rules, excluded, is_required=False, is_once=once)

        return _Frame(finish, inner)


def _leaf(part: Part) -> _Frame:
    return _Frame(lambda _: part, [])


_INDEPENDENT_OF_DELIMITERS = frozenset(
    {
        "bundled", "const_string", "dispatch", "grammar", "html_page", "json_schema", "qwen_xml_parameter", "regex",
        "tag", "tags_with_separator", "token", "token_dispatch",
    }
)  # fmt: skip
"""Formats whose texts do not depend on the delimiters after them."""

_FIELDS: dict[str, tuple[str, ...]] = {
    "any_text": ("excludes", "max_tokens", "max_chars"),
    "any_tokens": ("exclude_tokens", "max_tokens"),
    "bundled": ("name", "start"),
    "const_string": ("value",),
    "dispatch": ("rules", "loop", "excludes"),
    "exclude_token": ("exclude_tokens",),
    "grammar": ("grammar",),
    "html_page": (),
    "json_schema": ("json_schema", "style", "any_order", "content", "max_whitespace_cnt", "excludes"),
    "markdown_answer": ("code", "other", "fences", "max_indent", "max_quotations", "min_blocks"),
    "optional": ("content",),
    "or": ("elements",),
    "plus": ("content",),
    "qwen_xml_parameter": ("json_schema", "content"),
    "regex": ("pattern",),
    "repeat": ("min", "max", "content"),
    "sequence": ("elements",),
    "star": ("content",),
    "tag": ("begin", "content", "end"),
    "tags_with_separator": ("tags", "separator", "at_least_one", "stop_after_first"),
    "token": ("token",),
    "token_dispatch": ("rules", "loop", "exclude_tokens"),
    "token_triggered_tags": ("trigger_tokens", "tags", "exclude_tokens", "at_least_one", "stop_after_first"),
    "triggered_tags": ("triggers", "tags", "at_least_one", "stop_after_first", "excludes"),
}
"""The fields of each format, without ``type``."""
