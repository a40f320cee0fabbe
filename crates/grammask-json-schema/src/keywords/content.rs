//! `contentMediaType`, `contentEncoding` and `contentSchema`: the texts that strings hold.
//!
//! They are annotations (JSON Schema Validation 2020-12, section 8), and constraints only if the options say so. A
//! regular content is a regular language of strings, and any other is an assertion of a formula about strings.

use crate::document::json::Value;
use crate::document::resources::Location;
use crate::options::MediaGrammar;
use crate::values::formula::truth;
use crate::values::scalar_languages::StringSet;
use crate::values::schema_reader::{SchemaContext, SchemaReader};
use crate::values::string_formula::{Content, ContentTexts, StringAssertion, Strings};
use crate::values::value_sets::ValueSets;
use crate::{ContentKeywords, Draft};
use grammask_automata::TermId;
use grammask_automata::encoding::BaseEncoding;
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{Grammar, GrammarBuilder, RuleLanguages};

/// The strings that `contentMediaType`, `contentEncoding` and `contentSchema` admit; `None` if they constrain nothing, or
/// if they are translated with another keyword.
pub(super) fn content(
    sets: &mut ValueSets<'_>,
    context: &SchemaContext,
    keyword: &str,
    place: Location,
) -> Result<Option<Strings>, LimitExceeded> {
    let media_place = sets.reader.library.member(context.location, "contentMediaType");
    if sets.reader.options.content == ContentKeywords::Annotate
        || !context.since(Draft::Draft7)
        || (keyword == "contentEncoding" && media_place.is_some())
    {
        return Ok(None);
    }
    let encoding_place = sets.reader.library.member(context.location, "contentEncoding");
    let encoding = match encoding_place.map(|place| encoding_at(&mut sets.reader, place)) {
        Some(None) => return Ok(Some(undecided(sets))),
        None | Some(Some(None)) => None,
        Some(Some(encoding)) => encoding,
    };
    let Some(media_place) = media_place else {
        let Some(encoding) = encoding else { return Ok(None) };
        let anything = sets.languages.automata.terms().anything();
        return regular_content(sets, anything, Some(encoding)).map(Some);
    };
    let texts = match media_type_at(&mut sets.reader, media_place) {
        Some(media_type) => texts_of(sets, context, &media_type, media_place),
        None => None,
    };
    match texts {
        Some(texts) => strings_with(sets, texts, encoding, place).map(Some),
        None => Ok(Some(undecided(sets))),
    }
}

/// The strings of the extension `x-grammask-content`: the texts of a grammar of the options, by name, whatever the options
/// say about annotations.
pub(super) fn named_content(
    sets: &mut ValueSets<'_>,
    place: Location,
) -> Result<Option<Strings>, LimitExceeded> {
    let Value::String(name) = sets.reader.library.get(place) else {
        sets.reader.invalid(place, "expected the name of a grammar");
        return Ok(None);
    };
    let name = name.clone();
    match sets.reader.options.media_grammars.iter().position(|grammar| grammar.media_type == *name) {
        Some(index) => strings_with(sets, ContentTexts::Media(index), None, place).map(Some),
        None => {
            sets.reader.unsupported(place, format!("there is no grammar `{name}`"), "");
            Ok(Some(undecided(sets)))
        }
    }
}

/// The encoding at `place`, `None` for one that changes nothing; `None`, with a finding, if it is not supported.
fn encoding_at(reader: &mut SchemaReader<'_>, place: Location) -> Option<Option<BaseEncoding>> {
    let Value::String(name) = reader.library.get(place) else {
        reader.invalid(place, "expected the name of an encoding");
        return None;
    };
    let name = name.to_ascii_lowercase();
    match BaseEncoding::of_name(&name) {
        Some(encoding) => Some(Some(encoding)),
        None if name == "binary" => Some(None),
        None => {
            let message = format!("the encoding `{name}` of strings is not supported");
            let help = "there are base16, base32, base32hex, base64, base64url and binary";
            reader.unsupported(place, message, help);
            None
        }
    }
}

/// The media type at `place`; `None`, with a finding, if it is no string.
fn media_type_at(reader: &mut SchemaReader<'_>, place: Location) -> Option<String> {
    let Value::String(written) = reader.library.get(place) else {
        reader.invalid(place, "expected a media type");
        return None;
    };
    Some(media_type(written))
}

