//! What can be read on from a state for ever: groups of characters after which no word is out of reach.
//!
//! A pattern that may match anywhere in a text is never left by a letter, though letters lead to and fro between its states.
//! So a state has a *home*: groups of characters such that all states that texts of these lead to go on with each of them, and
//! end words alike. Below a node of the trie that has nothing else below it every token is live, whatever states it meets.
//!
//! Any groups with that property will do; they are found by taking away what leads out. See [`super::self_loops`] for states that
//! lead to themselves.

use grammask_automata::{Automata, ByteSet, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::{ByteGroups, Character};

use super::self_loops::{Characters, Goal};

/// States of a home that are looked at, and those that are met; more are not worth it.
const MOST_STATES: usize = 24;
const MOST_MET: usize = 40;
/// Pairs of a place inside a character and a state that one state may lead to.
const MOST_PLACES: usize = 48;
/// Copies of one character after which a state that is always another one counts them.
const MOST_COPIES: usize = 12;
/// How often something is taken away.
const MOST_TAKEN: usize = 12;
/// Bytes of ASCII that are worth having in a home.
const FEW_BYTES: usize = 8;

/// Whether the states of a home must end words alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::masks) enum Ends {
    /// They must.
    Count,
    /// Nobody asks where words end.
    AreLeftOut,
}

/// A home, and the states that it is one of.
pub(in crate::masks) struct Home {
    /// What may be below a node.
    pub(in crate::masks) groups: ByteGroups,
    /// The states between characters that are met, the first of which is the one that was asked for.
    pub(in crate::masks) states: Vec<StateId>,
}

/// What goes on from a state at all. All that is in a home of the state does, so none need be found for anything else.
#[derive(Clone, Copy)]
pub(in crate::masks) struct Onward {
    bytes: ByteGroups,
    /// Of those beyond ASCII, as far as they were looked at.
    characters: Characters,
}

impl Onward {
    /// # Errors
    /// When the automaton passes its limit.
    pub(in crate::masks) fn of(automata: &mut Automata, state: StateId) -> Result<Self, LimitExceeded> {
        let first_bytes = automata.first_bytes(state)?;
        let bytes = ByteGroups::within(|byte| first_bytes.contains(byte));
        Ok(Self { bytes, characters: Characters::default() })
    }

    /// Whether all characters below a node go on from `state`, the same at each call.
    ///
    /// # Errors
    /// When the automaton passes its limit.
    pub(in crate::masks) fn goes_on(
        &mut self,
        automata: &mut Automata,
        state: StateId,
        below: ByteGroups,
    ) -> Result<bool, LimitExceeded> {
        Ok(below.is_within(self.bytes.with_characters(ByteGroups::ALL_LEADS))
            && self.characters.all_lead(automata, state, below, Goal::On)?)
    }
}

/// Bytes of ASCII, and groups of [`ByteGroups::LEADS`], bit by bit.
#[derive(Clone, Copy)]
struct Alphabet {
    bytes: ByteSet,
    leads: u16,
}

impl Alphabet {
    const ALL_LEADS: u16 = (1 << ByteGroups::LEADS.len()) - 1;

    fn len(self) -> usize {
        self.bytes.len() + self.leads.count_ones() as usize
    }

    fn without(self, other: Self) -> Self {
        Self { bytes: self.bytes.without(other.bytes), leads: self.leads & !other.leads }
    }
}

/// A state that is met, and what led to it first.
struct Met {
    state: StateId,
    entrance: Alphabet,
    /// Another state is left out because of this one, so this one is looked at.
    is_needed: bool,
}

