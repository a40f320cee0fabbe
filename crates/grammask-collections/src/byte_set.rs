//! Sets of bytes as 256-bit bitsets.

use std::fmt;

use bytemuck::{Pod, Zeroable};

/// A set of bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Pod, Zeroable)]
#[repr(transparent)]
pub struct ByteSet([u64; 4]);

impl ByteSet {
    /// No byte.
    pub const EMPTY: Self = Self([0; 4]);
    /// Every byte.
    pub const ALL: Self = Self([u64::MAX; 4]);

    /// The set of one byte.
    #[must_use]
    pub fn single(byte: u8) -> Self {
        let mut set = Self::EMPTY;
        set.insert(byte);
        set
    }

    /// The bytes from `low` to `high`, both included; empty if `low > high`.
    #[must_use]
    pub fn range(low: u8, high: u8) -> Self {
        Self::below(u16::from(high) + 1).intersection(Self::below(u16::from(low)).complement())
    }

    /// The bytes below `end`, which is at most 256.
    fn below(end: u16) -> Self {
        Self(std::array::from_fn(|word| match usize::from(end).saturating_sub(word * 64) {
            bits @ 0..64 => (1 << bits) - 1,
            _ => u64::MAX,
        }))
    }

    /// Adds `byte`.
    #[inline]
    pub fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    /// Whether `byte` is in the set.
    #[inline]
    #[must_use]
    pub fn contains(self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    /// Whether some byte is in both sets.
    #[inline]
    #[must_use]
    pub fn intersects(self, other: Self) -> bool {
        !self.intersection(other).is_empty()
    }

    /// The bytes in either set.
    #[inline]
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    /// The bytes in both sets.
    #[inline]
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    /// The bytes of this set that are not in the other.
    #[inline]
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }

    /// The bytes that are not in the set.
    #[must_use]
    pub fn complement(self) -> Self {
        Self(self.0.map(|word| !word))
    }

    /// Whether the set is empty.
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    /// Number of bytes.
    #[must_use]
    pub fn len(self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The byte of a one-byte set.
    #[must_use]
    pub fn only(self) -> Option<u8> {
        let mut bytes = self.iter();
        let first = bytes.next()?;
        bytes.next().is_none().then_some(first)
    }

    /// The bytes in ascending order.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        let mut words = self.0;
        std::iter::from_fn(move || {
            let index = words.iter().position(|&word| word != 0)?;
            let bit = words[index].trailing_zeros();
            words[index] &= words[index] - 1;
            Some((index as u32 * 64 + bit) as u8)
        })
    }

    /// The maximal runs of consecutive bytes, in ascending order, both ends included.
    pub fn ranges(self) -> impl Iterator<Item = (u8, u8)> {
        let mut bytes = self.iter().peekable();
        std::iter::from_fn(move || {
            let low = bytes.next()?;
            let mut high = low;
            while bytes.next_if(|&next| high.checked_add(1) == Some(next)).is_some() {
                high += 1;
            }
            Some((low, high))
        })
    }

    /// The bytes `b > 0` such that exactly one of `b - 1` and `b` is in the set.
    #[must_use]
    pub fn boundaries(self) -> Self {
        let mut shifted = [0; 4];
        let mut carry = self.0[0] & 1;
        for (word, own) in shifted.iter_mut().zip(self.0) {
            *word = own << 1 | carry;
            carry = own >> 63;
        }
        self.zip(Self(shifted), |a, b| a ^ b)
    }

    /// The bitset as machine words, lowest bytes first.
    #[inline]
    #[must_use]
    pub fn words(&self) -> &[u64; 4] {
        &self.0
    }

    #[inline]
    fn zip(self, other: Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        Self(std::array::from_fn(|index| combine(self.0[index], other.0[index])))
    }
}

/// The set with the bitset of these words, lowest bytes first.
impl From<[u64; 4]> for ByteSet {
    #[inline]
    fn from(words: [u64; 4]) -> Self {
        Self(words)
    }
}

impl FromIterator<u8> for ByteSet {
    fn from_iter<I: IntoIterator<Item = u8>>(bytes: I) -> Self {
        let mut set = Self::EMPTY;
        for byte in bytes {
            set.insert(byte);
        }
        set
    }
}

/// Displayed as a bracketed class of a regular expression, for example `[a-z\n]`.
impl fmt::Display for ByteSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (set, negated) = if self.len() > 128 { (self.complement(), "^") } else { (*self, "") };
        let write = |f: &mut fmt::Formatter<'_>, byte: u8| match byte {
            b'-' | b'[' | b']' | b'^' => write!(f, "\\{}", char::from(byte)),
            _ => write!(f, "{}", byte.escape_ascii()),
        };
        write!(f, "[{negated}")?;
        for (low, high) in set.ranges() {
            write(f, low)?;
            if high > low {
                if high - low > 1 {
                    f.write_str("-")?;
                }
                write(f, high)?;
            }
        }
        f.write_str("]")
    }
}

impl fmt::Debug for ByteSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::ByteSet;

    #[test]
    fn behaves_as_a_set() {
        let mut set = ByteSet::range(b'a', b'c').union(ByteSet::single(255));
        set.insert(0);
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 97, 98, 99, 255]);
        assert_eq!(set.ranges().collect::<Vec<_>>(), [(0, 0), (97, 99), (255, 255)]);
        assert_eq!(set.len(), 5);
        assert!(set.contains(b'b') && !set.contains(b'd'));
        assert!(set.intersection(set.complement()).is_empty());
        assert_eq!(set.union(set.complement()), ByteSet::ALL);
        assert_eq!(ByteSet::ALL.ranges().collect::<Vec<_>>(), [(0, 255)]);
        assert_eq!(ByteSet::range(3, 2), ByteSet::EMPTY);
        assert_eq!((set.only(), ByteSet::single(7).only()), (None, Some(7)));
    }

    #[test]
    fn a_range_is_all_bytes_between_its_ends() {
        let ends = [0, 1, 62, 63, 64, 65, 127, 128, 129, 191, 192, 254, 255];
        for low in ends {
            for high in ends {
                assert_eq!(ByteSet::range(low, high), (low..=high).collect(), "{low} to {high}");
            }
        }
    }

    #[test]
    fn boundaries_are_changes_of_membership() {
        let set = ByteSet::range(63, 64).union(ByteSet::range(200, 255));
        assert_eq!(set.boundaries().iter().collect::<Vec<_>>(), [63, 65, 200]);
        let low = ByteSet::range(0, 4);
        assert_eq!(low.boundaries().iter().collect::<Vec<_>>(), [5]);
        assert!(ByteSet::ALL.boundaries().is_empty());
    }

    #[test]
    fn prints_as_a_class() {
        let set = ByteSet::range(b'a', b'd').union(ByteSet::single(b'-')).union(ByteSet::single(255));
        assert_eq!(set.to_string(), r"[\-a-d\xff]");
        assert_eq!(ByteSet::single(b'"').complement().to_string(), r#"[^\"]"#);
    }
}
