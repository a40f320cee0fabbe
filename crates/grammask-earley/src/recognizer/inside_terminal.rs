//! Sets inside one terminal, or inside the copies of one.
//!
//! A set whose items are all in one state of an automaton is inside a terminal. After a word the items after the
//! terminal are there too, and these are fresh: if there are no others, the set is at the end of a word that longer
//! words begin with. In a counted repetition of a terminal, the set after a copy consists of
//! the repetition's item and, if enough copies were read, of the items after the repetition.

use grammask_automata::{ContentHasher, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_engine::{FollowingState, InsideTerminal, SetId};

use super::kernel::{Item, ItemState, Kernel};
use super::stepping::Stepper;
use super::{Builder, Recognizer};

/// Distinguishes the content hashes of repetitions from those of terms.
const REPETITION_TAG: u64 = 0x7265_7065_6174_6564;
/// Maximum number of items of a set that is described.
const MAX_ITEMS: usize = 64;

impl Recognizer {
    /// As [`Steps::inside_terminal`](grammask_engine::Steps::inside_terminal).
    pub(super) fn find_inside_terminal(
        &self,
        set: SetId,
        reach: u32,
    ) -> Result<Option<InsideTerminal>, LimitExceeded> {
        let mut builder = self.lock();
        let mut set = self.set(set);
        let mut is_in_value = false;
        // The texts inside an anonymous value are those of the set inside it.
        while let Some(inner) = builder.inside_anonymous_value(set) {
            (set, is_in_value) = (self.set(inner), true);
        }
        if set.data.ends() {
            return Ok(None);
        }
        if builder.continuations.core(set.data.core()).items.len() > MAX_ITEMS {
            return Ok(None);
        }
        let items = builder.items(set);
        match items.iter().position(|item| self.form.copies_left(item.dot).is_some()) {
            // The state after copies would be one inside the value.
            Some(_) if is_in_value => Ok(None),
            Some(position) => self.inside_copies(&mut builder, items, position, reach),
            None => match builder.inside_word(&items) {
                Some(inside) => Ok(Some(inside)),
                // Of values, more than the items decides what follows.
                None if is_in_value || self.has_values() => Ok(None),
                None => self.after_word(&mut builder, &items),
            },
        }
    }

    /// A set with the item of a repetition.
    fn inside_copies(
        &self,
        builder: &mut Builder,
        mut items: Vec<Item>,
        position: usize,
        reach: u32,
    ) -> Result<Option<InsideTerminal>, LimitExceeded> {
        let item = items.remove(position);
        let Some((terminal, min, max)) = self.form.copies_left(item.dot) else { return Ok(None) };
        let (_, starts) = builder.stepper.predictor.parts();
        let Some(unit) = starts[terminal.index()].automaton_state() else { return Ok(None) };
        let state = match item.state {
            ItemState::FRESH => None,
            state => match state.automaton_state() {
                Some(state) => Some(state),
                None => return Ok(None),
            },
        };
        let mut after = Kernel::default();
        builder.stepper.resume(
            &self.form,
            &mut after,
            &mut vec![item.continuation],
            &mut builder.continuations,
        )?;
        after.normalize();
        let is_repeated = |item: &Item| self.form.copies_left(item.dot).is_some();
        if after.ends || after.items.len() > MAX_ITEMS || after.items.iter().any(is_repeated) {
            return Ok(None);
        }
        let may_end = state.is_none() && min == 0;
        if if may_end { items != after.items } else { !items.is_empty() } {
            return Ok(None);
        }
        let mut hasher = ContentHasher::new(REPETITION_TAG);
        hasher.write_hash(builder.language(unit));
        hasher.write(u64::from(state.is_some()));
        if let Some(state) = state {
            hasher.write_hash(builder.language(state));
        }
        // A token has at most `reach` copies, so it distinguishes no bounds beyond that.
        hasher.write(u64::from(min.min(reach.saturating_add(1))));
        hasher.write(max.filter(|&max| max <= reach).map_or(u64::MAX, u64::from));
        let place = u64::from(self.form.production_of(item.dot).first_dot.0 + 1) << 32;
        let set = builder.intern(&self.sets, &mut after)?;
        Ok(Some(InsideTerminal {
            language: hasher.finish(),
            place: place | u64::from(item.continuation.as_u32()),
            after: Some(FollowingState { set, first_bytes: None }),
            may_end,
        }))
    }

    /// A set at the end of a word that longer words begin with.
    fn after_word(
        &self,
        builder: &mut Builder,
        items: &[Item],
    ) -> Result<Option<InsideTerminal>, LimitExceeded> {
        let (inside, fresh) = items.split_at(items.partition_point(|item| item.state != ItemState::FRESH));
        let Some(InsideTerminal { language, place, .. }) = builder.inside_word(inside) else {
            return Ok(None);
        };
        let is_accepting = |state| builder.stepper.automata.is_accepting(state);
        if !inside[0].state.automaton_state().is_some_and(is_accepting) {
            return Ok(None);
        }
        let (mut after, mut ended) = (Kernel::default(), Vec::new());
        inside.iter().for_each(|&item| after.advance(&self.form, item, &mut ended));
        builder.stepper.resume(&self.form, &mut after, &mut ended, &mut builder.continuations)?;
        after.normalize();
        if after.ends || fresh != after.items {
            return Ok(None);
        }
        let Stepper { automata, predictor, .. } = &mut builder.stepper;
        let dots = fresh.iter().map(|item| item.dot);
        let Some(first_bytes) = predictor.first_bytes(&self.form, automata, dots)? else { return Ok(None) };
        let set = builder.intern(&self.sets, &mut after)?;
        let after = Some(FollowingState { set, first_bytes: Some(first_bytes) });
        Ok(Some(InsideTerminal { language, place, after, may_end: true }))
    }
}

impl Builder {
    /// A set without repetitions.
    fn inside_word(&self, items: &[Item]) -> Option<InsideTerminal> {
        let (first, others) = items.split_first()?;
        let state = first.state.automaton_state()?;
        let is_inside = others.iter().all(|item| item.state == first.state);
        is_inside.then(|| InsideTerminal {
            language: self.language(state),
            place: 0,
            after: None,
            may_end: false,
        })
    }

    /// The content hash of a state's language.
    fn language(&self, state: StateId) -> u128 {
        let automata = &self.stepper.automata;
        automata.terms().content_hash(automata.term(state))
    }
}
