//! The chart: Earley sets over the skeleton with back pointers, a *column* for each place where a part of it ended.
//!
//! A token of the model is read both ways at once: its bytes, each a step that makes columns of its own, and the token as a
//! whole, which goes on where the bytes end. Where neither fits, the chart is set back.
//!
//! Between columns only *threads* move: leaves that are being read. Items that wait for the same leaf at the same place
//! share its thread. The last columns go when nothing refers to them any more, so that text of which every place could be
//! the end of a part takes no memory.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use grammask_collections::id_type;
use grammask_diagnostics::{LimitExceeded, Limits};
use grammask_engine::TokenEvent;

use super::leaves::{LeafRun, LeafState};
use super::skeleton::{Dot, LeafId, RuleId, Skeleton, Step, index_u32};

id_type! {
    /// A column of a chart.
    ColumnId
}

/// An item in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NodeRef {
    pub(super) column: ColumnId,
    pub(super) node: u32,
}

/// A rule that was read up to a dot.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) dot: Dot,
    /// Where the rule began.
    pub(super) origin: ColumnId,
    /// The items with the dot one step earlier; that step spans what is between.
    pub(super) before: Vec<NodeRef>,
}

/// The items at one place.
#[derive(Debug)]
pub(super) struct Column {
    /// How many bytes are before it.
    pub(super) position: usize,
    /// How many steps are before it. A token without text is a step too.
    pub(super) place: usize,
    pub(super) nodes: Vec<Node>,
    /// The items that wait for a step, sorted.
    waiting: Vec<(Step, u32)>,
    /// The items with which rules end, by rule and origin, sorted.
    ended: Vec<(RuleId, ColumnId, u32)>,
    /// For each rule and origin that ended here the order in which that was found, sorted.
    completions: Vec<(RuleId, ColumnId, u32)>,
}

impl Column {
    /// The items that wait for `step`.
    pub(super) fn waiting(&self, step: Step) -> impl Iterator<Item = u32> {
        let from = self.waiting.partition_point(|&(known, _)| known < step);
        self.waiting[from..].iter().take_while(move |&&(known, _)| known == step).map(|&(_, node)| node)
    }

    /// The items with which `rule` ends that began in `origin`.
    pub(super) fn ended(&self, rule: RuleId, origin: ColumnId) -> impl Iterator<Item = u32> {
        let from = self.ended.partition_point(|&(known, at, _)| (known, at) < (rule, origin));
        let same = move |&&(known, at, _): &&(RuleId, ColumnId, u32)| (known, at) == (rule, origin);
        self.ended[from..].iter().take_while(same).map(|&(_, _, node)| node)
    }

    /// The number of the completion of `rule` from `origin` among those of this column.
    pub(super) fn completion(&self, rule: RuleId, origin: ColumnId) -> Option<u32> {
        let found = self.completions.binary_search_by_key(&(rule, origin), |&(known, at, _)| (known, at));
        found.ok().map(|index| self.completions[index].2)
    }
}

/// A leaf that is being read and can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Thread {
    pub(super) leaf: LeafId,
    pub(super) column: ColumnId,
    state: LeafState,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Chart {
    pub(super) columns: Vec<Arc<Column>>,
    /// For each column how many threads, and items of later columns, refer to it.
    references: Vec<usize>,
    pub(super) threads: Vec<Thread>,
    /// How many bytes were read.
    pub(super) position: usize,
    /// How many steps that took.
    pub(super) place: usize,
    /// Whether they are a whole text; the last column ends here then.
    pub(super) is_complete: bool,
    /// How many items and back pointers there are.
    size: usize,
    /// The budget that was passed; the chart is of no use any more then.
    failure: Option<LimitExceeded>,
}

impl Chart {
    pub(super) fn new(
        skeleton: &Skeleton,
        leaves: &mut LeafRun<'_>,
        limits: &Limits,
    ) -> Result<Self, LimitExceeded> {
        let mut chart = Self {
            columns: Vec::new(),
            references: Vec::new(),
            threads: Vec::new(),
            position: 0,
            place: 0,
            is_complete: false,
            size: 0,
            failure: None,
        };
        let mut closure = Closure::at(ColumnId::new(0));
        for dot in skeleton.first_dots(skeleton.start) {
            closure.add(dot, closure.column, None);
        }
        chart.close(closure, skeleton, leaves, limits)?;
        Ok(chart)
    }

