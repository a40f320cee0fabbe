//! What is known about terminals on the trie of one vocabulary, shared by all grammars and threads.
//!
//! For a state of a terminal and a set P of trie nodes the *summary* holds
//!
//! - `live`: the tokens below a node of P whose path from it is a nonempty prefix of a word;
//! - `ends`: the nodes below P whose path is a word.
//!
//! States are named by the content hash of their language, so the body of a string is walked once per process,
//! not once per grammar. The store is bounded: when it is full it is emptied, and whoever still uses an entry
//! keeps it alive.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::{Bounds, CountedSummary, NodeSet, TokenId, TokenSet};

/// Bytes that the store may take by default.
const DEFAULT_CAPACITY: usize = 256 << 20;

/// Of more than this part of all ids a bitset finds the order faster than sorting.
const FEW: usize = 512;

/// A node set that is known by identity: as long as one holds it, equal sets of the same store are the same.
#[derive(Clone, Debug)]
pub struct NodeSetRef(Arc<NodeSet>);

impl NodeSetRef {
    /// A set that is not in any store, for sets without nodes and for tests.
    #[must_use]
    pub fn unshared(set: NodeSet) -> Self {
        Self(Arc::new(set))
    }
}

impl std::ops::Deref for NodeSetRef {
    type Target = NodeSet;

    fn deref(&self) -> &NodeSet {
        &self.0
    }
}

impl PartialEq for NodeSetRef {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for NodeSetRef {}

impl Hash for NodeSetRef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

/// A set of tokens, as cheap to add to a mask as it is small.
#[derive(Clone, Debug)]
pub enum LiveTokens {
    /// These tokens, ascending.
    List(Arc<[TokenId]>),
    /// So many that a bitset is smaller.
    Set(Arc<TokenSet>),
}

impl LiveTokens {
    /// No token.
    #[must_use]
    pub fn none() -> Self {
        Self::List(Arc::from([]))
    }

    /// The given tokens, in any order and with repetition, of a vocabulary of `size` ids.
    #[must_use]
    pub fn new(mut tokens: Vec<TokenId>, size: usize) -> Self {
        if tokens.len() > size / 32 {
            let mut set = TokenSet::new(size);
            set.extend(tokens);
            return Self::Set(Arc::new(set));
        }
        if tokens.len() > size / FEW {
            let mut set = TokenSet::new(size);
            set.extend(tokens);
            return Self::List(set.iter().collect());
        }
        tokens.sort_unstable();
        tokens.dedup();
        Self::List(tokens.into())
    }

    /// The tokens of a set.
    #[must_use]
    pub fn from_set(set: TokenSet) -> Self {
        if set.len() > set.size() / 32 { Self::Set(Arc::new(set)) } else { Self::List(set.iter().collect()) }
    }

    /// All tokens of several sets.
    #[must_use]
    pub fn union(parts: &[Self], size: usize) -> Self {
        let mut nonempty = parts.iter().filter(|part| !part.is_empty());
        let (Some(first), second) = (nonempty.next(), nonempty.next()) else { return Self::none() };
        if second.is_none() {
            return first.clone();
        }
        let listed = parts.iter().map(|part| if let Self::List(tokens) = part { tokens.len() } else { size });
        if listed.sum::<usize>() <= size / 32 {
            let lists: Vec<&[TokenId]> = parts
                .iter()
                .filter_map(|part| if let Self::List(tokens) = part { Some(&tokens[..]) } else { None })
                .collect();
            return Self::new(lists.concat(), size);
        }
        let mut set = TokenSet::new(size);
        for part in parts {
            part.add_to(&mut set);
        }
        Self::Set(Arc::new(set))
    }

    /// Whether there is no token.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::List(tokens) if tokens.is_empty())
    }

    /// Whether a token is among them.
    #[must_use]
    pub fn contains(&self, token: TokenId) -> bool {
        match self {
            Self::List(tokens) => tokens.binary_search(&token).is_ok(),
            Self::Set(set) => set.contains(token),
        }
    }

    /// Adds the tokens to a mask.
    pub fn add_to(&self, mask: &mut TokenSet) {
        match self {
            Self::List(tokens) => {
                for &token in &tokens[..] {
                    mask.insert(token);
                }
            }
            Self::Set(set) => mask.union_with(set),
        }
    }

    /// The tokens as a set over `size` ids.
    #[must_use]
    pub fn to_set(&self, size: usize) -> TokenSet {
        match self {
            Self::List(tokens) => {
                let mut set = TokenSet::new(size);
                set.extend(tokens.iter().copied());
                set
            }
            Self::Set(set) => TokenSet::clone(set),
        }
    }

    /// Bytes of memory that the tokens take.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::List(tokens) => size_of_val(&tokens[..]),
            Self::Set(set) => size_of_val(set.words()),
        }
    }
}

/// What is live in a terminal, and where its words end, below some trie nodes.
#[derive(Clone, Debug)]
pub struct TerminalSummary {
    /// Tokens that end inside or right after a word.
    pub live: LiveTokens,
    /// Nodes where a word ends and a token goes on.
    pub ends: NodeSetRef,
}

