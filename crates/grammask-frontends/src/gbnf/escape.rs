//! Decodes escapes in strings and character classes.

use super::Dialect;

/// The construct that contains an escape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EscapeContext {
    String,
    Class,
}

/// A decoded escape.
pub(super) struct DecodedEscape {
    /// The character, or `None` if there is no such escape or no such character.
    pub(super) character: Option<char>,
    /// Bytes of the escape after the backslash.
    pub(super) length: usize,
}

/// Characters that a backslash makes literal in XGrammar's classes.
const CLASS_PUNCTUATION: &str = "^$\\.*+?()[]{}|/-";

/// Decodes the escape with the text `rest` after its backslash.
pub(super) fn decode(rest: &str, context: EscapeContext, dialect: Dialect) -> DecodedEscape {
    let Some(first) = rest.chars().next() else { return DecodedEscape { character: None, length: 0 } };
    let single = |character: char| DecodedEscape { character: Some(character), length: first.len_utf8() };
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
            _ if context == EscapeContext::Class && CLASS_PUNCTUATION.contains(first) => single(first),
            _ => DecodedEscape { character: None, length: first.len_utf8() },
        },
        _ => DecodedEscape { character: None, length: first.len_utf8() },
    }
}

/// The character with the code point in exactly `digits` hexadecimal digits after the letter, or in all that follow.
fn hexadecimal(rest: &str, digits: Option<usize>) -> DecodedEscape {
    let run = rest[1..].bytes().take_while(u8::is_ascii_hexdigit).take(digits.unwrap_or(usize::MAX)).count();
    let complete = digits.map_or(run > 0, |digits| run == digits);
    // A code point with more than eight significant digits overflows; leading zeros do not count.
    let significant = rest[1..=run].trim_start_matches('0');
    let value = match significant.len() {
        0 => Some(0),
        1..=8 => u32::from_str_radix(significant, 16).ok(),
        _ => None,
    };
    let character = value.filter(|_| complete).and_then(char::from_u32);
    DecodedEscape { character, length: 1 + run }
}
