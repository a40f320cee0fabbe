//! How many characters the texts of a term have, where its parts say so, so that bounds of length become counts.
//!
//! `^[a-z]+$` with at most 100,000 characters is `[a-z]{1,100000}`, a term with a handful of states, where the
//! intersection of two repetitions would have one for each count. The parts of a term are written down when the
//! pattern is translated; a term that is not known here is intersected.

use rustc_hash::FxHashMap;

use crate::strings::string_encoding::Spelling;
use grammask_automata::{TermId, Terms};

/// The fewest and the most characters; no most is any number.
pub(crate) type LengthRange = (u32, Option<u32>);

/// A part of a text, between other parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Its language.
    pub(crate) term: TermId,
    /// How many characters it has, at least and at most.
    pub(crate) length: LengthRange,
    /// What it repeats, if it repeats texts of one length.
    pub(crate) unit: Option<Unit>,
}

/// What a piece repeats: texts of `length` characters, which is not zero, `counts` times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) term: TermId,
    pub(crate) length: u32,
    pub(crate) counts: LengthRange,
}

/// The pieces of the terms whose texts are the concatenations of some.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownPieces {
    pieces: FxHashMap<TermId, Vec<Piece>>,
}

impl KnownPieces {
    /// Remembers what `term` is made of.
    pub(crate) fn insert(&mut self, term: TermId, pieces: Vec<Piece>) {
        self.pieces.insert(term, pieces);
    }
}

/// The sum of two lengths; none if it does not fit.
pub(crate) fn add_lengths(one: LengthRange, other: LengthRange) -> Option<LengthRange> {
    let most = match (one.1, other.1) {
        (Some(one), Some(other)) => Some(one.checked_add(other)?),
        _ => None,
    };
    Some((one.0.checked_add(other.0)?, most))
}

/// The texts of `term` with `min` to `max` characters.
pub(crate) fn bounded(
    terms: &mut Terms,
    spelling: &mut Spelling,
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
    let length = spelling.length(terms, min, max);
    if term == spelling.texts(terms) {
        return length;
    }
    let pieces = spelling.pieces.pieces.get(&term).cloned().unwrap_or_default();
    if pieces.is_empty() {
        return terms.intersection(&[term, length]);
    }
    let total = pieces.iter().try_fold((0, Some(0)), |sum, piece| add_lengths(sum, piece.length));
    let Some((fewest, most)) = total else { return terms.intersection(&[term, length]) };
    let is_below = |most: Option<u32>, max: Option<u32>| match (most, max) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(most), Some(max)) => most <= max,
    };
    if most.is_some_and(|most| most < min) || max.is_some_and(|max| max < fewest) {
        return terms.nothing();
    }
    if fewest >= min && is_below(most, max) {
        return term;
    }
    let is_fixed = |piece: &&Piece| piece.length.1 == Some(piece.length.0);
    let fixed: u32 = pieces.iter().filter(is_fixed).map(|piece| piece.length.0).sum();
    let variable: Vec<&Piece> = pieces.iter().filter(|piece| !is_fixed(piece)).collect();
    let &[&Piece { unit: Some(unit), .. }] = &variable[..] else {
        return terms.intersection(&[term, length]);
    };
    let fewest = min.saturating_sub(fixed).div_ceil(unit.length).max(unit.counts.0);
    // The fixed pieces alone are not too long, or everything would be.
    let most = max.map(|max| max.saturating_sub(fixed) / unit.length);
    let most = match (most, unit.counts.1) {
        (Some(most), Some(other)) => Some(most.min(other)),
        (most, other) => most.or(other),
    };
    let repeat = terms.repeat(unit.term, fewest, most);
    let parts: Vec<TermId> =
        pieces.iter().map(|piece| if is_fixed(&piece) { piece.term } else { repeat }).collect();
    terms.concat(&parts)
}
