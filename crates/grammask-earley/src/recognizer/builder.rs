//! The part of a recogniser that creates sets: steps that are not memoised, and the interning of their results.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::lowering::NormalForm;
use grammask_collections::incremental_hash_table::IncrementalHashTable;
use grammask_diagnostics::{LimitExceeded, Limits};
use grammask_engine::{SetId, TokenMatch};

use super::completion::{CompletionTables, FinishingTokens, ValueCompletions, ValueEscapes};
use super::continuation::{ContinuationId, Continuations};
use super::kernel::{Item, ItemState, Kernel};
use super::prediction::ByteWithClass;
use super::remembered::{AnonymousSets, Remembered};
use super::set::{self, Set, Sets};
use super::set_core::{CoreId, hash_of, intern_kernel};
use super::stepping::Stepper;
use super::trace::{Recorder, Replay, TraceKey, Traces};
use super::{Recognizer, index_u32};

/// Number of new sets between two checks of the memory limit: summing up the memory takes as long as creating a small
/// set.
const SETS_PER_MEMORY_CHECK: usize = 8;
/// The part of a recogniser that creates sets, under the lock.
#[derive(Debug)]
pub(super) struct Builder {
    pub(super) form: Arc<NormalForm>,
    pub(super) stepper: Stepper,
    pub(super) continuations: Continuations,
    pub(super) traces: Traces,
    pub(super) remembered: Remembered,
    /// Memo tables of shortest completions.
    pub(super) completions: CompletionTables,
    pub(super) value_escapes: Option<ValueEscapes>,
    /// Memo tables of completions in grammars with values.
    pub(super) value_completions: ValueCompletions,
    /// Memo tables of the tokens that finish a text, where texts are bound to names.
    pub(super) finishing_tokens: FinishingTokens,
    /// Memo tables of sets with anonymous values.
    pub(super) anonymous: AnonymousSets,
    /// The continuations of all sets, one list after the other.
    pub(super) set_parts: Vec<ContinuationId>,
    /// Interning table of sets, by core and continuations.
    set_ids: IncrementalHashTable,
    /// Memory of the sets, in bytes.
    set_bytes: usize,
    /// Runs of several bytes whose intermediate sets were skipped: the set, and the class of the first byte.
    runs: FxHashSet<(SetId, u32)>,
    pub(super) limits: Limits,
    /// Scratch: continuations of the next set.
    next: Vec<ContinuationId>,
    /// Scratch, for each step inside another: the items of the set that it leaves, and the kernel that it reaches.
    scratch: Vec<(Vec<Item>, Kernel)>,
}

