//! Property: on random lexed grammars the engine agrees with the oracle.
//!
//! For all texts up to some length, a text is complete in the engine if and only if the oracle accepts it, every
//! prefix of an accepted text is viable, and every viable prefix has a continuation that the oracle accepts. Masks of
//! random vocabularies hold exactly the tokens whose bytes can be read one by one.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::generators::lexed::{BLOCK_CASES, blocks_definition, definition, lexical_definition};
use crate::generators::{by_profile, config};
use grammask::automata::encoding::{CharacterEncoding, JsonEscapes};
use grammask::grammar::Code;
use grammask::lexing::reference::LexedReference;
use grammask::lexing::{
    ConflictPolicy, IndentationMeasure, LexedDefinition, LexedGrammar, LexedRecognizer, ParserKind,
    PreparedGrammar, ProductionSource, TerminalPattern, TerminalRole, TerminalSource,
};
use grammask::vocabulary::{TokenId, TokenSet, Vocabulary};
use grammask::{Deadline, Engine, Limits, MaskSource, PrecomputeBudget, SetId, Steps, SuccessorGroups};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Maximum length of a text, in bytes.
const LONGEST: usize = 5;
/// Maximum length of a text of the grammar with blocks, in bytes.
const LONGEST_WITH_BLOCKS: usize = 8;
/// Maximum number of sets that are searched for a complete continuation.
const MAX_SETS: usize = 60_000;

static MASKS: AtomicU64 = AtomicU64::new(0);
static GROUPED: AtomicU64 = AtomicU64::new(0);
static COMPARED: AtomicU64 = AtomicU64::new(0);
static ACCEPTED: AtomicU64 = AtomicU64::new(0);
static ENDLESS: AtomicU64 = AtomicU64::new(0);
static CONFLICTS: AtomicU64 = AtomicU64::new(0);
static INSEPARABLE: AtomicU64 = AtomicU64::new(0);

/// The texts of a grammar with lexical rules.
pub const WITH_LEXICAL_RULES: TextBounds = TextBounds { longest: 7, longest_illegal: 2, max_pending: 1_500 };

/// The texts that are compared.
#[derive(Clone, Copy)]
pub struct TextBounds {
    /// Maximum length, in bytes.
    longest: usize,
    /// Maximum length of a text that is no viable prefix, in bytes.
    longest_illegal: usize,
    /// Maximum number of texts that wait to be compared; further ones are not extended.
    max_pending: usize,
}

impl TextBounds {
    /// All texts up to a length.
    const fn up_to(longest: usize) -> Self {
        Self { longest, longest_illegal: LONGEST, max_pending: usize::MAX }
    }
}

fn vocabulary() -> impl Strategy<Value = Vec<Vec<u8>>> {
    vec(vec(select(&b"ab "[..]), 1..6), 3..12).prop_map(|mut tokens| {
        tokens.extend([b"a".to_vec(), b"b".to_vec(), b" ".to_vec()]);
        tokens
    })
}

