//! Regular expressions of ECMA-262, as texts, with groups up to a certain depth.
//!
//! What is balanced or counted in them is not regular, so valid expressions are left out here: groups nested deeper
//! than [`MOST_DEPTH`], back-references, `\0`, counts above 99, ranges between other characters than digits and some
//! letters, two bounds of two digits. The automaton has to stay small: people combine `regex` with patterns.
//! Everything else is as with the `u` flag, but any punctuation may be escaped.

use std::fmt::Write;

use super::super::pattern::PatternError;
use super::Maker;
use crate::automata::TermId;

/// How deep groups may be nested.
const MOST_DEPTH: usize = 3;

/// Escapes that stand for a character or a class, after the backslash. Letters escape nothing else.
const ESCAPE: &str = "[dDsSwWtnvfr]|c[A-Za-z]|x[0-9A-Fa-f]{2}|u[0-9A-CE-Fa-ce-f][0-9A-Fa-f]{3}|u[Dd][0-7][0-9A-Fa-f]{2}|\
     u\\{0*(?:[0-9A-Fa-f]{1,5}|10[0-9A-Fa-f]{4})\\}|[pP]\\{(?:L[ulmto]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfon]?|\
     (?:Script|sc|scx|Script_Extensions)=(?:Latin|Greek|Cyrillic|Han|Hiragana|Katakana|Arabic|Hebrew|Thai|Hangul)|\
     Letter|Alphabetic|Uppercase|Lowercase|White_Space|Any|ASCII|ASCII_Hex_Digit|Emoji)\\}|[^A-Za-z0-9]";

/// The regular expressions.
pub(super) fn regex(maker: &mut Maker) -> Result<TermId, PatternError> {
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
    let mut inside = maker.terms.nothing();
    for _ in 0..=MOST_DEPTH {
        let group = maker.terms.concat(&[open, inside, close, quantifier]);
        let looking = maker.terms.concat(&[look, inside, close]);
        let part = maker.terms.union(&[atom_text, assertion, group, looking]);
        let branch = maker.terms.repeat(part, 0, None);
        inside = maker.separated(branch, bar);
    }
    Ok(inside)
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
