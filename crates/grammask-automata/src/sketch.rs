//! Random languages for property tests of this crate and of `grammask-earley`, which includes this file: a feature for it
//! would compile all crates once for the tests and once for the extension.

use proptest::prelude::*;

use super::{ByteSet, TermId, Terms};

/// A description of a language over the letters `a`, `b` and `c`.
#[derive(Clone, Debug)]
pub enum Sketch {
    /// A finite set of words.
    Words(Vec<String>),
    /// The one-byte words of these bytes.
    Letters(Vec<u8>),
    /// The concatenation of the parts.
    Concatenation(Vec<Sketch>),
    /// The union of the parts.
    Union(Vec<Sketch>),
    /// A part, with minimum and maximum number of copies.
    Repetition(Box<Sketch>, u32, Option<u32>),
    /// The difference of the first language and the others.
    Without(Box<Sketch>, Vec<Sketch>),
    /// The first matches of a language.
    FirstMatch(Box<Sketch>),
    /// All byte strings.
    Anything,
}

impl Sketch {
    /// The language as a term.
    pub fn term(&self, terms: &mut Terms) -> TermId {
        let all = |terms: &mut Terms, parts: &[Self]| -> Vec<TermId> {
            parts.iter().map(|part| part.term(terms)).collect()
        };
        match self {
            Self::Words(words) => {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                terms.literals(&words)
            }
            Self::Letters(letters) => {
                let letters = letters.iter().map(|&letter| ByteSet::single(letter));
                terms.bytes(letters.fold(ByteSet::EMPTY, ByteSet::union))
            }
            Self::Concatenation(parts) => {
                let parts = all(terms, parts);
                terms.concat(&parts)
            }
            Self::Union(parts) => {
                let parts = all(terms, parts);
                terms.union(&parts)
            }
            Self::Repetition(part, min, max) => {
                let part = part.term(terms);
                terms.repeat(part, *min, *max)
            }
            Self::Without(all, excluded) => {
                let mut parts = vec![all.term(terms)];
                for excluded in excluded {
                    let excluded = excluded.term(terms);
                    parts.push(terms.complement(excluded));
                }
                terms.intersection(&parts)
            }
            Self::FirstMatch(part) => {
                let part = part.term(terms);
                terms.first_match(part)
            }
            Self::Anything => terms.anything(),
        }
    }
}

/// A strategy for random languages.
pub fn sketch() -> impl Strategy<Value = Sketch> {
    let words = prop::collection::vec("[abc]{0,4}", 1..6).prop_map(Sketch::Words);
    let letters = prop::collection::vec(prop::sample::select(b"abc".to_vec()), 1..3);
    let leaves = prop_oneof![
        6 => words,
        6 => letters.prop_map(Sketch::Letters),
        1 => Just(Sketch::Anything),
    ];
    leaves.prop_recursive(4, 16, 3, |part| {
        let parts = || prop::collection::vec(part.clone(), 1..4);
        let boxed = || part.clone().prop_map(Box::new);
        prop_oneof![
            3 => parts().prop_map(Sketch::Concatenation),
            2 => parts().prop_map(Sketch::Union),
            3 => (boxed(), 0..3_u32, prop::option::of(2..4_u32))
                .prop_map(|(part, min, max)| Sketch::Repetition(part, min, max)),
            3 => (boxed(), parts()).prop_map(|(all, excluded)| Sketch::Without(all, excluded)),
            1 => boxed().prop_map(Sketch::FirstMatch),
        ]
    })
}
