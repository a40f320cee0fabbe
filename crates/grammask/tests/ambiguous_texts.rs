//! The search for ambiguous texts, compared with known grammars and with counting the derivations of all short words.

use grammask::Limits;
use grammask::ambiguity::{Ambiguity, AmbiguityLimits, AmbiguitySearch, WordAlphabet, search};
use grammask::frontends::kbnf;

fn searched(text: &str, length: usize) -> AmbiguitySearch {
    let parsed = kbnf::grammar(text.as_bytes(), "start", &Limits::default());
    let limits = AmbiguityLimits { length, ..AmbiguityLimits::default() };
    search(&parsed.expect("a valid grammar").0, WordAlphabet::Bytes, &limits)
}

fn ambiguity(text: &str) -> Ambiguity {
    let found = searched(text, 30).ambiguity.unwrap_or_else(|| panic!("{text} is ambiguous"));
    assert_ne!(found.trees[0], found.trees[1], "{found:?}");
    found
}

#[test]
fn classic_ambiguities_are_found_with_a_shortest_text() {
    for (grammar, rule, text) in [
        ("start ::= start '+' start | 'n';", "start", "n+n+n"),
        ("start ::= 'i' start | 'i' start 'e' start | 's';", "start", "iises"),
        ("start ::= a | b; a ::= 'x' 'y'; b ::= 'xy';", "start", "xy"),
        ("start ::= 'a'* 'a'*;", "start", "a"),
        ("start ::= ('a'?)* 'b';", "start", "b"),
        ("start ::= start | 'a';", "start", "a"),
        ("start ::= #'[a-z]+' | 'if';", "start", "if"),
        ("start ::= '(' e ')'; e ::= e e | 'x';", "e", "xxx"),
        ("start ::= word word; word ::= #'[a-z]+';", "start", "aaa"),
    ] {
        let found = ambiguity(grammar);
        assert_eq!((&*found.rule, found.text), (rule, format!("\"{text}\"")), "{grammar}");
    }
}

#[test]
fn unambiguous_grammars_have_none() {
    for grammar in [
        "start ::= start '+' term | term; term ::= 'n' | '(' start ')';",
        "start ::= 'a' start 'b' | '';",
        "start ::= #'[a-z]+' (' ' #'[a-z]+')*;",
        "start ::= 'a'{2,4} 'b'?;",
    ] {
        let found = searched(grammar, 9);
        assert_eq!(found, AmbiguitySearch { ambiguity: None, searched_length: Some(9) }, "{grammar}");
    }
}

#[test]
fn trees_are_those_of_the_rules() {
    let found = ambiguity("start ::= start '+' start | n; n ::= 'n';");
    let lines = |tree: usize| {
        let line = |line: &grammask::ambiguity::TreeLine| format!("{}{}", " ".repeat(line.depth), line.label);
        found.trees[tree].iter().map(line).collect::<Vec<String>>()
    };
    let (left, right) = (lines(0), lines(1));
    assert_eq!(left[0], "start");
    let n = ["start", "n", "\"n\""];
    let sum = |at: usize| {
        let shift = |text: &str, by: usize| format!("{}{text}", " ".repeat(by));
        let number = |by: usize| {
            n.iter().enumerate().map(move |(below, text)| shift(text, by + below)).collect::<Vec<_>>()
        };
        let inner = |by: usize| {
            [vec![shift("start", by)], number(by + 1), vec![shift("\"+\"", by + 1)], number(by + 1)].concat()
        };
        let plus = vec![shift("\"+\"", 1)];
        let parts = if at == 0 { [inner(1), plus, number(1)] } else { [number(1), plus, inner(1)] };
        [vec!["start".to_owned()], parts.concat()].concat()
    };
    let expected = [sum(0), sum(1)];
    assert!(
        (left == expected[0] && right == expected[1]) || (left == expected[1] && right == expected[0]),
        "{left:#?} {right:#?}"
    );
}

