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

mod continuation;
mod describe;
mod effort;
mod kernel;
mod left_corner;
mod prediction;
pub mod reference;

pub use continuation::ContinuationId;
pub use describe::Expectation;
pub use kernel::SetId;

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use crate::append_only::AppendOnly;
use crate::automata::{Automata, StateId};
use crate::grammar::Terminal;
use crate::lowering::{NormalForm, Symbol};
use crate::vocabulary::{TokenId, TokenSet};
use crate::{Deadline, LimitExceeded, Limits};

use continuation::Content;
use effort::Effort;
use kernel::Kernel;
use prediction::{ClassOfByte, Predictor};

pub(crate) use continuation::Continuations;
pub(crate) use kernel::{Item, ItemState};
pub(crate) use left_corner::LeftCorners;

/// A transition that nobody has asked for yet.
const UNKNOWN: u32 = u32::MAX;
/// A transition into nothing.
const DEAD: u32 = u32::MAX - 1;

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
    counts_tokens: bool,
    /// Bytes that no terminal tells apart have one class.
    class_of_byte: Box<[u8; 256]>,
    /// One byte of each class.
    byte_of_class: Box<[u8]>,
    sets: AppendOnly<Set>,
    start: SetId,
    /// Steps that were not known before.
    new_steps: AtomicUsize,
    builder: Mutex<Builder>,
}

/// An interned Earley set.
#[derive(Debug)]
struct Set {
    kernel: Arc<Kernel>,
    /// The set after a byte, by class of the byte.
    row: OnceLock<Box<[AtomicU32]>>,
    /// The set after the end of a token; only where a terminal counts tokens.
    after_token: AtomicU32,
}

