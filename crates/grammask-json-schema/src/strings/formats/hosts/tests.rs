//! Computes the longest Punycode (RFC 3492) of labels within the bounds.

use std::collections::BTreeMap;

use super::PUNYCODE_BOUNDS;

const BASE: u64 = 36;
const MIN_THRESHOLD: u64 = 1;
const MAX_THRESHOLD: u64 = 26;
const SKEW: u64 = 38;
const DAMP: u64 = 700;
const INITIAL_BIAS: u64 = 72;

/// The threshold of the digit with this index.
fn threshold(digit: u64, bias: u64) -> u64 {
    (BASE * (digit + 1)).saturating_sub(bias).clamp(MIN_THRESHOLD, MAX_THRESHOLD)
}

/// The number of digits of a delta: section 6.3.
fn digits(mut delta: u64, bias: u64) -> u64 {
    for digit in 0.. {
        let threshold = threshold(digit, bias);
        if delta < threshold {
            return digit + 1;
        }
        delta = (delta - threshold) / (BASE - threshold);
    }
    unreachable!("a delta has finitely many digits");
}

/// The smallest delta of so many digits.
fn smallest_delta(digits: u64, bias: u64) -> u64 {
    (0..digits - 1).rev().fold(0, |delta, digit| {
        let threshold = threshold(digit, bias);
        delta * (BASE - threshold) + threshold
    })
}

/// The bias after a delta, which increases with it: section 6.1. `characters` counts those so far, with the new one.
fn adapt(delta: u64, characters: u64, is_first: bool) -> u64 {
    let mut delta = if is_first { delta / DAMP } else { delta / 2 };
    delta += delta / characters;
    let mut divisions = 0;
    while delta > (BASE - MIN_THRESHOLD) * MAX_THRESHOLD / 2 {
        delta /= BASE - MIN_THRESHOLD;
        divisions += 1;
    }
    BASE * divisions + (BASE - MIN_THRESHOLD + 1) * delta / (delta + SKEW)
}

/// The smallest delta of at most `largest` for which `adapt` gives at least `bias`.
fn first_delta(bias: u64, largest: u64, characters: u64, is_first: bool) -> Option<u64> {
    let (mut low, mut high) = (0, largest + 1);
    while low < high {
        let middle = u64::midpoint(low, high);
        if adapt(middle, characters, is_first) >= bias {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    (low <= largest).then_some(low)
}

/// An upper bound on the digits of labels of `ascii` characters and `others` up to the code point `last`.
///
/// The deltas count the states of the decoder between insertions (section 6.2), at most the length of the label for
/// each code point beyond ASCII. All sequences of deltas with such a sum are considered, those of labels among them.
fn most_digits(ascii: u64, others: u64, last: u64) -> u64 {
    let largest = (last - 0x7f) * (ascii + others);
    // The smallest sums of deltas by bias and number of digits.
    let mut sums = BTreeMap::from([(INITIAL_BIAS, vec![0])]);
    for index in 0..others {
        let (characters, is_first) = (ascii + index + 1, index == 0);
        let mut next: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        let mut first = 0;
        // The deltas from `first` to `end` have the same effect on the bias.
        while first <= largest {
            let bias_after = adapt(first, characters, is_first);
            let end = first_delta(bias_after + 1, largest, characters, is_first).unwrap_or(largest + 1);
            let by_digits = next.entry(bias_after).or_default();
            for (&bias, before) in &sums {
                let (mut count, mut delta) = (digits(first, bias), first);
                while delta < end {
                    add(by_digits, before, count as usize, delta, largest);
                    count += 1;
                    delta = smallest_delta(count, bias);
                }
            }
            first = end;
        }
        sums = next;
    }
    sums.values().map(Vec::len).max().unwrap_or(0).saturating_sub(1) as u64
}

/// Adds to `sums` those `before` a delta of `count` digits, unless they exceed `largest`.
fn add(sums: &mut Vec<u64>, before: &[u64], count: usize, delta: u64, largest: u64) {
    for (digits, &sum) in before.iter().enumerate().filter(|&(_, &sum)| sum <= largest - delta) {
        let after = digits + count;
        if sums.len() <= after {
            sums.resize(after + 1, u64::MAX);
        }
        sums[after] = sums[after].min(sum + delta);
    }
}

#[test]
fn labels_within_the_bounds_fit_into_62_octets() {
    for bound in PUNYCODE_BOUNDS {
        let (max, weight) = (bound.max as u64, bound.weight as u64);
        // No character of a label is beyond this one.
        let last = u64::from(bound.last).min(0x3_ffff);
        let longest = (1..=max / weight)
            .map(|others| {
                let ascii = max - weight * others;
                let delimiter = u64::from(ascii > 0);
                "xn--".len() as u64 + ascii + delimiter + most_digits(ascii, others, last)
            })
            .max();
        assert_eq!(longest, Some(62), "weight {weight}");
    }
}
