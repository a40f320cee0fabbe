//! The characters that decide columns, as they are spelled in the text: line breaks, spaces and tabs.
//!
//! In a plain grammar each of them is one byte. Under an encoding a character has several spellings of several bytes,
//! such as `\n` and `\u000a` in a JSON string. All spellings are a prefix code, so an automaton that returns to its root
//! after each character finds where characters end, and which of them ended.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use grammask_automata::encoding::{CharacterEncoding, TermEncoder};
use grammask_automata::{Automata, StateId, TermId, Terms, regex};
use grammask_diagnostics::{LimitExceeded, Limits};

/// A position inside the spelling of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct UnitState(u16);

impl UnitState {
    /// Between two characters.
    pub(crate) const BOUNDARY: Self = Self(0);
}

/// The effect of a character on the column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnEffect {
    /// The character begins a line.
    LineBreak,
    /// One column.
    Space,
    /// The columns of a tab.
    Tab,
    /// None; or the character is not complete.
    None,
}

/// The effects in the order of the languages that [`ColumnUnits::encoded`] follows.
const EFFECTS: [ColumnEffect; 4] =
    [ColumnEffect::LineBreak, ColumnEffect::Space, ColumnEffect::Tab, ColumnEffect::None];

/// The automaton of characters.
#[derive(Clone, Debug)]
pub(crate) struct ColumnUnits {
    /// By state and byte.
    cells: Vec<(UnitState, ColumnEffect)>,
    line_break: Vec<u8>,
    space: Vec<u8>,
    tab: Vec<u8>,
}

impl ColumnUnits {
    /// The characters of plain texts.
    pub(crate) fn plain() -> Self {
        let effect = |byte: u8| match byte {
            b'\n' => ColumnEffect::LineBreak,
            b' ' => ColumnEffect::Space,
            b'\t' => ColumnEffect::Tab,
            _ => ColumnEffect::None,
        };
        let cells = (0..=u8::MAX).map(|byte| (UnitState::BOUNDARY, effect(byte))).collect();
        Self { cells, line_break: b"\n".to_vec(), space: b" ".to_vec(), tab: b"\t".to_vec() }
    }

    /// The characters under encodings, the innermost first. Cost: the number of states times 256.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn encoded(encodings: &[CharacterEncoding], limits: &Limits) -> Result<Self, LimitExceeded> {
        let mut terms = Terms::new();
        // A line feed before a blank line of an indented block is read together with the next one.
        let languages =
            ["\n+", " ", "\t", "[^\n \t]"].map(|pattern| regex::term(&mut terms, pattern, limits).ok());
        let mut languages: Vec<TermId> = languages.into_iter().flatten().collect();
        for encoding in encodings {
            let mut encoder = TermEncoder::new(encoding.clone(), limits);
            for language in &mut languages {
                *language = encoder.separable_image(&mut terms, *language)?;
            }
        }
        let has_blocks =
            encodings.iter().any(|encoding| matches!(encoding, CharacterEncoding::IndentedBlock(_)));
        let mut automata = Automata::new(terms, limits.automaton_states);
        let root = languages.iter().map(|&term| automata.start(term)).collect::<Result<Vec<_>, _>>()?;
        let mut units =
            Self { cells: Vec::new(), line_break: Vec::new(), space: Vec::new(), tab: Vec::new() };
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
                let word = || word.iter().copied().chain([byte]).collect::<Vec<u8>>();
                let ended =
                    next.iter().position(|state| state.is_some_and(|state| automata.is_accepting(state)));
                if let Some(ended) = ended {
                    units.cells.push((UnitState::BOUNDARY, EFFECTS[ended]));
                    match EFFECTS[ended] {
                        ColumnEffect::LineBreak if units.line_break.is_empty() => units.line_break = word(),
                        ColumnEffect::Space if units.space.is_empty() => units.space = word(),
                        ColumnEffect::Tab if units.tab.is_empty() => units.tab = word(),
                        _ => {}
                    }
                    continue;
                }
                if next.iter().all(Option::is_none) {
                    // No text has this byte here.
                    units.cells.push((UnitState::BOUNDARY, ColumnEffect::None));
                    continue;
                }
                // The line feed before a blank line begins a line too, though its spelling does not end there.
                let is_line_break = has_blocks && next[0].is_some() && next[1..].iter().all(Option::is_none);
                let effect = if is_line_break { ColumnEffect::LineBreak } else { ColumnEffect::None };
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

    /// The maximum number of columns of a character that ends with a byte.
    pub(crate) fn max_columns(&self, byte: u8, tab_length: u32) -> u32 {
        let effects = self.cells.iter().skip(usize::from(byte)).step_by(256).map(|&(_, effect)| effect);
        let columns = effects.map(|effect| match effect {
            ColumnEffect::Space => 1,
            ColumnEffect::Tab => tab_length,
            ColumnEffect::LineBreak | ColumnEffect::None => 0,
        });
        columns.max().unwrap_or(0)
    }

    /// The state after a byte, and the effect of the character that it ends.
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
        let units = ColumnUnits::encoded(std::slice::from_ref(&json), &limits).expect("small");
        assert_eq!(
            effects(&units, "\\n \\u0020\\u000A\\t\\u0009a\\u010aé".as_bytes()),
            [LineBreak, Space, Space, LineBreak, Tab, Tab, None, None, None]
        );
        assert_eq!((units.line_break(), units.space(), units.tab()), (&b"\\n"[..], &b" "[..], &b"\\t"[..]));
        let units = ColumnUnits::encoded(&[json.clone(), json], &limits).expect("small");
        assert_eq!(
            effects(&units, b"\\\\n \\u005cn\\\\\\u0075000a"),
            [LineBreak, Space, LineBreak, LineBreak]
        );
        let prefix = CharacterEncoding::LinePrefix(">  ".into());
        let units = ColumnUnits::encoded(&[prefix], &limits).expect("small");
        assert_eq!(effects(&units, b" \n>   \t"), [Space, LineBreak, Space, Tab]);
        let marked = CharacterEncoding::indented_block("> ").expect("a prefix");
        let units = ColumnUnits::encoded(&[marked], &limits).expect("small");
        let expected = [None, LineBreak, Space, LineBreak, LineBreak, Tab];
        assert_eq!(effects(&units, b"x\n>  \n>\n> \n> \t"), expected);
        let block = CharacterEncoding::indented_block("  ").expect("a prefix");
        let units = ColumnUnits::encoded(&[block], &limits).expect("small");
        assert_eq!(effects(&units, b"x\n   \n\n \n  \t"), [None, LineBreak, Space, LineBreak, Tab]);
        assert_eq!(units.line_break(), b"\n  ");
        let python = CharacterEncoding::PythonString(Quote::Double, Spellings::Any);
        let units = ColumnUnits::encoded(&[python], &limits).expect("small");
        assert_eq!(effects(&units, b"\t\\012\\x20"), [Tab, LineBreak, Space]);
        assert_eq!(effects(&ColumnUnits::plain(), b"a\n \t"), [None, LineBreak, Space, Tab]);
    }

    #[test]
    fn classes_are_split_by_transitions() {
        let mut classes = [0; 256];
        ColumnUnits::plain().refine(&mut classes);
        let count = classes.iter().max().copied();
        assert_eq!(count, Some(3));
        assert!(classes[10] != classes[32] && classes[9] != classes[32] && classes[0] == classes[255]);
    }
}
