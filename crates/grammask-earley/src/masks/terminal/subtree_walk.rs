//! The preorder walk of a subtree of the token trie, generic over the automaton that reads the paths and over the sink
//! that collects the summary.
//!
//! | automaton | sink | for |
//! |---|---|---|
//! | [`LazyAutomaton`](super::walk::LazyAutomaton) | lists | small subtrees of a sparse walk |
//! | [`DenseTransitions`](super::dense_transitions::DenseTransitions) | ranges and bits | dense walks |
//! | copies of a prefix code, alone or in an intersection | counts | [`super::counted_walk`] |
//!
//! Both are type parameters, so each combination is a loop of its own without indirect calls. A subtree is skipped if
//! the automaton says that all its tokens are live and where its words end.

use std::ops::Range;

use grammask_automata::Automata;
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{ByteGroups, NodeSet, TokenTrie, TrieColumns, TrieNode, WhichNodes};

use super::super::tuning::MIN_SKIPPED_NODES;

/// The part of the trie below a node.
#[derive(Clone, Copy)]
pub(crate) struct Subtree {
    /// Bytes that occur below the node.
    pub(crate) groups: ByteGroups,
    /// Byte of the first child.
    pub(crate) first_byte: u8,
    /// Number of nodes, the top one included.
    pub(crate) nodes: usize,
}

/// An automaton that reads the paths of a subtree.
pub(crate) trait PathAutomaton {
    /// A live state.
    type State: Copy;
    /// The reason to give up.
    type Error: From<LimitExceeded>;

    /// The state after a byte; `None` if no word passes through the node.
    fn step(
        &mut self,
        automata: &mut Automata,
        state: Self::State,
        byte: u8,
    ) -> Result<Option<Self::State>, Self::Error>;

    /// Whether a word ends in the state.
    fn is_accepting(&self, automata: &Automata, state: Self::State) -> bool;

    /// The nodes of a subtree, entered in `state`, at which a word ends exactly if `state` is accepting; no word ends at
    /// the others, and all tokens are live. `None` if the subtree must be visited.
    #[inline]
    fn skip(
        &mut self,
        _: &mut Automata,
        _: Self::State,
        _: Subtree,
    ) -> Result<Option<WhichNodes>, Self::Error> {
        Ok(None)
    }
}

/// Collects the live tokens and the ends of words.
pub(crate) trait SummarySink<S> {
    /// The node was entered in `state`; a word ends there if `is_word`.
    fn visit(&mut self, trie: &TokenTrie, node: usize, state: S, is_word: bool);

    /// A subtree was entered in `state` and skipped. All its tokens are live; words end at the nodes `which`, if
    /// `is_word`. Returns the work.
    fn skip(
        &mut self,
        trie: &TokenTrie,
        nodes: Range<usize>,
        state: S,
        is_word: bool,
        which: WhichNodes,
    ) -> usize;

    /// The nodes were visited or skipped, and all their tokens are live: a range as long as possible.
    #[inline]
    fn live(&mut self, _: &TokenTrie, _: Range<usize>) {}
}

/// A walk of any number of subtrees.
pub(crate) struct SubtreeWalk<A: PathAutomaton, S> {
    pub(crate) automaton: A,
    pub(crate) sink: S,
    /// The state after each node of the path to the current one, by depth.
    path: Vec<A::State>,
}

impl<A: PathAutomaton, S: SummarySink<A::State>> SubtreeWalk<A, S> {
    /// A walk that has not begun.
    pub(crate) fn new(automaton: A, sink: S) -> Self {
        Self { automaton, sink, path: Vec::new() }
    }

    /// Walks the subtree of `node`, which was entered in `state`. Returns the work, in visited nodes.
    ///
    /// # Errors
    /// Those of the automaton.
    pub(crate) fn run(
        &mut self,
        automata: &mut Automata,
        trie: &TokenTrie,
        node: TrieNode,
        state: A::State,
    ) -> Result<usize, A::Error> {
        let (top, end) = (node.index(), trie.subtree_end(node).index());
        let mut run = self.begin(trie, end, state);
        let (next, work) = run.enter(automata, top, state)?;
        Ok(1 + work + run.walk(automata, top, next..end)?)
    }

