//! Bounds of the lengths of shortest completions: over all sets, and over the sets within reach.
//!
//! A text inside a production is inside one of its symbols; to complete it, complete that symbol, then read the symbols
//! after it. So the lengths are bounded by the longest paths of a graph with an edge from each nonterminal to each
//! symbol of its productions, weighted by the shortest text of the symbols after it.
//!
//! - *Over all sets*: a cycle of positive weight is nesting, and then there is no bound.
//! - *Over the sets that some bytes reach*: an edge also has the number of bytes before its symbol, which a text has
//!   read before it is inside the symbol. If no cycle weighs more than `a` per byte, paths that read n bytes weigh at
//!   most `a n` more than the longest path under the weights less `a` per byte.
//!
//! Productions with the same symbols up to a position share the edge with the least weight, since a text inside one is
//! inside all of them. Left recursion is no nesting. Inside a left corner of X that is an X again, a text is also
//! inside the first X, since both begin at the same position. So a chain of left corners visits each nonterminal of a
//! component of the left-corner relation at most once, and the edges between them are replaced by a constant of the
//! component.

use rustc_hash::FxHashMap;

use crate::lowering::{NormalForm, RightHandSide, Symbol};
use grammask_automata::StateId;
use grammask_collections::graph::{AdjacencyList, components_of};
use grammask_diagnostics::LimitExceeded;
use grammask_engine::Reach;
use grammask_grammar::{NonterminalId, PartId, TerminalId};

use super::super::embedded::EmbeddedState;
use super::super::kernel::ItemState;
use super::super::left_corner::LeftCorners;
use super::shortest::Length;
use super::tables::length_of;
use super::{Completions, Parts};

/// Maximum number of automaton states of all terminals whose distances are computed; terminals share many of them.
const MAX_STATES: usize = 1 << 16;
/// The same for one terminal.
const MAX_TERMINAL_STATES: usize = 1 << 12;
/// Candidates for the growth per byte.
const GROWTHS: [u32; 14] = [1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 128, 256, 1024, 4096];
/// Maximum number of rounds in which the longest paths under one candidate are searched.
const MAX_ROUNDS: usize = 64;

/// Bounds of the lengths of shortest completions.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompletionBounds {
    longest: Length,
    growth: Option<GrowthBound>,
}

/// The maximum length of the completions of items that descend from one item, more than the completion of that item.
#[derive(Clone, Copy, Debug)]
pub(super) struct GrowthBound {
    per_byte: u32,
    once: Length,
}

/// An edge from a component of the left-corner relation to a symbol of one of its productions.
#[derive(Clone, Copy, Debug)]
struct NestingEdge {
    from: usize,
    to: usize,
    /// The shortest text after the symbol.
    weight: Length,
    /// A lower bound of the bytes before the symbol.
    bytes: u32,
}

/// A position in the productions of a nonterminal.
#[derive(Clone, Copy, Debug)]
struct ProductionPosition {
    symbol: Symbol,
    /// A lower bound of the bytes before the symbol.
    bytes: u32,
    /// The shortest text after the symbol.
    weight: Length,
}

/// The graph of a grammar. Its nodes are the terminals, then the components of the left-corner relation.
#[derive(Debug)]
struct NestingGraph {
    edges: Vec<NestingEdge>,
    /// For each terminal the longest of the shortest completions inside it.
    longest_in_terminals: Vec<Length>,
    /// For each node the shortest text of its symbols; the longest of these in a component.
    shortest: Vec<Length>,
    /// For each component the maximum weight of a chain of left corners inside it.
    slacks: Vec<Length>,
}

impl GrowthBound {
    /// The growth by some bytes.
    pub(super) fn by(self, bytes: usize) -> Length {
        Length::new(bytes as u64).times(self.per_byte).plus(self.once)
    }
}

impl CompletionBounds {
    /// A bound over all sets.
    pub(super) fn longest(self) -> Length {
        self.longest
    }

    /// A bound over the sets that some bytes reach, relative to the longest item of a set.
    pub(super) fn growth(self) -> Option<GrowthBound> {
        self.growth
    }
}

