//! The columns at which lines begin, and the effect of white space on them.
//!
//! A column is a pair of counts, its [`Width`]. As lark's `Indenter` measures lines, both are equal: a space counts one and
//! a tab a fixed number. CPython's tokenizer goes to the next multiple of 8 at a tab in one of them, and counts it as one
//! character in the other; lines are refused for which the comparison of the counts with those of the open blocks
//! disagrees (`Parser/tokenizer.c`, `indenterror`).
//!
//! White space at the beginning of a token is applied to a column that is known later, so it is kept as an interned word
//! of runs ([`WhiteSpaces`]).

use rustc_hash::FxHashMap;

use crate::definition::source::IndentationMeasure;
use crate::lexer::column_units::ColumnEffect;
use crate::masks::token_set_store::hash_map_bytes;
use grammask_collections::id_type;

/// The distance of CPython's tab stops.
pub(crate) const TAB_STOP: u32 = 8;

/// The white space before the first lexeme of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Width {
    pub(crate) columns: u32,
    /// The columns with tabs of one column, if tabs go to tab stops; otherwise equal to `columns`.
    pub(crate) characters: u32,
}

impl Width {
    /// The width of a number of spaces.
    pub(crate) const fn of_spaces(count: u32) -> Self {
        Self { columns: count, characters: count }
    }

    /// The width after further spaces.
    pub(crate) fn plus_spaces(self, count: u32) -> Self {
        Self {
            columns: self.columns.saturating_add(count),
            characters: self.characters.saturating_add(count),
        }
    }

    /// The width after further tabs that go to tab stops.
    fn plus_tabs(self, count: u32) -> Self {
        let stops = (self.columns / TAB_STOP).saturating_add(count);
        Self { columns: stops.saturating_mul(TAB_STOP), characters: self.characters.saturating_add(count) }
    }
}

/// The column at the end of a lexeme that may become a newline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Column {
    /// The lexeme has no line break.
    NoBreak,
    /// White space counts.
    Counted(Width),
    /// Directly after a backslash and a line break, where the text cannot end.
    Continued(Width),
    /// Behind a continued line that began with white space, which alone counts.
    Fixed(Width),
}

/// A run of equal white space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct WhiteSpaceRun {
    effect: ColumnEffect,
    count: u32,
}

impl Column {
    /// Of lexemes that cannot become a newline.
    pub(crate) const UNTRACKED: Self = Self::LINE_START;
    /// After a line break.
    pub(crate) const LINE_START: Self = Self::Counted(Width::of_spaces(0));

    /// The width of the line so far, if there was a line break.
    pub(crate) fn width(self) -> Option<Width> {
        match self {
            Self::NoBreak => None,
            Self::Counted(width) | Self::Continued(width) | Self::Fixed(width) => Some(width),
        }
    }

    /// The column after white space, which has no effect before the first line break.
    pub(crate) fn after(self, WhiteSpaceRun { effect, count }: WhiteSpaceRun) -> Self {
        let width = match self {
            Self::NoBreak => return self,
            Self::Counted(width) => width,
            Self::Continued(width) if width.columns == 0 => width,
            Self::Continued(width) | Self::Fixed(width) => {
                return match effect {
                    ColumnEffect::Continuation => Self::Continued(width),
                    _ => Self::Fixed(width),
                };
            }
        };
        match effect {
            ColumnEffect::Space => Self::Counted(width.plus_spaces(count)),
            ColumnEffect::Tab => Self::Counted(width.plus_tabs(count)),
            ColumnEffect::FormFeed => Self::LINE_START,
            ColumnEffect::Continuation => Self::Continued(Width::of_spaces(width.columns)),
            ColumnEffect::LineBreak | ColumnEffect::None => self,
        }
    }
}

/// The effect of a unit on columns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UnitEffect {
    LineBreak,
    WhiteSpace(WhiteSpaceRun),
    None,
}

