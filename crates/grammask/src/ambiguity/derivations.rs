//! The words of all symbols by increasing length, with up to two derivations each.

use std::time::Duration;

use rustc_hash::FxHashMap;

use grammask_automata::StateId;
use grammask_diagnostics::Deadline;

use super::TreeLine;
use super::binary_rules::{BinaryBody, BinaryRule, BinaryRules, SymbolIndex, SymbolKind, TerminalWords};

/// The work that a search may cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmbiguityLimits {
    /// Maximum length of words, in bytes or terminals.
    pub length: usize,
    /// Maximum number of words that are composed.
    pub compositions: usize,
    /// Maximum number of letters in the words that are kept, with 16 for each word.
    pub letters: usize,
    /// Maximum duration.
    pub time: Duration,
}

impl Default for AmbiguityLimits {
    /// A few seconds, and about 200 MB.
    fn default() -> Self {
        Self { length: 40, compositions: 6_000_000, letters: 16_000_000, time: Duration::from_secs(10) }
    }
}

/// A derivation of a word: a rule, and the length of the part that its first symbol derives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WordDerivation {
    rule: usize,
    split: usize,
}

/// A word of a symbol.
#[derive(Debug)]
struct DerivedWord {
    word: Box<[u16]>,
    /// `None` for words of terminals.
    first: Option<WordDerivation>,
    second: Option<WordDerivation>,
    /// Whether it has several trees: a second derivation, or an ambiguous part.
    is_ambiguous: bool,
}

/// The words of a symbol that have one length.
#[derive(Debug, Default)]
struct WordTable {
    words: Vec<DerivedWord>,
    index: FxHashMap<Box<[u16]>, usize>,
}

/// A symbol and a word of it.
#[derive(Clone, Debug)]
pub(super) struct DerivedPlace {
    pub(super) symbol: SymbolIndex,
    pub(super) word: Box<[u16]>,
}

/// The result of a search.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The symbol derives the word in two ways.
    Ambiguous(DerivedPlace),
    /// The limits were reached.
    Exhausted { searched_length: Option<usize> },
}

/// The reasons for which a search ends.
enum SearchEnd {
    Found(DerivedPlace),
    Limit,
}

/// The words of a regular language that are still to be extended: prefixes of the current length, with their states.
type OpenWords = Vec<(Box<[u16]>, StateId)>;

/// The words of all symbols.
#[derive(Debug)]
pub(super) struct WordTables<'l> {
    binary: BinaryRules,
    /// The words, by symbol and length.
    tables: Vec<Vec<WordTable>>,
    /// The open words of each terminal.
    open: Vec<OpenWords>,
    limits: &'l AmbiguityLimits,
    compositions: usize,
    letters: usize,
    deadline: Deadline,
    /// Number of words and of ambiguous parts that were found.
    findings: usize,
    has_ambiguous_parts: bool,
}

impl<'l> WordTables<'l> {
    pub(super) fn new(mut binary: BinaryRules, limits: &'l AmbiguityLimits, deadline: Deadline) -> Self {
        let starts: Vec<Option<StateId>> = (0..binary.terminals.len())
            .map(|index| match binary.terminals[index].1 {
                TerminalWords::Regular(term) => binary.start(term),
                TerminalWords::One(_) => None,
            })
            .collect();
        Self {
            tables: binary.kinds.iter().map(|_| Vec::new()).collect(),
            open: starts
                .into_iter()
                .map(|start| start.map(|state| (Box::default(), state)))
                .map(Vec::from_iter)
                .collect(),
            binary,
            limits,
            compositions: 0,
            letters: 0,
            deadline,
            findings: 0,
            has_ambiguous_parts: false,
        }
    }

    /// The rules of which these are the words.
    pub(super) fn binary(&self) -> &BinaryRules {
        &self.binary
    }

    /// Computes words until one has two derivations or a limit is reached.
    pub(super) fn search(&mut self) -> Outcome {
        for length in 0..=self.limits.length {
            match self.check_deadline().and_then(|()| self.extend(length)) {
                Ok(()) => {}
                Err(SearchEnd::Found(place)) => return Outcome::Ambiguous(place),
                Err(SearchEnd::Limit) => {
                    return Outcome::Exhausted { searched_length: length.checked_sub(1) };
                }
            }
        }
        Outcome::Exhausted { searched_length: Some(self.limits.length) }
    }

