//! Facts about which terminals can follow each other, that hold whatever was read before.
//!
//! The question is that of "mask store streamlining" (vivien000, grammar-constrained decoding): given that a terminal
//! was just read, a sequence of terminals may be legal always, never, or depending on what came before; only the last
//! kind needs the parser's stack. For context-free grammars this is undecidable. For LR tables it is not: the stacks after a terminal are the paths of the automaton
//! that end in a state which that terminal enters, and reading a sequence looks at such a path from the top down. So
//! the sequence is followed on all paths at once, and where a reduction takes more states than are known it goes on from
//! every state so far below the lowest known one. Without decided conflicts every path is the stack of some text, and the answers
//! are exact; with them [`Legality::Always`] and [`Legality::Never`] still hold.
//!
//! The terminals here are those that the parser reads: ignored ones are left out, and the beginnings and ends of blocks
//! are among them.

use std::borrow::Borrow;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::definition::grammar::{LexedSymbol, ProductionId};
use crate::parser::lalr::{LalrTable, ParserAction};
use crate::parser::lr_automaton::LrState;
use crate::parser::terminal_set::TerminalSet;
use grammask_grammar::TerminalId;

/// Most places that are followed for one answer.
const MAX_POSITIONS: usize = 1 << 16;

/// Whether a sequence of terminals can come after a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Legality {
    /// After no text.
    Never,
    /// After some texts, or it took too much work to find out.
    Sometimes,
    /// After all texts that end with the terminal.
    Always,
}

/// How many pairs of terminals follow each other never, sometimes and always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairCounts {
    /// Pairs that no text has.
    pub never: usize,
    /// Pairs that need the stack.
    pub sometimes: usize,
    /// Pairs that need no stack.
    pub always: usize,
}

impl PairCounts {
    pub(crate) fn add(&mut self, legality: Legality) {
        match legality {
            Legality::Never => self.never += 1,
            Legality::Sometimes => self.sometimes += 1,
            Legality::Always => self.always += 1,
        }
    }
}

/// The analysis for the tables of one grammar.
#[derive(Clone, Debug)]
pub struct Streamlining<T: Borrow<LalrTable>> {
    table: T,
    /// The states from which each state is entered.
    predecessors: Vec<Vec<LrState>>,
    /// The states that each terminal enters.
    entered: Vec<Vec<LrState>>,
}

/// The states on top of a stack, as far as they are known, and how many terminals were read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct StackPosition {
    suffix: Vec<LrState>,
    read: usize,
}

impl<T: Borrow<LalrTable>> Streamlining<T> {
    /// Prepares the analysis. Cost: a pass over the transitions.
    #[must_use]
    pub fn new(table: T) -> Self {
        let lalr = table.borrow();
        let automaton = &lalr.automaton;
        let mut predecessors = vec![Vec::new(); lalr.state_count()];
        for (state, transitions) in automaton.transitions.iter().enumerate() {
            for &(_, target) in transitions {
                predecessors[target.index()].push(LrState::new(state));
            }
        }
        let mut entered = vec![Vec::new(); lalr.end().index()];
        for (state, symbol) in automaton.entered_by.iter().enumerate() {
            if let Some(LexedSymbol::Terminal(terminal)) = *symbol {
                entered[terminal.index()].push(LrState::new(state));
            }
        }
        Self { table, predecessors, entered }
    }

    /// Whether some text has the terminal, as far as the tables know.
    #[must_use]
    pub fn is_read(&self, terminal: TerminalId) -> bool {
        !self.entered[terminal.index()].is_empty()
    }

    /// Whether `sequence` can come after texts that end with `last`.
    #[must_use]
    pub fn legality(&self, last: TerminalId, sequence: &[TerminalId]) -> Legality {
        self.legality_on(&self.entered[last.index()], sequence)
    }

