//! Splits a GBNF source into tokens, one at a time, and collects the diagnostics of scanner and parser.
//!
//! Errors within a token are reported here, and the token is returned as one that stands for an expression, so one slip
//! causes one error.

use super::Dialect;
use super::escape::{EscapeContext, decode};
use crate::cursor::Cursor;
use grammask_diagnostics::{Code, Diagnostic, Severity, Span};
use grammask_grammar::directives::DirectiveMode;
use grammask_grammar::{BindingKind, TokenReference, directives};

/// Maximum number of diagnostics reported for one source.
const MAX_DIAGNOSTICS: usize = 100;

/// A set of characters: ranges in ascending order that neither overlap nor touch.
pub(super) type CharacterRanges = Vec<(char, char)>;

/// The kinds of tokens.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum GbnfTokenKind {
    Name,
    /// `::=`
    Define,
    Bar,
    Open,
    Close,
    Comma,
    /// `bind!`, `same!`, `other!` or `without_prefix!` before a bracket.
    Binding(BindingKind),
    /// `=`, in calls.
    Equals,
    Number(u32),
    /// `%name`
    Directive,
    /// A decoded string.
    Text(Box<str>),
    Class(CharacterRanges),
    /// `[...]` between a name and `::=`, not parsed yet.
    Options,
    /// `.`
    AnyCharacter,
    /// `<...>`, or `!<...>` for all other tokens.
    Token {
        reference: TokenReference,
        negated: Negated,
    },
    /// `*`, `+`, `?` and `{...}`
    Repeat {
        min: u32,
        max: Option<u32>,
    },
    /// Stands for an expression, after an error that was reported.
    Broken,
    /// A character with which no token begins; not reported yet.
    Unknown,
    /// The end of the source, or the position where scanning stopped.
    End,
}

/// Whether a token reference was negated with `!`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Negated {
    No,
    Yes,
}

/// A token, its span, and whether it is the first of its line.
#[derive(Clone, Debug)]
pub(super) struct GbnfToken {
    pub(super) kind: GbnfTokenKind,
    pub(super) span: Span,
    pub(super) first_of_line: bool,
}

/// The scanner of one source.
#[derive(Debug)]
pub(super) struct GbnfScanner<'s> {
    cursor: Cursor<'s>,
    dialect: Dialect,
    directives: DirectiveMode,
    diagnostics: Vec<Diagnostic>,
    stopped: bool,
}

impl<'s> GbnfScanner<'s> {
    pub(super) fn new(source: &'s str, dialect: Dialect, directives: DirectiveMode) -> Self {
        let cursor = Cursor::new(source);
        Self { cursor, dialect, directives, diagnostics: Vec::new(), stopped: false }
    }

    /// The source at `span`.
    pub(super) fn text(&self, span: Span) -> &'s str {
        self.cursor.text(span)
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Whether scanning ended before the source did.
    pub(super) fn stopped(&self) -> bool {
        self.stopped
    }

