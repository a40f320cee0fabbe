//! Values that must differ, on a large vocabulary: composed masks equal walked ones bit for bit, and most of them are
//! recalled or composed.

use std::sync::Arc;

use crate::generators::by_profile;
use grammask::automata::regex;
use grammask::frontends::kbnf;
use grammask::grammar::{Grammar, GrammarBuilder, NodeId, Terminal, ValueEquality};
use grammask::vocabulary::{TokenId, TokenTextsBuilder, Vocabulary};
use grammask::{CompileOptions, CompiledGrammar, Limits, MaskStrategy, Matcher};
use grammask_diagnostics::Span;

/// A pseudo-random number generator (Marsaglia's xorshift) with a fixed seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// All bytes, and tokens of pieces of JSON: letters, and some with punctuation.
fn vocabulary() -> Arc<Vocabulary> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let letters = ["a", "b", "e", "n", "t", "th", "er", " ", "é", "你", "0", "1", "23"];
    let punctuation = [
        "\"", "\\u0061", "\\n", "{", "}", "[", "]", ",", ":", "\":", "\", \"", "\",\"", ".0", "-", "e1",
        "},{", "],[", "<", "</", ">", "><", "\n", "\n\n", "`", "```", "#", "\"#",
    ];
    let mut words: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    while words.len() < 20_000 {
        let parts = 1 + random.below(7);
        let mut word: Vec<&str> = (0..parts).map(|_| *random.pick(&letters)).collect();
        if random.below(100) == 0 {
            let position = random.below(parts);
            word[position] = *random.pick(&punctuation);
        }
        words.push(word.concat().into_bytes());
    }
    let mut texts: TokenTextsBuilder = words.into_iter().map(Some).collect();
    texts.push_textless();
    let eos = texts.len() as u32 - 1;
    Arc::new(Vocabulary::new(texts.finish(), vec![], vec![eos], None).expect("a vocabulary"))
}

/// Builds grammars of JSON.
struct Json(GrammarBuilder);

impl Json {
    fn regex(&mut self, pattern: &str) -> NodeId {
        let term = regex::term(self.0.terms(), pattern, &Limits::default()).expect("a valid pattern");
        self.0.terminal(Terminal::Regular(term), pattern, Span::default())
    }

