//! Pass: small regular parts of the grammar become single terminals, because a DFA is cheaper than a parser.
//!
//! Punctuation with the white space around it, alternative keywords, and number literals each become one terminal.
//! Terminals with a wide loop (the body of a string, free text) are never merged with their neighbours: their language
//! must remain the same in all grammars, so that these share its summaries.
//!
//! ```text
//! pair ::= ws ":" ws value; ws ::= space*; space ::= " " | "\n";
//! ```
//! has one terminal for `ws ":" ws`, written `ws ":" ws`. Cost: the derivatives of at most [`MAX_SMALL_STATES`]
//! states per merged part; the results are memoised by content hash, for all grammars of the process.

use std::collections::BinaryHeap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use grammask_automata::{ByteSet, StateId, TermId};
use grammask_collections::graph::strongly_connected_components;
use grammask_diagnostics::LimitExceeded;
use grammask_grammar::{Terminal, TerminalId};

use super::merged_parts::{Merge, MergedPart};
use super::productions::{Body, Productions, Symbol};
use super::split_counters::is_counted;

/// Maximum number of states of a small automaton.
const MAX_SMALL_STATES: usize = 32;
/// Minimum number of bytes that continue a wide state. A loop through a wide state is free text rather than
/// punctuation.
const MIN_WIDE_BYTES: usize = 96;
/// Maximum bound of a repetition that is unrolled into an automaton. Copies of larger ones are counted.
const MAX_UNROLLED_COPIES: u32 = 8;

/// Maximum number of entries in the memo table of weights, which is cleared when it is full.
const MAX_MEMOISED: usize = 1 << 14;

/// Weights by content hash.
type WeightTable = FxHashMap<u128, Weight>;

/// The memo table of weights of this process.
fn memoised_weights() -> MutexGuard<'static, WeightTable> {
    static WEIGHTS: LazyLock<Mutex<WeightTable>> = LazyLock::new(Mutex::default);
    // Entries are inserted whole, so a panic in a holder of the lock leaves the table consistent.
    WEIGHTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Classification of a terminal's language, which decides whether it is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    /// A small automaton without a wide loop, which is merged with its neighbours.
    Small(Profile),
    /// Another regular language, which is not merged.
    Large,
    /// Not a plain regular language: references to tokens, and text with a limit on tokens.
    Opaque,
}

impl Weight {
    fn is_small(self) -> bool {
        matches!(self, Self::Small(_))
    }
}

/// Facts about a small automaton, from which those of most merged automata follow without constructing them: if one
/// byte distinguishes the languages, the merged automaton consists of the automata of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Profile {
    /// Upper bound of the number of states.
    states: usize,
    /// First bytes of words.
    first: ByteSet,
    /// Bytes that extend a word to a prefix of another.
    exits: ByteSet,
    is_nullable: bool,
    /// Whether some state is wide.
    has_wide: bool,
}

/// The profile of a combination of languages, as far as it follows from theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CombinedProfile {
    Small(Profile),
    /// The parts together have too many states.
    Large,
    /// The parts overlap, so the automaton must be constructed.
    Undetermined,
}

impl CombinedProfile {
    fn small(self) -> Option<Profile> {
        if let Self::Small(profile) = self { Some(profile) } else { None }
    }
}

impl Profile {
    fn of_literal(bytes: &[u8]) -> Self {
        Self {
            states: bytes.len() + 1,
            first: bytes.first().map_or(ByteSet::EMPTY, |&byte| ByteSet::single(byte)),
            exits: ByteSet::EMPTY,
            is_nullable: bytes.is_empty(),
            has_wide: false,
        }
    }