    /// Reads a byte; where no text goes on with it nothing changes and the answer is no. After an error all that follows
    /// is the same error.
    pub(super) fn step(
        &mut self,
        byte: u8,
        skeleton: &Skeleton,
        leaves: &mut LeafRun<'_>,
        limits: &Limits,
    ) -> Result<bool, LimitExceeded> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let result = self.try_step(byte, skeleton, leaves, limits);
        self.noticed(result)
    }

    /// Reads a token, in each way in which it can be read, as [`step`](Self::step) reads a byte.
    pub(super) fn step_token(
        &mut self,
        event: TokenEvent,
        bytes: &[u8],
        skeleton: &Skeleton,
        leaves: &mut LeafRun<'_>,
        limits: &Limits,
    ) -> Result<bool, LimitExceeded> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let result = self.try_step_token(event, bytes, skeleton, leaves, limits);
        self.noticed(result)
    }

    /// Tells the leaves that count tokens that one has ended.
    pub(super) fn end_token(&mut self, leaves: &mut LeafRun<'_>) -> Result<(), LimitExceeded> {
        let result = without_ended(&self.threads, leaves);
        let threads = self.noticed(result)?;
        self.replace_threads(threads);
        Ok(())
    }

    fn noticed<T>(&mut self, result: Result<T, LimitExceeded>) -> Result<T, LimitExceeded> {
        if let Err(failure) = result {
            self.failure = Some(failure);
            self.is_complete = false;
            self.threads.clear();
        }
        result
    }

    fn try_step(
        &mut self,
        byte: u8,
        skeleton: &Skeleton,
        leaves: &mut LeafRun<'_>,
        limits: &Limits,
    ) -> Result<bool, LimitExceeded> {
        let moved = self.moved(leaves, |leaves, leaf, state| leaves.step(leaf, state, byte))?;
        if moved.is_dead() {
            return Ok(false);
        }
        self.settle(moved, (self.position + 1, self.place + 1), skeleton, leaves, limits)?;
        Ok(true)
    }

    fn try_step_token(
        &mut self,
        event: TokenEvent,
        bytes: &[u8],
        skeleton: &Skeleton,
        leaves: &mut LeafRun<'_>,
        limits: &Limits,
    ) -> Result<bool, LimitExceeded> {
        let mut moved = self.moved(leaves, |leaves, leaf, state| leaves.step_token(leaf, state, event))?;
        let before = self.hold();
        let mut fits = true;
        if let Some((&last, beginning)) = bytes.split_last() {
            for &byte in beginning {
                fits = fits && self.try_step(byte, skeleton, leaves, limits)?;
            }
            if fits {
                let mut of_text = self.moved(leaves, |leaves, leaf, state| leaves.step(leaf, state, last))?;
                of_text.threads = without_ended(&of_text.threads, leaves)?;
                moved.join(of_text);
            }
        }
        if moved.is_dead() {
            self.set_back(before);
            return Ok(false);
        }
        let after = (before.position + bytes.len(), before.place + bytes.len().max(1));
        self.settle(moved, after, skeleton, leaves, limits)?;
        self.references[before.columns - 1] -= 1;
        Ok(true)
    }

    /// What becomes of the threads by a step.
    fn moved(
        &self,
        leaves: &mut LeafRun<'_>,
        step: impl Fn(&mut LeafRun<'_>, LeafId, LeafState) -> Result<Option<LeafState>, LimitExceeded>,
    ) -> Result<Moved, LimitExceeded> {
        let mut moved = Moved { threads: Vec::with_capacity(self.threads.len()), ended: Vec::new() };
        for &Thread { leaf, column, state } in &self.threads {
            let Some(state) = step(leaves, leaf, state)? else { continue };
            if leaves.is_complete(leaf, state) {
                moved.ended.push((leaf, column));
            }
            if leaves.continues(leaf, state)? {
                moved.threads.push(Thread { leaf, column, state });
            }
        }
        Ok(moved)
    }

    /// Takes the place after a step: behind so many bytes, by so many steps.
    fn settle(
        &mut self,
        Moved { threads, ended }: Moved,
        (position, place): (usize, usize),
        skeleton: &Skeleton,
        leaves: &mut LeafRun<'_>,
        limits: &Limits,
    ) -> Result<(), LimitExceeded> {
        ended.iter().for_each(|&(_, column)| self.references[column.index()] += 1);
        self.replace_threads(threads);
        self.drop_unused_columns();
        self.position = position;
        self.place = place;
        self.is_complete = false;
        if ended.is_empty() {
            return Ok(());
        }
        let mut closure = Closure::at(ColumnId::new(self.columns.len()));
        for (leaf, column) in ended {
            self.references[column.index()] -= 1;
            self.advance_waiting(&mut closure, Step::Leaf(leaf), column, skeleton);
        }
        self.close(closure, skeleton, leaves, limits)
    }

    fn replace_threads(&mut self, threads: Vec<Thread>) {
        threads.iter().for_each(|thread| self.references[thread.column.index()] += 1);
        let before = std::mem::replace(&mut self.threads, threads);
        before.iter().for_each(|thread| self.references[thread.column.index()] -= 1);
    }

    /// Holds the columns that there are, by a reference to the last one, and notes what a step changes.
    fn hold(&mut self) -> Before {
        let columns = self.columns.len();
        // There is one at the beginning of the text, which is never dropped.
        self.references[columns - 1] += 1;
        let threads = self.threads.clone();
        Before { columns, threads, position: self.position, place: self.place, is_complete: self.is_complete }
    }

    fn set_back(&mut self, before: Before) {
        let Before { columns, threads, position, place, is_complete } = before;
        self.replace_threads(threads);
        while self.columns.len() > columns {
            self.pop_column();
        }
        self.references[columns - 1] -= 1;
        (self.position, self.place, self.is_complete) = (position, place, is_complete);
    }

    /// Advances all items of `column` that wait for `step`.
    fn advance_waiting(&self, closure: &mut Closure, step: Step, column: ColumnId, skeleton: &Skeleton) {
        for node in self.columns[column.index()].waiting(step) {
            let waiting = &self.columns[column.index()].nodes[node as usize];
            closure.add(skeleton.after(waiting.dot), waiting.origin, Some(NodeRef { column, node }));
        }
    }

    /// Adds the column that follows from what `closure` holds.
    fn close(
        &mut self,
        mut closure: Closure,
        skeleton: &Skeleton,
        leaves: &mut LeafRun<'_>,
        limits: &Limits,
    ) -> Result<(), LimitExceeded> {
        let here = closure.column;
        let mut next = 0;
        while let Some(node) = closure.nodes.get(next) {
            let (dot, origin) = (node.dot, node.origin);
            let this = NodeRef { column: here, node: index_u32(next) };
            if skeleton.ends(dot) {
                closure.ended.push((dot.rule, origin, this.node));
                // What is empty was skipped by all that wait for it here.
                if origin != here && closure.completed.insert((dot.rule, origin)) {
                    closure.completions.push((dot.rule, origin, index_u32(closure.completions.len())));
                    self.advance_waiting(&mut closure, Step::Rule(dot.rule), origin, skeleton);
                }
            }
            if let Some(step) = skeleton.next(dot) {
                closure.waiting.push((step, this.node));
                if closure.entered.insert(step) {
                    match step {
                        Step::Rule(rule) => {
                            skeleton.first_dots(rule).for_each(|dot| closure.add(dot, here, None));
                        }
                        Step::Leaf(leaf) => {
                            if let Some(state) = leaves.start(leaf)?
                                && leaves.continues(leaf, state)?
                            {
                                closure.threads.push(Thread { leaf, column: here, state });
                            }
                        }
                    }
                }
                if skeleton.may_skip(dot) {
                    closure.add(skeleton.after(dot), origin, Some(this));
                }
            }
            if closure.nodes.len() > limits.set_items {
                return Err(LimitExceeded::new("set_items", limits.set_items));
            }
            next += 1;
        }
        self.finish(closure, skeleton, limits)
    }

    fn finish(
        &mut self,
        mut closure: Closure,
        skeleton: &Skeleton,
        limits: &Limits,
    ) -> Result<(), LimitExceeded> {
        let here = closure.column;
        self.size += size(&closure.nodes);
        if self.size.saturating_mul(size_of::<Node>()) > limits.memory_bytes {
            return Err(LimitExceeded::new("memory_bytes", limits.memory_bytes));
        }
        closure.waiting.sort_unstable();
        closure.ended.sort_unstable();
        closure.completions.sort_unstable();
        self.is_complete = closure.ended.iter().any(|&(rule, ..)| rule == skeleton.start);
        self.references.push(closure.threads.len());
        self.threads.extend(closure.threads);
        let column = Column {
            position: self.position,
            place: self.place,
            nodes: closure.nodes,
            waiting: closure.waiting,
            ended: closure.ended,
            completions: closure.completions,
        };
        for target in referred(&column, here) {
            self.references[target.index()] += 1;
        }
        self.columns.push(Arc::new(column));
        Ok(())
    }

    fn drop_unused_columns(&mut self) {
        while self.columns.len() > 1 && self.references.last() == Some(&0) {
            self.pop_column();
        }
    }

    fn pop_column(&mut self) {
        self.references.pop();
        let Some(column) = self.columns.pop() else { return };
        for target in referred(&column, ColumnId::new(self.columns.len())) {
            self.references[target.index()] -= 1;
        }
        self.size -= size(&column.nodes);
    }
}

