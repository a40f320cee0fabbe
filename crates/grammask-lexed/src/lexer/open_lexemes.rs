//! The terminals that an open lexeme can become such that the text can be completed.
//!
//! For a token to be legal it is not enough that its last lexeme can be completed: a terminal that the parser accepts
//! must be able to follow without merging into it. In `start: "if" NAME` without white space no text exists, because
//! `ifx` is a name. This analysis runs over all reachable configurations of the lexer before any text is read, and
//! computes for each of them its [`OpenTerminals`]: the terminals that its lexeme, or the first lexeme after ignored
//! ones, can become as a *separable* lexeme. A lexeme of a terminal T is separable if every terminal that the parser
//! accepts in any state after T can be written next, as a separable lexeme in turn, possibly after ignored lexemes.
//! Separability is a greatest fixpoint.
//!
//! A run is then live exactly if the parser accepts one of its open terminals: by induction, every sequence of
//! terminals that the parser accepts can be written. The converse requires that there is no *gap*: a terminal that is
//! possible at a configuration is possible there as a separable lexeme. If white space is allowed everywhere, there
//! are no gaps. A lexeme that cannot be followed by anything, and is not the last one of a text, is no gap: no text has
//! it. (By induction from the last lexeme of a text, every lexeme of a text is separable or in a gap.)
//!
//! If there is a gap, the pairs of terminals (T, U) that cause it are exempted: a lexeme of T is separable even if U
//! cannot be written after it. This is sound if every stack of the parser can be completed without U directly after
//! T, which [`viable_completion`] proves. Otherwise the grammar is refined, or refused if it
//! [cannot](crate::analysis::refinement::is_refinable) be.

pub(crate) mod commit_classes;

use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::viable_completion::{self, CompletionSteps, TerminalPair};
use crate::definition::grammar::{Indentation, LexedGrammar};
use crate::definition::source::IndentationMeasure;
use crate::lexer::column_units::ColumnUnits;
use crate::lexer::lexer_automaton::{ConfigurationId, GuardsId, LexModeId, Lexer};
use crate::parser::lalr::ParserAction;
use crate::parser::lr_automaton::LrState;
use crate::parser::parsing_tables::ParsingTables;
use crate::parser::stacks::{ParseState, TerminalParser};
use crate::parser::terminal_set::{TerminalSet, union_over_reachable};
use grammask_collections::id_type;
use grammask_diagnostics::{Code, Diagnostic, GrammarError};
use grammask_grammar::TerminalId;

id_type! {
    /// An interned [`OpenTerminals`].
    OpenTerminalsId
}

/// The terminals that a configuration can yield first. The end of the text is among them if only ignored text may
/// remain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct OpenTerminals {
    /// Outside all brackets.
    pub(crate) outside: TerminalSet,
    /// Inside brackets, where newlines are ignored.
    pub(crate) inside: TerminalSet,
}

impl OpenTerminals {
    /// Whether the parser accepts one of the terminals.
    pub(crate) fn accepted_by(
        &self,
        parser: &mut TerminalParser,
        parse: ParseState,
        end: TerminalId,
    ) -> bool {
        let terminals = if parser.is_in_brackets(parse.layout) { &self.inside } else { &self.outside };
        terminals.iter().any(|terminal| {
            if terminal == end { parser.can_end(parse, None) } else { parser.accepts(parse.stack, terminal) }
        })
    }
}

/// The open terminals of all reachable configurations, by the mode in which their lexeme began.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenTerminalsTable {
    ids: FxHashMap<(ConfigurationId, LexModeId), OpenTerminalsId>,
    sets: Vec<OpenTerminals>,
    /// The exempted pairs, sorted.
    exempt: Box<[TerminalPair]>,
    /// The completion of all stacks, if it was needed as a proof. Upper bounds of completions count it.
    plan: Option<Arc<CompletionSteps>>,
}

/// Whether the existence of texts and the viable completion of all stacks must be proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompletionProof {
    /// They must be proved.
    Required,
    /// They were proved before the grammar was serialised.
    Trusted,
}

/// The lexer modes of a grammar.
#[derive(Clone, Debug)]
pub(crate) struct LexModes {
    pub(crate) of_state: Vec<LexModeId>,
    pub(crate) terminals: Vec<TerminalSet>,
}

