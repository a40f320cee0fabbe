//! The cost of completing a parser stack by the plan of [`viable_completion`](crate::analysis::viable_completion).
//!
//! For each state the plan has an item and a derivation of the symbols after its dot. A step writes the derivation and
//! reduces the item. An item with the dot after its first symbol replaces the topmost symbol, and the next step is above the
//! same state: such steps are a *chain*. The chain ends with an item that also pops symbols below.
//!
//! So completing a stack is a path in a graph. A node has a state of the stack and the item that ends the chain above it;
//! an edge pops the other symbols of the item, and has the cost of the chain that follows. If no cycle costs more than
//! `a` per byte of the shortest texts of the symbols that it pops, then a path whose symbols have n bytes costs at most
//! `a n` more than the longest path under the costs less `a` per byte.

use rustc_hash::FxHashMap;

use crate::completion::lexeme_costs::LexemeCosts;
use crate::completion::lexeme_weights::LexemeWeights;
use crate::completion::longest_paths::{PathEdge, longest_paths};
use crate::completion::separable_lexemes::SeparableLengths;
use crate::completion::{self, UNREACHABLE};
use crate::definition::grammar::{LexedGrammar, LexedSymbol};
use crate::lexer::lexer_automaton::{ConfigurationId, Lexer};
use crate::masks::token_set_store::hash_map_bytes;
use crate::parser::lalr::LalrTable;
use crate::parser::lr_automaton::{LrItem, LrState};
use crate::parser::stacks::{StackId, TerminalParser};
use grammask_collections::graph::{AdjacencyList, components_of};
use grammask_grammar::TerminalId;

/// Candidates for the growth per byte.
const GROWTHS: [u32; 17] = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 32, 64, 128, 256, 1024, 4096];

/// The cost of a part of the plan.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PlanCost {
    /// The bytes, without the columns of the blocks in which it is.
    pub(crate) bytes: u32,
    /// The number of newlines.
    pub(crate) newlines: u32,
}

/// The steps of the plan above one state.
#[derive(Clone, Copy, Debug)]
struct PlanChain {
    cost: PlanCost,
    /// The item of the last step.
    last: LrItem,
}

/// The costs of the plan.
#[derive(Debug)]
pub(crate) struct PlanCosts {
    /// For each state, by symbol.
    chains: Vec<FxHashMap<LexedSymbol, PlanChain>>,
    /// For each state, by item, the chains that it ends; then those above a nonterminal.
    by_last: Vec<Vec<PlanChain>>,
    after_nonterminal: Vec<Vec<PlanChain>>,
    /// Memory of all chains in bytes, estimated.
    chain_bytes: usize,
    /// The cost after popping the symbols of an item but the topmost one.
    after_item: FxHashMap<(StackId, LrItem), u32>,
    above: FxHashMap<StackId, PlanAbove>,
}

/// The maximum cost of the plan on a stack that shares a lower part with another one, or all of it, and has one more
/// symbol.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PlanAbove {
    /// For any symbol.
    pub(crate) symbol: u32,
    /// For nonterminals.
    pub(crate) nonterminal: u32,
}

/// The maximum cost of the steps of the plan above the symbols that a text adds to a stack.
#[derive(Clone, Debug)]
pub(crate) struct PlanGrowth {
    /// For each byte of the text.
    pub(crate) per_byte: u32,
    /// In addition: a step that also pops older symbols, and the lexemes at both ends of the text.
    pub(crate) once: u32,
    /// The maximum number of newlines in one block.
    pub(crate) newlines: u32,
    /// The same growth by lexemes in place of bytes, if it has a bound.
    pub(crate) by_lexeme: Option<LexemeGrowth>,
}

impl PlanGrowth {
    /// The maximum number of newlines that end or follow an open block: those of the plan, and the open lexeme.
    pub(crate) fn newlines_of_open_blocks(&self) -> u64 {
        u64::from(self.newlines) + 1
    }
}

/// The maximum cost of the steps of the plan above the symbols that the lexemes of a text add to a stack.
#[derive(Clone, Debug)]
pub(crate) struct LexemeGrowth {
    /// For each lexeme of a terminal, ascending; zero for all others.
    pub(crate) weights: Vec<(TerminalId, u32)>,
    /// In addition: a step that also pops older symbols, and the lexeme at the end of the text. The lexeme that is open
    /// before the text has its weight too.
    pub(crate) once: u32,
}

