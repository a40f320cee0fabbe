//! The conformance cases on the oracles: the textbook recogniser and the brute-force mask.

use crate::conformance::{Case, End, Engine, Outcome};
use grammask::Limits;
use grammask::frontends::kbnf;
use grammask::grammar::{Code, Diagnostic, Grammar, GrammarError, Terminal, TokenReference};
use grammask::masks::brute_force;
use grammask::recognizer::reference::{Chart, Language, Reference};
use grammask::vocabulary::{TokenId, Vocabulary};

#[test]
fn kbnf_cases_on_the_oracles() {
    crate::conformance::check_all("kbnf.toml", check);
}

fn check(case: &Case) {
    let vocabulary = case.vocabulary();
    let grammar = kbnf::grammar(case.grammar.as_bytes(), &case.start, &Limits::default());
    let grammar = match grammar.and_then(|(grammar, _)| check_tokens(grammar, &vocabulary)) {
        Ok(grammar) => grammar,
        Err(error) => return case.check_error(&error),
    };
    let reference = Reference::new(&grammar, &vocabulary);
    if let Some(code) = language_error(case.end, reference.language()) {
        return case.check_error(&Diagnostic::error(code, "found by the oracle").into());
    }
    assert_eq!(case.error, None, "{}: no error", case.name);
    let first = State { chart: reference.chart(), finished: false };
    crate::conformance::run(case, &mut Oracle { case, vocabulary: &vocabulary, states: vec![first] });
}

/// Rejects tokens that the vocabulary lacks.
fn check_tokens(grammar: Grammar, vocabulary: &Vocabulary) -> Result<Grammar, GrammarError> {
    for definition in grammar.terminals() {
        let exists = match &definition.terminal {
            Terminal::Token(TokenReference::Name(name)) => vocabulary.special(name).is_some(),
            Terminal::Token(TokenReference::Id(id)) => (*id as usize) < vocabulary.size(),
            _ => true,
        };
        if !exists {
            return Err(Diagnostic::error(Code::UnknownToken, definition.label.to_string()).into());
        }
    }
    Ok(grammar)
}

fn language_error(end: End, language: Language) -> Option<Code> {
    match (end, language) {
        (_, Language { empty: false, nonempty: false }) => Some(Code::EmptyLanguage),
        (End::Eager, Language { nonempty: false, .. }) => Some(Code::OnlyEmptyText),
        _ => None,
    }
}

/// Runs a case on the oracles, with the end modes by their definition.
struct Oracle<'a> {
    case: &'a Case,
    vocabulary: &'a Vocabulary,
    /// The states after each accepted token, and of the empty text.
    states: Vec<State<'a>>,
}

#[derive(Clone)]
struct State<'a> {
    chart: Chart<'a>,
    finished: bool,
}

impl<'a> Oracle<'a> {
    fn state(&self) -> &State<'a> {
        self.states.last().expect("the state of the empty text is never removed")
    }
}

impl Engine for Oracle<'_> {
    fn mask(&mut self) -> Vec<u32> {
        let State { chart, finished } = self.state();
        if *finished {
            return Vec::new();
        }
        let mut mask = brute_force::mask(chart, self.vocabulary);
        if self.case.end == End::Eos && chart.is_complete() {
            self.vocabulary.eos().iter().for_each(|&end| {
                mask.insert(end);
            });
        }
        mask.iter().map(|token| token.0).collect()
    }

    fn accept(&mut self, token: u32) -> Outcome {
        let State { mut chart, finished } = self.state().clone();
        if finished {
            return Outcome::Rejected;
        }
        let token = TokenId(token);
        let finished = if self.case.end == End::Eos && self.vocabulary.is_eos(token) && chart.is_complete() {
            true
        } else if chart.accept_token(token) {
            self.case.end == End::Eager && chart.is_complete()
        } else {
            return Outcome::Rejected;
        };
        self.states.push(State { chart, finished });
        if finished { Outcome::Finished } else { Outcome::Ongoing }
    }

    fn rollback(&mut self, tokens: usize) {
        self.states.truncate(self.states.len() - tokens);
    }

    fn reset(&mut self) {
        self.states.truncate(1);
    }
}
