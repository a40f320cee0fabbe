//! Tokens that are live somewhere: a few, or a large set that many share, but for a few.
//!
//! Most masks hold some ten tokens, and most others are those of free text with what can come after it. So a union keeps
//! the large set as it is, and beside it lists of what is missing and of what else there is: it costs what is listed, and
//! takes the memory of that. Only unions of different large sets are made anew.
//!
//! Sets that the vocabulary's store has (see [`SummaryCache`]) are known by where they are, so unions of them are remembered
//! for all grammars.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::token_set;
use crate::{BitOrder, SummaryCache, TokenId, TokenSet};

/// Of more than this part of all ids a bitset is added faster than a list.
const FEW: usize = 128;

/// Of more tokens than these, in no order, a bitset finds the order faster than sorting.
const MOST_SORTED: usize = 256;

/// Lists from this length on are merged one by one, others sorted together; and so are all where many are long.
const LONG_LIST: usize = 64;
const MOST_MERGED: usize = 4;

/// Where one list is so many times as long as another, the places of the tokens of this one are searched in it.
const WORTH_SEARCHING: usize = 8;

/// Unions of fewer listed tokens, without a large set, are made as soon as looked up.
const WORTH_REMEMBERING: usize = 32;

/// So many tokens are listed however small a vocabulary is.
const ALWAYS_LISTED: usize = 16;

/// Most tokens in the lists of one set.
fn most_listed(size: usize) -> usize {
    (size / FEW).max(ALWAYS_LISTED)
}

/// A set of tokens, as cheap to add to others as it is small. See the [module documentation](super).
#[derive(Clone, Debug)]
pub enum LiveTokens {
    /// These tokens, ascending.
    List(Arc<[TokenId]>),
    /// So many that a bitset is faster.
    Set(Arc<TokenSet>),
    /// Almost those of a set.
    Near(Arc<Near>),
}

/// Almost the tokens of a set.
#[derive(Debug)]
pub struct Near {
    base: Arc<TokenSet>,
    /// Tokens of the base that are missing, ascending.
    less: Box<[TokenId]>,
    /// Tokens beyond the base, ascending.
    more: Box<[TokenId]>,
}

impl LiveTokens {
    /// No token.
    #[must_use]
    pub fn none() -> Self {
        Self::List(Arc::from([]))
    }

    /// The given tokens, in any order and with repetition, of a vocabulary of `size` ids.
    #[must_use]
    pub fn new(mut tokens: Vec<TokenId>, size: usize) -> Self {
        if tokens.len() > most_listed(size).min(MOST_SORTED) {
            let mut set = TokenSet::new(size);
            set.extend(tokens);
            return Self::from_set(set);
        }
        tokens.sort_unstable();
        tokens.dedup();
        Self::List(tokens.into())
    }

    /// The same; `tokens` is in order afterwards, or empty.
    #[must_use]
    pub fn ordered_by(order: &mut BitOrder, tokens: &mut Vec<TokenId>, size: usize) -> Self {
        if tokens.len() > most_listed(size) {
            return Self::new(std::mem::take(tokens), size);
        }
        order.order(tokens, size);
        Self::List(tokens.as_slice().into())
    }

    /// The tokens of a set.
    #[must_use]
    pub fn from_set(set: TokenSet) -> Self {
        Self::from_shared(Arc::new(set))
    }

    /// The tokens of a set that others may hold too.
    #[must_use]
    pub fn from_shared(set: Arc<TokenSet>) -> Self {
        match set.up_to(most_listed(set.size())) {
            Some(few) => Self::List(few.into()),
            None => Self::Set(set),
        }
    }

    /// The tokens of a set, all of which are in `base`.
    #[must_use]
    pub(crate) fn within(base: &Arc<TokenSet>, set: TokenSet) -> Self {
        let most = most_listed(base.size());
        let less: Vec<TokenId> = base.difference(&set).take(most + 1).collect();
        if less.len() > most {
            return Self::from_set(set);
        }
        Self::near(base.clone(), less, Vec::new())
    }

    /// The tokens of a set without some of them, in any order and with repetition.
    #[must_use]
    pub fn without(base: &Arc<TokenSet>, mut less: Vec<TokenId>) -> Self {
        if less.len() > most_listed(base.size()) {
            let mut set = TokenSet::clone(base);
            for token in less {
                set.remove(token);
            }
            return Self::from_set(set);
        }
        less.retain(|&token| base.contains(token));
        sort(&mut less);
        Self::near(base.clone(), less, Vec::new())
    }

