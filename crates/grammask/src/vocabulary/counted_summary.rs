//! What is known about all repetitions of a code below some nodes, by the number of copies.
//!
//! The answer for one range of counts is a union by count. Where that is most of all, it is made by taking the others out of
//! all: bounds far above what tokens hold leave out a few tokens only, and each count down to the bound asks anew.

use std::ops::Range;

use super::{LiveTokens, NodeSet, TokenId, TokenSet, TokenTrie, Vocabulary, WhichNodes};

/// See the module.
#[derive(Clone, Debug)]
pub struct CountedSummary {
    /// Each token with the fewest copies that begin in it.
    tokens: ByCount,
    /// Nodes with children with the copies that have ended there; several counts may share a node.
    ends: ByCount,
    /// All of the tokens, where they are many.
    all_tokens: Option<TokenSet>,
    /// All of the nodes, 64 a word, where they are many and each has one count.
    all_ends: Option<Vec<u64>>,
}

/// Ids in the order of a count.
#[derive(Clone, Debug)]
struct ByCount {
    list: Vec<u32>,
    /// Where each count starts, and the end.
    starts: Vec<usize>,
}

impl ByCount {
    /// Sorts ids by their counts, which are below `end`.
    fn new(end: usize, entries: impl Iterator<Item = (usize, u32)> + Clone) -> Self {
        let mut starts = vec![0; end + 1];
        entries.clone().for_each(|(count, _)| starts[count + 1] += 1);
        for count in 0..end {
            starts[count + 1] += starts[count];
        }
        let mut next = starts.clone();
        let mut list = vec![0; starts[end]];
        entries.for_each(|(count, id)| {
            list[next[count]] = id;
            next[count] += 1;
        });
        Self { list, starts }
    }

    /// The position of the first entry with at least a count.
    fn start(&self, count: u32) -> usize {
        self.starts.get(count as usize).copied().unwrap_or(self.list.len())
    }
}

/// A [`CountedSummary`] being made. Counts are kept as differences to the characters that lead to a place.
#[derive(Clone, Debug, Default)]
pub(crate) struct CountedSummaryBuilder {
    /// Positions in the sorted tokens of the trie.
    tokens: Vec<Segment>,
    nodes: Vec<Segment>,
}

/// Neighbouring places with one difference between copies and characters.
#[derive(Clone, Debug)]
struct Segment {
    places: Range<usize>,
    difference: i32,
    /// Of nodes, whether only those that end a character count.
    only_whole: bool,
}

impl CountedSummaryBuilder {
    /// Adds the tokens at and below some nodes in which as many copies begin as characters on the way to them, and
    /// `difference` more.
    pub(crate) fn add_tokens(&mut self, trie: &TokenTrie, nodes: Range<usize>, difference: i32) {
        let places = trie.token_positions(nodes);
        match self.tokens.last_mut() {
            Some(last) if last.difference == difference && last.places.end == places.start => {
                last.places.end = places.end;
            }
            _ => self.tokens.push(Segment { places, difference, only_whole: false }),
        }
    }

    /// Adds nodes at which as many copies have ended as characters begin on the way to them, and `difference` more; those
    /// inside a character may be left out.
    pub(crate) fn add_ends(&mut self, nodes: Range<usize>, difference: i32, kept: WhichNodes) {
        let only_whole = kept == WhichNodes::WholeCharacters;
        self.nodes.push(Segment { places: nodes, difference, only_whole });
    }

    /// The summary of what was added.
    pub(crate) fn finish(self, vocabulary: &Vocabulary) -> CountedSummary {
        let trie = vocabulary.trie();
        // A copy takes a byte.
        let end = trie.max_depth() + 1;
        let (ids, characters) = (trie.sorted_ids(), trie.token_characters());
        let tokens = self.tokens.iter().flat_map(|segment| {
            let places = segment.places.clone();
            let difference = segment.difference;
            let count = move |characters: u16| (i32::from(characters) + difference) as usize;
            ids[places.clone()]
                .iter()
                .zip(&characters[places])
                .map(move |(id, &characters)| (count(characters), id.0))
        });
        let mut tokens = ByCount::new(end, tokens);
        let nodes = self.nodes.iter().flat_map(|segment| {
            let &Segment { ref places, difference, only_whole } = segment;
            let inner = trie.inner_nodes_in(places.clone());
            inner
                .filter(move |&node| !only_whole || trie.is_whole(node))
                .map(move |node| ((i32::from(trie.characters(node)) + difference) as usize, node.0))
        });
        let ends = ByCount::new(end, nodes);
        let all_tokens = (tokens.list.len() > vocabulary.size() / MANY).then(|| {
            let mut all = TokenSet::new(vocabulary.size());
            if are_apart(&self.tokens) {
                all.extend(tokens.list.iter().map(|&id| TokenId(id)));
            } else {
                // The fewest copies come first.
                let mut kept = ByCount { list: Vec::new(), starts: vec![0] };
                for range in tokens.starts.windows(2) {
                    let new = tokens.list[range[0]..range[1]].iter().filter(|&&id| all.insert(TokenId(id)));
                    kept.list.extend(new.copied());
                    kept.starts.push(kept.list.len());
                }
                tokens = kept;
            }
            all
        });
        let all_ends = (ends.list.len() > trie.len() / MANY && are_apart(&self.nodes)).then(|| {
            let mut all = vec![0_u64; trie.len().div_ceil(64)];
            for &node in &ends.list {
                all[node as usize >> 6] |= 1 << (node & 63);
            }
            all
        });
        CountedSummary { tokens, ends, all_tokens, all_ends }
    }
}