/// Right-hand sides of three rules, as symbols: `0..3` are rules, `3` and `4` the letters `a` and `b`.
type PlainRules = [Vec<Vec<usize>>; 3];

/// The number of parse trees of a word, by trying all ways to split it; the oracle. Each symbol derives at least one letter,
/// and no rule derives a single rule, so the recursion ends.
fn tree_count(rules: &PlainRules, symbols: &[usize], word: &[usize]) -> usize {
    let Some((&first, rest)) = symbols.split_first() else { return usize::from(word.is_empty()) };
    if word.len() < symbols.len() {
        return 0;
    }
    if first >= 3 {
        return usize::from(word[0] == first) * tree_count(rules, rest, &word[1..]);
    }
    let longest = word.len() - rest.len();
    let of_first = |length: usize| {
        let bodies = rules[first].iter();
        bodies.map(|body| tree_count(rules, body, &word[..length])).sum::<usize>()
    };
    (1..=longest)
        .map(|length| match tree_count(rules, rest, &word[length..]) {
            0 => 0,
            count => count * of_first(length),
        })
        .sum()
}

/// The length of the shortest ambiguous word of a rule that the first one reaches, up to `max`.
fn shortest_ambiguity(rules: &PlainRules, max: usize) -> Option<usize> {
    let mut reached = vec![0];
    let mut next = 0;
    while next < reached.len() {
        for &symbol in rules[reached[next]].iter().flatten() {
            if symbol < 3 && !reached.contains(&symbol) {
                reached.push(symbol);
            }
        }
        next += 1;
    }
    (1..=max).find(|&length| {
        (0..1_usize << length).any(|bits| {
            let word: Vec<usize> = (0..length).map(|at| 3 + (bits >> at & 1)).collect();
            reached.iter().any(|&rule| tree_count(rules, &[rule], &word) > 1)
        })
    })
}

#[test]
fn the_search_equals_counting_trees() {
    const MAX_LENGTH: usize = 6;
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut ambiguous = 0;
    for _ in 0..400 {
        let rules: PlainRules = std::array::from_fn(|_| {
            let mut bodies: Vec<Vec<usize>> = Vec::new();
            for _ in 0..1 + random(3) {
                let length = 1 + random(3);
                let body: Vec<usize> =
                    (0..length).map(|_| if length == 1 { 3 + random(2) } else { random(5) }).collect();
                if !bodies.contains(&body) {
                    bodies.push(body);
                }
            }
            bodies
        });
        let names = ["start", "x", "y", "'a'", "'b'"];
        let text: String = rules
            .iter()
            .enumerate()
            .map(|(rule, bodies)| {
                let body = |body: &Vec<usize>| {
                    body.iter().map(|&symbol| names[symbol]).collect::<Vec<_>>().join(" ")
                };
                format!("{} ::= {};", names[rule], bodies.iter().map(body).collect::<Vec<_>>().join(" | "))
            })
            .collect();
        let found = searched(&text, MAX_LENGTH);
        let expected = shortest_ambiguity(&rules, MAX_LENGTH);
        // The text has two quotes.
        let length = found.ambiguity.as_ref().map(|found| found.text.len() - 2);
        assert_eq!(length, expected, "{text} {found:?}");
        ambiguous += usize::from(expected.is_some());
    }
    assert!((50..350).contains(&ambiguous), "{ambiguous} of 400 grammars are ambiguous");
}

#[test]
fn hostile_grammars_end() {
    let begin = std::time::Instant::now();
    let many: Vec<String> =
        (0..300).map(|number| format!("#'[a-z]{{1,{}}}[0-9]*'", number % 9 + 1)).collect();
    for grammar in [
        "start ::= #'[^a]*' #'.*' #'(a|b|c|d|e)*';".to_owned(),
        format!("start ::= ({})*;", many.join(" | ")),
        "start ::= #'[a-z]{1000}' 'x'{500};".to_owned(),
    ] {
        let _ = searched(&grammar, 40);
    }
    assert!(begin.elapsed().as_secs() < 60);
}
