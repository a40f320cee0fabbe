//! Which of several languages have words in common: the sets of languages that some word belongs to.
//!
//! The languages are read at once, as in the product construction, but a state holds only the languages that are still
//! alive. Constants and words with different beginnings are separated in one walk over their common trie, where
//! comparing each pair reads common beginnings once per pair.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::interner::{Id, Interner};
use crate::values::scalar_languages::ScalarLanguages;
use grammask_automata::{ByteSet, StateId, TermId};
use grammask_diagnostics::LimitExceeded;

/// The languages by index, in ascending order.
pub(crate) type LanguageSet = Box<[u32]>;

/// Bounds on a search in several languages at once.
#[derive(Clone, Copy)]
pub(crate) struct JointLimits {
    /// Number of different sets of languages.
    pub(crate) sets: usize,
    /// Number of joint states.
    pub(crate) states: usize,
}

/// The sets of languages to which the words of some languages belong.
#[derive(Default)]
pub(crate) struct KnownMemberships {
    terms: Vec<TermId>,
    sets: Vec<LanguageSet>,
    /// Whether the search took too long for some languages, so that there is no further one.
    is_full: bool,
    /// Number of requests so far.
    requests: usize,
}

/// Number of requests that are not answered: for few languages the search pays only where objects have the same patterns.
const MIN_REQUESTS: usize = 8;
/// Number of languages from which one request pays: without an answer, pairs of them are compared.
const MIN_LANGUAGES: usize = 16;

/// The state of each living language, by index.
type JointState = Box<[(u32, StateId)]>;

/// The transitions of a state over ranges of bytes.
type Edges = Rc<[(u8, u8, StateId)]>;

impl ScalarLanguages {
    /// For each word of a language: the languages of `terms` that it belongs to, without duplicates. `None` if there are
    /// more of them, or of joint states, than `limits` says.
    pub(crate) fn joint_membership(
        &mut self,
        terms: &[TermId],
        limits: JointLimits,
    ) -> Result<Option<Vec<LanguageSet>>, LimitExceeded> {
        let mut first: Vec<(u32, StateId)> = Vec::new();
        for (index, &term) in (0..).zip(terms) {
            first.extend(self.automata.start(term)?.map(|state| (index, state)));
        }
        let mut found: FxHashSet<LanguageSet> = FxHashSet::default();
        let mut edges: FxHashMap<StateId, Edges> = FxHashMap::default();
        let mut states: Interner<JointState> = Interner::new();
        let mut next = states.intern(first.into());
        while next.index() < states.len() {
            let joint = states.get(next);
            let accepting = joint.iter().filter(|&&(_, state)| self.automata.is_accepting(state));
            let accepting: LanguageSet = accepting.map(|&(index, _)| index).collect();
            if !accepting.is_empty() {
                found.insert(accepting);
            }
            for target in self.joint_targets(joint, &mut edges)? {
                states.intern(target);
            }
            if found.len() > limits.sets || states.len() > limits.states {
                return Ok(None);
            }
            next = Id::at(next.index() as u32 + 1);
        }
        let mut found: Vec<LanguageSet> = found.into_iter().collect();
        found.sort_unstable();
        Ok(Some(found))
    }

    /// As [`Self::joint_membership`], for languages of which most occur in several calls: they are read once. `None` also for
    /// the first requests of few languages.
    pub(crate) fn known_membership(
        &mut self,
        terms: &[TermId],
        limits: JointLimits,
    ) -> Result<Option<Vec<LanguageSet>>, LimitExceeded> {
        let known = &self.memberships;
        if known.is_full || known.requests < MIN_REQUESTS && terms.len() < MIN_LANGUAGES {
            self.memberships.requests += 1;
            return Ok(None);
        }
        let mut all = known.terms.clone();
        all.extend(terms.iter().filter(|term| !known.terms.contains(term)));
        if all.len() > known.terms.len() {
            match self.joint_membership(&all, limits)? {
                Some(sets) => {
                    self.memberships.terms = all;
                    self.memberships.sets = sets;
                }
                None => {
                    self.memberships.is_full = true;
                    return Ok(None);
                }
            }
        }
        let known = &self.memberships;
        let position = |term| known.terms.iter().position(|other| other == term);
        let positions: Vec<u32> = terms.iter().filter_map(position).map(|position| position as u32).collect();
        let restricted = |set: &LanguageSet| -> LanguageSet {
            let is_in = |(_, position): &(u32, &u32)| set.binary_search(position).is_ok();
            (0..).zip(&positions).filter(is_in).map(|(index, _)| index).collect()
        };
        let mut sets: Vec<LanguageSet> = known.sets.iter().map(restricted).collect();
        sets.sort_unstable();
        sets.dedup();
        sets.retain(|set| !set.is_empty());
        Ok(Some(sets))
    }

    /// The joint states after one more byte, with few repetitions.
    fn joint_targets(
        &mut self,
        joint: &[(u32, StateId)],
        known_edges: &mut FxHashMap<StateId, Edges>,
    ) -> Result<Vec<JointState>, LimitExceeded> {
        // No edge distinguishes the bytes between two starts.
        let mut starts = ByteSet::EMPTY;
        let mut edges: Vec<Edges> = Vec::with_capacity(joint.len());
        for &(_, state) in joint {
            let of_state = match known_edges.get(&state) {
                Some(known) => known.clone(),
                None => {
                    let of_state = self.edges(state)?;
                    known_edges.insert(state, of_state.clone());
                    of_state
                }
            };
            for &(low, high, _) in &of_state[..] {
                starts.insert(low);
                if let Some(next) = high.checked_add(1) {
                    starts.insert(next);
                }
            }
            edges.push(of_state);
        }
        let starts: Vec<u8> = starts.iter().collect();
        let mut targets: Vec<Vec<(u32, StateId)>> = vec![Vec::new(); starts.len()];
        for (&(language, _), edges) in joint.iter().zip(&edges) {
            for &(low, high, target) in &edges[..] {
                let first = starts.partition_point(|&start| start < low);
                let is_below = |start: &&u8| **start <= high;
                let count = starts[first..].iter().take_while(is_below).count();
                targets[first..first + count].iter_mut().for_each(|joint| joint.push((language, target)));
            }
        }
        targets.dedup();
        Ok(targets.into_iter().filter(|joint| !joint.is_empty()).map(Into::into).collect())
    }

    /// The transitions of a state to live states, over maximal ranges of bytes.
    fn edges(&mut self, state: StateId) -> Result<Edges, LimitExceeded> {
        let mut edges: Vec<(u8, u8, StateId)> = Vec::new();
        for (bytes, target) in self.automata.successors(state)? {
            for (low, high) in bytes.ranges() {
                match edges.last_mut() {
                    Some((_, end, other)) if *other == target && end.checked_add(1) == Some(low) => {
                        *end = high;
                    }
                    _ => edges.push((low, high, target)),
                }
            }
        }
        Ok(edges.into())
    }
}
