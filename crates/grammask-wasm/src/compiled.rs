//! `CompiledGrammar`: a grammar compiled for a vocabulary.

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use grammask::grammar::Grammar;
use grammask::{CompiledGrammar, EmbeddedGrammar, TreeParser};
use wasm_bindgen::prelude::*;

use crate::explanation::text_explanation_json;
use crate::failures::{JsResult, budget_error, diagnostics_json, grammar_error};
use crate::matcher::JsMatcher;

/// A compiled grammar; `CompiledGrammar` in `npm/grammask.d.ts` wraps it.
#[wasm_bindgen(js_name = CompiledGrammar)]
pub struct JsCompiledGrammar {
    compiled: Arc<CompiledGrammar>,
    trees: Rc<TreeSource>,
}

/// What the parser of trees is made of when a tree is first asked for.
pub(crate) struct TreeSource {
    /// `None` for grammars with a lexer, whose engine makes trees itself.
    rules: Option<(Arc<Grammar>, Vec<EmbeddedGrammar>)>,
    parser: OnceCell<TreeParser>,
}

impl TreeSource {
    /// The parser; `None` for grammars with a lexer.
    pub(crate) fn parser(&self, compiled: &CompiledGrammar) -> JsResult<Option<&TreeParser>> {
        let Some((grammar, embedded)) = &self.rules else { return Ok(None) };
        if let Some(parser) = self.parser.get() {
            return Ok(Some(parser));
        }
        let vocabulary = compiled.vocabulary().clone();
        let parser = TreeParser::new(grammar, embedded, vocabulary, &compiled.options().limits);
        let parser = parser.map_err(grammar_error)?;
        Ok(Some(self.parser.get_or_init(|| parser)))
    }
}

#[wasm_bindgen(js_class = CompiledGrammar)]
impl JsCompiledGrammar {
    /// A matcher at the beginning of a text.
    ///
    /// # Errors
    /// If the text cannot be finished with `max_tokens`, or a limit is exceeded.
    pub fn matcher(&self, max_tokens: Option<u32>) -> JsResult<JsMatcher> {
        let mut matcher = self.compiled.matcher();
        if max_tokens.is_some() {
            matcher.set_budget(max_tokens).map_err(budget_error)?;
        }
        Ok(JsMatcher::new(matcher, self.trees.clone()))
    }

    /// The position of the first byte after which no text continues, or the length of an incomplete text; `None` for a
    /// text of the grammar.
    ///
    /// # Errors
    /// When a limit is exceeded.
    #[wasm_bindgen(js_name = firstError)]
    pub fn first_error(&self, text: &[u8]) -> JsResult<Option<usize>> {
        self.compiled.first_error(text).map_err(grammar_error)
    }

    /// Why a text is not in the language, as JSON; `null` if it is.
    ///
    /// # Errors
    /// When a limit is exceeded.
    #[wasm_bindgen(js_name = explainText)]
    pub fn explain_text(&self, text: &[u8]) -> JsResult<String> {
        let refusal = self.compiled.explain_text(text, 0..text.len()).map_err(grammar_error)?;
        Ok(text_explanation_json(refusal.as_ref()))
    }

    /// The warnings of compiling, as JSON.
    #[must_use]
    pub fn warnings(&self) -> String {
        diagnostics_json(self.compiled.warnings(), self.compiled.source())
    }

    /// Computes masks in advance; returns the number of states that were completed.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn precompute(&self, max_sets: Option<usize>, milliseconds: Option<u32>) -> JsResult<usize> {
        let time = milliseconds.map(|milliseconds| Duration::from_millis(milliseconds.into()));
        self.compiled.cache().precompute(max_sets, time, |_, _| true).map_err(grammar_error)
    }

    /// Estimated memory of the grammar and its caches without the vocabulary, in bytes.
    #[wasm_bindgen(getter, js_name = memoryBytes)]
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.compiled.source().len() + self.compiled.cache().memory_bytes()
    }

    /// Whether the grammar has a lexer.
    #[wasm_bindgen(getter, js_name = hasLexer)]
    #[must_use]
    pub fn has_lexer(&self) -> bool {
        self.compiled.lexed().is_some()
    }
}

impl JsCompiledGrammar {
    pub(crate) fn new(
        compiled: Arc<CompiledGrammar>,
        rules: Option<(Arc<Grammar>, Vec<EmbeddedGrammar>)>,
    ) -> Self {
        Self { compiled, trees: Rc::new(TreeSource { rules, parser: OnceCell::new() }) }
    }
}
