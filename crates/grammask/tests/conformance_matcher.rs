//! The conformance cases on the public matcher.

use std::sync::Arc;

use crate::conformance::{Case, End, Engine, Outcome};
use grammask::frontends::kbnf;
use grammask::grammar::Code;
use grammask::vocabulary::TokenId;
use grammask::{CompileOptions, CompiledGrammar, EndMode, Limits, Matcher};

#[test]
fn kbnf_cases_on_the_matcher() {
    crate::conformance::check_all("kbnf.toml", check);
}

fn check(case: &Case) {
    let mut options = CompileOptions::default();
    options.end = match case.end {
        End::Eager => EndMode::Eager,
        End::Eos => EndMode::Eos,
    };
    let vocabulary = Arc::new(case.vocabulary());
    let compiled = kbnf::grammar(case.grammar.as_bytes(), &case.start, &Limits::default())
        .and_then(|(grammar, _)| CompiledGrammar::new(&grammar, vocabulary, options));
    match compiled {
        Err(error) => case.check_error(&error),
        Ok(compiled) => {
            assert_eq!(case.error, None, "{}: no error", case.name);
            crate::conformance::run(case, &mut Run(compiled.matcher()));
        }
    }
}

struct Run(Matcher);

impl Engine for Run {
    fn mask(&mut self) -> Vec<u32> {
        if self.0.is_finished() {
            // In the cases no token is legal after the end; the matcher accepts end tokens.
            return Vec::new();
        }
        match self.0.mask() {
            Ok(mask) => mask.iter().map(|id| id.0).collect(),
            Err(error) => {
                assert_eq!(error.code(), Code::DeadEnd, "{error}");
                Vec::new()
            }
        }
    }

    fn accept(&mut self, token: u32) -> Outcome {
        if self.0.is_finished() || !self.0.accept(TokenId(token)).expect("no limit is exceeded") {
            Outcome::Rejected
        } else if self.0.is_finished() {
            Outcome::Finished
        } else {
            Outcome::Ongoing
        }
    }

    fn rollback(&mut self, tokens: usize) {
        assert!(self.0.rollback(tokens));
    }

    fn reset(&mut self) {
        self.0.reset();
    }
}
