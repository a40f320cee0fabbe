//! Translation of a parsed pattern without assertions to a term, in one pass without recursion.

use regex_syntax::hir::{self, Class, Hir, HirKind};
use rustc_hash::FxHashMap;

use crate::{ByteSet, TermId, Terms};

/// Number of literal branches from which an alternation becomes one word list instead of a union.
const MIN_WORD_LIST_LITERALS: usize = 16;

/// Translates the parts of one pattern. Equal character classes are built once.
pub(super) struct HirTranslator<'t> {
    pub(super) terms: &'t mut Terms,
    classes: FxHashMap<Vec<(char, char)>, TermId>,
    stack: Vec<TermId>,
}

impl<'t> HirTranslator<'t> {
    pub(super) fn new(terms: &'t mut Terms) -> Self {
        Self { terms, classes: FxHashMap::default(), stack: Vec::new() }
    }

    /// The language of `hir`, which must not contain assertions.
    pub(super) fn translate(&mut self, hir: &Hir) -> TermId {
        debug_assert!(hir.properties().look_set().is_empty());
        match hir::visit(hir, &mut *self) {
            Ok(()) => self.pop(),
            Err(never) => match never {},
        }
    }

    fn pop(&mut self) -> TermId {
        self.stack.pop().expect("every visited node pushes one term")
    }

    fn pop_many(&mut self, count: usize) -> Vec<TermId> {
        self.stack.split_off(self.stack.len() - count)
    }

    fn class(&mut self, class: &Class) -> TermId {
        match class {
            Class::Bytes(class) => {
                let set = class
                    .iter()
                    .fold(ByteSet::EMPTY, |set, range| set.union(ByteSet::range(range.start(), range.end())));
                self.terms.bytes(set)
            }
            Class::Unicode(class) => {
                let ranges: Vec<(char, char)> =
                    class.iter().map(|range| (range.start(), range.end())).collect();
                if let Some(&known) = self.classes.get(&ranges) {
                    return known;
                }
                let term = self.terms.characters(&ranges);
                self.classes.insert(ranges, term);
                term
            }
        }
    }

    fn alternation(&mut self, branches: &[Hir]) -> TermId {
        let mut parts = self.pop_many(branches.len());
        let words: Vec<&[u8]> = branches.iter().filter_map(literal).collect();
        if words.len() >= MIN_WORD_LIST_LITERALS {
            let mut is_word = branches.iter().map(|branch| literal(branch).is_some());
            parts.retain(|_| !is_word.next().unwrap_or(false));
            parts.push(self.terms.literals(&words));
        }
        self.terms.union(&parts)
    }
}

fn literal(hir: &Hir) -> Option<&[u8]> {
    match hir.kind() {
        HirKind::Literal(literal) => Some(&literal.0),
        _ => None,
    }
}

impl hir::Visitor for &mut HirTranslator<'_> {
    type Output = ();
    type Err = std::convert::Infallible;

    fn finish(self) -> Result<(), Self::Err> {
        Ok(())
    }

    fn visit_post(&mut self, hir: &Hir) -> Result<(), Self::Err> {
        let term = match hir.kind() {
            HirKind::Empty => self.terms.epsilon(),
            HirKind::Literal(literal) => self.terms.literal(&literal.0),
            HirKind::Class(class) => self.class(class),
            HirKind::Look(_) => unreachable!("assertions are translated apart"),
            HirKind::Repetition(repetition) => {
                let part = self.pop();
                self.terms.repeat(part, repetition.min, repetition.max)
            }
            HirKind::Capture(_) => self.pop(),
            HirKind::Concat(parts) => {
                let parts = self.pop_many(parts.len());
                self.terms.concat(&parts)
            }
            HirKind::Alternation(branches) => self.alternation(branches),
        };
        self.stack.push(term);
        Ok(())
    }
}
