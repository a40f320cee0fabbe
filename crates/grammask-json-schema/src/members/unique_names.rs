//! Unique names of the members that a schema does not declare.
//!
//! "No name occurs twice" is not context-free. Names of infinite classes are remembered values
//! ([`grammask_grammar::values`]) in a scope that begins before the first of them. The names of finite classes are listed:
//! few of them are tracked by the residuals of the object, many become the parts of a selection. So names cannot run out
//! unnoticed.
//!
//! A reader that keeps the last of equal names reads an object with fewer members. Most assertions hold for it too, which
//! is the reason why names need not differ everywhere ([`UniqueNames::Counted`]): there is no negation in a formula, and
//! only a minimum of members and [`ObjectAssertion::Some`] can lose their witnesses.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::document::json::{Document, Value};
use crate::emit::emitter::ValuePosition;
use crate::members::member_forms::{ClassMonomial, class_forms};
use crate::members::name_classes::NameClass;
use crate::members::objects::DeclaredMember;
use crate::options::UniqueNames;
use crate::values::formula::truth;
use crate::values::formulas::NameId;
use crate::values::literals::{ObjectAssertion, ObjectFormula};
use crate::values::scalar_languages::ScalarLanguages;
use crate::values::value_sets::ValueSets;
use grammask_automata::{Automata, ByteSet, StateId, TermId};
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::ValueSupply;

/// Maximum number of listed names that residuals track: at most 2^8 sets of names that occurred.
const MAX_TRACKED_NAMES: usize = 8;
/// Maximum number of listed names.
const MAX_LISTED_NAMES: usize = 2000;
/// Maximum number of spellings of listed names.
const MAX_SPELLINGS: usize = 4 * MAX_LISTED_NAMES;
/// Maximum number of states of a language in which a cycle is looked for.
const MAX_STATES: usize = 1 << 16;
/// Maximum number of states of an infinite language that are examined.
const MAX_CYCLIC_STATES: usize = 128;

/// The supply of an infinite language.
const INFINITE: ValueSupply = ValueSupply::AtLeast(u32::MAX);

/// A name of a finite class.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListedName {
    /// The index of the class.
    pub(super) class: usize,
    pub(super) name: NameId,
}

/// How the undeclared names of an object are kept different.
#[derive(Debug, Default)]
pub(super) struct OtherNames {
    /// By class: the condition on names that are not listed; `None` without a condition.
    supplies: Vec<Option<ValueSupply>>,
    /// The names of finite classes, class by class.
    listed: Vec<ListedName>,
}

impl OtherNames {
    /// The names of the classes of an object with these declared members that satisfies `formula`.
    pub(super) fn of(
        sets: &mut ValueSets<'_>,
        classes: &[NameClass],
        declared: &[DeclaredMember],
        formula: ObjectFormula,
        position: ValuePosition,
    ) -> Result<Self, LimitExceeded> {
        let mut names = Self { supplies: vec![None; classes.len()], listed: Vec::new() };
        let differ = match sets.reader.options.unique_names {
            UniqueNames::Declared => return Ok(names),
            UniqueNames::Counted if !position.is_compared => {
                classes_that_count(sets, classes, declared, formula)
            }
            UniqueNames::Counted | UniqueNames::All => vec![true; classes.len()],
        };
        if !differ.contains(&true) {
            return Ok(names);
        }
        let has_excluded_words = sets.languages.excluded_words.are_some();
        let any_string = sets.languages.any_string.yes;
        if let ([only], false) = (classes, has_excluded_words)
            && only.before_declared == any_string
        {
            names.supplies[0] = Some(ValueSupply::Inexhaustible);
            return Ok(names);
        }
        for ClassMonomial { class: index, monomial } in class_forms(sets, classes, formula)? {
            let class = &classes[index];
            let value = sets.of_formula(monomial.value)?;
            let is_done = !differ[index] || names.supplies[index].is_some();
            if is_done || sets.is_plainly_empty(value)? {
                continue;
            }
            let term = match has_excluded_words {
                // Without finitely many names, an infinite language remains infinite.
                false => class.before_declared,
                true => match sets.languages.without_excluded_words(class.names)? {
                    Some(allowed) => allowed,
                    None => continue,
                },
            };
            let count = sets.languages.name_count(term)?;
            names.supplies[index] = Some(match count {
                NameCount::Infinite(supply) => supply,
                NameCount::Finite { min } => ValueSupply::AtLeast(min),
            });
            if let NameCount::Finite { .. } = count
                && let Some(allowed) = sets.languages.without_excluded_words(class.names)?
                && let Some(list) = sets.languages.list_names(allowed)?
            {
                let formulas = &mut sets.formulas;
                names
                    .listed
                    .extend(list.iter().map(|name| ListedName { class: index, name: formulas.name(name) }));
            }
        }
        if names.listed.len() > MAX_LISTED_NAMES {
            names.listed.clear();
        }
        Ok(names)
    }

    /// The condition on the names of a class, unless they are listed.
    pub(super) fn supply(&self, class: usize) -> Option<ValueSupply> {
        self.supplies[class]
    }

    /// The names of finite classes.
    pub(super) fn listed(&self) -> &[ListedName] {
        &self.listed
    }

    /// Whether the names of a class are listed.
    pub(super) fn is_listed(&self, class: usize) -> bool {
        self.listed.iter().any(|name| name.class == class)
    }

    /// The listed names, if residuals track them.
    pub(super) fn tracked(&self) -> &[ListedName] {
        if self.listed.len() <= MAX_TRACKED_NAMES { &self.listed } else { &[] }
    }

    /// Whether residuals track the names of a class.
    pub(super) fn is_tracked(&self, class: usize) -> bool {
        self.tracked().iter().any(|name| name.class == class)
    }

    /// Whether some class has names that are neither listed nor without a condition.
    pub(super) fn are_remembered_beside(&self, is_listed: impl Fn(usize) -> bool) -> bool {
        (0..self.supplies.len()).any(|class| self.supplies[class].is_some() && !is_listed(class))
    }

    /// Whether names are remembered where residuals track listed ones.
    pub(super) fn need_scope(&self) -> bool {
        self.are_remembered_beside(|class| self.is_tracked(class))
    }
}

/// By class: whether an object that satisfies `formula` might not do so without a member of the class whose name occurs
/// once more.
fn classes_that_count(
    sets: &ValueSets<'_>,
    classes: &[NameClass],
    declared: &[DeclaredMember],
    formula: ObjectFormula,
) -> Vec<bool> {
    // An object with an undeclared member has one name more than those that are required, at least.
    let min_names = 1 + declared.iter().filter(|member| member.required).count();
    let mut count = vec![false; classes.len()];
    for literal in sets.formulas.objects.literals(formula) {
        match literal {
            ObjectAssertion::AtLeast(min) if min as usize > min_names => count.fill(true),
            // That a name occurs remains true.
            ObjectAssertion::Some(set, value) if value != truth() => {
                let set = sets.formulas.name_sets.get(set);
                for (counts, class) in count.iter_mut().zip(classes) {
                    *counts |= class.is_in(set);
                }
            }
            _ => {}
        }
    }
    count
}

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
    fn name_count(&mut self, names: TermId) -> Result<NameCount, LimitExceeded> {
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
    fn list_names(&mut self, names: TermId) -> Result<Option<Rc<[Box<str>]>>, LimitExceeded> {
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
    let mut distinct = rustc_hash::FxHashSet::default();
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
