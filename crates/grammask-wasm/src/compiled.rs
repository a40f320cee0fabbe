//! `CompiledGrammar`: a grammar compiled for a vocabulary.

use std::sync::Arc;
use std::time::Duration;

use grammask::CompiledGrammar;
use wasm_bindgen::prelude::*;

use crate::failures::{JsResult, budget_error, diagnostics_json, grammar_error};
use crate::matcher::JsMatcher;

/// A compiled grammar; `CompiledGrammar` in `npm/grammask.d.ts` wraps it.
#[wasm_bindgen(js_name = CompiledGrammar)]
pub struct JsCompiledGrammar {
    compiled: Arc<CompiledGrammar>,
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
        Ok(JsMatcher::new(matcher))
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
    pub(crate) fn new(compiled: Arc<CompiledGrammar>) -> Self {
        Self { compiled }
    }
}
