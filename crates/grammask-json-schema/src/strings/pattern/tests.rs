//! Compares patterns with a matcher that follows the definition of each construct, on all short texts.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::ast::{PatternAst, PatternNode, PatternNodeId, Polarity};
use super::*;
use crate::options::Escapes;
use crate::strings::lengths::bounded;
use grammask_automata::Automata;

/// All ends of matches of a node that start at `start`.
fn ends(pattern: &PatternAst, id: PatternNodeId, text: &[char], start: usize) -> BTreeSet<usize> {
    let is_word = |at: Option<&char>| at.is_some_and(|c| c.is_ascii_alphanumeric() || *c == '_');
    let before = start.checked_sub(1).and_then(|at| text.get(at));
    let holds = |holds: bool| if holds { BTreeSet::from([start]) } else { BTreeSet::new() };
    match pattern.node(id) {
        PatternNode::Class(class) => {
            let is_member = |c: &char| class.iter().any(|range| range.start() <= *c && *c <= range.end());
            text.get(start).filter(|c| is_member(c)).map(|_| start + 1).into_iter().collect()
        }
        PatternNode::Concat(parts) => {
            parts.iter().fold([start].into(), |starts, part| all_ends(pattern, *part, text, &starts))
        }
        PatternNode::Alternation(parts) => {
            parts.iter().flat_map(|part| ends(pattern, *part, text, start)).collect()
        }
        &PatternNode::Repeat { body, min, max } => {
            let mut current = BTreeSet::from([start]);
            let mut found = BTreeSet::new();
            let enough = min + text.len() as u32 + 1;
            for count in 0..=max.unwrap_or(enough).min(enough) {
                if count >= min {
                    found.extend(&current);
                }
                current = all_ends(pattern, body, text, &current);
            }
            found
        }
        PatternNode::Start => holds(start == 0),
        PatternNode::End => holds(start == text.len()),
        PatternNode::WordBoundary(polarity) => {
            holds((is_word(before) != is_word(text.get(start))) == (*polarity == Polarity::Positive))
        }
        &PatternNode::LookAhead(polarity, body) => {
            holds(ends(pattern, body, text, start).is_empty() == (polarity == Polarity::Negative))
        }
        &PatternNode::LookBehind(polarity, body) => {
            let found = (0..=start).any(|at| ends(pattern, body, text, at).contains(&start));
            holds(found == (polarity == Polarity::Positive))
        }
    }
}

fn all_ends(
    pattern: &PatternAst,
    id: PatternNodeId,
    text: &[char],
    starts: &BTreeSet<usize>,
) -> BTreeSet<usize> {
    starts.iter().flat_map(|&start| ends(pattern, id, text, start)).collect()
}

fn is_found(pattern: &PatternAst, text: &[char]) -> bool {
    (0..=text.len()).any(|start| !ends(pattern, pattern.root(), text, start).is_empty())
}

/// All texts of up to `length` characters of an alphabet.
fn texts(alphabet: &[char], length: usize) -> Vec<Vec<char>> {
    let mut all = vec![Vec::new()];
    let mut last = all.clone();
    for _ in 0..length {
        last = last
            .iter()
            .flat_map(|text| alphabet.iter().map(|c| [&text[..], &[*c]].concat()))
            .collect::<Vec<_>>();
        all.extend_from_slice(&last);
    }
    all
}

fn accepts(automata: &mut Automata, term: TermId, word: &str) -> bool {
    let mut state = automata.start(term).unwrap();
    for byte in word.bytes() {
        let Some(current) = state else { return false };
        state = automata.step(current, byte).unwrap();
    }
    state.is_some_and(|state| automata.is_accepting(state))
}

struct PatternScene {
    terms: Terms,
    encoding: StringEncoding,
}

impl PatternScene {
    fn new() -> Self {
        Self { terms: Terms::new(), encoding: StringEncoding::new(Escapes::Natural) }
    }

    fn search(&mut self, source: &str) -> Result<TermId, PatternError> {
        search(&mut self.terms, &mut self.encoding, source, &Limits::default())
    }

    fn full_match(&mut self, source: &str) -> TermId {
        full_match(&mut self.terms, &mut self.encoding, source, &Limits::default()).unwrap()
    }
}

