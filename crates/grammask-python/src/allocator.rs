//! The allocator of this module: mimalloc, and for how long it keeps what was freed.
//!
//! Memory of tables that went serves those of the next grammar, where the system's allocator takes and gives back pages. mimalloc by itself gives
//! freed memory back after 10 ms, so that each grammar that is compiled takes anew, page by page, what the one before it had. It looks only
//! where something is allocated or freed nearby, so what a large grammar leaves would stay. Here memory is kept for longer, and given back
//! when much of it was freed.
//!
//! Version 2 takes a lock in rare cases only: in a forked process no thread is left that would give it back.

#![allow(unsafe_code, reason = "a global allocator, and functions of a C library")]

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_long;
use std::sync::atomic::{AtomicUsize, Ordering};

use libmimalloc_sys::{mi_collect, mi_option_eager_commit_delay, mi_option_set_default, mi_option_t};
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// `mi_option_purge_delay`, which the crate does not name: the option behind this one in `mimalloc.h` of version 2.
const PURGE_DELAY: mi_option_t = mi_option_eager_commit_delay + 1;

/// Milliseconds after which freed memory goes back to the system.
const KEPT_MILLISECONDS: c_long = 1_000;

/// Least bytes of a block that counts as freed. Small ones need not be counted: where many of them go, so do the tables that lead to them.
const LARGE: usize = 1 << 16;

/// Bytes in large blocks, after which free memory is given back.
const MUCH: usize = 32 << 20;

/// Bytes in large blocks that were freed since memory was given back.
static FREED: AtomicUsize = AtomicUsize::new(0);

/// mimalloc, and a count of what is freed.
struct CountingAllocator;

// SAFETY: everything is handed on to `MiMalloc`.
unsafe impl GlobalAlloc for CountingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { MiMalloc.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(layout.size());
        // SAFETY: as the caller promises.
        unsafe { MiMalloc.dealloc(block, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(layout.size());
        // SAFETY: as the caller promises.
        unsafe { MiMalloc.realloc(block, layout, size) }
    }
}

#[inline]
fn count(size: usize) {
    if size >= LARGE {
        FREED.fetch_add(size, Ordering::Relaxed);
    }
}

/// Sets how long freed memory is kept, unless the environment says it (`MIMALLOC_PURGE_DELAY`).
pub(crate) fn keep_freed_memory() {
    // SAFETY: the function takes two numbers, and stores the second one unless the option was set; no other thread uses this module yet.
    unsafe { mi_option_set_default(PURGE_DELAY, KEPT_MILLISECONDS) };
}

/// Begins to count anew: what making a vocabulary left is for the first grammar to take.
pub(crate) fn forget_freed_memory() {
    FREED.store(0, Ordering::Relaxed);
}

/// Gives free memory back to the system when it is dropped, if much was freed. It stands last in what may own much.
pub(crate) struct GivesBack;

impl Drop for GivesBack {
    fn drop(&mut self) {
        if FREED.load(Ordering::Relaxed) >= MUCH {
            FREED.store(0, Ordering::Relaxed);
            // SAFETY: the function may be called from any thread.
            unsafe { mi_collect(true) };
        }
    }
}
