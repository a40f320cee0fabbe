//! Matchers of lexed grammars: masks, acceptance, ends of texts, rollback, forced text, explanations, limits.

use std::sync::Arc;

use grammask::grammar::Code;
use grammask::lexing::{
    IndentationMeasure, IndentationSource, LexedDefinition, LexedGrammar, LexerKind, ParserKind,
    ProductionSource, TerminalPattern, TerminalRole, TerminalSource,
};
use grammask::vocabulary::{TokenId, Vocabulary};
use grammask::{CompileOptions, CompiledGrammar, EndMode, Explanation, Limits, MaskStrategy, Matcher, batch};

/// A definition from terminals (a leading `%` marks ignored ones, `/pattern/` is a regular expression) and productions.
pub(crate) fn definition(terminals: &[(&str, &str)], productions: &[&str]) -> LexedDefinition {
    let terminals = terminals
        .iter()
        .map(|&(name, pattern)| TerminalSource {
            name: name.trim_start_matches('%').to_owned(),
            pattern: match pattern.strip_prefix('/').and_then(|pattern| pattern.strip_suffix('/')) {
                Some(pattern) => TerminalPattern::Regex(pattern.to_owned()),
                None => TerminalPattern::Literal(pattern.as_bytes().to_vec()),
            },
            priority: 0,
            role: if name.starts_with('%') { TerminalRole::Ignored } else { TerminalRole::Parsed },
        })
        .collect();
    let productions = productions
        .iter()
        .map(|production| {
            let (lhs, rhs) = production.split_once(':').expect("a production has a colon");
            let rhs = rhs.split_whitespace().map(str::to_owned).collect();
            ProductionSource { lhs: lhs.to_owned(), rhs, priority: 0 }
        })
        .collect();
    LexedDefinition { terminals, productions, start: "start".to_owned(), ..LexedDefinition::default() }
}

