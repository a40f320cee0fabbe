//! `Matcher`: the state of one text.

use std::rc::Rc;

use grammask::Matcher;
use grammask::vocabulary::TokenId;
use serde::Serialize;
use wasm_bindgen::prelude::*;

use crate::compiled::TreeSource;
use crate::explanation::{expectation_fields, explanation_fields, token_groups_json};
use crate::failures::{JsResult, budget_error, grammar_error, invalid_argument, json};
use crate::readings::{readings_json, tree_json};
use crate::vocabulary::ids;

/// A matcher; `Matcher` in `npm/grammask.d.ts` wraps it.
#[wasm_bindgen(js_name = Matcher)]
pub struct JsMatcher {
    matcher: Matcher,
    trees: Rc<TreeSource>,
    /// The mask that `fill_mask` wrote last; its address does not change.
    words: Box<[i32]>,
    allowed: usize,
}

/// `Completion` of `npm/grammask.d.ts`.
#[derive(Serialize)]
struct CompletionFields {
    tokens: Vec<u32>,
    bytes: Vec<u8>,
}

#[wasm_bindgen(js_class = Matcher)]
impl JsMatcher {
    /// Appends a token; returns whether it is legal.
    ///
    /// # Errors
    /// If there is no such id, or a limit is exceeded.
    pub fn accept(&mut self, id: u32) -> JsResult<bool> {
        let id = self.existing(id)?;
        self.matcher.accept(id).map_err(grammar_error)
    }

    /// Appends bytes like one token; returns whether they are legal.
    ///
    /// # Errors
    /// If a limit is exceeded.
    #[wasm_bindgen(js_name = acceptBytes)]
    pub fn accept_bytes(&mut self, bytes: &[u8]) -> JsResult<bool> {
        self.matcher.accept_bytes(bytes).map_err(grammar_error)
    }

    /// The length of the longest legal prefix of tokens.
    ///
    /// # Errors
    /// If there is no such id, or a limit is exceeded.
    pub fn validate(&self, tokens: &[u32]) -> JsResult<usize> {
        let tokens: Vec<TokenId> = tokens.iter().map(|&id| self.existing(id)).collect::<JsResult<_>>()?;
        self.matcher.validate(&tokens).map_err(grammar_error)
    }

    /// Computes the mask and writes its words.
    ///
    /// # Errors
    /// If no token is legal although the text has not ended, or a limit is exceeded.
    #[wasm_bindgen(js_name = fillMask)]
    pub fn fill_mask(&mut self) -> JsResult<()> {
        let mask = match self.matcher.lookup_mask() {
            Some(mask) => mask.clone(),
            None => self.matcher.mask().map_err(grammar_error)?,
        };
        if self.words.is_empty() {
            self.words = vec![0; mask.word_count()].into_boxed_slice();
        }
        mask.write_to(&mut self.words);
        self.allowed = mask.len();
        Ok(())
    }

    /// The address of the words in the memory of the engine; 0 before the first mask.
    #[wasm_bindgen(getter, js_name = maskAddress)]
    #[must_use]
    pub fn mask_address(&self) -> usize {
        if self.words.is_empty() { 0 } else { self.words.as_ptr().addr() }
    }

    /// The number of words.
    #[wasm_bindgen(getter, js_name = maskLength)]
    #[must_use]
    pub fn mask_length(&self) -> usize {
        self.words.len()
    }

    /// The number of legal tokens in the mask that was written last.
    #[wasm_bindgen(js_name = allowedCount)]
    #[must_use]
    pub fn allowed_count(&self) -> usize {
        self.allowed
    }

    /// Removes the last steps.
    ///
    /// # Errors
    /// If there are fewer.
    pub fn rollback(&mut self, count: usize) -> JsResult<()> {
        if self.matcher.rollback(count) {
            return Ok(());
        }
        let steps = self.matcher.step_count();
        Err(invalid_argument(format!("cannot roll back {count} steps, only {steps} were accepted")))
    }

