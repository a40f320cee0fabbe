//! Length ranges of the parts of a term, by which a bound on the length becomes a bound on a repetition.
//!
//! `^[a-z]+$` with `maxLength` 100,000 is `[a-z]{1,100000}`, a term with a handful of states, whereas the intersection
//! of two repetitions has a state for each count. The parts of a term are recorded when its pattern is translated; a
//! term without recorded parts is intersected.

use rustc_hash::FxHashMap;

use crate::strings::string_encoding::StringEncoding;
use grammask_automata::{TermId, Terms};

/// An inclusive range of lengths, or of counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LengthRange {
    pub(crate) min: u32,
    /// `None` if unbounded.
    pub(crate) max: Option<u32>,
}

impl LengthRange {
    /// The range of one length.
    pub(crate) fn exactly(length: u32) -> Self {
        Self { min: length, max: Some(length) }
    }

    /// Whether the range has one length.
    pub(crate) fn is_exact(self) -> bool {
        self.max == Some(self.min)
    }

    /// The range of the sums, or `None` on overflow.
    pub(crate) fn checked_add(self, other: Self) -> Option<Self> {
        let max = match (self.max, other.max) {
            (Some(one), Some(other)) => Some(one.checked_add(other)?),
            _ => None,
        };
        Some(Self { min: self.min.checked_add(other.min)?, max })
    }

    /// The smallest range that contains both.
    pub(crate) fn union(self, other: Self) -> Self {
        let max = self.max.zip(other.max).map(|(one, other)| one.max(other));
        Self { min: self.min.min(other.min), max }
    }
}

/// A factor of a concatenation, with its length range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SizedPiece {
    pub(crate) term: TermId,
    /// The number of characters of its texts.
    pub(crate) length: LengthRange,
    /// The repeated unit, if the piece repeats texts of one length.
    pub(crate) unit: Option<RepeatedUnit>,
}

/// The body of a repetition: texts of `length` characters, at least one, repeated `counts` times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RepeatedUnit {
    pub(crate) term: TermId,
    pub(crate) length: u32,
    pub(crate) counts: LengthRange,
}

/// The recorded pieces of terms that are concatenations.
#[derive(Clone, Debug, Default)]
pub(crate) struct PieceTable {
    pieces: FxHashMap<TermId, Vec<SizedPiece>>,
}

impl PieceTable {
    /// Records that `term` is the concatenation of `pieces`.
    pub(crate) fn insert(&mut self, term: TermId, pieces: Vec<SizedPiece>) {
        self.pieces.insert(term, pieces);
    }
}

/// The texts of `term` with `min` to `max` characters.
pub(crate) fn bounded(
    terms: &mut Terms,
    encoding: &mut StringEncoding,
    term: TermId,
    min: u32,
    max: Option<u32>,
) -> TermId {
    if max.is_some_and(|max| min > max) {
        return terms.nothing();
    }
    if (min, max) == (0, None) {
        return term;
    }
    let length = encoding.length(terms, min, max);
    if term == encoding.texts(terms) {
        return length;
    }
    let pieces = encoding.pieces.pieces.get(&term).cloned().unwrap_or_default();
    if pieces.is_empty() {
        return terms.intersection(&[term, length]);
    }
    let total = pieces.iter().try_fold(LengthRange::exactly(0), |sum, piece| sum.checked_add(piece.length));
    let Some(LengthRange { min: shortest, max: longest }) = total else {
        return terms.intersection(&[term, length]);
    };
    if longest.is_some_and(|longest| longest < min) || max.is_some_and(|max| max < shortest) {
        return terms.nothing();
    }
    let is_within_max = max.is_none_or(|max| longest.is_some_and(|longest| longest <= max));
    if shortest >= min && is_within_max {
        return term;
    }
    let is_fixed = |piece: &&SizedPiece| piece.length.is_exact();
    let fixed: u32 = pieces.iter().filter(is_fixed).map(|piece| piece.length.min).sum();
    let variable: Vec<&SizedPiece> = pieces.iter().filter(|piece| !is_fixed(piece)).collect();
    let &[&SizedPiece { unit: Some(unit), .. }] = &variable[..] else {
        return terms.intersection(&[term, length]);
    };
    let min_count = min.saturating_sub(fixed).div_ceil(unit.length).max(unit.counts.min);
    // `fixed <= max`, because `shortest <= max` was checked above.
    let max_count = max.map(|max| max.saturating_sub(fixed) / unit.length);
    let max_count = match (max_count, unit.counts.max) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    let repeat = terms.repeat(unit.term, min_count, max_count);
    let parts: Vec<TermId> =
        pieces.iter().map(|piece| if is_fixed(&piece) { piece.term } else { repeat }).collect();
    terms.concat(&parts)
}
