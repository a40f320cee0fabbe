//! Plain decimals that are multiples of a number: long division, with one state for each remainder.

use grammask_automata::{Table, TableBuilder, TableState};

/// The plain decimals without sign that are multiples of `factor * 10^-places`.
///
/// Cost: `factor * (places + 1)` states.
pub(super) fn multiples(factor: u32, places: u32) -> Table {
    let mut builder = TableBuilder::new();
    let start = builder.add_state();
    let zero = builder.add_state();
    // A row of states: the remainder of the digits so far, after a fixed number of digits of the fraction.
    let mut rows = |count: u32| -> Vec<TableState> { (0..count).map(|_| builder.add_state()).collect() };
    let integers = rows(factor);
    let points: Vec<Vec<TableState>> = (0..places).map(|_| rows(factor)).collect();
    // After the last significant place only zeros may follow, and the remainder is zero.
    let (pointed, ended) = (rows(1)[0], rows(1)[0]);
    let next_remainder = |remainder: u32, digit: u32| {
        ((u64::from(remainder) * 10 + u64::from(digit)) % u64::from(factor)) as u32 as usize
    };
    let is_multiple = |remainder: u32, remaining: u32| {
        (0..remaining).fold(remainder, |r, _| next_remainder(r, 0) as u32) == 0
    };
    builder.accept(zero);
    builder.transition(start, b'0', b'0', zero);
    for digit in 1..=9 {
        let byte = b'0' + digit as u8;
        builder.transition(start, byte, byte, integers[next_remainder(0, digit)]);
    }
    // The state after one more digit of the fraction.
    let after_fraction_digit = |count: u32, remainder: usize| match points.get(count as usize) {
        Some(row) => Some(row[remainder]),
        None if remainder == 0 => Some(ended),
        None => None,
    };
    // The state after the after_point: `points[0]` if the fraction has significant places.
    let after_point = |remainder: usize| match points.first() {
        Some(row) => Some(row[remainder]),
        None if remainder == 0 => Some(pointed),
        None => None,
    };
    for remainder in 0..factor {
        let state = integers[remainder as usize];
        for digit in 0..=9 {
            let byte = b'0' + digit as u8;
            builder.transition(state, byte, byte, integers[next_remainder(remainder, digit)]);
        }
        if let Some(next) = after_point(remainder as usize) {
            builder.transition(state, b'.', b'.', next);
        }
        if is_multiple(remainder, places) {
            builder.accept(state);
        }
    }
    if let Some(next) = after_point(0) {
        builder.transition(zero, b'.', b'.', next);
    }
    for (count, row) in (0..).zip(&points) {
        for remainder in 0..factor {
            let state = row[remainder as usize];
            for digit in 0..=9 {
                if let Some(next) = after_fraction_digit(count + 1, next_remainder(remainder, digit)) {
                    let byte = b'0' + digit as u8;
                    builder.transition(state, byte, byte, next);
                }
            }
            if count > 0 && is_multiple(remainder, places - count) {
                builder.accept(state);
            }
        }
    }
    builder.accept(ended);
    builder.transition(pointed, b'0', b'0', ended);
    builder.transition(ended, b'0', b'0', ended);
    builder.finish(start)
}
