//! The formula arenas of one translation, the interned names that formulas mention, and negation.

use rustc_hash::FxHashMap;

use crate::document::resources::Location;
use crate::interner::{Id, Interner};
use crate::values::formula::{Formula, FormulaArena, FormulaId, Literal, ValuesById, falsehood, truth};
use crate::values::literals::{
    ArrayAssertion, ArrayFormula, NameSet, ObjectAssertion, ObjectFormula, Satisfies, SeenItems, ValueFormula,
};
use crate::values::scalar_languages::ScalarLanguages;
use crate::values::string_formula::{StringAssertion, StringFormula};
use grammask_automata::TermId;
use grammask_diagnostics::LimitExceeded;

/// An interned member name.
pub(crate) type NameId = Id<Box<str>>;

/// Member names in the order of the schema.
pub(crate) type NameList = Box<[NameId]>;

/// The constraints of a conjunction on the member of one name.
#[derive(Debug, Default)]
pub(crate) struct MemberConstraints {
    pub(crate) values: Vec<ValueFormula>,
    pub(crate) required: bool,
}

impl MemberConstraints {
    /// Adds "if present, the member satisfies `value`".
    pub(crate) fn constrain(&mut self, value: ValueFormula) {
        self.values.push(value);
    }

    /// Adds "the member is present and satisfies `value`".
    pub(crate) fn require(&mut self, value: ValueFormula) {
        self.values.push(value);
        self.required = true;
    }
}

/// Formulas about values, strings, arrays and objects; ids are valid in the arena of their kind only.
pub(crate) struct Formulas {
    pub(crate) values: FormulaArena<Satisfies>,
    pub(crate) strings: FormulaArena<StringAssertion>,
    pub(crate) arrays: FormulaArena<ArrayAssertion>,
    pub(crate) objects: FormulaArena<ObjectAssertion>,
    pub(crate) names: Interner<Box<str>>,
    pub(crate) name_lists: Interner<NameList>,
    pub(crate) name_sets: Interner<NameSet>,
    pub(crate) item_sets: Interner<SeenItems>,
    /// The locations of `uniqueItems`.
    pub(crate) unique_keywords: Vec<Location>,
    /// Memo table of negations; symmetric.
    negations: FxHashMap<ValueFormula, ValueFormula>,
    /// Memo table of [`Self::has_name`].
    memberships: FxHashMap<(Id<NameSet>, NameId), bool>,
}

impl Formulas {
    pub(crate) fn new() -> Self {
        Self {
            values: FormulaArena::new(),
            strings: FormulaArena::new(),
            arrays: FormulaArena::new(),
            objects: FormulaArena::new(),
            names: Interner::new(),
            name_lists: Interner::new(),
            name_sets: Interner::new(),
            item_sets: Interner::new(),
            unique_keywords: Vec::new(),
            negations: FxHashMap::default(),
            memberships: FxHashMap::default(),
        }
    }

    /// The number of formulas and operands in all arenas.
    pub(crate) fn size(&self) -> usize {
        self.values.size() + self.strings.size() + self.arrays.size() + self.objects.size()
    }

    pub(crate) fn name(&mut self, name: &str) -> NameId {
        self.names.intern(name.into())
    }

    /// "If the member `name` is present, it satisfies `value`."
    pub(crate) fn if_present(&mut self, name: NameId, value: ValueFormula) -> ObjectFormula {
        if value == truth() { truth() } else { self.objects.literal(ObjectAssertion::If(name, value)) }
    }

    /// "The member `name` is present and satisfies `value`."
    pub(crate) fn has_member(&mut self, name: NameId, value: ValueFormula) -> ObjectFormula {
        if value == falsehood() {
            falsehood()
        } else {
            self.objects.literal(ObjectAssertion::Has(name, value))
        }
    }

    /// "Each member with a name in `names` satisfies `value`."
    pub(crate) fn each_member(&mut self, names: Id<NameSet>, value: ValueFormula) -> ObjectFormula {
        if value == truth() { truth() } else { self.objects.literal(ObjectAssertion::Each(names, value)) }
    }

