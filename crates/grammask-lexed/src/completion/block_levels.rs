//! The open blocks of a language with indentation, with the white space that a line in each of them needs.

use rustc_hash::FxHashMap;

use crate::completion::sentence_costs::{Level, LevelId, SentenceCosts};
use crate::completion::{UNREACHABLE, sum};
use crate::definition::source::IndentationMeasure;
use crate::lexer::line_columns::{Column, TAB_STOP, Width};
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
    /// By the blocks around, and the width; `None` for an unknown width.
    ids: FxHashMap<(BlocksId, Option<Width>), BlocksId>,
    of_layout: FxHashMap<LayoutId, BlocksId>,
}

impl BlockLevels {
    pub(crate) fn new(measure: IndentationMeasure, sentences: &mut SentenceCosts) -> Self {
        let steps = ColumnSteps { measure };
        let inner = steps.beyond(Column::LINE_START, Width::default());
        let level = sentences.level(Level { own: 0, inner });
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
        for &width in parser.block_widths(layout) {
            let own = self.steps.to(Column::LINE_START, width);
            let level = Level { own, inner: self.steps.beyond(Column::LINE_START, width) };
            blocks = self.begin(blocks, Some(width), level, sentences);
        }
        self.of_layout.insert(layout, blocks);
        blocks
    }

    /// The blocks with one more, of an unknown width inside a block of `width`.
    pub(crate) fn begin_beyond(
        &mut self,
        blocks: BlocksId,
        width: Width,
        sentences: &mut SentenceCosts,
    ) -> BlocksId {
        let own = self.steps.beyond(Column::LINE_START, width);
        self.begin(blocks, None, Level { own, inner: own }, sentences)
    }

