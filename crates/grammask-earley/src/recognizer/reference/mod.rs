//! The plain textbook Earley recogniser: the oracle that every fast path is compared with.
//!
//! It works on the grammar as a front end delivers it, without lowering, and shares no code with the fast path
//! except the derivatives of terminals ([`Terms`](grammask_automata::Terms)). It is written to be obviously right;
//! its cost is that of the textbook (cubic in the length of the text, and a set per byte).
//!
//! # What is in the language
//! - The alphabet is bytes and *token events*. Each token of the model is read either as its bytes or, where a
//!   token terminal stands, as one event of its id, each token independently of the others. A text is in the
//!   language if and only if the start symbol derives one of its readings. Special tokens and tokens without text
//!   are only ever events, and so are end tokens (where a grammar names one; adding them where the text is
//!   complete is the matcher's part). [`Terminal::AnyToken`] is one event of a token that has text and is neither
//!   special nor an end token.
//! - A text may be infinite: `start ::= "A" start`. What derives no text at all, finite or infinite, is never
//!   entered; the exact rule is in `pruning`. A terminal whose language is empty derives nothing, one that holds
//!   only the empty word derives the empty text.
//! - A text is a legal prefix if and only if the Earley set after it is not empty, where a terminal that can no
//!   longer reach a word is not an item.
//! - A [`Terminal::Limited`] matches a word to which at most `tokens` tokens contribute a byte. Bytes that are
//!   accepted without a token count as one token per call. What a vocabulary can spell plays no part: while one
//!   token is left, every rest of a word counts as reachable.
//! - The empty text is complete where the start symbol derives it. What that means for the end of generation is
//!   the matcher's decision.
//!
//! J. Earley, "An efficient context-free parsing algorithm", CACM 13(2), 1970. Nullable symbols are handled by
//! remembering what was completed empty in the set being made, so cycles and hidden left recursion end.
//!
//! [`Terminal::AnyToken`]: grammask_grammar::Terminal::AnyToken
//! [`Terminal::Limited`]: grammask_grammar::Terminal::Limited

mod chart;
mod leaves;
mod productions;
mod pruning;
mod words;

use std::cell::RefCell;

pub use chart::Chart;

use self::leaves::Leaf;
use self::productions::PlainGrammar;
use self::words::Words;
use grammask_grammar::Grammar;
use grammask_vocabulary::Vocabulary;

/// A grammar made ready for textbook recognition over one vocabulary.
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
    /// Without the productions that derive nothing.
    grammar: PlainGrammar,
    leaves: Vec<Leaf>,
    words: RefCell<Words>,
    vocabulary: &'v Vocabulary,
    start_language: Language,
}

/// Which kinds of text something derives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Language {
    /// The empty text.
    pub empty: bool,
    /// Some text that is not empty, finite or infinite.
    pub nonempty: bool,
}

impl<'v> Reference<'v> {
    /// Makes `grammar` ready. A token that the vocabulary does not have derives nothing.
    #[must_use]
    pub fn new(grammar: &Grammar, vocabulary: &'v Vocabulary) -> Self {
        let mut words = Words::new(grammar.terms().clone());
        let leaves: Vec<Leaf> = grammar
            .terminals()
            .iter()
            .map(|definition| Leaf::new(&definition.terminal, vocabulary, &mut words))
            .collect();
        let languages: Vec<Language> =
            leaves.iter().map(|leaf| leaf.language(vocabulary, &mut words)).collect();
        let (grammar, start_language) = pruning::prune(&PlainGrammar::new(grammar), &languages);
        Self { grammar, leaves, words: RefCell::new(words), vocabulary, start_language }
    }

    /// The chart of the empty text.
    #[must_use]
    pub fn chart(&self) -> Chart<'_> {
        Chart::new(self)
    }

    /// Which kinds of text the grammar derives; neither kind means that its language is empty.
    #[must_use]
    pub fn language(&self) -> Language {
        self.start_language
    }
}
