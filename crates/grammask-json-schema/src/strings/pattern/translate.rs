//! Translates patterns from right to left: the language of a part and all that may follow it.
//!
//! An assertion speaks of the whole text, not of what a part matches. So a part is translated together with a
//! *rest*: for each context (what stands before, see [`super::contexts`]) the language of what may follow up to the
//! end of the text. A character puts itself in front of the rest of the context that it makes; `^` keeps the rest
//! of the start only; `$` keeps the empty text; a lookahead intersects the rest with what it asks for. Parts
//! without assertions are plain terms, and where the rests of all contexts are one, they are put in front of it
//! as they are, so that patterns with assertions at their ends only become terms without any set operation.
//!
//! A rest that goes on with any text is written as all byte strings, which absorb what stands before them; the
//! result is then intersected with the universe, and behind a match only the universe is left.

use super::ast::{Node, NodeId, Pattern, Sense};
use super::contexts::{Bits, Contexts, spelled};
use super::error::PatternError;
use super::{classes, matrix};
use crate::strings::lengths::{LengthRange, Piece, Unit, add_lengths};
use crate::strings::string_encoding::Spelling;
use grammask_automata::{TermId, Terms};

/// An alternation with so many literal branches becomes one automaton of them.
const MANY_WORDS: usize = 16;

/// Steps of work for one pattern.
const FUEL: usize = 2_000_000;

/// Most copies of a part with assertions that are written out.
const MOST_COPIES: u32 = 1000;

/// What may follow up to the end of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rest {
    pub(super) term: TermId,
    /// Whether it holds spellings only. Where it does not, the universe is to be intersected at the end.
    pub(super) closed: bool,
}

/// The rest for each context.
pub(super) type Rests = Vec<Rest>;

/// What is known of a part without assertions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pure {
    pub(super) term: TermId,
    /// The atoms that a nonempty text of it can begin with, and perhaps others.
    pub(super) firsts: Bits,
    /// The atoms that a nonempty text of it can end with, and perhaps others.
    pub(super) lasts: Bits,
    length: Option<LengthRange>,
}

/// What is known of any part.
#[derive(Clone, Copy, Debug, Default)]
struct Traits {
    zero_width: bool,
    has_lookahead: bool,
}

enum Task {
    /// Replaces the rests on top by those before the node.
    Node(NodeId),
    Push(Rests),
    /// Unites so many rests on top.
    Join(usize),
    /// Unites the rests on top with these.
    Or(Rests),
    /// Keeps those of these rests that a lookahead, which is on top, lets through.
    Look(Sense, Rests),
    /// Repeats one character with these lookaheads around it, whose languages are on top, in order.
    Temper(Temper, Rests),
}

/// A repetition of one character, each time with lookaheads before or behind it.
struct Temper {
    repeat: NodeId,
    character: NodeId,
    counts: LengthRange,
    lookaheads: Vec<(Side, Sense)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    Behind,
}

pub(super) struct Translator<'a> {
    pub(super) terms: &'a mut Terms,
    pub(super) spelling: &'a mut Spelling,
    pub(super) pattern: &'a Pattern,
    pub(super) contexts: Contexts,
    pure: Vec<Option<Pure>>,
    traits: Vec<Traits>,
    fuel: usize,
}

/// The texts that the pattern matches as a whole.
pub(super) fn matched(
    terms: &mut Terms,
    spelling: &mut Spelling,
    pattern: &Pattern,
) -> Result<TermId, PatternError> {
    let mut translator = Translator::new(terms, spelling, pattern)?;
    let end = Rest { term: translator.terms.epsilon(), closed: true };
    let rests = translator.translate(pattern.root(), vec![end; translator.contexts.len()])?;
    let term = translator.within_texts(rests[0]);
    if let Some((_, pieces, _)) = translator.pieces() {
        spelling.pieces.insert(term, pieces);
    }
    Ok(term)
}