    /// "Some member with a name in `names` satisfies `value`."
    pub(crate) fn some_member(&mut self, names: Id<NameSet>, value: ValueFormula) -> ObjectFormula {
        if value == falsehood() {
            falsehood()
        } else {
            self.objects.literal(ObjectAssertion::Some(names, value))
        }
    }

    /// "Each item from position `first` on satisfies `value`."
    pub(crate) fn each_item(&mut self, first: u32, value: ValueFormula) -> ArrayFormula {
        if value == truth() {
            truth()
        } else if value == falsehood() {
            self.arrays.literal(ArrayAssertion::AtMost(first))
        } else {
            self.arrays.literal(ArrayAssertion::Each(first, value))
        }
    }

    /// All names except `names` and those in a language of `patterns`.
    pub(crate) fn other_names(&mut self, names: NameList, mut patterns: Vec<TermId>) -> Id<NameSet> {
        let mut names = names.into_vec();
        names.sort_unstable();
        names.dedup();
        patterns.sort_unstable();
        patterns.dedup();
        self.name_sets.intern(if names.is_empty() && patterns.is_empty() {
            NameSet::All
        } else {
            NameSet::Others { names: names.into(), patterns: patterns.into() }
        })
    }

    /// Whether `set` contains `name`.
    pub(crate) fn has_name(
        &mut self,
        languages: &mut ScalarLanguages,
        set: Id<NameSet>,
        name: NameId,
    ) -> Result<bool, LimitExceeded> {
        if let Some(&cached) = self.memberships.get(&(set, name)) {
            return Ok(cached);
        }
        let contains = match self.name_sets.get(set) {
            NameSet::All => true,
            &NameSet::Matching(pattern) | &NameSet::Refused { names: pattern, .. } => {
                self.pattern_matches(languages, pattern, name)?
            }
            NameSet::Others { names, patterns } => {
                let mut outside = names.binary_search(&name).is_err();
                for &pattern in patterns {
                    outside = outside && !self.pattern_matches(languages, pattern, name)?;
                }
                outside
            }
        };
        self.memberships.insert((set, name), contains);
        Ok(contains)
    }

    fn pattern_matches(
        &self,
        languages: &mut ScalarLanguages,
        pattern: TermId,
        name: NameId,
    ) -> Result<bool, LimitExceeded> {
        let word = languages.encoding.literal(languages.automata.terms_mut(), self.names.get(name));
        Ok(!languages.are_disjoint(pattern, word)?)
    }

    /// The negation of a formula about arrays.
    pub(crate) fn negated_array(&mut self, formula: ArrayFormula) -> ArrayFormula {
        let mut negated = ValuesById::default();
        for id in self.arrays.descendants(formula) {
            let result = match negated_node(&mut self.arrays, id, &negated) {
                Ok(result) => result,
                Err(literal) => self.negated_array_literal(literal),
            };
            negated.push(id, result);
        }
        negated[formula]
    }

    fn negated_array_literal(&mut self, literal: ArrayAssertion) -> ArrayFormula {
        let literal = match literal {
            ArrayAssertion::If(at, value) => ArrayAssertion::Has(at, self.negated_value(value)),
            ArrayAssertion::Has(at, value) => ArrayAssertion::If(at, self.negated_value(value)),
            ArrayAssertion::Each(from, value) => ArrayAssertion::Some(from, self.negated_value(value)),
            ArrayAssertion::Some(from, value) => ArrayAssertion::Each(from, self.negated_value(value)),
            ArrayAssertion::AtLeast(0) | ArrayAssertion::MatchAtLeast(0, _) => return falsehood(),
            ArrayAssertion::AtMost(u32::MAX) | ArrayAssertion::MatchAtMost(u32::MAX, _) => {
                return falsehood();
            }
            ArrayAssertion::AtLeast(min) => ArrayAssertion::AtMost(min - 1),
            ArrayAssertion::AtMost(max) => ArrayAssertion::AtLeast(max + 1),
            ArrayAssertion::MatchAtLeast(min, value) => ArrayAssertion::MatchAtMost(min - 1, value),
            ArrayAssertion::MatchAtMost(max, value) => ArrayAssertion::MatchAtLeast(max + 1, value),
            ArrayAssertion::Unique(seen) => ArrayAssertion::Repeated(seen),
            ArrayAssertion::Repeated(seen) => ArrayAssertion::Unique(seen),
        };
        self.arrays.literal(literal)
    }

