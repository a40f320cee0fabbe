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
//! The Earley recogniser has no static stacks; the cost of one of its sets is the fewest terminals that complete it, each
//! of which has at least one byte. In a language with indentation some have none, and then the cost is zero.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::completion::block_levels::{BlockLevels, BlocksId};
use crate::completion::lexeme_costs::{CLASSES, FREE, LexemeCosts};
use crate::completion::production_rests::ProductionRests;
use crate::completion::sentence_costs::{ClassCosts, SentenceCosts};
use crate::completion::{UNREACHABLE, sum};
use crate::definition::grammar::LexedSymbol;
use crate::definition::source::IndentationMeasure;
use crate::masks::token_set_store::hash_map_bytes;
use crate::parser::lalr::{Goto, LalrTable};
use crate::parser::lr_automaton::{LrItem, LrState};
use crate::parser::parsing_tables::ParsingTables;
use crate::parser::stacks::{Attempt, StackId, TerminalParser};
use crate::parser::terminal_set::TerminalSet;
use crate::prepared::PreparedGrammar;
use grammask_collections::id_type;
use grammask_grammar::TerminalId;
use grammask_vocabulary::Vocabulary;

/// A parser stack with its open blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct OpenStack {
    pub(crate) stack: StackId,
    pub(crate) blocks: BlocksId,
}

/// The stack after an item of the top state is completed and reduced.
#[derive(Clone, Copy)]
enum AfterItem {
    /// The text ends.
    End,
    Reduced(OpenStack),
}

/// An item of one of the stacks that are solved together.
struct PendingItem {
    /// The index of its stack.
    of: usize,
    item: LrItem,
    after: AfterItem,
}

/// The costs after an item of a stack that is solved with others.
enum AfterCosts {
    Known(ClassCosts),
    /// Those of another one, by its index.
    Together(usize),
}

/// Memoised costs of stacks.
#[derive(Debug)]
pub(crate) struct StackCosts {
    pub(crate) sentences: SentenceCosts,
    pub(crate) blocks: BlockLevels,
    /// By the left class of the last terminal before the completion.
    costs: FxHashMap<OpenStack, ClassCosts>,
    /// The encodings of the terminals that have lexemes or are without text, for the Earley recogniser.
    encodings: Option<Vocabulary>,
    /// The costs after feeding a terminal.
    after_terminal: FxHashMap<(OpenStack, TerminalId), u32>,
    rests: ProductionRests,
    next_terminals: FxHashMap<OpenStack, NextTerminals>,
    /// The sets of cheapest terminals, of which there are few.
    cheapest: Vec<TerminalSet>,
    cheapest_ids: FxHashMap<TerminalSet, CheapestTerminalsId>,
}

id_type! {
    /// Interned terminals with which the cheapest completions of a stack begin.
    CheapestTerminalsId
}

/// Lower bounds of the completions of a stack by the terminal that it reads next, without steps of the parser.
///
/// The parser reads the terminal in this stack, or in one after items whose rests may have no text. There it begins the rest
/// of an item of the top state, and the completion goes on after that item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextTerminals {
    /// The least cost of the text after an item of the top state that is not complete. The completion contains that, after
    /// the terminal and the rest of the terminal's production.
    beyond_production: u32,
    /// The least cost of the rest of an item and of the text after it.
    least: u32,
    /// The terminals that begin a rest of the least cost. Completions that begin with others cost more.
    cheapest: CheapestTerminalsId,
}

impl NextTerminals {
    /// A lower bound of the completions of the stack.
    pub(crate) fn least(self) -> u32 {
        self.least
    }
}

