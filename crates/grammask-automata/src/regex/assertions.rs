//! Languages of patterns with assertions.
//!
//! A pattern is translated from right to left. At each position the *continuations* are known: for each left context the
//! texts that may follow. An assertion restricts these, depending on the context; a part without assertions is prepended
//! to the continuations after it, split by its last byte or character where they differ.
//!
//! For an unbounded repetition whose body has assertions, the texts from one *boundary* to another are computed, that is, from
//! one pair of contexts, before and after a position, to another; the repetition is the star of this matrix, by
//! Kleene's elimination ("Representation of events in nerve nets and finite automata", 1956).

use std::ptr;
use std::slice;

use regex_syntax::hir::{Hir, HirKind, Look, Repetition};
use rustc_hash::FxHashMap;

use super::neighbours::{NeighbourSet, Neighbours};
use super::translate::HirTranslator;
use crate::{ByteSet, TermId, Terms};
use grammask_diagnostics::Limits;

/// Number of parts and copies of parts above which a pattern is refused: each makes some terms.
const MAX_STEPS: u32 = 1 << 14;

/// The byte strings that `hir` matches as a whole; `None` if it needs too much work or memory.
pub(super) fn matching(terms: &mut Terms, hir: &Hir, limits: &Limits) -> Option<TermId> {
    if !has_assertions(hir) {
        return Some(HirTranslator::new(terms).translate(hir));
    }
    let mut translator = AssertionTranslator::new(terms, hir, limits);
    let end = translator.neighbours.edge();
    let after = translator.at_boundaries(|_, after| after == end);
    let before = translator.prepend(hir, after)?;
    Some(before[end].all)
}

/// The byte strings that contain a match of `hir`; `None` if it needs too much work or memory.
pub(super) fn containing(terms: &mut Terms, hir: &Hir, limits: &Limits) -> Option<TermId> {
    let mut translator = AssertionTranslator::new(terms, hir, limits);
    let anything = translator.translator.terms.anything();
    let by_next = translator.neighbours.groups.iter().map(|group| group.starting).collect();
    let any_end = FollowingTexts { all: anything, by_next };
    let start = translator.neighbours.edge();
    let after = vec![any_end; translator.neighbours.groups.len()];
    let match_start = translator.prepend(hir, after)?;
    // Inside of a character no Unicode word boundary holds, and only empty matches could begin there.
    let term = if hir.properties().look_set().contains_word_unicode() {
        translator.translator.terms.text()
    } else {
        anything
    };
    let text_before = PlainPart { term, firsts: NeighbourSet::ALL, lasts: NeighbourSet::ALL };
    Some(translator.prepend_plain(text_before, &match_start)[start].all)
}

/// The texts that may follow a position, for one group of neighbours before it.
#[derive(Clone)]
struct FollowingTexts {
    all: TermId,
    /// Those that begin with a member of each group.
    by_next: Vec<TermId>,
}

/// The continuations for each group of neighbours before a position.
type Continuations = Vec<FollowingTexts>;

/// A part of a pattern without assertions.
struct PlainPart {
    term: TermId,
    /// What its nonempty texts begin and end with.
    firsts: NeighbourSet,
    lasts: NeighbourSet,
}

struct AssertionTranslator<'t> {
    translator: HirTranslator<'t>,
    neighbours: Neighbours,
    /// The stars of the bodies of repetitions, by the address of the body.
    stars: FxHashMap<*const Hir, Vec<Vec<TermId>>>,
    steps_left: u32,
    max_bytes: usize,
}

impl<'t> AssertionTranslator<'t> {
    fn new(terms: &'t mut Terms, hir: &Hir, limits: &Limits) -> Self {
        let neighbours = Neighbours::new(terms, hir.properties().look_set());
        let max_bytes = terms.memory_bytes() + limits.memory_bytes / 32;
        let translator = HirTranslator::new(terms);
        Self { translator, neighbours, stars: FxHashMap::default(), steps_left: MAX_STEPS, max_bytes }
    }

