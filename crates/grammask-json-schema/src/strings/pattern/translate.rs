//! Translation of patterns from right to left: the language of a node followed by the remainder of the text.
//!
//! An assertion constrains the whole text, not the part that a node matches. A node is therefore translated together
//! with the *suffix languages* of the position after it: for each left context (see [`super::contexts`]) the language
//! of the text from there to the end. A character class is prepended to the suffix of the context that its character
//! creates; `^` retains the suffix of the start context only; `$` retains the empty text; a lookahead intersects the
//! suffix with the language of its body. Nodes without assertions are plain terms. Where the suffixes of all contexts
//! are equal, the term is prepended unchanged, so a pattern whose only assertions are at its ends needs no set
//! operation.
//!
//! A suffix that admits any continuation is represented as all byte strings, which absorb the terms before them. The
//! result is then intersected with the universe, so after a match the residual is the universe itself.

use crate::strings::lengths::LengthRange;
use crate::strings::string_encoding::StringEncoding;
use grammask_automata::{TermId, Terms};

use super::assertion_free::AssertionFree;
use super::ast::{PatternAst, PatternNode, PatternNodeId, Polarity};
use super::contexts::{Bits, Contexts, encode_class, lookahead_body};
use super::error::PatternError;
use super::tempered::TemperedRepeat;
use super::{classes, matrix};

/// Maximum steps of work for one pattern.
const MAX_WORK: usize = 2_000_000;

/// Maximum number of copies into which the repetition of a node with assertions is unrolled.
pub(super) const MAX_COPIES: u32 = 1000;

/// The texts that may follow a position, up to the end of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SuffixLanguage {
    pub(super) term: TermId,
    /// Whether all elements are encoded texts. If not, the result has to be intersected with the universe.
    pub(super) closed: bool,
}

/// The suffix language for each context.
pub(super) type SuffixLanguages = Vec<SuffixLanguage>;

/// Properties of any node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NodeTraits {
    zero_width: bool,
    has_lookahead: bool,
    /// Whether the node has a lookahead over more than one character.
    has_long_lookahead: bool,
    /// Whether the node has an assertion about the text after a position.
    pub(super) looks_right: bool,
    /// Whether the node has a lookbehind over more than one character.
    pub(super) has_long_lookbehind: bool,
}

/// An entry of the translation agenda. Entries pop operands from the value stack and push one result.
pub(super) enum TranslationTask {
    /// Replaces the suffixes on top with those of the position before the node.
    Translate(PatternNodeId),
    Push(SuffixLanguages),
    /// Replaces this number of values with their union.
    Unite(usize),
    /// Unites the value on top with this one.
    UniteWith(SuffixLanguages),
    /// Intersects these suffixes with the lookahead whose language is on top.
    ApplyLookAhead(Polarity, SuffixLanguages),
    /// Repeats one character with lookaheads around it, whose languages are on top, in order.
    RepeatTempered(TemperedRepeat, SuffixLanguages),
}

pub(super) struct PatternTranslator<'a> {
    pub(super) terms: &'a mut Terms,
    pub(super) encoding: &'a mut StringEncoding,
    pub(super) pattern: &'a PatternAst,
    pub(super) contexts: Contexts,
    pub(super) assertion_free: Vec<Option<AssertionFree>>,
    traits: Vec<NodeTraits>,
    remaining_work: usize,
}

/// The texts that the pattern matches from start to end.
pub(super) fn full_match(
    terms: &mut Terms,
    encoding: &mut StringEncoding,
    pattern: &PatternAst,
) -> Result<TermId, PatternError> {
    let mut translator = PatternTranslator::new(terms, encoding, pattern)?;
    let end = SuffixLanguage { term: translator.terms.epsilon(), closed: true };
    let texts = translator.texts_of_pattern(vec![end; translator.contexts.len()], false)?;
    let term = translator.within_texts(texts);
    if let Some(sequence) = translator.sequence() {
        encoding.pieces.insert(term, sequence.pieces);
    }
    Ok(term)
}

/// The texts that contain a match of the pattern.
pub(super) fn search(
    terms: &mut Terms,
    encoding: &mut StringEncoding,
    pattern: &PatternAst,
) -> Result<TermId, PatternError> {
    let mut translator = PatternTranslator::new(terms, encoding, pattern)?;
    if let Some(term) = translator.simple_search() {
        return Ok(term);
    }
    let open = translator.any_text();
    let found = translator.texts_of_pattern(vec![open; translator.contexts.len()], true)?;
    Ok(translator.within_texts(found))
}

