//! An automaton for the boundaries of UTF-8 characters (Unicode, table 3-7).

/// The position of the end of a text relative to its characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Character {
    /// Between characters.
    Boundary,
    /// Inside a character that needs this number of continuation bytes (0x80 to 0xBF).
    Missing(u8),
    /// Inside a character that needs a byte of a narrower range (first, last), then a number of continuation bytes.
    Narrow(u8, u8, u8),
    /// The text is not UTF-8, whatever follows.
    Broken,
}

impl Character {
    /// The position after one more byte.
    pub fn step(self, byte: u8) -> Self {
        let missing = |count: u8| if count == 0 { Self::Boundary } else { Self::Missing(count) };
        match (self, byte) {
            (Self::Boundary, 0..0x80) => Self::Boundary,
            (Self::Boundary, 0xc2..=0xdf) => Self::Missing(1),
            (Self::Boundary, 0xe0) => Self::Narrow(0xa0, 0xbf, 1),
            (Self::Boundary, 0xed) => Self::Narrow(0x80, 0x9f, 1),
            (Self::Boundary, 0xe1..=0xef) => Self::Missing(2),
            (Self::Boundary, 0xf0) => Self::Narrow(0x90, 0xbf, 2),
            (Self::Boundary, 0xf1..=0xf3) => Self::Missing(3),
            (Self::Boundary, 0xf4) => Self::Narrow(0x80, 0x8f, 2),
            (Self::Missing(count), 0x80..=0xbf) => missing(count - 1),
            (Self::Narrow(low, high, count), byte) if (low..=high).contains(&byte) => missing(count),
            _ => Self::Broken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_those_of_the_standard_library() {
        let mut texts: Vec<(Vec<u8>, Character)> = vec![(Vec::new(), Character::Boundary)];
        for _ in 0..4 {
            let mut longer = Vec::new();
            for (text, before) in texts {
                for byte in [0, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec]
                    .into_iter()
                    .chain([0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff])
                {
                    let text = [&text[..], &[byte]].concat();
                    let after = before.step(byte);
                    match std::str::from_utf8(&text) {
                        Ok(_) => assert_eq!(after, Character::Boundary, "{text:x?}"),
                        Err(error) if error.error_len().is_none() => {
                            assert!(!matches!(after, Character::Boundary | Character::Broken), "{text:x?}");
                        }
                        Err(_) => assert_eq!(after, Character::Broken, "{text:x?}"),
                    }
                    longer.push((text, after));
                }
            }
            texts = longer;
            texts.retain(|(_, after)| *after != Character::Broken);
        }
    }
}
