//! Railroad diagrams of the rules of a grammar.
//!
//! Each node of a right-hand side becomes one shape, in the order of their ids, since children precede their parents.
//! Several definitions of a rule are alternatives. Small rules that a front end made, such as punctuation with white space,
//! are drawn where they are used. Cost: linear in the grammar and in the drawn shapes.

use std::sync::Arc;

use grammask_grammar::{Definition, Grammar, Node, NodeId, NonterminalDefinition, PartOrder, Terminal};

use crate::layout::{BoxKind, Layout, ShapeId};

/// Maximum number of shapes of all diagrams of a grammar. The rules after that are drawn as a box with an ellipsis: nodes
/// can be shared, so the drawings can be larger than the grammar.
const MAX_TOTAL_SHAPES: usize = 300_000;

/// Maximum number of nodes of a rule that is drawn where it is used.
const MAX_INLINED_NODES: usize = 8;

/// Maximum nesting of such rules.
const MAX_INLINED_DEPTH: usize = 4;

/// The railroad diagram of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RailroadDiagram {
    /// The name of the rule; for a rule of a schema its place.
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
    let mut shapes = GrammarShapes {
        grammar,
        titles: titles(grammar),
        of_nodes: vec![None; grammar.nodes().len()],
        inlined: vec![None; grammar.nonterminals().len()],
    };
    let mut layout = Layout::default();
    for (rule, body) in inlined_rules(grammar) {
        let nodes = descendants(grammar, body, MAX_INLINED_NODES).unwrap_or_default();
        nodes.into_iter().for_each(|node| shapes.add(&mut layout, node));
        shapes.inlined[rule] = shapes.of_nodes[body.index()];
    }
    (0..grammar.nodes().len()).for_each(|node| shapes.add(&mut layout, NodeId::new(node)));
    let mut order: Vec<usize> = Vec::new();
    let mut bodies: Vec<Vec<ShapeId>> = vec![Vec::new(); shapes.titles.len()];
    for Definition { lhs, body, .. } in grammar.definitions() {
        if shapes.inlined[lhs.index()].is_some() {
            continue;
        }
        if bodies[lhs.index()].is_empty() {
            order.push(lhs.index());
        }
        bodies[lhs.index()].push(shapes.of(*body));
    }
    let mut drawn = 0;
    let draw = |rule: usize| {
        let mut root = layout.alternatives(&bodies[rule]);
        drawn += layout.count(root);
        if drawn > MAX_TOTAL_SHAPES {
            root = layout.text_box(BoxKind::Elided, "…");
        }
        let name = &shapes.titles[rule];
        RailroadDiagram { rule: name.clone(), svg: layout.draw(name, root) }
    };
    order.into_iter().map(draw).collect()
}

/// The shapes of the nodes of a grammar.
struct GrammarShapes<'g> {
    grammar: &'g Grammar,
    /// The titles of the rules.
    titles: Vec<Arc<str>>,
    of_nodes: Vec<Option<ShapeId>>,
    /// The shapes of the rules that are drawn where they are used.
    inlined: Vec<Option<ShapeId>>,
}

impl GrammarShapes<'_> {
    /// The shape of a node, which was added.
    fn of(&self, node: NodeId) -> ShapeId {
        self.of_nodes[node.index()].expect("children are added before their parents")
    }

    fn all(&self, parts: &[NodeId]) -> Vec<ShapeId> {
        parts.iter().map(|&part| self.of(part)).collect()
    }

    /// Adds the shape of a node whose children have theirs.
    fn add(&mut self, layout: &mut Layout, node: NodeId) {
        if self.of_nodes[node.index()].is_none() {
            let shape = self.node_shape(layout, node);
            self.of_nodes[node.index()] = Some(layout.limited(shape));
        }
    }

    fn node_shape(&self, layout: &mut Layout, node: NodeId) -> ShapeId {
        match &self.grammar.nodes()[node.index()] {
            Node::Terminal(id) => {
                let definition = &self.grammar.terminals()[id.index()];
                let is_empty = matches!(&definition.terminal, Terminal::Literal(bytes) if bytes.is_empty());
                if is_empty { layout.line() } else { layout.text_box(BoxKind::Terminal, &definition.label) }
            }
            Node::Nonterminal(id) => {
                if let Some(shape) = self.inlined[id.index()] {
                    return shape;
                }
                let title = &self.titles[id.index()];
                let is_defined = self.grammar.nonterminals()[id.index()].defined;
                let kind = if is_defined { BoxKind::Reference } else { BoxKind::Undefined };
                layout.text_box(kind(title.clone()), title)
            }
            Node::Sequence(parts) => layout.sequence(&self.all(parts)),
            Node::Choice(parts) => layout.alternatives(&self.all(parts)),
            Node::Repeat { node, min, max } => repetition(layout, self.of(*node), *min, *max),
            Node::Selection { selection, parts, separator } => {
                let body = layout.alternatives(&self.all(parts));
                let body = layout.repeated(body, Some(self.of(*separator)), None);
                let note = match selection.order() {
                    PartOrder::Any => "in any order, under conditions",
                    PartOrder::Listed => "in this order, under conditions",
                };
                layout.frame(body, note)
            }
            Node::Scope(node) => layout.frame(self.of(*node), "scope"),
            Node::Value { node, condition } => layout.frame(self.of(*node), condition.kind.name()),
            Node::Binding(binding) => {
                let text = format!("{}!({})", binding.kind.word(), binding.name);
                match binding.node {
                    Some(node) => layout.frame(self.of(node), &text),
                    None => layout.text_box(BoxKind::Terminal, &text),
                }
            }
        }
    }
}

