//! Regular languages over bytes as hash-consed terms: what a term is, and the arena that holds all of them.
//!
//! The arena only grows. A term is found again by its content hash, which depends on nothing but the term's
//! structure; operands of commutative operations are sorted by it, so the order in which terms were made
//! leaves no trace. Every term knows whether it contains the empty word and, where its shape alone says so,
//! whether it contains any word at all.

use std::hash::BuildHasher;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use grammask_collections::id_table::IdTable;

use crate::byte_set::ByteSet;
use crate::derivative::derive::Memo;
use crate::dfa::table::{StateFingerprint, Table, TableState};
use crate::term::content_hash::ContentHasher;

/// A regular language in a [`Terms`] arena; equal ids are the same term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TermId(u32);

impl TermId {
    /// The empty language.
    pub(crate) const NOTHING: Self = Self(0);
    /// Only the empty word.
    pub(crate) const EPSILON: Self = Self(1);
    /// Any one byte.
    pub(crate) const ANY_BYTE: Self = Self(2);
    /// All words.
    pub(crate) const ANYTHING: Self = Self(3);

    /// Position in the arena.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Position of a table in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TableId(u32);

impl TableId {
    /// Position in the arena's list of tables.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A short nonempty word, kept in place. Longer words are chains of chunks of which all but the first are
/// full, so that every suffix of a word has one form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Chunk {
    len: u8,
    bytes: [u8; Self::CAPACITY],
}

impl Chunk {
    /// As many bytes as fit in the space that a byte set takes anyway.
    pub(crate) const CAPACITY: usize = 30;

    /// A chunk of at most [`Self::CAPACITY`] bytes.
    pub(crate) fn new(word: &[u8]) -> Self {
        let mut bytes = [0; Self::CAPACITY];
        bytes[..word.len()].copy_from_slice(word);
        Self { len: word.len() as u8, bytes }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// One term. Made by the constructors of [`Terms`] only, which keep these forms apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Term {
    /// No word.
    Nothing,
    /// The empty word.
    Epsilon,
    /// One byte of a nonempty set.
    Bytes(ByteSet),
    /// A word of at least two bytes.
    Literal(Chunk),
    /// The first, which is no `Concat`, then the second.
    Concat(TermId, TermId),
    /// Any of at least two, none of them a `Union`, sorted by content hash.
    Union(Arc<[TermId]>),
    /// All of at least two, none of them an `Intersection`, sorted by content hash.
    Intersection(Arc<[TermId]>),
    /// Every word that is not in it.
    Complement(TermId),
    /// `min` to `max` words of `term` in a row; any number above `min` if there is no `max`.
    Repeat { term: TermId, min: u32, max: Option<u32> },
    /// The nonempty words of it of which no shorter nonempty prefix is in it.
    FirstMatch(TermId),
    /// What a ready-made automaton accepts from one of its states.
    Table { table: TableId, state: TableState },
}

/// How a term is made of others, at its top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Structure {
    /// One word of each, in this order.
    Concatenation(Vec<TermId>),
    /// A word of any.
    Union(Vec<TermId>),
    /// `min` to `max` words of `term` in a row.
    Repetition {
        /// What is repeated.
        term: TermId,
        /// The fewest copies.
        min: u32,
        /// The most copies.
        max: Option<u32>,
    },
    /// Something else.
    Other,
}

#[derive(Clone, Debug)]
struct Node {
    term: Term,
    hash: u128,
    facts: Facts,
}

/// What is known of a language, from its shape or from a search.
#[derive(Clone, Copy, Debug)]
struct Facts {
    /// The empty word is in it.
    nullable: bool,
    /// Some word is in it. Where this is false nothing is known, except of `Nothing`.
    inhabited: bool,
    /// A search found no word in it. Where this is false nothing is known.
    empty: bool,
    /// Some nonempty word is in it. Where this is false nothing is known.
    extends: bool,
    /// A repetition in it has a distant bound, not below a complement or a first match.
    distant: bool,
    /// All words of it are at least this long.
    shortest: u32,
    /// It has only so many words. Where this is false nothing is known.
    finite: bool,
    /// It has infinitely many words. Where this is false nothing is known.
    infinite: bool,
}

/// The arena of all regular languages of a grammar.
#[derive(Clone, Debug)]
pub struct Terms {
    nodes: Vec<Node>,
    ids: IdTable,
    /// Terms by a hash of how they are made in this arena, which is cheaper than that of their content; not necessarily all.
    by_form: FxHashMap<u64, TermId>,
    tables: Vec<Arc<Table>>,
    /// What the tables took when they came.
    table_bytes: usize,
    /// How many operands all unions and intersections have together.
    operands: usize,
    /// Terms that were proved to be codes.
    pub(crate) codes: Vec<TermId>,
    pub(crate) memo: Memo,
}

impl Default for Terms {
    fn default() -> Self {
        Self::new()
    }
}

impl Terms {
    /// An arena that holds the simplest terms only.
    #[must_use]
    pub fn new() -> Self {
        let mut terms = Self {
            nodes: Vec::new(),
            ids: IdTable::default(),
            by_form: FxHashMap::default(),
            tables: Vec::new(),
            table_bytes: 0,
            operands: 0,
            codes: Vec::new(),
            memo: Memo::default(),
        };
        assert_eq!(terms.intern(Term::Nothing), TermId::NOTHING);
        assert_eq!(terms.intern(Term::Epsilon), TermId::EPSILON);
        assert_eq!(terms.intern(Term::Bytes(ByteSet::ALL)), TermId::ANY_BYTE);
        let anything = Term::Repeat { term: TermId::ANY_BYTE, min: 0, max: None };
        assert_eq!(terms.intern(anything), TermId::ANYTHING);
        terms
    }

