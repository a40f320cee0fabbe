//! The inverse image of a table: between its states, transitions on characters become trees of spellings.
//!
//! The transitions of a state on characters beyond ASCII are read off the table byte by byte, as ranges of code points.
//! A table whose words are not all valid UTF-8 has states inside characters. Only literal bytes lead there: an escape
//! spells a whole character, and the part of a character represents itself.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::encoding::CharacterEncoding;
use crate::encoding::spelling_trees::{CharTransition, LiteralSpellings, SpellingTrees, push_transition};
use crate::{Table, TableBuilder, TableState};
use grammask_diagnostics::{Deadline, LimitExceeded};

/// A range of code points with a common next state.
#[derive(Clone, Copy, Debug)]
struct CodeRange {
    first: u32,
    last: u32,
    target: TableState,
}

/// The ranges of the continuation bytes of a character, relative to the first code point with these lead bytes.
type RangesByState = FxHashMap<(TableState, u32), Rc<[CodeRange]>>;

/// Whether all words of a state of a table are valid UTF-8.
pub(super) fn is_text(table: &Table, start: TableState) -> bool {
    let mut seen = vec![(start, Utf8State::BOUNDARY)];
    let mut known: rustc_hash::FxHashSet<(TableState, Utf8State)> = seen.iter().copied().collect();
    while let Some((state, inside)) = seen.pop() {
        if table.is_accepting(state) && inside != Utf8State::BOUNDARY {
            return false;
        }
        for (low, high, target) in table.edges(state) {
            let mut low = low;
            loop {
                let Some((last, next)) = inside.next(low) else { return false };
                if known.insert((target, next)) {
                    seen.push((target, next));
                }
                if last >= high {
                    break;
                }
                low = last + 1;
            }
        }
    }
    true
}

/// A state of the automaton of valid UTF-8 (RFC 3629, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Utf8State {
    /// The range of the next byte.
    next: (u8, u8),
    /// The number of continuation bytes after the next byte; `None` between characters.
    more: Option<u8>,
}

impl Utf8State {
    const BOUNDARY: Self = Self { next: (0, 0xff), more: None };

    /// The state after a byte, and the last byte of the range around it with the same next state.
    fn next(self, byte: u8) -> Option<(u8, Self)> {
        let inside = |next, more| Self { next, more: Some(more) };
        let any = (0x80, 0xbf);
        match self.more {
            None => match byte {
                0..=0x7f => Some((0x7f, Self::BOUNDARY)),
                0xc2..=0xdf => Some((0xdf, inside(any, 0))),
                0xe0 => Some((0xe0, inside((0xa0, 0xbf), 1))),
                0xe1..=0xec => Some((0xec, inside(any, 1))),
                0xed => Some((0xed, inside((0x80, 0x9f), 1))),
                0xee..=0xef => Some((0xef, inside(any, 1))),
                0xf0 => Some((0xf0, inside((0x90, 0xbf), 2))),
                0xf1..=0xf3 => Some((0xf3, inside(any, 2))),
                0xf4 => Some((0xf4, inside((0x80, 0x8f), 2))),
                _ => None,
            },
            Some(_) if byte < self.next.0 || byte > self.next.1 => None,
            Some(0) => Some((self.next.1, Self::BOUNDARY)),
            Some(more) => Some((self.next.1, inside(any, more - 1))),
        }
    }
}

