//! Property: a text belongs to a grammar through an encoding if and only if its decoded text belongs to the grammar.
//!
//! The oracle of context-free grammars is the product of a decoder and the textbook recogniser of the plain grammar: a
//! token is legal if the complete characters keep a viable prefix, and the incomplete one can become a character that
//! does. The oracle of lexed grammars is the plain reference on the decoded text. The decoders are written plainly.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::generators::lexed::{BLOCK_CASES, blocks_definition, definition, delimited_definition};
use crate::generators::{GrammarSketch, by_profile, config};
use grammask::automata::encoding::{CharacterEncoding, JsonEscapes};
use grammask::grammar::{EmbeddedTexts, Grammar, Terminal};
use grammask::lexing::reference::LexedReference;
use grammask::lexing::{
    IndentationMeasure, LexedDefinition, LexedGrammar, LexedRecognizer, ParserKind, PreparedGrammar,
    TerminalPattern,
};
use grammask::recognizer::reference::{
    Chart, EmbeddedReference, Language, LastPiece, PieceReading, Reference,
};
use grammask::vocabulary::{TokenId, TokenSet, TokenTexts, Vocabulary};
use grammask::{
    CompileOptions, CompiledGrammar, Deadline, EmbeddedGrammar, EndMode, Limits, MaskStrategy, Steps,
};
use proptest::prelude::*;
use proptest::sample::{Index, select};

static COMPARED: AtomicU64 = AtomicU64::new(0);
/// Number of compared masks of context-free grammars.
static CONTEXT_FREE: AtomicU64 = AtomicU64::new(0);
/// Number of compared masks of grammars that embed another.
static EMBEDDING: AtomicU64 = AtomicU64::new(0);
static ACCEPTED: AtomicU64 = AtomicU64::new(0);

/// The beginning of an encoded text.
enum FirstCharacter {
    /// A whole spelling of this length, and what it decodes to. A byte beyond ASCII is a whole spelling.
    Complete(usize, Vec<u8>),
    /// The beginning of a spelling.
    Partial,
    /// Of no spelling.
    Malformed,
}

fn first_character(encoding: &CharacterEncoding, text: &[u8]) -> FirstCharacter {
    use FirstCharacter::{Complete, Malformed, Partial};
    let is_canonical = *encoding == CharacterEncoding::JsonString(JsonEscapes::Canonical);
    match (encoding, text) {
        (_, []) => Partial,
        (CharacterEncoding::LinePrefix(prefix), [b'\n', rest @ ..]) => {
            let prefix = prefix.as_bytes();
            if rest.starts_with(prefix) {
                Complete(1 + prefix.len(), vec![b'\n'])
            } else if prefix.starts_with(rest) {
                Partial
            } else {
                Malformed
            }
        }
        (CharacterEncoding::JsonString(_), [0..=0x1f | b'"', ..]) => Malformed,
        (CharacterEncoding::JsonString(_), [b'\\']) => Partial,
        (CharacterEncoding::JsonString(_), [b'\\', b'u', rest @ ..]) => {
            let digits = &rest[..rest.len().min(4)];
            if !digits.iter().all(u8::is_ascii_hexdigit) {
                return Malformed;
            }
            let text = std::str::from_utf8(digits).expect("ASCII");
            if is_canonical {
                let escapes: Vec<String> = (0_u8..32)
                    .filter(|byte| !matches!(byte, 8 | 9 | 10 | 12 | 13))
                    .map(|byte| format!("{byte:04x}"))
                    .collect();
                let is_begun = escapes.iter().any(|escape| escape.starts_with(text));
                return match u8::from_str_radix(text, 16) {
                    _ if !is_begun => Malformed,
                    Ok(byte) if text.len() == 4 => Complete(6, vec![byte]),
                    _ => Partial,
                };
            }
            let is_high = text.to_ascii_lowercase().starts_with('d')
                && text.chars().nth(1).is_some_and(|digit| "89abAB".contains(digit));
            let is_low = text.to_ascii_lowercase().starts_with('d')
                && text.chars().nth(1).is_some_and(|digit| "cdefCDEF".contains(digit));
            match text.len() {
                _ if is_low => Malformed,
                4 if is_high => low_surrogate(text, &rest[4..]),
                4 => {
                    let code = u32::from_str_radix(text, 16).expect("four digits");
                    Complete(6, char::from_u32(code).expect("no surrogate").to_string().into_bytes())
                }
                _ => Partial,
            }
        }
        (CharacterEncoding::JsonString(_), [b'\\', letter, ..]) => match letter {
            b'/' if is_canonical => Malformed,
            b'"' | b'\\' | b'/' => Complete(2, vec![*letter]),
            b'n' => Complete(2, vec![b'\n']),
            b't' => Complete(2, vec![b'\t']),
            b'r' => Complete(2, vec![b'\r']),
            b'b' => Complete(2, vec![8]),
            b'f' => Complete(2, vec![12]),
            _ => Malformed,
        },
        (CharacterEncoding::IndentedBlock(prefix), [b'\n', rest @ ..]) => {
            let prefix = prefix.text().as_bytes();
            let read = prefix.iter().zip(rest).take_while(|(expected, byte)| expected == byte).count();
            match rest.get(read) {
                _ if read == prefix.len() => Complete(1 + read, vec![b'\n']),
                None => Complete(1 + read, vec![b'\n']),
                // A blank line lacks spaces only.
                Some(b'\n') if prefix[read..].iter().all(|&byte| byte == b' ') => {
                    Complete(1 + read, vec![b'\n'])
                }
                Some(_) => Malformed,
            }
        }
        (_, [byte, ..]) => Complete(1, vec![*byte]),
    }
}