/// The number of states reachable from `term`.
fn states(terms: &Terms, term: TermId) -> usize {
    let mut automata = Automata::new(terms.clone(), 1_000_000);
    let start = automata.start(term).unwrap().unwrap();
    let (mut seen, mut stack) = (BTreeSet::from([start]), vec![start]);
    while let Some(state) = stack.pop() {
        for (_, next) in automata.successors(state).unwrap() {
            if seen.insert(next) {
                stack.push(next);
            }
        }
    }
    seen.len()
}

#[test]
fn patterns_match_as_specified() {
    let cases: [(&str, &[&str], &[&str]); 57] = [
        ("foo", &["foo", "xfoox", "fofoo"], &["fo", ""]),
        ("^foo", &["foo", "foox"], &["xfoo"]),
        ("foo$", &["foo", "xfoo"], &["foox"]),
        ("^[a-z]+$", &["a", "zz"], &["", "A", "a1"]),
        ("", &["", "x"], &[]),
        ("^$", &[""], &["x"]),
        ("^a|b$", &["ax", "xb"], &["xax", "bx"]),
        ("^(?!foo|bar).+$", &["x", "fo", "xfoo"], &["foo", "barx", ""]),
        ("^((?!foo).)*$", &["", "fo", "fxoo"], &["foo", "xfoox", "xfoo"]),
        ("^((?!foo).)*", &["", "foo"], &[]),
        ("^((?!foo).)+", &["a", "xfoo"], &["", "foo"]),
        ("^(.(?!foo))*$", &["", "foo", "fo"], &["xfoo", "xfoox"]),
        ("^(?=.*\\d)(?=.*[a-z]).{2,4}$", &["a1", "1--a"], &["ab", "12", "a1234"]),
        ("\\bcat\\b", &["cat", "a cat.", "-cat-"], &["cats", "concat", "_cat"]),
        ("\\Bcat", &["xcat"], &["cat", " cat"]),
        ("(?<=a)b", &["ab", "xab"], &["b", "cb"]),
        ("(?<!a)b", &["b", "cb", "abb"], &["ab"]),
        ("(?<=^|,)x", &["x", "a,x"], &["ax"]),
        ("^((?!-)[a-z-]{1,9}(?<!-)\\.)+[a-z]{2}$", &["a.bc", "a-b.c.de"], &["-a.bc", "a-.bc", "a.-.bc"]),
        ("^(?:[^/*]|\\/(?!\\*)|\\*(?!\\/))*$", &["", "a/b*c", "\\/", "//", "**"], &["/*", "a*/", "/**"]),
        ("^(a(?=b|$)|b(?!b)|c)*$", &["aba", "cba", "abca"], &["aa", "bb", "ac"]),
        ("(a(?=[bc])|b(?!\\w))+c", &["xacx"], &["ab", "bc"]),
        ("^(?:a(?!a)-?)+b", &["a-ab", "ab"], &["aab", "b"]),
        ("(?<=ab)c", &["abc", "xabcx"], &["bc", "ac", "acab"]),
        ("(?<!ab)c", &["c", "bc", "abcc"], &["abc", "ab"]),
        ("^(?!\\[\\[)((.|\\n|\\r)*?)(?<!\\]\\])$", &["", "]", "a]", "]]a"], &["[[", "[[a", "a]]", "]]"]),
        ("^(?:x|[a-z.]+(?<!\\.git))?$", &["", "x", "a.gi", "git"], &["a.git", ".git"]),
        ("^[a-z]+(?<!^a|bc)-\\b[a-z]$", &["b-x", "aa-x"], &["a-x", "bc-x", "b--"]),
        ("(?<=\\d{2}(?<!00))x", &["12x", "0x01x"], &["00x", "1x"]),
        ("^(\\/?((\\.{2})|([a-z0-9\\-]*))($|\\/))*$", &["", "a/b", "\\/a/..", "../"], &["A", "a.b"]),
        ("^([^,]+(,|$)){3,}$", &["a,b,c", "a,b,c,", "a,b,c,d"], &["a,b", "a", ",,,"]),
        ("^(?:\\b\\w+\\b[ -]?)+$", &["a", "ab cd", "a-b c"], &["", " a", "a  b"]),
        ("^$|(^(?:\\S+\\s+){0,2}\\S+$)", &["", "a", "a b c"], &["a b c d", " "]),
        ("^\\d+$", &["0123"], &["٣"]),
        ("^\\w+$", &["aZ_9"], &["é"]),
        ("^\\W$", &["é", "-"], &["a"]),
        ("^\\s$", &[" ", "\\t", "\\n", "\u{a0}", "\\ufeff"], &["\\u0001", "x"]),
        ("^.$", &["x", "😀", "\\ud83d\\ude00"], &["\\n", "\u{2028}", "\\u2029"]),
        ("^[^]$", &["x", "\\n"], &["xx", ""]),
        ("a[]b", &[], &["ab"]),
        ("^[\\w-.]+$", &["a-.b"], &["+"]),
        ("^[a\\-z]$", &["a", "-", "z"], &["b"]),
        ("^\\p{L}\\P{Lu}\\p{Script=Greek}$", &["Éaα", "éxΑ"], &["1aα", "éXα"]),
        ("^\\p{Letter}cole$", &["École"], &["1cole"]),
        ("^\\u0041\\x42\\u{43}\\cA\\0$", &["ABC\\u0001\\u0000"], &["ABC"]),
        ("^\\ud83d\\ude00$", &["😀"], &["x"]),
        ("^a{2}b{1,}c{0,1}$", &["aab", "aabbbc"], &["ab", "aabcc"]),
        ("^{a}]}$", &["{a}]}"], &["a"]),
        ("^${x$|^a$", &["a"], &["${x"]),
        ("^\\_\\-\\/\\@$", &["_-/@", "_-\\/@"], &["_"]),
        ("(?i)^straSSe$", &["STRASSE", "ſtrasse"], &["strase"]),
        ("^(?i:a)b$", &["Ab", "ab"], &["aB"]),
        ("^(?<year>\\d{4})-(?P<month>\\d\\d)$", &["2024-01"], &["2024-1"]),
        ("^a*?b+?$", &["aab", "b"], &["a"]),
        ("\\Aa\\Z", &["a"], &["a\\n"]),
        ("^[^\\\\\"]+$", &["a/b", "a\\/b"], &["\\\\", "\\\"", "\\u0022"]),
        ("^(a|b|^c)*d$", &["cabd", "d", "abd"], &["acd"]),
    ];
    let mut scene = PatternScene::new();
    for (source, found, missed) in cases {
        let term = scene.search(source).unwrap();
        let mut automata = Automata::new(scene.terms.clone(), 100_000);
        for text in found {
            assert!(accepts(&mut automata, term, text), "{source} in {text}");
        }
        for text in missed {
            assert!(!accepts(&mut automata, term, text), "{source} not in {text}");
        }
    }
}

