//! The inverse image of a term, operation by operation.
//!
//! Union, intersection and complement need no condition. Concatenation, repetition and "first match" commute with
//! inverse images unless a character can begin in one part and end in another one. [`TermImage`] holds a one-sided
//! fact about each end of a term; where it does not exclude a cut, the term is determinised. Part of a character that a
//! whole term begins or ends with represents itself.

use rustc_hash::FxHashMap;

use crate::encoding::indented_block::{self, LastLine};
use crate::encoding::spelling_trees::{CharTransition, LiteralSpellings, SpellingTrees, TreeNodeId};
use crate::encoding::table_image::is_text;
use crate::encoding::{BlockPrefix, CharacterEncoding};
use crate::term::arena::Term;
use crate::{Automata, ByteSet, Table, TableState, TermId, Terms};
use grammask_diagnostics::{Deadline, LimitExceeded, Limits};

/// The inverse image of a term.
#[derive(Clone, Copy, Debug)]
struct TermImage {
    term: TermId,
    /// Whether a word of the original term may begin inside a character.
    begins_inside: bool,
    /// Whether a word of the original term may end inside a character.
    ends_inside: bool,
}

impl TermImage {
    fn whole(term: TermId) -> Self {
        Self { term, begins_inside: false, ends_inside: false }
    }
}

/// Makes inverse images of the terms of one arena. Equal subterms are transformed once.
#[derive(Clone, Debug)]
pub struct TermEncoder {
    encoding: CharacterEncoding,
    trees: SpellingTrees,
    images: FxHashMap<TermId, TermImage>,
    /// Memo table: whether a word may have a line feed, as far as the form of the term shows.
    line_feeds: FxHashMap<TermId, bool>,
    max_states: usize,
    deadline: Deadline,
}

impl TermEncoder {
    /// An encoder for the terms of one arena.
    #[must_use]
    pub fn new(encoding: CharacterEncoding, limits: &Limits) -> Self {
        Self {
            encoding,
            trees: SpellingTrees::new(),
            images: FxHashMap::default(),
            line_feeds: FxHashMap::default(),
            max_states: limits.automaton_states,
            deadline: Deadline::of(limits),
        }
    }

    /// The byte strings whose decoded text is in `term`. Bytes that are not part of a character within the term
    /// represent themselves.
    ///
    /// Cost: linear in the size of the term, times the states of a character's spellings. A term with line feeds in an
    /// [indented block](CharacterEncoding::IndentedBlock) is determinised.
    ///
    /// # Errors
    /// If a part that may cut characters has too many states; if the memory or time limit is exceeded.
    pub fn image(&mut self, terms: &mut Terms, term: TermId) -> Result<TermId, LimitExceeded> {
        self.image_with(terms, term, LastLine::Begun)
    }

    /// As [`image`](Self::image), without the byte strings in which the spelling of the last character depends on what
    /// follows: those of an indented block that end with a blank line that is not indented. So the image of a
    /// concatenation contains the concatenation of images. It has no more words if no term that ends with a line feed
    /// comes before one that begins with a line feed.
    ///
    /// # Errors
    /// As [`image`](Self::image).
    pub fn separable_image(&mut self, terms: &mut Terms, term: TermId) -> Result<TermId, LimitExceeded> {
        self.image_with(terms, term, LastLine::Indented)
    }

    fn image_with(
        &mut self,
        terms: &mut Terms,
        term: TermId,
        last_line: LastLine,
    ) -> Result<TermId, LimitExceeded> {
        if let CharacterEncoding::IndentedBlock(prefix) = &self.encoding {
            let prefix = prefix.clone();
            return self.indented(terms, term, &prefix, last_line);
        }
        let mut stack = vec![(term, false)];
        while let Some((next, operands_are_done)) = stack.pop() {
            if self.images.contains_key(&next) {
                continue;
            }
            if operands_are_done {
                let image = self.image_of_operands(terms, next)?;
                self.images.insert(next, image);
            } else {
                stack.push((next, true));
                stack.extend(operands(terms, next).into_iter().map(|operand| (operand, false)));
            }
        }
        Ok(self.images[&term].term)
    }

