//! The keywords about numbers and strings: bounds, multiples, lengths, patterns, formats.

use crate::document::json::Value;
use crate::document::resources::Location;
use crate::numbers::NumberSet;
use crate::strings::{formats, lengths, pattern};
use crate::values::scalar_languages::ScalarLanguages;
use crate::values::scalar_languages::StringSet;
use crate::values::schema_reader::{SchemaContext, SchemaReader};
use crate::values::string_formula::{StringAssertion, Strings};
use crate::values::value_sets::ValueSets;
use crate::{Draft, Formats, Numbers};
use grammask_automata::TermId;
use grammask_diagnostics::Code;

/// The numbers that one keyword admits; `None` if it is translated with another keyword.
pub(super) fn number_keyword(
    reader: &mut SchemaReader<'_>,
    languages: &mut ScalarLanguages,
    context: &SchemaContext,
    keyword: &str,
    place: Location,
) -> Option<NumberSet> {
    let numbers = reader.options.numbers;
    let has_flag = |reader: &SchemaReader<'_>, keyword: &str| {
        let flag = reader.library.member(context.location, keyword);
        flag.is_some_and(|flag| reader.library.get(flag) == &Value::Boolean(true))
            && context.until(Draft::Draft4)
    };
    if keyword.starts_with("exclusive")
        && matches!(reader.library.get(place), Value::Boolean(_))
        && context.until(Draft::Draft4)
    {
        // Translated with `minimum` or `maximum`.
        return None;
    }
    let Some(bound) = reader.decimal(place) else { return Some(languages.undecided_numbers()) };
    let is_exclusive = match keyword {
        "minimum" => has_flag(reader, "exclusiveMinimum"),
        "maximum" => has_flag(reader, "exclusiveMaximum"),
        _ => true,
    };
    let terms = languages.automata.terms_mut();
    let set = match (keyword, is_exclusive) {
        ("minimum", false) => NumberSet::at_least(terms, numbers, &bound),
        ("minimum" | "exclusiveMinimum", _) => NumberSet::greater(terms, numbers, &bound),
        ("maximum", false) => NumberSet::at_most(terms, numbers, &bound),
        ("maximum" | "exclusiveMaximum", _) => NumberSet::less(terms, numbers, &bound),
        _ => match NumberSet::multiple_of(terms, numbers, &bound) {
            Ok(set) => set,
            Err(reason) => {
                if !bound.is_zero() && !bound.is_negative() {
                    reader.unsupported(place, reason.to_string(), "");
                } else {
                    reader.invalid(place, "expected a number greater than 0");
                }
                languages.undecided_numbers()
            }
        },
    };
    Some(if numbers == Numbers::Natural { set.with_digits(reader.written_digits(place)) } else { set })
}

/// The numbers whose JSON texts match the regular expression of the extension `x-grammask-number-texts`.
///
/// It is about the encoding of a number, so no text is surely outside: under negation it admits no number.
pub(super) fn number_texts(
    reader: &mut SchemaReader<'_>,
    languages: &mut ScalarLanguages,
    place: Location,
) -> Option<NumberSet> {
    let texts = pattern_at(reader, languages, place)?;
    let terms = languages.automata.terms_mut();
    Some(NumberSet::of_texts(terms, texts))
}

/// The limit of the extension `x-grammask-max-tokens`: strings take at most that number of tokens, quotes aside.
pub(super) fn max_tokens(sets: &mut ValueSets<'_>, place: Location) -> Option<Strings> {
    let ValueSets { reader, languages, formulas, .. } = sets;
    let tokens = reader.count(place)?;
    reader.token_limit.get_or_insert(place);
    Some(Strings::asserted(languages, formulas, StringAssertion::AtMostTokens(tokens)))
}

/// Reports the constraint that the extension `x-grammask-unenforceable` describes.
///
/// Generated schemas use it for constraints without a JSON Schema form, such as functions that check a value.
pub(super) fn unenforceable(reader: &mut SchemaReader<'_>, place: Location) {
    match reader.library.get(place) {
        Value::String(message) => {
            let message = message.to_string();
            reader.findings.add_described(&reader.library, place, message);
        }
        _ => reader.invalid(place, "expected a message"),
    }
}

