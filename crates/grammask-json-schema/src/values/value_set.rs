//! Sets of JSON values: one component per JSON type. *And*, *or* and *not* act on each component separately.
//!
//! Booleans are a set of two flags. Numbers and strings are pairs of regular languages over encoded values: values
//! certainly inside the set, and values certainly outside. A value on which a constraint is undecided, or the effect of
//! a relaxed constraint, is in neither language or in both, which stays sound under nested negation. Strings with
//! constraints that are not regular, arrays and objects are formulas.

use crate::numbers::NumberSet;
use crate::values::formula::{falsehood, truth};
use crate::values::formulas::Formulas;
use crate::values::literals::{ArrayFormula, ObjectFormula};
use crate::values::scalar_languages::ScalarLanguages;
use crate::values::string_formula::Strings;
use grammask_diagnostics::LimitExceeded;

/// A set of booleans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Booleans {
    pub(crate) falsehood: bool,
    pub(crate) truth: bool,
}

/// A set of JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ValueSet {
    pub(crate) null: bool,
    pub(crate) booleans: Booleans,
    pub(crate) number: NumberSet,
    pub(crate) string: Strings,
    pub(crate) array: ArrayFormula,
    pub(crate) object: ObjectFormula,
}

impl ValueSet {
    /// All values.
    pub(crate) fn any(languages: &ScalarLanguages) -> Self {
        Self {
            null: true,
            booleans: Booleans { falsehood: true, truth: true },
            number: languages.any_number,
            string: Strings::of_set(languages.any_string),
            array: truth(),
            object: truth(),
        }
    }

    /// No value.
    pub(crate) fn none(languages: &ScalarLanguages) -> Self {
        Self {
            null: false,
            booleans: Booleans { falsehood: false, truth: false },
            number: NumberSet::not(languages.any_number),
            string: Strings::of_set(languages.any_string.complement()),
            array: falsehood(),
            object: falsehood(),
        }
    }

    /// The values in both sets.
    pub(crate) fn and(self, other: Self, languages: &mut ScalarLanguages, formulas: &mut Formulas) -> Self {
        Self {
            null: self.null && other.null,
            booleans: Booleans {
                falsehood: self.booleans.falsehood && other.booleans.falsehood,
                truth: self.booleans.truth && other.booleans.truth,
            },
            number: languages.intersect_numbers([self.number, other.number]),
            string: Strings::intersection(&[self.string, other.string], languages, formulas),
            array: formulas.arrays.and([self.array, other.array]),
            object: formulas.objects.and([self.object, other.object]),
        }
    }

    /// The values in every one of `sets`; all values for an empty list.
    pub(crate) fn intersection(
        sets: &[Self],
        languages: &mut ScalarLanguages,
        formulas: &mut Formulas,
    ) -> Self {
        let mut all = Self::any(languages);
        for set in sets {
            all.null &= set.null;
            all.booleans.falsehood &= set.booleans.falsehood;
            all.booleans.truth &= set.booleans.truth;
        }
        all.number = languages.intersect_numbers(sets.iter().map(|set| set.number));
        let strings: Vec<Strings> = sets.iter().map(|set| set.string).collect();
        all.string = Strings::intersection(&strings, languages, formulas);
        all.array = formulas.arrays.and(sets.iter().map(|set| set.array));
        all.object = formulas.objects.and(sets.iter().map(|set| set.object));
        all
    }

    /// The values in at least one of `sets`; no value for an empty list.
    pub(crate) fn union(sets: &[Self], languages: &mut ScalarLanguages, formulas: &mut Formulas) -> Self {
        let mut any = Self::none(languages);
        for set in sets {
            any.null |= set.null;
            any.booleans.falsehood |= set.booleans.falsehood;
            any.booleans.truth |= set.booleans.truth;
        }
        any.number = languages.unite_numbers(sets.iter().map(|set| set.number));
        let strings: Vec<Strings> = sets.iter().map(|set| set.string).collect();
        any.string = Strings::union(&strings, languages, formulas);
        any.array = formulas.arrays.or(sets.iter().map(|set| set.array));
        any.object = formulas.objects.or(sets.iter().map(|set| set.object));
        any
    }

    /// The values outside the set.
    pub(crate) fn complement(self, languages: &ScalarLanguages, formulas: &mut Formulas) -> Self {
        Self {
            null: !self.null,
            booleans: Booleans { falsehood: !self.booleans.falsehood, truth: !self.booleans.truth },
            number: NumberSet::not(self.number),
            string: self.string.complement(languages, formulas),
            array: formulas.negated_array(self.array),
            object: formulas.negated_object(self.object),
        }
    }

    /// Whether every component is empty; a formula counts as empty only if it is falsehood itself.
    pub(crate) fn is_plainly_empty(self, languages: &mut ScalarLanguages) -> Result<bool, LimitExceeded> {
        Ok(!self.null
            && !self.booleans.falsehood
            && !self.booleans.truth
            && !self.has_containers()
            && languages.is_empty(self.number.yes)?
            && languages.is_empty(self.string.regular.yes)?)
    }

    /// Whether the set may contain arrays or objects.
    pub(crate) fn has_containers(self) -> bool {
        self.array != falsehood() || self.object != falsehood()
    }
}
