//! Descriptions of tokens in diagnostics, and advice on unexpected tokens.

use super::scan::KbnfTokenKind;
use grammask_grammar::directives;

/// The description of a token.
pub(super) fn describe(kind: KbnfTokenKind, text: &str) -> String {
    let shown = shorten(text);
    match kind {
        KbnfTokenKind::End => "the end of the text".into(),
        KbnfTokenKind::Identifier => format!("the name `{shown}`"),
        KbnfTokenKind::Number => format!("the number `{shown}`"),
        KbnfTokenKind::Quoted { .. } => format!("the string {shown}"),
        KbnfTokenKind::Pattern { .. } => format!("the pattern {shown}"),
        KbnfTokenKind::Unknown => match text.chars().next() {
            Some(c) if c.is_control() || c.is_whitespace() || !c.is_ascii() => {
                format!("`{shown}` (U+{:04X})", c as u32)
            }
            _ => format!("`{shown}`"),
        },
        _ => format!("`{shown}`"),
    }
}

/// Advice on a token that is unexpected: the construct that its author probably meant.
pub(super) fn advice(kind: KbnfTokenKind, text: &str) -> Option<&'static str> {
    Some(match kind {
        KbnfTokenKind::Define | KbnfTokenKind::DefineSlip => {
            "a definition is written `name ::= ...;`; is a `;` missing before it?"
        }
        KbnfTokenKind::Number => "write text in quotes",
        KbnfTokenKind::Directive => "a directive stands between definitions; is a `;` missing before it?",
        KbnfTokenKind::Pattern { .. } => "for a text in which a regex matches nowhere write `#ex\"...\"`",
        KbnfTokenKind::Unknown => match text.chars().next()? {
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
