//! How many tokens are inside texts that are bound to names.
//!
//! Such a text has to be repeated later, so each of its prefixes has a state and a completion of its own. A walk along the
//! trie counts the prefixes of tokens that are prefixes of bound texts.

use grammask_automata::{Automata, StateId};
use grammask_diagnostics::{Deadline, LimitExceeded};
use grammask_engine::{AnonymousValues, BoundTexts, UnboundedText, ValueStates};
use grammask_grammar::{ValueEquality, ValueKind};
use grammask_vocabulary::{TokenTrie, TrieNode, Vocabulary};

use super::super::Recognizer;
use super::escapes::terminals_of;

impl ValueStates for Recognizer {
    fn depends_on_all_values(&self) -> bool {
        self.depends_on_all_values
    }

    fn anonymous_values(&self) -> Option<&dyn AnonymousValues> {
        self.has_values().then_some(self)
    }

    fn bound_texts(
        &self,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Result<&dyn BoundTexts, UnboundedText>, LimitExceeded> {
        Ok(self.compute_bounds_bound_texts(vocabulary, deadline)?.map(|()| self as &dyn BoundTexts))
    }

    fn has_few_texts_of_values(&self, vocabulary: &Vocabulary, max: usize) -> Result<bool, LimitExceeded> {
        let is_named = |equality: ValueEquality| matches!(equality, ValueEquality::Named(_));
        if self.has_embedded_values || self.form.values().iter().any(|(_, of)| !is_named(of.equality)) {
            return Ok(!self.depends_on_all_values);
        }
        let mut builder = self.lock();
        let stepper = &mut builder.stepper;
        let (_, starts) = stepper.predictor.parts();
        let mut left = max;
        for &(dot, ref condition) in self.form.values() {
            if condition.kind != ValueKind::Bound {
                continue;
            }
            for terminal in terminals_of(&self.form, self.form.symbol_after(dot)) {
                let Some(start) = starts[terminal.index()].automaton_state() else { return Ok(false) };
                match prefixes_inside(&mut stepper.automata, start, vocabulary.trie(), left)? {
                    Some(count) => left -= count,
                    None => return Ok(false),
                }
            }
        }
        Ok(true)
    }
}

/// The number of nodes of a trie that are prefixes of a terminal's texts; `None` if they are more than `max`.
fn prefixes_inside(
    automata: &mut Automata,
    start: StateId,
    trie: &TokenTrie,
    max: usize,
) -> Result<Option<usize>, LimitExceeded> {
    let mut count = 0;
    let mut stack = vec![(TrieNode::ROOT, start)];
    while let Some((node, state)) = stack.pop() {
        for child in trie.children(node) {
            if let Some(next) = automata.step(state, trie.byte(child))? {
                count += 1;
                stack.push((child, next));
            }
        }
        if count > max {
            return Ok(None);
        }
    }
    Ok(Some(count))
}
