//! Bounds of the words of a term, and of the bytes that complete a beginning of one, as far as the form of the term shows them.
//!
//! A beginning of a word of a union is one of a word of some operand, and a beginning of a word of a concatenation ends
//! in some operand, after which the shortest words of the others complete it. So these bounds need no states. They are
//! not known for most intersections, complements and first matches, where a completion of an operand need not complete the
//! term. Free text without a few words, such as names of properties that are not declared, has a bound: a byte more than
//! that of the free text, since there are more bytes than words.
//!
//! The form of a regular term also shows its shortest words.

use rustc_hash::FxHashMap;

use crate::dfa::shortest_words::ShortestWord;
use crate::dfa::table::{Table, TableState};
use crate::term::arena::{Term, TermId, Terms};

/// The bounds of some terms; `None` where the form of a term shows none.
#[derive(Debug, Default)]
pub(crate) struct KnownWordBounds {
    of_terms: FxHashMap<TermId, Option<WordBounds>>,
    /// Whether the states below a state of a table are not searched, so `longest` and `words` have their maximum there.
    only_shortest: bool,
}

/// Upper bounds; lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WordBounds {
    /// Of the shortest word.
    shortest: u32,
    /// Of the shortest completions of all nonempty beginnings of words.
    pub(crate) longest: u32,
    /// Of the number of words; the maximum stands for more.
    words: u32,
    /// Whether `shortest` is the length of the shortest word.
    pub(crate) is_exact: bool,
    /// The shortest nonempty word, if `is_exact` and there is one.
    pub(crate) nonempty: Option<ShortestWord>,
}

impl KnownWordBounds {
    /// No bounds yet, and only those of shortest words are wanted: a state of a table costs a step per edge.
    pub(crate) fn only_shortest() -> Self {
        Self { only_shortest: true, ..Self::default() }
    }

    /// Estimated memory in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.of_terms.capacity() * (size_of::<(TermId, Option<WordBounds>)>() + 1)
    }
}

impl WordBounds {
    const EMPTY_WORD: Self = Self { shortest: 0, longest: 0, words: 1, is_exact: true, nonempty: None };

    /// One word.
    fn of_word(word: &[u8]) -> Self {
        let Some(&first) = word.first() else { return Self::EMPTY_WORD };
        // A chunk is short.
        let length = word.len() as u32;
        let nonempty = Some(ShortestWord { length, first });
        Self { shortest: length, longest: length - 1, words: 1, is_exact: true, nonempty }
    }

    /// A word of this language, then one of another.
    fn then(self, next: Self) -> Self {
        let shortest = self.shortest.saturating_add(next.shortest);
        let longest = self.longest.saturating_add(next.shortest).max(next.longest);
        let longer = self.nonempty.map(|word| word.longer(next.shortest));
        let without = if self.shortest == 0 { next.nonempty } else { None };
        Self {
            shortest,
            longest,
            words: self.words.saturating_mul(next.words),
            is_exact: self.is_exact && next.is_exact,
            nonempty: longer.into_iter().chain(without).min(),
        }
    }

    /// A word of this language or of another.
    fn or(self, other: Self) -> Self {
        Self {
            shortest: self.shortest.min(other.shortest),
            longest: self.longest.max(other.longest),
            words: self.words.saturating_add(other.words),
            is_exact: self.is_exact && other.is_exact,
            nonempty: self.nonempty.into_iter().chain(other.nonempty).min(),
        }
    }

    /// `min` to `max` words.
    fn times(self, min: u32, max: Option<u32>) -> Self {
        let others = self.shortest.saturating_mul(min.saturating_sub(1));
        let shortest = if min == 0 { 0 } else { self.shortest.saturating_add(others) };
        let words = if max == Some(1) { self.words.saturating_add(1) } else { u32::MAX };
        Self {
            shortest,
            longest: self.longest.saturating_add(others),
            words,
            is_exact: self.is_exact,
            nonempty: self.nonempty.map(|word| word.longer(others)),
        }
    }