#[test]
fn errors_have_kinds_and_offsets() {
    use PatternErrorKind::{Syntax, TooLarge, Unsupported};
    for (source, offset, kind) in [
        ("a(b", 1, Syntax),
        ("a)b", 1, Syntax),
        ("a[b", 1, Syntax),
        ("a**", 2, Syntax),
        ("*a", 0, Syntax),
        ("a{2,1}", 1, Syntax),
        ("a{,3}", 1, Syntax),
        ("{2}", 0, Syntax),
        ("[z-a]", 1, Syntax),
        ("\\a", 0, Syntax),
        ("x\\", 1, Syntax),
        ("\\xg0", 0, Syntax),
        ("\\u{110000}", 0, Syntax),
        ("\\p{Nope}", 0, Syntax),
        ("\\pL", 0, Syntax),
        ("^*", 1, Syntax),
        ("(?>a)", 0, Syntax),
        ("a++", 2, Syntax),
        ("(a)\\1", 3, Unsupported),
        ("(?<x>a)\\k<x>", 7, Unsupported),
        ("\\ud800", 0, Unsupported),
        ("((?<=ab)c)*$", 0, Unsupported),
        ("(?=(?<=ab)c)", 0, Unsupported),
        ("a\\b(?<=ab)c", 3, Unsupported),
        ("((?!aa).)*b", 0, Unsupported),
        ("(?m)^a", 0, Unsupported),
        ("a{9999999999}", 1, TooLarge),
    ] {
        let error = PatternScene::new().search(source).unwrap_err();
        assert_eq!((error.kind, error.offset), (kind, offset), "{source}: {error}");
    }
    assert_eq!(PatternScene::new().search(&"(".repeat(100_000)).unwrap_err().kind, TooLarge);
    assert!(PatternScene::new().search(&"(a".repeat(200)).is_err());
    assert!(PatternScene::new().search(&format!("{}a{}", "(".repeat(200), ")".repeat(200))).is_ok());
}

