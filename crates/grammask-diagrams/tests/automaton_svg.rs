//! Automata and item sets as SVG.

use grammask_diagnostics::Limits;
use grammask_diagrams::{AutomatonError, ItemSetColumn, automaton, item_sets};
use grammask_frontends::kbnf;
use grammask_grammar::{Grammar, NotRegular};

const TEXT: &str = r##"
start ::= "(" start ")" | number | #"[a-z]+" | "if";
number ::= digit+ ["." digit+];
digit ::= #"[0-9]";
"##;

fn grammar(text: &str) -> Grammar {
    kbnf::grammar(text.as_bytes(), "start", &Limits::default()).expect("a valid grammar").0
}

#[test]
fn a_rule_or_terminal_has_an_automaton() {
    let number = automaton(&grammar(TEXT), "number").expect("it is regular");
    assert!(number.contains("data-diagram=\"automaton\" data-terminal=\"number\""));
    assert!(number.contains(">[0-9]</text>") && number.contains(">&quot;.&quot;</text>"), "{number}");
    // Digits, and digits after the point, are accepting; the start, and the state after the point, are not.
    assert_eq!(number.matches("<g class=\"state accepting\">").count(), 2, "{number}");
    assert_eq!(number.matches("<g class=\"state\">").count(), 2);
    let word = automaton(&grammar(TEXT), "#\"[a-z]+\"").expect("it is regular");
    assert!(word.contains(">[a-z]</text>"));
    let literal = automaton(&grammar(TEXT), "if").expect("it is regular");
    assert_eq!(literal.matches("<g class=\"state").count(), 3);
}

#[test]
fn other_names_are_errors() {
    let error = |name: &str| automaton(&grammar(TEXT), name).expect_err("it has no automaton");
    assert_eq!(error("start"), AutomatonError::NotRegular(NotRegular::Recursive));
    assert_eq!(error("numbre"), AutomatonError::Unknown { closest: Some("number".to_owned()) });
    assert_eq!(error("numbre").to_string(), "the grammar has no such terminal or rule; there is `number`");
}

#[test]
fn large_automata_are_drawn_in_part() {
    let svg = automaton(&grammar("start ::= #\"[a-z]{500}\";"), "start").expect("it is regular");
    assert_eq!(svg.matches("<g class=\"state").count(), 121);
    assert!(svg.contains("states that are not drawn"));
}

#[test]
fn item_sets_are_columns() {
    let column = |input: &str, items: &[&str], is_complete: bool| ItemSetColumn {
        input: input.to_owned(),
        is_complete,
        items: items.iter().map(|&item| item.to_owned()).collect(),
    };
    let svg = item_sets(&[column("", &["start ::= • \"<\""], false), column("\"<\"", &["a", "b"], true)]);
    assert!(svg.contains("<g class=\"item-set\" data-position=\"0\">"));
    assert!(svg.contains("<g class=\"item-set accepting\" data-position=\"1\">"));
    assert!(svg.contains("start ::= • &quot;&lt;&quot;"));
}
