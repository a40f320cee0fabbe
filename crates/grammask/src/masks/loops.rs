//! What a state of a terminal is not left by, or one copy of a code is: groups of bytes, and characters of UTF-8.
//!
//! Below a node of the trie that has nothing else below it, a walk is in the same state everywhere, or inside a character
//! and back in it after that. So the subtree is known as a whole.

use std::ops::RangeInclusive;

use crate::LimitExceeded;
use crate::automata::{Automata, ByteSet, StateId};
use crate::vocabulary::{ByteGroups, Character, WhichNodes};

/// What a state leads back to itself with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loops {
    /// Bytes.
    bytes: ByteGroups,
    /// The same, and the characters beyond ASCII that lead back too, all those that begin with the bytes of a group.
    characters: Option<ByteGroups>,
}

impl Loops {
    /// Finds what leads from `state` back to it; `None` if no byte does.
    ///
    /// # Errors
    /// When the automaton passes its limit.
    pub(super) fn of(automata: &mut Automata, state: StateId) -> Result<Option<Self>, LimitExceeded> {
        let mut own = ByteSet::EMPTY;
        for (bytes, target) in automata.successors(state)? {
            if target == state {
                own = own.union(bytes);
            }
        }
        if own.is_empty() {
            return Ok(None);
        }
        let bytes = ByteGroups::within(|byte| own.contains(byte));
        let characters = characters_that_lead(automata, state, |_, target| target == state)?;
        Ok(Some(Self { bytes, characters: characters.map(|leads| bytes.with_characters(leads)) }))
    }

    /// Finds the characters, among those of ASCII and all others together, that are words of the code that `start` begins;
    /// `None` if no character of ASCII is.
    ///
    /// # Errors
    /// When the automaton passes its limit.
    pub(super) fn of_code(automata: &mut Automata, start: StateId) -> Result<Option<Self>, LimitExceeded> {
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
        let characters = characters_that_lead(automata, start, Automata::is_accepting)?;
        Ok(Some(Self { bytes, characters: characters.map(|leads| bytes.with_characters(leads)) }))
    }

    /// At which nodes of a subtree the state holds, if it is not left below the first of them. At the others it is one
    /// inside a character.
    #[inline]
    pub(super) fn kept(self, below: ByteGroups) -> Option<WhichNodes> {
        if below.is_within(self.bytes) {
            Some(WhichNodes::All)
        } else if self.characters.is_some_and(|characters| below.is_within(characters)) {
            Some(WhichNodes::WholeCharacters)
        } else {
            None
        }
    }
}

/// The groups of first bytes of which every character beyond ASCII leads from `state` to one that `is_goal`, and no word ends
/// inside of one; `None` if there is no such group.
fn characters_that_lead(
    automata: &mut Automata,
    state: StateId,
    is_goal: impl Fn(&Automata, StateId) -> bool,
) -> Result<Option<ByteGroups>, LimitExceeded> {
    let mut found: Option<ByteGroups> = None;
    for leads in ByteGroups::LEADS {
        let group = ByteGroups::of(*leads.start());
        if all_lead(automata, state, leads, &is_goal)? {
            found = Some(found.map_or(group, |found| found.union(group)));
        }
    }
    Ok(found)
}

/// Whether every character that begins with a byte of `leads` does so.
fn all_lead(
    automata: &mut Automata,
    state: StateId,
    leads: RangeInclusive<u8>,
    is_goal: impl Fn(&Automata, StateId) -> bool,
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
                if !is_goal(automata, target) {
                    return Ok(false);
                }
            } else if automata.is_accepting(target) {
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
    use crate::Limits;
    use crate::frontends::regex;

    fn loops(pattern: &str) -> Option<Loops> {
        let mut terms = crate::automata::Terms::new();
        let term = regex::term(&mut terms, pattern, &Limits::default()).expect("a pattern");
        let mut automata = Automata::new(terms, 1000);
        let start = automata.start(term).expect("within limits").expect("not empty");
        Loops::of(&mut automata, start).expect("within limits")
    }

    #[test]
    fn text_is_kept() {
        let groups = |text: &str| {
            text.bytes().fold(ByteGroups::default(), |groups, byte| groups.union(ByteGroups::of(byte)))
        };
        let body = loops(r#"([^"\\\x00-\x1f]|\\n)*"#).expect("text");
        assert!(matches!(body.kept(groups("some text, 12 words!")), Some(WhichNodes::All)));
        assert!(matches!(body.kept(groups("Größe")), Some(WhichNodes::WholeCharacters)));
        assert!(body.kept(groups("Größe").union(ByteGroups::broken())).is_none());
        assert!(body.kept(groups("\"")).is_none());
        assert!(body.kept(groups("a\\n")).is_none());
        let letters = loops("[a-z]*").expect("letters");
        assert!(letters.kept(groups("word")).is_some());
        assert!(letters.kept(groups("ö")).is_none());
        assert!(loops("[a-z]{3}").is_none());
        let no_space = loops(r"[^\s]*").expect("text");
        assert!(no_space.kept(groups("Größe")).is_some());
        assert!(no_space.kept(groups("語")).is_some());
        assert!(no_space.kept(groups("\u{2014}")).is_none(), "some white space begins with the same byte");
        assert!(loops("[^f]*").expect("text").kept(groups("abcdegh")).is_some());
    }
}
