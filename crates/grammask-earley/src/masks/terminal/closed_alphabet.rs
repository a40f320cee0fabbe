//! Closed alphabets: bytes and characters under which all states reachable from a state are live.
//!
//! A state of a search, such as `.*ab.*`, does not loop to itself on letters, but no letter leaves the states of the
//! search. Below a node of the trie all of whose bytes are in a *closed alphabet* of the state, every token is live, so
//! the subtree need not be visited. If ends of words are wanted, the reachable states must also be all accepting or all
//! not.
//!
//! Any alphabet with this property is correct. The search starts with all ASCII bytes, and removes those with a
//! transition out of the states reached so far until none is left. See [`super::self_loops`] for states that loop to
//! themselves.

use grammask_automata::{Automata, ByteSet, StateId};
use grammask_diagnostics::LimitExceeded;
use grammask_vocabulary::ByteGroups;

use super::super::summary::Wanted;
use super::super::tuning::{MAX_ALPHABET_STATES, MAX_ALPHABET_STEPS, MIN_ALPHABET_BYTES};
use super::self_loops::all_lead;

/// A closed alphabet, and the states for which it is closed.
pub(crate) struct ClosedAlphabet {
    /// Bytes that may be below a node.
    pub(crate) groups: ByteGroups,
    /// The states between characters that texts over the alphabet reach, beginning with the requested one.
    pub(crate) states: Vec<StateId>,
}

/// A candidate for a closed alphabet: ASCII bytes, and groups of [`ByteGroups::LEADS`] as bits.
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

/// A state that texts over a candidate reach.
struct ReachedState {
    state: StateId,
    /// The bytes over which it was reached first.
    entrance: Alphabet,
    /// Another state is skipped because this one includes it, so this one is examined.
    is_needed: bool,
}

/// Finds a closed alphabet of `state`; `None` where it would be small or takes long to find.
///
/// # Errors
/// When the automaton exceeds its limit.
pub(crate) fn closed_alphabet(
    automata: &mut Automata,
    state: StateId,
    wanted: Wanted,
) -> Result<Option<ClosedAlphabet>, LimitExceeded> {
    let (mut bytes, mut wanted) = (ByteSet::range(0, 0x7f), wanted);
    // Without the bytes that words end with, no word ends.
    if wanted == Wanted::LiveAndEnds
        && let Some(last) = automata.terms().last_bytes_by_form(automata.term(state))
        && last.without(bytes).is_empty()
    {
        (bytes, wanted) = (bytes.without(last), Wanted::Live);
    }
    // Characters beyond ASCII are expensive to examine, and most patterns treat them as some ASCII characters.
    let Some(ascii) = close(automata, state, Alphabet { bytes, leads: 0 }, wanted)? else { return Ok(None) };
    let all = Alphabet { leads: Alphabet::ALL_LEADS, ..ascii.0 };
    let (alphabet, states) = close(automata, state, all, wanted)?.unwrap_or(ascii);
    let mut leads = ByteGroups::default();
    for (number, range) in ByteGroups::LEADS.into_iter().enumerate() {
        if alphabet.leads >> number & 1 == 1 {
            leads = leads.union(ByteGroups::of(*range.start()));
        }
    }
    let groups = ByteGroups::within(|byte| alphabet.bytes.contains(byte)).with_characters(leads);
    Ok(Some(ClosedAlphabet { groups, states }))
}

/// Removes from a candidate the bytes that make it leave the reached states, until it is closed.
fn close(
    automata: &mut Automata,
    state: StateId,
    mut alphabet: Alphabet,
    wanted: Wanted,
) -> Result<Option<(Alphabet, Vec<StateId>)>, LimitExceeded> {
    for _ in 0..MAX_ALPHABET_STEPS {
        if alphabet.bytes.len() < MIN_ALPHABET_BYTES {
            return Ok(None);
        }
        match reach(automata, state, alphabet, wanted)? {
            CandidateReach::Closed(states) => return Ok(Some((alphabet, states))),
            CandidateReach::Escapes(removed) => alphabet = alphabet.without(removed),
            CandidateReach::TooLarge => return Ok(None),
        }
    }
    Ok(None)
}

/// The states that texts over a candidate reach.
enum CandidateReach {
    /// All of these are live.
    Closed(Vec<StateId>),
    /// The candidate is not closed; without these bytes it may be.
    Escapes(Alphabet),
    TooLarge,
}