    /// How a term is made of others, at its top.
    #[must_use]
    pub fn structure(&self, term: TermId) -> Structure {
        match self.get(term) {
            Term::Concat(..) => {
                let mut parts = Vec::new();
                let mut rest = term;
                while let Term::Concat(first, next) = *self.get(rest) {
                    parts.push(first);
                    rest = next;
                }
                parts.push(rest);
                Structure::Concatenation(parts)
            }
            Term::Union(parts) => Structure::Union(parts.to_vec()),
            &Term::Repeat { term, min, max } => Structure::Repetition { term, min, max },
            _ => Structure::Other,
        }
    }

    /// Whether [`Self::structure`] shows a repetition in the term, or in the parts of its parts.
    #[must_use]
    pub fn has_repetition(&self, term: TermId) -> bool {
        let in_chain = |mut rest: TermId| {
            while let Term::Concat(first, next) = *self.get(rest) {
                if matches!(self.get(first), Term::Repeat { .. }) {
                    return true;
                }
                rest = next;
            }
            matches!(self.get(rest), Term::Repeat { .. })
        };
        match self.get(term) {
            Term::Union(parts) => parts.iter().any(|&part| in_chain(part)),
            _ => in_chain(term),
        }
    }

    /// How many terms there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "an arena always holds the simplest terms")]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Estimate of the memory that the arena takes, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
            + self.ids.memory_bytes()
            + self.by_form.capacity() * (size_of::<(u64, TermId)>() + 1)
            + self.operands * size_of::<TermId>()
            + self.memo.memory_bytes()
            + self.table_bytes
    }

    /// Whether the empty word is in the language.
    #[must_use]
    pub fn is_nullable(&self, term: TermId) -> bool {
        self.facts(term).nullable
    }

    /// A hash of the term's structure: equal for equal terms in whatever arena and order they were made, so
    /// equal hashes mean equal languages. The converse does not hold: a language has many terms.
    #[must_use]
    pub fn content_hash(&self, term: TermId) -> u128 {
        self.nodes[term.index()].hash
    }

    /// Records whether the language has a word, which a search found out: who uses the term later need not search again.
    pub(crate) fn record_inhabited(&mut self, term: TermId, inhabited: bool) {
        let facts = &mut self.nodes[term.index()].facts;
        facts.inhabited |= inhabited;
        facts.empty |= !inhabited;
    }

    /// Whether a search found that the language has no word.
    pub(crate) fn is_known_empty(&self, term: TermId) -> bool {
        self.facts(term).empty
    }

    /// Whether the shape, or a search before, says that the language has a word. Every term without intersections and
    /// complements is [`TermId::NOTHING`] or has one.
    pub(crate) fn is_known_inhabited(&self, term: TermId) -> bool {
        self.facts(term).inhabited
    }

    /// Whether the shape alone says that the language has a nonempty word.
    pub(crate) fn extends_by_shape(&self, term: TermId) -> bool {
        self.facts(term).extends
    }

    /// A length that all words of the language have at least.
    pub(crate) fn shortest_by_shape(&self, term: TermId) -> u32 {
        self.facts(term).shortest
    }

    /// Whether a repetition has a distant bound, not below a complement or a first match.
    pub fn has_distant_bounds(&self, term: TermId) -> bool {
        self.facts(term).distant
    }

    /// Whether the shape says that the language has only so many words.
    pub(crate) fn is_finite_by_shape(&self, term: TermId) -> bool {
        self.facts(term).finite
    }

    /// Whether the shape says that the language has infinitely many words.
    pub fn is_infinite_by_shape(&self, term: TermId) -> bool {
        self.facts(term).infinite
    }

    pub(crate) fn get(&self, term: TermId) -> &Term {
        &self.nodes[term.index()].term
    }

