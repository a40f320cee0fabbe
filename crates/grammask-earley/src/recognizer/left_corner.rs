//! The left-corner relation: the static part of prediction.
//!
//! `B` has an edge to `D` if a production of `B` begins with `D`. The continuation of a predicted `D` is the
//! remainder of that production, or, where the production ends there (a *tail* edge), the continuation of `B` itself.
//! The strongly connected components of the relation are numbered children first, so visiting the reached components
//! in descending order visits every parent before its children.

use std::sync::Arc;

use crate::lowering::{Advance, DotId, NormalForm, RightHandSide, Symbol};
use grammask_collections::graph::{AdjacencyList, Components, components_of, strongly_connected_components};
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{NonterminalId, TerminalId};

/// An edge of the left-corner relation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeftCornerEdge {
    /// The nonterminal at the beginning of the production.
    pub(crate) child: NonterminalId,
    /// Whether the production can end after it.
    pub(crate) is_tail: bool,
    /// The dot after it, if a symbol can follow.
    pub(crate) next: Option<DotId>,
}

/// A reference from one continuation of a component to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SccEdge {
    /// The dot at which the production resumes.
    pub(crate) dot: DotId,
    /// The member whose continuation follows the production, as a position in a list of members.
    pub(crate) member: usize,
}

/// Continuations of a component that refer to each other in a cycle, or a single one that does not.
#[derive(Clone, Debug)]
pub(crate) struct ContinuationScc {
    /// Number of the strongly connected component in the grammar.
    pub(crate) number: u32,
    /// Positions among the members of the component.
    pub(crate) members: Vec<usize>,
    /// For each member its references to members, as positions in `members`, sorted; all empty if there is no cycle.
    pub(crate) inside: Vec<Vec<SccEdge>>,
    /// For each member its references to earlier strongly connected components, as positions among the members of the component.
    pub(crate) across: Vec<Vec<SccEdge>>,
    /// Whether its continuations refer to themselves.
    pub(crate) is_cyclic: bool,
}

/// Lists stored in one vector.
#[derive(Clone, Debug)]
pub(crate) struct Lists<T> {
    /// Start of each list, and the end of the last one.
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T> Lists<T> {
    /// No list, with capacity for a number of them.
    pub(crate) fn with_capacity(lists: usize) -> Self {
        let mut starts = Vec::with_capacity(lists + 1);
        starts.push(0);
        Self { starts, items: Vec::new() }
    }

    /// Adds an item to the list that is not ended.
    pub(crate) fn push(&mut self, item: T) {
        self.items.push(item);
    }

    /// Ends a list.
    pub(crate) fn end_list(&mut self) {
        // Items are parts of productions, whose dots have 32-bit numbers.
        self.starts.push(self.items.len() as u32);
    }

    /// All lists in order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[T]> {
        (0..self.starts.len() - 1).map(|list| &self[list])
    }

    /// The lists without spare capacity.
    pub(crate) fn finish(mut self) -> Self {
        self.starts.shrink_to_fit();
        self.items.shrink_to_fit();
        self
    }
}

impl<T> std::ops::Index<usize> for Lists<T> {
    type Output = [T];

    fn index(&self, list: usize) -> &[T] {
        &self.items[self.starts[list] as usize..self.starts[list + 1] as usize]
    }
}

/// The continuations of a component of the left-corner relation whose members begin themselves.
#[derive(Clone, Debug)]
pub(crate) struct ComponentCycles {
    /// For each member the members whose continuation is part of its own through tail edges; itself first.
    pub(crate) tail_sources: Vec<Vec<usize>>,
    /// The strongly connected components of the members' continuations, referenced ones first.
    pub(crate) sccs: Vec<Arc<ContinuationScc>>,
}

/// The left-corner relation of a grammar. A value is like a terminal, with the number after those of the terminals.
#[derive(Clone, Debug)]
pub(crate) struct LeftCorners {
    /// Strongly connected component of each nonterminal.
    component_of: Box<[u32]>,
    /// The nonterminals of each component.
    pub(crate) members: Lists<NonterminalId>,
    /// The continuations of each component; `None` if its only member does not begin itself.
    pub(crate) cycles: Box<[Option<Box<ComponentCycles>>]>,
    /// For each component the components that it has edges to.
    pub(crate) component_children: Lists<u32>,
    /// For each nonterminal its edges to other components.
    pub(crate) outer_edges: Lists<LeftCornerEdge>,
    /// For each nonterminal its productions that begin with a terminal, as (first dot, terminal).
    pub(crate) terminals: Lists<(DotId, TerminalId)>,
    /// For each nonterminal its productions that begin with a nonterminal, as (that nonterminal, first dot).
    pub(crate) nonterminals: Lists<(NonterminalId, DotId)>,
    /// The components of nonterminals that can begin with a value; empty in a grammar without values.
    begins_with_value: Vec<bool>,
}