impl OpenTerminalsTable {
    /// The open terminals of a configuration whose lexeme began in a mode; `None` if no text leads there.
    #[inline]
    pub(crate) fn of(&self, configuration: ConfigurationId, mode: LexModeId) -> Option<OpenTerminalsId> {
        self.ids.get(&(configuration, mode)).copied()
    }

    /// The reachable configurations, with the mode in which their lexeme began.
    pub(crate) fn configurations(&self) -> Vec<(ConfigurationId, LexModeId)> {
        self.ids.keys().copied().collect()
    }

    pub(crate) fn get(&self, id: OpenTerminalsId) -> &OpenTerminals {
        &self.sets[id.index()]
    }

    /// The pairs of terminals that texts do not need: a lexeme of the first is separable even if the second cannot
    /// follow it.
    pub(crate) fn exempt(&self) -> &[TerminalPair] {
        &self.exempt
    }

    /// The completion of all stacks that avoids the exempted pairs, if it was needed as a proof.
    pub(crate) fn plan(&self) -> Option<&Arc<CompletionSteps>> {
        self.plan.as_ref()
    }

    /// Runs the analysis.
    ///
    /// # Errors
    /// `inseparable-terminals` if there is a gap; an exceeded limit.
    pub(crate) fn compute(
        lexer: &mut Lexer,
        grammar: &LexedGrammar,
        tables: &ParsingTables,
        modes: &LexModes,
        proof: CompletionProof,
    ) -> Result<Self, OpenTerminalsError> {
        let mut analysis = OpenLexemeAnalysis::new(lexer, grammar, tables, modes);
        analysis.explore()?;
        analysis.solve(proof)
    }
}

/// Why the open terminals of a grammar are not known.
#[derive(Debug)]
pub(crate) enum OpenTerminalsError {
    /// Some stacks of the parser have no completion that can be written.
    Incompletable(GrammarError),
    /// Any other error.
    Other(GrammarError),
}

impl From<GrammarError> for OpenTerminalsError {
    fn from(error: GrammarError) -> Self {
        Self::Other(error)
    }
}

impl From<Diagnostic> for OpenTerminalsError {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Other(diagnostic.into())
    }
}

/// The guards of a commit for each byte class of the next byte; `None` where no commit is possible.
type CommitProfile = Box<[Option<GuardsId>]>;

/// The end of a lexeme: its terminal, and the index of its profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Commit {
    terminal: TerminalId,
    profile: usize,
}

/// The separable lexemes, and the terminals possible at each variable outside brackets.
struct Fixpoint {
    is_separable: FxHashMap<Commit, bool>,
    outside: Vec<TerminalSet>,
}

/// A variable of the analysis: its value is a set of terminals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Variable {
    /// A configuration whose lexeme began in a mode.
    Inside(ConfigurationId, LexModeId),
    /// The position after a commit with a profile, before a lexeme of a mode.
    After(usize, LexModeId),
}

/// The edges of a configuration, which are the same in all modes.
#[derive(Debug)]
struct ConfigurationEdges {
    /// The configurations in which the lexeme is longer by a byte, refused ones excluded.
    reached: Box<[ConfigurationId]>,
    label: Option<Commit>,
}

struct OpenLexemeAnalysis<'a> {
    lexer: &'a mut Lexer,
    grammar: &'a LexedGrammar,
    tables: &'a ParsingTables,
    modes: &'a LexModes,
    /// For each terminal: the modes of the parser states after it, with the terminals accepted in those states.
    needed_after: Vec<Vec<(LexModeId, TerminalSet)>>,
    /// For each terminal: whether the parser may accept the end of the text after it.
    may_be_last: Vec<bool>,
    profiles: FxHashMap<CommitProfile, usize>,
    profile_list: Vec<CommitProfile>,
    edges: FxHashMap<ConfigurationId, Rc<ConfigurationEdges>>,
    variables: Vec<Variable>,
    variable_ids: FxHashMap<Variable, usize>,
    successors: Vec<Vec<usize>>,
    /// For each variable: the end of its lexeme, if the lexeme may end there.
    labels: Vec<Option<Commit>>,
}

