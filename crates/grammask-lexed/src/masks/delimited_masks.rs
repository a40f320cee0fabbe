//! Tokens that reach into the text of a delimited terminal, after its opening.
//!
//! Spanner tables end where the lexer has found the opening. So the mask of a set has three further parts:
//!
//! - Inside a text, the tokens that stay in it, by a walk along the trie with the engine of the terminal. They are
//!   memoised by state, and hold for each parse.
//! - The tokens that cross the end of a text. The same walk finds the trie nodes where the text ends, and below them the
//!   recogniser walks on; there are few.
//! - Outside of texts, the tokens with an opening and more. The recogniser walks along the trie where the open lexeme may
//!   still become a delimited terminal, and along the tokens that contain a word of an opening and more.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::definition::grammar::LexedGrammar;
use crate::delimited::DelimitedStatesId;
use crate::masks::token_set_store::hash_map_bytes;
use crate::recognizer::{LexedRecognizer, Run};
use grammask_automata::{Automata, ByteSet, StateId};
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_earley::recognizer::Recognizer;
use grammask_engine::{SetId, Steps};
use grammask_grammar::TerminalId;
use grammask_vocabulary::{TokenSet, TokenTrie, TrieNode, Vocabulary};

/// The number of trie nodes between two checks of the deadline.
const NODES_PER_CHECK: usize = 1 << 12;

/// The tokens below a trie node in a state of a text.
#[derive(Debug, Default)]
struct TokensInside {
    /// Ranges of the trie's sorted tokens after which the text is not complete.
    ranges: Vec<(u32, u32)>,
    /// The nodes at which the text ends, in preorder.
    ends: Vec<TrieNode>,
}

/// A state of the text of a terminal at a trie node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct PositionInside {
    terminal: TerminalId,
    state: SetId,
    node: TrieNode,
}

/// The memo tables of one vocabulary.
#[derive(Debug, Default)]
pub(crate) struct DelimitedMasks {
    inside: FxHashMap<PositionInside, Arc<TokensInside>>,
    /// The trie nodes with an opening at or below them, as a bitset; `None` until they are asked for.
    openings: Option<Arc<[u64]>>,
    memory_bytes: usize,
}

impl DelimitedMasks {
    /// Memory in bytes, estimated.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes + hash_map_bytes(&self.inside)
    }
}

