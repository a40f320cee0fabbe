//! Sets of tokens as dense bitsets, in the layout of finished masks.
//!
//! Bit `id & 31` of word `id >> 5` represents the token; there are `ceil(size / 32)` words, and the bits of the last
//! word beyond the size are zero. vLLM, SGLang and TensorRT-LLM use the same layout, so a finished mask is copied as
//! it is.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::TokenId;

/// Number of words that are tested for being empty at once.
const CHUNK_WORDS: usize = 16;

/// A set of tokens with ids below a fixed size.
///
/// ```
/// use grammask_vocabulary::{TokenId, TokenSet};
///
/// let mut set = TokenSet::new(40);
/// set.insert(TokenId(0));
/// set.insert(TokenId(33));
/// assert_eq!(set.words(), [1, 2]);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSet {
    words: Box<[u32]>,
    size: usize,
}

impl TokenSet {
    /// Number of 32-bit words of a set over `size` ids.
    #[must_use]
    pub const fn word_count(size: usize) -> usize {
        size.div_ceil(32)
    }

    /// The empty set over the ids below `size`.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self { words: vec![0; Self::word_count(size)].into_boxed_slice(), size }
    }

    /// Upper bound of the ids, exclusive.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Adds a token; returns whether it is new to the set.
    ///
    /// # Panics
    /// When the id is not below [`TokenSet::size`].
    #[inline]
    pub fn insert(&mut self, id: TokenId) -> bool {
        assert!(id.index() < self.size, "token {} is outside a set over {} ids", id.0, self.size);
        let word = &mut self.words[id.index() >> 5];
        let bit = 1 << (id.0 & 31);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Adds a token of the vocabulary; returns whether its word was empty.
    #[inline]
    pub fn insert_is_first(&mut self, id: TokenId) -> bool {
        debug_assert!(id.index() < self.size, "token {} is outside a set over {} ids", id.0, self.size);
        let word = &mut self.words[id.index() >> 5];
        let is_first = *word == 0;
        *word |= 1 << (id.0 & 31);
        is_first
    }

    /// Removes a token; returns whether it was in the set.
    pub fn remove(&mut self, id: TokenId) -> bool {
        let was_in = self.contains(id);
        if was_in {
            self.words[id.index() >> 5] &= !(1 << (id.0 & 31));
        }
        was_in
    }

    /// Whether a token is in the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, id: TokenId) -> bool {
        self.words.get(id.index() >> 5).is_some_and(|word| word >> (id.0 & 31) & 1 == 1)
    }

    /// Number of tokens in the set. Costs a pass over the words.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether no token is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// Removes all tokens.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Adds all tokens of `other`.
    ///
    /// # Panics
    /// When the sets have different sizes.
    pub fn union_with(&mut self, other: &Self) {
        assert_eq!(self.size, other.size, "sets over different vocabularies");
        for (word, &more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    /// Adds the tokens of some words of a set of the same size, given as (index, word).
    pub fn union_with_words(&mut self, words: &[(u32, u32)]) {
        for &(position, more) in words {
            self.words[position as usize] |= more;
        }
    }

    /// Clears a word and returns it.
    pub fn take_word(&mut self, position: u32) -> u32 {
        std::mem::take(&mut self.words[position as usize])
    }

    /// Adds the tokens of `other`, a set of the same size, that are in the bitset `within` of 64-bit words.
    pub(crate) fn union_with_within(&mut self, other: &Self, within: &[u64]) {
        let words = self.words.chunks_mut(2).zip(other.words.chunks(2)).zip(within);
        for ((words, more), within) in words {
            // A 64-bit word covers two 32-bit words.
            let halves = [*within as u32, (*within >> 32) as u32];
            for ((word, more), within) in words.iter_mut().zip(more).zip(halves) {
                *word |= more & within;
            }
        }
    }

    /// The tokens in the set, ascending, if there are at most `max`. Stops counting as soon as there are more.
    pub(crate) fn up_to(&self, max: usize) -> Option<Vec<TokenId>> {
        let mut count = 0;
        for words in self.words.chunks(CHUNK_WORDS) {
            count += words.iter().map(|word| word.count_ones() as usize).sum::<usize>();
            if count > max {
                return None;
            }
        }
        let mut tokens = Vec::with_capacity(count);
        for (words, first) in self.words.chunks(CHUNK_WORDS).zip((0..).step_by(CHUNK_WORDS)) {
            // Nearly all chunks of a small set are empty.
            if words.iter().fold(0, |all, word| all | word) == 0 {
                continue;
            }
            for (&word, index) in words.iter().zip(first..) {
                let mut bits = word;
                while bits != 0 {
                    tokens.push(TokenId(index * 32 + bits.trailing_zeros()));
                    bits &= bits - 1;
                }
            }
        }
        Some(tokens)
    }

    /// The tokens that are not in `other`, a set of the same size, ascending.
    pub(crate) fn difference(&self, other: &Self) -> impl Iterator<Item = TokenId> {
        let words = (0_u32..).zip(self.words.iter().zip(&other.words));
        words.flat_map(|(index, (word, other))| {
            let mut bits = word & !other;
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros())?;
                bits &= bits - 1;
                Some(TokenId(index * 32 + bit))
            })
        })
    }

    /// The tokens below `size`, as a set over the ids below it, and the others, ascending.
    #[must_use]
    pub fn split_at(&self, size: usize) -> (Self, Vec<TokenId>) {
        let mut below = Self { words: self.words[..Self::word_count(size)].into(), size };
        let mut others = Vec::new();
        let first = size / 32;
        for (index, &word) in (first..).zip(&self.words[first..]) {
            let mut bits = if index == first { word & (u32::MAX << (size % 32)) } else { word };
            if index == first
                && let Some(last) = below.words.get_mut(index)
            {
                *last &= !bits;
            }
            while bits != 0 {
                others.push(TokenId((index * 32) as u32 + bits.trailing_zeros()));
                bits &= bits - 1;
            }
        }
        (below, others)
    }

    /// The tokens in the set, ascending.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        Iter { words: &self.words, index: 0, bits: self.words.first().copied().unwrap_or(0) }
    }

    /// The words, in the layout of masks.
    #[must_use]
    pub fn words(&self) -> &[u32] {
        &self.words
    }
}

