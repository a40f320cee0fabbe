//! Deadlines: the time and memory that a request may still use.
//!
//! A request is one call of a user. It may make further ones: a reader reads embedded grammars, and compiling makes
//! tables of each grammar inside another. Each stage checks a [`Deadline`] of its own. While a [`Request`] is open,
//! deadlines on its thread end with it at the latest, so that all stages together obey one limit.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::time::Duration;

use web_time::Instant;

use crate::{LimitExceeded, Limits};

thread_local! {
    /// The bounds of the request that is open on this thread.
    static REQUEST: Cell<Option<Bounds>> = const { Cell::new(None) };
}

/// The function that counts allocated memory.
static ALLOCATED_BYTES: OnceLock<fn() -> isize> = OnceLock::new();

/// Lets deadlines check memory as well as time.
///
/// `allocated_bytes` returns the number of bytes that the calling thread has allocated minus those that it has freed:
/// memory is counted where it is allocated, whichever structure needs it. Without such a function memory is bounded by
/// the estimates of caches and tables alone. Only the first call has an effect.
pub fn count_memory_by(allocated_bytes: fn() -> isize) {
    // An error is a function that is set.
    let _ = ALLOCATED_BYTES.set(allocated_bytes);
}

/// The time and the number of allocated bytes at which work gives up.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// `None` if the time is not representable.
    end: Option<Instant>,
    time: Duration,
    /// `None` if memory is not counted.
    memory: Option<MemoryBound>,
}

/// The maximum count of allocated bytes of a thread.
#[derive(Clone, Copy, Debug)]
struct MemoryBound {
    thread: ThreadKey,
    max_allocated: isize,
    memory_bytes: usize,
}

/// Identifies a thread while it lives, at the cost of reading a thread-local variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ThreadKey(usize);

impl ThreadKey {
    fn current() -> Self {
        Self(REQUEST.with(|request| std::ptr::from_ref(request).addr()))
    }
}

impl Bounds {
    /// Bounds from now on, within those of the request that is open on this thread.
    fn from_now(time: Duration, memory_bytes: Option<usize>) -> Self {
        let memory = ALLOCATED_BYTES.get().zip(memory_bytes).map(|(allocated_bytes, memory_bytes)| {
            // Between two checks some memory is allocated, and caches are bounded by estimates: a call that passes half
            // the limit more than its own count ends within twice the limit.
            let added = isize::try_from(memory_bytes.saturating_add(memory_bytes / 2)).unwrap_or(isize::MAX);
            let max_allocated = allocated_bytes().saturating_add(added);
            MemoryBound { thread: ThreadKey::current(), max_allocated, memory_bytes }
        });
        let own = Self { end: Instant::now().checked_add(time), time, memory };
        match REQUEST.get() {
            Some(request) => own.within(request),
            None => own,
        }
    }

    /// The earlier end and the smaller count.
    fn within(self, outer: Self) -> Self {
        let is_inner_end = self.end.is_some_and(|end| outer.end.is_none_or(|outer| end < outer));
        let (end, time) = if is_inner_end { (self.end, self.time) } else { (outer.end, outer.time) };
        let memory = match (self.memory, outer.memory) {
            (Some(own), Some(outer)) if own.max_allocated < outer.max_allocated => Some(own),
            (own, outer) => outer.or(own),
        };
        Self { end, time, memory }
    }

    fn check(&self) -> Result<(), LimitExceeded> {
        if let (Some(bound), Some(allocated_bytes)) = (self.memory, ALLOCATED_BYTES.get())
            && bound.thread == ThreadKey::current()
            && allocated_bytes() > bound.max_allocated
        {
            return Err(LimitExceeded::new("memory_bytes", bound.memory_bytes));
        }
        match self.end {
            Some(end) if Instant::now() >= end => {
                Err(LimitExceeded { limit: "time", maximum: self.time.as_millis() })
            }
            _ => Ok(()),
        }
    }
}

/// A request that is open on this thread until it is dropped. Requests nest, and an inner one only tightens the bounds.
#[derive(Debug)]
#[must_use]
pub struct Request {
    outer: Option<Bounds>,
    /// It is dropped by the thread that began it.
    not_send: PhantomData<*const ()>,
}

impl Request {
    /// Opens a request that may use the time and the memory of `limits` from now on.
    pub fn begin(limits: &Limits) -> Self {
        let bounds = Bounds::from_now(limits.time, Some(limits.memory_bytes));
        Self { outer: REQUEST.replace(Some(bounds)), not_send: PhantomData }
    }