impl LexedRecognizer {
    /// Adds the tokens of a set that reach into the text of a delimited terminal.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn add_delimited_tokens(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
        mask: &mut TokenSet,
    ) -> Result<(), LimitExceeded> {
        let trie = vocabulary.trie();
        let Some(set) = self.add_inside(set, TrieNode::ROOT, trie, deadline, mask)? else { return Ok(()) };
        let openings = self.openings(trie, deadline)?;
        // The set at each depth of the path to the current node, without the runs inside a text; whether its open lexeme
        // may become a delimited terminal.
        let mut path: Vec<(SetId, bool)> = vec![(set, self.may_become_delimited(set))];
        let mut node = TrieNode(1);
        let mut visited = 0;
        while node.index() < trie.len() {
            let depth = usize::from(trie.depth(node));
            let (from, may_become_delimited) = path[depth - 1];
            let has_opening = openings[node.index() / 64] >> (node.index() % 64) & 1 == 1;
            let mut next = None;
            if (may_become_delimited || has_opening)
                && trie.has_children(node)
                && let Some(after) = self.step(from, trie.byte(node))?
            {
                next = self.add_inside(after, node, trie, deadline, mask)?;
            }
            let Some(next) = next else {
                node = trie.subtree_end(node);
                continue;
            };
            visited += 1;
            if visited % NODES_PER_CHECK == 0 {
                deadline.check()?;
            }
            path.truncate(depth);
            path.push((next, self.may_become_delimited(next)));
            node = TrieNode(node.0 + 1);
        }
        Ok(())
    }

    /// Adds the tokens below a trie node that are legal in the runs of a set inside a text. Returns the set of the other
    /// runs; `None` if there are none.
    fn add_inside(
        &self,
        set: SetId,
        node: TrieNode,
        trie: &TokenTrie,
        deadline: &Deadline,
        mask: &mut TokenSet,
    ) -> Result<Option<SetId>, LimitExceeded> {
        let runs = self.runs_of(set);
        let mut inside: Vec<(Run, TerminalId, SetId)> = Vec::new();
        {
            let tables = self.lock();
            inside.extend(runs.iter().filter_map(|&run| {
                tables.delimited_text(run).map(|(terminal, state)| (run, terminal, state))
            }));
        }
        if inside.is_empty() {
            return Ok(Some(set));
        }
        for &(run, terminal, state) in &inside {
            let tokens = self.tokens_inside(PositionInside { terminal, state, node }, trie, deadline)?;
            for &(first, end) in &tokens.ranges {
                mask.extend(trie.sorted_ids()[first as usize..end as usize].iter().copied());
            }
            if tokens.ends.is_empty() {
                continue;
            }
            let after = self.lock().after_delimited(self, run, terminal)?;
            let after = self.intern_runs(after)?;
            for &end in &tokens.ends {
                self.add_below(after, end, trie, deadline, mask)?;
            }
        }
        let others: Vec<Run> =
            runs.iter().copied().filter(|run| !inside.iter().any(|(inside, ..)| inside == run)).collect();
        if others.is_empty() { Ok(None) } else { self.intern_runs(others).map(Some) }
    }

    /// Adds the legal tokens at and below a trie node at which the recogniser is in a state.
    fn add_below(
        &self,
        set: SetId,
        top: TrieNode,
        trie: &TokenTrie,
        deadline: &Deadline,
        mask: &mut TokenSet,
    ) -> Result<(), LimitExceeded> {
        mask.extend(trie.tokens(top).iter().copied());
        let above = usize::from(trie.depth(top));
        let mut path = vec![set];
        let mut node = TrieNode(top.0 + 1);
        let mut new_steps = self.new_steps();
        while node < trie.subtree_end(top) {
            if new_steps != self.new_steps() {
                new_steps = self.new_steps();
                deadline.check()?;
            }
            let depth = usize::from(trie.depth(node)) - above;
            let Some(next) = self.step(path[depth - 1], trie.byte(node))? else {
                node = trie.subtree_end(node);
                continue;
            };
            mask.extend(trie.tokens(node).iter().copied());
            path.truncate(depth);
            path.push(next);
            node = TrieNode(node.0 + 1);
        }
        Ok(())
    }

    /// Whether the open lexeme of a run may become a delimited terminal.
    fn may_become_delimited(&self, set: SetId) -> bool {
        self.runs_of(set).iter().any(|run| run.delimited != DelimitedStatesId::NONE)
    }

    /// The tokens below a trie node in a state of a text; memoised.
    fn tokens_inside(
        &self,
        position: PositionInside,
        trie: &TokenTrie,
        deadline: &Deadline,
    ) -> Result<Arc<TokensInside>, LimitExceeded> {
        if let Some(known) = self.lock().delimited_masks.inside.get(&position) {
            return Ok(known.clone());
        }
        let Some(engine) = self.delimited_engines().get(position.terminal) else { return Ok(Arc::default()) };
        let tokens = Arc::new(walk_inside(engine, position, trie, deadline)?);
        let mut tables = self.lock();
        tables.delimited_masks.memory_bytes +=
            64 + size_of_val(&tokens.ranges[..]) + size_of_val(&tokens.ends[..]);
        tables.delimited_masks.inside.insert(position, tokens.clone());
        Ok(tokens)
    }

    /// The trie nodes at or below which a token contains a word of an opening and more, as a bitset.
    fn openings(&self, trie: &TokenTrie, deadline: &Deadline) -> Result<Arc<[u64]>, LimitExceeded> {
        if let Some(known) = &self.lock().delimited_masks.openings {
            return Ok(known.clone());
        }
        let found: Arc<[u64]> =
            find_openings(self.prepared().source(), self.max_automaton_states(), trie, deadline)?.into();
        let masks = &mut self.lock().delimited_masks;
        masks.memory_bytes += size_of_val(&found[..]);
        masks.openings = Some(found.clone());
        Ok(found)
    }
}

