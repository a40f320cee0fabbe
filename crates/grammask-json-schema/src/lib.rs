//! The JSON Schema front end: exact or refused.
//!
//! A schema says which JSON *values* are valid; a grammar says which *texts* are legal. In between:
//!
//! 1. The text becomes a `json` document with the places of all values. `resources` knows which schemas there are,
//!    in which draft each is read, and where references lead.
//! 2. `keywords`, with a file for each kind of them, turns one schema into a `shape`: for each JSON type, which of its values are
//!    valid; `translation` does so for each schema once, schemas that say the same (`sameness`) together. Applying a schema
//!    in place (`allOf`, `anyOf`, `oneOf`, `not`, `if`, `$ref`, ...) is an operation on shapes. Strings and numbers are regular languages of
//!    spellings (`spelling`, `pattern`, `formats`, `numbers`), closed under all operations; arrays and objects are formulas over
//!    assertions (`formula`, `literals`), with negations pushed down to the assertions.
//! 3. `arrays` and `objects` split formulas item by item and name by name into what the next value satisfies and what is
//!    left then: partial derivatives, so every different rest is one rule, and recursion in the schema is recursion in
//!    the grammar. `emptiness` and `outcomes` keep choices few, `unique_items` and `unevaluated` are about these keywords.
//! 4. `rules` drops what derives no finite text and makes the grammar.
//!
//! What a step cannot express is a finding with its JSON pointer; all findings of a schema are reported together. Nothing
//! recurses on the schema but the descent into `unevaluated*`, which has a bound.
//!
//! Names of members that the schema does not declare may repeat, and members are counted as they are written: "no
//! name twice" is no context-free language. Names that it declares come once.
#![forbid(unsafe_code)]

mod automaton_cache;
mod document;
mod emit;
mod interner;
mod keywords;
mod members;
mod numbers;
mod options;
mod plain_texts;
mod strings;
mod translation;
mod unsatisfiable;
mod values;

pub use options::{
    Draft, Escapes, Formats, KeyOrder, Numbers, OnUnsupported, OpenApi, SchemaOptions, Whitespace,
};
pub use plain_texts::grammar as plain_text_grammar;
pub use strings::pattern::grammar as pattern_grammar;

use std::sync::Arc;

use document::json::Document;
use document::resources::Library;
use translation::Translation;

use grammask_diagnostics::{Code, Diagnostic, GrammarError, LimitExceeded, Limits};
use grammask_grammar::Grammar;

/// A schema as a grammar, and what its author should know about it.
#[derive(Clone, Debug)]
pub struct SchemaGrammar {
    /// The grammar of the JSON texts that are valid.
    pub grammar: Grammar,
    /// Constraints that were left out, with [`OnUnsupported::Relax`].
    pub relaxations: Vec<Diagnostic>,
    /// Keywords that constrain nothing and might be thought to, such as unknown formats.
    pub warnings: Vec<Diagnostic>,
}

/// The grammar of the JSON texts that are valid under `schema`, a JSON text.
///
/// ```
/// use grammask_diagnostics::Limits;
/// use grammask_json_schema::{SchemaOptions, Whitespace};
///
/// let mut options = SchemaOptions::default();
/// options.whitespace = Whitespace::Compact;
/// let schema = r#"{"properties": {"a": {"type": "boolean"}}, "required": ["a"], "additionalProperties": false, "type": "object"}"#;
/// let made = grammask_json_schema::grammar(schema, &options, &Limits::default())?;
/// assert_eq!(made.grammar.to_string(), "start ::= \"{\\\"a\\\":\" #\"true|false\" \"}\";\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Everything in the schema that is wrong or cannot be enforced exactly; references that cannot be resolved;
/// a schema that nothing satisfies; a limit that was passed.
pub fn grammar(
    schema: &str,
    options: &SchemaOptions,
    limits: &Limits,
) -> Result<SchemaGrammar, GrammarError> {
    let source: Arc<str> = Arc::from(schema);
    let fail = |diagnostics| GrammarError::new(diagnostics, source.clone());
    let document = read(schema, limits).map_err(|diagnostic| fail(vec![*diagnostic]))?;
    let exceeded = |limit: LimitExceeded| fail(vec![limit.diagnostic()]);
    let mut translation = Translation::new(Library::new(document, options), options, limits);
    let root = translation.library.root();
    let scope = translation.library.first_scope();
    let whole = translation.satisfies(root, scope);
    let start = translation.translate(whole).map_err(exceeded)?;
    translation.findings.spread(&translation.library);
    let errors = translation.findings.take_errors(options.on_unsupported);
    if !errors.is_empty() {
        return Err(fail(errors));
    }
    let Translation { rules, automata, findings, .. } = translation;
    let Some(grammar) = rules.into_grammar(automata.into_terms(), start, schema) else {
        let conflict = unsatisfiable::conflict(schema, options, limits);
        return Err(fail(vec![conflict]));
    };
    Ok(SchemaGrammar { grammar, relaxations: findings.unsupported, warnings: findings.warnings })
}

/// The URIs of documents that `schema` refers to and that are neither among `options.resources` nor built in.
///
/// # Errors
/// If the schema is not JSON.
pub fn missing_documents(
    schema: &str,
    options: &SchemaOptions,
    limits: &Limits,
) -> Result<Vec<String>, GrammarError> {
    let document =
        read(schema, limits).map_err(|diagnostic| GrammarError::new(vec![*diagnostic], Arc::from(schema)))?;
    Ok(Library::new(document, options).missing())
}

fn read(schema: &str, limits: &Limits) -> Result<Document, Box<Diagnostic>> {
    if schema.len() > limits.grammar_bytes {
        return Err(Box::new(LimitExceeded::new("grammar_bytes", limits.grammar_bytes).diagnostic()));
    }
    Document::parse(schema)
        .map_err(|error| Box::new(Diagnostic::error(Code::InvalidJson, error.message).at(error.span)))
}
