//! Escape sequences in quotes: decodes them, and maps places in decoded text back to the source.
//!
//! The escapes are those of JavaScript (ECMA-262, "String Literals" and annex B for octal ones), and `\b{hh}` for
//! one raw byte. A letter that JavaScript would take for itself (`\d` for `d`) is an error here, because what is
//! meant is nearly always a regex class. In regexes, where the escape layer comes first, an escaped punctuation
//! character (`\.`) is an error for the same reason: the backslash would be lost before the regex is read.

use std::str::Chars;

use grammask_diagnostics::{Code, Diagnostic, Span};

/// Which escapes mean something between two quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// A terminal: all escapes, byte escapes included.
    Terminal,
    /// Text that must be UTF-8: all escapes but byte escapes.
    Text,
    /// A regex: the escape layer comes first, and what would silently change the regex is refused.
    Regex,
    /// Raw: all characters stand for themselves; a quote after a backslash does not end the text.
    Raw,
}

/// What one escape or one plain character stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Character(char),
    Byte(u8),
    /// A line continuation.
    Nothing,
}

/// Walks the text between two quotes, one escape or plain character a step.
struct Pieces<'s> {
    source: &'s str,
    position: usize,
    end: usize,
    style: Style,
}

/// Why an escape is wrong.
struct Fault {
    message: String,
    help: String,
}

impl Fault {
    fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: help.into() }
    }
}

impl Iterator for Pieces<'_> {
    type Item = (Span, Result<Value, Fault>);

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.position;
        let first = self.bump()?;
        let value = if first == '\\' && self.style != Style::Raw {
            self.escape()
        } else {
            Ok(Value::Character(first))
        };
        Some((Span::new(start, self.position), value))
    }
}

impl<'s> Pieces<'s> {
    fn new(source: &'s str, content: Span, style: Style) -> Self {
        Self { source, position: content.start, end: content.end, style }
    }

