//! Groups of tokens, the sets that masks are composed of, and their memoised unions.
//!
//! Most new masks consist of groups of earlier masks, so unions are interned by the ids of their operands. The
//! contents of a union are computed only when a mask needs them, because many transitions are constructed whose
//! tokens no text asks for.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use grammask_collections::id_type;
use grammask_vocabulary::{LiveTokens, TokenId, TokenSet, TokenSetId, TokenSetRef};

id_type! {
    /// An interned group or union.
    TokenGroupId
}

/// A group is stored as a list if at most 1/6 of the machine words of its bitset are nonzero.
const SPARSE_WORD_DIVISOR: usize = 6;

/// The number of machine words that are tested for zero together.
const WORDS_PER_CHUNK: usize = 16;

/// Some tokens of a mask.
#[derive(Clone, Debug)]
pub(crate) enum TokenGroup {
    /// The nonzero words with their positions.
    Sparse { id: TokenSetId, words: Arc<[(u32, u32)]> },
    /// A bitset.
    Dense(TokenSetRef),
}

impl TokenGroup {
    /// Adds the tokens to a mask.
    pub(crate) fn add_to(&self, mask: &mut TokenSet) {
        match self {
            Self::Sparse { words, .. } => mask.union_with_words(words),
            Self::Dense(set) => mask.union_with(set),
        }
    }

    /// The tokens of a vocabulary with `count` tokens, of which the group has no others.
    pub(crate) fn live_tokens(&self, count: usize) -> LiveTokens {
        match self {
            Self::Sparse { words, .. } => {
                let of_word = |&(position, word): &(u32, u32)| {
                    (0..u32::BITS)
                        .filter(move |bit| word >> bit & 1 == 1)
                        .map(move |bit| position * u32::BITS + bit)
                };
                LiveTokens::new(words.iter().flat_map(of_word).map(TokenId).collect(), count)
            }
            Self::Dense(set) if set.size() == count => LiveTokens::from_dense(set.clone()),
            Self::Dense(set) => LiveTokens::from_set(set.split_at(count).0),
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Sparse { words, .. } => size_of_val(&words[..]),
            Self::Dense(set) => size_of_val(set.words()),
        }
    }

    /// A sparse group with a new identity.
    fn from_words(words: Vec<(u32, u32)>) -> Self {
        Self::Sparse { id: TokenSetId::next(), words: words.into() }
    }

    /// The identity of the contents, which clones share.
    fn set_id(&self) -> TokenSetId {
        match self {
            Self::Sparse { id, .. } => *id,
            Self::Dense(set) => set.id(),
        }
    }

    /// The sparse form of a set, if it has few nonzero words.
    fn sparse(set: &TokenSet) -> Option<Self> {
        // Counting costs little compared with collecting; 32-bit counters vectorise to four per instruction.
        let count = set.words().iter().map(|&word| u32::from(word != 0)).sum::<u32>() as usize;
        if count > max_sparse_words(set) {
            return None;
        }
        let mut used = Vec::with_capacity(count);
        for (chunk, words) in set.words().chunks(WORDS_PER_CHUNK).enumerate() {
            if words.iter().fold(0, |all, word| all | word) != 0 {
                let first = (chunk * WORDS_PER_CHUNK) as u32;
                used.extend((first..).zip(words.iter().copied()).filter(|&(_, word)| word != 0));
            }
        }
        Some(Self::from_words(used))
    }
}

/// The maximum number of nonzero words of a sparse group.
fn max_sparse_words(set: &TokenSet) -> usize {
    set.words().len() / SPARSE_WORD_DIVISOR
}

/// Accumulates tokens of several groups. A second bitset marks the nonzero words, so a small result is extracted and
/// cleared in time proportional to its size.
#[derive(Debug)]
pub(crate) struct TokenCollector {
    set: TokenSet,
    /// A bit for each nonzero word; incomplete once a dense set was added.
    used: Box<[u64]>,
    has_sets: bool,
}

