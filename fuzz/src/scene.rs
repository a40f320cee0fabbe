//! A grammar as KBNF, a vocabulary and a walk, generated from the bytes of the fuzzer.
//!
//! The alphabet is small, so that tokens overlap, split characters and end in the middle of symbols.

use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use arbitrary::{Arbitrary, Result, Unstructured};
use grammask::EndMode;
use grammask::vocabulary::{TokenTexts, Vocabulary};

use crate::fuzzed::Step;

const ALPHABET: [&str; 5] = ["a", "b", "c", "é", "你"];
const SPECIAL: [&str; 2] = ["<|x|>", "<|y|>"];
/// Maximum number of rules of a grammar.
const MAX_RULES: u32 = 4;
/// Maximum nesting depth of a right-hand side.
const MAX_DEPTH: u32 = 4;

/// An input of the check.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The grammar.
    pub grammar: String,
    /// The texts of its own vocabulary; `None` for the vocabulary that all scenes of the process share, whose summary
    /// cache persists from grammar to grammar.
    pub texts: Option<Vec<Vec<u8>>>,
    /// The walk.
    pub steps: Vec<Step>,
    /// When texts end.
    pub end: EndMode,
}

impl Scene {
    /// The vocabulary.
    pub fn vocabulary(&self) -> Arc<Vocabulary> {
        static SHARED: OnceLock<Arc<Vocabulary>> = OnceLock::new();
        match &self.texts {
            Some(texts) => Arc::new(vocabulary(texts)),
            None => SHARED
                .get_or_init(|| {
                    let texts = ["a", "b", "c", "é", "你", "ab", "ba", "aa", "aba", "cé", "bc", "abcabc"];
                    let texts: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
                    Arc::new(vocabulary(&texts))
                })
                .clone(),
        }
    }
}

/// The texts, single bytes, two special tokens, an end token with a text that is ignored, and padding.
fn vocabulary(texts: &[Vec<u8>]) -> Vocabulary {
    let mut all = TokenTexts::builder();
    for text in texts {
        all.push(text);
    }
    for byte in ALPHABET.concat().bytes().take(5) {
        all.push(&[byte]);
    }
    all.push_textless();
    all.push(b"a");
    all.push(b"b");
    let eos = all.len() as u32 - 1;
    let special = vec![(SPECIAL[0].to_owned(), eos - 2), (SPECIAL[1].to_owned(), eos - 1)];
    Vocabulary::new(all.finish(), special, vec![eos], Some(eos as usize + 3)).expect("the vocabulary is valid")
}

impl<'a> Arbitrary<'a> for Scene {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let end = if u.ratio(1, 3)? { EndMode::Eager } else { EndMode::Eos };
        let mut texts = None;
        if u.ratio(3, 4)? {
            let count = u.int_in_range(1..=8)?;
            texts = Some((0..count).map(|_| token(u)).collect::<Result<_>>()?);
        }
        let count = u.int_in_range(1..=10)?;
        let steps = (0..count).map(|_| step(u)).collect::<Result<_>>()?;
        let mut grammar = String::new();
        for rule in 0..u.int_in_range(1..=MAX_RULES)? {
            let body = part(u, MAX_DEPTH)?;
            let _ = writeln!(grammar, "{} ::= {body};", rule_name(rule));
        }
        for rule in 0..MAX_RULES {
            // A symbol without a definition derives a letter.
            let name = rule_name(rule);
            if !grammar.contains(&format!("{name} ::=")) {
                let _ = writeln!(grammar, "{name} ::= \"{}\";", ALPHABET[rule as usize % 3]);
            }
        }
        Ok(Self { grammar, texts, steps, end })
    }
}

fn rule_name(rule: u32) -> String {
    if rule == 0 { "start".to_owned() } else { format!("r{rule}") }
}

fn token(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut bytes = text(u, 1, 4)?.into_bytes();
    match u.int_in_range(0..=5)? {
        0 => bytes.truncate(bytes.len().max(2) - 1),
        1 if bytes.len() > 1 => {
            bytes.remove(0);
        }
        2 => bytes.push(0xff),
        _ => {}
    }
    Ok(bytes)
}

