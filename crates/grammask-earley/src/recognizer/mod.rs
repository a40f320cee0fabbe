//! The recogniser: Earley's algorithm (1970) over interned sets, with the optimisation of Leo (1991) in a general form.
//!
//! The set reached after a text is a value: the items in progress, each with its continuation. Completed items are
//! dropped (KBNF calls that compaction), and predicted items are implied by a static left-corner relation. Equal
//! values have one [`SetId`], so "the set after one more byte" is a memoised function. The recogniser becomes a lazy
//! DFA on the regular parts of a grammar and a lazy LR automaton on the deterministic ones, and it is an Earley
//! recogniser for every context-free grammar.
//!
//! | module | contents |
//! |---|---|
//! | `kernel` | items, and the kernel of a set under construction |
//! | `builder` | creates sets, under the lock |
//! | `set`, `set_core` | interned sets, as a core (items with numbered continuations) and a list of continuations |
//! | `continuation` | continuations, interned by content, cyclic ones by strongly connected component |
//! | `left_corner`, `prediction` | the static and the dynamic part of prediction |
//! | `terminal_starts` | the initial states of terminals |
//! | `byte_classes` | bytes that no terminal distinguishes |
//! | `embedded` | terminals whose words another engine recognises |
//! | `token_ends` | how many tokens end a terminal that counts tokens |
//! | `stepping`, `step_budget` | a step over a byte, and the bound of its work |
//! | `remembered` | values that a text must not repeat |
//! | `completion` | shortest completions of sets |
//! | `inside_terminal` | sets inside one terminal, or the copies of one |
//! | `trace` | recorded steps, replayed for sets of one core |
//! | `set_reader` | the items and tables that masks are composed from |
//! | `describe` | sets as text |
//! | [`mod@reference`] | a plain textbook recogniser, the oracle |
//!
//! A memoised step takes no lock. Other steps run under the one lock of the recogniser.

mod builder;
mod byte_classes;
mod completion;
mod continuation;
mod describe;
mod embedded;
mod inside_terminal;
mod kernel;
mod left_corner;
mod prediction;
pub mod reference;
mod remembered;
mod set;
mod set_core;
mod set_reader;
mod step_budget;
mod stepping;
mod terminal_starts;
mod token_ends;
mod trace;

pub use continuation::ContinuationId;
pub use token_ends::terminals_without_end;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::lowering::{DotId, NormalForm, Symbol};
use grammask_automata::{Automata, ByteSet, Terms};
use grammask_collections::measured_size::MeasuredSize;
use grammask_collections::state_table::MemoTransition;
use grammask_diagnostics::{Deadline, LimitExceeded, Limits};
use grammask_engine::{Engine, InsideTerminal, SetId, Steps, TokenEvent, TokenMatch};
use grammask_grammar::{ValueCondition, ValueKind};
use grammask_vocabulary::Vocabulary;

use builder::Builder;
use byte_classes::ByteClassTable;
use continuation::{Content, InternContinuations};
use kernel::Kernel;
use prediction::{ByteWithClass, Predictor};
use remembered::{Remembered, abundant_values};
use set::{Set, Sets};
use stepping::Stepper;
use terminal_starts::TerminalStarts;

pub(crate) use continuation::Continuations;
pub(crate) use embedded::{EmbeddedState, EmbeddedStates, InsideEmbedded};
pub(crate) use kernel::{Item, ItemState};
pub(crate) use left_corner::{LeftCorners, Lists};
pub(crate) use remembered::{CompletedValue, CompletingNode, OpenValue, PrefixId, RepeatingNodes};
pub(crate) use set_core::{CoreId, SetCore};
pub(crate) use set_reader::{Machine, MaskItems, SetReader};
pub(crate) use token_ends::TokenEnds;

/// Maximum number of bytes that are read under one lock and between two checks of the deadline. `Limits::set_items`
/// bounds the work of each.
const MAX_STEPS_PER_LOCK: usize = 16;

/// The recogniser of one grammar, shared by all texts that are read under it.
#[derive(Debug)]
pub struct Recognizer {
    form: Arc<NormalForm>,
    /// For each terminal the tokens that it matches, if it is a token terminal.
    token_matches: Vec<Option<TokenMatch>>,
    names_tokens: bool,
    counts_tokens: bool,
    /// Whether some values cannot be anonymous.
    depends_on_all_values: bool,
    /// Whether an embedded engine has values.
    has_embedded_values: bool,
    /// The number of terminals that count tokens.
    limited_count: usize,
    /// The initial state of each terminal as if it did not count tokens, if some terminal does.
    uncounted_starts: Box<[ItemState]>,
    classes: ByteClassTable,
    sets: Sets,
    start: SetId,
    /// Number of computed steps; memoised steps are not counted.
    new_steps: AtomicUsize,
    builder: Mutex<Builder>,
    measured: MeasuredSize,
}

