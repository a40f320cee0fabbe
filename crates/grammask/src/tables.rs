//! What is learned about a compiled grammar while texts are read under it: sets, masks, summaries.
//!
//! Tables only grow, and what they hold never moves, so readers need no lock. When they have outgrown their budget,
//! the compiled grammar begins new ones: a matcher moves over by reading its text again, at its next token, and the
//! old tables go when the last matcher has left them.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;

use crate::compiled::{CompileOptions, EndMode, MaskStatistics, MaskStrategy};
use crate::engine::{Engine, Language, lexed_mask};
use crate::forced::ForcedMemo;
use grammask_diagnostics::{Code, Deadline, Diagnostic, GrammarError, LimitExceeded};
use grammask_earley::masks::{KeptMask, MaskStore, Pace, Refusal, RuleSummaries, walk, whole_tokens};
use grammask_earley::recognizer::{Recognizer, SetId};
use grammask_vocabulary::{LiveTokens, Mask, Vocabulary};

/// Sets of a context-free grammar that are made ahead where nobody says how many.
const MOST_SETS: usize = 1000;

/// What is learned about a compiled grammar while texts are read under it, shared by all matchers that use it: sets,
/// masks, summaries. Tables only grow; a grammar whose tables have outgrown their budget begins new ones.
#[derive(Debug)]
pub struct Tables {
    recognizer: Engine,
    vocabulary: Arc<Vocabulary>,
    masks: MaskStore,
    rules: Mutex<RuleSummaries>,
    composed: AtomicU64,
    recalled: AtomicU64,
    walked: AtomicU64,
    options: CompileOptions,
    source: Arc<str>,
    end_mask: Arc<Mask>,
    forced: ForcedMemo,
    /// Bytes above which new tables are begun.
    enough: AtomicUsize,
}

impl Tables {
    pub(crate) fn new(
        language: &Language,
        vocabulary: Arc<Vocabulary>,
        options: &CompileOptions,
        source: Arc<str>,
    ) -> Result<Self, LimitExceeded> {
        let recognizer = Engine::new(language, &vocabulary, &options.limits)?;
        let end_tokens = LiveTokens::new(vocabulary.eos().to_vec(), vocabulary.size());
        let end_tokens = vocabulary.summaries().share(end_tokens);
        let end_mask = Arc::new(Mask::new(end_tokens, vocabulary.size()));
        Ok(Self {
            recognizer,
            vocabulary,
            masks: MaskStore::default(),
            rules: Mutex::default(),
            composed: AtomicU64::new(0),
            recalled: AtomicU64::new(0),
            walked: AtomicU64::new(0),
            options: options.clone(),
            source,
            end_mask,
            forced: ForcedMemo::default(),
            enough: AtomicUsize::new(options.limits.memory_bytes / 2),
        })
    }

    /// The recogniser of the grammar's texts.
    #[must_use]
    pub fn recognizer(&self) -> &Engine {
        &self.recognizer
    }

    /// Makes ahead what reading texts would make, until `most` states are done, `time` has passed, or `go_on`, which is told
    /// how many are done and how many are known, says no. Returns how many were done.
    ///
    /// Of a context-free grammar the states are the sets reached over shortest texts first, a thousand if `most` does not
    /// say; each gets its mask, except those from which no token goes on. Of a lexed grammar they are the states of the
    /// lexer, all if `most` does not say, each with what masks are made of for every stack of the parser; what does not fit
    /// into a quarter of `memory_bytes` is left.
    ///
    /// # Errors
    /// When a limit is passed; what was made is kept.
    pub fn precompute(
        &self,
        most: Option<usize>,
        time: Option<Duration>,
        mut go_on: impl FnMut(usize, usize) -> bool,
    ) -> Result<usize, GrammarError> {
        let begun = Instant::now();
        let mut go_on = |done, known| time.is_none_or(|time| begun.elapsed() < time) && go_on(done, known);
        if let Engine::Lexed(recognizer) = &self.recognizer
            && recognizer.prepared().table().is_some()
        {
            let limits = &self.options.limits;
            let most = (most.unwrap_or(usize::MAX), time.is_some());
            let done =
                recognizer.precompute(&self.vocabulary, most, (limits.memory_bytes / 4, limits.time), go_on);
            return done.map_err(|limit| self.limit_error(limit));
        }
        let most_sets = most.unwrap_or(MOST_SETS);
        let mut sets = vec![self.recognizer.start()];
        let mut known: FxHashSet<SetId> = sets.iter().copied().collect();
        let mut done = 0;
        while let Some(&set) = sets.get(done) {
            if done >= most_sets || !go_on(done, sets.len()) {
                break;
            }
            match self.mask(set) {
                Err(error) if error.code() != Code::DeadEnd => return Err(error),
                _ => done += 1,
            }
            for &byte in self.recognizer.byte_of_class() {
                let next = self.recognizer.step(set, byte).map_err(|limit| self.limit_error(limit))?;
                sets.extend(next.filter(|&next| known.insert(next)));
            }
        }
        Ok(done)
    }

