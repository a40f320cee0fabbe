//! Property: shortest completions equal breadth-first searches over the steps of the engine, and their bounds hold.
//!
//! Along walks through random grammars, the completion of each state is compared with a search over the bytes that are
//! tokens by themselves, and over the tokens that the grammar names: its length and its first step. The bounds are
//! compared with the completions of all states of the walk.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use grammask::automata::{Automata, ByteSet, ShortestWords};
use grammask::frontends::json_schema::{self, KeyOrder, SchemaOptions, Whitespace};
use grammask::frontends::kbnf;
use grammask::grammar::{Grammar, Terminal};
use grammask::lexing::LexedGrammar;
use grammask::vocabulary::{TokenId, TokenTexts, Vocabulary};
use grammask::{
    CompileOptions, CompiledGrammar, CompletionStep, Deadline, EmbeddedGrammar, Engine, Limits, Reach, SetId,
    ShortestCompletion, TokenEvent,
};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;

/// Maximum number of states of one search.
const MAX_STATES: usize = 400;

/// Maximum length of the completions that are followed to their end: nested repetitions have long ones.
const MAX_FOLLOWED: u32 = 300;

/// Numbers of compared completions, of those without one, and of states for which a bound over all states, and over
/// the next states, was compared.
static COMPARED: AtomicU64 = AtomicU64::new(0);
static ENDLESS: AtomicU64 = AtomicU64::new(0);
static BOUNDED: AtomicU64 = AtomicU64::new(0);
static GROWN: AtomicU64 = AtomicU64::new(0);

/// All kinds of recursion, nesting and counters.
const NESTED: [&str; 14] = [
    r#"start ::= "(" start ")" | "x";"#,
    r#"start ::= value; value ::= "[" [value {"," value}] "]" | "{" ["k" ":" value {"," "k" ":" value}] "}" | "1";"#,
    r#"start ::= list; list ::= list "," item | item; item ::= "a" | "bbb" | "c" "d" "e";"#,
    r#"start ::= start start | "a";"#,
    r#"start ::= start "+" start | start "*" start | "(" start ")" | "1";"#,
    r#"start ::= a; a ::= b "x" | "a" | "(" a ")"; b ::= c "y" | "b"; c ::= a "z" | "[" b "]";"#,
    r#"start ::= a; a ::= b "xxxx" | "a"; b ::= c "y" | "bb"; c ::= a "zzz" | "c";"#,
    r#"start ::= [start] start "x" | "y" | "(" start ")";"#,
    // Two readings of different depths.
    r#"start ::= p | q; p ::= "(" p ")" | "x"; q ::= "(" q ")))" | "y";"#,
    r#"start ::= p | q; p ::= "(" p ")" | x; q ::= "(" q ")))" | x; x ::= "x" | "y" x "z";"#,
    r#"start ::= u{2,5} | "(" start ")"; u ::= "a" u "b" | "c";"#,
    r#"start ::= u{3,} ";"; u ::= "a" [u] "bb" | v{2,4}; v ::= "c" | "d" "e";"#,
    // Texts that never end.
    r#"start ::= "a" start | "b" x; x ::= "c" x | "d" "e";"#,
    r#"start ::= "a" x | "b" y; x ::= "c" x; y ::= "d" | "c" y "c";"#,
];

#[test]
fn completions_of_random_grammars() {
    let strategy = (crate::generators::grammar(), crate::generators::vocabulary(), choices(24));
    run(500, strategy, |(grammar, vocabulary, choices)| {
        check(&grammar.build(), vocabulary.build(), &choices)
    });
}

#[test]
fn completions_of_tokens() {
    let strategy = (crate::generators::token_grammar(), crate::generators::vocabulary(), choices(24));
    run(300, strategy, |(grammar, vocabulary, choices)| {
        check(&grammar.build(), vocabulary.build(), &choices)
    });
}

#[test]
fn completions_of_counted_tokens() {
    let strategy = (crate::generators::counting_grammar(), crate::generators::vocabulary(), choices(24));
    run(300, strategy, |(grammar, vocabulary, choices)| {
        check(&grammar.build(), vocabulary.build(), &choices)
    });
}

