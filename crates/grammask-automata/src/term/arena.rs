//! The arena of hash-consed terms.
//!
//! The arena only grows. A term is interned by its content hash, a function of the term's structure alone. Operands
//! of commutative operations are sorted by content hash, so a term does not depend on the order in which terms were
//! made. Each term stores [`Facts`]: nullability, and the properties that follow from its syntactic form.

use std::hash::BuildHasher;
use std::sync::Arc;

use rustc_hash::FxBuildHasher;

use grammask_collections::incremental_hash_table::IncrementalHashTable;
use grammask_collections::reserve::reserve_one;

use crate::derivative::memo::DerivativeMemo;
use crate::dfa::table::{StateFingerprint, Table, TableState};
use crate::term::content_hash::ContentHasher;
use grammask_collections::byte_set::ByteSet;

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

/// A short nonempty word, stored inline. A longer word is a chain of chunks, all of them full except the first, so
/// that every suffix of a word has a unique form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LiteralChunk {
    len: u8,
    bytes: [u8; Self::CAPACITY],
}

impl LiteralChunk {
    /// Maximum length in bytes: a chunk is then as large as a byte set, the largest other variant of [`Term`].
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

/// One term. The constructors of [`Terms`] maintain the normal form that the variants describe.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Term {
    /// No word.
    Nothing,
    /// The empty word.
    Epsilon,
    /// One byte of a nonempty set.
    Bytes(ByteSet),
    /// A word of at least two bytes.
    Literal(LiteralChunk),
    /// The first operand, which is not a `Concat`, then the second.
    Concat(TermId, TermId),
    /// At least two operands, none of them a `Union`, sorted by content hash.
    Union(Arc<[TermId]>),
    /// At least two operands, none of them an `Intersection`, sorted by content hash.
    Intersection(Arc<[TermId]>),
    /// Every word that is not in the operand.
    Complement(TermId),
    /// `min` to `max` consecutive words of `term`; without `max` the count is unbounded.
    Repeat { term: TermId, min: u32, max: Option<u32> },
    /// The nonempty words of the operand that have no shorter nonempty prefix in the operand.
    FirstMatch(TermId),
    /// The language of a state of a [`Table`].
    Table { table: TableId, state: TableState },
}

/// The topmost operation of a term, with its operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Structure {
    /// A word of each operand, in order.
    Concatenation(Vec<TermId>),
    /// A word of any operand.
    Union(Vec<TermId>),
    /// `min` to `max` consecutive words of `term`.
    Repetition {
        /// The operand.
        term: TermId,
        /// Minimum number of copies.
        min: u32,
        /// Maximum number of copies; `None` is unbounded.
        max: Option<u32>,
    },
    /// Any other operation, or a leaf.
    Other,
}

/// A term with its content hash and its facts.
#[derive(Clone, Debug)]
struct TermRecord {
    term: Term,
    /// The content hash, as two words: a `u128` is aligned to 16 bytes, which would make records larger.
    hash: [u64; 2],
    facts: Facts,
}

impl TermRecord {
    fn hash(&self) -> u128 {
        u128::from(self.hash[1]) << u64::BITS | u128::from(self.hash[0])
    }
}

/// Facts about a language that follow from the form of its term, or that a search has established.
///
/// Except for `nullable` they are one-sided: `false` means that the fact has not been established.
#[derive(Clone, Copy, Debug)]
struct Facts {
    /// Lower bound on the length of the words, in bytes.
    min_length: u32,
    /// The language contains the empty word.
    nullable: bool,
    /// The language contains a nonempty word.
    has_nonempty_word: bool,
    /// Whether the language contains a word; no if a search has shown that it is empty.
    inhabited: Option<bool>,
    /// Whether the language is finite.
    finite: Option<bool>,
}

