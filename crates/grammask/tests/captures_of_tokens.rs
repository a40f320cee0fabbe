//! Property: a capture parser with a vocabulary reads the same tokens as the textbook recogniser. For grammars without
//! token terminals its captures are those of the bytes, and an illegal token changes nothing.

use std::sync::Arc;

use crate::generators::{by_profile, config};
use grammask::Limits;
use grammask::captures::{CaptureParse, CaptureParser};
use grammask::frontends::kbnf;
use grammask::grammar::Grammar;
use grammask::recognizer::reference::Reference;
use grammask::vocabulary::{TokenId, TokenTexts, Vocabulary};
use proptest::prelude::*;
use proptest::sample::Index;

/// Maximum number of tokens of a text.
const LENGTH: usize = 7;

proptest! {
    #![proptest_config(config(by_profile(100, 400)))]

    #[test]
    fn tokens_that_the_reference_reads(
        sketch in crate::generators::grammar(),
        words in crate::generators::vocabulary(),
        parts in proptest::collection::vec(any::<Index>(), 1..=3),
        picks in proptest::collection::vec(any::<Index>(), 1..=LENGTH),
    ) {
        compare(&sketch.build(), &Arc::new(words.build()), &parts, &picks)?;
    }
}

fn compare(
    grammar: &Grammar,
    vocabulary: &Arc<Vocabulary>,
    parts: &[Index],
    picks: &[Index],
) -> Result<(), TestCaseError> {
    let names: Vec<&str> =
        grammar.nonterminals().iter().filter(|rule| rule.defined).map(|rule| &*rule.name).collect();
    let mut parts: Vec<&str> = parts.iter().map(|pick| *pick.get(&names)).collect();
    parts.sort_unstable();
    parts.dedup();
    let limits = Limits::default();
    let shared = vocabulary.clone();
    let Ok(parser) = CaptureParser::new(grammar, &[], &parts, Some(shared), &limits) else { return Ok(()) };
    let mut of_bytes = match CaptureParser::new(grammar, &[], &parts, None, &limits) {
        Ok(parser) => Some(parser.parse()?),
        Err(_) => None,
    };
    let reference = Reference::new(grammar, vocabulary);
    let mut chart = reference.chart();
    let mut parse = parser.parse()?;
    let mut text: Vec<TokenId> = Vec::new();
    for pick in picks.iter().map(Some).chain([None]) {
        prop_assert_eq!(parse.is_complete(), chart.is_complete(), "after {:?}", text);
        if let Some(of_bytes) = &of_bytes {
            prop_assert_eq!(parse.growing(), of_bytes.growing(), "growing {:?}", text);
            prop_assert_eq!(parse.whole(), of_bytes.whole(), "{:?}", text);
        }
        let mut allowed = Vec::new();
        for id in (0..vocabulary.size() as u32).map(TokenId).filter(|&id| !vocabulary.is_eos(id)) {
            let can_follow = chart.clone().accept_token(id);
            let mut next = parse.clone();
            prop_assert_eq!(next.feed_tokens(&[id])? == 1, can_follow, "{:?} after {:?}", id, text);
            if !can_follow {
                prop_assert_eq!(next.growing(), parse.growing());
                prop_assert_eq!(next.position(), parse.position());
                prop_assert_eq!(next.is_complete(), parse.is_complete());
            }
            allowed.extend(can_follow.then_some(id));
        }
        let (Some(pick), false) = (pick, allowed.is_empty()) else { break };
        let id = *pick.get(&allowed);
        // A rejected token does not change the later captures.
        for refused in (0..vocabulary.size() as u32).map(TokenId).filter(|id| !vocabulary.is_eos(*id)) {
            if !allowed.contains(&refused) {
                prop_assert_eq!(parse.feed_tokens(&[refused])?, 0);
            }
        }
        text.push(id);
        chart.accept_token(id);
        prop_assert_eq!(parse.feed_tokens(&[id])?, 1);
        if let Some(of_bytes) = &mut of_bytes {
            let bytes = vocabulary.token(id).unwrap_or_default();
            prop_assert_eq!(of_bytes.feed(bytes)?, bytes.len());
        }
    }
    Ok(())
}

fn chat() -> Vocabulary {
    let texts = ["<", "a", "b", "ab", "<think>", ">"];
    let texts: TokenTexts = texts.iter().map(|text| Some(text.as_bytes())).collect();
    let special = vec![("<|call|>".into(), 6), ("<|end|>".into(), 7)];
    Vocabulary::new(texts, special, vec![8], Some(9)).expect("a sound vocabulary")
}

fn parse(text: &str, parts: &[&str]) -> CaptureParse {
    let (grammar, _) = kbnf::grammar(text.as_bytes(), "start", &Limits::default()).expect("a sound grammar");
    let parser = CaptureParser::new(&grammar, &[], parts, Some(Arc::new(chat())), &Limits::default());
    parser.expect("a sound parser").parse().expect("small")
}

fn spans(parse: &CaptureParse) -> Vec<(usize, usize, bool)> {
    parse.growing().iter().map(|capture| (capture.start, capture.end, capture.is_closed)).collect()
}

#[test]
fn special_tokens_take_no_bytes() {
    let grammar = r##"start ::= name <|call|> body <|end|>; name ::= #"[ab]+"; body ::= #"[ab]*";"##;
    let mut parse = parse(grammar, &["name", "body"]);
    let ids = |ids: &[u32]| ids.iter().copied().map(TokenId).collect::<Vec<_>>();
    assert_eq!(parse.feed_tokens(&ids(&[3, 6])), Ok(2));
    assert_eq!(spans(&parse), [(0, 2, true), (2, 2, false)]);
    assert_eq!(parse.feed_tokens(&ids(&[1, 6])), Ok(1), "a second call fits nowhere");
    assert_eq!(parse.feed_tokens(&ids(&[1, 7])), Ok(2));
    assert_eq!(parse.whole().map(|captures| captures.len()), Some(2));
    assert_eq!(spans(&parse), [(0, 2, true), (2, 4, true)]);
    assert_eq!(parse.feed_tokens(&ids(&[8, 8, 1])), Ok(2), "only end tokens follow the end");
    assert_eq!(spans(&parse), [(0, 2, true), (2, 4, true)]);
}

#[test]
fn a_token_is_read_in_both_ways() {
    // By a token terminal it is the mark, and by its bytes a body.
    let grammar = r##"start ::= mark body | body "b"; mark ::= <[4]>; body ::= #"[<>a-z]*";"##;
    let mut parse = parse(grammar, &["mark", "body"]);
    assert_eq!(parse.feed_tokens(&[TokenId(4)]), Ok(1));
    let captures = parse.whole().expect("a mark and an empty body");
    assert_eq!(captures.len(), 2);
    assert_eq!(parse.feed_tokens(&[TokenId(2)]), Ok(1));
    assert_eq!(spans(&parse)[0], (0, 7, true));
}