#[test]
fn simple_patterns_are_simple_terms() {
    let mut scene = PatternScene::new();
    let letters = scene.encoding.class(&mut scene.terms, &[('a', 'z')]);
    let word = scene.terms.repeat(letters, 1, None);
    assert_eq!(scene.search("^[a-z]+$").unwrap(), word);
    assert_eq!(scene.search("^(?:[a-z]+)$").unwrap(), word);
    assert_eq!(scene.full_match("[a-z]+"), word);
    let texts = scene.encoding.texts(&mut scene.terms);
    assert_eq!(scene.search("").unwrap(), texts);
    assert_eq!(scene.search("[a-z]*").unwrap(), texts);
    assert_eq!(scene.search("^").unwrap(), texts);
    let foo = scene.terms.literal(b"foo");
    let prefixed = scene.terms.concat(&[foo, texts]);
    assert_eq!(scene.search("^foo").unwrap(), prefixed);
    let suffixed = scene.terms.concat(&[texts, foo]);
    assert_eq!(scene.search("foo$").unwrap(), suffixed);
    // After a match the residual is the universe.
    let containing = scene.search("foo").unwrap();
    let end = b"xfoo".iter().fold(containing, |term, &byte| scene.terms.derivative(term, byte));
    assert_eq!(end, texts);
}

#[test]
fn bounds_of_length_become_counts() {
    let mut scene = PatternScene::new();
    let letters = scene.encoding.class(&mut scene.terms, &[('a', 'z')]);
    let cases = [
        ("^[a-z]+$", (100_000, None), "", (100_000, None), ""),
        ("^[a-z]*$", (0, Some(1_000_000)), "", (0, Some(1_000_000)), ""),
        ("^x-[a-z]{3,}\\.y$", (7, Some(20)), "x-", (3, Some(16)), ".y"),
        ("^([a-z]{2})+$", (3, Some(7)), "", (4, Some(6)), ""),
    ];
    for (source, (min, max), before, (low, high), after) in cases {
        let term = scene.search(source).unwrap();
        let term = bounded(&mut scene.terms, &mut scene.encoding, term, min, max);
        let body = if source.contains("{2}") {
            let pair = scene.terms.repeat(letters, 2, Some(2));
            scene.terms.repeat(pair, low / 2, high.map(|high| high / 2))
        } else {
            scene.terms.repeat(letters, low, high)
        };
        let (before, after) = (scene.terms.literal(before.as_bytes()), scene.terms.literal(after.as_bytes()));
        let expected = scene.terms.concat(&[before, body, after]);
        assert_eq!(term, expected, "{source}");
    }
    let prefixed = scene.search("^foo").unwrap();
    let bounded_prefix = bounded(&mut scene.terms, &mut scene.encoding, prefixed, 0, Some(5));
    let foo = scene.terms.literal(b"foo");
    let rest = scene.encoding.length(&mut scene.terms, 0, Some(2));
    assert_eq!(bounded_prefix, scene.terms.concat(&[foo, rest]));
    let nothing = scene.terms.nothing();
    assert_eq!(bounded(&mut scene.terms, &mut scene.encoding, foo, 5, Some(4)), nothing);
}

#[test]
fn automata_of_common_patterns_are_small() {
    for (source, max_states) in [
        ("^[a-z]+$", 2),
        ("^(?!interactive|name|style)[a-z]+$", 25),
        ("^[a-zA-Z0-9_.+-]+@[a-zA-Z0-9-]+\\.[a-zA-Z0-9-.]+$", 6),
        ("^(https?|ftp)://[^\\s/$.?#].[^\\s]*$", 120),
    ] {
        let mut scene = PatternScene::new();
        let term = scene.search(source).unwrap();
        let count = states(&scene.terms, term);
        assert!(count <= max_states, "{source}: {count}");
    }
}

