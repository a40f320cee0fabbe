//! Where this module has no allocator of its own: there is nothing to set and nothing to give back.

/// Does nothing.
pub(crate) fn keep_freed_memory() {}

/// Does nothing.
pub(crate) fn take_pages_ahead() {}

/// Does nothing.
pub(crate) fn forget_freed_memory() {}

/// Does nothing when it is dropped.
pub(crate) struct GivesBack;