fn low_surrogate(high: &str, text: &[u8]) -> FirstCharacter {
    let expected: [&dyn Fn(u8) -> bool; 6] = [
        &|byte| byte == b'\\',
        &|byte| byte == b'u',
        &|byte| byte.eq_ignore_ascii_case(&b'd'),
        &|byte| b"cdefCDEF".contains(&byte),
        &|byte| byte.is_ascii_hexdigit(),
        &|byte| byte.is_ascii_hexdigit(),
    ];
    if !text.iter().zip(expected).all(|(&byte, is_right)| is_right(byte)) {
        return FirstCharacter::Malformed;
    }
    let Some(low) = text.get(2..6) else { return FirstCharacter::Partial };
    let number = |text: &str| u32::from_str_radix(text, 16).expect("four digits");
    let low = number(std::str::from_utf8(low).expect("ASCII"));
    let code = 0x1_0000 + ((number(high) - 0xd800) << 10) + (low - 0xdc00);
    FirstCharacter::Complete(12, char::from_u32(code).expect("a pair").to_string().into_bytes())
}

/// The decoded text; `None` if a character is malformed or incomplete.
fn decoded(encoding: &CharacterEncoding, text: &[u8]) -> Option<Vec<u8>> {
    let (mut out, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let FirstCharacter::Complete(length, decoded) = first_character(encoding, rest) else { return None };
        out.extend(decoded);
        rest = &rest[length..];
    }
    Some(out)
}

/// Ends of spellings, of which at least one completes each incomplete spelling to each character of the alphabet, and
/// one to another character.
fn ends(encoding: &CharacterEncoding) -> Vec<Vec<u8>> {
    let mut ends: HashSet<Vec<u8>> = HashSet::new();
    match encoding {
        CharacterEncoding::LinePrefix(prefix) => {
            ends.extend((0..=prefix.len()).map(|at| prefix.as_bytes()[at..].to_vec()));
        }
        _ => {
            let letters = b"\"\\/bfnrt".iter().map(|&letter| vec![letter]);
            ends.extend(letters);
            let mut words: Vec<String> = Vec::new();
            for code in [
                "0061",
                "0062",
                "0063",
                "00e9",
                "00E9",
                "4f60",
                "4F60",
                "5a5a",
                "000a",
                "0001",
                "0010",
                "d83d\\ude00",
            ] {
                words.push(format!("u{code}"));
            }
            for word in words {
                ends.extend((0..word.len()).map(|at| word.as_bytes()[at..].to_vec()));
            }
            for digit in b"0123456789abcdef" {
                ends.insert(vec![*digit]);
                ends.insert([&[*digit][..], b"\\ude00"].concat());
                ends.insert([&[*digit][..], b"8\\ude00"].concat());
                ends.insert(vec![*digit, b'8']);
                ends.insert(vec![*digit, b'8', b'8']);
            }
        }
    }
    ends.into_iter().collect()
}

/// The product of a decoder and the textbook recogniser.
#[derive(Clone)]
struct Product<'a> {
    chart: Chart<'a>,
    encoding: &'a CharacterEncoding,
    ends: &'a [Vec<u8>],
    /// The beginning of the next character.
    partial: Vec<u8>,
}