/// The arena of all regular languages of a grammar.
#[derive(Clone, Debug)]
pub struct Terms {
    records: Vec<TermRecord>,
    ids: IncrementalHashTable,
    /// Cache in front of `ids`, by a hash over operand ids, which costs less than a content hash. Not all terms have an
    /// entry.
    by_operands: IncrementalHashTable,
    tables: Vec<Arc<Table>>,
    /// Bytes of all tables, measured when they were added.
    table_bytes: usize,
    /// Number of operands of all unions and intersections.
    operands: usize,
    /// Terms that have been proved to be prefix codes.
    pub(crate) prefix_codes: Vec<TermId>,
    pub(crate) memo: DerivativeMemo,
}

impl Default for Terms {
    fn default() -> Self {
        Self::new()
    }
}

impl Terms {
    /// An arena with the four constant terms.
    #[must_use]
    pub fn new() -> Self {
        let mut terms = Self {
            records: Vec::new(),
            ids: IncrementalHashTable::default(),
            by_operands: IncrementalHashTable::default(),
            tables: Vec::new(),
            table_bytes: 0,
            operands: 0,
            prefix_codes: Vec::new(),
            memo: DerivativeMemo::default(),
        };
        assert_eq!(terms.intern(Term::Nothing), TermId::NOTHING);
        assert_eq!(terms.intern(Term::Epsilon), TermId::EPSILON);
        assert_eq!(terms.intern(Term::Bytes(ByteSet::ALL)), TermId::ANY_BYTE);
        let anything = Term::Repeat { term: TermId::ANY_BYTE, min: 0, max: None };
        assert_eq!(terms.intern(anything), TermId::ANYTHING);
        terms
    }

    /// The topmost operation of a term.
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

    /// The operands of an intersection; none for other terms.
    #[must_use]
    pub fn intersected(&self, term: TermId) -> &[TermId] {
        match self.get(term) {
            Term::Intersection(operands) => operands,
            _ => &[],
        }
    }

    /// Whether the term, or an alternative of it, is a repetition or a concatenation with a repetition.
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

