//! Decodes a text byte by byte.
//!
//! All spellings together are a prefix code, so a spelling is decoded as soon as it is complete. Bytes of characters that
//! represent themselves are passed on at once.

use crate::encoding::CharacterEncoding;
use crate::encoding::spellings::{JSON_SHORT, PYTHON_SHORT, XML_ENTITIES};

/// The result of reading a byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodedByte {
    /// The byte represents itself.
    Itself,
    /// The spelling is not complete.
    Incomplete,
    /// The byte completes the spelling of a character.
    Character(char),
    /// The character before the byte has ended, and the byte begins the next spelling.
    CharacterBefore(char),
}

impl CharacterEncoding {
    /// Reads a byte after the bytes of an incomplete spelling, which are none between characters. A byte with which no
    /// spelling goes on represents itself.
    #[must_use]
    pub fn decode_byte(&self, incomplete: &[u8], byte: u8) -> DecodedByte {
        let escape = match self {
            Self::Utf8 => return DecodedByte::Itself,
            Self::JsonString(_) | Self::PythonString(..) => b'\\',
            Self::XmlText(_) | Self::XmlAttribute(..) => b'&',
            Self::LinePrefix(_) | Self::IndentedBlock(_) => b'\n',
        };
        if incomplete.is_empty() && byte != escape {
            return DecodedByte::Itself;
        }
        let spelling: Vec<u8> = incomplete.iter().copied().chain([byte]).collect();
        match self {
            Self::Utf8 => DecodedByte::Itself,
            Self::JsonString(_) => decode_json(&spelling),
            Self::PythonString(..) => decode_python(&spelling),
            Self::XmlText(_) | Self::XmlAttribute(..) => decode_xml(&spelling),
            Self::LinePrefix(prefix) if spelling.len() <= prefix.len() => DecodedByte::Incomplete,
            Self::LinePrefix(_) => DecodedByte::Character('\n'),
            Self::IndentedBlock(prefix) => match incomplete.len().checked_sub(1) {
                Some(read) if byte == b'\n' && prefix.is_blank_after(read) => {
                    DecodedByte::CharacterBefore('\n')
                }
                Some(read) if prefix.byte(read) != Some(byte) => DecodedByte::Itself,
                _ if spelling.len() <= prefix.len() => DecodedByte::Incomplete,
                _ => DecodedByte::Character('\n'),
            },
        }
    }
}

fn decode_json(spelling: &[u8]) -> DecodedByte {
    match spelling {
        [_] => DecodedByte::Incomplete,
        [_, b'u', digits @ ..] => match digits {
            [_, _, _, _] => match code_of(digits, 16) {
                Some(0xd800..0xdc00) => DecodedByte::Incomplete,
                code => character(code),
            },
            [high @ .., _, _, low0, low1, low2, low3] if digits.len() == 10 => {
                let low = code_of(&[*low0, *low1, *low2, *low3], 16);
                let high = code_of(&high[..4], 16);
                character(high.zip(low).map(|(high, low)| {
                    0x1_0000 + (high.wrapping_sub(0xd800) << 10) + low.wrapping_sub(0xdc00)
                }))
            }
            _ => DecodedByte::Incomplete,
        },
        [_, letter, ..] => short(&JSON_SHORT, *letter),
        [] => DecodedByte::Itself,
    }
}

fn decode_python(spelling: &[u8]) -> DecodedByte {
    let (digits, needed, radix) = match spelling {
        [] => return DecodedByte::Itself,
        [_] => return DecodedByte::Incomplete,
        [_, b'x', digits @ ..] => (digits, 2, 16),
        [_, b'u', digits @ ..] => (digits, 4, 16),
        [_, b'U', digits @ ..] => (digits, 8, 16),
        [_, digits @ ..] if digits[0].is_ascii_digit() => (digits, 3, 8),
        [_, letter, ..] => return short(&PYTHON_SHORT, *letter),
    };
    if digits.len() < needed { DecodedByte::Incomplete } else { character(code_of(digits, radix)) }
}

fn decode_xml(spelling: &[u8]) -> DecodedByte {
    match spelling {
        [_, b'#', b'x', digits @ .., b';'] => character(code_of(digits, 16)),
        [_, b'#', digits @ .., b';'] => character(code_of(digits, 10)),
        [_, name @ .., b';'] => {
            let entity =
                XML_ENTITIES.iter().find(|(entity, _)| entity.as_bytes().strip_suffix(b";") == Some(name));
            entity.map_or(DecodedByte::Itself, |&(_, character)| DecodedByte::Character(character))
        }
        _ => DecodedByte::Incomplete,
    }
}

fn short(table: &[(u8, char)], letter: u8) -> DecodedByte {
    let found = table.iter().find(|&&(other, _)| other == letter);
    found.map_or(DecodedByte::Itself, |&(_, character)| DecodedByte::Character(character))
}

fn code_of(digits: &[u8], radix: u32) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}

fn character(code: Option<u32>) -> DecodedByte {
    code.and_then(char::from_u32).map_or(DecodedByte::Itself, DecodedByte::Character)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::encoding::{JsonEscapes, Quote, Spellings};

    fn decoded(encoding: &CharacterEncoding, text: &str) -> String {
        let (mut bytes, mut incomplete) = (Vec::new(), Vec::new());
        for byte in text.bytes() {
            match encoding.decode_byte(&incomplete, byte) {
                DecodedByte::Incomplete => incomplete.push(byte),
                DecodedByte::Itself => bytes.push(byte),
                DecodedByte::Character(character) => {
                    incomplete.clear();
                    bytes.extend(character.to_string().into_bytes());
                }
                DecodedByte::CharacterBefore(character) => {
                    incomplete = vec![byte];
                    bytes.extend(character.to_string().into_bytes());
                }
            }
        }
        assert!(incomplete.is_empty(), "{text}");
        String::from_utf8(bytes).expect("UTF-8")
    }

    #[test]
    fn spellings_are_decoded() {
        let json = CharacterEncoding::JsonString(JsonEscapes::Any);
        let spelled = r#"a\"b\\\/\n\u0041\u00e9é\ud83d\ude00\uD83D\uDE00."#;
        assert_eq!(decoded(&json, spelled), "a\"b\\/\nAéé😀😀.");
        let python = CharacterEncoding::PythonString(Quote::Single, Spellings::Any);
        assert_eq!(decoded(&python, r#"\'\x41\u00e9\U0001f600\101\\n\n"#), "'Aé😀A\\n\n");
        let xml = CharacterEncoding::XmlText(Spellings::Any);
        assert_eq!(decoded(&xml, "&lt;a&#x41;&#065;&amp;amp;é"), "<aAA&amp;é");
        let lines = CharacterEncoding::LinePrefix(Arc::from("> "));
        assert_eq!(decoded(&lines, "a\n> b\n> > c"), "a\nb\n> c");
        let lines = CharacterEncoding::LinePrefix(Arc::from(""));
        assert_eq!(decoded(&lines, "a\n\nb"), "a\n\nb");
        let lines = CharacterEncoding::indented_block("  ").expect("a prefix");
        assert_eq!(decoded(&lines, "a\n\n \n  \n   b\n  "), "a\n\n\n\n b\n");
        let lines = CharacterEncoding::indented_block(" > ").expect("a prefix");
        assert_eq!(decoded(&lines, "a\n >\n > \n >  b\n > "), "a\n\n\n b\n");
    }
}
