//! The summary of a set of literals, by walking their table and the token trie in lockstep.
//!
//! A large set of literals is a table without dead states (see [`Table`](grammask_automata::Table)). Tokens are live
//! where both the table and the trie have a transition; no other node is visited, and no state of the automaton is
//! created. So the cost is the number of common paths, not of literals. Formats are tables too; in their states that loop
//! on many bytes most of the trie is a common path, so these are left to an ordinary walk.

use grammask_automata::{Automata, ByteSet, StateId, Table, TableState};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{
    BitOrder, ChildrenByByte, LiveTokens, NodeSet, TokenId, TokenTrie, TrieNode, Vocabulary,
};

use super::super::tuning::{MAX_NARROW_BYTES, MAX_SCRATCH, MAX_SMALL_WALK};
use super::walk::{WalkResult, enter_children, nodes_ahead, walk_sparse};

/// Buffers of a walk, reused by the next: most walks are short, and there are many.
#[derive(Debug, Default)]
pub(crate) struct TableScratch {
    /// The nodes on paths of literals, with the states after them, and unused entries after the last one.
    entered: Vec<(TrieNode, TableState)>,
    /// The tokens of these nodes.
    tokens: Vec<TokenId>,
    /// Nodes at which a literal ends and a token continues.
    ended: Vec<u32>,
    order: BitOrder,
}

/// Walks the words that continue `state` below `nodes`, if they begin with those of a table. `None` where an ordinary
/// walk is faster: if most nodes are visited anyway.
///
/// # Errors
/// When the automaton exceeds its limit.
pub(crate) fn walk_table(
    automata: &mut Automata,
    vocabulary: &Vocabulary,
    state: StateId,
    nodes: &NodeSet,
    scratch: &mut TableScratch,
) -> Result<Option<WalkResult>, LimitExceeded> {
    let terms = automata.terms();
    let Some((table, start, tail)) = terms.leading_table(automata.term(state)) else { return Ok(None) };
    if nodes.is_dense() || loops(table, start) {
        return Ok(None);
    }
    let has_tail = tail != terms.epsilon();
    let trie = vocabulary.trie();
    let max_ahead = if has_tail { MAX_SMALL_WALK } else { usize::MAX };
    scratch.clear();
    let mut walk = TableWalk { table, trie, scratch, count: 0, ahead: 0, max_ahead };
    if !walk.run(nodes, start) {
        return Ok(None);
    }
    let mut work = nodes.len() + walk.count;
    if !has_tail {
        let live = LiveTokens::ordered_by(&mut scratch.order, &mut scratch.tokens, vocabulary.size());
        let ends = NodeSet::new(scratch.ended.clone(), trie);
        return Ok(Some(WalkResult { live, ends: Some(ends), work }));
    }
    let start_is_word = table.is_accepting(start);
    let Some(tail) = automata.start(tail)? else { return Ok(None) };
    let mut entries: Vec<_> = scratch.ended.iter().map(|&node| (TrieNode(node), tail)).collect();
    if start_is_word {
        let first_bytes = automata.first_bytes(tail)?;
        for node in nodes.iter() {
            work += enter_children(automata, trie, node, tail, first_bytes, &mut entries)?;
        }
    }
    if nodes_ahead(trie, &entries) > MAX_SMALL_WALK {
        return Ok(None);
    }
    walk_sparse(automata, vocabulary, &entries, scratch.tokens.clone(), work).map(Some)
}

/// Whether many bytes lead from a state to itself: the words are no literals, but free text.
fn loops(table: &Table, state: TableState) -> bool {
    let looping = table.edges(state).filter(|&(_, _, target)| target == state);
    looping.map(|(low, high, _)| usize::from(high - low) + 1).sum::<usize>() > MAX_NARROW_BYTES
}

impl TableScratch {
    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        let Self { entered, tokens, ended, order } = self;
        entered.capacity() * size_of::<(TrieNode, TableState)>()
            + tokens.capacity() * size_of::<TokenId>()
            + ended.capacity() * size_of::<u32>()
            + order.memory_bytes()
    }

    fn clear(&mut self) {
        if self.entered.len() > MAX_SCRATCH {
            *self = Self::default();
        }
        self.tokens.clear();
        self.ended.clear();
    }
}

/// Maximum number of children of a node: one per byte.
const MAX_CHILDREN: usize = 256;

