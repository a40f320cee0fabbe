//! The productions of a lexed grammar as a context-free grammar over terminals, for the Earley recogniser.
//!
//! Each terminal is encoded as its big-endian id, in as few bytes as all ids fit in, so the recogniser over bytes is
//! reused unchanged. Its sets are interned and never dead; they serve as stacks for grammars that are ambiguous or
//! need more than one terminal of look-ahead.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::analysis::adjacency::Adjacency;
use crate::definition::grammar::{LexedGrammar, LexedSymbol};
use grammask_diagnostics::{Deadline, GrammarError, LimitExceeded, Limits, Span};
use grammask_earley::lowering::{NormalForm, lower};
use grammask_earley::recognizer::Recognizer;
use grammask_engine::{SetId, StateCompletions, Steps};
use grammask_grammar::{GrammarBuilder, TerminalId};
use grammask_vocabulary::Vocabulary;

/// The grammar over encoded terminals.
#[derive(Clone, Debug)]
pub(crate) struct TerminalLanguage {
    form: Arc<NormalForm>,
    adjacency: Arc<Adjacency>,
    /// The number of leading bytes that are zero in every id, which are omitted.
    skipped: usize,
    /// Maximum duration of one call.
    time: Duration,
}

impl TerminalLanguage {
    /// Lowers the productions of a grammar.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn of(grammar: &LexedGrammar, limits: &Limits) -> Result<Self, GrammarError> {
        let last = TerminalId::new(grammar.terminals.len().saturating_sub(1));
        let skipped = last.as_u32().to_be_bytes().iter().take(3).take_while(|&&byte| byte == 0).count();
        let span = Span::default();
        let mut builder = GrammarBuilder::new("");
        // Names are not unique in a refined grammar.
        let nonterminals: Vec<_> = (0..grammar.nonterminals.len())
            .map(|index| builder.nonterminal(&index.to_string(), span))
            .collect();
        for production in &grammar.productions {
            let mut symbols = Vec::with_capacity(production.rhs.len());
            for &symbol in &production.rhs {
                symbols.push(match symbol {
                    LexedSymbol::Terminal(terminal) => {
                        builder.literal(&terminal.as_u32().to_be_bytes()[skipped..], span)
                    }
                    LexedSymbol::Nonterminal(nonterminal) => {
                        builder.reference(nonterminals[nonterminal.index()], span)
                    }
                });
            }
            let body =
                if symbols.is_empty() { builder.literal(b"", span) } else { builder.sequence(symbols, span) };
            builder.define(nonterminals[production.lhs.index()], body, span);
        }
        let lowered = lower(&builder.finish(nonterminals[grammar.start.index()]), limits)?;
        let (form, adjacency) = (Arc::new(lowered.normal_form), Arc::new(Adjacency::of(grammar)));
        Ok(Self { form, adjacency, skipped, time: limits.time })
    }

    /// The adjacency of terminals.
    pub(crate) fn adjacency(&self) -> &Adjacency {
        &self.adjacency
    }

    /// A recogniser of terminal sequences.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn recognizer(&self, limits: &Limits) -> Result<Recognizer, LimitExceeded> {
        Recognizer::new(self.form.clone(), vec![None; self.form.terminals().len()], Vec::new(), limits)
    }

    /// The vocabulary of the bytes that encode some terminals; `None` if there are none.
    pub(crate) fn vocabulary(&self, terminals: impl Iterator<Item = TerminalId>) -> Option<Vocabulary> {
        let encodings = terminals.map(|terminal| terminal.as_u32().to_be_bytes());
        let bytes: BTreeSet<u8> = encodings.flat_map(|bytes| bytes[self.skipped..].to_vec()).collect();
        let texts = bytes.into_iter().map(|byte| Some(vec![byte])).collect();
        Vocabulary::new(texts, Vec::new(), Vec::new(), None).ok()
    }

    /// The fewest terminals that complete a set, of those whose encoding has only bytes of `vocabulary`; `None` if none
    /// do. The vocabulary is the same for all calls.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn fewest_terminals(
        &self,
        recognizer: &Recognizer,
        set: SetId,
        vocabulary: &Vocabulary,
    ) -> Result<Option<u32>, LimitExceeded> {
        let deadline = Deadline::after_first_check(self.time);
        let completion = recognizer.shortest_completion(set, vocabulary, &deadline)?;
        let bytes = size_of::<u32>() - self.skipped;
        Ok(completion.map(|completion| completion.length / bytes as u32))
    }

    /// The set after a terminal.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn step(
        &self,
        recognizer: &Recognizer,
        set: SetId,
        terminal: TerminalId,
    ) -> Result<Option<SetId>, LimitExceeded> {
        let mut set = set;
        for &byte in &terminal.as_u32().to_be_bytes()[self.skipped..] {
            match recognizer.step(set, byte)? {
                Some(next) => set = next,
                None => return Ok(None),
            }
        }
        Ok(Some(set))
    }
}
