//! The summaries of a repeated prefix code below some nodes, for all numbers of copies at once.
//!
//! In most repetitions a copy is a character, and the trie has bit-sliced indices of the number of characters of each
//! token and node. So tokens and nodes are grouped by the difference between the number of copies and of characters:
//! a large group is a bitset, which is filtered by bounds on the copies with a few operations per word. Small groups
//! are lists by the number of copies.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::{
    LiveTokens, NodeSet, TokenId, TokenRanges, TokenSet, TokenSetRef, TokenTrie, TrieNode, Vocabulary,
    WhichNodes,
};

/// A group with more than this share of the vocabulary or of the trie is a bitset.
const BITSET_SHARE: usize = 32;

/// Live tokens and ends of a repeated prefix code by the number of copies. See the documentation of the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedSummary {
    /// Large groups of tokens, by the number of copies that begin in them less that of their characters.
    many_tokens: Vec<(i32, TokenSet)>,
    /// Other tokens by the number of copies that begin in them.
    few_tokens: ByCount,
    /// All tokens, if there is a large group.
    all_tokens: Option<TokenSetRef>,
    /// Large groups of nodes as bitsets, by the number of copies that end on the path to them less that of its
    /// characters.
    many_ends: Vec<(i32, Vec<u64>)>,
    /// Other nodes with children by the number of copies; a node may have several numbers.
    few_ends: ByCount,
    /// The numbers of copies of all tokens and nodes, sorted.
    counts: Vec<u32>,
}

/// Ids by a count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ByCount(Vec<Vec<u32>>);

impl ByCount {
    /// Adds an id by the difference between its number of copies and of characters.
    fn add(&mut self, characters: u16, difference: i32, id: u32) {
        // The sum is a number of copies, which is not negative.
        let count = (i32::from(characters) + difference) as usize;
        if self.0.len() <= count {
            self.0.resize(count + 1, Vec::new());
        }
        self.0[count].push(id);
    }

    /// The ids with a count between `min` and `max`, inclusive.
    fn within(&self, min: u32, max: u32) -> impl Iterator<Item = u32> {
        let end = (max as usize).saturating_add(1).min(self.0.len());
        self.0[end.min(min as usize)..end].iter().flatten().copied()
    }

    fn memory_bytes(&self) -> usize {
        self.0.iter().map(|ids| size_of_val(ids) + size_of_val(&ids[..])).sum()
    }
}

/// Builds a [`CountedSummary`] from ranges of nodes and the difference between their numbers of copies and of
/// characters.
#[derive(Clone, Debug, Default)]
pub struct CountedSummaryBuilder {
    tokens: Vec<Segment>,
    ends: Vec<Segment>,
}

/// A range of nodes with one difference between the numbers of copies and of characters.
#[derive(Clone, Debug)]
struct Segment {
    nodes: Range<usize>,
    difference: i32,
    which: WhichNodes,
}

impl CountedSummaryBuilder {
    /// Adds the tokens at some nodes; the number of copies that begin in each is its number of characters plus
    /// `difference`.
    pub fn add_tokens(&mut self, nodes: Range<usize>, difference: i32) {
        match self.tokens.last_mut() {
            Some(last) if last.difference == difference && last.nodes.end == nodes.start => {
                last.nodes.end = nodes.end;
            }
            _ => self.tokens.push(Segment { nodes, difference, which: WhichNodes::All }),
        }
    }

    /// Adds the nodes of a range, or those of them that end a character; the number of copies that end on the path to
    /// each is its number of characters plus `difference`.
    pub fn add_ends(&mut self, trie: &TokenTrie, nodes: Range<usize>, difference: i32, which: WhichNodes) {
        if let Some(last) = self.ends.last_mut()
            && last.difference == difference
            && last.nodes.end == nodes.start
        {
            // A single node that ends a character belongs to either kind of segment.
            let is_one = nodes.len() == 1 && trie.is_whole(TrieNode(nodes.start as u32));
            if last.which == which || is_one {
                last.nodes.end = nodes.end;
                return;
            }
            if last.nodes.len() == 1 && trie.is_whole(TrieNode(last.nodes.start as u32)) {
                last.which = which;
                last.nodes.end = nodes.end;
                return;
            }
        }
        self.ends.push(Segment { nodes, difference, which });
    }

