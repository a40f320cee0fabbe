//! A process-wide cache of automata that many schemas use: formats, bounds of numbers, "an integer".
//!
//! These languages are equal in every schema, and determinising one, or parsing its pattern, takes up to several
//! milliseconds.

use std::hash::Hash;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use grammask_automata::Table;

/// Number of automata at which the cache is cleared. Automata in use stay alive with their grammars.
const MAX_AUTOMATA: usize = 4096;

/// Automata by key; `None` for an automaton that would be too large.
pub(super) struct AutomatonCache<K>(LazyLock<Mutex<FxHashMap<K, Option<Arc<Table>>>>>);

impl<K: Eq + Hash> AutomatonCache<K> {
    /// An empty cache.
    pub(super) const fn new() -> Self {
        Self(LazyLock::new(Mutex::default))
    }

    /// The automaton of `key`, built by `build` on a cache miss. The lock is not held while it is built.
    pub(super) fn get(&self, key: K, build: impl FnOnce() -> Option<Table>) -> Option<Arc<Table>> {
        // Poisoning is harmless: an insertion either happens or does not.
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cached) = lock().get(&key) {
            return cached.clone();
        }
        let table = build().map(Arc::new);
        let mut cache = lock();
        if cache.len() >= MAX_AUTOMATA {
            cache.clear();
        }
        cache.insert(key, table.clone());
        table
    }
}
