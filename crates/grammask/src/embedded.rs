//! Embedded grammars: parts of a context-free grammar that have a recogniser of their own.
//!
//! A lexed grammar is embedded, because its lexer sees only its own text. A context-free part that may span a maximum
//! number of tokens is embedded if it is not regular, and so are the contents of strings of a JSON Schema.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use grammask_automata::encoding::CharacterEncoding;
use grammask_diagnostics::{Code, Diagnostic, GrammarError, LimitExceeded, Limits};
use grammask_earley::lowering::{Derivability, Symbol, flatten, has_bindings, lower, resolve_bindings};
use grammask_engine::{Engine, Steps};
use grammask_grammar::{BindingKind, EmbeddedTexts, Grammar, Node, NodeId, Terminal, TerminalDefinition};
use grammask_lexed::{LexedGrammar, LexedRecognizer, PreparedGrammar};
use grammask_vocabulary::{TokenTexts, Vocabulary};
use rustc_hash::FxHashMap;

use crate::cache::{CompiledLanguage, EngineWithMasks};
use crate::deferred::DeferredGrammar;
use crate::line_feeds::{check_line_feeds, has_line_feeds};

/// Maximum depth of embedded grammars in embedded grammars, which is recursion of the engines.
const MAX_DEPTH: usize = 32;

/// A grammar to be embedded in context-free grammars. Clones share what was prepared.
///
/// ```
/// use grammask::grammar::{GrammarBuilder, Span, Terminal};
/// use grammask::{EmbeddedGrammar, Limits, frontends::kbnf};
///
/// let (inner, _) = kbnf::grammar(b"start ::= '(' start ')' | 'x';", "start", &Limits::default())?;
/// let inner = EmbeddedGrammar::context_free(inner.into(), Vec::new(), &Limits::default())?;
/// let mut builder = GrammarBuilder::new("");
/// let start = builder.nonterminal("start", Span::default());
/// let terminal = Terminal::Embedded { grammar: builder.embed(inner.texts()), tokens: Some(10) };
/// let body = builder.terminal(terminal, "ten tokens", Span::default());
/// builder.define(start, body, Span::default());
/// assert_eq!(builder.finish(start).embedded().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct EmbeddedGrammar(Arc<EmbeddedSource>);

#[derive(Debug)]
struct EmbeddedSource {
    language: EmbeddedLanguage,
    texts: EmbeddedTexts,
    depth: usize,
    /// Memo table of the grammar through encodings.
    images: Mutex<FxHashMap<CharacterEncoding, EmbeddedGrammar>>,
}

#[derive(Debug)]
enum EmbeddedLanguage {
    Lexed(Arc<DeferredGrammar>),
    ContextFree { grammar: Arc<Grammar>, embedded: Vec<EmbeddedGrammar> },
}

impl EmbeddedGrammar {
    /// A grammar with a lexer. Its tables are made here, once for all compiled grammars that contain it.
    ///
    /// # Errors
    /// As [`CompiledGrammar::from_lexed`](crate::CompiledGrammar::from_lexed).
    pub fn lexed(grammar: LexedGrammar, limits: &Limits) -> Result<Self, GrammarError> {
        let prepared = PreparedGrammar::new(grammar, limits)?;
        let texts = texts_of_lexed(&prepared, limits).map_err(|limit| limit.diagnostic())?;
        let deferred = Arc::new(DeferredGrammar::with_tables(prepared, limits));
        Ok(Self::new(EmbeddedLanguage::Lexed(deferred), texts, 1))
    }

    /// A grammar with a lexer that is known to compile, whose kinds of text are known. Its tables are made when a text
    /// first reaches it; a limit that they exceed is an error then.
    ///
    /// # Panics
    /// When a text reaches a grammar that has another error.
    #[must_use]
    pub fn deferred(grammar: LexedGrammar, texts: EmbeddedTexts, limits: &Limits) -> Self {
        let deferred = Arc::new(DeferredGrammar::new(grammar, limits));
        Self::new(EmbeddedLanguage::Lexed(deferred), texts, 1)
    }

