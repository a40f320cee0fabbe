//! Directives: statements about the lexer in KBNF and GBNF.
//!
//! ```text
//! %terminal NAME NUMBER    the symbols are terminals of the lexer
//! %declare JSON            terminals that another grammar defines, which is passed with the text
//! %ignore SPACE            terminals whose lexemes may occur anywhere and are skipped
//! %lexical comment         rules that the lexer reads as it reads terminals; with `%ignore comment`, ignored ones
//! %refuse WRONG_NUMBER     terminals whose lexemes make a text invalid
//! %priority NAME 2         among matches of equal length, the terminal with the highest priority wins; 0 by default
//! ```
//!
//! A directive ends like a definition: with `;` in KBNF, with the line in GBNF. In KBNF, commas may separate the names.
//! Neither notation uses `%` otherwise, so other tools reject a grammar with directives instead of misreading it. The
//! crate of lexed grammars implements their semantics.

use grammask_diagnostics::{Code, Diagnostic, Span, closest};

/// A directive for one symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// The statement.
    pub kind: DirectiveKind,
    /// The symbol.
    pub name: Box<str>,
    /// Location of the symbol in the directive.
    pub span: Span,
}

/// The statement of a directive about a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectiveKind {
    /// A terminal.
    Terminal,
    /// A terminal without a definition in the text.
    Declare,
    /// A terminal, or a lexical rule, whose lexemes are skipped.
    Ignore,
    /// A rule that the lexer reads as it reads terminals.
    Lexical,
    /// A terminal that must not occur.
    Refuse,
    /// A terminal with this priority.
    Priority(i32),
}

/// Whether a front end accepts directives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectiveMode {
    /// Directives are errors.
    Refused,
    /// Directives are parsed.
    Read,
}

/// The help of the error about a directive in a grammar without a lexer.
pub const HELP_READ_WITH_LEXER: &str = "a grammar with directives is read with a lexer, `lexer=\"contextual\"`; without one, white space between symbols must be written as terminals";

const KEYWORDS: [&str; 6] = ["%terminal", "%declare", "%ignore", "%lexical", "%refuse", "%priority"];

/// Whether a directive declares `name` as a terminal that another grammar defines.
#[must_use]
pub fn declares(directives: &[Directive], name: &str) -> bool {
    let mut declared = directives.iter().filter(|directive| directive.kind == DirectiveKind::Declare);
    declared.any(|directive| &*directive.name == name)
}

/// Parses a directive: a keyword with `%`, and the words after it with their spans. Returns one directive per symbol.
///
/// # Errors
/// If the keyword is unknown, or the words are not valid arguments.
pub fn parse(
    keyword: &str,
    keyword_span: Span,
    words: &[(&str, Span)],
) -> Result<Vec<Directive>, Box<Diagnostic>> {
    let end = words.last().map_or(keyword_span, |&(_, span)| span);
    let error = |message: String, span: Span, help: &str| {
        Err(Box::new(Diagnostic::error(Code::UnexpectedInput, message).at(span).help(help)))
    };
    let kind = match keyword {
        "%terminal" => DirectiveKind::Terminal,
        "%declare" => DirectiveKind::Declare,
        "%ignore" => DirectiveKind::Ignore,
        "%lexical" => DirectiveKind::Lexical,
        "%refuse" => DirectiveKind::Refuse,
        "%priority" => {
            let help = "write `%priority NAME 2`";
            let [(name, span), (number, number_span)] = *words else {
                return error("`%priority` takes a symbol and a number".into(), keyword_span.to(end), help);
            };
            let Ok(priority) = number.parse() else {
                return error(format!("`{number}` is not a priority"), number_span, help);
            };
            let kind = DirectiveKind::Priority(priority);
            return Ok(vec![Directive { kind, name: name.into(), span }]);
        }
        _ => {
            let shown: String = keyword.chars().take(40).collect();
            let help = match closest(keyword, KEYWORDS) {
                Some(close) => format!("did you mean `{close}`?"),
                None => format!("the directives are {}", KEYWORDS.map(|name| format!("`{name}`")).join(", ")),
            };
            return error(format!("there is no directive `{shown}`"), keyword_span, &help);
        }
    };
    if words.is_empty() {
        return error(
            format!("`{keyword}` names no symbol"),
            keyword_span,
            &format!("write `{keyword} NAME`, and define `NAME` as any symbol"),
        );
    }
    Ok(words.iter().map(|&(name, span)| Directive { kind, name: name.into(), span }).collect())
}
