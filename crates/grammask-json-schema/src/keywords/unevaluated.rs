//! `unevaluatedProperties` and `unevaluatedItems`: what no keyword of the schema, or of what it applies in place, has
//! looked at.
//!
//! What was looked at depends on which branches hold, so it comes as alternatives, (condition, what is evaluated
//! under it). More evaluated means fewer values left to constrain, so it is enough that *some* set of branches that
//! hold covers what the value needs: no branch has to be known to fail, and no negation is needed but for `else`.

use crate::Draft;
use crate::document::json::Value;
use crate::document::resources::Location;
use crate::interner::Id;
use crate::keywords::Reading;
use crate::translation::Translation;
use crate::values::formula::{falsehood, truth};
use crate::values::literals::{AboutObject, Schema, ValueFormula};
use crate::values::value_set::Shape;
use grammask_automata::TermId;
use grammask_diagnostics::LimitExceeded;

/// What was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Evaluated {
    /// Every member or item.
    all: bool,
    names: Vec<Id<Box<str>>>,
    patterns: Vec<TermId>,
    /// Items before this position.
    items: u32,
    /// Items that satisfy one of these.
    matching: Vec<ValueFormula>,
}

impl Evaluated {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    fn join(&self, other: &Self) -> Self {
        let mut joined = self.clone();
        joined.all |= other.all;
        joined.items = joined.items.max(other.items);
        joined.names.extend(&other.names);
        joined.patterns.extend(&other.patterns);
        joined.matching.extend(&other.matching);
        joined.names.sort_unstable();
        joined.names.dedup();
        joined.patterns.sort_unstable();
        joined.patterns.dedup();
        joined.matching.sort_unstable();
        joined.matching.dedup();
        joined
    }
}

/// A condition, as the shape of what must hold, and what is evaluated under it. Only the object or the array part of
/// the shape counts.
type Alternative = (Shape, Evaluated);

/// Whether members or items are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parts {
    Members,
    Items,
}

/// More alternatives than any schema of people has.
const MOST_ALTERNATIVES: usize = 512;

/// How deep schemas applied in place may nest in each other below an `unevaluated` keyword.
const DEEPEST: usize = 64;

