//! The lexer as a lazy automaton: states with an ordered set of live terminals, and guards for shorter matches.
//!
//! The end of a lexeme may be decided many bytes later: in `..a` the first `.` is a lexeme, in `...` it is not. A run
//! over a text may therefore *commit* a lexeme although a longer match is still possible, and from then on carries
//! the state of that match as a *guard*. If a guard accepts, the longer match existed and the run was wrong. After
//! the last byte exactly one run remains, and its lexemes are those of the lexing rule; guards have no meaning at the
//! end of the text. A *configuration* is a state together with the guards of a run.
//!
//! A state is the list of live terminals with their automaton states, in matching order. Under
//! [`LexingRule::Lark`](crate::LexingRule::Lark) terminals form groups: once a group has matched, later groups are
//! dropped, so the list contains exactly the terminals that can still win over the match. A state can thus serve as a
//! guard.
//!
//! A run is wrong as soon as one of its guards accepts, whichever terminal that is. So the guards of a run are a set of
//! states of terminals, without their order and groups, and lexemes of different modes have guards in common. What
//! cannot matter is left out of a configuration, where it is found by inclusion of words
//! ([`prefix_inclusion`](crate::lexer::prefix_inclusion)):
//!
//! - a guard whose words begin with words of another guard;
//! - a guard whose words begin with words of a refused terminal of the open lexeme, before all others in the matching
//!   order: where the guard accepts, the lexeme has become a refused one, or the guard that it left has accepted;
//! - a terminal of the open lexeme whose words begin with words of a guard, unless the lexeme may end here: where it
//!   would match, the run is wrong.
//!
//! Without this, a refused terminal that reads any text is a guard of nearly all lexemes, and terminals with white space
//! before them, as in JavaScript, multiply the configurations: those of a block of JavaScript in Markdown are 10,167
//! instead of 145,284.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::definition::grammar::{ByteClasses, LexedGrammar};
use crate::lexer::match_order::{LiveTerminal, MatchOrder, common_spellings};
use crate::lexer::prefix_inclusion::PrefixInclusion;
use crate::parser::terminal_set::TerminalSet;
use grammask_automata::{Automata, ByteSet, StateId};
use grammask_collections::id_type;
use grammask_diagnostics::{LimitExceeded, Limits, Request};
use grammask_grammar::TerminalId;
use grammask_vocabulary::{ByteGroups, Character};

id_type! {
    /// A lexer mode: the set of terminals that a lexeme may begin with, selected by the parser state (as
    /// tree-sitter's lex modes).
    LexModeId
}

id_type! {
    /// A state inside a lexeme.
    LexStateId
}

id_type! {
    /// An interned set of guards.
    GuardsId
}

id_type! {
    /// A state inside a lexeme, with the guards left by earlier lexemes.
    ConfigurationId
}

impl GuardsId {
    /// The empty set.
    pub(crate) const NONE: Self = Self(0);
}

/// A cell that is not computed yet.
const UNKNOWN: u32 = u32::MAX;
/// Number of new states between two checks of the request.
const STATES_PER_CHECK: usize = 64;

/// A cell without a successor.
const DEAD: u32 = u32::MAX - 1;

#[derive(Clone, Debug)]
struct LexState {
    live: Box<[LiveTerminal]>,
    /// Whether the lexeme has no byte yet.
    is_start: bool,
}

/// The effects of a byte on a configuration. Both may be possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LexerStep {
    /// The configuration in which the byte extends the lexeme.
    pub(crate) extended: Option<ConfigurationId>,
    /// The guards with which the next lexeme begins at this byte, if the lexeme may end before it.
    pub(crate) commit: Option<GuardsId>,
}

impl LexerStep {
    fn of_cell((extended, commit): (u32, u32)) -> Self {
        Self {
            extended: (extended != DEAD).then_some(ConfigurationId(extended)),
            commit: (commit != DEAD).then_some(GuardsId(commit)),
        }
    }
}

