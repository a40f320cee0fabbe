//! The plain textbook Earley recogniser: the oracle that every fast path is compared with.
//!
//! It reads the intermediate representation, without lowering, and shares no code with the fast path except the
//! derivatives of terminals ([`Terms`](grammask_automata::Terms)). It is written to be obviously correct; its cost is
//! that of the textbook (cubic in the length of the text, with a set per byte).
//!
//! # The language of a grammar
//! - The alphabet consists of bytes and *token events*. Each token of the model is read either as its bytes or, by a
//!   token terminal, as one event of its id, independently of other tokens. A text is in the language if and only if
//!   the start symbol derives one of its readings. Special tokens and tokens without text are read as events only, and
//!   so are end tokens that a grammar names (the matcher adds end tokens after complete texts). [`Terminal::AnyToken`]
//!   is one event of a token that has text and is neither special nor an end token.
//! - A text may be infinite: `start ::= "A" start`. Symbols that derive no text, finite or infinite, are never
//!   predicted; `pruning` has the exact rule. A terminal with an empty language is unproductive, and one whose
//!   language is the empty word derives the empty text.
//! - A text is a viable prefix if and only if the Earley set after it is not empty, where items inside a terminal that
//!   cannot reach a word are left out.
//! - A [`Terminal::Limited`] matches a word to which at most `tokens` tokens contribute a byte. Bytes that are
//!   accepted without a token count as one token per call. After a token, an item inside a word stays only if the
//!   shortest word that completes it can be spelled with the tokens that are left. Of the words whose bytes are tokens
//!   by themselves, the smallest shortest one counts. Items before a terminal are not subject to this condition.
//! - A [`Terminal::Embedded`] matches a text of another grammar, of which an [`EmbeddedReference`] is the oracle. Its
//!   maximum of tokens has the same meaning; its words name no tokens.
//! - The empty text is complete if the start symbol derives it. The matcher decides whether generation may end there.
//!
//! J. Earley, "An efficient context-free parsing algorithm", CACM 13(2), 1970. Nullable symbols are handled by
//! recording the empty completions of the current set, so cycles and hidden left recursion terminate.
//!
//! [`Terminal::AnyToken`]: grammask_grammar::Terminal::AnyToken
//! [`Terminal::Limited`]: grammask_grammar::Terminal::Limited
//! [`Terminal::Embedded`]: grammask_grammar::Terminal::Embedded

mod chart;
mod embedded;
mod leaves;
mod productions;
mod pruning;
mod words;

use std::cell::RefCell;
use std::rc::Rc;

pub use chart::Chart;
pub use embedded::{EmbeddedReference, LastPiece, PieceReading};

use self::leaves::Leaf;
use self::productions::PlainGrammar;
use self::words::Words;
use grammask_grammar::Grammar;
use grammask_vocabulary::Vocabulary;

/// A grammar in plain productions, for textbook recognition over one vocabulary.
///
/// ```
/// use grammask_diagnostics::Span;
/// use grammask_earley::masks::brute_force;
/// use grammask_earley::recognizer::reference::Reference;
/// use grammask_grammar::GrammarBuilder;
/// use grammask_vocabulary::{TokenId, Vocabulary};
///
/// // start ::= "a" start | "b";
/// let mut builder = GrammarBuilder::new("");
/// let span = Span::default();
/// let start = builder.nonterminal("start", span);
/// let (a, b, more) = (builder.literal(b"a", span), builder.literal(b"b", span), builder.reference(start, span));
/// let a_more = builder.sequence(vec![a, more], span);
/// let body = builder.choice(vec![a_more, b], span);
/// builder.define(start, body, span);
/// let grammar = builder.finish(start);
///
/// let tokens = [Some("a"), Some("ab"), Some("ba"), Some("b")].into_iter().collect();
/// let vocabulary = Vocabulary::new(tokens, vec![], vec![], None)?;
/// let reference = Reference::new(&grammar, &vocabulary);
/// let mut chart = reference.chart();
/// assert!(brute_force::mask(&chart, &vocabulary).iter().eq([0, 1, 3].map(TokenId)));
/// assert!(chart.accept_token(TokenId(1)));
/// assert!(chart.is_complete());
/// # Ok::<(), grammask_vocabulary::VocabularyError>(())
/// ```
#[derive(Debug)]
pub struct Reference<'v> {
    /// Without unproductive productions.
    grammar: PlainGrammar,
    leaves: Vec<Leaf>,
    words: RefCell<Words>,
    embedded: Vec<Rc<dyn EmbeddedReference + 'v>>,
    vocabulary: &'v Vocabulary,
    start_language: Language,
}

/// The kinds of text that a symbol derives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Language {
    /// The empty text.
    pub empty: bool,
    /// A nonempty text, finite or infinite.
    pub nonempty: bool,
}

impl<'v> Reference<'v> {
    /// Converts a grammar. Terminals of tokens that the vocabulary lacks are unproductive.
    #[must_use]
    pub fn new(grammar: &Grammar, vocabulary: &'v Vocabulary) -> Self {
        Self::with_embedded(grammar, vocabulary, Vec::new())
    }

    /// As [`new`](Self::new), with the oracles of the embedded grammars.
    #[must_use]
    pub fn with_embedded(
        grammar: &Grammar,
        vocabulary: &'v Vocabulary,
        embedded: Vec<Rc<dyn EmbeddedReference + 'v>>,
    ) -> Self {
        let mut words = Words::new(grammar.terms().clone());
        let leaves: Vec<Leaf> = grammar
            .terminals()
            .iter()
            .map(|definition| Leaf::new(&definition.terminal, vocabulary, &mut words))
            .collect();
        let languages: Vec<Language> =
            leaves.iter().map(|leaf| leaf.language(vocabulary, &mut words, &embedded)).collect();
        let (grammar, start_language) = pruning::prune(&PlainGrammar::new(grammar), &languages);
        Self { grammar, leaves, words: RefCell::new(words), embedded, vocabulary, start_language }
    }

    /// The chart of the empty text.
    #[must_use]
    pub fn chart(&self) -> Chart<'_> {
        Chart::new(self)
    }

    /// The kinds of text that the grammar derives; without either the language is empty.
    #[must_use]
    pub fn language(&self) -> Language {
        self.start_language
    }
}
