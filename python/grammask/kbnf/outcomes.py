"""Results and exceptions of accepting tokens and masking logits.

kbnf declares its errors as enumerations, but raises ``ValueError`` itself. Here each member of those enumerations is an
exception class, so that ``except ValueError``, ``except AcceptTokenError`` and ``except AcceptTokenError.Rejected``
all work.
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar


class AcceptTokenResult(IntEnum):
    """The state of the text after an accepted token."""

    Ongoing = 0
    """The text continues."""
    Finished = 1
    """The text has ended."""

    def __repr__(self) -> str:
        return f"AcceptTokenResult.{self.name}"

    __str__ = __repr__


class AcceptTokenError(ValueError):
    """A token or bytes were not accepted; the engine is unchanged."""

    UnknownTokenID: ClassVar[type[ValueError]]
    Rejected: ClassVar[type[ValueError]]
    Finished: ClassVar[type[ValueError]]


class MaskLogitsError(ValueError):
    """Logits were not masked; they are unchanged."""

    InvalidLogitsLength: ClassVar[type[ValueError]]


class UpdateLogitsError(ValueError):
    """A token was not accepted or logits not masked; the engine and the logits are unchanged."""

    UnknownTokenID: ClassVar[type[ValueError]]
    Rejected: ClassVar[type[ValueError]]
    Finished: ClassVar[type[ValueError]]
    InvalidLogitsLength: ClassVar[type[ValueError]]


class UnknownTokenID(AcceptTokenError, UpdateLogitsError):
    """The vocabulary has no such token."""


class Rejected(AcceptTokenError, UpdateLogitsError):
    """The grammar refuses the token."""


class Finished(AcceptTokenError, UpdateLogitsError):
    """The text has ended, so no token is legal."""


class InvalidLogitsLength(MaskLogitsError, UpdateLogitsError):
    """There are fewer logits than the vocabulary has ids."""


AcceptTokenError.UnknownTokenID = UpdateLogitsError.UnknownTokenID = UnknownTokenID
AcceptTokenError.Rejected = UpdateLogitsError.Rejected = Rejected
AcceptTokenError.Finished = UpdateLogitsError.Finished = Finished
MaskLogitsError.InvalidLogitsLength = UpdateLogitsError.InvalidLogitsLength = InvalidLogitsLength