impl Translation<'_> {
    /// `shape`, and all members that nothing has looked at satisfy `rest`.
    pub(crate) fn close_unevaluated_members(
        &mut self,
        reading: &Reading,
        shape: Shape,
        rest: ValueFormula,
    ) -> Result<Shape, LimitExceeded> {
        let Some(alternatives) = self.evaluated_by(reading, Parts::Members, "unevaluatedProperties", 0)?
        else {
            return Ok(self.relaxed_unevaluated(reading, "unevaluatedProperties", shape));
        };
        let mut cases = Vec::new();
        for (condition, evaluated) in alternatives {
            let closed = if evaluated.all {
                truth()
            } else {
                let others = self.others(evaluated.names.into(), evaluated.patterns);
                self.each_member(others, rest)
            };
            cases.push(self.objects.and([condition.object, closed]));
        }
        let any_case = self.objects.or(cases);
        Ok(Shape { object: self.objects.and([shape.object, any_case]), ..shape })
    }

    /// `shape`, and all items that nothing has looked at satisfy `rest`.
    pub(crate) fn close_unevaluated_items(
        &mut self,
        reading: &Reading,
        shape: Shape,
        rest: ValueFormula,
    ) -> Result<Shape, LimitExceeded> {
        let Some(alternatives) = self.evaluated_by(reading, Parts::Items, "unevaluatedItems", 0)? else {
            return Ok(self.relaxed_unevaluated(reading, "unevaluatedItems", shape));
        };
        let mut cases = Vec::new();
        for (condition, evaluated) in alternatives {
            let closed = if evaluated.all {
                truth()
            } else {
                let value = self.values.or(evaluated.matching.into_iter().chain([rest]));
                self.each_item(evaluated.items, value)
            };
            cases.push(self.arrays.and([condition.array, closed]));
        }
        let any_case = self.arrays.or(cases);
        Ok(Shape { array: self.arrays.and([shape.array, any_case]), ..shape })
    }

    fn relaxed_unevaluated(&mut self, reading: &Reading, keyword: &str, shape: Shape) -> Shape {
        if let Some(place) = self.library.member(reading.location, keyword) {
            self.unsupported(place, format!("`{keyword}` over so many alternatives is not supported"), "");
        }
        let object = self.objects.literal(AboutObject::Relaxed);
        Shape { object: self.objects.and([shape.object, object]), ..shape }
    }

    /// The alternatives for one schema, without what its own keyword `except` says; none if they are too many.
    fn evaluated_by(
        &mut self,
        reading: &Reading,
        parts: Parts,
        except: &str,
        depth: usize,
    ) -> Result<Option<Vec<Alternative>>, LimitExceeded> {
        let any = self.any_shape();
        if depth > DEEPEST {
            return Ok(None);
        }
        let mut alternatives = vec![(any, Evaluated::default())];
        for (keyword, place) in self.members(reading.location) {
            let mut options = Vec::new();
            match &*keyword {
                keyword if keyword == except => continue,
                "$ref" | "$dynamicRef" | "$recursiveRef" => {
                    let Some(target) = self.referenced(reading, keyword.as_ref()) else { continue };
                    let Some(found) = self.evaluated_by_schema(target, parts, depth)? else {
                        return Ok(None);
                    };
                    options.extend(found);
                }
                "allOf" => {
                    for item in self.items(place) {
                        let schema = self.schema_at(item, reading.scope);
                        let Some(found) = self.evaluated_by_schema(schema, parts, depth)? else {
                            return Ok(None);
                        };
                        alternatives = self.product(alternatives, &found);
                    }
                    continue;
                }
                "anyOf" | "oneOf" => {
                    let mut either = vec![(any, Evaluated::default())];
                    for item in self.items(place) {
                        let schema = self.schema_at(item, reading.scope);
                        let condition = self.shape_in_place(schema);
                        let Some(found) = self.evaluated_by_schema(schema, parts, depth)? else {
                            return Ok(None);
                        };
                        let mut found = self.under(condition, found);
                        found.retain(|(_, evaluated)| !evaluated.is_nothing());
                        if &*keyword == "oneOf" {
                            either.extend(found);
                        } else {
                            found.push((any, Evaluated::default()));
                            either = self.product(either, &found);
                        }
                        if either.len() > MOST_ALTERNATIVES {
                            return Ok(None);
                        }
                    }
                    options = either;
                }
                "if" if reading.dialect.draft >= Draft::Draft7 => {
                    let schema = self.schema_at(place, reading.scope);
                    let condition = self.shape_in_place(schema);
                    let Some(mut met) = self.evaluated_by_schema(schema, parts, depth)? else {
                        return Ok(None);
                    };
                    let mut unmet = vec![(any, Evaluated::default())];
                    for (branch, found) in [("then", &mut met), ("else", &mut unmet)] {
                        let Some(place) = self.library.member(reading.location, branch) else { continue };
                        let schema = self.schema_at(place, reading.scope);
                        let Some(more) = self.evaluated_by_schema(schema, parts, depth)? else {
                            return Ok(None);
                        };
                        *found = self.product(std::mem::take(found), &more);
                    }
                    let negated = self.other_than(condition);
                    options.extend(self.under(condition, met));
                    options.extend(self.under(negated, unmet));
                }
                "dependentSchemas" if parts == Parts::Members => {
                    for (name, dependent) in self.members(place) {
                        let name = self.name(&name);
                        let condition = Shape { object: self.has(name, truth()), ..any };
                        let schema = self.schema_at(dependent, reading.scope);
                        let Some(found) = self.evaluated_by_schema(schema, parts, depth)? else {
                            return Ok(None);
                        };
                        let mut found = self.under(condition, found);
                        found.push((any, Evaluated::default()));
                        alternatives = self.product(alternatives, &found);
                    }
                    continue;
                }
                _ => {
                    let Some(evaluated) = self.looked_at(reading, parts, &keyword, place) else {
                        return Ok(None);
                    };
                    if evaluated.is_nothing() {
                        continue;
                    }
                    options.push((any, evaluated));
                }
            }
            alternatives = self.product(alternatives, &options);
            if alternatives.len() > MOST_ALTERNATIVES {
                return Ok(None);
            }
        }
        Ok(Some(alternatives))
    }

    fn evaluated_by_schema(
        &mut self,
        schema: Id<Schema>,
        parts: Parts,
        depth: usize,
    ) -> Result<Option<Vec<Alternative>>, LimitExceeded> {
        self.check_limits()?;
        let Schema::At(location, scope) = self.schema(schema) else { return Ok(Some(Vec::new())) };
        let reading = Reading { location, scope, dialect: self.library.dialect(location) };
        self.evaluated_by(&reading, parts, "", depth + 1)
    }

    /// What a keyword that applies nothing in place looks at; none if that is not known.
    fn looked_at(
        &mut self,
        reading: &Reading,
        parts: Parts,
        keyword: &str,
        place: Location,
    ) -> Option<Evaluated> {
        let all = Evaluated { all: true, ..Evaluated::default() };
        let positional = matches!(self.library.get(place), Value::Array(_));
        let old = reading.dialect.draft < Draft::Draft2020;
        Some(match (parts, keyword) {
            (Parts::Members, "properties" | "patternProperties") => {
                let (names, patterns) = self.names_beside(reading)?;
                Evaluated { names: names.into_vec(), patterns, ..Evaluated::default() }
                    .join(&Evaluated::default())
            }
            (Parts::Members, "additionalProperties" | "unevaluatedProperties")
            | (Parts::Items, "unevaluatedItems") => all,
            (Parts::Items, "additionalItems") if old => {
                let items = self.library.member(reading.location, "items");
                let positional =
                    items.is_some_and(|items| matches!(self.library.get(items), Value::Array(_)));
                if positional { all } else { Evaluated::default() }
            }
            (Parts::Items, "items") if !positional => all,
            (Parts::Items, "items" | "prefixItems") if positional => Evaluated {
                items: u32::try_from(self.items(place).len()).unwrap_or(u32::MAX),
                ..Evaluated::default()
            },
            (Parts::Items, "contains") if !old => {
                let value = self.satisfies(place, reading.scope);
                Evaluated { matching: vec![value], ..Evaluated::default() }
            }
            _ => Evaluated::default(),
        })
    }

    /// Every pair of alternatives, together.
    fn product(&mut self, left: Vec<Alternative>, right: &[Alternative]) -> Vec<Alternative> {
        let mut product: Vec<Alternative> = Vec::new();
        for (condition, evaluated) in &left {
            for (other_condition, other) in right {
                let both = Shape {
                    object: self.objects.and([condition.object, other_condition.object]),
                    array: self.arrays.and([condition.array, other_condition.array]),
                    ..*condition
                };
                let pair = (both, evaluated.join(other));
                let impossible = both.object == falsehood() && both.array == falsehood();
                if !impossible && !product.contains(&pair) {
                    product.push(pair);
                }
            }
        }
        product
    }

    /// The alternatives where `condition` holds too.
    fn under(&mut self, condition: Shape, alternatives: Vec<Alternative>) -> Vec<Alternative> {
        let condition = [(condition, Evaluated::default())];
        self.product(alternatives, &condition)
    }
}
