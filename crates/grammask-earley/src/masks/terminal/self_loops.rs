//! What a state of a terminal is not left by, or one copy of a code is: groups of bytes, and characters of UTF-8.
//!
//! Below a node of the trie that has nothing else below it, a walk is in the same state everywhere, or inside a character
//! and back in it after that. So the subtree is known as a whole.

use std::ops::RangeInclusive;

use grammask_automata::{Automata, ByteSet, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{ByteGroups, Character, WhichNodes};

/// What a state leads back to itself with, or one copy of a code is.
#[derive(Clone, Copy, Debug)]
pub(in crate::masks) struct Loops {
    /// Bytes.
    bytes: ByteGroups,
    /// The characters beyond ASCII that do so too, as far as they were looked at.
    characters: Characters,
}

impl Loops {
    /// Finds the bytes that lead from `state` back to it; characters beyond ASCII are still to be looked at.
    ///
    /// # Errors
    /// When the automaton passes its limit.
    pub(in crate::masks) fn of(automata: &mut Automata, state: StateId) -> Result<Self, LimitExceeded> {
        let mut own = ByteSet::EMPTY;
        for (bytes, target) in automata.successors(state)? {
            if target == state {
                own = own.union(bytes);
            }
        }
        let bytes = ByteGroups::within(|byte| own.contains(byte));
        Ok(Self { bytes, characters: Characters::default() })
    }

    /// Finds the characters, among those of ASCII and all others together, that are words of the code that `start` begins;
    /// `None` if no character of ASCII is.
    ///
    /// # Errors
    /// When the automaton passes its limit.
    pub(in crate::masks) fn of_code(
        automata: &mut Automata,
        start: StateId,
    ) -> Result<Option<Self>, LimitExceeded> {
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
        let mut characters = Characters::default();
        for group in ByteGroups::LEADS.map(|leads| ByteGroups::of(*leads.start())) {
            let _ = characters.all_lead(automata, start, group, Goal::Word)?;
        }
        Ok(Some(Self { bytes, characters }))
    }

    /// Looks at the characters below a node, as far as it is not known whether they lead back to `state`; none of them is
    /// broken.
    ///
    /// # Errors
    /// When the automaton passes its limit.
    pub(in crate::masks) fn look_at(
        &mut self,
        automata: &mut Automata,
        state: StateId,
        below: ByteGroups,
    ) -> Result<(), LimitExceeded> {
        if below.is_within(self.bytes.with_characters(ByteGroups::ALL_LEADS)) {
            let _ = self.characters.all_lead(automata, state, below, Goal::Back)?;
        }
        Ok(())
    }

    /// Whether it is known that not all characters which begin with the byte `first` lead back.
    #[inline]
    pub(in crate::masks) fn is_left_by(self, first: u8) -> bool {
        self.characters.do_not_lead(ByteGroups::of(first))
    }

    /// At which nodes of a subtree the state holds, if it is known not to be left below the first of them. At the others it
    /// is one inside a character.
    #[inline]
    pub(in crate::masks) fn kept(self, below: ByteGroups) -> Option<WhichNodes> {
        if below.is_within(self.bytes) {
            Some(WhichNodes::All)
        } else if below.is_within(self.bytes.with_characters(self.characters.leading)) {
            Some(WhichNodes::WholeCharacters)
        } else {
            None
        }
    }
}

/// Where characters are to lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::masks) enum Goal {
    /// Back to the state that they start from, with no word that ends inside of one.
    Back,
    /// To where a word ends, with none that ends inside of one.
    Word,
    /// Anywhere.
    On,
}

/// For groups of characters beyond ASCII whether each leads from a state to a goal, found out when it is asked for: a class of
/// letters has a hundred states, and most texts are in a few scripts.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::masks) struct Characters {
    /// First bytes of the groups that were looked at.
    seen: ByteGroups,
    /// Those of the groups of which all lead there.
    leading: ByteGroups,
}

impl Characters {
    /// Whether all characters that begin with bytes of `groups` lead from `state` to the goal, the same at each call.
    ///
    /// # Errors
    /// When the automaton passes its limit.
    pub(in crate::masks) fn all_lead(
        &mut self,
        automata: &mut Automata,
        state: StateId,
        groups: ByteGroups,
        goal: Goal,
    ) -> Result<bool, LimitExceeded> {
        if self.do_not_lead(groups) {
            return Ok(false);
        }
        for leads in ByteGroups::LEADS {
            let group = ByteGroups::of(*leads.start());
            if !groups.intersects(group) || self.leading.intersects(group) {
                continue;
            }
            self.seen = self.seen.union(group);
            if !all_lead(automata, state, leads, goal)? {
                return Ok(false);
            }
            self.leading = self.leading.union(group);
        }
        Ok(true)
    }

    /// Whether it is known that some do not.
    fn do_not_lead(self, groups: ByteGroups) -> bool {
        groups.intersects(self.seen.without(self.leading))
    }
}

