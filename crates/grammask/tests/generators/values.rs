//! Grammars whose texts have values that must differ, or repeat each other.

use grammask::Limits;
use grammask::automata::regex;
use grammask::grammar::{Grammar, GrammarBuilder, NodeId, Span, Terminal, ValueEquality};
use proptest::prelude::*;
use proptest::sample::select;

use super::VocabularySketch;

/// Grammars that bind texts and require them again, with the bytes of their texts: nested elements, a fence, a long string,
/// a here-document, a raw string, and two names.
pub const BINDING_CASES: [(&str, &[u8]); 6] = [
    (
        r##"start ::= element; element ::= "<" bind!(t, #"[ab]{1,3}") ("/>" | ">" { "a" | element } "</" same!(t) ">");"##,
        b"<>/ab",
    ),
    (
        r##"start ::= bind!(f, #"a{2,}") "b" { line "b" } same!(f) #"a*c?"; line ::= #"c*" | without_prefix!(f, #"a+");"##,
        b"abc",
    ),
    (
        r##"start ::= "[" bind!(n, "="*) "[" #"a*" { "]" (other!(n, "="*) | #"=*aa*") } "]" same!(n) "]";"##,
        b"[]=a",
    ),
    (r##"start ::= "<" bind!(w, #"[ab]+") "\n" { other!(w, #"[ab]*") "\n" } same!(w) "\n";"##, b"<ab\n"),
    (
        r##"start ::= "r" bind!(h, "#"*) "'" #"[a#]*" { "'" without_prefix!(h, #"[a#]*") } "'" same!(h);"##,
        b"r#'a",
    ),
    (
        r##"start ::= bind!(x, #"[ab]{1,3}") "," bind!(y, #"[ab]+") { "," other!(y, #"a|b+") } "," same!(y) same!(x);"##,
        b"ab,",
    ),
];

/// The grammar of a binding case.
pub fn binding_grammar(source: &str) -> Grammar {
    let made = grammask::frontends::kbnf::grammar(source.as_bytes(), "start", &Limits::default());
    made.unwrap_or_else(|error| panic!("{source}: {error}")).0
}

/// Bytes of the texts.
const ALPHABET: &[u8] = b"ab01.,[]{}:\"\\u6 ";

/// A scope with values.
#[derive(Clone, Debug)]
pub struct ScopeSketch {
    shape: Shape,
    item: ItemSketch,
    min: u32,
    /// Number of values more than `min`; `None` without a maximum.
    more: Option<u32>,
}

/// What surrounds the values of a scope.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// `[item,item]`.
    List,
    /// `{"name":0}`, with different names.
    Members,
    /// Different items, then one that repeats an earlier one.
    Repeated,
    /// Items that follow each other directly.
    Touching,
    /// A first item of another language.
    Pair,
    /// A value, or a longer text without one.
    Choice,
    /// Two scopes, one after the other.
    Twice,
}

