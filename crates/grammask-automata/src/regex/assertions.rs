//! Languages of patterns with assertions: by decomposition if all assertions are at the ends of alternatives, by
//! determinisation otherwise.
//!
//! `^a|b$` is decomposed into alternatives with assertions at their ends only. There an assertion is a condition on the
//! bytes next to the match: none, or a line break. A pattern without such a decomposition (`a(?-u:\b).*`) is
//! determinised by `regex-automata`, which implements assertions, and becomes a table.

use std::collections::VecDeque;

use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use regex_automata::{Anchored, MatchKind};
use regex_syntax::hir::{Hir, HirKind, Look};
use rustc_hash::FxHashMap;

use super::translate::HirTranslator;
use crate::{ByteSet, TableBuilder, TermId, Terms};
use grammask_diagnostics::Limits;

/// Number of alternatives above which a pattern is determinised instead.
const MAX_ALTERNATIVES: usize = 64;

/// The memory limit is divided by this number to get the limit of one determinised pattern.
const MEMORY_DIVISOR: usize = 32;

/// The byte strings that `hir` matches as a whole; `None` if the memory limit is exceeded.
pub(super) fn matching(terms: &mut Terms, hir: &Hir, limits: &Limits) -> Option<TermId> {
    let Some(alternatives) = PatternAlternative::all_of(hir) else {
        return determinize(terms, hir, Anchored::Yes, limits);
    };
    // A match of the whole string begins and ends at its bounds, so assertions at the ends of alternatives hold.
    let mut translator = HirTranslator::new(terms);
    let parts: Vec<TermId> =
        alternatives.iter().map(|alternative| alternative.translate(&mut translator)).collect();
    Some(terms.union(&parts))
}

/// The byte strings that contain a match of `hir`; `None` if the memory limit is exceeded.
pub(super) fn containing(terms: &mut Terms, hir: &Hir, limits: &Limits) -> Option<TermId> {
    let Some(alternatives) = PatternAlternative::all_of(hir) else {
        return determinize(terms, hir, Anchored::No, limits);
    };
    let mut translator = HirTranslator::new(terms);
    let mut parts = Vec::with_capacity(alternatives.len());
    for alternative in &alternatives {
        let body = alternative.translate(&mut translator);
        let line_break = translator.terms.bytes(ByteSet::single(b'\n'));
        let anything = translator.terms.anything();
        let before = surroundings(translator.terms, alternative.start, &[anything, line_break]);
        let after = surroundings(translator.terms, alternative.end, &[line_break, anything]);
        parts.push(translator.terms.concat(&[before, body, after]));
    }
    Some(terms.union(&parts))
}

/// The language of the bytes on one side of a match. `line` is the language if the match is at the bound of a line
/// within the string.
fn surroundings(terms: &mut Terms, condition: EndCondition, line: &[TermId]) -> TermId {
    match condition {
        EndCondition::Anywhere => terms.anything(),
        EndCondition::Text => terms.epsilon(),
        EndCondition::Line => {
            let inner = terms.concat(line);
            terms.union(&[inner, terms.epsilon()])
        }
    }
}

/// The condition on an end of a match.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EndCondition {
    /// No condition.
    Anywhere,
    /// At the bound of a line.
    Line,
    /// At the bound of the string, which is the bound of a line too.
    Text,
}

/// An alternative of a pattern: a sequence of elements with a condition on each end. Fully decomposed if no element
/// contains an assertion.
#[derive(Clone)]
struct PatternAlternative<'h> {
    start: EndCondition,
    elements: VecDeque<&'h Hir>,
    end: EndCondition,
}

