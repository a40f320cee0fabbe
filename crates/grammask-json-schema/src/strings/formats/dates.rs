//! Dates and times of RFC 3339, with its calendar and its leap seconds; durations of its appendix A.

use std::fmt::Write;

use rustc_hash::FxHashMap;

use grammask_automata::{Table, TableBuilder, TableState};

/// `full-date` of the Gregorian calendar: 29 February in leap years only.
pub(super) const DATE: &str = "(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|\
     02-(?:0[1-9]|1\\d|2[0-8]))|(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)";

/// `duration`.
pub(super) const DURATION: &str = "P(?:(?:\\d+D|\\d+M(?:\\d+D)?|\\d+Y(?:\\d+M(?:\\d+D)?)?)(?:T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\
     \\d+M(?:\\d+S)?|\\d+S))?|T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S)|\\d+W)";

/// `secfrac`, optional.
const FRACTION: &str = "(?:\\.\\d+)?";

/// The separator of a date and a time.
pub(super) const SEPARATOR: &str = "[Tt]";

/// `full-time`, for encodings in which digits and punctuation have themselves as their only encoding.
///
/// A second 60 is legal only at 23:59:60 UTC, so the local time determines the offset, and the automaton has to
/// distinguish 1,440 times of day. It is built directly: determinising the pattern takes fifty times as long.
pub(super) fn time() -> Table {
    let (builder, start) = times();
    builder.finish_minimal(start)
}

/// The automaton of times. It is minimal as it is built.
fn times() -> (TableBuilder, TableState) {
    let mut table = TableBuilder::new();
    let start = table.add_state();
    let end = table.add_state();
    table.accept(end);
    let mut builder = TimeDfaBuilder { table, end, suffix_states: FxHashMap::default() };
    // After the seconds below 60: a fraction, and any offset.
    let offset = builder.any_offset();
    let regular = builder.fraction(&[(b'Z', end), (b'z', end), (b'+', offset), (b'-', offset)]);
    let [colon, tens, second] = [0; 3].map(|_| builder.table.add_state());
    builder.table.transition(colon, b':', b':', tens);
    builder.table.transition(tens, b'0', b'5', second);
    builder.table.transition(second, b'0', b'9', regular);
    for hours in 0..3_u16 {
        let first = builder.table.add_state();
        builder.edge(start, b'0' + hours as u8, first);
        for hour in hours * 10..(hours * 10 + 10).min(24) {
            let [after_hour, minutes] = [0; 2].map(|_| builder.table.add_state());
            builder.edge(first, b'0' + (hour % 10) as u8, after_hour);
            builder.edge(after_hour, b':', minutes);
            for ten in 0..6_u16 {
                let after_ten = builder.table.add_state();
                builder.edge(minutes, b'0' + ten as u8, after_ten);
                for minute in ten * 10..ten * 10 + 10 {
                    let now = hour * 60 + minute;
                    let [after_minute, seconds, six] = [0; 3].map(|_| builder.table.add_state());
                    builder.edge(after_ten, b'0' + (minute % 10) as u8, after_minute);
                    builder.edge(after_minute, b':', seconds);
                    builder.table.transition(seconds, b'0', b'5', second);
                    builder.edge(seconds, b'6', six);
                    // Local time is ahead of UTC by a positive offset.
                    let ahead = builder.exactly((now + 1) % MINUTES_PER_DAY);
                    let behind = builder.exactly(MINUTES_PER_DAY - 1 - now);
                    let mut offsets = vec![(b'+', ahead), (b'-', behind)];
                    if now == MINUTES_PER_DAY - 1 {
                        offsets.extend([(b'Z', end), (b'z', end)]);
                    }
                    let leap = builder.fraction(&offsets);
                    builder.edge(six, b'0', leap);
                }
            }
        }
    }
    (builder.table, start)
}

/// Minutes per day.
const MINUTES_PER_DAY: u16 = 24 * 60;

/// The automaton of times under construction.
struct TimeDfaBuilder {
    table: TableBuilder,
    end: TableState,
    /// The state before each suffix of an offset.
    suffix_states: FxHashMap<String, TableState>,
}

impl TimeDfaBuilder {
    fn edge(&mut self, from: TableState, byte: u8, to: TableState) {
        self.table.transition(from, byte, byte, to);
    }

    /// The state before an optional fraction that is followed by one of `offsets`.
    fn fraction(&mut self, offsets: &[(u8, TableState)]) -> TableState {
        let [before, point, digits] = [0; 3].map(|_| self.table.add_state());
        self.edge(before, b'.', point);
        self.table.transition(point, b'0', b'9', digits);
        self.table.transition(digits, b'0', b'9', digits);
        for &(byte, to) in offsets {
            self.edge(before, byte, to);
            self.edge(digits, byte, to);
        }
        before
    }

    /// The state before the `hh:mm` of any offset.
    fn any_offset(&mut self) -> TableState {
        let [before, low, two, colon, tens, ones] = [0; 6].map(|_| self.table.add_state());
        self.table.transition(before, b'0', b'1', low);
        self.edge(before, b'2', two);
        self.table.transition(low, b'0', b'9', colon);
        self.table.transition(two, b'0', b'3', colon);
        self.edge(colon, b':', tens);
        self.table.transition(tens, b'0', b'5', ones);
        let end = self.end;
        self.table.transition(ones, b'0', b'9', end);
        before
    }

    /// The state before the `hh:mm` of one offset, given in minutes.
    fn exactly(&mut self, offset: u16) -> TableState {
        let text = format!("{:02}:{:02}", offset / 60, offset % 60);
        let mut next = self.end;
        for start in (0..text.len()).rev() {
            let suffix = &text[start..];
            next = match self.suffix_states.get(suffix) {
                Some(&state) => state,
                None => {
                    let state = self.table.add_state();
                    self.edge(state, text.as_bytes()[start], next);
                    self.suffix_states.insert(suffix.to_owned(), state);
                    state
                }
            };
        }
        next
    }
}

/// `full-time` as a pattern, for any encoding.
pub(super) fn time_pattern() -> String {
    let hour = "(?:[01]\\d|2[0-3])";
    let minute = "[0-5]\\d";
    format!("(?:{hour}:{minute}:{minute}{FRACTION}(?:[Zz]|[+-]{hour}:{minute})|{})", leap_second())
}

/// A second 60 at 23:59:60 UTC. The hours and the minutes determine those of the offset independently.
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

#[cfg(test)]
mod tests {
    use super::times;

    #[test]
    fn the_automaton_of_times_is_minimal() {
        let (builder, start) = times();
        assert_eq!(builder.clone().finish_minimal(start).len(), builder.finish(start).len());
    }
}
