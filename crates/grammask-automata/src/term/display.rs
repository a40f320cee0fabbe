//! Prints a term in the manner of a regex, for people and for golden tests.

use std::fmt::Write;

use crate::term::arena::{Term, TermId, Terms};

/// A printed term ends after about so many bytes, since sharing can make it exponentially longer than it is.
const LONGEST: usize = 10_000;

enum Piece {
    Term(TermId, Binding),
    Text(&'static str),
    Counts(u32, Option<u32>),
}

/// How tightly a context binds: a term that binds less tightly gets parentheses.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Binding {
    Union,
    Intersection,
    Concat,
    Postfix,
}

impl Terms {
    /// The term in the manner of a regex over bytes, with `&` for intersection, `!` for complement,
    /// `first(..)` for a first match and `<..>` for a ready-made automaton, named by its content. A very
    /// long term is cut and ends in `…`.
    #[must_use]
    pub fn display(&self, term: TermId) -> String {
        let mut text = String::new();
        let mut stack = vec![Piece::Term(term, Binding::Union)];
        while let Some(piece) = stack.pop() {
            if text.len() > LONGEST {
                text.push('…');
                break;
            }
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Counts(min, max) => push_counts(&mut text, min, max),
                Piece::Term(term, context) => self.display_shallow(term, context, &mut text, &mut stack),
            }
        }
        text
    }

    fn display_shallow(&self, term: TermId, context: Binding, text: &mut String, stack: &mut Vec<Piece>) {
        let mut pieces = Vec::new();
        let own = match self.get(term) {
            Term::Nothing => return text.push_str("[]"),
            Term::Epsilon => return text.push_str("()"),
            Term::Bytes(set) => match set.only() {
                Some(byte) => return push_word(text, &[byte]),
                None => return text.push_str(&set.to_string()),
            },
            Term::Literal(chunk) if context < Binding::Postfix => return push_word(text, chunk.as_slice()),
            Term::Literal(chunk) => {
                text.push('(');
                push_word(text, chunk.as_slice());
                return text.push(')');
            }
            Term::Table { .. } => {
                // The content hash names the automaton; 32 bits of it are enough for people.
                let _ = write!(text, "<{:08x}>", self.content_hash(term) as u32);
                return;
            }
            Term::Concat(head, tail) => {
                pieces.extend([Piece::Term(*head, Binding::Concat), Piece::Term(*tail, Binding::Concat)]);
                Binding::Concat
            }
            Term::Union(parts) => {
                join(&mut pieces, parts, "|", Binding::Union);
                Binding::Union
            }
            Term::Intersection(parts) => {
                join(&mut pieces, parts, "&", Binding::Intersection);
                Binding::Intersection
            }
            Term::Complement(part) => {
                pieces.extend([Piece::Text("!"), Piece::Term(*part, Binding::Postfix)]);
                Binding::Concat
            }
            Term::FirstMatch(part) => {
                pieces.extend([Piece::Text("first("), Piece::Term(*part, Binding::Union), Piece::Text(")")]);
                Binding::Postfix
            }
            Term::Repeat { term, min, max } => {
                pieces.extend([Piece::Term(*term, Binding::Postfix), Piece::Counts(*min, *max)]);
                Binding::Concat
            }
        };
        if context > own {
            pieces.insert(0, Piece::Text("("));
            pieces.push(Piece::Text(")"));
        }
        stack.extend(pieces.into_iter().rev());
    }
}

fn join(pieces: &mut Vec<Piece>, parts: &[TermId], separator: &'static str, binding: Binding) {
    for (index, &part) in parts.iter().enumerate() {
        if index > 0 {
            pieces.push(Piece::Text(separator));
        }
        pieces.push(Piece::Term(part, binding));
    }
}

fn push_word(text: &mut String, word: &[u8]) {
    for &byte in word {
        if br".?*+|&!()[]{}<>".contains(&byte) {
            text.push('\\');
        }
        let _ = write!(text, "{}", byte.escape_ascii());
    }
}

fn push_counts(text: &mut String, min: u32, max: Option<u32>) {
    let _ = match (min, max) {
        (0, None) => write!(text, "*"),
        (1, None) => write!(text, "+"),
        (0, Some(1)) => write!(text, "?"),
        (min, None) => write!(text, "{{{min},}}"),
        (min, Some(max)) if min == max => write!(text, "{{{min}}}"),
        (min, Some(max)) => write!(text, "{{{min},{max}}}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ByteSet;

    #[test]
    fn prints_every_kind_of_term() {
        let mut terms = Terms::new();
        let word = terms.literal(b"a+\n");
        let letter = terms.bytes(ByteSet::range(b'a', b'z'));
        let letters = terms.repeat(letter, 2, Some(5));
        let either = terms.union(&[word, letters]);
        let option = terms.repeat(word, 0, Some(1));
        let both = terms.concat(&[option, letters]);
        let not = terms.complement(both);
        let text = terms.display(not);
        assert_eq!(text, r"!((a\+\n)?[a-z]{2,5})");
        assert!([r"a\+\n|[a-z]{2,5}", r"[a-z]{2,5}|a\+\n"].contains(&&*terms.display(either)));
        assert_eq!(terms.display(terms.nothing()), "[]");
        assert_eq!(terms.display(terms.epsilon()), "()");
    }

    #[test]
    fn deep_and_shared_terms_end() {
        let mut terms = Terms::new();
        let mut term = terms.literal(b"ab");
        for _ in 0..10_000 {
            let option = terms.repeat(term, 2, Some(3));
            term = terms.union(&[option, term]);
            term = terms.concat(&[term, term]);
        }
        assert!(terms.display(term).ends_with('…'));
    }
}
