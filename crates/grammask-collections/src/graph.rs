//! Strongly connected components (Tarjan 1972), with an explicit stack.

/// The component of each node of a graph.
#[derive(Clone, Debug)]
pub struct Components {
    /// Component of each node. An edge never leads to a higher component: successors come first.
    pub of_node: Vec<usize>,
    /// How many components there are.
    pub count: usize,
}

impl Components {
    /// Whether each node is a component of its own.
    pub fn are_single(&self) -> bool {
        self.count == self.of_node.len()
    }

    /// The nodes of each component.
    pub fn members(&self) -> Vec<Vec<usize>> {
        let mut members = vec![Vec::new(); self.count];
        for (node, &component) in self.of_node.iter().enumerate() {
            members[component].push(node);
        }
        members
    }
}

/// The edges of a graph in one list, node after node.
#[derive(Clone, Debug)]
pub struct Edges {
    /// Where the edges of each node begin, and where those of the last one end.
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Edges {
    /// No node yet, with room for so many.
    pub fn with_capacity(nodes: usize) -> Self {
        let mut starts = Vec::with_capacity(nodes + 1);
        starts.push(0);
        Self { starts, targets: Vec::with_capacity(nodes) }
    }

    /// Adds an edge of the node that is being added.
    pub fn push(&mut self, target: usize) {
        // Nodes are rules or symbols, of which limits allow far fewer.
        self.targets.push(target as u32);
    }

    /// Ends the node that is being added.
    pub fn end_node(&mut self) {
        self.starts.push(self.targets.len() as u32);
    }

    /// The graph of `nodes` nodes with these edges, in any order.
    pub fn from_pairs(nodes: usize, pairs: &[(u32, u32)]) -> Self {
        let mut starts = vec![0_u32; nodes + 1];
        for &(from, _) in pairs {
            starts[from as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut free = starts.clone();
        let mut targets = vec![0; pairs.len()];
        for &(from, to) in pairs {
            targets[free[from as usize] as usize] = to;
            free[from as usize] += 1;
        }
        Self { starts, targets }
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether no node has an edge.
    pub fn has_none(&self) -> bool {
        self.targets.is_empty()
    }

    /// Where the edges of a node lead.
    pub fn of(&self, node: usize) -> &[u32] {
        &self.targets[self.starts[node] as usize..self.starts[node + 1] as usize]
    }
}

/// Components of the graph whose node `n` has the edges `successors[n]`. Cost: linear.
pub fn strong_components(successors: &[Vec<usize>]) -> Components {
    let mut edges = Edges::with_capacity(successors.len());
    for targets in successors {
        targets.iter().for_each(|&target| edges.push(target));
        edges.end_node();
    }
    components_of(&edges)
}

/// Components of a graph. Cost: linear.
pub fn components_of(edges: &Edges) -> Components {
    const UNSEEN: usize = usize::MAX;
    let count = edges.node_count();
    let mut order = vec![UNSEEN; count];
    let mut low = vec![0; count];
    let mut of_node = vec![UNSEEN; count];
    let mut open: Vec<usize> = Vec::new();
    let mut next_order = 0;
    let mut components = 0;
    let mut calls: Vec<(usize, usize)> = Vec::new();
    for root in 0..count {
        if order[root] != UNSEEN {
            continue;
        }
        calls.push((root, 0));
        while let Some((node, edge)) = calls.pop() {
            if edge == 0 {
                order[node] = next_order;
                low[node] = next_order;
                next_order += 1;
                open.push(node);
            }
            if let Some(&next) = edges.of(node).get(edge) {
                let next = next as usize;
                calls.push((node, edge + 1));
                if order[next] == UNSEEN {
                    calls.push((next, 0));
                } else if of_node[next] == UNSEEN {
                    low[node] = low[node].min(order[next]);
                }
                continue;
            }
            if low[node] == order[node] {
                while let Some(member) = open.pop() {
                    of_node[member] = components;
                    if member == node {
                        break;
                    }
                }
                components += 1;
            }
            if let Some(&(parent, _)) = calls.last() {
                low[parent] = low[parent].min(low[node]);
            }
        }
    }
    Components { of_node, count: components }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_components_successors_first() {
        let graph = vec![vec![1], vec![2, 3], vec![1], vec![4], vec![4], vec![]];
        let components = strong_components(&graph);
        assert_eq!(components.of_node[1], components.of_node[2]);
        assert_eq!(components.count, 5);
        for (node, edges) in graph.iter().enumerate() {
            for &next in edges {
                assert!(components.of_node[next] <= components.of_node[node]);
            }
        }
    }

    #[test]
    fn a_long_path_needs_no_call_stack() {
        let count = 200_000;
        let graph: Vec<Vec<usize>> = (0..count).map(|n| vec![(n + 1) % count]).collect();
        assert_eq!(strong_components(&graph).count, 1);
    }
}
