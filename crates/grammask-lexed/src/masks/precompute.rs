//! Precomputation of the stack automaton before any text is read.
//!
//! The automaton is finite, so all of it can be constructed: from each configuration of the lexer and each state that
//! may be on top of the stack, over all states that may be below. The possible stacks come from the LR automaton, in
//! which every path is the stack of some text.
//!
//! The order decides the benefit of partial precomputation: configurations in which the first tokens of the
//! vocabulary end come first, because vocabularies list frequent tokens first, and transitions near the top of the
//! stack come before deeper ones. For grammars with indentation only the layout outside blocks and brackets is
//! precomputed; most subsets are shared with other layouts.

use std::collections::BTreeMap;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::definition::grammar::LexedSymbol;
use crate::lexer::column_units::UnitState;
use crate::lexer::lexer_automaton::{ConfigurationId, GuardsId, LexModeId, Lexer};
use crate::lexer::line_columns::Column;
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

/// The number of transitions constructed between two checks of the budget.
const TRANSITIONS_PER_BATCH: usize = 256;
/// The number of trie nodes visited between two checks of the budget, while their order is determined.
const NODES_PER_BATCH: usize = 1 << 12;

/// With a time budget, one level further down the stack counts as this factor in the order of configurations. (Of the
/// factors 2 to 20, those from 6 on gave the same result.) With a memory budget only, each configuration is completed
/// before the next, which takes the least memory.
const TIMED_DEPTH_FACTOR: u64 = 8;

/// The transitions still to construct, in order of priority.
pub(crate) struct Precomputation<'a> {
    prepared: &'a PreparedGrammar,
    /// [`TIMED_DEPTH_FACTOR`], or 1.
    depth_factor: u64,
    /// In order of priority.
    configurations: Vec<(ConfigurationId, LexModeId)>,
    /// The number of configurations started.
    started: usize,
    /// For each started configuration: the number of its entries in `queue`.
    open: Vec<usize>,
    /// The number of started configurations without entries.
    done: usize,
    states_of_mode: Vec<Vec<LrState>>,
    queue: BTreeMap<Priority, Vec<(StackStateId, LrState)>>,
    queue_len: usize,
    queued: FxHashSet<(StackStateId, LrState)>,
    below: StatesBelow,
}

/// The position of a transition in the order; the smallest comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Priority {
    order: u64,
    configuration: usize,
    /// The number of transitions above in the stack.
    depth: u32,
}

impl<'a> Precomputation<'a> {
    /// A precomputation for the first `budget.max_states` configurations.
    pub(crate) fn new(
        prepared: &'a PreparedGrammar,
        first_tokens: FirstTokens<'_>,
        budget: &PrecomputeBudget,
    ) -> Self {
        let modes = &prepared.lex_modes;
        let mut states_of_mode = vec![Vec::new(); modes.terminals.len()];
        let entered_by = prepared.table().map_or(&[][..], |table| &table.automaton.entered_by);
        for (state, symbol) in entered_by.iter().enumerate() {
            // Reductions happen before the next terminal, so between tokens the top state was entered by a terminal.
            if !matches!(symbol, Some(LexedSymbol::Nonterminal(_))) {
                states_of_mode[modes.of_state[state].index()].push(LrState::new(state));
            }
        }
        let mut configurations = first_tokens.order();
        configurations.truncate(budget.max_states.unwrap_or(usize::MAX));
        Self {
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
        }
    }

    fn priority(&self, configuration: usize, depth: u32) -> Priority {
        let factor = self.depth_factor.saturating_pow(depth);
        Priority { order: factor.saturating_mul(configuration as u64 + 1), configuration, depth }
    }

    /// The number of completed configurations, and their total.
    pub(crate) fn progress(&self) -> (usize, usize) {
        (self.done, self.configurations.len())
    }

    /// Memory of the bookkeeping in bytes, estimated.
    pub(crate) fn memory_bytes(&self) -> usize {
        let entry_bytes = size_of::<(StackStateId, LrState)>();
        self.below.cache_bytes + self.queued.capacity() * (entry_bytes + 1) + 2 * self.queue_len * entry_bytes
    }

    /// Constructs the next batch.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn make_batch(&mut self, reader: &mut StackReader<'_>) -> Result<(), LimitExceeded> {
        reader.sources.deadline.check()?;
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

