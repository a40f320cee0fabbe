//! Which strategy computes the summary of a terminal.
//!
//! All strategies give the same summary. [`plan`] orders the candidates by the form of the terminal and the node set; a
//! candidate may decline once it knows more, and then the next is tried. The last candidate of a full computation, a
//! walk of the automaton, never declines; [`plan_walk`] orders its variants by the part of the trie ahead.
//!
//! | strategy | applies when | cost | test |
//! |---|---|---|---|
//! | literal | one word continues the state, up to the length of a token | its length per node | `large_vocabulary` |
//! | table | a set of literals, then any tail | common paths of table and trie | `table_walk` |
//! | length limit | intersection with a limit in copies of a code | one walk for all limits | `large_vocabulary` |
//! | exclusion | a language without some words | base summary, and paths of those words | `exclusion` |
//! | large maxima | large maxima of repetitions, below the root | base summary, and long tokens | `large_vocabulary` |
//! | sparse | few nodes ahead, or few first bytes | live nodes and their children | all tests of this folder |
//! | similar | below the root, with cached summaries | nodes where the states differ | `similar_states` |
//! | dense | otherwise | live nodes outside skipped subtrees, one load each | all tests of this folder |
//!
//! Repetitions of a prefix code in productions are found before their terminals ([`super::repetitions`]).

use std::sync::Arc;

use grammask_automata::{Automata, ByteSet, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_engine::Effort;
use grammask_vocabulary::{NodeSet, NodeSetRef, TerminalSummary, TrieNode, Vocabulary};

use super::super::ablation::{Technique, is_enabled};
use super::super::budget::ComposeError;
use super::super::computation::MaskComputation;
use super::super::summary::{BaseSummary, SymbolSummary, Wanted};
use super::super::tuning::{MAX_NARROW_BYTES, MAX_WIDE_SUMMARIES, MIN_DENSE_NODES};
use super::delta::SummaryDelta;
use super::exclusion::walk_exclusion;
use super::similar_states::walk_similar;
use super::table_walk::walk_table;
use super::walk::{
    DenseSummary, DenseWalk, WalkRequest, WalkResult, enter, nodes_ahead, walk_sparse, walk_word,
};

/// A strategy for the summary of a terminal, in the order in which they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// Reads the vocabulary's cache of summaries.
    Cached,
    /// Follows the only word ([`walk_word`]).
    Literal,
    /// Walks a table of literals ([`super::table_walk`]).
    Table,
    /// Counts copies in the intersection without its limit ([`super::length_limits`]).
    LengthLimit,
    /// Patches the summary without the exclusion ([`super::exclusion`]).
    Exclusion,
    /// Patches the summary without large maxima ([`super::large_maxima`]).
    LargeMaxima,
    /// Steps the lazy automaton ([`super::walk`]).
    Sparse,
    /// Patches the summary of a similar state ([`super::similar_states`]).
    Similar,
    /// Steps dense transitions, and skips subtrees ([`super::walk`]).
    Dense,
}

/// The facts about a state and a node set that [`plan`] needs. All of them are found without stepping the automaton.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TerminalFacts {
    pub(crate) effort: Effort,
    /// The nodes are stored as bits: there are many.
    pub(crate) is_dense: bool,
    /// One word continues the state, up to the length of a token.
    pub(crate) is_literal: bool,
    /// The term begins with a table of literals.
    pub(crate) is_table: bool,
    /// The term begins with an intersection.
    pub(crate) has_intersection: bool,
    pub(crate) has_exclusion: bool,
    /// The only node is the root.
    pub(crate) is_at_root: bool,
}

/// The candidates for a terminal, in order. If a full computation exhausts them, it walks the automaton; an immediate
/// one gives up.
pub(crate) fn plan(facts: &TerminalFacts) -> impl Iterator<Item = Strategy> + use<> {
    let is_full = facts.effort == Effort::Full;
    applicable([
        (Strategy::Literal, facts.is_literal),
        (Strategy::Table, facts.is_table && !facts.is_dense),
        (Strategy::LengthLimit, is_full && facts.has_intersection),
        (Strategy::Exclusion, is_full && facts.has_exclusion && !facts.is_dense),
        (Strategy::LargeMaxima, is_full && facts.is_at_root),
    ])
}

/// The facts about the entries of a walk that [`plan_walk`] needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WalkFacts {
    /// Trie nodes in the subtrees of the entries.
    pub(crate) ahead: usize,
    /// All states have few first bytes, so most of the subtrees is dead.
    pub(crate) is_narrow: bool,
    /// The walk begins at the root, and summaries of other states below the root are cached.
    pub(crate) has_bases: bool,
}

/// The variants of a walk of the automaton, in order. The last one never declines.
pub(crate) fn plan_walk(facts: &WalkFacts) -> impl Iterator<Item = Strategy> + use<> {
    let is_sparse = facts.ahead < MIN_DENSE_NODES || facts.is_narrow;
    applicable([
        (Strategy::Sparse, is_sparse),
        (Strategy::Similar, !is_sparse && facts.has_bases),
        (Strategy::Dense, !is_sparse),
    ])
}

