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
//! | `tables` | the memo tables, and the completions of items |
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
mod tables;
mod with_values;

use std::collections::hash_map::Entry;
use std::sync::Arc;

use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{Reach, SetId, ShortestCompletion, StateCompletions, TokenGrowth, TokenGrowths};
use grammask_grammar::Terminal;
use grammask_vocabulary::Vocabulary;

use super::continuation::ContinuationId;
use super::embedded::TerminalReader;
use super::kernel::Item;
use super::remembered::MAX_OPEN_VALUES;
use super::stepping::Stepper;
use super::{Builder, Recognizer};

use dots::DotReader;
use shortest::{FirstStep, Length, Shortest};
use symbols::ValueTexts;
use tables::{Completions, CountedTexts, Parts};
use with_values::MAX_LENGTH;

pub(super) use escapes::ValueEscapes;
pub(super) use finishing_tokens::{FinishingTokens, fewest_tokens};
pub(super) use tables::CompletionTables;
pub(super) use with_values::{CompletionContext, ValueCompletions};

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

impl StateCompletions for Recognizer {
    fn shortest_completion(
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

    fn length_bounds_tokens(
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

    fn longest_shortest_completion(&self, vocabulary: &Vocabulary) -> Result<Option<u32>, LimitExceeded> {
        if !self.form.values().is_empty() {
            // A text may remember any number of values, and completions have to avoid them.
            return Ok(None);
        }
        let mut builder = self.lock();
        let deadline = Deadline::of_next_check(&builder.limits);
        let context = CompletionContext::new(self, vocabulary, &deadline);
        if !builder.counted_terminals_can_end(context)? {
            return Ok(None);
        }
        builder.with_completions(context, ValueLengths::Shortest, |completions, parts| {
            Ok(completions.bounds(None, parts)?.longest().finite())
        })
    }

    fn longest_completion_after(
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

    /// The maximum over the embedded grammars.
    fn token_growths(
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
            Ok(completions.rest(continuation, parts)?.shortest)
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
                let rest = completions.rest(item.continuation, parts)?;
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
                let rest = completions.rest(item.continuation, parts)?;
                longest = longest.max(inside.plus(rest.shortest));
            }
            Ok(longest)
        })
    }
}
