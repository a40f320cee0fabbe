//! Self-loops: the bytes and characters on which a state steps back to itself, or which are one copy of a prefix code.
//!
//! In a subtree of the trie whose bytes all are self-loops of a state, a walk is in that state at every node, or inside
//! a character and back in the state after it. So the subtree need not be visited. (Regex engines call such a state
//! accelerated.)

use std::ops::RangeInclusive;

use grammask_automata::{Automata, ByteSet, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{ByteGroups, Character, WhichNodes};

use super::super::tuning::MAX_CHARACTER_STATES;

/// The bytes and characters that return to a state, or that are one copy of a prefix code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SelfLoops {
    /// Single bytes.
    bytes: ByteGroups,
    /// Characters beyond ASCII, by the group of their first byte, as far as these were examined.
    characters: CharacterTargets,
}

impl SelfLoops {
    /// Finds the self-loops over single bytes; those over characters beyond ASCII are still to be examined.
    ///
    /// # Errors
    /// When the automaton exceeds its limit.
    pub(crate) fn of(automata: &mut Automata, state: StateId) -> Result<Self, LimitExceeded> {
        let mut own = ByteSet::EMPTY;
        for (bytes, target) in automata.successors(state)? {
            if target == state {
                own = own.union(bytes);
            }
        }
        let bytes = ByteGroups::within(|byte| own.contains(byte));
        Ok(Self { bytes, characters: CharacterTargets::default() })
    }

    /// Finds the characters that are words of the prefix code with this start state; `None` if no ASCII character is.
    ///
    /// # Errors
    /// When the automaton exceeds its limit.
    pub(crate) fn of_code(automata: &mut Automata, start: StateId) -> Result<Option<Self>, LimitExceeded> {
        let mut own = ByteSet::EMPTY;
        for (bytes, target) in automata.successors(start)? {
            if automata.is_accepting(target) {
                own = own.union(bytes.intersection(ByteSet::range(0, 0x7f)));
            }
        }
        if own.is_empty() {
            return Ok(None);
        }
        let bytes = ByteGroups::within(|byte| own.contains(byte));
        let mut characters = CharacterTargets::default();
        for group in ByteGroups::LEADS.map(|leads| ByteGroups::of(*leads.start())) {
            let _ = characters.all_lead(automata, start, group, Goal::Accept)?;
        }
        Ok(Some(Self { bytes, characters }))
    }

    /// Examines the groups of characters below a node that were not examined before. No character below is broken.
    ///
    /// # Errors
    /// When the automaton exceeds its limit.
    pub(crate) fn examine(
        &mut self,
        automata: &mut Automata,
        state: StateId,
        below: ByteGroups,
    ) -> Result<(), LimitExceeded> {
        if below.is_within(self.bytes.with_characters(ByteGroups::ALL_LEADS)) {
            let _ = self.characters.all_lead(automata, state, below, Goal::Return)?;
        }
        Ok(())
    }

    /// Whether some character of the group of `first` is known not to return.
    #[inline]
    pub(crate) fn is_left_on(self, first: u8) -> bool {
        self.characters.exclude(ByteGroups::of(first))
    }

    /// The nodes of a subtree at which the walk is in the state, if all bytes below are known self-loops. At the other
    /// nodes it is inside a character.
    #[inline]
    pub(crate) fn cover(self, below: ByteGroups) -> Option<WhichNodes> {
        if below.is_within(self.bytes) {
            Some(WhichNodes::All)
        } else if below.is_within(self.bytes.with_characters(self.characters.leading)) {
            Some(WhichNodes::WholeCharacters)
        } else {
            None
        }
    }
}

/// Where a character should lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Back to the state, without an accepting state inside the character.
    Return,
    /// To an accepting state, without one inside the character.
    Accept,
    /// To any live state.
    Live,
}

/// For groups of characters beyond ASCII, whether all of them lead from a state to a goal. Groups are examined on
/// demand: a class of letters has a hundred states, and most texts use a few scripts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CharacterTargets {
    /// First bytes of the examined groups.
    seen: ByteGroups,
    /// First bytes of the groups whose characters all lead to the goal.
    leading: ByteGroups,
}

impl CharacterTargets {
    /// Whether all characters that begin with bytes of `groups` lead from `state` to the goal. State and goal must be
    /// the same at each call.
    ///
    /// # Errors
    /// When the automaton exceeds its limit.
    pub(crate) fn all_lead(
        &mut self,
        automata: &mut Automata,
        state: StateId,
        groups: ByteGroups,
        goal: Goal,
    ) -> Result<bool, LimitExceeded> {
        if self.exclude(groups) {
            return Ok(false);
        }
        for leads in ByteGroups::LEADS {
            let group = ByteGroups::of(*leads.start());
            if !groups.intersects(group) || self.leading.intersects(group) {
                continue;
            }
            self.seen = self.seen.union(group);
            let lead = all_lead(automata, state, leads, goal == Goal::Live, |automata, target| match goal {
                Goal::Return => target == state,
                Goal::Accept => automata.is_accepting(target),
                Goal::Live => true,
            });
            if !lead? {
                return Ok(false);
            }
            self.leading = self.leading.union(group);
        }
        Ok(true)
    }

    /// Whether some character of the groups is known not to lead to the goal.
    fn exclude(self, groups: ByteGroups) -> bool {
        groups.intersects(self.seen.without(self.leading))
    }
}

