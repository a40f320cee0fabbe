//! The summary cache of a vocabulary: summaries of terminals, interned sets, their unions, and finished masks, for
//! all grammars and threads.
//!
//! For a state of a terminal and a set P of trie nodes the *summary* holds
//!
//! - `live`: the tokens below a node of P whose path from it is a nonempty prefix of a word;
//! - `ends`: the nodes below P whose path from it is a word.
//!
//! Summaries are keyed by the content hash of the state's language and the identity of P, so the body of a JSON
//! string is walked once per process, not once per grammar. Sets are interned, because most masks of a grammar equal
//! masks of an earlier grammar.
//!
//! The cache is bounded. At its capacity, the entries that were not read since the last removal are removed, and so are interned sets that
//! nothing else holds; if that frees less than half, all is removed. Values in use are shared and survive that.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustc_hash::{FxBuildHasher, FxHasher};

use crate::sharded_map::ShardedMap;
use crate::{
    CountedSummary, DerivativeGroups, LiveTokens, Mask, NodeSet, NodeSetId, NodeSetRef, TokenSet, TokenSetId,
    TokenSetRef, TokenTrie, TrieNode,
};

/// Default capacity, in bytes.
const DEFAULT_CAPACITY: usize = 22 << 20;
/// Minimum number of tokens of a shared mask without a base; smaller masks are built as fast as looked up.
const MIN_SHARED_TOKENS: usize = 32;

// Estimated memory of entries, in bytes, without the sets that their values refer to.

const ENTRY_BYTES: usize = 128;
const MASK_BYTES: usize = size_of::<Mask>() + 64;

fn union_bytes(parts: &[TokenSetId]) -> usize {
    parts.len() * 24 + 96
}

fn node_set_bytes(set: &NodeSet) -> usize {
    set.memory_bytes() + 64
}

fn token_set_bytes(tokens: &LiveTokens) -> usize {
    let bitset_bytes = tokens.as_dense().map_or(0, |set| size_of_val(set.words()));
    bitset_bytes + tokens.memory_bytes() + 64
}

/// The tokens that are live in a terminal below some trie nodes, and the nodes where its words end.
#[derive(Clone, Debug)]
pub struct TerminalSummary {
    /// Tokens that end inside a word or with it.
    pub live: LiveTokens,
    /// Nodes with children where a word ends; `None` if they were not requested, because nothing can follow the
    /// terminal.
    pub ends: Option<NodeSetRef>,
}

/// The tokens that are live in a bounded repetition below some trie nodes, and the nodes where it can end.
#[derive(Clone, Debug)]
pub struct Repetition {
    /// Tokens that end inside a copy or with it.
    pub live: LiveTokens,
    /// Nodes with children where the repetition can end.
    pub ends: NodeSetRef,
}

/// Bounds on the number of copies in a repetition, inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CopyBounds {
    /// Minimum number of copies.
    pub min: u32,
    /// Maximum number of copies.
    pub max: u32,
}

/// The summary cache of one vocabulary. See the documentation of the module.
#[derive(Debug)]
pub struct SummaryCache {
    tables: Mutex<SummaryTables>,
    empty_and_root: OnceLock<[NodeSetRef; 2]>,
}

/// A set of tokens as a key of the intern table: compared by content, with the hash of the content.
#[derive(Debug)]
struct InternedTokens {
    hash: u64,
    tokens: LiveTokens,
}

impl Hash for InternedTokens {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl PartialEq for InternedTokens {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.tokens.has_content_of(&other.tokens)
    }
}

impl Eq for InternedTokens {}

