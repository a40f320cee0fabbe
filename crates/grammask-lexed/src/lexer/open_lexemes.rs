//! Which terminals can still come out of a configuration of the lexer, and whether what the parser wants can be written.
//!
//! That a lexeme can be completed is not enough for a token to be legal: something that the parser takes must be able
//! to follow without merging into it. In `start: "if" NAME` without white space nothing ever can, because `ifx` is a
//! name. This analysis runs over all configurations of the lexer before anything is read. It computes, for each
//! configuration, the *future*: the terminals that can come out of it first, completed as *open* lexemes. A lexeme of
//! T is open if every terminal that the parser accepts in any state after T can be written behind it, again as an
//! open lexeme, with ignored lexemes between if need be; the largest such notion is a greatest fixpoint.
//!
//! Then a run is alive exactly if the parser accepts a terminal of its future: by induction every sequence of
//! terminals that the parser takes can be written. The converse needs that there is no gap: where a terminal could
//! come out at all, it can come out open. Where white space may stand everywhere there is none.
//!
//! Where there is a gap, the pairs of terminals that make it are taken out of what must be possible: an open lexeme of
//! T then need not be able to have U behind it. That is as good if every stack of the parser can be completed without
//! having U right after T, which a plan proves (`productivity`). Without such a plan the grammar is refused.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::viable_completion;
use crate::definition::grammar::LexedGrammar;
use crate::lexer::lexer_automaton::{ClassId, ConfigurationId, GuardsId, Lexer, Steps};
use crate::parser::lr_automaton::LrState;
use crate::parser::parsing_tables::ParsingTables;
use crate::parser::stacks::{Parse, Parser};
use crate::parser::terminal_set::{TerminalSet, unite_along};
use grammask_collections::id_type;
use grammask_diagnostics::{Code, Diagnostic, GrammarError};
use grammask_grammar::TerminalId;

id_type! {
    /// What can come out of a configuration.
    FutureId
}

/// Terminals that can come out of a configuration first; the end of the text among them if only ignored text is left.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Future {
    /// Outside of brackets.
    pub(crate) outside: TerminalSet,
    /// Inside of brackets, where newlines are ignored.
    pub(crate) inside: TerminalSet,
}

impl Future {
    /// Whether the parser takes something that can come out.
    pub(crate) fn is_wanted(&self, parser: &mut Parser, parse: Parse, end: TerminalId) -> bool {
        let terminals = if parser.is_in_brackets(parse.layout) { &self.inside } else { &self.outside };
        terminals.iter().any(|terminal| {
            if terminal == end { parser.can_end(parse, None) } else { parser.accepts(parse.stack, terminal) }
        })
    }
}

/// The futures of all configurations that texts can lead to, in the class that their lexeme began in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Futures {
    ids: FxHashMap<(ConfigurationId, ClassId), FutureId>,
    futures: Vec<Future>,
}

/// Whether it is known that texts exist, and that every stack of the parser can be completed, where that takes a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// It has to be shown.
    Needed,
    /// It was shown before, when the grammar was saved.
    Known,
}

/// The classes of terminals that the lexer looks for, by state of the parser.
#[derive(Clone, Debug)]
pub(crate) struct Classes {
    pub(crate) of_state: Vec<ClassId>,
    pub(crate) terminals: Vec<TerminalSet>,
}

impl Futures {
    /// The future of a configuration.
    #[inline]
    pub(crate) fn of(&self, configuration: ConfigurationId, class: ClassId) -> Option<FutureId> {
        self.ids.get(&(configuration, class)).copied()
    }

    /// The configurations that texts can lead to, by the class that their lexeme began in.
    pub(crate) fn configurations(&self) -> Vec<(ConfigurationId, ClassId)> {
        self.ids.keys().copied().collect()
    }

    pub(crate) fn get(&self, id: FutureId) -> &Future {
        &self.futures[id.index()]
    }

