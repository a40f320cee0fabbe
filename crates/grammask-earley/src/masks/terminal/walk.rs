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

use grammask_automata::{Automata, ByteSet, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{
    LiveTokens, NodeSet, TerminalSummary, TokenId, TokenRanges, TokenSet, TokenTrie, TrieNode, Vocabulary,
    WhichNodes, words_of,
};

use super::closed_alphabet::Ends;
use super::dense_transitions::Rows;
use super::similar_states::walk_similar;

/// Trie nodes ahead from which rows are worth their making; and where nobody asks for ends, and states are not left by much of
/// what is ahead.
const MANY_NODES: usize = 8192;
const MANY_LOOPED: usize = 2048;

/// Where at most so many bytes go on, rows are not worth their making.
const FEW_BYTES: usize = 12;

/// Nodes that are looked at one after the other, before it is sure that much of what is ahead will be met: a large set of
/// words meets little of it.
const MOST_TRIED: usize = 1024;

/// Bytes that keep a state of free text, which is walked soon; letters, digits and some signs are fewer.
const FREE_BYTES: usize = 80;

/// Where a known state says nothing of a larger part than this of what is ahead, it is worth finding out what tells the states
/// apart behind their first bytes.
const FEW_UNKNOWN: usize = 16;

/// Known states that are looked at for what tells them apart, besides the one that goes on most alike.
const MOST_OTHERS: usize = 3;

/// Bytes that lead back to a state from which it is likely to go on with much of what is ahead.
const LOOPS_WIDELY: usize = 8;

/// Nodes of a subtree that are looked at one by one: more of them are mostly left out by the bytes that go on.
const FEW_NODES: usize = 16;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::masks) enum Wanted {
    /// What is live, where nothing can follow a word: such walks do not tell apart states that go on alike.
    Live,
    /// Where words end, too.
    LiveAndEnds,
}

/// What a walk finds.
pub(in crate::masks) struct Walked {
    pub(in crate::masks) live: LiveTokens,
    /// None only where nobody asked for them.
    pub(in crate::masks) ends: Option<NodeSet>,
    /// Trie nodes looked at.
    pub(in crate::masks) work: usize,
}

/// A state of the same automaton with what is known about it below the same nodes.
#[derive(Clone, Debug)]
pub(in crate::masks) struct Known {
    pub(in crate::masks) state: StateId,
    pub(in crate::masks) summary: Arc<TerminalSummary>,
}

impl Known {
    /// Whether all that is asked for is known.
    pub(in crate::masks) fn suffices(&self, wanted: Wanted) -> bool {
        wanted == Wanted::Live || self.summary.ends.is_some()
    }
}

/// Walks the words that continue `state`, of which `first_bytes` are the first bytes, below `nodes`. What `known` holds
/// is used where the only node is the root and many nodes are ahead.
///
/// # Errors
/// When the automaton passes its limit.
pub(in crate::masks) fn walk_terminal(
    automata: &mut Automata,
    vocabulary: &Vocabulary,
    state: StateId,
    first_bytes: ByteSet,
    nodes: &NodeSet,
    (known, wanted): (&[Known], Wanted),
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
            work += children(automata, trie, node, state, first_bytes, &mut entries)?;
        }
    }
    let all_ahead = nodes_ahead(trie, &entries);
    // What is known is known of the root.
    let is_wide = all_ahead >= MANY_NODES && !goes_on_narrowly(automata, &entries)?;
    let similar = match is_wide && nodes.contains(TrieNode::ROOT) {
        true => most_similar(automata, known, state, (first_bytes, wanted))?,
        false => None,
    };
    // Nodes below the bytes over which both states go on differently, of which nothing is known.
    let differs = |node: TrieNode| similar.is_some_and(|(_, differing)| differing.contains(trie.byte(node)));
    let unknown = || trie.children(TrieNode::ROOT).filter(|&node| differs(node));
    let unknown_ahead: usize = unknown().map(|node| trie.subtree_end(node).index() - node.index()).sum();
    if let Some((similar, _)) = similar
        && unknown_ahead > all_ahead / FEW_UNKNOWN
        && kept_bytes(automata, state)? < FREE_BYTES
    {
        let others = known.iter().rev().filter(|last| last.state != similar.state && last.suffices(wanted));
        let candidates = std::iter::once(similar).chain(others.take(MOST_OTHERS));
        if let Some(mut walked) =
            walk_similar(automata, vocabulary, state, candidates, (wanted, unknown_ahead))?
        {
            walked.work += work;
            return Ok(walked);
        }
    }
    let most_listed = match all_ahead {
        ..MANY_LOOPED => usize::MAX,
        ..MANY_NODES if wanted == Wanted::Live && loops_widely(automata, &entries)? => 0,
        _ if !is_wide => usize::MAX,
        _ if loops_widely(automata, &entries)? => 0,
        _ => MOST_TRIED,
    };
    if most_listed > 0 {
        let mut found = Listed::new(Vec::new(), work);
        found.most_listed = most_listed;
        found.walk(automata, trie, &entries)?;
        if found.stack.is_empty() {
            return Ok(found.finish(vocabulary));
        }
        work = found.work;
    }
    let mut found = Dense::new(trie, wanted);
    let mut copied = None;
    if let Some((Known { summary: similar, .. }, _)) = similar
        && unknown_ahead < all_ahead / 2
    {
        let others = entries.iter().copied().filter(|&(node, _)| differs(node)).collect();
        let mut live = TokenSet::new(vocabulary.size());
        similar.live.add_to(&mut live);
        if wanted == Wanted::LiveAndEnds
            && let Some(ends) = &similar.ends
        {
            ends.copy_range(0..trie.len(), &mut found.ends);
        }
        for node in unknown() {
            let tokens = trie.subtree_tokens(node);
            work += tokens.len();
            for &token in tokens {
                live.remove(token);
            }
            if wanted == Wanted::LiveAndEnds {
                for (word, bits) in words_of(node.index()..trie.subtree_end(node).index()) {
                    found.ends[word] &= !bits;
                }
            }
        }
        work += found.ends.len();
        entries = others;
        copied = Some(live);
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
    let ends = (wanted == Wanted::LiveAndEnds).then(|| NodeSet::from_bits(found.ends, trie));
    Ok(Walked { live, ends, work })
}

