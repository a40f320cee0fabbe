//! Sets of tokens as ranges of positions in the trie's sorted list, in which a preorder walk encounters them.

use std::ops::Range;

use crate::{LiveTokens, TokenSet, TokenTrie, Vocabulary};

/// Ranges of positions in [`TokenTrie::sorted_ids`](TokenTrie::sorted_ids). Adjacent ranges are merged, so the tokens
/// of a subtree are one range, and most of a vocabulary is a few ranges.
#[derive(Clone, Debug, Default)]
pub struct TokenRanges {
    ranges: Vec<Range<u32>>,
    /// Whether some range begins before the end of its predecessor.
    is_unordered: bool,
}

impl TokenRanges {
    /// Adds the tokens at some positions.
    #[inline]
    pub fn add(&mut self, positions: Range<usize>) {
        // Positions are below `Vocabulary::MAX_SIZE`.
        let (start, end) = (positions.start as u32, positions.end as u32);
        if start == end {
            return;
        }
        match self.ranges.last_mut() {
            Some(last) if last.end == start => last.end = end,
            last => {
                self.is_unordered |= last.is_some_and(|last| last.end > start);
                self.ranges.push(start..end);
            }
        }
    }

    /// Number of tokens in all ranges.
    pub fn token_count(&self) -> usize {
        self.ranges.iter().map(Range::len).sum()
    }

    /// Adds the tokens to a set.
    pub fn add_to(&self, set: &mut TokenSet, trie: &TokenTrie) {
        for range in &self.ranges {
            set.extend(trie.sorted_ids()[range.start as usize..range.end as usize].iter().copied());
        }
    }

    /// The tokens. Costs a step per token of the set, or per token with text outside it if those are fewer.
    pub fn finish(self, vocabulary: &Vocabulary) -> LiveTokens {
        let ids = vocabulary.trie().sorted_ids();
        let at = |positions: Range<u32>| &ids[positions.start as usize..positions.end as usize];
        let count = self.token_count();
        if count <= vocabulary.size() / 32 {
            let tokens = self.ranges.into_iter().flat_map(|range| at(range).iter().copied()).collect();
            return LiveTokens::new(tokens, vocabulary.size());
        }
        if self.is_unordered || count < ids.len() / 2 {
            let mut set = TokenSet::new(vocabulary.size());
            self.add_to(&mut set, vocabulary.trie());
            return LiveTokens::from_set(set);
        }
        let mut removed = Vec::with_capacity(ids.len() - count);
        let mut last = 0;
        for range in self.ranges {
            removed.extend_from_slice(at(last..range.start));
            last = range.end;
        }
        removed.extend_from_slice(&ids[last as usize..]);
        LiveTokens::without(vocabulary.tokens_with_text(), removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TokenId, TokenTexts};

    #[test]
    fn are_the_tokens_at_their_positions() {
        let texts: TokenTexts = (0..200_u8).rev().map(|byte| Some(vec![byte])).collect();
        let vocabulary = Vocabulary::new(texts, vec![], vec![203], Some(204)).expect("a vocabulary");
        for ranges in [
            &[][..],
            &[0..100, 100..200],
            &[0..3, 3..3, 3..7],
            &[5..90, 100..199],
            &[100..199, 5..150],
            &[0..1, 199..200],
            &[40..60, 50..55, 0..2],
        ] {
            let mut tokens = TokenRanges::default();
            let mut expected = TokenSet::new(204);
            for range in ranges {
                tokens.add(range.clone());
                expected.extend(range.clone().map(|position| TokenId(199 - position as u32)));
            }
            let mut actual = TokenSet::new(204);
            tokens.finish(&vocabulary).add_to(&mut actual);
            assert_eq!(actual, expected, "{ranges:?}");
        }
    }
}
