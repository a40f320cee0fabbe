//! What is known about all repetitions of a code below some nodes, by the number of copies.
//!
//! Mostly copies are characters, and the trie has the characters of all tokens and nodes bit by bit (see [`super::bit_sliced`]).
//! So what holds some more copies than characters is kept as a set for each such difference, if it is much: then the answer for
//! a range of counts is a few operations per word. The rest is kept by its counts.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::{
    LiveTokens, NodeSet, TokenId, TokenRanges, TokenSet, TokenTrie, TrieNode, Vocabulary, WhichNodes,
};

/// Which part of a vocabulary or a trie is many.
const MANY: usize = 32;

/// See the module. Equal summaries say the same about all counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedSummary {
    /// Tokens in which as many copies begin as they have characters, and some more, by how many more.
    many_tokens: Vec<(i32, TokenSet)>,
    /// Other tokens by the copies that begin in them.
    few_tokens: ByCount,
    /// All tokens, where they are many.
    all_tokens: Option<Arc<TokenSet>>,
    /// Nodes, 64 a word, at which as many copies have ended as characters lead to them, and some more, by how many more.
    many_ends: Vec<(i32, Vec<u64>)>,
    /// Other nodes with children by the copies that have ended there; several counts may share a node.
    few_ends: ByCount,
}

/// Ids by a count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ByCount(Vec<Vec<u32>>);

impl ByCount {
    /// Adds an id with some more copies than characters.
    fn add(&mut self, characters: u16, difference: i32, id: u32) {
        // Copies that have begun or ended are never fewer than none.
        let count = (i32::from(characters) + difference) as usize;
        if self.0.len() <= count {
            self.0.resize(count + 1, Vec::new());
        }
        self.0[count].push(id);
    }

    /// The ids with a count from `least` to `most`.
    fn within(&self, least: u32, most: u32) -> impl Iterator<Item = u32> {
        let end = (most as usize).saturating_add(1).min(self.0.len());
        self.0[end.min(least as usize)..end].iter().flatten().copied()
    }

    fn memory_bytes(&self) -> usize {
        self.0.iter().map(|ids| size_of_val(ids) + size_of_val(&ids[..])).sum()
    }
}

/// A [`CountedSummary`] being made. Counts are kept as differences to the characters that lead to a place.
#[derive(Clone, Debug, Default)]
pub struct CountedSummaryBuilder {
    tokens: Vec<Segment>,
    ends: Vec<Segment>,
}

/// Neighbouring nodes with one difference between copies and characters.
#[derive(Clone, Debug)]
struct Segment {
    nodes: Range<usize>,
    difference: i32,
    which: WhichNodes,
}

impl CountedSummaryBuilder {
    /// Adds the tokens at some nodes in which as many copies begin as characters on the way to them, and `difference` more.
    pub fn add_tokens(&mut self, nodes: Range<usize>, difference: i32) {
        match self.tokens.last_mut() {
            Some(last) if last.difference == difference && last.nodes.end == nodes.start => {
                last.nodes.end = nodes.end;
            }
            _ => self.tokens.push(Segment { nodes, difference, which: WhichNodes::All }),
        }
    }

