//! Reads the captures off a chart: one derivation of the text, chosen from the start symbol downwards.
//!
//! A rule that spans some columns is resolved alone: its items between the two columns are a graph without cycles, of
//! which the part that leads to the end is walked with the longest step first. A stack holds the steps still to resolve.

use rustc_hash::{FxHashMap, FxHashSet};

use super::chart::{Chart, ColumnId, NodeRef};
use super::skeleton::{PartId, RuleId, Skeleton, Step};

/// Where a named part stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Which part.
    pub part: PartId,
    /// The first byte.
    pub start: usize,
    /// Behind the last byte.
    pub end: usize,
    /// Whether the part ended; else it goes on at the end of the text.
    pub is_closed: bool,
    /// The innermost capture around it, by its position in the list.
    pub parent: Option<usize>,
}

/// A step of the derivation that is to be resolved.
#[derive(Clone, Copy, Debug)]
struct Task {
    step: Step,
    from: ColumnId,
    /// `None`: it goes on at the end of the text.
    to: Option<ColumnId>,
    parent: Option<usize>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Derivation<'a> {
    skeleton: &'a Skeleton,
    chart: &'a Chart,
    open: OpenRules,
    /// The rules that go on since `active_from` and around what is resolved now.
    active: Vec<RuleId>,
    active_from: ColumnId,
    captures: Vec<Capture>,
    tasks: Vec<Task>,
}

/// The rules that go on at the end of the text, by where they began.
#[derive(Debug, Default)]
struct OpenRules {
    /// The items in which that is so.
    nodes: FxHashMap<(RuleId, ColumnId), Vec<NodeRef>>,
}

impl<'a> Derivation<'a> {
    /// The captures of a whole text.
    pub(super) fn of_whole(skeleton: &'a Skeleton, chart: &'a Chart) -> Vec<Capture> {
        let last = ColumnId::new(chart.columns.len() - 1);
        Self::of(skeleton, chart, OpenRules::default(), Some(last))
    }

    /// The captures of a text that goes on.
    pub(super) fn of_growing(skeleton: &'a Skeleton, chart: &'a Chart) -> Vec<Capture> {
        Self::of(skeleton, chart, OpenRules::of(chart), None)
    }

    fn of(skeleton: &'a Skeleton, chart: &'a Chart, open: OpenRules, to: Option<ColumnId>) -> Vec<Capture> {
        let start = Task { step: Step::Rule(skeleton.start), from: ColumnId::new(0), to, parent: None };
        let mut derivation = Self {
            skeleton,
            chart,
            open,
            active: Vec::new(),
            active_from: ColumnId::new(0),
            captures: Vec::new(),
            tasks: vec![start],
        };
        while let Some(task) = derivation.tasks.pop() {
            derivation.resolve(task);
        }
        derivation.captures
    }

    fn resolve(&mut self, task: Task) {
        let Task { step, from, to, mut parent } = task;
        if let Some(part) = self.skeleton.part_of(step) {
            let end = to.map_or(self.chart.position, |to| self.chart.columns[to.index()].position);
            let start = self.chart.columns[from.index()].position;
            self.captures.push(Capture { part, start, end, is_closed: to.is_some(), parent });
            parent = Some(self.captures.len() - 1);
        }
        let Step::Rule(rule) = step else { return };
        let parts = match to {
            Some(to) if to == from => {
                let steps = self.skeleton.empty_steps(rule).iter();
                steps.map(|&step| Task { step, from, to: Some(from), parent }).collect()
            }
            Some(to) => self.closed_steps(rule, from, to),
            None => self.open_steps(rule, from),
        };
        self.tasks.extend(parts.into_iter().rev().map(|task| Task { parent, ..task }));
    }

    /// The steps of a rule that spans two different columns.
    fn closed_steps(&self, rule: RuleId, from: ColumnId, to: ColumnId) -> Vec<Task> {
        let column = &self.chart.columns[to.index()];
        let order = column.completion(rule, from);
        // Of rules that stand for each other over the same text the one that was found first is the innermost.
        let is_usable = |before: NodeRef, after: NodeRef| {
            if (before.column, after.column) != (from, to) {
                return true;
            }
            match self.step_after(before) {
                Some(Step::Rule(inner)) if self.skeleton.stand_for_each_other(rule, inner) => {
                    column.completion(inner, from) < order
                }
                _ => true,
            }
        };
        let targets = column.ended(rule, from).map(|node| NodeRef { column: to, node });
        let (steps, _) = self.first_path(targets.collect(), from, is_usable);
        steps
    }

