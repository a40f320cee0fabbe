//! Property: with shared costs of bound texts, texts end within their budgets, and ample budgets exclude no token.
//!
//! Shared costs are those of large vocabularies; here small ones have them. `GRAMMASK_CASES` multiplies the number of
//! cases, `GRAMMASK_SEED` changes them.

use std::fmt::Write;
use std::sync::Arc;

use grammask_diagnostics::{Code, GrammarError, Limits};
use grammask_vocabulary::{TokenId, TokenTexts, Vocabulary};

use super::BudgetError;
use super::costs::BudgetSupport;
use crate::{CompileOptions, CompiledGrammar, EndMode, Explanation, Matcher, frontends};

const ALPHABET: &[u8] = b"ab<>/\n";
const OPERANDS: [&str; 8] =
    ["[ab]{1,3}", "[ab]+", "a*", "(ab)+", "[ab]{0,2}", "a|bb|ba", "[ab>]+", "(a|b>|<a)+"];
/// More tokens than a shortest completion and any one token's cost in these grammars.
const AMPLE: u32 = 400;

struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count
    }

    fn text(&mut self, max: usize) -> Vec<u8> {
        (0..=self.below(max)).map(|_| ALPHABET[self.below(ALPHABET.len())]).collect()
    }

    fn operand(&mut self) -> &'static str {
        OPERANDS[self.below(OPERANDS.len())]
    }

    fn expression(&mut self, depth: usize, source: &mut String) {
        let name = ["x", "y"][self.below(4) / 3];
        let choices = if depth == 0 { 9 } else { 14 };
        match self.below(choices) {
            0 | 1 => {
                let text = String::from_utf8(self.text(2)).expect("ASCII").replace('\n', "\\n");
                write!(source, "\"{text}\"")
            }
            2 => write!(source, "#\"{}\"", self.operand()),
            3 => write!(source, "bind!({name}, #\"{}\")", self.operand()),
            4 | 5 => write!(source, "same!({name})"),
            6 => write!(source, "other!({name}, #\"{}\")", self.operand()),
            7 => write!(source, "without_prefix!({name}, #\"{}\")", self.operand()),
            8 => write!(source, "limit!(word, {})", 1 + self.below(3)),
            9 => {
                source.push_str("{ ");
                self.expression(depth - 1, source);
                write!(source, " }}")
            }
            10 => {
                source.push('(');
                self.expression(depth - 1, source);
                source.push_str(" | ");
                self.expression(depth - 1, source);
                write!(source, ")")
            }
            11 => write!(source, "start"),
            _ => {
                self.expression(depth - 1, source);
                source.push(' ');
                self.expression(depth - 1, source);
                Ok(())
            }
        }
        .expect("strings grow");
    }

    /// The source of a grammar that binds a name.
    fn grammar(&mut self) -> String {
        let mut source = format!("start ::= \"<\" bind!(x, #\"{}\") ", self.operand());
        for _ in 0..=self.below(3) {
            self.expression(3, &mut source);
            source.push(' ');
        }
        write!(source, "; word ::= #\"{}\";", self.operand()).expect("strings grow");
        source
    }

    fn vocabulary(&mut self) -> Arc<Vocabulary> {
        let mut tokens: Vec<Vec<u8>> = ALPHABET.iter().map(|&byte| vec![byte]).collect();
        // Large enough for states that most tokens lead to, or small.
        let count = if self.below(4) == 0 { 1_000 + self.below(1_000) } else { 4 + self.below(30) };
        for _ in 0..count {
            tokens.push(self.text(5));
        }
        let texts: TokenTexts = tokens.iter().map(|text| Some(text.as_slice())).chain([None]).collect();
        let end = u32::try_from(tokens.len()).expect("few tokens");
        Arc::new(Vocabulary::new(texts, vec![], vec![end], None).expect("a vocabulary"))
    }
}

const FIXED: [&str; 7] = [
    r##"start ::= element; element ::= "<" bind!(t, #"[ab]{1,3}") ("/>" | ">" { "a" | element } "</" same!(t) ">");"##,
    r##"start ::= element; element ::= "<" bind!(t, #"[ab]+") ">" { "a" | element } "</" same!(t) ">";"##,
    r##"start ::= "<" bind!(w, #"[ab]+") "\n" { other!(w, #"[ab]*") "\n" } same!(w) "\n";"##,
    r##"start ::= "<" bind!(w, #"[ab]+") "\n" other!(w, #"[ab]*") "\n" same!(w) "\n";"##,
    r##"start ::= "<" bind!(d, #"[ab/]{0,9}") "<" #"[^>]*" { ">" (#"[^>a]*" | other!(d, #"[^>a]*") #"a[^>]*") } ">" same!(d) "a";"##,
    r##"start ::= "<" limit!(word, 2) ">" "<" bind!(t, #"[ab]+") ">" { limit!(word, 3) "<" } ">" same!(t) ; word ::= #"[ab]+";"##,
    r##"start ::= bind!(x, #"[ab]{1,3}") "<" bind!(y, #"[ab]+") { "<" other!(y, #"a|b+") } "<" same!(y) same!(x);"##,
];

fn tokens(matcher: &Matcher) -> Result<Vec<TokenId>, GrammarError> {
    Ok(matcher.mask()?.iter().collect())
}

/// What the cases have covered.
#[derive(Default, Debug)]
struct Coverage {
    grammars: usize,
    grouped: usize,
    masks: usize,
    excluding: usize,
}

