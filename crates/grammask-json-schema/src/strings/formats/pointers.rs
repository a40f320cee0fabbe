//! JSON pointers of RFC 6901, and relative ones of the Internet drafts that JSON Schema references.

use crate::options::Draft;

/// A JSON pointer in its JSON string representation, not as a URI fragment.
pub(super) const JSON_POINTER: &str = "(?:/(?:[^~/]|~[01])*)*";

/// A relative JSON pointer; from draft 2019-09 on with an optional index manipulation, as in `0+1`.
pub(super) fn relative(draft: Draft) -> String {
    let index_manipulation = if draft >= Draft::Draft2019 { "(?:[+-][1-9]\\d*)?" } else { "" };
    format!("(?:0|[1-9]\\d*){index_manipulation}(?:#|{JSON_POINTER})")
}
