//! The lazily filled caches of a compiled grammar: the states of its engine, their masks, and summaries.
//!
//! Caches only grow, and their entries never move, so readers need no lock. When the caches exceed the soft memory
//! limit, the compiled grammar begins fresh ones: each matcher migrates at its next token by reading its text again,
//! and the old caches are dropped with the last matcher that uses them.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, RwLock};
use std::time::Duration;

use rustc_hash::FxHashMap;
use web_time::Instant;

use crate::budget::{BudgetStatistics, CostCache};
use crate::deferred::{DeferredGrammar, DeferredRecognizer};
use crate::embedded::engines_of;
use crate::options::{CompileOptions, EndMode, MaskStatistics};
use grammask_collections::byte_set::ByteSet;
use grammask_collections::likely_first::{LikelyFirst, common_bytes};
use grammask_diagnostics::{Code, Deadline, Diagnostic, GrammarError, LimitExceeded, Limits, Request};
use grammask_earley::lowering::NormalForm;
use grammask_earley::masks::ContextFreeMasks;
use grammask_earley::recognizer::{Recognizer, terminals_without_end};
use grammask_engine::{
    Effort, Engine, MaskCache, MaskOutcome, MaskRequest, MaskSource, MaskStrategy, PrecomputeBudget, SetId,
    SuccessorGroups, TokenMatch,
};
use grammask_grammar::{EmbeddedTexts, Terminal, TerminalDefinition};
use grammask_lexed::{LexedRecognizer, PreparedGrammar};
use grammask_vocabulary::{LiveTokens, Mask, Vocabulary};

/// Default number of states that [`GrammarCache::precompute`] visits, for engines without a procedure of their own.
const DEFAULT_PRECOMPUTED_STATES: usize = 1000;
/// The growth of caches whose memory was not reported.
const NOT_REPORTED: usize = usize::MAX;
/// Maximum number of terminals that the error of a dead end lists.
const MAX_EXPECTED: usize = 8;

/// A grammar in the form from which an engine is created.
#[derive(Clone, Debug)]
pub(crate) enum CompiledLanguage {
    /// A lowered grammar.
    ContextFree {
        /// The lowered grammar.
        form: Arc<NormalForm>,
        /// The tokens that each terminal matches; `None` for terminals over bytes.
        token_matches: Vec<Option<TokenMatch>>,
        /// The embedded grammars.
        embedded: Vec<Arc<CompiledLanguage>>,
    },
    /// A lexed grammar.
    Lexed(Box<PreparedGrammar>),
    /// An embedded lexed grammar.
    Deferred {
        /// The grammar.
        grammar: Arc<DeferredGrammar>,
        /// Its kinds of text.
        texts: EmbeddedTexts,
    },
}

impl CompiledLanguage {
    /// Whether [`EngineWithMasks::with_ends`] has something to check.
    pub(crate) fn may_lack_ends(&self) -> bool {
        match self {
            Self::ContextFree { form, .. } => form.counts_tokens() || form.has_values(),
            Self::Lexed(_) | Self::Deferred { .. } => false,
        }
    }

    /// Whether the grammar has a terminal with a property that those of lexed grammars do not have.
    fn has_terminal(&self, property: impl Fn(&Terminal) -> bool) -> bool {
        match self {
            Self::ContextFree { form, .. } => {
                form.terminals().iter().any(|definition| property(&definition.terminal))
            }
            Self::Lexed(_) | Self::Deferred { .. } => false,
        }
    }
}

/// Memo table of forced bytes: for a state, the only byte that can follow and the state after it.
pub(crate) type ForcedBytes = RwLock<FxHashMap<SetId, Option<(u8, SetId)>>>;

/// The identity of a [`GrammarCache`], unique in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CacheId(u64);

/// An engine and the source of its masks. For lexed grammars both are the same object.
#[derive(Clone, Debug)]
pub(crate) struct EngineWithMasks {
    pub(crate) engine: Arc<dyn Engine>,
    masks: Arc<dyn MaskSource>,
}

impl EngineWithMasks {
    pub(crate) fn new(
        language: &CompiledLanguage,
        vocabulary: &Arc<Vocabulary>,
        limits: &Limits,
    ) -> Result<Self, LimitExceeded> {
        Ok(match language {
            CompiledLanguage::ContextFree { form, token_matches, embedded } => {
                let (engines, sources) = split(engines_of(embedded, vocabulary, limits)?);
                let engine = Recognizer::new(form.clone(), token_matches.clone(), engines, limits)?;
                Self::context_free(engine, sources, vocabulary)
            }
            CompiledLanguage::Lexed(prepared) => {
                let engine = Arc::new(LexedRecognizer::new(prepared, vocabulary.size(), limits)?);
                Self { engine: engine.clone(), masks: engine }
            }
            CompiledLanguage::Deferred { grammar, texts } => {
                let engine = DeferredRecognizer::new(grammar.clone(), *texts, vocabulary.size(), limits);
                let engine = Arc::new(engine);
                Self { engine: engine.clone(), masks: engine }
            }
        })
    }