/// Interned states.
#[derive(Clone, Debug, Default)]
struct LexStates {
    list: Vec<LexState>,
    /// Ids by live terminals: of states inside a lexeme, and of start states.
    ids: [FxHashMap<Box<[LiveTerminal]>, LexStateId>; 2],
    /// The terminal that each state accepts.
    labels: Vec<Option<TerminalId>>,
    /// Rows of successors, one cell per byte class.
    rows: Vec<u32>,
}

/// Interned sets of guards, which are states of terminals.
#[derive(Clone, Debug, Default)]
struct GuardSets {
    members: Vec<Box<[StateId]>>,
    ids: FxHashMap<Box<[StateId]>, GuardsId>,
    /// Rows of successors, one cell per byte class.
    rows: Vec<u32>,
}

/// Interned configurations.
#[derive(Clone, Debug, Default)]
struct Configurations {
    pairs: Vec<(LexStateId, GuardsId)>,
    /// None for those that no text survives.
    ids: FxHashMap<(LexStateId, GuardsId), Option<ConfigurationId>>,
    /// Rows of steps, one cell per byte class: the extended configuration, and the guards after a commit. Clones of a
    /// lexer share the rows until one of them interns a new configuration.
    rows: Arc<Vec<(u32, u32)>>,
    /// The self-loops of each configuration, computed on demand.
    self_loops: Vec<Option<ByteSet>>,
    /// The self-loops of each configuration that are whole characters, computed on demand.
    character_loops: Vec<Option<ByteGroups>>,
}

/// The lazy automaton of a grammar's terminals.
#[derive(Clone, Debug)]
pub(crate) struct Lexer {
    automata: Automata,
    terminals: MatchOrder,
    class_of_byte: Box<[u8; 256]>,
    /// One byte of each byte class.
    byte_of_class: Box<[u8]>,
    /// The start states of each lexer mode; one per terminal where terminals are matched separately.
    mode_starts: Vec<Box<[LexStateId]>>,
    states: LexStates,
    guards: GuardSets,
    configurations: Configurations,
    inclusion: PrefixInclusion,
    /// The labels of configurations whose lexemes are another class of their terminal than its first one, after the
    /// refinement of the grammar.
    class_labels: Arc<FxHashMap<ConfigurationId, TerminalId>>,
    max_states: usize,
}

