//! Derivatives: what may follow after a byte, and which bytes are alike.
//!
//! Brzozowski, "Derivatives of regular expressions" (1964). The traversal keeps its own stack and a memo of
//! the terms it has met, so neither depth nor sharing of a term hurts. Chains of optional elements contribute
//! to one union, in place of one nested union per element.

use rustc_hash::FxHashMap;

use crate::byte_set::ByteSet;
use crate::term::arena::{Term, TermId, Terms};

/// Derivatives of the terms that were met, by term; those of earlier derivations are told apart by their round. Kept by
/// the arena, so that a derivation neither hashes nor allocates.
///
/// What is intersected is remembered for longer: the states of an intersection are many, those of its operands few.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    round: u32,
    derivatives: Vec<(u32, TermId)>,
    stack: Vec<Task>,
    /// Derivatives of operands of intersections.
    operands: FxHashMap<(TermId, u8), TermId>,
    /// Boundaries of operands of intersections.
    boundaries: FxHashMap<TermId, ByteSet>,
    /// Unions and intersections of derivatives: those of many bytes and states are the same.
    unions: Combinations,
    intersections: Combinations,
}

/// What lists of terms make together.
#[derive(Debug, Default)]
struct Combinations {
    known: FxHashMap<Box<[TermId]>, TermId>,
    /// The terms of all lists.
    terms: usize,
}

impl Combinations {
    fn insert(&mut self, parts: &[TermId], combined: TermId) {
        if self.terms + parts.len() > MOST_COMBINED {
            *self = Self::default();
        }
        self.terms += parts.len();
        self.known.insert(parts.into(), combined);
    }

    fn memory_bytes(&self) -> usize {
        self.known.capacity() * (size_of::<(Box<[TermId]>, TermId)>() + 1) + self.terms * size_of::<TermId>()
    }
}

/// How many derivatives of operands are remembered, until all are forgotten.
const MOST_OPERANDS: usize = 1 << 16;
/// How many terms all lists that are remembered have, until all are forgotten.
const MOST_COMBINED: usize = 1 << 16;
/// Of how many operands the boundaries are remembered, until all are forgotten.
const MOST_BOUNDARIES: usize = 1 << 12;

impl Memo {
    /// Forgets everything; terms will be among the first `count` of the arena.
    fn begin(&mut self, count: usize) {
        if self.round == u32::MAX {
            self.derivatives.clear();
            self.round = 0;
        }
        self.round += 1;
        if self.derivatives.len() < count {
            self.derivatives.resize(count, (0, TermId::NOTHING));
        }
    }

    fn get(&self, term: TermId) -> Option<TermId> {
        let (round, derivative) = self.derivatives[term.index()];
        (round == self.round).then_some(derivative)
    }

    /// The derivative of a term that was met.
    fn of(&self, term: TermId) -> TermId {
        self.get(term).expect("terms are visited before those that are built of them")
    }

    fn insert(&mut self, term: TermId, derivative: TermId) {
        self.derivatives[term.index()] = (self.round, derivative);
    }

    /// Forgets what is remembered for longer.
    pub(crate) fn forget(&mut self) {
        self.operands.clear();
        self.unions = Combinations::default();
        self.intersections = Combinations::default();
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.unions.memory_bytes()
            + self.intersections.memory_bytes()
            + self.derivatives.capacity() * size_of::<(u32, TermId)>()
            + self.operands.capacity() * (size_of::<((TermId, u8), TermId)>() + 1)
            + self.boundaries.capacity() * (size_of::<(TermId, ByteSet)>() + 1)
    }
}

