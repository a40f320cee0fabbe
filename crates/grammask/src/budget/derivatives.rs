//! The tokens below a node by the derivative of a terminal, cached with the vocabulary for all grammars.
//!
//! The groups are a function of the language that is left of the terminal. Inside copies, and after words that longer
//! words begin with, they also depend on the first bytes of what follows: a token leaves where its next byte may begin
//! that.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use grammask_automata::ContentHasher;
use grammask_collections::byte_set::ByteSet;
use grammask_diagnostics::LimitExceeded;
use grammask_engine::{CompletionStep, InsideTerminal, SetId};
use grammask_vocabulary::{DerivativeGroups, TokenId, TrieNode};

use super::grouped::GroupedWalk;
use super::successors::{LoopBytes, bytes_by_step};

/// Distinguishes the content hashes of languages with the first bytes of what follows from others.
const FOLLOWED_TAG: u64 = 0x666f_6c6c_6f77;

/// Maximum length of the words by which states are compared.
const MAX_WORD: usize = 64;

/// The shortest word that leaves a terminal, and the state after it. The states on the way to it, and so the shortest
/// completion and its spelling, are functions of it and of the place of the terminal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ShortestRest {
    word: Vec<u8>,
    end: SetId,
}

/// All that the groups below a node are a function of.
#[derive(Clone, Copy)]
pub(super) struct GroupsKey {
    /// Content hash of the language, and of the first bytes where they matter.
    hash: u128,
    /// The bytes that may begin what follows the terminal; none inside a word.
    first_bytes: ByteSet,
}

