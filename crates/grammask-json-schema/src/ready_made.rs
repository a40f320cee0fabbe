//! Automata that many schemas use, made once for the process: formats, bounds of numbers, "an integer".
//!
//! Such a language is the same in every schema, and determinising it, or reading its pattern, takes up to some milliseconds.

use std::hash::Hash;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use grammask_automata::Table;

/// When so many are known, all are forgotten; those in use stay with their grammars.
const MOST_KNOWN: usize = 4096;

/// Automata by what they are about. None where it is known that one would be too large.
pub(super) struct AutomatonCache<K>(LazyLock<Mutex<FxHashMap<K, Option<Arc<Table>>>>>);

impl<K: Eq + Hash> AutomatonCache<K> {
    /// Knows none yet.
    pub(super) const fn new() -> Self {
        Self(LazyLock::new(Mutex::default))
    }

    /// The automaton of `subject`, made by `make` when it is asked for first. Nothing is locked while it is made.
    pub(super) fn get(&self, subject: K, make: impl FnOnce() -> Option<Table>) -> Option<Arc<Table>> {
        // A thread that panics leaves the map whole.
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&subject) {
            return known.clone();
        }
        let table = make().map(Arc::new);
        let mut known = lock();
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(subject, table.clone());
        table
    }
}
