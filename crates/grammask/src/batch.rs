//! Many masks at once, in parallel on one pool of threads that is started when it is first needed.
//!
//! Most rows of a batch are in states whose masks are known: these are looked up by the calling thread. Only masks
//! that have to be made go to the pool, each different one once, and not if there is just one. So a batch of one row
//! costs what one mask costs, and no call starts a thread.
//!
//! The pool belongs to the process that started it: a process forked from it starts its own.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::Matcher;
use grammask_diagnostics::GrammarError;
use grammask_earley::recognizer::SetId;
use grammask_vocabulary::Mask;

/// Bytes of a batch from which on several threads copy it: below, waking them takes longer than copying.
const PARALLEL_COPY_BYTES: usize = 4 << 20;

/// The mask of one row could not be made.
#[derive(Clone, Debug)]
pub struct RowError {
    /// Position of the matcher in the batch, or of the mask in the draft.
    pub row: usize,
    /// Why.
    pub error: GrammarError,
}

impl std::fmt::Display for RowError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "row {}: {}", self.row, self.error)
    }
}

impl std::error::Error for RowError {}

/// The masks of several matchers, as [`Matcher::mask`] makes each.
///
/// # Errors
/// The first row whose mask cannot be made.
pub fn masks(matchers: &[&Matcher]) -> Result<Vec<Arc<Mask>>, RowError> {
    let mut known = Vec::with_capacity(matchers.len());
    let mut to_make: Vec<&Matcher> = Vec::new();
    let mut positions: FxHashMap<(usize, SetId), usize> = FxHashMap::default();
    for &matcher in matchers {
        known.push(match matcher.known_mask() {
            Some(mask) => Row::Known(mask.clone()),
            None => {
                let key = (Arc::as_ptr(matcher.tables()).addr(), matcher.set());
                Row::Made(*positions.entry(key).or_insert_with(|| {
                    to_make.push(matcher);
                    to_make.len() - 1
                }))
            }
        });
    }
    let pool = if to_make.len() > 1 { pool() } else { None };
    let made: Vec<_> = match pool {
        Some(pool) => {
            pool.install(|| to_make.par_iter().with_max_len(1).map(|matcher| matcher.mask()).collect())
        }
        None => to_make.iter().map(|matcher| matcher.mask()).collect(),
    };
    let rows = known.into_iter().enumerate();
    rows.map(|(row, mask)| match mask {
        Row::Known(mask) => Ok(mask),
        Row::Made(position) => made[position].clone().map_err(|error| RowError { row, error }),
    })
    .collect()
}

enum Row {
    Known(Arc<Mask>),
    /// Position among the masks that are made.
    Made(usize),
}

/// Writes the mask of each matcher into its row of 32-bit words. If one mask cannot be made, nothing is written.
///
/// # Errors
/// The first row whose mask cannot be made.
///
/// # Panics
/// When there are not as many rows as matchers, or a row has not as many words as its mask.
pub fn fill_masks(matchers: &[&Matcher], rows: &mut [&mut [i32]]) -> Result<(), RowError> {
    assert_eq!(matchers.len(), rows.len(), "one row per matcher");
    let masks = masks(matchers)?;
    copy_masks(&masks, rows);
    Ok(())
}

/// Writes each mask into its row of 32-bit words.
///
/// # Panics
/// When there are not as many rows as masks, or a row has not as many words as its mask.
pub fn copy_masks(masks: &[Arc<Mask>], rows: &mut [&mut [i32]]) {
    assert_eq!(masks.len(), rows.len(), "one row per mask");
    let bytes: usize = masks.iter().map(|mask| mask.word_count() * size_of::<i32>()).sum();
    let pool = if bytes >= PARALLEL_COPY_BYTES { pool() } else { None };
    match pool {
        Some(pool) => pool.install(|| {
            rows.par_iter_mut().zip(masks).for_each(|(row, mask)| mask.write_to(row));
        }),
        None => rows.iter_mut().zip(masks).for_each(|(row, mask)| mask.write_to(row)),
    }
}

/// How many threads make the masks of a batch.
#[must_use]
pub fn threads() -> NonZeroUsize {
    configured(&shared())
}

/// Sets how many threads make the masks of a batch; `None` means as many as there are cores. With one, the calling
/// thread makes them. Batches that are being made go on with the threads that they have.
pub fn set_threads(threads: Option<NonZeroUsize>) {
    let mut shared = shared();
    if shared.threads != threads {
        shared.threads = threads;
        shared.pool = None;
    }
}

static SHARED: Mutex<Shared> = Mutex::new(Shared { threads: None, pool: None });

struct Shared {
    threads: Option<NonZeroUsize>,
    pool: Option<Pool>,
}

struct Pool {
    process: u32,
    threads: Arc<rayon::ThreadPool>,
}

fn shared() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn configured(shared: &Shared) -> NonZeroUsize {
    shared.threads.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

/// The pool of this process; `None` if one thread is to do everything, or if the system gives no more threads.
fn pool() -> Option<Arc<rayon::ThreadPool>> {
    let mut shared = shared();
    let process = std::process::id();
    if let Some(pool) = shared.pool.take_if(|pool| pool.process != process) {
        // The threads stayed in the process that this one was forked from; there is nobody to tell to stop.
        std::mem::forget(pool);
    }
    if let Some(pool) = &shared.pool {
        return Some(pool.threads.clone());
    }
    let count = configured(&shared);
    if count == NonZeroUsize::MIN {
        return None;
    }
    let builder =
        rayon::ThreadPoolBuilder::new().num_threads(count.get()).thread_name(|n| format!("grammask-{n}"));
    let threads = Arc::new(builder.build().ok()?);
    shared.pool = Some(Pool { process, threads: threads.clone() });
    Some(threads)
}
