//! Compares terms with the sets of words that they denote, up to a length, and liveness with exhaustive searches.

use std::collections::{BTreeSet, HashSet};

use grammask_automata::{Automata, ByteSet, StateId, TableBuilder, TermId, Terms};
use proptest::prelude::*;

/// The letters of all words in these tests.
const LETTERS: &[u8] = b"abc";
/// Maximum length of the compared words, in bytes.
const MAX_LENGTH: usize = 5;

type Words = BTreeSet<Vec<u8>>;

/// A language as a test writes it.
#[derive(Clone, Debug)]
enum Language {
    Literals(Vec<String>),
    Bytes(String),
    Substrings(String),
    Concat(Vec<Language>),
    Union(Vec<Language>),
    Intersection(Vec<Language>),
    Complement(Box<Language>),
    Repeat(Box<Language>, u32, Option<u32>),
    FirstMatch(Box<Language>),
    WithoutMatch(Box<Language>),
}

fn all_words() -> Words {
    let mut all = Words::from([Vec::new()]);
    for _ in 0..MAX_LENGTH {
        let longer: Vec<Vec<u8>> = all
            .iter()
            .flat_map(|word| LETTERS.iter().map(move |&letter| [word.as_slice(), &[letter]].concat()))
            .collect();
        all.extend(longer);
    }
    all
}

fn products(left: &Words, right: &Words) -> Words {
    let pairs = left.iter().flat_map(|one| right.iter().map(move |other| [one.as_slice(), other].concat()));
    pairs.filter(|word| word.len() <= MAX_LENGTH).collect()
}

/// The words of `language` up to the length, by definition.
fn evaluate(language: &Language, all: &Words) -> Words {
    match language {
        Language::Literals(words) => words.iter().map(|word| word.clone().into_bytes()).collect(),
        Language::Bytes(letters) => letters.bytes().map(|letter| vec![letter]).collect(),
        Language::Substrings(text) => {
            let bytes = text.as_bytes();
            let starts = 0..=bytes.len();
            starts
                .flat_map(|start| (start..=bytes.len()).map(move |end| bytes[start..end].to_vec()))
                .collect()
        }
        Language::Concat(parts) => {
            parts.iter().fold([Vec::new()].into(), |words, part| products(&words, &evaluate(part, all)))
        }
        Language::Union(parts) => parts.iter().flat_map(|part| evaluate(part, all)).collect(),
        Language::Intersection(parts) => {
            parts.iter().fold(all.clone(), |words, part| &words & &evaluate(part, all))
        }
        Language::Complement(part) => all - &evaluate(part, all),
        Language::Repeat(part, min, max) => {
            let part = evaluate(part, all);
            let (mut power, mut found) = (Words::from([Vec::new()]), Words::new());
            for count in 0..=max.unwrap_or(min + MAX_LENGTH as u32 + 1) {
                if count >= *min {
                    found.extend(power.iter().cloned());
                }
                power = products(&power, &part);
            }
            found
        }
        Language::FirstMatch(part) => {
            let part = evaluate(part, all);
            let is_first = |word: &&Vec<u8>| {
                !word.is_empty() && (1..word.len()).all(|length| !part.contains(&word[..length]))
            };
            part.iter().filter(is_first).cloned().collect()
        }
        Language::WithoutMatch(part) => {
            let part = evaluate(part, all);
            let is_free = |word: &&Vec<u8>| {
                let mut slices =
                    (0..=word.len()).flat_map(|start| (start..=word.len()).map(move |end| (start, end)));
                !word.is_empty() && slices.all(|(start, end)| !part.contains(&word[start..end]))
            };
            all.iter().filter(is_free).cloned().collect()
        }
    }
}

fn build(language: &Language, terms: &mut Terms) -> TermId {
    let build_all = |parts: &[Language], terms: &mut Terms| {
        parts.iter().map(|part| build(part, terms)).collect::<Vec<_>>()
    };
    match language {
        Language::Literals(words) => match &words[..] {
            [word] => terms.literal(word.as_bytes()),
            _ => terms.literals(words),
        },
        Language::Bytes(letters) => terms.bytes(letters.bytes().collect()),
        Language::Substrings(text) => terms.substrings(text),
        Language::Concat(parts) => {
            let parts = build_all(parts, terms);
            terms.concat(&parts)
        }
        Language::Union(parts) => {
            let parts = build_all(parts, terms);
            terms.union(&parts)
        }
        Language::Intersection(parts) => {
            let parts = build_all(parts, terms);
            terms.intersection(&parts)
        }
        Language::Complement(part) => {
            let part = build(part, terms);
            terms.complement(part)
        }
        Language::Repeat(part, min, max) => {
            let part = build(part, terms);
            terms.repeat(part, *min, *max)
        }
        Language::FirstMatch(part) => {
            let part = build(part, terms);
            terms.first_match(part)
        }
        Language::WithoutMatch(part) => {
            let part = build(part, terms);
            terms.without_match(part)
        }
    }
}

