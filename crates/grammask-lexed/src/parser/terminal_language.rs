//! The rules of a lexed grammar as a context-free grammar over terminals, for the Earley recogniser.
//!
//! To the recogniser of bytes a terminal is its number, in as few bytes as do for all. So its sets, which are values and never dead,
//! serve where LALR(1) tables have stacks: for grammars that are ambiguous or need more look-ahead than one terminal.

use std::sync::Arc;

use crate::analysis::adjacency::Adjacency;
use crate::definition::grammar::{LexedGrammar, LexedSymbol};
use grammask_diagnostics::{GrammarError, LimitExceeded, Limits, Span};
use grammask_earley::lowering::{NormalForm, lower};
use grammask_earley::recognizer::Recognizer;
use grammask_engine::{Engine, SetId};
use grammask_grammar::{GrammarBuilder, TerminalId};

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct TerminalLanguage {
    form: Arc<NormalForm>,
    adjacency: Arc<Adjacency>,
    /// Bytes of a terminal's number that are always zero, and left out.
    skipped: usize,
}

impl TerminalLanguage {
    /// Lowers the rules of a grammar.
    ///
    /// # Errors
    /// When a limit is passed.
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

    /// Which terminals stand side by side.
    pub(crate) fn adjacency(&self) -> &Adjacency {
        &self.adjacency
    }

    /// A recogniser of sequences of terminals.
    ///
    /// # Errors
    /// When a limit is passed.
    pub(crate) fn recognizer(&self, limits: &Limits) -> Result<Recognizer, LimitExceeded> {
        Recognizer::new(self.form.clone(), vec![None; self.form.terminals().len()], limits)
    }

    /// The set after a terminal.
    ///
    /// # Errors
    /// When a limit is passed.
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