#[derive(Debug)]
struct SummaryTables {
    /// Interned node sets by the hash of their content.
    node_sets: ShardedMap<u64, Vec<NodeSetRef>>,
    /// Node sets that are interned again after all is removed.
    permanent: Vec<NodeSetRef>,
    /// By the content hash of the language and the start nodes.
    summaries: ShardedMap<(u128, NodeSetId), Arc<TerminalSummary>>,
    /// By the content hash of a prefix code and the start nodes.
    counted: ShardedMap<(u128, NodeSetId), Arc<CountedSummary>>,
    /// By the content hash of a prefix code, the start nodes and the bounds.
    repetitions: ShardedMap<(u128, NodeSetId, CopyBounds), Repetition>,
    /// By the content hashes of an intersection without its length limit, of the end of its current copy and of the
    /// copies, and the start nodes.
    limited: ShardedMap<([u128; 3], NodeSetId), Option<Arc<CountedSummary>>>,
    /// By the content hash of the language and the start node.
    derivatives: ShardedMap<(u128, TrieNode), Arc<DerivativeGroups>>,
    /// Interned token sets.
    tokens: ShardedMap<InternedTokens, ()>,
    /// Unions of token sets by the ascending identities of their parts.
    unions: ShardedMap<Box<[TokenSetId]>, LiveTokens>,
    /// Masks by the identities of their tokens.
    masks: ShardedMap<TokenSetId, Arc<Mask>>,
    /// Memory of the tables, in bytes, without the expanded words of masks.
    bytes: usize,
    /// Memory of the expanded words of masks, in bytes; the masks add to it.
    mask_bytes: Arc<AtomicUsize>,
    capacity: usize,
}

impl Default for SummaryCache {
    fn default() -> Self {
        let tables = SummaryTables {
            node_sets: ShardedMap::default(),
            permanent: Vec::new(),
            summaries: ShardedMap::default(),
            counted: ShardedMap::default(),
            repetitions: ShardedMap::default(),
            limited: ShardedMap::default(),
            derivatives: ShardedMap::default(),
            tokens: ShardedMap::default(),
            unions: ShardedMap::default(),
            masks: ShardedMap::default(),
            bytes: 0,
            mask_bytes: Arc::default(),
            capacity: DEFAULT_CAPACITY,
        };
        Self { tables: Mutex::new(tables), empty_and_root: OnceLock::new() }
    }
}

impl SummaryCache {
    /// Interns a node set. Costs a pass over it.
    #[must_use]
    pub fn intern(&self, set: NodeSet) -> NodeSetRef {
        let hash = FxBuildHasher.hash_one(&set);
        let mut tables = self.lock();
        if let Some(interned) =
            tables.node_sets.get(&hash).and_then(|sets| sets.iter().find(|interned| ***interned == set))
        {
            return interned.clone();
        }
        tables.make_room(node_set_bytes(&set));
        let set = NodeSetRef::new(set);
        tables.node_sets.entry_or_default(hash).push(set.clone());
        set
    }

    /// The empty node set and the set of the root alone, with which every mask begins; they need no lookup.
    #[must_use]
    pub fn empty_and_root(&self, trie: &TokenTrie) -> &[NodeSetRef; 2] {
        self.empty_and_root.get_or_init(|| {
            [Vec::new(), vec![TrieNode::ROOT.0]].map(|nodes| {
                let set = self.intern(NodeSet::new(nodes, trie));
                self.lock().permanent.push(set.clone());
                set
            })
        })
    }

    /// Interns a set of tokens; its representation is kept. Costs a pass over it.
    #[must_use]
    pub fn share(&self, tokens: LiveTokens) -> LiveTokens {
        let mut hasher = FxHasher::default();
        tokens.hash_content(&mut hasher);
        let new = InternedTokens { hash: hasher.finish(), tokens };
        let mut tables = self.lock();
        if let Some(interned) = tables.tokens.get_key(&new) {
            return interned.tokens.clone();
        }
        tables.make_room(token_set_bytes(&new.tokens));
        let tokens = new.tokens.clone();
        tables.tokens.insert(new, ());
        tokens
    }

    /// The union of several bitsets over `size` ids, memoised and interned.
    #[must_use]
    pub(crate) fn union_of(&self, mut sets: Vec<&TokenSetRef>, size: usize) -> TokenSetRef {
        sets.sort_unstable_by_key(|set| set.id());
        let ids: Vec<TokenSetId> = sets.iter().map(|set| set.id()).collect();
        if let Some(union) = self.get_union(&ids)
            && let Some(set) = union.as_dense()
        {
            return set.clone();
        }
        let mut union = TokenSet::new(size);
        sets.iter().for_each(|set| union.union_with(set));
        let union = self.share(LiveTokens::from_dense(union.into()));
        self.insert_union(ids, union.clone());
        let Some(set) = union.as_dense() else { unreachable!("interning keeps the representation") };
        set.clone()
    }

