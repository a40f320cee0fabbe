//! Displays a term in a syntax like that of regular expressions, for debugging and golden tests.

use std::fmt::Write;

use crate::term::arena::{Term, TermId, Terms};

/// Length in bytes after which the output is cut: subterms are shared, so it can be exponential in the
/// number of terms.
const MAX_DISPLAY_BYTES: usize = 400;

/// Output that is still to be written.
enum DisplayItem {
    Term(TermId, TermPrecedence),
    Text(&'static str),
    Counts(u32, Option<u32>),
}

/// Operator precedence; a term of lower precedence than its context is put in parentheses.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum TermPrecedence {
    Union,
    Intersection,
    Concat,
    Postfix,
}

impl Terms {
    /// The term as a regular expression over bytes, with `&` for intersection, `!` for complement, `first(..)` for a
    /// first match and `<..>` for a table state, identified by its content hash. The output is cut with `…` after
    /// 400 bytes.
    #[must_use]
    pub fn display(&self, term: TermId) -> String {
        let mut text = String::new();
        let mut stack = vec![DisplayItem::Term(term, TermPrecedence::Union)];
        while let Some(item) = stack.pop() {
            if text.len() > MAX_DISPLAY_BYTES {
                text.push('…');
                break;
            }
            match item {
                DisplayItem::Text(item) => text.push_str(item),
                DisplayItem::Counts(min, max) => push_counts(&mut text, min, max),
                DisplayItem::Term(term, context) => {
                    self.display_shallow(term, context, &mut text, &mut stack)
                }
            }
        }
        text
    }

    fn display_shallow(
        &self,
        term: TermId,
        context: TermPrecedence,
        text: &mut String,
        stack: &mut Vec<DisplayItem>,
    ) {
        let mut items = Vec::new();
        let own = match self.get(term) {
            Term::Nothing => return text.push_str("[]"),
            Term::Epsilon => return text.push_str("()"),
            Term::Bytes(set) => match set.only() {
                Some(byte) => return push_word(text, &[byte]),
                None => return text.push_str(&set.to_string()),
            },
            Term::Literal(chunk) if context < TermPrecedence::Postfix => {
                return push_word(text, chunk.as_slice());
            }
            Term::Literal(chunk) => {
                text.push('(');
                push_word(text, chunk.as_slice());
                return text.push(')');
            }
            Term::Table { .. } => {
                // 32 bits of the content hash suffice to compare two outputs by eye.
                let _ = write!(text, "<{:08x}>", self.content_hash(term) as u32);
                return;
            }
            Term::Concat(head, tail) => {
                items.extend([
                    DisplayItem::Term(*head, TermPrecedence::Concat),
                    DisplayItem::Term(*tail, TermPrecedence::Concat),
                ]);
                TermPrecedence::Concat
            }
            Term::Union(parts) => {
                join(&mut items, parts, "|", TermPrecedence::Union);
                TermPrecedence::Union
            }
            Term::Intersection(parts) => {
                join(&mut items, parts, "&", TermPrecedence::Intersection);
                TermPrecedence::Intersection
            }
            Term::Complement(part) => {
                items.extend([DisplayItem::Text("!"), DisplayItem::Term(*part, TermPrecedence::Postfix)]);
                TermPrecedence::Concat
            }
            Term::FirstMatch(part) => {
                items.extend([
                    DisplayItem::Text("first("),
                    DisplayItem::Term(*part, TermPrecedence::Union),
                    DisplayItem::Text(")"),
                ]);
                TermPrecedence::Postfix
            }
            Term::Repeat { term, min, max } => {
                items.extend([
                    DisplayItem::Term(*term, TermPrecedence::Postfix),
                    DisplayItem::Counts(*min, *max),
                ]);
                TermPrecedence::Concat
            }
        };
        if context > own {
            items.insert(0, DisplayItem::Text("("));
            items.push(DisplayItem::Text(")"));
        }
        stack.extend(items.into_iter().rev());
    }
}

fn join(items: &mut Vec<DisplayItem>, parts: &[TermId], separator: &'static str, precedence: TermPrecedence) {
    for (index, &part) in parts.iter().enumerate() {
        if index > 0 {
            items.push(DisplayItem::Text(separator));
        }
        items.push(DisplayItem::Term(part, precedence));
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