fn applicable<const N: usize>(candidates: [(Strategy, bool); N]) -> impl Iterator<Item = Strategy> {
    candidates.into_iter().filter_map(|(strategy, applies)| applies.then_some(strategy))
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
            Strategy::Sparse => Some(walk_sparse(automata, vocabulary, &entries, Vec::new(), 0)?),
            Strategy::Similar => walk_similar(automata, vocabulary, request, ahead, bases)?,
            _ => {
                let mut walk = DenseWalk::new(trie, request.wanted);
                let mut work = 0;
                for &(node, state) in &entries {
                    work += walk.run(automata, trie, node, state)?;
                }
                let DenseSummary { tokens, ends } = walk.finish();
                let ends = (request.wanted == Wanted::LiveAndEnds).then(|| NodeSet::from_bits(ends, trie));
                Some(WalkResult { live: tokens.finish(vocabulary), ends, work })
            }
        };
        if let Some(mut walked) = walked {
            walked.work += entering;
            return Ok((strategy, walked));
        }
    }
    unreachable!("a sparse or a dense walk does not decline")
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

impl MaskComputation<'_> {
    /// The summary of a terminal in a state, with ends.
    pub(in crate::masks) fn terminal(
        &mut self,
        state: StateId,
        nodes: &NodeSetRef,
    ) -> Result<SymbolSummary, ComposeError> {
        if let Some(cached) = self.summaries.terminals.summaries.get(&(state, nodes.id()))
            && let Some(ends) = &cached.ends
        {
            return Ok(SymbolSummary { live: cached.live.clone(), ends: ends.clone(), values: None });
        }
        // The root has children over almost all bytes.
        if !nodes.contains(TrieNode::ROOT)
            && let Some(first_bytes) = self.cheap_first_bytes(state)?
            && !first_bytes.intersects(nodes.child_bytes())
        {
            return Ok(self.empty());
        }
        let summary = self.summary(state, nodes, Wanted::LiveAndEnds)?;
        let ends = summary.ends.clone().expect("ends are wanted");
        Ok(SymbolSummary { live: summary.live.clone(), ends, values: None })
    }

    /// The summary of a terminal in a state.
    pub(in crate::masks) fn summary(
        &mut self,
        state: StateId,
        nodes: &NodeSetRef,
        wanted: Wanted,
    ) -> Result<Arc<TerminalSummary>, ComposeError> {
        let key = (state, nodes.id());
        if let Some(cached) = self.summaries.terminals.summaries.get(&key)
            && wanted.are_in(cached)
        {
            return Ok(cached.clone());
        }
        let automata = &self.machine.automata;
        let language = automata.terms().content_hash(automata.term(state));
        let cached = self.vocabulary.summaries().get(language, nodes);
        let summary = match cached.filter(|cached| wanted.are_in(cached)) {
            Some(cached) => {
                self.record(state, nodes, self.budget.spent(), Strategy::Cached, std::iter::empty());
                cached
            }
            None => {
                let summary = Arc::new(self.compute_summary(state, nodes, wanted)?);
                self.vocabulary.summaries().insert(language, nodes, summary.clone());
                summary
            }
        };
        if summary.live.base().is_some() && nodes.contains(TrieNode::ROOT) {
            let bases = &mut self.summaries.terminals.bases;
            bases.retain(|base| base.state != state);
            if bases.len() >= MAX_WIDE_SUMMARIES {
                bases.remove(0);
            }
            bases.push(BaseSummary { state, summary: summary.clone() });
        }
        self.summaries.add_bytes(&summary.live, 128);
        self.summaries.terminals.summaries.insert(key, summary.clone());
        Ok(summary)
    }

    /// Computes a summary with the first strategy of its plan that does not decline.
    fn compute_summary(
        &mut self,
        state: StateId,
        nodes: &NodeSetRef,
        wanted: Wanted,
    ) -> Result<TerminalSummary, ComposeError> {
        let before = self.budget.spent();
        let automata = &*self.machine.automata;
        let (terms, term) = (automata.terms(), automata.term(state));
        let literal = match nodes.is_dense() {
            true => None,
            false => terms.word_prefix(term, self.trie.max_depth()),
        };
        let facts = TerminalFacts {
            effort: self.budget.effort(),
            is_dense: nodes.is_dense(),
            is_literal: literal.is_some() && is_enabled(Technique::Literals),
            is_table: terms.leading_table(term).is_some() && is_enabled(Technique::Tables),
            has_intersection: terms.leading_intersection(term).is_some()
                && is_enabled(Technique::LengthLimits),
            has_exclusion: terms.has_exclusion(term) && is_enabled(Technique::Exclusions),
            is_at_root: nodes.len() == 1
                && nodes.contains(TrieNode::ROOT)
                && is_enabled(Technique::LargeMaxima),
        };
        let mut candidates = plan(&facts);
        let (strategy, summary) = loop {
            let Some(strategy) = candidates.next() else {
                self.budget.require_full_effort()?;
                let bases = &self.summaries.terminals.bases;
                let request = WalkRequest { state, nodes, wanted };
                let (strategy, walked) =
                    walk_terminal(self.machine.automata, self.vocabulary, request, bases)?;
                break (strategy, self.finish(walked)?);
            };
            let summary = match strategy {
                Strategy::Literal => {
                    let (word, is_whole) = literal.as_ref().expect("a fact of the plan");
                    Some(self.finish(walk_word(self.vocabulary, word, *is_whole, nodes))?)
                }
                Strategy::Table => {
                    let scratch = &mut self.summaries.terminals.table_scratch;
                    let walked = walk_table(self.machine.automata, self.vocabulary, state, nodes, scratch)?;
                    walked.map(|walked| self.finish(walked)).transpose()?
                }
                Strategy::LengthLimit => self.without_length_limit(state, nodes)?,
                Strategy::Exclusion => self.without_exclusion(state, nodes, wanted)?,
                Strategy::LargeMaxima => self.without_large_maxima(state, nodes, wanted)?,
                _ => unreachable!("no candidate of a plan for a terminal"),
            };
            if let Some(summary) = summary {
                break (strategy, summary);
            }
        };
        self.record(state, nodes, before, strategy, plan(&facts).take_while(|other| *other != strategy));
        Ok(summary)
    }

    /// Adds a line to the recorded plans, if they are wanted: the strategy that succeeded, those that declined before
    /// it, and the work since `before`, that for base summaries included.
    fn record(
        &mut self,
        state: StateId,
        nodes: &NodeSetRef,
        before: usize,
        strategy: Strategy,
        declined: impl Iterator<Item = Strategy>,
    ) {
        let Some(plans) = &mut self.plans else { return };
        let name = |strategy: Strategy| format!("{strategy:?}").to_lowercase();
        let declined: Vec<String> = declined.map(name).collect();
        let declined = match declined.is_empty() {
            true => String::new(),
            false => format!(", declined by {}", declined.join(" and ")),
        };
        let (strategy, nodes, work) = (name(strategy), nodes.len(), self.budget.spent() - before);
        let automata = &*self.machine.automata;
        let language = automata.terms().display(automata.term(state));
        let line =
            format!("{strategy}: below {nodes} nodes, {work} trie nodes visited{declined}: {language}\n");
        plans.push_str(&line);
    }

    /// The summary of a terminal with an exclusion, from the one without.
    fn without_exclusion(
        &mut self,
        state: StateId,
        nodes: &NodeSetRef,
        wanted: Wanted,
    ) -> Result<Option<TerminalSummary>, ComposeError> {
        let automata = &mut *self.machine.automata;
        let term = automata.term(state);
        let Some(exclusion) = automata.terms_mut().exclusion(term) else { return Ok(None) };
        let delta = walk_exclusion(automata, self.vocabulary, &exclusion, nodes)?;
        let (Some(delta), Some(wider)) = (delta, automata.start(exclusion.wider)?) else { return Ok(None) };
        let base = self.summary(wider, nodes, wanted)?;
        self.apply(delta, &base).map(Some)
    }

    /// The summary that differs from a base by a delta with ends.
    pub(super) fn apply(
        &mut self,
        delta: SummaryDelta,
        base: &TerminalSummary,
    ) -> Result<TerminalSummary, ComposeError> {
        if delta.is_empty() {
            self.budget.spend(delta.work)?;
            return Ok(base.clone());
        }
        self.finish(delta.apply(base, Wanted::LiveAndEnds, self.vocabulary))
    }

    /// Interns the parts of a summary.
    fn finish(&mut self, walked: WalkResult) -> Result<TerminalSummary, ComposeError> {
        self.budget.spend(walked.work)?;
        let store = self.vocabulary.summaries();
        let intern = |ends: NodeSet| match ends.is_empty() {
            true => self.nothing.clone(),
            false => store.intern(ends),
        };
        Ok(TerminalSummary { live: store.share(walked.live), ends: walked.ends.map(intern) })
    }

    pub(in crate::masks) fn first_bytes(&mut self, state: StateId) -> Result<ByteSet, ComposeError> {
        Ok(self.machine.automata.first_bytes(state)?)
    }

    /// The first bytes of a state, unless they take long to find, as they do where words are excluded.
    fn cheap_first_bytes(&mut self, state: StateId) -> Result<Option<ByteSet>, ComposeError> {
        let automata = &mut *self.machine.automata;
        let known = automata.memoised_first_bytes(state);
        if known.is_some() || automata.terms().has_exclusion(automata.term(state)) {
            return Ok(known);
        }
        Ok(Some(automata.first_bytes(state)?))
    }
}