    /// The memoised union of the sets with these identities, which are ascending.
    pub(crate) fn get_union(&self, ids: &[TokenSetId]) -> Option<LiveTokens> {
        self.lock().unions.get(ids).cloned()
    }

    /// Memoises the union of the sets with these identities, which are ascending.
    pub(crate) fn insert_union(&self, ids: Vec<TokenSetId>, union: LiveTokens) {
        let mut tables = self.lock();
        tables.make_room(union_bytes(&ids));
        tables.unions.insert(ids.into(), union);
    }

    /// The shared mask of these tokens over `size` ids; `None` if it is too small to be worth sharing.
    #[must_use]
    pub fn mask(&self, tokens: &LiveTokens, size: usize) -> Option<Arc<Mask>> {
        if tokens.base().is_none() && tokens.differences().1.len() < MIN_SHARED_TOKENS {
            return None;
        }
        if let Some(mask) = self.lock().masks.get(&tokens.id()) {
            return Some(mask.clone());
        }
        let tokens = self.share(tokens.clone());
        let mut tables = self.lock();
        if let Some(mask) = tables.masks.get(&tokens.id()) {
            return Some(mask.clone());
        }
        tables.make_room(MASK_BYTES);
        let mask = Arc::new(Mask::counted(tokens.clone(), size, tables.mask_bytes.clone()));
        tables.masks.insert(tokens.id(), mask.clone());
        Some(mask)
    }

    /// The summary of the language with this content hash below these nodes.
    #[must_use]
    pub fn get(&self, language: u128, nodes: &NodeSetRef) -> Option<Arc<TerminalSummary>> {
        self.lock().summaries.get(&(language, nodes.id())).cloned()
    }

    /// Caches a summary.
    pub fn insert(&self, language: u128, nodes: &NodeSetRef, summary: Arc<TerminalSummary>) {
        let mut tables = self.lock();
        tables.make_room(summary.live.memory_bytes() + ENTRY_BYTES);
        tables.summaries.insert((language, nodes.id()), summary);
    }

    /// The counted summary of the prefix code with this content hash below these nodes.
    #[must_use]
    pub fn get_counted(&self, code: u128, nodes: &NodeSetRef) -> Option<Arc<CountedSummary>> {
        self.lock().counted.get(&(code, nodes.id())).cloned()
    }

    /// Caches a counted summary.
    pub fn insert_counted(&self, code: u128, nodes: &NodeSetRef, summary: Arc<CountedSummary>) {
        let mut tables = self.lock();
        tables.make_room(summary.memory_bytes() + ENTRY_BYTES);
        tables.counted.insert((code, nodes.id()), summary);
    }

    /// The summary of a bounded number of copies of the prefix code with this content hash below these nodes.
    #[must_use]
    pub fn get_repetition(&self, code: u128, nodes: &NodeSetRef, bounds: CopyBounds) -> Option<Repetition> {
        self.lock().repetitions.get(&(code, nodes.id(), bounds)).cloned()
    }

    /// Caches the summary of a bounded number of copies.
    pub fn insert_repetition(
        &self,
        code: u128,
        nodes: &NodeSetRef,
        bounds: CopyBounds,
        repetition: Repetition,
    ) {
        let mut tables = self.lock();
        tables.make_room(repetition.live.memory_bytes() + ENTRY_BYTES);
        tables.repetitions.insert((code, nodes.id(), bounds), repetition);
    }

    /// The counted summary of an intersection with a limit on its length, which holds for all limits. `Some(None)` if
    /// its computation was given up. The languages are the intersection without the limit, the end of its current
    /// copy, and the copies.
    #[must_use]
    pub fn get_limited(
        &self,
        languages: [u128; 3],
        nodes: &NodeSetRef,
    ) -> Option<Option<Arc<CountedSummary>>> {
        self.lock().limited.get(&(languages, nodes.id())).cloned()
    }

