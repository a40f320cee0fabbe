//! Summaries of nonterminals, as least fixpoints over their left corners.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::lowering::{Advance, DotId, Symbol};
use crate::recognizer::{CompletedValue, Lists};
use grammask_automata::{ByteSet, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{NonterminalId, Terminal, TerminalId, ValueKind, ValueSupply};
use grammask_vocabulary::{LiveTokens, NodeSetRef, TrieNode};

use super::budget::ComposeError;
use super::computation::MaskComputation;
use super::summary::SymbolSummary;
use super::tuning::{MAX_NESTING, WORK_PER_LOOKUP, WORK_PER_UNION};
use super::values::{ValueNodes, united};
use super::worklist::{ClosurePlace, Completed, LeftCorner, LeftCornerClosure, Worklist, WorklistKey};

impl<K: WorklistKey> Worklist<K> {
    /// A key with nodes at which it was completed and which were not returned before.
    pub(super) fn next_completed(&mut self, computation: &MaskComputation<'_>) -> Option<(K, NodeSetRef)> {
        let position = self.pending.pop_front()?;
        let Completed { key, pending, .. } = &mut self.completed[position];
        let nodes = std::mem::take(pending).finish(computation.trie, computation.vocabulary.summaries())?;
        Some((*key, nodes))
    }

    /// A production that completes `key` ends at `ends`.
    pub(super) fn complete(&mut self, computation: &mut MaskComputation<'_>, key: K, ends: &NodeSetRef) {
        computation.budget.add(WORK_PER_UNION);
        let (trie, store) = (computation.trie, computation.vocabulary.summaries());
        let position = self.position(key);
        let completed = &mut self.completed[position];
        if let Some(new) = completed.nodes.add(ends, trie, store)
            && completed.has_followers
        {
            if completed.pending.is_empty() {
                self.pending.push_back(position);
            }
            let _ = completed.pending.add(&new, trie, store);
        }
    }

    /// The symbol after `dot` ends at `ends`.
    pub(super) fn advance(
        &mut self,
        computation: &mut MaskComputation<'_>,
        dot: DotId,
        key: K,
        ends: NodeSetRef,
    ) -> Result<(), LimitExceeded> {
        if ends.is_empty() {
            return Ok(());
        }
        let Advance { completes, next } = computation.machine.form.advance(dot);
        if completes {
            self.complete(computation, key, &ends);
        }
        if let Some(next) = next {
            if computation.machine.form.is_scope_end(next) {
                self.complete(computation, key, &ends);
                return Ok(());
            }
            for next in computation.machine.form.expanded(next)? {
                self.dots.push((next, key, ends.clone()));
            }
        }
        Ok(())
    }

    /// Processes a dot: adds the live tokens of the symbol after it, and advances it. Returns whether there was one.
    pub(super) fn process_dot(
        &mut self,
        computation: &mut MaskComputation<'_>,
        nesting: usize,
    ) -> Result<bool, ComposeError> {
        let Some((dot, key, nodes)) = self.dots.pop() else { return Ok(false) };
        self.process(computation, dot, key, &nodes, nesting)?;
        Ok(true)
    }

    fn process(
        &mut self,
        computation: &mut MaskComputation<'_>,
        dot: DotId,
        key: K,
        nodes: &NodeSetRef,
        nesting: usize,
    ) -> Result<(), ComposeError> {
        if let Some(SymbolSummary { live, ends, .. }) = computation.repetition(dot, nodes)? {
            self.live.push(live);
            self.complete(computation, key, &ends);
            return Ok(());
        }
        let SymbolSummary { live, ends, values } = computation.symbol(dot, nodes, nesting)?;
        self.live.push(live);
        self.values.extend(values);
        Ok(self.advance(computation, dot, key, ends)?)
    }
}

impl MaskComputation<'_> {
    /// The summary of the symbol after a dot.
    fn symbol(
        &mut self,
        dot: DotId,
        nodes: &NodeSetRef,
        nesting: usize,
    ) -> Result<SymbolSummary, ComposeError> {
        self.budget.spend(WORK_PER_LOOKUP)?;
        match self.machine.form.symbol_after(dot) {
            Symbol::Terminal(id) => {
                let start = self.machine.starts[id.index()];
                match start.automaton_state() {
                    Some(state) => self.terminal(state, nodes),
                    // An embedded grammar, or a terminal that matches tokens as a whole.
                    None => {
                        let definition = &self.machine.form.terminals[id.index()];
                        let max_tokens = match definition.terminal {
                            Terminal::Embedded { tokens, .. } => tokens,
                            _ => None,
                        };
                        self.embedded(start, max_tokens, nodes)
                    }
                }
            }
            Symbol::Nonterminal(id) => match self.inexhaustible_start(id.index()) {
                Some(state) => {
                    let summary = self.terminal(state, nodes)?;
                    Ok(SymbolSummary { values: self.completed_values(state, nodes)?, ..summary })
                }
                None => self.nonterminal(id.index(), nodes, nesting),
            },
        }
    }

    /// The summary of a nonterminal.
    fn nonterminal(
        &mut self,
        nonterminal: usize,
        nodes: &NodeSetRef,
        nesting: usize,
    ) -> Result<SymbolSummary, ComposeError> {
        let place = self.place(nodes);
        let closure = self.closure(nonterminal, place)?;
        if !closure.first_bytes.intersects(nodes.child_bytes()) {
            return Ok(self.empty());
        }
        let key = (nonterminal, nodes.id());
        if let Some(cached) = self.summaries.nonterminals.get(&key) {
            return Ok(cached.clone());
        }
        if nesting >= MAX_NESTING {
            return Err(ComposeError::TooMuchWork);
        }
        self.budget.spend(closure.members.len() * WORK_PER_LOOKUP / 8)?;
        let mut worklist = Worklist::default();
        for (member, parents) in closure.parents.iter().enumerate() {
            worklist.add_key(member, !parents.is_empty());
        }
        for &(LeftCorner { dot, member }, first_bytes) in &closure.terminals {
            if first_bytes.intersects(nodes.child_bytes()) {
                worklist.process(self, dot, member as usize, nodes, nesting + 1)?;
            }
        }
        loop {
            if worklist.process_dot(self, nesting + 1)? {
                continue;
            }
            let Some((member, nodes)) = worklist.next_completed(self) else { break };
            for parent in &closure.parents[member] {
                worklist.advance(self, parent.dot, parent.member as usize, nodes.clone())?;
            }
        }
        let store = self.vocabulary.summaries();
        let live = LiveTokens::union(&worklist.live, self.vocabulary.size(), store);
        let ends = std::mem::take(&mut worklist.completed[0].nodes).finish(self.trie, store);
        let ends = ends.unwrap_or_else(|| self.nothing.clone());
        if closure.begins_with_value {
            worklist.values.extend(self.begun_values(&closure.members, nodes)?);
        }
        let values = united(&worklist.values);
        let summary = SymbolSummary { live, ends, values };
        self.summaries.add_bytes(&summary.live, nodes.memory_bytes() + 128);
        self.summaries.nonterminals.insert(key, summary.clone());
        Ok(summary)
    }

    /// The bytes with which a nonterminal can begin.
    pub(super) fn first_bytes_of_nonterminal(&mut self, nonterminal: usize) -> Result<ByteSet, ComposeError> {
        Ok(self.closure(nonterminal, ClosurePlace::Anywhere)?.first_bytes)
    }

    /// Where a closure begins, if it begins at these nodes.
    fn place(&self, nodes: &NodeSetRef) -> ClosurePlace {
        match self.machine.form.repeats_values() && nodes.id() == self.root.id() {
            true => ClosurePlace::Root,
            false => ClosurePlace::Anywhere,
        }
    }

    /// Whether a nonterminal is a value with a condition.
    fn has_condition(&self, nonterminal: usize) -> bool {
        let condition = self.machine.form.value_condition(nonterminal);
        condition.is_some_and(|condition| condition.kind.is_conditional())
    }

    /// The nodes of the values with conditions among some nonterminals, where these begin at `nodes`. The root is left out:
    /// the values that begin there are known.
    fn begun_values(
        &mut self,
        nonterminals: &[NonterminalId],
        nodes: &NodeSetRef,
    ) -> Result<Option<Arc<ValueNodes>>, ComposeError> {
        let (mut first_bytes, mut values) = (ByteSet::EMPTY, Vec::new());
        for nonterminal in nonterminals.iter().map(|id| id.index()) {
            if !self.has_condition(nonterminal) {
                continue;
            }
            match self.inexhaustible_start(nonterminal) {
                Some(state) => values.extend(self.completed_values(state, nodes)?),
                None => {
                    let closure = self.closure(nonterminal, ClosurePlace::Anywhere)?;
                    first_bytes = first_bytes.union(closure.first_bytes);
                }
            }
        }
        let mut begun: Vec<TrieNode> = Vec::new();
        if first_bytes.intersects(nodes.child_bytes()) {
            for node in after_root(nodes) {
                let children = self.trie.children_by_byte(node);
                let begins = first_bytes.intersection(children.bytes());
                begun.extend(begins.iter().filter_map(|byte| children.get(byte)));
            }
        }
        self.budget.spend(begun.len())?;
        if !begun.is_empty() {
            values.push(Arc::new(ValueNodes { begun: begun.into(), complete: Box::default() }));
        }
        Ok(united(&values))
    }

    /// The initial state of a nonterminal that is an inexhaustible fresh value of one terminal; `None` for others.
    fn inexhaustible_start(&self, nonterminal: usize) -> Option<StateId> {
        if !self.machine.has_values {
            return None;
        }
        let form = self.machine.form;
        let condition = form.value_condition(nonterminal)?;
        if condition.kind != ValueKind::Fresh || condition.supply != ValueSupply::Inexhaustible {
            return None;
        }
        self.machine.starts[form.terminal_of_value(nonterminal)?.index()].automaton_state()
    }

    /// The nodes at which an inexhaustible value of one terminal is complete that begins at some nodes, except for the root;
    /// also nodes at which words are complete that the terminal excludes.
    fn completed_values(
        &mut self,
        start: StateId,
        nodes: &NodeSetRef,
    ) -> Result<Option<Arc<ValueNodes>>, ComposeError> {
        if let Some(known) = self.summaries.completed_values.get(&(start, nodes.id())) {
            return Ok(known.clone());
        }
        let mut complete: Vec<CompletedValue> = Vec::new();
        for byte in self.first_bytes(start)?.intersection(nodes.child_bytes()).iter() {
            let Some(next) = self.machine.automata.step(start, byte)? else { continue };
            let next = self.without_excluded_words(next)?;
            for first in after_root(nodes) {
                self.budget.spend(1)?;
                if let Some(child) = self.trie.child(first, byte) {
                    let words = self.words_below(next, child)?;
                    complete.extend(words.iter().map(|&node| CompletedValue { node, first }));
                }
            }
        }
        self.summaries.bytes += size_of_val(&complete[..]) + 64;
        let values = (!complete.is_empty())
            .then(|| Arc::new(ValueNodes { begun: Box::default(), complete: complete.into() }));
        self.summaries.completed_values.insert((start, nodes.id()), values.clone());
        Ok(values)
    }

    /// The state that also accepts the words that a state excludes, so that objects with different declared names share
    /// their nodes.
    fn without_excluded_words(&mut self, state: StateId) -> Result<StateId, ComposeError> {
        let automata = &mut *self.machine.automata;
        let term = automata.term(state);
        let Some(exclusion) = automata.terms_mut().exclusion(term) else { return Ok(state) };
        Ok(automata.start(exclusion.wider)?.unwrap_or(state))
    }

    /// The nodes at and below a node, entered in `state`, at which a word is complete. Summaries have those only that have
    /// children.
    fn words_below(&mut self, state: StateId, node: TrieNode) -> Result<Arc<[TrieNode]>, ComposeError> {
        if let Some(known) = self.summaries.words_below.get(&(state, node)) {
            return Ok(known.clone());
        }
        let mut complete = Vec::new();
        let mut stack = vec![(node, state)];
        while let Some((node, state)) = stack.pop() {
            self.budget.spend(1)?;
            if self.machine.automata.is_accepting(state) {
                complete.push(node);
            }
            for child in self.trie.children(node) {
                let next = self.machine.automata.step(state, self.trie.byte(child))?;
                stack.extend(next.map(|next| (child, next)));
            }
        }
        let complete: Arc<[TrieNode]> = complete.into();
        self.summaries.bytes += size_of_val(&complete[..]) + 64;
        self.summaries.words_below.insert((state, node), complete.clone());
        Ok(complete)
    }

    fn closure(
        &mut self,
        nonterminal: usize,
        place: ClosurePlace,
    ) -> Result<Arc<LeftCornerClosure>, ComposeError> {
        if let Some(cached) = self.summaries.closures.get(&(nonterminal, place)) {
            return Ok(cached.clone());
        }
        let (left_corners, form) = (self.machine.left_corners, self.machine.form);
        let is_left_out = |nonterminal: NonterminalId| {
            let condition = form.value_condition(nonterminal.index());
            place == ClosurePlace::Root
                && condition.is_some_and(|condition| condition.kind == ValueKind::Repeated)
        };
        let first = NonterminalId::new(nonterminal);
        let mut members = vec![first];
        let mut positions: FxHashMap<NonterminalId, usize> = FxHashMap::default();
        // Values are seen through: the relation has them as terminals.
        let corner_of_value = |&(dot, terminal): &(DotId, TerminalId)| {
            let symbol = (terminal.index() >= form.terminals().len()).then(|| form.symbol_after(dot))?;
            if let Symbol::Nonterminal(id) = symbol { Some((id, dot)) } else { None }
        };
        let children = |member: NonterminalId| {
            let of_values = left_corners.terminals[member.index()].iter().filter_map(corner_of_value);
            left_corners.nonterminals[member.index()].iter().copied().chain(of_values)
        };
        if children(first).next().is_some() {
            positions.insert(first, 0);
        }
        // Pairs of the position of a child and its parent.
        let mut corners: Vec<(usize, LeftCorner)> = Vec::new();
        let mut next = 0;
        while let Some(&member) = members.get(next) {
            self.budget.spend(WORK_PER_LOOKUP)?;
            if is_left_out(member) {
                next += 1;
                continue;
            }
            for (child, dot) in children(member) {
                let position = *positions.entry(child).or_insert_with(|| {
                    members.push(child);
                    members.len() - 1
                });
                // Members are nonterminals, which have 32-bit numbers.
                corners.push((position, LeftCorner { dot, member: next as u32 }));
            }
            next += 1;
        }
        corners.sort_by_key(|&(position, _)| position);
        let mut corners = corners.into_iter().peekable();
        let mut parents = Lists::with_capacity(members.len());
        for position in 0..members.len() {
            while let Some((_, parent)) = corners.next_if(|&(child, _)| child == position) {
                parents.push(parent);
            }
            parents.end_list();
        }
        let (mut terminals, mut first_bytes) = (Vec::new(), ByteSet::EMPTY);
        for (position, &member) in members.iter().enumerate() {
            if is_left_out(member) {
                continue;
            }
            for &(dot, _) in &left_corners.terminals[member.index()] {
                let Symbol::Terminal(terminal) = form.symbol_after(dot) else { continue };
                let own = self.first_bytes_of_start(self.machine.starts[terminal.index()])?;
                if own == ByteSet::EMPTY {
                    // A terminal that matches tokens as a whole.
                    continue;
                }
                first_bytes = first_bytes.union(own);
                terminals.push((LeftCorner { dot, member: position as u32 }, own));
            }
        }
        let begins_with_value = members.iter().any(|member| self.has_condition(member.index()));
        let closure = Arc::new(LeftCornerClosure {
            members: members.into(),
            parents: parents.finish(),
            terminals: terminals.into(),
            first_bytes,
            begins_with_value,
        });
        self.summaries.bytes += closure.members.len() * 32 + closure.terminals.len() * 48;
        self.summaries.closures.insert((nonterminal, place), closure.clone());
        Ok(closure)
    }
}

/// The nodes of a set except for the root: the values that begin there are known.
fn after_root(nodes: &NodeSetRef) -> impl Iterator<Item = TrieNode> {
    nodes.iter().filter(|&node| node != TrieNode::ROOT)
}