/// Finds a home of `state`; none where that would be small or is hard to find.
///
/// # Errors
/// When the automaton passes its limit.
pub(in crate::masks) fn home(
    automata: &mut Automata,
    state: StateId,
    ends: Ends,
) -> Result<Option<Home>, LimitExceeded> {
    if counts(automata, state)? {
        return Ok(None);
    }
    let (mut bytes, mut ends) = (ByteSet::range(0, 0x7f), ends);
    // Without the bytes that words end with, no word ends.
    if ends == Ends::Count
        && let Some(last) = automata.terms().last_bytes_by_form(automata.term(state))
        && last.without(bytes).is_empty()
    {
        (bytes, ends) = (bytes.without(last), Ends::AreLeftOut);
    }
    // Characters beyond ASCII take longer to look at, and mostly go on as some of ASCII do.
    let Some(ascii) = close(automata, state, Alphabet { bytes, leads: 0 }, ends)? else { return Ok(None) };
    let all = Alphabet { leads: Alphabet::ALL_LEADS, ..ascii.0 };
    let (alphabet, states) = close(automata, state, all, ends)?.unwrap_or(ascii);
    let mut leads = ByteGroups::default();
    for (number, range) in ByteGroups::LEADS.into_iter().enumerate() {
        if alphabet.leads >> number & 1 == 1 {
            leads = leads.union(ByteGroups::of(*range.start()));
        }
    }
    let groups = ByteGroups::within(|byte| alphabet.bytes.contains(byte)).with_characters(leads);
    Ok(Some(Home { groups, states }))
}

