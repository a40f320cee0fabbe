//! The memo tables of shortest completions: for the items of each core, and for each continuation.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::lowering::NormalForm;
use grammask_automata::{Automata, ByteSet, ShortestWords, StateId};
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{CompletionStep, Reach, ShortestCompletion, TokenGrowths, TokenMatch};
use grammask_vocabulary::{TokenId, Vocabulary};

use super::super::continuation::{ContinuationId, Continuations};
use super::super::embedded::{EmbeddedState, EmbeddedStates};
use super::super::kernel::{Item, ItemState};
use super::super::left_corner::LeftCorners;
use super::super::set_core::CoreId;
use super::super::stepping::TokenLimitedState;
use super::bounds::CompletionBounds;
use super::continuations::{ContinuationLengths, RestLengths};
use super::dots::{DotMemo, DotReader};
use super::shortest::{FirstStep, Length, Shortest};
use super::symbols::{ShortestTexts, ValueTexts};

/// The memo tables of shortest completions.
#[derive(Debug, Default)]
pub(in crate::recognizer) struct CompletionTables {
    pub(super) by_texts: FxHashMap<CountedTexts, Box<Completions>>,
    /// Growths by tokens; `None` until they are asked for, `Some(None)` if they are not known.
    pub(super) growths: Option<Option<Arc<TokenGrowths>>>,
}

/// The texts that completions consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CountedTexts {
    /// The length that is added to each value.
    pub(super) added: Length,
    /// The shortest text of an embedded grammar whose engine is still to be made; `None` if the engine is made for it.
    pub(super) pending: Option<Shortest>,
    /// An upper bound of the texts bound to names, where lengths are numbers of tokens (see [`finishing_tokens`]).
    pub(super) tokens_of_bound: Option<Length>,
}

impl CountedTexts {
    /// The shortest texts.
    pub(super) const SHORTEST: Self = Self { added: Length::ZERO, pending: None, tokens_of_bound: None };
}

/// The memo tables of shortest completions, for one vocabulary.
#[derive(Debug)]
pub(super) struct Completions {
    pub(super) words: ShortestWords,
    /// Whether lengths are numbers of tokens.
    pub(super) are_tokens: bool,
    /// The numbers of tokens that spell the shortest words.
    pub(super) spelled_words: FxHashMap<StateId, Shortest>,
    /// Whether every byte is a token by itself.
    pub(super) spells_all_bytes: bool,
    pub(super) texts: ShortestTexts,
    pub(super) dots: DotMemo,
    pub(super) continuations: ContinuationLengths,
    /// For each core, by number of continuation, the completions of the items with it up to the continuation.
    pub(super) cores: FxHashMap<CoreId, Box<[CoreCompletion]>>,
    pub(super) core_entries: usize,
    /// By the reach on which the bounds depend; `None` for bounds over all sets.
    pub(super) bounds: FxHashMap<Option<Reach>, CompletionBounds>,
    /// See [`Builder::counted_terminals_can_end`]; `None` before the first call.
    pub(super) counted_can_end: Option<bool>,
}

/// The completions of the items of a core that have one continuation, up to the continuation.
#[derive(Clone, Copy, Debug)]
pub(super) struct CoreCompletion {
    pub(super) shortest: Shortest,
    /// The length of the longest of the items' shortest completions.
    pub(super) longest: Length,
}

/// The parts of a recogniser from which completions are computed.
pub(super) struct Parts<'a> {
    pub(super) form: &'a NormalForm,
    pub(super) automata: &'a mut Automata,
    pub(super) embedded: &'a EmbeddedStates,
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) limited: &'a [TokenLimitedState],
    pub(super) left_corners: &'a LeftCorners,
    /// The initial state of each terminal.
    pub(super) starts: &'a [ItemState],
    pub(super) continuations: &'a Continuations,
    /// The continuations of all sets.
    pub(super) set_parts: &'a [ContinuationId],
    pub(super) token_matches: &'a [Option<TokenMatch>],
    /// See [`CountedTexts::pending`].
    pub(super) pending: Option<Shortest>,
    pub(super) deadline: &'a Deadline,
}

impl CompletionTables {
    /// Estimated memory in bytes.
    pub(in crate::recognizer) fn memory_bytes(&self) -> usize {
        let growths = self.growths.iter().flatten().map(|growths| growths.memory_bytes());
        self.by_texts.values().map(|completions| completions.memory_bytes()).chain(growths).sum()
    }
}

