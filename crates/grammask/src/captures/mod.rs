//! Captures: where in a text the named parts of a grammar stand, exactly, also while the text still grows.
//!
//! The engine's recogniser answers yes or no and forgets how; masks need no more. A [`Parser`] remembers, at the places
//! that matter. It is an Earley parser (J. Earley, CACM 13(2), 1970) with back pointers over the *skeleton* of the
//! grammar: the rules through which a named part can be reached. Everything else, such as a whole JSON schema that is
//! one part of a template, is a *leaf*, read by the engine's own recogniser at one table lookup per byte.
//!
//! # Which reading
//! A grammar may read a text in many ways. The captures are those of one of them, fixed by two rules from the start
//! symbol downwards, in the manner of POSIX regular expressions:
//! - of a sequence, and of the copies of a repetition, the first part takes as much as it can while the rest still
//!   fits, then the second, and so on;
//! - of several alternatives that fit the same text, the first one counts.
//!
//! Copies of a repetition are never empty. While the text grows ([`Parse::growing`]) the same rules hold for the
//! beginnings of texts, and what has begun and can go on does: it takes everything up to the end. A rule never stands for
//! itself at the same place; where rules can stand for each other over the same text (`lowering` warns of unit cycles)
//! one of the readings without that is taken.
//!
//! # Tokens
//! A parser [with a vocabulary](Parser::with_vocabulary) also takes grammars that name or count tokens. Its texts are fed as
//! tokens, and places in them are counted in the bytes of these: a token without text, such as a special one, takes none.
//!
//! # Cost
//! Linear in the text for what people write as templates: a set of back pointers is kept only where something begins that
//! is still of interest. The worst case is Earley's, cubic; a right-recursive list of parts is quadratic in the number of
//! parts. Reading the captures off costs the length of the derivation that they belong to. Nothing recurses.

mod chart;
mod derivation;
mod leaves;
mod skeleton;

use std::sync::{Arc, PoisonError, RwLock};

pub use derivation::Capture;
pub use skeleton::PartId;

use crate::named_tokens;
use grammask_diagnostics::{Code, Deadline, Diagnostic, GrammarError, LimitExceeded, Limits};
use grammask_earley::lowering;
use grammask_engine::TokenEvent;
use grammask_grammar::{Grammar, Terminal, TerminalDefinition};
use grammask_vocabulary::{TokenId, Vocabulary};

use chart::Chart;
use derivation::Derivation;
use leaves::Leaves;
use skeleton::Skeleton;

/// How many bytes are read between two looks at the clock.
const BYTES_PER_CHECK: usize = 256;

/// Finds the named parts of texts of one grammar; shared by all that read texts under it.
///
/// ```
/// use grammask::captures::Parser;
/// use grammask::{Limits, frontends::kbnf};
///
/// let text = br##"start ::= "(" number "," number ")"; number ::= #"[0-9]+";"##;
/// let (grammar, _) = kbnf::grammar(text, "start", &Limits::default())?;
/// let parser = Parser::new(&grammar, &["number"], &Limits::default())?;
/// let mut parse = parser.parse()?;
/// assert_eq!(parse.feed(b"(12,3")?, 5);
/// let spans: Vec<_> = parse.growing().iter().map(|capture| (capture.start, capture.end, capture.is_closed)).collect();
/// assert_eq!(spans, [(1, 3, true), (4, 5, false)]);
/// assert!(parse.whole().is_none());
/// assert_eq!(parse.feed(b")")?, 1);
/// assert_eq!(parse.whole().map(|captures| captures.len()), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Parser {
    skeleton: Skeleton,
    leaves: RwLock<Arc<Leaves>>,
    vocabulary: Option<Arc<Vocabulary>>,
    limits: Limits,
}

impl Parser {
    /// Makes a parser that captures the nonterminals called `parts`.
    ///
    /// # Errors
    /// As [`lowering::lower`]; names that the grammar does not have; terminals that are tokens of a model, or count
    /// them: these need a vocabulary.
    pub fn new(grammar: &Grammar, parts: &[&str], limits: &Limits) -> Result<Arc<Self>, GrammarError> {
        Self::made(grammar, parts, None, limits)
    }

    /// Makes a parser that captures the nonterminals called `parts` from tokens of `vocabulary`.
    ///
    /// # Errors
    /// As [`lowering::lower`]; names that the grammar does not have, and tokens that the vocabulary does not have.
    pub fn with_vocabulary(
        grammar: &Grammar,
        parts: &[&str],
        vocabulary: Arc<Vocabulary>,
        limits: &Limits,
    ) -> Result<Arc<Self>, GrammarError> {
        Self::made(grammar, parts, Some(vocabulary), limits)
    }

