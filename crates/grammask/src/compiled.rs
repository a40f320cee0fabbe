//! A grammar made ready for a vocabulary: what all matchers of one grammar share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::forced::ForcedMemo;
use crate::grammar::{Code, Diagnostic, Grammar, GrammarError, Terminal, TokenReference};
use crate::lowering::{Lowered, NormalForm, lower};
use crate::masks::{MaskStore, Refusal, RuleSummaries, StoreStatistics, add_whole_tokens, walk};
use crate::matcher::Matcher;
use crate::recognizer::{Recognizer, SetId, TokenMatch};
use crate::vocabulary::{TokenSet, Vocabulary};
use crate::{Deadline, LimitExceeded, Limits};

/// When a text ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EndMode {
    /// End tokens are legal exactly when the text is complete, and end it.
    #[default]
    Eos,
    /// The text ends with the first token after which it is complete, as KBNF ends. The empty text does not
    /// count: it would end before it began.
    Eager,
}

/// How a grammar is compiled.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CompileOptions {
    /// When a text ends.
    pub end: EndMode,
    /// Budgets.
    pub limits: Limits,
    /// What to do with rules that never end.
    pub endless: EndlessRules,
    /// How masks are made.
    pub masks: MaskStrategy,
}

/// How masks are made. All ways give the same masks, bit for bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MaskStrategy {
    /// From symbol summaries, and by a walk where these do not apply or would take too long.
    #[default]
    Summaries,
    /// By a walk through the token trie, always; the cross-check.
    Walk,
}

/// How often masks were made, and in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MaskStatistics {
    /// The memo of finished masks.
    pub store: StoreStatistics,
    /// Masks composed from summaries.
    pub composed: u64,
    /// Masks of sets that look like one whose mask is known, as far as masks look.
    pub recalled: u64,
    /// Masks made by a walk.
    pub walked: u64,
    /// Bytes of the summaries of the grammar's own rules.
    pub rule_bytes: usize,
    /// Bytes of what is known about terminals on the vocabulary, of all grammars.
    pub vocabulary_bytes: usize,
}

/// What to do with rules that derive infinite texts only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EndlessRules {
    /// Such texts go on for ever; a warning says so.
    #[default]
    Allow,
    /// The grammar is refused.
    Refuse,
}

/// A grammar compiled for a vocabulary. Immutable to its users, and shared by all threads.
///
/// ```
/// use std::sync::Arc;
/// use grammask::grammar::{GrammarBuilder, Span};
/// use grammask::vocabulary::{TokenId, TokenTexts, Vocabulary};
/// use grammask::{CompileOptions, CompiledGrammar};
///
/// let tokens: TokenTexts = [Some("a"), Some("b"), Some("ab"), Some("ba"), None].into_iter().collect();
/// let vocabulary = Arc::new(Vocabulary::new(tokens, vec![], vec![4], None)?);
/// let mut builder = GrammarBuilder::new("");
/// let start = builder.nonterminal("start", Span::default());
/// let ab = builder.literal(b"ab", Span::default());
/// builder.define(start, ab, Span::default());
/// let compiled = CompiledGrammar::new(&builder.finish(start), vocabulary, CompileOptions::default())?;
/// let mut matcher = compiled.matcher();
/// assert_eq!(matcher.mask()?.iter().collect::<Vec<_>>(), [TokenId(0), TokenId(2)]);
/// assert!(matcher.accept(TokenId(2))?);
/// assert_eq!(matcher.mask()?.iter().collect::<Vec<_>>(), [TokenId(4)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CompiledGrammar {
    recognizer: Recognizer,
    vocabulary: Arc<Vocabulary>,
    masks: MaskStore,
    rules: Mutex<RuleSummaries>,
    composed: AtomicU64,
    recalled: AtomicU64,
    walked: AtomicU64,
    options: CompileOptions,
    warnings: Vec<Diagnostic>,
    source: Arc<str>,
    end_mask: Arc<TokenSet>,
    forced: ForcedMemo,
}

