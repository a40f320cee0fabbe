//! `unevaluatedProperties` and `unevaluatedItems`: members and items that neither a keyword of the schema, nor one of a
//! subschema applied in place, evaluates.
//!
//! The evaluated children depend on the branches that hold, so they are computed as alternatives, each a condition with
//! the children evaluated under it. A larger evaluated set constrains fewer children. It is therefore sufficient that
//! *some* set of branches that hold covers the children; no branch has to fail, and only `else` needs a negation.

use crate::Draft;
use crate::document::json::Value;
use crate::document::resources::Location;
use crate::interner::Id;
use crate::keywords::member::{DeclaredNames, declared_names};
use crate::values::disjointness::{arrays_are_disjoint, objects_are_disjoint};
use crate::values::formula::truth;
use crate::values::formulas::NameId;
use crate::values::literals::{ObjectAssertion, Schema, ValueFormula};
use crate::values::schema_reader::SchemaContext;
use crate::values::value_set::ValueSet;
use crate::values::value_sets::ValueSets;
use grammask_automata::TermId;
use grammask_diagnostics::LimitExceeded;

/// The evaluated children of an object or array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct EvaluatedChildren {
    /// All of them.
    all: bool,
    names: Vec<NameId>,
    patterns: Vec<TermId>,
    /// Number of leading items.
    items: u32,
    /// Items that satisfy one of these formulas.
    matching: Vec<ValueFormula>,
}

impl EvaluatedChildren {
    fn all() -> Self {
        Self { all: true, ..Self::default() }
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn union(&self, other: &Self) -> Self {
        let mut union = self.clone();
        union.all |= other.all;
        union.items = union.items.max(other.items);
        union.names.extend(&other.names);
        union.patterns.extend(&other.patterns);
        union.matching.extend(&other.matching);
        union.names.sort_unstable();
        union.names.dedup();
        union.patterns.sort_unstable();
        union.patterns.dedup();
        union.matching.sort_unstable();
        union.matching.dedup();
        union
    }
}

/// Children evaluated under a condition. Only the object or array component of the condition matters.
#[derive(Clone, Debug, PartialEq, Eq)]
struct EvaluationCase {
    condition: ValueSet,
    evaluated: EvaluatedChildren,
}

impl EvaluationCase {
    fn none_evaluated(condition: ValueSet) -> Self {
        Self { condition, evaluated: EvaluatedChildren::default() }
    }
}

/// The kind of children.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChildKind {
    Members,
    Items,
}

/// Bound on the number of alternatives; more than in any schema of the corpus.
const MAX_CASES: usize = 512;

/// Levels of nested members that are compared to find conditions that exclude each other.
const MAX_COMPARED_DEPTH: usize = 2;

/// Bound on the nesting of subschemas applied in place below an `unevaluated` keyword.
const MAX_DEPTH: usize = 64;

/// The values of `set` whose unevaluated members satisfy `value`.
pub(super) fn close_members(
    sets: &mut ValueSets<'_>,
    context: &SchemaContext,
    set: ValueSet,
    value: ValueFormula,
) -> Result<ValueSet, LimitExceeded> {
    let keyword = "unevaluatedProperties";
    let Some(cases) = evaluation_cases(sets, context, ChildKind::Members, keyword, 0)? else {
        return Ok(relaxed(sets, context, keyword, set));
    };
    let formulas = &mut sets.formulas;
    let mut disjuncts = Vec::new();
    for EvaluationCase { condition, evaluated } in cases {
        let closed = if evaluated.all {
            truth()
        } else {
            let others = formulas.other_names(evaluated.names.into(), evaluated.patterns);
            formulas.each_member(others, value)
        };
        disjuncts.push(formulas.objects.and([condition.object, closed]));
    }
    let any_case = formulas.objects.or(disjuncts);
    Ok(ValueSet { object: formulas.objects.and([set.object, any_case]), ..set })
}

/// The values of `set` whose unevaluated items satisfy `value`.
pub(super) fn close_items(
    sets: &mut ValueSets<'_>,
    context: &SchemaContext,
    set: ValueSet,
    value: ValueFormula,
) -> Result<ValueSet, LimitExceeded> {
    let keyword = "unevaluatedItems";
    let Some(cases) = evaluation_cases(sets, context, ChildKind::Items, keyword, 0)? else {
        return Ok(relaxed(sets, context, keyword, set));
    };
    let formulas = &mut sets.formulas;
    let mut disjuncts = Vec::new();
    for EvaluationCase { condition, evaluated } in cases {
        let closed = if evaluated.all {
            truth()
        } else {
            let value = formulas.values.or(evaluated.matching.into_iter().chain([value]));
            formulas.each_item(evaluated.items, value)
        };
        disjuncts.push(formulas.arrays.and([condition.array, closed]));
    }
    let any_case = formulas.arrays.or(disjuncts);
    Ok(ValueSet { array: formulas.arrays.and([set.array, any_case]), ..set })
}

