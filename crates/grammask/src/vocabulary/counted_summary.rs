//! What is known about all repetitions of a code below some nodes, by the number of copies.
//!
//! The answer for one range of counts is a union by count. Where that is most of all, it is made by taking the others out of
//! all: bounds far above what tokens hold leave out a few tokens only, and each count down to the bound asks anew. To such bounds
//! only long tokens matter, so a summary for them does not sort the others.

use std::ops::Range;
use std::sync::Arc;

use super::{
    LiveTokens, MANY_CHARACTERS, NodeSet, TokenId, TokenRanges, TokenSet, TokenTrie, TrieNode, Vocabulary,
    WhichNodes,
};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedSummary {
    /// Each token with the fewest copies that begin in it.
    tokens: ByCount,
    /// Nodes with children with the copies that have ended there; several counts may share a node.
    ends: ByCount,
    /// All of the tokens, where they are many.
    all_tokens: Option<Arc<TokenSet>>,
    /// All of the nodes, 64 a word, where they are many and each has one count.
    all_ends: Option<Vec<u64>>,
    /// The least bound on the copies that is known. The lists leave out what is within it, unless it is zero.
    least: u32,
}

/// For which bounds a summary is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bounds {
    /// All, from below too.
    All,
    /// Those far above what most tokens hold, and nothing from below: a summary that is cheaper to make.
    Far,
}

/// Ids in the order of a count.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ByCount {
    list: Vec<u32>,
    /// Where each count starts, and the end.
    starts: Vec<usize>,
}

impl ByCount {
    /// Sorts ids by their counts, which are below `end`: entries are gone through twice, as `each` does.
    fn new(end: usize, each: &dyn Fn(&mut Sorting)) -> Self {
        let mut sorting = Sorting { starts: vec![0; end + 1], list: Vec::new(), is_counted: false };
        each(&mut sorting);
        let starts = &mut sorting.starts;
        for count in 0..end {
            starts[count + 1] += starts[count];
        }
        let mut known = starts.clone();
        sorting.list = vec![0; starts[end]];
        sorting.is_counted = true;
        each(&mut sorting);
        // Equal lists are equal, however many counts were possible.
        while let [.., one, last] = known[..]
            && one == last
        {
            known.pop();
        }
        Self { list: sorting.list, starts: known }
    }

    /// The position of the first entry with at least a count.
    fn start(&self, count: u32) -> usize {
        self.starts.get(count as usize).copied().unwrap_or(self.list.len())
    }
}

/// A [`ByCount`] being made: entries are counted, then put where they belong.
struct Sorting {
    /// How many entries have the count before each, then where the next entry with each count goes.
    starts: Vec<usize>,
    list: Vec<u32>,
    is_counted: bool,
}

