//! Escape sequences in quoted text: decodes them, and maps spans of decoded text back to the source.
//!
//! The escapes are those of JavaScript (ECMA-262, "String Literals", and annex B for octal ones), and `\b{hh}` for one
//! raw byte. A letter that JavaScript would take for itself (`\d` for `d`) is an error, because the author nearly
//! always means a regex class. In regexes, whose escapes are decoded start the regex is parsed, escaped punctuation
//! (`\.`) is an error for the same reason: the regex would not see the backslash.

use std::str::Chars;

use crate::cursor::Cursor;
use grammask_diagnostics::{Code, Diagnostic, Span};

/// The escapes that are valid between two quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QuoteStyle {
    /// A terminal: all escapes, including byte escapes.
    Terminal,
    /// Text that must be UTF-8: all escapes except byte escapes.
    Text,
    /// A regex: escapes are decoded first, and those that would silently change the regex are errors.
    Regex,
    /// Raw: every character is literal; a quote after a backslash does not end the text.
    Raw,
}

/// The value of one escape or literal character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EscapeValue {
    Character(char),
    Byte(u8),
    /// A line continuation.
    Nothing,
}

/// Iterates over the text between two quotes, one escape or literal character per item.
struct EscapeDecoder<'s> {
    /// A cursor whose source ends start the closing quote.
    cursor: Cursor<'s>,
    style: QuoteStyle,
}

/// An error in an escape.
struct EscapeError {
    message: String,
    help: String,
}

impl EscapeError {
    fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }
}

impl Iterator for EscapeDecoder<'_> {
    type Item = (Span, Result<EscapeValue, EscapeError>);

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.cursor.position;
        let first = self.cursor.bump()?;
        let value = if first == '\\' && self.style != QuoteStyle::Raw {
            self.escape()
        } else {
            Ok(EscapeValue::Character(first))
        };
        Some((Span::new(start, self.cursor.position), value))
    }
}

impl<'s> EscapeDecoder<'s> {
    fn new(source: &'s str, content: Span, style: QuoteStyle) -> Self {
        Self { cursor: Cursor { source: &source[..content.end], position: content.start }, style }
    }

    /// Decodes an escape after its backslash.
    fn escape(&mut self) -> Result<EscapeValue, EscapeError> {
        let Some(c) = self.cursor.bump() else {
            return Err(EscapeError::new("a backslash stands before the end of the text", "write `\\\\`"));
        };
        let character = match c {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'f' => '\u{c}',
            'v' => '\u{b}',
            'b' => return self.backspace_or_byte(),
            'x' => return self.hexadecimal().map(EscapeValue::Character),
            'u' => return self.unicode().map(EscapeValue::Character),
            'c' => return self.control().map(EscapeValue::Character),
            '0'..='7' => self.octal(c),
            '\r' => {
                self.cursor.eat("\n");
                return Ok(EscapeValue::Nothing);
            }
            '\n' | '\u{2028}' | '\u{2029}' => return Ok(EscapeValue::Nothing),
            '\\' | '"' | '\'' | '/' => c,
            c if c.is_ascii_alphanumeric() => return Err(self.unknown(c)),
            c if self.style == QuoteStyle::Regex => {
                return Err(EscapeError::new(
                    format!(
                        "the regex would lose the backslash of `\\{c}`: escapes of the string come first"
                    ),
                    format!("double the backslash (`\\\\{c}`), or write the raw form `#r\"...\"`"),
                ));
            }
            c => c,
        };
        Ok(EscapeValue::Character(character))
    }

    fn unknown(&self, c: char) -> EscapeError {
        let help = match self.style {
            QuoteStyle::Regex => {
                format!("double the backslash (`\\\\{c}`), or write the raw form `#r\"\\{c}\"`")
            }
            _ if "dDsSwWpP".contains(c) => {
                format!(
                    "for a regex class write `#r\"\\{c}\"`; for the two characters double the backslash (`\\\\{c}`)"
                )
            }
            _ => format!("double the backslash (`\\\\{c}`) if it is meant as a character, or leave it out"),
        };
        EscapeError::new(format!("`\\{c}` is not an escape"), help)
    }

    /// `\b` is U+0008; `\b{hh}` in a terminal is one byte.
    fn backspace_or_byte(&mut self) -> Result<EscapeValue, EscapeError> {
        if self.style == QuoteStyle::Regex || !self.cursor.rest().starts_with('{') {
            return Ok(EscapeValue::Character('\u{8}'));
        }
        let rest = self.cursor.rest().as_bytes();
        let well_formed = rest.get(3) == Some(&b'}') && rest[1..3].iter().all(u8::is_ascii_hexdigit);
        if !well_formed {
            return Err(EscapeError::new(
                "`\\b{` begins a byte escape, which has two hexadecimal digits",
                "write for example `\\b{ff}`; for a backspace before a brace write `\\u{8}{`",
            ));
        }
        let byte = hexadecimal_value(&rest[1..3]) as u8;
        self.cursor.position += 4;
        if self.style == QuoteStyle::Terminal {
            return Ok(EscapeValue::Byte(byte));
        }
        Err(EscapeError::new(
            "a byte escape stands in a text that must be UTF-8",
            "byte escapes are for strings that match text; write characters here",
        ))
    }

