//! The number of table entries of a whole lexer, and the reduction by each step of mask store streamlining.
//!
//! The report uses the terms of the blog post "Mask store streamlining" (vivien000, grammar-constrained decoding), so
//! that the numbers are comparable. The lexer of the post has a state for each automaton state of each terminal. From
//! a state inside terminal X, a token extends X or leaves it, and then emits and enters further terminals. An *entry*
//! of the state is such a sequence, without ignored terminals, together with the flag whether the token extends X; a
//! mask asks the parser once per entry. In contrast to maximal munch, `->` at the end of a token may still be `-` and
//! `>` until the next byte is read. Each step works on the result of the one before:
//!
//! 1. sequences that are not longest matches are dropped, as the lexer of this crate does;
//! 2. terminals with the same contexts in all productions are merged;
//! 3. sequences with a pair that is not adjacent in any sentence are dropped;
//! 4. a terminal that is always legal after its predecessor is removed from the end, repeatedly; sequences with a
//!    pair that the LALR(1) tables never accept are dropped;
//! 5. as 4, for whole sequences.
//!
//! The tables that masks are computed from ([`crate::masks`]) differ: they are shared by all states and grown on
//! demand. Cost: one walk of the token trie per state.

use std::sync::Arc;
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};
use web_time::Instant;

use crate::analysis::adjacency::Adjacency;
use crate::definition::grammar::{LexedGrammar, LexedSymbol};
use crate::lexer::lexer_automaton::{ConfigurationId, GuardsId, LexModeId, Lexer};
use crate::parser::lalr::LalrTable;
use crate::parser::terminal_set::TerminalSet;
use crate::prepared::PreparedGrammar;
use crate::streamlining::legality::{Legality, PairCounts, Streamlining};
use grammask_collections::id_type;
use grammask_diagnostics::{Code, Deadline, Diagnostic, GrammarError, LimitExceeded, Limits};
use grammask_grammar::TerminalId;
use grammask_vocabulary::{TokenTrie, TrieNode, Vocabulary};

id_type! {
    /// An interned sequence of terminals.
    SequenceId
}

impl SequenceId {
    /// The empty sequence.
    const EMPTY: Self = Self(0);
}

/// The names of the steps.
pub const STREAMLINING_STEPS: [&str; 6] = [
    "all sequences",
    "longest matches",
    "interchangeable terminals",
    "successors",
    "pairs",
    "whole sequences",
];

/// The number of entries of a lexer state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateEntries {
    /// The terminal being matched; `None` for the state before the first lexeme.
    pub terminal: Option<Arc<str>>,
    /// The number of entries after each of [`STREAMLINING_STEPS`].
    pub entries: [usize; STREAMLINING_STEPS.len()],
}

/// The number of entries of all lexer states, and of pairs of terminals by legality.
#[derive(Clone, Debug)]
pub struct EntryCounts {
    /// The entries by state.
    pub states: Vec<StateEntries>,
    /// Pairs of terminals by legality.
    pub pairs: PairCounts,
    /// Pairs of representatives of interchangeable terminals by legality.
    pub representative_pairs: PairCounts,
    /// The number of representatives.
    pub representatives: usize,
    /// The time that the legality of all pairs took.
    pub pair_time: Duration,
}

