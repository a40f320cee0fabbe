//! What reads texts: the recogniser of context-free grammars, or that of lexed grammars, behind one interface.
//!
//! Both are lazy automata over interned sets, so users of sets need not know which one it is.

use std::sync::Arc;

use crate::compiled::MaskStrategy;
use grammask_diagnostics::{Deadline, LimitExceeded, Limits};
use grammask_earley::lowering::NormalForm;
use grammask_earley::recognizer::{Expectation, Recognizer, SetId, TokenEvent, TokenMatch};
use grammask_lexed::{LexedRecognizer, PreparedGrammar, RunsId, walk};
use grammask_vocabulary::{TokenId, TokenSet, Vocabulary};

/// What an engine is made for.
#[derive(Clone, Debug)]
pub(crate) enum Language {
    /// A lowered grammar, and what its terminals that are tokens match.
    ContextFree {
        /// The lowered grammar.
        form: Arc<NormalForm>,
        /// What each terminal that is a token matches.
        token_matches: Vec<Option<TokenMatch>>,
    },
    /// A lexed grammar.
    Lexed(Box<PreparedGrammar>),
}

/// See the module.
#[derive(Debug)]
pub enum Engine {
    /// Of a context-free grammar.
    ContextFree(Box<Recognizer>),
    /// Of a lexed grammar.
    Lexed(Box<LexedRecognizer>),
}

fn outer(runs: RunsId) -> SetId {
    SetId::new(runs.index())
}

fn runs(set: SetId) -> RunsId {
    RunsId::new(set.index())
}

impl Engine {
    pub(crate) fn new(
        language: &Language,
        vocabulary: &Vocabulary,
        limits: &Limits,
    ) -> Result<Self, LimitExceeded> {
        Ok(match language {
            Language::ContextFree { form, token_matches } => {
                Self::ContextFree(Box::new(Recognizer::new(form.clone(), token_matches.clone(), limits)?))
            }
            Language::Lexed(prepared) => {
                Self::Lexed(Box::new(LexedRecognizer::new(prepared, vocabulary.size(), limits)?))
            }
        })
    }

    /// The recogniser, of a context-free grammar.
    #[must_use]
    pub fn context_free(&self) -> Option<&Recognizer> {
        match self {
            Self::ContextFree(recognizer) => Some(recognizer),
            Self::Lexed(_) => None,
        }
    }

    /// The set before any text.
    #[must_use]
    pub fn start(&self) -> SetId {
        match self {
            Self::ContextFree(recognizer) => recognizer.start(),
            Self::Lexed(recognizer) => outer(recognizer.start()),
        }
    }

    /// Whether the text that led to `set` is complete.
    #[must_use]
    pub fn is_complete(&self, set: SetId) -> bool {
        match self {
            Self::ContextFree(recognizer) => recognizer.is_complete(set),
            Self::Lexed(recognizer) => recognizer.is_complete(runs(set)),
        }
    }

    /// How many sets there are.
    #[must_use]
    pub fn set_count(&self) -> usize {
        match self {
            Self::ContextFree(recognizer) => recognizer.set_count(),
            Self::Lexed(recognizer) => recognizer.set_count(),
        }
    }

    /// Bytes that all texts treat alike, as a class per byte.
    #[must_use]
    pub fn class_of_byte(&self) -> &[u8; 256] {
        match self {
            Self::ContextFree(recognizer) => recognizer.class_of_byte(),
            Self::Lexed(recognizer) => recognizer.class_of_byte(),
        }
    }

    /// One byte of each class.
    #[must_use]
    pub fn byte_of_class(&self) -> &[u8] {
        match self {
            Self::ContextFree(recognizer) => recognizer.byte_of_class(),
            Self::Lexed(recognizer) => recognizer.byte_of_class(),
        }
    }