fn patterns() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        6 => prop::sample::select(vec!["a", "-", "é", "[a-]", "[^a]", "\\w", "\\W", "."]),
        2 => prop::sample::select(vec!["^", "$", "\\b", "\\B", "(?<=a)", "(?<![-é])", "(?<=^|-)", "(?<!a-)", "(?<=^a|[-é]a*)", "()"]),
    ]
    .prop_map(str::to_owned);
    leaf.prop_recursive(4, 12, 3, |part| {
        prop_oneof![
            4 => prop::collection::vec(part.clone(), 1..4).prop_map(|parts| parts.concat()),
            2 => prop::collection::vec(part.clone(), 2..4).prop_map(|parts| format!("({})", parts.join("|"))),
            2 => (part.clone(), prop::sample::select(vec!["*", "+", "?", "{2}", "{1,2}", "{0}", "{2,}"]))
                .prop_map(|(part, count)| format!("(?:{part}){count}")),
            1 => (part.clone(), prop::sample::select(vec!["(?=", "(?!"]))
                .prop_map(|(part, look)| format!("{look}{part})")),
            1 => prop::sample::select(vec!["(?!a)", "(?=[^a]|$)", "(?!-|$)"]).prop_map(str::to_owned),
            1 => (part, prop::sample::select(vec!["((?!", "^((?="]))
                .prop_map(|(part, look)| format!("{look}{part}).)*$")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn patterns_are_searched_and_matched_by_definition(source in patterns(), min in 0u32..3, more in 0u32..3) {
        let tree = parse(&source, &Limits::default()).unwrap();
        let mut scene = PatternScene::new();
        let limits = Limits::default();
        let found = scene.search(&source);
        let matched = full_match(&mut scene.terms, &mut scene.encoding, &source, &limits);
        let mut checks = Vec::new();
        for (result, is_search) in [(found, true), (matched, false)] {
            match result {
                Ok(term) => {
                    let max = Some(min + more);
                    let short = bounded(&mut scene.terms, &mut scene.encoding, term, min, max);
                    checks.push((term, short, is_search));
                }
                Err(error) => prop_assert_eq!(error.kind, PatternErrorKind::Unsupported, "{}: {}", source, error),
            }
        }
        let mut automata = Automata::new(scene.terms.clone(), 200_000);
        for text in texts(&['a', '-', 'é'], 4) {
            let spelled: String = text.iter().collect();
            let escaped = spelled.replace('é', "\\u00E9");
            let fits = (min..=min + more).contains(&(text.len() as u32));
            for &(term, short, is_search) in &checks {
                let expected = if is_search {
                    is_found(&tree, &text)
                } else {
                    ends(&tree, tree.root(), &text, 0).contains(&text.len())
                };
                let name = format!("{source} on {spelled}, {is_search}");
                prop_assert_eq!(accepts(&mut automata, term, &spelled), expected, "{}", name);
                prop_assert_eq!(accepts(&mut automata, term, &escaped), expected, "{}", name);
                prop_assert_eq!(accepts(&mut automata, short, &spelled), expected && fits, "{}", name);
            }
        }
    }
}

#[test]
fn hostile_patterns_terminate_quickly() {
    for source in [
        "^(((?=a)x){1000}){1000}$".to_owned(),
        "^((((\\bx){200}){200}){200}){200}$".to_owned(),
        "^(?:(?:(?:\\b\\w|^|$)*-)*\\B.)*$".to_owned(),
        (b'a'..=b'p').map(|c| format!("(?<={})x", char::from(c))).collect::<Vec<_>>().join("|"),
        format!("({})*", ('a'..='n').map(|c| format!("(?<={c}).$|^.")).collect::<Vec<_>>().join("|")),
        "\\p{L}[\\p{L}a-c]".repeat(500),
        "(a|b|\\b".repeat(200) + &")*".repeat(200),
        "a{2}".repeat(20_000),
        "(?=a*b)".repeat(2_000),
        "(a|b(?<!xx)|cd*)".repeat(8) + "$",
        format!("({})*$", ('a'..='n').map(|c| format!("{c}(?![{c}-p]).")).collect::<Vec<_>>().join("|")),
        "a*(?<!aa)".repeat(2_000),
        format!("^{}(?:{}b(?<!ab))$", "a".repeat(30_000), "b|".repeat(30_000)),
    ] {
        let start = std::time::Instant::now();
        let outcome = PatternScene::new().search(&source);
        assert!(start.elapsed().as_secs() < 20, "{source:.40}: {outcome:?}");
    }
}
