//! The tokens after which an embedded grammar can end within its maximum number of tokens.
//!
//! The tokens of a state are grouped by the number of tokens that end the text after them. The groups serve every number
//! of tokens that are left: the legal tokens are those of the groups that need fewer.
//!
//! Where values must differ, each text inside a value has a state of its own. Nearly all tokens belong to the groups of the
//! state in which the values are [anonymous](grammask_engine::AnonymousValues), which are found once for all texts. The
//! others are read one by one:
//!
//! - the tokens with which a value can become a remembered one, or one that the completion has;
//! - the tokens with a conditional step, and those whose completion depends on an anonymous value in another way.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{AnonymousValues, CompletionDependence, Engine, EngineValueId, SetId};
use grammask_grammar::EmbeddedId;
use grammask_vocabulary::{LiveTokens, TokenId, TokenSet, TrieNode, Vocabulary};

use super::budget::ComposeError;
use super::computation::MaskComputation;
use super::embedded_masks::TokensByEnd;
use crate::recognizer::{EmbeddedState, Machine};

/// Groups while they are being collected.
struct GrowingGroups {
    size: usize,
    read: FxHashMap<u32, TokenSet>,
    /// The tokens after which no end is known.
    endless: TokenSet,
    shared: Vec<(u32, LiveTokens)>,
    values: Vec<EngineValueId>,
    /// The group of the tokens after which the text is in a state.
    by_state: FxHashMap<SetId, GroupByEnd>,
}

/// The group of a token.
#[derive(Clone, Copy)]
enum GroupByEnd {
    /// Of those with this number.
    Number(u32),
    /// No end is known.
    Endless,
    /// In no group, since it depends on the values of a text.
    Single,
}

impl GrowingGroups {
    fn new(size: usize) -> Self {
        let (read, shared, values, by_state) = Default::default();
        Self { size, read, endless: TokenSet::new(size), shared, values, by_state }
    }

    fn add(&mut self, group: GroupByEnd, tokens: &[TokenId]) {
        let size = self.size;
        let tokens_of_group = match group {
            GroupByEnd::Number(number) => self.read.entry(number).or_insert_with(|| TokenSet::new(size)),
            GroupByEnd::Endless => &mut self.endless,
            GroupByEnd::Single => return,
        };
        tokens_of_group.extend(tokens.iter().copied());
    }

    /// The groups; if some tokens may be in none of them, `has_singles`.
    fn finish(mut self, vocabulary: &Vocabulary, has_singles: bool) -> TokensByEnd {
        let grouped = has_singles.then(|| {
            self.read.values().for_each(|tokens| self.endless.union_with(tokens));
            self.endless
        });
        let share = |tokens| vocabulary.summaries().share(LiveTokens::from_set(tokens));
        self.shared.extend(self.read.into_iter().map(|(number, tokens)| (number, share(tokens))));
        self.values.sort_unstable();
        self.values.dedup();
        TokensByEnd { groups: self.shared.into(), grouped, values: self.values.into() }
    }
}

