//! Sets of tokens in the representation that masks are composed of: a short list, a shared bitset, or a bitset with a
//! delta.
//!
//! Most masks hold about ten tokens, and most others are the mask of free text with a few tokens removed and added. A
//! union of such sets keeps the bitset as its base and computes lists of removed and of added tokens, so that its
//! cost and its memory are proportional to these lists. Only a union of different bitsets makes a new bitset.
//!
//! Unions are memoised by the identities of their parts in the vocabulary's [`SummaryCache`], for all grammars.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::token_set;
use crate::{BitOrder, SummaryCache, TokenId, TokenSet, TokenSetId, TokenSetRef};

/// Lists hold at most the `MAX_LISTED_SHARE`-th part of all ids: adding a longer list costs more than adding a bitset.
const MAX_LISTED_SHARE: usize = 128;

/// Tokens that a list may always hold, for small vocabularies.
const MIN_LIST_CAPACITY: usize = 16;

/// Maximum number of unordered tokens that are sorted by comparisons; a bitset orders more of them faster.
const MAX_SORTED: usize = 256;

/// Minimum length, in tokens, of lists that are merged one by one; shorter ones are concatenated and sorted.
const MIN_MERGED_LENGTH: usize = 64;
/// Maximum number of lists that are merged one by one; more of them are concatenated and sorted.
const MAX_MERGED_LISTS: usize = 4;

/// Ratio of two lists' lengths from which the tokens of the shorter one are searched in the longer one.
const MIN_SEARCH_RATIO: usize = 8;

/// Minimum number of listed tokens of a memoised union; smaller unions of lists are computed as fast as looked up.
const MIN_MEMOISED_TOKENS: usize = 32;

/// Maximum number of tokens in the lists of one set over `size` ids.
fn max_listed(size: usize) -> usize {
    (size / MAX_LISTED_SHARE).max(MIN_LIST_CAPACITY)
}

/// An immutable set of tokens. Adding it to another set costs a step per listed token, and a pass over its base if it
/// has one. See the documentation of the module.
#[derive(Clone, Debug)]
pub struct LiveTokens {
    id: TokenSetId,
    representation: Representation,
}

#[derive(Clone, Debug)]
enum Representation {
    /// Ascending.
    List(Arc<[TokenId]>),
    Set(TokenSetRef),
    Delta(Arc<TokenSetDelta>),
}

/// The tokens of a base set, with some removed and some added.
#[derive(Debug)]
struct TokenSetDelta {
    base: TokenSetRef,
    /// Tokens of the base, ascending.
    removed: Box<[TokenId]>,
    /// Tokens outside the base, ascending.
    added: Box<[TokenId]>,
}

impl LiveTokens {
    /// The empty set.
    #[must_use]
    pub fn none() -> Self {
        Self::list(Arc::from([]))
    }

    /// A set of the given tokens, in any order and with repetition, of a vocabulary of `size` ids.
    #[must_use]
    pub fn new(mut tokens: Vec<TokenId>, size: usize) -> Self {
        if tokens.len() > max_listed(size).min(MAX_SORTED) {
            let mut set = TokenSet::new(size);
            set.extend(tokens);
            return Self::from_set(set);
        }
        tokens.sort_unstable();
        tokens.dedup();
        Self::list(tokens.into())
    }

    /// As [`LiveTokens::new`], with `order` to sort the tokens. Afterwards `tokens` is sorted, or empty.
    #[must_use]
    pub fn ordered_by(order: &mut BitOrder, tokens: &mut Vec<TokenId>, size: usize) -> Self {
        if tokens.len() > max_listed(size) {
            return Self::new(std::mem::take(tokens), size);
        }
        order.order(tokens, size);
        Self::list(tokens.as_slice().into())
    }

    /// The tokens of a set, as a list if they are few.
    #[must_use]
    pub fn from_set(set: TokenSet) -> Self {
        Self::from_shared(set.into())
    }

    /// The tokens of a shared set, as a list if they are few.
    #[must_use]
    pub fn from_shared(set: TokenSetRef) -> Self {
        match set.up_to(max_listed(set.size())) {
            Some(few) => Self::list(few.into()),
            None => Self::from_dense(set),
        }
    }

    /// The tokens of a shared set, which stays a bitset even if they are few.
    #[must_use]
    pub fn from_dense(set: TokenSetRef) -> Self {
        Self { id: set.id(), representation: Representation::Set(set) }
    }

