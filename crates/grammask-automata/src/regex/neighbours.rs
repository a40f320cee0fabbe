//! What assertions distinguish on either side of a position: the ends of the string, line breaks and word characters.

use std::slice;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look, LookSet};

use crate::{TermId, Terms};

/// The byte or character on one side of a position. The kinds are disjoint.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Neighbour {
    /// An end of the string.
    Edge,
    LineFeed,
    CarriageReturn,
    /// A character of the ASCII class `\w`.
    AsciiWord,
    /// Another character of the Unicode class `\w`.
    UnicodeWord,
    Other,
}

use Neighbour::{AsciiWord, CarriageReturn, Edge, LineFeed, Other, UnicodeWord};

impl Neighbour {
    const ALL: [Self; 6] = [Edge, LineFeed, CarriageReturn, AsciiWord, UnicodeWord, Other];

    /// What the assertions of a pattern tell about a neighbour. Equal answers make one group.
    fn distinction(self, looks: LookSet) -> [bool; 5] {
        let is_word = matches!(self, AsciiWord | UnicodeWord);
        [
            looks.contains_anchor() && self == Edge,
            looks.contains_anchor_line() && self == LineFeed,
            looks.contains_anchor_crlf() && self == CarriageReturn,
            looks.contains_word_ascii() && self == AsciiWord,
            looks.contains_word_unicode() && is_word,
        ]
    }
}

/// A set of neighbours as bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct NeighbourSet(u8);

impl NeighbourSet {
    pub(super) const EMPTY: Self = Self(0);
    pub(super) const ALL: Self = Self((1 << Neighbour::ALL.len()) - 1);

    fn single(neighbour: Neighbour) -> Self {
        Self(1 << neighbour as u8)
    }