    /// All diagnostics, in source order.
    pub(super) fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        self.diagnostics.sort_by_key(|diagnostic| diagnostic.span.map_or(usize::MAX, |span| span.start));
        self.diagnostics
    }

    pub(super) fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Records a diagnostic. Beyond the maximum, it stops the scanner.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
        } else {
            self.stopped = true;
        }
    }

    /// Reports an unexpected token.
    pub(super) fn report_unexpected(&mut self, token: &GbnfToken, expected: &[&str]) {
        let found = match token.kind {
            GbnfTokenKind::End => "the end of the text".to_owned(),
            _ => {
                let shown: String = self.text(token.span).chars().take(40).collect();
                format!("`{}`", shown.replace(char::is_control, " "))
            }
        };
        let mut diagnostic = Diagnostic::error(Code::UnexpectedInput, "this is not allowed here")
            .at(token.span)
            .found(found)
            .expected(expected.iter().copied());
        if let Some(help) = self.advice(token) {
            diagnostic = diagnostic.help(help);
        }
        self.report(diagnostic);
    }

    /// Advice on an unexpected token: the construct that its author probably meant.
    fn advice(&self, token: &GbnfToken) -> Option<&'static str> {
        Some(match self.text(token.span).chars().next()? {
            '\'' => "strings are written in double quotes",
            ';' => "a rule ends with its line, without a semicolon",
            '/' => "a comment is written `# ...`",
            '%' if self.dialect == Dialect::LlamaCpp && self.directives == DirectiveMode::Refused => {
                directives::HELP_READ_WITH_LEXER
            }
            ':' => "a rule is written `name ::= ...`",
            '.' if self.dialect == Dialect::XGrammar => "for any character write `[^]`",
            '|' if token.first_of_line && self.dialect == Dialect::LlamaCpp => {
                "a rule ends with its line: write the bar at the end of the line before, or put the alternatives in \
                 parentheses"
            }
            _ => return None,
        })
    }

    /// The next token; [`GbnfTokenKind::End`] repeatedly at the end.
    pub(super) fn next(&mut self) -> GbnfToken {
        let first_of_line = self.skip_blank();
        let start = self.cursor.position;
        let kind = match self.cursor.peek() {
            Some(first) if !self.stopped => self.token(first),
            _ => {
                self.cursor.position = self.cursor.source.len();
                GbnfTokenKind::End
            }
        };
        let end = if kind == GbnfTokenKind::End { start } else { self.cursor.position };
        GbnfToken { kind, span: Span::new(start, end), first_of_line }
    }

    /// Skips white space and comments; returns whether a line begins at the position.
    fn skip_blank(&mut self) -> bool {
        let mut line_begins = self.cursor.position == 0;
        loop {
            let blank = self.cursor.eat_while(|c| matches!(c, ' ' | '\t' | '\r' | '\n'));
            line_begins |= blank.contains(['\n', '\r']);
            if !self.cursor.eat("#") {
                return line_begins;
            }
            self.cursor.eat_while(|c| c != '\n' && c != '\r');
        }
    }

    fn token(&mut self, first: char) -> GbnfTokenKind {
        let dialect = self.dialect;
        if first.is_ascii_alphabetic()
            || first == '_'
            || (dialect == Dialect::LlamaCpp && is_name_part(first, dialect))
        {
            let name = self.cursor.eat_while(|c| is_name_part(c, dialect));
            if self.cursor.rest().starts_with("!(")
                && let Some(kind) = BindingKind::of_word(name)
            {
                self.cursor.position += 1;
                return GbnfTokenKind::Binding(kind);
            }
            return GbnfTokenKind::Name;
        }
        if first.is_ascii_digit() {
            return match self.cursor.eat_while(|c| c.is_ascii_digit()).parse() {
                Ok(number) => GbnfTokenKind::Number(number),
                Err(_) => GbnfTokenKind::Unknown,
            };
        }
        if self.cursor.eat("::=") {
            return GbnfTokenKind::Define;
        }
        let start = self.cursor.position;
        self.cursor.position += first.len_utf8();
        match first {
            '|' => GbnfTokenKind::Bar,
            '(' => GbnfTokenKind::Open,
            ')' => GbnfTokenKind::Close,
            ',' => GbnfTokenKind::Comma,
            '=' if self.dialect == Dialect::XGrammar => GbnfTokenKind::Equals,
            '.' if self.dialect == Dialect::LlamaCpp => GbnfTokenKind::AnyCharacter,
            '*' => GbnfTokenKind::Repeat { min: 0, max: None },
            '+' => GbnfTokenKind::Repeat { min: 1, max: None },
            '?' => GbnfTokenKind::Repeat { min: 0, max: Some(1) },
            '%' if self.directives == DirectiveMode::Read => {
                self.cursor.eat_while(|c| c == '_' || c.is_ascii_alphanumeric());
                GbnfTokenKind::Directive
            }
            '{' => self.bounds(start),
            '"' => self.string(start),
            '[' => match self.options_end(start) {
                Some(end) => {
                    self.cursor.position = end;
                    GbnfTokenKind::Options
                }
                None => self.class(start),
            },
            '<' if self.dialect == Dialect::LlamaCpp => self.named_token(start, Negated::No),
            '!' if self.dialect == Dialect::LlamaCpp && self.cursor.eat("<") => {
                self.named_token(start, Negated::Yes)
            }
            _ => GbnfTokenKind::Unknown,
        }
    }

    /// The end of the options of a rule whose bracket opens at `start`, or `None` if it is the bracket of a class.
    fn options_end(&self, start: usize) -> Option<usize> {
        let follows_name =
            self.cursor.source[..start].chars().next_back().is_some_and(|c| is_name_part(c, self.dialect));
        if self.dialect != Dialect::XGrammar || !follows_name {
            return None;
        }
        let (mut is_quoted, mut is_escaped) = (false, false);
        for (offset, character) in self.cursor.source[start..].char_indices() {
            match character {
                '\n' => return None,
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '"' => is_quoted = !is_quoted,
                ']' if !is_quoted => {
                    let end = start + offset + 1;
                    return self.cursor.source[end..].trim_start().starts_with("::=").then_some(end);
                }
                _ => {}
            }
        }
        None
    }

    /// Scans a string after its opening quote.
    fn string(&mut self, start: usize) -> GbnfTokenKind {
        let mut text = String::new();
        loop {
            match self.cursor.peek() {
                Some('"') => {
                    self.cursor.position += 1;
                    return GbnfTokenKind::Text(text.into());
                }
                Some('\n') if self.dialect == Dialect::XGrammar => break,
                None => break,
                Some(_) => text.extend(self.character(EscapeContext::String)),
            }
        }
        self.unterminated(Code::UnterminatedString, start, "the string is not closed", "`\"`")
    }

    /// Scans a class after its opening bracket.
    fn class(&mut self, start: usize) -> GbnfTokenKind {
        let negated = self.cursor.eat("^");
        let mut ranges: Vec<(char, char)> = Vec::new();
        let mut has_error = false;
        loop {
            match self.cursor.peek() {
                Some(']') => {
                    self.cursor.position += 1;
                    break;
                }
                Some('\n') if self.dialect == Dialect::XGrammar => {
                    return self.unterminated(Code::UnclosedBracket, start, "the class is not closed", "`]`");
                }
                None => {
                    return self.unterminated(Code::UnclosedBracket, start, "the class is not closed", "`]`");
                }
                Some(_) => {}
            }
            let range_start = self.cursor.position;
            let low = self.character(EscapeContext::Class);
            let mut high = low;
            if self.cursor.rest().starts_with('-')
                && !self.cursor.rest().starts_with("-]")
                && self.cursor.rest().len() > 1
            {
                self.cursor.position += 1;
                high = self.character(EscapeContext::Class);
            }
            match (low, high) {
                (Some(low), Some(high)) if low <= high => ranges.push((low, high)),
                (Some(_), Some(_)) => {
                    has_error = true;
                    self.report(
                        Diagnostic::error(Code::UnexpectedInput, "the range is in descending order")
                            .at(Span::new(range_start, self.cursor.position))
                            .help("swap its ends, or write `\\-` for a dash"),
                    );
                }
                _ => has_error = true,
            }
        }
        if has_error {
            return GbnfTokenKind::Broken;
        }
        let set = union(ranges);
        let set = if negated { complement(&set) } else { set };
        // The complement of all characters matches nothing in XGrammar. llama.cpp parses `[^]` as the empty text, which
        // is hardly ever meant.
        let is_bad = match self.dialect {
            Dialect::LlamaCpp => set.is_empty() || (is_everything(&set) && negated),
            Dialect::XGrammar => set.is_empty() && !negated,
        };
        if is_bad {
            self.report(
                Diagnostic::error(Code::UnexpectedInput, "the class is empty")
                    .at(Span::new(start, self.cursor.position))
                    .help("write `\\[` or `\\]` for a bracket"),
            );
            return GbnfTokenKind::Broken;
        }
        GbnfTokenKind::Class(set)
    }

    /// Scans a character of a string or class and decodes it. `None`, with a report, for an invalid escape.
    fn character(&mut self, context: EscapeContext) -> Option<char> {
        let start = self.cursor.position;
        let first = self.cursor.bump()?;
        if first != '\\' {
            return Some(first);
        }
        let escape = decode(self.cursor.rest(), context, self.dialect);
        self.cursor.position += escape.length;
        if escape.character.is_none() {
            let span = Span::new(start, self.cursor.position);
            let snippet: String = self.text(span).chars().take(12).collect();
            let help = match self.cursor.rest().is_empty() && escape.length == 0 {
                true => "write two backslashes for a backslash",
                false => {
                    "a character is written `\\xHH`, `\\uHHHH` or `\\UHHHHHHHH`, by its code point, which is not a surrogate"
                }
            };
            self.report(
                Diagnostic::error(Code::InvalidEscape, "this is not an escape")
                    .at(span)
                    .found(format!("`{snippet}`"))
                    .help(help),
            );
        }
        escape.character
    }

    /// Scans `{m}`, `{m,}` or `{m,n}` after the opening brace.
    fn bounds(&mut self, start: usize) -> GbnfTokenKind {
        let blank = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
        self.cursor.eat_while(blank);
        let min_digits = self.cursor.eat_while(|c| c.is_ascii_digit());
        self.cursor.eat_while(blank);
        let comma = self.cursor.eat(",");
        self.cursor.eat_while(blank);
        let max_digits = if !comma {
            min_digits
        } else if self.dialect == Dialect::XGrammar && self.cursor.eat("-1") {
            // XGrammar prints a repetition without a maximum so.
            ""
        } else {
            self.cursor.eat_while(|c| c.is_ascii_digit())
        };
        self.cursor.eat_while(blank);
        let closed = self.cursor.eat("}");
        let bound = |digits: &str| digits.parse::<u32>().ok();
        let bounds = match (bound(min_digits), max_digits.is_empty(), bound(max_digits)) {
            (Some(min), true, _) => Some((min, None)),
            (Some(min), false, Some(max)) if min <= max => Some((min, Some(max))),
            _ => None,
        };
        match bounds.filter(|_| closed) {
            Some((min, max)) => GbnfTokenKind::Repeat { min, max },
            None => {
                let span = Span::new(start, self.cursor.position);
                self.report(
                    Diagnostic::error(Code::InvalidRepetition, "the bounds of the repetition are malformed")
                        .at(span)
                        .found(format!("`{}`", self.text(span)))
                        .expected(["`{m}`", "`{m,}`", "`{m,n}` with m at most n"])
                        .help("bounds go up to 4294967295"),
                );
                GbnfTokenKind::Broken
            }
        }
    }

    /// Scans `<name>` or `<[id]>` after the opening angle bracket.
    fn named_token(&mut self, start: usize, negated: Negated) -> GbnfTokenKind {
        let inside = self.cursor.eat_while(|c| c != '>' && c != '\n');
        let closed = self.cursor.eat(">");
        let id = inside.strip_prefix('[').map(|id| id.strip_suffix(']').and_then(|id| id.parse().ok()));
        let reference = match id {
            _ if !closed => None,
            Some(Some(id)) => Some(TokenReference::Id(id)),
            Some(None) => None,
            None => Some(TokenReference::Written(format!("<{inside}>"))),
        };
        match reference {
            Some(reference) => GbnfTokenKind::Token { reference, negated },
            None => {
                self.report(
                    Diagnostic::error(Code::InvalidTokenReference, "the token reference is malformed")
                        .at(Span::new(start, self.cursor.position))
                        .expected(["`<[id]>`", "`<name>`"]),
                );
                GbnfTokenKind::Broken
            }
        }
    }

    fn unterminated(&mut self, code: Code, start: usize, message: &str, expected: &str) -> GbnfTokenKind {
        self.report(Diagnostic::error(code, message).at(Span::new(start, start + 1)).expected([expected]));
        if self.cursor.rest().is_empty() {
            self.stopped = true;
        }
        GbnfTokenKind::Broken
    }
}

