//! A compiled grammar as a validator: is this text of its language, and if not, which byte is the first wrong one?
//!
//! The same recogniser that makes masks reads the text, so a validator and a mask can never disagree. Cost: a table lookup
//! per byte where its states were seen before.

use std::sync::Arc;

use crate::CompiledGrammar;
use grammask_diagnostics::{Deadline, GrammarError};

impl CompiledGrammar {
    /// Where `text` stops being a text of the grammar: `None` if it is one, the position of the first byte with which no
    /// text goes on, or the length of `text` if more would have to come. Text that is limited to a number of tokens is
    /// read as one token.
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
    /// When a limit is passed.
    pub fn first_error(self: &Arc<Self>, text: &[u8]) -> Result<Option<usize>, GrammarError> {
        let mut tables = self.tables();
        if tables.are_outgrown() {
            tables = self.renew_tables(&tables).map_err(|limit| tables.limit_error(limit))?;
        }
        let recognizer = tables.recognizer();
        let deadline = Deadline::after(self.options().limits.time);
        let verdict = recognizer.step_all(recognizer.start(), text, &deadline).and_then(|read| match read {
            Err(position) => Ok(Some(position)),
            Ok(set) => {
                let end = recognizer.end_token(set)?;
                Ok(if end.is_some_and(|set| recognizer.is_complete(set)) { None } else { Some(text.len()) })
            }
        });
        verdict.map_err(|limit| tables.limit_error(limit))
    }
}
