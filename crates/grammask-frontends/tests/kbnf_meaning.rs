//! The languages of the KBNF terminals: words that the automaton of each form accepts and rejects.

use grammask_automata::Automata;
use grammask_diagnostics::Limits;
use grammask_frontends::kbnf;
use grammask_grammar::{Grammar, Terminal, TokenReference};

fn read(body: &str) -> Grammar {
    let text = format!("start ::= {body}; list ::= 'ab' | (\"你\" | more); more ::= list | \"\\b{{ff}}\";");
    kbnf::grammar(text.as_bytes(), "start", &Limits::default()).unwrap_or_else(|error| panic!("{error}")).0
}

fn matches(grammar: &Grammar, word: &[u8]) -> bool {
    let (Terminal::Regular(term) | Terminal::Limited { term, .. }) = grammar.terminals()[0].terminal else {
        panic!("{grammar} begins with a regular language")
    };
    let mut automata = Automata::new(grammar.terms().clone(), 10_000);
    let mut state = automata.start(term).expect("small automata");
    for &byte in word {
        state = state.and_then(|state| automata.step(state, byte).expect("small automata"));
    }
    state.is_some_and(|state| automata.is_accepting(state))
}

#[test]
fn forms() {
    type Words<'a> = &'a [&'a [u8]];
    let cases: &[(&str, Words, Words)] = &[
        (r#"#"a*""#, &[b"", b"a", b"aa"], &[b"b"]),
        (r#"#"\\d+""#, &[b"1", "٣".as_bytes()], &[b"", b"d"]),
        (r#"#r"\d\"""#, &[b"1\""], &[b"1\\\""]),
        (r#"#"(?s).""#, &["你".as_bytes(), b"\n"], &[b"\xff", b"", b"\xe4\xbd"]),
        (r#"#e"a*""#, &[b"a"], &[b"", b"aa"]),
        (r##"#e".*AA""##, &[b"AA", b"ABAA"], &[b"", b"A", b"AAA", b"AAAA"]),
        (r#"#ex"ab""#, &[b"a", b"ba", b"\n"], &[b"", b"ab", b"xabx", b"\xff", b"\xc3"]),
        (r#"#ex"^a""#, &[b"x", b"xa"], &[b"", b"a", b"ax"]),
        (r#"#ex"a$""#, &[b"ax", b"x"], &[b"", b"a", b"xa"]),
        (r#"#ex"""#, &[], &[b"", b"a"]),
        (r#"#substrs"héh""#, &[b"", b"h", "é".as_bytes(), "héh".as_bytes()], &[b"hh", b"\xc3", b"\xa9"]),
        (r#"#substrsr"a\b""#, &[b"a\\b", b"\\"], &[b"ab", b"\x08"]),
        (r#"except!("ab" | 'c')"#, &[b"a", b"ba"], &[b"", b"ab", b"xc", b"\xff"]),
        ("except!(list)", &[b"a", "好".as_bytes()], &[b"", b"ab", "x你".as_bytes(), b"\xff"]),
        ("except!(list, 7)", &[b"a"], &[b"", b"ab"]),
    ];
    for (body, inside, outside) in cases {
        let grammar = read(body);
        for word in *inside {
            assert!(matches(&grammar, word), "{body} matches {}", word.escape_ascii());
        }
        for word in *outside {
            assert!(!matches(&grammar, word), "{body} does not match {}", word.escape_ascii());
        }
    }
}

#[test]
fn terminals() {
    let terminal = |body: &str| read(body).terminals()[0].terminal.clone();
    assert_eq!(terminal("'\\xff\\b{ff}'"), Terminal::Literal(Box::from(*b"\xc3\xbf\xff")));
    assert_eq!(terminal("any!"), Terminal::AnyToken);
    assert_eq!(terminal("<|eot|>"), Terminal::Token(TokenReference::Name("<|eot|>".into())));
    assert_eq!(terminal(r#"<"<s>">"#), Terminal::Token(TokenReference::Name("<s>".into())));
    assert_eq!(terminal("<[12]>"), Terminal::Token(TokenReference::Id(12)));
    assert!(matches!(terminal("except!('a', 3)"), Terminal::Limited { tokens: 3, .. }));
    assert!(matches!(terminal("except!('a')"), Terminal::Regular(_)));
}
