//! `enum` and `const`: being equal to values that the schema holds.

use crate::document::json::Value;
use crate::document::resources::Location;
use crate::keywords::Names;
use crate::numbers::NumberSet;
use crate::translation::Translation;
use crate::values::formula::falsehood;
use crate::values::literals::{AboutArray, AboutObject};
use crate::values::value_set::{Booleans, Shape};

impl Translation<'_> {
    pub(crate) fn enumeration(&mut self, place: Location) -> Option<Shape> {
        if !matches!(self.library.get(place), Value::Array(_)) {
            self.invalid(place, "an array of values should stand here");
            return None;
        }
        let items = self.items(place);
        Some(self.shape_of_values(&items))
    }

    /// The shape of being equal to one of the values at some places.
    pub(crate) fn shape_of_values(&mut self, places: &[Location]) -> Shape {
        let mut shape = self.no_shape();
        let mut is_relaxed = false;
        let (mut decimals, mut texts, mut arrays, mut objects) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for &item in places {
            match self.library.get(item) {
                Value::Null => shape.null = true,
                Value::Boolean(true) => shape.booleans.truth = true,
                Value::Boolean(false) => shape.booleans.falsehood = true,
                Value::Number(_) => match self.decimal(item) {
                    Some(decimal) => decimals.push(decimal),
                    None => is_relaxed = true,
                },
                Value::String(text) => texts.push(text.clone()),
                Value::Array(_) => arrays.push(self.shape_of_value(item).array),
                Value::Object(_) => objects.push(self.shape_of_value(item).object),
            }
        }
        if !decimals.is_empty() {
            shape.number = NumberSet::one_of(self.automata.terms_mut(), self.options.numbers, &decimals);
        }
        if is_relaxed {
            shape.number = self.any_or_none_of_numbers();
        }
        if !texts.is_empty() {
            let words = self.spelling.words(self.automata.terms_mut(), texts.iter().map(|text| &**text));
            shape.string = self.string_set(words);
        }
        shape.array = self.arrays.or(arrays);
        shape.object = self.objects.or(objects);
        shape
    }

    /// The shape of being equal to the value at `location`.
    pub(crate) fn shape_of_value(&mut self, location: Location) -> Shape {
        let mut shape = self.no_shape();
        match self.library.get(location) {
            Value::Null => shape.null = true,
            &Value::Boolean(truth) => shape.booleans = Booleans { falsehood: !truth, truth },
            Value::Number(_) => {
                shape.number = match self.decimal(location) {
                    Some(decimal) => {
                        NumberSet::one_of(self.automata.terms_mut(), self.options.numbers, &[decimal])
                    }
                    None => self.any_or_none_of_numbers(),
                };
            }
            Value::String(text) => {
                let text = text.clone();
                let word = self.spelling.word(self.automata.terms_mut(), &text);
                shape.string = self.string_set(word);
            }
            Value::Array(items) => {
                let count = u32::try_from(items.len()).unwrap_or(u32::MAX);
                let mut parts = vec![
                    self.arrays.literal(AboutArray::AtLeast(count)),
                    self.arrays.literal(AboutArray::AtMost(count)),
                ];
                for (index, item) in (0..).zip(self.items(location)) {
                    let value = self.equals(item);
                    parts.push(self.arrays.literal(AboutArray::Has(index, value)));
                }
                shape.array = self.arrays.and(parts);
            }
            Value::Object(_) => {
                let members = self.members(location);
                let names: Names = members.iter().map(|(name, _)| self.name(name)).collect();
                let list = self.name_lists.intern(names.clone());
                let mut parts = vec![self.objects.literal(AboutObject::Declares(list))];
                for (&name, (_, place)) in names.iter().zip(&members) {
                    let value = self.equals(*place);
                    parts.push(self.has(name, value));
                }
                let others = self.others(names, Vec::new());
                parts.push(self.each_member(others, falsehood()));
                shape.object = self.objects.and(parts);
            }
        }
        shape
    }
}
