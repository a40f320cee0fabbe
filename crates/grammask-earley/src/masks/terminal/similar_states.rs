//! The summary of a state that is much like a known one, by going where the trie holds what tells them apart.
//!
//! States of one pattern mostly go on with the same tokens: behind a dot in the name of a host there is no second dot, and
//! behind its second label there can be a slash, but letters go on everywhere. So both states walk side by side, and only into
//! subtrees with a byte that tells apart the states that are reached there, or some states that these lead to. All other
//! tokens are live in both states or in neither.

use rustc_hash::FxHashMap;

use grammask_automata::{Automata, ByteSet, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{ByteGroups, LiveTokens, TokenId, TrieNode, Vocabulary, ones};

use super::exclusion::mended;
use super::walk::{Dense, Known, Walked, Wanted};

/// Pairs of states that are looked at for what tells two states apart.
const MOST_PAIRS: usize = 32;

/// States that may be made for that; and where the known state is none of the first few, which are the most likely.
const MOST_NEW_STATES: usize = 16;
const FEW_NEW_STATES: usize = 2;
const MOST_LIKELY: usize = 2;

/// Bytes that may tell two states apart; if so few do, no other known state is looked at.
const MOST_BYTES: usize = 48;
const FEW_BYTES: usize = 6;

/// Trie nodes to look at, and tokens to take out, after which an ordinary walk is the better way.
const MOST_WORK: usize = 1 << 14;

/// Trie nodes ahead below bytes that tell two states apart, up to which the states walk side by side even if what tells apart the
/// states behind them is much or unknown, as it is for two classes of letters: they may meet again soon. And the part of these
/// nodes after which they do not.
const MOST_BLIND: usize = 1 << 15;
const BLIND_PART: usize = 4;

/// Tokens that differ from which on a set of its own is made at once.
const MANY_TOKENS: usize = 256;

/// Walks the words that continue `state` below the root, where it is known what is there for some other states, the most similar
/// one first: `unknown_ahead` nodes are below bytes with which that one goes on otherwise. None where none is similar enough.
///
/// # Errors
/// When the automaton passes its limit.
pub(in crate::masks) fn walk_similar<'k>(
    automata: &mut Automata,
    vocabulary: &Vocabulary,
    state: StateId,
    known: impl IntoIterator<Item = &'k Known>,
    (wanted, unknown_ahead): (Wanted, usize),
) -> Result<Option<Walked>, LimitExceeded> {
    let mut best: Option<(usize, &Known, Pairs)> = None;
    let mut known = known.into_iter().peekable();
    let first = known.peek().copied();
    for (number, candidate) in known.enumerate() {
        let new_states = if number < MOST_LIKELY { MOST_NEW_STATES } else { FEW_NEW_STATES };
        if number >= MOST_LIKELY && best.is_some() {
            break;
        }
        let Some(pairs) = Pairs::of(automata, state, candidate.state, (wanted, new_states))? else {
            continue;
        };
        let bytes = pairs.list[0].differing.len();
        if bytes <= MOST_BYTES && best.as_ref().is_none_or(|&(least, ..)| bytes < least) {
            best = Some((bytes, candidate, pairs));
        }
        if bytes <= FEW_BYTES {
            break;
        }
    }
    let (known, pairs, most_work) = match (best, first) {
        (Some((_, known, pairs)), _) => (known, pairs, MOST_WORK),
        (None, Some(first)) if unknown_ahead <= MOST_BLIND => {
            (first, Pairs::default(), unknown_ahead / BLIND_PART)
        }
        _ => return Ok(None),
    };
    let mut walk = Walk {
        most_work,
        vocabulary,
        pairs,
        refused: Vec::new(),
        added: Dense::new(vocabulary.trie(), wanted),
        gone: Vec::new(),
        ended: Vec::new(),
        wanted,
        work: 0,
    };
    if !walk.below_root(automata, state, known.state)? {
        return Ok(None);
    }
    Ok(Some(walk.finish(known)))
}

