//! Splits a KBNF source into tokens, one at a time, and collects the diagnostics of scanner and parser.
//!
//! Errors within a token are reported here, and the token is returned as the kind that was probably meant, so one slip
//! causes one error. Each byte is scanned a constant number of times: look-ahead ends at the line or after a bounded
//! length, and an unterminated quote or comment stops the scanner.

mod slips;

use super::ast::{Bracket, PatternForm, Postfix};
use super::escape::{QuoteStyle, closing_quote};
use crate::cursor::Cursor;
use grammask_diagnostics::{Code, Diagnostic, Severity, Span, closest};
use grammask_grammar::BindingKind;
use grammask_grammar::directives::DirectiveMode;

/// Maximum number of errors, and of warnings, reported for one source.
pub(super) const MAX_DIAGNOSTICS: usize = 100;

/// Maximum length of a slip such as `[A-Z]` or `/regex/`, in bytes.
const MAX_SLIP_BYTES: usize = 120;

/// The kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KbnfTokenKind {
    Identifier,
    /// `any!`
    Any,
    /// `except!`
    Except,
    /// `limit!`
    Limit,
    /// `bind!`, `same!`, `other!` or `without_prefix!`
    Binding(BindingKind),
    /// A quoted terminal.
    Quoted {
        content: Span,
    },
    /// A `#` form.
    Pattern {
        form: PatternForm,
        style: QuoteStyle,
        content: Span,
    },
    /// `<|name|>`
    TokenName,
    /// `<"name">`
    TokenQuoted {
        content: Span,
    },
    /// `<[id]>`
    TokenId(u32),
    Open(Bracket),
    Close(Bracket),
    Postfix(Postfix),
    Bar,
    Comma,
    Semicolon,
    /// `::=` or `=`
    Define,
    /// The definition sign of another notation.
    DefineSlip,
    Number,
    /// `%name`
    Directive,
    /// Stands for an expression, after an error that was reported.
    Broken,
    /// Characters with which no token begins; not reported yet.
    Unknown,
    /// The end of the source, or the position where scanning stopped.
    End,
}

/// A token and its span.
#[derive(Clone, Copy, Debug)]
pub(super) struct KbnfToken {
    pub(super) kind: KbnfTokenKind,
    pub(super) span: Span,
}

/// The scanner of one source.
#[derive(Debug)]
pub(super) struct KbnfScanner<'s> {
    cursor: Cursor<'s>,
    /// Whether invalid UTF-8 was reported and replaced with U+FFFD.
    has_replacements: bool,
    diagnostics: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
    stopped: bool,
    /// The first string that extends over a line break.
    first_multiline_string: Option<Span>,
    directives: DirectiveMode,
}

impl<'s> KbnfScanner<'s> {
    /// A scanner of `source`, in which the spans `invalid` replace invalid UTF-8.
    pub(super) fn new(source: &'s str, invalid: &[Span], directives: DirectiveMode) -> Self {
        let mut scanner = Self {
            cursor: Cursor::new(source),
            has_replacements: !invalid.is_empty(),
            diagnostics: Vec::new(),
            errors: 0,
            warnings: 0,
            stopped: false,
            first_multiline_string: None,
            directives,
        };
        for &span in invalid {
            scanner.report(
                Diagnostic::error(Code::InvalidUtf8, "these bytes are not UTF-8")
                    .at(span)
                    .help("save the grammar as UTF-8; write a raw byte as `\\b{ff}` in a string"),
            );
        }
        scanner
    }

