//! Upper bounds of the tokens that finish a text, in grammars that bind texts to names.
//!
//! A completion has to repeat the bound text, so its length depends on that. Nothing else does: two texts that are being
//! bound, with equally long rests, have equally long completions. So the bound of a set is a sum of parts, each spelled
//! by tokens of its own: the rest of a terminal or a value, that of the production, then of the continuation, where
//! repetitions count as long as the bound text. A scope has an environment of its own, so the continuations are the
//! nodes of a graph together with the upper bound of the bound texts, and after the end of a scope with those of the
//! scope around it. The bound of a set is a minimum over its items, so it does not grow with further items, and some
//! token leads to a set with a smaller bound: the first one of the part that comes next.
//!
//! An [unknown](super::super::remembered) text counts as the tokens that can spell it. A text that is being bound counts
//! its rest in bytes when it is repeated, so that a step into it does not raise the bound.
//!
//! To have few tables, upper bounds of bound texts are rounded up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use grammask_automata::StateId;
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{BoundTexts, SetId, UnboundedText};
use grammask_grammar::ValueKind;
use grammask_vocabulary::{TokenTrie, TrieNode, Vocabulary};

use crate::lowering::{DotId, RightHandSide};

use super::super::continuation::ContinuationId;
use super::super::kernel::Item;
use super::super::remembered::{ValueGoal, ValueSetId};
use super::super::{Builder, Recognizer};
use super::dots::DotReader;
use super::shortest::{FirstStep, Length, Shortest};
use super::symbols::NamedTexts;
use super::with_values::CompletionContext;
use super::{Completions, Parts, ValueLengths};

/// Memo tables.
#[derive(Debug, Default)]
pub(in super::super) struct FinishingTokens {
    /// The lengths of values, where the bound is that of the shortest texts; an error if no bounds are known.
    named: Option<Result<NamedTexts, UnboundedText>>,
    sets: FxHashMap<SetId, Length>,
    rests: FxHashMap<Rest, Length>,
    environments: FxHashMap<ValueSetId, Length>,
}

/// A text that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Rest {
    /// A text of a continuation.
    Any(ContinuationId),
    /// One that leaves its scope at an end with bound texts of at most this length, and in one environment if it is
    /// given.
    Bound(ContinuationId, Length, Option<ValueSetId>),
}

/// A part of a text, as the rest before it and the one after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RestPart {
    after: u32,
    before: u32,
    tokens: Length,
}

/// The rest of a value that is being read.
#[derive(Clone, Copy)]
struct ValueRest {
    bytes: Length,
    tokens: Length,
}

impl FinishingTokens {
    /// The lengths of values with names, where bound texts have an upper bound.
    pub(super) fn named_texts(&self, bound: Length) -> Option<NamedTexts> {
        let named = self.named.as_ref()?.as_ref().ok()?;
        Some(NamedTexts { bound, others: named.others.clone() })
    }

    /// Estimated memory in bytes.
    pub(in super::super) fn memory_bytes(&self) -> usize {
        self.sets.capacity() * (size_of::<(SetId, Length)>() + 1)
            + self.rests.capacity() * (size_of::<(Rest, Length)>() + 1)
            + self.environments.capacity() * (size_of::<(ValueSetId, Length)>() + 1)
    }
}

impl BoundTexts for Recognizer {
    fn before_token(&self, set: SetId, vocabulary: &Vocabulary) -> Result<SetId, LimitExceeded> {
        self.lock().with_unknown_texts(self, set, vocabulary, true)
    }

    fn inside_token(&self, set: SetId, vocabulary: &Vocabulary) -> Result<SetId, LimitExceeded> {
        self.lock().with_unknown_texts(self, set, vocabulary, false)
    }

