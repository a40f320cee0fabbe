//! The allocator of this module: mimalloc, and for how long it keeps what was freed.
//!
//! Memory of tables that went serves those of the next grammar, where the system's allocator takes and gives back pages. mimalloc by itself gives
//! freed memory back after 10 ms, so that each grammar that is compiled takes anew, page by page, what the one before it had. It looks only
//! where something is allocated or freed nearby, so what a large grammar leaves would stay. Here memory is kept for longer, and given back
//! when much of it was freed.
//!
//! Pages are small: no token waits until a huge one is cleared. Those that the first tokens need are taken ahead.
//!
//! Version 2 takes a lock in rare cases only: in a forked process no thread is left that would give it back.

#![allow(unsafe_code, reason = "a global allocator, and functions of a C library")]

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_long;
#[cfg(target_os = "linux")]
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(target_os = "linux")]
use libmimalloc_sys::{
    _mi_option_last, mi_heap_area_t, mi_heap_get_default, mi_heap_t, mi_heap_visit_blocks, mi_process_init,
};
use libmimalloc_sys::{
    mi_collect, mi_free, mi_malloc, mi_malloc_aligned, mi_option_eager_commit_delay, mi_option_set_default,
    mi_option_t, mi_realloc, mi_realloc_aligned, mi_zalloc, mi_zalloc_aligned,
};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// `mi_option_purge_delay`, which the crate does not name: the option behind this one in `mimalloc.h` of version 2.
const PURGE_DELAY: mi_option_t = mi_option_eager_commit_delay + 1;

/// `mi_option_allow_thp`, which the crate does not name either: the last one.
#[cfg(target_os = "linux")]
const HUGE_PAGES: mi_option_t = _mi_option_last - 1;

/// Milliseconds after which freed memory goes back to the system.
const KEPT_MILLISECONDS: c_long = 1_000;

/// Least bytes of a block that counts as freed. Small ones need not be counted: where many of them go, so do the tables that lead to them.
const LARGE: usize = 1 << 16;

/// Bytes in large blocks, after which free memory is given back.
const MUCH: usize = 32 << 20;

/// `MI_MAX_ALIGN_SIZE` of mimalloc: how blocks are aligned that are as large.
const ALIGNED_ANYWAY: usize = 16;

/// Bytes in large blocks that were freed since memory was given back.
static FREED: AtomicUsize = AtomicUsize::new(0);

/// mimalloc, and a count of what is freed.
struct CountingAllocator;

/// Whether every block of a size is aligned like this. The functions that take an alignment cost more.
#[inline]
fn is_aligned_anyway(size: usize, align: usize) -> bool {
    align <= ALIGNED_ANYWAY && align <= size
}

// SAFETY: blocks come from mimalloc, which aligns them, and go back to it.
unsafe impl GlobalAlloc for CountingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: the functions take any size, and any power of two as an alignment.
        unsafe {
            if is_aligned_anyway(size, align) { mi_malloc(size) } else { mi_malloc_aligned(size, align) }
                .cast()
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: as above.
        unsafe {
            if is_aligned_anyway(size, align) { mi_zalloc(size) } else { mi_zalloc_aligned(size, align) }
                .cast()
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(layout.size());
        // SAFETY: the caller promises that the block is one of these.
        unsafe { mi_free(block.cast()) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(layout.size());
        let block = block.cast();
        let align = layout.align();
        // SAFETY: as above; the block may have come from either function.
        unsafe {
            if is_aligned_anyway(size, align) {
                mi_realloc(block, size)
            } else {
                mi_realloc_aligned(block, size, align)
            }
            .cast()
        }
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

/// Runs when the library is loaded: the first block that is taken, long before the module is made, reserves memory as the option says.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = take_small_pages;

/// Does not ask the system for huge pages, unless the environment says it (`MIMALLOC_ALLOW_THP`).
///
/// To clear one took 0.02 ms, but 5 ms at other times on a virtual machine, and it is always one token that waits. The faults of small pages cost
/// a few percent where few tokens follow on a new vocabulary.
#[cfg(target_os = "linux")]
extern "C" fn take_small_pages() {
    // SAFETY: the first function may be called at any time, and any number of times; the second one takes two numbers. In the first one mimalloc
    // reads the option too, and where it is zero takes huge pages from all of the process, so it is called before the option is set.
    unsafe {
        mi_process_init();
        mi_option_set_default(HUGE_PAGES, 0);
    }
}

/// Largest blocks whose memory is taken ahead.
#[cfg(target_os = "linux")]
const LARGEST_AHEAD: usize = 1 << 17;

/// Has the system hand out the memory that blocks of this thread will come from next: what is left of the places that mimalloc has
/// taken for each size, some 2 MB. Else one token in fifty waits for a page of it, longer than for its mask.
pub(crate) fn take_pages_ahead() {
    #[cfg(target_os = "linux")]
    // SAFETY: the heap is this thread's own, nothing is taken from it or given back meanwhile, and the function reads what it is given.
    unsafe {
        mi_heap_visit_blocks(mi_heap_get_default(), false, Some(populate), std::ptr::null_mut());
    }
}

/// Has the system hand out the pages of an area, as if something was written there.
#[cfg(target_os = "linux")]
unsafe extern "C" fn populate(
    _: *const mi_heap_t,
    area: *const mi_heap_area_t,
    _: *mut c_void,
    _: usize,
    _: *mut c_void,
) -> bool {
    /// Bytes that a start is rounded down to, as the call wants it where pages are as small; where they are larger, or Linux is older than 5.14, the call
    /// says that it cannot, and nothing is done.
    const PAGE: usize = 1 << 12;
    const POPULATE_WRITE: c_int = 23;
    unsafe extern "C" {
        fn madvise(start: *mut c_void, length: usize, advice: c_int) -> c_int;
    }
    // SAFETY: mimalloc says that it is one.
    let area = unsafe { &*area };
    if area.block_size <= LARGEST_AHEAD {
        let start = area.blocks.map_addr(|start| start & !(PAGE - 1));
        let length = area.blocks.addr() + area.reserved - start.addr();
        // SAFETY: the area is mimalloc's, and what is in it stays as it is.
        unsafe { madvise(start, length, POPULATE_WRITE) };
    }
    true
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