/// The threads after a step, and the leaves that ended by it.
struct Moved {
    threads: Vec<Thread>,
    ended: Vec<(LeafId, ColumnId)>,
}

impl Moved {
    fn is_dead(&self) -> bool {
        self.threads.is_empty() && self.ended.is_empty()
    }

    /// Adds what another reading of the same token led to.
    fn join(&mut self, other: Self) {
        for thread in other.threads {
            if !self.threads.contains(&thread) {
                self.threads.push(thread);
            }
        }
        for end in other.ended {
            if !self.ended.contains(&end) {
                self.ended.push(end);
            }
        }
    }
}

/// What a step changes.
struct Before {
    columns: usize,
    threads: Vec<Thread>,
    position: usize,
    place: usize,
    is_complete: bool,
}

/// The threads after the end of a token, without those that have no token left.
fn without_ended(threads: &[Thread], leaves: &mut LeafRun<'_>) -> Result<Vec<Thread>, LimitExceeded> {
    let mut left = Vec::with_capacity(threads.len());
    for &Thread { leaf, column, state } in threads {
        let Some(state) = leaves.end_token(leaf, state)? else { continue };
        if leaves.continues(leaf, state)? {
            left.push(Thread { leaf, column, state });
        }
    }
    Ok(left)
}

/// The earlier columns that a column refers to, with repetition.
fn referred(column: &Column, here: ColumnId) -> impl Iterator<Item = ColumnId> {
    let targets = column
        .nodes
        .iter()
        .flat_map(|node| node.before.iter().map(|before| before.column).chain(std::iter::once(node.origin)));
    targets.filter(move |&target| target != here)
}