impl CompiledGrammar {
    /// Compiles `grammar` for `vocabulary`.
    ///
    /// # Errors
    /// All undefined symbols; an empty language; names of tokens that the vocabulary lacks; rules that never
    /// end, where they are refused; a missing end token; a limit that was passed.
    pub fn new(
        grammar: &Grammar,
        vocabulary: Arc<Vocabulary>,
        options: CompileOptions,
    ) -> Result<Arc<Self>, GrammarError> {
        let source = grammar.source().clone();
        let fail = |diagnostics| GrammarError::new(diagnostics, source.clone());
        let Lowered { normal_form, warnings } = lower(grammar, &options.limits)?;
        if options.endless == EndlessRules::Refuse {
            let endless = warnings.iter().filter(|warning| warning.code == Code::EndlessRule);
            let errors: Vec<Diagnostic> = endless
                .map(|warning| Diagnostic {
                    code: Code::NeverEnds,
                    severity: crate::grammar::Severity::Error,
                    ..warning.clone()
                })
                .collect();
            if !errors.is_empty() {
                return Err(fail(errors));
            }
        }
        if options.end == EndMode::Eos && vocabulary.eos().is_empty() {
            return Err(fail(vec![
                Diagnostic::error(
                    Code::MissingEndToken,
                    "the vocabulary has no end token, so no text could end",
                )
                .help("give the vocabulary its end tokens (`eos=`), or compile with `end=\"eager\"`"),
            ]));
        }
        if options.end == EndMode::Eager && normal_form.start.is_none() {
            return Err(fail(vec![
                Diagnostic::error(Code::OnlyEmptyText, "only the empty text matches the grammar")
                    .help("with `end=\"eager\"` a text ends with a token, so it has at least one"),
            ]));
        }
        let token_matches = resolve_tokens(&normal_form, &vocabulary).map_err(fail)?;
        let recognizer = Recognizer::new(normal_form, token_matches, &options.limits)
            .map_err(|limit| fail(vec![limit.diagnostic()]))?;
        let mut end_mask = TokenSet::new(vocabulary.size());
        end_mask.extend(vocabulary.eos().iter().copied());
        Ok(Arc::new(Self {
            recognizer,
            vocabulary,
            masks: MaskStore::default(),
            rules: Mutex::default(),
            composed: AtomicU64::new(0),
            recalled: AtomicU64::new(0),
            walked: AtomicU64::new(0),
            options,
            warnings,
            source,
            end_mask: Arc::new(end_mask),
            forced: ForcedMemo::default(),
        }))
    }

    /// A matcher at the beginning of a text.
    #[must_use]
    pub fn matcher(self: &Arc<Self>) -> Matcher {
        Matcher::new(self.clone())
    }

    /// The vocabulary.
    #[must_use]
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// The recogniser of the grammar's texts.
    #[must_use]
    pub fn recognizer(&self) -> &Recognizer {
        &self.recognizer
    }

    /// How the grammar was compiled.
    #[must_use]
    pub fn options(&self) -> &CompileOptions {
        &self.options
    }

    /// The text of the grammar; empty if it was not made from a text.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Warnings about the grammar.
    #[must_use]
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    pub(crate) fn forced_memo(&self) -> &ForcedMemo {
        &self.forced
    }

    /// How often masks were made, and what is kept for them.
    #[must_use]
    pub fn mask_statistics(&self) -> MaskStatistics {
        MaskStatistics {
            store: self.masks.statistics(),
            composed: self.composed.load(Ordering::Relaxed),
            recalled: self.recalled.load(Ordering::Relaxed),
            walked: self.walked.load(Ordering::Relaxed),
            rule_bytes: self.rules.lock().unwrap_or_else(PoisonError::into_inner).memory_bytes(),
            vocabulary_bytes: self.vocabulary.summaries().memory_bytes(),
        }
    }

    /// The tokens that can follow the text that led to `set`; with [`EndMode::Eos`] the end tokens among them
    /// where the text is complete.
    ///
    /// Cost: a lookup where the set is known; else a composition of what is known about the grammar's parts.
    ///
    /// # Errors
    /// `dead-end` if there is none; a limit that was passed.
    pub fn mask(&self, set: SetId) -> Result<Arc<TokenSet>, GrammarError> {
        if let Some(mask) = self.masks.get(set) {
            return Ok(mask);
        }
        let deadline = Deadline::after(self.options.limits.time);
        match self.make_mask(set, &deadline) {
            Ok(Some(mask)) => Ok(mask),
            Ok(None) => Err(self.dead_end(set)),
            Err(limit) => Err(self.limit_error(limit)),
        }
    }

    /// The mask of `set`, if it is known.
    #[must_use]
    pub fn known_mask(&self, set: SetId) -> Option<Arc<TokenSet>> {
        self.masks.get_known(set)
    }

    /// The mask after the end of a text: the end tokens.
    #[must_use]
    pub fn end_mask(&self) -> Arc<TokenSet> {
        self.end_mask.clone()
    }

