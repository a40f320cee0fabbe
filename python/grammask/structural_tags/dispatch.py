"""Free text with triggered parts in it, by words or by tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grammask import composition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grammask.composition import Part

__all__ = ["FreeText", "dispatched", "token_dispatched"]

_EMPTY = composition.literal("")


@dataclass(frozen=True)
class FreeText:
    """The free text around triggered parts.

    Attributes:
        delimiters: The texts that end all of it.
        triggers: The texts that begin a triggered part.
        excludes: The texts that may not occur, also not together with the trigger that follows.
    """

    delimiters: tuple[str, ...]
    triggers: tuple[str, ...]
    excludes: tuple[str, ...]

    def before(self, trigger: str) -> Part:
        """Returns the text up to a trigger."""
        stops = (*self.triggers, *self.delimiters, *self.excludes)
        return composition.free_text(before=trigger, stops=stops)

    def last(self) -> Part:
        """Returns the text after all triggered parts."""
        stops = (*self.delimiters, *self.triggers)
        before = self.delimiters[0] if self.delimiters else None
        return composition.free_text(before=before, stops=stops, without=self.excludes)


def dispatched(
    by_trigger: Mapping[str, list[Part]],
    text: FreeText,
    *,
    is_required: bool,
    is_once: bool,
) -> Part:
    """Returns free text with triggered parts in it.

    Args:
        by_trigger: The alternatives after each trigger.
        text: The free text.
        is_required: Whether the output begins with a trigger.
        is_once: Whether there is at most one triggered part.
    """
    if not by_trigger:
        return text.last()
    later = [
        composition.sequence([text.before(trigger), composition.literal(trigger), composition.choice(rests)])
        for trigger, rests in by_trigger.items()
        if not any(word in trigger for word in text.excludes)
    ]
    others = composition.repeat(composition.choice(later), 0, None) if later else _EMPTY
    if is_required:
        first = composition.choice(
            composition.sequence([composition.literal(trigger), composition.choice(rests)])
            for trigger, rests in by_trigger.items()
        )
        return first if is_once else composition.sequence([first, others, text.last()])
    if is_once:
        return composition.choice([*later, text.last()])
    return composition.sequence([others, text.last()])


def token_dispatched(
    rules: list[Part], excluded: list[int | str], *, is_required: bool, is_once: bool
) -> Part:
    """Returns tokens with triggered parts among them.

    Args:
        rules: The triggered parts, which begin with their triggers.
        excluded: The tokens that do not occur among the free ones.
        is_required: Whether the output begins with a trigger.
        is_once: Whether there is at most one triggered part.
    """
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
