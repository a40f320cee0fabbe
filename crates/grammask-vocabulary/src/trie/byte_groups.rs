//! A summary of the bytes below a trie node in 128 bits: groups of bytes, and a flag for broken UTF-8.
//!
//! A walk that reaches a state with self-loops on all bytes below a node skips the subtree. For this test 128 groups
//! suffice: each printable ASCII character is a group of its own, since a pattern may exclude a single letter; bytes
//! above ASCII are grouped by the lead bytes of their characters (Unicode, table 3-7), since patterns that admit such
//! characters admit all of them, or all but those with a few lead bytes, such as the ones of white space.

use bytemuck::{Pod, Zeroable};

/// A set of groups of bytes, which stands for all of their bytes, with a flag for broken UTF-8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct ByteGroups(u128);

/// The flag: some bytes belong to no character, or the position is inside a character.
const BROKEN: u128 = 1 << 127;
/// The group of continuation bytes.
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
            // Control characters.
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

    /// All groups that consist of bytes for which `contains` returns true, and the flag.
    pub fn within(contains: impl Fn(u8) -> bool) -> Self {
        let mut groups = u128::MAX;
        for byte in 0..=u8::MAX {
            if !contains(byte) {
                groups &= !Self::of(byte).0;
            }
        }
        Self(groups)
    }

    /// The lead bytes of characters beyond ASCII, by group.
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

    /// All lead bytes of characters beyond ASCII.
    pub const ALL_LEADS: Self = Self((1 << 110) - (1 << 100));

    /// The set with its bytes from 0x80 on replaced by whole characters whose lead bytes are in the groups `leads`.
    pub fn with_characters(self, leads: Self) -> Self {
        let above_ascii: u128 = (1 << 111) - (1 << CONTINUATION);
        Self(self.0 & !BROKEN & !above_ascii | leads.0 | 1 << CONTINUATION)
    }

    /// The flag for broken UTF-8, without any group.
    pub fn broken() -> Self {
        Self(BROKEN)
    }

    /// Whether the flag for broken UTF-8 is set.
    #[inline]
    pub fn is_broken(self) -> bool {
        self.0 & BROKEN != 0
    }

    /// Whether `other` contains all groups and the flag, if set.
    #[inline]
    pub fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether `other` contains a group, or both have the flag.
    #[inline]
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The difference of both sets.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The union of both sets.
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
