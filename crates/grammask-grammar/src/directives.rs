//! Directives: what a text in KBNF or GBNF says about its lexer.
//!
//! ```text
//! %terminal NAME NUMBER    these symbols are lexemes, whatever they are made of
//! %ignore SPACE            so are these, and they mean nothing wherever they stand
//! %refuse WRONG_NUMBER     so are these, and a text that has one is wrong
//! %priority NAME 2         wins over what matches as much and has a lower number; 0 if nothing is said
//! ```
//!
//! A directive ends as a definition does: with `;` in KBNF, with its line in GBNF. In KBNF a comma may stand between names.
//! No tool that does not know directives takes a text that has them: neither notation has a use for `%`. The meaning is
//! that of `definition_of_rules` in the crate of lexed grammars.

use grammask_diagnostics::{Code, Diagnostic, Span, closest};

/// One thing that a text says about the lexer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// What is said.
    pub kind: DirectiveKind,
    /// About which symbol.
    pub name: Box<str>,
    /// Where that symbol is named.
    pub span: Span,
}

/// What a directive says of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectiveKind {
    /// It is a terminal.
    Terminal,
    /// It is a terminal that means nothing.
    Ignore,
    /// It is a terminal that no text has.
    Refuse,
    /// It is a terminal of this priority.
    Priority(i32),
}

/// Whether a front end takes directives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectiveMode {
    /// They are errors.
    Refused,
    /// They are read.
    Read,
}

/// What to do about a directive where none is taken.
pub const ADVICE: &str = "a grammar with directives is read with a lexer, `lexer=\"contextual\"`; without one, white space between symbols must be written as terminals";

const KEYWORDS: [&str; 4] = ["%terminal", "%ignore", "%refuse", "%priority"];

/// The directives that a keyword with `%` and the words after it make.
///
/// # Errors
/// The keyword is none, or the words are not what it needs.
pub fn read(keyword: (&str, Span), words: &[(&str, Span)]) -> Result<Vec<Directive>, Box<Diagnostic>> {
    let (text, place) = keyword;
    let end = words.last().map_or(place, |&(_, span)| span);
    let error = |message: String, span: Span, help: &str| {
        Err(Box::new(Diagnostic::error(Code::UnexpectedInput, message).at(span).help(help)))
    };
    let kind = match text {
        "%terminal" => DirectiveKind::Terminal,
        "%ignore" => DirectiveKind::Ignore,
        "%refuse" => DirectiveKind::Refuse,
        "%priority" => {
            let help = "write `%priority NAME 2`";
            let [(name, span), (number, number_span)] = *words else {
                return error("`%priority` takes a symbol and a number".into(), place.to(end), help);
            };
            let Ok(priority) = number.parse() else {
                return error(format!("`{number}` is not a priority"), number_span, help);
            };
            let kind = DirectiveKind::Priority(priority);
            return Ok(vec![Directive { kind, name: name.into(), span }]);
        }
        _ => {
            let shown: String = text.chars().take(40).collect();
            let help = match closest(text, KEYWORDS) {
                Some(close) => format!("did you mean `{close}`?"),
                None => format!("the directives are {}", KEYWORDS.map(|name| format!("`{name}`")).join(", ")),
            };
            return error(format!("there is no directive `{shown}`"), place, &help);
        }
    };
    if words.is_empty() {
        return error(
            format!("`{text}` names no symbol"),
            place,
            &format!("write `{text} NAME`, and define `NAME` as any symbol"),
        );
    }
    Ok(words.iter().map(|&(name, span)| Directive { kind, name: name.into(), span }).collect())
}
