//! Validation: whether a text is in the language of a compiled grammar, and the position of its first error.
//!
//! The engine that computes masks reads the text, so validation and masks agree. Cost: a table lookup per byte whose
//! step is memoised.

use std::sync::Arc;

use crate::CompiledGrammar;
use grammask_diagnostics::{Deadline, GrammarError, Request};

impl CompiledGrammar {
    /// The position of the first byte after which `text` is not a viable prefix, or its length if it is a viable
    /// prefix and not complete; `None` if `text` is in the language. Parts that are limited to a number of tokens
    /// count the text as one token.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use grammask::vocabulary::{TokenTexts, Vocabulary};
    /// use grammask::{CompileOptions, CompiledGrammar, Limits, frontends};
    ///
    /// let limits = Limits::default();
    /// let (grammar, _) = frontends::kbnf::grammar(br#"start ::= "a" "bc"+;"#, "start", &limits)?;
    /// let tokens: TokenTexts = [Some("a"), None].into_iter().collect();
    /// let vocabulary = Arc::new(Vocabulary::new(tokens, vec![], vec![1], None)?);
    /// let compiled = CompiledGrammar::new(&grammar, vocabulary, CompileOptions::default())?;
    /// assert_eq!(compiled.first_error(b"abcbc")?, None);
    /// assert_eq!(compiled.first_error(b"abb")?, Some(2));
    /// assert_eq!(compiled.first_error(b"ab")?, Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn first_error(self: &Arc<Self>, text: &[u8]) -> Result<Option<usize>, GrammarError> {
        let mut cache = self.cache();
        if cache.over_soft_limit() {
            cache = self.fresh_cache(&cache).map_err(|limit| cache.limit_error(limit))?;
        }
        let engine = cache.engine();
        let _request = Request::begin(&self.options().limits);
        let deadline = Deadline::of(&self.options().limits);
        let verdict = engine.step_all(engine.start(), text, &deadline).and_then(|read| match read {
            Err(position) => Ok(Some(position)),
            Ok(set) => {
                let end = engine.end_token(set)?;
                Ok(if end.is_some_and(|set| engine.is_complete(set)) { None } else { Some(text.len()) })
            }
        });
        self.report_memory();
        verdict.map_err(|limit| cache.limit_error(limit))
    }
}
