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
//! | `set`, `set_core` | interned sets, as a core (items with numbered continuations) and a list of continuations |
//! | `continuation` | continuations, interned by content, cyclic ones by strongly connected component |
//! | `left_corner`, `prediction` | the static and the dynamic part of prediction |
//! | `embedded` | terminals whose words another engine recognises |
//! | `token_ends` | how many tokens end a terminal that counts tokens |
//! | `stepping`, `step_budget` | a step over a byte, and the bound of its work |
//! | `remembered` | values that a text must not repeat |
//! | `completion` | shortest completions of sets |
//! | `inside_terminal` | sets inside one terminal, or the copies of one |
//! | `trace` | recorded steps, replayed for sets of one core |
//! | `set_reader` | what masks are composed from |
//! | `describe` | sets as text |
//! | [`mod@reference`] | a plain textbook recogniser, the oracle |
//!
//! A memoised step takes no lock. Other steps run under the one lock of the recogniser.

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
mod token_ends;
mod trace;

pub use continuation::ContinuationId;
pub use token_ends::terminals_without_end;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::lowering::{DotId, NormalForm, Symbol};
use grammask_automata::{Automata, ByteSet, Terms};
use grammask_collections::incremental_hash_table::IncrementalHashTable;
use grammask_collections::state_table::MemoTransition;
use grammask_diagnostics::{Deadline, LimitExceeded, Limits};
use grammask_engine::{
    AnonymousValues, BoundTexts, Engine, Expectation, FirstTerminals, InsideTerminal, Reach, SetId,
    ShortestCompletion, TokenEvent, TokenGrowths, TokenMatch,
};
use grammask_grammar::{Terminal, ValueCondition, ValueKind, ValueSupply};
use grammask_vocabulary::Vocabulary;

use completion::{CompletionTables, FinishingTokens, ValueCompletions, ValueEscapes};
use continuation::{Content, InternContinuations};
use kernel::Kernel;
use prediction::{ByteWithClass, Predictor};
use remembered::{Abundance, AnonymousSets, Remembered};
use set::{Set, Sets};
use set_core::{hash_of, intern_kernel};
use stepping::{Stepper, TokenLimitedState};
use token_ends::TokenEnds;
use trace::{Recorder, Replay, TraceKey, Traces};

pub(crate) use continuation::Continuations;
pub(crate) use embedded::{EmbeddedState, EmbeddedStates, InsideEmbedded};
pub(crate) use kernel::{Item, ItemState};
pub(crate) use left_corner::{LeftCorners, Lists};
pub(crate) use remembered::{CompletedValue, CompletingNode, OpenValue, PrefixId, RepeatingNodes};
pub(crate) use set_core::{CoreId, SetCore};
pub(crate) use set_reader::{Machine, MaskItems, SetReader};

/// Number of new sets between two checks of the memory limit: summing up the memory takes as long as creating a small
/// set.
const SETS_PER_MEMORY_CHECK: usize = 8;
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
    /// The class of each byte in sets whose items are not inside values: no terminal distinguishes bytes of one class,
    /// and bytes with which values begin are classes of their own. Inside values every byte is a class of its own.
    set_class_of_byte: Box<[u8; 256]>,
    /// Number of these classes.
    set_class_count: usize,
    /// The class of each byte in all sets.
    class_of_byte: Box<[u8; 256]>,
    /// One byte of each class.
    byte_of_class: Box<[u8]>,
    sets: Sets,
    start: SetId,
    /// Number of computed steps; memoised steps are not counted.
    new_steps: AtomicUsize,
    builder: Mutex<Builder>,
}

