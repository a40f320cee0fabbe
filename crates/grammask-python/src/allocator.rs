//! The allocator of the extension: mimalloc, with settings for the retention of freed memory and for page sizes.
//!
//! Compiling a grammar allocates and frees much memory. The system allocator returns it to the system, and mimalloc
//! does so after 10 ms by default, so that every grammar pays for page faults again. Here freed memory is retained
//! for 1 s. But mimalloc purges an area only on an allocation or deallocation nearby, so the memory of a large
//! grammar could be retained indefinitely; `PurgeOnDrop` returns it explicitly after a certain amount has been freed.
//!
//! Huge pages are disabled, since clearing one adds milliseconds to the latency of a token. The pages for the first
//! tokens are populated in advance.
//!
//! Each thread counts the bytes that it has allocated and not freed, so that a request can be ended when it allocates
//! more than its limit.
//!
//! Version 2 of mimalloc is used because it rarely takes a lock: in the child of a fork no other thread would release
//! it.

#![allow(unsafe_code, reason = "a global allocator, and functions of a C library")]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
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

/// `mi_option_purge_delay`, which the crate does not export: the next option in `mimalloc.h` of version 2.
const PURGE_DELAY: mi_option_t = mi_option_eager_commit_delay + 1;

/// `mi_option_allow_thp`, which the crate does not export: the last option.
#[cfg(target_os = "linux")]
const ALLOW_HUGE_PAGES: mi_option_t = _mi_option_last - 1;

/// Delay in milliseconds after which freed memory is returned to the system.
const PURGE_DELAY_MILLISECONDS: c_long = 1_000;

/// Minimum size in bytes of a block that counts as freed. Small blocks are owned by large tables, which are counted.
const MIN_COUNTED_BYTES: usize = 1 << 16;

/// Number of freed bytes in large blocks after which memory is returned to the system.
const PURGE_THRESHOLD_BYTES: usize = 32 << 20;

/// `MI_MAX_ALIGN_SIZE` of mimalloc: the alignment of blocks of at least that size.
const NATURAL_ALIGNMENT: usize = 16;

/// Number of freed bytes in large blocks since the last purge.
static FREED_BYTES: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Number of bytes that this thread has allocated minus those that it has freed, modulo the range of the type.
    static ALLOCATED_BYTES: Cell<isize> = const { Cell::new(0) };
}

/// mimalloc with counters of allocated and freed bytes.
struct CountingAllocator;

/// Whether mimalloc aligns all blocks of this size sufficiently. Its functions with an alignment argument are slower.
#[inline]
fn is_naturally_aligned(size: usize, align: usize) -> bool {
    align <= NATURAL_ALIGNMENT && align <= size
}

