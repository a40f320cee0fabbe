//! Walks along the token trie with the automaton of a terminal.
//!
//! Two walks compute the same summary:
//!
//! - [`SparseWalk`] steps the lazy automaton and collects lists: for the few nodes below a narrow state, such as a
//!   number.
//! - [`DenseWalk`] copies transitions into dense rows (one load per node), collects ranges and bits, and skips subtrees
//!   in which the state cannot change, so that free text costs the nodes where it can be left: for most of the
//!   vocabulary.
//!
//! Before a dense walk from the root, summaries of other states of the automaton are tried as a base
//! ([`super::similar_states`]).

use std::sync::Arc;

use grammask_automata::{Automata, ByteSet, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{
    LiveTokens, NodeSet, TerminalSummary, TokenId, TokenRanges, TokenTrie, TrieNode, Vocabulary,
};

use super::super::ablation::{Technique, is_enabled};
use super::super::tuning::{MAX_NARROW_BYTES, MAX_SCANNED_NODES, MIN_DENSE_NODES, MIN_SKIPPED_NODES};
use super::dense_transitions::{DenseTransitions, Subtree};
use super::similar_states::walk_similar;
use super::strategy::{Strategy, WalkFacts, plan_walk};

/// Which parts of a summary are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Live tokens only: nothing can follow a word. States that differ only in where words end are then equivalent.
    Live,
    /// Also the nodes where words end.
    LiveAndEnds,
}

/// A request for the words that continue `state` below `nodes`.
#[derive(Clone, Copy)]
pub(crate) struct WalkRequest<'a> {
    pub(crate) state: StateId,
    pub(crate) nodes: &'a NodeSet,
    pub(crate) wanted: Wanted,
}

/// A summary whose parts are not interned yet.
pub(crate) struct WalkResult {
    pub(crate) live: LiveTokens,
    /// `None` only where ends were not wanted.
    pub(crate) ends: Option<NodeSet>,
    /// Visited trie nodes.
    pub(crate) work: usize,
}

/// A state of the same automaton with its summary below the root.
#[derive(Clone, Debug)]
pub(crate) struct BaseSummary {
    pub(crate) state: StateId,
    pub(crate) summary: Arc<TerminalSummary>,
}

impl BaseSummary {
    /// Whether the summary has all wanted parts.
    pub(crate) fn suffices(&self, wanted: Wanted) -> bool {
        wanted == Wanted::Live || self.summary.ends.is_some()
    }
}

/// Computes the summary of a state by a walk, and says which variant computed it. `bases` are used where the walk
/// begins at the root.
///
/// # Errors
/// When the automaton exceeds its limit.
pub(crate) fn walk_terminal(
    automata: &mut Automata,
    vocabulary: &Vocabulary,
    request: WalkRequest<'_>,
    bases: &[BaseSummary],
) -> Result<(Strategy, WalkResult), LimitExceeded> {
    let trie = vocabulary.trie();
    let mut entries = Vec::new();
    let entering = enter(automata, trie, request, &mut entries)?;
    let ahead = nodes_ahead(trie, &entries);
    let facts = WalkFacts {
        ahead,
        is_narrow: !is_enabled(Technique::DenseTransitions)
            || ahead >= MIN_DENSE_NODES && are_narrow(automata, &entries)?,
        has_bases: !bases.is_empty() && request.nodes.contains(TrieNode::ROOT),
    };
    for strategy in plan_walk(&facts) {
        let walked = match strategy {
            Strategy::Sparse => {
                let mut walk = SparseWalk::new(Vec::new(), 0);
                walk.run(automata, trie, &entries)?;
                Some(walk.finish(vocabulary))
            }
            Strategy::Similar => walk_similar(automata, vocabulary, request, ahead, bases)?,
            _ => {
                let mut walk = DenseWalk::new(trie, request.wanted);
                let mut work = 0;
                for &(node, state) in &entries {
                    work += walk.run(automata, trie, node, state)?;
                }
                let ends =
                    (request.wanted == Wanted::LiveAndEnds).then(|| NodeSet::from_bits(walk.ends, trie));
                Some(WalkResult { live: walk.tokens.finish(vocabulary), ends, work })
            }
        };
        if let Some(mut walked) = walked {
            walked.work += entering;
            return Ok((strategy, walked));
        }
    }
    unreachable!("a sparse or a dense walk does not decline")
}

