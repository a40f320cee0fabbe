//! The static part of prediction: which nonterminals begin which, in components that are canonicalised together.
//!
//! `B` has a left-corner edge to `D` if a production of `B` begins with `D`. What follows a predicted `D` is
//! then what follows that `D` inside the production of `B`, or, where the production ends there (a *tail*
//! edge), whatever follows `B` itself. Components of this graph are numbered children first, so going through
//! the reached components from the highest number down visits every parent before its children.

use std::sync::Arc;

use crate::lowering::{Advance, DotId, NormalForm, RightHandSide, Symbol};
use grammask_collections::graph::{Components, Edges, components_of, strong_components};
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{NonterminalId, TerminalId};

/// A left-corner edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// The nonterminal that begins a production.
    pub(crate) child: usize,
    /// The production can end right after it.
    pub(crate) is_tail: bool,
    /// The dot after it, if something can follow.
    pub(crate) next: Option<DotId>,
}

/// A reference from one continuation of a component to another one of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InnerReference {
    /// Where the production goes on.
    pub(crate) dot: DotId,
    /// Whose continuation holds after that production, as a position in a list of members.
    pub(crate) member: usize,
}

/// A part of a component whose continuations refer to each other in a cycle, or one continuation that does not.
#[derive(Clone, Debug)]
pub(crate) struct Knot {
    /// Number of the knot in the grammar.
    pub(crate) number: u32,
    /// Positions in [`Component::members`].
    pub(crate) members: Vec<usize>,
    /// For each member its references into the knot, as positions in `members`; all empty without a cycle.
    pub(crate) inside: Vec<Vec<InnerReference>>,
    /// For each member its references to earlier knots, as positions in [`Component::members`].
    pub(crate) across: Vec<Vec<InnerReference>>,
    /// Whether its continuations refer to themselves.
    pub(crate) is_cyclic: bool,
}

/// A list for each of many things, in one list.
#[derive(Clone, Debug)]
pub(crate) struct Lists<T> {
    /// Where each list begins, and where the last one ends.
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
        // Items are parts of productions, whose dots are numbered with 32 bits.
        self.starts.push(self.items.len() as u32);
    }
}

impl<T> std::ops::Index<usize> for Lists<T> {
    type Output = [T];

    fn index(&self, list: usize) -> &[T] {
        &self.items[self.starts[list] as usize..self.starts[list + 1] as usize]
    }
}

/// Nonterminals that begin each other.
#[derive(Clone, Debug)]
pub(crate) struct Component {
    pub(crate) members: Vec<usize>,
    /// For each member the members whose continuation is part of its own, through tail edges; itself first.
    pub(crate) tail_sources: Vec<Vec<usize>>,
    /// The members' knots, each after those that it refers to; none where the only member does not begin itself.
    pub(crate) knots: Vec<Arc<Knot>>,
}

/// The left-corner relation of a grammar.
#[derive(Clone, Debug)]
pub(crate) struct LeftCorners {
    /// Component of each nonterminal.
    pub(crate) component_of: Vec<usize>,
    pub(crate) components: Vec<Component>,
    /// Components that each component has edges to.
    pub(crate) component_children: Lists<usize>,
    /// Edges of each nonterminal that leave its component.
    pub(crate) outer_edges: Lists<Edge>,
    /// Productions of each nonterminal that begin with a terminal.
    pub(crate) terminals: Lists<(DotId, TerminalId)>,
    /// Productions of each nonterminal that begin with a nonterminal, as (that nonterminal, first dot).
    pub(crate) nonterminals: Lists<(usize, DotId)>,
}

impl LeftCorners {
    /// Analyses a lowered grammar.
    ///
    /// # Errors
    /// When the tails inside a component are more than `grammar_size`.
    pub(crate) fn of(form: &NormalForm, grammar_size: usize) -> Result<Self, LimitExceeded> {
        let count = form.nonterminal_count();
        let mut terminals = Lists::with_capacity(count);
        let mut nonterminals = Lists::with_capacity(count);
        let mut edges = Lists::with_capacity(count);
        let mut successors = Edges::with_capacity(count);
        for nonterminal in 0..count {
            for production in form.productions_of(NonterminalId::new(nonterminal)) {
                for dot in form.first_dots(production)? {
                    let (symbol, advance) = match &production.rhs {
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
                            edges.push(Edge { child: id.index(), is_tail, next });
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
        let mut knot_count = 0;
        for members in members {
            if let [only] = members[..]
                && edges[only].iter().all(|edge| edge.child != only)
            {
                components.push(Component { members, tail_sources: Vec::new(), knots: Vec::new() });
                continue;
            }
            let is_inner = |edge: &&Edge| component_of[edge.child] == component_of[members[0]];
            // Inner edges by child, as (parent, edge).
            let mut parents: Vec<Vec<(usize, Edge)>> = vec![Vec::new(); members.len()];
            for (position, &member) in members.iter().enumerate() {
                for edge in edges[member].iter().filter(is_inner) {
                    parents[position_of[edge.child]].push((position, *edge));
                }
            }
            components.push(
                Component::of(members, &parents, &mut budget, &mut knot_count)
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
        Ok(Self { component_of, components, component_children, outer_edges, terminals, nonterminals })
    }
}

impl Component {
    /// Whether its only member does not begin itself.
    pub(crate) fn is_plain(&self) -> bool {
        self.knots.is_empty()
    }

    /// `None` when the budget for tail sources and references is used up.
    fn of(
        members: Vec<usize>,
        parents: &[Vec<(usize, Edge)>],
        budget: &mut usize,
        knot_count: &mut u32,
    ) -> Option<Self> {
        let mut tail_sources = Vec::with_capacity(members.len());
        let mut inner = Vec::with_capacity(members.len());
        for member in 0..members.len() {
            let mut sources = vec![member];
            let mut seen = vec![false; if parents[member].is_empty() { 0 } else { members.len() }];
            if let Some(own) = seen.get_mut(member) {
                *own = true;
            }
            let mut references = Vec::new();
            let mut next = 0;
            while let Some(&source) = sources.get(next) {
                next += 1;
                for (parent, edge) in &parents[source] {
                    references.extend(edge.next.map(|dot| InnerReference { dot, member: *parent }));
                    if edge.is_tail && !std::mem::replace(&mut seen[*parent], true) {
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
        let components = strong_components(&successors);
        let mut position_in_knot = vec![0; members.len()];
        let mut knots = Vec::with_capacity(components.count);
        for knot_members in components.members() {
            for (position, &member) in knot_members.iter().enumerate() {
                position_in_knot[member] = position;
            }
            let own = components.of_node[knot_members[0]];
            let references = |is_inside: bool| {
                let of_member = |&member: &usize| {
                    let chosen = inner[member]
                        .iter()
                        .filter(|reference| (components.of_node[reference.member] == own) == is_inside);
                    chosen.copied().collect::<Vec<InnerReference>>()
                };
                knot_members.iter().map(of_member).collect::<Vec<_>>()
            };
            let mut inside = references(true);
            for reference in inside.iter_mut().flatten() {
                reference.member = position_in_knot[reference.member];
            }
            let across = references(false);
            let is_cyclic = inside.iter().any(|references| !references.is_empty());
            let knot = Knot { number: *knot_count, members: knot_members, inside, across, is_cyclic };
            knots.push(Arc::new(knot));
            *knot_count += 1;
        }
        Some(Self { members, tail_sources, knots })
    }
}