    /// The source.
    pub(super) fn source(&self) -> &'s str {
        self.cursor.source
    }

    /// The source at `span`.
    pub(super) fn text(&self, span: Span) -> &'s str {
        self.cursor.text(span)
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

    /// Records a diagnostic. Beyond the maximum, an error stops the scanner and a warning is dropped.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        let count = match diagnostic.severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        if *count < MAX_DIAGNOSTICS {
            *count += 1;
            self.diagnostics.push(diagnostic);
        } else if diagnostic.severity == Severity::Error {
            self.stopped = true;
        }
    }

    /// Records a diagnostic and stops the scanner.
    pub(super) fn stop(&mut self, diagnostic: Diagnostic) {
        if !self.stopped {
            self.report(diagnostic);
        }
        self.stopped = true;
    }

    /// The next token; [`KbnfTokenKind::End`] repeatedly at the end.
    pub(super) fn next(&mut self) -> KbnfToken {
        self.skip_blank();
        let start = self.cursor.position;
        let kind = match self.cursor.peek() {
            Some(first) if !self.stopped => self.token(first),
            _ => KbnfTokenKind::End,
        };
        if self.stopped {
            // Also after an error in this token: the tokens after it cannot be interpreted.
            self.cursor.position = self.cursor.source.len();
            return KbnfToken { kind: KbnfTokenKind::End, span: Span::new(start, start) };
        }
        KbnfToken { kind, span: Span::new(start, self.cursor.position) }
    }

    /// Skips white space and comments.
    fn skip_blank(&mut self) {
        loop {
            let has_replacements = self.has_replacements;
            self.cursor.eat_while(|c| is_space(c) || has_replacements && c == char::REPLACEMENT_CHARACTER);
            let start = self.cursor.position;
            if self.cursor.eat("(*") {
                let Some(length) = self.cursor.rest().find("*)") else {
                    self.stop(
                        Diagnostic::error(Code::UnterminatedComment, "the comment has no end")
                            .at(Span::new(start, start + 2))
                            .expected(["`*)`"])
                            .help("a comment is written `(* ... *)`"),
                    );
                    return;
                };
                self.cursor.position += length + 2;
            } else if self.at_line_comment() {
                self.cursor.eat_while(|c| c != '\n');
                let span = Span::new(
                    start,
                    start + self.cursor.source[start..self.cursor.position].trim_end().len(),
                );
                self.report(
                    Diagnostic::error(Code::UnexpectedInput, "KBNF has no line comments")
                        .at(span)
                        .help("write the comment as `(* ... *)`"),
                );
            } else {
                return;
            }
        }
    }

    /// Scans the token that begins with `first`.
    fn token(&mut self, first: char) -> KbnfTokenKind {
        match first {
            '"' | '\'' => self.quoted(first),
            '#' => self.pattern(),
            '<' => self.token_reference(),
            '{' if self.at_bounds() => self.bounds(),
            '[' if self.class_length().is_some() => self.class(),
            ':' | '=' | '-' => self.define(),
            c if c == '_' || c.is_alphanumeric() => self.word(),
            '\u{2018}'..='\u{201f}' | '«' | '»' | '`' => self.foreign_quotes(),
            '/' => self.slashes(),
            '%' if self.directives == DirectiveMode::Read => {
                self.cursor.position += 1;
                self.cursor.eat_while(|c| c == '_' || c.is_ascii_alphanumeric());
                KbnfTokenKind::Directive
            }
            '%' => {
                self.cursor.eat_while(|c| c != '\n');
                KbnfTokenKind::Unknown
            }
            _ => match single(first) {
                Some(kind) => {
                    self.cursor.position += 1;
                    kind
                }
                None => {
                    self.cursor.eat_while(|c| {
                        !is_space(c)
                            && !c.is_alphanumeric()
                            && !"\"'#<:=-_/".contains(c)
                            && single(c).is_none()
                    });
                    KbnfTokenKind::Unknown
                }
            },
        }
    }

    /// Consumes a quote, the content and the closing quote.
    fn content(&mut self, quote: char) -> Option<Span> {
        let open = self.cursor.position;
        let start = open + 1;
        let Some(end) = closing_quote(self.cursor.source, start, quote) else {
            let mut help = format!("close it with `{quote}`; within the string write `\\{quote}`");
            if let Some(earlier) = self.first_multiline_string {
                let line = grammask_diagnostics::Position::of(self.cursor.source, earlier.start).line;
                help = format!(
                    "the string that begins on line {line} goes on over the line's end: is its quote missing?"
                );
            }
            self.stop(
                Diagnostic::error(Code::UnterminatedString, "the string has no closing quote")
                    .at(Span::new(open, start))
                    .expected([format!("`{quote}`")])
                    .help(help),
            );
            return None;
        };
        self.cursor.position = end + 1;
        if self.first_multiline_string.is_none() && self.cursor.source[start..end].contains('\n') {
            self.first_multiline_string = Some(Span::new(open, end + 1));
        }
        Some(Span::new(start, end))
    }

    fn quoted(&mut self, quote: char) -> KbnfTokenKind {
        self.content(quote).map_or(KbnfTokenKind::End, |content| KbnfTokenKind::Quoted { content })
    }

    /// Scans `#`, the name of a form and a quoted text.
    fn pattern(&mut self) -> KbnfTokenKind {
        let start = self.cursor.position;
        self.cursor.position += 1;
        let name = self.cursor.eat_while(|c| c.is_ascii_alphanumeric());
        let form_end = self.cursor.position;
        let (form, style) = match pattern_form(name) {
            Some(form) => form,
            None => {
                let forms = ["r", "e", "er", "ex", "exr", "substrs", "substrsr"];
                let help = match closest(name, forms) {
                    Some(close) => format!("did you mean `#{close}\"...\"`?"),
                    None => "the forms are `#\"...\"`, `#e\"...\"`, `#ex\"...\"` and `#substrs\"...\"`, and with an `r` raw ones".into(),
                };
                self.report(
                    Diagnostic::error(Code::UnexpectedInput, format!("there is no form `#{name}`"))
                        .at(Span::new(start, form_end))
                        .help(help),
                );
                (PatternForm::Whole, QuoteStyle::Raw)
            }
        };
        let blank = self.cursor.eat_while(is_space).len();
        let quote = match self.cursor.peek() {
            Some(quote @ ('"' | '\'')) => quote,
            _ => {
                self.cursor.position = form_end;
                self.report(
                    Diagnostic::error(
                        Code::UnexpectedInput,
                        format!("`#{name}` needs a quoted text right after it"),
                    )
                    .at(Span::new(start, form_end))
                    .expected(["`\"`", "`'`"])
                    .help(format!("write `#{name}\"...\"`")),
                );
                return KbnfTokenKind::Broken;
            }
        };
        if blank > 0 {
            self.report(
                Diagnostic::error(
                    Code::UnexpectedInput,
                    format!("white space stands between `#{name}` and its quote"),
                )
                .at(Span::new(form_end, form_end + blank))
                .help("remove the white space"),
            );
        }
        self.content(quote).map_or(KbnfTokenKind::End, |content| KbnfTokenKind::Pattern {
            form,
            style,
            content,
        })
    }

    /// Scans `<|name|>`, `<"name">`, `<[id]>`, or the `<name>` of other notations.
    fn token_reference(&mut self) -> KbnfTokenKind {
        let start = self.cursor.position;
        self.cursor.position += 1;
        let line = self.line();
        let bytes = line.as_bytes();
        match bytes.first() {
            Some(b'|') => {
                if let Some(length) =
                    line.find("|>").filter(|&length| is_plain_token_name(&line[..length + 2]))
                {
                    self.cursor.position += length + 2;
                    return KbnfTokenKind::TokenName;
                }
                self.skip_reference();
            }
            Some(&quote @ (b'"' | b'\'')) => {
                let Some(content) = self.content(char::from(quote)) else { return KbnfTokenKind::End };
                if self.cursor.eat(">") {
                    return KbnfTokenKind::TokenQuoted { content };
                }
            }
            Some(b'[') => {
                self.cursor.position += 1;
                self.cursor.eat_while(is_space);
                let number = self.cursor.eat_while(|c| c.is_ascii_digit()).parse().ok();
                self.cursor.eat_while(is_space);
                if let Some(id) = number
                    && self.cursor.eat("]>")
                {
                    return KbnfTokenKind::TokenId(id);
                }
                self.skip_reference();
            }
            _ => {
                let name = line.find('>').map_or("", |length| &line[..length]);
                if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                    && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_- ".contains(&byte))
                {
                    return self.angle_brackets(start, name);
                }
            }
        }
        self.report(
            Diagnostic::error(
                Code::InvalidTokenReference,
                "`<` begins the reference to a token, which is not complete",
            )
            .at(Span::new(start, self.cursor.position))
            .expected(["`<|name|>`", "`<\"name\">`", "`<[id]>`"])
            .help("write `<|name|>`, `<\"name\">` or `<[123]>`; for the character write \"<\""),
        );
        KbnfTokenKind::Broken
    }

    /// Skips the remainder of a malformed reference: up to a `>`, if one precedes a blank or a semicolon.
    fn skip_reference(&mut self) {
        self.cursor.eat_while(|c| !is_space(c) && c != '>' && c != ';');
        self.cursor.eat(">");
    }

    /// Whether the brace at the position begins `{m,n}`: no expression begins with a digit or a comma.
    fn at_bounds(&self) -> bool {
        self.cursor.rest()[1..]
            .trim_start_matches(is_space)
            .starts_with(|c: char| c.is_ascii_digit() || c == ',')
    }

    /// Scans `{m,n}`, `{m}`, `{m,}` or `{,n}`.
    fn bounds(&mut self) -> KbnfTokenKind {
        let start = self.cursor.position;
        self.cursor.position += 1;
        self.cursor.eat_while(is_space);
        let min_digits = self.cursor.eat_while(|c| c.is_ascii_digit());
        self.cursor.eat_while(is_space);
        let comma = self.cursor.eat(",");
        self.cursor.eat_while(is_space);
        let max_digits = if comma { self.cursor.eat_while(|c| c.is_ascii_digit()) } else { min_digits };
        self.cursor.eat_while(is_space);
        let closed = self.cursor.eat("}");
        if !closed && let Some(length) = self.line().find(['}', ';']) {
            self.cursor.position += length;
            self.cursor.eat("}");
        }
        let problem = if !closed || min_digits.is_empty() && max_digits.is_empty() {
            Some(("the bounds of a repetition are not numbers", "write `{2,3}`, `{2}`, `{2,}` or `{,3}`"))
        } else {
            match (bound(min_digits), bound(max_digits)) {
                (Ok(min), Ok(max)) if max.is_none_or(|max| min.unwrap_or(0) <= max) => {
                    return KbnfTokenKind::Postfix(Postfix::Bounds { min: min.unwrap_or(0), max });
                }
                (Ok(_), Ok(_)) => {
                    Some(("the lower bound is above the upper one", "write the smaller number first"))
                }
                _ => Some((
                    "a bound is too large",
                    "the largest bound is 4294967295; `{2,}` has no upper bound",
                )),
            }
        };
        if let Some((message, help)) = problem {
            let span = Span::new(start, self.cursor.position);
            let text: String = self.text(span).chars().take(40).collect();
            self.report(
                Diagnostic::error(Code::InvalidRepetition, message)
                    .at(span)
                    .found(format!("`{text}`"))
                    .help(help),
            );
        }
        KbnfTokenKind::Postfix(Postfix::Bounds { min: 0, max: None })
    }

    /// Scans `::=` and `=`, and the definition signs of other notations.
    fn define(&mut self) -> KbnfTokenKind {
        if self.cursor.eat("::=") {
            return KbnfTokenKind::Define;
        }
        if [":=", "::", "==", "=>", "->", ":"].into_iter().any(|slip| self.cursor.eat(slip)) {
            return KbnfTokenKind::DefineSlip;
        }
        if self.cursor.eat("=") {
            return KbnfTokenKind::Define;
        }
        self.cursor.position += 1;
        KbnfTokenKind::Unknown
    }

    /// Scans a name, a name with `!`, a number, or a malformed name.
    fn word(&mut self) -> KbnfTokenKind {
        let start = self.cursor.position;
        self.cursor.eat_while(|c| c == '_' || c.is_ascii_alphanumeric());
        while self.cursor.rest().starts_with(|c: char| c == '_' || c.is_alphanumeric())
            || self
                .cursor
                .rest()
                .strip_prefix('-')
                .is_some_and(|after| after.starts_with(|c: char| c.is_alphanumeric()))
        {
            self.cursor.bump();
            self.cursor.eat_while(|c| c == '_' || c.is_alphanumeric());
        }
        let span = Span::new(start, self.cursor.position);
        let name = self.text(span);
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            return KbnfTokenKind::Number;
        }
        if self.cursor.eat("!") {
            return self.macro_name(start, name);
        }
        let problem = if !name.is_ascii() {
            Some("write the name in ASCII; for text use quotes")
        } else if name.contains('-') {
            Some("write `_` for `-`; an exception (\"this but not that\") is a regex: `#ex\"...\"`")
        } else if name.starts_with(|c: char| c.is_ascii_digit()) {
            Some("begin the name with a letter or `_`")
        } else {
            None
        };
        if let Some(help) = problem {
            let shown: String = name.chars().take(40).collect();
            self.report(
                Diagnostic::error(Code::UnexpectedInput, format!("`{shown}` is not a name"))
                    .at(span)
                    .expected(["ASCII letters, digits and `_`"])
                    .help(help),
            );
        }
        KbnfTokenKind::Identifier
    }

    fn macro_name(&mut self, start: usize, name: &str) -> KbnfTokenKind {
        match name {
            "any" => return KbnfTokenKind::Any,
            "except" => return KbnfTokenKind::Except,
            "limit" => return KbnfTokenKind::Limit,
            _ => {}
        }
        if let Some(kind) = BindingKind::of_word(name) {
            return KbnfTokenKind::Binding(kind);
        }
        let shown: String = name.chars().take(40).collect();
        let words = ["any", "except", "limit"].into_iter().chain(BindingKind::ALL.map(BindingKind::word));
        let close = closest(name, words);
        let help = match close {
            Some(close) => format!("did you mean `{close}!`?"),
            None => "the names with `!` are `any!`, `except!`, `limit!`, `bind!`, `same!`, `other!` and `without_prefix!`"
                .into(),
        };
        self.report(
            Diagnostic::error(Code::UnexpectedInput, format!("there is no `{shown}!`"))
                .at(Span::new(start, self.cursor.position))
                .help(help),
        );
        match close {
            Some("except") => KbnfTokenKind::Except,
            Some("limit") => KbnfTokenKind::Limit,
            Some(close) => BindingKind::of_word(close).map_or(KbnfTokenKind::Broken, KbnfTokenKind::Binding),
            None => KbnfTokenKind::Broken,
        }
    }

    /// The remainder of the line, up to a bounded length.
    fn line(&self) -> &'s str {
        let rest = self.cursor.rest();
        let mut end = rest.len().min(MAX_SLIP_BYTES);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        rest[..end].split('\n').next().unwrap_or("")
    }
}

