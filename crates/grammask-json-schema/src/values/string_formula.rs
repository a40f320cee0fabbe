//! Formulas about strings, for constraints that are not regular: a maximum number of tokens, and contents.
//!
//! A set of strings without such constraints is a pair of regular languages. Any other is a formula over regular sets,
//! maxima and contents. Its regular hull, a pair of supersets of the strings inside and outside, decides emptiness and
//! disjointness soundly. A formula becomes alternatives ([`StringCase`]) when it is emitted.

use crate::values::formula::{FoldedNode, Formula, FormulaArena, FormulaId, Literal, falsehood, truth};
use crate::values::formulas::Formulas;
use crate::values::literals::ValueFormula;
use crate::values::scalar_languages::ScalarLanguages;
use crate::values::scalar_languages::StringSet;
use grammask_automata::TermId;
use grammask_automata::encoding::BaseEncoding;

/// Maximum number of alternatives of the strings at a place.
const MAX_CASES: usize = 64;

/// The texts that strings hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ContentTexts {
    /// The texts of a grammar of the options.
    Media(usize),
    /// JSON texts of the values that satisfy a formula.
    Json(ValueFormula),
}

/// The content of strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Content {
    pub(crate) texts: ContentTexts,
    /// The encoding of the texts in the strings.
    pub(crate) encoding: Option<BaseEncoding>,
}

/// An assertion about a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StringAssertion {
    /// It is in a regular set.
    Regular(StringSet),
    /// It takes at most this number of tokens, without its quotes.
    AtMostTokens(u32),
    /// It takes more than this number of tokens.
    MoreTokens(u32),
    /// It holds a content.
    Holds(Content),
    /// It does not hold a content.
    HoldsNot(Content),
}

impl StringAssertion {
    /// The negation.
    pub(crate) fn negation(self) -> Self {
        match self {
            Self::Regular(set) => Self::Regular(set.complement()),
            Self::AtMostTokens(tokens) => Self::MoreTokens(tokens),
            Self::MoreTokens(tokens) => Self::AtMostTokens(tokens),
            Self::Holds(content) => Self::HoldsNot(content),
            Self::HoldsNot(content) => Self::Holds(content),
        }
    }
}

impl Literal for StringAssertion {
    fn opposite(&self) -> Option<Self> {
        match self {
            // An undecided set may be its own complement.
            Self::Regular(_) => None,
            _ => Some(self.negation()),
        }
    }
}

/// A formula about a string.
pub(crate) type StringFormula = FormulaId<StringAssertion>;

/// A set of strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Strings {
    /// The set, or the regular hull of the formula.
    pub(crate) regular: StringSet,
    /// The set, if it is not regular.
    pub(crate) formula: Option<StringFormula>,
}

impl Strings {
    pub(crate) fn of_set(set: StringSet) -> Self {
        Self { regular: set, formula: None }
    }

    /// The strings that satisfy `assertion`, which is not about a regular set.
    pub(crate) fn asserted(
        languages: &ScalarLanguages,
        formulas: &mut Formulas,
        assertion: StringAssertion,
    ) -> Self {
        // Every string may be inside and outside.
        let all = languages.any_string.yes;
        let regular = StringSet { yes: all, no: all };
        Self { regular, formula: Some(formulas.strings.literal(assertion)) }
    }

    /// Whether certainly no string is in the set.
    pub(crate) fn is_plainly_empty(self, languages: &ScalarLanguages) -> bool {
        self.regular.yes == languages.any_string.no
    }

    /// The strings in every one of `sets`.
    pub(crate) fn intersection(
        sets: &[Self],
        languages: &mut ScalarLanguages,
        formulas: &mut Formulas,
    ) -> Self {
        let hull = languages.intersect_strings(sets.iter().map(|set| set.regular));
        if sets.iter().all(|set| set.formula.is_none()) {
            return Self::of_set(hull);
        }
        let parts: Vec<StringFormula> = sets.iter().map(|set| set.as_formula(languages, formulas)).collect();
        let formula = formulas.strings.and(parts);
        Self::of_formula(formula, hull, languages, formulas)
    }

    /// The strings in at least one of `sets`.
    pub(crate) fn union(sets: &[Self], languages: &mut ScalarLanguages, formulas: &mut Formulas) -> Self {
        let outside = languages.intersect_strings(sets.iter().map(|set| set.regular.complement()));
        if sets.iter().all(|set| set.formula.is_none()) {
            return Self::of_set(outside.complement());
        }
        let parts: Vec<StringFormula> = sets.iter().map(|set| set.as_formula(languages, formulas)).collect();
        let formula = formulas.strings.or(parts);
        Self::of_formula(formula, outside.complement(), languages, formulas)
    }

