//! The formats of JSON Schema as languages of spellings, a file for each family, after the RFCs it names.
//!
//! Every draft lets implementations know more formats than it names, and schemas of old drafts use the names of newer
//! ones in their meaning; so all formats are known in all drafts, each as that draft, or the first that names it, has it.
//! Other names, `url` and the like among them, are annotations and not known here. All formats are exact but these, which leave texts out and let nothing wrong in:
//! `hostname` and `idn-hostname` have no A-labels (`xn--...`, from draft 7 on; Punycode is not regular) and Arabic
//! joiners between common letters only; `regex` has groups up to a certain depth and no back-references.
//! `idn-hostname` does not count the octets of a label's Punycode.

mod addresses;
mod dates;
mod expressions;
mod hosts;
mod mailboxes;
mod pointers;
mod resources;
mod unicode_tables;

use super::options::{Draft, Escapes};
use super::pattern::{PatternError, full, pattern};
use super::ready_made::ReadyMade;
use super::spelling::{Spelling, Universe};
use grammask_automata::{TermId, Terms};
use grammask_diagnostics::Limits;

/// The texts of the format `name` in a schema of `draft`; none if no draft knows it.
///
/// # Errors
/// If the limits do not allow the format.
pub(super) fn format(
    terms: &mut Terms,
    spelling: &mut Spelling,
    name: &str,
    draft: Draft,
    limits: &Limits,
) -> Option<Result<TermId, PatternError>> {
    if name == "date-time" {
        let parts = ["date", "time"].map(|part| format(terms, spelling, part, draft, limits));
        let [Some(Ok(date)), Some(Ok(time))] = parts else {
            return parts.into_iter().flatten().find(Result::is_err);
        };
        let separator = full(terms, spelling, dates::SEPARATOR, limits);
        return Some(separator.map(|separator| terms.concat(&[date, separator, time])));
    }
    let subject = (Box::from(name), draft, spelling.universe());
    let mut failed = None;
    let table = KNOWN.get(subject, || {
        if is_large(name) {
            return None;
        }
        if name == "time" && writes_itself(spelling.universe()) {
            return Some(dates::time());
        }
        let mut scratch = Terms::new();
        let mut spelling = Spelling::within(spelling.universe());
        let maker = &mut Maker { terms: &mut scratch, spelling: &mut spelling, limits };
        let table = if name == "regex" && writes_itself(maker.spelling.universe()) {
            expressions::table(maker, MOST_STATES)
        } else {
            made(maker, name, draft)?.map(|term| scratch.determinize(term, MOST_STATES))
        };
        table.unwrap_or_else(|error| {
            failed = Some(error);
            None
        })
    });
    match (table, failed) {
        (Some(table), _) => Some(Ok(terms.table(table))),
        (None, Some(error)) => Some(Err(error)),
        (None, None) => made(&mut Maker { terms, spelling, limits }, name, draft),
    }
}

/// No format has more, but for the large ones.
const MOST_STATES: usize = 20_000;

/// Formats with counts within counts, or with much of Unicode, are made anew for each schema, and run lazily.
fn is_large(name: &str) -> bool {
    matches!(name, "hostname" | "idn-hostname")
}

/// Whether punctuation and digits are written as themselves only.
fn writes_itself(universe: Universe) -> bool {
    universe != Universe::Json(Escapes::Any)
}

static KNOWN: ReadyMade<(Box<str>, Draft, Universe)> = ReadyMade::new();

fn made(maker: &mut Maker<'_>, name: &str, draft: Draft) -> Option<Result<TermId, PatternError>> {
    Some(match name {
        "date" => maker.full(dates::DATE),
        "time" => maker.full(&dates::time_pattern()),
        "duration" => maker.full(dates::DURATION),
        "email" => maker.full(&mailboxes::email()),
        "idn-email" => maker.full(&mailboxes::idn_email()),
        "hostname" => hosts::hostname(maker, draft),
        "idn-hostname" => hosts::idn_hostname(maker),
        "ipv4" => maker.full(addresses::IPV4),
        "ipv6" => maker.full(&addresses::ipv6()),
        "uri" => maker.full(&resources::uri()),
        "uri-reference" => maker.full(&resources::uri_reference()),
        "iri" => maker.full(&resources::iri()),
        "iri-reference" => maker.full(&resources::iri_reference()),
        "uri-template" => maker.full(&resources::uri_template()),
        "uuid" => maker.full("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"),
        "json-pointer" => maker.full(pointers::JSON_POINTER),
        "relative-json-pointer" => maker.full(&pointers::relative(draft)),
        "regex" => expressions::regex(maker),
        _ => return None,
    })
}

/// What formats are made with.
struct Maker<'a> {
    terms: &'a mut Terms,
    spelling: &'a mut Spelling,
    limits: &'a Limits,
}

impl Maker<'_> {
    /// The texts that match as a whole.
    fn full(&mut self, source: &str) -> Result<TermId, PatternError> {
        full(self.terms, self.spelling, source, self.limits)
    }

    /// The texts of `term` in which `source` matches nowhere.
    fn without(&mut self, term: TermId, source: &str) -> Result<TermId, PatternError> {
        let found = pattern(self.terms, self.spelling, source, self.limits)?;
        let others = self.spelling.outside(self.terms, found);
        Ok(self.terms.intersection(&[term, others]))
    }

    /// `part` once or more, with `separator` between.
    fn separated(&mut self, part: TermId, separator: TermId) -> TermId {
        let next = self.terms.concat(&[separator, part]);
        let others = self.terms.repeat(next, 0, None);
        self.terms.concat(&[part, others])
    }
}

#[cfg(test)]
mod tests;
