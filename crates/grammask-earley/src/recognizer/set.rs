//! An interned Earley set, as readers see it without a lock: the steps from it that are known.
//!
//! Most sets are left with one byte only, so the first step is kept in the set, and a row for all classes of bytes is made for
//! the second.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use grammask_collections::slots::Slots;

use super::kernel::SetId;
use super::shape::{Shape, ShapeId};

/// A step that nobody has taken yet. It is zero, and sets begin with zeros: making one costs as little as can be.
const UNKNOWN: u32 = 0;
/// A step into nothing.
const DEAD: u32 = 1;
/// What is added to the numbers of sets.
const FIRST_SET: u32 = 2;

/// All sets of a recogniser.
#[derive(Debug)]
pub(super) struct Sets {
    slots: Slots<Set>,
    len: AtomicUsize,
}

/// See the module. What is atomic changes once, before anyone but the builder knows the set's number, but for the steps.
#[derive(Debug, Default)]
pub(super) struct Set {
    shape: AtomicU32,
    /// Where its continuations begin in the list of them.
    first: AtomicU32,
    ends: AtomicBool,
    is_final: AtomicBool,
    /// The only step that is known: its class above the set; not known if it is zero.
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
    #[inline]
    fn new(value: u32) -> Self {
        match value {
            UNKNOWN => Self::Unknown,
            DEAD => Self::Dead,
            set => Self::Set(SetId(set - FIRST_SET)),
        }
    }
}

impl Sets {
    pub(super) fn new() -> Self {
        Self { slots: Slots::new(), len: AtomicUsize::new(0) }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// Adds a set of a shape, whose continuations begin at `first`. Only one thread may call it at a time.
    pub(super) fn push(&self, id: ShapeId, first: u32, shape: &Shape) -> SetId {
        let index = self.len();
        let set = self.slots.reach(index);
        set.shape.store(id.0, Ordering::Relaxed);
        set.first.store(first, Ordering::Relaxed);
        set.ends.store(shape.ends, Ordering::Relaxed);
        set.is_final.store(shape.items.is_empty(), Ordering::Relaxed);
        self.len.store(index + 1, Ordering::Release);
        SetId::new(index)
    }

    /// The set with a number that `push` returned.
    #[inline]
    pub(super) fn get(&self, id: SetId) -> &Set {
        self.slots.get(id.index()).expect("numbers of sets come from push, which makes room for them")
    }
}

impl Set {
    /// Bytes that a set takes, without a row and without its continuations.
    pub(super) const BYTES: usize = size_of::<Self>();

    pub(super) fn shape(&self) -> ShapeId {
        ShapeId(self.shape.load(Ordering::Relaxed))
    }

    /// Where its continuations begin in the list of them.
    pub(super) fn first(&self) -> usize {
        self.first.load(Ordering::Relaxed) as usize
    }

    /// Whether the text may be complete.
    pub(super) fn ends(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }

    /// Whether no item is left.
    pub(super) fn is_final(&self) -> bool {
        self.is_final.load(Ordering::Relaxed)
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
        let next = next.map_or(DEAD, |next| next.0 + FIRST_SET);
        let only = self.only.load(Ordering::Relaxed);
        if self.row.get().is_none() && matches!(Known::new(only as u32), Known::Unknown) {
            self.only.store((class as u64) << 32 | u64::from(next), Ordering::Release);
            return 0;
        }
        let mut bytes = 0;
        let row = self.row.get_or_init(|| {
            let row: Box<[AtomicU32]> = (0..=classes).map(|_| AtomicU32::default()).collect();
            row[(only >> 32) as usize].store(only as u32, Ordering::Relaxed);
            bytes = size_of_val(&row[..]);
            row
        });
        row[class].store(next, Ordering::Release);
        bytes
    }
}
