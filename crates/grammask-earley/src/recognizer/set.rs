//! An interned Earley set as readers see it without a lock.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use grammask_collections::state_table::{StateEntry, StateTable};

use super::set_core::{CoreId, SetCore};
use grammask_engine::SetId;

/// Number of transitions that a set stores inline: most sets have one transition to another set.
const INLINE_TRANSITIONS: usize = 1;

/// All sets of a recogniser, by [`SetId`].
pub(super) type Sets = StateTable<SetData, INLINE_TRANSITIONS>;

/// A set with its memoised transitions.
pub(super) type Set = StateEntry<SetData, INLINE_TRANSITIONS>;

/// A set without its transitions. The fields are atomic because the table allocates sets before they are filled in;
/// they are written once, before the id of the set is published.
#[derive(Debug, Default)]
pub(super) struct SetData {
    core: AtomicU32,
    first: AtomicU32,
    ends: AtomicBool,
    is_final: AtomicBool,
    is_in_value: AtomicBool,
}

/// Adds a set of a core, whose continuations begin at `first` in the list of all sets'. For one writer at a time.
pub(super) fn push(sets: &Sets, id: CoreId, first: u32, core: &SetCore) -> SetId {
    SetId::new(sets.push(|set| {
        set.core.store(id.as_u32(), Ordering::Relaxed);
        set.first.store(first, Ordering::Relaxed);
        set.ends.store(core.ends, Ordering::Relaxed);
        set.is_final.store(core.items.is_empty(), Ordering::Relaxed);
        set.is_in_value.store(core.is_in_value, Ordering::Relaxed);
    }))
}

impl SetData {
    pub(super) fn core(&self) -> CoreId {
        CoreId(self.core.load(Ordering::Relaxed))
    }

    /// Index of its first continuation in the list of all sets'.
    pub(super) fn first(&self) -> usize {
        self.first.load(Ordering::Relaxed) as usize
    }

    /// Whether the text may be complete.
    pub(super) fn ends(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }

    /// Whether some item is inside a value.
    #[inline]
    pub(super) fn is_in_value(&self) -> bool {
        self.is_in_value.load(Ordering::Relaxed)
    }

    /// Whether the set has no item.
    pub(super) fn is_final(&self) -> bool {
        self.is_final.load(Ordering::Relaxed)
    }
}
