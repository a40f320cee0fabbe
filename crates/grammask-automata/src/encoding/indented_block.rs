//! The inverse image of a table under the removal of the prefixes of lines.
//!
//! A decoder with a state: at the beginning of a line it counts the bytes of the prefix that it has dropped. A line feed
//! decodes to itself at once, so the prefix of a line belongs to the line feed before it. Reading is deterministic, so
//! the inverse image is the product of the table and the decoder.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::{Table, TableBuilder, TableState};

/// What stands before each line of a block, such as the spaces of a list item or the marker of a quotation: printable ASCII
/// characters. A blank line may lack the spaces at the end of the prefix.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BlockPrefix(Arc<str>);

impl BlockPrefix {
    /// A prefix; `None` if the text has other characters or is longer than 255.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let is_printable = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        (is_printable && text.len() <= usize::from(u8::MAX)).then(|| Self(text.into()))
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no prefix.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The byte at a position.
    #[must_use]
    pub fn byte(&self, position: usize) -> Option<u8> {
        self.0.as_bytes().get(position).copied()
    }

    /// Whether a line is blank that ends after `read` bytes of the prefix.
    #[must_use]
    pub fn is_blank_after(&self, read: usize) -> bool {
        read >= self.0.trim_end_matches(' ').len()
    }
}

impl fmt::Display for BlockPrefix {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Whether a word may end with a line feed and a proper prefix of a block's prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastLine {
    /// It may: what follows can be the end of a blank line, or the rest of the prefix.
    Begun,
    /// It may not: what follows is decoded as if it were alone.
    Indented,
}

/// The number of bytes of the prefix that are read at the beginning of the current line, or all of them.
type Read = usize;

/// The words that decode to a word of `table`. Cost: linear in the size of the table, times the length of the prefix.
pub(super) fn image(table: &Table, start: TableState, prefix: &BlockPrefix, last_line: LastLine) -> Table {
    let mut builder = TableBuilder::new();
    let first = builder.add_state();
    let mut states: FxHashMap<(TableState, Read), TableState> =
        FxHashMap::from_iter([((start, prefix.len()), first)]);
    let mut stack = vec![(start, prefix.len(), first)];
    while let Some((state, read, from)) = stack.pop() {
        let next_of_prefix = prefix.byte(read);
        if table.is_accepting(state) && (next_of_prefix.is_none() || last_line == LastLine::Begun) {
            builder.accept(from);
        }
        let mut add = |builder: &mut TableBuilder, low, high, target, read| {
            let to = *states.entry((target, read)).or_insert_with(|| {
                let to = builder.add_state();
                stack.push((target, read, to));
                to
            });
            builder.transition(from, low, high, to);
        };
        if let Some(byte) = next_of_prefix {
            add(&mut builder, byte, byte, state, read + 1);
        }
        for (low, high, target) in table.edges(state) {
            if low <= b'\n' && b'\n' <= high && prefix.is_blank_after(read) {
                add(&mut builder, b'\n', b'\n', target, 0);
            }
            // A line without the whole prefix is blank.
            if next_of_prefix.is_none() {
                for (low, high) in [(low, high.min(b'\n' - 1)), (low.max(b'\n' + 1), high)] {
                    if low <= high {
                        add(&mut builder, low, high, target, read);
                    }
                }
            }
        }
    }
    builder.finish(first)
}
