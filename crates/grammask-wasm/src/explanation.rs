//! `Explanation`, `TextExplanation`, `Expectation` and `TerminalTokens` of `npm/grammask.d.ts`.

use grammask::vocabulary::{TokenId, Vocabulary};
use grammask::{Expectation, Explanation, TerminalTokens, TextRefusal};
use serde::Serialize;

use crate::failures::json;
use crate::vocabulary::ids;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExpectationFields<'a> {
    terminal: &'a str,
    terminal_label: Option<&'a str>,
    rule: &'a str,
    rule_label: Option<&'a str>,
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
    place: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TextExplanationFields<'a> {
    position: usize,
    line: usize,
    column: usize,
    expected: Vec<ExpectationFields<'a>>,
    could_end: bool,
    place: Option<&'a str>,
    help: Option<&'a str>,
    message: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TokenGroupFields<'a> {
    terminal: Option<&'a str>,
    terminal_label: Option<&'a str>,
    rule: Option<&'a str>,
    rule_label: Option<&'a str>,
    has_begun: bool,
    count: usize,
    tokens: Vec<u32>,
}

/// Expectations with the names of their fields in JavaScript.
pub(crate) fn expectation_fields(expected: &[Expectation]) -> Vec<ExpectationFields<'_>> {
    expected
        .iter()
        .map(|expectation| ExpectationFields {
            terminal: &expectation.terminal,
            terminal_label: expectation.terminal_label.as_deref(),
            rule: &expectation.rule,
            rule_label: expectation.rule_label.as_deref(),
            has_begun: expectation.has_begun,
        })
        .collect()
}

/// Tokens by terminal as JSON.
pub(crate) fn token_groups_json(groups: &[TerminalTokens]) -> String {
    let fields: Vec<TokenGroupFields<'_>> = groups
        .iter()
        .map(|TerminalTokens { terminal, count, tokens }| TokenGroupFields {
            terminal: terminal.as_ref().map(|expectation| expectation.terminal.as_str()),
            terminal_label: terminal.as_ref().and_then(|expectation| expectation.terminal_label.as_deref()),
            rule: terminal.as_ref().map(|expectation| expectation.rule.as_str()),
            rule_label: terminal.as_ref().and_then(|expectation| expectation.rule_label.as_deref()),
            has_begun: terminal.as_ref().is_some_and(|expectation| expectation.has_begun),
            count: *count,
            tokens: ids(tokens),
        })
        .collect();
    json(&fields)
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
        place: explanation.place(),
    }
}

/// The explanation of a refused text as JSON; `null` for a text of the grammar.
pub(crate) fn text_explanation_json(refusal: Option<&TextRefusal>) -> String {
    let fields = refusal.map(|refusal| TextExplanationFields {
        position: refusal.position(),
        line: refusal.line(),
        column: refusal.column(),
        expected: expectation_fields(refusal.expected()),
        could_end: refusal.could_end(),
        place: refusal.place(),
        help: refusal.help(),
        message: refusal.to_string(),
    });
    json(&fields)
}
