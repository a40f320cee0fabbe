//! The masks of a draft: tokens that a small model proposes and a large one verifies in one step.
//!
//! A draft is a sequence, or a tree in which each path from the root is one. The matcher is unchanged: states are
//! values, so going down a path needs no rollback on the way back.

use std::fmt;
use std::sync::Arc;

use crate::Matcher;
use crate::batch::RowError;
use grammask_vocabulary::{Mask, TokenId};

/// A tree of drafted tokens, as EAGLE-style servers lay it out: for each node the first of the tokens that can follow
/// it, and the next alternative to it. Node 0 is the root: the last token that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftTree {
    tokens: Vec<TokenId>,
    /// Nodes with the node before them, every node after the one before it; the root is not among them.
    edges: Vec<(usize, usize)>,
}

/// What does not make a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DraftTreeError {
    /// The three lists have different lengths.
    Lengths,
    /// A link leads to a node that does not exist.
    NoSuchNode {
        /// Where the link leads to.
        node: usize,
    },
    /// Two links lead to a node, or one to the root.
    Repeated {
        /// The node.
        node: usize,
    },
    /// The root has a sibling.
    RootSibling,
}

impl fmt::Display for DraftTreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lengths => {
                f.write_str("the tokens and the two lists of links of a draft tree have one entry per node")
            }
            Self::NoSuchNode { node } => write!(f, "a link leads to node {node}, which does not exist"),
            Self::Repeated { node } => write!(f, "two links lead to node {node}, so this is no tree"),
            Self::RootSibling => {
                f.write_str("the root of a draft tree is the last accepted token and has no sibling")
            }
        }
    }
}

impl std::error::Error for DraftTreeError {}

impl DraftTree {
    /// The tree with these links. The token of the root is not looked at: it was accepted before. Nodes that no link
    /// leads to, such as padding, are in no path.
    ///
    /// # Errors
    /// When the links make no tree.
    pub fn new(
        tokens: Vec<TokenId>,
        next_token: &[Option<usize>],
        next_sibling: &[Option<usize>],
    ) -> Result<Self, DraftTreeError> {
        let len = tokens.len();
        if next_token.len() != len || next_sibling.len() != len {
            return Err(DraftTreeError::Lengths);
        }
        if next_sibling.first().is_some_and(Option::is_some) {
            return Err(DraftTreeError::RootSibling);
        }
        let mut edges = Vec::with_capacity(len.saturating_sub(1));
        let mut is_linked = vec![false; len];
        // The first child of a node, and the node, where the chain of siblings is still to be followed.
        let mut pending: Vec<(usize, usize)> = Vec::new();
        if let Some(root) = is_linked.first_mut() {
            *root = true;
            pending.extend(next_token[0].map(|child| (child, 0)));
        }
        while let Some((child, parent)) = pending.pop() {
            let mut next = Some(child);
            while let Some(node) = next {
                match is_linked.get_mut(node) {
                    None => return Err(DraftTreeError::NoSuchNode { node }),
                    Some(true) => return Err(DraftTreeError::Repeated { node }),
                    Some(is_linked) => *is_linked = true,
                }
                edges.push((node, parent));
                pending.extend(next_token[node].map(|child| (child, node)));
                next = next_sibling[node];
            }
        }
        Ok(Self { tokens, edges })
    }

    /// Number of nodes, the root and nodes without a link among them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The nodes that a path leads to, without the root.
    pub fn nodes(&self) -> impl Iterator<Item = usize> {
        self.edges.iter().map(|&(node, _)| node)
    }

    /// Whether there is no node, not even a root.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }
}

impl Matcher {
    /// The masks before the first and after each of `tokens`, up to the first that cannot be accepted: one more than
    /// [`Matcher::validate`] counts.
    ///
    /// # Errors
    /// The first row whose mask cannot be made.
    pub fn draft_masks(&self, tokens: &[TokenId]) -> Result<Vec<Arc<Mask>>, RowError> {
        let fail = |row| move |error| RowError { row, error };
        let mut state = self.state();
        let mut masks = Vec::with_capacity(tokens.len() + 1);
        masks.push(self.mask_at(state).map_err(fail(0))?);
        for (token, row) in tokens.iter().zip(1..) {
            match self.next_state(state, *token).map_err(fail(row))? {
                Some(next) => state = next,
                None => break,
            }
            masks.push(self.mask_at(state).map_err(fail(row))?);
        }
        Ok(masks)
    }

    /// For each node of a tree the mask after the tokens on the path to it; `None` where a token on that path cannot
    /// be accepted, and for nodes without a link.
    ///
    /// # Errors
    /// The node, as the row, whose mask cannot be made.
    pub fn draft_tree_masks(&self, tree: &DraftTree) -> Result<Vec<Option<Arc<Mask>>>, RowError> {
        let mut masks = vec![None; tree.len()];
        let mut states = vec![None; tree.len()];
        if tree.is_empty() {
            return Ok(masks);
        }
        let fail = |row| move |error| RowError { row, error };
        states[0] = Some(self.state());
        masks[0] = Some(self.mask_at(self.state()).map_err(fail(0))?);
        for &(node, parent) in &tree.edges {
            let Some(before) = states[parent] else { continue };
            if let Some(state) = self.next_state(before, tree.tokens[node]).map_err(fail(node))? {
                states[node] = Some(state);
                masks[node] = Some(self.mask_at(state).map_err(fail(node))?);
            }
        }
        Ok(masks)
    }
}

#[cfg(test)]
mod tests {
    use super::{DraftTree, DraftTreeError};
    use grammask_vocabulary::TokenId;

    fn tree(
        next_token: &[Option<usize>],
        next_sibling: &[Option<usize>],
    ) -> Result<DraftTree, DraftTreeError> {
        DraftTree::new(vec![TokenId(7); next_token.len()], next_token, next_sibling)
    }

    #[test]
    fn orders_nodes_after_their_parents() {
        let made = tree(&[Some(2), None, Some(1), None, None], &[None, Some(3), None, None, None]).unwrap();
        assert_eq!(made.edges, [(2, 0), (1, 2), (3, 2)]);
        assert_eq!(made.len(), 5);
        assert!(tree(&[], &[]).unwrap().is_empty());
    }

    #[test]
    fn refuses_what_is_no_tree() {
        assert_eq!(tree(&[None], &[Some(0)]), Err(DraftTreeError::RootSibling));
        assert_eq!(tree(&[None], &[]), Err(DraftTreeError::Lengths));
        assert_eq!(tree(&[Some(0)], &[None]), Err(DraftTreeError::Repeated { node: 0 }));
        assert_eq!(tree(&[Some(1), None], &[None, Some(1)]), Err(DraftTreeError::Repeated { node: 1 }));
        assert_eq!(tree(&[Some(1), Some(2)], &[None, None]), Err(DraftTreeError::NoSuchNode { node: 2 }));
    }
}
