//! Limits on the work and memory that an untrusted grammar can cost. Exceeding one is a typed error.

use std::fmt;
use std::time::Duration;

use crate::{Code, Diagnostic, GrammarError};

/// Limits for one grammar, from its source to its masks.
///
/// The defaults suit a server that compiles untrusted grammars: generous for real grammars, while a malicious one
/// ends in a `limit-exceeded` error within seconds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum length of the source, in bytes.
    pub grammar_bytes: usize,
    /// Maximum number of symbols and alternatives, before and after lowering.
    pub grammar_size: usize,
    /// Maximum number of states of the automata of all terminals together.
    pub automaton_states: usize,
    /// Maximum number of items of one Earley set, predicted ones included. The work of a step is bounded in proportion.
    pub set_items: usize,
    /// Maximum length of a text that is bound to a name, in bytes.
    pub bound_bytes: usize,
    /// Maximum memory of one compiled grammar, and maximum memory that one call allocates, in bytes, within a factor of
    /// two.
    pub memory_bytes: usize,
    /// Maximum duration of one call (read, compile, mask, accept), with all calls that it makes ([`Request`](crate::Request)).
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            grammar_bytes: 64 << 20,
            grammar_size: 4_000_000,
            automaton_states: 1_000_000,
            set_items: 200_000,
            bound_bytes: 4_096,
            memory_bytes: 512 << 20,
            time: Duration::from_secs(30),
        }
    }
}

/// The error of an exceeded limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitExceeded {
    /// Name of a field of [`Limits`].
    pub limit: &'static str,
    /// Value of the field; milliseconds for `time`.
    pub maximum: u128,
}

impl LimitExceeded {
    /// The error that `limit`, with the configured `maximum`, was exceeded.
    #[must_use]
    pub fn new(limit: &'static str, maximum: usize) -> Self {
        Self { limit, maximum: maximum as u128 }
    }

    /// The error as a diagnostic.
    #[must_use]
    pub fn diagnostic(self) -> Diagnostic {
        self.diagnostic_of(&self.option())
    }

    /// The error as a diagnostic that names the limit as the caller's option.
    fn diagnostic_of(self, option: &LimitOption) -> Diagnostic {
        let help = format!("simplify the grammar, or raise `{}` if its author is trusted", option.path);
        let error = Diagnostic::error(Code::LimitExceeded, self.message(option)).help(help);
        Diagnostic { limit: Some(self), ..error }
    }

    fn message(self, option: &LimitOption) -> String {
        let LimitOption { name, maximum, .. } = option;
        format!("the grammar needs more than the limit `{name}` of {maximum}")
    }

    /// The limit as a field of [`Limits`].
    fn option(self) -> LimitOption {
        LimitOption {
            name: self.limit.to_owned(),
            path: format!("Limits.{}", self.limit),
            maximum: format!("{}{}", self.maximum, self.unit()),
        }
    }

    /// What follows the number of [`maximum`](Self::maximum) in messages.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self.limit {
            "time" => " ms",
            limit if limit.ends_with("bytes") => " bytes",
            _ => "",
        }
    }
}

impl LimitExceeded {
    /// Whether a state would have too many items. This depends on the state alone, and not on what was computed before.
    #[must_use]
    pub fn is_set_items(&self) -> bool {
        self.limit == "set_items"
    }

    /// Whether caches are too large. This depends on what was computed before.
    #[must_use]
    pub fn is_memory_bytes(&self) -> bool {
        self.limit == "memory_bytes"
    }
}

impl fmt::Display for LimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message(&self.option()))
    }
}

impl std::error::Error for LimitExceeded {}

/// A limit as the option of an interface in another language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitOption {
    /// Its name, such as `seconds`.
    pub name: String,
    /// Where it is set, such as `Limits.seconds`.
    pub path: String,
    /// Its value with the unit, if the name does not have it.
    pub maximum: String,
}

impl GrammarError {
    /// The error with all exceeded limits named as options of an interface in another language.
    #[must_use]
    pub fn with_limit_options(&self, option: impl Fn(LimitExceeded) -> LimitOption) -> Self {
        let named = |diagnostic: &Diagnostic| match diagnostic.limit {
            Some(limit) => {
                let Diagnostic { message, help, .. } = limit.diagnostic_of(&option(limit));
                Diagnostic { message, help, ..diagnostic.clone() }
            }
            None => diagnostic.clone(),
        };
        Self::new(self.diagnostics().iter().map(named).collect(), self.source_text().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceeded_limits_are_named_as_the_options_of_an_interface() {
        let exceeded = LimitExceeded { limit: "time", maximum: 1_500 };
        assert_eq!(exceeded.to_string(), "the grammar needs more than the limit `time` of 1500 ms");
        let option = |limit: LimitExceeded| LimitOption {
            name: "seconds".to_owned(),
            path: "Limits.seconds".to_owned(),
            maximum: (limit.maximum / 1_000).to_string(),
        };
        let error = GrammarError::from(exceeded.diagnostic()).with_limit_options(option);
        assert_eq!(error.first().message, "the grammar needs more than the limit `seconds` of 1");
        assert_eq!(error.first().limit, Some(exceeded));
        let help = "simplify the grammar, or raise `Limits.seconds` if its author is trusted";
        assert_eq!(error.first().help.as_deref(), Some(help));
    }
}
