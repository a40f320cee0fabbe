//! The JSON Schema front end, drafts 4 to 2020-12: a schema becomes a grammar that is exact, or is refused.
//!
//! A schema constrains JSON *values*; a grammar describes *texts*. The translation has four steps:
//!
//! 1. **Document** (`document`). The schema is parsed into JSON with spans. The library of documents determines the
//!    dialect of each schema, resolves references, and finds structurally equal schemas, which are translated once.
//! 2. **Value sets** (`keywords`, `values`). The keywords of a schema become a value set: for each JSON type, the values
//!    that it admits. Subschemas applied in place (`allOf`, `oneOf`, `not`, `if`, `$ref`) are set operations. Strings and
//!    numbers are regular languages of encoded values (`strings`, `numbers`), closed under these operations; arrays and
//!    objects are formulas over assertions about items and members, in negation normal form.
//! 3. **Members** (`members`). Formulas about arrays and objects become rules by derivatives: each residual of a formula,
//!    after an item or member, is a rule, so recursion in the schema is recursion in the grammar. Members in any order,
//!    dependencies between many names and unique items of a finite list become selections; other items that must differ
//!    are remembered values.
//! 4. **Grammar** (`emit`). Each value set has one rule. Unproductive rules are dropped.
//!
//! The folders are layers, from the lowest: `document`; `strings` and `numbers`; `values`; `keywords`; `emit`; `members`. The
//! state of a translation is split by layer, so that a signature shows what a function reads and writes:
//!
//! | type | holds | changed by |
//! |---|---|---|
//! | `SchemaReader` | documents, options, limits, interned schemas, findings | keywords |
//! | `ScalarLanguages` | term arena and automata, string encoding, patterns, excluded words | strings, numbers |
//! | `Formulas` | formula arenas, interned names and name sets, negations | keywords, derivatives |
//! | `ValueSets` | the three above, with the memo tables of value sets computed from them | `values` |
//! | `Emitter` | rules, punctuation, rules by value set, pending rules | `emit`, `members` |
//!
//! A constraint that a step cannot express is a finding with its JSON pointer; all findings of a schema are reported
//! together. Nothing recurses on the depth of the schema, except the bounded descent for `unevaluated*`.
//!
//! "No name occurs twice" is not context-free. Declared names occur at most once by the rules, undeclared ones, where they
//! must differ ([`UniqueNames`]), by remembered values or, where there are finitely many, as parts of their own.
//!
//! Papers: Brzozowski, "Derivatives of regular expressions" (1964), for complement and intersection of languages;
//! Antimirov, "Partial derivatives of regular expressions and finite automaton constructions" (1996), for the linear forms
//! of formulas; Daciuk, Mihov, Watson and Watson, "Incremental construction of minimal acyclic finite-state automata"
//! (2000), for lists of strings.
#![forbid(unsafe_code)]

mod automaton_cache;
mod contents;
mod document;
mod emit;
mod interner;
mod keyword_effects;
mod keywords;
mod members;
mod numbers;
mod options;
mod places;
mod plain_texts;
mod strings;
mod unsatisfiable;
mod values;
mod whitespace_pattern;

pub use contents::StringContent;
pub use keyword_effects::{KeywordEffect, KeywordKind, keyword_effects};
pub use options::{
    ContentKeywords, Draft, Escapes, Formats, KeyOrder, MediaGrammar, Numbers, OnUnsupported, OpenApi,
    SchemaOptions, Separator, UniqueNames, Whitespace,
};
pub use plain_texts::grammar as plain_text_grammar;
pub use strings::pattern::grammar as pattern_grammar;
pub use whitespace_pattern::WhitespacePattern;

use std::collections::BTreeSet;
use std::sync::Arc;

use contents::{GrammarWithContents, grammar_with_contents};
use document::findings::Findings;
use document::json::Document;
use document::resources::Library;
use emit::emitter::Emitter;
use emit::rules::RuleId;
use members::containers::container_alternatives;
use places::SchemaPlaces;
use strings::string_encoding::EncodingKind;
use values::value_sets::ValueSets;

use grammask_diagnostics::{Code, Diagnostic, GrammarError, LimitExceeded, Limits, without_byte_order_mark};
use grammask_grammar::Grammar;

