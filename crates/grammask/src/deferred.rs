//! Engines of embedded grammars with a lexer, made when a text first reaches the part.
//!
//! The tables of a programming language take milliseconds to make, and an answer that may contain code of several
//! languages contains that of few. Before its first byte an engine only needs what its grammar says without tables:
//! the byte classes, and whether the empty text is one. The start is the first of its sets, whose number is known.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use grammask_diagnostics::{Deadline, GrammarError, LimitExceeded, Limits};
use grammask_engine::{
    Descriptions, Effort, ExitsRequest, Expectation, FirstTerminals, MaskCounts, MaskOutcome, MaskRequest,
    MaskSource, PrecomputeBudget, Reach, SetId, ShortestCompletion, StateCompletions, Steps, SuccessorGroups,
    TokenGrowths, TokensAndExits, ValueStates,
};
use grammask_grammar::EmbeddedTexts;
use grammask_lexed::{ByteClasses, LexedGrammar, LexedRecognizer, PreparedGrammar};
use grammask_vocabulary::Vocabulary;

/// A value that is made when it is first needed. If a limit of the request that needs it is exceeded, the next one tries
/// again: the value may be shared by requests with more time.
#[derive(Debug)]
struct RetriedCell<T> {
    value: OnceLock<T>,
    /// Held while the value is made.
    making: Mutex<()>,
}

impl<T> Default for RetriedCell<T> {
    fn default() -> Self {
        Self { value: OnceLock::new(), making: Mutex::new(()) }
    }
}

impl<T> From<T> for RetriedCell<T> {
    fn from(value: T) -> Self {
        Self { value: OnceLock::from(value), making: Mutex::new(()) }
    }
}

impl<T> RetriedCell<T> {
    #[inline]
    fn get(&self) -> Option<&T> {
        self.value.get()
    }

    fn get_or_make(&self, make: impl FnOnce() -> Result<T, LimitExceeded>) -> Result<&T, LimitExceeded> {
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let made = make()?;
        Ok(self.value.get_or_init(|| made))
    }
}

/// A lexed grammar whose tables are made once, when they are first needed.
#[derive(Debug)]
pub(crate) struct DeferredGrammar {
    grammar: LexedGrammar,
    limits: Limits,
    prepared: RetriedCell<PreparedGrammar>,
}

impl DeferredGrammar {
    /// For a grammar that is known to compile unless a limit is exceeded.
    pub(crate) fn new(grammar: LexedGrammar, limits: &Limits) -> Self {
        Self { grammar, limits: limits.clone(), prepared: RetriedCell::default() }
    }

    /// For a grammar with tables.
    pub(crate) fn with_tables(prepared: PreparedGrammar, limits: &Limits) -> Self {
        let deferred = Self::new(prepared.source().clone(), limits);
        Self { prepared: RetriedCell::from(prepared), ..deferred }
    }

    pub(crate) fn grammar(&self) -> &LexedGrammar {
        &self.grammar
    }

    /// Whether the tables are still to be made.
    pub(crate) fn is_pending(&self) -> bool {
        self.prepared.get().is_none()
    }

    fn prepared(&self) -> Result<&PreparedGrammar, LimitExceeded> {
        if let Some(prepared) = self.prepared.get() {
            return Ok(prepared);
        }
        let prepare = || {
            PreparedGrammar::new(self.grammar.clone(), &self.limits).map_err(|error| exceeded_limit(&error))
        };
        self.prepared.get_or_make(prepare)
    }
}

/// The limit of an error about a grammar that compiles without limits.
fn exceeded_limit(error: &GrammarError) -> LimitExceeded {
    let limit = error.diagnostics().iter().find_map(|diagnostic| diagnostic.limit);
    limit.unwrap_or_else(|| unreachable!("only grammars that are known to compile are deferred: {error}"))
}

/// The engine of a deferred grammar, and the source of its masks.
#[derive(Debug)]
pub(crate) struct DeferredRecognizer {
    grammar: Arc<DeferredGrammar>,
    texts: EmbeddedTexts,
    classes: ByteClasses,
    vocabulary_size: usize,
    limits: Limits,
    recognizer: RetriedCell<LexedRecognizer>,
}

impl DeferredRecognizer {
    pub(crate) fn new(
        grammar: Arc<DeferredGrammar>,
        texts: EmbeddedTexts,
        vocabulary_size: usize,
        limits: &Limits,
    ) -> Self {
        let classes = grammar.grammar().byte_classes();
        Self {
            grammar,
            texts,
            classes,
            vocabulary_size,
            limits: limits.clone(),
            recognizer: RetriedCell::default(),
        }
    }

    /// The recogniser if it was made.
    fn made(&self) -> Option<&LexedRecognizer> {
        self.recognizer.get()
    }

