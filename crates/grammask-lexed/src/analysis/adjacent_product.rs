//! The intersection of the productions of a grammar with the relation of commit classes that can be adjacent.
//!
//! Y. Bar-Hillel, M. Perles, E. Shamir, "On Formal Properties of Simple Phrase Structure Grammars" (1961): a nonterminal of
//! the product is a nonterminal with the class before it and the last class of it. Productions are read from left to right
//! by nonterminals for their suffixes, so the product has at most the cube of the number of classes for each symbol; only
//! nonterminals that are reachable and have a text are made.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::definition::grammar::{LexedGrammar, LexedProduction, LexedSymbol};
use crate::lexer::lexer_automaton::LexModeId;
use crate::lexer::open_lexemes::commit_classes::CommitClasses;
use crate::parser::terminal_set::TerminalSet;
use grammask_diagnostics::{Deadline, LimitExceeded, Limits};
use grammask_grammar::{NonterminalId, TerminalId};

/// A nonterminal, or the suffix of a production.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Part {
    Nonterminal(NonterminalId),
    Suffix { production: usize, from: usize },
}

/// The class before a part; `None` at the beginning of the text.
type Before = Option<TerminalId>;

/// The product of a grammar whose terminals are classes, those of the productions being the first ones; `None` if it has
/// no text. `first` are the classes that can begin a text, and all lexemes begin in the lexer mode `mode`.
///
/// # Errors
/// When a limit is exceeded.
pub(crate) fn product_with_adjacency(
    mut grammar: LexedGrammar,
    classes: &CommitClasses,
    first: &TerminalSet,
    mode: LexModeId,
    limits: &Limits,
) -> Result<Option<LexedGrammar>, LimitExceeded> {
    let mut productions_of = vec![Vec::new(); grammar.nonterminals.len()];
    for (index, production) in grammar.productions.iter().enumerate() {
        productions_of[production.lhs.index()].push(index);
    }
    let mut product = AdjacentProduct {
        grammar: &grammar,
        classes,
        first,
        mode,
        productions_of,
        ids: FxHashMap::default(),
        keys: Vec::new(),
        last_classes: Vec::new(),
    };
    product.solve(limits)?;
    let Some((nonterminals, productions, start)) = product.productions(limits)? else { return Ok(None) };
    (grammar.nonterminals, grammar.productions, grammar.start) = (nonterminals, productions, start);
    Ok(Some(grammar))
}

struct AdjacentProduct<'a> {
    grammar: &'a LexedGrammar,
    classes: &'a CommitClasses,
    first: &'a TerminalSet,
    mode: LexModeId,
    productions_of: Vec<Vec<usize>>,
    ids: FxHashMap<(Part, Before), usize>,
    keys: Vec<(Part, Before)>,
    /// For each key: the classes before what follows the part; the class before it, if the part derives no lexeme.
    last_classes: Vec<BTreeSet<Before>>,
}

/// Nonterminals, productions and start of a product.
type ProductRules = (Vec<std::sync::Arc<str>>, Vec<LexedProduction>, NonterminalId);