/// The texts in which the pattern matches somewhere.
pub(super) fn searched(
    terms: &mut Terms,
    spelling: &mut Spelling,
    pattern: &Pattern,
) -> Result<TermId, PatternError> {
    let mut translator = Translator::new(terms, spelling, pattern)?;
    if let Some(term) = translator.simple_search() {
        return Ok(term);
    }
    let open = translator.open();
    let rests = translator.translate(pattern.root(), vec![open; translator.contexts.len()])?;
    let mut found = rests[0];
    let groups = translator.grouped(&rests, translator.contexts.all_atoms());
    let is_uniform = groups.len() == 1 && groups[0].0 == found;
    for (rest, atoms) in groups {
        let before = if is_uniform {
            translator.spelling.texts(translator.terms)
        } else if atoms == translator.contexts.all_atoms() {
            translator.spelling.length(translator.terms, 1, None)
        } else {
            let texts = translator.spelling.texts(translator.terms);
            let atom = translator.contexts.part(&classes::all(), atoms);
            let atom = spelled(translator.terms, translator.spelling, &atom);
            translator.terms.concat(&[texts, atom])
        };
        let behind = translator.before(before, rest);
        found = if is_uniform { behind } else { translator.either(found, behind) };
    }
    Ok(translator.within_texts(found))
}

impl<'a> Translator<'a> {
    fn new(
        terms: &'a mut Terms,
        spelling: &'a mut Spelling,
        pattern: &'a Pattern,
    ) -> Result<Self, PatternError> {
        let contexts = Contexts::of(pattern)?;
        let (pure, traits) = (Vec::new(), Vec::new());
        let mut translator = Self { terms, spelling, pattern, contexts, pure, traits, fuel: FUEL };
        for id in pattern.ids() {
            translator.spend(id, 1)?;
            let pure = translator.describe(id);
            translator.pure.push(pure);
            let traits = translator.traits_of(id);
            translator.traits.push(traits);
        }
        Ok(translator)
    }

    pub(super) fn pure(&self, id: NodeId) -> Option<Pure> {
        self.pure[id.index()]
    }

    /// Takes note of some steps of work.
    pub(super) fn spend(&mut self, id: NodeId, steps: usize) -> Result<(), PatternError> {
        match self.fuel.checked_sub(steps) {
            Some(left) => {
                self.fuel = left;
                Ok(())
            }
            None => Err(PatternError::too_large(self.pattern.offset(id))),
        }
    }

    fn traits_of(&self, id: NodeId) -> Traits {
        let node = self.pattern.node(id);
        let mut traits = Traits { zero_width: !matches!(node, Node::Class(_)), has_lookahead: false };
        node.for_each_part(|part| {
            let part = self.traits[part.index()];
            traits.zero_width &= part.zero_width;
            traits.has_lookahead |= part.has_lookahead;
        });
        match node {
            Node::LookAhead(..) => Traits { zero_width: true, has_lookahead: true },
            Node::LookBehind(..) => Traits { zero_width: true, has_lookahead: false },
            _ => traits,
        }
    }

    /// The node as a plain term, if it has no assertion.
    fn describe(&mut self, id: NodeId) -> Option<Pure> {
        match self.pattern.node(id) {
            Node::Class(class) => {
                let atoms = self.contexts.atoms_in(class);
                let term = spelled(self.terms, self.spelling, class);
                Some(Pure { term, firsts: atoms, lasts: atoms, length: Some((1, Some(1))) })
            }
            Node::Concat(parts) => {
                let parts: Vec<Pure> = parts.iter().map(|part| self.pure(*part)).collect::<Option<_>>()?;
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
                let length = parts.iter().try_fold((0, Some(0)), |sum, part| add_lengths(sum, part.length?));
                Some(Pure { term: self.terms.concat(&terms), firsts, lasts, length })
            }
            Node::Alternation(branches) => {
                let parts: Vec<Pure> =
                    branches.iter().map(|branch| self.pure(*branch)).collect::<Option<_>>()?;
                let longest = |one: Option<u32>, other: Option<u32>| Some(one?.max(other?));
                let length = parts
                    .iter()
                    .map(|part| part.length)
                    .reduce(|one, other| {
                        let (one, other) = (one?, other?);
                        Some((one.0.min(other.0), longest(one.1, other.1)))
                    })
                    .flatten();
                let union = |of: fn(&Pure) -> Bits| parts.iter().fold(0, |bits, part| bits | of(part));
                let (firsts, lasts) = (union(|part| part.firsts), union(|part| part.lasts));
                Some(Pure { term: self.branches(branches, &parts), firsts, lasts, length })
            }
            &Node::Repeat { body, min, max } => {
                let body = self.pure(body)?;
                let times = |length: u32, count: u32| length.checked_mul(count);
                let most = match (body.length.and_then(|length| length.1), max) {
                    (Some(length), Some(max)) => times(length, max).map(Some),
                    _ => Some(None),
                };
                let fewest = body.length.and_then(|length| times(length.0, min));
                let length = fewest.zip(most);
                Some(Pure { term: self.terms.repeat(body.term, min, max), length, ..body })
            }
            _ => None,
        }
    }

