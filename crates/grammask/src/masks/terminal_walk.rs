//! The summary of a terminal, by going through the token trie below a set of nodes.
//!
//! Small parts of the trie are walked with the automaton as it is. Where much of the trie lies ahead (the body
//! of a string: every token of the vocabulary), transitions are first copied into plain rows of 256 cells, as
//! they are met: the walk is then one load per node. And where a state leads to itself with all that is below a
//! node (letters, or any characters), everything below is live in that state, and is not looked at: free text costs what
//! it costs to find the few tokens that leave it.
//!
//! A state that differs from a known one only in some first bytes (the first letter of a name, and its other letters)
//! pays only for these: below the others both are in the same state, so what is known is copied as a whole, and only what
//! is below these is taken out and walked anew.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::LimitExceeded;
use crate::automata::{Automata, ByteSet, StateId};
use crate::vocabulary::{
    ByteGroups, LiveTokens, NodeSet, TerminalSummary, TokenId, TokenRanges, TokenSet, TokenTrie, TrieNode,
    Vocabulary, words_of,
};

use super::loops::Loops;

/// Trie nodes ahead from which rows are worth their making.
const MANY_NODES: usize = 8192;
/// Trie nodes at and below a node from which it is worth asking whether a state is left there.
const WORTH_SKIPPING: usize = 4;

/// What a walk finds.
pub(super) struct Walked {
    pub(super) live: LiveTokens,
    pub(super) ends: NodeSet,
    /// Trie nodes looked at.
    pub(super) work: usize,
}

/// A state of the same automaton with what is known about it below the same nodes.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) state: StateId,
    pub(super) summary: Arc<TerminalSummary>,
}

/// Walks the words that continue `state`, of which `first_bytes` are the first bytes, below `nodes`. What `known` holds
/// is used where the only node is the root and many nodes are ahead.
///
/// # Errors
/// When the automaton passes its limit.
pub(super) fn walk_terminal(
    automata: &mut Automata,
    vocabulary: &Vocabulary,
    state: StateId,
    first_bytes: ByteSet,
    nodes: &NodeSet,
    known: &[Known],
) -> Result<Walked, LimitExceeded> {
    let trie = vocabulary.trie();
    let mut work = 0;
    let mut entries: Vec<(TrieNode, StateId)> = Vec::new();
    if nodes.is_dense() {
        for byte in first_bytes.iter() {
            let Some(next) = automata.step(state, byte)? else { continue };
            let edges = trie.edges_over(byte);
            work += edges.len();
            let inside = edges.iter().filter(|&&(parent, _)| nodes.contains(parent));
            entries.extend(inside.map(|&(_, child)| (child, next)));
        }
    } else {
        for node in nodes.iter() {
            for child in trie.children(node) {
                work += 1;
                if let Some(next) = automata.step(state, trie.byte(child))? {
                    entries.push((child, next));
                }
            }
        }
    }
    let ahead = |entries: &[(TrieNode, StateId)]| -> usize {
        entries.iter().map(|&(node, _)| trie.subtree_end(node).index() - node.index()).sum()
    };
    let nodes_ahead = ahead(&entries);
    if nodes_ahead < MANY_NODES {
        let mut found = Listed { tokens: Vec::new(), ends: Vec::new() };
        for (node, state) in entries {
            work += found.walk(automata, trie, node, state)?;
        }
        let live = LiveTokens::new(found.tokens, vocabulary.size());
        return Ok(Walked { live, ends: NodeSet::new(found.ends, trie), work });
    }
    let mut found = Dense {
        rows: Rows::default(),
        tokens: TokenRanges::default(),
        ends: vec![0; trie.len().div_ceil(64)],
        path: vec![0; trie.max_depth() + 1],
    };
    let mut copied = None;
    if let Some((similar, differing)) = most_similar(automata, known, state, first_bytes)? {
        let differs = |node: TrieNode| differing.contains(trie.byte(node));
        let others: Vec<_> = entries.iter().copied().filter(|&(node, _)| differs(node)).collect();
        if ahead(&others) < nodes_ahead / 2 {
            let mut live = TokenSet::new(vocabulary.size());
            similar.live.add_to(&mut live);
            similar.ends.copy_range(0..trie.len(), &mut found.ends);
            for node in trie.children(TrieNode::ROOT).filter(|&node| differs(node)) {
                let tokens = trie.subtree_tokens(node);
                work += tokens.len();
                for &token in tokens {
                    live.remove(token);
                }
                for (word, bits) in words_of(node.index()..trie.subtree_end(node).index()) {
                    found.ends[word] &= !bits;
                }
            }
            work += found.ends.len();
            entries = others;
            copied = Some(live);
        }
    }
    for (node, state) in entries {
        work += found.walk(automata, trie, node, state)?;
    }
    let live = match copied {
        Some(mut live) => {
            found.tokens.add_to(&mut live, trie);
            LiveTokens::from_set(live)
        }
        None => found.tokens.finish(vocabulary),
    };
    Ok(Walked { live, ends: NodeSet::from_bits(found.ends, trie), work })
}

