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
    pub(crate) child: usize,
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
    /// Positions in [`Component::members`].
    pub(crate) members: Vec<usize>,
    /// For each member its references to members, as positions in `members`, sorted; all empty if there is no cycle.
    pub(crate) inside: Vec<Vec<SccEdge>>,
    /// For each member its references to earlier strongly connected components, as positions in [`Component::members`].
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
    fn with_capacity(lists: usize) -> Self {
        let mut starts = Vec::with_capacity(lists + 1);
        starts.push(0);
        Self { starts, items: Vec::with_capacity(lists) }
    }

    fn push(&mut self, item: T) {
        self.items.push(item);
    }

    fn end_list(&mut self) {
        // Items are parts of productions, whose dots have 32-bit numbers.
        self.starts.push(self.items.len() as u32);
    }
}

impl<T> std::ops::Index<usize> for Lists<T> {
    type Output = [T];

    fn index(&self, list: usize) -> &[T] {
        &self.items[self.starts[list] as usize..self.starts[list + 1] as usize]
    }
}

/// A strongly connected component of the left-corner relation.
#[derive(Clone, Debug)]
pub(crate) struct Component {
    pub(crate) members: Vec<usize>,
    /// For each member the members whose continuation is part of its own through tail edges; itself first.
    pub(crate) tail_sources: Vec<Vec<usize>>,
    /// The strongly connected components of the members' continuations, referenced ones first; empty if the only
    /// member does not begin itself.
    pub(crate) sccs: Vec<Arc<ContinuationScc>>,
}

/// The left-corner relation of a grammar. A value is like a terminal, with the number after those of the terminals.
#[derive(Clone, Debug)]
pub(crate) struct LeftCorners {
    /// Component of each nonterminal.
    pub(crate) component_of: Vec<usize>,
    pub(crate) components: Vec<Component>,
    /// For each component the components that it has edges to.
    pub(crate) component_children: Lists<usize>,
    /// For each nonterminal its edges to other components.
    pub(crate) outer_edges: Lists<LeftCornerEdge>,
    /// For each nonterminal its productions that begin with a terminal, as (first dot, terminal).
    pub(crate) terminals: Lists<(DotId, TerminalId)>,
    /// For each nonterminal its productions that begin with a nonterminal, as (that nonterminal, first dot).
    pub(crate) nonterminals: Lists<(usize, DotId)>,
    /// The components of nonterminals that can begin with a value; empty in a grammar without values.
    begins_with_value: Vec<bool>,
}

