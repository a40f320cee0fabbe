//! The state of one translation, and the shapes of schemas: computed once each, in-place parts first, without recursion.

use std::sync::{LazyLock, Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use super::excluded_words::ExcludedWords;
use super::findings::Findings;
use super::formula::{Formula, Formulas, falsehood, truth};
use super::interner::{Id, Interner};
use super::json::Value;
use super::layout::{Layout, Punctuation};
use super::literals::{
    AboutArray, AboutObject, NameSet, ObjectFormula, Satisfies, Schema, Seen, ValueFormula,
};
use super::numbers::NumberSet;
use super::resources::{Library, Location, Scope, Unresolved};
use super::rules::{RuleId, Rules};
use super::shape::{Shape, StringSet};
use super::spelling::{Spelling, Universe};
use super::{Numbers, SchemaOptions};
use grammask_automata::{Automata, TermId, Terms};
use grammask_diagnostics::{Code, Deadline, LimitExceeded, Limits};

/// How far the shape of a schema is.
#[derive(Clone, Copy, Debug)]
enum Progress {
    Begun,
    Done(Shape),
}

/// Everything that one translation knows.
pub(super) struct Translation<'o> {
    pub(super) options: &'o SchemaOptions,
    pub(super) limits: &'o Limits,
    pub(super) deadline: Deadline,
    pub(super) library: Library<'o>,
    pub(super) automata: Automata,
    pub(super) spelling: Spelling,
    pub(super) excluded_words: ExcludedWords,
    pub(super) layout: Layout,
    pub(super) values: Formulas<Satisfies>,
    pub(super) arrays: Formulas<AboutArray>,
    pub(super) objects: Formulas<AboutObject>,
    pub(super) names: Interner<Box<str>>,
    pub(super) name_lists: Interner<Box<[Id<Box<str>>]>>,
    pub(super) name_sets: Interner<NameSet>,
    pub(super) seen: Interner<Seen>,
    pub(super) findings: Findings,
    pub(super) rules: Rules,
    pub(super) any_number: NumberSet,
    pub(super) any_string: StringSet,
    /// Formulas about values and their negations.
    pub(super) negations: FxHashMap<ValueFormula, ValueFormula>,
    pub(super) patterns: FxHashMap<Box<str>, Option<TermId>>,
    pub(super) set_members: FxHashMap<(Id<NameSet>, Id<Box<str>>), bool>,
    pub(super) value_rules: FxHashMap<(Shape, u32), RuleId>,
    /// Rules of values that are yet to be defined.
    pub(super) pending: Vec<(Shape, u32, RuleId)>,
    /// The values of formulas that have few.
    pub(super) listed: FxHashMap<ValueFormula, Option<Vec<(u32, ValueFormula)>>>,
    /// Conjunctions that fewer of their parts say too.
    pub(super) shorter: FxHashMap<ValueFormula, ValueFormula>,
    /// Whether the first schema is about strings of which the second has none.
    pub(super) excluded: FxHashMap<(Id<Schema>, Id<Schema>), bool>,
    /// Places of `uniqueItems` that could not be enforced.
    pub(super) relaxed_uniqueness: FxHashSet<Location>,
    /// Single values that were listed, by their shapes.
    pub(super) constants: Interner<Shape>,
    schemas: Interner<Schema>,
    progress: FxHashMap<Id<Schema>, Progress>,
    shapes_of_formulas: FxHashMap<ValueFormula, Shape>,
}

/// States of the spellings of a character, at most.
const MOST_STATES_OF_A_CHARACTER: usize = 1024;

/// What every translation with the same spellings begins with; making it takes longer than many a schema.
#[derive(Clone)]
struct Beginning {
    terms: Terms,
    spelling: Spelling,
    any_number: NumberSet,
    any_string: StringSet,
}

