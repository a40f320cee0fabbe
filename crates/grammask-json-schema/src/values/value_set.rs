//! The values that satisfy a schema, one part per JSON type; *and*, *or* and *not* act on each part by itself.
//!
//! Booleans are a set; numbers and strings are regular languages of spellings, in pairs: what surely belongs, and what
//! surely does not. A spelling on which a constraint is not decided, or a constraint that was left out, is in
//! neither or in both, and so stays sound under any number of negations. Arrays and objects are formulas.

use crate::numbers::NumberSet;
use crate::translation::Translation;
use crate::values::formula::{falsehood, truth};
use crate::values::literals::{AboutArray, AboutObject, ArrayFormula, ObjectFormula};
use grammask_automata::TermId;
use grammask_diagnostics::LimitExceeded;

/// A set of texts, by their spellings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StringSet {
    /// Spellings of texts that belong.
    pub(crate) yes: TermId,
    /// Spellings of texts that do not.
    pub(crate) no: TermId,
}

/// Which booleans belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Booleans {
    pub(crate) falsehood: bool,
    pub(crate) truth: bool,
}

/// The values that satisfy something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub(crate) null: bool,
    pub(crate) booleans: Booleans,
    pub(crate) number: NumberSet,
    pub(crate) string: StringSet,
    pub(crate) array: ArrayFormula,
    pub(crate) object: ObjectFormula,
}

