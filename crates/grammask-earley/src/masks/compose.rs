//! Masks composed from symbol summaries.
//!
//! For a symbol X and a set P of trie nodes let
//!
//! ```text
//! ends(X, P) = nodes below some node of P whose path from it is a word of X
//! live(X, P) = tokens below some node of P whose path from it is a nonempty prefix of a word of X
//! ```
//!
//! Then `live(XY, P) = live(X, P) ∪ live(Y, ends(X, P))` and `ends(XY, P) = ends(Y, ends(X, P))`, alternatives are
//! unions, and nonterminals are least fixpoints: nothing is nullable, so nodes only get deeper and the recursion
//! ends. Both are linear in P, so fixpoints and continuations work on what is new only. The mask of a set is the
//! union over the items of its kernel of what is live in the rest of their productions, and in what their
//! continuations resume.
//!
//! It is exact for every context-free grammar, and each part is computed once and kept: terminal summaries with
//! the vocabulary (see [`SummaryCache`](grammask_vocabulary::SummaryCache)), summaries of nonterminals here,
//! by node set.

use rustc_hash::{FxHashMap, FxHashSet};

use std::collections::VecDeque;
use std::sync::Arc;

use crate::lowering::{Advance, DotId, Symbol};
use crate::recognizer::{ContinuationId, Item, ItemState, Machine, SetReader};
use grammask_automata::{ByteSet, StateId};
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{CachedMask, Effort, SetId};
use grammask_vocabulary::{
    CopyBounds, GrowingNodeSet, LiveTokens, NodeSet, NodeSetId, NodeSetRef, Repetition, TerminalSummary,
    TokenSetId, TokenTrie, TrieNode, Vocabulary,
};

use super::equivalence_cache::{Observation, ObservedMasks, View};
use super::terminal::counted_walk::walk_counted;
use super::terminal::exclusion::walk_differences;
use super::terminal::length_limits::Clamped;
use super::terminal::table_walk::{Notes, walk_table};
use super::terminal::walk::{Known, Walked, Wanted, walk_terminal, walk_word};

/// Deepest nesting of nonterminals within one token. The computation recurses that deep at most.
const MOST_NESTED: usize = 200;
/// A code with more states is not recognised as one.
const MOST_CODE_STATES: usize = 64;
/// Work for one mask, in visited trie nodes, after which a walk is the better way.
const MOST_WORK: usize = 4_000_000;
/// How many states with many live tokens are compared with a new one.
const MOST_WIDE: usize = 8;
/// The same for a mask that is to be quick.
const MOST_QUICK_WORK: usize = 1 << 13;
/// How often the work for one mask is halved at the most.
const MOST_SETBACKS: u32 = 6;
/// What it costs to look at a nonterminal that begins another, in visited trie nodes.
const WORK_PER_MEMBER: usize = 32;
/// What it costs to look up a summary, in visited trie nodes.
const WORK_PER_LOOKUP: usize = 32;
/// What it costs to add a node set to another, in visited trie nodes.
const WORK_PER_UNION: usize = 64;
/// Visited trie nodes from which on what is found along a table of words is kept beside the mask that it is for. There is one for
/// each state of a long list, and to walk so little again costs not much more than to look it up.
const WORTH_KEEPING: usize = 64;
/// Work between two looks at the clock.
const WORK_PER_CLOCK: usize = 1 << 16;

/// Why a mask was not composed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComposeError {
    /// A limit of the grammar was passed.
    Limit(LimitExceeded),
    /// It would take too long or nest too deep; a walk is exact and bounded. Or it would not be quick, as it should be.
    TooMuchWork,
}

impl From<LimitExceeded> for ComposeError {
    fn from(limit: LimitExceeded) -> Self {
        Self::Limit(limit)
    }
}

/// Memo table by symbol and node set.
type ByNodes<K, V> = FxHashMap<(K, NodeSetId), V>;

