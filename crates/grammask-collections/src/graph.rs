//! Strongly connected components (Tarjan, "Depth-first search and linear graph algorithms", 1972), with an explicit
//! stack.

/// The strongly connected components of a graph, in reverse topological order.
#[derive(Clone, Debug)]
pub struct Components {
    /// Component of each node. The target of an edge is in the same or a lower component than its source.
    pub of_node: Vec<usize>,
    /// Number of components.
    pub count: usize,
}

impl Components {
    /// Whether each component has exactly one node.
    pub fn are_singletons(&self) -> bool {
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

/// The edges of a graph as an adjacency list in one array, ordered by source (compressed sparse row format).
#[derive(Clone, Debug)]
pub struct AdjacencyList {
    /// Position of the first edge of each node, and the number of edges.
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl AdjacencyList {
    /// A graph without nodes, with capacity for `nodes` nodes of one edge each.
    pub fn with_capacity(nodes: usize) -> Self {
        let mut starts = Vec::with_capacity(nodes + 1);
        starts.push(0);
        Self { starts, targets: Vec::with_capacity(nodes) }
    }

    /// Adds an edge to the current node.
    pub fn push(&mut self, target: usize) {
        // Nodes are rules or symbols, whose number `Limits::grammar_size` bounds far below 2^32.
        self.targets.push(target as u32);
    }

    /// Completes the current node.
    pub fn end_node(&mut self) {
        self.starts.push(self.targets.len() as u32);
    }

    /// The graph of `nodes` nodes with the given edges, each a source and a target, in any order.
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

    /// Whether the graph has no edges.
    pub fn has_no_edges(&self) -> bool {
        self.targets.is_empty()
    }

    /// The targets of the edges of a node.
    pub fn of(&self, node: usize) -> &[u32] {
        &self.targets[self.starts[node] as usize..self.starts[node + 1] as usize]
    }
}

/// The components of the graph in which node `n` has edges to `successors[n]`. Cost: linear.
pub fn strongly_connected_components(successors: &[Vec<usize>]) -> Components {
    let mut edges = AdjacencyList::with_capacity(successors.len());
    for targets in successors {
        targets.iter().for_each(|&target| edges.push(target));
        edges.end_node();
    }
    components_of(&edges)
}

/// The components of a graph. Cost: linear.
pub fn components_of(edges: &AdjacencyList) -> Components {
    const UNVISITED: usize = usize::MAX;
    let count = edges.node_count();
    let mut order = vec![UNVISITED; count];
    let mut lowlink = vec![0; count];
    let mut of_node = vec![UNVISITED; count];
    let mut stack: Vec<usize> = Vec::with_capacity(count);
    let mut next_order = 0;
    let mut components = 0;
    // The nodes that were left for a successor, each with its next edge.
    let mut callers: Vec<(usize, usize)> = Vec::new();
    for root in 0..count {
        if order[root] != UNVISITED {
            continue;
        }
        let (mut node, mut edge) = (root, 0);
        'nodes: loop {
            if edge == 0 {
                order[node] = next_order;
                lowlink[node] = next_order;
                next_order += 1;
                stack.push(node);
            }
            for (position, &next) in edges.of(node).iter().enumerate().skip(edge) {
                let next = next as usize;
                if order[next] == UNVISITED {
                    callers.push((node, position + 1));
                    (node, edge) = (next, 0);
                    continue 'nodes;
                }
                if of_node[next] == UNVISITED {
                    lowlink[node] = lowlink[node].min(order[next]);
                }
            }
            if lowlink[node] == order[node] {
                while let Some(member) = stack.pop() {
                    of_node[member] = components;
                    if member == node {
                        break;
                    }
                }
                components += 1;
            }
            let Some((caller, next_edge)) = callers.pop() else { break };
            lowlink[caller] = lowlink[caller].min(lowlink[node]);
            (node, edge) = (caller, next_edge);
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
        let components = strongly_connected_components(&graph);
        assert_eq!(components.of_node[1], components.of_node[2]);
        assert_eq!(components.count, 5);
        for (node, edges) in graph.iter().enumerate() {
            for &next in edges {
                assert!(components.of_node[next] <= components.of_node[node]);
            }
        }
    }

    #[test]
    fn a_long_cycle_does_not_overflow_the_call_stack() {
        let count = 200_000;
        let graph: Vec<Vec<usize>> = (0..count).map(|n| vec![(n + 1) % count]).collect();
        assert_eq!(strongly_connected_components(&graph).count, 1);
    }
}
