//! The summary of one of many words, by going along the table of the words and the token trie side by side.
//!
//! A large set of words is a table without dead states (see [`Table`](crate::automata::Table)). Where both the table and the
//! trie go on, tokens are live; nothing else is looked at, and no state of the automaton is made. So the cost is that of the
//! places where they agree, not of the words that are left.

use crate::LimitExceeded;
use crate::automata::{Automata, ByteSet, StateId, Table, TableState};
use crate::vocabulary::{LiveTokens, NodeSet, TokenTrie, TrieNode, Vocabulary};

use super::terminal_walk::{Listed, Walked, children, nodes_ahead};

/// Nodes that go on after which an ordinary walk is the better way: the table is no set of words, or is one of nearly everything.
const MOST_NODES: usize = 1 << 14;

/// Nodes below places where the table ends and something else goes on, after which the same holds.
const MOST_AHEAD: usize = 1 << 13;

/// Walks the words that continue `state` below `nodes`, if these begin with those of a table. None where that is no help.
///
/// # Errors
/// When the automaton passes its limit.
pub(super) fn walk_table(
    automata: &mut Automata,
    vocabulary: &Vocabulary,
    state: StateId,
    nodes: &NodeSet,
) -> Result<Option<Walked>, LimitExceeded> {
    let terms = automata.terms();
    let Some((table, start, tail)) = terms.leading_table(automata.term(state)) else { return Ok(None) };
    if nodes.is_dense() {
        return Ok(None);
    }
    let (table, has_tail) = (table.clone(), tail != terms.epsilon());
    let trie = vocabulary.trie();
    let most_ahead = if has_tail { MOST_AHEAD } else { usize::MAX };
    let entered = Vec::with_capacity(USUAL);
    let mut walk = Walk { table: &table, trie, entered, ended: Vec::new(), ahead: 0, most_ahead };
    if !walk.below(nodes, start) {
        return Ok(None);
    }
    let Walk { entered, ended, .. } = walk;
    let work = nodes.len() + entered.len();
    let mut tokens = Vec::with_capacity(entered.len());
    for &(node, _) in &entered {
        tokens.extend_from_slice(trie.tokens(node));
    }
    if !has_tail {
        let live = LiveTokens::new(tokens, vocabulary.size());
        return Ok(Some(Walked { live, ends: Some(NodeSet::new(ended, trie)), work }));
    }
    let Some(tail) = automata.start(tail)? else { return Ok(None) };
    let mut entries: Vec<_> = ended.into_iter().map(|node| (TrieNode(node), tail)).collect();
    let mut found = Listed::new(tokens, work);
    if table.is_accepting(start) {
        let first_bytes = automata.first_bytes(tail)?;
        for node in nodes.iter() {
            found.work += children(automata, trie, node, tail, first_bytes, &mut entries)?;
        }
    }
    if nodes_ahead(trie, &entries) > MOST_AHEAD {
        return Ok(None);
    }
    found.walk(automata, trie, &entries)?;
    Ok(Some(found.finish(vocabulary)))
}

/// Room for so many nodes is made at once; most walks enter fewer.
const USUAL: usize = 64;

struct Walk<'a> {
    table: &'a Table,
    trie: &'a TokenTrie,
    /// The nodes that words lead to, with the states after them. They are far from each other in memory, so each step is done
    /// for all of them before the next one is, as none has to wait for another.
    entered: Vec<(TrieNode, TableState)>,
    /// Nodes at which a word of the table ends and a token goes on.
    ended: Vec<u32>,
    /// Nodes below these, and how many there may be.
    ahead: usize,
    most_ahead: usize,
}

impl Walk<'_> {
    /// Goes on from `start` below each of `nodes`; returns whether that was not too much.
    fn below(&mut self, nodes: &NodeSet, start: TableState) -> bool {
        for node in nodes.iter() {
            self.enter_children(node, start);
        }
        let mut next = 0;
        while let Some(&(node, state)) = self.entered.get(next) {
            next += 1;
            if self.entered.len() > MOST_NODES || self.ahead > self.most_ahead {
                return false;
            }
            if self.trie.has_children(node) {
                if self.table.is_accepting(state) {
                    self.ended.push(node.0);
                    self.ahead += self.trie.subtree_end(node).index() - node.index();
                }
                self.enter_children(node, state);
            }
        }
        true
    }

    fn enter_children(&mut self, node: TrieNode, state: TableState) {
        for (low, high, target) in self.table.edges(state) {
            if low == high {
                self.entered.extend(self.trie.child(node, low).map(|child| (child, target)));
                continue;
            }
            let bytes = ByteSet::range(low, high).within(self.trie.child_bytes(node));
            let children = bytes.iter().filter_map(|byte| self.trie.child(node, byte));
            self.entered.extend(children.map(|child| (child, target)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::frontends::regex;
    use crate::masks::terminal_walk::{Wanted, walk_terminal};
    use crate::vocabulary::{TokenTexts, Vocabulary};

    /// The same summary as the walk of the automaton, from each node, and from several.
    #[test]
    fn equals_the_walk_of_the_automaton() {
        let pieces = ["a", "b", "é", "ab", "x,", ",", "cab", "abab", "bé", "éa", "😀"];
        let texts: TokenTexts = (0..pieces.len() * pieces.len() * pieces.len())
            .map(|number| Some([1, 11, 121].map(|unit| pieces[number / unit % pieces.len()]).concat()))
            .chain(pieces.iter().map(|piece| Some((*piece).to_owned())))
            .collect();
        let vocabulary = Vocabulary::new(texts, vec![], vec![], None).expect("a vocabulary");
        let trie = vocabulary.trie();
        let words = ["ab", "abab", "ba", "éab", "é", "cabab", "bé,x", "a,b", "ab,ab", "b😀"];
        let mut found = 0;
        for rest in ["", ",", "(,a|b)?", "[a-c]*"] {
            let mut terms = crate::automata::Terms::new();
            let table = terms.literals(&words);
            let rest = regex::term(&mut terms, rest, &Limits::default()).expect("a pattern");
            let term = terms.concat(&[table, rest]);
            let mut automata = Automata::new(terms, 10_000);
            let start = automata.start(term).expect("within limits").expect("not empty");
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
            let all: Vec<u32> = (0..trie.len() as u32).filter(|node| node % 3 == 1).collect();
            let nodes = [vec![0], vec![1], all].map(|nodes| NodeSet::new(nodes, trie));
            for (state, nodes) in
                states.iter().flat_map(|state| nodes.iter().map(move |nodes| (*state, nodes)))
            {
                let walked = walk_table(&mut automata, &vocabulary, state, nodes).expect("within limits");
                let Some(walked) = walked else { continue };
                found += 1;
                let first_bytes = automata.first_bytes(state).expect("within limits");
                let wanted = (&[][..], Wanted::LiveAndEnds);
                let expected = walk_terminal(&mut automata, &vocabulary, state, first_bytes, nodes, wanted);
                let expected = expected.expect("within limits");
                assert_eq!(walked.live.to_set(vocabulary.size()), expected.live.to_set(vocabulary.size()));
                assert_eq!(walked.ends, expected.ends);
            }
        }
        assert!(found > 30, "{found} of the states are those of tables");
    }
}