    fn rest(&self) -> &'s str {
        &self.source[self.position..self.end]
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.position += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.position += text.len();
        }
        found
    }

    /// What follows a backslash.
    fn escape(&mut self) -> Result<Value, Fault> {
        let Some(c) = self.bump() else {
            return Err(Fault::new("a backslash stands before the end of the text", "write `\\\\`"));
        };
        let character = match c {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'f' => '\u{c}',
            'v' => '\u{b}',
            'b' => return self.backspace_or_byte(),
            'x' => return self.hexadecimal().map(Value::Character),
            'u' => return self.unicode().map(Value::Character),
            'c' => return self.control().map(Value::Character),
            '0'..='7' => self.octal(c),
            '\r' => {
                self.eat("\n");
                return Ok(Value::Nothing);
            }
            '\n' | '\u{2028}' | '\u{2029}' => return Ok(Value::Nothing),
            '\\' | '"' | '\'' | '/' => c,
            c if c.is_ascii_alphanumeric() => return Err(self.unknown(c)),
            c if self.style == Style::Regex => {
                return Err(Fault::new(
                    format!(
                        "the regex would lose the backslash of `\\{c}`: escapes of the string come first"
                    ),
                    format!("double the backslash (`\\\\{c}`), or write the raw form `#r\"...\"`"),
                ));
            }
            c => c,
        };
        Ok(Value::Character(character))
    }

    fn unknown(&self, c: char) -> Fault {
        let help = match self.style {
            Style::Regex => format!("double the backslash (`\\\\{c}`), or write the raw form `#r\"\\{c}\"`"),
            _ if "dDsSwWpP".contains(c) => {
                format!(
                    "for a regex class write `#r\"\\{c}\"`; for the two characters double the backslash (`\\\\{c}`)"
                )
            }
            _ => format!("double the backslash (`\\\\{c}`) if it is meant as a character, or leave it out"),
        };
        Fault::new(format!("`\\{c}` is not an escape"), help)
    }

    /// `\b` is U+0008; `\b{hh}` in a terminal is one byte.
    fn backspace_or_byte(&mut self) -> Result<Value, Fault> {
        if self.style == Style::Regex || !self.rest().starts_with('{') {
            return Ok(Value::Character('\u{8}'));
        }
        let rest = self.rest().as_bytes();
        let well_formed = rest.get(3) == Some(&b'}') && rest[1..3].iter().all(u8::is_ascii_hexdigit);
        if !well_formed {
            return Err(Fault::new(
                "`\\b{` begins a byte escape, which has two hexadecimal digits",
                "write for example `\\b{ff}`; for a backspace before a brace write `\\u{8}{`",
            ));
        }
        let byte = hexadecimal_value(&rest[1..3]) as u8;
        self.position += 4;
        if self.style == Style::Terminal {
            return Ok(Value::Byte(byte));
        }
        Err(Fault::new(
            "a byte escape stands in a text that must be UTF-8",
            "byte escapes are for strings that match text; write characters here",
        ))
    }

    fn hexadecimal(&mut self) -> Result<char, Fault> {
        let digits = self.digits(2);
        if digits.len() < 2 {
            return Err(Fault::new(
                "`\\x` needs two hexadecimal digits",
                "write `\\x41`, or `\\u{41}` for any number of digits",
            ));
        }
        Ok(char::from(hexadecimal_value(digits) as u8))
    }

    /// `\uHHHH` (a pair of surrogates makes one character) or `\u{H...}`.
    fn unicode(&mut self) -> Result<char, Fault> {
        let unit = self.unicode_unit()?;
        if let Some(c) = char::from_u32(unit) {
            return Ok(c);
        }
        if unit > 0xffff {
            return Err(Fault::new(
                format!("there is no character U+{unit:X}"),
                "the last character is `\\u{10FFFF}`",
            ));
        }
        let before = self.position;
        if unit < 0xdc00
            && self.eat("\\u")
            && let Ok(low @ 0xdc00..=0xdfff) = self.unicode_unit()
            && let Some(c) = char::from_u32(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00))
        {
            return Ok(c);
        }
        self.position = before;
        Err(Fault::new(
            format!("U+{unit:04X} is half of a surrogate pair, not a character"),
            "write both halves (`\\uD83D\\uDE00`), or the character itself (`\\u{1F600}`)",
        ))
    }

    /// The number of one `\u` escape; whatever does not fit is beyond all characters.
    fn unicode_unit(&mut self) -> Result<u32, Fault> {
        if !self.eat("{") {
            let digits = self.digits(4);
            if digits.len() < 4 {
                return Err(Fault::new(
                    "`\\u` needs four hexadecimal digits, or braces",
                    "write `\\u0041` or `\\u{41}`",
                ));
            }
            return Ok(hexadecimal_value(digits));
        }
        let digits = self.digits(usize::MAX);
        if digits.is_empty() || !self.eat("}") {
            return Err(Fault::new(
                "`\\u{` needs hexadecimal digits and a closing brace",
                "write for example `\\u{1F600}`",
            ));
        }
        Ok(hexadecimal_value(digits))
    }

    fn control(&mut self) -> Result<char, Fault> {
        match self.rest().bytes().next() {
            Some(letter) if letter.is_ascii_alphabetic() => {
                self.position += 1;
                Ok(char::from(letter & 31))
            }
            _ => Err(Fault::new("`\\c` needs a letter", "write for example `\\cJ` for the line feed")),
        }
    }

    /// At most three octal digits with a value of at most 255, as in annex B.1.2 of ECMA-262.
    fn octal(&mut self, first: char) -> char {
        let longest = if first <= '3' { 2 } else { 1 };
        let mut value = first as u32 - '0' as u32;
        for _ in 0..longest {
            let Some(digit @ b'0'..=b'7') = self.rest().bytes().next() else { break };
            value = value * 8 + u32::from(digit - b'0');
            self.position += 1;
        }
        char::from(value as u8)
    }

    /// Eats up to `most` hexadecimal digits.
    fn digits(&mut self, most: usize) -> &'s [u8] {
        let rest = self.rest().as_bytes();
        let count = rest.iter().take(most).take_while(|byte| byte.is_ascii_hexdigit()).count();
        self.position += count;
        &rest[..count]
    }
}

/// The number that hexadecimal digits write, saturating.
fn hexadecimal_value(digits: &[u8]) -> u32 {
    digits.iter().fold(0u32, |value, &digit| {
        let digit = char::from(digit).to_digit(16).unwrap_or(0);
        value.checked_mul(16).map_or(u32::MAX, |value| value.saturating_add(digit))
    })
}

