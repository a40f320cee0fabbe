//! Splits a text into tokens, one at a time, and collects the diagnostics of scanner and parser.
//!
//! What is wrong within one token is reported here, and the token is delivered as something that stands for an
//! expression, so that one slip gives one error.

use super::Dialect;
use super::escape::{self, Place};
use grammask_diagnostics::{Code, Diagnostic, Severity, Span};
use grammask_grammar::directives::DirectiveMode;
use grammask_grammar::{TokenReference, directives};

/// Most errors that one text is reported to have.
const MOST_ERRORS: usize = 100;

/// A set of characters: ranges, ascending and apart.
pub(super) type Characters = Vec<(char, char)>;

/// The kinds of tokens.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Name,
    /// `::=`
    Define,
    Bar,
    Open,
    Close,
    Comma,
    /// `=`, in calls.
    Equals,
    Number(u32),
    /// `%name`
    Directive,
    /// A string, decoded.
    Text(Box<str>),
    Class(Characters),
    /// `[...]` between a name and `::=`, not read yet.
    Options,
    /// `.`
    AnyCharacter,
    /// `<...>`, or `!<...>` for all others.
    Token {
        reference: TokenReference,
        negated: Negated,
    },
    /// `*`, `+`, `?` and `{...}`
    Repeat {
        least: u32,
        most: Option<u32>,
    },
    /// Stands for an expression, and was reported as wrong.
    Broken,
    /// A character that no token begins with; not reported yet.
    Unknown,
    /// The end of the text, or the place where scanning stopped.
    End,
}

/// Whether a token was written with `!`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Negated {
    No,
    Yes,
}

/// A token, its place, and whether it is the first of its line.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Span,
    pub(super) first_of_line: bool,
}

/// The scanner of one text.
#[derive(Debug)]
pub(super) struct Scanner<'s> {
    source: &'s str,
    dialect: Dialect,
    directives: DirectiveMode,
    position: usize,
    diagnostics: Vec<Diagnostic>,
    stopped: bool,
}

impl<'s> Scanner<'s> {
    pub(super) fn new(source: &'s str, dialect: Dialect, directives: DirectiveMode) -> Self {
        Self { source, dialect, directives, position: 0, diagnostics: Vec::new(), stopped: false }
    }

    /// The text at a place.
    pub(super) fn text(&self, span: Span) -> &'s str {
        &self.source[span.start..span.end]
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Whether the text was not read to its end.
    pub(super) fn stopped(&self) -> bool {
        self.stopped
    }

