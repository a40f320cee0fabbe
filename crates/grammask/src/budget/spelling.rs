//! The fewest tokens that spell a state's shortest completion: an upper bound of the tokens that finish its text.
//!
//! The engine's shortest completion is measured in bytes, and consists of bytes that are tokens by themselves, so it can
//! always be spelled. The bound is the least number of tokens in a spelling, by dynamic programming over the states
//! between the tokens. After each token the completion of the new state is used, so the recursion follows what the
//! engine reads, and a text that follows the bound reaches its end: the bound decreases with each token.
//!
//! The spelling of a large state is that with a token per step of its completion, whose number is known without steps.

use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{CompletionStep, FirstToken, SetId, ShortestCompletion, first_tokens};
use grammask_vocabulary::{TokenId, TrieNode};

use super::costs::MAX_ITEMS;
use super::memo::Encoded;
use crate::GrammarCache;

/// An upper bound of the tokens that finish a text; `None` if its shortest completion cannot be spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpellingCost(pub(super) Option<u32>);

impl Encoded for SpellingCost {
    fn encode(self) -> u32 {
        self.0.map_or(1, |tokens| tokens.saturating_add(2))
    }

    fn decode(code: u32) -> Self {
        Self(code.checked_sub(2))
    }
}

/// A shortest completion that begins with a byte and has fewer than 2^24 steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteCompletion {
    length: u32,
    first: u8,
}

impl Encoded for ByteCompletion {
    fn encode(self) -> u32 {
        self.length << 8 | u32::from(self.first)
    }

    fn decode(code: u32) -> Self {
        // The cast keeps the lowest byte.
        Self { length: code >> 8, first: code as u8 }
    }
}

/// The states along a shortest completion that consists of bytes, as far as they were asked for.
struct CompletionPath<'a> {
    cache: &'a GrammarCache,
    deadline: &'a Deadline,
    states: Vec<SetId>,
    /// The completions of these states.
    completions: Vec<Option<ShortestCompletion>>,
}

impl CompletionPath<'_> {
    /// The positions after each token with which a spelling of the completion from a position on can begin. As in
    /// [`first_tokens`], a token is left out if the completion after it is not shorter.
    fn token_ends(&mut self, start: usize) -> Result<Vec<usize>, LimitExceeded> {
        let trie = self.cache.vocabulary().trie();
        let mut ends = Vec::new();
        let Some(ShortestCompletion { length, .. }) = self.completion(start)? else { return Ok(ends) };
        let (mut node, mut position) = (TrieNode::ROOT, start);
        while trie.has_children(node)
            && let Some(CompletionStep::Byte(byte)) = self.completion(position)?.and_then(|own| own.first)
            && let Some(child) = trie.child(node, byte)
            && self.has_state_after(position, byte)?
        {
            (node, position) = (child, position + 1);
            if !trie.tokens(node).is_empty()
                && self.completion(position)?.is_some_and(|rest| rest.length < length)
            {
                ends.push(position);
            }
        }
        Ok(ends)
    }

    fn completion(&mut self, position: usize) -> Result<Option<ShortestCompletion>, LimitExceeded> {
        if position == self.completions.len() {
            let set = self.states[position];
            self.completions.push(self.cache.shortest_completion_of(set, self.deadline)?);
        }
        Ok(self.completions[position])
    }

    /// Whether the byte after a position is read; the state after it follows on the path.
    fn has_state_after(&mut self, position: usize, byte: u8) -> Result<bool, LimitExceeded> {
        if position + 1 == self.states.len() {
            let Some(next) = self.cache.engine().step(self.states[position], byte)? else { return Ok(false) };
            self.states.push(next);
        }
        Ok(true)
    }
}

impl GrammarCache {
    /// A state with the same completion as another, for all texts whose values have no effect on it.
    pub(super) fn representative(&self, set: SetId, deadline: &Deadline) -> Result<SetId, LimitExceeded> {
        match self.engine().anonymous_values() {
            Some(values) => values.representative(set, self.vocabulary(), deadline),
            None => Ok(set),
        }
    }

