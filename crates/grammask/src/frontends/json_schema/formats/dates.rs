//! Dates and times of RFC 3339, with its calendar and its leap seconds; durations of its appendix A.

use std::fmt::Write;

/// `full-date` of a real calendar: a 29th of February in leap years only.
pub(super) const DATE: &str = "(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|\
     02-(?:0[1-9]|1\\d|2[0-8]))|(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)";

/// `duration`.
pub(super) const DURATION: &str = "P(?:(?:\\d+D|\\d+M(?:\\d+D)?|\\d+Y(?:\\d+M(?:\\d+D)?)?)(?:T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\
     \\d+M(?:\\d+S)?|\\d+S))?|T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S)|\\d+W)";

/// `secfrac`, optional.
const FRACTION: &str = "(?:\\.\\d+)?";

/// `date-time`.
pub(super) fn date_time() -> String {
    format!("{DATE}[Tt]{}", time())
}

/// `full-time`.
pub(super) fn time() -> String {
    let hour = "(?:[01]\\d|2[0-3])";
    let minute = "[0-5]\\d";
    format!("(?:{hour}:{minute}:{minute}{FRACTION}(?:[Zz]|[+-]{hour}:{minute})|{})", leap_second())
}

/// A second 60, which is 23:59:60 in UTC. The hour and the minute fix the offset, each by itself.
fn leap_second() -> String {
    let mut minutes = String::new();
    let mut hours = String::new();
    for offset in 0..60 {
        // Local time is ahead of UTC by a positive offset.
        let (ahead, behind) = ((59 + offset) % 60, 59 - offset);
        let _ = write!(minutes, "|\\d\\d:{ahead:02}:60{FRACTION}\\+\\d\\d:{offset:02}");
        let _ = write!(minutes, "|\\d\\d:{behind:02}:60{FRACTION}-\\d\\d:{offset:02}");
    }
    for offset in 0..24 {
        let _ = write!(hours, "|{:02}:59:60{FRACTION}\\+{offset:02}:00", (23 + offset) % 24);
        // The minutes carry, unless they are 59 with an offset of whole hours.
        let _ = write!(hours, "|{offset:02}:(?:[0-4]\\d|5[0-8]):60{FRACTION}\\+{offset:02}:[0-5]\\d");
        let _ = write!(hours, "|{:02}:[0-5]\\d:60{FRACTION}-{offset:02}:[0-5]\\d", 23 - offset);
    }
    format!("23:59:60{FRACTION}[Zz]|(?=(?:{})$)(?:{})", &minutes[1..], &hours[1..])
}