    /// Whether a text can begin with `sequence`.
    #[must_use]
    pub fn legality_at_start(&self, sequence: &[TerminalId]) -> Legality {
        self.legality_on(&[LrState::START], sequence)
    }

    /// Whether `sequence` can come on stacks with one of `tops` on top.
    fn legality_on(&self, tops: &[LrState], sequence: &[TerminalId]) -> Legality {
        let table = self.table.borrow();
        let (mut is_read, mut is_refused) = (false, false);
        let mut visited: FxHashSet<StackPosition> = FxHashSet::default();
        let mut pending: Vec<StackPosition> =
            tops.iter().map(|&state| StackPosition { suffix: vec![state], read: 0 }).collect();
        while let Some(position) = pending.pop() {
            if is_read && is_refused || visited.len() > MAX_POSITIONS {
                return Legality::Sometimes;
            }
            if visited.contains(&position) {
                continue;
            }
            visited.insert(position.clone());
            let StackPosition { mut suffix, read } = position;
            let Some(&terminal) = sequence.get(read) else {
                is_read = true;
                continue;
            };
            let Some(&top) = suffix.last() else { continue };
            match table.action(top, terminal) {
                ParserAction::Shift(target) => {
                    suffix.push(target);
                    pending.push(StackPosition { suffix, read: read + 1 });
                }
                ParserAction::Error | ParserAction::Accept => is_refused = true,
                ParserAction::Reduce(production) => {
                    for suffix in self.suffixes_after_reduction(suffix, production, sequence.len()) {
                        match suffix {
                            Some(suffix) => pending.push(StackPosition { suffix, read }),
                            None => is_refused = true,
                        }
                    }
                }
            }
        }
        legality(is_read, is_refused)
    }

    /// For each terminal, in order, whether it can come after texts that end with `last`. The terminals for which a parser
    /// does the same are followed together.
    #[must_use]
    pub fn legalities_after(&self, last: TerminalId) -> Box<[Legality]> {
        let table = self.table.borrow();
        let terminals = || (0..self.entered.len()).map(TerminalId::new);
        let none = TerminalSet::new(self.entered.len());
        let mut all = none.clone();
        terminals().for_each(|terminal| {
            all.insert(terminal);
        });
        let (mut read, mut refused) = (none.clone(), none.clone());
        let mut visited: FxHashMap<Vec<LrState>, TerminalSet> = FxHashMap::default();
        let mut pending: Vec<(Vec<LrState>, TerminalSet)> =
            self.entered[last.index()].iter().map(|&state| (vec![state], all.clone())).collect();
        while let Some((suffix, remaining)) = pending.pop() {
            if visited.len() > MAX_POSITIONS {
                return terminals().map(|_| Legality::Sometimes).collect();
            }
            let Some(&top) = suffix.last() else { continue };
            let visited = visited.entry(suffix.clone()).or_insert_with(|| none.clone());
            let mut reductions: Vec<(ProductionId, TerminalSet)> = Vec::new();
            for terminal in remaining.without(visited).iter() {
                if read.contains(terminal) && refused.contains(terminal) {
                    continue;
                }
                match table.action(top, terminal) {
                    ParserAction::Shift(_) => {
                        read.insert(terminal);
                    }
                    ParserAction::Error | ParserAction::Accept => {
                        refused.insert(terminal);
                    }
                    ParserAction::Reduce(production) => {
                        let index = reductions.iter().position(|&(other, _)| other == production);
                        let index = index.unwrap_or_else(|| {
                            reductions.push((production, none.clone()));
                            reductions.len() - 1
                        });
                        reductions[index].1.insert(terminal);
                    }
                }
            }
            visited.union_with(&remaining);
            for (production, terminals) in reductions {
                for suffix in self.suffixes_after_reduction(suffix.clone(), production, 1) {
                    match suffix {
                        Some(suffix) => pending.push((suffix, terminals.clone())),
                        None => {
                            refused.union_with(&terminals);
                        }
                    }
                }
            }
        }
        terminals().map(|terminal| legality(read.contains(terminal), refused.contains(terminal))).collect()
    }

