//! From the keywords of one schema to its shape.
//!
//! Each keyword is a shape of its own, most of them "any value" in all parts but one, and the schema is all of them.
//! Keywords are taken in the order of the text but for `properties`, because the members of an object come out in it.

mod constants;
mod item;
mod member;
mod scalar;
mod unevaluated;

use crate::document::json::Value;
use crate::document::resources::{Dialect, Location, Scope};
use crate::interner::Id;
use crate::numbers::NumberSet;
use crate::translation::Translation;
use crate::values::formula::truth;
use crate::values::literals::Schema;
use crate::values::value_set::{Booleans, Shape};
use crate::{Draft, Numbers, OpenApi};
use grammask_diagnostics::LimitExceeded;

/// Names of members.
pub(crate) type Names = Box<[Id<Box<str>>]>;

/// A schema that is being read.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    pub(crate) location: Location,
    pub(crate) scope: Id<Scope>,
    pub(crate) dialect: Dialect,
}

impl Reading {
    /// Whether a keyword that came with `draft` counts.
    pub(crate) fn since(&self, draft: Draft) -> bool {
        self.dialect.draft >= draft
    }

    /// Whether a keyword that went after `draft` counts.
    pub(crate) fn until(&self, draft: Draft) -> bool {
        self.dialect.lenient || self.dialect.draft <= draft
    }

    /// Whether a reference hides what stands beside it.
    fn hides_siblings(&self) -> bool {
        self.dialect.draft <= Draft::Draft7
    }
}

