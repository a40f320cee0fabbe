//! Access to the schemas of a document: keyword values, references, interned schemas, and findings about them.

use rustc_hash::FxHashMap;

use crate::document::findings::Findings;
use crate::document::json::Value;
use crate::document::metaschemas;
use crate::document::resources::{Library, Location, ReferenceError, SchemaDialect, Scope};
use crate::interner::{Id, Interner};
use crate::numbers::{Constant, Decimal, PlainDigits};
use crate::values::formula::{falsehood, truth};
use crate::values::formulas::Formulas;
use crate::values::literals::{Satisfies, Schema, ValueFormula};
use crate::values::string_formula::Content;
use crate::{Draft, SchemaOptions};
use grammask_diagnostics::{Code, Deadline, Limits};

/// The documents and options of a translation, and its findings. It knows no languages and no rules.
pub(crate) struct SchemaReader<'o> {
    pub(crate) options: &'o SchemaOptions,
    pub(crate) limits: &'o Limits,
    pub(crate) deadline: Deadline,
    pub(crate) library: Library<'o>,
    pub(crate) findings: Findings,
    pub(crate) schemas: Interner<Schema>,
    /// The first limit of the tokens of strings.
    pub(crate) token_limit: Option<Location>,
    /// The first place of each content of strings.
    pub(crate) content_places: FxHashMap<Content, Location>,
}

/// The schema whose keywords are being translated.
#[derive(Clone, Copy)]
pub(crate) struct SchemaContext {
    pub(crate) location: Location,
    pub(crate) scope: Id<Scope>,
    pub(crate) dialect: SchemaDialect,
}

impl SchemaContext {
    /// Whether a keyword introduced by `draft` applies.
    pub(crate) fn since(&self, draft: Draft) -> bool {
        self.dialect.draft >= draft
    }

    /// Whether a keyword removed after `draft` applies.
    pub(crate) fn until(&self, draft: Draft) -> bool {
        self.dialect.lenient || self.dialect.draft <= draft
    }

    /// Whether `$ref` makes its sibling keywords ineffective.
    pub(crate) fn ref_hides_siblings(&self) -> bool {
        self.dialect.draft <= Draft::Draft7
    }
}

/// Bound on the length of a chain of schemas that consist of a reference only.
const MAX_REFERENCE_CHAIN: usize = 100;

impl<'o> SchemaReader<'o> {
    pub(crate) fn new(library: Library<'o>, options: &'o SchemaOptions, limits: &'o Limits) -> Self {
        Self {
            options,
            limits,
            deadline: Deadline::of(limits),
            library,
            findings: Findings::default(),
            schemas: Interner::new(),
            token_limit: None,
            content_places: FxHashMap::default(),
        }
    }

    /// The pointers of a schema and of the first structurally equal ones, which share its translation.
    pub(crate) fn places(&self, schema: Location) -> String {
        const MAX_PLACES: usize = 3;
        let mut places = self.findings.duplicates(&self.library, schema, MAX_PLACES);
        places.push(schema);
        places.sort_unstable();
        places.dedup();
        let mut pointers: Vec<String> = places.iter().map(|&place| self.library.pointer(place)).collect();
        if pointers.len() > MAX_PLACES {
            pointers[MAX_PLACES] = "other places".to_owned();
        }
        pointers.join(" or ")
    }

    pub(crate) fn schema(&self, schema: Id<Schema>) -> Schema {
        *self.schemas.get(schema)
    }

    pub(crate) fn context(&self, location: Location, scope: Id<Scope>) -> SchemaContext {
        SchemaContext { location, scope, dialect: self.library.dialect(location) }
    }

    /// The schema at `location`, entered under `scope`. Structurally equal schemas are one.
    pub(crate) fn schema_at(&mut self, location: Location, scope: Id<Scope>) -> Id<Schema> {
        let scope = self.library.enter(location, scope);
        let first = self.library.representative(location);
        if first != location {
            self.findings.record_copy(first, location);
        }
        self.schemas.intern(Schema::At(first, scope))
    }

