//! Pass: eliminates nullable symbols, in a grammar of linear size.
//!
//! Enumerating the subsets of the nullable symbols of a production takes 2^n productions. Here the suffix of a
//! production after a nullable symbol becomes a nonterminal for the nonempty texts of the suffix:
//!
//! ```text
//! a ::= x? y? z?      becomes      a ::= x a.rest1 | x | a.rest1
//!                                  a.rest1 ::= y z | y | z
//! ```
//!
//! so n nullable symbols cost n nonterminals of three alternatives. A nullable terminal keeps its automaton: the
//! recogniser never accepts a terminal before its first byte.

use std::sync::Arc;

use super::derivability::Derivability;
use super::productions::{Body, Productions, Symbol};

/// Eliminates the empty text; sets [`Productions::start_is_nullable`].
pub fn eliminate_nullable(productions: &mut Productions, derivability: &Derivability) {
    productions.start_is_nullable = derivability.finite(Symbol::Nonterminal(productions.start)).empty;
    for index in 0..productions.rules.len() {
        let body = std::mem::replace(&mut productions.rules[index].body, Body::Alternatives(Vec::new()));
        let body = match body {
            // Its parts and separator are not nullable.
            selection @ Body::Selection { .. } => selection,
            Body::Scope(symbol) if derivability.is_only_empty(symbol) => Body::Alternatives(Vec::new()),
            scope @ (Body::Scope(_) | Body::Value { .. }) => scope,
            Body::Repeat { symbol, min, max } => {
                // Only nonempty copies count, since empty ones can be omitted.
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
                let mut elimination =
                    NullableElimination { productions, derivability, name: &name, suffixes: 0 };
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

struct NullableElimination<'a> {
    productions: &'a mut Productions,
    derivability: &'a Derivability,
    /// The rule whose alternatives are rewritten.
    name: &'a Arc<str>,
    /// Number of suffixes that became nonterminals of their own.
    suffixes: usize,
}

impl NullableElimination<'_> {
    /// Adds to `out` alternatives for the nonempty texts of `symbols`.
    fn alternative(&mut self, mut symbols: Vec<Symbol>, out: &mut Vec<Vec<Symbol>>) {
        let derivability = self.derivability;
        let is_nullable = |symbol: Symbol| derivability.finite(symbol).empty;
        symbols.retain(|&symbol| !derivability.is_only_empty(symbol));
        if !symbols.iter().any(|&symbol| is_nullable(symbol)) {
            out.extend((!symbols.is_empty()).then_some(symbols));
            return;
        }
        // Alternatives for the nonempty texts of the suffix, each reversed, so that a symbol is prepended by a push;
        // and whether the suffix is nullable.
        let mut suffix: Vec<Vec<Symbol>> = Vec::new();
        let mut suffix_is_nullable = true;
        for symbol in symbols.into_iter().rev() {
            if suffix.len() > 1 {
                suffix = vec![vec![self.suffix_symbol(suffix)]];
            }
            if let Some(follow) = suffix.first_mut() {
                if !is_nullable(symbol) && !suffix_is_nullable {
                    follow.push(symbol);
                    continue;
                }
                let mut with = follow.clone();
                with.push(symbol);
                suffix.insert(0, with);
                if !is_nullable(symbol) {
                    suffix.truncate(1);
                }
                if suffix_is_nullable {
                    suffix.insert(1, vec![symbol]);
                }
            } else {
                suffix.push(vec![symbol]);
            }
            suffix_is_nullable &= is_nullable(symbol);
        }
        out.extend(suffix.into_iter().map(reversed));
    }

    /// A new nonterminal with the given alternatives, which are reversed.
    fn suffix_symbol(&mut self, alternatives: Vec<Vec<Symbol>>) -> Symbol {
        self.suffixes += 1;
        let name = format!("{}.rest{}", self.name, self.suffixes).into();
        let body = Body::Alternatives(alternatives.into_iter().map(reversed).collect());
        Symbol::Nonterminal(self.productions.add_rule(name, body))
    }
}

fn reversed(mut symbols: Vec<Symbol>) -> Vec<Symbol> {
    symbols.reverse();
    symbols
}
