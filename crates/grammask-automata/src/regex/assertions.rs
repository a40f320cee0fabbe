//! Gives patterns with assertions their language: at the ends of a pattern by rewriting, elsewhere by
//! determinising it.
//!
//! `^a|b$` is taken apart into alternatives whose assertions stand at their ends. There an assertion only says
//! what may surround a match: nothing, or a line break. A pattern that cannot be taken apart like that
//! (`a(?-u:\b).*`) goes through the determinisation of `regex-automata`, which knows assertions, and becomes
//! a table.

use std::collections::VecDeque;

use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use regex_automata::{Anchored, MatchKind};
use regex_syntax::hir::{Hir, HirKind, Look};
use rustc_hash::FxHashMap;

use super::translate::Translator;
use crate::{ByteSet, TableBuilder, TermId, Terms};
use grammask_diagnostics::Limits;

/// More alternatives than this are left to determinisation.
const MOST_ALTERNATIVES: usize = 64;

/// A determinised pattern may take this part of the memory limit.
const MEMORY_PART: usize = 32;

/// The texts that match `hir` as a whole; none if that takes too much memory.
pub(super) fn matching(terms: &mut Terms, hir: &Hir, limits: &Limits) -> Option<TermId> {
    let Some(alternatives) = Alternative::all_of(hir) else {
        return determinize(terms, hir, Anchored::Yes, limits);
    };
    // A match of the whole text has nothing around it, so assertions at its ends hold.
    let mut translator = Translator::new(terms);
    let parts: Vec<TermId> =
        alternatives.iter().map(|alternative| alternative.translate(&mut translator)).collect();
    Some(terms.union(&parts))
}

/// The byte strings in which `hir` matches somewhere; none if that takes too much memory.
pub(super) fn containing(terms: &mut Terms, hir: &Hir, limits: &Limits) -> Option<TermId> {
    let Some(alternatives) = Alternative::all_of(hir) else {
        return determinize(terms, hir, Anchored::No, limits);
    };
    let mut translator = Translator::new(terms);
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

/// What may stand on one side of a match. `line` is what stands there at the bound of an inner line.
fn surroundings(terms: &mut Terms, edge: Edge, line: &[TermId]) -> TermId {
    match edge {
        Edge::Anywhere => terms.anything(),
        Edge::Text => terms.epsilon(),
        Edge::Line => {
            let inner = terms.concat(line);
            terms.union(&[inner, terms.epsilon()])
        }
    }
}

/// Where an end of a match must be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    Anywhere,
    /// At the bound of a line.
    Line,
    /// At the bound of the text, which is the bound of a line too.
    Text,
}

/// A part of a pattern whose assertions stand at its ends only: the elements in order, which have none.
#[derive(Clone)]
struct Alternative<'h> {
    start: Edge,
    elements: VecDeque<&'h Hir>,
    end: Edge,
}

