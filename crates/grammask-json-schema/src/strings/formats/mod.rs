//! The formats of JSON Schema as languages of encoded strings, one file for each family, after the RFCs that it names.
//!
//! Every draft lets implementations support more formats than it names, and schemas of old drafts use the names of
//! newer ones in their later meaning. All drafts therefore have all formats, each as defined by that draft or by the
//! first draft that names it. Other names, such as `url`, are annotations. All formats are exact except the following,
//! which exclude some valid texts and admit no invalid one: `hostname` and `idn-hostname` have no A-labels (`xn--...`,
//! from draft 7 on; Punycode is not regular) and Arabic joiners between common letters only; `idn-hostname` bounds the
//! characters beyond ASCII so that their Punycode is short enough; `regex` limits the depth of groups and has no
//! back-references.

mod addresses;
mod dates;
mod expressions;
mod hosts;
mod mailboxes;
mod pointers;
mod resources;
mod unicode_tables;

use crate::automaton_cache::AutomatonCache;
use crate::options::{Draft, Escapes};
use crate::strings::pattern::{PatternError, full_match, search};
use crate::strings::string_encoding::{EncodingKind, StringEncoding};
use grammask_automata::{TermId, Terms};
use grammask_diagnostics::Limits;

/// The texts of the format `name` in a schema of `draft`, or `None` if no draft has it.
///
/// # Errors
/// If the format exceeds a limit.
pub(crate) fn format(
    terms: &mut Terms,
    encoding: &mut StringEncoding,
    name: &str,
    draft: Draft,
    limits: &Limits,
) -> Option<Result<TermId, PatternError>> {
    if name == "date-time" {
        let parts = ["date", "time"].map(|part| format(terms, encoding, part, draft, limits));
        let [Some(Ok(date)), Some(Ok(time))] = parts else {
            return parts.into_iter().flatten().find(Result::is_err);
        };
        let separator = full_match(terms, encoding, dates::SEPARATOR, limits);
        return Some(separator.map(|separator| terms.concat(&[date, separator, time])));
    }
    let subject = (Box::from(name), depends_on_draft(name).then_some(draft), encoding.kind());
    let mut failure = None;
    let table = AUTOMATA.get(subject, || {
        if is_too_large_to_determinize(name) {
            return None;
        }
        if name == "time" && encodes_ascii_as_itself(encoding.kind()) {
            return Some(dates::time());
        }
        let mut scratch = Terms::new();
        let mut encoding = StringEncoding::within(encoding.kind());
        let builder = &mut FormatBuilder { terms: &mut scratch, encoding: &mut encoding, limits };
        let table = if name == "regex" && encodes_ascii_as_itself(builder.encoding.kind()) {
            expressions::table(builder, MAX_STATES)
        } else {
            build(builder, name, draft)?.map(|term| scratch.determinize(term, MAX_STATES))
        };
        table.unwrap_or_else(|error| {
            failure = Some(error);
            None
        })
    });
    match (table, failure) {
        (Some(table), _) => Some(Ok(terms.table(table))),
        (None, Some(error)) => Some(Err(error)),
        (None, None) => build(&mut FormatBuilder { terms, encoding, limits }, name, draft),
    }
}

/// A language with all texts of a format whose own language leaves out some of them; `None` for the other formats.
/// Texts outside of it certainly lack the format.
///
/// # Errors
/// If the language exceeds a limit.
pub(crate) fn superset(
    terms: &mut Terms,
    encoding: &mut StringEncoding,
    name: &str,
    limits: &Limits,
) -> Option<Result<TermId, PatternError>> {
    let mut builder = FormatBuilder { terms, encoding, limits };
    Some(match name {
        // Any label of letters, digits and hyphens may be an A-label.
        "hostname" => hosts::hostname(&mut builder, Draft::Draft4),
        "idn-hostname" => builder.full("[A-Za-z0-9.\\-\\u{80}-\\u{10ffff}]+"),
        "regex" => builder.without_match(expressions::INVALID),
        _ => return None,
    })
}

/// Upper bound on the number of states of a cached format.
const MAX_STATES: usize = 20_000;

/// Whether the automaton of a format is too large to determinise: nested counts, or large parts of Unicode. Such
/// formats are terms in the arena of the schema and run lazily.
fn is_too_large_to_determinize(name: &str) -> bool {
    matches!(name, "hostname" | "idn-hostname")
}

/// Whether drafts differ in the texts of a format.
fn depends_on_draft(name: &str) -> bool {
    matches!(name, "hostname" | "relative-json-pointer")
}

/// Whether digits, and the punctuation of dates and patterns, have themselves as their only encoding.
fn encodes_ascii_as_itself(kind: EncodingKind) -> bool {
    kind != EncodingKind::Json(Escapes::Any)
}

static AUTOMATA: AutomatonCache<(Box<str>, Option<Draft>, EncodingKind)> = AutomatonCache::new();

fn build(builder: &mut FormatBuilder<'_>, name: &str, draft: Draft) -> Option<Result<TermId, PatternError>> {
    Some(match name {
        "date" => builder.full(dates::DATE),
        "time" => builder.full(&dates::time_pattern()),
        "duration" => builder.full(dates::DURATION),
        "email" => builder.full(&mailboxes::email()),
        "idn-email" => builder.full(&mailboxes::idn_email()),
        "hostname" => hosts::hostname(builder, draft),
        "idn-hostname" => hosts::idn_hostname(builder),
        "ipv4" => builder.full(addresses::IPV4),
        "ipv6" => builder.full(&addresses::ipv6()),
        "uri" => builder.full(&resources::uri()),
        "uri-reference" => builder.full(&resources::uri_reference()),
        "iri" => builder.full(&resources::iri()),
        "iri-reference" => builder.full(&resources::iri_reference()),
        "uri-template" => builder.full(&resources::uri_template()),
        "uuid" => builder.full("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"),
        "json-pointer" => builder.full(pointers::JSON_POINTER),
        "relative-json-pointer" => builder.full(&pointers::relative(draft)),
        "regex" => expressions::regex(builder),
        _ => return None,
    })
}

/// The arena and the encoding in which a format is built.
struct FormatBuilder<'a> {
    terms: &'a mut Terms,
    encoding: &'a mut StringEncoding,
    limits: &'a Limits,
}

impl FormatBuilder<'_> {
    /// The texts that match from start to end.
    fn full(&mut self, source: &str) -> Result<TermId, PatternError> {
        full_match(self.terms, self.encoding, source, self.limits)
    }

    /// The byte strings without a match of `source`: for intersection with encodings.
    fn without_match(&mut self, source: &str) -> Result<TermId, PatternError> {
        let containing = search(self.terms, self.encoding, source, self.limits)?;
        Ok(self.encoding.outside(self.terms, containing))
    }

    /// The texts of `term` without a match of `source`.
    fn without(&mut self, term: TermId, source: &str) -> Result<TermId, PatternError> {
        let others = self.without_match(source)?;
        Ok(self.terms.intersection(&[term, others]))
    }

    /// `part` once to `max` times, joined by `separator`.
    fn separated(&mut self, part: TermId, separator: TermId, max: Option<u32>) -> TermId {
        let next = self.terms.concat(&[separator, part]);
        let others = self.terms.repeat(next, 0, max.map(|max| max - 1));
        self.terms.concat(&[part, others])
    }
}

#[cfg(test)]
mod tests;