    /// Caches a counted summary for all limits, or that its computation was given up.
    pub fn insert_limited(
        &self,
        languages: [u128; 3],
        nodes: &NodeSetRef,
        summary: Option<Arc<CountedSummary>>,
    ) {
        let mut tables = self.lock();
        tables.make_room(summary.as_ref().map_or(0, |summary| summary.memory_bytes()) + ENTRY_BYTES);
        tables.limited.insert((languages, nodes.id()), summary);
    }

    /// The tokens below a node by the derivative of the language with this content hash.
    #[must_use]
    pub fn get_derivatives(&self, language: u128, node: TrieNode) -> Option<Arc<DerivativeGroups>> {
        self.lock().derivatives.get(&(language, node)).cloned()
    }

    /// Caches the tokens below a node by derivative.
    pub fn insert_derivatives(&self, language: u128, node: TrieNode, groups: Arc<DerivativeGroups>) {
        let mut tables = self.lock();
        tables.make_room(groups.memory_bytes() + ENTRY_BYTES);
        tables.derivatives.insert((language, node), groups);
    }

    /// Estimated memory, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.lock().memory_bytes()
    }

    /// Number of summaries of all kinds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().summary_count()
    }

    /// Whether there is no summary.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sets the capacity, in bytes, and removes entries if they exceed it.
    pub fn set_capacity(&self, bytes: usize) {
        let mut tables = self.lock();
        tables.capacity = bytes;
        tables.make_room(0);
    }

    fn lock(&self) -> MutexGuard<'_, SummaryTables> {
        // Entries are complete before they are inserted, so a panic in a holder of the lock leaves the tables
        // consistent.
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SummaryTables {
    fn memory_bytes(&self) -> usize {
        self.bytes + self.mask_bytes.load(Ordering::Relaxed)
    }

    /// Counts `bytes` of new entries, after removing others if they would exceed the capacity.
    fn make_room(&mut self, bytes: usize) {
        if self.memory_bytes() + bytes > self.capacity {
            self.remove_unread();
            if self.memory_bytes() > self.capacity / 2 {
                self.clear();
            }
        }
        self.bytes += bytes;
    }

    /// Removes the entries that were not read since the last call, and the interned sets that are in no other entry and
    /// no grammar. Costs a pass over all entries.
    fn remove_unread(&mut self) {
        self.summaries.retain_read();
        self.counted.retain_read();
        self.repetitions.retain_read();
        self.limited.retain_read();
        self.derivatives.retain_read();
        self.unions.retain_read();
        self.masks.retain_read();
        self.tokens.retain(|interned, ()| interned.tokens.is_shared());
        self.node_sets.retain(|_, sets| {
            sets.retain(NodeSetRef::is_shared);
            !sets.is_empty()
        });
        let live = self.summaries.values().map(|summary| summary.live.memory_bytes());
        let live = live.chain(self.repetitions.values().map(|repetition| repetition.live.memory_bytes()));
        let limited = self.limited.values().flatten();
        let counted = self.counted.values().chain(limited).map(|summary| summary.memory_bytes());
        let derivatives = self.derivatives.values().map(|groups| groups.memory_bytes());
        let tokens = self.tokens.keys().map(|interned| token_set_bytes(&interned.tokens));
        let node_sets = self.node_sets.values().flatten().map(|set| node_set_bytes(set));
        let unions = self.unions.keys().map(|parts| union_bytes(parts));
        let values = live.chain(counted).chain(derivatives).chain(tokens).chain(node_sets).chain(unions);
        self.bytes =
            values.sum::<usize>() + self.summary_count() * ENTRY_BYTES + self.masks.len() * MASK_BYTES;
        let expanded = self.masks.values().map(|mask| mask.expanded_bytes()).sum();
        self.mask_bytes.store(expanded, Ordering::Relaxed);
    }

    fn clear(&mut self) {
        self.node_sets.clear();
        for set in &self.permanent {
            self.node_sets.entry_or_default(FxBuildHasher.hash_one(&**set)).push(set.clone());
        }
        self.summaries.clear();
        self.counted.clear();
        self.repetitions.clear();
        self.limited.clear();
        self.derivatives.clear();
        self.tokens.clear();
        self.unions.clear();
        self.masks.clear();
        self.bytes = 0;
        // Masks that are still in use keep adding to the old counter.
        self.mask_bytes = Arc::default();
    }

    fn summary_count(&self) -> usize {
        self.summaries.len()
            + self.counted.len()
            + self.repetitions.len()
            + self.limited.len()
            + self.derivatives.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TokenId, TokenTexts};

    #[test]
    fn permanent_node_sets_survive_a_clearing() {
        let trie = TokenTrie::new(&["a", "ab"].into_iter().map(Some).collect::<TokenTexts>());
        let cache = SummaryCache::default();
        let permanent = cache.empty_and_root(&trie).clone();
        cache.set_capacity(0);
        for (permanent, nodes) in permanent.iter().zip([vec![], vec![TrieNode::ROOT.0]]) {
            assert_eq!(cache.intern(NodeSet::new(nodes, &trie)), *permanent);
        }
    }

    /// At the capacity, entries that were read stay, with their sets; others go.
    #[test]
    fn entries_that_were_read_stay() {
        const SIZE: usize = 50_000;
        let trie = TokenTrie::new(&["a", "ab"].into_iter().map(Some).collect::<TokenTexts>());
        let cache = SummaryCache::default();
        cache.set_capacity(64 << 10);
        let root = cache.empty_and_root(&trie)[1].clone();
        let set = |first: u32| LiveTokens::new((first..first + 100).map(TokenId).collect(), SIZE);
        let insert = |language: u32| {
            let summary = TerminalSummary { live: cache.share(set(language)), ends: None };
            cache.insert(language.into(), &root, Arc::new(summary));
        };
        insert(1);
        let live = cache.get(1, &root).expect("inserted just now").live.clone();
        let id = live.id();
        drop(live);
        for language in 2..1000 {
            insert(language);
            assert!(cache.memory_bytes() <= 64 << 10);
            assert!(language % 40 != 0 || cache.get(1, &root).is_some());
        }
        assert_eq!(cache.get(1, &root).expect("read now and then").live.id(), id);
        assert_eq!(cache.share(set(1)).id(), id);
        assert!((2..500).all(|language| cache.get(language, &root).is_none()));
        // Entries that have all been read make room, too.
        for language in 2000..3000 {
            insert(language);
            assert!(cache.get(language.into(), &root).is_some());
            assert!(cache.memory_bytes() <= 64 << 10);
        }
    }

    #[test]
    fn equal_tokens_have_one_union_and_one_mask() {
        const SIZE: usize = 50_000;
        let cache = SummaryCache::default();
        let list = |ids: std::ops::Range<u32>| cache.share(LiveTokens::new(ids.map(TokenId).collect(), SIZE));
        let first = [list(0..30), list(20..60)];
        let union = LiveTokens::union(&first, SIZE, &cache);
        assert_eq!(LiveTokens::union(&[list(20..60), list(0..30)], SIZE, &cache).id(), union.id());
        // Different parts with the same union.
        let other = LiveTokens::union(&[list(0..50), list(40..60)], SIZE, &cache);
        assert_eq!(other.id(), union.id());
        let mask = cache.mask(&union, SIZE).expect("more tokens than the minimum");
        assert!(Arc::ptr_eq(&mask, &cache.mask(&other, SIZE).expect("more tokens than the minimum")));
        let before = cache.memory_bytes();
        assert_eq!(mask.words().len(), mask.word_count());
        assert_eq!(cache.memory_bytes() - before, 4 * mask.word_count());
        // A mask in use survives a clearing; the next lookup builds a new one.
        cache.set_capacity(0);
        let again = cache.mask(&union, SIZE).expect("more tokens than the minimum");
        assert!(!Arc::ptr_eq(&mask, &again));
        assert_eq!(mask, again);
    }
}