/// The grammar of a schema, with the findings that do not prevent it.
#[derive(Clone, Debug)]
pub struct SchemaGrammar {
    /// The grammar of the valid JSON texts.
    pub grammar: Grammar,
    /// The contents of strings that the grammar embeds, as indices of `contents`. The kinds of their texts in the grammar
    /// are provisional: it is not known here whether a content has an empty text.
    pub embedded: Vec<usize>,
    /// The contents of strings; each embeds earlier ones only. They are decoded: strings hold them in their encoding.
    pub contents: Vec<StringContent>,
    /// Constraints that are not enforced, with [`OnUnsupported::Relax`].
    pub relaxations: Vec<Diagnostic>,
    /// Keywords that constrain nothing although an author may expect it, such as unknown formats.
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
/// let translated = grammask_json_schema::grammar(schema, &options, &Limits::default())?;
/// assert_eq!(translated.grammar.to_string(), "#.value0 ::= {\"a\": true or false \"}\";\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// All invalid keywords and all constraints that cannot be enforced exactly; references that cannot be resolved; a
/// schema that no value satisfies; an exceeded limit.
pub fn grammar(
    schema: &str,
    options: &SchemaOptions,
    limits: &Limits,
) -> Result<SchemaGrammar, GrammarError> {
    let schema = without_byte_order_mark(schema);
    let encoding = EncodingKind::Json(options.escapes);
    let start = |sets: &mut ValueSets<'_>, emitter: &mut Emitter| {
        let root = sets.root();
        emitter.emit(sets, root)
    };
    let mut made = translated(schema, options, limits, encoding, start, |emitter, start| {
        let is_infinite = emitter.rules.nests_without_end(start);
        unsatisfiable::conflict(schema, options, limits, is_infinite)
    })?;
    let schema = made.grammar.source.clone();
    made.grammar.places =
        Some(Arc::new(SchemaPlaces { schema, options: options.clone(), limits: limits.clone() }));
    Ok(made)
}

/// The grammar whose start rule `start` makes, or the errors; `conflict` says why no text matches.
fn translated(
    schema: &str,
    options: &SchemaOptions,
    limits: &Limits,
    encoding: EncodingKind,
    start: impl FnOnce(&mut ValueSets<'_>, &mut Emitter) -> Result<RuleId, LimitExceeded>,
    conflict: impl FnOnce(&Emitter, RuleId) -> Diagnostic,
) -> Result<SchemaGrammar, GrammarError> {
    let fail = |diagnostics| GrammarError::new(diagnostics, Arc::from(schema));
    let document = read(schema, limits).map_err(|diagnostic| fail(vec![*diagnostic]))?;
    let exceeded = |limit: LimitExceeded| fail(vec![limit.diagnostic()]);
    let library = Library::new(document, options);
    let (mut sets, mut emitter) = layers(encoding, library, options, limits);
    let start = start(&mut sets, &mut emitter).map_err(exceeded)?;
    let ValueSets { mut reader, languages, .. } = sets;
    let terms = languages.automata.into_terms();
    let made = grammar_with_contents(&emitter, &mut reader, terms, start, schema).map_err(exceeded)?;
    reader.findings.copy_to_duplicates(&reader.library);
    let errors = reader.findings.take_errors(options.on_unsupported);
    if !errors.is_empty() {
        return Err(fail(errors));
    }
    let Some(GrammarWithContents { grammar, embedded, contents }) = made else {
        return Err(fail(vec![conflict(&emitter, start)]));
    };
    let Findings { unsupported: relaxations, warnings, .. } = reader.findings;
    Ok(SchemaGrammar { grammar, embedded, contents, relaxations, warnings })
}

/// The state of a translation. Value sets and rules call the layer above them, which recursion in a schema needs.
fn layers<'o>(
    encoding: EncodingKind,
    library: Library<'o>,
    options: &'o SchemaOptions,
    limits: &'o Limits,
) -> (ValueSets<'o>, Emitter) {
    let sets = ValueSets::new(encoding, library, options, limits, keywords::value_set);
    (sets, Emitter::new(options.whitespace.clone(), container_alternatives))
}

/// The URIs of documents that `schema` refers to, except those in `options.resources` and the metaschemas.
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

/// The names of contents in `schema` and the documents of `options`, in any place: media types, as
/// [`MediaGrammar::media_type`] has them, and grammars that `x-grammask-content` names. In alphabetical order.
///
/// # Errors
/// If the schema is not JSON.
pub fn content_names(
    schema: &str,
    options: &SchemaOptions,
    limits: &Limits,
) -> Result<Vec<String>, GrammarError> {
    let document =
        read(schema, limits).map_err(|diagnostic| GrammarError::new(vec![*diagnostic], Arc::from(schema)))?;
    let mut names = BTreeSet::new();
    let others = options.resources.iter().filter_map(|(_, text)| Document::parse(text).ok());
    for document in std::iter::once(document).chain(others) {
        for (keyword, value) in document.text_members() {
            match keyword {
                "contentMediaType" => names.insert(keywords::media_type(value)),
                "x-grammask-content" => names.insert(value.to_owned()),
                _ => false,
            };
        }
    }
    Ok(names.into_iter().collect())
}

fn read(schema: &str, limits: &Limits) -> Result<Document, Box<Diagnostic>> {
    if schema.len() > limits.grammar_bytes {
        return Err(Box::new(LimitExceeded::new("grammar_bytes", limits.grammar_bytes).diagnostic()));
    }
    Document::parse(schema)
        .map_err(|error| Box::new(Diagnostic::error(Code::InvalidJson, error.message).at(error.span)))
}