/// What tells two states apart, and pairs of states that they lead to. Any byte may tell apart states that are not among them.
#[derive(Default)]
struct Pairs {
    numbers: FxHashMap<(StateId, StateId), usize>,
    list: Vec<Pair>,
    /// What tells any of them apart.
    all_differing: ByteSet,
}

struct Pair {
    left: StateId,
    right: StateId,
    /// Bytes of which one leads somewhere from only one of both states, or from one of both states that a common text leads
    /// to. Where ends of words count, also those that end a word only once.
    differing: ByteSet,
    groups: ByteGroups,
    /// The pairs of different states that one byte leads to.
    next: Vec<usize>,
}

impl Pairs {
    /// Finds all pairs of different states that both states lead to; none if these are many.
    fn of(
        automata: &mut Automata,
        left: StateId,
        right: StateId,
        (wanted, new_states): (Wanted, usize),
    ) -> Result<Option<Self>, LimitExceeded> {
        let most_states = automata.len() + new_states;
        let mut pairs = Self::default();
        pairs.number(left, right);
        let mut current = 0;
        while let Some(&Pair { left, right, .. }) = pairs.list.get(current) {
            for step in automata.joint_steps(left, right)? {
                let (Some(left), Some(right)) = (step.left, step.right) else {
                    pairs.differ(current, step.bytes);
                    continue;
                };
                if left == right {
                    continue;
                }
                if wanted == Wanted::LiveAndEnds
                    && automata.is_accepting(left) != automata.is_accepting(right)
                {
                    pairs.differ(current, step.bytes);
                }
                let next = pairs.number(left, right);
                if !pairs.list[current].next.contains(&next) {
                    pairs.list[current].next.push(next);
                }
            }
            // What tells any pair apart tells apart the first.
            let too_many = pairs.list.len() > MOST_PAIRS || pairs.all_differing.len() > MOST_BYTES;
            if too_many || automata.len() > most_states {
                return Ok(None);
            }
            current += 1;
        }
        pairs.collect();
        Ok(Some(pairs))
    }

    fn number(&mut self, left: StateId, right: StateId) -> usize {
        let next = self.list.len();
        let number = *self.numbers.entry((left, right)).or_insert(next);
        if number == next {
            let groups = ByteGroups::default();
            self.list.push(Pair { left, right, differing: ByteSet::EMPTY, groups, next: Vec::new() });
        }
        number
    }

    fn differ(&mut self, pair: usize, bytes: ByteSet) {
        self.list[pair].differing = self.list[pair].differing.union(bytes);
        self.all_differing = self.all_differing.union(bytes);
    }

    /// Adds to each pair what tells apart the pairs that it leads to.
    fn collect(&mut self) {
        loop {
            let mut is_done = true;
            for pair in (0..self.list.len()).rev() {
                let before = self.list[pair].differing;
                let of_next = self.list[pair].next.iter().map(|&next| self.list[next].differing);
                let all = of_next.fold(before, ByteSet::union);
                is_done &= all == before;
                self.list[pair].differing = all;
            }
            if is_done {
                break;
            }
        }
        for pair in &mut self.list {
            let groups = pair.differing.iter().map(ByteGroups::of);
            pair.groups = groups.fold(ByteGroups::default(), ByteGroups::union);
        }
    }

    /// The groups of bytes that may tell a pair apart.
    fn groups(&self, left: StateId, right: StateId) -> ByteGroups {
        self.numbers.get(&(left, right)).map_or(ByteGroups::within(|_| true), |&pair| self.list[pair].groups)
    }
}

struct Walk<'a> {
    vocabulary: &'a Vocabulary,
    pairs: Pairs,
    /// Tokens that are live in the known state only.
    refused: Vec<TokenId>,
    /// What is live in the new state only.
    added: Dense,
    /// Nodes at which the ends of the known state do not count, as ranges, and those at which the new state ends a word.
    gone: Vec<std::ops::Range<u32>>,
    ended: Vec<u32>,
    wanted: Wanted,
    work: usize,
    most_work: usize,
}

