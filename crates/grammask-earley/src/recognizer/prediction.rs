//! Prediction: from items before a symbol to all items before a terminal that can come next, with their continuations.
//!
//! A step over a byte needs only the terminals that the byte can begin, and the continuations of the nonterminals on
//! the way to them. A nonterminal whose left corner can begin with the byte can begin with it itself, so pruning the
//! others never removes an item from a continuation that is needed.

use std::collections::BinaryHeap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::lowering::{DotId, NormalForm, Symbol};
use grammask_automata::{Automata, ByteSet};
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::NonterminalId;

use super::continuation::{Content, ContinuationId, Entry, InternContinuations};
use super::embedded::TerminalReader;
use super::kernel::{Item, ItemState};
use super::left_corner::LeftCorners;
use super::step_budget::StepBudget;

/// A byte and its class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteWithClass {
    pub(crate) class: usize,
    pub(crate) byte: u8,
}

/// Whether a component can begin with a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begins {
    Unknown,
    Yes,
    No,
}

/// The mutable parts of the recogniser that prediction uses.
pub(super) struct PredictionContext<'a, C> {
    pub(super) form: &'a NormalForm,
    pub(super) terminals: TerminalReader<'a>,
    pub(super) continuations: &'a mut C,
}

/// Predicts items before terminals; the scratch tables are kept between calls.
#[derive(Debug)]
pub(crate) struct Predictor {
    left_corners: LeftCorners,
    /// The initial state of each terminal.
    starts: Vec<ItemState>,
    /// The initial state of each terminal over bytes, as if it did not count tokens. Values, which follow the
    /// terminals, have none: they count as able to begin with every byte.
    start_states: Vec<Option<ItemState>>,
    /// For each byte class whether each component can begin with it; filled lazily.
    begins: Vec<Box<[Begins]>>,
    /// Scratch: the part of the content of each nonterminal's continuation that comes from outside its component.
    follow: Vec<Content>,
    /// Scratch: the continuation of each nonterminal, valid where `follow` is filled.
    ids: Vec<ContinuationId>,
    /// Scratch: components with a filled `follow`.
    touched: Vec<usize>,
    /// The first bytes of components; `None` where others than automata decide.
    first_bytes: FxHashMap<usize, Option<ByteSet>>,
    max_items: usize,
    memory_bytes: usize,
}

impl Predictor {
    pub(crate) fn new(
        left_corners: LeftCorners,
        starts: Vec<ItemState>,
        start_states: Vec<Option<ItemState>>,
        class_count: usize,
        max_items: usize,
    ) -> Self {
        let count = left_corners.nonterminal_count();
        Self {
            left_corners,
            starts,
            start_states,
            begins: vec![Box::default(); class_count],
            follow: vec![Content::default(); count],
            ids: vec![ContinuationId(0); count],
            touched: Vec::new(),
            max_items,
            first_bytes: FxHashMap::default(),
            memory_bytes: 0,
        }
    }

    /// Adds the initial state of the next value.
    pub(super) fn add_value(&mut self, start: ItemState) {
        self.starts.push(start);
    }