    /// A context-free grammar, with the grammars that it embeds itself.
    ///
    /// # Errors
    /// As [`CompiledGrammar::new`](crate::CompiledGrammar::new); texts that never end; names of tokens; nesting that is
    /// too deep.
    pub fn context_free(
        grammar: Arc<Grammar>,
        embedded: Vec<Self>,
        limits: &Limits,
    ) -> Result<Self, GrammarError> {
        let fail = |diagnostic| GrammarError::new(vec![diagnostic], grammar.source().clone());
        let depth = embedded.iter().map(|inner| inner.0.depth).max().unwrap_or(0) + 1;
        if depth > MAX_DEPTH {
            let message =
                format!("grammars are embedded in each other {depth} deep, and at most {MAX_DEPTH}");
            return Err(fail(Diagnostic::error(Code::LimitExceeded, message)));
        }
        let names_tokens = |definition: &TerminalDefinition| {
            matches!(definition.terminal, Terminal::Token(_) | Terminal::AnyToken | Terminal::OneOf(_))
        };
        if let Some(definition) = grammar.terminals().iter().find(|definition| names_tokens(definition)) {
            let message = format!(
                "the grammar of a part with a recogniser of its own contains `{}`, a token",
                definition.label
            );
            let help = "such parts are contents of strings, and parts with a maximum of tokens";
            return Err(fail(Diagnostic::error(Code::UnsupportedGrammar, message).help(help)));
        }
        let mut productions = flatten(&grammar, limits)?;
        let derivability = Derivability::of(&mut productions).map_err(|limit| fail(limit.diagnostic()))?;
        let start = Symbol::Nonterminal(productions.start);
        let finite = derivability.finite(start);
        let texts = EmbeddedTexts { empty: finite.empty, nonempty: finite.nonempty };
        if !texts.nonempty && !derivability.is_only_empty(start) {
            let message = "the grammar of a part with a recogniser of its own has no nonempty text that ends";
            return Err(fail(Diagnostic::error(Code::NeverEnds, message)));
        }
        let language = EmbeddedLanguage::ContextFree { grammar, embedded };
        Ok(Self::new(language, texts, depth))
    }

    fn new(language: EmbeddedLanguage, texts: EmbeddedTexts, depth: usize) -> Self {
        Self(Arc::new(EmbeddedSource { language, texts, depth, images: Mutex::default() }))
    }

    /// The grammar of the texts that decode to a text of this one. It is made once for each encoding, with the limits of
    /// the first call.
    ///
    /// # Errors
    /// As [`Grammar::encoded`] and [`LexedGrammar::encoded`]; if no text can be spelled in the encoding.
    pub fn encoded(&self, encoding: &CharacterEncoding, limits: &Limits) -> Result<Self, GrammarError> {
        // A panic while the lock is held leaves the table consistent.
        let images = || self.0.images.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(image) = images().get(encoding) {
            return Ok(image.clone());
        }
        let image = self.image(encoding, limits)?;
        Ok(images().entry(encoding.clone()).or_insert(image).clone())
    }

    /// Whether a text may contain a line feed.
    fn has_line_feeds(&self, limits: &Limits) -> Result<bool, LimitExceeded> {
        match &self.0.language {
            // The rules have the openings of delimited terminals only.
            EmbeddedLanguage::Lexed(deferred) => Ok(deferred.grammar().has_delimited_terminals()
                || has_line_feeds(&deferred.grammar().as_rules(), limits)?),
            EmbeddedLanguage::ContextFree { grammar, embedded } => {
                Ok(has_line_feeds(grammar, limits)? || any_has_line_feeds(embedded, limits)?)
            }
        }
    }

    fn image(&self, encoding: &CharacterEncoding, limits: &Limits) -> Result<Self, GrammarError> {
        match &self.0.language {
            EmbeddedLanguage::Lexed(deferred) => {
                let image = deferred.grammar().encoded(encoding, limits)?;
                // Where every character has a spelling, each text has one, and nothing else changes.
                match deferred.is_pending() && encoding.spells_all_characters() {
                    true => Ok(Self::deferred(image, self.0.texts, limits)),
                    false => Self::lexed(image, limits),
                }
            }
            EmbeddedLanguage::ContextFree { grammar, embedded } => {
                let (grammar, embedded) = encoded(grammar, embedded, encoding, limits)?;
                Self::context_free(Arc::new(grammar), embedded, limits)
            }
        }
    }

    /// The kinds of text of the grammar.
    #[must_use]
    pub fn texts(&self) -> EmbeddedTexts {
        self.0.texts
    }

