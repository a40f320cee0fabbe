//! Which nodes contain bindings that belong to a scope around them, and which names a scope binds.

use std::collections::BTreeMap;
use std::sync::Arc;

use grammask_collections::graph::{AdjacencyList, components_of};
use grammask_diagnostics::{Code, Diagnostic, closest};
use grammask_grammar::{Grammar, Node, NodeId, NonterminalId};

use rustc_hash::FxHashSet;

use super::{binding_at, is_binder};

/// The nodes and rules that contain bindings outside of the scopes in them.
pub(super) struct FreeBindings {
    nodes: Vec<bool>,
    rules: Vec<bool>,
    /// The bodies of each rule.
    bodies: Vec<Vec<NodeId>>,
}

impl FreeBindings {
    pub(super) fn of(grammar: &Grammar) -> Self {
        let (count, rules) = (grammar.nodes().len(), grammar.nonterminals().len());
        let mut bodies = vec![Vec::new(); rules];
        // Edges from nodes to those that contain them; rules are numbered after the nodes.
        let mut edges: Vec<(u32, u32)> = Vec::new();
        for (index, node) in grammar.nodes().iter().enumerate() {
            if let Node::Nonterminal(rule) = node {
                edges.push(((count + rule.index()) as u32, index as u32));
            }
            if !matches!(node, Node::Scope(_)) {
                edges.extend(node.children().map(|part| (part.as_u32(), index as u32)));
            }
        }
        for definition in grammar.definitions() {
            bodies[definition.lhs.index()].push(definition.body);
            edges.push((definition.body.as_u32(), (count + definition.lhs.index()) as u32));
        }
        let users = AdjacencyList::from_pairs(count + rules, &edges);
        let mut free = vec![false; count + rules];
        let mut stack: Vec<usize> =
            (0..count).filter(|&node| binding_at(grammar, NodeId::new(node)).is_some()).collect();
        while let Some(index) = stack.pop() {
            if !std::mem::replace(&mut free[index], true) {
                stack.extend(users.of(index).iter().map(|&user| user as usize));
            }
        }
        let of_rules = free.split_off(count);
        Self { nodes: free, rules: of_rules, bodies }
    }

    /// Whether a node contains a binding that belongs to a scope around it.
    pub(super) fn has(&self, node: NodeId) -> bool {
        self.nodes[node.index()]
    }

    /// Whether a rule of the original grammar contains one.
    pub(super) fn has_rule(&self, rule: NonterminalId) -> bool {
        self.rules.get(rule.index()) == Some(&true)
    }

    /// The bodies of a rule.
    pub(super) fn bodies(&self, rule: NonterminalId) -> &[NodeId] {
        &self.bodies[rule.index()]
    }

    /// Errors about bindings outside of scopes, and about rules with bindings that are recursive.
    pub(super) fn misplaced(&self, grammar: &Grammar) -> Vec<Diagnostic> {
        let mut diagnostics = Vec::new();
        if self.has_rule(grammar.start()) {
            let reached = self.reached(grammar, self.bodies(grammar.start()));
            for node in reached {
                let Some(binding) = binding_at(grammar, node) else { continue };
                let message = format!("the name `{}` is outside of a scope that binds it", binding.name);
                diagnostics.push(
                    Diagnostic::error(Code::InvalidBinding, message)
                        .at(grammar.span(node))
                        .found(binding.kind.notation())
                        .help("a rule that binds a name is its scope, with the rules that it refers to"),
                );
            }
        }
        let mut edges: Vec<(u32, u32)> = Vec::new();
        for rule in (0..self.rules.len()).map(NonterminalId::new).filter(|&rule| self.has_rule(rule)) {
            for node in self.reached_in_rule(grammar, self.bodies(rule)) {
                if let Node::Nonterminal(next) = grammar.nodes()[node.index()] {
                    edges.push((rule.as_u32(), next.as_u32()));
                }
            }
        }
        let own = |&(from, to): &(u32, u32)| (from == to).then_some(from);
        let recursive: FxHashSet<u32> = edges.iter().filter_map(own).collect();
        let components = components_of(&AdjacencyList::from_pairs(self.rules.len(), &edges));
        let mut sizes = vec![0; components.count];
        components.of_node.iter().for_each(|&component| sizes[component] += 1);
        for (index, definition) in grammar.nonterminals().iter().enumerate() {
            let is_own = recursive.contains(&(index as u32));
            if self.rules[index] && (sizes[components.of_node[index]] > 1 || is_own) {
                let message = format!(
                    "the rule `{}` refers to itself inside the scope of its bindings",
                    definition.name
                );
                diagnostics.push(
                    Diagnostic::error(Code::UnsupportedGrammar, message)
                        .at(definition.span)
                        .help("write a repetition, or bind the name in this rule"),
                );
            }
        }
        diagnostics
    }

    /// The nodes with free bindings below some nodes, those of other rules included, in ascending order.
    fn reached(&self, grammar: &Grammar, roots: &[NodeId]) -> Vec<NodeId> {
        self.reach(grammar, roots, true)
    }

    fn reached_in_rule(&self, grammar: &Grammar, roots: &[NodeId]) -> Vec<NodeId> {
        self.reach(grammar, roots, false)
    }

    fn reach(&self, grammar: &Grammar, roots: &[NodeId], enters_rules: bool) -> Vec<NodeId> {
        let mut visited = FxHashSet::default();
        let mut stack: Vec<NodeId> = roots.to_vec();
        let mut reached = Vec::new();
        while let Some(node) = stack.pop() {
            if !self.has(node) || !visited.insert(node) {
                continue;
            }
            reached.push(node);
            match &grammar.nodes()[node.index()] {
                Node::Nonterminal(rule) if enters_rules => stack.extend(self.bodies(*rule)),
                inner => stack.extend(inner.children()),
            }
        }
        reached.sort_unstable();
        reached
    }
}

/// The names that a scope binds, each with its binders, and errors about names that it does not.
pub(super) fn names_of_scope(
    grammar: &Grammar,
    free: &FreeBindings,
    body: NodeId,
) -> (BTreeMap<Arc<str>, Vec<NodeId>>, Vec<Diagnostic>) {
    let reached = free.reached(grammar, &[body]);
    let mut names: BTreeMap<Arc<str>, Vec<NodeId>> = BTreeMap::new();
    let bindings = || reached.iter().filter_map(|&node| Some((node, binding_at(grammar, node)?)));
    for (node, binding) in bindings().filter(|(_, binding)| is_binder(binding)) {
        names.entry(binding.name.clone()).or_default().push(node);
    }
    let mut unbound = Vec::new();
    for (node, binding) in bindings().filter(|(_, binding)| !names.contains_key(&binding.name)) {
        let message = format!("nothing binds the name `{}` in its scope", binding.name);
        let close = closest(&binding.name, names.keys().map(|name| &**name));
        let help = match close {
            Some(close) => format!("did you mean `{close}`?"),
            None => "bind it in the same rule, or in a rule that refers to this one and binds nothing else between"
                .to_owned(),
        };
        unbound.push(
            Diagnostic::error(Code::InvalidBinding, message)
                .at(grammar.span(node))
                .found(binding.kind.notation())
                .help(help),
        );
    }
    (names, unbound)
}
