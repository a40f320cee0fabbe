//! Addresses of the Internet: IPv4 as in RFC 2673, section 3.2; IPv6 as in RFC 4291, section 2.2.

use std::fmt::Write;

/// Four decimal octets without leading zeros.
pub(super) const IPV4: &str =
    "(?:(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)\\.){3}(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";

/// Eight groups, of which the last two may be an IPv4 address, and at most one run of groups may be `::`.
pub(super) fn ipv6() -> String {
    let group = "[0-9A-Fa-f]{1,4}";
    let last = format!("(?:{group}:{group}|{IPV4})");
    let mut all = format!("(?:(?:{group}:){{6}}{last}");
    for before in 0..=7 {
        // The number of groups before the `::`, which stands for one group or more.
        let head = match before {
            0 => String::new(),
            1 => group.to_owned(),
            _ => format!("(?:{group}:){{{}}}{group}", before - 1),
        };
        let tail = match 7 - before {
            0 => String::new(),
            1 => format!("(?:{group})?"),
            room => format!("(?:(?:{group}:){{0,{}}}{last}|(?:{group})?)", room - 2),
        };
        let _ = write!(all, "|{head}::{tail}");
    }
    all.push(')');
    all
}
