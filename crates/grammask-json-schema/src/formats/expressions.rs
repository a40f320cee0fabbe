//! Regular expressions of ECMA-262, as texts, with groups up to a certain depth.
//!
//! What is balanced or counted in them is not regular, so valid expressions are left out here: groups nested deeper
//! than [`MOST_DEPTH`], back-references, `\0`, counts above 99, ranges between other characters than digits and some
//! letters, two bounds of two digits. The automaton has to stay small: people combine `regex` with patterns.
//! Everything else is as with the `u` flag, but any punctuation may be escaped.

use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::super::pattern::PatternError;
use super::Maker;
use grammask_automata::{Table, TableBuilder, TableState, TermId};

/// How deep groups may be nested.
const MOST_DEPTH: usize = 3;

/// Escapes that stand for a character or a class, after the backslash. Letters escape nothing else.
const ESCAPE: &str = "[dDsSwWtnvfr]|c[A-Za-z]|x[0-9A-Fa-f]{2}|u[0-9A-CE-Fa-ce-f][0-9A-Fa-f]{3}|u[Dd][0-7][0-9A-Fa-f]{2}|\
     u\\{0*(?:[0-9A-Fa-f]{1,5}|10[0-9A-Fa-f]{4})\\}|[pP]\\{(?:L[ulmto]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfon]?|\
     (?:Script|sc|scx|Script_Extensions)=(?:Latin|Greek|Cyrillic|Han|Hiragana|Katakana|Arabic|Hebrew|Thai|Hangul)|\
     Letter|Alphabetic|Uppercase|Lowercase|White_Space|Any|ASCII|ASCII_Hex_Digit|Emoji)\\}|[^A-Za-z0-9]";

/// Stands for what is inside a group where the automaton of one depth is made. No text has this byte.
const HOLE: u8 = 0xFF;

/// The regular expressions.
pub(super) fn regex(maker: &mut Maker) -> Result<TermId, PatternError> {
    let mut inside = maker.terms.nothing();
    for _ in 0..=MOST_DEPTH {
        inside = around(maker, inside)?;
    }
    Ok(inside)
}

/// The automaton of the same language, for spellings that write a parenthesis as itself: made of that of one depth, which
/// is a twentieth of the work. None if that takes more than `most_states` states.
pub(super) fn table(maker: &mut Maker, most_states: usize) -> Result<Option<Table>, PatternError> {
    let hole = maker.terms.literal(&[HOLE]);
    let flat = around(maker, hole)?;
    Ok(maker.terms.determinize(flat, most_states).map(|flat| nested(&flat)))
}

/// A copy of the automaton of one depth.
struct Copy {
    depth: usize,
    /// Its states, in the order of those that they are copies of.
    states: Vec<TableState>,
    /// The copy around it, and the state there that follows the hole.
    around: Option<(usize, TableState)>,
}

/// Puts copies of the automaton `flat` into its holes. Cost: linear in the result.
fn nested(flat: &Table) -> Table {
    let mut builder = TableBuilder::new();
    let first = flat.start();
    let mut states = || -> Vec<TableState> { (0..flat.len()).map(|_| builder.add_state()).collect() };
    let mut copies = vec![Copy { depth: 0, states: states(), around: None }];
    let mut inner: FxHashMap<(usize, TableState), usize> = FxHashMap::default();
    let mut next = 0;
    while next < copies.len() {
        if copies[next].depth < MOST_DEPTH {
            for after in flat.states().filter_map(|state| flat.next(state, HOLE)) {
                inner.entry((next, after)).or_insert_with(|| {
                    let depth = copies[next].depth + 1;
                    copies.push(Copy { depth, states: states(), around: Some((next, after)) });
                    copies.len() - 1
                });
            }
        }
        next += 1;
    }
    let edges = |copy: &Copy, state: TableState| -> Vec<(u8, u8, TableState)> {
        let plain = flat.edges(state).filter(|&(low, _, _)| low != HOLE);
        plain.map(|(low, high, to)| (low, high, copy.states[to.index()])).collect()
    };
    for (index, copy) in copies.iter().enumerate() {
        for state in flat.states() {
            let mut found = edges(copy, state);
            // What is inside may begin, and it may end where it begins; where it ends, what follows goes on.
            let inside = flat.next(state, HOLE).and_then(|after| inner.get(&(index, after)));
            let mut ending = vec![(copy, state)];
            if let (Some(&inside), Some(first)) = (inside, first) {
                found.extend(edges(&copies[inside], first));
                ending.push((&copies[inside], first));
            }
            for (copy, state) in ending {
                match copy.around {
                    _ if !flat.is_accepting(state) => {}
                    Some((around, after)) => found.extend(edges(&copies[around], after)),
                    None => builder.accept(copy.states[state.index()]),
                }
            }
            for (low, high, to) in found {
                builder.transition(copy.states[state.index()], low, high, to);
            }
        }
    }
    match first {
        Some(first) => builder.finish(copies[0].states[first.index()]),
        None => {
            let start = builder.add_state();
            builder.finish(start)
        }
    }
}

/// The regular expressions whose groups hold `inside`.
fn around(maker: &mut Maker, inside: TermId) -> Result<TermId, PatternError> {
    let quantifier = format!("(?:[*+?]|\\{{(?:\\d{{1,2}},?|{})\\}})\\??", ascending_counts());
    let quantifier = maker.full(&quantifier)?;
    let quantifier = maker.terms.repeat(quantifier, 0, Some(1));
    let single = format!("[^\\\\\\]-]|\\\\(?:b|-|{ESCAPE})");
    let atom = maker.full(&format!(
        "[^\\\\^$.*+?()\\[\\]{{}}|]|\\.|\\\\(?:{ESCAPE})|\\[\\^?-?(?:(?:{})-?|(?:{single}))*-?\\]",
        ascending_ranges()
    ))?;
    let atom_text = maker.terms.concat(&[atom, quantifier]);
    let assertion = maker.full("[$^]|\\\\[bB]")?;
    let bar = maker.full("\\|")?;
    let open = maker.full("\\((?:\\?(?::|<[A-Za-z_$][A-Za-z0-9_$]*>))?")?;
    let look = maker.full("\\(\\?<?[=!]")?;
    let close = maker.full("\\)")?;
    let group = maker.terms.concat(&[open, inside, close, quantifier]);
    let looking = maker.terms.concat(&[look, inside, close]);
    let part = maker.terms.union(&[atom_text, assertion, group, looking]);
    let branch = maker.terms.repeat(part, 0, None);
    Ok(maker.separated(branch, bar))
}

/// Two counts, the first not above the second: of one digit each, or of one and two.
fn ascending_counts() -> String {
    let mut counts = String::from("\\d,[1-9]\\d");
    for first in 0..10 {
        let _ = write!(counts, "|{first},[{first}-9]");
    }
    counts
}

/// Two characters with a hyphen between, the first not above the second: two digits, or letters of one case of which
/// the first is the first of all or the last the last of all, which keeps the automaton small.
fn ascending_ranges() -> String {
    let mut ranges = vec!["a-[a-z]|[a-z]-z|A-[A-Z]|[A-Z]-Z".to_owned()];
    ranges.extend((0..10).map(|first| format!("{first}-[{first}-9]")));
    ranges.join("|")
}
