//! Negative look-aheads at the end of a pattern: the texts in which one fails after a match.

use rustc_hash::{FxHashMap, FxHashSet};

use super::FirstMatchError;
use super::automaton::{CodePointAutomaton, CodePointEdge, CodePointState};
use super::code_points::{CodePointPart, CodePointSet};
use super::program::Instruction;
use super::threads::{History, MAX_STATES, ObligationSet, OrderedAutomaton, ProgramThread, ThreadSimulation};

/// The effect of look-aheads that inspect the text after a lexeme.
///
/// The automaton of the pattern accepts a match that has such a look-ahead. In a text that begins with a *violation*,
/// the look-ahead fails.
#[derive(Clone, Debug)]
pub struct TrailingLooks {
    /// The violations: a match, and the text that must not follow it.
    pub violations: CodePointAutomaton,
    /// Characters of violations that can follow a shorter match of any thread whose look-aheads hold up to the end of the
    /// violation.
    pub can_match_inside: CodePointSet,
    /// Whether any thread can match a violation, or a text that begins with one.
    pub can_match_beyond: bool,
}

/// All threads after a prefix of a violation, without order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct UnorderedState {
    history: History,
    threads: Vec<ProgramThread>,
    /// The obligations of each match.
    matches: Vec<ObligationSet>,
    violation: CodePointState,
}

impl TrailingLooks {
    /// The effect of the obligations of an automaton's states.
    pub(super) fn new(
        simulation: &mut ThreadSimulation<'_>,
        ordered: &OrderedAutomaton,
    ) -> Result<Self, FirstMatchError> {
        let violations = violations(simulation, ordered)?;
        let mut states = vec![unordered_state(
            simulation,
            History::default(),
            vec![simulation.start()],
            CodePointState::START,
        )?];
        let mut is_known: FxHashSet<UnorderedState> = states.iter().cloned().collect();
        let mut surviving = SurvivingObligations { violations: &violations, known: FxHashMap::default() };
        let mut inside = Vec::new();
        let mut can_match_beyond = false;
        let mut next = 0;
        while let Some(state) = states.get(next).cloned() {
            next += 1;
            for &CodePointEdge { part, target } in violations.edges(state.violation) {
                let mut open = Vec::new();
                for &obligations in &state.matches {
                    open.extend(simulation.advance(obligations, part));
                }
                let is_end = violations.is_accepting(target);
                if open.into_iter().any(|open| is_end || surviving.contains(simulation, target, open)) {
                    inside.extend_from_slice(violations.part(part).ranges());
                }
                let threads = simulation.take(&state.threads, part);
                let is_stuck = threads.is_empty();
                let history = simulation.later_history(&state.history, part);
                let following = unordered_state(simulation, history, threads, target)?;
                if violations.is_accepting(target) {
                    can_match_beyond |= !following.threads.is_empty() || !following.matches.is_empty();
                } else if !is_stuck && !is_known.contains(&following) {
                    if states.len() >= MAX_STATES {
                        return Err(FirstMatchError::TrailingLooksTooLarge);
                    }
                    is_known.insert(following.clone());
                    states.push(following);
                }
            }
        }
        let can_match_inside = CodePointSet::from_ranges(inside);
        Ok(Self { violations, can_match_inside, can_match_beyond })
    }
}

/// The obligations of matches inside of violations that some continuation to the end of a violation does not break.
struct SurvivingObligations<'v> {
    violations: &'v CodePointAutomaton,
    known: FxHashMap<(CodePointState, ObligationSet), bool>,
}

