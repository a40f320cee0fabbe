//! The regular languages of one translation: string and number sets, and decisions about them.

use std::sync::{LazyLock, Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::numbers::NumberSet;
use crate::strings::string_encoding::{EncodingKind, StringEncoding};
use crate::values::excluded_words::ExcludedWords;
use crate::values::joint_membership::KnownMemberships;
use crate::values::name_counts::NameCounts;
use crate::{Numbers, SchemaOptions};
use grammask_automata::{Automata, StateId, TermId, Terms};
use grammask_diagnostics::{LimitExceeded, Limits};

/// A set of strings, as languages of their encodings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StringSet {
    /// Encodings of strings inside.
    pub(crate) yes: TermId,
    /// Encodings of strings outside.
    pub(crate) no: TermId,
}

impl StringSet {
    /// The strings outside the set.
    pub(crate) fn complement(self) -> Self {
        Self { yes: self.no, no: self.yes }
    }
}

/// The term arena with its automata, and the encoding of strings.
pub(crate) struct ScalarLanguages {
    pub(crate) automata: Automata,
    pub(crate) encoding: StringEncoding,
    pub(crate) excluded_words: ExcludedWords,
    pub(crate) any_number: NumberSet,
    pub(crate) any_string: StringSet,
    numbers: Numbers,
    /// Pairs of languages, in ascending order, that have all strings between them: sets of strings that are decided by
    /// their construction.
    complementary: FxHashSet<[TermId; 2]>,
    /// Memo table of [`Self::near_word`].
    near_words: FxHashMap<TermId, Option<Box<[u8]>>>,
    /// For [`Self::known_membership`].
    pub(crate) memberships: KnownMemberships,
    /// Memo table of translated patterns by source; `None` if the pattern has a finding.
    pub(crate) patterns: FxHashMap<Box<str>, Option<TermId>>,
    /// For [`Self::name_count`] and [`Self::list_names`].
    pub(crate) name_counts: NameCounts,
}

/// Bound on the states of the automaton of one encoded character.
const MAX_CHARACTER_STATES: usize = 1024;

/// Number of states in which a word is looked for.
const MAX_NEAR_STATES: usize = 256;

/// The initial terms of every translation with one string encoding, computed once per process: they cost more than the
/// translation of a small schema.
#[derive(Clone)]
struct InitialTerms {
    terms: Terms,
    encoding: StringEncoding,
    any_number: NumberSet,
    any_string: StringSet,
}

impl InitialTerms {
    fn of(kind: EncodingKind, numbers: Numbers) -> Self {
        static CACHE: LazyLock<Mutex<FxHashMap<(EncodingKind, Numbers), InitialTerms>>> =
            LazyLock::new(Mutex::default);
        // A panic while the lock is held leaves the map consistent.
        let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let mut terms = Terms::new();
            let mut encoding = StringEncoding::within(kind);
            let texts = encoding.texts(&mut terms);
            let character = encoding.any(&mut terms);
            let is_prefix_code = Automata::new(terms.clone(), MAX_CHARACTER_STATES)
                .is_prefix_code(character, MAX_CHARACTER_STATES);
            if is_prefix_code == Ok(true) {
                terms.record_prefix_code(character);
            }
            let any_number = NumberSet::any(&mut terms, numbers);
            let any_string = StringSet { yes: texts, no: terms.nothing() };
            Self { terms, encoding, any_number, any_string }
        };
        cache.entry((kind, numbers)).or_insert_with(make).clone()
    }
}

impl ScalarLanguages {
    /// Strings are encoded as `kind` says, numbers as the options say.
    pub(crate) fn new(kind: EncodingKind, options: &SchemaOptions, limits: &Limits) -> Self {
        let InitialTerms { mut terms, encoding, any_number, any_string } =
            InitialTerms::of(kind, options.numbers);
        let excluded_words = ExcludedWords::new(&mut terms, &options.excludes);
        Self {
            // Searches for a word of an intersection dominate the cost of states, hence a quarter of the limit.
            automata: Automata::new(terms, limits.automaton_states / 4),
            encoding,
            excluded_words,
            any_number,
            any_string,
            numbers: options.numbers,
            complementary: FxHashSet::default(),
            near_words: FxHashMap::default(),
            memberships: KnownMemberships::default(),
            patterns: FxHashMap::default(),
            name_counts: NameCounts::default(),
        }
    }