#[test]
fn engine_equals_oracle() {
    let mut runner = proptest::test_runner::TestRunner::new(config(by_profile(500, 3000)));
    let result = runner.run(&(definition(), vocabulary()), |(definition, tokens)| {
        check(&definition, &tokens, b"ab ", TextBounds::up_to(LONGEST));
        Ok(())
    });
    report();
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn lexical_rules_equal_oracle() {
    let token = vec(select(&b"aab ()<>"[..]), 2..6);
    let vocabulary = vec(token, 3..12).prop_map(|mut tokens| {
        tokens.extend(b"ab ()<>".iter().map(|&byte| vec![byte]));
        tokens
    });
    let mut runner = proptest::test_runner::TestRunner::new(config(by_profile(250, 1500)));
    let result = runner.run(&(lexical_definition(), vocabulary), |(definition, tokens)| {
        check(&definition, &tokens, b"ab ()<>", WITH_LEXICAL_RULES);
        Ok(())
    });
    report();
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// The insides of strings and comments over characters beyond ASCII, inside which some tokens begin or end.
#[test]
fn characters_in_lexemes_equal_oracle() {
    const ALPHABET: [u8; 6] = [b'a', b'"', 0xa8, 0xc3, 0xa9, 0xe2];
    let characters = vec(select(&["a", "a", "\"", "é", "è", "\u{2a69}"][..]), 1..6);
    let token =
        (characters, prop_oneof![4 => Just(0), 1 => Just(1)], 0..3_usize).prop_map(|(text, start, cut)| {
            let text = text.concat().into_bytes();
            let end = text.len().saturating_sub(cut).max(1);
            text[if start < end { start } else { 0 }..end].to_vec()
        });
    let vocabulary = vec(token, 30..120).prop_map(|mut tokens| {
        tokens.extend(ALPHABET.map(|byte| vec![byte]));
        tokens
    });
    let inside = select(&["[^\"]*", "[^\"]+", "[^\"é]*", "[^é]*", "[^a\"]*", "[aé]*", "[^\"]*|[^a]*"][..]);
    // A lexeme may end before a byte that begins a character, if another one can begin with this byte.
    let other = prop_oneof![
        Just(None),
        Just(Some(TerminalPattern::Regex("[aé]+".to_owned()))),
        Just(Some(TerminalPattern::Literal(vec![0xc3]))),
    ];
    let texts = (inside, any::<bool>(), other).prop_map(|(inside, is_comment, other)| {
        let close = if is_comment { "" } else { "\"" };
        let first = TerminalPattern::Regex(format!("\"({inside}){close}"));
        let terminals: Vec<TerminalSource> = std::iter::once(first)
            .chain(other)
            .enumerate()
            .map(|(index, pattern)| TerminalSource {
                name: format!("T{index}"),
                pattern,
                priority: 0,
                role: TerminalRole::Parsed,
            })
            .collect();
        let rhs = std::iter::once(vec![])
            .chain(terminals.iter().map(|terminal| vec!["texts".to_owned(), terminal.name.clone()]));
        let productions =
            rhs.map(|rhs| ProductionSource { lhs: "texts".to_owned(), rhs, priority: 0 }).collect();
        LexedDefinition { terminals, productions, start: "texts".to_owned(), ..LexedDefinition::default() }
    });
    let mut runner = proptest::test_runner::TestRunner::new(config(by_profile(50, 200)));
    let result = runner.run(&(texts, vocabulary), |(definition, tokens)| {
        check(&definition, &tokens, &ALPHABET, TextBounds::up_to(LONGEST));
        Ok(())
    });
    report();
    if let Err(error) = result {
        panic!("{error}");
    }
}

fn report() {
    println!(
        "compared {} grammars, {} accepted texts; {} conflicts, {} inseparable, {} prefixes without a complete continuation found",
        COMPARED.load(Ordering::Relaxed),
        ACCEPTED.load(Ordering::Relaxed),
        CONFLICTS.load(Ordering::Relaxed),
        INSEPARABLE.load(Ordering::Relaxed),
        ENDLESS.load(Ordering::Relaxed),
    );
    println!(
        "compared {} masks, and the states after {} tokens in groups",
        MASKS.load(Ordering::Relaxed),
        GROUPED.load(Ordering::Relaxed)
    );
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

/// Compares the texts and the masks of a definition with those of the oracle.
pub fn check(definition: &LexedDefinition, tokens: &[Vec<u8>], alphabet: &[u8], bounds: TextBounds) {
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
    let mut pending: VecDeque<(Vec<u8>, Option<SetId>)> =
        VecDeque::from([(Vec::new(), Some(recognizer.start()))]);
    while let Some((text, set)) = pending.pop_front() {
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
        let max_length = match set {
            Some(_) if pending.len() < bounds.max_pending => bounds.longest,
            _ => bounds.longest_illegal,
        };
        if text.len() < max_length {
            for &byte in alphabet {
                let next = set.and_then(|set| recognizer.step(set, byte).expect("no limit"));
                pending.push_back(([&text[..], &[byte]].concat(), next));
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
    for case in BLOCK_CASES {
        let definition = blocks_definition(case);
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
            "x:\n\t",
            "x\n        x",
            "        ",
            "\\\n",
            "\t\\\n",
            "\n\\\n x",
        ];
        let tokens: Vec<Vec<u8>> = tokens.iter().map(|text| text.as_bytes().to_vec()).collect();
        check(
            &definition,
            &tokens,
            match (case.measure, case.newline.contains('#')) {
                (IndentationMeasure::Columns { .. }, false) => b"x:\n (\x0c)",
                (IndentationMeasure::Columns { .. }, true) => b"x:\n ()#",
                (IndentationMeasure::Python, false) => b"x:\n \t\x0c\\",
                (IndentationMeasure::Python, true) => b"x:\n \t#\\",
            },
            TextBounds::up_to(by_profile(LONGEST_WITH_BLOCKS - 1, LONGEST_WITH_BLOCKS)),
        );
    }
}

#[test]
fn encoded_blocks_equal_oracle() {
    let json = CharacterEncoding::JsonString(JsonEscapes::Canonical);
    let quoted = CharacterEncoding::LinePrefix(">".into());
    for case in BLOCK_CASES {
        let plain = blocks_definition(case);
        let tokens = [
            "\\", "n", "x", ":", " ", "(", ")", ">", "\n", "\\n ", "\n> ", "n x", ":\\n", ":\n> x", "\\n\\n",
            ">\n>",
        ];
        let tokens: Vec<Vec<u8>> = tokens.iter().map(|text| text.as_bytes().to_vec()).collect();
        let definition = LexedDefinition { encodings: vec![json.clone()], ..plain.clone() };
        check(&definition, &tokens, b"x:\\n ()", TextBounds::up_to(LONGEST_WITH_BLOCKS - 1));
        let definition = LexedDefinition { encodings: vec![quoted.clone()], ..plain.clone() };
        check(&definition, &tokens, b"x:\n >()", TextBounds::up_to(LONGEST_WITH_BLOCKS - 1));
        let tokens = ["x", ":", " ", "(", ")", "\n", "\n  ", "\n\n", ":\n", ":\n\n  ", "  x", " \n", "x\n\n"];
        let tokens: Vec<Vec<u8>> = tokens.iter().map(|text| text.as_bytes().to_vec()).collect();
        let encodings = vec![CharacterEncoding::indented_block("  ").expect("a prefix")];
        let definition = LexedDefinition { encodings, ..plain.clone() };
        check(&definition, &tokens, b"x:\n ()", TextBounds::up_to(LONGEST_WITH_BLOCKS));
        let tokens =
            ["x", ":", " ", "(", ")", "\n", ">", "\n> ", "\n>\n", ":\n", ":\n>\n> ", "> x", ">\n", "x\n>\n"];
        let tokens: Vec<Vec<u8>> = tokens.iter().map(|text| text.as_bytes().to_vec()).collect();
        let encodings = vec![CharacterEncoding::indented_block("> ").expect("a prefix")];
        let definition = LexedDefinition { encodings, ..plain };
        check(&definition, &tokens, b"x:\n >()", TextBounds::up_to(LONGEST_WITH_BLOCKS - 1));
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
            expected.insert(TokenId(id as u32));
        }
    }
    let mask = recognizer.mask(set, vocabulary, &deadline).expect("no limit");
    MASKS.fetch_add(1, Ordering::Relaxed);
    assert_eq!(*mask, expected, "mask after {:?}", String::from_utf8_lossy(text));
    let groups = recognizer.successor_groups(set, vocabulary, &deadline).expect("no limit");
    let prepared = recognizer.prepared();
    assert_eq!(groups.is_some(), prepared.table().is_some() && !prepared.source().has_delimited_terminals());
    if let Some(groups) = groups {
        GROUPED.fetch_add(check_groups(recognizer, set, vocabulary, groups), Ordering::Relaxed);
    }
}

/// Compares the states after the tokens of groups with those after their bytes; returns the number of these tokens.
pub fn check_groups(
    engine: &dyn Engine,
    set: SetId,
    vocabulary: &Vocabulary,
    SuccessorGroups { groups, others }: SuccessorGroups,
) -> u64 {
    let mut grouped = HashMap::new();
    for (next, tokens) in groups {
        for token in tokens.iter() {
            assert!(grouped.insert(token, next).is_none(), "token {} is in two groups", token.0);
        }
    }
    for (id, token) in vocabulary.texts().iter().enumerate() {
        let Some(token) = token else { continue };
        let id = TokenId(id as u32);
        let read = token.iter().try_fold(set, |set, &byte| engine.step(set, byte).expect("no limit"));
        match others.contains(&id) {
            true => assert!(!grouped.contains_key(&id), "token {token:?} is in a group"),
            false => assert_eq!(grouped.get(&id).copied(), read, "the state after {token:?}"),
        }
    }
    grouped.len() as u64
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
