//! Sets with unknown bound texts: see [`BoundTexts`](grammask_engine::BoundTexts).
//!
//! Of an unknown text only a number of tokens is known that can spell it: the tokens before the present one and this one,
//! or if the text begins inside the present token its bytes, since every byte is a token. It is never complete, so a byte
//! that ends the text has no step. Else the steps are those of the text itself.

use grammask_diagnostics::LimitExceeded;
use grammask_engine::SetId;
use grammask_grammar::ValueKind;
use grammask_vocabulary::Vocabulary;

use super::super::completion::fewest_tokens;
use super::super::continuation::ContinuationId;
use super::super::kernel::{Item, Kernel};
use super::super::{Builder, Recognizer};
use super::json::{UnknownText, ValueId};
use super::{Environment, PrefixId, ValueSetId};

impl Builder {
    /// The set in which the texts are unknown that are being bound, if they have begun: before the present token if
    /// `is_before_token`. Memoised.
    pub(in super::super) fn with_unknown_texts(
        &mut self,
        recognizer: &Recognizer,
        set: SetId,
        vocabulary: &Vocabulary,
        is_before_token: bool,
    ) -> Result<SetId, LimitExceeded> {
        if let Some(&known) = self.anonymous.unknown.get(&(set, is_before_token)) {
            return Ok(known);
        }
        let mut items = self.items(recognizer.set(set));
        let mut is_changed = false;
        for item in items.iter_mut().filter(|item| item.state.is_in_value()) {
            if self.value_kind(recognizer, *item) != Some(ValueKind::Bound) {
                continue;
            }
            let mut state = self.remembered.state(item.state);
            let Some(text) = self.remembered.values.named_text(state.prefix) else { continue };
            let unknown = match is_before_token {
                true => fewest_tokens(&text, vocabulary.trie()).map(|tokens| UnknownText::Begun(tokens + 1)),
                false => u32::try_from(text.len()).ok().map(UnknownText::Bytes),
            };
            if let Some(unknown) = unknown {
                state.prefix = self.remembered.values.unknown(unknown);
                item.state = self.remembered.intern_state(state);
                is_changed = true;
            }
        }
        let unknown = match is_changed {
            true => {
                let ends = recognizer.set(set).data.ends();
                self.intern(&recognizer.sets, &mut Kernel { ends, items })?
            }
            false => set,
        };
        self.anonymous.unknown.insert((set, is_before_token), unknown);
        Ok(unknown)
    }

    /// The number of tokens that can spell the text of a bound value so far, and whether it is unknown.
    pub(in super::super) fn tokens_of_prefix(
        &self,
        prefix: PrefixId,
        vocabulary: &Vocabulary,
    ) -> (Option<u32>, bool) {
        let values = &self.remembered.values;
        match values.unknown_text(prefix) {
            Some(UnknownText::Begun(tokens) | UnknownText::Bytes(tokens)) => (Some(tokens), true),
            None => {
                let text = values.named_text(prefix).unwrap_or_default();
                (fewest_tokens(&text, vocabulary.trie()), false)
            }
        }
    }

    /// The bytes that are left of the remembered values which begin with a text.
    pub(in super::super) fn rests_of_named(&self, prefix: PrefixId, remembered: ValueSetId) -> Vec<Vec<u8>> {
        let values = &self.remembered.values;
        let Some(text) = values.named_text(prefix) else { return Vec::new() };
        let candidates = self.remembered.sets.values(remembered);
        let candidates = candidates.filter(|&value| values.can_become(prefix, value));
        let bytes = candidates.filter_map(|value| values.named_text_of_value(value));
        bytes.filter_map(|whole| Some(whole.strip_prefix(&*text)?.to_vec())).collect()
    }

    /// The bytes of the remembered values with names.
    pub(in super::super) fn named_texts(&self, remembered: ValueSetId) -> Vec<Vec<u8>> {
        let values = &self.remembered.values;
        let text = |value: ValueId| values.named_text_of_value(value);
        self.remembered.sets.values(remembered).filter_map(text).collect()
    }

    /// The remembered values at the end of a scope, and the continuation of the scope.
    pub(in super::super) fn environment_at(&self, at_end: ContinuationId) -> (ValueSetId, ContinuationId) {
        let Environment { set, after_scope } = self.remembered.environments.get(at_end);
        (set, after_scope)
    }

    /// The items of the set inside the value of an item.
    pub(in super::super) fn items_of_value(&self, recognizer: &Recognizer, item: Item) -> Vec<Item> {
        self.items(recognizer.set(self.remembered.state(item.state).set))
    }
}
