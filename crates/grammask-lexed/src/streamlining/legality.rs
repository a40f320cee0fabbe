//! Static legality of terminal sequences after a terminal, for all parser stacks at once.
//!
//! This is the question of the blog post "Mask store streamlining" (vivien000, grammar-constrained decoding): after a
//! given terminal, a sequence of terminals is legal always, never, or depending on the context, and only the last
//! case needs the parser's stack. For context-free grammars the question is undecidable; on LR tables it is
//! decidable. The stacks after a terminal are the paths of the LR automaton that end in a state entered by the
//! terminal, and a parser reads such a path from the top. The analysis executes the parser on all paths at once; a
//! reduction below the known states continues in every state at that distance below them. Without resolved conflicts
//! every path is the stack of some text and the answers are exact; with them, [`Legality::Always`] and
//! [`Legality::Never`] remain sound.
//!
//! The terminals are those that the parser receives: without ignored ones, with indents and dedents.

use std::borrow::Borrow;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::definition::grammar::{LexedSymbol, ProductionId};
use crate::parser::lalr::{Goto, LalrTable, ParserAction};
use crate::parser::lr_automaton::LrState;
use crate::parser::terminal_set::TerminalSet;
use grammask_grammar::TerminalId;

/// The maximum number of stack positions explored for one answer.
const MAX_POSITIONS: usize = 1 << 16;

/// The legality of a sequence of terminals after a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Legality {
    /// Illegal in every context.
    Never,
    /// Legal in some contexts only, or undecided within the limit of the analysis.
    Sometimes,
    /// Legal in every context.
    Always,
}

/// The number of pairs of terminals by legality.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairCounts {
    /// Pairs that are never legal.
    pub never: usize,
    /// Pairs whose legality depends on the stack.
    pub sometimes: usize,
    /// Pairs that are always legal.
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

/// The analysis of one LALR(1) table.
#[derive(Clone, Debug)]
pub struct Streamlining<T: Borrow<LalrTable>> {
    table: T,
    /// For each state: its predecessors in the automaton.
    predecessors: Vec<Vec<LrState>>,
    /// For each terminal: the states that it enters.
    entered: Vec<Vec<LrState>>,
}

/// The known upper states of a stack, and the number of terminals of the sequence that were read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct StackPosition {
    suffix: Vec<LrState>,
    read: usize,
}

impl<T: Borrow<LalrTable>> Streamlining<T> {
    /// Prepares the analysis. Cost: one pass over the transitions.
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

    /// Whether some text contains the terminal, according to the tables.
    #[must_use]
    pub fn is_read(&self, terminal: TerminalId) -> bool {
        !self.entered[terminal.index()].is_empty()
    }

    /// The legality of `sequence` directly after `last`.
    #[must_use]
    pub fn legality(&self, last: TerminalId, sequence: &[TerminalId]) -> Legality {
        self.legality_on(&self.entered[last.index()], sequence)
    }

    /// The legality of `sequence` at the beginning of a text.
    #[must_use]
    pub fn legality_at_start(&self, sequence: &[TerminalId]) -> Legality {
        self.legality_on(&[LrState::START], sequence)
    }

    /// The legality of `sequence` on all stacks with one of `tops` on top.
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

    /// The legality of each single terminal directly after `last`. Terminals with the same actions are followed
    /// together.
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

    /// The known upper states of the stacks after a reduction; `None` for stacks on which the parser fails.
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
            let after = |base| match table.reduced(base, production.lhs)? {
                Goto::Push(next) => Some(vec![base, next]),
                Goto::Stay => Some(vec![base]),
            };
            return bases.into_iter().map(after).collect();
        }
        suffix.truncate(suffix.len() - length);
        // With resolved conflicts a parser may reduce empty productions without end.
        let effect = suffix
            .last()
            .and_then(|&base| table.reduced(base, production.lhs))
            .filter(|_| suffix.len() <= table.state_count() + terminals);
        vec![effect.map(|effect| {
            if let Goto::Push(next) = effect {
                suffix.push(next);
            }
            suffix
        })]
    }

    /// The states at a distance below a state.
    fn states_below(&self, state: LrState, distance: usize) -> Vec<LrState> {
        let mut states = vec![state];
        for _ in 0..distance {
            states = states.iter().flat_map(|state| &self.predecessors[state.index()]).copied().collect();
            states.sort_unstable();
            states.dedup();
        }
        states
    }

    /// The shortest prefix of `sequence` after which the rest is always legal. Sequences with the same deciding
    /// prefix are legal in the same contexts.
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
}

/// The legality, given whether some stack accepts and some stack refuses.
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
    use crate::definition::grammar::LexedGrammar;
    use crate::definition::source::{
        LexedDefinition, ProductionSource, TerminalPattern, TerminalRole, TerminalSource,
    };
    use grammask_diagnostics::Limits;

    /// The maximum length of the oracle's sentences, and of the contexts before the terminals under test.
    const LONGEST: usize = 15;
    const LONGEST_BEFORE: usize = 5;

    /// Grammars without conflicts; lower-case letters are terminals.
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

    /// All prefixes of short sentences, by derivation without an automaton.
    fn prefixes(productions: &[&str]) -> BTreeSet<String> {
        let letters = |form: &str| form.chars().filter(char::is_ascii_lowercase).count();
        let mut visited: BTreeSet<String> = BTreeSet::new();
        let mut prefixes = BTreeSet::new();
        let mut pending = vec!["S".to_owned()];
        while let Some(form) = pending.pop() {
            // Few nonterminals are nullable, so no relevant sentence needs a longer sentential form.
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
        }
    }
}
