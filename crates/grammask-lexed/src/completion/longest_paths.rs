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
///
/// Cost: in each round the edges of nodes whose weight was raised since their edges were read last.
pub(crate) fn longest_paths(first: &[u32], edges: &[PathEdge]) -> Result<Vec<i64>, Unbounded> {
    let mut longest: Vec<i64> = first.iter().map(|&first| i64::from(first)).collect();
    let mut before: Vec<Option<usize>> = vec![None; longest.len()];
    // Edges that follow each other and have the same source, with the index of the first one. Reversed, because most edges
    // lead to earlier states of a parser.
    let mut end = edges.len();
    let runs = edges.chunk_by(|left, right| left.from == right.from).rev().map(|run| {
        end -= run.len();
        (end, run)
    });
    let runs: Vec<(usize, &[PathEdge])> = runs.collect();
    // The time at which a node was raised last. The edges of a run are read at a time in each round.
    let mut raised_at: Vec<usize> = vec![0; longest.len()];
    for round in 0..MAX_ROUNDS {
        let mut is_stable = true;
        for (position, &(first_edge, run)) in runs.iter().enumerate() {
            let from = run[0].from;
            if round > 0 && raised_at[from] < (round - 1) * runs.len() + position {
                continue;
            }
            for (offset, edge) in run.iter().enumerate().rev() {
                let through = longest[from] + edge.weight;
                if through > longest[edge.to] {
                    longest[edge.to] = through;
                    before[edge.to] = Some(first_edge + offset);
                    raised_at[edge.to] = round * runs.len() + position;
                    is_stable = false;
                }
            }
        }
        if is_stable {
            return Ok(longest);
        }
        // The edges by which nodes were reached last have a cycle only if it has a positive weight. It is found long
        // before the maximum of rounds.
        if (round + 1).is_power_of_two()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// By reading all edges in each round; `None` if a cycle has a positive weight.
    fn by_all_edges(first: &[u32], edges: &[PathEdge]) -> Option<Vec<i64>> {
        let mut longest: Vec<i64> = first.iter().map(|&first| i64::from(first)).collect();
        for _ in 0..=first.len() {
            let before = longest.clone();
            for edge in edges {
                longest[edge.to] = longest[edge.to].max(before[edge.from] + edge.weight);
            }
            if longest == before {
                return Some(longest);
            }
        }
        None
    }

    /// In any order of the edges, also where edges of one source are apart.
    #[test]
    fn equal_those_by_all_edges() {
        let mut seed = 1_u64;
        let mut below = |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % bound
        };
        let (mut bounded, mut cyclic) = (0, 0);
        for _ in 0..4_000 {
            let nodes = 1 + below(8);
            let first: Vec<u32> = (0..nodes).map(|_| below(4) as u32).collect();
            let edges: Vec<PathEdge> = (0..below(20))
                .map(|_| PathEdge {
                    from: below(nodes) as usize,
                    to: below(nodes) as usize,
                    weight: below(9) as i64 - 6,
                })
                .collect();
            let expected = by_all_edges(&first, &edges);
            match longest_paths(&first, &edges) {
                Ok(found) => {
                    assert_eq!(Some(found), expected, "{edges:?}");
                    bounded += 1;
                }
                Err(Unbounded::TooLong) => panic!("a cycle is found before: {edges:?}"),
                Err(Unbounded::Cycle(cycle)) => {
                    assert_eq!(expected, None, "{edges:?}");
                    assert!(cycle.iter().map(|&edge| edges[edge].weight).sum::<i64>() > 0, "{edges:?}");
                    let before = cycle.iter().cycle().skip(1);
                    assert!(
                        cycle.iter().zip(before).all(|(&edge, &before)| edges[edge].from == edges[before].to)
                    );
                    cyclic += 1;
                }
            }
        }
        assert!(
            bounded > 500 && cyclic > 500,
            "{bounded} graphs without a positive cycle, {cyclic} with one"
        );
    }
}