impl SurvivingObligations<'_> {
    /// Whether some text from `state` to the end of a violation does not break `open`. Searches at most
    /// [`MAX_STATES`] pairs, and assumes so beyond.
    fn contains(
        &mut self,
        simulation: &mut ThreadSimulation<'_>,
        state: CodePointState,
        open: ObligationSet,
    ) -> bool {
        if let Some(&known) = self.known.get(&(state, open)) {
            return known;
        }
        let mut visited = FxHashSet::from_iter([(state, open)]);
        let mut stack = vec![(state, open)];
        let mut survives = false;
        while let Some((state, open)) = stack.pop() {
            // Every state of violations is live.
            survives = open == ObligationSet::EMPTY || visited.len() > MAX_STATES;
            for &CodePointEdge { part, target } in self.violations.edges(state) {
                if let Some(open) = simulation.advance(open, part) {
                    survives |= self.violations.is_accepting(target);
                    if visited.insert((target, open)) {
                        stack.push((target, open));
                    }
                }
            }
            if survives {
                break;
            }
        }
        self.known.insert((state, open), survives);
        survives
    }
}

/// The texts that begin with a match after which a look-ahead fails, up to the character with which it fails.
fn violations(
    simulation: &mut ThreadSimulation<'_>,
    ordered: &OrderedAutomaton,
) -> Result<CodePointAutomaton, FirstMatchError> {
    let OrderedAutomaton { automaton, obligations, .. } = ordered;
    // A state of the matcher's automaton, unless no thread remains; and the obligations of the last match.
    let first = (Some(CodePointState::START), obligations[0]);
    let mut ids = FxHashMap::from_iter([(first, CodePointState::START)]);
    let mut places = vec![first];
    // `None` is the state after a violation, which is added last.
    let mut rows: Vec<Vec<(CodePointPart, Option<CodePointState>)>> = Vec::new();
    while let Some(&(state, open)) = places.get(rows.len()) {
        let mut row = Vec::new();
        for part in simulation.program.partition.ids() {
            let target = state.and_then(|state| automaton.next(state, part));
            let place = match target {
                // The remaining threads are preferred to the earlier match, which this match therefore replaces.
                Some(target) if automaton.is_accepting(target) => (Some(target), obligations[target.index()]),
                _ => match simulation.advance(open, part) {
                    None => {
                        row.push((part, None));
                        continue;
                    }
                    Some(ObligationSet::EMPTY) if target.is_none() => continue,
                    Some(open) => (target, open),
                },
            };
            let id = match ids.get(&place) {
                Some(&id) => id,
                None => {
                    if places.len() >= MAX_STATES {
                        return Err(FirstMatchError::TrailingLooksTooLarge);
                    }
                    let id = CodePointState::new(places.len());
                    ids.insert(place, id);
                    places.push(place);
                    id
                }
            };
            row.push((part, Some(id)));
        }
        rows.push(row);
    }
    let end = CodePointState::new(rows.len());
    let mut violations = CodePointAutomaton::new(simulation.program.partition.parts.clone());
    for row in rows {
        let edges = row.into_iter();
        let edges = edges.map(|(part, target)| CodePointEdge { part, target: target.unwrap_or(end) });
        violations.push(false, edges.collect());
    }
    violations.push(true, Vec::new());
    Ok(violations.minimized())
}

/// The closure of some threads without order, and without excluding threads of lower preference than a match.
fn unordered_state(
    simulation: &mut ThreadSimulation<'_>,
    history: History,
    mut stack: Vec<ProgramThread>,
    violation: CodePointState,
) -> Result<UnorderedState, FirstMatchError> {
    let mut is_visited = FxHashSet::default();
    let mut threads = Vec::new();
    let mut matches = Vec::new();
    while let Some(thread) = stack.pop() {
        if !is_visited.insert(thread) {
            continue;
        }
        match simulation.program.get(thread.at) {
            Instruction::Take { .. } => threads.push(thread),
            Instruction::Match => matches.push(thread.obligations),
            _ => stack.extend(simulation.epsilon_targets(&history, thread)?),
        }
    }
    threads.sort_unstable();
    matches.sort_unstable();
    matches.dedup();
    Ok(UnorderedState { history, threads, matches, violation })
}