/// Whether every character that begins with a byte of `leads` leads there.
fn all_lead(
    automata: &mut Automata,
    state: StateId,
    leads: RangeInclusive<u8>,
    goal: Goal,
) -> Result<bool, LimitExceeded> {
    let mut seen = vec![(Character::Boundary, state)];
    let mut next = 0;
    while let Some(&(character, current)) = seen.get(next) {
        next += 1;
        let bytes = if character == Character::Boundary { leads.clone() } else { 0x80..=0xbf };
        for byte in bytes {
            let character = character.step(byte);
            if character == Character::Broken {
                continue;
            }
            let Some(target) = automata.step(current, byte)? else { return Ok(false) };
            if character == Character::Boundary {
                let is_there = match goal {
                    Goal::Back => target == state,
                    Goal::Word => automata.is_accepting(target),
                    Goal::On => true,
                };
                if !is_there {
                    return Ok(false);
                }
            } else if goal != Goal::On && automata.is_accepting(target) {
                return Ok(false);
            } else if !seen.contains(&(character, target)) {
                seen.push((character, target));
            }
        }
        if seen.len() > MOST_PLACES {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Pairs of a place inside a character and a state after which a search is given up; plain text has three.
const MOST_PLACES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use grammask_automata::regex;
    use grammask_diagnostics::Limits;

    /// What keeps the first state of a pattern, after a look at some texts.
    fn loops(pattern: &str, texts: &[&str]) -> Loops {
        let mut terms = grammask_automata::Terms::new();
        let term = regex::term(&mut terms, pattern, &Limits::default()).expect("a pattern");
        let mut automata = Automata::new(terms, 1000);
        let start = automata.start(term).expect("within limits").expect("not empty");
        let mut loops = Loops::of(&mut automata, start).expect("within limits");
        for text in texts {
            loops.look_at(&mut automata, start, groups(text)).expect("within limits");
        }
        loops
    }

    fn groups(text: &str) -> ByteGroups {
        text.bytes().fold(ByteGroups::default(), |groups, byte| groups.union(ByteGroups::of(byte)))
    }

    #[test]
    fn text_is_kept() {
        let body = r#"([^"\\\x00-\x1f]|\\n)*"#;
        assert_eq!(loops(body, &[]).kept(groups("some text, 12 words!")), Some(WhichNodes::All));
        assert_eq!(loops(body, &[]).kept(groups("Größe")), None, "nobody looked");
        let body = loops(body, &["Größe", "\"語"]);
        assert_eq!(body.kept(groups("Größe")), Some(WhichNodes::WholeCharacters));
        assert_eq!(body.kept(groups("語")), None, "not looked at, where the state is left anyway");
        assert_eq!(body.kept(groups("Größe").union(ByteGroups::broken())), None);
        assert_eq!(body.kept(groups("\"")), None);
        assert_eq!(body.kept(groups("a\\n")), None);
        let letters = loops("[a-z]*", &["ö"]);
        assert_eq!(letters.kept(groups("word")), Some(WhichNodes::All));
        assert_eq!(letters.kept(groups("ö")), None);
        assert!(letters.is_left_by(0xc3) && !letters.is_left_by(0xc2), "nobody asked for the others");
        assert_eq!(loops("[a-z]{3}", &["ö"]).kept(groups("a")), None);
        let no_space = loops(r"[^\s]*", &["Größe", "語", "\u{2014}"]);
        assert!(no_space.kept(groups("Größe")).is_some());
        assert!(no_space.kept(groups("語")).is_some());
        assert!(no_space.kept(groups("\u{2014}")).is_none(), "some white space begins with the same byte");
        assert!(loops("[^f]*", &[]).kept(groups("abcdegh")).is_some());
    }

    /// Characters may lead on where they do not lead back.
    #[test]
    fn goals_differ() {
        let mut terms = grammask_automata::Terms::new();
        let term =
            regex::term(&mut terms, "([a-zà-ÿ]|[ö語])([^a]|b)?", &Limits::default()).expect("a pattern");
        let mut automata = Automata::new(terms, 1000);
        let start = automata.start(term).expect("within limits").expect("not empty");
        let next = automata.step(start, b'a').expect("within limits").expect("goes on");
        let mut all = |state, text, goal| {
            let mut characters = Characters::default();
            let first = characters.all_lead(&mut automata, state, groups(text), goal).expect("within limits");
            let again = characters.all_lead(&mut automata, state, groups(text), goal).expect("within limits");
            assert_eq!(first, again);
            first
        };
        assert!(!all(start, "ö", Goal::On), "not all of its group do");
        for text in ["ö", "語", "🙂"] {
            assert!(all(next, text, Goal::On));
            assert!(all(next, text, Goal::Word));
            assert!(!all(next, text, Goal::Back));
        }
        assert!(all(next, "text", Goal::Back), "no character beyond ASCII is in it");
    }
}