#[test]
fn completions_of_nested_grammars() {
    let letters: Vec<u8> = b"()[]{},:;+*01abcdexyzk".to_vec();
    let count = letters.len();
    let vocabulary = proptest::sample::subsequence(letters, count - 1..=count);
    run(400, (select(&NESTED[..]), vocabulary, choices(40)), |(grammar, letters, choices)| {
        let (grammar, _) = kbnf::grammar(grammar.as_bytes(), "start", &Limits::default())
            .unwrap_or_else(|error| panic!("{error}"));
        let words = ["((", "(((", "x)", "1,", "[[", "{k:", "aa", ")))"].map(|word| word.as_bytes().to_vec());
        let texts = letters.into_iter().map(|letter| vec![letter]).chain(words);
        let texts: TokenTexts = texts.map(Some).chain([None]).collect();
        let end = texts.len() as u32 - 1;
        check(&grammar, Vocabulary::new(texts, vec![], vec![end], None).expect("a vocabulary"), &choices);
    });
}

/// Members in any order, dependent members and numbers of members are selections.
#[test]
fn completions_of_selections() {
    let names = ["a", "b", "ab", "c"];
    let indices = |most: usize| proptest::collection::vec(0..names.len(), 0..=most);
    let values = select(&["1", "true", "[2,3]", "\"long\""][..]);
    let strategy = (
        proptest::collection::vec(values, names.len()),
        indices(2),
        proptest::collection::vec((0..names.len(), indices(2)), 0..4),
        proptest::option::of((0..4_u32, 0..4_u32)),
        any::<(bool, bool)>(),
        choices(40),
    );
    run(200, strategy, |(values, required, needs, bounds, (any_order, open), choices)| {
        let list = |indices: &[usize]| {
            let names: Vec<String> = indices.iter().map(|&index| format!("{:?}", names[index])).collect();
            format!("[{}]", names.join(", "))
        };
        let members: Vec<String> = names
            .iter()
            .zip(&values)
            .map(|(name, value)| format!("{name:?}: {{\"const\": {value}}}"))
            .collect();
        let mut schema = format!(
            "\"type\": \"object\", \"properties\": {{{}}}, \"required\": {}, \"additionalProperties\": {open}",
            members.join(", "),
            list(&required)
        );
        let needs: std::collections::BTreeMap<usize, Vec<usize>> = needs.into_iter().collect();
        let needs: Vec<String> =
            needs.iter().map(|(&index, needed)| format!("{:?}: {}", names[index], list(needed))).collect();
        schema += &format!(", \"dependentRequired\": {{{}}}", needs.join(", "));
        if let Some((least, more)) = bounds {
            schema += &format!(", \"minProperties\": {least}, \"maxProperties\": {}", least + more);
        }
        let mut options = SchemaOptions::default();
        options.whitespace = Whitespace::Compact;
        options.key_order = if any_order { KeyOrder::Any } else { KeyOrder::Declared };
        let Ok(made) = json_schema::grammar(&format!("{{{schema}}}"), &options, &Limits::default()) else {
            return;
        };
        let texts: TokenTexts = (32..127_u8).map(|byte| Some(vec![byte])).chain([None]).collect();
        let end = texts.len() as u32 - 1;
        check(
            &made.grammar,
            Vocabulary::new(texts, vec![], vec![end], None).expect("a vocabulary"),
            &choices,
        );
    });
}