impl Completions {
    /// The maximum length of the completions of an item inside an embedded grammar up to the item's continuation, over all
    /// states of that grammar within reach; `None` for other items.
    pub(super) fn inside_embedded(
        &mut self,
        item: Item,
        reach: Reach,
        parts: &mut Parts<'_>,
    ) -> Result<Option<Length>, LimitExceeded> {
        let state = parts.state_of(item.state).and_then(|state| parts.embedded.get(state));
        let Some(EmbeddedState { grammar, set }) = state else { return Ok(None) };
        let engine = parts.embedded.engine(grammar);
        let inside = engine.longest_completion_after(set, reach, parts.vocabulary, parts.deadline)?;
        let mut dots = DotReader { form: parts.form, texts: &mut self.texts, memo: &mut self.dots };
        Ok(Some(length_of(inside).plus(dots.get(item.dot).after_symbol)))
    }

    /// The tables. Lengths are numbers of tokens if values have names.
    pub(super) fn new(parts: &mut Parts<'_>, values: ValueTexts) -> Result<Self, LimitExceeded> {
        let vocabulary = parts.vocabulary;
        let bytes = vocabulary.single_bytes();
        let mut completions = Self {
            words: ShortestWords::new(bytes),
            are_tokens: matches!(values, ValueTexts::Named(_)),
            spelled_words: FxHashMap::default(),
            spells_all_bytes: bytes == ByteSet::ALL,
            texts: ShortestTexts::none(),
            dots: DotMemo::default(),
            continuations: ContinuationLengths::default(),
            cores: FxHashMap::default(),
            core_entries: 0,
            bounds: FxHashMap::default(),
            counted_can_end: None,
        };
        // The initial states of values follow those of the terminals.
        let count = parts.form.terminals().len();
        let mut terminals = Vec::with_capacity(count);
        for index in 0..count {
            terminals.push(match parts.state_of(parts.starts[index]) {
                Some(state) => completions.word(state, parts)?,
                None => {
                    match parts.token_matches[index].as_ref().and_then(|of| first_token(of, vocabulary)) {
                        Some(token) => Shortest { length: Length::new(1), first: FirstStep::token(token) },
                        None => Shortest::NONE,
                    }
                }
            });
        }
        completions.texts = ShortestTexts::new(parts.form, terminals.into(), values, parts.deadline)?;
        Ok(completions)
    }

    /// The shortest nonempty word of a state.
    fn word(&mut self, state: ItemState, parts: &mut Parts<'_>) -> Result<Shortest, LimitExceeded> {
        match state.automaton_state() {
            Some(state) if self.are_tokens => self.spelled_word(state, parts),
            _ => shortest_word(&mut self.words, state, parts),
        }
    }

    /// Computes the completions of the items of a core.
    pub(super) fn add_core(&mut self, core: CoreId, parts: &mut Parts<'_>) -> Result<(), LimitExceeded> {
        if self.cores.contains_key(&core) {
            return Ok(());
        }
        let of_core = parts.continuations.core(core);
        let none = CoreCompletion { shortest: Shortest::NONE, longest: Length::ZERO };
        let mut completions = vec![none; of_core.count];
        for (position, item) in of_core.items_with_numbers().into_iter().enumerate() {
            if position % 256 == 255 {
                parts.deadline.check()?;
            }
            let CoreCompletion { shortest, longest } = self.item(item, parts)?;
            let completion = &mut completions[item.continuation.index()];
            completion.shortest = completion.shortest.min(shortest);
            completion.longest = completion.longest.max(longest);
        }
        self.core_entries += completions.len();
        self.cores.insert(core, completions.into());
        Ok(())
    }

    /// The shortest text from an item to the end of its production.
    pub(super) fn item(
        &mut self,
        item: Item,
        parts: &mut Parts<'_>,
    ) -> Result<CoreCompletion, LimitExceeded> {
        if item.state.is_in_value() {
            // `with_values` adds the items inside values.
            return Ok(CoreCompletion { shortest: Shortest::NONE, longest: Length::ZERO });
        }
        let mut dots = DotReader { form: parts.form, texts: &self.texts, memo: &mut self.dots };
        let dot = dots.get(item.dot);
        let state = parts.state_of(item.state);
        // The word of an embedded grammar that is complete has ended in another item of the set.
        if let Some(EmbeddedState { grammar, set }) = state.and_then(|state| parts.embedded.get(state))
            && parts.embedded.engine(grammar).is_complete(set)
        {
            return Ok(CoreCompletion { shortest: Shortest::NONE, longest: dot.after_symbol });
        }
        let shortest = match state {
            Some(state) => self.word(state, parts)?.then(dot.after_symbol),
            None => dot.from,
        };
        Ok(CoreCompletion { shortest, longest: shortest.length })
    }

