//! Escape sequences inside JSON strings, decoded byte by byte.

use super::chains::{ChainId, Chains};

/// The position inside an escape sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Escape {
    phase: EscapePhase,
    /// The hexadecimal digits so far.
    unit: u16,
    /// A high surrogate that waits for its partner; 0 if there is none.
    high: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum EscapePhase {
    Outside,
    Backslash,
    /// Before this number of hexadecimal digits.
    Digits(u8),
}

impl Escape {
    /// Outside of escape sequences.
    pub(super) const NONE: Self = Self { phase: EscapePhase::Outside, unit: 0, high: 0 };

    /// Reads a byte: the decoded text, the position after it, and whether the byte closes the string.
    pub(super) fn step(self, byte: u8, text: ChainId, chains: &mut Chains) -> (ChainId, Self, bool) {
        let Self { phase, unit, high } = self;
        let stay = |text| (text, Self::NONE, false);
        match phase {
            EscapePhase::Outside if byte == b'\\' => {
                (text, Self { phase: EscapePhase::Backslash, ..self }, false)
            }
            EscapePhase::Outside => {
                let text = push_surrogate(text, high, chains);
                if byte == b'"' {
                    return (text, Self::NONE, true);
                }
                stay(chains.push(text, u32::from(byte)))
            }
            EscapePhase::Backslash if byte == b'u' => {
                (text, Self { phase: EscapePhase::Digits(4), unit: 0, high }, false)
            }
            EscapePhase::Backslash => {
                let text = push_surrogate(text, high, chains);
                let decoded = match byte {
                    b'b' => 0x08,
                    b'f' => 0x0c,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    other => other,
                };
                stay(chains.push(text, u32::from(decoded)))
            }
            EscapePhase::Digits(left) => {
                let digit = char::from(byte).to_digit(16).unwrap_or(0) as u16;
                let unit = unit << 4 | digit;
                if left > 1 {
                    return (text, Self { phase: EscapePhase::Digits(left - 1), unit, high }, false);
                }
                if high != 0 && (0xdc00..0xe000).contains(&unit) {
                    let code = 0x1_0000 + ((u32::from(high) - 0xd800) << 10) + (u32::from(unit) - 0xdc00);
                    return stay(push_code(text, code, chains));
                }
                let text = push_surrogate(text, high, chains);
                if (0xd800..0xdc00).contains(&unit) {
                    return (text, Self { phase: EscapePhase::Outside, unit: 0, high: unit }, false);
                }
                stay(push_code(text, u32::from(unit), chains))
            }
        }
    }
}

fn push_surrogate(text: ChainId, high: u16, chains: &mut Chains) -> ChainId {
    if high == 0 { text } else { push_code(text, u32::from(high), chains) }
}

/// Appends a code point in UTF-8, generalised to surrogates.
fn push_code(text: ChainId, code: u32, chains: &mut Chains) -> ChainId {
    let last = |shift: u32| 0x80 | (code >> shift & 0x3f);
    let bytes: &[u32] = match code {
        0..0x80 => &[code],
        0x80..0x800 => &[0xc0 | code >> 6, last(0)],
        0x800..0x1_0000 => &[0xe0 | code >> 12, last(6), last(0)],
        _ => &[0xf0 | code >> 18, last(12), last(6), last(0)],
    };
    bytes.iter().fold(text, |text, &byte| chains.push(text, byte))
}
