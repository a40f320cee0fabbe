//! What is known about terminals on the trie of one vocabulary, shared by all grammars and threads; and sets of tokens, their
//! unions and finished masks, equal ones once: most masks of a grammar are masks that an earlier one had.
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
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustc_hash::{FxBuildHasher, FxHashMap, FxHasher};

use crate::sharded_map::ShardedMap;
use crate::{CountedSummary, LiveTokens, Mask, NodeSet, TokenSet, TokenTrie, TrieNode};

/// Bytes that the store may take by default.
const DEFAULT_CAPACITY: usize = 256 << 20;
/// Masks of fewer tokens, without a large set, are made as soon as looked up.
const WORTH_SHARING: usize = 32;

/// A node set that is known by identity: as long as one holds it, equal sets of the same store are the same.
#[derive(Clone, Debug)]
pub struct NodeSetRef(Arc<NodeSet>);

impl NodeSetRef {
    /// A set that is not in any store, for sets without nodes and for tests.
    #[must_use]
    pub fn unshared(set: NodeSet) -> Self {
        Self(Arc::new(set))
    }

    /// Where the set is: as long as it is held, the same place means the same set.
    pub fn place(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
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

/// What is live in a terminal, and where its words end, below some trie nodes.
#[derive(Clone, Debug)]
pub struct TerminalSummary {
    /// Tokens that end inside or right after a word.
    pub live: LiveTokens,
    /// Nodes where a word ends and a token goes on; none where nothing can follow, so that nobody has asked for them.
    pub ends: Option<NodeSetRef>,
}

/// What is live in a bounded repetition, and where it can end, below some trie nodes.
#[derive(Clone, Debug)]
pub struct Repetition {
    /// Tokens that end inside or right after one of the copies.
    pub live: LiveTokens,
    /// Nodes where the repetition can end and a token goes on.
    pub ends: NodeSetRef,
}

/// What is known about terminals on the trie of one vocabulary. Bounded; emptied when it is full.
#[derive(Debug)]
pub struct SummaryCache {
    contents: Mutex<Contents>,
    nothing_and_root: OnceLock<[NodeSetRef; 2]>,
}

/// Tokens that are told apart by their content.
#[derive(Debug)]
struct ByContent {
    hash: u64,
    tokens: LiveTokens,
}

impl Hash for ByContent {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl PartialEq for ByContent {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.tokens.has_content(&other.tokens)
    }
}

impl Eq for ByContent {}

/// A union, and what it is the union of: while that is held, nothing else is in its place.
#[derive(Debug)]
struct Union {
    _parts: Box<[LiveTokens]>,
    tokens: LiveTokens,
}

#[derive(Debug)]
struct Contents {
    /// Node sets by the hash of their content.
    sets: ShardedMap<u64, Vec<NodeSetRef>>,
    /// Sets that stay when the store is emptied.
    lasting: Vec<NodeSetRef>,
    /// By content hash of the language, and where the start nodes are.
    summaries: ShardedMap<(u128, usize), (NodeSetRef, Arc<TerminalSummary>)>,
    counted: FxHashMap<(u128, NodeSetRef), Arc<CountedSummary>>,
    /// By content hash of the code, and start nodes, with the bounds on the number of copies.
    repetitions: ShardedMap<(u128, NodeSetRef, u32, u32), Repetition>,
    /// By content hashes of an intersection without its limit, what ends a copy, and the copy.
    limited: FxHashMap<([u128; 3], NodeSetRef), Option<Arc<CountedSummary>>>,
    /// Sets of tokens, equal ones once.
    tokens: ShardedMap<ByContent, ()>,
    /// Unions of sets of tokens, by where these are, ascending.
    unions: ShardedMap<Box<[usize]>, Union>,
    /// Masks, by where their tokens are.
    masks: ShardedMap<usize, Arc<Mask>>,
    bytes: usize,
    /// Bytes of what is made of the masks.
    mask_bytes: Arc<AtomicUsize>,
    capacity: usize,
}

impl Default for SummaryCache {
    fn default() -> Self {
        let contents = Contents {
            sets: ShardedMap::default(),
            lasting: Vec::new(),
            summaries: ShardedMap::default(),
            counted: FxHashMap::default(),
            repetitions: ShardedMap::default(),
            limited: FxHashMap::default(),
            tokens: ShardedMap::default(),
            unions: ShardedMap::default(),
            masks: ShardedMap::default(),
            bytes: 0,
            mask_bytes: Arc::default(),
            capacity: DEFAULT_CAPACITY,
        };
        Self { contents: Mutex::new(contents), nothing_and_root: OnceLock::new() }
    }
}

impl SummaryCache {
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
        contents.sets.entry_or_default(hash).push(set.clone());
        set
    }

    /// The empty set, and that of the root alone. Every mask begins with them, so they are there without being looked up.
    #[must_use]
    pub fn nothing_and_root(&self, trie: &TokenTrie) -> &[NodeSetRef; 2] {
        self.nothing_and_root.get_or_init(|| {
            [Vec::new(), vec![TrieNode::ROOT.0]].map(|nodes| {
                let set = self.intern(NodeSet::new(nodes, trie));
                self.lock().lasting.push(set.clone());
                set
            })
        })
    }

    /// The same tokens; of equal sets one is kept. Costs a pass over them.
    #[must_use]
    pub fn share(&self, tokens: LiveTokens) -> LiveTokens {
        let mut hasher = FxHasher::default();
        tokens.hash_content(&mut hasher);
        let new = ByContent { hash: hasher.finish(), tokens };
        let mut contents = self.lock();
        if let Some((known, ())) = contents.tokens.get_key_value(&new) {
            return known.tokens.clone();
        }
        let large = if let LiveTokens::Set(set) = &new.tokens { size_of_val(set.words()) } else { 0 };
        contents.make_room(large + new.tokens.memory_bytes() + 64);
        let tokens = new.tokens.clone();
        contents.tokens.insert(new, ());
        tokens
    }

    /// The union of several large sets over `size` ids.
    #[must_use]
    pub(crate) fn union_of(&self, mut sets: Vec<&Arc<TokenSet>>, size: usize) -> Arc<TokenSet> {
        sets.sort_unstable_by_key(|set| Arc::as_ptr(set).addr());
        let places: Vec<usize> = sets.iter().map(|set| Arc::as_ptr(set).addr()).collect();
        if let Some(LiveTokens::Set(known)) = self.get_union(&places) {
            return known;
        }
        let mut union = TokenSet::new(size);
        sets.iter().for_each(|set| union.union_with(set));
        let LiveTokens::Set(union) = self.share(LiveTokens::Set(Arc::new(union))) else {
            unreachable!("what is shared is kept as it was")
        };
        let parts = sets.into_iter().cloned().map(LiveTokens::Set).collect();
        self.insert_union(places, parts, LiveTokens::Set(union.clone()));
        union
    }

    /// The union of the sets that are in these places, ascending, if it is known.
    pub(crate) fn get_union(&self, places: &[usize]) -> Option<LiveTokens> {
        self.lock().unions.get(places).map(|union| union.tokens.clone())
    }

    /// Remembers the union of the sets in these places.
    pub(crate) fn insert_union(&self, places: Vec<usize>, parts: Box<[LiveTokens]>, tokens: LiveTokens) {
        let mut contents = self.lock();
        contents.make_room(places.len() * 24 + 96);
        contents.unions.insert(places.into(), Union { _parts: parts, tokens });
    }

    /// The mask of these tokens over `size` ids, the same for all grammars; none where so few are listed that it is not worth it.
    #[must_use]
    pub fn mask(&self, tokens: &LiveTokens, size: usize) -> Option<Arc<Mask>> {
        if tokens.base().is_none() && tokens.differences().1.len() < WORTH_SHARING {
            return None;
        }
        if let Some(known) = self.lock().masks.get(&tokens.place()) {
            return Some(known.clone());
        }
        let tokens = self.share(tokens.clone());
        let mut contents = self.lock();
        if let Some(known) = contents.masks.get(&tokens.place()) {
            return Some(known.clone());
        }
        contents.make_room(size_of::<Mask>() + 64);
        let mask = Arc::new(Mask::counted(tokens.clone(), size, contents.mask_bytes.clone()));
        contents.masks.insert(tokens.place(), mask.clone());
        Some(mask)
    }

    /// What is known about the language with this content hash below these nodes.
    #[must_use]
    pub fn get(&self, language: u128, nodes: &NodeSetRef) -> Option<Arc<TerminalSummary>> {
        self.lock().summaries.get(&(language, nodes.place())).map(|(_, summary)| summary.clone())
    }

    /// Remembers a summary.
    pub fn insert(&self, language: u128, nodes: NodeSetRef, summary: Arc<TerminalSummary>) {
        let mut contents = self.lock();
        contents.make_room(summary.live.memory_bytes() + 128);
        contents.summaries.insert((language, nodes.place()), (nodes, summary));
    }

    /// What is known about repetitions of the code with this content hash below these nodes.
    #[must_use]
    pub fn get_counted(&self, code: u128, nodes: &NodeSetRef) -> Option<Arc<CountedSummary>> {
        self.lock().counted.get(&(code, nodes.clone())).cloned()
    }

    /// Remembers a summary of repetitions.
    pub fn insert_counted(&self, code: u128, nodes: NodeSetRef, summary: Arc<CountedSummary>) {
        let mut contents = self.lock();
        contents.make_room(summary.memory_bytes() + 128);
        contents.counted.insert((code, nodes), summary);
    }

    /// What is known about `min` to `max` copies of the code with this content hash below these nodes.
    #[must_use]
    pub fn get_repetition(
        &self,
        code: u128,
        nodes: &NodeSetRef,
        (min, max): (u32, u32),
    ) -> Option<Repetition> {
        self.lock().repetitions.get(&(code, nodes.clone(), min, max)).cloned()
    }

    /// Remembers what is known about `min` to `max` copies.
    pub fn insert_repetition(
        &self,
        code: u128,
        nodes: NodeSetRef,
        (min, max): (u32, u32),
        repetition: Repetition,
    ) {
        let mut contents = self.lock();
        contents.make_room(repetition.live.memory_bytes() + 128);
        contents.repetitions.insert((code, nodes, min, max), repetition);
    }

    /// What is known about an intersection with a limit on its length, for all limits; it may be known that it is too hard.
    /// Languages are the intersection without the limit, what ends the copy that has begun, and what is counted.
    #[must_use]
    pub fn get_limited(
        &self,
        languages: [u128; 3],
        nodes: &NodeSetRef,
    ) -> Option<Option<Arc<CountedSummary>>> {
        self.lock().limited.get(&(languages, nodes.clone())).cloned()
    }

    /// Remembers a summary for all limits, or that there is none.
    pub fn insert_limited(
        &self,
        languages: [u128; 3],
        nodes: NodeSetRef,
        summary: Option<Arc<CountedSummary>>,
    ) {
        let mut contents = self.lock();
        contents.make_room(summary.as_ref().map_or(0, |summary| summary.memory_bytes()) + 160);
        contents.limited.insert((languages, nodes), summary);
    }

    /// Bytes that the store takes, an estimate.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.lock().memory_bytes()
    }