    fn branches(&mut self, branches: &[NodeId], parts: &[Pure]) -> TermId {
        let mut union: Vec<TermId> = Vec::new();
        let mut words: Vec<String> = Vec::new();
        for (&branch, part) in branches.iter().zip(parts) {
            match self.word(branch) {
                Some(word) if branches.len() >= MANY_WORDS => words.push(word),
                _ => union.push(part.term),
            }
        }
        union.push(self.spelling.words(self.terms, words.iter().map(String::as_str)));
        self.terms.union(&union)
    }

    /// The only text of a node, if it is a plain word.
    fn word(&self, id: NodeId) -> Option<String> {
        let character = |id: &NodeId| match self.pattern.node(*id) {
            Node::Class(class) => match class.ranges() {
                [only] if only.start() == only.end() => Some(only.start()),
                _ => None,
            },
            _ => None,
        };
        match self.pattern.node(id) {
            Node::Concat(parts) => parts.iter().map(character).collect(),
            _ => character(&id).map(String::from),
        }
    }

    fn nothing(&self) -> Rest {
        Rest { term: self.terms.nothing(), closed: true }
    }

    /// Any rest.
    fn open(&self) -> Rest {
        Rest { term: self.terms.anything(), closed: false }
    }

    /// `term` and then `rest`.
    pub(super) fn before(&mut self, term: TermId, rest: Rest) -> Rest {
        let term = self.terms.concat(&[term, rest.term]);
        Rest { term, closed: rest.closed || term == self.terms.nothing() }
    }

    pub(super) fn either(&mut self, one: Rest, other: Rest) -> Rest {
        Rest { term: self.terms.union(&[one.term, other.term]), closed: one.closed && other.closed }
    }

    fn within_texts(&mut self, rest: Rest) -> TermId {
        if rest.closed {
            return rest.term;
        }
        let texts = self.spelling.texts(self.terms);
        let term = self.terms.intersection(&[texts, rest.term]);
        self.spelling.remember_open(term, rest.term);
        term
    }

    /// The rests before `root`, given those behind it.
    fn translate(&mut self, root: NodeId, rests: Rests) -> Result<Rests, PatternError> {
        let mut values = vec![rests];
        let mut tasks = vec![Task::Node(root)];
        while let Some(task) = tasks.pop() {
            if let Task::Push(rests) = task {
                values.push(rests);
                continue;
            }
            let top = values.pop().expect("a task works on the value on top");
            let result = match task {
                Task::Node(id) => {
                    self.spend(id, self.contexts.len())?;
                    self.node(id, top, &mut tasks)?
                }
                Task::Join(count) => {
                    let others = values.split_off(values.len() + 1 - count);
                    others.iter().fold(top, |union, other| self.unite(&union, other))
                }
                Task::Or(others) => self.unite(&top, &others),
                Task::Look(sense, rests) => {
                    let asked = top.iter().zip(rests);
                    asked.map(|(asked, rest)| self.look(sense, asked.term, rest)).collect()
                }
                Task::Temper(temper, rests) => {
                    let mut asked = values.split_off(values.len() + 1 - temper.lookaheads.len());
                    asked.push(top);
                    self.temper(&temper, &asked, &rests)?
                }
                Task::Push(rests) => rests,
            };
            values.push(result);
        }
        Ok(values.pop().expect("every task leaves one value"))
    }

    fn unite(&mut self, one: &Rests, other: &Rests) -> Rests {
        one.iter().zip(other).map(|(&one, &other)| self.either(one, other)).collect()
    }

    fn look(&mut self, sense: Sense, asked: TermId, rest: Rest) -> Rest {
        let asked = match sense {
            Sense::Positive => asked,
            Sense::Negative => self.terms.complement(asked),
        };
        let term = self.terms.intersection(&[asked, rest.term]);
        Rest { term, closed: rest.closed || term == self.terms.nothing() }
    }