/// How to take an element at one end of an alternative apart.
enum Apart<'h> {
    /// It is an assertion that holds at this edge.
    Edge(Edge),
    /// It is these in order.
    Sequence(&'h [Hir]),
    /// It is one of these.
    Choice(&'h [Hir]),
}

impl<'h> Alternative<'h> {
    /// The alternatives that together are `hir`; none if there are too many, or assertions remain inside.
    fn all_of(hir: &'h Hir) -> Option<Vec<Self>> {
        let whole = Self { start: Edge::Anywhere, elements: [hir].into(), end: Edge::Anywhere };
        let (mut open, mut done) = (vec![whole], Vec::new());
        while let Some(mut alternative) = open.pop() {
            if alternative.elements.iter().all(|element| !has_assertions(element)) {
                done.push(alternative);
            } else if let Some(apart) =
                alternative.elements.front().and_then(|hir| take_apart(hir, start_edge))
            {
                alternative.elements.pop_front();
                match apart {
                    Apart::Edge(edge) => {
                        alternative.start = alternative.start.max(edge);
                        open.push(alternative);
                    }
                    Apart::Sequence(parts) => {
                        parts.iter().rev().for_each(|part| alternative.elements.push_front(part));
                        open.push(alternative);
                    }
                    Apart::Choice(branches) => open.extend(branches.iter().map(|branch| {
                        let mut one = alternative.clone();
                        one.elements.push_front(branch);
                        one
                    })),
                }
            } else {
                let apart = alternative.elements.back().and_then(|hir| take_apart(hir, end_edge))?;
                alternative.elements.pop_back();
                match apart {
                    Apart::Edge(edge) => {
                        alternative.end = alternative.end.max(edge);
                        open.push(alternative);
                    }
                    Apart::Sequence(parts) => {
                        alternative.elements.extend(parts);
                        open.push(alternative);
                    }
                    Apart::Choice(branches) => open.extend(branches.iter().map(|branch| {
                        let mut one = alternative.clone();
                        one.elements.push_back(branch);
                        one
                    })),
                }
            }
            if open.len() + done.len() > MOST_ALTERNATIVES {
                return None;
            }
        }
        Some(done)
    }

    fn translate(&self, translator: &mut Translator) -> TermId {
        let parts: Vec<TermId> = self.elements.iter().map(|element| translator.translate(element)).collect();
        translator.terms.concat(&parts)
    }
}

fn has_assertions(hir: &Hir) -> bool {
    !hir.properties().look_set().is_empty()
}

/// Takes an element with assertions apart, where that is possible.
fn take_apart(hir: &Hir, edge: fn(Look) -> Option<Edge>) -> Option<Apart<'_>> {
    if !has_assertions(hir) {
        return None;
    }
    match hir.kind() {
        HirKind::Look(look) => edge(*look).map(Apart::Edge),
        HirKind::Capture(capture) => Some(Apart::Sequence(std::slice::from_ref(&capture.sub))),
        HirKind::Concat(parts) => Some(Apart::Sequence(parts)),
        HirKind::Alternation(branches) => Some(Apart::Choice(branches)),
        _ => None,
    }
}

fn start_edge(look: Look) -> Option<Edge> {
    match look {
        Look::Start => Some(Edge::Text),
        Look::StartLF => Some(Edge::Line),
        _ => None,
    }
}

fn end_edge(look: Look) -> Option<Edge> {
    match look {
        Look::End => Some(Edge::Text),
        Look::EndLF => Some(Edge::Line),
        _ => None,
    }
}

/// A pattern with assertions as a table: of the texts that match as a whole if `anchored`, of the byte strings
/// in which it matches somewhere if not.
fn determinize(terms: &mut Terms, hir: &Hir, anchored: Anchored, limits: &Limits) -> Option<TermId> {
    let dfa = dense_dfa(hir, anchored, limits)?;
    let start = dfa
        .start_state(&start::Config::new().anchored(anchored))
        .expect("the automaton was built for this kind of start, and no byte makes it give up");
    let mut builder = TableBuilder::new();
    let found = builder.add_state();
    builder.accept(found);
    builder.transition(found, 0, u8::MAX, found);
    let first = builder.add_state();
    let mut states = FxHashMap::from_iter([(start, first)]);
    let mut queue = vec![start];
    while let Some(id) = queue.pop() {
        let state = states[&id];
        // A match is reported one byte late, and at the end of the text by a transition of its own.
        if dfa.is_match_state(dfa.next_eoi_state(id)) {
            builder.accept(state);
        }
        for (low, high, target) in byte_ranges(&dfa, id) {
            if dfa.is_dead_state(target) {
                continue;
            }
            let target = if !anchored.is_anchored() && dfa.is_match_state(target) {
                found
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
    let memory = limits.memory_bytes / MEMORY_PART;
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
    // Unicode word boundaries are refused before, so what fails here fails for its size.
    dense::Builder::new().configure(config).build_from_nfa(&nfa).ok()
}

/// The transitions of a state, neighbouring bytes with one target together.
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
