//! The tokens of masks in parts, which many masks share, and what such parts are together.
//!
//! Most new masks are made of the parts of a mask that is known, so a union is found by where its parts are. What is in a
//! union is looked at when a mask needs it: much that is found out about stacks no text ever asks for.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use grammask_collections::id_type;
use grammask_vocabulary::{TokenId, TokenSet};

id_type! {
    /// A part that is kept.
    PartId
}

/// The part of a set's words up to which it is kept as a list: one word in so many.
const WORDS_PER_LISTED: usize = 6;

/// Words that are looked at together for one that is not zero.
const WORDS_AT_ONCE: usize = 16;

/// Some tokens of a mask.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// The words that are not zero, with their positions.
    Few(Arc<[(u32, u32)]>),
    /// A set.
    Set(Arc<TokenSet>),
}

impl Part {
    /// Adds the tokens to a mask.
    pub(crate) fn add_to(&self, mask: &mut TokenSet) {
        match self {
            Self::Few(words) => mask.union_with_words(words),
            Self::Set(set) => mask.union_with(set),
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Few(words) => size_of_val(&words[..]),
            Self::Set(set) => size_of_val(set.words()),
        }
    }

    /// Where it is: the same part is at one place as long as it is there.
    pub(crate) fn address(&self) -> usize {
        match self {
            Self::Few(words) => words.as_ptr().addr(),
            Self::Set(set) => Arc::as_ptr(set).addr(),
        }
    }

    /// A list if there are few words in it.
    fn few(set: &TokenSet) -> Option<Self> {
        // Counting is a small part of what gathering them costs; with numbers of 32 bits, four are counted at once.
        let count = set.words().iter().map(|&word| u32::from(word != 0)).sum::<u32>() as usize;
        if count > most_listed(set) {
            return None;
        }
        let mut used = Vec::with_capacity(count);
        for (chunk, words) in set.words().chunks(WORDS_AT_ONCE).enumerate() {
            if words.iter().fold(0, |all, word| all | word) != 0 {
                let first = (chunk * WORDS_AT_ONCE) as u32;
                used.extend((first..).zip(words.iter().copied()).filter(|&(_, word)| word != 0));
            }
        }
        Some(Self::Few(used.into()))
    }
}

/// How many words that are not zero are kept as a list.
fn most_listed(set: &TokenSet) -> usize {
    set.words().len() / WORDS_PER_LISTED
}

/// Collects the tokens of one part after the other. Which words have some is noted, so few are found and cleared again at
/// the cost of these.
#[derive(Debug)]
pub(crate) struct Collector {
    set: TokenSet,
    /// A bit for each word that is not zero, while no set was added.
    used: Box<[u64]>,
    has_sets: bool,
}

impl Collector {
    /// No tokens of a vocabulary of this size.
    pub(crate) fn new(size: usize) -> Self {
        let words = size.div_ceil(u32::BITS as usize);
        let used = vec![0; words.div_ceil(u64::BITS as usize)].into();
        Self { set: TokenSet::new(size), used, has_sets: false }
    }

    pub(crate) fn add(&mut self, part: &Part) {
        match part {
            Part::Set(set) => self.add_set(set),
            Part::Few(words) => {
                self.set.union_with_words(words);
                if !self.has_sets {
                    for &(position, _) in &words[..] {
                        self.note(position);
                    }
                }
            }
        }
    }

    pub(crate) fn add_set(&mut self, set: &TokenSet) {
        self.set.union_with(set);
        self.has_sets = true;
    }

    pub(crate) fn add_tokens(&mut self, tokens: &[TokenId]) {
        for &token in tokens {
            if self.set.insert_is_first(token) {
                self.note(token.0 / u32::BITS);
            }
        }
    }

    fn note(&mut self, position: u32) {
        self.used[(position / u64::BITS) as usize] |= 1 << (position % u64::BITS);
    }

    /// The tokens as a part, if there are some; after that there are none.
    pub(crate) fn take(&mut self) -> Option<Part> {
        let used: u32 = self.used.iter().map(|bits| bits.count_ones()).sum();
        if self.has_sets || used as usize > most_listed(&self.set) {
            let empty = TokenSet::new(self.set.size());
            let set = std::mem::replace(&mut self.set, empty);
            self.used.fill(0);
            self.has_sets = false;
            return Some(Part::few(&set).unwrap_or_else(|| Part::Set(Arc::new(set))));
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
        (!words.is_empty()).then(|| Part::Few(words.into()))
    }
}

/// A part, or parts that are one together.
#[derive(Debug)]
enum Entry {
    Part(Part),
    /// Whether somebody asked what is in it: what is asked for again is kept as a part.
    Union(Arc<[PartId]>, bool),
}

/// All parts that masks are made of, and what they are together; equal large sets are kept once.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    entries: Vec<Entry>,
    /// Parts by their addresses, which they keep because they are kept here.
    ids: FxHashMap<usize, PartId>,
    unions: FxHashMap<Arc<[PartId]>, PartId>,
    distinct: FxHashSet<Hashed>,
    /// Short parts as masks.
    masks: FxHashMap<PartId, Arc<TokenSet>>,
    part_bytes: usize,
    /// Empty, for unions to be made, which may need others.
    collectors: Vec<Collector>,
}

