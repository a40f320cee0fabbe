//! JSON Schema: the options of the front end as a Python value, and grammars of schemas.

use grammask::frontends::json_schema::{
    self, Formats, MediaGrammar, OpenApi, SchemaGrammar, SchemaOptions, Separator, Whitespace,
    WhitespacePattern,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::grammar_error;
use crate::forks::OutsideForks;
use crate::grammar::PyGrammar;
use crate::lexed::PyLexedGrammar;
use crate::limits::{PyLimits, or_default};
use crate::options::named;
use grammask::automata::encoding::CharacterEncoding;
use grammask::grammar::{GrammarError, NamedOption};
use grammask::{EmbeddedGrammar, Limits};

/// Options of the JSON Schema front end. Use :meth:`grammask.Grammar.from_json_schema`.
///
/// Immutable; compared by value; can be pickled.
#[pyclass(name = "SchemaOptions", module = "grammask._grammask", frozen, eq, hash)]
#[derive(Clone, PartialEq, Hash)]
pub(crate) struct PySchemaOptions {
    options: SchemaOptions,
}

impl Eq for PySchemaOptions {}

#[pymethods]
impl PySchemaOptions {
    #[new]
    #[pyo3(signature = (
        *, draft, whitespace_pattern, max_whitespace, separators, indent, key_order, unique_names, escapes, numbers,
        on_unsupported, formats, content, openapi_nullable, resources, excludes
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        py: Python<'_>,
        draft: Option<&str>,
        whitespace_pattern: Option<&str>,
        max_whitespace: Option<u32>,
        separators: Option<(String, String)>,
        indent: Option<u32>,
        key_order: &str,
        unique_names: &str,
        escapes: &str,
        numbers: &str,
        on_unsupported: &str,
        formats: bool,
        content: &str,
        openapi_nullable: bool,
        resources: Vec<(String, String)>,
        excludes: Vec<String>,
    ) -> PyResult<Self> {
        let mut options = SchemaOptions::default();
        options.draft = draft.map(named).transpose()?;
        options.whitespace = if let Some(width) = indent {
            Whitespace::Indent(width)
        } else if let Some((item, key)) = separators {
            let [item, key] = [(',', item), (':', key)].map(|(mark, written)| separator(mark, &written));
            Whitespace::Separators {
                item: item.map_err(|error| grammar_error(py, &error))?,
                key: key.map_err(|error| grammar_error(py, &error))?,
            }
        } else if let Some(pattern) = whitespace_pattern {
            let pattern = WhitespacePattern::new(pattern, &Limits::default());
            Whitespace::Pattern(pattern.map_err(|error| grammar_error(py, &error))?)
        } else {
            match max_whitespace {
                None => Whitespace::Natural,
                Some(0) => Whitespace::Compact,
                Some(max) => Whitespace::Flexible { max },
            }
        };
        options.key_order = named(key_order)?;
        options.unique_names = named(unique_names)?;
        options.escapes = named(escapes)?;
        options.numbers = named(numbers)?;
        options.on_unsupported = named(on_unsupported)?;
        options.formats = if formats { Formats::Enforce } else { Formats::Annotate };
        options.content = named(content)?;
        options.openapi = if openapi_nullable { OpenApi::Nullable } else { OpenApi::Ignore };
        options.resources = resources;
        options.excludes = excludes;
        Ok(Self { options })
    }

    /// Return the options with further documents for references, as pairs of absolute URI and JSON text.
    fn with_resources(&self, resources: Vec<(String, String)>) -> Self {
        let mut options = self.options.clone();
        options.resources.extend(resources);
        Self { options }
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let options = &self.options;
        let (mut pattern, mut max_whitespace, mut separators, mut indent) = (None, None, None, None);
        match &options.whitespace {
            Whitespace::Natural => {}
            Whitespace::Compact => max_whitespace = Some(0),
            Whitespace::Flexible { max } => max_whitespace = Some(*max),
            Whitespace::Pattern(of_gaps) => pattern = Some(of_gaps.as_str()),
            Whitespace::Separators { item, key } => separators = Some((written(item), written(key))),
            Whitespace::Indent(width) => indent = Some(*width),
        }
        let fields = PyDict::new(py);
        fields.set_item("draft", options.draft.and_then(NamedOption::name))?;
        fields.set_item("whitespace_pattern", pattern)?;
        fields.set_item("max_whitespace", max_whitespace)?;
        fields.set_item("separators", separators)?;
        fields.set_item("indent", indent)?;
        fields.set_item("key_order", options.key_order.name())?;
        fields.set_item("unique_names", options.unique_names.name())?;
        fields.set_item("escapes", options.escapes.name())?;
        fields.set_item("numbers", options.numbers.name())?;
        fields.set_item("on_unsupported", options.on_unsupported.name())?;
        fields.set_item("formats", options.formats == Formats::Enforce)?;
        fields.set_item("content", options.content.name())?;
        fields.set_item("openapi_nullable", options.openapi == OpenApi::Nullable)?;
        fields.set_item("resources", &options.resources)?;
        fields.set_item("excludes", &options.excludes)?;
        Ok((PyTuple::empty(py), fields))
    }
}

