//! The automata of leftmost-first matches against a backtracking matcher, on random patterns and all short texts.

use std::rc::Rc;

use grammask_automata::Terms;
use grammask_automata::leftmost_first::{
    CodePointSet, FirstMatchError, FirstMatches, LookCondition, LookDirection, OrderedNodeId, OrderedPattern,
    RepetitionOrder, full_match,
};
use proptest::prelude::*;

/// Maximum length of the texts, which consist of `a` and `ü`.
const MAX_LENGTH: usize = 5;

#[derive(Clone, Copy, Debug)]
struct Bounds {
    min: u32,
    max: Option<u32>,
}

#[derive(Clone, Debug)]
enum Pattern {
    Character(&'static [char]),
    Sequence(Vec<Pattern>),
    Choice(Vec<Pattern>),
    Repeat(Box<Pattern>, Bounds, RepetitionOrder),
    Ahead(Box<Pattern>, LookCondition),
    /// The preceding character.
    Behind(&'static [char], LookCondition),
}

fn characters(pattern: &mut OrderedPattern, set: &[char]) -> OrderedNodeId {
    pattern.characters(CodePointSet::from_ranges(set.iter().map(|&one| (one.into(), one.into()))))
}

fn add(pattern: &mut OrderedPattern, node: &Pattern) -> OrderedNodeId {
    match node {
        Pattern::Character(set) => characters(pattern, set),
        Pattern::Sequence(items) => {
            let items: Vec<OrderedNodeId> = items.iter().map(|item| add(pattern, item)).collect();
            pattern.sequence(&items)
        }
        Pattern::Choice(items) => {
            let items: Vec<OrderedNodeId> = items.iter().map(|item| add(pattern, item)).collect();
            pattern.choice(&items)
        }
        Pattern::Repeat(item, bounds, order) => {
            let item = add(pattern, item);
            pattern.repeat(item, bounds.min, bounds.max, *order)
        }
        Pattern::Ahead(item, condition) => {
            let item = add(pattern, item);
            pattern.look(item, LookDirection::Ahead, *condition)
        }
        Pattern::Behind(set, condition) => {
            let item = characters(pattern, set);
            pattern.look(item, LookDirection::Behind, *condition)
        }
    }
}

/// The remaining work of the matcher: it receives a position and returns the end of the match.
type Continuation<'a> = Rc<dyn Fn(usize) -> Option<usize> + 'a>;

/// The end of the first match of `node` at `position` that the continuation accepts.
fn backtrack<'a>(
    node: &'a Pattern,
    text: &'a [char],
    position: usize,
    then: Continuation<'a>,
) -> Option<usize> {
    match node {
        Pattern::Character(set) => {
            text.get(position).filter(|character| set.contains(character)).and_then(|_| then(position + 1))
        }
        Pattern::Sequence(items) => sequence(items, text, position, then),
        Pattern::Choice(items) => {
            items.iter().find_map(|item| backtrack(item, text, position, Rc::clone(&then)))
        }
        Pattern::Repeat(item, bounds, order) => repeat(item, *bounds, *order, text, position, then),
        Pattern::Ahead(item, condition) => {
            let matches = backtrack(item, text, position, Rc::new(Some)).is_some();
            if matches == (*condition == LookCondition::Match) { then(position) } else { None }
        }
        Pattern::Behind(set, condition) => {
            let matches = position > 0 && set.contains(&text[position - 1]);
            if matches == (*condition == LookCondition::Match) { then(position) } else { None }
        }
    }
}

fn sequence<'a>(
    items: &'a [Pattern],
    text: &'a [char],
    position: usize,
    then: Continuation<'a>,
) -> Option<usize> {
    match items.split_first() {
        None => then(position),
        Some((first, rest)) => {
            backtrack(first, text, position, Rc::new(move |end| sequence(rest, text, end, Rc::clone(&then))))
        }
    }
}