    /// Constructs the first transitions of a configuration.
    fn begin(
        &mut self,
        configuration: ConfigurationId,
        mode: LexModeId,
        priority: Priority,
        reader: &mut StackReader<'_>,
    ) -> Result<(), LimitExceeded> {
        let Some(open) = self.prepared.open_terminals.of(configuration, mode) else { return Ok(()) };
        let layout = reader.parser.start().layout;
        let mut terminals: Vec<TerminalId> = self.prepared.open_terminals.get(open).outside.iter().collect();
        if reader.sources.lexer.is_start(configuration) {
            // A complete text may have no open terminal: its last lexeme has ended.
            terminals.push(self.prepared.grammar.end());
        }
        let mut root = None;
        for index in 0..self.states_of_mode[mode.index()].len() {
            let top = self.states_of_mode[mode.index()][index];
            let stack = reader.parser.open_stack(top);
            let is_live = terminals
                .iter()
                .any(|&terminal| !matches!(reader.parser.probe(stack, terminal), Attempt::Refused));
            if !is_live {
                continue;
            }
            let root = match root {
                Some(root) => root,
                None => {
                    let position = TriePosition::before_token(configuration, UnitState::BOUNDARY);
                    let subset = reader.subsets.root(position, mode, &mut reader.sources)?;
                    *root.insert(reader.automaton.unread(subset, Column::UNTRACKED, layout))
                }
            };
            self.make_transition(root, top, priority, reader)?;
        }
        Ok(())
    }

    /// Constructs a transition and enqueues its successors.
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

/// The states that can be below a state in a stack.
struct StatesBelow {
    directly: Vec<Rc<[LrState]>>,
    /// By state and distance.
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

    /// The states at a distance below a state; distance 1 is directly below.
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

/// A walk along the token trie that finds the first token that ends in each configuration.
pub(crate) struct FirstTokens<'a> {
    open_terminals: &'a OpenTerminalsTable,
    /// The modes that are not begun.
    modes: Vec<LexModeId>,
    /// The nodes to visit with the configurations in them, and their mode.
    pending: Vec<(TrieNode, ConfigurationId)>,
    mode: LexModeId,
    found: FxHashMap<(ConfigurationId, LexModeId), u32>,
}

impl<'a> FirstTokens<'a> {
    /// A walk that has not begun.
    pub(crate) fn new(open_terminals: &'a OpenTerminalsTable) -> Self {
        let mut modes: Vec<LexModeId> =
            open_terminals.configurations().into_iter().map(|(_, mode)| mode).collect();
        modes.sort_unstable();
        modes.dedup();
        let mode = modes.first().copied().unwrap_or(LexModeId::new(0));
        Self { open_terminals, modes, pending: Vec::new(), mode, found: FxHashMap::default() }
    }

    /// Visits the next nodes; returns whether there are more.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn visit_batch(&mut self, lexer: &mut Lexer, trie: &TokenTrie) -> Result<bool, LimitExceeded> {
        if self.pending.is_empty() {
            let Some(mode) = self.modes.pop() else { return Ok(false) };
            self.mode = mode;
            for node in trie.children(TrieNode::ROOT) {
                let entered = lexer.enter(mode, trie.byte(node), GuardsId::NONE)?;
                self.pending.extend(entered.into_iter().map(|configuration| (node, configuration)));
            }
        }
        for _ in 0..NODES_PER_BATCH {
            let Some((node, configuration)) = self.pending.pop() else { break };
            for token in trie.tokens(node) {
                let first = self.found.entry((configuration, self.mode)).or_insert(u32::MAX);
                *first = token.0.min(*first);
            }
            for child in trie.children(node) {
                let byte = trie.byte(child);
                let step = lexer.step(configuration, byte)?;
                self.pending.extend(step.extended.map(|next| (child, next)));
                if let Some(guards) = step.commit {
                    let entered = lexer.enter(self.mode, byte, guards)?;
                    self.pending.extend(entered.into_iter().map(|next| (child, next)));
                }
            }
        }
        Ok(true)
    }

    /// All configurations, ordered by the first token that ends in them.
    fn order(self) -> Vec<(ConfigurationId, LexModeId)> {
        let mut configurations = self.open_terminals.configurations();
        let first_token = |key: &_| self.found.get(key).copied().unwrap_or(u32::MAX);
        configurations.sort_by_key(|key| (first_token(key), *key));
        configurations
    }
}