/// Follows one word, or the beginning of one if it is not `whole`, below each node.
pub(crate) fn walk_word(vocabulary: &Vocabulary, word: &[u8], is_whole: bool, nodes: &NodeSet) -> WalkResult {
    let trie = vocabulary.trie();
    let (mut tokens, mut ends, mut work) = (Vec::new(), Vec::new(), 0);
    for start in nodes.iter() {
        let mut node = start;
        let mut rest = word;
        while let [byte, after @ ..] = rest
            && let Some(child) = trie.child(node, *byte)
        {
            work += 1;
            tokens.extend_from_slice(trie.tokens(child));
            node = child;
            rest = after;
        }
        if rest.is_empty() && is_whole {
            ends.push(node.0);
        }
    }
    let live = LiveTokens::new(tokens, vocabulary.size());
    WalkResult { live, ends: Some(NodeSet::new(ends, trie)), work }
}

/// Number of bytes on which a state loops to itself.
pub(crate) fn self_loop_bytes(automata: &mut Automata, state: StateId) -> Result<usize, LimitExceeded> {
    let mut count = 0;
    for byte in automata.first_bytes(state)?.iter() {
        count += usize::from(automata.step(state, byte)? == Some(state));
    }
    Ok(count)
}

/// Adds the children of the start nodes that the state steps to, each with the state after it. Returns the number of
/// visited nodes.
fn enter(
    automata: &mut Automata,
    trie: &TokenTrie,
    request: WalkRequest<'_>,
    entries: &mut Vec<(TrieNode, StateId)>,
) -> Result<usize, LimitExceeded> {
    let WalkRequest { state, nodes, .. } = request;
    let first_bytes = automata.first_bytes(state)?;
    let mut work = 0;
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
            work += enter_children(automata, trie, node, state, first_bytes, entries)?;
        }
    }
    Ok(work)
}

/// Adds the children of one node that the state steps to, each with the state after it. Returns the number of visited
/// nodes.
pub(crate) fn enter_children(
    automata: &mut Automata,
    trie: &TokenTrie,
    node: TrieNode,
    state: StateId,
    first_bytes: ByteSet,
    entries: &mut Vec<(TrieNode, StateId)>,
) -> Result<usize, LimitExceeded> {
    let bytes = first_bytes.within(trie.child_bytes(node));
    let mut work = bytes.len();
    if work <= MAX_NARROW_BYTES {
        for byte in bytes.iter() {
            if let (Some(child), Some(next)) = (trie.child(node, byte), automata.step(state, byte)?) {
                entries.push((child, next));
            }
        }
    } else {
        for child in trie.children(node) {
            work += 1;
            if let Some(next) = automata.step(state, trie.byte(child))? {
                entries.push((child, next));
            }
        }
    }
    Ok(work)
}

/// Number of nodes in the subtrees of the entries.
pub(crate) fn nodes_ahead(trie: &TokenTrie, entries: &[(TrieNode, StateId)]) -> usize {
    entries.iter().map(|&(node, _)| trie.subtree_len(node)).sum()
}