    /// As [`new`](Self::new), if the terminals that count tokens, and the rules with values that must differ, can end.
    pub(crate) fn with_ends(
        language: &CompiledLanguage,
        vocabulary: &Arc<Vocabulary>,
        limits: &Limits,
    ) -> Result<Self, Vec<Diagnostic>> {
        let over = |limit: LimitExceeded| vec![limit.diagnostic()];
        let CompiledLanguage::ContextFree { form, token_matches, embedded } = language else {
            return Self::new(language, vocabulary, limits).map_err(over);
        };
        let (engines, sources) = split(engines_of(embedded, vocabulary, limits).map_err(over)?);
        let mut errors = Vec::new();
        if form.counts_tokens() {
            let without_end = terminals_without_end(form, &engines, vocabulary, limits).map_err(over)?;
            errors.extend(without_end.iter().map(|&id| too_few_tokens(form.terminal(id))));
        }
        let engine = Recognizer::new(form.clone(), token_matches.clone(), engines, limits).map_err(over)?;
        if form.has_values() {
            errors.extend(engine.rules_without_end().map_err(over)?.iter().map(|rule| too_few_values(rule)));
        }
        if errors.is_empty() { Ok(Self::context_free(engine, sources, vocabulary)) } else { Err(errors) }
    }

    fn context_free(
        engine: Recognizer,
        embedded: Vec<Arc<dyn MaskSource>>,
        vocabulary: &Arc<Vocabulary>,
    ) -> Self {
        let engine = Arc::new(engine.with_vocabulary(vocabulary));
        Self { masks: Arc::new(ContextFreeMasks::new(engine.clone(), embedded)), engine }
    }
}

/// Engines and the sources of their masks.
type EnginesAndSources = (Vec<Arc<dyn Engine>>, Vec<Arc<dyn MaskSource>>);

fn split(engines: Vec<EngineWithMasks>) -> EnginesAndSources {
    engines.into_iter().map(|EngineWithMasks { engine, masks }| (engine, masks)).unzip()
}

/// The error of a rule that needs more different values than there are.
fn too_few_values(rule: &str) -> Diagnostic {
    let message = format!("the rule `{rule}` needs more different values than there are");
    Diagnostic::error(Code::NeverEnds, message).help("require fewer values, or allow more")
}

/// The error of a terminal that cannot end within its maximum number of tokens.
fn too_few_tokens(definition: &TerminalDefinition) -> Diagnostic {
    let label = &definition.label;
    let message = format!(
        "no token of the vocabulary begins a text of `{label}` that ends within its maximum of tokens"
    );
    Diagnostic::error(Code::TokenMaximumTooSmall, message).help("raise the maximum")
}

/// The caches of a compiled grammar, shared by the matchers that use them. See the documentation of the module.
#[derive(Debug)]
pub struct GrammarCache {
    id: CacheId,
    engine: Arc<dyn Engine>,
    source: Arc<dyn MaskSource>,
    masks: MaskCache,
    forced: ForcedBytes,
    /// Created for the first text with a budget.
    costs: OnceLock<Box<CostCache>>,
    vocabulary: Arc<Vocabulary>,
    options: CompileOptions,
    text: Arc<str>,
    end_mask: Arc<Mask>,
    /// Whether parts of the grammar are limited to a number of tokens.
    counts_tokens: bool,
    /// Whether the grammar names or counts tokens.
    reads_tokens: bool,
    /// Whether a matcher has accepted a token.
    has_begun: AtomicBool,
    /// Memory, in bytes, above which the grammar begins fresh caches. 0 after a text has exceeded the memory limit: then
    /// the present ones are of no use to other texts.
    soft_limit: AtomicUsize,
    /// The [`growth`](Self::growth) at the last report of the memory to accounts.
    reported_growth: AtomicUsize,
}

