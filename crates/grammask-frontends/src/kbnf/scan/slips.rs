//! Syntax of other notations, recognised as a whole so that it causes one error with advice.

use super::{KbnfScanner, KbnfTokenKind};
use grammask_diagnostics::{Code, Diagnostic, Span};

impl KbnfScanner<'_> {
    /// `<name>`: a symbol in BNF and a token in many vocabularies, but neither in KBNF.
    pub(super) fn angle_brackets(&mut self, start: usize, name: &str) -> KbnfTokenKind {
        self.cursor.position += name.len() + 1;
        let span = Span::new(start, self.cursor.position);
        let written = self.text(span);
        self.report(
            Diagnostic::error(Code::UnexpectedInput, format!("`{written}` is neither a symbol nor a token"))
                .at(span)
                .help(format!(
                    "write a symbol without the brackets (`{name}`), the token as `<\"{written}\">`"
                )),
        );
        KbnfTokenKind::Broken
    }

    /// The length of a regex class at the position, such as `[A-Z]`, `[^a]` or `[\d]`, if there is one.
    pub(super) fn class_length(&self) -> Option<usize> {
        let line = self.line();
        let length = line.find(']')?;
        let inside = &line[1..length];
        let clear = !inside.is_empty() && !inside.contains(['"', '\'', '#', '(', '[', '{', '<', ';']);
        let ranged = inside.bytes().zip(inside.bytes().skip(1)).zip(inside.bytes().skip(2)).any(
            |((before, dash), after)| {
                dash == b'-' && before.is_ascii_alphanumeric() && after.is_ascii_alphanumeric()
            },
        );
        (clear && (ranged || inside.starts_with('^') || inside.contains('\\'))).then_some(length + 1)
    }

    pub(super) fn class(&mut self) -> KbnfTokenKind {
        let start = self.cursor.position;
        self.cursor.position += self.class_length().unwrap_or(1);
        let span = Span::new(start, self.cursor.position);
        let text = self.text(span);
        self.report(
            Diagnostic::error(
                Code::UnexpectedInput,
                format!("`{text}` is not a character class: brackets mean \"optional\""),
            )
            .at(span)
            .help(format!("write the regex `#r\"{text}\"`")),
        );
        KbnfTokenKind::Broken
    }

    /// Typographic quotes or a back quote, up to the closing one on the line.
    pub(super) fn foreign_quotes(&mut self) -> KbnfTokenKind {
        let start = self.cursor.position;
        let is_foreign = |c: char| matches!(c, '\u{2018}'..='\u{201f}' | '«' | '»' | '`');
        let line = self.line();
        let mut quotes = line.char_indices().filter(|&(_, c)| is_foreign(c));
        let (_, first) = quotes.next().unwrap_or((0, '`'));
        let length = quotes.next().map_or(first.len_utf8(), |(offset, last)| offset + last.len_utf8());
        self.cursor.position += length;
        self.report(
            Diagnostic::error(
                Code::UnexpectedInput,
                format!("{first} (U+{:04X}) is not a quote of KBNF", first as u32),
            )
            .at(Span::new(start, self.cursor.position))
            .expected(["`\"`", "`'`"])
            .help("write straight quotes: \"...\" or '...'"),
        );
        KbnfTokenKind::Broken
    }

    /// `/regex/`, as other notations write it.
    pub(super) fn slashes(&mut self) -> KbnfTokenKind {
        let start = self.cursor.position;
        let Some(length) = self.line()[1..].find('/').filter(|&length| length > 0) else {
            self.cursor.position += 1;
            return KbnfTokenKind::Unknown;
        };
        self.cursor.position += length + 2;
        let span = Span::new(start, self.cursor.position);
        self.report(
            Diagnostic::error(Code::UnexpectedInput, "a regex does not stand between slashes")
                .at(span)
                .help(format!("write `#r\"{}\"`", &self.text(span)[1..length + 1])),
        );
        KbnfTokenKind::Broken
    }

    /// Whether the position is at `//`, or at a `#` without a quote.
    pub(super) fn at_line_comment(&self) -> bool {
        let rest = self.cursor.rest();
        rest.starts_with("//")
            || rest.strip_prefix('#').is_some_and(|after| {
                !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '"' || c == '\'')
                    && !after.trim_start_matches([' ', '\t']).starts_with(['"', '\''])
            })
    }
}