/// What is known about the nonterminals of one compiled grammar.
#[derive(Debug, Default)]
pub(crate) struct RuleSummaries {
    closures: FxHashMap<usize, Arc<Closure>>,
    rules: ByNodes<usize, RuleSummary>,
    terminals: ByNodes<StateId, Arc<TerminalSummary>>,
    /// The last states of which many tokens are live at the beginning of a token.
    wide: Vec<Known>,
    /// Which states begin a code.
    codes: FxHashMap<StateId, bool>,
    /// See [`Composition::longest_completion`].
    pub(super) completions: FxHashMap<StateId, Option<usize>>,
    /// How often these were looked for in vain.
    pub(super) completion_setbacks: u32,
    /// The nonterminals that nothing can follow, once that was asked for.
    last: Option<Box<[bool]>>,
    /// What is live in the copies after a dot, and where the last copy can end.
    repetitions: ByNodes<DotId, RuleSummary>,
    /// How often a walk without a limit was given up.
    pub(super) limited_setbacks: u32,
    /// Intersections that are alike but for the bounds of repetitions, by the one without bounds.
    pub(super) clamped: FxHashMap<([u128; 3], NodeSetId), Clamped>,
    observed: ObservedMasks,
    notes: Notes,
    resumption: Resumption,
    /// The set for which a mask was looked for in vain, with nothing remembered since.
    missed: Option<SetId>,
    /// The bases of the summaries' token sets; the memory of each is counted once.
    token_sets: FxHashSet<TokenSetId>,
    pub(super) bytes: usize,
    /// How often in a row a mask took too much work, less what went well since.
    setbacks: u32,
}

#[derive(Clone, Debug)]
struct RuleSummary {
    live: LiveTokens,
    ends: NodeSetRef,
}

/// The nonterminals that begin a nonterminal, itself first, and how.
#[derive(Debug)]
struct Closure {
    members: Vec<usize>,
    /// For each member the productions of members that begin with it, as (member, first dot).
    parents: Vec<Vec<(usize, DotId)>>,
    /// The dots before terminals at the beginning of productions of members, with the bytes with which these begin.
    starts: Vec<(DotId, usize, ByteSet)>,
    /// Bytes with which the nonterminal can begin.
    first_bytes: ByteSet,
}

impl RuleSummaries {
    /// Estimated memory, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes + self.observed.memory_bytes() + self.notes.memory_bytes()
    }

    /// The mask of a set that is equivalent to the reader's, if one is cached.
    pub(crate) fn recall(&mut self, reader: &SetReader<'_>, vocabulary: &Vocabulary) -> Option<&CachedMask> {
        // A mask is looked up again before it is computed.
        if self.missed == Some(reader.set()) {
            return None;
        }
        let Self { observed, missed, .. } = self;
        let known = observed.recall(view(reader, vocabulary), reader.core());
        *missed = known.is_none().then_some(reader.set());
        known
    }

    /// Bytes that a summary adds with its live tokens.
    fn bytes_of(&mut self, live: &LiveTokens) -> usize {
        let new = live.base().filter(|base| self.token_sets.insert(base.id()));
        live.memory_bytes() + new.map_or(0, |base| size_of_val(base.words()))
    }

    /// Caches the finished mask of all sets with this observation.
    pub(crate) fn remember(&mut self, observation: Observation, mask: CachedMask) {
        self.missed = None;
        self.observed.remember(observation, mask);
    }

    /// The tokens that can follow the reader's set, as sets to be united, and what the result depends on. End tokens and the
    /// tokens of token terminals are left out. No terminal of the grammar may count tokens.
    ///
    /// # Errors
    /// When a limit is passed, or a walk is the better strategy.
    pub(crate) fn compose(
        &mut self,
        reader: &mut SetReader<'_>,
        vocabulary: &Vocabulary,
        effort: Effort,
        deadline: &Deadline,
    ) -> Result<(Vec<LiveTokens>, Observation), ComposeError> {
        let [nothing, root] = vocabulary.summaries().empty_and_root(vocabulary.trie());
        let most_work = match effort {
            Effort::Full => MOST_WORK >> self.setbacks,
            Effort::Immediate => MOST_QUICK_WORK,
        };
        let items = reader.items();
        let mut composition = Composition {
            machine: reader.machine(),
            vocabulary,
            trie: vocabulary.trie(),
            nothing,
            effort,
            most_work,
            known: self,
            deadline,
            work: 0,
            next_look: most_work.min(WORK_PER_CLOCK),
        };
        let result = composition.mask(&items, root);
        // A grammar whose masks take too much work is given less of it, until they go well again.
        self.setbacks = match result {
            Err(ComposeError::TooMuchWork) if effort == Effort::Immediate => self.setbacks,
            Err(ComposeError::TooMuchWork) => (self.setbacks + 2).min(MOST_SETBACKS),
            _ => self.setbacks.saturating_sub(1),
        };
        let (live, resumed) = result?;
        let observation = self.observed.observe(view(reader, vocabulary), reader.core(), &resumed);
        Ok((live, observation))
    }
}