impl<'a> PatternTranslator<'a> {
    fn new(
        terms: &'a mut Terms,
        encoding: &'a mut StringEncoding,
        pattern: &'a PatternAst,
    ) -> Result<Self, PatternError> {
        let contexts = Contexts::of(pattern)?;
        let (assertion_free, traits) = (Vec::new(), Vec::new());
        let mut translator =
            Self { terms, encoding, pattern, contexts, assertion_free, traits, remaining_work: MAX_WORK };
        for id in pattern.ids() {
            translator.spend(id, 1)?;
            let assertion_free = translator.assertion_free_of(id);
            translator.assertion_free.push(assertion_free);
            let traits = translator.traits_of(id);
            translator.traits.push(traits);
        }
        Ok(translator)
    }

    /// Charges `steps` against the work limit.
    pub(super) fn spend(&mut self, id: PatternNodeId, steps: usize) -> Result<(), PatternError> {
        match self.remaining_work.checked_sub(steps) {
            Some(left) => {
                self.remaining_work = left;
                Ok(())
            }
            None => Err(PatternError::too_large(self.pattern.offset(id))),
        }
    }

    fn traits_of(&self, id: PatternNodeId) -> NodeTraits {
        let node = self.pattern.node(id);
        let mut traits =
            NodeTraits { zero_width: !matches!(node, PatternNode::Class(_)), ..NodeTraits::default() };
        node.for_each_child(|child| {
            let child = self.traits(child);
            traits.zero_width &= child.zero_width;
            traits.has_lookahead |= child.has_lookahead;
            traits.has_long_lookahead |= child.has_long_lookahead;
            traits.looks_right |= child.looks_right;
            traits.has_long_lookbehind |= child.has_long_lookbehind;
        });
        match node {
            PatternNode::LookAhead(_, body) => NodeTraits {
                zero_width: true,
                has_lookahead: true,
                has_long_lookahead: lookahead_body(self.pattern, *body).is_none(),
                looks_right: true,
                ..traits
            },
            PatternNode::LookBehind(..) => NodeTraits {
                zero_width: true,
                has_lookahead: false,
                has_long_lookahead: false,
                has_long_lookbehind: traits.has_long_lookbehind || self.is_long_lookbehind(id),
                ..traits
            },
            PatternNode::End | PatternNode::WordBoundary(_) => NodeTraits { looks_right: true, ..traits },
            _ => traits,
        }
    }

    pub(super) fn traits(&self, id: PatternNodeId) -> NodeTraits {
        self.traits[id.index()]
    }

    /// The texts with one of the suffixes at any position.
    pub(super) fn found_anywhere(&mut self, suffixes: &SuffixLanguages) -> SuffixLanguage {
        let mut found = suffixes[0];
        let groups = self.grouped_by_suffix(suffixes, self.contexts.all_atoms());
        let is_uniform = groups.len() == 1 && groups[0].0 == found;
        for (suffix, atoms) in groups {
            let before = if is_uniform {
                self.encoding.texts(self.terms)
            } else if atoms == self.contexts.all_atoms() {
                self.encoding.length(self.terms, 1, None)
            } else {
                let texts = self.encoding.texts(self.terms);
                let atom = self.contexts.part(&classes::all(), atoms);
                let atom = encode_class(self.terms, self.encoding, &atom);
                self.terms.concat(&[texts, atom])
            };
            let after = self.prepend(before, suffix);
            found = if is_uniform { after } else { self.unite_pair(found, after) };
        }
        found
    }

    pub(super) fn nothing(&self) -> SuffixLanguage {
        SuffixLanguage { term: self.terms.nothing(), closed: true }
    }

    /// The suffix language of all texts.
    pub(super) fn any_text(&self) -> SuffixLanguage {
        SuffixLanguage { term: self.terms.anything(), closed: false }
    }

    /// `term` followed by `suffix`.
    pub(super) fn prepend(&mut self, term: TermId, suffix: SuffixLanguage) -> SuffixLanguage {
        let term = self.terms.concat(&[term, suffix.term]);
        SuffixLanguage { term, closed: suffix.closed || term == self.terms.nothing() }
    }