impl Recognizer {
    /// A recogniser for a lowered grammar. `token_matches` has for each terminal the tokens that it matches, if it is
    /// a token terminal, and `embedded` the engines of the embedded grammars. States of these must not outlive their
    /// caches: an engine is shared by recognisers only if it is replaced together with them.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn new(
        form: impl Into<Arc<NormalForm>>,
        token_matches: Vec<Option<TokenMatch>>,
        embedded: Vec<Arc<dyn Engine>>,
        limits: &Limits,
    ) -> Result<Self, LimitExceeded> {
        let mut form = form.into();
        if let Some(fresh) = form.with_fresh_selections()? {
            form = Arc::new(fresh);
        }
        let left_corners = LeftCorners::of(&form, limits.grammar_size)?;
        let mut automata = Automata::new(Terms::clone(&form.terms), limits.automaton_states);
        let mut embedded = EmbeddedStates::new(embedded);
        let terminals = TerminalStarts::of(&form, &mut automata, &mut embedded)?;
        let classes = ByteClassTable::of(&form, &mut automata, &embedded, &terminals)?;
        let counts_tokens =
            form.counts_tokens() || embedded.engines().iter().any(|engine| engine.counts_tokens());
        // The other kinds refer to bound names.
        let is_needed = |(_, condition): &(DotId, ValueCondition)| {
            matches!(condition.kind, ValueKind::Repeated | ValueKind::Bound)
        };
        let has_embedded_values = embedded
            .engines()
            .iter()
            .any(|engine| engine.anonymous_values().is_some() || engine.depends_on_all_values());
        let depends_on_all_values = form.values().iter().any(is_needed) || has_embedded_values;
        let limited_count = terminals.limited.len();
        let uncounted_starts = if counts_tokens { terminals.uncounted() } else { Box::default() };
        let abundant = abundant_values(&form, &mut automata, &terminals.starts)?;
        let TerminalStarts { starts, uncounted_or_none, limited } = terminals;
        let predictor = Predictor::new(
            left_corners,
            starts,
            uncounted_or_none,
            classes.count_outside_values(),
            limits.set_items,
        );
        let stepper = Stepper::new(automata, embedded, predictor, limited, limits);
        let remembered = Remembered::new(&form, &abundant);
        let mut builder = Builder::new(form.clone(), stepper, remembered, limits);
        let at_end = builder.continuations.intern(&Content { ends: true, entries: Vec::new() });
        let before = |dot| Item { dot, state: ItemState::FRESH, continuation: at_end };
        let sets = Sets::default();
        for &(dot, ref condition) in form.values() {
            let set = builder.intern(&sets, &mut Kernel { ends: false, items: vec![before(dot)] })?;
            let start = builder.remembered.add_start(set, condition);
            builder.stepper.predictor.add_value(start);
        }
        let items = form.start.map(before).into_iter().collect();
        let start = builder.intern(&sets, &mut Kernel { ends: form.start_is_nullable, items })?;
        Ok(Self {
            counts_tokens,
            depends_on_all_values,
            has_embedded_values,
            limited_count,
            uncounted_starts,
            form,
            classes,
            names_tokens: token_matches.iter().any(Option::is_some),
            token_matches,
            sets,
            start,
            new_steps: AtomicUsize::new(0),
            builder: Mutex::new(builder),
            measured: MeasuredSize::default(),
        })
    }

    /// The recogniser for a vocabulary, in which terminals that count tokens stay open only as long as its tokens can
    /// end them. Without a vocabulary, they stay open until they have their maximum number of tokens.
    #[must_use]
    pub fn with_vocabulary(self, vocabulary: &Arc<Vocabulary>) -> Self {
        if self.counts_tokens {
            let mut builder = self.lock();
            builder.stepper.token_ends = Some(TokenEnds::new(vocabulary.clone(), &builder.limits));
        }
        self
    }

    /// The grammar.
    #[must_use]
    pub fn normal_form(&self) -> &NormalForm {
        &self.form
    }

    /// The names of the rules whose texts need more different values than there are, and so have no end.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn rules_without_end(&self) -> Result<Vec<String>, LimitExceeded> {
        self.lock().scopes_without_end(self)
    }

    /// Whether the text of a set has no continuation.
    #[must_use]
    pub fn is_final(&self, set: SetId) -> bool {
        self.set(set).data.is_final()
    }

    /// As [`Engine::step`], without memo tables and traces: the cross-check.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn step_uncached(&self, set: SetId, byte: u8) -> Result<Option<SetId>, LimitExceeded> {
        let mut builder = self.lock();
        builder.step_set(self, self.set(set), self.with_class(byte))
    }

    /// Number of steps that were computed by replaying a trace.
    #[must_use]
    pub fn replayed_traces(&self) -> usize {
        self.lock().traces.replayed()
    }

    /// Whether a text of the grammar itself, not of an embedded one, can have values with conditions.
    fn has_values(&self) -> bool {
        !self.form.values().is_empty()
    }

    fn set(&self, id: SetId) -> &Set {
        self.sets.get(id.index())
    }

    fn lock(&self) -> MutexGuard<'_, Builder> {
        // Tables only grow, by complete entries, so a builder is consistent even if a thread panicked while it held
        // the lock.
        self.builder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn token_match(&self, item: Item) -> Option<&TokenMatch> {
        match self.form.symbol_after(item.dot) {
            Symbol::Terminal(id) => self.token_matches[id.index()].as_ref(),
            Symbol::Nonterminal(_) => None,
        }
    }

    #[inline]
    fn memoised_step(&self, set: SetId, byte: u8) -> MemoTransition {
        let set = self.set(set);
        set.transition(self.transition_class(set, byte))
    }

    /// Reads the bytes up to the maximum per lock. Returns the set and the number of bytes read; without a set, the
    /// last of these is illegal.
    #[cold]
    fn compute_steps(&self, id: SetId, bytes: &[u8]) -> Result<(Option<SetId>, usize), LimitExceeded> {
        let mut builder = self.lock();
        let (mut id, mut set) = (id, self.set(id));
        let mut read = 0;
        let bytes = &bytes[..bytes.len().min(MAX_STEPS_PER_LOCK)];
        while let Some(&byte) = bytes.get(read) {
            let class = self.transition_class(set, byte);
            let next = match set.transition(class) {
                MemoTransition::Unknown => {
                    self.count_step();
                    if let Some((next, bytes_read)) = builder.run(self, id, class, &bytes[read..])? {
                        read += bytes_read;
                        (id, set) = (next, self.set(next));
                        continue;
                    }
                    let next = builder.step(self, set, self.with_class(byte))?;
                    builder.memoise(self, set, class, next);
                    next
                }
                MemoTransition::Dead => None,
                MemoTransition::To(next) => Some(SetId::new(next as usize)),
            };
            read += 1;
            let Some(next) = next else { return Ok((None, read)) };
            (id, set) = (next, self.set(next));
        }
        Ok((Some(id), read))
    }

    /// The byte with its class in sets whose items are not inside values.
    fn with_class(&self, byte: u8) -> ByteWithClass {
        ByteWithClass { class: self.classes.outside_values(byte), byte }
    }

    /// The class of a byte among the transitions of a set.
    #[inline]
    fn transition_class(&self, set: &Set, byte: u8) -> usize {
        match set.data.is_in_value() {
            false => self.classes.outside_values(byte),
            true => usize::from(byte),
        }
    }

    /// The class of the end of a token among the transitions of a set: the one after those of bytes.
    fn end_class(&self, set: &Set) -> usize {
        if set.data.is_in_value() { 1 << u8::BITS } else { self.classes.count_outside_values() }
    }

    /// Counts a computed step. The caller holds the lock.
    fn count_step(&self) {
        self.new_steps.store(self.new_steps().wrapping_add(1), Ordering::Relaxed);
    }

    fn compute_end_token(&self, set: SetId) -> Result<Option<SetId>, LimitExceeded> {
        let class = self.end_class(self.set(set));
        match self.set(set).transition(class) {
            MemoTransition::Unknown => {}
            MemoTransition::Dead => return Ok(None),
            MemoTransition::To(next) => return Ok(Some(SetId::new(next as usize))),
        }
        let mut builder = self.lock();
        self.count_step();
        let mut items = Vec::new();
        for item in builder.items(self.set(set)) {
            if item.state == ItemState::FRESH {
                items.push(item);
            } else if let Some(state) = builder.stepper.end_token(item.state)? {
                items.push(Item { state, ..item });
            }
        }
        let mut kernel = Kernel { ends: self.is_complete(set), items };
        let next = builder.intern_live(&self.sets, &mut kernel)?;
        builder.memoise(self, self.set(set), class, next);
        Ok(next)
    }
}

