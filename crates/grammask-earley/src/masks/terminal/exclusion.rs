//! The summary of a terminal that excludes something from a known one, by going along the paths of the trie where they differ.
//!
//! Any name but those that an object declares is a string, once it has left the paths of the declared names. So what is known of
//! strings is copied, and only what differs is found. Of a few words that are excluded from infinitely many others it is clear
//! what differs: what begins behind a whole excluded word. So the excluded words are walked alone, along with the trie, and the
//! states that tell them from all others are never made. In all other cases both automata walk side by side, over the bytes with
//! which something excluded goes on: over all others they come to the same state, and nothing below differs.

use std::ops::Range;
use std::sync::Arc;

use grammask_automata::{Automata, ByteSet, Exclusion, StateId, Table, TableState, TermId};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{NodeSet, TerminalSummary, TokenId, TokenTrie, TrieNode, Vocabulary, words_of};

use super::walk::{Walked, kept_bytes};

/// Trie nodes that differ after which an ordinary walk is the better way.
const MOST_DIFFERENCES: usize = 1 << 12;

/// Trie nodes on the paths of excluded words, after which it is too.
const MOST_EXCLUDED: usize = 1 << 14;

/// Bytes that keep a state of free text.
const MANY_BYTES: usize = 64;

/// What a terminal that excludes something has less than the one that excludes nothing, below the same nodes.
#[derive(Debug, Default)]
pub(in crate::masks) struct Difference {
    /// Tokens that are not live, besides others that are live in neither; some may come twice.
    refused: Vec<TokenId>,
    /// Nodes of which nothing is known any more, each range those of a subtree or one node; and those of them where words end.
    gone: Vec<Range<u32>>,
    ended: Vec<u32>,
    /// Trie nodes and tokens looked at.
    pub(in crate::masks) work: usize,
}

impl Difference {
    /// Whether there is no difference.
    pub(in crate::masks) fn is_nothing(&self) -> bool {
        self.refused.is_empty() && self.gone.is_empty()
    }

    /// The summary of the terminal, when that of the other is known. Ends are found where they are known.
    pub(in crate::masks) fn taken_from(self, known: &TerminalSummary, vocabulary: &Vocabulary) -> Walked {
        let live = known.live.but(self.refused, vocabulary.size());
        let ends = known.ends.as_ref();
        let ends = ends.map(|ends| mended(ends, self.gone, self.ended, vocabulary.trie()));
        Walked { live, ends, work: self.work }
    }

    /// No word goes on to `node`.
    fn refuse(&mut self, node: TrieNode, trie: &TokenTrie) {
        let tokens = trie.subtree_tokens(node);
        self.work += tokens.len();
        self.refused.extend_from_slice(tokens);
        self.gone.push(node.0..trie.subtree_end(node).0);
    }
}

/// Finds what the words that continue `state`, whose term has this exclusion, have less than those of its wider term, below
/// `nodes`. None where they differ much, where it is hard to find, and where a token may be below several of the nodes.
///
/// # Errors
/// When the automaton passes its limit.
pub(in crate::masks) fn walk_differences(
    automata: &mut Automata,
    vocabulary: &Vocabulary,
    state: StateId,
    exclusion: &Exclusion,
    nodes: &NodeSet,
) -> Result<Option<Difference>, LimitExceeded> {
    let trie = vocabulary.trie();
    if nodes.is_dense() || !are_apart(nodes, trie) {
        return Ok(None);
    }
    let mut difference = Difference::default();
    match walk_words(automata, trie, exclusion, nodes, &mut difference)? {
        Excluded::Words => return Ok(Some(difference)),
        Excluded::ManyWords => return Ok(None),
        Excluded::Unclear => {}
    }
    if !(nodes.contains(TrieNode::ROOT)) {
        return Ok(None);
    }
    let Some(wider) = automata.start(exclusion.wider)? else { return Ok(None) };
    if kept_bytes(automata, wider)? < MANY_BYTES {
        return Ok(None);
    }
    walk_both(automata, trie, state, wider)
}

/// Whether no node is below another.
fn are_apart(nodes: &NodeSet, trie: &TokenTrie) -> bool {
    let mut end = TrieNode(0);
    nodes.iter().all(|node| node >= std::mem::replace(&mut end, trie.subtree_end(node)))
}

/// What is excluded.
enum Excluded {
    /// A few words, and it was found what differs.
    Words,
    /// Words on too many paths of the trie.
    ManyWords,
    /// Something else, or words behind which it is unclear what differs.
    Unclear,
}

/// What is left of one of the excluded words.
#[derive(Clone)]
enum Rest {
    Table(Arc<Table>, TableState),
    Term(TermId),
}

