//! Formulas of *and* and *or* over literals, hash-consed and in negation normal form: literals carry the negations.
//!
//! An arena holds formulas over one kind of literal: assertions about objects, assertions about arrays, or schemas that
//! a value does or does not satisfy. Operands keep their order of insertion, which determines the order of an object's
//! members in the grammar. Equal formulas have equal ids. Children have smaller ids than their parents, so a bottom-up
//! computation is one loop over ascending ids ([`FormulaArena::fold`]), without recursion.

use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::interner::{Id, Interner};

/// A formula over literals `L` in a [`FormulaArena`].
pub(crate) type FormulaId<L> = Id<Formula<L>>;

/// The unsatisfiable formula; it has the same id in every arena.
pub(crate) fn falsehood<L>() -> FormulaId<L> {
    Id::at(0)
}

/// The valid formula; it has the same id in every arena.
pub(crate) fn truth<L>() -> FormulaId<L> {
    Id::at(1)
}

/// The root node of a formula.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Formula<L> {
    /// The unsatisfiable formula.
    False,
    /// The valid formula.
    True,
    /// One assertion.
    Literal(L),
    /// A conjunction of two or more operands, none of them an `And`.
    And(Box<[FormulaId<L>]>),
    /// A disjunction of two or more operands, none of them an `Or`.
    Or(Box<[FormulaId<L>]>),
}

/// An atomic assertion.
pub(crate) trait Literal: Clone + Eq + Hash {
    /// The negation, if *and* and *or* should simplify complementary literals.
    fn opposite(&self) -> Option<Self> {
        None
    }
}

/// An arena of formulas over literals `L`.
#[derive(Debug)]
pub(crate) struct FormulaArena<L> {
    nodes: Interner<Formula<L>>,
    operands: usize,
}

impl<L: Literal> FormulaArena<L> {
    pub(crate) fn new() -> Self {
        let mut nodes = Interner::new();
        nodes.intern(Formula::False);
        nodes.intern(Formula::True);
        Self { nodes, operands: 0 }
    }

    pub(crate) fn get(&self, formula: FormulaId<L>) -> &Formula<L> {
        self.nodes.get(formula)
    }

    /// The number of formulas and operands.
    pub(crate) fn size(&self) -> usize {
        self.nodes.len() + self.operands
    }

    pub(crate) fn literal(&mut self, literal: L) -> FormulaId<L> {
        self.intern(Formula::Literal(literal))
    }

    /// The conjunction of `parts`, with contradictions, absorption and unit resolution applied.
    pub(crate) fn and(&mut self, parts: impl IntoIterator<Item = FormulaId<L>>) -> FormulaId<L> {
        let mut operands = Operands::new();
        for part in parts {
            match self.get(part) {
                Formula::False => return falsehood(),
                Formula::True => {}
                Formula::And(inner) => inner.iter().for_each(|&inner| operands.add(inner)),
                _ => operands.add(part),
            }
        }
        if operands.list.len() < 2 {
            return operands.list.first().copied().unwrap_or(truth());
        }
        for index in 0..operands.list.len() {
            if self.opposite_of(operands.list[index]).is_some_and(|other| operands.members.contains(&other)) {
                return falsehood();
            }
        }
        // Absorption: a and (a or b) = a. Unit resolution: a and (not a or b) = a and b.
        let mut resolved = Vec::new();
        let Operands { list, members } = &mut operands;
        list.retain(|&operand| {
            let Formula::Or(inner) = self.get(operand) else { return true };
            if inner.iter().any(|part| members.contains(part)) {
                return false;
            }
            let remaining: Vec<_> =
                inner.iter().copied().filter(|&part| !self.is_refuted(part, members)).collect();
            if remaining.len() < inner.len() {
                resolved.push(remaining);
                return false;
            }
            true
        });
        let list = operands.list;
        if resolved.is_empty() {
            return match list[..] {
                [] => truth(),
                [only] => only,
                _ => self.intern(Formula::And(list.into())),
            };
        }
        let resolved: Vec<_> = resolved.into_iter().map(|parts| self.or(parts)).collect();
        self.and(list.into_iter().chain(resolved))
    }

    /// The disjunction of `parts`, with tautologies and absorption applied.
    pub(crate) fn or(&mut self, parts: impl IntoIterator<Item = FormulaId<L>>) -> FormulaId<L> {
        let mut operands = Operands::new();
        for part in parts {
            match self.get(part) {
                Formula::True => return truth(),
                Formula::False => {}
                Formula::Or(inner) => inner.iter().for_each(|&inner| operands.add(inner)),
                _ => operands.add(part),
            }
        }
        if operands.list.len() < 2 {
            return operands.list.first().copied().unwrap_or(falsehood());
        }
        for index in 0..operands.list.len() {
            if self.opposite_of(operands.list[index]).is_some_and(|other| operands.members.contains(&other)) {
                return truth();
            }
        }
        // Absorption: a or (a and b) = a.
        let Operands { list, members } = &mut operands;
        list.retain(|&operand| match self.get(operand) {
            Formula::And(inner) => !inner.iter().any(|part| members.contains(part)),
            _ => true,
        });
        match operands.list[..] {
            [] => falsehood(),
            [only] => only,
            _ => self.intern(Formula::Or(operands.list.into())),
        }
    }