    /// The tokens of `set`, a subset of `base`.
    #[must_use]
    pub(crate) fn within(base: &TokenSetRef, set: TokenSet) -> Self {
        let max = max_listed(base.size());
        let removed: Vec<TokenId> = base.difference(&set).take(max + 1).collect();
        if removed.len() > max {
            return Self::from_set(set);
        }
        Self::delta(base.clone(), removed, Vec::new())
    }

    /// The tokens of a set except the removed ones, given in any order and with repetition.
    #[must_use]
    pub fn without(base: &TokenSetRef, mut removed: Vec<TokenId>) -> Self {
        if removed.len() > max_listed(base.size()) {
            let mut set = TokenSet::clone(base);
            for token in removed {
                set.remove(token);
            }
            return Self::from_set(set);
        }
        removed.retain(|&token| base.contains(token));
        sort(&mut removed);
        Self::delta(base.clone(), removed, Vec::new())
    }

    /// These tokens except the removed ones, given in any order and with repetition. If they have none of these, the
    /// result is the same set, with its memoised unions.
    #[must_use]
    pub fn but(&self, mut removed: Vec<TokenId>, size: usize) -> Self {
        removed.retain(|&token| self.contains(token));
        if removed.is_empty() {
            return self.clone();
        }
        sort(&mut removed);
        let is_kept = |token: &TokenId| removed.binary_search(token).is_err();
        match &self.representation {
            Representation::Set(base) => Self::without(base, removed),
            Representation::Delta(delta) if delta.removed.len() + removed.len() <= max_listed(size) => {
                let added = delta.added.iter().copied().filter(is_kept).collect();
                removed.retain(|&token| delta.base.contains(token));
                removed.extend_from_slice(&delta.removed);
                sort(&mut removed);
                Self::delta(delta.base.clone(), removed, added)
            }
            Representation::List(tokens) => Self::list(tokens.iter().copied().filter(is_kept).collect()),
            Representation::Delta(_) => {
                let mut set = self.to_set(size);
                for token in removed {
                    set.remove(token);
                }
                Self::from_set(set)
            }
        }
    }

    /// The union of several sets over `size` ids. Costs a lookup if the cache has the union of the same parts;
    /// otherwise a step per listed token, and a pass over a bitset per base if the bases differ.
    #[must_use]
    pub fn union(parts: &[Self], size: usize, cache: &SummaryCache) -> Self {
        if let [only] = parts {
            return only.clone();
        }
        let mut distinct: Vec<&Self> = parts.iter().filter(|part| !part.is_empty_list()).collect();
        distinct.sort_unstable_by_key(|part| part.id);
        distinct.dedup_by_key(|part| part.id);
        match distinct[..] {
            [] => return Self::none(),
            [only] => return only.clone(),
            _ => {}
        }
        let listed = |part: &&Self| part.differences().1.len();
        if distinct.iter().all(|part| part.base().is_none())
            && distinct.iter().map(listed).sum::<usize>() < MIN_MEMOISED_TOKENS
        {
            return cache.share(Self::new_union(&distinct, size, cache));
        }
        let ids: Vec<TokenSetId> = distinct.iter().map(|part| part.id).collect();
        if let Some(union) = cache.get_union(&ids) {
            return union;
        }
        let union = cache.share(Self::new_union(&distinct, size, cache));
        cache.insert_union(ids, union.clone());
        union
    }

    /// The union of sets of different identities, none of which is an empty list.
    fn new_union(parts: &[&Self], size: usize, cache: &SummaryCache) -> Self {
        let mut bases: Vec<&TokenSetRef> = Vec::new();
        let (mut removed, mut lists) = (Vec::new(), Vec::with_capacity(parts.len()));
        for part in parts {
            if let Some(base) = part.base()
                && !bases.iter().any(|other| other.id() == base.id())
            {
                bases.push(base);
            }
            let (missing, listed) = part.differences();
            removed.extend_from_slice(missing);
            lists.extend((!listed.is_empty()).then_some(listed));
        }
        let base = match bases[..] {
            [] => None,
            [only] => Some(only.clone()),
            _ => Some(cache.union_of(bases, size)),
        };
        let max = max_listed(size);
        let added = match &base {
            None if lists.iter().map(|list| list.len()).sum::<usize>() > max => None,
            None => Some(merged(lists)),
            Some(base) => {
                removed.retain(|&token| !parts.iter().any(|part| part.contains(token)));
                let mut added = merged(lists);
                added.retain(|&token| !base.contains(token));
                Some(added)
            }
        };
        let Some(added) = added.filter(|added| added.len() + removed.len() <= max) else {
            let mut set = TokenSet::new(size);
            parts.iter().for_each(|part| part.add_to(&mut set));
            return Self::from_set(set);
        };
        sort(&mut removed);
        match base {
            None => Self::list(added.into()),
            Some(base) => Self::delta(base, removed, added),
        }
    }

