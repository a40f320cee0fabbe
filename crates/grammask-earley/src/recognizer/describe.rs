//! Sets as text: the expected terminals in the grammar's own names, and the items for `grammask debug sets`.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write;

use rustc_hash::FxHashSet;

use crate::lowering::{PartSequence, Symbol, whole_terminal};
use grammask_automata::{Automata, StateId, TermId};
use grammask_diagnostics::LimitExceeded;
use grammask_engine::{Descriptions, Expectation, FirstTerminals, SetId};
use grammask_grammar::Terminal;

use super::continuation::ContinuationId;
use super::embedded::EmbeddedState;
use super::kernel::Item;
use super::stepping::Stepper;
use super::{Builder, Recognizer};

impl Descriptions for Recognizer {
    fn expectations(&self, set: SetId) -> Result<Vec<Expectation>, LimitExceeded> {
        self.expected_terminals(set)
    }

    fn first_terminals(&self, set: SetId, texts: &[&[u8]]) -> Result<FirstTerminals, LimitExceeded> {
        self.find_first_terminals(set, texts)
    }

    fn describe(&self, set: SetId) -> String {
        self.describe_set(set)
    }
}

/// A part of a merged terminal that is read next, or continues.
struct ExpectedPart<'a> {
    label: &'a str,
    has_begun: bool,
}

/// The parts of a merged terminal that can come next in a state of its automaton: those in which a text is that leads to
/// the state. Cost: the product of the automaton with those of the parts, which are small.
fn expected_parts<'a>(
    merged: &'a PartSequence,
    whole: TermId,
    state: StateId,
    automata: &mut Automata,
) -> Result<Vec<ExpectedPart<'a>>, LimitExceeded> {
    let mut starts = Vec::with_capacity(merged.parts.len());
    for part in &merged.parts {
        starts.push(automata.start(part.term)?);
    }
    let mut pending: Vec<(StateId, usize, StateId)> = Vec::new();
    if let Some(start) = automata.start(whole)? {
        pending.extend(merged.first.iter().filter_map(|&index| Some((start, index, starts[index]?))));
    }
    let mut visited: FxHashSet<(StateId, usize, StateId)> = pending.iter().copied().collect();
    let mut expected = BTreeSet::new();
    while let Some((position, index, inside)) = pending.pop() {
        if position == state && automata.continues(inside)? {
            expected.insert((index, Some(inside) != starts[index]));
        }
        let mut next: Vec<(StateId, usize, StateId)> = Vec::new();
        if automata.is_accepting(inside) {
            let after = merged.after[index].iter();
            next.extend(after.filter_map(|&index| Some((position, index, starts[index]?))));
        }
        for step in automata.joint_steps(position, inside)? {
            next.extend(step.left.zip(step.right).map(|(position, inside)| (position, index, inside)));
        }
        pending.extend(next.into_iter().filter(|&place| visited.insert(place)));
    }
    let part =
        |(index, has_begun): (usize, bool)| ExpectedPart { label: &merged.parts[index].label, has_begun };
    Ok(expected.into_iter().rev().map(part).collect())
}

impl Recognizer {
    fn expected_terminals(&self, set: SetId) -> Result<Vec<Expectation>, LimitExceeded> {
        let mut builder = self.lock();
        let begun = builder.items(self.set(set));
        let scans = builder.scans(self, set)?;
        let mut distinct = FxHashSet::default();
        let mut expectations = Vec::new();
        for item in &scans {
            for expectation in self.expectations_of(&mut builder, item, begun.binary_search(item).is_ok())? {
                if distinct.insert(expectation.clone()) {
                    expectations.push(expectation);
                }
            }
        }
        expectations.sort_by_key(|expectation| !expectation.has_begun);
        Ok(expectations)
    }

