//! Grammars with remembered values: equal futures are equal sets, limits end in errors, and lowering refuses what the
//! recogniser cannot follow.

use grammask_automata::regex;
use grammask_diagnostics::{Code, Limits, Span};
use grammask_earley::lowering::lower;
use grammask_earley::recognizer::Recognizer;
use grammask_engine::{SetId, Steps};
use grammask_grammar::{Grammar, GrammarBuilder, NodeId, Terminal, ValueEquality};

/// Builds the nodes of a test.
struct Nodes(GrammarBuilder);

impl Nodes {
    fn regex(&mut self, pattern: &str) -> NodeId {
        let term = regex::term(self.0.terms(), pattern, &Limits::default()).expect("a valid pattern");
        self.0.terminal(Terminal::Regular(term), pattern, Span::default())
    }

    fn fresh(&mut self, node: NodeId) -> NodeId {
        self.0.fresh(node, ValueEquality::Json, Span::default())
    }

    fn sequence(&mut self, parts: &[NodeId]) -> NodeId {
        self.0.sequence(parts.to_vec(), Span::default())
    }

    fn repeat(&mut self, node: NodeId, min: u32) -> NodeId {
        self.0.repeat(node, min, None, Span::default())
    }

    /// `scope("[" (fresh(item) ("," fresh(item))*)? "]")`.
    fn array(&mut self, item: NodeId) -> NodeId {
        let span = Span::default();
        let [open, close, comma] = [b"[", b"]", b","].map(|text| self.0.literal(text, span));
        let item = self.fresh(item);
        let more = self.sequence(&[comma, item]);
        let more = self.repeat(more, 0);
        let items = self.sequence(&[item, more]);
        let items = self.0.repeat(items, 0, Some(1), span);
        let body = self.sequence(&[open, items, close]);
        self.0.scope(body, span)
    }
}

fn grammar(build: impl FnOnce(&mut Nodes) -> NodeId) -> Grammar {
    let mut nodes = Nodes(GrammarBuilder::new(""));
    let start = nodes.0.nonterminal("start", Span::default());
    let body = build(&mut nodes);
    nodes.0.define(start, body, Span::default());
    nodes.0.finish(start)
}

fn recognizer(grammar: &Grammar) -> Recognizer {
    let lowered = lower(grammar, &Limits::default()).expect("a grammar");
    Recognizer::new(lowered.normal_form, vec![None; 64], Vec::new(), &Limits::default())
        .expect("a recogniser")
}

fn read(recognizer: &Recognizer, text: &str) -> Option<SetId> {
    let step = |set, (position, byte)| {
        let next = recognizer.step(set, byte);
        next.unwrap_or_else(|limit| panic!("{limit} after {}", &text[..=position]))
    };
    text.bytes().enumerate().try_fold(recognizer.start(), step)
}