/// A set with the hash of what is in it, which takes longer to find than to compare.
#[derive(Debug)]
struct Hashed {
    hash: u64,
    set: Arc<TokenSet>,
}

impl Hashed {
    fn new(set: Arc<TokenSet>) -> Self {
        Self { hash: FxBuildHasher.hash_one(&*set), set }
    }
}

impl PartialEq for Hashed {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.set == other.set
    }
}

impl Eq for Hashed {}

impl Hash for Hashed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Parts {
    /// The id of a part that is kept elsewhere too.
    pub(crate) fn id(&mut self, part: &Part) -> PartId {
        let next = PartId::new(self.entries.len());
        let id = *self.ids.entry(part.address()).or_insert(next);
        if id == next {
            self.entries.push(Entry::Part(part.clone()));
        }
        id
    }

    /// The tokens of some parts as one part; none if there are no parts.
    pub(crate) fn union(&mut self, parts: &mut Vec<PartId>) -> Option<PartId> {
        parts.sort_unstable();
        parts.dedup();
        if let [] | [_] = parts[..] {
            return parts.first().copied();
        }
        if let Some(&known) = self.unions.get(&parts[..]) {
            return Some(known);
        }
        let parts: Arc<[PartId]> = parts[..].into();
        let union = PartId::new(self.entries.len());
        self.part_bytes += 16 + size_of_val(&parts[..]);
        self.entries.push(Entry::Union(parts.clone(), false));
        self.unions.insert(parts, union);
        Some(union)
    }

    /// What a part is. Unions are of parts that were there before them, and few levels deep.
    pub(crate) fn get(&mut self, id: PartId, size: usize) -> Part {
        let parts = match &self.entries[id.index()] {
            Entry::Part(part) => return part.clone(),
            Entry::Union(parts, _) => parts.clone(),
        };
        let mut collector = self.collectors.pop().unwrap_or_else(|| Collector::new(size));
        for &part in &parts[..] {
            self.add(part, &mut collector, size);
        }
        let union = match collector.take() {
            Some(Part::Set(set)) => Part::Set(self.share(set)),
            few => few.unwrap_or(Part::Few([].into())),
        };
        self.collectors.push(collector);
        if let Part::Few(_) = union {
            self.part_bytes += union.memory_bytes();
        }
        self.entries[id.index()] = Entry::Part(union.clone());
        union
    }

    fn add(&mut self, id: PartId, collector: &mut Collector, size: usize) {
        match &mut self.entries[id.index()] {
            Entry::Part(part) => collector.add(part),
            Entry::Union(parts, was_asked @ false) => {
                *was_asked = true;
                for part in parts.clone().iter() {
                    self.add(*part, collector, size);
                }
            }
            Entry::Union(_, true) => collector.add(&self.get(id, size)),
        }
    }

    /// The tokens of some parts, over `size` ids, as a mask.
    pub(crate) fn mask(&mut self, parts: &mut Vec<PartId>, size: usize) -> Arc<TokenSet> {
        let Some(part) = self.union(parts) else { return Arc::new(TokenSet::new(size)) };
        if let Some(known) = self.masks.get(&part) {
            return known.clone();
        }
        let few = match self.get(part, size) {
            Part::Set(set) => return set,
            few @ Part::Few(_) => few,
        };
        let mut set = TokenSet::new(size);
        few.add_to(&mut set);
        let mask = self.share(Arc::new(set));
        self.masks.insert(part, mask.clone());
        mask
    }

    /// The set that is kept for equal ones.
    fn share(&mut self, set: Arc<TokenSet>) -> Arc<TokenSet> {
        let hashed = Hashed::new(set);
        match self.distinct.get(&hashed) {
            Some(equal) => equal.set.clone(),
            None => {
                let set = hashed.set.clone();
                self.part_bytes += size_of_val(set.words());
                self.distinct.insert(hashed);
                set
            }
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.part_bytes
            + self.entries.capacity() * size_of::<Entry>()
            + hash_bytes(&self.ids)
            + hash_bytes(&self.unions)
            + hash_bytes(&self.masks)
            + self.distinct.capacity() * (size_of::<Hashed>() + 1)
    }
}

/// Bytes of the table of a hash map.
pub(crate) fn hash_bytes<K, V, S>(map: &HashMap<K, V, S>) -> usize {
    map.capacity() * (size_of::<(K, V)>() + 1)
}
