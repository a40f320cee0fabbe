//! The static part of prediction: which nonterminals begin which, in components that are canonicalised together.
//!
//! `B` has a left-corner edge to `D` if a production of `B` begins with `D`. What follows a predicted `D` is
//! then what follows that `D` inside the production of `B`, or, where the production ends there (a *tail*
//! edge), whatever follows `B` itself. Components of this graph are numbered children first, so going through
//! the reached components from the highest number down visits every parent before its children.

use crate::LimitExceeded;
use crate::grammar::{NonterminalId, TerminalId};
use crate::graph::{Components, strong_components};
use crate::lowering::{DotId, NormalForm, Symbol};

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

/// Nonterminals that begin each other.
#[derive(Clone, Debug)]
pub(crate) struct Component {
    pub(crate) members: Vec<usize>,
    /// For each member the members whose continuation is part of its own, through tail edges; itself first.
    pub(crate) tail_sources: Vec<Vec<usize>>,
    /// The members' knots, each after those that it refers to.
    pub(crate) knots: Vec<Knot>,
}

/// The left-corner relation of a grammar.
#[derive(Clone, Debug)]
pub(crate) struct LeftCorners {
    /// Component of each nonterminal.
    pub(crate) component_of: Vec<usize>,
    pub(crate) components: Vec<Component>,
    /// Components that each component has edges to.
    pub(crate) component_children: Vec<Vec<usize>>,
    /// Edges of each nonterminal that leave its component.
    pub(crate) outer_edges: Vec<Vec<Edge>>,
    /// Productions of each nonterminal that begin with a terminal.
    pub(crate) terminals: Vec<Vec<(DotId, TerminalId)>>,
    /// Productions of each nonterminal that begin with a nonterminal, as (that nonterminal, first dot).
    pub(crate) nonterminals: Vec<Vec<(usize, DotId)>>,
}

impl LeftCorners {
    /// Analyses a lowered grammar.
    ///
    /// # Errors
    /// When the tails inside a component are more than `grammar_size`.
    pub(crate) fn of(form: &NormalForm, grammar_size: usize) -> Result<Self, LimitExceeded> {
        let count = form.nonterminal_count();
        let mut terminals = vec![Vec::new(); count];
        let mut nonterminals = vec![Vec::new(); count];
        let mut edges: Vec<Vec<Edge>> = vec![Vec::new(); count];
        for nonterminal in 0..count {
            for production in form.productions_of(NonterminalId::new(nonterminal)) {
                let dot = production.first_dot;
                match form.symbol_after(dot) {
                    Symbol::Terminal(id) => terminals[nonterminal].push((dot, id)),
                    Symbol::Nonterminal(id) => {
                        nonterminals[nonterminal].push((id.index(), dot));
                        let advance = form.advance(dot);
                        edges[nonterminal].push(Edge {
                            child: id.index(),
                            is_tail: advance.completes,
                            next: advance.next,
                        });
                    }
                }
            }
        }
        let successors: Vec<Vec<usize>> =
            edges.iter().map(|edges| edges.iter().map(|edge| edge.child).collect()).collect();
        let Components { of_node: component_of, count: component_count } = strong_components(&successors);
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
        for (nonterminal, edges) in edges.iter_mut().enumerate() {
            edges.retain(|edge| component_of[edge.child] != component_of[nonterminal]);
        }
        let mut component_children = vec![Vec::new(); component_count];
        for (nonterminal, edges) in edges.iter().enumerate() {
            component_children[component_of[nonterminal]]
                .extend(edges.iter().map(|edge| component_of[edge.child]));
        }
        for children in &mut component_children {
            children.sort_unstable();
            children.dedup();
        }
        Ok(Self { component_of, components, component_children, outer_edges: edges, terminals, nonterminals })
    }
}

impl Component {
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
            knots.push(Knot { number: *knot_count, members: knot_members, inside, across, is_cyclic });
            *knot_count += 1;
        }
        Some(Self { members, tail_sources, knots })
    }
}