impl LeftCorners {
    /// Analyses a lowered grammar.
    ///
    /// # Errors
    /// When the tail edges inside a component generate more than `grammar_size` references.
    pub(crate) fn of(form: &NormalForm, grammar_size: usize) -> Result<Self, LimitExceeded> {
        let count = form.nonterminal_count();
        let mut terminals = Lists::with_capacity(count);
        let mut nonterminals = Lists::with_capacity(count);
        let mut edges = Lists::with_capacity(count);
        let mut successors = AdjacencyList::with_capacity(count);
        for nonterminal in 0..count {
            for production in form.productions_of(NonterminalId::new(nonterminal)) {
                for dot in form.first_dots(production)? {
                    let (symbol, advance) = match &production.rhs {
                        RightHandSide::Scope(symbol) => (*symbol, form.advance(dot)),
                        RightHandSide::Value { .. } => {
                            let number = form.values().partition_point(|&(other, _)| other < dot);
                            let terminal = TerminalId::new(form.terminals().len() + number);
                            (Symbol::Terminal(terminal), form.advance(dot))
                        }
                        RightHandSide::Sequence(symbols) => {
                            let next = (symbols.len() > 1).then_some(DotId(dot.0 + 1));
                            (symbols[0], Advance { completes: next.is_none(), next })
                        }
                        RightHandSide::Repeat { symbol, .. } => (*symbol, form.advance(dot)),
                        RightHandSide::Selection { .. } => (form.symbol_after(dot), form.advance(dot)),
                    };
                    match symbol {
                        Symbol::Terminal(id) => terminals.push((dot, id)),
                        Symbol::Nonterminal(id) => {
                            nonterminals.push((id.index(), dot));
                            successors.push(id.index());
                            let Advance { completes: is_tail, next } = advance;
                            edges.push(LeftCornerEdge { child: id.index(), is_tail, next });
                        }
                    }
                }
            }
            terminals.end_list();
            nonterminals.end_list();
            edges.end_list();
            successors.end_node();
        }
        let Components { of_node: component_of, count: component_count } = components_of(&successors);
        let mut budget = grammar_size;
        let mut members = vec![Vec::new(); component_count];
        for nonterminal in 0..count {
            members[component_of[nonterminal]].push(nonterminal);
        }
        let mut position_of = vec![0; count];
        for component in &members {
            for (position, &member) in component.iter().enumerate() {
                position_of[member] = position;
            }
        }
        let mut components = Vec::with_capacity(component_count);
        let mut scc_count = 0;
        for members in members {
            if let [only] = members[..]
                && edges[only].iter().all(|edge| edge.child != only)
            {
                components.push(Component { members, tail_sources: Vec::new(), sccs: Vec::new() });
                continue;
            }
            let is_inner = |edge: &&LeftCornerEdge| component_of[edge.child] == component_of[members[0]];
            // Inner edges by child, as (parent, edge).
            let mut parents: Vec<Vec<(usize, LeftCornerEdge)>> = vec![Vec::new(); members.len()];
            for (position, &member) in members.iter().enumerate() {
                for edge in edges[member].iter().filter(is_inner) {
                    parents[position_of[edge.child]].push((position, *edge));
                }
            }
            components.push(
                Component::of(members, &parents, &mut budget, &mut scc_count)
                    .ok_or_else(|| LimitExceeded::new("grammar_size", grammar_size))?,
            );
        }
        let mut outer_edges = Lists::with_capacity(count);
        let mut children: Vec<(usize, usize)> = Vec::new();
        for nonterminal in 0..count {
            let own = component_of[nonterminal];
            for edge in edges[nonterminal].iter().filter(|edge| component_of[edge.child] != own) {
                outer_edges.push(*edge);
                children.push((own, component_of[edge.child]));
            }
            outer_edges.end_list();
        }
        children.sort_unstable();
        children.dedup();
        let mut children = children.into_iter().peekable();
        let mut component_children = Lists::with_capacity(component_count);
        for component in 0..component_count {
            while let Some((_, child)) = children.next_if(|(parent, _)| *parent == component) {
                component_children.push(child);
            }
            component_children.end_list();
        }
        let mut begins_with_value = Vec::new();
        if form.has_values() {
            // Children have smaller numbers than their parents.
            for (component, Component { members, .. }) in components.iter().enumerate() {
                let is_value = |&(_, id): &(DotId, TerminalId)| id.index() >= form.terminals().len();
                let begins = members.iter().any(|&member| terminals[member].iter().any(is_value))
                    || component_children[component].iter().any(|&child| begins_with_value[child]);
                begins_with_value.push(begins);
            }
        }
        Ok(Self {
            component_of,
            components,
            component_children,
            outer_edges,
            terminals,
            nonterminals,
            begins_with_value,
        })
    }

    /// Whether a nonterminal can begin with a value.
    pub(crate) fn begins_with_value(&self, nonterminal: usize) -> bool {
        self.begins_with_value.get(self.component_of[nonterminal]).is_some_and(|&begins| begins)
    }
}

impl Component {
    /// Whether the only member does not begin itself.
    pub(crate) fn is_plain(&self) -> bool {
        self.sccs.is_empty()
    }

    /// `None` when `budget`, for tail sources and references, is spent.
    fn of(
        members: Vec<usize>,
        parents: &[Vec<(usize, LeftCornerEdge)>],
        budget: &mut usize,
        scc_count: &mut u32,
    ) -> Option<Self> {
        let mut tail_sources = Vec::with_capacity(members.len());
        let mut inner = Vec::with_capacity(members.len());
        for member in 0..members.len() {
            let mut sources = vec![member];
            let mut is_source = vec![false; if parents[member].is_empty() { 0 } else { members.len() }];
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
        let mut position_in_scc = vec![0; members.len()];
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
        Some(Self { members, tail_sources, sccs })
    }
}
