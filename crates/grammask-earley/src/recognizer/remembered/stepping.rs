//! Steps of items before and inside values.

use grammask_collections::state_table::MemoTransition;
use grammask_diagnostics::LimitExceeded;
use grammask_engine::SetId;

use super::super::continuation::ContinuationId;
use super::super::kernel::{Item, Kernel};
use super::super::prediction::ByteWithClass;
use super::super::{Builder, Recognizer};
use super::json::Values;
use super::{MAX_OPEN_VALUES, ValueState, value_at};
use grammask_grammar::ValueKind;

impl Builder {
    /// Adds to the kernel the items after a byte of the items in `self.stepper.value_items`.
    pub(in super::super) fn step_values(
        &mut self,
        recognizer: &Recognizer,
        byte: ByteWithClass,
        kernel: &mut Kernel,
    ) -> Result<(), LimitExceeded> {
        let items = std::mem::take(&mut self.stepper.value_items);
        let mut ended = Vec::new();
        for &item in &items {
            let Some((number, condition)) = value_at(&recognizer.form, item.dot) else { continue };
            let before = self.remembered.state(item.state);
            let Some(after) = self.step_value(recognizer, before, byte.byte)? else { continue };
            if condition.kind == ValueKind::Bound
                && self.remembered.values.named_length(after.prefix) > self.limits.bound_bytes
            {
                return Err(LimitExceeded::new("bound_bytes", self.limits.bound_bytes));
            }
            let set = &recognizer.set(after.set).data;
            let (ends, is_final) = (set.ends(), set.is_final());
            // What follows an unknown text is read with the text itself; its item says that the text can be whole.
            let is_unknown = self.remembered.values.unknown_text(after.prefix).is_some();
            if ends && !is_unknown {
                ended.extend(self.after_value(
                    recognizer,
                    item.continuation,
                    after.prefix,
                    condition.kind,
                )?);
            }
            if (is_unknown || !is_final) && self.is_live(recognizer, item.continuation, after, number)? {
                let after = self.without_diverged_text(recognizer, item.continuation, after, condition.kind);
                let state = self.remembered.intern_state(after);
                kernel.items.push(Item { state, ..item });
            }
        }
        self.stepper.value_items = items;
        self.stepper.value_items.clear();
        self.stepper.resume(&recognizer.form, kernel, &mut ended, &mut self.continuations)
    }

    /// Length of the longest text that is being bound in a set, in bytes.
    pub(in super::super) fn longest_bound_text(&self, recognizer: &Recognizer, set: SetId) -> usize {
        let mut longest = 0;
        // Values may be inside of values.
        let mut sets = vec![set];
        while let Some(set) = sets.pop() {
            let set = recognizer.set(set);
            if !set.data.is_in_value() {
                continue;
            }
            for item in self.items(set).into_iter().filter(|item| item.state.is_in_value()) {
                let ValueState { set: inner, prefix } = self.remembered.state(item.state);
                if value_at(&recognizer.form, item.dot).is_some_and(|(_, of)| of.kind == ValueKind::Bound) {
                    longest = longest.max(self.remembered.values.named_length(prefix));
                }
                sets.push(inner);
            }
        }
        longest
    }

    /// Adds to an empty kernel the item after several bytes inside an inexhaustible value that can neither end before one
    /// of them nor after the last one; returns their number, 0 if there are fewer than two.
    pub(in super::super) fn run_value(
        &mut self,
        recognizer: &Recognizer,
        item: Item,
        bytes: &[u8],
        kernel: &mut Kernel,
    ) -> Result<usize, LimitExceeded> {
        let Some((number, _)) = value_at(&recognizer.form, item.dot) else { return Ok(0) };
        if !self.remembered.is_inexhaustible(number) {
            return Ok(0);
        }
        let ValueState { mut set, prefix } = self.remembered.state(item.state);
        let mut read = 0;
        for &byte in bytes {
            match self.step_inside(recognizer, set, byte)? {
                Some(next) if !recognizer.set(next).data.ends() => set = next,
                _ => break,
            }
            read += 1;
        }
        if read < 2 {
            return Ok(0);
        }
        let prefix = self.remembered.values.read(prefix, &bytes[..read]);
        let state = self.remembered.intern_state(ValueState { set, prefix });
        kernel.items.push(Item { state, ..item });
        Ok(read)
    }

    /// The state inside a value, without its text if nothing depends on that: all further texts of values that are not
    /// remembered are equal once no remembered value begins with theirs.
    fn without_diverged_text(
        &mut self,
        recognizer: &Recognizer,
        continuation: ContinuationId,
        state: ValueState,
        kind: ValueKind,
    ) -> ValueState {
        if !matches!(kind, ValueKind::Different | ValueKind::Unprefixed) {
            return state;
        }
        let ends = self.scope_ends(recognizer, continuation);
        let remembered = &self.remembered;
        let matters = ends.iter().any(|end| {
            remembered.can_repeat(state.prefix, end.remembered)
                || (kind == ValueKind::Unprefixed && remembered.has_prefix(end.remembered, state.prefix))
        });
        if matters { state } else { ValueState { prefix: Values::DIVERGED, ..state } }
    }

    /// The state inside a value after a byte.
    pub(in super::super) fn step_value(
        &mut self,
        recognizer: &Recognizer,
        before: ValueState,
        byte: u8,
    ) -> Result<Option<ValueState>, LimitExceeded> {
        let Some(set) = self.step_inside(recognizer, before.set, byte)? else { return Ok(None) };
        let prefix = self.remembered.values.step(before.prefix, byte);
        Ok(Some(ValueState { set, prefix }))
    }

    /// The set after a byte, memoised. At most [`MAX_OPEN_VALUES`] calls are inside each other.
    pub(in super::super) fn step_inside(
        &mut self,
        recognizer: &Recognizer,
        id: SetId,
        byte: u8,
    ) -> Result<Option<SetId>, LimitExceeded> {
        let set = recognizer.set(id);
        let class = recognizer.transition_class(set, byte);
        match set.transition(class) {
            MemoTransition::Dead => return Ok(None),
            MemoTransition::To(next) => return Ok(Some(SetId::new(next as usize))),
            MemoTransition::Unknown => {}
        }
        if self.remembered.open == MAX_OPEN_VALUES {
            return Err(LimitExceeded::new("set_items", self.limits.set_items));
        }
        self.remembered.open += 1;
        let next = self.step(recognizer, set, recognizer.with_class(byte));
        self.remembered.open -= 1;
        let next = next?;
        recognizer.count_step();
        self.memoise(recognizer, set, class, next);
        Ok(next)
    }
}
