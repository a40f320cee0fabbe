//! Sets as text: the expected terminals in the grammar's own names, and the items for `grammask debug sets`.

use std::collections::VecDeque;
use std::fmt::Write;

use rustc_hash::FxHashSet;

use crate::lowering::Symbol;
use grammask_automata::StateId;
use grammask_diagnostics::LimitExceeded;
use grammask_engine::{Expectation, SetId};

use super::continuation::ContinuationId;
use super::kernel::{Item, ItemState};
use super::{Builder, Recognizer};

impl Recognizer {
    /// [`Engine::expectations`](grammask_engine::Engine::expectations).
    pub(super) fn expected_terminals(&self, set: SetId) -> Result<Vec<Expectation>, LimitExceeded> {
        let mut builder = self.lock();
        let begun = builder.items(self.set(set));
        let scans = builder.scans(self, set)?;
        drop(builder);
        let mut distinct = FxHashSet::default();
        let mut expectations = Vec::new();
        for item in &scans {
            let expectation = Expectation {
                terminal: self.form.symbol_name(self.form.symbol_after(item.dot)).to_owned(),
                rule: self.rule_name(item).to_owned(),
                has_begun: begun.binary_search(item).is_ok(),
            };
            if distinct.insert(expectation.clone()) {
                expectations.push(expectation);
            }
        }
        expectations.sort_by_key(|expectation| !expectation.has_begun);
        Ok(expectations)
    }

    /// The rule of the source that an item belongs to. Nonterminals that lowering adds are named after it.
    fn rule_name(&self, item: &Item) -> &str {
        let name = &self.form.names[self.form.production_of(item.dot).lhs.index()];
        name.split('.').next().unwrap_or(name)
    }

    /// The kernel of a set and the continuations that it refers to, one item a line.
    pub(super) fn describe_set(&self, set: SetId) -> String {
        let builder = self.lock();
        let ends = self.set(set).data.ends();
        let mut text = format!("set {}", set.as_u32());
        text.push_str(if ends { ", the text may be complete\n" } else { "\n" });
        let mut queue: VecDeque<ContinuationId> = VecDeque::new();
        let mut described: FxHashSet<ContinuationId> = FxHashSet::default();
        for item in builder.items(self.set(set)) {
            let state = self.describe_state(&builder, item);
            let _ =
                writeln!(text, "  {}{state}  then c{}", self.form.dot_text(item.dot), item.continuation.0);
            queue.push_back(item.continuation);
        }
        while let Some(id) = queue.pop_front() {
            if !described.insert(id) {
                continue;
            }
            let continuation = builder.continuations.get(id);
            let _ = writeln!(
                text,
                "c{}:{}",
                id.0,
                if continuation.core.ends { " the text may be complete" } else { "" }
            );
            for (dot, next) in continuation.entries() {
                let _ = writeln!(text, "  {}  then c{}", self.form.dot_text(dot), next.0);
                queue.push_back(next);
            }
        }
        text
    }

    /// The position of an item inside its terminal.
    fn describe_state(&self, builder: &Builder, item: Item) -> String {
        let is_terminal = matches!(self.form.symbol_after(item.dot), Symbol::Terminal(_));
        match item.state {
            ItemState::FRESH | ItemState::TOKEN => String::new(),
            state if state.is_in_value() => {
                format!(" (inside a value, at set {})", builder.remembered.state(state).set.as_u32())
            }
            ItemState(state) if is_terminal => match state.checked_sub(ItemState::FIRST_LIMITED) {
                None => {
                    let term = builder.stepper.automata.term(StateId::new(state as usize));
                    format!(" (needs {})", builder.stepper.automata.terms().display(term))
                }
                Some(index) => {
                    let limited = builder.stepper.limited[index as usize];
                    let term = builder.stepper.automata.term(limited.state);
                    let left = limited.tokens_left;
                    format!(" (needs {}, {left} more tokens)", builder.stepper.automata.terms().display(term))
                }
            },
            ItemState(_) => String::new(),
        }
    }
}