impl Completions {
    /// The bounds, computed by the first call. With embedded grammars, whose bounds may depend on the reach, the second
    /// one is for sets within `reach`, and neither covers texts of embedded grammars that began before it.
    pub(super) fn bounds(
        &mut self,
        reach: Option<Reach>,
        parts: &mut Parts<'_>,
    ) -> Result<CompletionBounds, LimitExceeded> {
        let reach = reach.filter(|_| !parts.embedded.is_empty());
        if let Some(&bounds) = self.bounds.get(&reach) {
            return Ok(bounds);
        }
        let bounds = match parts.form.start {
            Some(dot) => {
                let graph = self.nesting_graph(reach, parts)?;
                let start = Symbol::Nonterminal(parts.form.production_of(dot).lhs);
                let inside = graph.longest_path(graph.node(parts.left_corners, start));
                let longest = self.texts.of(start).length.max(inside);
                // Without nesting, the bound over all sets is better.
                let growth = if longest == Length::INFINITE { graph.growth() } else { None };
                CompletionBounds { longest, growth }
            }
            None => CompletionBounds { longest: Length::ZERO, growth: None },
        };
        self.bounds.insert(reach, bounds);
        Ok(bounds)
    }

    /// The graph of the grammar. Linear in the grammar, and in the terms or the states of the terminals.
    fn nesting_graph(
        &mut self,
        reach: Option<Reach>,
        parts: &mut Parts<'_>,
    ) -> Result<NestingGraph, LimitExceeded> {
        let longest_in_terminals = self.longest_in_terminals(reach, parts)?;
        let Parts { form, left_corners, .. } = parts;
        let terminals = longest_in_terminals.len();
        let components = left_corners.component_count();
        let mut graph = NestingGraph {
            edges: Vec::new(),
            longest_in_terminals,
            shortest: vec![Length::INFINITE; terminals],
            slacks: vec![Length::ZERO; components],
        };
        for (index, shortest) in graph.shortest.iter_mut().enumerate() {
            *shortest = self.texts.of(Symbol::Terminal(TerminalId::new(index))).length;
        }
        graph.shortest.resize(terminals + components, Length::ZERO);
        for nonterminal in (0..form.nonterminal_count()).map(NonterminalId::new) {
            let component = terminals + left_corners.component_of(nonterminal.index());
            let own = self.texts.of(Symbol::Nonterminal(nonterminal)).length;
            graph.shortest[component] = graph.shortest[component].max(own);
        }
        // For each component the maximum weight of the left corners inside it, by nonterminal.
        let mut inner: Vec<Vec<Length>> = vec![Vec::new(); components];
        for nonterminal in 0..form.nonterminal_count() {
            let component = left_corners.component_of(nonterminal);
            let mut heaviest = Length::ZERO;
            for ProductionPosition { symbol, bytes, weight } in
                self.positions(form, NonterminalId::new(nonterminal))
            {
                let to = graph.node(left_corners, symbol);
                if bytes == 0 && to == terminals + component {
                    heaviest = heaviest.max(weight);
                } else {
                    graph.edges.push(NestingEdge { from: terminals + component, to, weight, bytes });
                }
            }
            inner[component].push(heaviest);
        }
        for (slack, inner) in graph.slacks.iter_mut().zip(inner) {
            // A chain of left corners visits each member at most once, and does not leave the last one.
            let lightest = inner.iter().copied().min().unwrap_or(Length::ZERO);
            let mut is_left_out = false;
            for weight in inner {
                if weight != lightest || std::mem::replace(&mut is_left_out, true) {
                    *slack = slack.plus(weight);
                }
            }
        }
        Ok(graph)
    }

    /// The positions in the productions of a nonterminal. Where productions have the same symbols up to a position, a
    /// text is inside all of them, and the shortest text after the symbol counts.
    fn positions(&self, form: &NormalForm, nonterminal: NonterminalId) -> Vec<ProductionPosition> {
        let mut positions: Vec<ProductionPosition> = Vec::new();
        // By the position before, and the symbol.
        let mut after: FxHashMap<(Option<usize>, Symbol), usize> = FxHashMap::default();
        for production in form.productions_of(nonterminal) {
            let is_sequence = matches!(production.rhs, RightHandSide::Sequence(_));
            let mut before = None;
            self.for_each_position(&production.rhs, |symbol, bytes, weight| {
                let known = after.get(&(before, symbol)).copied().filter(|_| is_sequence);
                let position = known.unwrap_or(positions.len());
                match positions.get_mut(position) {
                    Some(shared) => shared.weight = shared.weight.min(weight),
                    None => positions.push(ProductionPosition { symbol, bytes, weight }),
                }
                after.insert((before, symbol), position);
                before = Some(position);
            });
        }
        positions
    }

