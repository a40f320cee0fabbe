//! The recogniser: Earley's algorithm over interned sets.
//!
//! The set reached after a text is a value: the items in progress (completed ones are dropped, predicted ones
//! are implied), each with its continuation. Equal values have one [`SetId`], so "set after one
//! more byte" is a memoised function, and the recogniser turns itself into a lazy DFA on regular parts of a
//! grammar and into a lazy LR automaton on deterministic ones, while it stays a correct Earley recogniser for
//! every context-free grammar.
//!
//! After J. Earley (1970) and J. Leo (1991); that completed items may be dropped once their parents are known
//! is what KBNF calls compaction. [`mod@reference`] holds a plain textbook recogniser, the oracle.
//!
//! Reading a known transition takes no lock. A new one is made under the one lock of the grammar.

mod branches;
mod continuation;
mod describe;
mod effort;
mod kernel;
mod left_corner;
mod prediction;
mod recipe;
pub mod reference;
mod set;
mod shape;
mod stepping;

pub use continuation::ContinuationId;
pub use describe::Expectation;
pub use kernel::SetId;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashSet;

use crate::lowering::{NormalForm, Symbol};
use grammask_automata::Automata;
use grammask_collections::id_table::IdTable;
use grammask_diagnostics::{Deadline, LimitExceeded, Limits};
use grammask_grammar::Terminal;
use grammask_vocabulary::{TokenId, TokenSet};

use continuation::{Content, MakeContinuations};
use kernel::Kernel;
use prediction::{ClassOfByte, Predictor};
use recipe::{Followed, Recipes, Recording};
use set::{Known, Set, Sets};
use shape::{hash_of, intern_kernel};
use stepping::{LimitedState, Stepper};

pub(crate) use branches::Branches;
pub(crate) use continuation::Continuations;
pub(crate) use kernel::{Item, ItemState};
pub(crate) use left_corner::LeftCorners;
pub(crate) use shape::{Shape, ShapeId};

/// New sets between two looks at the memory that is taken.
const SETS_PER_SUM: usize = 8;
/// Bytes that are read under one lock, and between two looks at the clock. `Limits::set_items` bounds the work of each.
const STEPS_PER_CLOCK: usize = 16;

/// One token, as a recogniser reads it when a grammar names tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenEvent {
    /// Its id.
    pub id: TokenId,
    /// Whether it is an ordinary token with text, which `any!` matches.
    pub has_text: bool,
}

/// Which tokens a token terminal matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenMatch {
    /// This one.
    Only(TokenId),
    /// Every ordinary token with text.
    AnyWithText,
    /// Any of these.
    OneOf(Arc<TokenSet>),
}

impl TokenMatch {
    fn matches(&self, event: TokenEvent) -> bool {
        match self {
            Self::Only(id) => *id == event.id,
            Self::AnyWithText => event.has_text,
            Self::OneOf(tokens) => tokens.contains(event.id),
        }
    }
}

/// Recognises texts of one grammar; shared by all that read texts under it.
#[derive(Debug)]
pub struct Recognizer {
    form: Arc<NormalForm>,
    /// What each terminal that is a token matches.
    token_matches: Vec<Option<TokenMatch>>,
    names_tokens: bool,
    counts_tokens: bool,
    /// Bytes that no terminal tells apart have one class.
    class_of_byte: Box<[u8; 256]>,
    /// One byte of each class.
    byte_of_class: Box<[u8]>,
    sets: Sets,
    start: SetId,
    /// Steps that were not known before.
    new_steps: AtomicUsize,
    builder: Mutex<Builder>,
}

/// What is needed to make new sets.
#[derive(Debug)]
struct Builder {
    form: Arc<NormalForm>,
    stepper: Stepper,
    continuations: Continuations,
    recipes: Recipes,
    /// The continuations of all sets.
    set_parts: Vec<ContinuationId>,
    /// Sets by shape and continuations.
    set_ids: IdTable,
    /// Bytes that the sets take.
    set_bytes: usize,
    /// Steps in place of which a run of several was taken: the set, and the class of the first byte.
    runs: FxHashSet<(SetId, u32)>,
    limits: Limits,
    /// Scratch: the continuations of the next set.
    next: Vec<ContinuationId>,
    /// Scratch: the items of the set that a step begins with, and those that it leads to.
    items: Vec<Item>,
    kernel: Kernel,
}