    /// An estimate of the memory taken, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::ContextFree(recognizer) => recognizer.memory_bytes(),
            Self::Lexed(recognizer) => recognizer.memory_bytes(),
        }
    }

    /// How many steps were taken that were not known before.
    #[must_use]
    pub fn new_steps(&self) -> usize {
        match self {
            Self::ContextFree(recognizer) => recognizer.new_steps(),
            Self::Lexed(recognizer) => recognizer.new_steps(),
        }
    }

    /// The set after one more byte; `None` if no text goes on so.
    ///
    /// Cost: one table lookup if the step was taken before, by anyone.
    ///
    /// # Errors
    /// When a limit is passed.
    #[inline]
    pub fn step(&self, set: SetId, byte: u8) -> Result<Option<SetId>, LimitExceeded> {
        match self {
            Self::ContextFree(recognizer) => recognizer.step(set, byte),
            Self::Lexed(recognizer) => Ok(recognizer.step(runs(set), byte)?.map(outer)),
        }
    }

    /// The set after several bytes; `Err` holds the position of the first byte that does not fit.
    ///
    /// # Errors
    /// When a limit is passed.
    pub fn step_all(
        &self,
        set: SetId,
        bytes: &[u8],
        deadline: &Deadline,
    ) -> Result<Result<SetId, usize>, LimitExceeded> {
        match self {
            Self::ContextFree(recognizer) => recognizer.step_all(set, bytes, deadline),
            Self::Lexed(recognizer) => Ok(recognizer.step_all(runs(set), bytes, deadline)?.map(outer)),
        }
    }

    /// The set after the end of a token, whose bytes led to `set`.
    ///
    /// # Errors
    /// When a limit is passed.
    #[inline]
    pub fn end_token(&self, set: SetId) -> Result<Option<SetId>, LimitExceeded> {
        match self {
            Self::ContextFree(recognizer) => recognizer.end_token(set),
            Self::Lexed(_) => Ok(Some(set)),
        }
    }

    /// The set after a token that is read as a whole, where the grammar names tokens.
    ///
    /// # Errors
    /// When a limit is passed.
    pub fn step_token(&self, set: SetId, event: TokenEvent) -> Result<Option<SetId>, LimitExceeded> {
        match self {
            Self::ContextFree(recognizer) => recognizer.step_token(set, event),
            Self::Lexed(_) => Ok(None),
        }
    }

    /// The tokens that `set` can read as a whole.
    ///
    /// # Errors
    /// When a limit is passed.
    pub fn token_matches(&self, set: SetId) -> Result<Vec<TokenMatch>, LimitExceeded> {
        match self {
            Self::ContextFree(recognizer) => recognizer.token_matches(set),
            Self::Lexed(_) => Ok(Vec::new()),
        }
    }

    /// The set whose texts go on as those of `left` or of `right` do.
    ///
    /// # Errors
    /// When a limit is passed.
    pub fn union(&self, left: SetId, right: SetId) -> Result<SetId, LimitExceeded> {
        match self {
            Self::ContextFree(recognizer) => recognizer.union(left, right),
            Self::Lexed(recognizer) => Ok(outer(recognizer.union(runs(left), runs(right))?)),
        }
    }

    /// The only byte that can follow, if there is only one.
    ///
    /// # Errors
    /// When a limit is passed.
    pub fn only_byte(&self, set: SetId) -> Result<Option<u8>, LimitExceeded> {
        match self {
            Self::ContextFree(recognizer) => recognizer.only_byte(set),
            Self::Lexed(recognizer) => recognizer.only_byte(runs(set)),
        }
    }

    /// What can come next after the text that led to `set`: each terminal once per rule, those begun first.
    ///
    /// # Errors
    /// When a limit is passed.
    pub fn expectations(&self, set: SetId) -> Result<Vec<Expectation>, LimitExceeded> {
        match self {
            Self::ContextFree(recognizer) => recognizer.expectations(set),
            Self::Lexed(recognizer) => Ok(recognizer
                .expectations(runs(set))
                .into_iter()
                .map(|expected| Expectation {
                    terminal: expected.terminal.to_string(),
                    rule: expected.rule.to_string(),
                    has_begun: expected.has_begun,
                })
                .collect()),
        }
    }

    /// A set in words, for debugging.
    #[must_use]
    pub fn describe(&self, set: SetId) -> String {
        match self {
            Self::ContextFree(recognizer) => recognizer.describe(set),
            Self::Lexed(recognizer) => recognizer.describe(runs(set)),
        }
    }
}

/// The mask of a set of a lexed grammar, with `end_tokens` where the text is complete.
pub(crate) fn lexed_mask(
    recognizer: &LexedRecognizer,
    set: SetId,
    vocabulary: &Vocabulary,
    (strategy, end_tokens): (MaskStrategy, &[TokenId]),
    deadline: &Deadline,
) -> Result<Arc<TokenSet>, LimitExceeded> {
    match strategy {
        MaskStrategy::Summaries => recognizer.mask_with_end(runs(set), vocabulary, end_tokens, deadline),
        MaskStrategy::Walk => {
            let mut mask = walk(recognizer, vocabulary, runs(set), deadline)?;
            if recognizer.is_complete(runs(set)) {
                mask.extend(end_tokens.iter().copied());
            }
            Ok(Arc::new(mask))
        }
    }
}
