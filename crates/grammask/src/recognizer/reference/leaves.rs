//! Terminals as the recogniser reads them: words of a language, or events of tokens.

use super::Language;
use super::words::Words;
use crate::automata::TermId;
use crate::grammar::{Terminal, TokenReference};
use crate::vocabulary::{TokenId, Vocabulary};

/// A terminal.
#[derive(Clone, Copy, Debug)]
pub(super) enum Leaf {
    /// A word of `term` to which at most `tokens` tokens contribute.
    Word { term: TermId, tokens: Option<u32> },
    /// One event of this token.
    Event(TokenId),
    /// One event of any token that [`is_ordinary`].
    AnyEvent,
    /// A token that the vocabulary does not have.
    Missing,
}

impl Leaf {
    pub(super) fn new(terminal: &Terminal, vocabulary: &Vocabulary, words: &mut Words) -> Self {
        match terminal {
            Terminal::Literal(word) => Self::Word { term: words.literal(word), tokens: None },
            Terminal::Regular(term) => Self::Word { term: *term, tokens: None },
            Terminal::Limited { term, tokens } => Self::Word { term: *term, tokens: Some(*tokens) },
            Terminal::Token(TokenReference::Name(name)) => {
                vocabulary.special(name).map_or(Self::Missing, Self::Event)
            }
            Terminal::Token(TokenReference::Id(id)) if (*id as usize) < vocabulary.size() => {
                Self::Event(TokenId(*id))
            }
            Terminal::Token(TokenReference::Id(_)) => Self::Missing,
            Terminal::AnyToken => Self::AnyEvent,
        }
    }

    /// Which kinds of text the terminal derives.
    pub(super) fn language(self, vocabulary: &Vocabulary, words: &mut Words) -> Language {
        match self {
            Self::Word { term, tokens } => Language {
                empty: words.is_nullable(term),
                nonempty: tokens != Some(0) && words.has_nonempty_word(term),
            },
            Self::Event(_) => Language { empty: false, nonempty: true },
            Self::AnyEvent => Language {
                empty: false,
                nonempty: token_ids(vocabulary).any(|token| is_ordinary(vocabulary, token)),
            },
            Self::Missing => Language::default(),
        }
    }

    /// Whether the terminal matches an event of `token`.
    pub(super) fn is_event_of(self, token: TokenId, vocabulary: &Vocabulary) -> bool {
        match self {
            Self::Event(expected) => expected == token,
            Self::AnyEvent => is_ordinary(vocabulary, token),
            Self::Word { .. } | Self::Missing => false,
        }
    }
}

/// All token ids, padding included.
pub(super) fn token_ids(vocabulary: &Vocabulary) -> impl Iterator<Item = TokenId> {
    // A vocabulary has at most `Vocabulary::MAX_SIZE` ids, which is below 2^32.
    (0..vocabulary.size() as u32).map(TokenId)
}

/// Whether `token` has text and is neither special nor an end token.
pub(super) fn is_ordinary(vocabulary: &Vocabulary, token: TokenId) -> bool {
    vocabulary.token(token).is_some()
}
