//! Pass: sequences inside sequences and choices inside choices are spliced into their parents.
//!
//! `("a" "b") "c" | ("d" | "e")` becomes `"a" "b" "c" | "d" | "e"`. Nodes with several parents are not spliced, so
//! that shared nodes are not copied. Cost: linear in the number of nodes, for any depth of nesting.

use grammask_diagnostics::Span;
use grammask_grammar::{Grammar, Node, NodeId};

/// Whether there are nested sequences or choices.
#[must_use]
pub fn has_nested_operators(grammar: &Grammar) -> bool {
    absorbed_nodes(grammar).contains(&true)
}

/// Splices nested sequences and choices.
#[must_use]
pub fn flatten_operators(grammar: Grammar) -> Grammar {
    let absorbed = absorbed_nodes(&grammar);
    let mut new_ids: Vec<Option<NodeId>> = vec![None; grammar.nodes.len()];
    let mut nodes: Vec<Node> = Vec::with_capacity(grammar.nodes.len());
    let mut spans: Vec<Span> = Vec::with_capacity(grammar.nodes.len());
    for (index, node) in grammar.nodes.iter().enumerate() {
        if absorbed[index] {
            continue;
        }
        // Children precede their parents, so the remaining ones have new ids already.
        let renumber = |id: NodeId| new_ids[id.index()].unwrap_or(id);
        let flat = |parts: &[NodeId]| -> Box<[NodeId]> {
            let mut stack: Vec<NodeId> = parts.iter().rev().copied().collect();
            let mut leaves = Vec::new();
            while let Some(part) = stack.pop() {
                match &grammar.nodes[part.index()] {
                    Node::Sequence(inner) | Node::Choice(inner) if absorbed[part.index()] => {
                        stack.extend(inner.iter().rev());
                    }
                    _ => leaves.push(renumber(part)),
                }
            }
            leaves.into()
        };
        let flattened = match node {
            Node::Sequence(parts) => Node::Sequence(flat(parts)),
            Node::Choice(parts) => Node::Choice(flat(parts)),
            // Was resolved.
            Node::Binding(_) => Node::Sequence(Box::default()),
            _ => node.map_children(renumber),
        };
        new_ids[index] = Some(NodeId::new(nodes.len()));
        nodes.push(flattened);
        spans.push(grammar.spans[index]);
    }
    let mut definitions = grammar.definitions;
    for definition in &mut definitions {
        if let Some(id) = new_ids[definition.body.index()] {
            definition.body = id;
        }
    }
    Grammar { nodes, spans, definitions, ..grammar }
}

/// Sequences whose only parent is a sequence, and choices whose only parent is a choice.
fn absorbed_nodes(grammar: &Grammar) -> Vec<bool> {
    let mut parents = vec![0_u32; grammar.nodes.len()];
    let mut like_parent = vec![false; grammar.nodes.len()];
    // Bindings were resolved, so no node refers to them.
    for node in grammar.nodes.iter().filter(|node| !matches!(node, Node::Binding(_))) {
        let is_operator = matches!(node, Node::Sequence(_) | Node::Choice(_));
        for child in node.children() {
            parents[child.index()] += 1;
            if is_operator {
                like_parent[child.index()] =
                    std::mem::discriminant(node) == std::mem::discriminant(&grammar.nodes[child.index()]);
            }
        }
    }
    for definition in &grammar.definitions {
        parents[definition.body.index()] += 1;
    }
    parents.iter().zip(like_parent).map(|(&count, like)| count == 1 && like).collect()
}
