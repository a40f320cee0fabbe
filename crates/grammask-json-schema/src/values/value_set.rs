//! Sets of JSON values: one component per JSON type. *And*, *or* and *not* act on each component separately.
//!
//! Booleans are a set of two flags. Numbers and strings are pairs of regular languages over encoded values: values
//! certainly inside the set, and values certainly outside. A value on which a constraint is undecided, or the effect of
//! a relaxed constraint, is in neither language or in both, which stays sound under nested negation. Arrays and objects
//! are formulas.

use crate::numbers::NumberSet;
use crate::values::formula::{falsehood, truth};
use crate::values::formulas::Formulas;
use crate::values::literals::{ArrayFormula, ObjectFormula};
use crate::values::scalar_languages::ScalarLanguages;
use grammask_automata::TermId;
use grammask_diagnostics::LimitExceeded;

/// A set of strings, as languages of their encodings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StringSet {
    /// Encodings of strings inside.
    pub(crate) yes: TermId,
    /// Encodings of strings outside.
    pub(crate) no: TermId,
}

impl StringSet {
    /// The strings outside the set.
    pub(crate) fn complement(self) -> Self {
        Self { yes: self.no, no: self.yes }
    }
}

/// A set of booleans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Booleans {
    pub(crate) falsehood: bool,
    pub(crate) truth: bool,
}

/// The maximum number of tokens that the strings of a set may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TokenLimit {
    /// No maximum.
    None,
    /// The same maximum for all strings.
    AtMost(u32),
    /// Some strings have a maximum and others have another one, which is not supported.
    Mixed,
}

impl TokenLimit {
    /// The limit of strings under both limits.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Mixed, _) | (_, Self::Mixed) => Self::Mixed,
            (Self::None, limit) | (limit, Self::None) => limit,
            (Self::AtMost(own), Self::AtMost(other)) => Self::AtMost(own.min(other)),
        }
    }

    /// The limit of the strings of a union.
    pub(crate) fn of_union(sets: &[ValueSet], languages: &ScalarLanguages) -> Self {
        let no_string = languages.any_string.complement().yes;
        let with_strings = sets.iter().filter(|set| set.string.yes != no_string);
        let mut limits = with_strings.map(|set| set.string_tokens);
        let first = limits.next().unwrap_or(Self::None);
        if limits.all(|limit| limit == first) { first } else { Self::Mixed }
    }

    /// The limit of the other strings. They have none of their own, and a double negation is not recognised.
    fn of_complement(self) -> Self {
        if self == Self::None { Self::None } else { Self::Mixed }
    }
}

/// A set of JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ValueSet {
    pub(crate) null: bool,
    pub(crate) booleans: Booleans,
    pub(crate) number: NumberSet,
    pub(crate) string: StringSet,
    /// The maximum number of tokens of each string, without its quotes.
    pub(crate) string_tokens: TokenLimit,
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
            string: languages.any_string,
            string_tokens: TokenLimit::None,
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
            string: languages.any_string.complement(),
            string_tokens: TokenLimit::None,
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
            number: languages.intersect_numbers(self.number, other.number),
            string: languages.intersect_strings(self.string, other.string),
            string_tokens: self.string_tokens.and(other.string_tokens),
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
            all.number = languages.intersect_numbers(all.number, set.number);
            all.string = languages.intersect_strings(all.string, set.string);
            all.string_tokens = all.string_tokens.and(set.string_tokens);
        }
        all.array = formulas.arrays.and(sets.iter().map(|set| set.array));
        all.object = formulas.objects.and(sets.iter().map(|set| set.object));
        all
    }

    /// The values in at least one of `sets`; no value for an empty list.
    pub(crate) fn union(sets: &[Self], languages: &mut ScalarLanguages, formulas: &mut Formulas) -> Self {
        let mut any = Self::none(languages);
        let (mut number, mut string) = (languages.any_number, languages.any_string);
        any.string_tokens = TokenLimit::of_union(sets, languages);
        for set in sets {
            any.null |= set.null;
            any.booleans.falsehood |= set.booleans.falsehood;
            any.booleans.truth |= set.booleans.truth;
            number = languages.intersect_numbers(number, NumberSet::not(set.number));
            string = languages.intersect_strings(string, set.string.complement());
        }
        any.number = NumberSet::not(number);
        any.string = string.complement();
        any.array = formulas.arrays.or(sets.iter().map(|set| set.array));
        any.object = formulas.objects.or(sets.iter().map(|set| set.object));
        any
    }

    /// The values outside the set.
    pub(crate) fn complement(self, formulas: &mut Formulas) -> Self {
        Self {
            null: !self.null,
            booleans: Booleans { falsehood: !self.booleans.falsehood, truth: !self.booleans.truth },
            number: NumberSet::not(self.number),
            string: self.string.complement(),
            string_tokens: self.string_tokens.of_complement(),
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
            && languages.is_empty(self.string.yes)?)
    }

    /// Whether the set may contain arrays or objects.
    pub(crate) fn has_containers(self) -> bool {
        self.array != falsehood() || self.object != falsehood()
    }
}
