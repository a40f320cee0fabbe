//! A set with the parts of the recogniser from which its mask is composed.

use std::sync::{Arc, MutexGuard};

use super::set_core::CoreId;
use super::stepping::Stepper;
use super::{
    Builder, CompletedValue, CompletingNode, ContinuationId, Continuations, EmbeddedStates, Item, ItemState,
    LeftCorners, OpenValue, PrefixId, Recognizer, RepeatingNodes, TokenEnds,
};
use crate::lowering::NormalForm;
use grammask_automata::Automata;
use grammask_diagnostics::LimitExceeded;
use grammask_engine::{SetId, TokenMatch};
use grammask_vocabulary::TokenTrie;

/// The parts of a recogniser from which masks are composed.
pub(crate) struct Machine<'a> {
    pub(crate) form: &'a NormalForm,
    pub(crate) automata: &'a mut Automata,
    pub(crate) embedded: &'a EmbeddedStates,
    /// How many tokens end a terminal, where some count them.
    pub(crate) token_ends: Option<&'a mut TokenEnds>,
    pub(crate) continuations: &'a Continuations,
    pub(crate) left_corners: &'a LeftCorners,
    /// Whether the grammar has values.
    pub(crate) has_values: bool,
    /// The initial state of each terminal, as if it did not count tokens.
    pub(crate) starts: &'a [ItemState],
}

/// The items from which the mask of a set is composed, in states as if terminals did not count tokens.
pub(crate) struct MaskItems {
    /// The items of the kernel; if an embedded grammar begins or goes on in the set, all items before or inside a
    /// terminal.
    pub(crate) items: Vec<Item>,
    /// Whether an embedded grammar begins or goes on in the set.
    pub(crate) is_embedded: bool,
    /// For the states of items inside embedded grammars that count tokens the maximum number of tokens that these items
    /// may still contribute to, the next one included.
    pub(crate) tokens_left: Vec<(ItemState, u32)>,
}

/// A set with the parts of the recogniser, under its lock. Masks are composed through it.
pub(crate) struct SetReader<'a> {
    recognizer: &'a Recognizer,
    set: SetId,
    builder: MutexGuard<'a, Builder>,
}

impl Recognizer {
    /// A set with the parts of the recogniser, under its lock. Steps that are not memoised wait until the reader is
    /// dropped.
    pub(crate) fn read(&self, set: SetId) -> SetReader<'_> {
        SetReader { recognizer: self, set, builder: self.lock() }
    }
}