    /// Number of terms.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "an arena always holds the constant terms")]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Estimated memory of the arena, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.records.capacity() * size_of::<TermRecord>()
            + self.ids.memory_bytes()
            + self.by_operands.memory_bytes()
            + self.operands * size_of::<TermId>()
            + self.memo.memory_bytes()
            + self.table_bytes
    }

    /// Whether the language contains the empty word.
    #[must_use]
    pub fn is_nullable(&self, term: TermId) -> bool {
        self.facts(term).nullable
    }

    /// A hash of the term's structure, independent of the arena and of the order in which terms were made. Equal
    /// hashes mean equal languages; the converse does not hold, since a language has many terms.
    #[must_use]
    pub fn content_hash(&self, term: TermId) -> u128 {
        self.records[term.index()].hash()
    }

    /// Records the outcome of an emptiness search, so that no later use of the term repeats it.
    pub(crate) fn record_inhabited(&mut self, term: TermId, inhabited: bool) {
        self.records[term.index()].facts.inhabited = Some(inhabited);
    }

    /// Adopts the result of a search about the same term of another arena.
    pub(crate) fn adopt_facts(&mut self, term: TermId, source: &Self, in_source: TermId) {
        if let Some(inhabited) = source.facts(in_source).inhabited {
            self.record_inhabited(term, inhabited);
        }
    }

    /// Whether a search has shown that the language is empty.
    pub(crate) fn is_known_empty(&self, term: TermId) -> bool {
        self.facts(term).inhabited == Some(false)
    }

    /// Whether the form of the term, or an earlier search, shows that the language is not empty. Every term without
    /// intersections and complements is [`TermId::NOTHING`] or known to be inhabited.
    pub(crate) fn is_known_inhabited(&self, term: TermId) -> bool {
        self.facts(term).inhabited == Some(true)
    }

    /// Whether the form of the term shows that the language contains a nonempty word.
    pub(crate) fn has_nonempty_word_by_form(&self, term: TermId) -> bool {
        self.facts(term).has_nonempty_word
    }

    /// A lower bound on the length of the words, in bytes.
    pub(crate) fn min_length_by_form(&self, term: TermId) -> u32 {
        self.facts(term).min_length
    }

    /// Whether the form of the term shows that the language is finite.
    pub(crate) fn is_finite_by_form(&self, term: TermId) -> bool {
        self.facts(term).finite == Some(true)
    }

    /// Whether the form of the term shows that the language is infinite.
    pub fn is_infinite_by_form(&self, term: TermId) -> bool {
        self.facts(term).finite == Some(false)
    }

    pub(crate) fn get(&self, term: TermId) -> &Term {
        &self.records[term.index()].term
    }

    pub(crate) fn get_table(&self, table: TableId) -> &Table {
        &self.tables[table.0 as usize]
    }

    /// A table, for sharing with another arena.
    pub(crate) fn shared_table(&self, table: TableId) -> &Arc<Table> {
        &self.tables[table.index()]
    }

    /// The term with this content hash, if the arena has it.
    pub(crate) fn find_by_hash(&self, hash: u128) -> Option<TermId> {
        // The lower half selects the slot; the comparison is over all 128 bits.
        let id = self.ids.find(hash as u64, |id| self.records[id].hash() == hash);
        id.map(|id| TermId(id as u32))
    }

    /// Adds a table to the arena.
    pub(crate) fn add_table(&mut self, table: Arc<Table>) -> TableId {
        let id = TableId(u32::try_from(self.tables.len()).expect("memory ends before four billion tables"));
        self.table_bytes += table.memory_bytes();
        self.tables.push(table);
        id
    }

    /// The first element of a chain of concatenations, and the remaining chain.
    pub(crate) fn split_head(&self, term: TermId) -> (TermId, TermId) {
        match *self.get(term) {
            Term::Concat(head, tail) => (head, tail),
            _ => (term, TermId::EPSILON),
        }
    }

    /// The table at the head of a concatenation, its state, and the tail of the concatenation.
    pub fn leading_table(&self, term: TermId) -> Option<(&Arc<Table>, TableState, TermId)> {
        let (head, tail) = self.split_head(term);
        let Term::Table { table, state } = self.get(head) else { return None };
        Some((self.shared_table(*table), *state, tail))
    }

    /// The table and state of a [`Term::Table`]; `None` for all other terms.
    pub(crate) fn as_table_state(&self, term: TermId) -> Option<(TableId, TableState)> {
        match self.get(term) {
            Term::Table { table, state } => Some((*table, *state)),
            _ => None,
        }
    }

    fn facts(&self, term: TermId) -> Facts {
        self.records[term.index()].facts
    }

    /// The id of `term`, which must be in normal form.
    pub(crate) fn intern(&mut self, term: Term) -> TermId {
        if self.has_stored_hash(&term) {
            let hash = self.hash_of(&term);
            return self.find_by_hash(hash).unwrap_or_else(|| self.push(term, hash));
        }
        let key = FxBuildHasher.hash_one(&term);
        if let Some(id) = self.by_operands.find(key, |id| self.records[id].term == term) {
            return TermId(id as u32);
        }
        let hash = self.hash_of(&term);
        let id = match self.find_by_hash(hash) {
            // An equal state of another table, which a lookup of this one would not find.
            Some(id) if *self.get(id) != term => return id,
            Some(id) => id,
            None => self.push(term, hash),
        };
        self.by_operands.insert(key, id.index());
        id
    }

    /// Whether the content hash is stored with the table. Then an entry of the cache by operand ids would only take
    /// memory, and word lists have a state per byte.
    fn has_stored_hash(&self, term: &Term) -> bool {
        matches!(term, Term::Table { table, .. } if self.get_table(*table).is_acyclic())
    }

    /// Adds a term that the arena does not have.
    pub(crate) fn push(&mut self, term: Term, hash: u128) -> TermId {
        let facts = self.facts_of(&term);
        if let Term::Union(parts) | Term::Intersection(parts) = &term {
            self.operands += parts.len();
        }
        let id = TermId(u32::try_from(self.records.len()).expect("memory ends before four billion terms"));
        reserve_one(&mut self.records);
        self.records.push(TermRecord { term, hash: [hash as u64, (hash >> u64::BITS) as u64], facts });
        self.ids.insert(hash as u64, id.index());
        id
    }

    /// The language of the start state of `table`.
    pub fn table(&mut self, table: impl Into<Arc<Table>>) -> TermId {
        let table = table.into();
        let Some(start) = table.start() else { return TermId::NOTHING };
        if let Some(known) = self.find_by_hash(table_state_hash(&table, start)) {
            return known;
        }
        let id = self.add_table(table);
        self.table_state(id, start)
    }

    /// The language of a state of a table, simplified where one look at the state's edges allows it.
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
        // Every kind of term has a tag of its own, so that hashes of different kinds differ.
        let mut hasher;
        match term {
            Term::Nothing => hasher = ContentHasher::new(1),
            Term::Epsilon => hasher = ContentHasher::new(2),
            Term::Bytes(set) => {
                hasher = ContentHasher::new(3);
                set.words().iter().for_each(|&word| hasher.write(word));
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
        let (nullable, inhabited, has_nonempty_word) = match term {
            Term::Nothing => (false, false, false),
            Term::Epsilon => (true, true, false),
            Term::Bytes(_) | Term::Literal(_) => (false, true, true),
            Term::Concat(head, tail) => {
                let inhabited = self.is_known_inhabited(*head) && self.is_known_inhabited(*tail);
                let (head, tail) = (self.facts(*head), self.facts(*tail));
                (
                    head.nullable && tail.nullable,
                    inhabited,
                    inhabited && (head.has_nonempty_word || tail.has_nonempty_word),
                )
            }
            Term::Union(parts) => {
                let any = |fact: fn(Facts) -> bool| parts.iter().any(|&part| fact(self.facts(part)));
                (
                    any(|facts| facts.nullable),
                    any(|facts| facts.inhabited == Some(true)),
                    any(|facts| facts.has_nonempty_word),
                )
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
                (nullable, nullable || facts.inhabited == Some(true), facts.has_nonempty_word)
            }
            Term::FirstMatch(part) => {
                let has_nonempty_word = self.facts(*part).has_nonempty_word;
                (false, has_nonempty_word, has_nonempty_word)
            }
            // A table holds no dead state, and a state without edges is `Epsilon`.
            Term::Table { table, state } => (self.get_table(*table).is_accepting(*state), true, true),
        };
        let min_length = match term {
            _ if nullable => 0,
            Term::Literal(chunk) => chunk.as_slice().len() as u32,
            Term::Concat(head, tail) => {
                self.min_length_by_form(*head).saturating_add(self.min_length_by_form(*tail))
            }
            Term::Union(parts) => parts.iter().map(|&part| self.min_length_by_form(part)).min().unwrap_or(0),
            Term::Intersection(parts) => {
                parts.iter().map(|&part| self.min_length_by_form(part)).max().unwrap_or(0)
            }
            Term::Repeat { term, min, .. } => self.min_length_by_form(*term).saturating_mul(*min),
            Term::Table { table, state } if !self.get_table(*table).is_acyclic() => {
                self.get_table(*table).shortest_lengths()[state.index()]
            }
            // Lists of words are large, and searches through them are short.
            _ => 1,
        };
        Facts {
            min_length,
            nullable,
            has_nonempty_word,
            inhabited: inhabited.then_some(true),
            finite: (finite || infinite).then_some(finite),
        }
    }
}

fn table_state_hash(table: &Table, state: TableState) -> u128 {
    match table.fingerprint(state) {
        // The fingerprint is a SipHash already; hashing it again would cost 30 ns per state of a word list.
        StateFingerprint::Content(hash) => hash ^ TABLE_STATE_SALT,
        StateFingerprint::Position(hash, position) => {
            let mut hasher = ContentHasher::new(12);
            hasher.write_hash(hash);
            hasher.write(position as u64);
            hasher.finish()
        }
    }
}

/// Distinguishes the hash of a term from the fingerprint of its table state. The value is arbitrary.
const TABLE_STATE_SALT: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834;