    /// Calls `add` with the symbols of a right-hand side, a lower bound of the number of bytes before each, and an upper
    /// bound of the shortest text after it, for all of its positions that differ in them.
    fn for_each_position(&self, rhs: &RightHandSide, mut add: impl FnMut(Symbol, u32, Length)) {
        let length = |symbol: Symbol| self.texts.of(symbol).length;
        match rhs {
            RightHandSide::Sequence(symbols) => {
                let mut weights = vec![Length::ZERO];
                for &symbol in symbols[1..].iter().rev() {
                    weights.push(weights[weights.len() - 1].plus(length(symbol)));
                }
                let mut bytes: u32 = 0;
                for (&symbol, weight) in symbols.iter().zip(weights.into_iter().rev()) {
                    add(symbol, bytes, weight);
                    bytes = bytes.saturating_add(self.min_bytes(symbol));
                }
            }
            RightHandSide::Scope(symbol) => add(*symbol, 0, Length::ZERO),
            // Inside a value, the rest of it may be longer too.
            RightHandSide::Value { symbol, .. } => add(*symbol, 0, self.texts.added()),
            RightHandSide::Repeat { symbol, min, max } => {
                add(*symbol, 0, length(*symbol).times(min.saturating_sub(1)));
                if *max != Some(1) {
                    let weight = length(*symbol).times(min.saturating_sub(2));
                    add(*symbol, self.min_bytes(*symbol), weight);
                }
            }
            RightHandSide::Selection { selection, parts, separator } => {
                let cost = |part: PartId| {
                    let length = length(*separator).plus(length(parts[part.index()]));
                    length.finite().map(u64::from)
                };
                let after_part = selection.max_min_cost(cost).map_or(Length::INFINITE, Length::new);
                let mut longest = Length::ZERO;
                let mut bytes = u32::MAX;
                for &part in parts {
                    add(part, 0, after_part);
                    longest = longest.max(length(part));
                    bytes = bytes.min(self.min_bytes(part));
                }
                for &part in parts {
                    add(part, bytes.saturating_add(self.min_bytes(*separator)), after_part);
                }
                add(*separator, bytes, longest.plus(after_part));
            }
        }
    }

    /// A lower bound of the number of bytes of a text of a symbol. A token is at least one byte here, which is sound:
    /// a token that a token terminal reads is the only one.
    fn min_bytes(&self, symbol: Symbol) -> u32 {
        // The texts of nonterminals may have lengthened values.
        let is_shortest = matches!(symbol, Symbol::Terminal(_)) || self.texts.added() == Length::ZERO;
        match self.texts.of(symbol).length.finite() {
            // Texts of other bytes may be shorter.
            Some(length) if self.spells_all_bytes && is_shortest => length,
            _ => 1,
        }
    }

    /// For each terminal the longest of the shortest completions inside it.
    fn longest_in_terminals(
        &mut self,
        reach: Option<Reach>,
        parts: &mut Parts<'_>,
    ) -> Result<Vec<Length>, LimitExceeded> {
        // A token terminal has no inside. The initial states of values follow those of the terminals.
        let starts = &parts.starts[..parts.form.terminals().len()];
        let mut longest = vec![Length::ZERO; starts.len()];
        for (longest, &start) in longest.iter_mut().zip(starts) {
            let state = parts.state_of(start).and_then(|state| parts.embedded.get(state));
            let Some(EmbeddedState { grammar, set }) = state else { continue };
            let (engine, vocabulary) = (parts.embedded.engine(grammar), parts.vocabulary);
            *longest = length_of(match reach {
                Some(reach) => engine.longest_completion_after(set, reach, vocabulary, parts.deadline)?,
                None => engine.longest_shortest_completion(vocabulary)?,
            });
        }
        let state_of = |start| parts.state_of(start).and_then(ItemState::automaton_state);
        let states: Vec<Option<StateId>> = starts.iter().map(|&start| state_of(start)).collect();
        let mut left = MAX_STATES;
        for (longest, state) in longest.iter_mut().zip(states) {
            let Some(state) = state else { continue };
            let mut max_states = left.min(MAX_TERMINAL_STATES);
            let before = max_states;
            let words = &mut self.words;
            let of_states =
                words.longest_completions(parts.automata, &[state], &mut max_states, parts.deadline)?;
            left -= before - max_states;
            *longest = length_of(match of_states {
                Some(of_states) => of_states[0],
                // Each prefix of a word can be completed to a word.
                None if self.spells_all_bytes => {
                    parts.automata.terms().max_length(parts.automata.term(state))
                }
                None => None,
            });
        }
        Ok(longest)
    }
}