    /// A set of ascending tokens.
    fn list(tokens: Arc<[TokenId]>) -> Self {
        Self { id: TokenSetId::next(), representation: Representation::List(tokens) }
    }

    /// A base with ascending lists of removed tokens, which it contains, and of added ones, which it does not.
    fn delta(base: TokenSetRef, removed: Vec<TokenId>, added: Vec<TokenId>) -> Self {
        if removed.is_empty() && added.is_empty() {
            return Self::from_dense(base);
        }
        let delta = TokenSetDelta { base, removed: removed.into(), added: added.into() };
        Self { id: TokenSetId::next(), representation: Representation::Delta(Arc::new(delta)) }
    }

    /// The identity of the set.
    #[inline]
    pub(crate) fn id(&self) -> TokenSetId {
        self.id
    }

    /// The bitset that the set is, or that it differs from by a delta; `None` for a list.
    #[must_use]
    pub fn base(&self) -> Option<&TokenSetRef> {
        match &self.representation {
            Representation::List(_) => None,
            Representation::Set(base) => Some(base),
            Representation::Delta(delta) => Some(&delta.base),
        }
    }

    /// The bitset, if it is stored without a delta.
    #[must_use]
    pub fn as_dense(&self) -> Option<&TokenSetRef> {
        match &self.representation {
            Representation::Set(set) => Some(set),
            _ => None,
        }
    }

    /// Whether the set is stored as a list.
    #[must_use]
    pub fn is_list(&self) -> bool {
        matches!(self.representation, Representation::List(_))
    }

    /// The tokens removed from the base, and those added to it.
    #[must_use]
    pub fn differences(&self) -> (&[TokenId], &[TokenId]) {
        match &self.representation {
            Representation::List(tokens) => (&[], tokens),
            Representation::Set(_) => (&[], &[]),
            Representation::Delta(delta) => (&delta.removed, &delta.added),
        }
    }

    /// Whether it is the empty list. Other representations of the empty set are rare, and take a pass to recognise.
    fn is_empty_list(&self) -> bool {
        matches!(&self.representation, Representation::List(tokens) if tokens.is_empty())
    }

    /// Hashes a bitset by its content, and other representations as [`LiveTokens::hash_representation`] does.
    pub(crate) fn hash_content<H: Hasher>(&self, state: &mut H) {
        match &self.representation {
            Representation::Set(set) => set.hash(state),
            _ => self.hash_representation(state),
        }
    }

    /// Whether both are bitsets of the same content, or have the same representation.
    pub(crate) fn has_content_of(&self, other: &Self) -> bool {
        match (&self.representation, &other.representation) {
            (Representation::Set(set), Representation::Set(other)) => set == other,
            _ => self.has_representation_of(other),
        }
    }

    /// Hashes the lists and the identity of the base.
    pub(crate) fn hash_representation<H: Hasher>(&self, state: &mut H) {
        self.base().map(TokenSetRef::id).hash(state);
        self.differences().hash(state);
    }

    /// Whether both have equal lists and the same base. Sets of different representations may still hold the same
    /// tokens.
    #[must_use]
    pub fn has_representation_of(&self, other: &Self) -> bool {
        let base = |tokens: &Self| tokens.base().map(TokenSetRef::id);
        self.id == other.id || base(self) == base(other) && self.differences() == other.differences()
    }

    /// Whether there is no token.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Number of tokens. Costs a pass over the base.
    #[must_use]
    pub fn len(&self) -> usize {
        let (removed, added) = self.differences();
        self.base().map_or(0, |base| base.len()) + added.len() - removed.len()
    }

