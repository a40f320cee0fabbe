//! Property: shortest completions of lexed grammars equal those of a breadth-first search over bytes. Those of delimited
//! texts, whose ends repeat their beginnings, are completions.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::generators::lexed::{
    BLOCK_CASES, blocks_definition, definition, delimited_definition, lexical_definition,
};
use grammask::automata::encoding::{CharacterEncoding, JsonEscapes};
use grammask::lexing::{
    IndentationMeasure, LexedDefinition, LexedGrammar, LexedRecognizer, ParserKind, PreparedGrammar,
    TerminalPattern,
};
use grammask::vocabulary::{TokenId, Vocabulary};
use grammask::{
    CompletionStep, Deadline, Descriptions, Limits, Reach, SetId, ShortestCompletion, StateCompletions, Steps,
};
use proptest::sample::select;
use proptest::strategy::Strategy;

/// Maximum number of sets that one search expands.
const MAX_SETS: usize = 1000;

/// Spellable bytes.
const SPELLABLE: &[&[u8]] = &[b" ab", b" ab", b" ab", b"ab", b" b", b"a"];

static COMPLETED: AtomicU64 = AtomicU64::new(0);
/// Number of sets whose completions, with texts that repeat others, are not known.
static UNKNOWN: AtomicU64 = AtomicU64::new(0);
static INCOMPLETABLE: AtomicU64 = AtomicU64::new(0);
static UNDECIDED: AtomicU64 = AtomicU64::new(0);
static BOUNDED: AtomicU64 = AtomicU64::new(0);
static GROWN: AtomicU64 = AtomicU64::new(0);

/// The result of a search by brute force.
#[derive(Clone, Copy, Debug, PartialEq)]
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
            match recognizer.step(set, byte) {
                Ok(Some(next)) if seen.insert(next) => queue.push_back((next, length + 1)),
                Ok(_) => {}
                // A set of too many runs.
                Err(_) => return Distance::AtLeast(length),
            }
        }
    }
    Distance::Infinite
}

