//! Adversarial grammars return within bounded time and memory: fifty tokens with their masks, or a typed error.
//!
//! Each case runs with generous and with small limits. There are no assertions on speed, but a case without a result
//! after [`PATIENCE`] fails. `--nocapture` shows the result and the time of each case.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use grammask::frontends::kbnf;
use grammask::grammar::{Code, GrammarError};
use grammask::vocabulary::{TokenId, TokenTexts, Vocabulary};
use grammask::{CompileOptions, CompiledGrammar, EndMode, Limits, Matcher};

/// Time limit of one call.
const BUDGET: Duration = Duration::from_secs(20);
/// Time limit of a case, which may make several calls that exhaust their limit.
const PATIENCE: Duration = Duration::from_secs(100);
/// Number of accepted tokens per case.
const TOKENS: usize = 50;

/// All single bytes, overlapping words, and an end token.
fn vocabulary() -> Arc<Vocabulary> {
    let mut texts = TokenTexts::builder();
    for byte in 0..=u8::MAX {
        texts.push(&[byte]);
    }
    for word in
        ["aa", "aaaa", "aaaaaaaaaaaaaaaa", "ab", "ba", "((", "[[[[", "word", "xyz", "é", "你好", "0123"]
    {
        texts.push(word.as_bytes());
    }
    texts.push_textless();
    let eos = texts.len() as u32 - 1;
    Arc::new(Vocabulary::new(texts.finish(), vec![], vec![eos], None).expect("the vocabulary is valid"))
}

fn generous() -> Limits {
    let mut limits = Limits::default();
    limits.time = BUDGET;
    limits
}

fn small() -> Limits {
    let mut limits = Limits::default();
    limits.grammar_size = 20_000;
    limits.automaton_states = 2_000;
    limits.set_items = 500;
    limits.memory_bytes = 16 << 20;
    limits.time = Duration::from_secs(2);
    limits
}

/// Compiles `text`, and accepts tokens that a fixed sequence selects from the masks.
fn walk(text: &str, limits: &Limits, end: EndMode) -> Result<usize, GrammarError> {
    let (grammar, _) = kbnf::grammar(text.as_bytes(), "start", limits)?;
    let mut options = CompileOptions::default();
    options.end = end;
    options.limits = limits.clone();
    let compiled = CompiledGrammar::new(&grammar, vocabulary(), options)?;
    let mut matcher: Matcher = compiled.matcher();
    let mut random: u32 = 1;
    for count in 0..TOKENS {
        if matcher.is_finished() {
            return Ok(count);
        }
        let allowed: Vec<TokenId> = matcher.mask()?.iter().collect();
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let token = allowed[(random >> 8) as usize % allowed.len()];
        assert!(matcher.accept(token)?, "a token of the mask is rejected");
    }
    Ok(TOKENS)
}

/// The required result of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// Masks and tokens; with small limits also a typed error.
    Runs,
    /// Masks and tokens, or a limit.
    RunsOrLimit,
    /// This error.
    Refused(Code),
}

fn check(name: &'static str, answer: Answer, text: impl FnOnce() -> String + Send + 'static) {
    let (done, wait) = mpsc::channel();
    std::thread::spawn(move || {
        let text = text();
        let mut answers = Vec::new();
        for (limits, end) in
            [(generous(), EndMode::Eos), (generous(), EndMode::Eager), (small(), EndMode::Eos)]
        {
            let start = Instant::now();
            let found = walk(&text, &limits, end);
            answers.push((found, start.elapsed()));
        }
        done.send(answers).ok();
    });
    let answers = match wait.recv_timeout(PATIENCE) {
        Ok(answers) => answers,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{name}: no result after {PATIENCE:?}"),
        Err(mpsc::RecvTimeoutError::Disconnected) => panic!("{name}: panics"),
    };
    for (number, (found, time)) in answers.into_iter().enumerate() {
        let limits = ["generous limits, eos", "generous limits, eager", "small limits"][number];
        let is_small = number == 2;
        match &found {
            Ok(tokens) => println!("{name}: {limits}: {tokens} tokens, {time:.2?}"),
            Err(error) => println!("{name}: {limits}: {}, {time:.2?}", error.diagnostics()[0].message),
        }
        let is_right = match (&found, answer) {
            (Ok(_), Answer::Runs | Answer::RunsOrLimit) => true,
            (Ok(_), Answer::Refused(_)) => false,
            (Err(error), Answer::Runs) => is_small && error.code() == Code::LimitExceeded,
            (Err(error), Answer::RunsOrLimit) => error.code() == Code::LimitExceeded,
            (Err(error), Answer::Refused(code)) => {
                error.code() == code || is_small && error.code() == Code::LimitExceeded
            }
        };
        let code = found.map_err(|error| error.code());
        assert!(is_right, "{name}: {limits}: {code:?} instead of {answer:?}");
    }
}