    /// The image of a term in an indented block.
    fn indented(
        &mut self,
        terms: &mut Terms,
        term: TermId,
        prefix: &BlockPrefix,
        last_line: LastLine,
    ) -> Result<TermId, LimitExceeded> {
        if !self.may_have_line_feed(terms, term) {
            return Ok(term);
        }
        if let Some(word) = terms.word(term)
            && last_line == LastLine::Indented
            && !word.windows(2).any(|pair| pair == b"\n\n")
        {
            let lines: Vec<&[u8]> = word.split(|&byte| byte == b'\n').collect();
            return Ok(terms.literal(&lines.join(format!("\n{prefix}").as_bytes())));
        }
        let exceeded = || LimitExceeded::new("automaton_states", self.max_states);
        let (any, line_feed) = (terms.repeat(TermId::ANY_BYTE, 0, None), terms.literal(b"\n"));
        let with_line_feed = terms.concat(&[any, line_feed, any]);
        let with_line_feed = terms.intersection(&[term, with_line_feed]);
        if Automata::new(terms.clone(), self.max_states).start(with_line_feed)?.is_none() {
            return Ok(term);
        }
        let table = terms.determinize_until(term, self.max_states, &self.deadline)?;
        let table = table.ok_or_else(exceeded)?;
        let start = table.start().ok_or_else(exceeded)?;
        Ok(terms.table(indented_block::image(&table, start, prefix, last_line)))
    }

    /// Whether a word of a term may have a line feed, as far as the form of the term shows.
    fn may_have_line_feed(&mut self, terms: &Terms, term: TermId) -> bool {
        let mut stack = vec![(term, false)];
        while let Some((next, operands_are_done)) = stack.pop() {
            if self.line_feeds.contains_key(&next) {
                continue;
            }
            let (parts, known) = match terms.get(next) {
                Term::Nothing | Term::Epsilon => (Vec::new(), false),
                Term::Bytes(set) => (Vec::new(), set.contains(b'\n')),
                Term::Literal(chunk) => (Vec::new(), chunk.as_slice().contains(&b'\n')),
                Term::Complement(_) => (Vec::new(), true),
                Term::Table { table, .. } => {
                    let table = terms.shared_table(*table);
                    let mut edges = table.states().flat_map(|state| table.edges(state));
                    (Vec::new(), edges.any(|(low, high, _)| (low..=high).contains(&b'\n')))
                }
                Term::Concat(..) => (elements(terms, next), false),
                Term::Union(parts) | Term::Intersection(parts) => (parts.to_vec(), false),
                Term::Repeat { term, .. } | Term::FirstMatch(term) => (vec![*term], false),
            };
            if operands_are_done {
                let mut parts = parts.iter().map(|part| self.line_feeds[part]);
                let may = match terms.get(next) {
                    Term::Intersection(_) => parts.all(|part| part),
                    _ => known || parts.any(|part| part),
                };
                self.line_feeds.insert(next, may);
            } else {
                stack.push((next, true));
                stack.extend(parts.into_iter().map(|part| (part, false)));
            }
        }
        self.line_feeds[&term]
    }

