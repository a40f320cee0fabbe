//! An interned Earley set, as readers see it without a lock: the steps from it that are known.
//!
//! Most sets are left with one byte only, so the first step is kept in the set, and a row for all classes of bytes is made for
//! the second.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::kernel::SetId;
use super::shape::{Shape, ShapeId};

/// A step that nobody has taken yet.
const UNKNOWN: u32 = u32::MAX;
/// A step into nothing.
const DEAD: u32 = u32::MAX - 1;

/// See the module.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) shape: ShapeId,
    /// Where its continuations begin in the list of them.
    pub(super) first: u32,
    ends: bool,
    is_final: bool,
    /// The only step that is known: its class above the set; no set has the number [`UNKNOWN`].
    only: AtomicU64,
    /// The set after a byte, by class of the byte.
    row: OnceLock<Box<[AtomicU32]>>,
}

/// What is known about a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// Nothing.
    Unknown,
    /// It leads nowhere.
    Dead,
    /// It leads to this set.
    Set(SetId),
}

impl Known {
    fn new(value: u32) -> Self {
        match value {
            UNKNOWN => Self::Unknown,
            DEAD => Self::Dead,
            set => Self::Set(SetId(set)),
        }
    }
}

impl Set {
    /// Bytes that a set takes, without a row and without its continuations.
    pub(super) const BYTES: usize = size_of::<OnceLock<Self>>();

    pub(super) fn new(id: ShapeId, first: u32, shape: &Shape) -> Self {
        Self {
            shape: id,
            first,
            ends: shape.ends,
            is_final: shape.items.is_empty(),
            only: AtomicU64::new(u64::from(UNKNOWN)),
            row: OnceLock::new(),
        }
    }

    /// Whether the text may be complete.
    pub(super) fn ends(&self) -> bool {
        self.ends
    }

    /// Whether no item is left.
    pub(super) fn is_final(&self) -> bool {
        self.is_final
    }

    /// What is known about the step over a class of bytes.
    #[inline]
    pub(super) fn after(&self, class: usize) -> Known {
        if let Some(row) = self.row.get() {
            return Known::new(row[class].load(Ordering::Acquire));
        }
        let only = self.only.load(Ordering::Acquire);
        if only >> 32 == class as u64 { Known::new(only as u32) } else { Known::Unknown }
    }

    /// Keeps a step that is not known; returns how many bytes that takes. There are `classes` classes of bytes, and one for the end of a
    /// token. Only one thread may call it at a time.
    pub(super) fn keep(&self, class: usize, next: Option<SetId>, classes: usize) -> usize {
        let next = next.map_or(DEAD, |next| next.0);
        let only = self.only.load(Ordering::Relaxed);
        if self.row.get().is_none() && matches!(Known::new(only as u32), Known::Unknown) {
            self.only.store((class as u64) << 32 | u64::from(next), Ordering::Release);
            return 0;
        }
        let mut bytes = 0;
        let row = self.row.get_or_init(|| {
            let row: Box<[AtomicU32]> = (0..=classes).map(|_| AtomicU32::new(UNKNOWN)).collect();
            row[(only >> 32) as usize].store(only as u32, Ordering::Relaxed);
            bytes = size_of_val(&row[..]);
            row
        });
        row[class].store(next, Ordering::Release);
        bytes
    }
}