impl Lexer {
    /// A lexer whose modes are the given sets of terminals.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn new(
        grammar: &LexedGrammar,
        modes: &[TerminalSet],
        limits: &Limits,
    ) -> Result<Self, LimitExceeded> {
        let mut terms = grammar.terms.clone();
        let common = common_spellings(grammar, &mut terms);
        let mut automata = Automata::new(terms, limits.automaton_states);
        let terminals = MatchOrder::new(grammar, &mut automata, &common)?;
        let ByteClasses { class_of_byte, byte_of_class } = grammar.lexer_byte_classes();
        let class_count = byte_of_class.len();
        let mut lexer = Self {
            automata,
            terminals,
            class_of_byte,
            byte_of_class,
            mode_starts: Vec::new(),
            states: LexStates::default(),
            guards: GuardSets {
                members: vec![Box::default()],
                ids: FxHashMap::default(),
                rows: vec![GuardsId::NONE.0; class_count],
            },
            configurations: Configurations::default(),
            inclusion: PrefixInclusion::default(),
            class_labels: Arc::default(),
            max_states: limits.automaton_states,
        };
        for mode in modes {
            let mut starts = Vec::new();
            if grammar.lexer.is_dynamic() {
                for terminal in mode.iter().filter(|&id| !grammar.terminals[id.index()].role.is_refused()) {
                    let mut only = TerminalSet::new(grammar.terminals.len() + 1);
                    only.insert(terminal);
                    if let Some(violations) = grammar.violations_of(terminal) {
                        only.insert(violations);
                    }
                    starts.push(lexer.start_of(&only)?);
                }
            }
            if starts.is_empty() {
                // Of one lexeme for all terminals; of the empty text, if a dynamic lexer has none.
                starts.push(lexer.start_of(mode)?);
            }
            lexer.mode_starts.push(starts.into());
        }
        Ok(lexer)
    }

    /// The byte classes: bytes of one class are equivalent for all terminals.
    pub(crate) fn class_of_byte(&self) -> &[u8; 256] {
        &self.class_of_byte
    }

    /// One byte of each byte class.
    pub(crate) fn byte_of_class(&self) -> &[u8] {
        &self.byte_of_class
    }

    pub(crate) fn configuration_count(&self) -> usize {
        self.configurations.pairs.len()
    }

    /// Replaces the labels of some configurations by commit classes.
    pub(crate) fn set_class_labels(&mut self, labels: FxHashMap<ConfigurationId, TerminalId>) {
        self.class_labels = Arc::new(labels);
    }

    /// The terminal of the lexeme if it ended here.
    #[inline]
    pub(crate) fn label(&self, configuration: ConfigurationId) -> Option<TerminalId> {
        if !self.class_labels.is_empty()
            && let Some(&class) = self.class_labels.get(&configuration)
        {
            return Some(class);
        }
        self.states.labels[self.configurations.pairs[configuration.index()].0.index()]
    }

    /// The delimited terminal of which the lexeme is the opening: the lexer reads no further.
    #[inline]
    pub(crate) fn opened(&self, configuration: ConfigurationId) -> Option<TerminalId> {
        let is_delimited =
            |terminal: &TerminalId| self.terminals.is_delimited.get(terminal.index()) == Some(&true);
        self.label(configuration).filter(is_delimited)
    }

    /// Whether earlier lexemes left guards.
    pub(crate) fn has_guards(&self, configuration: ConfigurationId) -> bool {
        self.configurations.pairs[configuration.index()].1 != GuardsId::NONE
    }

    /// Whether the lexeme has no byte yet: at the beginning of the text, and after a delimited terminal.
    pub(crate) fn is_start(&self, configuration: ConfigurationId) -> bool {
        self.states.list[self.configurations.pairs[configuration.index()].0.index()].is_start
    }

    /// The terminals that the lexeme can still become, in matching order.
    pub(crate) fn live(&self, configuration: ConfigurationId) -> impl Iterator<Item = TerminalId> {
        self.states.list[self.configurations.pairs[configuration.index()].0.index()]
            .live
            .iter()
            .map(|live_terminal| live_terminal.terminal)
    }

    /// Whether the lexeme can only become a refused one, so that no text has it.
    pub(crate) fn is_refused(&self, configuration: ConfigurationId) -> bool {
        let state = self.configurations.pairs[configuration.index()].0;
        self.terminals.are_refused(&self.states.list[state.index()].live)
    }

    /// The configurations before the first byte, in a mode.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn starts(&mut self, mode: LexModeId) -> Result<Vec<ConfigurationId>, LimitExceeded> {
        let states = self.mode_starts[mode.index()].clone();
        let mut starts = Vec::with_capacity(states.len());
        for &state in &states {
            starts.extend(self.intern_configuration(state, GuardsId::NONE)?);
        }
        Ok(starts)
    }

    /// The step of a configuration over a byte.
    ///
    /// # Errors
    /// When a limit is exceeded.
    #[inline]
    pub(crate) fn step(&mut self, from: ConfigurationId, byte: u8) -> Result<LexerStep, LimitExceeded> {
        let class = usize::from(self.class_of_byte[usize::from(byte)]);
        let cell = from.index() * self.byte_of_class.len() + class;
        if self.configurations.rows[cell].0 == UNKNOWN {
            self.fill_row(from)?;
        }
        Ok(LexerStep::of_cell(self.configurations.rows[cell]))
    }

    /// The steps of a configuration, one per byte class.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn steps(
        &mut self,
        from: ConfigurationId,
    ) -> Result<impl Iterator<Item = LexerStep>, LimitExceeded> {
        let row = self.row(from.index());
        if self.configurations.rows[row.start].0 == UNKNOWN {
            self.fill_row(from)?;
        }
        Ok(self.configurations.rows[row].iter().map(|&cell| LexerStep::of_cell(cell)))
    }

    /// The configurations after the first byte of a lexeme.
    ///
    /// # Errors
    /// When a limit is exceeded.
    #[inline]
    pub(crate) fn enter(
        &mut self,
        mode: LexModeId,
        byte: u8,
        guards: GuardsId,
    ) -> Result<Vec<ConfigurationId>, LimitExceeded> {
        let byte_class = usize::from(self.class_of_byte[usize::from(byte)]);
        let mut entered = Vec::new();
        for index in 0..self.mode_starts[mode.index()].len() {
            let start = self.mode_starts[mode.index()][index];
            self.fill_state_row(start)?;
            let state = self.states.rows[self.row(start.index()).start + byte_class];
            if state != DEAD {
                entered.extend(self.intern_configuration(LexStateId(state), guards)?);
            }
        }
        Ok(entered)
    }

    /// The configurations after the first byte of a lexeme, ascending; each byte comes with the guards after it.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn enter_by_any(
        &mut self,
        mode: LexModeId,
        bytes: impl Iterator<Item = (u8, Option<GuardsId>)>,
    ) -> Result<Vec<ConfigurationId>, LimitExceeded> {
        let starts = self.mode_starts[mode.index()].clone();
        for &start in &starts {
            self.fill_state_row(start)?;
        }
        let mut entered = Vec::new();
        // Neighbouring byte classes mostly have the same successor.
        let mut last = vec![None; starts.len()];
        for (byte, guards) in bytes {
            let Some(guards) = guards else { continue };
            let byte_class = usize::from(self.class_of_byte[usize::from(byte)]);
            for (&start, last) in starts.iter().zip(&mut last) {
                let state = self.states.rows[self.row(start.index()).start + byte_class];
                if state != DEAD && last.replace((state, guards)) != Some((state, guards)) {
                    entered.extend(self.intern_configuration(LexStateId(state), guards)?);
                }
            }
        }
        entered.sort_unstable();
        entered.dedup();
        Ok(entered)
    }

    /// Whether a configuration has a self-loop on each of `bytes`: none of them changes it or may end its lexeme.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn self_loops_on(
        &mut self,
        configuration: ConfigurationId,
        bytes: ByteSet,
    ) -> Result<bool, LimitExceeded> {
        Ok(!self.self_loops(configuration)?.complement().intersects(bytes))
    }

    /// The bytes over which a configuration has self-loops.
    fn self_loops(&mut self, configuration: ConfigurationId) -> Result<ByteSet, LimitExceeded> {
        if let Some(cached) = self.configurations.self_loops[configuration.index()] {
            return Ok(cached);
        }
        let mut looping = ByteSet::EMPTY;
        for byte in 0..=u8::MAX {
            let steps = self.step(configuration, byte)?;
            if steps.extended == Some(configuration) && steps.commit.is_none() {
                looping.insert(byte);
            }
        }
        self.configurations.self_loops[configuration.index()] = Some(looping);
        Ok(looping)
    }

    /// The ASCII bytes and the characters beyond that lead from a configuration back to it, such as those of the inside
    /// of a string or a comment. No lexeme that ends before such a byte, or before or inside such a character, is in a run
    /// that survives the character.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(crate) fn character_loops(
        &mut self,
        configuration: ConfigurationId,
    ) -> Result<ByteGroups, LimitExceeded> {
        if let Some(cached) = self.configurations.character_loops[configuration.index()] {
            return Ok(cached);
        }
        let bytes = self.self_loops(configuration)?;
        let mut groups = ByteGroups::default();
        for leads in ByteGroups::LEADS {
            if self.all_characters_loop(configuration, leads.clone())? {
                groups = groups.union(ByteGroups::of(*leads.start()));
            }
        }
        let groups = ByteGroups::within(|byte| bytes.contains(byte)).with_characters(groups);
        self.configurations.character_loops[configuration.index()] = Some(groups);
        Ok(groups)
    }

    /// Whether all characters that begin with a byte of `leads` lead from a configuration back to it.
    fn all_characters_loop(
        &mut self,
        configuration: ConfigurationId,
        leads: RangeInclusive<u8>,
    ) -> Result<bool, LimitExceeded> {
        // Positions inside a character: their configurations, and the guards of a run whose lexeme ended before it.
        let mut inside = vec![(Character::Boundary, configuration, None)];
        let mut next = 0;
        while let Some(&(character, from, guards)) = inside.get(next) {
            next += 1;
            let bytes = match character {
                Character::Boundary => leads.clone(),
                Character::Narrow(low, high, _) => low..=high,
                Character::Missing(_) | Character::Broken => 0x80..=0xbf,
            };
            for byte in bytes {
                let LexerStep { extended: Some(to), commit } = self.step(from, byte)? else {
                    return Ok(false);
                };
                let guards = match guards {
                    Some(guards) => self.step_guards(guards, byte)?,
                    None => commit,
                };
                let after = character.step(byte);
                if after == Character::Boundary {
                    if to != configuration || guards.is_some() {
                        return Ok(false);
                    }
                } else if !inside.contains(&(after, to, guards)) {
                    if self.label(to).is_some() || self.is_refused(to) {
                        return Ok(false);
                    }
                    inside.push((after, to, guards));
                }
            }
        }
        Ok(true)
    }

    /// The cells of the row with this index, one per byte class.
    fn row(&self, index: usize) -> Range<usize> {
        let classes = self.byte_of_class.len();
        index * classes..(index + 1) * classes
    }

    /// Computes the row of a configuration.
    fn fill_row(&mut self, from: ConfigurationId) -> Result<(), LimitExceeded> {
        let (state, guards) = self.configurations.pairs[from.index()];
        self.fill_state_row(state)?;
        self.fill_guard_row(guards)?;
        let states = self.states.rows[self.row(state.index())].to_vec();
        let guards = self.guards.rows[self.row(guards.index())].to_vec();
        let mut cells = Vec::with_capacity(states.len());
        // Neighbouring byte classes mostly have the same successor, so the last cell is reused.
        let mut last = ((UNKNOWN, UNKNOWN), (DEAD, DEAD));
        for (next, guards) in states.into_iter().zip(guards) {
            if last.0 != (next, guards) {
                last = ((next, guards), self.compute_step(state, next, guards)?);
            }
            cells.push(last.1);
        }
        let row = self.row(from.index());
        Arc::make_mut(&mut self.configurations.rows)[row].copy_from_slice(&cells);
        Ok(())
    }

    /// The step of a configuration in state `from` whose state and guards move to `next` and `guards`.
    fn compute_step(
        &mut self,
        from: LexStateId,
        next: u32,
        guards: u32,
    ) -> Result<(u32, u32), LimitExceeded> {
        if guards == DEAD {
            return Ok((DEAD, DEAD));
        }
        let next = (next != DEAD).then_some(LexStateId(next));
        let extended = match next {
            Some(next) => self.intern_configuration(next, GuardsId(guards))?.map_or(DEAD, |next| next.0),
            None => DEAD,
        };
        let commit = match (self.states.labels[from.index()], next) {
            (None, _) => DEAD,
            (Some(_), None) => guards,
            (Some(terminal), Some(_)) if !self.terminals.is_longest[terminal.index()] => guards,
            (Some(_), Some(next)) if self.states.labels[next.index()].is_some() => DEAD,
            (Some(_), Some(next)) => {
                let mut members = self.guards.members[guards as usize].to_vec();
                members.extend(self.states.list[next.index()].live.iter().map(|live| live.state));
                self.intern_guards(&mut members)?.0
            }
        };
        Ok((extended, commit))
    }

    /// The guards after a byte; `None` if one accepts.
    fn step_guards(&mut self, guards: GuardsId, byte: u8) -> Result<Option<GuardsId>, LimitExceeded> {
        self.fill_guard_row(guards)?;
        let class = usize::from(self.class_of_byte[usize::from(byte)]);
        let next = self.guards.rows[self.row(guards.index()).start + class];
        Ok((next != DEAD).then_some(GuardsId(next)))
    }

    /// Computes the row of a set of guards. A cell is dead if a guard accepts.
    fn fill_guard_row(&mut self, guards: GuardsId) -> Result<(), LimitExceeded> {
        if self.guards.rows[self.row(guards.index()).start] != UNKNOWN {
            return Ok(());
        }
        let members = self.guards.members[guards.index()].clone();
        let mut next_members = Vec::with_capacity(members.len());
        for class in 0..self.byte_of_class.len() {
            next_members.clear();
            let mut is_wrong = false;
            for &state in &members {
                if let Some(next) = self.automata.step(state, self.byte_of_class[class])? {
                    is_wrong |= self.automata.is_accepting(next);
                    next_members.push(next);
                }
            }
            let next = if is_wrong { DEAD } else { self.intern_guards(&mut next_members)?.0 };
            let first = self.row(guards.index()).start;
            self.guards.rows[first + class] = next;
        }
        Ok(())
    }

    /// Computes the row of a state.
    fn fill_state_row(&mut self, from: LexStateId) -> Result<(), LimitExceeded> {
        if self.states.rows[self.row(from.index()).start] != UNKNOWN {
            return Ok(());
        }
        let live_before = self.states.list[from.index()].live.clone();
        let mut live: Vec<LiveTerminal> = Vec::with_capacity(live_before.len());
        // Neighbouring byte classes mostly have the same successor, so the last state is reused.
        let mut last = LexStateId(DEAD);
        for class in 0..self.byte_of_class.len() {
            let byte = self.byte_of_class[class];
            let mut matched = None;
            live.clear();
            for &live_terminal in &live_before {
                if matched.is_some_and(|group| live_terminal.group > group) {
                    break;
                }
                if let Some(state) = self.automata.step(live_terminal.state, byte)? {
                    live.push(LiveTerminal { state, ..live_terminal });
                    if self.automata.is_accepting(state) {
                        matched = Some(live_terminal.group);
                    }
                }
            }
            let first = self.row(from.index()).start;
            if live.is_empty() {
                self.states.rows[first + class] = DEAD;
                continue;
            }
            if last.0 == DEAD || *self.states.list[last.index()].live != live[..] {
                last = self.intern_state(&live, false)?;
            }
            self.states.rows[first + class] = last.0;
        }
        Ok(())
    }

    fn start_of(&mut self, mode: &TerminalSet) -> Result<LexStateId, LimitExceeded> {
        let live = self.terminals.initial(mode);
        self.intern_state(&live, true)
    }

    fn intern_state(&mut self, live: &[LiveTerminal], is_start: bool) -> Result<LexStateId, LimitExceeded> {
        if let Some(&cached) = self.states.ids[usize::from(is_start)].get(live) {
            return Ok(cached);
        }
        if self.states.list.len() >= self.max_states {
            return Err(LimitExceeded::new("automaton_states", self.max_states));
        }
        if self.states.list.len().is_multiple_of(STATES_PER_CHECK) {
            Request::check()?;
        }
        let id = LexStateId::new(self.states.list.len());
        let mut accepting =
            live.iter().filter(|live_terminal| !is_start && self.automata.is_accepting(live_terminal.state));
        self.states.labels.push(accepting.next().map(|live_terminal| live_terminal.terminal));
        self.states.list.push(LexState { live: live.into(), is_start });
        self.states.ids[usize::from(is_start)].insert(live.into(), id);
        self.states.rows.resize(self.states.list.len() * self.byte_of_class.len(), UNKNOWN);
        Ok(id)
    }

    /// The set without guards that only accept where another one has accepted.
    fn intern_guards(&mut self, members: &mut Vec<StateId>) -> Result<GuardsId, LimitExceeded> {
        if members.is_empty() {
            return Ok(GuardsId::NONE);
        }
        members.sort_unstable();
        members.dedup();
        if let Some(&cached) = self.guards.ids.get(&members[..]) {
            return Ok(cached);
        }
        let mut needed = Vec::with_capacity(members.len());
        for (index, &guard) in members.iter().enumerate() {
            // Of guards that include each other, the last one is needed.
            let later = &members[index + 1..];
            if !self.is_included(guard, later)? && !self.is_included(guard, &needed)? {
                needed.push(guard);
            }
        }
        let id = match self.guards.ids.get(&needed[..]) {
            Some(&cached) => cached,
            None => {
                let id = GuardsId::new(self.guards.members.len());
                self.guards.members.push(needed[..].into());
                self.guards.rows.resize(self.guards.members.len() * self.byte_of_class.len(), UNKNOWN);
                self.guards.ids.insert(needed.into(), id);
                id
            }
        };
        self.guards.ids.insert(members[..].into(), id);
        Ok(id)
    }

    /// Whether each word of a state has a prefix among the words of one of the `others`.
    fn is_included(&mut self, state: StateId, others: &[StateId]) -> Result<bool, LimitExceeded> {
        for &other in others {
            if self.inclusion.holds(&mut self.automata, state, other)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The configuration without its redundant parts: guards that accept only where the lexeme has become a refused one,
    /// and terminals that match only where a guard has accepted. `None` if no terminal is left.
    fn without_redundant(
        &mut self,
        state: LexStateId,
        guards: GuardsId,
    ) -> Result<Option<(LexStateId, GuardsId)>, LimitExceeded> {
        if guards == GuardsId::NONE {
            return Ok(Some((state, guards)));
        }
        let LexState { live, is_start } = self.states.list[state.index()].clone();
        let mut needed = self.guards.members[guards.index()].to_vec();
        if self.terminals.drops_refused_guards {
            let refused: Vec<StateId> =
                self.terminals.leading_refused(&live).iter().map(|live| live.state).collect();
            for guard in std::mem::take(&mut needed) {
                if !self.is_included(guard, &refused)? {
                    needed.push(guard);
                }
            }
        }
        let mut left = Vec::with_capacity(live.len());
        for &live_terminal in &live {
            // The lexeme may end here, before a guard accepts.
            let is_match = self.automata.is_accepting(live_terminal.state);
            if is_match || !self.is_included(live_terminal.state, &needed)? {
                left.push(live_terminal);
            }
        }
        if left.is_empty() {
            return Ok(None);
        }
        let state = if left.len() == live.len() { state } else { self.intern_state(&left, is_start)? };
        Ok(Some((state, self.intern_guards(&mut needed)?)))
    }

    /// The configuration of a state and guards; `None` if each text makes it wrong.
    fn intern_configuration(
        &mut self,
        state: LexStateId,
        guards: GuardsId,
    ) -> Result<Option<ConfigurationId>, LimitExceeded> {
        if let Some(&cached) = self.configurations.ids.get(&(state, guards)) {
            return Ok(cached);
        }
        let id = match self.without_redundant(state, guards)? {
            Some(needed) if needed != (state, guards) => self.intern_configuration(needed.0, needed.1)?,
            Some(_) => Some(self.add_configuration(state, guards)?),
            None => None,
        };
        self.configurations.ids.insert((state, guards), id);
        Ok(id)
    }

    fn add_configuration(
        &mut self,
        state: LexStateId,
        guards: GuardsId,
    ) -> Result<ConfigurationId, LimitExceeded> {
        if self.configurations.pairs.len() >= self.max_states {
            return Err(LimitExceeded::new("automaton_states", self.max_states));
        }
        if self.configurations.pairs.len().is_multiple_of(STATES_PER_CHECK) {
            Request::check()?;
        }
        let id = ConfigurationId::new(self.configurations.pairs.len());
        self.configurations.pairs.push((state, guards));
        self.configurations.self_loops.push(None);
        self.configurations.character_loops.push(None);
        let cells = self.configurations.pairs.len() * self.byte_of_class.len();
        Arc::make_mut(&mut self.configurations.rows).resize(cells, (UNKNOWN, UNKNOWN));
        Ok(id)
    }
}