impl<'a> OpenLexemeAnalysis<'a> {
    fn new(
        lexer: &'a mut Lexer,
        grammar: &'a LexedGrammar,
        tables: &'a ParsingTables,
        modes: &'a LexModes,
    ) -> Self {
        let needed_after = needed_after(grammar, tables, modes);
        Self {
            lexer,
            grammar,
            tables,
            modes,
            needed_after,
            may_be_last: may_be_last(grammar, tables),
            profiles: FxHashMap::default(),
            profile_list: Vec::new(),
            edges: FxHashMap::default(),
            variables: Vec::new(),
            variable_ids: FxHashMap::default(),
            successors: Vec::new(),
            labels: Vec::new(),
        }
    }

    /// Whether a lexeme of the terminal can leave the parser's stack unchanged.
    fn may_be_ignored(&self, terminal: TerminalId) -> bool {
        self.grammar.terminals[terminal.index()].is_ignored() || self.is_newline(terminal)
    }

    fn is_newline(&self, terminal: TerminalId) -> bool {
        self.grammar.indentation.as_ref().is_some_and(|indentation| indentation.newline == terminal)
    }

    fn variable(&mut self, variable: Variable) -> usize {
        if let Some(&cached) = self.variable_ids.get(&variable) {
            return cached;
        }
        let id = self.variables.len();
        self.variables.push(variable);
        self.variable_ids.insert(variable, id);
        id
    }

    /// Collects all reachable variables and the dependencies between them.
    fn explore(&mut self) -> Result<(), GrammarError> {
        let mode = self.modes.of_state[LrState::START.index()];
        for start in self.lexer.starts(mode).map_err(|limit| limit.diagnostic())? {
            self.variable(Variable::Inside(start, mode));
        }
        while self.successors.len() < self.variables.len() {
            let (successors, label) = match self.variables[self.successors.len()] {
                Variable::Inside(configuration, mode) => self.explore_inside(configuration, mode)?,
                Variable::After(profile, mode) => (self.explore_after(profile, mode)?, None),
            };
            self.successors.push(successors);
            self.labels.push(label);
        }
        Ok(())
    }

    fn explore_inside(
        &mut self,
        configuration: ConfigurationId,
        mode: LexModeId,
    ) -> Result<(Vec<usize>, Option<Commit>), GrammarError> {
        let edges = self.edges_of(configuration)?;
        let mut successors: Vec<usize> =
            edges.reached.iter().map(|&next| self.variable(Variable::Inside(next, mode))).collect();
        successors.sort_unstable();
        let Some(Commit { terminal, profile }) = edges.label else { return Ok((successors, None)) };
        if self.may_be_ignored(terminal) {
            self.variable(Variable::After(profile, mode));
        }
        if !self.grammar.terminals[terminal.index()].is_ignored() {
            for index in 0..self.needed_after[terminal.index()].len() {
                let mode = self.needed_after[terminal.index()][index].0;
                self.variable(Variable::After(profile, mode));
                self.explore_after_delimited(terminal, mode)?;
            }
        }
        if self.may_be_ignored(terminal) {
            self.explore_after_delimited(terminal, mode)?;
        }
        Ok((successors, edges.label))
    }

    /// After the end of a delimited terminal no byte of the next lexeme has been read.
    fn explore_after_delimited(&mut self, terminal: TerminalId, mode: LexModeId) -> Result<(), GrammarError> {
        if self.grammar.terminals[terminal.index()].delimited.is_some() {
            for start in self.lexer.starts(mode).map_err(|limit| limit.diagnostic())? {
                self.variable(Variable::Inside(start, mode));
            }
        }
        Ok(())
    }

    fn edges_of(&mut self, configuration: ConfigurationId) -> Result<Rc<ConfigurationEdges>, GrammarError> {
        if let Some(edges) = self.edges.get(&configuration) {
            return Ok(edges.clone());
        }
        let mut profile = Vec::with_capacity(self.lexer.byte_of_class().len());
        // A linear search: the number of distinct successors is small.
        let mut reached: Vec<ConfigurationId> = Vec::new();
        for step in self.lexer.steps(configuration).map_err(|limit| limit.diagnostic())? {
            if let Some(next) = step.extended
                && !reached.contains(&next)
            {
                reached.push(next);
            }
            profile.push(step.commit);
        }
        reached.retain(|&next| !self.lexer.is_refused(next));
        let label = self.lexer.label(configuration).map(|terminal| {
            let profile: CommitProfile = profile.into();
            let profile = *self.profiles.entry(profile).or_insert_with_key(|profile| {
                self.profile_list.push(profile.clone());
                self.profile_list.len() - 1
            });
            Commit { terminal, profile }
        });
        let edges = Rc::new(ConfigurationEdges { reached: reached.into(), label });
        self.edges.insert(configuration, edges.clone());
        Ok(edges)
    }

