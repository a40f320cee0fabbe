//! Encodes sets of strings: the languages of their encodings inside a JSON string.
//!
//! A character may have several encodings (`/`, `\/`, `\u002f`), and a schema constrains the decoded string. Decoding
//! is a function from encodings to strings (RFC 8259, section 7), and every language made here is the inverse image of
//! a set of strings within one *universe* of encodings, which [`EncodingKind`] selects. Inverse images commute with
//! union, intersection and complement, so an escape never evades a constraint. In the plain universe, of texts outside
//! JSON, a string is its own encoding. Code points are Unicode scalar values: lone surrogates are never encoded.
//!
use rustc_hash::FxHashMap;

use crate::options::Escapes;
use crate::strings::lengths::PieceTable;
use grammask_automata::encoding::spelling_trees::{CharTransition, SpellingTrees, TreeNodeId};
use grammask_automata::encoding::{CharacterEncoding, TermEncoder};
use grammask_automata::{TermId, Terms};
use grammask_diagnostics::{LimitExceeded, Limits};

/// The first and the last character of a range.
pub(crate) type CharRange = (char, char);

/// The universe of encodings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum EncodingKind {
    /// Encodings inside a JSON string, with these escapes.
    Json(Escapes),
    /// Every string is its own encoding, in UTF-8.
    Plain,
}

impl EncodingKind {
    fn of_characters(self) -> CharacterEncoding {
        match self {
            Self::Plain => CharacterEncoding::Utf8,
            Self::Json(escapes) => escapes.encoding(),
        }
    }
}

/// Builds languages of encodings in one arena of terms.
#[derive(Clone, Debug)]
pub(crate) struct StringEncoding {
    kind: EncodingKind,
    characters: CharacterEncoding,
    classes: FxHashMap<Vec<CharRange>, TermId>,
    spelling_trees: SpellingTrees,
    /// For terms that admit any continuation of text: the term that admits any continuation of bytes.
    open_ended: FxHashMap<TermId, TermId>,
    /// The length ranges of the parts of terms.
    pub(crate) pieces: PieceTable,
}

impl StringEncoding {
    /// The encodings with `escapes`.
    #[cfg(test)]
    pub(crate) fn new(escapes: Escapes) -> Self {
        Self::within(EncodingKind::Json(escapes))
    }

    /// The encodings of a universe.
    pub(crate) fn within(kind: EncodingKind) -> Self {
        Self {
            kind,
            characters: kind.of_characters(),
            classes: FxHashMap::default(),
            spelling_trees: SpellingTrees::new(),
            open_ended: FxHashMap::default(),
            pieces: PieceTable::default(),
        }
    }

    /// The universe of encodings.
    pub(crate) fn kind(&self) -> EncodingKind {
        self.kind
    }

    /// The encodings of the words of a language of texts.
    pub(crate) fn image(
        &self,
        terms: &mut Terms,
        texts: TermId,
        limits: &Limits,
    ) -> Result<TermId, LimitExceeded> {
        // Bytes that are no text are no string.
        let utf8 = StringEncoding::within(EncodingKind::Plain).texts(terms);
        let texts = terms.intersection(&[texts, utf8]);
        TermEncoder::new(self.characters.clone(), limits).image(terms, texts)
    }

    /// One character of `ranges`, which may be in any order and overlap.
    pub(crate) fn class(&mut self, terms: &mut Terms, ranges: &[CharRange]) -> TermId {
        let ranges = normalized(ranges);
        if let Some(&term) = self.classes.get(&ranges) {
            return term;
        }
        let transitions: Vec<CharTransition> = ranges
            .iter()
            .map(|&(first, last)| CharTransition {
                first: first.into(),
                last: last.into(),
                target: TreeNodeId::END,
            })
            .collect();
        let root = self.spelling_trees.character(&self.characters, false, &transitions);
        let term = self.spelling_trees.term(terms, root);
        self.classes.insert(ranges, term);
        term
    }

    /// Any one character.
    pub(crate) fn any(&mut self, terms: &mut Terms) -> TermId {
        self.class(terms, &[('\0', char::MAX)])
    }

    /// Every string: the universe. The term is equal in all schemas, so its cached summaries are shared.
    pub(crate) fn texts(&mut self, terms: &mut Terms) -> TermId {
        let any = self.any(terms);
        terms.repeat(any, 0, None)
    }

