//! The fewest bytes from each lexer configuration to the end of a lexeme of each terminal, and between lexemes.
//!
//! All numbers are lower bounds of what a text needs, because they ignore the parser. They satisfy the triangle
//! inequality along every step of the lexer, which the search relies on.
//!
//! Terminals have *neighbour classes*: the left class of a terminal decides which terminals can directly follow it,
//! and the right class which terminals it can directly follow. Words of programming languages are one class of each
//! kind, so there are few. Terminals of a class have the same row or column in the table of separators.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::completion::UNREACHABLE;
use crate::definition::grammar::{LexedSymbol, LexedTerminal};
use crate::delimited::DelimitedRest;
use crate::lexer::lexer_automaton::{ConfigurationId, GuardsId, LexModeId, Lexer};
use crate::parser::lr_automaton::LrState;
use crate::parser::terminal_set::TerminalSet;
use crate::prepared::PreparedGrammar;
use grammask_collections::graph::AdjacencyList;
use grammask_collections::id_type;
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::TerminalId;
use grammask_vocabulary::Vocabulary;

id_type! {
    /// Interned distances of a configuration.
    ProfileId
}

/// The maximum number of left classes, and of right classes. Further terminals share a class, which only weakens the
/// lower bound.
pub(crate) const CLASSES: usize = 8;
/// The left class after ignored text, and at the beginning of a text: nothing needs a separator.
pub(crate) const FREE: u8 = 0;
/// The left class of the newline of a language with indentation, whose separators are columns.
pub(crate) const AFTER_NEWLINE: usize = CLASSES - 1;

/// The bytes that are tokens by themselves: one byte for each byte class of the lexer that has one, ascending.
pub(crate) fn spellable_bytes(vocabulary: &Vocabulary, class_of_byte: &[u8; 256]) -> Box<[u8]> {
    let mut is_taken = [false; 256];
    let bytes = vocabulary.single_bytes();
    bytes
        .iter()
        .filter(|&byte| {
            !std::mem::replace(&mut is_taken[usize::from(class_of_byte[usize::from(byte)])], true)
        })
        .collect()
}

/// The costs of lexemes.
#[derive(Debug)]
pub(crate) struct LexemeCosts {
    /// The profile of each configuration; `None` if no text leads there.
    profile_of: Vec<Option<ProfileId>>,
    /// For each profile: the terminals that the lexeme can become, with the number of missing bytes, nearest first.
    profiles: Vec<Box<[(u32, TerminalId)]>>,
    /// Memory of the profiles in bytes, estimated.
    profile_bytes: usize,
    /// The length of the shortest lexeme of each terminal.
    shortest: Vec<u32>,
    left_class: Vec<u8>,
    right_class: Vec<u8>,
    /// The cost of a separator between terminals, by the left class of the first and the right class of the second.
    separator: [[u32; CLASSES]; CLASSES],
}