fn language() -> impl Strategy<Value = Language> {
    let leaf = prop_oneof![
        4 => prop::collection::vec("[abc]{0,3}", 1..5).prop_map(Language::Literals),
        4 => "[abc]{1,3}".prop_map(Language::Bytes),
        1 => "[abc]{0,5}".prop_map(Language::Substrings),
    ];
    leaf.prop_recursive(5, 24, 3, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        let several = || prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            4 => several().prop_map(Language::Concat),
            3 => several().prop_map(Language::Union),
            2 => several().prop_map(Language::Intersection),
            1 => boxed().prop_map(Language::Complement),
            4 => (boxed(), 0u32..4, prop::option::of(0u32..4))
                .prop_map(|(part, min, more)| Language::Repeat(part, min, more.map(|more| min + more))),
            1 => boxed().prop_map(Language::FirstMatch),
            1 => boxed().prop_map(Language::WithoutMatch),
        ]
    })
}

fn accepts(automata: &mut Automata, term: TermId, word: &[u8]) -> bool {
    let mut state = automata.start(term).unwrap();
    for &byte in word {
        let Some(current) = state else { return false };
        state = automata.step(current, byte).unwrap();
    }
    state.is_some_and(|state| automata.is_accepting(state))
}

/// Whether some word is in `term`, by a search through all derivatives.
fn is_inhabited(terms: &mut Terms, term: TermId) -> bool {
    let (mut seen, mut queue) = (HashSet::from([term]), vec![term]);
    while let Some(term) = queue.pop() {
        if terms.is_nullable(term) {
            return true;
        }
        for byte in 0..=u8::MAX {
            let next = terms.derivative(term, byte);
            if seen.insert(next) {
                queue.push(next);
            }
        }
    }
    false
}

/// The states that can be reached over the letters, at most `count` of them.
fn reach(automata: &mut Automata, start: StateId, count: usize) -> Vec<StateId> {
    let mut states = vec![start];
    let mut next = 0;
    while next < states.len() && states.len() < count {
        for &letter in LETTERS {
            let target = automata.step(states[next], letter).unwrap();
            states.extend(target.filter(|target| !states.contains(target)));
        }
        next += 1;
    }
    states
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn terms_hold_the_words_of_their_definition(language in language()) {
        let all = all_words();
        let expected = evaluate(&language, &all);
        let mut terms = Terms::new();
        let term = build(&language, &mut terms);
        let shown = terms.display(term);
        let mut automata = Automata::new(terms, 200_000);
        for word in &all {
            let text = String::from_utf8_lossy(word);
            prop_assert_eq!(accepts(&mut automata, term, word), expected.contains(word), "{} on {}", shown, text);
        }
    }

    #[test]
    fn steps_go_where_a_word_can_end(language in language()) {
        let mut terms = Terms::new();
        let term = build(&language, &mut terms);
        let mut searched = terms.clone();
        let mut automata = Automata::new(terms, 200_000);
        let start = automata.start(term).unwrap();
        prop_assert_eq!(start.is_some(), is_inhabited(&mut searched, term));
        for state in start.map(|start| reach(&mut automata, start, 12)).unwrap_or_default() {
            let mut searched = automata.terms().clone();
            let first = automata.first_bytes(state).unwrap();
            prop_assert_eq!(automata.continues(state).unwrap(), !first.is_empty());
            for byte in (0..=u8::MAX).step_by(7).chain(LETTERS.iter().copied()) {
                let derivative = searched.derivative(automata.term(state), byte);
                let live = is_inhabited(&mut searched, derivative);
                prop_assert_eq!(first.contains(byte), live, "{}", searched.display(derivative));
                prop_assert_eq!(automata.step(state, byte).unwrap().is_some(), live);
            }
        }
    }

    #[test]
    fn content_hashes_do_not_depend_on_the_arena(languages in prop::collection::vec(language(), 1..4)) {
        let mut forwards = Terms::new();
        let mut backwards = Terms::new();
        let one: Vec<TermId> = languages.iter().map(|language| build(language, &mut forwards)).collect();
        backwards.literals(&["some", "other", "words"]);
        let mut other: Vec<TermId> =
            languages.iter().rev().map(|language| build(language, &mut backwards)).collect();
        other.reverse();
        for (&one, &other) in one.iter().zip(&other) {
            prop_assert_eq!(forwards.content_hash(one), backwards.content_hash(other));
            for &letter in LETTERS {
                let (one, other) = (forwards.derivative(one, letter), backwards.derivative(other, letter));
                prop_assert_eq!(forwards.content_hash(one), backwards.content_hash(other));
            }
        }
        let mut reversed = other.clone();
        reversed.reverse();
        prop_assert_eq!(backwards.union(&other), backwards.union(&reversed));
        prop_assert_eq!(backwards.intersection(&other), backwards.intersection(&reversed));
    }
}