    /// Runs the analysis.
    ///
    /// # Errors
    /// `inseparable-terminals` if there is a gap; a limit that was passed.
    pub(crate) fn of_lexer(
        lexer: &mut Lexer,
        grammar: &LexedGrammar,
        tables: &ParsingTables,
        (classes, proof): (&Classes, Proof),
    ) -> Result<Self, GrammarError> {
        let mut analysis = Analysis::new(lexer, grammar, tables, classes);
        analysis.explore()?;
        analysis.solve(proof)
    }
}

/// Two terminals that follow each other.
type Pair = (TerminalId, TerminalId);

/// A commit's guards for each class of bytes, where a commit is possible.
type Profile = Box<[Option<GuardsId>]>;

/// What the lexeme of a configuration would be, and the profile of its commit.
type Label = (TerminalId, usize);

/// Which lexemes are open, and what can come out of each variable then.
type Solution = (FxHashMap<Label, bool>, Vec<TerminalSet>);

/// What a set of terminals is computed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Variable {
    /// A configuration in a class.
    Inside(ConfigurationId, ClassId),
    /// After a lexeme that can be committed as a profile says, before a lexeme of a class.
    After(usize, ClassId),
}

struct Analysis<'a> {
    lexer: &'a mut Lexer,
    grammar: &'a LexedGrammar,
    tables: &'a ParsingTables,
    classes: &'a Classes,
    /// For each terminal and each class of the states in which the lexeme after it begins, what may be wanted there.
    needed_after: Vec<Vec<(ClassId, TerminalSet)>>,
    profiles: FxHashMap<Profile, usize>,
    profile_list: Vec<Profile>,
    variables: Vec<Variable>,
    variable_ids: FxHashMap<Variable, usize>,
    successors: Vec<Vec<usize>>,
    /// For each variable of a configuration what the lexeme would be, and its profile.
    labels: Vec<Option<Label>>,
}

impl<'a> Analysis<'a> {
    fn new(
        lexer: &'a mut Lexer,
        grammar: &'a LexedGrammar,
        tables: &'a ParsingTables,
        classes: &'a Classes,
    ) -> Self {
        let accepted = tables.accepted(grammar);
        let mut states_after = tables.states_after(grammar);
        if let Some(indentation) = &grammar.indentation {
            let after_layout = [indentation.indent, indentation.dedent];
            let more: Vec<LrState> =
                after_layout.iter().flat_map(|terminal| states_after[terminal.index()].clone()).collect();
            states_after[indentation.newline.index()].extend(more);
        }
        let mut needed_after: Vec<Vec<(ClassId, TerminalSet)>> = Vec::with_capacity(states_after.len());
        for states in &states_after {
            let mut needed: Vec<(ClassId, TerminalSet)> = Vec::new();
            for &state in states {
                let class = classes.of_state[state.index()];
                match needed.iter_mut().find(|(of, _)| *of == class) {
                    Some((_, known)) => {
                        known.union_with(&accepted[state.index()]);
                    }
                    None => needed.push((class, accepted[state.index()].clone())),
                }
            }
            needed.sort_unstable_by_key(|&(class, _)| class);
            for (_, needed) in &mut needed {
                if let Some(indentation) = &grammar.indentation {
                    needed.remove(indentation.indent);
                    needed.remove(indentation.dedent);
                }
            }
            needed_after.push(needed);
        }
        Self {
            lexer,
            grammar,
            tables,
            classes,
            needed_after,
            profiles: FxHashMap::default(),
            profile_list: Vec::new(),
            variables: Vec::new(),
            variable_ids: FxHashMap::default(),
            successors: Vec::new(),
            labels: Vec::new(),
        }
    }

    /// Whether a terminal may leave the parser where it is.
    fn may_be_ignored(&self, terminal: TerminalId) -> bool {
        self.grammar.terminals[terminal.index()].is_ignored() || self.is_newline(terminal)
    }

    fn is_newline(&self, terminal: TerminalId) -> bool {
        self.grammar.indentation.as_ref().is_some_and(|indentation| indentation.newline == terminal)
    }

