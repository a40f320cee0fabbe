//! Grammars with remembered values: sets and masks equal those of the oracle, token by token, on random grammars.

#[path = "values_oracle/binding_sketch.rs"]
mod binding_sketch;
mod values_oracle;

use std::collections::HashSet;
use std::sync::Arc;

use grammask_diagnostics::{Deadline, LimitExceeded, Limits, Span};
use grammask_earley::lowering::lower;
use grammask_earley::masks::ContextFreeMasks;
use grammask_earley::recognizer::Recognizer;
use grammask_engine::{
    CompletionStep, Descriptions, Effort, MaskCache, MaskOutcome, MaskRequest, MaskSource, MaskStrategy,
    SetId, StateCompletions, Steps,
};
use grammask_grammar::{
    Clause, Grammar, GrammarBuilder, NodeId, PartId, PartOrder, Selection, Terminal, ValueCondition,
    ValueEquality, ValueKind, ValueSupply,
};
use grammask_vocabulary::{TokenId, TokenTexts, Vocabulary};

use values_oracle::{Derivations, ValueOracle};

/// Bytes of the texts.
const ALPHABET: &[u8] = b"ab01.e,[]{}:\"\\u6 ";

/// A small deterministic generator of numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// Builds random grammars.
struct Sketch {
    builder: GrammarBuilder,
    random: Random,
    /// Whether values are JSON. Others are texts of letters, which are compared by their bytes.
    is_json: bool,
    /// The claim about the last value.
    supply: ValueSupply,
}