impl LexemeCosts {
    /// Computes all costs, given the shortest texts of delimited terminals. Cost: for each terminal the edges of the configurations in which it is live.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn new(
        prepared: &PreparedGrammar,
        lexer: &mut Lexer,
        bytes: &[u8],
        delimited: &[DelimitedRest],
    ) -> Result<Self, LimitExceeded> {
        let mut configurations = prepared.open_terminals.configurations();
        configurations.sort_unstable();
        let (profile_of, profiles) = profiles(prepared, lexer, bytes, &configurations)?;
        let mut costs = Self {
            profile_of,
            profile_bytes: profiles.iter().map(|profile| 16 + size_of_val(&profile[..])).sum(),
            profiles,
            shortest: vec![UNREACHABLE; prepared.grammar.terminals.len()],
            left_class: Vec::new(),
            right_class: Vec::new(),
            separator: [[0; CLASSES]; CLASSES],
        };
        let following = costs.explore_neighbours(prepared, lexer, bytes, &configurations)?;
        for text in delimited {
            // The lexer knows the length of the opening.
            let shortest = &mut costs.shortest[text.terminal.index()];
            *shortest = text.length.max(*shortest);
        }
        costs.classify(prepared, &following);
        Ok(costs)
    }

    /// The profile of a configuration.
    #[inline]
    pub(crate) fn profile_of(&self, configuration: ConfigurationId) -> Option<ProfileId> {
        self.profile_of.get(configuration.index()).copied().flatten()
    }

    /// The terminals that the lexeme can become, with the number of missing bytes, nearest first.
    #[inline]
    pub(crate) fn profile(&self, profile: ProfileId) -> &[(u32, TerminalId)] {
        &self.profiles[profile.index()]
    }

    /// The length of the shortest lexeme of a terminal.
    pub(crate) fn shortest(&self, terminal: TerminalId) -> u32 {
        self.shortest[terminal.index()]
    }

    pub(crate) fn left_class(&self, terminal: TerminalId) -> usize {
        usize::from(self.left_class[terminal.index()])
    }

    pub(crate) fn right_class(&self, terminal: TerminalId) -> usize {
        usize::from(self.right_class[terminal.index()])
    }

    /// The cost of a separator, by left and right class; zero after a newline.
    pub(crate) fn separators(&self) -> &[[u32; CLASSES]; CLASSES] {
        &self.separator
    }

    /// The terminals that can directly follow each terminal. Records the shortest lexemes.
    fn explore_neighbours(
        &mut self,
        prepared: &PreparedGrammar,
        lexer: &mut Lexer,
        bytes: &[u8],
        configurations: &[(ConfigurationId, LexModeId)],
    ) -> Result<Vec<TerminalSet>, LimitExceeded> {
        let grammar = &prepared.grammar;
        let newline = grammar.indentation.as_ref().map(|indentation| indentation.newline);
        let modes_after = modes_after(prepared);
        // The guards after a commit before each spellable byte: few distinct lists.
        let mut commits: FxHashMap<Box<[Option<GuardsId>]>, usize> = FxHashMap::default();
        let mut commit_list: Vec<Box<[Option<GuardsId>]>> = Vec::new();
        let mut ends: FxHashSet<(TerminalId, usize, LexModeId)> = FxHashSet::default();
        let (mut last, mut id) = (None, 0);
        for &(configuration, mode) in configurations {
            if let Some(profile) = self.profile_of(configuration).filter(|_| lexer.is_start(configuration)) {
                for &(distance, terminal) in &self.profiles[profile.index()] {
                    let shortest = &mut self.shortest[terminal.index()];
                    *shortest = distance.min(*shortest);
                }
            }
            let Some(terminal) = lexer.label(configuration) else { continue };
            // Configurations are sorted.
            if last.replace(configuration) != Some(configuration) {
                let mut commit = Vec::with_capacity(bytes.len());
                for &byte in bytes {
                    commit.push(lexer.step(configuration, byte)?.commit);
                }
                let commit: Box<[_]> = commit.into();
                id = *commits.entry(commit).or_insert_with_key(|commit| {
                    commit_list.push(commit.clone());
                    commit_list.len() - 1
                });
            }
            let is_ignored = grammar.terminals[terminal.index()].is_ignored();
            if is_ignored || newline == Some(terminal) {
                ends.insert((terminal, id, mode));
            }
            if !is_ignored {
                ends.extend(modes_after[terminal.index()].iter().map(|&mode| (terminal, id, mode)));
            }
        }
        let width = grammar.terminals.len() + 1;
        let mut following = vec![TerminalSet::new(width); grammar.terminals.len()];
        let mut of_commit: FxHashMap<(usize, LexModeId), TerminalSet> = FxHashMap::default();
        for (terminal, commit, mode) in ends {
            let set = match of_commit.get(&(commit, mode)) {
                Some(set) => set,
                None => {
                    let set = self.terminals_after(lexer, bytes, &commit_list[commit], mode, width)?;
                    of_commit.entry((commit, mode)).or_insert(set)
                }
            };
            following[terminal.index()].union_with(set);
        }
        Ok(following)
    }

    /// The terminals of the lexemes that can begin after a commit. Records the shortest lexemes.
    fn terminals_after(
        &mut self,
        lexer: &mut Lexer,
        bytes: &[u8],
        commit: &[Option<GuardsId>],
        mode: LexModeId,
        width: usize,
    ) -> Result<TerminalSet, LimitExceeded> {
        let mut set = TerminalSet::new(width);
        let entered = lexer.enter_by_any(mode, bytes.iter().copied().zip(commit.iter().copied()))?;
        for configuration in entered {
            let Some(profile) = self.profile_of(configuration) else { continue };
            for &(distance, terminal) in &self.profiles[profile.index()] {
                set.insert(terminal);
                let shortest = &mut self.shortest[terminal.index()];
                *shortest = (distance + 1).min(*shortest);
            }
        }
        Ok(set)
    }

    /// Divides the terminals into classes by the terminals that can directly follow them, and that they can follow.
    fn classify(&mut self, prepared: &PreparedGrammar, following: &[TerminalSet]) {
        let grammar = &prepared.grammar;
        let count = grammar.terminals.len();
        // Other terminals are in no sentence, or have no text.
        let is_relevant = |terminal: TerminalId| {
            self.shortest[terminal.index()] < UNREACHABLE && !grammar.terminals[terminal.index()].is_ignored()
        };
        let relevant: Vec<TerminalId> =
            (0..count).map(TerminalId::new).filter(|&id| is_relevant(id)).collect();
        let mut all = TerminalSet::new(count + 1);
        for &terminal in &relevant {
            all.insert(terminal);
        }
        let row = |terminal: TerminalId| {
            let missing = all.without(&following[terminal.index()]);
            all.without(&missing)
        };
        let rows: Vec<TerminalSet> = relevant.iter().map(|&terminal| row(terminal)).collect();
        let newline = grammar.indentation.as_ref().map(|indentation| indentation.newline);
        let max_left = CLASSES - usize::from(newline.is_some());
        let (left, left_rows) = partition(&rows, &all, max_left, |union, row| {
            union.union_with(row);
        });
        self.left_class = vec![FREE; count];
        for (&terminal, class) in relevant.iter().zip(left) {
            self.left_class[terminal.index()] = class;
        }
        if let Some(newline) = newline {
            self.left_class[newline.index()] = AFTER_NEWLINE as u8;
        }
        let column = |terminal: TerminalId| -> u32 {
            let members = left_rows.iter().enumerate().filter(|(_, row)| row.contains(terminal));
            members.map(|(class, _)| 1 << class).sum()
        };
        let columns: Vec<u32> = relevant.iter().map(|&terminal| column(terminal)).collect();
        let everywhere = u32::MAX >> (32 - left_rows.len() as u32);
        let (right, right_columns) =
            partition(&columns, &everywhere, CLASSES, |union, column| *union |= column);
        self.right_class = vec![0; count];
        for (&terminal, class) in relevant.iter().zip(right) {
            self.right_class[terminal.index()] = class;
        }
        let separators = (0..count).map(TerminalId::new).filter(|&terminal| {
            grammar.terminals[terminal.index()].is_ignored() || newline == Some(terminal)
        });
        let of_rules = if grammar.lexical.ignored.is_empty() { UNREACHABLE } else { 1 };
        let cheapest = separators.map(|terminal| self.shortest(terminal)).fold(of_rules, u32::min);
        for (right, column) in right_columns.iter().enumerate() {
            for left in 0..left_rows.len() {
                self.separator[left][right] = if column >> left & 1 == 1 { 0 } else { cheapest };
            }
        }
    }

    /// Memory in bytes, estimated.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.profile_of.capacity() * 8 + self.profile_bytes + self.shortest.capacity() * 6
    }
}

