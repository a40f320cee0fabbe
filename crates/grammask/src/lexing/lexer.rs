//! The lexer as a lazy automaton: states with an ordered set of live terminals, and guards for shorter matches.
//!
//! A lexeme ends where its terminal cannot match more, and that may be known many bytes later: in `..a` the first `.`
//! is a lexeme, in `...` it is not. So a run over a text may *commit* a lexeme although a longer match is still
//! possible, and from then on carries the state of that match as a *guard*: where the guard accepts, the longer match
//! existed, and the run was wrong. Each text is read by exactly one run in the end, and its lexemes are those of the
//! lexing rule; at the end of the text guards mean nothing. A *configuration* is a state with the guards of a run.
//!
//! A state is the list of live terminals with their automaton states, in the order in which they win. Under
//! [`LexingRule::Lark`](super::LexingRule::Lark) they come in groups: once a group has matched, later ones are out, and
//! what is left in the list is exactly what can still outdo the match; so a state serves as guard as it is.

use rustc_hash::FxHashMap;

use super::grammar::{LexedGrammar, LexerKind, LexingRule};
use super::terminal_set::TerminalSet;
use crate::automata::{Automata, ByteSet, StateId};
use crate::grammar::{TerminalId, id_type};
use crate::{LimitExceeded, Limits};

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

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    state_ids: FxHashMap<LexState, LexStateId>,
    labels: Vec<Option<TerminalId>>,
    state_rows: Vec<u32>,
    guards: Vec<Box<[LexStateId]>>,
    guard_ids: FxHashMap<Box<[LexStateId]>, GuardsId>,
    guard_rows: Vec<u32>,
    configurations: Vec<(LexStateId, GuardsId)>,
    configuration_ids: FxHashMap<(LexStateId, GuardsId), ConfigurationId>,
    /// For each configuration and byte class: where it goes on, and the guards after a commit.
    configuration_rows: Vec<(u32, u32)>,
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
            state_ids: FxHashMap::default(),
            labels: Vec::new(),
            state_rows: Vec::new(),
            guards: vec![Box::default()],
            guard_ids: FxHashMap::from_iter([(Box::default(), GuardsId::NONE)]),
            guard_rows: vec![UNKNOWN; class_count],
            configurations: Vec::new(),
            configuration_ids: FxHashMap::default(),
            configuration_rows: Vec::new(),
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
        let class = self.class_of_byte[usize::from(byte)];
        let cell = from.index() * self.byte_of_class.len() + usize::from(class);
        let (mut go_on, mut commit) = self.configuration_rows[cell];
        if go_on == UNKNOWN {
            (go_on, commit) = self.make_step(from, class)?;
            self.configuration_rows[cell] = (go_on, commit);
        }
        Ok(Steps::of_cell((go_on, commit)))
    }

    /// What the bytes of each class do to a configuration.
    ///
    /// # Errors
    /// When a limit is passed.
    pub(crate) fn steps(
        &mut self,
        from: ConfigurationId,
    ) -> Result<impl Iterator<Item = Steps>, LimitExceeded> {
        let first = from.index() * self.byte_of_class.len();
        let end = first + self.byte_of_class.len();
        for (cell, class) in (first..end).zip(0..=u8::MAX) {
            if self.configuration_rows[cell].0 == UNKNOWN {
                self.configuration_rows[cell] = self.make_step(from, class)?;
            }
        }
        Ok(self.configuration_rows[first..end].iter().map(|&cell| Steps::of_cell(cell)))
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
        let byte_class = self.class_of_byte[usize::from(byte)];
        let mut entered = Vec::new();
        for index in 0..self.classes[class.index()].len() {
            if let Some(state) = self.step_state(self.classes[class.index()][index], byte_class)? {
                entered.push(self.intern_configuration(state, guards)?);
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

    fn make_step(&mut self, from: ConfigurationId, class: u8) -> Result<(u32, u32), LimitExceeded> {
        let (state, guards) = self.configurations[from.index()];
        let Some(guards) = self.advance(guards, class)? else { return Ok((DEAD, DEAD)) };
        let next = self.step_state(state, class)?;
        let go_on = match next {
            Some(next) => self.intern_configuration(next, guards)?.0,
            None => DEAD,
        };
        let commit = match (self.labels[state.index()], next) {
            (None, _) => DEAD,
            (Some(_), None) => guards.0,
            (Some(terminal), Some(_)) if !self.is_longest[terminal.index()] => guards.0,
            (Some(_), Some(next)) if self.labels[next.index()].is_some() => DEAD,
            (Some(_), Some(next)) => {
                let mut members = Vec::with_capacity(self.guards[guards.index()].len() + 1);
                members.extend_from_slice(&self.guards[guards.index()]);
                members.push(next);
                self.intern_guards(members).0
            }
        };
        Ok((go_on, commit))
    }

    /// The guards after a byte; none if one of them accepts.
    fn advance(&mut self, guards: GuardsId, class: u8) -> Result<Option<GuardsId>, LimitExceeded> {
        if guards == GuardsId::NONE {
            return Ok(Some(guards));
        }
        let cell = guards.index() * self.byte_of_class.len() + usize::from(class);
        match self.guard_rows[cell] {
            DEAD => return Ok(None),
            UNKNOWN => {}
            known => return Ok(Some(GuardsId(known))),
        }
        let mut members = Vec::new();
        let mut is_right = true;
        for index in 0..self.guards[guards.index()].len() {
            let state = self.guards[guards.index()][index];
            if let Some(next) = self.step_state(state, class)? {
                is_right &= self.labels[next.index()].is_none();
                members.push(next);
            }
        }
        let next = is_right.then(|| self.intern_guards(members));
        self.guard_rows[cell] = next.map_or(DEAD, |next| next.0);
        Ok(next)
    }

    fn step_state(&mut self, from: LexStateId, class: u8) -> Result<Option<LexStateId>, LimitExceeded> {
        let cell = from.index() * self.byte_of_class.len() + usize::from(class);
        match self.state_rows[cell] {
            DEAD => return Ok(None),
            UNKNOWN => {}
            known => return Ok(Some(LexStateId(known))),
        }
        let byte = self.byte_of_class[usize::from(class)];
        let mut parts = Vec::with_capacity(self.states[from.index()].parts.len());
        let mut matched = None;
        for index in 0..self.states[from.index()].parts.len() {
            let part = self.states[from.index()].parts[index];
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
        let next = if parts.is_empty() {
            None
        } else {
            Some(self.intern_state(LexState { parts: parts.into(), is_fresh: false })?)
        };
        self.state_rows[cell] = next.map_or(DEAD, |next| next.0);
        Ok(next)
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
        self.intern_state(LexState { parts, is_fresh: true })
    }

    fn intern_state(&mut self, state: LexState) -> Result<LexStateId, LimitExceeded> {
        if let Some(&known) = self.state_ids.get(&state) {
            return Ok(known);
        }
        if self.states.len() >= self.most_states {
            return Err(LimitExceeded::new("automaton_states", self.most_states));
        }
        let id = LexStateId::new(self.states.len());
        let label = if state.is_fresh {
            None
        } else {
            state.parts.iter().find(|part| self.automata.is_accepting(part.state)).map(|part| part.terminal)
        };
        self.labels.push(label);
        self.states.push(state.clone());
        self.state_ids.insert(state, id);
        self.state_rows.resize(self.states.len() * self.byte_of_class.len(), UNKNOWN);
        Ok(id)
    }

    fn intern_guards(&mut self, mut members: Vec<LexStateId>) -> GuardsId {
        members.sort_unstable();
        members.dedup();
        if let Some(&known) = self.guard_ids.get(&members[..]) {
            return known;
        }
        let id = GuardsId::new(self.guards.len());
        let members: Box<[LexStateId]> = members.into();
        self.guards.push(members.clone());
        self.guard_rows.resize(self.guards.len() * self.byte_of_class.len(), UNKNOWN);
        self.guard_ids.insert(members, id);
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
        self.configuration_rows
            .resize(self.configurations.len() * self.byte_of_class.len(), (UNKNOWN, UNKNOWN));
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
