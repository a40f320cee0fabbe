//! Tokens that a parse takes, by what was looked at while they were found.
//!
//! Finding the tokens below a bundle reads the parser's stack from the top down to some depth, and
//! perhaps some of the open blocks and brackets; what it does is a function of what it reads. So the result holds for
//! every parse that looks the same as far as it was looked at, and is kept in a tree: from the bundle over the states of
//! the stack, top down, and the view of the layout. The tree is what the regular sets of stacks, which precomputing
//! would give, amount to for the stacks that really occur.
//!
//! Whole masks are kept so, and what large bundles add to them: a token that closes three brackets depends on much of
//! the stack, a token that begins a name does not.

use std::collections::HashMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::bundles::BundleId;
use super::lr_automaton::LrState;
use super::parser::{Extent, LayoutExtent, LayoutId, Parse, Parser};
use crate::vocabulary::TokenSet;

/// A bundle, and the column of the newline before the token or 0.
pub(crate) type MemoKey = (BundleId, u32);

/// Position of a node of the tree.
type Node = u32;

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

    /// The tokens of a set.
    pub(crate) fn of(set: TokenSet) -> Self {
        Self::few(&set).unwrap_or_else(|| Self::Set(Arc::new(set)))
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Few(words) => size_of_val(&words[..]),
            Self::Set(set) => size_of_val(set.words()),
        }
    }

    /// A list if there are few words in it.
    fn few(set: &TokenSet) -> Option<Self> {
        let most = set.words().len() / WORDS_PER_LISTED;
        let mut used = Vec::new();
        for (chunk, words) in set.words().chunks(WORDS_AT_ONCE).enumerate() {
            if words.iter().fold(0, |all, word| all | word) == 0 {
                continue;
            }
            let first = (chunk * WORDS_AT_ONCE) as u32;
            used.extend((first..).zip(words.iter().copied()).filter(|&(_, word)| word != 0));
            if used.len() > most {
                return None;
            }
        }
        Some(Self::Few(used.into()))
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct MaskMemo {
    roots: FxHashMap<MemoKey, Node>,
    edges: FxHashMap<(Node, LrState), Node>,
    /// How much of layouts was looked at by the results that are kept at each node.
    extents: Vec<Vec<LayoutExtent>>,
    parts: FxHashMap<(Node, LayoutExtent, LayoutId), Part>,
    distinct: FxHashSet<Arc<TokenSet>>,
    part_bytes: usize,
}

impl MaskMemo {
    /// The result for a parse, if it is known, and how much of the parse it depends on.
    pub(crate) fn get(&self, key: MemoKey, parser: &mut Parser, parse: Parse) -> Option<(Part, Extent)> {
        let mut node = *self.roots.get(&key)?;
        let mut stack = Some(parse.stack);
        let mut states = 0;
        loop {
            for &layout in &self.extents[node as usize] {
                let view = parser.view(parse.layout, layout);
                if let Some(known) = self.parts.get(&(node, layout, view)) {
                    return Some((known.clone(), Extent { states, layout }));
                }
            }
            let (state, below) = parser.state_and_below(stack?);
            stack = below;
            states += 1;
            node = *self.edges.get(&(node, state))?;
        }
    }

    /// Keeps the whole mask that was made by looking at `extent` of `parse`; an equal mask is kept once.
    pub(crate) fn insert_mask(
        &mut self,
        key: MemoKey,
        (parser, parse, extent): (&mut Parser, Parse, Extent),
        mask: TokenSet,
    ) -> Arc<TokenSet> {
        let mask = self.share(mask);
        self.insert(key, (parser, parse, extent), Part::Set(mask.clone()));
        mask
    }

    /// Keeps what a bundle adds to masks.
    pub(crate) fn insert_part(
        &mut self,
        key: MemoKey,
        seen: (&mut Parser, Parse, Extent),
        part: TokenSet,
    ) -> Part {
        let part = match Part::few(&part) {
            Some(few) => few,
            None => Part::Set(self.share(part)),
        };
        self.insert(key, seen, part.clone());
        part
    }

    fn share(&mut self, mask: TokenSet) -> Arc<TokenSet> {
        match self.distinct.get(&mask) {
            Some(equal) => equal.clone(),
            None => {
                let mask = Arc::new(mask);
                self.part_bytes += size_of_val(mask.words());
                self.distinct.insert(mask.clone());
                mask
            }
        }
    }

    fn insert(&mut self, key: MemoKey, (parser, parse, extent): (&mut Parser, Parse, Extent), part: Part) {
        let extents = &mut self.extents;
        let mut new_node = || {
            extents.push(Vec::new());
            (extents.len() - 1) as Node
        };
        let mut node = *self.roots.entry(key).or_insert_with(&mut new_node);
        for state in parser.states(parse.stack).take(extent.states as usize) {
            node = *self.edges.entry((node, state)).or_insert_with(&mut new_node);
        }
        if !self.extents[node as usize].contains(&extent.layout) {
            self.extents[node as usize].push(extent.layout);
        }
        if let Part::Few(_) = part {
            self.part_bytes += part.memory_bytes();
        }
        let view = parser.view(parse.layout, extent.layout);
        self.parts.insert((node, extent.layout, view), part);
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.part_bytes
            + hash_bytes(&self.roots)
            + hash_bytes(&self.edges)
            + hash_bytes(&self.parts)
            + self.extents.capacity() * size_of::<Vec<LayoutExtent>>()
    }
}

fn hash_bytes<K, V, S>(map: &HashMap<K, V, S>) -> usize {
    map.capacity() * (size_of::<(K, V)>() + 1)
}
