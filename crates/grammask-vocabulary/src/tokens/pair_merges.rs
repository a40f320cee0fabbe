//! Byte-pair encoding: the merges of a tokenizer, applied to the symbols of a piece of text.
//!
//! Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword Units" (ACL 2016): as long as two
//! neighbours have a merge, the first merge of the list is applied at its first place. Cost: `O(n log n)` for `n` symbols.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::TokenId;

/// A merge of two neighbours into one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairMerge {
    /// The left neighbour.
    pub left: TokenId,
    /// The right neighbour.
    pub right: TokenId,
    /// The token that replaces both.
    pub merged: TokenId,
}

/// The merges of a tokenizer.
#[derive(Clone, Debug, Default)]
pub struct PairMerges {
    /// The rank of the merge of two neighbours, and its token.
    ranked: FxHashMap<(TokenId, TokenId), (u32, TokenId)>,
}

/// A symbol between its neighbours; one that was merged into its left neighbour is `None`.
struct LinkedSymbol {
    token: Option<TokenId>,
    left: Option<usize>,
    right: Option<usize>,
}

impl PairMerges {
    /// The merges in the order of their ranks; of two merges of a pair the first counts.
    ///
    /// ```
    /// use grammask_vocabulary::{PairMerge, PairMerges, TokenId};
    ///
    /// let [a, b, ab, abb] = [0, 1, 2, 3].map(TokenId);
    /// let merges = PairMerges::new([
    ///     PairMerge { left: a, right: b, merged: ab },
    ///     PairMerge { left: ab, right: b, merged: abb },
    /// ]);
    /// assert_eq!(merges.apply(&[b, a, b, b, a]), [b, abb, a]);
    /// ```
    #[must_use]
    pub fn new(merges: impl IntoIterator<Item = PairMerge>) -> Self {
        let mut ranked = FxHashMap::default();
        for (rank, PairMerge { left, right, merged }) in (0..).zip(merges) {
            ranked.entry((left, right)).or_insert((rank, merged));
        }
        Self { ranked }
    }

    /// The tokens of a piece of text, given as its symbols.
    #[must_use]
    pub fn apply(&self, symbols: &[TokenId]) -> Vec<TokenId> {
        let last = symbols.len().saturating_sub(1);
        let mut linked: Vec<LinkedSymbol> = symbols
            .iter()
            .enumerate()
            .map(|(index, &token)| LinkedSymbol {
                token: Some(token),
                left: index.checked_sub(1),
                right: (index < last).then_some(index + 1),
            })
            .collect();
        let mut candidates = BinaryHeap::new();
        for left in 0..linked.len() {
            candidates.extend(self.merge_at(&linked, left).map(|(rank, _)| Reverse((rank, left))));
        }
        while let Some(Reverse((rank, left))) = candidates.pop() {
            // A candidate is outdated if one of its symbols has changed.
            let Some((_, merged)) = self.merge_at(&linked, left).filter(|&(current, _)| current == rank)
            else {
                continue;
            };
            let Some(right) = linked[left].right else { continue };
            let after = linked[right].right;
            linked[right].token = None;
            linked[left].token = Some(merged);
            linked[left].right = after;
            if let Some(after) = after {
                linked[after].left = Some(left);
            }
            for first in [linked[left].left, Some(left)].into_iter().flatten() {
                candidates.extend(self.merge_at(&linked, first).map(|(rank, _)| Reverse((rank, first))));
            }
        }
        linked.into_iter().filter_map(|symbol| symbol.token).collect()
    }

    /// The merge of a symbol with its right neighbour, with its rank.
    fn merge_at(&self, linked: &[LinkedSymbol], left: usize) -> Option<(u32, TokenId)> {
        let right = linked[left].right?;
        self.ranked.get(&(linked[left].token?, linked[right].token?)).copied()
    }
}