impl UnitEffect {
    /// The effect as a measure counts it.
    pub(crate) fn of(effect: ColumnEffect, measure: IndentationMeasure) -> Self {
        match (effect, measure) {
            (ColumnEffect::LineBreak, _) => Self::LineBreak,
            (ColumnEffect::None, _) => Self::None,
            (ColumnEffect::Tab, IndentationMeasure::Columns { tab_length }) => {
                Self::WhiteSpace(WhiteSpaceRun { effect: ColumnEffect::Space, count: tab_length })
            }
            _ => Self::WhiteSpace(WhiteSpaceRun { effect, count: 1 }),
        }
    }
}

id_type! {
    /// An interned word of white space.
    WhiteSpaceId
}

impl WhiteSpaceId {
    /// No white space.
    pub(crate) const EMPTY: Self = Self(0);
}

/// Interned words of white space. The last run is not followed by another one of its kind, so words of spaces are one run
/// each.
#[derive(Clone, Debug, Default)]
pub(crate) struct WhiteSpaces {
    /// The word before the last run, and the last run, of each word but the empty one.
    words: Vec<(WhiteSpaceId, WhiteSpaceRun)>,
    ids: FxHashMap<(WhiteSpaceId, WhiteSpaceRun), WhiteSpaceId>,
}

impl WhiteSpaces {
    /// A word with more white space at its end.
    pub(crate) fn extended(&mut self, word: WhiteSpaceId, run: WhiteSpaceRun) -> WhiteSpaceId {
        let (before, last) = match word.index().checked_sub(1).map(|index| self.words[index]) {
            Some((before, last)) if last.effect == run.effect => {
                (before, WhiteSpaceRun { count: last.count.saturating_add(run.count), ..last })
            }
            _ => (word, run),
        };
        let words = &mut self.words;
        *self.ids.entry((before, last)).or_insert_with(|| {
            words.push((before, last));
            WhiteSpaceId::new(words.len())
        })
    }

    /// The column after a word.
    pub(crate) fn column_after(&self, column: Column, mut word: WhiteSpaceId) -> Column {
        let mut runs = Vec::new();
        while let Some(index) = word.index().checked_sub(1) {
            let (before, last) = self.words[index];
            runs.push(last);
            word = before;
        }
        runs.into_iter().rev().fold(column, Column::after)
    }

    /// Memory in bytes, estimated.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.words.capacity() * size_of::<(WhiteSpaceId, WhiteSpaceRun)>() + hash_map_bytes(&self.ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(effect: ColumnEffect) -> WhiteSpaceRun {
        WhiteSpaceRun { effect, count: 1 }
    }

    #[test]
    fn words_have_the_effect_of_their_characters() {
        use ColumnEffect::{Continuation, FormFeed, Space, Tab};
        let mut words = WhiteSpaces::default();
        let alphabet = [Space, Tab, FormFeed, Continuation];
        let columns = [
            Column::NoBreak,
            Column::LINE_START,
            Column::Counted(Width { columns: 8, characters: 1 }),
            Column::Counted(Width::of_spaces(7)),
            Column::Continued(Width::of_spaces(0)),
            Column::Continued(Width::of_spaces(3)),
            Column::Fixed(Width::of_spaces(8)),
        ];
        for number in 0..4_usize.pow(6) {
            let effects = (0..6).map(|place| alphabet[number / 4_usize.pow(place) % 4]);
            let runs: Vec<WhiteSpaceRun> = effects.map(run).collect();
            let word = runs.iter().fold(WhiteSpaceId::EMPTY, |word, &run| words.extended(word, run));
            for column in columns {
                let expected = runs.iter().fold(column, |column, &run| column.after(run));
                assert_eq!(words.column_after(column, word), expected, "{column:?} {runs:?}");
            }
        }
    }

    #[test]
    fn equal_sums_are_equal_words() {
        let mut words = WhiteSpaces::default();
        let measure = IndentationMeasure::Columns { tab_length: 2 };
        let [tab, space] =
            [ColumnEffect::Tab, ColumnEffect::Space].map(|effect| match UnitEffect::of(effect, measure) {
                UnitEffect::WhiteSpace(run) => run,
                _ => panic!("white space"),
            });
        let first = words.extended(WhiteSpaceId::EMPTY, tab);
        let one = words.extended(WhiteSpaceId::EMPTY, space);
        assert_eq!(words.extended(one, space), first);
    }
}