    /// The summary of all added tokens and nodes.
    pub fn finish(self, vocabulary: &Vocabulary) -> CountedSummary {
        let trie = vocabulary.trie();
        let counts = counts_of(self.tokens.iter().chain(&self.ends), trie);
        let (mut many_tokens, mut few_tokens) = (Vec::new(), ByCount::default());
        for (difference, segments) in by_difference(self.tokens) {
            let mut tokens = TokenRanges::default();
            segments.iter().for_each(|segment| tokens.add(trie.token_positions(segment.nodes.clone())));
            if tokens.token_count() > vocabulary.size() / BITSET_SHARE {
                many_tokens.push((difference, tokens.finish(vocabulary).to_set(vocabulary.size())));
                continue;
            }
            for node in segments.into_iter().flat_map(|segment| segment.nodes) {
                let node = TrieNode(node as u32);
                for token in trie.tokens(node) {
                    few_tokens.add(trie.characters(node), difference, token.0);
                }
            }
        }
        let (mut many_ends, mut few_ends) = (Vec::new(), ByCount::default());
        for (difference, segments) in by_difference(self.ends) {
            let count: usize = segments.iter().map(|segment| segment.nodes.len()).sum();
            if count > trie.len() / BITSET_SHARE {
                let mut bits = vec![0; trie.len().div_ceil(64)];
                for Segment { nodes, which, .. } in segments {
                    trie.set_bits(nodes, which, &mut bits);
                }
                many_ends.push((difference, bits));
                continue;
            }
            for Segment { nodes, which, .. } in segments {
                for (first, mut bits) in trie.inner_words_in(nodes, which) {
                    while bits != 0 {
                        let node = TrieNode(first | bits.trailing_zeros());
                        few_ends.add(trie.characters(node), difference, node.0);
                        bits &= bits - 1;
                    }
                }
            }
        }
        let mut summary =
            CountedSummary { many_tokens, few_tokens, all_tokens: None, many_ends, few_ends, counts };
        summary.all_tokens =
            (!summary.many_tokens.is_empty()).then(|| summary.tokens_up_to(u32::MAX, vocabulary).into());
        summary
    }
}

/// The numbers of copies at the nodes of the segments, sorted.
fn counts_of<'a>(segments: impl Iterator<Item = &'a Segment>, trie: &TokenTrie) -> Vec<u32> {
    let mut occurs: Vec<bool> = Vec::new();
    for Segment { nodes, difference, .. } in segments {
        for &characters in &trie.columns().characters[nodes.clone()] {
            // A node inside a character may have a negative sum, but ends no copy.
            let count = usize::try_from(i32::from(characters) + difference).unwrap_or(0);
            if occurs.len() <= count {
                occurs.resize(count + 1, false);
            }
            occurs[count] = true;
        }
    }
    (0..).zip(occurs).filter_map(|(count, occurs)| occurs.then_some(count)).collect()
}

fn by_difference(segments: Vec<Segment>) -> BTreeMap<i32, Vec<Segment>> {
    let mut groups: BTreeMap<i32, Vec<Segment>> = BTreeMap::new();
    for segment in segments {
        groups.entry(segment.difference).or_default().push(segment);
    }
    groups
}

impl CountedSummary {
    /// Tokens in which at most `max` copies begin. Costs a pass over a bitset per large group.
    #[must_use]
    pub fn live(&self, max: Option<u32>, vocabulary: &Vocabulary) -> LiveTokens {
        let max = max.unwrap_or(u32::MAX);
        match &self.all_tokens {
            Some(all) if max == u32::MAX => LiveTokens::from_dense(all.clone()),
            Some(all) => LiveTokens::within(all, self.tokens_up_to(max, vocabulary)),
            None => {
                let tokens = self.few_tokens.within(0, max).map(TokenId).collect();
                LiveTokens::new(tokens, vocabulary.size())
            }
        }
    }

    fn tokens_up_to(&self, max: u32, vocabulary: &Vocabulary) -> TokenSet {
        let mut set = TokenSet::new(vocabulary.size());
        for (difference, tokens) in &self.many_tokens {
            if let Some(characters) = characters_of(max, *difference) {
                let within = vocabulary.trie().characters_of_tokens().within(0, characters);
                set.union_with_within(tokens, &within);
            }
        }
        set.extend(self.few_tokens.within(0, max).map(TokenId));
        set
    }

    /// Nodes with children where `min` to `max` copies have ended. Costs a pass over a bitset per large group.
    #[must_use]
    pub fn ends(&self, min: u32, max: Option<u32>, trie: &TokenTrie) -> NodeSet {
        let max = max.unwrap_or(u32::MAX);
        let few = self.few_ends.within(min, max);
        if self.many_ends.is_empty() {
            return NodeSet::new(few.collect(), trie);
        }
        let mut bits = vec![0; trie.len().div_ceil(64)];
        for (difference, nodes) in &self.many_ends {
            let Some(characters) = characters_of(max, *difference) else { continue };
            let min_characters = characters_of(min, *difference).unwrap_or(0);
            let within = trie.characters_of_nodes().within(min_characters, characters);
            for ((word, nodes), within) in bits.iter_mut().zip(nodes).zip(within) {
                *word |= nodes & within;
            }
        }
        for node in few {
            bits[node as usize >> 6] |= 1 << (node & 63);
        }
        NodeSet::from_bits(bits, trie)
    }

