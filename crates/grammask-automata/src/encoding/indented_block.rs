//! The inverse image of a table under the removal of the indentation of a block.
//!
//! A decoder with a state: at the beginning of a line it counts the spaces that it has dropped. A line feed decodes to
//! itself at once, so the spaces before the first character of a line belong to the line feed before it. Reading is
//! deterministic, so the inverse image is the product of the table and the decoder.

use rustc_hash::FxHashMap;

use crate::{Table, TableBuilder, TableState};

/// Whether the spaces after the last line feed of a word may be fewer than those of the indentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastLine {
    /// They may: what follows can be the end of a blank line, or the remaining spaces.
    Begun,
    /// They may not: what follows is decoded as if it were alone.
    Indented,
}

/// The number of spaces that are dropped at most at the beginning of the current line.
type Remaining = u8;

/// The words that decode to a word of `table`. Cost: linear in the size of the table, times `indent`.
pub(super) fn image(table: &Table, start: TableState, indent: u8, last_line: LastLine) -> Table {
    let mut builder = TableBuilder::new();
    let first = builder.add_state();
    let mut states: FxHashMap<(TableState, Remaining), TableState> =
        FxHashMap::from_iter([((start, 0), first)]);
    let mut stack = vec![(start, 0, first)];
    while let Some((state, remaining, from)) = stack.pop() {
        if table.is_accepting(state) && (remaining == 0 || last_line == LastLine::Begun) {
            builder.accept(from);
        }
        let mut add = |builder: &mut TableBuilder, low, high, target, remaining| {
            let to = *states.entry((target, remaining)).or_insert_with(|| {
                let to = builder.add_state();
                stack.push((target, remaining, to));
                to
            });
            builder.transition(from, low, high, to);
        };
        if remaining > 0 {
            add(&mut builder, b' ', b' ', state, remaining - 1);
        }
        for (low, high, target) in table.edges(state) {
            if low <= b'\n' && b'\n' <= high {
                add(&mut builder, b'\n', b'\n', target, indent);
            }
            // A line with fewer spaces is blank.
            if remaining == 0 {
                for (low, high) in [(low, high.min(b'\n' - 1)), (low.max(b'\n' + 1), high)] {
                    if low <= high {
                        add(&mut builder, low, high, target, 0);
                    }
                }
            }
        }
    }
    builder.finish(first)
}
