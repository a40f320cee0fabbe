//! A search for the shortest ambiguous text of a grammar, with two of its parse trees.
//!
//! Ambiguity is undecidable (Cantor 1962; Chomsky and Schützenberger 1963), so the search is bounded: it computes the
//! words of each symbol by increasing length, with up to two derivations each, from the words of the parts, as the
//! algorithm of Cocke, Younger and Kasami does for one word. This is the bounded search of AMBER (Schröer 2001) and
//! CFGAnalyzer (Axelsson, Heljanko and Lange 2008), with dynamic programming in place of sentence enumeration and SAT. The
//! first rule with two trees of a word is ambiguous, and no shorter word of any reachable rule is.
//!
//! Words are sequences of bytes, of which one per byte class is tried, or of the terminals of a lexer. In the latter case,
//! terminals that occur only as alternatives of one choice are interchangeable, and one of them is tried.
//!
//! Every reported ambiguity is one. If none is reported, [`AmbiguitySearch::searched_length`] says up to which length all
//! words were compared. Nothing recurses, and work and memory are bounded by [`AmbiguityLimits`].

mod binary_rules;
mod derivations;

use std::sync::Arc;

use binary_rules::BinaryRules;
pub use binary_rules::WordAlphabet;
pub use derivations::AmbiguityLimits;
use derivations::{DerivationChoice, Outcome, WordTables};
use grammask_diagnostics::Deadline;
use grammask_grammar::Grammar;

/// A line of a parse tree: a rule or a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeLine {
    /// The distance from the root.
    pub depth: usize,
    /// The name of the rule, or the text of the terminal.
    pub label: String,
}

/// A text with two parse trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ambiguity {
    /// The rule that derives the text in two ways.
    pub rule: Arc<str>,
    /// The text: quoted bytes, or the labels of terminals with spaces between them.
    pub text: String,
    /// Two parse trees, in preorder.
    pub trees: [Vec<TreeLine>; 2],
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmbiguitySearch {
    /// The shortest ambiguous text that was found.
    pub ambiguity: Option<Ambiguity>,
    /// The length up to which all words were compared, in bytes or terminals; `None` if the grammar has parts that the search
    /// leaves out: values that must differ, parts in any order, embedded grammars and repetitions of more than 8 copies.
    pub searched_length: Option<usize>,
}

/// Searches for an ambiguous text of a grammar.
///
/// ```
/// use grammask::ambiguity::{WordAlphabet, AmbiguityLimits, search};
/// use grammask::{Limits, frontends::kbnf};
/// let (grammar, _) = kbnf::grammar(b"start ::= start '+' start | 'n';", "start", &Limits::default()).unwrap();
/// let found = search(&grammar, WordAlphabet::Bytes, &AmbiguityLimits::default()).ambiguity.unwrap();
/// assert_eq!((&*found.rule, &*found.text), ("start", "\"n+n+n\""));
/// ```
#[must_use]
pub fn search(grammar: &Grammar, alphabet: WordAlphabet, limits: &AmbiguityLimits) -> AmbiguitySearch {
    let deadline = Deadline::after(limits.time);
    let mut tables = WordTables::new(BinaryRules::new(grammar, alphabet), limits, deadline);
    let outcome = tables.search();
    let rules = tables.binary();
    let (ambiguity, searched_length) = match outcome {
        Outcome::Ambiguous(place) => {
            let choices = [DerivationChoice::First, DerivationChoice::Second];
            let mut trees = choices.map(|by| tables.tree(&place, by));
            if trees[0] == trees[1] {
                trees = choices.map(|by| tables.whole_tree(&place, by));
            }
            let rule = rules.name(place.symbol).clone();
            let text = rules.text_of(&place.word);
            (Some(Ambiguity { rule, text, trees }), place.word.len().checked_sub(1))
        }
        Outcome::Exhausted { searched_length } => (None, searched_length),
    };
    let searched_length = searched_length.filter(|_| rules.is_whole());
    AmbiguitySearch { ambiguity, searched_length }
}