    /// The fewest tokens that spell the shortest completion of a state to which a token led, or where texts that are being
    /// bound share their costs the engine's bound. Memoised by state.
    ///
    /// Cost of a new state: a step per byte of the completion whose states are new, and some if tokens are read as such.
    pub(super) fn spelling_cost(
        &self,
        set: SetId,
        deadline: &Deadline,
    ) -> Result<Option<u32>, LimitExceeded> {
        if let Some(cost) = self.known_spelling_cost(set) {
            return Ok(cost);
        }
        let cost = match self.grouped_texts(deadline)? {
            Some(texts) => {
                let tokens = texts.finishing_tokens(set, self.vocabulary(), deadline)?;
                tokens.map(|tokens| tokens + self.end_cost())
            }
            None => {
                let representative = self.representative(set, deadline)?;
                self.cost_of_completion(representative, deadline)?
            }
        };
        self.costs().spellings.insert(set, SpellingCost(cost));
        Ok(cost)
    }

    /// The fewest tokens that spell the shortest completion of a state.
    fn cost_of_completion(&self, set: SetId, deadline: &Deadline) -> Result<Option<u32>, LimitExceeded> {
        if let Some(cost) = self.known_spelling_cost(set) {
            return Ok(cost);
        }
        if self.reads_tokens() {
            return self.cost_by_tokens(set, deadline);
        }
        // Many states of programs, such as those inside different names, have the same completion.
        let first_step = match self.is_bounded_by_length(set, deadline)? {
            true => None,
            false => self.first_step(set, deadline)?,
        };
        let Some(first_step) = first_step else { return self.cost_by_bytes(set, deadline) };
        let known = self.costs().by_first_byte().get(&first_step).copied();
        if let Some(cost) = known {
            self.costs().spellings.insert(set, cost);
            return Ok(cost.0);
        }
        let cost = self.cost_by_bytes(set, deadline)?;
        self.costs().by_first_byte().insert(first_step, SpellingCost(cost));
        Ok(cost)
    }

    /// The engine's shortest completion of a state, memoised if it begins with a byte.
    fn shortest_completion_of(
        &self,
        set: SetId,
        deadline: &Deadline,
    ) -> Result<Option<ShortestCompletion>, LimitExceeded> {
        let memo = &self.costs().completions;
        if let Some(ByteCompletion { length, first }) = memo.get(set) {
            return Ok(Some(ShortestCompletion { length, first: Some(CompletionStep::Byte(first)) }));
        }
        let completion = self.engine().shortest_completion(set, self.vocabulary(), deadline)?;
        if let Some(ShortestCompletion { length, first: Some(CompletionStep::Byte(first)) }) = completion
            && length < 1 << 24
        {
            memo.insert(set, ByteCompletion { length, first });
        }
        Ok(completion)
    }

    /// The state after the first byte of a completion, and the byte; `None` if it begins with no byte, or the state would
    /// have too many items.
    fn first_step(&self, set: SetId, deadline: &Deadline) -> Result<Option<(SetId, u8)>, LimitExceeded> {
        let after_first_byte = || {
            let completion = self.shortest_completion_of(set, deadline)?;
            let Some(CompletionStep::Byte(byte)) = completion.and_then(|completion| completion.first) else {
                return Ok(None);
            };
            Ok(self.engine().step(set, byte)?.map(|next| (next, byte)))
        };
        match after_first_byte() {
            Err(limit) if LimitExceeded::is_set_items(&limit) => Ok(None),
            first_step => first_step,
        }
    }

    /// As [`GrammarCache::cost_of_completion`], of states after tokens that the engine reads one by one.
    pub(super) fn cost_by_tokens(
        &self,
        set: SetId,
        deadline: &Deadline,
    ) -> Result<Option<u32>, LimitExceeded> {
        self.cost_of_spelling(((), set), deadline, |(), set| {
            Ok(self.first_tokens(set, deadline)?.into_iter().map(|token| ((), token.next)).collect())
        })
    }

    /// The same in a grammar that neither names nor counts tokens: all states are on the path of the completion.
    ///
    /// Cost: a step per byte of the completion, up to states of known costs.
    fn cost_by_bytes(&self, set: SetId, deadline: &Deadline) -> Result<Option<u32>, LimitExceeded> {
        let mut path = CompletionPath { cache: self, deadline, states: vec![set], completions: Vec::new() };
        self.cost_of_spelling((0, set), deadline, |position, _| {
            let ends = match path.token_ends(position) {
                // As for [`GrammarCache::first_tokens`], there is no spelling then.
                Err(limit) if limit.is_set_items() => Vec::new(),
                ends => ends?,
            };
            Ok(ends.into_iter().map(|end| (end, path.states[end])).collect())
        })
    }