fn view<'a>(reader: &'a SetReader<'_>, vocabulary: &Vocabulary) -> View<'a> {
    let reach = u32::try_from(vocabulary.trie().max_depth()).unwrap_or(u32::MAX);
    View { form: reader.normal_form(), continuations: reader.continuations(), reach }
}

/// One computation.
pub(super) struct Composition<'a> {
    pub(super) machine: Machine<'a>,
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) trie: &'a TokenTrie,
    pub(super) nothing: &'a NodeSetRef,
    pub(super) known: &'a mut RuleSummaries,
    deadline: &'a Deadline,
    effort: Effort,
    work: usize,
    most_work: usize,
    /// Work at which to look at the clock.
    next_look: usize,
}

impl Composition<'_> {
    /// The parts of the mask, and the continuations that it resumed, in order.
    fn mask(
        &mut self,
        items: &[Item],
        root: &NodeSetRef,
    ) -> Result<(Vec<LiveTokens>, Vec<ContinuationId>), ComposeError> {
        // With room for what follows an item, and for the end of the text.
        let mut parts = Vec::with_capacity(items.len() + 3);
        let mut resumption = std::mem::take(&mut self.known.resumption);
        for item in items {
            match item.state.automaton_state() {
                Some(state) => {
                    if self.is_last(item.dot) {
                        parts.push(self.summary(state, root, Wanted::Live)?.live.clone());
                        continue;
                    }
                    let (live, ends) = self.terminal(state, root)?;
                    parts.push(live);
                    resumption.after(self, item.dot, item.continuation, ends)?;
                }
                None => {
                    for dot in self.machine.form.expanded(item.dot)? {
                        resumption.dots.push((dot, item.continuation, root.clone()));
                    }
                }
            }
        }
        loop {
            if let Some((dot, continuation, nodes)) = resumption.dots.pop() {
                if let Some(RuleSummary { live, ends }) = self.repetition(dot, &nodes)? {
                    parts.push(live);
                    resumption.complete(self, continuation, &ends);
                    continue;
                }
                let (live, ends) = self.symbol(dot, &nodes, 0)?;
                parts.push(live);
                resumption.after(self, dot, continuation, ends)?;
            } else if let Some((continuation, nodes)) = resumption.next_continuation(self) {
                for (dot, next) in self.machine.continuations.get(continuation).entries() {
                    for dot in self.machine.form.expanded(dot)? {
                        resumption.dots.push((dot, next, nodes.clone()));
                    }
                }
            } else {
                let seen = resumption.continuations.iter().map(|resumed| resumed.id).collect();
                self.known.resumption = resumption.emptied();
                return Ok((parts, seen));
            }
        }
    }

    /// Whether nothing can follow the symbol after a dot, in any text.
    fn is_last(&mut self, dot: DotId) -> bool {
        let form = self.machine.form;
        let Advance { completes, next } = form.advance(dot);
        if !completes || next.is_some() {
            return false;
        }
        let last = self.known.last.get_or_insert_with(|| form.last_nonterminals());
        last[form.production_of(dot).lhs.index()]
    }

    /// The summary of the symbol after a dot.
    fn symbol(
        &mut self,
        dot: DotId,
        nodes: &NodeSetRef,
        nesting: usize,
    ) -> Result<(LiveTokens, NodeSetRef), ComposeError> {
        self.spend(WORK_PER_LOOKUP)?;
        match self.machine.form.symbol_after(dot) {
            Symbol::Terminal(id) => self.start_terminal(self.machine.starts[id.index()], nodes),
            Symbol::Nonterminal(id) => self.nonterminal(id.index(), nodes, nesting),
        }
    }

    /// The summary of a terminal from its beginning; nothing for terminals that are tokens.
    fn start_terminal(
        &mut self,
        start: ItemState,
        nodes: &NodeSetRef,
    ) -> Result<(LiveTokens, NodeSetRef), ComposeError> {
        match start.automaton_state() {
            Some(state) => self.terminal(state, nodes),
            None => Ok((LiveTokens::none(), self.nothing.clone())),
        }
    }

    /// The summary of a nonterminal: a least fixpoint over the nonterminals that begin it.
    fn nonterminal(
        &mut self,
        nonterminal: usize,
        nodes: &NodeSetRef,
        nesting: usize,
    ) -> Result<(LiveTokens, NodeSetRef), ComposeError> {
        let closure = self.closure(nonterminal)?;
        if !closure.first_bytes.intersects(nodes.child_bytes()) {
            return Ok((LiveTokens::none(), self.nothing.clone()));
        }
        let key = (nonterminal, nodes.id());
        if let Some(known) = self.known.rules.get(&key) {
            return Ok((known.live.clone(), known.ends.clone()));
        }
        if nesting >= MOST_NESTED {
            return Err(ComposeError::TooMuchWork);
        }
        self.spend(closure.members.len() * WORK_PER_LOOKUP / 8)?;
        let mut frame = Frame {
            closure: &closure,
            live: Vec::with_capacity(closure.starts.len()),
            ends: vec![GrowingNodeSet::default(); closure.members.len()],
            dots: Vec::new(),
            grown: VecDeque::new(),
        };
        for &(dot, member, first_bytes) in &closure.starts {
            if first_bytes.intersects(nodes.child_bytes()) {
                frame.dot(self, (dot, member), nodes, nesting)?;
            }
        }
        loop {
            if let Some((dot, member, nodes)) = frame.dots.pop() {
                frame.dot(self, (dot, member), &nodes, nesting)?;
            } else if let Some((member, nodes)) = frame.grown.pop_front() {
                for &(parent, dot) in &closure.parents[member] {
                    frame.after(self, dot, parent, nodes.clone())?;
                }
            } else {
                break;
            }
        }
        let live = LiveTokens::union(&frame.live, self.vocabulary.size(), self.vocabulary.summaries());
        let ends = std::mem::take(&mut frame.ends[0]).finish(self.trie, self.vocabulary.summaries());
        let ends = ends.unwrap_or_else(|| self.nothing.clone());
        self.known.bytes += self.known.bytes_of(&live) + nodes.memory_bytes() + 128;
        let summary = RuleSummary { live: live.clone(), ends: ends.clone() };
        self.known.rules.insert(key, summary);
        Ok((live, ends))
    }

    /// What is live in all copies of a terminal that can come after a dot, and where the repetition can end; none
    /// where the dot is not in a repetition of a code.
    fn repetition(&mut self, dot: DotId, nodes: &NodeSetRef) -> Result<Option<RuleSummary>, ComposeError> {
        let Some((terminal, min, max)) = self.machine.form.copies_left(dot) else { return Ok(None) };
        let Some(start) = self.machine.starts[terminal.index()].automaton_state() else { return Ok(None) };
        if !self.is_prefix_code(start)? {
            return Ok(None);
        }
        if !self.first_bytes(start)?.intersects(nodes.child_bytes()) {
            return Ok(Some(RuleSummary { live: LiveTokens::none(), ends: self.nothing.clone() }));
        }
        let reach = u32::try_from(self.trie.max_depth()).unwrap_or(u32::MAX);
        let key = (self.machine.form.saturate(dot, reach), nodes.id());
        if let Some(known) = self.known.repetitions.get(&key) {
            return Ok(Some(known.clone()));
        }
        let automata = &self.machine.automata;
        let code = automata.terms().content_hash(automata.term(start));
        // No token holds more copies than `reach`, so bounds beyond that are as good as each other.
        let bounds =
            CopyBounds { min: min.min(reach + 1), max: max.filter(|&max| max < reach).unwrap_or(u32::MAX) };
        let store = self.vocabulary.summaries();
        let known = match store.get_repetition(code, nodes, bounds) {
            Some(known) => known,
            None => {
                self.be_quick()?;
                let found = self.count(start, code, nodes, bounds)?;
                store.insert_repetition(code, nodes, bounds, found.clone());
                found
            }
        };
        let summary = RuleSummary { live: known.live, ends: known.ends };
        self.known.bytes += self.known.bytes_of(&summary.live) + 128;
        self.known.repetitions.insert(key, summary.clone());
        Ok(Some(summary))
    }

    /// What is live in `min` to `max` copies of a code, and where they end.
    fn count(
        &mut self,
        start: StateId,
        code: u128,
        nodes: &NodeSetRef,
        bounds: CopyBounds,
    ) -> Result<Repetition, ComposeError> {
        let store = self.vocabulary.summaries();
        let counted = match store.get_counted(code, nodes) {
            Some(known) => known,
            None => {
                let (found, work) = walk_counted(self.machine.automata, self.vocabulary, start, nodes)?;
                self.spend(work)?;
                let found = Arc::new(found);
                store.insert_counted(code, nodes, found.clone());
                found
            }
        };
        let live = store.share(counted.live(Some(bounds.max), self.vocabulary));
        let ends = store.intern(counted.ends(bounds.min, Some(bounds.max), self.trie));
        Ok(Repetition { live, ends })
    }

    pub(super) fn is_prefix_code(&mut self, start: StateId) -> Result<bool, ComposeError> {
        if let Some(&known) = self.known.codes.get(&start) {
            return Ok(known);
        }
        let term = self.machine.automata.term(start);
        let is_prefix_code = self.machine.automata.is_prefix_code(term, MOST_CODE_STATES)?;
        self.known.codes.insert(start, is_prefix_code);
        Ok(is_prefix_code)
    }

    /// What is live of a terminal in a state, and where its words end.
    pub(super) fn terminal(
        &mut self,
        state: StateId,
        nodes: &NodeSetRef,
    ) -> Result<(LiveTokens, NodeSetRef), ComposeError> {
        if let Some(known) = self.known.terminals.get(&(state, nodes.id()))
            && let Some(ends) = &known.ends
        {
            return Ok((known.live.clone(), ends.clone()));
        }
        // Almost all bytes are below the root.
        if !nodes.contains(TrieNode::ROOT)
            && let Some(first_bytes) = self.soon_known_first_bytes(state)?
            && !first_bytes.intersects(nodes.child_bytes())
        {
            return Ok((LiveTokens::none(), self.nothing.clone()));
        }
        let summary = self.summary(state, nodes, Wanted::LiveAndEnds)?;
        let ends = summary.ends.clone().expect("ends were asked for");
        Ok((summary.live.clone(), ends))
    }

    /// The summary of a terminal in a state.
    pub(super) fn summary(
        &mut self,
        state: StateId,
        nodes: &NodeSetRef,
        wanted: Wanted,
    ) -> Result<Arc<TerminalSummary>, ComposeError> {
        let suffices = |known: &Arc<TerminalSummary>| wanted == Wanted::Live || known.ends.is_some();
        let key = (state, nodes.id());
        if let Some(known) = self.known.terminals.get(&key)
            && suffices(known)
        {
            return Ok(known.clone());
        }
        let automata = &self.machine.automata;
        let language = automata.terms().content_hash(automata.term(state));
        let known = self.vocabulary.summaries().get(language, nodes);
        let summary = match known.filter(suffices) {
            Some(known) => known,
            None => {
                let before = self.work;
                let summary = Arc::new(self.new_summary(state, nodes, wanted)?);
                if self.is_in_few_words(state, before) {
                    return Ok(summary);
                }
                self.vocabulary.summaries().insert(language, nodes, summary.clone());
                summary
            }
        };
        if summary.live.base().is_some() && nodes.contains(TrieNode::ROOT) {
            self.known.wide.retain(|known| known.state != state);
            if self.known.wide.len() >= MOST_WIDE {
                self.known.wide.remove(0);
            }
            self.known.wide.push(Known { state, summary: summary.clone() });
        }
        self.known.bytes += self.known.bytes_of(&summary.live) + 128;
        self.known.terminals.insert(key, summary.clone());
        Ok(summary)
    }

    /// Whether a state is one of a list of words, and few trie nodes were visited since `before` to find what it goes on with.
    fn is_in_few_words(&self, state: StateId, before: usize) -> bool {
        let automata = &*self.machine.automata;
        self.work - before < WORTH_KEEPING && automata.terms().leading_table(automata.term(state)).is_some()
    }

    /// The summary of a terminal in a state, which is not known yet.
    fn new_summary(
        &mut self,
        state: StateId,
        nodes: &NodeSetRef,
        wanted: Wanted,
    ) -> Result<TerminalSummary, ComposeError> {
        if let Some(summary) = self.walk_words(state, nodes)? {
            return Ok(summary);
        }
        self.be_quick()?;
        if let Some(summary) = self.without_large_bounds(state, nodes, wanted)? {
            return Ok(summary);
        }
        match self.limited(state, nodes)? {
            Some(summary) => Ok(summary),
            None => self.walk(state, nodes, wanted),
        }
    }

    /// Gives up where a mask should be quick, and something that was not met before lies ahead.
    fn be_quick(&self) -> Result<(), ComposeError> {
        if self.effort == Effort::Immediate { Err(ComposeError::TooMuchWork) } else { Ok(()) }
    }

    /// The summary of a terminal that begins with a word or with one of many; none where that is no help.
    fn walk_words(
        &mut self,
        state: StateId,
        nodes: &NodeSetRef,
    ) -> Result<Option<TerminalSummary>, ComposeError> {
        let automata = &mut *self.machine.automata;
        let word = match nodes.is_dense() {
            true => None,
            false => automata.terms().word_prefix(automata.term(state), self.trie.max_depth()),
        };
        if let Some((word, is_whole)) = word {
            let walked = walk_word(self.vocabulary, &word, is_whole, nodes);
            return self.finish(walked).map(Some);
        }
        let walked = walk_table(automata, self.vocabulary, state, nodes, &mut self.known.notes)?;
        let Some(walked) = walked else { return Ok(None) };
        let summary = match walked.work < WORTH_KEEPING {
            true => self.finish_unshared(walked),
            false => self.finish(walked),
        };
        summary.map(Some)
    }

    /// The summary of a terminal in a state, by going through the trie.
    fn walk(
        &mut self,
        state: StateId,
        nodes: &NodeSetRef,
        wanted: Wanted,
    ) -> Result<TerminalSummary, ComposeError> {
        let automata = &mut *self.machine.automata;
        let term = automata.term(state);
        if let Some(exclusion) = automata.terms_mut().exclusion(term)
            && let Some(difference) = walk_differences(automata, self.vocabulary, state, &exclusion, nodes)?
            && let Some(wider) = self.machine.automata.start(exclusion.wider)?
        {
            self.spend(difference.work)?;
            let known = self.summary(wider, nodes, wanted)?;
            return match difference.is_nothing() {
                true => Ok(TerminalSummary::clone(&known)),
                false => self.finish(difference.taken_from(&known, self.vocabulary)),
            };
        }
        if !nodes.is_dense()
            && let Some((word, rest)) = self.machine.automata.terms().leading_word(term)
            && self.machine.automata.terms().has_exclusion(rest)
            && let Some(rest) = self.machine.automata.start(rest)?
        {
            return self.walk_behind(&word, rest, nodes, wanted);
        }
        let first_bytes = self.first_bytes(state)?;
        let is_root = nodes.contains(TrieNode::ROOT);
        let known = if is_root { &self.known.wide[..] } else { &[] };
        let (automata, vocabulary) = (&mut *self.machine.automata, self.vocabulary);
        let walked = walk_terminal(automata, vocabulary, state, first_bytes, nodes, (known, wanted))?;
        self.finish(walked)
    }

    /// The summary of a terminal that is a word and then what a state goes on with: what is known of that is better known where
    /// it begins.
    fn walk_behind(
        &mut self,
        word: &[u8],
        rest: StateId,
        nodes: &NodeSet,
        wanted: Wanted,
    ) -> Result<TerminalSummary, ComposeError> {
        let walked = walk_word(self.vocabulary, word, true, nodes);
        let TerminalSummary { live, ends } = self.finish(walked)?;
        let behind = ends.unwrap_or_else(|| self.nothing.clone());
        if behind.is_empty() {
            return Ok(TerminalSummary { live, ends: Some(behind) });
        }
        let rest = self.summary(rest, &behind, wanted)?;
        let parts = [live, rest.live.clone()];
        let live = LiveTokens::union(&parts, self.vocabulary.size(), self.vocabulary.summaries());
        Ok(TerminalSummary { live, ends: rest.ends.clone() })
    }

    fn finish(&mut self, walked: Walked) -> Result<TerminalSummary, ComposeError> {
        let TerminalSummary { live, ends } = self.finish_unshared(walked)?;
        Ok(TerminalSummary { live: self.vocabulary.summaries().share(live), ends })
    }

    /// The same, where equal tokens need not be the same.
    fn finish_unshared(&mut self, walked: Walked) -> Result<TerminalSummary, ComposeError> {
        self.spend(walked.work)?;
        let intern = |ends: NodeSet| match ends.is_empty() {
            true => self.nothing.clone(),
            false => self.vocabulary.summaries().intern(ends),
        };
        Ok(TerminalSummary { live: walked.live, ends: walked.ends.map(intern) })
    }

    pub(super) fn first_bytes(&mut self, state: StateId) -> Result<ByteSet, ComposeError> {
        Ok(self.machine.automata.first_bytes(state)?)
    }

    /// The first bytes of a state, unless it takes long to find them, as it does where names are excluded.
    fn soon_known_first_bytes(&mut self, state: StateId) -> Result<Option<ByteSet>, ComposeError> {
        let automata = &mut *self.machine.automata;
        let known = automata.memoised_first_bytes(state);
        if known.is_some() || automata.terms().has_exclusion(automata.term(state)) {
            return Ok(known);
        }
        Ok(Some(automata.first_bytes(state)?))
    }

    fn closure(&mut self, nonterminal: usize) -> Result<Arc<Closure>, ComposeError> {
        if let Some(known) = self.known.closures.get(&nonterminal) {
            return Ok(known.clone());
        }
        let left_corners = self.machine.left_corners;
        let mut members = vec![nonterminal];
        let mut positions: FxHashMap<usize, usize> = FxHashMap::default();
        if !left_corners.nonterminals[nonterminal].is_empty() {
            positions.insert(nonterminal, 0);
        }
        let mut parents: Vec<Vec<(usize, DotId)>> = vec![Vec::new()];
        let mut next = 0;
        while let Some(&member) = members.get(next) {
            self.spend(WORK_PER_MEMBER)?;
            for &(child, dot) in &left_corners.nonterminals[member] {
                let position = *positions.entry(child).or_insert_with(|| {
                    members.push(child);
                    parents.push(Vec::new());
                    members.len() - 1
                });
                parents[position].push((next, dot));
            }
            next += 1;
        }
        let (mut starts, mut first_bytes) = (Vec::new(), ByteSet::EMPTY);
        for (position, &member) in members.iter().enumerate() {
            for &(dot, terminal) in &left_corners.terminals[member] {
                // Tokens that are read as a whole are no matter of their bytes.
                let start = self.machine.starts[terminal.index()].automaton_state();
                let Some(state) = start else { continue };
                let own = self.first_bytes(state)?;
                first_bytes = first_bytes.union(own);
                starts.push((dot, position, own));
            }
        }
        let closure = Arc::new(Closure { members, parents, starts, first_bytes });
        self.known.bytes += closure.members.len() * 64 + closure.starts.len() * 48;
        self.known.closures.insert(nonterminal, closure.clone());
        Ok(closure)
    }

    pub(super) fn spend(&mut self, work: usize) -> Result<(), ComposeError> {
        self.work += work;
        if self.work >= self.next_look {
            self.deadline.check()?;
            if self.work > self.most_work {
                return Err(ComposeError::TooMuchWork);
            }
            self.next_look = self.work + WORK_PER_CLOCK;
        }
        Ok(())
    }
}