/// The strings that `pattern`, `minLength` and `maxLength` of the schema admit.
pub(super) fn text_keywords(
    reader: &mut SchemaReader<'_>,
    languages: &mut ScalarLanguages,
    context: &SchemaContext,
) -> StringSet {
    let [min, max] = ["minLength", "maxLength"].map(|keyword| {
        let place = reader.library.member(context.location, keyword)?;
        reader.count(place)
    });
    let max = max.filter(|&max| max < u32::MAX);
    let mut string = languages.any_string;
    let mut is_relaxed = false;
    if let Some(place) = reader.library.member(context.location, "pattern") {
        match pattern_at(reader, languages, place) {
            Some(term) => string.yes = term,
            None => is_relaxed = true,
        }
    }
    if min.is_some() || max.is_some() {
        let (terms, encoding) = (languages.automata.terms_mut(), &mut languages.encoding);
        string.yes = lengths::bounded(terms, encoding, string.yes, min.unwrap_or(0), max);
    }
    if string.yes != languages.any_string.yes {
        string = languages.string_set(string.yes);
    }
    if is_relaxed {
        // The pattern is not enforced under negation either: every string may be outside.
        string.no = languages.any_string.yes;
    }
    string
}

/// The language of the pattern at `place`; `None`, with a finding, if it is not supported.
fn pattern_at(
    reader: &mut SchemaReader<'_>,
    languages: &mut ScalarLanguages,
    place: Location,
) -> Option<TermId> {
    let Value::String(source) = reader.library.get(place) else {
        reader.invalid(place, "expected a regular expression");
        return None;
    };
    let source = source.clone();
    pattern_language(reader, languages, place, &source)
}

/// The language of the pattern `source`; `None`, with a finding at `place`, if it is not supported.
pub(crate) fn pattern_language(
    reader: &mut SchemaReader<'_>,
    languages: &mut ScalarLanguages,
    place: Location,
    source: &str,
) -> Option<TermId> {
    if let Some(&cached) = languages.patterns.get(source)
        && cached.is_some()
    {
        return cached;
    }
    let (terms, encoding) = (languages.automata.terms_mut(), &mut languages.encoding);
    let term = match pattern::search(terms, encoding, source, reader.limits) {
        Ok(term) => Some(term),
        Err(error) if error.kind == pattern::PatternErrorKind::Syntax => {
            reader.invalid(place, &error.to_string());
            None
        }
        Err(error) => {
            reader.unsupported(place, error.to_string(), "");
            None
        }
    };
    languages.patterns.insert(source.into(), term);
    term
}

/// The strings that `format` admits; `None` if it constrains nothing.
pub(super) fn format(
    reader: &mut SchemaReader<'_>,
    languages: &mut ScalarLanguages,
    context: &SchemaContext,
    place: Location,
) -> Option<StringSet> {
    let Value::String(name) = reader.library.get(place) else {
        reader.invalid(place, "expected the name of a format");
        return None;
    };
    let name = name.clone();
    if reader.options.formats == Formats::Annotate {
        return None;
    }
    let (terms, encoding) = (languages.automata.terms_mut(), &mut languages.encoding);
    match formats::format(terms, encoding, &name, context.dialect.draft, reader.limits) {
        Some(Ok(term)) => {
            let mut string = languages.string_set(term);
            let (terms, encoding) = (languages.automata.terms_mut(), &mut languages.encoding);
            match formats::superset(terms, encoding, &name, reader.limits) {
                None => {}
                Some(Ok(superset)) => string.no = languages.string_set(superset).no,
                // No string is known to lack the format.
                Some(Err(_)) => string.no = languages.automata.terms().nothing(),
            }
            Some(string)
        }
        Some(Err(error)) => {
            reader.unsupported(place, format!("the format `{name}`: {error}"), "");
            let all = languages.any_string.yes;
            Some(StringSet { yes: all, no: all })
        }
        None => {
            let message =
                format!("the format `{name}` is not defined by the standard; it constrains nothing");
            reader.findings.add(&reader.library, Code::IgnoredAnnotation, place, message, "");
            None
        }
    }
}
