//! Captures: the spans of the named parts of a grammar in a text, exact also while the text grows.
//!
//! The recogniser that computes masks keeps no derivations. A [`CaptureParser`] does, where captures depend on them. It
//! is an Earley parser (J. Earley, CACM 13(2), 1970) with back pointers over the *skeleton* of the grammar: the rules
//! from which a named part is reachable. All other symbols, such as a JSON schema that is one part of a template, are
//! *leaves*, which the recogniser reads at one table lookup per byte.
//!
//! # Disambiguation
//! The captures are those of one derivation, which two rules select from the start symbol downwards, as in POSIX
//! regular expressions:
//! - in a sequence, and among the copies of a repetition, the first symbol takes the longest text with which the
//!   remaining symbols still match, then the second, and so on;
//! - among alternatives that match the same text, the first is selected.
//!
//! Copies of a repetition are never empty. While the text grows ([`CaptureParse::growing`]) the same rules apply to
//! viable prefixes, and a symbol that has begun and can continue extends to the end of the text. A derivation never
//! contains a rule inside itself over the same span; for rules that derive each other over the same text (`lowering`
//! warns of unit cycles) a derivation without such a cycle is selected.
//!
//! Conditions on values decide which texts are read, by a recogniser for the whole text where parts are inside scopes.
//! The derivation is selected as if values had no conditions.
//!
//! # Tokens
//! A parser [with a vocabulary](CaptureParser::new) also accepts grammars that name or count tokens. It reads tokens,
//! and positions are counted in their bytes: a token without text, such as a special token, has length 0.
//!
//! # Cost
//! Linear in the text for typical templates: back pointers are stored only for columns to which a thread or an item
//! still refers. The worst case is Earley's, cubic; a right-recursive list of parts is quadratic in the number of
//! parts. Extracting the captures costs the length of the derivation that contains them. Nothing recurses.

mod chart;
mod derivation;
mod ended_parts;
mod leaves;
mod open_parts;
mod skeleton;

use std::sync::{Arc, PoisonError, RwLock};

pub use derivation::Capture;
pub use skeleton::PartId;

use crate::embedded::{EmbeddedEngines, EmbeddedGrammar};
use crate::named_tokens;
use grammask_diagnostics::{Code, Deadline, Diagnostic, GrammarError, LimitExceeded, Limits};
use grammask_earley::lowering;
use grammask_engine::TokenEvent;
use grammask_grammar::{Grammar, Terminal, TerminalDefinition};
use grammask_vocabulary::{TokenId, Vocabulary};

use chart::CaptureChart;
use derivation::Derivation;
use leaves::{LeafReaders, LeafRun, LeafState};
use skeleton::{LeafId, Skeleton};

/// Number of bytes between two checks of the deadline.
const BYTES_PER_CHECK: usize = 256;

/// Finds the named parts in texts of one grammar. Shared by all parses under it.
///
/// ```
/// use grammask::captures::CaptureParser;
/// use grammask::{Limits, frontends::kbnf};
///
/// let text = br##"start ::= "(" number "," number ")"; number ::= #"[0-9]+";"##;
/// let (grammar, _) = kbnf::grammar(text, "start", &Limits::default())?;
/// let parser = CaptureParser::new(&grammar, &[], &["number"], None, &Limits::default())?;
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
pub struct CaptureParser {
    skeleton: Skeleton,
    leaves: RwLock<Arc<LeafReaders>>,
    /// The leaf of the whole text, if values around the parts must differ, or be repeated.
    whole: Option<LeafId>,
    vocabulary: Option<Arc<Vocabulary>>,
    limits: Limits,
}