    /// All diagnostics, in the order of the text.
    pub(super) fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        self.diagnostics.sort_by_key(|diagnostic| diagnostic.span.map_or(usize::MAX, |span| span.start));
        self.diagnostics
    }

    pub(super) fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Keeps a diagnostic; enough of them stop the scanner.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MOST_ERRORS {
            self.diagnostics.push(diagnostic);
        } else {
            self.stopped = true;
        }
    }

    /// Reports something that is not what is expected.
    pub(super) fn report_unexpected(&mut self, token: &Token, expected: &[&str]) {
        let found = match token.kind {
            Kind::End => "the end of the text".to_owned(),
            _ => {
                let shown: String = self.text(token.span).chars().take(40).collect();
                format!("`{}`", shown.replace(char::is_control, " "))
            }
        };
        let mut diagnostic = Diagnostic::error(Code::UnexpectedInput, "this cannot stand here")
            .at(token.span)
            .found(found)
            .expected(expected.iter().copied());
        if let Some(help) = self.advice(token) {
            diagnostic = diagnostic.help(help);
        }
        self.report(diagnostic);
    }

    /// What the author of an unexpected token may have had in mind.
    fn advice(&self, token: &Token) -> Option<&'static str> {
        Some(match self.text(token.span).chars().next()? {
            '\'' => "a string stands in double quotes",
            ';' => "a rule ends with its line, without a semicolon",
            '/' => "a comment is written `# ...`",
            '%' if self.dialect == Dialect::LlamaCpp && self.directives == DirectiveMode::Refused => {
                directives::HELP_READ_WITH_LEXER
            }
            ':' => "a rule is written `name ::= ...`",
            '.' if self.dialect == Dialect::XGrammar => "for any character write `[^]`",
            _ => return None,
        })
    }

    /// The next token; [`Kind::End`] at the end, again and again.
    pub(super) fn next(&mut self) -> Token {
        let first_of_line = self.skip_blank();
        let start = self.position;
        let kind = match self.rest().chars().next() {
            Some(first) if !self.stopped => self.token(first),
            _ => {
                self.position = self.source.len();
                Kind::End
            }
        };
        let end = if kind == Kind::End { start } else { self.position };
        Token { kind, span: Span::new(start, end), first_of_line }
    }

    fn rest(&self) -> &'s str {
        &self.source[self.position..]
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.position += text.len();
        }
        found
    }

    fn eat_while(&mut self, accept: impl Fn(char) -> bool) -> &'s str {
        let rest = self.rest();
        let length = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        self.position += length;
        &rest[..length]
    }

    /// Skips white space and comments; returns whether a line begins here.
    fn skip_blank(&mut self) -> bool {
        let mut line_begins = self.position == 0;
        loop {
            let blank = self.eat_while(|c| matches!(c, ' ' | '\t' | '\r' | '\n'));
            line_begins |= blank.contains(['\n', '\r']);
            if !self.eat("#") {
                return line_begins;
            }
            self.eat_while(|c| c != '\n' && c != '\r');
        }
    }

    fn token(&mut self, first: char) -> Kind {
        let dialect = self.dialect;
        if first.is_ascii_alphabetic()
            || first == '_'
            || (dialect == Dialect::LlamaCpp && is_name_part(first, dialect))
        {
            self.eat_while(|c| is_name_part(c, dialect));
            return Kind::Name;
        }
        if first.is_ascii_digit() {
            return match self.eat_while(|c| c.is_ascii_digit()).parse() {
                Ok(number) => Kind::Number(number),
                Err(_) => Kind::Unknown,
            };
        }
        if self.eat("::=") {
            return Kind::Define;
        }
        let start = self.position;
        self.position += first.len_utf8();
        match first {
            '|' => Kind::Bar,
            '(' => Kind::Open,
            ')' => Kind::Close,
            ',' if self.dialect == Dialect::XGrammar => Kind::Comma,
            '=' if self.dialect == Dialect::XGrammar => Kind::Equals,
            '.' if self.dialect == Dialect::LlamaCpp => Kind::AnyCharacter,
            '*' => Kind::Repeat { least: 0, most: None },
            '+' => Kind::Repeat { least: 1, most: None },
            '?' => Kind::Repeat { least: 0, most: Some(1) },
            '%' if self.directives == DirectiveMode::Read => {
                self.eat_while(|c| c == '_' || c.is_ascii_alphanumeric());
                Kind::Directive
            }
            '{' => self.bounds(start),
            '"' => self.string(start),
            '[' => match self.options_end(start) {
                Some(end) => {
                    self.position = end;
                    Kind::Options
                }
                None => self.class(start),
            },
            '<' if self.dialect == Dialect::LlamaCpp => self.named_token(start, Negated::No),
            '!' if self.dialect == Dialect::LlamaCpp && self.eat("<") => {
                self.named_token(start, Negated::Yes)
            }
            _ => Kind::Unknown,
        }
    }

    /// Where the options of a rule end whose bracket opens at `start`; none if it is the bracket of a class.
    fn options_end(&self, start: usize) -> Option<usize> {
        let is_behind_name =
            self.source[..start].chars().next_back().is_some_and(|c| is_name_part(c, self.dialect));
        if self.dialect != Dialect::XGrammar || !is_behind_name {
            return None;
        }
        let (mut is_quoted, mut is_escaped) = (false, false);
        for (place, character) in self.source[start..].char_indices() {
            match character {
                '\n' => return None,
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '"' => is_quoted = !is_quoted,
                ']' if !is_quoted => {
                    let end = start + place + 1;
                    return self.source[end..].trim_start().starts_with("::=").then_some(end);
                }
                _ => {}
            }
        }
        None
    }

    /// A string after its opening quote.
    fn string(&mut self, start: usize) -> Kind {
        let mut text = String::new();
        loop {
            match self.rest().chars().next() {
                Some('"') => {
                    self.position += 1;
                    return Kind::Text(text.into());
                }
                Some('\n') if self.dialect == Dialect::XGrammar => break,
                None => break,
                Some(_) => text.extend(self.character(Place::String)),
            }
        }
        self.unterminated(Code::UnterminatedString, start, "the string has no end", "`\"`")
    }

    /// A class after its opening bracket.
    fn class(&mut self, start: usize) -> Kind {
        let negated = self.eat("^");
        let mut ranges: Vec<(char, char)> = Vec::new();
        let mut broken = false;
        loop {
            match self.rest().chars().next() {
                Some(']') => {
                    self.position += 1;
                    break;
                }
                Some('\n') if self.dialect == Dialect::XGrammar => {
                    return self.unterminated(Code::UnclosedBracket, start, "the class has no end", "`]`");
                }
                None => {
                    return self.unterminated(Code::UnclosedBracket, start, "the class has no end", "`]`");
                }
                Some(_) => {}
            }
            let place = self.position;
            let low = self.character(Place::Class);
            let mut high = low;
            if self.rest().starts_with('-') && !self.rest().starts_with("-]") && self.rest().len() > 1 {
                self.position += 1;
                high = self.character(Place::Class);
            }
            match (low, high) {
                (Some(low), Some(high)) if low <= high => ranges.push((low, high)),
                (Some(_), Some(_)) => {
                    broken = true;
                    self.report(
                        Diagnostic::error(Code::UnexpectedInput, "the range ends before it begins")
                            .at(Span::new(place, self.position))
                            .help("swap its ends, or write `\\-` for a dash"),
                    );
                }
                _ => broken = true,
            }
        }
        if broken {
            return Kind::Broken;
        }
        let set = union(ranges);
        let set = if negated { complement(&set) } else { set };
        // llama.cpp reads `[^]` as the empty text, which nobody means.
        if set.is_empty() || (is_everything(&set) && negated && self.dialect == Dialect::LlamaCpp) {
            self.report(
                Diagnostic::error(Code::UnexpectedInput, "the class names no characters")
                    .at(Span::new(start, self.position))
                    .help("write `\\[` or `\\]` for a bracket"),
            );
            return Kind::Broken;
        }
        Kind::Class(set)
    }

    /// A character of a string or class, decoded; none, with a report, for a wrong escape.
    fn character(&mut self, place: Place) -> Option<char> {
        let start = self.position;
        let first = self.rest().chars().next()?;
        self.position += first.len_utf8();
        if first != '\\' {
            return Some(first);
        }
        let escape = escape::read(self.rest(), place, self.dialect);
        self.position += escape.length;
        if escape.character.is_none() {
            let span = Span::new(start, self.position);
            let found: String = self.text(span).chars().take(12).collect();
            let help = match self.rest().is_empty() && escape.length == 0 {
                true => "write two backslashes for a backslash",
                false => {
                    "a character is written `\\xHH`, `\\uHHHH` or `\\UHHHHHHHH`, by its code point; surrogates are none"
                }
            };
            self.report(
                Diagnostic::error(Code::InvalidEscape, "there is no such escape")
                    .at(span)
                    .found(format!("`{found}`"))
                    .help(help),
            );
        }
        escape.character
    }

    /// `{m}`, `{m,}` or `{m,n}` after the opening brace.
    fn bounds(&mut self, start: usize) -> Kind {
        let blank = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
        self.eat_while(blank);
        let least = self.eat_while(|c| c.is_ascii_digit());
        self.eat_while(blank);
        let comma = self.eat(",");
        self.eat_while(blank);
        let most = if comma { self.eat_while(|c| c.is_ascii_digit()) } else { least };
        self.eat_while(blank);
        let closed = self.eat("}");
        let bound = |digits: &str| digits.parse::<u32>().ok();
        let bounds = match (bound(least), most.is_empty(), bound(most)) {
            (Some(least), true, _) => Some((least, None)),
            (Some(least), false, Some(most)) if least <= most => Some((least, Some(most))),
            _ => None,
        };
        match bounds.filter(|_| closed) {
            Some((least, most)) => Kind::Repeat { least, most },
            None => {
                let span = Span::new(start, self.position);
                self.report(
                    Diagnostic::error(Code::InvalidRepetition, "these are no bounds of a repetition")
                        .at(span)
                        .found(format!("`{}`", self.text(span)))
                        .expected(["`{m}`", "`{m,}`", "`{m,n}` with m not above n"])
                        .help("bounds go up to 4294967295"),
                );
                Kind::Broken
            }
        }
    }

    /// `<name>` or `<[id]>` after the opening angle.
    fn named_token(&mut self, start: usize, negated: Negated) -> Kind {
        let inside = self.eat_while(|c| c != '>' && c != '\n');
        let closed = self.eat(">");
        let id = inside.strip_prefix('[').map(|id| id.strip_suffix(']').and_then(|id| id.parse().ok()));
        let reference = match id {
            _ if !closed => None,
            Some(Some(id)) => Some(TokenReference::Id(id)),
            Some(None) => None,
            None => Some(TokenReference::Written(format!("<{inside}>"))),
        };
        match reference {
            Some(reference) => Kind::Token { reference, negated },
            None => {
                self.report(
                    Diagnostic::error(Code::InvalidTokenReference, "this names no token")
                        .at(Span::new(start, self.position))
                        .expected(["`<[id]>`", "`<name>`"]),
                );
                Kind::Broken
            }
        }
    }

    fn unterminated(&mut self, code: Code, start: usize, message: &str, expected: &str) -> Kind {
        self.report(Diagnostic::error(code, message).at(Span::new(start, start + 1)).expected([expected]));
        if self.rest().is_empty() {
            self.stopped = true;
        }
        Kind::Broken
    }
}

fn is_name_part(c: char, dialect: Dialect) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_') || (c == '.' && dialect == Dialect::XGrammar)
}

/// The ranges, ascending and apart.
fn union(mut ranges: Vec<(char, char)>) -> Characters {
    ranges.sort_unstable();
    let mut apart: Characters = Vec::with_capacity(ranges.len());
    for (low, high) in ranges {
        match apart.last_mut() {
            Some(last) if low <= after(last.1).unwrap_or(char::MAX) => last.1 = last.1.max(high),
            _ => apart.push((low, high)),
        }
    }
    apart
}

/// All other characters.
fn complement(ranges: &Characters) -> Characters {
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

fn is_everything(ranges: &Characters) -> bool {
    *ranges == [('\0', char::MAX)]
}

/// The next character; surrogates are none.
fn after(c: char) -> Option<char> {
    match c {
        '\u{d7ff}' => Some('\u{e000}'),
        _ => char::from_u32(c as u32 + 1),
    }
}

fn before(c: char) -> Option<char> {
    match c {
        '\u{e000}' => Some('\u{d7ff}'),
        _ => (c as u32).checked_sub(1).and_then(char::from_u32),
    }
}
