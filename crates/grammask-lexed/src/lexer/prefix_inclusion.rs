//! Whether each word of a terminal's state has a prefix among the words of another state.
//!
//! A greatest fixpoint over pairs of states (J. Hopcroft and R. Karp, "A Linear Algorithm for Testing Equivalence of
//! Finite Automata", 1971, for inclusion instead of equivalence): the pairs that a search reaches without finding a
//! counterexample are included too.

use rustc_hash::{FxHashMap, FxHashSet};

use grammask_automata::{Automata, StateId};
use grammask_diagnostics::LimitExceeded;

/// The number of pairs after which a search gives up, so that large terminals cost no more than small ones.
const MAX_PAIRS: usize = 64;

/// Memoised answers. Where a search gives up, the answer is no.
#[derive(Clone, Debug, Default)]
pub(super) struct PrefixInclusion(FxHashMap<(StateId, StateId), bool>);

impl PrefixInclusion {
    /// Whether each nonempty word of `left` has a nonempty prefix among the words of `right`.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub(super) fn holds(
        &mut self,
        automata: &mut Automata,
        left: StateId,
        right: StateId,
    ) -> Result<bool, LimitExceeded> {
        if left == right {
            return Ok(true);
        }
        if let Some(&known) = self.0.get(&(left, right)) {
            return Ok(known);
        }
        let holds = self.search(automata, left, right)?;
        self.0.insert((left, right), holds);
        Ok(holds)
    }

    fn search(
        &mut self,
        automata: &mut Automata,
        left: StateId,
        right: StateId,
    ) -> Result<bool, LimitExceeded> {
        let mut reached: FxHashSet<(StateId, StateId)> = FxHashSet::from_iter([(left, right)]);
        let mut pending = vec![(left, right)];
        while let Some((left, right)) = pending.pop() {
            for step in automata.joint_steps(left, right)? {
                // States are live, so a word of the left one begins with each byte that it reads.
                let Some(left) = step.left else { continue };
                let Some(right) = step.right else { return Ok(false) };
                if automata.is_accepting(right) {
                    continue;
                }
                if automata.is_accepting(left) {
                    return Ok(false);
                }
                match self.0.get(&(left, right)) {
                    Some(true) => continue,
                    Some(false) => return Ok(false),
                    None => {}
                }
                if left != right && reached.insert((left, right)) {
                    if reached.len() > MAX_PAIRS {
                        return Ok(false);
                    }
                    pending.push((left, right));
                }
            }
        }
        self.0.extend(reached.into_iter().map(|pair| (pair, true)));
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use grammask_automata::{Terms, regex};
    use grammask_diagnostics::Limits;

    const MAX_LENGTH: u32 = 7;

    /// The texts over `ab/` of at most [`MAX_LENGTH`] bytes, shorter ones first.
    fn texts() -> Vec<Vec<u8>> {
        let mut texts = vec![Vec::new()];
        let mut next = 0;
        while texts[next].len() < MAX_LENGTH as usize {
            for &byte in b"ab/" {
                let longer = [&texts[next][..], &[byte]].concat();
                texts.push(longer);
            }
            next += 1;
        }
        texts
    }

    /// The number of bytes of the shortest nonempty prefix of a text among the words of a state.
    fn shortest_prefix(automata: &mut Automata, mut state: StateId, text: &[u8]) -> Option<usize> {
        for (index, &byte) in text.iter().enumerate() {
            state = automata.step(state, byte).expect("few states")?;
            if automata.is_accepting(state) {
                return Some(index + 1);
            }
        }
        None
    }

    #[test]
    fn inclusions_are_those_of_all_texts() {
        let patterns = [
            "a", "a+", "ab*", "b*/", "[ab]*/", "(a|b/)+", "a?b", "[ab]+/?", "(ab)*/", "b", "a[ab]*/",
            "[ab/]+",
        ];
        let mut terms = Terms::new();
        let limits = Limits::default();
        let terms_of = patterns.map(|pattern| regex::term(&mut terms, pattern, &limits).expect("a regex"));
        let mut automata = Automata::new(terms, 1 << 12);
        let states: Vec<StateId> =
            terms_of.iter().map(|&term| automata.start(term).expect("few states").expect("live")).collect();
        let texts = texts();
        let mut inclusion = PrefixInclusion::default();
        let mut included = 0;
        for (left, &left_state) in states.iter().enumerate() {
            for (right, &right_state) in states.iter().enumerate() {
                let expected =
                    texts.iter().all(|text| match shortest_prefix(&mut automata, left_state, text) {
                        Some(of_left) => shortest_prefix(&mut automata, right_state, text)
                            .is_some_and(|of_right| of_right <= of_left),
                        None => true,
                    });
                let found = inclusion.holds(&mut automata, left_state, right_state).expect("few states");
                assert_eq!(found, expected, "{} in {}", patterns[left], patterns[right]);
                included += usize::from(found && left != right);
            }
        }
        assert!(included > 10, "only {included} pairs are included");
    }
}
