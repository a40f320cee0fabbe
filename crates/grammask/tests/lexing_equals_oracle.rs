//! Property: on random lexed grammars the engine agrees with the oracle.
//!
//! For all texts up to some length, a text is complete in the engine if and only if the oracle accepts it, every
//! prefix of an accepted text is viable, and every viable prefix has a continuation that the oracle accepts. Masks of
//! random vocabularies hold exactly the tokens whose bytes can be read one by one.

mod generators;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use grammask::grammar::Code;
use grammask::lexing::reference::LexedReference;
use grammask::lexing::{
    ConflictPolicy, IndentationSource, LexedDefinition, LexedGrammar, LexedRecognizer, LexerKind, LexingRule,
    ParserKind, PreparedGrammar, ProductionSource, TerminalPattern, TerminalRole, TerminalSource,
};
use grammask::vocabulary::{TokenSet, Vocabulary};
use grammask::{Deadline, Engine, Limits, MaskSource, PrecomputeBudget, SetId};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Maximum length of a text, in bytes.
const LONGEST: usize = 5;
/// Maximum length of a text of the grammar with blocks, in bytes.
const LONGEST_WITH_BLOCKS: usize = 8;
/// Maximum number of sets that are searched for a complete continuation.
const MAX_SETS: usize = 60_000;

static COMPARED: AtomicU64 = AtomicU64::new(0);
static ACCEPTED: AtomicU64 = AtomicU64::new(0);
static ENDLESS: AtomicU64 = AtomicU64::new(0);
static CONFLICTS: AtomicU64 = AtomicU64::new(0);
static INSEPARABLE: AtomicU64 = AtomicU64::new(0);

fn terminal(index: usize) -> impl Strategy<Value = TerminalSource> {
    let pattern = prop_oneof![
        3 => select(&["a", "b", "ab", "aa", "ba", "aba", "bb"][..])
            .prop_map(|text| TerminalPattern::Literal(text.as_bytes().to_vec())),
        4 => select(&["a+", "b+", "[ab]+", "ab+", "a(ba)*", "a?b", "(ab)+b", "a[ab]*b", "b( b)?", "a|aab"][..])
            .prop_map(|pattern| TerminalPattern::Regex(pattern.to_owned())),
    ];
    (pattern, prop_oneof![4 => Just(0), 1 => -1..2]).prop_map(move |(pattern, priority)| TerminalSource {
        name: format!("T{index}"),
        pattern,
        priority,
        role: TerminalRole::Parsed,
    })
}

