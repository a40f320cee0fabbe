//! Pass: bindings become values of scopes.
//!
//! A scope is translated once for each state of its names on the way through it: unbound, bound to the empty text, or bound
//! to another text ([`Assignment`]). So the recogniser remembers no empty texts and no missing ones:
//!
//! ```text
//! scope(bind!(x, "="*) "[" other!(x, "="*) "]" same!(x))
//! scope("[" "="+ "]" | bound("="+) "[" ("" | different("="+)) "]" repeated("="+))
//! ```
//!
//! The rules between a scope and its bindings are copied for each state, so they must not be recursive. Cost: linear in
//! the grammar and the copies, which count against `grammar_size`.

mod analysis;
mod languages;
mod translation;

use std::sync::Arc;

use grammask_diagnostics::{Code, Diagnostic, LimitExceeded, Limits, Span};
use grammask_grammar::{Binding, BindingKind, Grammar, GrammarBuilder, Node, NodeId, NonterminalId};
use rustc_hash::{FxHashMap, FxHashSet};

use analysis::{FreeBindings, names_of_scope};
use languages::OperandLanguages;
use translation::{BindingTranslation, ScopeNames};

/// Whether a grammar has bindings.
#[must_use]
pub fn has_bindings(grammar: &Grammar) -> bool {
    grammar.nodes().iter().any(|node| matches!(node, Node::Binding(_)))
}

/// Replaces the bindings of a grammar by values.
///
/// # Errors
/// Names that are bound nowhere in their scope, bindings outside of scopes, operands that are not regular or may leave no
/// text, recursion between a scope and its bindings, and exceeded limits.
pub fn resolve_bindings(grammar: &Grammar, limits: &Limits) -> Result<Grammar, Vec<Diagnostic>> {
    let free = FreeBindings::of(grammar);
    let mut diagnostics = free.misplaced(grammar);
    let mut builder = GrammarBuilder::new("");
    // Nodes and nonterminals keep their numbers: those of the first grafted grammar are the first.
    let start = builder.graft(grammar);
    let Node::Nonterminal(start) = *builder.node_at(start) else { return Err(diagnostics) };
    let mut languages = OperandLanguages::new(&builder, limits);
    let mut scopes: Vec<(NodeId, NodeId)> = Vec::new();
    let mut numbers: FxHashMap<Arc<str>, u16> = FxHashMap::default();
    for index in 0..grammar.nodes().len() {
        let scope = NodeId::new(index);
        let Node::Scope(body) = grammar.nodes()[index] else { continue };
        if !free.has(body) || !diagnostics.is_empty() {
            continue;
        }
        let (names, unbound) = names_of_scope(grammar, &free, body);
        diagnostics.extend(unbound);
        if names.len() > ScopeNames::MAX {
            let message = format!("a scope binds more than {} names", ScopeNames::MAX);
            let diagnostic = Diagnostic::error(Code::UnsupportedGrammar, message);
            diagnostics.push(diagnostic.at(grammar.span(scope)).help("bind fewer names in one rule"));
        }
        if !diagnostics.is_empty() {
            continue;
        }
        let mut scope_names = ScopeNames::default();
        for (name, binders) in names {
            let next = u16::try_from(numbers.len());
            let Ok(next) = next else { return Err(vec![limit(limits, grammar.span(scope))]) };
            let number = *numbers.entry(name.clone()).or_insert(next);
            match languages.union(grammar, &mut builder, &binders) {
                Ok(language) => scope_names.add(name, number, language),
                Err(diagnostic) => diagnostics.push(*diagnostic),
            }
        }
        if !diagnostics.is_empty() {
            continue;
        }
        let mut translation =
            BindingTranslation::new(grammar, &free, &mut languages, &mut builder, scope_names, limits);
        match translation.scope(scope, body) {
            Ok(translated) => scopes.push((scope, translated)),
            Err(diagnostic) => diagnostics.push(*diagnostic),
        }
    }
    if !diagnostics.is_empty() {
        return Err(diagnostics);
    }
    Ok(with_scopes(grammar, &free, builder, start, &scopes))
}

/// The resolved grammar. A scope that is the body of a rule is replaced there, other ones by references to new rules.
fn with_scopes(
    grammar: &Grammar,
    free: &FreeBindings,
    mut builder: GrammarBuilder,
    start: NonterminalId,
    scopes: &[(NodeId, NodeId)],
) -> Grammar {
    let parts: FxHashSet<NodeId> = grammar.nodes().iter().flat_map(Node::children).collect();
    let mut replaced: Vec<(NodeId, NonterminalId)> = Vec::new();
    let mut bodies: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    for &(scope, body) in scopes {
        let span = grammar.span(scope);
        let body = builder.scope(body, span);
        bodies.insert(scope, body);
        if parts.contains(&scope) {
            let rule = builder.fresh_nonterminal("scope", span);
            builder.define(rule, body, span);
            replaced.push((scope, rule));
        }
    }
    let mut resolved = builder.finish(start);
    for (scope, rule) in replaced {
        resolved.nodes[scope.index()] = Node::Nonterminal(rule);
    }
    for definition in &mut resolved.definitions {
        definition.body = bodies.get(&definition.body).copied().unwrap_or(definition.body);
    }
    // The rules with free bindings were copied. What is left of bindings is unreachable.
    resolved.definitions.retain(|definition| !free.has_rule(definition.lhs));
    let own = grammar.nonterminals().len();
    for (index, nonterminal) in resolved.nonterminals.iter_mut().enumerate() {
        let id = NonterminalId::new(index);
        nonterminal.defined &= index < own && !free.has_rule(id);
    }
    for node in &mut resolved.nodes {
        let is_left = match node {
            Node::Binding(_) => true,
            Node::Nonterminal(rule) => free.has_rule(*rule),
            _ => false,
        };
        if is_left {
            *node = Node::Sequence(Box::default());
        }
    }
    resolved.source = grammar.source().clone();
    resolved
}

fn limit(limits: &Limits, span: Span) -> Diagnostic {
    LimitExceeded::new("grammar_size", limits.grammar_size).diagnostic().at(span)
}

/// The binding of a node.
fn binding_at(grammar: &Grammar, node: NodeId) -> Option<&Binding> {
    match &grammar.nodes()[node.index()] {
        Node::Binding(binding) => Some(binding),
        _ => None,
    }
}

/// Whether a node binds a name.
fn is_binder(binding: &Binding) -> bool {
    binding.kind == BindingKind::Bind
}
