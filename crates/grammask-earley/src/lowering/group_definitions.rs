//! Pass: several definitions of one nonterminal become one, with their bodies as alternatives.
//!
//! `a ::= "x"; b ::= "y"; a ::= "z";` becomes `a ::= "x" | "z"; b ::= "y";`.

use grammask_diagnostics::Span;
use grammask_grammar::{Definition, Grammar, Node, NodeId};

/// Whether some nonterminal has several definitions.
#[must_use]
pub fn has_several_definitions(grammar: &Grammar) -> bool {
    let mut defined = vec![false; grammar.nonterminals.len()];
    grammar.definitions.iter().any(|definition| std::mem::replace(&mut defined[definition.lhs.index()], true))
}

/// Groups definitions by left-hand side, in the order of first definitions.
#[must_use]
pub fn group_definitions(mut grammar: Grammar) -> Grammar {
    let mut bodies: Vec<Vec<NodeId>> = vec![Vec::new(); grammar.nonterminals.len()];
    let mut order: Vec<Definition> = Vec::new();
    for definition in &grammar.definitions {
        let group = &mut bodies[definition.lhs.index()];
        if group.is_empty() {
            order.push(*definition);
        }
        group.push(definition.body);
    }
    for definition in &mut order {
        let group = std::mem::take(&mut bodies[definition.lhs.index()]);
        if group.len() > 1 {
            definition.span =
                group.iter().map(|&body| grammar.spans[body.index()]).fold(definition.span, Span::to);
            grammar.nodes.push(Node::Choice(group.into()));
            grammar.spans.push(definition.span);
            definition.body = NodeId::new(grammar.nodes.len() - 1);
        }
    }
    grammar.definitions = order;
    grammar
}
