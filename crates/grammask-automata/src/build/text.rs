//! Languages of UTF-8 strings: all of them, and those without certain substrings.

use crate::term::arena::{TermId, Terms};

impl Terms {
    /// All valid UTF-8 strings, including the empty one.
    pub fn text(&mut self) -> TermId {
        let character = self.characters(&[('\0', char::MAX)]);
        self.repeat(character, 0, None)
    }

    /// All byte strings.
    #[must_use]
    pub fn anything(&self) -> TermId {
        TermId::ANYTHING
    }

    /// The nonempty valid UTF-8 strings that are not in `term`.
    pub fn texts_outside(&mut self, term: TermId) -> TermId {
        let character = self.characters(&[('\0', char::MAX)]);
        let nonempty = self.repeat(character, 1, None);
        let outside = self.complement(term);
        self.intersection(&[nonempty, outside])
    }

    /// The valid UTF-8 strings `s` such that `end` is the leftmost-ending, then longest, match of `ends` in `s end`,
    /// and it matches at the end of `s end`. Matches that overlap `s` and `end` count. No word of `excludes` occurs
    /// in `s`. The empty string is included. The language is empty if a word of `ends` ends within `end`.
    pub fn text_before(&mut self, end: &[u8], ends: &[&[u8]], excludes: &[&[u8]]) -> TermId {
        let text = self.text();
        let forbidden: Vec<&[u8]> = ends.iter().chain(excludes).copied().collect();
        let forbidden = self.literals(&forbidden);
        let inside = self.concat(&[TermId::ANYTHING, forbidden, TermId::ANYTHING]);
        let mut forbidden_suffixes: Vec<&[u8]> = Vec::new();
        for word in ends {
            let proper_prefix = &end[..end.len().saturating_sub(1)];
            if proper_prefix.windows(word.len().max(1)).any(|window| window == *word) {
                return TermId::NOTHING;
            }
            // Prefixes of the word that `s` must not end with: `end` would complete the word before its own last byte.
            let overlaps = (1..word.len()).filter(|&split| proper_prefix.starts_with(&word[split..]));
            forbidden_suffixes.extend(overlaps.map(|split| &word[..split]));
            if word.len() > end.len() && word.ends_with(end) {
                forbidden_suffixes.push(&word[..word.len() - end.len()]);
            }
        }
        let forbidden_suffixes = self.literals(&forbidden_suffixes);
        let ending = self.concat(&[TermId::ANYTHING, forbidden_suffixes]);
        let outside = self.union(&[inside, ending]);
        let outside = self.complement(outside);
        self.intersection(&[text, outside])
    }

    /// The nonempty valid UTF-8 strings that contain no word of `term`. Empty if `term` is nullable.
    pub fn without_match(&mut self, term: TermId) -> TermId {
        let containing = self.concat(&[TermId::ANYTHING, term, TermId::ANYTHING]);
        self.texts_outside(containing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Automata;

    /// The definition of `text_before`, checked at every position.
    fn is_before(text: &str, end: &str, ends: &[&str], excludes: &[&str]) -> bool {
        let whole = format!("{text}{end}");
        let first =
            (1..=whole.len()).find(|&position| ends.iter().any(|word| whole[..position].ends_with(word)));
        let longest = !ends.iter().any(|word| word.len() > end.len() && whole.ends_with(word));
        first == Some(whole.len()) && longest && !excludes.iter().any(|word| text.contains(word))
    }

    #[test]
    fn text_before_equals_its_definition() {
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