    pub(super) fn unite_pair(&mut self, one: SuffixLanguage, other: SuffixLanguage) -> SuffixLanguage {
        SuffixLanguage { term: self.terms.union(&[one.term, other.term]), closed: one.closed && other.closed }
    }

    fn within_texts(&mut self, suffix: SuffixLanguage) -> TermId {
        if suffix.closed {
            return suffix.term;
        }
        let texts = self.encoding.texts(self.terms);
        let term = self.terms.intersection(&[texts, suffix.term]);
        self.encoding.record_open_ended(term, suffix.term);
        term
    }

    /// The suffixes before `root`, from those after it.
    pub(super) fn translate(
        &mut self,
        root: PatternNodeId,
        suffixes: SuffixLanguages,
    ) -> Result<SuffixLanguages, PatternError> {
        let mut values = vec![suffixes];
        let mut tasks = vec![TranslationTask::Translate(root)];
        while let Some(task) = tasks.pop() {
            if let TranslationTask::Push(suffixes) = task {
                values.push(suffixes);
                continue;
            }
            let top = values.pop().expect("an agenda entry works on the value on top");
            let result = match task {
                TranslationTask::Translate(id) => {
                    self.spend(id, self.contexts.len())?;
                    self.node(id, top, &mut tasks)?
                }
                TranslationTask::Unite(count) => {
                    let others = values.split_off(values.len() + 1 - count);
                    others.iter().fold(top, |union, other| self.unite(&union, other))
                }
                TranslationTask::UniteWith(others) => self.unite(&top, &others),
                TranslationTask::ApplyLookAhead(polarity, suffixes) => {
                    let pairs = top.iter().zip(suffixes);
                    pairs.map(|(body, suffix)| self.apply_lookahead(polarity, body.term, suffix)).collect()
                }
                TranslationTask::RepeatTempered(temper, suffixes) => {
                    let mut bodies = values.split_off(values.len() + 1 - temper.lookaheads.len());
                    bodies.push(top);
                    self.translate_tempered(&temper, &bodies, &suffixes)?
                }
                TranslationTask::Push(suffixes) => suffixes,
            };
            values.push(result);
        }
        Ok(values.pop().expect("every agenda entry pushes one value"))
    }

    fn unite(&mut self, one: &SuffixLanguages, other: &SuffixLanguages) -> SuffixLanguages {
        one.iter().zip(other).map(|(&one, &other)| self.unite_pair(one, other)).collect()
    }

    fn apply_lookahead(
        &mut self,
        polarity: Polarity,
        body: TermId,
        suffix: SuffixLanguage,
    ) -> SuffixLanguage {
        let body = match polarity {
            Polarity::Positive => body,
            Polarity::Negative => self.terms.complement(body),
        };
        let term = self.terms.intersection(&[body, suffix.term]);
        SuffixLanguage { term, closed: suffix.closed || term == self.terms.nothing() }
    }

    /// The suffixes before one node, or the operand of the agenda entries that it adds.
    fn node(
        &mut self,
        id: PatternNodeId,
        suffixes: SuffixLanguages,
        tasks: &mut Vec<TranslationTask>,
    ) -> Result<SuffixLanguages, PatternError> {
        if let Some(assertion_free) = self.assertion_free(id)
            && let Some(before) = self.prepend_assertion_free(id, assertion_free, &suffixes)
        {
            return Ok(before);
        }
        let pattern = self.pattern;
        match pattern.node(id) {
            PatternNode::Class(_) => unreachable!("a class has no assertion"),
            PatternNode::Concat(parts) => {
                tasks.extend(parts.iter().map(|&part| TranslationTask::Translate(part)));
                Ok(suffixes)
            }
            PatternNode::Alternation(branches) => {
                tasks.push(TranslationTask::Unite(branches.len()));
                let (first, others) = branches.split_first().expect("an alternation has branches");
                for &branch in others {
                    tasks.push(TranslationTask::Translate(branch));
                    tasks.push(TranslationTask::Push(suffixes.clone()));
                }
                tasks.push(TranslationTask::Translate(*first));
                Ok(suffixes)
            }
            &PatternNode::Repeat { body, min, max } => {
                self.repeat(id, body, LengthRange { min, max }, suffixes, tasks)
            }
            PatternNode::Start => Ok(self.only_in(&suffixes, |context| context == 0)),
            PatternNode::End => Ok(suffixes
                .iter()
                .map(|suffix| match self.terms.is_nullable(suffix.term) {
                    true => SuffixLanguage { term: self.terms.epsilon(), closed: true },
                    false => self.nothing(),
                })
                .collect()),
            PatternNode::WordBoundary(polarity) => Ok(self.word_boundary(*polarity, &suffixes)),
            &PatternNode::LookBehind(polarity, body) => {
                let holds = self.contexts.lookbehind_contexts(pattern, polarity, body)?;
                Ok(self.only_in(&suffixes, |context| holds >> context & 1 == 1))
            }
            &PatternNode::LookAhead(polarity, body) => {
                let open = vec![self.any_text(); self.contexts.len()];
                tasks.push(TranslationTask::ApplyLookAhead(polarity, suffixes));
                tasks.push(TranslationTask::Translate(body));
                Ok(open)
            }
        }
    }

