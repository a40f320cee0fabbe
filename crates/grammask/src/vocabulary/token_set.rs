//! A set of tokens as a dense bitset, in the layout in which masks leave the engine.
//!
//! Bit `id & 31` of word `id >> 5` says whether the token is in the set; there are `ceil(size / 32)` words, and
//! the bits of the last word beyond the size are zero. This is the layout that vLLM, SGLang and TensorRT-LLM
//! read, so a finished mask is handed over by a plain copy.

use std::fmt;
use std::hash::{Hash, Hasher};

use super::TokenId;

/// A set of tokens with ids below a fixed size.
///
/// ```
/// use grammask::vocabulary::{TokenId, TokenSet};
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

    /// Number of ids that could be in the set.
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

    /// Takes a token away; returns whether it was in the set.
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

    /// Takes all tokens away.
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

    /// Adds the tokens of some words of a set of the same size, each with its position.
    pub(crate) fn union_with_words(&mut self, words: &[(u32, u32)]) {
        for &(position, more) in words {
            self.words[position as usize] |= more;
        }
    }

    /// The tokens in the set, ascending.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        Iter { words: &self.words, index: 0, rest: self.words.first().copied().unwrap_or(0) }
    }

    /// The set in the layout of masks.
    #[must_use]
    pub fn words(&self) -> &[u32] {
        &self.words
    }
}

impl Extend<TokenId> for TokenSet {
    fn extend<I: IntoIterator<Item = TokenId>>(&mut self, ids: I) {
        for id in ids {
            self.insert(id);
        }
    }
}

impl<'a> IntoIterator for &'a TokenSet {
    type Item = TokenId;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Each new mask is hashed to find its equal, so this goes through the words in four lanes that do not wait for each other.
impl Hash for TokenSet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let mix = |lane: u64, word: u64| (lane ^ word).wrapping_mul(FACTOR).rotate_left(29);
        let mut lanes = [1_u64, 2, 3, 4];
        let mut chunks = self.words.chunks_exact(8);
        for chunk in &mut chunks {
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

/// The tokens of a [`TokenSet`], ascending.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    words: &'a [u32],
    index: usize,
    /// Bits of the word at `index` that are still to come.
    rest: u32,
}

impl Iterator for Iter<'_> {
    type Item = TokenId;

    fn next(&mut self) -> Option<TokenId> {
        while self.rest == 0 {
            self.index += 1;
            self.rest = *self.words.get(self.index)?;
        }
        let id = self.index as u32 * 32 + self.rest.trailing_zeros();
        self.rest &= self.rest - 1;
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
    fn nothing_enters_beyond_the_size() {
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
            for id in (0..limit + 40).map(TokenId) {
                prop_assert_eq!(set.contains(id), model.contains(&id));
            }
            set.clear();
            prop_assert!(set.is_empty());
        }
    }
}
