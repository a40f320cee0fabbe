//! Makes ahead what masks are made of, before a text is read.
//!
//! The automaton that reads stacks has finitely many states, so all of it can be made: from each configuration of the
//! lexer and each state that can be on top of the parser's stack, over all states that can be below. What can be below
//! comes from the LR automaton, where every path is the stack of some text.
//!
//! Not all of it is worth its time and memory, so what counts most comes first: the configurations in which the first
//! tokens of the vocabulary end, since vocabularies begin with what is frequent, and what is found out high up in a stack.
//! With indentation the automaton is made for lines outside of blocks and brackets; for others most bundles are there then.

use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::definition::grammar::LexedSymbol;
use crate::lexer::lexer_automaton::{ConfigurationId, GuardsId, LexModeId, Lexer};
use crate::lexer::open_lexemes::OpenTerminalsTable;
use crate::masks::spanner_table::TriePosition;
use crate::masks::stack_automaton::{StackReader, StackStateId};
use crate::parser::lr_automaton::LrState;
use crate::parser::stacks::Attempt;
use crate::prepared::PreparedGrammar;
use grammask_diagnostics::LimitExceeded;
use grammask_engine::PrecomputeBudget;
use grammask_grammar::TerminalId;
use grammask_vocabulary::{TokenTrie, TrieNode};

/// Transitions that are made at once.
const TRANSITIONS_PER_BATCH: usize = 256;

/// If time is short, so many times later among the configurations counts as one transition further down a stack. If it is
/// not, memory is what there is too little of, and one configuration with all that it leads to takes the least.
const TIMED_DEPTH_FACTOR: u64 = 8;

/// What is still to be made, what counts most first.
pub(crate) struct Precomputation<'a> {
    prepared: &'a PreparedGrammar,
    /// [`HURRIED_FACTOR`], or 1.
    depth_factor: u64,
    /// Those that count most first.
    configurations: Vec<(ConfigurationId, LexModeId)>,
    /// How many of them were begun.
    started: usize,
    /// For each that was begun, how many entries of `waiting` are for it.
    open: Vec<usize>,
    /// How many were begun and have none.
    done: usize,
    states_of_mode: Vec<Vec<LrState>>,
    queue: BTreeMap<Priority, Vec<(StackStateId, LrState)>>,
    queue_len: usize,
    queued: FxHashSet<(StackStateId, LrState)>,
    below: StatesBelow,
}

/// What counts more is less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Priority {
    order: u64,
    configuration: usize,
    /// Transitions above in the stack.
    depth: u32,
}

impl<'a> Precomputation<'a> {
    /// Everything that can be made for the `most` configurations that count most; `is_hurried` if there may not be the time for
    /// that.
    ///
    /// # Errors
    /// When a limit is passed.
    pub(crate) fn new(
        prepared: &'a PreparedGrammar,
        lexer: &mut Lexer,
        trie: &TokenTrie,
        budget: &PrecomputeBudget,
    ) -> Result<Self, LimitExceeded> {
        let modes = &prepared.lex_modes;
        let mut states_of_mode = vec![Vec::new(); modes.terminals.len()];
        let entered_by = prepared.table().map_or(&[][..], |table| &table.automaton.entered_by);
        for (state, symbol) in entered_by.iter().enumerate() {
            // The parser reduces when it sees the next terminal, so between tokens it stands behind one.
            if !matches!(symbol, Some(LexedSymbol::Nonterminal(_))) {
                states_of_mode[modes.of_state[state].index()].push(LrState::new(state));
            }
        }
        let mut configurations = by_first_token(&prepared.open_terminals, lexer, trie)?;
        configurations.truncate(budget.max_states.unwrap_or(usize::MAX));
        Ok(Self {
            prepared,
            depth_factor: if budget.is_timed { TIMED_DEPTH_FACTOR } else { 1 },
            configurations,
            started: 0,
            open: Vec::new(),
            done: 0,
            states_of_mode,
            queue: BTreeMap::new(),
            queue_len: 0,
            queued: FxHashSet::default(),
            below: StatesBelow::of(prepared),
        })
    }

    fn priority(&self, configuration: usize, depth: u32) -> Priority {
        let factor = self.depth_factor.saturating_pow(depth);
        Priority { order: factor.saturating_mul(configuration as u64 + 1), configuration, depth }
    }

    /// How many configurations are made with all that they lead to, and how many there are.
    pub(crate) fn progress(&self) -> (usize, usize) {
        (self.done, self.configurations.len())
    }

    /// Memory that finding out what to make takes, in bytes, an estimate.
    pub(crate) fn memory_bytes(&self) -> usize {
        let entry_bytes = size_of::<(StackStateId, LrState)>();
        self.below.cache_bytes + self.queued.capacity() * (entry_bytes + 1) + 2 * self.queue_len * entry_bytes
    }

    /// Makes some of it.
    ///
    /// # Errors
    /// When a limit is passed.
    pub(crate) fn make_batch(&mut self, reader: &mut StackReader<'_>) -> Result<(), LimitExceeded> {
        reader.tables.deadline.check()?;
        let next = self.priority(self.started, 0);
        match self.queue.first_entry() {
            Some(mut first) if self.started == self.configurations.len() || *first.key() < next => {
                let priority = *first.key();
                let entries = first.get_mut();
                let batch = entries.split_off(entries.len().saturating_sub(TRANSITIONS_PER_BATCH));
                if entries.is_empty() {
                    first.remove();
                    self.open[priority.configuration] -= 1;
                }
                self.queue_len -= batch.len();
                for (state, top) in batch {
                    self.make_transition(state, top, priority, reader)?;
                }
                self.done += usize::from(self.open[priority.configuration] == 0);
            }
            _ => {
                let Some(&(configuration, mode)) = self.configurations.get(self.started) else {
                    return Ok(());
                };
                self.started += 1;
                self.open.push(0);
                self.begin(configuration, mode, next, reader)?;
                self.done += usize::from(self.open[next.configuration] == 0);
            }
        }
        Ok(())
    }