    fn hexadecimal(&mut self) -> Result<char, EscapeError> {
        let digits = self.digits(2);
        if digits.len() < 2 {
            return Err(EscapeError::new(
                "`\\x` needs two hexadecimal digits",
                "write `\\x41`, or `\\u{41}` for any number of digits",
            ));
        }
        Ok(char::from(hexadecimal_value(digits) as u8))
    }

    /// `\uHHHH` (two surrogates form one character) or `\u{H...}`.
    fn unicode(&mut self) -> Result<char, EscapeError> {
        let unit = self.unicode_unit()?;
        if let Some(c) = char::from_u32(unit) {
            return Ok(c);
        }
        if unit > 0xffff {
            return Err(EscapeError::new(
                format!("there is no character U+{unit:X}"),
                "the last character is `\\u{10FFFF}`",
            ));
        }
        let start = self.cursor.position;
        if unit < 0xdc00
            && self.cursor.eat("\\u")
            && let Ok(low @ 0xdc00..=0xdfff) = self.unicode_unit()
            && let Some(c) = char::from_u32(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00))
        {
            return Ok(c);
        }
        self.cursor.position = start;
        Err(EscapeError::new(
            format!("U+{unit:04X} is half of a surrogate pair, not a character"),
            "write both halves (`\\uD83D\\uDE00`), or the character itself (`\\u{1F600}`)",
        ))
    }

    /// The value of one `\u` escape, saturating.
    fn unicode_unit(&mut self) -> Result<u32, EscapeError> {
        if !self.cursor.eat("{") {
            let digits = self.digits(4);
            if digits.len() < 4 {
                return Err(EscapeError::new(
                    "`\\u` needs four hexadecimal digits, or braces",
                    "write `\\u0041` or `\\u{41}`",
                ));
            }
            return Ok(hexadecimal_value(digits));
        }
        let digits = self.digits(usize::MAX);
        if digits.is_empty() || !self.cursor.eat("}") {
            return Err(EscapeError::new(
                "`\\u{` needs hexadecimal digits and a closing brace",
                "write for example `\\u{1F600}`",
            ));
        }
        Ok(hexadecimal_value(digits))
    }

    fn control(&mut self) -> Result<char, EscapeError> {
        match self.cursor.rest().bytes().next() {
            Some(letter) if letter.is_ascii_alphabetic() => {
                self.cursor.position += 1;
                Ok(char::from(letter & 31))
            }
            _ => Err(EscapeError::new("`\\c` needs a letter", "write for example `\\cJ` for the line feed")),
        }
    }

    /// Up to three octal digits with a value of at most 255, as in annex B.1.2 of ECMA-262.
    fn octal(&mut self, first: char) -> char {
        let longest = if first <= '3' { 2 } else { 1 };
        let mut value = first as u32 - '0' as u32;
        for _ in 0..longest {
            let Some(digit @ b'0'..=b'7') = self.cursor.rest().bytes().next() else { break };
            value = value * 8 + u32::from(digit - b'0');
            self.cursor.position += 1;
        }
        char::from(value as u8)
    }

    /// Consumes up to `max` hexadecimal digits.
    fn digits(&mut self, max: usize) -> &'s [u8] {
        let rest = self.cursor.rest().as_bytes();
        let count = rest.iter().take(max).take_while(|byte| byte.is_ascii_hexdigit()).count();
        self.cursor.position += count;
        &rest[..count]
    }
}

/// The value of hexadecimal digits, saturating.
fn hexadecimal_value(digits: &[u8]) -> u32 {
    digits.iter().fold(0u32, |value, &digit| {
        let digit = char::from(digit).to_digit(16).unwrap_or(0);
        value.checked_mul(16).map_or(u32::MAX, |value| value.saturating_add(digit))
    })
}

/// Decodes the content of a terminal; errors go to `report`.
pub(super) fn decode_bytes(source: &str, content: Span, report: &mut dyn FnMut(Diagnostic)) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(content.end - content.start);
    for (span, value) in EscapeDecoder::new(source, content, QuoteStyle::Terminal) {
        match value {
            Ok(EscapeValue::Character(c)) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Ok(EscapeValue::Byte(byte)) => bytes.push(byte),
            Ok(EscapeValue::Nothing) => {}
            Err(error) => report(diagnostic(source, span, error)),
        }
    }
    bytes
}

