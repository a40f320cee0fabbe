//! Shortest completions of sets, and bounds of their lengths.
//!
//! The completion of an item is the shortest rest of its terminal, then that of its production, then that of its
//! continuation, and the completion of a set is that of one of its items. All parts are memoised, and no part depends
//! on the order of the calls: lengths are minima, and of the first steps of the shortest texts the smallest is taken.
//! Nothing is computed before the first call.
//!
//! Steps are bytes, so the counting of tokens has no part in them: after a token, the items inside a terminal that
//! counts tokens are those of which the completion can be spelled with the tokens that are left (see
//! [`super::token_ends`]). The bounds hold for each terminal inside which an item is, so they hold without the others.
//!
//! | module | contents |
//! |---|---|
//! | `shortest` | lengths, and the order of texts |
//! | `symbols` | the shortest text of each symbol (Knuth 1977) |
//! | `dots` | the shortest text from each dot to the end of its production |
//! | `continuations` | the shortest text of each continuation |
//! | `with_values` | completions in grammars with values that a text must not repeat |
//! | `bound_texts` | how many tokens are inside texts that are bound to names |
//! | `escapes` | how much longer a value may be that differs from remembered ones |
//! | `finishing_tokens` | upper bounds of the tokens that finish a text, where texts are bound to names |
//! | `named_texts` | lengths of texts that satisfy their conditions whatever is bound to their names |
//! | `bounds` | bounds of the lengths over all sets, and over the sets within reach |

mod bound_texts;
mod bounds;
mod continuations;
mod dots;
mod escapes;
mod finishing_tokens;
mod named_texts;
mod shortest;
mod symbols;
mod with_values;

use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::lowering::NormalForm;
use grammask_automata::{Automata, ByteSet, ShortestWords, StateId};
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{
    CompletionStep, Reach, SetId, ShortestCompletion, TokenGrowth, TokenGrowths, TokenMatch,
};
use grammask_grammar::Terminal;
use grammask_vocabulary::{TokenId, Vocabulary};

use super::continuation::{ContinuationId, Continuations};
use super::embedded::{EmbeddedState, EmbeddedStates, TerminalReader};
use super::kernel::{Item, ItemState};
use super::left_corner::LeftCorners;
use super::remembered::MAX_OPEN_VALUES;
use super::set_core::CoreId;
use super::stepping::{Stepper, TokenLimitedState};
use super::token_ends::spelled_bytes;
use super::{Builder, Recognizer};

use bounds::CompletionBounds;
use continuations::ContinuationLengths;
use dots::{DotMemo, DotReader};
use shortest::{FirstStep, Length, Shortest};
use symbols::{ShortestTexts, ValueTexts};

use with_values::MAX_LENGTH;

pub(super) use escapes::ValueEscapes;
pub(super) use finishing_tokens::{FinishingTokens, fewest_tokens};
pub(super) use with_values::{CompletionContext, ValueCompletions};

/// The memo tables of shortest completions.
#[derive(Debug, Default)]
pub(super) struct CompletionTables {
    by_texts: FxHashMap<CountedTexts, Box<Completions>>,
    /// Growths by tokens; `None` until they are asked for, `Some(None)` if they are not known.
    growths: Option<Option<Arc<TokenGrowths>>>,
}

/// The texts that completions consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct CountedTexts {
    /// The length that is added to each value.
    added: Length,
    /// The shortest text of an embedded grammar whose engine is still to be made; `None` if the engine is made for it.
    pending: Option<Shortest>,
    /// An upper bound of the texts bound to names, where lengths are numbers of tokens (see [`finishing_tokens`]).
    tokens_of_bound: Option<Length>,
}

impl CountedTexts {
    /// The shortest texts.
    const SHORTEST: Self = Self { added: Length::ZERO, pending: None, tokens_of_bound: None };
}

/// The memo tables of shortest completions, for one vocabulary.
#[derive(Debug)]
struct Completions {
    words: ShortestWords,
    /// Whether lengths are numbers of tokens.
    are_tokens: bool,
    /// The numbers of tokens that spell the shortest words.
    spelled_words: FxHashMap<StateId, Shortest>,
    /// Whether every byte is a token by itself.
    spells_all_bytes: bool,
    texts: ShortestTexts,
    dots: DotMemo,
    continuations: ContinuationLengths,
    /// For each core, by number of continuation, the completions of the items with it up to the continuation.
    cores: FxHashMap<CoreId, Box<[CoreCompletion]>>,
    core_entries: usize,
    /// By the reach on which the bounds depend; `None` for bounds over all sets.
    bounds: FxHashMap<Option<Reach>, CompletionBounds>,
    /// See [`Builder::counted_terminals_can_end`]; `None` before the first call.
    counted_can_end: Option<bool>,
}