    fn only_in(&self, suffixes: &SuffixLanguages, holds: impl Fn(usize) -> bool) -> SuffixLanguages {
        let keep = |(context, &suffix)| if holds(context) { suffix } else { self.nothing() };
        suffixes.iter().enumerate().map(keep).collect()
    }

    fn word_boundary(&mut self, polarity: Polarity, suffixes: &SuffixLanguages) -> SuffixLanguages {
        let word = encode_class(self.terms, self.encoding, &classes::word());
        let other = encode_class(self.terms, self.encoding, &classes::complement(classes::word()));
        let anything = self.terms.anything();
        let word = self.terms.concat(&[word, anything]);
        let other = self.terms.concat(&[other, anything]);
        let other = self.terms.union(&[other, self.terms.epsilon()]);
        let next = |context| match (self.contexts.is_after_word(context), polarity) {
            (true, Polarity::Positive) | (false, Polarity::Negative) => other,
            (false, Polarity::Positive) | (true, Polarity::Negative) => word,
        };
        let nexts: Vec<TermId> = (0..suffixes.len()).map(next).collect();
        nexts
            .into_iter()
            .zip(suffixes)
            .map(|(next, &suffix)| self.apply_lookahead(Polarity::Positive, next, suffix))
            .collect()
    }

    /// The distinct suffixes after characters of `atoms`, each with its atoms.
    pub(super) fn grouped_by_suffix(
        &self,
        suffixes: &SuffixLanguages,
        atoms: Bits,
    ) -> Vec<(SuffixLanguage, Bits)> {
        let mut groups: Vec<(SuffixLanguage, Bits)> = Vec::new();
        for (atom, &suffix) in suffixes[1..].iter().enumerate().filter(|(atom, _)| atoms >> atom & 1 == 1) {
            match groups.iter_mut().find(|(group, _)| *group == suffix) {
                Some((_, atoms)) => *atoms |= 1 << atom,
                None => groups.push((suffix, 1 << atom)),
            }
        }
        groups
    }

    /// The suffixes before a node without assertions, or `None` if its children have to be translated one by one.
    fn prepend_assertion_free(
        &mut self,
        id: PatternNodeId,
        assertion_free: AssertionFree,
        suffixes: &SuffixLanguages,
    ) -> Option<SuffixLanguages> {
        if assertion_free.term == self.terms.epsilon() {
            return Some(suffixes.clone());
        }
        let groups = self.grouped_by_suffix(suffixes, assertion_free.lasts);
        let nullable = self.terms.is_nullable(assertion_free.term);
        if let [(suffix, _)] = groups[..] {
            let whole = self.prepend(assertion_free.term, suffix);
            if !nullable || suffixes.iter().all(|other| *other == suffix) {
                return Some(vec![whole; suffixes.len()]);
            }
            let nonempty = self.nonempty(id, assertion_free.term);
            let nonempty = self.prepend(nonempty, suffix);
            return Some(
                suffixes
                    .iter()
                    .map(|&own| if own == suffix { whole } else { self.unite_pair(nonempty, own) })
                    .collect(),
            );
        }
        if groups.is_empty() {
            return Some(if nullable { suffixes.clone() } else { vec![self.nothing(); suffixes.len()] });
        }
        let pattern = self.pattern;
        let (class, head) = match pattern.node(id) {
            PatternNode::Class(class) => (Some(class), None),
            &PatternNode::Repeat { body, min, max } => match pattern.node(body) {
                PatternNode::Class(class) => {
                    let body = self.assertion_free(body)?.term;
                    let head = self.terms.repeat(body, min.saturating_sub(1), max.map(|max| max.max(1) - 1));
                    (Some(class), Some(head))
                }
                _ => (None, None),
            },
            _ => return None,
        };
        let mut before = self.nothing();
        for (suffix, atoms) in groups {
            let part = match class {
                Some(class) => {
                    let last = self.contexts.part(class, atoms);
                    let last = encode_class(self.terms, self.encoding, &last);
                    self.terms.concat(&[head.unwrap_or(self.terms.epsilon()), last])
                }
                None => self.ending_in(assertion_free.term, atoms),
            };
            let part = self.prepend(part, suffix);
            before = self.unite_pair(before, part);
        }
        if !nullable {
            return Some(vec![before; suffixes.len()]);
        }
        Some(suffixes.iter().map(|&suffix| self.unite_pair(before, suffix)).collect())
    }

