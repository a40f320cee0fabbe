//! The parts that end at the end of a viable prefix, over all derivations of the prefix.

use rustc_hash::FxHashSet;

use super::chart::CaptureChart;
use super::skeleton::{PartId, Skeleton};

/// The parts that end with the last byte or token, each with the position of its start in bytes. Of parts that are not
/// empty, inner ones come first.
///
/// The cost is at most the number of items and back pointers of the last column.
pub(super) fn ended_parts(skeleton: &Skeleton, chart: &CaptureChart) -> Vec<(PartId, usize)> {
    let mut ended = Vec::new();
    let Some(last) = chart.columns.last().filter(|column| column.step_count == chart.step_count) else {
        return ended;
    };
    let mut is_known = FxHashSet::default();
    // An outer part ends because an inner one does, so its items come later.
    for before in last.items.iter().flat_map(|item| &item.before) {
        let column = &chart.columns[before.column.index()];
        let symbol = skeleton.next(column.items[before.item as usize].dot);
        if let Some(part) = symbol.and_then(|symbol| skeleton.part_of(symbol))
            && is_known.insert((part, before.column))
        {
            ended.push((part, column.position));
        }
    }
    ended
}