    /// How many summaries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        let contents = self.lock();
        contents.summaries.len()
            + contents.counted.len()
            + contents.repetitions.len()
            + contents.limited.len()
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
    fn memory_bytes(&self) -> usize {
        self.bytes + self.mask_bytes.load(Ordering::Relaxed)
    }

    fn make_room(&mut self, bytes: usize) {
        if self.memory_bytes() + bytes > self.capacity {
            self.sets.clear();
            for set in &self.lasting {
                self.sets.entry_or_default(FxBuildHasher.hash_one(&**set)).push(set.clone());
            }
            self.summaries.clear();
            self.counted.clear();
            self.repetitions.clear();
            self.limited.clear();
            self.tokens.clear();
            self.unions.clear();
            self.masks.clear();
            self.bytes = 0;
            self.mask_bytes = Arc::default();
        }
        self.bytes += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TokenId, TokenTexts};

    #[test]
    fn what_every_mask_begins_with_outlasts_an_emptying() {
        let trie = TokenTrie::new(&["a", "ab"].into_iter().map(Some).collect::<TokenTexts>());
        let store = SummaryCache::default();
        let known = store.nothing_and_root(&trie).clone();
        store.set_capacity(0);
        for (known, nodes) in known.iter().zip([vec![], vec![TrieNode::ROOT.0]]) {
            assert_eq!(store.intern(NodeSet::new(nodes, &trie)), *known);
        }
    }