/// The walk along the trie below a node with the engine of a terminal.
fn walk_inside(
    engine: &Recognizer,
    PositionInside { state, node: top, .. }: PositionInside,
    trie: &TokenTrie,
    deadline: &Deadline,
) -> Result<TokensInside, LimitExceeded> {
    let token_starts = trie.columns().token_starts;
    let mut tokens = TokensInside::default();
    let mut add = |first: u32, end: u32| match tokens.ranges.last_mut() {
        _ if first == end => {}
        Some(last) if last.1 == first => last.1 = end,
        _ => tokens.ranges.push((first, end)),
    };
    let mut self_loops: FxHashMap<SetId, ByteSet> = FxHashMap::default();
    let above = usize::from(trie.depth(top));
    let mut path = vec![state];
    let mut node = TrieNode(top.0 + 1);
    let mut visited = 0;
    while node < trie.subtree_end(top) {
        visited += 1;
        if visited % NODES_PER_CHECK == 0 {
            deadline.check()?;
        }
        let depth = usize::from(trie.depth(node)) - above;
        let Some(next) = engine.step(path[depth - 1], trie.byte(node))? else {
            node = trie.subtree_end(node);
            continue;
        };
        if engine.is_complete(next) {
            tokens.ends.push(node);
            node = trie.subtree_end(node);
            continue;
        }
        let end = trie.subtree_end(node);
        if let Some(bytes) = trie.bytes_below(node) {
            let loops = match self_loops.get(&next) {
                Some(&known) => known,
                None => {
                    let found = find_self_loops(engine, next)?;
                    self_loops.insert(next, found);
                    found
                }
            };
            if bytes.without(loops).is_empty() {
                add(token_starts[node.index()], token_starts[end.index()]);
                node = end;
                continue;
            }
        }
        add(token_starts[node.index()], token_starts[node.index() + 1]);
        path.truncate(depth);
        path.push(next);
        node = TrieNode(node.0 + 1);
    }
    Ok(tokens)
}

/// The bytes that do not change a state.
fn find_self_loops(engine: &Recognizer, state: SetId) -> Result<ByteSet, LimitExceeded> {
    let mut loops = ByteSet::EMPTY;
    for byte in 0..=u8::MAX {
        if engine.step(state, byte)? == Some(state) {
            loops.insert(byte);
        }
    }
    Ok(loops)
}

/// The trie nodes at or below which a token contains a word of an opening and more, as a bitset.
fn find_openings(
    grammar: &LexedGrammar,
    max_states: usize,
    trie: &TokenTrie,
    deadline: &Deadline,
) -> Result<Vec<u64>, LimitExceeded> {
    let mut automata = Automata::new(grammar.terms.clone(), max_states);
    let mut starts: Vec<StateId> = Vec::new();
    for terminal in grammar.terminals.iter().filter(|terminal| terminal.delimited.is_some()) {
        if let Some(term) = terminal.term {
            starts.extend(automata.start(term)?);
        }
    }
    let mut found = vec![0; trie.len().div_ceil(64)];
    // The states of words of openings that begin within the token, at each depth; the nodes on the path.
    let mut states: Vec<Vec<StateId>> = vec![Vec::new()];
    let mut path: Vec<TrieNode> = vec![TrieNode::ROOT];
    for index in 1..trie.len() {
        if index % NODES_PER_CHECK == 0 {
            deadline.check()?;
        }
        let node = TrieNode(index as u32);
        let depth = usize::from(trie.depth(node));
        let mut next: FxHashSet<StateId> = FxHashSet::default();
        let mut is_opened = false;
        for &state in states[depth - 1].iter().chain(&starts) {
            if let Some(after) = automata.step(state, trie.byte(node))? {
                is_opened |= automata.is_accepting(after);
                next.insert(after);
            }
        }
        states.truncate(depth);
        states.push(next.into_iter().collect());
        path.truncate(depth);
        path.push(node);
        if is_opened && trie.has_children(node) {
            for node in &path {
                found[node.index() / 64] |= 1 << (node.index() % 64);
            }
        }
    }
    Ok(found)
}
