//! `Explanation` and `Expectation` of `npm/grammask.d.ts`.

use grammask::vocabulary::{TokenId, Vocabulary};
use grammask::{Expectation, Explanation};
use serde::Serialize;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExpectationFields<'a> {
    terminal: &'a str,
    rule: &'a str,
    has_begun: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExplanationFields<'a> {
    id: u32,
    is_allowed: bool,
    reason: &'static str,
    message: String,
    position: Option<usize>,
    needed_budget: Option<u32>,
    expected: Vec<ExpectationFields<'a>>,
}

/// Expectations with the names of their fields in JavaScript.
pub(crate) fn expectation_fields(expected: &[Expectation]) -> Vec<ExpectationFields<'_>> {
    expected
        .iter()
        .map(|Expectation { terminal, rule, has_begun }| ExpectationFields {
            terminal,
            rule,
            has_begun: *has_begun,
        })
        .collect()
}

/// An explanation with the names of its fields in JavaScript.
pub(crate) fn explanation_fields<'a>(
    explanation: &'a Explanation,
    id: TokenId,
    vocabulary: &Vocabulary,
) -> ExplanationFields<'a> {
    ExplanationFields {
        id: id.0,
        is_allowed: *explanation == Explanation::Allowed,
        reason: explanation.reason(),
        message: explanation.message(id, vocabulary.token(id)),
        position: explanation.position(),
        needed_budget: explanation.needed_budget(),
        expected: expectation_fields(explanation.expected()),
    }
}