impl LexemeGrowth {
    /// The maximum weight of the lexemes that an open one can become.
    pub(crate) fn weight_of_open(&self, lexer: &Lexer, configuration: ConfigurationId) -> u32 {
        if lexer.is_start(configuration) {
            return 0;
        }
        let terminals = lexer.live(configuration).chain(lexer.label(configuration));
        let weights = terminals.filter_map(|terminal| {
            let index = self.weights.binary_search_by_key(&terminal, |&(terminal, _)| terminal).ok()?;
            Some(self.weights[index].1)
        });
        weights.max().unwrap_or(0)
    }
}

/// An edge of the graph of paths of the plan.
#[derive(Clone, Copy, Debug)]
struct PlanEdge {
    from: usize,
    to: usize,
    /// The length of the shortest text of the symbols below the topmost one.
    bytes: u32,
    /// Whether the item includes the beginning of a block and not its end.
    leaves_block: bool,
    /// The cost of the chain that follows.
    cost: PlanCost,
}

/// The graph of paths of the plan.
#[derive(Debug)]
struct PlanGraph {
    nodes: Vec<PlanChain>,
    edges: Vec<PlanEdge>,
}

impl PlanEdge {
    fn path_edge(&self) -> PathEdge {
        PathEdge { from: self.from, to: self.to, weight: 0 }
    }
}

impl PlanCost {
    /// The cost of a derivation.
    pub(crate) fn of(derivation: &[TerminalId], grammar: &LexedGrammar, lengths: &SeparableLengths) -> Self {
        let mut cost = Self::default();
        let SeparableLengths { after_lexeme, columns, .. } = lengths;
        let mut begun: u32 = 0;
        for &terminal in derivation {
            if let Some(indentation) = &grammar.indentation {
                if terminal == indentation.indent {
                    begun += 1;
                    continue;
                }
                if terminal == indentation.dedent {
                    begun = begun.saturating_sub(1);
                    continue;
                }
                if terminal == indentation.newline {
                    // Each block inside is one column further, and the newline may begin one more.
                    let inside = columns.space.saturating_mul(begun + 1);
                    let white_space = completion::sum(columns.remainder, inside.min(UNREACHABLE));
                    cost = cost.plus(Self { bytes: white_space, newlines: 1 });
                }
            }
            cost.bytes = completion::sum(cost.bytes, after_lexeme[terminal.index()]);
        }
        cost
    }

    fn plus(self, other: Self) -> Self {
        let sum = completion::sum;
        Self { bytes: sum(self.bytes, other.bytes), newlines: sum(self.newlines, other.newlines) }
    }

    /// The maximum of each component.
    fn max(self, other: Self) -> Self {
        Self { bytes: self.bytes.max(other.bytes), newlines: self.newlines.max(other.newlines) }
    }
}

impl PlanCosts {
    /// The costs of the plan's steps, by state; `None` if the plan cycles.
    pub(crate) fn new(table: &LalrTable, plan: &[(LrItem, PlanCost)]) -> Option<Self> {
        let chains: Vec<FxHashMap<LexedSymbol, PlanChain>> = (0..table.state_count())
            .map(|state| chains_above(table, plan, LrState::new(state)))
            .collect::<Option<_>>()?;
        let by_last = chains.iter().map(|chains| chains_by_last(chains.values())).collect();
        let is_nonterminal = |symbol: &LexedSymbol| matches!(symbol, LexedSymbol::Nonterminal(_));
        let after_nonterminal = chains.iter().map(|chains| {
            chains_by_last(chains.iter().filter(|(symbol, _)| is_nonterminal(symbol)).map(|(_, chain)| chain))
        });
        let after_nonterminal = after_nonterminal.collect();
        let (after_item, above) = (FxHashMap::default(), FxHashMap::default());
        let mut plan = Self { chains, by_last, after_nonterminal, chain_bytes: 0, after_item, above };
        let lists = plan.by_last.iter().chain(&plan.after_nonterminal);
        plan.chain_bytes = plan.chains.iter().map(hash_map_bytes).sum::<usize>()
            + lists.map(|chains| size_of_val(&chains[..])).sum::<usize>();
        Some(plan)
    }

