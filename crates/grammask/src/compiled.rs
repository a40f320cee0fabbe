//! Compiled grammars: the state that all matchers of one grammar and vocabulary share.

use std::sync::{Arc, PoisonError, RwLock};

use crate::cache::{CompiledLanguage, EngineWithMasks, GrammarCache};
use crate::embedded::{EmbeddedGrammar, compile_all};
use crate::memory_account::{AccountEntries, AccountEntry, MemoryAccount};
use crate::named_tokens;
use crate::options::{CompileOptions, EndMode, EndlessRules};
use grammask_diagnostics::{Code, Diagnostic, GrammarError, LimitExceeded, Limits, Request};
use grammask_earley::lowering::{Lowered, NormalForm, lower};
use grammask_grammar::{Grammar, TextPlaces};
use grammask_lexed::{LexedGrammar, PreparedGrammar};
use grammask_vocabulary::Vocabulary;

/// A grammar compiled for a vocabulary: immutable except for its caches, and shared by all threads.
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
    language: CompiledLanguage,
    vocabulary: Arc<Vocabulary>,
    options: CompileOptions,
    warnings: Vec<Diagnostic>,
    source: Arc<str>,
    places: Option<Arc<dyn TextPlaces>>,
    cache: RwLock<Arc<GrammarCache>>,
    accounts: AccountEntries,
}

impl CompiledGrammar {
    /// Compiles `grammar` for `vocabulary`.
    ///
    /// # Errors
    /// Undefined symbols; an empty language; token names that the vocabulary lacks; rules that derive infinite texts
    /// only, if the options reject them; a missing end token; an exceeded limit.
    pub fn new(
        grammar: &Grammar,
        vocabulary: Arc<Vocabulary>,
        options: CompileOptions,
    ) -> Result<Arc<Self>, GrammarError> {
        Self::with_embedded(grammar, &[], vocabulary, options)
    }

    /// As [`new`](Self::new), with the grammars that `grammar` embeds, in their order.
    ///
    /// # Errors
    /// As for [`new`](Self::new), of all of these grammars.
    pub fn with_embedded(
        grammar: &Grammar,
        embedded: &[EmbeddedGrammar],
        vocabulary: Arc<Vocabulary>,
        options: CompileOptions,
    ) -> Result<Arc<Self>, GrammarError> {
        let _request = Request::begin(&options.limits);
        let source = grammar.source().clone();
        let fail = |diagnostics| GrammarError::new(diagnostics, source.clone());
        let Lowered { normal_form, warnings } = lower(grammar, &options.limits)?;
        if options.endless == EndlessRules::Refuse {
            let endless = warnings.iter().filter(|warning| warning.code == Code::EndlessRule);
            let errors: Vec<Diagnostic> = endless
                .map(|warning| Diagnostic {
                    code: Code::NeverEnds,
                    severity: grammask_diagnostics::Severity::Error,
                    ..warning.clone()
                })
                .collect();
            if !errors.is_empty() {
                return Err(fail(errors));
            }
        }
        if let Some(error) = missing_end(&options, &vocabulary) {
            return Err(fail(vec![error]));
        }
        if options.end == EndMode::Eager && normal_form.start().is_none() {
            return Err(fail(vec![only_empty_text()]));
        }
        let token_matches = named_tokens::matches(normal_form.terminals(), &vocabulary).map_err(fail)?;
        let form = Arc::new(normal_form);
        let embedded = compile_all(grammar, embedded, &vocabulary, &options.limits)?;
        let language = CompiledLanguage::ContextFree { form, token_matches, embedded };
        let engine = EngineWithMasks::with_ends(&language, &vocabulary, &options.limits).map_err(fail)?;
        let cache = GrammarCache::new(&language, engine, vocabulary.clone(), &options, source.clone());
        Ok(Arc::new(Self {
            language,
            vocabulary,
            options,
            warnings,
            source,
            places: grammar.places.clone(),
            cache: RwLock::new(Arc::new(cache)),
            accounts: AccountEntries::default(),
        }))
    }

    /// Compiles a lexed grammar for `vocabulary`.
    ///
    /// # Errors
    /// Conflicts of the parser; terminals that are adjacent in the rules and that the lexer cannot separate; a missing
    /// end token; an exceeded limit.
    pub fn from_lexed(
        grammar: LexedGrammar,
        vocabulary: Arc<Vocabulary>,
        options: CompileOptions,
    ) -> Result<Arc<Self>, GrammarError> {
        Self::from_prepared(|limits| PreparedGrammar::new(grammar, limits), vocabulary, options)
    }

