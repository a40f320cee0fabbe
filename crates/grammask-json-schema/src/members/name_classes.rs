//! Equivalence classes of the member names that a schema does not declare.
//!
//! n patterns split the names into up to 2^n classes, and a pattern splits a class if some name of the class matches it
//! and some does not. One walk over the joint states of all patterns finds which of them have names in common. Patterns
//! that occur anywhere in a name have too many joint states for that. So each class keeps a witness, a name in it, and
//! names that are likely on the other side are tried before a search: those made of the witness and a word of the pattern.

use crate::values::formula::{Formula, falsehood};
use crate::values::formulas::{Formulas, NameId};
use crate::values::joint_membership::{JointLimits, LanguageSet};
use crate::values::literals::{NameSet, ObjectAssertion, ObjectFormula};
use crate::values::scalar_languages::ScalarLanguages;
use grammask_automata::TermId;
use grammask_diagnostics::{LimitExceeded, Limits};
use rustc_hash::FxHashSet;

/// Bound on the number of name classes; more than the patterns of any schema of the corpus make.
const MAX_NAME_CLASSES: usize = 1024;

/// Bounds on the joint search: more states than the patterns of a schema that are anchored have.
const JOINT_LIMITS: JointLimits = JointLimits { sets: MAX_NAME_CLASSES, states: 4096 };

/// An equivalence class of the names that are not declared: those that match the same patterns.
#[derive(Clone, Debug)]
pub(super) struct NameClass {
    pub(super) names: TermId,
    /// The names before those that are declared were excluded.
    pub(super) before_declared: TermId,
    patterns: FxHashSet<TermId>,
    /// A name in the class, if one was found.
    witness: Option<Box<[u8]>>,
    /// The sets of patterns that names of the class match, as positions after that of [`NameSearch::others`], if they are
    /// known.
    memberships: Option<Vec<LanguageSet>>,
}

impl NameClass {
    /// Whether the class is a subset of `set`; otherwise it is disjoint from it.
    pub(super) fn is_in(&self, set: &NameSet) -> bool {
        match set {
            NameSet::All => true,
            NameSet::Matching(pattern) | NameSet::Refused { names: pattern, .. } => {
                self.patterns.contains(pattern)
            }
            NameSet::Others { patterns, .. } => {
                !patterns.iter().any(|pattern| self.patterns.contains(pattern))
            }
        }
    }
}

/// The equivalence classes of undeclared names under the patterns that `formula` mentions.
pub(super) fn name_classes(
    languages: &mut ScalarLanguages,
    formulas: &Formulas,
    limits: &Limits,
    formula: ObjectFormula,
    names: &[NameId],
) -> Result<Vec<NameClass>, LimitExceeded> {
    if forbids_others(formulas, formula) {
        return Ok(Vec::new());
    }
    let patterns = patterns_of(formulas, formula);
    let any_string = languages.any_string.yes;
    let (terms, encoding) = (languages.automata.terms_mut(), &mut languages.encoding);
    let declared = encoding.literals(terms, names.iter().map(|&name| &**formulas.names.get(name)));
    let others = if names.is_empty() { any_string } else { encoding.complement(terms, declared) };
    let joint: Vec<TermId> = std::iter::once(others).chain(patterns.iter().copied()).collect();
    let memberships = match patterns[..] {
        [] | [_] => None,
        _ => languages.known_membership(&joint, JOINT_LIMITS)?,
    };
    // The other sets are those of declared names.
    let memberships: Option<Vec<LanguageSet>> =
        memberships.map(|sets| sets.into_iter().filter(|set| set.first() == Some(&0)).collect());
    let witness = if memberships.is_some() { None } else { languages.near_word(others)? };
    let mut search = NameSearch { languages, others, patterns: Vec::new(), words: Vec::new() };
    let mut classes = vec![NameClass {
        names: others,
        before_declared: any_string,
        patterns: FxHashSet::default(),
        witness,
        memberships,
    }];
    for pattern in patterns {
        let not_matching =
            search.languages.encoding.complement(search.languages.automata.terms_mut(), pattern);
        if classes.iter().any(|class| class.memberships.is_none()) {
            search.add_words(pattern, not_matching)?;
        }
        let mut split = Vec::with_capacity(classes.len() + 1);
        for class in classes {
            split.extend(search.split(class, pattern, not_matching)?.into_iter().flatten());
        }
        search.patterns.push(pattern);
        classes = split;
        if classes.len() > MAX_NAME_CLASSES {
            return Err(LimitExceeded::new("grammar_size", limits.grammar_size));
        }
    }
    Ok(classes)
}

/// The patterns of names that a formula mentions.
fn patterns_of(formulas: &Formulas, formula: ObjectFormula) -> Vec<TermId> {
    let mut patterns = Vec::new();
    for literal in formulas.objects.literals(formula) {
        if let ObjectAssertion::Each(set, _) | ObjectAssertion::Some(set, _) = literal {
            match formulas.name_sets.get(set) {
                NameSet::All => {}
                NameSet::Matching(pattern) | NameSet::Refused { names: pattern, .. } => {
                    patterns.push(*pattern)
                }
                NameSet::Others { patterns: excluded, .. } => patterns.extend(excluded.iter().copied()),
            }
        }
    }
    patterns.sort_unstable();
    patterns.dedup();
    patterns
}