    /// Whether a token is in the set.
    #[must_use]
    pub fn contains(&self, token: TokenId) -> bool {
        let (removed, added) = self.differences();
        if self.base().is_some_and(|base| base.contains(token)) {
            return removed.binary_search(&token).is_err();
        }
        added.binary_search(&token).is_ok()
    }

    /// The tokens, ascending.
    #[must_use]
    pub fn iter(&self) -> LiveTokensIter<'_> {
        let (removed, added) = self.differences();
        LiveTokensIter { base: self.base().map(|base| base.iter()), next: None, removed, added }
    }

    /// Adds the tokens to a set.
    pub fn add_to(&self, set: &mut TokenSet) {
        let (removed, added) = self.differences();
        if let Some(base) = self.base() {
            let missing: Vec<TokenId> =
                removed.iter().copied().filter(|&token| !set.contains(token)).collect();
            set.union_with(base);
            for token in missing {
                set.remove(token);
            }
        }
        set.extend(added.iter().copied());
    }

    /// The tokens as a bitset over `size` ids.
    #[must_use]
    pub fn to_set(&self, size: usize) -> TokenSet {
        let (removed, added) = self.differences();
        let mut set = match self.base() {
            Some(base) => TokenSet::clone(base),
            None => TokenSet::new(size),
        };
        for &token in removed {
            set.remove(token);
        }
        set.extend(added.iter().copied());
        set
    }

    /// The tokens that are not in a set, ascending.
    ///
    /// Cost: a step per listed token, or a pass over a bitset.
    #[must_use]
    pub fn outside(&self, set: &TokenSet) -> Vec<TokenId> {
        match &self.representation {
            Representation::List(tokens) => {
                tokens.iter().copied().filter(|&token| !set.contains(token)).collect()
            }
            Representation::Set(base) => base.difference(set).collect(),
            Representation::Delta(_) => self.to_set(set.size()).difference(set).collect(),
        }
    }

    /// Whether there is another handle of the same set.
    pub(crate) fn is_shared(&self) -> bool {
        match &self.representation {
            Representation::List(list) => Arc::strong_count(list) > 1,
            Representation::Set(set) => set.is_shared(),
            Representation::Delta(delta) => Arc::strong_count(delta) > 1,
        }
    }

    /// Memory of the set without its base, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let (removed, added) = self.differences();
        size_of::<TokenSetDelta>() + size_of_val(removed) + size_of_val(added)
    }
}

/// The union of ascending lists, ascending and without repetition.
fn merged(mut lists: Vec<&[TokenId]>) -> Vec<TokenId> {
    lists.sort_unstable_by_key(|list| list.len());
    let short = lists.partition_point(|list| list.len() < MIN_MERGED_LENGTH);
    let short = if lists.len() - short > MAX_MERGED_LISTS { lists.len() } else { short };
    let mut all = lists[..short].concat();
    if short > 1 {
        sort(&mut all);
    }
    lists[short..].iter().fold(all, |all, list| merge(&all, list))
}

/// The union of two ascending lists without repetition, the second of which is usually the longer one.
fn merge(few: &[TokenId], many: &[TokenId]) -> Vec<TokenId> {
    if few.len() * MIN_SEARCH_RATIO < many.len() {
        let mut all = Vec::with_capacity(few.len() + many.len());
        let mut remaining = many;
        for &token in few {
            let (before, after) = remaining.split_at(remaining.partition_point(|&other| other < token));
            all.extend_from_slice(before);
            all.push(token);
            remaining = after.strip_prefix(&[token]).unwrap_or(after);
        }
        all.extend_from_slice(remaining);
        return all;
    }
    let mut all = vec![TokenId(0); few.len() + many.len()];
    let (mut left, mut right, mut len) = (0, 0, 0);
    // Without a branch on the comparison, which the processor could not predict.
    while left < few.len() && right < many.len() {
        let (first, second) = (few[left], many[right]);
        all[len] = TokenId(first.0.min(second.0));
        left += usize::from(first.0 <= second.0);
        right += usize::from(second.0 <= first.0);
        len += 1;
    }
    all.truncate(len);
    all.extend_from_slice(&few[left..]);
    all.extend_from_slice(&many[right..]);
    all
}

/// Sorts tokens and removes repetitions.
fn sort(tokens: &mut Vec<TokenId>) {
    // The stable sort detects runs, and the input is usually a concatenation of ascending lists.
    tokens.sort();
    tokens.dedup();
}

