//! On a large vocabulary, on which node sets are bitsets and dense transitions are used, composed masks equal walked
//! ones bit for bit.
//!
//! The property tests against the oracles use small vocabularies, and compare walked masks with the oracles.

use std::sync::Arc;

use crate::generators::by_profile;
use grammask::frontends::json_schema::{self, SchemaOptions};
use grammask::frontends::kbnf;
use grammask::grammar::Grammar;
use grammask::vocabulary::{TokenId, TokenTextsBuilder, Vocabulary};
use grammask::{CompileOptions, CompiledGrammar, Effort, Limits, MaskStrategy};

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

/// All bytes, and tokens as in real vocabularies: letters, spaces, punctuation, characters of two to four bytes, and
/// tokens that end inside a character. Also `runs`, which are up to about 90 bytes long.
fn vocabulary(runs: &[&str]) -> Arc<Vocabulary> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let pieces = [
        "a", "b", "e", "i", "n", "o", "r", "s", "t", "th", "er", "in", " ", " ", "  ", "\n", "\"", "\\",
        "\\n", "{", "}", "[", "]", ",", ":", "\":", "\", \"", "0", "1", "23", ".", "-", "_", "@", "/", "é",
        "ü", "你", "好", "🙂", "<", ">", "|", "(", ")", "true", "null", "A", "Z", "http", ";", "=", "+",
    ];
    let mut words: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    while words.len() < 60_000 {
        let mut word = Vec::new();
        let letters_only = random.below(2) == 0;
        for _ in 0..=random.below(7) {
            let range = if letters_only { 14 } else { pieces.len() };
            word.extend_from_slice(pieces[random.below(range)].as_bytes());
        }
        if random.below(40) == 0 {
            word.pop();
        }
        words.push(word);
    }
    for run in runs {
        words.extend((10..90 / run.len()).map(|copies| run.repeat(copies).into_bytes()));
    }
    let mut texts: TokenTextsBuilder = words.into_iter().filter(|word| !word.is_empty()).map(Some).collect();
    texts.push_textless();
    let eos = texts.len() as u32 - 1;
    Arc::new(Vocabulary::new(texts.finish(), vec![], vec![eos], None).expect("a vocabulary"))
}

fn compare(grammar: &str, texts: usize, steps: usize) {
    let (grammar, _) = kbnf::grammar(grammar.as_bytes(), "start", &Limits::default()).expect("a grammar");
    compare_grammar(&grammar, &[], texts, steps);
}

fn compare_schema(schema: &str, texts: usize, steps: usize) {
    println!("{schema}");
    let read = json_schema::grammar(schema, &SchemaOptions::default(), &Limits::default());
    compare_grammar(&read.expect("a schema").grammar, &[], texts, steps);
}