/// Whether `|name|>` (the part after `<`) needs no quotes: `name` is not empty, and its end is unambiguous.
pub(super) fn is_plain_token_name(rest: &str) -> bool {
    rest.strip_prefix('|')
        .and_then(|rest| rest.strip_suffix("|>"))
        .is_some_and(|name| !name.is_empty() && !name.contains(['|', '<', '>', '\r', '\n']))
}

/// Whether `c` is white space of KBNF.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

/// The tokens that are single characters.
fn single(c: char) -> Option<KbnfTokenKind> {
    Some(match c {
        '(' => KbnfTokenKind::Open(Bracket::Round),
        '[' => KbnfTokenKind::Open(Bracket::Square),
        '{' => KbnfTokenKind::Open(Bracket::Curly),
        ')' => KbnfTokenKind::Close(Bracket::Round),
        ']' => KbnfTokenKind::Close(Bracket::Square),
        '}' => KbnfTokenKind::Close(Bracket::Curly),
        '?' => KbnfTokenKind::Postfix(Postfix::Question),
        '*' => KbnfTokenKind::Postfix(Postfix::Star),
        '+' => KbnfTokenKind::Postfix(Postfix::Plus),
        '|' => KbnfTokenKind::Bar,
        ',' => KbnfTokenKind::Comma,
        ';' => KbnfTokenKind::Semicolon,
        _ => return None,
    })
}

/// The form and style that the name between `#` and the quote denotes.
fn pattern_form(name: &str) -> Option<(PatternForm, QuoteStyle)> {
    Some(match name {
        "" => (PatternForm::Whole, QuoteStyle::Regex),
        "r" => (PatternForm::Whole, QuoteStyle::Raw),
        "e" => (PatternForm::FirstMatch, QuoteStyle::Regex),
        "er" => (PatternForm::FirstMatch, QuoteStyle::Raw),
        "ex" => (PatternForm::WithoutMatch, QuoteStyle::Regex),
        "exr" => (PatternForm::WithoutMatch, QuoteStyle::Raw),
        "substrs" => (PatternForm::Substrings, QuoteStyle::Text),
        "substrsr" => (PatternForm::Substrings, QuoteStyle::Raw),
        _ => return None,
    })
}

/// The value of a bound; `None` if there are no digits.
fn bound(digits: &str) -> Result<Option<u32>, std::num::ParseIntError> {
    if digits.is_empty() { Ok(None) } else { digits.parse().map(Some) }
}
