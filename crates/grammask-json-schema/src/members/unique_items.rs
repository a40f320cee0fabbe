//! `uniqueItems` where the items are of finitely many values: which ones were seen is part of what is left to satisfy.
//!
//! Over infinitely many values, "no two are equal" is no context-free language, so it is refused. The number of sets
//! of values seen is exponential in the number of values: where nothing else is asked, the array is a selection of values, and
//! the recogniser makes the sets that texts reach; else there is a bound on their number.

use crate::document::resources::Location;
use crate::emit::layout::Punctuation;
use crate::emit::rules::{Part, Parts};
use crate::interner::Id;
use crate::translation::Translation;
use crate::values::formula::{Formula, falsehood, truth};
use crate::values::literals::{AboutArray, ArrayFormula, Satisfies, Schema, Seen, ValueFormula};
use crate::values::value_set::Booleans;
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{PartOrder, Selection};

/// The most values that unique items can have beside conditions on single items: 2^12 sets of values seen.
const MOST_VALUES: usize = 12;

/// So few values have few orders.
const FEW_VALUES: usize = 2;

/// The most values that are ever listed.
const MOST_LISTED: usize = 2000;

impl Translation<'_> {
    /// The texts of arrays that are asked for nothing but unique items of a few values, `least` to `most` of them: a selection
    /// of the values in any order. None if something else is asked for.
    pub(crate) fn unique_items(
        &mut self,
        formula: ArrayFormula,
        (least, most): (u32, Option<u32>),
        marks: Punctuation,
        depth: u32,
    ) -> Result<Option<Vec<Parts>>, LimitExceeded> {
        let mut values: Vec<ValueFormula> = Vec::new();
        let mut is_unique = false;
        for part in self.arrays.conjuncts(formula) {
            match *self.arrays.get(part) {
                Formula::Literal(AboutArray::Unique(_, seen)) if self.seen.get(seen).is_empty() => {
                    is_unique = true;
                }
                Formula::Literal(AboutArray::Each(0, value)) => values.push(value),
                _ => return Ok(None),
            }
        }
        if !is_unique {
            return Ok(None);
        }
        let value = self.values.and(values);
        let Some(listed) = self.listed_values(value)? else { return Ok(None) };
        if listed.len() <= FEW_VALUES || most == Some(0) {
            return Ok(None);
        }
        let mut things = Vec::new();
        for (_, value) in listed {
            things.extend(self.value_parts(value, depth)?);
        }
        let mut texts = Vec::new();
        if least == 0 {
            texts.push(vec![marks.array.empty]);
        }
        let selection = Selection::new(PartOrder::Any, things.len(), &[], Vec::new(), (least, most));
        if let Some(selection) = selection.filter(Selection::is_satisfiable) {
            let items = self.rules.select("items", selection, things, marks.next);
            texts.push(vec![marks.array.open, Part::Rule(items), marks.array.close]);
        }
        Ok(Some(texts))
    }

    /// The outcomes of a formula that asks for unique items; none if it does not, or cannot be enforced.
    pub(crate) fn unique_outcomes(
        &mut self,
        formula: ArrayFormula,
        depth: u32,
    ) -> Result<Option<Vec<(ValueFormula, ArrayFormula)>>, LimitExceeded> {
        let parts = self.arrays.conjuncts(formula);
        let found = parts.iter().position(|part| {
            matches!(
                self.arrays.get(*part),
                Formula::Literal(AboutArray::Unique(..) | AboutArray::Repeated(..))
            )
        });
        let Some(found) = found else {
            self.refuse_hidden_uniqueness(formula);
            return Ok(None);
        };
        let Formula::Literal(literal) = *self.arrays.get(parts[found]) else { return Ok(None) };
        let (place, seen, wants_unique) = match literal {
            AboutArray::Unique(place, seen) => (place, seen, true),
            AboutArray::Repeated(place, seen) => (place, seen, false),
            _ => return Ok(None),
        };
        // Every keyword of the kind says the same about the same items.
        let says_the_same = |part: &ArrayFormula| match *self.arrays.get(*part) {
            Formula::Literal(AboutArray::Unique(_, other)) => wants_unique && other == seen,
            Formula::Literal(AboutArray::Repeated(_, other)) => !wants_unique && other == seen,
            _ => false,
        };
        let others: Vec<ArrayFormula> = parts.iter().copied().filter(|part| !says_the_same(part)).collect();
        let others = self.arrays.and(others);
        let mut outcomes = Vec::new();
        for (value, rest) in self.array_outcomes(others, depth)? {
            let Some(listed) = self.listed_values(value)? else {
                self.refuse_uniqueness(place);
                return Ok(None);
            };
            for (item, value) in listed {
                let seen_before = self.seen.get(seen).contains(&item);
                let after = match (wants_unique, seen_before) {
                    (true, true) => continue,
                    (false, true) => truth(),
                    (unique, false) => {
                        let mut extended = self.seen.get(seen).to_vec();
                        extended.push(item);
                        extended.sort_unstable();
                        let seen: Id<Seen> = self.seen.intern(extended.into());
                        self.arrays.literal(if unique {
                            AboutArray::Unique(place, seen)
                        } else {
                            AboutArray::Repeated(place, seen)
                        })
                    }
                };
                outcomes.push((value, self.arrays.and([rest, after])));
            }
        }
        if self.seen.len() > 2 << MOST_VALUES {
            self.refuse_uniqueness(place);
            return Ok(Some(Vec::new()));
        }
        Ok(Some(outcomes))
    }

    fn refuse_uniqueness(&mut self, place: Location) {
        self.relaxed_uniqueness.insert(place);
        let message = "unique items of infinitely many values, or of too many, are not supported".to_owned();
        self.unsupported(place, message, "list the values with `enum`, or bound the items with `maxItems`");
    }

    /// Uniqueness under a choice is not split; it is refused there.
    fn refuse_hidden_uniqueness(&mut self, formula: ArrayFormula) {
        for literal in self.arrays.literals(formula) {
            if let AboutArray::Unique(place, _) | AboutArray::Repeated(place, _) = literal {
                let message =
                    "unique items inside a choice of array constraints are not supported".to_owned();
                self.unsupported(place, message, "");
            }
        }
    }

    /// The values of a formula, each with an id and a formula of its own; none if they are not few.
    fn listed_values(
        &mut self,
        value: ValueFormula,
    ) -> Result<Option<Vec<(u32, ValueFormula)>>, LimitExceeded> {
        if let Some(known) = self.listed.get(&value) {
            return Ok(known.clone());
        }
        let listed = self.list_values(value)?;
        self.listed.insert(value, listed.clone());
        Ok(listed)
    }

    fn list_values(
        &mut self,
        value: ValueFormula,
    ) -> Result<Option<Vec<(u32, ValueFormula)>>, LimitExceeded> {
        let shape = self.shape_of_formula(value)?;
        if shape.array != falsehood() || shape.object != falsehood() {
            return Ok(None);
        }
        let mut candidates = Vec::new();
        // Values can only be few where `enum` or `const` names them, except for these three.
        for literal in self.values.literals(value) {
            if !literal.negated {
                self.named_values(literal, &mut candidates);
            }
        }
        let constants = [Schema::Null, Schema::Boolean(false), Schema::Boolean(true)];
        let mut formulas: Vec<(ValueFormula, Option<Location>)> =
            constants.into_iter().map(|schema| (self.is_a(schema), None)).collect();
        for place in candidates {
            formulas.push((self.equals(place), Some(place)));
        }
        let mut listed = Vec::new();
        let mut places = Vec::new();
        let mut known = rustc_hash::FxHashSet::default();
        for (formula, place) in formulas {
            let single = self.shape_of_formula(formula)?;
            // Equal values have equal shapes, and different ones nothing in common.
            let id = u32::try_from(self.constants.intern(single).index()).unwrap_or(u32::MAX);
            let both = self.both(shape, single);
            if !known.insert(id) || self.is_plainly_empty(both)? {
                continue;
            }
            if listed.len() == MOST_LISTED {
                return Ok(None);
            }
            listed.push((id, formula));
            places.extend(place);
        }
        // Nothing may be left over. Null and the booleans are listed where they are in the shape.
        let mut covered = self.shape_of_values(&places);
        covered.null = true;
        covered.booleans = Booleans { falsehood: true, truth: true };
        let uncovered = self.other_than(covered);
        let left = self.both(shape, uncovered);
        Ok(self.is_plainly_empty(left)?.then_some(listed))
    }

    /// Places of values that a schema names.
    fn named_values(&mut self, literal: Satisfies, places: &mut Vec<Location>) {
        match self.schema(literal.schema) {
            Schema::Equal(place) => places.push(place),
            Schema::Null | Schema::Boolean(_) => {}
            Schema::At(..) => {
                let mut stack = vec![literal.schema];
                let mut visited = rustc_hash::FxHashSet::default();
                while let Some(schema) = stack.pop() {
                    if !visited.insert(schema) {
                        continue;
                    }
                    let Schema::At(location, _) = self.schema(schema) else { continue };
                    places.extend(self.library.member(location, "const"));
                    if let Some(list) = self.library.member(location, "enum") {
                        places.extend(self.items(list));
                    }
                    stack.extend(self.applied_in_place(schema));
                }
            }
        }
    }
}