    /// What can be known of stacks after a reduction; `None` for those on which the parser gets no further.
    fn suffixes_after_reduction(
        &self,
        mut suffix: Vec<LrState>,
        production: ProductionId,
        terminals: usize,
    ) -> Vec<Option<Vec<LrState>>> {
        let table = self.table.borrow();
        let production = &table.automaton.productions[production.index()];
        let length = production.rhs.len();
        if suffix.len() <= length {
            let bases = self.states_below(suffix[0], length + 1 - suffix.len());
            return bases
                .into_iter()
                .map(|base| table.goto(base, production.lhs).map(|next| vec![base, next]))
                .collect();
        }
        suffix.truncate(suffix.len() - length);
        // Decided conflicts may make a parser reduce nothing for ever.
        let next = suffix
            .last()
            .and_then(|&base| table.goto(base, production.lhs))
            .filter(|_| suffix.len() <= table.state_count() + terminals);
        vec![next.map(|next| {
            suffix.push(next);
            suffix
        })]
    }

    /// The states that stacks can have so far below a state.
    fn states_below(&self, state: LrState, distance: usize) -> Vec<LrState> {
        let mut states = vec![state];
        for _ in 0..distance {
            states = states.iter().flat_map(|state| &self.predecessors[state.index()]).copied().collect();
            states.sort_unstable();
            states.dedup();
        }
        states
    }

    /// The beginning of `sequence` that decides whether it is legal: what follows is always legal behind it. Sequences
    /// with the same such beginning are jointly legal, after every text.
    #[must_use]
    pub fn deciding<'s>(&self, sequence: &'s [TerminalId]) -> &'s [TerminalId] {
        let mut deciding = sequence;
        while let [.., before, last] = *deciding {
            if self.legality(before, &[last]) != Legality::Always {
                break;
            }
            deciding = &deciding[..deciding.len() - 1];
        }
        deciding
    }

    /// How many pairs of terminals of each kind there are.
    #[must_use]
    pub fn pair_counts(&self) -> PairCounts {
        let mut counts = PairCounts::default();
        let terminals = || (0..self.entered.len()).map(TerminalId::new);
        for last in terminals().filter(|&last| self.is_read(last)) {
            for next in terminals().filter(|&next| self.is_read(next)) {
                counts.add(self.legality(last, &[next]));
            }
        }
        counts
    }
}