/// What is known of the state that goes on as `state` does for most first bytes, if there is one, and the bytes for which
/// it does not.
fn most_similar<'k>(
    automata: &mut Automata,
    known: &'k [Known],
    state: StateId,
    first_bytes: ByteSet,
) -> Result<Option<(&'k TerminalSummary, ByteSet)>, LimitExceeded> {
    let mut best: Option<(&TerminalSummary, ByteSet)> = None;
    for candidate in known {
        let mut differing = ByteSet::EMPTY;
        for byte in first_bytes.union(automata.first_bytes(candidate.state)?).iter() {
            if automata.step(candidate.state, byte)? != automata.step(state, byte)? {
                differing.insert(byte);
            }
        }
        if best.is_none_or(|(_, least)| differing.len() < least.len()) {
            best = Some((&candidate.summary, differing));
        }
    }
    Ok(best)
}

/// Results in lists.
struct Listed {
    tokens: Vec<TokenId>,
    ends: Vec<u32>,
}

impl Listed {
    /// Goes through the subtree of `node`, which was entered in `state`; returns how many nodes it looked at.
    fn walk(
        &mut self,
        automata: &mut Automata,
        trie: &TokenTrie,
        node: TrieNode,
        state: StateId,
    ) -> Result<usize, LimitExceeded> {
        let end = trie.subtree_end(node);
        let first_depth = usize::from(trie.depth(node));
        // The state after each node of the path from `node` on.
        let mut path = vec![state];
        self.visit(trie, node, automata.is_accepting(state));
        let mut current = TrieNode(node.0 + 1);
        let mut work = 1;
        while current < end {
            work += 1;
            let depth = usize::from(trie.depth(current)) - first_depth;
            match automata.step(path[depth - 1], trie.byte(current))? {
                Some(next) => {
                    self.visit(trie, current, automata.is_accepting(next));
                    path.truncate(depth);
                    path.push(next);
                    current.0 += 1;
                }
                None => current = trie.subtree_end(current),
            }
        }
        Ok(work)
    }

    fn visit(&mut self, trie: &TokenTrie, node: TrieNode, is_word: bool) {
        self.tokens.extend_from_slice(trie.tokens(node));
        if is_word && trie.has_children(node) {
            self.ends.push(node.0);
        }
    }
}

/// Results in ranges and bits, with transitions in rows.
struct Dense {
    rows: Rows,
    tokens: TokenRanges,
    ends: Vec<u64>,
    /// The cell that led to each node of the path to the current one, by depth.
    path: Vec<u32>,
}

