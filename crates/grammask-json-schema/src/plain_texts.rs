//! The valid strings of a schema as plain text, without quotes and escapes.
//!
//! The tags of some tool-call formats enclose unescaped strings. All constraints on strings are regular languages in
//! the plain encoding too, so they are enforced exactly, as in JSON.

use crate::emit::emitter::Emitter;
use crate::emit::rules::{PartSequence, RulePart};
use crate::keywords::{ScalarType, described};
use crate::strings::string_encoding::EncodingKind;
use crate::values::value_sets::ValueSets;
use crate::{SchemaGrammar, SchemaOptions, translated};
use grammask_diagnostics::{Code, Diagnostic, GrammarError, Limits, without_byte_order_mark};

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
    let schema = without_byte_order_mark(schema);
    let start = |sets: &mut ValueSets<'_>, emitter: &mut Emitter| {
        let root = sets.root();
        let set = sets.of_formula(root)?;
        let strings = emitter.string_alternatives(sets, set.string)?;
        // A constant is a literal also if it is the empty text.
        let alternatives = strings.into_iter().map(|part| match part {
            RulePart::Text(term) => {
                emitter.rules.label(term, || described(sets, root, ScalarType::String));
                vec![RulePart::Markup(term)]
            }
            other => vec![other],
        });
        let alternatives: Vec<PartSequence> = alternatives.collect();
        Ok(emitter.rules.add("start", alternatives))
    };
    translated(schema, options, limits, EncodingKind::Plain, start, |_, _| {
        let message = "no string satisfies the schema, or none without the excluded words";
        Diagnostic::error(Code::UnsatisfiableSchema, message).at_pointer("#")
    })
}