    /// The image of a term whose operands have images.
    fn image_of_operands(&mut self, terms: &mut Terms, term: TermId) -> Result<TermImage, LimitExceeded> {
        self.deadline.check()?;
        let image = match terms.get(term).clone() {
            Term::Nothing | Term::Epsilon => TermImage::whole(term),
            Term::Bytes(set) => self.bytes(terms, set),
            Term::Literal(chunk) => self.word(terms, chunk.as_slice()),
            Term::Concat(..) => match self.concatenation(terms, term) {
                Some(image) => image,
                None => self.determinized(terms, term)?,
            },
            Term::Union(parts) => {
                let parts: Vec<TermImage> = parts.iter().map(|part| self.images[part]).collect();
                let images: Vec<TermId> = parts.iter().map(|part| part.term).collect();
                TermImage {
                    term: terms.union(&images),
                    begins_inside: parts.iter().any(|part| part.begins_inside),
                    ends_inside: parts.iter().any(|part| part.ends_inside),
                }
            }
            Term::Intersection(parts) => self.intersection(terms, &parts),
            Term::Complement(part) => {
                let outside = terms.complement(self.images[&part].term);
                let all = self.everything(terms);
                let term = terms.intersection(&[all, outside]);
                TermImage { term, begins_inside: true, ends_inside: true }
            }
            Term::Repeat { term: TermId::ANY_BYTE, min: 0, max: None } => {
                TermImage { term: self.everything(terms), begins_inside: true, ends_inside: true }
            }
            Term::Repeat { term: part, min, max } => {
                let part = self.images[&part];
                if part.begins_inside && part.ends_inside {
                    self.determinized(terms, term)?
                } else {
                    TermImage { term: terms.repeat(part.term, min, max), ..part }
                }
            }
            Term::FirstMatch(part) => {
                let part = self.images[&part];
                if part.ends_inside {
                    self.determinized(terms, term)?
                } else {
                    TermImage { term: terms.first_match(part.term), ..part }
                }
            }
            Term::Table { table, state } => {
                let table = terms.shared_table(table).clone();
                self.table(terms, &table, state)?
            }
        };
        Ok(image)
    }

    /// All concatenations of spellings and of bytes that represent themselves.
    fn everything(&mut self, terms: &mut Terms) -> TermId {
        let any = self.bytes(terms, ByteSet::ALL).term;
        let characters = CharTransition { first: 0x80, last: 0x10_ffff, target: TreeNodeId::END };
        let edges =
            self.trees.character_edges(&self.encoding, LiteralSpellings::BytesByCaller, &[characters]);
        let root = self.trees.intern(false, edges);
        let beyond_ascii = self.trees.term(terms, root);
        let unit = terms.union(&[any, beyond_ascii]);
        terms.repeat(unit, 0, None)
    }

    fn bytes(&mut self, terms: &mut Terms, set: ByteSet) -> TermImage {
        let ascii = set.intersection(ByteSet::range(0, 0x7f));
        let others = set.intersection(ByteSet::range(0x80, 0xff));
        let characters: Vec<(char, char)> =
            ascii.iter().map(|byte| (char::from(byte), char::from(byte))).collect();
        let characters = self.class(terms, &characters);
        let others_term = terms.bytes(others);
        let term = terms.union(&[characters, others_term]);
        let begins_inside = !others.intersection(ByteSet::range(0x80, 0xbf)).is_empty();
        TermImage { term, begins_inside, ends_inside: !others.is_empty() }
    }

    /// One of the characters of ascending ranges.
    fn class(&mut self, terms: &mut Terms, ranges: &[(char, char)]) -> TermId {
        let transitions: Vec<CharTransition> = ranges
            .iter()
            .map(|&(first, last)| CharTransition {
                first: first.into(),
                last: last.into(),
                target: TreeNodeId::END,
            })
            .collect();
        if transitions.is_empty() {
            return terms.nothing();
        }
        let root = self.trees.character(&self.encoding, false, &transitions);
        self.trees.term(terms, root)
    }

    fn word(&mut self, terms: &mut Terms, word: &[u8]) -> TermImage {
        let mut parts = Vec::new();
        let mut ends_inside = false;
        for chunk in word.utf8_chunks() {
            let mut plain = String::new();
            for character in chunk.valid().chars() {
                if self.encoding.is_plain(character) {
                    plain.push(character);
                } else {
                    parts.push(terms.literal(plain.as_bytes()));
                    plain.clear();
                    parts.push(self.class(terms, &[(character, character)]));
                }
            }
            parts.push(terms.literal(plain.as_bytes()));
            parts.push(terms.literal(chunk.invalid()));
            ends_inside = !chunk.invalid().is_empty();
        }
        let begins_inside = word.first().is_some_and(|byte| (0x80..=0xbf).contains(byte));
        TermImage { term: terms.concat(&parts), begins_inside, ends_inside }
    }

