//! The value sets of schemas and formulas: each is computed once, subschemas applied in place first, without recursion.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::SchemaOptions;
use crate::document::resources::{Library, Location, Scope};
use crate::interner::{Id, Interner};
use crate::strings::string_encoding::EncodingKind;
use crate::values::formula::{Formula, ValuesById};
use crate::values::formulas::Formulas;
use crate::values::literals::{Satisfies, Schema, ValueFormula};
use crate::values::scalar_languages::ScalarLanguages;
use crate::values::schema_reader::SchemaReader;
use crate::values::value_set::ValueSet;
use grammask_diagnostics::{LimitExceeded, Limits};

/// The state of computing the value set of one schema.
#[derive(Clone, Copy, Debug)]
enum Computation {
    InProgress,
    Done(ValueSet),
}

/// The relation between a known constraint on a value and another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// All values that satisfy the known constraint satisfy the other.
    Implies,
    /// No value satisfies both.
    Excludes,
    /// Neither was found.
    Unknown,
}

/// An element of a finite set of values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListedValue {
    /// The id of the singleton; equal values have equal ids.
    pub(crate) id: u32,
    /// "Equals the value."
    pub(crate) formula: ValueFormula,
}

/// Computes the value set of a schema; those of the subschemas that it applies in place are computed already.
pub(crate) type SchemaEvaluator = fn(&mut ValueSets<'_>, Id<Schema>) -> Result<ValueSet, LimitExceeded>;

/// Memo tables of value sets, with the three structures that they are computed from.
pub(crate) struct ValueSets<'o> {
    pub(crate) reader: SchemaReader<'o>,
    pub(crate) languages: ScalarLanguages,
    pub(crate) formulas: Formulas,
    /// The translation of keywords, which is a layer above this one.
    evaluate_schema: SchemaEvaluator,
    of_schemas: FxHashMap<Id<Schema>, Computation>,
    of_formulas: FxHashMap<ValueFormula, ValueSet>,
    /// Conjunctions without their implied conjuncts, for `values::derivative`.
    pub(crate) simplified: FxHashMap<ValueFormula, ValueFormula>,
    /// Whether the first schema admits only strings, and the second none of them; for `values::derivative`.
    pub(crate) string_exclusions: FxHashMap<(Id<Schema>, Id<Schema>), bool>,
    /// Relations of constraints on a value, for `values::simplification`.
    pub(crate) relations: FxHashMap<(ValueFormula, ValueFormula), Relation>,
    /// Whether certainly no value satisfies a formula, for `values::simplification`.
    pub(crate) impossible: FxHashMap<ValueFormula, bool>,
    /// Whether the complement of a formula is cheap to emit, for `values::member_cells`.
    pub(crate) flat_complements: FxHashMap<ValueFormula, bool>,
    /// The elements of finite formulas, for `members::unique_items`.
    pub(crate) listed_values: FxHashMap<ValueFormula, Option<Vec<ListedValue>>>,
    /// Singletons among the listed values; equal values have equal sets and so equal ids.
    pub(crate) singletons: Interner<ValueSet>,
    /// The size of the emitted rules, which counts towards the limit on the size of the grammar.
    emitted_size: usize,
}

impl<'o> ValueSets<'o> {
    pub(crate) fn new(
        encoding: EncodingKind,
        library: Library<'o>,
        options: &'o SchemaOptions,
        limits: &'o Limits,
        evaluate_schema: SchemaEvaluator,
    ) -> Self {
        Self {
            languages: ScalarLanguages::new(encoding, options, limits),
            reader: SchemaReader::new(library, options, limits),
            formulas: Formulas::new(),
            evaluate_schema,
            of_schemas: FxHashMap::default(),
            of_formulas: FxHashMap::default(),
            simplified: FxHashMap::default(),
            string_exclusions: FxHashMap::default(),
            relations: FxHashMap::default(),
            impossible: FxHashMap::default(),
            flat_complements: FxHashMap::default(),
            listed_values: FxHashMap::default(),
            singletons: Interner::new(),
            emitted_size: 0,
        }
    }

    /// "Satisfies the root schema" as a formula.
    pub(crate) fn root(&mut self) -> ValueFormula {
        let root = self.reader.library.root();
        let scope = self.reader.library.first_scope();
        self.satisfies(root, scope)
    }

    /// "Satisfies the schema at `location`" as a formula.
    pub(crate) fn satisfies(&mut self, location: Location, scope: Id<Scope>) -> ValueFormula {
        self.reader.satisfies(&mut self.formulas, location, scope)
    }

    /// The first schema that a formula mentions, for descriptions.
    pub(crate) fn place_of(&self, value: ValueFormula) -> Option<Location> {
        let literals = self.formulas.values.literals(value);
        literals.into_iter().find_map(|literal| match self.reader.schema(literal.schema) {
            Schema::At(location, _) | Schema::Equal(location) => Some(location),
            Schema::Null | Schema::Boolean(_) => None,
        })
    }

    /// All values.
    pub(crate) fn any(&self) -> ValueSet {
        ValueSet::any(&self.languages)
    }

    /// The values outside `set`.
    pub(crate) fn complement(&mut self, set: ValueSet) -> ValueSet {
        set.complement(&self.languages, &mut self.formulas)
    }

    /// The values in both sets.
    pub(crate) fn both(&mut self, a: ValueSet, b: ValueSet) -> ValueSet {
        a.and(b, &mut self.languages, &mut self.formulas)
    }