    /// The maximum growth of the cost of a stack; `None` if it has no bound, or the newlines of a block have none.
    pub(crate) fn growth(
        &self,
        grammar: &LexedGrammar,
        table: &LalrTable,
        lexemes: &LexemeCosts,
    ) -> Option<PlanGrowth> {
        let shortest = ShortestSentences::new(grammar, lexemes);
        let graph = PlanGraph::new(self, grammar, table, &shortest);
        let newlines = graph.newlines_of_block()?;
        let by_lexeme = graph.growth_by_lexeme(grammar);
        GROWTHS.iter().find_map(|&per_byte| {
            // The lexeme that is open before the text ends within it.
            let begun = u64::from(per_byte) * u64::from(shortest.longest_lexeme());
            let once = u32::try_from(graph.longest_path(per_byte)? + begun)
                .ok()
                .filter(|&once| once < UNREACHABLE)?;
            Some(PlanGrowth { per_byte, once, newlines, by_lexeme: by_lexeme.clone() })
        })
    }

    /// The maximum cost of the plan above a stack and its lower parts.
    pub(crate) fn above(&mut self, table: &LalrTable, parser: &TerminalParser, stack: StackId) -> PlanAbove {
        let mut unknown = Vec::new();
        let mut current = Some(stack);
        let mut most = PlanAbove::default();
        while let Some(next) = current {
            if let Some(&known) = self.above.get(&next) {
                most = known;
                break;
            }
            unknown.push(next);
            current = parser.state_and_below(next).1;
        }
        while let Some(stack) = unknown.pop() {
            let state = parser.state_and_below(stack).0.index();
            for index in 0..self.by_last[state].len() {
                let PlanChain { cost, last } = self.by_last[state][index];
                let after = self.after_item(table, parser, stack, last);
                most.symbol = completion::sum(cost.bytes, after).max(most.symbol);
            }
            for index in 0..self.after_nonterminal[state].len() {
                let PlanChain { cost, last } = self.after_nonterminal[state][index];
                let after = self.after_item(table, parser, stack, last);
                most.nonterminal = completion::sum(cost.bytes, after).max(most.nonterminal);
            }
            self.above.insert(stack, most);
        }
        most
    }

    /// The cost of the plan after it reduces an item, whose last symbol before the dot is above the stack.
    fn after_item(
        &mut self,
        table: &LalrTable,
        parser: &TerminalParser,
        stack: StackId,
        item: LrItem,
    ) -> u32 {
        let mut path: Vec<((StackId, LrItem), u32)> = Vec::new();
        let (mut base, mut last) = (stack, item);
        let mut cost = loop {
            if let Some(&known) = self.after_item.get(&(base, last)) {
                break known;
            }
            if is_start(table, last) {
                break 0;
            }
            let before = (base, last);
            for _ in 1..last.dot {
                match parser.state_and_below(base).1 {
                    Some(below) => base = below,
                    None => return UNREACHABLE,
                }
            }
            let lhs = table.automaton.productions[last.production as usize].lhs;
            let chains = &self.chains[parser.state_and_below(base).0.index()];
            let Some(&chain) = chains.get(&LexedSymbol::Nonterminal(lhs)) else { return UNREACHABLE };
            path.push((before, chain.cost.bytes));
            last = chain.last;
        };
        while let Some((before, chain)) = path.pop() {
            cost = completion::sum(cost, chain);
            self.after_item.insert(before, cost);
        }
        cost
    }

    /// Memory in bytes, estimated.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.chain_bytes + hash_map_bytes(&self.after_item) + hash_map_bytes(&self.above)
    }
}

/// Some chains above one state by their last item, with the maximum of their costs.
fn chains_by_last<'a>(chains: impl Iterator<Item = &'a PlanChain>) -> Vec<PlanChain> {
    let mut by_last: FxHashMap<LrItem, PlanChain> = FxHashMap::default();
    for &chain in chains {
        let known = by_last.entry(chain.last).or_insert(chain);
        known.cost = known.cost.max(chain.cost);
    }
    let mut by_last: Vec<PlanChain> = by_last.into_values().collect();
    by_last.sort_unstable_by_key(|chain| chain.last);
    by_last
}

/// Whether a block begins in some symbols and does not end.
fn is_open_block(grammar: &LexedGrammar, symbols: &[LexedSymbol]) -> bool {
    let count =
        |terminal| symbols.iter().filter(|&&symbol| symbol == LexedSymbol::Terminal(terminal)).count();
    grammar.indentation.as_ref().is_some_and(|blocks| count(blocks.indent) > count(blocks.dedent))
}

/// Whether an item is that of the start production.
fn is_start(table: &LalrTable, item: LrItem) -> bool {
    item.production as usize == table.automaton.productions.len() - 1
}