impl StackCosts {
    pub(crate) fn new(prepared: &PreparedGrammar, lexemes: Arc<LexemeCosts>) -> Self {
        let grammar = &prepared.grammar;
        let indentation = grammar.indentation.as_ref();
        let measure = indentation
            .map_or(IndentationMeasure::Columns { tab_length: 1 }, |indentation| indentation.measure);
        let is_possible = |&terminal: &TerminalId| {
            lexemes.shortest(terminal) < UNREACHABLE
                || indentation.is_some_and(|blocks| terminal == blocks.indent || terminal == blocks.dedent)
        };
        let encodings = match &*prepared.tables {
            ParsingTables::Lalr(_) => None,
            ParsingTables::Earley(language) => {
                let terminals = (0..grammar.terminals.len()).map(TerminalId::new);
                language.vocabulary(terminals.filter(is_possible))
            }
        };
        let rests = ProductionRests::new(grammar, &lexemes);
        let mut sentences = SentenceCosts::new(grammar.clone(), lexemes);
        Self {
            encodings,
            blocks: BlockLevels::new(measure, &mut sentences),
            sentences,
            costs: FxHashMap::default(),
            after_terminal: FxHashMap::default(),
            rests,
            next_terminals: FxHashMap::default(),
            cheapest: Vec::new(),
            cheapest_ids: FxHashMap::default(),
        }
    }

    /// The cost of completing a stack after a lexeme of `terminal`, other than a newline, is fed to it; `UNREACHABLE`
    /// if it is refused.
    pub(crate) fn after_terminal(
        &mut self,
        prepared: &PreparedGrammar,
        parser: &mut TerminalParser,
        open: OpenStack,
        terminal: TerminalId,
    ) -> u32 {
        if let Some(&cached) = self.after_terminal.get(&(open, terminal)) {
            return cached;
        }
        let cost = match parser.feed(open.stack, terminal) {
            Attempt::Accepted(stack) => {
                let costs = self.of(prepared, parser, OpenStack { stack, ..open });
                costs[self.sentences.left_class(terminal)]
            }
            Attempt::Refused | Attempt::Open(_) => UNREACHABLE,
        };
        if !parser.has_failed() {
            self.after_terminal.insert((open, terminal), cost);
        }
        cost
    }

    /// The cost after feeding a terminal, if it was computed.
    pub(crate) fn known_after_terminal(&self, open: OpenStack, terminal: TerminalId) -> Option<u32> {
        self.after_terminal.get(&(open, terminal)).copied()
    }

    /// A lower bound of the completion after a lexeme of `terminal`, which is fed to the stack of `next`.
    pub(crate) fn after_terminal_at_least(
        &self,
        next: NextTerminals,
        lexemes: &LexemeCosts,
        terminal: TerminalId,
    ) -> u32 {
        let is_cheapest = self.cheapest[next.cheapest.index()].contains(terminal);
        let total = next.least + u32::from(!is_cheapest);
        let by_production = sum(self.rests.after_terminal(terminal), next.beyond_production);
        total.saturating_sub(lexemes.shortest(terminal)).max(by_production)
    }

    /// Bounds by the next terminal, which for an Earley set are the same for all terminals. Memoised.
    pub(crate) fn next_terminals(
        &mut self,
        prepared: &PreparedGrammar,
        parser: &mut TerminalParser,
        open: OpenStack,
    ) -> NextTerminals {
        if let Some(&cached) = self.next_terminals.get(&open) {
            return cached;
        }
        let mut cheapest = TerminalSet::new(prepared.grammar.terminals.len());
        let Some(table) = prepared.table() else {
            let least = self.of(prepared, parser, open)[usize::from(FREE)];
            let cheapest = self.intern_cheapest(cheapest);
            return NextTerminals { beyond_production: 0, least: least.saturating_sub(1), cheapest };
        };
        let (mut beyond_production, mut least) = (UNREACHABLE, UNREACHABLE);
        let mut stacks = vec![open];
        let mut next = 0;
        while let Some(&current) = stacks.get(next) {
            next += 1;
            let (state, _) = parser.state_and_below(current.stack);
            for &item in &table.automaton.kernels[state.index()] {
                let after = match self.after_item(prepared, table, parser, current, item) {
                    None => continue,
                    Some(AfterItem::End) => {
                        (beyond_production, least) = (0, 0);
                        continue;
                    }
                    Some(AfterItem::Reduced(reduced)) => reduced,
                };
                let after_cost = self.of(prepared, parser, after)[usize::from(FREE)];
                let production = &table.automaton.productions[item.production as usize];
                if (item.dot as usize) < production.rhs.len() {
                    beyond_production = after_cost.min(beyond_production);
                }
                let rest = self.rests.of_item(item);
                let cost = sum(rest, after_cost);
                if cost < least {
                    least = cost;
                    cheapest = TerminalSet::new(prepared.grammar.terminals.len());
                }
                if cost == least {
                    cheapest.union_with(self.rests.begin_of_item(item));
                }
                // The rest may be empty.
                if rest == 0 && !stacks.contains(&after) {
                    stacks.push(after);
                }
            }
        }
        let cheapest = self.intern_cheapest(cheapest);
        let found = NextTerminals { beyond_production, least, cheapest };
        if !parser.has_failed() {
            self.next_terminals.insert(open, found);
        }
        found
    }