    fn explore_after(&mut self, profile: usize, mode: LexModeId) -> Result<Vec<usize>, GrammarError> {
        let bytes = self.lexer.byte_of_class().to_vec().into_iter();
        let steps = bytes.zip(self.profile_list[profile].iter().copied());
        let entered = self.lexer.enter_by_any(mode, steps).map_err(|limit| limit.diagnostic())?;
        let mut successors = Vec::with_capacity(entered.len());
        for next in entered {
            if !self.lexer.is_refused(next) {
                successors.push(self.variable(Variable::Inside(next, mode)));
            }
        }
        successors.sort_unstable();
        Ok(successors)
    }

    /// The terminals possible first at each variable, given the separable lexemes.
    fn first_terminals(&self, in_brackets: bool, is_separable: &FxHashMap<Commit, bool>) -> Vec<TerminalSet> {
        let width = self.grammar.terminals.len() + 1;
        let mut sets = vec![TerminalSet::new(width); self.variables.len()];
        let mut successors = self.successors.clone();
        for (index, label) in self.labels.iter().enumerate() {
            let (Some(commit), Variable::Inside(_, mode)) = (*label, self.variables[index]) else {
                continue;
            };
            let Commit { terminal, profile } = commit;
            let is_ignored = self.grammar.terminals[terminal.index()].is_ignored()
                || (in_brackets && self.is_newline(terminal));
            if is_ignored {
                sets[index].insert(self.grammar.end());
                successors[index].extend(self.variable_ids.get(&Variable::After(profile, mode)));
            } else if is_separable[&commit] {
                sets[index].insert(terminal);
            }
        }
        union_over_reachable(&mut sets, &successors);
        sets
    }

    /// The greatest fixpoint, or the pairs of terminals that cause a gap.
    fn separable_lexemes(&self, exempt: &FxHashSet<TerminalPair>) -> Result<Fixpoint, Vec<TerminalPair>> {
        let mut is_separable: FxHashMap<Commit, bool> =
            self.labels.iter().flatten().map(|&label| (label, true)).collect();
        let mut outside = self.first_terminals(false, &is_separable);
        // Those of earlier rounds, which were no gaps then.
        let mut inseparable_before: Vec<(Commit, Vec<TerminalId>)> = Vec::new();
        loop {
            let mut inseparable: Vec<(Commit, Vec<TerminalId>)> = Vec::new();
            let mut has_changed = false;
            for (&commit, is_separable) in &mut is_separable {
                let Commit { terminal, profile } = commit;
                if *is_separable && !self.grammar.terminals[terminal.index()].is_ignored() {
                    let missing = self.missing_after(terminal, profile, &outside, exempt);
                    *is_separable = missing.is_empty();
                    has_changed |= !missing.is_empty();
                    if !missing.is_empty() && self.may_be_followed(commit, &outside) {
                        inseparable.push((commit, missing));
                    }
                }
            }
            if !has_changed {
                return Ok(Fixpoint { is_separable, outside });
            }
            outside = self.first_terminals(false, &is_separable);
            let mut unreachable: FxHashSet<Commit> = FxHashSet::default();
            for (label, open) in self.labels.iter().zip(&outside) {
                unreachable.extend(label.filter(|commit| !open.contains(commit.terminal)));
            }
            // For each terminal, exempt the pairs of the lexeme with the fewest missing successors: other lexemes may
            // become separable as a consequence.
            let smallest_gaps = |inseparable: &[(Commit, Vec<TerminalId>)]| {
                let mut gaps: FxHashMap<TerminalId, Vec<TerminalId>> = FxHashMap::default();
                for (Commit { terminal, .. }, missing) in
                    inseparable.iter().filter(|(label, _)| unreachable.contains(label))
                {
                    let smallest = gaps.entry(*terminal).or_insert_with(|| missing.clone());
                    if missing.len() < smallest.len() {
                        smallest.clone_from(missing);
                    }
                }
                gaps
            };
            let mut gaps = smallest_gaps(&inseparable);
            if gaps.is_empty() {
                inseparable_before.retain(|&(commit, _)| self.may_be_followed(commit, &outside));
                gaps = smallest_gaps(&inseparable_before);
            }
            inseparable_before.extend(inseparable);
            if !gaps.is_empty() {
                let pairs = |(first, missing): (TerminalId, Vec<TerminalId>)| {
                    missing.into_iter().map(move |second| (first, second))
                };
                return Err(gaps.into_iter().flat_map(pairs).collect());
            }
        }
    }