// SAFETY: all blocks are allocated by mimalloc with the required alignment, and freed by mimalloc.
unsafe impl GlobalAlloc for CountingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        count_allocated(size.cast_signed());
        // SAFETY: the functions accept any size, and any power of two as alignment.
        unsafe {
            if is_naturally_aligned(size, align) { mi_malloc(size) } else { mi_malloc_aligned(size, align) }
                .cast()
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        count_allocated(size.cast_signed());
        // SAFETY: as above.
        unsafe {
            if is_naturally_aligned(size, align) { mi_zalloc(size) } else { mi_zalloc_aligned(size, align) }
                .cast()
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count_allocated(-layout.size().cast_signed());
        count_freed(layout.size());
        // SAFETY: by the contract of `GlobalAlloc`, the block was allocated by this allocator.
        unsafe { mi_free(block.cast()) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count_allocated(size.cast_signed() - layout.size().cast_signed());
        count_freed(layout.size());
        let block = block.cast();
        let align = layout.align();
        // SAFETY: as above; both functions accept blocks of either allocation function.
        unsafe {
            if is_naturally_aligned(size, align) {
                mi_realloc(block, size)
            } else {
                mi_realloc_aligned(block, size, align)
            }
            .cast()
        }
    }
}

/// Adds to the count of this thread. Its variable needs no destructor, so it is there until the thread ends.
#[inline]
fn count_allocated(bytes: isize) {
    let _ = ALLOCATED_BYTES.try_with(|count| count.set(count.get().wrapping_add(bytes)));
}

/// Lets deadlines check the memory that a request allocates.
pub(crate) fn count_memory() {
    grammask::count_memory_by(|| ALLOCATED_BYTES.get());
}

#[inline]
fn count_freed(size: usize) {
    if size >= MIN_COUNTED_BYTES {
        FREED_BYTES.fetch_add(size, Ordering::Relaxed);
    }
}

/// Sets the purge delay, unless the environment variable `MIMALLOC_PURGE_DELAY` is set.
pub(crate) fn retain_freed_memory() {
    // SAFETY: the function takes two numbers, and stores the second unless the option was set. No other thread uses the
    // extension yet.
    unsafe { mi_option_set_default(PURGE_DELAY, PURGE_DELAY_MILLISECONDS) };
}

/// Runs when the library is loaded. The first allocation, before the initialisation of the module, reserves memory
/// according to the option.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = disable_huge_pages;

/// Disables huge pages, unless the environment variable `MIMALLOC_ALLOW_THP` is set.
///
/// Clearing a huge page took 0.02 ms, but up to 5 ms on a virtual machine, within the latency of one token. The
/// faults of small pages cost a few percent of the time if a new vocabulary is used for few tokens only.
#[cfg(target_os = "linux")]
extern "C" fn disable_huge_pages() {
    // SAFETY: the first function may be called at any time and repeatedly; the second takes two numbers. The first one
    // reads the option too, and if it is zero disables huge pages for the whole process, so it must be called before
    // the option is set.
    unsafe {
        mi_process_init();
        mi_option_set_default(ALLOW_HUGE_PAGES, 0);
    }
}

/// Maximum size in bytes of the blocks whose areas are populated in advance.
#[cfg(target_os = "linux")]
const MAX_POPULATED_BLOCK_BYTES: usize = 1 << 17;

/// Maximum number of areas that are looked at. Those with free blocks come first; a process that has compiled many
/// grammars has thousands that are full.
#[cfg(target_os = "linux")]
const MAX_VISITED_AREAS: usize = 1024;

/// Populates the pages from which mimalloc will serve the next allocations of this thread: the rest of the areas that
/// it has reserved for each block size, about 2 MB. Otherwise one token in fifty incurs a page fault that takes
/// longer than its mask. The cost does not depend on the memory that the process uses.
pub(crate) fn populate_pages() {
    #[cfg(target_os = "linux")]
    // SAFETY: the heap belongs to this thread, the visitor neither allocates nor frees, and it only reads its
    // arguments. It adds to the counter, which outlives the call.
    unsafe {
        let mut visited: usize = 0;
        let counter = (&raw mut visited).cast();
        mi_heap_visit_blocks(mi_heap_get_default(), false, Some(populate), counter);
    }
}

/// Populates the pages of an area, as if they had been written to. The last argument counts the areas; returns whether
/// to go on.
#[cfg(target_os = "linux")]
unsafe extern "C" fn populate(
    _: *const mi_heap_t,
    area: *const mi_heap_area_t,
    _: *mut c_void,
    _: usize,
    counter: *mut c_void,
) -> bool {
    /// Page size in bytes, to which the start is rounded down. With larger pages, or a Linux before 5.14, the call
    /// returns an error and has no effect.
    const PAGE: usize = 1 << 12;
    const POPULATE_WRITE: c_int = 23;
    unsafe extern "C" {
        fn madvise(start: *mut c_void, length: usize, advice: c_int) -> c_int;
    }
    // SAFETY: mimalloc passes a valid area.
    let area = unsafe { &*area };
    // SAFETY: the caller passes a counter that nothing else refers to.
    let visited = unsafe { &mut *counter.cast::<usize>() };
    *visited += 1;
    // `used` is a number of blocks.
    let is_full = area.used.saturating_mul(area.block_size) >= area.reserved;
    if area.block_size <= MAX_POPULATED_BLOCK_BYTES && !is_full {
        let start = area.blocks.map_addr(|start| start & !(PAGE - 1));
        let length = area.blocks.addr() + area.reserved - start.addr();
        // SAFETY: the area belongs to mimalloc, and `MADV_POPULATE_WRITE` does not change its contents.
        unsafe { madvise(start, length, POPULATE_WRITE) };
    }
    *visited < MAX_VISITED_AREAS
}

/// Resets the counter of freed bytes: the first grammar reuses memory that the construction of a vocabulary freed.
pub(crate) fn reset_freed_bytes() {
    FREED_BYTES.store(0, Ordering::Relaxed);
}

/// Returns free memory to the system on drop, if enough has been freed. It is the last field of types that may own much
/// memory, so that it is dropped after the others.
pub(crate) struct PurgeOnDrop;

impl Drop for PurgeOnDrop {
    fn drop(&mut self) {
        if FREED_BYTES.load(Ordering::Relaxed) >= PURGE_THRESHOLD_BYTES {
            FREED_BYTES.store(0, Ordering::Relaxed);
            // SAFETY: the function may be called by any thread.
            unsafe { mi_collect(true) };
        }
    }
}
