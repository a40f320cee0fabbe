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

use super::ast::{PatternAst, PatternNode, PatternNodeId, Polarity};
use super::contexts::{Bits, Contexts, encode_class};
use super::error::PatternError;
use super::{classes, matrix};
use crate::strings::lengths::{LengthRange, RepeatedUnit, SizedPiece};
use crate::strings::string_encoding::StringEncoding;
use grammask_automata::{TermId, Terms};

/// Number of literal branches from which an alternation becomes one automaton of literals.
const MIN_LITERALS: usize = 16;

/// Maximum steps of work for one pattern.
const MAX_WORK: usize = 2_000_000;

/// Maximum number of copies into which the repetition of a node with assertions is unrolled.
const MAX_COPIES: u32 = 1000;

/// The texts that may follow a position, up to the end of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SuffixLanguage {
    pub(super) term: TermId,
    /// Whether all elements are encoded texts. If not, the result has to be intersected with the universe.
    pub(super) closed: bool,
}

/// The suffix language for each context.
pub(super) type SuffixLanguages = Vec<SuffixLanguage>;

/// A node without assertions.
#[derive(Clone, Copy, Debug)]
pub(super) struct AssertionFree {
    pub(super) term: TermId,
    /// Superset of the atoms with which a nonempty text of the node can begin.
    pub(super) firsts: Bits,
    /// Superset of the atoms with which a nonempty text of the node can end.
    pub(super) lasts: Bits,
    length: Option<LengthRange>,
}

/// Properties of any node.
#[derive(Clone, Copy, Debug, Default)]
struct NodeTraits {
    zero_width: bool,
    has_lookahead: bool,
}

/// An entry of the translation agenda. Entries pop operands from the value stack and push one result.
enum TranslationTask {
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

/// The repetition of one character with lookaheads before or after it, as in the "tempered" `((?!foo).)*`.
struct TemperedRepeat {
    repeat: PatternNodeId,
    character: PatternNodeId,
    counts: LengthRange,
    lookaheads: Vec<(LookAheadSide, Polarity)>,
}

/// The position of a lookahead relative to the repeated character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LookAheadSide {
    Before,
    After,
}

/// A pattern as a concatenation of nodes without assertions.
struct PieceSequence {
    /// Whether a `^` precedes the pieces.
    starts: bool,
    pieces: Vec<SizedPiece>,
    /// Whether a `$` follows the pieces.
    ends: bool,
}