/// The fixpoint computation of one nonterminal at one node set.
struct Frame<'a> {
    closure: &'a Closure,
    live: Vec<LiveTokens>,
    /// Where each member ends, as far as known.
    ends: Vec<GrowingNodeSet>,
    /// Dots inside productions of members, and the nodes to go on from.
    dots: Vec<(DotId, usize, NodeSetRef)>,
    /// New ends of members.
    grown: VecDeque<(usize, NodeSetRef)>,
}

impl Frame<'_> {
    /// The symbol after `dot`, in a production of `member`, begins at `nodes`.
    fn dot(
        &mut self,
        composition: &mut Composition<'_>,
        (dot, member): (DotId, usize),
        nodes: &NodeSetRef,
        nesting: usize,
    ) -> Result<(), ComposeError> {
        if let Some(RuleSummary { live, ends }) = composition.repetition(dot, nodes)? {
            self.live.push(live);
            self.complete(composition, member, &ends);
            return Ok(());
        }
        let (live, ends) = composition.symbol(dot, nodes, nesting + 1)?;
        self.live.push(live);
        Ok(self.after(composition, dot, member, ends)?)
    }

    /// The symbol after `dot`, in a production of `member`, ends at `ends`.
    fn after(
        &mut self,
        composition: &mut Composition<'_>,
        dot: DotId,
        member: usize,
        ends: NodeSetRef,
    ) -> Result<(), LimitExceeded> {
        if ends.is_empty() {
            return Ok(());
        }
        let Advance { completes, next } = composition.machine.form.advance(dot);
        if completes {
            self.complete(composition, member, &ends);
        }
        if let Some(next) = next {
            for next in composition.machine.form.expanded(next)? {
                self.dots.push((next, member, ends.clone()));
            }
        }
        Ok(())
    }

    /// A production of `member` ends at `ends`.
    fn complete(&mut self, composition: &mut Composition<'_>, member: usize, ends: &NodeSetRef) {
        composition.work += WORK_PER_UNION;
        let new = self.ends[member].add(ends, composition.trie, composition.vocabulary.summaries());
        if !self.closure.parents[member].is_empty() {
            self.grown.extend(new.map(|new| (member, new)));
        }
    }
}