impl AdjacentProduct<'_> {
    fn key(&mut self, part: Part, before: Before) -> usize {
        let next = self.keys.len();
        let id = *self.ids.entry((part, before)).or_insert(next);
        if id == next {
            self.keys.push((part, before));
            self.last_classes.push(BTreeSet::new());
        }
        id
    }

    /// The last classes of all parts that the start symbol needs: a least fixpoint.
    fn solve(&mut self, limits: &Limits) -> Result<(), LimitExceeded> {
        let deadline = Deadline::after(limits.time);
        self.key(Part::Nonterminal(self.grammar.start), None);
        loop {
            let mut has_changed = false;
            let mut id = 0;
            while let Some(&(part, before)) = self.keys.get(id) {
                deadline.check()?;
                if self.keys.len() > limits.grammar_size {
                    return Err(LimitExceeded::new("grammar_size", limits.grammar_size));
                }
                let last = self.evaluate(part, before);
                has_changed |= last.len() > self.last_classes[id].len();
                self.last_classes[id] = last;
                id += 1;
            }
            if !has_changed {
                return Ok(());
            }
        }
    }

    fn evaluate(&mut self, part: Part, before: Before) -> BTreeSet<Before> {
        match part {
            Part::Nonterminal(nonterminal) => {
                let mut last = BTreeSet::new();
                for production in self.productions_of[nonterminal.index()].clone() {
                    let whole = self.key(Part::Suffix { production, from: 0 }, before);
                    last.extend(&self.last_classes[whole]);
                }
                last
            }
            Part::Suffix { production, from } => {
                let Some(&symbol) = self.grammar.productions[production].rhs.get(from) else {
                    return BTreeSet::from([before]);
                };
                let mut last = BTreeSet::new();
                for between in self.last_of_symbol(symbol, before) {
                    let rest = self.key(Part::Suffix { production, from: from + 1 }, between);
                    last.extend(&self.last_classes[rest]);
                }
                last
            }
        }
    }

    fn last_of_symbol(&mut self, symbol: LexedSymbol, before: Before) -> Vec<Before> {
        match symbol {
            LexedSymbol::Nonterminal(nonterminal) => {
                let id = self.key(Part::Nonterminal(nonterminal), before);
                self.last_classes[id].iter().copied().collect()
            }
            LexedSymbol::Terminal(terminal) => {
                let next = match before {
                    None => Some(self.first),
                    Some(class) => self.classes.next(class, self.mode),
                };
                let can_follow = |class: &TerminalId| next.is_some_and(|next| next.contains(*class));
                self.classes.classes_of(terminal).filter(can_follow).map(Some).collect()
            }
        }
    }

    /// The productions of the product; `None` if the start symbol has no text.
    fn productions(&mut self, limits: &Limits) -> Result<Option<ProductRules>, LimitExceeded> {
        let start = Part::Nonterminal(self.grammar.start);
        let mut rules = RuleNumbering { names: Vec::new(), ids: FxHashMap::default(), pending: Vec::new() };
        let name = |part: Part, grammar: &LexedGrammar| match part {
            Part::Nonterminal(nonterminal) => grammar.nonterminals[nonterminal.index()].clone(),
            Part::Suffix { production, .. } => {
                grammar.nonterminals[grammar.productions[production].lhs.index()].clone()
            }
        };
        rules.names.push(name(start, self.grammar));
        let first = NonterminalId::new(0);
        let mut productions = Vec::new();
        let start_id = self.key(start, None);
        for last in self.last_classes[start_id].clone() {
            let whole = rules.nonterminal((start, None, last), name(start, self.grammar));
            let rhs = Box::new([LexedSymbol::Nonterminal(whole)]);
            productions.push(LexedProduction { lhs: first, rhs, priority: 0 });
        }
        if productions.is_empty() {
            return Ok(None);
        }
        while let Some((lhs, (part, before, last))) = rules.pending.pop() {
            if productions.len() > limits.grammar_size {
                return Err(LimitExceeded::new("grammar_size", limits.grammar_size));
            }
            let suffixes: Vec<(usize, usize)> = match part {
                Part::Nonterminal(nonterminal) => self.productions_of[nonterminal.index()]
                    .iter()
                    .map(|&production| (production, 0))
                    .collect(),
                Part::Suffix { production, from } => vec![(production, from)],
            };
            for (production, from) in suffixes {
                let Some(&symbol) = self.grammar.productions[production].rhs.get(from) else {
                    if before == last {
                        productions.push(LexedProduction { lhs, rhs: Box::new([]), priority: 0 });
                    }
                    continue;
                };
                for between in self.last_of_symbol(symbol, before) {
                    let suffix = Part::Suffix { production, from: from + 1 };
                    let rest = self.key(suffix, between);
                    if !self.last_classes[rest].contains(&last) {
                        continue;
                    }
                    let symbol = match (symbol, between) {
                        (LexedSymbol::Terminal(_), Some(class)) => LexedSymbol::Terminal(class),
                        (LexedSymbol::Terminal(_), None) => continue,
                        (LexedSymbol::Nonterminal(nonterminal), between) => {
                            let part = Part::Nonterminal(nonterminal);
                            let key = (part, before, between);
                            LexedSymbol::Nonterminal(rules.nonterminal(key, name(part, self.grammar)))
                        }
                    };
                    let is_last = from + 1 == self.grammar.productions[production].rhs.len();
                    let rhs: Box<[LexedSymbol]> = match is_last {
                        true => Box::new([symbol]),
                        false => {
                            let rest = rules.nonterminal((suffix, between, last), name(suffix, self.grammar));
                            Box::new([symbol, LexedSymbol::Nonterminal(rest)])
                        }
                    };
                    productions.push(LexedProduction { lhs, rhs, priority: 0 });
                }
            }
        }
        Ok(Some((rules.names, productions, first)))
    }
}

/// A part with the classes before it and after which it ends.
type ProductPart = (Part, Before, Before);

/// The nonterminals of the product, and those whose productions are missing.
struct RuleNumbering {
    names: Vec<std::sync::Arc<str>>,
    ids: FxHashMap<ProductPart, NonterminalId>,
    pending: Vec<(NonterminalId, ProductPart)>,
}

impl RuleNumbering {
    fn nonterminal(&mut self, part: ProductPart, name: std::sync::Arc<str>) -> NonterminalId {
        if let Some(&known) = self.ids.get(&part) {
            return known;
        }
        let id = NonterminalId::new(self.names.len());
        self.names.push(name);
        self.ids.insert(part, id);
        self.pending.push((id, part));
        id
    }
}