fn step(u: &mut Unstructured<'_>) -> Result<Step> {
    let pick = u.arbitrary()?;
    Ok(match u.int_in_range(0..=9)? {
        0 => Step::Try(pick),
        1 => Step::Rollback(pick),
        2 => Step::Fork,
        3 => Step::Switch(pick),
        4 => Step::Reset,
        _ => Step::Accept(pick),
    })
}

fn text(u: &mut Unstructured<'_>, min: u32, max: u32) -> Result<String> {
    let count = u.int_in_range(min..=max)?;
    (0..count).map(|_| u.choose(&ALPHABET).copied()).collect()
}

fn parts(u: &mut Unstructured<'_>, depth: u32, separator: &str) -> Result<String> {
    let count = u.int_in_range(2..=4)?;
    let parts: Vec<String> = (0..count).map(|_| part(u, depth)).collect::<Result<_>>()?;
    Ok(format!("({})", parts.join(separator)))
}

/// A part of a right-hand side. Recurses at most `depth` levels.
fn part(u: &mut Unstructured<'_>, depth: u32) -> Result<String> {
    let kinds = if depth == 0 || u.is_empty() { 11 } else { 17 };
    Ok(match u.int_in_range(0..=kinds)? {
        0..=2 => format!("\"{}\"", text(u, 0, 2)?),
        3..=5 => rule_name(u.int_in_range(0..=MAX_RULES - 1)?),
        6 => format!("#\"{}\"", pattern(u, 3)?),
        7 => format!("#e\"{}\"", pattern(u, 3)?),
        8 => format!("#ex\"{}\"", pattern(u, 2)?),
        9 => format!("#substrs\"{}\"", text(u, 0, 5)?),
        10 => {
            let count = u.int_in_range(1..=3)?;
            let words: Vec<String> =
                (0..count).map(|_| Ok(format!("\"{}\"", text(u, 1, 3)?))).collect::<Result<_>>()?;
            let limit = if u.arbitrary()? { format!(", {}", u.int_in_range(1..=3)?) } else { String::new() };
            format!("except!({}{limit})", words.join(" | "))
        }
        11 => match u.int_in_range(0..=3)? {
            0 => "any!".to_owned(),
            1 => (*u.choose(&SPECIAL)?).to_owned(),
            2 => format!("<[{}]>", u.int_in_range(0..=8)?),
            _ => format!("\"\\b{{{:02x}}}\"", u.choose(&[0xc3_u8, 0xa9, 0xff, 0xbd])?),
        },
        12 | 13 => parts(u, depth - 1, " ")?,
        14 | 15 => parts(u, depth - 1, " | ")?,
        _ => {
            let repeated = part(u, depth - 1)?;
            let suffix = match u.int_in_range(0..=5)? {
                0 => "?".to_owned(),
                1 => "*".to_owned(),
                2 => "+".to_owned(),
                3 => format!("{{{}}}", u.int_in_range(0..=3)?),
                4 => format!("{{{},}}", u.int_in_range(0..=3)?),
                _ => {
                    let min = u.int_in_range(0..=4)?;
                    format!("{{{min},{}}}", u.int_in_range(min..=40)?)
                }
            };
            format!("({repeated}){suffix}")
        }
    })
}

/// A pattern. Recurses at most `depth` levels.
fn pattern(u: &mut Unstructured<'_>, depth: u32) -> Result<String> {
    let kinds = if depth == 0 || u.is_empty() { 5 } else { 9 };
    Ok(match u.int_in_range(0..=kinds)? {
        0..=2 => text(u, 1, 2)?,
        3 => (*u.choose(&[".", "[ab]", "[^a]", "[a-cé]", "(?s:.)", "[^\\\\x00-é]"])?).to_owned(),
        4 => (*u.choose(&["()", "[a&&b]", "^", "$", "(?-u:\\\\b)", "(?i)A"])?).to_owned(),
        5 => String::new(),
        6 => format!("{}{}", pattern(u, depth - 1)?, pattern(u, depth - 1)?),
        7 => format!("({}|{})", pattern(u, depth - 1)?, pattern(u, depth - 1)?),
        8 => format!("({}){}", pattern(u, depth - 1)?, u.choose(&["*", "+", "?", "*?"])?),
        _ => {
            let min: u32 = u.int_in_range(0..=3)?;
            format!("({}){{{min},{}}}", pattern(u, depth - 1)?, u.int_in_range(min..=12)?)
        }
    })
}
