//! Railroad diagrams: well-formed SVG with one shape per symbol of a rule, of bounded size.

use grammask_diagnostics::{Limits, Span};
use grammask_diagrams::{RailroadDiagram, railroad};
use grammask_frontends::kbnf;
use grammask_grammar::GrammarBuilder;

fn diagrams(text: &str) -> Vec<RailroadDiagram> {
    let parsed = kbnf::grammar(text.as_bytes(), "start", &Limits::default());
    railroad(&parsed.expect("a valid grammar").0)
}

/// Checks that elements are nested properly and attributes are quoted.
fn assert_well_formed(svg: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = svg;
    while let Some(at) = rest.find('<') {
        let end = at + rest[at..].find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        assert!(tag.matches('"').count().is_multiple_of(2), "{tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{svg}");
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().expect("a tag has a name"));
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "{open:?}");
    assert!(!svg.chars().any(char::is_control));
}

#[test]
fn each_rule_has_a_diagram_with_its_references() {
    let drawn = diagrams(
        r##"
        start ::= "[" [ item { ", " item } ] "]";
        item ::= #"[0-9]+" | start | name+ | ("x" "y")*;
        name ::= "n";
        name ::= "m" name?;
        "##,
    );
    let rules: Vec<&str> = drawn.iter().map(|diagram| &*diagram.rule).collect();
    assert_eq!(rules, ["start", "item", "name"]);
    for diagram in &drawn {
        assert_well_formed(&diagram.svg);
        assert!(diagram.svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" "));
        let root = format!("data-diagram=\"railroad\" data-rule=\"{}\"", diagram.rule);
        assert!(diagram.svg.contains(&root));
    }
    let references = |index: usize, rule: &str| {
        drawn[index].svg.matches(&format!("<g class=\"reference\" data-rule=\"{rule}\">")).count()
    };
    assert_eq!([references(0, "item"), references(1, "start"), references(1, "name")], [2, 1, 1]);
    assert_eq!(references(2, "name"), 1);
    assert!(drawn[1].svg.contains(">#&quot;[0-9]+&quot;</text>"), "{}", drawn[1].svg);
}

#[test]
fn names_and_texts_are_escaped() {
    let mut builder = GrammarBuilder::new("");
    let start = builder.nonterminal("<b>&\"\u{0}", Span::default());
    let body = builder.literal(b"</text><script>&\xff\x00", Span::default());
    builder.define(start, body, Span::default());
    let drawn = railroad(&builder.finish(start));
    assert_well_formed(&drawn[0].svg);
    assert!(drawn[0].svg.contains("data-rule=\"&lt;b&gt;&amp;&quot;\u{fffd}\""));
    assert!(!drawn[0].svg.contains("<script"));
}

#[test]
fn counts_are_noted() {
    let drawn = diagrams(r#"start ::= "a"{2,5} "b"{3} "c"{4,} "d"{0,6} "e"{0,0};"#);
    for note in ["2 to 5 times", "3 times", "at least 4 times", "at most 6 times"] {
        assert!(drawn[0].svg.contains(&format!(">{note}</text>")), "{note}");
    }
    assert!(!drawn[0].svg.contains("&quot;e&quot;"));
}

#[test]
fn long_sequences_are_continued_on_further_lines() {
    let parts = vec![r#""0123456789""#; 40].join(" ");
    let drawn = diagrams(&format!("start ::= {parts};"));
    let width = drawn[0].svg.split("width=\"").nth(1).and_then(|rest| rest.split('"').next());
    let width: u32 = width.expect("a width").parse().expect("a number");
    assert!(width < 1_000, "{width}");
    assert_eq!(drawn[0].svg.matches("class=\"terminal\"").count(), 40);
}

#[test]
fn large_rules_are_drawn_in_part() {
    let words: Vec<String> = (0..20_000).map(|number| format!("\"w{number}\"")).collect();
    let drawn = diagrams(&format!("start ::= {};", words.join(" | ")));
    assert!(drawn[0].svg.len() < 2_000_000);
    assert!(drawn[0].svg.contains(" more</text>"));
}

/// Each node contains the one before twice, so the tree has 2^60 leaves.
#[test]
fn shared_nodes_do_not_multiply_the_work() {
    let span = Span::default();
    let mut builder = GrammarBuilder::new("");
    let start = builder.nonterminal("start", span);
    let mut node = builder.literal(b"a", span);
    for _ in 0..60 {
        node = builder.sequence(vec![node, node], span);
    }
    builder.define(start, node, span);
    let deep = builder.nonterminal("deep", span);
    let mut node = builder.literal(b"b", span);
    for _ in 0..100_000 {
        node = builder.repeat(node, 0, None, span);
    }
    builder.define(deep, node, span);
    let drawn = railroad(&builder.finish(start));
    assert!(drawn.iter().all(|diagram| diagram.svg.len() < 1_000_000));
}

/// A front end names its rules after the place of a value; what follows the full stop is not shown.
#[test]
fn small_rules_of_front_ends_are_drawn_where_they_are_used() {
    let span = Span::default();
    let mut builder = GrammarBuilder::new("");
    let [start, comma, more] =
        ["#.value0", "JSON.comma1", "#.more2"].map(|name| builder.nonterminal(name, span));
    let [a, b, mark] = [b"a", b"b", b","].map(|text| builder.literal(text, span));
    let after = builder.reference(more, span);
    let body = builder.sequence(vec![a, after], span);
    builder.define(start, body, span);
    let before = builder.reference(comma, span);
    let again = builder.reference(more, span);
    let body = builder.sequence(vec![before, b, again], span);
    builder.define(more, body, span);
    builder.define(comma, mark, span);
    let drawn = railroad(&builder.finish(start));
    let rules: Vec<&str> = drawn.iter().map(|diagram| &*diagram.rule).collect();
    assert_eq!(rules, ["#", "#, from \",\""]);
    assert!(drawn[1].svg.contains(">&quot;,&quot;</text>"));
    assert!(drawn.iter().all(|diagram| !diagram.svg.contains("comma1")));
}