impl NestingGraph {
    /// The node of a symbol.
    fn node(&self, left_corners: &LeftCorners, symbol: Symbol) -> usize {
        match symbol {
            Symbol::Terminal(id) => id.index(),
            Symbol::Nonterminal(id) => {
                self.longest_in_terminals.len() + left_corners.component_of(id.index())
            }
        }
    }

    fn node_count(&self) -> usize {
        self.longest_in_terminals.len() + self.slacks.len()
    }

    fn slack(&self, node: usize) -> Length {
        node.checked_sub(self.longest_in_terminals.len())
            .map_or(Length::ZERO, |component| self.slacks[component])
    }

    /// The weight of the longest path from a node.
    fn longest_path(&self, from: usize) -> Length {
        let pairs: Vec<(u32, u32)> =
            self.edges.iter().map(|edge| (edge.from as u32, edge.to as u32)).collect();
        let components = components_of(&AdjacencyList::from_pairs(self.node_count(), &pairs));
        let mut longest = vec![Length::ZERO; components.count];
        for (terminal, &inside) in self.longest_in_terminals.iter().enumerate() {
            longest[components.of_node[terminal]] = inside;
        }
        let mut edges: Vec<&NestingEdge> = self.edges.iter().collect();
        // Successors have lower component numbers, so one ascending pass suffices.
        edges.sort_unstable_by_key(|edge| components.of_node[edge.from]);
        for edge in edges {
            let (source, target) = (components.of_node[edge.from], components.of_node[edge.to]);
            let weight = edge.weight.plus(self.slack(edge.from));
            let through = match source == target {
                true if weight > Length::ZERO => Length::INFINITE,
                true => Length::ZERO,
                false => weight.plus(longest[target]),
            };
            longest[source] = longest[source].max(through);
        }
        longest[components.of_node[from]]
    }

    /// The maximum growth of a completion by some bytes, if there is one.
    fn growth(&self) -> Option<GrowthBound> {
        let weights = self.edges.iter().map(|edge| edge.weight).chain(self.slacks.iter().copied());
        let lengths = self.longest_in_terminals.iter().chain(&self.shortest).copied();
        if weights.chain(lengths).any(|length| length == Length::INFINITE) {
            return None;
        }
        GROWTHS.iter().find_map(|&per_byte| {
            let longest = self.longest_paths(per_byte)?;
            // A production that was begun before the bytes has no bytes to its credit.
            let once = self.edges.iter().map(|edge| {
                let inside = longest[edge.to].max(value(self.shortest[edge.to]));
                value(edge.weight) + value(self.slack(edge.from)) + inside
            });
            let once = u64::try_from(once.max()?).ok()?;
            Some(GrowthBound { per_byte, once: Length::new(once) })
        })
    }

    /// The longest path from each node under the weights less `per_byte` for each byte; `None` if there is a cycle of
    /// positive weight, or the paths are too long.
    fn longest_paths(&self, per_byte: u32) -> Option<Vec<i64>> {
        let mut longest: Vec<i64> = self.longest_in_terminals.iter().map(|&inside| value(inside)).collect();
        longest.resize(self.node_count(), 0);
        for _ in 0..MAX_ROUNDS {
            let mut is_stable = true;
            // Reversed, because nonterminals often occur before their rules.
            for edge in self.edges.iter().rev() {
                let weight = value(edge.weight) + value(self.slack(edge.from));
                let through = weight - i64::from(per_byte) * i64::from(edge.bytes) + longest[edge.to];
                if through > longest[edge.from] {
                    longest[edge.from] = through;
                    is_stable = false;
                }
            }
            if is_stable {
                return Some(longest);
            }
        }
        None
    }
}

/// A finite length as a summand.
fn value(length: Length) -> i64 {
    length.finite().map_or(i64::from(u32::MAX), i64::from)
}
