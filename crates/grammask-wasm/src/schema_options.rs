//! The options of JSON Schema as a JavaScript object.

use grammask::frontends::json_schema::{
    Formats, OpenApi, SchemaOptions, Separator, UniqueNames, Whitespace, WhitespacePattern,
};
use serde::Deserialize;

use crate::failures::{JsResult, grammar_error, invalid_argument};
use crate::options::{LimitOptions, named};

/// The beginning of the name of white space that an expression describes.
const PATTERN_PREFIX: &str = "regex:";
/// The default bound of flexible white space, in characters.
const FLEXIBLE_WHITESPACE: u32 = 32;
/// The white space of JSON.
const JSON_SPACES: [char; 4] = [' ', '\t', '\n', '\r'];

/// `JsonSchemaOptions` in `npm/grammask.d.ts`.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct SchemaFields {
    draft: Option<String>,
    whitespace: Option<String>,
    max_whitespace: Option<u32>,
    separators: Option<[String; 2]>,
    indent: Option<u32>,
    key_order: Option<String>,
    unique_names: Option<UniqueNamesField>,
    escapes: Option<String>,
    numbers: Option<String>,
    on_unsupported: Option<String>,
    formats: bool,
    content: Option<String>,
    openapi_nullable: bool,
    resources: Vec<[String; 2]>,
    excludes: Vec<String>,
    pub(crate) limits: LimitOptions,
}

/// Whether all names differ, or a named treatment.
#[derive(Deserialize)]
#[serde(untagged)]
enum UniqueNamesField {
    All(bool),
    Named(String),
}

impl Default for SchemaFields {
    fn default() -> Self {
        Self {
            draft: None,
            whitespace: None,
            max_whitespace: None,
            separators: None,
            indent: None,
            key_order: None,
            unique_names: None,
            escapes: None,
            numbers: None,
            on_unsupported: None,
            formats: true,
            content: None,
            openapi_nullable: false,
            resources: Vec::new(),
            excludes: Vec::new(),
            limits: LimitOptions::default(),
        }
    }
}

impl SchemaFields {
    /// The options of the front end.
    pub(crate) fn schema_options(self) -> JsResult<SchemaOptions> {
        let mut options = SchemaOptions::default();
        options.whitespace = self.whitespace()?;
        if let Some(draft) = &self.draft {
            options.draft = Some(named(draft)?);
        }
        if let Some(key_order) = &self.key_order {
            options.key_order = named(key_order)?;
        }
        if let Some(escapes) = &self.escapes {
            options.escapes = named(escapes)?;
        }
        if let Some(numbers) = &self.numbers {
            options.numbers = named(numbers)?;
        }
        if let Some(on_unsupported) = &self.on_unsupported {
            options.on_unsupported = named(on_unsupported)?;
        }
        if let Some(content) = &self.content {
            options.content = named(content)?;
        }
        match &self.unique_names {
            None => {}
            Some(UniqueNamesField::All(true)) => options.unique_names = UniqueNames::All,
            Some(UniqueNamesField::All(false)) => options.unique_names = UniqueNames::Declared,
            Some(UniqueNamesField::Named(name)) => options.unique_names = named(name)?,
        }
        options.formats = if self.formats { Formats::Enforce } else { Formats::Annotate };
        options.openapi = if self.openapi_nullable { OpenApi::Nullable } else { OpenApi::Ignore };
        options.resources = self.resources.into_iter().map(|[uri, text]| (uri, text)).collect();
        options.excludes = self.excludes;
        Ok(options)
    }

    fn separator(&self, mark: char, written: &str) -> JsResult<Separator> {
        if let Some(pattern) = written.strip_prefix(PATTERN_PREFIX) {
            let pattern = WhitespacePattern::around(mark, pattern, &self.limits.limits());
            return Ok(Separator::Pattern(pattern.map_err(grammar_error)?));
        }
        if written.trim_matches(JSON_SPACES) != mark.to_string() {
            let message =
                format!("the separator {written:?} is not {mark:?} with white space of JSON around it");
            return Err(invalid_argument(message));
        }
        Ok(Separator::Text(written.into()))
    }

    fn whitespace(&self) -> JsResult<Whitespace> {
        let name = self.whitespace.as_deref().unwrap_or("natural");
        let pattern = name.strip_prefix(PATTERN_PREFIX);
        if pattern.is_none() && !["natural", "compact", "flexible"].contains(&name) {
            let message = format!(
                "whitespace={name:?} is not one of natural, compact, flexible and {PATTERN_PREFIX}..."
            );
            return Err(invalid_argument(message));
        }
        if pattern.is_some() && self.max_whitespace.is_some() {
            return Err(invalid_argument(
                "maxWhitespace and an expression of white space exclude each other",
            ));
        }
        if self.indent.is_some() && self.separators.is_some() {
            return Err(invalid_argument("indent and separators exclude each other"));
        }
        if let Some(width) = self.indent {
            return Ok(Whitespace::Indent(width));
        }
        if let Some(separators) = &self.separators {
            let [item, key] = separators;
            let [item, key] = [self.separator(',', item)?, self.separator(':', key)?];
            return Ok(Whitespace::Separators { item, key });
        }
        if let Some(pattern) = pattern {
            let pattern = WhitespacePattern::new(pattern, &self.limits.limits()).map_err(grammar_error)?;
            return Ok(Whitespace::Pattern(pattern));
        }
        Ok(match (name, self.max_whitespace) {
            ("compact", _) | (_, Some(0)) => Whitespace::Compact,
            (_, Some(max)) => Whitespace::Flexible { max },
            ("flexible", None) => Whitespace::Flexible { max: FLEXIBLE_WHITESPACE },
            (_, None) => Whitespace::Natural,
        })
    }
}