impl CaptureParser {
    /// A parser that captures the nonterminals called `parts`, with the grammars that `grammar` embeds, in their order.
    /// The parts are rules of `grammar`, not of these. A grammar that names or counts tokens needs a vocabulary.
    ///
    /// # Errors
    /// As [`lowering::lower`], of all of these grammars; undefined names; terminals that match or count tokens, without
    /// a vocabulary; names of tokens that the vocabulary lacks.
    pub fn new(
        grammar: &Grammar,
        embedded: &[EmbeddedGrammar],
        parts: &[&str],
        vocabulary: Option<Arc<Vocabulary>>,
        limits: &Limits,
    ) -> Result<Arc<Self>, GrammarError> {
        let fail = |diagnostics| GrammarError::new(diagnostics, grammar.source().clone());
        let unknown: Vec<Diagnostic> = parts
            .iter()
            .filter(|name| {
                !grammar
                    .nonterminals()
                    .iter()
                    .any(|nonterminal| &*nonterminal.name == **name && nonterminal.defined)
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
        let (skeleton, mut leaf_symbols) = Skeleton::new(&mut productions, parts).map_err(over)?;
        // A text is read as a whole too if conditions on values around the parts decide about it.
        let whole = skeleton.has_values.then(|| LeafId::new(leaf_symbols.len()));
        leaf_symbols.extend(whole.map(|_| lowering::Symbol::Nonterminal(productions.start)));
        let reached = productions.reachable();
        let used = productions.rules.iter().zip(reached).filter(|&(_, reached)| reached);
        let mut tokens: Vec<Diagnostic> = Vec::new();
        let mut used_terminals = vec![false; productions.terminals.len()];
        for symbol in used.flat_map(|(rule, _)| rule.body.symbols()) {
            let lowering::Symbol::Terminal(id) = symbol else { continue };
            let definition = &productions.terminals[id.index()];
            let is_bytes = matches!(
                definition.terminal,
                Terminal::Literal(_) | Terminal::Regular(_) | Terminal::Embedded { tokens: None, .. }
            );
            if !std::mem::replace(&mut used_terminals[id.index()], true) && !is_bytes && vocabulary.is_none()
            {
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
            let used = productions.terminals.iter().zip(used_terminals).filter(|&(_, used)| used);
            let used: Vec<TerminalDefinition> = used.map(|(definition, _)| definition.clone()).collect();
            named_tokens::matches(&used, vocabulary).map_err(fail)?;
        }
        let embedded = EmbeddedEngines::new(grammar, embedded, vocabulary.as_ref(), limits)?;
        let leaves =
            LeafReaders::new(Arc::new(productions), leaf_symbols, vocabulary.clone(), embedded, limits)
                .map_err(over)?;
        let leaves = RwLock::new(Arc::new(leaves));
        Ok(Arc::new(Self { skeleton, leaves, whole, vocabulary, limits: limits.clone() }))
    }

    /// A parse of the empty text.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn parse(self: &Arc<Self>) -> Result<CaptureParse, LimitExceeded> {
        let leaves = {
            let mut leaves = self.leaves.write().unwrap_or_else(PoisonError::into_inner);
            if leaves.memory_bytes() > self.limits.memory_bytes / 2 {
                // Parses in progress keep the old readers.
                *leaves = Arc::new(leaves.with_empty_caches());
            }
            leaves.clone()
        };
        let chart = CaptureChart::new(&self.skeleton, &mut leaves.run(), &self.limits)?;
        let whole = match self.whole {
            Some(leaf) => leaves.run().start(leaf)?,
            None => None,
        };
        Ok(CaptureParse { parser: self.clone(), leaves, chart, whole, is_ended: false })
    }
}

/// A parse in progress. Clones are independent of each other.
#[derive(Clone, Debug)]
pub struct CaptureParse {
    parser: Arc<CaptureParser>,
    leaves: Arc<LeafReaders>,
    chart: CaptureChart,
    /// The state of the leaf of the whole text, if the parser has one.
    whole: Option<LeafState>,
    /// Whether an end token was read.
    is_ended: bool,
}

impl CaptureParse {
    /// Reads the longest prefix of `bytes` with which the text is a viable prefix, and returns its length. Parts that
    /// count tokens count it as one token.
    ///
    /// # Errors
    /// When a limit is exceeded; every later call returns the same error, and there are no captures.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<usize, LimitExceeded> {
        let deadline = Deadline::of(&self.parser.limits);
        let mut leaves = self.leaves.run();
        let limits = &self.parser.limits;
        if self.is_ended {
            return Ok(0);
        }
        for (count, &byte) in bytes.iter().enumerate() {
            if count % BYTES_PER_CHECK == BYTES_PER_CHECK - 1 {
                deadline.check()?;
            }
            let mut whole = self.whole;
            if let (Some(leaf), Some(state)) = (self.parser.whole, whole) {
                whole = leaves.step(leaf, state, byte)?;
                if whole.is_none() {
                    return Ok(count);
                }
            }
            if !self.chart.step(byte, &self.parser.skeleton, &mut leaves, limits)? {
                return Ok(count);
            }
            self.whole = whole;
        }
        if self.parser.vocabulary.is_some() {
            self.chart.end_token(&mut leaves)?;
            if let (Some(leaf), Some(state)) = (self.parser.whole, self.whole) {
                self.whole = leaves.end_token(leaf, state)?;
            }
        }
        Ok(bytes.len())
    }

    /// Reads the longest legal prefix of `tokens`, and returns its length. End tokens are legal after a complete text.
    /// Without a vocabulary no token is legal, nor is an id that the vocabulary lacks.
    ///
    /// # Errors
    /// When a limit is exceeded; every later call returns the same error, and there are no captures.
    pub fn feed_tokens(&mut self, tokens: &[TokenId]) -> Result<usize, LimitExceeded> {
        let Some(vocabulary) = &self.parser.vocabulary else { return Ok(0) };
        let deadline = Deadline::of(&self.parser.limits);
        let mut leaves = self.leaves.run();
        for (count, &id) in tokens.iter().enumerate() {
            if count % BYTES_PER_CHECK == BYTES_PER_CHECK - 1 {
                deadline.check()?;
            }
            if id.0 as usize >= vocabulary.size() {
                return Ok(count);
            }
            let is_complete = self.chart.is_complete && self.is_whole_complete(&leaves);
            if vocabulary.is_eos(id) && (self.is_ended || is_complete) {
                self.is_ended = true;
                continue;
            }
            let text = vocabulary.token(id);
            let event = TokenEvent { id, has_text: text.is_some() };
            let (skeleton, limits) = (&self.parser.skeleton, &self.parser.limits);
            let bytes = text.unwrap_or_default();
            let whole = match (self.parser.whole, self.whole) {
                (Some(leaf), Some(state)) => {
                    let read = |state: Option<LeafState>, &byte: &u8| match state {
                        Some(state) => leaves.step(leaf, state, byte),
                        None => Ok(None),
                    };
                    let by_bytes = if bytes.is_empty() { None } else { Some(state) };
                    let by_bytes = bytes.iter().try_fold(by_bytes, read)?;
                    let by_bytes = match by_bytes {
                        Some(state) => leaves.end_token(leaf, state)?,
                        None => None,
                    };
                    let by_event = leaves.step_token(leaf, state, event)?;
                    let whole = leaves.union(leaf, by_bytes, by_event)?;
                    if whole.is_none() {
                        return Ok(count);
                    }
                    whole
                }
                _ => None,
            };
            if self.is_ended || !self.chart.step_token(event, bytes, skeleton, &mut leaves, limits)? {
                return Ok(count);
            }
            self.whole = whole;
        }
        Ok(tokens.len())
    }

    /// Number of bytes that were read.
    #[must_use]
    pub fn position(&self) -> usize {
        self.chart.position
    }

    /// Whether the text is complete.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.chart.is_complete && (self.whole.is_none() || self.is_whole_complete(&self.leaves.run()))
    }