/// Decodes the content of a text; errors go to `report`.
pub(super) fn decode_text(
    source: &str,
    content: Span,
    style: QuoteStyle,
    report: &mut dyn FnMut(Diagnostic),
) -> String {
    debug_assert_ne!(style, QuoteStyle::Terminal, "a terminal may hold bytes that are no text");
    let mut text = String::with_capacity(content.end - content.start);
    for (span, value) in EscapeDecoder::new(source, content, style) {
        match value {
            Ok(EscapeValue::Character(c)) => {
                text.push(c);
                if style == QuoteStyle::Regex
                    && c == '\u{8}'
                    && source[span.start..span.end].starts_with("\\b")
                {
                    report(backspace_in_regex(span));
                }
            }
            Ok(EscapeValue::Byte(_) | EscapeValue::Nothing) => {}
            Err(error) => report(diagnostic(source, span, error)),
        }
    }
    text
}

/// The span in the source of the bytes `part` of the decoded text.
///
/// Decodes again, so valid patterns need no source map.
pub(super) fn locate(source: &str, content: Span, style: QuoteStyle, part: Span) -> Span {
    let mut decoded = 0;
    let mut start = None;
    let mut end = content.end;
    for (span, value) in EscapeDecoder::new(source, content, style) {
        decoded += match value {
            Ok(EscapeValue::Character(c)) => c.len_utf8(),
            Ok(EscapeValue::Byte(_)) => 1,
            Ok(EscapeValue::Nothing) | Err(_) => 0,
        };
        if start.is_none() && decoded > part.start {
            start = Some(span.start);
        }
        if decoded >= part.end && start.is_some() {
            end = if part.end > part.start { span.end } else { span.start };
            break;
        }
    }
    let start = start.unwrap_or(content.end);
    Span::new(start, end.max(start))
}

/// The offset of the closing `quote` of the quoted text that begins at `start`, after its opening quote.
///
/// A backslash escapes the next character in all styles, including raw ones.
pub(super) fn closing_quote(source: &str, start: usize, quote: char) -> Option<usize> {
    let mut characters: Chars<'_> = source[start..].chars();
    loop {
        let offset = source.len() - characters.as_str().len();
        match characters.next()? {
            '\\' => {
                characters.next()?;
            }
            c if c == quote => return Some(offset),
            _ => {}
        }
    }
}

fn diagnostic(source: &str, span: Span, error: EscapeError) -> Diagnostic {
    let snippet: String = source[span.start..span.end].chars().take(20).collect();
    Diagnostic::error(Code::InvalidEscape, error.message)
        .at(span)
        .found(format!("`{}`", snippet.escape_debug().to_string().replace("\\\\", "\\")))
        .help(error.help)
}

fn backspace_in_regex(span: Span) -> Diagnostic {
    Diagnostic::warning(Code::SuspiciousEscape, "`\\b` in a regex string is a backspace, not a word boundary")
        .at(span)
        .help("for a word boundary write `\\\\b` or the raw form `#r\"...\"`; for a backspace write `\\x08`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &str, style: QuoteStyle) -> (String, usize) {
        let mut errors = 0;
        let text = decode_text(source, Span::new(0, source.len()), style, &mut |_| errors += 1);
        (text, errors)
    }

    #[test]
    fn a_broken_escape_does_not_hide_the_next() {
        assert_eq!(text(r"\d\uD83Dx\q\n", QuoteStyle::Text), ("x\n".into(), 3));
        assert_eq!(text(r"\uD83D\u0041", QuoteStyle::Text), ("A".into(), 1));
        assert_eq!(text(r"\uD83D\u00", QuoteStyle::Text), (String::new(), 2));
    }

    #[test]
    fn raw_text_is_literal() {
        assert_eq!(text(r#"\d\"\\"#, QuoteStyle::Raw), (r#"\d\"\\"#.into(), 0));
    }

    #[test]
    fn locates_decoded_bytes() {
        let source = r"a\\d\u{e9}\n(";
        let content = Span::new(0, source.len());
        assert_eq!(text(source, QuoteStyle::Regex), ("a\\dé\n(".into(), 0));
        let place = |start, end| {
            let span = locate(source, content, QuoteStyle::Regex, Span::new(start, end));
            &source[span.start..span.end]
        };
        assert_eq!(place(0, 1), "a");
        assert_eq!(place(1, 3), r"\\d");
        assert_eq!(place(3, 5), r"\u{e9}");
        assert_eq!(place(5, 6), r"\n");
        assert_eq!(place(6, 7), "(");
        assert_eq!(place(1, 7), r"\\d\u{e9}\n(");
        assert_eq!(place(2, 2), "");
        assert_eq!(
            locate(source, content, QuoteStyle::Regex, Span::new(7, 7)),
            Span::new(source.len(), source.len())
        );
        assert_eq!(locate(source, content, QuoteStyle::Regex, Span::new(3, 3)).start, 4);
    }

    #[test]
    fn finds_closing_quotes() {
        assert_eq!(closing_quote(r#"a\"b\\"c"#, 0, '"'), Some(6));
        assert_eq!(closing_quote(r#"a\"#, 0, '"'), None);
        assert_eq!(closing_quote("é'", 0, '\''), Some(2));
        assert_eq!(closing_quote("", 0, '\''), None);
    }
}
