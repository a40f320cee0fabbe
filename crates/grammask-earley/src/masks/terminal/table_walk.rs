//! The summary of one of many words, by going along the table of the words and the token trie side by side.
//!
//! A large set of words is a table without dead states (see [`Table`](grammask_automata::Table)). Where both the table and the
//! trie go on, tokens are live; nothing else is looked at, and no state of the automaton is made. So the cost is that of the
//! places where they agree, not of the words that are left.

use grammask_automata::{Automata, ByteSet, StateId, Table, TableState};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{
    BitOrder, ChildrenByByte, LiveTokens, NodeSet, TokenId, TokenTrie, TrieNode, Vocabulary,
};

use super::walk::{Listed, Walked, children, nodes_ahead};

/// Nodes that go on after which an ordinary walk is the better way: the table is no set of words, or is one of nearly everything.
const MOST_NODES: usize = 1 << 14;

/// Nodes below places where the table ends and something else goes on, after which the same holds.
const MOST_AHEAD: usize = 1 << 13;

/// More room than this is given back after a walk.
const MOST_KEPT: usize = 1 << 11;

/// What a walk writes down, kept from one to the next: most walks are short, and there are many.
#[derive(Debug, Default)]
pub(in crate::masks) struct Notes {
    /// The nodes that words lead to, with the states after them; what lies behind the last one is room.
    entered: Vec<(TrieNode, TableState)>,
    /// The tokens of these nodes.
    tokens: Vec<TokenId>,
    /// Nodes at which a word of the table ends and a token goes on.
    ended: Vec<u32>,
    order: BitOrder,
}

/// Walks the words that continue `state` below `nodes`, if these begin with those of a table. None where that is no help.
///
/// # Errors
/// When the automaton passes its limit.
pub(in crate::masks) fn walk_table(
    automata: &mut Automata,
    vocabulary: &Vocabulary,
    state: StateId,
    nodes: &NodeSet,
    notes: &mut Notes,
) -> Result<Option<Walked>, LimitExceeded> {
    let terms = automata.terms();
    let Some((table, start, tail)) = terms.leading_table(automata.term(state)) else { return Ok(None) };
    if nodes.is_dense() {
        return Ok(None);
    }
    let has_tail = tail != terms.epsilon();
    let trie = vocabulary.trie();
    let most_ahead = if has_tail { MOST_AHEAD } else { usize::MAX };
    notes.clear();
    let mut walk = Walk { table, trie, notes, count: 0, ahead: 0, most_ahead };
    if !walk.below(nodes, start) {
        return Ok(None);
    }
    let work = nodes.len() + walk.count;
    if !has_tail {
        let live = LiveTokens::ordered_by(&mut notes.order, &mut notes.tokens, vocabulary.size());
        let ends = NodeSet::new(notes.ended.clone(), trie);
        return Ok(Some(Walked { live, ends: Some(ends), work }));
    }
    let start_is_word = table.is_accepting(start);
    let Some(tail) = automata.start(tail)? else { return Ok(None) };
    let mut entries: Vec<_> = notes.ended.iter().map(|&node| (TrieNode(node), tail)).collect();
    let mut found = Listed::new(notes.tokens.clone(), work);
    if start_is_word {
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

impl Notes {
    /// Bytes of memory.
    pub(in crate::masks) fn memory_bytes(&self) -> usize {
        let Self { entered, tokens, ended, order } = self;
        entered.capacity() * size_of::<(TrieNode, TableState)>()
            + tokens.capacity() * size_of::<TokenId>()
            + ended.capacity() * size_of::<u32>()
            + order.memory_bytes()
    }

    fn clear(&mut self) {
        if self.entered.len() > MOST_KEPT {
            *self = Self::default();
        }
        self.tokens.clear();
        self.ended.clear();
    }
}

/// A node has no more children.
const MOST_CHILDREN: usize = 256;

struct Walk<'a> {
    table: &'a Table,
    trie: &'a TokenTrie,
    notes: &'a mut Notes,
    /// How many nodes were entered. They are far from each other in memory, and none of them has to wait for what another one leads to.
    count: usize,
    /// Nodes below those where a word ends, and how many there may be.
    ahead: usize,
    most_ahead: usize,
}

impl Walk<'_> {
    /// Goes on from `start` below each of `nodes`; returns whether that was not too much.
    fn below(&mut self, nodes: &NodeSet, start: TableState) -> bool {
        for node in nodes.iter() {
            self.enter(self.trie.children_by_byte(node), start);
        }
        let mut next = 0;
        while next < self.count {
            let (node, state) = self.notes.entered[next];
            next += 1;
            // Mostly one, so this is cheaper than to copy a slice.
            self.trie.tokens(node).iter().for_each(|&token| self.notes.tokens.push(token));
            let children = self.trie.children_by_byte(node);
            if children.is_empty() {
                continue;
            }
            if self.table.is_accepting(state) {
                self.notes.ended.push(node.0);
                self.ahead += self.trie.subtree_end(node).index() - node.index();
            }
            self.enter(children, state);
            if self.count > MOST_NODES || self.ahead > self.most_ahead {
                return false;
            }
        }
        true
    }

    #[inline]
    fn enter(&mut self, children: ChildrenByByte<'_>, state: TableState) {
        if self.notes.entered.len() < self.count + MOST_CHILDREN {
            self.make_room();
        }
        let room = &mut self.notes.entered[self.count..];
        let mut added = 0;
        let mut add = |child: TrieNode, target: TableState| {
            room[added] = (child, target);
            added += 1;
        };
        match children.only() {
            Some((byte, child)) => {
                if let Some(target) = self.table.next(state, byte) {
                    add(child, target);
                }
            }
            None => {
                for (low, high, target) in self.table.edges(state) {
                    if low == high {
                        if let Some(child) = children.get(low) {
                            add(child, target);
                        }
                        continue;
                    }
                    let bytes = ByteSet::range(low, high).within(children.bytes());
                    bytes.iter().filter_map(|byte| children.get(byte)).for_each(|child| add(child, target));
                }
            }
        }
        self.count += added;
    }

    #[cold]
    fn make_room(&mut self) {
        let nowhere = (TrieNode::ROOT, TableState::default());
        self.notes.entered.resize(2 * (self.count + MOST_CHILDREN), nowhere);
    }
}

#[cfg(test)]
mod tests {
    use super::super::walk::{Wanted, walk_terminal};
    use super::*;
    use grammask_automata::regex;
    use grammask_diagnostics::Limits;
    use grammask_vocabulary::{TokenTexts, Vocabulary};

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
        let (mut found, mut notes) = (0, Notes::default());
        for rest in ["", ",", "(,a|b)?", "[a-c]*"] {
            let mut terms = grammask_automata::Terms::new();
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
                let walked =
                    walk_table(&mut automata, &vocabulary, state, nodes, &mut notes).expect("within limits");
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
