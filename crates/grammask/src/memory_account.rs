//! Accounts of memory, for those who keep many compiled grammars, such as a compile cache.
//!
//! A grammar grows while it is used, and reports its size: when a matcher checks the size of its caches or is dropped,
//! and after calls on the compiled grammar itself. The sum over all grammars is a number that is read in O(1): nobody
//! asks the grammars. A report takes no lock on the account, and its cost does not depend on the number of entries.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The size of a closed entry.
const CLOSED: usize = usize::MAX;

/// The memory of several compiled grammars, as they last reported it.
#[derive(Debug, Default)]
pub struct MemoryAccount {
    bytes: AtomicUsize,
}

impl MemoryAccount {
    /// Memory of all open entries, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// The memory of one compiled grammar in an account, until it is closed or dropped.
#[derive(Debug)]
pub struct AccountEntry {
    account: Arc<MemoryAccount>,
    /// Memory that belongs to the entry and that the grammar does not report, in bytes.
    constant_bytes: usize,
    bytes: AtomicUsize,
}

impl AccountEntry {
    pub(crate) fn new(account: Arc<MemoryAccount>, constant_bytes: usize) -> Self {
        Self { account, constant_bytes, bytes: AtomicUsize::new(0) }
    }

    /// Memory of the entry, in bytes; 0 after it was closed.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self.bytes.load(Ordering::Relaxed) {
            CLOSED => 0,
            bytes => bytes,
        }
    }

    /// Subtracts the entry from its account. Later reports have no effect.
    pub fn close(&self) {
        self.replace(|_| CLOSED);
    }

    /// Reports the memory of the grammar when the entry is made. Another thread may have reported a later size.
    pub(crate) fn report_first(&self, bytes: usize) {
        let bytes = self.with_constant(bytes);
        self.replace(|before| before.max(bytes));
    }

    /// Replaces the reported memory of the grammar.
    fn report(&self, bytes: usize) {
        let bytes = self.with_constant(bytes);
        self.replace(|_| bytes);
    }

    fn with_constant(&self, bytes: usize) -> usize {
        bytes.saturating_add(self.constant_bytes).min(CLOSED - 1)
    }

    /// Replaces the size, unless the entry is closed. The account is the sum of all differences, in whatever order
    /// threads add them.
    fn replace(&self, after: impl Fn(usize) -> usize) {
        let of_open = |before| (before != CLOSED).then(|| after(before));
        if let Ok(before) = self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, of_open) {
            let after = match after(before) {
                CLOSED => 0,
                after => after,
            };
            self.account.bytes.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
        }
    }
}

impl Drop for AccountEntry {
    fn drop(&mut self) {
        self.close();
    }
}

/// The entries of one compiled grammar: mostly none or one.
#[derive(Debug, Default)]
pub(crate) struct AccountEntries {
    entries: Mutex<Vec<Weak<AccountEntry>>>,
    is_any: AtomicBool,
}

impl AccountEntries {
    /// Whether there ever was an entry.
    pub(crate) fn is_any(&self) -> bool {
        self.is_any.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, entry: &Arc<AccountEntry>) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() == entries.capacity() {
            // Amortised O(1): either entries go, or the capacity doubles.
            entries.retain(|entry| entry.strong_count() > 0);
        }
        entries.push(Arc::downgrade(entry));
        self.is_any.store(true, Ordering::Relaxed);
    }

    /// Reports the memory of the grammar.
    pub(crate) fn report(&self, bytes: usize) {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.iter().filter_map(Weak::upgrade).for_each(|entry| entry.report(bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_the_sum_of_its_open_entries() {
        let account = Arc::new(MemoryAccount::default());
        let grammar = AccountEntries::default();
        assert!(!grammar.is_any());
        let [first, second] = [10, 20].map(|constant| Arc::new(AccountEntry::new(account.clone(), constant)));
        grammar.add(&first);
        grammar.add(&second);
        grammar.report(100);
        assert_eq!((first.bytes(), second.bytes(), account.bytes()), (110, 120, 230));
        grammar.report(40);
        assert_eq!(account.bytes(), 110);
        first.report_first(20);
        assert_eq!(first.bytes(), 50);
        first.close();
        grammar.report(1000);
        first.close();
        assert_eq!((first.bytes(), account.bytes()), (0, 1020));
        drop(second);
        grammar.report(1);
        assert_eq!(account.bytes(), 0);
    }

    #[test]
    fn reports_of_threads_add_up() {
        let account = Arc::new(MemoryAccount::default());
        let grammar = AccountEntries::default();
        let entry = Arc::new(AccountEntry::new(account.clone(), 0));
        grammar.add(&entry);
        std::thread::scope(|scope| {
            for thread in 1..=4 {
                let grammar = &grammar;
                scope.spawn(move || (0..1000).for_each(|count| grammar.report(thread * count)));
            }
        });
        assert_eq!(account.bytes(), entry.bytes());
        entry.close();
        assert_eq!(account.bytes(), 0);
    }
}