    /// The lengths of the texts of a continuation.
    pub(super) fn rest(
        &mut self,
        continuation: ContinuationId,
        parts: &Parts<'_>,
    ) -> Result<RestLengths, LimitExceeded> {
        let dots = DotReader { form: parts.form, texts: &self.texts, memo: &mut self.dots };
        self.continuations.get(continuation, parts.continuations, dots, parts.deadline)
    }

    fn memory_bytes(&self) -> usize {
        self.words.memory_bytes()
            + self.spelled_words.capacity() * (size_of::<(StateId, Shortest)>() + 1)
            + self.texts.memory_bytes()
            + self.dots.memory_bytes()
            + self.continuations.memory_bytes()
            + self.cores.capacity() * (size_of::<(CoreId, Box<[CoreCompletion]>)>() + 1)
            + self.core_entries * size_of::<CoreCompletion>()
    }
}

impl Parts<'_> {
    /// The state of an item inside a terminal, or of the beginning of one, as if it did not count tokens; `None` if it
    /// is fresh, before a token terminal, or before or inside a value.
    pub(super) fn state_of(&self, state: ItemState) -> Option<ItemState> {
        if state == ItemState::FRESH || state == ItemState::TOKEN || state.is_in_value() {
            return None;
        }
        match state.0.checked_sub(ItemState::FIRST_LIMITED) {
            None => Some(state),
            Some(index) => Some(self.limited[index as usize].state),
        }
    }
}

/// The shortest nonempty word of a state.
fn shortest_word(
    words: &mut ShortestWords,
    state: ItemState,
    parts: &mut Parts<'_>,
) -> Result<Shortest, LimitExceeded> {
    if let Some(state) = parts.embedded.get(state) {
        return shortest_text(words.bytes(), state, parts);
    }
    let Some(state) = state.automaton_state() else { return Ok(Shortest::NONE) };
    let word = words.shortest_word(parts.automata, state, parts.deadline)?;
    Ok(word.map_or(Shortest::NONE, |word| Shortest {
        length: Length::new(u64::from(word.length)),
        first: FirstStep::byte(word.first),
    }))
}

/// The shortest nonempty text of a state of an embedded grammar.
fn shortest_text(bytes: ByteSet, state: EmbeddedState, parts: &Parts<'_>) -> Result<Shortest, LimitExceeded> {
    let engine = parts.embedded.engine(state.grammar);
    if let Some(pending) = parts.pending
        && engine.is_pending()
    {
        return Ok(pending);
    }
    let completion = |set| engine.shortest_completion(set, parts.vocabulary, parts.deadline);
    if let Some(ShortestCompletion { length, first: Some(CompletionStep::Byte(byte)) }) =
        completion(state.set)?
    {
        return Ok(Shortest { length: Length::new(u64::from(length)), first: FirstStep::byte(byte) });
    }
    let mut shortest = Shortest::NONE;
    if engine.is_complete(state.set) {
        for byte in bytes.iter() {
            let Some(next) = engine.step(state.set, byte)? else { continue };
            let Some(rest) = completion(next)? else { continue };
            let length = Length::new(u64::from(rest.length) + 1);
            shortest = shortest.min(Shortest { length, first: FirstStep::byte(byte) });
        }
    }
    Ok(shortest)
}

/// A length that an engine bounds; infinite without a bound.
pub(super) fn length_of(bound: Option<u32>) -> Length {
    bound.map_or(Length::INFINITE, |length| Length::new(u64::from(length)))
}

/// The smallest token that a token terminal matches.
fn first_token(of: &TokenMatch, vocabulary: &Vocabulary) -> Option<TokenId> {
    match of {
        TokenMatch::Only(token) => Some(*token),
        TokenMatch::AnyWithText => vocabulary.tokens_with_text().iter().next(),
        TokenMatch::OneOf(tokens) => tokens.iter().next(),
    }
}