/// Continuations that are looked through one by one; more of them are found by a map.
const MAX_LINEAR_SEARCH: usize = 16;

/// Room for so many dots or continuations is kept.
const MOST_ROOM: usize = 64;

/// What the kernel's continuations go on with; kept from one mask to the next for its room.
#[derive(Debug, Default)]
struct Resumption {
    /// Dots, what follows their productions, and the nodes to go on from.
    dots: Vec<(DotId, ContinuationId, NodeSetRef)>,
    /// The continuations whose content was looked at, in order.
    continuations: Vec<Resumed>,
    /// Where all of them are, once there are more than a few.
    positions: FxHashMap<ContinuationId, usize>,
    /// Where those are that are still to be resumed.
    pending: VecDeque<usize>,
}

#[derive(Debug)]
struct Resumed {
    id: ContinuationId,
    /// Nodes at which it was resumed.
    nodes: GrowingNodeSet,
    /// Nodes at which it is still to be resumed.
    pending: GrowingNodeSet,
}

impl Resumption {
    /// Room for the next mask, unless this one took much.
    fn emptied(mut self) -> Self {
        let Self { dots, continuations, positions, pending } = &mut self;
        if dots.capacity().max(continuations.capacity()) > MOST_ROOM {
            return Self::default();
        }
        dots.clear();
        continuations.clear();
        positions.clear();
        pending.clear();
        self
    }