    /// These tokens but for some, in any order and with repetition.
    #[must_use]
    pub fn but(&self, mut less: Vec<TokenId>, size: usize) -> Self {
        match self {
            _ if less.is_empty() => self.clone(),
            Self::Set(base) => Self::without(base, less),
            Self::Near(near) if near.less.len() + less.len() <= most_listed(size) => {
                let more = near.more.iter().copied().filter(|token| !less.contains(token)).collect();
                less.retain(|&token| near.base.contains(token));
                less.extend_from_slice(&near.less);
                sort(&mut less);
                Self::near(near.base.clone(), less, more)
            }
            Self::List(tokens) => {
                sort(&mut less);
                let kept = tokens.iter().copied().filter(|token| less.binary_search(token).is_err());
                Self::List(kept.collect())
            }
            Self::Near(_) => {
                let mut set = self.to_set(size);
                for token in less {
                    set.remove(token);
                }
                Self::from_set(set)
            }
        }
    }

    /// All tokens of several sets over `size` ids. Costs a lookup where the store has had the same sets before; else the length
    /// of their lists, and a pass over a bitset where different large sets come together for the first time.
    #[must_use]
    pub fn union(parts: &[Self], size: usize, store: &SummaryCache) -> Self {
        if let [only] = parts {
            return only.clone();
        }
        let mut distinct: Vec<&Self> = parts.iter().filter(|part| !part.is_none()).collect();
        distinct.sort_unstable_by_key(|part| part.place());
        distinct.dedup_by_key(|part| part.place());
        match distinct[..] {
            [] => return Self::none(),
            [only] => return only.clone(),
            _ => {}
        }
        let listed = |part: &&Self| part.differences().1.len();
        if distinct.iter().all(|part| part.base().is_none())
            && distinct.iter().map(listed).sum::<usize>() < WORTH_REMEMBERING
        {
            return store.share(Self::new_union(&distinct, size, store));
        }
        let places: Vec<usize> = distinct.iter().map(|part| part.place()).collect();
        if let Some(known) = store.get_union(&places) {
            return known;
        }
        let union = store.share(Self::new_union(&distinct, size, store));
        store.insert_union(places, distinct.into_iter().cloned().collect(), union.clone());
        union
    }

    /// The union of different sets, none of which is the list of no token.
    fn new_union(parts: &[&Self], size: usize, store: &SummaryCache) -> Self {
        let mut bases: Vec<&Arc<TokenSet>> = Vec::new();
        let (mut less, mut lists) = (Vec::new(), Vec::with_capacity(parts.len()));
        for part in parts {
            if let Some(base) = part.base()
                && !bases.iter().any(|known| Arc::ptr_eq(known, base))
            {
                bases.push(base);
            }
            let (missing, listed) = part.differences();
            less.extend_from_slice(missing);
            lists.extend((!listed.is_empty()).then_some(listed));
        }
        let base = match bases[..] {
            [] => None,
            [only] => Some(only.clone()),
            _ => Some(store.union_of(bases, size)),
        };
        let most = most_listed(size);
        let more = match &base {
            None if lists.iter().map(|list| list.len()).sum::<usize>() > most => None,
            None => Some(merged(lists)),
            Some(base) => {
                less.retain(|&token| !parts.iter().any(|part| part.contains(token)));
                let mut more = merged(lists);
                more.retain(|&token| !base.contains(token));
                Some(more)
            }
        };
        let Some(more) = more.filter(|more| more.len() + less.len() <= most) else {
            let mut set = TokenSet::new(size);
            parts.iter().for_each(|part| part.add_to(&mut set));
            return Self::from_set(set);
        };
        sort(&mut less);
        match base {
            None => Self::List(more.into()),
            Some(base) => Self::near(base, less, more),
        }
    }

    /// The lists are ascending; `less` is in the base, and `more` is not.
    fn near(base: Arc<TokenSet>, less: Vec<TokenId>, more: Vec<TokenId>) -> Self {
        if less.is_empty() && more.is_empty() {
            return Self::Set(base);
        }
        Self::Near(Arc::new(Near { base, less: less.into(), more: more.into() }))
    }