impl Sketch {
    fn grammar(seed: u64) -> Grammar {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..8).for_each(|_| _ = random.below(2));
        let is_json = random.one_of(&[false, true]);
        let builder = GrammarBuilder::new("");
        let mut sketch = Self { builder, random, is_json, supply: ValueSupply::Unknown };
        let start = sketch.builder.nonterminal("start", Span::default());
        let mut body = sketch.scope(1);
        if sketch.random.below(4) == 0 {
            let more = sketch.scope(1);
            body = match sketch.random.below(3) {
                0 => sketch.builder.choice(vec![body, more], Span::default()),
                1 => sketch.builder.sequence(vec![body, more], Span::default()),
                _ => sketch.builder.repeat(body, 1, None, Span::default()),
            };
        }
        sketch.builder.define(start, body, Span::default());
        sketch.builder.finish(start)
    }

    fn literal(&mut self, text: &str) -> NodeId {
        self.builder.literal(text.as_bytes(), Span::default())
    }

    fn regex(&mut self, pattern: &str) -> NodeId {
        let term = grammask_automata::regex::term(self.builder.terms(), pattern, &Limits::default());
        let term = term.expect("a valid pattern");
        self.builder.terminal(Terminal::Regular(term), pattern, Span::default())
    }

    /// The language of a value, and a lower bound of the number of its values.
    fn value(&mut self, depth: usize) -> (NodeId, u32) {
        let span = Span::default();
        self.supply = ValueSupply::Unknown;
        // The pattern, a lower bound of the number of values, and a true claim about them.
        let (infinite, all) = (ValueSupply::AtLeast(u32::MAX), ValueSupply::Inexhaustible);
        let few = |count| ValueSupply::AtLeast(count);
        let texts: &[(&str, u32, ValueSupply)] = match self.is_json {
            false => &[
                ("a|b", 2, few(2)),
                ("aa|bb|ab", 3, few(3)),
                ("a+", 9, all),
                ("[ab]+", 9, all),
                ("a|ba*", 9, infinite),
                ("(a|b){1,2}", 6, few(5)),
                ("a[ab]|b", 3, few(3)),
                ("a|aa|aaa", 3, few(1)),
                ("[ab]*a", 9, all),
            ],
            true => &[
                ("0|1", 2, few(2)),
                ("1|1\\.0|1e0|0|10", 3, few(3)),
                ("(0|1[01]*)(\\.[01]+)?", 9, all),
                ("1(\\.0*)?|0", 2, few(2)),
                ("\"[ab]*\"", 9, all),
                ("\"(a|\\\\u006[12])*\"", 9, all),
                ("\"a?\"|\"\\\\u0061\"|1", 3, few(3)),
                (" ?1|\\[ ?1 ?\\]|\\[\\]", 3, few(2)),
                ("1e[01]+|10|0", 9, infinite),
            ],
        };
        let form = self.random.below(if depth > 0 { 9 } else { 6 });
        let result = match form {
            0..6 => {
                let (text, count, supply) = self.random.one_of(texts);
                self.supply = self.random.one_of(&[ValueSupply::Unknown, supply]);
                (self.regex(text), count)
            }
            6 => (self.scope(depth - 1), 2),
            7 => {
                let inner = self.scope(depth - 1);
                let (text, count, _) = self.random.one_of(texts);
                let other = self.regex(text);
                (self.builder.choice(vec![inner, other], span), count)
            }
            _ => {
                // Nested brackets.
                let rule = self.builder.fresh_nonterminal("nested", span);
                let (open, close) = (self.literal("["), self.literal("]"));
                let inner = self.builder.reference(rule, span);
                let inner = self.builder.repeat(inner, 0, Some(1), span);
                let body = self.builder.sequence(vec![open, inner, close], span);
                self.builder.define(rule, body, span);
                (self.builder.reference(rule, span), 9)
            }
        };
        if form >= 6 {
            self.supply = ValueSupply::Unknown;
        }
        result
    }

    /// A fresh value of the last language.
    fn fresh(&mut self, node: NodeId) -> NodeId {
        let condition = ValueCondition::plain(ValueKind::Fresh, ValueEquality::Json, self.supply);
        self.builder.value(node, condition, Span::default())
    }

    fn scope(&mut self, depth: usize) -> NodeId {
        let span = Span::default();
        let (content, count) = self.value(depth);
        let item = self.fresh(content);
        let comma = self.literal(",");
        let (open, close) = (self.literal("["), self.literal("]"));
        // Inside JSON, arrays and objects only: the oracle compares other texts by bytes.
        let is_json = depth == 0 && self.is_json;
        let body = match if is_json { self.random.one_of(&[0, 1, 3, 8]) } else { self.random.below(9) } {
            0 => {
                // Members with unique names.
                let item = if is_json {
                    let name = self.regex("\"(a|b|\\\\u006[12])*\"");
                    self.supply = self.random.one_of(&[ValueSupply::Unknown, ValueSupply::Inexhaustible]);
                    self.fresh(name)
                } else {
                    item
                };
                let (open, close, colon) = (self.literal("{"), self.literal("}"), self.literal(":"));
                let value = self.regex("0|1");
                let member = self.builder.sequence(vec![item, colon, value], span);
                let more = self.builder.sequence(vec![comma, member], span);
                let more = self.builder.repeat(more, 0, None, span);
                let members = self.builder.sequence(vec![member, more], span);
                let members = self.builder.repeat(members, 0, Some(1), span);
                self.builder.sequence(vec![open, members, close], span)
            }
            1 => {
                // At least one repetition.
                let again = self.builder.repeated(content, ValueEquality::Json, span);
                let first = self.builder.sequence(vec![item, comma], span);
                let first = self.builder.repeat(first, 1, None, span);
                let more = self.builder.sequence(vec![comma, content], span);
                let more = self.builder.repeat(more, 0, None, span);
                self.builder.sequence(vec![open, first, again, more, close], span)
            }
            2 => {
                // By right recursion, without brackets.
                let rule = self.builder.fresh_nonterminal("items", span);
                let more = self.builder.reference(rule, span);
                let more = self.builder.sequence(vec![item, comma, more], span);
                let body = self.builder.choice(vec![item, more], span);
                self.builder.define(rule, body, span);
                self.builder.reference(rule, span)
            }
            3 => {
                // First items of another language; the rest differs from them, too.
                let (other, _) = self.value(0);
                let other = self.fresh(other);
                let more = self.builder.sequence(vec![comma, item], span);
                let more = self.builder.repeat(more, 0, None, span);
                self.builder.sequence(vec![open, other, more, close], span)
            }
            5 => self.members_in_any_order(item, count),
            6 => {
                // Alternatives of which some have further values, after texts without values.
                let (colon, dot) = (self.literal(":"), self.literal("."));
                let inner = if depth > 0 { self.scope(depth - 1) } else { dot };
                let first = self.builder.sequence(vec![comma, item, dot], span);
                let second = self.builder.sequence(vec![colon, inner, comma, item], span);
                let rest = self.builder.choice(vec![colon, first, second, inner], span);
                let rest = self.builder.repeat(rest, 0, self.random.one_of(&[Some(1), Some(3), None]), span);
                self.builder.sequence(vec![open, item, rest, close], span)
            }
            4 => {
                // Items that touch each other.
                let many = self.builder.repeat(item, 1, None, span);
                self.builder.sequence(vec![open, many, close], span)
            }
            _ => {
                let (least, more) =
                    ((self.random.below(3) as u32).min(count - 1), self.random.below(4) as u32);
                let max = (more < 3).then_some(least + more);
                let rest = self.builder.sequence(vec![comma, item], span);
                let rest = self.builder.repeat(rest, least, max, span);
                let items = self.builder.sequence(vec![item, rest], span);
                let items = match least {
                    0 => self.builder.repeat(items, 0, Some(1), span),
                    _ => items,
                };
                self.builder.sequence(vec![open, items, close], span)
            }
        };
        self.builder.scope(body, span)
    }

    /// A selection of two single parts and one that may be repeated, with fresh values in some of them.
    fn members_in_any_order(&mut self, item: NodeId, count: u32) -> NodeId {
        let span = Span::default();
        let (open, close, comma) = (self.literal("["), self.literal("]"), self.literal(","));
        let order = self.random.one_of(&[PartOrder::Any, PartOrder::Listed]);
        let fixed = self.regex(":[01]");
        let other = self.regex("\\.a*");
        let other = self.builder.fresh(other, ValueEquality::Json, span);
        let first = self.random.one_of(&[fixed, other, item]);
        let ended = self.builder.sequence(vec![item, fixed], span);
        let many = self.random.one_of(&[item, ended]);
        let least = self.random.below(3) as u32;
        let least = if first == item { least.min(count.saturating_sub(1)) } else { least.min(count) };
        let most = self.random.one_of(&[None, Some(least + 1), Some(least + 2)]);
        let required = Clause { given: Box::default(), then: Some(PartId::new(self.random.below(2))) };
        let clauses = if self.random.below(2) == 0 { vec![required] } else { Vec::new() };
        let selection = Selection::new(order, 3, &[PartId::new(2)], clauses, (least, most));
        let selection = Arc::new(selection.expect("clauses without a premise"));
        let last = self.regex("b:");
        let members = self.builder.selection(selection, vec![first, last, many], comma, span);
        let members = self.builder.repeat(members, u32::from(least > 0), Some(1), span);
        self.builder.sequence(vec![open, members, close], span)
    }
}

