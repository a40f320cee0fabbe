//! From the keywords of one schema to its shape.
//!
//! Each keyword is a shape of its own, most of them "any value" in all parts but one, and the schema is all of them.
//! Keywords are taken in the order of the text but for `properties`, because the members of an object come out in it.

use super::formula::{falsehood, truth};
use super::interner::Id;
use super::json::Value;
use super::literals::{AboutArray, AboutObject, NameSet, Schema, ValueFormula};
use super::numbers::{Decimal, NumberSet};
use super::resources::{Dialect, Location, Scope};
use super::shape::{Booleans, Shape};
use super::translation::Translation;
use super::{Draft, Formats, Numbers, OpenApi, formats, lengths, pattern};
use crate::LimitExceeded;
use crate::automata::TermId;

/// Names of members.
pub(super) type Names = Box<[Id<Box<str>>]>;

/// A schema that is being read.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    pub(super) location: Location,
    pub(super) scope: Id<Scope>,
    pub(super) dialect: Dialect,
}

impl Reading {
    /// Whether a keyword that came with `draft` counts.
    fn since(&self, draft: Draft) -> bool {
        self.dialect.draft >= draft
    }

    /// Whether a keyword that went after `draft` counts.
    fn until(&self, draft: Draft) -> bool {
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
    pub(super) fn members(&self, location: Location) -> Vec<(Box<str>, Location)> {
        match self.library.get(location) {
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| (name.clone(), Location { value: *value, ..location }))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// The items of an array in a document; none of anything else.
    pub(super) fn items(&self, location: Location) -> Vec<Location> {
        match self.library.get(location) {
            Value::Array(items) => items.iter().map(|&value| Location { value, ..location }).collect(),
            _ => Vec::new(),
        }
    }

    /// The schemas whose shapes the shape of `schema` is made of.
    pub(super) fn applied_in_place(&mut self, schema: Id<Schema>) -> Vec<Id<Schema>> {
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
    pub(super) fn referenced(&mut self, reading: &Reading, keyword: &str) -> Option<Id<Schema>> {
        let counts = match keyword {
            "$dynamicRef" => reading.since(Draft::Draft2020),
            "$recursiveRef" => reading.dialect.draft == Draft::Draft2019 || reading.dialect.lenient,
            _ => true,
        };
        let target = self.reference_target(reading.location, reading.scope, keyword).filter(|_| counts)?;
        Some(self.schema_at(target, reading.scope))
    }

    /// The shape of a schema, when the shapes of what it applies in place are known.
    pub(super) fn assemble(&mut self, schema: Id<Schema>) -> Result<Shape, LimitExceeded> {
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

    fn check_schema_value(&mut self, place: Location) {
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

    fn enumeration(&mut self, place: Location) -> Option<Shape> {
        if !matches!(self.library.get(place), Value::Array(_)) {
            self.invalid(place, "an array of values should stand here");
            return None;
        }
        let mut shape = self.no_shape();
        let (mut decimals, mut texts, mut arrays, mut objects) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for item in self.items(place) {
            match self.library.get(item) {
                Value::Null => shape.null = true,
                Value::Boolean(true) => shape.booleans.truth = true,
                Value::Boolean(false) => shape.booleans.falsehood = true,
                Value::Number(_) => decimals.extend(self.decimal(item)),
                Value::String(text) => texts.push(text.clone()),
                Value::Array(_) => arrays.push(self.shape_of_value(item).array),
                Value::Object(_) => objects.push(self.shape_of_value(item).object),
            }
        }
        if !decimals.is_empty() {
            shape.number = NumberSet::one_of(self.automata.terms_mut(), self.options.numbers, &decimals);
        }
        if !texts.is_empty() {
            let words = self.spelling.words(self.automata.terms_mut(), texts.iter().map(|text| &**text));
            shape.string = self.string_set(words);
        }
        shape.array = self.arrays.or(arrays);
        shape.object = self.objects.or(objects);
        Some(shape)
    }

    /// The shape of being equal to the value at `location`.
    fn shape_of_value(&mut self, location: Location) -> Shape {
        let mut shape = self.no_shape();
        match self.library.get(location) {
            Value::Null => shape.null = true,
            &Value::Boolean(truth) => shape.booleans = Booleans { falsehood: !truth, truth },
            Value::Number(_) => {
                if let Some(decimal) = self.decimal(location) {
                    shape.number =
                        NumberSet::one_of(self.automata.terms_mut(), self.options.numbers, &[decimal]);
                }
            }
            Value::String(text) => {
                let text = text.clone();
                let word = self.spelling.word(self.automata.terms_mut(), &text);
                shape.string = self.string_set(word);
            }
            Value::Array(items) => {
                let count = u32::try_from(items.len()).unwrap_or(u32::MAX);
                let mut parts = vec![
                    self.arrays.literal(AboutArray::AtLeast(count)),
                    self.arrays.literal(AboutArray::AtMost(count)),
                ];
                for (index, item) in (0..).zip(self.items(location)) {
                    let value = self.equals(item);
                    parts.push(self.arrays.literal(AboutArray::Has(index, value)));
                }
                shape.array = self.arrays.and(parts);
            }
            Value::Object(_) => {
                let members = self.members(location);
                let names: Names = members.iter().map(|(name, _)| self.name(name)).collect();
                let list = self.name_lists.intern(names.clone());
                let mut parts = vec![self.objects.literal(AboutObject::Declares(list))];
                for (&name, (_, place)) in names.iter().zip(&members) {
                    let value = self.equals(*place);
                    parts.push(self.has(name, value));
                }
                let others = self.others(names, Vec::new());
                parts.push(self.each_member(others, falsehood()));
                shape.object = self.objects.and(parts);
            }
        }
        shape
    }

    /// The names that are none of `names` and in none of `patterns`.
    pub(super) fn others(&mut self, names: Names, patterns: Vec<TermId>) -> Id<NameSet> {
        let mut names = names.into_vec();
        names.sort_unstable();
        names.dedup();
        let mut patterns = patterns;
        patterns.sort_unstable();
        patterns.dedup();
        self.name_sets.intern(if names.is_empty() && patterns.is_empty() {
            NameSet::All
        } else {
            NameSet::Others { names: names.into(), patterns: patterns.into() }
        })
    }

    fn decimal(&mut self, place: Location) -> Option<Decimal> {
        let Value::Number(digits) = self.library.get(place) else {
            self.invalid(place, "a number should stand here");
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

    /// A count, cut to 32 bits.
    fn count(&mut self, place: Location) -> Option<u32> {
        let count = match self.library.get(place) {
            Value::Number(digits) => Decimal::parse(digits).ok().and_then(|decimal| decimal.to_count()),
            _ => None,
        };
        if count.is_none() {
            self.invalid(place, "a whole number, 0 or more, should stand here");
        }
        count
    }

    fn number_keyword(&mut self, reading: &Reading, keyword: &str, place: Location) -> Option<Shape> {
        let spelled = self.options.numbers;
        let exclusive = |this: &Self, keyword: &str| {
            let flag = this.library.member(reading.location, keyword);
            flag.is_some_and(|flag| this.library.get(flag) == &Value::Boolean(true))
                && reading.until(Draft::Draft4)
        };
        if keyword.starts_with("exclusive")
            && matches!(self.library.get(place), Value::Boolean(_))
            && reading.until(Draft::Draft4)
        {
            // Read with `minimum` or `maximum`.
            return None;
        }
        let bound = self.decimal(place)?;
        let excludes = match keyword {
            "minimum" => exclusive(self, "exclusiveMinimum"),
            "maximum" => exclusive(self, "exclusiveMaximum"),
            _ => true,
        };
        let terms = self.automata.terms_mut();
        let number = match (keyword, excludes) {
            ("minimum", false) => NumberSet::at_least(terms, spelled, &bound),
            ("minimum" | "exclusiveMinimum", _) => NumberSet::greater(terms, spelled, &bound),
            ("maximum", false) => NumberSet::at_most(terms, spelled, &bound),
            ("maximum" | "exclusiveMaximum", _) => NumberSet::less(terms, spelled, &bound),
            _ => match NumberSet::multiple_of(terms, spelled, &bound) {
                Ok(set) => set,
                Err(reason) => {
                    if !bound.is_zero() && !bound.is_negative() {
                        self.unsupported(place, reason.to_string(), "");
                    } else {
                        self.invalid(place, "a number above 0 should stand here");
                    }
                    let any = self.any_number;
                    NumberSet { yes: any.yes, no: any.yes }
                }
            },
        };
        Some(Shape { number, ..self.any_shape() })
    }

    /// `pattern`, `minLength` and `maxLength` together.
    fn text_keywords(&mut self, reading: &Reading) -> Result<Option<Shape>, LimitExceeded> {
        let [min, max] = ["minLength", "maxLength"].map(|keyword| {
            let place = self.library.member(reading.location, keyword)?;
            self.count(place)
        });
        let max = max.filter(|&max| max < u32::MAX);
        let mut string = self.any_string;
        let mut relaxed = false;
        if let Some(place) = self.library.member(reading.location, "pattern") {
            match self.pattern(place) {
                Some(term) => string.yes = term,
                None => relaxed = true,
            }
        }
        if min.is_some() || max.is_some() {
            let (terms, spelling) = (self.automata.terms_mut(), &mut self.spelling);
            string.yes = lengths::bounded(terms, spelling, string.yes, min.unwrap_or(0), max);
        }
        if string.yes != self.any_string.yes {
            string = self.string_set(string.yes);
        }
        if relaxed {
            // What the pattern would have refused is not known to be outside.
            string.no = self.any_string.yes;
        }
        Ok(Some(Shape { string, ..self.any_shape() }))
    }

    /// The texts in which the pattern at `place` matches; none, with a finding, if that is not known.
    fn pattern(&mut self, place: Location) -> Option<TermId> {
        let Value::String(source) = self.library.get(place) else {
            self.invalid(place, "a regular expression should stand here");
            return None;
        };
        let source = source.clone();
        self.pattern_text(place, &source)
    }

    fn pattern_text(&mut self, place: Location, source: &str) -> Option<TermId> {
        if let Some(&known) = self.patterns.get(source)
            && known.is_some()
        {
            return known;
        }
        let found = pattern::pattern(self.automata.terms_mut(), &mut self.spelling, source, self.limits);
        let term = match found {
            Ok(term) => Some(term),
            Err(error) if error.kind == pattern::PatternErrorKind::Syntax => {
                self.invalid(place, &error.to_string());
                None
            }
            Err(error) => {
                self.unsupported(place, error.to_string(), "");
                None
            }
        };
        self.patterns.insert(source.into(), term);
        term
    }

    fn format(&mut self, reading: &Reading, place: Location) -> Option<Shape> {
        let Value::String(name) = self.library.get(place) else {
            self.invalid(place, "the name of a format should stand here");
            return None;
        };
        let name = name.clone();
        if self.options.formats == Formats::Annotate {
            return None;
        }
        let draft = reading.dialect.draft;
        let (terms, spelling) = (self.automata.terms_mut(), &mut self.spelling);
        match formats::format(terms, spelling, &name, draft, self.limits) {
            Some(Ok(term)) => {
                let mut string = self.string_set(term);
                if matches!(&*name, "hostname" | "idn-hostname" | "regex") {
                    // These leave out some texts that belong; nothing else is known to be outside.
                    string.no = self.automata.terms().nothing();
                }
                Some(Shape { string, ..self.any_shape() })
            }
            Some(Err(error)) => {
                self.unsupported(place, format!("the format `{name}`: {error}"), "");
                None
            }
            None => {
                let message =
                    format!("the format `{name}` is not one of the standard's; it constrains nothing");
                let code = crate::grammar::Code::IgnoredAnnotation;
                self.findings.add(&self.library, code, place, message, "");
                None
            }
        }
    }

    fn item_keyword(&mut self, reading: &Reading, keyword: &str, place: Location) -> Option<Shape> {
        let positional = matches!(self.library.get(place), Value::Array(_));
        let array = match keyword {
            "prefixItems" if reading.since(Draft::Draft2020) => self.items_by_position(reading, place),
            "items" if positional && reading.until(Draft::Draft2019) => {
                self.items_by_position(reading, place)
            }
            "items" => {
                if positional {
                    self.invalid(place, "a schema should stand here; schemas by position are `prefixItems`");
                    return None;
                }
                let first = match self.library.member(reading.location, "prefixItems") {
                    Some(prefix) if reading.since(Draft::Draft2020) => self.items(prefix).len(),
                    _ => 0,
                };
                self.rest_items(reading, first, place)
            }
            "additionalItems" if reading.until(Draft::Draft2019) => {
                let items = self.library.member(reading.location, "items")?;
                if !matches!(self.library.get(items), Value::Array(_)) {
                    return None;
                }
                let first = self.items(items).len();
                self.rest_items(reading, first, place)
            }
            "contains" if reading.since(Draft::Draft6) => return self.contains(reading, place),
            "minItems" => {
                let count = self.count(place)?;
                if count == 0 {
                    return None;
                }
                self.arrays.literal(AboutArray::AtLeast(count))
            }
            "maxItems" => {
                let count = self.count(place).filter(|&count| count < u32::MAX)?;
                self.arrays.literal(AboutArray::AtMost(count))
            }
            "uniqueItems" if self.library.get(place) == &Value::Boolean(true) => {
                let seen = self.seen.intern(Box::default());
                self.arrays.literal(AboutArray::Unique(place, seen))
            }
            _ => return None,
        };
        Some(Shape { array, ..self.any_shape() })
    }

    fn items_by_position(&mut self, reading: &Reading, place: Location) -> super::literals::ArrayFormula {
        let mut parts = Vec::new();
        for (index, item) in (0..).zip(self.items(place)) {
            self.check_schema_value(item);
            let value = self.satisfies(item, reading.scope);
            if value != truth() {
                parts.push(self.arrays.literal(AboutArray::If(index, value)));
            }
        }
        self.arrays.and(parts)
    }

    fn rest_items(
        &mut self,
        reading: &Reading,
        first: usize,
        place: Location,
    ) -> super::literals::ArrayFormula {
        self.check_schema_value(place);
        let value = self.satisfies(place, reading.scope);
        self.each_item(u32::try_from(first).unwrap_or(u32::MAX), value)
    }

    /// "Each item from `first` on satisfies `value`."
    pub(super) fn each_item(&mut self, first: u32, value: ValueFormula) -> super::literals::ArrayFormula {
        if value == truth() {
            truth()
        } else if value == falsehood() {
            self.arrays.literal(AboutArray::AtMost(first))
        } else {
            self.arrays.literal(AboutArray::Each(first, value))
        }
    }

    fn contains(&mut self, reading: &Reading, place: Location) -> Option<Shape> {
        self.check_schema_value(place);
        let counted = reading.since(Draft::Draft2019) && reading.dialect.validation;
        let [min, max] = ["minContains", "maxContains"].map(|keyword| {
            let place = self.library.member(reading.location, keyword).filter(|_| counted)?;
            self.count(place)
        });
        let value = self.satisfies(place, reading.scope);
        let mut parts = Vec::new();
        if min != Some(0) {
            parts.push(self.arrays.literal(AboutArray::MatchAtLeast(min.unwrap_or(1), value)));
        }
        if let Some(max) = max.filter(|&max| max < u32::MAX) {
            parts.push(self.arrays.literal(AboutArray::MatchAtMost(max, value)));
        }
        let array = self.arrays.and(parts);
        Some(Shape { array, ..self.any_shape() })
    }

    fn member_keyword(
        &mut self,
        reading: &Reading,
        keyword: &str,
        place: Location,
    ) -> Result<Option<Shape>, LimitExceeded> {
        let is_object = matches!(self.library.get(place), Value::Object(_));
        let object = match keyword {
            "properties" | "patternProperties" | "dependencies" | "dependentSchemas"
            | "dependentRequired"
                if !is_object =>
            {
                self.invalid(place, "an object should stand here");
                return Ok(None);
            }
            "properties" => {
                let members = self.members(place);
                let names: Names = members.iter().map(|(name, _)| self.name(name)).collect();
                let list = self.name_lists.intern(names.clone());
                let mut parts = vec![self.objects.literal(AboutObject::Declares(list))];
                for (&name, (_, schema)) in names.iter().zip(&members) {
                    self.check_schema_value(*schema);
                    let value = self.satisfies(*schema, reading.scope);
                    parts.push(self.if_present(name, value));
                }
                self.objects.and(parts)
            }
            "patternProperties" => {
                let mut parts = Vec::new();
                for (pattern, schema) in self.members(place) {
                    self.check_schema_value(schema);
                    let value = self.satisfies(schema, reading.scope);
                    match self.pattern_text(schema, &pattern) {
                        Some(term) => {
                            let names = self.name_sets.intern(NameSet::Matching(term));
                            parts.push(self.each_member(names, value));
                        }
                        None => parts.push(self.objects.literal(AboutObject::Relaxed)),
                    }
                }
                self.objects.and(parts)
            }
            "additionalProperties" => {
                self.check_schema_value(place);
                let value = self.satisfies(place, reading.scope);
                match self.names_beside(reading) {
                    Some((names, patterns)) => {
                        let others = self.others(names, patterns);
                        self.each_member(others, value)
                    }
                    None => self.objects.literal(AboutObject::Relaxed),
                }
            }
            "propertyNames" if reading.since(Draft::Draft6) => {
                self.check_schema_value(place);
                let schema = self.schema_at(place, reading.scope);
                let allowed = self.shape_in_place(schema).string;
                if allowed == self.any_string {
                    return Ok(None);
                }
                let refused = self.string_set(allowed.yes).no;
                let names = self.name_sets.intern(NameSet::Matching(refused));
                self.each_member(names, falsehood())
            }
            "required" => match self.library.get(place) {
                Value::Array(_) => {
                    let required = self.items(place);
                    let mut parts = Vec::new();
                    for name in required {
                        parts.extend(self.required(name));
                    }
                    self.objects.and(parts)
                }
                // Draft 3 wrote `required: true` inside the property; it never meant anything here.
                Value::Boolean(_) if reading.dialect.lenient || reading.dialect.draft == Draft::Draft4 => {
                    return Ok(None);
                }
                _ => {
                    self.invalid(place, "an array of names should stand here");
                    return Ok(None);
                }
            },
            "minProperties" => match self.count(place) {
                None | Some(0) => return Ok(None),
                Some(count) => self.objects.literal(AboutObject::AtLeast(count)),
            },
            "maxProperties" => match self.count(place).filter(|&count| count < u32::MAX) {
                None => return Ok(None),
                Some(count) => self.objects.literal(AboutObject::AtMost(count)),
            },
            "dependencies" if reading.until(Draft::Draft7) => self.dependencies(reading, place),
            "dependentRequired" | "dependentSchemas" if reading.since(Draft::Draft2019) => {
                self.dependencies(reading, place)
            }
            _ => return Ok(None),
        };
        Ok(Some(Shape { object, ..self.any_shape() }))
    }

    fn required(&mut self, place: Location) -> Option<super::literals::ObjectFormula> {
        let Value::String(name) = self.library.get(place) else {
            self.invalid(place, "a name should stand here");
            return None;
        };
        let name = name.clone();
        let name = self.name(&name);
        Some(self.has(name, truth()))
    }

    /// The declared names and the patterns of the same schema; none if one of the patterns is not known.
    pub(super) fn names_beside(&mut self, reading: &Reading) -> Option<(Names, Vec<TermId>)> {
        let mut names = Vec::new();
        if let Some(properties) = self.library.member(reading.location, "properties") {
            for (name, _) in self.members(properties) {
                names.push(self.name(&name));
            }
        }
        let mut patterns = Vec::new();
        if let Some(place) = self.library.member(reading.location, "patternProperties") {
            for (pattern, schema) in self.members(place) {
                patterns.push(self.pattern_text(schema, &pattern)?);
            }
        }
        Some((names.into(), patterns))
    }

    /// Names or schemas that come into force with a member.
    fn dependencies(&mut self, reading: &Reading, place: Location) -> super::literals::ObjectFormula {
        let mut parts = Vec::new();
        for (name, dependent) in self.members(place) {
            let name = self.name(&name);
            let absent = self.if_present(name, falsehood());
            let consequence = match self.library.get(dependent) {
                Value::Array(_) => {
                    let required = self.items(dependent);
                    let required: Vec<_> =
                        required.into_iter().filter_map(|place| self.required(place)).collect();
                    self.objects.and(required)
                }
                // Draft 3 allowed one name without an array.
                Value::String(_) if reading.dialect.lenient => match self.required(dependent) {
                    Some(required) => required,
                    None => continue,
                },
                _ => {
                    self.check_schema_value(dependent);
                    let schema = self.schema_at(dependent, reading.scope);
                    self.shape_in_place(schema).object
                }
            };
            parts.push(self.objects.or([absent, consequence]));
        }
        self.objects.and(parts)
    }
}