/// The completions of the items of a core that have one continuation, up to the continuation.
#[derive(Clone, Copy, Debug)]
struct CoreCompletion {
    shortest: Shortest,
    /// The length of the longest of the items' shortest completions.
    longest: Length,
}

/// The parts of a recogniser from which completions are computed.
struct Parts<'a> {
    form: &'a NormalForm,
    automata: &'a mut Automata,
    embedded: &'a EmbeddedStates,
    vocabulary: &'a Vocabulary,
    limited: &'a [TokenLimitedState],
    left_corners: &'a LeftCorners,
    /// The initial state of each terminal.
    starts: &'a [ItemState],
    continuations: &'a Continuations,
    /// The continuations of all sets.
    set_parts: &'a [ContinuationId],
    token_matches: &'a [Option<TokenMatch>],
    /// See [`CountedTexts::pending`].
    pending: Option<Shortest>,
    deadline: &'a Deadline,
}

/// Which texts are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueLengths {
    /// The shortest ones; those of values may be remembered: lower bounds.
    Shortest,
    /// Those of values are longer by this number of bytes, so one is not remembered: upper bounds.
    Lengthened(Length),
    /// The shortest ones, where engines that are still to be made have this shortest text.
    Pending(Shortest),
    /// Numbers of tokens, where those of bound texts have this upper bound.
    Tokens(Length),
}

/// The completions of all items of a set.
struct SetCompletion {
    shortest: Shortest,
    /// The maximum over all items, and all continuations that they refer to.
    longest: Length,
}