/// Whether every character that begins with a byte of `leads` leads to a live state that `is_goal` accepts. Unless
/// `ends_inside`, also whether no word ends inside such a character.
///
/// # Errors
/// When the automaton exceeds its limit.
pub(super) fn all_lead(
    automata: &mut Automata,
    state: StateId,
    leads: RangeInclusive<u8>,
    ends_inside: bool,
    mut is_goal: impl FnMut(&Automata, StateId) -> bool,
) -> Result<bool, LimitExceeded> {
    let mut seen: Vec<(Character, StateId)> = Vec::new();
    for byte in leads {
        let Some(target) = automata.step(state, byte)? else { return Ok(false) };
        let inside = (Character::Boundary.step(byte), target);
        if !seen.contains(&inside) {
            seen.push(inside);
        }
    }
    let mut next = 0;
    while let Some(&(character, current)) = seen.get(next) {
        next += 1;
        if seen.len() > MAX_CHARACTER_STATES || !ends_inside && automata.is_accepting(current) {
            return Ok(false);
        }
        let (low, high) = match character {
            Character::Narrow(low, high, _) => (low, high),
            _ => (0x80, 0xbf),
        };
        let after = character.step(low);
        let mut missing = ByteSet::range(low, high);
        for (bytes, target) in automata.successors(current)? {
            let bytes = bytes.intersection(missing);
            if bytes.is_empty() {
                continue;
            }
            missing = missing.without(bytes);
            if after == Character::Boundary {
                if !is_goal(automata, target) {
                    return Ok(false);
                }
            } else if !seen.contains(&(after, target)) {
                seen.push((after, target));
            }
        }
        if !missing.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use grammask_automata::regex;
    use grammask_diagnostics::Limits;

    /// The self-loops of the first state of a pattern, with the characters of some texts examined.
    fn loops(pattern: &str, texts: &[&str]) -> SelfLoops {
        let mut terms = grammask_automata::Terms::new();
        let term = regex::term(&mut terms, pattern, &Limits::default()).expect("a pattern");
        let mut automata = Automata::new(terms, 1000);
        let start = automata.start(term).expect("within limits").expect("not empty");
        let mut loops = SelfLoops::of(&mut automata, start).expect("within limits");
        for text in texts {
            loops.examine(&mut automata, start, groups(text)).expect("within limits");
        }
        loops
    }

    fn groups(text: &str) -> ByteGroups {
        text.bytes().fold(ByteGroups::default(), |groups, byte| groups.union(ByteGroups::of(byte)))
    }

    #[test]
    fn text_is_covered() {
        let body = r#"([^"\\\x00-\x1f]|\\n)*"#;
        assert_eq!(loops(body, &[]).cover(groups("some text, 12 words!")), Some(WhichNodes::All));
        assert_eq!(loops(body, &[]).cover(groups("Größe")), None, "not examined");
        let body = loops(body, &["Größe", "\"語"]);
        assert_eq!(body.cover(groups("Größe")), Some(WhichNodes::WholeCharacters));
        assert_eq!(body.cover(groups("語")), None, "not examined: another byte leaves the state");
        assert_eq!(body.cover(groups("Größe").union(ByteGroups::broken())), None);
        assert_eq!(body.cover(groups("\"")), None);
        assert_eq!(body.cover(groups("a\\n")), None);
        let letters = loops("[a-z]*", &["ö"]);
        assert_eq!(letters.cover(groups("word")), Some(WhichNodes::All));
        assert_eq!(letters.cover(groups("ö")), None);
        assert!(letters.is_left_on(0xc3) && !letters.is_left_on(0xc2), "the others were not examined");
        assert_eq!(loops("[a-z]{3}", &["ö"]).cover(groups("a")), None);
        let no_space = loops(r"[^\s]*", &["Größe", "語", "\u{2014}"]);
        assert!(no_space.cover(groups("Größe")).is_some());
        assert!(no_space.cover(groups("語")).is_some());
        assert!(no_space.cover(groups("\u{2014}")).is_none(), "some white space begins with the same byte");
        assert!(loops("[^f]*", &[]).cover(groups("abcdegh")).is_some());
    }

    /// Characters may be live that do not return.
    #[test]
    fn goals_differ() {
        let mut terms = grammask_automata::Terms::new();
        let term =
            regex::term(&mut terms, "([a-zà-ÿ]|[ö語])([^a]|b)?", &Limits::default()).expect("a pattern");
        let mut automata = Automata::new(terms, 1000);
        let start = automata.start(term).expect("within limits").expect("not empty");
        let next = automata.step(start, b'a').expect("within limits").expect("goes on");
        let mut all = |state, text, goal| {
            let mut characters = CharacterTargets::default();
            let first = characters.all_lead(&mut automata, state, groups(text), goal).expect("within limits");
            let again = characters.all_lead(&mut automata, state, groups(text), goal).expect("within limits");
            assert_eq!(first, again);
            first
        };
        assert!(!all(start, "ö", Goal::Live), "not all of its group do");
        for text in ["ö", "語", "🙂"] {
            assert!(all(next, text, Goal::Live));
            assert!(all(next, text, Goal::Accept));
            assert!(!all(next, text, Goal::Return));
        }
        assert!(all(next, "text", Goal::Return), "no character beyond ASCII is in it");
    }
}
