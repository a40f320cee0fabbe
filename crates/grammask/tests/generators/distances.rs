//! The fewest tokens that finish a text, by brute force.
//!
//! The oracle is a graph of states with all legal tokens as edges, explored with matchers without a budget, and the
//! distance of each state to the end of the text.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use grammask::vocabulary::TokenId;
use grammask::{Matcher, SetId};

/// Maximum number of states that the oracle explores.
const MAX_STATES: usize = 100;
/// Maximum number of states that it reaches.
const MAX_SEEN: usize = 400;

/// A state of a text: that of the engine, and whether the text has ended.
pub type State = (SetId, bool);

/// The states within reach of a text, and the fewest tokens that finish each.
pub struct DistanceGraph {
    pub next: BTreeMap<State, BTreeMap<TokenId, State>>,
    fewest: BTreeMap<State, u32>,
    /// For each state the distance to a state that was not explored; absent if there is none.
    unexplored: BTreeMap<State, u32>,
}

/// The cost of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    Fewest(u32),
    Endless,
    Unknown,
}

/// The state of a matcher.
pub fn state(matcher: &Matcher) -> State {
    (matcher.set(), matcher.is_finished())
}

impl DistanceGraph {
    /// Explores the states after a matcher, which has no budget; `None` if one has more than `max_items` items.
    pub fn new(matcher: &Matcher, max_items: usize) -> Option<Self> {
        let size = matcher.compiled().vocabulary().size() as u32;
        let mut next: BTreeMap<State, BTreeMap<TokenId, State>> = BTreeMap::new();
        let mut seen = BTreeSet::from([state(matcher)]);
        let mut queue = VecDeque::from([matcher.clone()]);
        while let Some(text) = queue.pop_front() {
            if next.len() >= MAX_STATES || seen.len() >= MAX_SEEN {
                break;
            }
            if text.cache().engine().state_size(text.set()) > max_items {
                return None;
            }
            let mut after = BTreeMap::new();
            for token in (0..size).map(TokenId) {
                let mut longer = text.clone();
                if longer.accept(token).ok()? {
                    after.insert(token, state(&longer));
                    if seen.insert(state(&longer)) {
                        queue.push_back(longer);
                    }
                }
            }
            next.insert(state(&text), after);
        }
        let ends = seen.iter().copied().filter(|state| state.1).map(|state| (state, 0)).collect();
        let open = seen.iter().copied().filter(|state| !next.contains_key(state)).map(|state| (state, 0));
        let unexplored = distances(&next, open.collect());
        Some(Self { fewest: distances(&next, ends), unexplored, next })
    }

    /// The fewest tokens that finish the text in a state.
    pub fn cost(&self, state: State) -> Cost {
        if state.1 {
            return Cost::Fewest(0);
        }
        match (self.fewest.get(&state), self.unexplored.get(&state)) {
            (Some(&tokens), None) => Cost::Fewest(tokens),
            (Some(&tokens), Some(&open)) if tokens <= open => Cost::Fewest(tokens),
            (None, None) => Cost::Endless,
            _ => Cost::Unknown,
        }
    }

    /// The legal tokens under a budget; `None` if the graph does not determine them.
    pub fn mask(&self, state: State, budget: u32) -> Option<Vec<TokenId>> {
        let mut mask = Vec::new();
        for (&token, &after) in self.next.get(&state)? {
            match self.cost(after) {
                Cost::Fewest(tokens) if state.1 || tokens < budget => mask.push(token),
                Cost::Unknown => return None,
                Cost::Fewest(_) | Cost::Endless => {}
            }
        }
        Some(mask)
    }
}

/// Shortest distances to some states, along the edges of a graph.
fn distances(
    next: &BTreeMap<State, BTreeMap<TokenId, State>>,
    targets: BTreeMap<State, u32>,
) -> BTreeMap<State, u32> {
    let mut found = targets;
    loop {
        let mut changed = false;
        for (&state, after) in next {
            let Some(best) = after.values().filter_map(|after| found.get(after)).min() else { continue };
            let best = best + 1;
            if found.get(&state).is_none_or(|&known| known > best) {
                found.insert(state, best);
                changed = true;
            }
        }
        if !changed {
            return found;
        }
    }
}