    /// An independent matcher in the same state.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self::new(self.matcher.clone(), self.trees.clone())
    }

    /// Removes all steps.
    pub fn reset(&mut self) {
        self.matcher.reset();
    }

    /// Whether the text is complete.
    #[wasm_bindgen(getter, js_name = isComplete)]
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.matcher.is_complete()
    }

    /// Whether the text has ended.
    #[wasm_bindgen(getter, js_name = isFinished)]
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.matcher.is_finished()
    }

    /// The accepted tokens, without bytes that were accepted as such.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn tokens(&self) -> Vec<u32> {
        ids(&self.matcher.tokens())
    }

    /// The number of steps that can be rolled back.
    #[wasm_bindgen(getter, js_name = stepCount)]
    #[must_use]
    pub fn step_count(&self) -> usize {
        self.matcher.step_count()
    }

    /// The number of tokens that the text may still have.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn budget(&self) -> Option<u32> {
        self.matcher.budget()
    }

    /// Sets the budget.
    ///
    /// # Errors
    /// If the text cannot be finished with it, or a limit is exceeded.
    #[wasm_bindgen(js_name = setBudget)]
    pub fn set_budget(&mut self, budget: Option<u32>) -> JsResult<()> {
        self.matcher.set_budget(budget).map_err(budget_error)
    }

    /// The least sufficient budget.
    ///
    /// # Errors
    /// If no completion is known, or a limit is exceeded.
    #[wasm_bindgen(js_name = tokensToFinish)]
    pub fn tokens_to_finish(&self) -> JsResult<u32> {
        self.matcher.tokens_to_finish().map_err(grammar_error)
    }

    /// A completion with the fewest tokens, as JSON.
    ///
    /// # Errors
    /// If no completion is known, or a limit is exceeded.
    #[wasm_bindgen(js_name = shortestCompletion)]
    pub fn shortest_completion(&self) -> JsResult<String> {
        let completion = self.matcher.shortest_completion().map_err(grammar_error)?;
        Ok(json(&CompletionFields { tokens: ids(&completion.tokens), bytes: completion.text }))
    }

    /// The longest common prefix of all continuations.
    ///
    /// # Errors
    /// If a limit is exceeded.
    #[wasm_bindgen(js_name = forcedBytes)]
    pub fn forced_bytes(&self, limit: usize) -> JsResult<Vec<u8>> {
        self.matcher.forced_bytes(limit).map_err(grammar_error)
    }

    /// The tokens of which each is the only legal one.
    ///
    /// # Errors
    /// If a limit is exceeded.
    #[wasm_bindgen(js_name = forcedTokens)]
    pub fn forced_tokens(&self, limit: usize) -> JsResult<Vec<u32>> {
        Ok(ids(&self.matcher.forced_tokens(limit).map_err(grammar_error)?))
    }

    /// The terminals that can come next, as JSON.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn expected(&self) -> JsResult<String> {
        Ok(json(&expectation_fields(&self.matcher.expectations().map_err(grammar_error)?)))
    }

    /// Why a token is legal or not, as JSON.
    ///
    /// # Errors
    /// If there is no such id, or a limit is exceeded.
    pub fn explain(&self, id: u32) -> JsResult<String> {
        let id = self.existing(id)?;
        let explanation = self.matcher.explain(id).map_err(grammar_error)?;
        Ok(json(&explanation_fields(&explanation, id, self.matcher.compiled().vocabulary())))
    }

    /// The parse of the text so far as a list of nodes, as JSON; `null` if there is none.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn tree(&self) -> JsResult<String> {
        let tree = match self.trees.parser(self.matcher.compiled())? {
            Some(parser) => parser.tree(&self.matcher).map_err(grammar_error)?,
            None => {
                self.matcher.readings().map_err(grammar_error)?.into_iter().next().and_then(|way| way.tree)
            }
        };
        Ok(tree_json(tree.as_ref()))
    }

    /// The legal tokens by the terminals with which they begin, at most `limit` of each, as JSON.
    ///
    /// # Errors
    /// As of `fill_mask`.
    #[wasm_bindgen(js_name = tokensByTerminal)]
    pub fn tokens_by_terminal(&self, limit: usize) -> JsResult<String> {
        Ok(token_groups_json(&self.matcher.tokens_by_terminal(limit).map_err(grammar_error)?))
    }

    /// The ways to read the text so far as lexemes, as JSON; none without a lexer.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub fn readings(&self) -> JsResult<String> {
        Ok(readings_json(&self.matcher.readings().map_err(grammar_error)?))
    }

    /// The state of the engine as text, for debugging.
    #[must_use]
    pub fn describe(&self) -> String {
        self.matcher.cache().engine().describe(self.matcher.set())
    }
}

impl JsMatcher {
    pub(crate) fn new(matcher: Matcher, trees: Rc<TreeSource>) -> Self {
        Self { matcher, trees, words: Box::default(), allowed: 0 }
    }

    fn existing(&self, id: u32) -> JsResult<TokenId> {
        let size = self.matcher.compiled().vocabulary().size();
        if (id as usize) < size {
            return Ok(TokenId(id));
        }
        Err(invalid_argument(format!("there is no token {id}; ids go from 0 to {}", size - 1)))
    }
}
