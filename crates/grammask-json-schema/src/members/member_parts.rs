//! The texts of single members, by declared name or by a class of names.

use crate::emit::emitter::Emitter;
use crate::emit::rules::{PartSequence, RulePart};
use crate::members::object_shape::ObjectShape;
use crate::values::formulas::NameId;
use crate::values::literals::ValueFormula;
use crate::values::value_sets::ValueSets;
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{ValueKind, ValueSupply, quote_text};

/// The parts of a member with a declared name; `None` if no such member can be written.
pub(super) fn declared_member(
    sets: &mut ValueSets<'_>,
    emitter: &mut Emitter,
    shape: &ObjectShape<'_>,
    name: NameId,
    value: ValueFormula,
) -> Result<Option<PartSequence>, LimitExceeded> {
    let Some(value) = emitter.value_parts(sets, value, shape.position)? else { return Ok(None) };
    let name = sets.formulas.names.get(name);
    let languages = &mut sets.languages;
    let word = languages.encoding.literal(languages.automata.terms_mut(), name);
    let Some(word) = languages.without_excluded_words(word)? else { return Ok(None) };
    let terms = languages.automata.terms_mut();
    let quote = terms.literal(b"\"");
    let key = terms.concat(&[quote, word, quote]);
    emitter.rules.label(key, || format!("the member {}", quote_text(name)));
    let mut parts = vec![RulePart::Markup(key), shape.punctuation.colon];
    parts.extend(value);
    Ok(Some(parts))
}

/// A member with a name of a class.
pub(super) struct OtherMember {
    /// The index of the class.
    pub(super) class: usize,
    /// The condition on the name: it must not be remembered.
    pub(super) supply: Option<ValueSupply>,
    pub(super) value: ValueFormula,
}

/// The parts of a member with a name of a class; `None` if no such member can be written.
pub(super) fn other_member(
    sets: &mut ValueSets<'_>,
    emitter: &mut Emitter,
    shape: &ObjectShape<'_>,
    OtherMember { class, supply, value }: OtherMember,
) -> Result<Option<PartSequence>, LimitExceeded> {
    let Some(value) = emitter.value_parts(sets, value, shape.position)? else { return Ok(None) };
    let languages = &mut sets.languages;
    let names = languages.without_excluded_words(shape.classes[class].names)?;
    let Some(names) = names else { return Ok(None) };
    let terms = languages.automata.terms_mut();
    let quote = terms.literal(b"\"");
    let key = terms.concat(&[quote, names, quote]);
    emitter.rules.label(key, || "the name of a member".to_owned());
    let name = RulePart::Text(key);
    let name = match supply {
        None => name,
        Some(supply) => {
            let rule = emitter.rule_of(&vec![name]);
            RulePart::Value { rule, kind: ValueKind::Fresh, supply }
        }
    };
    let mut parts = vec![name, shape.punctuation.colon];
    parts.extend(value);
    Ok(Some(parts))
}
