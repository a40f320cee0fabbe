//! Masks: the sets of tokens that may come next.

pub mod brute_force;