impl Extend<TokenId> for TokenSet {
    fn extend<I: IntoIterator<Item = TokenId>>(&mut self, ids: I) {
        let mut greatest = None;
        for id in ids {
            self.words[id.index() >> 5] |= 1 << (id.0 & 31);
            greatest = greatest.max(Some(id));
        }
        let is_inside = greatest.is_none_or(|id| id.index() < self.size);
        assert!(is_inside, "token {greatest:?} is outside a set over {} ids", self.size);
    }
}

impl<'a> IntoIterator for &'a TokenSet {
    type Item = TokenId;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Hashes in four independent lanes, because each new mask is hashed to find an equal one.
impl Hash for TokenSet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let mix = |lane: u64, word: u64| (lane ^ word).wrapping_mul(FACTOR).rotate_left(29);
        let mut lanes = [1_u64, 2, 3, 4];
        let mut offset = 0_u64;
        let mut chunks = self.words.chunks_exact(8);
        for chunk in &mut chunks {
            // Nearly all words of most masks are zero.
            if chunk == [0; 8] {
                offset += 1;
                continue;
            }
            lanes[0] ^= offset;
            offset += 1;
            for (lane, pair) in lanes.iter_mut().zip(chunk.chunks_exact(2)) {
                *lane = mix(*lane, u64::from(pair[0]) | u64::from(pair[1]) << 32);
            }
        }
        for (position, &word) in chunks.remainder().iter().enumerate() {
            lanes[position & 3] = mix(lanes[position & 3], u64::from(word));
        }
        state.write_u64(lanes.into_iter().fold(self.size as u64, mix));
    }
}

impl fmt::Debug for TokenSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|id| id.0)).finish()
    }
}

/// Iterator over the tokens of a [`TokenSet`], ascending.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    words: &'a [u32],
    index: usize,
    /// Bits of the word at `index` that the iterator has not returned.
    bits: u32,
}

impl Iterator for Iter<'_> {
    type Item = TokenId;

    fn next(&mut self) -> Option<TokenId> {
        while self.bits == 0 {
            self.index += 1;
            self.bits = *self.words.get(self.index)?;
        }
        let id = self.index as u32 * 32 + self.bits.trailing_zeros();
        self.bits &= self.bits - 1;
        Some(TokenId(id))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn empty_sizes_work() {
        assert_eq!(TokenSet::new(0).words(), []);
        assert_eq!(TokenSet::new(0).iter().count(), 0);
        assert!(!TokenSet::new(0).contains(TokenId(0)));
        assert_eq!(TokenSet::new(33).words(), [0, 0]);
    }

    #[test]
    #[should_panic(expected = "token 33 is outside a set over 33 ids")]
    fn rejects_ids_beyond_the_size() {
        TokenSet::new(33).insert(TokenId(33));
    }

    proptest! {
        #[test]
        fn equals_an_ordinary_set(
            size in 1usize..100,
            operations in prop::collection::vec((any::<bool>(), any::<u32>()), 0..200),
            more in prop::collection::vec(any::<u32>(), 0..20),
        ) {
            let mut set = TokenSet::new(size);
            let mut model = BTreeSet::new();
            let limit = u32::try_from(size).unwrap();
            for (insert, id) in operations {
                let id = TokenId(id % limit);
                if insert {
                    prop_assert_eq!(set.insert(id), model.insert(id));
                } else {
                    prop_assert_eq!(set.remove(id), model.remove(&id));
                }
            }
            let mut other = TokenSet::new(size);
            other.extend(more.iter().map(|id| TokenId(id % limit)));
            set.union_with(&other);
            model.extend(&other);
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), model.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(set.len(), model.len());
            prop_assert_eq!(set.is_empty(), model.is_empty());
            prop_assert!(set.difference(&other).eq(model.iter().copied().filter(|&id| !other.contains(id))));
            for max in 0..=size {
                let few = (model.len() <= max).then(|| model.iter().copied().collect::<Vec<_>>());
                prop_assert_eq!(set.up_to(max), few);
            }
            let mut within = other.clone();
            within.union_with_within(&set, &[0x5555_5555_5555_5555; 2]);
            let even = model.iter().copied().filter(|id| id.0 % 2 == 0);
            prop_assert_eq!(within.iter().collect::<BTreeSet<_>>(), other.iter().chain(even).collect());
            for id in (0..limit + 40).map(TokenId) {
                prop_assert_eq!(set.contains(id), model.contains(&id));
            }
            set.clear();
            prop_assert!(set.is_empty());
        }
    }
}