pub(super) struct PatternTranslator<'a> {
    pub(super) terms: &'a mut Terms,
    pub(super) encoding: &'a mut StringEncoding,
    pub(super) pattern: &'a PatternAst,
    pub(super) contexts: Contexts,
    assertion_free: Vec<Option<AssertionFree>>,
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
    let suffixes = translator.translate(pattern.root(), vec![end; translator.contexts.len()])?;
    let term = translator.within_texts(suffixes[0]);
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
    let suffixes = translator.translate(pattern.root(), vec![open; translator.contexts.len()])?;
    let mut found = suffixes[0];
    let groups = translator.grouped_by_suffix(&suffixes, translator.contexts.all_atoms());
    let is_uniform = groups.len() == 1 && groups[0].0 == found;
    for (suffix, atoms) in groups {
        let before = if is_uniform {
            translator.encoding.texts(translator.terms)
        } else if atoms == translator.contexts.all_atoms() {
            translator.encoding.length(translator.terms, 1, None)
        } else {
            let texts = translator.encoding.texts(translator.terms);
            let atom = translator.contexts.part(&classes::all(), atoms);
            let atom = encode_class(translator.terms, translator.encoding, &atom);
            translator.terms.concat(&[texts, atom])
        };
        let after = translator.prepend(before, suffix);
        found = if is_uniform { after } else { translator.unite_pair(found, after) };
    }
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

    pub(super) fn assertion_free(&self, id: PatternNodeId) -> Option<AssertionFree> {
        self.assertion_free[id.index()]
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
            NodeTraits { zero_width: !matches!(node, PatternNode::Class(_)), has_lookahead: false };
        node.for_each_child(|child| {
            let child = self.traits[child.index()];
            traits.zero_width &= child.zero_width;
            traits.has_lookahead |= child.has_lookahead;
        });
        match node {
            PatternNode::LookAhead(..) => NodeTraits { zero_width: true, has_lookahead: true },
            PatternNode::LookBehind(..) => NodeTraits { zero_width: true, has_lookahead: false },
            _ => traits,
        }
    }

    /// The node as a plain term, or `None` if it contains an assertion.
    fn assertion_free_of(&mut self, id: PatternNodeId) -> Option<AssertionFree> {
        match self.pattern.node(id) {
            PatternNode::Class(class) => {
                let atoms = self.contexts.atoms_in(class);
                let term = encode_class(self.terms, self.encoding, class);
                Some(AssertionFree {
                    term,
                    firsts: atoms,
                    lasts: atoms,
                    length: Some(LengthRange::exactly(1)),
                })
            }
            PatternNode::Concat(parts) => {
                let parts: Vec<AssertionFree> =
                    parts.iter().map(|part| self.assertion_free(*part)).collect::<Option<_>>()?;
                let terms: Vec<TermId> = parts.iter().map(|part| part.term).collect();
                let (mut firsts, mut lasts) = (0, 0);
                for part in &parts {
                    firsts |= part.firsts;
                    if !self.terms.is_nullable(part.term) {
                        break;
                    }
                }
                for part in parts.iter().rev() {
                    lasts |= part.lasts;
                    if !self.terms.is_nullable(part.term) {
                        break;
                    }
                }
                let length =
                    parts.iter().try_fold(LengthRange::exactly(0), |sum, part| sum.checked_add(part.length?));
                Some(AssertionFree { term: self.terms.concat(&terms), firsts, lasts, length })
            }
            PatternNode::Alternation(branches) => {
                let parts: Vec<AssertionFree> =
                    branches.iter().map(|branch| self.assertion_free(*branch)).collect::<Option<_>>()?;
                let length = parts
                    .iter()
                    .map(|part| part.length)
                    .reduce(|one, other| Some(one?.union(other?)))
                    .flatten();
                let union =
                    |of: fn(&AssertionFree) -> Bits| parts.iter().fold(0, |bits, part| bits | of(part));
                let (firsts, lasts) = (union(|part| part.firsts), union(|part| part.lasts));
                Some(AssertionFree { term: self.branches(branches, &parts), firsts, lasts, length })
            }
            &PatternNode::Repeat { body, min, max } => {
                let body = self.assertion_free(body)?;
                let times = |length: u32, count: u32| length.checked_mul(count);
                let longest = match (body.length.and_then(|length| length.max), max) {
                    (Some(length), Some(max)) => times(length, max).map(Some),
                    _ => Some(None),
                };
                let shortest = body.length.and_then(|length| times(length.min, min));
                let length = shortest.zip(longest).map(|(min, max)| LengthRange { min, max });
                Some(AssertionFree { term: self.terms.repeat(body.term, min, max), length, ..body })
            }
            _ => None,
        }
    }

    fn branches(&mut self, branches: &[PatternNodeId], parts: &[AssertionFree]) -> TermId {
        let mut union: Vec<TermId> = Vec::new();
        let mut literals: Vec<String> = Vec::new();
        for (&branch, part) in branches.iter().zip(parts) {
            match self.literal(branch) {
                Some(literal) if branches.len() >= MIN_LITERALS => literals.push(literal),
                _ => union.push(part.term),
            }
        }
        union.push(self.encoding.literals(self.terms, literals.iter().map(String::as_str)));
        self.terms.union(&union)
    }

    /// The only text of a node, if the node is a literal.
    fn literal(&self, id: PatternNodeId) -> Option<String> {
        let character = |id: &PatternNodeId| match self.pattern.node(*id) {
            PatternNode::Class(class) => match class.ranges() {
                [only] if only.start() == only.end() => Some(only.start()),
                _ => None,
            },
            _ => None,
        };
        match self.pattern.node(id) {
            PatternNode::Concat(parts) => parts.iter().map(character).collect(),
            _ => character(&id).map(String::from),
        }
    }

    fn nothing(&self) -> SuffixLanguage {
        SuffixLanguage { term: self.terms.nothing(), closed: true }
    }

    /// The suffix language of all texts.
    fn any_text(&self) -> SuffixLanguage {
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
    fn translate(
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
    fn grouped_by_suffix(&self, suffixes: &SuffixLanguages, atoms: Bits) -> Vec<(SuffixLanguage, Bits)> {
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
        let traits = self.traits[body.index()];
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
            _ => self.parse_tempered(id, body, counts, suffixes, tasks),
        }
    }

    /// Recognises the repetition of one character with adjacent lookaheads, and adds the agenda entries for them.
    fn parse_tempered(
        &mut self,
        repeat: PatternNodeId,
        body: PatternNodeId,
        counts: LengthRange,
        suffixes: SuffixLanguages,
        tasks: &mut Vec<TranslationTask>,
    ) -> Result<SuffixLanguages, PatternError> {
        let unsupported = || {
            let message = "a repeated lookahead is supported only before a single character";
            PatternError::unsupported(self.pattern.offset(repeat), message)
        };
        let (mut character, mut lookaheads, mut bodies) = (None, Vec::new(), Vec::new());
        let mut stack = vec![body];
        while let Some(id) = stack.pop() {
            match self.pattern.node(id) {
                PatternNode::Concat(parts) => stack.extend(parts.iter().rev()),
                PatternNode::LookAhead(polarity, body) => {
                    lookaheads.push((
                        if character.is_none() { LookAheadSide::Before } else { LookAheadSide::After },
                        *polarity,
                    ));
                    bodies.push(*body);
                }
                _ => match self.assertion_free(id) {
                    Some(assertion_free)
                        if assertion_free.length == Some(LengthRange::exactly(1)) && character.is_none() =>
                    {
                        character = Some(id);
                    }
                    _ => return Err(unsupported()),
                },
            }
        }
        let character = character.ok_or_else(unsupported)?;
        let open = vec![self.any_text(); self.contexts.len()];
        tasks.push(TranslationTask::RepeatTempered(
            TemperedRepeat { repeat, character, counts, lookaheads },
            suffixes,
        ));
        let (first, others) = bodies.split_first().ok_or_else(unsupported)?;
        for &body in others.iter().rev() {
            tasks.push(TranslationTask::Translate(body));
            tasks.push(TranslationTask::Push(open.clone()));
        }
        tasks.push(TranslationTask::Translate(*first));
        Ok(open)
    }

    /// Translates a tempered repetition at the end of the text: all suffixes of the repeated text must satisfy the
    /// lookaheads.
    fn translate_tempered(
        &mut self,
        temper: &TemperedRepeat,
        bodies: &[SuffixLanguages],
        suffixes: &SuffixLanguages,
    ) -> Result<SuffixLanguages, PatternError> {
        let suffix = suffixes[0];
        let is_uniform = |suffixes: &SuffixLanguages| suffixes.iter().all(|other| *other == suffixes[0]);
        let is_end = suffix.term == self.terms.epsilon() && is_uniform(suffixes);
        if !is_end || !bodies.iter().all(is_uniform) {
            let message = "a repeated lookahead is supported only at the end of the text, followed by `$`";
            return Err(PatternError::unsupported(self.pattern.offset(temper.repeat), message));
        }
        let character =
            self.assertion_free(temper.character).expect("a tempered character has no assertion").term;
        let mut parts = vec![self.terms.repeat(character, temper.counts.min, temper.counts.max)];
        let texts = self.encoding.texts(self.terms);
        let nonempty = self.encoding.length(self.terms, 1, None);
        for (&(side, polarity), body) in temper.lookaheads.iter().zip(bodies) {
            let refused = match polarity {
                Polarity::Positive => self.terms.complement(body[0].term),
                Polarity::Negative => body[0].term,
            };
            let wrong = match side {
                LookAheadSide::Before => {
                    let refused = self.terms.intersection(&[refused, nonempty]);
                    self.terms.concat(&[texts, refused])
                }
                LookAheadSide::After => self.terms.concat(&[nonempty, refused]),
            };
            parts.push(self.terms.complement(wrong));
        }
        let before = SuffixLanguage { term: self.terms.intersection(&parts), closed: true };
        Ok(vec![before; suffixes.len()])
    }

    /// The pattern as a sequence of pieces, or `None` if it has an assertion other than a leading `^` and a trailing
    /// `$`.
    fn sequence(&self) -> Option<PieceSequence> {
        let (mut starts, mut ends) = (false, false);
        let mut pieces = Vec::new();
        let mut stack = vec![self.pattern.root()];
        while let Some(id) = stack.pop() {
            match self.pattern.node(id) {
                PatternNode::Concat(parts) => stack.extend(parts.iter().rev()),
                PatternNode::Start if pieces.is_empty() && !ends => starts = true,
                PatternNode::End => ends = true,
                _ if ends => return None,
                node => {
                    let assertion_free = self.assertion_free(id)?;
                    let mut unit = None;
                    if let &PatternNode::Repeat { body, min, max } = node
                        && let AssertionFree {
                            term,
                            length: Some(LengthRange { min: shortest, max: longest }),
                            ..
                        } = self.assertion_free(body)?
                        && longest == Some(shortest)
                        && shortest > 0
                    {
                        unit =
                            Some(RepeatedUnit { term, length: shortest, counts: LengthRange { min, max } });
                    }
                    pieces.push(SizedPiece {
                        term: assertion_free.term,
                        length: assertion_free.length?,
                        unit,
                    });
                }
            }
        }
        Some(PieceSequence { starts, pieces, ends })
    }

    /// The search for a pattern that needs no set operation, or `None` if the pattern is not of that form.
    fn simple_search(&mut self) -> Option<TermId> {
        let PieceSequence { starts, mut pieces, ends } = self.sequence()?;
        let any = self.encoding.any(self.terms);
        let term = self.encoding.texts(self.terms);
        let unit = Some(RepeatedUnit { term: any, length: 1, counts: LengthRange { min: 0, max: None } });
        let texts = SizedPiece { term, length: LengthRange { min: 0, max: None }, unit };
        let is_fixed = pieces.iter().all(|piece| piece.length.is_exact());
        match (starts, ends) {
            (true, true) => {}
            (false, true) => pieces.insert(0, texts),
            // The end of the match is at a fixed position, so any text may follow.
            (true, false) if is_fixed => pieces.push(texts),
            _ => return None,
        }
        let mut terms: Vec<TermId> = pieces.iter().map(|piece| piece.term).collect();
        let term = self.terms.concat(&terms);
        if !ends && let Some(last) = terms.last_mut() {
            *last = self.terms.anything();
            let open = self.terms.concat(&terms);
            self.encoding.record_open_ended(term, open);
        }
        self.encoding.pieces.insert(term, pieces);
        Some(term)
    }
}
