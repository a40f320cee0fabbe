//! Errors as JSON: the fields of `GrammaskError` and `Diagnostic` in `npm/grammask.d.ts`.

use grammask::frontends::json_schema::KeywordEffect;
use grammask::grammar::{Diagnostic, GrammarError, Position, Severity};
use grammask::vocabulary::VocabularyError;
use grammask::{BudgetError, LimitExceeded, LimitOption};
use serde::Serialize;
use wasm_bindgen::JsValue;

/// The result of a method that JavaScript calls.
pub(crate) type JsResult<T> = Result<T, JsValue>;

/// An error.
#[derive(Serialize)]
struct Failure<'a> {
    code: &'a str,
    message: String,
    diagnostics: Vec<DiagnosticFields<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    minimum: Option<u32>,
}

/// A diagnostic, with offsets in UTF-16 code units as strings of JavaScript have.
#[derive(Serialize)]
struct DiagnosticFields<'a> {
    code: &'static str,
    severity: &'static str,
    message: &'a str,
    line: Option<usize>,
    column: Option<usize>,
    start: Option<usize>,
    end: Option<usize>,
    found: Option<&'a str>,
    expected: &'a [String],
    help: Option<&'a str>,
    pointer: Option<&'a str>,
    rendered: String,
}

/// `KeywordEffect` in `npm/grammask.d.ts`.
#[derive(Serialize)]
struct EffectFields<'a> {
    keyword: &'a str,
    pointer: &'a str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

/// A value as JSON.
pub(crate) fn json<T: Serialize + ?Sized>(value: &T) -> String {
    // Maps with keys that are no strings are the only values that cannot be written; there are none.
    serde_json::to_string(value).unwrap_or_default()
}

/// A list of diagnostics about a source text as JSON.
pub(crate) fn diagnostics_json(list: &[Diagnostic], source: &str) -> String {
    json(&fields_of(list, source))
}

/// The keywords of a schema with their effects as JSON.
pub(crate) fn effects_json(effects: &[KeywordEffect]) -> String {
    let fields: Vec<_> = effects
        .iter()
        .map(|effect| EffectFields {
            keyword: &effect.keyword,
            pointer: &effect.pointer,
            kind: effect.kind.name(),
            message: effect.message.as_deref(),
        })
        .collect();
    json(&fields)
}

/// A `GrammarError` as a thrown value.
pub(crate) fn grammar_error(error: impl Into<GrammarError>) -> JsValue {
    thrown(&error.into(), None)
}

/// The error of a token budget as a thrown value.
pub(crate) fn budget_error(error: BudgetError) -> JsValue {
    match error {
        BudgetError::TooSmall { minimum, .. } => thrown(&error.into_grammar_error(), Some(minimum)),
        BudgetError::Grammar(error) => grammar_error(error),
    }
}

/// A `VocabularyError` as a thrown value.
pub(crate) fn vocabulary_error(error: &VocabularyError) -> JsValue {
    coded_error(error.code(), error.to_string())
}

/// An error about an argument, or another error without a place, as a thrown value.
pub(crate) fn coded_error(code: &str, message: String) -> JsValue {
    JsValue::from_str(&json(&Failure { code, message, diagnostics: Vec::new(), minimum: None }))
}

/// A limit as a member of `Limits` in `npm/grammask.d.ts`.
fn limit_option(limit: LimitExceeded) -> LimitOption {
    let (name, unit) = match limit.limit {
        "time" => ("milliseconds".to_owned(), ""),
        name => (camel_case(name), limit.unit()),
    };
    LimitOption { path: format!("limits.{name}"), name, maximum: format!("{}{unit}", limit.maximum) }
}

/// The name of a field as serde renames it in the options.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |all, word| match word.split_at_checked(1) {
        Some((initial, rest)) => all + &initial.to_uppercase() + rest,
        None => all,
    })
}

/// An argument that is out of range or has another form than the types say.
pub(crate) fn invalid_argument(message: impl ToString) -> JsValue {
    coded_error("invalid-argument", message.to_string())
}

fn thrown(error: &GrammarError, minimum: Option<u32>) -> JsValue {
    let error = &error.with_limit_options(limit_option);
    let diagnostics = fields_of(error.diagnostics(), error.source_text());
    let code = error.code().as_str();
    JsValue::from_str(&json(&Failure { code, message: error.to_string(), diagnostics, minimum }))
}

fn fields_of<'a>(list: &'a [Diagnostic], source: &str) -> Vec<DiagnosticFields<'a>> {
    list.iter()
        .map(|diagnostic| {
            let position = diagnostic.span.map(|span| Position::of(source, span.start));
            DiagnosticFields {
                code: diagnostic.code.as_str(),
                severity: if diagnostic.severity == Severity::Error { "error" } else { "warning" },
                message: &diagnostic.message,
                line: position.map(|position| position.line),
                column: position.map(|position| position.column),
                start: diagnostic.span.map(|span| utf16_offset(source, span.start)),
                end: diagnostic.span.map(|span| utf16_offset(source, span.end)),
                found: diagnostic.found.as_deref(),
                expected: &diagnostic.expected,
                help: diagnostic.help.as_deref(),
                pointer: diagnostic.pointer.as_deref(),
                rendered: diagnostic.render(source),
            }
        })
        .collect()
}

/// The number of UTF-16 code units before byte `offset`, rounded down to a character. Linear in `offset`.
fn utf16_offset(source: &str, offset: usize) -> usize {
    source
        .char_indices()
        .take_while(|&(start, _)| start < offset)
        .map(|(_, character)| character.len_utf16())
        .sum()
}
