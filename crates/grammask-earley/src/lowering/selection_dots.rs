//! The dots of selections, numbered as texts reach them.
//!
//! A selection has a state for each set of parts that have come; the dots of a state are made when a text first reaches it,
//! and are numbered behind all other dots. The dots of a state of n parts are n + 1 numbers that need a symbol each (the
//! separator, or a part), one that stands for all parts that can come next, and one behind each part, whose state is only made
//! when it is looked at: most never are.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::normal_form::{Advance, DotId, Production, RightHandSide};
use super::productions::Symbol;
use grammask_collections::append_only_vec::AppendOnlyVec;
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{PartId, SelectionState};

/// A state of the selection of a production.
#[derive(Clone, Debug)]
struct State {
    production: u32,
    progress: SelectionState,
    first_dot: u32,
}

/// What a dot of a selection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before any of the parts that can come next: stands for as many dots.
    BeforeParts,
    BeforeSeparator,
    BeforePart(PartId),
    /// Behind a part: stands for the dot before the separator in the state after it, which may not have been made.
    Behind(PartId),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct SelectionDots {
    states: AppendOnlyVec<State>,
    ids: Mutex<FxHashMap<(u32, SelectionState), u32>>,
    /// The first dot of the first state.
    first: u32,
    /// Productions that are selections.
    productions: Vec<u32>,
    bytes: AtomicUsize,
}

/// The dots that a dot stands for.
#[derive(Debug)]
pub(crate) enum Expanded {
    /// Itself, or one other.
    One(Option<DotId>),
    /// Several.
    Many(std::vec::IntoIter<DotId>),
}

impl Iterator for Expanded {
    type Item = DotId;

    fn next(&mut self) -> Option<DotId> {
        match self {
            Self::One(dot) => dot.take(),
            Self::Many(dots) => dots.next(),
        }
    }
}

impl Clone for SelectionDots {
    fn clone(&self) -> Self {
        let ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        let states = AppendOnlyVec::new();
        for state in 0..self.states.len() {
            states.push(self.states.get(state).clone());
        }
        Self {
            states,
            ids: Mutex::new(ids.clone()),
            first: self.first,
            productions: self.productions.clone(),
            bytes: AtomicUsize::new(self.memory_bytes()),
        }
    }
}

impl SelectionDots {
    /// No state but the first ones of the selections among `productions`. Dots are numbered from `first` on.
    pub(super) fn new(productions: &[Production], first: u32) -> Result<Self, LimitExceeded> {
        let mut dots = Self {
            states: AppendOnlyVec::new(),
            ids: Mutex::default(),
            first,
            productions: Vec::new(),
            bytes: AtomicUsize::new(0),
        };
        for (index, production) in productions.iter().enumerate() {
            if let RightHandSide::Selection { selection, .. } = &production.rhs {
                dots.productions.push(index as u32);
                dots.state(productions, index as u32, selection.start())?;
            }
        }
        Ok(dots)
    }

    /// The same without any but the first states.
    pub(super) fn renewed(&self, productions: &[Production]) -> Result<Self, LimitExceeded> {
        Self::new(productions, self.first)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.productions.is_empty()
    }