/// Checks one grammar; an error is that of a limit, which ambiguous grammars exceed.
fn check(source: &str, random: &mut Random, coverage: &mut Coverage) -> Result<(), GrammarError> {
    let Ok((grammar, _)) = frontends::kbnf::grammar(source.as_bytes(), "start", &Limits::default()) else {
        return Ok(());
    };
    let vocabulary = random.vocabulary();
    let end = [EndMode::Eos, EndMode::Eager][random.below(2)];
    let options = CompileOptions { end, ..CompileOptions::default() };
    let Ok(grouped) = CompiledGrammar::new(&grammar, vocabulary.clone(), options) else { return Ok(()) };
    coverage.grammars += 1;
    let mut text = grouped.matcher();
    {
        let cache = text.cache();
        let texts = cache.engine().bound_texts(&vocabulary, &cache.deadline());
        let texts = texts.map_err(|limit| cache.limit_error(limit))?;
        if texts.is_err() {
            return Ok(());
        }
        assert!(cache.costs().facts.support.set(BudgetSupport::Grouped).is_ok());
    }
    coverage.grouped += 1;
    // A walk to the state in which the budget is set.
    for _ in 0..random.below(6) {
        let legal = if text.is_finished() { Vec::new() } else { tokens(&text)? };
        let Some(&token) = legal.get(random.below(legal.len().max(1))) else { break };
        assert!(text.accept(token)?);
    }
    let place = format!("{source} after {:?}", String::from_utf8_lossy(&spelled(&text)));
    let minimum = match text.tokens_to_finish() {
        Ok(minimum) => minimum,
        Err(error) if error.code() == Code::NoCompletion => return Ok(()),
        Err(error) => return Err(error),
    };
    if text.is_finished() {
        return Ok(());
    }
    if minimum > 0 {
        let error = text.clone().set_budget(Some(minimum - 1)).expect_err("it is too small");
        assert!(matches!(error, BudgetError::TooSmall { minimum: least, .. } if least == minimum));
    }
    let completion = text.shortest_completion()?;
    assert!(completion.tokens.len() <= minimum as usize, "{place}: {completion:?} of {minimum}");
    let mut ended = text.clone();
    for &token in &completion.tokens {
        assert!(ended.accept(token)?);
    }
    assert!(ended.is_finished());

    let unlimited = tokens(&text)?;
    let mut ample = text.clone();
    ample.set_budget(Some(AMPLE)).map_err(BudgetError::into_grammar_error)?;
    assert_eq!(tokens(&ample)?, unlimited, "{place}: an ample budget");

    let slack = [0, 1, 2, 3, 5, 9][random.below(6)];
    let budget = minimum + slack;
    text.set_budget(Some(budget)).map_err(BudgetError::into_grammar_error)?;
    for spent in 0..=budget {
        if text.is_finished() {
            return Ok(());
        }
        let place = format!("{source} after {:?}, {} left", spelled_text(&text), budget - spent);
        let legal = tokens(&text)?;
        assert!(!legal.is_empty(), "{place}: no token");
        coverage.masks += 1;
        let mut unlimited = text.clone();
        unlimited.set_budget(None).expect("always possible");
        coverage.excluding += usize::from(tokens(&unlimited)?.len() > legal.len());
        let step = vocabulary.size() / 128 + 1;
        for token in (0..vocabulary.size() as u32).step_by(step).map(TokenId) {
            let is_legal = text.validate(&[token])? == 1;
            assert_eq!(is_legal, legal.contains(&token), "{place}: {token:?}");
            let explanation = text.explain(token)?;
            assert_eq!(explanation == Explanation::Allowed, is_legal, "{place}: {token:?}");
            if let Explanation::OverBudget { needed: Some(needed) } = explanation {
                assert!(needed > budget - spent, "{place}: {token:?} needs {needed}");
            }
        }
        // End tokens last, so that texts go on.
        let go_on: Vec<TokenId> = legal.iter().copied().filter(|&token| !vocabulary.is_eos(token)).collect();
        let from = if go_on.is_empty() { &legal } else { &go_on };
        let token = from[random.below(from.len())];
        assert!(text.accept(token)?, "{place}");
        assert_eq!(text.budget(), Some(budget - spent - 1));
    }
    assert!(text.is_finished(), "{place}: over the budget");
    Ok(())
}

fn spelled(matcher: &Matcher) -> Vec<u8> {
    let vocabulary = matcher.compiled().vocabulary();
    matcher.tokens().iter().flat_map(|&token| vocabulary.token(token).unwrap_or_default().to_vec()).collect()
}

fn spelled_text(matcher: &Matcher) -> String {
    String::from_utf8_lossy(&spelled(matcher)).into_owned()
}

#[test]
fn texts_with_shared_costs_end_within_their_budgets() {
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let mut random = Random(number("GRAMMASK_SEED", 1));
    let mut coverage = Coverage::default();
    for case in 0..100 * number("GRAMMASK_CASES", 1) {
        let source = match case % 3 {
            0 => FIXED[random.below(FIXED.len())].to_owned(),
            _ => random.grammar(),
        };
        if let Err(error) = check(&source, &mut random, &mut coverage) {
            assert_eq!(error.code(), Code::LimitExceeded, "{source}: {error}");
        }
    }
    assert!(coverage.grouped > 50 && coverage.masks > 200 && coverage.excluding > 50, "{coverage:?}");
}
