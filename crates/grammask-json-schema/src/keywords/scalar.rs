//! The keywords about numbers and strings: bounds, multiples, lengths, patterns, formats.

use crate::document::json::Value;
use crate::document::resources::Location;
use crate::keywords::Reading;
use crate::numbers::{Decimal, NumberSet};
use crate::strings::{formats, lengths, pattern};
use crate::translation::Translation;
use crate::values::value_set::{Shape, StringSet};
use crate::{Draft, Formats};
use grammask_automata::TermId;
use grammask_diagnostics::LimitExceeded;

impl Translation<'_> {
    pub(crate) fn decimal(&mut self, place: Location) -> Option<Decimal> {
        let Value::Number(digits) = self.library.get(place) else {
            self.invalid(place, "a number should stand here");
            return None;
        };
        match Decimal::parse(digits) {
            Ok(decimal) => Some(decimal),
            Err(error) => {
                self.unsupported(place, error.to_string(), "");
                None
            }
        }
    }

    /// What stands for numbers on which nothing is enforced, under negations neither.
    pub(crate) fn any_or_none_of_numbers(&self) -> NumberSet {
        NumberSet { yes: self.any_number.yes, no: self.any_number.yes }
    }

    /// A count, cut to 32 bits.
    pub(crate) fn count(&mut self, place: Location) -> Option<u32> {
        let count = match self.library.get(place) {
            Value::Number(digits) => Decimal::parse(digits).ok().and_then(|decimal| decimal.to_count()),
            _ => None,
        };
        if count.is_none() {
            self.invalid(place, "a whole number, 0 or more, should stand here");
        }
        count
    }

    pub(crate) fn number_keyword(
        &mut self,
        reading: &Reading,
        keyword: &str,
        place: Location,
    ) -> Option<Shape> {
        let spelled = self.options.numbers;
        let exclusive = |this: &Self, keyword: &str| {
            let flag = this.library.member(reading.location, keyword);
            flag.is_some_and(|flag| this.library.get(flag) == &Value::Boolean(true))
                && reading.until(Draft::Draft4)
        };
        if keyword.starts_with("exclusive")
            && matches!(self.library.get(place), Value::Boolean(_))
            && reading.until(Draft::Draft4)
        {
            // Read with `minimum` or `maximum`.
            return None;
        }
        let Some(bound) = self.decimal(place) else {
            return Some(Shape { number: self.any_or_none_of_numbers(), ..self.any_shape() });
        };
        let excludes = match keyword {
            "minimum" => exclusive(self, "exclusiveMinimum"),
            "maximum" => exclusive(self, "exclusiveMaximum"),
            _ => true,
        };
        let terms = self.automata.terms_mut();
        let number = match (keyword, excludes) {
            ("minimum", false) => NumberSet::at_least(terms, spelled, &bound),
            ("minimum" | "exclusiveMinimum", _) => NumberSet::greater(terms, spelled, &bound),
            ("maximum", false) => NumberSet::at_most(terms, spelled, &bound),
            ("maximum" | "exclusiveMaximum", _) => NumberSet::less(terms, spelled, &bound),
            _ => match NumberSet::multiple_of(terms, spelled, &bound) {
                Ok(set) => set,
                Err(reason) => {
                    if !bound.is_zero() && !bound.is_negative() {
                        self.unsupported(place, reason.to_string(), "");
                    } else {
                        self.invalid(place, "a number above 0 should stand here");
                    }
                    self.any_or_none_of_numbers()
                }
            },
        };
        Some(Shape { number, ..self.any_shape() })
    }

    /// `pattern`, `minLength` and `maxLength` together.
    pub(crate) fn text_keywords(&mut self, reading: &Reading) -> Result<Option<Shape>, LimitExceeded> {
        let [min, max] = ["minLength", "maxLength"].map(|keyword| {
            let place = self.library.member(reading.location, keyword)?;
            self.count(place)
        });
        let max = max.filter(|&max| max < u32::MAX);
        let mut string = self.any_string;
        let mut relaxed = false;
        if let Some(place) = self.library.member(reading.location, "pattern") {
            match self.pattern(place) {
                Some(term) => string.yes = term,
                None => relaxed = true,
            }
        }
        if min.is_some() || max.is_some() {
            let (terms, spelling) = (self.automata.terms_mut(), &mut self.spelling);
            string.yes = lengths::bounded(terms, spelling, string.yes, min.unwrap_or(0), max);
        }
        if string.yes != self.any_string.yes {
            string = self.string_set(string.yes);
        }
        if relaxed {
            // What the pattern would have refused is not known to be outside.
            string.no = self.any_string.yes;
        }
        Ok(Some(Shape { string, ..self.any_shape() }))
    }

    /// The texts in which the pattern at `place` matches; none, with a finding, if that is not known.
    pub(crate) fn pattern(&mut self, place: Location) -> Option<TermId> {
        let Value::String(source) = self.library.get(place) else {
            self.invalid(place, "a regular expression should stand here");
            return None;
        };
        let source = source.clone();
        self.pattern_text(place, &source)
    }

    pub(crate) fn pattern_text(&mut self, place: Location, source: &str) -> Option<TermId> {
        if let Some(&known) = self.patterns.get(source)
            && known.is_some()
        {
            return known;
        }
        let found = pattern::search(self.automata.terms_mut(), &mut self.spelling, source, self.limits);
        let term = match found {
            Ok(term) => Some(term),
            Err(error) if error.kind == pattern::PatternErrorKind::Syntax => {
                self.invalid(place, &error.to_string());
                None
            }
            Err(error) => {
                self.unsupported(place, error.to_string(), "");
                None
            }
        };
        self.patterns.insert(source.into(), term);
        term
    }

    pub(crate) fn format(&mut self, reading: &Reading, place: Location) -> Option<Shape> {
        let Value::String(name) = self.library.get(place) else {
            self.invalid(place, "the name of a format should stand here");
            return None;
        };
        let name = name.clone();
        if self.options.formats == Formats::Annotate {
            return None;
        }
        let draft = reading.dialect.draft;
        let (terms, spelling) = (self.automata.terms_mut(), &mut self.spelling);
        match formats::format(terms, spelling, &name, draft, self.limits) {
            Some(Ok(term)) => {
                let mut string = self.string_set(term);
                if matches!(&*name, "hostname" | "idn-hostname" | "regex") {
                    // These leave out some texts that belong; nothing else is known to be outside.
                    string.no = self.automata.terms().nothing();
                }
                Some(Shape { string, ..self.any_shape() })
            }
            Some(Err(error)) => {
                self.unsupported(place, format!("the format `{name}`: {error}"), "");
                let all = self.any_string.yes;
                Some(Shape { string: StringSet { yes: all, no: all }, ..self.any_shape() })
            }
            None => {
                let message =
                    format!("the format `{name}` is not one of the standard's; it constrains nothing");
                let code = grammask_diagnostics::Code::IgnoredAnnotation;
                self.findings.add(&self.library, code, place, message, "");
                None
            }
        }
    }
}
