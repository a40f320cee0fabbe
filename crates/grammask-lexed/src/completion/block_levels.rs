//! The open blocks of a language with indentation, with the white space that a line in each of them needs.

use rustc_hash::FxHashMap;

use crate::completion::sentence_costs::{Level, LevelId, SentenceCosts};
use crate::completion::{UNREACHABLE, sum};
use crate::masks::spanner_table::LexemeColumn;
use crate::masks::token_set_store::hash_map_bytes;
use crate::parser::stacks::{LayoutId, TerminalParser};
use grammask_collections::id_type;

id_type! {
    /// Interned open blocks: the innermost one, and those around it.
    BlocksId
}

impl BlocksId {
    /// No block.
    pub(crate) const NONE: Self = Self(0);
}

/// The innermost block.
#[derive(Clone, Copy, Debug)]
struct Block {
    around: BlocksId,
    level: LevelId,
}

/// Interned lists of open blocks.
#[derive(Debug)]
pub(crate) struct BlockLevels {
    steps: ColumnSteps,
    list: Vec<Block>,
    /// By the blocks around, and the column; `None` for an unknown column.
    ids: FxHashMap<(BlocksId, Option<u32>), BlocksId>,
    of_layout: FxHashMap<LayoutId, BlocksId>,
}

impl BlockLevels {
    pub(crate) fn new(tab_length: u32, sentences: &mut SentenceCosts) -> Self {
        let steps = ColumnSteps { tab_length: tab_length.max(1) };
        let level = sentences.level(Level { own: 0, inner: steps.beyond(0, 0) });
        let list = vec![Block { around: BlocksId::NONE, level }];
        Self { steps, list, ids: FxHashMap::default(), of_layout: FxHashMap::default() }
    }

    /// The white space between columns.
    pub(crate) fn steps(&self) -> ColumnSteps {
        self.steps
    }

    /// The level of the innermost block.
    pub(crate) fn level(&self, blocks: BlocksId) -> LevelId {
        self.list[blocks.index()].level
    }

    /// The blocks after this number of ends.
    pub(crate) fn outside(&self, mut blocks: BlocksId, ends: usize) -> BlocksId {
        for _ in 0..ends {
            blocks = self.list[blocks.index()].around;
        }
        blocks
    }

    /// The open blocks of a layout.
    pub(crate) fn of_layout(
        &mut self,
        parser: &TerminalParser,
        layout: LayoutId,
        sentences: &mut SentenceCosts,
    ) -> BlocksId {
        if let Some(&cached) = self.of_layout.get(&layout) {
            return cached;
        }
        let mut blocks = BlocksId::NONE;
        for &column in parser.block_columns(layout) {
            let level = Level { own: self.steps.to(0, column), inner: self.steps.beyond(0, column) };
            blocks = self.begin(blocks, Some(column), level, sentences);
        }
        self.of_layout.insert(layout, blocks);
        blocks
    }

    /// The blocks with one more, at an unknown column that is larger than `column`.
    pub(crate) fn begin_beyond(
        &mut self,
        blocks: BlocksId,
        column: u32,
        sentences: &mut SentenceCosts,
    ) -> BlocksId {
        let own = self.steps.beyond(0, column);
        self.begin(blocks, None, Level { own, inner: own }, sentences)
    }

    fn begin(
        &mut self,
        around: BlocksId,
        column: Option<u32>,
        level: Level,
        sentences: &mut SentenceCosts,
    ) -> BlocksId {
        *self.ids.entry((around, column)).or_insert_with(|| {
            self.list.push(Block { around, level: sentences.level(level) });
            BlocksId::new(self.list.len() - 1)
        })
    }

    /// Memory in bytes, estimated.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.list.capacity() * size_of::<Block>()
            + hash_map_bytes(&self.ids)
            + hash_map_bytes(&self.of_layout)
    }
}

/// The bytes between columns: a space is one column, a tab several, and a line break returns to column 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnSteps {
    tab_length: u32,
}

impl ColumnSteps {
    /// The fewest bytes from a column to exactly another.
    pub(crate) fn to(self, from: u32, column: u32) -> u32 {
        self.fewest(from, column, |columns| columns / self.tab_length + columns % self.tab_length)
    }

    /// The fewest bytes from a column to one that is larger than `column`.
    pub(crate) fn beyond(self, from: u32, column: u32) -> u32 {
        if from != LexemeColumn::NO_BREAK && from > column {
            return 0;
        }
        self.fewest(from, column.saturating_add(1), |columns| columns.div_ceil(self.tab_length))
    }

    fn fewest(self, from: u32, column: u32, bytes: impl Fn(u32) -> u32) -> u32 {
        let after_break = sum(1, bytes(column).min(UNREACHABLE));
        match column.checked_sub(from) {
            Some(columns) if from != LexemeColumn::NO_BREAK => bytes(columns).min(after_break),
            _ => after_break,
        }
    }
}