    /// Some of the words, of which each is at most a byte longer than the shortest one with the same beginning.
    fn without_words(self) -> Self {
        let shortest = self.shortest.saturating_add(1);
        Self { shortest, longest: self.longest.saturating_add(1), is_exact: false, nonempty: None, ..self }
    }
}

impl Terms {
    /// The bounds of a term. `known` has those of other terms of this arena, and is extended.
    ///
    /// Cost: linear in the subterms that are not known, and in the states of their tables unless only shortest words count.
    pub(crate) fn word_bounds(&self, term: TermId, known: &mut KnownWordBounds) -> Option<WordBounds> {
        let KnownWordBounds { of_terms, only_shortest } = known;
        self.fold(term, of_terms, |term, known| {
            let term = self.get(term);
            let mut bounds = term.operands().map(|part| known[&part]);
            match term {
                Term::Epsilon => Some(WordBounds::EMPTY_WORD),
                Term::Bytes(bytes) => bytes
                    .iter()
                    .next()
                    .map(|first| WordBounds { words: bytes.len() as u32, ..WordBounds::of_word(&[first]) }),
                Term::Literal(chunk) => Some(WordBounds::of_word(chunk.as_slice())),
                Term::Concat(..) => {
                    let head = bounds.next().flatten();
                    head.zip(bounds.next().flatten()).map(|(head, tail)| head.then(tail))
                }
                Term::Union(_) => {
                    let first = bounds.next().flatten();
                    bounds.fold(first, |all, next| Some(all?.or(next?)))
                }
                Term::Repeat { min, max, .. } => bounds.next().flatten().map(|one| one.times(*min, *max)),
                Term::Intersection(parts) => self.bound_without_words(parts, known),
                Term::Table { table, state } => {
                    Some(bound_of_table(self.get_table(*table), *state, *only_shortest))
                }
                Term::Nothing | Term::Complement(_) | Term::FirstMatch(_) => None,
            }
        })
    }

    /// The bounds of an intersection of an unbounded repetition with complements of few words. A beginning of the
    /// repetition is completed by a word of it, and by each byte that is a unit: not all of these words are excluded.
    fn bound_without_words(
        &self,
        parts: &[TermId],
        known: &FxHashMap<TermId, Option<WordBounds>>,
    ) -> Option<WordBounds> {
        let mut units = None;
        let mut excluded: u32 = 0;
        for part in parts {
            match self.get(*part) {
                Term::Complement(words) => excluded = excluded.saturating_add(known[words]?.words),
                &Term::Repeat { term, max: None, .. } if units.is_none() => units = Some((*part, term)),
                _ => return None,
            }
        }
        let (repetition, unit) = units?;
        let bytes = |part: &TermId| match self.get(*part) {
            Term::Bytes(bytes) => bytes.len() as u32,
            _ => 0,
        };
        let bytes = match self.get(unit) {
            Term::Union(parts) => parts.iter().map(bytes).sum(),
            _ => bytes(&unit),
        };
        (excluded < bytes).then_some(known[&repetition]?.without_words())
    }
}

/// The bounds of a state of a table, which are exact.
fn bound_of_table(table: &Table, start: TableState, only_shortest: bool) -> WordBounds {
    let lengths = table.shortest_lengths();
    let length = |state: TableState| lengths[state.index()];
    let nonempty = table
        .edges(start)
        .map(|(first, _, target)| ShortestWord { length: length(target).saturating_add(1), first });
    let (longest, words) = match only_shortest {
        true => (u32::MAX, u32::MAX),
        false => (longest_below(table, start, length), words_of_table(table, start)),
    };
    WordBounds { shortest: length(start), longest, words, is_exact: true, nonempty: nonempty.min() }
}

/// The maximum length over the states that nonempty words reach.
fn longest_below(table: &Table, start: TableState, length: impl Fn(TableState) -> u32) -> u32 {
    let mut is_reached = vec![false; table.len()];
    // After the start.
    let mut reached = vec![start];
    let mut next = 0;
    while let Some(&state) = reached.get(next) {
        for (_, _, target) in table.edges(state) {
            if !std::mem::replace(&mut is_reached[target.index()], true) {
                reached.push(target);
            }
        }
        next += 1;
    }
    reached[1..].iter().map(|&state| length(state)).max().unwrap_or(0)
}

