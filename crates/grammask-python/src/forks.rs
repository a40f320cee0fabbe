//! Makes `fork()` wait for computations that run without the interpreter lock.
//!
//! The child of a fork has one thread. Locks that other threads held in the parent stay locked in the child, with the
//! data that they protect in an inconsistent state: summaries of terminals, caches of a grammar, the allocator. So
//! computations without the interpreter lock are counted; a fork prevents new ones and waits for those in progress. All
//! other code of this crate holds the interpreter lock, which the forking thread then owns. On a free-threaded
//! interpreter, calls that do not use [`OutsideForks`] are not protected.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use grammask::{Limits, Request};
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyTuple};

/// Maximum duration for which a fork waits. Longer computations, such as `precompute`, can take minutes.
const MAX_WAIT: Duration = Duration::from_secs(2);
/// Interval of polling.
const POLL_INTERVAL: Duration = Duration::from_micros(50);

/// Number of computations in progress.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
/// Number of forks that are waiting or in progress.
static FORKING: AtomicUsize = AtomicUsize::new(0);

/// A computation in progress; counted until it is dropped, also by a panic.
struct RunningComputation;

impl RunningComputation {
    /// Begins a computation as soon as no fork is in progress.
    fn begin() -> Self {
        loop {
            // Each side writes its own counter before it reads the other's, so at least one of them sees the other
            // (Dekker's algorithm; needs sequential consistency).
            RUNNING.fetch_add(1, Ordering::SeqCst);
            let running = Self;
            if FORKING.load(Ordering::SeqCst) == 0 {
                return running;
            }
            drop(running);
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

impl Drop for RunningComputation {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// [`Python::detach`], with forks delayed.
pub(crate) trait OutsideForks {
    /// Runs a computation without the interpreter lock. Forks wait for it.
    fn outside_forks<T: Send>(self, compute: impl Send + FnOnce() -> T) -> T;

    /// The same for a request, which ends with that of the caller if it has begun one.
    fn request<T: Send>(self, limits: &Limits, compute: impl Send + FnOnce() -> T) -> T;
}

impl OutsideForks for Python<'_> {
    fn outside_forks<T: Send>(self, compute: impl Send + FnOnce() -> T) -> T {
        self.detach(|| {
            let _running = RunningComputation::begin();
            compute()
        })
    }

    fn request<T: Send>(self, limits: &Limits, compute: impl Send + FnOnce() -> T) -> T {
        self.outside_forks(|| {
            let _request = Request::begin(limits);
            compute()
        })
    }
}

/// Registers the hooks around `os.fork`, on platforms that have it.
pub(crate) fn register(py: Python<'_>) -> PyResult<()> {
    let Some(register) = py.import("os")?.getattr_opt("register_at_fork")? else { return Ok(()) };
    let hooks = PyDict::new(py);
    hooks.set_item("before", hook(py, |py| py.detach(wait))?)?;
    hooks.set_item("after_in_parent", hook(py, |_| resume())?)?;
    hooks.set_item("after_in_child", hook(py, |_| reset_counters())?)?;
    register.call((), Some(&hooks))?;
    Ok(())
}

/// A Python function that calls a hook.
fn hook<'py>(py: Python<'py>, run: fn(Python<'_>)) -> PyResult<Bound<'py, PyCFunction>> {
    let call = move |arguments: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| run(arguments.py());
    PyCFunction::new_closure(py, None, None, call)
}

/// Before a fork: waits for computations in progress.
fn wait() {
    FORKING.fetch_add(1, Ordering::SeqCst);
    let start = Instant::now();
    while RUNNING.load(Ordering::SeqCst) > 0 && start.elapsed() < MAX_WAIT {
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// After a fork, in the parent.
fn resume() {
    FORKING.fetch_sub(1, Ordering::SeqCst);
}

/// After a fork, in the child: no other thread exists.
fn reset_counters() {
    RUNNING.store(0, Ordering::SeqCst);
    FORKING.store(0, Ordering::SeqCst);
}