impl Translation<'_> {
    /// All values.
    pub(crate) fn any_shape(&self) -> Shape {
        Shape {
            null: true,
            booleans: Booleans { falsehood: true, truth: true },
            number: self.any_number,
            string: self.any_string,
            array: truth(),
            object: truth(),
        }
    }

    /// No value.
    pub(crate) fn no_shape(&self) -> Shape {
        Shape {
            null: false,
            booleans: Booleans { falsehood: false, truth: false },
            number: NumberSet::not(self.any_number),
            string: swap(self.any_string),
            array: falsehood(),
            object: falsehood(),
        }
    }

    /// The values in both.
    pub(crate) fn both(&mut self, a: Shape, b: Shape) -> Shape {
        Shape {
            null: a.null && b.null,
            booleans: Booleans {
                falsehood: a.booleans.falsehood && b.booleans.falsehood,
                truth: a.booleans.truth && b.booleans.truth,
            },
            number: self.both_numbers(a.number, b.number),
            string: self.both_strings(a.string, b.string),
            array: self.arrays.and([a.array, b.array]),
            object: self.objects.and([a.object, b.object]),
        }
    }

    /// The values in all of them; all values, if there are none.
    pub(crate) fn all_of(&mut self, shapes: &[Shape]) -> Shape {
        let mut all = self.any_shape();
        for &shape in shapes {
            all.null &= shape.null;
            all.booleans.falsehood &= shape.booleans.falsehood;
            all.booleans.truth &= shape.booleans.truth;
            all.number = self.both_numbers(all.number, shape.number);
            all.string = self.both_strings(all.string, shape.string);
        }
        all.array = self.arrays.and(shapes.iter().map(|shape| shape.array));
        all.object = self.objects.and(shapes.iter().map(|shape| shape.object));
        all
    }

    /// The values in any of them; no value, if there are none.
    pub(crate) fn any_of(&mut self, shapes: &[Shape]) -> Shape {
        let negated: Vec<Shape> = shapes
            .iter()
            .map(|shape| Shape { number: NumberSet::not(shape.number), string: swap(shape.string), ..*shape })
            .collect();
        let mut any = self.no_shape();
        let (mut number, mut string) = (self.any_number, self.any_string);
        for shape in &negated {
            any.null |= shape.null;
            any.booleans.falsehood |= shape.booleans.falsehood;
            any.booleans.truth |= shape.booleans.truth;
            number = self.both_numbers(number, shape.number);
            string = self.both_strings(string, shape.string);
        }
        any.number = NumberSet::not(number);
        any.string = swap(string);
        any.array = self.arrays.or(shapes.iter().map(|shape| shape.array));
        any.object = self.objects.or(shapes.iter().map(|shape| shape.object));
        any
    }

    /// The values that are not in it.
    pub(crate) fn other_than(&mut self, shape: Shape) -> Shape {
        Shape {
            null: !shape.null,
            booleans: Booleans { falsehood: !shape.booleans.falsehood, truth: !shape.booleans.truth },
            number: NumberSet::not(shape.number),
            string: swap(shape.string),
            array: self.negated_array(shape.array),
            object: self.negated_object(shape.object),
        }
    }

    /// The values in exactly one of them. Parts that cannot meet need no negation.
    pub(crate) fn one_of(&mut self, shapes: &[Shape]) -> Result<Shape, LimitExceeded> {
        let count =
            |belongs: &dyn Fn(&Shape) -> bool| shapes.iter().filter(|shape| belongs(shape)).count() == 1;
        let null = count(&|shape| shape.null);
        let booleans = Booleans {
            falsehood: count(&|shape| shape.booleans.falsehood),
            truth: count(&|shape| shape.booleans.truth),
        };
        let numbers: Vec<NumberSet> = shapes.iter().map(|shape| shape.number).collect();
        let strings: Vec<StringSet> = shapes.iter().map(|shape| shape.string).collect();
        let mut number = self.any_number;
        for parts in self.exactly_one(&numbers, |this, a, b| this.never_both(a.yes, b.yes), NumberSet::not)? {
            let part = parts.into_iter().fold(self.any_number, |all, part| self.both_numbers(all, part));
            number = self.both_numbers(number, NumberSet::not(part));
        }
        let mut string = self.any_string;
        for parts in self.exactly_one(&strings, |this, a, b| this.never_both(a.yes, b.yes), swap)? {
            let part = parts.into_iter().fold(self.any_string, |all, part| self.both_strings(all, part));
            string = self.both_strings(string, swap(part));
        }
        let arrays: Vec<ArrayFormula> = shapes.iter().map(|shape| shape.array).collect();
        let mut array = Vec::new();
        for mut parts in self.exactly_one(&arrays, Self::arrays_never_meet, |part| part)? {
            for other in &mut parts[1..] {
                *other = self.negated_array(*other);
            }
            array.push(self.arrays.and(parts));
        }
        let objects: Vec<ObjectFormula> = shapes.iter().map(|shape| shape.object).collect();
        let mut object = Vec::new();
        for mut parts in self.exactly_one(&objects, Self::objects_never_meet, |part| part)? {
            for other in &mut parts[1..] {
                *other = self.negated_object(*other);
            }
            object.push(self.objects.and(parts));
        }
        Ok(Shape {
            null,
            booleans,
            number: NumberSet::not(number),
            string: swap(string),
            array: self.arrays.or(array),
            object: self.objects.or(object),
        })
    }

    /// For each part, itself and `other` of each part that it may meet.
    fn exactly_one<T: Copy + PartialEq>(
        &mut self,
        parts: &[T],
        disjoint: impl Fn(&mut Self, T, T) -> Result<bool, LimitExceeded>,
        other: impl Fn(T) -> T,
    ) -> Result<Vec<Vec<T>>, LimitExceeded> {
        let mut cases = Vec::with_capacity(parts.len());
        for (index, &part) in parts.iter().enumerate() {
            let mut case = vec![part];
            for (against, &opponent) in parts.iter().enumerate() {
                if against != index && !disjoint(self, part, opponent)? {
                    case.push(other(opponent));
                }
            }
            cases.push(case);
        }
        Ok(cases)
    }

    /// Whether two languages have no word in common.
    pub(crate) fn never_both(&mut self, a: TermId, b: TermId) -> Result<bool, LimitExceeded> {
        let terms = self.automata.terms_mut();
        let common = terms.intersection(&[a, b]);
        self.is_empty_language(common)
    }

    /// Whether a language has no word.
    pub(crate) fn is_empty_language(&mut self, term: TermId) -> Result<bool, LimitExceeded> {
        Ok(self.automata.start(term)?.is_none())
    }

    /// Whether the shape's parts show at once that no value is in it.
    pub(crate) fn is_plainly_empty(&mut self, shape: Shape) -> Result<bool, LimitExceeded> {
        Ok(!shape.null
            && !shape.booleans.falsehood
            && !shape.booleans.truth
            && shape.array == falsehood()
            && shape.object == falsehood()
            && self.is_empty_language(shape.number.yes)?
            && self.is_empty_language(shape.string.yes)?)
    }

    pub(crate) fn both_numbers(&mut self, a: NumberSet, b: NumberSet) -> NumberSet {
        if a == self.any_number || a == b {
            return b;
        }
        let none = NumberSet::not(self.any_number);
        if b == self.any_number || a == none {
            return a;
        }
        if b == none {
            return b;
        }
        a.and(self.automata.terms_mut(), b)
    }

    pub(crate) fn both_strings(&mut self, a: StringSet, b: StringSet) -> StringSet {
        if a == self.any_string || a == b {
            return b;
        }
        let none = swap(self.any_string);
        if b == self.any_string || a == none {
            return a;
        }
        if b == none {
            return b;
        }
        let terms = self.automata.terms_mut();
        StringSet { yes: terms.intersection(&[a.yes, b.yes]), no: terms.union(&[a.no, b.no]) }
    }

    /// The texts of a language of spellings.
    pub(crate) fn string_set(&mut self, yes: TermId) -> StringSet {
        StringSet { yes, no: self.spelling.complement(self.automata.terms_mut(), yes) }
    }

    /// The negation of a formula about arrays.
    fn negated_array(&mut self, formula: ArrayFormula) -> ArrayFormula {
        use crate::values::formula::Formula;
        let mut negated = rustc_hash::FxHashMap::default();
        for id in self.arrays.below(formula) {
            let result = match self.arrays.get(id).clone() {
                Formula::False => truth(),
                Formula::True => falsehood(),
                Formula::And(parts) => self.arrays.or(parts.iter().map(|part| negated[part])),
                Formula::Or(parts) => self.arrays.and(parts.iter().map(|part| negated[part])),
                Formula::Literal(literal) => match literal {
                    AboutArray::If(at, value) => {
                        let value = self.negated_value(value);
                        self.arrays.literal(AboutArray::Has(at, value))
                    }
                    AboutArray::Has(at, value) => {
                        let value = self.negated_value(value);
                        self.arrays.literal(AboutArray::If(at, value))
                    }
                    AboutArray::Each(from, value) => {
                        let value = self.negated_value(value);
                        self.arrays.literal(AboutArray::Some(from, value))
                    }
                    AboutArray::Some(from, value) => {
                        let value = self.negated_value(value);
                        self.arrays.literal(AboutArray::Each(from, value))
                    }
                    AboutArray::AtLeast(0) => falsehood(),
                    AboutArray::AtLeast(least) => self.arrays.literal(AboutArray::AtMost(least - 1)),
                    AboutArray::AtMost(u32::MAX) | AboutArray::MatchAtMost(u32::MAX, _) => falsehood(),
                    AboutArray::AtMost(most) => self.arrays.literal(AboutArray::AtLeast(most + 1)),
                    AboutArray::MatchAtLeast(0, _) => falsehood(),
                    AboutArray::MatchAtLeast(least, value) => {
                        self.arrays.literal(AboutArray::MatchAtMost(least - 1, value))
                    }
                    AboutArray::MatchAtMost(most, value) => {
                        self.arrays.literal(AboutArray::MatchAtLeast(most + 1, value))
                    }
                    AboutArray::Unique(at, seen) => self.arrays.literal(AboutArray::Repeated(at, seen)),
                    AboutArray::Repeated(at, seen) => self.arrays.literal(AboutArray::Unique(at, seen)),
                },
            };
            negated.insert(id, result);
        }
        negated[&formula]
    }

    /// The negation of a formula about objects.
    pub(crate) fn negated_object(&mut self, formula: ObjectFormula) -> ObjectFormula {
        use crate::values::formula::Formula;
        let mut negated = rustc_hash::FxHashMap::default();
        for id in self.objects.below(formula) {
            let result = match self.objects.get(id).clone() {
                Formula::False => truth(),
                Formula::True => falsehood(),
                Formula::And(parts) => self.objects.or(parts.iter().map(|part| negated[part])),
                Formula::Or(parts) => self.objects.and(parts.iter().map(|part| negated[part])),
                Formula::Literal(literal) => match literal {
                    AboutObject::Relaxed => id,
                    AboutObject::Declares(_) => falsehood(),
                    AboutObject::If(name, value) => {
                        let value = self.negated_value(value);
                        self.has(name, value)
                    }
                    AboutObject::Has(name, value) => {
                        let value = self.negated_value(value);
                        self.if_present(name, value)
                    }
                    AboutObject::Each(names, value) => {
                        let value = self.negated_value(value);
                        self.some_member(names, value)
                    }
                    AboutObject::Some(names, value) => {
                        let value = self.negated_value(value);
                        self.each_member(names, value)
                    }
                    AboutObject::AtLeast(0) => falsehood(),
                    AboutObject::AtLeast(least) => self.objects.literal(AboutObject::AtMost(least - 1)),
                    AboutObject::AtMost(u32::MAX) => falsehood(),
                    AboutObject::AtMost(most) => self.objects.literal(AboutObject::AtLeast(most + 1)),
                },
            };
            negated.insert(id, result);
        }
        negated[&formula]
    }

    /// The negation of a formula about a value.
    pub(crate) fn negated_value(
        &mut self,
        formula: crate::values::literals::ValueFormula,
    ) -> crate::values::literals::ValueFormula {
        use crate::values::formula::Formula;
        use crate::values::literals::Satisfies;
        if let Some(&known) = self.negations.get(&formula) {
            return known;
        }
        let mut negated = rustc_hash::FxHashMap::default();
        for id in self.values.below(formula) {
            let result = match self.values.get(id).clone() {
                Formula::False => truth(),
                Formula::True => falsehood(),
                Formula::And(parts) => self.values.or(parts.iter().map(|part| negated[part])),
                Formula::Or(parts) => self.values.and(parts.iter().map(|part| negated[part])),
                Formula::Literal(Satisfies { schema, negated }) => {
                    self.values.literal(Satisfies { schema, negated: !negated })
                }
            };
            negated.insert(id, result);
        }
        let result = negated[&formula];
        self.negations.insert(formula, result);
        self.negations.insert(result, formula);
        result
    }
}

/// The texts that are not in the set.
fn swap(set: StringSet) -> StringSet {
    StringSet { yes: set.no, no: set.yes }
}
