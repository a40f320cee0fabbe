//! JSON pointers of RFC 6901, and relative ones of the Internet drafts that JSON Schema refers to.

use crate::options::Draft;

/// A JSON pointer as a JSON string, not as a fragment of a URI.
pub(super) const JSON_POINTER: &str = "(?:/(?:[^~/]|~[01])*)*";

/// A relative JSON pointer; from draft 2019-09 on an index may be moved, as in `0+1`.
pub(super) fn relative(draft: Draft) -> String {
    let moved = if draft >= Draft::Draft2019 { "(?:[+-][1-9]\\d*)?" } else { "" };
    format!("(?:0|[1-9]\\d*){moved}(?:#|{JSON_POINTER})")
}
