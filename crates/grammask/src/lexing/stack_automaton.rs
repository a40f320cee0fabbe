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

use super::bundles::{self, BundleId, Bundles};
use super::lexer::ClassId;
use super::lr_automaton::LrState;
use super::parser::{Attempt, Beneath, LayoutId, Parse, Parser, StackId};
use super::parts::{PartId, Parts, hash_bytes};
use super::recognizer::PreparedGrammar;
use super::views::{Nesting, Sources, View, Views};
use crate::LimitExceeded;
use crate::grammar::{TerminalId, id_type};
use crate::vocabulary::TokenSet;

id_type! {
    /// What is still to be found out about a stack.
    StateId
}
id_type! {
    /// A wait.
    WaitId
}
id_type! {
    /// What is fed to the parser, and for what.
    GoalId
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
    Waits(Box<[WaitId]>),
}

/// A reduction that goes on below what was read, and what comes then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Wait {
    beneath: Beneath,
    goal: GoalId,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Goal {
    /// One of these has to be taken, which may be the end of the text, for some tokens.
    Any(Arc<[TerminalId]>, PartId),
    /// All of these in turn, and then the end of the text, for some tokens.
    End(Arc<[TerminalId]>, PartId),
    /// All of these in turn, for what is behind a branch of a bundle.
    Branch(Arc<[TerminalId]>, Place),
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
    goals: Vec<Goal>,
    goal_ids: FxHashMap<Goal, GoalId>,
    parts: Parts,
    /// What was found out with the open stacks of one mask: the same terminals come from many bundles.
    fed: FxHashMap<(StackId, TerminalId), Attempt<StackId>>,
    probed: FxHashMap<(StackId, TerminalId), Attempt<()>>,
    content_bytes: usize,
}

impl Default for StackAutomaton {
    fn default() -> Self {
        let done = State::Waits([].into());
        Self {
            states: vec![done.clone()],
            state_ids: FxHashMap::from_iter([(done, StateId::DONE)]),
            transitions: FxHashMap::default(),
            waits: Vec::new(),
            wait_ids: FxHashMap::default(),
            goals: Vec::new(),
            goal_ids: FxHashMap::default(),
            parts: Parts::default(),
            fed: FxHashMap::default(),
            probed: FxHashMap::default(),
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
            self.content_bytes += 2 * size_of_val(&waits[..]);
        }
        self.states.push(state.clone());
        self.state_ids.insert(state, id);
        id
    }

    /// The state before anything of a stack was read.
    pub(crate) fn unread(&mut self, bundle: BundleId, column: u32, layout: LayoutId) -> StateId {
        self.state(State::Unread { bundle, column, layout })
    }

    fn wait(&mut self, beneath: Beneath, goal: GoalId) -> WaitId {
        let wait = Wait { beneath, goal };
        let next = WaitId::new(self.waits.len());
        let id = *self.wait_ids.entry(wait).or_insert(next);
        if id == next {
            self.waits.push(wait);
        }
        id
    }

    /// What waits have to find out.
    fn rest(&mut self, mut waits: Vec<WaitId>) -> Rest {
        let skipped = waits.iter().map(|wait| self.waits[wait.index()].beneath.pops).min().unwrap_or(0);
        if skipped > 0 {
            for id in &mut waits {
                let Wait { beneath: Beneath { pops, lhs }, goal } = self.waits[id.index()];
                *id = self.wait(Beneath { pops: pops - skipped, lhs }, goal);
            }
        }
        waits.sort_unstable();
        waits.dedup();
        Rest { skipped, state: self.state(State::Waits(waits.into())) }
    }

    /// Adds the waits that a rest stands for.
    fn add_waits(&mut self, Rest { skipped, state }: Rest, waits: &mut Vec<WaitId>) {
        let State::Waits(of_state) = self.states[state.index()].clone() else { return };
        for id in of_state {
            let Wait { beneath: Beneath { pops, lhs }, goal } = self.waits[id.index()];
            waits.push(self.wait(Beneath { pops: pops + skipped, lhs }, goal));
        }
    }