    #[test]
    fn equal_tokens_have_one_union_and_one_mask() {
        const SIZE: usize = 50_000;
        let store = SummaryCache::default();
        let list = |ids: std::ops::Range<u32>| store.share(LiveTokens::new(ids.map(TokenId).collect(), SIZE));
        let first = [list(0..30), list(20..60)];
        let union = LiveTokens::union(&first, SIZE, &store);
        assert_eq!(LiveTokens::union(&[list(20..60), list(0..30)], SIZE, &store).place(), union.place());
        // Other parts with the same tokens.
        let other = LiveTokens::union(&[list(0..50), list(40..60)], SIZE, &store);
        assert_eq!(other.place(), union.place());
        let mask = store.mask(&union, SIZE).expect("not a few tokens");
        assert!(Arc::ptr_eq(&mask, &store.mask(&other, SIZE).expect("not a few tokens")));
        let before = store.memory_bytes();
        assert_eq!(mask.words().len(), mask.word_count());
        assert_eq!(store.memory_bytes() - before, 4 * mask.word_count());
        // Who holds a mask keeps it when the store is emptied; the next one is made anew.
        store.set_capacity(0);
        let again = store.mask(&union, SIZE).expect("not a few tokens");
        assert!(!Arc::ptr_eq(&mask, &again));
        assert_eq!(mask, again);
    }
}