/// Finds the differences where only so many words are excluded from a head with infinitely many, and no text can be read as the
/// beginning of the head, and as a word of it with the beginning of what follows.
///
/// Then what is left of the head after any text is infinite too, and stays so without what is left of the excluded words: all
/// that begins with less than a whole excluded word is live as before. Behind a whole one what follows would begin, and nothing
/// else could be there.
fn walk_words(
    automata: &mut Automata,
    trie: &TokenTrie,
    exclusion: &Exclusion,
    nodes: &NodeSet,
    difference: &mut Difference,
) -> Result<Excluded, LimitExceeded> {
    let terms = automata.terms();
    let Some(parts) = terms.finite_operands(&exclusion.excluded) else { return Ok(Excluded::Unclear) };
    if !terms.is_infinite_by_form(exclusion.head) {
        return Ok(Excluded::Unclear);
    }
    let (head, tail) = (automata.start(exclusion.head)?, automata.start(exclusion.tail)?);
    let (Some(head), Some(tail)) = (head, tail) else { return Ok(Excluded::Unclear) };
    let first_bytes = automata.first_bytes(tail)?;
    let mut stack: Vec<(TrieNode, StateId, Rest)> = Vec::new();
    let mut next: Vec<(TrieNode, Rest)> = Vec::new();
    for part in parts {
        let rest = match automata.terms().leading_table(part) {
            Some((table, state, behind)) if behind == automata.terms().epsilon() => {
                Rest::Table(table.clone(), state)
            }
            _ => Rest::Term(part),
        };
        stack.extend(nodes.iter().map(|node| (node, head, rest.clone())));
        while let Some((node, head, rest)) = stack.pop() {
            if difference.work > MOST_EXCLUDED {
                return Ok(Excluded::ManyWords);
            }
            let is_word = automata.is_accepting(head);
            if is_word && rest.is_nullable(automata) {
                if automata.is_accepting(tail) {
                    difference.gone.push(node.0..node.0 + 1);
                }
                for byte in first_bytes.within(trie.child_bytes(node)).iter() {
                    if automata.step(head, byte)?.is_some() {
                        return Ok(Excluded::Unclear);
                    }
                    difference.refuse(trie.child(node, byte).expect("a child over this byte"), trie);
                }
            }
            if !rest.children(automata, trie, node, &mut next) {
                return Ok(Excluded::Unclear);
            }
            difference.work += 1 + next.len();
            for (child, rest) in next.drain(..) {
                let byte = trie.byte(child);
                let Some(head) = automata.step(head, byte)? else { continue };
                let is_clear = automata.terms().is_infinite_by_form(automata.term(head))
                    && !(is_word && first_bytes.contains(byte));
                if !is_clear {
                    return Ok(Excluded::Unclear);
                }
                if trie.has_children(child) {
                    stack.push((child, head, rest));
                }
            }
        }
    }
    Ok(Excluded::Words)
}

impl Rest {
    fn is_nullable(&self, automata: &Automata) -> bool {
        match self {
            Self::Table(table, state) => table.is_accepting(*state),
            Self::Term(term) => automata.terms().is_nullable(*term),
        }
    }

    /// Adds the children of `node` that words go on to, each with what is left of them; returns whether that is clear.
    fn children(
        &self,
        automata: &mut Automata,
        trie: &TokenTrie,
        node: TrieNode,
        children: &mut Vec<(TrieNode, Self)>,
    ) -> bool {
        match self {
            Self::Table(table, state) => {
                for (low, high, target) in table.edges(*state) {
                    let rest = |child| (child, Self::Table(table.clone(), target));
                    if low == high {
                        children.extend(trie.child(node, low).map(rest));
                        continue;
                    }
                    let bytes = ByteSet::range(low, high).within(trie.child_bytes(node));
                    children.extend(bytes.iter().filter_map(|byte| trie.child(node, byte)).map(rest));
                }
            }
            Self::Term(term) => {
                let Some(bytes) = automata.terms().possible_first_bytes(*term) else { return false };
                for byte in bytes.within(trie.child_bytes(node)).iter() {
                    let rest = automata.terms_mut().derivative(*term, byte);
                    let child = trie.child(node, byte).filter(|_| rest != automata.terms().nothing());
                    children.extend(child.map(|child| (child, Self::Term(rest))));
                }
            }
        }
        true
    }
}

