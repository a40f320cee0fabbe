//! The size of data behind a lock, read without waiting for the lock.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, TryLockError};

/// The size of data behind a lock when it was last measured.
#[derive(Debug, Default)]
pub struct MeasuredSize(AtomicUsize);

impl MeasuredSize {
    /// The size of the data, in bytes; while another thread holds the lock, the last size that was measured.
    pub fn of<T>(&self, data: &Mutex<T>, size: impl FnOnce(&T) -> usize) -> usize {
        let bytes = match data.try_lock() {
            Ok(data) => size(&data),
            Err(TryLockError::Poisoned(error)) => size(&error.into_inner()),
            Err(TryLockError::WouldBlock) => return self.0.load(Ordering::Relaxed),
        };
        self.0.store(bytes, Ordering::Relaxed);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_size_counts_while_the_data_is_locked() {
        let (data, size) = (Mutex::new(vec![1]), MeasuredSize::default());
        assert_eq!(size.of(&data, Vec::len), 1);
        let mut guard = data.lock().expect("no panic");
        guard.push(2);
        assert_eq!(size.of(&data, Vec::len), 1);
        drop(guard);
        assert_eq!(size.of(&data, Vec::len), 2);
    }
}
