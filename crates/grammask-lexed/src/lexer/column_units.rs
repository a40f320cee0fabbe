//! The characters that decide columns, as they are spelled in the text: line breaks, white space, and in Python also
//! comments and continued lines.
//!
//! In a plain grammar most of them are one byte. Under an encoding a character has several spellings of several bytes,
//! such as `\n` and `\u000a` in a JSON string. All spellings are a prefix code, so an automaton that returns to its root
//! after each unit finds where units end, and which of them ended.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::definition::source::IndentationMeasure;
use grammask_automata::encoding::{CharacterEncoding, TermEncoder};
use grammask_automata::{Automata, StateId, TermId, Terms, regex};
use grammask_diagnostics::{LimitExceeded, Limits};

/// A position inside the spelling of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct UnitState(u16);

impl UnitState {
    /// Between two units.
    pub(crate) const BOUNDARY: Self = Self(0);
}

/// The effect of a unit on the column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ColumnEffect {
    /// A line begins.
    LineBreak,
    /// One column.
    Space,
    /// The columns of a tab.
    Tab,
    /// A form feed, after which the columns of the line count from 0.
    FormFeed,
    /// A backslash and a line break: the next line continues this one.
    Continuation,
    /// None; or the unit is not complete.
    None,
}

/// The automaton of units.
#[derive(Clone, Debug, Default)]
pub(crate) struct ColumnUnits {
    /// By state and byte.
    cells: Vec<(UnitState, ColumnEffect)>,
    line_break: Vec<u8>,
    space: Vec<u8>,
    tab: Vec<u8>,
    /// Shortest spellings of the other units with an effect, if there are any.
    form_feed: Vec<u8>,
    continuation: Vec<u8>,
}

/// The patterns of the units of a measure, with their effects. A line feed before a blank line of an indented block is read
/// together with the next one.
fn units_of(measure: IndentationMeasure) -> Vec<(&'static str, ColumnEffect)> {
    match measure {
        IndentationMeasure::Columns { .. } => vec![
            ("\n+", ColumnEffect::LineBreak),
            (" ", ColumnEffect::Space),
            ("\t", ColumnEffect::Tab),
            ("[^\n \t]", ColumnEffect::None),
        ],
        IndentationMeasure::Python => vec![
            ("(#[^\n]*)?\n+|\\\\\r?\n\n+", ColumnEffect::LineBreak),
            ("\\\\\r?\n", ColumnEffect::Continuation),
            (" ", ColumnEffect::Space),
            ("\t", ColumnEffect::Tab),
            ("\x0c", ColumnEffect::FormFeed),
            ("[^\n \t\x0c#\\\\]", ColumnEffect::None),
        ],
    }
}

