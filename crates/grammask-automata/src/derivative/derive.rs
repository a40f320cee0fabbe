//! Derivatives by one byte (Brzozowski, "Derivatives of regular expressions", 1964), and the byte classes of a term
//! (Owens, Reppy and Turon, "Regular-expression derivatives re-examined", 2009).
//!
//! The traversal has an explicit stack and memoises per subterm, so deep terms do not overflow the call stack, and
//! shared subterms are derived once. The derivative of a chain with nullable elements is one flat union, not a
//! nested union per element.

use super::memo::DerivativeMemo;
use crate::term::arena::{Term, TermId, Terms};
use grammask_collections::byte_set::ByteSet;

/// An entry of the stack of a traversal.
#[derive(Debug)]
pub(super) enum DerivativeTask {
    /// Derive a term.
    Visit(TermId),
    /// Combine the derivatives of a term's operands, which have been visited.
    Build(TermId),
    /// Memoise the derivative of an operand of an intersection beyond this traversal.
    MemoiseOperand(TermId),
}

impl Terms {
    /// The derivative: the words `w` such that `byte w` is in `term`.
    ///
    /// Cost: linear in the number of distinct subterms in which a word can begin, not in the size of `term`.
    pub fn derivative(&mut self, term: TermId, byte: u8) -> TermId {
        if let Some(leaf) = self.leaf_derivative(term, byte) {
            return leaf;
        }
        if let Some(chain) = self.concat_or_repeat_derivative(term, byte) {
            return chain;
        }
        let mut derivatives = std::mem::take(&mut self.memo);
        derivatives.begin_traversal(self.len());
        let mut stack = std::mem::take(&mut derivatives.stack);
        stack.push(DerivativeTask::Visit(term));
        while let Some(task) = stack.pop() {
            match task {
                DerivativeTask::MemoiseOperand(term) => {
                    let derivative = derivatives.visited(term);
                    derivatives.insert_operand_derivative(term, byte, derivative);
                }
                DerivativeTask::Visit(term) => {
                    if derivatives.get(term).is_some() {
                        continue;
                    }
                    if let Some(leaf) = self.leaf_derivative(term, byte) {
                        derivatives.insert(term, leaf);
                        continue;
                    }
                    stack.push(DerivativeTask::Build(term));
                    if let Term::Intersection(operands) = self.get(term) {
                        for &operand in &operands[..] {
                            match derivatives.operands.get(&(operand, byte)) {
                                Some(&known) => derivatives.insert(operand, known),
                                None => stack.extend([
                                    DerivativeTask::MemoiseOperand(operand),
                                    DerivativeTask::Visit(operand),
                                ]),
                            }
                        }
                    } else {
                        self.for_each_start(term, |start| stack.push(DerivativeTask::Visit(start)));
                    }
                }
                DerivativeTask::Build(term) => {
                    let derivative = self.build_derivative(term, &mut derivatives);
                    derivatives.insert(term, derivative);
                }
            }
        }
        let derivative = derivatives.visited(term);
        derivatives.stack = stack;
        self.memo = derivatives;
        derivative
    }

    fn leaf_derivative(&mut self, term: TermId, byte: u8) -> Option<TermId> {
        Some(match self.get(term) {
            Term::Nothing | Term::Epsilon => TermId::NOTHING,
            Term::Bytes(set) if set.contains(byte) => TermId::EPSILON,
            Term::Bytes(_) => TermId::NOTHING,
            Term::Literal(chunk) => {
                let chunk = *chunk;
                match chunk.as_slice().split_first() {
                    Some((&first, rest)) if first == byte => self.short_literal(rest),
                    _ => TermId::NOTHING,
                }
            }
            Term::Table { table, state } => {
                let table = *table;
                match self.get_table(table).next(*state, byte) {
                    Some(target) => self.table_state(table, target),
                    None => TermId::NOTHING,
                }
            }
            _ => return None,
        })
    }

    /// The derivative of a concatenation or repetition whose first element is a leaf, without memoisation. Most states
    /// of character classes are of this kind.
    fn concat_or_repeat_derivative(&mut self, term: TermId, byte: u8) -> Option<TermId> {
        match *self.get(term) {
            Term::Concat(head, tail) if !self.is_nullable(head) => {
                let derivative = self.leaf_derivative(head, byte)?;
                Some(self.concat_two(derivative, tail))
            }
            Term::Repeat { term: part, min, max } => {
                let derivative = self.leaf_derivative(part, byte)?;
                Some(self.repetition_derivative(derivative, part, min, max))
            }
            _ => None,
        }
    }

    /// The derivative of a repetition of `part`, of which `first` is the derivative.
    fn repetition_derivative(&mut self, first: TermId, part: TermId, min: u32, max: Option<u32>) -> TermId {
        // Exact for nullable parts too: the empty copies of a word can be moved to its end.
        let others = self.repeat(part, min.saturating_sub(1), max.map(|max| max - 1));
        self.concat_two(first, others)
    }

