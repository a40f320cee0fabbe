//! A finished mask: the tokens that can come next, in as little memory as they need.
//!
//! Writing it into a row costs a copy of the row's size and a step for each listed token. Where a mask is written often, and
//! by what shows the words themselves, these are made and kept.

use std::fmt;
use std::hash::Hasher;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHasher;

use super::live_tokens::Tokens;
use crate::{LiveTokens, TokenId, TokenSet};

/// Listed tokens beside a large set, and by themselves, from which on words are worth making.
const MANY_LISTED: usize = 32;
const MANY_ALONE: usize = 256;
/// So often a mask is written without them.
const FEW_TIMES: u32 = 2;

/// The tokens that can come next. Equal masks hold the same tokens, however these are kept.
pub struct Mask {
    size: usize,
    tokens: LiveTokens,
    /// Hash of how the tokens are kept.
    form_hash: u64,
    /// The words, where they were asked for and no set has them.
    words: OnceLock<TokenSet>,
    /// How often it was written by going through long lists.
    written: AtomicU32,
    /// Where the bytes of the words are counted.
    bytes: Arc<AtomicUsize>,
}

impl Mask {
    /// A mask over `size` ids.
    #[must_use]
    pub fn new(tokens: LiveTokens, size: usize) -> Self {
        Self::counted(tokens, size, Arc::default())
    }

    /// The same; the bytes of what is made later are added to `bytes`.
    pub fn counted(tokens: LiveTokens, size: usize, bytes: Arc<AtomicUsize>) -> Self {
        let mut hasher = FxHasher::default();
        tokens.hash_form(&mut hasher);
        let form_hash = hasher.finish();
        Self { size, tokens, form_hash, words: OnceLock::new(), written: AtomicU32::new(0), bytes }
    }

    /// The mask, or if its words are counted in `bytes`, one of the same tokens whose are not.
    pub fn not_counted_in(self: Arc<Self>, bytes: &Arc<AtomicUsize>) -> Arc<Self> {
        if Arc::ptr_eq(&self.bytes, bytes) {
            return Arc::new(Self::new(self.tokens.clone(), self.size));
        }
        self
    }

    /// Hash of how the tokens are kept: the large set by where it is, and the lists.
    pub fn form_hash(&self) -> u64 {
        self.form_hash
    }

    /// Number of ids that could be in the mask.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// How many 32-bit words the mask has as a row.
    #[must_use]
    pub fn word_count(&self) -> usize {
        TokenSet::word_count(self.size)
    }

    /// How the tokens are kept.
    #[must_use]
    pub fn live_tokens(&self) -> &LiveTokens {
        &self.tokens
    }

    /// Whether a token is in the mask.
    #[must_use]
    pub fn contains(&self, id: TokenId) -> bool {
        self.tokens.contains(id)
    }

    /// Number of tokens. May cost a pass over the words.
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
    pub fn iter(&self) -> Tokens<'_> {
        self.tokens.iter()
    }

    /// The mask as a set. Where it is kept in another form this is made when it is first asked for, and stays.
    #[must_use]
    pub fn as_set(&self) -> &TokenSet {
        match &self.tokens {
            LiveTokens::Set(set) => set,
            tokens => self.words.get_or_init(|| {
                self.bytes.fetch_add(self.word_count() * size_of::<u32>(), Ordering::Relaxed);
                tokens.to_set(self.size)
            }),
        }
    }

    /// The words of [`Mask::as_set`].
    #[must_use]
    pub fn words(&self) -> &[u32] {
        self.as_set().words()
    }

    /// Writes the mask into a row of 32-bit words.
    ///
    /// # Panics
    /// When the row has not as many words as the mask.
    #[inline]
    pub fn write_to(&self, row: &mut [i32]) {
        assert_eq!(row.len(), self.word_count(), "a row has as many words as a mask");
        if let Some(words) = self.words.get() {
            return copy(words, row);
        }
        let (less, more) = self.tokens.differences();
        let many = if self.tokens.base().is_some() { MANY_LISTED } else { MANY_ALONE };
        if less.len() + more.len() >= many && self.is_written_often() {
            return copy(self.as_set(), row);
        }
        match self.tokens.base() {
            Some(base) => copy(base, row),
            None => row.fill(0),
        }
        for id in less {
            row[id.index() >> 5] &= !(1 << (id.0 & 31));
        }
        for id in more {
            row[id.index() >> 5] |= 1 << (id.0 & 31);
        }
    }

    fn is_written_often(&self) -> bool {
        self.written.fetch_add(1, Ordering::Relaxed) >= FEW_TIMES
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
    type IntoIter = Tokens<'a>;

    fn into_iter(self) -> Tokens<'a> {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SummaryCache;

    #[test]
    fn rows_are_the_words_in_every_form() {
        let size = 30_000;
        let store = SummaryCache::default();
        let mut base = TokenSet::new(size);
        base.extend((0..30_000).filter(|id| id % 3 == 0).map(TokenId));
        let base = Arc::new(base);
        let few = |ids: &[u32]| LiveTokens::new(ids.iter().copied().map(TokenId).collect(), size);
        let without = LiveTokens::without(&base, vec![TokenId(999), TokenId(0)]);
        let near = LiveTokens::union(&[without.clone(), few(&[1, 998])], size, &store);
        let others: Vec<u32> = (1..40).map(|id| 3 * id + 1).collect();
        let not_so_near = LiveTokens::union(&[without.clone(), few(&others)], size, &store);
        for live in
            [LiveTokens::none(), few(&[999, 31, 32]), LiveTokens::Set(base), without, near, not_so_near]
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
            assert_eq!(mask, Mask::new(LiveTokens::Set(Arc::new(live.to_set(size))), size));
            assert_eq!(mask, live.to_set(size));
            let is_set = matches!(live, LiveTokens::Set(_));
            assert_eq!(bytes.load(Ordering::Relaxed), if is_set { 0 } else { 4 * mask.word_count() });
        }
    }
}