/// Embedded grammars: a lexed one, and a context-free one that embeds it.
#[test]
fn completions_of_embedded_grammars() {
    let strategy = (
        proptest::collection::vec(crate::generators::lexed::definition(), 4),
        crate::generators::embedding_grammar(1, 7),
        crate::generators::embedding_grammar(2, 7),
        crate::generators::lexed::vocabulary(),
        choices(24),
    );
    run(500, strategy, |(definitions, middle, outer, vocabulary, choices)| {
        let limits = Limits::default();
        let lexed = definitions.iter().find_map(|definition| {
            EmbeddedGrammar::lexed(LexedGrammar::new(definition, &limits).ok()?, &limits).ok()
        });
        let Some(lexed) = lexed else { return };
        let middle = middle.without_maxima().build_with(&[lexed.texts()]);
        let middle = EmbeddedGrammar::context_free(Arc::new(middle), vec![lexed.clone()], &limits);
        let embedded = [lexed.clone(), middle.unwrap_or(lexed)];
        let texts = embedded.each_ref().map(EmbeddedGrammar::texts);
        // All bytes of the grammars, so that every state that has a completion has one that can be spelled.
        let bytes = "ab cé你".bytes().map(|byte| Some(vec![byte])).chain([Some(vec![0xff])]);
        let end = vocabulary.texts.len() - 1;
        let texts_of_tokens: TokenTexts =
            vocabulary.texts[..end].iter().cloned().chain(bytes).chain([None]).collect();
        let end = texts_of_tokens.len() as u32 - 1;
        let vocabulary = Vocabulary::new(texts_of_tokens, vec![], vec![end], None).expect("a vocabulary");
        let outer = outer.without_maxima().build_with(&texts);
        check_embedding(&outer, &embedded, vocabulary, &choices);
    });
}

/// Every terminal that counts tokens can be ended with the tokens that are left, along the shortest completions.
#[test]
fn counted_tokens_suffice_for_completions() {
    let strategy = (crate::generators::counting_grammar(), crate::generators::vocabulary(), choices(24));
    run(1000, strategy, |(grammar, vocabulary, choices)| {
        check_spelling(&grammar.build(), vocabulary.build(), &choices)
    });
}