/// A copy of an arena begins with an empty memo.
impl Clone for Memo {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[derive(Debug)]
enum Task {
    Visit(TermId),
    Build(TermId),
    /// Remember the derivative of an operand of an intersection.
    RememberOperand(TermId),
}

impl Terms {
    /// The words that make a word of `term` when `byte` is put in front of them.
    ///
    /// Cost: in the number of different terms that can start with the byte, not in the size of `term`.
    pub fn derivative(&mut self, term: TermId, byte: u8) -> TermId {
        if let Some(leaf) = self.leaf_derivative(term, byte) {
            return leaf;
        }
        if let Some(chain) = self.chain_derivative(term, byte) {
            return chain;
        }
        let mut derivatives = std::mem::take(&mut self.memo);
        derivatives.begin(self.len());
        let mut stack = std::mem::take(&mut derivatives.stack);
        stack.push(Task::Visit(term));
        while let Some(task) = stack.pop() {
            match task {
                Task::RememberOperand(term) => {
                    if derivatives.operands.len() >= MOST_OPERANDS {
                        derivatives.operands.clear();
                    }
                    let derivative = derivatives.of(term);
                    derivatives.operands.insert((term, byte), derivative);
                }
                Task::Visit(term) => {
                    if derivatives.get(term).is_some() {
                        continue;
                    }
                    if let Some(leaf) = self.leaf_derivative(term, byte) {
                        derivatives.insert(term, leaf);
                        continue;
                    }
                    stack.push(Task::Build(term));
                    if let Term::Intersection(operands) = self.get(term) {
                        for &operand in &operands[..] {
                            match derivatives.operands.get(&(operand, byte)) {
                                Some(&known) => derivatives.insert(operand, known),
                                None => stack.extend([Task::RememberOperand(operand), Task::Visit(operand)]),
                            }
                        }
                    } else {
                        self.for_each_start(term, |start| stack.push(Task::Visit(start)));
                    }
                }
                Task::Build(term) => {
                    let derivative = self.build_derivative(term, &mut derivatives);
                    derivatives.insert(term, derivative);
                }
            }
        }
        let derivative = derivatives.of(term);
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

    /// The derivative of a leaf with something behind it, which needs no memo: most states of a class of characters are that.
    fn chain_derivative(&mut self, term: TermId, byte: u8) -> Option<TermId> {
        match *self.get(term) {
            Term::Concat(head, tail) if !self.is_nullable(head) => {
                let derivative = self.leaf_derivative(head, byte)?;
                Some(self.chained(derivative, tail))
            }
            Term::Repeat { term: part, min, max } => {
                let derivative = self.leaf_derivative(part, byte)?;
                Some(self.after_copy(derivative, (part, min, max)))
            }
            _ => None,
        }
    }

    /// What follows in a repetition after the beginning of a copy.
    fn after_copy(&mut self, rest_of_copy: TermId, (part, min, max): (TermId, u32, Option<u32>)) -> TermId {
        // Exact for a nullable part too: its shortest factor can always be taken first.
        let rest = self.repeat(part, min.saturating_sub(1), max.map(|max| max - 1));
        self.chained(rest_of_copy, rest)
    }

    /// Calls `visit` for the subterms whose derivatives make the derivative of `term`.
    fn for_each_start(&self, term: TermId, mut visit: impl FnMut(TermId)) {
        match self.get(term) {
            Term::Nothing | Term::Epsilon | Term::Bytes(_) | Term::Literal(_) | Term::Table { .. } => {}
            Term::Union(parts) | Term::Intersection(parts) => parts.iter().copied().for_each(visit),
            Term::Complement(part) | Term::FirstMatch(part) | Term::Repeat { term: part, .. } => visit(*part),
            Term::Concat(..) => self.for_each_link(term, |head, _| visit(head)),
        }
    }

    /// Calls `visit` for the elements of a chain that a word can start in, each with what follows it.
    fn for_each_link(&self, chain: TermId, mut visit: impl FnMut(TermId, TermId)) {
        let mut rest = chain;
        loop {
            let (head, tail) = self.split(rest);
            visit(head, tail);
            if tail == TermId::EPSILON || !self.is_nullable(head) {
                return;
            }
            rest = tail;
        }
    }

    fn build_derivative(&mut self, term: TermId, derivatives: &mut Memo) -> TermId {
        match *self.get(term) {
            Term::Union(ref parts) => {
                let parts = parts.iter().map(|part| derivatives.of(*part));
                let parts: Vec<TermId> = parts.filter(|&part| part != TermId::NOTHING).collect();
                self.union_of_derivatives(&parts, derivatives)
            }
            Term::Intersection(ref parts) => {
                let parts: Vec<TermId> = parts.iter().map(|part| derivatives.of(*part)).collect();
                if parts.contains(&TermId::NOTHING) {
                    return TermId::NOTHING;
                }
                if let Some(&known) = derivatives.intersections.known.get(&parts[..]) {
                    return known;
                }
                let intersection = self.intersection(&parts);
                derivatives.intersections.insert(&parts, intersection);
                intersection
            }
            Term::Complement(part) => self.complement(derivatives.of(part)),
            Term::FirstMatch(part) => {
                let rest = derivatives.of(part);
                if self.is_nullable(rest) { TermId::EPSILON } else { self.first_match(rest) }
            }
            Term::Repeat { term: part, min, max } => self.after_copy(derivatives.of(part), (part, min, max)),
            Term::Concat(head, tail) if !self.is_nullable(head) => self.chained(derivatives.of(head), tail),
            Term::Concat(..) => {
                let mut links = Vec::new();
                self.for_each_link(term, |head, tail| {
                    let derivative = derivatives.of(head);
                    if derivative != TermId::NOTHING {
                        links.push((derivative, tail));
                    }
                });
                let parts: Vec<TermId> =
                    links.into_iter().map(|(head, tail)| self.chained(head, tail)).collect();
                self.union_of_derivatives(&parts, derivatives)
            }
            _ => unreachable!("leaves have derivatives of their own"),
        }
    }

    /// The union of terms none of which is empty.
    fn union_of_derivatives(&mut self, parts: &[TermId], derivatives: &mut Memo) -> TermId {
        if parts.len() < 2 {
            return parts.first().copied().unwrap_or(TermId::NOTHING);
        }
        if let Some(&known) = derivatives.unions.known.get(parts) {
            return known;
        }
        let union = self.union(parts);
        derivatives.unions.insert(parts, union);
        union
    }

    /// The bytes at which the derivative of `term` may differ from that of the byte before. Between two of
    /// them all derivatives are equal.
    pub(crate) fn boundaries(&mut self, term: TermId) -> ByteSet {
        let Term::Intersection(parts) = self.get(term) else { return self.find_boundaries(term) };
        let parts = parts.clone();
        let mut boundaries = ByteSet::EMPTY;
        for &part in &parts[..] {
            let own = match self.memo.boundaries.get(&part) {
                Some(&known) => known,
                None => {
                    let found = self.find_boundaries(part);
                    if self.memo.boundaries.len() >= MOST_BOUNDARIES {
                        self.memo.boundaries.clear();
                    }
                    self.memo.boundaries.insert(part, found);
                    found
                }
            };
            boundaries = boundaries.union(own);
        }
        boundaries
    }

    fn find_boundaries(&mut self, term: TermId) -> ByteSet {
        let mut memo = std::mem::take(&mut self.memo);
        memo.begin(self.len());
        let mut stack = std::mem::take(&mut memo.stack);
        stack.push(Task::Visit(term));
        let mut boundaries = ByteSet::EMPTY;
        while let Some(task) = stack.pop() {
            let Task::Visit(term) = task else { continue };
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
                    // Only whether it was met counts.
                    if memo.get(start).is_none() {
                        memo.insert(start, TermId::NOTHING);
                        stack.push(Task::Visit(start));
                    }
                }),
            }
        }
        memo.stack = stack;
        self.memo = memo;
        boundaries
    }
}
