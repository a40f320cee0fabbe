//! Tokens that a parse takes, by what was looked at while they were found.
//!
//! Finding the tokens below a bundle reads the parser's stack from the top down to some depth, and
//! perhaps some of the open blocks and brackets; what it does is a function of what it reads. So the result holds for
//! every parse that looks the same as far as it was looked at, and is kept in a tree: from the bundle over the states of
//! the stack, top down, and the view of the layout. Runs of states without a fork are one edge (D. R. Morrison, "PATRICIA",
//! 1968). The tree is what the regular sets of stacks, which precomputing
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
use crate::grammar::id_type;
use crate::vocabulary::TokenSet;

/// A bundle, and the column of the newline before the token or 0.
pub(crate) type MemoKey = (BundleId, u32);

id_type! {
    /// A node of the tree.
    NodeId
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

    /// Where it is: the same part is at one place as long as it is there.
    pub(crate) fn address(&self) -> usize {
        match self {
            Self::Few(words) => words.as_ptr().addr(),
            Self::Set(set) => Arc::as_ptr(set).addr(),
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

/// Collects the tokens of a part: as a list of words while there are few.
#[derive(Debug)]
pub(crate) struct Gathered {
    few: Vec<(u32, u32)>,
    set: Option<TokenSet>,
    size: usize,
}

impl Gathered {
    /// No tokens of a vocabulary of this size.
    pub(crate) fn new(size: usize) -> Self {
        Self { few: Vec::new(), set: None, size }
    }

    pub(crate) fn add(&mut self, part: &Part) {
        match (&mut self.set, part) {
            (Some(set), part) => part.add_to(set),
            (None, Part::Set(_)) => part.add_to(self.as_set()),
            (None, Part::Few(words)) => {
                self.few.extend_from_slice(words);
                let most = self.size.div_ceil(u32::BITS as usize) / WORDS_PER_LISTED;
                if self.few.len() > most {
                    self.merge();
                    if self.few.len() > most / 2 {
                        self.as_set();
                    }
                }
            }
        }
    }

    /// Makes one of the entries for the same word.
    fn merge(&mut self) {
        self.few.sort_unstable_by_key(|&(position, _)| position);
        self.few.dedup_by(|word, kept| {
            let is_same = word.0 == kept.0;
            if is_same {
                kept.1 |= word.1;
            }
            is_same
        });
    }

    fn as_set(&mut self) -> &mut TokenSet {
        let (few, size) = (&mut self.few, self.size);
        self.set.get_or_insert_with(|| {
            let mut set = TokenSet::new(size);
            set.union_with_words(few);
            *few = Vec::new();
            set
        })
    }

    /// The tokens as a part, if there are some.
    pub(crate) fn into_part(mut self) -> Option<Part> {
        self.merge();
        match self.set {
            Some(set) => Some(Part::of(set)),
            None if self.few.is_empty() => None,
            None => Some(Part::Few(self.few.into())),
        }
    }
}

/// Parts whose tokens make up something, together.
#[derive(Debug)]
pub(crate) struct Collected {
    parts: Vec<Part>,
    size: usize,
}

impl Collected {
    /// No tokens of a vocabulary of this size.
    pub(crate) fn new(size: usize) -> Self {
        Self { parts: Vec::new(), size }
    }

    pub(crate) fn add(&mut self, part: &Part) {
        self.parts.push(part.clone());
    }
}

/// A node of the tree: of a path of states, top down.
#[derive(Debug, Default)]
struct Node {
    /// The states between the one by which the node was chosen and what is kept here: a range of `MaskMemo::states`.
    run: (u32, u32),
    /// The nodes below, by the next state, sorted.
    children: Vec<(LrState, NodeId)>,
    /// The result, where no layout was looked at.
    plain: Option<Part>,
    /// How much of layouts was looked at by the results that are kept here.
    layouts: Vec<LayoutExtent>,
}

/// What was made of several parts, and these.
#[derive(Debug)]
struct Union {
    whole: Part,
    /// Kept, because it is found by their addresses.
    _parts: Box<[Part]>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct MaskMemo {
    roots: FxHashMap<MemoKey, NodeId>,
    nodes: Vec<Node>,
    states: Vec<LrState>,
    /// Results that depend on layouts.
    parts: FxHashMap<(NodeId, LayoutExtent, LayoutId), Part>,
    distinct: FxHashSet<Arc<TokenSet>>,
    /// What was made of several parts, by their addresses, which they keep as long as they are here.
    unions: FxHashMap<Box<[usize]>, Union>,
    path: Vec<LrState>,
    part_bytes: usize,
    node_bytes: usize,
}

impl MaskMemo {
    /// The result for a parse, if it is known, and how much of the parse it depends on.
    pub(crate) fn get(&self, key: MemoKey, parser: &mut Parser, parse: Parse) -> Option<(Part, Extent)> {
        let mut node = *self.roots.get(&key)?;
        let mut stack = Some(parse.stack);
        let mut states = 0;
        loop {
            let Node { run, children, plain, layouts } = &self.nodes[node.index()];
            for &expected in &self.states[run.0 as usize..run.1 as usize] {
                let (state, below) = parser.state_and_below(stack?);
                if state != expected {
                    return None;
                }
                stack = below;
            }
            states += run.1 - run.0;
            if let Some(known) = plain {
                return Some((known.clone(), Extent { states, layout: LayoutExtent::NOTHING }));
            }
            for &layout in layouts {
                let view = parser.view(parse.layout, layout);
                if let Some(known) = self.parts.get(&(node, layout, view)) {
                    return Some((known.clone(), Extent { states, layout }));
                }
            }
            let (state, below) = parser.state_and_below(stack?);
            stack = below;
            states += 1;
            let child = children.binary_search_by_key(&state, |&(state, _)| state).ok()?;
            node = children[child].1;
        }
    }

    /// Keeps the whole mask that was made by looking at `extent` of `parse`; an equal mask is kept once.
    pub(crate) fn insert_mask(
        &mut self,
        key: MemoKey,
        seen: (&mut Parser, Parse, Extent),
        tokens: Collected,
    ) -> Arc<TokenSet> {
        let size = tokens.size;
        let mask = match self.union(tokens) {
            Part::Set(set) => set,
            few @ Part::Few(_) => {
                let mut set = TokenSet::new(size);
                few.add_to(&mut set);
                self.share(set)
            }
        };
        self.insert(key, seen, Part::Set(mask.clone()));
        mask
    }

    /// Keeps what a bundle adds to masks.
    pub(crate) fn insert_part(
        &mut self,
        key: MemoKey,
        seen: (&mut Parser, Parse, Extent),
        tokens: Collected,
    ) -> Part {
        let part = self.union(tokens);
        self.insert(key, seen, part.clone());
        part
    }

    /// The tokens of some parts as one: most masks are made of the parts of a mask that is known.
    fn union(&mut self, tokens: Collected) -> Part {
        let Collected { mut parts, size } = tokens;
        parts.sort_unstable_by_key(Part::address);
        parts.dedup_by_key(|part| part.address());
        if let [one] = &parts[..] {
            return one.clone();
        }
        let addresses: Vec<usize> = parts.iter().map(Part::address).collect();
        if let Some(known) = self.unions.get(&addresses[..]) {
            return known.whole.clone();
        }
        let mut union = Gathered::new(size);
        for part in &parts {
            union.add(part);
        }
        union.merge();
        let union = match union.set {
            None => Part::Few(union.few.into()),
            Some(set) => match Part::few(&set) {
                Some(few) => few,
                None => Part::Set(self.share(set)),
            },
        };
        if let Part::Few(_) = union {
            self.part_bytes += union.memory_bytes();
        }
        self.part_bytes += 64 + parts.len() * (size_of::<usize>() + size_of::<Part>());
        let whole = union.clone();
        self.unions.insert(addresses.into(), Union { whole, _parts: parts.into() });
        union
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
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        path.extend(parser.states(parse.stack).take(extent.states as usize));
        let node = self.node_at(key, &path);
        self.path = path;
        if extent.layout == LayoutExtent::NOTHING {
            self.nodes[node.index()].plain = Some(part);
            return;
        }
        let view = parser.view(parse.layout, extent.layout);
        let layouts = &mut self.nodes[node.index()].layouts;
        if !layouts.contains(&extent.layout) {
            layouts.push(extent.layout);
            self.node_bytes += size_of::<LayoutExtent>();
        }
        self.parts.insert((node, extent.layout, view), part);
    }

    /// The node of a path, which is made unless it is there.
    fn node_at(&mut self, key: MemoKey, path: &[LrState]) -> NodeId {
        let mut node = match self.roots.get(&key) {
            Some(&root) => root,
            None => {
                let root = self.push(Node::default());
                self.roots.insert(key, root);
                root
            }
        };
        let mut read = 0;
        loop {
            if read == path.len() {
                return node;
            }
            let children = &self.nodes[node.index()].children;
            let place = match children.binary_search_by_key(&path[read], |&(state, _)| state) {
                Err(place) => {
                    let start = self.states.len() as u32;
                    self.states.extend_from_slice(&path[read + 1..]);
                    let leaf = self.push(Node { run: (start, self.states.len() as u32), ..Node::default() });
                    self.nodes[node.index()].children.insert(place, (path[read], leaf));
                    return leaf;
                }
                Ok(place) => place,
            };
            let child = children[place].1;
            read += 1;
            let (start, end) = self.nodes[child.index()].run;
            let run = &self.states[start as usize..end as usize];
            let shared = run.iter().zip(&path[read..]).take_while(|(left, right)| left == right).count();
            read += shared;
            if shared == run.len() {
                node = child;
                continue;
            }
            // The run is cut; the node keeps its number, by which results are kept, and the new one is above it.
            let cut = start + shared as u32;
            let upper = self.push(Node {
                run: (start, cut),
                children: vec![(self.states[cut as usize], child)],
                ..Node::default()
            });
            self.nodes[child.index()].run.0 = cut + 1;
            self.nodes[node.index()].children[place].1 = upper;
            node = upper;
        }
    }

    fn push(&mut self, node: Node) -> NodeId {
        // Each node but the roots is a child of another.
        self.node_bytes += size_of::<Node>() + 2 * size_of::<(LrState, NodeId)>();
        self.nodes.push(node);
        NodeId::new(self.nodes.len() - 1)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.part_bytes
            + self.node_bytes
            + self.states.capacity() * size_of::<LrState>()
            + hash_bytes(&self.roots)
            + hash_bytes(&self.parts)
    }
}

fn hash_bytes<K, V, S>(map: &HashMap<K, V, S>) -> usize {
    map.capacity() * (size_of::<(K, V)>() + 1)
}
