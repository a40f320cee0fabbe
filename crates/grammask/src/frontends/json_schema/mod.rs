//! The JSON Schema front end: exact or refused.

#[allow(dead_code, reason = "for the front end under construction")]
mod formats;
#[allow(dead_code, reason = "for the front end under construction")]
mod lengths;
#[allow(dead_code, reason = "for the front end under construction")]
mod numbers;
mod options;
#[allow(dead_code, reason = "for the front end under construction")]
mod pattern;
#[allow(dead_code, reason = "for the front end under construction")]
mod spelling;

pub use options::{
    Draft, Escapes, Formats, KeyOrder, Numbers, OnUnsupported, OpenApi, SchemaOptions, Whitespace,
};

use crate::Limits;
use crate::grammar::{Diagnostic, Grammar, GrammarError};

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
/// # Errors
/// Everything in the schema that is wrong or cannot be enforced exactly; references that cannot be resolved;
/// a schema that nothing satisfies; a limit that was passed.
pub fn grammar(
    schema: &str,
    options: &SchemaOptions,
    limits: &Limits,
) -> Result<SchemaGrammar, GrammarError> {
    let _ = (schema, options, limits);
    unimplemented!("under construction")
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
    let _ = (schema, options, limits);
    unimplemented!("under construction")
}