    #[inline]
    fn recognizer(&self) -> Result<&LexedRecognizer, LimitExceeded> {
        match self.recognizer.get() {
            Some(made) => Ok(made),
            None => self.make(),
        }
    }

    #[cold]
    fn make(&self) -> Result<&LexedRecognizer, LimitExceeded> {
        let make = || LexedRecognizer::new(self.grammar.prepared()?, self.vocabulary_size, &self.limits);
        let made = self.recognizer.get_or_make(make)?;
        debug_assert_eq!(made.is_complete(made.start()), self.texts.empty, "the empty text is known");
        Ok(made)
    }
}

impl Steps for DeferredRecognizer {
    fn start(&self) -> SetId {
        LexedRecognizer::start_set()
    }

    fn is_complete(&self, set: SetId) -> bool {
        match self.made() {
            Some(recognizer) => recognizer.is_complete(set),
            // Without a recogniser there is no other state than the start.
            None => self.texts.empty,
        }
    }

    fn is_pending(&self) -> bool {
        self.recognizer.get().is_none()
    }

    fn set_count(&self) -> usize {
        self.made().map_or(1, Steps::set_count)
    }

    fn class_of_byte(&self) -> &[u8; 256] {
        &self.classes.class_of_byte
    }

    fn byte_of_class(&self) -> &[u8] {
        &self.classes.byte_of_class
    }

    fn memory_bytes(&self) -> usize {
        self.made().map_or(0, Steps::memory_bytes)
    }

    fn new_steps(&self) -> usize {
        self.made().map_or(0, Steps::new_steps)
    }

    #[inline]
    fn step(&self, set: SetId, byte: u8) -> Result<Option<SetId>, LimitExceeded> {
        self.recognizer()?.step(set, byte)
    }

    fn union(&self, left: SetId, right: SetId) -> Result<SetId, LimitExceeded> {
        self.recognizer()?.union(left, right)
    }

    fn state_size(&self, set: SetId) -> usize {
        self.made().map_or(1, |recognizer| recognizer.state_size(set))
    }
}

impl ValueStates for DeferredRecognizer {
    fn depends_on_all_values(&self) -> bool {
        self.grammar.grammar().has_delimited_terminals()
    }
}

impl StateCompletions for DeferredRecognizer {
    fn shortest_completion(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<ShortestCompletion>, LimitExceeded> {
        self.recognizer()?.shortest_completion(set, vocabulary, deadline)
    }

    fn longest_completion_after(
        &self,
        set: SetId,
        reach: Reach,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<u32>, LimitExceeded> {
        self.recognizer()?.longest_completion_after(set, reach, vocabulary, deadline)
    }

    fn token_growths(
        &self,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<Arc<TokenGrowths>>, LimitExceeded> {
        self.recognizer()?.token_growths(vocabulary, deadline)
    }
}

impl Descriptions for DeferredRecognizer {
    fn expectations(&self, set: SetId) -> Result<Vec<Expectation>, LimitExceeded> {
        self.recognizer()?.expectations(set)
    }

    fn first_terminals(&self, set: SetId, texts: &[&[u8]]) -> Result<FirstTerminals, LimitExceeded> {
        self.recognizer()?.first_terminals(set, texts)
    }

    fn describe(&self, set: SetId) -> String {
        match self.made() {
            Some(recognizer) => recognizer.describe(set),
            None => format!("set {}, without tables\n", set.as_u32()),
        }
    }
}

impl MaskSource for DeferredRecognizer {
    fn compute(
        &self,
        request: &MaskRequest<'_>,
        effort: Effort,
        deadline: &Deadline,
    ) -> Result<MaskOutcome, LimitExceeded> {
        match (effort, self.made()) {
            (Effort::Immediate, None) => Ok(MaskOutcome::Declined),
            _ => self.recognizer()?.compute(request, effort, deadline),
        }
    }

    fn compute_exits(
        &self,
        request: &ExitsRequest<'_>,
        deadline: &Deadline,
    ) -> Result<Option<TokensAndExits>, LimitExceeded> {
        self.recognizer()?.compute_exits(request, deadline)
    }

    fn successor_groups(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
        deadline: &Deadline,
    ) -> Result<Option<SuccessorGroups>, LimitExceeded> {
        self.recognizer()?.successor_groups(set, vocabulary, deadline)
    }

    fn counts(&self) -> MaskCounts {
        self.made().map(MaskSource::counts).unwrap_or_default()
    }

    fn precompute(
        &self,
        vocabulary: &Vocabulary,
        budget: PrecomputeBudget,
        proceed: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Option<usize>, LimitExceeded> {
        self.recognizer()?.precompute(vocabulary, budget, proceed)
    }
}
