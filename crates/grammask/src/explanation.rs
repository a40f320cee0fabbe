//! The reasons why a token is legal or not.

use crate::Matcher;
use crate::budget::TokensLeft;
use crate::matcher::MatcherState;
use crate::text_explanation::write_place;
use grammask_diagnostics::GrammarError;
use grammask_engine::Expectation;
use grammask_grammar::{TextPlace, quote_bytes};
use grammask_vocabulary::TokenId;

/// Maximum number of expected terminals in a message.
const MAX_LISTED: usize = 12;

/// Why a token is legal or illegal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Explanation {
    /// It is legal.
    Allowed,
    /// Its text is illegal from some byte on.
    RefusedByte {
        /// Position of the first illegal byte in the token.
        position: usize,
        /// The terminals that the grammar expects there.
        expected: Vec<Expectation>,
        /// Whether the text with the bytes before it is complete.
        is_complete: bool,
        /// The place in the source of the grammar that describes the text there, if the grammar knows it.
        place: Option<TextPlace>,
    },
    /// The grammar admits it, but the text after it cannot be finished within the budget of the matcher.
    OverBudget {
        /// The least budget with which the token would be legal; `None` if no completion is known.
        needed: Option<u32>,
    },
    /// Its text is legal, but a part of the grammar has reached its maximum number of tokens.
    TooManyTokens {
        /// The terminals that the grammar expects before the token.
        expected: Vec<Expectation>,
    },
    /// It has no text and no token terminal matches it, or it is an end token and the text is not complete.
    RefusedToken {
        /// Whether it is an end token.
        is_end_token: bool,
        /// The terminals that the grammar expects.
        expected: Vec<Expectation>,
    },
    /// The text has ended.
    Finished,
}

impl Explanation {
    /// A stable name of the kind of reason: `allowed`, `refused-byte`, `too-many-tokens`, `over-budget`, `incomplete`,
    /// `no-text` or `finished`.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::RefusedByte { .. } => "refused-byte",
            Self::OverBudget { .. } => "over-budget",
            Self::TooManyTokens { .. } => "too-many-tokens",
            Self::RefusedToken { is_end_token: true, .. } => "incomplete",
            Self::RefusedToken { .. } => "no-text",
            Self::Finished => "finished",
        }
    }

    /// The position of the first illegal byte in the token, if there is one.
    #[must_use]
    pub fn position(&self) -> Option<usize> {
        match self {
            Self::RefusedByte { position, .. } => Some(*position),
            _ => None,
        }
    }

    /// The least budget with which the token would be legal, if the budget is the reason and one is known.
    #[must_use]
    pub fn needed_budget(&self) -> Option<u32> {
        match self {
            Self::OverBudget { needed } => *needed,
            _ => None,
        }
    }

    /// The terminals that the grammar expects in place of the token.
    #[must_use]
    pub fn expected(&self) -> &[Expectation] {
        match self {
            Self::RefusedByte { expected, .. }
            | Self::TooManyTokens { expected }
            | Self::RefusedToken { expected, .. } => expected,
            Self::Allowed | Self::Finished | Self::OverBudget { .. } => &[],
        }
    }

    /// The place in the source of the grammar that describes the text at the first illegal byte, if the grammar knows it: for
    /// a schema a JSON pointer.
    #[must_use]
    pub fn place(&self) -> Option<&str> {
        match self {
            Self::RefusedByte { place, .. } => place.as_ref().map(|place| &*place.place),
            _ => None,
        }
    }

    /// The explanation as text, for token `id` with the bytes `text`.
    #[must_use]
    pub fn message(&self, id: TokenId, text: Option<&[u8]>) -> String {
        let token = text.map_or_else(
            || format!("token {}", id.0),
            |text| format!("token {} {}", id.0, quote_bytes(text)),
        );
        let reason = match self {
            Self::Allowed => return format!("{token} is allowed"),
            Self::Finished => return format!("{token} is refused: the text has ended"),
            Self::OverBudget { needed: Some(needed) } => {
                return format!(
                    "{token} is refused: with it the text would need a budget of {needed} tokens"
                );
            }
            Self::OverBudget { needed: None } => {
                return format!("{token} is refused: no completion is known after it, and there is a budget");
            }
            Self::RefusedByte { position, is_complete, place, .. } => {
                let byte = text.and_then(|text| text.get(*position).copied()).unwrap_or_default();
                let byte = quote_bytes(&[byte]);
                let end =
                    if *is_complete { "the text could end there, or go on with" } else { "expected there" };
                let mut reason = format!("its byte {position} ({byte}) does not fit; {end}");
                let _ = write_place(&mut reason, place.as_ref());
                reason
            }
            Self::TooManyTokens { .. } => {
                "its text fits, but nothing is left of a limit on the number of tokens; expected".to_owned()
            }
            Self::RefusedToken { is_end_token: true, .. } => "the text is not complete; expected".to_owned(),
            Self::RefusedToken { .. } => {
                "it has no text, and the grammar does not name it here; expected".to_owned()
            }
        };
        let expected: Vec<String> =
            self.expected().iter().take(MAX_LISTED).map(ToString::to_string).collect();
        let more = self.expected().len().saturating_sub(expected.len());
        let more = if more > 0 { format!("\n  … and {more} more") } else { String::new() };
        let nothing = if expected.is_empty() { " nothing" } else { "" };
        let list: String = expected.iter().map(|line| format!("\n  {line}")).collect();
        format!("{token} is refused: {reason}:{nothing}{list}{more}")
    }
}

impl Matcher {
    /// Why `token` is legal or illegal.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn explain(&self, token: TokenId) -> Result<Explanation, GrammarError> {
        if self.next_state(self.state(), token)?.is_some() {
            return Ok(Explanation::Allowed);
        }
        if self.state().is_finished {
            return Ok(Explanation::Finished);
        }
        let unlimited = MatcherState { tokens_left: TokensLeft::UNLIMITED, ..self.state() };
        if let Some(next) = self.next_state(unlimited, token)? {
            let needed = self.cache().needed_budget(self.state().set, token, next.set)?;
            return Ok(Explanation::OverBudget { needed });
        }
        let engine = self.cache().engine();
        let expected = |set| engine.expectations(set).map_err(|limit| self.cache().limit_error(limit));
        let vocabulary = self.compiled().vocabulary();
        let Some(text) = vocabulary.token(token) else {
            let is_end_token = vocabulary.is_eos(token);
            return Ok(Explanation::RefusedToken { is_end_token, expected: expected(self.state().set)? });
        };
        let mut set = self.state().set;
        for (position, &byte) in text.iter().enumerate() {
            match engine.step(set, byte).map_err(|limit| self.cache().limit_error(limit))? {
                Some(next) => set = next,
                None => {
                    let is_complete = engine.is_complete(set);
                    let so_far = self.text_so_far();
                    let place = self.compiled().place_of(&[&so_far, text].concat(), so_far.len() + position);
                    let expected = expected(set)?;
                    return Ok(Explanation::RefusedByte { position, expected, is_complete, place });
                }
            }
        }
        Ok(Explanation::TooManyTokens { expected: expected(self.state().set)? })
    }
}
