//! The keywords about arrays: items by position, the other items, `contains`, counts, `uniqueItems`.

use crate::Draft;
use crate::document::json::Value;
use crate::document::resources::Location;
use crate::keywords::Reading;
use crate::translation::Translation;
use crate::values::formula::{falsehood, truth};
use crate::values::literals::{AboutArray, ArrayFormula, ValueFormula};
use crate::values::value_set::Shape;

impl Translation<'_> {
    pub(crate) fn item_keyword(
        &mut self,
        reading: &Reading,
        keyword: &str,
        place: Location,
    ) -> Option<Shape> {
        let positional = matches!(self.library.get(place), Value::Array(_));
        let array = match keyword {
            "prefixItems" if reading.since(Draft::Draft2020) => self.items_by_position(reading, place),
            "items" if positional && reading.until(Draft::Draft2019) => {
                self.items_by_position(reading, place)
            }
            "items" => {
                if positional {
                    self.invalid(place, "a schema should stand here; schemas by position are `prefixItems`");
                    return None;
                }
                let first = match self.library.member(reading.location, "prefixItems") {
                    Some(prefix) if reading.since(Draft::Draft2020) => self.items(prefix).len(),
                    _ => 0,
                };
                self.rest_items(reading, first, place)
            }
            "additionalItems" if reading.until(Draft::Draft2019) => {
                let items = self.library.member(reading.location, "items")?;
                if !matches!(self.library.get(items), Value::Array(_)) {
                    return None;
                }
                let first = self.items(items).len();
                self.rest_items(reading, first, place)
            }
            "contains" if reading.since(Draft::Draft6) => return self.contains(reading, place),
            "minItems" => {
                let count = self.count(place)?;
                if count == 0 {
                    return None;
                }
                self.arrays.literal(AboutArray::AtLeast(count))
            }
            "maxItems" => {
                let count = self.count(place).filter(|&count| count < u32::MAX)?;
                self.arrays.literal(AboutArray::AtMost(count))
            }
            "uniqueItems" if self.library.get(place) == &Value::Boolean(true) => {
                let seen = self.seen.intern(Box::default());
                self.arrays.literal(AboutArray::Unique(place, seen))
            }
            _ => return None,
        };
        Some(Shape { array, ..self.any_shape() })
    }

    pub(crate) fn items_by_position(&mut self, reading: &Reading, place: Location) -> ArrayFormula {
        let mut parts = Vec::new();
        for (index, item) in (0..).zip(self.items(place)) {
            self.check_schema_value(item);
            let value = self.satisfies(item, reading.scope);
            if value != truth() {
                parts.push(self.arrays.literal(AboutArray::If(index, value)));
            }
        }
        self.arrays.and(parts)
    }

    pub(crate) fn rest_items(&mut self, reading: &Reading, first: usize, place: Location) -> ArrayFormula {
        self.check_schema_value(place);
        let value = self.satisfies(place, reading.scope);
        self.each_item(u32::try_from(first).unwrap_or(u32::MAX), value)
    }

    /// "Each item from `first` on satisfies `value`."
    pub(crate) fn each_item(&mut self, first: u32, value: ValueFormula) -> ArrayFormula {
        if value == truth() {
            truth()
        } else if value == falsehood() {
            self.arrays.literal(AboutArray::AtMost(first))
        } else {
            self.arrays.literal(AboutArray::Each(first, value))
        }
    }

    pub(crate) fn contains(&mut self, reading: &Reading, place: Location) -> Option<Shape> {
        self.check_schema_value(place);
        let counted = reading.since(Draft::Draft2019) && reading.dialect.validation;
        let [min, max] = ["minContains", "maxContains"].map(|keyword| {
            let place = self.library.member(reading.location, keyword).filter(|_| counted)?;
            self.count(place)
        });
        let value = self.satisfies(place, reading.scope);
        let mut parts = Vec::new();
        if min != Some(0) {
            parts.push(self.arrays.literal(AboutArray::MatchAtLeast(min.unwrap_or(1), value)));
        }
        if let Some(max) = max.filter(|&max| max < u32::MAX) {
            parts.push(self.arrays.literal(AboutArray::MatchAtMost(max, value)));
        }
        let array = self.arrays.and(parts);
        Some(Shape { array, ..self.any_shape() })
    }
}