/// Numbers the values by their classes: class 0 has the value `first`, and the rarest values share the last class,
/// whose value is their union.
fn partition<T: Clone + Ord>(
    values: &[T],
    first: &T,
    max_classes: usize,
    unite: impl Fn(&mut T, &T),
) -> (Vec<u8>, Vec<T>) {
    let mut counts: Vec<(usize, &T)> = Vec::new();
    let mut sorted: Vec<&T> = values.iter().filter(|&value| value != first).collect();
    sorted.sort_unstable();
    for group in sorted.chunk_by(|left, right| left == right) {
        counts.push((group.len(), group[0]));
    }
    counts.sort_by_key(|&(count, _)| std::cmp::Reverse(count));
    let mut classes: Vec<T> = vec![first.clone()];
    let mut class_of: Vec<(&T, u8)> = vec![(first, 0)];
    for (_, value) in counts {
        if classes.len() < max_classes {
            classes.push(value.clone());
        } else {
            unite(&mut classes[max_classes - 1], value);
        }
        class_of.push((value, classes.len() as u8 - 1));
    }
    class_of.sort_unstable();
    let class =
        |value: &T| class_of.binary_search_by_key(&value, |&(value, _)| value).map(|index| class_of[index].1);
    (values.iter().map(|value| class(value).unwrap_or(FREE)).collect(), classes)
}

/// Whether a text may end with a lexeme of each terminal, as far as the productions show.
fn may_be_last(prepared: &PreparedGrammar) -> Vec<bool> {
    let grammar = &prepared.grammar;
    if !grammar.lexical.ignored.is_empty() {
        return vec![true; grammar.terminals.len()];
    }
    let has_no_text = |symbol: &LexedSymbol, is_nullable: &[bool]| match *symbol {
        LexedSymbol::Terminal(terminal) => grammar.terminals[terminal.index()].term.is_none(),
        LexedSymbol::Nonterminal(nonterminal) => is_nullable[nonterminal.index()],
    };
    let mut is_nullable = vec![false; grammar.nonterminals.len()];
    loop {
        let before = is_nullable.clone();
        for production in &grammar.productions {
            is_nullable[production.lhs.index()] |=
                production.rhs.iter().all(|symbol| has_no_text(symbol, &before));
        }
        if is_nullable == before {
            break;
        }
    }
    let mut may_be_last: Vec<bool> = grammar.terminals.iter().map(LexedTerminal::is_ignored).collect();
    let mut is_last = vec![false; grammar.nonterminals.len()];
    is_last[grammar.start.index()] = true;
    let mut pending = vec![grammar.start];
    while let Some(lhs) = pending.pop() {
        for production in grammar.productions.iter().filter(|production| production.lhs == lhs) {
            for symbol in production.rhs.iter().rev() {
                match *symbol {
                    LexedSymbol::Terminal(terminal) => may_be_last[terminal.index()] = true,
                    LexedSymbol::Nonterminal(nonterminal) => {
                        if !std::mem::replace(&mut is_last[nonterminal.index()], true) {
                            pending.push(nonterminal);
                        }
                    }
                }
                if !has_no_text(symbol, &is_nullable) {
                    break;
                }
            }
        }
    }
    may_be_last
}

