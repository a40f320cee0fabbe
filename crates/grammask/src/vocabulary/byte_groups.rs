//! What stands below a node of the trie, in one word: which groups of bytes, and whether it is characters.
//!
//! A walk that reaches a state which none of the bytes below a node can leave need not go on below it. 64 groups
//! are enough to tell: marks of ASCII are groups of their own, letters and digits share a few, and of the other bytes
//! it is enough to know whether they make whole characters of UTF-8 (Unicode, table 3-7), which free text takes as a whole.

/// A set of groups of bytes, and a flag for what is no text. A set of groups stands for all of their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ByteGroups(u64);

/// The flag: there are bytes that belong to no character, or the place itself is inside a character.
const BROKEN: u64 = 1 << 63;
/// Groups of the bytes from 0x80 on.
const ABOVE_ASCII: u64 = 0x7f << ABOVE_ASCII_START;
const ABOVE_ASCII_START: u32 = 48;

/// The group of each byte.
const GROUP_OF: [u8; 256] = groups();

const fn groups() -> [u8; 256] {
    let mut group_of = [0; 256];
    let mut byte = 0;
    // Group 0 is the control characters; marks are numbered as they come.
    let mut next = 11;
    while byte < 256 {
        group_of[byte] = match byte as u8 {
            b'\t' => 1,
            b'\n' => 2,
            b'\r' => 3,
            0x7f | 0..0x20 => 0,
            b'0' => 4,
            b'1' => 5,
            b'2'..=b'9' => 6,
            b'A'..=b'F' => 7,
            b'G'..=b'Z' => 8,
            b'a'..=b'f' => 9,
            b'g'..=b'z' => 10,
            0x20..0x7f => {
                next += 1;
                next - 1
            }
            0x80..=0xbf => 48,
            0xc2..=0xdf => 49,
            0xe0..=0xef => 50,
            0xf0..=0xf4 => 51,
            _ => 52,
        };
        byte += 1;
    }
    assert!(next <= 48);
    group_of
}

impl ByteGroups {
    /// The group of one byte.
    pub(crate) fn of(byte: u8) -> Self {
        Self(1 << GROUP_OF[usize::from(byte)])
    }

    /// Everything below a place, if only the bytes that `contains` says may be there.
    pub(crate) fn within(contains: impl Fn(u8) -> bool) -> Self {
        let mut groups = u64::MAX;
        for byte in 0..=u8::MAX {
            if !contains(byte) {
                groups &= !Self::of(byte).0;
            }
        }
        Self(groups)
    }

    /// As the set, but of the bytes from 0x80 on only such as make whole characters.
    pub(crate) fn with_characters(self) -> Self {
        Self(self.0 & !BROKEN | ABOVE_ASCII)
    }

    /// What makes no characters.
    pub(crate) fn broken() -> Self {
        Self(BROKEN)
    }

    /// Whether some of it makes no characters.
    #[inline]
    pub(crate) fn is_broken(self) -> bool {
        self.0 & BROKEN != 0
    }

    /// Whether all of it is in `other`.
    #[inline]
    pub(crate) fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Both together.
    pub(crate) fn union(self, other: Self) -> Self {
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
            let with_characters = letters.with_characters();
            assert_eq!(
                ByteGroups::of(byte).is_within(with_characters),
                byte.is_ascii_lowercase() || byte >= 0x80
            );
        }
        let some = ByteGroups::within(|byte| (b'a'..b'f').contains(&byte));
        assert!(!ByteGroups::of(b'a').is_within(some), "groups stand for all of their bytes");
        assert!(ByteGroups::broken().is_within(letters));
        assert!(!ByteGroups::broken().is_within(letters.with_characters()));
    }
}