/// How many states a walk over `text` makes.
fn states_of_walk(terms: Terms, term: TermId, text: impl IntoIterator<Item = u8>) -> usize {
    let mut automata = Automata::new(terms, 100_000);
    let mut state = automata.start(term).unwrap().unwrap();
    for byte in text {
        state = automata.step(state, byte).unwrap().unwrap();
    }
    automata.len()
}

#[test]
fn counted_repetitions_have_few_and_small_states() {
    let mut terms = Terms::new();
    let letter = terms.bytes(ByteSet::range(b'a', b'z'));
    let thousand = terms.repeat(letter, 1000, Some(1000));
    assert!(states_of_walk(terms.clone(), thousand, [b'x'; 1000]) <= 1002);

    // Ambiguous counters: the ranges of remaining counts merge, so no state is a long list of them.
    for (min, max) in [(0, 1000), (500, 1000), (1000, 1000)] {
        let mut terms = Terms::new();
        let (one, two) = (terms.literal(b"a"), terms.literal(b"aa"));
        let either = terms.union(&[one, two]);
        let term = terms.repeat(either, min, Some(max));
        let mut automata = Automata::new(terms, 100_000);
        let mut state = automata.start(term).unwrap().unwrap();
        for length in 0..2000 {
            assert_eq!(automata.is_accepting(state), length >= min, "{length}");
            let shown = automata.terms().display(automata.term(state));
            assert!(shown.len() < 120, "{shown}");
            state = automata.step(state, b'a').unwrap().unwrap();
        }
        assert!(automata.is_accepting(state) && !automata.continues(state).unwrap());
        assert!(automata.len() < 2200, "{}", automata.len());
    }
}

#[test]
fn long_literals_are_chunks_and_their_suffixes_are_literals() {
    let word: Vec<u8> = (0..100_000u32).map(|index| (index * 31 % 251) as u8).collect();
    let mut terms = Terms::new();
    let whole = terms.literal(&word);
    assert!(terms.len() < 8_000);
    let suffix = terms.literal(&word[1234..]);
    let rest = word[..1234].iter().fold(whole, |term, &byte| terms.derivative(term, byte));
    assert_eq!(rest, suffix);
    let parts: Vec<TermId> = word[..500].chunks(7).map(|part| terms.literal(part)).collect();
    assert_eq!(terms.concat(&parts), terms.literal(&word[..500]));
}

#[test]
fn terms_may_be_nested_as_deep_as_they_like() {
    let mut terms = Terms::new();
    let (mut term, letter) = (terms.literal(b"x"), terms.literal(b"a"));
    for depth in 0..50_000 {
        term = match depth % 5 {
            0 => terms.concat(&[term, letter]),
            1 => terms.union(&[term, letter]),
            2 => terms.repeat(term, 1, Some(2)),
            3 => terms.first_match(term),
            _ => terms.complement(term),
        };
        if depth % 50 == 0 {
            // Chains are flat; this nests them.
            term = terms.repeat(term, 2, Some(3));
        }
    }
    let derivative = terms.derivative(term, b'a');
    assert!(!terms.display(derivative).is_empty());
    drop(terms);
}

