//! Dates and times of RFC 3339, with its calendar and its leap seconds; durations of its appendix A.

use std::fmt::Write;

use rustc_hash::FxHashMap;

use grammask_automata::{Table, TableBuilder, TableState};

/// `full-date` of a real calendar: a 29th of February in leap years only.
pub(super) const DATE: &str = "(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|\
     02-(?:0[1-9]|1\\d|2[0-8]))|(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)";

/// `duration`.
pub(super) const DURATION: &str = "P(?:(?:\\d+D|\\d+M(?:\\d+D)?|\\d+Y(?:\\d+M(?:\\d+D)?)?)(?:T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\
     \\d+M(?:\\d+S)?|\\d+S))?|T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S)|\\d+W)";

/// `secfrac`, optional.
const FRACTION: &str = "(?:\\.\\d+)?";

/// Between a date and a time.
pub(super) const SEPARATOR: &str = "[Tt]";

/// `full-time`, for spellings that write digits and punctuation as themselves.
///
/// A second 60 is legal where it is 23:59:60 in UTC, so the local time fixes the offset, and the automaton has to
/// remember 1,440 times of day; it is built by hand, since determinising a pattern of that takes fifty times as long.
pub(super) fn time() -> Table {
    let (builder, start) = times();
    builder.finish_minimal(start)
}

/// The automaton of times, of which no two states are alike.
fn times() -> (TableBuilder, TableState) {
    let mut builder = TableBuilder::new();
    let start = builder.add_state();
    let end = builder.add_state();
    builder.accept(end);
    let mut chains = Chains { builder, end, rests: FxHashMap::default() };
    // After the seconds below 60: a fraction, and any offset.
    let offset = chains.any_offset();
    let regular = chains.fraction(&[(b'Z', end), (b'z', end), (b'+', offset), (b'-', offset)]);
    let [colon, tens, second] = [0; 3].map(|_| chains.builder.add_state());
    chains.builder.transition(colon, b':', b':', tens);
    chains.builder.transition(tens, b'0', b'5', second);
    chains.builder.transition(second, b'0', b'9', regular);
    for hours in 0..3_u16 {
        let first = chains.builder.add_state();
        chains.edge(start, b'0' + hours as u8, first);
        for hour in hours * 10..(hours * 10 + 10).min(24) {
            let [after_hour, minutes] = [0; 2].map(|_| chains.builder.add_state());
            chains.edge(first, b'0' + (hour % 10) as u8, after_hour);
            chains.edge(after_hour, b':', minutes);
            for ten in 0..6_u16 {
                let after_ten = chains.builder.add_state();
                chains.edge(minutes, b'0' + ten as u8, after_ten);
                for minute in ten * 10..ten * 10 + 10 {
                    let now = hour * 60 + minute;
                    let [after_minute, seconds, six] = [0; 3].map(|_| chains.builder.add_state());
                    chains.edge(after_ten, b'0' + (minute % 10) as u8, after_minute);
                    chains.edge(after_minute, b':', seconds);
                    chains.builder.transition(seconds, b'0', b'5', second);
                    chains.edge(seconds, b'6', six);
                    // Local time is ahead of UTC by a positive offset.
                    let ahead = chains.exactly((now + 1) % DAY);
                    let behind = chains.exactly(DAY - 1 - now);
                    let mut offsets = vec![(b'+', ahead), (b'-', behind)];
                    if now == DAY - 1 {
                        offsets.extend([(b'Z', end), (b'z', end)]);
                    }
                    let leap = chains.fraction(&offsets);
                    chains.edge(six, b'0', leap);
                }
            }
        }
    }
    (chains.builder, start)
}

/// Minutes of a day.
const DAY: u16 = 24 * 60;

/// What the automaton of times is made with.
struct Chains {
    builder: TableBuilder,
    end: TableState,
    /// The states before the rests of offsets.
    rests: FxHashMap<String, TableState>,
}

impl Chains {
    fn edge(&mut self, from: TableState, byte: u8, to: TableState) {
        self.builder.transition(from, byte, byte, to);
    }

    /// The state before an optional fraction and then one of `offsets`.
    fn fraction(&mut self, offsets: &[(u8, TableState)]) -> TableState {
        let [before, point, digits] = [0; 3].map(|_| self.builder.add_state());
        self.edge(before, b'.', point);
        self.builder.transition(point, b'0', b'9', digits);
        self.builder.transition(digits, b'0', b'9', digits);
        for &(byte, to) in offsets {
            self.edge(before, byte, to);
            self.edge(digits, byte, to);
        }
        before
    }

    /// The state before `hh:mm` of any offset.
    fn any_offset(&mut self) -> TableState {
        let [before, low, two, colon, tens, ones] = [0; 6].map(|_| self.builder.add_state());
        self.builder.transition(before, b'0', b'1', low);
        self.edge(before, b'2', two);
        self.builder.transition(low, b'0', b'9', colon);
        self.builder.transition(two, b'0', b'3', colon);
        self.edge(colon, b':', tens);
        self.builder.transition(tens, b'0', b'5', ones);
        let end = self.end;
        self.builder.transition(ones, b'0', b'9', end);
        before
    }

    /// The state before `hh:mm` of exactly this offset in minutes.
    fn exactly(&mut self, offset: u16) -> TableState {
        let text = format!("{:02}:{:02}", offset / 60, offset % 60);
        let mut next = self.end;
        for start in (0..text.len()).rev() {
            let rest = &text[start..];
            next = match self.rests.get(rest) {
                Some(&known) => known,
                None => {
                    let state = self.builder.add_state();
                    self.edge(state, text.as_bytes()[start], next);
                    self.rests.insert(rest.to_owned(), state);
                    state
                }
            };
        }
        next
    }
}

/// `full-time` as a pattern, for any spellings.
pub(super) fn time_pattern() -> String {
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

#[cfg(test)]
mod tests {
    use super::times;

    #[test]
    fn no_two_states_of_times_are_alike() {
        let (builder, start) = times();
        assert_eq!(builder.clone().finish_minimal(start).len(), builder.finish(start).len());
    }
}