    /// The profile of the concatenation.
    fn then(self, next: Self) -> CombinedProfile {
        // If no word extends another, the final states are merged with the next start state.
        let shared = usize::from(self.exits.is_empty());
        let states = self.states + next.states - shared;
        if states > MAX_SMALL_STATES {
            return CombinedProfile::Large;
        }
        if !self.exits.intersection(next.first).is_empty() {
            return CombinedProfile::Undetermined;
        }
        let reached = |own: ByteSet, skips: bool, other: ByteSet| if skips { own.union(other) } else { own };
        CombinedProfile::Small(Self {
            states,
            first: reached(self.first, self.is_nullable, next.first),
            exits: reached(next.exits, next.is_nullable, self.exits.union(next.first)),
            is_nullable: self.is_nullable && next.is_nullable,
            has_wide: self.has_wide || next.has_wide,
        })
    }

    /// The profile of the union.
    fn or(self, other: Self) -> CombinedProfile {
        let states = self.states + other.states;
        if !self.first.intersection(other.first).is_empty() {
            // Common prefixes share states.
            return CombinedProfile::Undetermined;
        }
        if states > MAX_SMALL_STATES {
            return CombinedProfile::Large;
        }
        let first = self.first.union(other.first);
        let is_nullable = self.is_nullable || other.is_nullable;
        let exits = self.exits.union(other.exits);
        CombinedProfile::Small(Self {
            states,
            first,
            exits: if is_nullable { exits.union(first) } else { exits },
            is_nullable,
            has_wide: self.has_wide || other.has_wide || first.len() >= MIN_WIDE_BYTES,
        })
    }

    /// The profile of any number of copies, if it follows from that of one.
    fn repeated(self) -> Option<Self> {
        (!self.has_wide && self.exits.intersection(self.first).is_empty()).then(|| Self {
            exits: self.exits.union(self.first),
            is_nullable: true,
            ..self
        })
    }
}

/// Merges small regular parts.
///
/// # Errors
/// When an automaton exceeds the limit on states.
pub fn merge_regular_parts(productions: &mut Productions) -> Result<(), LimitExceeded> {
    let mut merger = RegularPartMerger {
        weights: Vec::new(),
        classified: FxHashMap::default(),
        folded: vec![None; productions.rules.len()],
        productions,
    };
    let reached = merger.productions.reachable();
    for index in merger.productions.bottom_up().into_iter().filter(|&index| reached[index]) {
        merger.substitute_folded(index);
        merger.merge_neighbours(index)?;
        merger.merge_alternatives(index)?;
        merger.fold(index)?;
    }
    // Rules in cycles were visited before all of their symbols were folded.
    for index in 0..merger.productions.rules.len() {
        merger.substitute_folded(index);
        merger.merge_neighbours(index)?;
    }
    super::drop_useless::drop_unreachable(productions);
    Ok(())
}

struct RegularPartMerger<'a> {
    productions: &'a mut Productions,
    /// Memoised weight of each terminal.
    weights: Vec<Option<Weight>>,
    /// Memoised weight of each language whose automaton was constructed.
    classified: FxHashMap<TermId, Weight>,
    /// The terminal that replaces each nonterminal.
    folded: Vec<Option<TerminalId>>,
}

