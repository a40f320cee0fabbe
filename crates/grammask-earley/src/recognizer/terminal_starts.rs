//! The initial states of terminals.

use crate::lowering::NormalForm;
use grammask_automata::{Automata, TermId};
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::Terminal;

use super::embedded::EmbeddedStates;
use super::index_u32;
use super::kernel::ItemState;
use super::stepping::TokenLimitedState;

/// The initial states of the terminals of a grammar.
pub(super) struct TerminalStarts {
    /// The state of each terminal.
    pub(super) starts: Vec<ItemState>,
    /// The state of each terminal over bytes, as if it did not count tokens.
    pub(super) uncounted_or_none: Vec<Option<ItemState>>,
    /// The states of terminals that count tokens, to which `starts` refers.
    pub(super) limited: Vec<TokenLimitedState>,
}

impl TerminalStarts {
    /// # Errors
    /// When an automaton exceeds its limit.
    pub(super) fn of(
        form: &NormalForm,
        automata: &mut Automata,
        embedded: &mut EmbeddedStates,
    ) -> Result<Self, LimitExceeded> {
        let count = form.terminals.len();
        let (mut starts, mut uncounted_or_none) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut limited = Vec::new();
        for definition in &form.terminals {
            let terminal = &definition.terminal;
            let state = match (term_of(terminal, automata), terminal) {
                // Lowering has removed terminals with an empty language.
                (Some(term), _) => automata.start(term)?.map(ItemState::of_automaton),
                (None, &Terminal::Embedded { grammar, .. }) => Some(embedded.start(grammar)),
                (None, _) => None,
            };
            uncounted_or_none.push(state);
            starts.push(match (state, terminal) {
                (None, _) => ItemState::TOKEN,
                (
                    Some(state),
                    &(Terminal::Limited { tokens, .. } | Terminal::Embedded { tokens: Some(tokens), .. }),
                ) => {
                    limited.push(TokenLimitedState { state, tokens_left: tokens, is_counted: false });
                    ItemState(ItemState::FIRST_LIMITED + index_u32(limited.len() - 1))
                }
                (Some(state), _) => state,
            });
        }
        Ok(Self { starts, uncounted_or_none, limited })
    }

    /// The state of each terminal as if it did not count tokens.
    pub(super) fn uncounted(&self) -> Box<[ItemState]> {
        self.uncounted_or_none.iter().map(|state| state.unwrap_or(ItemState::TOKEN)).collect()
    }
}

/// The language of a terminal over bytes that no embedded engine recognises.
pub(super) fn term_of(terminal: &Terminal, automata: &mut Automata) -> Option<TermId> {
    match terminal {
        Terminal::Literal(bytes) => Some(automata.terms_mut().literal(bytes)),
        Terminal::Regular(term) | Terminal::Limited { term, .. } => Some(*term),
        Terminal::Token(_) | Terminal::AnyToken | Terminal::OneOf(_) | Terminal::Embedded { .. } => None,
    }
}