    /// The rests before one node; or those that the tasks it adds start from.
    fn node(&mut self, id: NodeId, rests: Rests, tasks: &mut Vec<Task>) -> Result<Rests, PatternError> {
        if let Some(pure) = self.pure(id)
            && let Some(before) = self.before_pure(id, pure, &rests)
        {
            return Ok(before);
        }
        let pattern = self.pattern;
        match pattern.node(id) {
            Node::Class(_) => unreachable!("a class is always pure"),
            Node::Concat(parts) => {
                tasks.extend(parts.iter().map(|&part| Task::Node(part)));
                Ok(rests)
            }
            Node::Alternation(branches) => {
                tasks.push(Task::Join(branches.len()));
                let (first, others) = branches.split_first().expect("an alternation has branches");
                for &branch in others {
                    tasks.push(Task::Node(branch));
                    tasks.push(Task::Push(rests.clone()));
                }
                tasks.push(Task::Node(*first));
                Ok(rests)
            }
            &Node::Repeat { body, min, max } => self.repeat(id, body, (min, max), rests, tasks),
            Node::Start => Ok(self.only(&rests, |context| context == 0)),
            Node::End => Ok(rests
                .iter()
                .map(|rest| match self.terms.is_nullable(rest.term) {
                    true => Rest { term: self.terms.epsilon(), closed: true },
                    false => self.nothing(),
                })
                .collect()),
            Node::WordBoundary(sense) => Ok(self.word_boundary(*sense, &rests)),
            &Node::LookBehind(sense, body) => {
                let holds = self.contexts.behind(pattern, sense, body)?;
                Ok(self.only(&rests, |context| holds >> context & 1 == 1))
            }
            &Node::LookAhead(sense, body) => {
                let open = vec![self.open(); self.contexts.len()];
                tasks.push(Task::Look(sense, rests));
                tasks.push(Task::Node(body));
                Ok(open)
            }
        }
    }

    fn only(&self, rests: &Rests, holds: impl Fn(usize) -> bool) -> Rests {
        let keep = |(context, &rest)| if holds(context) { rest } else { self.nothing() };
        rests.iter().enumerate().map(keep).collect()
    }

    fn word_boundary(&mut self, sense: Sense, rests: &Rests) -> Rests {
        let word = spelled(self.terms, self.spelling, &classes::word());
        let other = spelled(self.terms, self.spelling, &classes::complement(classes::word()));
        let anything = self.terms.anything();
        let word = self.terms.concat(&[word, anything]);
        let other = self.terms.concat(&[other, anything]);
        let other = self.terms.union(&[other, self.terms.epsilon()]);
        let next = |context| match (self.contexts.is_after_word(context), sense) {
            (true, Sense::Positive) | (false, Sense::Negative) => other,
            (false, Sense::Positive) | (true, Sense::Negative) => word,
        };
        let asked: Vec<TermId> = (0..rests.len()).map(next).collect();
        asked.into_iter().zip(rests).map(|(asked, &rest)| self.look(Sense::Positive, asked, rest)).collect()
    }

    /// The different rests behind characters of some atoms, each with the atoms that it is behind of.
    fn grouped(&self, rests: &Rests, atoms: Bits) -> Vec<(Rest, Bits)> {
        let mut groups: Vec<(Rest, Bits)> = Vec::new();
        for (atom, &rest) in rests[1..].iter().enumerate().filter(|(atom, _)| atoms >> atom & 1 == 1) {
            match groups.iter_mut().find(|(known, _)| *known == rest) {
                Some((_, atoms)) => *atoms |= 1 << atom,
                None => groups.push((rest, 1 << atom)),
            }
        }
        groups
    }

    /// The rests before a part without assertions; none where its own parts have to be looked at.
    fn before_pure(&mut self, id: NodeId, pure: Pure, rests: &Rests) -> Option<Rests> {
        if pure.term == self.terms.epsilon() {
            return Some(rests.clone());
        }
        let groups = self.grouped(rests, pure.lasts);
        let nullable = self.terms.is_nullable(pure.term);
        if let [(rest, _)] = groups[..] {
            let whole = self.before(pure.term, rest);
            if !nullable || rests.iter().all(|other| *other == rest) {
                return Some(vec![whole; rests.len()]);
            }
            let nonempty = self.nonempty(id, pure.term);
            let nonempty = self.before(nonempty, rest);
            return Some(
                rests
                    .iter()
                    .map(|&own| if own == rest { whole } else { self.either(nonempty, own) })
                    .collect(),
            );
        }
        if groups.is_empty() {
            return Some(if nullable { rests.clone() } else { vec![self.nothing(); rests.len()] });
        }
        let pattern = self.pattern;
        let (class, head) = match pattern.node(id) {
            Node::Class(class) => (Some(class), None),
            &Node::Repeat { body, min, max } => match pattern.node(body) {
                Node::Class(class) => {
                    let body = self.pure(body)?.term;
                    let head = self.terms.repeat(body, min.saturating_sub(1), max.map(|max| max.max(1) - 1));
                    (Some(class), Some(head))
                }
                _ => (None, None),
            },
            _ => return None,
        };
        let mut before = self.nothing();
        for (rest, atoms) in groups {
            let part = match class {
                Some(class) => {
                    let last = self.contexts.part(class, atoms);
                    let last = spelled(self.terms, self.spelling, &last);
                    self.terms.concat(&[head.unwrap_or(self.terms.epsilon()), last])
                }
                None => self.ending_in(pure.term, atoms),
            };
            let part = self.before(part, rest);
            before = self.either(before, part);
        }
        if !nullable {
            return Some(vec![before; rests.len()]);
        }
        Some(rests.iter().map(|&rest| self.either(before, rest)).collect())
    }

