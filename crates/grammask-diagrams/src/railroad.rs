//! Railroad diagrams of the rules of a grammar.
//!
//! Each node of a right-hand side becomes one shape, in the order of their ids, since children precede their parents.
//! Several definitions of a rule are alternatives. Cost: linear in the grammar and in the drawn shapes.

use std::sync::Arc;

use grammask_grammar::{Definition, Grammar, Node, NodeId, PartOrder, Terminal};

use crate::layout::{BoxKind, Layout, ShapeId};

/// Maximum number of shapes of all diagrams of a grammar. The rules after that are drawn as a box with an ellipsis: nodes
/// can be shared, so the drawings can be larger than the grammar.
const MAX_TOTAL_SHAPES: usize = 300_000;

/// The railroad diagram of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RailroadDiagram {
    /// The name of the rule.
    pub rule: Arc<str>,
    /// The diagram, an `<svg>` element with its style. It is valid as a file of its own, and inside HTML.
    pub svg: String,
}

/// The railroad diagrams of all rules of a grammar, in the order of their definitions.
///
/// The root of each diagram and each reference to a rule have the attribute `data-rule`. A diagram shows at most 1,500
/// parts, and all diagrams together at most 300,000; others are boxes with an ellipsis.
///
/// ```
/// use grammask_diagnostics::Limits;
/// use grammask_frontends::kbnf;
/// let (grammar, _) = kbnf::grammar(b"start ::= 'a' { start };", "start", &Limits::default()).unwrap();
/// let diagrams = grammask_diagrams::railroad(&grammar);
/// assert_eq!(&*diagrams[0].rule, "start");
/// assert!(diagrams[0].svg.contains("data-rule=\"start\""));
/// ```
#[must_use]
pub fn railroad(grammar: &Grammar) -> Vec<RailroadDiagram> {
    let mut layout = Layout::default();
    let mut shapes: Vec<ShapeId> = Vec::with_capacity(grammar.nodes().len());
    for index in 0..grammar.nodes().len() {
        let shape = node_shape(&mut layout, grammar, NodeId::new(index), &shapes);
        shapes.push(layout.limited(shape));
    }
    let mut order: Vec<usize> = Vec::new();
    let mut bodies: Vec<Vec<ShapeId>> = vec![Vec::new(); grammar.nonterminals().len()];
    for Definition { lhs, body, .. } in grammar.definitions() {
        if bodies[lhs.index()].is_empty() {
            order.push(lhs.index());
        }
        bodies[lhs.index()].push(shapes[body.index()]);
    }
    let mut drawn = 0;
    let draw = |rule: usize| {
        let mut root = layout.alternatives(&bodies[rule]);
        drawn += layout.count(root);
        if drawn > MAX_TOTAL_SHAPES {
            root = layout.text_box(BoxKind::Elided, "…");
        }
        let name = &grammar.nonterminals()[rule].name;
        RailroadDiagram { rule: name.clone(), svg: layout.draw(name, root) }
    };
    order.into_iter().map(draw).collect()
}

fn node_shape(layout: &mut Layout, grammar: &Grammar, node: NodeId, shapes: &[ShapeId]) -> ShapeId {
    let all = |parts: &[NodeId]| parts.iter().map(|part| shapes[part.index()]).collect::<Vec<ShapeId>>();
    match &grammar.nodes()[node.index()] {
        Node::Terminal(id) => {
            let definition = &grammar.terminals()[id.index()];
            let is_empty = matches!(&definition.terminal, Terminal::Literal(bytes) if bytes.is_empty());
            if is_empty { layout.line() } else { layout.text_box(BoxKind::Terminal, &definition.label) }
        }
        Node::Nonterminal(id) => {
            let definition = &grammar.nonterminals()[id.index()];
            let name = definition.name.clone();
            let kind = if definition.defined { BoxKind::Reference } else { BoxKind::Undefined };
            layout.text_box(kind(name), &definition.name)
        }
        Node::Sequence(parts) => layout.sequence(&all(parts)),
        Node::Choice(parts) => layout.alternatives(&all(parts)),
        Node::Repeat { node, min, max } => repetition(layout, shapes[node.index()], *min, *max),
        Node::Selection { selection, parts, separator } => {
            let body = layout.alternatives(&all(parts));
            let body = layout.repeated(body, Some(shapes[separator.index()]), None);
            let note = match selection.order() {
                PartOrder::Any => "in any order, under conditions",
                PartOrder::Listed => "in this order, under conditions",
            };
            layout.frame(body, note)
        }
        Node::Scope(node) => layout.frame(shapes[node.index()], "scope"),
        Node::Value { node, condition } => layout.frame(shapes[node.index()], condition.kind.name()),
        Node::Binding(binding) => {
            let text = format!("{}!({})", binding.kind.word(), binding.name);
            match binding.node {
                Some(node) => layout.frame(shapes[node.index()], &text),
                None => layout.text_box(BoxKind::Terminal, &text),
            }
        }
    }
}

fn repetition(layout: &mut Layout, body: ShapeId, min: u32, max: Option<u32>) -> ShapeId {
    let note = match (min, max) {
        (_, Some(0)) => return layout.line(),
        (0 | 1, None) | (_, Some(1)) => None,
        (min, None) => Some(format!("at least {min} times")),
        (0 | 1, Some(max)) => Some(format!("at most {max} times")),
        (min, Some(max)) if min == max => Some(format!("{min} times")),
        (min, Some(max)) => Some(format!("{min} to {max} times")),
    };
    let repeated = if max == Some(1) { body } else { layout.repeated(body, None, note.as_deref()) };
    if min == 0 { layout.optional(repeated) } else { repeated }
}