impl Steps for Recognizer {
    fn start(&self) -> SetId {
        self.start
    }

    fn is_complete(&self, set: SetId) -> bool {
        self.set(set).data.ends()
    }

    fn set_count(&self) -> usize {
        self.sets.len()
    }

    fn class_of_byte(&self) -> &[u8; 256] {
        self.classes.class_of_byte()
    }

    fn byte_of_class(&self) -> &[u8] {
        self.classes.byte_of_class()
    }

    fn memory_bytes(&self) -> usize {
        self.measured.of(&self.builder, Builder::total_memory)
    }

    fn new_steps(&self) -> usize {
        self.new_steps.load(Ordering::Relaxed)
    }

    #[inline]
    fn step(&self, set: SetId, byte: u8) -> Result<Option<SetId>, LimitExceeded> {
        match self.memoised_step(set, byte) {
            MemoTransition::Unknown => Ok(self.compute_steps(set, &[byte])?.0),
            MemoTransition::Dead => Ok(None),
            MemoTransition::To(next) => Ok(Some(SetId::new(next as usize))),
        }
    }

    fn step_all(
        &self,
        set: SetId,
        bytes: &[u8],
        deadline: &Deadline,
    ) -> Result<Result<SetId, usize>, LimitExceeded> {
        let (mut set, mut position) = (set, 0);
        loop {
            while let Some(&byte) = bytes.get(position) {
                match self.memoised_step(set, byte) {
                    MemoTransition::To(next) => set = SetId::new(next as usize),
                    MemoTransition::Dead => return Ok(Err(position)),
                    MemoTransition::Unknown => break,
                }
                position += 1;
            }
            if position == bytes.len() {
                return Ok(Ok(set));
            }
            let (next, read) = self.compute_steps(set, &bytes[position..])?;
            position += read;
            let Some(next) = next else { return Ok(Err(position - 1)) };
            set = next;
            if position < bytes.len() {
                deadline.check()?;
            }
        }
    }