    /// Exactly `word`.
    pub(crate) fn literal(&mut self, terms: &mut Terms, word: &str) -> TermId {
        let mut parts = Vec::new();
        let mut plain = 0;
        for (at, character) in word.char_indices() {
            if !self.is_plain(character) {
                parts.push(terms.literal(&word.as_bytes()[plain..at]));
                parts.push(self.class(terms, &[(character, character)]));
                plain = at + character.len_utf8();
            }
        }
        parts.push(terms.literal(&word.as_bytes()[plain..]));
        terms.concat(&parts)
    }

    /// Exactly `words`. Cost: sorting them, then linear in their total length.
    pub(crate) fn literals<'w>(
        &mut self,
        terms: &mut Terms,
        words: impl IntoIterator<Item = &'w str>,
    ) -> TermId {
        let (plain, mut others): (Vec<&str>, Vec<&str>) =
            words.into_iter().partition(|word| word.chars().all(|character| self.is_plain(character)));
        let plain = terms.literals(&plain);
        // The byte order of UTF-8 is the order of code points.
        others.sort_unstable();
        others.dedup();
        let others = match others[..] {
            [] => return plain,
            [only] => self.literal(terms, only),
            _ => self.sorted_words(terms, &others),
        };
        terms.union(&[plain, others])
    }

    /// The strings of `min` to `max` characters.
    pub(crate) fn length(&mut self, terms: &mut Terms, min: u32, max: Option<u32>) -> TermId {
        let any = self.any(terms);
        terms.repeat(any, min, max)
    }

    /// The strings that are not in `term`.
    pub(crate) fn complement(&mut self, terms: &mut Terms, term: TermId) -> TermId {
        let texts = self.texts(terms);
        if term == terms.nothing() {
            return texts;
        }
        if term == texts {
            return terms.nothing();
        }
        let outside = self.outside(terms, term);
        terms.intersection(&[texts, outside])
    }

    /// The complement of `term` among all byte strings: for intersection with encodings.
    ///
    /// Where `term` admits any continuation, the result has no element, so that dead states are recognised at once.
    pub(crate) fn outside(&self, terms: &mut Terms, term: TermId) -> TermId {
        let term = self.open_ended.get(&term).copied().unwrap_or(term);
        terms.complement(term)
    }

    /// Records that `term` is the intersection of the universe with `open_ended`, which admits any continuation of
    /// bytes where `term` admits any continuation of text.
    pub(crate) fn record_open_ended(&mut self, term: TermId, open_ended: TermId) {
        self.open_ended.insert(term, open_ended);
    }

    /// Whether a character is its own only encoding.
    fn is_plain(&self, character: char) -> bool {
        self.characters.is_plain(character)
    }

    /// The minimal acyclic automaton of sorted words, built incrementally as in Daciuk, Mihov, Watson and Watson
    /// ("Incremental construction of minimal acyclic finite-state automata", 2000), with characters as symbols.
    fn sorted_words(&mut self, terms: &mut Terms, words: &[&str]) -> TermId {
        #[derive(Default)]
        struct OpenNode {
            accepting: bool,
            transitions: Vec<CharTransition>,
        }
        let mut path = vec![OpenNode::default()];
        let mut previous: Vec<char> = Vec::new();
        let ends = words.iter().map(|word| word.chars().collect::<Vec<_>>());
        // A final empty word, which is not added, closes all open nodes.
        for (word, is_word) in ends.map(|word| (word, true)).chain([(Vec::new(), false)]) {
            let common = previous.iter().zip(&word).take_while(|(one, other)| one == other).count();
            while path.len() > common + 1 {
                let node = path.pop().expect("the root stays");
                let target =
                    self.spelling_trees.character(&self.characters, node.accepting, &node.transitions);
                let code = u32::from(previous[path.len() - 1]);
                let parent = path.last_mut().expect("the root stays");
                match parent.transitions.last_mut() {
                    Some(transition) if transition.last + 1 == code && transition.target == target => {
                        transition.last = code
                    }
                    _ => parent.transitions.push(CharTransition { first: code, last: code, target }),
                }
            }
            path.resize_with(word.len() + 1, OpenNode::default);
            if is_word {
                path[word.len()].accepting = true;
            }
            previous = word;
        }
        let root = self.spelling_trees.character(&self.characters, path[0].accepting, &path[0].transitions);
        self.spelling_trees.term(terms, root)
    }
}

