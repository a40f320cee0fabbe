//! Left contexts: the partition of all characters by which the assertions of a pattern distinguish the character before
//! a position.
//!
//! `\b` tests whether the previous character is a word character, a lookbehind whether it is in some class. A pattern
//! uses few such classes; characters that none of them distinguishes form one *atom*. Context 0 is the start of the
//! text, and context `n + 1` follows a character of atom `n`. A pattern without such assertions has one atom. Repeated
//! lookaheads at one character distinguish the next character by the same atoms.

use regex_syntax::hir::ClassUnicode;

use super::ast::{PatternAst, PatternNode, PatternNodeId, Polarity};
use super::classes;
use super::error::PatternError;
use super::translate::MAX_COPIES;
use crate::strings::string_encoding::{CharRange, StringEncoding};
use grammask_automata::{TermId, Terms};

/// Maximum number of atoms. The cost of a repetition is cubic in the number of contexts.
const MAX_ATOMS: usize = 15;

/// A set of contexts or of atoms, as a bitset.
pub(super) type Bits = u32;

/// The contexts of a pattern.
#[derive(Clone, Debug)]
pub(super) struct Contexts {
    atoms: Vec<ClassUnicode>,
    /// The atoms of word characters, if the pattern has a word boundary.
    words: Bits,
    /// Whether the pattern has a word boundary.
    pub(super) has_word_boundary: bool,
    /// Whether the pattern tests for the end of the text.
    pub(super) has_end: bool,
    /// The classes by which repeated lookaheads distinguish the next character.
    next_classes: Vec<ClassUnicode>,
}

