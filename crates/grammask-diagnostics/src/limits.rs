//! Budgets that keep an untrusted grammar from eating the machine; passing one is a typed error.

use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::{Code, Diagnostic};

/// Budgets for one grammar, from its text to its masks.
///
/// The defaults fit a server that compiles grammars of strangers: generous for real grammars, and a grammar
/// built to do harm ends in a `limit-exceeded` error within seconds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Limits {
    /// Longest grammar text, in bytes.
    pub grammar_bytes: usize,
    /// Most symbols and alternatives of a grammar, before and after lowering.
    pub grammar_size: usize,
    /// Most states of all terminals' automata together.
    pub automaton_states: usize,
    /// Most items of one Earley set, predicted ones included. The work of one step is bounded in proportion.
    pub set_items: usize,
    /// Most memory that one compiled grammar may take, in bytes (an estimate, within a factor of two).
    pub memory_bytes: usize,
    /// Longest time that one call (compile, mask, accept) may take.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            grammar_bytes: 64 << 20,
            grammar_size: 4_000_000,
            automaton_states: 1_000_000,
            set_items: 200_000,
            memory_bytes: 512 << 20,
            time: Duration::from_secs(30),
        }
    }
}

/// Which budget was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitExceeded {
    /// Name of the field of [`Limits`].
    pub limit: &'static str,
    /// Its value.
    pub maximum: u128,
}

impl LimitExceeded {
    /// The budget `limit` with its configured `maximum` was passed.
    #[must_use]
    pub fn new(limit: &'static str, maximum: usize) -> Self {
        Self { limit, maximum: maximum as u128 }
    }

    /// This as a diagnostic.
    #[must_use]
    pub fn diagnostic(self) -> Diagnostic {
        Diagnostic::error(Code::LimitExceeded, self.to_string())
            .help(format!("simplify the grammar, or raise `Limits.{}` if its author is trusted", self.limit))
    }
}

impl fmt::Display for LimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.limit {
            "time" => " ms",
            limit if limit.ends_with("bytes") => " bytes",
            _ => "",
        };
        write!(f, "the grammar needs more than the limit `{}` of {}{unit}", self.limit, self.maximum)
    }
}

impl std::error::Error for LimitExceeded {}

/// A point in time after which work stops.
#[derive(Clone, Debug)]
pub struct Deadline {
    /// Not set before the first check, where it begins with that; none if no clock reaches it.
    end: OnceLock<Option<Instant>>,
    budget: Duration,
}

impl Deadline {
    /// `budget` from now on.
    #[must_use]
    pub fn after(budget: Duration) -> Self {
        Self { end: Instant::now().checked_add(budget).into(), budget }
    }

    /// `budget` from the first check on, for work that is mostly done before any: to read the clock takes longer than
    /// to take a known step.
    #[must_use]
    pub fn after_first_check(budget: Duration) -> Self {
        Self { end: OnceLock::new(), budget }
    }

    /// Whether there is time left. Reads the clock: call it once per some hundred steps of work.
    ///
    /// # Errors
    /// When the time is over.
    pub fn check(&self) -> Result<(), LimitExceeded> {
        match self.end.get_or_init(|| Instant::now().checked_add(self.budget)) {
            Some(end) if Instant::now() >= *end => {
                Err(LimitExceeded { limit: "time", maximum: self.budget.as_millis() })
            }
            _ => Ok(()),
        }
    }
}