impl Product<'_> {
    /// Appends bytes, if the result is a viable prefix.
    fn accept(&mut self, bytes: &[u8]) -> bool {
        self.partial.extend_from_slice(bytes);
        while !self.partial.is_empty() {
            match first_character(self.encoding, &self.partial) {
                FirstCharacter::Malformed => return false,
                FirstCharacter::Complete(length, character) => {
                    if !self.chart.accept_bytes(&character) {
                        return false;
                    }
                    self.partial.drain(..length);
                }
                FirstCharacter::Partial => {
                    return self.ends.iter().any(|end| {
                        let whole = [&self.partial[..], end].concat();
                        matches!(
                            first_character(self.encoding, &whole),
                            FirstCharacter::Complete(length, character)
                                if length == whole.len() && self.chart.clone().accept_bytes(&character)
                        )
                    });
                }
            }
        }
        true
    }

    fn is_complete(&self) -> bool {
        self.partial.is_empty() && self.chart.is_complete()
    }
}

/// Tokens: characters and spellings, their parts, and sequences of them.
fn vocabulary() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let pieces: Vec<&'static [u8]> = vec![
        b"a",
        b"b",
        b"c",
        "é".as_bytes(),
        "你".as_bytes(),
        b"\xc3",
        b"\xa9",
        b"\xe4",
        b"\xbd\xa0",
        b"\\",
        b"n",
        b"u",
        b"\"",
        b"\\u",
        b"\\u00",
        b"00",
        b"0",
        b"61",
        b"62",
        b"6",
        b"1",
        b"3",
        b"e",
        b"E9",
        b"9",
        b"4f",
        b"60",
        b"0a",
        b"d83d",
        b"ude00",
        b"\\u0061",
        b"\\u4f60",
        b"\\u00e9",
        b"\\n",
        b"\n",
        b"> ",
        b">",
        b" ",
        b"\n> ",
        b"\n>",
    ];
    let singles: Vec<Vec<u8>> = pieces.iter().map(|piece| piece.to_vec()).collect();
    prop::collection::vec(prop::collection::vec(select(pieces), 2..4), 0..20).prop_map(move |longer| {
        let mut tokens = singles.clone();
        tokens.extend(longer.into_iter().map(|pieces| pieces.concat()));
        tokens
    })
}

fn encodings() -> Vec<CharacterEncoding> {
    vec![
        CharacterEncoding::JsonString(JsonEscapes::Any),
        CharacterEncoding::JsonString(JsonEscapes::Canonical),
        CharacterEncoding::LinePrefix("> ".into()),
    ]
}

/// Whether a spelling of a character can be cut by terminals, or tokens decide what is legal.
fn is_outside_the_oracle(grammar: &Grammar) -> bool {
    grammar.terminals().iter().any(|definition| match &definition.terminal {
        Terminal::Literal(word) => std::str::from_utf8(word).is_err(),
        Terminal::Regular(_) | Terminal::Embedded { tokens: None, .. } => false,
        Terminal::Embedded { .. }
        | Terminal::Limited { .. }
        | Terminal::Token(_)
        | Terminal::AnyToken
        | Terminal::OneOf(_) => true,
    })
}

/// The oracle of an embedded grammar.
#[derive(Debug)]
struct PlainOracle<'v> {
    reference: Reference<'v>,
    known: RefCell<HashMap<Vec<u8>, PieceReading>>,
}

impl EmbeddedReference for PlainOracle<'_> {
    fn language(&self) -> Language {
        self.reference.language()
    }

    fn read(&self, pieces: &[&[u8]], _: LastPiece) -> PieceReading {
        let text = pieces.concat();
        if let Some(&known) = self.known.borrow().get(&text) {
            return known;
        }
        let mut chart = self.reference.chart();
        let is_prefix = chart.accept_piece(&text, LastPiece::Ended);
        let reading = PieceReading { is_prefix, is_text: is_prefix && chart.is_complete() };
        self.known.borrow_mut().insert(text, reading);
        reading
    }

    fn min_tokens(&self, _: &[&[u8]]) -> Option<u32> {
        unreachable!("no embedded grammar has a maximum number of tokens")
    }
}