/// A grammar of a front end.
#[derive(FromPyObject)]
pub(crate) enum ContentGrammar<'py> {
    ContextFree(PyRef<'py, PyGrammar>),
    Lexed(PyRef<'py, PyLexedGrammar>),
}

/// The options with the grammars of media types, and these grammars as parts.
fn with_media_grammars(
    py: Python<'_>,
    options: &PySchemaOptions,
    grammars: &[(String, ContentGrammar<'_>)],
    limits: &Limits,
) -> PyResult<(SchemaOptions, Vec<EmbeddedGrammar>)> {
    let mut options = options.options.clone();
    let mut embedded = Vec::with_capacity(grammars.len());
    for (media_type, grammar) in grammars {
        let (regular, part) = match grammar {
            ContentGrammar::ContextFree(grammar) => {
                let shared = grammar.shared().clone();
                let part = EmbeddedGrammar::context_free(shared.clone(), grammar.embedded().to_vec(), limits);
                (Some(shared), part)
            }
            ContentGrammar::Lexed(grammar) => {
                let grammar: &PyLexedGrammar = grammar;
                (None, py.request(limits, || grammar.embedded(limits)))
            }
        };
        embedded.push(part.map_err(|error| grammar_error(py, &error))?);
        options.media_grammars.push(MediaGrammar { media_type: media_type.clone(), grammar: regular });
    }
    Ok((options, embedded))
}

/// The grammar of a schema with the contents of its strings.
fn schema_grammar(
    py: Python<'_>,
    mut made: SchemaGrammar,
    media_grammars: &[EmbeddedGrammar],
    encoding: &CharacterEncoding,
    limits: &Limits,
) -> PyResult<PyGrammar> {
    let (warnings, relaxations) = (std::mem::take(&mut made.warnings), std::mem::take(&mut made.relaxations));
    let (grammar, embedded) = py
        .request(limits, || grammask::with_contents(made, media_grammars, encoding, limits))
        .map_err(|error| grammar_error(py, &error))?;
    Ok(PyGrammar::embedding(grammar, embedded, warnings).with_relaxations(relaxations))
}

/// Make the grammar of the JSON texts that a schema validates. Use :class:`grammask.Grammar`.
///
/// Args:
///     schema: The schema.
///     options: The options.
///     content_grammars: The grammars of contents by media type or name.
///     limits: Limits of reading.
#[pyfunction]
#[pyo3(signature = (schema, options, content_grammars, limits=None))]
pub(crate) fn json_schema_grammar(
    py: Python<'_>,
    schema: &str,
    options: &PySchemaOptions,
    content_grammars: Vec<(String, ContentGrammar<'_>)>,
    limits: Option<&PyLimits>,
) -> PyResult<PyGrammar> {
    let limits = or_default(limits);
    let (options, media_grammars) = with_media_grammars(py, options, &content_grammars, &limits)?;
    let made = py
        .request(&limits, || json_schema::grammar(schema, &options, &limits))
        .map_err(|error| grammar_error(py, &error))?;
    schema_grammar(py, made, &media_grammars, &options.escapes.encoding(), &limits)
}

/// Make the grammar of the strings that a schema validates, as plain text without quotes and escapes.
///
/// Args: As of :func:`json_schema_grammar`.
#[pyfunction]
#[pyo3(signature = (schema, options, content_grammars, limits=None))]
pub(crate) fn plain_text_grammar(
    py: Python<'_>,
    schema: &str,
    options: &PySchemaOptions,
    content_grammars: Vec<(String, ContentGrammar<'_>)>,
    limits: Option<&PyLimits>,
) -> PyResult<PyGrammar> {
    let limits = or_default(limits);
    let (options, media_grammars) = with_media_grammars(py, options, &content_grammars, &limits)?;
    let made = py
        .request(&limits, || json_schema::plain_text_grammar(schema, &options, &limits))
        .map_err(|error| grammar_error(py, &error))?;
    schema_grammar(py, made, &media_grammars, &CharacterEncoding::Utf8, &limits)
}

/// Return the names of contents in a schema and its documents: media types, and grammars of parameters.
#[pyfunction]
#[pyo3(signature = (schema, options, limits=None))]
pub(crate) fn content_names(
    py: Python<'_>,
    schema: &str,
    options: &PySchemaOptions,
    limits: Option<&PyLimits>,
) -> PyResult<Vec<String>> {
    let limits = or_default(limits);
    py.request(&limits, || json_schema::content_names(schema, &options.options, &limits))
        .map_err(|error| grammar_error(py, &error))
}

/// A keyword of a schema: name, JSON pointer, kind and finding.
type EffectFields = (String, String, &'static str, Option<String>);

/// Return the keywords of a schema: name, JSON pointer, kind and finding. Use :func:`grammask.keyword_effects`.
#[pyfunction]
#[pyo3(signature = (schema, options, content_grammars, limits=None))]
pub(crate) fn keyword_effects(
    py: Python<'_>,
    schema: &str,
    options: &PySchemaOptions,
    content_grammars: Vec<(String, ContentGrammar<'_>)>,
    limits: Option<&PyLimits>,
) -> PyResult<Vec<EffectFields>> {
    let limits = or_default(limits);
    let (options, _) = with_media_grammars(py, options, &content_grammars, &limits)?;
    let effects = py
        .request(&limits, || json_schema::keyword_effects(schema, &options, &limits))
        .map_err(|error| grammar_error(py, &error))?;
    let fields = effects
        .into_iter()
        .map(|effect| (effect.keyword.into(), effect.pointer, effect.kind.name(), effect.message));
    Ok(fields.collect())
}

/// Return the URIs of the documents that a schema refers to and the options do not have.
#[pyfunction]
#[pyo3(signature = (schema, options, limits=None))]
pub(crate) fn missing_documents(
    py: Python<'_>,
    schema: &str,
    options: &PySchemaOptions,
    limits: Option<&PyLimits>,
) -> PyResult<Vec<String>> {
    let limits = or_default(limits);
    py.request(&limits, || json_schema::missing_documents(schema, &options.options, &limits))
        .map_err(|error| grammar_error(py, &error))
}

/// What stands before the expression of a separator.
const PATTERN_PREFIX: &str = "regex:";

fn separator(mark: char, written: &str) -> Result<Separator, GrammarError> {
    match written.strip_prefix(PATTERN_PREFIX) {
        Some(pattern) => WhitespacePattern::around(mark, pattern, &Limits::default()).map(Separator::Pattern),
        None => Ok(Separator::Text(written.into())),
    }
}

fn written(separator: &Separator) -> String {
    match separator {
        Separator::Text(text) => text.to_string(),
        Separator::Pattern(pattern) => format!("{PATTERN_PREFIX}{}", pattern.as_str()),
    }
}