fn repeat<'a>(
    item: &'a Pattern,
    bounds: Bounds,
    order: RepetitionOrder,
    text: &'a [char],
    position: usize,
    then: Continuation<'a>,
) -> Option<usize> {
    let once_more = || {
        let then = Rc::clone(&then);
        let remaining = Bounds { min: bounds.min.saturating_sub(1), max: bounds.max.map(|max| max - 1) };
        let continuation: Continuation<'a> = Rc::new(move |end| {
            // An optional copy that matches the empty text ends the repetition.
            if end == position && bounds.min == 0 {
                return then(end);
            }
            repeat(item, remaining, order, text, end, Rc::clone(&then))
        });
        backtrack(item, text, position, continuation)
    };
    if bounds.min > 0 {
        return once_more();
    }
    if bounds.max == Some(0) {
        return then(position);
    }
    match order {
        RepetitionOrder::Greedy => once_more().or_else(|| then(position)),
        RepetitionOrder::Lazy => then(position).or_else(once_more),
    }
}

fn texts() -> Vec<Vec<char>> {
    let mut texts = vec![Vec::new()];
    let mut next = 0;
    while let Some(text) = texts.get(next).cloned() {
        next += 1;
        if text.len() < MAX_LENGTH {
            texts.extend(['a', 'ü'].map(|character| [&text[..], &[character]].concat()));
        }
    }
    texts
}

/// The length of the longest prefix that satisfies `accepts`.
fn longest(text: &[char], accepts: impl Fn(&str) -> bool) -> Option<usize> {
    (0..=text.len()).rev().find(|&end| accepts(&text[..end].iter().collect::<String>()))
}

fn patterns() -> impl Strategy<Value = Pattern> {
    let sets = prop::sample::select(vec![&['a'][..], &['ü'], &['a', 'ü']]);
    let leaf = prop_oneof![
        8 => sets.clone().prop_map(Pattern::Character),
        1 => Just(Pattern::Sequence(Vec::new())),
    ];
    leaf.prop_recursive(5, 16, 3, move |inner| {
        let order = prop::sample::select(vec![RepetitionOrder::Greedy, RepetitionOrder::Lazy]);
        let condition = prop::sample::select(vec![LookCondition::Match, LookCondition::NoMatch]);
        let bounds =
            prop::sample::select(vec![(0, None), (1, None), (0, Some(1)), (1, Some(2)), (2, Some(2))]);
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 2..4).prop_map(Pattern::Sequence),
            3 => prop::collection::vec(inner.clone(), 2..4).prop_map(Pattern::Choice),
            3 => (inner.clone(), bounds, order)
                .prop_map(|(item, (min, max), order)| Pattern::Repeat(item.into(), Bounds { min, max }, order)),
            1 => (inner.clone(), condition.clone(), inner.clone()).prop_map(|(look, condition, item)| {
                Pattern::Sequence(vec![Pattern::Ahead(look.into(), condition), item])
            }),
            1 => (inner.clone(), condition.clone(), inner.clone()).prop_map(|(item, condition, look)| {
                Pattern::Sequence(vec![item, Pattern::Ahead(look.into(), condition)])
            }),
            1 => (inner.clone(), sets.clone(), condition, inner).prop_map(|(before, set, condition, after)| {
                Pattern::Sequence(vec![before, Pattern::Behind(set, condition), after])
            }),
        ]
    })
}

fn matches(pattern: &Pattern) -> Result<FirstMatches, FirstMatchError> {
    let mut ordered = OrderedPattern::new();
    add(&mut ordered, pattern);
    FirstMatches::new(&ordered)
}

