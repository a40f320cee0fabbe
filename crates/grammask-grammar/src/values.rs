//! Values that a text must not repeat, or must repeat.
//!
//! A scope begins with an empty set of remembered values. Inside it, values refer to the innermost scope around them; a
//! value that contains a scope is compared as a whole.
//!
//! | value | condition | effect |
//! |---|---|---|
//! | fresh | it is not remembered | it is remembered |
//! | bound | none | it is remembered in place of those with the same name |
//! | repeated | it is remembered | none |
//! | different | it is not remembered | none |
//! | unprefixed | it begins with no remembered value | none |
//!
//! The items of a JSON array with `uniqueItems` are fresh values in one scope. Matched delimiters are bound and repeated
//! values; lowering makes them from [bindings](super::bindings):
//!
//! ```text
//! array  ::= scope("[" (fresh(item) ("," fresh(item))*)? "]")
//! quoted ::= scope("$" bound(tag) "$" ("$" different(text))* "$" repeated(tag) "$")
//! ```
//!
//! These are data-dependent grammars (Jim, Mandelbaum and Walker, POPL 2010) whose environment is one set of values.
//! Lowering requires that
//!
//! - a value stands inside a scope, with no other value between them;
//! - its node does not derive the empty text, and derives no tokens by name or number;
//! - the rules between a scope and its values recur at their ends only, so that the rest of a scope is a bounded list
//!   of positions. Unbounded repetitions of values are allowed.
//!
//! What lowering cannot check is up to the author of a grammar: every alternative of a scope that a text can enter must
//! have an end with values that differ. It has one if each fresh value has infinitely many values, or more than the
//! scope can remember before it.

use std::sync::Arc;

use grammask_automata::encoding::CharacterEncoding;

/// The condition on a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValueCondition {
    /// Whether the value must be remembered.
    pub kind: ValueKind,
    /// Which texts have equal values.
    pub equality: ValueEquality,
    /// How many values there are.
    pub supply: ValueSupply,
    /// The encodings of the text, outermost first: the value is that of the decoded text.
    pub encodings: Arc<[CharacterEncoding]>,
}

impl ValueCondition {
    /// The condition on a value whose text is not encoded.
    #[must_use]
    pub fn plain(kind: ValueKind, equality: ValueEquality, supply: ValueSupply) -> Self {
        Self { kind, equality, supply, encodings: Arc::default() }
    }
}

/// How many different values the node of a fresh value has. Nothing checks that: a wrong claim makes masks wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ValueSupply {
    /// The recogniser finds out.
    #[default]
    Unknown,
    /// At least this number; the maximum means infinitely many.
    AtLeast(u32),
    /// Whatever has been read of a value, infinitely many values begin with it: what has been remembered never makes it
    /// impossible to go on inside a value.
    Inexhaustible,
}

/// Whether a value must be remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ValueKind {
    /// It must not, and is remembered afterwards.
    Fresh,
    /// It may or may not, and is remembered afterwards in place of the values with the same name.
    Bound,
    /// It must.
    Repeated,
    /// It must not.
    Different,
    /// No remembered value may be a prefix of it.
    Unprefixed,
}

impl ValueKind {
    /// The notation in printed grammars.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Bound => "bound",
            Self::Repeated => "repeated",
            Self::Different => "different",
            Self::Unprefixed => "unprefixed",
        }
    }

    /// Whether the remembered values decide which texts are values.
    #[must_use]
    pub fn is_conditional(self) -> bool {
        self != Self::Bound
    }
}

/// Which texts have equal values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ValueEquality {
    /// Equal texts with the same name, by its number.
    Named(u16),
    /// Texts of equal JSON values, whatever white space is around and in them: strings by their decoded characters,
    /// numbers by their exact value, arrays by their items, objects by their members in any order. An object that
    /// repeats a name equals only objects with the same members. A text that is not JSON equals those with the same bytes
    /// from the first one on that no JSON text has there, after equal beginnings.
    Json,
}