    /// Computes the words of a length.
    fn extend(&mut self, length: usize) -> Result<(), SearchEnd> {
        self.tables.iter_mut().for_each(|table| table.push(WordTable::default()));
        self.add_terminal_words(length)?;
        for index in 0..self.binary.rules.len() {
            self.check_deadline_at(index)?;
            let BinaryRule { lhs, body } = self.binary.rules[index];
            if let BinaryBody::Pair(left, right) = body {
                for split in 1..length {
                    self.compose(lhs, left, right, WordDerivation { rule: index, split }, length)?;
                }
            }
        }
        // Rules whose other part is empty: their words depend on words of the same length.
        loop {
            let before = self.findings;
            for index in 0..self.binary.rules.len() {
                self.check_deadline_at(index)?;
                let BinaryRule { lhs, body } = self.binary.rules[index];
                match body {
                    BinaryBody::Empty if length == 0 => {
                        let derivation = WordDerivation { rule: index, split: 0 };
                        self.add(lhs, Box::default(), Some(derivation))?;
                    }
                    BinaryBody::Empty => {}
                    BinaryBody::Unit(part) => {
                        let derivation = WordDerivation { rule: index, split: length };
                        for at in 0..self.tables[part.0][length].words.len() {
                            self.count_composition()?;
                            let word = self.tables[part.0][length].words[at].word.clone();
                            self.add(lhs, word, Some(derivation))?;
                        }
                    }
                    BinaryBody::Pair(left, right) => {
                        self.compose(lhs, left, right, WordDerivation { rule: index, split: 0 }, length)?;
                        if length > 0 {
                            let derivation = WordDerivation { rule: index, split: length };
                            self.compose(lhs, left, right, derivation, length)?;
                        }
                    }
                }
            }
            if self.findings == before {
                return Ok(());
            }
        }
    }

    /// Adds the words of terminals of a length.
    fn add_terminal_words(&mut self, length: usize) -> Result<(), SearchEnd> {
        for index in 0..self.binary.terminals.len() {
            let (symbol, words) = &self.binary.terminals[index];
            let symbol = *symbol;
            if let TerminalWords::One(word) = words {
                if word.len() == length {
                    let word = word.clone();
                    self.add(symbol, word, None)?;
                }
                continue;
            }
            let open = std::mem::take(&mut self.open[index]);
            let mut longer = Vec::new();
            for (word, state) in open {
                if self.binary.is_accepting(state) {
                    self.add(symbol, word.clone(), None)?;
                }
                for (byte, target) in self.binary.steps(state) {
                    self.count_composition()?;
                    let letters = word.iter().copied().chain([u16::from(byte)]);
                    longer.push((letters.collect(), target));
                }
                self.count_letters(longer.len())?;
            }
            self.open[index] = longer;
        }
        Ok(())
    }

    /// Adds the words of `lhs` whose first part has the length of the split.
    fn compose(
        &mut self,
        lhs: SymbolIndex,
        left: SymbolIndex,
        right: SymbolIndex,
        derivation: WordDerivation,
        length: usize,
    ) -> Result<(), SearchEnd> {
        let split = derivation.split;
        for first in 0..self.tables[left.0][split].words.len() {
            for second in 0..self.tables[right.0][length - split].words.len() {
                self.count_composition()?;
                let begin = &self.tables[left.0][split].words[first].word;
                let end = &self.tables[right.0][length - split].words[second].word;
                let word: Box<[u16]> = begin.iter().chain(end).copied().collect();
                self.add(lhs, word, Some(derivation))?;
            }
        }
        Ok(())
    }

    /// Adds a derivation of a word, unless it is known. Ends the search if a word of a rule becomes ambiguous; an ambiguous
    /// part of a right-hand side makes the words ambiguous that are composed of it.
    fn add(
        &mut self,
        symbol: SymbolIndex,
        word: Box<[u16]>,
        derivation: Option<WordDerivation>,
    ) -> Result<(), SearchEnd> {
        let has_ambiguous_part = self.has_ambiguous_parts
            && derivation.is_some_and(|derivation| self.ambiguous_part(derivation, &word).is_some());
        let table = &mut self.tables[symbol.0][word.len()];
        let known = match table.index.get(&word) {
            Some(&index) => &mut table.words[index],
            None => {
                table.index.insert(word.clone(), table.words.len());
                self.letters += word.len() + LETTERS_PER_WORD;
                self.findings += 1;
                let derived =
                    DerivedWord { word: word.clone(), first: derivation, second: None, is_ambiguous: false };
                table.words.push(derived);
                table.words.last_mut().expect("a word was added")
            }
        };
        let is_second = known.first != derivation;
        if !(is_second || has_ambiguous_part) || known.is_ambiguous {
            return self.count_letters(0);
        }
        known.is_ambiguous = true;
        known.second = derivation.filter(|_| is_second);
        self.findings += 1;
        self.has_ambiguous_parts = true;
        match self.binary.kinds[symbol.0] {
            SymbolKind::Rule(_) => Err(SearchEnd::Found(DerivedPlace { symbol, word })),
            SymbolKind::Part(_) | SymbolKind::Terminal(_) => self.count_letters(0),
        }
    }