    /// Checks the bounds of the request that is open on this thread, if there is one. Reads the clock.
    ///
    /// # Errors
    /// If the time has passed, or too much memory is allocated.
    pub fn check() -> Result<(), LimitExceeded> {
        REQUEST.get().map_or(Ok(()), |bounds| bounds.check())
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        REQUEST.set(self.outer);
    }
}

/// The time and the memory at which a stage of a request gives up.
#[derive(Clone, Debug)]
pub struct Deadline {
    /// Unset until the first check if the time starts there.
    bounds: OnceLock<Bounds>,
    time: Duration,
    memory_bytes: Option<usize>,
}

impl Deadline {
    /// A deadline after the time of some limits from now, which also bounds the memory that is allocated from now on.
    #[must_use]
    pub fn of(limits: &Limits) -> Self {
        let deadline = Self::of_next_check(limits);
        deadline.bounds();
        deadline
    }

    /// A deadline that begins at the first check, for work that mostly completes before any check: reading the clock
    /// costs more than a memoised step.
    #[must_use]
    pub fn of_next_check(limits: &Limits) -> Self {
        let memory_bytes = Some(limits.memory_bytes);
        Self { bounds: OnceLock::new(), time: limits.time, memory_bytes }
    }

    /// A deadline `time` from now, or from the end of the request that is open on this thread if that is earlier.
    #[must_use]
    pub fn after(time: Duration) -> Self {
        let deadline = Self::after_first_check(time);
        deadline.bounds();
        deadline
    }

    /// As [`after`](Self::after), beginning at the first check.
    #[must_use]
    pub fn after_first_check(time: Duration) -> Self {
        Self { bounds: OnceLock::new(), time, memory_bytes: None }
    }

    /// The deadline of the request that is open on this thread, for work without limits of its own.
    #[must_use]
    pub fn of_request() -> Self {
        Self::after(Duration::MAX)
    }

    /// A deadline that never passes, for work that other limits bound and whose result does not depend on the request.
    #[must_use]
    pub fn unbounded() -> Self {
        let bounds = Bounds { end: None, time: Duration::MAX, memory: None };
        Self { bounds: bounds.into(), time: Duration::MAX, memory_bytes: None }
    }

    fn bounds(&self) -> &Bounds {
        self.bounds.get_or_init(|| Bounds::from_now(self.time, self.memory_bytes))
    }

    /// Checks the deadline. Reads the clock: call it once per hundreds of steps.
    ///
    /// # Errors
    /// If the deadline has passed, or too much memory is allocated.
    pub fn check(&self) -> Result<(), LimitExceeded> {
        self.bounds().check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static ALLOCATED: Cell<isize> = const { Cell::new(0) };
    }

    fn limits(seconds: u64, memory_bytes: usize) -> Limits {
        Limits { time: Duration::from_secs(seconds), memory_bytes, ..Limits::default() }
    }

    #[test]
    fn stages_end_with_their_request() {
        count_memory_by(|| ALLOCATED.get());
        assert_eq!(Request::check(), Ok(()));
        let outer = Request::begin(&limits(0, 1_000));
        let late = Err(LimitExceeded { limit: "time", maximum: 0 });
        assert_eq!(Request::check(), late);
        {
            let _inner = Request::begin(&limits(60, 1_000));
            assert_eq!(Request::check(), late);
            assert_eq!(Deadline::of(&limits(60, 1_000)).check(), late);
        }
        let deadline = Deadline::after(Duration::from_secs(60));
        drop(outer);
        assert_eq!(deadline.check(), late);
        assert_eq!(Deadline::after(Duration::from_secs(60)).check(), Ok(()));
        assert_eq!(Deadline::after(Duration::MAX).check(), Ok(()));
    }

    #[test]
    fn memory_is_that_of_the_request_and_its_thread() {
        count_memory_by(|| ALLOCATED.get());
        let exceeded = Err(LimitExceeded::new("memory_bytes", 1_000));
        let _outer = Request::begin(&limits(60, 1_000));
        ALLOCATED.set(1_400);
        assert_eq!(Request::check(), Ok(()));
        let _inner = Request::begin(&limits(60, 1_000));
        let deadline = Deadline::of(&limits(60, 1 << 30));
        ALLOCATED.set(1_600);
        assert_eq!(Request::check(), exceeded);
        assert_eq!(deadline.check(), exceeded);
        std::thread::scope(|scope| {
            let elsewhere = scope.spawn(|| (Request::check(), deadline.check()));
            assert_eq!(elsewhere.join().expect("no panic"), (Ok(()), Ok(())));
        });
        ALLOCATED.set(0);
        assert_eq!(deadline.check(), Ok(()));
    }
}