/// The number of words of a state of a table; the maximum if there may be infinitely many.
fn words_of_table(table: &Table, start: TableState) -> u32 {
    let words = table.fold(start, |is_accepting, edges| {
        let of_edge = |&(low, high, words): &(u8, u8, u32)| words.saturating_mul(u32::from(high - low) + 1);
        edges.iter().map(of_edge).fold(u32::from(is_accepting), u32::saturating_add)
    });
    words.unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use grammask_diagnostics::Deadline;
    use proptest::prelude::*;

    use super::*;
    use crate::sketch::sketch;
    use crate::{Automata, ByteSet, ShortestWords};

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn bounds_the_completions_of_all_states(sketch in sketch()) {
            let mut terms = Terms::new();
            let term = sketch.term(&mut terms);
            let bound = terms.word_bounds(term, &mut KnownWordBounds::default());
            let only_shortest = terms.word_bounds(term, &mut KnownWordBounds::only_shortest());
            let word = |bound: Option<WordBounds>| {
                bound.filter(|bound| bound.is_exact).map(|bound| (bound.shortest, bound.nonempty))
            };
            prop_assert_eq!(word(only_shortest), word(bound));
            let mut automata = Automata::new(terms, 100_000);
            let (Some(bound), Some(start)) = (bound, automata.start(term).unwrap()) else { return Ok(()) };
            let deadline = Deadline::after(Duration::from_secs(60));
            let mut words = ShortestWords::new(ByteSet::ALL);
            let explored = words.explored_completions(&mut automata, &[start], &mut 100_000, &deadline);
            let longest = explored.unwrap().unwrap()[0].unwrap();
            prop_assert!(longest <= bound.longest, "{} > {:?} of {:?}", longest, bound, sketch);
            let shortest = match automata.is_accepting(start) {
                true => 0,
                false => words.search_word(&mut automata, start, &deadline).unwrap().unwrap().length,
            };
            prop_assert!(shortest <= bound.shortest);
            if bound.is_exact {
                let nonempty = words.search_word(&mut automata, start, &deadline).unwrap();
                prop_assert_eq!((shortest, nonempty), (bound.shortest, bound.nonempty), "{:?}", sketch);
            }
        }
    }

    #[test]
    fn bounds_of_regular_terms_are_close() {
        let mut terms = Terms::new();
        let unit = terms.bytes(ByteSet::range(b'a', b'z'));
        let (open, close) = (terms.literal(b"<<"), terms.literal(b"/>>"));
        let counted = terms.repeat(unit, 5, Some(5_000));
        let word = terms.concat(&[open, counted, close]);
        let bound = terms.word_bounds(word, &mut KnownWordBounds::default()).unwrap();
        // After `<`, one more bracket, five letters and the end.
        assert_eq!((bound.shortest, bound.longest), (10, 9));
    }

    #[test]
    fn bounds_of_names_without_words() {
        let longest = |words: u8| {
            let mut terms = Terms::new();
            let (letter, escape) = (terms.bytes(ByteSet::range(b'a', b'e')), terms.literal(b"\\u"));
            let (unit, quote) = (terms.union(&[letter, escape]), terms.literal(b"\""));
            let (text, all) =
                (terms.repeat(unit, 0, None), (0..words).map(|word| vec![b'a'; 1 + usize::from(word)]));
            let excluded: Vec<TermId> = all.map(|word| terms.literal(&word)).collect();
            let excluded = terms.union(&excluded);
            let others = terms.complement(excluded);
            let name = terms.intersection(&[text, others]);
            let quoted = terms.concat(&[quote, name, quote]);
            terms.word_bounds(quoted, &mut KnownWordBounds::default()).map(|bound| bound.longest)
        };
        // After `"\`, the rest of the escape, perhaps another letter, and the quote.
        assert_eq!((longest(4), longest(5)), (Some(3), None));
    }
}