/// Whether a state leads to other and other states with copies of one byte, of those with which most bytes go on.
///
/// # Errors
/// When the automaton passes its limit.
pub(in crate::masks) fn counts(automata: &mut Automata, state: StateId) -> Result<bool, LimitExceeded> {
    let ascii = ByteSet::range(0, 0x7f);
    let successors = automata.successors(state)?;
    let widest =
        successors.iter().map(|(bytes, _)| bytes.intersection(ascii)).max_by_key(|bytes| bytes.len());
    let Some(byte) = widest.and_then(|bytes| bytes.iter().next()) else { return Ok(false) };
    let mut met = vec![state];
    for _ in 0..MOST_COPIES {
        match automata.step(met[met.len() - 1], byte)? {
            Some(next) if !met.contains(&next) => met.push(next),
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Takes away from an alphabet what leads out, until nothing does.
fn close(
    automata: &mut Automata,
    state: StateId,
    mut alphabet: Alphabet,
    ends: Ends,
) -> Result<Option<(Alphabet, Vec<StateId>)>, LimitExceeded> {
    for _ in 0..MOST_TAKEN {
        if alphabet.bytes.len() < FEW_BYTES {
            return Ok(None);
        }
        match closure(automata, state, alphabet, ends)? {
            Closure::Closed(states) => return Ok(Some((alphabet, states))),
            Closure::Leaves(taken) => alphabet = alphabet.without(taken),
            Closure::TooLarge => return Ok(None),
        }
    }
    Ok(None)
}

enum Closure {
    /// The states that are met.
    Closed(Vec<StateId>),
    /// What to do without.
    Leaves(Alphabet),
    TooLarge,
}

/// The states that texts over an alphabet lead to, or what leads out.
fn closure(
    automata: &mut Automata,
    start: StateId,
    alphabet: Alphabet,
    ends: Ends,
) -> Result<Closure, LimitExceeded> {
    let is_word = automata.is_accepting(start);
    let mut met = Vec::new();
    meet(&mut met, start, Alphabet { bytes: ByteSet::EMPTY, leads: 0 });
    let (mut next, mut seen) = (0, 0);
    while let Some(&Met { state, entrance, is_needed }) = met.get(next) {
        next += 1;
        if ends == Ends::AreLeftOut
            && !is_needed
            && let Some(other) = contained(automata, &met, state)
        {
            met[other].is_needed = true;
            continue;
        }
        seen += 1;
        let mut out = Alphabet { bytes: alphabet.bytes, leads: 0 };
        let successors = automata.successors(state)?;
        for &(bytes, target) in &successors {
            let inside = bytes.intersection(alphabet.bytes);
            if inside.is_empty() || ends == Ends::Count && automata.is_accepting(target) != is_word {
                continue;
            }
            out.bytes = out.bytes.without(inside);
            meet(&mut met, target, Alphabet { bytes: inside, leads: 0 });
        }
        for number in 0..ByteGroups::LEADS.len() {
            if alphabet.leads >> number & 1 == 0 {
                continue;
            }
            let own = Alphabet { bytes: ByteSet::EMPTY, leads: 1 << number };
            match after_characters(automata, &successors, number, (ends, is_word))? {
                Some(targets) => targets.into_iter().for_each(|target| meet(&mut met, target, own)),
                None => out.leads |= own.leads,
            }
        }
        if out.len() > 0 {
            // What leads out of a state can be kept if the state is not met: whichever is less.
            let is_entered = entrance.len() > 0 && entrance.len() < out.len();
            return Ok(Closure::Leaves(if is_entered { entrance } else { out }));
        }
        if seen > MOST_STATES || met.len() > MOST_MET {
            return Ok(Closure::TooLarge);
        }
    }
    Ok(Closure::Closed(met.into_iter().map(|met| met.state).collect()))
}

/// A state that was met, with all of whose words another one goes on too: nothing leads out of this one that does not lead out of
/// that one. A pattern that may begin anywhere is in a state like this behind each beginning of it. Of two states that contain each other
/// one is left out at most: the other one is needed then, or was left out for a third one before.
fn contained(automata: &Automata, met: &[Met], state: StateId) -> Option<usize> {
    let term = automata.term(state);
    met.iter().position(|other| {
        other.state != state && automata.terms().includes_by_form(term, automata.term(other.state))
    })
}

fn meet(met: &mut Vec<Met>, state: StateId, entrance: Alphabet) {
    if !met.iter().any(|known| known.state == state) {
        met.push(Met { state, entrance, is_needed: false });
    }
}

/// The states after the characters that begin with the bytes of a group, if each of these goes on from the state with these
/// successors. None too where a word ends inside a character, or not as it should behind one, if that counts.
fn after_characters(
    automata: &mut Automata,
    successors: &[(ByteSet, StateId)],
    group: usize,
    (ends, is_word): (Ends, bool),
) -> Result<Option<Vec<StateId>>, LimitExceeded> {
    let mut targets = Vec::new();
    let mut places: Vec<(Character, StateId)> = Vec::new();
    for byte in ByteGroups::LEADS[group].clone() {
        let Some(&(_, target)) = successors.iter().find(|(bytes, _)| bytes.contains(byte)) else {
            return Ok(None);
        };
        let place = (Character::Boundary.step(byte), target);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let mut next = 0;
    while let Some(&(character, state)) = places.get(next) {
        next += 1;
        if places.len() > MOST_PLACES || ends == Ends::Count && automata.is_accepting(state) {
            return Ok(None);
        }
        let range = match character {
            Character::Narrow(low, high, _) => low..=high,
            _ => 0x80..=0xbf,
        };
        let mut missing = ByteSet::range(*range.start(), *range.end());
        let after = character.step(*range.start());
        for (bytes, target) in automata.successors(state)? {
            let inside = bytes.intersection(missing);
            if inside.is_empty() {
                continue;
            }
            missing = missing.without(inside);
            if after != Character::Boundary {
                if !places.contains(&(after, target)) {
                    places.push((after, target));
                }
            } else if ends == Ends::Count && automata.is_accepting(target) != is_word {
                return Ok(None);
            } else if !targets.contains(&target) {
                targets.push(target);
            }
        }
        if !missing.is_empty() {
            return Ok(None);
        }
    }
    Ok(Some(targets))
}

#[cfg(test)]
mod tests {
    use super::*;
    use grammask_automata::regex;
    use grammask_diagnostics::Limits;

    const CHARACTERS: [&str; 12] = ["a", "b", "z", "7", "/", "-", " ", "\n", "é", "你", "🙂", "\u{2028}"];

    fn groups(text: &str) -> ByteGroups {
        text.bytes().fold(ByteGroups::default(), |groups, byte| groups.union(ByteGroups::of(byte)))
    }

    /// The states of a pattern, of which "&" and "then" make one of several.
    fn automata(pattern: &str) -> (Automata, Vec<StateId>) {
        let mut terms = grammask_automata::Terms::new();
        let (head, tail) = pattern.split_once(" then ").unwrap_or((pattern, ""));
        let mut term = |pattern| regex::term(&mut terms, pattern, &Limits::default()).expect("a pattern");
        let operands: Vec<_> = head.split(" & ").map(&mut term).collect();
        let tail = term(tail);
        let head = terms.intersection(&operands);
        let term = terms.concat(&[head, tail]);
        let mut automata = Automata::new(terms, 10_000);
        let mut states = vec![automata.start(term).expect("within limits").expect("not empty")];
        let mut next = 0;
        while next < states.len().min(50) {
            for (_, target) in automata.successors(states[next]).expect("within limits") {
                if !states.contains(&target) {
                    states.push(target);
                }
            }
            next += 1;
        }
        (automata, states)
    }

    /// No text over a home leads out, and if ends count, words end behind all characters or behind none.
    #[test]
    fn texts_stay_at_home() {
        let mut found = 0;
        for pattern in [
            r"(?s:.)*ab(?s:.)*",
            r"(?s:.)*(a|é)b?",
            r"[a-z]+(-[a-z]+)*",
            r"(?s:[^/])*//[^ ]*",
            r"([a-z]|é[^a])*你?",
            r"(?s:.){3}(ab|[^b])*",
            r"[^\x00-\x1f]{1,5}[a-z ]*",
            r"(?s-u:.)*a",
            r"(?s:.)* & (?s:[^/])*(ab|b{3})(?s:.)* then \n",
            r"[^\x00-\x1f]* & [^ ]*a[ab]{2}[^ ]* then /",
            r"[a-z]* & ([^b]|b[^a])*b? & [a-z]*(z7|zz)[^/]* then -",
        ] {
            let (mut automata, states) = automata(pattern);
            for (state, ends) in
                states.iter().flat_map(|&state| [(state, Ends::Count), (state, Ends::AreLeftOut)])
            {
                let Some(home) = home(&mut automata, state, ends).expect("within limits") else { continue };
                found += 1;
                assert_eq!(home.states[0], state);
                let is_word = automata.is_accepting(state);
                let inside: Vec<&str> =
                    CHARACTERS.into_iter().filter(|text| groups(text).is_within(home.groups)).collect();
                let mut texts = vec![state];
                for _ in 0..4 {
                    let mut longer: Vec<StateId> = Vec::new();
                    for (before, text) in
                        texts.iter().flat_map(|&before| inside.iter().map(move |text| (before, text)))
                    {
                        let mut current = before;
                        for (position, byte) in text.bytes().enumerate() {
                            let next = automata.step(current, byte).expect("within limits");
                            current = next.unwrap_or_else(|| panic!("{pattern} goes on with {text}"));
                            let is_end = position + 1 == text.len();
                            if ends == Ends::Count {
                                assert_eq!(
                                    automata.is_accepting(current),
                                    is_end && is_word,
                                    "{pattern} {text}"
                                );
                            }
                        }
                        if !longer.contains(&current) {
                            longer.push(current);
                        }
                    }
                    texts = longer;
                }
            }
        }
        assert!(found > 30, "{found} homes");
    }

    #[test]
    fn homes_are_large() {
        let home_of = |pattern: &str, ends| {
            let (mut automata, states) = automata(pattern);
            home(&mut automata, states[0], ends).expect("within limits")
        };
        let anywhere = home_of(r"[^\x00-\x1f]*ab[^\x00-\x1f]*", Ends::AreLeftOut).expect("goes on for ever");
        assert!(groups("abc 12 é你🙂").is_within(anywhere.groups));
        assert!(!groups("\n").is_within(anywhere.groups));
        assert!(anywhere.states.len() > 2);
        let before = home_of(r"[^\x00-\x1f]*ab[^\x00-\x1f]*", Ends::Count).expect("goes on for ever");
        assert!(groups("acd").is_within(before.groups) || groups("bcd").is_within(before.groups));
        assert!(!groups("ab").is_within(before.groups), "a word ends there");
        let parts = home_of("[a-z]+(-[a-z]+)*", Ends::AreLeftOut).expect("letters");
        assert!(groups("az").is_within(parts.groups));
        assert!(!groups("-").is_within(parts.groups));
        assert!(home_of("[a-z]{3,40}", Ends::AreLeftOut).is_none(), "it counts");
        let search = home_of("[^\"\n]* & [^\"\n]*[0-9a-f]{8}-[0-9a-f]{4}[^\"\n]* then \"", Ends::Count);
        let search = search.expect("goes on for ever").groups;
        assert!(groups("0af- é你🙂").is_within(search), "what a search has found so far takes nothing away");
        assert!(!groups("\"").is_within(search));
    }
}
