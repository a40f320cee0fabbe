//! Escape sequences inside JSON strings, decoded byte by byte.

use grammask_automata::ByteSet;

use super::chains::{ChainId, Chains};

/// The letters of short escapes and the bytes that they stand for; other bytes stand for themselves.
const SHORT_ESCAPES: [(u8, u8); 5] =
    [(b'b', 0x08), (b'f', 0x0c), (b'n', b'\n'), (b'r', b'\r'), (b't', b'\t')];

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
                let short = SHORT_ESCAPES.iter().find(|&&(letter, _)| letter == byte);
                let decoded = short.map_or(byte, |&(_, decoded)| decoded);
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

    /// Whether a text that goes on with `next` after what has been decoded, at least one character long, can be written
    /// from this position on. Bytes that are no character can.
    pub(super) fn can_precede(self, next: &[u8]) -> bool {
        if self == Self::NONE {
            return true;
        }
        let Some(code) = first_code(next) else { return !next.is_empty() };
        let [first, second] = utf16(code);
        let is_possible = |unit: u32| match self.phase {
            EscapePhase::Outside | EscapePhase::Backslash => true,
            EscapePhase::Digits(left) => unit >> (4 * u32::from(left)) == u32::from(self.unit),
        };
        match u32::from(self.high) {
            0 => is_possible(first),
            // A surrogate that remains alone may be followed by anything.
            high => high == first && (second == 0 || is_possible(second)),
        }
    }

    /// Bytes inside an escape sequence after which a text that goes on with `next`, at least one character long, may still
    /// be written from this position on; all others exclude it.
    pub(super) fn next_bytes(self, next: &[u8]) -> ByteSet {
        let Some(&first) = next.first() else { return ByteSet::EMPTY };
        match (self.phase, self.high) {
            (EscapePhase::Backslash, 0) => {
                let is_letter =
                    |byte: u8| byte == b'u' || SHORT_ESCAPES.iter().any(|&(letter, _)| letter == byte);
                let itself = if is_letter(first) { ByteSet::EMPTY } else { ByteSet::single(first) };
                let short = SHORT_ESCAPES.iter().filter(|&&(_, decoded)| decoded == first);
                itself.union(short.map(|&(letter, _)| letter).chain([b'u']).collect())
            }
            (EscapePhase::Digits(left), 0) => {
                let Some(code) = first_code(next) else { return ByteSet::ALL };
                let digit = utf16(code)[0] >> (4 * (u32::from(left) - 1)) & 0xf;
                let own: ByteSet = char::from_digit(digit, 16)
                    .into_iter()
                    .flat_map(|digit| [digit as u8, digit.to_ascii_uppercase() as u8])
                    .collect();
                // Bytes that are no digits count as zeros.
                if digit == 0 { own.union(hexadecimal_digits().complement()) } else { own }
            }
            // A surrogate that remains alone may be followed by anything.
            _ => ByteSet::ALL,
        }
    }
}

fn hexadecimal_digits() -> ByteSet {
    ByteSet::range(b'0', b'9').union(ByteSet::range(b'a', b'f')).union(ByteSet::range(b'A', b'F'))
}

/// The UTF-16 units of a character; the second one is 0 if there is none.
fn utf16(code: u32) -> [u32; 2] {
    match code.checked_sub(0x1_0000) {
        None => [code, 0],
        Some(offset) => [0xd800 + (offset >> 10), 0xdc00 + (offset & 0x3ff)],
    }
}

/// The first character of a text in UTF-8, generalised to surrogates; `None` if it is cut or invalid.
fn first_code(text: &[u8]) -> Option<u32> {
    let &first = text.first()?;
    let (length, bits) = match first {
        0..0x80 => (1, first),
        0xc0..0xe0 => (2, first & 0x1f),
        0xe0..0xf0 => (3, first & 0x0f),
        0xf0..0xf8 => (4, first & 0x07),
        _ => return None,
    };
    let rest = text.get(1..length)?;
    rest.iter().try_fold(u32::from(bits), |code, &byte| {
        (byte & 0xc0 == 0x80).then(|| code << 6 | u32::from(byte & 0x3f))
    })
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
