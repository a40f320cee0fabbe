//! Pass: small regular parts of the grammar become single terminals, because a DFA is cheaper than a parser.
//!
//! Punctuation with the white space around it, keywords that are alternatives, a whole number literal: each is
//! one terminal afterwards. Terminals with a wide loop (a string body, free text) are never merged with their
//! neighbours: their automaton must stay the same language in every grammar, so that its summaries are shared.
//!
//! ```text
//! pair ::= ws ":" ws value; ws ::= space*; space ::= " " | "\n";
//! ```
//! has one terminal for `ws ":" ws`, written `ws·":"·ws`. Cost: some derivatives per merged part, at most [`SMALL_STATES`] states each.

use std::sync::Arc;

use crate::LimitExceeded;
use crate::automata::{StateId, TermId};
use crate::grammar::{Terminal, TerminalId};
use crate::graph::strong_components;

use super::productions::{Body, Productions, Symbol};

/// A language is small if its automaton has at most this many states.
const SMALL_STATES: usize = 64;
/// A state that this many bytes continue is wide; a loop through it is free text rather than punctuation.
const WIDE_BYTES: usize = 96;
/// Largest bound of a repetition that is unrolled into an automaton; above, copies are counted.
const UNROLLED_COPIES: u32 = 8;

/// How a terminal may be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    /// Small and without a wide loop: merges with its neighbours.
    Small,
    /// A regular language that only stands for itself.
    Large,
    /// Not a plain regular language: token references and token-limited text.
    Opaque,
}

/// Merges small regular parts.
///
/// # Errors
/// When an automaton passes the limit on states.
pub fn merge_regular_parts(productions: &mut Productions) -> Result<(), LimitExceeded> {
    let mut merging =
        Merging { weights: Vec::new(), folded: vec![None; productions.rules.len()], productions };
    for index in bottom_up(merging.productions) {
        merging.substitute_folded(index);
        merging.merge_neighbours(index)?;
        merging.merge_alternatives(index)?;
        merging.fold(index)?;
    }
    // Rules in cycles were visited before all of their parts were folded.
    for index in 0..merging.productions.rules.len() {
        merging.substitute_folded(index);
        merging.merge_neighbours(index)?;
    }
    super::drop_useless::drop_unreachable(productions);
    Ok(())
}

/// Reachable rules, parts before the rules that use them.
fn bottom_up(productions: &Productions) -> Vec<usize> {
    let reached = productions.reachable();
    let successors: Vec<Vec<usize>> = productions
        .rules
        .iter()
        .map(|rule| {
            let symbols = rule.body.symbols();
            symbols
                .filter_map(|symbol| match symbol {
                    Symbol::Nonterminal(id) => Some(id.index()),
                    Symbol::Terminal(_) => None,
                })
                .collect()
        })
        .collect();
    let order = strong_components(&successors).members().into_iter().flatten();
    order.filter(|&index| reached[index]).collect()
}

struct Merging<'a> {
    productions: &'a mut Productions,
    /// Weight of each terminal, as far as known.
    weights: Vec<Option<Weight>>,
    /// The terminal that a nonterminal became.
    folded: Vec<Option<TerminalId>>,
}