    /// Whether two languages have no word in common.
    pub(crate) fn are_disjoint(&mut self, a: TermId, b: TermId) -> Result<bool, LimitExceeded> {
        let terms = self.automata.terms_mut();
        // Two different words are equal in no state, however long their common beginning is.
        if a != b && terms.word(a).is_some() && terms.word(b).is_some() {
            return Ok(true);
        }
        let common = terms.intersection(&[a, b]);
        // Mostly the languages are disjoint without their maxima, and a search does not count characters.
        if let Some((wider, _)) = self.automata.terms_mut().without_large_maxima(common, 1)
            && self.automata.start(wider)?.is_none()
        {
            return Ok(true);
        }
        self.is_empty(common)
    }

    /// Whether a language has no word.
    pub(crate) fn is_empty(&mut self, term: TermId) -> Result<bool, LimitExceeded> {
        Ok(self.inhabited(term)?.is_none())
    }

    /// A language that has a word; `None` if it is empty. An intersection with a single word is that word: an automaton
    /// of the other operands would be made again for each word.
    pub(crate) fn inhabited(&mut self, term: TermId) -> Result<Option<TermId>, LimitExceeded> {
        // The states of the other operands are shared by many words.
        let terms = self.automata.terms();
        let operands = terms.intersected(term);
        let word =
            operands.iter().enumerate().find_map(|(index, &operand)| Some((index, terms.word(operand)?)));
        let Some((of_word, word)) = word else { return Ok(self.automata.start(term)?.map(|_| term)) };
        let mut others = operands.to_vec();
        let only = others.swap_remove(of_word);
        for other in others {
            if !self.has_word(other, &word)? {
                return Ok(None);
            }
        }
        Ok(Some(only))
    }

    /// Whether a language has a word.
    pub(crate) fn has_word(&mut self, term: TermId, word: &[u8]) -> Result<bool, LimitExceeded> {
        let Some(mut state) = self.automata.start(term)? else { return Ok(false) };
        for &byte in word {
            match self.automata.step(state, byte)? {
                Some(next) => state = next,
                None => return Ok(false),
            }
        }
        Ok(self.automata.is_accepting(state))
    }

    /// Some word of a language, if one is found among the states near its start; memoised.
    pub(crate) fn near_word(&mut self, term: TermId) -> Result<Option<Box<[u8]>>, LimitExceeded> {
        if let Some(cached) = self.near_words.get(&term) {
            return Ok(cached.clone());
        }
        let word = self.find_near_word(term)?;
        self.near_words.insert(term, word.clone());
        Ok(word)
    }

    fn find_near_word(&mut self, term: TermId) -> Result<Option<Box<[u8]>>, LimitExceeded> {
        /// A state in order of discovery, with the position of its predecessor and the byte between them.
        struct NearState {
            state: StateId,
            predecessor: usize,
            byte: u8,
        }
        let Some(start) = self.automata.start(term)? else { return Ok(None) };
        let mut discovered = vec![NearState { state: start, predecessor: 0, byte: 0 }];
        let mut visited = FxHashSet::from_iter([start]);
        // Depth first: a list of words is deep and wide.
        let mut stack = vec![0];
        while let Some(mut at) = stack.pop() {
            let state = discovered[at].state;
            if self.automata.is_accepting(state) {
                let mut word = Vec::new();
                while at > 0 {
                    word.push(discovered[at].byte);
                    at = discovered[at].predecessor;
                }
                word.reverse();
                return Ok(Some(word.into()));
            }
            for (bytes, target) in self.automata.successors(state)? {
                let Some(byte) = bytes.iter().next() else { continue };
                if visited.len() < MAX_NEAR_STATES && visited.insert(target) {
                    stack.push(discovered.len());
                    discovered.push(NearState { state: target, predecessor: at, byte });
                }
            }
        }
        Ok(None)
    }

    /// Whether all strings of `part` are surely in `whole`.
    pub(crate) fn is_string_subset(
        &mut self,
        part: StringSet,
        whole: StringSet,
    ) -> Result<bool, LimitExceeded> {
        if !self.is_decided_by_form(whole) {
            return self.is_subset(part.yes, whole.yes);
        }
        Ok(!self.has_near_word_outside(part.yes, whole.yes)? && self.are_disjoint(part.yes, whole.no)?)
    }

    /// Whether a language surely has a word outside of another one: most languages that are not a subset differ in the
    /// first word that is found.
    fn has_near_word_outside(&mut self, part: TermId, whole: TermId) -> Result<bool, LimitExceeded> {
        Ok(part != whole
            && match self.near_word(part)? {
                Some(word) => !self.has_word(whole, &word)?,
                None => false,
            })
    }

    /// Whether all words of `part` are in `whole`.
    pub(crate) fn is_subset(&mut self, part: TermId, whole: TermId) -> Result<bool, LimitExceeded> {
        if part == whole {
            return Ok(true);
        }
        if self.has_near_word_outside(part, whole)? {
            return Ok(false);
        }
        if self.is_empty(part)? {
            return Ok(true);
        }
        let outside = self.encoding.outside(self.automata.terms_mut(), whole);
        self.are_disjoint(part, outside)
    }