/// A media type in lower case, without white space and without a charset of UTF-8.
pub(crate) fn media_type(written: &str) -> String {
    let mut parts = written.split(';').map(|part| part.trim().to_ascii_lowercase());
    let mut media_type = parts.next().unwrap_or_default();
    for parameter in parts {
        if !matches!(&*parameter, "charset=utf-8" | "charset=\"utf-8\"") {
            media_type.push(';');
            media_type.push_str(&parameter);
        }
    }
    media_type
}

/// The texts of a media type; `None`, with a finding, if there is no grammar for it.
fn texts_of(
    sets: &mut ValueSets<'_>,
    context: &SchemaContext,
    media_type: &str,
    place: Location,
) -> Option<ContentTexts> {
    let reader = &mut sets.reader;
    let schema = reader.library.member(context.location, "contentSchema");
    let schema = schema.filter(|_| context.since(Draft::Draft2019));
    let listed = reader.options.media_grammars.iter().position(|grammar| grammar.media_type == media_type);
    let is_json = media_type == "application/json" || media_type.ends_with("+json");
    match (listed, schema) {
        (Some(index), None) => Some(ContentTexts::Media(index)),
        (None, Some(schema)) if is_json => {
            reader.check_is_schema(schema);
            Some(ContentTexts::Json(reader.satisfies(&mut sets.formulas, schema, context.scope)))
        }
        (None, None) if is_json => Some(ContentTexts::Json(truth())),
        (Some(_), Some(schema)) => {
            let message = format!("a schema of the texts of `{media_type}` is not supported");
            reader.unsupported(schema, message, "schemas of contents are for `application/json`");
            None
        }
        (None, _) => {
            let message = format!("there is no grammar for the media type `{media_type}`");
            reader.unsupported(place, message, "pass one with `content_grammars`");
            None
        }
    }
}

/// The strings that hold `texts`. `place` is that of the keyword.
fn strings_with(
    sets: &mut ValueSets<'_>,
    texts: ContentTexts,
    encoding: Option<BaseEncoding>,
    place: Location,
) -> Result<Strings, LimitExceeded> {
    if let ContentTexts::Media(index) = texts {
        let MediaGrammar { grammar, .. } = &sets.reader.options.media_grammars[index];
        if let Some(grammar) = grammar.clone()
            && let Some(term) = regular_texts(sets, &grammar)
        {
            return regular_content(sets, term, encoding);
        }
    }
    let content = Content { texts, encoding };
    sets.reader.content_places.entry(content).or_insert(place);
    Ok(Strings::asserted(&sets.languages, &mut sets.formulas, StringAssertion::Holds(content)))
}

/// The texts of a grammar as a term; `None` if its rules are not regular.
pub(crate) fn regular_texts(sets: &mut ValueSets<'_>, grammar: &Grammar) -> Option<TermId> {
    let mut builder = GrammarBuilder::new("");
    let start = builder.graft(grammar);
    let term = RuleLanguages::new(&builder).of_node(&mut builder, start).ok()?;
    let terms = sets.languages.automata.terms_mut();
    terms.import_terms(builder.terms_so_far(), &[term]).get(&term).copied()
}

/// The strings that hold the texts of a term.
fn regular_content(
    sets: &mut ValueSets<'_>,
    texts: TermId,
    encoding: Option<BaseEncoding>,
) -> Result<Strings, LimitExceeded> {
    let strings = encoded_strings(sets, texts, encoding)?;
    Ok(Strings::of_set(sets.languages.string_set(strings)))
}

/// The encodings of the strings that hold the texts of a term.
pub(crate) fn encoded_strings(
    sets: &mut ValueSets<'_>,
    texts: TermId,
    encoding: Option<BaseEncoding>,
) -> Result<TermId, LimitExceeded> {
    let limits = sets.reader.limits;
    let terms = sets.languages.automata.terms_mut();
    let characters = match encoding {
        Some(encoding) => encoding.image(terms, texts, limits.automaton_states)?,
        None => texts,
    };
    sets.languages.encoding.image(terms, characters, limits)
}

/// Strings that are all undecided, for a constraint that is not enforced.
fn undecided(sets: &ValueSets<'_>) -> Strings {
    let all = sets.languages.any_string.yes;
    Strings::of_set(StringSet { yes: all, no: all })
}