/// The bytes that the terminal between two quotes stands for; faults go to `report`.
pub(super) fn decode_bytes(source: &str, content: Span, report: &mut dyn FnMut(Diagnostic)) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(content.end - content.start);
    for (span, value) in Pieces::new(source, content, Style::Terminal) {
        match value {
            Ok(Value::Character(c)) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Ok(Value::Byte(byte)) => bytes.push(byte),
            Ok(Value::Nothing) => {}
            Err(fault) => report(diagnostic(source, span, fault)),
        }
    }
    bytes
}

/// The text that stands between two quotes; faults go to `report`.
pub(super) fn decode_text(
    source: &str,
    content: Span,
    style: Style,
    report: &mut dyn FnMut(Diagnostic),
) -> String {
    debug_assert_ne!(style, Style::Terminal, "a terminal may hold bytes that are no text");
    let mut text = String::with_capacity(content.end - content.start);
    for (span, value) in Pieces::new(source, content, style) {
        match value {
            Ok(Value::Character(c)) => {
                text.push(c);
                if style == Style::Regex && c == '\u{8}' && source[span.start..span.end].starts_with("\\b") {
                    report(backspace_in_regex(span));
                }
            }
            Ok(Value::Byte(_) | Value::Nothing) => {}
            Err(fault) => report(diagnostic(source, span, fault)),
        }
    }
    text
}

/// The place in the source of the bytes `part` of the decoded text.
///
/// Decodes again, so that nothing needs to be kept for patterns that have no error.
pub(super) fn locate(source: &str, content: Span, style: Style, part: Span) -> Span {
    let mut decoded = 0;
    let mut start = None;
    let mut end = content.end;
    for (span, value) in Pieces::new(source, content, style) {
        decoded += match value {
            Ok(Value::Character(c)) => c.len_utf8(),
            Ok(Value::Byte(_)) => 1,
            Ok(Value::Nothing) | Err(_) => 0,
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

/// Where the quoted text that begins at `start` (after the quote) ends: the offset of the closing `quote`.
///
/// A backslash protects the next character in all styles, raw ones included.
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

fn diagnostic(source: &str, span: Span, fault: Fault) -> Diagnostic {
    let found: String = source[span.start..span.end].chars().take(20).collect();
    Diagnostic::error(Code::InvalidEscape, fault.message)
        .at(span)
        .found(format!("`{}`", found.escape_debug().to_string().replace("\\\\", "\\")))
        .help(fault.help)
}

fn backspace_in_regex(span: Span) -> Diagnostic {
    Diagnostic::warning(Code::SuspiciousEscape, "`\\b` in a regex string is a backspace, not a word boundary")
        .at(span)
        .help("for a word boundary write `\\\\b` or the raw form `#r\"...\"`; for a backspace write `\\x08`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &str, style: Style) -> (String, usize) {
        let mut faults = 0;
        let text = decode_text(source, Span::new(0, source.len()), style, &mut |_| faults += 1);
        (text, faults)
    }

    #[test]
    fn a_broken_escape_does_not_hide_the_next() {
        assert_eq!(text(r"\d\uD83Dx\q\n", Style::Text), ("x\n".into(), 3));
        assert_eq!(text(r"\uD83D\u0041", Style::Text), ("A".into(), 1));
        assert_eq!(text(r"\uD83D\u00", Style::Text), (String::new(), 2));
    }

    #[test]
    fn raw_text_is_itself() {
        assert_eq!(text(r#"\d\"\\"#, Style::Raw), (r#"\d\"\\"#.into(), 0));
    }

    #[test]
    fn locates_decoded_bytes() {
        let source = r"a\\d\u{e9}\n(";
        let content = Span::new(0, source.len());
        assert_eq!(text(source, Style::Regex), ("a\\dé\n(".into(), 0));
        let place = |start, end| {
            let span = locate(source, content, Style::Regex, Span::new(start, end));
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
            locate(source, content, Style::Regex, Span::new(7, 7)),
            Span::new(source.len(), source.len())
        );
        assert_eq!(locate(source, content, Style::Regex, Span::new(3, 3)).start, 4);
    }

    #[test]
    fn finds_closing_quotes() {
        assert_eq!(closing_quote(r#"a\"b\\"c"#, 0, '"'), Some(6));
        assert_eq!(closing_quote(r#"a\"#, 0, '"'), None);
        assert_eq!(closing_quote("é'", 0, '\''), Some(2));
        assert_eq!(closing_quote("", 0, '\''), None);
    }
}
