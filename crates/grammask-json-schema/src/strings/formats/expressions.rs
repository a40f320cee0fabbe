//! Regular expressions of ECMA-262 as the language of the format `regex`, with a limit on the depth of groups.
//!
//! Balance and counting are not regular, so some valid expressions are excluded: groups nested deeper than
//! [`MAX_DEPTH`], back-references, `\0`, counts above 99, ranges other than between digits and between some letters,
//! and two bounds that both have two digits. The automaton has to be small because schemas combine `regex` with
//! patterns. Otherwise the syntax is that of the `u` flag, but any punctuation may be escaped.

use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::FormatBuilder;
use crate::strings::pattern::PatternError;
use grammask_automata::{Table, TableBuilder, TableState, TermId};

/// Maximum depth of nested groups.
const MAX_DEPTH: usize = 3;

/// Some invalid expressions: a quantifier without an atom, and the end of a group that was not opened.
pub(super) const INVALID: &str = r"^[*+?]|^[^\\\[(]*\)";

/// Escapes of a character or a class, after the backslash. No other letter may be escaped.
const ESCAPE: &str = "[dDsSwWtnvfr]|c[A-Za-z]|x[0-9A-Fa-f]{2}|u[0-9A-CE-Fa-ce-f][0-9A-Fa-f]{3}|u[Dd][0-7][0-9A-Fa-f]{2}|\
     u\\{0*(?:[0-9A-Fa-f]{1,5}|10[0-9A-Fa-f]{4})\\}|[pP]\\{(?:L[ulmto]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfon]?|\
     (?:Script|sc|scx|Script_Extensions)=(?:Latin|Greek|Cyrillic|Han|Hiragana|Katakana|Arabic|Hebrew|Thai|Hangul)|\
     Letter|Alphabetic|Uppercase|Lowercase|White_Space|Any|ASCII|ASCII_Hex_Digit|Emoji)\\}|[^A-Za-z0-9]";

/// A placeholder for the contents of a group while the automaton of one level is built. No text contains this byte.
const PLACEHOLDER: u8 = 0xFF;

/// The language as a term.
pub(super) fn regex(builder: &mut FormatBuilder) -> Result<TermId, PatternError> {
    let mut inside = builder.terms.nothing();
    for _ in 0..=MAX_DEPTH {
        inside = one_level(builder, inside)?;
    }
    Ok(inside)
}

/// The language as an automaton, for encodings in which a parenthesis has itself as its only encoding. Substituting the
/// automaton of one level into itself takes a twentieth of the work of determinising the term. `None` if one level has
/// more than `max_states` states.
pub(super) fn table(builder: &mut FormatBuilder, max_states: usize) -> Result<Option<Table>, PatternError> {
    let placeholder = builder.terms.literal(&[PLACEHOLDER]);
    let flat = one_level(builder, placeholder)?;
    Ok(builder.terms.determinize(flat, max_states).map(|flat| substitute_levels(&flat)))
}

/// A copy of the automaton of one level.
struct LevelCopy {
    depth: usize,
    /// The states, in the order of the original.
    states: Vec<TableState>,
    /// The index of the enclosing copy, and the state of the original after the placeholder.
    enclosing: Option<(usize, TableState)>,
}

/// Substitutes copies of `flat` for its placeholders. Cost: linear in the result.
fn substitute_levels(flat: &Table) -> Table {
    let mut builder = TableBuilder::new();
    let first = flat.start();
    let mut states = || -> Vec<TableState> { (0..flat.len()).map(|_| builder.add_state()).collect() };
    let mut copies = vec![LevelCopy { depth: 0, states: states(), enclosing: None }];
    let mut inner: FxHashMap<(usize, TableState), usize> = FxHashMap::default();
    let mut next = 0;
    while next < copies.len() {
        if copies[next].depth < MAX_DEPTH {
            for after in flat.states().filter_map(|state| flat.next(state, PLACEHOLDER)) {
                inner.entry((next, after)).or_insert_with(|| {
                    let depth = copies[next].depth + 1;
                    copies.push(LevelCopy { depth, states: states(), enclosing: Some((next, after)) });
                    copies.len() - 1
                });
            }
        }
        next += 1;
    }
    let edges = |copy: &LevelCopy, state: TableState| -> Vec<(u8, u8, TableState)> {
        let plain = flat.edges(state).filter(|&(low, _, _)| low != PLACEHOLDER);
        plain.map(|(low, high, to)| (low, high, copy.states[to.index()])).collect()
    };
    for (index, copy) in copies.iter().enumerate() {
        for state in flat.states() {
            let mut transitions = edges(copy, state);
            // The group's contents may begin, and may end at once if they are empty. At their end the enclosing copy
            // continues.
            let inside = flat.next(state, PLACEHOLDER).and_then(|after| inner.get(&(index, after)));
            let mut ending = vec![(copy, state)];
            if let (Some(&inside), Some(first)) = (inside, first) {
                transitions.extend(edges(&copies[inside], first));
                ending.push((&copies[inside], first));
            }
            for (copy, state) in ending {
                match copy.enclosing {
                    _ if !flat.is_accepting(state) => {}
                    Some((enclosing, after)) => transitions.extend(edges(&copies[enclosing], after)),
                    None => builder.accept(copy.states[state.index()]),
                }
            }
            for (low, high, to) in transitions {
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

/// The regular expressions whose groups contain `inside`.
fn one_level(builder: &mut FormatBuilder, inside: TermId) -> Result<TermId, PatternError> {
    let quantifier = format!("(?:[*+?]|\\{{(?:\\d{{1,2}},?|{})\\}})\\??", ascending_counts());
    let quantifier = builder.full(&quantifier)?;
    let quantifier = builder.terms.repeat(quantifier, 0, Some(1));
    let single = format!("[^\\\\\\]-]|\\\\(?:b|-|{ESCAPE})");
    let atom = builder.full(&format!(
        "[^\\\\^$.*+?()\\[\\]{{}}|]|\\.|\\\\(?:{ESCAPE})|\\[\\^?-?(?:(?:{})-?|(?:{single}))*-?\\]",
        ascending_ranges()
    ))?;
    let atom_text = builder.terms.concat(&[atom, quantifier]);
    let assertion = builder.full("[$^]|\\\\[bB]")?;
    let bar = builder.full("\\|")?;
    let open = builder.full("\\((?:\\?(?::|<[A-Za-z_$][A-Za-z0-9_$]*>))?")?;
    let open_lookaround = builder.full("\\(\\?<?[=!]")?;
    let close = builder.full("\\)")?;
    let group = builder.terms.concat(&[open, inside, close, quantifier]);
    let lookaround = builder.terms.concat(&[open_lookaround, inside, close]);
    let part = builder.terms.union(&[atom_text, assertion, group, lookaround]);
    let branch = builder.terms.repeat(part, 0, None);
    Ok(builder.separated(branch, bar, None))
}

/// Two ascending counts: of one digit each, or of one digit and of two.
fn ascending_counts() -> String {
    let mut counts = String::from("\\d,[1-9]\\d");
    for first in 0..10 {
        let _ = write!(counts, "|{first},[{first}-9]");
    }
    counts
}

/// Ascending ranges of characters: two digits, or two letters of one case of which the first is the first of the
/// alphabet or the last the last, which bounds the size of the automaton.
fn ascending_ranges() -> String {
    let mut ranges = vec!["a-[a-z]|[a-z]-z|A-[A-Z]|[A-Z]-Z".to_owned()];
    ranges.extend((0..10).map(|first| format!("{first}-[{first}-9]")));
    ranges.join("|")
}
