//! The dots of selections, numbered lazily.
//!
//! A selection has a state for each set of parts that have been read. The dots of a state are numbered, after all
//! other dots, when a text first reaches it. A state of a selection with n parts has 2n + 2 dots: one before each
//! part and one before the separator, which have a symbol after them; one that represents all parts that can come
//! next; and one after each part, whose successor state is created only when the dot is expanded, which is rare.

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
struct NumberedState {
    production: u32,
    progress: SelectionState,
    first_dot: u32,
}

/// The position of a dot within its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SelectionDot {
    /// Before any part that can come next: represents the dots before these.
    BeforeParts,
    BeforeSeparator,
    BeforePart(PartId),
    /// After a part: represents the dot before the separator in the successor state, which may not exist yet.
    AfterPart(PartId),
}

/// The symbol after a dot of a selection, with the state that determines the symbols after it.
#[derive(Clone, Debug)]
pub(crate) enum SelectionNext {
    /// This part; the state is that after it.
    Part(PartId, SelectionState),
    /// Any part that can come next in the state.
    AnyPart(SelectionState),
    /// The separator; then any part that can come next in the state.
    Separator(SelectionState),
}

/// The lazily numbered dots of all selections. See the documentation of the module.
#[derive(Debug)]
pub(crate) struct SelectionDots {
    states: AppendOnlyVec<NumberedState>,
    ids: Mutex<FxHashMap<(u32, SelectionState), u32>>,
    /// The first dot of the first state.
    first: u32,
    /// The productions that are selections.
    productions: Vec<u32>,
    bytes: AtomicUsize,
}

/// The dots that a dot represents.
#[derive(Debug)]
pub(crate) enum Expanded {
    /// One dot, usually itself.
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
    /// The first states of the selections among `productions`. Dots are numbered from `first` on.
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

    /// The same selections with their first states only.
    pub(super) fn with_first_states(&self, productions: &[Production]) -> Result<Self, LimitExceeded> {
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

    /// The dots at the beginning of the selection of a production.
    pub(super) fn start(&self, productions: &[Production], index: u32) -> Result<Expanded, LimitExceeded> {
        // The first states are in the order of their productions.
        let state = self.productions.partition_point(|&production| production < index);
        self.expanded(productions, DotId(self.states.get(state).first_dot))
    }

    /// The production of a dot.
    pub(super) fn production(&self, dot: DotId) -> u32 {
        self.state_of(dot).production
    }

    /// The dots that a dot represents; a dot before a symbol represents itself.
    pub(super) fn expanded(&self, productions: &[Production], dot: DotId) -> Result<Expanded, LimitExceeded> {
        let state = self.state_of(dot);
        let RightHandSide::Selection { selection, parts, .. } = &productions[state.production as usize].rhs
        else {
            return Ok(Expanded::One(Some(dot)));
        };
        Ok(match position_of(state, parts.len(), dot) {
            SelectionDot::BeforeSeparator | SelectionDot::BeforePart(_) => Expanded::One(Some(dot)),
            SelectionDot::BeforeParts => {
                let before = |part: PartId| DotId(state.first_dot + 2 + part.as_u32());
                let dots: Vec<DotId> = selection.choices(&state.progress).map(before).collect();
                Expanded::Many(dots.into_iter())
            }
            SelectionDot::AfterPart(part) => {
                let after = selection.after(&state.progress, part);
                let next = self.state(productions, state.production, after)?;
                Expanded::One(Some(DotId(next + 1)))
            }
        })
    }

    /// The symbol after a dot, and the state. Creates no states.
    pub(super) fn next(&self, productions: &[Production], dot: DotId) -> SelectionNext {
        let NumberedState { production, progress, .. } = self.state_of(dot);
        let RightHandSide::Selection { selection, parts, .. } = &productions[*production as usize].rhs else {
            return SelectionNext::AnyPart(progress.clone());
        };
        match position_of(self.state_of(dot), parts.len(), dot) {
            SelectionDot::BeforeParts => SelectionNext::AnyPart(progress.clone()),
            SelectionDot::BeforeSeparator => SelectionNext::Separator(progress.clone()),
            SelectionDot::BeforePart(part) => SelectionNext::Part(part, selection.after(progress, part)),
            SelectionDot::AfterPart(part) => SelectionNext::Separator(selection.after(progress, part)),
        }
    }

    /// The symbol after a dot, or after one of the dots that it represents.
    pub(super) fn symbol_after(&self, productions: &[Production], dot: DotId) -> Option<Symbol> {
        let state = self.state_of(dot);
        let RightHandSide::Selection { parts, separator, .. } = &productions[state.production as usize].rhs
        else {
            return None;
        };
        match position_of(state, parts.len(), dot) {
            SelectionDot::BeforeSeparator | SelectionDot::AfterPart(_) => Some(*separator),
            SelectionDot::BeforePart(part) => Some(parts[part.index()]),
            SelectionDot::BeforeParts => parts.first().copied(),
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
        match position_of(state, parts.len(), dot) {
            SelectionDot::BeforeSeparator => Advance { completes: false, next: Some(DotId(state.first_dot)) },
            SelectionDot::BeforePart(part) => {
                let after = selection.after(&state.progress, part);
                let continues = selection.choices(&after).next().is_some();
                let after_part = DotId(state.first_dot + 2 + parts.len() as u32 + part.as_u32());
                Advance { completes: selection.can_end(&after), next: continues.then_some(after_part) }
            }
            SelectionDot::BeforeParts | SelectionDot::AfterPart(_) => nothing,
        }
    }

    /// The first dot of a state, which is created if it does not exist.
    fn state(
        &self,
        productions: &[Production],
        production: u32,
        progress: SelectionState,
    ) -> Result<u32, LimitExceeded> {
        // A state is complete before its id is inserted, so a panic in a holder of the lock leaves the tables
        // consistent.
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (production, progress);
        if let Some(&first_dot) = ids.get(&key) {
            return Ok(first_dot);
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
        self.states.push(NumberedState { production, progress: key.1.clone(), first_dot });
        ids.insert(key, first_dot);
        Ok(first_dot)
    }

    fn state_of(&self, dot: DotId) -> &NumberedState {
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

/// Number of dots of each state of a production.
fn dots_of(production: &Production) -> u32 {
    match &production.rhs {
        RightHandSide::Selection { parts, .. } => u32::try_from(2 * parts.len() + 2).unwrap_or(u32::MAX),
        _ => 0,
    }
}

fn position_of(state: &NumberedState, parts: usize, dot: DotId) -> SelectionDot {
    match (dot.0 - state.first_dot) as usize {
        0 => SelectionDot::BeforeParts,
        1 => SelectionDot::BeforeSeparator,
        offset if offset < parts + 2 => SelectionDot::BeforePart(PartId::new(offset - 2)),
        offset => SelectionDot::AfterPart(PartId::new(offset - 2 - parts)),
    }
}
