//! Property: delimited terminals, whose grammars bind texts to names, agree with the oracle of lexed grammars, and so do
//! masks. `GRAMMASK_PROFILE=long` runs more cases.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::generators::lexed::delimited_definition;
use crate::generators::{by_profile, config};
use crate::lexing_equals_oracle::{WITH_LEXICAL_RULES, check};
use grammask::Limits;
use grammask::lexing::{LexedDefinition, LexedGrammar, PreparedGrammar, TerminalRole};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const ALPHABET: &[u8] = b"ab ()";

static COMPARED: AtomicU64 = AtomicU64::new(0);
static IGNORED: AtomicU64 = AtomicU64::new(0);

fn is_prepared(definition: &LexedDefinition) -> bool {
    let limits = Limits::default();
    LexedGrammar::new(definition, &limits).and_then(|grammar| PreparedGrammar::new(grammar, &limits)).is_ok()
}

#[test]
fn delimited_terminals_equal_oracle() {
    let tokens = vec(vec(select(&b"aab (()"[..]), 2..7), 3..14).prop_map(|mut tokens| {
        tokens.extend(ALPHABET.iter().map(|&byte| vec![byte]));
        tokens
    });
    let mut runner = proptest::test_runner::TestRunner::new(config(by_profile(250, 1500)));
    let result = runner.run(&(delimited_definition(), tokens), |(definition, tokens)| {
        if is_prepared(&definition) {
            let role = definition.terminals.iter().find(|terminal| terminal.name == "T3");
            let is_ignored = role.is_some_and(|terminal| terminal.role == TerminalRole::Ignored);
            COMPARED.fetch_add(1, Ordering::Relaxed);
            IGNORED.fetch_add(u64::from(is_ignored), Ordering::Relaxed);
        }
        check(&definition, &tokens, ALPHABET, WITH_LEXICAL_RULES);
        Ok(())
    });
    let (compared, ignored) = (COMPARED.load(Ordering::Relaxed), IGNORED.load(Ordering::Relaxed));
    println!("compared {compared} grammars, {ignored} with an ignored delimited terminal");
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(compared > 50, "too few grammars were compared");
}
