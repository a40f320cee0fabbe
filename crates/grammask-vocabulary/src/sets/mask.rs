//! A finished mask: the legal next tokens, in the representation in which they were composed.
//!
//! Writing a mask into a row copies the words of its base and takes a step per listed token. The words are expanded
//! once for masks with long lists that are written often, and for callers that ask for them.

use std::fmt;
use std::hash::Hasher;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHasher;

use crate::{LiveTokens, LiveTokensIter, TokenId, TokenSet};

/// Minimum number of tokens in the lists of an expanded mask with a base.
const MIN_EXPANDED_WITH_BASE: usize = 32;
/// Minimum number of tokens in the list of an expanded mask without a base.
const MIN_EXPANDED_WITHOUT_BASE: usize = 256;
/// Number of times that a mask with long lists is written before its words are expanded.
const WRITES_BEFORE_EXPANSION: u32 = 2;

/// The legal next tokens. Masks are equal if they hold the same tokens, in whatever representation.
pub struct Mask {
    size: usize,
    tokens: LiveTokens,
    /// Hash of the representation of the tokens.
    representation_hash: u64,
    /// The expanded words of a mask that is not a bitset.
    words: OnceLock<TokenSet>,
    /// Number of times that the mask was written from long lists.
    writes: AtomicU32,
    /// The counter to which the bytes of `words` are added.
    bytes: Arc<AtomicUsize>,
}

impl Mask {
    /// A mask over `size` ids.
    #[must_use]
    pub fn new(tokens: LiveTokens, size: usize) -> Self {
        Self::counted(tokens, size, Arc::default())
    }

    /// A mask over `size` ids that adds the bytes of its expanded words to `bytes`.
    pub fn counted(tokens: LiveTokens, size: usize, bytes: Arc<AtomicUsize>) -> Self {
        let mut hasher = FxHasher::default();
        tokens.hash_representation(&mut hasher);
        let representation_hash = hasher.finish();
        Self { size, tokens, representation_hash, words: OnceLock::new(), writes: AtomicU32::new(0), bytes }
    }

    /// The mask itself, unless it adds to the counter `bytes`: then an equal mask that does not.
    pub fn not_counted_in(self: Arc<Self>, bytes: &Arc<AtomicUsize>) -> Arc<Self> {
        if Arc::ptr_eq(&self.bytes, bytes) {
            return Arc::new(Self::new(self.tokens.clone(), self.size));
        }
        self
    }

    /// Hash of the representation: the identity of the base, and the lists.
    pub fn representation_hash(&self) -> u64 {
        self.representation_hash
    }

    /// Number of ids of the vocabulary.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Number of 32-bit words of the mask as a row.
    #[must_use]
    pub fn word_count(&self) -> usize {
        TokenSet::word_count(self.size)
    }

    /// The tokens in the mask's representation.
    #[must_use]
    pub fn live_tokens(&self) -> &LiveTokens {
        &self.tokens
    }

    /// Whether a token is in the mask.
    #[must_use]
    pub fn contains(&self, id: TokenId) -> bool {
        self.tokens.contains(id)
    }

