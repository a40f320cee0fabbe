//! Makes ahead what masks are made of, before a text is read.
//!
//! The automaton that reads stacks has finitely many states, so all of it can be made: from each configuration of the
//! lexer and each state that can be on top of the parser's stack, over all states that can be below. What can be below
//! comes from the LR automaton, where every path is the stack of some text.
//!
//! Not all of it is worth its memory, so what counts most comes first: the configurations in which the first tokens of the
//! vocabulary end, since vocabularies begin with what is frequent, each with all that it leads to. With indentation the
//! automaton is made for lines outside of blocks and brackets; for others most bundles are there then.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::futures::Futures;
use super::grammar::Symbol;
use super::lexer::{ClassId, ConfigurationId, GuardsId, Lexer};
use super::lr_automaton::LrState;
use super::parser::Attempt;
use super::recognizer::PreparedGrammar;
use super::spanners::Place;
use super::stack_automaton::{Reading, StateId};
use crate::LimitExceeded;
use crate::grammar::TerminalId;
use crate::vocabulary::{TokenTrie, TrieNode};

/// Transitions that are made at once.
const BATCH: usize = 256;

/// What is still to be made, what counts most first.
pub(super) struct Ahead<'a> {
    prepared: &'a PreparedGrammar,
    /// Those that count most are last.
    configurations: Vec<(ConfigurationId, ClassId)>,
    /// How many configurations there were.
    count: usize,
    states_of_class: Vec<Vec<LrState>>,
    transitions: Vec<(StateId, LrState)>,
    met: FxHashSet<(StateId, LrState)>,
    below: Below,
}

impl<'a> Ahead<'a> {
    /// Everything that can be made for a grammar.
    ///
    /// # Errors
    /// When a limit is passed.
    pub(super) fn new(
        prepared: &'a PreparedGrammar,
        lexer: &mut Lexer,
        trie: &TokenTrie,
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
        let configurations = by_first_token(&prepared.futures, lexer, trie)?;
        Ok(Self {
            prepared,
            count: configurations.len(),
            configurations,
            states_of_class,
            transitions: Vec::new(),
            met: FxHashSet::default(),
            below: Below::of(prepared),
        })
    }

    /// How many configurations there are, and how many of them are made with all that they lead to.
    pub(super) fn progress(&self) -> (usize, usize) {
        let begun = self.count - self.configurations.len();
        (self.count, begun - usize::from(!self.transitions.is_empty()))
    }

    /// Memory that finding out what to make takes, in bytes, an estimate.
    pub(super) fn memory_bytes(&self) -> usize {
        let place = size_of::<(StateId, LrState)>();
        self.below.known_bytes + self.met.capacity() * (place + 1) + self.transitions.capacity() * place
    }

    /// Makes some of it.
    ///
    /// # Errors
    /// When a limit is passed.
    pub(super) fn make_some(&mut self, reading: &mut Reading<'_>) -> Result<(), LimitExceeded> {
        reading.tables.deadline.check()?;
        if self.transitions.is_empty()
            && let Some((configuration, class)) = self.configurations.pop()
        {
            self.begin(configuration, class, reading)?;
        }
        for _ in 0..BATCH {
            let Some((state, top)) = self.transitions.pop() else { break };
            self.make(state, top, reading)?;
        }
        Ok(())
    }

    /// Makes what the states on top of a stack say in a configuration.
    fn begin(
        &mut self,
        configuration: ConfigurationId,
        class: ClassId,
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
            self.make(root, top, reading)?;
        }
        Ok(())
    }

    /// Makes a transition and notes where it leads to.
    fn make(&mut self, state: StateId, top: LrState, reading: &mut Reading<'_>) -> Result<(), LimitExceeded> {
        let Some((next, distance)) = reading.make_ahead(state, top)? else { return Ok(()) };
        for &below in &self.below.of_state(top, distance)[..] {
            if self.met.insert((next, below)) {
                self.transitions.push((next, below));
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

/// All configurations; those in which earlier tokens end are last.
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
    configurations.sort_by_key(|key| (std::cmp::Reverse(first_token(key)), *key));
    Ok(configurations)
}
