//! What the engine computes without the interpreter's lock is done before a process forks.
//!
//! A forked process has one thread. What others had locked stays locked in it for ever, and its data half changed: what is
//! known about terminals, tables of a grammar, the allocator. So computations that give up the interpreter's lock are
//! counted; a fork lets no more of them begin, and waits for those under way. All other code of this module holds the
//! interpreter's lock, as the thread that forks does then. An interpreter without that lock has no such protection for calls that are
//! short.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyTuple};

/// How long a fork waits for what is under way; tables that are made ahead may take minutes.
const MOST_WAITED: Duration = Duration::from_secs(2);
/// Between two looks.
const PAUSE: Duration = Duration::from_micros(50);

/// Computations under way.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
/// Forks that wait or go on.
static FORKING: AtomicUsize = AtomicUsize::new(0);

/// A computation under way, ended by a panic too.
struct Running;

impl Running {
    /// Begins when nothing forks.
    fn begin() -> Self {
        loop {
            // Each side says what it does before it looks at the other, so at least one of both sees the other.
            RUNNING.fetch_add(1, Ordering::SeqCst);
            let running = Self;
            if FORKING.load(Ordering::SeqCst) == 0 {
                return running;
            }
            drop(running);
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What [`Python::detach`] does, never while a process forks.
pub(crate) trait OutsideForks {
    /// Computes something without the interpreter's lock.
    fn outside_forks<T: Send>(self, compute: impl Send + FnOnce() -> T) -> T;
}

impl OutsideForks for Python<'_> {
    fn outside_forks<T: Send>(self, compute: impl Send + FnOnce() -> T) -> T {
        self.detach(|| {
            let _running = Running::begin();
            compute()
        })
    }
}

/// Has the interpreter say when it forks, where processes can.
pub(crate) fn register(py: Python<'_>) -> PyResult<()> {
    let Some(register) = py.import("os")?.getattr_opt("register_at_fork")? else { return Ok(()) };
    let hooks = PyDict::new(py);
    hooks.set_item("before", hook(py, |py| py.detach(wait))?)?;
    hooks.set_item("after_in_parent", hook(py, |_| go_on())?)?;
    hooks.set_item("after_in_child", hook(py, |_| forget_other_threads())?)?;
    register.call((), Some(&hooks))?;
    Ok(())
}

fn hook<'py>(py: Python<'py>, run: fn(Python<'_>)) -> PyResult<Bound<'py, PyCFunction>> {
    let call = move |arguments: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| run(arguments.py());
    PyCFunction::new_closure(py, None, None, call)
}

fn wait() {
    FORKING.fetch_add(1, Ordering::SeqCst);
    let start = Instant::now();
    while RUNNING.load(Ordering::SeqCst) > 0 && start.elapsed() < MOST_WAITED {
        std::thread::sleep(PAUSE);
    }
}

fn go_on() {
    FORKING.fetch_sub(1, Ordering::SeqCst);
}

fn forget_other_threads() {
    RUNNING.store(0, Ordering::SeqCst);
    FORKING.store(0, Ordering::SeqCst);
}
