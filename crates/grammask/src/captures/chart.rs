//! The chart: Earley sets over the skeleton with back pointers, a *column* for each position where a symbol can end.
//!
//! A token of the model is read in both ways at once: by its bytes, each of which is a step and adds columns of its
//! own, and by token terminals, which lead to the column after its bytes. If neither succeeds, the chart is restored.
//!
//! Between columns only *threads* move: the states of leaves in progress. Items that expect the same leaf in the same
//! column share its thread. The last columns are dropped as soon as nothing refers to them, so that text in which a
//! part could end at every position takes no memory.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use grammask_collections::id_type;
use grammask_diagnostics::{LimitExceeded, Limits};
use grammask_engine::TokenEvent;

use super::leaves::{LeafRun, LeafState};
use super::skeleton::{Dot, LeafId, RuleId, Skeleton, SkeletonSymbol, index_u32};

id_type! {
    /// A column of a chart.
    ColumnId
}

/// A reference to an item in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ItemRef {
    pub(super) column: ColumnId,
    pub(super) item: u32,
}

/// An Earley item: a dotted rule and its origin, with back pointers.
#[derive(Clone, Debug)]
pub(super) struct ChartItem {
    pub(super) dot: Dot,
    /// The column in which the rule begins.
    pub(super) origin: ColumnId,
    /// The items with the dot one symbol earlier. That symbol spans the text between both columns.
    pub(super) before: Vec<ItemRef>,
}

/// The items after one prefix of the text.
#[derive(Debug)]
pub(super) struct ChartColumn {
    /// Number of bytes before the column.
    pub(super) position: usize,
    /// Number of steps before the column. A token without text is a step, too.
    pub(super) step_count: usize,
    pub(super) items: Vec<ChartItem>,
    /// Pairs of expected symbol and item, sorted.
    expecting: Vec<(SkeletonSymbol, u32)>,
    /// Complete items by rule and origin, sorted.
    ended: Vec<(RuleId, ColumnId, u32)>,
    /// For each completed rule and origin the order in which the builder found it, sorted.
    completions: Vec<(RuleId, ColumnId, u32)>,
}

impl ChartColumn {
    /// The items that expect `symbol`.
    pub(super) fn expecting(&self, symbol: SkeletonSymbol) -> impl Iterator<Item = u32> {
        let from = self.expecting.partition_point(|&(expected, _)| expected < symbol);
        self.expecting[from..]
            .iter()
            .take_while(move |&&(expected, _)| expected == symbol)
            .map(|&(_, item)| item)
    }

    /// The complete items of `rule` with this origin.
    pub(super) fn ended(&self, rule: RuleId, origin: ColumnId) -> impl Iterator<Item = u32> {
        let from = self.ended.partition_point(|&(ended, at, _)| (ended, at) < (rule, origin));
        let same = move |&&(ended, at, _): &&(RuleId, ColumnId, u32)| (ended, at) == (rule, origin);
        self.ended[from..].iter().take_while(same).map(|&(_, _, item)| item)
    }

    /// The number of the completion of `rule` and `origin` among those of this column.
    pub(super) fn completion(&self, rule: RuleId, origin: ColumnId) -> Option<u32> {
        let index = self.completions.binary_search_by_key(&(rule, origin), |&(ended, at, _)| (ended, at));
        index.ok().map(|index| self.completions[index].2)
    }
}

/// A leaf in progress that can continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Thread {
    pub(super) leaf: LeafId,
    pub(super) column: ColumnId,
    state: LeafState,
}

/// The chart of one text. See the documentation of the module.
#[derive(Clone, Debug)]
pub(super) struct CaptureChart {
    pub(super) columns: Vec<Arc<ChartColumn>>,
    /// For each column the number of threads, and of items of later columns, that refer to it.
    references: Vec<usize>,
    pub(super) threads: Vec<Thread>,
    /// Number of bytes that were read.
    pub(super) position: usize,
    /// Number of steps.
    pub(super) step_count: usize,
    /// Whether the text is complete. The last column is then at the end of the text.
    pub(super) is_complete: bool,
    /// Number of items and back pointers.
    size: usize,
    /// The exceeded limit, after which every step returns this error.
    failure: Option<LimitExceeded>,
}