    /// The nonempty texts of a node without assertions.
    pub(super) fn nonempty(&mut self, id: NodeId, term: TermId) -> TermId {
        if !self.terms.is_nullable(term) {
            return term;
        }
        if let &Node::Repeat { body, min: 0, max } = self.pattern.node(id)
            && let Some(body) = self.pure(body)
            && !self.terms.is_nullable(body.term)
        {
            return self.terms.repeat(body.term, 1, max);
        }
        let nonempty = self.spelling.length(self.terms, 1, None);
        self.terms.intersection(&[term, nonempty])
    }

    /// The texts of `term` whose last character is of some atoms.
    pub(super) fn ending_in(&mut self, term: TermId, atoms: Bits) -> TermId {
        let texts = self.spelling.texts(self.terms);
        let last = self.contexts.part(&classes::all(), atoms);
        let last = spelled(self.terms, self.spelling, &last);
        let ending = self.terms.concat(&[texts, last]);
        self.terms.intersection(&[term, ending])
    }

    /// The texts of `term` whose first character is of some atoms.
    pub(super) fn starting_in(&mut self, term: TermId, atoms: Bits) -> TermId {
        let first = self.contexts.part(&classes::all(), atoms);
        let first = spelled(self.terms, self.spelling, &first);
        let starting = self.terms.concat(&[first, self.terms.anything()]);
        self.terms.intersection(&[term, starting])
    }

    /// A repetition of a part with assertions.
    fn repeat(
        &mut self,
        id: NodeId,
        body: NodeId,
        (min, max): LengthRange,
        rests: Rests,
        tasks: &mut Vec<Task>,
    ) -> Result<Rests, PatternError> {
        let traits = self.traits[body.index()];
        if traits.zero_width {
            // It holds as often as it holds once.
            if min > 0 {
                tasks.push(Task::Node(body));
            }
            return Ok(rests);
        }
        if min <= MOST_COPIES && rests.iter().all(|rest| *rest == self.open()) {
            // Before any text, more copies than must be make no difference.
            tasks.extend((0..min).map(|_| Task::Node(body)));
            return Ok(rests);
        }
        if (min, max) == (0, Some(1)) {
            tasks.push(Task::Or(rests.clone()));
            tasks.push(Task::Node(body));
            return Ok(rests);
        }
        if !traits.has_lookahead {
            return matrix::before_loop(self, id, &rests);
        }
        match max {
            Some(max) if max <= MOST_COPIES => {
                tasks.extend((0..min).map(|_| Task::Node(body)));
                for _ in min..max {
                    tasks.push(Task::Or(rests.clone()));
                    tasks.push(Task::Node(body));
                }
                Ok(rests)
            }
            _ => self.tempered(id, body, (min, max), rests, tasks),
        }
    }

    /// A repetition of one character with lookaheads beside it.
    fn tempered(
        &mut self,
        repeat: NodeId,
        body: NodeId,
        counts: LengthRange,
        rests: Rests,
        tasks: &mut Vec<Task>,
    ) -> Result<Rests, PatternError> {
        let refused = || {
            let message = "a loop around a lookahead is supported in front of one character only";
            PatternError::unsupported(self.pattern.offset(repeat), message)
        };
        let (mut character, mut lookaheads, mut bodies) = (None, Vec::new(), Vec::new());
        let mut stack = vec![body];
        while let Some(id) = stack.pop() {
            match self.pattern.node(id) {
                Node::Concat(parts) => stack.extend(parts.iter().rev()),
                Node::LookAhead(sense, body) => {
                    lookaheads.push((if character.is_none() { Side::Before } else { Side::Behind }, *sense));
                    bodies.push(*body);
                }
                _ => match self.pure(id) {
                    Some(pure) if pure.length == Some((1, Some(1))) && character.is_none() => {
                        character = Some(id);
                    }
                    _ => return Err(refused()),
                },
            }
        }
        let character = character.ok_or_else(refused)?;
        let open = vec![self.open(); self.contexts.len()];
        tasks.push(Task::Temper(Temper { repeat, character, counts, lookaheads }, rests));
        let (first, others) = bodies.split_first().ok_or_else(refused)?;
        for &body in others.iter().rev() {
            tasks.push(Task::Node(body));
            tasks.push(Task::Push(open.clone()));
        }
        tasks.push(Task::Node(*first));
        Ok(open)
    }

