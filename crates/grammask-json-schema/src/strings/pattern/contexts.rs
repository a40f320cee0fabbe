//! What an assertion of a pattern can see of the character before it: a partition of all characters.
//!
//! `\b` asks whether the character before is a word character, a lookbehind whether it is of some class. A
//! pattern uses few such classes, and characters that none of them tells apart are one *atom*. Context 0 is the
//! start of the text, context `n + 1` is "after a character of atom `n`". A pattern without such assertions has
//! one atom.

use regex_syntax::hir::ClassUnicode;

use super::ast::{Node, NodeId, Pattern, Sense};
use super::classes;
use super::error::PatternError;
use crate::strings::string_encoding::{CharRange, Spelling};
use grammask_automata::{TermId, Terms};

/// Most atoms.
const MOST_ATOMS: usize = 15;

/// A set of contexts or of atoms: one bit for each.
pub(super) type Bits = u32;

/// The contexts of a pattern.
#[derive(Clone, Debug)]
pub(super) struct Contexts {
    atoms: Vec<ClassUnicode>,
    /// The atoms of word characters, if the pattern asks for them.
    words: Bits,
    /// Whether the pattern asks for word characters.
    pub(super) has_word_boundary: bool,
    /// Whether the pattern asks for the end of the text.
    pub(super) has_end: bool,
}

impl Contexts {
    /// The contexts that `pattern` tells apart.
    pub(super) fn of(pattern: &Pattern) -> Result<Self, PatternError> {
        let mut contexts =
            Self { atoms: vec![classes::all()], words: 0, has_word_boundary: false, has_end: false };
        for id in pattern.ids() {
            match pattern.node(id) {
                Node::WordBoundary(_) => {
                    contexts.has_word_boundary = true;
                    contexts.split(&classes::word());
                }
                Node::End => contexts.has_end = true,
                Node::LookBehind(_, body) => {
                    for class in behind(pattern, *body)?.classes {
                        contexts.split(class);
                    }
                }
                _ => {}
            }
            if contexts.atoms.len() > MOST_ATOMS {
                let message = "too many different classes in lookbehind assertions";
                return Err(PatternError::unsupported(pattern.offset(id), message));
            }
        }
        if contexts.has_word_boundary {
            contexts.words = contexts.atoms_in(&classes::word());
        }
        Ok(contexts)
    }

    fn split(&mut self, class: &ClassUnicode) {
        let outside = classes::complement(class.clone());
        self.atoms = self
            .atoms
            .iter()
            .flat_map(|atom| [classes::intersection(atom, class), classes::intersection(atom, &outside)])
            .filter(|atom| !atom.ranges().is_empty())
            .collect();
    }

    /// How many contexts there are.
    pub(super) fn len(&self) -> usize {
        self.atoms.len() + 1
    }

    /// The set of all atoms.
    pub(super) fn all_atoms(&self) -> Bits {
        (1 << self.atoms.len()) - 1
    }

    /// The atoms of word characters.
    pub(super) fn word_atoms(&self) -> Bits {
        self.words
    }

    /// Whether a word character is before.
    pub(super) fn is_after_word(&self, context: usize) -> bool {
        context > 0 && self.words >> (context - 1) & 1 == 1
    }

    /// The atoms that have characters of `class`.
    pub(super) fn atoms_in(&self, class: &ClassUnicode) -> Bits {
        let meets = |atom: &ClassUnicode| !classes::intersection(atom, class).ranges().is_empty();
        self.atoms.iter().enumerate().map(|(index, atom)| Bits::from(meets(atom)) << index).sum()
    }

    /// The characters of some atoms that are in `class`.
    pub(super) fn part(&self, class: &ClassUnicode, atoms: Bits) -> ClassUnicode {
        if atoms == self.all_atoms() {
            return class.clone();
        }
        let mut part = ClassUnicode::empty();
        for (index, atom) in self.atoms.iter().enumerate() {
            if atoms >> index & 1 == 1 {
                part.union(&classes::intersection(atom, class));
            }
        }
        part
    }

    /// The contexts in which a lookbehind holds.
    pub(super) fn behind(&self, pattern: &Pattern, sense: Sense, body: NodeId) -> Result<Bits, PatternError> {
        let behind = behind(pattern, body)?;
        let mut holds = behind.start;
        for class in behind.classes {
            holds |= self.atoms_in(class) << 1;
        }
        let all = (1 << self.len()) - 1;
        Ok(if sense == Sense::Positive { holds } else { all & !holds })
    }
}

/// What a lookbehind asks for.
struct Behind<'p> {
    /// The set of the start of the text, or no context.
    start: Bits,
    classes: Vec<&'p ClassUnicode>,
}

/// The body of a lookbehind as one character of some classes, or the start of the text.
fn behind(pattern: &Pattern, body: NodeId) -> Result<Behind<'_>, PatternError> {
    let mut behind = Behind { start: 0, classes: Vec::new() };
    let mut stack = vec![body];
    while let Some(id) = stack.pop() {
        match pattern.node(id) {
            Node::Class(class) => behind.classes.push(class),
            Node::Start => behind.start |= 1,
            Node::Alternation(branches) => stack.extend(branches),
            _ => {
                let message = "lookbehind over more than one character is not supported";
                return Err(PatternError::unsupported(pattern.offset(id), message));
            }
        }
    }
    Ok(behind)
}

/// The spellings of one character of `class`.
pub(super) fn spelled(terms: &mut Terms, spelling: &mut Spelling, class: &ClassUnicode) -> TermId {
    let ranges: Vec<CharRange> = class.iter().map(|range| (range.start(), range.end())).collect();
    spelling.class(terms, &ranges)
}