fn compile(definition: &LexedDefinition, tokens: &[&str], options: CompileOptions) -> Arc<CompiledGrammar> {
    let grammar = LexedGrammar::new(definition, &Limits::default()).expect("a good grammar");
    let eos = tokens.len() as u32;
    let texts = tokens.iter().copied().map(Some).chain([None]).collect();
    let vocabulary = Vocabulary::new(texts, vec![], vec![eos], None).expect("a good vocabulary");
    CompiledGrammar::from_lexed(grammar, Arc::new(vocabulary), options)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The texts of the tokens of the mask, with `$` for the end token.
fn mask(matcher: &Matcher) -> Vec<String> {
    let vocabulary = matcher.compiled().vocabulary();
    let text =
        |id| vocabulary.token(id).map_or("$".into(), |text| String::from_utf8_lossy(text).into_owned());
    matcher.mask().expect("a mask").iter().map(text).collect()
}

fn statements() -> LexedDefinition {
    definition(
        &[
            ("IF", "if"),
            ("NAME", "/[a-z]+/"),
            ("NUMBER", "/[0-9]+(\\.[0-9]+)?/"),
            ("DOTS", ".."),
            ("SEMICOLON", ";"),
            ("%WS", "/[ \\n]+/"),
            ("%COMMENT", "/\\/\\*([^*]|\\*+[^*\\/])*\\*+\\//"),
        ],
        &[
            "start:",
            "start:start statement SEMICOLON",
            "statement:IF NAME statement",
            "statement:NAME",
            "statement:NUMBER DOTS NUMBER",
        ],
    )
}

const TOKENS: [&str; 14] =
    ["i", "if", "ifx", " ", "x", ";", "1", "1.", ".", "..", "..2", "/*", "*/", "x;if "];

#[test]
fn masks_follow_the_longest_match() {
    for strategy in [MaskStrategy::Summaries, MaskStrategy::Walk] {
        let mut options = CompileOptions::default();
        options.masks = strategy;
        let mut matcher = compile(&statements(), &TOKENS, options).matcher();
        assert_eq!(mask(&matcher), ["i", "if", "ifx", " ", "x", "1", "1.", "/*", "x;if ", "$"]);
        assert!(matcher.accept_bytes(b"if").unwrap());
        // `if` could still be extended to a name, but a keyword cannot be followed by a semicolon.
        assert_eq!(mask(&matcher), ["i", "if", "ifx", " ", "x", "/*", "x;if "]);
        assert!(matcher.accept_bytes(b" x").unwrap());
        assert!(matcher.accept_bytes(b" 1").unwrap());
        assert_eq!(mask(&matcher), [" ", "1", "1.", ".", "..", "..2", "/*"]);
        assert!(matcher.accept_bytes(b".").unwrap());
        assert_eq!(mask(&matcher), ["1", "1.", "."]);
        assert!(matcher.accept_bytes(b".").unwrap());
        assert_eq!(mask(&matcher), [" ", "1", "1.", "/*"]);
        assert!(matcher.accept_bytes(b"2;").unwrap());
        assert!(matcher.is_complete());
    }
}

#[test]
fn texts_end_between_lexemes_and_after_ignored_ones() {
    let mut matcher = compile(&statements(), &TOKENS, CompileOptions::default()).matcher();
    assert!(matcher.is_complete());
    for (text, is_complete) in
        [("x", false), (";", true), (" ", true), ("/*", false), ("*", false), ("/", true)]
    {
        assert!(matcher.accept_bytes(text.as_bytes()).unwrap(), "{text}");
        assert_eq!(matcher.is_complete(), is_complete, "after {text}");
    }
    let eos = TokenId(TOKENS.len() as u32);
    assert!(matcher.accept(eos).unwrap());
    assert!(matcher.is_finished());
    assert!(matcher.rollback(3));
    assert!(!matcher.is_complete());
    assert!(matcher.accept_bytes(b" */ i").unwrap());
}

#[test]
fn eager_texts_end_when_they_are_complete() {
    let mut options = CompileOptions::default();
    options.end = EndMode::Eager;
    let mut matcher = compile(&statements(), &TOKENS, options).matcher();
    assert!(matcher.accept(TokenId(4)).unwrap());
    assert!(!matcher.is_finished());
    assert!(matcher.accept(TokenId(5)).unwrap());
    assert!(matcher.is_finished());
}

#[test]
fn text_is_forced_and_refusals_are_explained() {
    let definition = definition(&[("BEGIN", "begin"), ("END", "end"), ("%WS", " ")], &["start:BEGIN END"]);
    let mut matcher = compile(&definition, &["begin", "end", " ", "b"], CompileOptions::default()).matcher();
    assert_eq!(matcher.forced_bytes(100).unwrap(), b"");
    assert!(matcher.accept(TokenId(3)).unwrap());
    assert_eq!(matcher.forced_bytes(100).unwrap(), b"egin");
    let Explanation::RefusedByte { position: 0, expected, is_complete: false, .. } =
        matcher.explain(TokenId(1)).unwrap_or(Explanation::Finished)
    else {
        // `end` begins with the required byte.
        assert!(matches!(
            matcher.explain(TokenId(1)),
            Ok(Explanation::RefusedByte { position: 1, ref expected, .. }) if expected[0].terminal == "BEGIN"
        ));
        return;
    };
    panic!("{expected:?}");
}

#[test]
fn grammars_without_a_text_and_conflicts_are_refused() {
    let prepare = |definition: &LexedDefinition| {
        let grammar = LexedGrammar::new(definition, &Limits::default()).expect("a good grammar");
        let texts = ["a"].map(Some).into_iter().collect();
        let vocabulary = Vocabulary::new(texts, vec![], vec![0], None).expect("a good vocabulary");
        CompiledGrammar::from_lexed(grammar, Arc::new(vocabulary), CompileOptions::default()).unwrap_err()
    };
    let mut joined = definition(&[("IF", "if"), ("NAME", "/[a-z]+/")], &["start:IF NAME"]);
    let error = prepare(&joined);
    assert_eq!(error.code(), Code::EmptyLanguage);
    assert!(error.to_string().contains("nothing that the rules allow after a first `IF`"), "{error}");
    joined.productions = definition(&[], &["start:e", "e:IF e", "e:IF e NAME e", "e:NAME"]).productions;
    let error = prepare(&joined);
    assert_eq!(error.code(), Code::GrammarConflict);
    assert!(error.to_string().contains("after `IF e`, before `NAME`"), "{error}");
}

/// A language with blocks by indentation, and brackets in which newlines are ignored.
fn blocks() -> LexedDefinition {
    let mut definition = definition(
        &[
            ("IF", "if"),
            ("NAME", "/[a-z]+/"),
            ("COLON", ":"),
            ("COMMA", ","),
            ("OPEN", "("),
            ("CLOSE", ")"),
            ("NEWLINE", "/(\\n *)+/"),
            ("%WS", "/ +/"),
        ],
        &[
            "start:",
            "start:start statement",
            "statement:NAME call NEWLINE",
            "statement:IF NAME COLON NEWLINE INDENT body DEDENT",
            "body:statement",
            "body:body statement",
            "call:",
            "call:OPEN list CLOSE",
            "list:NAME call",
            "list:list COMMA NAME call",
        ],
    );
    for name in ["INDENT", "DEDENT"] {
        definition.terminals.push(TerminalSource {
            name: name.to_owned(),
            pattern: TerminalPattern::Declared,
            priority: 0,
            role: TerminalRole::Parsed,
        });
    }
    definition.indentation = Some(IndentationSource {
        newline: "NEWLINE".to_owned(),
        indent: "INDENT".to_owned(),
        dedent: "DEDENT".to_owned(),
        measure: IndentationMeasure::Columns { tab_length: 8 },
        open: vec!["OPEN".to_owned()],
        close: vec!["CLOSE".to_owned()],
        begins_line: false,
    });
    definition
}

const BLOCK_TOKENS: [&str; 30] = [
    "a",
    "i",
    "f",
    "if ",
    " ",
    "  ",
    "\n",
    "\n ",
    "\n  ",
    "\n\n   ",
    ":",
    ":\n ",
    ":\n  ",
    ",",
    "(",
    ")",
    "))",
    "a(",
    ")\n",
    "))\n a",
    "a)\n",
    "\na",
    "\n a\n  a",
    "if a:\n ",
    "a:\n   if a",
    ",\na",
    "(a,\n",
    "\n\n\n",
    " a\na",
    "\nif a:\n a\n",
];

/// The matchers along pseudo-random walks of one grammar.
fn walks(compiled: &Arc<CompiledGrammar>, count: u64, length: usize) -> Vec<Matcher> {
    let mut passed = Vec::new();
    for walk in 0..count {
        let mut state = walk.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut matcher = compiled.matcher();
        for _ in 0..length {
            let allowed: Vec<TokenId> = matcher.mask().expect("a mask").iter().collect();
            passed.push(matcher.clone());
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            assert!(
                matcher
                    .accept(allowed[(state >> 33) as usize % allowed.len()])
                    .expect("no limit is exceeded")
            );
            if matcher.is_finished() {
                break;
            }
        }
    }
    passed
}

#[test]
fn masks_of_blocks_equal_the_walk() {
    let compiled = compile(&blocks(), &BLOCK_TOKENS, CompileOptions::default());
    let mut options = CompileOptions::default();
    options.masks = MaskStrategy::Walk;
    let walked = compile(&blocks(), &BLOCK_TOKENS, options);
    let mut deepest = 0;
    for matcher in walks(&compiled, 150, 40) {
        let mut other = walked.matcher();
        for token in matcher.tokens() {
            assert!(other.accept(token).expect("no limit is exceeded"));
        }
        deepest = deepest.max(matcher.step_count());
        assert_eq!(mask(&matcher), mask(&other), "after {:?}", matcher.tokens());
    }
    assert_eq!(deepest, 39);
}

#[test]
fn batches_and_drafts_equal_single_masks() {
    for definition in [blocks(), statements()] {
        let tokens: &[&str] = if definition.indentation.is_some() { &BLOCK_TOKENS } else { &TOKENS };
        let singles = walks(&compile(&definition, tokens, CompileOptions::default()), 12, 25);
        let fresh = compile(&definition, tokens, CompileOptions::default());
        let rows: Vec<Matcher> = singles
            .iter()
            .map(|single| {
                let mut row = fresh.matcher();
                for token in single.tokens() {
                    assert!(row.accept(token).expect("no limit is exceeded"));
                }
                row
            })
            .collect();
        let masks = batch::masks(&rows.iter().collect::<Vec<_>>()).expect("all rows have masks");
        for (single, batched) in singles.iter().zip(&masks) {
            assert_eq!(single.mask().expect("a mask"), *batched);
        }
        let other = compile(&definition, tokens, CompileOptions::default());
        for single in &singles {
            let draft = single.tokens();
            let along = other.matcher().draft_masks(&draft).expect("no limit is exceeded");
            assert_eq!(along.len(), draft.len() + 1);
            assert_eq!(along.last().map(|last| &**last), single.mask().ok().as_deref());
        }
    }
}

#[test]
fn forks_go_their_own_ways() {
    let compiled = compile(&blocks(), &BLOCK_TOKENS, CompileOptions::default());
    let mut matcher = compiled.matcher();
    assert!(matcher.accept_bytes(b"if a:\n  a(").unwrap());
    let before = mask(&matcher);
    let mut fork = matcher.clone();
    assert!(fork.accept_bytes(b"a,\na)\n").unwrap());
    assert!(fork.is_complete());
    assert_eq!(mask(&matcher), before);
    assert!(!matcher.is_complete());
    assert!(matcher.accept_bytes(b"a(a))\n  if").unwrap());
    assert!(fork.accept_bytes(b"a").unwrap());
    assert!(fork.rollback(1));
    assert!(fork.is_complete());
    assert!(!fork.accept_bytes(b"  a\n a\n").unwrap(), "no block is in column 1");
}

/// The ends of lexemes are undecided everywhere, and the Earley sets of their readings are united.
#[test]
fn readings_of_dynamic_lexers_are_united() {
    let undecided = LexedDefinition {
        lexer: LexerKind::Dynamic,
        parser: ParserKind::Earley,
        ..definition(
            &[("LONG", "bb"), ("OPTIONAL", "/a?b/"), ("SHORT", "b")],
            &["start:", "start:OPTIONAL nested nested", "nested:SHORT start LONG"],
        )
    };
    let compiled = compile(&undecided, &["a", "b", "bb"], CompileOptions::default());
    let mut matcher = compiled.matcher();
    for length in 1..=200 {
        assert!(matcher.accept(TokenId(1)).expect("no limit"), "after {length}");
        let completion = matcher.shortest_completion().expect("a completion");
        let mut completed = matcher.clone();
        for &token in &completion.tokens {
            assert!(completed.accept(token).expect("no limit"));
        }
        assert!(completed.is_finished());
    }
}