impl Builder {
    /// A builder without sets.
    pub(super) fn new(
        form: Arc<NormalForm>,
        stepper: Stepper,
        remembered: Remembered,
        limits: &Limits,
    ) -> Self {
        Self {
            form,
            stepper,
            continuations: Continuations::default(),
            traces: Traces::default(),
            remembered,
            completions: CompletionTables::default(),
            value_escapes: None,
            value_completions: ValueCompletions::default(),
            finishing_tokens: FinishingTokens::default(),
            anonymous: AnonymousSets::default(),
            set_parts: Vec::new(),
            set_ids: IncrementalHashTable::default(),
            set_bytes: 0,
            runs: FxHashSet::default(),
            limits: limits.clone(),
            next: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Memoises a transition of a set.
    pub(super) fn memoise(&mut self, recognizer: &Recognizer, set: &Set, class: usize, next: Option<SetId>) {
        self.set_bytes += set.memoise(class, next.map(SetId::index), recognizer.end_class(set) + 1);
    }

    pub(super) fn total_memory(&self) -> usize {
        self.set_bytes
            + self.form.memory_bytes()
            + self.set_parts.capacity() * size_of::<ContinuationId>()
            + self.set_ids.memory_bytes()
            + self.runs.capacity() * (size_of::<(SetId, u32)>() + 1)
            + self.stepper.memory_bytes()
            + self.continuations.memory_bytes()
            + self.traces.memory_bytes()
            + self.remembered.memory_bytes()
            + self.completions.memory_bytes()
            + self.value_completions.memory_bytes()
            + self.finishing_tokens.memory_bytes()
            + self.anonymous.memory_bytes()
    }

    /// The continuations of a set, in the order in which its core numbers them.
    pub(super) fn parts(&self, set: &Set) -> &[ContinuationId] {
        &self.set_parts[set.data.first()..][..self.continuations.cores.get(set.data.core()).count]
    }

    /// The items of a set, sorted.
    pub(super) fn items(&self, set: &Set) -> Vec<Item> {
        self.continuations.cores.get(set.data.core()).items_with(self.parts(set)).collect()
    }

    /// The items of a set before or inside a terminal, predicted ones included.
    pub(super) fn scans(&mut self, recognizer: &Recognizer, set: SetId) -> Result<Vec<Item>, LimitExceeded> {
        let items = self.items(recognizer.set(set));
        let mut scans = Vec::new();
        self.stepper.scans(&recognizer.form, &items, None, &mut self.continuations, &mut scans)?;
        Ok(scans)
    }

    pub(super) fn token_matches(
        &mut self,
        recognizer: &Recognizer,
        set: SetId,
    ) -> Result<Vec<TokenMatch>, LimitExceeded> {
        if !recognizer.names_tokens {
            return Ok(Vec::new());
        }
        let scans = self.scans(recognizer, set)?.into_iter();
        let tokens = scans.filter(|item| item.state == ItemState::TOKEN);
        Ok(tokens.filter_map(|item| recognizer.token_match(item).cloned()).collect())
    }

    /// The set after several bytes inside a keyword of a long list or a value, and their number, without the
    /// intermediate sets, which are needed again only if another token ends there. `None` if the shortcut does not apply,
    /// or was taken before from this set: then the intermediate sets are created, so that later reads are lookups.
    pub(super) fn run(
        &mut self,
        recognizer: &Recognizer,
        id: SetId,
        class: usize,
        bytes: &[u8],
    ) -> Result<Option<(SetId, usize)>, LimitExceeded> {
        let set = recognizer.set(id);
        let core = self.continuations.cores.get(set.data.core());
        if bytes.len() < 2 || core.items.len() != 1 || core.is_frequent() || self.has_scarce_values() {
            return Ok(None);
        }
        let Some(item) = core.items_with(self.parts(set)).next() else { return Ok(None) };
        let first = (id, index_u32(class));
        if self.runs.contains(&first) {
            return Ok(None);
        }
        let (items, mut kernel) = self.scratch.pop().unwrap_or_default();
        kernel.clear();
        let bytes_read = match item.state.is_in_value() {
            true => self.run_value(recognizer, item, bytes, &mut kernel)?,
            false => {
                let continuations = &mut self.continuations;
                let is_run = self.stepper.run(&recognizer.form, item, bytes, continuations, &mut kernel)?;
                if is_run { bytes.len() } else { 0 }
            }
        };
        let next = match bytes_read {
            0 => None,
            _ => self.intern_live(&recognizer.sets, &mut kernel)?,
        };
        if next.is_some() {
            self.runs.insert(first);
        }
        self.scratch.push((items, kernel));
        Ok(next.map(|next| (next, bytes_read)))
    }

    /// The set after a byte, by a trace if one applies.
    pub(super) fn step(
        &mut self,
        recognizer: &Recognizer,
        set: &Set,
        byte: ByteWithClass,
    ) -> Result<Option<SetId>, LimitExceeded> {
        let core = self.continuations.cores.get(set.data.core());
        if !core.is_frequent() || self.has_scarce_values() {
            return self.step_set(recognizer, set, byte);
        }
        let parts = &self.set_parts[set.data.first()..][..core.count];
        let key = TraceKey { core: set.data.core(), class: index_u32(byte.class) };
        match self.traces.replay(key, parts, &mut self.continuations, &mut self.next)? {
            Replay::Set(core) => {
                let parts = std::mem::take(&mut self.next);
                let next = self.intern_parts(&recognizer.sets, core, &parts);
                self.next = parts;
                next.map(Some)
            }
            Replay::Kernel(mut kernel) => self.intern(&recognizer.sets, &mut kernel).map(Some),
            Replay::Dead => Ok(None),
            Replay::None => self.step_set(recognizer, set, byte),
            Replay::Unknown => {
                let numbered = self.continuations.cores.get(set.data.core()).items_with_numbers();
                let mut recording = Recorder::new(&mut self.continuations, parts);
                let mut recorded = Kernel::default();
                self.stepper.step(&recognizer.form, &numbered, byte, &mut recording, &mut recorded)?;
                if !self.stepper.value_items.is_empty() {
                    self.traces.exclude(key);
                    return self.step_set(recognizer, set, byte);
                }
                let mut kernel = recording.resolve(&recorded);
                self.traces.record(key, recording, &recorded);
                self.intern_live(&recognizer.sets, &mut kernel)
            }
        }
    }

    /// The set after a byte, computed.
    pub(super) fn step_set(
        &mut self,
        recognizer: &Recognizer,
        set: &Set,
        byte: ByteWithClass,
    ) -> Result<Option<SetId>, LimitExceeded> {
        let (mut items, mut kernel) = self.scratch.pop().unwrap_or_default();
        items.clear();
        let core = self.continuations.cores.get(set.data.core());
        items.extend(core.items_with(self.parts(set)));
        kernel.clear();
        let continuations = &mut self.continuations;
        self.stepper.step(&recognizer.form, &items, byte, continuations, &mut kernel)?;
        if !self.stepper.value_items.is_empty() {
            self.step_values(recognizer, byte, &mut kernel)?;
        }
        if self.has_scarce_values() {
            self.retain_viable(recognizer, &mut kernel)?;
        }
        let next = self.intern_live(&recognizer.sets, &mut kernel);
        self.scratch.push((items, kernel));
        next
    }

    pub(super) fn intern_live(
        &mut self,
        sets: &Sets,
        kernel: &mut Kernel,
    ) -> Result<Option<SetId>, LimitExceeded> {
        if kernel.is_dead() { Ok(None) } else { self.intern(sets, kernel).map(Some) }
    }

    pub(super) fn intern(&mut self, sets: &Sets, kernel: &mut Kernel) -> Result<SetId, LimitExceeded> {
        kernel.normalize();
        if kernel.items.len() > self.limits.set_items {
            return Err(LimitExceeded::new("set_items", self.limits.set_items));
        }
        let (core, of_core) = intern_kernel(&mut self.continuations.cores, kernel);
        let mut parts = std::mem::take(&mut self.next);
        parts.clear();
        parts.extend_from_slice(of_core);
        let id = self.intern_parts(sets, core, &parts);
        self.next = parts;
        id
    }

    /// Interns the set with a core and continuations.
    fn intern_parts(
        &mut self,
        sets: &Sets,
        core: CoreId,
        parts: &[ContinuationId],
    ) -> Result<SetId, LimitExceeded> {
        let hash = hash_of(core, parts);
        let interned = self.set_ids.find(hash, |id| {
            let set = sets.get(id);
            set.data.core() == core && self.set_parts[set.data.first()..][..parts.len()] == *parts
        });
        if let Some(id) = interned {
            return Ok(SetId::new(id));
        }
        // Summing up the memory of all parts takes as long as creating a small set.
        if sets.len().is_multiple_of(SETS_PER_MEMORY_CHECK) && self.total_memory() > self.limits.memory_bytes
        {
            return Err(LimitExceeded::new("memory_bytes", self.limits.memory_bytes));
        }
        let of_core = self.continuations.cores.share(core);
        let id = set::push(sets, core, index_u32(self.set_parts.len()), of_core);
        self.set_ids.insert(hash, id.index());
        self.set_parts.extend_from_slice(parts);
        self.set_bytes += Sets::STATE_BYTES;
        Ok(id)
    }
}
