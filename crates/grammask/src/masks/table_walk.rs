//! The summary of one of many words, by going along the table of the words and the token trie side by side.
//!
//! A large set of words is a table without dead states (see [`Table`](crate::automata::Table)). Where both the table and the
//! trie go on, tokens are live; nothing else is looked at, and no state of the automaton is made. So the cost is that of the
//! places where they agree, not of the words that are left.

use crate::LimitExceeded;
use crate::automata::{Automata, StateId, Table, TableState};
use crate::vocabulary::{LiveTokens, NodeSet, TokenId, TokenTrie, TrieNode, Vocabulary};

use super::terminal_walk::{Listed, Walked, children, nodes_ahead};

/// Nodes looked at after which an ordinary walk is the better way: the table is no set of words, or is one of nearly everything.
const MOST_NODES: usize = 1 << 14;

/// Nodes below places where the table ends and something else goes on, after which the same holds.
const MOST_AHEAD: usize = 1 << 13;

/// Up to so many ranges of bytes, children are looked for byte by byte.
const FEW_EDGES: usize = 4;

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
    let mut walk =
        Walk { table: &table, trie, tokens: Vec::new(), ended: Vec::new(), ahead: 0, most_ahead, work: 0 };
    if !walk.below(nodes, start) {
        return Ok(None);
    }
    let Walk { tokens, ended, work, .. } = walk;
    if !has_tail {
        let live = LiveTokens::new(tokens, vocabulary.size());
        return Ok(Some(Walked { live, ends: NodeSet::new(ended, trie), work }));
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

struct Walk<'a> {
    table: &'a Table,
    trie: &'a TokenTrie,
    tokens: Vec<TokenId>,
    /// Nodes at which a word of the table ends and a token goes on.
    ended: Vec<u32>,
    /// Nodes below these, and how many there may be.
    ahead: usize,
    most_ahead: usize,
    work: usize,
}

impl Walk<'_> {
    /// Goes on from `start` below each of `nodes`; returns whether that was not too much.
    fn below(&mut self, nodes: &NodeSet, start: TableState) -> bool {
        let mut stack = Vec::new();
        for node in nodes.iter() {
            stack.push((node, start));
            while let Some((node, state)) = stack.pop() {
                self.work += 1;
                if self.work > MOST_NODES || self.ahead > self.most_ahead {
                    return false;
                }
                if self.table.edges(state).nth(FEW_EDGES).is_none() {
                    self.by_edges(node, state, &mut stack);
                } else {
                    self.by_children(node, state, &mut stack);
                }
            }
        }
        true
    }

    fn by_edges(&mut self, node: TrieNode, state: TableState, stack: &mut Vec<(TrieNode, TableState)>) {
        let child_bytes = self.trie.child_bytes(node);
        for (low, high, target) in self.table.edges(state) {
            for byte in low..=high {
                if child_bytes[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
                    && let Some(child) = self.trie.child(node, byte)
                {
                    self.enter(child, target, stack);
                }
            }
        }
    }

    fn by_children(&mut self, node: TrieNode, state: TableState, stack: &mut Vec<(TrieNode, TableState)>) {
        let mut edges = self.table.edges(state).peekable();
        for child in self.trie.children(node) {
            self.work += 1;
            let byte = self.trie.byte(child);
            while edges.next_if(|&(_, high, _)| high < byte).is_some() {}
            match edges.peek() {
                Some(&(low, _, target)) if low <= byte => self.enter(child, target, stack),
                Some(_) => {}
                None => return,
            }
        }
    }

    fn enter(&mut self, child: TrieNode, state: TableState, stack: &mut Vec<(TrieNode, TableState)>) {
        self.tokens.extend_from_slice(self.trie.tokens(child));
        if self.trie.has_children(child) {
            if self.table.is_accepting(state) {
                self.ended.push(child.0);
                self.ahead += self.trie.subtree_end(child).index() - child.index();
            }
            stack.push((child, state));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::frontends::regex;
    use crate::masks::terminal_walk::walk_terminal;
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
                let expected = walk_terminal(&mut automata, &vocabulary, state, first_bytes, nodes, &[]);
                let expected = expected.expect("within limits");
                assert_eq!(walked.live.to_set(vocabulary.size()), expected.live.to_set(vocabulary.size()));
                assert_eq!(walked.ends, expected.ends);
            }
        }
        assert!(found > 30, "{found} of the states are those of tables");
    }
}
