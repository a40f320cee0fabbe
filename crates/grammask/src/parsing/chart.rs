//! The chart: Earley sets over the skeleton with back pointers, a *column* for each place where a part of it ended.
//!
//! Between columns only *threads* move: leaves that are being read. Items that wait for the same leaf at the same place
//! share its thread. The last columns go when nothing refers to them any more, so that text of which every place could be
//! the end of a part takes no memory.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::grammar::id_type;
use crate::{LimitExceeded, Limits};

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
#[derive(Clone, Copy, Debug)]
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
        let mut is_alive = false;
        let mut threads = Vec::with_capacity(self.threads.len());
        let mut ended: Vec<(LeafId, ColumnId)> = Vec::new();
        for &Thread { leaf, column, state } in &self.threads {
            let Some(state) = leaves.step(leaf, state, byte)? else { continue };
            is_alive = true;
            if leaves.is_complete(leaf, state) {
                ended.push((leaf, column));
            }
            if leaves.continues(leaf, state)? {
                threads.push(Thread { leaf, column, state });
            }
        }
        if !is_alive {
            return Ok(false);
        }
        let before = std::mem::replace(&mut self.threads, threads);
        for column in self.threads.iter().map(|thread| thread.column).chain(ended.iter().map(|end| end.1)) {
            self.references[column.index()] += 1;
        }
        before.iter().for_each(|thread| self.references[thread.column.index()] -= 1);
        self.drop_unused_columns();
        self.position += 1;
        self.is_complete = false;
        if ended.is_empty() {
            return Ok(true);
        }
        let mut closure = Closure::at(ColumnId::new(self.columns.len()));
        for (leaf, column) in ended {
            self.references[column.index()] -= 1;
            self.advance_waiting(&mut closure, Step::Leaf(leaf), column, skeleton);
        }
        self.close(closure, skeleton, leaves, limits)?;
        Ok(true)
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
            let here = ColumnId::new(self.columns.len() - 1);
            self.references.pop();
            let Some(column) = self.columns.pop() else { return };
            for target in referred(&column, here) {
                self.references[target.index()] -= 1;
            }
            self.size -= size(&column.nodes);
        }
    }
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