    /// The strings outside the set.
    pub(crate) fn complement(self, languages: &ScalarLanguages, formulas: &mut Formulas) -> Self {
        let outside = self.regular.complement();
        match self.formula {
            None => Self::of_set(outside),
            Some(formula) => {
                let negated = formulas.negated_string(formula);
                Self::of_formula(negated, outside, languages, formulas)
            }
        }
    }

    /// The set as a formula.
    fn as_formula(self, languages: &ScalarLanguages, formulas: &mut Formulas) -> StringFormula {
        match self.formula {
            Some(formula) => formula,
            None if self.regular == languages.any_string => truth(),
            None if self.is_plainly_empty(languages) => falsehood(),
            None => formulas.strings.literal(StringAssertion::Regular(self.regular)),
        }
    }

    /// The set of a formula with a regular hull.
    fn of_formula(
        formula: StringFormula,
        hull: StringSet,
        languages: &ScalarLanguages,
        formulas: &Formulas,
    ) -> Self {
        let set = Self { regular: hull, formula: Some(formula) };
        match formulas.strings.get(formula) {
            _ if set.is_plainly_empty(languages) => Self::of_set(languages.any_string.complement()),
            Formula::False => Self::of_set(languages.any_string.complement()),
            Formula::True => Self::of_set(languages.any_string),
            Formula::Literal(StringAssertion::Regular(set)) => Self::of_set(*set),
            _ => set,
        }
    }
}

/// One of several alternatives: the strings under all of its constraints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StringCase {
    /// The regular sets, which hold the encodings inside.
    pub(crate) regular: Vec<TermId>,
    pub(crate) max_tokens: Option<u32>,
    /// Contents that all strings hold.
    pub(crate) contents: Vec<Content>,
    /// Contents that no string holds.
    pub(crate) excluded: Vec<Content>,
    /// Whether the strings have a minimum number of tokens.
    pub(crate) has_min_tokens: bool,
}

impl StringCase {
    fn of_literal(literal: StringAssertion) -> Self {
        let mut case = Self::default();
        match literal {
            StringAssertion::Regular(set) => case.regular.push(set.yes),
            StringAssertion::AtMostTokens(tokens) => case.max_tokens = Some(tokens),
            StringAssertion::MoreTokens(_) => case.has_min_tokens = true,
            StringAssertion::Holds(content) => case.contents.push(content),
            StringAssertion::HoldsNot(content) => case.excluded.push(content),
        }
        case
    }

    fn and(&self, other: &Self) -> Self {
        let mut both = self.clone();
        let add = |list: &mut Vec<Content>, others: &[Content]| {
            for &content in others {
                if !list.contains(&content) {
                    list.push(content);
                }
            }
        };
        both.regular.extend(&other.regular);
        add(&mut both.contents, &other.contents);
        add(&mut both.excluded, &other.excluded);
        both.has_min_tokens |= other.has_min_tokens;
        both.max_tokens = match (self.max_tokens, other.max_tokens) {
            (Some(own), Some(other)) => Some(own.min(other)),
            (own, other) => own.or(other),
        };
        both
    }
}

/// The alternatives of a formula, its disjunctive normal form; `None` if there are too many.
pub(crate) fn cases(
    arena: &FormulaArena<StringAssertion>,
    formula: StringFormula,
) -> Option<Vec<StringCase>> {
    arena.fold(formula, |node| match node {
        FoldedNode::False => Some(Vec::new()),
        FoldedNode::True => Some(vec![StringCase::default()]),
        FoldedNode::Literal(&literal) => Some(vec![StringCase::of_literal(literal)]),
        FoldedNode::And(parts) => {
            let mut product = vec![StringCase::default()];
            for part in parts {
                let part: Vec<StringCase> = part?;
                if product.len() * part.len() > MAX_CASES {
                    return None;
                }
                product =
                    product.iter().flat_map(|one| part.iter().map(move |other| one.and(other))).collect();
            }
            Some(product)
        }
        FoldedNode::Or(parts) => {
            let mut all: Vec<StringCase> = Vec::new();
            for part in parts {
                for case in part? {
                    if !all.contains(&case) {
                        all.push(case);
                    }
                }
            }
            (all.len() <= MAX_CASES).then_some(all)
        }
    })
}
