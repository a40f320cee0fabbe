//! Pass: no symbol derives the empty text any more, in a grammar of linear size.
//!
//! Expanding every subset of the optional symbols of a production makes 2^n productions. Here the rest of a
//! production after an optional symbol becomes a nonterminal for its nonempty texts:
//!
//! ```text
//! a ::= x? y? z?      becomes      a ::= x a.rest1 | x | a.rest1
//!                                  a.rest1 ::= y z | y | z
//! ```
//!
//! so n optional symbols make n nonterminals of three alternatives. A nullable terminal stays the same automaton:
//! the recogniser never accepts a terminal before its first byte.

use std::sync::Arc;

use super::derivability::Derivability;
use super::productions::{Body, Productions, Symbol};

/// Eliminates the empty text; sets [`Productions::start_is_nullable`].
pub fn eliminate_nullable(productions: &mut Productions, derivability: &Derivability) {
    productions.start_is_nullable = derivability.finite(Symbol::Nonterminal(productions.start)).empty;
    for index in 0..productions.rules.len() {
        let body = std::mem::replace(&mut productions.rules[index].body, Body::Alternatives(Vec::new()));
        let body = match body {
            // Nothing in it is nullable.
            selection @ Body::Selection { .. } => selection,
            Body::Repeat { symbol, min, max } => {
                // Empty copies may be left out, so only the nonempty ones count.
                let min = if derivability.finite(symbol).empty { 1 } else { min.max(1) };
                if derivability.is_only_empty(symbol) || max == Some(0) {
                    Body::Alternatives(Vec::new())
                } else if (min, max) == (1, Some(1)) {
                    Body::Alternatives(vec![vec![symbol]])
                } else {
                    Body::Repeat { symbol, min, max }
                }
            }
            Body::Alternatives(alternatives) => {
                let name = productions.rules[index].name.clone();
                let mut elimination = Elimination { productions, derivability, name: &name, rests: 0 };
                let mut nonempty = Vec::new();
                for symbols in alternatives {
                    elimination.alternative(symbols, &mut nonempty);
                }
                Body::Alternatives(nonempty)
            }
        };
        productions.rules[index].body = body;
    }
}

struct Elimination<'a> {
    productions: &'a mut Productions,
    derivability: &'a Derivability,
    /// The rule whose alternatives are rewritten.
    name: &'a Arc<str>,
    /// How many rests were made for it.
    rests: usize,
}

impl Elimination<'_> {
    /// Adds to `out` alternatives for the nonempty texts of `symbols`.
    fn alternative(&mut self, mut symbols: Vec<Symbol>, out: &mut Vec<Vec<Symbol>>) {
        let derivability = self.derivability;
        let is_optional = |symbol: Symbol| derivability.finite(symbol).empty;
        symbols.retain(|&symbol| !derivability.is_only_empty(symbol));
        if !symbols.iter().any(|&symbol| is_optional(symbol)) {
            out.extend((!symbols.is_empty()).then_some(symbols));
            return;
        }
        // Alternatives for the nonempty texts of what follows, each in reverse, so that a symbol is put before
        // them by a push; and whether all of what follows is optional.
        let mut rest: Vec<Vec<Symbol>> = Vec::new();
        let mut rest_is_optional = true;
        for symbol in symbols.into_iter().rev() {
            if rest.len() > 1 {
                rest = vec![vec![self.rest_symbol(rest)]];
            }
            if let Some(follow) = rest.first_mut() {
                if !is_optional(symbol) && !rest_is_optional {
                    follow.push(symbol);
                    continue;
                }
                let mut with = follow.clone();
                with.push(symbol);
                rest.insert(0, with);
                if !is_optional(symbol) {
                    rest.truncate(1);
                }
                if rest_is_optional {
                    rest.insert(1, vec![symbol]);
                }
            } else {
                rest.push(vec![symbol]);
            }
            rest_is_optional &= is_optional(symbol);
        }
        out.extend(rest.into_iter().map(reversed));
    }

    /// A new nonterminal that derives what `alternatives`, given in reverse, derive.
    fn rest_symbol(&mut self, alternatives: Vec<Vec<Symbol>>) -> Symbol {
        self.rests += 1;
        let name = format!("{}.rest{}", self.name, self.rests).into();
        let body = Body::Alternatives(alternatives.into_iter().map(reversed).collect());
        Symbol::Nonterminal(self.productions.add_rule(name, body))
    }
}

fn reversed(mut symbols: Vec<Symbol>) -> Vec<Symbol> {
    symbols.reverse();
    symbols
}
