//! Formulas of *and* and *or* over literals, hash-consed and in negation normal form: literals carry the negations.
//!
//! An arena holds formulas over one kind of literal: assertions about objects, assertions about arrays, or schemas that
//! a value does or does not satisfy. Operands keep their order of insertion, which determines the order of an object's
//! members in the grammar. Equal formulas have equal ids. Children have smaller ids than their parents, so a bottom-up
//! computation is one loop over ascending ids ([`FormulaArena::fold`]), without recursion.

use std::cell::RefCell;
use std::hash::Hash;
use std::ops::Index;

use rustc_hash::FxHashSet;

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
    /// Scratch: whether a search has visited each formula; all false between searches.
    visited: RefCell<Vec<bool>>,
}

impl<L: Literal> FormulaArena<L> {
    pub(crate) fn new() -> Self {
        let mut nodes = Interner::new();
        nodes.intern(Formula::False);
        nodes.intern(Formula::True);
        Self { nodes, operands: 0, visited: RefCell::default() }
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
        if self.has_opposites(&operands) {
            return falsehood();
        }
        if !operands.list.iter().any(|&operand| matches!(self.get(operand), Formula::Or(_))) {
            return self.intern(Formula::And(operands.list.into()));
        }
        // Absorption: a and (a or b) = a. Unit resolution: a and (not a or b) = a and b.
        let mut resolved = Vec::new();
        let mut list = Vec::with_capacity(operands.list.len());
        for &operand in &operands.list {
            let Formula::Or(inner) = self.get(operand) else {
                list.push(operand);
                continue;
            };
            if inner.iter().any(|&part| operands.contains(part)) {
                continue;
            }
            if inner.iter().any(|&part| self.is_refuted(part, &operands)) {
                let remaining = inner.iter().copied().filter(|&part| !self.is_refuted(part, &operands));
                resolved.push(remaining.collect::<Vec<_>>());
            } else {
                list.push(operand);
            }
        }
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
        if self.has_opposites(&operands) {
            return truth();
        }
        // Absorption: a or (a and b) = a.
        let is_absorbed = |operand| match self.get(operand) {
            Formula::And(inner) => inner.iter().any(|&part| operands.contains(part)),
            _ => false,
        };
        let list: Vec<_> = operands.list.iter().copied().filter(|&operand| !is_absorbed(operand)).collect();
        match list[..] {
            [] => falsehood(),
            [only] => only,
            _ => self.intern(Formula::Or(list.into())),
        }
    }

    /// Whether a literal and its negation are among the operands.
    fn has_opposites(&self, operands: &Operands<L>) -> bool {
        let has_opposite = |&operand| self.opposite_of(operand).is_some_and(|other| operands.contains(other));
        operands.list.iter().any(has_opposite)
    }

    /// The negation of a literal, if the arena has it.
    fn opposite_of(&self, formula: FormulaId<L>) -> Option<FormulaId<L>> {
        match self.get(formula) {
            Formula::Literal(literal) => self.nodes.find(&Formula::Literal(literal.opposite()?)),
            _ => None,
        }
    }

    /// Whether `formula` or one of its conjuncts is the negation of an element of `asserted`.
    fn is_refuted(&self, formula: FormulaId<L>, asserted: &Operands<L>) -> bool {
        let refuted = |part| self.opposite_of(part).is_some_and(|other| asserted.contains(other));
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
        let mut values: ValuesById<L, T> = ValuesById::default();
        for id in self.descendants(root) {
            let value = match self.get(id) {
                Formula::False => evaluate(FoldedNode::False),
                Formula::True => evaluate(FoldedNode::True),
                Formula::Literal(literal) => evaluate(FoldedNode::Literal(literal)),
                Formula::And(parts) => {
                    evaluate(FoldedNode::And(parts.iter().map(|&part| values[part].clone()).collect()))
                }
                Formula::Or(parts) => {
                    evaluate(FoldedNode::Or(parts.iter().map(|&part| values[part].clone()).collect()))
                }
            };
            values.push(id, value);
        }
        values[root].clone()
    }

