//! Vocabularies, automata and summaries for the tests of walks.

use grammask_automata::{Automata, StateId, Terms, regex};
use grammask_diagnostics::Limits;
use grammask_vocabulary::{ByteGroups, TerminalSummary, TokenTexts, Vocabulary};

use super::strategy::walk_terminal;
use super::walk::WalkRequest;

/// A vocabulary of all sequences of `length` pieces, and of the pieces.
pub(super) fn vocabulary(pieces: &[&str], length: u32) -> Vocabulary {
    let count = pieces.len();
    let sequence = |number: usize| -> String {
        (0..length).map(|position| pieces[number / count.pow(position) % count]).collect()
    };
    let single = pieces.iter().map(|piece| (*piece).to_owned());
    let texts: TokenTexts = (0..count.pow(length)).map(sequence).chain(single).map(Some).collect();
    Vocabulary::new(texts, vec![], vec![], None).expect("a vocabulary")
}

/// The automaton of a pattern, with its start state.
pub(super) fn automata(pattern: &str) -> (Automata, StateId) {
    let mut terms = Terms::new();
    let term = regex::term(&mut terms, pattern, &Limits::default()).expect("a pattern");
    let mut automata = Automata::new(terms, 10_000);
    let start = automata.start(term).expect("within limits").expect("not empty");
    (automata, start)
}

/// The states that are reachable from `start`; the successors of the first `max_examined`.
pub(super) fn reachable(automata: &mut Automata, start: StateId, max_examined: usize) -> Vec<StateId> {
    let mut states = vec![start];
    let mut next = 0;
    while next < states.len().min(max_examined) {
        for (_, target) in automata.successors(states[next]).expect("within limits") {
            if !states.contains(&target) {
                states.push(target);
            }
        }
        next += 1;
    }
    states
}

/// The bytes of a text.
pub(super) fn groups(text: &str) -> ByteGroups {
    text.bytes().fold(ByteGroups::default(), |groups, byte| groups.union(ByteGroups::of(byte)))
}

/// The summary of a walk without bases.
pub(super) fn walked(
    automata: &mut Automata,
    vocabulary: &Vocabulary,
    request: WalkRequest<'_>,
) -> TerminalSummary {
    let walked = walk_terminal(automata, vocabulary, request, &[]).expect("within limits").1;
    let ends = walked.ends.map(|ends| vocabulary.summaries().intern(ends));
    TerminalSummary { live: walked.live, ends }
}