impl SpellingTrees {
    /// The inverse image of the language of a state of a table. Cost: linear in the number of transitions between the
    /// states, times the digits of a spelling.
    pub(super) fn table_image(
        &mut self,
        encoding: &CharacterEncoding,
        table: &Table,
        start: TableState,
        deadline: &Deadline,
    ) -> Result<Table, LimitExceeded> {
        let literals = match is_text(table, start) {
            true => LiteralSpellings::WholeCharacters,
            false => LiteralSpellings::BytesByCaller,
        };
        let mut builder = TableBuilder::new();
        let first = builder.add_state();
        let mut states: FxHashMap<TableState, TableState> = FxHashMap::from_iter([(start, first)]);
        let mut roots = Vec::new();
        let mut ranges_by_state = RangesByState::default();
        let mut stack = vec![start];
        while let Some(state) = stack.pop() {
            deadline.check()?;
            let mut ranges: Vec<CodeRange> = Vec::new();
            for (low, high, target) in table.edges(state).filter(|&(low, _, _)| low < 0x80) {
                let last = high.min(0x7f);
                push_range(&mut ranges, CodeRange { first: low.into(), last: last.into(), target });
            }
            for (lead, first_code, continuations) in LEADS {
                for lead in lead {
                    let Some(next) = table.next(state, lead) else { continue };
                    let span = 1 << (6 * continuations);
                    let base = u32::from(lead & LEAD_BITS[continuations as usize]) * span;
                    let inside = ranges_after(table, next, continuations, &mut ranges_by_state);
                    for range in inside.iter() {
                        // Overlong forms are no characters.
                        let first = (base + range.first).max(first_code);
                        let last = (base + range.last).min(0x10_ffff);
                        if first <= last {
                            push_range(&mut ranges, CodeRange { first, last, target: range.target });
                        }
                    }
                }
            }
            let transitions: Vec<CharTransition> = ranges
                .iter()
                .map(|range| CharTransition {
                    first: range.first,
                    last: range.last,
                    target: self.exit(range.target),
                })
                .collect();
            let mut targets: Vec<TableState> = ranges.iter().map(|range| range.target).collect();
            let mut edges = self.character_edges(encoding, literals, &transitions);
            if literals == LiteralSpellings::BytesByCaller {
                for (low, high, target) in table.edges(state).filter(|&(_, high, _)| high >= 0x80) {
                    targets.push(target);
                    let exit = self.exit(target);
                    push_transition(&mut edges, low.max(0x80), high, exit);
                }
            }
            let root = self.intern(table.is_accepting(state), edges);
            roots.push((root, states[&state]));
            for target in targets {
                states.entry(target).or_insert_with(|| {
                    stack.push(target);
                    builder.add_state()
                });
            }
        }
        self.build(&mut builder, &states, &roots);
        Ok(builder.finish(first))
    }
}

/// The lead bytes of UTF-8, with the first code point of that length and the number of continuation bytes.
const LEADS: [(std::ops::RangeInclusive<u8>, u32, u32); 3] =
    [(0xc2..=0xdf, 0x80, 1), (0xe0..=0xef, 0x800, 2), (0xf0..=0xf4, 0x1_0000, 3)];

/// The bits of a lead byte that belong to the code point, by the number of continuation bytes.
const LEAD_BITS: [u8; 4] = [0, 0x1f, 0x0f, 0x07];

/// The ranges of code points that `continuations` continuation bytes spell, relative to the first one. The recursion is
/// at most three deep.
fn ranges_after(
    table: &Table,
    state: TableState,
    continuations: u32,
    known: &mut RangesByState,
) -> Rc<[CodeRange]> {
    if let Some(ranges) = known.get(&(state, continuations)) {
        return ranges.clone();
    }
    let mut ranges = Vec::new();
    for (low, high, target) in table.edges(state) {
        let (low, high) = (low.max(0x80), high.min(0xbf));
        for byte in low..=high {
            let digit = u32::from(byte - 0x80);
            if continuations == 1 {
                push_range(&mut ranges, CodeRange { first: digit, last: digit, target });
                continue;
            }
            let span = 1 << (6 * (continuations - 1));
            for range in ranges_after(table, target, continuations - 1, known).iter() {
                let (first, last) = (digit * span + range.first, digit * span + range.last);
                push_range(&mut ranges, CodeRange { first, last, target: range.target });
            }
        }
    }
    let ranges: Rc<[CodeRange]> = ranges.into();
    known.insert((state, continuations), ranges.clone());
    ranges
}

fn push_range(ranges: &mut Vec<CodeRange>, range: CodeRange) {
    match ranges.last_mut() {
        Some(before) if before.target == range.target && before.last + 1 == range.first => {
            before.last = range.last;
        }
        _ => ranges.push(range),
    }
}