    /// The left-corner relation, and the initial state of each terminal, then of each value.
    pub(crate) fn parts(&self) -> (&LeftCorners, &[ItemState]) {
        (&self.left_corners, &self.starts)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Adds to `items` all items before a terminal that the fresh items imply, with repetition. With a byte, items
    /// whose terminal cannot begin with it may be left out.
    pub(super) fn predict<C: InternContinuations>(
        &mut self,
        context: PredictionContext<'_, C>,
        fresh: impl Iterator<Item = Entry>,
        byte: Option<ByteWithClass>,
        budget: &mut StepBudget,
        items: &mut Vec<Item>,
    ) -> Result<(), LimitExceeded> {
        let mut touched = std::mem::take(&mut self.touched);
        let result = self.predict_into(context, fresh, byte, budget, &mut touched, items);
        for component in touched.drain(..) {
            for member in &self.left_corners.members[component] {
                self.follow[member.index()].clear();
            }
        }
        self.touched = touched;
        result
    }

    /// As `predict`; pushes the components whose `follow` was used.
    fn predict_into<C: InternContinuations>(
        &mut self,
        context: PredictionContext<'_, C>,
        fresh: impl Iterator<Item = Entry>,
        byte: Option<ByteWithClass>,
        budget: &mut StepBudget,
        touched: &mut Vec<usize>,
        items: &mut Vec<Item>,
    ) -> Result<(), LimitExceeded> {
        let PredictionContext { form, mut terminals, continuations } = context;
        // Nonterminals at the end of their production with the continuation, deduplicated: many items may have the
        // same.
        let mut tails: Vec<(NonterminalId, ContinuationId)> = Vec::new();
        // Components with predicted members, as a max-heap: parents are popped before children.
        let mut pending: BinaryHeap<usize> = BinaryHeap::new();
        for (dot, continuation) in fresh {
            for dot in form.expanded(dot)? {
                budget.spend(1)?;
                match form.symbol_after(dot) {
                    Symbol::Terminal(id) => {
                        items.push(Item { dot, state: self.starts[id.index()], continuation });
                    }
                    Symbol::Nonterminal(id) => {
                        let component = self.left_corners.component_of(id.index());
                        if !self.can_begin(&mut terminals, component, byte)? {
                            continue;
                        }
                        let advance = form.advance(dot);
                        if advance.completes {
                            tails.push((id, continuation));
                        }
                        self.follow[id.index()].entries.extend(advance.next.map(|next| (next, continuation)));
                        touched.push(component);
                        pending.push(component);
                    }
                }
            }
        }
        tails.sort_unstable();
        tails.dedup();
        for (id, continuation) in tails {
            budget.spend(continuations.add_to(&mut self.follow[id.index()], continuation))?;
        }
        let mut last = None;
        while let Some(component) = pending.pop() {
            if last.replace(component) == Some(component) {
                continue;
            }
            self.close_component(component, continuations, budget)?;
            for position in 0..self.left_corners.members[component].len() {
                let member = self.left_corners.members[component][position].index();
                let continuation = self.ids[member];
                for &(dot, terminal) in &self.left_corners.terminals[member] {
                    items.push(Item { dot, state: self.starts[terminal.index()], continuation });
                }
                for edge in 0..self.left_corners.outer_edges[member].len() {
                    let edge = self.left_corners.outer_edges[member][edge];
                    let component = self.left_corners.component_of(edge.child.index());
                    if !self.can_begin(&mut terminals, component, byte)? {
                        continue;
                    }
                    let follow = &mut self.follow[edge.child.index()];
                    if edge.is_tail {
                        budget.spend(continuations.add_to(follow, continuation))?;
                    }
                    follow.entries.extend(edge.next.map(|next| (next, continuation)));
                    touched.push(component);
                    pending.push(component);
                }
            }
            if items.len() > self.max_items {
                return Err(LimitExceeded::new("set_items", self.max_items));
            }
        }
        Ok(())
    }

    /// The bytes that can come after some dots, if only terminals with automata decide.
    pub(super) fn first_bytes(
        &mut self,
        form: &NormalForm,
        automata: &mut Automata,
        dots: impl Iterator<Item = DotId>,
    ) -> Result<Option<ByteSet>, LimitExceeded> {
        let mut bytes = ByteSet::EMPTY;
        for dot in dots {
            for dot in form.expanded(dot)? {
                let of_symbol = match form.symbol_after(dot) {
                    Symbol::Terminal(id) => first_bytes_of(self.starts[id.index()], automata)?,
                    Symbol::Nonterminal(id) => {
                        self.first_bytes_of_component(self.left_corners.component_of(id.index()), automata)?
                    }
                };
                let Some(of_symbol) = of_symbol else { return Ok(None) };
                bytes = bytes.union(of_symbol);
            }
        }
        Ok(Some(bytes))
    }

    fn first_bytes_of_component(
        &mut self,
        component: usize,
        automata: &mut Automata,
    ) -> Result<Option<ByteSet>, LimitExceeded> {
        if let Some(&known) = self.first_bytes.get(&component) {
            return Ok(known);
        }
        let mut bytes = Some(ByteSet::EMPTY);
        let mut reached = FxHashSet::from_iter([component]);
        let mut pending = vec![component];
        while let (Some(so_far), Some(component)) = (bytes, pending.pop()) {
            if let Some(&known) = self.first_bytes.get(&component) {
                bytes = known.map(|known| so_far.union(known));
                continue;
            }
            for member in &self.left_corners.members[component] {
                for (_, terminal) in &self.left_corners.terminals[member.index()] {
                    let of_terminal = first_bytes_of(self.starts[terminal.index()], automata)?;
                    bytes = bytes.zip(of_terminal).map(|(left, right)| left.union(right));
                }
            }
            let children = self.left_corners.component_children[component].iter();
            pending.extend(children.map(|&child| child as usize).filter(|&child| reached.insert(child)));
        }
        self.first_bytes.insert(component, bytes);
        self.memory_bytes += size_of::<(usize, Option<ByteSet>)>() + 1;
        Ok(bytes)
    }

    /// Whether a nonterminal of a component, and so each of them, can begin with a byte; true without a byte.
    fn can_begin(
        &mut self,
        reader: &mut TerminalReader<'_>,
        component: usize,
        byte: Option<ByteWithClass>,
    ) -> Result<bool, LimitExceeded> {
        let Some(ByteWithClass { class, byte }) = byte else { return Ok(true) };
        let Self { left_corners, start_states, begins, memory_bytes, .. } = self;
        let begins = &mut begins[class];
        if begins.is_empty() {
            *begins = vec![Begins::Unknown; left_corners.component_count()].into();
            *memory_bytes += begins.len();
        }
        if begins[component] != Begins::Unknown {
            return Ok(begins[component] == Begins::Yes);
        }
        // Undecided components, each with the number of its examined parts: first its terminals, then each child.
        let mut stack: Vec<(usize, usize)> = vec![(component, 0)];
        while let Some((current, examined)) = stack.last_mut() {
            let (current, children) = (*current, &left_corners.component_children[*current]);
            if begins[current] != Begins::Unknown {
                stack.pop();
                continue;
            }
            if *examined == 0 {
                *examined = 1;
                for member in &left_corners.members[current] {
                    for (_, terminal) in &left_corners.terminals[member.index()] {
                        let begins_with_byte = match start_states.get(terminal.index()) {
                            Some(Some(state)) => reader.step(*state, byte)?.is_some(),
                            Some(None) => false,
                            None => true,
                        };
                        if begins_with_byte {
                            begins[current] = Begins::Yes;
                        }
                    }
                }
            } else if let Some(&child) = children.get(*examined - 1) {
                match begins[child as usize] {
                    Begins::Yes => begins[current] = Begins::Yes,
                    Begins::No => *examined += 1,
                    Begins::Unknown => stack.push((child as usize, 0)),
                }
            } else {
                begins[current] = Begins::No;
            }
        }
        Ok(begins[component] == Begins::Yes)
    }

    /// Interns the continuations of a component whose `follow` is complete.
    fn close_component(
        &mut self,
        component: usize,
        continuations: &mut impl InternContinuations,
        budget: &mut StepBudget,
    ) -> Result<(), LimitExceeded> {
        let members = &self.left_corners.members[component];
        for member in members {
            self.follow[member.index()].normalize();
        }
        let Some(cycles) = &self.left_corners.cycles[component] else {
            // A component without inner edges has one member.
            let member = members[0].index();
            budget.spend(self.follow[member].entries.len() + 1)?;
            self.ids[member] = continuations.intern(&self.follow[member]);
            return Ok(());
        };
        for scc in &cycles.sccs {
            let mut contents: Vec<Content> = Vec::with_capacity(scc.members.len());
            for (&member, across) in scc.members.iter().zip(&scc.across) {
                let mut content = Content::default();
                for &source in &cycles.tail_sources[member] {
                    let follow = &self.follow[members[source].index()];
                    budget.spend(follow.entries.len() + 1)?;
                    content.ends |= follow.ends;
                    content.entries.extend_from_slice(&follow.entries);
                }
                for reference in across {
                    content.entries.push((reference.dot, self.ids[members[reference.member].index()]));
                }
                content.normalize();
                contents.push(content);
            }
            let mut ids = Vec::with_capacity(scc.members.len());
            if scc.is_cyclic {
                continuations.intern_scc(scc, &mut contents, budget, &mut ids)?;
            } else {
                ids.extend(contents.iter().map(|content| continuations.intern(content)));
            }
            for (&member, id) in scc.members.iter().zip(ids) {
                self.ids[members[member].index()] = id;
            }
        }
        Ok(())
    }
}

/// The first bytes of a terminal with an automaton.
fn first_bytes_of(start: ItemState, automata: &mut Automata) -> Result<Option<ByteSet>, LimitExceeded> {
    start.automaton_state().map(|start| automata.first_bytes(start)).transpose()
}
