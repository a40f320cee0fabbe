//! Nodes of a pattern without assertions, as plain terms.

use crate::strings::lengths::LengthRange;
use grammask_automata::TermId;

use super::ast::{PatternNode, PatternNodeId};
use super::contexts::{Bits, encode_class};
use super::translate::PatternTranslator;

/// Number of literal branches from which an alternation becomes one automaton of literals.
const MIN_LITERALS: usize = 16;

/// A node without assertions.
#[derive(Clone, Copy, Debug)]
pub(super) struct AssertionFree {
    pub(super) term: TermId,
    /// Superset of the atoms with which a nonempty text of the node can begin.
    pub(super) firsts: Bits,
    /// Superset of the atoms with which a nonempty text of the node can end.
    pub(super) lasts: Bits,
    pub(super) length: Option<LengthRange>,
}

impl<'a> PatternTranslator<'a> {
    pub(super) fn assertion_free(&self, id: PatternNodeId) -> Option<AssertionFree> {
        self.assertion_free[id.index()]
    }

    /// The node as a plain term, or `None` if it contains an assertion.
    pub(super) fn assertion_free_of(&mut self, id: PatternNodeId) -> Option<AssertionFree> {
        match self.pattern.node(id) {
            PatternNode::Class(class) => {
                let atoms = self.contexts.atoms_in(class);
                let term = encode_class(self.terms, self.encoding, class);
                Some(AssertionFree {
                    term,
                    firsts: atoms,
                    lasts: atoms,
                    length: Some(LengthRange::exactly(1)),
                })
            }
            PatternNode::Concat(parts) => {
                let parts: Vec<AssertionFree> =
                    parts.iter().map(|part| self.assertion_free(*part)).collect::<Option<_>>()?;
                let terms: Vec<TermId> = parts.iter().map(|part| part.term).collect();
                let (mut firsts, mut lasts) = (0, 0);
                for part in &parts {
                    firsts |= part.firsts;
                    if !self.terms.is_nullable(part.term) {
                        break;
                    }
                }
                for part in parts.iter().rev() {
                    lasts |= part.lasts;
                    if !self.terms.is_nullable(part.term) {
                        break;
                    }
                }
                let length =
                    parts.iter().try_fold(LengthRange::exactly(0), |sum, part| sum.checked_add(part.length?));
                Some(AssertionFree { term: self.terms.concat(&terms), firsts, lasts, length })
            }
            PatternNode::Alternation(branches) => {
                let parts: Vec<AssertionFree> =
                    branches.iter().map(|branch| self.assertion_free(*branch)).collect::<Option<_>>()?;
                let length = parts
                    .iter()
                    .map(|part| part.length)
                    .reduce(|one, other| Some(one?.union(other?)))
                    .flatten();
                let union =
                    |of: fn(&AssertionFree) -> Bits| parts.iter().fold(0, |bits, part| bits | of(part));
                let (firsts, lasts) = (union(|part| part.firsts), union(|part| part.lasts));
                Some(AssertionFree { term: self.branches(branches, &parts), firsts, lasts, length })
            }
            &PatternNode::Repeat { body, min, max } => {
                let body = self.assertion_free(body)?;
                let times = |length: u32, count: u32| length.checked_mul(count);
                let longest = match (body.length.and_then(|length| length.max), max) {
                    (Some(length), Some(max)) => times(length, max).map(Some),
                    _ => Some(None),
                };
                let shortest = body.length.and_then(|length| times(length.min, min));
                let length = shortest.zip(longest).map(|(min, max)| LengthRange { min, max });
                Some(AssertionFree { term: self.terms.repeat(body.term, min, max), length, ..body })
            }
            _ => None,
        }
    }

    pub(super) fn branches(&mut self, branches: &[PatternNodeId], parts: &[AssertionFree]) -> TermId {
        let mut union: Vec<TermId> = Vec::new();
        let mut literals: Vec<String> = Vec::new();
        for (&branch, part) in branches.iter().zip(parts) {
            match self.literal(branch) {
                Some(literal) if branches.len() >= MIN_LITERALS => literals.push(literal),
                _ => union.push(part.term),
            }
        }
        union.push(self.encoding.literals(self.terms, literals.iter().map(String::as_str)));
        self.terms.union(&union)
    }

    /// The only text of a node, if the node is a literal.
    fn literal(&self, id: PatternNodeId) -> Option<String> {
        let character = |id: &PatternNodeId| match self.pattern.node(*id) {
            PatternNode::Class(class) => match class.ranges() {
                [only] if only.start() == only.end() => Some(only.start()),
                _ => None,
            },
            _ => None,
        };
        match self.pattern.node(id) {
            PatternNode::Concat(parts) => parts.iter().map(character).collect(),
            _ => character(&id).map(String::from),
        }
    }
}
