//! Splits a KBNF text into tokens, one at a time, and collects the diagnostics of scanner and parser.
//!
//! What is wrong within one token is reported here and the token is delivered as what it was meant to be, so that
//! one slip gives one error. Nothing is scanned more than a constant number of times: look-ahead ends at the line or
//! after a bounded length, and a quote or comment without an end stops the scanner.

mod slips;

use super::ast::{Bracket, PatternForm, Postfix};
use super::escape::{Style, closing_quote};
use grammask_diagnostics::{Code, Diagnostic, Severity, Span, closest};
use grammask_grammar::directives::DirectiveMode;

/// Most errors, and most warnings, that one text is reported to have.
pub(super) const MOST_DIAGNOSTICS: usize = 100;

/// How far a slip such as `[A-Z]` or `/regex/` is looked for, in bytes.
const SLIP_LENGTH: usize = 120;

/// The kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Identifier,
    /// `any!`
    Any,
    /// `except!`
    Except,
    /// A quoted terminal.
    Quoted {
        content: Span,
    },
    /// A `#` form.
    Pattern {
        form: PatternForm,
        style: Style,
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
    /// Something that other notations write for `::=`.
    DefineSlip,
    Number,
    /// `%name`
    Directive,
    /// Something that stands for an expression and was reported as wrong.
    Broken,
    /// Characters that no token begins with; not reported yet.
    Unknown,
    /// The end of the text, or the place where scanning stopped.
    End,
}

/// A token and its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Span,
}

/// The scanner of one text.
#[derive(Debug)]
pub(super) struct Scanner<'s> {
    source: &'s str,
    position: usize,
    /// Whether bytes that were not UTF-8 were reported and replaced with U+FFFD.
    repaired: bool,
    diagnostics: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
    stopped: bool,
    /// The first string that goes on over the end of its line.
    multiline: Option<Span>,
    directives: DirectiveMode,
}

impl<'s> Scanner<'s> {
    /// A scanner of `source`, in which `invalid` bytes were replaced with U+FFFD.
    pub(super) fn new(source: &'s str, invalid: &[Span], directives: DirectiveMode) -> Self {
        let mut scanner = Self {
            source,
            position: 0,
            repaired: !invalid.is_empty(),
            diagnostics: Vec::new(),
            errors: 0,
            warnings: 0,
            stopped: false,
            multiline: None,
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

    /// The text.
    pub(super) fn source(&self) -> &'s str {
        self.source
    }

    /// The text at a place.
    pub(super) fn text(&self, span: Span) -> &'s str {
        &self.source[span.start..span.end]
    }

    /// Whether scanning ended before the text did.
    pub(super) fn stopped(&self) -> bool {
        self.stopped
    }

