//! Patterns whose alternatives and repetitions are ordered: an arena of nodes, children before parents.

use grammask_collections::id_type;

use super::code_points::{CodePointPartition, CodePointSet};

id_type! {
    /// A node of an [`OrderedPattern`].
    OrderedNodeId
}

/// The side of the current position that a look-around inspects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookDirection {
    /// The following text: a look-ahead.
    Ahead,
    /// The preceding text: a look-behind.
    Behind,
}

/// The preference of a repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepetitionOrder {
    /// It prefers more copies.
    Greedy,
    /// It prefers fewer copies.
    Lazy,
}

/// Whether the pattern inside of a look-around must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LookCondition {
    /// It must match.
    Match,
    /// It must not match.
    NoMatch,
}

/// A node of an [`OrderedPattern`].
#[derive(Clone, Debug)]
pub(super) enum OrderedNode {
    Characters(CodePointSet),
    Sequence(Box<[OrderedNodeId]>),
    /// Alternatives in order of preference.
    Choice(Box<[OrderedNodeId]>),
    Repeat {
        item: OrderedNodeId,
        min: u32,
        max: Option<u32>,
        order: RepetitionOrder,
    },
    Look {
        item: OrderedNodeId,
        direction: LookDirection,
        condition: LookCondition,
    },
    /// The first match of the item only: an atomic group.
    Atomic(OrderedNodeId),
}

#[derive(Clone, Copy, Debug)]
struct NodeProperties {
    is_nullable: bool,
    has_look: bool,
}

/// A pattern as a backtracking matcher reads it, such as a pattern of Python's `re`. The last node is the root.
///
/// The nodes that a new node refers to must have been added to the same pattern.
#[derive(Clone, Debug, Default)]
pub struct OrderedPattern {
    nodes: Vec<OrderedNode>,
    properties: Vec<NodeProperties>,
}

impl OrderedPattern {
    /// A pattern without nodes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether the pattern has no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds one character of a set.
    pub fn characters(&mut self, set: CodePointSet) -> OrderedNodeId {
        self.push(OrderedNode::Characters(set), NodeProperties { is_nullable: false, has_look: false })
    }

    /// Adds a concatenation.
    pub fn sequence(&mut self, items: &[OrderedNodeId]) -> OrderedNodeId {
        let is_nullable = items.iter().all(|&item| self.is_nullable(item));
        let has_look = items.iter().any(|&item| self.has_look(item));
        self.push(OrderedNode::Sequence(items.into()), NodeProperties { is_nullable, has_look })
    }

    /// Adds alternatives, the preferred one first.
    pub fn choice(&mut self, items: &[OrderedNodeId]) -> OrderedNodeId {
        let is_nullable = items.iter().any(|&item| self.is_nullable(item));
        let has_look = items.iter().any(|&item| self.has_look(item));
        self.push(OrderedNode::Choice(items.into()), NodeProperties { is_nullable, has_look })
    }

    /// Adds a repetition, unbounded without `max`.
    pub fn repeat(
        &mut self,
        item: OrderedNodeId,
        min: u32,
        max: Option<u32>,
        order: RepetitionOrder,
    ) -> OrderedNodeId {
        let is_nullable = min == 0 || self.is_nullable(item);
        let has_look = self.has_look(item);
        self.push(OrderedNode::Repeat { item, min, max, order }, NodeProperties { is_nullable, has_look })
    }

    /// Adds a look-around. The item of a look-behind must have words of one length only.
    pub fn look(
        &mut self,
        item: OrderedNodeId,
        direction: LookDirection,
        condition: LookCondition,
    ) -> OrderedNodeId {
        let properties = NodeProperties { is_nullable: true, has_look: true };
        self.push(OrderedNode::Look { item, direction, condition }, properties)
    }

    /// Adds an atomic group: the matcher does not return into its item once it has matched. For [`full_match`] only.
    ///
    /// [`full_match`]: super::full_match
    pub fn atomic(&mut self, item: OrderedNodeId) -> OrderedNodeId {
        let properties = NodeProperties { is_nullable: self.is_nullable(item), has_look: true };
        self.push(OrderedNode::Atomic(item), properties)
    }

    fn push(&mut self, node: OrderedNode, properties: NodeProperties) -> OrderedNodeId {
        self.nodes.push(node);
        self.properties.push(properties);
        OrderedNodeId::new(self.nodes.len() - 1)
    }

    pub(super) fn node(&self, id: OrderedNodeId) -> &OrderedNode {
        &self.nodes[id.index()]
    }

    /// The root; `None` without nodes.
    pub(super) fn root(&self) -> Option<OrderedNodeId> {
        self.nodes.len().checked_sub(1).map(OrderedNodeId::new)
    }

    pub(super) fn is_nullable(&self, id: OrderedNodeId) -> bool {
        self.properties[id.index()].is_nullable
    }

    /// Whether the node is a look-around or an atomic group, or contains one: its matches depend on the text around.
    pub(super) fn has_look(&self, id: OrderedNodeId) -> bool {
        self.properties[id.index()].has_look
    }

    /// The coarsest partition that distinguishes all character sets of the pattern.
    pub(super) fn partition(&self) -> CodePointPartition {
        CodePointPartition::new(self.nodes.iter().filter_map(|node| match node {
            OrderedNode::Characters(set) => Some(set),
            _ => None,
        }))
    }

    pub(super) fn nodes(&self) -> &[OrderedNode] {
        &self.nodes
    }

    /// The nodes of the required part of `id`, children before parents: without items of repetitions from zero.
    pub(super) fn required_descendants(&self, id: OrderedNodeId) -> Vec<OrderedNodeId> {
        let mut is_reached = vec![false; id.index() + 1];
        is_reached[id.index()] = true;
        for index in (0..=id.index()).rev() {
            if !is_reached[index] {
                continue;
            }
            match &self.nodes[index] {
                OrderedNode::Characters(_) | OrderedNode::Repeat { min: 0, .. } => {}
                OrderedNode::Sequence(items) | OrderedNode::Choice(items) => {
                    items.iter().for_each(|item| is_reached[item.index()] = true);
                }
                OrderedNode::Repeat { item, .. }
                | OrderedNode::Look { item, .. }
                | OrderedNode::Atomic(item) => {
                    is_reached[item.index()] = true;
                }
            }
        }
        (0..=id.index()).filter(|&index| is_reached[index]).map(OrderedNodeId::new).collect()
    }

    /// The pattern without order, in the syntax of [`regex`](crate::regex): the same words if the order excludes none.
    /// `None` with look-around.
    #[must_use]
    pub fn unordered_text(&self) -> Option<String> {
        let mut texts: Vec<String> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let text = match node {
                OrderedNode::Characters(set) => set.class_text(),
                OrderedNode::Sequence(items) => items.iter().map(|item| &*texts[item.index()]).collect(),
                OrderedNode::Choice(items) => {
                    let items: Vec<&str> = items.iter().map(|item| &*texts[item.index()]).collect();
                    format!("(?:{})", items.join("|"))
                }
                OrderedNode::Repeat { item, min, max, .. } => {
                    let max = max.map(|max| max.to_string()).unwrap_or_default();
                    format!("(?:{}){{{min},{max}}}", texts[item.index()])
                }
                OrderedNode::Look { .. } | OrderedNode::Atomic(_) => return None,
            };
            texts.push(text);
        }
        texts.pop()
    }
}