/// Finds the differences below the root by walking a state and the one that excludes nothing, side by side.
fn walk_both(
    automata: &mut Automata,
    trie: &TokenTrie,
    state: StateId,
    wider: StateId,
) -> Result<Option<Difference>, LimitExceeded> {
    let mut different = Vec::new();
    let mut stack = vec![(TrieNode::ROOT, state, wider)];
    while let Some((node, state, other)) = stack.pop() {
        if different.len() > MOST_DIFFERENCES {
            return Ok(None);
        }
        let bytes = differing_bytes(automata, state, other);
        for byte in bytes.within(trie.child_bytes(node)).iter() {
            let (own, others) = (automata.step(state, byte)?, automata.step(other, byte)?);
            if own == others {
                continue;
            }
            // Not what is asked for: words beyond those of the known state.
            let Some(other) = others else { return Ok(None) };
            let Some(child) = trie.child(node, byte) else { continue };
            different.push((child, own));
            if let Some(own) = own
                && trie.has_children(child)
            {
                stack.push((child, own, other));
            }
        }
    }
    let mut difference = Difference { work: different.len(), ..Difference::default() };
    for (node, state) in different {
        match state {
            Some(state) => {
                difference.ended.extend(automata.is_accepting(state).then_some(node.0));
                difference.gone.push(node.0..node.0 + 1);
            }
            None => difference.refuse(node, trie),
        }
    }
    Ok(Some(difference))
}

/// The bytes over which a state may go on otherwise than the one that excludes nothing. Where what follows has begun in one of
/// several ways to read a text, the form of what they go on with does not tell.
fn differing_bytes(automata: &mut Automata, state: StateId, wider: StateId) -> ByteSet {
    let (term, wider) = (automata.term(state), automata.term(wider));
    let is_wider = automata.terms_mut().exclusion(term).is_some_and(|exclusion| exclusion.wider == wider);
    let bytes = if is_wider { automata.terms().exclusion_bytes(term) } else { None };
    bytes.unwrap_or(ByteSet::ALL)
}

/// Nodes without those in some ranges, any two of which are apart or one inside the other, and with others.
pub(in crate::masks) fn mended(
    ends: &NodeSet,
    mut gone: Vec<Range<u32>>,
    mut ended: Vec<u32>,
    trie: &TokenTrie,
) -> NodeSet {
    if ends.is_dense() {
        let mut ends = ends.to_bits(trie);
        for range in gone {
            clear(range.start as usize..range.end as usize, &mut ends);
        }
        for node in ended {
            ends[node as usize >> 6] |= 1 << (node & 63);
        }
        return NodeSet::from_bits(ends, trie);
    }
    gone.sort_unstable_by_key(|range| range.start);
    let mut rest = &gone[..];
    let kept = ends.iter().map(|node| node.0).filter(|node| {
        while rest.first().is_some_and(|range| range.end <= *node) {
            rest = &rest[1..];
        }
        rest.first().is_none_or(|range| *node < range.start)
    });
    ended.extend(kept);
    NodeSet::new(ended, trie)
}

