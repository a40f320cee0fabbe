//! Masks of sets inside embedded grammars.
//!
//! The mask of a state inside an embedded grammar has three parts:
//!
//! - tokens that stay inside: the mask that the grammar's own engine gives for its state, cached by that state;
//! - tokens that leave it: those below the trie nodes where its text is complete, and whose next byte can follow. The
//!   masks of a grammar with a lexer have these nodes beside the tokens. In other engines the nodes are tried. What
//!   follows usually begins with one or two bytes, over which few edges of the trie lead; the walk to them is pruned
//!   where the own mask lacks a token on the path;
//! - tokens after the text, if it is complete before the token: another item of the set, without the embedded grammar.
//!
//! Where an embedded grammar may begin within a token, a walk along the nodes below the beginnings computes the summary,
//! as of other symbols.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use grammask_automata::ByteSet;
use grammask_diagnostics::LimitExceeded;
use grammask_engine::{ExitsRequest, MaskOutcome, MaskRequest, MaskStrategy, TokensAndExits};
use grammask_grammar::EmbeddedId;
use grammask_vocabulary::{LiveTokens, NodeSet, NodeSetRef, TokenSet, TrieNode};

use super::budget::ComposeError;
use super::computation::MaskComputation;
use super::embedded_masks::{EmbeddedMasks, ExitNode, ExitTrie};
use super::summary::SymbolSummary;
use crate::lowering::{Advance, DotId, Symbol};
use crate::recognizer::{ContinuationId, EmbeddedState, Item, ItemState};

/// Maximum number of memoised exits.
const MAX_EXITS: usize = 64;