    /// The nonempty texts of a node without assertions.
    pub(super) fn nonempty(&mut self, id: PatternNodeId, term: TermId) -> TermId {
        if !self.terms.is_nullable(term) {
            return term;
        }
        if let &PatternNode::Repeat { body, min: 0, max } = self.pattern.node(id)
            && let Some(body) = self.assertion_free(body)
            && !self.terms.is_nullable(body.term)
        {
            return self.terms.repeat(body.term, 1, max);
        }
        let nonempty = self.encoding.length(self.terms, 1, None);
        self.terms.intersection(&[term, nonempty])
    }

    /// The texts of `term` whose last character is in `atoms`.
    pub(super) fn ending_in(&mut self, term: TermId, atoms: Bits) -> TermId {
        let texts = self.encoding.texts(self.terms);
        let last = self.contexts.part(&classes::all(), atoms);
        let last = encode_class(self.terms, self.encoding, &last);
        let ending = self.terms.concat(&[texts, last]);
        self.terms.intersection(&[term, ending])
    }

    /// The texts of `term` whose first character is in `atoms`.
    pub(super) fn starting_in(&mut self, term: TermId, atoms: Bits) -> TermId {
        let first = self.contexts.part(&classes::all(), atoms);
        let first = encode_class(self.terms, self.encoding, &first);
        let starting = self.terms.concat(&[first, self.terms.anything()]);
        self.terms.intersection(&[term, starting])
    }

    /// The repetition of a node with assertions.
    fn repeat(
        &mut self,
        id: PatternNodeId,
        body: PatternNodeId,
        counts: LengthRange,
        suffixes: SuffixLanguages,
        tasks: &mut Vec<TranslationTask>,
    ) -> Result<SuffixLanguages, PatternError> {
        let LengthRange { min, max } = counts;
        let traits = self.traits(body);
        if traits.zero_width {
            // An assertion that holds once holds any number of times.
            if min > 0 {
                tasks.push(TranslationTask::Translate(body));
            }
            return Ok(suffixes);
        }
        if min <= MAX_COPIES && suffixes.iter().all(|suffix| *suffix == self.any_text()) {
            // If any text may follow, copies beyond the minimum make no difference.
            tasks.extend((0..min).map(|_| TranslationTask::Translate(body)));
            return Ok(suffixes);
        }
        if (min, max) == (0, Some(1)) {
            tasks.push(TranslationTask::UniteWith(suffixes.clone()));
            tasks.push(TranslationTask::Translate(body));
            return Ok(suffixes);
        }
        if !traits.has_lookahead {
            return matrix::prepend_repetition(self, id, &suffixes);
        }
        match max {
            Some(max) if max <= MAX_COPIES => {
                tasks.extend((0..min).map(|_| TranslationTask::Translate(body)));
                for _ in min..max {
                    tasks.push(TranslationTask::UniteWith(suffixes.clone()));
                    tasks.push(TranslationTask::Translate(body));
                }
                Ok(suffixes)
            }
            _ if traits.has_long_lookahead => self.parse_tempered(id, body, counts, suffixes, tasks),
            _ => matrix::prepend_repetition(self, id, &suffixes),
        }
    }
}