    /// Calls `visit` for the operands whose derivatives are needed for the derivative of `term`.
    fn for_each_start(&self, term: TermId, mut visit: impl FnMut(TermId)) {
        match self.get(term) {
            Term::Nothing | Term::Epsilon | Term::Bytes(_) | Term::Literal(_) | Term::Table { .. } => {}
            Term::Union(parts) | Term::Intersection(parts) => parts.iter().copied().for_each(visit),
            Term::Complement(part) | Term::FirstMatch(part) | Term::Repeat { term: part, .. } => visit(*part),
            Term::Concat(..) => self.for_each_link(term, |head, _| visit(head)),
        }
    }

    /// Calls `visit` for the elements of a chain in which a word can begin, each with the remaining chain.
    fn for_each_link(&self, chain: TermId, mut visit: impl FnMut(TermId, TermId)) {
        let mut rest = chain;
        loop {
            let (head, tail) = self.split_head(rest);
            visit(head, tail);
            if tail == TermId::EPSILON || !self.is_nullable(head) {
                return;
            }
            rest = tail;
        }
    }

    fn build_derivative(&mut self, term: TermId, derivatives: &mut DerivativeMemo) -> TermId {
        match *self.get(term) {
            Term::Union(ref parts) => {
                let parts = parts.iter().map(|part| derivatives.visited(*part));
                let parts: Vec<TermId> = parts.filter(|&part| part != TermId::NOTHING).collect();
                self.union_of_derivatives(&parts, derivatives)
            }
            Term::Intersection(ref parts) => {
                let parts: Vec<TermId> = parts.iter().map(|part| derivatives.visited(*part)).collect();
                if parts.contains(&TermId::NOTHING) {
                    return TermId::NOTHING;
                }
                if let Some(memoised) = derivatives.intersections.get(&parts) {
                    return memoised;
                }
                let intersection = self.intersection(&parts);
                derivatives.intersections.insert(&parts, intersection);
                intersection
            }
            Term::Complement(part) => self.complement(derivatives.visited(part)),
            Term::FirstMatch(part) => {
                let rest = derivatives.visited(part);
                if self.is_nullable(rest) { TermId::EPSILON } else { self.first_match(rest) }
            }
            Term::Repeat { term: part, min, max } => {
                self.repetition_derivative(derivatives.visited(part), part, min, max)
            }
            Term::Concat(head, tail) if !self.is_nullable(head) => {
                self.concat_two(derivatives.visited(head), tail)
            }
            Term::Concat(..) => {
                let mut links = Vec::new();
                self.for_each_link(term, |head, tail| {
                    let derivative = derivatives.visited(head);
                    if derivative != TermId::NOTHING {
                        links.push((derivative, tail));
                    }
                });
                let parts: Vec<TermId> =
                    links.into_iter().map(|(head, tail)| self.concat_two(head, tail)).collect();
                self.union_of_derivatives(&parts, derivatives)
            }
            _ => unreachable!("leaf_derivative derives leaves"),
        }
    }

    /// The memoised union of nonempty languages.
    fn union_of_derivatives(&mut self, parts: &[TermId], derivatives: &mut DerivativeMemo) -> TermId {
        if parts.len() < 2 {
            return parts.first().copied().unwrap_or(TermId::NOTHING);
        }
        if let Some(memoised) = derivatives.unions.get(parts) {
            return memoised;
        }
        let union = self.union(parts);
        derivatives.unions.insert(parts, union);
        union
    }

    /// The first bytes of the byte classes of `term`: bytes between two consecutive boundaries have the same
    /// derivative. Conservative: adjacent classes may have equal derivatives.
    pub(crate) fn boundaries(&mut self, term: TermId) -> ByteSet {
        let Term::Intersection(parts) = self.get(term) else { return self.find_boundaries(term) };
        let parts = parts.clone();
        let mut boundaries = ByteSet::EMPTY;
        for &part in &parts[..] {
            let own = match self.memo.boundaries.get(&part) {
                Some(&memoised) => memoised,
                None => {
                    let own = self.find_boundaries(part);
                    self.memo.insert_operand_boundaries(part, own);
                    own
                }
            };
            boundaries = boundaries.union(own);
        }
        boundaries
    }

    fn find_boundaries(&mut self, term: TermId) -> ByteSet {
        let mut memo = std::mem::take(&mut self.memo);
        memo.begin_traversal(self.len());
        let mut stack = std::mem::take(&mut memo.stack);
        stack.push(DerivativeTask::Visit(term));
        let mut boundaries = ByteSet::EMPTY;
        while let Some(task) = stack.pop() {
            let DerivativeTask::Visit(term) = task else { continue };
            match self.get(term) {
                Term::Bytes(set) => boundaries = boundaries.union(set.boundaries()),
                Term::Literal(chunk) => {
                    boundaries = boundaries.union(ByteSet::single(chunk.as_slice()[0]).boundaries());
                }
                Term::Table { table, state } => {
                    for (low, high, _) in self.get_table(*table).edges(*state) {
                        boundaries.insert(low);
                        if high < u8::MAX {
                            boundaries.insert(high + 1);
                        }
                    }
                }
                _ => self.for_each_start(term, |start| {
                    // The table serves as a set of visited terms.
                    if memo.get(start).is_none() {
                        memo.insert(start, TermId::NOTHING);
                        stack.push(DerivativeTask::Visit(start));
                    }
                }),
            }
        }
        memo.stack = stack;
        self.memo = memo;
        boundaries
    }
}
