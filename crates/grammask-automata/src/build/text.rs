//! Languages of texts: valid UTF-8, and what a text must not contain.

use crate::term::arena::{TermId, Terms};

impl Terms {
    /// All valid UTF-8 texts, the empty one included.
    pub fn text(&mut self) -> TermId {
        let character = self.characters(&[('\0', char::MAX)]);
        self.repeat(character, 0, None)
    }

    /// All byte strings.
    #[must_use]
    pub fn anything(&self) -> TermId {
        TermId::ANYTHING
    }

    /// The nonempty valid UTF-8 texts that are not in `term`.
    pub fn texts_outside(&mut self, term: TermId) -> TermId {
        let character = self.characters(&[('\0', char::MAX)]);
        let nonempty = self.repeat(character, 1, None);
        let outside = self.complement(term);
        self.intersection(&[nonempty, outside])
    }

    /// The valid UTF-8 texts, the empty one included, behind which the word `end` is the first of the words `ends` to
    /// end: no other word of `ends` ends before it, and `end` itself nowhere sooner, not even where it overlaps with the
    /// text. Of the words that end at the same place the longest counts. Besides, no word of `excludes` is in the text.
    /// Nothing where another of `ends` ends inside of `end`.
    pub fn text_before(&mut self, end: &[u8], ends: &[&[u8]], excludes: &[&[u8]]) -> TermId {
        let text = self.text();
        let forbidden: Vec<&[u8]> = ends.iter().chain(excludes).copied().collect();
        let forbidden = self.literals(&forbidden);
        let inside = self.concat(&[TermId::ANYTHING, forbidden, TermId::ANYTHING]);
        let mut tails: Vec<&[u8]> = Vec::new();
        for word in ends {
            let sooner = &end[..end.len().saturating_sub(1)];
            if sooner.windows(word.len().max(1)).any(|window| window == *word) {
                return TermId::NOTHING;
            }
            // What the text must not end with: the word up to where it goes on in `end`, and ends before `end` does.
            let overlaps = (1..word.len()).filter(|&split| sooner.starts_with(&word[split..]));
            tails.extend(overlaps.map(|split| &word[..split]));
            if word.len() > end.len() && word.ends_with(end) {
                tails.push(&word[..word.len() - end.len()]);
            }
        }
        let tails = self.literals(&tails);
        let ending = self.concat(&[TermId::ANYTHING, tails]);
        let outside = self.union(&[inside, ending]);
        let outside = self.complement(outside);
        self.intersection(&[text, outside])
    }

    /// The nonempty valid UTF-8 texts that contain no word of `term`. Every text contains the empty word.
    pub fn without_match(&mut self, term: TermId) -> TermId {
        let containing = self.concat(&[TermId::ANYTHING, term, TermId::ANYTHING]);
        self.texts_outside(containing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Automata;

    /// Whether `text` before `end` is right, by looking at every place.
    fn is_before(text: &str, end: &str, ends: &[&str], excludes: &[&str]) -> bool {
        let whole = format!("{text}{end}");
        let first = (1..=whole.len()).find(|&place| ends.iter().any(|word| whole[..place].ends_with(word)));
        let longest = !ends.iter().any(|word| word.len() > end.len() && whole.ends_with(word));
        first == Some(whole.len()) && longest && !excludes.iter().any(|word| text.contains(word))
    }

    #[test]
    fn texts_before_a_word_are_those_in_which_it_is_first() {
        let mut texts = vec![String::new()];
        for length in 0..6 {
            let longer: Vec<String> = texts
                .iter()
                .filter(|text| text.len() == length)
                .flat_map(|text| ["a", "b"].map(|letter| format!("{text}{letter}")))
                .collect();
            texts.extend(longer);
        }
        let words = ["a", "aa", "ab", "aba", "abab", "bb"];
        for end in words {
            for other in words {
                for exclude in ["aab", "b"] {
                    let mut terms = Terms::new();
                    let ends = [end, other];
                    let term =
                        terms.text_before(end.as_bytes(), &ends.map(str::as_bytes), &[exclude.as_bytes()]);
                    let mut automata = Automata::new(terms, 10_000);
                    let start = automata.start(term).expect("small");
                    for text in &texts {
                        let mut state = start;
                        for byte in text.bytes() {
                            state = state.and_then(|state| automata.step(state, byte).expect("small"));
                        }
                        let found = state.is_some_and(|state| automata.is_accepting(state));
                        let right = is_before(text, end, &ends, &[exclude]);
                        assert_eq!(found, right, "{text:?} before {end:?} of {ends:?} without {exclude:?}");
                    }
                }
            }
        }
    }
}
