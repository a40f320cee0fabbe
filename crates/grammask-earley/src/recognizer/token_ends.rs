//! The ends of terminals that count tokens.
//!
//! A text inside such a terminal must be able to end it with the tokens that are left. So after each token, an item
//! inside it stays only if the shortest completion of its automaton state (see [`ShortestWords`]) can be spelled with
//! at most as many tokens as are left. The rest of a shortest completion is the shortest completion of the next state,
//! so the token that begins the shortest spelling leads to a state with one token less, and the terminal can be ended
//! from every item that stays.
//!
//! Other words may need fewer tokens, but to find them takes a search over all tokens from each state.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::embedded::{EmbeddedState, EmbeddedStates, TerminalReader};
use super::kernel::ItemState;
use super::stepping::TokenLimitedState;
use crate::lowering::NormalForm;
use grammask_automata::{Automata, ShortestWords, StateId, Terms};
use grammask_diagnostics::{Deadline, LimitExceeded, Limits};
use grammask_engine::{Engine, FirstToken, Reach, first_tokens};
use grammask_grammar::{Terminal, TerminalId};
use grammask_vocabulary::{TrieNode, Vocabulary};

/// The minimum numbers of tokens that spell the shortest completions of automaton states.
#[derive(Debug)]
pub(crate) struct TokenEnds {
    vocabulary: Arc<Vocabulary>,
    words: ShortestWords,
    /// By state; `None` if the completion cannot be spelled.
    tokens: FxHashMap<StateId, Option<u32>>,
    /// The same for states of embedded grammars.
    embedded_tokens: FxHashMap<EmbeddedState, Option<u32>>,
    /// The longest of the shortest completions of the states of embedded grammars that a token can reach from a state.
    longest_after_token: FxHashMap<EmbeddedState, Option<u32>>,
    /// See [`TokenEnds::ample_tokens`]; `None` before the first call.
    ample: Option<Option<u32>>,
    limits: Limits,
}

/// Maximum number of automaton states that are made to find out how many tokens are ample.
const MAX_AMPLE_STATES: usize = 1 << 12;

/// The states along a shortest completion.
struct SpelledPath {
    states: Vec<StateId>,
    /// The bytes between the states.
    bytes: Vec<u8>,
}

impl TokenEnds {
    pub(super) fn new(vocabulary: Arc<Vocabulary>, limits: &Limits) -> Self {
        let words = ShortestWords::new(vocabulary.single_bytes());
        let (tokens, embedded_tokens, longest_after_token) = Default::default();
        let limits = limits.clone();
        Self { vocabulary, words, tokens, embedded_tokens, longest_after_token, ample: None, limits }
    }

    /// Whether a terminal can end within `tokens_left` tokens from a state that reads at least one of them.
    pub(super) fn can_end(
        &mut self,
        terminals: TerminalReader<'_>,
        state: ItemState,
        tokens_left: u32,
    ) -> Result<bool, LimitExceeded> {
        if tokens_left == 0 || terminals.is_accepting(state) {
            return Ok(tokens_left > 0);
        }
        let TerminalReader { automata, embedded } = terminals;
        if let Some(state) = embedded.get(state) {
            let tokens = self.min_embedded_tokens(embedded, state)?;
            return Ok(tokens.is_some_and(|tokens| tokens <= tokens_left));
        }
        let Some(state) = state.automaton_state() else { return Ok(false) };
        if let Some(&tokens) = self.tokens.get(&state) {
            return Ok(tokens.is_some_and(|tokens| tokens <= tokens_left));
        }
        let tokens = self.min_tokens(automata, state)?;
        Ok(tokens.is_some_and(|tokens| tokens <= tokens_left))
    }

    /// A number of tokens so large that with that many left every regular terminal can still end after any token. `None`
    /// if there is none, if it is not known, or if some regular terminal may have too few after its first token.
    ///
    /// The number does not depend on tokens: it is one more than the longest of the shortest completions in bytes, each
    /// of which is a token. `starts` has for each terminal that counts tokens its first state.
    pub(super) fn ample_tokens(
        &mut self,
        automata: &mut Automata,
        starts: &[TokenLimitedState],
    ) -> Result<Option<u32>, LimitExceeded> {
        if let Some(known) = self.ample {
            return Ok(known);
        }
        let deadline = Deadline::of_next_check(&self.limits);
        let states: Vec<StateId> = starts.iter().filter_map(|start| start.state.automaton_state()).collect();
        let mut max_states = MAX_AMPLE_STATES;
        let longest = self.words.longest_completions(automata, &states, &mut max_states, &deadline)?;
        let longest =
            longest.and_then(|longest| longest.into_iter().try_fold(1, |all, own| Some(own?.max(all))));
        let ample = longest.and_then(|longest: u32| longest.checked_add(1));
        let mut regular = starts.iter().filter(|start| start.state.automaton_state().is_some());
        let ample = ample.filter(|&ample| regular.all(|start| start.tokens_left >= ample));
        self.ample = Some(ample);
        Ok(ample)
    }