fn vocabulary() -> Vocabulary {
    let pieces = [
        "aa",
        "ab",
        "a,",
        ",a",
        "],",
        "a,b",
        "[a",
        "1,",
        "1,0",
        "a\"",
        "\",\"",
        "\"a\"",
        "a\",\"a\"",
        "u00",
        "0.",
        "1]",
        "],[",
        "[[",
        ":1",
        ":1,",
        ",a:",
        "a:0",
        "\"]",
    ];
    let bytes = ALPHABET.iter().map(|&byte| Some(vec![byte]));
    let texts: TokenTexts = bytes.chain(pieces.iter().map(|piece| Some(piece.as_bytes().to_vec()))).collect();
    Vocabulary::new(texts, vec![], vec![], None).expect("a vocabulary")
}

/// The masks of one set by both strategies.
struct Checked {
    recognizer: Arc<Recognizer>,
    masks: ContextFreeMasks,
    caches: [MaskCache; 2],
}

impl Checked {
    fn mask(
        &self,
        set: SetId,
        vocabulary: &Vocabulary,
        strategy: MaskStrategy,
    ) -> Result<Vec<TokenId>, LimitExceeded> {
        let cache = &self.caches[usize::from(strategy == MaskStrategy::Walk)];
        let request =
            MaskRequest { set, vocabulary, end_tokens: None, strategy, cache, max_cache_bytes: 1 << 24 };
        let deadline = Deadline::after(std::time::Duration::from_secs(20));
        Ok(match self.masks.compute(&request, Effort::Full, &deadline)? {
            MaskOutcome::Mask(mask) => mask.iter().collect(),
            _ => Vec::new(),
        })
    }
}

/// Compares the shortest completion of a set with a breadth-first search over steps, and follows it to its end.
fn check_completion(
    recognizer: &Recognizer,
    set: SetId,
    vocabulary: &Vocabulary,
) -> Result<(), LimitExceeded> {
    let deadline = Deadline::after(std::time::Duration::from_secs(20));
    let completion = |set| recognizer.shortest_completion(set, vocabulary, &deadline);
    let own = completion(set)?;
    let (mut reached, mut level) = (HashSet::from([set]), vec![set]);
    let mut length = 0;
    while !level.iter().any(|&set| recognizer.is_complete(set)) {
        if reached.len() > 3_000 {
            return Ok(());
        }
        let mut next_level = Vec::new();
        for &set in &level {
            for &byte in ALPHABET {
                let next = recognizer.step(set, byte)?;
                next_level.extend(next.filter(|&next| reached.insert(next)));
            }
        }
        level = next_level;
        length += 1;
    }
    assert_eq!(own.map(|own| own.length), Some(length), "{}", recognizer.describe(set));
    let mut set = set;
    for left in (0..length).rev() {
        let Some(CompletionStep::Byte(byte)) = completion(set)?.and_then(|own| own.first) else {
            panic!("a completion has a first step");
        };
        set = recognizer.step(set, byte)?.expect("completions are legal");
        assert_eq!(completion(set)?.map(|own| own.length), Some(left));
    }
    Ok(())
}