impl SetReader<'_> {
    /// The set.
    pub(crate) fn set(&self) -> SetId {
        self.set
    }

    /// The items of the set from which its mask is composed.
    pub(crate) fn mask_items(&mut self) -> Result<MaskItems, LimitExceeded> {
        let mut items = self.builder.items(self.recognizer.set(self.set));
        let mut is_embedded = false;
        if !self.builder.stepper.embedded.is_empty() {
            let scans = self.builder.scans(self.recognizer, self.set)?;
            is_embedded = scans.iter().any(|item| self.builder.stepper.is_embedded(item.state));
            if is_embedded {
                items = scans;
            }
        }
        let mut tokens_left: Vec<(ItemState, u32)> = Vec::new();
        if self.recognizer.counts_tokens {
            let stepper = &self.builder.stepper;
            // An embedded grammar without tokens left reads nothing.
            let is_read = |item: &Item| stepper.token_limited(item.state).is_none_or(|of| of.tokens_left > 0);
            items.retain(is_read);
            for item in &mut items {
                let (state, left) = match stepper.token_limited(item.state) {
                    Some(limited) => (limited.state, limited.tokens_left),
                    None => (item.state, u32::MAX),
                };
                item.state = state;
                if state.embedded_index().is_some() {
                    match tokens_left.iter_mut().find(|(known, _)| *known == state) {
                        Some((_, most)) => *most = left.max(*most),
                        None => tokens_left.push((state, left)),
                    }
                }
            }
        }
        Ok(MaskItems { items, is_embedded, tokens_left })
    }

    /// Whether the mask can be composed: whether regular terminals that count tokens have enough left that they do not
    /// constrain the next token. Where the grammar has values, this is required of embedded grammars too.
    pub(crate) fn can_compose(&mut self) -> Result<bool, LimitExceeded> {
        if !self.recognizer.counts_tokens {
            return Ok(true);
        }
        let (start_count, has_values) = (self.recognizer.limited_count, self.has_values());
        let Builder { stepper, continuations, .. } = &mut *self.builder;
        let core = continuations.cores.get(self.recognizer.set(self.set).data.core());
        let states = || core.items.iter().map(|item| item.state);
        Ok(stepper.has_ample_tokens(start_count, states())?
            && (!has_values || stepper.has_ample_tokens_inside_embedded(start_count, states())?))
    }

    /// Whether a token may make a bound text longer than its limit. The mask is computed by a walk then, which reports an
    /// exceeded limit exactly if a legal token exceeds it.
    pub(crate) fn may_exceed_bound(&self, trie: &TokenTrie) -> bool {
        self.has_values()
            && self.builder.longest_bound_text(self.recognizer, self.set) + trie.max_depth()
                > self.builder.limits.bound_bytes
    }

    /// The values that the text of the set is inside of, and those that can begin there; `None` if a walk is the better
    /// strategy for the mask.
    pub(crate) fn open_values(&mut self, trie: &TokenTrie) -> Result<Option<Vec<OpenValue>>, LimitExceeded> {
        if !self.recognizer.has_values() {
            return Ok(Some(Vec::new()));
        }
        self.builder.open_values(self.recognizer, self.set, trie, 0)
    }

    /// Whether a text of the grammar can have values with conditions.
    pub(crate) fn has_values(&self) -> bool {
        self.recognizer.has_values()
    }

    /// The core of the set, and its continuations.
    pub(crate) fn core(&self) -> (CoreId, &[ContinuationId]) {
        let set = self.recognizer.set(self.set);
        (set.data.core(), self.builder.parts(set))
    }

    /// The core of the set, and its continuations, where an item inside a value is followed by those of the set inside
    /// it, in place of its text. `None` if no item is inside a value.
    pub(crate) fn core_without_values(&mut self) -> Option<(CoreId, Box<[ContinuationId]>)> {
        let set = self.recognizer.set(self.set);
        if !set.data.is_in_value() {
            return None;
        }
        let items = self.builder.items_without_values(self.recognizer, set);
        let cores = &mut self.builder.continuations.cores;
        let (core, continuations) = cores.intern(set.data.ends(), items.into_iter());
        Some((core, continuations.into()))
    }

    /// The nodes at which values repeat a remembered one that the text of the set is inside of, or that begin there if
    /// `begins_value`; `None` if they are to be found by [`Self::open_values`].
    pub(crate) fn repeating_nodes(
        &mut self,
        begins_value: bool,
        trie: &TokenTrie,
    ) -> Result<Option<RepeatingNodes>, LimitExceeded> {
        self.builder.repeating_nodes(self.recognizer, self.set, begins_value, trie)
    }

    /// Whether some value of the grammar may run out of values.
    pub(crate) fn may_run_out_of_values(&self) -> bool {
        self.builder.has_scarce_values()
    }

    /// Nodes at which inexhaustible values are complete, with these values, of a sorted list.
    pub(crate) fn values_completed_at(
        &mut self,
        values: &[CompletedValue],
        trie: &TokenTrie,
    ) -> Arc<[CompletingNode]> {
        self.builder.values_completed_at(values, trie)
    }

    /// Whether a value that is complete at a node may repeat one, in any scope, or one that is read in the same token,
    /// from the root on or after one of the prefixes `open`.
    pub(crate) fn may_repeat(&self, completing: &CompletingNode, open: &[PrefixId]) -> bool {
        self.builder.may_repeat(completing, open)
    }

    /// The continuations of all sets.
    pub(crate) fn continuations(&self) -> &Continuations {
        &self.builder.continuations
    }

    /// The grammar.
    pub(crate) fn normal_form(&self) -> &NormalForm {
        &self.recognizer.form
    }

    /// The parts of the recogniser from which masks are composed.
    pub(crate) fn machine(&mut self) -> Machine<'_> {
        let Builder { stepper, continuations, .. } = &mut *self.builder;
        let Stepper { automata, embedded, predictor, token_ends, .. } = stepper;
        let (left_corners, starts) = predictor.parts();
        let starts = if self.recognizer.counts_tokens { &self.recognizer.uncounted_starts } else { starts };
        let has_values = self.recognizer.has_values();
        let form = &self.recognizer.form;
        let token_ends = token_ends.as_mut();
        Machine { form, automata, embedded, token_ends, continuations, left_corners, has_values, starts }
    }

    /// The tokens that token terminals of the set match.
    pub(crate) fn token_matches(&mut self) -> Result<Vec<TokenMatch>, LimitExceeded> {
        self.builder.token_matches(self.recognizer, self.set)
    }
}
