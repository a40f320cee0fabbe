//! Interned states of a lazy automaton with memoised transitions that are read without a lock.
//!
//! A state consists of data of the engine and one transition per byte class. Both engines use this table: for Earley
//! sets and for configuration sets. The lazy DFA of `grammask-automata` has a table of its own, since it has a single
//! owner, byte classes per state, and targets that are not yet known to be live.
//!
//! Most states are left over one byte class only. So the first `INLINE` transitions are stored in the state itself, and
//! an array over all classes is allocated when one more is memoised.
//!
//! The owner of the table serialises writers. A state is complete before `push` returns its number.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::segmented_array::SegmentedArray;

/// Encodes [`MemoTransition::Unknown`]. Zero is the default of the atomics of a new state.
const UNKNOWN: u32 = 0;
/// Encodes [`MemoTransition::Dead`].
const DEAD: u32 = 1;
/// Encodes [`MemoTransition::To`] of state 0.
const FIRST_STATE: u32 = 2;

/// The memoised transition of a state over one class of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoTransition {
    /// Not computed yet.
    Unknown,
    /// No state: the automaton rejects.
    Dead,
    /// The state with this number.
    To(u32),
}

impl MemoTransition {
    #[inline]
    fn decode(value: u32) -> Self {
        match value {
            UNKNOWN => Self::Unknown,
            DEAD => Self::Dead,
            state => Self::To(state - FIRST_STATE),
        }
    }
}

/// A table of states with data of type `T`. See the [module documentation](self).
#[derive(Debug)]
pub struct StateTable<T, const INLINE: usize> {
    states: SegmentedArray<StateEntry<T, INLINE>>,
    len: AtomicUsize,
}

/// A state: its data and its transitions.
#[derive(Debug)]
pub struct StateEntry<T, const INLINE: usize> {
    /// The data of the engine, set during [`StateTable::push`] and constant afterwards.
    pub data: T,
    /// The first transitions in order of computation, each with the class in the upper half. Unused once `row` is set.
    inline: [AtomicU64; INLINE],
    /// The encoded transition of each class.
    row: OnceLock<Box<[AtomicU32]>>,
}

impl<T: Default, const INLINE: usize> Default for StateEntry<T, INLINE> {
    fn default() -> Self {
        Self {
            data: T::default(),
            inline: std::array::from_fn(|_| AtomicU64::default()),
            row: OnceLock::new(),
        }
    }
}

impl<T: Default, const INLINE: usize> Default for StateTable<T, INLINE> {
    fn default() -> Self {
        Self { states: SegmentedArray::new(), len: AtomicUsize::new(0) }
    }
}

impl<T: Default, const INLINE: usize> StateTable<T, INLINE> {
    /// Size in bytes of a state without a row, and without heap memory of its data.
    pub const STATE_BYTES: usize = size_of::<StateEntry<T, INLINE>>();

    /// Number of states.
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// Whether there is no state.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a state, whose data `fill` sets by interior mutability, and returns its number. Calls must be serialised.
    pub fn push(&self, fill: impl FnOnce(&T)) -> usize {
        let index = self.len();
        fill(&self.states.get_or_alloc(index).data);
        self.len.store(index + 1, Ordering::Release);
        index
    }

    /// The state with a number that [`push`](Self::push) returned.
    ///
    /// # Panics
    /// If there is no such state.
    #[inline]
    pub fn get(&self, index: usize) -> &StateEntry<T, INLINE> {
        self.states.get(index).expect("numbers of states come from push, which allocates them")
    }
}

impl<T, const INLINE: usize> StateEntry<T, INLINE> {
    /// The memoised transition over a byte class. Cost: two loads if there is a row, `INLINE` loads otherwise.
    #[inline]
    pub fn transition(&self, class: usize) -> MemoTransition {
        if let Some(row) = self.row.get() {
            return MemoTransition::decode(row[class].load(Ordering::Acquire));
        }
        for entry in &self.inline {
            let entry = entry.load(Ordering::Acquire);
            // An empty entry decodes to an unknown transition of class 0.
            if entry >> u32::BITS == class as u64 && entry as u32 != UNKNOWN {
                return MemoTransition::decode(entry as u32);
            }
        }
        MemoTransition::Unknown
    }

    /// Memoises an unknown transition of a state with `class_count` classes; `None` rejects. Returns the number of
    /// bytes allocated. Calls must be serialised.
    pub fn memoise(&self, class: usize, next: Option<usize>, class_count: usize) -> usize {
        // `Limits` bounds the number of states far below 2^32.
        let next = next.map_or(DEAD, |next| next as u32 + FIRST_STATE);
        if self.row.get().is_none() {
            for entry in &self.inline {
                if entry.load(Ordering::Relaxed) as u32 == UNKNOWN {
                    entry.store((class as u64) << u32::BITS | u64::from(next), Ordering::Release);
                    return 0;
                }
            }
        }
        let mut bytes = 0;
        let row = self.row.get_or_init(|| {
            let row: Box<[AtomicU32]> = (0..class_count).map(|_| AtomicU32::default()).collect();
            for entry in &self.inline {
                let entry = entry.load(Ordering::Relaxed);
                row[(entry >> u32::BITS) as usize].store(entry as u32, Ordering::Relaxed);
            }
            bytes = size_of_val(&row[..]);
            row
        });
        row[class].store(next, Ordering::Release);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transitions_move_from_the_state_to_the_row() {
        let table: StateTable<AtomicU32, 2> = StateTable::default();
        let state = table.push(|data| data.store(7, Ordering::Relaxed));
        let state = table.get(state);
        assert_eq!(state.data.load(Ordering::Relaxed), 7);
        let memoised = [(3, Some(9)), (0, None), (4, Some(0)), (1, None)];
        for (done, &(class, next)) in memoised.iter().enumerate() {
            assert_eq!(state.transition(class), MemoTransition::Unknown);
            let bytes = state.memoise(class, next, 5);
            assert_eq!(bytes, if done == 2 { 20 } else { 0 });
            for &(class, next) in &memoised[..=done] {
                let expected = next.map_or(MemoTransition::Dead, |next| MemoTransition::To(next as u32));
                assert_eq!(state.transition(class), expected);
            }
        }
        assert_eq!(state.transition(2), MemoTransition::Unknown);
    }
}