/// The parts of a recogniser from which masks are composed, held under its lock.
pub(crate) struct Machine<'a> {
    pub(crate) form: &'a NormalForm,
    pub(crate) automata: &'a mut Automata,
    pub(crate) continuations: &'a Continuations,
    pub(crate) left_corners: &'a LeftCorners,
    /// State in which each terminal begins.
    pub(crate) starts: &'a [ItemState],
}

impl Recognizer {
    /// A recogniser for a lowered grammar. `token_matches` says what each terminal that is a token matches.
    ///
    /// # Errors
    /// When a limit is passed.
    pub fn new(
        form: impl Into<Arc<NormalForm>>,
        token_matches: Vec<Option<TokenMatch>>,
        limits: &Limits,
    ) -> Result<Self, LimitExceeded> {
        let mut form = form.into();
        if let Some(renewed) = form.renewed()? {
            form = Arc::new(renewed);
        }
        let left_corners = LeftCorners::of(&form, limits.grammar_size)?;
        let mut automata = form.automata.clone();
        let mut limited = Vec::new();
        let mut starts = Vec::with_capacity(form.terminals.len());
        let mut start_states = Vec::with_capacity(form.terminals.len());
        let mut terms = Vec::new();
        for definition in &form.terminals {
            let term = match &definition.terminal {
                Terminal::Literal(bytes) => automata.terms_mut().literal(bytes),
                Terminal::Regular(term) | Terminal::Limited { term, .. } => *term,
                Terminal::Token(_) | Terminal::AnyToken | Terminal::OneOf(_) => {
                    starts.push(ItemState::TOKEN);
                    start_states.push(None);
                    continue;
                }
            };
            terms.push(term);
            // Lowering dropped the terminals that match nothing; one that is left matches something.
            start_states.push(automata.start(term)?);
            let Some(state) = start_states[start_states.len() - 1] else {
                starts.push(ItemState::TOKEN);
                continue;
            };
            starts.push(match definition.terminal {
                Terminal::Limited { tokens, .. } => {
                    limited.push(LimitedState { state, tokens_left: tokens, is_counted: false });
                    ItemState(ItemState::FIRST_LIMITED + index_u32(limited.len() - 1))
                }
                _ => ItemState(index_u32(state.index())),
            });
        }
        let class_of_byte = Box::new(automata.terms().byte_classes(&terms));
        let class_count = class_of_byte.iter().max().map_or(1, |&max| usize::from(max) + 1);
        let mut byte_of_class = vec![0_u8; class_count].into_boxed_slice();
        for byte in (0..=u8::MAX).rev() {
            byte_of_class[usize::from(class_of_byte[usize::from(byte)])] = byte;
        }
        let mut continuations = Continuations::default();
        let at_end = continuations.intern(&Content { ends: true, entries: Vec::new() });
        let mut first = Kernel { ends: form.start_is_nullable, items: Vec::new() };
        first.items.extend(form.start.map(|dot| Item { dot, state: ItemState::FRESH, continuation: at_end }));
        let predictor = Predictor::new(left_corners, starts, start_states, class_count, limits.set_items);
        let mut builder = Builder {
            form: form.clone(),
            stepper: Stepper::new(automata, predictor, limited, limits),
            continuations,
            recipes: Recipes::default(),
            set_parts: Vec::new(),
            set_ids: IdTable::default(),
            set_bytes: 0,
            runs: FxHashSet::default(),
            limits: limits.clone(),
            next: Vec::new(),
            items: Vec::new(),
            kernel: Kernel::default(),
        };
        let sets = Sets::new();
        let start = builder.intern(&sets, &mut first)?;
        Ok(Self {
            counts_tokens: form.counts_tokens(),
            form,
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

    /// The set before any text.
    #[must_use]
    pub fn start(&self) -> SetId {
        self.start
    }

    /// The grammar that is recognised.
    #[must_use]
    pub fn normal_form(&self) -> &NormalForm {
        &self.form
    }

    /// Whether the text that led to `set` is complete.
    #[must_use]
    pub fn is_complete(&self, set: SetId) -> bool {
        self.set(set).ends()
    }

    /// Whether nothing can follow the text that led to `set`.
    #[must_use]
    pub fn is_final(&self, set: SetId) -> bool {
        self.set(set).is_final()
    }

    /// How many sets there are.
    #[must_use]
    pub fn set_count(&self) -> usize {
        self.sets.len()
    }

    /// Bytes that all texts treat alike, as a class per byte.
    #[must_use]
    pub fn class_of_byte(&self) -> &[u8; 256] {
        &self.class_of_byte
    }

    /// One byte of each class.
    #[must_use]
    pub fn byte_of_class(&self) -> &[u8] {
        &self.byte_of_class
    }

    /// An estimate of the memory taken, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.lock().total_memory()
    }

    /// The set after one more byte; `None` if no text goes on so.
    ///
    /// Cost: one table lookup if the step was taken before, by anyone; else in the order of the set's size.
    ///
    /// # Errors
    /// When a limit is passed.
    #[inline]
    pub fn step(&self, set: SetId, byte: u8) -> Result<Option<SetId>, LimitExceeded> {
        match self.known_step(set, byte) {
            Known::Unknown => Ok(self.make_steps(set, &[byte])?.0),
            Known::Dead => Ok(None),
            Known::Set(next) => Ok(Some(next)),
        }
    }

    /// As [`Recognizer::step`], the long way, without looking at what is known: the cross-check.
    ///
    /// # Errors
    /// When a limit is passed.
    pub fn step_the_long_way(&self, set: SetId, byte: u8) -> Result<Option<SetId>, LimitExceeded> {
        let class = usize::from(self.class_of_byte[usize::from(byte)]);
        let mut builder = self.lock();
        builder.step_set(self, self.set(set), ClassOfByte { class, byte })
    }

    /// How many steps were taken that were not known before. Only these take time, so whoever takes many steps
    /// looks at the clock when this has changed.
    #[must_use]
    pub fn new_steps(&self) -> usize {
        self.new_steps.load(Ordering::Relaxed)
    }

    /// How many of the new steps followed a recipe, by which steps from sets that look alike are taken.
    #[must_use]
    pub fn followed_recipes(&self) -> usize {
        self.lock().recipes.followed()
    }

    /// The set after several bytes; `Err` holds the position of the first byte that does not fit.
    ///
    /// # Errors
    /// When a limit is passed.
    pub fn step_all(
        &self,
        set: SetId,
        bytes: &[u8],
        deadline: &Deadline,
    ) -> Result<Result<SetId, usize>, LimitExceeded> {
        let (mut set, mut position) = (set, 0);
        loop {
            while let Some(&byte) = bytes.get(position) {
                match self.known_step(set, byte) {
                    Known::Set(next) => set = next,
                    Known::Dead => return Ok(Err(position)),
                    Known::Unknown => break,
                }
                position += 1;
            }
            if position == bytes.len() {
                return Ok(Ok(set));
            }
            let (next, taken) = self.make_steps(set, &bytes[position..])?;
            position += taken;
            let Some(next) = next else { return Ok(Err(position - 1)) };
            set = next;
            if position < bytes.len() {
                deadline.check()?;
            }
        }
    }

    /// The set after the end of a token, whose bytes led to `set`. Where no terminal counts tokens it is `set`.
    ///
    /// # Errors
    /// When a limit is passed.
    #[inline]
    pub fn end_token(&self, set: SetId) -> Result<Option<SetId>, LimitExceeded> {
        if self.counts_tokens { self.make_end_token(set) } else { Ok(Some(set)) }
    }

    /// The set after a token that is read as a whole, where the grammar names tokens.
    ///
    /// # Errors
    /// When a limit is passed.
    pub fn step_token(&self, set: SetId, event: TokenEvent) -> Result<Option<SetId>, LimitExceeded> {
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
        stepper.resume(&mut kernel, &mut ended, continuations)?;
        builder.intern_live(&self.sets, &mut kernel)
    }

    /// The tokens that `set` can read as a whole.
    ///
    /// # Errors
    /// When a limit is passed.
    pub fn token_matches(&self, set: SetId) -> Result<Vec<TokenMatch>, LimitExceeded> {
        if !self.names_tokens {
            return Ok(Vec::new());
        }
        let scans = self.lock().scans(self, set)?;
        Ok(scans
            .into_iter()
            .filter(|item| item.state == ItemState::TOKEN)
            .filter_map(|item| self.token_match(item).cloned())
            .collect())
    }

    /// The set whose texts go on as those of `left` or of `right` do.
    ///
    /// # Errors
    /// When a limit is passed.
    pub fn union(&self, left: SetId, right: SetId) -> Result<SetId, LimitExceeded> {
        if left == right {
            return Ok(left);
        }
        let (left, right) = (self.set(left), self.set(right));
        let mut builder = self.lock();
        let mut kernel = Kernel { ends: left.ends() || right.ends(), items: builder.items(left) };
        kernel.items.extend(builder.items(right));
        builder.intern(&self.sets, &mut kernel)
    }

    /// Runs `compose` with the items of a set's kernel and the parts of the recogniser.
    pub(crate) fn compose<R>(&self, set: SetId, compose: impl FnOnce(&[Item], Machine<'_>) -> R) -> R {
        let mut builder = self.lock();
        let items = builder.items(self.set(set));
        let Builder { stepper: Stepper { automata, predictor, .. }, continuations, .. } = &mut *builder;
        let (left_corners, starts) = predictor.parts();
        let machine = Machine { form: &self.form, automata, continuations, left_corners, starts };
        compose(&items, machine)
    }

    /// Runs `look` with a set's shape, its continuations by number, and what these are.
    pub(crate) fn look<R>(
        &self,
        set: SetId,
        look: impl FnOnce((ShapeId, &[ContinuationId]), &Continuations) -> R,
    ) -> R {
        let builder = self.lock();
        let set = self.set(set);
        look((set.shape(), builder.parts(set)), &builder.continuations)
    }

    /// Whether some terminal counts tokens.
    #[must_use]
    pub fn counts_tokens(&self) -> bool {
        self.counts_tokens
    }

    /// The only byte that can follow, if there is only one.
    ///
    /// # Errors
    /// When a limit is passed.
    pub fn only_byte(&self, set: SetId) -> Result<Option<u8>, LimitExceeded> {
        let mut only = None;
        for (class, &byte) in self.byte_of_class.iter().enumerate() {
            if self.step(set, byte)?.is_some() {
                let members = self.class_of_byte.iter().filter(|&&of| usize::from(of) == class).count();
                if members > 1 || only.replace(byte).is_some() {
                    return Ok(None);
                }
            }
        }
        Ok(only)
    }

    fn set(&self, id: SetId) -> &Set {
        self.sets.get(id)
    }

    fn lock(&self) -> MutexGuard<'_, Builder> {
        // A builder that a panicking thread left is still consistent: tables only grow, by complete entries.
        self.builder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn token_match(&self, item: Item) -> Option<&TokenMatch> {
        match self.form.symbol_after(item.dot) {
            Symbol::Terminal(id) => self.token_matches[id.index()].as_ref(),
            Symbol::Nonterminal(_) => None,
        }
    }

    #[inline]
    fn known_step(&self, set: SetId, byte: u8) -> Known {
        self.set(set).after(usize::from(self.class_of_byte[usize::from(byte)]))
    }

    /// The set after as many of the bytes as are read under one lock, and how many these are. The last of them is read in
    /// vain if there is no set.
    #[cold]
    fn make_steps(&self, id: SetId, bytes: &[u8]) -> Result<(Option<SetId>, usize), LimitExceeded> {
        let mut builder = self.lock();
        let (mut id, mut set) = (id, self.set(id));
        let mut taken = 0;
        let bytes = &bytes[..bytes.len().min(STEPS_PER_CLOCK)];
        while let Some(&byte) = bytes.get(taken) {
            let class = usize::from(self.class_of_byte[usize::from(byte)]);
            let next = match set.after(class) {
                Known::Unknown => {
                    self.count_step();
                    if let Some(last) = builder.run(self, id, class, &bytes[taken..])? {
                        return Ok((Some(last), bytes.len()));
                    }
                    let next = builder.step(self, set, ClassOfByte { class, byte })?;
                    builder.set_bytes += set.keep(class, next, self.byte_of_class.len());
                    next
                }
                Known::Dead => None,
                Known::Set(next) => Some(next),
            };
            taken += 1;
            let Some(next) = next else { return Ok((None, taken)) };
            (id, set) = (next, self.set(next));
        }
        Ok((Some(id), taken))
    }

    /// Counts a new step; the lock is held.
    fn count_step(&self) {
        self.new_steps.store(self.new_steps().wrapping_add(1), Ordering::Relaxed);
    }

    fn make_end_token(&self, set: SetId) -> Result<Option<SetId>, LimitExceeded> {
        // The end of a token is a class beyond those of the bytes.
        let class = self.byte_of_class.len();
        match self.set(set).after(class) {
            Known::Unknown => {}
            Known::Dead => return Ok(None),
            Known::Set(next) => return Ok(Some(next)),
        }
        let mut builder = self.lock();
        self.count_step();
        let mut items = builder.items(self.set(set));
        items.retain_mut(|item| {
            if item.state == ItemState::FRESH {
                return true;
            }
            let state = builder.stepper.end_token(item.state);
            state.inspect(|&state| item.state = state).is_some()
        });
        let mut kernel = Kernel { ends: self.is_complete(set), items };
        let next = builder.intern_live(&self.sets, &mut kernel)?;
        builder.set_bytes += self.set(set).keep(class, next, class);
        Ok(next)
    }
}

impl Builder {
    fn total_memory(&self) -> usize {
        self.set_bytes
            + self.form.memory_bytes()
            + self.set_parts.capacity() * size_of::<ContinuationId>()
            + self.set_ids.memory_bytes()
            + self.runs.capacity() * (size_of::<(SetId, u32)>() + 1)
            + self.stepper.memory_bytes()
            + self.continuations.memory_bytes()
            + self.recipes.memory_bytes()
    }

    /// The continuations of a set, by number.
    fn parts(&self, set: &Set) -> &[ContinuationId] {
        &self.set_parts[set.first()..][..self.continuations.shapes.get(set.shape()).count]
    }

    /// The items of a set, sorted.
    fn items(&self, set: &Set) -> Vec<Item> {
        self.continuations.shapes.get(set.shape()).items_with(self.parts(set)).collect()
    }

    /// All items of a set before or inside a terminal.
    fn scans(&mut self, recognizer: &Recognizer, set: SetId) -> Result<Vec<Item>, LimitExceeded> {
        let items = self.items(recognizer.set(set));
        let mut scans = Vec::new();
        self.stepper.scans(&recognizer.form, &items, None, &mut self.continuations, &mut scans)?;
        Ok(scans)
    }

    /// The set after several bytes, without the sets between: inside a word of a long list these are needed once, if no other token
    /// ends there. Where that was done before, the sets are made, so that the next time takes some lookups.
    fn run(
        &mut self,
        recognizer: &Recognizer,
        id: SetId,
        class: usize,
        bytes: &[u8],
    ) -> Result<Option<SetId>, LimitExceeded> {
        let set = recognizer.set(id);
        let shape = self.continuations.shapes.get(set.shape());
        if bytes.len() < 2 || shape.items.len() != 1 || shape.is_shared() {
            return Ok(None);
        }
        let Some(item) = shape.items_with(self.parts(set)).next() else { return Ok(None) };
        let first = (id, index_u32(class));
        if self.runs.contains(&first) {
            return Ok(None);
        }
        let mut kernel = std::mem::take(&mut self.kernel);
        kernel.clear();
        let continuations = &mut self.continuations;
        let next = match self.stepper.run(&recognizer.form, item, bytes, continuations, &mut kernel)? {
            true => {
                self.runs.insert(first);
                self.intern_live(&recognizer.sets, &mut kernel)?
            }
            false => None,
        };
        self.kernel = kernel;
        Ok(next)
    }

    /// The set after a byte.
    fn step(
        &mut self,
        recognizer: &Recognizer,
        set: &Set,
        byte: ClassOfByte,
    ) -> Result<Option<SetId>, LimitExceeded> {
        let shape = self.continuations.shapes.get(set.shape());
        if !shape.is_shared() {
            return self.step_set(recognizer, set, byte);
        }
        let parts = &self.set_parts[set.first()..][..shape.count];
        let key = (set.shape(), byte.class);
        match self.recipes.follow(key, parts, &mut self.continuations, &mut self.next)? {
            Followed::Set(shape) => {
                let parts = std::mem::take(&mut self.next);
                let next = self.intern_parts(&recognizer.sets, shape, &parts);
                self.next = parts;
                next.map(Some)
            }
            Followed::Kernel(mut kernel) => self.intern(&recognizer.sets, &mut kernel).map(Some),
            Followed::Dead => Ok(None),
            Followed::None => self.step_set(recognizer, set, byte),
            Followed::Unknown => {
                let numbered = self.continuations.shapes.get(set.shape()).numbered_items();
                let mut recording = Recording::new(&mut self.continuations, parts);
                let mut written = Kernel::default();
                self.stepper.step(&recognizer.form, &numbered, byte, &mut recording, &mut written)?;
                let mut kernel = recording.resolve(&written);
                self.recipes.keep(key, recording, &written);
                self.intern_live(&recognizer.sets, &mut kernel)
            }
        }
    }

    /// The set that a byte leads to, the long way.
    fn step_set(
        &mut self,
        recognizer: &Recognizer,
        set: &Set,
        byte: ClassOfByte,
    ) -> Result<Option<SetId>, LimitExceeded> {
        let (mut items, mut kernel) = (std::mem::take(&mut self.items), std::mem::take(&mut self.kernel));
        items.clear();
        let shape = self.continuations.shapes.get(set.shape());
        items.extend(shape.items_with(self.parts(set)));
        kernel.clear();
        let continuations = &mut self.continuations;
        self.stepper.step(&recognizer.form, &items, byte, continuations, &mut kernel)?;
        let next = self.intern_live(&recognizer.sets, &mut kernel);
        (self.items, self.kernel) = (items, kernel);
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
        let (shape, of_shape) = intern_kernel(&mut self.continuations.shapes, kernel);
        let mut parts = std::mem::take(&mut self.next);
        parts.clear();
        parts.extend_from_slice(of_shape);
        let id = self.intern_parts(sets, shape, &parts);
        self.next = parts;
        id
    }

    /// The set of this shape with these continuations.
    fn intern_parts(
        &mut self,
        sets: &Sets,
        shape: ShapeId,
        parts: &[ContinuationId],
    ) -> Result<SetId, LimitExceeded> {
        let hash = hash_of(shape, parts);
        let known = self.set_ids.find(hash, |id| {
            let known = sets.get(SetId::new(id));
            known.shape() == shape && self.set_parts[known.first()..][..parts.len()] == *parts
        });
        if let Some(known) = known {
            return Ok(SetId::new(known));
        }
        // To add up what all parts take costs as much as to make a small set.
        if sets.len().is_multiple_of(SETS_PER_SUM) && self.total_memory() > self.limits.memory_bytes {
            return Err(LimitExceeded::new("memory_bytes", self.limits.memory_bytes));
        }
        let of_shape = self.continuations.shapes.share(shape);
        let id = sets.push(shape, index_u32(self.set_parts.len()), of_shape);
        self.set_ids.insert(hash, id.index());
        self.set_parts.extend_from_slice(parts);
        self.set_bytes += Set::BYTES;
        Ok(id)
    }
}

fn index_u32(index: usize) -> u32 {
    u32::try_from(index).expect("tables are bounded by Limits, far below 2^31 entries")
}
