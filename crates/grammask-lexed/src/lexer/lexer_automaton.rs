//! The lexer as a lazy automaton: states with an ordered set of live terminals, and guards for shorter matches.
//!
//! A lexeme ends where its terminal cannot match more, and that may be known many bytes later: in `..a` the first `.`
//! is a lexeme, in `...` it is not. So a run over a text may *commit* a lexeme although a longer match is still
//! possible, and from then on carries the state of that match as a *guard*: where the guard accepts, the longer match
//! existed, and the run was wrong. Each text is read by exactly one run in the end, and its lexemes are those of the
//! lexing rule; at the end of the text guards mean nothing. A *configuration* is a state with the guards of a run.
//!
//! A state is the list of live terminals with their automaton states, in the order in which they win. Under
//! [`LexingRule::Lark`](crate::LexingRule::Lark) they come in groups: once a group has matched, later ones are out, and
//! what is left in the list is exactly what can still outdo the match; so a state serves as guard as it is.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::definition::grammar::{LexedGrammar, LexerKind, LexingRule};
use crate::parser::terminal_set::TerminalSet;
use grammask_automata::{Automata, ByteSet, StateId};
use grammask_collections::id_type;
use grammask_diagnostics::{LimitExceeded, Limits};
use grammask_grammar::TerminalId;

id_type! {
    /// Terminals that the lexer looks for at the beginning of a lexeme.
    ClassId
}
id_type! {
    /// A state inside a lexeme.
    LexStateId
}
id_type! {
    /// A set of guards.
    GuardsId
}
id_type! {
    /// A state inside a lexeme with the guards of the lexemes before.
    ConfigurationId
}

impl GuardsId {
    /// No guards.
    pub(crate) const NONE: Self = Self(0);
}

/// A step that is not known yet.
const UNKNOWN: u32 = u32::MAX;
/// A step that leads nowhere.
const DEAD: u32 = u32::MAX - 1;

/// A terminal that is being matched. Sorted by group, then by who wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Part {
    group: u32,
    preference: u32,
    terminal: TerminalId,
    state: StateId,
}

#[derive(Clone, Debug)]
struct LexState {
    parts: Box<[Part]>,
    /// Whether nothing of the lexeme was read.
    is_fresh: bool,
}

/// What a byte does to a configuration; both may be possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Steps {
    /// The lexeme goes on.
    pub(crate) go_on: Option<ConfigurationId>,
    /// The lexeme ended before the byte, which begins the next one under these guards.
    pub(crate) commit: Option<GuardsId>,
}

