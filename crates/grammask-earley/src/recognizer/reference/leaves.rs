//! Terminals of the reference recogniser: words of a language, or events of tokens.

use std::rc::Rc;

use super::Language;
use super::embedded::EmbeddedReference;
use super::words::Words;
use grammask_automata::TermId;
use grammask_grammar::{EmbeddedId, Terminal, TokenReference, TokenSelection, TokenSense};
use grammask_vocabulary::{TokenId, Vocabulary};

/// A terminal.
#[derive(Clone, Debug)]
pub(super) enum Leaf {
    /// A word of `term` to which at most `tokens` tokens contribute.
    Word { term: TermId, tokens: Option<u32> },
    /// One event of this token.
    Event(TokenId),
    /// One event of any token that [`is_ordinary`].
    AnyEvent,
    /// One event of any of these tokens.
    OneOf(Vec<TokenId>),
    /// A text of an embedded grammar to which at most `tokens` tokens contribute.
    Embedded { grammar: EmbeddedId, tokens: Option<u32> },
    /// A token that the vocabulary lacks.
    Missing,
}

impl Leaf {
    pub(super) fn new(terminal: &Terminal, vocabulary: &Vocabulary, words: &mut Words) -> Self {
        match terminal {
            Terminal::Literal(word) => Self::Word { term: words.literal(word), tokens: None },
            Terminal::Regular(term) => Self::Word { term: *term, tokens: None },
            Terminal::Limited { term, tokens } => Self::Word { term: *term, tokens: Some(*tokens) },
            &Terminal::Embedded { grammar, tokens } => Self::Embedded { grammar, tokens },
            Terminal::Token(reference) => find(reference, vocabulary).map_or(Self::Missing, Self::Event),
            Terminal::AnyToken => Self::AnyEvent,
            Terminal::OneOf(selection) => Self::OneOf(select(selection, vocabulary)),
        }
    }

    /// The kinds of text that the terminal matches.
    pub(super) fn language(
        &self,
        vocabulary: &Vocabulary,
        words: &mut Words,
        embedded: &[Rc<dyn EmbeddedReference + '_>],
    ) -> Language {
        match self {
            Self::Embedded { grammar, tokens } => {
                let Language { empty, nonempty } = embedded[grammar.index()].language();
                Language { empty, nonempty: nonempty && *tokens != Some(0) }
            }
            Self::Word { term, tokens } => Language {
                empty: words.is_nullable(*term),
                nonempty: *tokens != Some(0) && words.has_nonempty_word(*term),
            },
            Self::Event(_) => Language { empty: false, nonempty: true },
            Self::AnyEvent => Language {
                empty: false,
                nonempty: token_ids(vocabulary).any(|token| is_ordinary(vocabulary, token)),
            },
            Self::OneOf(tokens) => Language { empty: false, nonempty: !tokens.is_empty() },
            Self::Missing => Language::default(),
        }
    }

    /// Whether the terminal matches an event of `token`.
    pub(super) fn is_event_of(&self, token: TokenId, vocabulary: &Vocabulary) -> bool {
        match self {
            Self::Event(expected) => *expected == token,
            Self::OneOf(tokens) => tokens.contains(&token),
            Self::AnyEvent => is_ordinary(vocabulary, token),
            Self::Word { .. } | Self::Embedded { .. } | Self::Missing => false,
        }
    }
}

/// The token that a grammar names, if the vocabulary has it.
fn find(reference: &TokenReference, vocabulary: &Vocabulary) -> Option<TokenId> {
    match reference {
        TokenReference::Name(name) => vocabulary.special(name),
        TokenReference::Id(id) => ((*id as usize) < vocabulary.size()).then_some(TokenId(*id)),
        TokenReference::Written(text) => vocabulary.special(text).or_else(|| {
            let mut matching =
                token_ids(vocabulary).filter(|&id| vocabulary.token(id) == Some(text.as_bytes()));
            let only = matching.next();
            if matching.next().is_some() { None } else { only }
        }),
    }
}

/// The tokens of a selection.
fn select(selection: &TokenSelection, vocabulary: &Vocabulary) -> Vec<TokenId> {
    let listed: Vec<TokenId> =
        selection.tokens.iter().filter_map(|reference| find(reference, vocabulary)).collect();
    let is_listed = |id: TokenId| {
        listed.contains(&id) || selection.ranges.iter().any(|&(first, last)| first <= id.0 && id.0 <= last)
    };
    let is_token = |id: TokenId| is_ordinary(vocabulary, id) || vocabulary.is_special(id);
    token_ids(vocabulary)
        .filter(|&id| match selection.sense {
            TokenSense::Listed => is_listed(id),
            TokenSense::Others => !is_listed(id) && is_token(id) && !vocabulary.is_eos(id),
        })
        .collect()
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
