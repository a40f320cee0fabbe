//! What authors write out of habit from other notations: recognised as a whole, so that it gives one error with advice.

use super::{Kind, Scanner};
use grammask_diagnostics::{Code, Diagnostic, Span};

impl Scanner<'_> {
    /// `<name>`: a symbol in BNF, a token in many vocabularies, neither of them here.
    pub(super) fn angle_brackets(&mut self, start: usize, name: &str) -> Kind {
        self.position += name.len() + 1;
        let span = Span::new(start, self.position);
        let written = self.text(span);
        self.report(
            Diagnostic::error(Code::UnexpectedInput, format!("`{written}` is neither a symbol nor a token"))
                .at(span)
                .help(format!(
                    "write a symbol without the brackets (`{name}`), the token as `<\"{written}\">`"
                )),
        );
        Kind::Broken
    }

    /// The length of what looks like a regex class here: `[A-Z]`, `[^a]`, `[\d]`.
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

    pub(super) fn class(&mut self) -> Kind {
        let start = self.position;
        self.position += self.class_length().unwrap_or(1);
        let span = Span::new(start, self.position);
        let text = self.text(span);
        self.report(
            Diagnostic::error(
                Code::UnexpectedInput,
                format!("`{text}` is not a character class: brackets mean \"optional\""),
            )
            .at(span)
            .help(format!("write the regex `#r\"{text}\"`")),
        );
        Kind::Broken
    }

    /// Typographic quotes or a back quote, up to their partner on the line.
    pub(super) fn foreign_quotes(&mut self) -> Kind {
        let start = self.position;
        let is_foreign = |c: char| matches!(c, '\u{2018}'..='\u{201f}' | '«' | '»' | '`');
        let line = self.line();
        let mut quotes = line.char_indices().filter(|&(_, c)| is_foreign(c));
        let (_, first) = quotes.next().unwrap_or((0, '`'));
        let length = quotes.next().map_or(first.len_utf8(), |(offset, last)| offset + last.len_utf8());
        self.position += length;
        self.report(
            Diagnostic::error(
                Code::UnexpectedInput,
                format!("{first} (U+{:04X}) is not a quote of KBNF", first as u32),
            )
            .at(Span::new(start, self.position))
            .expected(["`\"`", "`'`"])
            .help("write straight quotes: \"...\" or '...'"),
        );
        Kind::Broken
    }

    /// `/regex/`, as other notations write it.
    pub(super) fn slashes(&mut self) -> Kind {
        let start = self.position;
        let Some(length) = self.line()[1..].find('/').filter(|&length| length > 0) else {
            self.position += 1;
            return Kind::Unknown;
        };
        self.position += length + 2;
        let span = Span::new(start, self.position);
        self.report(
            Diagnostic::error(Code::UnexpectedInput, "a regex does not stand between slashes")
                .at(span)
                .help(format!("write `#r\"{}\"`", &self.text(span)[1..length + 1])),
        );
        Kind::Broken
    }

    /// `//`, or `#` that no quote follows.
    pub(super) fn at_line_comment(&self) -> bool {
        let rest = self.rest();
        rest.starts_with("//")
            || rest.strip_prefix('#').is_some_and(|after| {
                !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '"' || c == '\'')
                    && !after.trim_start_matches([' ', '\t']).starts_with(['"', '\''])
            })
    }
}
