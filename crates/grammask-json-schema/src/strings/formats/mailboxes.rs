//! Mail addresses: `Mailbox` of RFC 5321, section 4.1.2, and its extension in RFC 6531, section 3.3.

use super::addresses::{IPV4, ipv6};

/// All characters beyond ASCII.
const NON_ASCII: &str = "\\u0080-\\u{10ffff}";

/// An ASCII address.
pub(super) fn email() -> String {
    mailbox("")
}

/// An address that admits other characters wherever letters are allowed.
pub(super) fn idn_email() -> String {
    mailbox(NON_ASCII)
}

fn mailbox(extra: &str) -> String {
    let atom = format!("[A-Za-z0-9!#$%&'*+/=?^_`{{|}}~{extra}-]+");
    let quoted = format!("\"(?:[ !#-\\[\\]-~{extra}]|\\\\[ -~])*\"");
    let label = format!("[A-Za-z0-9{extra}](?:[A-Za-z0-9{extra}-]*[A-Za-z0-9{extra}])?");
    let literal = format!("\\[(?:{IPV4}|[Ii][Pp][Vv]6:{})\\]", ipv6());
    format!("(?:{atom}(?:\\.{atom})*|{quoted})@(?:{label}(?:\\.{label})*|{literal})")
}
