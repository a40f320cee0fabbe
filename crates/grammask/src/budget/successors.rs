//! The states after each legal token.

use rustc_hash::FxHashMap;

use grammask_collections::byte_set::ByteSet;
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{Engine, SetId, TokenEvent};
use grammask_vocabulary::{TokenId, TokenTrie, TrieNode, Vocabulary};

/// Takes legal tokens, and the state after them.
type Visit<'a> = dyn FnMut(SetId, &[TokenId]) -> Result<(), LimitExceeded> + 'a;

/// Minimum number of nodes of a subtree that is compared with the bytes on which a state loops to itself.
const MIN_LOOP_NODES: usize = 16;

/// A walk to the states after each legal token.
pub(super) struct SuccessorWalk<'a> {
    pub(super) engine: &'a dyn Engine,
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) deadline: &'a Deadline,
    /// The maximum size of the states that are read.
    pub(super) max_size: Option<usize>,
}

impl SuccessorWalk<'_> {
    /// Calls `visit` with the legal tokens of a state and the state after them, several times for a state that several
    /// groups of tokens lead to. End tokens are visited only if `reads_end_tokens`, and then as any other token.
    ///
    /// Cost: a memoised step per node of the trie whose prefix is legal.
    ///
    /// # Errors
    /// When a limit is exceeded, or when `visit` fails.
    pub(super) fn visit(
        &self,
        set: SetId,
        reads_end_tokens: bool,
        visit: &mut Visit<'_>,
    ) -> Result<(), LimitExceeded> {
        if self.engine.token_matches(set)?.is_empty() {
            return self.visit_by_bytes(set, visit);
        }
        // Tokens that the grammar names are read by their bytes and as such.
        let mut by_bytes: FxHashMap<TokenId, SetId> = FxHashMap::default();
        self.visit_by_bytes(set, &mut |next, tokens| {
            by_bytes.extend(tokens.iter().map(|&token| (token, next)));
            Ok(())
        })?;
        self.visit_by_tokens(set, reads_end_tokens, &by_bytes, visit)
    }

    fn visit_by_tokens(
        &self,
        set: SetId,
        reads_end_tokens: bool,
        by_bytes: &FxHashMap<TokenId, SetId>,
        visit: &mut Visit<'_>,
    ) -> Result<(), LimitExceeded> {
        let Self { engine, vocabulary, .. } = *self;
        for token in (0..vocabulary.size() as u32).map(TokenId) {
            if !reads_end_tokens && vocabulary.is_eos(token) {
                continue;
            }
            let event = TokenEvent { id: token, has_text: vocabulary.token(token).is_some() };
            let next = match (by_bytes.get(&token).copied(), engine.step_token(set, event)?) {
                (Some(by_bytes), Some(by_token)) => Some(engine.union(by_bytes, by_token)?),
                (by_bytes, by_token) => by_bytes.or(by_token),
            };
            if let Some(next) = next {
                visit(next, &[token])?;
            }
        }
        Ok(())
    }

    /// Visits the tokens that are legal by their bytes.
    fn visit_by_bytes(&self, set: SetId, visit: &mut Visit<'_>) -> Result<(), LimitExceeded> {
        let Self { engine, vocabulary, deadline, max_size } = *self;
        let trie = vocabulary.trie();
        let mut loop_bytes = LoopBytes::new(engine);
        // The state at each depth of the path to the current node; the root is at depth 0.
        let mut path: Vec<SetId> = vec![set];
        let mut node = TrieNode(1);
        let mut new_steps = engine.new_steps();
        while node.index() < trie.len() {
            if new_steps != engine.new_steps() {
                new_steps = engine.new_steps();
                deadline.check()?;
            }
            let depth = usize::from(trie.depth(node));
            let (before, byte) = (path[depth - 1], trie.byte(node));
            let next = engine.step(before, byte)?;
            if let Some(max_size) = max_size
                && next.is_some_and(|next| engine.state_size(next) > max_size)
            {
                return Err(LimitExceeded::new("set_items", max_size));
            }
            let Some(next) = next else {
                node = trie.subtree_end(node);
                continue;
            };
            let loops = loop_bytes.loops_below(trie, node, next)?;
            let tokens = if loops { trie.subtree_tokens(node) } else { trie.tokens(node) };
            if !tokens.is_empty()
                && let Some(after) = engine.end_token(next)?
            {
                visit(after, tokens)?;
            }
            if loops {
                node = trie.subtree_end(node);
                continue;
            }
            path.truncate(depth);
            path.push(next);
            node = TrieNode(node.0 + 1);
        }
        Ok(())
    }
}

/// For each state the bytes on which it loops to itself.
pub(super) struct LoopBytes<'a> {
    engine: &'a dyn Engine,
    bytes: FxHashMap<SetId, ByteSet>,
}

impl<'a> LoopBytes<'a> {
    pub(super) fn new(engine: &'a dyn Engine) -> Self {
        Self { engine, bytes: FxHashMap::default() }
    }

    /// Whether a state loops to itself on all bytes below a node. Not said of small subtrees.
    pub(super) fn loops_below(
        &mut self,
        trie: &TokenTrie,
        node: TrieNode,
        set: SetId,
    ) -> Result<bool, LimitExceeded> {
        match trie.bytes_below(node).filter(|_| trie.subtree_len(node) >= MIN_LOOP_NODES) {
            Some(below) => self.include(set, below),
            None => Ok(false),
        }
    }

    /// Whether a state loops to itself on all bytes of a set.
    fn include(&mut self, set: SetId, bytes: ByteSet) -> Result<bool, LimitExceeded> {
        let loops = match self.bytes.get(&set) {
            Some(loops) => *loops,
            None => {
                let loops = self.find(set)?;
                self.bytes.insert(set, loops);
                loops
            }
        };
        Ok(bytes.without(loops).is_empty())
    }

    fn find(&self, set: SetId) -> Result<ByteSet, LimitExceeded> {
        bytes_by_step(self.engine, set, |next| next == Some(set))
    }
}

/// The bytes after which the state satisfies a predicate.
pub(super) fn bytes_by_step(
    engine: &dyn Engine,
    set: SetId,
    is_included: impl Fn(Option<SetId>) -> bool,
) -> Result<ByteSet, LimitExceeded> {
    let steps = engine.byte_of_class().iter().map(|&byte| Ok(is_included(engine.step(set, byte)?)));
    let of_class = steps.collect::<Result<Vec<bool>, LimitExceeded>>()?;
    let is_included = |byte: &u8| of_class[usize::from(engine.class_of_byte()[usize::from(*byte)])];
    Ok(ByteSet::ALL.iter().filter(is_included).collect())
}