/// A language of values.
#[derive(Clone, Debug)]
enum ItemSketch {
    Regex(&'static str),
    /// One of a list of different values, and texts of the expression.
    Nested(Box<ScopeSketch>, &'static str),
}

/// Grammars with scopes.
pub fn scope() -> impl Strategy<Value = ScopeSketch> {
    let infinite = leaf(
        vec!["a+", "[ab]+", "a|ba*", "[ab]*a", "a|bb|b0*1"],
        vec!["(0|1[01]*)(\\.[01]+)?", "\"[ab]*\"", "\"(a|\\\\u006[12])*\"", "1[01]*|\"[ab]{0,3}\""],
    );
    // At least three values each.
    let finite = leaf(
        vec!["aa|bb|ab", "a[ab]|b", "a|b|aa|ab"],
        vec!["1|1\\.0|0|10", " ?1|\\[ ?1 ?\\]|\\[\\]", "1|\"a?\""],
    );
    let shape = || {
        use Shape::{Choice, List, Members, Pair, Repeated, Touching, Twice};
        select(vec![List, List, List, Members, Repeated, Touching, Pair, Choice, Twice])
    };
    let scope = move |item: BoxedStrategy<ItemSketch>| {
        let more = prop_oneof![3 => Just(None), 1 => (0_u32..3).prop_map(Some)];
        (shape(), item, 0_u32..4, more).prop_map(|(shape, item, min, more)| ScopeSketch {
            shape,
            item,
            min,
            more,
        })
    };
    let inner = scope(infinite.clone());
    let texts = select(vec!["1", "0|1", "\"a\"|\"\"", "\"[ab]*\""]);
    let nested = (inner, texts).prop_map(|(mut inner, text)| {
        // Values that are compared as JSON are JSON.
        inner.shape = if let Shape::Members = inner.shape { Shape::Members } else { Shape::List };
        inner.more = None;
        inner.min = inner.min.min(1);
        ItemSketch::Nested(Box::new(inner), text)
    });
    let finite = scope(finite).prop_map(|mut scope| {
        scope.min = scope.min.min(3);
        if let Shape::Pair | Shape::Choice = scope.shape {
            scope.shape = Shape::List;
        }
        scope
    });
    // The search for completions of nested scopes with several required values takes seconds.
    let nested = scope(nested.boxed()).prop_map(|mut scope| {
        scope.min = scope.min.min(1);
        scope
    });
    prop_oneof![3 => scope(infinite), 1 => finite, 1 => nested]
}

/// Items of expressions: texts that are not JSON, and JSON.
fn leaf(texts: Vec<&'static str>, json: Vec<&'static str>) -> BoxedStrategy<ItemSketch> {
    prop_oneof![select(texts).prop_map(ItemSketch::Regex), select(json).prop_map(ItemSketch::Regex),].boxed()
}

impl ScopeSketch {
    /// The grammar.
    pub fn build(&self) -> Grammar {
        let mut nodes = Nodes(GrammarBuilder::new(""));
        let start = nodes.0.nonterminal("start", Span::default());
        let body = nodes.scope(self);
        nodes.0.define(start, body, Span::default());
        nodes.0.finish(start)
    }
}

/// Builds nodes.
struct Nodes(GrammarBuilder);

impl Nodes {
    fn regex(&mut self, pattern: &str) -> NodeId {
        let term = regex::term(self.0.terms(), pattern, &Limits::default()).expect("a valid pattern");
        self.0.terminal(Terminal::Regular(term), pattern, Span::default())
    }

    fn text(&mut self, text: &str) -> NodeId {
        self.0.literal(text.as_bytes(), Span::default())
    }

    fn sequence(&mut self, parts: &[NodeId]) -> NodeId {
        self.0.sequence(parts.to_vec(), Span::default())
    }

    fn repeat(&mut self, node: NodeId, min: u32, max: Option<u32>) -> NodeId {
        self.0.repeat(node, min, max, Span::default())
    }

    fn item(&mut self, item: &ItemSketch) -> NodeId {
        match item {
            ItemSketch::Regex(pattern) => self.regex(pattern),
            ItemSketch::Nested(inner, pattern) => {
                let (scope, text) = (self.scope(inner), self.regex(pattern));
                self.0.choice(vec![scope, text], Span::default())
            }
        }
    }

    /// Parts with commas between them.
    fn list(&mut self, open: &str, part: NodeId, close: &str, sketch: &ScopeSketch) -> NodeId {
        let [open, comma, close] = [open, ",", close].map(|text| self.text(text));
        let least = sketch.min.saturating_sub(1);
        let more = self.sequence(&[comma, part]);
        let more = self.repeat(more, least, sketch.more.map(|more| least + more));
        let mut parts = self.sequence(&[part, more]);
        if sketch.min == 0 {
            parts = self.repeat(parts, 0, Some(1));
        }
        self.sequence(&[open, parts, close])
    }

    fn scope(&mut self, sketch: &ScopeSketch) -> NodeId {
        let span = Span::default();
        let content = self.item(&sketch.item);
        let item = self.0.fresh(content, ValueEquality::Json, span);
        let [open, comma, close, colon] = ["[", ",", "]", ":"].map(|text| self.text(text));
        let body = match sketch.shape {
            Shape::List | Shape::Twice => self.list("[", item, "]", sketch),
            Shape::Members => {
                let name = self.regex("\"[ab]*\"");
                let name = self.0.fresh(name, ValueEquality::Json, span);
                let member = self.sequence(&[name, colon, content]);
                self.list("{", member, "}", sketch)
            }
            Shape::Repeated => {
                let again = self.0.repeated(content, ValueEquality::Json, span);
                let first = self.sequence(&[item, comma]);
                let first = self.repeat(first, 1, None);
                self.sequence(&[open, first, again, close])
            }
            Shape::Touching => {
                let items =
                    self.repeat(item, sketch.min.max(1), sketch.more.map(|more| sketch.min.max(1) + more));
                self.sequence(&[open, items, close])
            }
            Shape::Pair => {
                let other = self.regex("\"b*\"|1|aab?");
                let other = self.0.fresh(other, ValueEquality::Json, span);
                let more = self.sequence(&[comma, item]);
                let more = self.repeat(more, sketch.min.min(2), None);
                self.sequence(&[open, other, more, close])
            }
            Shape::Choice => {
                let text = self.text("000");
                let part = self.0.choice(vec![item, text], span);
                self.list("[", part, "]", sketch)
            }
        };
        let scope = self.0.scope(body, span);
        match sketch.shape {
            Shape::Twice => self.sequence(&[scope, colon, scope]),
            _ => scope,
        }
    }
}

/// Vocabularies of all bytes of the texts, longer tokens of them, and an end token.
pub fn vocabulary() -> impl Strategy<Value = VocabularySketch> {
    let pieces = select(vec![
        "aa",
        "ab",
        "a,",
        ",a",
        "],",
        "a,b",
        "[a",
        "1,",
        "1,0",
        "a\"",
        "\",\"",
        "\"a\"",
        "a\",\"a\"",
        "u00",
        "0.",
        "1]",
        "],[",
        "[[",
        ":1",
        ":1,",
        "\":",
        "a:0",
        "\"]",
        "\"\",\"a",
        "\\u0061",
        "]]",
        "\"}",
        "{\"",
        ",\"b\":",
    ]);
    let random = proptest::collection::vec(select(ALPHABET), 2..5);
    let longer = prop_oneof![3 => pieces.prop_map(|text| text.as_bytes().to_vec()), 1 => random];
    proptest::collection::vec(longer, 0..10).prop_map(|longer| {
        let singles = ALPHABET.iter().map(|&byte| Some(vec![byte]));
        let texts: Vec<_> = singles.chain(longer.into_iter().map(Some)).chain([None]).collect();
        let size = texts.len();
        VocabularySketch { texts, special: Vec::new(), eos: vec![size as u32 - 1], size }
    })
}