/// The sets that texts up to a length reach from a set.
fn reachable_sets(recognizer: &LexedRecognizer, from: SetId, alphabet: &[u8], longest: usize) -> Vec<SetId> {
    let mut seen = HashSet::from([from]);
    let mut sets = vec![(from, 0)];
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
    let pairs = alphabet.iter().flat_map(|&first| alphabet.iter().map(move |&second| vec![first, second]));
    let longer =
        pairs.clone().flat_map(|pair| alphabet.iter().map(move |&byte| [&pair[..], &[byte]].concat()));
    let repeated = alphabet.iter().map(|&byte| vec![byte; 6]);
    let tokens = bytes.iter().map(|&byte| vec![byte]).chain([alphabet.to_vec()]);
    let tokens = tokens.chain(pairs).chain(longer).chain(repeated);
    let vocabulary = Vocabulary::new(tokens.map(Some).collect(), vec![], vec![], None).expect("it is small");
    // Completions of delimited texts with bound names need not be the shortest.
    let has_values =
        definition.terminals.iter().any(|terminal| matches!(terminal.pattern, TerminalPattern::Delimited(_)));
    let recognizer = || LexedRecognizer::new(&prepared, vocabulary.size(), &limits).expect("it is small");
    let (forwards, backwards) = (recognizer(), recognizer());
    let completion = |recognizer: &LexedRecognizer, set| {
        recognizer.shortest_completion(set, &vocabulary, &Deadline::after(Duration::from_secs(5)))
    };
    let sets = reachable_sets(&forwards, forwards.start(), alphabet, longest);
    assert_eq!(sets, reachable_sets(&backwards, backwards.start(), alphabet, longest));
    for &set in sets.iter().rev() {
        // Results do not depend on the order of calls.
        if !matches!(distance(&backwards, set, bytes), Distance::AtLeast(_)) {
            completion(&backwards, set).expect("no limit");
        }
    }
    let mut distances = HashMap::new();
    for &set in sets.iter().step_by(4) {
        check_upper_bound(&forwards, set, &vocabulary, alphabet, &mut |set| {
            *distances.entry(set).or_insert_with(|| distance(&forwards, set, bytes))
        });
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
                let found = completion(&forwards, set).expect("no limit");
                assert_eq!(completion(&backwards, set), Ok(found));
                if !has_values {
                    let expected = ShortestCompletion { length, first };
                    assert_eq!(found, Some(expected), "{}", forwards.describe(set));
                }
                let Some(found) = found else {
                    UNKNOWN.fetch_add(1, Ordering::Relaxed);
                    continue;
                };
                assert!(found.length >= length);
                if let Some(CompletionStep::Byte(byte)) = found.first {
                    let next = forwards.step(set, byte).expect("no limit").expect("the byte is legal");
                    let rest = completion(&forwards, next).expect("no limit").expect("it is the rest");
                    assert_eq!(rest.length, found.length - 1);
                }
                COMPLETED.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// The upper bound holds for all sets within its reach.
fn check_upper_bound(
    recognizer: &LexedRecognizer,
    set: SetId,
    vocabulary: &Vocabulary,
    alphabet: &[u8],
    distance: &mut dyn FnMut(SetId) -> Distance,
) {
    let deadline = Deadline::after(Duration::from_secs(5));
    let longest =
        recognizer.longest_completion_after(set, Reach::Bytes(alphabet.len()), vocabulary, &deadline);
    let Some(longest) = longest.expect("no limit") else { return };
    let mut assert_within = |next: SetId, longest: u32| {
        let is_within = match distance(next) {
            Distance::Found(length) | Distance::AtLeast(length) => length <= longest,
            Distance::Infinite => false,
        };
        assert!(is_within, "{longest} is too small for {}", recognizer.describe(next));
    };
    for next in reachable_sets(recognizer, set, alphabet, alphabet.len()) {
        assert_within(next, longest);
    }
    BOUNDED.fetch_add(1, Ordering::Relaxed);
    let after_token = recognizer.longest_completion_after(set, Reach::Token, vocabulary, &deadline);
    let growths = recognizer.token_growths(vocabulary, &deadline).expect("no limit");
    let (Some(after_token), Some(growths)) = (after_token.expect("no limit"), growths) else { return };
    assert_within(set, after_token);
    let growths: HashMap<TokenId, u32> =
        growths.positive().iter().map(|growth| (growth.token, growth.bytes)).collect();
    for token in (0..vocabulary.size() as u32).map(TokenId) {
        let mut next = Some(set);
        for &byte in vocabulary.token(token).expect("all tokens have a text") {
            next = next.and_then(|next| recognizer.step(next, byte).expect("no limit"));
        }
        if let Some(next) = next {
            assert_within(next, after_token + growths.get(&token).copied().unwrap_or(0));
        }
    }
    GROWN.fetch_add(1, Ordering::Relaxed);
}

/// Checks random grammars with random bytes that are tokens.
fn check_random(
    definitions: impl Strategy<Value = LexedDefinition>,
    spellable: impl Strategy<Value = &'static [u8]>,
    alphabet: &[u8],
    longest: usize,
) {
    let mut runner = proptest::test_runner::TestRunner::new(crate::generators::config(1000));
    let result = runner.run(&(definitions, spellable), |(definition, bytes)| {
        check(&definition, alphabet, bytes, longest);
        Ok(())
    });
    println!(
        "{} completions, {} unknown, {} sets without one, {} undecided, {} with an upper bound, {} also by token",
        COMPLETED.load(Ordering::Relaxed),
        UNKNOWN.load(Ordering::Relaxed),
        INCOMPLETABLE.load(Ordering::Relaxed),
        UNDECIDED.load(Ordering::Relaxed),
        BOUNDED.load(Ordering::Relaxed),
        GROWN.load(Ordering::Relaxed)
    );
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(UNKNOWN.load(Ordering::Relaxed) * 100 < COMPLETED.load(Ordering::Relaxed));
}

#[test]
fn completions_equal_brute_force() {
    check_random(definition(), select(SPELLABLE), b"ab ", 4);
}

/// The byte that is no token by itself begins more terminals per byte than the others.
#[test]
fn upper_bounds_count_lexemes_that_only_longer_tokens_have() {
    let terminals = [("OPEN", "/z|a{8}/"), ("CLOSE", "cccccccc"), ("X", "x")];
    let definition = crate::lexed_matcher::definition(&terminals, &["start:OPEN start CLOSE", "start:X"]);
    let bounded = BOUNDED.load(Ordering::Relaxed);
    check(&definition, b"zzzzzzzx", b"acx", 4);
    assert!(BOUNDED.load(Ordering::Relaxed) > bounded);
}

#[test]
fn completions_of_lexical_rules_equal_brute_force() {
    let bytes = select(vec![&b" ()<>ab"[..], b" ()<>ab", b"()ab", b" ()b"]);
    check_random(lexical_definition(), bytes, b"ab()<> ", 3);
}

#[test]
fn completions_of_delimited_terminals_equal_brute_force() {
    let bytes = select(vec![&b" ()ab"[..], b" ()ab", b"()ab", b" ()b", b" (ab"]);
    check_random(delimited_definition(), bytes, b"ab() ", 5);
}

#[test]
fn completions_of_blocks_equal_brute_force() {
    for case in BLOCK_CASES {
        let definition = blocks_definition(case);
        check(&definition, b"\n :x()", b"\n :x()", 6);
        check(&definition, b"\t\n #:x", b"\t\n #:x", 6);
        // With all bytes of the grammar there are upper bounds.
        let bounded = BOUNDED.load(Ordering::Relaxed);
        let all: &[u8] = match case.measure {
            IndentationMeasure::Columns { .. } => b"\t\n\x0c #():x",
            IndentationMeasure::Python => b"\t\n\x0c #():\\x",
        };
        check(&definition, b"\n :x()", all, 6);
        if case.measure == IndentationMeasure::Python {
            check(&definition, b"\t\n :\\x", all, 6);
        }
        let has_bounds = BOUNDED.load(Ordering::Relaxed) > bounded;
        assert!(has_bounds || case.parser == ParserKind::Earley);
    }
}

#[test]
fn completions_through_encodings_equal_brute_force() {
    let json = CharacterEncoding::JsonString(JsonEscapes::Any);
    let quoted = CharacterEncoding::LinePrefix("> ".into());
    let block = CharacterEncoding::indented_block("  ").expect("a prefix");
    let marked = CharacterEncoding::indented_block("> ").expect("a prefix");
    for case in BLOCK_CASES {
        let plain = blocks_definition(case);
        let encoded = |encodings: &[&CharacterEncoding]| LexedDefinition {
            encodings: encodings.iter().copied().cloned().collect(),
            ..plain.clone()
        };
        check(&encoded(&[&json]), b"\\ :nx", b" :\\nx", 7);
        check(&encoded(&[&json]), b"\\ 0:aux", b"0:\\aux", 7);
        check(&encoded(&[&quoted]), b"\n >:x(", b"\n ):>x", 6);
        check(&encoded(&[&quoted, &json]), b"\\n >:x", b" :>\\nx", 7);
        check(&encoded(&[&block]), b"\n :x(", b"\n ):x", 7);
        check(&encoded(&[&marked]), b"\n >:x(", b"\n ):>x", 6);
    }
    let mut runner = proptest::test_runner::TestRunner::new(crate::generators::config(100));
    let result = runner.run(&definition(), |definition| {
        let definition = LexedDefinition { encodings: vec![json.clone()], ..definition };
        check(&definition, b"ab\\u06", b"0126\\abu", 6);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}