macro_rules! hostile {
    ($($name:ident, $answer:expr, $text:expr;)*) => {
        $(#[test]
        fn $name() {
            use Answer::*;
            check(stringify!($name), $answer, || $text);
        })*
    };
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

// Sizes.
hostile! {
    thirty_thousand_literals, Runs,
        format!("start ::= {} \"x\";", lines(30_000, |n| format!("\"word{n}\" | ")));
    thirty_thousand_equal_alternatives, Runs,
        format!("start ::= {} \"x\";", "\"x\" | ".repeat(30_000));
    thirty_thousand_regexes, RunsOrLimit,
        format!("start ::= {} \"x\";", lines(30_000, |n| format!("#'x{n}+' | ")));
    thirty_thousand_symbols, Runs,
        format!("start ::= {} \"x\";\n{}", lines(30_000, |n| format!("r{n} | ")), lines(30_000, |n| format!("r{n} ::= \"{n}\" r{n} | 'y';\n")));
    thirty_thousand_definitions_of_start, Runs,
        lines(30_000, |n| format!("start ::= \"{n}\" start | \"x\";\n"));
    ten_thousand_groups, Runs,
        format!("start ::= {}\"x\"{};", "(".repeat(10_000), ")".repeat(10_000));
    ten_thousand_options, Runs,
        format!("start ::= {}\"x\"{};", "[".repeat(10_000), "]".repeat(10_000));
    ten_thousand_stars, Runs,
        format!("start ::= {}\"x\"{};", "{".repeat(10_000), "}".repeat(10_000));
    ten_thousand_mixed_brackets, Runs,
        format!("start ::= {}\"x\"{};", "(\"a\" | [{".repeat(3_333), "}] \"b\")".repeat(3_333));
    ten_thousand_nested_choices, Runs,
        format!("start ::= {}\"x\"{};", "(\"a\" | \"b\" ".repeat(10_000), ")".repeat(10_000));
    chain_of_rules, Runs,
        format!("start ::= r0;\n{}r20000 ::= 'x';", lines(20_000, |n| format!("r{n} ::= \"a\" r{};\n", n + 1)));
    binary_rules, Runs,
        format!("start ::= r39999;\n{}", lines(40_000, |n| format!("r{n} ::= \"a\" r{} | 'b';\n", n / 2)));
    doubling_rules, Runs,
        format!("start ::= r0;\n{}r1000 ::= 'x';", lines(1_000, |n| format!("r{n} ::= r{0} r{0};\n", n + 1)));
    doubling_choices, Runs,
        format!("start ::= r0;\n{}r1000 ::= 'x' | 'y';", lines(1_000, |n| format!("r{n} ::= r{0} 'a' | r{0} 'b';\n", n + 1)));
    megabyte_literal, Runs,
        format!("start ::= \"{}\";", "x".repeat(1 << 20));
    megabyte_regex, RunsOrLimit,
        format!("start ::= #\"{}\";", "xy".repeat(1 << 19));
    megabyte_regex_of_alternatives, RunsOrLimit,
        format!("start ::= #\"{}x\";", lines(100_000, |n| format!("a{n}|")));
    megabyte_substrings, RunsOrLimit,
        format!("start ::= #substrs\"{}\";", lines(150_000, |n| format!("{n} ")));
    megabyte_substrings_of_one_letter, RunsOrLimit,
        format!("start ::= #substrs\"{}\";", "a".repeat(1 << 20));
    megabyte_exception, RunsOrLimit,
        format!("start ::= except!({} \"end\");", lines(60_000, |n| format!("\"stop{n}\" | ")));
    megabyte_exception_with_count, RunsOrLimit,
        format!("start ::= except!({} \"end\", 3) \"end\";", lines(60_000, |n| format!("\"stop{n}\" | ")));
    megabyte_sequence, Runs,
        format!("start ::= {};", "\"ab\" ".repeat(1 << 18));
    megabyte_sequence_of_optionals, Runs,
        format!("start ::= {};", "\"ab\"? ".repeat(1 << 17));
    megabyte_sequence_of_any, Runs,
        format!("start ::= {};", "any! ".repeat(1 << 17));
    long_name, Runs,
        format!("start ::= {0}; {0} ::= \"x\" {0} | \"y\";", "x".repeat(1 << 18));
}

// Repetitions.
hostile! {
    optionals, Runs, format!("start ::= {};", lines(2_000, |n| format!("\"{n}\"? ")));
    optional_symbols, Runs,
        format!("start ::= {};\n{}", lines(2_000, |n| format!("r{n}? ")), lines(2_000, |n| format!("r{n} ::= \"a\" r{n} \"b\" | \"{n}\";\n")));
    nullable_symbols, Runs,
        format!("start ::= {} \"x\";\n{}", lines(2_000, |n| format!("r{n} ")), lines(2_000, |n| format!("r{n} ::= \"\" | \"a\" r{n} \"b\";\n")));
    stars_of_the_same, RunsOrLimit, format!("start ::= {} \"b\";", "\"a\"* ".repeat(2_000));
    repeated_repetitions, RunsOrLimit, "start ::= (((\"a\"{1,1000}){1,1000}){1,1000});".to_owned();
    exact_repetitions, RunsOrLimit, "start ::= (((\"ab\"{1000}){1000}){1000});".to_owned();
    repeated_symbols, RunsOrLimit, "start ::= (((a{1,1000}){1,1000}){1,1000}); a ::= \"x\" a \"y\" | \"z\";".to_owned();
    repeated_nullable_symbols, RunsOrLimit, "start ::= (((a{0,1000}){0,1000}){0,1000}); a ::= \"x\" a \"y\" | \"\";".to_owned();
    largest_repetition, RunsOrLimit, "start ::= a{4294967295} b{0,4294967295} c{4294967294,}; a ::= 'a' | '(' a ')'; b ::= 'b'; c ::= 'c' | '[' c ']';".to_owned();
    largest_repetition_of_a_byte, RunsOrLimit, "start ::= 'a'{4294967295};".to_owned();
    repetitions_in_sequence, RunsOrLimit, format!("start ::= {};", "\"a\"{0,1000} ".repeat(200));
    repetitions_of_repetitions, RunsOrLimit, format!("start ::= {}\"a\"{};", "(".repeat(200), "){0,9}".repeat(200));
}

// Regexes.
hostile! {
    nested_star, Runs, "start ::= #\"(a|a)*\" \"b\";".to_owned();
    nested_plus, Runs, "start ::= #\"((a+)+)+\" \"b\";".to_owned();
    many_stars, Runs, "start ::= #\"(.*a){20}\";".to_owned();
    many_stars_then_more, RunsOrLimit, "start ::= #\"(.*a){20}\" #\"(.*b){20}\" #\"(.*c){20}\";".to_owned();
    wide_window, RunsOrLimit, "start ::= #\"(.*a.{20})\" \"x\";".to_owned();
    wide_window_nowhere, RunsOrLimit, "start ::= #ex\"(.*a.{20})\";".to_owned();
    wide_windows_everywhere, RunsOrLimit, "start ::= #\"(.*a.{30}b.{30}c.{30}d)*\";".to_owned();
    unicode_words, Runs, "start ::= #r\"\\w{1000}\";".to_owned();
    unicode_words_in_a_row, RunsOrLimit, "start ::= #r\"(\\w{1,300}\\s){1,300}\\W{1,300}\\d\";".to_owned();
    large_count, Runs, "start ::= #\"[a-z]{1,1000000}\";".to_owned();
    large_counts_in_a_row, RunsOrLimit, "start ::= #\"([a-z]{1,1000000}[a-f]{1,100000}){1,100000}\";".to_owned();
    overlapping_counts, RunsOrLimit, "start ::= #\"(a{1,100}){1,100}b\" #\"(a|b|ab){50,100}(ab|ba){50,100}\";".to_owned();
    early_end_of_a_bomb, RunsOrLimit, "start ::= #e\"(.*a){20}.{20}\" \"x\";".to_owned();
    counted_classes, RunsOrLimit, "start ::= #r\"(\\w|\\s|\\p{L}|\\p{N}){100,200}(\\p{Greek}|.){100,200}\";".to_owned();
    assertions_in_a_loop, RunsOrLimit, "start ::= #r\"(?m)(^a.{10}$|(?-u:\\b)b.{10}\\n)*\";".to_owned();
    hundred_classes, Runs, format!("start ::= {} \"x\";", lines(100, |n| format!("#r\"[\\w&&[^{}]]+\" ", char::from(b'a' + (n % 26) as u8))));
    many_windows, RunsOrLimit, format!("start ::= {} \"x\";", lines(40, |n| format!("#\".*{}.{{12}}\" | ", char::from(b'a' + (n % 26) as u8))));
    many_exceptions, RunsOrLimit, format!("start ::= ({} \"x\")*;", lines(40, |n| format!("except!(\"word{n}\") | ")));
    deep_regex, Refused(Code::LimitExceeded), format!("start ::= #\"{}a{}\";", "(".repeat(249), ")*".repeat(249));
    nested_counts, RunsOrLimit, "start ::= #\"((((((a{0,9}b?){0,9}c?){0,9}d?){0,9}e?){0,9}f?){0,9}g?){0,9}\";".to_owned();
}

// Recursion and ambiguity.
hostile! {
    unit_cycle, Runs,
        format!("start ::= r0;\n{}", lines(5_000, |n| format!("r{n} ::= r{} | \"{n}\";\n", (n + 1) % 5_000)));
    unit_cycle_of_nothing, Refused(Code::EmptyLanguage),
        format!("start ::= r0;\n{}", lines(5_000, |n| format!("r{n} ::= r{};\n", (n + 1) % 5_000)));
    complete_unit_graph, RunsOrLimit,
        format!("start ::= r0;\n{}", lines(150, |n| format!("r{n} ::= {} \"{n}\";\n", lines(150, |m| format!("r{m} | ")))));
    hidden_left_recursion, RunsOrLimit,
        format!("start ::= {} start \"x\" | \"y\";", "\"a\"? ".repeat(2_000));
    hidden_left_recursion_of_symbols, RunsOrLimit,
        format!("start ::= {} start \"x\" | \"y\"; a ::= \"\" | start \"z\";", "a ".repeat(2_000));
    nullable_cycle, Runs, "start ::= start start | \"\" | a; a ::= start a start | \"a\" | a? start;".to_owned();
    ambiguous, Runs, "start ::= start start start | \"a\" | start start;".to_owned();
    ambiguous_with_options, Runs, "start ::= (start? start? start? start?) | \"a\" | \"(\" start \")\";".to_owned();
    ambiguous_mutual, Runs,
        format!("start ::= r0;\n{}", lines(40, |n| format!("r{n} ::= r{} r{} | r{} | \"a\" | \"b{n}\" r0;\n", (n + 1) % 40, (n * 7 + 3) % 40, (n * 3 + 1) % 40)));
    long_left_recursion, Runs,
        format!("start ::= r0 \"x\" | \"y\";\n{}", lines(5_000, |n| if n == 4_999 { "r4999 ::= start \"z\" | \"w\";\n".to_owned() } else { format!("r{n} ::= r{} \"a\" | \"b\";\n", n + 1) }));
    complete_left_corner_graph, RunsOrLimit,
        format!("start ::= r0;\n{}", lines(150, |n| format!("r{n} ::= {} \"{n}\";\n", lines(150, |m| format!("r{m} \"{m}\" | ")))));
    complete_graph_with_tails, RunsOrLimit,
        format!("start ::= r0;\n{}", lines(100, |n| format!("r{n} ::= {} \"{n}\";\n", lines(100, |m| format!("r{m} | r{m} r{} | ", (n + m) % 100)))));
    complete_graph_with_counted_tails, RunsOrLimit,
        format!("start ::= r0;\n{}", lines(100, |n| format!("r{n} ::= {} \"{n}\";\n", lines(100, |m| format!("r{m}{{1,2}} | r{m}{{1,2}} r{} | ", (n + m) % 100)))));
    counted_cycle, RunsOrLimit,
        format!("start ::= r0;\n{}", lines(3_000, |n| format!("r{n} ::= r{}{{1,2}} | \"{n}\";\n", (n + 1) % 3_000)));
    counts_of_one_another, RunsOrLimit,
        format!("start ::= r0;\n{}", lines(200, |n| format!("r{n} ::= r{}{{1,200}} r{}{{0,100}} | \"{n}\";\n", (n + 1) % 200, (n * 7) % 200)));
    endless_rules, Runs,
        format!("start ::= r0;\n{}", lines(5_000, |n| format!("r{n} ::= \"a\" r{} r{};\n", (n + 1) % 5_000, (n * 3) % 5_000)));
    counters_in_the_stack, RunsOrLimit,
        "start ::= \"a\" start \"b\" | \"a\" start \"c\" | \"a\" start | \"\";".to_owned();
    palindromes, RunsOrLimit, "start ::= \"a\" start \"a\" | \"b\" start \"b\" | \"a\" | \"b\" | \"\";".to_owned();
    copies_of_stars, RunsOrLimit, "start ::= #\"a*\" #\"a*\" #\"a*\" #\"a*\" start #\"a*\" #\"a*\" | \"a\";".to_owned();
    counted_tokens, RunsOrLimit,
        format!("start ::= ({} any!)*;", lines(100, |n| format!("except!(\"word{n}\", {}) | ", n + 1)));
}
