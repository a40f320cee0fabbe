//! Pass: a rule that is just another symbol is replaced by it; a repetition of a repetition becomes one.
//!
//! `start ::= a "x"; a ::= b; b ::= "y" "z" | "w";` becomes `start ::= b "x"; b ::= ...;`, and
//! `a ::= b+; b ::= "c"?;` becomes `a ::= "c"*;`.

use super::productions::{Body, Productions, Symbol};
use grammask_grammar::NonterminalId;

/// Removes unit rules and composes repetitions.
pub fn remove_unit_rules(productions: &mut Productions) {
    let targets = unit_targets(productions);
    let is_unit = |(index, &target)| target != Symbol::Nonterminal(NonterminalId::new(index));
    let has_units = targets.iter().enumerate().any(is_unit);
    if has_units {
        for rule in &mut productions.rules {
            rule.body.map(|symbol| match symbol {
                Symbol::Nonterminal(id) => targets[id.index()],
                Symbol::Terminal(_) => symbol,
            });
        }
    }
    if compose_repetitions(productions) || has_units {
        super::drop_useless::drop_unreachable(productions);
    }
}

/// The symbol that replaces each nonterminal after following unit rules. In a cycle of unit rules nothing is replaced.
fn unit_targets(productions: &Productions) -> Vec<Symbol> {
    let own = |index: usize| Symbol::Nonterminal(NonterminalId::new(index));
    let next = |symbol: Symbol| match symbol {
        Symbol::Nonterminal(id) if id != productions.start => match productions.body(id).alternatives() {
            [symbols] => match symbols[..] {
                [only] => Some(only),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    let mut targets: Vec<Option<Symbol>> = vec![None; productions.rules.len()];
    let mut visited_from = vec![usize::MAX; productions.rules.len()];
    let mut path = Vec::new();
    for index in 0..targets.len() {
        let mut symbol = own(index);
        let target = loop {
            if let Symbol::Nonterminal(id) = symbol {
                if let Some(target) = targets[id.index()] {
                    break target;
                }
                if std::mem::replace(&mut visited_from[id.index()], index) == index {
                    break symbol;
                }
                path.push(id);
            }
            match next(symbol) {
                Some(next) => symbol = next,
                None => break symbol,
            }
        };
        for id in path.drain(..) {
            targets[id.index()] = Some(target);
        }
    }
    targets.into_iter().enumerate().map(|(index, target)| target.unwrap_or_else(|| own(index))).collect()
}

/// Returns whether there were any.
fn compose_repetitions(productions: &mut Productions) -> bool {
    let mut has_composed = false;
    for index in 0..productions.rules.len() {
        // Longer chains, which do not occur in practice, stay uncomposed.
        for _ in 0..8 {
            let Body::Repeat { symbol: Symbol::Nonterminal(inner), min, max } = productions.rules[index].body
            else {
                break;
            };
            let Body::Repeat { symbol, min: inner_min, max: inner_max } = *productions.body(inner) else {
                break;
            };
            let Some((min, max)) = compose((min, max), (inner_min, inner_max)) else { break };
            productions.rules[index].body = Body::Repeat { symbol, min, max };
            has_composed = true;
        }
    }
    has_composed
}

/// The bounds of `x{inner}{outer}` as one repetition; `None` if the numbers of copies may have gaps.
fn compose(outer: (u32, Option<u32>), inner: (u32, Option<u32>)) -> Option<(u32, Option<u32>)> {
    let max = match (outer.1, inner.1) {
        (Some(0), _) | (_, Some(0)) => Some(0),
        (Some(outer), Some(inner)) => Some(outer.checked_mul(inner)?),
        _ => None,
    };
    match inner.0 {
        0 => Some((0, max)),
        1 => Some((outer.0, max)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::compose;

    #[test]
    fn composed_bounds_allow_the_same_counts() {
        let bounds = [
            (0, Some(1)),
            (1, None),
            (0, None),
            (1, Some(1)),
            (2, Some(3)),
            (1, Some(2)),
            (0, Some(0)),
            (2, None),
        ];
        for outer in bounds {
            for inner in bounds {
                let Some((min, max)) = compose(outer, inner) else { continue };
                for count in 0..20_u32 {
                    // `count` copies are allowed iff they can be split into a number of groups within the outer bounds.
                    let allowed = (outer.0..=outer.1.unwrap_or(20).min(20)).any(|groups| {
                        groups * inner.0 <= count
                            && inner.1.is_none_or(|max| count <= groups * max)
                            && (groups > 0 || count == 0)
                    });
                    assert_eq!(
                        count >= min && max.is_none_or(|max| count <= max),
                        allowed,
                        "{outer:?} {inner:?} {count}"
                    );
                }
            }
        }
    }
}