impl MaskComputation<'_> {
    /// The live tokens of a state inside an embedded grammar, and the nodes where its text ends and the symbol after
    /// the dot of some item in this state may continue. Items in one state share the tables of one set of bytes.
    pub(super) fn inside_embedded(
        &mut self,
        item_state: ItemState,
        items: &[Item],
    ) -> Result<SymbolSummary, ComposeError> {
        let Some(state) = self.machine.embedded.get(item_state) else { return Ok(self.empty()) };
        let mut bytes_after = None;
        for item in items.iter().filter(|item| item.state == item_state) {
            if !self.is_last(item.dot) {
                let bytes = self.bytes_after(item.dot, item.continuation)?;
                bytes_after = Some(bytes.union(bytes_after.unwrap_or(ByteSet::EMPTY)));
            }
        }
        let limited = self.tokens_left.iter().find(|(known, _)| *known == item_state);
        let tokens_left = limited.map(|&(_, left)| left).filter(|&left| left < u32::MAX);
        let Some(bytes) = bytes_after else {
            let live = self.mask_inside(state)?;
            let live = self.ended_in_time(live, state, tokens_left)?;
            return Ok(SymbolSummary { live, ends: self.nothing.clone(), values: None });
        };
        self.budget.require_full_effort()?;
        let request = ExitsRequest { set: state.set, vocabulary: self.vocabulary, next_bytes: bytes };
        let source = &self.embedded_masks[EmbeddedId::index(state.grammar)].source;
        if let Some(TokensAndExits { tokens, exits }) =
            source.compute_exits(&request, self.budget.deadline())?
        {
            let ends = self.node_set(exits.iter().map(|node| node.0).collect());
            let live = self.ended_in_time(tokens, state, tokens_left)?;
            return Ok(SymbolSummary { live, ends, values: None });
        }
        let live = self.mask_inside(state)?;
        let exits = self.exits(bytes)?;
        let engine = self.machine.embedded.engine(state.grammar);
        let trie = self.trie;
        // If the grammar counts tokens, a token may be illegal although its bytes are legal.
        let prunes = !engine.counts_tokens();
        let mut ends = Vec::new();
        let mut path = vec![state.set];
        let mut position = 0;
        while let Some(&ExitNode { node, end, is_exit }) = exits.nodes.get(position) {
            self.budget.spend(2)?;
            let is_pruned = prunes && trie.tokens(node).first().is_some_and(|&token| !live.contains(token));
            let depth = usize::from(trie.depth(node));
            path.truncate(depth);
            let next = match is_pruned {
                true => None,
                false => engine.step(path[depth - 1], trie.byte(node))?,
            };
            let Some(next) = next else {
                position = end as usize;
                continue;
            };
            path.push(next);
            if is_exit && engine.is_complete(next) {
                ends.push(node.0);
            }
            position += 1;
        }
        let live = self.ended_in_time(live, state, tokens_left)?;
        Ok(SymbolSummary { live, ends: self.node_set(ends), values: None })
    }

    /// The summary of an embedded grammar that begins at some nodes, none of them the root, and has a maximum number of
    /// tokens.
    pub(super) fn embedded(
        &mut self,
        state: ItemState,
        max_tokens: Option<u32>,
        nodes: &NodeSetRef,
    ) -> Result<SymbolSummary, ComposeError> {
        let Some(state) = self.machine.embedded.get(state) else { return Ok(self.empty()) };
        // Where no token goes on, the engine need not be made.
        if max_tokens == Some(0)
            || nodes.child_bytes().is_empty()
            || !self.first_bytes_of_embedded(state)?.intersects(nodes.child_bytes())
        {
            return Ok(self.empty());
        }
        if let Some(known) = self.summaries.embedded.begun.get(&(state, max_tokens, nodes.id())) {
            return Ok(known.clone());
        }
        let scarce = self.scarce_tokens(state, max_tokens)?;
        let engine = self.machine.embedded.engine(state.grammar);
        let trie = self.trie;
        let mut live = TokenSet::new(self.vocabulary.size());
        let mut ends = Vec::new();
        let mut path = Vec::new();
        for root in nodes.iter() {
            let depth_of_root = usize::from(trie.depth(root));
            path.clear();
            path.push(state.set);
            let mut node = TrieNode(root.0 + 1);
            while node < trie.subtree_end(root) {
                self.budget.spend(2)?;
                let depth = usize::from(trie.depth(node)) - depth_of_root;
                path.truncate(depth);
                let Some(next) = engine.step(path[depth - 1], trie.byte(node))? else {
                    node = trie.subtree_end(node);
                    continue;
                };
                path.push(next);
                let tokens = trie.tokens(node);
                if !tokens.is_empty() && self.ends_after(EmbeddedState { set: next, ..state }, scarce)? {
                    live.extend(tokens.iter().copied());
                }
                if engine.is_complete(next) && trie.has_children(node) {
                    ends.push(node.0);
                }
                node = TrieNode(node.0 + 1);
            }
        }
        // Nodes below different roots may coincide.
        ends.sort_unstable();
        ends.dedup();
        let live = LiveTokens::from_set(live);
        let summary = SymbolSummary { live, ends: self.node_set(ends), values: None };
        self.summaries.add_bytes(&summary.live, nodes.memory_bytes() + summary.ends.memory_bytes() + 128);
        self.summaries.embedded.begun.insert((state, max_tokens, nodes.id()), summary.clone());
        Ok(summary)
    }

    /// The bytes with which a text of a state begins.
    pub(super) fn first_bytes_of_embedded(&mut self, state: EmbeddedState) -> Result<ByteSet, LimitExceeded> {
        if let Some(&known) = self.summaries.embedded.first_bytes.get(&state) {
            return Ok(known);
        }
        let engine = self.machine.embedded.engine(state.grammar);
        let mut can_begin = [false; 256];
        for (class, &byte) in engine.byte_of_class().iter().enumerate() {
            can_begin[class] = engine.step(state.set, byte)?.is_some();
        }
        let classes = engine.class_of_byte();
        let bytes =
            (0..=u8::MAX).filter(|&byte| can_begin[usize::from(classes[usize::from(byte)])]).collect();
        self.summaries.embedded.first_bytes.insert(state, bytes);
        Ok(bytes)
    }

    /// The own mask of a state.
    fn mask_inside(&mut self, state: EmbeddedState) -> Result<LiveTokens, ComposeError> {
        let EmbeddedState { grammar, set } = state;
        let masks: &EmbeddedMasks = &self.embedded_masks[EmbeddedId::index(grammar)];
        if let Some(mask) = masks.cache.find(set) {
            return Ok(mask.live_tokens().clone());
        }
        let request = MaskRequest {
            set,
            vocabulary: self.vocabulary,
            end_tokens: None,
            strategy: MaskStrategy::Summaries,
            cache: &masks.cache,
            max_cache_bytes: self.max_cache_bytes,
        };
        match masks.source.compute(&request, self.budget.effort(), self.budget.deadline())? {
            MaskOutcome::Mask(mask) => Ok(mask.live_tokens().clone()),
            MaskOutcome::DeadEnd => Ok(LiveTokens::none()),
            MaskOutcome::Declined => Err(ComposeError::TooMuchWork),
        }
    }

    /// The bytes that can come after the symbol after a dot.
    fn bytes_after(&mut self, dot: DotId, continuation: ContinuationId) -> Result<ByteSet, ComposeError> {
        let form = self.machine.form;
        let Advance { completes, next } = form.advance(dot);
        let mut dots: Vec<(DotId, ContinuationId)> =
            next.map(|next| (next, continuation)).into_iter().collect();
        if completes {
            dots.extend(self.machine.continuations.get(continuation).entries());
        }
        let mut bytes = ByteSet::EMPTY;
        let mut seen = FxHashSet::default();
        while let Some((dot, continuation)) = dots.pop() {
            if form.is_scope_end(dot) {
                if seen.insert(continuation) {
                    dots.extend(self.machine.continuations.get(continuation).entries());
                }
                continue;
            }
            for dot in form.expanded(dot)? {
                bytes = bytes.union(self.first_bytes_of(form.symbol_after(dot))?);
            }
        }
        Ok(bytes)
    }

    /// The bytes with which a symbol can begin.
    fn first_bytes_of(&mut self, symbol: Symbol) -> Result<ByteSet, ComposeError> {
        match symbol {
            Symbol::Terminal(id) => self.first_bytes_of_start(self.machine.starts[id.index()]),
            Symbol::Nonterminal(id) => self.first_bytes_of_nonterminal(id.index()),
        }
    }

    /// The bytes with which the terminal of a start state can begin; none if it matches tokens as a whole.
    pub(super) fn first_bytes_of_start(&mut self, start: ItemState) -> Result<ByteSet, ComposeError> {
        if let Some(state) = self.machine.embedded.get(start) {
            return Ok(self.first_bytes_of_embedded(state)?);
        }
        match start.automaton_state() {
            Some(state) => self.first_bytes(state),
            None => Ok(ByteSet::EMPTY),
        }
    }

    fn exits(&mut self, bytes: ByteSet) -> Result<Arc<ExitTrie>, ComposeError> {
        if let Some(known) = self.summaries.embedded.exits.get(&bytes) {
            return Ok(known.clone());
        }
        self.budget.require_full_effort()?;
        let exits = Arc::new(ExitTrie::new(bytes, self.trie));
        if self.summaries.embedded.exits.len() < MAX_EXITS {
            self.summaries.bytes += exits.nodes.len() * size_of::<ExitNode>() + 64;
            self.summaries.embedded.exits.insert(bytes, exits.clone());
        }
        Ok(exits)
    }

    fn node_set(&self, nodes: Vec<u32>) -> NodeSetRef {
        match nodes.is_empty() {
            true => self.nothing.clone(),
            false => self.vocabulary.summaries().intern(NodeSet::new(nodes, self.trie)),
        }
    }
}