    fn goal(&mut self, goal: Goal) -> GoalId {
        if let Some(&known) = self.goal_ids.get(&goal) {
            return known;
        }
        let id = GoalId::new(self.goals.len());
        let (Goal::Any(terminals, _) | Goal::End(terminals, _) | Goal::Branch(terminals, _)) = &goal;
        self.content_bytes += 16 + size_of_val(&terminals[..]);
        self.goals.push(goal.clone());
        self.goal_ids.insert(goal, id);
        id
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.content_bytes
            + self.parts.memory_bytes()
            + self.states.capacity() * size_of::<State>()
            + hash_bytes(&self.state_ids)
            + hash_bytes(&self.transitions)
            + self.waits.capacity() * size_of::<Wait>()
            + hash_bytes(&self.wait_ids)
            + self.goals.capacity() * size_of::<Goal>()
            + hash_bytes(&self.goal_ids)
            + hash_bytes(&self.fed)
            + hash_bytes(&self.probed)
    }
}

/// What was found while a transition is made.
#[derive(Debug, Default)]
struct Found {
    tokens: Vec<PartId>,
    waits: Vec<WaitId>,
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
    pub(crate) tables: bundles::Tables<'a>,
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
        self.on_trial(|reading| reading.read(state, parse.stack, (&mut tokens, 0)))?;
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
        let Transition { tokens, rest: Rest { skipped, state } } =
            self.on_trial(|reading| reading.transition(state, top, 0))?;
        if is_top && let Some(tokens) = tokens {
            self.automaton.parts.get(tokens, self.tables.vocabulary_size);
        }
        Ok((state != StateId::DONE).then_some((state, skipped + 1)))
    }

    /// Forgets the stacks that were tried: for other masks they are of no use.
    fn on_trial<T>(&mut self, try_stacks: impl FnOnce(&mut Self) -> T) -> T {
        let stacks = self.parser.stack_count();
        let found = try_stacks(self);
        self.parser.forget_stacks(stacks);
        self.automaton.fed.clear();
        self.automaton.probed.clear();
        found
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
                for wait in waits {
                    self.go_on(wait, top, &mut found)?;
                }
            }
        }
        while let Some(seen) = found.pending.pop() {
            self.look_at(seen, &mut found)?;
            self.check_limits()?;
        }
        self.check_limits()?;
        let Found { mut tokens, mut waits, .. } = found;
        let automaton = &mut *self.automaton;
        tokens.sort_unstable();
        // For what is certain there is nothing to wait.
        waits.retain(|wait| match &automaton.goals[automaton.waits[wait.index()].goal.index()] {
            Goal::Any(_, part) | Goal::End(_, part) => tokens.binary_search(part).is_err(),
            Goal::Branch(..) => true,
        });
        let rest = automaton.rest(waits);
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
    fn go_on(&mut self, wait: WaitId, top: LrState, found: &mut Found) -> Result<(), LimitExceeded> {
        let Wait { beneath: Beneath { pops, lhs }, goal } = self.automaton.waits[wait.index()];
        if pops > 0 {
            found.waits.push(self.automaton.wait(Beneath { pops: pops - 1, lhs }, goal));
            return Ok(());
        }
        match self.parser.after_nonterminal(top, lhs) {
            Some(stack) => self.pursue(stack, self.automaton.goals[goal.index()].clone(), found),
            None => Ok(()),
        }
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
        let sight = (self.bundles.get(bundle), &mut self.automaton.parts);
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
        let end = self.prepared.grammar.end();
        for dependent in &view.dependent {
            let part = dependent.tokens;
            let blocks = self.parser.ends_of_blocks(parse.layout);
            let mut terminals = dependent.terminals.clone();
            if blocks.terminals().next().is_some() && terminals.contains(&end) {
                terminals = terminals.iter().copied().filter(|&terminal| terminal != end).collect();
                self.pursue(parse.stack, Goal::End(blocks.terminals().collect(), part), found)?;
            }
            self.pursue(parse.stack, Goal::Any(terminals, part), found)?;
        }
        for &branch in &view.branches {
            let next = &self.bundles.get(bundle).branches[branch as usize];
            let (terminal, emitted) = (next.terminal, next.column.resolve(column));
            if let Some(lexeme) = self.parser.lexeme(parse.layout, terminal, emitted) {
                let place = Place { bundle, branch, layout: lexeme.layout };
                self.pursue_branch(parse.stack, lexeme.terminals(), place, found)?;
            }
        }
        Ok(())
    }

    /// Feeds to an open stack what a goal needs, as far as the stack is known.
    fn pursue(&mut self, stack: StackId, goal: Goal, found: &mut Found) -> Result<(), LimitExceeded> {
        match goal {
            Goal::Any(terminals, part) => {
                let mut beneath: Vec<(Beneath, Vec<TerminalId>)> = Vec::new();
                for &terminal in &terminals[..] {
                    match self.probe(stack, terminal) {
                        Attempt::Taken(()) => {
                            found.tokens.push(part);
                            return Ok(());
                        }
                        Attempt::Refused => {}
                        Attempt::Beneath(place) => {
                            match beneath.iter_mut().find(|(known, _)| *known == place) {
                                Some((_, terminals)) => terminals.push(terminal),
                                None => beneath.push((place, vec![terminal])),
                            }
                        }
                    }
                }
                for (place, terminals) in beneath {
                    let goal = self.automaton.goal(Goal::Any(terminals.into(), part));
                    found.waits.push(self.automaton.wait(place, goal));
                }
                Ok(())
            }
            Goal::End(terminals, part) => match self.feed_all(stack, terminals.iter().copied()) {
                Ok(Some(stack)) => {
                    self.pursue(stack, Goal::Any([self.prepared.grammar.end()].into(), part), found)
                }
                Ok(None) => Ok(()),
                Err((beneath, rest)) => {
                    let goal = self.automaton.goal(Goal::End(rest, part));
                    found.waits.push(self.automaton.wait(beneath, goal));
                    Ok(())
                }
            },
            Goal::Branch(terminals, place) => {
                self.pursue_branch(stack, terminals.iter().copied(), place, found)
            }
        }
    }

    fn pursue_branch(
        &mut self,
        stack: StackId,
        terminals: impl Iterator<Item = TerminalId>,
        place: Place,
        found: &mut Found,
    ) -> Result<(), LimitExceeded> {
        match self.feed_all(stack, terminals) {
            Ok(Some(stack)) => self.enter(place, stack, found),
            Ok(None) => Ok(()),
            Err((beneath, rest)) => {
                let goal = self.automaton.goal(Goal::Branch(rest, place));
                found.waits.push(self.automaton.wait(beneath, goal));
                Ok(())
            }
        }
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

    /// The stack after some terminals, if they are taken; where that is not known, what is left to feed.
    fn feed_all(
        &mut self,
        mut stack: StackId,
        mut terminals: impl Iterator<Item = TerminalId>,
    ) -> Result<Option<StackId>, (Beneath, Arc<[TerminalId]>)> {
        while let Some(terminal) = terminals.next() {
            match self.feed(stack, terminal) {
                Attempt::Taken(next) => stack = next,
                Attempt::Refused => return Ok(None),
                Attempt::Beneath(beneath) => {
                    return Err((beneath, std::iter::once(terminal).chain(terminals).collect()));
                }
            }
        }
        Ok(Some(stack))
    }

    fn feed(&mut self, stack: StackId, terminal: TerminalId) -> Attempt<StackId> {
        let parser = &mut *self.parser;
        *self.automaton.fed.entry((stack, terminal)).or_insert_with(|| parser.feed(stack, terminal))
    }

    fn probe(&mut self, stack: StackId, terminal: TerminalId) -> Attempt<()> {
        let parser = &mut *self.parser;
        *self.automaton.probed.entry((stack, terminal)).or_insert_with(|| parser.probe(stack, terminal))
    }
}