/// The chains above a state, by their first symbol; `None` if the plan cycles there.
fn chains_above(
    table: &LalrTable,
    plan: &[(LrItem, PlanCost)],
    base: LrState,
) -> Option<FxHashMap<LexedSymbol, PlanChain>> {
    let automaton = &table.automaton;
    let symbols: Vec<LexedSymbol> = automaton.transitions[base.index()]
        .iter()
        .map(|&(symbol, _)| symbol)
        .filter(|&symbol| table.step(base, symbol).is_some())
        .collect();
    let mut chains: FxHashMap<LexedSymbol, PlanChain> = FxHashMap::default();
    for &first in &symbols {
        let mut symbol = first;
        let mut cost = PlanCost::default();
        let mut steps = 0;
        let last = loop {
            let state = table.step(base, symbol)?;
            let &(item, of_step) = plan.get(state.index())?;
            cost = cost.plus(of_step);
            if item.dot != 1 || is_start(table, item) {
                break item;
            }
            symbol = LexedSymbol::Nonterminal(automaton.productions[item.production as usize].lhs);
            steps += 1;
            if steps > symbols.len() {
                return None;
            }
        };
        chains.insert(first, PlanChain { cost, last });
    }
    Some(chains)
}

impl PlanGraph {
    fn new(
        costs: &PlanCosts,
        grammar: &LexedGrammar,
        table: &LalrTable,
        shortest: &ShortestSentences<'_>,
    ) -> Self {
        let automaton = &table.automaton;
        let mut nodes: FxHashMap<(usize, LrItem), usize> = FxHashMap::default();
        let mut graph = Self { nodes: Vec::new(), edges: Vec::new() };
        for (state, chains) in costs.by_last.iter().enumerate() {
            for &node in chains {
                nodes.insert((state, node.last), graph.nodes.len());
                graph.nodes.push(node);
            }
        }
        let mut transitions: Vec<(u32, u32)> = Vec::new();
        for (from, targets) in automaton.transitions.iter().enumerate() {
            transitions.extend(targets.iter().map(|&(_, to)| (to.index() as u32, from as u32)));
        }
        let predecessors = AdjacencyList::from_pairs(automaton.transitions.len(), &transitions);
        for (state, chains) in costs.by_last.iter().enumerate() {
            // The states that can be below this one, by the number of symbols between them.
            let mut below: Vec<Vec<u32>> = vec![vec![state as u32]];
            for &PlanChain { last, .. } in chains.iter().filter(|node| !is_start(table, node.last)) {
                let production = &automaton.productions[last.production as usize];
                let popped = &production.rhs[..last.dot as usize - 1];
                while below.len() <= popped.len() {
                    let above = &below[below.len() - 1];
                    let mut bases: Vec<u32> = Vec::new();
                    for &state in above {
                        bases.extend_from_slice(predecessors.of(state as usize));
                    }
                    bases.sort_unstable();
                    bases.dedup();
                    below.push(bases);
                }
                let lhs = LexedSymbol::Nonterminal(production.lhs);
                let lengths = popped.iter().map(|&symbol| shortest.of(symbol));
                let bytes = lengths.fold(0, completion::sum);
                let leaves_block = is_open_block(grammar, &production.rhs[..last.dot as usize]);
                for &base in &below[popped.len()] {
                    let base = base as usize;
                    let Some(&chain) = costs.chains[base].get(&lhs) else { continue };
                    graph.edges.push(PlanEdge {
                        from: nodes[&(state, last)],
                        to: nodes[&(base, chain.last)],
                        bytes,
                        leaves_block,
                        cost: chain.cost,
                    });
                }
            }
        }
        graph
    }

    /// The weight of the longest path under the costs less `per_byte` for each byte, if there is one.
    fn longest_path(&self, per_byte: u32) -> Option<u64> {
        let edges = self.edges.iter().map(|edge| PathEdge {
            weight: i64::from(edge.cost.bytes) - i64::from(per_byte) * i64::from(edge.bytes),
            ..edge.path_edge()
        });
        self.longest_of(&edges.collect::<Vec<_>>())
    }

    /// The maximum weight of paths that begin with the chains of any node, if there is one.
    fn longest_of(&self, edges: &[PathEdge]) -> Option<u64> {
        let first: Vec<u32> = self.nodes.iter().map(|node| node.cost.bytes).collect();
        let longest = longest_paths(&first, edges).ok()?;
        u64::try_from(longest.into_iter().max().unwrap_or(0)).ok()
    }