    /// The grammar in the form from which an engine is created.
    pub(crate) fn compile(
        &self,
        vocabulary: &Arc<Vocabulary>,
        limits: &Limits,
    ) -> Result<CompiledLanguage, GrammarError> {
        match &self.0.language {
            EmbeddedLanguage::Lexed(grammar) => {
                Ok(CompiledLanguage::Deferred { grammar: grammar.clone(), texts: self.0.texts })
            }
            EmbeddedLanguage::ContextFree { grammar, embedded } => {
                let form = lower(grammar, limits)?.normal_form;
                let embedded = compile_all(grammar, embedded, vocabulary, limits)?;
                let token_matches = vec![None; form.terminals().len()];
                let language =
                    CompiledLanguage::ContextFree { form: Arc::new(form), token_matches, embedded };
                if language.may_lack_ends() {
                    EngineWithMasks::with_ends(&language, vocabulary, limits)
                        .map_err(|diagnostics| GrammarError::new(diagnostics, grammar.source().clone()))?;
                }
                Ok(language)
            }
        }
    }
}

/// The grammar of the texts that decode to a text of another, and the grammars that it embeds. Names are bound within the
/// grammar, and bound texts are compared decoded.
///
/// # Errors
/// As [`EmbeddedGrammar::encoded`]; in an indented block, if line feeds in a row may belong to two terminals; those of
/// bindings.
pub fn encoded(
    grammar: &Grammar,
    embedded: &[EmbeddedGrammar],
    encoding: &CharacterEncoding,
    limits: &Limits,
) -> Result<(Grammar, Vec<EmbeddedGrammar>), GrammarError> {
    let resolved;
    let grammar = if has_bindings(grammar) {
        check_spellings_of_bindings(grammar, encoding)?;
        // What may be left beside a bound text is decided by decoded texts.
        resolved = resolve_bindings(grammar, limits)
            .map_err(|diagnostics| GrammarError::new(diagnostics, grammar.source().clone()))?;
        &resolved
    } else {
        grammar
    };
    if let CharacterEncoding::IndentedBlock(_) = encoding {
        let fail = |diagnostic| GrammarError::new(vec![diagnostic], grammar.source().clone());
        if any_has_line_feeds(embedded, limits).map_err(|limit| fail(limit.diagnostic()))? {
            let message = "a part with a recogniser of its own has line feeds in an indented block";
            let help = "encode the part alone, and write the indentation after line feeds of the other parts";
            return Err(fail(Diagnostic::error(Code::UnsupportedGrammar, message).help(help)));
        }
        check_line_feeds(grammar, limits)?;
        let texts = embedded.iter().map(EmbeddedGrammar::texts).collect();
        return Ok((grammar.encoded(encoding, texts, limits)?, embedded.to_vec()));
    }
    let mut images: Vec<EmbeddedGrammar> = Vec::with_capacity(embedded.len());
    for (index, inner) in embedded.iter().enumerate() {
        let earlier = embedded[..index].iter().position(|other| Arc::ptr_eq(&other.0, &inner.0));
        images.push(match earlier {
            Some(earlier) => images[earlier].clone(),
            None => inner.encoded(encoding, limits)?,
        });
    }
    let texts = images.iter().map(EmbeddedGrammar::texts).collect();
    Ok((grammar.encoded(encoding, texts, limits)?, images))
}

/// Checks that a text that is compared with a bound one has a spelling: some characters have none in XML.
fn check_spellings_of_bindings(grammar: &Grammar, encoding: &CharacterEncoding) -> Result<(), GrammarError> {
    if !matches!(encoding, CharacterEncoding::XmlText(_) | CharacterEncoding::XmlAttribute(..)) {
        return Ok(());
    }
    for (index, node) in grammar.nodes().iter().enumerate() {
        if let Node::Binding(binding) = node
            && matches!(binding.kind, BindingKind::Other | BindingKind::WithoutPrefix)
        {
            let notation = binding.kind.notation();
            let message = format!("the texts of {notation} may have no spelling in XML");
            let diagnostic = Diagnostic::error(Code::UnsupportedGrammar, message)
                .at(grammar.span(NodeId::new(index)))
                .help("leave it outside the encoded grammar");
            return Err(GrammarError::new(vec![diagnostic], grammar.source().clone()));
        }
    }
    Ok(())
}