    /// The negation of a formula about strings.
    pub(crate) fn negated_string(&mut self, formula: StringFormula) -> StringFormula {
        let mut negated = ValuesById::default();
        for id in self.strings.descendants(formula) {
            let result = match negated_node(&mut self.strings, id, &negated) {
                Ok(result) => result,
                Err(literal) => self.strings.literal(literal.negation()),
            };
            negated.push(id, result);
        }
        negated[formula]
    }

    /// The negation of a formula about objects.
    pub(crate) fn negated_object(&mut self, formula: ObjectFormula) -> ObjectFormula {
        let mut negated = ValuesById::default();
        for id in self.objects.descendants(formula) {
            let result = match negated_node(&mut self.objects, id, &negated) {
                Ok(result) => result,
                Err(literal) => self.negated_object_literal(literal),
            };
            negated.push(id, result);
        }
        negated[formula]
    }

    fn negated_object_literal(&mut self, literal: ObjectAssertion) -> ObjectFormula {
        match literal {
            ObjectAssertion::If(name, value) => {
                let value = self.negated_value(value);
                self.has_member(name, value)
            }
            ObjectAssertion::Has(name, value) => {
                let value = self.negated_value(value);
                self.if_present(name, value)
            }
            ObjectAssertion::Each(names, value) => {
                let (names, value) = (self.negated_names(names), self.negated_value(value));
                self.some_member(names, value)
            }
            ObjectAssertion::Some(names, value) => {
                let (names, value) = (self.negated_names(names), self.negated_value(value));
                self.each_member(names, value)
            }
            ObjectAssertion::AtLeast(0) | ObjectAssertion::AtMost(u32::MAX) => falsehood(),
            ObjectAssertion::AtLeast(min) => self.objects.literal(ObjectAssertion::AtMost(min - 1)),
            ObjectAssertion::AtMost(max) => self.objects.literal(ObjectAssertion::AtLeast(max + 1)),
            ObjectAssertion::Declares(_) => falsehood(),
            // The negation of a relaxed constraint is not enforced either.
            ObjectAssertion::Relaxed => self.objects.literal(literal),
        }
    }

    /// The set that the negation of an assertion about `set` is about.
    fn negated_names(&mut self, set: Id<NameSet>) -> Id<NameSet> {
        match *self.name_sets.get(set) {
            NameSet::Refused { names, negated } => {
                self.name_sets.intern(NameSet::Refused { names: negated, negated: names })
            }
            _ => set,
        }
    }

    /// The negation of a formula about a value.
    pub(crate) fn negated_value(&mut self, formula: ValueFormula) -> ValueFormula {
        if let Some(&cached) = self.negations.get(&formula) {
            return cached;
        }
        let mut negated = ValuesById::default();
        for id in self.values.descendants(formula) {
            let result = match negated_node(&mut self.values, id, &negated) {
                Ok(result) => result,
                Err(Satisfies { schema, negated }) => {
                    self.values.literal(Satisfies { schema, negated: !negated })
                }
            };
            negated.push(id, result);
        }
        let result = negated[formula];
        self.negations.insert(formula, result);
        self.negations.insert(result, formula);
        result
    }
}

/// The negation of a node from the negations of its children (De Morgan); a literal is the error.
fn negated_node<L: Literal>(
    arena: &mut FormulaArena<L>,
    id: FormulaId<L>,
    negated: &ValuesById<L, FormulaId<L>>,
) -> Result<FormulaId<L>, L> {
    Ok(match arena.get(id).clone() {
        Formula::False => truth(),
        Formula::True => falsehood(),
        Formula::And(parts) => arena.or(parts.iter().map(|&part| negated[part])),
        Formula::Or(parts) => arena.and(parts.iter().map(|&part| negated[part])),
        Formula::Literal(literal) => return Err(literal),
    })
}