impl TokenCollector {
    /// An empty collector for a vocabulary of this size.
    pub(crate) fn new(size: usize) -> Self {
        let words = size.div_ceil(u32::BITS as usize);
        let used = vec![0; words.div_ceil(u64::BITS as usize)].into();
        Self { set: TokenSet::new(size), used, has_sets: false }
    }

    pub(crate) fn add(&mut self, group: &TokenGroup) {
        match group {
            TokenGroup::Dense(set) => self.add_set(set),
            TokenGroup::Sparse { words, .. } => {
                self.set.union_with_words(words);
                if !self.has_sets {
                    for &(position, _) in &words[..] {
                        self.mark_used(position);
                    }
                }
            }
        }
    }

    pub(crate) fn add_set(&mut self, set: &TokenSet) {
        self.set.union_with(set);
        self.has_sets = true;
    }

    pub(crate) fn add_tokens(&mut self, tokens: impl IntoIterator<Item = TokenId>) {
        for token in tokens {
            if self.set.insert_is_first(token) {
                self.mark_used(token.0 / u32::BITS);
            }
        }
    }

    fn mark_used(&mut self, position: u32) {
        self.used[(position / u64::BITS) as usize] |= 1 << (position % u64::BITS);
    }

    /// The tokens as a group; `None` if there are none. Clears the collector.
    pub(crate) fn take(&mut self) -> Option<TokenGroup> {
        let used: u32 = self.used.iter().map(|bits| bits.count_ones()).sum();
        if self.has_sets || used as usize > max_sparse_words(&self.set) {
            let empty = TokenSet::new(self.set.size());
            let set = std::mem::replace(&mut self.set, empty);
            self.used.fill(0);
            self.has_sets = false;
            return Some(TokenGroup::sparse(&set).unwrap_or_else(|| TokenGroup::Dense(set.into())));
        }
        let mut words = Vec::with_capacity(used as usize);
        for (first, bits) in (0..).step_by(u64::BITS as usize).zip(&mut self.used) {
            let mut bits = std::mem::take(bits);
            while bits != 0 {
                let position = first + bits.trailing_zeros();
                words.push((position, self.set.take_word(position)));
                bits &= bits - 1;
            }
        }
        (!words.is_empty()).then(|| TokenGroup::from_words(words))
    }
}

/// A group, or a union that is not computed yet.
#[derive(Debug)]
enum StoreEntry {
    Group(TokenGroup),
    /// Whether the union was read before; on the second read it is replaced by its tokens.
    Union(Arc<[TokenGroupId]>, bool),
}

/// All groups and unions of a recogniser. Equal dense sets are stored once.
#[derive(Debug, Default)]
pub(crate) struct TokenSetStore {
    entries: Vec<StoreEntry>,
    /// Ids of groups by the identity of their contents.
    ids: FxHashMap<TokenSetId, TokenGroupId>,
    unions: FxHashMap<Arc<[TokenGroupId]>, TokenGroupId>,
    distinct: FxHashSet<HashedSet>,
    /// Sparse groups in the form of masks.
    masks: FxHashMap<TokenGroupId, TokenSetRef>,
    content_bytes: usize,
    /// Empty collectors for nested unions.
    collectors: Vec<TokenCollector>,
}

/// A set with a hash of its contents, because hashing costs more than comparing.
#[derive(Debug)]
struct HashedSet {
    hash: u64,
    set: TokenSetRef,
}

impl HashedSet {
    fn new(set: TokenSetRef) -> Self {
        Self { hash: FxBuildHasher.hash_one(&*set), set }
    }
}

impl PartialEq for HashedSet {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.set == other.set
    }
}

impl Eq for HashedSet {}

impl Hash for HashedSet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl TokenSetStore {
    /// The id of a group.
    pub(crate) fn id(&mut self, group: &TokenGroup) -> TokenGroupId {
        let next = TokenGroupId::new(self.entries.len());
        let id = *self.ids.entry(group.set_id()).or_insert(next);
        if id == next {
            self.entries.push(StoreEntry::Group(group.clone()));
        }
        id
    }

