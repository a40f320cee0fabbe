//! Masks by a finite automaton that reads the parser's stack from the top.
//!
//! Which tokens can come is asked of a bundle and a stack. What the state on top of the stack says about it holds for
//! every stack with that state on top: some tokens are certain, and some reductions go on below. So a *state* of the
//! automaton is what is still to be found out about the part of a stack that was not read, as a set of *waits*: a
//! reduction that takes so many more states off the stack, and what is fed to the parser then, for which tokens.
//! Reading one more state of the stack gives tokens and the next state, and how many states below do not matter. Stacks that
//! differ in what does not matter lead to the same states, and the tokens that close many brackets are the only ones that
//! read far.
//!
//! The sets of stacks from which a pushdown automaton gets somewhere are regular (A. Bouajjani, J. Esparza and O. Maler,
//! "Reachability Analysis of Pushdown Automata", 1997). This automaton is deterministic and has outputs; its states and
//! transitions are made when a stack leads to them, as in a lazy DFA.
//!
//! While a transition is made, the part of the stack that is known is an open stack of the [`Parser`], and bundles that
//! are reached behind a lexeme read it with the automaton too, so that what they find is kept for all transitions.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::lexer::lexer_automaton::ClassId;
use crate::masks::spanner_subset::{self, BundleId, Bundles};
use crate::masks::terminal_lists::{TerminalLists, TerminalsId};
use crate::masks::token_partition::{Dependent, Nesting, Sight, Sources, View, Views};
use crate::masks::token_set_store::{PartId, Parts, hash_bytes};
use crate::parser::lr_automaton::LrState;
use crate::parser::stacks::{Attempt, Beneath, LayoutId, Parse, Parser, StackId};
use crate::recognizer::PreparedGrammar;
use grammask_collections::id_type;
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{NonterminalId, TerminalId};
use grammask_vocabulary::TokenSet;

id_type! {
    /// What is still to be found out about a stack.
    StateId
}
id_type! {
    /// A wait.
    WaitId
}

impl StateId {
    /// Nothing is to be found out.
    const DONE: Self = Self(0);
}

/// Large views of bundles have states of their own, down to so many levels of them.
const MOST_LEVELS: u32 = 3;
/// A view with so much that depends on the stack is large.
const LARGE_VIEW: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum State {
    /// Nothing of the stack was read.
    Unread { bundle: BundleId, column: u32, layout: LayoutId },
    /// Sorted.
    Waits(Arc<[WaitId]>),
}

/// A reduction that goes on below what was read, and what comes then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Wait {
    beneath: Beneath,
    goal: Goal,
}

/// What is fed to the parser, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Goal {
    /// One of these has to be taken, which may be the end of the text, for some tokens.
    Any(TerminalsId, PartId),
    /// All of these in turn, and then the end of the text, for some tokens.
    End(TerminalsId, PartId),
    /// All of these in turn, for what is behind a branch of a bundle.
    Branch(TerminalsId, Place),
}

/// Behind a branch of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place {
    bundle: BundleId,
    branch: u32,
    layout: LayoutId,
}

/// What reading one more state of a stack gives.
#[derive(Clone, Copy, Debug)]
struct Transition {
    tokens: Option<PartId>,
    rest: Rest,
}

/// What is to be found out below what was read of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Rest {
    /// So many states of the stack do not matter.
    skipped: u32,
    /// The state that reads what is below them.
    state: StateId,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct StackAutomaton {
    states: Vec<State>,
    state_ids: FxHashMap<State, StateId>,
    transitions: FxHashMap<(StateId, LrState), Transition>,
    waits: Vec<Wait>,
    wait_ids: FxHashMap<Wait, WaitId>,
    parts: Parts,
    terminals: TerminalLists,
    answers: Answers,
    content_bytes: usize,
}

/// What the parser says about open stacks: the same terminals come from many bundles, and states that only differ in tokens
/// ask the same.
#[derive(Debug, Default)]
struct Answers {
    /// Whether one of some terminals is taken.
    any: FxHashMap<(StackId, TerminalsId), AnyTaken>,
    /// Where [`AnyTaken::Beneath`] is: reductions, each with the terminals that make them.
    beneath: Vec<(Beneath, TerminalsId)>,
    /// What becomes of a stack after terminals in turn; what is not known of it needs the rest of them.
    fed: FxHashMap<(StackId, TerminalsId), Attempt<StackId, (Beneath, TerminalsId)>>,
}

