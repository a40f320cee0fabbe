//! What a state of a terminal is not left by, or one copy of a code is: groups of bytes, and characters of UTF-8.
//!
//! Below a node of the trie that has nothing else below it, a walk is in the same state everywhere, or inside a character
//! and back in it after that. So the subtree is known as a whole.

use std::ops::Range;

use crate::LimitExceeded;
use crate::automata::{Automata, ByteSet, StateId};
use crate::vocabulary::{ByteGroups, Character, TokenTrie, words_of};

/// What a state leads back to itself with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loops {
    /// Bytes.
    bytes: ByteGroups,
    /// The same, and all characters beyond ASCII, if they too lead back.
    characters: Option<ByteGroups>,
}

/// How a subtree is in one state.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kept {
    /// At each node.
    AllNodes,
    /// At each node that ends a character; at the others the state is one inside a character, not accepting but where the
    /// state itself would be left.
    WholeCharacters,
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
        let leads_back = all_characters_lead(automata, state, |_, target| target == state)?;
        Ok(Some(Self { bytes, characters: leads_back.then(|| bytes.with_characters()) }))
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
        let are_words = all_characters_lead(automata, start, Automata::is_accepting)?;
        Ok(Some(Self { bytes, characters: are_words.then(|| bytes.with_characters()) }))
    }

    /// How everything below a place is in the state, if it is.
    #[inline]
    pub(super) fn kept(self, below: ByteGroups) -> Option<Kept> {
        if below.is_within(self.bytes) {
            Some(Kept::AllNodes)
        } else if self.characters.is_some_and(|characters| below.is_within(characters)) {
            Some(Kept::WholeCharacters)
        } else {
            None
        }
    }
}

impl Kept {
    /// Whether the state holds at a node of such a subtree.
    pub(super) fn holds_at(self, trie: &TokenTrie, node: usize) -> bool {
        match self {
            Self::AllNodes => true,
            Self::WholeCharacters => trie.whole_characters()[node >> 6] >> (node & 63) & 1 == 1,
        }
    }

    /// Sets the bits of the nodes of a subtree that are in the state; returns how many words it looked at.
    pub(super) fn add_words(self, trie: &TokenTrie, nodes: Range<usize>, bits: &mut [u64]) -> usize {
        let mut count = 0;
        for (word, below) in words_of(nodes) {
            bits[word] |= match self {
                Self::AllNodes => below,
                Self::WholeCharacters => below & trie.whole_characters()[word],
            };
            count += 1;
        }
        count
    }
}

/// Whether every character beyond ASCII leads from `state` to one that `is_goal`, and no word ends inside of one.
fn all_characters_lead(
    automata: &mut Automata,
    state: StateId,
    is_goal: impl Fn(&Automata, StateId) -> bool,
) -> Result<bool, LimitExceeded> {
    let mut seen = vec![(Character::Boundary, state)];
    let mut next = 0;
    while let Some(&(character, current)) = seen.get(next) {
        next += 1;
        for byte in 0x80..=u8::MAX {
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

/// Pairs of a place inside a character and a state after which a search is given up; plain text has eight.
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
        assert!(matches!(body.kept(groups("some text, 12 words!")), Some(Kept::AllNodes)));
        assert!(matches!(body.kept(groups("Größe")), Some(Kept::WholeCharacters)));
        assert!(body.kept(groups("Größe").union(ByteGroups::broken())).is_none());
        assert!(body.kept(groups("\"")).is_none());
        assert!(body.kept(groups("a\\n")).is_none());
        let letters = loops("[a-z]*").expect("letters");
        assert!(letters.kept(groups("word")).is_some());
        assert!(letters.kept(groups("ö")).is_none());
        assert!(loops("[a-z]{3}").is_none());
    }
}
