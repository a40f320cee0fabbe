//! Memo tables for derivatives.

use rustc_hash::FxHashMap;

use grammask_collections::reserve::reserve;

use super::derive::DerivativeTask;
use crate::term::arena::TermId;
use grammask_collections::byte_set::ByteSet;

/// Memo tables of an arena, with two lifetimes.
///
/// The derivatives of the subterms of one term live for one derivation. Their table is indexed by term and reused, and
/// a generation number invalidates its entries, so a derivation neither hashes nor allocates.
///
/// Results about operands of intersections live longer: an intersection can have many states although each of its
/// operands has few.
#[derive(Debug, Default)]
pub(crate) struct DerivativeMemo {
    generation: u32,
    /// The derivative of each term, with the generation that computed it.
    derivatives: Vec<(u32, TermId)>,
    /// The stack of the traversal, kept for its allocation.
    pub(super) stack: Vec<DerivativeTask>,
    /// Derivatives of operands of intersections.
    pub(super) operands: FxHashMap<(TermId, u8), TermId>,
    /// Boundaries of operands of intersections.
    pub(super) boundaries: FxHashMap<TermId, ByteSet>,
    /// Unions of derivatives; the same ones recur for many bytes and states.
    pub(super) unions: OperandListMemo,
    /// Intersections of derivatives.
    pub(super) intersections: OperandListMemo,
}

/// The results of one commutative operation, by list of operands. Cleared when it is full.
#[derive(Debug, Default)]
pub(super) struct OperandListMemo {
    results: FxHashMap<Box<[TermId]>, TermId>,
    /// Total length of all lists.
    operand_count: usize,
}

impl OperandListMemo {
    pub(super) fn get(&self, operands: &[TermId]) -> Option<TermId> {
        self.results.get(operands).copied()
    }

    pub(super) fn insert(&mut self, operands: &[TermId], result: TermId) {
        if self.operand_count + operands.len() > MAX_LISTED_OPERANDS {
            *self = Self::default();
        }
        self.operand_count += operands.len();
        self.results.insert(operands.into(), result);
    }

    fn memory_bytes(&self) -> usize {
        self.results.capacity() * (size_of::<(Box<[TermId]>, TermId)>() + 1)
            + self.operand_count * size_of::<TermId>()
    }
}

/// Entries of [`DerivativeMemo::operands`] before it is cleared.
const MAX_OPERAND_DERIVATIVES: usize = 1 << 16;
/// Operands of all keys of an [`OperandListMemo`] before it is cleared.
const MAX_LISTED_OPERANDS: usize = 1 << 16;
/// Entries of [`DerivativeMemo::boundaries`] before it is cleared.
const MAX_OPERAND_BOUNDARIES: usize = 1 << 12;

impl DerivativeMemo {
    /// Begins a traversal of terms with ids below `count`: invalidates the derivatives of the one before.
    pub(super) fn begin_traversal(&mut self, count: usize) {
        if self.generation == u32::MAX {
            self.derivatives.clear();
            self.generation = 0;
        }
        self.generation += 1;
        if self.derivatives.len() < count {
            reserve(&mut self.derivatives, count);
            self.derivatives.resize(count, (0, TermId::NOTHING));
        }
    }

    /// The derivative of a term, if this traversal has computed it.
    pub(super) fn get(&self, term: TermId) -> Option<TermId> {
        let (generation, derivative) = self.derivatives[term.index()];
        (generation == self.generation).then_some(derivative)
    }

    /// The derivative of a term that has been visited.
    pub(super) fn visited(&self, term: TermId) -> TermId {
        self.get(term).expect("operands are visited before the terms that contain them")
    }

    /// Stores the derivative of a term for the current traversal.
    pub(super) fn insert(&mut self, term: TermId, derivative: TermId) {
        self.derivatives[term.index()] = (self.generation, derivative);
    }

    /// Stores the derivative of an operand of an intersection.
    pub(super) fn insert_operand_derivative(&mut self, term: TermId, byte: u8, derivative: TermId) {
        if self.operands.len() >= MAX_OPERAND_DERIVATIVES {
            self.operands.clear();
        }
        self.operands.insert((term, byte), derivative);
    }

    /// Stores the boundaries of an operand of an intersection.
    pub(super) fn insert_operand_boundaries(&mut self, term: TermId, boundaries: ByteSet) {
        if self.boundaries.len() >= MAX_OPERAND_BOUNDARIES {
            self.boundaries.clear();
        }
        self.boundaries.insert(term, boundaries);
    }

    /// Clears the results that depend on the laws of intersection, after a law has become applicable.
    pub(crate) fn clear_results(&mut self) {
        self.operands.clear();
        self.unions = OperandListMemo::default();
        self.intersections = OperandListMemo::default();
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.unions.memory_bytes()
            + self.intersections.memory_bytes()
            + self.derivatives.capacity() * size_of::<(u32, TermId)>()
            + self.operands.capacity() * (size_of::<((TermId, u8), TermId)>() + 1)
            + self.boundaries.capacity() * (size_of::<(TermId, ByteSet)>() + 1)
    }
}

/// A clone of an arena has empty memo tables.
impl Clone for DerivativeMemo {
    fn clone(&self) -> Self {
        Self::default()
    }
}
