//! Escapes in strings and character classes: which character they stand for, and how long they are.

use super::Dialect;

/// Where an escape stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    String,
    Class,
}

/// What follows a backslash, read.
pub(super) struct Escape {
    /// The character; none if there is no such escape, or no such character.
    pub(super) character: Option<char>,
    /// Bytes of the escape after the backslash.
    pub(super) length: usize,
}

/// Characters that XGrammar's classes take after a backslash as themselves.
const CLASS_PUNCTUATION: &str = "^$\\.*+?()[]{}|/-";

/// Reads the escape whose text after the backslash is `rest`.
pub(super) fn read(rest: &str, place: Place, dialect: Dialect) -> Escape {
    let Some(first) = rest.chars().next() else { return Escape { character: None, length: 0 } };
    let single = |character: char| Escape { character: Some(character), length: first.len_utf8() };
    match first {
        'x' if dialect == Dialect::XGrammar => hexadecimal(rest, None),
        'x' => hexadecimal(rest, Some(2)),
        'u' => hexadecimal(rest, Some(4)),
        'U' => hexadecimal(rest, Some(8)),
        't' => single('\t'),
        'r' => single('\r'),
        'n' => single('\n'),
        '\\' | '"' => single(first),
        '[' | ']' | '-' if dialect == Dialect::LlamaCpp => single(first),
        _ if dialect == Dialect::XGrammar => match first {
            '/' | '\'' | '?' => single(first),
            'b' => single('\u{8}'),
            'f' => single('\u{c}'),
            'a' => single('\u{7}'),
            'v' => single('\u{b}'),
            'e' => single('\u{1b}'),
            '0' => single('\0'),
            _ if place == Place::Class && CLASS_PUNCTUATION.contains(first) => single(first),
            _ => Escape { character: None, length: first.len_utf8() },
        },
        _ => Escape { character: None, length: first.len_utf8() },
    }
}

/// The character with the code point in `digits` hexadecimal digits after the letter, or in all there are.
fn hexadecimal(rest: &str, digits: Option<usize>) -> Escape {
    let run = rest[1..].bytes().take_while(u8::is_ascii_hexdigit).take(digits.unwrap_or(usize::MAX)).count();
    let complete = digits.map_or(run > 0, |digits| run == digits);
    // More digits than a code point has are too large a number, however many zeros lead.
    let significant = rest[1..=run].trim_start_matches('0');
    let value = match significant.len() {
        0 => Some(0),
        1..=8 => u32::from_str_radix(significant, 16).ok(),
        _ => None,
    };
    let character = value.filter(|_| complete).and_then(char::from_u32);
    Escape { character, length: 1 + run }
}
