//! Equivalence classes of the member names that a schema does not declare.

use crate::values::formula::{Formula, falsehood};
use crate::values::formulas::{Formulas, NameId};
use crate::values::literals::{NameSet, ObjectAssertion, ObjectFormula};
use crate::values::scalar_languages::ScalarLanguages;
use grammask_automata::TermId;
use grammask_diagnostics::{LimitExceeded, Limits};
use rustc_hash::FxHashSet;

/// Bound on the number of name classes; more than the patterns of any schema of the corpus make.
const MAX_NAME_CLASSES: usize = 1024;

/// An equivalence class of the names that are not declared: those that match the same patterns.
#[derive(Clone, Debug)]
pub(super) struct NameClass {
    pub(super) names: TermId,
    /// The names before those that are declared were excluded.
    pub(super) before_declared: TermId,
    patterns: FxHashSet<TermId>,
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
    // Without other names the classes are not needed.
    let forbids_others = formulas.objects.conjuncts(formula).into_iter().any(|part| {
        matches!(formulas.objects.get(part), Formula::Literal(ObjectAssertion::Each(set, value))
        if *value == falsehood() && match formulas.name_sets.get(*set) {
            NameSet::All => true,
            NameSet::Others { patterns, .. } => patterns.is_empty(),
            NameSet::Matching(_) | NameSet::Refused { .. } => false,
        })
    });
    if forbids_others {
        return Ok(Vec::new());
    }
    let any_string = languages.any_string.yes;
    let (terms, encoding) = (languages.automata.terms_mut(), &mut languages.encoding);
    let declared = encoding.literals(terms, names.iter().map(|&name| &**formulas.names.get(name)));
    let others = if names.is_empty() { any_string } else { encoding.complement(terms, declared) };
    let mut classes =
        vec![NameClass { names: others, before_declared: any_string, patterns: FxHashSet::default() }];
    for pattern in patterns {
        let terms = languages.automata.terms_mut();
        let not_matching = languages.encoding.complement(terms, pattern);
        let mut split = Vec::with_capacity(classes.len() + 1);
        for class in classes {
            let terms = languages.automata.terms_mut();
            let (inside, outside) = (
                terms.intersection(&[class.names, pattern]),
                terms.intersection(&[class.names, not_matching]),
            );
            let (is_outside, is_inside) = (languages.is_empty(inside)?, languages.is_empty(outside)?);
            // A class that is not split keeps its simpler term.
            if !is_inside {
                let names = if is_outside { class.names } else { outside };
                let before_declared = if is_outside {
                    class.before_declared
                } else {
                    let terms = languages.automata.terms_mut();
                    terms.intersection(&[class.before_declared, not_matching])
                };
                split.push(NameClass { names, before_declared, patterns: class.patterns.clone() });
            }
            if !is_outside {
                let names = match (is_inside, class.names == any_string) {
                    (true, _) => class.names,
                    (false, true) => pattern,
                    (false, false) => inside,
                };
                let before_declared = match (is_inside, class.before_declared == any_string) {
                    (true, _) => class.before_declared,
                    (false, true) => pattern,
                    (false, false) => {
                        let terms = languages.automata.terms_mut();
                        terms.intersection(&[class.before_declared, pattern])
                    }
                };
                let mut patterns = class.patterns;
                patterns.insert(pattern);
                split.push(NameClass { names, before_declared, patterns });
            }
        }
        classes = split;
        if classes.len() > MAX_NAME_CLASSES {
            return Err(LimitExceeded::new("grammar_size", limits.grammar_size));
        }
    }
    Ok(classes)
}
