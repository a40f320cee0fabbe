//! Options of JavaScript objects, as JSON. A member that is not an option is an error.

use std::time::Duration;

use grammask::grammar::{NamedOption, UnknownName};
use grammask::lexing::{LexerKind, ParserKind};
use grammask::{CompileOptions, EndMode, EndlessRules, Limits};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::failures::{JsResult, invalid_argument};

/// Reads an object of options.
pub(crate) fn options<T: DeserializeOwned>(text: &str) -> JsResult<T> {
    serde_json::from_str(text).map_err(|error| invalid_argument(format!("options: {error}")))
}

/// The value of an option that has a name.
pub(crate) fn named<T: NamedOption>(name: &str) -> JsResult<T> {
    T::of_name(name).map_err(|error: UnknownName| invalid_argument(error))
}

/// `Limits` in `npm/grammask.d.ts`.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct LimitOptions {
    grammar_bytes: Option<usize>,
    grammar_size: Option<usize>,
    automaton_states: Option<usize>,
    set_items: Option<usize>,
    bound_bytes: Option<usize>,
    memory_bytes: Option<usize>,
    milliseconds: Option<u32>,
}

impl LimitOptions {
    /// The limits, with the defaults where nothing is set.
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        let fields = [
            (&mut limits.grammar_bytes, self.grammar_bytes),
            (&mut limits.grammar_size, self.grammar_size),
            (&mut limits.automaton_states, self.automaton_states),
            (&mut limits.set_items, self.set_items),
            (&mut limits.bound_bytes, self.bound_bytes),
            (&mut limits.memory_bytes, self.memory_bytes),
        ];
        for (field, value) in fields {
            *field = value.unwrap_or(*field);
        }
        if let Some(milliseconds) = self.milliseconds {
            limits.time = Duration::from_millis(milliseconds.into());
        }
        limits
    }
}

/// The options of a grammar of rules.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct RuleGrammarOptions {
    pub(crate) start: Option<String>,
    pub(crate) lexer: Option<String>,
    pub(crate) parser: Option<String>,
    pub(crate) dialect: String,
    pub(crate) syntax: String,
    pub(crate) limits: LimitOptions,
}

impl Default for RuleGrammarOptions {
    fn default() -> Self {
        Self {
            start: None,
            lexer: None,
            parser: None,
            dialect: "llama.cpp".to_owned(),
            syntax: "rust".to_owned(),
            limits: LimitOptions::default(),
        }
    }
}

impl RuleGrammarOptions {
    /// The lexer and the parser; `None` for rules that derive texts byte by byte.
    pub(crate) fn lexing(&self) -> JsResult<Option<(LexerKind, ParserKind)>> {
        let lexer: Option<LexerKind> = self.lexer.as_deref().map(named).transpose()?;
        let parser: Option<ParserKind> = self.parser.as_deref().map(named).transpose()?;
        let is_dynamic = lexer.is_some_and(LexerKind::is_dynamic);
        let parser = match (lexer, parser) {
            (None, None) => return Ok(None),
            (Some(_), Some(ParserKind::Lalr)) if is_dynamic => {
                return Err(invalid_argument("a dynamic lexer needs the Earley parser"));
            }
            (Some(LexerKind::Contextual), Some(ParserKind::Earley)) => {
                return Err(invalid_argument("a contextual lexer needs LALR(1) tables"));
            }
            (_, Some(parser)) => parser,
            (Some(_), None) if is_dynamic => ParserKind::Earley,
            (Some(_), None) => ParserKind::Lalr,
        };
        let default = if parser == ParserKind::Earley { LexerKind::Dynamic } else { LexerKind::Contextual };
        Ok(Some((lexer.unwrap_or(default), parser)))
    }
}

/// The options of compiling.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct CompilingOptions {
    end: Option<String>,
    finite: bool,
    limits: LimitOptions,
}

impl CompilingOptions {
    /// The options of the facade.
    pub(crate) fn compile_options(&self) -> JsResult<CompileOptions> {
        let mut options = CompileOptions::default();
        options.end = self.end.as_deref().map_or(Ok(EndMode::Eos), named)?;
        options.endless = if self.finite { EndlessRules::Refuse } else { EndlessRules::Allow };
        options.limits = self.limits.limits();
        Ok(options)
    }
}
