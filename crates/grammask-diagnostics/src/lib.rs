//! Source spans, diagnostics with stable codes, and the limits for untrusted grammars. The lowest layer: every stage
//! that reads user input uses it.
//!
//! - [`Diagnostic`]: one error or warning, with a [`Code`], a span or JSON pointer, found, expected, and help.
//! - [`GrammarError`]: all diagnostics of a failed operation, with the source text. A stage collects its errors and
//!   reports them together.
//! - [`Limits`]: bounds on the size of the input, on work, time and memory. Exceeding one is a [`LimitExceeded`],
//!   never a panic. A [`Deadline`] checks time and memory, and all those of a [`Request`] end with it.
//! - [`closest`]: the suggestion in "did you mean".
//!
//! Codes are part of the public interface and do not change; the wording of messages may.
#![forbid(unsafe_code)]

mod deadline;
mod diagnostic;
mod limits;
mod named_option;
mod span;
mod suggest;

pub use deadline::{Deadline, Request, count_memory_by};
pub use diagnostic::{Code, Diagnostic, ErrorKind, GrammarError, Severity};
pub use limits::{LimitExceeded, LimitOption, Limits};
pub use named_option::{NamedOption, UnknownName};
pub use span::{Position, Span, without_byte_order_mark};
pub use suggest::closest;