struct TableWalk<'a> {
    table: &'a Table,
    trie: &'a TokenTrie,
    scratch: &'a mut TableScratch,
    /// Number of entered nodes. They are visited breadth first, so that the loads of one do not wait for those of
    /// another.
    count: usize,
    /// Number of nodes below those where a literal ends, and its limit.
    ahead: usize,
    max_ahead: usize,
}

impl TableWalk<'_> {
    /// Walks from `start` below each of `nodes`; returns whether the number of nodes was within its limits.
    fn run(&mut self, nodes: &NodeSet, start: TableState) -> bool {
        for node in nodes.iter() {
            self.enter(self.trie.children_by_byte(node), start);
        }
        let mut next = 0;
        while next < self.count {
            let (node, state) = self.scratch.entered[next];
            next += 1;
            // Most nodes have one token, so this is cheaper than copying a slice.
            self.trie.tokens(node).iter().for_each(|&token| self.scratch.tokens.push(token));
            let children = self.trie.children_by_byte(node);
            if children.is_empty() {
                continue;
            }
            if self.table.is_accepting(state) {
                self.scratch.ended.push(node.0);
                self.ahead += self.trie.subtree_len(node);
            }
            self.enter(children, state);
            if self.count > MAX_SMALL_WALK || self.ahead > self.max_ahead {
                return false;
            }
        }
        true
    }

    #[inline]
    fn enter(&mut self, children: ChildrenByByte<'_>, state: TableState) {
        if self.scratch.entered.len() < self.count + MAX_CHILDREN {
            self.grow();
        }
        let unused = &mut self.scratch.entered[self.count..];
        let mut added = 0;
        let mut add = |child: TrieNode, target: TableState| {
            unused[added] = (child, target);
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
                    let bytes = ByteSet::range(low, high).intersection(children.bytes());
                    bytes.iter().filter_map(|byte| children.get(byte)).for_each(|child| add(child, target));
                }
            }
        }
        self.count += added;
    }

    #[cold]
    fn grow(&mut self) {
        let unused = (TrieNode::ROOT, TableState::default());
        self.scratch.entered.resize(2 * (self.count + MAX_CHILDREN), unused);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::summary::Wanted;
    use super::super::samples::{reachable, vocabulary, walked};
    use super::super::walk::WalkRequest;
    use super::*;
    use grammask_automata::regex;
    use grammask_diagnostics::Limits;

    /// The same summary as the walk of the automaton, from each node, and from several.
    #[test]
    fn equals_the_walk_of_the_automaton() {
        let pieces = ["a", "b", "é", "ab", "x,", ",", "cab", "abab", "bé", "éa", "😀"];
        let vocabulary = vocabulary(&pieces, 3);
        let trie = vocabulary.trie();
        let words = ["ab", "abab", "ba", "éab", "é", "cabab", "bé,x", "a,b", "ab,ab", "b😀"];
        let (mut found, mut scratch) = (0, TableScratch::default());
        for rest in ["", ",", "(,a|b)?", "[a-c]*"] {
            let mut terms = grammask_automata::Terms::new();
            let table = terms.literals(&words);
            let rest = regex::term(&mut terms, rest, &Limits::default()).expect("a pattern");
            let term = terms.concat(&[table, rest]);
            let mut automata = Automata::new(terms, 10_000);
            let start = automata.start(term).expect("within limits").expect("not empty");
            let states = reachable(&mut automata, start, usize::MAX);
            let all: Vec<u32> = (0..trie.len() as u32).filter(|node| node % 3 == 1).collect();
            let nodes = [vec![0], vec![1], all].map(|nodes| NodeSet::new(nodes, trie));
            for (state, nodes) in
                states.iter().flat_map(|state| nodes.iter().map(move |nodes| (*state, nodes)))
            {
                let of_table = walk_table(&mut automata, &vocabulary, state, nodes, &mut scratch)
                    .expect("within limits");
                let Some(of_table) = of_table else { continue };
                found += 1;
                let request = WalkRequest { state, nodes, wanted: Wanted::LiveAndEnds };
                let expected = walked(&mut automata, &vocabulary, request);
                assert_eq!(of_table.live.to_set(vocabulary.size()), expected.live.to_set(vocabulary.size()));
                assert_eq!(of_table.ends.as_ref(), expected.ends.as_deref());
            }
        }
        assert!(found > 30, "{found} states are those of tables");
    }
}