    /// The large set that the tokens are those of, or almost.
    #[must_use]
    pub fn base(&self) -> Option<&Arc<TokenSet>> {
        match self {
            Self::List(_) => None,
            Self::Set(base) => Some(base),
            Self::Near(near) => Some(&near.base),
        }
    }

    /// Which tokens of the base are missing, and which there are beyond it.
    #[must_use]
    pub fn differences(&self) -> (&[TokenId], &[TokenId]) {
        match self {
            Self::List(tokens) => (&[], tokens),
            Self::Set(_) => (&[], &[]),
            Self::Near(near) => (&near.less, &near.more),
        }
    }

    /// Whether it is the list of no token: it is cheap to say, and other sets are seldom empty.
    fn is_none(&self) -> bool {
        matches!(self, Self::List(tokens) if tokens.is_empty())
    }

    /// Where the tokens are: as long as they are held, the same place means the same tokens.
    pub(crate) fn place(&self) -> usize {
        match self {
            Self::List(tokens) => Arc::as_ptr(tokens).addr(),
            Self::Set(set) => Arc::as_ptr(set).addr(),
            Self::Near(near) => Arc::as_ptr(near).addr(),
        }
    }

    /// Feeds what tells the tokens from others, a large set by its content.
    pub(crate) fn hash_content<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Set(set) => set.hash(state),
            tokens => tokens.hash_form(state),
        }
    }

    /// Whether both are kept alike, and large sets are equal.
    pub(crate) fn has_content(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Set(own), Self::Set(other)) => own == other,
            _ => self.has_form(other),
        }
    }

    /// Feeds the lists, and where the large set is.
    pub(crate) fn hash_form<H: Hasher>(&self, state: &mut H) {
        self.base().map(Arc::as_ptr).hash(state);
        self.differences().hash(state);
    }

    /// Whether both have the same lists, and the same large set in the same place.
    pub fn has_form(&self, other: &Self) -> bool {
        let base = |tokens: &Self| tokens.base().map(Arc::as_ptr);
        self.place() == other.place()
            || base(self) == base(other) && self.differences() == other.differences()
    }

    /// Whether there is no token.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Number of tokens. Costs a pass over a large set.
    #[must_use]
    pub fn len(&self) -> usize {
        let (less, more) = self.differences();
        self.base().map_or(0, |base| base.len()) + more.len() - less.len()
    }

    /// Whether a token is among them.
    #[must_use]
    pub fn contains(&self, token: TokenId) -> bool {
        let (less, more) = self.differences();
        if self.base().is_some_and(|base| base.contains(token)) {
            return less.binary_search(&token).is_err();
        }
        more.binary_search(&token).is_ok()
    }

    /// The tokens, ascending.
    #[must_use]
    pub fn iter(&self) -> Tokens<'_> {
        let (less, more) = self.differences();
        Tokens { base: self.base().map(|base| base.iter()), next: None, less, more }
    }

    /// Adds the tokens to a set.
    pub fn add_to(&self, set: &mut TokenSet) {
        let (less, more) = self.differences();
        if let Some(base) = self.base() {
            let missing: Vec<TokenId> = less.iter().copied().filter(|&token| !set.contains(token)).collect();
            set.union_with(base);
            for token in missing {
                set.remove(token);
            }
        }
        set.extend(more.iter().copied());
    }

    /// The tokens as a set over `size` ids.
    #[must_use]
    pub fn to_set(&self, size: usize) -> TokenSet {
        let (less, more) = self.differences();
        let mut set = match self.base() {
            Some(base) => TokenSet::clone(base),
            None => TokenSet::new(size),
        };
        for &token in less {
            set.remove(token);
        }
        set.extend(more.iter().copied());
        set
    }

    /// Bytes of memory that the tokens take, a shared set aside.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let (less, more) = self.differences();
        size_of::<Near>() + size_of_val(less) + size_of_val(more)
    }
}

/// The tokens of some ascending lists, in order, and each once.
fn merged(mut lists: Vec<&[TokenId]>) -> Vec<TokenId> {
    lists.sort_unstable_by_key(|list| list.len());
    let short = lists.partition_point(|list| list.len() < LONG_LIST);
    let short = if lists.len() - short > MOST_MERGED { lists.len() } else { short };
    let mut all = lists[..short].concat();
    if short > 1 {
        sort(&mut all);
    }
    lists[short..].iter().fold(all, |all, list| merge(&all, list))
}