/// Left recursion and repetition are no nesting, and nesting costs its closing brackets.
#[test]
fn bounds_are_tight() {
    let bytes: TokenTexts = (0..=255_u8).map(|byte| Some(vec![byte])).chain([None]).collect();
    let vocabulary = Arc::new(Vocabulary::new(bytes, vec![], vec![256], None).expect("a vocabulary"));
    let bounds = |grammar: &str| {
        let (grammar, _) = kbnf::grammar(grammar.as_bytes(), "start", &Limits::default()).expect("a grammar");
        let compiled = CompiledGrammar::new(&grammar, vocabulary.clone(), CompileOptions::default());
        let cache = compiled.expect("compiles").cache();
        let engine = cache.engine();
        let deadline = Deadline::after(Limits::default().time);
        let after = [100, 200].map(|bytes| {
            let bound =
                engine.longest_completion_after(engine.start(), Reach::Bytes(bytes), &vocabulary, &deadline);
            bound.expect("within the limits")
        });
        (engine.longest_shortest_completion(&vocabulary).expect("within the limits"), after)
    };
    // Inside `bbb` and `cde`.
    assert_eq!(bounds(NESTED[2]), (Some(2), [Some(2); 2]));
    assert_eq!(bounds(r#"start ::= #"[a-z]+" {"," #"[a-z]+"};"#), (Some(1), [Some(1); 2]));
    assert_eq!(bounds(r#"start ::= "[" #"[a-z]"{3,40} "]";"#), (Some(5), [Some(5); 2]));
    let (longest, [hundred, two_hundred]) = bounds(NESTED[0]);
    assert_eq!((longest, two_hundred), (None, hundred.map(|bound| bound + 100)));
    assert!(hundred.is_some_and(|bound| (100..105).contains(&bound)), "{hundred:?}");
    let (longest, [hundred, two_hundred]) = bounds(NESTED[1]);
    assert_eq!((longest, two_hundred), (None, hundred.map(|bound| bound + 100)));
    assert!(hundred.is_some_and(|bound| (100..120).contains(&bound)), "{hundred:?}");
    // A state may be followed by one without a completion.
    assert_eq!(bounds(r#"start ::= "a" start | "b" x; x ::= "c" x;"#).0, None);
}

#[test]
fn deep_nesting_and_long_counts() {
    let bytes: TokenTexts = (0..=255_u8).map(|byte| Some(vec![byte])).chain([None]).collect();
    let vocabulary = Arc::new(Vocabulary::new(bytes, vec![], vec![256], None).expect("a vocabulary"));
    let grammar = r##"start ::= "[" start "]" | "{" start "}" | x{100000,200000} ";"; x ::= "a" | "b" "c";"##;
    let (grammar, _) = kbnf::grammar(grammar.as_bytes(), "start", &Limits::default()).expect("a grammar");
    let compiled =
        CompiledGrammar::new(&grammar, vocabulary.clone(), CompileOptions::default()).expect("compiles");
    let cache = compiled.cache();
    let engine = cache.engine();
    let deadline = Deadline::after(Limits::default().time);
    let completion =
        |set| engine.shortest_completion(set, &vocabulary, &deadline).expect("within the limits");
    let mut set = engine.start();
    for depth in 0..20_000 {
        let first = Some(CompletionStep::Byte(b'a'));
        if depth % 1000 == 0 {
            assert_eq!(completion(set), Some(ShortestCompletion { length: 100_001 + depth, first }));
        }
        set = engine.step(set, b"[{"[depth as usize % 2]).expect("within the limits").expect("legal");
    }
    let inside = engine.step(set, b'b').expect("within the limits").expect("legal");
    let first = Some(CompletionStep::Byte(b'c'));
    assert_eq!(completion(inside), Some(ShortestCompletion { length: 120_001, first }));
}

fn choices(max: usize) -> impl Strategy<Value = Vec<u16>> {
    proptest::collection::vec(any::<u16>(), 1..=max)
}

fn run<S: Strategy>(cases: u32, strategy: S, check: impl Fn(S::Value)) {
    let mut runner = TestRunner::new(crate::generators::config(cases));
    let result = runner.run(&strategy, |values| {
        check(values);
        Ok(())
    });
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    println!(
        "{} completions, {} states without one, {} bounds, {} bounds after tokens",
        count(&COMPARED),
        count(&ENDLESS),
        count(&BOUNDED),
        count(&GROWN)
    );
    result.unwrap_or_else(|error| panic!("{error}"));
    assert!(count(&COMPARED) > u64::from(cases));
}

/// The states of an engine as a graph whose edges are steps of completions.
struct StateGraph<'a> {
    engine: &'a dyn Engine,
    vocabulary: &'a Vocabulary,
    successors: HashMap<SetId, Vec<(CompletionStep, SetId)>>,
}

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Searched {
    Length(u32),
    NoCompletion,
    /// The search was stopped; all shorter completions are excluded.
    AtLeast(u32),
}

impl StateGraph<'_> {
    /// The steps from a state, bytes first, in ascending order.
    fn successors(&mut self, set: SetId) -> Vec<(CompletionStep, SetId)> {
        if let Some(known) = self.successors.get(&set) {
            return known.clone();
        }
        let Self { engine, vocabulary, .. } = *self;
        let mut successors = Vec::new();
        for byte in 0..=u8::MAX {
            if !vocabulary.ids_of(&[byte]).is_empty()
                && let Some(next) = engine.step(set, byte).expect("within the limits")
            {
                successors.push((CompletionStep::Byte(byte), next));
            }
        }
        if !engine.token_matches(set).expect("within the limits").is_empty() {
            for id in (0..vocabulary.size() as u32).map(TokenId) {
                let event = TokenEvent { id, has_text: vocabulary.token(id).is_some() };
                if let Some(next) = engine.step_token(set, event).expect("within the limits") {
                    successors.push((CompletionStep::Token(id), next));
                }
            }
        }
        self.successors.insert(set, successors.clone());
        successors
    }

    fn search(&mut self, set: SetId, max: u32) -> Searched {
        let mut lengths = HashMap::from([(set, 0)]);
        let mut queue = VecDeque::from([set]);
        while let Some(set) = queue.pop_front() {
            let length = lengths[&set];
            if self.engine.is_complete(set) {
                return Searched::Length(length);
            }
            if length == max || lengths.len() > MAX_STATES {
                return Searched::AtLeast(length);
            }
            for (_, next) in self.successors(set) {
                lengths.entry(next).or_insert_with(|| {
                    queue.push_back(next);
                    length + 1
                });
            }
        }
        Searched::NoCompletion
    }
}

fn check(grammar: &Grammar, vocabulary: Vocabulary, choices: &[u16]) {
    check_embedding(grammar, &[], vocabulary, choices);
}

/// As [`check`], for a grammar that embeds others.
fn check_embedding(grammar: &Grammar, embedded: &[EmbeddedGrammar], vocabulary: Vocabulary, choices: &[u16]) {
    let vocabulary = Arc::new(vocabulary);
    let options = CompileOptions::default();
    let compiled = CompiledGrammar::with_embedded(grammar, embedded, vocabulary.clone(), options);
    let Ok(compiled) = compiled else { return };
    let cache = compiled.cache();
    let engine = cache.engine();
    let deadline = Deadline::after(Limits::default().time);
    let mut graph = StateGraph { engine, vocabulary: &vocabulary, successors: HashMap::new() };
    let longest = engine.longest_shortest_completion(&vocabulary).expect("within the limits");
    let mut set = engine.start();
    for &choice in choices {
        compare(&mut graph, set, &deadline);
        let own = check_length(&graph, set, longest, &deadline);
        let rest = usize::from(choice / 2);
        let next = if choice % 2 == 0 {
            let bytes = engine.byte_of_class().iter().copied();
            let next: Vec<SetId> =
                bytes.filter_map(|byte| engine.step(set, byte).expect("within the limits")).collect();
            (!next.is_empty()).then(|| (None, 1, next[rest % next.len()]))
        } else {
            let mut next = Vec::new();
            for id in (0..vocabulary.size() as u32).map(TokenId) {
                let bytes = vocabulary.token(id);
                let event = TokenEvent { id, has_text: bytes.is_some() };
                let after = engine.read_token(set, event, bytes, &deadline).expect("within the limits");
                next.extend(after.map(|after| (Some(id), bytes.map_or(1, <[u8]>::len), after)));
            }
            (!next.is_empty()).then(|| next[rest % next.len()])
        };
        let Some((token, bytes, next)) = next else { return };
        let bound_within = |reach| {
            engine.longest_completion_after(set, reach, &vocabulary, &deadline).expect("within the limits")
        };
        let bound = bound_within(Reach::Bytes(bytes));
        let after = check_length(&graph, next, longest, &deadline);
        if let Some(bound) = bound {
            let description = || format!("{}\n{}", engine.describe(set), engine.describe(next));
            assert!(
                after.is_some_and(|after| after <= bound),
                "{own:?}, {after:?}, {bound}: {}",
                description()
            );
            GROWN.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(token) = token
            && let Some(growths) = engine.token_growths(&vocabulary, &deadline).expect("within the limits")
            && let Some(bound) = bound_within(Reach::Token)
        {
            let growth = growths.positive().iter().find(|growth| growth.token == token);
            let bound = bound + growth.map_or(0, |growth| growth.bytes);
            assert!(
                after.is_some_and(|after| after <= bound),
                "{after:?}, {bound}: {}",
                engine.describe(next)
            );
            GROWN.fetch_add(1, Ordering::Relaxed);
        }
        set = next;
    }
}

/// The length of the completion of a state, which is compared with the bound over all states.
fn check_length(
    graph: &StateGraph<'_>,
    set: SetId,
    longest: Option<u32>,
    deadline: &Deadline,
) -> Option<u32> {
    let found = graph.engine.shortest_completion(set, graph.vocabulary, deadline).expect("within the limits");
    let length = found.map(|completion| completion.length);
    if let Some(longest) = longest {
        assert!(length.is_some_and(|length| length <= longest), "{length:?}, {longest}");
        BOUNDED.fetch_add(1, Ordering::Relaxed);
    }
    length
}

/// Compares the completion of a state with a search, and follows it to its end.
fn compare(graph: &mut StateGraph<'_>, set: SetId, deadline: &Deadline) {
    let engine = graph.engine;
    let complete =
        |set| engine.shortest_completion(set, graph.vocabulary, deadline).expect("within the limits");
    let found = complete(set);
    let mut next = (set, found.filter(|found| found.length <= MAX_FOLLOWED));
    while let (current, Some(ShortestCompletion { length, first })) = next {
        assert_eq!(first.is_none(), engine.is_complete(current));
        assert_eq!(first.is_none(), length == 0);
        let after = match first {
            None => break,
            Some(CompletionStep::Byte(byte)) => engine.step(current, byte),
            Some(CompletionStep::Token(id)) => {
                engine.step_token(current, TokenEvent { id, has_text: graph.vocabulary.token(id).is_some() })
            }
        };
        let after = after.expect("within the limits").expect("the first step is legal");
        let rest = complete(after);
        assert_eq!(rest.map(|rest| rest.length), Some(length - 1), "{}", engine.describe(current));
        next = (after, rest);
    }
    COMPARED.fetch_add(1, Ordering::Relaxed);
    let searched = graph.search(set, u32::MAX);
    let describe = || engine.describe(set);
    match (searched, found) {
        (Searched::NoCompletion, None) => {
            ENDLESS.fetch_add(1, Ordering::Relaxed);
        }
        (Searched::AtLeast(least), found) => {
            assert!(found.is_none_or(|found| found.length >= least), "{found:?}, {least}: {}", describe());
        }
        (Searched::Length(0), Some(found)) => assert_eq!(found.length, 0, "{}", describe()),
        (Searched::Length(length), Some(found)) if length == found.length => {
            let mut successors = graph.successors(set).into_iter();
            let mut is_decided = true;
            let first = successors.find(|&(_, next)| {
                let rest = graph.search(next, length - 1);
                // A search that was stopped early does not exclude that its step is the first one.
                is_decided &= !matches!(rest, Searched::AtLeast(least) if least < length);
                is_decided && rest == Searched::Length(length - 1)
            });
            if is_decided {
                assert_eq!(found.first, first.map(|(step, _)| step), "{}", describe());
            }
        }
        _ => panic!("{searched:?} is not {found:?}: {}", describe()),
    }
}

/// Walks over tokens. From each state some token must begin the completion and lead to a state of which the rest is a
/// completion.
fn check_spelling(grammar: &Grammar, vocabulary: Vocabulary, choices: &[u16]) {
    let vocabulary = Arc::new(vocabulary);
    let Ok(compiled) = CompiledGrammar::new(grammar, vocabulary.clone(), CompileOptions::default()) else {
        return;
    };
    let cache = compiled.cache();
    let engine = cache.engine();
    let deadline = Deadline::after(Limits::default().time);
    // The shortest text of each terminal must fit into its maximum, one byte per token.
    let bytes: ByteSet = (0..=u8::MAX).filter(|&byte| !vocabulary.ids_of(&[byte]).is_empty()).collect();
    let mut words = ShortestWords::new(bytes);
    let mut automata = Automata::new(grammar.terms().clone(), 10_000);
    for definition in grammar.terminals() {
        let Terminal::Limited { term, tokens } = definition.terminal else { continue };
        let Some(start) = automata.start(term).expect("within the limits") else { continue };
        let word = words.shortest_word(&mut automata, start, &deadline).expect("within the limits");
        if word.is_some_and(|word| word.length > tokens) {
            return;
        }
    }
    let complete = |set| engine.shortest_completion(set, &vocabulary, &deadline).expect("within the limits");
    let ids = || (0..vocabulary.size() as u32).map(TokenId);
    let read = |set, id| {
        let bytes = vocabulary.token(id);
        let event = TokenEvent { id, has_text: bytes.is_some() };
        engine.read_token(set, event, bytes, &deadline).expect("within the limits")
    };
    let mut set = engine.start();
    for &choice in choices {
        if let Some(ShortestCompletion { length, .. }) =
            complete(set).filter(|found| found.length <= MAX_FOLLOWED)
        {
            let mut text = Vec::new();
            let mut next = set;
            while let Some(ShortestCompletion { first: Some(CompletionStep::Byte(byte)), .. }) =
                complete(next)
            {
                text.push(byte);
                next = engine.step(next, byte).expect("within the limits").expect("the first step is legal");
            }
            assert_eq!(text.len(), length as usize);
            let is_rest = |id: TokenId| {
                let Some(bytes) = vocabulary.token(id).filter(|bytes| text.starts_with(bytes)) else {
                    return false;
                };
                let after = read(set, id).and_then(complete);
                after.is_some_and(|after| after.length as usize + bytes.len() <= text.len())
            };
            assert!(length == 0 || ids().any(is_rest), "{}", engine.describe(set));
            COMPARED.fetch_add(1, Ordering::Relaxed);
        }
        let next: Vec<SetId> = ids().filter_map(|id| read(set, id)).collect();
        if next.is_empty() {
            return;
        }
        set = next[usize::from(choice) % next.len()];
    }
}