    /// "Satisfies the schema at `location`" as a formula.
    pub(crate) fn satisfies(
        &mut self,
        formulas: &mut Formulas,
        location: Location,
        scope: Id<Scope>,
    ) -> ValueFormula {
        let (mut location, mut scope) = (location, scope);
        // A schema that consists of a reference only is the schema that it refers to.
        for _ in 0..MAX_REFERENCE_CHAIN {
            match self.library.get(location) {
                Value::Boolean(true) => return truth(),
                Value::Boolean(false) => return falsehood(),
                Value::Object(members) if members.is_empty() => return truth(),
                Value::Object(members) if members.len() == 1 && &*members[0].0 == "$ref" => {
                    let place = Location { value: members[0].1, ..location };
                    scope = self.library.enter(location, scope);
                    match self.reference_target(location, scope, "$ref") {
                        Some(target) => {
                            self.findings.enforce(place);
                            location = target;
                        }
                        None => return truth(),
                    }
                }
                _ => break,
            }
        }
        let schema = self.schema_at(location, scope);
        formulas.values.literal(Satisfies { schema, negated: false })
    }

    /// "Satisfies `schema`" as a formula.
    pub(crate) fn satisfies_schema(&mut self, formulas: &mut Formulas, schema: Schema) -> ValueFormula {
        let schema = self.schemas.intern(schema);
        formulas.values.literal(Satisfies { schema, negated: false })
    }

    /// "Equals the value at `location`" as a formula.
    pub(crate) fn equals(&mut self, formulas: &mut Formulas, location: Location) -> ValueFormula {
        self.satisfies_schema(formulas, Schema::Equal(location))
    }

    /// The target of the reference under `keyword` of the schema at `location`; `None`, with a finding, if it cannot
    /// be resolved.
    pub(crate) fn reference_target(
        &mut self,
        location: Location,
        scope: Id<Scope>,
        keyword: &str,
    ) -> Option<Location> {
        let place = self.library.member(location, keyword)?;
        let Value::String(reference) = self.library.get(place) else {
            self.invalid(place, "expected a string: the URI of a schema");
            return None;
        };
        let reference = reference.clone();
        match self.library.resolve(location, place, &reference) {
            Ok(target) if keyword == "$ref" => Some(target),
            Ok(target) => Some(self.library.resolve_dynamic(target, &reference, scope).unwrap_or(target)),
            Err(unresolved) => {
                let (message, help) = match unresolved {
                    ReferenceError::Document(uri) => (
                        format!("there is no document `{uri}`"),
                        "pass the document with a resolver, or copy the schema into `$defs`".to_owned(),
                    ),
                    ReferenceError::Place { reference, similar } => (
                        format!("nothing is at `{reference}`"),
                        similar.map_or_else(String::new, |pointer| format!("did you mean `#{pointer}`?")),
                    ),
                    ReferenceError::NotJson(uri) => {
                        (format!("the document `{uri}` is not JSON"), String::new())
                    }
                };
                self.findings.add(&self.library, Code::UnresolvedReference, place, message, &help);
                None
            }
        }
    }

    /// The target of a reference keyword; `None` if the keyword has no meaning in the draft.
    pub(crate) fn referenced(&mut self, context: &SchemaContext, keyword: &str) -> Option<Id<Schema>> {
        let applies = match keyword {
            "$dynamicRef" => context.since(Draft::Draft2020),
            "$recursiveRef" => {
                context.dialect.draft == Draft::Draft2019
                    || (context.dialect.lenient && !self.library.is_below_misplaced_anchor(context.location))
            }
            _ => true,
        };
        let target = self.reference_target(context.location, context.scope, keyword);
        self.warn_of_foreign_reference(context, keyword, applies);
        Some(self.schema_at(target.filter(|_| applies)?, context.scope))
    }

