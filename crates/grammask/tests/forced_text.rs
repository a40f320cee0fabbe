//! Property: every continuation begins with the forced text, and the forced tokens are those of a byte pair encoder for
//! every continuation.

use std::convert::Infallible;
use std::sync::Arc;

use crate::generators::{Step, by_profile, config};
use grammask::vocabulary::{TokenId, TokenTexts, Vocabulary};
use grammask::{CompileOptions, CompiledGrammar, EndMode, Limits, Matcher, frontends};
use proptest::prelude::*;
use proptest::sample::Index;

/// Maximum number of requested forced tokens, since this encoder is slow.
const MAX_TOKENS: usize = 6;

/// A byte pair encoder: merges the pair with the lowest rank until no pair remains.
#[derive(Clone, Debug)]
struct BytePairs {
    texts: Vec<Vec<u8>>,
}

impl BytePairs {
    /// The bytes of the alphabet, merges in the order of their ranks, and the other bytes.
    fn new(merges: &[(Index, Index)]) -> Self {
        let alphabet = "abcé你 ";
        let mut texts: Vec<Vec<u8>> = alphabet.bytes().map(|byte| vec![byte]).collect();
        texts.sort();
        texts.dedup();
        for (left, right) in merges {
            let merged = [&left.get(&texts)[..], &right.get(&texts)[..]].concat();
            if merged.len() <= 6 && !texts.contains(&merged) {
                texts.push(merged);
            }
        }
        // A grammar may force a byte outside of the alphabet.
        let other: Vec<Vec<u8>> =
            (0..=u8::MAX).map(|byte| vec![byte]).filter(|byte| !texts.contains(byte)).collect();
        texts.extend(other);
        Self { texts }
    }

    fn encode(&self, text: &str) -> Vec<TokenId> {
        let rank = |text: &[u8]| self.texts.iter().position(|token| token == text);
        let mut parts: Vec<Vec<u8>> = text.bytes().map(|byte| vec![byte]).collect();
        loop {
            let pairs = (1..parts.len()).filter_map(|end| Some((rank(&parts[end - 1..=end].concat())?, end)));
            let Some((_, end)) = pairs.min() else { break };
            let right = parts.remove(end);
            parts[end - 1].extend(right);
        }
        parts.iter().map(|part| TokenId(rank(part).expect("every byte is a token") as u32)).collect()
    }

    fn vocabulary(&self) -> Arc<Vocabulary> {
        let texts: TokenTexts = self.texts.iter().map(Some).chain([None]).collect();
        let eos = self.texts.len() as u32;
        Arc::new(Vocabulary::new(texts, vec![], vec![eos], None).expect("a valid vocabulary"))
    }

    fn forced(&self, matcher: &Matcher) -> Vec<TokenId> {
        let encode = |text: &str| Ok::<_, Infallible>(self.encode(text));
        matcher.forced_tokens_with(MAX_TOKENS, encode).expect("no limit is exceeded")
    }
}