impl EntryCounts {
    /// Counts the entries of a grammar for a vocabulary.
    ///
    /// # Errors
    /// `unsupported-grammar` without LALR(1) tables; an exceeded limit.
    pub fn of(
        prepared: &PreparedGrammar,
        vocabulary: &Vocabulary,
        limits: &Limits,
    ) -> Result<Self, GrammarError> {
        let grammar = prepared.source();
        let (Some(table), false) = (prepared.table(), grammar.lexer().is_dynamic()) else {
            let message = "streamlining works on the LALR(1) tables of grammars that a lexer cuts";
            return Err(Diagnostic::error(Code::UnsupportedGrammar, message).into());
        };
        if prepared.is_refined() {
            let message =
                "streamlining needs a grammar whose terminals can follow each other as the rules say";
            return Err(Diagnostic::error(Code::UnsupportedGrammar, message).into());
        }
        let begin = Instant::now();
        let streamlining = Streamlining::new(table);
        let mut reduction = Reduction::new(grammar, &streamlining);
        let representatives: FxHashSet<TerminalId> = reduction.representative.iter().copied().collect();
        let (pairs, representative_pairs) = reduction.decide_pairs(&representatives);
        let pair_time = begin.elapsed();
        let sequences = SequenceEnumeration::of(grammar, vocabulary.trie(), limits)
            .map_err(|limit| limit.diagnostic())?;
        reduction.sequences = sequences.tree;
        let states = sequences
            .states
            .into_iter()
            .map(|(terminal, sequences_of_state)| StateEntries {
                terminal: terminal.map(|terminal| grammar.terminals[terminal.index()].name.clone()),
                entries: reduction.count(terminal, &sequences_of_state),
            })
            .collect();
        Ok(Self { states, pairs, representative_pairs, representatives: representatives.len(), pair_time })
    }

    /// The sum over all states after each of [`STREAMLINING_STEPS`].
    #[must_use]
    pub fn totals(&self) -> [usize; STREAMLINING_STEPS.len()] {
        let mut totals = [0; STREAMLINING_STEPS.len()];
        for state in &self.states {
            for (total, entries) in totals.iter_mut().zip(state.entries) {
                *total += entries;
            }
        }
        totals
    }
}

/// Interned sequences as a tree of prefixes.
#[derive(Debug)]
struct SequenceTree {
    nodes: Vec<(SequenceId, Option<TerminalId>)>,
    ids: FxHashMap<(SequenceId, TerminalId), SequenceId>,
}

impl SequenceTree {
    fn new() -> Self {
        Self { nodes: vec![(SequenceId::EMPTY, None)], ids: FxHashMap::default() }
    }

    fn longer(&mut self, sequence: SequenceId, terminal: TerminalId) -> SequenceId {
        let next = SequenceId::new(self.nodes.len());
        let id = *self.ids.entry((sequence, terminal)).or_insert(next);
        if id == next {
            self.nodes.push((sequence, Some(terminal)));
        }
        id
    }

    fn of(&mut self, terminals: &[TerminalId]) -> SequenceId {
        terminals.iter().fold(SequenceId::EMPTY, |sequence, &terminal| self.longer(sequence, terminal))
    }

    fn terminals(&self, sequence: SequenceId) -> Vec<TerminalId> {
        let mut terminals = Vec::new();
        let mut current = sequence;
        while let (before, Some(terminal)) = self.nodes[current.index()] {
            terminals.push(terminal);
            current = before;
        }
        terminals.reverse();
        terminals
    }
}

/// Entries: whether the token extends the terminal of the state, and the sequence that it emits and enters.
type Entries = FxHashSet<(bool, SequenceId)>;

/// The entries of a state before any reduction.
#[derive(Debug, Default)]
struct StateSequences {
    all: Entries,
    /// The entries of longest matches.
    longest: Entries,
}

/// A way to read a token so far.
#[derive(Clone, Debug)]
struct TokenRun {
    configuration: ConfigurationId,
    sequence: SequenceId,
    extends_first: bool,
    is_in_first: bool,
    /// The longer matches of lexemes that were ended early.
    longer: Vec<ConfigurationId>,
    /// Whether a longer match accepted.
    is_wrong: bool,
}

/// The enumeration of the entries of all states.
struct SequenceEnumeration<'a> {
    grammar: &'a LexedGrammar,
    trie: &'a TokenTrie,
    lexer: Lexer,
    deadline: Deadline,
    tree: SequenceTree,
    states: Vec<(Option<TerminalId>, StateSequences)>,
}

/// The mode of all terminals; the modes of single terminals follow it.
const ALL: LexModeId = LexModeId(0);

