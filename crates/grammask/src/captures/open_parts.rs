//! The parts that the next byte or token can belong to, over all derivations of a viable prefix.

use rustc_hash::FxHashSet;

use super::chart::{CaptureChart, ColumnId};
use super::skeleton::{PartId, Skeleton, SkeletonSymbol};

/// The innermost parts around the leaves in progress and those that can come next, in order and without duplicates.
/// Derivations in which no part surrounds the leaf add nothing.
///
/// Expecting items are followed upwards to the first part, so the cost is at most the number of items in columns to
/// which these leaves refer, directly or by origins.
pub(super) fn open_parts(skeleton: &Skeleton, chart: &CaptureChart) -> Vec<PartId> {
    let mut pending: Vec<(SkeletonSymbol, ColumnId)> =
        chart.threads.iter().map(|thread| (SkeletonSymbol::Leaf(thread.leaf), thread.column)).collect();
    let mut visited: FxHashSet<(SkeletonSymbol, ColumnId)> = pending.iter().copied().collect();
    let mut parts = Vec::new();
    while let Some((symbol, column)) = pending.pop() {
        if let Some(part) = skeleton.part_of(symbol) {
            parts.push(part);
            continue;
        }
        let column_of_symbol = &chart.columns[column.index()];
        for item in column_of_symbol.expecting(symbol) {
            let item = &column_of_symbol.items[item as usize];
            let outer = (SkeletonSymbol::Rule(item.dot.rule), item.origin);
            if visited.insert(outer) {
                pending.push(outer);
            }
        }
    }
    parts.sort_unstable();
    parts.dedup();
    parts
}