/// The part of a recogniser that creates sets, under the lock.
#[derive(Debug)]
struct Builder {
    form: Arc<NormalForm>,
    stepper: Stepper,
    continuations: Continuations,
    traces: Traces,
    remembered: Remembered,
    /// Memo tables of shortest completions.
    completions: CompletionTables,
    value_escapes: Option<ValueEscapes>,
    /// Memo tables of completions in grammars with values.
    value_completions: ValueCompletions,
    /// Memo tables of the tokens that finish a text, where texts are bound to names.
    finishing_tokens: FinishingTokens,
    /// Memo tables of sets with anonymous values.
    anonymous: AnonymousSets,
    /// The continuations of all sets, one list after the other.
    set_parts: Vec<ContinuationId>,
    /// Interning table of sets, by core and continuations.
    set_ids: IncrementalHashTable,
    /// Memory of the sets, in bytes.
    set_bytes: usize,
    /// Runs of several bytes whose intermediate sets were skipped: the set, and the class of the first byte.
    runs: FxHashSet<(SetId, u32)>,
    limits: Limits,
    /// Scratch: continuations of the next set.
    next: Vec<ContinuationId>,
    /// Scratch, for each step inside another: the items of the set that it leaves, and the kernel that it reaches.
    scratch: Vec<(Vec<Item>, Kernel)>,
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
        let mut limited = Vec::new();
        let mut starts = Vec::with_capacity(form.terminals.len());
        let mut start_states = Vec::with_capacity(form.terminals.len());
        let mut terms = Vec::new();
        for definition in &form.terminals {
            let term = match &definition.terminal {
                Terminal::Literal(bytes) => Some(automata.terms_mut().literal(bytes)),
                Terminal::Regular(term) | Terminal::Limited { term, .. } => Some(*term),
                Terminal::Token(_) | Terminal::AnyToken | Terminal::OneOf(_) | Terminal::Embedded { .. } => {
                    None
                }
            };
            terms.extend(term);
            let start = match (term, &definition.terminal) {
                // Lowering has removed terminals with an empty language.
                (Some(term), _) => automata.start(term)?.map(ItemState::of_automaton),
                (None, &Terminal::Embedded { grammar, .. }) => Some(embedded.start(grammar)),
                (None, _) => None,
            };
            start_states.push(start);
            starts.push(match (start, &definition.terminal) {
                (None, _) => ItemState::TOKEN,
                (
                    Some(state),
                    &(Terminal::Limited { tokens, .. } | Terminal::Embedded { tokens: Some(tokens), .. }),
                ) => {
                    limited.push(TokenLimitedState { state, tokens_left: tokens, is_counted: false });
                    ItemState(ItemState::FIRST_LIMITED + index_u32(limited.len() - 1))
                }
                (Some(state), _) => state,
            });
        }
        let mut class_of_byte = Box::new(automata.terms().byte_classes(&terms));
        for engine in embedded.engines() {
            refine_classes(&mut class_of_byte, engine.class_of_byte());
        }
        let mut set_class_of_byte = class_of_byte.clone();
        let mut set_class_count = class_count(&set_class_of_byte);
        if !form.values().is_empty() {
            let first = remembered::first_bytes(&form, &mut automata, &starts)?;
            separate(&mut set_class_of_byte, first);
            set_class_count = class_count(&set_class_of_byte);
            // Every byte can make a difference to a value.
            for (byte, class) in (0..=u8::MAX).zip(class_of_byte.iter_mut()) {
                *class = byte;
            }
        }
        let mut byte_of_class = vec![0_u8; class_count(&class_of_byte)].into_boxed_slice();
        for byte in (0..=u8::MAX).rev() {
            byte_of_class[usize::from(class_of_byte[usize::from(byte)])] = byte;
        }
        let uncounted = |state: &ItemState| match *state {
            ItemState::TOKEN => ItemState::TOKEN,
            state => match state.0.checked_sub(ItemState::FIRST_LIMITED) {
                Some(index) => limited[index as usize].state,
                None => state,
            },
        };
        let limited_count = limited.len();
        let counts_tokens =
            form.counts_tokens() || embedded.engines().iter().any(|engine| engine.counts_tokens());
        // The other kinds refer to bound names.
        let is_needed = |(_, condition): &(DotId, ValueCondition)| {
            matches!(condition.kind, ValueKind::Repeated | ValueKind::Bound)
        };
        let has_embedded_values =
            |engine: &Arc<dyn Engine>| engine.anonymous_values().is_some() || engine.depends_on_all_values();
        let has_embedded_values = embedded.engines().iter().any(has_embedded_values);
        let depends_on_all_values = form.values().iter().any(is_needed) || has_embedded_values;
        let uncounted_starts =
            if !counts_tokens { Box::default() } else { starts.iter().map(uncounted).collect() };
        let mut continuations = Continuations::default();
        let at_end = continuations.intern(&Content { ends: true, entries: Vec::new() });
        let mut first = Kernel { ends: form.start_is_nullable, items: Vec::new() };
        first.items.extend(form.start.map(|dot| Item { dot, state: ItemState::FRESH, continuation: at_end }));
        let mut abundance = Abundance::new(&form, &mut automata, &starts);
        let is_abundant = |&(dot, ref condition): &(DotId, ValueCondition)| {
            let symbol = form.symbol_after(dot);
            match condition.supply {
                ValueSupply::Unknown => {}
                ValueSupply::AtLeast(min) => return Ok(min == u32::MAX),
                ValueSupply::Inexhaustible => return Ok(true),
            }
            abundance.is_abundant(symbol, condition.equality)
        };
        let abundant: Vec<bool> = form.values().iter().map(is_abundant).collect::<Result<_, _>>()?;
        let predictor = Predictor::new(left_corners, starts, start_states, set_class_count, limits.set_items);
        let mut builder = Builder {
            form: form.clone(),
            stepper: Stepper::new(automata, embedded, predictor, limited, limits),
            continuations,
            traces: Traces::default(),
            remembered: Remembered::new(&form, &abundant),
            completions: CompletionTables::default(),
            value_escapes: None,
            value_completions: ValueCompletions::default(),
            finishing_tokens: FinishingTokens::default(),
            anonymous: AnonymousSets::default(),
            set_parts: Vec::new(),
            set_ids: IncrementalHashTable::default(),
            set_bytes: 0,
            runs: FxHashSet::default(),
            limits: limits.clone(),
            next: Vec::new(),
            scratch: Vec::new(),
        };
        let sets = Sets::default();
        for &(dot, ref condition) in form.values() {
            let before = Item { dot, state: ItemState::FRESH, continuation: at_end };
            let set = builder.intern(&sets, &mut Kernel { ends: false, items: vec![before] })?;
            let start = builder.remembered.add_start(set, condition);
            builder.stepper.predictor.add_value(start);
        }
        let start = builder.intern(&sets, &mut first)?;
        Ok(Self {
            counts_tokens,
            depends_on_all_values,
            has_embedded_values,
            limited_count,
            uncounted_starts,
            form,
            set_class_of_byte,
            set_class_count,
            names_tokens: token_matches.iter().any(Option::is_some),
            token_matches,
            class_of_byte,
            byte_of_class,
            sets,
            start,
            new_steps: AtomicUsize::new(0),
            builder: Mutex::new(builder),
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
        ByteWithClass { class: usize::from(self.set_class_of_byte[usize::from(byte)]), byte }
    }

    /// The class of a byte among the transitions of a set.
    #[inline]
    fn transition_class(&self, set: &Set, byte: u8) -> usize {
        match set.data.is_in_value() {
            false => usize::from(self.set_class_of_byte[usize::from(byte)]),
            true => usize::from(byte),
        }
    }

    /// The class of the end of a token among the transitions of a set: the one after those of bytes.
    fn end_class(&self, set: &Set) -> usize {
        if set.data.is_in_value() { 1 << u8::BITS } else { self.set_class_count }
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

impl Engine for Recognizer {
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
        &self.class_of_byte
    }

    fn byte_of_class(&self) -> &[u8] {
        &self.byte_of_class
    }

    fn memory_bytes(&self) -> usize {
        self.lock().total_memory()
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

    fn expectations(&self, set: SetId) -> Result<Vec<Expectation>, LimitExceeded> {
        self.expected_terminals(set)
    }

    fn first_terminals(&self, set: SetId, texts: &[&[u8]]) -> Result<FirstTerminals, LimitExceeded> {
        self.find_first_terminals(set, texts)
    }

    fn describe(&self, set: SetId) -> String {
        self.describe_set(set)
    }

    fn inside_terminal(&self, set: SetId, reach: u32) -> Result<Option<InsideTerminal>, LimitExceeded> {
        self.find_inside_terminal(set, reach)
    }

    fn depends_on_all_values(&self) -> bool {
        self.depends_on_all_values
    }

    fn has_few_texts_of_values(&self, vocabulary: &Vocabulary, max: usize) -> Result<bool, LimitExceeded> {
        self.compute_has_few_texts_of_values(vocabulary, max)
    }

    fn bound_texts(
        &self,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<&dyn BoundTexts>, LimitExceeded> {
        Ok(self.compute_bounds_bound_texts(vocabulary, deadline)?.then_some(self))
    }

    fn anonymous_values(&self) -> Option<&dyn AnonymousValues> {
        self.has_values().then_some(self)
    }

    fn shortest_completion(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<ShortestCompletion>, LimitExceeded> {
        self.compute_shortest_completion(set, vocabulary, deadline)
    }

    fn length_bounds_tokens(
        &self,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<bool, LimitExceeded> {
        self.compute_length_bounds_tokens(vocabulary, deadline)
    }

    fn completion_at_least(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<u32>, LimitExceeded> {
        self.compute_completion_at_least(set, vocabulary, deadline)
    }

    fn state_size(&self, set: SetId) -> usize {
        let builder = self.lock();
        let set = self.set(set);
        let waiting = builder.parts(set).iter().map(|&part| builder.continuations.get(part).entries().len());
        builder.continuations.core(set.data.core()).items.len() + waiting.sum::<usize>()
    }

    fn longest_shortest_completion(&self, vocabulary: &Vocabulary) -> Result<Option<u32>, LimitExceeded> {
        self.compute_longest_completion(vocabulary)
    }

    fn longest_completion_after(
        &self,
        set: SetId,
        reach: Reach,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<u32>, LimitExceeded> {
        self.compute_longest_completion_after(set, reach, vocabulary, deadline)
    }

    fn token_growths(
        &self,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<Arc<TokenGrowths>>, LimitExceeded> {
        self.compute_token_growths(vocabulary, deadline)
    }
}

impl Builder {
    /// Memoises a transition of a set.
    fn memoise(&mut self, recognizer: &Recognizer, set: &Set, class: usize, next: Option<SetId>) {
        self.set_bytes += set.memoise(class, next.map(SetId::index), recognizer.end_class(set) + 1);
    }

    fn total_memory(&self) -> usize {
        self.set_bytes
            + self.form.memory_bytes()
            + self.set_parts.capacity() * size_of::<ContinuationId>()
            + self.set_ids.memory_bytes()
            + self.runs.capacity() * (size_of::<(SetId, u32)>() + 1)
            + self.stepper.memory_bytes()
            + self.continuations.memory_bytes()
            + self.traces.memory_bytes()
            + self.remembered.memory_bytes()
            + self.completions.memory_bytes()
            + self.value_completions.memory_bytes()
            + self.finishing_tokens.memory_bytes()
            + self.anonymous.memory_bytes()
    }

    /// The continuations of a set, in the order in which its core numbers them.
    fn parts(&self, set: &Set) -> &[ContinuationId] {
        &self.set_parts[set.data.first()..][..self.continuations.cores.get(set.data.core()).count]
    }

    /// The items of a set, sorted.
    fn items(&self, set: &Set) -> Vec<Item> {
        self.continuations.cores.get(set.data.core()).items_with(self.parts(set)).collect()
    }

    /// The items of a set before or inside a terminal, predicted ones included.
    fn scans(&mut self, recognizer: &Recognizer, set: SetId) -> Result<Vec<Item>, LimitExceeded> {
        let items = self.items(recognizer.set(set));
        let mut scans = Vec::new();
        self.stepper.scans(&recognizer.form, &items, None, &mut self.continuations, &mut scans)?;
        Ok(scans)
    }

    fn token_matches(
        &mut self,
        recognizer: &Recognizer,
        set: SetId,
    ) -> Result<Vec<TokenMatch>, LimitExceeded> {
        if !recognizer.names_tokens {
            return Ok(Vec::new());
        }
        let scans = self.scans(recognizer, set)?.into_iter();
        let tokens = scans.filter(|item| item.state == ItemState::TOKEN);
        Ok(tokens.filter_map(|item| recognizer.token_match(item).cloned()).collect())
    }

    /// The set after several bytes inside a keyword of a long list or a value, and their number, without the
    /// intermediate sets, which are needed again only if another token ends there. `None` if the shortcut does not apply,
    /// or was taken before from this set: then the intermediate sets are created, so that later reads are lookups.
    fn run(
        &mut self,
        recognizer: &Recognizer,
        id: SetId,
        class: usize,
        bytes: &[u8],
    ) -> Result<Option<(SetId, usize)>, LimitExceeded> {
        let set = recognizer.set(id);
        let core = self.continuations.cores.get(set.data.core());
        if bytes.len() < 2 || core.items.len() != 1 || core.is_frequent() || self.has_scarce_values() {
            return Ok(None);
        }
        let Some(item) = core.items_with(self.parts(set)).next() else { return Ok(None) };
        let first = (id, index_u32(class));
        if self.runs.contains(&first) {
            return Ok(None);
        }
        let (items, mut kernel) = self.scratch.pop().unwrap_or_default();
        kernel.clear();
        let bytes_read = match item.state.is_in_value() {
            true => self.run_value(recognizer, item, bytes, &mut kernel)?,
            false => {
                let continuations = &mut self.continuations;
                let is_run = self.stepper.run(&recognizer.form, item, bytes, continuations, &mut kernel)?;
                if is_run { bytes.len() } else { 0 }
            }
        };
        let next = match bytes_read {
            0 => None,
            _ => self.intern_live(&recognizer.sets, &mut kernel)?,
        };
        if next.is_some() {
            self.runs.insert(first);
        }
        self.scratch.push((items, kernel));
        Ok(next.map(|next| (next, bytes_read)))
    }

    /// The set after a byte, by a trace if one applies.
    fn step(
        &mut self,
        recognizer: &Recognizer,
        set: &Set,
        byte: ByteWithClass,
    ) -> Result<Option<SetId>, LimitExceeded> {
        let core = self.continuations.cores.get(set.data.core());
        if !core.is_frequent() || self.has_scarce_values() {
            return self.step_set(recognizer, set, byte);
        }
        let parts = &self.set_parts[set.data.first()..][..core.count];
        let key = TraceKey { core: set.data.core(), class: index_u32(byte.class) };
        match self.traces.replay(key, parts, &mut self.continuations, &mut self.next)? {
            Replay::Set(core) => {
                let parts = std::mem::take(&mut self.next);
                let next = self.intern_parts(&recognizer.sets, core, &parts);
                self.next = parts;
                next.map(Some)
            }
            Replay::Kernel(mut kernel) => self.intern(&recognizer.sets, &mut kernel).map(Some),
            Replay::Dead => Ok(None),
            Replay::None => self.step_set(recognizer, set, byte),
            Replay::Unknown => {
                let numbered = self.continuations.cores.get(set.data.core()).items_with_numbers();
                let mut recording = Recorder::new(&mut self.continuations, parts);
                let mut recorded = Kernel::default();
                self.stepper.step(&recognizer.form, &numbered, byte, &mut recording, &mut recorded)?;
                if !self.stepper.value_items.is_empty() {
                    self.traces.exclude(key);
                    return self.step_set(recognizer, set, byte);
                }
                let mut kernel = recording.resolve(&recorded);
                self.traces.record(key, recording, &recorded);
                self.intern_live(&recognizer.sets, &mut kernel)
            }
        }
    }

    /// The set after a byte, computed.
    fn step_set(
        &mut self,
        recognizer: &Recognizer,
        set: &Set,
        byte: ByteWithClass,
    ) -> Result<Option<SetId>, LimitExceeded> {
        let (mut items, mut kernel) = self.scratch.pop().unwrap_or_default();
        items.clear();
        let core = self.continuations.cores.get(set.data.core());
        items.extend(core.items_with(self.parts(set)));
        kernel.clear();
        let continuations = &mut self.continuations;
        self.stepper.step(&recognizer.form, &items, byte, continuations, &mut kernel)?;
        if !self.stepper.value_items.is_empty() {
            self.step_values(recognizer, byte, &mut kernel)?;
        }
        if self.has_scarce_values() {
            self.retain_viable(recognizer, &mut kernel)?;
        }
        let next = self.intern_live(&recognizer.sets, &mut kernel);
        self.scratch.push((items, kernel));
        next
    }

    fn intern_live(&mut self, sets: &Sets, kernel: &mut Kernel) -> Result<Option<SetId>, LimitExceeded> {
        if kernel.is_dead() { Ok(None) } else { self.intern(sets, kernel).map(Some) }
    }

    fn intern(&mut self, sets: &Sets, kernel: &mut Kernel) -> Result<SetId, LimitExceeded> {
        kernel.normalize();
        if kernel.items.len() > self.limits.set_items {
            return Err(LimitExceeded::new("set_items", self.limits.set_items));
        }
        let (core, of_core) = intern_kernel(&mut self.continuations.cores, kernel);
        let mut parts = std::mem::take(&mut self.next);
        parts.clear();
        parts.extend_from_slice(of_core);
        let id = self.intern_parts(sets, core, &parts);
        self.next = parts;
        id
    }

    /// Interns the set with a core and continuations.
    fn intern_parts(
        &mut self,
        sets: &Sets,
        core: CoreId,
        parts: &[ContinuationId],
    ) -> Result<SetId, LimitExceeded> {
        let hash = hash_of(core, parts);
        let interned = self.set_ids.find(hash, |id| {
            let set = sets.get(id);
            set.data.core() == core && self.set_parts[set.data.first()..][..parts.len()] == *parts
        });
        if let Some(id) = interned {
            return Ok(SetId::new(id));
        }
        // Summing up the memory of all parts takes as long as creating a small set.
        if sets.len().is_multiple_of(SETS_PER_MEMORY_CHECK) && self.total_memory() > self.limits.memory_bytes
        {
            return Err(LimitExceeded::new("memory_bytes", self.limits.memory_bytes));
        }
        let of_core = self.continuations.cores.share(core);
        let id = set::push(sets, core, index_u32(self.set_parts.len()), of_core);
        self.set_ids.insert(hash, id.index());
        self.set_parts.extend_from_slice(parts);
        self.set_bytes += Sets::STATE_BYTES;
        Ok(id)
    }
}

/// Number of classes.
fn class_count(classes: &[u8; 256]) -> usize {
    classes.iter().max().map_or(1, |&max| usize::from(max) + 1)
}

/// Makes each of some bytes a class of its own.
fn separate(classes: &mut [u8; 256], bytes: ByteSet) {
    let mut own = [0; 256];
    for (number, byte) in (0..=u8::MAX).zip(bytes.iter()) {
        own[usize::from(byte)] = number.wrapping_add(1);
    }
    refine_classes(classes, &own);
}

/// Separates the bytes that `others` separates.
fn refine_classes(classes: &mut [u8; 256], others: &[u8; 256]) {
    let mut ids: FxHashMap<(u8, u8), u8> = FxHashMap::default();
    for (class, &other) in classes.iter_mut().zip(others) {
        // There are at most as many classes as bytes.
        let next = ids.len() as u8;
        *class = *ids.entry((*class, other)).or_insert(next);
    }
}

fn index_u32(index: usize) -> u32 {
    u32::try_from(index).expect("tables are bounded by Limits, far below 2^31 entries")
}
