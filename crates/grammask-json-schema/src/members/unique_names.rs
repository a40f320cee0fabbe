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

use crate::emit::positions::ValuePosition;
use crate::emit::shared_residuals::DeclaredMember;
use crate::members::member_forms::{ClassMonomial, class_forms};
use crate::members::name_classes::NameClass;
use crate::options::UniqueNames;
use crate::values::formula::truth;
use crate::values::formulas::NameId;
use crate::values::literals::{ObjectAssertion, ObjectFormula};
use crate::values::name_counts::{MAX_LISTED_NAMES, NameCount};
use crate::values::value_sets::ValueSets;
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::ValueSupply;

/// Maximum number of listed names that residuals track: at most 2^8 sets of names that occurred.
const MAX_TRACKED_NAMES: usize = 8;

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