    /// Walks the nodes below each of `nodes`, which were entered in `state`. Returns the work, in visited nodes.
    ///
    /// # Errors
    /// Those of the automaton.
    pub(crate) fn run_below(
        &mut self,
        automata: &mut Automata,
        trie: &TokenTrie,
        nodes: &NodeSet,
        state: A::State,
    ) -> Result<usize, A::Error> {
        let mut work = 0;
        for node in nodes.iter() {
            let (first, end) = (node.index() + 1, trie.subtree_end(node).index());
            let mut run = self.begin(trie, end, state);
            run.path[usize::from(trie.depth(node))] = state;
            work += run.walk(automata, first, first..end)?;
        }
        Ok(work)
    }

    /// A run through nodes before `end`.
    fn begin<'w>(&'w mut self, trie: &'w TokenTrie, end: usize, state: A::State) -> SubtreeVisit<'w, A, S> {
        let Self { automaton, sink, path } = self;
        if path.is_empty() {
            path.resize(trie.max_depth() + 1, state);
        }
        SubtreeVisit { automaton, sink, path, trie, columns: trie.columns().up_to(end) }
    }
}

/// The parts of a walk through one subtree, in local variables.
struct SubtreeVisit<'w, A: PathAutomaton, S> {
    automaton: &'w mut A,
    sink: &'w mut S,
    path: &'w mut [A::State],
    trie: &'w TokenTrie,
    /// Sliced to the subtree, so that accesses need no bounds checks.
    columns: TrieColumns<'w>,
}

impl<A: PathAutomaton, S: SummarySink<A::State>> SubtreeVisit<'_, A, S> {
    /// Walks nodes whose parents are in the path or among them. All nodes from `live_from` to the first are live.
    #[inline(always)]
    fn walk(
        &mut self,
        automata: &mut Automata,
        mut live_from: usize,
        nodes: Range<usize>,
    ) -> Result<usize, A::Error> {
        let (mut current, end) = (nodes.start, nodes.end);
        let mut work = 0;
        while current < end {
            work += 1;
            let before = self.path[usize::from(self.columns.depths[current]) - 1];
            match self.automaton.step(automata, before, self.columns.bytes[current])? {
                Some(state) => {
                    let (next, more) = self.enter(automata, current, state)?;
                    work += more;
                    current = next;
                }
                None => {
                    if live_from < current {
                        self.sink.live(self.trie, live_from..current);
                    }
                    current = self.columns.subtree_ends[current] as usize;
                    live_from = current;
                }
            }
        }
        if live_from < end {
            self.sink.live(self.trie, live_from..end);
        }
        Ok(work)
    }

    /// Visits a live node, or skips its subtree. Returns the next node, and the work of skipping.
    #[inline(always)]
    fn enter(
        &mut self,
        automata: &mut Automata,
        node: usize,
        state: A::State,
    ) -> Result<(usize, usize), A::Error> {
        let after = self.columns.subtree_ends[node] as usize;
        if after - node >= MIN_SKIPPED_NODES {
            let (groups, first_byte) = (self.columns.groups_below[node], self.columns.bytes[node + 1]);
            let below = Subtree { groups, first_byte, nodes: after - node };
            if let Some(which) = self.automaton.skip(automata, state, below)? {
                let is_word = self.automaton.is_accepting(automata, state);
                return Ok((after, self.sink.skip(self.trie, node..after, state, is_word, which)));
            }
        }
        let is_word = self.automaton.is_accepting(automata, state);
        self.sink.visit(self.trie, node, state, is_word);
        self.path[usize::from(self.columns.depths[node])] = state;
        Ok((node + 1, 0))
    }
}
