//! Formulas of *and* and *or* over literals, hash-consed, without *not*: a negation is pushed down to the literals.
//!
//! One arena serves one kind of literal: assertions about objects, assertions about arrays, or schemas that a value
//! satisfies or not. Operands keep the order in which they were written (an object's members come out in it), and
//! equal formulas are one id. Children have smaller ids than their parents, so every computation is one loop over ids
//! ([`Formulas::fold`]) and nothing recurses.

use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};

use super::interner::{Id, Interner};

/// A formula over literals `L`, in a [`Formulas`] arena.
pub(super) type FormulaId<L> = Id<Formula<L>>;

/// Satisfied by nothing.
pub(super) fn falsehood<L>() -> FormulaId<L> {
    Id::at(0)
}

/// Satisfied by everything.
pub(super) fn truth<L>() -> FormulaId<L> {
    Id::at(1)
}

/// How a formula is made, at its top.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Formula<L> {
    /// Satisfied by nothing.
    False,
    /// Satisfied by everything.
    True,
    /// One assertion.
    Literal(L),
    /// All of at least two, none of them an `And`.
    And(Box<[FormulaId<L>]>),
    /// Any of at least two, none of them an `Or`.
    Or(Box<[FormulaId<L>]>),
}

/// The arena.
#[derive(Debug)]
pub(super) struct Formulas<L> {
    nodes: Interner<Formula<L>>,
    operands: usize,
}

impl<L: Clone + Eq + Hash> Formulas<L> {
    pub(super) fn new() -> Self {
        let mut nodes = Interner::new();
        nodes.intern(Formula::False);
        nodes.intern(Formula::True);
        Self { nodes, operands: 0 }
    }

    pub(super) fn get(&self, formula: FormulaId<L>) -> &Formula<L> {
        self.nodes.get(formula)
    }

    /// The size of the arena: formulas and their operands.
    pub(super) fn size(&self) -> usize {
        self.nodes.len() + self.operands
    }

    pub(super) fn literal(&mut self, literal: L) -> FormulaId<L> {
        self.intern(Formula::Literal(literal))
    }

    /// All of `parts`.
    pub(super) fn and(&mut self, parts: impl IntoIterator<Item = FormulaId<L>>) -> FormulaId<L> {
        let mut operands = Operands::new();
        for part in parts {
            match self.get(part) {
                Formula::False => return falsehood(),
                Formula::True => {}
                Formula::And(inner) => inner.iter().for_each(|&inner| operands.add(inner)),
                _ => operands.add(part),
            }
        }
        // a and (a or b) is a.
        self.absorb(&mut operands, |formula| match formula {
            Formula::Or(inner) => Some(inner),
            _ => None,
        });
        match operands.list[..] {
            [] => truth(),
            [only] => only,
            _ => self.intern(Formula::And(operands.list.into())),
        }
    }

    /// Any of `parts`.
    pub(super) fn or(&mut self, parts: impl IntoIterator<Item = FormulaId<L>>) -> FormulaId<L> {
        let mut operands = Operands::new();
        for part in parts {
            match self.get(part) {
                Formula::True => return truth(),
                Formula::False => {}
                Formula::Or(inner) => inner.iter().for_each(|&inner| operands.add(inner)),
                _ => operands.add(part),
            }
        }
        // a or (a and b) is a.
        self.absorb(&mut operands, |formula| match formula {
            Formula::And(inner) => Some(inner),
            _ => None,
        });
        match operands.list[..] {
            [] => falsehood(),
            [only] => only,
            _ => self.intern(Formula::Or(operands.list.into())),
        }
    }

    fn absorb(&self, operands: &mut Operands<L>, inner: impl Fn(&Formula<L>) -> Option<&[FormulaId<L>]>) {
        if operands.list.len() < 2 {
            return;
        }
        let Operands { list, seen } = operands;
        list.retain(|&operand| {
            inner(self.get(operand)).is_none_or(|parts| !parts.iter().any(|part| seen.contains(part)))
        });
    }