    /// The steps of a rule that goes on at the end of the text.
    fn open_steps(&mut self, rule: RuleId, from: ColumnId) -> Vec<Task> {
        if self.active_from != from {
            self.active_from = from;
            self.active.clear();
        }
        self.active.push(rule);
        let targets = self.open.nodes.get(&(rule, from)).into_iter().flatten().copied();
        let targets = targets.filter(|&node| self.leads_out(node, rule)).collect();
        let (mut steps, end) = self.first_path(targets, from, |_, _| true);
        if let Some(node) = end
            && let Some(step) = self.step_after(node)
        {
            steps.push(Task { step, from: node.column, to: None, parent: None });
        }
        steps
    }

    /// Whether what goes on in an item of `rule` need not come back to a rule around it at the same place.
    fn leads_out(&self, node: NodeRef, rule: RuleId) -> bool {
        let inside = |node: NodeRef| match self.step_after(node) {
            Some(Step::Rule(inner)) => (node.column == self.active_from
                && self.skeleton.begin_with_each_other(rule, inner))
            .then_some(inner),
            _ => None,
        };
        let Some(first) = inside(node) else { return true };
        let mut seen: FxHashSet<RuleId> = self.active.iter().copied().collect();
        let mut pending = vec![first];
        while let Some(rule) = pending.pop() {
            if !seen.insert(rule) {
                continue;
            }
            for &node in self.open.nodes.get(&(rule, self.active_from)).into_iter().flatten() {
                match inside(node) {
                    Some(inner) => pending.push(inner),
                    None => return true,
                }
            }
        }
        false
    }

    fn step_after(&self, node: NodeRef) -> Option<Step> {
        self.skeleton.next(self.chart.columns[node.column.index()].nodes[node.node as usize].dot)
    }

    /// The way from the beginning of a rule in `from` to one of `targets` that comes first: by alternative, then with
    /// the longest first step, and so on; it ends at the first target. Also that target.
    fn first_path(
        &self,
        mut targets: Vec<NodeRef>,
        from: ColumnId,
        is_usable: impl Fn(NodeRef, NodeRef) -> bool,
    ) -> (Vec<Task>, Option<NodeRef>) {
        let node = |at: NodeRef| &self.chart.columns[at.column.index()].nodes[at.node as usize];
        targets.sort_unstable_by_key(|&target| node(target).dot.alternative);
        for targets in targets.chunk_by(|&a, &b| node(a).dot.alternative == node(b).dot.alternative) {
            // For each item that leads to a target, where its step can lead.
            let mut followers: FxHashMap<NodeRef, Vec<NodeRef>> = FxHashMap::default();
            let mut pending = targets.to_vec();
            let mut first = None;
            while let Some(after) = pending.pop() {
                if after.column == from && node(after).dot.read == 0 {
                    first = Some(after);
                }
                for &before in node(after).before.iter().filter(|&&before| is_usable(before, after)) {
                    let known = followers.entry(before).or_default();
                    known.push(after);
                    if known.len() == 1 && !targets.contains(&before) {
                        pending.push(before);
                    }
                }
            }
            let Some(mut at) = first else { continue };
            let mut steps = Vec::new();
            while !targets.contains(&at) {
                let longest = followers.get(&at).and_then(|list| list.iter().max_by_key(|next| next.column));
                let (Some(&next), Some(step)) = (longest, self.step_after(at)) else { break };
                steps.push(Task { step, from: at.column, to: Some(next.column), parent: None });
                at = next;
            }
            return (steps, Some(at));
        }
        (Vec::new(), None)
    }
}

impl OpenRules {
    /// Follows what waits upwards from the leaves that have begun; if none has, from those that come next.
    fn of(chart: &Chart) -> Self {
        let begun = |&(_, column): &(Step, ColumnId)| chart.columns[column.index()].place < chart.place;
        let mut pending: Vec<(Step, ColumnId)> =
            chart.threads.iter().map(|thread| (Step::Leaf(thread.leaf), thread.column)).collect();
        if pending.iter().any(begun) {
            pending.retain(begun);
        }
        let mut open = Self::default();
        let mut next = 0;
        while let Some(&(step, column)) = pending.get(next) {
            next += 1;
            for node in chart.columns[column.index()].waiting(step) {
                let item = &chart.columns[column.index()].nodes[node as usize];
                let (rule, origin) = (item.dot.rule, item.origin);
                let nodes = open.nodes.entry((rule, origin)).or_default();
                nodes.push(NodeRef { column, node });
                if nodes.len() == 1 {
                    pending.push((Step::Rule(rule), origin));
                }
            }
        }
        open
    }
}
