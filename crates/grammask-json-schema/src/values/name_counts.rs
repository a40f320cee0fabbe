//! The number of names in a regular language, and the names of a finite one.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::document::json::{Document, Value};
use crate::values::scalar_languages::ScalarLanguages;
use grammask_automata::{Automata, ByteSet, StateId, TermId};
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::ValueSupply;

/// Maximum number of listed names.
pub(crate) const MAX_LISTED_NAMES: usize = 2000;
/// Maximum number of spellings of listed names.
const MAX_SPELLINGS: usize = 4 * MAX_LISTED_NAMES;
/// Maximum number of states of a language in which a cycle is looked for.
const MAX_STATES: usize = 1 << 16;
/// Maximum number of states of an infinite language that are examined.
const MAX_CYCLIC_STATES: usize = 128;

/// The supply of an infinite language.
const INFINITE: ValueSupply = ValueSupply::AtLeast(u32::MAX);

/// How many names a language has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameCount {
    /// At least this number.
    Finite {
        min: u32,
    },
    Infinite(ValueSupply),
}

/// Memo tables about languages of names.
#[derive(Debug, Default)]
pub(crate) struct NameCounts {
    counts: FxHashMap<TermId, NameCount>,
    /// The names of finite languages; `None` if they are too many.
    lists: FxHashMap<TermId, Option<Rc<[Box<str>]>>>,
}

impl ScalarLanguages {
    /// How many names a nonempty language has.
    pub(crate) fn name_count(&mut self, names: TermId) -> Result<NameCount, LimitExceeded> {
        if names == self.any_string.yes {
            return Ok(NameCount::Infinite(ValueSupply::Inexhaustible));
        }
        if let Some(&known) = self.name_counts.counts.get(&names) {
            return Ok(known);
        }
        let count = match self.automata.start(names)? {
            Some(start) => count_words(&mut self.automata, start)?,
            None => NameCount::Finite { min: 0 },
        };
        self.name_counts.counts.insert(names, count);
        Ok(count)
    }

    /// The names in a finite language, in ascending order of their spellings; `None` if they are too many.
    pub(crate) fn list_names(&mut self, names: TermId) -> Result<Option<Rc<[Box<str>]>>, LimitExceeded> {
        if let Some(known) = self.name_counts.lists.get(&names) {
            return Ok(known.clone());
        }
        let list = match self.automata.start(names)? {
            Some(start) => words(&mut self.automata, start)?.and_then(decoded),
            None => Some(Vec::new()),
        };
        let list: Option<Rc<[Box<str>]>> = list.map(Rc::from);
        self.name_counts.lists.insert(names, list.clone());
        Ok(list)
    }
}

/// Counts the words from a state, and looks for cycles: a depth-first search.
fn count_words(automata: &mut Automata, start: StateId) -> Result<NameCount, LimitExceeded> {
    /// A state with its successors, on the path or left.
    struct Visit {
        successors: Vec<StateId>,
        next: usize,
        is_open: bool,
        /// Number of words without a backslash, which are different names. Final once the state is closed.
        count: u64,
    }
    let mut visits: FxHashMap<StateId, Visit> = FxHashMap::default();
    let mut path = vec![start];
    let mut is_cyclic = false;
    while let Some(&state) = path.last() {
        if !visits.contains_key(&state) {
            let max = if is_cyclic { MAX_CYCLIC_STATES } else { MAX_STATES };
            if visits.len() > max {
                let supply = if is_cyclic { INFINITE } else { ValueSupply::Unknown };
                return Ok(NameCount::Infinite(supply));
            }
            let mut successors: Vec<StateId> =
                automata.successors(state)?.into_iter().map(|(_, target)| target).collect();
            successors.sort_unstable_by_key(|state| state.index());
            successors.dedup();
            visits.insert(state, Visit { successors, next: 0, is_open: true, count: 0 });
        }
        let Some(visit) = visits.get_mut(&state) else { break };
        match visit.successors.get(visit.next) {
            None => {
                visit.is_open = false;
                path.pop();
                if !is_cyclic {
                    let mut count = u64::from(automata.is_accepting(state));
                    for (bytes, target) in automata.successors(state)? {
                        let bytes = bytes.without(ByteSet::single(b'\\')).len() as u64;
                        let of_target = visits.get(&target).map_or(0, |visit| visit.count);
                        count = count.saturating_add(bytes.saturating_mul(of_target));
                    }
                    visits.entry(state).and_modify(|visit| visit.count = count);
                }
            }
            Some(&target) => {
                visit.next += 1;
                match visits.get(&target) {
                    None => path.push(target),
                    Some(visit) => is_cyclic |= visit.is_open,
                }
            }
        }
    }
    if !is_cyclic {
        let min = visits.get(&start).map_or(0, |visit| visit.count);
        // Ids of states have 32 bits, so an object has fewer members than the maximum, which stands for infinity.
        return Ok(NameCount::Finite { min: u32::try_from(min).unwrap_or(u32::MAX) });
    }
    if visits.len() > MAX_CYCLIC_STATES {
        return Ok(NameCount::Infinite(INFINITE));
    }
    // States without a way to a cycle are removed, leaves first.
    let mut remaining: FxHashMap<StateId, Vec<StateId>> =
        visits.into_iter().map(|(state, visit)| (state, visit.successors)).collect();
    let count = remaining.len();
    loop {
        let before = remaining.len();
        let exhausted: Vec<StateId> = remaining
            .iter()
            .filter(|(_, successors)| !successors.iter().any(|target| remaining.contains_key(target)))
            .map(|(&state, _)| state)
            .collect();
        for state in exhausted {
            remaining.remove(&state);
        }
        if remaining.len() == before {
            break;
        }
    }
    Ok(NameCount::Infinite(match remaining.len() == count {
        true => ValueSupply::Inexhaustible,
        false => INFINITE,
    }))
}

/// The words of a finite language; `None` if they are too many.
fn words(automata: &mut Automata, start: StateId) -> Result<Option<Vec<Vec<u8>>>, LimitExceeded> {
    let mut found = Vec::new();
    let mut stack: Vec<(StateId, Vec<u8>)> = vec![(start, Vec::new())];
    while let Some((state, word)) = stack.pop() {
        for (bytes, target) in automata.successors(state)? {
            if found.len() + stack.len() > MAX_SPELLINGS {
                return Ok(None);
            }
            for byte in bytes.iter() {
                stack.push((target, word.iter().copied().chain([byte]).collect()));
            }
        }
        if automata.is_accepting(state) {
            found.push(word);
        }
    }
    found.sort_unstable();
    Ok(Some(found))
}

/// The different names that are spelled by `words`, in order of their first spelling; `None` if they are too many.
fn decoded(words: Vec<Vec<u8>>) -> Option<Vec<Box<str>>> {
    let mut names: Vec<Box<str>> = Vec::new();
    let mut distinct = FxHashSet::default();
    for word in words {
        let text = format!("\"{}\"", std::str::from_utf8(&word).ok()?);
        let document = Document::parse(&text).ok()?;
        let Value::String(name) = document.get(document.root()) else { return None };
        if distinct.insert(name.clone()) {
            names.push(name.clone());
        }
    }
    (names.len() <= MAX_LISTED_NAMES).then_some(names)
}