    /// Computes a value for `root` from the values of its literals, bottom up.
    pub(super) fn fold<T: Clone>(&self, root: FormulaId<L>, mut rule: impl FnMut(Step<'_, L, T>) -> T) -> T {
        let mut values: FxHashMap<FormulaId<L>, T> = FxHashMap::default();
        for id in self.below(root) {
            let value = match self.get(id) {
                Formula::False => rule(Step::False),
                Formula::True => rule(Step::True),
                Formula::Literal(literal) => rule(Step::Literal(literal)),
                Formula::And(parts) => {
                    rule(Step::And(parts.iter().map(|part| values[part].clone()).collect()))
                }
                Formula::Or(parts) => rule(Step::Or(parts.iter().map(|part| values[part].clone()).collect())),
            };
            values.insert(id, value);
        }
        values[&root].clone()
    }

    /// `root` and everything it is made of, children first.
    pub(super) fn below(&self, root: FormulaId<L>) -> Vec<FormulaId<L>> {
        let mut found = FxHashSet::default();
        let mut stack = vec![root];
        while let Some(id) = stack.pop() {
            if found.insert(id)
                && let Formula::And(parts) | Formula::Or(parts) = self.get(id)
            {
                stack.extend(parts);
            }
        }
        let mut order: Vec<_> = found.into_iter().collect();
        order.sort_unstable();
        order
    }

    /// The literals of `root`, in the order in which they were written.
    pub(super) fn literals(&self, root: FormulaId<L>) -> Vec<L> {
        let mut literals = Vec::new();
        let mut seen = FxHashSet::default();
        let mut stack = vec![root];
        while let Some(id) = stack.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.get(id) {
                Formula::Literal(literal) => literals.push(literal.clone()),
                Formula::And(parts) | Formula::Or(parts) => stack.extend(parts.iter().rev()),
                Formula::True | Formula::False => {}
            }
        }
        literals
    }

    /// The parts of a conjunction; any other formula is its own only part.
    pub(super) fn conjuncts(&self, formula: FormulaId<L>) -> Vec<FormulaId<L>> {
        match self.get(formula) {
            Formula::And(parts) => parts.to_vec(),
            Formula::True => Vec::new(),
            _ => vec![formula],
        }
    }

    /// The parts of a disjunction; any other formula is its own only part.
    pub(super) fn disjuncts(&self, formula: FormulaId<L>) -> Vec<FormulaId<L>> {
        match self.get(formula) {
            Formula::Or(parts) => parts.to_vec(),
            Formula::False => Vec::new(),
            _ => vec![formula],
        }
    }

    fn intern(&mut self, formula: Formula<L>) -> FormulaId<L> {
        if let Formula::And(parts) | Formula::Or(parts) = &formula {
            self.operands += parts.len();
        }
        self.nodes.intern(formula)
    }
}

/// A formula's top with the values of what it is made of.
pub(super) enum Step<'f, L, T> {
    /// Satisfied by nothing.
    False,
    /// Satisfied by everything.
    True,
    /// An assertion.
    Literal(&'f L),
    /// The values of the parts of a conjunction.
    And(Vec<T>),
    /// The values of the parts of a disjunction.
    Or(Vec<T>),
}

/// Different operands in the order of their first occurrence.
struct Operands<L> {
    list: Vec<FormulaId<L>>,
    seen: FxHashSet<FormulaId<L>>,
}

impl<L> Operands<L> {
    fn new() -> Self {
        Self { list: Vec::new(), seen: FxHashSet::default() }
    }

    fn add(&mut self, operand: FormulaId<L>) {
        if self.seen.insert(operand) {
            self.list.push(operand);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simplifies() {
        let mut formulas = Formulas::new();
        let [a, b] = ["a", "b"].map(|name| formulas.literal(name));
        let both = formulas.and([a, b]);
        assert_eq!(formulas.and([a, truth(), both, a]), both);
        assert_eq!(formulas.and([a, falsehood()]), falsehood());
        assert_eq!(formulas.or([both, a]), a);
        let either = formulas.or([a, b]);
        assert_eq!(formulas.and([either, b]), b);
        assert_eq!(formulas.or([]), falsehood());
        assert_eq!(formulas.and([]), truth());
    }

    #[test]
    fn folds_deep_formulas_without_recursion() {
        let mut formulas = Formulas::new();
        let mut formula = formulas.literal(0_u32);
        for level in 1..50_000 {
            let literal = formulas.literal(level);
            formula = if level % 2 == 0 {
                formulas.and([formula, literal])
            } else {
                formulas.or([literal, formula])
            };
        }
        let count: usize = formulas.fold(formula, |step| match step {
            Step::And(parts) | Step::Or(parts) => parts.into_iter().sum(),
            _ => 1,
        });
        assert_eq!(count, 50_000);
    }
}