/// The union of `ranges` as ascending ranges that neither overlap nor touch.
fn normalized(ranges: &[CharRange]) -> Vec<CharRange> {
    let mut sorted = ranges.to_vec();
    sorted.retain(|(first, last)| first <= last);
    sorted.sort_unstable();
    let mut merged: Vec<CharRange> = Vec::with_capacity(sorted.len());
    for (first, last) in sorted {
        match merged.last_mut() {
            Some(before) if u32::from(first) <= next_code(before.1) => before.1 = before.1.max(last),
            _ => merged.push((first, last)),
        }
    }
    merged
}

/// The scalar value after a character, which skips surrogates.
fn next_code(character: char) -> u32 {
    if character == '\u{d7ff}' { 0xe000 } else { u32::from(character) + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ESCAPES: [Escapes; 4] = [Escapes::Natural, Escapes::Any, Escapes::Ascii, Escapes::Raw];

    fn contains(terms: &mut Terms, term: TermId, word: &str) -> bool {
        let end = word.bytes().fold(term, |term, byte| terms.derivative(term, byte));
        terms.is_nullable(end)
    }

    /// All encodings of a character, by the definition of each universe.
    fn encodings(escapes: Escapes, character: char) -> Vec<String> {
        let mut all = Vec::new();
        let control = character < ' ';
        let must = control || character == '"' || character == '\\';
        if !must && (escapes != Escapes::Ascii || character.is_ascii()) {
            all.push(character.to_string());
        }
        let short = match character {
            '"' | '\\' | '/' => Some(character),
            '\u{8}' => Some('b'),
            '\u{c}' => Some('f'),
            '\n' => Some('n'),
            '\r' => Some('r'),
            '\t' => Some('t'),
            _ => None,
        };
        all.extend(short.map(|letter| format!("\\{letter}")));
        let long = match escapes {
            Escapes::Any => true,
            Escapes::Natural | Escapes::Ascii => must || character >= '\u{7f}',
            Escapes::Raw => must || character == '\u{7f}',
        };
        if long {
            let mut units = [0; 2];
            let units = character.encode_utf16(&mut units);
            let lower: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            all.push(units.iter().map(|unit| format!("\\u{unit:04X}")).collect());
            all.push(lower);
        }
        all
    }

    const BOUNDARY_CHARACTERS: [char; 36] = [
        '\0',
        '\u{8}',
        '\t',
        '\n',
        '\u{b}',
        '\u{c}',
        '\r',
        '\u{1f}',
        ' ',
        '"',
        '/',
        '0',
        'A',
        'b',
        'u',
        '[',
        '\\',
        ']',
        '~',
        '\u{7f}',
        '\u{80}',
        'é',
        '\u{7ff}',
        '\u{800}',
        '\u{fff}',
        '你',
        '\u{cfff}',
        '\u{d000}',
        '\u{d7ff}',
        '\u{e000}',
        '\u{ffff}',
        '\u{10000}',
        '😀',
        '\u{1ffff}',
        '\u{fffff}',
        '\u{10ffff}',
    ];

    #[test]
    fn a_class_contains_exactly_the_encodings_of_its_characters() {
        for escapes in ESCAPES {
            let (mut terms, mut encoding) = (Terms::new(), StringEncoding::new(escapes));
            let any = encoding.any(&mut terms);
            for class in BOUNDARY_CHARACTERS {
                let term = encoding.class(&mut terms, &[(class, class)]);
                for character in BOUNDARY_CHARACTERS {
                    for spelled in encodings(escapes, character) {
                        let expected = class == character;
                        assert_eq!(contains(&mut terms, term, &spelled), expected, "{class:?} {spelled}");
                        assert!(contains(&mut terms, any, &spelled), "{escapes:?} {spelled}");
                    }
                    let raw = character.to_string();
                    let expected = encodings(escapes, character).contains(&raw);
                    assert_eq!(contains(&mut terms, any, &raw), expected, "{escapes:?} {raw:?}");
                }
            }
        }
    }

    #[test]
    fn malformed_encodings_are_in_no_universe() {
        for escapes in ESCAPES {
            let (mut terms, mut encoding) = (Terms::new(), StringEncoding::new(escapes));
            let texts = encoding.texts(&mut terms);
            for wrong in
                ["\\", "\"", "\\x", "\\u12", "\\u12g4", "\n", "\\ud800", "\\udc00", "\\ud800\\u0041", "\\a"]
            {
                assert!(!contains(&mut terms, texts, wrong), "{escapes:?} {wrong}");
            }
            assert_eq!(contains(&mut terms, texts, "\\u0041"), escapes == Escapes::Any);
            assert_eq!(contains(&mut terms, texts, "\\u00e9"), escapes != Escapes::Raw);
            assert_eq!(contains(&mut terms, texts, "é"), escapes != Escapes::Ascii);
            assert_eq!(contains(&mut terms, texts, "\\uD83d\\uDe00"), escapes != Escapes::Raw);
        }
    }

    #[test]
    fn simple_classes_are_simple_terms() {
        let (mut terms, mut encoding) = (Terms::new(), StringEncoding::new(Escapes::Natural));
        let letters = terms.bytes(grammask_automata::ByteSet::range(b'a', b'z'));
        assert_eq!(encoding.class(&mut terms, &[('m', 'z'), ('a', 'n')]), letters);
        let word = terms.literal(b"plain word");
        assert_eq!(encoding.literal(&mut terms, "plain word"), word);
        let nothing = terms.nothing();
        assert_eq!(encoding.class(&mut terms, &[]), nothing);
        let texts = encoding.texts(&mut terms);
        assert_eq!(encoding.complement(&mut terms, nothing), texts);
        assert_eq!(encoding.complement(&mut terms, texts), nothing);
    }

    #[test]
    fn the_universe_is_one_term_with_few_states() {
        let mut hashes = Vec::new();
        for _ in 0..2 {
            let (mut terms, mut encoding) = (Terms::new(), StringEncoding::new(Escapes::Natural));
            encoding.literal(&mut terms, &"é".repeat(hashes.len()));
            let texts = encoding.texts(&mut terms);
            hashes.push(terms.content_hash(texts));
            let (mut seen, mut stack) = (std::collections::BTreeSet::from([texts]), vec![texts]);
            while let Some(term) = stack.pop() {
                for byte in 0..=u8::MAX {
                    let next = terms.derivative(term, byte);
                    if seen.insert(next) {
                        stack.push(next);
                    }
                }
            }
            assert!(seen.len() < 40, "{}", seen.len());
        }
        assert_eq!(hashes[0], hashes[1]);
    }

    #[test]
    fn many_words_build_quickly_in_every_universe() {
        let words: Vec<String> = (0..20_000).map(|number| format!("é{number:05}/ü")).collect();
        for escapes in ESCAPES {
            let (mut terms, mut encoding) = (Terms::new(), StringEncoding::new(escapes));
            let term = encoding.literals(&mut terms, words.iter().map(String::as_str));
            for spelled in encodings(escapes, 'é') {
                let end = encodings(escapes, 'ü').swap_remove(0);
                assert!(contains(&mut terms, term, &format!("{spelled}01234\\/{end}")));
                assert!(!contains(&mut terms, term, &format!("{spelled}20000\\/{end}")));
            }
        }
    }

    proptest! {
        #[test]
        fn words_and_lengths_are_inverse_images(
            words in prop::collection::vec("[a/\"\\n\u{7f}é😀]{0,3}", 0..4),
            text in "[a/\"\\n\u{7f}é😀]{0,3}",
            choices in prop::collection::vec(0usize..6, 3),
            mode in 0usize..4,
        ) {
            let escapes = ESCAPES[mode];
            let (mut terms, mut encoding) = (Terms::new(), StringEncoding::new(escapes));
            let spelled: String = text
                .chars()
                .zip(choices)
                .map(|(character, choice)| {
                    let all = encodings(escapes, character);
                    all[choice % all.len()].clone()
                })
                .collect();
            let term = encoding.literals(&mut terms, words.iter().map(String::as_str));
            prop_assert_eq!(contains(&mut terms, term, &spelled), words.contains(&text));
            let outside = encoding.complement(&mut terms, term);
            prop_assert_eq!(contains(&mut terms, outside, &spelled), !words.contains(&text));
            let word = encoding.literal(&mut terms, &text);
            prop_assert!(contains(&mut terms, word, &spelled));
            let count = text.chars().count() as u32;
            let exact = encoding.length(&mut terms, count, Some(count));
            prop_assert!(contains(&mut terms, exact, &spelled));
            let longer = encoding.length(&mut terms, count + 1, None);
            prop_assert!(!contains(&mut terms, longer, &spelled));
        }
    }
}