fn compile(text: &str, vocabulary: Arc<Vocabulary>, end: EndMode) -> Arc<CompiledGrammar> {
    let (grammar, _) = frontends::kbnf::grammar(text.as_bytes(), "start", &Limits::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let mut options = CompileOptions::default();
    options.end = end;
    CompiledGrammar::new(&grammar, vocabulary, options).unwrap_or_else(|error| panic!("{error}"))
}

fn words(words: &[&str]) -> BytePairs {
    BytePairs { texts: words.iter().map(|word| word.as_bytes().to_vec()).collect() }
}

#[test]
fn ends_where_characters_end() {
    let bytes: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    let vocabulary = BytePairs { texts: bytes }.vocabulary();
    let forced = |grammar: &str, before: &[u8]| {
        let mut matcher = compile(grammar, vocabulary.clone(), EndMode::Eos).matcher();
        assert!(matcher.accept_bytes(before).unwrap());
        matcher.forced_bytes(100).unwrap()
    };
    // 你 and 佡 begin with the same two bytes.
    assert_eq!(forced("start ::= 'ab' ('你' | '佡') ;", b""), b"ab");
    assert_eq!(forced("start ::= 'ab' ('你' | '佡') ;", b"ab"), b"");
    assert_eq!(forced("start ::= 'ab' ('你' | '佡') ;", b"ab\xe4"), b"");
    assert_eq!(forced("start ::= 'ab' ('你' | '侠') 'c';", b"ab\xe4\xbd"), b"\xa0c");
    // This grammar admits texts that end inside a character.
    assert_eq!(forced("start ::= 'a' '\\b{e4}';", b""), b"a\xe4");
    let mut matcher = compile("start ::= 'a你' ;", vocabulary.clone(), EndMode::Eos).matcher();
    assert_eq!(matcher.forced_bytes(2).unwrap(), b"a");
    for &byte in "a你".as_bytes() {
        assert!(matcher.accept(TokenId(byte.into())).unwrap());
    }
    assert_eq!(matcher.forced_bytes(2).unwrap(), b"");
}

#[test]
fn keeps_only_tokens_that_nothing_can_change() {
    // "cd" merges before "bc", and "bc" before "ab".
    let pairs = words(&["a", "b", "c", "d", " ", "cd", "bc", "ab", " a"]);
    let forced = |grammar: &str| {
        let matcher = compile(grammar, pairs.vocabulary(), EndMode::Eos).matcher();
        let tokens: Vec<&[u8]> =
            pairs.forced(&matcher).iter().map(|id| &pairs.texts[id.index()][..]).collect();
        String::from_utf8(tokens.join(&b'.')).unwrap()
    };
    assert_eq!(forced("start ::= 'abc';"), "a.bc");
    // Another c, which merges with no token, can follow c, so `a.bc` is stable.
    assert_eq!(forced("start ::= 'abc' #'[ac]*';"), "a.bc");
    // If d follows c, the tokens may be a.a.bc or a.ab.cd.
    assert_eq!(forced("start ::= 'aabc' #'d?';"), "a");
    assert_eq!(forced("start ::= 'a ' #'[ab]';"), "a");
    assert_eq!(forced("start ::= 'a ' #'[bc]';"), "a. ");
    assert_eq!(forced("start ::= 'a' | 'b';"), "");
}

#[test]
fn single_tokens_are_forced_too() {
    let texts: TokenTexts = [Some("a"), Some("b"), None, None].into_iter().collect();
    let vocabulary = Vocabulary::new(texts, vec![("<|x|>".to_owned(), 2)], vec![3], None).unwrap();
    let matcher = compile("start ::= 'a' <|x|> 'b';", Arc::new(vocabulary), EndMode::Eos).matcher();
    let encode =
        |text: &str| Ok::<_, Infallible>(text.bytes().map(|b| TokenId(u32::from(b - b'a'))).collect());
    assert_eq!(matcher.forced_bytes(9).unwrap(), b"a");
    let all = [TokenId(0), TokenId(2), TokenId(1)];
    assert_eq!(matcher.forced_tokens_with(9, encode).unwrap(), all);
    assert_eq!(matcher.forced_tokens_with(2, encode).unwrap(), all[..2]);
    assert_eq!(matcher.forced_tokens(9).unwrap(), all);
    // The tokens of a tokenizer that normalises do not spell the text, so the masks decide.
    let upside_down = |_: &str| Ok::<_, Infallible>(vec![TokenId(1)]);
    assert_eq!(matcher.forced_tokens_with(9, upside_down).unwrap(), all);
    assert!(matcher.forced_tokens_with(9, |_| Err("no tokenizer")).is_err());
}

#[test]
fn forced_text_begins_every_continuation() {
    let end = prop_oneof![Just(EndMode::Eos), Just(EndMode::Eager)];
    let strategy = (
        crate::generators::grammar(),
        prop::collection::vec((any::<Index>(), any::<Index>()), 0..24),
        crate::generators::walk(5),
        prop::collection::vec(any::<Index>(), 12),
        end,
    );
    proptest!(config(by_profile(300, 1500)), |((grammar, merges, walk, choices, end) in strategy)| {
        let pairs = BytePairs::new(&merges);
        // If the grammar counts or names tokens, the only token of a mask may be one that a tokenizer would not choose.
        let is_plain = !["any!", "<", "except!"].iter().any(|word| grammar.kbnf().contains(word));
        let mut options = CompileOptions::default();
        options.end = end;
        let Ok(compiled) = CompiledGrammar::new(&grammar.build(), pairs.vocabulary(), options) else {
            return Ok(());
        };
        let mut matcher = compiled.matcher();
        for step in &walk {
            let Ok(mask) = matcher.mask() else { return Ok(()) };
            let allowed: Vec<TokenId> = mask.iter().collect();
            if let Step::Accept(index) = step && !allowed.is_empty() {
                matcher.accept(*index.get(&allowed)).expect("no limit is exceeded");
            }
        }
        let text = matcher.forced_bytes(40).expect("no limit is exceeded");
        prop_assert_eq!(&text, &matcher.forced_bytes(40).expect("no limit is exceeded"), "the memo");
        let tokens = pairs.forced(&matcher);
        // The tokens are legal and spell forced text.
        prop_assert_eq!(matcher.validate(&tokens).expect("no limit is exceeded"), tokens.len());
        let spelled: Vec<u8> = tokens.iter().flat_map(|id| pairs.texts.get(id.index()).cloned().unwrap_or_default()).collect();
        let runs_on_tokens = tokens.len() == MAX_TOKENS || text.len() >= 36;
        prop_assert!(spelled.starts_with(&text) || text.starts_with(&spelled) || runs_on_tokens);
        // A random continuation, byte by byte.
        let mut ahead = matcher.clone();
        let mut continuation = Vec::new();
        for choice in text.iter().map(|_| &choices[0]).chain(&choices) {
            let Ok(mask) = ahead.mask() else { break };
            let single: Vec<TokenId> = mask.iter().filter(|id| pairs.texts.get(id.index()).is_some_and(|text| text.len() == 1)).collect();
            if single.is_empty() || ahead.is_finished() {
                break;
            }
            let token = *choice.get(&single);
            prop_assert!(ahead.accept(token).expect("no limit is exceeded"));
            continuation.extend_from_slice(&pairs.texts[token.index()]);
        }
        let common = text.len().min(continuation.len());
        prop_assert_eq!(&text[..common], &continuation[..common]);
        if is_plain && continuation.len() >= spelled.len() && let Ok(continuation) = std::str::from_utf8(&continuation) {
            let canonical = pairs.encode(continuation);
            prop_assert_eq!(&canonical[..tokens.len()], &tokens[..], "{:?}", continuation);
        }
    });
}