impl GrammarCache {
    /// Caches for an engine of a language.
    pub(crate) fn new(
        language: &CompiledLanguage,
        engine: EngineWithMasks,
        vocabulary: Arc<Vocabulary>,
        options: &CompileOptions,
        text: Arc<str>,
    ) -> Self {
        let EngineWithMasks { engine, masks: source } = engine;
        let names_or_counts = |terminal: &Terminal| {
            let over_bytes = matches!(
                terminal,
                Terminal::Literal(_) | Terminal::Regular(_) | Terminal::Embedded { tokens: None, .. }
            );
            !over_bytes
        };
        let end_tokens = LiveTokens::new(vocabulary.eos().to_vec(), vocabulary.size());
        let end_tokens = vocabulary.summaries().share(end_tokens);
        let end_mask = Arc::new(Mask::new(end_tokens, vocabulary.size()));
        static NEXT_ID: AtomicU64 = AtomicU64::new(0);
        Self {
            id: CacheId(NEXT_ID.fetch_add(1, Ordering::Relaxed)),
            counts_tokens: engine.counts_tokens(),
            reads_tokens: language.has_terminal(names_or_counts) || engine.counts_tokens(),
            engine,
            source,
            masks: MaskCache::default(),
            forced: ForcedBytes::default(),
            costs: OnceLock::new(),
            vocabulary,
            options: options.clone(),
            text,
            end_mask,
            has_begun: AtomicBool::new(false),
            soft_limit: AtomicUsize::new(options.limits.memory_bytes / 2),
            reported_growth: AtomicUsize::new(NOT_REPORTED),
        }
    }

    pub(crate) fn id(&self) -> CacheId {
        self.id
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &dyn Engine {
        &*self.engine
    }

    /// Computes masks before any text is read, until `max_states` states are finished, `time` has passed, or
    /// `proceed(finished, discovered)` returns false. Returns the number of finished states.
    ///
    /// The states of a context-free grammar are its Earley sets, likely ones first; `None` means 1,000 of them.
    /// The states of a lexed grammar are its lexer configurations, each for every stack of the parser; `None` means
    /// all, and they take at most a quarter of `Limits::memory_bytes`.
    ///
    /// # Errors
    /// When a limit is exceeded; finished masks stay cached.
    pub fn precompute(
        &self,
        max_states: Option<usize>,
        time: Option<Duration>,
        mut proceed: impl FnMut(usize, usize) -> bool,
    ) -> Result<usize, GrammarError> {
        let start = Instant::now();
        let mut proceed = |finished, discovered| {
            time.is_none_or(|time| start.elapsed() < time) && proceed(finished, discovered)
        };
        let limits = &self.options.limits;
        let budget = PrecomputeBudget {
            max_states,
            is_timed: time.is_some(),
            max_bytes: limits.memory_bytes / 4,
            step_time: limits.time,
        };
        let finished = self.source.precompute(&self.vocabulary, budget, &mut proceed);
        match finished.map_err(|limit| self.limit_error(limit))? {
            Some(finished) => Ok(finished),
            None => self.precompute_sets(max_states.unwrap_or(DEFAULT_PRECOMPUTED_STATES), &mut proceed),
        }
    }

    /// Whether a text has begun: a matcher has accepted a token.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed)
    }

    /// Records that a matcher has accepted a token.
    pub(crate) fn begin_text(&self) {
        // Threads that only read share the cache line.
        if !self.has_begun() {
            self.has_begun.store(true, Ordering::Relaxed);
        }
    }

    /// Computes the masks of states in the order in which texts are likely to reach them.
    fn precompute_sets(
        &self,
        max_states: usize,
        proceed: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<usize, GrammarError> {
        let engine = &*self.engine;
        let mut bytes_of_class = vec![ByteSet::EMPTY; engine.byte_of_class().len()];
        for (byte, &class) in (0..=u8::MAX).zip(engine.class_of_byte()) {
            bytes_of_class[usize::from(class)].insert(byte);
        }
        let bytes_of_class: Vec<f64> = bytes_of_class.into_iter().map(common_bytes).collect();
        let mut states = LikelyFirst::new([engine.start()]);
        let mut finished = 0;
        while let Some(set) = states.peek() {
            if finished >= max_states || !proceed(finished, states.discovered()) {
                break;
            }
            match self.mask(set) {
                Err(error) if error.code() != Code::DeadEnd => return Err(error),
                _ => finished += 1,
            }
            let mut targets = Vec::new();
            for (&byte, &bytes) in engine.byte_of_class().iter().zip(&bytes_of_class) {
                let next = engine.step(set, byte).map_err(|limit| self.limit_error(limit))?;
                targets.extend(next.map(|next| (next, bytes)));
            }
            states.visit(set, targets);
        }
        Ok(finished)
    }

    /// Estimated memory, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let masks = self.masks.memory_bytes() + self.source.summary_bytes();
        self.engine.memory_bytes() + masks + self.costs.get().map_or(0, |costs| costs.memory_bytes())
    }

