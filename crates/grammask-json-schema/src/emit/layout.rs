//! What stands between the parts of arrays and objects.
//!
//! Punctuation with white space around it is a rule, the same one everywhere: lowering looks at it once, and so do
//! masks. Punctuation that is a single word is that word, and becomes part of what stands beside it.

use crate::Whitespace;
use crate::emit::rules::{Part, Rules};
use grammask_automata::{ByteSet, TermId, Terms};

/// The punctuation of arrays, or of objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Brackets {
    /// The opening bracket, up to the first part.
    pub(crate) open: Part,
    /// What is behind the last part, with the closing bracket.
    pub(crate) close: Part,
    /// Both, where there are no parts.
    pub(crate) empty: Part,
}

/// Where something stands in an array or object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// At its beginning, before the bracket.
    First,
    /// Behind a part of it.
    Later,
}

impl Place {
    /// What comes before a part.
    pub(crate) fn before(self, brackets: &Brackets, next: Part) -> Part {
        match self {
            Self::First => brackets.open,
            Self::Later => next,
        }
    }

    /// What ends the array or object.
    pub(crate) fn end(self, brackets: &Brackets) -> Part {
        match self {
            Self::First => brackets.empty,
            Self::Later => brackets.close,
        }
    }
}

/// The punctuation of arrays and objects whose parts have one depth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Punctuation {
    pub(crate) array: Brackets,
    pub(crate) object: Brackets,
    /// Between two parts: the comma.
    pub(crate) next: Part,
    /// Between a name and its value: the colon.
    pub(crate) colon: Part,
}

/// The languages that punctuation is made of.
struct Gaps {
    /// Between the opening bracket and the first part.
    first: TermId,
    /// Between two parts; has the comma.
    next: TermId,
    /// Between the last part and the closing bracket.
    end: TermId,
    /// Between the brackets of an empty one.
    empty: TermId,
    /// Between a name and its value; has the colon.
    colon: TermId,
}

/// White space of more characters than this is counted by the grammar, in rules that all punctuation shares.
const FEW_SPACES: u32 = 8;

/// With indentation, texts of different depth are different languages, so they have an end.
pub(crate) const MOST_INDENTED: u32 = 64;

/// Makes punctuation, for each depth once.
#[derive(Debug)]
pub(crate) struct Layout {
    whitespace: Whitespace,
    by_depth: Vec<Option<Punctuation>>,
}

impl Layout {
    pub(crate) fn new(whitespace: Whitespace) -> Self {
        Self { whitespace, by_depth: Vec::new() }
    }

    /// The depth of what is inside something of that depth; none if it would be too deep. Depths that look alike
    /// are one.
    pub(crate) fn inside(&self, depth: u32) -> Option<u32> {
        match self.whitespace {
            Whitespace::Indent(_) => Some(depth + 1).filter(|&depth| depth <= MOST_INDENTED),
            _ => Some(depth),
        }
    }

    /// The punctuation of an array or object whose parts have that depth.
    pub(crate) fn punctuation(&mut self, terms: &mut Terms, rules: &mut Rules, depth: u32) -> Punctuation {
        let index = depth as usize;
        if self.by_depth.len() <= index {
            self.by_depth.resize(index + 1, None);
        }
        if let Some(known) = self.by_depth[index] {
            return known;
        }
        let punctuation = match self.whitespace {
            Whitespace::Flexible { most } if most > FEW_SPACES => counted(terms, rules, most),
            _ => self.made(terms, rules, depth),
        };
        self.by_depth[index] = Some(punctuation);
        punctuation
    }