impl MaskComputation<'_> {
    /// The live tokens of a state after which its text can end in time. At most `max_tokens` tokens, the next one
    /// included, may contribute to it.
    pub(super) fn ended_in_time(
        &mut self,
        live: LiveTokens,
        state: EmbeddedState,
        max_tokens: Option<u32>,
    ) -> Result<LiveTokens, ComposeError> {
        let Some(max_tokens) = self.scarce_tokens(state, max_tokens)? else { return Ok(live) };
        self.budget.require_full_effort()?;
        let left = max_tokens.saturating_sub(1);
        let (vocabulary, size) = (self.vocabulary, self.vocabulary.size());
        let engine = self.machine.embedded.engine(state.grammar);
        let mut shared = None;
        // The completion of a grammar that counts tokens itself depends on each of them.
        if let Some(values) = engine.anonymous_values().filter(|_| !engine.counts_tokens()) {
            let anonymous = values.with_anonymous_values(state.set, vocabulary)?;
            shared = anonymous.map(|set| (values, EmbeddedState { set, ..state }));
        }
        let (groups, repeating) = match shared {
            Some((values, anonymous)) => {
                let groups = self.tokens_by_end(anonymous, Some(values))?;
                let repeating = values.repeating_tokens(state.set, &groups.values, vocabulary)?;
                (groups, repeating)
            }
            None => (self.tokens_by_end(state, None)?, Some(Vec::new())),
        };
        let mut parts: Vec<LiveTokens> = Vec::new();
        let mut singles = Vec::new();
        match (repeating, &groups.grouped) {
            (Some(repeating), grouped) => {
                for (_, tokens) in groups.groups.iter().filter(|&&(number, _)| number <= left) {
                    let removed = repeating.iter().copied().filter(|&token| tokens.contains(token));
                    parts.push(tokens.but(removed.collect(), size));
                }
                if let Some(grouped) = grouped {
                    let is_grouped = |token: &TokenId| grouped.contains(*token) && live.contains(*token);
                    singles = live.outside(grouped);
                    singles.extend(repeating.into_iter().filter(is_grouped));
                }
            }
            (None, _) => singles.extend(live.iter()),
        }
        let mut ended = Vec::new();
        visit_listed(engine, vocabulary, state.set, singles, self.budget.deadline(), |token, set| {
            let number = tokens_to_end(&mut self.machine, EmbeddedState { set, ..state })?;
            ended.extend(number.filter(|&number| number <= left).map(|_| token));
            Ok(())
        })?;
        parts.push(LiveTokens::new(ended, size));
        Ok(LiveTokens::union(&parts, size, vocabulary.summaries()))
    }

    /// The maximum number of tokens of a state, unless it is known to be ample.
    pub(super) fn scarce_tokens(
        &mut self,
        state: EmbeddedState,
        max_tokens: Option<u32>,
    ) -> Result<Option<u32>, LimitExceeded> {
        let (Some(max_tokens), Some(ends)) = (max_tokens, &mut self.machine.token_ends) else {
            return Ok(max_tokens);
        };
        let is_ample = ends.is_ample_inside(self.machine.embedded, state, max_tokens)?;
        Ok((!is_ample).then_some(max_tokens))
    }

    /// Whether a token is legal that begins an embedded grammar, given the state after its bytes. If `max_tokens` is not
    /// ample, the text has to end within so many tokens, that one included.
    pub(super) fn ends_after(
        &mut self,
        state: EmbeddedState,
        max_tokens: Option<u32>,
    ) -> Result<bool, LimitExceeded> {
        match max_tokens {
            None => Ok(self.machine.embedded.engine(state.grammar).end_token(state.set)?.is_some()),
            Some(max) => Ok(tokens_to_end(&mut self.machine, state)?.is_some_and(|number| number < max)),
        }
    }

    /// The tokens of a state, in which `values` are anonymous if there are any. Cached, unless texts share no states.
    fn tokens_by_end(
        &mut self,
        state: EmbeddedState,
        values: Option<&dyn AnonymousValues>,
    ) -> Result<Arc<TokensByEnd>, ComposeError> {
        if let Some(known) = self.summaries.embedded.by_end.get(&state) {
            return Ok(known.clone());
        }
        let engine = self.machine.embedded.engine(state.grammar);
        let has_values = engine.anonymous_values().is_some() || engine.depends_on_all_values();
        let found = Arc::new(self.group_tokens(engine, state, values)?);
        if (values.is_some() || !has_values) && self.summaries.bytes < self.max_cache_bytes {
            for (_, tokens) in &found.groups {
                self.summaries.add_bytes(tokens, 0);
            }
            self.summaries.bytes += found.memory_bytes();
            self.summaries.embedded.by_end.insert(state, found.clone());
        }
        Ok(found)
    }

    fn group_tokens(
        &mut self,
        engine: &dyn Engine,
        state: EmbeddedState,
        values: Option<&dyn AnonymousValues>,
    ) -> Result<TokensByEnd, ComposeError> {
        let (vocabulary, deadline) = (self.vocabulary, self.budget.deadline());
        let mut growing = GrowingGroups::new(vocabulary.size());
        let source = self.embedded_masks[EmbeddedId::index(state.grammar)].source();
        let successors = match values {
            Some(_) => None,
            None => source.successor_groups(state.set, vocabulary, deadline)?,
        };
        let machine = &mut self.machine;
        let mut group_of = |growing: &mut GrowingGroups, set: SetId| -> Result<GroupByEnd, LimitExceeded> {
            if let Some(&known) = growing.by_state.get(&set) {
                return Ok(known);
            }
            let dependence = match (values, engine.end_token(set)?) {
                (Some(values), Some(set)) => values.completion_dependence(set, vocabulary, deadline)?,
                _ => CompletionDependence::None,
            };
            let is_single = dependence == CompletionDependence::Other;
            if let CompletionDependence::Avoids(values) = dependence {
                growing.values.extend_from_slice(&values);
            }
            let group = match is_single {
                true => GroupByEnd::Single,
                false => match tokens_to_end(machine, EmbeddedState { set, ..state })? {
                    Some(number) => GroupByEnd::Number(number),
                    None => GroupByEnd::Endless,
                },
            };
            growing.by_state.insert(set, group);
            Ok(group)
        };
        match successors {
            Some(successors) => {
                for (set, tokens) in successors.groups {
                    if let GroupByEnd::Number(number) = group_of(&mut growing, set)? {
                        growing.shared.push((number, tokens));
                    }
                }
                visit_listed(engine, vocabulary, state.set, successors.others, deadline, |token, set| {
                    let group = group_of(&mut growing, set)?;
                    growing.add(group, &[token]);
                    Ok(())
                })?;
            }
            None => {
                let walk = TokenWalk { engine, vocabulary, values, deadline };
                walk.visit(state.set, |set, tokens| {
                    let group = group_of(&mut growing, set)?;
                    growing.add(group, tokens);
                    Ok(())
                })?;
            }
        }
        Ok(growing.finish(vocabulary, values.is_some()))
    }
}