    /// The id of the union of some groups; `None` without groups.
    pub(crate) fn union(&mut self, groups: &mut Vec<TokenGroupId>) -> Option<TokenGroupId> {
        groups.sort_unstable();
        groups.dedup();
        if let [] | [_] = groups[..] {
            return groups.first().copied();
        }
        if let Some(&cached) = self.unions.get(&groups[..]) {
            return Some(cached);
        }
        let groups: Arc<[TokenGroupId]> = groups[..].into();
        let union = TokenGroupId::new(self.entries.len());
        self.content_bytes += 16 + size_of_val(&groups[..]);
        self.entries.push(StoreEntry::Union(groups.clone(), false));
        self.unions.insert(groups, union);
        Some(union)
    }

    /// The tokens of a group or union. The operands of a union have smaller ids, and unions are a few levels deep.
    pub(crate) fn get(&mut self, id: TokenGroupId, size: usize) -> TokenGroup {
        let groups = match &self.entries[id.index()] {
            StoreEntry::Group(group) => return group.clone(),
            StoreEntry::Union(groups, _) => groups.clone(),
        };
        let mut collector = self.collectors.pop().unwrap_or_else(|| TokenCollector::new(size));
        for &group in &groups[..] {
            self.add(group, &mut collector, size);
        }
        let union = match collector.take() {
            Some(TokenGroup::Dense(set)) => TokenGroup::Dense(self.share(set)),
            sparse => sparse.unwrap_or_else(|| TokenGroup::from_words(Vec::new())),
        };
        self.collectors.push(collector);
        if let TokenGroup::Sparse { .. } = union {
            self.content_bytes += union.memory_bytes();
        }
        self.entries[id.index()] = StoreEntry::Group(union.clone());
        union
    }

    fn add(&mut self, id: TokenGroupId, collector: &mut TokenCollector, size: usize) {
        match &mut self.entries[id.index()] {
            StoreEntry::Group(group) => collector.add(group),
            StoreEntry::Union(groups, was_read @ false) => {
                *was_read = true;
                for group in groups.clone().iter() {
                    self.add(*group, collector, size);
                }
            }
            StoreEntry::Union(_, true) => collector.add(&self.get(id, size)),
        }
    }

    /// The union of some groups as a mask over `size` ids.
    pub(crate) fn mask(&mut self, groups: &mut Vec<TokenGroupId>, size: usize) -> TokenSetRef {
        let Some(group) = self.union(groups) else { return TokenSet::new(size).into() };
        if let Some(cached) = self.masks.get(&group) {
            return cached.clone();
        }
        let sparse = match self.get(group, size) {
            TokenGroup::Dense(set) => return set,
            sparse @ TokenGroup::Sparse { .. } => sparse,
        };
        let mut set = TokenSet::new(size);
        sparse.add_to(&mut set);
        let mask = self.share(set.into());
        self.masks.insert(group, mask.clone());
        mask
    }

    /// The stored set that equals a set.
    fn share(&mut self, set: TokenSetRef) -> TokenSetRef {
        let hashed = HashedSet::new(set);
        match self.distinct.get(&hashed) {
            Some(equal) => equal.set.clone(),
            None => {
                let set = hashed.set.clone();
                self.content_bytes += size_of_val(set.words());
                self.distinct.insert(hashed);
                set
            }
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.content_bytes
            + self.entries.capacity() * size_of::<StoreEntry>()
            + hash_map_bytes(&self.ids)
            + hash_map_bytes(&self.unions)
            + hash_map_bytes(&self.masks)
            + self.distinct.capacity() * (size_of::<HashedSet>() + 1)
    }
}

/// The memory of a hash map's table, in bytes.
pub(crate) fn hash_map_bytes<K, V, S>(map: &HashMap<K, V, S>) -> usize {
    map.capacity() * (size_of::<(K, V)>() + 1)
}