/// Whether a conjunct forbids all names that are not declared, so that their classes are not needed.
fn forbids_others(formulas: &Formulas, formula: ObjectFormula) -> bool {
    formulas.objects.conjuncts(formula).into_iter().any(|part| {
        matches!(formulas.objects.get(part), Formula::Literal(ObjectAssertion::Each(set, value))
        if *value == falsehood() && match formulas.name_sets.get(*set) {
            NameSet::All => true,
            NameSet::Others { patterns, .. } => patterns.is_empty(),
            NameSet::Matching(_) | NameSet::Refused { .. } => false,
        })
    })
}

/// The names of a class that match a pattern, or do not match it.
#[derive(Clone, Copy)]
struct ClassSide<'a> {
    class: &'a NameClass,
    names: TermId,
    pattern: TermId,
    is_matching: bool,
}

/// A nonempty side, with the properties of its names as in [`NameClass`].
struct Found {
    witness: Option<Box<[u8]>>,
    memberships: Option<Vec<LanguageSet>>,
}

/// Searches for names of classes.
struct NameSearch<'l> {
    languages: &'l mut ScalarLanguages,
    /// The names that are not declared.
    others: TermId,
    /// The patterns that the classes are split by so far.
    patterns: Vec<TermId>,
    /// A word of each of these patterns and of the next one, and a word outside of each, if they are found near.
    words: Vec<[Box<[u8]>; 2]>,
}

impl NameSearch<'_> {
    /// The parts of a class that do not match the next pattern, and that match it; `None` for an empty part.
    fn split(
        &mut self,
        class: NameClass,
        pattern: TermId,
        not_matching: TermId,
    ) -> Result<[Option<NameClass>; 2], LimitExceeded> {
        let outside = self.intersection(class.names, not_matching);
        let inside = self.intersection(class.names, pattern);
        let side = ClassSide { class: &class, names: outside, pattern, is_matching: false };
        let without = self.find(side)?;
        let with = self.find(ClassSide { names: inside, is_matching: true, ..side })?;
        let is_split = with.is_some() && without.is_some();
        let mut matched = class.patterns.clone();
        matched.insert(pattern);
        let mut part = |found: Option<Found>, names, side, patterns| {
            let Found { witness, memberships } = found?;
            // A class that is not split keeps its simpler term.
            let (names, before_declared) = match is_split {
                true => (names, self.intersection(class.before_declared, side)),
                false => (class.names, class.before_declared),
            };
            Some(NameClass { names, before_declared, patterns, witness, memberships })
        };
        let without = part(without, outside, not_matching, class.patterns.clone());
        Ok([without, part(with, inside, pattern, matched)])
    }

    /// The names of both languages of names.
    fn intersection(&mut self, names: TermId, others: TermId) -> TermId {
        match names == self.languages.any_string.yes {
            true => others,
            false => self.languages.automata.terms_mut().intersection(&[names, others]),
        }
    }

    fn add_words(&mut self, pattern: TermId, not_matching: TermId) -> Result<(), LimitExceeded> {
        let inside = self.languages.near_word(pattern)?.unwrap_or_default();
        let outside = self.languages.near_word(not_matching)?.unwrap_or_default();
        self.words.push([inside, outside]);
        Ok(())
    }

    /// Whether a side has names.
    fn find(&mut self, side: ClassSide<'_>) -> Result<Option<Found>, LimitExceeded> {
        if let Some(of_class) = &side.class.memberships {
            let pattern = self.patterns.len() as u32 + 1;
            let is_in_side = |set: &&LanguageSet| set.contains(&pattern) == side.is_matching;
            let memberships: Vec<LanguageSet> = of_class.iter().filter(is_in_side).cloned().collect();
            if memberships.is_empty() {
                return Ok(None);
            }
            self.languages.automata.record_inhabited(side.names)?;
            return Ok(Some(Found { witness: None, memberships: Some(memberships) }));
        }
        for candidate in self.candidates(side) {
            if self.has_name(side, &candidate)? {
                self.languages.automata.record_inhabited(side.names)?;
                return Ok(Some(Found { witness: Some(candidate), memberships: None }));
            }
        }
        Ok((!self.languages.is_empty(side.names)?).then_some(Found { witness: None, memberships: None }))
    }

    /// Names that are likely to be on a side of the next pattern.
    fn candidates(&self, side: ClassSide<'_>) -> Vec<Box<[u8]>> {
        let mut candidates = Vec::new();
        let Some([word, _]) = self.words.last() else { return candidates };
        if let Some(witness) = &side.class.witness {
            candidates.push(witness.clone());
            if side.is_matching {
                candidates.push([&witness[..], word].concat().into());
                candidates.push([word, &witness[..]].concat().into());
            }
        }
        let is_matching = |pattern: &TermId| side.class.patterns.contains(pattern);
        let of_patterns = self.patterns.iter().map(is_matching).chain([side.is_matching]).zip(&self.words);
        let matching = of_patterns.filter(|&(is_matching, _)| is_matching);
        candidates.push(matching.flat_map(|(_, [word, _])| &word[..]).copied().collect());
        candidates.extend(self.words.iter().flatten().cloned());
        candidates
    }

    fn has_name(&mut self, side: ClassSide<'_>, name: &[u8]) -> Result<bool, LimitExceeded> {
        if self.languages.has_word(side.pattern, name)? != side.is_matching
            || !self.languages.has_word(self.others, name)?
        {
            return Ok(false);
        }
        for &pattern in &self.patterns {
            let is_matching = side.class.patterns.contains(&pattern);
            if self.languages.has_word(pattern, name)? != is_matching {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
