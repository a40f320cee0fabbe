//! vocabulary.