fn compare_grammar(grammar: &Grammar, runs: &[&str], texts: usize, steps: usize) {
    let vocabulary = vocabulary(runs);
    assert!(vocabulary.trie().len() > 100_000, "the trie is large enough for bitsets");
    let compiled = [MaskStrategy::Summaries, MaskStrategy::Walk].map(|masks| {
        let mut options = CompileOptions::default();
        options.masks = masks;
        CompiledGrammar::new(grammar, vocabulary.clone(), options).expect("a compiled grammar")
    });
    let mut random = Random(7);
    for _ in 0..by_profile(texts.div_ceil(3), texts) {
        let mut matchers = compiled.each_ref().map(CompiledGrammar::matcher);
        for _ in 0..steps {
            let known = matchers[0].lookup_mask().cloned();
            let quick =
                known.is_none().then(|| matchers[0].compute_mask(Effort::Immediate).unwrap()).flatten();
            let [composed, walked] = matchers.each_ref().map(|matcher| matcher.mask().expect("a mask"));
            assert!(composed == walked, "masks differ after {:?}", matchers[0].tokens());
            assert!(quick.is_none_or(|quick| quick == walked), "quick mask after {:?}", matchers[0].tokens());
            let allowed: Vec<TokenId> = composed.iter().filter(|&id| !vocabulary.is_eos(id)).collect();
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
    assert!(statistics.composed > 0 && statistics.walked == 0, "{statistics:?}");
}

const JSON: &str = r#"
start ::= ws value ws;
value ::= object | array | string | number | "true" | "false" | "null";
object ::= "{" ws [pair {ws "," ws pair}] ws "}";
pair ::= string ws ":" ws value;
array ::= "[" ws [value {ws "," ws value}] ws "]";
string ::= '"' {#r'[^"\\\x00-\x1f]' | '\\' #r'["\\/bfnrt]'} '"';
number ::= ["-"] ("0" | #"[1-9][0-9]*") ["." #"[0-9]+"];
ws ::= {" " | "\n"};
"#;

#[test]
fn json() {
    compare(JSON, 12, 25);
}

#[test]
fn free_text_before_a_trigger() {
    compare(r#"start ::= #e"(?s).*<\\|" #"[a-z]+" "(" #ex"\\)|<" ")";"#, 8, 20);
}

#[test]
fn counted_text() {
    compare(
        r#"start ::= '"' #r'[^"\\]{0,40}' '"' ("," '"' #r'[a-z ]{3,12}' '"'){2,400} #r'(é|[a-c]{2}){9,}' "." | #r'[^x]{30,}' "x";"#,
        10,
        25,
    );
}

/// Two classes of letters with more distinguishing states than a search visits, whose states coincide after most
/// letters.
#[test]
fn classes_of_letters() {
    for grammar in [
        r"start ::= #r'[\p{L}_][\p{L}\p{M}\p{N}_]*' {'.' #r'[\p{L}\p{M}][\p{L}\p{N}]*'};",
        r"start ::= #r'[\p{Lu}\p{N}][\p{Ll}\p{M}-]*[\p{L}\p{N}]+' ' ' #r'[^\p{L}]{2}\p{L}+';",
        r"start ::= (#r'\p{L}\p{M}*' | #r'\p{N}[\p{N}\p{Pd}]*[\p{L}\p{N}]*'){' ' | '/'};",
    ] {
        let (grammar, _) = kbnf::grammar(grammar.as_bytes(), "start", &Limits::default()).expect("a grammar");
        let runs = ["a", "e\u{301}", "\u{e01}\u{e47}a", "\u{663}x\u{b2}", "\u{915}\u{93f}_", "\u{ac00}1"];
        compare_grammar(&grammar, &runs, 8, 20);
    }
}

/// Length limits are removed from the pattern far from the bound and counted near it; minima, keywords and fixed
/// lengths are not.
#[test]
fn patterns_of_limited_length() {
    for keywords in [
        r#""pattern": "^(?:\\S+\\s+){0,9}\\S+$", "maxLength": 60"#,
        r#""pattern": "^(?:\\S+\\s+){0,49}\\S+$", "minLength": 1, "maxLength": 24"#,
        r#""pattern": "^[a-z]+( [a-z]+){0,9}$", "minLength": 3, "maxLength": 30"#,
        r#""pattern": "^(the|in|er){2}(ab|[^é])*$", "minLength": 20, "maxLength": 25"#,
        r#""pattern": "[a-z]@[a-z]{2,}", "maxLength": 40"#,
        r#""pattern": "^(th|er|in){3,}$", "maxLength": 7"#,
        r#""pattern": "^a*[aeinrst]{0,30}$", "maxLength": 45"#,
        r#""pattern": "^(th|the|t)[a-z]{2,20}$", "minLength": 12"#,
        r#""format": "email", "maxLength": 32"#,
    ] {
        compare_schema(&format!(r#"{{"type": "string", {keywords}}}"#), 4, 10);
    }
}

/// Far from its bounds a counting state is walked without them, except for tokens that reach them.
#[test]
fn distant_bounds() {
    for pattern in [
        r"(.{1,40}\.){1,40}[a-z ]+",
        r"[a-z]([a-z ]{0,61}[a-z])?([.-]([a-z ]{0,33}[a-z])?)*",
        r"([^ \n]+[ \n]+){0,18}[^ \n]+",
        r"( {1,50}|-{3,35}|[^ -]{2,60}=)*",
        r"([a-z ]{1,40}-){0,20}[a-z ]{1,50}|a((th|a)?[^x]{1,36}=){1,35}",
        r"([^\n]{1,30}\n){0,20}",
        r"[\p{L} -]{1,40}",
    ] {
        let pattern = format!(r#"start ::= "a" word {{"." word}}; word ::= #r"{pattern}";"#);
        let (grammar, _) = kbnf::grammar(pattern.as_bytes(), "start", &Limits::default()).expect("a grammar");
        compare_grammar(&grammar, &["-", " ", "a", "=*", "th."], 4, 10);
    }
    for keywords in [
        r#""pattern": "^(?!.*th)(.{1,40}\\.){1,40}[a-z ]+$", "maxLength": 140"#,
        r#""pattern": "^(?:\\S+\\s+){0,18}\\S+$", "maxLength": 100"#,
        r#""allOf": [{"pattern": "^[^=]{0,34}a"}, {"pattern": "t.{1,60}$"}]"#,
    ] {
        let schema = format!(r#"{{"type": "string", {keywords}}}"#);
        let read = json_schema::grammar(&schema, &SchemaOptions::default(), &Limits::default());
        compare_grammar(&read.expect("a schema").grammar, &["-", " ", "a", "=*", "th."], 4, 12);
    }
}

/// What follows a repetition is read below fewer nodes with each character, unless both become an intersection.
#[test]
fn text_after_copies_that_run_out() {
    for pattern in [
        r"[^ ].{0,60}[^ ]",
        r"[a-z]{3,40}([a-y].)?",
        r".{0,30}([^a]|th)[a-z]*",
        r"([^=]{0,45}[a-z ])?",
        r"[a-z]([a-z -]{0,12}[a-z])?",
        r"[a-z. ]{1,9}[a-z]( [a-z ]{0,20}[aeiou]|-[a-z]{4,30}[a-e])?[a-z ]{2,9}t",
    ] {
        let pattern = format!(r#"start ::= #r"{pattern}" "!";"#);
        let (grammar, _) = kbnf::grammar(pattern.as_bytes(), "start", &Limits::default()).expect("a grammar");
        compare_grammar(&grammar, &["-", " ", "a", "=*", "th."], 4, 14);
    }
    for keywords in [
        r#""pattern": "^\\S.{0,60}\\S$""#,
        r#""pattern": "^\\S(.{0,60}\\S)?$""#,
        r#""pattern": "^[a-z]([a-z. -]{0,15}[a-z])?$""#,
        r#""pattern": "^\\S(.*\\S)?$", "maxLength": 9"#,
    ] {
        compare_schema(&format!(r#"{{"type": "string", {keywords}}}"#), 4, 14);
    }
}

/// Undeclared names are strings outside the prefix tree of the declared ones.
#[test]
fn names_that_are_not_declared() {
    let properties =
        r#""properties": {"in": {}, "inner": {"type": "null"}, "the": {"type": "null"}, "é\"": {}}"#;
    compare_schema(&format!(r#"{{"type": "object", {properties}}}"#), 8, 15);
    let names = r#""propertyNames": {"maxLength": 26, "not": {"pattern": "^(th|er)*$"}}"#;
    compare_schema(&format!(r#"{{"type": "object", {properties}, {names}}}"#), 8, 15);
}

/// Several excluded sets, of keywords or patterns, in unrestricted text and in text with a pattern or a limit.
#[test]
fn names_beside_patterns() {
    for keywords in [
        r#""properties": {"t": {}, "th": {}, "ther": {}, "n\n": {}, "/": {}}, "additionalProperties": {"type": "null"}"#,
        r#""properties": {"a": {}, "th": {}}, "patternProperties": {"^th": {"const": 0}, "-$": {"const": 1}}"#,
        r#""properties": {"a": {}, "in": {}}, "propertyNames": {"pattern": "^[a-z]+$"}"#,
        r#""properties": {"a": {}, "in": {}}, "propertyNames": {"minLength": 2, "maxLength": 5}"#,
        r#""properties": {"": {"const": 1}, "é": {}, "你": {}, "🙂": {}}, "minProperties": 2"#,
    ] {
        let object = format!(r#"{{"type": "object", {keywords}}}"#);
        compare_schema(&object, 5, 12);
        compare_schema(&format!(r#"{{"type": "array", "items": {object}}}"#), 5, 12);
    }
    let others = r#"{"type": "string", "not": {"enum": ["a", "er", "there", "\n"]}}"#;
    compare_schema(&format!(r#"{{"type": "array", "items": {others}}}"#), 5, 12);
}

#[test]
fn text_inside_text() {
    compare(
        r#"start ::= part {part}; part ::= #r"\w+" | #r"[^\w]+" | "(" start ")" | #r"[a-z]*" "@" #r"(?s).*" ";";"#,
        6,
        15,
    );
}

#[test]
fn substrings_and_ambiguity() {
    compare(
        r#"start ::= start start | #substrs"the rain in Spain: 你好, é" "." | #r"(th|e|er|in| )+";"#,
        8,
        15,
    );
}

/// Subtrees in which a state has self-loops are taken whole: by bytes, by characters, and with a few exceptions.
#[test]
fn text_that_keeps_its_state() {
    for body in [
        r#"#r'[^"\\\x00-\x1f]*'"#,
        r#"#r"(?s).*""#,
        r#"#r"[^é]*""#,
        r#"#r"[\p{L}_][\p{L}\p{N}_]*""#,
        r#"#r"[a-zé🙂]*""#,
        r#"#ex"th|你|🙂""#,
        r#"#r"[^th]*" #r"(?s).*""#,
        r#"#r"([^ab]|a[^b])*""#,
        r#"#r"(你|[a-z])*好?""#,
        r#"#substrs"a man a plan a canal""#,
    ] {
        compare(&format!(r#"start ::= "\"" {body} "\"" [":" start];"#), 2, 8);
    }
}

/// Copies of a prefix code are counted by characters in subtrees all of whose characters are copies.
#[test]
fn counted_characters() {
    for body in [
        r#"#r'[^"\\\x00-\x1f]{0,5}'"#,
        r#"#r'([^"\\\x00-\x1f]|\\["\\n])'{3,40}"#,
        r#"#r"(?s).{9,12}""#,
        r#"#r"(你|[a-z]|好é)"{2,9}"#,
        r#"#r"[a-z ]"{0,30} #r"[a-z:]*""#,
        r#"#r"(é|[^éa])"{1,10}"#,
        r#"#r"(ab|[^a])"{2,6}"#,
    ] {
        compare(&format!(r#"start ::= "\"" {body} "\"" [":" start];"#), 3, 12);
    }
}

/// Subtrees below self-loops are skipped; the other subtrees are walked.
#[test]
fn patterns_over_classes_of_bytes() {
    for pattern in [
        r"[A-Za-z0-9_%+-]+(\.[A-Za-z0-9_%+-]+)*@([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}",
        r"https?://([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}(:[0-9]{1,5})?(/([a-z0-9._~-]|=[0-9a-f]{2})*)*",
        r"[\p{L}_][\p{L}\p{M}\p{N}_]*",
        r"[b-rt-z]+(a[b-z]*s|é+)*",
        r"([a-zéü你🙂]|th[^a-z])*",
        r"[^\x00-\x1f]*",
        r"[^é\n]+",
        r"(?s-u:.)*",
        r"([a-z ]|[^\x00-\x7f]{2})*",
        r"[a-z][a-z0-9.@/-]*",
    ] {
        compare(&format!(r#"start ::= #r"{pattern}" [";" start];"#), 4, 10);
        // At the end of the grammar the ends of words are not requested; the same states occur before other symbols.
        compare(&format!(r#"start ::= #r"{pattern}";"#), 4, 10);
        compare(
            &format!(
                r##"start ::= #"[a-z]" last | word ";" last; last ::= "@" last | word; word ::= #r"{pattern}";"##
            ),
            4,
            10,
        );
    }
}

/// Patterns of random parts, in which many states differ in a few bytes only; with and without requested ends.
#[test]
fn random_patterns() {
    let mut random = Random(23);
    let units =
        ["[a-z]", "[a-z0-9]", "[a-m]", "[^ ]", "[A-Za-z.]", "é", "th", "[0-9]{1,4}", "[a-z]{3,12}", "[^é.]"];
    let repeats = ["", "?", "*", "+", "{2,}", "{0,5}", "{0,40}"];
    let joints = ["", r"\.", "-", "[.:/]", " ", r"(\.|/)?", "@"];
    for _ in 0..25 {
        let parts = 2 + random.below(4);
        let pattern: String = (0..parts)
            .map(|_| {
                let (unit, joint) = (random.pick(&units), random.pick(&joints));
                match random.below(4) {
                    0 => format!("({unit}{}{joint}){}", random.pick(&repeats), random.pick(&["*", "+", "?"])),
                    _ => format!("({unit}){}{joint}", random.pick(&repeats)),
                }
            })
            .collect();
        for rest in ["", r#"("!" | "9e" start)"#] {
            let grammar = format!(r##"start ::= #r"x{pattern}" {rest};"##);
            println!("{grammar}");
            compare(&grammar, 2, 10);
        }
    }
}

/// Many keywords are walked in lockstep with the trie, before any symbol.
#[test]
fn many_words() {
    let mut random = Random(11);
    let pieces = ["th", "er", "in", "a", "é", "你", "s", "-", "0", "e"];
    let words: Vec<String> = (0..600)
        .map(|_| (0..=random.below(6)).map(|_| *random.pick(&pieces)).collect::<String>())
        .map(|word| format!("{word:?}"))
        .collect();
    let words = words.join(" | ");
    for rest in [r#""""#, r#""," start"#, r#"["." word {"," word}]"#, r##"#"[a-z]*" word ";""##] {
        compare(&format!("start ::= word {rest};\nword ::= {words};"), 6, 10);
    }
}

/// Nearly all strings are viable prefixes: unanchored patterns, minimum lengths, exclusions.
#[test]
fn patterns_that_nearly_all_strings_may_match() {
    for keywords in [
        r#""pattern": "th-[0-9]+""#,
        r#""pattern": "(there|http:|é\\.).*[a-e]$""#,
        r#""pattern": "^[^ ]+@[^ ]+\\.[^ ]+$""#,
        r#""pattern": "s$", "minLength": 5"#,
        r#""allOf": [{"pattern": "th"}, {"not": {"pattern": "er"}}, {"pattern": "^[^\\n]*$"}]"#,
        r#""oneOf": [{"pattern": "t-[0-9]"}, {"pattern": "n-[0-9]"}]"#,
        r#""pattern": "^([a-z]{2,5}-)+[0-9]{0,3}(\\.[^0-9]*)?$""#,
        r#""format": "uri-reference""#,
    ] {
        let string = format!(r#"{{"type": "string", {keywords}}}"#);
        compare_schema(&format!(r#"{{"type": "array", "items": {string}}}"#), 5, 12);
    }
}