    /// The empty text at the boundaries where `holds`.
    fn at_boundaries(&self, holds: impl Fn(usize, usize) -> bool) -> Continuations {
        let terms = &self.translator.terms;
        let groups = self.neighbours.groups.len();
        let mut continuations = Vec::with_capacity(groups);
        for before in 0..groups {
            let held: Vec<bool> = (0..groups).map(|after| holds(before, after)).collect();
            let text = |holds: bool| if holds { terms.epsilon() } else { terms.nothing() };
            let by_next = held.iter().map(|&holds| text(holds)).collect();
            continuations.push(FollowingTexts { all: text(held.contains(&true)), by_next });
        }
        continuations
    }

    /// The continuations before a match of `hir`. The nesting limit of patterns bounds the recursion.
    fn prepend(&mut self, hir: &Hir, after: Continuations) -> Option<Continuations> {
        self.prepend_sequence(slice::from_ref(hir), after)
    }

    fn prepend_sequence(&mut self, sequence: &[Hir], mut after: Continuations) -> Option<Continuations> {
        let mut rest = sequence;
        while let Some((last, others)) = rest.split_last() {
            self.steps_left = self.steps_left.checked_sub(1)?;
            if self.translator.terms.memory_bytes() > self.max_bytes {
                return None;
            }
            if has_assertions(last) {
                after = self.prepend_asserting(last, after)?;
                rest = others;
                continue;
            }
            let plain = rest.iter().rev().take_while(|part| !has_assertions(part)).count();
            let (others, plain) = rest.split_at(rest.len() - plain);
            let parts: Vec<TermId> = plain.iter().map(|part| self.translator.translate(part)).collect();
            let term = self.translator.terms.concat(&parts);
            let (firsts, lasts) = (self.neighbours.firsts(plain), self.neighbours.lasts(plain));
            after = self.prepend_plain(PlainPart { term, firsts, lasts }, &after);
            rest = others;
        }
        Some(after)
    }