    /// The growth by lexemes, if it has a bound.
    fn growth_by_lexeme(&self, grammar: &LexedGrammar) -> Option<LexemeGrowth> {
        let mut items: FxHashMap<LrItem, usize> = FxHashMap::default();
        let mut list = Vec::new();
        let mut item_of = |node: &PlanChain| {
            *items.entry(node.last).or_insert_with(|| {
                list.push(node.last);
                list.len() - 1
            })
        };
        let item_of: Vec<usize> = self.nodes.iter().map(&mut item_of).collect();
        let edges = self.edges.iter().map(|edge| PathEdge {
            from: item_of[edge.from],
            to: item_of[edge.to],
            weight: i64::from(edge.cost.bytes),
        });
        let weights = LexemeWeights::new(grammar, list, edges)?;
        let edges = self.edges.iter().map(|edge| PathEdge {
            weight: i64::from(edge.cost.bytes) - i64::from(weights.of_item(item_of[edge.from])),
            ..edge.path_edge()
        });
        let longest = self.longest_of(&edges.collect::<Vec<_>>())?;
        let once = u32::try_from(longest).ok()?;
        Some(LexemeGrowth { weights: weights.positive(), once }).filter(|growth| growth.once < UNREACHABLE)
    }

    /// The maximum number of newlines on a path inside a block, or outside all blocks; `None` without a maximum.
    fn newlines_of_block(&self) -> Option<u32> {
        let mut costs =
            self.nodes.iter().map(|node| node.cost).chain(self.edges.iter().map(|edge| edge.cost));
        if costs.all(|cost| cost.newlines == 0) {
            return Some(0);
        }
        let inside = || self.edges.iter().filter(|edge| !edge.leaves_block);
        let pairs: Vec<(u32, u32)> = inside().map(|edge| (edge.to as u32, edge.from as u32)).collect();
        let components = components_of(&AdjacencyList::from_pairs(self.nodes.len(), &pairs));
        let component = |node: usize| components.of_node[node];
        let mut most: Vec<u32> = vec![0; components.count];
        for (index, node) in self.nodes.iter().enumerate() {
            most[component(index)] = node.cost.newlines.max(most[component(index)]);
        }
        for edge in self.edges.iter().filter(|edge| edge.leaves_block) {
            most[component(edge.to)] = edge.cost.newlines.max(most[component(edge.to)]);
        }
        let mut edges: Vec<&PlanEdge> = inside().collect();
        // The nodes before an edge have lower component numbers, so one ascending pass suffices.
        edges.sort_unstable_by_key(|edge| component(edge.to));
        for edge in edges {
            let (from, to) = (component(edge.from), component(edge.to));
            if from == to && edge.cost.newlines > 0 {
                return None;
            }
            most[to] = completion::sum(edge.cost.newlines, most[from]).max(most[to]);
        }
        most.into_iter().max().or(Some(0))
    }
}

/// Lower bounds of the lengths of sentences, without separators.
pub(crate) struct ShortestSentences<'a> {
    lexemes: &'a LexemeCosts,
    grammar: &'a LexedGrammar,
    nonterminals: Vec<u32>,
}

impl<'a> ShortestSentences<'a> {
    /// The least fixpoint over the productions.
    pub(crate) fn new(grammar: &'a LexedGrammar, lexemes: &'a LexemeCosts) -> Self {
        let nonterminals = vec![UNREACHABLE; grammar.nonterminals.len()];
        let mut shortest = Self { lexemes, grammar, nonterminals };
        loop {
            let mut has_changed = false;
            for production in &grammar.productions {
                let lengths = production.rhs.iter().map(|&symbol| shortest.of(symbol));
                let length = lengths.fold(0, completion::sum);
                let known = &mut shortest.nonterminals[production.lhs.index()];
                has_changed |= length < *known;
                *known = length.min(*known);
            }
            if !has_changed {
                return shortest;
            }
        }
    }

    /// The length of the shortest text of a symbol.
    pub(crate) fn of(&self, symbol: LexedSymbol) -> u32 {
        match symbol {
            LexedSymbol::Terminal(terminal) => {
                let indentation = self.grammar.indentation.as_ref();
                match indentation.is_some_and(|blocks| terminal == blocks.indent || terminal == blocks.dedent)
                {
                    true => 0,
                    false => self.lexemes.shortest(terminal),
                }
            }
            LexedSymbol::Nonterminal(nonterminal) => self.nonterminals[nonterminal.index()],
        }
    }

    /// The maximum over all terminals that have lexemes.
    fn longest_lexeme(&self) -> u32 {
        let lengths =
            (0..self.grammar.terminals.len()).map(|index| self.lexemes.shortest(TerminalId::new(index)));
        lengths.filter(|&length| length < UNREACHABLE).max().unwrap_or(0)
    }
}