    /// All diagnostics, in the order of the text.
    pub(super) fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        self.diagnostics.sort_by_key(|diagnostic| diagnostic.span.map_or(usize::MAX, |span| span.start));
        self.diagnostics
    }

    /// Keeps a diagnostic; enough errors stop the scanner, and further warnings are dropped.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        let count = match diagnostic.severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        if *count < MOST_DIAGNOSTICS {
            *count += 1;
            self.diagnostics.push(diagnostic);
        } else if diagnostic.severity == Severity::Error {
            self.stopped = true;
        }
    }

    /// Keeps a diagnostic that ends the work on this text.
    pub(super) fn stop(&mut self, diagnostic: Diagnostic) {
        if !self.stopped {
            self.report(diagnostic);
        }
        self.stopped = true;
    }

    /// The next token; [`Kind::End`] at the end, again and again.
    pub(super) fn next(&mut self) -> Token {
        self.skip_blank();
        let start = self.position;
        let kind = match self.rest().chars().next() {
            Some(first) if !self.stopped => self.token(first),
            _ => Kind::End,
        };
        if self.stopped {
            // Also after an error in this very token: what follows it has no meaning.
            self.position = self.source.len();
            return Token { kind: Kind::End, span: Span::new(start, start) };
        }
        Token { kind, span: Span::new(start, self.position) }
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

    /// Skips white space and comments.
    fn skip_blank(&mut self) {
        loop {
            let repaired = self.repaired;
            self.eat_while(|c| is_space(c) || repaired && c == char::REPLACEMENT_CHARACTER);
            let start = self.position;
            if self.eat("(*") {
                let Some(length) = self.rest().find("*)") else {
                    self.stop(
                        Diagnostic::error(Code::UnterminatedComment, "the comment has no end")
                            .at(Span::new(start, start + 2))
                            .expected(["`*)`"])
                            .help("a comment is written `(* ... *)`"),
                    );
                    return;
                };
                self.position += length + 2;
            } else if self.at_line_comment() {
                self.eat_while(|c| c != '\n');
                let span = Span::new(start, start + self.source[start..self.position].trim_end().len());
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

    /// The token that begins with `first`.
    fn token(&mut self, first: char) -> Kind {
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
                self.position += 1;
                self.eat_while(|c| c == '_' || c.is_ascii_alphanumeric());
                Kind::Directive
            }
            '%' => {
                self.eat_while(|c| c != '\n');
                Kind::Unknown
            }
            _ => match single(first) {
                Some(kind) => {
                    self.position += 1;
                    kind
                }
                None => {
                    self.eat_while(|c| {
                        !is_space(c)
                            && !c.is_alphanumeric()
                            && !"\"'#<:=-_/".contains(c)
                            && single(c).is_none()
                    });
                    Kind::Unknown
                }
            },
        }
    }

    /// Eats a quote, the text after it and the quote that ends it.
    fn content(&mut self, quote: char) -> Option<Span> {
        let open = self.position;
        let start = open + 1;
        let Some(end) = closing_quote(self.source, start, quote) else {
            let mut help = format!("close it with `{quote}`; within the string write `\\{quote}`");
            if let Some(earlier) = self.multiline {
                let line = grammask_diagnostics::Position::of(self.source, earlier.start).line;
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
        self.position = end + 1;
        if self.multiline.is_none() && self.source[start..end].contains('\n') {
            self.multiline = Some(Span::new(open, end + 1));
        }
        Some(Span::new(start, end))
    }

    fn quoted(&mut self, quote: char) -> Kind {
        self.content(quote).map_or(Kind::End, |content| Kind::Quoted { content })
    }

    /// `#`, the name of a form and a quoted text.
    fn pattern(&mut self) -> Kind {
        let start = self.position;
        self.position += 1;
        let name = self.eat_while(|c| c.is_ascii_alphanumeric());
        let form_end = self.position;
        let (form, style) = match pattern_form(name) {
            Some(form) => form,
            None => {
                let known = ["r", "e", "er", "ex", "exr", "substrs", "substrsr"];
                let help = match closest(name, known) {
                    Some(close) => format!("did you mean `#{close}\"...\"`?"),
                    None => "the forms are `#\"...\"`, `#e\"...\"`, `#ex\"...\"` and `#substrs\"...\"`, and with an `r` raw ones".into(),
                };
                self.report(
                    Diagnostic::error(Code::UnexpectedInput, format!("there is no form `#{name}`"))
                        .at(Span::new(start, form_end))
                        .help(help),
                );
                (PatternForm::Whole, Style::Raw)
            }
        };
        let blank = self.eat_while(is_space).len();
        let quote = match self.rest().chars().next() {
            Some(quote @ ('"' | '\'')) => quote,
            _ => {
                self.position = form_end;
                self.report(
                    Diagnostic::error(
                        Code::UnexpectedInput,
                        format!("`#{name}` needs a quoted text right after it"),
                    )
                    .at(Span::new(start, form_end))
                    .expected(["`\"`", "`'`"])
                    .help(format!("write `#{name}\"...\"`")),
                );
                return Kind::Broken;
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
        self.content(quote).map_or(Kind::End, |content| Kind::Pattern { form, style, content })
    }

    /// `<|name|>`, `<"name">`, `<[id]>`, or the `<name>` of other notations.
    fn token_reference(&mut self) -> Kind {
        let start = self.position;
        self.position += 1;
        let line = self.line();
        let bytes = line.as_bytes();
        match bytes.first() {
            Some(b'|') => {
                if let Some(length) =
                    line.find("|>").filter(|&length| is_plain_token_name(&line[..length + 2]))
                {
                    self.position += length + 2;
                    return Kind::TokenName;
                }
                self.skip_reference();
            }
            Some(&quote @ (b'"' | b'\'')) => {
                let Some(content) = self.content(char::from(quote)) else { return Kind::End };
                if self.eat(">") {
                    return Kind::TokenQuoted { content };
                }
            }
            Some(b'[') => {
                self.position += 1;
                self.eat_while(is_space);
                let number = self.eat_while(|c| c.is_ascii_digit()).parse().ok();
                self.eat_while(is_space);
                if let Some(id) = number
                    && self.eat("]>")
                {
                    return Kind::TokenId(id);
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
            .at(Span::new(start, self.position))
            .expected(["`<|name|>`", "`<\"name\">`", "`<[id]>`"])
            .help("write `<|name|>`, `<\"name\">` or `<[123]>`; for the character write \"<\""),
        );
        Kind::Broken
    }

    /// Skips what is left of a reference that is wrong: up to a `>`, if one comes before a blank or a semicolon.
    fn skip_reference(&mut self) {
        self.eat_while(|c| !is_space(c) && c != '>' && c != ';');
        self.eat(">");
    }

    /// Whether the brace here begins `{m,n}`: no expression begins with a digit or a comma.
    fn at_bounds(&self) -> bool {
        self.rest()[1..].trim_start_matches(is_space).starts_with(|c: char| c.is_ascii_digit() || c == ',')
    }

    /// `{m,n}`, `{m}`, `{m,}` or `{,n}`.
    fn bounds(&mut self) -> Kind {
        let start = self.position;
        self.position += 1;
        self.eat_while(is_space);
        let least = self.eat_while(|c| c.is_ascii_digit());
        self.eat_while(is_space);
        let comma = self.eat(",");
        self.eat_while(is_space);
        let most = if comma { self.eat_while(|c| c.is_ascii_digit()) } else { least };
        self.eat_while(is_space);
        let closed = self.eat("}");
        if !closed && let Some(length) = self.line().find(['}', ';']) {
            self.position += length;
            self.eat("}");
        }
        let fault = if !closed || least.is_empty() && most.is_empty() {
            Some(("the bounds of a repetition are not numbers", "write `{2,3}`, `{2}`, `{2,}` or `{,3}`"))
        } else {
            match (bound(least), bound(most)) {
                (Ok(min), Ok(max)) if max.is_none_or(|max| min.unwrap_or(0) <= max) => {
                    return Kind::Postfix(Postfix::Bounds { min: min.unwrap_or(0), max });
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
        if let Some((message, help)) = fault {
            let span = Span::new(start, self.position);
            let text: String = self.text(span).chars().take(40).collect();
            self.report(
                Diagnostic::error(Code::InvalidRepetition, message)
                    .at(span)
                    .found(format!("`{text}`"))
                    .help(help),
            );
        }
        Kind::Postfix(Postfix::Bounds { min: 0, max: None })
    }

    /// `::=` and `=`, and what others write for it.
    fn define(&mut self) -> Kind {
        if self.eat("::=") {
            return Kind::Define;
        }
        if [":=", "::", "==", "=>", "->", ":"].into_iter().any(|slip| self.eat(slip)) {
            return Kind::DefineSlip;
        }
        if self.eat("=") {
            return Kind::Define;
        }
        self.position += 1;
        Kind::Unknown
    }

    /// A name, `any!`, `except!`, a number, or a name with characters that names do not have.
    fn word(&mut self) -> Kind {
        let start = self.position;
        self.eat_while(|c| c == '_' || c.is_ascii_alphanumeric());
        while self.rest().starts_with(|c: char| c == '_' || c.is_alphanumeric())
            || self
                .rest()
                .strip_prefix('-')
                .is_some_and(|after| after.starts_with(|c: char| c.is_alphanumeric()))
        {
            self.position += self.rest().chars().next().map_or(0, char::len_utf8);
            self.eat_while(|c| c == '_' || c.is_alphanumeric());
        }
        let span = Span::new(start, self.position);
        let name = self.text(span);
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            return Kind::Number;
        }
        if self.eat("!") {
            return self.macro_name(start, name);
        }
        let fault = if !name.is_ascii() {
            Some("write the name in ASCII; for text use quotes")
        } else if name.contains('-') {
            Some("write `_` for `-`; an exception (\"this but not that\") is a regex: `#ex\"...\"`")
        } else if name.starts_with(|c: char| c.is_ascii_digit()) {
            Some("begin the name with a letter or `_`")
        } else {
            None
        };
        if let Some(help) = fault {
            let shown: String = name.chars().take(40).collect();
            self.report(
                Diagnostic::error(Code::UnexpectedInput, format!("`{shown}` is not a name"))
                    .at(span)
                    .expected(["ASCII letters, digits and `_`"])
                    .help(help),
            );
        }
        Kind::Identifier
    }

    fn macro_name(&mut self, start: usize, name: &str) -> Kind {
        match name {
            "any" => return Kind::Any,
            "except" => return Kind::Except,
            _ => {}
        }
        let shown: String = name.chars().take(40).collect();
        let help = match closest(name, ["any", "except"]) {
            Some(close) => format!("did you mean `{close}!`?"),
            None => "the names with `!` are `any!` and `except!`".into(),
        };
        self.report(
            Diagnostic::error(Code::UnexpectedInput, format!("there is no `{shown}!`"))
                .at(Span::new(start, self.position))
                .help(help),
        );
        if closest(name, ["except"]).is_some() { Kind::Except } else { Kind::Broken }
    }

    /// What is left of the line, cut to a bounded length.
    fn line(&self) -> &'s str {
        let rest = self.rest();
        let mut end = rest.len().min(SLIP_LENGTH);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        rest[..end].split('\n').next().unwrap_or("")
    }
}

/// Whether `|name|>` (the part after `<`) needs no quotes: `name` is not empty, and plain enough to find its end.
pub(super) fn is_plain_token_name(rest: &str) -> bool {
    rest.strip_prefix('|')
        .and_then(|rest| rest.strip_suffix("|>"))
        .is_some_and(|name| !name.is_empty() && !name.contains(['|', '<', '>', '\r', '\n']))
}

/// White space of KBNF.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

/// The tokens of one character.
fn single(c: char) -> Option<Kind> {
    Some(match c {
        '(' => Kind::Open(Bracket::Round),
        '[' => Kind::Open(Bracket::Square),
        '{' => Kind::Open(Bracket::Curly),
        ')' => Kind::Close(Bracket::Round),
        ']' => Kind::Close(Bracket::Square),
        '}' => Kind::Close(Bracket::Curly),
        '?' => Kind::Postfix(Postfix::Question),
        '*' => Kind::Postfix(Postfix::Star),
        '+' => Kind::Postfix(Postfix::Plus),
        '|' => Kind::Bar,
        ',' => Kind::Comma,
        ';' => Kind::Semicolon,
        _ => return None,
    })
}

/// What the name between `#` and the quote means.
fn pattern_form(name: &str) -> Option<(PatternForm, Style)> {
    Some(match name {
        "" => (PatternForm::Whole, Style::Regex),
        "r" => (PatternForm::Whole, Style::Raw),
        "e" => (PatternForm::FirstMatch, Style::Regex),
        "er" => (PatternForm::FirstMatch, Style::Raw),
        "ex" => (PatternForm::WithoutMatch, Style::Regex),
        "exr" => (PatternForm::WithoutMatch, Style::Raw),
        "substrs" => (PatternForm::Substrings, Style::Text),
        "substrsr" => (PatternForm::Substrings, Style::Raw),
        _ => return None,
    })
}

/// The value of a bound; no digits are no bound.
fn bound(digits: &str) -> Result<Option<u32>, std::num::ParseIntError> {
    if digits.is_empty() { Ok(None) } else { digits.parse().map(Some) }
}
