//! Recognisers: what can follow a text, by Earley's algorithm.

pub mod reference;