/// What is needed to make new sets.
#[derive(Debug)]
struct Builder {
    form: Arc<NormalForm>,
    automata: Automata,
    continuations: Continuations,
    predictor: Predictor,
    set_ids: FxHashMap<Arc<Kernel>, SetId>,
    limited: Vec<LimitedState>,
    limited_ids: FxHashMap<LimitedState, u32>,
    memory_bytes: usize,
    limits: Limits,
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

/// The state of a terminal that counts tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct LimitedState {
    state: StateId,
    /// Tokens that may still begin to contribute.
    tokens_left: u32,
    /// Whether the token that is being read has contributed already.
    is_counted: bool,
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
        let limited_ids =
            limited.iter().enumerate().map(|(index, &state)| (state, index_u32(index))).collect();
        let mut builder = Builder {
            form: form.clone(),
            automata,
            continuations,
            predictor: Predictor::new(left_corners, starts, start_states, class_count, limits.set_items),
            set_ids: FxHashMap::default(),
            limited,
            limited_ids,
            memory_bytes: 0,
            limits: limits.clone(),
        };
        let sets = AppendOnly::new();
        let start = builder.intern(&sets, first)?;
        let start = SetId(start);
        Ok(Self {
            counts_tokens: form.counts_tokens(),
            form,
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
        self.set(set).kernel.ends
    }

    /// Whether nothing can follow the text that led to `set`.
    #[must_use]
    pub fn is_final(&self, set: SetId) -> bool {
        self.set(set).kernel.items.is_empty()
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
        let class = usize::from(self.class_of_byte[usize::from(byte)]);
        let known = match self.set(set).row.get() {
            Some(row) => row[class].load(Ordering::Acquire),
            None => UNKNOWN,
        };
        match known {
            UNKNOWN => self.make_step(set, byte, class),
            DEAD => Ok(None),
            next => Ok(Some(SetId(next))),
        }
    }

    /// How many steps were taken that were not known before. Only these take time, so whoever takes many steps
    /// looks at the clock when this has changed.
    #[must_use]
    pub fn new_steps(&self) -> usize {
        self.new_steps.load(Ordering::Relaxed)
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
        let mut set = set;
        let mut new_steps = self.new_steps();
        for (position, &byte) in bytes.iter().enumerate() {
            match self.step(set, byte)? {
                Some(next) => set = next,
                None => return Ok(Err(position)),
            }
            if new_steps != self.new_steps() {
                new_steps = self.new_steps();
                deadline.check()?;
            }
        }
        Ok(Ok(set))
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
        if self.token_matches.iter().all(Option::is_none) {
            return Ok(None);
        }
        let mut builder = self.lock();
        let mut kernel = Kernel::default();
        let mut ended = Vec::new();
        for item in builder.scans(self, set, None)? {
            if item.state == ItemState::TOKEN
                && self.token_match(item).is_some_and(|token| token.matches(event))
            {
                builder.advance(&self.form, &mut kernel, item, &mut ended);
            }
        }
        builder.resume(&mut kernel, ended)?;
        builder.intern_live(&self.sets, kernel)
    }

    /// The tokens that `set` can read as a whole.
    ///
    /// # Errors
    /// When a limit is passed.
    pub fn token_matches(&self, set: SetId) -> Result<Vec<TokenMatch>, LimitExceeded> {
        if self.token_matches.iter().all(Option::is_none) {
            return Ok(Vec::new());
        }
        let scans = self.lock().scans(self, set, None)?;
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
        let (left, right) = (&self.set(left).kernel, &self.set(right).kernel);
        let mut kernel = Kernel::clone(left);
        kernel.ends |= right.ends;
        kernel.items.extend_from_slice(&right.items);
        self.lock().intern(&self.sets, kernel).map(SetId)
    }

    /// Runs `compose` with the items of a set's kernel and the parts of the recogniser.
    pub(crate) fn compose<R>(&self, set: SetId, compose: impl FnOnce(&[Item], Machine<'_>) -> R) -> R {
        let mut builder = self.lock();
        let Builder { automata, continuations, predictor, .. } = &mut *builder;
        let (left_corners, starts) = predictor.parts();
        let machine = Machine { form: &self.form, automata, continuations, left_corners, starts };
        compose(&self.set(set).kernel.items, machine)
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
        self.sets.get(id.index())
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

    #[cold]
    fn make_step(&self, set: SetId, byte: u8, class: usize) -> Result<Option<SetId>, LimitExceeded> {
        self.new_steps.fetch_add(1, Ordering::Relaxed);
        let mut builder = self.lock();
        let mut kernel = Kernel::default();
        let mut ended = Vec::new();
        for item in builder.scans(self, set, Some(ClassOfByte { class, byte }))? {
            let Some((state, is_accepting, continues)) = builder.step_terminal(item.state, byte)? else {
                continue;
            };
            if is_accepting {
                builder.advance(&self.form, &mut kernel, item, &mut ended);
            }
            if continues {
                kernel.items.push(Item { state, ..item });
            }
        }
        builder.resume(&mut kernel, ended)?;
        let next = builder.intern_live(&self.sets, kernel)?;
        let row = self.set(set).row.get_or_init(|| {
            builder.memory_bytes += self.byte_of_class.len() * size_of::<AtomicU32>();
            self.byte_of_class.iter().map(|_| AtomicU32::new(UNKNOWN)).collect()
        });
        row[class].store(next.map_or(DEAD, |next| next.0), Ordering::Release);
        Ok(next)
    }

    fn make_end_token(&self, set: SetId) -> Result<Option<SetId>, LimitExceeded> {
        match self.set(set).after_token.load(Ordering::Acquire) {
            UNKNOWN => {}
            DEAD => return Ok(None),
            next => return Ok(Some(SetId(next))),
        }
        self.new_steps.fetch_add(1, Ordering::Relaxed);
        let mut builder = self.lock();
        let source = &self.set(set).kernel;
        let mut kernel = Kernel { ends: source.ends, items: Vec::with_capacity(source.items.len()) };
        for item in &source.items {
            let state = match item.state {
                ItemState::FRESH => item.state,
                state => match builder.end_token(state) {
                    Some(state) => state,
                    None => continue,
                },
            };
            kernel.items.push(Item { state, ..*item });
        }
        let next = builder.intern_live(&self.sets, kernel)?;
        self.set(set).after_token.store(next.map_or(DEAD, |next| next.0), Ordering::Release);
        Ok(next)
    }
}

impl Builder {
    fn total_memory(&self) -> usize {
        self.memory_bytes
            + self.form.memory_bytes()
            + self.automata.memory_bytes()
            + self.continuations.memory_bytes()
            + self.predictor.memory_bytes()
    }

    /// All items of a set before or inside a terminal; with a byte only those that it can begin or continue, and
    /// possibly some more.
    fn scans(
        &mut self,
        recognizer: &Recognizer,
        set: SetId,
        byte: Option<ClassOfByte>,
    ) -> Result<Vec<Item>, LimitExceeded> {
        let kernel = &recognizer.set(set).kernel;
        // Fresh items sort last, because their state has the highest number.
        let fresh = kernel.items.partition_point(|item| item.state != ItemState::FRESH);
        let (inside, fresh) = kernel.items.split_at(fresh);
        let fresh = fresh.iter().map(|item| (item.dot, item.continuation));
        let mut scans = inside.to_vec();
        let mut effort = Effort::new(&self.limits);
        let grammar = (&*recognizer.form, &mut self.automata, &mut self.continuations);
        self.predictor.predict(grammar, fresh, byte, &mut effort, &mut scans)?;
        Ok(scans)
    }

    /// Moves the dot of an item over its terminal, which is done. What follows the item's production, if it ends
    /// there, is added to `ended`.
    fn advance(&self, form: &NormalForm, kernel: &mut Kernel, item: Item, ended: &mut Vec<ContinuationId>) {
        let advance = form.advance(item.dot);
        let fresh = |dot| Item { dot, state: ItemState::FRESH, continuation: item.continuation };
        kernel.items.extend(advance.next.map(fresh));
        if advance.completes {
            ended.push(item.continuation);
        }
    }

    /// Adds what the continuations in `ended` hold.
    fn resume(&self, kernel: &mut Kernel, mut ended: Vec<ContinuationId>) -> Result<(), LimitExceeded> {
        let mut effort = Effort::new(&self.limits);
        ended.sort_unstable();
        ended.dedup();
        for continuation in ended {
            let continuation = self.continuations.get(continuation);
            effort.spend(continuation.entries.len())?;
            kernel.ends |= continuation.ends;
            let fresh = |&(dot, continuation): &_| Item { dot, state: ItemState::FRESH, continuation };
            kernel.items.extend(continuation.entries.iter().map(fresh));
        }
        Ok(())
    }

    /// The state of a terminal after a byte, whether its text can end there and whether it can go on.
    fn step_terminal(
        &mut self,
        state: ItemState,
        byte: u8,
    ) -> Result<Option<(ItemState, bool, bool)>, LimitExceeded> {
        if state == ItemState::TOKEN {
            return Ok(None);
        }
        let (automaton_state, limited) = match state.0.checked_sub(ItemState::FIRST_LIMITED) {
            None => (StateId::new(state.0 as usize), None),
            Some(index) => {
                let mut limited = self.limited[index as usize];
                if !limited.is_counted {
                    match limited.tokens_left.checked_sub(1) {
                        Some(left) => limited.tokens_left = left,
                        None => return Ok(None),
                    }
                    limited.is_counted = true;
                }
                (limited.state, Some(limited))
            }
        };
        let Some(next) = self.automata.step(automaton_state, byte)? else { return Ok(None) };
        let is_accepting = self.automata.is_accepting(next);
        let continues = self.automata.continues(next)?;
        let state = match limited {
            None => ItemState(index_u32(next.index())),
            Some(limited) => self.limited_state(LimitedState { state: next, ..limited }),
        };
        Ok(Some((state, is_accepting, continues)))
    }

    /// The state of a terminal after the end of a token; `None` if it has no token left.
    fn end_token(&mut self, state: ItemState) -> Option<ItemState> {
        let Some(index) = state.0.checked_sub(ItemState::FIRST_LIMITED) else { return Some(state) };
        let limited = self.limited[index as usize];
        (limited.tokens_left > 0).then(|| self.limited_state(LimitedState { is_counted: false, ..limited }))
    }

    fn limited_state(&mut self, limited: LimitedState) -> ItemState {
        let next = index_u32(self.limited.len());
        let index = *self.limited_ids.entry(limited).or_insert(next);
        if index == next {
            self.limited.push(limited);
        }
        ItemState(ItemState::FIRST_LIMITED + index)
    }

    fn intern_live(
        &mut self,
        sets: &AppendOnly<Set>,
        kernel: Kernel,
    ) -> Result<Option<SetId>, LimitExceeded> {
        if kernel.is_dead() { Ok(None) } else { self.intern(sets, kernel).map(|id| Some(SetId(id))) }
    }

    fn intern(&mut self, sets: &AppendOnly<Set>, mut kernel: Kernel) -> Result<u32, LimitExceeded> {
        kernel.normalize();
        if let Some(id) = self.set_ids.get(&kernel) {
            return Ok(id.0);
        }
        if kernel.items.len() > self.limits.set_items {
            return Err(LimitExceeded::new("set_items", self.limits.set_items));
        }
        if self.total_memory() > self.limits.memory_bytes {
            return Err(LimitExceeded::new("memory_bytes", self.limits.memory_bytes));
        }
        self.memory_bytes += kernel.items.len() * size_of::<Item>() + size_of::<Set>() + 96;
        let kernel = Arc::new(kernel);
        let set = Set { kernel: kernel.clone(), row: OnceLock::new(), after_token: AtomicU32::new(UNKNOWN) };
        let id = SetId::new(sets.push(set));
        self.set_ids.insert(kernel, id);
        Ok(id.0)
    }
}

fn index_u32(index: usize) -> u32 {
    u32::try_from(index).expect("tables are bounded by Limits, far below 2^31 entries")
}