/// The number of tokens that end the text of a state after the bytes of a token; `None` if none is known.
pub(super) fn tokens_to_end(
    machine: &mut Machine<'_>,
    state: EmbeddedState,
) -> Result<Option<u32>, LimitExceeded> {
    let engine = machine.embedded.engine(state.grammar);
    if engine.is_complete(state.set) {
        return Ok(Some(0));
    }
    let Some(set) = engine.end_token(state.set)? else { return Ok(None) };
    if engine.is_complete(set) {
        return Ok(Some(0));
    }
    match &mut machine.token_ends {
        Some(ends) => ends.min_embedded_tokens(machine.embedded, EmbeddedState { set, ..state }),
        None => Ok(None),
    }
}

/// A walk along the trie that leaves out tokens with conditional steps.
struct TokenWalk<'a> {
    engine: &'a dyn Engine,
    vocabulary: &'a Vocabulary,
    values: Option<&'a dyn AnonymousValues>,
    deadline: &'a Deadline,
}

impl TokenWalk<'_> {
    /// Calls `visit` with tokens and the state after their bytes.
    fn visit(
        &self,
        set: SetId,
        mut visit: impl FnMut(SetId, &[TokenId]) -> Result<(), LimitExceeded>,
    ) -> Result<(), LimitExceeded> {
        let trie = self.vocabulary.trie();
        let mut steps: FxHashMap<(SetId, u8), Option<SetId>> = FxHashMap::default();
        let mut path = vec![set];
        let mut node = TrieNode(1);
        let mut new_steps = self.engine.new_steps();
        while node.index() < trie.len() {
            if new_steps != self.engine.new_steps() {
                new_steps = self.engine.new_steps();
                self.deadline.check()?;
            }
            let depth = usize::from(trie.depth(node));
            let (before, byte) = (path[depth - 1], trie.byte(node));
            let next = match self.values {
                None => self.engine.step(before, byte)?,
                Some(values) => match steps.get(&(before, byte)) {
                    Some(&known) => known,
                    None => {
                        let next = match self.engine.step(before, byte)? {
                            Some(_) if values.is_conditional_step(before, byte)? => None,
                            next => next,
                        };
                        steps.insert((before, byte), next);
                        next
                    }
                },
            };
            let Some(next) = next else {
                node = trie.subtree_end(node);
                continue;
            };
            let tokens = trie.tokens(node);
            if !tokens.is_empty() {
                visit(next, tokens)?;
            }
            path.truncate(depth);
            path.push(next);
            node = TrieNode(node.0 + 1);
        }
        Ok(())
    }
}

/// Calls `visit` with those of some tokens that are legal by their bytes, and the state after these.
///
/// Cost: a step per byte of the tokens that is not common to the one before, in the order of their texts.
fn visit_listed(
    engine: &dyn Engine,
    vocabulary: &Vocabulary,
    set: SetId,
    tokens: Vec<TokenId>,
    deadline: &Deadline,
    mut visit: impl FnMut(TokenId, SetId) -> Result<(), LimitExceeded>,
) -> Result<(), LimitExceeded> {
    let text = |token| Some((vocabulary.token(token)?, token));
    let mut texts: Vec<(&[u8], TokenId)> = tokens.into_iter().filter_map(text).collect();
    texts.sort_unstable();
    // The state after each prefix of the text before.
    let mut path: Vec<SetId> = vec![set];
    let mut before: &[u8] = &[];
    for (text, token) in texts {
        deadline.check()?;
        let common = before.iter().zip(text).take_while(|(left, right)| left == right).count();
        path.truncate(common + 1);
        while let Some(&byte) = text.get(path.len() - 1) {
            let Some(next) = engine.step(path[path.len() - 1], byte)? else { break };
            path.push(next);
        }
        before = &text[..path.len() - 1];
        if before.len() == text.len() {
            visit(token, path[path.len() - 1])?;
        }
    }
    Ok(())
}