    fn intern_cheapest(&mut self, cheapest: TerminalSet) -> CheapestTerminalsId {
        if let Some(&known) = self.cheapest_ids.get(&cheapest) {
            return known;
        }
        let id = CheapestTerminalsId::new(self.cheapest.len());
        self.cheapest.push(cheapest.clone());
        self.cheapest_ids.insert(cheapest, id);
        id
    }

    /// The costs of completing a stack, by the left class of the last terminal.
    pub(crate) fn of(
        &mut self,
        prepared: &PreparedGrammar,
        parser: &mut TerminalParser,
        open: OpenStack,
    ) -> ClassCosts {
        if let Some(&cached) = self.costs.get(&open) {
            return cached;
        }
        let Some(table) = prepared.table() else {
            let costs = [self.of_earley_set(prepared, parser, open.stack); CLASSES];
            if !parser.has_failed() {
                self.costs.insert(open, costs);
            }
            return costs;
        };
        let mut pending = vec![open];
        while let Some(&next) = pending.last() {
            if self.costs.contains_key(&next) || self.solve(prepared, table, parser, next, &mut pending) {
                pending.pop();
            }
        }
        self.costs.get(&open).copied().unwrap_or([0; CLASSES])
    }

    /// The cost of completing an Earley set.
    fn of_earley_set(&self, prepared: &PreparedGrammar, parser: &mut TerminalParser, set: StackId) -> u32 {
        let Some(encodings) = &self.encodings else { return 0 };
        match parser.fewest_terminals(set, encodings) {
            Some(_) if prepared.grammar.indentation.is_some() => 0,
            Some(fewest) => fewest.min(UNREACHABLE),
            None => UNREACHABLE,
        }
    }

