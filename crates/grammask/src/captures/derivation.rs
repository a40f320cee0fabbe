//! Extracts the captures from a chart: one derivation of the text, selected from the start symbol downwards.
//!
//! Each rule is resolved by itself: its items between two columns are an acyclic graph, in which the path to the end
//! with the longest first symbols is selected. A stack holds the symbols that are not resolved yet.

use rustc_hash::{FxHashMap, FxHashSet};

use super::chart::{CaptureChart, ColumnId, ItemRef};
use super::skeleton::{PartId, RuleId, Skeleton, SkeletonSymbol};

/// The span of a named part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The part.
    pub part: PartId,
    /// Start of the span, in bytes.
    pub start: usize,
    /// End of the span, exclusive.
    pub end: usize,
    /// Whether the part has ended; otherwise it can continue at the end of the text.
    pub is_closed: bool,
    /// Index of the innermost enclosing capture in the list.
    pub parent: Option<usize>,
}

/// A symbol of the derivation that is not resolved yet.
#[derive(Clone, Copy, Debug)]
struct PendingSpan {
    symbol: SkeletonSymbol,
    from: ColumnId,
    /// `None` if it can continue at the end of the text.
    to: Option<ColumnId>,
    parent: Option<usize>,
}

/// The selection of one derivation. See the documentation of the module.
#[derive(Debug)]
pub(super) struct Derivation<'a> {
    skeleton: &'a Skeleton,
    chart: &'a CaptureChart,
    open: OpenRules,
    /// The enclosing rules that begin in `active_from` and can continue at the end of the text.
    active: Vec<RuleId>,
    active_from: ColumnId,
    captures: Vec<Capture>,
    pending: Vec<PendingSpan>,
}

/// The rules that can continue at the end of the text, by origin.
#[derive(Debug, Default)]
struct OpenRules {
    /// The items with the dot before a symbol that can continue.
    items: FxHashMap<(RuleId, ColumnId), Vec<ItemRef>>,
}

impl<'a> Derivation<'a> {
    /// The captures of a complete text.
    pub(super) fn of_whole(skeleton: &'a Skeleton, chart: &'a CaptureChart) -> Vec<Capture> {
        let last = ColumnId::new(chart.columns.len() - 1);
        Self::of(skeleton, chart, OpenRules::default(), Some(last))
    }

    /// The captures of a viable prefix.
    pub(super) fn of_growing(skeleton: &'a Skeleton, chart: &'a CaptureChart) -> Vec<Capture> {
        Self::of(skeleton, chart, OpenRules::of(chart), None)
    }

    fn of(
        skeleton: &'a Skeleton,
        chart: &'a CaptureChart,
        open: OpenRules,
        to: Option<ColumnId>,
    ) -> Vec<Capture> {
        let start = PendingSpan {
            symbol: SkeletonSymbol::Rule(skeleton.start),
            from: ColumnId::new(0),
            to,
            parent: None,
        };
        let mut derivation = Self {
            skeleton,
            chart,
            open,
            active: Vec::new(),
            active_from: ColumnId::new(0),
            captures: Vec::new(),
            pending: vec![start],
        };
        while let Some(span) = derivation.pending.pop() {
            derivation.resolve(span);
        }
        derivation.captures
    }

    fn resolve(&mut self, span: PendingSpan) {
        let PendingSpan { symbol, from, to, mut parent } = span;
        if let Some(part) = self.skeleton.part_of(symbol) {
            let end = to.map_or(self.chart.position, |to| self.chart.columns[to.index()].position);
            let start = self.chart.columns[from.index()].position;
            self.captures.push(Capture { part, start, end, is_closed: to.is_some(), parent });
            parent = Some(self.captures.len() - 1);
        }
        let SkeletonSymbol::Rule(rule) = symbol else { return };
        let parts = match to {
            Some(to) if to == from => {
                let symbols = self.skeleton.empty_symbols(rule).iter();
                symbols.map(|&symbol| PendingSpan { symbol, from, to: Some(from), parent }).collect()
            }
            Some(to) => self.closed_symbols(rule, from, to),
            None => self.open_symbols(rule, from),
        };
        self.pending.extend(parts.into_iter().rev().map(|span| PendingSpan { parent, ..span }));
    }

    /// The symbols of a rule that spans two different columns.
    fn closed_symbols(&self, rule: RuleId, from: ColumnId, to: ColumnId) -> Vec<PendingSpan> {
        let column = &self.chart.columns[to.index()];
        let order = column.completion(rule, from);
        // Among rules that derive each other over the same text, an earlier completion is further inside.
        let is_usable = |before: ItemRef, after: ItemRef| {
            if (before.column, after.column) != (from, to) {
                return true;
            }
            match self.symbol_after(before) {
                Some(SkeletonSymbol::Rule(inner)) if self.skeleton.derive_each_other(rule, inner) => {
                    column.completion(inner, from) < order
                }
                _ => true,
            }
        };
        let targets = column.ended(rule, from).map(|item| ItemRef { column: to, item });
        let (symbols, _) = self.first_path(targets.collect(), from, is_usable);
        symbols
    }