    /// The symbol after `dot` ends at `ends`, and `continuation` follows its production.
    fn after(
        &mut self,
        composition: &mut Composition<'_>,
        dot: DotId,
        continuation: ContinuationId,
        ends: NodeSetRef,
    ) -> Result<(), LimitExceeded> {
        if ends.is_empty() {
            return Ok(());
        }
        let Advance { completes, next } = composition.machine.form.advance(dot);
        if completes {
            self.complete(composition, continuation, &ends);
        }
        if let Some(next) = next {
            for next in composition.machine.form.expanded(next)? {
                self.dots.push((next, continuation, ends.clone()));
            }
        }
        Ok(())
    }

    /// A production that `continuation` follows ends at `ends`.
    fn complete(
        &mut self,
        composition: &mut Composition<'_>,
        continuation: ContinuationId,
        ends: &NodeSetRef,
    ) {
        composition.work += WORK_PER_UNION;
        let (trie, store) = (composition.trie, composition.vocabulary.summaries());
        let position = self.position(continuation);
        let resumed = &mut self.continuations[position];
        if let Some(new) = resumed.nodes.add(ends, trie, store) {
            if resumed.pending.is_empty() {
                self.pending.push_back(position);
            }
            let _ = resumed.pending.add(&new, trie, store);
        }
    }

    /// Where a continuation is, which is added if it was not seen before.
    fn position(&mut self, id: ContinuationId) -> usize {
        let next = self.continuations.len();
        let position = if next < MAX_LINEAR_SEARCH {
            self.continuations.iter().position(|known| known.id == id).unwrap_or(next)
        } else {
            if self.positions.is_empty() {
                self.positions = self.continuations.iter().map(|known| known.id).zip(0..).collect();
            }
            *self.positions.entry(id).or_insert(next)
        };
        if position == next {
            let (nodes, pending) = Default::default();
            self.continuations.push(Resumed { id, nodes, pending });
        }
        position
    }

    fn next_continuation(&mut self, composition: &Composition<'_>) -> Option<(ContinuationId, NodeSetRef)> {
        let position = self.pending.pop_front()?;
        let Resumed { id, pending, .. } = &mut self.continuations[position];
        let nodes = std::mem::take(pending).finish(composition.trie, composition.vocabulary.summaries())?;
        Some((*id, nodes))
    }
}