impl Walk<'_> {
    /// Goes below the root; returns whether that was little work.
    fn below_root(
        &mut self,
        automata: &mut Automata,
        own: StateId,
        known: StateId,
    ) -> Result<bool, LimitExceeded> {
        let trie = self.vocabulary.trie();
        let columns = trie.columns();
        let mut stack = vec![(TrieNode::ROOT, own, known)];
        while let Some((node, own, known)) = stack.pop() {
            let differing = self.pairs.groups(own, known);
            if !columns.groups_below[node.index()].intersects(differing) {
                continue;
            }
            for child in trie.children(node) {
                self.work += 1;
                let byte = trie.byte(child);
                match (automata.step(own, byte)?, automata.step(known, byte)?) {
                    (own, known) if own == known => {}
                    (None, _) => {
                        let tokens = trie.subtree_tokens(child);
                        self.work += tokens.len();
                        self.refused.extend_from_slice(tokens);
                        self.gone.push(child.0..trie.subtree_end(child).0);
                    }
                    (Some(own), None) => self.work += self.added.walk(automata, trie, child, own)?,
                    (Some(own), Some(known)) => {
                        if self.wanted == Wanted::LiveAndEnds
                            && automata.is_accepting(own) != automata.is_accepting(known)
                        {
                            self.gone.push(child.0..child.0 + 1);
                            self.ended.extend(automata.is_accepting(own).then_some(child.0));
                        }
                        if columns.groups_below[child.index()].intersects(differing) {
                            stack.push((child, own, known));
                        }
                    }
                }
                if self.work > self.most_work {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn finish(self, known: &Known) -> Walked {
        let (trie, size) = (self.vocabulary.trie(), self.vocabulary.size());
        let Dense { tokens: added, ends: added_ends, .. } = self.added;
        let live = if self.refused.len() + added.token_count() > MANY_TOKENS {
            let mut set = known.summary.live.to_set(size);
            for token in self.refused {
                set.remove(token);
            }
            added.add_to(&mut set, trie);
            LiveTokens::from_set(set)
        } else {
            let added = added.finish(self.vocabulary);
            let kept = known.summary.live.but(self.refused, size);
            LiveTokens::union(&[kept, added], size, self.vocabulary.summaries())
        };
        let ends = match (&known.summary.ends, self.wanted) {
            (Some(ends), Wanted::LiveAndEnds) => {
                let mut ended = self.ended;
                ended.extend(ones(&added_ends));
                Some(mended(ends, self.gone, ended, trie))
            }
            _ => None,
        };
        Walked { live, ends, work: self.work }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::walk::walk_terminal;
    use super::*;
    use grammask_automata::regex;
    use grammask_diagnostics::Limits;
    use grammask_vocabulary::{NodeSet, TerminalSummary, TokenTexts};

    fn vocabulary() -> Vocabulary {
        let pieces = ["a", "b", ".", "-", "/", "é", "ab", "a.", ":1", "/b", "你", "0", "\u{301}", "²"];
        let count = pieces.len();
        let texts: TokenTexts = (0..count * count * count)
            .map(|number| Some([1, count, count * count].map(|unit| pieces[number / unit % count]).concat()))
            .chain(pieces.iter().map(|piece| Some((*piece).to_owned())))
            .collect();
        Vocabulary::new(texts, vec![], vec![], None).expect("a vocabulary")
    }

    /// All states that a pattern leads to.
    fn states(automata: &mut Automata, start: StateId) -> Vec<StateId> {
        let mut states = vec![start];
        let mut next = 0;
        while let Some(&state) = states.get(next) {
            next += 1;
            for (_, target) in automata.successors(state).expect("within limits") {
                if !states.contains(&target) {
                    states.push(target);
                }
            }
        }
        states
    }

    /// What is found from any state with any other known is what a walk finds without.
    #[test]
    fn equals_the_walk_without_known_states() {
        let vocabulary = vocabulary();
        let trie = vocabulary.trie();
        let root = NodeSet::new(vec![0], trie);
        let (mut found, mut blind) = ([0, 0], 0);
        for pattern in [
            r"([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}(:[0-9]+)?(/[a-z0-9.-]*)*",
            r"[a-b-]+(\.[a-b]+)*/([ab]\.)+",
            r"(a|b)*a(a|b|é){3}",
            r"([^é]|é[^a])*你?",
            r"(ab|a\.|[^/]-)*",
            r"(?s-u:.)*",
            r"[ab]{1,5}[.-]?[^:]*",
            r"[\p{L}/][\p{L}\p{M}\p{N}/]*",
            r"([\p{L}\p{M}]|\.[\p{L}-])[\p{L}\p{N}]*",
        ] {
            let mut terms = grammask_automata::Terms::new();
            let term = regex::term(&mut terms, pattern, &Limits::default()).expect("a pattern");
            let mut automata = Automata::new(terms, 10_000);
            let start = automata.start(term).expect("within limits").expect("not empty");
            let states = states(&mut automata, start);
            let all: Vec<Known> = states
                .iter()
                .map(|&state| {
                    let first_bytes = automata.first_bytes(state).expect("within limits");
                    let nothing = (&[][..], Wanted::LiveAndEnds);
                    let walked =
                        walk_terminal(&mut automata, &vocabulary, state, first_bytes, &root, nothing)
                            .expect("within limits");
                    let ends = walked.ends.map(|ends| vocabulary.summaries().intern(ends));
                    Known { state, summary: Arc::new(TerminalSummary { live: walked.live, ends }) }
                })
                .collect();
            for (own, other) in all.iter().flat_map(|own| all.iter().map(move |other| (own, other))) {
                for (which, wanted) in [Wanted::Live, Wanted::LiveAndEnds].into_iter().enumerate() {
                    let known = [other];
                    let ahead = (wanted, trie.len());
                    let walked = walk_similar(&mut automata, &vocabulary, own.state, known, ahead);
                    let Some(walked) = walked.expect("within limits") else { continue };
                    found[which] += 1;
                    let pairs = Pairs::of(&mut automata, own.state, other.state, (wanted, MOST_NEW_STATES));
                    blind += usize::from(pairs.expect("within limits").is_none());
                    let size = vocabulary.size();
                    assert_eq!(walked.live.to_set(size), own.summary.live.to_set(size), "{pattern}");
                    match wanted {
                        Wanted::Live => assert_eq!(walked.ends, None),
                        Wanted::LiveAndEnds => {
                            assert_eq!(walked.ends.as_ref(), own.summary.ends.as_deref(), "{pattern}");
                        }
                    }
                }
            }
        }
        assert!(found[0] > 300 && found[1] > 300, "{found:?} pairs of states are similar");
        assert!(blind > 30, "{blind} pairs of states are similar though much tells them apart");
    }

    /// States that go on alike are told apart by nothing, unless ends of words count.
    #[test]
    fn alike_but_for_ends() {
        let mut terms = grammask_automata::Terms::new();
        let term = regex::term(&mut terms, "[a-z]{2,}", &Limits::default()).expect("a pattern");
        let mut automata = Automata::new(terms, 100);
        let start = automata.start(term).expect("within limits").expect("not empty");
        let next = automata.step(start, b'a').expect("within limits").expect("goes on");
        let mut differing = |wanted| {
            let pairs =
                Pairs::of(&mut automata, start, next, (wanted, MOST_NEW_STATES)).expect("within limits");
            pairs.expect("few pairs").list[0].differing
        };
        assert_eq!(differing(Wanted::Live), ByteSet::EMPTY);
        assert_eq!(differing(Wanted::LiveAndEnds), ByteSet::range(b'a', b'z'));
    }
}