    /// Whether an embedded grammar is known to end within `tokens_left` tokens from a state, after any token. Each byte of
    /// a shortest completion is a token, so its length is a bound.
    pub(crate) fn is_ample_inside(
        &mut self,
        embedded: &EmbeddedStates,
        state: EmbeddedState,
        tokens_left: u32,
    ) -> Result<bool, LimitExceeded> {
        let engine = embedded.engine(state.grammar);
        // After a token, the completion of a grammar that counts tokens itself may become longer.
        if engine.counts_tokens() {
            return Ok(false);
        }
        let longest = match self.longest_after_token.get(&state) {
            Some(&known) => known,
            None => {
                let deadline = Deadline::of_next_check(&self.limits);
                let bytes = self.vocabulary.trie().max_depth();
                let longest = engine.longest_completion_after(
                    state.set,
                    Reach::Bytes(bytes),
                    &self.vocabulary,
                    &deadline,
                )?;
                self.longest_after_token.insert(state, longest);
                longest
            }
        };
        Ok(longest.is_some_and(|longest| longest.max(1) < tokens_left))
    }

    /// The minimum number of tokens that spell the shortest completion of a state that does not accept; `None` if it has
    /// none. Memoised for all states on the way.
    fn min_tokens(&mut self, automata: &mut Automata, state: StateId) -> Result<Option<u32>, LimitExceeded> {
        let Some(SpelledPath { states, bytes }) = self.path(automata, state)? else {
            self.tokens.insert(state, None);
            return Ok(None);
        };
        let trie = self.vocabulary.trie();
        let mut tokens: Vec<Option<u32>> = vec![None; states.len()];
        for (position, &state) in states.iter().enumerate().rev() {
            // The word of the first state is not empty, even if the state accepts.
            if position > 0 && automata.is_accepting(state) {
                tokens[position] = Some(0);
                continue;
            }
            if position > 0
                && let Some(&known) = self.tokens.get(&state)
            {
                tokens[position] = known;
                continue;
            }
            let mut node = TrieNode::ROOT;
            let mut least: Option<u32> = None;
            for (&byte, after) in bytes[position..].iter().zip(&tokens[position + 1..]) {
                let Some(child) = trie.child(node, byte) else { break };
                node = child;
                if let (false, &Some(after)) = (trie.tokens(node).is_empty(), after) {
                    least = Some(least.unwrap_or(u32::MAX).min(after.saturating_add(1)));
                }
            }
            tokens[position] = least;
            self.tokens.insert(state, least);
        }
        Ok(tokens[0])
    }

    /// The minimum number of tokens that spell the shortest completion of a state of an embedded grammar, whose text is
    /// not complete; `None` if it cannot be spelled. After each token the completion of the new state counts, since the
    /// grammar may count tokens itself. Memoised for all states on the way.
    pub(crate) fn min_embedded_tokens(
        &mut self,
        embedded: &EmbeddedStates,
        state: EmbeddedState,
    ) -> Result<Option<u32>, LimitExceeded> {
        let deadline = Deadline::of_next_check(&self.limits);
        let engine = embedded.engine(state.grammar);
        // Each text inside a value has a state of its own; nearly all of them have the completion of one state.
        let state = match engine.anonymous_values().filter(|_| !engine.counts_tokens()) {
            Some(values) => {
                let set = values.representative(state.set, &self.vocabulary, &deadline)?;
                EmbeddedState { set, ..state }
            }
            None => state,
        };
        // Not recursive, since completions may be long.
        let mut pending = vec![state];
        while let Some(&state) = pending.last() {
            if self.embedded_tokens.contains_key(&state) {
                pending.pop();
                continue;
            }
            deadline.check()?;
            let mut firsts = first_tokens(engine, &self.vocabulary, state.set, &deadline)?;
            if engine.counts_tokens() {
                firsts = FirstToken::of_shortest_rest(&firsts).into_iter().collect();
            }
            let before = pending.len();
            let mut least: Option<u32> = None;
            for FirstToken { next, .. } in firsts {
                let next = EmbeddedState { set: next, ..state };
                let known = match engine.is_complete(next.set) {
                    true => Some(Some(0)),
                    false => self.embedded_tokens.get(&next).copied(),
                };
                match known {
                    Some(tokens) => least = least.into_iter().chain(tokens).min(),
                    None => pending.push(next),
                }
            }
            if pending.len() == before {
                self.embedded_tokens.insert(state, least.map(|tokens| tokens + 1));
                pending.pop();
            }
        }
        Ok(self.embedded_tokens.get(&state).copied().flatten())
    }