/// Whether no place is in two segments, as far as their order shows.
fn are_apart(segments: &[Segment]) -> bool {
    segments.windows(2).all(|pair| pair[0].places.end <= pair[1].places.start)
}

/// Which part of a vocabulary or a trie is many.
const MANY: usize = 32;

impl CountedSummary {
    /// Tokens that need at most `max` copies. Costs a step for each of them, or of the others if these are fewer.
    #[must_use]
    pub fn live(&self, max: Option<u32>, size: usize) -> LiveTokens {
        let end = max.map_or(self.tokens.list.len(), |max| self.tokens.start(max.saturating_add(1)));
        let (chosen, others) = self.tokens.list.split_at(end);
        match &self.all_tokens {
            Some(all) if others.len() <= chosen.len() => {
                let mut set = all.clone();
                for &id in others {
                    set.remove(TokenId(id));
                }
                LiveTokens::from_set(set)
            }
            _ => LiveTokens::new(chosen.iter().map(|&id| TokenId(id)).collect(), size),
        }
    }

    /// Nodes at which `min` to `max` copies have ended. Costs a step for each of them, or of the others if these are
    /// fewer.
    #[must_use]
    pub fn ends(&self, min: u32, max: Option<u32>, trie: &TokenTrie) -> NodeSet {
        let nodes = &self.ends.list;
        let end = max.map_or(nodes.len(), |max| self.ends.start(max.saturating_add(1)));
        let start = self.ends.start(min).min(end);
        match &self.all_ends {
            Some(all) if end - start >= nodes.len() / 2 => {
                let mut bits = all.clone();
                for &node in nodes[..start].iter().chain(&nodes[end..]) {
                    bits[node as usize >> 6] &= !(1 << (node & 63));
                }
                NodeSet::from_bits(bits, trie)
            }
            _ => NodeSet::new(nodes[start..end].to_vec(), trie),
        }
    }

    /// Bytes of memory that it takes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let all_tokens = self.all_tokens.as_ref().map_or(0, |all| size_of_val(all.words()));
        let all_ends = self.all_ends.as_ref().map_or(0, |all| size_of_val(&all[..]));
        let starts = size_of_val(&self.tokens.starts[..]) + size_of_val(&self.ends.starts[..]);
        let lists = size_of_val(&self.tokens.list[..]) + size_of_val(&self.ends.list[..]);
        lists + starts + all_tokens + all_ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::TokenTexts;

    /// Everything is as if each token and node were looked at.
    #[test]
    fn unions_are_by_count() {
        let pieces = ["a", "é", "你", "🙂", "b"];
        let texts: TokenTexts = (0..3000_usize)
            .map(|number| Some([0, 1, 2, 3, 4].map(|digit| pieces[number / 5_usize.pow(digit) % 5]).concat()))
            .collect();
        let vocabulary = Vocabulary::new(texts, vec![], vec![3000], Some(3001)).expect("a vocabulary");
        let trie = vocabulary.trie();
        let middle = trie.len() / 2;
        let middle = trie.subtree_end(crate::vocabulary::TrieNode(middle as u32)).index();
        for segments in [
            vec![(1..middle, 0), (middle..trie.len(), 2)],
            vec![(1..trie.len(), 1), (1..middle, 0), (middle - 10..trie.len(), 3)],
            vec![(1..20, 0)],
            vec![],
        ] {
            let mut builder = CountedSummaryBuilder::default();
            let (mut tokens, mut ends) = (Vec::new(), Vec::new());
            for (nodes, difference) in segments.clone() {
                builder.add_tokens(trie, nodes.clone(), difference);
                builder.add_ends(nodes.clone(), difference, WhichNodes::WholeCharacters);
                for node in nodes.map(|node| crate::vocabulary::TrieNode(node as u32)) {
                    let count = u32::from(trie.characters(node)) + difference as u32;
                    tokens.extend(trie.tokens(node).iter().map(|&token| (count, token)));
                    if trie.is_whole(node) {
                        ends.push((count, node.0));
                    }
                }
            }
            let summary = builder.finish(&vocabulary);
            assert_eq!(summary.all_ends.is_some(), segments.len() == 2);
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
