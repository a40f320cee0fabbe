//! From shapes to rules: a rule for each different shape, made when it is first needed, from a list instead of
//! recursion.

use crate::emit::rules::{Part, Parts, RuleId};
use crate::translation::Translation;
use crate::values::formula::falsehood;
use crate::values::literals::ValueFormula;
use crate::values::value_set::Shape;
use grammask_diagnostics::LimitExceeded;

impl Translation<'_> {
    /// Makes the rule of the whole text and all rules that it needs.
    pub(crate) fn translate(&mut self, root: ValueFormula) -> Result<RuleId, LimitExceeded> {
        let shape = self.shape_of_formula(root)?;
        let start = self.value_rule(shape, 0);
        while let Some((shape, depth, rule)) = self.pending.pop() {
            self.check_limits()?;
            let alternatives = self.alternatives(shape, depth)?;
            self.rules.define(rule, alternatives);
        }
        Ok(start)
    }

    /// The parts of a value that satisfies `value`; none if there is plainly no such value.
    pub(crate) fn value_parts(
        &mut self,
        value: ValueFormula,
        depth: u32,
    ) -> Result<Option<Parts>, LimitExceeded> {
        let shape = self.shape_of_formula(value)?;
        if self.is_plainly_empty(shape)? {
            return Ok(None);
        }
        if shape.array == falsehood() && shape.object == falsehood() {
            let mut texts = self.scalars(shape)?;
            if texts.len() == 1 {
                return Ok(texts.pop());
            }
        }
        Ok(Some(vec![Part::Rule(self.value_rule(shape, depth))]))
    }

    /// The rule of the values of a shape.
    fn value_rule(&mut self, shape: Shape, depth: u32) -> RuleId {
        if let Some(&rule) = self.value_rules.get(&(shape, depth)) {
            return rule;
        }
        let rule = self.rules.reserve("value");
        self.value_rules.insert((shape, depth), rule);
        self.pending.push((shape, depth, rule));
        rule
    }

    fn alternatives(&mut self, shape: Shape, depth: u32) -> Result<Vec<Parts>, LimitExceeded> {
        let mut alternatives = self.scalars(shape)?;
        if let Some(inside) = self.layout.inside(depth) {
            for part in self.arrays.disjuncts(shape.array) {
                alternatives.extend(self.array_alternatives(part, inside)?);
            }
            for part in self.objects.disjuncts(shape.object) {
                alternatives.extend(self.object_alternatives(part, inside)?);
            }
        } else {
            // Too deep for indentation: only what has no parts.
            let terms = self.automata.terms_mut();
            if self.arrays.disjuncts(shape.array).contains(&crate::values::formula::truth()) {
                alternatives.push(vec![Part::Mark(terms.literal(b"[]"))]);
            }
            if self.objects.disjuncts(shape.object).contains(&crate::values::formula::truth()) {
                alternatives.push(vec![Part::Mark(terms.literal(b"{}"))]);
            }
        }
        Ok(alternatives)
    }

    /// Null, booleans, numbers and strings: the first three as one language, strings as another, since what is
    /// known about a string's body is shared under its own language.
    fn scalars(&mut self, shape: Shape) -> Result<Vec<Parts>, LimitExceeded> {
        let number = !self.is_empty_language(shape.number.yes)?;
        let has_strings = !self.is_empty_language(shape.string.yes)?;
        let string = if has_strings { self.written(shape.string.yes)? } else { None };
        let terms = self.automata.terms_mut();
        let mut words = Vec::new();
        if shape.null {
            words.push(terms.literal(b"null"));
        }
        if shape.booleans.truth {
            words.push(terms.literal(b"true"));
        }
        if shape.booleans.falsehood {
            words.push(terms.literal(b"false"));
        }
        if number {
            words.push(shape.number.yes);
        }
        let mut alternatives = Vec::new();
        if !words.is_empty() {
            alternatives.push(vec![Part::Text(terms.union(&words))]);
        }
        if let Some(string) = string {
            let quote = terms.literal(b"\"");
            alternatives.push(vec![Part::Text(terms.concat(&[quote, string, quote]))]);
        }
        Ok(alternatives)
    }
}