    /// Makes what the states on top of a stack say in a configuration.
    fn begin(
        &mut self,
        configuration: ConfigurationId,
        mode: LexModeId,
        priority: Priority,
        reader: &mut StackReader<'_>,
    ) -> Result<(), LimitExceeded> {
        let Some(open) = self.prepared.open_terminals.of(configuration, mode) else { return Ok(()) };
        let layout = reader.parser.start().layout;
        let terminals: Vec<TerminalId> = self.prepared.open_terminals.get(open).outside.iter().collect();
        let mut root = None;
        for index in 0..self.states_of_mode[mode.index()].len() {
            let top = self.states_of_mode[mode.index()][index];
            let stack = reader.parser.open_stack(top);
            let is_alive = terminals
                .iter()
                .any(|&terminal| !matches!(reader.parser.probe(stack, terminal), Attempt::Refused));
            if !is_alive {
                continue;
            }
            let root = match root {
                Some(root) => root,
                None => {
                    let position = TriePosition::before_token(configuration);
                    let subset = reader.subsets.root(position, mode, &mut reader.tables)?;
                    *root.insert(reader.automaton.unread(subset, 0, layout))
                }
            };
            self.make_transition(root, top, priority, reader)?;
        }
        Ok(())
    }

    /// Makes a transition and notes where it leads to.
    fn make_transition(
        &mut self,
        state: StackStateId,
        top: LrState,
        priority: Priority,
        reader: &mut StackReader<'_>,
    ) -> Result<(), LimitExceeded> {
        let Some((next, distance)) = reader.precompute_transition(state, top)? else { return Ok(()) };
        let further = self.priority(priority.configuration, priority.depth + 1);
        for &below in &self.below.of_state(top, distance)[..] {
            if self.queued.insert((next, below)) {
                let entries = self.queue.entry(further).or_default();
                self.open[priority.configuration] += usize::from(entries.is_empty());
                entries.push((next, below));
                self.queue_len += 1;
            }
        }
        Ok(())
    }
}

/// Which states can be below others in a stack.
struct StatesBelow {
    directly: Vec<Rc<[LrState]>>,
    /// By state, and how far below.
    by_distance: FxHashMap<(LrState, u32), Rc<[LrState]>>,
    cache_bytes: usize,
}

impl StatesBelow {
    fn of(prepared: &PreparedGrammar) -> Self {
        let automaton = prepared.table().map(|table| &table.automaton);
        let transitions = automaton.map_or(&[][..], |automaton| &automaton.transitions);
        let mut directly = vec![Vec::new(); transitions.len()];
        for (below, transitions) in transitions.iter().enumerate() {
            for &(_, state) in transitions {
                directly[state.index()].push(LrState::new(below));
            }
        }
        let directly = directly.into_iter().map(Rc::from).collect();
        Self { directly, by_distance: FxHashMap::default(), cache_bytes: 0 }
    }

    /// The states that can be so far below a state; 1 is directly below.
    fn of_state(&mut self, state: LrState, distance: u32) -> Rc<[LrState]> {
        if let Some(by_distance) = self.by_distance.get(&(state, distance)) {
            return by_distance.clone();
        }
        let mut below = self.directly[state.index()].clone();
        for _ in 1..distance {
            let mut further: Vec<LrState> = Vec::new();
            for above in &below[..] {
                further.extend_from_slice(&self.directly[above.index()]);
            }
            further.sort_unstable();
            further.dedup();
            below = further.into();
        }
        self.cache_bytes += 64 + size_of_val(&below[..]);
        self.by_distance.insert((state, distance), below.clone());
        below
    }
}

/// All configurations; those in which earlier tokens end are first.
fn by_first_token(
    open_terminals: &OpenTerminalsTable,
    lexer: &mut Lexer,
    trie: &TokenTrie,
) -> Result<Vec<(ConfigurationId, LexModeId)>, LimitExceeded> {
    let mut configurations = open_terminals.configurations();
    let mut classes: Vec<LexModeId> = configurations.iter().map(|&(_, mode)| mode).collect();
    classes.sort_unstable();
    classes.dedup();
    let mut first_tokens: FxHashMap<(ConfigurationId, LexModeId), u32> = FxHashMap::default();
    for mode in classes {
        let mut pending: Vec<(TrieNode, ConfigurationId)> = Vec::new();
        for node in trie.children(TrieNode::ROOT) {
            let entered = lexer.enter(mode, trie.byte(node), GuardsId::NONE)?;
            pending.extend(entered.into_iter().map(|configuration| (node, configuration)));
        }
        while let Some((node, configuration)) = pending.pop() {
            for token in trie.tokens(node) {
                let first = first_tokens.entry((configuration, mode)).or_insert(u32::MAX);
                *first = token.0.min(*first);
            }
            for child in trie.children(node) {
                let byte = trie.byte(child);
                let steps = lexer.step(configuration, byte)?;
                pending.extend(steps.extended.map(|next| (child, next)));
                if let Some(guards) = steps.commit {
                    let entered = lexer.enter(mode, byte, guards)?;
                    pending.extend(entered.into_iter().map(|next| (child, next)));
                }
            }
        }
    }
    let first_token = |key: &(ConfigurationId, LexModeId)| first_tokens.get(key).copied().unwrap_or(u32::MAX);
    configurations.sort_by_key(|key| (first_token(key), *key));
    Ok(configurations)
}