    fn variable(&mut self, variable: Variable) -> usize {
        if let Some(&known) = self.variable_ids.get(&variable) {
            return known;
        }
        let id = self.variables.len();
        self.variables.push(variable);
        self.variable_ids.insert(variable, id);
        id
    }

    /// Finds all configurations that texts can lead to, and how they depend on each other.
    fn explore(&mut self) -> Result<(), GrammarError> {
        let class = self.classes.of_state[LrState::START.index()];
        for start in self.lexer.starts(class).map_err(|limit| limit.diagnostic())? {
            self.variable(Variable::Inside(start, class));
        }
        while self.successors.len() < self.variables.len() {
            let (successors, label) = match self.variables[self.successors.len()] {
                Variable::Inside(configuration, class) => self.explore_inside(configuration, class)?,
                Variable::After(profile, class) => (self.explore_after(profile, class)?, None),
            };
            self.successors.push(successors);
            self.labels.push(label);
        }
        Ok(())
    }

    fn explore_inside(
        &mut self,
        configuration: ConfigurationId,
        class: ClassId,
    ) -> Result<(Vec<usize>, Option<Label>), GrammarError> {
        let mut profile = Vec::with_capacity(self.lexer.byte_of_class().len());
        // Most bytes lead to a few configurations.
        let mut reached: Vec<ConfigurationId> = Vec::new();
        for steps in self.lexer.steps(configuration).map_err(|limit| limit.diagnostic())? {
            if let Some(next) = steps.go_on
                && !reached.contains(&next)
            {
                reached.push(next);
            }
            profile.push(steps.commit);
        }
        let mut successors: Vec<usize> =
            reached.into_iter().map(|next| self.variable(Variable::Inside(next, class))).collect();
        successors.sort_unstable();
        let Some(terminal) = self.lexer.label(configuration) else { return Ok((successors, None)) };
        let profile: Profile = profile.into();
        let profile = match self.profiles.get(&profile) {
            Some(&known) => known,
            None => {
                self.profile_list.push(profile.clone());
                self.profiles.insert(profile, self.profile_list.len() - 1);
                self.profile_list.len() - 1
            }
        };
        if self.may_be_ignored(terminal) {
            self.variable(Variable::After(profile, class));
        }
        if !self.grammar.terminals[terminal.index()].is_ignored() {
            for index in 0..self.needed_after[terminal.index()].len() {
                let class = self.needed_after[terminal.index()][index].0;
                self.variable(Variable::After(profile, class));
            }
        }
        Ok((successors, Some((terminal, profile))))
    }

    fn explore_after(&mut self, profile: usize, class: ClassId) -> Result<Vec<usize>, GrammarError> {
        let mut successors = Vec::new();
        for index in 0..self.profile_list[profile].len() {
            let Some(guards) = self.profile_list[profile][index] else { continue };
            let byte = self.lexer.byte_of_class()[index];
            let next = self.lexer.enter(class, byte, guards).map_err(|limit| limit.diagnostic())?;
            successors.extend(next.into_iter().map(|next| self.variable(Variable::Inside(next, class))));
        }
        successors.sort_unstable();
        successors.dedup();
        Ok(successors)
    }

    /// The terminals that can come out first at each variable, if only the lexemes `is_open` can be completed.
    fn first_terminals(&self, in_brackets: bool, is_open: &FxHashMap<Label, bool>) -> Vec<TerminalSet> {
        let width = self.grammar.terminals.len() + 1;
        let mut sets = vec![TerminalSet::new(width); self.variables.len()];
        let mut successors = self.successors.clone();
        for (index, label) in self.labels.iter().enumerate() {
            let (Some((terminal, profile)), Variable::Inside(_, class)) = (*label, self.variables[index])
            else {
                continue;
            };
            let is_ignored = self.grammar.terminals[terminal.index()].is_ignored()
                || (in_brackets && self.is_newline(terminal));
            if is_ignored {
                sets[index].insert(self.grammar.end());
                successors[index].extend(self.variable_ids.get(&Variable::After(profile, class)));
            } else if is_open[&(terminal, profile)] {
                sets[index].insert(terminal);
            }
        }
        unite_along(&mut sets, &successors);
        sets
    }

