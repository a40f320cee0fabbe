//! The assertions that formulas are made of: about a value (it satisfies a schema, or does not), about an array, about
//! an object. Each has a negation that is an assertion too, so formulas need no *not*.

use crate::document::resources::{Location, Scope};
use crate::interner::Id;
use crate::values::formula::{FormulaId, Literal};
use grammask_automata::TermId;

/// What a value can be asked to satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Schema {
    /// The schema at a place, reached under a dynamic scope.
    At(Location, Id<Scope>),
    /// Being equal to the value at a place, as `const` and `enum` ask.
    Equal(Location),
    /// Being null.
    Null,
    /// Being this boolean.
    Boolean(bool),
}

/// A value satisfies a schema, or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Satisfies {
    pub(crate) schema: Id<Schema>,
    pub(crate) negated: bool,
}

impl Literal for Satisfies {
    fn opposite(&self) -> Option<Self> {
        Some(Self { negated: !self.negated, ..*self })
    }
}

/// A formula about a value.
pub(crate) type ValueFormula = FormulaId<Satisfies>;

/// A set of the names of members, decoded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NameSet {
    /// Every name.
    All,
    /// The names in a language of spellings.
    Matching(TermId),
    /// The names that are none of `names` and in none of the languages.
    Others {
        /// Declared names, ascending.
        names: Box<[Id<Box<str>>]>,
        /// Languages of spellings, ascending.
        patterns: Box<[TermId]>,
    },
}

/// An assertion about an object. Names are concrete ones that the schema mentions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ObjectAssertion {
    /// Says nothing; the names are declared, in this order.
    Declares(Id<Box<[Id<Box<str>>]>>),
    /// Says nothing in either polarity: a constraint that was left out.
    Relaxed,
    /// If there is a member of that name, its value satisfies the formula.
    If(Id<Box<str>>, ValueFormula),
    /// There is a member of that name, and its value satisfies the formula.
    Has(Id<Box<str>>, ValueFormula),
    /// All members with names in the set satisfy the formula.
    Each(Id<NameSet>, ValueFormula),
    /// Some member with a name in the set satisfies the formula.
    Some(Id<NameSet>, ValueFormula),
    /// There are so many members.
    AtLeast(u32),
    /// There are no more members.
    AtMost(u32),
}

impl Literal for ObjectAssertion {}

/// A formula about an object.
pub(crate) type ObjectFormula = FormulaId<ObjectAssertion>;

/// Items that were seen already, for `uniqueItems`: sorted ids of values.
pub(crate) type SeenItems = Box<[u32]>;

/// An assertion about an array. Positions count from the part of the array that is still to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ArrayAssertion {
    /// If there is an item at the position, it satisfies the formula.
    If(u32, ValueFormula),
    /// There is an item at the position, and it satisfies the formula.
    Has(u32, ValueFormula),
    /// All items from the position on satisfy the formula.
    Each(u32, ValueFormula),
    /// Some item from the position on satisfies the formula.
    Some(u32, ValueFormula),
    /// There are so many items.
    AtLeast(u32),
    /// There are no more items.
    AtMost(u32),
    /// So many items satisfy the formula.
    MatchAtLeast(u32, ValueFormula),
    /// No more items satisfy the formula.
    MatchAtMost(u32, ValueFormula),
    /// No two items are equal, and none equals one seen before. The place is that of the keyword.
    Unique(Location, Id<SeenItems>),
    /// Two items are equal, or one equals one seen before.
    Repeated(Location, Id<SeenItems>),
}

impl Literal for ArrayAssertion {}

/// A formula about an array.
pub(crate) type ArrayFormula = FormulaId<ArrayAssertion>;