/// The lexer modes of the parser states after each terminal.
fn modes_after(prepared: &PreparedGrammar) -> Vec<BTreeSet<LexModeId>> {
    let mut states = prepared.tables.states_after(&prepared.grammar);
    if let Some(indentation) = &prepared.grammar.indentation {
        let after_blocks: Vec<LrState> = [indentation.indent, indentation.dedent]
            .iter()
            .flat_map(|id| states[id.index()].clone())
            .collect();
        states[indentation.newline.index()].extend(after_blocks);
    }
    let mode = |state: &LrState| prepared.lex_modes.of_state[state.index()];
    states.iter().map(|states| states.iter().map(mode).collect()).collect()
}

/// The profiles of some configurations: a breadth-first search backwards from the ends of each terminal's lexemes.
type Profiles = (Vec<Option<ProfileId>>, Vec<Box<[(u32, TerminalId)]>>);

fn profiles(
    prepared: &PreparedGrammar,
    lexer: &mut Lexer,
    bytes: &[u8],
    configurations: &[(ConfigurationId, LexModeId)],
) -> Result<Profiles, LimitExceeded> {
    let mut known: Vec<ConfigurationId> =
        configurations.iter().map(|&(configuration, _)| configuration).collect();
    known.dedup();
    let mut edges: Vec<(u32, u32)> = Vec::new();
    let mut ends: Vec<Vec<u32>> = vec![Vec::new(); prepared.grammar.terminals.len()];
    let may_be_last = may_be_last(prepared);
    for &configuration in &known {
        let first = edges.len();
        let mut may_be_followed = false;
        for &byte in bytes {
            let step = lexer.step(configuration, byte)?;
            may_be_followed |= step.commit.is_some();
            if let Some(next) = step.extended {
                edges.push((next.as_u32(), configuration.as_u32()));
            }
        }
        edges[first..].sort_unstable();
        let mut kept = first;
        for index in first..edges.len() {
            if index == first || edges[index] != edges[kept - 1] {
                edges[kept] = edges[index];
                kept += 1;
            }
        }
        edges.truncate(kept);
        if let Some(terminal) = lexer.label(configuration)
            && (may_be_followed || may_be_last[terminal.index()])
        {
            ends[terminal.index()].push(configuration.as_u32());
        }
    }
    let count = lexer.configuration_count();
    let before = AdjacencyList::from_pairs(count, &edges);
    let mut distances: Vec<Vec<(u32, TerminalId)>> = vec![Vec::new(); count];
    for (index, ends) in ends.into_iter().enumerate() {
        let terminal = TerminalId::new(index);
        let mut reached = ends;
        for &end in &reached {
            distances[end as usize].push((0, terminal));
        }
        let mut next = 0;
        while let Some(&configuration) = reached.get(next) {
            next += 1;
            let distance = distances[configuration as usize].last().map_or(0, |&(distance, _)| distance) + 1;
            for &previous in before.of(configuration as usize) {
                let known = &mut distances[previous as usize];
                if known.last().is_none_or(|&(_, last)| last != terminal) {
                    known.push((distance, terminal));
                    reached.push(previous);
                }
            }
        }
    }
    let mut ids: FxHashMap<Box<[(u32, TerminalId)]>, ProfileId> = FxHashMap::default();
    let mut profiles = Vec::new();
    let mut profile_of = vec![None; count];
    for configuration in known {
        let mut profile = std::mem::take(&mut distances[configuration.index()]);
        profile.sort_unstable();
        let profile: Box<[_]> = profile.into();
        let id = *ids.entry(profile).or_insert_with_key(|profile| {
            profiles.push(profile.clone());
            ProfileId::new(profiles.len() - 1)
        });
        profile_of[configuration.index()] = Some(id);
    }
    Ok((profile_of, profiles))
}