impl Steps {
    fn of_cell((go_on, commit): (u32, u32)) -> Self {
        Self {
            go_on: (go_on != DEAD).then_some(ConfigurationId(go_on)),
            commit: (commit != DEAD).then_some(GuardsId(commit)),
        }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Lexer {
    automata: Automata,
    /// For each terminal its automaton's first state, and its place in the order.
    starts: Vec<Option<StateId>>,
    ranks: Vec<u32>,
    rule: LexingRule,
    keywords: Vec<(TerminalId, TerminalId)>,
    class_of_byte: Box<[u8; 256]>,
    byte_of_class: Box<[u8]>,
    /// Where lexemes begin in each class; several places where terminals are matched each on its own.
    classes: Vec<Box<[LexStateId]>>,
    /// Whether a lexeme of each terminal is wrong where a longer one is possible.
    is_longest: Vec<bool>,
    states: Vec<LexState>,
    /// The states by their parts: those inside a lexeme, and those before one.
    state_ids: [FxHashMap<Box<[Part]>, LexStateId>; 2],
    labels: Vec<Option<TerminalId>>,
    state_rows: Vec<u32>,
    guards: Vec<Box<[LexStateId]>>,
    guard_ids: FxHashMap<Box<[LexStateId]>, GuardsId>,
    guard_rows: Vec<u32>,
    configurations: Vec<(LexStateId, GuardsId)>,
    configuration_ids: FxHashMap<(LexStateId, GuardsId), ConfigurationId>,
    /// For each configuration and byte class: where it goes on, and the guards after a commit. Copies of a lexer share
    /// them until one of them meets a configuration that the other does not know.
    configuration_rows: Arc<Vec<(u32, u32)>>,
    /// For each configuration the bytes that leave it as it is, once they were asked for.
    loops: Vec<Option<ByteSet>>,
    most_states: usize,
}

impl Lexer {
    /// A lexer for a grammar that starts lexemes with the terminals of one of `classes`.
    ///
    /// # Errors
    /// When a limit is passed.
    pub(crate) fn new(
        grammar: &LexedGrammar,
        classes: &[TerminalSet],
        limits: &Limits,
    ) -> Result<Self, LimitExceeded> {
        let mut automata = Automata::new(grammar.terms.clone(), limits.automaton_states);
        let mut starts = Vec::with_capacity(grammar.terminals.len());
        for terminal in &grammar.terminals {
            starts.push(match terminal.term {
                Some(term) => automata.start(term)?,
                None => None,
            });
        }
        let terms: Vec<_> = grammar.terminals.iter().filter_map(|terminal| terminal.term).collect();
        let mut class_of_byte = Box::new(automata.terms().byte_classes(&terms));
        if grammar.indentation.is_some() {
            tell_apart(&mut class_of_byte, b"\n\t ");
        }
        let class_count = class_of_byte.iter().max().map_or(1, |&max| usize::from(max) + 1);
        let mut byte_of_class = vec![0_u8; class_count].into_boxed_slice();
        for byte in (0..=u8::MAX).rev() {
            byte_of_class[usize::from(class_of_byte[usize::from(byte)])] = byte;
        }
        let mut lexer = Self {
            automata,
            starts,
            ranks: ranks(grammar),
            rule: grammar.rule,
            keywords: grammar.keywords.clone(),
            class_of_byte,
            byte_of_class,
            classes: Vec::new(),
            is_longest: grammar
                .terminals
                .iter()
                .map(|terminal| grammar.lexer != LexerKind::DynamicComplete || terminal.is_ignored())
                .collect(),
            states: Vec::new(),
            state_ids: Default::default(),
            labels: Vec::new(),
            state_rows: Vec::new(),
            guards: vec![Box::default()],
            guard_ids: FxHashMap::default(),
            guard_rows: vec![GuardsId::NONE.0; class_count],
            configurations: Vec::new(),
            configuration_ids: FxHashMap::default(),
            configuration_rows: Arc::default(),
            loops: Vec::new(),
            most_states: limits.automaton_states,
        };
        for class in classes {
            let mut starts = Vec::new();
            if grammar.lexer.is_dynamic() {
                for terminal in class.iter() {
                    let mut only = TerminalSet::new(grammar.terminals.len() + 1);
                    only.insert(terminal);
                    starts.push(lexer.start_of(&only)?);
                }
            } else {
                starts.push(lexer.start_of(class)?);
            }
            lexer.classes.push(starts.into());
        }
        Ok(lexer)
    }

    /// Bytes that no terminal tells apart have one class.
    pub(crate) fn class_of_byte(&self) -> &[u8; 256] {
        &self.class_of_byte
    }

    /// One byte of each class.
    pub(crate) fn byte_of_class(&self) -> &[u8] {
        &self.byte_of_class
    }

    pub(crate) fn configuration_count(&self) -> usize {
        self.configurations.len()
    }

    /// The terminal that the lexeme would be if it ended here.
    #[inline]
    pub(crate) fn label(&self, configuration: ConfigurationId) -> Option<TerminalId> {
        self.labels[self.configurations[configuration.index()].0.index()]
    }

    /// Whether nothing of the lexeme was read: the beginning of the text.
    pub(crate) fn is_fresh(&self, configuration: ConfigurationId) -> bool {
        self.states[self.configurations[configuration.index()].0.index()].is_fresh
    }

    /// The terminals that may be in the making, those that win first.
    pub(crate) fn live(&self, configuration: ConfigurationId) -> impl Iterator<Item = TerminalId> {
        self.states[self.configurations[configuration.index()].0.index()]
            .parts
            .iter()
            .map(|part| part.terminal)
    }

    /// The configurations before any text, in a class.
    ///
    /// # Errors
    /// When a limit is passed.
    pub(crate) fn starts(&mut self, class: ClassId) -> Result<Vec<ConfigurationId>, LimitExceeded> {
        let states = self.classes[class.index()].clone();
        states.iter().map(|&state| self.intern_configuration(state, GuardsId::NONE)).collect()
    }

    /// What a byte does to a configuration.
    ///
    /// # Errors
    /// When a limit is passed.
    #[inline]
    pub(crate) fn step(&mut self, from: ConfigurationId, byte: u8) -> Result<Steps, LimitExceeded> {
        let class = usize::from(self.class_of_byte[usize::from(byte)]);
        let cell = from.index() * self.byte_of_class.len() + class;
        if self.configuration_rows[cell].0 == UNKNOWN {
            self.fill_row(from)?;
        }
        Ok(Steps::of_cell(self.configuration_rows[cell]))
    }

    /// What the bytes of each class do to a configuration.
    ///
    /// # Errors
    /// When a limit is passed.
    pub(crate) fn steps(
        &mut self,
        from: ConfigurationId,
    ) -> Result<impl Iterator<Item = Steps>, LimitExceeded> {
        let row = self.row(from.index());
        if self.configuration_rows[row.start].0 == UNKNOWN {
            self.fill_row(from)?;
        }
        Ok(self.configuration_rows[row].iter().map(|&cell| Steps::of_cell(cell)))
    }

    /// The configurations after the first byte of a lexeme.
    ///
    /// # Errors
    /// When a limit is passed.
    #[inline]
    pub(crate) fn enter(
        &mut self,
        class: ClassId,
        byte: u8,
        guards: GuardsId,
    ) -> Result<Vec<ConfigurationId>, LimitExceeded> {
        let byte_class = usize::from(self.class_of_byte[usize::from(byte)]);
        let mut entered = Vec::new();
        for index in 0..self.classes[class.index()].len() {
            let start = self.classes[class.index()][index];
            self.fill_state_row(start)?;
            let state = self.state_rows[self.row(start.index()).start + byte_class];
            if state != DEAD {
                entered.push(self.intern_configuration(LexStateId(state), guards)?);
            }
        }
        Ok(entered)
    }

    /// Whether none of `bytes` changes a configuration or ends its lexeme.
    ///
    /// # Errors
    /// When a limit is passed.
    pub(crate) fn stays(
        &mut self,
        configuration: ConfigurationId,
        bytes: &[u64; 4],
    ) -> Result<bool, LimitExceeded> {
        let own = match self.loops[configuration.index()] {
            Some(own) => own,
            None => {
                let mut own = ByteSet::EMPTY;
                for byte in 0..=u8::MAX {
                    let steps = self.step(configuration, byte)?;
                    if steps.go_on == Some(configuration) && steps.commit.is_none() {
                        own.insert(byte);
                    }
                }
                self.loops[configuration.index()] = Some(own);
                own
            }
        };
        Ok(!own.complement().intersects(bytes))
    }

    /// The cells of a state, of guards or of a configuration among those of all, one per class of bytes.
    fn row(&self, index: usize) -> Range<usize> {
        let classes = self.byte_of_class.len();
        index * classes..(index + 1) * classes
    }

    /// Finds all steps of a configuration.
    fn fill_row(&mut self, from: ConfigurationId) -> Result<(), LimitExceeded> {
        let (state, guards) = self.configurations[from.index()];
        self.fill_state_row(state)?;
        self.fill_guard_row(guards)?;
        let states = self.state_rows[self.row(state.index())].to_vec();
        let guards = self.guard_rows[self.row(guards.index())].to_vec();
        let mut cells = Vec::with_capacity(states.len());
        // Most bytes lead to a few places.
        let mut last = ((UNKNOWN, UNKNOWN), (DEAD, DEAD));
        for place in states.into_iter().zip(guards) {
            if last.0 != place {
                last = (place, self.make_step(state, place)?);
            }
            cells.push(last.1);
        }
        let row = self.row(from.index());
        Arc::make_mut(&mut self.configuration_rows)[row].copy_from_slice(&cells);
        Ok(())
    }

    /// The step over a byte that leads from a state and some guards to these.
    fn make_step(
        &mut self,
        from: LexStateId,
        (next, guards): (u32, u32),
    ) -> Result<(u32, u32), LimitExceeded> {
        if guards == DEAD {
            return Ok((DEAD, DEAD));
        }
        let next = (next != DEAD).then_some(LexStateId(next));
        let go_on = match next {
            Some(next) => self.intern_configuration(next, GuardsId(guards))?.0,
            None => DEAD,
        };
        let commit = match (self.labels[from.index()], next) {
            (None, _) => DEAD,
            (Some(_), None) => guards,
            (Some(terminal), Some(_)) if !self.is_longest[terminal.index()] => guards,
            (Some(_), Some(next)) if self.labels[next.index()].is_some() => DEAD,
            (Some(_), Some(next)) => {
                let mut members = self.guards[guards as usize].to_vec();
                members.push(next);
                self.intern_guards(&mut members).0
            }
        };
        Ok((go_on, commit))
    }

    /// Finds the guards after each byte; none after those that make one of them accept.
    fn fill_guard_row(&mut self, guards: GuardsId) -> Result<(), LimitExceeded> {
        if self.guard_rows[self.row(guards.index()).start] != UNKNOWN {
            return Ok(());
        }
        for index in 0..self.guards[guards.index()].len() {
            self.fill_state_row(self.guards[guards.index()][index])?;
        }
        let mut members = Vec::with_capacity(self.guards[guards.index()].len());
        for class in 0..self.byte_of_class.len() {
            members.clear();
            let mut is_wrong = false;
            for state in &self.guards[guards.index()] {
                let next = self.state_rows[self.row(state.index()).start + class];
                if next != DEAD {
                    is_wrong |= self.labels[next as usize].is_some();
                    members.push(LexStateId(next));
                }
            }
            let next = if is_wrong { DEAD } else { self.intern_guards(&mut members).0 };
            let first = self.row(guards.index()).start;
            self.guard_rows[first + class] = next;
        }
        Ok(())
    }

    /// Finds the state after each byte.
    fn fill_state_row(&mut self, from: LexStateId) -> Result<(), LimitExceeded> {
        if self.state_rows[self.row(from.index()).start] != UNKNOWN {
            return Ok(());
        }
        let parts_before = self.states[from.index()].parts.clone();
        let mut parts: Vec<Part> = Vec::with_capacity(parts_before.len());
        // Most bytes lead to a few states.
        let mut last = LexStateId(DEAD);
        for class in 0..self.byte_of_class.len() {
            let byte = self.byte_of_class[class];
            let mut matched = None;
            parts.clear();
            for &part in &parts_before {
                if matched.is_some_and(|group| part.group > group) {
                    break;
                }
                if let Some(state) = self.automata.step(part.state, byte)? {
                    parts.push(Part { state, ..part });
                    if self.automata.is_accepting(state) {
                        matched = Some(part.group);
                    }
                }
            }
            let first = self.row(from.index()).start;
            if parts.is_empty() {
                self.state_rows[first + class] = DEAD;
                continue;
            }
            if last.0 == DEAD || *self.states[last.index()].parts != parts[..] {
                last = self.intern_state(&parts, false)?;
            }
            self.state_rows[first + class] = last.0;
        }
        Ok(())
    }

    /// The terminals of a class at their beginnings.
    fn first_parts(&self, class: &TerminalSet) -> Box<[Part]> {
        let mut parts = Vec::new();
        for terminal in class.iter() {
            let Some(&Some(state)) = self.starts.get(terminal.index()) else { continue };
            let rank = self.ranks[terminal.index()];
            match self.rule {
                LexingRule::MaximalMunch => parts.push(Part { group: 0, preference: rank, terminal, state }),
                LexingRule::Lark => {
                    let read_as = self.keywords.iter().filter(|&&(keyword, _)| keyword == terminal);
                    let read_as: Vec<_> = read_as
                        .filter(|&&(_, pattern)| class.contains(pattern))
                        .map(|&(_, pattern)| pattern)
                        .collect();
                    if read_as.is_empty() {
                        parts.push(Part { group: rank, preference: 1, terminal, state });
                    }
                    for pattern in read_as {
                        let group = self.ranks[pattern.index()];
                        parts.push(Part { group, preference: 0, terminal, state });
                    }
                }
            }
        }
        parts.sort_unstable();
        parts.into()
    }

    fn start_of(&mut self, class: &TerminalSet) -> Result<LexStateId, LimitExceeded> {
        let parts = self.first_parts(class);
        self.intern_state(&parts, true)
    }

    fn intern_state(&mut self, parts: &[Part], is_fresh: bool) -> Result<LexStateId, LimitExceeded> {
        if let Some(&known) = self.state_ids[usize::from(is_fresh)].get(parts) {
            return Ok(known);
        }
        if self.states.len() >= self.most_states {
            return Err(LimitExceeded::new("automaton_states", self.most_states));
        }
        let id = LexStateId::new(self.states.len());
        let mut accepting = parts.iter().filter(|part| !is_fresh && self.automata.is_accepting(part.state));
        self.labels.push(accepting.next().map(|part| part.terminal));
        self.states.push(LexState { parts: parts.into(), is_fresh });
        self.state_ids[usize::from(is_fresh)].insert(parts.into(), id);
        self.state_rows.resize(self.states.len() * self.byte_of_class.len(), UNKNOWN);
        Ok(id)
    }

    fn intern_guards(&mut self, members: &mut Vec<LexStateId>) -> GuardsId {
        if members.is_empty() {
            return GuardsId::NONE;
        }
        members.sort_unstable();
        members.dedup();
        if let Some(&known) = self.guard_ids.get(&members[..]) {
            return known;
        }
        let id = GuardsId::new(self.guards.len());
        self.guards.push(members[..].into());
        self.guard_rows.resize(self.guards.len() * self.byte_of_class.len(), UNKNOWN);
        self.guard_ids.insert(members[..].into(), id);
        id
    }

    fn intern_configuration(
        &mut self,
        state: LexStateId,
        guards: GuardsId,
    ) -> Result<ConfigurationId, LimitExceeded> {
        if let Some(&known) = self.configuration_ids.get(&(state, guards)) {
            return Ok(known);
        }
        if self.configurations.len() >= self.most_states {
            return Err(LimitExceeded::new("automaton_states", self.most_states));
        }
        let id = ConfigurationId::new(self.configurations.len());
        self.configurations.push((state, guards));
        self.loops.push(None);
        self.configuration_ids.insert((state, guards), id);
        let cells = self.configurations.len() * self.byte_of_class.len();
        Arc::make_mut(&mut self.configuration_rows).resize(cells, (UNKNOWN, UNKNOWN));
        Ok(id)
    }
}

/// For each terminal its place in the order in which terminals win.
fn ranks(grammar: &LexedGrammar) -> Vec<u32> {
    let mut order: Vec<usize> = (0..grammar.terminals.len()).collect();
    order.sort_by_key(|&index| {
        let terminal = &grammar.terminals[index];
        let is_pattern = grammar.rule == LexingRule::MaximalMunch && !terminal.is_literal;
        (std::cmp::Reverse(terminal.priority), is_pattern, index)
    });
    let mut ranks = vec![0; order.len()];
    for (rank, index) in order.into_iter().enumerate() {
        ranks[index] = rank as u32;
    }
    ranks
}

/// Gives each of `bytes` a class of its own.
fn tell_apart(class_of_byte: &mut [u8; 256], bytes: &[u8]) {
    for &byte in bytes {
        let class = class_of_byte[usize::from(byte)];
        let is_alone = class_of_byte.iter().filter(|&&other| other == class).count() == 1;
        if !is_alone && let Some(new) = class_of_byte.iter().max().and_then(|max| max.checked_add(1)) {
            class_of_byte[usize::from(byte)] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_told_apart() {
        let mut classes = [0; 256];
        tell_apart(&mut classes, b"\n ");
        assert_eq!((classes[10], classes[32], classes[9]), (1, 2, 0));
        tell_apart(&mut classes, b"\n");
        assert_eq!(classes[10], 1);
    }
}
