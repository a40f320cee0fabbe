//! Strongly connected components (Tarjan 1972), with an explicit stack.

/// The component of each node of a graph.
#[derive(Clone, Debug)]
pub(crate) struct Components {
    /// Component of each node. An edge never leads to a higher component: successors come first.
    pub(crate) of_node: Vec<usize>,
    /// How many components there are.
    pub(crate) count: usize,
}

impl Components {
    /// The nodes of each component.
    pub(crate) fn members(&self) -> Vec<Vec<usize>> {
        let mut members = vec![Vec::new(); self.count];
        for (node, &component) in self.of_node.iter().enumerate() {
            members[component].push(node);
        }
        members
    }
}

/// Components of the graph whose node `n` has the edges `successors[n]`. Cost: linear.
pub(crate) fn strong_components(successors: &[Vec<usize>]) -> Components {
    const UNSEEN: usize = usize::MAX;
    let count = successors.len();
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
            if let Some(&next) = successors[node].get(edge) {
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