proptest! {
    #[test]
    fn the_longest_word_is_the_match_of_the_backtracking_matcher(pattern in patterns()) {
        let Ok(found) = matches(&pattern) else { return Ok(()) };
        let table = found.automaton.utf8_table();
        for text in texts() {
            let is_violated = found
                .trailing
                .as_ref()
                .is_some_and(|looks| longest(&text, |prefix| looks.violations.accepts(prefix)).is_some());
            if is_violated {
                continue;
            }
            let expected = backtrack(&pattern, &text, 0, Rc::new(Some));
            prop_assert_eq!(longest(&text, |prefix| found.automaton.accepts(prefix)), expected, "{:?}", text);
            let in_table = longest(&text, |prefix| {
                let state = prefix.bytes().try_fold(table.start(), |state, byte| {
                    state.and_then(|state| table.next(state, byte)).map(Some)
                });
                state.flatten().is_some_and(|state| table.is_accepting(state))
            });
            prop_assert_eq!(in_table, expected, "{:?}", text);
        }
    }

    #[test]
    fn full_matches_are_the_texts_that_some_path_spans(pattern in patterns()) {
        let mut ordered = OrderedPattern::new();
        add(&mut ordered, &pattern);
        let mut terms = Terms::new();
        let term = full_match(&mut terms, &ordered).expect("it is within limits");
        for text in texts() {
            let end_of_text = text.len();
            let spans = Rc::new(move |end| (end == end_of_text).then_some(end));
            let expected = backtrack(&pattern, &text, 0, spans).is_some();
            let encoded = text.iter().collect::<String>();
            let rest = encoded.bytes().fold(term, |term, byte| terms.derivative(term, byte));
            prop_assert_eq!(terms.is_nullable(rest), expected, "{:?}", text);
        }
    }

    #[test]
    fn comparisons_agree_with_the_words(left in patterns(), right in patterns()) {
        let (Ok(left), Ok(right)) = (matches(&left), matches(&right)) else { return Ok(()) };
        let words = |matches: &FirstMatches| -> Vec<String> {
            let words = texts().into_iter().map(|text| text.into_iter().collect::<String>());
            words.filter(|word| matches.automaton.accepts(word)).collect()
        };
        let (words, others) = (words(&left), words(&right));
        prop_assert!(left.automaton.includes(&left.automaton));
        if left.automaton.includes(&right.automaton) {
            prop_assert!(others.iter().all(|word| words.contains(word)));
        }
        let begins = |one: &String, other: &String| one.starts_with(&**other) || other.starts_with(&**one);
        if words.iter().any(|word| others.iter().any(|other| begins(word, other))) {
            prop_assert!(left.automaton.overlaps(&right.automaton));
        }
        let relation = left.automaton.relation_to(&right.automaton);
        let is_beyond = |word: &String| others.iter().any(|other| word.starts_with(&**other));
        prop_assert!(relation.has_words_beyond || !words.iter().any(is_beyond));
        prop_assert!(!relation.has_only_words_beyond || words.iter().all(is_beyond));
    }
}

#[test]
fn text_outside_of_the_lexeme_is_an_error() {
    let a = || Pattern::Character(&['a']);
    let cases = [
        (
            Pattern::Sequence(vec![a(), Pattern::Ahead(a().into(), LookCondition::Match)]),
            FirstMatchError::LookAheadAfterEnd,
        ),
        (
            Pattern::Sequence(vec![Pattern::Behind(&['a'], LookCondition::NoMatch), a()]),
            FirstMatchError::LookBehindBeforeStart,
        ),
        (
            Pattern::Ahead(Pattern::Ahead(a().into(), LookCondition::Match).into(), LookCondition::Match),
            FirstMatchError::NestedLook,
        ),
        (
            Pattern::Repeat(
                Pattern::Sequence(Vec::new()).into(),
                Bounds { min: 2, max: None },
                RepetitionOrder::Greedy,
            ),
            FirstMatchError::NullableBoundedRepetition,
        ),
        (
            Pattern::Repeat(a().into(), Bounds { min: 0, max: Some(30_000) }, RepetitionOrder::Greedy),
            FirstMatchError::ProgramTooLarge,
        ),
    ];
    for (pattern, error) in cases {
        assert_eq!(matches(&pattern).err(), Some(error), "{pattern:?}");
    }
}

#[test]
fn deep_patterns_need_no_deep_call_stack() {
    let mut pattern = OrderedPattern::new();
    let mut node = pattern.characters(CodePointSet::from_ranges([('a'.into(), 'a'.into())]));
    for _ in 0..9_000 {
        node = pattern.repeat(node, 0, Some(1), RepetitionOrder::Greedy);
        node = pattern.choice(&[node]);
    }
    let found = FirstMatches::new(&pattern).expect("it is within limits");
    assert!(found.automaton.accepts("") && found.automaton.accepts("a") && !found.automaton.accepts("aa"));
}
