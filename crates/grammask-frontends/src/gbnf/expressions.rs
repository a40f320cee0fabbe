//! Rewrites XGrammar's regular expressions in the syntax of the Rust crate `regex`.
//!
//! The two syntaxes are similar but differ in meaning: in XGrammar's (ECMAScript without flags) `\d`, `\w` and `\s` are
//! limited to ASCII, `.` matches line ends, and in brackets `[`, `&&`, `--` and `~~` are literals, which the Rust crate
//! parses as nested sets. Syntax that the crate does not have is copied, and its parser reports the error. Cost:
//! linear.

use std::fmt::Write;
use std::str::Chars;

/// Whether `\s` contains the no-break space: XGrammar has two parsers of expressions, which differ in this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoBreakSpace {
    /// As in `Grammar.from_regex`.
    IsSpace,
    /// As in `Regex(...)`.
    IsNone,
}

/// The flags of `Regex(..., flags="is")`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RegexFlags {
    /// `i`: the letters of ASCII match in both cases.
    pub(super) ignores_case: bool,
    /// Whether `.` matches a line feed. It does without `flags`, and with `s`.
    pub(super) dot_is_any: bool,
}

/// The expression in the syntax of the Rust crate, for matching whole texts.
///
/// ```
/// use grammask_frontends::gbnf::{NoBreakSpace, rust_expression};
/// assert_eq!(rust_expression(r"^[a&&b]\d.$", NoBreakSpace::IsNone), r"^[a\&\&b][0-9](?s:.)$");
/// ```
#[must_use]
pub fn rust_expression(pattern: &str, no_break_space: NoBreakSpace) -> String {
    rust_expression_with_flags(pattern, no_break_space, RegexFlags { ignores_case: false, dot_is_any: true })
}

pub(super) fn rust_expression_with_flags(
    pattern: &str,
    no_break_space: NoBreakSpace,
    flags: RegexFlags,
) -> String {
    let mut rewriter = RegexRewriter { rest: pattern.chars(), no_break_space, flags };
    let mut output = String::with_capacity(pattern.len() + 8);
    while let Some(character) = rewriter.rest.next() {
        match character {
            '\\' => match rewriter.escape() {
                RegexAtom::Class(class) => {
                    output.push('[');
                    output.push_str(class);
                    output.push(']');
                }
                RegexAtom::Text(text) => rewriter.literal(&text, &mut output),
            },
            '[' => rewriter.bracket(&mut output),
            '.' if flags.dot_is_any => output.push_str("(?s:.)"),
            '.' => output.push_str("[^\\n]"),
            '(' if rewriter.peek() == Some('?') => rewriter.group(&mut output),
            'a'..='z' | 'A'..='Z' => rewriter.literal(character.encode_utf8(&mut [0; 4]), &mut output),
            _ => output.push(character),
        }
    }
    output
}

/// An escape or a member of a bracket expression, in the syntax of the Rust crate.
enum RegexAtom {
    /// Several characters, as the content of a bracket expression.
    Class(&'static str),
    /// One character.
    Text(String),
}

struct RegexRewriter<'p> {
    rest: Chars<'p>,
    no_break_space: NoBreakSpace,
    flags: RegexFlags,
}

