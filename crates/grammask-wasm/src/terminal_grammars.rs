//! Terminals of grammars with a lexer that other grammars define.

use std::sync::Arc;

use grammask::Limits;
use grammask::grammar::{Diagnostic, Grammar, GrammarError};
use grammask::lexing::{LexedDefinition, TerminalGrammar};
use wasm_bindgen::prelude::*;

use crate::failures::{JsResult, invalid_argument};
use crate::grammar::JsGrammar;

/// The option `terminals` of `LexerOptions` in `npm/grammask.d.ts`. Arrays of objects of this module would be moved out
/// of JavaScript, so the grammars are added one by one.
#[wasm_bindgen(js_name = TerminalGrammars)]
#[derive(Default)]
pub struct JsTerminalGrammars {
    grammars: Vec<(String, Arc<Grammar>)>,
    warnings: Vec<Diagnostic>,
    relaxations: Vec<Diagnostic>,
}

#[wasm_bindgen(js_class = TerminalGrammars)]
impl JsTerminalGrammars {
    /// No terminals.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the grammar of a terminal.
    ///
    /// # Errors
    /// If the grammar has a lexer.
    pub fn add(&mut self, name: String, grammar: &JsGrammar) -> JsResult<()> {
        let Some((rules, warnings, relaxations)) = grammar.rules_without_lexer() else {
            let message =
                format!("the terminal `{name}` cannot have the texts of its grammar: it has a lexer");
            return Err(invalid_argument(message));
        };
        self.grammars.push((name, rules.clone()));
        self.warnings.extend(warnings.iter().map(without_span));
        self.relaxations.extend(relaxations.iter().map(without_span));
        Ok(())
    }
}

impl JsTerminalGrammars {
    /// Refuses terminals of a grammar without a lexer.
    pub(crate) fn refuse_without_lexer(&self) -> JsResult<()> {
        if self.grammars.is_empty() {
            return Ok(());
        }
        Err(invalid_argument(
            "the option terminals defines terminals of a lexer: choose one by the option lexer",
        ))
    }

    /// Defines the terminals of a definition.
    pub(crate) fn define(
        &self,
        definition: &mut LexedDefinition,
        limits: &Limits,
    ) -> Result<(), GrammarError> {
        let terminals: Vec<TerminalGrammar<'_>> =
            self.grammars.iter().map(|(name, grammar)| TerminalGrammar { name, grammar }).collect();
        definition.define_terminals(&terminals, limits)
    }

    /// The warnings about the grammars.
    pub(crate) fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// The constraints of schemas among the grammars that are not enforced.
    pub(crate) fn relaxations(&self) -> &[Diagnostic] {
        &self.relaxations
    }
}

/// A finding about another text than the source of the grammar.
fn without_span(diagnostic: &Diagnostic) -> Diagnostic {
    Diagnostic { span: None, ..diagnostic.clone() }
}
