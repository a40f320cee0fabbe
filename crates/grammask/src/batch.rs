//! Masks of many matchers, computed in parallel on one pool of threads, which is started when it is first needed.
//!
//! The calling thread looks up the cached masks, which most rows have. The pool computes each distinct missing mask
//! once; a single missing mask is computed by the calling thread. So a batch of one row costs as much as one mask, and
//! no call after the first starts a thread.
//!
//! The pool belongs to the process that started it: a forked process starts its own.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::Matcher;
use crate::cache::CacheId;
use crate::matcher::MatcherState;
use grammask_diagnostics::GrammarError;
use grammask_vocabulary::{Mask, TokenId};

/// Minimum size of a batch, in bytes, that several threads copy. Copying a smaller one takes less time than waking
/// them.
const PARALLEL_COPY_BYTES: usize = 4 << 20;

/// The error of one row of a batch.
#[derive(Clone, Debug)]
pub struct RowError {
    /// Position of the matcher in the batch, or of the mask in the draft.
    pub row: usize,
    /// The error of its mask.
    pub error: GrammarError,
}

impl std::fmt::Display for RowError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "row {}: {}", self.row, self.error)
    }
}

impl std::error::Error for RowError {}

/// Appends a token to each matcher, and returns whether it was legal; an illegal token changes nothing.
///
/// # Errors
/// The error of the first row that has one; all matchers are then unchanged.
///
/// # Panics
/// When the numbers of tokens and of matchers differ.
pub fn accept(matchers: &mut [&mut Matcher], tokens: &[TokenId]) -> Result<Vec<bool>, RowError> {
    assert_eq!(matchers.len(), tokens.len(), "one token per matcher");
    let mut accepted = Vec::with_capacity(tokens.len());
    for (row, &token) in tokens.iter().enumerate() {
        match matchers[row].accept(token) {
            Ok(is_accepted) => accepted.push(is_accepted),
            Err(error) => {
                for (matcher, &is_accepted) in matchers.iter_mut().zip(&accepted) {
                    matcher.rollback(usize::from(is_accepted));
                }
                return Err(RowError { row, error });
            }
        }
    }
    Ok(accepted)
}

/// The masks of several matchers, each as [`Matcher::mask`] returns it.
///
/// # Errors
/// The error of the first row that has one.
pub fn masks(matchers: &[&Matcher]) -> Result<Vec<Arc<Mask>>, RowError> {
    let mut row_masks = Vec::with_capacity(matchers.len());
    let mut missing: Vec<&Matcher> = Vec::new();
    let mut indices: FxHashMap<(CacheId, MatcherState), usize> = FxHashMap::default();
    for &matcher in matchers {
        row_masks.push(match matcher.lookup_mask() {
            Some(mask) => RowMask::Cached(mask.clone()),
            None => {
                let key = (matcher.cache().id(), matcher.state().of_mask());
                RowMask::Computed(*indices.entry(key).or_insert_with(|| {
                    missing.push(matcher);
                    missing.len() - 1
                }))
            }
        });
    }
    let pool = if missing.len() > 1 { pool() } else { None };
    let computed: Vec<_> = match pool {
        Some(pool) => {
            pool.install(|| missing.par_iter().with_max_len(1).map(|matcher| matcher.mask()).collect())
        }
        None => missing.iter().map(|matcher| matcher.mask()).collect(),
    };
    let rows = row_masks.into_iter().enumerate();
    rows.map(|(row, mask)| match mask {
        RowMask::Cached(mask) => Ok(mask),
        RowMask::Computed(index) => computed[index].clone().map_err(|error| RowError { row, error }),
    })
    .collect()
}

enum RowMask {
    Cached(Arc<Mask>),
    /// Index into the computed masks.
    Computed(usize),
}

/// Writes the mask of each matcher into its row of 32-bit words. After an error nothing is written.
///
/// # Errors
/// The error of the first row that has one.
///
/// # Panics
/// When the numbers of rows and of matchers differ, or a row does not have as many words as its mask.
pub fn fill_masks(matchers: &[&Matcher], rows: &mut [&mut [i32]]) -> Result<(), RowError> {
    assert_eq!(matchers.len(), rows.len(), "one row per matcher");
    let masks = masks(matchers)?;
    copy_masks(&masks, rows);
    Ok(())
}

/// Writes each mask into its row of 32-bit words.
///
/// # Panics
/// When the numbers of rows and of masks differ, or a row does not have as many words as its mask.
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

/// Number of threads that compute the masks of a batch.
#[must_use]
pub fn threads() -> NonZeroUsize {
    configured(&pool_state())
}

/// Sets the number of threads that compute the masks of a batch; `None` means the number of cores. With one, the
/// calling thread computes them. Batches in progress keep their threads.
pub fn set_threads(threads: Option<NonZeroUsize>) {
    let mut state = pool_state();
    if state.threads != threads {
        state.threads = threads;
        state.pool = None;
    }
}

static POOL: Mutex<PoolState> = Mutex::new(PoolState { threads: None, pool: None });

struct PoolState {
    threads: Option<NonZeroUsize>,
    pool: Option<ProcessPool>,
}

struct ProcessPool {
    process: u32,
    threads: Arc<rayon::ThreadPool>,
}

fn pool_state() -> MutexGuard<'static, PoolState> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

fn configured(state: &PoolState) -> NonZeroUsize {
    state.threads.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

/// The pool of this process; `None` if one thread is configured, or the system grants no more threads.
fn pool() -> Option<Arc<rayon::ThreadPool>> {
    let mut state = pool_state();
    let process = std::process::id();
    if let Some(pool) = state.pool.take_if(|pool| pool.process != process) {
        // The threads exist only in the parent of the fork: dropping the pool would wait for them.
        std::mem::forget(pool);
    }
    if let Some(pool) = &state.pool {
        return Some(pool.threads.clone());
    }
    let count = configured(&state);
    if count == NonZeroUsize::MIN {
        return None;
    }
    let builder =
        rayon::ThreadPoolBuilder::new().num_threads(count.get()).thread_name(|n| format!("grammask-{n}"));
    let threads = Arc::new(builder.build().ok()?);
    state.pool = Some(ProcessPool { process, threads: threads.clone() });
    Some(threads)
}