impl<'a> SequenceEnumeration<'a> {
    fn of(grammar: &'a LexedGrammar, trie: &'a TokenTrie, limits: &Limits) -> Result<Self, LimitExceeded> {
        let count = grammar.terminals.len();
        let mut modes = vec![TerminalSet::new(count + 1)];
        for terminal in (0..count).map(TerminalId::new) {
            let mut only = TerminalSet::new(count + 1);
            only.insert(terminal);
            modes[0].insert(terminal);
            modes.push(only);
        }
        let mut sequences = Self {
            grammar,
            trie,
            lexer: Lexer::new(grammar, &modes, limits)?,
            deadline: Deadline::of(limits),
            tree: SequenceTree::new(),
            states: Vec::new(),
        };
        for start in sequences.lexer.starts(ALL)? {
            sequences.visit(None, start)?;
        }
        for index in 0..count {
            if grammar.terminals[index].term.is_some() {
                sequences.visit_terminal(TerminalId::new(index), LexModeId::new(index + 1))?;
            }
        }
        Ok(sequences)
    }

    /// Visits all states inside a terminal, including its start state.
    fn visit_terminal(&mut self, terminal: TerminalId, mode: LexModeId) -> Result<(), LimitExceeded> {
        let mut states = self.lexer.starts(mode)?;
        let mut next = 0;
        while let Some(&state) = states.get(next) {
            next += 1;
            self.visit(Some(terminal), state)?;
            for index in 0..self.lexer.byte_of_class().len() {
                let byte = self.lexer.byte_of_class()[index];
                if let Some(further) = self.lexer.step(state, byte)?.extended
                    && !states.contains(&further)
                {
                    states.push(further);
                }
            }
        }
        Ok(())
    }

    fn visit(&mut self, terminal: Option<TerminalId>, state: ConfigurationId) -> Result<(), LimitExceeded> {
        let mut entries = StateSequences::default();
        let first = TokenRun {
            configuration: state,
            sequence: SequenceId::EMPTY,
            extends_first: false,
            is_in_first: terminal.is_some(),
            longer: Vec::new(),
            is_wrong: false,
        };
        let mut pending = vec![(TrieNode::ROOT, vec![first])];
        while let Some((node, runs)) = pending.pop() {
            self.deadline.check()?;
            for child in self.trie.children(node) {
                let byte = self.trie.byte(child);
                let mut next = Vec::with_capacity(runs.len());
                for run in &runs {
                    self.step(run, byte, &mut next)?;
                }
                if next.is_empty() {
                    continue;
                }
                let mut is_self_loop = false;
                if let Some(bytes) = self.trie.bytes_below(child) {
                    is_self_loop = true;
                    for run in &next {
                        is_self_loop &=
                            run.longer.is_empty() && self.lexer.self_loops_on(run.configuration, bytes)?;
                    }
                }
                if is_self_loop || !self.trie.tokens(child).is_empty() {
                    for run in &next {
                        self.end(run, &mut entries);
                    }
                }
                if !is_self_loop {
                    pending.push((child, next));
                }
            }
        }
        self.states.push((terminal, entries));
        Ok(())
    }

    fn step(&mut self, run: &TokenRun, byte: u8, next: &mut Vec<TokenRun>) -> Result<(), LimitExceeded> {
        let mut is_wrong = run.is_wrong;
        let mut longer = Vec::with_capacity(run.longer.len() + 1);
        for &lexeme in &run.longer {
            match self.lexer.step(lexeme, byte)?.extended {
                Some(further) => {
                    is_wrong |= self.lexer.label(further).is_some();
                    longer.push(further);
                }
                // The longer lexeme ends here, so the shorter one loses.
                None if self.lexer.label(lexeme).is_some() => return Ok(()),
                None => {}
            }
        }
        let extended = self.lexer.step(run.configuration, byte)?.extended;
        if let Some(configuration) = extended {
            let extends_first = run.extends_first || run.is_in_first;
            next.push(TokenRun { configuration, extends_first, longer: longer.clone(), is_wrong, ..*run });
        }
        let extension_matches = extended.is_some_and(|further| self.lexer.label(further).is_some());
        if let Some(terminal) = self.lexer.label(run.configuration)
            && !(extension_matches && extended.is_some_and(|further| self.is_live(further, terminal)))
            && !self.grammar.terminals[terminal.index()].role.is_refused()
            && let Some(&configuration) = self.lexer.enter(ALL, byte, GuardsId::NONE)?.first()
        {
            let sequence = if run.is_in_first { run.sequence } else { self.with(run.sequence, terminal) };
            longer.extend(extended);
            is_wrong |= extension_matches;
            next.push(TokenRun { configuration, sequence, is_in_first: false, longer, is_wrong, ..*run });
        }
        Ok(())
    }