impl Beginning {
    fn of(universe: Universe, numbers: Numbers) -> Self {
        static KNOWN: LazyLock<Mutex<FxHashMap<(Universe, Numbers), Beginning>>> =
            LazyLock::new(Mutex::default);
        // A thread that panics leaves the map whole.
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let mut terms = Terms::new();
            let mut spelling = Spelling::within(universe);
            let texts = spelling.texts(&mut terms);
            let character = spelling.any(&mut terms);
            let is_prefix_code = Automata::new(terms.clone(), MOST_STATES_OF_A_CHARACTER)
                .is_prefix_code(character, MOST_STATES_OF_A_CHARACTER);
            if is_prefix_code == Ok(true) {
                terms.record_prefix_code(character);
            }
            let any_number = NumberSet::any(&mut terms, numbers);
            let any_string = StringSet { yes: texts, no: terms.nothing() };
            Self { terms, spelling, any_number, any_string }
        };
        known.entry((universe, numbers)).or_insert_with(make).clone()
    }
}

impl<'o> Translation<'o> {
    /// Of schemas whose strings are written as JSON.
    pub(super) fn new(library: Library<'o>, options: &'o SchemaOptions, limits: &'o Limits) -> Self {
        Self::within(Universe::Json(options.escapes), library, options, limits)
    }

    /// Of schemas whose strings are written as a universe says.
    pub(super) fn within(
        universe: Universe,
        library: Library<'o>,
        options: &'o SchemaOptions,
        limits: &'o Limits,
    ) -> Self {
        let Beginning { mut terms, spelling, any_number, any_string } =
            Beginning::of(universe, options.numbers);
        let excluded_words = ExcludedWords::new(&mut terms, &options.excludes);
        Self {
            options,
            limits,
            deadline: Deadline::after(limits.time),
            library,
            // Searches for a word of an intersection are the slowest thing that is done with states.
            automata: Automata::new(terms, limits.automaton_states / 4),
            spelling,
            excluded_words,
            layout: Layout::new(options.whitespace.clone()),
            values: Formulas::new(),
            arrays: Formulas::new(),
            objects: Formulas::new(),
            names: Interner::new(),
            name_lists: Interner::new(),
            name_sets: Interner::new(),
            seen: Interner::new(),
            findings: Findings::default(),
            rules: Rules::default(),
            any_number,
            any_string,
            negations: FxHashMap::default(),
            patterns: FxHashMap::default(),
            set_members: FxHashMap::default(),
            value_rules: FxHashMap::default(),
            pending: Vec::new(),
            listed: FxHashMap::default(),
            shorter: FxHashMap::default(),
            excluded: FxHashMap::default(),
            relaxed_uniqueness: FxHashSet::default(),
            constants: Interner::new(),
            schemas: Interner::new(),
            progress: FxHashMap::default(),
            shapes_of_formulas: FxHashMap::default(),
        }
    }

    /// Stops a translation that has grown too large or takes too long.
    pub(super) fn check_limits(&self) -> Result<(), LimitExceeded> {
        self.deadline.check()?;
        let size = self.values.size() + self.arrays.size() + self.objects.size() + self.rules.size();
        if size + self.schemas.len() > self.limits.grammar_size {
            return Err(LimitExceeded::new("grammar_size", self.limits.grammar_size));
        }
        if self.automata.terms().memory_bytes() > self.limits.memory_bytes {
            return Err(LimitExceeded::new("memory_bytes", self.limits.memory_bytes));
        }
        Ok(())
    }

    pub(super) fn schema(&self, schema: Id<Schema>) -> Schema {
        *self.schemas.get(schema)
    }

    /// The schema at `location`, entered under `scope`.
    pub(super) fn schema_at(&mut self, location: Location, scope: Id<Scope>) -> Id<Schema> {
        let scope = self.library.enter(location, scope);
        let first = self.library.first_of_the_same(location);
        if first != location {
            self.findings.repeat(first, location);
        }
        self.schemas.intern(Schema::At(first, scope))
    }

    /// "Satisfies the schema at `location`" as a formula.
    pub(super) fn satisfies(&mut self, location: Location, scope: Id<Scope>) -> ValueFormula {
        let (mut location, mut scope) = (location, scope);
        // A schema that is nothing but a reference is the schema that it refers to.
        for _ in 0..100 {
            match self.library.get(location) {
                Value::Boolean(true) => return truth(),
                Value::Boolean(false) => return falsehood(),
                Value::Object(members) if members.is_empty() => return truth(),
                Value::Object(members) if members.len() == 1 && &*members[0].0 == "$ref" => {
                    scope = self.library.enter(location, scope);
                    match self.reference_target(location, scope, "$ref") {
                        Some(target) => location = target,
                        None => return truth(),
                    }
                }
                _ => break,
            }
        }
        let schema = self.schema_at(location, scope);
        self.values.literal(Satisfies { schema, negated: false })
    }

