//! Readers of leaves: a terminal over bytes is read by its automaton, every other symbol by a recogniser, which is
//! created when the leaf is first entered.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::embedded::EmbeddedEngines;
use crate::named_tokens;
use grammask_automata::{Automata, StateId};
use grammask_diagnostics::{LimitExceeded, Limits};
use grammask_earley::lowering::{Body, LoweredRule, Merges, Productions, Symbol, normalize};
use grammask_earley::recognizer::Recognizer;
use grammask_engine::{SetId, Steps, TokenEvent};
use grammask_grammar::{NonterminalId, Terminal};
use grammask_vocabulary::Vocabulary;

use super::skeleton::LeafId;

/// The state of a leaf's reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeafState {
    Terminal(StateId),
    Set(SetId),
}

/// The readers of all leaves. See the documentation of the module.
#[derive(Debug)]
pub(super) struct LeafReaders {
    productions: Arc<Productions>,
    symbols: Vec<Symbol>,
    /// Present for grammars that name or count tokens.
    vocabulary: Option<Arc<Vocabulary>>,
    limits: Limits,
    /// The engines of the embedded grammars.
    embedded: EmbeddedEngines,
    automata: Mutex<Automata>,
    recognizers: Vec<OnceLock<Recognizer>>,
}

impl LeafReaders {
    pub(super) fn new(
        productions: Arc<Productions>,
        symbols: Vec<Symbol>,
        vocabulary: Option<Arc<Vocabulary>>,
        embedded: EmbeddedEngines,
        limits: &Limits,
    ) -> Result<Self, LimitExceeded> {
        let automata = Mutex::new(productions.automata.clone());
        let recognizers = symbols.iter().map(|_| OnceLock::new()).collect();
        Ok(Self { productions, symbols, vocabulary, limits: limits.clone(), embedded, automata, recognizers })
    }

    /// Readers of the same leaves with empty caches.
    pub(super) fn with_empty_caches(&self) -> Self {
        Self {
            productions: self.productions.clone(),
            symbols: self.symbols.clone(),
            vocabulary: self.vocabulary.clone(),
            limits: self.limits.clone(),
            embedded: self.embedded.with_empty_caches(),
            automata: Mutex::new(self.productions.automata.clone()),
            recognizers: self.symbols.iter().map(|_| OnceLock::new()).collect(),
        }
    }

    /// Estimated memory of the caches, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let recognizers = self.recognizers.iter().filter_map(OnceLock::get);
        recognizers.map(Recognizer::memory_bytes).sum::<usize>() + self.lock().memory_bytes()
    }

    /// Locks the automata for a run of steps.
    pub(super) fn run(&self) -> LeafRun<'_> {
        LeafRun { leaves: self, automata: self.lock() }
    }

    fn lock(&self) -> MutexGuard<'_, Automata> {
        // Automata only grow by complete entries, so a panic in a holder of the lock leaves them consistent.
        self.automata.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recognizer(&self, leaf: LeafId, root: Symbol) -> Result<&Recognizer, LimitExceeded> {
        let cell = &self.recognizers[leaf.index()];
        if let Some(recognizer) = cell.get() {
            return Ok(recognizer);
        }
        let form = normalize(restricted_to(&self.productions, root), &self.limits)?;
        let none = || form.terminals().iter().map(|_| None).collect();
        // The constructor of the parser has rejected tokens that the vocabulary lacks.
        let resolved =
            self.vocabulary.as_ref().map(|vocabulary| named_tokens::matches(form.terminals(), vocabulary));
        let token_matches = resolved.and_then(Result::ok).unwrap_or_else(none);
        let embedded = self.embedded.engines(&self.limits)?;
        let mut recognizer = Recognizer::new(form, token_matches, embedded, &self.limits)?;
        if let Some(vocabulary) = &self.vocabulary {
            recognizer = recognizer.with_vocabulary(vocabulary);
        }
        Ok(cell.get_or_init(|| recognizer))
    }
}

/// The productions reachable from `symbol`, with it as the start symbol, or with a start rule that derives just it.
fn restricted_to(productions: &Productions, symbol: Symbol) -> Productions {
    let wrapping = NonterminalId::new(productions.rules.len());
    let root = match symbol {
        Symbol::Nonterminal(root) => root,
        Symbol::Terminal(_) => wrapping,
    };
    let mut restricted = Productions {
        automata: productions.automata.clone(),
        terminals: productions.terminals.clone(),
        embedded: productions.embedded.clone(),
        rules: Vec::with_capacity(productions.rules.len()),
        start: root,
        start_is_nullable: false,
        merges: Merges::default(),
    };
    if root == wrapping {
        let empty = || Body::Alternatives(Vec::new());
        restricted.rules.extend(
            productions.rules.iter().map(|rule| LoweredRule { name: rule.name.clone(), body: empty() }),
        );
        restricted
            .rules
            .push(LoweredRule { name: Arc::from("leaf"), body: Body::Alternatives(vec![vec![symbol]]) });
        return restricted;
    }
    let reached = productions.reachable_from(root);
    for (rule, is_reached) in productions.rules.iter().zip(reached) {
        let body = if is_reached { rule.body.clone() } else { Body::Alternatives(Vec::new()) };
        restricted.rules.push(LoweredRule { name: rule.name.clone(), body });
    }
    restricted
}