/// Strings and numbers, and arrays of them.
fn lists() -> Recognizer {
    recognizer(&grammar(|nodes| {
        let item = nodes.regex(r#""([a-z]|\\u00[0-7][0-9a-f])*"|-?[0-9]+(\.[0-9]+)?(e[0-9]+)?"#);
        let list = nodes.array(item);
        let item = nodes.0.choice(vec![item, list], Span::default());
        let lists = nodes.array(item);
        let end = nodes.0.literal(b";", Span::default());
        nodes.sequence(&[lists, end])
    }))
}

#[test]
fn equal_futures_are_equal_sets() {
    let lists = lists();
    let set = |text| read(&lists, text).unwrap_or_else(|| panic!("{text} is a viable prefix"));
    // The order and the spelling of remembered values have no effect.
    assert_eq!(set(r#"["a",1,"#), set(r#"[1,"a","#));
    assert_eq!(set(r#"["a",10"#), set(r#"["\u0061",10"#));
    assert_eq!(set(r#"[100,"#), set(r#"[1e2,"#));
    // Nothing is remembered after a scope, nor in a scope inside a value.
    assert_eq!(set(r#"["a",1]"#), set("[]"));
    assert_eq!(set(r#"[["a"#), set(r#"[["\u0061"#));
    assert_ne!(set(r#"["a","#), set(r#"["b","#));
}

#[test]
fn repeated_values_are_refused_at_their_last_byte() {
    let lists = lists();
    let refused =
        |text: &str| read(&lists, text).is_none() && read(&lists, &text[..text.len() - 1]).is_some();
    for text in [
        r#"["a","a""#,
        r#"["a","\u0061""#,
        "[1,1]",
        "[1,1.0,",
        "[10,1e1]",
        "[[1,1]",
        r#"[["a",1],["a",1]"#,
        "[[],[]",
        "[1,[1,1,",
    ] {
        assert!(refused(text), "{text}");
    }
    for text in [r#"["a","aa","b"];"#, "[1,11,1.1,[1]];", "[[1,2],[2,1],[],[[]]];", "[0,1,[0,1]];"] {
        let last = read(&lists, text);
        assert_eq!(last.is_some_and(|set| lists.is_complete(set)), !text.contains("[[]]"), "{text}");
    }
}

#[test]
fn deeply_nested_values_end_in_an_error() {
    let nested = grammar(|nodes| {
        let value = nodes.0.nonterminal("value", Span::default());
        let inner = nodes.0.reference(value, Span::default());
        let array = nodes.array(inner);
        nodes.0.define(value, array, Span::default());
        nodes.0.reference(value, Span::default())
    });
    let nested = recognizer(&nested);
    // A text without periods: the steps inside a value are memoised, so those of a periodic text do not nest.
    let (mut set, mut random) = (nested.start(), 1_u32);
    for depth in 0..1_000 {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let text = if random >> 30 == 0 { "[[],[" } else { "[" };
        for byte in text.bytes() {
            match nested.step(set, byte) {
                Ok(next) => set = next.expect("a viable prefix"),
                Err(limit) => {
                    assert_eq!((limit.limit, depth > 30), ("set_items", true));
                    return;
                }
            }
        }
    }
    panic!("no limit was exceeded");
}

/// Whether an array that must repeat an item can do so, where items are any JSON values with white space.
#[test]
fn repeated_objects_are_found() {
    let recognizer = recognizer(&grammar(|nodes| {
        let span = Span::default();
        let value = nodes.0.nonterminal("value", span);
        let inner = nodes.0.reference(value, span);
        let string = nodes.regex(r#""([^"\\\x00-\x1f]|\\(["\\/bfnrt]|u[0-9a-fA-F]{4}))*""#);
        let scalar = nodes.regex(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?|true|false|null");
        let [open, close, begin, end] = [r"\[ *", r" *\]", r"\{ *", r" *\}"].map(|text| nodes.regex(text));
        let [comma, colon] = [" *, *", " *: *"].map(|text| nodes.regex(text));
        let member = nodes.sequence(&[string, colon, inner]);
        let mut list = |open, part, close| {
            let more = nodes.sequence(&[comma, part]);
            let more = nodes.repeat(more, 0);
            let parts = nodes.sequence(&[part, more]);
            let parts = nodes.0.repeat(parts, 0, Some(1), span);
            nodes.sequence(&[open, parts, close])
        };
        let (array, object) = (list(open, inner, close), list(begin, member, end));
        let body = nodes.0.choice(vec![string, scalar, array, object], span);
        nodes.0.define(value, body, span);
        let fresh = nodes.fresh(inner);
        let first = nodes.sequence(&[fresh, comma]);
        let first = nodes.repeat(first, 1);
        let again = nodes.0.repeated(inner, ValueEquality::Json, span);
        let rest = nodes.sequence(&[comma, inner]);
        let rest = nodes.repeat(rest, 0);
        let body = nodes.sequence(&[open, first, again, rest, close]);
        nodes.0.scope(body, span)
    }));
    let text = r#"[{"a":1,"b":true, "c": [2, {"d": null}]},{"c"  : [ 20e-1,{"\u0064":null} ],"a":1.0, "b":true},{}]"#;
    let set = read(&recognizer, text).expect("a viable prefix");
    assert!(recognizer.is_complete(set));
    assert!(recognizer.set_count() < 20_000, "{} sets", recognizer.set_count());
    let text = r#"[{"a":1,"b":true},{"a":1,"b":tru"#;
    assert!(read(&recognizer, text).is_some());
    assert!(read(&recognizer, r#"[{"a":1},{"a":2}]"#).is_none(), "no item is repeated");
}

#[test]
fn what_cannot_be_followed_is_refused() {
    type Build = fn(&mut Nodes) -> NodeId;
    let cases: [(&str, Build); 5] = [
        ("are in no scope", |nodes| {
            let item = nodes.regex("a+");
            nodes.fresh(item)
        }),
        ("may be empty", |nodes| {
            let item = nodes.regex("a*");
            nodes.array(item)
        }),
        ("contain such values without a scope", |nodes| {
            let item = nodes.regex("a+");
            let item = nodes.fresh(item);
            nodes.array(item)
        }),
        ("contain tokens", |nodes| {
            let item = nodes.0.terminal(Terminal::AnyToken, "any", Span::default());
            nodes.array(item)
        }),
        ("are in a recursion that goes on after it", |nodes| {
            let span = Span::default();
            let rule = nodes.0.nonterminal("nested", span);
            let item = nodes.regex("a+");
            let (item, inner) = (nodes.fresh(item), nodes.0.reference(rule, span));
            let close = nodes.0.literal(b")", span);
            let inner = nodes.0.repeat(inner, 0, Some(1), span);
            let body = nodes.sequence(&[item, inner, close]);
            nodes.0.define(rule, body, span);
            let nested = nodes.0.reference(rule, span);
            nodes.0.scope(nested, span)
        }),
    ];
    for (reason, build) in cases {
        let error = lower(&grammar(build), &Limits::default()).expect_err(reason);
        let errors = error.diagnostics();
        assert!(
            errors
                .iter()
                .all(|error| error.code == Code::UnsupportedGrammar && error.message.contains(reason)),
            "{reason}: {error}"
        );
    }
}
