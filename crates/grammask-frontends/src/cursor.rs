//! A cursor in a source text: the lexical primitives of the scanners of KBNF, GBNF and quoted text.

use grammask_diagnostics::Span;

/// A byte position in a source text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'s> {
    pub(crate) source: &'s str,
    /// Byte offset of the next character, at a character boundary.
    pub(crate) position: usize,
}

impl<'s> Cursor<'s> {
    /// A cursor at the start of `source`.
    pub(crate) fn new(source: &'s str) -> Self {
        Self { source, position: 0 }
    }

    /// The source at `span`.
    pub(crate) fn text(&self, span: Span) -> &'s str {
        &self.source[span.start..span.end]
    }

    /// The source from the position on.
    pub(crate) fn rest(&self) -> &'s str {
        &self.source[self.position..]
    }

    /// The next character.
    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Consumes the next character.
    pub(crate) fn bump(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.position += character.len_utf8();
        Some(character)
    }

    /// Consumes `text` if it is next; returns whether it was.
    pub(crate) fn eat(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        if is_next {
            self.position += text.len();
        }
        is_next
    }

    /// Consumes the longest prefix of characters that `accept` holds for.
    pub(crate) fn eat_while(&mut self, accept: impl Fn(char) -> bool) -> &'s str {
        let rest = self.rest();
        let length = rest.find(|character| !accept(character)).unwrap_or(rest.len());
        self.position += length;
        &rest[..length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_position_stays_at_a_character_boundary() {
        let mut cursor = Cursor::new("éé a");
        assert_eq!((cursor.bump(), cursor.position), (Some('é'), 2));
        assert_eq!((cursor.eat_while(|c| c == 'é'), cursor.position), ("é", 4));
        assert!(!cursor.eat("a") && cursor.eat(" a"));
        assert_eq!((cursor.peek(), cursor.bump(), cursor.rest()), (None, None, ""));
        assert_eq!(cursor.text(Span::new(2, 5)), "é ");
    }
}
