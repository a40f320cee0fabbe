//! The summary of a terminal, by going through the token trie below a set of nodes.
//!
//! Small parts of the trie are walked with the automaton as it is. Where much of the trie lies ahead (the body
//! of a string: every token of the vocabulary), transitions are first copied into plain rows of 256 cells, as
//! they are met: the walk is then one load per node, and what it finds goes into bitsets.
//!
//! A state that differs from a known one only in some first bytes (the first letter of a name, and its other letters)
//! pays only for these: below the others both are in the same state, and what is known there is copied.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::LimitExceeded;
use crate::automata::{Automata, ByteSet, StateId};
use crate::vocabulary::{
    Columns, LiveTokens, NodeSet, TerminalSummary, TokenId, TokenSet, TokenTrie, TrieNode, Vocabulary,
};

/// Trie nodes ahead from which rows are worth their making.
const MANY_NODES: usize = 8192;

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

/// Walks the words that continue `state`, of which `first_bytes` are the first bytes, below `nodes`. Where many nodes
/// are ahead, what `known` holds for the same nodes is used.
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
    let ahead: usize = entries.iter().map(|&(node, _)| trie.subtree_end(node).index() - node.index()).sum();
    if ahead < MANY_NODES {
        let mut found = Listed { tokens: Vec::new(), ends: Vec::new() };
        for (node, state) in entries {
            work += found.walk(automata, trie, node, state)?;
        }
        let live = LiveTokens::new(found.tokens, vocabulary.size());
        return Ok(Walked { live, ends: NodeSet::new(found.ends, trie), work });
    }
    let mut found = Dense {
        rows: Rows::default(),
        tokens: TokenSet::new(vocabulary.size()),
        ends: vec![0; trie.len().div_ceil(64)],
        path: vec![0; trie.max_depth() + 1],
    };
    let similar = most_similar(automata, known, state, first_bytes)?;
    for (node, state) in entries {
        match similar {
            Some(similar) if automata.step(similar.state, trie.byte(node))? == Some(state) => {
                work += found.copy(trie, node, &similar.summary);
            }
            _ => work += found.walk(automata, trie.columns(), node, state)?,
        }
    }
    Ok(Walked { live: LiveTokens::from_set(found.tokens), ends: NodeSet::from_bits(found.ends, trie), work })
}

/// The known state that goes on as `state` does for most first bytes, if there is one.
fn most_similar<'k>(
    automata: &mut Automata,
    known: &'k [Known],
    state: StateId,
    first_bytes: ByteSet,
) -> Result<Option<&'k Known>, LimitExceeded> {
    let mut best = None;
    let mut most = 0;
    for candidate in known {
        let mut alike = 0;
        for byte in first_bytes.iter() {
            alike += usize::from(automata.step(candidate.state, byte)? == automata.step(state, byte)?);
        }
        if alike > most {
            (best, most) = (Some(candidate), alike);
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

/// Results in bitsets, with transitions in rows.
struct Dense {
    rows: Rows,
    tokens: TokenSet,
    ends: Vec<u64>,
    /// The cell that led to each node of the path to the current one, by depth.
    path: Vec<u32>,
}

impl Dense {
    /// Copies what is known at and below `node`; returns how many tokens and words of nodes it looked at.
    fn copy(&mut self, trie: &TokenTrie, node: TrieNode, known: &TerminalSummary) -> usize {
        let tokens = trie.subtree_tokens(node);
        self.tokens.extend(tokens.iter().copied().filter(|&token| known.live.contains(token)));
        let nodes = node.index()..trie.subtree_end(node).index();
        known.ends.copy_range(nodes.clone(), &mut self.ends);
        tokens.len() + nodes.len() / 64
    }

    /// As [`Listed::walk`].
    fn walk(
        &mut self,
        automata: &mut Automata,
        trie: Columns<'_>,
        node: TrieNode,
        state: StateId,
    ) -> Result<usize, LimitExceeded> {
        let end = trie.subtree_ends[node.index()] as usize;
        let mut cell = self.rows.of_state(automata, state);
        let mut current = node.index();
        let mut work = 0;
        let tokens = self.tokens.words_mut();
        loop {
            work += 1;
            if cell == Rows::DEAD {
                current = trie.subtree_ends[current] as usize;
            } else {
                self.path[usize::from(trie.depths[current])] = cell;
                self.ends[current >> 6] |= u64::from(cell & 1) << (current & 63);
                let (first, last) = (trie.token_starts[current], trie.token_starts[current + 1]);
                for id in &trie.sorted_ids[first as usize..last as usize] {
                    tokens[id.index() >> 5] |= 1 << (id.0 & 31);
                }
                current += 1;
            }
            if current >= end {
                return Ok(work);
            }
            let before = self.path[usize::from(trie.depths[current]) - 1];
            let byte = trie.bytes[current];
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
            self.cells.resize(self.states.len() * 256, Self::OPEN);
        }
        number << 1 | u32::from(automata.is_accepting(state))
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
