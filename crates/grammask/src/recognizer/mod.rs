//! recognizer.
