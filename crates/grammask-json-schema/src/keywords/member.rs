//! The keywords about objects: members by name, by pattern and the others, names, counts, dependencies.

use crate::Draft;
use crate::document::json::Value;
use crate::document::resources::Location;
use crate::interner::Id;
use crate::keywords::{Names, Reading};
use crate::translation::Translation;
use crate::values::formula::{falsehood, truth};
use crate::values::literals::{AboutObject, NameSet, ObjectFormula};
use crate::values::value_set::Shape;
use grammask_automata::TermId;
use grammask_diagnostics::LimitExceeded;

impl Translation<'_> {
    /// The names that are none of `names` and in none of `patterns`.
    pub(crate) fn others(&mut self, names: Names, patterns: Vec<TermId>) -> Id<NameSet> {
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

    pub(crate) fn member_keyword(
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
                // Names are refused or not; a constraint that leaves some undecided cannot be negated.
                let undecided = self.spelling.complement(self.automata.terms_mut(), allowed.no);
                let is_relaxed = !self.never_both(allowed.yes, allowed.no)?;
                if is_relaxed || !self.never_both(refused, undecided)? {
                    if !is_relaxed {
                        let message =
                            "names of a format that is not decided for every text are not supported";
                        self.unsupported(place, message.to_owned(), "");
                    }
                    let object = self.objects.literal(AboutObject::Relaxed);
                    return Ok(Some(Shape { object, ..self.any_shape() }));
                }
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

    pub(crate) fn required(&mut self, place: Location) -> Option<ObjectFormula> {
        let Value::String(name) = self.library.get(place) else {
            self.invalid(place, "a name should stand here");
            return None;
        };
        let name = name.clone();
        let name = self.name(&name);
        Some(self.has(name, truth()))
    }

    /// The declared names and the patterns of the same schema; none if one of the patterns is not known.
    pub(crate) fn names_beside(&mut self, reading: &Reading) -> Option<(Names, Vec<TermId>)> {
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
    pub(crate) fn dependencies(&mut self, reading: &Reading, place: Location) -> ObjectFormula {
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