    /// The numbers in every one of `sets`; the full and the empty set add no term.
    ///
    /// All operands at once: pairs would make n terms of up to n operands.
    pub(crate) fn intersect_numbers(&mut self, sets: impl IntoIterator<Item = NumberSet>) -> NumberSet {
        let none = NumberSet::not(self.any_number);
        let mut parts: Vec<NumberSet> = Vec::new();
        for set in sets {
            if set == none {
                return none;
            }
            if set != self.any_number && parts.last() != Some(&set) {
                parts.push(set);
            }
        }
        match parts[..] {
            [] => self.any_number,
            [only] => only,
            _ => NumberSet::intersection(self.automata.terms_mut(), &parts),
        }
    }

    /// The numbers in at least one of `sets`.
    pub(crate) fn unite_numbers(&mut self, sets: impl IntoIterator<Item = NumberSet>) -> NumberSet {
        NumberSet::not(self.intersect_numbers(sets.into_iter().map(NumberSet::not)))
    }

    /// The texts of a nonempty set of numbers.
    pub(crate) fn number_texts(&mut self, set: NumberSet) -> Result<TermId, LimitExceeded> {
        if self.numbers != Numbers::Natural {
            return Ok(set.yes);
        }
        let mut digits = Some(set.digits);
        while let Some(bound) = digits {
            let texts = set.natural_texts(self.automata.terms_mut(), bound);
            if !self.is_empty(texts)? {
                return Ok(texts);
            }
            digits = bound.doubled();
        }
        Ok(set.yes)
    }

    /// The strings in every one of `sets`; the full and the empty set add no term.
    ///
    /// All operands at once: a `oneOf` of n constants has n intersections of n sets.
    pub(crate) fn intersect_strings(&mut self, sets: impl Iterator<Item = StringSet>) -> StringSet {
        let none = self.any_string.complement();
        let mut parts: Vec<StringSet> = Vec::new();
        for set in sets {
            if set == none {
                return none;
            }
            if set != self.any_string && parts.last() != Some(&set) {
                parts.push(set);
            }
        }
        match parts[..] {
            [] => return self.any_string,
            [only] => return only,
            _ => {}
        }
        let is_decided = parts.iter().all(|&set| self.is_decided_by_form(set));
        let [inside, outside] = [|set: &StringSet| set.yes, |set: &StringSet| set.no]
            .map(|side| parts.iter().map(side).collect::<Vec<_>>());
        let terms = self.automata.terms_mut();
        let all = StringSet { yes: terms.intersection(&inside), no: terms.union(&outside) };
        if is_decided {
            self.complementary.insert(pair_of(all));
        }
        all
    }

    /// Whether each string is in the set or outside by the construction of the set.
    fn is_decided_by_form(&self, string: StringSet) -> bool {
        string == self.any_string
            || string == self.any_string.complement()
            || self.complementary.contains(&pair_of(string))
    }

    /// Whether each text of a number or string is surely in the set or surely outside.
    pub(crate) fn is_decided(&mut self, number: NumberSet, string: StringSet) -> Result<bool, LimitExceeded> {
        let any_number = number == self.any_number || number == NumberSet::not(self.any_number);
        let any_string = self.is_decided_by_form(string);
        let all = [
            (self.any_number.yes, number.yes, number.no, any_number),
            (self.any_string.yes, string.yes, string.no, any_string),
        ];
        for (all, yes, no, is_trivial) in all {
            if is_trivial {
                continue;
            }
            let terms = self.automata.terms_mut();
            let outside = [yes, no].map(|part| self.encoding.outside(terms, part));
            let undecided = terms.intersection(&[all, outside[0], outside[1]]);
            if !self.is_empty(undecided)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The decided set of the strings encoded by `yes`.
    pub(crate) fn string_set(&mut self, yes: TermId) -> StringSet {
        let string = StringSet { yes, no: self.encoding.complement(self.automata.terms_mut(), yes) };
        self.complementary.insert(pair_of(string));
        string
    }

    /// Numbers that are all undecided, for a constraint that is not enforced: its negation is not enforced either.
    pub(crate) fn undecided_numbers(&self) -> NumberSet {
        NumberSet { no: self.any_number.yes, ..self.any_number }
    }
}

/// The languages of a set of strings, in ascending order.
fn pair_of(string: StringSet) -> [TermId; 2] {
    [string.yes.min(string.no), string.yes.max(string.no)]
}