    fn begin(
        &mut self,
        around: BlocksId,
        width: Option<Width>,
        level: Level,
        sentences: &mut SentenceCosts,
    ) -> BlocksId {
        *self.ids.entry((around, width)).or_insert_with(|| {
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

/// The bytes between columns: a character of white space is a byte, and a line break returns to column 0. So does a form
/// feed, and a continued line needs one more byte before the columns after a tab count as those of spaces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnSteps {
    measure: IndentationMeasure,
}

impl ColumnSteps {
    /// The fewest bytes from a column to exactly a width, which is that of a line.
    pub(crate) fn to(self, from: Column, width: Width) -> u32 {
        self.fewest(from, |steps, from| steps.continued_to(from, width), |fixed| fixed == width)
    }

    /// The fewest bytes from a column to the width of a block inside one of `width`.
    pub(crate) fn beyond(self, from: Column, width: Width) -> u32 {
        let is_beyond = |fixed: Width| fixed.columns > width.columns && fixed.characters > width.characters;
        self.fewest(from, |steps, from| steps.continued_beyond(from, width), is_beyond)
    }

    /// The fewest bytes with and without a line break. `counted` is the number in a line whose white space counts, if
    /// there is one, and `is_end` says whether a width needs no bytes.
    fn fewest(
        self,
        from: Column,
        counted: impl Fn(Self, Width) -> Option<u32>,
        is_end: impl Fn(Width) -> bool,
    ) -> u32 {
        let without_break = match from {
            Column::NoBreak => None,
            Column::Fixed(width) | Column::Continued(width) if is_end(width) => Some(0),
            Column::Continued(width) if width.columns == 0 => counted(self, width),
            Column::Fixed(_) | Column::Continued(_) => None,
            Column::Counted(width) => counted(self, width),
        };
        let after_break =
            counted(self, Width::default()).map_or(UNREACHABLE, |bytes| sum(1, bytes.min(UNREACHABLE)));
        without_break.map_or(after_break, |bytes| bytes.min(after_break))
    }

    fn continued_to(self, from: Width, to: Width) -> Option<u32> {
        let columns = to.columns.checked_sub(from.columns)?;
        match self.measure {
            IndentationMeasure::Columns { tab_length } => {
                let tab_length = tab_length.max(1);
                Some(columns / tab_length + columns % tab_length)
            }
            IndentationMeasure::Python => {
                let tabs = to.columns / TAB_STOP - from.columns / TAB_STOP;
                let fewest = if tabs == 0 { columns } else { tabs + to.columns % TAB_STOP };
                let characters = to.characters.checked_sub(from.characters);
                let exact = characters.filter(|characters| (fewest..=columns).contains(characters));
                let fixed = (to == Width::of_spaces(to.columns)).then_some(fewest + 1);
                exact.into_iter().chain(fixed).min()
            }
        }
    }

    fn continued_beyond(self, from: Width, width: Width) -> Option<u32> {
        let least = width.plus_spaces(1);
        Some(match self.measure {
            IndentationMeasure::Columns { tab_length } => {
                least.columns.saturating_sub(from.columns).div_ceil(tab_length.max(1))
            }
            IndentationMeasure::Python => {
                let tabs = match from.columns < least.columns {
                    true => (least.columns - from.columns / TAB_STOP * TAB_STOP).div_ceil(TAB_STOP),
                    false => 0,
                };
                tabs.max(least.characters.saturating_sub(from.characters).min(tabs + 1))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::lexer::column_units::ColumnEffect;
    use crate::lexer::line_columns::UnitEffect;

    /// The numbers of bytes from a column to all others of few columns, where a continuation is one byte.
    fn distances(measure: IndentationMeasure, from: Column) -> FxHashMap<Column, u32> {
        let mut distances = FxHashMap::from_iter([(from, 0)]);
        let mut queue = VecDeque::from([from]);
        let continuation = match measure {
            IndentationMeasure::Columns { .. } => &[][..],
            IndentationMeasure::Python => &[ColumnEffect::FormFeed, ColumnEffect::Continuation],
        };
        while let Some(column) = queue.pop_front() {
            let distance = distances[&column] + 1;
            let effects = [ColumnEffect::LineBreak, ColumnEffect::Space, ColumnEffect::Tab];
            for &effect in effects.iter().chain(continuation) {
                let next = match UnitEffect::of(effect, measure) {
                    UnitEffect::LineBreak => Column::LINE_START,
                    UnitEffect::WhiteSpace(run) => column.after(run),
                    UnitEffect::None => column,
                };
                let is_small = next.width().is_none_or(|width| width.columns <= 40);
                if is_small && !distances.contains_key(&next) {
                    distances.insert(next, distance);
                    queue.push_back(next);
                }
            }
        }
        distances
    }

    #[test]
    fn steps_are_the_fewest() {
        for measure in [
            IndentationMeasure::Columns { tab_length: 1 },
            IndentationMeasure::Columns { tab_length: 4 },
            IndentationMeasure::Python,
        ] {
            let steps = ColumnSteps { measure };
            let starts: Vec<Column> = distances(measure, Column::NoBreak).into_keys().collect();
            let small = |column: &&Column| column.width().is_none_or(|width| width.columns <= 18);
            for &from in starts.iter().filter(small) {
                let distances = distances(measure, from);
                let widths = |of: Width| distances.iter().filter(move |(to, _)| to.width() == Some(of));
                for width in starts.iter().filter(small).filter_map(|column| column.width()) {
                    let exact = widths(width).map(|(_, &bytes)| bytes).min();
                    assert_eq!(Some(steps.to(from, width)), exact, "{measure:?} from {from:?} to {width:?}");
                    let beyond = distances.iter().filter(|(to, _)| {
                        to.width()
                            .is_some_and(|to| to.columns > width.columns && to.characters > width.characters)
                    });
                    let beyond = beyond.map(|(_, &bytes)| bytes).min();
                    assert_eq!(
                        Some(steps.beyond(from, width)),
                        beyond,
                        "{measure:?} from {from:?} beyond {width:?}"
                    );
                }
            }
        }
    }
}