    /// `root` with its literals replaced.
    pub(crate) fn replaced(
        &mut self,
        root: FormulaId<L>,
        mut replacement: impl FnMut(&mut Self, FormulaId<L>, &L) -> FormulaId<L>,
    ) -> FormulaId<L> {
        let mut results: ValuesById<L, FormulaId<L>> = ValuesById::default();
        for id in self.descendants(root) {
            let result = match self.get(id) {
                Formula::True | Formula::False => id,
                Formula::Literal(literal) => {
                    let literal = literal.clone();
                    replacement(self, id, &literal)
                }
                // Operands in normal form stay in it.
                Formula::And(parts) | Formula::Or(parts)
                    if parts.iter().all(|&part| results[part] == part) =>
                {
                    id
                }
                Formula::And(parts) => {
                    let parts: Vec<_> = parts.iter().map(|&part| results[part]).collect();
                    self.and(parts)
                }
                Formula::Or(parts) => {
                    let parts: Vec<_> = parts.iter().map(|&part| results[part]).collect();
                    self.or(parts)
                }
            };
            results.push(id, result);
        }
        results[root]
    }

    /// `root` and its descendants, children before parents.
    pub(crate) fn descendants(&self, root: FormulaId<L>) -> Vec<FormulaId<L>> {
        let mut visited = self.visited.borrow_mut();
        visited.resize(self.nodes.len(), false);
        visited[root.index()] = true;
        let mut order = vec![root];
        let mut next = 0;
        while let Some(&id) = order.get(next) {
            next += 1;
            if let Formula::And(parts) | Formula::Or(parts) = self.get(id) {
                let is_new = |part: &&FormulaId<L>| !std::mem::replace(&mut visited[part.index()], true);
                order.extend(parts.iter().filter(is_new));
            }
        }
        order.iter().for_each(|id| visited[id.index()] = false);
        order.sort_unstable();
        order
    }

    /// The distinct literals of `root`, in order of insertion.
    pub(crate) fn literals(&self, root: FormulaId<L>) -> Vec<L> {
        let mut visited = self.visited.borrow_mut();
        visited.resize(self.nodes.len(), false);
        let mut literals = Vec::new();
        let mut reached = Vec::new();
        let mut stack = vec![root];
        while let Some(id) = stack.pop() {
            if std::mem::replace(&mut visited[id.index()], true) {
                continue;
            }
            reached.push(id);
            match self.get(id) {
                Formula::Literal(literal) => literals.push(literal.clone()),
                Formula::And(parts) | Formula::Or(parts) => stack.extend(parts.iter().rev()),
                Formula::True | Formula::False => {}
            }
        }
        reached.iter().for_each(|id| visited[id.index()] = false);
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

/// Values of formulas, added in ascending order of the formulas: for computations from children to parents.
pub(crate) struct ValuesById<L, T> {
    ids: Vec<FormulaId<L>>,
    values: Vec<T>,
}

impl<L, T> Default for ValuesById<L, T> {
    fn default() -> Self {
        Self { ids: Vec::new(), values: Vec::new() }
    }
}

impl<L, T> ValuesById<L, T> {
    /// Adds the value of a formula, whose id is above those before.
    pub(crate) fn push(&mut self, id: FormulaId<L>, value: T) {
        self.ids.push(id);
        self.values.push(value);
    }

    /// The last value.
    pub(crate) fn pop(&mut self) -> Option<T> {
        self.ids.pop();
        self.values.pop()
    }
}

impl<L, T> Index<FormulaId<L>> for ValuesById<L, T> {
    type Output = T;

    fn index(&self, id: FormulaId<L>) -> &T {
        let position = self.ids.binary_search(&id).expect("children come before their parents");
        &self.values[position]
    }
}

/// Number of operands up to which they are searched one by one.
const MAX_SCANNED_OPERANDS: usize = 16;

/// Operands without duplicates, in order of their first occurrence.
struct Operands<L> {
    list: Vec<FormulaId<L>>,
    /// The operands, if there are more than [`MAX_SCANNED_OPERANDS`].
    members: FxHashSet<FormulaId<L>>,
}

impl<L> Operands<L> {
    fn new() -> Self {
        Self { list: Vec::new(), members: FxHashSet::default() }
    }

    fn contains(&self, operand: FormulaId<L>) -> bool {
        match self.list.len() {
            0..=MAX_SCANNED_OPERANDS => self.list.contains(&operand),
            _ => self.members.contains(&operand),
        }
    }

    fn add(&mut self, operand: FormulaId<L>) {
        if self.contains(operand) {
            return;
        }
        self.list.push(operand);
        match self.list.len() {
            0..=MAX_SCANNED_OPERANDS => {}
            _ if self.members.is_empty() => self.members.extend(&self.list),
            _ => {
                self.members.insert(operand);
            }
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