impl RegularPartMerger<'_> {
    fn substitute_folded(&mut self, index: usize) {
        let folded = &self.folded;
        self.productions.rules[index].body.map(|symbol| match symbol {
            Symbol::Nonterminal(id) => folded[id.index()].map_or(symbol, Symbol::Terminal),
            Symbol::Terminal(_) => symbol,
        });
    }

    /// Merges adjacent small terminals.
    fn merge_neighbours(&mut self, index: usize) -> Result<(), LimitExceeded> {
        let Body::Alternatives(mut alternatives) = self.take_body(index) else { return Ok(()) };
        for symbols in &mut alternatives {
            // `symbols[..merged]` are the results so far.
            let mut merged = 0_usize;
            for next in 0..symbols.len() {
                let last = merged.checked_sub(1).map(|last| symbols[last]);
                let joined = match (last, symbols[next]) {
                    (Some(Symbol::Terminal(left)), Symbol::Terminal(right)) => self.join(left, right)?,
                    _ => None,
                };
                match joined {
                    Some(joined) => symbols[merged - 1] = Symbol::Terminal(joined),
                    None => {
                        symbols[merged] = symbols[next];
                        merged += 1;
                    }
                }
            }
            symbols.truncate(merged);
        }
        self.productions.rules[index].body = Body::Alternatives(alternatives);
        Ok(())
    }

    /// Merges the alternatives that consist of one small terminal each; literals become a trie.
    fn merge_alternatives(&mut self, index: usize) -> Result<(), LimitExceeded> {
        let Body::Alternatives(alternatives) = self.take_body(index) else { return Ok(()) };
        let mut words: Vec<TerminalId> = Vec::new();
        let mut small: Vec<TerminalId> = Vec::new();
        let mut others: Vec<Vec<Symbol>> = Vec::new();
        for symbols in alternatives {
            match symbols[..] {
                [Symbol::Terminal(id)] if self.literal(id).is_some() => words.push(id),
                [Symbol::Terminal(id)] if self.weight(id)?.is_small() => small.push(id),
                _ => others.push(symbols),
            }
        }
        let mut merged = Vec::new();
        if words.len() + small.len() > 1 {
            let label: Vec<Arc<str>> = words
                .iter()
                .chain(&small)
                .map(|id| self.productions.terminals[id.index()].label.clone())
                .collect();
            let set: Vec<Box<[u8]>> =
                words.iter().filter_map(|&id| self.literal(id).map(Into::into)).collect();
            let profile = self.profile_of_union(words.iter().chain(&small).copied())?.small();
            let terms = self.productions.automata.terms_mut();
            let mut parts = vec![terms.literals(&set)];
            parts.extend(small.iter().filter_map(|&id| self.term(id)));
            let term = self.productions.automata.terms_mut().union(&parts);
            let (words_label, words_term) = (join_labels(&label[..words.len()], " | "), parts[0]);
            let all_words = MergedPart { term: words_term, label: words_label.into() };
            self.record_alternatives(term, (!words.is_empty()).then_some(all_words), &small);
            let terminal = self.add(term, profile, &format!("({})", join_labels(&label, " | ")));
            merged.push(vec![Symbol::Terminal(terminal)]);
        } else {
            merged.extend(words.into_iter().chain(small).map(|id| vec![Symbol::Terminal(id)]));
        }
        merged.append(&mut others);
        self.productions.rules[index].body = Body::Alternatives(merged);
        Ok(())
    }

    /// Replaces a rule by a terminal if it consists of one terminal, the empty text, or a repetition of a terminal.
    fn fold(&mut self, index: usize) -> Result<(), LimitExceeded> {
        let rule = &self.productions.rules[index];
        let user_name = rule.is_named_by_user().then(|| rule.name.clone());
        let (term, profile) = match &rule.body {
            Body::Repeat { symbol: Symbol::Terminal(id), min, max } => {
                let (id, min, max) = (*id, *min, *max);
                let weight = self.weight(id)?;
                if min.max(max.unwrap_or(0)) > MAX_UNROLLED_COPIES || weight == Weight::Opaque {
                    return Ok(());
                }
                let Some(inner) = self.term(id) else { return Ok(()) };
                if is_counted(&mut self.productions.automata, inner, min, max)? {
                    return Ok(());
                }
                let profile = match (weight, min, max) {
                    (Weight::Small(profile), 0, None) => profile.repeated(),
                    (Weight::Small(profile), 0, Some(1)) => profile.or(Profile::of_literal(b"")).small(),
                    _ => None,
                };
                (self.productions.automata.terms_mut().repeat(inner, min, max), profile)
            }
            Body::Repeat { .. } | Body::Selection { .. } | Body::Scope(_) | Body::Value { .. } => {
                return Ok(());
            }
            Body::Alternatives(alternatives) => {
                let mut parts = Vec::new();
                let mut has_empty = false;
                for symbols in alternatives {
                    match symbols[..] {
                        [] => has_empty = true,
                        [Symbol::Terminal(id)] => parts.push(id),
                        _ => return Ok(()),
                    }
                }
                match (&parts[..], has_empty) {
                    ([], _) => return Ok(()),
                    (&[only], false) => {
                        self.folded[index] = Some(only);
                        return Ok(());
                    }
                    _ => {}
                }
                let Some(folded) = self.union(&parts, has_empty)? else { return Ok(()) };
                folded
            }
        };
        if user_name.is_none() {
            self.record_folded(index, term);
        }
        let label = user_name.unwrap_or_else(|| self.body_label(index).into());
        self.folded[index] = Some(self.add(term, profile, &label));
        Ok(())
    }

    /// The union of terminals, if there is one of them, or their union is small.
    fn union(
        &mut self,
        ids: &[TerminalId],
        has_empty: bool,
    ) -> Result<Option<(TermId, Option<Profile>)>, LimitExceeded> {
        let mut parts = Vec::new();
        for &id in ids {
            if self.weight(id)? == Weight::Opaque {
                return Ok(None);
            }
            parts.extend(self.term(id));
        }
        let combined = self.profile_of_union(ids.iter().copied())?;
        let profile = combined.small();
        if profile.is_none() && parts.len() > 1 {
            let union = self.productions.automata.terms_mut().union(&parts);
            if combined == CombinedProfile::Large || !self.term_weight(union)?.is_small() {
                return Ok(None);
            }
        }
        let empty = if has_empty {
            parts.push(self.productions.automata.terms().epsilon());
            Some(Profile::of_literal(b""))
        } else {
            None
        };
        let profile = match (profile, empty) {
            (Some(profile), Some(empty)) => profile.or(empty).small(),
            (profile, _) => profile,
        };
        Ok(Some((self.productions.automata.terms_mut().union(&parts), profile)))
    }

    /// The profile of the union of terminals.
    fn profile_of_union(
        &mut self,
        ids: impl Iterator<Item = TerminalId>,
    ) -> Result<CombinedProfile, LimitExceeded> {
        let mut union: Option<Profile> = None;
        for id in ids {
            let Weight::Small(profile) = self.weight(id)? else { return Ok(CombinedProfile::Undetermined) };
            union = match union {
                None => Some(profile),
                Some(union) => match union.or(profile) {
                    CombinedProfile::Small(union) => Some(union),
                    combined => return Ok(combined),
                },
            };
        }
        Ok(union.map_or(CombinedProfile::Undetermined, CombinedProfile::Small))
    }

    /// The body of a generated rule as text, for the label of its terminal.
    fn body_label(&self, index: usize) -> String {
        match &self.productions.rules[index].body {
            Body::Repeat { symbol, min, max } => {
                let inner = self.productions.symbol_name(*symbol);
                let suffix = grammask_grammar::repetition_suffix(*min, *max);
                if inner.contains(' ') && !inner.starts_with('(') {
                    format!("({inner}){suffix}")
                } else {
                    format!("{inner}{suffix}")
                }
            }
            Body::Selection { .. } | Body::Scope(_) | Body::Value { .. } => {
                self.productions.rules[index].name.to_string()
            }
            Body::Alternatives(alternatives) => {
                let has_empty = alternatives.iter().any(Vec::is_empty);
                let labels: Vec<Arc<str>> = alternatives
                    .iter()
                    .flatten()
                    .map(|&symbol| Arc::from(self.productions.symbol_name(symbol)))
                    .collect();
                let inner = join_labels(&labels, " | ");
                if has_empty { format!("({inner})?") } else { inner }
            }
        }
    }

    fn join(&mut self, left: TerminalId, right: TerminalId) -> Result<Option<TerminalId>, LimitExceeded> {
        let (Weight::Small(first), Weight::Small(second)) = (self.weight(left)?, self.weight(right)?) else {
            return Ok(None);
        };
        let (Some(left_term), Some(right_term)) = (self.term(left), self.term(right)) else {
            return Ok(None);
        };
        let combined = first.then(second);
        if combined == CombinedProfile::Large {
            return Ok(None);
        }
        let term = self.productions.automata.terms_mut().concat(&[left_term, right_term]);
        let profile = match combined {
            CombinedProfile::Small(profile) => profile,
            _ => match self.term_weight(term)? {
                Weight::Small(profile) => profile,
                _ => return Ok(None),
            },
        };
        let parts = [(left, left_term), (right, right_term)].map(|(id, term)| self.part(id, term));
        let label = join_labels(&parts.each_ref().map(|part| part.label.clone()), " ");
        self.productions.merges.record(term, Merge::Neighbours(parts));
        Ok(Some(self.add(term, Some(profile), &label)))
    }

    fn part(&self, id: TerminalId, term: TermId) -> MergedPart {
        MergedPart { term, label: self.productions.terminals[id.index()].label.clone() }
    }

    /// Records that a language is the union of a part and of the languages of terminals.
    fn record_alternatives(&mut self, term: TermId, part: Option<MergedPart>, ids: &[TerminalId]) {
        let mut parts: Vec<MergedPart> = part.into_iter().collect();
        for &id in ids {
            if let Some(inner) = self.term(id) {
                parts.push(self.part(id, inner));
            }
        }
        self.productions.merges.record(term, Merge::Alternatives(parts));
    }

    /// Records the alternatives of a rule that is replaced by a terminal.
    fn record_folded(&mut self, index: usize, term: TermId) {
        let body = &self.productions.rules[index].body;
        let has_empty = match body {
            Body::Repeat { min: 0, max: Some(1), .. } => true,
            Body::Alternatives(alternatives) => alternatives.iter().any(Vec::is_empty),
            _ => return,
        };
        let terminal = |symbol| match symbol {
            Symbol::Terminal(id) => Some(id),
            Symbol::Nonterminal(_) => None,
        };
        let ids: Vec<TerminalId> = body.symbols().filter_map(terminal).collect();
        let epsilon = self.productions.automata.terms().epsilon();
        let empty = has_empty.then(|| MergedPart { term: epsilon, label: Arc::from("") });
        self.record_alternatives(term, empty, &ids);
    }

    fn literal(&self, id: TerminalId) -> Option<&[u8]> {
        match &self.productions.terminals[id.index()].terminal {
            Terminal::Literal(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The language of a terminal, if it is a plain regular language.
    fn term(&mut self, id: TerminalId) -> Option<TermId> {
        match &self.productions.terminals[id.index()].terminal {
            Terminal::Literal(bytes) => Some(self.productions.automata.terms_mut().literal(bytes)),
            Terminal::Regular(term) => Some(*term),
            Terminal::Limited { .. }
            | Terminal::Token(_)
            | Terminal::AnyToken
            | Terminal::OneOf(_)
            | Terminal::Embedded { .. } => None,
        }
    }

    /// Adds a terminal, which is small if it has a profile.
    fn add(&mut self, term: TermId, profile: Option<Profile>, label: &str) -> TerminalId {
        let id = self.productions.add_terminal(Terminal::Regular(term), label.into());
        self.weights.resize(self.productions.terminals.len(), None);
        self.weights[id.index()] = profile.map(Weight::Small);
        id
    }

    fn take_body(&mut self, index: usize) -> Body {
        match &mut self.productions.rules[index].body {
            Body::Alternatives(alternatives) => Body::Alternatives(std::mem::take(alternatives)),
            other => other.clone(),
        }
    }

    fn weight(&mut self, id: TerminalId) -> Result<Weight, LimitExceeded> {
        self.weights.resize(self.productions.terminals.len(), None);
        if let Some(weight) = self.weights[id.index()] {
            return Ok(weight);
        }
        let weight = match &self.productions.terminals[id.index()].terminal {
            Terminal::Literal(bytes) if bytes.len() < MAX_SMALL_STATES => {
                Weight::Small(Profile::of_literal(bytes))
            }
            Terminal::Literal(_) => Weight::Large,
            Terminal::Regular(term) => self.term_weight(*term)?,
            Terminal::Limited { .. }
            | Terminal::Token(_)
            | Terminal::AnyToken
            | Terminal::OneOf(_)
            | Terminal::Embedded { .. } => Weight::Opaque,
        };
        self.weights[id.index()] = Some(weight);
        Ok(weight)
    }

    fn term_weight(&mut self, term: TermId) -> Result<Weight, LimitExceeded> {
        if let Some(&weight) = self.classified.get(&term) {
            return Ok(weight);
        }
        let hash = self.productions.automata.terms().content_hash(term);
        let memoised = memoised_weights().get(&hash).copied();
        let weight = match memoised {
            Some(weight) => weight,
            None => {
                let weight = self.classify(term)?;
                let mut weights = memoised_weights();
                if weights.len() >= MAX_MEMOISED {
                    weights.clear();
                }
                weights.insert(hash, weight);
                weight
            }
        };
        self.classified.insert(term, weight);
        Ok(weight)
    }

    /// Constructs the automaton of a language until it is too large or has a wide loop.
    fn classify(&mut self, term: TermId) -> Result<Weight, LimitExceeded> {
        let automata = &mut self.productions.automata;
        let Some(start) = automata.start(term)? else { return Ok(Weight::Small(Profile::of_literal(b""))) };
        let mut states: Vec<StateId> = vec![start];
        let mut successors: Vec<Vec<usize>> = vec![Vec::new()];
        let mut is_wide = vec![false];
        let mut profile = Profile { is_nullable: automata.is_accepting(start), ..Profile::of_literal(b"") };
        // The states after most bytes first: a wide loop decides at once.
        let mut unvisited = BinaryHeap::from([(0, 0)]);
        while let Some((_, index)) = unvisited.pop() {
            let state = states[index];
            let mut next_bytes = ByteSet::EMPTY;
            for (bytes, target) in automata.successors(state)? {
                next_bytes = next_bytes.union(bytes);
                let visited = states.iter().position(|&state| state == target);
                successors[index].push(visited.unwrap_or(states.len()));
                if visited.is_none() {
                    unvisited.push((bytes.len(), states.len()));
                    states.push(target);
                    successors.push(Vec::new());
                    is_wide.push(false);
                }
            }
            if states.len() > MAX_SMALL_STATES {
                return Ok(Weight::Large);
            }
            if index == 0 {
                profile.first = next_bytes;
            }
            if automata.is_accepting(state) {
                profile.exits = profile.exits.union(next_bytes);
            }
            is_wide[index] = next_bytes.len() >= MIN_WIDE_BYTES;
            if is_wide[index] && successors[index].contains(&index) {
                // Usually the body of a string. The remaining states cannot change the result.
                return Ok(Weight::Large);
            }
            successors[index].sort_unstable();
            successors[index].dedup();
        }
        profile.states = states.len();
        profile.has_wide = is_wide.contains(&true);
        let components = strongly_connected_components(&successors);
        let mut sizes = vec![0; components.count];
        for &component in &components.of_node {
            sizes[component] += 1;
        }
        let has_wide_loop = (0..states.len()).any(|state| {
            is_wide[state] && (sizes[components.of_node[state]] > 1 || successors[state].contains(&state))
        });
        Ok(if has_wide_loop { Weight::Large } else { Weight::Small(profile) })
    }
}

/// Maximum length of a merged terminal's label, in characters. Longer labels are truncated.
const MAX_LABEL_LENGTH: usize = 60;

fn join_labels(labels: &[Arc<str>], separator: &str) -> String {
    let mut joined = String::new();
    for (index, label) in labels.iter().enumerate() {
        if index > 0 {
            joined.push_str(separator);
        }
        if joined.chars().count() + label.chars().count() > MAX_LABEL_LENGTH && index > 0 {
            joined.push('…');
            break;
        }
        joined.push_str(label);
    }
    joined
}