fn any_has_line_feeds(embedded: &[EmbeddedGrammar], limits: &Limits) -> Result<bool, LimitExceeded> {
    for inner in embedded {
        if inner.has_line_feeds(limits)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The embedded grammars of a grammar in the form from which engines are created.
///
/// # Errors
/// As [`EmbeddedGrammar::compile`], and if they are not as many as the grammar refers to.
pub(crate) fn compile_all(
    grammar: &Grammar,
    embedded: &[EmbeddedGrammar],
    vocabulary: &Arc<Vocabulary>,
    limits: &Limits,
) -> Result<Vec<Arc<CompiledLanguage>>, GrammarError> {
    if embedded.len() != grammar.embedded().len() {
        let (given, needed) = (embedded.len(), grammar.embedded().len());
        let message = format!("the grammar embeds {needed} grammars, and {given} are given");
        let error = Diagnostic::error(Code::UnsupportedGrammar, message);
        return Err(GrammarError::new(vec![error], grammar.source().clone()));
    }
    let mut compiled: Vec<Arc<CompiledLanguage>> = Vec::with_capacity(embedded.len());
    for (index, inner) in embedded.iter().enumerate() {
        let earlier = embedded[..index].iter().position(|other| Arc::ptr_eq(&other.0, &inner.0));
        compiled.push(match earlier {
            Some(earlier) => compiled[earlier].clone(),
            None => Arc::new(inner.compile(vocabulary, limits)?),
        });
    }
    Ok(compiled)
}

/// The engines of compiled grammars, one for equal ones.
pub(crate) fn engines_of(
    languages: &[Arc<CompiledLanguage>],
    vocabulary: &Arc<Vocabulary>,
    limits: &Limits,
) -> Result<Vec<EngineWithMasks>, LimitExceeded> {
    let mut engines: Vec<EngineWithMasks> = Vec::with_capacity(languages.len());
    for (index, language) in languages.iter().enumerate() {
        let earlier = languages[..index].iter().position(|other| Arc::ptr_eq(other, language));
        engines.push(match earlier {
            Some(earlier) => engines[earlier].clone(),
            None => EngineWithMasks::new(language, vocabulary, limits)?,
        });
    }
    Ok(engines)
}

/// The kinds of text of a lexed grammar, whose viable prefixes all have a finite completion.
fn texts_of_lexed(prepared: &PreparedGrammar, limits: &Limits) -> Result<EmbeddedTexts, LimitExceeded> {
    let engine = LexedRecognizer::new(prepared, 0, limits)?;
    let mut nonempty = false;
    let mut bytes = engine.byte_of_class().iter();
    while !nonempty && let Some(&byte) = bytes.next() {
        nonempty = engine.step(engine.start(), byte)?.is_some();
    }
    Ok(EmbeddedTexts { empty: engine.is_complete(engine.start()), nonempty })
}

/// The engines of embedded grammars, made when they are first needed.
#[derive(Debug)]
pub(crate) struct EmbeddedEngines {
    languages: Vec<Arc<CompiledLanguage>>,
    vocabulary: Arc<Vocabulary>,
    engines: OnceLock<Vec<Arc<dyn Engine>>>,
}

impl EmbeddedEngines {
    /// For a grammar; without a vocabulary, no part of it may count tokens.
    ///
    /// # Errors
    /// As [`compile_all`].
    pub(crate) fn new(
        grammar: &Grammar,
        embedded: &[EmbeddedGrammar],
        vocabulary: Option<&Arc<Vocabulary>>,
        limits: &Limits,
    ) -> Result<Self, GrammarError> {
        let vocabulary = match vocabulary {
            Some(vocabulary) => vocabulary.clone(),
            None => {
                // Only grammars that count tokens read it.
                let bytes: TokenTexts = (0..=u8::MAX).map(|byte| Some([byte])).collect();
                let vocabulary = Vocabulary::new(bytes, Vec::new(), Vec::new(), None);
                Arc::new(
                    vocabulary
                        .map_err(|error| Diagnostic::error(Code::UnsupportedGrammar, error.to_string()))?,
                )
            }
        };
        let languages = compile_all(grammar, embedded, &vocabulary, limits)?;
        Ok(Self { languages, vocabulary, engines: OnceLock::new() })
    }

    /// The engines.
    pub(crate) fn engines(&self, limits: &Limits) -> Result<Vec<Arc<dyn Engine>>, LimitExceeded> {
        if let Some(engines) = self.engines.get() {
            return Ok(engines.clone());
        }
        let engines = engines_of(&self.languages, &self.vocabulary, limits)?;
        let engines = engines.into_iter().map(|with_masks| with_masks.engine).collect();
        Ok(self.engines.get_or_init(|| engines).clone())
    }

    /// The same grammars without engines.
    pub(crate) fn with_empty_caches(&self) -> Self {
        let (languages, vocabulary) = (self.languages.clone(), self.vocabulary.clone());
        Self { languages, vocabulary, engines: OnceLock::new() }
    }
}