    /// Whether a terminal, or the pattern that matches it as a keyword, is live.
    fn is_live(&self, configuration: ConfigurationId, terminal: TerminalId) -> bool {
        let keywords = &self.grammar.keywords;
        self.lexer.live(configuration).any(|live| live == terminal || keywords.contains(&(terminal, live)))
    }

    fn end(&mut self, run: &TokenRun, state: &mut StateSequences) {
        let mut add = |entry: (bool, SequenceId)| {
            state.all.insert(entry);
            if !run.is_wrong {
                state.longest.insert(entry);
            }
        };
        if run.is_in_first {
            add((true, run.sequence));
            return;
        }
        let live: Vec<TerminalId> = self.lexer.live(run.configuration).collect();
        for terminal in live {
            if !self.grammar.terminals[terminal.index()].role.is_refused() {
                add((run.extends_first, self.with(run.sequence, terminal)));
            }
        }
    }

    fn with(&mut self, sequence: SequenceId, terminal: TerminalId) -> SequenceId {
        let is_ignored = self.grammar.terminals[terminal.index()].is_ignored();
        if is_ignored { sequence } else { self.tree.longer(sequence, terminal) }
    }
}

/// The reductions of an entry by each step after the longest matches; `None` once it is dropped.
type ReducedSequence = [Option<SequenceId>; STREAMLINING_STEPS.len() - 2];

/// The reduction steps.
struct Reduction<'a> {
    grammar: &'a LexedGrammar,
    streamlining: &'a Streamlining<&'a LalrTable>,
    adjacency: Adjacency,
    /// The representative of each terminal.
    representative: Vec<TerminalId>,
    legality: FxHashMap<(TerminalId, TerminalId), Legality>,
    sequences: SequenceTree,
    memo: FxHashMap<(Option<TerminalId>, SequenceId), ReducedSequence>,
}

impl<'a> Reduction<'a> {
    fn new(grammar: &'a LexedGrammar, streamlining: &'a Streamlining<&'a LalrTable>) -> Self {
        Self {
            grammar,
            streamlining,
            adjacency: Adjacency::of(grammar),
            representative: representatives(grammar),
            legality: FxHashMap::default(),
            sequences: SequenceTree::new(),
            memo: FxHashMap::default(),
        }
    }

    /// Decides all pairs; counts them for all terminals and for representatives.
    fn decide_pairs(&mut self, representatives: &FxHashSet<TerminalId>) -> (PairCounts, PairCounts) {
        let mut counts = (PairCounts::default(), PairCounts::default());
        let used: Vec<TerminalId> = (0..self.grammar.terminals.len())
            .map(TerminalId::new)
            .filter(|&id| self.streamlining.is_read(id))
            .collect();
        for &last in &used {
            for &next in &used {
                let legality = self.streamlining.legality(last, &[next]);
                self.legality.insert((last, next), legality);
                counts.0.add(legality);
                if representatives.contains(&last) && representatives.contains(&next) {
                    counts.1.add(legality);
                }
            }
        }
        counts
    }