    /// Makes the mask of a set that is not in the store; none if no token can follow. Such a mask is not kept.
    fn make_mask(&self, set: SetId, deadline: &Deadline) -> Result<Option<Arc<TokenSet>>, LimitExceeded> {
        let max_bytes = self.options.limits.memory_bytes;
        if self.options.masks == MaskStrategy::Summaries && !self.recognizer.counts_tokens() {
            let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(mask) = rules.recall(&self.recognizer, &self.vocabulary, set) {
                self.recalled.fetch_add(1, Ordering::Relaxed);
                self.masks.insert_known(set, mask.clone(), max_bytes);
                return Ok(Some(mask));
            }
            match rules.mask(&self.recognizer, &self.vocabulary, set, deadline) {
                Ok((mut mask, observation)) => {
                    self.composed.fetch_add(1, Ordering::Relaxed);
                    add_whole_tokens(&self.recognizer, &self.vocabulary, set, &mut mask)?;
                    self.add_end_tokens(set, &mut mask);
                    if mask.is_empty() {
                        return Ok(None);
                    }
                    let mask = self.masks.insert(set, mask, max_bytes);
                    rules.remember(observation, mask.clone());
                    return Ok(Some(mask));
                }
                Err(Refusal::Limit(limit)) => return Err(limit),
                Err(Refusal::TooMuchWork) => {}
            }
        }
        self.walked.fetch_add(1, Ordering::Relaxed);
        let mut mask = walk(&self.recognizer, &self.vocabulary, set, deadline)?;
        self.add_end_tokens(set, &mut mask);
        Ok(if mask.is_empty() { None } else { Some(self.masks.insert(set, mask, max_bytes)) })
    }

    fn add_end_tokens(&self, set: SetId, mask: &mut TokenSet) {
        if self.options.end == EndMode::Eos && self.recognizer.is_complete(set) {
            mask.extend(self.vocabulary.eos().iter().copied());
        }
    }

    pub(crate) fn limit_error(&self, limit: LimitExceeded) -> GrammarError {
        GrammarError::new(vec![limit.diagnostic()], self.source.clone())
    }

    fn dead_end(&self, set: SetId) -> GrammarError {
        let expected = self.recognizer.expectations(set).unwrap_or_default();
        let mut labels: Vec<String> = expected.into_iter().map(|expectation| expectation.terminal).collect();
        labels.dedup();
        labels.truncate(8);
        let diagnostic =
            Diagnostic::error(Code::DeadEnd, "no token of the vocabulary can spell what the grammar needs next")
                .expected(labels)
                .help("check that the vocabulary is the model's own and complete: byte-level vocabularies can spell everything");
        GrammarError::new(vec![diagnostic], self.source.clone())
    }
}

/// Looks up the tokens that the grammar names.
fn resolve_tokens(
    form: &NormalForm,
    vocabulary: &Vocabulary,
) -> Result<Vec<Option<TokenMatch>>, Vec<Diagnostic>> {
    let mut unknown = Vec::new();
    let mut resolved = Vec::with_capacity(form.terminals.len());
    for definition in &form.terminals {
        resolved.push(match &definition.terminal {
            Terminal::AnyToken => Some(TokenMatch::AnyWithText),
            Terminal::Token(TokenReference::Id(id)) if (*id as usize) < vocabulary.size() => {
                Some(TokenMatch::Only(crate::vocabulary::TokenId(*id)))
            }
            Terminal::Token(TokenReference::Id(id)) => {
                let message = format!("the vocabulary has no token with the id {id}");
                let help = format!("ids go from 0 to {}", vocabulary.size() - 1);
                unknown.push(Diagnostic::error(Code::UnknownToken, message).help(help));
                None
            }
            Terminal::Token(TokenReference::Name(name)) => {
                let found = vocabulary.special(name);
                if found.is_none() {
                    let message = format!("the vocabulary has no special token named `{name}`");
                    let known: Vec<&str> =
                        vocabulary.specials().iter().take(8).map(|(name, _)| &**name).collect();
                    let help = if known.is_empty() {
                        "give the vocabulary its special tokens (`special=`)".to_owned()
                    } else {
                        format!("it has {}{}", known.join(", "), if known.len() == 8 { ", …" } else { "" })
                    };
                    unknown.push(Diagnostic::error(Code::UnknownToken, message).help(help));
                }
                found.map(TokenMatch::Only)
            }
            Terminal::Literal(_) | Terminal::Regular(_) | Terminal::Limited { .. } => None,
        });
    }
    if unknown.is_empty() { Ok(resolved) } else { Err(unknown) }
}