    /// The negation of a literal, if the arena has it.
    fn opposite_of(&self, formula: FormulaId<L>) -> Option<FormulaId<L>> {
        match self.get(formula) {
            Formula::Literal(literal) => self.nodes.find(&Formula::Literal(literal.opposite()?)),
            _ => None,
        }
    }

    /// Whether `formula` or one of its conjuncts is the negation of an element of `asserted`.
    fn is_refuted(&self, formula: FormulaId<L>, asserted: &FxHashSet<FormulaId<L>>) -> bool {
        let refuted = |part| self.opposite_of(part).is_some_and(|other| asserted.contains(&other));
        match self.get(formula) {
            Formula::Literal(_) => refuted(formula),
            Formula::And(parts) => parts.iter().any(|&part| refuted(part)),
            _ => false,
        }
    }

    /// Evaluates `root` bottom up with `evaluate`.
    pub(crate) fn fold<T: Clone>(
        &self,
        root: FormulaId<L>,
        mut evaluate: impl FnMut(FoldedNode<'_, L, T>) -> T,
    ) -> T {
        let mut values: FxHashMap<FormulaId<L>, T> = FxHashMap::default();
        for id in self.descendants(root) {
            let value = match self.get(id) {
                Formula::False => evaluate(FoldedNode::False),
                Formula::True => evaluate(FoldedNode::True),
                Formula::Literal(literal) => evaluate(FoldedNode::Literal(literal)),
                Formula::And(parts) => {
                    evaluate(FoldedNode::And(parts.iter().map(|part| values[part].clone()).collect()))
                }
                Formula::Or(parts) => {
                    evaluate(FoldedNode::Or(parts.iter().map(|part| values[part].clone()).collect()))
                }
            };
            values.insert(id, value);
        }
        values[&root].clone()
    }

    /// `root` and its descendants, children before parents.
    pub(crate) fn descendants(&self, root: FormulaId<L>) -> Vec<FormulaId<L>> {
        let mut visited = FxHashSet::default();
        let mut stack = vec![root];
        while let Some(id) = stack.pop() {
            if visited.insert(id)
                && let Formula::And(parts) | Formula::Or(parts) = self.get(id)
            {
                stack.extend(parts);
            }
        }
        let mut order: Vec<_> = visited.into_iter().collect();
        order.sort_unstable();
        order
    }

    /// The distinct literals of `root`, in order of insertion.
    pub(crate) fn literals(&self, root: FormulaId<L>) -> Vec<L> {
        let mut literals = Vec::new();
        let mut visited = FxHashSet::default();
        let mut stack = vec![root];
        while let Some(id) = stack.pop() {
            if !visited.insert(id) {
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

    /// The operands of a conjunction; none for truth, and the formula itself for any other.
    pub(crate) fn conjuncts(&self, formula: FormulaId<L>) -> Vec<FormulaId<L>> {
        match self.get(formula) {
            Formula::And(parts) => parts.to_vec(),
            Formula::True => Vec::new(),
            _ => vec![formula],
        }
    }

    /// The operands of a disjunction; none for falsehood, and the formula itself for any other.
    pub(crate) fn disjuncts(&self, formula: FormulaId<L>) -> Vec<FormulaId<L>> {
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

/// The root node of a formula with the values of its children.
pub(crate) enum FoldedNode<'f, L, T> {
    /// The unsatisfiable formula.
    False,
    /// The valid formula.
    True,
    /// An assertion.
    Literal(&'f L),
    /// The values of the operands of a conjunction.
    And(Vec<T>),
    /// The values of the operands of a disjunction.
    Or(Vec<T>),
}

/// Operands without duplicates, in order of their first occurrence.
struct Operands<L> {
    list: Vec<FormulaId<L>>,
    members: FxHashSet<FormulaId<L>>,
}

impl<L> Operands<L> {
    fn new() -> Self {
        Self { list: Vec::new(), members: FxHashSet::default() }
    }

    fn add(&mut self, operand: FormulaId<L>) {
        if self.members.insert(operand) {
            self.list.push(operand);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Literal for &'static str {}

    impl Literal for i32 {
        fn opposite(&self) -> Option<Self> {
            Some(-self)
        }
    }

    #[test]
    fn complementary_literals_are_simplified() {
        let mut formulas = FormulaArena::new();
        let [a, b, not_a, not_b] = [1, 2, -1, -2].map(|literal| formulas.literal(literal));
        assert_eq!(formulas.and([a, b, not_a]), falsehood());
        assert_eq!(formulas.or([a, b, not_a]), truth());
        let (both, neither) = (formulas.and([a, b]), formulas.or([not_a, not_b]));
        assert_eq!(formulas.and([both, neither]), falsehood());
        assert_eq!(formulas.and([a, neither]), formulas.and([a, not_b]));
    }

    #[test]
    fn absorption_and_units() {
        let mut formulas = FormulaArena::new();
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
        let mut formulas = FormulaArena::new();
        let mut formula = formulas.literal(1);
        for level in 2..=50_000 {
            let literal = formulas.literal(level);
            formula = if level % 2 == 0 {
                formulas.and([formula, literal])
            } else {
                formulas.or([literal, formula])
            };
        }
        let count: usize = formulas.fold(formula, |node| match node {
            FoldedNode::And(parts) | FoldedNode::Or(parts) => parts.into_iter().sum(),
            _ => 1,
        });
        assert_eq!(count, 50_000);
    }
}