    /// Computes the costs of a stack and of the stacks with the same lower part that it reduces to. If costs of
    /// shorter stacks are missing, adds these to `pending` instead and returns false.
    fn solve(
        &mut self,
        prepared: &PreparedGrammar,
        table: &LalrTable,
        parser: &mut TerminalParser,
        open: OpenStack,
        pending: &mut Vec<OpenStack>,
    ) -> bool {
        let below = parser.state_and_below(open.stack).1;
        let mut together = vec![open];
        let mut items: Vec<PendingItem> = Vec::new();
        let known = pending.len();
        let mut of = 0;
        while let Some(&current) = together.get(of) {
            let (state, _) = parser.state_and_below(current.stack);
            for &item in &table.automaton.kernels[state.index()] {
                let Some(after) = self.after_item(prepared, table, parser, current, item) else { continue };
                if let AfterItem::Reduced(reduced) = after
                    && !self.costs.contains_key(&reduced)
                    && !together.contains(&reduced)
                {
                    if item.dot == 1 && parser.state_and_below(reduced.stack).1 == below {
                        together.push(reduced);
                    } else {
                        pending.push(reduced);
                    }
                }
                items.push(PendingItem { of, item, after });
            }
            of += 1;
        }
        if pending.len() > known {
            return false;
        }
        let costs_after = |after| match after {
            AfterItem::End => Some(AfterCosts::Known([0; CLASSES])),
            AfterItem::Reduced(reduced) => match self.costs.get(&reduced) {
                Some(&known) => Some(AfterCosts::Known(known)),
                None => together.iter().position(|&other| other == reduced).map(AfterCosts::Together),
            },
        };
        let mut items: Vec<(usize, LrItem, AfterCosts)> = items
            .into_iter()
            .filter_map(|PendingItem { of, item, after }| Some((of, item, costs_after(after)?)))
            .collect();
        // Of one stack those of short rests are last, and visited first: they mostly decide.
        items.sort_by_key(|&(of, item, _)| (of, std::cmp::Reverse(self.rests.of_item(item))));
        let is_recursive = items.iter().any(|(_, _, after)| matches!(after, AfterCosts::Together(_)));
        let mut costs = vec![[UNREACHABLE; CLASSES]; together.len()];
        let mut levels = Vec::new();
        loop {
            let mut has_changed = false;
            // A stack mostly reduces to those that were found after it.
            for &(of, item, ref after) in items.iter().rev() {
                let after = match *after {
                    AfterCosts::Known(known) => known,
                    AfterCosts::Together(other) => costs[other],
                };
                // Separators only add to the length of the rest.
                let least = sum(self.rests.of_item(item), after.iter().copied().min().unwrap_or(0));
                if costs[of].iter().all(|&cost| cost <= least) {
                    continue;
                }
                let rest = &table.automaton.productions[item.production as usize].rhs[item.dot as usize..];
                let blocks = together[of].blocks;
                let mut outside = |ends| self.blocks.level(self.blocks.outside(blocks, ends));
                self.sentences.levels_of(rest, self.blocks.level(blocks), &mut outside, &mut levels);
                let item_costs = self.sentences.before(rest, &levels, after);
                for (cost, &other) in costs[of].iter_mut().zip(&item_costs) {
                    has_changed |= other < *cost;
                    *cost = other.min(*cost);
                }
            }
            if !has_changed || !is_recursive {
                break;
            }
        }
        self.costs.extend(together.into_iter().zip(costs));
        true
    }

    /// The stack after an item of the top state is completed and reduced; `None` if the tables have no such stack.
    fn after_item(
        &self,
        prepared: &PreparedGrammar,
        table: &LalrTable,
        parser: &mut TerminalParser,
        open: OpenStack,
        item: LrItem,
    ) -> Option<AfterItem> {
        if item.production as usize == table.automaton.productions.len() - 1 {
            return Some(AfterItem::End);
        }
        let production = &table.automaton.productions[item.production as usize];
        let mut base = open.stack;
        for _ in 0..item.dot {
            base = parser.state_and_below(base).1?;
        }
        let state: LrState = parser.state_and_below(base).0;
        let stack = match table.reduced(state, production.lhs)? {
            Goto::Push(next) => parser.push(base, next),
            Goto::Stay => base,
        };
        let mut blocks = open.blocks;
        if let Some(indentation) = &prepared.grammar.indentation {
            // Blocks are balanced in a production, so the rest ends those that were begun before the dot.
            let read = &production.rhs[..item.dot as usize];
            let count =
                |terminal| read.iter().filter(|&&symbol| symbol == LexedSymbol::Terminal(terminal)).count();
            blocks = self.blocks.outside(blocks, count(indentation.indent) - count(indentation.dedent));
        }
        Some(AfterItem::Reduced(OpenStack { stack, blocks }))
    }

    /// Memory in bytes, estimated.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.sentences.memory_bytes()
            + self.blocks.memory_bytes()
            + hash_map_bytes(&self.costs)
            + hash_map_bytes(&self.after_terminal)
            + hash_map_bytes(&self.next_terminals)
            + self.cheapest.len() * (2 * size_of::<TerminalSet>() + 16)
            + self.rests.memory_bytes()
    }
}
