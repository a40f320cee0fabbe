//! Property: a run of several bytes inside a keyword of a long list reaches the same set as single steps.

use std::sync::atomic::{AtomicU64, Ordering};

use grammask::frontends::kbnf;
use grammask::lowering::lower;
use grammask::recognizer::Recognizer;
use grammask::{Deadline, Limits, SetId, Steps};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// Number of runs that skipped intermediate sets.
static RUNS: AtomicU64 = AtomicU64::new(0);

/// Lists of keywords, some of which are prefixes of others.
fn words() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec("[ab]{3,8}", 20..200)
}

#[test]
fn runs_of_bytes() {
    let strategy = (words(), proptest::collection::vec((any::<u16>(), 1_usize..9), 1..60), 0..3_usize);
    let mut runner = TestRunner::new(crate::generators::config(600));
    let result = runner.run(&strategy, |(words, pieces, form)| {
        let list: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        let list = list.join(" | ");
        // The keyword ends the text, is followed by others, or is in brackets.
        let grammar = match form {
            0 => format!("start ::= {list};"),
            1 => format!("start ::= word {{\",\" word}}; word ::= {list};"),
            _ => format!("start ::= \"[\" start \"]\" | word start | \";\"; word ::= {list};"),
        };
        check(&grammar, &words, &pieces);
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    let runs = RUNS.load(Ordering::Relaxed);
    println!("{runs} runs");
    assert!(runs > 500, "{runs} runs");
}

fn check(grammar: &str, words: &[String], pieces: &[(u16, usize)]) {
    let (grammar, _) = kbnf::grammar(grammar.as_bytes(), "start", &Limits::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let lowered = lower(&grammar, &Limits::default()).expect("a grammar of words");
    let token_matches = vec![None; lowered.normal_form.terminals().len()];
    let recognizer = Recognizer::new(lowered.normal_form, token_matches, Vec::new(), &Limits::default());
    let recognizer = &recognizer.expect("within the limits");
    // Texts of keywords and separators, split at arbitrary positions.
    let mut set = recognizer.start();
    let mut text: Vec<u8> = Vec::new();
    for &(choice, length) in pieces {
        if text.len() < length {
            text.extend_from_slice(words[usize::from(choice) % words.len()].as_bytes());
            text.extend_from_slice([",", "", "", ";"][usize::from(choice >> 8) % 4].as_bytes());
        }
        let piece: Vec<u8> = text.drain(..length.min(text.len())).collect();
        let deadline = Deadline::after_first_check(Limits::default().time);
        let at_once = recognizer.step_all(set, &piece, &deadline).expect("within the limits");
        let sets = recognizer.set_count();
        assert_eq!(at_once, one_by_one(recognizer, set, &piece), "{piece:?}");
        RUNS.fetch_add(u64::from(recognizer.set_count() > sets && at_once.is_ok()), Ordering::Relaxed);
        assert_eq!(recognizer.step_all(set, &piece, &deadline), Ok(at_once), "again: {piece:?}");
        match at_once {
            Ok(next) => set = next,
            Err(_) => {
                set = recognizer.start();
                text.clear();
            }
        }
    }
}

/// The set after all bytes, or the position of the first illegal one, by memoised and uncached single steps.
fn one_by_one(recognizer: &Recognizer, set: SetId, bytes: &[u8]) -> Result<SetId, usize> {
    bytes.iter().enumerate().try_fold(set, |set, (position, &byte)| {
        let next = recognizer.step_uncached(set, byte).expect("within the limits");
        next.ok_or(position)
    })
}
