//! grammask makes a language model's output follow a grammar: exactly, and at memory speed.

pub mod automata;
pub mod frontends;
pub mod grammar;
mod graph;
mod limits;
pub mod lowering;
pub mod masks;
pub mod recognizer;
pub mod vocabulary;

pub use limits::{Deadline, LimitExceeded, Limits};
