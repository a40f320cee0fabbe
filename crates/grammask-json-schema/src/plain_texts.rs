//! The valid strings of a schema as plain text, without quotes and escapes.
//!
//! The tags of some tool-call formats enclose unescaped strings. All constraints on strings are regular languages in
//! the plain encoding too, so they are enforced exactly, as in JSON.

use std::sync::Arc;

use crate::document::findings::Findings;
use crate::document::resources::Library;
use crate::emit::emitter::Emitter;
use crate::emit::rules::{PartSequence, RulePart};
use crate::strings::string_encoding::EncodingKind;
use crate::values::value_sets::ValueSets;
use crate::{GrammarWithContents, SchemaGrammar, SchemaOptions, grammar_with_contents, read};
use grammask_diagnostics::{Code, Diagnostic, GrammarError, LimitExceeded, Limits};

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
    let mut emitter = Emitter::new(options.whitespace.clone());
    let root = sets.root();
    let set = sets.of_formula(root).map_err(exceeded)?;
    let strings = emitter.string_alternatives(&mut sets, set.string).map_err(exceeded)?;
    // A constant is a literal also if it is the empty text.
    let alternatives = strings.into_iter().map(|part| match part {
        RulePart::Text(term) => {
            emitter.rules.label(term, || "string".to_owned());
            vec![RulePart::Markup(term)]
        }
        other => vec![other],
    });
    let alternatives: Vec<PartSequence> = alternatives.collect();
    let start = emitter.rules.add("start", alternatives);
    let ValueSets { mut reader, languages, .. } = sets;
    let terms = languages.automata.into_terms();
    let made = grammar_with_contents(&emitter, &mut reader, terms, start, schema).map_err(exceeded)?;
    reader.findings.copy_to_duplicates(&reader.library);
    let errors = reader.findings.take_errors(options.on_unsupported);
    if !errors.is_empty() {
        return Err(fail(errors));
    }
    let Some(GrammarWithContents { grammar, embedded, contents }) = made else {
        let message = "no string satisfies the schema, or none without the excluded words";
        return Err(fail(vec![Diagnostic::error(Code::UnsatisfiableSchema, message).at_pointer("#")]));
    };
    let Findings { unsupported: relaxations, warnings, .. } = reader.findings;
    Ok(SchemaGrammar { grammar, embedded, contents, relaxations, warnings })
}