    /// Number of tokens. Costs a pass over the base.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether no token is in the mask.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The tokens, ascending.
    #[must_use]
    pub fn iter(&self) -> LiveTokensIter<'_> {
        self.tokens.iter()
    }

    /// The mask as a bitset. The first call on a mask of another representation expands its words, which are kept.
    #[must_use]
    pub fn as_set(&self) -> &TokenSet {
        match self.tokens.as_dense() {
            Some(set) => set,
            None => self.words.get_or_init(|| {
                self.bytes.fetch_add(self.word_count() * size_of::<u32>(), Ordering::Relaxed);
                self.tokens.to_set(self.size)
            }),
        }
    }

    /// Memory of the expanded words, in bytes: what the mask has added to its counter.
    pub(crate) fn expanded_bytes(&self) -> usize {
        self.words.get().map_or(0, |set| size_of_val(set.words()))
    }

    /// The words of [`Mask::as_set`].
    #[must_use]
    pub fn words(&self) -> &[u32] {
        self.as_set().words()
    }

    /// Writes the mask into a row of 32-bit words.
    ///
    /// # Panics
    /// When the row does not have [`Mask::word_count`] words.
    #[inline]
    pub fn write_to(&self, row: &mut [i32]) {
        assert_eq!(row.len(), self.word_count(), "a row has as many words as a mask");
        if let Some(words) = self.words.get() {
            return copy(words, row);
        }
        let (removed, added) = self.tokens.differences();
        let has_base = self.tokens.base().is_some();
        let min_expanded = if has_base { MIN_EXPANDED_WITH_BASE } else { MIN_EXPANDED_WITHOUT_BASE };
        if removed.len() + added.len() >= min_expanded && self.is_written_often() {
            return copy(self.as_set(), row);
        }
        match self.tokens.base() {
            Some(base) => copy(base, row),
            None => row.fill(0),
        }
        for id in removed {
            row[id.index() >> 5] &= !(1 << (id.0 & 31));
        }
        for id in added {
            row[id.index() >> 5] |= 1 << (id.0 & 31);
        }
    }

    fn is_written_often(&self) -> bool {
        self.writes.fetch_add(1, Ordering::Relaxed) >= WRITES_BEFORE_EXPANSION
    }
}

fn copy(set: &TokenSet, row: &mut [i32]) {
    for (target, &word) in row.iter_mut().zip(set.words()) {
        *target = word.cast_signed();
    }
}

impl PartialEq for Mask {
    fn eq(&self, other: &Self) -> bool {
        self.size == other.size && self.iter().eq(other.iter())
    }
}

impl Eq for Mask {}

impl PartialEq<TokenSet> for Mask {
    fn eq(&self, other: &TokenSet) -> bool {
        self.size == other.size() && self.iter().eq(other.iter())
    }
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|id| id.0)).finish()
    }
}

impl<'a> IntoIterator for &'a Mask {
    type Item = TokenId;
    type IntoIter = LiveTokensIter<'a>;

    fn into_iter(self) -> LiveTokensIter<'a> {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SummaryCache, TokenSetRef};

    #[test]
    fn rows_are_the_words_in_every_representation() {
        let size = 30_000;
        let cache = SummaryCache::default();
        let mut base = TokenSet::new(size);
        base.extend((0..30_000).filter(|id| id % 3 == 0).map(TokenId));
        let base = TokenSetRef::from(base);
        let few = |ids: &[u32]| LiveTokens::new(ids.iter().copied().map(TokenId).collect(), size);
        let without = LiveTokens::without(&base, vec![TokenId(999), TokenId(0)]);
        let near = LiveTokens::union(&[without.clone(), few(&[1, 998])], size, &cache);
        let others: Vec<u32> = (1..40).map(|id| 3 * id + 1).collect();
        let far = LiveTokens::union(&[without.clone(), few(&others)], size, &cache);
        for live in
            [LiveTokens::none(), few(&[999, 31, 32]), LiveTokens::from_dense(base), without, near, far]
        {
            let bytes = Arc::new(AtomicUsize::new(0));
            let mask = Mask::counted(live.clone(), size, bytes.clone());
            let expected: Vec<i32> =
                live.to_set(size).words().iter().map(|word| word.cast_signed()).collect();
            for _ in 0..5 {
                let mut row = vec![-1; mask.word_count()];
                mask.write_to(&mut row);
                assert_eq!(row, expected);
            }
            assert_eq!(mask.words(), live.to_set(size).words());
            assert_eq!(mask, Mask::new(LiveTokens::from_dense(live.to_set(size).into()), size));
            assert_eq!(mask, live.to_set(size));
            let is_set = live.as_dense().is_some();
            assert_eq!(bytes.load(Ordering::Relaxed), if is_set { 0 } else { 4 * mask.word_count() });
        }
    }
}
