//! Property: the masks of batches, drafts and draft trees equal those of single matchers, on one thread and on many.

use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::generators::{Step, by_profile, config};
use grammask::grammar::Code;
use grammask::vocabulary::{Mask, TokenId, TokenSet};
use grammask::{CompileOptions, CompiledGrammar, DraftTree, EndMode, Matcher, batch, frontends};
use proptest::prelude::*;
use proptest::sample::Index;

/// The mask of a matcher; `None` at a dead end.
fn mask(matcher: &Matcher) -> Option<Arc<Mask>> {
    match matcher.mask() {
        Ok(mask) => Some(mask),
        Err(error) => {
            assert_eq!(error.code(), Code::DeadEnd, "{error}");
            None
        }
    }
}

/// All matchers along a walk, each created from the beginning of the text.
fn matchers(compiled: &Arc<CompiledGrammar>, walk: &[Step]) -> Vec<Matcher> {
    let mut passed = vec![compiled.matcher()];
    for step in walk {
        let mut next = passed[passed.len() - 1].clone();
        match step {
            Step::Accept(index) => {
                let Some(allowed) = mask(&next) else { continue };
                let allowed: Vec<TokenId> = allowed.iter().collect();
                if !allowed.is_empty() {
                    assert!(next.accept(*index.get(&allowed)).expect("no limit is exceeded"));
                }
            }
            Step::Rollback(index) => assert!(next.rollback(index.index(next.step_count() + 1))),
            _ => continue,
        }
        passed.push(next);
    }
    passed
}

#[test]
fn batches_equal_single_masks() {
    batch::set_threads(NonZeroUsize::new(4));
    let strategy =
        (crate::generators::grammar(), crate::generators::vocabulary(), crate::generators::walk(14));
    proptest!(config(by_profile(100, 400)), |((grammar, vocabulary, walk) in strategy)| {
        let (grammar, vocabulary) = (grammar.build(), Arc::new(vocabulary.build()));
        let compile = || CompiledGrammar::new(&grammar, vocabulary.clone(), CompileOptions::default());
        let Ok(compiled) = compile() else { return Ok(()) };
        let singles: Vec<_> = matchers(&compiled, &walk).iter().map(mask).collect();
        // The same matchers under a grammar without cached masks.
        let fresh = compile().expect("it compiled before");
        let again = matchers(&fresh, &walk);
        let other = compile().expect("it compiled before");
        let rows: Vec<Matcher> = again
            .iter()
            .map(|matcher| {
                let mut row = other.matcher();
                for token in matcher.tokens() {
                    assert!(row.accept(token).expect("no limit is exceeded"));
                }
                row
            })
            .collect();
        let rows: Vec<&Matcher> = rows.iter().chain(&again).collect();
        let words = TokenSet::word_count(vocabulary.size());
        let mut array = vec![-1_i32; words * rows.len()];
        let mut targets: Vec<&mut [i32]> = array.chunks_exact_mut(words).collect();
        match batch::fill_masks(&rows, &mut targets) {
            Ok(()) => {
                for (row, filled) in array.chunks_exact(words).enumerate() {
                    let single = singles[row % singles.len()].as_ref().expect("no mask is missing");
                    let filled: Vec<u32> = filled.iter().map(|word| word.cast_unsigned()).collect();
                    prop_assert_eq!(&filled[..], single.words());
                }
            }
            Err(error) => {
                prop_assert_eq!(Some(error.row), singles.iter().position(Option::is_none));
                prop_assert!(array.iter().all(|&word| word == -1));
            }
        }
    });
}

/// The tokens of a draft, most of them legal.
fn draft(matcher: &Matcher, choices: &[(Index, bool)]) -> Vec<TokenId> {
    let mut ahead = matcher.clone();
    let size = matcher.compiled().vocabulary().size();
    let mut tokens = Vec::new();
    for (index, is_allowed) in choices {
        let allowed: Vec<TokenId> = mask(&ahead).map_or(Vec::new(), |mask| mask.iter().collect());
        let token = if *is_allowed && !allowed.is_empty() {
            *index.get(&allowed)
        } else {
            TokenId(index.index(size) as u32)
        };
        ahead.accept(token).expect("no limit is exceeded");
        tokens.push(token);
    }
    tokens
}

#[test]
fn drafts_equal_forks() {
    let end = prop_oneof![Just(EndMode::Eos), Just(EndMode::Eager)];
    let choices = prop::collection::vec((any::<Index>(), prop::bool::weighted(0.9)), 0..8);
    let parents = prop::collection::vec(any::<Index>(), 0..12);
    let strategy = (
        crate::generators::grammar(),
        crate::generators::vocabulary(),
        crate::generators::walk(6),
        choices,
        parents,
        end,
    );
    proptest!(config(by_profile(250, 1000)), |((grammar, vocabulary, walk, choices, parents, end) in strategy)| {
        let vocabulary = Arc::new(vocabulary.build());
        let mut options = CompileOptions::default();
        options.end = end;
        let Ok(compiled) = CompiledGrammar::new(&grammar.build(), vocabulary, options) else { return Ok(()) };
        let passed = matchers(&compiled, &walk);
        let matcher = &passed[passed.len() - 1];
        check_draft(matcher, &draft(matcher, &choices));
        check_tree(matcher, &choices, &parents);
        prop_assert_eq!(matcher.tokens(), passed[passed.len() - 1].tokens());
    });
}