    /// Adds nodes at which as many copies have ended as characters begin on the way to them, and `difference` more; those
    /// inside a character may be left out.
    pub fn add_ends(&mut self, trie: &TokenTrie, nodes: Range<usize>, difference: i32, which: WhichNodes) {
        if let Some(last) = self.ends.last_mut()
            && last.difference == difference
            && last.nodes.end == nodes.start
        {
            // A node that ends a character may be kept either way.
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

    /// The summary of what was added.
    pub fn finish(self, vocabulary: &Vocabulary) -> CountedSummary {
        let trie = vocabulary.trie();
        let (mut many_tokens, mut few_tokens) = (Vec::new(), ByCount::default());
        for (difference, segments) in by_difference(self.tokens) {
            let mut tokens = TokenRanges::default();
            segments.iter().for_each(|segment| tokens.add(trie.token_positions(segment.nodes.clone())));
            if tokens.token_count() > vocabulary.size() / MANY {
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
            if count > trie.len() / MANY {
                let mut bits = vec![0; trie.len().div_ceil(64)];
                for Segment { nodes, which, .. } in segments {
                    trie.set_bits(nodes, which, &mut bits);
                }
                many_ends.push((difference, bits));
                continue;
            }
            for Segment { nodes, which, .. } in segments {
                for (first, mut rest) in trie.inner_words_in(nodes, which) {
                    while rest != 0 {
                        let node = TrieNode(first | rest.trailing_zeros());
                        few_ends.add(trie.characters(node), difference, node.0);
                        rest &= rest - 1;
                    }
                }
            }
        }
        let mut summary = CountedSummary { many_tokens, few_tokens, all_tokens: None, many_ends, few_ends };
        summary.all_tokens =
            (!summary.many_tokens.is_empty()).then(|| Arc::new(summary.tokens_up_to(u32::MAX, vocabulary)));
        summary
    }
}

fn by_difference(segments: Vec<Segment>) -> BTreeMap<i32, Vec<Segment>> {
    let mut groups: BTreeMap<i32, Vec<Segment>> = BTreeMap::new();
    for segment in segments {
        groups.entry(segment.difference).or_default().push(segment);
    }
    groups
}

impl CountedSummary {
    /// Tokens that need at most `max` copies. Costs some passes over a bitset, if there are many.
    #[must_use]
    pub fn live(&self, max: Option<u32>, vocabulary: &Vocabulary) -> LiveTokens {
        let most = max.unwrap_or(u32::MAX);
        match &self.all_tokens {
            Some(all) if most == u32::MAX => LiveTokens::Set(all.clone()),
            Some(all) => LiveTokens::within(all, self.tokens_up_to(most, vocabulary)),
            None => {
                let tokens = self.few_tokens.within(0, most).map(TokenId).collect();
                LiveTokens::new(tokens, vocabulary.size())
            }
        }
    }

    fn tokens_up_to(&self, most: u32, vocabulary: &Vocabulary) -> TokenSet {
        let mut set = TokenSet::new(vocabulary.size());
        for (difference, tokens) in &self.many_tokens {
            if let Some(characters) = characters_with(most, *difference) {
                let within = vocabulary.trie().characters_of_tokens().within(0, characters);
                set.union_with_within(tokens, &within);
            }
        }
        set.extend(self.few_tokens.within(0, most).map(TokenId));
        set
    }

    /// Nodes at which `min` to `max` copies have ended. Costs some passes over a bitset, if there are many.
    #[must_use]
    pub fn ends(&self, min: u32, max: Option<u32>, trie: &TokenTrie) -> NodeSet {
        let most = max.unwrap_or(u32::MAX);
        let few = self.few_ends.within(min, most);
        if self.many_ends.is_empty() {
            return NodeSet::new(few.collect(), trie);
        }
        let mut bits = vec![0; trie.len().div_ceil(64)];
        for (difference, nodes) in &self.many_ends {
            let Some(characters) = characters_with(most, *difference) else { continue };
            let least = characters_with(min, *difference).unwrap_or(0);
            let within = trie.characters_of_nodes().within(least, characters);
            for ((word, nodes), within) in bits.iter_mut().zip(nodes).zip(within) {
                *word |= nodes & within;
            }
        }
        for node in few {
            bits[node as usize >> 6] |= 1 << (node & 63);
        }
        NodeSet::from_bits(bits, trie)
    }

    /// Bytes of memory that it takes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let tokens = self.many_tokens.iter().map(|(_, tokens)| tokens).chain(self.all_tokens.as_deref());
        let tokens: usize = tokens.map(|tokens| size_of_val(tokens.words())).sum();
        let ends: usize = self.many_ends.iter().map(|(_, ends)| size_of_val(&ends[..])).sum();
        tokens + ends + self.few_tokens.memory_bytes() + self.few_ends.memory_bytes()
    }
}

/// How many characters a place with so many copies has, if the copies are the characters and some more; none if it would be
/// fewer than none.
fn characters_with(copies: u32, difference: i32) -> Option<u32> {
    let characters = i64::from(copies) - i64::from(difference);
    (characters >= 0).then(|| u32::try_from(characters).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokenTexts;

    /// Everything is as if each token and node were looked at.
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
                let most = max.unwrap_or(u32::MAX);
                let (mut live, mut expected) = (TokenSet::new(3001), TokenSet::new(3001));
                summary.live(max, &vocabulary).add_to(&mut live);
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