impl Translation<'_> {
    fn reading(&self, location: Location, scope: Id<Scope>) -> Reading {
        Reading { location, scope, dialect: self.library.dialect(location) }
    }

    /// The members of an object in a document; none of anything else.
    pub(crate) fn members(&self, location: Location) -> Vec<(Box<str>, Location)> {
        match self.library.get(location) {
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| (name.clone(), Location { value: *value, ..location }))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// The items of an array in a document; none of anything else.
    pub(crate) fn items(&self, location: Location) -> Vec<Location> {
        match self.library.get(location) {
            Value::Array(items) => items.iter().map(|&value| Location { value, ..location }).collect(),
            _ => Vec::new(),
        }
    }

    /// The schemas whose shapes the shape of `schema` is made of.
    pub(crate) fn applied_in_place(&mut self, schema: Id<Schema>) -> Vec<Id<Schema>> {
        let Schema::At(location, scope) = self.schema(schema) else { return Vec::new() };
        let reading = self.reading(location, scope);
        let mut applied = Vec::new();
        let has_if = self.library.member(location, "if").is_some();
        let only_reference = reading.hides_siblings() && self.library.member(location, "$ref").is_some();
        for (keyword, place) in self.members(location) {
            match &*keyword {
                "$ref" | "$dynamicRef" | "$recursiveRef" => {
                    applied.extend(self.referenced(&reading, &keyword));
                }
                _ if only_reference => {}
                "allOf" | "anyOf" | "oneOf" => {
                    for item in self.items(place) {
                        applied.push(self.schema_at(item, scope));
                    }
                }
                "not" | "propertyNames" => applied.push(self.schema_at(place, scope)),
                "if" | "then" | "else" if has_if && reading.since(Draft::Draft7) => {
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

    /// The schema that a reference keyword of a schema leads to.
    pub(crate) fn referenced(&mut self, reading: &Reading, keyword: &str) -> Option<Id<Schema>> {
        let counts = match keyword {
            "$dynamicRef" => reading.since(Draft::Draft2020),
            "$recursiveRef" => reading.dialect.draft == Draft::Draft2019 || reading.dialect.lenient,
            _ => true,
        };
        let target = self.reference_target(reading.location, reading.scope, keyword).filter(|_| counts)?;
        Some(self.schema_at(target, reading.scope))
    }

    /// The shape of a schema, when the shapes of what it applies in place are known.
    pub(crate) fn assemble(&mut self, schema: Id<Schema>) -> Result<Shape, LimitExceeded> {
        let (location, scope) = match self.schema(schema) {
            Schema::At(location, scope) => (location, scope),
            Schema::Equal(location) => return Ok(self.shape_of_value(location)),
            Schema::Null => return Ok(Shape { null: true, ..self.no_shape() }),
            Schema::Boolean(truth) => {
                return Ok(Shape { booleans: Booleans { falsehood: !truth, truth }, ..self.no_shape() });
            }
        };
        match self.library.get(location) {
            Value::Boolean(true) => return Ok(self.any_shape()),
            Value::Boolean(false) => return Ok(self.no_shape()),
            Value::Object(_) => {}
            _ => {
                self.invalid(location, "a schema is an object or a boolean");
                return Ok(self.any_shape());
            }
        }
        let reading = self.reading(location, scope);
        if reading.hides_siblings() && self.library.member(location, "$ref").is_some() {
            return Ok(match self.referenced(&reading, "$ref") {
                Some(target) => self.shape_in_place(target),
                None => self.any_shape(),
            });
        }
        let mut parts = Vec::new();
        let mut strings_done = false;
        // The members of an object come out in the order of the parts; its own declarations come first.
        let mut members = self.members(location);
        members.sort_by_key(|(keyword, _)| &**keyword != "properties");
        for (keyword, place) in members {
            let text_keyword = matches!(&*keyword, "pattern" | "minLength" | "maxLength");
            if text_keyword && std::mem::replace(&mut strings_done, true) {
                continue;
            }
            if let Some(part) = self.keyword(&reading, &keyword, place)? {
                parts.push(part);
            }
        }
        let mut shape = self.all_of(&parts);
        for keyword in ["unevaluatedItems", "unevaluatedProperties"] {
            if let Some(place) = self.library.member(location, keyword)
                && reading.since(Draft::Draft2019)
            {
                self.check_schema_value(place);
                let rest = self.satisfies(place, scope);
                shape = if keyword == "unevaluatedItems" {
                    self.close_unevaluated_items(&reading, shape, rest)?
                } else {
                    self.close_unevaluated_members(&reading, shape, rest)?
                };
            }
        }
        Ok(shape)
    }

    pub(crate) fn check_schema_value(&mut self, place: Location) {
        if !matches!(self.library.get(place), Value::Object(_) | Value::Boolean(_)) {
            self.invalid(place, "a schema should stand here");
        }
    }

    /// What one keyword asks for; nothing, if it asks for nothing or was read with another one.
    fn keyword(
        &mut self,
        reading: &Reading,
        keyword: &str,
        place: Location,
    ) -> Result<Option<Shape>, LimitExceeded> {
        let validation = reading.dialect.validation;
        Ok(match keyword {
            "$ref" | "$dynamicRef" | "$recursiveRef" => {
                self.referenced(reading, keyword).map(|target| self.shape_in_place(target))
            }
            "allOf" | "anyOf" | "oneOf" => self.combination(reading, keyword, place)?,
            "not" => {
                self.check_schema_value(place);
                let schema = self.schema_at(place, reading.scope);
                let shape = self.shape_in_place(schema);
                Some(self.other_than(shape))
            }
            "if" if reading.since(Draft::Draft7) => self.conditional(reading, place),
            "type" if validation => self.types(reading, place),
            "enum" if validation => self.enumeration(place),
            "const" if validation && reading.since(Draft::Draft6) => Some(self.shape_of_value(place)),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" if validation => {
                self.number_keyword(reading, keyword, place)
            }
            "minLength" | "maxLength" | "pattern" if validation => self.text_keywords(reading)?,
            "format" => self.format(reading, place),
            "items" | "prefixItems" | "additionalItems" | "contains" => {
                self.item_keyword(reading, keyword, place)
            }
            "minItems" | "maxItems" | "uniqueItems" if validation => {
                self.item_keyword(reading, keyword, place)
            }
            "properties"
            | "patternProperties"
            | "additionalProperties"
            | "propertyNames"
            | "dependencies"
            | "dependentSchemas" => self.member_keyword(reading, keyword, place)?,
            "required" | "minProperties" | "maxProperties" | "dependentRequired" if validation => {
                self.member_keyword(reading, keyword, place)?
            }
            _ => None,
        })
    }

    fn combination(
        &mut self,
        reading: &Reading,
        keyword: &str,
        place: Location,
    ) -> Result<Option<Shape>, LimitExceeded> {
        let items = self.items(place);
        if items.is_empty() {
            self.invalid(place, "a nonempty array of schemas should stand here");
            return Ok(None);
        }
        let mut shapes = Vec::with_capacity(items.len());
        for item in items {
            self.check_schema_value(item);
            let schema = self.schema_at(item, reading.scope);
            shapes.push(self.shape_in_place(schema));
        }
        Ok(Some(match keyword {
            "allOf" => self.all_of(&shapes),
            "anyOf" => self.any_of(&shapes),
            _ => self.one_of(&shapes)?,
        }))
    }

    fn conditional(&mut self, reading: &Reading, place: Location) -> Option<Shape> {
        let [then, otherwise] = ["then", "else"].map(|keyword| {
            self.library.member(reading.location, keyword).map(|place| {
                self.check_schema_value(place);
                let schema = self.schema_at(place, reading.scope);
                self.shape_in_place(schema)
            })
        });
        if then.is_none() && otherwise.is_none() {
            return None;
        }
        let schema = self.schema_at(place, reading.scope);
        let condition = self.shape_in_place(schema);
        let negated = self.other_than(condition);
        let any = self.any_shape();
        let met = self.both(condition, then.unwrap_or(any));
        let unmet = self.both(negated, otherwise.unwrap_or(any));
        Some(self.any_of(&[met, unmet]))
    }

    fn types(&mut self, reading: &Reading, place: Location) -> Option<Shape> {
        let places = match self.library.get(place) {
            Value::String(_) => vec![place],
            _ => self.items(place),
        };
        if places.is_empty() {
            self.invalid(place, "a type or an array of types should stand here");
            return None;
        }
        let mut shape = self.no_shape();
        let any = self.any_shape();
        for place in places {
            let name = match self.library.get(place) {
                Value::String(name) => name.clone(),
                _ => "".into(),
            };
            match &*name {
                "null" => shape.null = true,
                "boolean" => shape.booleans = any.booleans,
                "number" => shape.number = any.number,
                "integer" if shape.number == any.number => {}
                "integer" => {
                    // In draft 4, 1.0 is no integer.
                    let spelled = if reading.dialect.draft == Draft::Draft4 {
                        Numbers::Plain
                    } else {
                        self.options.numbers
                    };
                    shape.number = NumberSet::integer(self.automata.terms_mut(), spelled);
                }
                "string" => shape.string = any.string,
                "array" => shape.array = truth(),
                "object" => shape.object = truth(),
                _ => self.invalid(
                    place,
                    "one of null, boolean, number, integer, string, array and object should stand here",
                ),
            }
        }
        let nullable = self.library.member(reading.location, "nullable");
        if self.options.openapi == OpenApi::Nullable
            && nullable.is_some_and(|flag| self.library.get(flag) == &Value::Boolean(true))
        {
            shape.null = true;
        }
        Some(shape)
    }
}
