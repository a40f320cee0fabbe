//! The grammars of the contents of strings, inner ones before those that contain them.

use rustc_hash::FxHashMap;

use crate::document::resources::Location;
use crate::emit::emitter::Emitter;
use crate::emit::grammar_emitter::{EmittedContent, EmittedGrammar};
use crate::emit::rules::RuleId;
use crate::values::schema_reader::SchemaReader;
use crate::values::string_formula::{Content, ContentTexts};
use grammask_automata::Terms;
use grammask_diagnostics::{Code, LimitExceeded};
use grammask_grammar::Grammar;

/// A grammar of decoded strings.
#[derive(Clone, Debug)]
pub enum StringContent {
    /// A grammar of the options, by its index.
    Media(usize),
    /// The JSON texts of a schema.
    Json {
        /// The grammar.
        grammar: Box<Grammar>,
        /// The contents that it embeds: indices of earlier ones.
        embedded: Vec<usize>,
        /// The JSON pointer of the keyword.
        pointer: String,
    },
}

/// A grammar with the contents that it embeds.
pub(crate) struct GrammarWithContents {
    pub(crate) grammar: Grammar,
    /// Indices of contents.
    pub(crate) embedded: Vec<usize>,
    pub(crate) contents: Vec<StringContent>,
}

/// Bound on the depth of JSON in strings of JSON: each level doubles the length of an escaped quotation mark.
const MAX_DEPTH: usize = 8;

/// A grammar of emitted rules whose contents are being made.
struct Pending {
    /// `None` for the whole text.
    content: Option<RuleId>,
    emitted: EmittedGrammar,
}

/// The grammar with the start rule `start`, and the grammars of its contents; `None` if it derives no finite text, or, with
/// a finding, if a content contains itself.
pub(crate) fn grammar_with_contents(
    emitter: &Emitter,
    reader: &mut SchemaReader<'_>,
    terms: Terms,
    start: RuleId,
    source: &str,
) -> Result<Option<GrammarWithContents>, LimitExceeded> {
    let emitted_of = |reader: &SchemaReader<'_>, terms: Terms, rule: RuleId, source: &str| {
        emitter.rules.to_grammar(terms, rule, source, reader)
    };
    let mut contents: Vec<StringContent> = Vec::new();
    let mut depths: Vec<usize> = Vec::new();
    let mut indices: FxHashMap<EmittedContent, usize> = FxHashMap::default();
    let Some(emitted) = emitted_of(reader, terms, start, source)? else { return Ok(None) };
    let mut stack = vec![Pending { content: None, emitted }];
    while let Some(Pending { emitted, .. }) = stack.last() {
        let missing = emitted.contents.iter().copied().find(|content| !indices.contains_key(content));
        match missing {
            Some(content @ EmittedContent::Media(grammar)) => {
                indices.insert(content, contents.len());
                contents.push(StringContent::Media(grammar));
                depths.push(0);
            }
            Some(EmittedContent::Json(rule)) if stack.iter().any(|other| other.content == Some(rule)) => {
                let message = "a content of strings that contains such strings itself is not supported";
                let Some(place) = place_of(emitter, reader, rule) else { return Ok(None) };
                refuse(reader, place, message.to_owned());
                return Ok(None);
            }
            Some(EmittedContent::Json(rule)) => {
                // Making a grammar only adds terms.
                let terms = emitted.grammar.terms().clone();
                let Some(emitted) = emitted_of(reader, terms, rule, "")? else { return Ok(None) };
                stack.push(Pending { content: Some(rule), emitted });
            }
            None => {
                let Some(Pending { content, emitted }) = stack.pop() else { break };
                let EmittedGrammar { grammar, contents: embedded } = emitted;
                let embedded: Vec<usize> = embedded.iter().map(|content| indices[content]).collect();
                let Some(rule) = content else {
                    return Ok(Some(GrammarWithContents { grammar, embedded, contents }));
                };
                let Some(place) = place_of(emitter, reader, rule) else { return Ok(None) };
                let depth = embedded.iter().map(|&index| depths[index]).max().unwrap_or(0) + 1;
                if depth > MAX_DEPTH {
                    refuse(reader, place, format!("JSON in strings nests more than {MAX_DEPTH} deep"));
                    return Ok(None);
                }
                depths.push(depth);
                indices.insert(EmittedContent::Json(rule), contents.len());
                contents.push(StringContent::Json {
                    grammar: Box::new(grammar),
                    embedded,
                    pointer: reader.library.pointer(place),
                });
            }
        }
    }
    Ok(None)
}

/// The first place of the content with a rule.
fn place_of(emitter: &Emitter, reader: &SchemaReader<'_>, rule: RuleId) -> Option<Location> {
    let value = emitter.json_contents.get(&rule)?;
    let content = Content { texts: ContentTexts::Json(*value), encoding: None };
    reader.content_places.get(&content).copied()
}

/// Adds an error, which cannot be relaxed, about a content.
fn refuse(reader: &mut SchemaReader<'_>, place: Location, message: String) {
    let help = "leave `contentSchema` out where it nests";
    reader.findings.add(&reader.library, Code::UnsupportedGrammar, place, message, help);
}