/// What it means that the parser takes something on some stack, and that it refuses it on some.
fn legality(is_read: bool, is_refused: bool) -> Legality {
    match (is_read, is_refused) {
        (true, false) => Legality::Always,
        (true, true) => Legality::Sometimes,
        (false, _) => Legality::Never,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::definition::grammar::{
        LexedDefinition, LexedGrammar, ProductionSource, TerminalPattern, TerminalRole, TerminalSource,
    };
    use grammask_diagnostics::Limits;

    /// Longest sentence that the oracle derives, and longest text before the terminals that it looks at.
    const LONGEST: usize = 15;
    const LONGEST_BEFORE: usize = 5;

    /// Grammars without conflicts; small letters are terminals.
    const GRAMMARS: [&[&str]; 5] = [
        &["S:SpT", "S:T", "T:oSc", "T:x", "T:xoc"],
        &["S:", "S:SxA", "A:yA", "A:"],
        &["S:aXd", "S:bXe", "X:x", "X:xX"],
        &["S:oLc", "L:", "L:M", "M:V", "M:MkV", "V:x", "V:S"],
        &["S:ABz", "A:", "A:a", "B:", "B:bB"],
    ];

    fn grammar(productions: &[&str]) -> LexedGrammar {
        let names: BTreeSet<char> = productions.iter().flat_map(|production| production.chars()).collect();
        let terminals = names.into_iter().filter(char::is_ascii_lowercase).map(|name| TerminalSource {
            name: name.to_string(),
            pattern: TerminalPattern::Literal(name.to_string().into_bytes()),
            priority: 0,
            role: TerminalRole::Parsed,
        });
        let productions = productions.iter().map(|production| ProductionSource {
            lhs: production[..1].to_owned(),
            rhs: production[2..].chars().map(String::from).collect(),
            priority: 0,
        });
        let definition = LexedDefinition {
            terminals: terminals.collect(),
            productions: productions.collect(),
            start: "S".to_owned(),
            ..LexedDefinition::default()
        };
        LexedGrammar::new(&definition, &Limits::default()).expect("a good grammar")
    }

    /// All beginnings of sentences, by deriving, without an automaton.
    fn prefixes(productions: &[&str]) -> BTreeSet<String> {
        let letters = |form: &str| form.chars().filter(char::is_ascii_lowercase).count();
        let mut visited: BTreeSet<String> = BTreeSet::new();
        let mut prefixes = BTreeSet::new();
        let mut pending = vec!["S".to_owned()];
        while let Some(form) = pending.pop() {
            // Nonterminals that vanish are few: no sentence that counts needs a longer form.
            if letters(&form) > LONGEST || form.len() > LONGEST + 3 || !visited.insert(form.clone()) {
                continue;
            }
            match form.find(|letter: char| letter.is_ascii_uppercase()) {
                None => prefixes.extend((0..=form.len()).map(|end| form[..end].to_owned())),
                Some(at) => {
                    for production in productions.iter().filter(|rule| rule[..1] == form[at..=at]) {
                        pending.push(format!("{}{}{}", &form[..at], &production[2..], &form[at + 1..]));
                    }
                }
            }
        }
        prefixes
    }

    #[test]
    fn facts_equal_those_of_all_short_texts() {
        for productions in GRAMMARS {
            let grammar = grammar(productions);
            let table = LalrTable::new(&grammar, &Limits::default()).expect("no conflicts");
            let streamlining = Streamlining::new(&table);
            let prefixes = prefixes(productions);
            let width = table.end().index();
            let name = |terminal: usize| grammar.terminal_name(TerminalId::new(terminal)).to_owned();
            for last in 0..width {
                let texts: Vec<&String> = prefixes
                    .iter()
                    .filter(|text| text.len() <= LONGEST_BEFORE && text.ends_with(&name(last)))
                    .collect();
                assert!(!texts.is_empty());
                let of_pairs = streamlining.legalities_after(TerminalId::new(last));
                for code in 0..width + width * width {
                    let sequence: Vec<usize> = match code.checked_sub(width) {
                        None => vec![code],
                        Some(pair) => vec![pair / width, pair % width],
                    };
                    let more: String = sequence.iter().map(|&terminal| name(terminal)).collect();
                    let legal =
                        texts.iter().filter(|text| prefixes.contains(&format!("{text}{more}"))).count();
                    let expected = match legal {
                        0 => Legality::Never,
                        all if all == texts.len() => Legality::Always,
                        _ => Legality::Sometimes,
                    };
                    let sequence: Vec<TerminalId> = sequence.into_iter().map(TerminalId::new).collect();
                    let found = streamlining.legality(TerminalId::new(last), &sequence);
                    assert_eq!(found, expected, "{productions:?}: {more} after {}", name(last));
                    assert!(sequence.len() > 1 || of_pairs[sequence[0].index()] == expected);
                    let deciding: String =
                        streamlining.deciding(&sequence).iter().map(|part| name(part.index())).collect();
                    for text in &texts {
                        let is_legal = |more: &str| prefixes.contains(&format!("{text}{more}"));
                        assert_eq!(is_legal(&deciding), is_legal(&more), "{productions:?}: {text} {more}");
                    }
                }
            }
            let counts = streamlining.pair_counts();
            assert_eq!(counts.never + counts.sometimes + counts.always, width * width);
        }
    }
}