/// What is known about terminals on the trie of one vocabulary. Bounded; emptied when it is full.
#[derive(Debug)]
pub struct TerminalSummaries {
    contents: Mutex<Contents>,
}

#[derive(Debug)]
struct Contents {
    /// Node sets by the hash of their content.
    sets: FxHashMap<u64, Vec<NodeSetRef>>,
    /// By content hash of the language, and start nodes.
    summaries: FxHashMap<(u128, NodeSetRef), Arc<TerminalSummary>>,
    counted: FxHashMap<(u128, NodeSetRef, Bounds), Arc<CountedSummary>>,
    /// By content hashes of an intersection without its limit, what ends a copy, and the copy.
    limited: FxHashMap<([u128; 3], NodeSetRef, Bounds), Option<Arc<CountedSummary>>>,
    bytes: usize,
    capacity: usize,
}

impl Default for TerminalSummaries {
    fn default() -> Self {
        let contents = Contents {
            sets: FxHashMap::default(),
            summaries: FxHashMap::default(),
            counted: FxHashMap::default(),
            limited: FxHashMap::default(),
            bytes: 0,
            capacity: DEFAULT_CAPACITY,
        };
        Self { contents: Mutex::new(contents) }
    }
}

impl TerminalSummaries {
    /// The one set with this content.
    #[must_use]
    pub fn intern(&self, set: NodeSet) -> NodeSetRef {
        let hash = FxBuildHasher.hash_one(&set);
        let mut contents = self.lock();
        if let Some(known) =
            contents.sets.get(&hash).and_then(|sets| sets.iter().find(|known| ***known == set))
        {
            return known.clone();
        }
        contents.make_room(set.memory_bytes() + 64);
        let set = NodeSetRef(Arc::new(set));
        contents.sets.entry(hash).or_default().push(set.clone());
        set
    }

    /// What is known about the language with this content hash below these nodes.
    #[must_use]
    pub fn get(&self, language: u128, nodes: &NodeSetRef) -> Option<Arc<TerminalSummary>> {
        self.lock().summaries.get(&(language, nodes.clone())).cloned()
    }

    /// Remembers a summary.
    pub fn insert(&self, language: u128, nodes: NodeSetRef, summary: Arc<TerminalSummary>) {
        let mut contents = self.lock();
        contents.make_room(summary.live.memory_bytes() + 128);
        contents.summaries.insert((language, nodes), summary);
    }

    /// What is known about repetitions of the code with this content hash below these nodes.
    #[must_use]
    pub fn get_counted(&self, code: u128, nodes: &NodeSetRef, bounds: Bounds) -> Option<Arc<CountedSummary>> {
        self.lock().counted.get(&(code, nodes.clone(), bounds)).cloned()
    }

    /// Remembers a summary of repetitions.
    pub fn insert_counted(
        &self,
        code: u128,
        nodes: NodeSetRef,
        bounds: Bounds,
        summary: Arc<CountedSummary>,
    ) {
        let mut contents = self.lock();
        contents.make_room(summary.memory_bytes() + 128);
        contents.counted.insert((code, nodes, bounds), summary);
    }

    /// What is known about an intersection with a limit on its length, for all limits; it may be known that it is too hard.
    /// Languages are the intersection without the limit, what ends the copy that has begun, and what is counted.
    #[must_use]
    pub fn get_limited(
        &self,
        languages: [u128; 3],
        nodes: &NodeSetRef,
        bounds: Bounds,
    ) -> Option<Option<Arc<CountedSummary>>> {
        self.lock().limited.get(&(languages, nodes.clone(), bounds)).cloned()
    }

    /// Remembers a summary for all limits, or that there is none.
    pub fn insert_limited(
        &self,
        languages: [u128; 3],
        nodes: NodeSetRef,
        bounds: Bounds,
        summary: Option<Arc<CountedSummary>>,
    ) {
        let mut contents = self.lock();
        contents.make_room(summary.as_ref().map_or(0, |summary| summary.memory_bytes()) + 160);
        contents.limited.insert((languages, nodes, bounds), summary);
    }

    /// Bytes that the store takes, an estimate.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.lock().bytes
    }

    /// How many summaries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        let contents = self.lock();
        contents.summaries.len() + contents.counted.len() + contents.limited.len()
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sets how many bytes the store may take; it is emptied when it grows beyond.
    pub fn set_capacity(&self, bytes: usize) {
        let mut contents = self.lock();
        contents.capacity = bytes;
        contents.make_room(0);
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        // Entries are complete before they are inserted, so a panic elsewhere leaves the store consistent.
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Contents {
    fn make_room(&mut self, bytes: usize) {
        if self.bytes + bytes > self.capacity {
            self.sets.clear();
            self.summaries.clear();
            self.counted.clear();
            self.limited.clear();
            self.bytes = 0;
        }
        self.bytes += bytes;
    }
}
