//! Longest paths in graphs whose cycles have no positive weight: the algorithm of Bellman and Ford.

/// Maximum number of rounds of the search.
const MAX_ROUNDS: usize = 256;

/// An edge with its weight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathEdge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) weight: i64,
}

/// Why paths have no maximum.
#[derive(Debug)]
pub(crate) enum Unbounded {
    /// The edges of a cycle of positive weight.
    Cycle(Vec<usize>),
    /// The paths have too many edges.
    TooLong,
}

/// The weight of the longest path to each node, which may begin at every node with a weight.
pub(crate) fn longest_paths(first: &[u32], edges: &[PathEdge]) -> Result<Vec<i64>, Unbounded> {
    let mut longest: Vec<i64> = first.iter().map(|&first| i64::from(first)).collect();
    let mut before: Vec<Option<usize>> = vec![None; longest.len()];
    for round in 1..=MAX_ROUNDS {
        let mut is_stable = true;
        // Reversed, because most edges lead to earlier states of a parser.
        for (index, edge) in edges.iter().enumerate().rev() {
            let through = longest[edge.from] + edge.weight;
            if through > longest[edge.to] {
                longest[edge.to] = through;
                before[edge.to] = Some(index);
                is_stable = false;
            }
        }
        if is_stable {
            return Ok(longest);
        }
        // The edges by which nodes were reached last have a cycle only if it has a positive weight. It is found long
        // before the maximum of rounds.
        if round.is_power_of_two()
            && let Some(cycle) = cycle(edges, &before)
        {
            return Err(Unbounded::Cycle(cycle));
        }
    }
    Err(Unbounded::TooLong)
}

/// The edges of a cycle of edges by which nodes were reached.
fn cycle(edges: &[PathEdge], before: &[Option<usize>]) -> Option<Vec<usize>> {
    // The walk, counted from one, in which each node was first visited.
    let mut walks = vec![0; before.len()];
    for walk in 1..=before.len() {
        let mut current = walk - 1;
        while walks[current] == 0 {
            walks[current] = walk;
            match before[current] {
                Some(edge) => current = edges[edge].from,
                None => break,
            }
        }
        if walks[current] == walk && before[current].is_some() {
            let mut cycle = Vec::new();
            let mut next = current;
            while let Some(edge) = before[next] {
                cycle.push(edge);
                next = edges[edge].from;
                if next == current {
                    return Some(cycle);
                }
            }
        }
    }
    None
}