    /// Adds a warning if the draft in use does not have the reference keyword of a schema.
    fn warn_of_foreign_reference(&mut self, context: &SchemaContext, keyword: &str, applies: bool) {
        let (home, replacement) = match keyword {
            "$dynamicRef" if !applies => ("2020-12", "`$ref`"),
            "$recursiveRef" if context.dialect.draft != Draft::Draft2019 => {
                ("2019-09", "`$ref`, or `$dynamicRef` of 2020-12")
            }
            _ => return,
        };
        let Some(place) = self.library.member(context.location, keyword) else { return };
        let effect = if applies {
            "without `$schema`, it is the root of the schema with its `$id`"
        } else {
            "it constrains nothing in the draft of this schema"
        };
        let message = format!("`{keyword}` is a keyword of {home} only; {effect}");
        let help = format!("write {replacement}, or name the draft with `$schema` or the option `draft`");
        self.findings.add(&self.library, Code::IgnoredAnnotation, place, message, &help);
    }

    /// The subschemas on whose value sets the value set of `schema` depends.
    pub(crate) fn applied_in_place(&mut self, schema: Id<Schema>) -> Vec<Id<Schema>> {
        let Schema::At(location, scope) = self.schema(schema) else { return Vec::new() };
        let context = self.context(location, scope);
        let mut applied = Vec::new();
        let has_if = self.library.member(location, "if").is_some();
        let only_reference = context.ref_hides_siblings() && self.library.member(location, "$ref").is_some();
        for (keyword, place) in self.members(location) {
            match &*keyword {
                "$ref" | "$dynamicRef" | "$recursiveRef" => {
                    applied.extend(self.referenced(&context, &keyword));
                }
                _ if only_reference => {}
                "allOf" | "anyOf" | "oneOf" => {
                    for item in self.items(place) {
                        applied.push(self.schema_at(item, scope));
                    }
                }
                "not" | "propertyNames" => applied.push(self.schema_at(place, scope)),
                "if" | "then" | "else" if has_if && context.since(Draft::Draft7) => {
                    applied.push(self.schema_at(place, scope));
                }
                "dependentSchemas" | "dependencies" => {
                    for (_, dependent) in self.members(place) {
                        if !matches!(self.library.get(dependent), Value::Array(_)) {
                            applied.push(self.schema_at(dependent, scope));
                        }
                    }
                }
                _ => {}
            }
        }
        applied
    }