impl ColumnUnits {
    /// The units of a measure under encodings, the innermost first. Cost: the number of states times 256.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn new(
        measure: IndentationMeasure,
        encodings: &[CharacterEncoding],
        limits: &Limits,
    ) -> Result<Self, LimitExceeded> {
        let mut terms = Terms::new();
        // In plain texts each byte of another character has no effect by itself.
        let units = units_of(measure).into_iter();
        let units = units.filter(|&(_, effect)| !encodings.is_empty() || effect != ColumnEffect::None);
        let (mut separable, mut effects): (Vec<TermId>, Vec<ColumnEffect>) = units
            .filter_map(|(pattern, effect)| Some((regex::term(&mut terms, pattern, limits).ok()?, effect)))
            .unzip();
        let mut complete = separable.clone();
        for encoding in encodings {
            let mut encoder = TermEncoder::new(encoding.clone(), limits);
            for language in &mut separable {
                *language = encoder.separable_image(&mut terms, *language)?;
            }
            for language in &mut complete {
                *language = encoder.image(&mut terms, *language)?;
            }
        }
        let unit_count = separable.len();
        // In an indented block a unit may be complete before its spelling ends, and has its effect from then on.
        if complete != separable {
            effects.extend_from_within(..);
            separable.extend(complete);
        }
        let mut automata = Automata::new(terms, limits.automaton_states);
        let root = separable.iter().map(|&term| automata.start(term)).collect::<Result<Vec<_>, _>>()?;
        let mut units = Self::default();
        let mut ids: FxHashMap<Vec<Option<StateId>>, UnitState> =
            FxHashMap::from_iter([(root.clone(), UnitState::BOUNDARY)]);
        // Breadth first, so the first spelling that is found is a shortest one.
        let mut queue = VecDeque::from([(root, Vec::new())]);
        while let Some((states, word)) = queue.pop_front() {
            for byte in 0..=u8::MAX {
                let mut next = Vec::with_capacity(states.len());
                for state in &states {
                    next.push(match *state {
                        Some(state) => automata.step(state, byte)?,
                        None => None,
                    });
                }
                let accepting =
                    next.iter().position(|state| state.is_some_and(|state| automata.is_accepting(state)));
                let effect = accepting.map_or(ColumnEffect::None, |accepting| effects[accepting]);
                let word = || word.iter().copied().chain([byte]).collect::<Vec<u8>>();
                if accepting.is_some_and(|accepting| accepting < unit_count) {
                    units.cells.push((UnitState::BOUNDARY, effect));
                    units.note_spelling(effect, word);
                    continue;
                }
                if next.iter().all(Option::is_none) {
                    // No text has this byte here.
                    units.cells.push((UnitState::BOUNDARY, ColumnEffect::None));
                    continue;
                }
                let id = match ids.get(&next) {
                    Some(&id) => id,
                    None => {
                        let id = u16::try_from(ids.len())
                            .map(UnitState)
                            .map_err(|_| LimitExceeded::new("automaton_states", usize::from(u16::MAX)))?;
                        ids.insert(next.clone(), id);
                        queue.push_back((next, word()));
                        id
                    }
                };
                units.cells.push((id, effect));
            }
        }
        Ok(units)
    }

    /// Keeps the first spelling of each unit that decides columns.
    fn note_spelling(&mut self, effect: ColumnEffect, word: impl Fn() -> Vec<u8>) {
        let spelling = match effect {
            ColumnEffect::LineBreak => &mut self.line_break,
            ColumnEffect::Space => &mut self.space,
            ColumnEffect::Tab => &mut self.tab,
            ColumnEffect::FormFeed => &mut self.form_feed,
            ColumnEffect::Continuation => &mut self.continuation,
            ColumnEffect::None => return,
        };
        if spelling.is_empty() {
            *spelling = word();
        }
    }

    /// The maximum number of columns of a unit that ends with a byte.
    pub(crate) fn max_columns(&self, byte: u8, tab_length: u32) -> u32 {
        let effects = self.cells.iter().skip(usize::from(byte)).step_by(256).map(|&(_, effect)| effect);
        let columns = effects.map(|effect| match effect {
            ColumnEffect::Space => 1,
            ColumnEffect::Tab => tab_length,
            _ => 0,
        });
        columns.max().unwrap_or(0)
    }

    /// The state after a byte, and the effect of the unit that it ends.
    #[inline]
    pub(crate) fn step(&self, state: UnitState, byte: u8) -> (UnitState, ColumnEffect) {
        self.cells[usize::from(state.0) * 256 + usize::from(byte)]
    }

    /// A shortest spelling of a line break.
    pub(crate) fn line_break(&self) -> &[u8] {
        &self.line_break
    }

    /// A shortest spelling of a space.
    pub(crate) fn space(&self) -> &[u8] {
        &self.space
    }

    /// A shortest spelling of a tab.
    pub(crate) fn tab(&self) -> &[u8] {
        &self.tab
    }

    /// The shortest spellings of the units that white space at the beginning of a line consists of.
    pub(crate) fn white_space(&self) -> impl Iterator<Item = &[u8]> {
        let spellings = [&self.space, &self.tab, &self.form_feed, &self.continuation];
        spellings.into_iter().filter(|spelling| !spelling.is_empty()).map(|spelling| &spelling[..])
    }

    /// Splits byte classes whose bytes do not have the same transitions. Classes keep their numbers where possible.
    pub(crate) fn refine(&self, class_of_byte: &mut [u8; 256]) {
        let states = self.cells.len() / 256;
        let signature = |byte: usize| (0..states).map(move |state| self.cells[state * 256 + byte]);
        let mut representatives: Vec<(u8, usize)> = Vec::new();
        let mut count = class_of_byte.iter().max().map_or(0, |&max| usize::from(max) + 1);
        let old = *class_of_byte;
        for byte in 0..256 {
            let same = representatives
                .iter()
                .find(|&&(_, other)| old[other] == old[byte] && signature(other).eq(signature(byte)));
            if let Some(&(class, _)) = same {
                class_of_byte[byte] = class;
                continue;
            }
            let is_first = !representatives.iter().any(|&(_, other)| old[other] == old[byte]);
            let class = if is_first {
                old[byte]
            } else {
                count += 1;
                // There are at most 256 classes, one per byte.
                (count - 1) as u8
            };
            class_of_byte[byte] = class;
            representatives.push((class, byte));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use grammask_automata::encoding::{JsonEscapes, Quote, Spellings};

    const COLUMNS: IndentationMeasure = IndentationMeasure::Columns { tab_length: 8 };

    fn effects(units: &ColumnUnits, text: &[u8]) -> Vec<ColumnEffect> {
        let mut state = UnitState::BOUNDARY;
        let mut effects = Vec::new();
        for &byte in text {
            let (next, effect) = units.step(state, byte);
            state = next;
            if state == UnitState::BOUNDARY {
                effects.push(effect);
            }
        }
        effects
    }

    #[test]
    fn characters_are_found_in_every_spelling() {
        use ColumnEffect::{LineBreak, None, Space, Tab};
        let json = CharacterEncoding::JsonString(JsonEscapes::Any);
        let limits = Limits::default();
        let units = ColumnUnits::new(COLUMNS, std::slice::from_ref(&json), &limits).expect("small");
        assert_eq!(
            effects(&units, "\\n \\u0020\\u000A\\t\\u0009a\\u010aé".as_bytes()),
            [LineBreak, Space, Space, LineBreak, Tab, Tab, None, None, None]
        );
        assert_eq!((units.line_break(), units.space(), units.tab()), (&b"\\n"[..], &b" "[..], &b"\\t"[..]));
        let units = ColumnUnits::new(COLUMNS, &[json.clone(), json], &limits).expect("small");
        assert_eq!(
            effects(&units, b"\\\\n \\u005cn\\\\\\u0075000a"),
            [LineBreak, Space, LineBreak, LineBreak]
        );
        let prefix = CharacterEncoding::LinePrefix(">  ".into());
        let units = ColumnUnits::new(COLUMNS, &[prefix], &limits).expect("small");
        assert_eq!(effects(&units, b" \n>   \t"), [Space, LineBreak, Space, Tab]);
        let marked = CharacterEncoding::indented_block("> ").expect("a prefix");
        let units = ColumnUnits::new(COLUMNS, &[marked], &limits).expect("small");
        let expected = [None, LineBreak, Space, LineBreak, LineBreak, Tab];
        assert_eq!(effects(&units, b"x\n>  \n>\n> \n> \t"), expected);
        let block = CharacterEncoding::indented_block("  ").expect("a prefix");
        let units = ColumnUnits::new(COLUMNS, &[block], &limits).expect("small");
        assert_eq!(effects(&units, b"x\n   \n\n \n  \t"), [None, LineBreak, Space, LineBreak, Tab]);
        assert_eq!(units.line_break(), b"\n  ");
        let python = CharacterEncoding::PythonString(Quote::Double, Spellings::Any);
        let units = ColumnUnits::new(COLUMNS, &[python], &limits).expect("small");
        assert_eq!(effects(&units, b"\t\\012\\x20"), [Tab, LineBreak, Space]);
        let units = ColumnUnits::new(COLUMNS, &[], &limits).expect("small");
        assert_eq!(effects(&units, b"a\n \t"), [None, LineBreak, Space, Tab]);
    }

    #[test]
    fn units_of_python_have_comments_and_continued_lines() {
        use ColumnEffect::{Continuation, FormFeed, LineBreak, None, Space, Tab};
        let limits = Limits::default();
        let units = ColumnUnits::new(IndentationMeasure::Python, &[], &limits).expect("small");
        let expected = [LineBreak, Continuation, FormFeed, LineBreak, Space, Continuation, LineBreak, Tab];
        assert_eq!(effects(&units, b"\n\\\n\x0c# \t\\\n \\\r\n\n\t"), expected);
        let json = CharacterEncoding::JsonString(JsonEscapes::Any);
        let units = ColumnUnits::new(IndentationMeasure::Python, &[json], &limits).expect("small");
        assert_eq!(effects(&units, b"\\\\\\n#\\\\\\u000a\\f"), [Continuation, LineBreak, FormFeed]);
        // A line may be blank in an indented block, so the spelling of a line feed ends before the next character.
        let block = CharacterEncoding::indented_block("  ").expect("a prefix");
        let units = ColumnUnits::new(IndentationMeasure::Python, &[block], &limits).expect("small");
        assert_eq!(effects(&units, b"\\\n  \\\n\n  x#\\\n  "), [Continuation, LineBreak, None, LineBreak]);
        let mut state = UnitState::BOUNDARY;
        let found: Vec<ColumnEffect> = b"#\\\n"
            .iter()
            .map(|&byte| {
                let (next, effect) = units.step(state, byte);
                state = next;
                effect
            })
            .collect();
        assert_eq!(found, [None, None, LineBreak], "the line is complete before the next one begins");
    }

    #[test]
    fn classes_are_split_by_transitions() {
        let mut classes = [0; 256];
        ColumnUnits::new(COLUMNS, &[], &Limits::default()).expect("small").refine(&mut classes);
        let count = classes.iter().max().copied();
        assert_eq!(count, Some(3));
        assert!(classes[10] != classes[32] && classes[9] != classes[32] && classes[0] == classes[255]);
    }
}
