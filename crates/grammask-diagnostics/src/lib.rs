//! What every stage says to people: source spans, diagnostics with stable codes, and the limits that untrusted grammars
//! are held to.
#![forbid(unsafe_code)]

mod diagnostic;
mod limits;
mod span;
mod suggest;

pub use diagnostic::{Code, Diagnostic, ErrorKind, GrammarError, Severity};
pub use limits::{Deadline, LimitExceeded, Limits};
pub use span::{Position, Span};
pub use suggest::closest;
