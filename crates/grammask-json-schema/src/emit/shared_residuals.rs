//! Memo tables of residuals that several objects share; `members::shared_residuals` says why.

use crate::emit::positions::{MemberPosition, ValuePosition};
use crate::emit::rules::RuleId;
use crate::interner::Id;
use crate::values::child_count::ChildCount;
use crate::values::formulas::NameId;
use crate::values::literals::{NameSet, ObjectFormula, ValueFormula};
use grammask_automata::TermId;
use grammask_grammar::ValueSupply;
use rustc_hash::FxHashMap;

/// A member with a declared name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DeclaredMember {
    pub(crate) name: NameId,
    /// The constraint on this member alone.
    pub(crate) value: ValueFormula,
    pub(crate) required: bool,
}

/// A residual in a form that does not depend on its object: the rules of equal ones derive the same texts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SharedResidual {
    pub(crate) formula: ObjectFormula,
    pub(crate) count: ChildCount,
    /// The declared members that can follow, in order.
    pub(crate) declared: Vec<DeclaredMember>,
    /// The names of undeclared members that can follow, by class, with the condition on them.
    pub(crate) others: Vec<(TermId, Option<ValueSupply>)>,
    /// Whether undeclared names are remembered.
    pub(crate) in_scope: bool,
    pub(crate) of_members: ValuePosition,
    pub(crate) of_rule: MemberPosition,
}

/// The declared names that can follow in a residual, and those of them in a set of names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PossibleNames {
    pub(crate) declared: Vec<NameId>,
    pub(crate) members: Vec<NameId>,
}

/// Memo tables of one translation.
#[derive(Default)]
pub(crate) struct SharedResiduals {
    rules: FxHashMap<SharedResidual, RuleId>,
    /// A set of names by those of its names that can follow.
    pub(crate) name_sets: FxHashMap<PossibleNames, Id<NameSet>>,
}

impl SharedResiduals {
    /// The rule of a residual, if some object has one.
    pub(crate) fn rule(&self, residual: &SharedResidual) -> Option<RuleId> {
        self.rules.get(residual).copied()
    }

    /// Adds rules that are defined.
    pub(crate) fn add(&mut self, rules: impl IntoIterator<Item = (SharedResidual, RuleId)>) {
        self.rules.extend(rules);
    }

    /// Drops the rules that do not satisfy `is_kept`.
    pub(crate) fn retain(&mut self, is_kept: impl Fn(RuleId) -> bool) {
        self.rules.retain(|_, rule| is_kept(*rule));
    }
}
