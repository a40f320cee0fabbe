//! The interface of `allocator.rs` for platforms on which the extension uses the system allocator. All functions do
//! nothing.

/// Does nothing.
pub(crate) fn retain_freed_memory() {}

/// Does nothing.
pub(crate) fn count_memory() {}

/// Does nothing.
pub(crate) fn populate_pages() {}

/// Does nothing.
pub(crate) fn reset_freed_bytes() {}

/// Does nothing on drop.
pub(crate) struct PurgeOnDrop;