impl Recognizer {
    /// As [`Engine::shortest_completion`](grammask_engine::Engine::shortest_completion).
    pub(super) fn compute_shortest_completion(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<ShortestCompletion>, LimitExceeded> {
        if self.set(set).data.ends() {
            return Ok(Some(ShortestCompletion { length: 0, first: None }));
        }
        let mut builder = self.lock();
        let context = CompletionContext::new(self, vocabulary, deadline);
        if !self.form.values().is_empty() {
            return builder.completion_with_values(context, set);
        }
        let of_set = builder.shortest_of_set(context, set)?;
        let completion = |length| ShortestCompletion { length, first: Some(of_set.first.step()) };
        Ok(of_set.length.finite().map(completion))
    }

    /// As [`Engine::length_bounds_tokens`](grammask_engine::Engine::length_bounds_tokens).
    pub(super) fn compute_length_bounds_tokens(
        &self,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<bool, LimitExceeded> {
        if !self.counts_tokens {
            return Ok(true);
        }
        // The completion of a value depends on the others, not only on the items that stay after a token.
        if self.has_values() {
            return Ok(false);
        }
        let mut builder = self.lock();
        if !builder.counted_terminals_can_end(CompletionContext::new(self, vocabulary, deadline))? {
            return Ok(false);
        }
        for engine in builder.stepper.embedded.engines() {
            if !engine.length_bounds_tokens(vocabulary, deadline)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// As [`Engine::completion_at_least`](grammask_engine::Engine::completion_at_least).
    pub(super) fn compute_completion_at_least(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<u32>, LimitExceeded> {
        if self.form.values().is_empty() {
            let completion = self.compute_shortest_completion(set, vocabulary, deadline)?;
            return Ok(completion.map(|completion| completion.length));
        }
        let context = CompletionContext::new(self, vocabulary, deadline);
        Ok(self.lock().completion_bound(context, set)?.length.finite())
    }

    /// As [`Engine::longest_shortest_completion`](grammask_engine::Engine::longest_shortest_completion).
    pub(super) fn compute_longest_completion(
        &self,
        vocabulary: &Vocabulary,
    ) -> Result<Option<u32>, LimitExceeded> {
        if !self.form.values().is_empty() {
            // A text may remember any number of values, and completions have to avoid them.
            return Ok(None);
        }
        let mut builder = self.lock();
        let deadline = Deadline::after_first_check(builder.limits.time);
        let context = CompletionContext::new(self, vocabulary, &deadline);
        if !builder.counted_terminals_can_end(context)? {
            return Ok(None);
        }
        builder.with_completions(context, ValueLengths::Shortest, |completions, parts| {
            Ok(completions.bounds(None, parts)?.longest().finite())
        })
    }

    /// As [`Engine::longest_completion_after`](grammask_engine::Engine::longest_completion_after).
    pub(super) fn compute_longest_completion_after(
        &self,
        set: SetId,
        reach: Reach,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<u32>, LimitExceeded> {
        let mut builder = self.lock();
        let context = CompletionContext::new(self, vocabulary, deadline);
        if !builder.counted_terminals_can_end(context)? {
            return Ok(None);
        }
        let mut max_length = None;
        if self.has_values() {
            let Reach::Bytes(bytes) = reach else { return Ok(None) };
            if self.names_tokens || !builder.lengthens_values(context, bytes)? {
                return Ok(None);
            }
            max_length = Some(MAX_LENGTH);
        }
        let lengths = ValueLengths::Lengthened(builder.added_value_length(context)?);
        let (longest, growth) = builder.with_completions(context, lengths, |completions, parts| {
            let bounds = completions.bounds(Some(reach), parts)?;
            Ok((bounds.longest(), bounds.growth()))
        })?;
        // Growths of tokens are those inside embedded grammars.
        let growth = match reach {
            Reach::Bytes(bytes) => growth.map(|growth| growth.by(bytes.max(1))),
            Reach::Token => None,
        };
        let has_embedded = !builder.stepper.embedded.is_empty();
        let mut bound = longest;
        if growth.is_some() || has_embedded {
            let own = match has_embedded && !self.has_values() {
                true => builder.longest_within_reach(context, set, reach)?,
                false => builder.longest_of_set(context, set, 0)?,
            };
            if let Some(growth) = growth {
                bound = longest.min(own.plus(growth));
            }
            if has_embedded {
                bound = bound.max(own);
            }
            if has_embedded && self.has_values() {
                bound = bound.max(builder.longest_inside_embedded(context, set, reach)?);
            }
        }
        Ok(bound.finite().filter(|&bound| max_length.is_none_or(|max| bound as usize <= max)))
    }

    /// As [`Engine::token_growths`](grammask_engine::Engine::token_growths): the maximum over the embedded grammars.
    pub(super) fn compute_token_growths(
        &self,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<Arc<TokenGrowths>>, LimitExceeded> {
        let mut builder = self.lock();
        if let Some(known) = &builder.completions.growths {
            return Ok(known.clone());
        }
        let engines = builder.stepper.embedded.engines();
        let mut growths: Option<Vec<TokenGrowth>> = Some(Vec::new());
        for engine in engines {
            let inside = engine.token_growths(vocabulary, deadline)?;
            growths = growths.zip(inside).map(|(mut growths, inside)| {
                growths.extend_from_slice(inside.positive());
                growths
            });
        }
        let growths = growths.map(|growths| Arc::new(TokenGrowths::new(growths)));
        Ok(builder.completions.growths.insert(growths).clone())
    }
}

impl Builder {
    /// Calls `compute` with the memo tables, which the first call creates. In grammars without values, both lengths are
    /// the same.
    fn with_completions<T>(
        &mut self,
        context: CompletionContext<'_>,
        lengths: ValueLengths,
        compute: impl FnOnce(&mut Completions, &mut Parts<'_>) -> Result<T, LimitExceeded>,
    ) -> Result<T, LimitExceeded> {
        let CompletionContext { recognizer, vocabulary, deadline, .. } = context;
        let Self {
            stepper,
            continuations,
            completions: CompletionTables { by_texts: tables, .. },
            finishing_tokens,
            set_parts,
            ..
        } = self;
        let Stepper { automata, embedded, predictor, limited, .. } = stepper;
        let (left_corners, starts) = predictor.parts();
        let counted = match lengths {
            ValueLengths::Lengthened(added) if recognizer.has_values() => {
                CountedTexts { added, ..CountedTexts::SHORTEST }
            }
            ValueLengths::Pending(shortest) => {
                CountedTexts { pending: Some(shortest), ..CountedTexts::SHORTEST }
            }
            ValueLengths::Tokens(bound) => {
                CountedTexts { tokens_of_bound: Some(bound), ..CountedTexts::SHORTEST }
            }
            _ => CountedTexts::SHORTEST,
        };
        let mut parts = Parts {
            form: &recognizer.form,
            automata,
            embedded,
            vocabulary,
            limited,
            left_corners,
            starts,
            continuations,
            set_parts,
            token_matches: &recognizer.token_matches,
            pending: counted.pending,
            deadline,
        };
        let completions = match tables.entry(counted) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let named = counted.tokens_of_bound.and_then(|bound| finishing_tokens.named_texts(bound));
                let values = named.map_or(ValueTexts::Lengthened(counted.added), ValueTexts::Named);
                entry.insert(Box::new(Completions::new(&mut parts, values)?))
            }
        };
        compute(completions, &mut parts)
    }

    /// Whether the shortest word of each terminal that counts tokens can be spelled with its maximum number. Then bounds
    /// of completions also hold in a grammar that counts tokens: after a token an item stays unless another token can
    /// still end its terminal along the shortest completion, and each new terminal can be ended along its shortest word.
    fn counted_terminals_can_end(&mut self, context: CompletionContext<'_>) -> Result<bool, LimitExceeded> {
        let recognizer = context.recognizer;
        if !recognizer.counts_tokens {
            return Ok(true);
        }
        let tables = &self.completions.by_texts;
        if let Some(known) =
            tables.get(&CountedTexts::SHORTEST).and_then(|completions| completions.counted_can_end)
        {
            return Ok(known);
        }
        let shortest = self.with_completions(context, ValueLengths::Shortest, |completions, _| {
            Ok(completions.texts.terminal_lengths())
        })?;
        let Stepper { automata, embedded, token_ends, .. } = &mut self.stepper;
        let mut can_end = true;
        for (index, length) in shortest.into_iter().enumerate() {
            let maximum = match recognizer.form.terminals[index].terminal {
                Terminal::Limited { tokens, .. } | Terminal::Embedded { tokens: Some(tokens), .. } => tokens,
                _ => continue,
            };
            // Each byte is a token.
            if length <= Length::new(u64::from(maximum)) {
                continue;
            }
            let start = recognizer.uncounted_starts[index];
            let mut terminals = TerminalReader { automata, embedded };
            can_end &= match token_ends {
                Some(ends) if !terminals.is_accepting(start) => {
                    ends.can_end(terminals.reborrow(), start, maximum)?
                }
                _ => false,
            };
        }
        self.with_completions(context, ValueLengths::Shortest, |completions, _| {
            completions.counted_can_end = Some(can_end);
            Ok(can_end)
        })
    }

    /// The shortest completion of a set, in a grammar without values.
    ///
    /// Engines that are still to be made are left so where their texts cannot matter: where the completion is the same
    /// whether they have the least of all texts or none. Completions grow with each text, so it is that of all texts.
    fn shortest_of_set(
        &mut self,
        context: CompletionContext<'_>,
        set: SetId,
    ) -> Result<Shortest, LimitExceeded> {
        let tables = &self.completions.by_texts;
        let is_pending = !tables.contains_key(&CountedTexts::SHORTEST)
            && self.stepper.embedded.engines().iter().any(|engine| engine.is_pending());
        if is_pending {
            let least = Shortest { length: Length::new(1), first: FirstStep::byte(0) };
            let lower = self.set_completion(context, ValueLengths::Pending(least), set)?.shortest;
            let upper = self.set_completion(context, ValueLengths::Pending(Shortest::NONE), set)?.shortest;
            if lower == upper {
                return Ok(lower);
            }
        }
        Ok(self.set_completion(context, ValueLengths::Shortest, set)?.shortest)
    }

    fn set_completion(
        &mut self,
        context: CompletionContext<'_>,
        lengths: ValueLengths,
        set: SetId,
    ) -> Result<SetCompletion, LimitExceeded> {
        let data = &context.recognizer.set(set).data;
        let core = data.core();
        self.with_completions(context, lengths, |completions, parts| {
            completions.add_core(core, parts)?;
            let Completions { continuations, texts, dots, cores, .. } = completions;
            let (mut shortest, mut longest) = (Shortest::NONE, Length::ZERO);
            let of_core = &cores[&core];
            for (of_items, &continuation) in of_core.iter().zip(&parts.set_parts[data.first()..]) {
                let dots = DotReader { form: parts.form, texts, memo: dots };
                let rest = continuations.get(continuation, parts.continuations, dots, parts.deadline)?;
                shortest = shortest.min(of_items.shortest.then(rest.shortest));
                longest = longest.max(of_items.longest.plus(rest.shortest)).max(rest.longest);
            }
            Ok(SetCompletion { shortest, longest })
        })
    }

    /// The maximum over the items of a set, those inside values included, of the lengths of their completions, with
    /// lengthened values.
    fn longest_of_set(
        &mut self,
        context: CompletionContext<'_>,
        set: SetId,
        depth: usize,
    ) -> Result<Length, LimitExceeded> {
        let added = self.added_value_length(context)?;
        let lengths = ValueLengths::Lengthened(added);
        let mut longest = self.set_completion(context, lengths, set)?.longest;
        if !context.recognizer.has_values() {
            return Ok(longest);
        }
        for item in self.items(context.recognizer.set(set)) {
            if item.state.is_in_value() {
                if depth == MAX_OPEN_VALUES {
                    return Ok(Length::INFINITE);
                }
                let inner = self.remembered.state(item.state).set;
                let inside = self.longest_of_set(context, inner, depth + 1)?;
                let rest = self.rest_length(context, lengths, item.continuation)?;
                longest = longest.max(inside.plus(added).plus(rest));
            }
        }
        Ok(longest)
    }

    /// The shortest text from an item, not inside a value, to the end of its production.
    fn item_completion(
        &mut self,
        context: CompletionContext<'_>,
        lengths: ValueLengths,
        item: Item,
    ) -> Result<Shortest, LimitExceeded> {
        self.with_completions(context, lengths, |completions, parts| {
            Ok(completions.item(item, parts)?.shortest)
        })
    }

    /// The length of the shortest text of a continuation.
    fn rest_length(
        &mut self,
        context: CompletionContext<'_>,
        lengths: ValueLengths,
        continuation: ContinuationId,
    ) -> Result<Length, LimitExceeded> {
        self.with_completions(context, lengths, |completions, parts| {
            let Completions { continuations, texts, dots, .. } = completions;
            let dots = DotReader { form: parts.form, texts, memo: dots };
            Ok(continuations.get(continuation, parts.continuations, dots, parts.deadline)?.shortest)
        })
    }

    /// The maximum length of the completions of a set's items, in a grammar without values: of those inside embedded
    /// grammars over all states of these within reach. Their own completions, which take a search, are not needed.
    fn longest_within_reach(
        &mut self,
        context: CompletionContext<'_>,
        set: SetId,
        reach: Reach,
    ) -> Result<Length, LimitExceeded> {
        let items = self.items(context.recognizer.set(set));
        self.with_completions(context, ValueLengths::Shortest, |completions, parts| {
            let mut longest = Length::ZERO;
            for item in items {
                let inside = match completions.inside_embedded(item, reach, parts)? {
                    Some(inside) => inside,
                    None => completions.item(item, parts)?.longest,
                };
                let Completions { continuations, texts, dots, .. } = completions;
                let dots = DotReader { form: parts.form, texts, memo: dots };
                let rest = continuations.get(item.continuation, parts.continuations, dots, parts.deadline)?;
                longest = longest.max(inside.plus(rest.shortest)).max(rest.longest);
            }
            Ok(longest)
        })
    }

    /// The maximum length of the completions of the set's items inside embedded grammars, over all states of these
    /// within reach.
    fn longest_inside_embedded(
        &mut self,
        context: CompletionContext<'_>,
        set: SetId,
        reach: Reach,
    ) -> Result<Length, LimitExceeded> {
        let items = self.items(context.recognizer.set(set));
        let lengths = ValueLengths::Lengthened(self.added_value_length(context)?);
        self.with_completions(context, lengths, |completions, parts| {
            let mut longest = Length::ZERO;
            for item in items {
                let Some(inside) = completions.inside_embedded(item, reach, parts)? else { continue };
                let Completions { continuations, texts, dots, .. } = completions;
                let dots = DotReader { form: parts.form, texts, memo: dots };
                let rest = continuations.get(item.continuation, parts.continuations, dots, parts.deadline)?;
                longest = longest.max(inside.plus(rest.shortest));
            }
            Ok(longest)
        })
    }
}

impl CompletionTables {
    /// Estimated memory in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let growths = self.growths.iter().flatten().map(|growths| growths.memory_bytes());
        self.by_texts.values().map(|completions| completions.memory_bytes()).chain(growths).sum()
    }
}

impl Completions {
    /// The maximum length of the completions of an item inside an embedded grammar up to the item's continuation, over all
    /// states of that grammar within reach; `None` for other items.
    fn inside_embedded(
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
    fn new(parts: &mut Parts<'_>, values: ValueTexts) -> Result<Self, LimitExceeded> {
        let vocabulary = parts.vocabulary;
        let bytes = spelled_bytes(vocabulary);
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
    fn add_core(&mut self, core: CoreId, parts: &mut Parts<'_>) -> Result<(), LimitExceeded> {
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
    fn item(&mut self, item: Item, parts: &mut Parts<'_>) -> Result<CoreCompletion, LimitExceeded> {
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
    fn state_of(&self, state: ItemState) -> Option<ItemState> {
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
fn length_of(bound: Option<u32>) -> Length {
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