    /// The cost of the first place, where a spelling goes on from a place with its state to the places `after` a token.
    fn cost_of_spelling<P: Copy>(
        &self,
        first: (P, SetId),
        deadline: &Deadline,
        mut after: impl FnMut(P, SetId) -> Result<Vec<(P, SetId)>, LimitExceeded>,
    ) -> Result<Option<u32>, LimitExceeded> {
        // Not recursive, since completions may be long.
        let mut pending = vec![first];
        while let Some(&(place, set)) = pending.last() {
            if self.known_spelling_cost(set).is_some() || self.spell_by_length(set, deadline)? {
                pending.pop();
                continue;
            }
            deadline.check()?;
            let before = pending.len();
            let mut least = None;
            for next in after(place, set)? {
                match self.known_spelling_cost(next.1) {
                    Some(cost) => least = least.into_iter().chain(cost).min(),
                    None => pending.push(next),
                }
            }
            if pending.len() == before {
                self.costs().spellings.insert(set, SpellingCost(least.map(|tokens| tokens + 1)));
                pending.pop();
            }
        }
        Ok(self.known_spelling_cost(first.1).flatten())
    }

    /// Takes the number of steps of its completion as the cost of a large state; returns whether the state is one.
    fn spell_by_length(&self, set: SetId, deadline: &Deadline) -> Result<bool, LimitExceeded> {
        let is_large = self.is_bounded_by_length(set, deadline)?;
        if is_large {
            let completion = self.engine().shortest_completion(set, self.vocabulary(), deadline)?;
            let cost = completion.map(|completion| completion.length + self.end_cost());
            self.costs().spellings.insert(set, SpellingCost(cost));
        }
        Ok(is_large)
    }

    /// Whether the cost of a state is the number of steps of its completion, each a token by itself.
    fn is_bounded_by_length(&self, set: SetId, deadline: &Deadline) -> Result<bool, LimitExceeded> {
        if self.engine().state_size(set) <= MAX_ITEMS {
            return Ok(false);
        }
        let facts = &self.costs().facts;
        if let Some(&known) = facts.length_bounds_tokens.get() {
            return Ok(known);
        }
        let found = self.engine().length_bounds_tokens(self.vocabulary(), deadline)?;
        Ok(*facts.length_bounds_tokens.get_or_init(|| found))
    }

    #[inline]
    pub(super) fn known_spelling_cost(&self, set: SetId) -> Option<Option<u32>> {
        if let Some(SpellingCost(cost)) = self.costs().spellings.get(set) {
            return Some(cost);
        }
        self.engine().is_complete(set).then(|| Some(self.end_cost()))
    }

    /// The first token of a spelling with the fewest tokens, and the cost after it: the longest, then the one of the
    /// smallest id.
    pub(super) fn first_token_of_spelling(
        &self,
        set: SetId,
        deadline: &Deadline,
    ) -> Result<Option<(u32, TokenId)>, LimitExceeded> {
        let mut best: Option<(u32, TokenId)> = None;
        // Longer tokens come later.
        for FirstToken { token, next, .. } in self.first_tokens(set, deadline)? {
            let Some(cost) = self.spelling_cost(next, deadline)? else { continue };
            let is_better = best.is_none_or(|(least, other)| {
                let is_longer = self.token_len(token) > self.token_len(other);
                cost < least || (cost == least && is_longer)
            });
            if is_better {
                best = Some((cost, token));
            }
        }
        Ok(best)
    }

    fn token_len(&self, token: TokenId) -> usize {
        self.vocabulary().token(token).map_or(0, <[u8]>::len)
    }

    /// The tokens with which a spelling of a state's completion begins: all of them, or if the grammar names or counts
    /// tokens only the one that leaves the shortest rest. None if a state along the completion would have too many items.
    fn first_tokens(&self, set: SetId, deadline: &Deadline) -> Result<Vec<FirstToken>, LimitExceeded> {
        let mut first_tokens = match first_tokens(self.engine(), self.vocabulary(), set, deadline) {
            Err(limit) if limit.is_set_items() => Vec::new(),
            first_tokens => first_tokens?,
        };
        if self.reads_tokens() {
            first_tokens = FirstToken::of_shortest_rest(&first_tokens).into_iter().collect();
        }
        Ok(first_tokens)
    }
}