    /// The terminals that the parser may accept after a lexeme but that cannot be written there, exempted pairs
    /// excluded.
    fn missing_after(
        &self,
        terminal: TerminalId,
        profile: usize,
        sets: &[TerminalSet],
        exempt: &FxHashSet<TerminalPair>,
    ) -> Vec<TerminalId> {
        let mut all_missing = TerminalSet::new(self.grammar.terminals.len() + 1);
        for (mode, needed) in &self.needed_after[terminal.index()] {
            match self.variable_ids.get(&Variable::After(profile, *mode)) {
                Some(&after) => all_missing.union_with(&needed.without(&sets[after])),
                None => all_missing.union_with(needed),
            };
        }
        all_missing.iter().filter(|&missing| !exempt.contains(&(terminal, missing))).collect()
    }

    /// Whether a lexeme can be the last one of a text, or be followed by a terminal that the parser may accept.
    fn may_be_followed(&self, Commit { terminal, profile }: Commit, sets: &[TerminalSet]) -> bool {
        self.may_be_last[terminal.index()]
            || self.needed_after[terminal.index()].iter().any(|(mode, needed)| {
                let after = self.variable_ids.get(&Variable::After(profile, *mode));
                after.is_some_and(|&after| needed.intersects(&sets[after]))
            })
    }

    fn solve(mut self, proof: CompletionProof) -> Result<OpenTerminalsTable, OpenTerminalsError> {
        let mut exempt: FxHashSet<TerminalPair> = FxHashSet::default();
        let Fixpoint { is_separable, outside } = loop {
            match self.separable_lexemes(&exempt) {
                Ok(solution) => break solution,
                Err(gaps) => exempt.extend(gaps),
            }
        };
        let mut plan = None;
        match self.tables {
            ParsingTables::Lalr(_) if proof == CompletionProof::Trusted => {}
            ParsingTables::Lalr(table) if !exempt.is_empty() || !table.resolved().is_empty() => {
                match viable_completion::completion_plan(self.grammar, table, &exempt) {
                    Ok(steps) => plan = Some(steps.into()),
                    Err(state) => {
                        // The pairs are at fault only if there is a plan with them.
                        let without_pairs = match exempt.is_empty() {
                            true => Err(state),
                            false => {
                                viable_completion::completion_plan(self.grammar, table, &FxHashSet::default())
                            }
                        };
                        return Err(OpenTerminalsError::Incompletable(match without_pairs {
                            Ok(_) => self.report(exempt),
                            Err(state) => table.incompletable_state_error(self.grammar, state).into(),
                        }));
                    }
                }
            }
            ParsingTables::Earley(_) if !exempt.is_empty() => {
                return Err(OpenTerminalsError::Incompletable(self.report(exempt)));
            }
            // Without gaps and resolved conflicts every stack can be completed, and so can every Earley set.
            ParsingTables::Lalr(_) | ParsingTables::Earley(_) => {}
        }
        if let Some(name) = self.newline_without_columns(&outside, &is_separable) {
            let message = "an incomplete newline cannot always be extended to another column";
            return Err(Diagnostic::error(Code::UnsupportedGrammar, message)
                .help(format!(
                "let `{name}` repeat: a line break and then spaces, and tabs if it has any, any number of times"
            ))
                .into());
        }
        let inside = match self.grammar.indentation {
            Some(_) => self.first_terminals(true, &is_separable),
            None => outside.clone(),
        };
        let mut exempt: Box<[TerminalPair]> = exempt.into_iter().collect();
        exempt.sort_unstable();
        let mut open_terminals = OpenTerminalsTable { exempt, plan, ..OpenTerminalsTable::default() };
        let mut ids: FxHashMap<OpenTerminals, OpenTerminalsId> = FxHashMap::default();
        for (index, &variable) in self.variables.iter().enumerate() {
            let Variable::Inside(configuration, mode) = variable else { continue };
            let open = OpenTerminals { outside: outside[index].clone(), inside: inside[index].clone() };
            let id = *ids.entry(open.clone()).or_insert_with(|| {
                open_terminals.sets.push(open);
                OpenTerminalsId::new(open_terminals.sets.len() - 1)
            });
            open_terminals.ids.insert((configuration, mode), id);
        }
        Ok(open_terminals)
    }