    pub(crate) fn get_table(&self, table: TableId) -> &Table {
        &self.tables[table.0 as usize]
    }

    /// A ready-made automaton, to be shared with another arena.
    pub(crate) fn shared_table(&self, table: TableId) -> &Arc<Table> {
        &self.tables[table.index()]
    }

    /// The term of a content hash, if there is one.
    pub(crate) fn with_hash(&self, hash: u128) -> Option<TermId> {
        // The low half of a hash is as good as all of it to look in the right place.
        let id = self.ids.find(hash as u64, |id| self.nodes[id].hash == hash);
        id.map(|id| TermId(id as u32))
    }

    /// Keeps a ready-made automaton of another arena.
    pub(crate) fn keep_table(&mut self, table: Arc<Table>) -> TableId {
        let id = TableId(u32::try_from(self.tables.len()).expect("memory ends before four billion tables"));
        self.table_bytes += table.memory_bytes();
        self.tables.push(table);
        id
    }

    /// The first element of a chain of concatenations, and the rest.
    pub(crate) fn split(&self, term: TermId) -> (TermId, TermId) {
        match *self.get(term) {
            Term::Concat(head, tail) => (head, tail),
            _ => (term, TermId::EPSILON),
        }
    }

    /// The table whose words those of `term` begin with, its state, and what comes after them.
    pub fn leading_table(&self, term: TermId) -> Option<(&Arc<Table>, TableState, TermId)> {
        let (head, tail) = self.split(term);
        let Term::Table { table, state } = self.get(head) else { return None };
        Some((self.shared_table(*table), *state, tail))
    }

    /// The table of which a term is a state, and which; none for all other terms.
    pub(crate) fn whole_table(&self, term: TermId) -> Option<(TableId, TableState)> {
        match self.get(term) {
            Term::Table { table, state } => Some((*table, *state)),
            _ => None,
        }
    }

    fn facts(&self, term: TermId) -> Facts {
        self.nodes[term.index()].facts
    }

    /// The id of `term`, which must be in normal form.
    pub(crate) fn intern(&mut self, term: Term) -> TermId {
        let form = (!self.has_known_hash(&term)).then(|| FxBuildHasher.hash_one(&term));
        if let Some(form) = &form
            && let Some(&id) = self.by_form.get(form)
            && *self.get(id) == term
        {
            return id;
        }
        let hash = self.hash_of(&term);
        let id = self.with_hash(hash).unwrap_or_else(|| self.push(term, hash));
        self.by_form.extend(form.map(|form| (form, id)));
        id
    }

    /// Whether the content hash costs nothing: the states of long lists of words need not be known by their form too.
    fn has_known_hash(&self, term: &Term) -> bool {
        matches!(term, Term::Table { table, .. } if self.get_table(*table).is_acyclic())
    }

    /// A new term.
    fn push(&mut self, term: Term, hash: u128) -> TermId {
        let facts = self.facts_of(&term);
        if let Term::Union(parts) | Term::Intersection(parts) = &term {
            self.operands += parts.len();
        }
        let id = TermId(u32::try_from(self.nodes.len()).expect("memory ends before four billion terms"));
        self.nodes.push(Node { term, hash, facts });
        self.ids.insert(hash as u64, id.index());
        id
    }

    /// The language that `table` accepts from its start.
    pub fn table(&mut self, table: impl Into<Arc<Table>>) -> TermId {
        let table = table.into();
        let Some(start) = table.start() else { return TermId::NOTHING };
        if let Some(known) = self.with_hash(table_state_hash(&table, start)) {
            return known;
        }
        let id = self.keep_table(table);
        self.table_state(id, start)
    }

    /// What `table` accepts from `state`, in the simplest form that is found without search.
    pub(crate) fn table_state(&mut self, id: TableId, state: TableState) -> TermId {
        let table = self.get_table(id);
        let accepting = table.is_accepting(state);
        match table.edges(state).next() {
            None => return TermId::EPSILON,
            Some((0, 255, target)) if accepting && target == state => return TermId::ANYTHING,
            _ => {}
        }
        if !accepting && table.edges(state).all(|(_, _, target)| table.is_final(target)) {
            let mut set = ByteSet::EMPTY;
            for (low, high, _) in table.edges(state) {
                set = set.union(ByteSet::range(low, high));
            }
            return self.intern(Term::Bytes(set));
        }
        self.intern(Term::Table { table: id, state })
    }