fn relaxed(sets: &mut ValueSets<'_>, context: &SchemaContext, keyword: &str, set: ValueSet) -> ValueSet {
    if let Some(place) = sets.reader.library.member(context.location, keyword) {
        let message = format!("`{keyword}` over this many alternatives is not supported");
        sets.reader.unsupported(place, message, "");
    }
    let object = sets.formulas.objects.literal(ObjectAssertion::Relaxed);
    ValueSet { object: sets.formulas.objects.and([set.object, object]), ..set }
}

/// The alternatives of one schema, without its own keyword `except`; `None` if there are too many.
fn evaluation_cases(
    sets: &mut ValueSets<'_>,
    context: &SchemaContext,
    kind: ChildKind,
    except: &str,
    depth: usize,
) -> Result<Option<Vec<EvaluationCase>>, LimitExceeded> {
    let any = sets.any();
    if depth > MAX_DEPTH {
        return Ok(None);
    }
    let mut cases = vec![EvaluationCase::none_evaluated(any)];
    for (keyword, place) in sets.reader.members(context.location) {
        let mut options = Vec::new();
        match &*keyword {
            keyword if keyword == except => continue,
            "$ref" | "$dynamicRef" | "$recursiveRef" => {
                let Some(target) = sets.reader.referenced(context, keyword.as_ref()) else { continue };
                let Some(inner) = cases_of_schema(sets, target, kind, depth)? else { return Ok(None) };
                options.extend(inner);
            }
            "allOf" => {
                for item in sets.reader.items(place) {
                    let schema = sets.reader.schema_at(item, context.scope);
                    let Some(inner) = cases_of_schema(sets, schema, kind, depth)? else { return Ok(None) };
                    let Some(both) = product(sets, kind, &cases, &inner)? else { return Ok(None) };
                    cases = both;
                }
                continue;
            }
            "anyOf" | "oneOf" => {
                let is_exclusive = &*keyword == "oneOf";
                let Some(inner) = cases_of_branches(sets, context, kind, place, is_exclusive, depth)? else {
                    return Ok(None);
                };
                options = inner;
            }
            "if" if context.dialect.draft >= Draft::Draft7 => {
                let Some(inner) = cases_of_conditional(sets, context, kind, place, depth)? else {
                    return Ok(None);
                };
                options = inner;
            }
            "dependentSchemas" if kind == ChildKind::Members => {
                for (name, dependent) in sets.reader.members(place) {
                    let name = sets.formulas.name(&name);
                    let condition = ValueSet { object: sets.formulas.has_member(name, truth()), ..any };
                    let schema = sets.reader.schema_at(dependent, context.scope);
                    let Some(inner) = cases_of_schema(sets, schema, kind, depth)? else { return Ok(None) };
                    let Some(mut inner) = under(sets, kind, condition, &inner)? else { return Ok(None) };
                    inner.push(EvaluationCase::none_evaluated(any));
                    let Some(both) = product(sets, kind, &cases, &inner)? else { return Ok(None) };
                    cases = both;
                }
                continue;
            }
            _ => {
                let Some(evaluated) = evaluated_by_keyword(sets, context, kind, &keyword, place) else {
                    return Ok(None);
                };
                if evaluated.is_empty() {
                    continue;
                }
                options.push(EvaluationCase { condition: any, evaluated });
            }
        }
        let Some(both) = product(sets, kind, &cases, &options)? else { return Ok(None) };
        cases = both;
    }
    Ok(Some(cases))
}

/// The alternatives of `anyOf`, or of `oneOf` if only one branch holds.
fn cases_of_branches(
    sets: &mut ValueSets<'_>,
    context: &SchemaContext,
    kind: ChildKind,
    place: Location,
    is_exclusive: bool,
    depth: usize,
) -> Result<Option<Vec<EvaluationCase>>, LimitExceeded> {
    let any = sets.any();
    let mut cases = vec![EvaluationCase::none_evaluated(any)];
    for item in sets.reader.items(place) {
        let schema = sets.reader.schema_at(item, context.scope);
        let condition = sets.applied(schema);
        let Some(inner) = cases_of_schema(sets, schema, kind, depth)? else { return Ok(None) };
        let Some(mut inner) = under(sets, kind, condition, &inner)? else { return Ok(None) };
        inner.retain(|case| !case.evaluated.is_empty());
        if is_exclusive {
            cases.extend(inner);
        } else {
            inner.push(EvaluationCase::none_evaluated(any));
            let Some(both) = product(sets, kind, &cases, &inner)? else { return Ok(None) };
            cases = both;
        }
    }
    Ok(Some(cases))
}