impl Dense {
    /// As [`Listed::walk`].
    fn walk(
        &mut self,
        automata: &mut Automata,
        trie: &TokenTrie,
        node: TrieNode,
        state: StateId,
    ) -> Result<usize, LimitExceeded> {
        let columns = trie.columns();
        let end = columns.subtree_ends[node.index()] as usize;
        let mut cell = self.rows.of_state(automata, state);
        let mut current = node.index();
        let mut work = 0;
        loop {
            work += 1;
            if cell == Rows::DEAD {
                current = columns.subtree_ends[current] as usize;
            } else {
                let below = columns.subtree_ends[current] as usize;
                let kept = if below - current < WORTH_SKIPPING {
                    None
                } else {
                    let groups = columns.groups_below[current];
                    let loops = self.rows.loops(automata, cell, columns.bytes[current + 1], groups)?;
                    loops.and_then(|loops| loops.kept(groups))
                };
                let next = if kept.is_some() { below } else { current + 1 };
                let position = |node: usize| columns.token_starts[node] as usize;
                self.tokens.add(position(current)..position(next));
                match kept {
                    Some(kept) if cell & 1 == 1 => {
                        work += kept.add_words(trie, current..next, &mut self.ends);
                    }
                    Some(_) => {}
                    None => {
                        self.path[usize::from(columns.depths[current])] = cell;
                        self.ends[current >> 6] |= u64::from(cell & 1) << (current & 63);
                    }
                }
                current = next;
            }
            if current >= end {
                return Ok(work);
            }
            let before = self.path[usize::from(columns.depths[current]) - 1];
            let byte = columns.bytes[current];
            cell = self.rows.cells[Rows::cell(before, byte)];
            if cell == Rows::OPEN {
                cell = self.rows.fill(automata, before, byte)?;
            }
        }
    }
}

/// Transitions of the states that a walk meets, numbered as they are met. A cell holds twice the number of the
/// state that it leads to, plus one if that is accepting.
#[derive(Default)]
struct Rows {
    numbers: FxHashMap<StateId, u32>,
    states: Vec<StateId>,
    /// 256 cells per state.
    cells: Vec<u32>,
    /// What keeps each state, as far as it was asked for.
    loops: Vec<Option<Option<Loops>>>,
}

impl Rows {
    /// No word goes on so.
    const DEAD: u32 = u32::MAX;
    /// Not known yet.
    const OPEN: u32 = u32::MAX - 1;

    /// The cell that leads to a state.
    fn of_state(&mut self, automata: &Automata, state: StateId) -> u32 {
        let next = self.states.len() as u32;
        let number = *self.numbers.entry(state).or_insert(next);
        if number == next {
            self.states.push(state);
            self.loops.push(None);
            self.cells.resize(self.states.len() * 256, Self::OPEN);
        }
        number << 1 | u32::from(automata.is_accepting(state))
    }

    /// What keeps the state that `cell` leads to; nothing where it is left by the first byte of what is below a node.
    #[inline]
    fn loops(
        &mut self,
        automata: &mut Automata,
        cell: u32,
        first: u8,
        below: ByteGroups,
    ) -> Result<Option<Loops>, LimitExceeded> {
        let mut next = self.cells[Self::cell(cell, first)];
        if next == Self::OPEN {
            next = self.fill(automata, cell, first)?;
        }
        let may_be_character = first >= 0x80 && next != Self::DEAD && !below.is_broken();
        if next != cell && !may_be_character {
            return Ok(None);
        }
        match self.loops[(cell >> 1) as usize] {
            Some(known) => Ok(known),
            None => self.find_loops(automata, (cell >> 1) as usize),
        }
    }

    #[cold]
    fn find_loops(&mut self, automata: &mut Automata, number: usize) -> Result<Option<Loops>, LimitExceeded> {
        let loops = Loops::of(automata, self.states[number])?;
        self.loops[number] = Some(loops);
        Ok(loops)
    }

    /// Where the transition over `byte` is, from the state that `cell` leads to.
    fn cell(cell: u32, byte: u8) -> usize {
        (cell >> 1) as usize * 256 + usize::from(byte)
    }

    #[cold]
    fn fill(&mut self, automata: &mut Automata, before: u32, byte: u8) -> Result<u32, LimitExceeded> {
        let target = match automata.step(self.states[(before >> 1) as usize], byte)? {
            Some(state) => self.of_state(automata, state),
            None => Self::DEAD,
        };
        self.cells[Self::cell(before, byte)] = target;
        Ok(target)
    }
}
