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
    /// Maximum number of letters in the words that are kept.
    pub letters: usize,
    /// Maximum duration.
    pub time: Duration,
}

impl Default for AmbiguityLimits {
    /// A few seconds, and about 500 MB.
    fn default() -> Self {
        Self { length: 40, compositions: 6_000_000, letters: 16_000_000, time: Duration::from_secs(10) }
    }
}

/// A derivation of a word: a rule, and the length of the part that its first symbol derives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Derivation {
    rule: usize,
    split: usize,
}

/// A word of a symbol.
#[derive(Debug)]
struct DerivedWord {
    word: Box<[u16]>,
    /// `None` for words of terminals.
    first: Option<Derivation>,
    second: Option<Derivation>,
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
}

impl<'l> WordTables<'l> {
    pub(super) fn new(mut binary: BinaryRules, limits: &'l AmbiguityLimits) -> Self {
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
            deadline: Deadline::after(limits.time),
        }
    }

    /// The rules of which these are the words.
    pub(super) fn binary(&self) -> &BinaryRules {
        &self.binary
    }

    /// Computes words until one has two derivations or a limit is reached.
    pub(super) fn search(&mut self) -> Outcome {
        for length in 0..=self.limits.length {
            match self.extend(length) {
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
            let BinaryRule { lhs, body } = self.binary.rules[index];
            if let BinaryBody::Pair(left, right) = body {
                for split in 1..length {
                    self.compose(lhs, left, right, Derivation { rule: index, split }, length)?;
                }
            }
        }
        // Rules whose other part is empty: their words depend on words of the same length.
        loop {
            let before = self.letters;
            for index in 0..self.binary.rules.len() {
                let BinaryRule { lhs, body } = self.binary.rules[index];
                match body {
                    BinaryBody::Empty if length == 0 => {
                        let derivation = Derivation { rule: index, split: 0 };
                        self.add(lhs, Box::default(), Some(derivation))?;
                    }
                    BinaryBody::Empty => {}
                    BinaryBody::Unit(part) => {
                        let derivation = Derivation { rule: index, split: length };
                        for at in 0..self.tables[part.0][length].words.len() {
                            self.count_composition()?;
                            let word = self.tables[part.0][length].words[at].word.clone();
                            self.add(lhs, word, Some(derivation))?;
                        }
                    }
                    BinaryBody::Pair(left, right) => {
                        self.compose(lhs, left, right, Derivation { rule: index, split: 0 }, length)?;
                        if length > 0 {
                            let derivation = Derivation { rule: index, split: length };
                            self.compose(lhs, left, right, derivation, length)?;
                        }
                    }
                }
            }
            if self.letters == before {
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
        derivation: Derivation,
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

    /// Adds a derivation of a word, unless it is known.
    fn add(
        &mut self,
        symbol: SymbolIndex,
        word: Box<[u16]>,
        derivation: Option<Derivation>,
    ) -> Result<(), SearchEnd> {
        let table = &mut self.tables[symbol.0][word.len()];
        let Some(&known) = table.index.get(&word) else {
            let letters = word.len() + 1;
            table.index.insert(word.clone(), table.words.len());
            table.words.push(DerivedWord { word, first: derivation, second: None });
            self.letters += letters;
            return self.count_letters(0);
        };
        let known = &mut table.words[known];
        if known.first == derivation {
            return Ok(());
        }
        known.second = derivation;
        Err(SearchEnd::Found(DerivedPlace { symbol, word }))
    }

    fn count_composition(&mut self) -> Result<(), SearchEnd> {
        self.compositions += 1;
        let is_late = self.compositions.is_multiple_of(1024) && self.deadline.check().is_err();
        if is_late || self.compositions > self.limits.compositions { Err(SearchEnd::Limit) } else { Ok(()) }
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
        let owner = self.binary.owner(place.symbol).to_string();
        let mut lines = Vec::new();
        if matches!(self.binary.kinds[place.symbol.0], SymbolKind::Part(_)) {
            lines.push(TreeLine { depth: 0, label: owner });
        }
        let depth = lines.len();
        let mut pending = vec![(place.symbol, place.word.clone(), depth, by)];
        while let Some((symbol, word, depth, by)) = pending.pop() {
            if lines.len() > MAX_TREE_LINES {
                lines.push(TreeLine { depth, label: "…".to_owned() });
                break;
            }
            let table = &self.tables[symbol.0][word.len()];
            let derived = table.index.get(&word).map(|&index| &table.words[index]);
            let derivation = derived.and_then(|derived| match by {
                DerivationChoice::First => derived.first,
                DerivationChoice::Second => derived.second,
            });
            let label = match &self.binary.kinds[symbol.0] {
                SymbolKind::Rule(name) => Some(name.to_string()),
                SymbolKind::Terminal(label) => Some(self.terminal_text(label, &word)),
                SymbolKind::Part(notation) if parts == PartLines::Shown => Some(format!("({notation})")),
                SymbolKind::Part(_) => None,
            };
            let below = depth + usize::from(label.is_some());
            lines.extend(label.map(|label| TreeLine { depth, label }));
            let Some(Derivation { rule, split }) = derivation else { continue };
            let first = DerivationChoice::First;
            match self.binary.rules[rule].body {
                BinaryBody::Empty => {}
                BinaryBody::Unit(part) => pending.push((part, word, below, first)),
                BinaryBody::Pair(left, right) => {
                    pending.push((right, word[split..].into(), below, first));
                    pending.push((left, word[..split].into(), below, first));
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

/// Maximum number of lines of a tree.
const MAX_TREE_LINES: usize = 1_000;

/// One of the two derivations of the root; the nodes below use their first ones.
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
