"""The formats of structural tags as parts of grammars.

Free text stops at the first place where something else begins: at a trigger, or at the end of the tag that it is the
content of. Which end may follow is handed down, so that text and end are told apart exactly. Formats are translated
from the leaves up, with a stack, since users may nest them deeply.

The formats are those of XGrammar 0.2.8 (documentation: "Structural Tag"); what differs on purpose is in
``docs/structural_tags.md``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from grammask import _grammask, composition
from grammask.errors import GrammarError
from grammask.schemas.keywords import escaped
from grammask.structural_tags.diagnostics import DiagnosticList
from grammask.structural_tags.parameters import PARAMETER_STYLES, EncodingContext

if TYPE_CHECKING:
    from grammask._grammask import Limits
    from grammask.composition import Part
    from grammask.grammar import Grammar

__all__ = ["structural_tag_part"]

_EMPTY = composition.literal("")


@dataclass(frozen=True)
class _Following:
    """What ends the free text at the end of a format: words, the first of which follows, or tokens."""

    words: tuple[str, ...] = ()
    tokens: tuple[int | str, ...] = ()


_NOTHING = _Following()
_Format = Callable[[Mapping[str, Any], str, _Following], "_Frame"]


@dataclass
class _Frame:
    """A format whose inner formats are being translated."""

    finish: Callable[[list[Part]], Part]
    inner: list[tuple[Any, str, _Following]]
    parts: list[Part] = field(default_factory=list)
    key: tuple[str, _Following] | None = None
    """What the finished part is known by: its place, and what follows it if that makes a difference."""


def structural_tag_part(tag: Mapping[str, Any], grammars: type[Grammar], limits: Limits | None) -> Part:
    """Returns the part that matches what a structural tag describes.

    Args:
        tag: ``{"type": "structural_tag", "format": ...}``, or the older form with ``structures`` and ``triggers``, or
            a format alone.
        grammars: The class whose methods read the grammars and schemas inside.
        limits: Budgets for each of them; once the time is over none is begun.

    Raises:
        LimitExceeded: The time is over.
        StructuralTagError: Everything that is wrong, each with its JSON pointer.
        UnsupportedGrammar: Only things that cannot be enforced exactly.
    """
    diagnostics = DiagnosticList()
    root, pointer = _root_format(tag, diagnostics)
    translator = _Translator(grammars, limits, diagnostics)
    part = translator.translate(root, pointer)
    diagnostics.raise_all()
    return part


def _root_format(tag: Any, diagnostics: DiagnosticList) -> tuple[Any, str]:
    if isinstance(tag, Mapping) and tag.get("type", "structural_tag") == "structural_tag":
        if "format" in tag:
            return tag["format"], "#/format"
        structures = tag.get("structures", tag.get("tags"))
        if isinstance(structures, Sequence) and "triggers" in tag:
            tags = [
                {
                    "type": "tag",
                    "begin": one.get("begin"),
                    "content": {"type": "json_schema", "json_schema": _schema_of(one.get("schema"))},
                    "end": one.get("end"),
                }
                if isinstance(one, Mapping)
                else one
                for one in structures
            ]
            for name in tag.keys() - _LEGACY_FIELDS:
                diagnostics.invalid(
                    f"#/{escaped(str(name))}", f"the older form of structural tags has no field `{name}`"
                )
            # Not of XGrammar: SGLang adds it, and asks so for calls that are required.
            required = tag.get("at_least_one", False)
            return {
                "type": "triggered_tags",
                "triggers": tag["triggers"],
                "tags": tags,
                "at_least_one": required,
            }, "#"
        diagnostics.invalid("#", "a structural tag has a `format`, or `structures` and `triggers`")
        return {"type": "any_text"}, "#"
    return tag, "#"


def _schema_of(schema: Any) -> Any:
    """A schema of the older form, which may be given as text, or left out for any value."""
    if schema is None:
        return {}
    try:
        return json.loads(schema) if isinstance(schema, str) else schema
    except (ValueError, RecursionError):
        return schema


class _Translator:
    def __init__(self, grammars: type[Grammar], limits: Limits | None, diagnostics: DiagnosticList) -> None:
        self.grammars = grammars
        self.limits = limits
        self.diagnostics = diagnostics
        self.seconds = (limits or _grammask.Limits()).seconds
        self.end = time.monotonic() + self.seconds

    def translate(self, root: Any, pointer: str) -> Part:
        # A content is asked for once for each end of its tag, and most of it does not depend on the end.
        known: dict[tuple[str, _Following], Part] = {}
        stack = [_Frame(lambda parts: parts[0], [(root, pointer, _NOTHING)])]
        while True:
            frame = stack[-1]
            if len(frame.parts) < len(frame.inner):
                node, place, following = frame.inner[len(frame.parts)]
                kind = node.get("type") if isinstance(node, Mapping) else None
                key = (place, _NOTHING if kind in _WITH_ENDS_OF_THEIR_OWN else following)
                part = known.get(key)
                if part is None:
                    inner = self._open(node, place, following)
                    inner.key = key
                    stack.append(inner)
                else:
                    frame.parts.append(part)
                continue
            part = frame.finish(frame.parts)
            stack.pop()
            if not stack:
                return part
            if frame.key is not None:
                known[frame.key] = part
            stack[-1].parts.append(part)

    def _open(self, node: Any, pointer: str, following: _Following) -> _Frame:
        # Each grammar inside has the time of a call for itself, so all of them take twice that at the most.
        if time.monotonic() >= self.end:
            self.diagnostics.raise_timeout(pointer, self.seconds)
        if not isinstance(node, Mapping):
            self.diagnostics.invalid(pointer, "a format is an object with a `type`")
            return _leaf(_EMPTY)
        kind = node.get("type")
        if not isinstance(kind, str) or kind not in _FIELDS:
            help = f"formats: {', '.join(_FIELDS)}"
            self.diagnostics.invalid(f"{pointer}/type", f"there is no format {kind!r}", help)
            return _leaf(_EMPTY)
        known = _FIELDS[kind]
        for name in node:
            if name not in known and name != "type":
                place = f"{pointer}/{escaped(str(name))}"
                self.diagnostics.invalid(
                    place, f"`{kind}` has no field `{name}`", f"fields: {', '.join(known)}"
                )
        method: _Format = getattr(self, f"format_{kind}")
        return method(node, pointer, following)

    # Reading of fields ------------------------------------------------------------------------------------------

    def _text(self, node: Mapping[str, Any], name: str, pointer: str) -> str:
        value = node.get(name)
        if not isinstance(value, str):
            self.diagnostics.invalid(f"{pointer}/{name}", f"`{name}` is a string")
            return ""
        return value

    def _words(self, node: Mapping[str, Any], name: str, pointer: str) -> list[str]:
        value = node.get(name, [])
        if not isinstance(value, list) or not all(isinstance(word, str) and word for word in value):
            self.diagnostics.invalid(f"{pointer}/{name}", f"`{name}` is a list of strings that are not empty")
            return []
        return value

    def _flag(self, node: Mapping[str, Any], name: str, pointer: str) -> bool:
        value = node.get(name, False)
        if not isinstance(value, bool):
            self.diagnostics.invalid(f"{pointer}/{name}", f"`{name}` is true or false")
        return value is True

    def _bound(self, node: Mapping[str, Any], name: str, pointer: str) -> int | None:
        value = node.get(name)
        if value is not None and not _is_count(value):
            self.diagnostics.invalid(
                f"{pointer}/{name}", f"`{name}` is a number from 0 to 2147483647, or null"
            )
            return None
        return value

    def _token(self, value: Any, pointer: str) -> int | str:
        if (
            isinstance(value, bool)
            or not isinstance(value, int | str)
            or (isinstance(value, int) and value < 0)
        ):
            self.diagnostics.invalid(pointer, "a token is an id or a string")
            return 0
        return value

    def _tokens(self, node: Mapping[str, Any], name: str, pointer: str) -> list[int | str]:
        value = node.get(name, [])
        if not isinstance(value, list):
            self.diagnostics.invalid(f"{pointer}/{name}", f"`{name}` is a list of tokens")
            return []
        return [self._token(token, f"{pointer}/{name}/{index}") for index, token in enumerate(value)]

    def _formats(self, node: Mapping[str, Any], name: str, pointer: str) -> list[Any]:
        value = node.get(name)
        if not isinstance(value, list) or not value:
            self.diagnostics.invalid(f"{pointer}/{name}", f"`{name}` is a list with at least one format")
            return []
        return value

    def _part(self, pointer: str, make: Callable[[], Part]) -> Part:
        """Returns the part of an embedded text; records what its reader raises."""
        try:
            return make()
        except GrammarError as error:
            self.diagnostics.embedded(pointer, error)
        except (TypeError, ValueError) as error:
            self.diagnostics.invalid(pointer, str(error))
        return _EMPTY

    # Text, grammars and schemas ---------------------------------------------------------------------------------

    def format_const_string(self, node: Mapping[str, Any], pointer: str, _following: _Following) -> _Frame:
        return _leaf(composition.literal(self._text(node, "value", pointer)))

    def format_json_schema(self, node: Mapping[str, Any], pointer: str, _following: _Following) -> _Frame:
        schema = node.get("json_schema")
        place = f"{pointer}/json_schema"
        if not isinstance(schema, bool | Mapping):
            self.diagnostics.invalid(place, "`json_schema` is a schema: an object, true or false")
            return _leaf(_EMPTY)
        style_name = node.get("style", "json")
        excludes = self._words(node, "excludes", pointer)
        if style_name != "json" and any(word.strip() != word for word in excludes):
            self.diagnostics.unsupported(
                f"{pointer}/excludes",
                "words with white space at an end, since there may be some around values",
            )
        max_whitespace = self._bound(node, "max_whitespace_cnt", pointer)
        options: dict[str, Any] = {"limits": self.limits, "excludes": excludes}
        if max_whitespace is not None:
            options["max_whitespace"] = max_whitespace
        if self._flag(node, "any_order", pointer):
            options["key_order"] = "any"
        style = PARAMETER_STYLES.get(style_name)
        if style is None:
            self.diagnostics.unsupported(
                f"{pointer}/style",
                f"there is no style {style_name!r}",
                f"styles: {', '.join(PARAMETER_STYLES)}",
            )
            return _leaf(_EMPTY)
        context = EncodingContext(place, self.diagnostics, self.grammars, options)
        return _leaf(self._part(place, lambda: style.encode(schema, context)))

    def format_qwen_xml_parameter(
        self, node: Mapping[str, Any], pointer: str, following: _Following
    ) -> _Frame:
        return self.format_json_schema({**node, "style": "qwen_xml"}, pointer, following)

    def format_regex(self, node: Mapping[str, Any], pointer: str, _following: _Following) -> _Frame:
        # XGrammar's classes know ASCII, and its dot matches line ends.
        pattern = _grammask.xgrammar_expression(self._text(node, "pattern", pointer))
        return _leaf(
            self._part(
                f"{pointer}/pattern",
                lambda: self.grammars.from_regex(pattern, limits=self.limits).as_part(),
            )
        )

    def format_grammar(self, node: Mapping[str, Any], pointer: str, _following: _Following) -> _Frame:
        text = self._text(node, "grammar", pointer)
        return _leaf(
            self._part(
                f"{pointer}/grammar",
                lambda: self.grammars.from_xgrammar_ebnf(text, limits=self.limits).as_part(),
            )
        )

    def format_any_text(self, node: Mapping[str, Any], pointer: str, following: _Following) -> _Frame:
        return _leaf(
            composition.free_text(
                before=following.words[0] if following.words else None,
                stops=following.words,
                without=self._words(node, "excludes", pointer),
                max_characters=self._bound(node, "max_chars", pointer),
                max_tokens=self._bound(node, "max_tokens", pointer),
            )
        )

    # Combinations -----------------------------------------------------------------------------------------------

    def format_sequence(self, node: Mapping[str, Any], pointer: str, following: _Following) -> _Frame:
        elements = self._formats(node, "elements", pointer)
        last = len(elements) - 1
        return _Frame(
            composition.sequence,
            [
                (element, f"{pointer}/elements/{index}", following if index == last else _NOTHING)
                for index, element in enumerate(elements)
            ],
        )

    def format_or(self, node: Mapping[str, Any], pointer: str, following: _Following) -> _Frame:
        elements = self._formats(node, "elements", pointer)
        return _Frame(
            lambda parts: composition.choice(parts or [_EMPTY]),
            [(element, f"{pointer}/elements/{index}", following) for index, element in enumerate(elements)],
        )

    def format_optional(self, node: Mapping[str, Any], pointer: str, following: _Following) -> _Frame:
        return self._copies(node, pointer, following, 0, 1)

    def format_star(self, node: Mapping[str, Any], pointer: str, following: _Following) -> _Frame:
        return self._copies(node, pointer, following, 0, None)

    def format_plus(self, node: Mapping[str, Any], pointer: str, following: _Following) -> _Frame:
        return self._copies(node, pointer, following, 1, None)

    def format_repeat(self, node: Mapping[str, Any], pointer: str, following: _Following) -> _Frame:
        least: Any = node.get("min")
        most: Any = node.get("max")
        if not (_is_count(least) and ((_is_count(most) and least <= most) or most == -1)):
            self.diagnostics.invalid(
                pointer, "`min` and `max` are numbers, `max` not below `min` or -1 for any number"
            )
            least, most = 0, 1
        return self._copies(node, pointer, following, least, None if most == -1 else most)

    def _copies(
        self, node: Mapping[str, Any], pointer: str, following: _Following, least: int, most: int | None
    ) -> _Frame:
        return _Frame(
            lambda parts: composition.repeat(parts[0], least, most),
            [(node.get("content"), f"{pointer}/content", following)],
        )

    # Tags -------------------------------------------------------------------------------------------------------

    def _begin(self, tag: Mapping[str, Any], pointer: str) -> Part:
        begin = tag.get("begin")
        if isinstance(begin, Mapping) and begin.get("type") == "token":
            return composition.token(self._token(begin.get("token"), f"{pointer}/begin/token"))
        return composition.literal(self._text(tag, "begin", pointer))

    def format_tag(self, node: Mapping[str, Any], pointer: str, _following: _Following) -> _Frame:
        return self._tag_after(node, pointer, self._begin(node, pointer))

    def _tag_after(self, tag: Mapping[str, Any], pointer: str, begin: Part) -> _Frame:
        """The rest of a tag behind its beginning, and it."""
        content = (tag.get("content"), f"{pointer}/content")
        end = tag.get("end")
        if isinstance(end, Mapping) and end.get("type") == "token":
            reference = self._token(end.get("token"), f"{pointer}/end/token")
            close = composition.token(reference)
            return _Frame(
                lambda parts: composition.sequence([begin, *parts, close]),
                [(*content, _Following(tokens=(reference,)))],
            )
        words = [end] if isinstance(end, str) else end
        if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
            self.diagnostics.invalid(f"{pointer}/end", "`end` is a string, a list of strings or a token")
            words = [""]
        words = list(dict.fromkeys(words))
        if "" in words:
            # Nothing ends the text then, as at the end of the output.
            closes = composition.choice([composition.literal(word) for word in words])
            return _Frame(lambda parts: composition.sequence([begin, *parts, closes]), [(*content, _NOTHING)])
        # One content for each end, because text before an end may depend on which end it is.
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
                (*content, _Following(words=(word, *(other for other in words if other != word))))
                for word in words
            ],
        )

    def _tags(self, node: Mapping[str, Any], pointer: str) -> list[tuple[Mapping[str, Any], str]]:
        tags = []
        for index, tag in enumerate(self._formats(node, "tags", pointer)):
            place = f"{pointer}/tags/{index}"
            if isinstance(tag, Mapping) and tag.get("type", "tag") == "tag":
                tags.append((tag, place))
            else:
                self.diagnostics.invalid(place, "this is a tag, `{'type': 'tag', ...}`")
        return tags

    def format_tags_with_separator(
        self, node: Mapping[str, Any], pointer: str, _following: _Following
    ) -> _Frame:
        separator = composition.literal(self._text(node, "separator", pointer))
        required = self._flag(node, "at_least_one", pointer)
        once = self._flag(node, "stop_after_first", pointer)

        def finish(parts: list[Part]) -> Part:
            tag = composition.choice(parts or [_EMPTY])
            more = composition.repeat(composition.sequence([separator, tag]), 0, None)
            tags = tag if once else composition.sequence([tag, more])
            return tags if required else composition.choice([_EMPTY, tags])

        return _Frame(
            finish, [({"type": "tag", **tag}, place, _NOTHING) for tag, place in self._tags(node, pointer)]
        )

    def format_triggered_tags(self, node: Mapping[str, Any], pointer: str, following: _Following) -> _Frame:
        triggers = self._words(node, "triggers", pointer)
        if not triggers:
            self.diagnostics.invalid(f"{pointer}/triggers", "there is at least one trigger")
        text = _FreeText(following.words, tuple(triggers), tuple(self._words(node, "excludes", pointer)))
        required = self._flag(node, "at_least_one", pointer)
        once = self._flag(node, "stop_after_first", pointer)
        tags = self._tags(node, pointer)
        found: list[str] = []
        for tag, place in tags:
            begin = self._text(tag, "begin", place)
            matching = [trigger for trigger in triggers if begin.startswith(trigger)]
            if len(matching) != 1 and triggers:
                count = "several triggers" if matching else "no trigger"
                self.diagnostics.invalid(
                    f"{place}/begin", f"{begin!r} begins with {count}, and not with exactly one"
                )
            found.append(matching[0] if matching else "")
        inner: list[tuple[Any, str, _Following]] = [
            ({"type": "tag", **tag, "begin": str(tag.get("begin"))[len(trigger) :]}, place, _NOTHING)
            for (tag, place), trigger in zip(tags, found, strict=True)
        ]

        def finish(parts: list[Part]) -> Part:
            after: dict[str, list[Part]] = {}
            for part, trigger in zip(parts, found, strict=True):
                if trigger:
                    after.setdefault(trigger, []).append(part)
            whole = [
                composition.sequence([composition.literal(trigger), composition.choice(rests)])
                for trigger, rests in after.items()
            ]
            return _dispatched(after, whole, text, is_required=required, is_once=once)

        return _Frame(finish, inner)

    def format_dispatch(self, node: Mapping[str, Any], pointer: str, _following: _Following) -> _Frame:
        rules = self._formats(node, "rules", pointer)
        patterns: list[str] = []
        inner: list[tuple[Any, str, _Following]] = []
        for index, rule in enumerate(rules):
            place = f"{pointer}/rules/{index}"
            if isinstance(rule, list | tuple) and len(rule) == 2 and isinstance(rule[0], str) and rule[0]:
                patterns.append(rule[0])
                inner.append((rule[1], f"{place}/1", _NOTHING))
            else:
                self.diagnostics.invalid(place, "a rule is a pair of a string that is not empty and a format")
        text = _FreeText((), tuple(patterns), tuple(self._words(node, "excludes", pointer)))
        once = not self._flag({"loop": True, **node}, "loop", pointer)

        def finish(parts: list[Part]) -> Part:
            after: dict[str, list[Part]] = {}
            for part, pattern in zip(parts, patterns, strict=True):
                after.setdefault(pattern, []).append(part)
            return _dispatched(after, [], text, is_required=False, is_once=once)

        return _Frame(finish, inner)

    # Tokens -----------------------------------------------------------------------------------------------------

    def format_token(self, node: Mapping[str, Any], pointer: str, _following: _Following) -> _Frame:
        return _leaf(composition.token(self._token(node.get("token"), f"{pointer}/token")))

    def format_exclude_token(self, node: Mapping[str, Any], pointer: str, following: _Following) -> _Frame:
        excluded = [*self._tokens(node, "exclude_tokens", pointer), *following.tokens]
        return _leaf(composition.tokens(excluded, others=True))

    def format_any_tokens(self, node: Mapping[str, Any], pointer: str, following: _Following) -> _Frame:
        excluded = [*self._tokens(node, "exclude_tokens", pointer), *following.tokens]
        most = self._bound(node, "max_tokens", pointer)
        return _leaf(composition.repeat(composition.tokens(excluded, others=True), 0, most))

    def format_token_triggered_tags(
        self, node: Mapping[str, Any], pointer: str, following: _Following
    ) -> _Frame:
        triggers = self._tokens(node, "trigger_tokens", pointer)
        tags = self._tags(node, pointer)
        for tag, place in tags:
            begin = tag.get("begin")
            token = begin.get("token") if isinstance(begin, Mapping) else None
            if token is None or token not in triggers:
                self.diagnostics.invalid(f"{place}/begin", "the tag begins with one of the trigger tokens")
        required = self._flag(node, "at_least_one", pointer)
        once = self._flag(node, "stop_after_first", pointer)
        excluded = [*triggers, *self._tokens(node, "exclude_tokens", pointer), *following.tokens]
        return _Frame(
            lambda parts: _token_dispatched(parts, excluded, is_required=required, is_once=once),
            [({"type": "tag", **tag}, place, _NOTHING) for tag, place in tags],
        )

    def format_token_dispatch(self, node: Mapping[str, Any], pointer: str, _following: _Following) -> _Frame:
        patterns: list[int | str] = []
        inner: list[tuple[Any, str, _Following]] = []
        for index, rule in enumerate(self._formats(node, "rules", pointer)):
            place = f"{pointer}/rules/{index}"
            if isinstance(rule, list | tuple) and len(rule) == 2:
                patterns.append(self._token(rule[0], f"{place}/0"))
                inner.append((rule[1], f"{place}/1", _NOTHING))
            else:
                self.diagnostics.invalid(place, "a rule is a pair of a token and a format")
        once = not self._flag({"loop": True, **node}, "loop", pointer)
        excluded = [*patterns, *self._tokens(node, "exclude_tokens", pointer)]

        def finish(parts: list[Part]) -> Part:
            rules = [
                composition.sequence([composition.token(pattern), part])
                for pattern, part in zip(patterns, parts, strict=True)
            ]
            return _token_dispatched(rules, excluded, is_required=False, is_once=once)

        return _Frame(finish, inner)


@dataclass(frozen=True)
class _FreeText:
    """Text between dispatched parts."""

    following: tuple[str, ...]
    triggers: tuple[str, ...]
    excludes: tuple[str, ...]

    def before(self, trigger: str) -> Part:
        stops = (*self.triggers, *self.following)
        return composition.free_text(before=trigger, stops=stops, without=self.excludes)

    def last(self) -> Part:
        stops = (*self.following, *self.triggers)
        before = self.following[0] if self.following else None
        return composition.free_text(before=before, stops=stops, without=self.excludes)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31


def _leaf(part: Part) -> _Frame:
    return _Frame(lambda _: part, [])


def _dispatched(
    after: Mapping[str, list[Part]],
    whole: list[Part],
    text: _FreeText,
    *,
    is_required: bool,
    is_once: bool,
) -> Part:
    """Text up to a trigger and what is behind it, again and again or once; ``whole`` are the first ones if required."""
    if not after:
        return text.last()
    later = composition.choice(
        composition.sequence([text.before(trigger), composition.literal(trigger), composition.choice(rests)])
        for trigger, rests in after.items()
    )
    if is_required:
        first = composition.choice(whole)
        return (
            first
            if is_once
            else composition.sequence([first, composition.repeat(later, 0, None), text.last()])
        )
    if is_once:
        return composition.choice([later, text.last()])
    return composition.sequence([composition.repeat(later, 0, None), text.last()])


def _token_dispatched(
    rules: list[Part], excluded: list[int | str], *, is_required: bool, is_once: bool
) -> Part:
    free = composition.repeat(composition.tokens(excluded, others=True), 0, None)
    if not rules:
        return free
    first = composition.choice(rules)
    later = composition.sequence([free, first])
    if is_required:
        return first if is_once else composition.sequence([first, composition.repeat(later, 0, None), free])
    if is_once:
        return composition.choice([later, free])
    return composition.sequence([composition.repeat(later, 0, None), free])


_WITH_ENDS_OF_THEIR_OWN = frozenset(
    {
        "const_string", "dispatch", "grammar", "json_schema", "qwen_xml_parameter", "regex", "tag",
        "tags_with_separator", "token", "token_dispatch",
    }
)  # fmt: skip
"""Formats whose texts do not depend on what follows."""

_LEGACY_FIELDS = {"at_least_one", "structures", "tags", "triggers", "type"}
_FIELDS: dict[str, tuple[str, ...]] = {
    "any_text": ("excludes", "max_tokens", "max_chars"),
    "any_tokens": ("exclude_tokens", "max_tokens"),
    "const_string": ("value",),
    "dispatch": ("rules", "loop", "excludes"),
    "exclude_token": ("exclude_tokens",),
    "grammar": ("grammar",),
    "json_schema": ("json_schema", "style", "any_order", "max_whitespace_cnt", "excludes"),
    "optional": ("content",),
    "or": ("elements",),
    "plus": ("content",),
    "qwen_xml_parameter": ("json_schema",),
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
"""The fields of each format besides its type."""