    fn contains(self, neighbour: Neighbour) -> bool {
        self.intersects(Self::single(neighbour))
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn includes(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    pub(super) fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// A group of neighbours that no assertion of the pattern distinguishes.
pub(super) struct NeighbourGroup {
    pub(super) members: NeighbourSet,
    /// The byte strings that begin with a member. The groups partition all byte strings.
    pub(super) starting: TermId,
    /// The byte strings that end with a member.
    pub(super) ending: TermId,
}

/// The neighbours in groups, for the assertions of one pattern.
pub(super) struct Neighbours {
    pub(super) groups: Vec<NeighbourGroup>,
    /// The Unicode class `\w` if an assertion uses it, else the ASCII class.
    words: ClassUnicode,
}

impl Neighbours {
    pub(super) fn new(terms: &mut Terms, looks: LookSet) -> Self {
        let words = word_class(looks.contains_word_unicode());
        let mut neighbours = Self { groups: Vec::new(), words };
        let mut sets: Vec<([bool; 5], NeighbourSet)> = Vec::new();
        for neighbour in Neighbour::ALL {
            let (distinction, single) = (neighbour.distinction(looks), NeighbourSet::single(neighbour));
            match sets.iter_mut().find(|(known, _)| *known == distinction) {
                Some((_, set)) => *set = set.union(single),
                None => sets.push((distinction, single)),
            }
        }
        for (_, members) in sets {
            let anything = terms.anything();
            let starting =
                neighbours.strings(terms, members, |terms, class| terms.concat(&[class, anything]));
            let ending = neighbours.strings(terms, members, |terms, class| terms.concat(&[anything, class]));
            neighbours.groups.push(NeighbourGroup { members, starting, ending });
        }
        neighbours
    }

    /// The group of the ends of the string.
    pub(super) fn edge(&self) -> usize {
        self.groups.iter().position(|group| group.members.contains(Edge)).expect("groups have all neighbours")
    }

    /// Whether an assertion holds between members of two groups.
    pub(super) fn holds(&self, look: Look, before: usize, after: usize) -> bool {
        let member = |group: usize| {
            let members = self.groups[group].members;
            Neighbour::ALL.into_iter().find(|one| members.contains(*one)).expect("no group is empty")
        };
        holds(look, member(before), member(after))
    }

    /// The byte strings at which `place` puts a member of the group.
    fn strings(
        &self,
        terms: &mut Terms,
        members: NeighbourSet,
        place: impl Fn(&mut Terms, TermId) -> TermId,
    ) -> TermId {
        // `Other` is all that the other kinds are not, also bytes that are no characters.
        let inverted = members.contains(Other);
        let mut class = ClassUnicode::empty();
        for neighbour in Neighbour::ALL {
            if neighbour != Other && members.contains(neighbour) != inverted {
                class.union(&self.characters(neighbour));
            }
        }
        let ranges: Vec<(char, char)> = class.iter().map(|range| (range.start(), range.end())).collect();
        let class = terms.characters(&ranges);
        let placed = place(terms, class);
        let edge = if members.contains(Edge) == inverted { terms.nothing() } else { terms.epsilon() };
        let strings = terms.union(&[placed, edge]);
        if inverted { terms.complement(strings) } else { strings }
    }

    fn characters(&self, neighbour: Neighbour) -> ClassUnicode {
        let mut class = match neighbour {
            Edge => ClassUnicode::empty(),
            LineFeed => single('\n'),
            CarriageReturn => single('\r'),
            AsciiWord => word_class(false),
            UnicodeWord | Other => self.words.clone(),
        };
        match neighbour {
            UnicodeWord => class.difference(&word_class(false)),
            Other => {
                class.union(&single('\n'));
                class.union(&single('\r'));
                class.negate();
            }
            _ => {}
        }
        class
    }

    /// The neighbours that are first in nonempty matches of a sequence without assertions.
    pub(super) fn firsts(&self, sequence: &[Hir]) -> NeighbourSet {
        self.extremes(sequence, |sequence| sequence.split_first(), |text| text.chars().next())
    }

    /// The neighbours that are last in nonempty matches of a sequence without assertions.
    pub(super) fn lasts(&self, sequence: &[Hir]) -> NeighbourSet {
        self.extremes(sequence, |sequence| sequence.split_last(), |text| text.chars().next_back())
    }

    fn extremes(
        &self,
        sequence: &[Hir],
        split: SequenceSplit,
        extreme: fn(&str) -> Option<char>,
    ) -> NeighbourSet {
        let mut found = NeighbourSet::EMPTY;
        let mut sequences = vec![sequence];
        while let Some(sequence) = sequences.pop() {
            let Some((hir, rest)) = split(sequence) else { continue };
            // A repetition of the empty class has no length, though it matches the empty text.
            if hir.properties().minimum_len().is_none_or(|length| length == 0) {
                sequences.push(rest);
            }
            match hir.kind() {
                HirKind::Empty | HirKind::Look(_) => {}
                HirKind::Literal(literal) => {
                    // Where parts of characters can match, no assertion distinguishes bytes beyond ASCII.
                    let text = String::from_utf8_lossy(&literal.0);
                    found = found.union(
                        extreme(&text).map_or(NeighbourSet::EMPTY, |last| self.of_class(&single(last))),
                    );
                }
                HirKind::Class(Class::Unicode(class)) => found = found.union(self.of_class(class)),
                HirKind::Class(Class::Bytes(class)) => {
                    let ranges = class.iter().map(|range| {
                        ClassUnicodeRange::new(char::from(range.start()), char::from(range.end()))
                    });
                    found = found.union(self.of_class(&ClassUnicode::new(ranges)));
                }
                HirKind::Repetition(repetition) => sequences.push(slice::from_ref(&*repetition.sub)),
                HirKind::Capture(capture) => sequences.push(slice::from_ref(&*capture.sub)),
                HirKind::Concat(parts) => sequences.push(parts),
                HirKind::Alternation(branches) => sequences.extend(branches.iter().map(slice::from_ref)),
            }
        }
        found
    }

    fn of_class(&self, class: &ClassUnicode) -> NeighbourSet {
        let mut found = NeighbourSet::EMPTY;
        for neighbour in Neighbour::ALL {
            let mut common = self.characters(neighbour);
            common.intersect(class);
            if !common.ranges().is_empty() {
                found = found.union(NeighbourSet::single(neighbour));
            }
        }
        found
    }
}

/// Splits a sequence into its first or last element and the others.
type SequenceSplit = fn(&[Hir]) -> Option<(&Hir, &[Hir])>;

/// Whether an assertion holds between two neighbours, as documented at [`Look`].
fn holds(look: Look, before: Neighbour, after: Neighbour) -> bool {
    let ascii = (before == AsciiWord, after == AsciiWord);
    let is_word = |neighbour| matches!(neighbour, AsciiWord | UnicodeWord);
    let unicode = (is_word(before), is_word(after));
    match look {
        Look::Start => before == Edge,
        Look::End => after == Edge,
        Look::StartLF => matches!(before, Edge | LineFeed),
        Look::EndLF => matches!(after, Edge | LineFeed),
        Look::StartCRLF => matches!(before, Edge | LineFeed) || before == CarriageReturn && after != LineFeed,
        Look::EndCRLF => {
            matches!(after, Edge | CarriageReturn) || after == LineFeed && before != CarriageReturn
        }
        Look::WordAscii => ascii.0 != ascii.1,
        Look::WordAsciiNegate => ascii.0 == ascii.1,
        Look::WordUnicode => unicode.0 != unicode.1,
        Look::WordUnicodeNegate => unicode.0 == unicode.1,
        Look::WordStartAscii => ascii == (false, true),
        Look::WordEndAscii => ascii == (true, false),
        Look::WordStartUnicode => unicode == (false, true),
        Look::WordEndUnicode => unicode == (true, false),
        Look::WordStartHalfAscii => !ascii.0,
        Look::WordEndHalfAscii => !ascii.1,
        Look::WordStartHalfUnicode => !unicode.0,
        Look::WordEndHalfUnicode => !unicode.1,
    }
}

fn single(character: char) -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new(character, character)])
}

/// The class `\w`.
fn word_class(unicode: bool) -> ClassUnicode {
    let hir = unicode.then(|| regex_syntax::parse(r"\w").expect("it is a class"));
    match hir.as_ref().map(Hir::kind) {
        Some(HirKind::Class(Class::Unicode(class))) => class.clone(),
        _ => {
            let ranges = [('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];
            ClassUnicode::new(ranges.map(|(low, high)| ClassUnicodeRange::new(low, high)))
        }
    }
}
