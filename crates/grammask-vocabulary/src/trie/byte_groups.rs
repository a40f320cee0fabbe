//! What stands below a node of the trie, in two words: which groups of bytes, and whether it is characters.
//!
//! A walk that reaches a state which none of the bytes below a node can leave need not go on below it. 128 groups
//! are enough to tell: printed characters of ASCII are groups of their own, since a pattern may be left by one letter, and of
//! the other bytes it is enough to know whether they make whole characters of UTF-8 (Unicode, table 3-7), and with which
//! bytes these begin: free text takes all of them, and text without white space all but those with a few beginnings.

/// A set of groups of bytes, and a flag for what is no text. A set of groups stands for all of their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteGroups(u128);

/// The flag: there are bytes that belong to no character, or the place itself is inside a character.
const BROKEN: u128 = 1 << 127;
/// The group of the bytes that characters go on with.
const CONTINUATION: u8 = 99;

/// The group of each byte.
const GROUP_OF: [u8; 256] = groups();

const fn groups() -> [u8; 256] {
    let mut group_of = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        group_of[byte] = match byte as u8 {
            b'\t' => 1,
            b'\n' => 2,
            b'\r' => 3,
            // The control characters.
            0x7f | 0..0x20 => 0,
            0x20..0x7f => byte as u8 - 0x20 + 4,
            0x80..=0xbf => CONTINUATION,
            0xc2 => 100,
            0xc3..=0xcf => 101,
            0xd0..=0xdf => 102,
            0xe0 => 103,
            0xe1 => 104,
            0xe2 => 105,
            0xe3 => 106,
            0xe4..=0xee => 107,
            0xef => 108,
            0xf0..=0xf4 => 109,
            _ => 110,
        };
        byte += 1;
    }
    group_of
}

impl ByteGroups {
    /// The group of one byte.
    pub fn of(byte: u8) -> Self {
        Self(1 << GROUP_OF[usize::from(byte)])
    }

    /// Everything below a place, if only the bytes that `contains` says may be there.
    pub fn within(contains: impl Fn(u8) -> bool) -> Self {
        let mut groups = u128::MAX;
        for byte in 0..=u8::MAX {
            if !contains(byte) {
                groups &= !Self::of(byte).0;
            }
        }
        Self(groups)
    }

    /// The bytes with which characters beyond ASCII begin, those of one group together.
    pub const LEADS: [std::ops::RangeInclusive<u8>; 10] = [
        0xc2..=0xc2,
        0xc3..=0xcf,
        0xd0..=0xdf,
        0xe0..=0xe0,
        0xe1..=0xe1,
        0xe2..=0xe2,
        0xe3..=0xe3,
        0xe4..=0xee,
        0xef..=0xef,
        0xf0..=0xf4,
    ];

    /// All first bytes of such characters.
    pub const ALL_LEADS: Self = Self((1 << 110) - (1 << 100));

    /// As the set, but of the bytes from 0x80 on only such as make whole characters, and only those that begin with bytes of
    /// the given groups.
    pub fn with_characters(self, leads: Self) -> Self {
        let above_ascii: u128 = (1 << 111) - (1 << CONTINUATION);
        Self(self.0 & !BROKEN & !above_ascii | leads.0 | 1 << CONTINUATION)
    }

    /// What makes no characters.
    pub fn broken() -> Self {
        Self(BROKEN)
    }

    /// Whether some of it makes no characters.
    #[inline]
    pub fn is_broken(self) -> bool {
        self.0 & BROKEN != 0
    }

    /// Whether all of it is in `other`.
    #[inline]
    pub fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether some of it is in `other`.
    #[inline]
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// What is not in `other`.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Both together.
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_sets() {
        let letters = ByteGroups::within(|byte| byte.is_ascii_lowercase());
        for byte in 0..=u8::MAX {
            assert_eq!(ByteGroups::of(byte).is_within(letters), byte.is_ascii_lowercase(), "{byte}");
            assert!(ByteGroups::of(byte).is_within(ByteGroups::within(|_| true)));
            let with_characters = letters.with_characters(ByteGroups::of(0xc4));
            assert_eq!(
                ByteGroups::of(byte).is_within(with_characters),
                byte.is_ascii_lowercase() || (0x80..0xc0).contains(&byte) || (0xc3..0xd0).contains(&byte)
            );
            let begins = (0xc2..0xf5).contains(&byte);
            assert_eq!(ByteGroups::LEADS.iter().any(|leads| leads.contains(&byte)), begins);
            assert_eq!(ByteGroups::of(byte).is_within(ByteGroups::ALL_LEADS), begins);
            let mut of_group = ByteGroups::LEADS.iter().filter(|leads| leads.contains(&byte));
            assert!(of_group.all(|leads| ByteGroups::of(*leads.start()) == ByteGroups::of(byte)));
        }
        let some = ByteGroups::within(|byte| (0xe4..0xe8).contains(&byte));
        assert!(!ByteGroups::of(0xe4).is_within(some), "groups stand for all of their bytes");
        assert!(ByteGroups::broken().is_within(letters));
        assert!(!ByteGroups::broken().is_within(letters.with_characters(ByteGroups::default())));
    }
}