    /// The path of the shortest completion of a state, up to its end, or through as many states with known numbers of
    /// tokens as the longest token has bytes. `None` if there is no completion.
    fn path(
        &mut self,
        automata: &mut Automata,
        start: StateId,
    ) -> Result<Option<SpelledPath>, LimitExceeded> {
        let deadline = Deadline::of_next_check(&self.limits);
        let mut path = SpelledPath { states: vec![start], bytes: Vec::new() };
        let mut state = start;
        // All states after a known one are known.
        let mut known = 0;
        loop {
            let Some(word) = self.words.shortest_word(automata, state, &deadline)? else { return Ok(None) };
            let Some(next) = automata.step(state, word.first)? else { return Ok(None) };
            path.bytes.push(word.first);
            path.states.push(next);
            state = next;
            known += usize::from(self.tokens.contains_key(&state));
            if automata.is_accepting(state) || known > self.vocabulary.trie().max_depth() {
                return Ok(Some(path));
            }
        }
    }

    /// Estimated memory in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.words.memory_bytes()
            + self.tokens.capacity() * (size_of::<(StateId, Option<u32>)>() + 1)
            + (self.embedded_tokens.capacity() + self.longest_after_token.capacity())
                * (size_of::<(EmbeddedState, Option<u32>)>() + 1)
    }
}

/// The terminals that a text can begin with some token, but that no text ends within their maximum number of tokens.
/// `embedded` are the engines of the embedded grammars.
///
/// Cost: a walk over the tokens for each terminal that counts them, up to the first that shows that it ends.
///
/// # Errors
/// When a limit is exceeded.
pub fn terminals_without_end(
    form: &NormalForm,
    embedded: &[Arc<dyn Engine>],
    vocabulary: &Arc<Vocabulary>,
    limits: &Limits,
) -> Result<Vec<TerminalId>, LimitExceeded> {
    let mut found = Vec::new();
    let mut automata = Automata::new(Terms::clone(&form.terms), limits.automaton_states);
    let mut embedded = EmbeddedStates::new(embedded.to_vec());
    let mut ends = TokenEnds::new(vocabulary.clone(), limits);
    let deadline = Deadline::of(limits);
    for (index, definition) in form.terminals.iter().enumerate() {
        let (start, tokens) = match definition.terminal {
            Terminal::Limited { term, tokens } => match automata.start(term)? {
                Some(start) => (ItemState::of_automaton(start), tokens),
                None => continue,
            },
            Terminal::Embedded { grammar, tokens: Some(tokens) } => (embedded.start(grammar), tokens),
            _ => continue,
        };
        let mut terminals = TerminalReader { automata: &mut automata, embedded: &mut embedded };
        // A terminal that may be empty can be left out.
        if !terminals.is_accepting(start)
            && is_never_ended(&mut terminals, &mut ends, start, tokens, &deadline)?
        {
            found.push(TerminalId::new(index));
        }
    }
    Ok(found)
}

/// Whether some token begins a word of a state, and after none of them the word can end within `max_tokens` tokens.
fn is_never_ended(
    terminals: &mut TerminalReader<'_>,
    ends: &mut TokenEnds,
    start: ItemState,
    max_tokens: u32,
    deadline: &Deadline,
) -> Result<bool, LimitExceeded> {
    let vocabulary = ends.vocabulary.clone();
    let trie = vocabulary.trie();
    let mut is_begun = false;
    let mut stack = vec![(TrieNode::ROOT, start)];
    while let Some((node, state)) = stack.pop() {
        deadline.check()?;
        for child in trie.children(node) {
            let Some(next) = terminals.step(state, trie.byte(child))? else { continue };
            // A token may end the word and go on.
            if terminals.is_accepting(next) {
                return Ok(false);
            }
            if !trie.tokens(child).is_empty() {
                is_begun = true;
                let left = max_tokens.saturating_sub(1);
                if let Some(ended) = terminals.embedded.end_token(next)?
                    && ends.can_end(terminals.reborrow(), ended, left)?
                {
                    return Ok(false);
                }
            }
            stack.push((child, next));
        }
    }
    Ok(is_begun)
}