fn check_draft(matcher: &Matcher, tokens: &[TokenId]) {
    let mut fork = matcher.clone();
    let mut expected = vec![mask(&fork)];
    for &token in tokens {
        if !fork.accept(token).expect("no limit is exceeded") {
            break;
        }
        expected.push(mask(&fork));
    }
    match matcher.draft_masks(tokens) {
        Ok(masks) => assert_eq!(masks.into_iter().map(Some).collect::<Vec<_>>(), expected),
        Err(error) => assert_eq!(Some(error.row), expected.iter().position(Option::is_none)),
    }
}

/// A random tree: the parent of node `i + 1` is one of the nodes before it.
fn check_tree(matcher: &Matcher, choices: &[(Index, bool)], parents: &[Index]) {
    let mut tokens = vec![TokenId(0)];
    let mut texts = vec![Some(matcher.clone())];
    let (mut next_token, mut next_sibling) = (vec![None; parents.len() + 1], vec![None; parents.len() + 1]);
    for (index, parent) in parents.iter().enumerate() {
        let node = index + 1;
        let parent = parent.index(node);
        let choice = choices.get(index % choices.len().max(1)).copied();
        let before = texts[parent].as_ref().unwrap_or(matcher);
        let token = draft(before, choice.as_slice()).first().copied().unwrap_or(TokenId(0));
        let mut after = texts[parent].clone();
        if let Some(fork) = &mut after
            && !fork.accept(token).expect("no limit is exceeded")
        {
            after = None;
        }
        tokens.push(token);
        texts.push(after);
        next_sibling[node] = next_token[parent].replace(node);
    }
    let tree = DraftTree::new(tokens, &next_token, &next_sibling).expect("this is a tree");
    let expected: Vec<_> = texts.iter().map(|text| text.as_ref().map(mask)).collect();
    match matcher.draft_tree_masks(&tree) {
        Ok(masks) => assert_eq!(masks.into_iter().map(|mask| mask.map(Some)).collect::<Vec<_>>(), expected),
        Err(error) => assert_eq!(expected[error.row], Some(None)),
    }
}

/// Many threads use one compiled grammar in different orders, with the same results as one thread.
#[test]
fn threads_share_a_grammar() {
    let text = r#"
        start ::= value; value ::= object | array | string | number | "true" | "false" | "null";
        object ::= "{" (string ":" value ("," string ":" value)*)? "}";
        array ::= "[" (value ("," value)*)? "]";
        string ::= #'"([^"\\\\]|\\\\["\\\\/bfnrt])*"'; number ::= #"-?(0|[1-9][0-9]*)(\\.[0-9]+)?";
    "#;
    let (grammar, _) = frontends::kbnf::grammar(text.as_bytes(), "start", &grammask::Limits::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let tokens = (b' '..=b'~').map(|byte| vec![byte]);
    let more = ["{\"", "\":", "\",\"", "},{", "[[", "]]", "true", "nul", "12", ".5", "\\\"", "\"}", "é"];
    let texts = tokens.chain(more.map(|text| text.as_bytes().to_vec())).map(Some).chain([None]).collect();
    let eos = (b'~' - b' ') as usize + 1 + more.len();
    let vocabulary = grammask::vocabulary::Vocabulary::new(texts, vec![], vec![eos as u32], None).unwrap();
    let vocabulary = Arc::new(vocabulary);
    let compile = || CompiledGrammar::new(&grammar, vocabulary.clone(), CompileOptions::default()).unwrap();
    let run = |compiled: &Arc<CompiledGrammar>, seed: u64| {
        let mut matcher = compiled.matcher();
        let mut state = seed;
        let mut seen = Vec::new();
        for _ in 0..60 {
            let mask = matcher.mask().expect("no limit is exceeded");
            let allowed: Vec<TokenId> = mask.iter().collect();
            // A linear congruential generator, after Knuth.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let token = allowed[(state >> 33) as usize % allowed.len()];
            assert!(matcher.accept(token).expect("no limit is exceeded"));
            seen.push((token, mask));
            if matcher.is_finished() {
                matcher.reset();
            }
        }
        seen
    };
    let alone = compile();
    let expected: Vec<_> = (0..12).map(|seed| run(&alone, seed)).collect();
    for round in 0..5 {
        let shared = compile();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|thread| {
                    let (shared, run, expected) = (&shared, &run, &expected);
                    scope.spawn(move || {
                        for seed in 0..12 {
                            let seed = (seed + thread * 5 + round) % 12;
                            assert!(run(shared, seed) == expected[seed as usize], "seed {seed}");
                        }
                    })
                })
                .collect();
            for thread in threads {
                thread.join().expect("no thread panics");
            }
        });
    }
}
