//! A grammar made ready for a vocabulary: what all matchers of one grammar share.

use std::sync::{Arc, PoisonError, RwLock};

use crate::engine::Language;
use crate::matcher::Matcher;
use crate::named_tokens;
use crate::tables::Tables;
use grammask_diagnostics::{Code, Diagnostic, GrammarError, LimitExceeded, Limits};
use grammask_earley::lowering::{Lowered, NormalForm, lower};
use grammask_earley::masks::StoreStatistics;
use grammask_grammar::Grammar;
use grammask_lexed::{LexedGrammar, PreparedGrammar};
use grammask_vocabulary::Vocabulary;

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
    language: Language,
    vocabulary: Arc<Vocabulary>,
    options: CompileOptions,
    warnings: Vec<Diagnostic>,
    source: Arc<str>,
    tables: RwLock<Arc<Tables>>,
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
        let language = Language::ContextFree { form: Arc::new(normal_form), token_matches };
        let tables = Tables::new(&language, vocabulary.clone(), &options, source.clone())
            .map_err(|limit| fail(vec![limit.diagnostic()]))?;
        Ok(Arc::new(Self {
            language,
            vocabulary,
            options,
            warnings,
            source,
            tables: RwLock::new(Arc::new(tables)),
        }))
    }

    /// Compiles a lexed grammar for `vocabulary`.
    ///
    /// # Errors
    /// Conflicts of the parser; terminals that cannot follow each other though the rules say so; a missing end
    /// token; a limit that was passed.
    pub fn from_lexed(
        grammar: LexedGrammar,
        vocabulary: Arc<Vocabulary>,
        options: CompileOptions,
    ) -> Result<Arc<Self>, GrammarError> {
        Self::from_prepared(|limits| PreparedGrammar::new(grammar, limits), vocabulary, options)
    }

    /// Compiles a lexed grammar that is prepared here.
    pub(crate) fn from_prepared(
        prepare: impl FnOnce(&Limits) -> Result<PreparedGrammar, GrammarError>,
        vocabulary: Arc<Vocabulary>,
        options: CompileOptions,
    ) -> Result<Arc<Self>, GrammarError> {
        if let Some(error) = missing_end(&options, &vocabulary) {
            return Err(error.into());
        }
        let language = Language::Lexed(Box::new(prepare(&options.limits)?));
        let source: Arc<str> = Arc::from("");
        let tables = Tables::new(&language, vocabulary.clone(), &options, source.clone())
            .map_err(|limit| limit.diagnostic())?;
        if options.end == EndMode::Eager {
            let engine = tables.recognizer();
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
            tables: RwLock::new(Arc::new(tables)),
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

    /// The lowered grammar, if the grammar is a context-free one.
    #[must_use]
    pub fn normal_form(&self) -> Option<&NormalForm> {
        match &self.language {
            Language::ContextFree { form, .. } => Some(form),
            Language::Lexed(_) => None,
        }
    }

    /// The lexed grammar, if it is one.
    #[must_use]
    pub fn lexed(&self) -> Option<&LexedGrammar> {
        match &self.language {
            Language::ContextFree { .. } => None,
            Language::Lexed(prepared) => Some(prepared.grammar()),
        }
    }

    /// How many nonterminals the grammar has as it is used.
    #[must_use]
    pub fn nonterminal_count(&self) -> usize {
        match &self.language {
            Language::ContextFree { form, .. } => form.nonterminal_count(),
            Language::Lexed(prepared) => prepared.grammar().nonterminals().len(),
        }
    }

    /// What has been learned about the grammar, as new matchers use it.
    #[must_use]
    pub fn tables(&self) -> Arc<Tables> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// New tables in place of `outgrown`, unless these were replaced already.
    pub(crate) fn renew_tables(&self, outgrown: &Arc<Tables>) -> Result<Arc<Tables>, LimitExceeded> {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&tables, outgrown) {
            let (vocabulary, source) = (self.vocabulary.clone(), self.source.clone());
            *tables = Arc::new(Tables::new(&self.language, vocabulary, &self.options, source)?);
        }
        Ok(tables.clone())
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
}

/// What is wrong if texts could not end at all.
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
