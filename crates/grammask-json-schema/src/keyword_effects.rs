//! The effect of each keyword of a schema: the translation records the keywords that it made constraints of.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::document::json::Value;
use crate::document::keyword_names::{ASSERTED_ANNOTATIONS, CONSTRAINTS, STRUCTURAL};
use crate::document::resources::{Library, Location};
use crate::document::structural_equality::ANNOTATIONS;
use crate::strings::string_encoding::EncodingKind;
use crate::{OnUnsupported, SchemaOptions, layers, read};
use grammask_diagnostics::{Code, Diagnostic, GrammarError, LimitExceeded, Limits, without_byte_order_mark};
use std::sync::Arc;

/// What a keyword does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeywordKind {
    /// The grammar enforces the constraint.
    Enforced,
    /// Names a schema, holds schemas that others refer to, or selects the draft.
    Structural,
    /// Says nothing about validity.
    Annotation,
    /// Cannot be enforced exactly, or has an invalid value.
    Refused,
    /// Constrains nothing at its place: it admits all values, the draft does not have it, a keyword that it belongs to
    /// is missing, or no value is compared with its schema.
    Idle,
    /// Not a keyword of JSON Schema.
    Unknown,
}

impl KeywordKind {
    /// The name of the kind in bindings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Enforced => "enforced",
            Self::Structural => "structural",
            Self::Annotation => "annotation",
            Self::Refused => "refused",
            Self::Idle => "idle",
            Self::Unknown => "unknown",
        }
    }
}

/// A keyword of a schema and its effect.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeywordEffect {
    /// The name of the keyword.
    pub keyword: Box<str>,
    /// The JSON pointer of its value, after `#`.
    pub pointer: String,
    /// What it does.
    pub kind: KeywordKind,
    /// The finding about it.
    pub message: Option<String>,
}

/// The keywords of all subschemas of `schema`, a JSON text, with their effects, in the order of the text. Documents
/// that references name are not part of it. `options.on_unsupported` has no effect.
///
/// ```
/// use grammask_diagnostics::Limits;
/// use grammask_json_schema::{KeywordKind, SchemaOptions, keyword_effects};
///
/// let schema = r#"{"title": "count", "type": "integer", "then": {"minimum": 1}}"#;
/// let effects = keyword_effects(schema, &SchemaOptions::default(), &Limits::default())?;
/// let kinds: Vec<_> = effects.iter().map(|effect| (&*effect.keyword, effect.kind)).collect();
/// assert_eq!(
///     kinds,
///     [
///         ("title", KeywordKind::Annotation),
///         ("type", KeywordKind::Enforced),
///         ("then", KeywordKind::Idle),
///         ("minimum", KeywordKind::Idle),
///     ]
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the schema is not JSON, or a limit is exceeded.
pub fn keyword_effects(
    schema: &str,
    options: &SchemaOptions,
    limits: &Limits,
) -> Result<Vec<KeywordEffect>, GrammarError> {
    let schema = without_byte_order_mark(schema);
    let source: Arc<str> = Arc::from(schema);
    let fail = |diagnostics| GrammarError::new(diagnostics, source.clone());
    let exceeded = |limit: LimitExceeded| fail(vec![limit.diagnostic()]);
    let document = read(schema, limits).map_err(|diagnostic| fail(vec![*diagnostic]))?;
    let mut options = options.clone();
    options.on_unsupported = OnUnsupported::Relax;
    let encoding = EncodingKind::Json(options.escapes);
    let (mut sets, mut emitter) = layers(encoding, Library::new(document, &options), &options, limits);
    let root = sets.root();
    emitter.emit(&mut sets, root).map_err(exceeded)?;
    let reader = &mut sets.reader;
    reader.findings.copy_to_duplicates(&reader.library);
    reader.findings.copy_enforced_to_duplicates(&reader.library);
    let library = &reader.library;
    let keywords = keywords_of(library);
    let places: FxHashSet<Location> = keywords.iter().map(|(_, place)| *place).collect();
    let refused: FxHashSet<Location> = reader
        .findings
        .reported()
        .filter(|(code, _)| *code != Code::IgnoredAnnotation)
        .filter_map(|(_, at)| {
            std::iter::successors(Some(at), |&at| library.parent(at)).find(|at| places.contains(at))
        })
        .collect();
    let ignored: FxHashSet<Location> = reader
        .findings
        .reported()
        .filter(|(code, _)| *code == Code::IgnoredAnnotation)
        .map(|(_, at)| at)
        .collect();
    let findings = &reader.findings;
    let messages: FxHashMap<&str, &Diagnostic> =
        [&findings.warnings, &findings.unsupported, &findings.errors]
            .into_iter()
            .flatten()
            .filter_map(|finding| Some((finding.pointer.as_deref()?, finding)))
            .collect();
    let effects = keywords.into_iter().map(|(keyword, place)| {
        let kind = if refused.contains(&place) {
            KeywordKind::Refused
        } else if findings.is_enforced(place) {
            KeywordKind::Enforced
        } else if ignored.contains(&place) && &*keyword == "required" {
            KeywordKind::Annotation
        } else {
            kind_without_constraint(&keyword)
        };
        let pointer = library.pointer(place);
        let message = messages.get(pointer.as_str()).map(|finding| finding.message.clone());
        KeywordEffect { keyword, pointer, kind, message }
    });
    Ok(effects.collect())
}

/// The keywords of all subschemas of the schema itself, in the order of the text.
fn keywords_of(library: &Library<'_>) -> Vec<(Box<str>, Location)> {
    let mut keywords = Vec::new();
    for schema in library.own_schemas() {
        if let Value::Object(members) = library.get(schema) {
            keywords.extend(
                members.iter().map(|(name, value)| (name.clone(), Location { value: *value, ..schema })),
            );
        }
    }
    keywords.sort_by_key(|&(_, place)| library.document(place).span(place.value).start);
    keywords
}

/// The kind of a keyword that the translation made no constraint of.
fn kind_without_constraint(keyword: &str) -> KeywordKind {
    if STRUCTURAL.contains(&keyword) {
        KeywordKind::Structural
    } else if ANNOTATIONS.contains(&keyword) || ASSERTED_ANNOTATIONS.contains(&keyword) {
        KeywordKind::Annotation
    } else if CONSTRAINTS.contains(&keyword) {
        KeywordKind::Idle
    } else {
        KeywordKind::Unknown
    }
}