    /// The first ambiguous part of a derivation of a word: 0 or 1.
    fn ambiguous_part(&self, derivation: WordDerivation, word: &[u16]) -> Option<usize> {
        let is_ambiguous = |part: SymbolIndex, word: &[u16]| {
            let table = &self.tables[part.0][word.len()];
            table.index.get(word).is_some_and(|&index| table.words[index].is_ambiguous)
        };
        match self.binary.rules[derivation.rule].body {
            BinaryBody::Empty => None,
            BinaryBody::Unit(part) => is_ambiguous(part, word).then_some(0),
            BinaryBody::Pair(left, right) => {
                let (begin, end) = word.split_at(derivation.split);
                if is_ambiguous(left, begin) {
                    return Some(0);
                }
                is_ambiguous(right, end).then_some(1)
            }
        }
    }

    fn count_composition(&mut self) -> Result<(), SearchEnd> {
        self.compositions += 1;
        self.check_deadline_at(self.compositions)?;
        if self.compositions > self.limits.compositions { Err(SearchEnd::Limit) } else { Ok(()) }
    }

    /// Checks the deadline at every 1,024th count.
    fn check_deadline_at(&self, count: usize) -> Result<(), SearchEnd> {
        if count.is_multiple_of(1024) { self.check_deadline() } else { Ok(()) }
    }

    fn check_deadline(&self) -> Result<(), SearchEnd> {
        self.deadline.check().map_err(|_| SearchEnd::Limit)
    }

    fn count_letters(&self, more: usize) -> Result<(), SearchEnd> {
        if self.letters + more > self.limits.letters { Err(SearchEnd::Limit) } else { Ok(()) }
    }

    /// The parse tree of a word by its first or second derivation; parts of right-hand sides are replaced by their
    /// children.
    pub(super) fn tree(&self, place: &DerivedPlace, by: DerivationChoice) -> Vec<TreeLine> {
        self.lines(place, by, PartLines::Hidden)
    }

    /// As [`tree`](Self::tree), with the parts of right-hand sides.
    pub(super) fn whole_tree(&self, place: &DerivedPlace, by: DerivationChoice) -> Vec<TreeLine> {
        self.lines(place, by, PartLines::Shown)
    }

    fn lines(&self, place: &DerivedPlace, by: DerivationChoice, parts: PartLines) -> Vec<TreeLine> {
        let mut lines = Vec::new();
        let mut pending = vec![(place.symbol, place.word.clone(), 0, by)];
        while let Some((symbol, word, depth, by)) = pending.pop() {
            if lines.len() > MAX_TREE_LINES {
                lines.push(TreeLine { depth, label: "…".to_owned() });
                break;
            }
            let table = &self.tables[symbol.0][word.len()];
            let derived = table.index.get(&word).map(|&index| &table.words[index]);
            let second =
                derived.and_then(|derived| derived.second).filter(|_| by == DerivationChoice::Second);
            let derivation = second.or_else(|| derived.and_then(|derived| derived.first));
            let label = match &self.binary.kinds[symbol.0] {
                SymbolKind::Rule(name) => Some(name.to_string()),
                SymbolKind::Terminal(label) => Some(self.terminal_text(label, &word)),
                SymbolKind::Part(notation) if parts == PartLines::Shown => Some(format!("({notation})")),
                SymbolKind::Part(_) => None,
            };
            let below = depth + usize::from(label.is_some());
            lines.extend(label.map(|label| TreeLine { depth, label }));
            let Some(WordDerivation { rule, split }) = derivation else { continue };
            // Without a second derivation of its own, the ambiguous part has one.
            let ambiguous = (by == DerivationChoice::Second && second.is_none())
                .then(|| self.ambiguous_part(WordDerivation { rule, split }, &word))
                .flatten();
            let choice = |part: usize| match ambiguous == Some(part) {
                true => DerivationChoice::Second,
                false => DerivationChoice::First,
            };
            match self.binary.rules[rule].body {
                BinaryBody::Empty => {}
                BinaryBody::Unit(part) => pending.push((part, word, below, choice(0))),
                BinaryBody::Pair(left, right) => {
                    pending.push((right, word[split..].into(), below, choice(1)));
                    pending.push((left, word[..split].into(), below, choice(0)));
                }
            }
        }
        lines
    }

    /// The label of a terminal, and its word unless the label is its quoted text.
    fn terminal_text(&self, label: &str, word: &[u16]) -> String {
        let text = self.binary.text_of(word);
        if text == label { text } else { format!("{label}  {text}") }
    }
}

/// Memory of an entry of a table, as a number of letters.
const LETTERS_PER_WORD: usize = 16;
/// Maximum number of lines of a tree.
const MAX_TREE_LINES: usize = 1_000;

/// The first derivation, or the second one of the node or of an ambiguous part below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DerivationChoice {
    First,
    Second,
}

/// Whether a tree has lines for parts of right-hand sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartLines {
    Hidden,
    Shown,
}
