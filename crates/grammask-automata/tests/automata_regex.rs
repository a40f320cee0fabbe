//! Compares terms of patterns with a matcher that implements the definition of each construct, on all short strings.

use std::collections::BTreeSet;

use grammask_automata::regex::RegexErrorKind;
use grammask_automata::{Automata, TermId, Terms, regex};
use grammask_diagnostics::Limits;
use proptest::prelude::*;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// All ends of matches of `hir` in `text` that start at `start`, by the meaning of each construct.
fn ends(hir: &Hir, text: &[u8], start: usize) -> BTreeSet<usize> {
    match hir.kind() {
        HirKind::Empty => BTreeSet::from([start]),
        HirKind::Literal(literal) if text[start..].starts_with(&literal.0) => {
            [start + literal.0.len()].into()
        }
        HirKind::Literal(_) => BTreeSet::new(),
        HirKind::Class(Class::Bytes(class)) => {
            let is_member = |byte: u8| class.iter().any(|range| range.start() <= byte && byte <= range.end());
            text.get(start).filter(|byte| is_member(**byte)).map(|_| start + 1).into_iter().collect()
        }
        HirKind::Class(Class::Unicode(class)) => {
            let first = (1..=4).find_map(|length| {
                let character = text.get(start..start + length)?;
                std::str::from_utf8(character).ok()?.chars().next()
            });
            let is_member = |c: char| class.iter().any(|range| range.start() <= c && c <= range.end());
            first.filter(|c| is_member(*c)).map(|c| start + c.len_utf8()).into_iter().collect()
        }
        HirKind::Look(look) => {
            if holds(*look, &text[..start], &text[start..]) {
                [start].into()
            } else {
                BTreeSet::new()
            }
        }
        HirKind::Capture(capture) => ends(&capture.sub, text, start),
        HirKind::Concat(parts) => {
            parts.iter().fold([start].into(), |starts, part| all_ends(part, text, &starts))
        }
        HirKind::Alternation(parts) => parts.iter().flat_map(|part| ends(part, text, start)).collect(),
        HirKind::Repetition(repetition) => {
            let mut current = BTreeSet::from([start]);
            let mut found = BTreeSet::new();
            let max = repetition.max.unwrap_or(repetition.min + text.len() as u32 + 1);
            for count in 0..=max {
                if count >= repetition.min {
                    found.extend(&current);
                }
                current = all_ends(&repetition.sub, text, &current);
            }
            found
        }
    }
}

/// Whether an assertion holds between two texts, by its definition in `regex-syntax`.
fn holds(look: Look, before: &[u8], after: &[u8]) -> bool {
    let is_ascii = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let ascii = (is_ascii(before.last()), is_ascii(after.first()));
    // `None` inside of a character, where no Unicode word boundary holds.
    let last = std::str::from_utf8(before).ok().map(|text| text.chars().next_back());
    let first = std::str::from_utf8(after).ok().map(|text| text.chars().next());
    let is_word = |character: Option<char>| character.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let unicode = last.zip(first).map(|(last, first)| (is_word(last), is_word(first)));
    match look {
        Look::Start => before.is_empty(),
        Look::End => after.is_empty(),
        Look::StartLF => before.is_empty() || before.ends_with(b"\n"),
        Look::EndLF => after.is_empty() || after.starts_with(b"\n"),
        Look::StartCRLF => {
            before.is_empty()
                || before.ends_with(b"\n")
                || before.ends_with(b"\r") && !after.starts_with(b"\n")
        }
        Look::EndCRLF => {
            after.is_empty()
                || after.starts_with(b"\r")
                || after.starts_with(b"\n") && !before.ends_with(b"\r")
        }
        Look::WordAscii => ascii.0 != ascii.1,
        Look::WordAsciiNegate => ascii.0 == ascii.1,
        Look::WordStartAscii => ascii == (false, true),
        Look::WordEndAscii => ascii == (true, false),
        Look::WordStartHalfAscii => !ascii.0,
        Look::WordEndHalfAscii => !ascii.1,
        Look::WordUnicode => unicode.is_some_and(|(last, first)| last != first),
        Look::WordUnicodeNegate => unicode.is_some_and(|(last, first)| last == first),
        Look::WordStartUnicode => unicode == Some((false, true)),
        Look::WordEndUnicode => unicode == Some((true, false)),
        Look::WordStartHalfUnicode => unicode.is_some_and(|(last, _)| !last),
        Look::WordEndHalfUnicode => unicode.is_some_and(|(_, first)| !first),
    }
}

fn all_ends(hir: &Hir, text: &[u8], starts: &BTreeSet<usize>) -> BTreeSet<usize> {
    starts.iter().flat_map(|&start| ends(hir, text, start)).collect()
}

