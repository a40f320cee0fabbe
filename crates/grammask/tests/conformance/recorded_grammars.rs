//! The grammars of cases that are read in Python, from the recorded calls of a builder or a saved grammar
//! (`testdata/conformance/recorded_grammars.toml`).

use std::path::Path;
use std::sync::Arc;

use grammask::automata::TermId;
use grammask::frontends::free_text::FreeText;
use grammask::frontends::json_schema::{self, Numbers, SchemaOptions, UniqueNames, Whitespace};
use grammask::frontends::{regex, regex_grammar};
use grammask::grammar::{Grammar, GrammarBuilder, NodeId, NonterminalId, Span, Terminal};
use grammask::vocabulary::Vocabulary;
use grammask::{CompileOptions, CompiledGrammar, Limits};
use serde::Deserialize;

/// The grammar of a case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedGrammar {
    pub file: String,
    pub case: String,
    #[serde(default)]
    calls: Vec<Call>,
    saved: Option<String>,
}

/// A call that makes a part, a rule or a language. Each is referred to by its number among those of its kind.
#[derive(Deserialize)]
#[serde(tag = "call", rename_all = "snake_case", deny_unknown_fields)]
enum Call {
    Literal { bytes: String },
    Grammar(InnerGrammar),
    Text { ends: Vec<String>, end: usize, excludes: Vec<String> },
    Sequence { parts: Vec<usize> },
    Choice { parts: Vec<usize> },
    Repeat { part: usize, min_count: u32, max_count: Option<u32> },
    Rule { name: String },
    Reference { rule: usize },
    Define { rule: usize, part: usize },
    RegexLanguage { pattern: String },
    LiteralLanguage { bytes: String },
    ConcatenatedLanguage { languages: Vec<usize> },
    UnionLanguage { languages: Vec<usize> },
    IntersectionLanguage { languages: Vec<usize> },
    ComplementLanguage { language: usize },
    RepeatedLanguage { language: usize, min_count: u32, max_count: Option<u32> },
    ShortestLanguage { language: usize },
    Terminal { language: usize, label: String },
    Finish { part: usize },
}

/// A grammar of a regular expression or a schema.
#[derive(Deserialize)]
struct InnerGrammar {
    regex: Option<String>,
    schema: Option<String>,
    max_whitespace: Option<u32>,
    numbers: Option<String>,
    unique_names: Option<String>,
}