impl Sorting {
    /// Adds neighbouring entries; there are hundreds of thousands of them, so each pass is a loop of its own.
    fn add(&mut self, entries: impl Iterator<Item = (i32, u32)>) {
        let Self { starts, list, is_counted } = self;
        // Copies that have begun are never fewer than none.
        if *is_counted {
            entries.for_each(|(count, id)| {
                let next = &mut starts[count as usize];
                list[*next] = id;
                *next += 1;
            });
        } else {
            entries.for_each(|(count, _)| starts[count as usize + 1] += 1);
        }
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
    pub(crate) fn add_ends(
        &mut self,
        trie: &TokenTrie,
        nodes: Range<usize>,
        difference: i32,
        kept: WhichNodes,
    ) {
        let only_whole = kept == WhichNodes::WholeCharacters;
        if let Some(last) = self.nodes.last_mut()
            && last.difference == difference
            && last.places.end == nodes.start
        {
            // A node that ends a character may be kept either way.
            let is_one = nodes.len() == 1 && trie.is_whole(TrieNode(nodes.start as u32));
            if last.only_whole == only_whole || is_one {
                last.places.end = nodes.end;
                return;
            }
            if last.places.len() == 1 && trie.is_whole(TrieNode(last.places.start as u32)) {
                last.only_whole = only_whole;
                last.places.end = nodes.end;
                return;
            }
        }
        self.nodes.push(Segment { places: nodes, difference, only_whole });
    }

    /// The summary of what was added, for bounds as wanted or more.
    pub(crate) fn finish(self, vocabulary: &Vocabulary, bounds: Bounds) -> CountedSummary {
        if bounds == Bounds::Far
            && are_apart(&self.tokens)
            && are_apart(&self.nodes)
            && let Some(summary) = self.finish_far(vocabulary)
        {
            return summary;
        }
        let trie = vocabulary.trie();
        // A copy that has begun takes a byte, and a segment may say that some more are needed.
        let most = self.tokens.iter().chain(&self.nodes).map(|segment| segment.difference).max();
        let end = trie.max_depth() + 1 + most.map_or(0, |most| usize::try_from(most).unwrap_or(0));
        let (ids, characters) = (trie.sorted_ids(), trie.token_characters());
        let mut tokens = ByCount::new(end, &|sorting| {
            for segment in &self.tokens {
                let (ids, characters) = (&ids[segment.places.clone()], &characters[segment.places.clone()]);
                let counts = characters.iter().map(|&characters| i32::from(characters) + segment.difference);
                sorting.add(counts.zip(ids.iter().map(|id| id.0)));
            }
        });
        let ends = ByCount::new(end, &|sorting| {
            for &Segment { ref places, difference, only_whole } in &self.nodes {
                let which = if only_whole { WhichNodes::WholeCharacters } else { WhichNodes::All };
                for (first, mut rest) in trie.inner_words_in(places.clone(), which) {
                    let nodes = std::iter::from_fn(|| {
                        let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                        rest &= rest - 1;
                        Some(TrieNode(first | bit))
                    });
                    sorting.add(nodes.map(|node| (i32::from(trie.characters(node)) + difference, node.0)));
                }
            }
        });
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
            Arc::new(all)
        });
        let all_ends = (ends.list.len() > trie.len() / MANY && are_apart(&self.nodes)).then(|| {
            let mut all = vec![0_u64; trie.len().div_ceil(64)];
            for &node in &ends.list {
                all[node as usize >> 6] |= 1 << (node & 63);
            }
            all
        });
        CountedSummary { tokens, ends, all_tokens, all_ends, least: 0 }
    }

    /// The summary for bounds that only long tokens pass; none where tokens are so few that sorting is as cheap. No place
    /// may be in two segments.
    fn finish_far(&self, vocabulary: &Vocabulary) -> Option<CountedSummary> {
        let trie = vocabulary.trie();
        let most = self.tokens.iter().chain(&self.nodes).map(|segment| segment.difference).max()?;
        let least = u32::from(MANY_CHARACTERS - 1) + u32::try_from(most).unwrap_or(0);
        let mut all_tokens = TokenRanges::default();
        self.tokens.iter().for_each(|segment| all_tokens.add(segment.places.clone()));
        let all_tokens = match all_tokens.finish(vocabulary) {
            LiveTokens::List(_) => return None,
            LiveTokens::Set(set) => set,
            near => Arc::new(near.to_set(vocabulary.size())),
        };
        let mut all_ends = vec![0; trie.len().div_ceil(64)];
        for segment in &self.nodes {
            let which = if segment.only_whole { WhichNodes::WholeCharacters } else { WhichNodes::All };
            trie.set_bits(segment.places.clone(), which, &mut all_ends);
        }
        let (ids, characters) = (trie.sorted_ids(), trie.token_characters());
        let tokens = long_places(&self.tokens, trie.long_tokens(), |&position| position as usize);
        let tokens = tokens.map(|(segment, &position)| {
            let count = i32::from(characters[position as usize]) + segment.difference;
            (count, ids[position as usize].0)
        });
        let nodes = long_places(&self.nodes, trie.long_nodes(), |node| node.index());
        let nodes = nodes
            .filter(|&(segment, &node)| !segment.only_whole || trie.is_whole(node))
            .map(|(segment, &node)| (i32::from(trie.characters(node)) + segment.difference, node.0));
        let sorted = |entries: &mut dyn Iterator<Item = (i32, u32)>| {
            let entries = entries.filter_map(|(count, id)| Some((u32::try_from(count).ok()?, id)));
            let beyond: Vec<_> = entries.filter(|&(count, _)| count > least).collect();
            let end = beyond.iter().map(|&(count, _)| count as usize + 1).max().unwrap_or(0);
            ByCount::new(end, &|sorting| sorting.add(beyond.iter().map(|&(count, id)| (count as i32, id))))
        };
        let (mut tokens, mut nodes) = (tokens, nodes);
        Some(CountedSummary {
            tokens: sorted(&mut tokens),
            ends: sorted(&mut nodes),
            all_tokens: Some(all_tokens),
            all_ends: Some(all_ends),
            least,
        })
    }
}

