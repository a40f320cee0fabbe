//! What stands between the parts of arrays and objects.

use super::Whitespace;
use crate::automata::{ByteSet, TermId, Terms};

/// The texts around the parts of one array or object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gaps {
    /// Between the opening bracket and the first part.
    pub(super) first: TermId,
    /// Between two parts; has the comma.
    pub(super) next: TermId,
    /// Between the last part and the closing bracket.
    pub(super) end: TermId,
    /// Between the brackets of an empty one.
    pub(super) empty: TermId,
    /// Between a name and its value; has the colon.
    pub(super) colon: TermId,
}

/// With indentation, texts of different depth are different languages, so they have an end.
pub(super) const MOST_INDENTED: u32 = 64;

/// Makes gaps, each once.
#[derive(Debug)]
pub(super) struct Layout {
    whitespace: Whitespace,
    by_depth: Vec<Option<Gaps>>,
}

impl Layout {
    pub(super) fn new(whitespace: Whitespace) -> Self {
        Self { whitespace, by_depth: Vec::new() }
    }

    /// The depth of what is inside something of that depth; none if it would be too deep. Depths that look alike
    /// are one.
    pub(super) fn inside(&self, depth: u32) -> Option<u32> {
        match self.whitespace {
            Whitespace::Indent(_) => Some(depth + 1).filter(|&depth| depth <= MOST_INDENTED),
            _ => Some(depth),
        }
    }

    /// The gaps of an array or object whose parts have that depth.
    pub(super) fn gaps(&mut self, terms: &mut Terms, depth: u32) -> Gaps {
        let index = depth as usize;
        if self.by_depth.len() <= index {
            self.by_depth.resize(index + 1, None);
        }
        if let Some(gaps) = self.by_depth[index] {
            return gaps;
        }
        let nothing = terms.epsilon();
        let gaps = match &self.whitespace {
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
                let space = b" \t\n\r".iter().fold(ByteSet::EMPTY, |mut set, &byte| {
                    set.insert(byte);
                    set
                });
                let space = terms.bytes(space);
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
        };
        self.by_depth[index] = Some(gaps);
        gaps
    }
}