/// A column while it is made.
struct Closure {
    column: ColumnId,
    nodes: Vec<Node>,
    node_of: FxHashMap<(Dot, ColumnId), u32>,
    entered: FxHashSet<Step>,
    completed: FxHashSet<(RuleId, ColumnId)>,
    waiting: Vec<(Step, u32)>,
    ended: Vec<(RuleId, ColumnId, u32)>,
    completions: Vec<(RuleId, ColumnId, u32)>,
    threads: Vec<Thread>,
}

impl Closure {
    fn at(column: ColumnId) -> Self {
        Self {
            column,
            nodes: Vec::new(),
            node_of: FxHashMap::default(),
            entered: FxHashSet::default(),
            completed: FxHashSet::default(),
            waiting: Vec::new(),
            ended: Vec::new(),
            completions: Vec::new(),
            threads: Vec::new(),
        }
    }

    fn add(&mut self, dot: Dot, origin: ColumnId, before: Option<NodeRef>) {
        let next = index_u32(self.nodes.len());
        let node = *self.node_of.entry((dot, origin)).or_insert(next);
        if node == next {
            self.nodes.push(Node { dot, origin, before: Vec::new() });
        }
        self.nodes[node as usize].before.extend(before);
    }
}

/// How many items and back pointers there are.
fn size(nodes: &[Node]) -> usize {
    nodes.iter().map(|node| 1 + node.before.len()).sum()
}