    /// At the end of the text, all suffixes of what is repeated have to pass the lookaheads.
    fn temper(&mut self, temper: &Temper, asked: &[Rests], rests: &Rests) -> Result<Rests, PatternError> {
        let rest = rests[0];
        let is_uniform = |rests: &Rests| rests.iter().all(|other| *other == rests[0]);
        let is_end = rest.term == self.terms.epsilon() && is_uniform(rests);
        if !is_end || !asked.iter().all(is_uniform) {
            let message =
                "a loop around a lookahead is supported at the end of the text only, followed by `$`";
            return Err(PatternError::unsupported(self.pattern.offset(temper.repeat), message));
        }
        let character = self.pure(temper.character).expect("a tempered character is pure").term;
        let mut parts = vec![self.terms.repeat(character, temper.counts.0, temper.counts.1)];
        let texts = self.spelling.texts(self.terms);
        let nonempty = self.spelling.length(self.terms, 1, None);
        for (&(side, sense), asked) in temper.lookaheads.iter().zip(asked) {
            let refused = match sense {
                Sense::Positive => self.terms.complement(asked[0].term),
                Sense::Negative => asked[0].term,
            };
            let wrong = match side {
                Side::Before => {
                    let refused = self.terms.intersection(&[refused, nonempty]);
                    self.terms.concat(&[texts, refused])
                }
                Side::Behind => self.terms.concat(&[nonempty, refused]),
            };
            parts.push(self.terms.complement(wrong));
        }
        let before = Rest { term: self.terms.intersection(&parts), closed: true };
        Ok(vec![before; rests.len()])
    }

    /// The pattern as pieces in a row, and whether it starts with `^` and ends in `$`, if nothing else in it is an
    /// assertion.
    fn pieces(&self) -> Option<(bool, Vec<Piece>, bool)> {
        let (mut starts, mut ends) = (false, false);
        let mut pieces = Vec::new();
        let mut stack = vec![self.pattern.root()];
        while let Some(id) = stack.pop() {
            match self.pattern.node(id) {
                Node::Concat(parts) => stack.extend(parts.iter().rev()),
                Node::Start if pieces.is_empty() && !ends => starts = true,
                Node::End => ends = true,
                _ if ends => return None,
                node => {
                    let pure = self.pure(id)?;
                    let mut unit = None;
                    if let &Node::Repeat { body, min, max } = node
                        && let Pure { term, length: Some((fewest, most)), .. } = self.pure(body)?
                        && most == Some(fewest)
                        && fewest > 0
                    {
                        unit = Some(Unit { term, length: fewest, counts: (min, max) });
                    }
                    pieces.push(Piece { term: pure.term, length: pure.length?, unit });
                }
            }
        }
        Some((starts, pieces, ends))
    }

    /// The search for a pattern that needs no set operation.
    fn simple_search(&mut self) -> Option<TermId> {
        let (starts, mut pieces, ends) = self.pieces()?;
        let any = self.spelling.any(self.terms);
        let term = self.spelling.texts(self.terms);
        let unit = Some(Unit { term: any, length: 1, counts: (0, None) });
        let texts = Piece { term, length: (0, None), unit };
        let is_fixed = pieces.iter().all(|piece| piece.length.1 == Some(piece.length.0));
        match (starts, ends) {
            (true, true) => {}
            (false, true) => pieces.insert(0, texts),
            // Where a match ends is certain, so what follows needs no care.
            (true, false) if is_fixed => pieces.push(texts),
            _ => return None,
        }
        let mut terms: Vec<TermId> = pieces.iter().map(|piece| piece.term).collect();
        let term = self.terms.concat(&terms);
        if !ends && let Some(last) = terms.last_mut() {
            *last = self.terms.anything();
            let open = self.terms.concat(&terms);
            self.spelling.remember_open(term, open);
        }
        self.spelling.pieces.insert(term, pieces);
        Some(term)
    }
}
