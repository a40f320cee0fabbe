//! Commit classes: the lexemes of a terminal by what can be written after them.
//!
//! In `A B` with `A: /ab?/` and `B: /b/`, a lexeme `ab` of `A` can be followed by `B` and a lexeme `a` cannot. The *commit
//! classes* of a terminal are the coarsest partition of its lexemes such that those of one class are followed by lexemes
//! of the same classes. Which sequences of lexemes can be written is then a relation between adjacent classes, and each
//! class becomes a terminal of a [refined grammar](crate::analysis::refinement).

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Commit, OpenLexemeAnalysis, OpenTerminals, OpenTerminalsId, OpenTerminalsTable, Variable};
use crate::definition::grammar::LexedGrammar;
use crate::lexer::lexer_automaton::{ConfigurationId, LexModeId, Lexer};
use crate::lexer::open_lexemes::LexModes;
use crate::parser::parsing_tables::ParsingTables;
use crate::parser::terminal_set::{TerminalSet, union_over_reachable};
use grammask_diagnostics::GrammarError;
use grammask_grammar::TerminalId;

/// The commit classes of all terminals. The first class of a terminal has the terminal's id, the others have ids after all
/// terminals. Sets also have the end of the text, whose id is the number of classes.
#[derive(Debug)]
pub(crate) struct CommitClasses {
    /// The terminal of each class.
    pub(crate) terminal_of: Vec<TerminalId>,
    /// For each class and lexer mode after it: the classes that can be written next.
    next: FxHashMap<(TerminalId, LexModeId), TerminalSet>,
    /// The classes that can come first at each reachable configuration.
    first: FxHashMap<(ConfigurationId, LexModeId), TerminalSet>,
    /// The class of the lexeme that may end at each configuration, where it is not the first one of its terminal.
    labels: FxHashMap<ConfigurationId, TerminalId>,
}

impl CommitClasses {
    /// Computes the classes of a grammar without indentation.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn compute(
        lexer: &mut Lexer,
        grammar: &LexedGrammar,
        tables: &ParsingTables,
        modes: &LexModes,
    ) -> Result<Self, GrammarError> {
        let mut analysis = OpenLexemeAnalysis::new(lexer, grammar, tables, modes);
        analysis.explore()?;
        Ok(analysis.commit_classes())
    }

    /// The end of the text, as the last member of sets.
    pub(crate) fn end(&self) -> TerminalId {
        TerminalId::new(self.terminal_of.len())
    }

    /// The classes of a terminal, ascending.
    pub(crate) fn classes_of(&self, terminal: TerminalId) -> impl Iterator<Item = TerminalId> {
        let of = move |&(_, &each): &(usize, &TerminalId)| each == terminal;
        self.terminal_of.iter().enumerate().filter(of).map(|(class, _)| TerminalId::new(class))
    }

    /// The classes that can be written after a class in a lexer mode.
    pub(crate) fn next(&self, class: TerminalId, mode: LexModeId) -> Option<&TerminalSet> {
        self.next.get(&(class, mode))
    }

    /// The classes that can come first at a configuration.
    pub(crate) fn first(&self, configuration: ConfigurationId, mode: LexModeId) -> Option<&TerminalSet> {
        self.first.get(&(configuration, mode))
    }

    /// The labels of configurations, and the open terminals where each class is a terminal.
    pub(crate) fn into_open_terminals(self) -> (FxHashMap<ConfigurationId, TerminalId>, OpenTerminalsTable) {
        let mut table = OpenTerminalsTable::default();
        let mut ids: FxHashMap<TerminalSet, OpenTerminalsId> = FxHashMap::default();
        let mut first: Vec<_> = self.first.into_iter().collect();
        first.sort_unstable_by_key(|&(place, _)| place);
        for (place, set) in first {
            let id = *ids.entry(set.clone()).or_insert_with(|| {
                table.sets.push(OpenTerminals { outside: set.clone(), inside: set });
                OpenTerminalsId::new(table.sets.len() - 1)
            });
            table.ids.insert(place, id);
        }
        (self.labels, table)
    }
}

