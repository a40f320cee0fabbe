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

use crate::definition::grammar::Symbol;
use crate::lexer::lexer_automaton::{ClassId, ConfigurationId, GuardsId, Lexer};
use crate::lexer::open_lexemes::Futures;
use crate::masks::spanner_table::Place;
use crate::masks::stack_automaton::{Reading, StateId};
use crate::parser::lr_automaton::LrState;
use crate::parser::stacks::Attempt;
use crate::recognizer::PreparedGrammar;
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::TerminalId;
use grammask_vocabulary::{TokenTrie, TrieNode};

/// Transitions that are made at once.
const BATCH: usize = 256;

/// If time is short, so many times later among the configurations counts as one transition further down a stack. If it is
/// not, memory is what there is too little of, and one configuration with all that it leads to takes the least.
const HURRIED_FACTOR: u64 = 8;

/// What is still to be made, what counts most first.
pub(crate) struct Ahead<'a> {
    prepared: &'a PreparedGrammar,
    /// [`HURRIED_FACTOR`], or 1.
    factor_of_depth: u64,
    /// Those that count most first.
    configurations: Vec<(ConfigurationId, ClassId)>,
    /// How many of them were begun.
    begun: usize,
    /// For each that was begun, how many entries of `waiting` are for it.
    open: Vec<usize>,
    /// How many were begun and have none.
    done: usize,
    states_of_class: Vec<Vec<LrState>>,
    waiting: BTreeMap<Rank, Vec<(StateId, LrState)>>,
    waiting_count: usize,
    met: FxHashSet<(StateId, LrState)>,
    below: Below,
}

/// What counts more is less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    order: u64,
    configuration: usize,
    /// Transitions above in the stack.
    depth: u32,
}

impl<'a> Ahead<'a> {
    /// Everything that can be made for the `most` configurations that count most; `is_hurried` if there may not be the time for
    /// that.
    ///
    /// # Errors
    /// When a limit is passed.
    pub(crate) fn new(
        prepared: &'a PreparedGrammar,
        lexer: &mut Lexer,
        trie: &TokenTrie,
        (most, is_hurried): (usize, bool),
    ) -> Result<Self, LimitExceeded> {
        let classes = &prepared.classes;
        let mut states_of_class = vec![Vec::new(); classes.terminals.len()];
        let entered_by = prepared.table().map_or(&[][..], |table| &table.automaton.entered_by);
        for (state, symbol) in entered_by.iter().enumerate() {
            // The parser reduces when it sees the next terminal, so between tokens it stands behind one.
            if !matches!(symbol, Some(Symbol::Nonterminal(_))) {
                states_of_class[classes.of_state[state].index()].push(LrState::new(state));
            }
        }
        let mut configurations = by_first_token(&prepared.futures, lexer, trie)?;
        configurations.truncate(most);
        Ok(Self {
            prepared,
            factor_of_depth: if is_hurried { HURRIED_FACTOR } else { 1 },
            configurations,
            begun: 0,
            open: Vec::new(),
            done: 0,
            states_of_class,
            waiting: BTreeMap::new(),
            waiting_count: 0,
            met: FxHashSet::default(),
            below: Below::of(prepared),
        })
    }

    fn rank(&self, configuration: usize, depth: u32) -> Rank {
        let factor = self.factor_of_depth.saturating_pow(depth);
        Rank { order: factor.saturating_mul(configuration as u64 + 1), configuration, depth }
    }

    /// How many configurations are made with all that they lead to, and how many there are.
    pub(crate) fn progress(&self) -> (usize, usize) {
        (self.done, self.configurations.len())
    }

    /// Memory that finding out what to make takes, in bytes, an estimate.
    pub(crate) fn memory_bytes(&self) -> usize {
        let place = size_of::<(StateId, LrState)>();
        self.below.known_bytes + self.met.capacity() * (place + 1) + 2 * self.waiting_count * place
    }

    /// Makes some of it.
    ///
    /// # Errors
    /// When a limit is passed.
    pub(crate) fn make_some(&mut self, reading: &mut Reading<'_>) -> Result<(), LimitExceeded> {
        reading.tables.deadline.check()?;
        let next = self.rank(self.begun, 0);
        match self.waiting.first_entry() {
            Some(mut first) if self.begun == self.configurations.len() || *first.key() < next => {
                let rank = *first.key();
                let places = first.get_mut();
                let some = places.split_off(places.len().saturating_sub(BATCH));
                if places.is_empty() {
                    first.remove();
                    self.open[rank.configuration] -= 1;
                }
                self.waiting_count -= some.len();
                for (state, top) in some {
                    self.make((state, top), rank, reading)?;
                }
                self.done += usize::from(self.open[rank.configuration] == 0);
            }
            _ => {
                let Some(&(configuration, class)) = self.configurations.get(self.begun) else {
                    return Ok(());
                };
                self.begun += 1;
                self.open.push(0);
                self.begin(configuration, class, next, reading)?;
                self.done += usize::from(self.open[next.configuration] == 0);
            }
        }
        Ok(())
    }

