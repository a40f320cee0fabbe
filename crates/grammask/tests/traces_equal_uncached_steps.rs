//! Property: replaying a trace reaches the same set as computing the step.
//!
//! Along long texts of random grammars, and of grammars with cyclic continuations, each step from each set is
//! compared with the same step without memo tables. Sets are interned, so ids are compared.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::generators::GrammarSketch;
use grammask::frontends::kbnf;
use grammask::grammar::Grammar;
use grammask::lowering::lower;
use grammask::recognizer::Recognizer;
use grammask::{Descriptions, Limits, Steps};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// Numbers of compared steps, and of those that replayed a trace.
static COMPARED: AtomicU64 = AtomicU64::new(0);
static REPLAYED: AtomicU64 = AtomicU64::new(0);

/// Nesting, all kinds of recursion, ambiguity, counters, and sets with many continuations.
const CYCLIC: [&str; 16] = [
    r#"start ::= "(" start ")" | "x";"#,
    r#"start ::= value; value ::= "[" [value {"," value}] "]" | "{" ["k" ":" value {"," "k" ":" value}] "}" | "1";"#,
    r#"start ::= start start | "a";"#,
    r#"start ::= start start start | start start | "a" | "(" start ")";"#,
    r#"start ::= start "+" start | start "*" start | "(" start ")" | "1";"#,
    r#"start ::= e; e ::= t | e "+" t; t ::= f | t "*" f; f ::= "(" e ")" | #"[0-9]+";"#,
    r#"start ::= a; a ::= b "x" | "a" | "(" a ")"; b ::= c "y" | "b"; c ::= a "z" | "[" b "]";"#,
    r#"start ::= [start] start "x" | "y" | "(" start ")";"#,
    r#"start ::= "a" start "a" | "b" start "b" | "a" | "b";"#,
    r#"start ::= "a" start "b" | "a" start "c" start | "ab";"#,
    r#"start ::= "i" start | "i" start "e" start | "x" | "(" start ")";"#,
    r#"start ::= p | q; p ::= "(" p ")" | "(" q "]" | "x"; q ::= "(" q ")" | "(" p "]" | "x";"#,
    r#"start ::= u{2,5} | "(" start ")"; u ::= "a" u "b" | "c";"#,
    r#"start ::= a a a | "z"; a ::= "(" a b ")" | "x"; b ::= "(" b a ")" | "x" | a "y";"#,
    r#"start ::= l | m; l ::= l "," i | i; m ::= i "," m | i; i ::= "(" start ")" | "1" | "(" l "," m ")";"#,
    r#"start ::= "f" "(" args ")" ; args ::= [e {"," e}]; e ::= start | "f" | e "+" e | "(" e ")";"#,
];

#[test]
fn steps_of_random_grammars() {
    let strategy = (crate::generators::grammar(), proptest::collection::vec(any::<u16>(), 0..80));
    let mut runner = TestRunner::new(crate::generators::config(600));
    let result = runner.run(&strategy, |(grammar, choices): (GrammarSketch, Vec<u16>)| {
        check(&grammar.build(), &choices);
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn steps_of_cyclic_grammars() {
    let strategy = (0..CYCLIC.len(), proptest::collection::vec(any::<u16>(), 0..160));
    let mut runner = TestRunner::new(crate::generators::config(600));
    let result = runner.run(&strategy, |(grammar, choices)| {
        let (grammar, _) = kbnf::grammar(CYCLIC[grammar].as_bytes(), "start", &Limits::default())
            .unwrap_or_else(|error| panic!("{error}"));
        check(&grammar, &choices);
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    let (compared, followed) = (COMPARED.load(Ordering::Relaxed), REPLAYED.load(Ordering::Relaxed));
    println!("compared {compared} steps, of which {followed} followed traces");
    assert!(followed > compared / 20, "{followed} of {compared} steps followed traces");
}

fn check(grammar: &Grammar, choices: &[u16]) {
    let Ok(lowered) = lower(grammar, &Limits::default()) else { return };
    let token_matches = vec![None; lowered.normal_form.terminals().len()];
    let Ok(recognizer) = Recognizer::new(lowered.normal_form, token_matches, Vec::new(), &Limits::default())
    else {
        return;
    };
    let recognizer = &recognizer;
    walk(recognizer, choices);
    REPLAYED.fetch_add(recognizer.replayed_traces() as u64, Ordering::Relaxed);
}

/// Compares the steps from all sets along a text that the choices determine.
fn walk(recognizer: &Recognizer, choices: &[u16]) {
    let mut set = recognizer.start();
    for &choice in choices {
        let mut live = Vec::new();
        for &byte in recognizer.byte_of_class() {
            let Ok(next) = recognizer.step(set, byte) else { return };
            let Ok(expected) = recognizer.step_uncached(set, byte) else { return };
            let description = || {
                let show = |set: Option<_>| set.map_or_else(String::new, |set| recognizer.describe(set));
                format!("{}after {byte}\n{}not\n{}", recognizer.describe(set), show(next), show(expected))
            };
            assert_eq!(next, expected, "{}", description());
            COMPARED.fetch_add(1, Ordering::Relaxed);
            live.extend(next);
        }
        if live.is_empty() {
            return;
        }
        set = live[usize::from(choice) % live.len()];
    }
}