fn reach(
    automata: &mut Automata,
    start: StateId,
    alphabet: Alphabet,
    wanted: Wanted,
) -> Result<CandidateReach, LimitExceeded> {
    let is_word = automata.is_accepting(start);
    let counts_ends = wanted == Wanted::LiveAndEnds;
    let mut reached = Vec::new();
    add(&mut reached, start, Alphabet { bytes: ByteSet::EMPTY, leads: 0 });
    let (mut next, mut examined) = (0, 0);
    while let Some(&ReachedState { state, entrance, is_needed }) = reached.get(next) {
        next += 1;
        if !counts_ends
            && !is_needed
            && let Some(other) = included(automata, &reached, state)
        {
            reached[other].is_needed = true;
            continue;
        }
        examined += 1;
        let mut escaping = Alphabet { bytes: alphabet.bytes, leads: 0 };
        for (bytes, target) in automata.successors(state)? {
            let inside = bytes.intersection(alphabet.bytes);
            if inside.is_empty() || counts_ends && automata.is_accepting(target) != is_word {
                continue;
            }
            escaping.bytes = escaping.bytes.without(inside);
            add(&mut reached, target, Alphabet { bytes: inside, leads: 0 });
        }
        for number in 0..ByteGroups::LEADS.len() {
            if alphabet.leads >> number & 1 == 0 {
                continue;
            }
            let own = Alphabet { bytes: ByteSet::EMPTY, leads: 1 << number };
            let leads = ByteGroups::LEADS[number].clone();
            let mut targets = Vec::new();
            let lead = all_lead(automata, state, leads, !counts_ends, |automata, target| {
                if targets.last() != Some(&target) {
                    targets.push(target);
                }
                !counts_ends || automata.is_accepting(target) == is_word
            })?;
            if lead {
                targets.into_iter().for_each(|target| add(&mut reached, target, own));
            } else {
                escaping.leads |= own.leads;
            }
        }
        if escaping.len() > 0 {
            // Either the escaping bytes are removed, or those that reach the state: the smaller set.
            let is_entrance_smaller = entrance.len() > 0 && entrance.len() < escaping.len();
            return Ok(CandidateReach::Escapes(if is_entrance_smaller { entrance } else { escaping }));
        }
        if examined > MAX_ALPHABET_STATES || reached.len() > 2 * MAX_ALPHABET_STATES {
            return Ok(CandidateReach::TooLarge);
        }
    }
    Ok(CandidateReach::Closed(reached.into_iter().map(|reached| reached.state).collect()))
}

/// A reached state whose language is included in that of `state`: no byte leaves `state` that does not leave the other.
/// A search is in such a state after each beginning of its pattern. Of two states that include each other at most one
/// is skipped: the other is needed then, or is included in a third one.
fn included(automata: &Automata, reached: &[ReachedState], state: StateId) -> Option<usize> {
    let term = automata.term(state);
    reached.iter().position(|other| {
        other.state != state && automata.terms().includes_by_form(term, automata.term(other.state))
    })
}

fn add(reached: &mut Vec<ReachedState>, state: StateId, entrance: Alphabet) {
    if !reached.iter().any(|known| known.state == state) {
        reached.push(ReachedState { state, entrance, is_needed: false });
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{groups, reachable};
    use super::*;
    use grammask_automata::regex;
    use grammask_diagnostics::Limits;

    const CHARACTERS: [&str; 12] = ["a", "b", "z", "7", "/", "-", " ", "\n", "é", "你", "🙂", "\u{2028}"];

    /// The states of a pattern; "&" is an intersection, "then" a concatenation.
    fn automata(pattern: &str) -> (Automata, Vec<StateId>) {
        let mut terms = grammask_automata::Terms::new();
        let (head, tail) = pattern.split_once(" then ").unwrap_or((pattern, ""));
        let mut term = |pattern| regex::term(&mut terms, pattern, &Limits::default()).expect("a pattern");
        let operands: Vec<_> = head.split(" & ").map(&mut term).collect();
        let tail = term(tail);
        let head = terms.intersection(&operands);
        let term = terms.concat(&[head, tail]);
        let mut automata = Automata::new(terms, 10_000);
        let start = automata.start(term).expect("within limits").expect("not empty");
        let states = reachable(&mut automata, start, 50);
        (automata, states)
    }

    /// No text over an alphabet dies, and if ends are wanted, words end after all characters or after none.
    #[test]
    fn no_text_leaves_the_states() {
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
            for (state, wanted) in
                states.iter().flat_map(|&state| [(state, Wanted::LiveAndEnds), (state, Wanted::Live)])
            {
                let Some(alphabet) = closed_alphabet(&mut automata, state, wanted).expect("within limits")
                else {
                    continue;
                };
                found += 1;
                assert_eq!(alphabet.states[0], state);
                let is_word = automata.is_accepting(state);
                let inside: Vec<&str> =
                    CHARACTERS.into_iter().filter(|text| groups(text).is_within(alphabet.groups)).collect();
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
                            if wanted == Wanted::LiveAndEnds {
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
        assert!(found > 30, "{found} alphabets");
    }

    #[test]
    fn alphabets_are_large() {
        let alphabet_of = |pattern: &str, wanted| {
            let (mut automata, states) = automata(pattern);
            closed_alphabet(&mut automata, states[0], wanted).expect("within limits")
        };
        let anywhere = alphabet_of(r"[^\x00-\x1f]*ab[^\x00-\x1f]*", Wanted::Live).expect("closed");
        assert!(groups("abc 12 é你🙂").is_within(anywhere.groups));
        assert!(!groups("\n").is_within(anywhere.groups));
        assert!(anywhere.states.len() > 2);
        let before = alphabet_of(r"[^\x00-\x1f]*ab[^\x00-\x1f]*", Wanted::LiveAndEnds).expect("closed");
        assert!(groups("acd").is_within(before.groups) || groups("bcd").is_within(before.groups));
        assert!(!groups("ab").is_within(before.groups), "a word ends there");
        let parts = alphabet_of("[a-z]+(-[a-z]+)*", Wanted::Live).expect("letters");
        assert!(groups("az").is_within(parts.groups));
        assert!(!groups("-").is_within(parts.groups));
        assert!(alphabet_of("[a-z]{3,40}", Wanted::Live).is_none(), "counts");
        let search =
            alphabet_of("[^\"\n]* & [^\"\n]*[0-9a-f]{8}-[0-9a-f]{4}[^\"\n]* then \"", Wanted::LiveAndEnds);
        let search = search.expect("closed").groups;
        assert!(groups("0af- é你🙂").is_within(search), "the progress of a search removes nothing");
        assert!(!groups("\"").is_within(search));
    }
}