    /// Whether the leaf of the whole text is complete, if there is one.
    fn is_whole_complete(&self, leaves: &LeafRun<'_>) -> bool {
        match (self.parser.whole, self.whole) {
            (Some(leaf), Some(state)) => leaves.is_complete(leaf, state),
            _ => true,
        }
    }

    /// The captures of a complete text, in the order of their starts, outer captures first; `None` if it is not
    /// complete.
    #[must_use]
    pub fn whole(&self) -> Option<Vec<Capture>> {
        self.is_complete().then(|| Derivation::of_whole(&self.parser.skeleton, &self.chart))
    }

    /// The captures of a viable prefix. If nothing can follow, they are those of the complete text.
    #[must_use]
    pub fn growing(&self) -> Vec<Capture> {
        if self.chart.threads.is_empty() || self.is_ended {
            return self.whole().unwrap_or_default();
        }
        Derivation::of_growing(&self.parser.skeleton, &self.chart)
    }

    /// The parts that end at the end of the text so far, over all its derivations, each with the position of its start.
    /// Of parts that are not empty, inner ones come first. Whether a part has ended may depend on what follows: digits
    /// end a number at each of them.
    #[must_use]
    pub fn ended_parts(&self) -> Vec<(PartId, usize)> {
        if self.is_ended { Vec::new() } else { ended_parts::ended_parts(&self.parser.skeleton, &self.chart) }
    }

    /// The parts that the next byte or token can belong to, over all derivations of the text so far: for each symbol in
    /// progress or expected next, the innermost part around it. A part may be open that [`growing`](Self::growing) does
    /// not contain, because that is about one derivation.
    #[must_use]
    pub fn open_parts(&self) -> Vec<PartId> {
        if self.is_ended { Vec::new() } else { open_parts::open_parts(&self.parser.skeleton, &self.chart) }
    }
}