#[test]
fn optional_chains_contribute_to_one_union() {
    let mut terms = Terms::new();
    let parts: Vec<TermId> = (0..2000u32)
        .map(|number| {
            let word = terms.literal(format!("{number:04}").as_bytes());
            terms.repeat(word, 0, Some(1))
        })
        .collect();
    let chain = terms.concat(&parts);
    let mut automata = Automata::new(terms, 10_000);
    assert!(accepts(&mut automata, chain, b"000100021999"));
    assert!(!accepts(&mut automata, chain, b"00020001"));
}

#[test]
fn a_budget_ends_searches_and_walks_with_an_error() {
    let mut terms = Terms::new();
    let letters = terms.bytes(ByteSet::range(b'a', b'b'));
    let any = terms.repeat(letters, 0, None);
    let (a, tail) = (terms.literal(b"a"), terms.repeat(letters, 40, Some(40)));
    let explosive = terms.concat(&[any, a, tail]);
    let (b, long) = (terms.literal(b"b"), terms.repeat(letters, 41, Some(41)));
    let never = terms.concat(&[b, long]);
    let short = terms.repeat(letters, 41, Some(41));
    let empty = terms.intersection(&[explosive, never, short]);
    let mut automata = Automata::new(terms.clone(), 20);
    assert!(accepts(&mut automata, a, b"a"));
    for _ in 0..2 {
        let error = automata.start(empty).unwrap_err();
        assert_eq!((error.limit, error.maximum), ("automaton_states", 20));
        // Memoised states remain valid after an error.
        assert!(accepts(&mut automata, a, b"a"));
    }
    // The two lengths alone exclude each other in few states.
    let lengths = terms.intersection(&[never, short]);
    assert_eq!(Automata::new(terms, 100).start(lengths).unwrap(), None);
}

#[test]
fn laws_find_the_simplest_terms() {
    let mut terms = Terms::new();
    let (a, b) = (terms.literal(b"a"), terms.literal(b"b"));
    let (nothing, epsilon, anything) = (terms.nothing(), terms.epsilon(), terms.anything());
    let ab = terms.bytes(ByteSet::range(b'a', b'b'));
    assert_eq!(terms.union(&[b, a, nothing]), ab);
    assert_eq!(terms.intersection(&[ab, a]), a);
    assert_eq!(terms.intersection(&[a, b]), nothing);
    assert_eq!(terms.complement(nothing), anything);
    let not_a = terms.complement(a);
    assert_eq!(terms.union(&[not_a, a]), anything);
    assert_eq!(terms.intersection(&[not_a, a]), nothing);
    assert_eq!(terms.complement(not_a), a);
    let star = terms.repeat(a, 0, None);
    let plus = terms.repeat(a, 1, None);
    assert_eq!(terms.concat(&[a, star]), plus);
    assert_eq!(terms.concat(&[star, a]), plus);
    assert_eq!(terms.union(&[plus, epsilon]), star);
    assert_eq!(terms.repeat(plus, 0, None), star);
    assert_eq!(terms.repeat(star, 3, Some(5)), star);
    assert_eq!(terms.repeat(nothing, 1, None), nothing);
    assert_eq!(terms.repeat(nothing, 0, None), epsilon);
    assert_eq!(terms.repeat(a, 2, Some(1)), nothing);
    assert_eq!(terms.concat(&[star, anything]), anything);
    let (low, high) = (terms.repeat(a, 2, Some(4)), terms.repeat(a, 5, Some(9)));
    let both = terms.repeat(a, 2, Some(9));
    assert_eq!(terms.union(&[low, high]), both);
    assert_eq!(terms.first_match(epsilon), nothing);
    assert_eq!(terms.without_match(epsilon), nothing);
}

#[test]
fn tables_are_terms() {
    // An even number of a.
    let mut builder = TableBuilder::new();
    let (even, odd) = (builder.add_state(), builder.add_state());
    builder.accept(even);
    builder.transition(even, b'a', b'a', odd);
    builder.transition(odd, b'a', b'a', even);
    let mut terms = Terms::new();
    let table = builder.finish(even);
    let even = terms.table(table.clone());
    assert_eq!(terms.table(table), even);
    let a = terms.literal(b"a");
    let star = terms.repeat(a, 0, None);
    let not_even = terms.complement(even);
    let odd = terms.intersection(&[star, not_even]);
    let mut automata = Automata::new(terms, 100);
    assert!(accepts(&mut automata, odd, b"aaa") && !accepts(&mut automata, odd, b"aa"));
    assert!(!accepts(&mut automata, odd, b"aab"));
}
