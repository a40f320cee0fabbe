//! The punctuation of arrays and objects with the white space around it.
//!
//! Punctuation with white space is a rule, shared by all arrays and objects, so that lowering and masks process it once.
//! Punctuation that is a single word is markup, merged into the adjacent terminal.

use crate::emit::rules::{RulePart, Rules};
use crate::whitespace_pattern::white_space;
use crate::{Separator, Whitespace};
use grammask_automata::{ByteSet, TermId, Terms};
use grammask_grammar::quote_bytes;

/// The brackets of arrays, or of objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Brackets {
    /// The opening bracket, with the white space before the first child.
    pub(crate) open: RulePart,
    /// The closing bracket, with the white space after the last child.
    pub(crate) close: RulePart,
    /// Both brackets of an empty array or object.
    pub(crate) empty: RulePart,
}

/// The punctuation of arrays and objects at one depth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Punctuation {
    pub(crate) array: Brackets,
    pub(crate) object: Brackets,
    /// Between two children.
    pub(crate) comma: RulePart,
    /// Between a name and its value.
    pub(crate) colon: RulePart,
}

/// The languages of white space around punctuation.
struct Gaps {
    /// Between the opening bracket and the first child.
    first: TermId,
    /// Between two children, with the comma.
    comma: TermId,
    /// Between the last child and the closing bracket.
    last: TermId,
    /// Between the brackets of an empty array or object.
    empty: TermId,
    /// Between a name and its value, with the colon.
    colon: TermId,
}

impl Gaps {
    /// The same white space at all places.
    fn everywhere(terms: &mut Terms, space: TermId) -> Self {
        let [comma, colon] = [b",", b":"].map(|mark| {
            let mark = terms.literal(mark);
            terms.concat(&[space, mark, space])
        });
        Self { first: space, comma, last: space, empty: space, colon }
    }
}

/// Maximum indentation of natural white space, in characters.
const MAX_NATURAL_INDENTATION: u32 = 64;

/// Bound on white space, in characters, that is counted by an automaton; a larger bound is counted by a rule that all
/// punctuation shares.
const MAX_AUTOMATON_SPACES: u32 = 8;

/// Bound on the depth with indentation, where the punctuation of each depth is a different language.
pub(crate) const MAX_INDENTED_DEPTH: u32 = 64;

/// A memo table of punctuation by depth.
#[derive(Debug)]
pub(crate) struct PunctuationTable {
    whitespace: Whitespace,
    by_depth: Vec<Option<Punctuation>>,
}

impl PunctuationTable {
    pub(crate) fn new(whitespace: Whitespace) -> Self {
        Self { whitespace, by_depth: Vec::new() }
    }

    /// The depth of the children of a value at `depth`; `None` above the bound. Without indentation all depths are 0.
    pub(crate) fn child_depth(&self, depth: u32) -> Option<u32> {
        match self.whitespace {
            Whitespace::Indent(_) => Some(depth + 1).filter(|&depth| depth <= MAX_INDENTED_DEPTH),
            _ => Some(depth),
        }
    }

    /// The punctuation of an array or object whose children are at `depth`.
    pub(crate) fn at_depth(&mut self, terms: &mut Terms, rules: &mut Rules, depth: u32) -> Punctuation {
        let index = depth as usize;
        if self.by_depth.len() <= index {
            self.by_depth.resize(index + 1, None);
        }
        if let Some(cached) = self.by_depth[index] {
            return cached;
        }
        let punctuation = match self.whitespace {
            Whitespace::Flexible { max } if max > MAX_AUTOMATON_SPACES => counted_by_rule(terms, rules, max),
            _ => self.counted_by_automata(terms, rules, depth),
        };
        self.by_depth[index] = Some(punctuation);
        punctuation
    }