/// The decomposition of an element at one end of an alternative.
enum Decomposition<'h> {
    /// An assertion.
    EndCondition(EndCondition),
    /// A concatenation.
    Sequence(&'h [Hir]),
    /// An alternation.
    Choice(&'h [Hir]),
}

impl<'h> PatternAlternative<'h> {
    /// The decomposed alternatives of `hir`; `None` if there are too many, or an assertion is not at an end.
    fn all_of(hir: &'h Hir) -> Option<Vec<Self>> {
        let whole =
            Self { start: EndCondition::Anywhere, elements: [hir].into(), end: EndCondition::Anywhere };
        let (mut undecomposed, mut done) = (vec![whole], Vec::new());
        while let Some(mut alternative) = undecomposed.pop() {
            if alternative.elements.iter().all(|element| !has_assertions(element)) {
                done.push(alternative);
            } else if let Some(decomposition) =
                alternative.elements.front().and_then(|hir| decompose(hir, start_condition))
            {
                alternative.elements.pop_front();
                match decomposition {
                    Decomposition::EndCondition(condition) => {
                        alternative.start = alternative.start.max(condition);
                        undecomposed.push(alternative);
                    }
                    Decomposition::Sequence(parts) => {
                        parts.iter().rev().for_each(|part| alternative.elements.push_front(part));
                        undecomposed.push(alternative);
                    }
                    Decomposition::Choice(branches) => undecomposed.extend(branches.iter().map(|branch| {
                        let mut one = alternative.clone();
                        one.elements.push_front(branch);
                        one
                    })),
                }
            } else {
                let decomposition =
                    alternative.elements.back().and_then(|hir| decompose(hir, end_condition))?;
                alternative.elements.pop_back();
                match decomposition {
                    Decomposition::EndCondition(condition) => {
                        alternative.end = alternative.end.max(condition);
                        undecomposed.push(alternative);
                    }
                    Decomposition::Sequence(parts) => {
                        alternative.elements.extend(parts);
                        undecomposed.push(alternative);
                    }
                    Decomposition::Choice(branches) => undecomposed.extend(branches.iter().map(|branch| {
                        let mut one = alternative.clone();
                        one.elements.push_back(branch);
                        one
                    })),
                }
            }
            if undecomposed.len() + done.len() > MAX_ALTERNATIVES {
                return None;
            }
        }
        Some(done)
    }

    fn translate(&self, translator: &mut HirTranslator) -> TermId {
        let parts: Vec<TermId> = self.elements.iter().map(|element| translator.translate(element)).collect();
        translator.terms.concat(&parts)
    }
}

fn has_assertions(hir: &Hir) -> bool {
    !hir.properties().look_set().is_empty()
}

/// Decomposes an element with assertions by one step.
fn decompose(hir: &Hir, condition: fn(Look) -> Option<EndCondition>) -> Option<Decomposition<'_>> {
    if !has_assertions(hir) {
        return None;
    }
    match hir.kind() {
        HirKind::Look(look) => condition(*look).map(Decomposition::EndCondition),
        HirKind::Capture(capture) => Some(Decomposition::Sequence(std::slice::from_ref(&capture.sub))),
        HirKind::Concat(parts) => Some(Decomposition::Sequence(parts)),
        HirKind::Alternation(branches) => Some(Decomposition::Choice(branches)),
        _ => None,
    }
}

fn start_condition(look: Look) -> Option<EndCondition> {
    match look {
        Look::Start => Some(EndCondition::Text),
        Look::StartLF => Some(EndCondition::Line),
        _ => None,
    }
}

fn end_condition(look: Look) -> Option<EndCondition> {
    match look {
        Look::End => Some(EndCondition::Text),
        Look::EndLF => Some(EndCondition::Line),
        _ => None,
    }
}

/// Determinises a pattern to a table: of the strings that it matches as a whole if `anchored`, of the byte strings that
/// contain a match otherwise.
fn determinize(terms: &mut Terms, hir: &Hir, anchored: Anchored, limits: &Limits) -> Option<TermId> {
    let dfa = dense_dfa(hir, anchored, limits)?;
    let start = dfa
        .start_state(&start::Config::new().anchored(anchored))
        .expect("the automaton supports this kind of start, and has no quit bytes");
    let mut builder = TableBuilder::new();
    let matched = builder.add_state();
    builder.accept(matched);
    builder.transition(matched, 0, u8::MAX, matched);
    let first = builder.add_state();
    let mut states = FxHashMap::from_iter([(start, first)]);
    let mut queue = vec![start];
    while let Some(id) = queue.pop() {
        let state = states[&id];
        // regex-automata reports matches one byte late, and at the end of the string by a special transition.
        if dfa.is_match_state(dfa.next_eoi_state(id)) {
            builder.accept(state);
        }
        for (low, high, target) in byte_ranges(&dfa, id) {
            if dfa.is_dead_state(target) {
                continue;
            }
            let target = if !anchored.is_anchored() && dfa.is_match_state(target) {
                matched
            } else {
                *states.entry(target).or_insert_with(|| {
                    queue.push(target);
                    builder.add_state()
                })
            };
            builder.transition(state, low, high, target);
        }
    }
    (states.len() <= limits.automaton_states).then(|| terms.table(builder.finish(first)))
}

fn dense_dfa(hir: &Hir, anchored: Anchored, limits: &Limits) -> Option<dense::DFA<Vec<u32>>> {
    let memory = limits.memory_bytes / MEMORY_DIVISOR;
    let nfa_config = thompson::Config::new()
        .utf8(false)
        .nfa_size_limit(Some(memory))
        .which_captures(thompson::WhichCaptures::None);
    let nfa = thompson::Compiler::new().configure(nfa_config).build_from_hir(hir).ok()?;
    let kind = if anchored.is_anchored() { StartKind::Anchored } else { StartKind::Unanchored };
    let config = dense::Config::new()
        .match_kind(MatchKind::All)
        .start_kind(kind)
        .accelerate(false)
        .dfa_size_limit(Some(memory))
        .determinize_size_limit(Some(memory));
    // Unicode word boundaries are errors of the parser, so the size limit is the only cause of failure here.
    dense::Builder::new().configure(config).build_from_nfa(&nfa).ok()
}

/// The transitions of a state as maximal byte ranges.
fn byte_ranges(dfa: &dense::DFA<Vec<u32>>, id: StateID) -> Vec<(u8, u8, StateID)> {
    let mut ranges: Vec<(u8, u8, StateID)> = Vec::new();
    for byte in 0..=u8::MAX {
        let target = dfa.next_state(id, byte);
        match ranges.last_mut() {
            Some((_, high, same)) if *same == target => *high = byte,
            _ => ranges.push((byte, byte, target)),
        }
    }
    ranges
}