/// Iterator over the tokens of [`LiveTokens`], ascending.
#[derive(Clone, Debug)]
pub struct LiveTokensIter<'a> {
    base: Option<token_set::Iter<'a>>,
    /// The next token of the base, if it has been read from its iterator.
    next: Option<TokenId>,
    removed: &'a [TokenId],
    added: &'a [TokenId],
}

impl Iterator for LiveTokensIter<'_> {
    type Item = TokenId;

    fn next(&mut self) -> Option<TokenId> {
        while self.next.is_none()
            && let Some(next) = self.base.as_mut().and_then(Iterator::next)
        {
            match self.removed {
                [first, rest @ ..] if *first == next => self.removed = rest,
                _ => self.next = Some(next),
            }
        }
        match self.added {
            [first, rest @ ..] if self.next.is_none_or(|next| *first < next) => {
                self.added = rest;
                Some(*first)
            }
            _ => self.next.take(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const SIZE: usize = 90;

    fn set(tokens: &BTreeSet<u32>) -> TokenSetRef {
        let mut set = TokenSet::new(SIZE);
        set.extend(tokens.iter().copied().map(TokenId));
        set.into()
    }

    fn ids(tokens: &BTreeSet<u32>) -> Vec<TokenId> {
        tokens.iter().rev().chain(tokens).copied().map(TokenId).collect()
    }

    fn check(live: &LiveTokens, model: &BTreeSet<u32>) -> Result<(), TestCaseError> {
        prop_assert_eq!(
            live.iter().map(|id| id.0).collect::<Vec<_>>(),
            model.iter().copied().collect::<Vec<_>>()
        );
        prop_assert_eq!(live.len(), model.len());
        prop_assert_eq!(live.is_empty(), model.is_empty());
        prop_assert_eq!(&live.to_set(SIZE), &*set(model));
        for id in 0..SIZE as u32 + 5 {
            prop_assert_eq!(live.contains(TokenId(id)), model.contains(&id));
        }
        Ok(())
    }

    fn tokens(max: usize) -> impl Strategy<Value = BTreeSet<u32>> {
        prop::collection::btree_set(0..SIZE as u32, 0..max)
    }

    proptest! {
        #[test]
        fn unions_are_unions(
            large in prop::collection::vec(tokens(SIZE), 1..3),
            parts in prop::collection::vec((0..5_usize, tokens(20), tokens(6), any::<prop::sample::Index>()), 0..5),
            already in tokens(30),
            capacity in prop_oneof![Just(0), Just(2000), Just(1 << 20)],
        ) {
            let cache = SummaryCache::default();
            // A capacity of zero clears the cache at every step, and a small one now and then.
            cache.set_capacity(capacity);
            let bases: Vec<_> = large.iter().map(set).collect();
            let (mut lives, mut all) = (Vec::new(), BTreeSet::new());
            for (kind, some, few, index) in parts {
                let base = index.index(bases.len());
                let but = |model: &BTreeSet<u32>| model - &few;
                let (live, model) = match kind {
                    0 => (LiveTokens::new(ids(&some), SIZE), some.clone()),
                    1 => (LiveTokens::from_dense(bases[base].clone()), large[base].clone()),
                    2 => (LiveTokens::without(&bases[base], ids(&few)), but(&large[base])),
                    3 => {
                        let union = [LiveTokens::from_dense(bases[base].clone()), LiveTokens::new(ids(&some), SIZE)];
                        let union = LiveTokens::union(&union, SIZE, &cache);
                        (union.but(ids(&few), SIZE), but(&(&large[base] | &some)))
                    }
                    _ => (LiveTokens::from_shared(bases[base].clone()), large[base].clone()),
                };
                check(&live, &model)?;
                let mut added = TokenSet::clone(&set(&already));
                live.add_to(&mut added);
                prop_assert_eq!(&added, &*set(&(&already | &model)));
                all = &all | &model;
                let shared = cache.share(live.clone());
                check(&shared, &model)?;
                lives.extend([live, shared]);
            }
            // The second round reads memoised unions.
            for _ in 0..2 {
                let union = LiveTokens::union(&lives, SIZE, &cache);
                check(&union, &all)?;
                if let Some(mask) = cache.mask(&union, SIZE) {
                    prop_assert_eq!(&*mask, &*set(&all));
                }
            }
        }
    }
}