/// The tokens of two ascending lists without repetition; the second is the longer one, mostly.
fn merge(few: &[TokenId], many: &[TokenId]) -> Vec<TokenId> {
    if few.len() * WORTH_SEARCHING < many.len() {
        let mut all = Vec::with_capacity(few.len() + many.len());
        let mut rest = many;
        for &token in few {
            let (before, after) = rest.split_at(rest.partition_point(|&other| other < token));
            all.extend_from_slice(before);
            all.push(token);
            rest = after.strip_prefix(&[token]).unwrap_or(after);
        }
        all.extend_from_slice(rest);
        return all;
    }
    let mut all = vec![TokenId(0); few.len() + many.len()];
    let (mut left, mut right, mut len) = (0, 0, 0);
    // Without a branch on which is less, which nothing could foresee.
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

/// In order, and each once.
fn sort(tokens: &mut Vec<TokenId>) {
    // Mostly some ascending lists behind each other.
    tokens.sort();
    tokens.dedup();
}

/// The tokens of [`LiveTokens`], ascending.
#[derive(Clone, Debug)]
pub struct Tokens<'a> {
    base: Option<token_set::Iter<'a>>,
    /// The next token of the base, once it was looked for.
    next: Option<TokenId>,
    less: &'a [TokenId],
    more: &'a [TokenId],
}

impl Iterator for Tokens<'_> {
    type Item = TokenId;

    fn next(&mut self) -> Option<TokenId> {
        while self.next.is_none()
            && let Some(next) = self.base.as_mut().and_then(Iterator::next)
        {
            match self.less {
                [first, rest @ ..] if *first == next => self.less = rest,
                _ => self.next = Some(next),
            }
        }
        match self.more {
            [first, rest @ ..] if self.next.is_none_or(|next| *first < next) => {
                self.more = rest;
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

    fn set(tokens: &BTreeSet<u32>) -> Arc<TokenSet> {
        let mut set = TokenSet::new(SIZE);
        set.extend(tokens.iter().copied().map(TokenId));
        Arc::new(set)
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

    fn tokens(most: usize) -> impl Strategy<Value = BTreeSet<u32>> {
        prop::collection::btree_set(0..SIZE as u32, 0..most)
    }

    proptest! {
        #[test]
        fn unions_are_unions(
            large in prop::collection::vec(tokens(SIZE), 1..3),
            parts in prop::collection::vec((0..5_usize, tokens(20), tokens(6), any::<prop::sample::Index>()), 0..5),
            already in tokens(30),
            capacity in prop_oneof![Just(0), Just(2000), Just(1 << 20)],
        ) {
            let store = SummaryCache::default();
            // A store that is emptied at every step, and one that is now and then.
            store.set_capacity(capacity);
            let bases: Vec<_> = large.iter().map(set).collect();
            let (mut lives, mut all) = (Vec::new(), BTreeSet::new());
            for (kind, some, few, index) in parts {
                let base = index.index(bases.len());
                let but = |model: &BTreeSet<u32>| model - &few;
                let (live, model) = match kind {
                    0 => (LiveTokens::new(ids(&some), SIZE), some.clone()),
                    1 => (LiveTokens::Set(bases[base].clone()), large[base].clone()),
                    2 => (LiveTokens::without(&bases[base], ids(&few)), but(&large[base])),
                    3 => {
                        let union = [LiveTokens::Set(bases[base].clone()), LiveTokens::new(ids(&some), SIZE)];
                        let union = LiveTokens::union(&union, SIZE, &store);
                        (union.but(ids(&few), SIZE), but(&(&large[base] | &some)))
                    }
                    _ => (LiveTokens::from_shared(bases[base].clone()), large[base].clone()),
                };
                check(&live, &model)?;
                let mut added = TokenSet::clone(&set(&already));
                live.add_to(&mut added);
                prop_assert_eq!(&added, &*set(&(&already | &model)));
                all = &all | &model;
                let shared = store.share(live.clone());
                check(&shared, &model)?;
                lives.extend([live, shared]);
            }
            // What is known of unions is used the second time.
            for _ in 0..2 {
                let union = LiveTokens::union(&lives, SIZE, &store);
                check(&union, &all)?;
                if let Some(mask) = store.mask(&union, SIZE) {
                    prop_assert_eq!(&*mask, &*set(&all));
                }
            }
        }
    }
}