fn definition() -> impl Strategy<Value = LexedDefinition> {
    let ignored = prop_oneof![
        2 => Just(None),
        4 => Just(Some(TerminalPattern::Regex(" +".to_owned()))),
        1 => Just(Some(TerminalPattern::Regex(" ".to_owned()))),
        1 => Just(Some(TerminalPattern::Regex(" +|b b".to_owned()))),
    ];
    let refused = prop::option::weighted(0.2, select(&["aab", "b +a", "bb+"][..]));
    let terminals = (terminal(0), terminal(1), terminal(2), terminal(3), ignored, refused);
    let production = (0..3_usize, vec(prop_oneof![3 => 0..4_usize, 2 => 4..7_usize], 0..4));
    let options = (
        select(
            &[
                (LexerKind::Basic, ParserKind::Lalr),
                (LexerKind::Contextual, ParserKind::Lalr),
                (LexerKind::Basic, ParserKind::Earley),
                (LexerKind::Dynamic, ParserKind::Earley),
                (LexerKind::DynamicComplete, ParserKind::Earley),
            ][..],
        ),
        select(&[LexingRule::MaximalMunch, LexingRule::Lark][..]),
        select(&[ConflictPolicy::Refuse, ConflictPolicy::PreferShift][..]),
    );
    (terminals, vec(production, 1..7), options).prop_map(
        |((t0, t1, t2, t3, ignored, refused), productions, ((lexer, parser), rule, conflicts))| {
            let mut terminals = vec![t0, t1, t2, t3];
            if let Some(pattern) = ignored {
                terminals.push(TerminalSource {
                    name: "WS".to_owned(),
                    pattern,
                    priority: 0,
                    role: TerminalRole::Ignored,
                });
            }
            if let Some(pattern) = refused.filter(|_| !lexer.is_dynamic()) {
                terminals.push(TerminalSource {
                    name: "BAD".to_owned(),
                    pattern: TerminalPattern::Regex(pattern.to_owned()),
                    priority: 1,
                    role: TerminalRole::Refused,
                });
            }
            let lhs_of: Vec<usize> = productions.iter().map(|&(lhs, _)| lhs).chain([0]).collect();
            let name = |symbol: usize| match symbol {
                0..4 => format!("T{symbol}"),
                _ if lhs_of.contains(&(symbol - 4)) => format!("r{}", symbol - 4),
                _ => "r0".to_owned(),
            };
            let mut sources: Vec<ProductionSource> = productions
                .iter()
                .map(|(lhs, rhs)| ProductionSource {
                    lhs: format!("r{lhs}"),
                    rhs: rhs.iter().map(|&symbol| name(symbol)).collect(),
                    priority: 0,
                })
                .collect();
            if !productions.iter().any(|&(lhs, _)| lhs == 0) {
                let rhs = vec![sources[0].lhs.clone()];
                sources.push(ProductionSource { lhs: "r0".to_owned(), rhs, priority: 0 });
            }
            sources.sort_by(|left, right| (&left.lhs, &left.rhs).cmp(&(&right.lhs, &right.rhs)));
            sources.dedup();
            LexedDefinition {
                terminals,
                productions: sources,
                start: "r0".to_owned(),
                lexer,
                rule,
                parser,
                conflicts,
                indentation: None,
            }
        },
    )
}

fn vocabulary() -> impl Strategy<Value = Vec<Vec<u8>>> {
    vec(vec(select(&b"ab "[..]), 1..6), 3..12).prop_map(|mut tokens| {
        tokens.extend([b"a".to_vec(), b"b".to_vec(), b" ".to_vec()]);
        tokens
    })
}