/// Whether one of some terminals is taken.
#[derive(Clone, Copy, Debug)]
enum AnyTaken {
    Yes,
    /// That depends on so many reductions, from the first; on none if no terminal is taken.
    Beneath {
        first: u32,
        count: u32,
    },
}

impl Default for StackAutomaton {
    fn default() -> Self {
        let done = State::Waits(Arc::from([]));
        Self {
            states: vec![done.clone()],
            state_ids: FxHashMap::from_iter([(done, StateId::DONE)]),
            transitions: FxHashMap::default(),
            waits: Vec::new(),
            wait_ids: FxHashMap::default(),
            parts: Parts::default(),
            terminals: TerminalLists::default(),
            answers: Answers::default(),
            content_bytes: 0,
        }
    }
}

impl StackAutomaton {
    fn state(&mut self, state: State) -> StateId {
        if let Some(&known) = self.state_ids.get(&state) {
            return known;
        }
        let id = StateId::new(self.states.len());
        if let State::Waits(waits) = &state {
            self.content_bytes += 16 + size_of_val(&waits[..]);
        }
        self.states.push(state.clone());
        self.state_ids.insert(state, id);
        id
    }

    /// The state before anything of a stack was read.
    pub(crate) fn unread(&mut self, bundle: BundleId, column: u32, layout: LayoutId) -> StateId {
        self.state(State::Unread { bundle, column, layout })
    }

    /// What waits have to find out.
    fn rest(&mut self, waits: &[Wait]) -> Rest {
        let skipped = waits.iter().map(|wait| wait.beneath.pops).min().unwrap_or(0);
        let mut ids = Vec::with_capacity(waits.len());
        for &Wait { beneath: Beneath { pops, lhs }, goal } in waits {
            let wait = Wait { beneath: Beneath { pops: pops - skipped, lhs }, goal };
            let next = WaitId::new(self.waits.len());
            let id = *self.wait_ids.entry(wait).or_insert(next);
            if id == next {
                self.waits.push(wait);
            }
            ids.push(id);
        }
        ids.sort_unstable();
        ids.dedup();
        Rest { skipped, state: self.state(State::Waits(ids.into())) }
    }

    /// Adds the waits that a rest stands for.
    fn add_waits(&self, Rest { skipped, state }: Rest, waits: &mut Vec<Wait>) {
        let State::Waits(of_state) = &self.states[state.index()] else { return };
        waits.extend(of_state.iter().map(|id| {
            let Wait { beneath: Beneath { pops, lhs }, goal } = self.waits[id.index()];
            Wait { beneath: Beneath { pops: pops + skipped, lhs }, goal }
        }));
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.content_bytes
            + self.parts.memory_bytes()
            + self.states.capacity() * size_of::<State>()
            + hash_bytes(&self.state_ids)
            + hash_bytes(&self.transitions)
            + self.waits.capacity() * size_of::<Wait>()
            + hash_bytes(&self.wait_ids)
            + self.terminals.memory_bytes()
            + hash_bytes(&self.answers.any)
            + self.answers.beneath.capacity() * size_of::<(Beneath, TerminalsId)>()
            + hash_bytes(&self.answers.fed)
    }
}

/// What was found while a transition is made.
#[derive(Debug, Default)]
struct Found {
    tokens: Vec<PartId>,
    waits: Vec<Wait>,
    /// Small views to look at.
    pending: Vec<Seen>,
    /// Below so many large views.
    level: u32,
}

/// A bundle as a parse sees it.
#[derive(Clone, Debug)]
struct Seen {
    bundle: BundleId,
    view: Arc<View>,
    parse: Parse,
    /// The column of the newline before the token, or 0.
    column: u32,
}

/// Reads stacks with an automaton, and makes of it what is missing.
pub(crate) struct Reading<'a> {
    pub(crate) automaton: &'a mut StackAutomaton,
    pub(crate) parser: &'a mut Parser,
    pub(crate) bundles: &'a mut Bundles,
    pub(crate) views: &'a mut Views,
    pub(crate) tables: spanner_subset::Tables<'a>,
    pub(crate) prepared: &'a PreparedGrammar,
    /// Memory that all of these may take, with what others have taken.
    pub(crate) memory_limit: usize,
    pub(crate) memory_elsewhere: usize,
}