/// Compares masks along random texts; returns their number and that of those not walked, or the reason why the
/// grammar was left out.
fn check(seed: u64, grammar: &Grammar, vocabulary: &Vocabulary) -> Result<[usize; 2], String> {
    let mut limits = Limits::default();
    limits.set_items = 2_000;
    let lowered = lower(grammar, &limits).map_err(|error| error.to_string())?;
    let fail = |limit: LimitExceeded| limit.to_string();
    let recognizer =
        Arc::new(Recognizer::new(lowered.normal_form, vec![None; 64], Vec::new(), &limits).map_err(fail)?);
    let masks = ContextFreeMasks::new(recognizer.clone(), Vec::new());
    let checked = Checked { recognizer, masks, caches: [MaskCache::default(), MaskCache::default()] };
    let oracle = ValueOracle::new(grammar, ALPHABET, 20_000);
    let mut random = Random(seed | 1);
    let mut compared = 0;
    for _ in 0..3 {
        let (mut set, mut derivations) = (checked.recognizer.start(), oracle.start());
        let mut text = Vec::new();
        for _ in 0..12 {
            let after = |token: TokenId, derivations: &Derivations| {
                let bytes = vocabulary.token(token).unwrap_or_default();
                bytes
                    .iter()
                    .try_fold(derivations.clone(), |derivations, &byte| oracle.step(&derivations, byte))
            };
            let tokens = (0..vocabulary.size() as u32).map(TokenId);
            let expected: Vec<TokenId> =
                tokens.filter(|&token| after(token, &derivations).is_some()).collect();
            if oracle.has_given_up.get() {
                return Err("the oracle gave up".to_owned());
            }
            for strategy in [MaskStrategy::Walk, MaskStrategy::Summaries] {
                let mask = checked.mask(set, vocabulary, strategy).map_err(fail)?;
                let shown = |tokens: &[TokenId]| {
                    let texts = tokens.iter().map(|&token| vocabulary.token(token).unwrap_or_default());
                    texts.map(|text| String::from_utf8_lossy(text).into_owned()).collect::<Vec<_>>()
                };
                assert_eq!(
                    shown(&mask),
                    shown(&expected),
                    "seed {seed}, {strategy:?}, after {:?}\n{grammar}\n{}",
                    String::from_utf8_lossy(&text),
                    checked.recognizer.describe(set)
                );
                compared += 1;
            }
            let is_complete = checked.recognizer.is_complete(set);
            assert_eq!(is_complete, oracle.is_complete(&derivations), "seed {seed}\n{grammar}");
            check_completion(&checked.recognizer, set, vocabulary).map_err(fail)?;
            if expected.is_empty() {
                break;
            }
            let token = random.one_of(&expected);
            let bytes = vocabulary.token(token).unwrap_or_default();
            for &byte in bytes {
                set = checked.recognizer.step(set, byte).map_err(fail)?.expect("the token is legal");
            }
            text.extend_from_slice(bytes);
            derivations = after(token, &derivations).expect("the token is legal");
        }
    }
    let counts = checked.masks.counts();
    Ok([compared, (counts.composed + counts.recalled) as usize])
}

/// Compares masks of random grammars, of which at least `percent` of 100 are not refused.
fn compare(sketch: impl Fn(u64) -> Grammar, percent: usize) {
    let vocabulary = vocabulary();
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok()).unwrap_or(default)
    };
    let is_long = std::env::var("GRAMMASK_PROFILE").is_ok_and(|profile| profile == "long");
    let cases = if is_long { 100 } else { 30 } * number("GRAMMASK_CASES", 1);
    let first = number("GRAMMASK_SEED", 0) * 1_000_000;
    let (mut compared, mut composed, mut grammars) = (0, 0, 0);
    let mut refused = std::collections::BTreeMap::new();
    for seed in first..first + cases {
        match check(seed, &sketch(seed), &vocabulary) {
            Ok([masks, of_summaries]) => {
                (compared, composed, grammars) = (compared + masks, composed + of_summaries, grammars + 1);
            }
            Err(reason) => *refused.entry(reason).or_insert(0) += 1,
        }
    }
    println!(
        "compared {compared} masks ({composed} composed or recalled) of {grammars} grammars; refused: {refused:#?}"
    );
    assert!(composed * 4 > compared, "most masks from summaries are composed");
    assert!(grammars * 100 >= cases as usize * percent, "most grammars are compared");
}

#[test]
fn masks_equal_the_oracle() {
    compare(Sketch::grammar, 75);
}

#[test]
fn masks_of_bindings_equal_the_oracle() {
    compare(binding_sketch::BindingSketch::grammar, 50);
}
