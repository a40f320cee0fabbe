//! Ranges of positions as masks of 64-bit words, for operations on whole words of a bitset.

use std::ops::Range;

/// The indices of the words that a range of positions overlaps, each with the bits of the range in that word.
pub fn words_of(range: Range<usize>) -> impl Iterator<Item = (usize, u64)> + Clone {
    let (first, end) = (range.start >> 6, if range.is_empty() { 0 } else { range.end.div_ceil(64) });
    (first..end).map(move |word| {
        let from = if word == first { u64::MAX << (range.start & 63) } else { u64::MAX };
        let to = match range.end - (word << 6) {
            64.. => u64::MAX,
            count => (1 << count) - 1,
        };
        (word, from & to)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_positions() {
        for range in [0..0, 0..1, 5..5, 7..64, 63..65, 64..128, 0..300, 129..130, 64..64] {
            let mut positions = Vec::new();
            for (word, bits) in words_of(range.clone()) {
                positions.extend((0..64).filter(|bit| bits >> bit & 1 == 1).map(|bit| word * 64 + bit));
            }
            assert_eq!(positions, range.collect::<Vec<_>>());
        }
    }
}