    /// The image of a concatenation; `None` if a character may begin in one element and end in another one.
    fn concatenation(&mut self, terms: &mut Terms, term: TermId) -> Option<TermImage> {
        let mut images = Vec::new();
        let mut word: Vec<u8> = Vec::new();
        // Whether a character may have begun in an element before, whether all elements so far may be empty, and
        // whether a word may begin inside a character.
        let (mut is_open, mut is_nullable, mut begins_inside) = (false, true, false);
        let mut elements = elements(terms, term).into_iter().peekable();
        while let Some(element) = elements.next() {
            let image = match terms.as_word(element) {
                Some(chunk) => {
                    word.extend_from_slice(chunk.as_slice());
                    if elements.peek().is_some_and(|&next| terms.as_word(next).is_some()) {
                        continue;
                    }
                    self.word(terms, &std::mem::take(&mut word))
                }
                None => self.images[&element],
            };
            if is_open && image.begins_inside {
                return None;
            }
            begins_inside |= is_nullable && image.begins_inside;
            let separates = !terms.is_nullable(element) && (!image.begins_inside || !image.ends_inside);
            is_open = image.ends_inside || (is_open && !separates);
            is_nullable &= terms.is_nullable(element);
            images.push(image);
        }
        let parts: Vec<TermId> = images.iter().map(|image| image.term).collect();
        Some(TermImage { term: terms.concat(&parts), begins_inside, ends_inside: is_open })
    }

    fn intersection(&mut self, terms: &mut Terms, parts: &[TermId]) -> TermImage {
        let mut images = Vec::new();
        let (mut begins_inside, mut ends_inside, mut is_bounded) = (true, true, false);
        for &part in parts {
            if let Term::Complement(inside) = *terms.get(part) {
                let inside = self.images[&inside].term;
                images.push(terms.complement(inside));
                continue;
            }
            let image = self.images[&part];
            begins_inside &= image.begins_inside;
            ends_inside &= image.ends_inside;
            // Every image but a complement has spelled texts only.
            is_bounded = true;
            images.push(image.term);
        }
        if !is_bounded {
            images.push(self.everything(terms));
        }
        TermImage { term: terms.intersection(&images), begins_inside, ends_inside }
    }

    fn table(
        &mut self,
        terms: &mut Terms,
        table: &Table,
        state: TableState,
    ) -> Result<TermImage, LimitExceeded> {
        let is_cut = !is_text(table, state);
        let image = self.trees.table_image(&self.encoding, table, state, &self.deadline)?;
        Ok(TermImage { term: terms.table(image), begins_inside: is_cut, ends_inside: is_cut })
    }

    fn determinized(&mut self, terms: &mut Terms, term: TermId) -> Result<TermImage, LimitExceeded> {
        let mut automata = Automata::new(terms.clone(), self.max_states);
        if automata.start(term)?.is_none() {
            return Ok(TermImage::whole(terms.nothing()));
        }
        let table = terms
            .determinize_until(term, self.max_states, &self.deadline)?
            .ok_or_else(|| LimitExceeded::new("automaton_states", self.max_states))?;
        match table.start() {
            Some(start) => self.table(terms, &table, start),
            None => Ok(TermImage::whole(terms.nothing())),
        }
    }
}

/// The elements of a chain of concatenations.
fn elements(terms: &Terms, term: TermId) -> Vec<TermId> {
    let mut elements = Vec::new();
    let mut rest = term;
    while let Term::Concat(first, next) = *terms.get(rest) {
        elements.push(first);
        rest = next;
    }
    elements.push(rest);
    elements
}

/// The operands whose images the image of a term is made of.
fn operands(terms: &Terms, term: TermId) -> Vec<TermId> {
    match terms.get(term) {
        Term::Concat(..) => elements(terms, term),
        Term::Union(parts) => parts.to_vec(),
        Term::Intersection(parts) => parts
            .iter()
            .map(|&part| match *terms.get(part) {
                Term::Complement(inside) => inside,
                _ => part,
            })
            .collect(),
        Term::Repeat { term: TermId::ANY_BYTE, min: 0, max: None } => Vec::new(),
        Term::Complement(part) | Term::Repeat { term: part, .. } | Term::FirstMatch(part) => vec![*part],
        Term::Nothing | Term::Epsilon | Term::Bytes(_) | Term::Literal(_) | Term::Table { .. } => Vec::new(),
    }
}
