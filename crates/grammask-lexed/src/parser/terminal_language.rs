//! The productions of a lexed grammar as a context-free grammar over terminals, for the Earley recogniser.
//!
//! Each terminal is encoded as its big-endian id, in as few bytes as all ids fit in, so the recogniser over bytes is
//! reused unchanged. Its sets are interned and never dead; they serve as stacks for grammars that are ambiguous or
//! need more than one terminal of look-ahead.

use std::sync::Arc;

use crate::analysis::adjacency::Adjacency;
use crate::definition::grammar::{LexedGrammar, LexedSymbol};
use grammask_diagnostics::{GrammarError, LimitExceeded, Limits, Span};
use grammask_earley::lowering::{NormalForm, lower};
use grammask_earley::recognizer::Recognizer;
use grammask_engine::{Engine, SetId};
use grammask_grammar::{GrammarBuilder, TerminalId};

/// The grammar over encoded terminals.
#[derive(Clone, Debug)]
pub(crate) struct TerminalLanguage {
    form: Arc<NormalForm>,
    adjacency: Arc<Adjacency>,
    /// The number of leading bytes that are zero in every id, which are omitted.
    skipped: usize,
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
        let nonterminals: Vec<_> =
            grammar.nonterminals.iter().map(|name| builder.nonterminal(name, span)).collect();
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
        Ok(Self { form: Arc::new(lowered.normal_form), adjacency: Arc::new(Adjacency::of(grammar)), skipped })
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
