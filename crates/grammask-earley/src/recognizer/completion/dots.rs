//! The shortest text from each dot to the end of its production.

use rustc_hash::FxHashMap;

use crate::lowering::{DotId, NormalForm, RightHandSide, SelectionNext};

use super::shortest::{Length, Shortest};
use super::symbols::{SelectionSymbols, ShortestTexts};

/// The shortest texts at a dot.
#[derive(Clone, Copy, Debug)]
pub(super) struct DotTexts {
    /// From the dot to the end of the production.
    pub(super) from: Shortest,
    /// After the symbol after the dot, to the end of the production.
    pub(super) after_symbol: Length,
}

/// The memo table of [`DotReader`].
#[derive(Debug, Default)]
pub(super) struct DotMemo(FxHashMap<DotId, DotTexts>);

/// The shortest texts at the dots of a grammar, memoised except in repetitions, where they are a product.
pub(super) struct DotReader<'a> {
    pub(super) form: &'a NormalForm,
    pub(super) texts: &'a ShortestTexts,
    pub(super) memo: &'a mut DotMemo,
}

impl DotReader<'_> {
    /// The shortest texts at a dot. Amortised cost: constant, and in selections that of a step.
    pub(super) fn get(&mut self, dot: DotId) -> DotTexts {
        let Self { form, texts, memo: DotMemo(memo) } = self;
        if let Some(&known) = memo.get(&dot) {
            return known;
        }
        let production = form.production_of(dot);
        // Dots of selections are numbered independently of their production's.
        let read = dot.0.saturating_sub(production.first_dot.0);
        match &production.rhs {
            RightHandSide::Sequence(symbols) => {
                let mut after_symbol = Length::ZERO;
                let mut known = DotTexts { from: Shortest::NONE, after_symbol };
                for (position, &symbol) in symbols.iter().enumerate().skip(read as usize).rev() {
                    known = DotTexts { from: texts.of(symbol).then(after_symbol), after_symbol };
                    // There are fewer than 2^32 dots.
                    memo.insert(DotId(production.first_dot.0 + position as u32), known);
                    after_symbol = known.from.length;
                }
                known
            }
            RightHandSide::Value { symbol, condition } => {
                DotTexts { from: texts.of_value(*symbol, condition), after_symbol: Length::ZERO }
            }
            RightHandSide::Scope(symbol) => {
                // A scope is complete at its second dot, from which no step leads on.
                let from = if read == 0 { texts.of(*symbol) } else { Shortest::EMPTY };
                DotTexts { from, after_symbol: Length::ZERO }
            }
            RightHandSide::Repeat { symbol, min, .. } => {
                let text = texts.of(*symbol);
                let after_symbol = text.length.times(min.saturating_sub(read.saturating_add(1)));
                DotTexts { from: text.then(after_symbol), after_symbol }
            }
            RightHandSide::Selection { selection, parts, separator } => {
                let symbols = SelectionSymbols { selection, parts, separator: *separator };
                let known = match form.selection_next(dot) {
                    SelectionNext::Part(part, after) => {
                        let after_symbol = texts.after_part(symbols, &after);
                        DotTexts { from: texts.of(parts[part.index()]).then(after_symbol), after_symbol }
                    }
                    SelectionNext::Separator(state) => {
                        let after_symbol = texts.of_parts(symbols, &state).length;
                        DotTexts { from: texts.of(*separator).then(after_symbol), after_symbol }
                    }
                    SelectionNext::AnyPart(state) => {
                        let from = texts.of_parts(symbols, &state);
                        DotTexts { from, after_symbol: Length::INFINITE }
                    }
                };
                memo.insert(dot, known);
                known
            }
        }
    }
}

impl DotMemo {
    /// Estimated memory in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.0.capacity() * (size_of::<(DotId, DotTexts)>() + 1)
    }
}