    /// Bytes that the tables take, an estimate.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner).memory_bytes();
        self.recognizer.memory_bytes() + self.masks.memory_bytes() + rules
    }

    /// Whether the grammar should begin new tables.
    pub(crate) fn are_outgrown(&self) -> bool {
        self.memory_bytes() > self.enough.load(Ordering::Relaxed)
    }

    /// Says that a matcher needs what is there now, so that it does not move on again too soon.
    pub(crate) fn settle(&self) {
        self.enough.fetch_max(self.memory_bytes().saturating_mul(2), Ordering::Relaxed);
    }

    pub(crate) fn forced_memo(&self) -> &ForcedMemo {
        &self.forced
    }

    /// How often masks were made, and what is kept for them.
    #[must_use]
    pub fn statistics(&self) -> MaskStatistics {
        let (recalled, composed) = match &self.recognizer {
            Engine::Lexed(recognizer) => recognizer.mask_counts(),
            Engine::ContextFree(_) => {
                (self.recalled.load(Ordering::Relaxed), self.composed.load(Ordering::Relaxed))
            }
        };
        MaskStatistics {
            store: self.masks.statistics(),
            composed,
            recalled,
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
    pub fn mask(&self, set: SetId) -> Result<Arc<Mask>, GrammarError> {
        if let Some(mask) = self.masks.find(set) {
            return Ok(mask.clone());
        }
        self.masks.count_miss();
        let deadline = Deadline::after_first_check(self.options.limits.time);
        match self.make_mask(set, &deadline) {
            Ok(Some(mask)) => Ok(mask),
            Ok(None) => Err(self.dead_end(set)),
            Err(limit) => Err(self.limit_error(limit)),
        }
    }

    /// The mask of `set`, if it is known, or if sets that look alike have it and nobody else is making masks.
    #[must_use]
    pub fn known_mask(&self, set: SetId) -> Option<&Arc<Mask>> {
        self.masks.find(set).or_else(|| self.recalled_mask(set))
    }

    /// The mask of a set that [`Self::known_mask`] does not know, if it is composed of words and of what is known, and nobody else
    /// is making masks.
    #[must_use]
    pub fn quick_mask(&self, set: SetId) -> Option<Arc<Mask>> {
        let recognizer = self.summarised()?;
        let mut rules = self.rules.try_lock().ok()?;
        let deadline = Deadline::after_first_check(self.options.limits.time);
        let mask = self.compose_mask(recognizer, set, &mut rules, (Pace::Quick, &deadline)).ok()??;
        self.masks.count_miss();
        Some(mask)
    }

    fn recalled_mask(&self, set: SetId) -> Option<&Arc<Mask>> {
        let recognizer = self.summarised()?;
        let recalled = self.recall(recognizer, set, &mut *self.rules.try_lock().ok()?)?;
        self.masks.count_miss();
        recalled.ok()
    }

    /// The mask of a set as sets that look alike have it, in the store or, where that is full, by itself.
    fn recall(
        &self,
        recognizer: &Recognizer,
        set: SetId,
        rules: &mut RuleSummaries,
    ) -> Option<Result<&Arc<Mask>, Arc<Mask>>> {
        let kept = rules.recall(recognizer, &self.vocabulary, set)?;
        // Whoever has the rules is the only one who counts.
        self.recalled.store(self.recalled.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        let shared = self.masks.share(set, kept, self.options.limits.memory_bytes);
        Some(shared.ok_or_else(|| kept.mask.clone()))
    }

    /// The recogniser, if its masks are composed of summaries.
    fn summarised(&self) -> Option<&Recognizer> {
        let recognizer = self.recognizer.context_free()?;
        (self.options.masks == MaskStrategy::Summaries && !recognizer.counts_tokens()).then_some(recognizer)
    }

    /// The mask after the end of a text: the end tokens.
    #[must_use]
    pub fn end_mask(&self) -> &Arc<Mask> {
        &self.end_mask
    }

    /// Makes the mask of a set that is not in the store; none if no token can follow. Such a mask is not kept.
    fn make_mask(&self, set: SetId, deadline: &Deadline) -> Result<Option<Arc<Mask>>, LimitExceeded> {
        let recognizer = match &self.recognizer {
            Engine::ContextFree(recognizer) => recognizer,
            Engine::Lexed(recognizer) => {
                let walks = u64::from(self.options.masks == MaskStrategy::Walk);
                self.walked.fetch_add(walks, Ordering::Relaxed);
                let end_tokens = match self.options.end {
                    EndMode::Eos => self.vocabulary.eos(),
                    EndMode::Eager => &[],
                };
                let how = (self.options.masks, end_tokens);
                let mask = lexed_mask(recognizer, set, &self.vocabulary, how, deadline)?;
                if mask.is_empty() {
                    return Ok(None);
                }
                let mask = Arc::new(Mask::new(LiveTokens::Set(mask), self.vocabulary.size()));
                self.masks.insert_uncounted(set, mask.clone(), self.options.limits.memory_bytes);
                return Ok(Some(mask));
            }
        };
        if let Some(recognizer) = self.summarised() {
            let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(mask) = self.recall(recognizer, set, &mut rules) {
                return Ok(Some(mask.cloned().unwrap_or_else(|mask| mask)));
            }
            match self.compose_mask(recognizer, set, &mut rules, (Pace::Any, deadline)) {
                Ok(mask) => return Ok(mask),
                Err(Refusal::Limit(limit)) => return Err(limit),
                Err(Refusal::TooMuchWork) => {}
            }
        }
        self.walked.fetch_add(1, Ordering::Relaxed);
        let mask = walk(recognizer, &self.vocabulary, set, deadline)?;
        let mask = self.vocabulary.summaries().share(LiveTokens::from_set(mask));
        Ok(self.finish(set, vec![mask]).map(|kept| kept.mask))
    }

    /// Composes the mask of a set from summaries; none if no token can follow.
    fn compose_mask(
        &self,
        recognizer: &Recognizer,
        set: SetId,
        rules: &mut RuleSummaries,
        (pace, deadline): (Pace, &Deadline),
    ) -> Result<Option<Arc<Mask>>, Refusal> {
        let (mut parts, observation) = rules.mask(recognizer, &self.vocabulary, set, pace, deadline)?;
        self.composed.fetch_add(1, Ordering::Relaxed);
        for tokens in whole_tokens(recognizer, &self.vocabulary, set)? {
            let is_list = matches!(tokens, LiveTokens::List(_));
            parts.push(if is_list { self.vocabulary.summaries().share(tokens) } else { tokens });
        }
        let Some(kept) = self.finish(set, parts) else { return Ok(None) };
        rules.remember(observation, kept.clone());
        Ok(Some(kept.mask))
    }

    /// The mask of a set from its parts and the end tokens, kept for the next time; none if it is empty.
    fn finish(&self, set: SetId, mut parts: Vec<LiveTokens>) -> Option<KeptMask> {
        if self.options.end == EndMode::Eos && self.recognizer.is_complete(set) {
            parts.push(self.end_mask.live_tokens().clone());
        }
        let size = self.vocabulary.size();
        let tokens = LiveTokens::union(&parts, size, self.vocabulary.summaries());
        if tokens.is_empty() {
            return None;
        }
        let shared = self.vocabulary.summaries().mask(&tokens, size);
        let mask = shared.unwrap_or_else(|| self.masks.new_mask(tokens, size));
        Some(self.masks.insert(set, mask, self.options.limits.memory_bytes))
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