    fn made(
        grammar: &Grammar,
        parts: &[&str],
        vocabulary: Option<Arc<Vocabulary>>,
        limits: &Limits,
    ) -> Result<Arc<Self>, GrammarError> {
        let fail = |diagnostics| GrammarError::new(diagnostics, grammar.source().clone());
        let unknown: Vec<Diagnostic> = parts
            .iter()
            .filter(|name| {
                !grammar.nonterminals().iter().any(|known| &*known.name == **name && known.defined)
            })
            .map(|name| {
                Diagnostic::error(
                    Code::UndefinedSymbol,
                    format!("the grammar has no rule `{name}` to capture"),
                )
            })
            .collect();
        if !unknown.is_empty() {
            return Err(fail(unknown));
        }
        let mut productions = lowering::flatten(grammar, limits)?;
        let over = |limit: LimitExceeded| fail(vec![limit.diagnostic()]);
        let (skeleton, leaf_symbols) = Skeleton::new(&mut productions, parts).map_err(over)?;
        let reached = productions.reachable();
        let used = productions.rules.iter().zip(reached).filter(|&(_, reached)| reached);
        let mut tokens: Vec<Diagnostic> = Vec::new();
        let mut seen = vec![false; productions.terminals.len()];
        for symbol in used.flat_map(|(rule, _)| rule.body.symbols()) {
            let lowering::Symbol::Terminal(id) = symbol else { continue };
            let definition = &productions.terminals[id.index()];
            let is_bytes = matches!(definition.terminal, Terminal::Literal(_) | Terminal::Regular(_));
            if !std::mem::replace(&mut seen[id.index()], true) && !is_bytes && vocabulary.is_none() {
                let message = format!("`{}` is made of tokens, and captures of bytes", definition.label);
                tokens.push(
                    Diagnostic::error(Code::UnsupportedGrammar, message)
                        .help("give the vocabulary, and feed tokens"),
                );
            }
        }
        if !tokens.is_empty() {
            return Err(fail(tokens));
        }
        if let Some(vocabulary) = &vocabulary {
            let used = productions.terminals.iter().zip(seen).filter(|&(_, seen)| seen);
            let used: Vec<TerminalDefinition> = used.map(|(definition, _)| definition.clone()).collect();
            named_tokens::matches(&used, vocabulary).map_err(fail)?;
        }
        let leaves =
            Leaves::new(Arc::new(productions), leaf_symbols, vocabulary.clone(), limits).map_err(over)?;
        let leaves = RwLock::new(Arc::new(leaves));
        Ok(Arc::new(Self { skeleton, leaves, vocabulary, limits: limits.clone() }))
    }

    /// A parse at the beginning of a text.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn parse(self: &Arc<Self>) -> Result<Parse, LimitExceeded> {
        let leaves = {
            let mut leaves = self.leaves.write().unwrap_or_else(PoisonError::into_inner);
            if leaves.memory_bytes() > self.limits.memory_bytes / 2 {
                // What is in use stays with those that use it.
                *leaves = Arc::new(leaves.renewed());
            }
            leaves.clone()
        };
        let chart = Chart::new(&self.skeleton, &mut leaves.run(), &self.limits)?;
        Ok(Parse { parser: self.clone(), leaves, chart, is_ended: false })
    }
}

/// A text that is being read. A clone goes on independently.
#[derive(Clone, Debug)]
pub struct Parse {
    parser: Arc<Parser>,
    leaves: Arc<Leaves>,
    chart: Chart,
    /// Whether an end token was read.
    is_ended: bool,
}

impl Parse {
    /// Reads bytes as far as they are the beginning of a text, and returns how many that were. What counts tokens takes
    /// them as one.
    ///
    /// # Errors
    /// When a limit is exceeded; the parse is of no use any more then, and has no captures.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<usize, LimitExceeded> {
        let deadline = Deadline::after(self.parser.limits.time);
        let mut leaves = self.leaves.run();
        let limits = &self.parser.limits;
        if self.is_ended {
            return Ok(0);
        }
        for (count, &byte) in bytes.iter().enumerate() {
            if count % BYTES_PER_CHECK == BYTES_PER_CHECK - 1 {
                deadline.check()?;
            }
            if !self.chart.step(byte, &self.parser.skeleton, &mut leaves, limits)? {
                return Ok(count);
            }
        }
        if self.parser.vocabulary.is_some() {
            self.chart.end_token(&mut leaves)?;
        }
        Ok(bytes.len())
    }

    /// Reads tokens as far as they are the beginning of a text, and returns how many that were. After a whole text end
    /// tokens may come. Without a vocabulary, and for ids that it does not have, no token is read.
    ///
    /// # Errors
    /// When a limit is exceeded; the parse is of no use any more then, and has no captures.
    pub fn feed_tokens(&mut self, tokens: &[TokenId]) -> Result<usize, LimitExceeded> {
        let Some(vocabulary) = &self.parser.vocabulary else { return Ok(0) };
        let deadline = Deadline::after(self.parser.limits.time);
        let mut leaves = self.leaves.run();
        for (count, &id) in tokens.iter().enumerate() {
            if count % BYTES_PER_CHECK == BYTES_PER_CHECK - 1 {
                deadline.check()?;
            }
            if id.0 as usize >= vocabulary.size() {
                return Ok(count);
            }
            if vocabulary.is_eos(id) && (self.is_ended || self.chart.is_complete) {
                self.is_ended = true;
                continue;
            }
            let text = vocabulary.token(id);
            let event = TokenEvent { id, has_text: text.is_some() };
            let (skeleton, limits) = (&self.parser.skeleton, &self.parser.limits);
            let bytes = text.unwrap_or_default();
            if self.is_ended || !self.chart.step_token(event, bytes, skeleton, &mut leaves, limits)? {
                return Ok(count);
            }
        }
        Ok(tokens.len())
    }

    /// How many bytes were read.
    #[must_use]
    pub fn position(&self) -> usize {
        self.chart.position
    }

    /// Whether what was read is a whole text.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.chart.is_complete
    }

    /// The captures of the text, in the order in which they begin, outer ones first; `None` if more has to come.
    #[must_use]
    pub fn whole(&self) -> Option<Vec<Capture>> {
        self.chart.is_complete.then(|| Derivation::of_whole(&self.parser.skeleton, &self.chart))
    }

    /// The captures of a text that may go on. Where nothing can follow they are those of the whole text.
    #[must_use]
    pub fn growing(&self) -> Vec<Capture> {
        if self.chart.threads.is_empty() || self.is_ended {
            return self.whole().unwrap_or_default();
        }
        Derivation::of_growing(&self.parser.skeleton, &self.chart)
    }
}
