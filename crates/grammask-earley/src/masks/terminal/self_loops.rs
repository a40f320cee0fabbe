//! The bytes and characters that lead from a state to a goal: back to itself (self-loops), through one copy of a prefix
//! code, or to any live state.
//!
//! In a subtree of the trie whose bytes all are self-loops of a state, a walk is in that state at every node, or inside
//! a character and back in the state after it. So the subtree need not be visited. (Regex engines call such a state
//! accelerated.)

use std::ops::RangeInclusive;

use grammask_automata::{Automata, ByteSet, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{ByteGroups, Character, WhichNodes};

use super::super::tuning::MAX_CHARACTER_STATES;

/// Where a byte or a character should lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Back to the state, without an accepting state inside the character: a self-loop.
    Return,
    /// To an accepting state, without one inside the character: a copy of a prefix code. Bytes beyond ASCII are no copies.
    Accept,
    /// To any live state.
    Live,
}

impl Goal {
    fn includes(self, automata: &Automata, state: StateId, target: StateId) -> bool {
        match self {
            Self::Return => target == state,
            Self::Accept => automata.is_accepting(target),
            Self::Live => true,
        }
    }
}

/// The bytes and characters that lead from a state to a goal. Groups of characters beyond ASCII are examined on demand:
/// a class of letters has a hundred states, and most texts use a few scripts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeadingCharacters {
    goal: Goal,
    /// Single bytes.
    bytes: ByteGroups,
    /// First bytes of the examined groups of characters.
    seen: ByteGroups,
    /// First bytes of the groups whose characters all lead to the goal.
    leading: ByteGroups,
}

impl LeadingCharacters {
    /// Finds the bytes that lead from a state to the goal.
    ///
    /// # Errors
    /// When the automaton exceeds its limit.
    pub(crate) fn of(automata: &mut Automata, state: StateId, goal: Goal) -> Result<Self, LimitExceeded> {
        let mut bytes = ByteSet::EMPTY;
        match goal {
            Goal::Live => bytes = automata.first_bytes(state)?,
            _ => {
                for (over, target) in automata.successors(state)? {
                    if goal.includes(automata, state, target) {
                        bytes = bytes.union(over);
                    }
                }
            }
        }
        if goal == Goal::Accept {
            bytes = bytes.intersection(ByteSet::range(0, 0x7f));
        }
        let (seen, leading) = Default::default();
        Ok(Self { goal, bytes: ByteGroups::within(|byte| bytes.contains(byte)), seen, leading })
    }

    /// Finds all characters that are words of the prefix code with this start state; `None` if no ASCII character is.
    ///
    /// # Errors
    /// When the automaton exceeds its limit.
    pub(crate) fn of_code(automata: &mut Automata, start: StateId) -> Result<Option<Self>, LimitExceeded> {
        let mut own = Self::of(automata, start, Goal::Accept)?;
        if own.bytes == ByteGroups::default() {
            return Ok(None);
        }
        for leads in ByteGroups::LEADS {
            own.all_lead(automata, start, ByteGroups::of(*leads.start()))?;
        }
        Ok(Some(own))
    }

    /// Whether all bytes and characters below a node lead to the goal. Examines the groups of characters that were not
    /// examined before. `state` must be the same at each call, and no character below the node broken.
    ///
    /// # Errors
    /// When the automaton exceeds its limit.
    pub(crate) fn include(
        &mut self,
        automata: &mut Automata,
        state: StateId,
        below: ByteGroups,
    ) -> Result<bool, LimitExceeded> {
        Ok(below.is_within(self.bytes.with_characters(ByteGroups::ALL_LEADS))
            && self.all_lead(automata, state, below)?)
    }

    /// Whether all characters beyond ASCII that begin with bytes of `groups` lead from `state` to the goal.
    fn all_lead(
        &mut self,
        automata: &mut Automata,
        state: StateId,
        groups: ByteGroups,
    ) -> Result<bool, LimitExceeded> {
        if self.exclude(groups) {
            return Ok(false);
        }
        let goal = self.goal;
        for leads in ByteGroups::LEADS {
            let group = ByteGroups::of(*leads.start());
            if !groups.intersects(group) || self.leading.intersects(group) {
                continue;
            }
            self.seen = self.seen.union(group);
            let is_goal = |automata: &Automata, target| goal.includes(automata, state, target);
            if !all_lead(automata, state, leads, goal == Goal::Live, is_goal)? {
                return Ok(false);
            }
            self.leading = self.leading.union(group);
        }
        Ok(true)
    }

    /// Whether some character of the groups is known not to lead to the goal.
    #[inline]
    pub(crate) fn exclude(self, groups: ByteGroups) -> bool {
        groups.intersects(self.seen.without(self.leading))
    }

    /// The nodes of a subtree at which the goal is reached, if all bytes below are known to lead there. At the other
    /// nodes a walk is inside a character.
    #[inline]
    pub(crate) fn cover(self, below: ByteGroups) -> Option<WhichNodes> {
        if below.is_within(self.bytes) {
            Some(WhichNodes::All)
        } else if below.is_within(self.bytes.with_characters(self.leading)) {
            Some(WhichNodes::WholeCharacters)
        } else {
            None
        }
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
    use super::super::samples::{automata, groups};
    use super::*;

    /// The self-loops of the first state of a pattern, with the characters of some texts examined.
    fn loops(pattern: &str, texts: &[&str]) -> LeadingCharacters {
        let (mut automata, start) = automata(pattern);
        let mut loops = LeadingCharacters::of(&mut automata, start, Goal::Return).expect("within limits");
        for text in texts {
            loops.include(&mut automata, start, groups(text)).expect("within limits");
        }
        loops
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
        assert!(
            letters.exclude(ByteGroups::of(0xc3)) && !letters.exclude(ByteGroups::of(0xc2)),
            "the others were not examined"
        );
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
        let (mut automata, start) = automata("([a-zà-ÿ]|[ö語])([^a]|b)?");
        let next = automata.step(start, b'a').expect("within limits").expect("goes on");
        let mut all = |state, text, goal| {
            let mut characters = LeadingCharacters::of(&mut automata, state, goal).expect("within limits");
            let first = characters.all_lead(&mut automata, state, groups(text)).expect("within limits");
            let again = characters.all_lead(&mut automata, state, groups(text)).expect("within limits");
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