impl Merging<'_> {
    fn substitute_folded(&mut self, index: usize) {
        let folded = &self.folded;
        self.productions.rules[index].body.map(|symbol| match symbol {
            Symbol::Nonterminal(id) => folded[id.index()].map_or(symbol, Symbol::Terminal),
            Symbol::Terminal(_) => symbol,
        });
    }

    /// Small terminals that stand next to each other become one.
    fn merge_neighbours(&mut self, index: usize) -> Result<(), LimitExceeded> {
        let Body::Alternatives(mut alternatives) = self.take_body(index) else { return Ok(()) };
        for symbols in &mut alternatives {
            let mut merged: Vec<Symbol> = Vec::with_capacity(symbols.len());
            for &symbol in symbols.iter() {
                let joined = match (merged.last(), symbol) {
                    (Some(&Symbol::Terminal(left)), Symbol::Terminal(right)) => self.join(left, right)?,
                    _ => None,
                };
                match joined {
                    Some(joined) => {
                        merged.pop();
                        merged.push(Symbol::Terminal(joined));
                    }
                    None => merged.push(symbol),
                }
            }
            *symbols = merged;
        }
        self.productions.rules[index].body = Body::Alternatives(alternatives);
        Ok(())
    }

    /// Alternatives that are one small terminal each become one alternative; all-literal rules become a trie.
    fn merge_alternatives(&mut self, index: usize) -> Result<(), LimitExceeded> {
        let Body::Alternatives(alternatives) = self.take_body(index) else { return Ok(()) };
        let mut words: Vec<TerminalId> = Vec::new();
        let mut small: Vec<TerminalId> = Vec::new();
        let mut others: Vec<Vec<Symbol>> = Vec::new();
        for symbols in alternatives {
            match symbols[..] {
                [Symbol::Terminal(id)] if self.literal(id).is_some() => words.push(id),
                [Symbol::Terminal(id)] if self.weight(id)? == Weight::Small => small.push(id),
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
            let terms = self.productions.automata.terms_mut();
            let mut parts = vec![terms.literals(&set)];
            parts.extend(small.iter().filter_map(|&id| self.term(id)));
            let term = self.productions.automata.terms_mut().union(&parts);
            let terminal = self.add(term, &format!("({})", join_labels(&label, " | ")));
            merged.push(vec![Symbol::Terminal(terminal)]);
        } else {
            merged.extend(words.into_iter().chain(small).map(|id| vec![Symbol::Terminal(id)]));
        }
        merged.append(&mut others);
        self.productions.rules[index].body = Body::Alternatives(merged);
        Ok(())
    }

    /// Makes the rule a terminal if it is one terminal, the empty text, or a repetition of a terminal.
    fn fold(&mut self, index: usize) -> Result<(), LimitExceeded> {
        let name = &self.productions.rules[index];
        let user_name = name.is_named_by_user().then(|| name.name.clone());
        let term = match &self.productions.rules[index].body {
            Body::Repeat { symbol: Symbol::Terminal(id), min, max } => {
                let (id, min, max) = (*id, *min, *max);
                if min.max(max.unwrap_or(0)) > UNROLLED_COPIES || self.weight(id)? == Weight::Opaque {
                    return Ok(());
                }
                let Some(inner) = self.term(id) else { return Ok(()) };
                self.productions.automata.terms_mut().repeat(inner, min, max)
            }
            Body::Repeat { .. } => return Ok(()),
            Body::Alternatives(alternatives) => {
                let mut parts = Vec::new();
                let mut only = None;
                let mut has_empty = false;
                for symbols in &alternatives.clone() {
                    match symbols[..] {
                        [] => has_empty = true,
                        [Symbol::Terminal(id)] if self.weight(id)? != Weight::Opaque => {
                            only = Some(id);
                            parts.extend(self.term(id));
                        }
                        _ => return Ok(()),
                    }
                }
                match (parts.len(), has_empty) {
                    (0, _) => return Ok(()),
                    (1, false) => {
                        self.folded[index] = only;
                        return Ok(());
                    }
                    (1, true) => {}
                    _ => {
                        let union = self.productions.automata.terms_mut().union(&parts);
                        if self.term_weight(union)? != Weight::Small {
                            return Ok(());
                        }
                    }
                }
                if has_empty {
                    parts.push(self.productions.automata.terms().epsilon());
                }
                self.productions.automata.terms_mut().union(&parts)
            }
        };
        let label = user_name.unwrap_or_else(|| self.body_label(index).into());
        self.folded[index] = Some(self.add(term, &label));
        Ok(())
    }

    /// How a made rule reads, for its terminal's label.
    fn body_label(&self, index: usize) -> String {
        match &self.productions.rules[index].body {
            Body::Repeat { symbol, min, max } => {
                let inner = self.productions.symbol_name(*symbol);
                let suffix = crate::grammar::repetition_suffix(*min, *max);
                if inner.contains([' ', '·']) && !inner.starts_with('(') {
                    format!("({inner}){suffix}")
                } else {
                    format!("{inner}{suffix}")
                }
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
        if self.weight(left)? != Weight::Small || self.weight(right)? != Weight::Small {
            return Ok(None);
        }
        let (Some(left_term), Some(right_term)) = (self.term(left), self.term(right)) else {
            return Ok(None);
        };
        let term = self.productions.automata.terms_mut().concat(&[left_term, right_term]);
        if self.term_weight(term)? != Weight::Small {
            return Ok(None);
        }
        let labels = [left, right].map(|id| self.productions.terminals[id.index()].label.clone());
        Ok(Some(self.add(term, &join_labels(&labels, "·"))))
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
            Terminal::Limited { .. } | Terminal::Token(_) | Terminal::AnyToken => None,
        }
    }

    fn add(&mut self, term: TermId, label: &str) -> TerminalId {
        self.productions.add_terminal(Terminal::Regular(term), label.into())
    }

    fn take_body(&mut self, index: usize) -> Body {
        match &mut self.productions.rules[index].body {
            Body::Alternatives(alternatives) => Body::Alternatives(std::mem::take(alternatives)),
            repeat @ Body::Repeat { .. } => repeat.clone(),
        }
    }

    fn weight(&mut self, id: TerminalId) -> Result<Weight, LimitExceeded> {
        self.weights.resize(self.productions.terminals.len(), None);
        if let Some(weight) = self.weights[id.index()] {
            return Ok(weight);
        }
        let weight = match &self.productions.terminals[id.index()].terminal {
            Terminal::Literal(bytes) if bytes.len() < SMALL_STATES => Weight::Small,
            Terminal::Literal(_) => Weight::Large,
            Terminal::Regular(term) => self.term_weight(*term)?,
            Terminal::Limited { .. } | Terminal::Token(_) | Terminal::AnyToken => Weight::Opaque,
        };
        self.weights[id.index()] = Some(weight);
        Ok(weight)
    }

    /// Walks the automaton until it proves too large, or to have a wide loop.
    fn term_weight(&mut self, term: TermId) -> Result<Weight, LimitExceeded> {
        let automata = &mut self.productions.automata;
        let Some(start) = automata.start(term)? else { return Ok(Weight::Small) };
        let mut states: Vec<StateId> = vec![start];
        let mut successors: Vec<Vec<usize>> = Vec::new();
        let mut is_wide = Vec::new();
        while let Some(&state) = states.get(successors.len()) {
            let first = automata.first_bytes(state)?;
            is_wide.push(first.len() >= WIDE_BYTES);
            let mut targets = Vec::new();
            for (low, high) in first.ranges() {
                for byte in low..=high {
                    let Some(target) = automata.step(state, byte)? else { continue };
                    let known = states.iter().position(|&known| known == target);
                    targets.push(known.unwrap_or(states.len()));
                    if known.is_none() {
                        states.push(target);
                    }
                }
            }
            if states.len() > SMALL_STATES {
                return Ok(Weight::Large);
            }
            targets.sort_unstable();
            targets.dedup();
            successors.push(targets);
        }
        let components = strong_components(&successors);
        let mut sizes = vec![0; components.count];
        for &component in &components.of_node {
            sizes[component] += 1;
        }
        let has_wide_loop = (0..states.len()).any(|state| {
            is_wide[state] && (sizes[components.of_node[state]] > 1 || successors[state].contains(&state))
        });
        Ok(if has_wide_loop { Weight::Large } else { Weight::Small })
    }
}

/// Longest label of a merged terminal, in characters; the rest is cut.
const LABEL_LENGTH: usize = 60;

fn join_labels(labels: &[Arc<str>], separator: &str) -> String {
    let mut joined = String::new();
    for (index, label) in labels.iter().enumerate() {
        if index > 0 {
            joined.push_str(separator);
        }
        if joined.chars().count() + label.chars().count() > LABEL_LENGTH && index > 0 {
            joined.push('…');
            break;
        }
        joined.push_str(label);
    }
    joined
}