    fn prepend_asserting(&mut self, hir: &Hir, after: Continuations) -> Option<Continuations> {
        match hir.kind() {
            HirKind::Look(look) => Some(self.restrict(*look, after)),
            HirKind::Capture(capture) => self.prepend(&capture.sub, after),
            HirKind::Concat(parts) => self.prepend_sequence(parts, after),
            HirKind::Alternation(branches) => {
                let mut union = self.at_boundaries(|_, _| false);
                for branch in branches {
                    let before = self.prepend(branch, after.clone())?;
                    union = self.unite(&union, &before);
                }
                Some(union)
            }
            HirKind::Repetition(repetition) => self.prepend_repetition(repetition, after),
            HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) => {
                unreachable!("these have no assertions")
            }
        }
    }

    fn restrict(&mut self, look: Look, mut after: Continuations) -> Continuations {
        for (before, continuation) in after.iter_mut().enumerate() {
            let nothing = self.translator.terms.nothing();
            let mut holds_always = true;
            for (next, texts) in continuation.by_next.iter_mut().enumerate() {
                if !self.neighbours.holds(look, before, next) {
                    holds_always = false;
                    *texts = nothing;
                }
            }
            if !holds_always {
                continuation.all = self.translator.terms.union(&continuation.by_next);
            }
        }
        after
    }

    fn unite(&mut self, one: &Continuations, other: &Continuations) -> Continuations {
        let terms = &mut *self.translator.terms;
        let mut union = Vec::with_capacity(one.len());
        for (one, other) in one.iter().zip(other) {
            let pairs = one.by_next.iter().zip(&other.by_next);
            let by_next = pairs.map(|(&one, &other)| terms.union(&[one, other])).collect();
            union.push(FollowingTexts { all: terms.union(&[one.all, other.all]), by_next });
        }
        union
    }

    fn prepend_plain(&mut self, part: PlainPart, after: &Continuations) -> Continuations {
        let terms = &mut *self.translator.terms;
        let groups = &self.neighbours.groups;
        let is_nullable = terms.is_nullable(part.term);
        // Groups with equal continuations are not told apart.
        let mut targets: Vec<(TermId, Vec<usize>)> = Vec::new();
        for (group, continuation) in after.iter().enumerate() {
            match targets.iter_mut().find(|(texts, _)| *texts == continuation.all) {
                Some((_, same)) => same.push(group),
                None => targets.push((continuation.all, vec![group])),
            }
        }
        let nonempty = if is_nullable {
            let any_byte = terms.bytes(ByteSet::ALL);
            let any = terms.repeat(any_byte, 1, None);
            terms.intersection(&[part.term, any])
        } else {
            part.term
        };
        let mut paths = Vec::with_capacity(targets.len());
        for (texts, same) in &targets {
            let members =
                same.iter().fold(NeighbourSet::EMPTY, |set, &group| set.union(groups[group].members));
            let ending = if members.includes(part.lasts) {
                nonempty
            } else {
                let endings: Vec<TermId> = same.iter().map(|&group| groups[group].ending).collect();
                let ending = terms.union(&endings);
                terms.intersection(&[nonempty, ending])
            };
            if members.intersects(part.lasts) {
                paths.push(terms.concat(&[ending, *texts]));
            }
        }
        let through = terms.union(&paths);
        let by_next: Vec<TermId> = groups
            .iter()
            .map(|group| match group.members {
                members if members.includes(part.firsts) => through,
                members if members.intersects(part.firsts) => terms.intersection(&[through, group.starting]),
                _ => terms.nothing(),
            })
            .collect();
        after
            .iter()
            .map(|continuation| {
                if !is_nullable {
                    return FollowingTexts { all: through, by_next: by_next.clone() };
                }
                // With one continuation after the part, its language need not be split into the empty text and others.
                let all = if targets.len() == 1 {
                    terms.concat(&[part.term, continuation.all])
                } else {
                    terms.union(&[through, continuation.all])
                };
                let pairs = by_next.iter().zip(&continuation.by_next);
                FollowingTexts {
                    all,
                    by_next: pairs.map(|(&one, &other)| terms.union(&[one, other])).collect(),
                }
            })
            .collect()
    }

    fn prepend_repetition(&mut self, repetition: &Repetition, after: Continuations) -> Option<Continuations> {
        let mut before = after;
        match repetition.max {
            None => before = self.prepend_star(&repetition.sub, &before)?,
            Some(max) => {
                let end = before.clone();
                for _ in repetition.min..max {
                    let longer = self.prepend(&repetition.sub, before)?;
                    before = self.unite(&end, &longer);
                }
            }
        }
        for _ in 0..repetition.min {
            before = self.prepend(&repetition.sub, before)?;
        }
        Some(before)
    }

    fn prepend_star(&mut self, body: &Hir, after: &Continuations) -> Option<Continuations> {
        let groups = self.neighbours.groups.len();
        let star = match self.stars.get(&ptr::from_ref(body)) {
            Some(known) => known.clone(),
            None => self.star(body)?,
        };
        let terms = &mut *self.translator.terms;
        let ends: Vec<TermId> = after.iter().flat_map(|continuation| continuation.by_next.clone()).collect();
        let mut before = Vec::with_capacity(groups);
        for rows in star.chunks(groups) {
            let mut by_next = Vec::with_capacity(groups);
            for row in rows {
                let parts: Vec<TermId> =
                    row.iter().zip(&ends).map(|(&path, &end)| terms.concat(&[path, end])).collect();
                by_next.push(terms.union(&parts));
            }
            before.push(FollowingTexts { all: terms.union(&by_next), by_next });
        }
        self.stars.insert(ptr::from_ref(body), star);
        Some(before)
    }

    /// The texts of any number of copies of `body` from each boundary to each. Boundaries are admitted between copies
    /// one after the other.
    fn star(&mut self, body: &Hir) -> Option<Vec<Vec<TermId>>> {
        let groups = self.neighbours.groups.len();
        let size = groups * groups;
        let mut paths = vec![Vec::with_capacity(size); size];
        for end in 0..size {
            let after = self.at_boundaries(|before, next| before * groups + next == end);
            let column = self.prepend(body, after)?;
            let cells = column.into_iter().flat_map(|continuation| continuation.by_next);
            paths.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell));
        }
        let terms = &mut *self.translator.terms;
        for through in 0..size {
            let around = terms.repeat(paths[through][through], 0, None);
            let detours = paths[through].clone();
            for row in &mut paths {
                let into = row[through];
                for (cell, &out) in row.iter_mut().zip(&detours) {
                    let detour = terms.concat(&[into, around, out]);
                    *cell = terms.union(&[*cell, detour]);
                }
            }
        }
        for (boundary, row) in paths.iter_mut().enumerate() {
            row[boundary] = terms.union(&[row[boundary], terms.epsilon()]);
        }
        Some(paths)
    }
}

fn has_assertions(hir: &Hir) -> bool {
    !hir.properties().look_set().is_empty()
}