/// All recorded grammars.
pub fn recorded_grammars() -> Vec<RecordedGrammar> {
    #[derive(Deserialize)]
    struct File {
        grammar: Vec<RecordedGrammar>,
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/conformance");
    let text = std::fs::read_to_string(folder.join("recorded_grammars.toml")).expect("a file");
    toml::from_str::<File>(&text).expect("grammars").grammar
}

impl RecordedGrammar {
    /// The grammar, compiled for a vocabulary of all bytes and an end token.
    pub fn compile(&self, vocabulary: &Arc<Vocabulary>) -> Arc<CompiledGrammar> {
        let compiled = match &self.saved {
            Some(saved) => {
                CompiledGrammar::from_bytes(&bytes_of(saved), vocabulary.clone(), Limits::default())
            }
            None => CompiledGrammar::new(&build(&self.calls), vocabulary.clone(), CompileOptions::default()),
        };
        compiled.unwrap_or_else(|error| panic!("{} {}: {error}", self.file, self.case))
    }
}

fn build(calls: &[Call]) -> Grammar {
    let (last, calls) = calls.split_last().expect("calls");
    let Call::Finish { part } = last else { panic!("the last call finishes the grammar") };
    let mut replay =
        Replay { builder: GrammarBuilder::new(""), parts: vec![], rules: vec![], languages: vec![] };
    for call in calls {
        replay.make(call);
    }
    let Replay { mut builder, parts, .. } = replay;
    let start = builder.fresh_nonterminal("start", Span::default());
    builder.define(start, parts[*part], Span::default());
    builder.finish(start)
}

struct Replay {
    builder: GrammarBuilder,
    parts: Vec<NodeId>,
    rules: Vec<NonterminalId>,
    languages: Vec<TermId>,
}

impl Replay {
    fn make(&mut self, call: &Call) {
        match call {
            Call::Rule { name } => self.rules.push(self.builder.fresh_nonterminal(name, Span::default())),
            Call::Define { rule, part } => {
                self.builder.define(self.rules[*rule], self.parts[*part], Span::default());
            }
            _ => match self.part(call) {
                Some(part) => self.parts.push(part),
                None => {
                    let language = self.language(call);
                    self.languages.push(language);
                }
            },
        }
    }

    /// The part that a call makes; `None` if it makes a language.
    fn part(&mut self, call: &Call) -> Option<NodeId> {
        let (builder, span) = (&mut self.builder, Span::default());
        let all = |parts: &[usize]| parts.iter().map(|&part| self.parts[part]).collect();
        Some(match call {
            Call::Literal { bytes } if bytes.is_empty() => builder.sequence(Vec::new(), span),
            Call::Literal { bytes } => builder.literal(&bytes_of(bytes), span),
            Call::Grammar(inner) => builder.graft(&inner.build()),
            Call::Text { ends, end, excludes } => {
                let [ends, excludes] =
                    [ends, excludes].map(|words| words.iter().map(|word| bytes_of(word)).collect());
                let text = FreeText { ends, excludes, max_characters: None, max_tokens: None };
                text.before(builder, *end)
            }
            Call::Sequence { parts } => builder.sequence(all(parts), span),
            Call::Choice { parts } => builder.choice(all(parts), span),
            Call::Repeat { part, min_count, max_count } => {
                builder.repeat(self.parts[*part], *min_count, *max_count, span)
            }
            Call::Reference { rule } => builder.reference(self.rules[*rule], span),
            Call::Terminal { language, label } => {
                builder.terminal(Terminal::Regular(self.languages[*language]), label, span)
            }
            _ => return None,
        })
    }

    fn language(&mut self, call: &Call) -> TermId {
        let terms = self.builder.terms();
        let all = |languages: &[usize]| -> Vec<TermId> {
            languages.iter().map(|&language| self.languages[language]).collect()
        };
        match call {
            Call::RegexLanguage { pattern } => {
                regex::term(terms, pattern, &Limits::default()).expect("a pattern")
            }
            Call::LiteralLanguage { bytes } => terms.literal(&bytes_of(bytes)),
            Call::ConcatenatedLanguage { languages } => terms.concat(&all(languages)),
            Call::UnionLanguage { languages } => terms.union(&all(languages)),
            Call::IntersectionLanguage { languages } => terms.intersection(&all(languages)),
            Call::ComplementLanguage { language } => terms.complement(self.languages[*language]),
            Call::RepeatedLanguage { language, min_count, max_count } => {
                terms.repeat(self.languages[*language], *min_count, *max_count)
            }
            Call::ShortestLanguage { language } => {
                let language = self.languages[*language];
                if terms.is_nullable(language) { terms.epsilon() } else { terms.first_match(language) }
            }
            _ => panic!("the call makes no part and no language"),
        }
    }
}

impl InnerGrammar {
    fn build(&self) -> Grammar {
        let limits = Limits::default();
        let Some(schema) = &self.schema else {
            let pattern = self.regex.as_ref().expect("a regular expression or a schema");
            return regex_grammar::grammar(pattern, &limits).expect("a regular expression");
        };
        let mut options = SchemaOptions::default();
        if let Some(max) = self.max_whitespace {
            options.whitespace = Whitespace::Flexible { max };
        }
        options.numbers = match self.numbers.as_deref() {
            None => Numbers::Natural,
            Some("any") => Numbers::Any,
            Some(other) => panic!("unknown numbers: {other}"),
        };
        options.unique_names = match self.unique_names.as_deref() {
            None => UniqueNames::Counted,
            Some("declared") => UniqueNames::Declared,
            Some(other) => panic!("unknown unique names: {other}"),
        };
        json_schema::grammar(schema, &options, &limits).expect("a schema").grammar
    }
}

/// The bytes that hexadecimal digits denote.
fn bytes_of(hex: &str) -> Vec<u8> {
    let byte = |start| u8::from_str_radix(&hex[start..start + 2], 16).expect("hexadecimal digits");
    (0..hex.len()).step_by(2).map(byte).collect()
}