impl Reading<'_> {
    /// The tokens of a bundle that a parse takes, where the lexeme that is being read may be a newline in a column; and
    /// whether all transitions for it were there.
    ///
    /// # Errors
    /// When a limit is passed.
    pub(crate) fn mask(
        &mut self,
        (bundle, column): (BundleId, u32),
        parse: Parse,
    ) -> Result<(Arc<TokenSet>, bool), LimitExceeded> {
        let state = self.automaton.unread(bundle, column, parse.layout);
        let mut tokens = Vec::new();
        let transitions = self.automaton.transitions.len();
        self.read(state, parse.stack, (&mut tokens, 0))?;
        let mask = self.automaton.parts.mask(&mut tokens, self.tables.vocabulary_size);
        Ok((mask, transitions == self.automaton.transitions.len()))
    }

    /// Makes a transition before a mask needs it. If something is left to find out then: by which state, and how far below `top`.
    ///
    /// # Errors
    /// When a limit is passed.
    pub(crate) fn make_ahead(
        &mut self,
        state: StateId,
        top: LrState,
    ) -> Result<Option<(StateId, u32)>, LimitExceeded> {
        if let State::Waits(waits) = &self.automaton.states[state.index()] {
            let waits = waits.iter().map(|wait| self.automaton.waits[wait.index()].beneath);
            // What was reduced can be read on every state that can be below it.
            for Beneath { pops, lhs } in waits {
                if pops == 0 && !self.parser.reads(top, lhs) {
                    return Ok(None);
                }
            }
        }
        let is_top = matches!(self.automaton.states[state.index()], State::Unread { .. });
        let Transition { tokens, rest: Rest { skipped, state } } = self.transition(state, top, 0)?;
        if is_top && let Some(tokens) = tokens {
            self.automaton.parts.get(tokens, self.tables.vocabulary_size);
        }
        Ok((state != StateId::DONE).then_some((state, skipped + 1)))
    }

    /// Reads what is known of a stack and adds the tokens that are found; returns what is left to find out below it.
    fn read(
        &mut self,
        state: StateId,
        stack: StackId,
        (tokens, level): (&mut Vec<PartId>, u32),
    ) -> Result<Rest, LimitExceeded> {
        let mut rest = Rest { skipped: 0, state };
        let mut next = Some(stack);
        while let Some(stack) = next
            && rest.state != StateId::DONE
        {
            let (top, below) = self.parser.state_and_below(stack);
            next = below;
            if rest.skipped > 0 {
                rest.skipped -= 1;
                continue;
            }
            let transition = self.transition(rest.state, top, level)?;
            tokens.extend(transition.tokens);
            rest = transition.rest;
        }
        Ok(rest)
    }

    #[inline]
    fn transition(&mut self, state: StateId, top: LrState, level: u32) -> Result<Transition, LimitExceeded> {
        match self.automaton.transitions.get(&(state, top)) {
            Some(&known) => Ok(known),
            None => self.make(state, top, level),
        }
    }

    /// Makes a transition. Calls itself for large views, `MOST_LEVELS` deep at most.
    fn make(&mut self, state: StateId, top: LrState, level: u32) -> Result<Transition, LimitExceeded> {
        let mut found = Found { level, ..Found::default() };
        match self.automaton.states[state.index()].clone() {
            State::Unread { bundle, column, layout } => {
                let parse = Parse { stack: self.parser.open_stack(top), layout };
                // A transition has what the view of a state was made for, in a layout.
                let view = self.view(bundle, parse, self.prepared.grammar.indentation.is_some() || level > 0);
                found.pending.push(Seen { bundle, view, parse, column });
            }
            State::Waits(waits) => {
                found.waits.reserve(waits.len());
                self.go_on(&waits, top, &mut found)?;
            }
        }
        while let Some(seen) = found.pending.pop() {
            self.look_at(seen, &mut found)?;
        }
        self.check_limits()?;
        let Found { mut tokens, mut waits, .. } = found;
        let automaton = &mut *self.automaton;
        tokens.sort_unstable();
        // For what is certain there is nothing to wait.
        waits.retain(|wait| match wait.goal {
            Goal::Any(_, part) | Goal::End(_, part) => tokens.binary_search(&part).is_err(),
            Goal::Branch(..) => true,
        });
        let rest = automaton.rest(&waits);
        let tokens = automaton.parts.union(&mut tokens);
        let transition = Transition { tokens, rest };
        automaton.transitions.insert((state, top), transition);
        Ok(transition)
    }

    fn check_limits(&mut self) -> Result<(), LimitExceeded> {
        self.parser.check()?;
        let memory = self.memory_elsewhere
            + self.automaton.memory_bytes()
            + self.parser.memory_bytes()
            + self.bundles.memory_bytes()
            + self.views.memory_bytes()
            + self.tables.spanners.memory_bytes();
        if memory > self.memory_limit {
            return Err(LimitExceeded::new("memory_bytes", self.memory_limit));
        }
        Ok(())
    }

    /// Goes on with what waited for a state of the stack.
    fn go_on(&mut self, waits: &[WaitId], top: LrState, found: &mut Found) -> Result<(), LimitExceeded> {
        // Most waits of a state are for one nonterminal.
        let mut last: Option<(NonterminalId, Option<StackId>)> = None;
        for &wait in waits {
            let Wait { beneath: Beneath { pops, lhs }, goal } = self.automaton.waits[wait.index()];
            if pops > 0 {
                found.waits.push(Wait { beneath: Beneath { pops: pops - 1, lhs }, goal });
                continue;
            }
            let stack = match last {
                Some((nonterminal, stack)) if nonterminal == lhs => stack,
                _ => self.parser.after_nonterminal(top, lhs),
            };
            last = Some((lhs, stack));
            if let Some(stack) = stack {
                self.pursue(stack, goal, found)?;
            }
        }
        Ok(())
    }

    /// The view of a bundle that a parse has; `is_kept` if it may be asked for again.
    fn view(&mut self, bundle: BundleId, parse: Parse, is_kept: bool) -> Arc<View> {
        let PreparedGrammar { grammar, tables, futures, .. } = self.prepared;
        let top = self.parser.top(parse.stack);
        let nesting = match self.parser.is_in_brackets(parse.layout) {
            true => Nesting::Inside,
            false => Nesting::Outside,
        };
        let sources = Sources { grammar, tables, futures };
        let automaton = &mut *self.automaton;
        let sight = Sight {
            bundle: self.bundles.get(bundle),
            parts: &mut automaton.parts,
            terminals: &mut automaton.terminals,
        };
        if is_kept {
            self.views.of((bundle, top, nesting), sight, sources)
        } else {
            Arc::new(sources.view(sight, top, nesting))
        }
    }

    /// Finds what a view leaves to find out.
    fn look_at(
        &mut self,
        Seen { bundle, view, parse, column }: Seen,
        found: &mut Found,
    ) -> Result<(), LimitExceeded> {
        found.tokens.extend(view.certain);
        // Blocks have to end before the text can.
        let end = self.prepared.grammar.end();
        let blocks = self.parser.ends_of_blocks(parse.layout);
        let ends_blocks = blocks.terminals().next().is_some();
        for &Dependent { mut terminals, tokens: part } in &view.dependent {
            if ends_blocks {
                let list = self.automaton.terminals.get(terminals);
                if list.contains(&end) {
                    let others = list.iter().copied().filter(|&terminal| terminal != end);
                    terminals = self.automaton.terminals.id(others);
                    let to_end = self.automaton.terminals.id(blocks.terminals());
                    self.pursue(parse.stack, Goal::End(to_end, part), found)?;
                }
            }
            self.pursue(parse.stack, Goal::Any(terminals, part), found)?;
        }
        for &branch in &view.branches {
            let next = &self.bundles.get(bundle).branches[branch as usize];
            let (terminal, emitted) = (next.terminal, next.column.resolve(column));
            if let Some(lexeme) = self.parser.lexeme(parse.layout, terminal, emitted) {
                let place = Place { bundle, branch, layout: lexeme.layout };
                let terminals = self.automaton.terminals.id(lexeme.terminals());
                self.pursue(parse.stack, Goal::Branch(terminals, place), found)?;
            }
        }
        Ok(())
    }

    /// Feeds to an open stack what a goal needs, as far as the stack is known.
    fn pursue(&mut self, stack: StackId, goal: Goal, found: &mut Found) -> Result<(), LimitExceeded> {
        match goal {
            Goal::Any(terminals, part) => match self.is_any_taken(stack, terminals) {
                AnyTaken::Yes => found.tokens.push(part),
                AnyTaken::Beneath { first, count } => {
                    let reductions = &self.automaton.answers.beneath[first as usize..][..count as usize];
                    found.waits.extend(
                        reductions
                            .iter()
                            .map(|&(beneath, terminals)| Wait { beneath, goal: Goal::Any(terminals, part) }),
                    );
                }
            },
            Goal::End(terminals, part) => match self.feed(stack, terminals) {
                Attempt::Taken(stack) => {
                    let end = self.automaton.terminals.id([self.prepared.grammar.end()]);
                    self.pursue(stack, Goal::Any(end, part), found)?;
                }
                Attempt::Refused => {}
                Attempt::Beneath((beneath, rest)) => {
                    found.waits.push(Wait { beneath, goal: Goal::End(rest, part) });
                }
            },
            Goal::Branch(terminals, place) => match self.feed(stack, terminals) {
                Attempt::Taken(stack) => self.enter(place, stack, found)?,
                Attempt::Refused => {}
                Attempt::Beneath((beneath, rest)) => {
                    found.waits.push(Wait { beneath, goal: Goal::Branch(rest, place) });
                }
            },
        }
        Ok(())
    }

    /// Finds what is behind a branch whose terminals were taken.
    fn enter(
        &mut self,
        Place { bundle, branch, layout }: Place,
        stack: StackId,
        found: &mut Found,
    ) -> Result<(), LimitExceeded> {
        let class: ClassId = self.prepared.classes.of_state[self.parser.top(stack).index()];
        let place = (bundle, branch as usize, class);
        let bundle = match self.bundles.known_child(place) {
            Some(known) => known,
            None => self.bundles.child(place, &mut self.tables)?,
        };
        let parse = Parse { stack, layout };
        let view = self.view(bundle, parse, true);
        if found.level == MOST_LEVELS || view.len() < LARGE_VIEW {
            found.pending.push(Seen { bundle, view, parse, column: 0 });
            return Ok(());
        }
        let state = self.automaton.unread(bundle, 0, layout);
        let rest = self.read(state, stack, (&mut found.tokens, found.level + 1))?;
        self.automaton.add_waits(rest, &mut found.waits);
        Ok(())
    }

    /// Whether an open stack takes one of some terminals.
    fn is_any_taken(&mut self, stack: StackId, terminals: TerminalsId) -> AnyTaken {
        let automaton = &mut *self.automaton;
        if let Some(&known) = automaton.answers.any.get(&(stack, terminals)) {
            return known;
        }
        let mut beneath: Vec<(Beneath, Vec<TerminalId>)> = Vec::new();
        let mut is_taken = false;
        for &terminal in &automaton.terminals.get(terminals)[..] {
            match self.parser.probe(stack, terminal) {
                Attempt::Taken(()) => {
                    is_taken = true;
                    break;
                }
                Attempt::Refused => {}
                Attempt::Beneath(place) => match beneath.iter_mut().find(|(known, _)| *known == place) {
                    Some((_, terminals)) => terminals.push(terminal),
                    None => beneath.push((place, vec![terminal])),
                },
            }
        }
        let answer = if is_taken {
            AnyTaken::Yes
        } else {
            let first = automaton.answers.beneath.len() as u32;
            for (place, terminals) in &beneath {
                let terminals = automaton.terminals.id(terminals.iter().copied());
                automaton.answers.beneath.push((*place, terminals));
            }
            AnyTaken::Beneath { first, count: beneath.len() as u32 }
        };
        // What a limit kept from being found out is not kept.
        if !self.parser.has_failed() {
            automaton.answers.any.insert((stack, terminals), answer);
        }
        answer
    }

    /// The stack after some terminals, if they are taken; where that is not known, what is left to feed.
    fn feed(&mut self, stack: StackId, terminals: TerminalsId) -> Attempt<StackId, (Beneath, TerminalsId)> {
        let automaton = &mut *self.automaton;
        if let Some(&known) = automaton.answers.fed.get(&(stack, terminals)) {
            return known;
        }
        let mut answer = Attempt::Taken(stack);
        let list = automaton.terminals.get(terminals);
        for (index, &terminal) in list.iter().enumerate() {
            let Attempt::Taken(stack) = answer else { break };
            answer = match self.parser.feed(stack, terminal) {
                Attempt::Taken(next) => Attempt::Taken(next),
                Attempt::Refused => Attempt::Refused,
                Attempt::Beneath(beneath) => {
                    let rest = automaton.terminals.id(list[index..].iter().copied());
                    Attempt::Beneath((beneath, rest))
                }
            };
        }
        if !self.parser.has_failed() {
            automaton.answers.fed.insert((stack, terminals), answer);
        }
        answer
    }
}