fn clear(nodes: Range<usize>, bits: &mut [u64]) {
    for (word, inside) in words_of(nodes) {
        bits[word] &= !inside;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::walk::{Wanted, walk_terminal};
    use super::*;
    use grammask_automata::Terms;
    use grammask_automata::sketch::{Sketch, sketch};
    use grammask_vocabulary::TokenTexts;

    /// All words of up to four letters, and some longer ones.
    fn vocabulary() -> Vocabulary {
        let mut words = vec![String::new()];
        for length in 0..4 {
            let longer = words.iter().filter(|word| word.len() == length);
            let longer: Vec<String> =
                longer.flat_map(|word| ["a", "b", "c"].map(|letter| format!("{word}{letter}"))).collect();
            words.extend(longer);
        }
        words.extend(["abcab", "abcabc", "aaaaa", "bcacb", "ccccca"].map(str::to_owned));
        let texts: TokenTexts = words.into_iter().skip(1).map(Some).collect();
        Vocabulary::new(texts, vec![], vec![], None).expect("a vocabulary")
    }

    /// How often a difference was found, for words and otherwise.
    #[derive(Default)]
    struct Found {
        words: usize,
        others: usize,
    }

    /// Compares with the walk of the whole terminal: all of `states` letters that lead from the term to one with an exclusion.
    fn check(vocabulary: &Vocabulary, sketch: &Sketch, found: &mut Found) {
        let trie = vocabulary.trie();
        let mut terms = Terms::new();
        let term = sketch.term(&mut terms);
        let mut automata = Automata::new(terms, 100_000);
        let Some(start) = automata.start(term).expect("within limits") else { return };
        let mut states = vec![start];
        for letter in *b"abc" {
            states.extend(automata.step(start, letter).expect("within limits"));
        }
        let all: Vec<u32> = (0..trie.len() as u32).collect();
        let deep = |depth: u16| {
            let nodes = all.iter().copied().filter(|&node| trie.depth(TrieNode(node)) == depth).collect();
            NodeSet::new(nodes, trie)
        };
        let some = all.iter().copied().filter(|node| node % 7 == 3).collect();
        let sets = [
            deep(0),
            NodeSet::new(vec![1], trie),
            deep(2),
            NodeSet::new(some, trie),
            NodeSet::new(all, trie),
        ];
        for (state, nodes) in states.iter().flat_map(|state| sets.iter().map(move |nodes| (*state, nodes))) {
            let term = automata.term(state);
            let Some(exclusion) = automata.terms_mut().exclusion(term) else { continue };
            let difference = walk_differences(&mut automata, vocabulary, state, &exclusion, nodes);
            let Some(difference) = difference.expect("within limits") else { continue };
            match automata.terms().finite_operands(&exclusion.excluded) {
                Some(_) => found.words += 1,
                None => found.others += 1,
            }
            let wider = automata.start(exclusion.wider).expect("within limits").expect("has more words");
            let [known, expected] = [wider, state].map(|state| {
                let first_bytes = automata.first_bytes(state).expect("within limits");
                let nothing = (&[][..], Wanted::LiveAndEnds);
                walk_terminal(&mut automata, vocabulary, state, first_bytes, nodes, nothing)
                    .expect("within limits")
            });
            let known_ends = known.ends.map(|ends| vocabulary.summaries().intern(ends));
            let known = TerminalSummary { live: known.live, ends: known_ends };
            let is_nothing = difference.is_nothing();
            let walked = difference.taken_from(&known, vocabulary);
            let size = vocabulary.size();
            assert_eq!(
                walked.live.to_set(size),
                expected.live.to_set(size),
                "{}",
                automata.terms().display(term)
            );
            assert_eq!(walked.ends, expected.ends, "{}", automata.terms().display(term));
            if is_nothing {
                assert_eq!(known.live.to_set(size), expected.live.to_set(size));
                assert_eq!(known.ends.as_deref(), expected.ends.as_ref());
            }
        }
    }

    fn without(all: Sketch, excluded: Vec<Sketch>, tail: Sketch) -> Sketch {
        Sketch::Concatenation(vec![Sketch::Without(Box::new(all), excluded), tail])
    }

    fn words(words: &[&str]) -> Sketch {
        Sketch::Words(words.iter().map(|&word| word.to_owned()).collect())
    }

    /// Any words less any others, and what follows, from some nodes.
    #[test]
    fn equals_the_walk_of_what_is_left() {
        let vocabulary = vocabulary();
        let found = std::cell::RefCell::new(Found::default());
        let config = ProptestConfig { failure_persistence: None, cases: 3000, ..ProptestConfig::default() };
        let excluded = prop::collection::vec(sketch(), 1..3);
        let result = proptest::test_runner::TestRunner::new(config).run(
            &(sketch(), excluded, sketch()),
            |(all, excluded, tail)| {
                check(&vocabulary, &without(all, excluded, tail), &mut found.borrow_mut());
                Ok(())
            },
        );
        result.expect("the same");
        let Found { words, others } = found.into_inner();
        assert!(words > 500, "{words} differences by words, {others} others");
    }

    /// What is left of the head is less than what may follow it, which has begun in another way to read the same text.
    #[test]
    fn what_follows_may_have_begun() {
        let excluded = Sketch::Repetition(Box::new(words(&["caa"])), 0, None);
        let mut found = Found::default();
        check(&vocabulary(), &without(words(&["ca", ""]), vec![excluded], Sketch::Anything), &mut found);
        assert!(found.others > 0);
    }

    /// The usual case, and what makes it unclear: what follows may begin as what it follows goes on, or be empty; all words are
    /// excluded, or few are left; a word of one excluded set begins one of the other.
    #[test]
    fn equals_the_walk_of_names() {
        let vocabulary = vocabulary();
        let mut found = Found::default();
        let any = |letters: &[u8]| Sketch::Repetition(Box::new(Sketch::Letters(letters.to_vec())), 0, None);
        let names = || words(&["a", "ab", "abb", "", "bab", "bb"]);
        let pattern = || Sketch::Concatenation(vec![words(&["ab"]), any(b"ab")]);
        for tail in [
            words(&["c"]),
            words(&["ca", "cb"]),
            words(&["", "ca"]),
            words(&["a", "c"]),
            any(b"c"),
            any(b"a"),
        ] {
            for all in [any(b"ab"), any(b"abc"), pattern(), names(), words(&["a", "abb"])] {
                for excluded in [
                    vec![names()],
                    vec![
                        words(&["ab"]),
                        Sketch::Concatenation(vec![
                            words(&["a"]),
                            Sketch::Letters(b"ab".to_vec()),
                            words(&["a", "b"]),
                        ]),
                    ],
                    vec![any(b"ab")],
                    vec![pattern()],
                    vec![pattern(), names()],
                    vec![words(&[""])],
                ] {
                    check(&vocabulary, &without(all.clone(), excluded, tail.clone()), &mut found);
                }
            }
        }
        let Found { words, others } = found;
        assert!(words > 200, "{words} differences by words, {others} others");
    }
}