/// How many bytes lead from a state back to it.
pub(in crate::masks) fn kept_bytes(automata: &mut Automata, state: StateId) -> Result<usize, LimitExceeded> {
    let mut kept = 0;
    for byte in automata.first_bytes(state)?.iter() {
        kept += usize::from(automata.step(state, byte)? == Some(state));
    }
    Ok(kept)
}

/// Goes along one word below each node, or along the beginning of it.
pub(in crate::masks) fn walk_word(
    vocabulary: &Vocabulary,
    word: &[u8],
    is_whole: bool,
    nodes: &NodeSet,
) -> Walked {
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
    Walked { live, ends: Some(NodeSet::new(ends, trie)), work }
}

/// Adds the children of `node` that are words of what `state` goes on with, each with its state; returns how many nodes
/// it looked at.
pub(in crate::masks) fn children(
    automata: &mut Automata,
    trie: &TokenTrie,
    node: TrieNode,
    state: StateId,
    first_bytes: ByteSet,
    entries: &mut Vec<(TrieNode, StateId)>,
) -> Result<usize, LimitExceeded> {
    let bytes = first_bytes.within(trie.child_bytes(node));
    let mut work = bytes.len();
    if work <= FEW_BYTES {
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

/// How many nodes there are at and below some.
pub(in crate::masks) fn nodes_ahead(trie: &TokenTrie, entries: &[(TrieNode, StateId)]) -> usize {
    entries.iter().map(|&(node, _)| trie.subtree_end(node).index() - node.index()).sum()
}

/// Whether few bytes go on in each state, so that little of what is ahead will be met.
fn goes_on_narrowly(automata: &mut Automata, entries: &[(TrieNode, StateId)]) -> Result<bool, LimitExceeded> {
    let mut last = None;
    for &(_, state) in entries {
        if last.replace(state) != Some(state) && automata.first_bytes(state)?.len() > FEW_BYTES {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether one of the states goes on in itself with several bytes, so that much of what is ahead will be met.
fn loops_widely(automata: &mut Automata, entries: &[(TrieNode, StateId)]) -> Result<bool, LimitExceeded> {
    let mut last = None;
    for &(_, state) in entries {
        if last.replace(state) == Some(state) {
            continue;
        }
        if kept_bytes(automata, state)? >= LOOPS_WIDELY {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The known state that goes on as `state` does for most first bytes, if there is one, and the bytes for which it does not.
fn most_similar<'k>(
    automata: &mut Automata,
    known: &'k [Known],
    state: StateId,
    (first_bytes, wanted): (ByteSet, Wanted),
) -> Result<Option<(&'k Known, ByteSet)>, LimitExceeded> {
    let mut best: Option<(&Known, ByteSet)> = None;
    for candidate in known.iter().filter(|known| known.suffices(wanted)) {
        let mut differing = ByteSet::EMPTY;
        for byte in first_bytes.union(automata.first_bytes(candidate.state)?).iter() {
            if automata.step(candidate.state, byte)? != automata.step(state, byte)? {
                differing.insert(byte);
            }
        }
        // Of equals the one that was met last is most likely to be near.
        if best.is_none_or(|(_, least)| differing.len() <= least.len()) {
            best = Some((candidate, differing));
        }
    }
    Ok(best)
}

/// Results in lists.
pub(in crate::masks) struct Listed {
    tokens: Vec<TokenId>,
    ends: Vec<u32>,
    /// Nodes to be entered in a state.
    stack: Vec<(TrieNode, StateId)>,
    /// Nodes looked at, and how many may be.
    pub(in crate::masks) work: usize,
    most_listed: usize,
}

impl Listed {
    /// Nothing yet but some tokens, found by `work`; any number of nodes may be looked at.
    pub(in crate::masks) fn new(tokens: Vec<TokenId>, work: usize) -> Self {
        Self { tokens, ends: Vec::new(), stack: Vec::new(), work, most_listed: usize::MAX }
    }

    pub(in crate::masks) fn finish(self, vocabulary: &Vocabulary) -> Walked {
        let live = LiveTokens::new(self.tokens, vocabulary.size());
        Walked { live, ends: Some(NodeSet::new(self.ends, vocabulary.trie())), work: self.work }
    }

    /// Goes through the subtrees of nodes that were entered in a state, unless these are too many: then some are left on the
    /// stack.
    pub(in crate::masks) fn walk(
        &mut self,
        automata: &mut Automata,
        trie: &TokenTrie,
        entries: &[(TrieNode, StateId)],
    ) -> Result<(), LimitExceeded> {
        self.stack.extend_from_slice(entries);
        while self.work < self.most_listed
            && let Some((node, state)) = self.stack.pop()
        {
            if trie.subtree_end(node).index() - node.index() <= FEW_NODES {
                self.work += self.walk_all(automata, trie, node, state)?;
                continue;
            }
            self.visit(trie, node, automata.is_accepting(state));
            let first_bytes = automata.first_bytes(state)?;
            self.work += 1 + children(automata, trie, node, state, first_bytes, &mut self.stack)?;
        }
        Ok(())
    }

    /// The same, by looking at each node that is not below one where no word goes on.
    fn walk_all(
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
pub(in crate::masks) struct Dense {
    rows: Rows,
    pub(in crate::masks) tokens: TokenRanges,
    /// Empty where nobody asks for them.
    pub(in crate::masks) ends: Vec<u64>,
    /// The cell that led to each node of the path to the current one, by depth.
    path: Vec<u32>,
}

impl Dense {
    /// Nothing yet.
    pub(in crate::masks) fn new(trie: &TokenTrie, wanted: Wanted) -> Self {
        let words = if wanted == Wanted::LiveAndEnds { trie.len().div_ceil(64) } else { 0 };
        Self {
            rows: Rows::default(),
            tokens: TokenRanges::default(),
            ends: vec![0; words],
            path: vec![0; trie.max_depth() + 1],
        }
    }

    /// Goes through the subtree of `node`, which was entered in `state`; returns how many nodes it looked at.
    pub(in crate::masks) fn walk(
        &mut self,
        automata: &mut Automata,
        trie: &TokenTrie,
        node: TrieNode,
        state: StateId,
    ) -> Result<usize, LimitExceeded> {
        let columns = trie.columns();
        let end = columns.subtree_ends[node.index()] as usize;
        // As long as the part that is walked, so that looking at its nodes needs no further check.
        let (subtree_ends, depths) = (&columns.subtree_ends[..end], &columns.depths[..end]);
        let (bytes, groups_below) = (&columns.bytes[..end], &columns.groups_below[..end]);
        let Self { rows, tokens, ends: found_ends, path } = self;
        let (found_ends, path) = (&mut found_ends[..], &mut path[..]);
        let wants_ends = !found_ends.is_empty();
        let ends = if wants_ends { Ends::Count } else { Ends::AreLeftOut };
        let mut cell = rows.of_state(automata, state);
        let mut current = node.index();
        // From here on all nodes before the current one are live.
        let mut live_from = current;
        let mut work = 0;
        while current < end {
            work += 1;
            let below = subtree_ends[current] as usize;
            if cell == Rows::DEAD {
                add_tokens(tokens, trie, live_from..current);
                (current, live_from) = (below, below);
            } else {
                let mut kept = None;
                if below - current >= Rows::WORTH_SKIPPING {
                    let groups = groups_below[current];
                    kept = rows.kept(automata, cell, (bytes[current + 1], groups))?;
                    if kept.is_none() {
                        let below = (groups, below - current);
                        let is_at_home = rows.is_at_home(automata, cell, below, ends)?;
                        kept = is_at_home.then_some(WhichNodes::WholeCharacters);
                    }
                }
                match kept {
                    Some(kept) => {
                        if cell & 1 == 1 && wants_ends {
                            work += trie.set_bits(current..below, kept, found_ends);
                        }
                        current = below;
                    }
                    None => {
                        path[usize::from(depths[current])] = cell;
                        if wants_ends {
                            found_ends[current >> 6] |= u64::from(cell & 1) << (current & 63);
                        }
                        current += 1;
                    }
                }
            }
            if current < end {
                let before = path[usize::from(depths[current]) - 1];
                let byte = bytes[current];
                cell = rows.cells[Rows::cell(before, byte)];
                if cell == Rows::OPEN {
                    cell = rows.fill(automata, before, byte)?;
                }
            }
        }
        add_tokens(tokens, trie, live_from..end);
        Ok(work)
    }
}

/// Adds the tokens of some nodes in a row.
#[inline]
fn add_tokens(tokens: &mut TokenRanges, trie: &TokenTrie, nodes: std::ops::Range<usize>) {
    if !nodes.is_empty() {
        let starts = trie.columns().token_starts;
        tokens.add(starts[nodes.start] as usize..starts[nodes.end] as usize);
    }
}