impl Contexts {
    /// The contexts that `pattern` distinguishes.
    pub(super) fn of(pattern: &PatternAst) -> Result<Self, PatternError> {
        let mut contexts = Self {
            atoms: vec![classes::all()],
            words: 0,
            has_word_boundary: false,
            has_end: false,
            next_classes: Vec::new(),
        };
        let repeated = repeated_nodes(pattern);
        for id in pattern.ids() {
            match pattern.node(id) {
                PatternNode::WordBoundary(_) => {
                    contexts.has_word_boundary = true;
                    contexts.split(&classes::word());
                }
                PatternNode::End => contexts.has_end = true,
                PatternNode::LookBehind(_, body) => {
                    // Texts are split at longer lookbehinds, which therefore distinguish no contexts.
                    for class in lookbehind_body(pattern, *body).into_iter().flat_map(|body| body.classes) {
                        contexts.split(class);
                    }
                }
                PatternNode::LookAhead(_, body) if repeated[id.index()] => {
                    if let Some(body) = lookahead_body(pattern, *body) {
                        contexts.has_end = true;
                        for class in body.classes {
                            contexts.split(class);
                            contexts.next_classes.push(class.clone());
                        }
                    }
                }
                _ => {}
            }
            if contexts.atoms.len() > MAX_ATOMS {
                let message = "too many different classes in lookaround assertions";
                return Err(PatternError::unsupported(pattern.offset(id), message));
            }
        }
        if contexts.has_word_boundary {
            contexts.words = contexts.atoms_in(&classes::word());
            contexts.next_classes.push(classes::word());
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

    /// The number of contexts.
    pub(super) fn len(&self) -> usize {
        self.atoms.len() + 1
    }

    /// The set of all atoms.
    pub(super) fn all_atoms(&self) -> Bits {
        (1 << self.atoms.len()) - 1
    }

    /// The atoms in groups that no assertion about the next character distinguishes.
    pub(super) fn next_atoms(&self) -> Vec<Bits> {
        let mut groups = vec![self.all_atoms()];
        for class in &self.next_classes {
            let inside = self.atoms_in(class);
            groups = groups.iter().flat_map(|group| [group & inside, group & !inside]).collect();
            groups.retain(|group| *group != 0);
        }
        groups
    }

    /// The atoms of word characters.
    pub(super) fn word_atoms(&self) -> Bits {
        self.words
    }

    /// Whether the context follows a word character.
    pub(super) fn is_after_word(&self, context: usize) -> bool {
        context > 0 && self.words >> (context - 1) & 1 == 1
    }

    /// The atoms that intersect `class`.
    pub(super) fn atoms_in(&self, class: &ClassUnicode) -> Bits {
        let intersects = |atom: &ClassUnicode| !classes::intersection(atom, class).ranges().is_empty();
        self.atoms.iter().enumerate().map(|(index, atom)| Bits::from(intersects(atom)) << index).sum()
    }

    /// The characters of `class` that are in `atoms`.
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
    pub(super) fn lookbehind_contexts(
        &self,
        pattern: &PatternAst,
        polarity: Polarity,
        body: PatternNodeId,
    ) -> Result<Bits, PatternError> {
        let lookbehind = lookbehind_body(pattern, body)
            .ok_or_else(|| PatternError::long_lookbehind(pattern.offset(body)))?;
        let mut holds = Bits::from(lookbehind.has_edge);
        for class in lookbehind.classes {
            holds |= self.atoms_in(class) << 1;
        }
        let all = (1 << self.len()) - 1;
        Ok(if polarity == Polarity::Positive { holds } else { all & !holds })
    }
}

/// For each node whether it is in a repetition that is not unrolled.
fn repeated_nodes(pattern: &PatternAst) -> Vec<bool> {
    let mut repeated = vec![false; pattern.ids().count()];
    // Parents have larger ids than their children.
    for id in (0..repeated.len()).rev().map(PatternNodeId::new) {
        let node = pattern.node(id);
        let is_unrolled =
            !matches!(node, PatternNode::Repeat { max, .. } if max.is_none_or(|max| max > MAX_COPIES));
        if repeated[id.index()] || !is_unrolled {
            node.for_each_child(|child| repeated[child.index()] = true);
        }
    }
    repeated
}

/// The body of a lookaround: an alternation of single characters and an edge of the text.
pub(super) struct LookAroundBody<'p> {
    /// Whether the body matches the edge: the start of the text for a lookbehind, the end for a lookahead.
    pub(super) has_edge: bool,
    pub(super) classes: Vec<&'p ClassUnicode>,
}

/// Reads the body of a lookbehind as an alternation of single characters and the start of the text.
pub(super) fn lookbehind_body(pattern: &PatternAst, body: PatternNodeId) -> Option<LookAroundBody<'_>> {
    lookaround_body(pattern, body, |node| matches!(node, PatternNode::Start))
}

/// Reads the body of a lookahead as an alternation of single characters and the end of the text.
pub(super) fn lookahead_body(pattern: &PatternAst, body: PatternNodeId) -> Option<LookAroundBody<'_>> {
    lookaround_body(pattern, body, |node| matches!(node, PatternNode::End))
}

fn lookaround_body(
    pattern: &PatternAst,
    body: PatternNodeId,
    is_edge: impl Fn(&PatternNode) -> bool,
) -> Option<LookAroundBody<'_>> {
    let mut lookaround = LookAroundBody { has_edge: false, classes: Vec::new() };
    let mut stack = vec![body];
    while let Some(id) = stack.pop() {
        match pattern.node(id) {
            PatternNode::Class(class) => lookaround.classes.push(class),
            PatternNode::Alternation(branches) => stack.extend(branches),
            node if is_edge(node) => lookaround.has_edge = true,
            _ => return None,
        }
    }
    Some(lookaround)
}

/// The encodings of one character of `class`.
pub(super) fn encode_class(terms: &mut Terms, encoding: &mut StringEncoding, class: &ClassUnicode) -> TermId {
    let ranges: Vec<CharRange> = class.iter().map(|range| (range.start(), range.end())).collect();
    encoding.class(terms, &ranges)
}