impl LeftCorners {
    /// Analyses a lowered grammar.
    ///
    /// # Errors
    /// When the tail edges inside a component generate more than `grammar_size` references.
    pub(crate) fn of(form: &NormalForm, grammar_size: usize) -> Result<Self, LimitExceeded> {
        let FirstSymbols { terminals, nonterminals, edges, successors } = FirstSymbols::of(form)?;
        let Components { of_node: component_of, count: component_count } = components_of(&successors);
        let component_of: Box<[u32]> = component_of.into_iter().map(|component| component as u32).collect();
        let members = members_of(&component_of, component_count);
        let cycles = cycles_of(&members, &component_of, &edges, grammar_size)?;
        let (outer_edges, component_children) = edges_between(&component_of, component_count, &edges);
        let mut begins_with_value = Vec::new();
        if form.has_values() {
            // Children have smaller numbers than their parents.
            for (component, members) in members.iter().enumerate() {
                let is_value = |&(_, id): &(DotId, TerminalId)| id.index() >= form.terminals().len();
                let begins = members.iter().any(|member| terminals[member.index()].iter().any(is_value))
                    || component_children[component].iter().any(|&child| begins_with_value[child as usize]);
                begins_with_value.push(begins);
            }
        }
        Ok(Self {
            component_of,
            members,
            cycles,
            component_children,
            outer_edges,
            terminals: terminals.finish(),
            nonterminals: nonterminals.finish(),
            begins_with_value,
        })
    }

    /// Number of nonterminals.
    pub(crate) fn nonterminal_count(&self) -> usize {
        self.component_of.len()
    }

    /// Number of strongly connected components.
    pub(crate) fn component_count(&self) -> usize {
        self.cycles.len()
    }

    /// The strongly connected component of a nonterminal.
    #[inline]
    pub(crate) fn component_of(&self, nonterminal: usize) -> usize {
        self.component_of[nonterminal] as usize
    }

    /// Whether a nonterminal can begin with a value.
    pub(crate) fn begins_with_value(&self, nonterminal: usize) -> bool {
        self.begins_with_value.get(self.component_of(nonterminal)).is_some_and(|&begins| begins)
    }
}

/// The first symbols of the productions of each nonterminal.
struct FirstSymbols {
    /// As [`LeftCorners::terminals`].
    terminals: Lists<(DotId, TerminalId)>,
    /// As [`LeftCorners::nonterminals`].
    nonterminals: Lists<(NonterminalId, DotId)>,
    /// The edges to these nonterminals.
    edges: Lists<LeftCornerEdge>,
    /// The graph of these edges.
    successors: AdjacencyList,
}

impl FirstSymbols {
    fn of(form: &NormalForm) -> Result<Self, LimitExceeded> {
        let count = form.nonterminal_count();
        let mut first = Self {
            terminals: Lists::with_capacity(count),
            nonterminals: Lists::with_capacity(count),
            edges: Lists::with_capacity(count),
            successors: AdjacencyList::with_capacity(count),
        };
        for nonterminal in 0..count {
            for production in form.productions_of(NonterminalId::new(nonterminal)) {
                for dot in form.first_dots(production)? {
                    first.add(form, &production.rhs, dot);
                }
            }
            first.terminals.end_list();
            first.nonterminals.end_list();
            first.edges.end_list();
            first.successors.end_node();
        }
        Ok(first)
    }

    /// Adds the symbol after a first dot of a right-hand side.
    fn add(&mut self, form: &NormalForm, rhs: &RightHandSide, dot: DotId) {
        let (symbol, advance) = match rhs {
            RightHandSide::Value { .. } => {
                let number = form.values().partition_point(|&(other, _)| other < dot);
                let terminal = TerminalId::new(form.terminals().len() + number);
                (Symbol::Terminal(terminal), form.advance(dot))
            }
            RightHandSide::Sequence(symbols) => {
                let next = (symbols.len() > 1).then_some(DotId(dot.0 + 1));
                (symbols[0], Advance { completes: next.is_none(), next })
            }
            RightHandSide::Scope(symbol) | RightHandSide::Repeat { symbol, .. } => {
                (*symbol, form.advance(dot))
            }
            RightHandSide::Selection { .. } => (form.symbol_after(dot), form.advance(dot)),
        };
        match symbol {
            Symbol::Terminal(id) => self.terminals.push((dot, id)),
            Symbol::Nonterminal(id) => {
                self.nonterminals.push((id, dot));
                self.successors.push(id.index());
                let Advance { completes: is_tail, next } = advance;
                self.edges.push(LeftCornerEdge { child: id, is_tail, next });
            }
        }
    }
}

/// The nonterminals of each component, by number.
fn members_of(component_of: &[u32], component_count: usize) -> Lists<NonterminalId> {
    let mut order: Vec<usize> = (0..component_of.len()).collect();
    order.sort_by_key(|&nonterminal| component_of[nonterminal]);
    let mut order = order.into_iter().peekable();
    let mut members = Lists::with_capacity(component_count);
    for component in 0..component_count as u32 {
        while let Some(member) = order.next_if(|&nonterminal| component_of[nonterminal] == component) {
            members.push(NonterminalId::new(member));
        }
        members.end_list();
    }
    members.finish()
}