    /// "Equals the value at `location`" as a formula.
    pub(super) fn equals(&mut self, location: Location) -> ValueFormula {
        self.is_a(Schema::Equal(location))
    }

    /// "Satisfies `schema`" as a formula.
    pub(super) fn is_a(&mut self, schema: Schema) -> ValueFormula {
        let schema = self.schemas.intern(schema);
        self.values.literal(Satisfies { schema, negated: false })
    }

    /// Where the reference under `keyword` of the schema at `location` leads; a finding if nowhere.
    pub(super) fn reference_target(
        &mut self,
        location: Location,
        scope: Id<Scope>,
        keyword: &str,
    ) -> Option<Location> {
        let place = self.library.member(location, keyword)?;
        let Value::String(reference) = self.library.get(place) else {
            self.invalid(place, "a reference is a string");
            return None;
        };
        let reference = reference.clone();
        match self.library.resolve(location, place, &reference) {
            Ok(target) if keyword == "$ref" => Some(target),
            Ok(target) => Some(self.library.resolve_dynamic(target, &reference, scope).unwrap_or(target)),
            Err(unresolved) => {
                let (message, help) = match unresolved {
                    Unresolved::Document(uri) => (
                        format!("there is no document `{uri}`"),
                        "give the document with a resolver, or bring what is needed into `$defs`",
                    ),
                    Unresolved::Place(uri) => (format!("nothing is at `{uri}`"), ""),
                    Unresolved::NotJson(uri) => (format!("the document `{uri}` is not JSON"), ""),
                };
                self.findings.add(&self.library, Code::UnresolvedReference, place, message, help);
                None
            }
        }
    }

    /// The shape of what a formula about a value asks for.
    pub(super) fn shape_of_formula(&mut self, formula: ValueFormula) -> Result<Shape, LimitExceeded> {
        if let Some(&shape) = self.shapes_of_formulas.get(&formula) {
            return Ok(shape);
        }
        for literal in self.values.literals(formula) {
            self.shape_of(literal.schema)?;
        }
        let mut shapes: FxHashMap<ValueFormula, Shape> = FxHashMap::default();
        for id in self.values.below(formula) {
            let shape = match self.values.get(id).clone() {
                Formula::False => self.no_shape(),
                Formula::True => self.any_shape(),
                Formula::Literal(Satisfies { schema, negated }) => {
                    let shape = self.shape_of(schema)?;
                    if negated { self.other_than(shape) } else { shape }
                }
                Formula::And(parts) => {
                    let parts: Vec<Shape> = parts.iter().map(|part| shapes[part]).collect();
                    self.all_of(&parts)
                }
                Formula::Or(parts) => {
                    let parts: Vec<Shape> = parts.iter().map(|part| shapes[part]).collect();
                    self.any_of(&parts)
                }
            };
            shapes.insert(id, shape);
        }
        let shape = shapes[&formula];
        self.shapes_of_formulas.insert(formula, shape);
        Ok(shape)
    }

    /// The shape of a formula, if that takes no schema that is being worked on.
    pub(super) fn try_shape_of_formula(
        &mut self,
        formula: ValueFormula,
    ) -> Result<Option<Shape>, LimitExceeded> {
        for literal in self.values.literals(formula) {
            if self.try_shape_of(literal.schema)?.is_none() {
                return Ok(None);
            }
        }
        self.shape_of_formula(formula).map(Some)
    }

    /// The shape of a schema.
    pub(super) fn shape_of(&mut self, schema: Id<Schema>) -> Result<Shape, LimitExceeded> {
        Ok(match self.try_shape_of(schema)? {
            Some(shape) => shape,
            None => self.any_shape(),
        })
    }