    /// The terminal of an item, or those of an embedded grammar.
    fn expectations_of(
        &self,
        builder: &mut Builder,
        item: &Item,
        has_begun: bool,
    ) -> Result<Vec<Expectation>, LimitExceeded> {
        let stepper = &mut builder.stepper;
        let state = stepper.token_limited(item.state).map_or(item.state, |limited| limited.state);
        let symbol = self.form.symbol_after(item.dot);
        let label = self.form.symbol_name(symbol);
        let Some(EmbeddedState { grammar, set }) = stepper.embedded.get(state) else {
            let mut parts = Vec::new();
            if let Symbol::Terminal(terminal) = symbol
                && let Some(merged) = self.form.merged.get(&terminal)
                && let Terminal::Regular(whole) = self.form.terminal(terminal).terminal
                && let Some(state) = state.automaton_state()
            {
                parts = expected_parts(merged, whole, state, &mut stepper.automata)?;
            }
            if parts.is_empty() {
                return Ok(self.uses_of(builder, item, label, has_begun));
            }
            let uses = |part: ExpectedPart<'_>| self.uses_of(builder, item, part.label, part.has_begun);
            return Ok(parts.into_iter().flat_map(uses).collect());
        };
        let inner = stepper.embedded.engine(grammar).expectations(set)?;
        let named = inner.into_iter().map(|inner| Expectation {
            rule: format!("{} in {label}", inner.rule),
            rule_label: inner.rule_label.as_ref().map(|rule| match rule.as_str() {
                "" => label.to_owned(),
                rule => format!("{rule} in {label}"),
            }),
            has_begun: has_begun && inner.has_begun,
            ..inner
        });
        Ok(named.collect())
    }

    /// The terminal of an item in the rules of the author that have it. A part of a terminal whose counters were split is
    /// the terminal, and the parts of a composition have no names.
    fn uses_of(&self, builder: &Builder, item: &Item, label: &str, has_begun: bool) -> Vec<Expectation> {
        let mut uses = Vec::new();
        let mut visited = FxHashSet::default();
        let mut pending = vec![(item.dot, item.continuation, label, has_begun)];
        while let Some((dot, continuation, label, has_begun)) = pending.pop() {
            let production = self.form.production_of(dot);
            let name = &self.form.names[production.lhs.index()];
            let whole = whole_terminal(name);
            let has_begun = has_begun || (whole.is_some() && dot != production.first_dot);
            let label = whole.unwrap_or(label);
            let users = builder.continuations.get(continuation);
            if (whole.is_some() || user_rule(name).is_empty()) && users.entries().len() > 0 {
                for (dot, next) in users.entries() {
                    if visited.insert((dot, next)) {
                        pending.push((dot, next, label, has_begun));
                    }
                }
            } else {
                let (terminal, rule) = (label.to_owned(), user_rule(name).to_owned());
                uses.push(Expectation { terminal, terminal_label: None, rule, rule_label: None, has_begun });
            }
        }
        uses
    }

    /// An embedded grammar counts as one terminal.
    fn find_first_terminals(&self, set: SetId, texts: &[&[u8]]) -> Result<FirstTerminals, LimitExceeded> {
        let mut builder = self.lock();
        let begun = builder.items(self.set(set));
        let scans = builder.scans(self, set)?;
        let mut found = FirstTerminals::default();
        let mut indices = Vec::with_capacity(scans.len());
        for item in &scans {
            let terminal = self.form.symbol_name(self.form.symbol_after(item.dot)).to_owned();
            let (rule, has_begun) = (self.rule_name(item).to_owned(), begun.binary_search(item).is_ok());
            indices.push(found.index_of(Expectation {
                terminal,
                terminal_label: None,
                rule,
                rule_label: None,
                has_begun,
            }));
        }
        for text in texts {
            let mut terminals = Vec::new();
            for (item, &index) in scans.iter().zip(&indices) {
                if builder.stepper.begins(item.state, text)? {
                    terminals.push(index);
                }
            }
            terminals.sort_unstable();
            terminals.dedup();
            found.of_text.push(terminals);
        }
        Ok(found)
    }

    /// The rule of the source that an item belongs to. Nonterminals that lowering adds are named after it.
    fn rule_name(&self, item: &Item) -> &str {
        user_rule(&self.form.names[self.form.production_of(item.dot).lhs.index()])
    }

    /// The kernel of a set and the continuations that it refers to, one item a line.
    fn describe_set(&self, set: SetId) -> String {
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
        if item.state.is_in_value() {
            return format!(
                " (inside a value, at set {})",
                builder.remembered.state(item.state).set.as_u32()
            );
        }
        let Stepper { automata, embedded, .. } = &builder.stepper;
        let (state, left) = match builder.stepper.token_limited(item.state) {
            Some(limited) => (limited.state, format!(", {} more tokens", limited.tokens_left)),
            None => (item.state, String::new()),
        };
        if let Some(EmbeddedState { set, .. }) = embedded.get(state) {
            return format!(" (state {} of the embedded grammar{left})", set.as_u32());
        }
        match state.automaton_state() {
            Some(state) if is_terminal => {
                format!(" (needs {}{left})", automata.terms().display(automata.term(state)))
            }
            _ => String::new(),
        }
    }
}

/// The part of a rule's name that is the user's.
fn user_rule(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}