/// The readers during a run of steps: the automata of terminals are locked once for many bytes.
pub(super) struct LeafRun<'a> {
    leaves: &'a LeafReaders,
    automata: MutexGuard<'a, Automata>,
}

impl LeafRun<'_> {
    /// The first state of a leaf, if its language is not empty.
    pub(super) fn start(&mut self, leaf: LeafId) -> Result<Option<LeafState>, LimitExceeded> {
        let symbol = self.leaves.symbols[leaf.index()];
        if let Symbol::Terminal(id) = symbol {
            let term = match &self.leaves.productions.terminals[id.index()].terminal {
                Terminal::Literal(bytes) => Some(self.automata.terms_mut().literal(bytes)),
                Terminal::Regular(term) => Some(*term),
                _ => None,
            };
            if let Some(term) = term {
                return Ok(self.automata.start(term)?.map(LeafState::Terminal));
            }
        }
        Ok(Some(LeafState::Set(self.leaves.recognizer(leaf, symbol)?.start())))
    }

    /// The state after one more byte.
    pub(super) fn step(
        &mut self,
        leaf: LeafId,
        state: LeafState,
        byte: u8,
    ) -> Result<Option<LeafState>, LimitExceeded> {
        Ok(match state {
            LeafState::Terminal(state) => self.automata.step(state, byte)?.map(LeafState::Terminal),
            LeafState::Set(set) => match self.leaves.recognizers[leaf.index()].get() {
                Some(recognizer) => recognizer.step(set, byte)?.map(LeafState::Set),
                None => None,
            },
        })
    }

    /// The state after a token that a token terminal matches.
    pub(super) fn step_token(
        &mut self,
        leaf: LeafId,
        state: LeafState,
        event: TokenEvent,
    ) -> Result<Option<LeafState>, LimitExceeded> {
        match (state, self.created_recognizer(leaf)) {
            (LeafState::Set(set), Some(recognizer)) => {
                Ok(recognizer.step_token(set, event)?.map(LeafState::Set))
            }
            _ => Ok(None),
        }
    }

    /// The state after the end of a token.
    pub(super) fn end_token(
        &mut self,
        leaf: LeafId,
        state: LeafState,
    ) -> Result<Option<LeafState>, LimitExceeded> {
        match (state, self.created_recognizer(leaf)) {
            (LeafState::Set(set), Some(recognizer)) => Ok(recognizer.end_token(set)?.map(LeafState::Set)),
            _ => Ok(Some(state)),
        }
    }

    /// The state in which a text goes on as in one state or the other.
    pub(super) fn union(
        &self,
        leaf: LeafId,
        one: Option<LeafState>,
        other: Option<LeafState>,
    ) -> Result<Option<LeafState>, LimitExceeded> {
        match (one, other, self.created_recognizer(leaf)) {
            (Some(LeafState::Set(one)), Some(LeafState::Set(other)), Some(recognizer)) => {
                Ok(Some(LeafState::Set(recognizer.union(one, other)?)))
            }
            _ => Ok(one.or(other)),
        }
    }

    /// Whether the text of the leaf is complete.
    pub(super) fn is_complete(&self, leaf: LeafId, state: LeafState) -> bool {
        match state {
            LeafState::Terminal(state) => self.automata.is_accepting(state),
            LeafState::Set(set) => {
                self.created_recognizer(leaf).is_some_and(|recognizer| recognizer.is_complete(set))
            }
        }
    }

    /// Whether the leaf can continue.
    pub(super) fn continues(&mut self, leaf: LeafId, state: LeafState) -> Result<bool, LimitExceeded> {
        match state {
            LeafState::Terminal(state) => self.automata.continues(state),
            LeafState::Set(set) => {
                Ok(self.created_recognizer(leaf).is_some_and(|recognizer| !recognizer.is_final(set)))
            }
        }
    }

    fn created_recognizer(&self, leaf: LeafId) -> Option<&Recognizer> {
        self.leaves.recognizers[leaf.index()].get()
    }
}