fn parse(pattern: &str) -> Hir {
    regex_syntax::ParserBuilder::new().utf8(false).build().parse(pattern).unwrap()
}

fn accepts(automata: &mut Automata, term: TermId, word: &[u8]) -> bool {
    let mut state = automata.start(term).unwrap();
    for &byte in word {
        let Some(current) = state else { return false };
        state = automata.step(current, byte).unwrap();
    }
    state.is_some_and(|state| automata.is_accepting(state))
}

/// All words of at most `length` of the `letters`.
fn words(letters: &[&str], length: usize) -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    let mut start = 0;
    for _ in 0..length {
        let end = all.len();
        for index in start..end {
            for letter in letters {
                let mut word = all[index].clone();
                word.extend_from_slice(letter.as_bytes());
                all.push(word);
            }
        }
        start = end;
    }
    all
}

fn check(pattern: &str, words: &[Vec<u8>]) {
    let hir = parse(pattern);
    let mut terms = Terms::new();
    let whole = regex::term(&mut terms, pattern, &Limits::default()).unwrap();
    let free = regex::search_term(&mut terms, pattern, &Limits::default()).unwrap();
    let mut automata = Automata::new(terms, 100_000);
    for word in words {
        let shown = String::from_utf8_lossy(word);
        let matches = ends(&hir, word, 0).contains(&word.len());
        assert_eq!(accepts(&mut automata, whole, word), matches, "{pattern:?} on {shown:?}");
        let found = (0..=word.len()).any(|start| !ends(&hir, word, start).is_empty());
        let is_text = !word.is_empty() && std::str::from_utf8(word).is_ok();
        assert_eq!(accepts(&mut automata, free, word), is_text && !found, "free of {pattern:?} on {shown:?}");
    }
}

fn pattern(assertions: Vec<&'static str>) -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        prop::sample::select(vec![
            "a", "b", "ab", "é", "你", "[ab]", "[^a]", ".", "[aé你]", "(?s:.)", "", "\\n", "[b-é]", "(?i:é)",
            "[a&&b]", "abba",
        ])
        .prop_map(str::to_owned),
        prop::sample::select(assertions).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
            2 => prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            2 => (inner, prop::sample::select(vec!["*", "+", "?", "{2}", "{0,2}", "{2,3}", "{1,}", "*?", "{0}"]))
                .prop_map(|(part, operator)| format!("({part}){operator}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn terms_match_what_the_pattern_says(pattern in pattern(vec![
        "^", "$", "(?m:^)", "(?m:$)", "(?-u:\\b)", "(?-u:\\B)", "(?-u:\\b{start})", "(?-u:\\b{end-half})",
    ])) {
        let mut all = words(&["a", "b", "é", "\n"], 4);
        all.extend(words(&["a", "你"], 3));
        // Parts of characters are no texts, and match no Unicode class.
        all.extend([b"\xc3".to_vec(), b"a\xa9".to_vec(), b"\xe4\xbd".to_vec(), b"\xff".to_vec()]);
        check(&pattern, &all);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn unicode_assertions_distinguish_characters(pattern in pattern(vec![
        "\\b", "\\B", "\\b{start}", "\\b{end}", "\\b{start-half}", "\\b{end-half}", "(?-u:\\b)", "^", "(?m:$)",
    ])) {
        let mut all = words(&["a", "é", "·", "\n"], 4);
        all.extend(words(&["_", "你", "-"], 3));
        all.extend([b"\xc3".to_vec(), b"a\xa9".to_vec(), b"\xc3a".to_vec(), b"\xff".to_vec()]);
        check(&pattern, &all);
    }

    #[test]
    fn line_breaks_may_be_two_characters(pattern in pattern(vec!["(?mR:^)", "(?mR:$)", "(?m:$)", "^", "\\b"])) {
        check(&pattern, &words(&["a", "b", "\r", "\n"], 4));
    }
}

#[test]
fn assertions_at_the_ends_and_inside() {
    let all = words(&["a", "b", "\n", "é"], 5);
    for pattern in [
        "^a",
        "a$",
        "^a$",
        "^",
        "$",
        "^$",
        r"\Aa\z",
        "^a|b$",
        "(?:^|b)a(?:b|$)",
        "(?m)^a",
        "(?m)a$",
        "(?m)^$",
        "(^a)",
        "(a$)|(^b)",
        "a^b",
        "a$b",
        "$^",
        "^*a",
        "(?:^a)?b",
        r"(?-u:\ba)",
        r"a(?-u:\B)b",
        "a(?m:$)\nb",
        r"(?-u:\b)",
        "(?:^|^a)b",
        "^(?:a|b)*$",
        r"(?m)^(?:a|\n)*$",
        "^a*",
        "",
        "a([a&&b])*",
        "(?m)([a&&b])*a$",
    ] {
        check(pattern, &all);
    }
}

