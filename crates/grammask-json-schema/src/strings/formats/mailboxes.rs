//! Mail addresses: `Mailbox` of RFC 5321, section 4.1.2, and its extension in RFC 6531, section 3.3.

use super::addresses::{IPV4, ipv6};

/// All that is not ASCII.
const NON_ASCII: &str = "\\u0080-\\u{10ffff}";

/// An address of ASCII.
pub(super) fn email() -> String {
    mailbox("")
}

/// An address in which other characters may stand for letters.
pub(super) fn idn_email() -> String {
    mailbox(NON_ASCII)
}

fn mailbox(more: &str) -> String {
    let atom = format!("[A-Za-z0-9!#$%&'*+/=?^_`{{|}}~{more}-]+");
    let quoted = format!("\"(?:[ !#-\\[\\]-~{more}]|\\\\[ -~])*\"");
    let label = format!("[A-Za-z0-9{more}](?:[A-Za-z0-9{more}-]*[A-Za-z0-9{more}])?");
    let literal = format!("\\[(?:{IPV4}|[Ii][Pp][Vv]6:{})\\]", ipv6());
    format!("(?:{atom}(?:\\.{atom})*|{quoted})@(?:{label}(?:\\.{label})*|{literal})")
}
