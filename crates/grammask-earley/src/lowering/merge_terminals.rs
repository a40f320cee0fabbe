//! Pass: adjacent literals become one, and empty literals are removed.
//!
//! `"a" "b" x` becomes `"ab" x`.

use rustc_hash::FxHashMap;

use super::productions::{Body, Productions, Symbol};
use grammask_grammar::{Terminal, TerminalId, quote_bytes};

/// Merges adjacent literals.
pub fn merge_terminals(productions: &mut Productions) {
    let is_literal: Vec<(bool, bool)> = productions
        .terminals
        .iter()
        .map(|definition| match &definition.terminal {
            Terminal::Literal(bytes) => (true, bytes.is_empty()),
            _ => (false, false),
        })
        .collect();
    let kind = |symbol: Symbol| match symbol {
        Symbol::Terminal(id) => is_literal[id.index()],
        Symbol::Nonterminal(_) => (false, false),
    };
    let needs_merging = |symbols: &[Symbol]| {
        symbols.windows(2).any(|pair| kind(pair[0]).0 && kind(pair[1]).0)
            || symbols.iter().any(|&symbol| kind(symbol).1)
    };
    // The ids of literals, computed when the first literals are merged.
    let mut ids: Option<FxHashMap<Box<[u8]>, TerminalId>> = None;
    let mut rules = std::mem::take(&mut productions.rules);
    for rule in &mut rules {
        let Body::Alternatives(alternatives) = &mut rule.body else { continue };
        for symbols in alternatives {
            if !needs_merging(symbols) {
                continue;
            }
            let ids = ids.get_or_insert_with(|| literal_ids(productions));
            let mut merged: Vec<Symbol> = Vec::with_capacity(symbols.len());
            let mut bytes: Vec<u8> = Vec::new();
            for &symbol in symbols.iter() {
                if let Some(literal) = literal(productions, symbol) {
                    bytes.extend_from_slice(literal);
                } else {
                    flush(productions, ids, &mut bytes, &mut merged);
                    merged.push(symbol);
                }
            }
            flush(productions, ids, &mut bytes, &mut merged);
            *symbols = merged;
        }
    }
    productions.rules = rules;
}

fn literal_ids(productions: &Productions) -> FxHashMap<Box<[u8]>, TerminalId> {
    let mut ids = FxHashMap::default();
    for (index, definition) in productions.terminals.iter().enumerate() {
        if let Terminal::Literal(bytes) = &definition.terminal {
            ids.entry(bytes.clone()).or_insert(TerminalId::new(index));
        }
    }
    ids
}

fn literal(productions: &Productions, symbol: Symbol) -> Option<&[u8]> {
    match symbol {
        Symbol::Terminal(id) => match &productions.terminals[id.index()].terminal {
            Terminal::Literal(bytes) => Some(bytes),
            _ => None,
        },
        Symbol::Nonterminal(_) => None,
    }
}

fn flush(
    productions: &mut Productions,
    ids: &mut FxHashMap<Box<[u8]>, TerminalId>,
    bytes: &mut Vec<u8>,
    merged: &mut Vec<Symbol>,
) {
    if bytes.is_empty() {
        return;
    }
    let bytes: Box<[u8]> = std::mem::take(bytes).into();
    let id = *ids.entry(bytes).or_insert_with_key(|bytes| {
        productions.add_terminal(Terminal::Literal(bytes.clone()), quote_bytes(bytes).into())
    });
    merged.push(Symbol::Terminal(id));
}
