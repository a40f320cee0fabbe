//! Formulas of *and* and *or* over literals, hash-consed, without *not*: a negation is pushed down to the literals.
//!
//! One arena serves one kind of literal: assertions about objects, assertions about arrays, or schemas that a value
//! satisfies or not. Operands keep the order in which they were written (an object's members come out in it), and
//! equal formulas are one id. Children have smaller ids than their parents, so every computation is one loop over ids
//! ([`Formulas::fold`]) and nothing recurses.

use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::interner::{Id, Interner};

/// A formula over literals `L`, in a [`Formulas`] arena.
pub(crate) type FormulaId<L> = Id<Formula<L>>;

/// Satisfied by nothing.
pub(crate) fn falsehood<L>() -> FormulaId<L> {
    Id::at(0)
}

/// Satisfied by everything.
pub(crate) fn truth<L>() -> FormulaId<L> {
    Id::at(1)
}

/// How a formula is made, at its top.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Formula<L> {
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

/// An assertion that formulas are made of.
pub(crate) trait Literal: Clone + Eq + Hash {
    /// The assertion that holds exactly when this one does not, if the formula should know it.
    fn opposite(&self) -> Option<Self> {
        None
    }
}

/// The arena.
#[derive(Debug)]
pub(crate) struct Formulas<L> {
    nodes: Interner<Formula<L>>,
    operands: usize,
}

impl<L: Literal> Formulas<L> {
    pub(crate) fn new() -> Self {
        let mut nodes = Interner::new();
        nodes.intern(Formula::False);
        nodes.intern(Formula::True);
        Self { nodes, operands: 0 }
    }

    pub(crate) fn get(&self, formula: FormulaId<L>) -> &Formula<L> {
        self.nodes.get(formula)
    }

    /// The size of the arena: formulas and their operands.
    pub(crate) fn size(&self) -> usize {
        self.nodes.len() + self.operands
    }

    pub(crate) fn literal(&mut self, literal: L) -> FormulaId<L> {
        self.intern(Formula::Literal(literal))
    }

    /// All of `parts`.
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
            if self.opposite_of(operands.list[index]).is_some_and(|other| operands.seen.contains(&other)) {
                return falsehood();
            }
        }
        // a and (a or b) is a; a and (not a or b) is a and b.
        let mut shorter = Vec::new();
        let Operands { list, seen } = &mut operands;
        list.retain(|&operand| {
            let Formula::Or(inner) = self.get(operand) else { return true };
            if inner.iter().any(|part| seen.contains(part)) {
                return false;
            }
            let kept: Vec<_> = inner.iter().copied().filter(|&part| !self.is_refuted(part, seen)).collect();
            if kept.len() < inner.len() {
                shorter.push(kept);
                return false;
            }
            true
        });
        let list = operands.list;
        if shorter.is_empty() {
            return match list[..] {
                [] => truth(),
                [only] => only,
                _ => self.intern(Formula::And(list.into())),
            };
        }
        let shorter: Vec<_> = shorter.into_iter().map(|parts| self.or(parts)).collect();
        self.and(list.into_iter().chain(shorter))
    }

    /// Any of `parts`.
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
            if self.opposite_of(operands.list[index]).is_some_and(|other| operands.seen.contains(&other)) {
                return truth();
            }
        }
        // a or (a and b) is a.
        let Operands { list, seen } = &mut operands;
        list.retain(|&operand| match self.get(operand) {
            Formula::And(inner) => !inner.iter().any(|part| seen.contains(part)),
            _ => true,
        });
        match operands.list[..] {
            [] => falsehood(),
            [only] => only,
            _ => self.intern(Formula::Or(operands.list.into())),
        }
    }

    /// The formula of the opposite of a literal, if there is such a formula.
    fn opposite_of(&self, formula: FormulaId<L>) -> Option<FormulaId<L>> {
        match self.get(formula) {
            Formula::Literal(literal) => self.nodes.find(&Formula::Literal(literal.opposite()?)),
            _ => None,
        }
    }

    /// Whether `formula`, or a part that it needs, is the opposite of one of `known`.
    fn is_refuted(&self, formula: FormulaId<L>, known: &FxHashSet<FormulaId<L>>) -> bool {
        let refuted = |part| self.opposite_of(part).is_some_and(|other| known.contains(&other));
        match self.get(formula) {
            Formula::Literal(_) => refuted(formula),
            Formula::And(parts) => parts.iter().any(|&part| refuted(part)),
            _ => false,
        }
    }

    /// Computes a value for `root` from the values of its literals, bottom up.
    pub(crate) fn fold<T: Clone>(&self, root: FormulaId<L>, mut rule: impl FnMut(Step<'_, L, T>) -> T) -> T {
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
    pub(crate) fn below(&self, root: FormulaId<L>) -> Vec<FormulaId<L>> {
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
    pub(crate) fn literals(&self, root: FormulaId<L>) -> Vec<L> {
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
    pub(crate) fn conjuncts(&self, formula: FormulaId<L>) -> Vec<FormulaId<L>> {
        match self.get(formula) {
            Formula::And(parts) => parts.to_vec(),
            Formula::True => Vec::new(),
            _ => vec![formula],
        }
    }

    /// The parts of a disjunction; any other formula is its own only part.
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

/// What the next value satisfies, and what is left to satisfy then.
pub(crate) type Outcome<V, L> = (FormulaId<V>, FormulaId<L>);

/// The same outcomes with each value formula once, and then with each rest once. Joining rests keeps the number of
/// different rests small: the rest of `a or b` after something that concerns neither is `a or b`, not `a` and `b` apart.
pub(crate) fn merged<V: Literal, L: Literal>(
    values: &mut Formulas<V>,
    rests: &mut Formulas<L>,
    outcomes: Vec<Outcome<V, L>>,
) -> Vec<Outcome<V, L>> {
    let possible = outcomes.into_iter().filter(|&(value, rest)| value != falsehood() && rest != falsehood());
    let by_value = grouped(possible);
    let joined: Vec<_> = by_value.into_iter().map(|(value, group)| (rests.or(group), value)).collect();
    let by_rest = grouped(joined);
    by_rest.into_iter().map(|(rest, group)| (values.or(group), rest)).collect()
}

/// The second parts of pairs by their first parts, in the order in which these first occur.
fn grouped<A: Copy + Eq + Hash, B>(pairs: impl IntoIterator<Item = (A, B)>) -> Vec<(A, Vec<B>)> {
    let mut groups: Vec<(A, Vec<B>)> = Vec::new();
    let mut places = FxHashMap::default();
    for (key, item) in pairs {
        let place = *places.entry(key).or_insert_with(|| {
            groups.push((key, Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(item);
    }
    groups
}

/// A formula's top with the values of what it is made of.
pub(crate) enum Step<'f, L, T> {
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

    impl Literal for &'static str {}

    impl Literal for i32 {
        fn opposite(&self) -> Option<Self> {
            Some(-self)
        }
    }

    #[test]
    fn knows_opposites() {
        let mut formulas = Formulas::new();
        let [a, b, not_a, not_b] = [1, 2, -1, -2].map(|literal| formulas.literal(literal));
        assert_eq!(formulas.and([a, b, not_a]), falsehood());
        assert_eq!(formulas.or([a, b, not_a]), truth());
        let (both, neither) = (formulas.and([a, b]), formulas.or([not_a, not_b]));
        assert_eq!(formulas.and([both, neither]), falsehood());
        assert_eq!(formulas.and([a, neither]), formulas.and([a, not_b]));
    }

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
        let mut formula = formulas.literal(1);
        for level in 2..=50_000 {
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
