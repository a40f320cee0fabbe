//! The assertions of formulas: about a value (whether it satisfies a schema), an array or an object. The negation of
//! each is an assertion as well, so formulas need no *not*.

use crate::document::resources::{Location, Scope};
use crate::interner::Id;
use crate::values::formula::{FormulaId, Literal};
use grammask_automata::TermId;

/// A schema that a value may satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Schema {
    /// The schema at a location, entered under a dynamic scope.
    At(Location, Id<Scope>),
    /// Equality with the value at a location, for `const` and `enum`.
    Equal(Location),
    /// The value null.
    Null,
    /// A boolean value.
    Boolean(bool),
}

/// Whether a value satisfies a schema.
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

/// A set of decoded member names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NameSet {
    /// Every name.
    All,
    /// The names in a language of encodings.
    Matching(TermId),
    /// The names that a schema of names refuses. Names for which the schema is not decided are in the set, but in the
    /// negation of an assertion about it they are not.
    Refused {
        /// The language of the set.
        names: TermId,
        /// The language of the set in the negation of the assertion.
        negated: TermId,
    },
    /// The names that are neither in `names` nor in one of the languages.
    Others {
        /// Declared names, in ascending order.
        names: Box<[Id<Box<str>>]>,
        /// Languages of encodings, in ascending order.
        patterns: Box<[TermId]>,
    },
}

/// An assertion about an object. Names are those that the schema mentions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ObjectAssertion {
    /// Always true; declares names in this order.
    Declares(Id<Box<[Id<Box<str>>]>>),
    /// Always true, in either polarity: a constraint that was dropped.
    Relaxed,
    /// If the object has a member of that name, its value satisfies the formula.
    If(Id<Box<str>>, ValueFormula),
    /// The object has a member of that name, and its value satisfies the formula.
    Has(Id<Box<str>>, ValueFormula),
    /// All members with names in the set satisfy the formula.
    Each(Id<NameSet>, ValueFormula),
    /// Some member with a name in the set satisfies the formula.
    Some(Id<NameSet>, ValueFormula),
    /// Minimum number of members.
    AtLeast(u32),
    /// Maximum number of members.
    AtMost(u32),
}

impl Literal for ObjectAssertion {
    fn opposite(&self) -> Option<Self> {
        match *self {
            // Not those about names: the order in which a formula mentions names is that of the members.
            Self::AtLeast(min) => Some(Self::AtMost(min.checked_sub(1)?)),
            Self::AtMost(max) => Some(Self::AtLeast(max.checked_add(1)?)),
            _ => None,
        }
    }
}

/// A formula about an object.
pub(crate) type ObjectFormula = FormulaId<ObjectAssertion>;

/// The previous items of an array of listed values, for `uniqueItems`: sorted ids of values. Empty where the recogniser
/// remembers them.
pub(crate) type SeenItems = Box<[u32]>;

/// An assertion about the remaining items of an array. Positions are relative to the next item.
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
    /// Minimum number of items.
    AtLeast(u32),
    /// Maximum number of items.
    AtMost(u32),
    /// Minimum number of items that satisfy the formula.
    MatchAtLeast(u32, ValueFormula),
    /// Maximum number of items that satisfy the formula.
    MatchAtMost(u32, ValueFormula),
    /// No two items are equal, and none equals a previous one.
    Unique(Id<SeenItems>),
    /// Two items are equal, or one equals a previous one.
    Repeated(Id<SeenItems>),
}

impl Literal for ArrayAssertion {
    fn opposite(&self) -> Option<Self> {
        match *self {
            Self::AtLeast(min) => Some(Self::AtMost(min.checked_sub(1)?)),
            Self::AtMost(max) => Some(Self::AtLeast(max.checked_add(1)?)),
            Self::Unique(seen) => Some(Self::Repeated(seen)),
            Self::Repeated(seen) => Some(Self::Unique(seen)),
            _ => None,
        }
    }
}

/// A formula about an array.
pub(crate) type ArrayFormula = FormulaId<ArrayAssertion>;