    /// Compiles the lexed grammar that `prepare` returns.
    pub(crate) fn from_prepared(
        prepare: impl FnOnce(&Limits) -> Result<PreparedGrammar, GrammarError>,
        vocabulary: Arc<Vocabulary>,
        options: CompileOptions,
    ) -> Result<Arc<Self>, GrammarError> {
        let _request = Request::begin(&options.limits);
        if let Some(error) = missing_end(&options, &vocabulary) {
            return Err(error.into());
        }
        let language = CompiledLanguage::Lexed(Box::new(prepare(&options.limits)?));
        let source: Arc<str> = Arc::from("");
        let engine = EngineWithMasks::new(&language, &vocabulary, &options.limits)
            .map_err(|limit| limit.diagnostic())?;
        let cache = GrammarCache::new(&language, engine, vocabulary.clone(), &options, source.clone());
        if options.end == EndMode::Eager {
            let engine = cache.engine();
            let mut can_begin = false;
            for &byte in engine.byte_of_class() {
                let next = engine.step(engine.start(), byte).map_err(|limit| limit.diagnostic())?;
                can_begin |= next.is_some();
            }
            if !can_begin {
                return Err(only_empty_text().into());
            }
        }
        Ok(Arc::new(Self {
            language,
            vocabulary,
            options,
            warnings: Vec::new(),
            source,
            places: None,
            cache: RwLock::new(Arc::new(cache)),
            accounts: AccountEntries::default(),
        }))
    }

    /// The vocabulary.
    #[must_use]
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// The lowered grammar; `None` for a lexed grammar.
    #[must_use]
    pub fn normal_form(&self) -> Option<&NormalForm> {
        match &self.language {
            CompiledLanguage::ContextFree { form, .. } => Some(form),
            CompiledLanguage::Lexed(_) | CompiledLanguage::Deferred { .. } => None,
        }
    }

    /// The lexed grammar; `None` for a context-free grammar.
    #[must_use]
    pub fn lexed(&self) -> Option<&LexedGrammar> {
        match &self.language {
            CompiledLanguage::ContextFree { .. } | CompiledLanguage::Deferred { .. } => None,
            CompiledLanguage::Lexed(prepared) => Some(prepared.source()),
        }
    }

    /// Whether the tables are those of a refined grammar with a lexer.
    pub(crate) fn is_refined(&self) -> bool {
        matches!(&self.language, CompiledLanguage::Lexed(prepared) if prepared.is_refined())
    }

    /// Number of nonterminals after lowering.
    #[must_use]
    pub fn nonterminal_count(&self) -> usize {
        match &self.language {
            CompiledLanguage::ContextFree { form, .. } => form.nonterminal_count(),
            CompiledLanguage::Lexed(prepared) => prepared.source().nonterminals().len(),
            CompiledLanguage::Deferred { grammar, .. } => grammar.grammar().nonterminals().len(),
        }
    }

    /// The current caches, which new matchers use.
    #[must_use]
    pub fn cache(&self) -> Arc<GrammarCache> {
        self.cache.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces caches over the soft limit by fresh ones, unless another thread has replaced them.
    pub(crate) fn fresh_cache(&self, full: &Arc<GrammarCache>) -> Result<Arc<GrammarCache>, LimitExceeded> {
        let mut cache = self.cache.write().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&cache, full) {
            let (vocabulary, source) = (self.vocabulary.clone(), self.source.clone());
            let engine = EngineWithMasks::new(&self.language, &vocabulary, &self.options.limits)?;
            *cache = Arc::new(GrammarCache::new(&self.language, engine, vocabulary, &self.options, source));
        }
        Ok(cache.clone())
    }

    /// Estimated memory of the source and the current caches, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.source.len() + self.cache().memory_bytes()
    }

    /// Adds the grammar to an account, to which it reports its memory until the entry is closed or dropped.
    /// `constant_bytes` are added to it.
    #[must_use]
    pub fn charge(&self, account: &Arc<MemoryAccount>, constant_bytes: usize) -> Arc<AccountEntry> {
        let entry = Arc::new(AccountEntry::new(account.clone(), constant_bytes));
        self.accounts.add(&entry);
        entry.report_first(self.memory_bytes());
        entry
    }

    /// Reports the memory to the accounts, if the caches have grown. Matchers and methods of this type do so; it
    /// is for callers of [`GrammarCache`].
    pub fn report_memory(&self) {
        if self.accounts.is_any() && self.cache().has_grown() {
            self.accounts.report(self.memory_bytes());
        }
    }

    /// The compile options.
    #[must_use]
    pub fn options(&self) -> &CompileOptions {
        &self.options
    }

    /// The input of the front end; empty for grammars that were not read from text.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The places of texts in the source, if the front end knows them.
    pub(crate) fn places(&self) -> Option<&dyn TextPlaces> {
        self.places.as_deref()
    }

    /// Warnings about the grammar.
    #[must_use]
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }
}

/// The error of a vocabulary without end tokens under [`EndMode::Eos`].
fn missing_end(options: &CompileOptions, vocabulary: &Vocabulary) -> Option<Diagnostic> {
    if options.end == EndMode::Eos && vocabulary.eos().is_empty() {
        let message = "the vocabulary has no end token, so no text could end";
        return Some(
            Diagnostic::error(Code::MissingEndToken, message)
                .help("give the vocabulary its end tokens (`eos=`), or compile with `end=\"eager\"`"),
        );
    }
    None
}

fn only_empty_text() -> Diagnostic {
    Diagnostic::error(Code::OnlyEmptyText, "only the empty text matches the grammar")
        .help("with `end=\"eager\"` a text ends with a token, so it has at least one")
}