    fn counted_by_automata(&self, terms: &mut Terms, rules: &mut Rules, depth: u32) -> Punctuation {
        let gaps = self.gaps(terms, depth);
        let mut brackets = |open: &[u8], close: &[u8], kinds: [&'static str; 3]| {
            let [first, last] = [open, close].map(|bracket| terms.literal(bracket));
            let [open, close, empty] = [open, close, &[open, close].concat()].map(quote_bytes);
            Brackets {
                open: part(terms, rules, kinds[0], &[first, gaps.first], &open),
                close: part(terms, rules, kinds[1], &[gaps.last, last], &close),
                empty: part(terms, rules, kinds[2], &[first, gaps.empty, last], &empty),
            }
        };
        Punctuation {
            array: brackets(b"[", b"]", ["open_array", "close_array", "empty_array"]),
            object: brackets(b"{", b"}", ["open_object", "close_object", "empty_object"]),
            comma: part(terms, rules, "comma", &[gaps.comma], r#"",""#),
            colon: part(terms, rules, "colon", &[gaps.colon], r#"":""#),
        }
    }

    fn gaps(&self, terms: &mut Terms, depth: u32) -> Gaps {
        let nothing = terms.epsilon();
        match &self.whitespace {
            Whitespace::Compact => Gaps {
                first: nothing,
                comma: terms.literal(b","),
                last: nothing,
                empty: nothing,
                colon: terms.literal(b":"),
            },
            Whitespace::Separators { item, key } => Gaps {
                first: nothing,
                comma: separator(terms, item),
                last: nothing,
                empty: nothing,
                colon: separator(terms, key),
            },
            &Whitespace::Flexible { max } => {
                let space = terms.bytes(white_space());
                let space = terms.repeat(space, 0, Some(max));
                Gaps::everywhere(terms, space)
            }
            Whitespace::Natural => {
                let space = natural_space(terms);
                Gaps::everywhere(terms, space)
            }
            Whitespace::Pattern(pattern) => {
                let space = terms.table(pattern.table());
                Gaps::everywhere(terms, space)
            }
            &Whitespace::Indent(width) => {
                let line = |depth: u32| format!("\n{}", " ".repeat((width * depth) as usize));
                let (inside, outside) = (line(depth), line(depth.saturating_sub(1)));
                Gaps {
                    first: terms.literal(inside.as_bytes()),
                    comma: terms.literal(format!(",{inside}").as_bytes()),
                    last: terms.literal(outside.as_bytes()),
                    empty: nothing,
                    colon: terms.literal(b": "),
                }
            }
        }
    }
}

fn separator(terms: &mut Terms, separator: &Separator) -> TermId {
    match separator {
        Separator::Text(text) => terms.literal(text.as_bytes()),
        Separator::Pattern(pattern) => terms.table(pattern.table()),
    }
}

/// Nothing, a space, or a line end with indentation.
fn natural_space(terms: &mut Terms) -> TermId {
    let indentation = terms.bytes(ByteSet::single(b' ').union(ByteSet::single(b'\t')));
    let indentation = terms.repeat(indentation, 0, Some(MAX_NATURAL_INDENTATION));
    let line = terms.literal(b"\n");
    let line = terms.concat(&[line, indentation]);
    let space = terms.literal(b" ");
    let nothing = terms.epsilon();
    terms.union(&[nothing, space, line])
}

/// Punctuation with up to `max` characters of white space in each gap, counted by a shared rule.
fn counted_by_rule(terms: &mut Terms, rules: &mut Rules, max: u32) -> Punctuation {
    let space = terms.bytes(white_space());
    rules.label(space, || "white space".to_owned());
    let space = rules.add("space", [vec![RulePart::Text(space)]]);
    let spaces = RulePart::Repeat { rule: space, min: 0, max: Some(max) };
    let gap = RulePart::Rule(rules.add("gap", [vec![spaces]]));
    let mut mark = |byte: u8| RulePart::Markup(terms.literal(&[byte]));
    let [comma, colon] = [b',', b':'].map(&mut mark);
    let mut rule = |kind: &'static str, parts: &[RulePart]| RulePart::Rule(rules.add(kind, [parts.to_vec()]));
    let mut brackets = |open: u8, close: u8, kinds: [&'static str; 3]| {
        let (open, close) = (mark(open), mark(close));
        Brackets {
            open: rule(kinds[0], &[open, gap]),
            close: rule(kinds[1], &[gap, close]),
            empty: rule(kinds[2], &[open, gap, close]),
        }
    };
    Punctuation {
        array: brackets(b'[', b']', ["open_array", "close_array", "empty_array"]),
        object: brackets(b'{', b'}', ["open_object", "close_object", "empty_object"]),
        comma: rule("comma", &[gap, comma, gap]),
        colon: rule("colon", &[gap, colon, gap]),
    }
}

/// The concatenation of `languages`: markup if it is a single word, a rule otherwise.
fn part(
    terms: &mut Terms,
    rules: &mut Rules,
    kind: &'static str,
    languages: &[TermId],
    label: &str,
) -> RulePart {
    let term = terms.concat(languages);
    if terms.word(term).is_some() {
        return RulePart::Markup(term);
    }
    rules.label(term, || label.to_owned());
    RulePart::Rule(rules.add(kind, [vec![RulePart::Markup(term)]]))
}
