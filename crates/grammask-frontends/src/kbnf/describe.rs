//! Words for tokens in error texts, and advice on the unexpected ones.

use super::scan::Kind;
use grammask_grammar::directives;

/// A token in words.
pub(super) fn describe(kind: Kind, text: &str) -> String {
    let shown = shorten(text);
    match kind {
        Kind::End => "the end of the text".into(),
        Kind::Identifier => format!("the name `{shown}`"),
        Kind::Number => format!("the number `{shown}`"),
        Kind::Quoted { .. } => format!("the string {shown}"),
        Kind::Pattern { .. } => format!("the pattern {shown}"),
        Kind::Unknown => match text.chars().next() {
            Some(c) if c.is_control() || c.is_whitespace() || !c.is_ascii() => {
                format!("`{shown}` (U+{:04X})", c as u32)
            }
            _ => format!("`{shown}`"),
        },
        _ => format!("`{shown}`"),
    }
}

/// What the author of an unexpected token may have had in mind.
pub(super) fn advice(kind: Kind, text: &str) -> Option<&'static str> {
    Some(match kind {
        Kind::Define | Kind::DefineSlip => {
            "a definition is written `name ::= ...;`; is a `;` missing before it?"
        }
        Kind::Number => "write text in quotes",
        Kind::Directive => "a directive stands between definitions; is a `;` missing before it?",
        Kind::Pattern { .. } => "for a text in which a regex matches nowhere write `#ex\"...\"`",
        Kind::Unknown => match text.chars().next()? {
            '%' => directives::HELP_READ_WITH_LEXER,
            '^' => "for a character class write a regex, for example `#r\"[^a-z]\"`",
            '.' => "for a range of characters, or any character, write a regex: `#r\"[a-z]\"`, `#r\".\"`",
            '-' | '!' | '~' | '&' => {
                "KBNF has no exception or predicate operators; `#ex\"...\"` matches text without a match of a regex"
            }
            '$' => "the end of the text is not written; a grammar always matches the whole text",
            '\\' => "an escape stands in quotes",
            '>' => "a token is written `<|name|>`, `<\"name\">` or `<[id]>`",
            '/' => "a regex is written `#r\"...\"`, a comment `(* ... *)`, an alternative `|`",
            '\u{a0}'
            | '\u{b}'
            | '\u{c}'
            | '\u{85}'
            | '\u{feff}'
            | '\u{2000}'..='\u{200d}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{3000}' => "white space is the space, the tab and the line break; replace this character",
            _ => "write text in quotes",
        },
        _ => return None,
    })
}

/// At most 40 characters of one line.
pub(super) fn shorten(text: &str) -> String {
    let mut shown: String = text.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