impl OpenLexemeAnalysis<'_> {
    /// The partition of all lexemes, after the exploration.
    fn commit_classes(&self) -> CommitClasses {
        let mut seen = FxHashSet::default();
        let is_parsed = |commit: &Commit| !self.grammar.terminals[commit.terminal.index()].is_ignored();
        let commits: Vec<Commit> = self
            .labels
            .iter()
            .flatten()
            .copied()
            .filter(is_parsed)
            .filter(|&commit| seen.insert(commit))
            .collect();
        let first = self.first_commits(&commits);
        let class_of = self.coarsest_partition(&commits, &first);
        let mut ids: FxHashMap<usize, TerminalId> = FxHashMap::default();
        let mut terminal_of: Vec<TerminalId> =
            (0..self.grammar.terminals.len()).map(TerminalId::new).collect();
        let mut has_class = vec![false; terminal_of.len()];
        for (&class, commit) in class_of.iter().zip(&commits) {
            ids.entry(class).or_insert_with(|| {
                if !std::mem::replace(&mut has_class[commit.terminal.index()], true) {
                    return commit.terminal;
                }
                terminal_of.push(commit.terminal);
                TerminalId::new(terminal_of.len() - 1)
            });
        }
        let id_of: Vec<TerminalId> = class_of.iter().map(|class| ids[class]).collect();
        let as_classes = |set: &TerminalSet| {
            let mut classes = TerminalSet::new(terminal_of.len() + 1);
            for member in set.iter() {
                classes
                    .insert(id_of.get(member.index()).copied().unwrap_or(TerminalId::new(terminal_of.len())));
            }
            classes
        };
        let mut next = FxHashMap::default();
        for (commit, &class) in commits.iter().zip(&id_of) {
            for &(mode, _) in &self.needed_after[commit.terminal.index()] {
                if let Some(&after) = self.variable_ids.get(&Variable::After(commit.profile, mode)) {
                    next.entry((class, mode)).or_insert_with(|| as_classes(&first[after]));
                }
            }
        }
        let index_of: FxHashMap<Commit, usize> =
            commits.iter().enumerate().map(|(index, &commit)| (commit, index)).collect();
        let mut labels = FxHashMap::default();
        let mut first_of = FxHashMap::default();
        for ((&variable, label), first) in self.variables.iter().zip(&self.labels).zip(&first) {
            let Variable::Inside(configuration, mode) = variable else { continue };
            first_of.insert((configuration, mode), as_classes(first));
            if let Some(commit) = label
                && let Some(&index) = index_of.get(commit)
                && id_of[index] != commit.terminal
            {
                labels.insert(configuration, id_of[index]);
            }
        }
        CommitClasses { terminal_of, next, first: first_of, labels }
    }

    /// For each variable: the commits that can come first, as indices, and the end of the text as their number.
    fn first_commits(&self, commits: &[Commit]) -> Vec<TerminalSet> {
        let index_of: FxHashMap<Commit, usize> =
            commits.iter().enumerate().map(|(index, &commit)| (commit, index)).collect();
        let mut sets = vec![TerminalSet::new(commits.len() + 1); self.variables.len()];
        let mut successors = self.successors.clone();
        for (index, label) in self.labels.iter().enumerate() {
            let (Some(commit), Variable::Inside(_, mode)) = (label, self.variables[index]) else { continue };
            match index_of.get(commit) {
                Some(&commit) => {
                    sets[index].insert(TerminalId::new(commit));
                }
                None => {
                    sets[index].insert(TerminalId::new(commits.len()));
                    successors[index].extend(self.variable_ids.get(&Variable::After(commit.profile, mode)));
                }
            }
        }
        union_over_reachable(&mut sets, &successors);
        sets
    }

    /// The class of each commit: a bisimulation, by refinement of the partition by terminals.
    fn coarsest_partition(&self, commits: &[Commit], first: &[TerminalSet]) -> Vec<usize> {
        let mut class_of: Vec<usize> = commits.iter().map(|commit| commit.terminal.index()).collect();
        let mut count = class_of.iter().collect::<FxHashSet<_>>().len();
        loop {
            let mut ids: FxHashMap<(usize, Vec<BTreeSet<usize>>), usize> = FxHashMap::default();
            let refined: Vec<usize> = commits
                .iter()
                .zip(&class_of)
                .map(|(commit, &class)| {
                    let after = self.needed_after[commit.terminal.index()].iter().map(|&(mode, _)| {
                        let after = self.variable_ids.get(&Variable::After(commit.profile, mode));
                        let members = after.into_iter().flat_map(|&after| first[after].iter());
                        members
                            .map(|member| class_of.get(member.index()).copied().unwrap_or(usize::MAX))
                            .collect()
                    });
                    let key = (class, after.collect());
                    let next = ids.len();
                    *ids.entry(key).or_insert(next)
                })
                .collect();
            class_of = refined;
            if ids.len() == count {
                return class_of;
            }
            count = ids.len();
        }
    }
}