fn is_name_part(c: char, dialect: Dialect) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_') || (c == '.' && dialect == Dialect::XGrammar)
}

/// The union of `ranges`, in ascending order.
fn union(mut ranges: Vec<(char, char)>) -> CharacterRanges {
    ranges.sort_unstable();
    let mut merged: CharacterRanges = Vec::with_capacity(ranges.len());
    for (low, high) in ranges {
        match merged.last_mut() {
            Some(last) if low <= after(last.1).unwrap_or(char::MAX) => last.1 = last.1.max(high),
            _ => merged.push((low, high)),
        }
    }
    merged
}

/// The complement of a set.
fn complement(ranges: &CharacterRanges) -> CharacterRanges {
    let mut others = Vec::with_capacity(ranges.len() + 1);
    let mut next = Some('\0');
    for &(low, high) in ranges {
        if let (Some(from), Some(to)) = (next, before(low))
            && from <= to
        {
            others.push((from, to));
        }
        next = after(high);
    }
    if let Some(from) = next {
        others.push((from, char::MAX));
    }
    others
}

fn is_everything(ranges: &CharacterRanges) -> bool {
    *ranges == [('\0', char::MAX)]
}

/// The next scalar value, which skips surrogates.
fn after(c: char) -> Option<char> {
    match c {
        '\u{d7ff}' => Some('\u{e000}'),
        _ => char::from_u32(c as u32 + 1),
    }
}

/// The previous scalar value, which skips surrogates.
fn before(c: char) -> Option<char> {
    match c {
        '\u{e000}' => Some('\u{d7ff}'),
        _ => (c as u32).checked_sub(1).and_then(char::from_u32),
    }
}