    /// Which lexemes are open, and what can come out of each variable then; or pairs of terminals that make a gap.
    fn open_lexemes(&self, avoided: &FxHashSet<Pair>) -> Result<Solution, Vec<Pair>> {
        let mut is_open: FxHashMap<Label, bool> =
            self.labels.iter().flatten().map(|&label| (label, true)).collect();
        let mut outside = self.first_terminals(false, &is_open);
        loop {
            let mut shut: Vec<(Label, Vec<TerminalId>)> = Vec::new();
            for (&(terminal, profile), is_open) in &mut is_open {
                if *is_open && !self.grammar.terminals[terminal.index()].is_ignored() {
                    let missing = self.missing_after(terminal, profile, &outside, avoided);
                    *is_open = missing.is_empty();
                    if !missing.is_empty() {
                        shut.push(((terminal, profile), missing));
                    }
                }
            }
            if shut.is_empty() {
                return Ok((is_open, outside));
            }
            outside = self.first_terminals(false, &is_open);
            let mut lost: FxHashSet<Label> = FxHashSet::default();
            for (label, open) in self.labels.iter().zip(&outside) {
                lost.extend(label.filter(|&(terminal, _)| !open.contains(terminal)));
            }
            // Of each terminal the lexeme behind which the least is missing: others may become open by it.
            let mut gaps: FxHashMap<TerminalId, Vec<TerminalId>> = FxHashMap::default();
            for ((terminal, _), missing) in shut.into_iter().filter(|(label, _)| lost.contains(label)) {
                let least = gaps.entry(terminal).or_insert_with(|| missing.clone());
                if missing.len() < least.len() {
                    *least = missing;
                }
            }
            if !gaps.is_empty() {
                let pairs = |(first, missing): (TerminalId, Vec<TerminalId>)| {
                    missing.into_iter().map(move |second| (first, second))
                };
                return Err(gaps.into_iter().flat_map(pairs).collect());
            }
        }
    }

    /// What the parser may want after a lexeme and cannot be written there, except for what is avoided.
    fn missing_after(
        &self,
        terminal: TerminalId,
        profile: usize,
        sets: &[TerminalSet],
        avoided: &FxHashSet<Pair>,
    ) -> Vec<TerminalId> {
        let mut all_missing = TerminalSet::new(self.grammar.terminals.len() + 1);
        for (class, needed) in &self.needed_after[terminal.index()] {
            match self.variable_ids.get(&Variable::After(profile, *class)) {
                Some(&after) => all_missing.union_with(&needed.without(&sets[after])),
                None => all_missing.union_with(needed),
            };
        }
        all_missing.iter().filter(|&missing| !avoided.contains(&(terminal, missing))).collect()
    }

    fn solve(mut self, proof: Proof) -> Result<Futures, GrammarError> {
        let mut avoided: FxHashSet<Pair> = FxHashSet::default();
        let (is_open, outside) = loop {
            match self.open_lexemes(&avoided) {
                Ok(solution) => break solution,
                Err(gaps) => avoided.extend(gaps),
            }
        };
        match self.tables {
            ParsingTables::Lalr(_) if proof == Proof::Known => {}
            ParsingTables::Lalr(table) if !avoided.is_empty() || !table.resolved().is_empty() => {
                if let Some(state) = viable_completion::find_dead_state(self.grammar, table, &avoided) {
                    return Err(match avoided.is_empty() {
                        true => table.dead_state(self.grammar, state).into(),
                        false => self.report(avoided),
                    });
                }
            }
            ParsingTables::Earley(_) if !avoided.is_empty() => return Err(self.report(avoided)),
            // Every set of the recogniser can be completed.
            ParsingTables::Lalr(_) | ParsingTables::Earley(_) => {}
        }
        if let Some(name) = self.newline_without_columns(&outside, &is_open) {
            let message = "a newline that has begun cannot always be given another column";
            return Err(Diagnostic::error(Code::UnsupportedGrammar, message)
                .help(format!("let `{name}` repeat: a line break and then spaces, any number of times"))
                .into());
        }
        let inside = match self.grammar.indentation {
            Some(_) => self.first_terminals(true, &is_open),
            None => outside.clone(),
        };
        let mut futures = Futures::default();
        let mut known: FxHashMap<Future, FutureId> = FxHashMap::default();
        for (index, &variable) in self.variables.iter().enumerate() {
            let Variable::Inside(configuration, class) = variable else { continue };
            let future = Future { outside: outside[index].clone(), inside: inside[index].clone() };
            let id = *known.entry(future.clone()).or_insert_with(|| {
                futures.futures.push(future);
                FutureId::new(futures.futures.len() - 1)
            });
            futures.ids.insert((configuration, class), id);
        }
        Ok(futures)
    }