#[test]
fn masks_equal_the_product_of_decoder_and_recogniser() {
    let mut runner = proptest::test_runner::TestRunner::new(config(by_profile(250, 2500)));
    let strategy = (
        prop_oneof![crate::generators::grammar(), crate::generators::embedding_grammar(1, 7)],
        prop::collection::vec(crate::generators::grammar(), 4),
        vocabulary(),
        select(encodings()),
        prop::collection::vec(any::<Index>(), 12),
        select(vec![MaskStrategy::Summaries, MaskStrategy::Walk]),
    );
    let result = runner.run(&strategy, |(sketch, inner, tokens, encoding, walk, masks)| {
        let limits = Limits::default();
        let end = tokens.len() as u32;
        let texts: TokenTexts = tokens.into_iter().map(Some).chain([None]).collect();
        let vocabulary =
            Arc::new(Vocabulary::new(texts, vec![], vec![end], None).expect("a good vocabulary"));
        let inner = inner.iter().map(GrammarSketch::build).find_map(|inner| {
            let embedded = EmbeddedGrammar::context_free(Arc::new(inner.clone()), Vec::new(), &limits);
            (!is_outside_the_oracle(&inner)).then_some((inner, embedded.ok()?))
        });
        let Some((plain_inner, embedded)) = inner else { return Ok(()) };
        let embedded = vec![embedded];
        let texts: Vec<EmbeddedTexts> = embedded.iter().map(EmbeddedGrammar::texts).collect();
        let plain = sketch.without_maxima().build_with(&texts);
        if is_outside_the_oracle(&plain) {
            return Ok(());
        }
        let oracle =
            PlainOracle { reference: Reference::new(&plain_inner, &vocabulary), known: RefCell::default() };
        let reference = Reference::with_embedded(&plain, &vocabulary, vec![Rc::new(oracle)]);
        let embeds = plain
            .terminals()
            .iter()
            .any(|definition| matches!(definition.terminal, Terminal::Embedded { .. }));
        let encoded = grammask::encoded(&plain, &embedded, &encoding, &limits);
        let (encoded, embedded) = encoded.expect("no token is named");
        let mut options = CompileOptions::default();
        options.end = EndMode::Eos;
        options.masks = masks;
        let compiled = CompiledGrammar::with_embedded(&encoded, &embedded, vocabulary.clone(), options);
        let Ok(compiled) = compiled else { return Ok(()) };
        let ends = ends(&encoding);
        let mut product =
            Product { chart: reference.chart(), encoding: &encoding, ends: &ends, partial: Vec::new() };
        let mut matcher = compiled.matcher();
        for index in walk {
            let mut expected = TokenSet::new(vocabulary.size());
            let mut legal = Vec::new();
            for (id, text) in vocabulary.texts().iter().enumerate() {
                let Some(text) = text else { continue };
                let mut next = product.clone();
                if next.accept(text) {
                    expected.insert(TokenId(id as u32));
                    legal.push((id as u32, next));
                }
            }
            if product.is_complete() {
                expected.insert(TokenId(end));
            }
            let found = match matcher.mask() {
                Ok(mask) => mask.iter().collect::<Vec<_>>(),
                Err(_) => Vec::new(),
            };
            let expected: Vec<TokenId> = expected.iter().collect();
            prop_assert_eq!(found, expected, "{:?}", encoding);
            CONTEXT_FREE.fetch_add(1, Ordering::Relaxed);
            EMBEDDING.fetch_add(u64::from(embeds), Ordering::Relaxed);
            if legal.is_empty() {
                break;
            }
            let (token, next) = legal.swap_remove(index.index(legal.len()));
            prop_assert!(matcher.accept(TokenId(token)).expect("no limit"));
            product = next;
        }
        Ok(())
    });
    println!("compared {CONTEXT_FREE:?} masks, {EMBEDDING:?} of grammars that embed another");
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// All texts of at most `longest` pieces: a text is complete if and only if its decoded text is accepted, every prefix of
/// an accepted text is viable, and masks hold the tokens that can be read byte by byte.
fn check_lexed(
    definition: &LexedDefinition,
    encodings: &[CharacterEncoding],
    pieces: &[&str],
    longest: usize,
) {
    let limits = Limits::default();
    let with_tables = LexedDefinition { parser: ParserKind::Lalr, ..definition.clone() };
    let reference = if definition.indentation.is_some() { &with_tables } else { definition };
    let Ok(plain) = LexedGrammar::new(reference, &limits) else { return };
    let Some(reference) = LexedReference::new(&plain, &limits) else { return };
    let definition = LexedDefinition { encodings: encodings.to_vec(), ..definition.clone() };
    let grammar = LexedGrammar::new(&definition, &limits).expect("the plain grammar is good");
    let prepared = PreparedGrammar::new(grammar, &limits);
    let plain_prepared = PreparedGrammar::new(plain, &limits);
    assert_eq!(prepared.is_ok(), plain_prepared.is_ok(), "{:?}", prepared.err());
    let Ok(prepared) = prepared else { return };
    let tokens: Vec<Vec<u8>> = pieces
        .iter()
        .flat_map(|piece| (1..=piece.len()).map(|end| piece.as_bytes()[..end].to_vec()))
        .chain(pieces.windows(2).map(|pair| pair.concat().into_bytes()))
        .chain(pieces.windows(3).map(|pieces| pieces.concat().into_bytes()))
        .chain(pieces.iter().filter(|piece| piece.len() > 2).map(|piece| piece.as_bytes()[2..].to_vec()))
        .collect();
    let texts = tokens.iter().cloned().map(Some).collect();
    let vocabulary = Vocabulary::new(texts, vec![], vec![], None).expect("a good vocabulary");
    let recognizer = LexedRecognizer::new(&prepared, vocabulary.size(), &limits).expect("a small grammar");
    let mut compared = HashSet::new();
    let mut pending = vec![(String::new(), 0, Some(recognizer.start()))];
    while let Some((text, count, set)) = pending.pop() {
        let plain_text = encodings
            .iter()
            .rev()
            .try_fold(text.clone().into_bytes(), |text, encoding| decoded(encoding, &text));
        let is_complete = set.is_some_and(|set| recognizer.is_complete(set));
        let expected = plain_text.is_some_and(|text| reference.accepts(&text));
        assert_eq!(is_complete, expected, "text {text:?} {encodings:?}");
        ACCEPTED.fetch_add(u64::from(is_complete), Ordering::Relaxed);
        if count == longest {
            continue;
        }
        for &piece in pieces {
            let mut next = set;
            for byte in piece.bytes() {
                if let Some(set) = next
                    && compared.insert(set)
                {
                    check_mask(&recognizer, set, &vocabulary, &text);
                }
                next = next.and_then(|set| recognizer.step(set, byte).expect("no limit"));
            }
            pending.push((format!("{text}{piece}"), count + 1, next));
        }
    }
}

fn check_mask(recognizer: &LexedRecognizer, set: grammask::SetId, vocabulary: &Vocabulary, text: &str) {
    let mut expected = TokenSet::new(vocabulary.size());
    for (id, token) in vocabulary.texts().iter().enumerate() {
        let bytes = token.unwrap_or_default();
        if bytes.iter().try_fold(set, |set, &byte| recognizer.step(set, byte).expect("no limit")).is_some() {
            expected.insert(TokenId(id as u32));
        }
    }
    let deadline = Deadline::after(Duration::from_secs(60));
    let mask = recognizer.mask(set, vocabulary, &deadline).expect("no limit");
    assert_eq!(*mask, expected, "mask after {text:?}");
    COMPARED.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn lexed_texts_are_those_that_decode() {
    let json = CharacterEncoding::JsonString(JsonEscapes::Any);
    let mut runner = proptest::test_runner::TestRunner::new(config(150));
    let result = runner.run(&definition(), |definition| {
        check_lexed(
            &definition,
            std::slice::from_ref(&json),
            &["a", "\\u0061", "b", "\\u0062", " ", "\\u0020"],
            4,
        );
        let twice = [json.clone(), json.clone()];
        check_lexed(&definition, &twice, &["a", "\\\\u0061", "b", "\\u005cu0062", " ", "\\u0020"], 3);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(ACCEPTED.load(Ordering::Relaxed) > 1000);
}

#[test]
fn delimited_texts_are_those_that_decode() {
    let json = CharacterEncoding::JsonString(JsonEscapes::Any);
    let mut runner = proptest::test_runner::TestRunner::new(config(60));
    let result = runner.run(&delimited_definition(), |definition| {
        let pieces = ["a", "\\u0061", "b", " ", "(", "\\u0028", ")"];
        check_lexed(&definition, std::slice::from_ref(&json), &pieces, 5);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// A definition with line feeds in the place of `b`.
fn with_line_feeds(mut definition: LexedDefinition) -> LexedDefinition {
    for terminal in &mut definition.terminals {
        match &mut terminal.pattern {
            TerminalPattern::Literal(text) => {
                text.iter_mut().filter(|byte| **byte == b'b').for_each(|byte| *byte = b'\n');
            }
            TerminalPattern::Regex(pattern) => *pattern = pattern.replace('b', "\n"),
            _ => {}
        }
    }
    definition
}

#[test]
fn lines_of_an_indented_block_are_those_that_decode() {
    let json = CharacterEncoding::JsonString(JsonEscapes::Any);
    let mut runner = proptest::test_runner::TestRunner::new(config(by_profile(60, 300)));
    let prefixes = prop::sample::select(vec![" ", "  ", "   ", " b", "b ", "bb  "]);
    let result = runner.run(&(definition(), prefixes), |(definition, prefix)| {
        if definition.lexer.is_dynamic() {
            return Ok(());
        }
        let definition = with_line_feeds(definition);
        let block = CharacterEncoding::indented_block(prefix).expect("a prefix");
        // Shorter texts where there are more pieces.
        let (mark, shorter): (&[&str], usize) = if prefix.trim().is_empty() { (&[], 0) } else { (&["b"], 1) };
        let pieces = [&["a", "\n", " "], mark].concat();
        check_lexed(&definition, std::slice::from_ref(&block), &pieces, 7 - shorter);
        let spelled = [&["a", "\\n", "\\u000a", " "], mark].concat();
        check_lexed(&definition, &[block.clone(), json.clone()], &spelled, 5 - shorter);
        check_lexed(&definition, &[block.clone(), block], &pieces, 7 - shorter);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn columns_are_those_of_the_decoded_text() {
    let json = CharacterEncoding::JsonString(JsonEscapes::Any);
    let quoted = CharacterEncoding::LinePrefix(">  ".into());
    let (most, fewer) = by_profile((6, 5), (7, 6));
    for case in BLOCK_CASES {
        let definition = blocks_definition(case);
        let tabs = if case.newline.contains("\\t") { "\\t" } else { " " };
        check_lexed(
            &definition,
            std::slice::from_ref(&json),
            &["x", ":", "\\n", "\\u000A", " ", "\\u0020", tabs, "(", ")"],
            fewer,
        );
        check_lexed(&definition, std::slice::from_ref(&quoted), &["x", ":", "\n>  ", " ", "(", ")"], most);
        let marked = CharacterEncoding::indented_block(">  ").expect("a prefix");
        check_lexed(&definition, std::slice::from_ref(&marked), &["x", ":", "\n>  ", "\n>", " ", "("], most);
        let block = CharacterEncoding::indented_block("  ").expect("a prefix");
        check_lexed(&definition, std::slice::from_ref(&block), &["x", ":", "\n  ", "\n", " ", "("], most);
        check_lexed(&definition, &[block, json.clone()], &["x", ":", "\\n  ", "\\u000A", " ", ")"], fewer);
        let both = [quoted.clone(), json.clone()];
        check_lexed(&definition, &both, &["x", ":", "\\n>  ", "\\n\\u003e \\u0020", " ", "("], fewer);
    }
}

/// Lines that CPython's tokenizer refuses because of tabs, form feeds, and continued lines: the plain text, and under
/// encodings.
#[test]
fn columns_of_python_are_those_of_the_decoded_text() {
    let json = CharacterEncoding::JsonString(JsonEscapes::Any);
    let block = CharacterEncoding::indented_block("  ").expect("a prefix");
    let eight = " ".repeat(8);
    let (most, fewer) = by_profile((5, 4), (6, 5));
    for case in BLOCK_CASES.into_iter().filter(|case| case.measure == IndentationMeasure::Python) {
        let definition = blocks_definition(case);
        let grammar = LexedGrammar::new(&definition, &Limits::default()).expect("a good grammar");
        PreparedGrammar::new(grammar, &Limits::default()).expect("a good grammar");
        let plain = ["x\n", "x:\n", "\t", " ", &eight, "\u{c}", "\\\n", "#\n"];
        check_lexed(&definition, &[], &plain, most);
        check_lexed(&definition, &[], &["x\n", "x:\n", "\t", " ", "\n", "#\\", "\\"], most);
        let escaped = ["x\\n", "x:\\u000a", "\\t", " ", &eight, "\\f", "\\\\\\n", "\\u005c"];
        check_lexed(&definition, std::slice::from_ref(&json), &escaped, fewer);
        let indented = ["x\n  ", "x:\n  ", "\n", "\t", &eight, "\u{c}", "\\\n  ", "\\\n", "#\\"];
        check_lexed(&definition, std::slice::from_ref(&block), &indented, fewer);
        let both = ["x\\n  ", "x:\\n  ", "\\n", "\\t", &eight, "\\\\\\n  ", "#\\\\", "  "];
        check_lexed(&definition, &[block.clone(), json.clone()], &both, fewer);
    }
}
