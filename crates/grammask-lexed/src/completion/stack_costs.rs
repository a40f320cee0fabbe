//! The lengths of the shortest completions of parser stacks, in bytes.
//!
//! A stack is completed by completing an item of its top state: the rest of the item's production is written, the
//! production is reduced, and the stack after the reduction is completed. The reduced stack is shorter, or it has the
//! same stack below its top state. The cost is therefore a fold over the stack, memoised by stack; stacks with the same
//! lower part are solved together, by relaxation, because their items can reduce into each other.
//!
//! The cost of a stack is the minimum over all texts that the LR(0) automaton accepts. Look-aheads and resolved
//! conflicts only exclude texts, so it is a lower bound.
//!
//! The Earley recogniser has no static stacks; the cost of its sets is the number of missing terminals.

use rustc_hash::FxHashMap;

use crate::completion::lexeme_costs::CLASSES;
use crate::completion::sentence_costs::{ClassCosts, SentenceCosts};
use crate::completion::UNREACHABLE;
use crate::masks::token_set_store::hash_map_bytes;
use crate::parser::lalr::LalrTable;
use crate::parser::lr_automaton::{LrItem, LrState};
use crate::parser::stacks::{Attempt, StackId, TerminalParser};
use grammask_grammar::TerminalId;

/// What remains of an item: the costs of its rest, and the stack after its reduction.
enum ItemRest {
    /// The text ends.
    Accept,
    /// The stack after the reduction.
    Reduced(StackId),
}

/// Memoised costs of stacks.
#[derive(Debug)]
pub(crate) struct StackCosts {
    sentences: SentenceCosts,
    /// By the left class of the last terminal before the completion.
    costs: FxHashMap<StackId, ClassCosts>,
    /// The costs after feeding a terminal.
    after_terminal: FxHashMap<(StackId, TerminalId), u32>,
}

impl StackCosts {
    pub(crate) fn new(sentences: SentenceCosts) -> Self {
        Self { sentences, costs: FxHashMap::default(), after_terminal: FxHashMap::default() }
    }

    /// The cost of completing a stack after a lexeme of `terminal` is fed to it; `UNREACHABLE` if it is refused.
    pub(crate) fn after_terminal(
        &mut self,
        parser: &mut TerminalParser,
        table: Option<&LalrTable>,
        stack: StackId,
        terminal: TerminalId,
    ) -> u32 {
        if let Some(&cached) = self.after_terminal.get(&(stack, terminal)) {
            return cached;
        }
        let cost = match parser.feed(stack, terminal) {
            Attempt::Accepted(next) => self.of(parser, table, next)[self.sentences.left_class(terminal)],
            Attempt::Refused | Attempt::Open(_) => UNREACHABLE,
        };
        if !parser.has_failed() {
            self.after_terminal.insert((stack, terminal), cost);
        }
        cost
    }

    /// The costs of completing a stack, by the left class of the last terminal.
    pub(crate) fn of(
        &mut self,
        parser: &mut TerminalParser,
        table: Option<&LalrTable>,
        stack: StackId,
    ) -> ClassCosts {
        if let Some(&cached) = self.costs.get(&stack) {
            return cached;
        }
        let Some(table) = table else { return [0; CLASSES] };
        let mut pending = vec![stack];
        while let Some(&next) = pending.last() {
            if self.costs.contains_key(&next) || self.solve(parser, table, next, &mut pending) {
                pending.pop();
            }
        }
        self.costs.get(&stack).copied().unwrap_or([0; CLASSES])
    }

    /// Computes the costs of a stack and of the stacks with the same lower part that it reduces to. If costs of
    /// shorter stacks are missing, adds these to `pending` instead and returns false.
    fn solve(
        &mut self,
        parser: &mut TerminalParser,
        table: &LalrTable,
        stack: StackId,
        pending: &mut Vec<StackId>,
    ) -> bool {
        let below = parser.state_and_below(stack).1;
        // The stacks to solve together, and their items: the rest of the production and the stack after it.
        let mut together = vec![stack];
        let mut items: Vec<(usize, LrItem, ItemRest)> = Vec::new();
        let known = pending.len();
        let mut next = 0;
        while let Some(&current) = together.get(next) {
            let (state, _) = parser.state_and_below(current);
            for &item in &table.automaton.kernels[state.index()] {
                let Some(rest) = reduced_stack(parser, table, current, item) else { continue };
                if let ItemRest::Reduced(reduced) = rest
                    && !self.costs.contains_key(&reduced)
                    && !together.contains(&reduced)
                {
                    if item.dot == 1 && parser.state_and_below(reduced).1 == below {
                        together.push(reduced);
                    } else {
                        pending.push(reduced);
                    }
                }
                items.push((next, item, rest));
            }
            next += 1;
        }
        if pending.len() > known {
            return false;
        }
        let mut costs = vec![[UNREACHABLE; CLASSES]; together.len()];
        loop {
            let mut has_changed = false;
            for (of, item, rest) in &items {
                let after = match rest {
                    ItemRest::Accept => [0; CLASSES],
                    ItemRest::Reduced(reduced) => match self.costs.get(reduced) {
                        Some(&cost) => cost,
                        None => match together.iter().position(|other| other == reduced) {
                            Some(index) => costs[index],
                            None => continue,
                        },
                    },
                };
                let rhs = &table.automaton.productions[item.production as usize].rhs;
                let item_costs = self.sentences.before(&rhs[item.dot as usize..], after);
                for (cost, &other) in costs[*of].iter_mut().zip(&item_costs) {
                    has_changed |= other < *cost;
                    *cost = other.min(*cost);
                }
            }
            if !has_changed {
                break;
            }
        }
        self.costs.extend(together.into_iter().zip(costs));
        true
    }

    /// Memory in bytes, estimated.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.sentences.memory_bytes() + hash_map_bytes(&self.costs) + hash_map_bytes(&self.after_terminal)
    }
}

/// The stack after an item of the top state is completed and reduced; `None` if the tables have no such stack.
fn reduced_stack(
    parser: &mut TerminalParser,
    table: &LalrTable,
    stack: StackId,
    item: LrItem,
) -> Option<ItemRest> {
    if item.production as usize == table.automaton.productions.len() - 1 {
        return Some(ItemRest::Accept);
    }
    let mut base = stack;
    for _ in 0..item.dot {
        base = parser.state_and_below(base).1?;
    }
    let state: LrState = parser.state_and_below(base).0;
    let next = table.goto(state, table.automaton.productions[item.production as usize].lhs)?;
    Some(ItemRest::Reduced(parser.push(base, next)))
}