    fn finishing_tokens(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<u32>, LimitExceeded> {
        let context = CompletionContext::new(self, vocabulary, deadline);
        Ok(self.lock().finishing_tokens_of_set(context, set)?.finite())
    }
}

impl Recognizer {
    /// Whether all states have upper bounds, or why not. Memoised.
    pub(in super::super) fn compute_bounds_bound_texts(
        &self,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Result<(), UnboundedText>, LimitExceeded> {
        let mut builder = self.lock();
        if let Some(known) = &builder.finishing_tokens.named {
            return Ok(known.as_ref().map(drop).map_err(|&reason| reason));
        }
        let context = CompletionContext::new(self, vocabulary, deadline);
        let named = builder.lengths_of_named(context)?;
        let mut found = named.as_ref().map(drop).map_err(|&reason| reason);
        // The bounds of positions read the lengths.
        builder.finishing_tokens.named = Some(named);
        if found.is_ok() && !builder.all_positions_have_bounds(context)? {
            found = Err(UnboundedText::Rest);
            builder.finishing_tokens.named = Some(Err(UnboundedText::Rest));
        }
        Ok(found)
    }
}

impl Builder {
    /// Whether the rest of a production is bounded at all of its positions at which it can be spelled. At the beginning of a
    /// production there may be others.
    fn all_positions_have_bounds(&mut self, context: CompletionContext<'_>) -> Result<bool, LimitExceeded> {
        let form = &context.recognizer.form;
        let least = self.least_bound();
        for production in &form.productions {
            let positions = match &production.rhs {
                RightHandSide::Sequence(symbols) => 1..symbols.len() as u32,
                RightHandSide::Repeat { min, .. } if *min > 1 => 1..2,
                RightHandSide::Repeat { .. } | RightHandSide::Scope(_) | RightHandSide::Value { .. } => {
                    continue;
                }
                RightHandSide::Selection { .. } => {
                    for symbol in production.rhs.symbols() {
                        let mut length = |lengths| {
                            self.with_completions(context, lengths, |completions, _| {
                                Ok(completions.texts.of(symbol).length)
                            })
                        };
                        if length(ValueLengths::Tokens(least))? == Length::INFINITE
                            && length(ValueLengths::Shortest)? != Length::INFINITE
                        {
                            return Ok(false);
                        }
                    }
                    continue;
                }
            };
            for position in positions {
                let dot = DotId(production.first_dot.0 + position);
                if self.tokens_from(context, least, dot)? == Length::INFINITE
                    && self.length_from(context, ValueLengths::Shortest, dot)? != Length::INFINITE
                {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The upper bound of bound texts that are the shortest ones.
    fn least_bound(&self) -> Length {
        let named = self.finishing_tokens.named.as_ref().and_then(|named| named.as_ref().ok());
        named.map_or(Length::INFINITE, |named| rounded_up(named.bound))
    }

    fn length_from(
        &mut self,
        context: CompletionContext<'_>,
        lengths: ValueLengths,
        dot: DotId,
    ) -> Result<Length, LimitExceeded> {
        self.with_completions(context, lengths, |completions, parts| {
            let Completions { texts, dots, .. } = completions;
            Ok(DotReader { form: parts.form, texts, memo: dots }.get(dot).from.length)
        })
    }

    /// The tokens from a dot to the end of its production, where bound texts have an upper bound.
    fn tokens_from(
        &mut self,
        context: CompletionContext<'_>,
        bound: Length,
        dot: DotId,
    ) -> Result<Length, LimitExceeded> {
        self.length_from(context, ValueLengths::Tokens(bound), dot)
    }

    /// The upper bound of the texts bound in an environment.
    fn bound_in(&mut self, context: CompletionContext<'_>, environment: ValueSetId) -> Length {
        if let Some(&known) = self.finishing_tokens.environments.get(&environment) {
            return known;
        }
        let mut bound = self.least_bound();
        for text in self.named_texts(environment) {
            bound = bound.max(rounded_up(spelled_length(&text, context.vocabulary)));
        }
        self.finishing_tokens.environments.insert(environment, bound);
        bound
    }

    /// The environments in which a continuation can leave its scope.
    fn environments_after(
        &mut self,
        context: CompletionContext<'_>,
        continuation: ContinuationId,
    ) -> Vec<ValueSetId> {
        let ends = self.scope_ends(context.recognizer, continuation);
        let mut environments: Vec<ValueSetId> = ends.iter().map(|end| end.remembered).collect();
        environments.sort_unstable();
        environments.dedup();
        environments
    }

    /// An upper bound of the tokens that finish the text of a set, without an end token.
    fn finishing_tokens_of_set(
        &mut self,
        context: CompletionContext<'_>,
        set: SetId,
    ) -> Result<Length, LimitExceeded> {
        if context.recognizer.set(set).data.ends() {
            return Ok(Length::ZERO);
        }
        if let Some(&known) = self.finishing_tokens.sets.get(&set) {
            return Ok(known);
        }
        context.deadline.check()?;
        let mut least = Length::INFINITE;
        for item in self.items(context.recognizer.set(set)) {
            least = least.min(match item.state.is_in_value() {
                true => self.finishing_tokens_in_value(context, item)?,
                false => self.finishing_tokens_of_item(context, item)?,
            });
        }
        self.finishing_tokens.sets.insert(set, least);
        Ok(least)
    }

    fn finishing_tokens_of_item(
        &mut self,
        context: CompletionContext<'_>,
        item: Item,
    ) -> Result<Length, LimitExceeded> {
        let mut bounds: Vec<Length> = Vec::new();
        for environment in self.environments_after(context, item.continuation) {
            bounds.push(self.bound_in(context, environment));
        }
        if bounds.is_empty() {
            bounds.push(self.least_bound());
        }
        bounds.sort_unstable();
        bounds.dedup();
        let mut least = Length::INFINITE;
        for bound in bounds {
            let own = self.with_completions(context, ValueLengths::Tokens(bound), |completions, parts| {
                Ok(completions.item(item, parts)?.shortest.length)
            })?;
            if own < least {
                let rest = self.rest_tokens(context, Rest::Bound(item.continuation, bound, None))?;
                least = least.min(own.plus(rest));
            }
        }
        Ok(least)
    }

    /// The same for an item inside a value.
    fn finishing_tokens_in_value(
        &mut self,
        context: CompletionContext<'_>,
        item: Item,
    ) -> Result<Length, LimitExceeded> {
        let Some(kind) = self.value_kind(context.recognizer, item) else { return Ok(Length::INFINITE) };
        let state = self.remembered.state(item.state);
        let environments = self.environments_after(context, item.continuation);
        let mut least = Length::INFINITE;
        if kind == ValueKind::Bound {
            let (read, is_unknown) = self.tokens_of_prefix(state.prefix, context.vocabulary);
            let Some(read) = read else { return Ok(Length::INFINITE) };
            let mut rests = vec![self.rest_of_value(context, item)?];
            if is_unknown && context.recognizer.set(state.set).data.ends() {
                // The text may be whole, which another item of the set would say if it were known.
                rests.push(ValueRest { bytes: Length::ZERO, tokens: Length::ZERO });
            }
            for ValueRest { bytes, tokens } in rests {
                if tokens == Length::INFINITE {
                    continue;
                }
                let own = rounded_up(Length::new(u64::from(read)).plus(bytes)).max(self.least_bound());
                for &environment in &environments {
                    let bound = own.max(self.bound_in(context, environment));
                    let rest = self.rest_tokens(context, Rest::Bound(item.continuation, bound, None))?;
                    least = least.min(tokens.plus(rest));
                }
            }
            return Ok(least);
        }
        for environment in environments {
            let tokens = match kind {
                ValueKind::Repeated => {
                    let rests = self.rests_of_named(state.prefix, environment).into_iter();
                    let rests = rests.filter(|rest| !rest.is_empty());
                    rests
                        .map(|rest| spelled_length(&rest, context.vocabulary))
                        .min()
                        .unwrap_or(Length::INFINITE)
                }
                ValueKind::Different | ValueKind::Unprefixed => {
                    match self.is_decided(state, environment, kind) {
                        Some(true) => self.rest_of_value(context, item)?.tokens,
                        Some(false) => Length::INFINITE,
                        None => {
                            let goal = ValueGoal { state, remembered: environment, kind };
                            self.shortest_value_text(context, goal)?.length
                        }
                    }
                }
                ValueKind::Fresh | ValueKind::Bound => Length::INFINITE,
            };
            if tokens < least {
                let bound = self.bound_in(context, environment);
                let rest = Rest::Bound(item.continuation, bound, Some(environment));
                let rest = self.rest_tokens(context, rest)?;
                least = least.min(tokens.plus(rest));
            }
        }
        Ok(least)
    }

    /// The shortest nonempty rest of the text of a value, without its condition.
    fn rest_of_value(
        &mut self,
        context: CompletionContext<'_>,
        item: Item,
    ) -> Result<ValueRest, LimitExceeded> {
        let least = self.least_bound();
        let mut rest = ValueRest { bytes: Length::INFINITE, tokens: Length::INFINITE };
        for inner in self.items_of_value(context.recognizer, item) {
            let bytes = self.item_completion(context, ValueLengths::Shortest, inner)?.length;
            if bytes < rest.bytes {
                let tokens = self.item_completion(context, ValueLengths::Tokens(least), inner)?.length;
                rest = ValueRest { bytes, tokens };
            }
        }
        Ok(rest)
    }

    /// The tokens of a text that follows: Dijkstra's algorithm over the rests that are not known.
    fn rest_tokens(&mut self, context: CompletionContext<'_>, start: Rest) -> Result<Length, LimitExceeded> {
        if let Some(&known) = self.finishing_tokens.rests.get(&start) {
            return Ok(known);
        }
        let mut unsettled = vec![start];
        let mut positions: FxHashMap<Rest, u32> = FxHashMap::from_iter([(start, 0)]);
        let mut best: Vec<Length> = Vec::new();
        let mut parts: Vec<RestPart> = Vec::new();
        while let Some(&current) = unsettled.get(best.len()) {
            context.deadline.check()?;
            let before = best.len() as u32;
            let (mut length, following) = self.after_rest(context, current)?;
            for (tokens, next) in following {
                if tokens == Length::INFINITE {
                    continue;
                }
                if let Some(&known) = self.finishing_tokens.rests.get(&next) {
                    length = length.min(tokens.plus(known));
                    continue;
                }
                let after = *positions.entry(next).or_insert_with(|| {
                    unsettled.push(next);
                    unsettled.len() as u32 - 1
                });
                parts.push(RestPart { after, before, tokens });
            }
            best.push(length);
        }
        parts.sort_unstable();
        let mut queue: BinaryHeap<Reverse<(Length, u32)>> =
            (0..).zip(&best).map(|(position, &length)| Reverse((length, position))).collect();
        while let Some(Reverse((length, position))) = queue.pop() {
            if length == Length::INFINITE {
                break;
            }
            if length > best[position as usize] {
                continue;
            }
            let first = parts.partition_point(|part| part.after < position);
            for part in parts[first..].iter().take_while(|part| part.after == position) {
                let through = length.plus(part.tokens);
                let own = &mut best[part.before as usize];
                if through < *own {
                    *own = through;
                    queue.push(Reverse((through, part.before)));
                }
            }
        }
        self.finishing_tokens.rests.extend(unsettled.into_iter().zip(best.iter().copied()));
        Ok(best[0])
    }

    /// The length of a rest that is empty, and the parts that can come next with the rests after them.
    fn after_rest(
        &mut self,
        context: CompletionContext<'_>,
        rest: Rest,
    ) -> Result<(Length, Vec<(Length, Rest)>), LimitExceeded> {
        let mut following: Vec<(Length, Rest)> = Vec::new();
        let (continuation, bound, environment) = match rest {
            Rest::Bound(continuation, bound, environment) => (continuation, bound, environment),
            Rest::Any(continuation) => {
                let environments = self.environments_after(context, continuation);
                if environments.is_empty() {
                    following.push((Length::ZERO, Rest::Bound(continuation, self.least_bound(), None)));
                }
                for environment in environments {
                    let bound = self.bound_in(context, environment);
                    following.push((Length::ZERO, Rest::Bound(continuation, bound, None)));
                }
                return Ok((Length::INFINITE, following));
            }
        };
        let content = self.continuations.get(continuation);
        let length = if content.core.ends { Length::ZERO } else { Length::INFINITE };
        let entries: Vec<_> = content.entries().collect();
        for (dot, next) in entries {
            if context.recognizer.form.is_scope_end(dot) {
                let (own, after_scope) = self.environment_at(next);
                if environment.is_none_or(|environment| environment == own)
                    && self.bound_in(context, own) <= bound
                {
                    following.push((Length::ZERO, Rest::Any(after_scope)));
                }
            } else {
                let tokens = self.tokens_from(context, bound, dot)?;
                following.push((tokens, Rest::Bound(next, bound, environment)));
            }
        }
        Ok((length, following))
    }
}

impl Completions {
    /// The word of a state of an automaton as the number of tokens that spell it. Memoised.
    pub(super) fn spelled_word(
        &mut self,
        state: StateId,
        parts: &mut Parts<'_>,
    ) -> Result<Shortest, LimitExceeded> {
        if let Some(&known) = self.spelled_words.get(&state) {
            return Ok(known);
        }
        let mut spelled = Shortest::NONE;
        if let Some(word) = self.words.shortest_word(parts.automata, state, parts.deadline)? {
            let mut bytes = Vec::with_capacity(word.length as usize);
            let mut current = state;
            while bytes.len() < word.length as usize {
                let Some(next) = self.words.shortest_word(parts.automata, current, parts.deadline)? else {
                    break;
                };
                bytes.push(next.first);
                let Some(after) = parts.automata.step(current, next.first)? else { break };
                current = after;
            }
            if let Some(tokens) = fewest_tokens(&bytes, parts.vocabulary.trie()) {
                spelled =
                    Shortest { length: Length::new(u64::from(tokens)), first: FirstStep::byte(word.first) };
            }
        }
        self.spelled_words.insert(state, spelled);
        Ok(spelled)
    }
}

/// The fewest tokens that spell a text; `None` if none do.
pub(in super::super) fn fewest_tokens(text: &[u8], trie: &TokenTrie) -> Option<u32> {
    // For each position the fewest tokens from there on.
    let mut fewest: Vec<Option<u32>> = vec![None; text.len() + 1];
    fewest[text.len()] = Some(0);
    for start in (0..text.len()).rev() {
        let mut node = TrieNode::ROOT;
        for (end, &byte) in (start + 1..).zip(&text[start..]) {
            let Some(child) = trie.child(node, byte) else { break };
            node = child;
            if let Some(rest) = fewest[end]
                && !trie.tokens(node).is_empty()
            {
                fewest[start] = fewest[start].into_iter().chain([rest + 1]).min();
            }
        }
    }
    fewest[0]
}

fn spelled_length(text: &[u8], vocabulary: &Vocabulary) -> Length {
    fewest_tokens(text, vocabulary.trie()).map_or(Length::INFINITE, |tokens| Length::new(u64::from(tokens)))
}

/// The next power of two, or three quarters of it.
fn rounded_up(length: Length) -> Length {
    let Some(length) = length.finite() else { return Length::INFINITE };
    let length = u64::from(length);
    let power = length.next_power_of_two();
    Length::new(if power >= 4 && length <= power / 4 * 3 { power / 4 * 3 } else { power })
}
