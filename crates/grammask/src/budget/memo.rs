//! Memo tables by state, read without a lock.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use grammask_collections::segmented_array::SegmentedArray;
use grammask_engine::SetId;

/// A value as a number other than zero.
pub(super) trait Encoded: Copy {
    /// The number of a value.
    fn encode(self) -> u32;
    /// The value of a number.
    fn decode(code: u32) -> Self;
}

/// Values by state. A value is a function of the state, or a bound that holds whichever writer was last.
#[derive(Debug)]
pub(super) struct Memo<T> {
    /// For each state the number of its value; zero if it is not known.
    codes: SegmentedArray<AtomicU32>,
    entries: AtomicUsize,
    values: PhantomData<fn() -> T>,
}

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Self { codes: SegmentedArray::new(), entries: AtomicUsize::new(0), values: PhantomData }
    }
}

impl<T: Encoded> Memo<T> {
    #[inline]
    pub(super) fn get(&self, set: SetId) -> Option<T> {
        match self.codes.get(set.index())?.load(Ordering::Relaxed) {
            0 => None,
            code => Some(T::decode(code)),
        }
    }

    pub(super) fn insert(&self, set: SetId, value: T) {
        if self.codes.get_or_alloc(set.index()).swap(value.encode(), Ordering::Relaxed) == 0 {
            self.entries.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Estimated memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.entries.load(Ordering::Relaxed) * size_of::<AtomicU32>()
    }
}