    /// The name of the newline terminal if it is possible at a variable where its column is not free.
    fn newline_without_columns(
        &mut self,
        outside: &[TerminalSet],
        is_separable: &FxHashMap<Commit, bool>,
    ) -> Option<&str> {
        let Indentation { newline, measure, .. } = *self.grammar.indentation.as_ref()?;
        let units = self.grammar.column_units.clone();
        // The white space of a line in a block: spaces reach each column, but in Python not each width of a line with tabs.
        let needed = match measure == IndentationMeasure::Python && self.may_begin_with_tab(&units) {
            true => &[units.space(), units.tab()][..],
            false => &[units.space()],
        };
        let mut is_free = vec![TerminalSet::new(self.grammar.terminals.len() + 1); self.variables.len()];
        for index in 0..self.variables.len() {
            let Variable::Inside(configuration, mode) = self.variables[index] else { continue };
            // Every step was computed by `explore`, so no limit can be exceeded here.
            let Some(first) = self.extended_over(configuration, units.line_break()) else { continue };
            let mut reached = vec![first];
            let mut next = 0;
            let is_closed = loop {
                let Some(&current) = reached.get(next) else { break true };
                next += 1;
                if !self.is_separable_newline(current, mode, is_separable) {
                    break false;
                }
                let extended: Option<Vec<_>> =
                    needed.iter().map(|spelling| self.extended_over(current, spelling)).collect();
                let Some(extended) = extended else { break false };
                for configuration in extended {
                    if !reached.contains(&configuration) {
                        reached.push(configuration);
                    }
                }
            };
            if is_closed && let Some(&first) = self.variable_ids.get(&Variable::Inside(first, mode)) {
                is_free[first].insert(newline);
            }
        }
        let mut successors = self.successors.clone();
        for (index, label) in self.labels.iter().enumerate() {
            if let (Some(Commit { terminal, profile }), Variable::Inside(_, mode)) =
                (*label, self.variables[index])
                && self.grammar.terminals[terminal.index()].is_ignored()
            {
                successors[index].extend(self.variable_ids.get(&Variable::After(profile, mode)));
            }
        }
        union_over_reachable(&mut is_free, &successors);
        let is_fault = outside
            .iter()
            .zip(&is_free)
            .any(|(outside, is_free)| outside.contains(newline) && !is_free.contains(newline));
        is_fault.then(|| self.grammar.terminal_name(newline))
    }

    /// Whether a newline can have a tab in the white space after its last line break.
    fn may_begin_with_tab(&mut self, units: &ColumnUnits) -> bool {
        let mut reached: Vec<ConfigurationId> = Vec::new();
        for configuration in self.edges.keys().copied().collect::<Vec<_>>() {
            reached.extend(self.extended_over(configuration, units.line_break()));
        }
        let mut seen: FxHashSet<ConfigurationId> = reached.iter().copied().collect();
        while let Some(configuration) = reached.pop() {
            if !self.may_become_newline(configuration) {
                continue;
            }
            let after_tab = self.extended_over(configuration, units.tab());
            if !units.tab().is_empty() && after_tab.is_some_and(|after| self.may_become_newline(after)) {
                return true;
            }
            for spelling in units.white_space() {
                reached.extend(self.extended_over(configuration, spelling).filter(|&next| seen.insert(next)));
            }
        }
        false
    }

    fn may_become_newline(&self, configuration: ConfigurationId) -> bool {
        self.lexer.live(configuration).any(|terminal| self.is_newline(terminal))
    }

    /// The configuration in which the bytes of `spelling` extend the lexeme.
    fn extended_over(&mut self, from: ConfigurationId, spelling: &[u8]) -> Option<ConfigurationId> {
        spelling.iter().try_fold(from, |from, &byte| self.lexer.step(from, byte).ok()?.extended)
    }

