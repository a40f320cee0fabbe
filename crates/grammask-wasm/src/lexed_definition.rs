//! The definition of a bundled grammar: a file of `python/grammask/grammars/definitions/`.

use grammask::lexing::{
    ConflictPolicy, IndentationMeasure, IndentationSource, LexedDefinition, LexerKind, LexingRule,
    ParserKind, PatternSource, ProductionSource, TerminalPattern, TerminalRole, TerminalSource,
};
use serde::Deserialize;

use crate::failures::{JsResult, invalid_argument};
use crate::options::{named, options};

/// A file of a definition.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DefinitionFile {
    #[serde(rename = "title")]
    _title: String,
    /// The name of the lexer.
    lexer: String,
    /// Rules by name of a start symbol.
    starts: std::collections::BTreeMap<String, String>,
    #[serde(default)]
    indentation: Option<IndentationFields>,
    /// Name, kind of pattern, pattern, spellings of a literal (or empty), priority, role.
    terminals: Vec<(String, String, PatternField, String, i32, String)>,
    /// Left-hand side, right-hand side, priority.
    productions: Vec<(String, Vec<String>, i32)>,
    #[serde(default)]
    lexical_rules: Vec<String>,
    /// What messages call terminals and rules: name, description.
    descriptions: Vec<(String, String)>,
}

/// Newline, indent, dedent, tab length or `None` for Python's measure, opening and closing terminals, whether texts begin
/// a line.
type IndentationFields = (String, String, String, Option<u32>, Vec<String>, Vec<String>, bool);

#[derive(Deserialize)]
#[serde(untagged)]
enum PatternField {
    Text(String),
    Automaton { base64: String },
}

/// Reads a definition with the start symbol called `start`.
pub(crate) fn read(text: &str, start: &str) -> JsResult<LexedDefinition> {
    let file: DefinitionFile = options(text)?;
    let lexer: LexerKind = named(&file.lexer)?;
    let Some(start) = file.starts.get(start).cloned() else {
        let known: Vec<&str> = file.starts.keys().map(String::as_str).collect();
        let message = format!("the grammar has no start symbol {start:?}; it has {}", known.join(", "));
        return Err(invalid_argument(message));
    };
    let terminals = file.terminals.into_iter().map(|(name, kind, pattern, spellings, priority, role)| {
        let source = match pattern {
            PatternField::Text(text) => PatternSource::Text(text),
            PatternField::Automaton { base64 } => {
                PatternSource::Automaton(from_base64(&base64).ok_or_else(|| damaged(&name))?)
            }
        };
        let pattern = TerminalPattern::of_kind(&kind, source, spellings).ok_or_else(|| damaged(&name))?;
        let role: TerminalRole = named(&role)?;
        Ok(TerminalSource { name, pattern, priority, role })
    });
    Ok(LexedDefinition {
        terminals: terminals.collect::<JsResult<_>>()?,
        productions: file
            .productions
            .into_iter()
            .map(|(lhs, rhs, priority)| ProductionSource { lhs, rhs, priority })
            .collect(),
        start,
        lexical_rules: file.lexical_rules,
        ignored_rules: Vec::new(),
        lexer,
        rule: LexingRule::Lark,
        parser: ParserKind::Lalr,
        conflicts: ConflictPolicy::PreferShift,
        indentation: file.indentation.map(
            |(newline, indent, dedent, tab_length, open, close, begins_line)| IndentationSource {
                newline,
                indent,
                dedent,
                measure: IndentationMeasure::from(tab_length),
                open,
                close,
                begins_line,
            },
        ),
        beginning: Vec::new(),
        encodings: Vec::new(),
        descriptions: file.descriptions.into_iter().collect(),
    })
}

fn damaged(terminal: &str) -> wasm_bindgen::JsValue {
    invalid_argument(format!("the definition of the terminal {terminal} is damaged"))
}

/// Decodes standard base64 with padding.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut buffer, mut bits) = (0_u32, 0);
    for character in text.trim_end_matches('=').bytes() {
        let value = match character {
            b'A'..=b'Z' => character - b'A',
            b'a'..=b'z' => character - b'a' + 26,
            b'0'..=b'9' => character - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        buffer = buffer << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((buffer >> bits) as u8);
            buffer &= (1 << bits) - 1;
        }
    }
    Some(bytes)
}
