//! What is known about all repetitions of a code below some nodes, by the number of copies.
//!
//! The answer for one range of counts is a union by count. Where that is most of all, it is made by taking the others out of
//! all: bounds far above what tokens hold leave out a few tokens only, and each count down to the bound asks anew.

use super::{LiveTokens, NodeSet, TokenId, TokenSet, TokenTrie, TrieNode, Vocabulary};

/// See the module.
#[derive(Clone, Debug)]
pub struct CountedSummary {
    /// Tokens of which so many copies begin, less one, and not fewer.
    tokens: Vec<Vec<TokenId>>,
    /// Nodes with children at which so many copies have ended, less one. Several counts may share a node.
    ends: Vec<Vec<u32>>,
    token_count: usize,
    end_count: usize,
    /// All of the tokens, where they are many.
    all_tokens: Option<TokenSet>,
    /// All of the nodes, 64 a word, where they are many and each has one count.
    all_ends: Option<Vec<u64>>,
}

/// A [`CountedSummary`] being made.
#[derive(Clone, Debug, Default)]
pub(crate) struct CountedSummaryBuilder {
    tokens: Vec<Vec<TokenId>>,
    ends: Vec<Vec<u32>>,
}

impl CountedSummaryBuilder {
    /// Adds a token in which `copies` begin, at least one.
    #[inline]
    pub(crate) fn add_token(&mut self, copies: u32, token: TokenId) {
        list_of(&mut self.tokens, copies).push(token);
    }

    /// Adds a node with children at which `copies` have ended, at least one.
    #[inline]
    pub(crate) fn add_end(&mut self, copies: u32, node: TrieNode) {
        list_of(&mut self.ends, copies).push(node.0);
    }

    /// The summary of what was added.
    pub(crate) fn finish(self, vocabulary: &Vocabulary) -> CountedSummary {
        let Self { mut tokens, ends } = self;
        let count: usize = tokens.iter().map(Vec::len).sum();
        let all_tokens = (count > vocabulary.size() / MANY).then(|| {
            let mut all = TokenSet::new(vocabulary.size());
            // The fewest copies come first.
            for tokens in &mut tokens {
                tokens.retain(|&token| all.insert(token));
            }
            all
        });
        let token_count = tokens.iter().map(Vec::len).sum();
        let end_count = ends.iter().map(Vec::len).sum();
        let nodes = vocabulary.trie().len();
        let all_ends = (end_count > nodes / MANY)
            .then(|| {
                let mut all = vec![0_u64; nodes.div_ceil(64)];
                for &node in ends.iter().flatten() {
                    let word = &mut all[node as usize >> 6];
                    if *word >> (node & 63) & 1 == 1 {
                        return None;
                    }
                    *word |= 1 << (node & 63);
                }
                Some(all)
            })
            .flatten();
        CountedSummary { tokens, ends, token_count, end_count, all_tokens, all_ends }
    }
}

/// Which part of a vocabulary or a trie is many.
const MANY: usize = 32;

#[inline]
fn list_of<T>(lists: &mut Vec<Vec<T>>, copies: u32) -> &mut Vec<T> {
    let index = copies as usize - 1;
    if lists.len() <= index {
        lists.resize_with(index + 1, Vec::new);
    }
    &mut lists[index]
}

impl CountedSummary {
    /// Tokens that need at most `max` copies. Costs a step for each of them, or of the others if these are fewer.
    #[must_use]
    pub fn live(&self, max: Option<u32>, size: usize) -> LiveTokens {
        let count = max.map_or(self.tokens.len(), |max| self.tokens.len().min(max as usize));
        let (chosen, others) = self.tokens.split_at(count);
        let other_count: usize = others.iter().map(Vec::len).sum();
        match &self.all_tokens {
            Some(all) if other_count <= self.token_count / 2 => {
                let mut set = all.clone();
                for &token in others.iter().flatten() {
                    set.remove(token);
                }
                LiveTokens::from_set(set)
            }
            _ => LiveTokens::new(chosen.concat(), size),
        }
    }

    /// Nodes at which `min` to `max` copies have ended. Costs a step for each of them, or of the others if these are
    /// fewer.
    #[must_use]
    pub fn ends(&self, min: u32, max: Option<u32>, trie: &TokenTrie) -> NodeSet {
        let last = max.map_or(self.ends.len(), |max| self.ends.len().min(max as usize));
        let first = (min.max(1) as usize - 1).min(last);
        let others = || self.ends[..first].iter().chain(&self.ends[last..]);
        match &self.all_ends {
            Some(all) if others().map(Vec::len).sum::<usize>() <= self.end_count / 2 => {
                let mut bits = all.clone();
                for &node in others().flatten() {
                    bits[node as usize >> 6] &= !(1 << (node & 63));
                }
                NodeSet::from_bits(bits, trie)
            }
            _ => NodeSet::new(self.ends[first..last].concat(), trie),
        }
    }

    /// Bytes of memory that it takes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let all_tokens = self.all_tokens.as_ref().map_or(0, |all| size_of_val(all.words()));
        let all_ends = self.all_ends.as_ref().map_or(0, |all| size_of_val(&all[..]));
        let lists = (self.tokens.len() + self.ends.len()) * 32;
        (self.token_count + self.end_count) * 4 + lists + all_tokens + all_ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::TokenTexts;

    /// Everything is as if each list were looked through.
    #[test]
    fn unions_are_by_count() {
        let texts: TokenTexts =
            (0..3000_u32).map(|number| Some(format!("{number:04}x").into_bytes())).collect();
        let vocabulary = Vocabulary::new(texts, vec![], vec![3000], Some(3001)).expect("a vocabulary");
        let trie = vocabulary.trie();
        for repeats in [1, 2] {
            let mut builder = CountedSummaryBuilder::default();
            let (mut tokens, mut ends) = (Vec::new(), Vec::new());
            for round in 0..repeats {
                for token in 0..2900 {
                    let copies = token * (round + 3) % 7 + 1;
                    builder.add_token(copies, TokenId(token));
                    tokens.push((copies, TokenId(token)));
                }
                for node in trie.inner_nodes_in(0..trie.len()) {
                    let copies = node.0 * (round + 5) % 11 + 1;
                    builder.add_end(copies, node);
                    ends.push((copies, node.0));
                }
            }
            let summary = builder.finish(&vocabulary);
            assert_eq!(summary.all_ends.is_some(), repeats == 1);
            for max in [None, Some(0), Some(1), Some(3), Some(5), Some(6), Some(7), Some(100)] {
                let most = max.unwrap_or(u32::MAX);
                let (mut live, mut expected) = (TokenSet::new(3001), TokenSet::new(3001));
                summary.live(max, 3001).add_to(&mut live);
                expected.extend(tokens.iter().filter(|(copies, _)| *copies <= most).map(|&(_, token)| token));
                assert_eq!(live, expected, "{max:?}");
                for min in [0, 1, 2, 5, 20] {
                    let nodes = ends.iter().filter(|(copies, _)| (min..=most).contains(copies));
                    let expected = NodeSet::new(nodes.map(|&(_, node)| node).collect(), trie);
                    assert_eq!(summary.ends(min, max, trie), expected, "{min} {max:?}");
                }
            }
        }
    }
}