    /// The values in every one of `sets`.
    pub(crate) fn intersection(&mut self, sets: &[ValueSet]) -> ValueSet {
        ValueSet::intersection(sets, &mut self.languages, &mut self.formulas)
    }

    /// The values in at least one of `sets`.
    pub(crate) fn union(&mut self, sets: &[ValueSet]) -> ValueSet {
        ValueSet::union(sets, &mut self.languages, &mut self.formulas)
    }

    pub(crate) fn is_plainly_empty(&mut self, set: ValueSet) -> Result<bool, LimitExceeded> {
        set.is_plainly_empty(&mut self.languages)
    }

    /// Sets the size of the emitted rules and checks all limits.
    pub(crate) fn check_limits_with(&mut self, emitted_size: usize) -> Result<(), LimitExceeded> {
        self.emitted_size = emitted_size;
        self.check_limits()
    }

    /// Fails if the translation has exceeded a limit on time, size or memory.
    pub(crate) fn check_limits(&self) -> Result<(), LimitExceeded> {
        self.reader.deadline.check()?;
        let limits = self.reader.limits;
        if self.formulas.size() + self.emitted_size + self.reader.schemas.len() > limits.grammar_size {
            return Err(LimitExceeded::new("grammar_size", limits.grammar_size));
        }
        if self.languages.automata.terms().memory_bytes() > limits.memory_bytes {
            return Err(LimitExceeded::new("memory_bytes", limits.memory_bytes));
        }
        Ok(())
    }

    /// The value set of a formula.
    pub(crate) fn of_formula(&mut self, formula: ValueFormula) -> Result<ValueSet, LimitExceeded> {
        if let Some(&set) = self.of_formulas.get(&formula) {
            return Ok(set);
        }
        for literal in self.formulas.values.literals(formula) {
            self.of_schema(literal.schema)?;
        }
        let mut sets = ValuesById::default();
        for id in self.formulas.values.descendants(formula) {
            let set = match self.formulas.values.get(id).clone() {
                Formula::False => ValueSet::none(&self.languages),
                Formula::True => self.any(),
                Formula::Literal(Satisfies { schema, negated }) => {
                    let set = self.of_schema(schema)?;
                    if negated { self.complement(set) } else { set }
                }
                Formula::And(parts) => {
                    let parts: Vec<ValueSet> = parts.iter().map(|&part| sets[part]).collect();
                    self.intersection(&parts)
                }
                Formula::Or(parts) => {
                    let parts: Vec<ValueSet> = parts.iter().map(|&part| sets[part]).collect();
                    self.union(&parts)
                }
            };
            sets.push(id, set);
        }
        let set = sets[formula];
        self.of_formulas.insert(formula, set);
        Ok(set)
    }

    /// The value set of a formula; `None` if a schema in it is in progress further up the call stack.
    pub(crate) fn try_of_formula(
        &mut self,
        formula: ValueFormula,
    ) -> Result<Option<ValueSet>, LimitExceeded> {
        for literal in self.formulas.values.literals(formula) {
            if self.try_of_schema(literal.schema)?.is_none() {
                return Ok(None);
            }
        }
        self.of_formula(formula).map(Some)
    }

    /// The value set of a schema; all values if the schema is in progress.
    fn of_schema(&mut self, schema: Id<Schema>) -> Result<ValueSet, LimitExceeded> {
        Ok(match self.try_of_schema(schema)? {
            Some(set) => set,
            None => self.any(),
        })
    }

    /// The value set of a schema; `None` if it depends on a schema that is in progress further up the call stack.
    ///
    /// A depth-first search with an explicit stack: the subschemas that a schema applies in place are computed before
    /// the schema itself.
    pub(crate) fn try_of_schema(&mut self, schema: Id<Schema>) -> Result<Option<ValueSet>, LimitExceeded> {
        let mut stack = vec![schema];
        let mut begun = FxHashSet::default();
        while let Some(&current) = stack.last() {
            if matches!(self.of_schemas.get(&current), Some(Computation::Done(_))) {
                stack.pop();
                continue;
            }
            self.check_limits()?;
            let first_visit = self.of_schemas.insert(current, Computation::InProgress).is_none();
            if first_visit {
                begun.insert(current);
            }
            let mut unvisited = Vec::new();
            let mut is_blocked = !begun.contains(&current);
            for dependency in self.reader.applied_in_place(current) {
                match self.of_schemas.get(&dependency) {
                    Some(Computation::Done(_)) => {}
                    Some(Computation::InProgress) if begun.contains(&dependency) => {
                        self.reader.refuse_cycle(dependency);
                    }
                    Some(Computation::InProgress) => is_blocked = true,
                    None => unvisited.push(dependency),
                }
            }
            if is_blocked {
                for schema in begun {
                    if matches!(self.of_schemas.get(&schema), Some(Computation::InProgress)) {
                        self.of_schemas.remove(&schema);
                    }
                }
                return Ok(None);
            }
            if first_visit && !unvisited.is_empty() {
                stack.extend(unvisited.into_iter().rev());
                continue;
            }
            let set = (self.evaluate_schema)(self, current)?;
            self.of_schemas.insert(current, Computation::Done(set));
            stack.pop();
        }
        match self.of_schemas.get(&schema) {
            Some(Computation::Done(set)) => Ok(Some(*set)),
            _ => Ok(None),
        }
    }

    /// The value set of a subschema applied in place, which is computed already; all values if it is part of a cycle.
    pub(crate) fn applied(&self, schema: Id<Schema>) -> ValueSet {
        match self.of_schemas.get(&schema) {
            Some(Computation::Done(set)) => *set,
            _ => self.any(),
        }
    }
}