    /// The members of an object of the document; empty for any other value.
    pub(crate) fn members(&self, location: Location) -> Vec<(Box<str>, Location)> {
        match self.library.get(location) {
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| (name.clone(), Location { value: *value, ..location }))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// The items of an array of the document; empty for any other value.
    pub(crate) fn items(&self, location: Location) -> Vec<Location> {
        match self.library.get(location) {
            Value::Array(items) => items.iter().map(|&value| Location { value, ..location }).collect(),
            _ => Vec::new(),
        }
    }

    /// The number at `place`; `None`, with a finding, if there is none or its exponent is too large.
    pub(crate) fn decimal(&mut self, place: Location) -> Option<Decimal> {
        let Value::Number(digits) = self.library.get(place) else {
            self.invalid(place, "expected a number");
            return None;
        };
        match Decimal::parse(digits) {
            Ok(decimal) => Some(decimal),
            Err(error) => {
                self.unsupported(place, error.to_string(), "");
                None
            }
        }
    }

    /// The number at `place` as a value of `enum` or `const`; `None`, with a finding, as of [`SchemaReader::decimal`].
    pub(crate) fn constant(&mut self, place: Location) -> Option<Constant> {
        let value = self.decimal(place)?;
        match self.library.get(place) {
            Value::Number(digits) => Some(Constant::new(value, digits)),
            _ => None,
        }
    }

    /// The digits with which the number at `place` is written.
    pub(crate) fn written_digits(&self, place: Location) -> PlainDigits {
        match self.library.get(place) {
            Value::Number(digits) => PlainDigits::written(digits),
            _ => PlainDigits::default(),
        }
    }

    /// The count at `place`, saturated to 32 bits; `None`, with a finding, if it is not a natural number.
    pub(crate) fn count(&mut self, place: Location) -> Option<u32> {
        let count = match self.library.get(place) {
            Value::Number(digits) => Decimal::parse(digits).ok().and_then(|decimal| decimal.to_count()),
            _ => None,
        };
        if count.is_none() {
            self.invalid(place, "expected a whole number, 0 or more");
        }
        count
    }

    /// Adds a finding if the value at `place` is not a schema.
    pub(crate) fn check_is_schema(&mut self, place: Location) {
        if !matches!(self.library.get(place), Value::Object(_) | Value::Boolean(_)) {
            self.invalid(place, "expected a schema");
        }
    }

    /// Records that a keyword of a schema became a constraint, if the schema has it.
    pub(crate) fn enforce(&mut self, context: &SchemaContext, keyword: &str) {
        if let Some(place) = self.library.member(context.location, keyword) {
            self.findings.enforce(place);
        }
    }

    /// Adds the finding that a schema applies itself in place.
    pub(crate) fn refuse_cycle(&mut self, schema: Id<Schema>) {
        if let Schema::At(location, _) = self.schema(schema) {
            let message = "the schema applies itself to the same value".to_owned();
            let help = "the standard does not define this; refer to it from below `properties` or `items`";
            self.findings.add(&self.library, Code::InvalidSchema, location, message, help);
        }
    }

    /// Adds the finding that a keyword has an invalid value.
    pub(crate) fn invalid(&mut self, place: Location, message: &str) {
        self.findings.add(&self.library, Code::InvalidSchema, place, message.to_owned(), "");
    }

    /// Adds the findings of contents that would have to be regular languages.
    pub(crate) fn irregular_contents(&mut self, contents: &[Content]) {
        for content in contents {
            if let Some(&place) = self.content_places.get(content) {
                let message = match content.encoding {
                    Some(_) => "an encoded content is not supported if its texts are not a regular language",
                    None => "JSON in a string is not supported where strings are plain text",
                };
                self.unsupported(place, message.to_owned(), "");
            }
        }
    }

    /// Adds the findings of a set of strings whose constraints that are not regular cannot be enforced.
    pub(crate) fn unsupported_strings(&mut self, contents: &[Content], has_token_limit: bool) {
        let help =
            "give it to a schema with `type`, `title` and other annotations only, and do not negate it";
        for content in contents {
            if let Some(&place) = self.content_places.get(content) {
                let message = "the content of strings is not supported next to other constraints on them";
                self.unsupported(place, message.to_owned(), help);
            }
        }
        if let Some(place) = self.token_limit.filter(|_| has_token_limit) {
            let message = "a maximum number of tokens for some of the strings at a place is not supported";
            self.unsupported(place, message.to_owned(), "do not negate `x-grammask-max-tokens`");
        }
    }

    /// Adds a finding if `$schema` at `place` names a version of JSON Schema whose keywords would be ignored.
    pub(crate) fn check_version(&mut self, place: Location) {
        if let Value::String(metaschema) = self.library.get(place)
            && metaschemas::is_of_other_version(metaschema.trim_end_matches('#'))
        {
            let message =
                format!("the version of JSON Schema with the meta-schema `{metaschema}` is not supported");
            let help = "use draft 4, 6, 7, 2019-09 or 2020-12, or leave `$schema` out if the keywords mean the same there";
            self.unsupported(place, message, help);
        }
    }

    /// Adds the finding that a keyword cannot be enforced.
    pub(crate) fn unsupported(&mut self, place: Location, message: String, help: &str) {
        self.findings.add(&self.library, Code::UnsupportedSchema, place, message, help);
    }
}