impl RegexRewriter<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    /// Writes one character.
    fn literal(&self, text: &str, output: &mut String) {
        let mut items = text.to_owned();
        self.add_other_case(text, text, &mut items);
        if items.len() == text.len() {
            output.push_str(text);
        } else {
            let _ = write!(output, "[{items}]");
        }
    }

    /// Copies the beginning of a group after its `(`: flags, or a name.
    fn group(&mut self, output: &mut String) {
        output.push('(');
        for character in self.rest.by_ref() {
            output.push(character);
            if ":)>=!".contains(character) {
                break;
            }
        }
    }

    /// Adds the letters between two characters in the other case to the content of a bracket expression, if case is
    /// ignored.
    fn add_other_case(&self, first: &str, last: &str, items: &mut String) {
        let (true, Some(first), Some(last)) =
            (self.flags.ignores_case, character_of(first), character_of(last))
        else {
            return;
        };
        for (low, high, offset) in [('a', 'z', -32i32), ('A', 'Z', 32)] {
            let (low, high) = (first.max(low), last.min(high));
            let other = |letter: char| char::from_u32((letter as u32).wrapping_add_signed(offset));
            if let (true, Some(low), Some(high)) = (low <= high, other(low), other(high)) {
                let _ = write!(items, "{low}-{high}");
            }
        }
    }

    /// Rewrites an escape after its backslash.
    fn escape(&mut self) -> RegexAtom {
        let Some(character) = self.rest.next() else { return RegexAtom::Text("\\".to_owned()) };
        if let Some(class) = self.class(character) {
            return RegexAtom::Class(class);
        }
        if let Some(code) = self.code_point(character) {
            return RegexAtom::Text(code);
        }
        RegexAtom::Text(match character {
            'n' => "\\n".to_owned(),
            'r' => "\\r".to_owned(),
            't' => "\\t".to_owned(),
            'f' => "\\x0C".to_owned(),
            'v' => "\\x0B".to_owned(),
            'e' => "\\x1B".to_owned(),
            '0' => "\\x00".to_owned(),
            // The crate rejects escapes of characters that need none.
            _ if character.is_ascii_punctuation() && !"\\^$.|?*+()[]{}-/&~#".contains(character) => {
                character.to_string()
            }
            _ => format!("\\{character}"),
        })
    }

    fn class(&self, character: char) -> Option<&'static str> {
        let has_no_break_space = self.no_break_space == NoBreakSpace::IsSpace;
        Some(match character {
            'd' => "0-9",
            'D' => "\\x00-/:-\\u{10FFFF}",
            'w' => "0-9A-Za-z_",
            'W' => "\\x00-/:-@\\[-\\^`\\{-\\u{10FFFF}",
            's' if has_no_break_space => "\\t\\n\\x0B\\x0C\\r \\xA0",
            's' => "\\t\\n\\x0B\\x0C\\r ",
            'S' if has_no_break_space => "\\x00-\\x08\\x0E-\\x1F!-\\x9F\\u{A1}-\\u{10FFFF}",
            'S' => "\\x00-\\x08\\x0E-\\x1F!-\\u{10FFFF}",
            _ => return None,
        })
    }

    /// Rewrites `\xHH`, `\uHHHH`, `\u{H...}` or `\cX` after its letter.
    fn code_point(&mut self, letter: char) -> Option<String> {
        let rest = self.rest.as_str();
        let hexadecimal = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let length = match letter {
            'x' => rest.get(..2).filter(|digits| hexadecimal(digits)).map(|_| 2),
            'u' if rest.starts_with('{') => rest
                .find('}')
                .filter(|&end| (2..=7).contains(&end) && hexadecimal(&rest[1..end]))
                .map(|end| end + 1),
            'u' => rest.get(..4).filter(|digits| hexadecimal(digits)).map(|_| 4),
            'c' => {
                let control = self.peek().filter(char::is_ascii_alphabetic)?;
                self.rest.next();
                return Some(format!("\\x{:02X}", control as u32 % 32));
            }
            _ => None,
        }?;
        self.rest = rest[length..].chars();
        Some(format!("\\{letter}{}", &rest[..length]))
    }

    /// Rewrites a bracket expression after its `[`. An unclosed one is copied, and is an error of the crate's parser.
    fn bracket(&mut self, output: &mut String) {
        let all = self.rest.as_str();
        let is_negated = self.peek() == Some('^');
        if is_negated {
            self.rest.next();
        }
        let mut items = String::new();
        loop {
            match self.peek() {
                None => {
                    output.push('[');
                    output.push_str(all);
                    return;
                }
                Some(']') => {
                    self.rest.next();
                    break;
                }
                Some(_) => self.item(&mut items),
            }
        }
        match (is_negated, items.is_empty()) {
            (true, true) => output.push_str("(?s:.)"),
            (false, true) => output.push_str("[^\\x00-\\u{10FFFF}]"),
            // Writing to a string cannot fail.
            (_, false) => drop(write!(output, "[{}{items}]", if is_negated { "^" } else { "" })),
        }
    }

    /// Rewrites a character, a class or a range.
    fn item(&mut self, items: &mut String) {
        match self.member() {
            RegexAtom::Class(class) => items.push_str(class),
            RegexAtom::Text(first) => {
                items.push_str(&first);
                let mut ahead = self.rest.clone();
                if ahead.next() != Some('-') || matches!(ahead.next(), None | Some(']')) {
                    self.add_other_case(&first, &first, items);
                    return;
                }
                let hyphen = self.rest.clone();
                self.rest.next();
                match self.member() {
                    RegexAtom::Class(_) => {
                        self.rest = hyphen;
                        self.add_other_case(&first, &first, items);
                    }
                    RegexAtom::Text(last) => {
                        items.push('-');
                        items.push_str(&last);
                        self.add_other_case(&first, &last, items);
                    }
                }
            }
        }
    }

    fn member(&mut self) -> RegexAtom {
        match self.rest.next() {
            Some('\\') if self.peek() == Some('b') => {
                self.rest.next();
                RegexAtom::Text("\\x08".to_owned())
            }
            Some('\\') => self.escape(),
            Some(character) if "[&~-^".contains(character) => RegexAtom::Text(format!("\\{character}")),
            Some(character) => RegexAtom::Text(character.to_string()),
            None => RegexAtom::Text(String::new()),
        }
    }
}

/// The character that a rewritten text of one stands for; None for those that no letter is among.
fn character_of(text: &str) -> Option<char> {
    let mut characters = text.chars();
    match (characters.next()?, characters.next()) {
        (only, None) => Some(only),
        ('\\', Some('x' | 'u')) => {
            let digits = text[2..].trim_start_matches('{').trim_end_matches('}');
            u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)
        }
        ('\\', Some(escaped)) if escaped.is_ascii_punctuation() => Some(escaped),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_and_brackets() {
        for (pattern, expected) in [
            (r"[\w-]", r"[0-9A-Za-z_\-]"),
            (r"[^]", "(?s:.)"),
            (r"[]", r"[^\x00-\u{10FFFF}]"),
            (r"[a-", "[a-"),
            (r"[a-\d]", r"[a\-0-9]"),
            (r"\cA\e\x41\u0042\u{43}\_\/", r"\x01\x1B\x41\u0042\u{43}_\/"),
            ("\\", "\\"),
            (r"\s", r"[\t\n\x0B\x0C\r ]"),
        ] {
            assert_eq!(rust_expression(pattern, NoBreakSpace::IsNone), expected);
        }
    }

    #[test]
    fn flags() {
        let ignoring_case = RegexFlags { ignores_case: true, dot_is_any: false };
        for (pattern, expected) in [
            ("a.\u{3a3}\\x42", "[aA-A][^\\n]\u{3a3}[\\x42b-b]"),
            ("[b-d_][^X-c\\n]", "[b-dB-D_][^X-cA-Cx-z\\n]"),
            ("(?P<name>d)\\d(?:e)", "(?P<name>[dD-D])[0-9](?:[eE-E])"),
        ] {
            assert_eq!(rust_expression_with_flags(pattern, NoBreakSpace::IsNone, ignoring_case), expected);
        }
    }
}