    fn made(&self, terms: &mut Terms, rules: &mut Rules, depth: u32) -> Punctuation {
        let gaps = self.gaps(terms, depth);
        let mut brackets = |open: &[u8], close: &[u8], names: [&'static str; 3]| {
            let [first, last] = [open, close].map(|bracket| terms.literal(bracket));
            let (open, close) = (String::from_utf8_lossy(open), String::from_utf8_lossy(close));
            Brackets {
                open: part(terms, rules, names[0], &[first, gaps.first], &open),
                close: part(terms, rules, names[1], &[gaps.end, last], &close),
                empty: part(terms, rules, names[2], &[first, gaps.empty, last], &format!("{open}{close}")),
            }
        };
        Punctuation {
            array: brackets(b"[", b"]", ["open_array", "close_array", "empty_array"]),
            object: brackets(b"{", b"}", ["open_object", "close_object", "empty_object"]),
            next: part(terms, rules, "comma", &[gaps.next], ", "),
            colon: part(terms, rules, "colon", &[gaps.colon], ": "),
        }
    }

    fn gaps(&self, terms: &mut Terms, depth: u32) -> Gaps {
        let nothing = terms.epsilon();
        match &self.whitespace {
            Whitespace::Compact => Gaps {
                first: nothing,
                next: terms.literal(b","),
                end: nothing,
                empty: nothing,
                colon: terms.literal(b":"),
            },
            Whitespace::Separators { item, key } => Gaps {
                first: nothing,
                next: terms.literal(item.as_bytes()),
                end: nothing,
                empty: nothing,
                colon: terms.literal(key.as_bytes()),
            },
            &Whitespace::Flexible { most } => {
                let space = terms.bytes(white_space());
                let space = terms.repeat(space, 0, Some(most));
                let [comma, colon] = [b",", b":"].map(|mark| {
                    let mark = terms.literal(mark);
                    terms.concat(&[space, mark, space])
                });
                Gaps { first: space, next: comma, end: space, empty: space, colon }
            }
            &Whitespace::Indent(width) => {
                let line = |depth: u32| format!("\n{}", " ".repeat((width * depth) as usize));
                let (inside, outside) = (line(depth), line(depth.saturating_sub(1)));
                Gaps {
                    first: terms.literal(inside.as_bytes()),
                    next: terms.literal(format!(",{inside}").as_bytes()),
                    end: terms.literal(outside.as_bytes()),
                    empty: nothing,
                    colon: terms.literal(b": "),
                }
            }
        }
    }
}

fn white_space() -> ByteSet {
    b" \t\n\r".iter().fold(ByteSet::EMPTY, |set, &byte| set.union(ByteSet::single(byte)))
}

/// Punctuation with up to `most` characters of white space in each place.
fn counted(terms: &mut Terms, rules: &mut Rules, most: u32) -> Punctuation {
    let space = terms.bytes(white_space());
    let space = rules.add("space", [vec![Part::Text(space)]]);
    let gap = Part::Rule(rules.add("gap", [vec![Part::Repeat(space, 0, Some(most))]]));
    let mut mark = |byte: u8| Part::Mark(terms.literal(&[byte]));
    let [comma, colon] = [b',', b':'].map(&mut mark);
    let mut rule = |name: &'static str, parts: &[Part]| Part::Rule(rules.add(name, [parts.to_vec()]));
    let mut brackets = |open: u8, close: u8, names: [&'static str; 3]| {
        let (open, close) = (mark(open), mark(close));
        Brackets {
            open: rule(names[0], &[open, gap]),
            close: rule(names[1], &[gap, close]),
            empty: rule(names[2], &[open, gap, close]),
        }
    };
    Punctuation {
        array: brackets(b'[', b']', ["open_array", "close_array", "empty_array"]),
        object: brackets(b'{', b'}', ["open_object", "close_object", "empty_object"]),
        next: rule("comma", &[gap, comma, gap]),
        colon: rule("colon", &[gap, colon, gap]),
    }
}

/// Languages in a row as a word, or else as a rule.
fn part(terms: &mut Terms, rules: &mut Rules, name: &'static str, row: &[TermId], label: &str) -> Part {
    let term = terms.concat(row);
    if terms.word(term).is_some() {
        return Part::Mark(term);
    }
    rules.label(term, || label.to_owned());
    Part::Rule(rules.add(name, [vec![Part::Mark(term)]]))
}
