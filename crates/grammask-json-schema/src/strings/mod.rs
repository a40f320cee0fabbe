//! Regular languages of JSON strings: encodings, regular expressions, formats, bounds of length.

pub(crate) mod formats;
pub(crate) mod lengths;
pub(crate) mod pattern;
pub(crate) mod string_encoding;