/// The alternatives of `if` with `then` and `else`.
fn cases_of_conditional(
    sets: &mut ValueSets<'_>,
    context: &SchemaContext,
    kind: ChildKind,
    place: Location,
    depth: usize,
) -> Result<Option<Vec<EvaluationCase>>, LimitExceeded> {
    let schema = sets.reader.schema_at(place, context.scope);
    let condition = sets.applied(schema);
    let Some(mut if_true) = cases_of_schema(sets, schema, kind, depth)? else { return Ok(None) };
    let mut if_false = vec![EvaluationCase::none_evaluated(sets.any())];
    for (branch, cases) in [("then", &mut if_true), ("else", &mut if_false)] {
        let Some(place) = sets.reader.library.member(context.location, branch) else { continue };
        let schema = sets.reader.schema_at(place, context.scope);
        let Some(inner) = cases_of_schema(sets, schema, kind, depth)? else { return Ok(None) };
        let Some(both) = product(sets, kind, cases, &inner)? else { return Ok(None) };
        *cases = both;
    }
    let negated = sets.complement(condition);
    let Some(mut cases) = under(sets, kind, condition, &if_true)? else { return Ok(None) };
    let Some(if_false) = under(sets, kind, negated, &if_false)? else { return Ok(None) };
    cases.extend(if_false);
    Ok(Some(cases))
}

fn cases_of_schema(
    sets: &mut ValueSets<'_>,
    schema: Id<Schema>,
    kind: ChildKind,
    depth: usize,
) -> Result<Option<Vec<EvaluationCase>>, LimitExceeded> {
    sets.check_limits()?;
    let Schema::At(location, scope) = sets.reader.schema(schema) else { return Ok(Some(Vec::new())) };
    let context = sets.reader.context(location, scope);
    evaluation_cases(sets, &context, kind, "", depth + 1)
}

/// The children that a keyword without in-place subschemas evaluates; `None` if a pattern is not supported.
fn evaluated_by_keyword(
    sets: &mut ValueSets<'_>,
    context: &SchemaContext,
    kind: ChildKind,
    keyword: &str,
    place: Location,
) -> Option<EvaluatedChildren> {
    let is_positional = matches!(sets.reader.library.get(place), Value::Array(_));
    let before_2020 = context.dialect.draft < Draft::Draft2020;
    Some(match (kind, keyword) {
        (ChildKind::Members, "properties" | "patternProperties") => {
            let ValueSets { reader, languages, formulas, .. } = sets;
            let DeclaredNames { names, patterns } = declared_names(reader, languages, formulas, context)?;
            let evaluated =
                EvaluatedChildren { names: names.into_vec(), patterns, ..EvaluatedChildren::default() };
            // The union sorts and deduplicates.
            evaluated.union(&EvaluatedChildren::default())
        }
        (ChildKind::Members, "additionalProperties" | "unevaluatedProperties")
        | (ChildKind::Items, "unevaluatedItems") => EvaluatedChildren::all(),
        (ChildKind::Items, "additionalItems") if before_2020 => {
            let items = sets.reader.library.member(context.location, "items");
            let is_positional =
                items.is_some_and(|items| matches!(sets.reader.library.get(items), Value::Array(_)));
            if is_positional { EvaluatedChildren::all() } else { EvaluatedChildren::default() }
        }
        (ChildKind::Items, "items") if !is_positional => EvaluatedChildren::all(),
        (ChildKind::Items, "items" | "prefixItems") if is_positional => EvaluatedChildren {
            items: u32::try_from(sets.reader.items(place).len()).unwrap_or(u32::MAX),
            ..EvaluatedChildren::default()
        },
        (ChildKind::Items, "contains") if !before_2020 => {
            let value = sets.satisfies(place, context.scope);
            EvaluatedChildren { matching: vec![value], ..EvaluatedChildren::default() }
        }
        _ => EvaluatedChildren::default(),
    })
}

/// The conjunctions of each pair of alternatives, without duplicates and without those whose conditions exclude each
/// other, so that conditions on a discriminator have one alternative per value; `None` if there are too many.
fn product(
    sets: &mut ValueSets<'_>,
    kind: ChildKind,
    left: &[EvaluationCase],
    right: &[EvaluationCase],
) -> Result<Option<Vec<EvaluationCase>>, LimitExceeded> {
    let mut product: Vec<EvaluationCase> = Vec::new();
    for one in left {
        for other in right {
            let (a, b) = (one.condition, other.condition);
            let is_impossible = match kind {
                ChildKind::Members => objects_are_disjoint(sets, a.object, b.object, MAX_COMPARED_DEPTH)?,
                ChildKind::Items => arrays_are_disjoint(sets, a.array, b.array, MAX_COMPARED_DEPTH)?,
            };
            if is_impossible {
                continue;
            }
            let condition = ValueSet {
                object: sets.formulas.objects.and([a.object, b.object]),
                array: sets.formulas.arrays.and([a.array, b.array]),
                ..a
            };
            let case = EvaluationCase { condition, evaluated: one.evaluated.union(&other.evaluated) };
            if !product.contains(&case) {
                product.push(case);
            }
            if product.len() > MAX_CASES {
                return Ok(None);
            }
        }
    }
    Ok(Some(product))
}

/// The alternatives with `condition` added to their conditions; `None` as of [`product`].
fn under(
    sets: &mut ValueSets<'_>,
    kind: ChildKind,
    condition: ValueSet,
    cases: &[EvaluationCase],
) -> Result<Option<Vec<EvaluationCase>>, LimitExceeded> {
    product(sets, kind, cases, &[EvaluationCase::none_evaluated(condition)])
}