    fn hash_of(&self, term: &Term) -> u128 {
        // The tags are part of every content hash; never reuse one.
        let mut hasher;
        match term {
            Term::Nothing => hasher = ContentHasher::new(1),
            Term::Epsilon => hasher = ContentHasher::new(2),
            Term::Bytes(set) => {
                hasher = ContentHasher::new(3);
                set.words().into_iter().for_each(|word| hasher.write(word));
            }
            Term::Literal(chunk) => {
                hasher = ContentHasher::new(4);
                hasher.write_bytes(chunk.as_slice());
            }
            Term::Concat(head, tail) => {
                hasher = ContentHasher::new(5);
                hasher.write_hash(self.content_hash(*head));
                hasher.write_hash(self.content_hash(*tail));
            }
            Term::Union(parts) | Term::Intersection(parts) => {
                hasher = ContentHasher::new(if matches!(term, Term::Union(_)) { 6 } else { 7 });
                hasher.write(parts.len() as u64);
                parts.iter().for_each(|&part| hasher.write_hash(self.content_hash(part)));
            }
            Term::Complement(part) | Term::FirstMatch(part) => {
                hasher = ContentHasher::new(if matches!(term, Term::Complement(_)) { 8 } else { 9 });
                hasher.write_hash(self.content_hash(*part));
            }
            Term::Repeat { term, min, max } => {
                hasher = ContentHasher::new(10);
                hasher.write_hash(self.content_hash(*term));
                hasher.write(u64::from(*min));
                hasher.write(max.map_or(u64::MAX, u64::from));
            }
            Term::Table { table, state } => return table_state_hash(self.get_table(*table), *state),
        }
        hasher.finish()
    }

    fn facts_of(&self, term: &Term) -> Facts {
        let (finite, infinite) = (self.is_finite(term), self.is_infinite(term));
        let (nullable, inhabited, extends) = match term {
            Term::Nothing => (false, false, false),
            Term::Epsilon => (true, true, false),
            Term::Bytes(_) | Term::Literal(_) => (false, true, true),
            Term::Concat(head, tail) => {
                let (head, tail) = (self.facts(*head), self.facts(*tail));
                let inhabited = head.inhabited && tail.inhabited;
                (head.nullable && tail.nullable, inhabited, inhabited && (head.extends || tail.extends))
            }
            Term::Union(parts) => {
                let any = |fact: fn(Facts) -> bool| parts.iter().any(|&part| fact(self.facts(part)));
                (any(|facts| facts.nullable), any(|facts| facts.inhabited), any(|facts| facts.extends))
            }
            Term::Intersection(parts) => {
                let nullable = parts.iter().all(|&part| self.is_nullable(part));
                (nullable, nullable || infinite, infinite)
            }
            Term::Complement(part) => {
                let nullable = !self.is_nullable(*part);
                (nullable, nullable || infinite, infinite)
            }
            Term::Repeat { term, min, .. } => {
                let facts = self.facts(*term);
                let nullable = *min == 0 || facts.nullable;
                (nullable, nullable || facts.inhabited, facts.extends)
            }
            Term::FirstMatch(part) => {
                let extends = self.facts(*part).extends;
                (false, extends, extends)
            }
            // A table holds no dead state, and a state without edges is `Epsilon`.
            Term::Table { table, state } => (self.get_table(*table).is_accepting(*state), true, true),
        };
        let distant = match term {
            Term::Concat(head, tail) => self.has_distant_bounds(*head) || self.has_distant_bounds(*tail),
            Term::Union(parts) | Term::Intersection(parts) => {
                parts.iter().any(|&part| self.has_distant_bounds(part))
            }
            Term::Repeat { term, min, max } => {
                self.distant_bound(*term, *min, *max).is_some() || self.has_distant_bounds(*term)
            }
            _ => false,
        };
        let shortest = match term {
            _ if nullable => 0,
            Term::Literal(chunk) => chunk.as_slice().len() as u32,
            Term::Concat(head, tail) => {
                self.shortest_by_shape(*head).saturating_add(self.shortest_by_shape(*tail))
            }
            Term::Union(parts) => parts.iter().map(|&part| self.shortest_by_shape(part)).min().unwrap_or(0),
            Term::Intersection(parts) => {
                parts.iter().map(|&part| self.shortest_by_shape(part)).max().unwrap_or(0)
            }
            Term::Repeat { term, min, .. } => self.shortest_by_shape(*term).saturating_mul(*min),
            _ => 1,
        };
        Facts { nullable, inhabited, empty: false, extends, finite, infinite, distant, shortest }
    }
}

fn table_state_hash(table: &Table, state: TableState) -> u128 {
    match table.fingerprint(state) {
        // It is a hash of the same kind already, and there is one for each state of a long list of words.
        StateFingerprint::Content(hash) => hash ^ TABLE_STATE,
        StateFingerprint::Position(hash, position) => {
            let mut hasher = ContentHasher::new(12);
            hasher.write_hash(hash);
            hasher.write(position as u64);
            hasher.finish()
        }
    }
}

/// Tells states of tables from the rows of tables that they are named by; any number will do.
const TABLE_STATE: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834;