    /// Whether a configuration ends a separable newline.
    fn is_separable_newline(
        &self,
        configuration: ConfigurationId,
        mode: LexModeId,
        is_separable: &FxHashMap<Commit, bool>,
    ) -> bool {
        let variable = self.variable_ids.get(&Variable::Inside(configuration, mode));
        let label = variable.and_then(|&variable| self.labels[variable]);
        label.is_some_and(|label| self.is_newline(label.terminal) && is_separable[&label])
    }

    fn report(&self, exempt: FxHashSet<TerminalPair>) -> GrammarError {
        let mut gaps: Vec<TerminalPair> = exempt.into_iter().collect();
        gaps.sort_unstable();
        let diagnostics = gaps.iter().take(10).map(|&(first, second)| {
            let (first, second) = (self.grammar.terminal_name(first), self.grammar.terminal_name(second));
            Diagnostic::error(
                Code::InseparableTerminals,
                format!("`{second}` can follow `{first}` by the rules, but not in any text"),
            )
            .help(
                "the lexer reads both as one lexeme or as others; ignore white space, \
                 so that it can stand between them",
            )
        });
        GrammarError::new(diagnostics.collect(), std::sync::Arc::from(""))
    }
}

/// For each terminal: whether the parser may accept the end of the text after it.
fn may_be_last(grammar: &LexedGrammar, tables: &ParsingTables) -> Vec<bool> {
    let newline = grammar.indentation.as_ref().map(|indentation| indentation.newline);
    let states_after = tables.states_after(grammar);
    let may_end = |state: &LrState| match tables {
        ParsingTables::Lalr(table) => table.action(*state, table.end()) != ParserAction::Error,
        ParsingTables::Earley(_) => true,
    };
    let terminals = states_after.iter().enumerate();
    // Ends of blocks may precede the end of the text after a newline.
    terminals
        .map(|(index, states)| newline == Some(TerminalId::new(index)) || states.iter().any(may_end))
        .collect()
}

/// For each terminal: whether a text can end with a lexeme of it, at which the ends of open blocks may follow.
pub(crate) fn may_end_text(grammar: &LexedGrammar, tables: &ParsingTables) -> Box<[bool]> {
    let dedent = grammar.indentation.as_ref().map(|indentation| indentation.dedent);
    let may_end = |state: &LrState| match tables {
        ParsingTables::Lalr(table) => [Some(table.end()), dedent]
            .into_iter()
            .flatten()
            .any(|terminal| table.action(*state, terminal) != ParserAction::Error),
        ParsingTables::Earley(_) => true,
    };
    let newline = grammar.indentation.as_ref().map(|indentation| indentation.newline);
    let states_after = tables.states_after(grammar);
    let terminals = grammar.terminals.iter().zip(&states_after).enumerate();
    terminals
        .map(|(index, (terminal, states))| {
            terminal.is_ignored() || newline == Some(TerminalId::new(index)) || states.iter().any(may_end)
        })
        .collect()
}

/// For each terminal: the modes of the parser states after it, with the terminals accepted in those states.
pub(crate) fn needed_after(
    grammar: &LexedGrammar,
    tables: &ParsingTables,
    modes: &LexModes,
) -> Vec<Vec<(LexModeId, TerminalSet)>> {
    let accepted = tables.accepted(grammar);
    let mut states_after = tables.states_after(grammar);
    if let Some(indentation) = &grammar.indentation {
        let after_layout = [indentation.indent, indentation.dedent];
        let more: Vec<LrState> =
            after_layout.iter().flat_map(|terminal| states_after[terminal.index()].clone()).collect();
        states_after[indentation.newline.index()].extend(more);
    }
    let mut needed_after: Vec<Vec<(LexModeId, TerminalSet)>> = Vec::with_capacity(states_after.len());
    for states in &states_after {
        let mut needed: Vec<(LexModeId, TerminalSet)> = Vec::new();
        for &state in states {
            let mode = modes.of_state[state.index()];
            match needed.iter_mut().find(|(of, _)| *of == mode) {
                Some((_, accepted_terminals)) => {
                    accepted_terminals.union_with(&accepted[state.index()]);
                }
                None => needed.push((mode, accepted[state.index()].clone())),
            }
        }
        needed.sort_unstable_by_key(|&(mode, _)| mode);
        for (_, needed) in &mut needed {
            if let Some(indentation) = &grammar.indentation {
                needed.remove(indentation.indent);
                needed.remove(indentation.dedent);
            }
        }
        needed_after.push(needed);
    }
    needed_after
}