    /// The shape of a schema; none if it needs one that a caller further up works on. What a schema applies in
    /// place comes before itself; all of that is on one explicit stack.
    pub(super) fn try_shape_of(&mut self, schema: Id<Schema>) -> Result<Option<Shape>, LimitExceeded> {
        let mut stack = vec![schema];
        let mut begun = FxHashSet::default();
        while let Some(&current) = stack.last() {
            if matches!(self.progress.get(&current), Some(Progress::Done(_))) {
                stack.pop();
                continue;
            }
            self.check_limits()?;
            let first_visit = self.progress.insert(current, Progress::Begun).is_none();
            if first_visit {
                begun.insert(current);
            }
            let mut open = Vec::new();
            let mut blocked = !begun.contains(&current);
            for needed in self.applied_in_place(current) {
                match self.progress.get(&needed) {
                    Some(Progress::Done(_)) => {}
                    Some(Progress::Begun) if begun.contains(&needed) => self.refuse_circle(needed),
                    Some(Progress::Begun) => blocked = true,
                    None => open.push(needed),
                }
            }
            if blocked {
                for schema in begun {
                    if matches!(self.progress.get(&schema), Some(Progress::Begun)) {
                        self.progress.remove(&schema);
                    }
                }
                return Ok(None);
            }
            if first_visit && !open.is_empty() {
                stack.extend(open.into_iter().rev());
                continue;
            }
            let shape = self.assemble(current)?;
            self.progress.insert(current, Progress::Done(shape));
            stack.pop();
        }
        match self.progress.get(&schema) {
            Some(Progress::Done(shape)) => Ok(Some(*shape)),
            _ => Ok(None),
        }
    }

    /// The shape of a schema that is applied in place; all values, if it goes round in a circle.
    pub(super) fn shape_in_place(&self, schema: Id<Schema>) -> Shape {
        match self.progress.get(&schema) {
            Some(Progress::Done(shape)) => *shape,
            _ => self.any_shape(),
        }
    }

    fn refuse_circle(&mut self, schema: Id<Schema>) {
        if let Schema::At(location, _) = self.schema(schema) {
            let message = "the schema refers to itself without going into a value".to_owned();
            self.findings.add(
                &self.library,
                Code::InvalidSchema,
                location,
                message,
                "the standard gives this no meaning",
            );
        }
    }

    /// Notes that a keyword has a value that it must not have.
    pub(super) fn invalid(&mut self, place: Location, message: &str) {
        self.findings.add(&self.library, Code::InvalidSchema, place, message.to_owned(), "");
    }

    /// Notes that a keyword cannot be enforced.
    pub(super) fn unsupported(&mut self, place: Location, message: String, help: &str) {
        self.findings.add(&self.library, Code::UnsupportedSchema, place, message, help);
    }

    /// The punctuation of arrays and objects whose parts have that depth.
    pub(super) fn punctuation(&mut self, depth: u32) -> Punctuation {
        self.layout.punctuation(self.automata.terms_mut(), &mut self.rules, depth)
    }

    pub(super) fn name(&mut self, name: &str) -> Id<Box<str>> {
        self.names.intern(name.into())
    }

    /// "If there is a member `name`, it satisfies `value`."
    pub(super) fn if_present(&mut self, name: Id<Box<str>>, value: ValueFormula) -> ObjectFormula {
        if value == truth() { truth() } else { self.objects.literal(AboutObject::If(name, value)) }
    }

    /// "There is a member `name`, and it satisfies `value`."
    pub(super) fn has(&mut self, name: Id<Box<str>>, value: ValueFormula) -> ObjectFormula {
        if value == falsehood() { falsehood() } else { self.objects.literal(AboutObject::Has(name, value)) }
    }

    /// "Each member with a name in `names` satisfies `value`."
    pub(super) fn each_member(&mut self, names: Id<NameSet>, value: ValueFormula) -> ObjectFormula {
        if value == truth() { truth() } else { self.objects.literal(AboutObject::Each(names, value)) }
    }

    /// "Some member with a name in `names` satisfies `value`."
    pub(super) fn some_member(&mut self, names: Id<NameSet>, value: ValueFormula) -> ObjectFormula {
        if value == falsehood() { falsehood() } else { self.objects.literal(AboutObject::Some(names, value)) }
    }
}