    pub(super) fn has(&self, dot: DotId) -> bool {
        dot.0 >= self.first && !self.is_empty()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The dots with which the selection of a production begins.
    pub(super) fn start(&self, productions: &[Production], index: u32) -> Result<Expanded, LimitExceeded> {
        // The first states were made in the order of their productions.
        let state = self.productions.partition_point(|&production| production < index);
        self.expanded(productions, DotId(self.states.get(state).first_dot))
    }

    /// The production of a dot.
    pub(super) fn production(&self, dot: DotId) -> u32 {
        self.state_of(dot).production
    }

    /// The dots that a dot stands for: itself, if it stands before a symbol.
    pub(super) fn expanded(&self, productions: &[Production], dot: DotId) -> Result<Expanded, LimitExceeded> {
        let state = self.state_of(dot);
        let RightHandSide::Selection { selection, parts, .. } = &productions[state.production as usize].rhs
        else {
            return Ok(Expanded::One(Some(dot)));
        };
        Ok(match place(state, parts.len(), dot) {
            Place::BeforeSeparator | Place::BeforePart(_) => Expanded::One(Some(dot)),
            Place::BeforeParts => {
                let before = |part: PartId| DotId(state.first_dot + 2 + part.as_u32());
                let dots: Vec<DotId> = selection.choices(&state.progress).map(before).collect();
                Expanded::Many(dots.into_iter())
            }
            Place::Behind(part) => {
                let after = selection.after(&state.progress, part);
                let next = self.state(productions, state.production, after)?;
                Expanded::One(Some(DotId(next + 1)))
            }
        })
    }

    /// The symbol after a dot; of a dot that stands for others that of one of them.
    pub(super) fn symbol_after(&self, productions: &[Production], dot: DotId) -> Option<Symbol> {
        let state = self.state_of(dot);
        let RightHandSide::Selection { parts, separator, .. } = &productions[state.production as usize].rhs
        else {
            return None;
        };
        match place(state, parts.len(), dot) {
            Place::BeforeSeparator | Place::Behind(_) => Some(*separator),
            Place::BeforePart(part) => Some(parts[part.index()]),
            Place::BeforeParts => parts.first().copied(),
        }
    }

    /// Moves a dot over the symbol after it.
    pub(super) fn advance(&self, productions: &[Production], dot: DotId) -> Advance {
        let state = self.state_of(dot);
        let nothing = Advance { completes: false, next: None };
        let RightHandSide::Selection { selection, parts, .. } = &productions[state.production as usize].rhs
        else {
            return nothing;
        };
        match place(state, parts.len(), dot) {
            Place::BeforeSeparator => Advance { completes: false, next: Some(DotId(state.first_dot)) },
            Place::BeforePart(part) => {
                let after = selection.after(&state.progress, part);
                let goes_on = selection.choices(&after).next().is_some();
                let behind = DotId(state.first_dot + 2 + parts.len() as u32 + part.as_u32());
                Advance { completes: selection.can_end(&after), next: goes_on.then_some(behind) }
            }
            Place::BeforeParts | Place::Behind(_) => nothing,
        }
    }

    /// The first dot of a state, which is made if there is none.
    fn state(
        &self,
        productions: &[Production],
        production: u32,
        progress: SelectionState,
    ) -> Result<u32, LimitExceeded> {
        // A thread that panics leaves the tables whole: the number of a state is known when the state is.
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (production, progress);
        if let Some(&known) = ids.get(&key) {
            return Ok(known);
        }
        let first_dot = match self.states.len().checked_sub(1) {
            None => Some(self.first),
            Some(last) => {
                let last = self.states.get(last);
                last.first_dot.checked_add(dots_of(&productions[last.production as usize]))
            }
        };
        let first_dot = first_dot
            .filter(|first| first.checked_add(dots_of(&productions[production as usize])).is_some())
            .ok_or_else(|| LimitExceeded::new("grammar_size", u32::MAX as usize))?;
        let bytes = 2 * key.1.memory_bytes() + 128;
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.states.push(State { production, progress: key.1.clone(), first_dot });
        ids.insert(key, first_dot);
        Ok(first_dot)
    }

    fn state_of(&self, dot: DotId) -> &State {
        let (mut low, mut high) = (0, self.states.len());
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.states.get(middle).first_dot <= dot.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        self.states.get(low)
    }
}

/// How many dots each state of a production has.
fn dots_of(production: &Production) -> u32 {
    match &production.rhs {
        RightHandSide::Selection { parts, .. } => u32::try_from(2 * parts.len() + 2).unwrap_or(u32::MAX),
        _ => 0,
    }
}

fn place(state: &State, parts: usize, dot: DotId) -> Place {
    match (dot.0 - state.first_dot) as usize {
        0 => Place::BeforeParts,
        1 => Place::BeforeSeparator,
        place if place < parts + 2 => Place::BeforePart(PartId::new(place - 2)),
        place => Place::Behind(PartId::new(place - 2 - parts)),
    }
}