    fn string(&mut self) -> NodeId {
        self.regex(r#""([^"\\\x00-\x1f]|\\(["\\/bfnrt]|u[0-9a-fA-F]{4}))*""#)
    }

    fn number(&mut self) -> NodeId {
        self.regex(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
    }

    /// `scope(open (part ("," part)*)? close)`.
    fn list(&mut self, open: &str, part: NodeId, close: &str) -> NodeId {
        let span = Span::default();
        let [open, comma, close] = [open, ", ?", close].map(|text| self.regex(text));
        let more = self.0.sequence(vec![comma, part], span);
        let more = self.0.repeat(more, 0, None, span);
        let parts = self.0.sequence(vec![part, more], span);
        let parts = self.0.repeat(parts, 0, Some(1), span);
        let body = self.0.sequence(vec![open, parts, close], span);
        self.0.scope(body, span)
    }

    /// An array of different items.
    fn array(&mut self, item: NodeId) -> NodeId {
        let item = self.0.fresh(item, ValueEquality::Json, Span::default());
        self.list(r"\[", item, r"\]")
    }

    /// An object whose names differ.
    fn object(&mut self, value: NodeId) -> NodeId {
        let name = self.string();
        let name = self.0.fresh(name, ValueEquality::Json, Span::default());
        let colon = self.regex(": ?");
        let member = self.0.sequence(vec![name, colon, value], Span::default());
        self.list(r"\{", member, r"\}")
    }
}

fn grammar(build: impl FnOnce(&mut Json) -> NodeId) -> Grammar {
    let mut json = Json(GrammarBuilder::new(""));
    let start = json.0.nonterminal("start", Span::default());
    let body = build(&mut json);
    json.0.define(start, body, Span::default());
    json.0.finish(start)
}

fn compare(name: &str, grammar: &Grammar, texts: usize, steps: usize) {
    let vocabulary = vocabulary();
    let compiled = [MaskStrategy::Summaries, MaskStrategy::Walk].map(|masks| {
        let mut options = CompileOptions::default();
        options.masks = masks;
        CompiledGrammar::new(grammar, vocabulary.clone(), options).expect("a compiled grammar")
    });
    let mut random = Random(7);
    let mut times = [0.0; 2];
    let mut masks = 0;
    for _ in 0..by_profile(texts.div_ceil(3), texts) {
        let mut matchers: [Matcher; 2] = compiled.each_ref().map(CompiledGrammar::matcher);
        for _ in 0..steps {
            let mut results = Vec::new();
            for (matcher, time) in matchers.iter().zip(&mut times) {
                let before = std::time::Instant::now();
                results.push(matcher.mask().expect("a mask"));
                *time += before.elapsed().as_secs_f64();
            }
            masks += 1;
            assert!(results[0] == results[1], "masks differ after {:?}", matchers[0].tokens());
            // Short tokens repeat values more often.
            let is_text = |id: &TokenId| vocabulary.token(*id).is_some_and(|text| text.len() < 4);
            let allowed: Vec<TokenId> = results[0].iter().filter(is_text).collect();
            if allowed.is_empty() {
                break;
            }
            let token = *random.pick(&allowed);
            for matcher in &mut matchers {
                assert!(matcher.accept(token).expect("no limit is exceeded"));
            }
        }
    }
    let statistics = compiled[0].cache().statistics();
    let [composed, walked] = times.map(|time| time / f64::from(masks) * 1e6);
    println!("{name}: {masks} masks, {composed:.1} us composed, {walked:.1} us walked; {statistics:?}");
    assert!(statistics.walked * 4 <= statistics.composed + statistics.recalled, "{statistics:?}");
}

#[test]
fn different_strings() {
    let strings = grammar(|json| {
        let item = json.string();
        json.array(item)
    });
    compare("strings", &strings, 4, 30);
}

#[test]
fn different_numbers() {
    let numbers = grammar(|json| {
        let item = json.number();
        json.array(item)
    });
    compare("numbers", &numbers, 4, 30);
}

#[test]
fn different_names() {
    let objects = grammar(|json| {
        let value = json.regex("true|[01]{1,3}");
        json.object(value)
    });
    compare("names", &objects, 4, 30);
}

#[test]
fn different_arrays_and_objects() {
    let nested = grammar(|json| {
        let span = Span::default();
        let value = json.0.nonterminal("value", span);
        let inner = json.0.reference(value, span);
        let (array, object) = (json.array(inner), json.object(inner));
        let (string, number) = (json.string(), json.number());
        let body = json.0.choice(vec![array, object, string, number], span);
        json.0.define(value, body, span);
        json.0.reference(value, span)
    });
    compare("nested", &nested, 4, 25);
}

#[test]
fn a_repeated_string() {
    let repeated = grammar(|json| {
        let span = Span::default();
        let item = json.string();
        let fresh = json.0.fresh(item, ValueEquality::Json, span);
        let again = json.0.repeated(item, ValueEquality::Json, span);
        let [open, comma, close] = [r"\[", ", ?", r"\]"].map(|text| json.regex(text));
        let first = json.0.sequence(vec![fresh, comma], span);
        let first = json.0.repeat(first, 1, None, span);
        let more = json.0.sequence(vec![comma, item], span);
        let more = json.0.repeat(more, 0, None, span);
        let body = json.0.sequence(vec![open, first, again, more, close], span);
        json.0.scope(body, span)
    });
    compare("repeated", &repeated, 4, 30);
}

fn kbnf(text: &str) -> Grammar {
    kbnf::grammar(text.as_bytes(), "start", &Limits::default()).expect("a grammar").0
}

#[test]
fn elements_and_heredocs() {
    let elements = kbnf(
        r###"
        start   ::= element;
        element ::= "<" bind!(tag, #"[a-z]{1,3}") ">" { #"[^<]{1,3}" | element } "</" same!(tag) ">";
        "###,
    );
    compare("elements", &elements, 4, 40);
    let heredocs = kbnf(
        r###"
        start ::= "<" bind!(word, #"[a-z]+") "\n" { other!(word, #"[^\n]*") "\n" } same!(word) "\n";
        "###,
    );
    compare("here-documents", &heredocs, 4, 30);
}

#[test]
fn fences_and_raw_strings() {
    let fences = kbnf(
        r###"
        start ::= bind!(fence, #r"`{3,}") "\n" { line "\n" } same!(fence) #r"`*";
        line  ::= #r"([^`\n][^\n]*)?" | without_prefix!(fence, #r"`+") #r"([^`\n][^\n]*)?";
        "###,
    );
    compare("fences", &fences, 4, 30);
    let strings = kbnf(
        r###"
        start ::= "#" bind!(h, "#"*) '"' #r'[^"]*' { '"' without_prefix!(h, #r'[^"]*') } '"' same!(h);
        "###,
    );
    compare("raw strings", &strings, 4, 30);
}