    #[inline]
    fn end_token(&self, set: SetId) -> Result<Option<SetId>, LimitExceeded> {
        if self.counts_tokens { self.compute_end_token(set) } else { Ok(Some(set)) }
    }

    fn counts_tokens(&self) -> bool {
        self.counts_tokens
    }

    fn step_token(&self, set: SetId, event: TokenEvent) -> Result<Option<SetId>, LimitExceeded> {
        if !self.names_tokens {
            return Ok(None);
        }
        let mut builder = self.lock();
        let (mut kernel, mut ended) = (Kernel::default(), Vec::new());
        for item in builder.scans(self, set)? {
            if item.state == ItemState::TOKEN
                && self.token_match(item).is_some_and(|token| token.matches(event))
            {
                kernel.advance(&self.form, item, &mut ended);
            }
        }
        let Builder { stepper, continuations, .. } = &mut *builder;
        stepper.resume(&self.form, &mut kernel, &mut ended, continuations)?;
        if builder.has_scarce_values() {
            builder.retain_viable(self, &mut kernel)?;
        }
        builder.intern_live(&self.sets, &mut kernel)
    }

    fn token_matches(&self, set: SetId) -> Result<Vec<TokenMatch>, LimitExceeded> {
        self.lock().token_matches(self, set)
    }

    fn union(&self, left: SetId, right: SetId) -> Result<SetId, LimitExceeded> {
        if left == right {
            return Ok(left);
        }
        let (left, right) = (self.set(left), self.set(right));
        let mut builder = self.lock();
        let mut kernel = Kernel { ends: left.data.ends() || right.data.ends(), items: builder.items(left) };
        kernel.items.extend(builder.items(right));
        builder.intern(&self.sets, &mut kernel)
    }

    fn inside_terminal(&self, set: SetId, reach: u32) -> Result<Option<InsideTerminal>, LimitExceeded> {
        self.find_inside_terminal(set, reach)
    }

    fn possible_bytes(&self, set: SetId) -> Result<Option<ByteSet>, LimitExceeded> {
        // The bytes of values are not those of automata.
        if self.has_values() {
            return Ok(None);
        }
        let mut builder = self.lock();
        let items = builder.items(self.set(set));
        let Stepper { automata, predictor, .. } = &mut builder.stepper;
        let (inside, fresh) = items.split_at(items.partition_point(|item| item.state != ItemState::FRESH));
        let dots = fresh.iter().map(|item| item.dot);
        let Some(mut bytes) = predictor.first_bytes(&self.form, automata, dots)? else { return Ok(None) };
        for item in inside {
            let Some(state) = item.state.automaton_state() else { return Ok(None) };
            bytes = bytes.union(automata.first_bytes(state)?);
        }
        Ok(Some(bytes))
    }

    fn state_size(&self, set: SetId) -> usize {
        let builder = self.lock();
        let set = self.set(set);
        let waiting = builder.parts(set).iter().map(|&part| builder.continuations.get(part).entries().len());
        builder.continuations.core(set.data.core()).items.len() + waiting.sum::<usize>()
    }
}

fn index_u32(index: usize) -> u32 {
    u32::try_from(index).expect("tables are bounded by Limits, far below 2^31 entries")
}
