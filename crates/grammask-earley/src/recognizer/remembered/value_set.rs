//! Interned sets of values: hash-consed Patricia trees (Okasaki and Gill, "Fast Mergeable Integer Maps", 1998).
//!
//! The tree of a set does not depend on the order in which its values were added, so equal sets have equal ids. Adding
//! a value creates at most as many nodes as an id has bits.

use rustc_hash::FxHashMap;

use grammask_collections::id_type;

use super::json::ValueId;

id_type! {
    /// An interned set.
    ValueSetId
}

impl ValueSetId {
    /// The empty set.
    pub(super) const EMPTY: Self = Self(0);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum SetNode {
    Empty,
    Leaf(ValueId),
    /// The values differ first in `bit`; the left ones have a 0 there.
    Branch {
        bit: u32,
        left: ValueSetId,
        right: ValueSetId,
    },
}

/// All sets.
#[derive(Debug)]
pub(super) struct RememberedSets {
    nodes: Vec<SetNode>,
    /// The number of values of each set.
    sizes: Vec<u32>,
    largest: u32,
    ids: FxHashMap<SetNode, ValueSetId>,
}

impl Default for RememberedSets {
    fn default() -> Self {
        Self { nodes: vec![SetNode::Empty], sizes: vec![0], largest: 0, ids: FxHashMap::default() }
    }
}

impl RememberedSets {
    /// Number of values.
    pub(super) fn len(&self, set: ValueSetId) -> usize {
        self.sizes[set.index()] as usize
    }

    /// Number of values of the largest set.
    pub(super) fn largest(&self) -> usize {
        self.largest as usize
    }

    pub(super) fn contains(&self, mut set: ValueSetId, value: ValueId) -> bool {
        loop {
            match self.nodes[set.index()] {
                SetNode::Empty => return false,
                SetNode::Leaf(other) => return other == value,
                SetNode::Branch { bit, left, right } => {
                    set = if value.as_u32() & bit == 0 { left } else { right };
                }
            }
        }
    }

    /// The set with one more value.
    pub(super) fn with(&mut self, set: ValueSetId, value: ValueId) -> ValueSetId {
        // The first value that the search for `value` meets differs from it in the bit at which a branch is added.
        let mut nearest = set;
        let leaf = loop {
            match self.nodes[nearest.index()] {
                SetNode::Empty => return self.intern(SetNode::Leaf(value)),
                SetNode::Leaf(other) => break other,
                SetNode::Branch { bit, left, right } => {
                    nearest = if value.as_u32() & bit == 0 { left } else { right };
                }
            }
        };
        let difference = leaf.as_u32() ^ value.as_u32();
        if difference == 0 {
            return set;
        }
        let new_bit = 1 << difference.ilog2();
        let mut path = Vec::new();
        let mut below = set;
        while let SetNode::Branch { bit, left, right } = self.nodes[below.index()]
            && bit > new_bit
        {
            path.push(below);
            below = if value.as_u32() & bit == 0 { left } else { right };
        }
        let leaf = self.intern(SetNode::Leaf(value));
        let mut result = self.branch(new_bit, value, leaf, below);
        for &parent in path.iter().rev() {
            if let SetNode::Branch { bit, left, right } = self.nodes[parent.index()] {
                let other = if value.as_u32() & bit == 0 { right } else { left };
                result = self.branch(bit, value, result, other);
            }
        }
        result
    }

    /// The values, in the order of their ids.
    pub(super) fn values(&self, set: ValueSetId) -> impl Iterator<Item = ValueId> {
        let mut stack = vec![set];
        std::iter::from_fn(move || {
            loop {
                match self.nodes[stack.pop()?.index()] {
                    SetNode::Empty => {}
                    SetNode::Leaf(value) => return Some(value),
                    SetNode::Branch { left, right, .. } => stack.extend([right, left]),
                }
            }
        })
    }

    /// Estimated memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.nodes.capacity() * (size_of::<SetNode>() + 4)
            + self.ids.capacity() * (size_of::<(SetNode, ValueSetId)>() + 1)
    }

    /// The branch at `bit` with `own` on the side of `value`.
    fn branch(&mut self, bit: u32, value: ValueId, own: ValueSetId, other: ValueSetId) -> ValueSetId {
        let (left, right) = if value.as_u32() & bit == 0 { (own, other) } else { (other, own) };
        self.intern(SetNode::Branch { bit, left, right })
    }

    fn intern(&mut self, node: SetNode) -> ValueSetId {
        if let Some(&id) = self.ids.get(&node) {
            return id;
        }
        let id = ValueSetId::new(self.nodes.len());
        let size = match node {
            SetNode::Empty => 0,
            SetNode::Leaf(_) => 1,
            SetNode::Branch { left, right, .. } => self.sizes[left.index()] + self.sizes[right.index()],
        };
        self.nodes.push(node);
        self.sizes.push(size);
        self.largest = self.largest.max(size);
        self.ids.insert(node, id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_do_not_depend_on_order() {
        let mut sets = RememberedSets::default();
        let numbers = [7_usize, 0, 1024, 3, 8, 65_535, 9, 4];
        let mut set_of = |order: &mut dyn Iterator<Item = usize>| {
            order.fold(ValueSetId::EMPTY, |set, number| sets.with(set, ValueId::new(number)))
        };
        let forwards = set_of(&mut numbers.iter().copied());
        let backwards = set_of(&mut numbers.iter().rev().copied());
        let again = set_of(&mut numbers.iter().chain(&numbers).copied());
        assert_eq!([forwards, forwards], [backwards, again]);
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable();
        assert!(sets.values(forwards).map(|value| value.index()).eq(sorted));
        assert_eq!(sets.len(forwards), numbers.len());
        assert!((0..2000).all(|n| sets.contains(forwards, ValueId::new(n)) == numbers.contains(&n)));
    }
}
