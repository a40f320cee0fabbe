//! The masks of drafts: tokens that a small model proposes and a large one verifies in one pass (speculative decoding).
//!
//! A draft is a sequence of tokens, or a tree of them. States are values, so the masks along all paths of a tree need
//! no rollback, and the matcher is unchanged.

use std::fmt;
use std::sync::Arc;

use crate::Matcher;
use crate::batch::RowError;
use grammask_vocabulary::{Mask, TokenId};

/// A tree of drafted tokens in the layout of EAGLE-style servers: for each node its first child and its next sibling.
/// Node 0 is the root: the last accepted token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftTree {
    tokens: Vec<TokenId>,
    /// Pairs of node and parent for all nodes but the root; parents precede their children.
    edges: Vec<(usize, usize)>,
}

/// The error of links that are not a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DraftTreeError {
    /// The three lists have different lengths.
    Lengths,
    /// A link to a node that does not exist.
    NoSuchNode {
        /// The target of the link.
        node: usize,
    },
    /// Two links to one node, or a link to the root.
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
    /// The tree with these links. The token of the root is ignored, since it has been accepted. Nodes without a link
    /// to them, such as padding, are on no path.
    ///
    /// # Errors
    /// When the links are not a tree.
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
        // Pairs of first child and parent whose chain of siblings has not been followed yet.
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

    /// Number of nodes, including the root and nodes without a link to them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The nodes on paths from the root, without the root.
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
    /// The masks before the first and after each of `tokens`, up to the first illegal one: one mask more than
    /// [`Matcher::validate`] counts tokens.
    ///
    /// # Errors
    /// The error of the first row that has one.
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

    /// For each node of a tree the mask after the tokens on the path to it; `None` if a token on that path is
    /// illegal, and for nodes without a link to them.
    ///
    /// # Errors
    /// The error of the first node that has one, with the node as the row.
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
        let linked = tree(&[Some(2), None, Some(1), None, None], &[None, Some(3), None, None, None]).unwrap();
        assert_eq!(linked.edges, [(2, 0), (1, 2), (3, 2)]);
        assert_eq!(linked.len(), 5);
        assert!(tree(&[], &[]).unwrap().is_empty());
    }

    #[test]
    fn rejects_links_that_are_not_a_tree() {
        assert_eq!(tree(&[None], &[Some(0)]), Err(DraftTreeError::RootSibling));
        assert_eq!(tree(&[None], &[]), Err(DraftTreeError::Lengths));
        assert_eq!(tree(&[Some(0)], &[None]), Err(DraftTreeError::Repeated { node: 0 }));
        assert_eq!(tree(&[Some(1), None], &[None, Some(1)]), Err(DraftTreeError::Repeated { node: 1 }));
        assert_eq!(tree(&[Some(1), Some(2)], &[None, None]), Err(DraftTreeError::NoSuchNode { node: 2 }));
    }
}