    /// A number that increases whenever the caches grow. Cheaper than their memory: no lock on the engine.
    fn growth(&self) -> usize {
        let budgets = self.costs.get().map_or(0, |costs| costs.memory_bytes());
        self.engine.new_steps().wrapping_add(self.masks.memory_bytes()).wrapping_add(budgets)
    }

    /// Whether the caches have grown since the last call.
    pub(crate) fn has_grown(&self) -> bool {
        let growth = self.growth();
        self.reported_growth.swap(growth, Ordering::Relaxed) != growth
    }

    /// Whether the grammar should begin fresh caches.
    pub(crate) fn over_soft_limit(&self) -> bool {
        self.is_exhausted() || self.memory_bytes() > self.soft_limit.load(Ordering::Relaxed)
    }

    /// Whether a text has exceeded the memory limit.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.soft_limit.load(Ordering::Relaxed) == 0
    }

    /// Raises the soft limit to twice the present size, so that a matcher that needs all of it does not migrate again
    /// soon, but not above the memory limit.
    pub(crate) fn raise_soft_limit(&self) {
        let raised = self.memory_bytes().saturating_mul(2).min(self.options.limits.memory_bytes);
        self.soft_limit.fetch_max(raised, Ordering::Relaxed);
    }

    pub(crate) fn costs(&self) -> &CostCache {
        self.costs.get_or_init(Box::default)
    }

    pub(crate) fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    pub(crate) fn end(&self) -> EndMode {
        self.options.end
    }

    pub(crate) fn counts_tokens(&self) -> bool {
        self.counts_tokens
    }

    pub(crate) fn reads_tokens(&self) -> bool {
        self.reads_tokens
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// The deadline of a call that begins at its first check.
    pub(crate) fn deadline(&self) -> Deadline {
        Deadline::of_next_check(&self.options.limits)
    }

    /// Numbers of masks under token budgets, and the memory of budgets.
    #[must_use]
    pub fn budget_statistics(&self) -> BudgetStatistics {
        self.costs.get().map(|costs| costs.statistics()).unwrap_or_default()
    }

    pub(crate) fn forced_bytes(&self) -> &ForcedBytes {
        &self.forced
    }

    /// The legal tokens of a state by the state after them, end tokens and tokens that the grammar names aside; `None` if
    /// the masks have no tables of them.
    ///
    /// # Errors
    /// When a limit is exceeded.
    pub fn successor_groups(
        &self,
        set: SetId,
        deadline: &Deadline,
    ) -> Result<Option<SuccessorGroups>, LimitExceeded> {
        match self.options.masks {
            MaskStrategy::Summaries => self.source.successor_groups(set, &self.vocabulary, deadline),
            MaskStrategy::Walk => Ok(None),
        }
    }

    /// Numbers of computed masks by strategy, and their memory.
    #[must_use]
    pub fn statistics(&self) -> MaskStatistics {
        let counts = self.source.counts();
        MaskStatistics {
            store: self.masks.statistics(),
            composed: counts.composed,
            recalled: counts.recalled,
            walked: counts.walked,
            rule_bytes: self.source.summary_bytes(),
            vocabulary_bytes: self.vocabulary.summaries().memory_bytes(),
        }
    }

    /// The mask of a state, if it is cached, or if the mask of an equivalent state is cached and no other thread is
    /// computing masks of the grammar.
    #[must_use]
    pub fn lookup(&self, set: SetId) -> Option<&Arc<Mask>> {
        self.masks.find(set).or_else(|| {
            let mask = self.source.lookup_equivalent(&self.request(set))?;
            self.masks.count_miss();
            Some(mask)
        })
    }

    /// Caches a mask that was computed elsewhere, unless the state has one or the cache is full.
    pub(crate) fn add_mask(&self, set: SetId, tokens: &LiveTokens) {
        if self.masks.find(set).is_none() {
            let mask = self.masks.new_mask(tokens.clone(), self.vocabulary.size());
            self.masks.insert(set, mask, self.options.limits.memory_bytes);
        }
    }

    /// Computes the mask of a state that [`lookup`](Self::lookup) did not find: the legal next tokens, and with
    /// [`EndMode::Eos`] the end tokens if the text is complete. `None` if it takes more than `effort`.
    ///
    /// # Errors
    /// `dead-end` if no token is legal; an exceeded limit.
    pub fn compute(&self, set: SetId, effort: Effort) -> Result<Option<Arc<Mask>>, GrammarError> {
        let _request = (effort == Effort::Full).then(|| Request::begin(self.limits()));
        let deadline = self.deadline();
        let outcome = self.source.compute(&self.request(set), effort, &deadline);
        if !matches!(outcome, Ok(MaskOutcome::Declined)) {
            self.masks.count_miss();
        }
        match outcome.map_err(|limit| self.limit_error(limit))? {
            MaskOutcome::Declined => Ok(None),
            MaskOutcome::DeadEnd => Err(self.dead_end(set)),
            MaskOutcome::Mask(mask) => Ok(Some(mask)),
        }
    }

    /// The mask of a state, from the cache or computed.
    ///
    /// # Errors
    /// `dead-end` if no token is legal; an exceeded limit.
    pub fn mask(&self, set: SetId) -> Result<Arc<Mask>, GrammarError> {
        if let Some(mask) = self.masks.find(set) {
            return Ok(mask.clone());
        }
        let mask = self.compute(set, Effort::Full)?;
        Ok(mask.expect("full effort never declines"))
    }

    /// The strategies that compute the mask of a state when nothing is cached, a line each, for people who debug
    /// grammars; empty for lexed grammars. Summaries that other grammars on the vocabulary have cached are not
    /// computed.
    ///
    /// # Errors
    /// A limit that was passed.
    pub fn describe_plans(&self, set: SetId) -> Result<String, GrammarError> {
        let deadline = self.deadline();
        let plans = self.source.describe_plans(&self.vocabulary, set, &deadline);
        plans.map_err(|limit| self.limit_error(limit))
    }

    fn request(&self, set: SetId) -> MaskRequest<'_> {
        MaskRequest {
            set,
            vocabulary: &self.vocabulary,
            end_tokens: (self.options.end == EndMode::Eos).then(|| self.end_mask.live_tokens()),
            strategy: self.options.masks,
            cache: &self.masks,
            max_cache_bytes: self.options.limits.memory_bytes,
        }
    }

    /// The mask after the end of a text: the end tokens.
    #[must_use]
    pub fn end_mask(&self) -> &Arc<Mask> {
        &self.end_mask
    }

    pub(crate) fn limit_error(&self, limit: LimitExceeded) -> GrammarError {
        if limit.is_memory_bytes() {
            self.soft_limit.store(0, Ordering::Relaxed);
        }
        self.grammar_error(limit.diagnostic())
    }

    pub(crate) fn grammar_error(&self, diagnostic: Diagnostic) -> GrammarError {
        GrammarError::new(vec![diagnostic], self.text.clone())
    }

    pub(crate) fn dead_end(&self, set: SetId) -> GrammarError {
        let expected = self.engine.expectations(set).unwrap_or_default();
        let mut labels: Vec<String> = expected.into_iter().map(|expectation| expectation.terminal).collect();
        labels.dedup();
        labels.truncate(MAX_EXPECTED);
        let diagnostic = Diagnostic::error(
            Code::DeadEnd,
            "no token of the vocabulary can spell what the grammar needs next",
        )
        .expected(labels)
        .help(
            "check that the vocabulary is the model's own and complete: byte-level vocabularies can spell \
                     everything",
        );
        self.grammar_error(diagnostic)
    }
}