#[test]
fn raw_bytes_are_for_patterns_without_unicode() {
    let mut terms = Terms::new();
    let raw = regex::term(&mut terms, r"(?-u:\xff)[^a]", &Limits::default()).unwrap();
    let mut automata = Automata::new(terms, 100);
    assert!(accepts(&mut automata, raw, b"\xffb"));
    assert!(accepts(&mut automata, raw, b"\xff\xc3\xa9"));
    assert!(!accepts(&mut automata, raw, b"\xff\xc3"));
}

#[test]
fn a_pattern_with_the_empty_match_leaves_no_text_free() {
    for pattern in ["", "a*", "a?|b", "$", "(?m)^", r"(?:a|)*"] {
        let mut terms = Terms::new();
        let free = regex::search_term(&mut terms, pattern, &Limits::default()).unwrap();
        assert_eq!(free, terms.nothing(), "{pattern:?}");
    }
}

#[test]
fn refusals_name_kind_place_and_remedy() {
    use RegexErrorKind::{Invalid, LookAround, TooLarge, Unsupported};
    let deep = "(".repeat(5_000) + "a" + &")".repeat(5_000);
    for (pattern, kind, span, has_help) in [
        ("a(?=b)", LookAround, (1, 4), true),
        ("(?<!b)c", LookAround, (0, 4), true),
        (r"(a)\1", Unsupported, (3, 5), true),
        (r"\b(?-u:\xff)", Unsupported, (0, 12), true),
        (r"(?-u:\B)a\b", Unsupported, (0, 11), true),
        ("a(b", Invalid, (1, 2), true),
        ("ab)", Invalid, (2, 3), true),
        ("*a", Invalid, (0, 0), true),
        ("a{3,2}", Invalid, (1, 6), false),
        ("[z-a]", Invalid, (1, 4), false),
        (r"\p{Nope}", Invalid, (0, 8), false),
        (r"x\q", Invalid, (1, 3), false),
        (&deep, TooLarge, (250, 250), true),
    ] {
        let error = regex::term(&mut Terms::new(), pattern, &Limits::default()).unwrap_err();
        let shown: String = pattern.chars().take(30).collect();
        assert_eq!(error.kind(), kind, "{shown}: {error}");
        assert_eq!((error.span().start, error.span().end), span, "{shown}: {error}");
        assert_eq!(error.help().is_some(), has_help, "{shown}: {error}");
    }
}

#[test]
fn hostile_patterns_stay_small_or_are_refused() {
    let limits = Limits::default();
    let mut terms = Terms::new();
    for pattern in [
        r"\w{1000000}",
        r"(((a{1000}){1000}){1000})",
        r"((\w{1,1000}){1,1000}x?){1,1000}",
        "(a{0,4000000000}){0,4000000000}",
    ] {
        regex::term(&mut terms, pattern, &limits).unwrap();
    }
    assert!(terms.len() < 100, "{} terms", terms.len());
    let nested = "(?:a\\b-*".repeat(40) + &")*".repeat(40);
    for pattern in [r"a(?-u:\b)\w{100000}", r"\w{0,100000}\b\W{100000}", r"(?:a\b|\b-){0,100}", &nested] {
        let mut terms = Terms::new();
        regex::term(&mut terms, pattern, &limits).unwrap();
        assert!(terms.len() < 20_000, "{} terms: {pattern}", terms.len());
    }
    let error = regex::term(&mut terms, r"(?:a\b|\b-){100000}", &limits).unwrap_err();
    assert_eq!(error.kind(), RegexErrorKind::TooLarge);
    let mut small = Limits::default();
    small.memory_bytes = 1 << 20;
    let error = regex::term(&mut terms, &r"\w".repeat(1000), &small).unwrap_err();
    assert_eq!(error.kind(), RegexErrorKind::TooLarge);
    regex::term(&mut terms, &r"\w".repeat(1000), &limits).unwrap();
}

#[test]
fn long_alternations_of_words_become_one_automaton() {
    let words: Vec<String> = (0..20_000).map(|number| format!("w{:x}", number * 7919 % 1_000_003)).collect();
    let mut terms = Terms::new();
    let term = regex::term(&mut terms, &words.join("|"), &Limits::default()).unwrap();
    let mut automata = Automata::new(terms, 100_000);
    assert!(words.iter().all(|word| accepts(&mut automata, term, word.as_bytes())));
    assert!(!accepts(&mut automata, term, b"wx"));
}
