//! Property: shortest completions of lexed grammars equal those of a breadth-first search over bytes.

mod generators;

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use generators::lexed::{BLOCK_CASES, blocks_definition, definition};
use grammask::lexing::{LexedDefinition, LexedGrammar, LexedRecognizer, PreparedGrammar};
use grammask::vocabulary::Vocabulary;
use grammask::{CompletionStep, Deadline, Engine, Limits, SetId, ShortestCompletion};
use proptest::sample::select;

/// Maximum number of sets that one search expands.
const MAX_SETS: usize = 1000;

/// Spellable bytes.
const SPELLABLE: &[&[u8]] = &[b" ab", b" ab", b" ab", b"ab", b" b", b"a"];

static COMPLETED: AtomicU64 = AtomicU64::new(0);
static INCOMPLETABLE: AtomicU64 = AtomicU64::new(0);
static UNDECIDED: AtomicU64 = AtomicU64::new(0);

/// The result of a search by brute force.
#[derive(Debug, PartialEq)]
enum Distance {
    Found(u32),
    /// No completion exists.
    Infinite,
    /// The search ended without a result, so a completion is at least this long.
    AtLeast(u32),
}

/// The fewest bytes to a complete text.
fn distance(recognizer: &LexedRecognizer, set: SetId, bytes: &[u8]) -> Distance {
    let mut seen = HashSet::from([set]);
    let mut queue = VecDeque::from([(set, 0)]);
    while let Some((set, length)) = queue.pop_front() {
        if recognizer.is_complete(set) {
            return Distance::Found(length);
        }
        if seen.len() > MAX_SETS {
            return Distance::AtLeast(length);
        }
        for &byte in bytes {
            if let Some(next) = recognizer.step(set, byte).expect("no limit")
                && seen.insert(next)
            {
                queue.push_back((next, length + 1));
            }
        }
    }
    Distance::Infinite
}

/// The sets after all texts up to a length.
fn reachable_sets(recognizer: &LexedRecognizer, alphabet: &[u8], longest: usize) -> Vec<SetId> {
    let mut seen = HashSet::from([recognizer.start()]);
    let mut sets = vec![(recognizer.start(), 0)];
    let mut next = 0;
    while let Some(&(set, length)) = sets.get(next) {
        next += 1;
        for &byte in alphabet.iter().filter(|_| length < longest) {
            if let Some(after) = recognizer.step(set, byte).expect("no limit")
                && seen.insert(after)
            {
                sets.push((after, length + 1));
            }
        }
    }
    sets.into_iter().map(|(set, _)| set).collect()
}

/// Compares all sets that short texts reach. `bytes` are the spellable ones, ascending.
fn check(definition: &LexedDefinition, alphabet: &[u8], bytes: &[u8], longest: usize) {
    let limits = Limits::default();
    let Ok(grammar) = LexedGrammar::new(definition, &limits) else { return };
    let Ok(prepared) = PreparedGrammar::new(grammar, &limits) else { return };
    let tokens = bytes.iter().map(|&byte| vec![byte]).chain([alphabet.to_vec()]);
    let vocabulary = Vocabulary::new(tokens.map(Some).collect(), vec![], vec![], None).expect("it is small");
    let recognizer = || LexedRecognizer::new(&prepared, vocabulary.size(), &limits).expect("it is small");
    let (forwards, backwards) = (recognizer(), recognizer());
    let completion = |recognizer: &LexedRecognizer, set| {
        recognizer.shortest_completion(set, &vocabulary, &Deadline::after(Duration::from_secs(5)))
    };
    let sets = reachable_sets(&forwards, alphabet, longest);
    assert_eq!(sets, reachable_sets(&backwards, alphabet, longest));
    for &set in sets.iter().rev() {
        // Results do not depend on the order of calls.
        if !matches!(distance(&backwards, set, bytes), Distance::AtLeast(_)) {
            completion(&backwards, set).expect("no limit");
        }
    }
    for &set in &sets {
        let expected = distance(&forwards, set, bytes);
        match expected {
            Distance::Infinite => {
                assert_eq!(completion(&forwards, set), Ok(None));
                INCOMPLETABLE.fetch_add(1, Ordering::Relaxed);
            }
            Distance::AtLeast(_) => {
                UNDECIDED.fetch_add(1, Ordering::Relaxed);
            }
            Distance::Found(length) => {
                let is_next = |&&byte: &&u8| {
                    let next = forwards.step(set, byte).expect("no limit");
                    next.is_some_and(|next| distance(&forwards, next, bytes) == Distance::Found(length - 1))
                };
                let first = bytes.iter().filter(|_| length > 0).find(is_next);
                let first = first.map(|&byte| CompletionStep::Byte(byte));
                let expected = Some(ShortestCompletion { length, first });
                assert_eq!(completion(&forwards, set), Ok(expected), "{}", forwards.describe(set));
                assert_eq!(completion(&backwards, set), Ok(expected));
                COMPLETED.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

#[test]
fn completions_equal_brute_force() {
    let bytes = select(SPELLABLE);
    let mut runner = proptest::test_runner::TestRunner::new(generators::config(500));
    let result = runner.run(&(definition(), bytes), |(definition, bytes)| {
        check(&definition, b"ab ", bytes, 4);
        Ok(())
    });
    println!(
        "{} completions, {} sets without one, {} undecided",
        COMPLETED.load(Ordering::Relaxed),
        INCOMPLETABLE.load(Ordering::Relaxed),
        UNDECIDED.load(Ordering::Relaxed)
    );
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn completions_of_blocks_equal_brute_force() {
    for (lexer, parser, newline) in BLOCK_CASES {
        let definition = blocks_definition(lexer, parser, newline);
        check(&definition, b"\n :x()", b"\n :x()", 6);
        check(&definition, b"\t\n #:x", b"\t\n #:x", 6);
    }
}
