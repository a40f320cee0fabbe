//! Lengths of texts, and the order by which the shortest text is chosen.

use grammask_engine::CompletionStep;
use grammask_vocabulary::TokenId;

/// A number of steps; infinite where no text can be spelled. Lengths of 2^32 - 1 steps or more, which no budget
/// admits, are infinite too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Length(u32);

impl Length {
    pub(super) const ZERO: Self = Self(0);
    pub(super) const INFINITE: Self = Self(u32::MAX);

    pub(super) fn new(steps: u64) -> Self {
        Self(u32::try_from(steps).unwrap_or(u32::MAX))
    }

    /// The number of steps, unless infinite.
    pub(super) fn finite(self) -> Option<u32> {
        (self != Self::INFINITE).then_some(self.0)
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The length of `copies` texts.
    pub(super) fn times(self, copies: u32) -> Self {
        if copies == 0 { Self::ZERO } else { Self(self.0.saturating_mul(copies)) }
    }
}

/// The first step of a text. Bytes come before tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct FirstStep(u32);

/// Number of bytes; tokens follow them in the order of first steps.
const BYTES: u32 = 256;

impl FirstStep {
    pub(super) fn byte(byte: u8) -> Self {
        Self(u32::from(byte))
    }

    pub(super) fn token(token: TokenId) -> Self {
        // Ids are below `Vocabulary::MAX_SIZE`.
        Self(token.0.saturating_add(BYTES))
    }

    pub(super) fn step(self) -> CompletionStep {
        match u8::try_from(self.0) {
            Ok(byte) => CompletionStep::Byte(byte),
            Err(_) => CompletionStep::Token(TokenId(self.0 - BYTES)),
        }
    }
}

/// The length of the shortest texts of a symbol, or from an item on, with the smallest of their first steps: the
/// minimum in the lexicographic order of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Shortest {
    pub(super) length: Length,
    pub(super) first: FirstStep,
}

impl Shortest {
    /// The empty text, which has no first step.
    pub(super) const EMPTY: Self = Self { length: Length::ZERO, first: FirstStep(u32::MAX) };
    /// There is no text.
    pub(super) const NONE: Self = Self { length: Length::INFINITE, first: FirstStep(u32::MAX) };

    /// This text, followed by another.
    pub(super) fn then(self, rest: Length) -> Self {
        match self.length.plus(rest) {
            Length::INFINITE => Self::NONE,
            length => Self { length, first: self.first },
        }
    }

    /// `copies` texts, at least one.
    pub(super) fn times(self, copies: u32) -> Self {
        self.then(self.length.times(copies.saturating_sub(1)))
    }
}