    fn count(
        &mut self,
        terminal: Option<TerminalId>,
        state: &StateSequences,
    ) -> [usize; STREAMLINING_STEPS.len()] {
        let mut remaining: [Entries; STREAMLINING_STEPS.len() - 2] = Default::default();
        for &(extends_first, sequence) in &state.longest {
            let reduced = self.reduce(terminal, sequence);
            for (entries, reduced) in remaining.iter_mut().zip(reduced) {
                entries.extend(reduced.map(|reduced| (extends_first, reduced)));
            }
        }
        let mut counts = [state.all.len(); STREAMLINING_STEPS.len()];
        counts[1] = state.longest.len();
        for (count, entries) in counts[2..].iter_mut().zip(&remaining) {
            *count = entries.len();
        }
        counts
    }

    fn reduce(&mut self, terminal: Option<TerminalId>, sequence: SequenceId) -> ReducedSequence {
        let terminal = terminal.map(|terminal| self.representative[terminal.index()]);
        if let Some(&cached) = self.memo.get(&(terminal, sequence)) {
            return cached;
        }
        // The last parsed terminal before the sequence, if known.
        let before = terminal.filter(|terminal| !self.grammar.terminals[terminal.index()].is_ignored());
        let mut text: Vec<TerminalId> = before.into_iter().collect();
        let context_len = text.len();
        let terminals = self.sequences.terminals(sequence);
        text.extend(terminals.iter().map(|terminal| self.representative[terminal.index()]));
        let mut reduced: ReducedSequence = [None; STREAMLINING_STEPS.len() - 2];
        reduced[0] = Some(self.sequences.of(&text[context_len..]));
        let can_follow = |first, second| self.adjacency.are_adjacent(first, second);
        if self.is_possible(terminal.is_none(), &text, can_follow) {
            reduced[1] = reduced[0];
            let can_follow = |first, second| {
                self.legality.get(&(first, second)).is_some_and(|&legality| legality != Legality::Never)
            };
            if self.is_possible(terminal.is_none(), &text, can_follow) {
                self.cut_pairs(&mut text);
                reduced[2] = Some(self.sequences.of(&text[context_len.min(text.len())..]));
                reduced[3] = self
                    .cut_whole(terminal.is_none(), &mut text)
                    .then(|| self.sequences.of(&text[context_len.min(text.len())..]));
            }
        }
        self.memo.insert((terminal, sequence), reduced);
        reduced
    }

    fn is_newline(&self, terminal: TerminalId) -> bool {
        self.grammar.indentation.as_ref().is_some_and(|indentation| indentation.newline == terminal)
    }

    /// Whether all pairs of neighbours in the sequence can follow each other. A newline may be ignored inside
    /// brackets, and outside it may produce indents and dedents.
    fn is_possible(
        &self,
        is_at_start: bool,
        text: &[TerminalId],
        can_follow: impl Fn(TerminalId, TerminalId) -> bool,
    ) -> bool {
        if is_at_start && text.first().is_some_and(|&first| !self.adjacency.can_begin(first)) {
            return false;
        }
        text.windows(2).enumerate().all(|(index, pair)| {
            let (first, second) = (pair[0], pair[1]);
            let Some(indentation) = self.grammar.indentation.as_ref().filter(|_| self.is_newline(first))
            else {
                return self.is_newline(second) || can_follow(first, second);
            };
            let after_newline = [indentation.newline, indentation.indent, indentation.dedent];
            let before = index.checked_sub(1).map(|index| text[index]);
            self.is_newline(second)
                || before.is_none_or(|before| self.is_newline(before) || can_follow(before, second))
                || after_newline.iter().any(|&first| can_follow(first, second))
        })
    }

    /// Removes terminals from the end that are always legal after their predecessor.
    fn cut_pairs(&self, text: &mut Vec<TerminalId>) {
        while let [.., before, last] = text[..] {
            let is_always = self.legality.get(&(before, last)) == Some(&Legality::Always);
            if self.is_newline(before) || self.is_newline(last) || !is_always {
                break;
            }
            text.pop();
        }
    }