    /// The symbols of a rule that can continue at the end of the text.
    fn open_symbols(&mut self, rule: RuleId, from: ColumnId) -> Vec<PendingSpan> {
        if self.active_from != from {
            self.active_from = from;
            self.active.clear();
        }
        self.active.push(rule);
        let targets = self.open.items.get(&(rule, from)).into_iter().flatten().copied();
        let targets = targets.filter(|&item| self.can_avoid_cycle(item, rule)).collect();
        let (mut symbols, end) = self.first_path(targets, from, |_, _| true);
        if let Some(item) = end
            && let Some(symbol) = self.symbol_after(item)
        {
            symbols.push(PendingSpan { symbol, from: item.column, to: None, parent: None });
        }
        symbols
    }

    /// Whether the symbol that continues in an item of `rule` has a derivation that does not return to an enclosing
    /// rule of the same origin.
    fn can_avoid_cycle(&self, item: ItemRef, rule: RuleId) -> bool {
        let inside = |item: ItemRef| match self.symbol_after(item) {
            Some(SkeletonSymbol::Rule(inner)) => (item.column == self.active_from
                && self.skeleton.begin_with_each_other(rule, inner))
            .then_some(inner),
            _ => None,
        };
        let Some(first) = inside(item) else { return true };
        let mut visited: FxHashSet<RuleId> = self.active.iter().copied().collect();
        let mut pending = vec![first];
        while let Some(rule) = pending.pop() {
            if !visited.insert(rule) {
                continue;
            }
            for &item in self.open.items.get(&(rule, self.active_from)).into_iter().flatten() {
                match inside(item) {
                    Some(inner) => pending.push(inner),
                    None => return true,
                }
            }
        }
        false
    }

    fn symbol_after(&self, item: ItemRef) -> Option<SkeletonSymbol> {
        self.skeleton.next(self.chart.columns[item.column.index()].items[item.item as usize].dot)
    }

    /// The preferred path from the beginning of a rule in `from` to one of `targets`, and the target that it ends at.
    /// The first alternative is preferred, then the longest first symbol, then the longest second one, and so on.
    fn first_path(
        &self,
        mut targets: Vec<ItemRef>,
        from: ColumnId,
        is_usable: impl Fn(ItemRef, ItemRef) -> bool,
    ) -> (Vec<PendingSpan>, Option<ItemRef>) {
        let item = |at: ItemRef| &self.chart.columns[at.column.index()].items[at.item as usize];
        targets.sort_unstable_by_key(|&target| item(target).dot.alternative);
        for targets in targets.chunk_by(|&a, &b| item(a).dot.alternative == item(b).dot.alternative) {
            // For each item from which a target is reachable, the items after its next symbol.
            let mut followers: FxHashMap<ItemRef, Vec<ItemRef>> = FxHashMap::default();
            let mut pending = targets.to_vec();
            let mut first = None;
            while let Some(after) = pending.pop() {
                if after.column == from && item(after).dot.read == 0 {
                    first = Some(after);
                }
                for &before in item(after).before.iter().filter(|&&before| is_usable(before, after)) {
                    let after_before = followers.entry(before).or_default();
                    after_before.push(after);
                    if after_before.len() == 1 && !targets.contains(&before) {
                        pending.push(before);
                    }
                }
            }
            let Some(mut at) = first else { continue };
            let mut symbols = Vec::new();
            while !targets.contains(&at) {
                let longest = followers.get(&at).and_then(|list| list.iter().max_by_key(|next| next.column));
                let (Some(&next), Some(symbol)) = (longest, self.symbol_after(at)) else { break };
                symbols.push(PendingSpan { symbol, from: at.column, to: Some(next.column), parent: None });
                at = next;
            }
            return (symbols, Some(at));
        }
        (Vec::new(), None)
    }
}

impl OpenRules {
    /// Follows expecting items upwards from the leaves that have begun, or if there are none, from those that come
    /// next.
    fn of(chart: &CaptureChart) -> Self {
        let begun = |&(_, column): &(SkeletonSymbol, ColumnId)| {
            chart.columns[column.index()].step_count < chart.step_count
        };
        let mut pending: Vec<(SkeletonSymbol, ColumnId)> =
            chart.threads.iter().map(|thread| (SkeletonSymbol::Leaf(thread.leaf), thread.column)).collect();
        if pending.iter().any(begun) {
            pending.retain(begun);
        }
        let mut open = Self::default();
        let mut next = 0;
        while let Some(&(symbol, column)) = pending.get(next) {
            next += 1;
            for index in chart.columns[column.index()].expecting(symbol) {
                let item = &chart.columns[column.index()].items[index as usize];
                let (rule, origin) = (item.dot.rule, item.origin);
                let items = open.items.entry((rule, origin)).or_default();
                items.push(ItemRef { column, item: index });
                if items.len() == 1 {
                    pending.push((SkeletonSymbol::Rule(rule), origin));
                }
            }
        }
        open
    }
}