/// The long places of each segment. Both are ascending, and segments are apart.
fn long_places<'a, P>(
    segments: &'a [Segment],
    places: &'a [P],
    position: impl Fn(&P) -> usize + Copy + 'a,
) -> impl Iterator<Item = (&'a Segment, &'a P)> {
    let mut rest = places;
    segments.iter().flat_map(move |segment| {
        let before = rest.iter().take_while(|place| position(place) < segment.places.start).count();
        let inside = rest[before..].iter().take_while(|place| position(place) < segment.places.end).count();
        let own = &rest[before..before + inside];
        rest = &rest[before + inside..];
        own.iter().map(move |place| (segment, place))
    })
}

/// Whether no place is in two segments, as far as their order shows.
fn are_apart(segments: &[Segment]) -> bool {
    segments.windows(2).all(|pair| pair[0].places.end <= pair[1].places.start)
}

/// Which part of a vocabulary or a trie is many.
const MANY: usize = 32;

impl CountedSummary {
    /// The least bound that may be asked for. If it is not zero, no least number of copies may be asked for.
    #[must_use]
    pub fn least_bound(&self) -> u32 {
        self.least
    }

    /// Tokens that need at most `max` copies. Costs a step for each of them, or of the others if these are fewer.
    #[must_use]
    pub fn live(&self, max: Option<u32>, size: usize) -> LiveTokens {
        let end = max.map_or(self.tokens.list.len(), |max| self.tokens.start(max.saturating_add(1)));
        let (chosen, others) = self.tokens.list.split_at(end);
        match &self.all_tokens {
            Some(all) if others.is_empty() => LiveTokens::Set(all.clone()),
            Some(all) if others.len() <= chosen.len() || self.least > 0 => {
                LiveTokens::without(all, others.iter().map(|&id| TokenId(id)).collect())
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
            Some(all) if end - start >= nodes.len() / 2 || self.least > 0 => {
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
            .map(|number| {
                let text = [0, 1, 2, 3, 4].map(|digit| pieces[number / 5_usize.pow(digit) % 5]).concat();
                // Some are long.
                Some(text + &"c".repeat(if number % 3 == 0 { number % 17 } else { 0 }))
            })
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
                builder.add_ends(trie, nodes.clone(), difference, WhichNodes::WholeCharacters);
                for node in nodes.map(|node| crate::vocabulary::TrieNode(node as u32)) {
                    let count = u32::from(trie.characters(node)) + difference as u32;
                    tokens.extend(trie.tokens(node).iter().map(|&token| (count, token)));
                    if trie.is_whole(node) {
                        ends.push((count, node.0));
                    }
                }
            }
            let far = builder.clone().finish(&vocabulary, Bounds::Far);
            assert_eq!(far.least_bound() > 0, segments.len() == 2);
            for max in [None, Some(15), Some(17), Some(18), Some(20), Some(100)] {
                if far.least_bound() == 0 || max.is_some_and(|max| max < far.least_bound()) {
                    continue;
                }
                let most = max.unwrap_or(u32::MAX);
                let (mut live, mut expected) = (TokenSet::new(3001), TokenSet::new(3001));
                far.live(max, 3001).add_to(&mut live);
                expected.extend(tokens.iter().filter(|(copies, _)| *copies <= most).map(|&(_, token)| token));
                assert_eq!(live, expected, "{max:?}");
                let nodes = ends.iter().filter(|(copies, _)| *copies <= most);
                let expected = NodeSet::new(nodes.map(|&(_, node)| node).collect(), trie);
                assert_eq!(far.ends(0, max, trie), expected, "{max:?}");
            }
            let summary = builder.finish(&vocabulary, Bounds::All);
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
