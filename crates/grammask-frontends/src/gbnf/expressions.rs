//! XGrammar's regular expressions, rewritten in the syntax of the Rust crate `regex`.
//!
//! The two look alike and differ in what they mean: in XGrammar's (ECMAScript without flags) `\d`, `\w` and `\s` know
//! ASCII only, `.` matches line ends, and inside of brackets `[`, `&&`, `--` and `~~` are ordinary characters, which the
//! Rust crate takes for nested sets. What only one has is left for the reader to refuse. Cost: linear.

use std::fmt::Write;
use std::str::Chars;

/// Whether `\s` has the no-break space in it: XGrammar has two readers of expressions, and they differ here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoBreakSpace {
    /// As in `Grammar.from_regex`.
    IsSpace,
    /// As in `Regex(...)`.
    IsNone,
}

/// The expression in the syntax of the Rust crate, for a match of whole texts.
///
/// ```
/// use grammask_frontends::gbnf::{NoBreakSpace, rust_expression};
/// assert_eq!(rust_expression(r"^[a&&b]\d.$", NoBreakSpace::IsNone), r"^[a\&\&b][0-9](?s:.)$");
/// ```
#[must_use]
pub fn rust_expression(pattern: &str, no_break_space: NoBreakSpace) -> String {
    let mut reader = Reader { rest: pattern.chars(), no_break_space };
    let mut written = String::with_capacity(pattern.len() + 8);
    while let Some(character) = reader.rest.next() {
        match character {
            '\\' => match reader.escape() {
                Escape::Class(class) => {
                    written.push('[');
                    written.push_str(class);
                    written.push(']');
                }
                Escape::Text(text) => written.push_str(&text),
            },
            '[' => reader.bracket(&mut written),
            '.' => written.push_str("(?s:.)"),
            _ => written.push(character),
        }
    }
    written
}

/// What an escape stands for.
enum Escape {
    /// Characters, as the inside of a bracket.
    Class(&'static str),
    /// One character, written.
    Text(String),
}

struct Reader<'p> {
    rest: Chars<'p>,
    no_break_space: NoBreakSpace,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    /// What an escape means, from behind its backslash.
    fn escape(&mut self) -> Escape {
        let Some(character) = self.rest.next() else { return Escape::Text("\\".to_owned()) };
        if let Some(class) = self.class(character) {
            return Escape::Class(class);
        }
        if let Some(code) = self.code_point(character) {
            return Escape::Text(code);
        }
        Escape::Text(match character {
            'n' => "\\n".to_owned(),
            'r' => "\\r".to_owned(),
            't' => "\\t".to_owned(),
            'f' => "\\x0C".to_owned(),
            'v' => "\\x0B".to_owned(),
            '0' => "\\x00".to_owned(),
            // The crate refuses to escape what needs none.
            _ if character.is_ascii_punctuation() && !"\\^$.|?*+()[]{}-/&~#".contains(character) => {
                character.to_string()
            }
            _ => format!("\\{character}"),
        })
    }

    fn class(&self, character: char) -> Option<&'static str> {
        let with = self.no_break_space == NoBreakSpace::IsSpace;
        Some(match character {
            'd' => "0-9",
            'D' => "\\x00-/:-\\u{10FFFF}",
            'w' => "0-9A-Za-z_",
            'W' => "\\x00-/:-@\\[-\\^`\\{-\\u{10FFFF}",
            's' if with => "\\t\\n\\x0B\\x0C\\r \\xA0",
            's' => "\\t\\n\\x0B\\x0C\\r ",
            'S' if with => "\\x00-\\x08\\x0E-\\x1F!-\\x9F\\u{A1}-\\u{10FFFF}",
            'S' => "\\x00-\\x08\\x0E-\\x1F!-\\u{10FFFF}",
            _ => return None,
        })
    }

    /// `\xHH`, `\uHHHH`, `\u{H...}` or `\cX` from behind its letter.
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

    /// A bracket expression from behind its `[`. An unfinished one is copied, to be refused.
    fn bracket(&mut self, written: &mut String) {
        let all = self.rest.as_str();
        let is_negated = self.peek() == Some('^');
        if is_negated {
            self.rest.next();
        }
        let mut items = String::new();
        loop {
            match self.peek() {
                None => {
                    written.push('[');
                    written.push_str(all);
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
            (true, true) => written.push_str("(?s:.)"),
            (false, true) => written.push_str("[^\\x00-\\u{10FFFF}]"),
            // Writing to a string cannot fail.
            (_, false) => drop(write!(written, "[{}{items}]", if is_negated { "^" } else { "" })),
        }
    }

    /// A character, a class or a range.
    fn item(&mut self, items: &mut String) {
        match self.member() {
            Escape::Class(class) => items.push_str(class),
            Escape::Text(first) => {
                items.push_str(&first);
                let mut ahead = self.rest.clone();
                if ahead.next() != Some('-') || matches!(ahead.next(), None | Some(']')) {
                    return;
                }
                let before = self.rest.clone();
                self.rest.next();
                match self.member() {
                    Escape::Class(_) => self.rest = before,
                    Escape::Text(last) => {
                        items.push('-');
                        items.push_str(&last);
                    }
                }
            }
        }
    }

    fn member(&mut self) -> Escape {
        match self.rest.next() {
            Some('\\') if self.peek() == Some('b') => {
                self.rest.next();
                Escape::Text("\\x08".to_owned())
            }
            Some('\\') => self.escape(),
            Some(character) if "[&~-^".contains(character) => Escape::Text(format!("\\{character}")),
            Some(character) => Escape::Text(character.to_string()),
            None => Escape::Text(String::new()),
        }
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
            (r"\cA\x41\u0042\u{43}\_\/", r"\x01\x41\u0042\u{43}_\/"),
            ("\\", "\\"),
            (r"\s", r"[\t\n\x0B\x0C\r ]"),
        ] {
            assert_eq!(rust_expression(pattern, NoBreakSpace::IsNone), expected);
        }
    }
}