impl GroupedWalk<'_> {
    /// The groups of tokens below a node by derivative of a state inside a terminal.
    pub(super) fn groups(
        &self,
        set: SetId,
        inside: InsideTerminal,
        start: TrieNode,
    ) -> Result<Arc<DerivativeGroups>, LimitExceeded> {
        let key = self.key_of_groups(inside)?;
        if let Some(known) = self.known_groups(key, start) {
            return Ok(known);
        }
        let groups = Arc::new(self.compute_groups(set, inside, key.first_bytes, start)?);
        self.vocabulary.summaries().insert_derivatives(key.hash, start, groups.clone());
        Ok(groups)
    }

    /// The same, if they are cached.
    pub(super) fn known_groups(&self, key: GroupsKey, start: TrieNode) -> Option<Arc<DerivativeGroups>> {
        self.vocabulary.summaries().get_derivatives(key.hash, start)
    }

    /// All that the groups are a function of.
    pub(super) fn key_of_groups(&self, inside: InsideTerminal) -> Result<GroupsKey, LimitExceeded> {
        let Some(after) = inside.after else {
            return Ok(GroupsKey { hash: inside.language, first_bytes: ByteSet::EMPTY });
        };
        let first_bytes = match after.first_bytes {
            Some(known) => known,
            None => bytes_by_step(self.engine, after.set, |next| next.is_some())?,
        };
        let mut hasher = ContentHasher::new(FOLLOWED_TAG);
        hasher.write_hash(inside.language);
        first_bytes.words().iter().for_each(|&word| hasher.write(word));
        Ok(GroupsKey { hash: hasher.finish(), first_bytes })
    }

    /// What a state reads inside a terminal.
    pub(super) fn inside(&self, set: SetId) -> Result<Option<InsideTerminal>, LimitExceeded> {
        let reach = u32::try_from(self.vocabulary.trie().max_depth()).unwrap_or(u32::MAX);
        self.engine.inside_terminal(set, reach)
    }

    fn compute_groups(
        &self,
        set: SetId,
        start_inside: InsideTerminal,
        first_bytes: ByteSet,
        start: TrieNode,
    ) -> Result<DerivativeGroups, LimitExceeded> {
        let Self { engine, vocabulary, deadline, .. } = *self;
        let trie = vocabulary.trie();
        let first_depth = usize::from(trie.depth(start));
        let mut loop_bytes = LoopBytes::new(engine);
        // By state whether it is inside the terminal, and the index of its group.
        let mut insides: FxHashMap<SetId, Option<(usize, InsideTerminal)>> = FxHashMap::default();
        let mut indices: FxHashMap<ShortestRest, usize> = FxHashMap::default();
        let mut groups: FxHashMap<usize, (TrieNode, Vec<TokenId>)> = FxHashMap::default();
        // By the state after the byte, the byte, and whether it may begin what follows.
        let mut leaving: FxHashMap<(SetId, u8, bool), Vec<TrieNode>> = FxHashMap::default();
        let mut path: Vec<(SetId, InsideTerminal)> = vec![(set, start_inside)];
        let mut node = TrieNode(start.0 + 1);
        let mut new_steps = engine.new_steps();
        while node < trie.subtree_end(start) {
            if new_steps != engine.new_steps() {
                new_steps = engine.new_steps();
                deadline.check()?;
            }
            let depth = usize::from(trie.depth(node)) - first_depth;
            let (before, inside_before) = path[depth - 1];
            let byte = trie.byte(node);
            let Some(next) = engine.step(before, byte)? else {
                node = trie.subtree_end(node);
                continue;
            };
            let follows = inside_before.may_end && first_bytes.contains(byte);
            let inside = match insides.get(&next) {
                Some(&known) => known,
                None => {
                    // From inside a word, a token leaves at the end of the first one.
                    let is_inside = |inside: &InsideTerminal| {
                        let leaves = start_inside.after.is_none() && inside.after.is_some();
                        inside.place == start_inside.place && !leaves
                    };
                    let inside = self.inside(next)?.filter(is_inside);
                    let inside = match inside {
                        Some(inside) => {
                            let count = indices.len();
                            let rest = self.shortest_rest(next, inside)?;
                            Some((*indices.entry(rest).or_insert(count), inside))
                        }
                        None => None,
                    };
                    insides.insert(next, inside);
                    inside
                }
            };
            let Some((group, inside)) = inside.filter(|_| !follows) else {
                leaving.entry((next, byte, follows)).or_default().push(node);
                node = trie.subtree_end(node);
                continue;
            };
            // What follows may begin at any end.
            let loops = inside.after.is_none() && loop_bytes.loops_below(trie, node, next)?;
            let tokens = if loops { trie.subtree_tokens(node) } else { trie.tokens(node) };
            groups.entry(group).or_insert((node, Vec::new())).1.extend_from_slice(tokens);
            if loops {
                node = trie.subtree_end(node);
                continue;
            }
            path.truncate(depth);
            path.push((next, inside));
            node = TrieNode(node.0 + 1);
        }
        Ok(DerivativeGroups::new(groups.into_values(), leaving.into_values(), start, vocabulary))
    }

    /// How the text of a state leaves the terminal soonest.
    fn shortest_rest(&self, set: SetId, inside: InsideTerminal) -> Result<ShortestRest, LimitExceeded> {
        let Self { engine, vocabulary, deadline, .. } = *self;
        let mut rest = ShortestRest { word: Vec::new(), end: set };
        let mut here = Some(inside);
        while let Some(is_inside) = here {
            if is_inside.may_end {
                // What follows is shorter than anything before it together with it.
                return Ok(ShortestRest { end: is_inside.after.map_or(rest.end, |after| after.set), ..rest });
            }
            let completion = engine.shortest_completion(rest.end, vocabulary, deadline)?;
            let next = match completion.and_then(|completion| completion.first) {
                Some(CompletionStep::Byte(byte)) if rest.word.len() < MAX_WORD => {
                    rest.word.push(byte);
                    engine.step(rest.end, byte)?
                }
                _ => None,
            };
            let Some(next) = next else {
                // A state by itself.
                return Ok(ShortestRest { word: Vec::new(), end: set });
            };
            rest.end = next;
            here = self.inside(next)?.filter(|next| next.place == inside.place);
        }
        Ok(rest)
    }
}