#[test]
fn engine_equals_oracle() {
    let mut runner = proptest::test_runner::TestRunner::new(generators::config(3000));
    let result = runner.run(&(definition(), vocabulary()), |(definition, tokens)| {
        check(&definition, &tokens, b"ab ", LONGEST);
        Ok(())
    });
    println!(
        "compared {} grammars, {} accepted texts; {} conflicts, {} inseparable, {} prefixes without a complete continuation found",
        COMPARED.load(Ordering::Relaxed),
        ACCEPTED.load(Ordering::Relaxed),
        CONFLICTS.load(Ordering::Relaxed),
        INSEPARABLE.load(Ordering::Relaxed),
        ENDLESS.load(Ordering::Relaxed),
    );
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// All texts over an alphabet up to a length.
fn texts_up_to(alphabet: &[u8], longest: usize) -> Vec<Vec<u8>> {
    let mut texts = vec![Vec::new()];
    let mut next = 0;
    while let Some(text) = texts.get(next).filter(|text| text.len() < longest).cloned() {
        texts.extend(alphabet.iter().map(|&letter| [&text[..], &[letter]].concat()));
        next += 1;
    }
    texts
}

fn check(definition: &LexedDefinition, tokens: &[Vec<u8>], alphabet: &[u8], longest: usize) {
    let limits = Limits::default();
    let grammar = match LexedGrammar::new(definition, &limits) {
        Ok(grammar) => grammar,
        Err(error) => {
            assert!([Code::EmptyLanguage, Code::UnsupportedGrammar].contains(&error.code()), "{error}");
            return;
        }
    };
    // The oracle supports blocks with tables only; for rules without conflicts both parsers are equivalent.
    let with_tables = LexedDefinition { parser: ParserKind::Lalr, ..definition.clone() };
    let reference = match definition.indentation {
        Some(_) => LexedGrammar::new(&with_tables, &limits).expect("a good grammar"),
        None => grammar.clone(),
    };
    let reference = LexedReference::new(&reference, &limits);
    let prepared = match PreparedGrammar::new(grammar, &limits) {
        Ok(prepared) => prepared,
        Err(error) if error.code() == Code::GrammarConflict => {
            let is_undecided = definition.conflicts == ConflictPolicy::PreferShift;
            assert!(reference.is_none() || is_undecided, "{error}");
            CONFLICTS.fetch_add(1, Ordering::Relaxed);
            return;
        }
        Err(error) if error.code() == Code::EmptyLanguage => {
            if let Some(reference) = reference {
                for text in texts_up_to(alphabet, LONGEST) {
                    assert!(!reference.accepts(&text), "text {:?}: {error}", String::from_utf8_lossy(&text));
                }
            }
            return;
        }
        Err(error) => {
            assert!(
                [Code::InseparableTerminals, Code::UnsupportedGrammar].contains(&error.code()),
                "{error}"
            );
            INSEPARABLE.fetch_add(1, Ordering::Relaxed);
            return;
        }
    };
    let reference = reference.expect("the engine found no conflict");
    let number = COMPARED.fetch_add(1, Ordering::Relaxed);
    let is_made_ahead = number.is_multiple_of(2);
    let texts = tokens.iter().map(Some).collect();
    let vocabulary = Vocabulary::new(texts, vec![], vec![], None).expect("a good vocabulary");
    let recognizer = LexedRecognizer::new(&prepared, vocabulary.size(), &limits).expect("a small grammar");
    let mut made_before = 0;
    if is_made_ahead {
        // The result does not depend on the order.
        let budget = PrecomputeBudget {
            max_states: None,
            is_timed: number.is_multiple_of(4),
            max_bytes: usize::MAX,
            step_time: Duration::from_secs(60),
        };
        recognizer.precompute(&vocabulary, budget, &mut |_, _| true).expect("no limit");
        made_before = recognizer.counts().composed;
    }
    let mut pending: Vec<(Vec<u8>, Option<SetId>)> = vec![(Vec::new(), Some(recognizer.start()))];
    while let Some((text, set)) = pending.pop() {
        let is_complete = set.is_some_and(|set| recognizer.is_complete(set));
        assert_eq!(is_complete, reference.accepts(&text), "text {:?}", String::from_utf8_lossy(&text));
        ACCEPTED.fetch_add(u64::from(is_complete), Ordering::Relaxed);
        if let Some(set) = set {
            check_mask(&recognizer, set, &vocabulary, &text);
            if text.len() <= 3 && !text.is_empty() {
                check_end(&recognizer, set, &text, &reference, alphabet);
            }
        }
        // If the search finds no complete continuation, the oracle checks one more byte only.
        if text.len() < longest && (set.is_some() || text.len() < LONGEST) {
            for &byte in alphabet {
                let next = set.and_then(|set| recognizer.step(set, byte).expect("no limit"));
                pending.push(([&text[..], &[byte]].concat(), next));
            }
        }
    }
    if is_made_ahead && prepared.table().is_some() && definition.indentation.is_none() {
        let made = recognizer.counts().composed;
        assert_eq!(made, made_before, "some masks computed tables that were not precomputed");
    }
}

#[test]
fn blocks_equal_oracle() {
    let terminal = |name: &str, pattern: TerminalPattern, role| TerminalSource {
        name: name.to_owned(),
        pattern,
        priority: 0,
        role,
    };
    let literal = |text: &str| TerminalPattern::Literal(text.as_bytes().to_vec());
    let cases = [
        (LexerKind::Basic, ParserKind::Lalr, r"(\n *)+"),
        (LexerKind::Contextual, ParserKind::Lalr, r"(\n[ \t]*)+"),
        (LexerKind::Basic, ParserKind::Lalr, r"(\n[ \t]*|#)+"),
        (LexerKind::Basic, ParserKind::Earley, r"(\n *)+"),
    ];
    for (lexer, parser, newline) in cases {
        let mut definition = LexedDefinition {
            terminals: vec![
                terminal("X", literal("x"), TerminalRole::Parsed),
                terminal("COLON", literal(":"), TerminalRole::Parsed),
                terminal("OPEN", literal("("), TerminalRole::Parsed),
                terminal("CLOSE", literal(")"), TerminalRole::Parsed),
                terminal("NEWLINE", TerminalPattern::Regex(newline.to_owned()), TerminalRole::Parsed),
                terminal("WS", TerminalPattern::Regex(r"[ \f]+".to_owned()), TerminalRole::Ignored),
                terminal("INDENT", TerminalPattern::Declared, TerminalRole::Parsed),
                terminal("DEDENT", TerminalPattern::Declared, TerminalRole::Parsed),
            ],
            start: "file".to_owned(),
            lexer,
            parser,
            indentation: Some(IndentationSource {
                newline: "NEWLINE".to_owned(),
                indent: "INDENT".to_owned(),
                dedent: "DEDENT".to_owned(),
                tab_length: 2,
                open: vec!["OPEN".to_owned()],
                close: vec!["CLOSE".to_owned()],
            }),
            ..LexedDefinition::default()
        };
        for production in [
            "file",
            "file file NEWLINE",
            "file file statement",
            "statement expression NEWLINE",
            "statement X COLON NEWLINE INDENT block DEDENT",
            "block statement",
            "block block statement",
            "expression X",
            "expression OPEN expression CLOSE",
        ] {
            let mut names = production.split(' ').map(str::to_owned);
            let lhs = names.next().expect("a left side");
            definition.productions.push(ProductionSource { lhs, rhs: names.collect(), priority: 0 });
        }
        let tokens = [
            "x",
            ":",
            "\n",
            " ",
            "(",
            ")",
            "\n ",
            "\n  ",
            "x:\n x",
            "\nx",
            "\n x:\n  x",
            ")\n",
            "  x",
            " \nx",
            "x\n x",
            "x:",
            "\n\n",
            "\n  \n ",
            "(\n",
            "\n)",
            ":\n  x\n x",
            "\n \u{c}\nx",
            "x:\n\tx\n x",
            "#",
            "#\n",
            "x#\n x",
            "\n  x\n",
        ];
        let tokens: Vec<Vec<u8>> = tokens.iter().map(|text| text.as_bytes().to_vec()).collect();
        check(
            &definition,
            &tokens,
            if newline.contains('#') { b"x:\n ()#" } else { b"x:\n (\x0c)" },
            LONGEST_WITH_BLOCKS,
        );
    }
}

/// The mask holds the tokens that can be read byte by byte.
fn check_mask(recognizer: &LexedRecognizer, set: SetId, vocabulary: &Vocabulary, text: &[u8]) {
    let deadline = Deadline::after(Duration::from_secs(60));
    let mut expected = TokenSet::new(vocabulary.size());
    for (id, token) in vocabulary.texts().iter().enumerate() {
        let read = token
            .unwrap_or_default()
            .iter()
            .try_fold(set, |set, &byte| recognizer.step(set, byte).expect("no limit"));
        if read.is_some() {
            expected.insert(grammask::vocabulary::TokenId(id as u32));
        }
    }
    let mask = recognizer.mask(set, vocabulary, &deadline).expect("no limit");
    assert_eq!(*mask, expected, "mask after {:?}", String::from_utf8_lossy(text));
}

/// Asserts that some continuation of the text is accepted.
fn check_end(
    recognizer: &LexedRecognizer,
    set: SetId,
    text: &[u8],
    reference: &LexedReference,
    alphabet: &[u8],
) {
    let mut seen = std::collections::HashSet::from([set]);
    let mut queue = VecDeque::from([(set, text.to_vec())]);
    while let Some((set, text)) = queue.pop_front() {
        if recognizer.is_complete(set) {
            assert!(reference.accepts(&text), "{:?}", String::from_utf8_lossy(&text));
            return;
        }
        for &byte in alphabet {
            if let Some(next) = recognizer.step(set, byte).expect("no limit")
                && seen.insert(next)
            {
                queue.push_back((next, [&text[..], &[byte]].concat()));
            }
        }
        if seen.len() > MAX_SETS {
            ENDLESS.fetch_add(1, Ordering::Relaxed);
            return;
        }
    }
    panic!("{:?} is viable and cannot be completed", String::from_utf8_lossy(text));
}