impl CaptureChart {
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
            step_count: 0,
            is_complete: false,
            size: 0,
            failure: None,
        };
        let mut builder = ColumnBuilder::at(ColumnId::new(0));
        for dot in skeleton.first_dots(skeleton.start) {
            builder.add(dot, builder.column, None);
        }
        chart.close(builder, skeleton, leaves, limits)?;
        Ok(chart)
    }

    /// Reads a byte and returns true; an illegal byte changes nothing and returns false. After an error every call
    /// returns the same error.
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
        self.record_failure(result)
    }

    /// Reads a token by its bytes and by token terminals, as [`step`](Self::step) reads a byte.
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
        self.record_failure(result)
    }

    /// Ends a token, for the leaves that count tokens.
    pub(super) fn end_token(&mut self, leaves: &mut LeafRun<'_>) -> Result<(), LimitExceeded> {
        let result = after_token_end(&self.threads, leaves);
        let threads = self.record_failure(result)?;
        self.replace_threads(threads);
        Ok(())
    }

    fn record_failure<T>(&mut self, result: Result<T, LimitExceeded>) -> Result<T, LimitExceeded> {
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
        let advanced = self.advance_threads(leaves, |leaves, leaf, state| leaves.step(leaf, state, byte))?;
        if advanced.is_dead() {
            return Ok(false);
        }
        self.complete_step(advanced, self.position + 1, self.step_count + 1, skeleton, leaves, limits)?;
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
        let mut advanced =
            self.advance_threads(leaves, |leaves, leaf, state| leaves.step_token(leaf, state, event))?;
        let checkpoint = self.checkpoint();
        let mut fits = true;
        if let Some((&last, beginning)) = bytes.split_last() {
            for &byte in beginning {
                fits = fits && self.try_step(byte, skeleton, leaves, limits)?;
            }
            if fits {
                let mut of_text =
                    self.advance_threads(leaves, |leaves, leaf, state| leaves.step(leaf, state, last))?;
                of_text.threads = after_token_end(&of_text.threads, leaves)?;
                advanced.join(of_text);
            }
        }
        if advanced.is_dead() {
            self.restore(checkpoint);
            return Ok(false);
        }
        let position = checkpoint.position + bytes.len();
        let step_count = checkpoint.step_count + bytes.len().max(1);
        self.complete_step(advanced, position, step_count, skeleton, leaves, limits)?;
        self.references[checkpoint.columns - 1] -= 1;
        Ok(true)
    }

    /// Advances all threads by a step.
    fn advance_threads(
        &self,
        leaves: &mut LeafRun<'_>,
        step: impl Fn(&mut LeafRun<'_>, LeafId, LeafState) -> Result<Option<LeafState>, LimitExceeded>,
    ) -> Result<AdvancedThreads, LimitExceeded> {
        let mut advanced =
            AdvancedThreads { threads: Vec::with_capacity(self.threads.len()), ended: Vec::new() };
        for &Thread { leaf, column, state } in &self.threads {
            let Some(state) = step(leaves, leaf, state)? else { continue };
            if leaves.is_complete(leaf, state) {
                advanced.ended.push((leaf, column));
            }
            if leaves.continues(leaf, state)? {
                advanced.threads.push(Thread { leaf, column, state });
            }
        }
        Ok(advanced)
    }

    /// Completes a step to the given position: replaces the threads, and adds a column if a leaf ended.
    fn complete_step(
        &mut self,
        AdvancedThreads { threads, ended }: AdvancedThreads,
        position: usize,
        step_count: usize,
        skeleton: &Skeleton,
        leaves: &mut LeafRun<'_>,
        limits: &Limits,
    ) -> Result<(), LimitExceeded> {
        ended.iter().for_each(|&(_, column)| self.references[column.index()] += 1);
        self.replace_threads(threads);
        self.drop_unused_columns();
        self.position = position;
        self.step_count = step_count;
        self.is_complete = false;
        if ended.is_empty() {
            return Ok(());
        }
        let mut builder = ColumnBuilder::at(ColumnId::new(self.columns.len()));
        for (leaf, column) in ended {
            self.references[column.index()] -= 1;
            self.advance_expecting(&mut builder, SkeletonSymbol::Leaf(leaf), column, skeleton);
        }
        self.close(builder, skeleton, leaves, limits)
    }

    fn replace_threads(&mut self, threads: Vec<Thread>) {
        threads.iter().for_each(|thread| self.references[thread.column.index()] += 1);
        let before = std::mem::replace(&mut self.threads, threads);
        before.iter().for_each(|thread| self.references[thread.column.index()] -= 1);
    }

    /// Saves the state that a step changes, and keeps the present columns alive by a reference to the last one.
    fn checkpoint(&mut self) -> Checkpoint {
        let columns = self.columns.len();
        // The column at the beginning of the text is never dropped.
        self.references[columns - 1] += 1;
        let threads = self.threads.clone();
        Checkpoint {
            columns,
            threads,
            position: self.position,
            step_count: self.step_count,
            is_complete: self.is_complete,
        }
    }

    fn restore(&mut self, checkpoint: Checkpoint) {
        let Checkpoint { columns, threads, position, step_count, is_complete } = checkpoint;
        self.replace_threads(threads);
        while self.columns.len() > columns {
            self.pop_column();
        }
        self.references[columns - 1] -= 1;
        (self.position, self.step_count, self.is_complete) = (position, step_count, is_complete);
    }

    /// Advances all items of `column` that expect `symbol`.
    fn advance_expecting(
        &self,
        builder: &mut ColumnBuilder,
        symbol: SkeletonSymbol,
        column: ColumnId,
        skeleton: &Skeleton,
    ) {
        for item in self.columns[column.index()].expecting(symbol) {
            let expecting = &self.columns[column.index()].items[item as usize];
            builder.add(skeleton.after(expecting.dot), expecting.origin, Some(ItemRef { column, item }));
        }
    }

    /// Computes the closure of the builder's items and adds the column.
    fn close(
        &mut self,
        mut builder: ColumnBuilder,
        skeleton: &Skeleton,
        leaves: &mut LeafRun<'_>,
        limits: &Limits,
    ) -> Result<(), LimitExceeded> {
        let here = builder.column;
        let mut next = 0;
        while let Some(item) = builder.items.get(next) {
            let (dot, origin) = (item.dot, item.origin);
            let this = ItemRef { column: here, item: index_u32(next) };
            if skeleton.ends(dot) {
                builder.ended.push((dot.rule, origin, this.item));
                // An item that expects a nullable symbol has skipped it already.
                if origin != here && builder.completed.insert((dot.rule, origin)) {
                    builder.completions.push((dot.rule, origin, index_u32(builder.completions.len())));
                    self.advance_expecting(&mut builder, SkeletonSymbol::Rule(dot.rule), origin, skeleton);
                }
            }
            if let Some(symbol) = skeleton.next(dot) {
                builder.expecting.push((symbol, this.item));
                if builder.predicted.insert(symbol) {
                    match symbol {
                        SkeletonSymbol::Rule(rule) => {
                            skeleton.first_dots(rule).for_each(|dot| builder.add(dot, here, None));
                        }
                        SkeletonSymbol::Leaf(leaf) => {
                            if let Some(state) = leaves.start(leaf)?
                                && leaves.continues(leaf, state)?
                            {
                                builder.threads.push(Thread { leaf, column: here, state });
                            }
                        }
                    }
                }
                if skeleton.may_skip(dot) {
                    builder.add(skeleton.after(dot), origin, Some(this));
                }
            }
            if builder.items.len() > limits.set_items {
                return Err(LimitExceeded::new("set_items", limits.set_items));
            }
            next += 1;
        }
        self.finish(builder, skeleton, limits)
    }

    fn finish(
        &mut self,
        mut builder: ColumnBuilder,
        skeleton: &Skeleton,
        limits: &Limits,
    ) -> Result<(), LimitExceeded> {
        let here = builder.column;
        self.size += size(&builder.items);
        if self.size.saturating_mul(size_of::<ChartItem>()) > limits.memory_bytes {
            return Err(LimitExceeded::new("memory_bytes", limits.memory_bytes));
        }
        builder.expecting.sort_unstable();
        builder.ended.sort_unstable();
        builder.completions.sort_unstable();
        self.is_complete = builder.ended.iter().any(|&(rule, ..)| rule == skeleton.start);
        self.references.push(builder.threads.len());
        self.threads.extend(builder.threads);
        let column = ChartColumn {
            position: self.position,
            step_count: self.step_count,
            items: builder.items,
            expecting: builder.expecting,
            ended: builder.ended,
            completions: builder.completions,
        };
        for target in references_of(&column, here) {
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
        for target in references_of(&column, ColumnId::new(self.columns.len())) {
            self.references[target.index()] -= 1;
        }
        self.size -= size(&column.items);
    }
}

/// The threads after a step, and the leaves that end with it.
struct AdvancedThreads {
    threads: Vec<Thread>,
    ended: Vec<(LeafId, ColumnId)>,
}

impl AdvancedThreads {
    fn is_dead(&self) -> bool {
        self.threads.is_empty() && self.ended.is_empty()
    }

    /// Adds the result of another reading of the same token.
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

/// The state of a chart that a step changes.
struct Checkpoint {
    columns: usize,
    threads: Vec<Thread>,
    position: usize,
    step_count: usize,
    is_complete: bool,
}

/// The threads after the end of a token, without those that have reached their maximum number of tokens.
fn after_token_end(threads: &[Thread], leaves: &mut LeafRun<'_>) -> Result<Vec<Thread>, LimitExceeded> {
    let mut continuing = Vec::with_capacity(threads.len());
    for &Thread { leaf, column, state } in threads {
        let Some(state) = leaves.end_token(leaf, state)? else { continue };
        if leaves.continues(leaf, state)? {
            continuing.push(Thread { leaf, column, state });
        }
    }
    Ok(continuing)
}

/// The earlier columns that a column refers to, with repetition.
fn references_of(column: &ChartColumn, here: ColumnId) -> impl Iterator<Item = ColumnId> {
    let targets = column
        .items
        .iter()
        .flat_map(|item| item.before.iter().map(|before| before.column).chain(std::iter::once(item.origin)));
    targets.filter(move |&target| target != here)
}

/// A column under construction.
struct ColumnBuilder {
    column: ColumnId,
    items: Vec<ChartItem>,
    index_of: FxHashMap<(Dot, ColumnId), u32>,
    predicted: FxHashSet<SkeletonSymbol>,
    completed: FxHashSet<(RuleId, ColumnId)>,
    expecting: Vec<(SkeletonSymbol, u32)>,
    ended: Vec<(RuleId, ColumnId, u32)>,
    completions: Vec<(RuleId, ColumnId, u32)>,
    threads: Vec<Thread>,
}

impl ColumnBuilder {
    fn at(column: ColumnId) -> Self {
        Self {
            column,
            items: Vec::new(),
            index_of: FxHashMap::default(),
            predicted: FxHashSet::default(),
            completed: FxHashSet::default(),
            expecting: Vec::new(),
            ended: Vec::new(),
            completions: Vec::new(),
            threads: Vec::new(),
        }
    }

    fn add(&mut self, dot: Dot, origin: ColumnId, before: Option<ItemRef>) {
        let next = index_u32(self.items.len());
        let item = *self.index_of.entry((dot, origin)).or_insert(next);
        if item == next {
            self.items.push(ChartItem { dot, origin, before: Vec::new() });
        }
        self.items[item as usize].before.extend(before);
    }
}

/// Number of items and back pointers.
fn size(items: &[ChartItem]) -> usize {
    items.iter().map(|item| 1 + item.before.len()).sum()
}