/// The continuations of each component; `None` if its only member does not begin itself.
fn cycles_of(
    members: &Lists<NonterminalId>,
    component_of: &[u32],
    edges: &Lists<LeftCornerEdge>,
    grammar_size: usize,
) -> Result<Box<[Option<Box<ComponentCycles>>]>, LimitExceeded> {
    let mut position_of = vec![0; component_of.len()];
    let (mut budget, mut scc_count) = (grammar_size, 0);
    let cycles = members.iter().enumerate().map(|(component, members)| {
        let is_inner = |edge: &&LeftCornerEdge| component_of[edge.child.index()] as usize == component;
        if members.iter().all(|member| !edges[member.index()].iter().any(|edge| is_inner(&edge))) {
            return Ok(None);
        }
        for (position, member) in members.iter().enumerate() {
            position_of[member.index()] = position;
        }
        // Inner edges by child, as (parent, edge).
        let mut parents: Vec<Vec<(usize, LeftCornerEdge)>> = vec![Vec::new(); members.len()];
        for (position, member) in members.iter().enumerate() {
            for edge in edges[member.index()].iter().filter(is_inner) {
                parents[position_of[edge.child.index()]].push((position, *edge));
            }
        }
        match ComponentCycles::of(&parents, &mut budget, &mut scc_count) {
            Some(own) => Ok(Some(Box::new(own))),
            None => Err(LimitExceeded::new("grammar_size", grammar_size)),
        }
    });
    cycles.collect()
}

/// For each nonterminal its edges to other components, and for each component the components that it has edges to.
fn edges_between(
    component_of: &[u32],
    component_count: usize,
    edges: &Lists<LeftCornerEdge>,
) -> (Lists<LeftCornerEdge>, Lists<u32>) {
    let mut outer_edges = Lists::with_capacity(component_of.len());
    let mut children: Vec<(u32, u32)> = Vec::new();
    for (own, edges) in component_of.iter().zip(edges.iter()) {
        for edge in edges.iter().filter(|edge| component_of[edge.child.index()] != *own) {
            outer_edges.push(*edge);
            children.push((*own, component_of[edge.child.index()]));
        }
        outer_edges.end_list();
    }
    children.sort_unstable();
    children.dedup();
    let mut children = children.into_iter().peekable();
    let mut component_children = Lists::with_capacity(component_count);
    for component in 0..component_count as u32 {
        while let Some((_, child)) = children.next_if(|(parent, _)| *parent == component) {
            component_children.push(child);
        }
        component_children.end_list();
    }
    (outer_edges.finish(), component_children.finish())
}

impl ComponentCycles {
    /// The continuations of a component from its inner edges by child, as (parent, edge). `None` when `budget`, for tail
    /// sources and references, is spent.
    fn of(parents: &[Vec<(usize, LeftCornerEdge)>], budget: &mut usize, scc_count: &mut u32) -> Option<Self> {
        let mut tail_sources = Vec::with_capacity(parents.len());
        let mut inner = Vec::with_capacity(parents.len());
        for member in 0..parents.len() {
            let mut sources = vec![member];
            let mut is_source = vec![false; if parents[member].is_empty() { 0 } else { parents.len() }];
            if let Some(own) = is_source.get_mut(member) {
                *own = true;
            }
            let mut references = Vec::new();
            let mut next = 0;
            while let Some(&source) = sources.get(next) {
                next += 1;
                for (parent, edge) in &parents[source] {
                    references.extend(edge.next.map(|dot| SccEdge { dot, member: *parent }));
                    if edge.is_tail && !std::mem::replace(&mut is_source[*parent], true) {
                        sources.push(*parent);
                    }
                }
            }
            *budget = budget.checked_sub(sources.len() + references.len())?;
            tail_sources.push(sources);
            inner.push(references);
        }
        let successors: Vec<Vec<usize>> = inner
            .iter()
            .map(|references| references.iter().map(|reference| reference.member).collect())
            .collect();
        let components = strongly_connected_components(&successors);
        let mut position_in_scc = vec![0; parents.len()];
        let mut sccs = Vec::with_capacity(components.count);
        for scc_members in components.members() {
            for (position, &member) in scc_members.iter().enumerate() {
                position_in_scc[member] = position;
            }
            let own = components.of_node[scc_members[0]];
            let references = |is_inside: bool| {
                let of_member = |&member: &usize| {
                    let selected = inner[member]
                        .iter()
                        .filter(|reference| (components.of_node[reference.member] == own) == is_inside);
                    selected.copied().collect::<Vec<SccEdge>>()
                };
                scc_members.iter().map(of_member).collect::<Vec<_>>()
            };
            let mut inside = references(true);
            for references in &mut inside {
                for reference in references.iter_mut() {
                    reference.member = position_in_scc[reference.member];
                }
                references.sort_unstable();
                references.dedup();
            }
            let across = references(false);
            let is_cyclic = inside.iter().any(|references| !references.is_empty());
            let scc = ContinuationScc { number: *scc_count, members: scc_members, inside, across, is_cyclic };
            sccs.push(Arc::new(scc));
            *scc_count += 1;
        }
        Some(Self { tail_sources, sccs })
    }
}