    /// The largest number of copies, up to `max`, that a token or node has: as a maximum it has the same effect.
    #[must_use]
    pub fn effective_max(&self, max: u32) -> u32 {
        let before = self.counts.partition_point(|&count| count <= max);
        before.checked_sub(1).map_or(0, |last| self.counts[last])
    }

    /// Memory, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let tokens = self.many_tokens.iter().map(|(_, tokens)| tokens).chain(self.all_tokens.as_deref());
        let tokens: usize = tokens.map(|tokens| size_of_val(tokens.words())).sum();
        let ends: usize = self.many_ends.iter().map(|(_, ends)| size_of_val(&ends[..])).sum();
        tokens
            + ends
            + self.few_tokens.memory_bytes()
            + self.few_ends.memory_bytes()
            + size_of_val(&self.counts[..])
    }
}

/// The number of characters for a number of copies and a difference between both; `None` if it would be negative.
fn characters_of(copies: u32, difference: i32) -> Option<u32> {
    let characters = i64::from(copies) - i64::from(difference);
    (characters >= 0).then(|| u32::try_from(characters).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokenTexts;

    /// Compares summaries with a filter over all tokens and nodes.
    #[test]
    fn unions_are_by_count() {
        let pieces = ["a", "é", "你", "🙂", "b"];
        let texts: TokenTexts = (0..3000_usize)
            .map(|number| {
                let text = [0, 1, 2, 3, 4].map(|digit| pieces[number / 5_usize.pow(digit) % 5]).concat();
                // Some are long.
                Some(text + &"c".repeat(if number % 3 == 0 { number % 17 } else { 0 }))
            })
            .collect();
        let vocabulary = Vocabulary::new(texts, vec![], vec![3000], Some(3001)).expect("a vocabulary");
        let trie = vocabulary.trie();
        let middle = trie.len() / 2;
        let middle = trie.subtree_end(crate::TrieNode(middle as u32)).index();
        for segments in [
            vec![(1..middle, 0), (middle..trie.len(), 2)],
            vec![(1..trie.len(), 1), (1..middle, 0), (middle - 10..trie.len(), 3)],
            vec![(1..20, 0)],
            vec![],
        ] {
            let mut builder = CountedSummaryBuilder::default();
            let (mut tokens, mut ends) = (Vec::new(), Vec::new());
            for (nodes, difference) in segments.clone() {
                builder.add_tokens(nodes.clone(), difference);
                builder.add_ends(trie, nodes.clone(), difference, WhichNodes::WholeCharacters);
                for node in nodes.map(|node| crate::TrieNode(node as u32)) {
                    let count = u32::from(trie.characters(node)) + difference as u32;
                    tokens.extend(trie.tokens(node).iter().map(|&token| (count, token)));
                    if trie.is_whole(node) {
                        ends.push((count, node.0));
                    }
                }
            }
            let summary = builder.finish(&vocabulary);
            assert_eq!(summary.many_ends.len(), if segments.len() > 1 { segments.len() } else { 0 });
            assert_eq!(summary.many_tokens.len(), summary.many_ends.len());
            for max in [None, Some(0), Some(1), Some(3), Some(5), Some(6), Some(7), Some(16), Some(100)] {
                let bound = max.unwrap_or(u32::MAX);
                let (mut live, mut expected) = (TokenSet::new(3001), TokenSet::new(3001));
                summary.live(max, &vocabulary).add_to(&mut live);
                expected
                    .extend(tokens.iter().filter(|(copies, _)| *copies <= bound).map(|&(_, token)| token));
                assert_eq!(live, expected, "{max:?}");
                let effective = summary.effective_max(bound);
                assert!(effective < 100 && effective <= bound);
                let mut same = TokenSet::new(3001);
                summary.live(Some(effective), &vocabulary).add_to(&mut same);
                assert_eq!(same, expected);
                assert_eq!(summary.ends(0, Some(effective), trie), summary.ends(0, max, trie));
                for min in [0, 1, 2, 5, 20] {
                    let nodes = ends.iter().filter(|(copies, _)| (min..=bound).contains(copies));
                    let expected = NodeSet::new(nodes.map(|&(_, node)| node).collect(), trie);
                    assert_eq!(summary.ends(min, max, trie), expected, "{min} {max:?}");
                }
            }
        }
    }
}