    /// Makes what the states on top of a stack say in a configuration.
    fn begin(
        &mut self,
        configuration: ConfigurationId,
        class: ClassId,
        rank: Rank,
        reading: &mut Reading<'_>,
    ) -> Result<(), LimitExceeded> {
        let Some(future) = self.prepared.futures.of(configuration, class) else { return Ok(()) };
        let layout = reading.parser.start().layout;
        let terminals: Vec<TerminalId> = self.prepared.futures.get(future).outside.iter().collect();
        let mut root = None;
        for index in 0..self.states_of_class[class.index()].len() {
            let top = self.states_of_class[class.index()][index];
            let stack = reading.parser.open_stack(top);
            let is_alive = terminals
                .iter()
                .any(|&terminal| !matches!(reading.parser.probe(stack, terminal), Attempt::Refused));
            if !is_alive {
                continue;
            }
            let root = match root {
                Some(root) => root,
                None => {
                    let place = Place::before_token(configuration);
                    let bundle = reading.bundles.at(place, class, &mut reading.tables)?;
                    *root.insert(reading.automaton.unread(bundle, 0, layout))
                }
            };
            self.make((root, top), rank, reading)?;
        }
        Ok(())
    }

    /// Makes a transition and notes where it leads to.
    fn make(
        &mut self,
        (state, top): (StateId, LrState),
        rank: Rank,
        reading: &mut Reading<'_>,
    ) -> Result<(), LimitExceeded> {
        let Some((next, distance)) = reading.make_ahead(state, top)? else { return Ok(()) };
        let further = self.rank(rank.configuration, rank.depth + 1);
        for &below in &self.below.of_state(top, distance)[..] {
            if self.met.insert((next, below)) {
                let places = self.waiting.entry(further).or_default();
                self.open[rank.configuration] += usize::from(places.is_empty());
                places.push((next, below));
                self.waiting_count += 1;
            }
        }
        Ok(())
    }
}

/// Which states can be below others in a stack.
struct Below {
    directly: Vec<Rc<[LrState]>>,
    /// By state, and how far below.
    known: FxHashMap<(LrState, u32), Rc<[LrState]>>,
    known_bytes: usize,
}

impl Below {
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
        Self { directly, known: FxHashMap::default(), known_bytes: 0 }
    }

    /// The states that can be so far below a state; 1 is directly below.
    fn of_state(&mut self, state: LrState, distance: u32) -> Rc<[LrState]> {
        if let Some(known) = self.known.get(&(state, distance)) {
            return known.clone();
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
        self.known_bytes += 64 + size_of_val(&below[..]);
        self.known.insert((state, distance), below.clone());
        below
    }
}

/// All configurations; those in which earlier tokens end are first.
fn by_first_token(
    futures: &Futures,
    lexer: &mut Lexer,
    trie: &TokenTrie,
) -> Result<Vec<(ConfigurationId, ClassId)>, LimitExceeded> {
    let mut configurations = futures.configurations();
    let mut classes: Vec<ClassId> = configurations.iter().map(|&(_, class)| class).collect();
    classes.sort_unstable();
    classes.dedup();
    let mut first_tokens: FxHashMap<(ConfigurationId, ClassId), u32> = FxHashMap::default();
    for class in classes {
        let mut places: Vec<(TrieNode, ConfigurationId)> = Vec::new();
        for node in trie.children(TrieNode::ROOT) {
            let entered = lexer.enter(class, trie.byte(node), GuardsId::NONE)?;
            places.extend(entered.into_iter().map(|configuration| (node, configuration)));
        }
        while let Some((node, configuration)) = places.pop() {
            for token in trie.tokens(node) {
                let first = first_tokens.entry((configuration, class)).or_insert(u32::MAX);
                *first = token.0.min(*first);
            }
            for child in trie.children(node) {
                let byte = trie.byte(child);
                let steps = lexer.step(configuration, byte)?;
                places.extend(steps.go_on.map(|next| (child, next)));
                if let Some(guards) = steps.commit {
                    let entered = lexer.enter(class, byte, guards)?;
                    places.extend(entered.into_iter().map(|next| (child, next)));
                }
            }
        }
    }
    let first_token = |key: &(ConfigurationId, ClassId)| first_tokens.get(key).copied().unwrap_or(u32::MAX);
    configurations.sort_by_key(|key| (first_token(key), *key));
    Ok(configurations)
}
