//! The summary of a language that excludes words, as that of the language without the exclusion and a delta.
//!
//! The undeclared names of an object are all strings but the declared names. A finite set of words is excluded from an
//! infinite set, so the summaries differ only after a whole excluded word: the excluded words are walked alone, and no
//! state of the automaton that distinguishes them from other strings is created.

use grammask_automata::{Automata, Exclusion, StateId, TermId};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{NodeSet, TokenTrie, TrieNode, Vocabulary};

use super::super::tuning::MAX_SMALL_WALK;
use super::delta::SummaryDelta;

/// Whether no node is below another.
fn are_apart(nodes: &NodeSet, trie: &TokenTrie) -> bool {
    let mut end = TrieNode(0);
    nodes.iter().all(|node| node >= std::mem::replace(&mut end, trie.subtree_end(node)))
}

/// Finds the delta from the summary of the wider term of `exclusion`, below `nodes`. `None` where it takes long to
/// find, where a token may be below several of the nodes, and unless a finite set of words is excluded from an infinite
/// head, and no text is both a viable prefix of the head and a word of it with a viable prefix of the tail.
///
/// Then the head after any text is infinite, and remains so without the rest of the excluded words: all texts shorter
/// than an excluded word are live as before. After a whole excluded word only the tail could begin.
///
/// # Errors
/// When the automaton exceeds its limit.
pub(crate) fn walk_exclusion(
    automata: &mut Automata,
    vocabulary: &Vocabulary,
    exclusion: &Exclusion,
    nodes: &NodeSet,
) -> Result<Option<SummaryDelta>, LimitExceeded> {
    let trie = vocabulary.trie();
    if nodes.is_dense() || !are_apart(nodes, trie) {
        return Ok(None);
    }
    let terms = automata.terms();
    let Some(parts) = terms.finite_operands(&exclusion.excluded) else { return Ok(None) };
    if !terms.is_infinite_by_form(exclusion.head) {
        return Ok(None);
    }
    let (head, tail) = (automata.start(exclusion.head)?, automata.start(exclusion.tail)?);
    let (Some(head), Some(tail)) = (head, tail) else { return Ok(None) };
    let first_bytes = automata.first_bytes(tail)?;
    let mut delta = SummaryDelta::default();
    // Nodes, with the state of the head and the suffixes of the excluded words after them.
    let mut stack: Vec<(TrieNode, StateId, TermId)> = Vec::new();
    for part in parts {
        stack.extend(nodes.iter().map(|node| (node, head, part)));
        while let Some((node, head, suffixes)) = stack.pop() {
            if delta.work > MAX_SMALL_WALK {
                return Ok(None);
            }
            let is_word = automata.is_accepting(head);
            if is_word && automata.terms().is_nullable(suffixes) {
                if automata.is_accepting(tail) {
                    delta.set_end(node, false);
                }
                for byte in first_bytes.intersection(trie.child_bytes(node)).iter() {
                    if automata.step(head, byte)?.is_some() {
                        return Ok(None);
                    }
                    delta.remove_subtree(trie.child(node, byte).expect("a child over this byte"), trie);
                }
            }
            let Some(bytes) = automata.terms().possible_first_bytes(suffixes) else { return Ok(None) };
            delta.work += 1;
            for byte in bytes.intersection(trie.child_bytes(node)).iter() {
                // No state for the suffixes: the other paths need none.
                let suffixes = automata.terms_mut().derivative(suffixes, byte);
                let Some(child) = trie.child(node, byte) else { continue };
                if suffixes == automata.terms().nothing() {
                    continue;
                }
                delta.work += 1;
                let Some(head) = automata.step(head, byte)? else { continue };
                let is_unambiguous = automata.terms().is_infinite_by_form(automata.term(head))
                    && !(is_word && first_bytes.contains(byte));
                if !is_unambiguous {
                    return Ok(None);
                }
                if trie.has_children(child) {
                    stack.push((child, head, suffixes));
                }
            }
        }
    }
    Ok(Some(delta))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::summary::Wanted;
    use super::super::samples::walked;
    use super::super::walk::WalkRequest;
    use super::*;
    use crate::sketch::{Sketch, sketch};
    use grammask_automata::Terms;
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

    /// Compares deltas with the walk of the whole terminal, for the term and the states after a letter that have an
    /// exclusion.
    fn check(vocabulary: &Vocabulary, sketch: &Sketch, found: &mut usize) {
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
            let delta = walk_exclusion(&mut automata, vocabulary, &exclusion, nodes);
            let Some(delta) = delta.expect("within limits") else { continue };
            *found += 1;
            let wider = automata.start(exclusion.wider).expect("within limits").expect("has more words");
            let [known, expected] = [wider, state].map(|state| {
                let request = WalkRequest { state, nodes, wanted: Wanted::LiveAndEnds };
                walked(&mut automata, vocabulary, request)
            });
            let is_empty = delta.is_empty();
            let patched = delta.apply(&known, Wanted::LiveAndEnds, vocabulary);
            let size = vocabulary.size();
            assert_eq!(
                patched.live.to_set(size),
                expected.live.to_set(size),
                "{}",
                automata.terms().display(term)
            );
            assert_eq!(patched.ends.as_ref(), expected.ends.as_deref(), "{}", automata.terms().display(term));
            if is_empty {
                assert_eq!(known.live.to_set(size), expected.live.to_set(size));
                assert_eq!(known.ends, expected.ends);
            }
        }
    }

    fn without(all: Sketch, excluded: Vec<Sketch>, tail: Sketch) -> Sketch {
        Sketch::Concatenation(vec![Sketch::Without(Box::new(all), excluded), tail])
    }

    fn words(words: &[&str]) -> Sketch {
        Sketch::Words(words.iter().map(|&word| word.to_owned()).collect())
    }

    /// Any language without any others, then any tail, below several node sets.
    #[test]
    fn equals_the_walk_without_a_delta() {
        let vocabulary = vocabulary();
        let found = std::cell::Cell::new(0);
        let config = ProptestConfig { failure_persistence: None, cases: 3000, ..ProptestConfig::default() };
        let excluded = prop::collection::vec(sketch(), 1..3);
        let result = proptest::test_runner::TestRunner::new(config).run(
            &(sketch(), excluded, sketch()),
            |(all, excluded, tail)| {
                let mut count = found.get();
                check(&vocabulary, &without(all, excluded, tail), &mut count);
                found.set(count);
                Ok(())
            },
        );
        result.expect("the same");
        let words = found.get();
        assert!(words > 500, "{words} deltas");
    }

    /// In another reading of the same text the tail has begun, and it includes the rest of the head.
    #[test]
    fn the_tail_may_have_begun() {
        let excluded = Sketch::Repetition(Box::new(words(&["caa"])), 0, None);
        let mut found = 0;
        check(&vocabulary(), &without(words(&["ca", ""]), vec![excluded], Sketch::Anything), &mut found);
        assert_eq!(found, 0, "the delta is ambiguous");
    }

    /// The usual case, and ambiguous ones: the tail may begin as the head continues, or be empty; all words are
    /// excluded, or few are not; a word of one excluded set is a prefix of one of another.
    #[test]
    fn equals_the_walk_of_names() {
        let vocabulary = vocabulary();
        let mut found = 0;
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

        assert!(found > 200, "{found} deltas");
    }
}
