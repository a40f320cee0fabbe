//! Pass: `?`, `*` and `+` become alternatives, with left recursion; bounded repetitions stay counted.
//!
//! `r ::= x*` becomes `r ::= "" | r x`, and `r ::= x+` becomes `r ::= x | r x`: left recursion needs no continuations.
//! Repetitions of values in a scope become right recursion, because what follows a value depends on it.

use super::productions::{Body, Productions, Symbol};
use grammask_grammar::NonterminalId;

/// Expands the repetitions without counters.
pub fn expand_repetitions(productions: &mut Productions) {
    let has_values = super::values::rules_with_values(productions);
    for (index, rule) in productions.rules.iter_mut().enumerate() {
        let Body::Repeat { symbol, min, max } = rule.body else { continue };
        let own = Symbol::Nonterminal(NonterminalId::new(index));
        let is_right = matches!(symbol, Symbol::Nonterminal(id) if has_values[id.index()]);
        let more = if is_right { vec![symbol, own] } else { vec![own, symbol] };
        let alternatives = match (min, max) {
            (_, Some(0)) => vec![vec![]],
            (1, Some(1)) => vec![vec![symbol]],
            (0, Some(1)) => vec![vec![symbol], vec![]],
            (0, None) => vec![vec![], more],
            (1, None) => vec![vec![symbol], more],
            _ => continue,
        };
        rule.body = Body::Alternatives(alternatives);
    }
}
