//! Walks along the token trie with the automaton of a terminal.
//!
//! Two walks compute the same summary:
//!
//! - [`walk_sparse`] steps the lazy automaton and collects lists: for the few nodes below a narrow state, such as a
//!   number.
//! - [`DenseWalk`] copies transitions into dense rows (one load per node), collects ranges and bits, and skips subtrees
//!   in which the state cannot change, so that free text costs the nodes where it can be left: for most of the
//!   vocabulary.
//!
//! [`super::strategy`] selects between them.

use std::ops::Range;

use grammask_automata::{Automata, ByteSet, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{
    LiveTokens, NodeSet, TokenId, TokenRanges, TokenTrie, TrieNode, Vocabulary, WhichNodes,
};

use super::super::summary::Wanted;
use super::super::tuning::MAX_NARROW_BYTES;
use super::dense_transitions::DenseTransitions;
use super::subtree_walk::{PathAutomaton, SubtreeWalk, SummarySink};

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
pub(crate) fn enter(
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
            let inside = edges.iter().filter(|edge| nodes.contains(edge.parent));
            entries.extend(inside.map(|edge| (edge.child, next)));
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
    let bytes = first_bytes.intersection(trie.child_bytes(node));
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

/// The automaton of a terminal, stepped as it is.
pub(crate) struct LazyAutomaton;

impl PathAutomaton for LazyAutomaton {
    type State = StateId;
    type Error = LimitExceeded;

    #[inline]
    fn step(
        &mut self,
        automata: &mut Automata,
        state: StateId,
        byte: u8,
    ) -> Result<Option<StateId>, LimitExceeded> {
        automata.step(state, byte)
    }

    #[inline]
    fn is_accepting(&self, automata: &Automata, state: StateId) -> bool {
        automata.is_accepting(state)
    }
}

/// Lists of live tokens and of the nodes where words end.
struct TokenLists {
    tokens: Vec<TokenId>,
    ends: Vec<u32>,
}

/// Walks the subtrees of the entries, and adds `tokens` that are live and `work` that was done before.
///
/// # Errors
/// When the automaton exceeds its limit.
pub(crate) fn walk_sparse(
    automata: &mut Automata,
    vocabulary: &Vocabulary,
    entries: &[(TrieNode, StateId)],
    tokens: Vec<TokenId>,
    mut work: usize,
) -> Result<WalkResult, LimitExceeded> {
    let trie = vocabulary.trie();
    let mut walk = SubtreeWalk::new(LazyAutomaton, TokenLists { tokens, ends: Vec::new() });
    for &(node, state) in entries {
        work += walk.run(automata, trie, node, state)?;
    }
    let TokenLists { tokens, ends } = walk.sink;
    let live = LiveTokens::new(tokens, vocabulary.size());
    Ok(WalkResult { live, ends: Some(NodeSet::new(ends, trie)), work })
}

impl SummarySink<StateId> for TokenLists {
    #[inline]
    fn visit(&mut self, trie: &TokenTrie, node: usize, _: StateId, is_word: bool) {
        let node = TrieNode(node as u32);
        if is_word && trie.has_children(node) {
            self.ends.push(node.0);
        }
    }

    fn skip(
        &mut self,
        trie: &TokenTrie,
        nodes: Range<usize>,
        state: StateId,
        is_word: bool,
        which: WhichNodes,
    ) -> usize {
        let ends = |node: &usize| which == WhichNodes::All || trie.is_whole(TrieNode(*node as u32));
        nodes.filter(ends).for_each(|node| self.visit(trie, node, state, is_word));
        0
    }

    #[inline]
    fn live(&mut self, trie: &TokenTrie, nodes: Range<usize>) {
        self.tokens.extend_from_slice(&trie.sorted_ids()[trie.token_positions(nodes)]);
    }
}

/// A walk that collects ranges and bits.
pub(crate) struct DenseWalk(SubtreeWalk<DenseTransitions, DenseSummary>);

/// Ranges of live tokens, and bits of the nodes where words end.
pub(crate) struct DenseSummary {
    pub(crate) tokens: TokenRanges,
    /// Empty where ends are not wanted.
    pub(crate) ends: Vec<u64>,
}

impl DenseWalk {
    /// A walk that has not begun.
    pub(crate) fn new(trie: &TokenTrie, wanted: Wanted) -> Self {
        let words = if wanted == Wanted::LiveAndEnds { trie.len().div_ceil(64) } else { 0 };
        let summary = DenseSummary { tokens: TokenRanges::default(), ends: vec![0; words] };
        Self(SubtreeWalk::new(DenseTransitions::new(wanted), summary))
    }

    /// Walks the subtree of `node`, which was entered in `state`. Returns the number of visited nodes.
    pub(crate) fn run(
        &mut self,
        automata: &mut Automata,
        trie: &TokenTrie,
        node: TrieNode,
        state: StateId,
    ) -> Result<usize, LimitExceeded> {
        let cell = self.0.automaton.cell_to(automata, state);
        self.0.run(automata, trie, node, cell)
    }

    pub(crate) fn finish(self) -> DenseSummary {
        self.0.sink
    }
}

impl<S> SummarySink<S> for DenseSummary {
    #[inline]
    fn visit(&mut self, _: &TokenTrie, node: usize, _: S, is_word: bool) {
        if let Some(word) = self.ends.get_mut(node >> 6) {
            *word |= u64::from(is_word) << (node & 63);
        }
    }

    #[inline]
    fn skip(
        &mut self,
        trie: &TokenTrie,
        nodes: Range<usize>,
        _: S,
        is_word: bool,
        which: WhichNodes,
    ) -> usize {
        if is_word && !self.ends.is_empty() { trie.set_bits(nodes, which, &mut self.ends) } else { 0 }
    }

    #[inline]
    fn live(&mut self, trie: &TokenTrie, nodes: Range<usize>) {
        self.tokens.add(trie.token_positions(nodes));
    }
}