#[cfg(test)]
mod tests {
    use grammask_diagnostics::Span;
    use grammask_grammar::GrammarBuilder;
    use grammask_vocabulary::TokenTexts;

    use super::*;
    use crate::CompiledGrammar;

    /// A single step can exceed the limit, before the size of the caches is checked again.
    #[test]
    fn texts_begin_with_fresh_caches_after_one_has_exceeded_the_memory_limit() {
        let texts: TokenTexts = [Some("a"), None].into_iter().collect();
        let vocabulary = Arc::new(Vocabulary::new(texts, vec![], vec![1], None).expect("a vocabulary"));
        let mut builder = GrammarBuilder::new("");
        let start = builder.nonterminal("start", Span::default());
        let body = builder.literal(b"aa", Span::default());
        builder.define(start, body, Span::default());
        let compiled = CompiledGrammar::new(&builder.finish(start), vocabulary, CompileOptions::default())
            .expect("a valid grammar");
        let mut matcher = compiled.matcher();
        let first = matcher.cache().clone();
        assert_eq!(compiled.matcher().cache().id(), first.id());
        first.limit_error(LimitExceeded::new("time", 1));
        assert_eq!(compiled.matcher().cache().id(), first.id());
        first.limit_error(LimitExceeded::new("memory_bytes", 1));
        assert_ne!(compiled.matcher().cache().id(), first.id());
        assert!(matcher.accept_bytes(b"a").expect("no limit"));
        assert_ne!(matcher.cache().id(), first.id());
    }
}