/// Whether all states have few first bytes, so that most of the subtrees is dead.
fn are_narrow(automata: &mut Automata, entries: &[(TrieNode, StateId)]) -> Result<bool, LimitExceeded> {
    let mut last = None;
    for &(_, state) in entries {
        if last.replace(state) != Some(state) && automata.first_bytes(state)?.len() > MAX_NARROW_BYTES {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A walk that collects lists.
pub(crate) struct SparseWalk {
    tokens: Vec<TokenId>,
    ends: Vec<u32>,
    /// Nodes to visit, with the state after them.
    stack: Vec<(TrieNode, StateId)>,
    /// Visited nodes.
    pub(crate) work: usize,
}

impl SparseWalk {
    /// A walk that has found some tokens with some work.
    pub(crate) fn new(tokens: Vec<TokenId>, work: usize) -> Self {
        Self { tokens, ends: Vec::new(), stack: Vec::new(), work }
    }

    pub(crate) fn finish(self, vocabulary: &Vocabulary) -> WalkResult {
        let live = LiveTokens::new(self.tokens, vocabulary.size());
        WalkResult { live, ends: Some(NodeSet::new(self.ends, vocabulary.trie())), work: self.work }
    }

    /// Walks the subtrees of the entries.
    pub(crate) fn run(
        &mut self,
        automata: &mut Automata,
        trie: &TokenTrie,
        entries: &[(TrieNode, StateId)],
    ) -> Result<(), LimitExceeded> {
        self.stack.extend_from_slice(entries);
        while let Some((node, state)) = self.stack.pop() {
            if trie.subtree_len(node) <= MAX_SCANNED_NODES {
                self.work += self.scan(automata, trie, node, state)?;
                continue;
            }
            self.visit(trie, node, automata.is_accepting(state));
            let first_bytes = automata.first_bytes(state)?;
            self.work += 1 + enter_children(automata, trie, node, state, first_bytes, &mut self.stack)?;
        }
        Ok(())
    }

    /// Walks one subtree in preorder, for small subtrees, whose children are not worth looking up by byte.
    fn scan(
        &mut self,
        automata: &mut Automata,
        trie: &TokenTrie,
        node: TrieNode,
        state: StateId,
    ) -> Result<usize, LimitExceeded> {
        let end = trie.subtree_end(node);
        let first_depth = usize::from(trie.depth(node));
        // The state after each node of the path to the current one, from `node` on.
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

/// A walk that collects ranges and bits.
pub(crate) struct DenseWalk {
    transitions: DenseTransitions,
    pub(crate) tokens: TokenRanges,
    /// Bits of the nodes where words end; empty where ends are not wanted.
    pub(crate) ends: Vec<u64>,
    /// The cell of the transition to each node of the path to the current one, by depth.
    path: Vec<u32>,
}

impl DenseWalk {
    /// A walk that has not begun.
    pub(crate) fn new(trie: &TokenTrie, wanted: Wanted) -> Self {
        let words = if wanted == Wanted::LiveAndEnds { trie.len().div_ceil(64) } else { 0 };
        Self {
            transitions: DenseTransitions::new(wanted),
            tokens: TokenRanges::default(),
            ends: vec![0; words],
            path: vec![0; trie.max_depth() + 1],
        }
    }

    /// Walks the subtree of `node`, which was entered in `state`. Returns the number of visited nodes.
    pub(crate) fn run(
        &mut self,
        automata: &mut Automata,
        trie: &TokenTrie,
        node: TrieNode,
        state: StateId,
    ) -> Result<usize, LimitExceeded> {
        let columns = trie.columns();
        let end = columns.subtree_ends[node.index()] as usize;
        // Sliced to the subtree, so that the accesses below need no bounds checks.
        let (subtree_ends, depths) = (&columns.subtree_ends[..end], &columns.depths[..end]);
        let (bytes, groups_below) = (&columns.bytes[..end], &columns.groups_below[..end]);
        let Self { transitions, tokens, ends, path } = self;
        let (ends, path) = (&mut ends[..], &mut path[..]);
        let wants_ends = !ends.is_empty();
        let mut cell = transitions.cell_to(automata, state);
        let mut current = node.index();
        // All nodes from here to the current one are live.
        let mut live_from = current;
        let mut work = 0;
        while current < end {
            work += 1;
            let after = subtree_ends[current] as usize;
            if cell == DenseTransitions::DEAD {
                add_tokens(tokens, trie, live_from..current);
                (current, live_from) = (after, after);
            } else {
                let mut uniform = None;
                if after - current >= MIN_SKIPPED_NODES {
                    let (groups, first_byte) = (groups_below[current], bytes[current + 1]);
                    let subtree = Subtree { groups, first_byte, nodes: after - current };
                    uniform = transitions.uniform_below(automata, cell, subtree)?;
                }
                match uniform {
                    Some(nodes) => {
                        if cell & 1 == 1 && wants_ends {
                            work += trie.set_bits(current..after, nodes, ends);
                        }
                        current = after;
                    }
                    None => {
                        path[usize::from(depths[current])] = cell;
                        if wants_ends {
                            ends[current >> 6] |= u64::from(cell & 1) << (current & 63);
                        }
                        current += 1;
                    }
                }
            }
            if current < end {
                let before = path[usize::from(depths[current]) - 1];
                cell = transitions.next(automata, before, bytes[current])?;
            }
        }
        add_tokens(tokens, trie, live_from..end);
        Ok(work)
    }
}

/// Adds the tokens of a range of nodes.
#[inline]
fn add_tokens(tokens: &mut TokenRanges, trie: &TokenTrie, nodes: std::ops::Range<usize>) {
    if !nodes.is_empty() {
        let starts = trie.columns().token_starts;
        tokens.add(starts[nodes.start] as usize..starts[nodes.end] as usize);
    }
}
