//! The contents of strings of a JSON Schema, as embedded grammars.

use std::sync::Arc;

use grammask_automata::encoding::CharacterEncoding;
use grammask_diagnostics::{Diagnostic, GrammarError, Limits};
use grammask_grammar::Grammar;
use grammask_json_schema::{SchemaGrammar, StringContent};

use crate::embedded::EmbeddedGrammar;

/// The grammar of a schema, and the contents of strings that it embeds.
///
/// `media_grammars` are those of the media types of the schema's options, in their order, and strings are written in
/// `encoding`. Each content that occurs is encoded once.
///
/// ```
/// use grammask::frontends::json_schema::{self, ContentKeywords, SchemaOptions};
/// use grammask::automata::encoding::{CharacterEncoding, JsonEscapes};
/// use grammask::Limits;
///
/// let mut options = SchemaOptions::default();
/// options.content = ContentKeywords::Enforce;
/// let schema = r#"{"type": "string", "contentMediaType": "application/json"}"#;
/// let made = json_schema::grammar(schema, &options, &Limits::default())?;
/// let encoding = CharacterEncoding::JsonString(JsonEscapes::Natural);
/// let (grammar, embedded) = grammask::with_contents(made, &[], &encoding, &Limits::default())?;
/// assert_eq!((grammar.embedded().len(), embedded.len()), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`EmbeddedGrammar::context_free`] and [`EmbeddedGrammar::encoded`], at the keyword of the content.
///
/// # Panics
/// If there are fewer grammars than media types.
pub fn with_contents(
    schema: SchemaGrammar,
    media_grammars: &[EmbeddedGrammar],
    encoding: &CharacterEncoding,
    limits: &Limits,
) -> Result<(Grammar, Vec<EmbeddedGrammar>), GrammarError> {
    let mut encoded: Vec<EmbeddedGrammar> = Vec::with_capacity(schema.contents.len());
    for content in schema.contents {
        let inner = match content {
            StringContent::Media(index) => in_encoding(&media_grammars[index], encoding, limits)?,
            StringContent::Json { grammar, embedded, pointer } => {
                let (grammar, embedded) = embedding(*grammar, &embedded, &encoded);
                EmbeddedGrammar::context_free(Arc::new(grammar), embedded, limits)
                    .and_then(|decoded| in_encoding(&decoded, encoding, limits))
                    .map_err(|error| at_pointer(&error, &pointer, schema.grammar.source()))?
            }
        };
        encoded.push(inner);
    }
    Ok(embedding(schema.grammar, &schema.embedded, &encoded))
}

fn in_encoding(
    decoded: &EmbeddedGrammar,
    encoding: &CharacterEncoding,
    limits: &Limits,
) -> Result<EmbeddedGrammar, GrammarError> {
    match encoding {
        CharacterEncoding::Utf8 => Ok(decoded.clone()),
        _ => decoded.encoded(encoding, limits),
    }
}

/// The grammar, which embeds some of `contents`.
fn embedding(
    mut grammar: Grammar,
    embedded: &[usize],
    contents: &[EmbeddedGrammar],
) -> (Grammar, Vec<EmbeddedGrammar>) {
    let embedded: Vec<EmbeddedGrammar> = embedded.iter().map(|&index| contents[index].clone()).collect();
    grammar.embedded = embedded.iter().map(EmbeddedGrammar::texts).collect();
    (grammar, embedded)
}

/// The error about a content, at the place of its keyword.
fn at_pointer(error: &GrammarError, pointer: &str, source: &Arc<str>) -> GrammarError {
    let diagnostics = error.diagnostics().iter();
    let placed =
        diagnostics.map(|diagnostic| Diagnostic { span: None, ..diagnostic.clone().at_pointer(pointer) });
    GrammarError::new(placed.collect(), source.clone())
}