    /// The terminal for newlines, if it can come out somewhere without its column being free.
    fn newline_without_columns(
        &mut self,
        outside: &[TerminalSet],
        is_open: &FxHashMap<Label, bool>,
    ) -> Option<&str> {
        let newline = self.grammar.indentation.as_ref()?.newline;
        let mut is_free = vec![TerminalSet::new(self.grammar.terminals.len() + 1); self.variables.len()];
        for index in 0..self.variables.len() {
            let Variable::Inside(configuration, class) = self.variables[index] else { continue };
            // A byte that is not known does not leave the configuration: every step was taken before.
            let Ok(Steps { go_on: Some(first), .. }) = self.lexer.step(configuration, b'\n') else {
                continue;
            };
            let mut current = first;
            let mut seen = Vec::new();
            while !seen.contains(&current) && self.is_open_newline((current, class), is_open) {
                seen.push(current);
                match self.lexer.step(current, b' ') {
                    Ok(Steps { go_on: Some(next), .. }) => current = next,
                    _ => break,
                }
            }
            if seen.contains(&current)
                && self.lexer.step(current, b' ').is_ok_and(|steps| steps.go_on.is_some())
                && let Some(&first) = self.variable_ids.get(&Variable::Inside(first, class))
            {
                is_free[first].insert(newline);
            }
        }
        let mut successors = self.successors.clone();
        for (index, label) in self.labels.iter().enumerate() {
            if let (Some((terminal, profile)), Variable::Inside(_, class)) = (*label, self.variables[index])
                && self.grammar.terminals[terminal.index()].is_ignored()
            {
                successors[index].extend(self.variable_ids.get(&Variable::After(profile, class)));
            }
        }
        unite_along(&mut is_free, &successors);
        let is_fault = outside
            .iter()
            .zip(&is_free)
            .any(|(outside, is_free)| outside.contains(newline) && !is_free.contains(newline));
        is_fault.then(|| self.grammar.terminal_name(newline))
    }

    /// Whether a configuration is that of a newline after which everything can be written.
    fn is_open_newline(
        &self,
        (configuration, class): (ConfigurationId, ClassId),
        is_open: &FxHashMap<Label, bool>,
    ) -> bool {
        let variable = self.variable_ids.get(&Variable::Inside(configuration, class));
        let label = variable.and_then(|&variable| self.labels[variable]);
        label.is_some_and(|label| self.is_newline(label.0) && is_open[&label])
    }

    fn report(&self, avoided: FxHashSet<Pair>) -> GrammarError {
        let mut gaps: Vec<Pair> = avoided.into_iter().collect();
        gaps.sort_unstable();
        let diagnostics = gaps.iter().take(10).map(|&(first, second)| {
            let (first, second) = (self.grammar.terminal_name(first), self.grammar.terminal_name(second));
            Diagnostic::error(
                Code::InseparableTerminals,
                format!("`{second}` can follow `{first}` by the rules, and no text has it there"),
            )
            .help(
                "the lexer reads both as one lexeme or as others; ignore white space, so that it can stand between them",
            )
        });
        GrammarError::new(diagnostics.collect(), std::sync::Arc::from(""))
    }
}