    /// Removes a suffix that is always legal as a whole; `false` if the sequence is never legal. Parts between
    /// newlines are decided separately.
    fn cut_whole(&self, is_at_start: bool, text: &mut Vec<TerminalId>) -> bool {
        let mut keep = text.len();
        let mut start = 0;
        for part in text.split(|&terminal| self.is_newline(terminal)) {
            let end = start + part.len();
            let (kept, legality) = match part {
                _ if is_at_start && start == 0 => (0, self.streamlining.legality_at_start(part)),
                [] => (0, Legality::Sometimes),
                [first, rest @ ..] => (1, self.streamlining.legality(*first, rest)),
            };
            match legality {
                Legality::Never => return false,
                Legality::Always if end == text.len() => keep = start + kept,
                Legality::Always | Legality::Sometimes => {}
            }
            start = end + 1;
        }
        text.truncate(keep);
        true
    }
}

/// For each terminal: the first one with the same contexts in productions and the same effect on the layout.
fn representatives(grammar: &LexedGrammar) -> Vec<TerminalId> {
    /// The left-hand side of a production, and its right-hand side with a hole for the terminal.
    type HoledProduction = (usize, Vec<Option<LexedSymbol>>);
    let mut contexts: Vec<Vec<HoledProduction>> = vec![Vec::new(); grammar.terminals.len()];
    for production in &grammar.productions {
        for (position, symbol) in production.rhs.iter().enumerate() {
            if let LexedSymbol::Terminal(terminal) = *symbol {
                let rhs = production.rhs.iter().enumerate();
                let holed = rhs.map(|(index, &symbol)| (index != position).then_some(symbol)).collect();
                contexts[terminal.index()].push((production.lhs.index(), holed));
            }
        }
    }
    let layout = |terminal: TerminalId| match &grammar.indentation {
        Some(indentation) => (
            [indentation.newline, indentation.indent, indentation.dedent]
                .iter()
                .position(|&of| of == terminal),
            indentation.open.contains(&terminal),
            indentation.close.contains(&terminal),
        ),
        None => (None, false, false),
    };
    let mut first_with = FxHashMap::default();
    (0..grammar.terminals.len())
        .map(TerminalId::new)
        .map(|terminal| {
            let mut contexts = std::mem::take(&mut contexts[terminal.index()]);
            contexts.sort_unstable();
            contexts.dedup();
            // Terminals that occur in no production are not merged.
            let own = contexts.is_empty().then_some(terminal);
            *first_with.entry((contexts, layout(terminal), own)).or_insert(terminal)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure_1;

    /// Counted by hand for Figure 1 of K. Park, T. Zhou and L. D'Antoni (2025): before the first terminal; and
    /// before, inside and after the shortest lexemes of B and of C.
    const FIGURE_1: [(Option<&str>, [usize; 6]); 7] = [
        (None, [4, 4, 4, 2, 1, 1]),
        (Some("B"), [3, 3, 3, 2, 1, 1]),
        (Some("B"), [1, 1, 1, 1, 1, 1]),
        (Some("B"), [5, 5, 5, 2, 2, 2]),
        (Some("C"), [1, 1, 1, 1, 1, 1]),
        (Some("C"), [1, 1, 1, 1, 1, 1]),
        (Some("C"), [5, 5, 5, 3, 2, 2]),
    ];

    #[test]
    fn counts_figure_1() {
        let counts = EntryCounts::of(&figure_1::grammar(), &figure_1::vocabulary(), &Limits::default())
            .expect("no limit");
        let states: Vec<_> =
            counts.states.iter().map(|state| (state.terminal.as_deref(), state.entries)).collect();
        assert_eq!(states, FIGURE_1);
        assert_eq!(counts.totals(), [20, 20, 20, 12, 9, 9]);
        assert_eq!((counts.pairs.never, counts.pairs.sometimes, counts.pairs.always), (2, 0, 2));
        assert_eq!(counts.representatives, 2);
    }
}
