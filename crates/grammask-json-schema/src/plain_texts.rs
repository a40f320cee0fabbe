//! The valid strings of a schema as plain text, without quotes and escapes.
//!
//! The tags of some tool-call formats enclose unescaped strings. All constraints on strings are regular languages in
//! the plain encoding too, so they are enforced exactly, as in JSON.

use std::sync::Arc;

use crate::document::findings::Findings;
use crate::document::resources::Library;
use crate::strings::string_encoding::EncodingKind;
use crate::values::value_set::TokenLimit;
use crate::values::value_sets::ValueSets;
use crate::{SchemaGrammar, SchemaOptions, read};
use grammask_automata::TermId;
use grammask_diagnostics::{Code, Diagnostic, GrammarError, LimitExceeded, Limits, Span};
use grammask_grammar::{GrammarBuilder, Terminal};

/// The grammar of the strings that are valid under `schema`, as plain text.
///
/// Options about encodings and about values of other types have no effect.
///
/// ```
/// use grammask_diagnostics::Limits;
/// use grammask_json_schema::SchemaOptions;
///
/// let schema = r#"{"pattern": "^[a-c]$", "not": {"const": "b"}}"#;
/// let made = grammask_json_schema::plain_text_grammar(schema, &SchemaOptions::default(), &Limits::default())?;
/// assert_eq!(made.grammar.terminals().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`grammar`](super::grammar()); also if no string is valid.
pub fn grammar(
    schema: &str,
    options: &SchemaOptions,
    limits: &Limits,
) -> Result<SchemaGrammar, GrammarError> {
    let source: Arc<str> = Arc::from(schema);
    let fail = |diagnostics| GrammarError::new(diagnostics, source.clone());
    let document = read(schema, limits).map_err(|diagnostic| fail(vec![*diagnostic]))?;
    let exceeded = |limit: LimitExceeded| fail(vec![limit.diagnostic()]);
    let library = Library::new(document, options);
    let mut sets = ValueSets::new(EncodingKind::Plain, library, options, limits);
    let strings = strings(&mut sets).map_err(exceeded)?;
    let ValueSets { mut reader, languages, .. } = sets;
    let strings = strings.map(|(term, limit)| (term, reader.max_tokens(limit)));
    reader.findings.copy_to_duplicates(&reader.library);
    let errors = reader.findings.take_errors(options.on_unsupported);
    if !errors.is_empty() {
        return Err(fail(errors));
    }
    let Some((strings, max_tokens)) = strings else {
        let message = "no string satisfies the schema, or none without the excluded words";
        return Err(fail(vec![Diagnostic::error(Code::UnsatisfiableSchema, message).at_pointer("#")]));
    };
    let mut builder = GrammarBuilder::with_terms(schema, languages.automata.into_terms());
    let start = builder.nonterminal("start", Span::default());
    let body = match (builder.terms().word(strings), max_tokens) {
        (_, Some(tokens)) => {
            let label = format!("string of at most {tokens} tokens");
            builder.terminal(Terminal::Limited { term: strings, tokens }, &label, Span::default())
        }
        (Some(word), None) if !word.is_empty() => builder.literal(&word, Span::default()),
        (Some(_), None) => builder.sequence(Vec::new(), Span::default()),
        (None, None) => builder.terminal(Terminal::Regular(strings), "string", Span::default()),
    };
    builder.define(start, body, Span::default());
    let Findings { unsupported, warnings, .. } = reader.findings;
    Ok(SchemaGrammar { grammar: builder.finish(start), relaxations: unsupported, warnings })
}

/// The admitted strings with the limit of their tokens, or `None` if there are none.
fn strings(sets: &mut ValueSets<'_>) -> Result<Option<(TermId, TokenLimit)>, LimitExceeded> {
    let root = sets.root();
    let set = sets.of_formula(root)?;
    if sets.languages.is_empty(set.string.yes)? {
        return Ok(None);
    }
    let strings = sets.languages.without_excluded_words(set.string.yes)?;
    Ok(strings.map(|strings| (strings, set.string_tokens)))
}
