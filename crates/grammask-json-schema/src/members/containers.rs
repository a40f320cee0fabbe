//! The arrays and objects of a value set.

use crate::emit::emitter::Emitter;
use crate::emit::positions::ValuePosition;
use crate::emit::rules::PartSequence;
use crate::members::arrays::array_alternatives;
use crate::members::objects::object_alternatives;
use crate::values::value_set::ValueSet;
use crate::values::value_sets::ValueSets;
use grammask_diagnostics::LimitExceeded;

/// The right-hand sides of the arrays and objects of `set`; their items and members are at `position`.
pub(crate) fn container_alternatives(
    sets: &mut ValueSets<'_>,
    emitter: &mut Emitter,
    set: ValueSet,
    position: ValuePosition,
) -> Result<Vec<PartSequence>, LimitExceeded> {
    let mut alternatives = Vec::new();
    for part in sets.formulas.arrays.disjuncts(set.array) {
        alternatives.extend(array_alternatives(sets, emitter, part, position)?);
    }
    for part in sets.formulas.objects.disjuncts(set.object) {
        alternatives.extend(object_alternatives(sets, emitter, part, position)?);
    }
    Ok(alternatives)
}
