//! `enum` and `const`: equality with values of the document.

use crate::document::json::Value;
use crate::document::resources::Location;
use crate::numbers::NumberSet;
use crate::values::formula::falsehood;
use crate::values::formulas::NameList;
use crate::values::literals::{ArrayAssertion, ArrayFormula, ObjectAssertion, ObjectFormula};
use crate::values::string_formula::Strings;
use crate::values::value_set::{Booleans, ValueSet};
use crate::values::value_sets::ValueSets;

pub(super) fn enumeration(sets: &mut ValueSets<'_>, place: Location) -> Option<ValueSet> {
    if !matches!(sets.reader.library.get(place), Value::Array(_)) {
        sets.reader.invalid(place, "expected an array of values");
        return None;
    }
    let items = sets.reader.items(place);
    Some(equal_to_any(sets, &items))
}

/// The values equal to one of those at `places`.
pub(crate) fn equal_to_any(sets: &mut ValueSets<'_>, places: &[Location]) -> ValueSet {
    let mut set = ValueSet::none(&sets.languages);
    let mut is_relaxed = false;
    let (mut constants, mut texts, mut arrays, mut objects) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for &item in places {
        match sets.reader.library.get(item) {
            Value::Null => set.null = true,
            Value::Boolean(true) => set.booleans.truth = true,
            Value::Boolean(false) => set.booleans.falsehood = true,
            Value::Number(_) => match sets.reader.constant(item) {
                Some(constant) => constants.push(constant),
                None => is_relaxed = true,
            },
            Value::String(text) => texts.push(text.clone()),
            Value::Array(_) => arrays.push(equal_array(sets, item)),
            Value::Object(_) => objects.push(equal_object(sets, item)),
        }
    }
    let languages = &mut sets.languages;
    if !constants.is_empty() {
        let numbers = sets.reader.options.numbers;
        set.number = NumberSet::one_of(languages.automata.terms_mut(), numbers, &constants);
    }
    if is_relaxed {
        set.number = languages.undecided_numbers();
    }
    if !texts.is_empty() {
        let terms = languages.automata.terms_mut();
        let words = languages.encoding.literals(terms, texts.iter().map(|text| &**text));
        set.string = Strings::of_set(languages.string_set(words));
    }
    set.array = sets.formulas.arrays.or(arrays);
    set.object = sets.formulas.objects.or(objects);
    set
}

/// The values equal to the one at `location`.
pub(super) fn equal_to(sets: &mut ValueSets<'_>, location: Location) -> ValueSet {
    let mut set = ValueSet::none(&sets.languages);
    let languages = &mut sets.languages;
    match sets.reader.library.get(location) {
        Value::Null => set.null = true,
        &Value::Boolean(truth) => set.booleans = Booleans { falsehood: !truth, truth },
        Value::Number(_) => {
            set.number = match sets.reader.constant(location) {
                Some(constant) => {
                    let numbers = sets.reader.options.numbers;
                    NumberSet::one_of(languages.automata.terms_mut(), numbers, &[constant])
                }
                None => languages.undecided_numbers(),
            };
        }
        Value::String(text) => {
            let word = languages.encoding.literal(languages.automata.terms_mut(), text);
            set.string = Strings::of_set(languages.string_set(word));
        }
        Value::Array(_) => set.array = equal_array(sets, location),
        Value::Object(_) => set.object = equal_object(sets, location),
    }
    set
}

fn equal_array(sets: &mut ValueSets<'_>, location: Location) -> ArrayFormula {
    let items = sets.reader.items(location);
    let formulas = &mut sets.formulas;
    let count = u32::try_from(items.len()).unwrap_or(u32::MAX);
    let mut parts = vec![
        formulas.arrays.literal(ArrayAssertion::AtLeast(count)),
        formulas.arrays.literal(ArrayAssertion::AtMost(count)),
    ];
    for (index, item) in (0..).zip(items) {
        let value = sets.reader.equals(formulas, item);
        parts.push(formulas.arrays.literal(ArrayAssertion::Has(index, value)));
    }
    formulas.arrays.and(parts)
}

fn equal_object(sets: &mut ValueSets<'_>, location: Location) -> ObjectFormula {
    let members = sets.reader.members(location);
    let formulas = &mut sets.formulas;
    let names: NameList = members.iter().map(|(name, _)| formulas.name(name)).collect();
    let list = formulas.name_lists.intern(names.clone());
    let mut parts = vec![formulas.objects.literal(ObjectAssertion::Declares(list))];
    for (&name, (_, place)) in names.iter().zip(&members) {
        let value = sets.reader.equals(formulas, *place);
        parts.push(formulas.has_member(name, value));
    }
    let others = formulas.other_names(names, Vec::new());
    parts.push(formulas.each_member(others, falsehood()));
    formulas.objects.and(parts)
}