/// The titles of rules: their names, or, for a rule that a front end made, the place of the value to which its texts belong,
/// and with what they begin if they are a part of it.
fn titles(grammar: &Grammar) -> Vec<Arc<str>> {
    let mut bodies: Vec<Option<NodeId>> = vec![None; grammar.nonterminals().len()];
    for Definition { lhs, body, .. } in grammar.definitions() {
        bodies[lhs.index()].get_or_insert(*body);
    }
    let title = |(rule, definition): (usize, &NonterminalDefinition)| {
        let Some((place, kind)) = definition.name.split_once('.') else { return definition.name.clone() };
        match first_label(grammar, &bodies, rule) {
            Some(label) if !kind.starts_with("value") => format!("{place}, from {label}").into(),
            _ => place.into(),
        }
    };
    grammar.nonterminals().iter().enumerate().map(title).collect()
}

/// The label of the terminal with which the first alternative of a rule begins.
fn first_label<'g>(grammar: &'g Grammar, bodies: &[Option<NodeId>], rule: usize) -> Option<&'g str> {
    let mut node = bodies[rule]?;
    for _ in 0..MAX_INLINED_DEPTH * MAX_INLINED_NODES {
        node = match &grammar.nodes()[node.index()] {
            Node::Terminal(id) => return Some(&grammar.terminals()[id.index()].label),
            Node::Nonterminal(id) => bodies[id.index()]?,
            other => other.children().next()?,
        };
    }
    None
}

/// The rules that are drawn where they are used, with their bodies: small ones that a front end made. Each uses earlier ones
/// only.
fn inlined_rules(grammar: &Grammar) -> Vec<(usize, NodeId)> {
    let mut candidates: Vec<Option<(NodeId, Vec<usize>)>> = vec![None; grammar.nonterminals().len()];
    for &Definition { lhs, body, .. } in grammar.definitions() {
        if lhs != grammar.start() && grammar.nonterminals()[lhs.index()].name.contains('.') {
            let nodes = descendants(grammar, body, MAX_INLINED_NODES);
            let used = nodes.map(|nodes| nodes.into_iter().filter_map(|node| used_rule(grammar, node)));
            candidates[lhs.index()] = used.map(|used| (body, used.collect()));
        }
    }
    let mut inlined = Vec::new();
    for _ in 0..MAX_INLINED_DEPTH {
        for rule in 0..candidates.len() {
            let is_ready =
                |(_, used): &&(NodeId, Vec<usize>)| used.iter().all(|&rule| candidates[rule].is_none());
            if let Some((body, _)) = candidates[rule].as_ref().filter(is_ready) {
                inlined.push((rule, *body));
                candidates[rule] = None;
            }
        }
    }
    inlined
}

/// The rule to which a node refers.
fn used_rule(grammar: &Grammar, node: NodeId) -> Option<usize> {
    match &grammar.nodes()[node.index()] {
        Node::Nonterminal(id) => Some(id.index()),
        _ => None,
    }
}

/// A node and those that it is made of, in ascending order; `None` if there are more than `max`.
fn descendants(grammar: &Grammar, root: NodeId, max: usize) -> Option<Vec<NodeId>> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&node) = found.get(next) {
        next += 1;
        found.extend(grammar.nodes()[node.index()].children());
        if found.len() > max {
            return None;
        }
    }
    found.sort_unstable_by_key(|node| node.index());
    Some(found)
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
