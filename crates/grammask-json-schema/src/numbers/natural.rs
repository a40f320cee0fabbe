//! Natural encodings: those that programs write. None of them is long, so a model cannot write digits without end.
//!
//! The language has three parts, each with an optional sign:
//!
//! - plain decimals with at most 20 digits on each side of the point, or as many as [`PlainDigits`] says;
//! - the longer plain decimals of ECMA-262 (`Number::toString`), which writes doubles below 1e21 without an exponent, and
//!   those from 1e-6: `123456789012345680000` and `0.0000012345678901234567`;
//! - normalised scientific notation with at most 20 digits after the point and 3 in the exponent, of values that are
//!   finite and not zero as doubles.
//!
//! So it contains `repr` of every double in Python and `JSON.stringify` of every double in JavaScript, and all integers
//! of at most 20 digits.

use super::number_dfa::{Comparison, ScientificMagnitude, build_dfa};
use super::{
    AUTOMATA, Constant, Decimal, NumberLanguage, NumberSet, all_encodings, digit, exponent, exponent_mark,
    without_point,
};
use crate::options::Numbers;
use grammask_automata::{ByteSet, TermId, Terms};
use rustc_hash::FxHashMap;
use std::cmp::Ordering;

/// Maximum number of digits on each side of the point.
const MAX_DIGITS: u16 = 20;

/// Bound on digits above which there is no bound: [`Decimal`] has at most 1,000 digits at powers up to 400.
const MAX_RAISED_DIGITS: u16 = 1500;

/// Maximum number of states of the automata of natural encodings before minimisation.
const MAX_STATES: usize = 1 << 18;

/// The greatest decimal of 21 digits that is a finite double: (2 - 2^-53) 2^1023, where rounding reaches infinity,
/// rounded down.
const MAX_FINITE: &str = "1.79769313486231580793e308";

/// The least positive decimal of 21 digits that is not zero as a double: 2^-1075, which is rounded to zero, rounded up.
const MIN_NONZERO: &str = "2.47032822920623272089e-324";

/// Bounds on the digits of a plain decimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct PlainDigits {
    /// Before the point.
    integer: u16,
    /// After the point.
    fraction: u16,
}

impl Default for PlainDigits {
    fn default() -> Self {
        Self { integer: MAX_DIGITS, fraction: MAX_DIGITS }
    }
}

impl PlainDigits {
    /// The larger bounds.
    pub(super) fn max(self, other: Self) -> Self {
        Self { integer: self.integer.max(other.integer), fraction: self.fraction.max(other.fraction) }
    }

    /// The bounds that admit the plain decimals of `values`.
    pub(super) fn of_values<'v>(values: impl Iterator<Item = &'v Decimal>) -> Self {
        values.fold(Self::default(), |digits, value| {
            digits.max(Self::counts(value.integer_len(), value.fraction_len()))
        })
    }

    /// The bounds that admit a bound of the schema as it is written. An exponent is no plain decimal: programs write
    /// the largest double as `1.7976931348623157e308`, and integers of 309 digits are not meant.
    pub(in super::super) fn written(text: &str) -> Self {
        if text.contains(['e', 'E']) {
            return Self::default();
        }
        let magnitude = text.trim_start_matches('-');
        let (integer, fraction) = magnitude.split_once('.').unwrap_or((magnitude, ""));
        Self::default().max(Self::counts(integer.len(), fraction.len()))
    }

    /// Twice the bounds; `None` beyond the digits of all numbers that a schema can name.
    pub(in super::super) fn doubled(self) -> Option<Self> {
        let longest = self.integer.max(self.fraction);
        (longest < MAX_RAISED_DIGITS).then(|| Self { integer: self.integer * 2, fraction: self.fraction * 2 })
    }

    fn counts(integer: usize, fraction: usize) -> Self {
        let count = |digits: usize| u16::try_from(digits).unwrap_or(u16::MAX).min(MAX_RAISED_DIGITS);
        Self { integer: count(integer), fraction: count(fraction) }
    }
}

impl NumberSet {
    /// The natural texts of the set whose plain decimals have at most `digits`.
    pub(in super::super) fn natural_texts(self, terms: &mut Terms, digits: PlainDigits) -> TermId {
        if self.yes == without_point(terms) {
            return determinized(terms, NumberLanguage::NaturalInteger(digits), |terms| {
                let integers = without_point(terms);
                let natural = natural_encodings(terms, digits);
                terms.intersection(&[integers, natural])
            });
        }
        let natural = natural_encodings(terms, digits);
        if self.yes == all_encodings(terms) { natural } else { terms.intersection(&[self.yes, natural]) }
    }
}

/// The texts of constants: plain decimals without trailing zeros, and of floats those that programs write for a float.
pub(super) fn encode_constants(terms: &mut Terms, constants: &[Constant]) -> TermId {
    let mut plain = Vec::new();
    let mut mantissas: FxHashMap<i32, Vec<String>> = FxHashMap::default();
    for Constant { value, is_float } in constants {
        let text = value.plain();
        if *is_float && value.is_integer() {
            plain.push(format!("{text}.0"));
        }
        if *is_float && value.is_zero() {
            plain.extend(["-0".to_owned(), "-0.0".to_owned()]);
        }
        plain.push(text);
        if *is_float && !value.is_zero() {
            mantissas.entry(value.first_power()).or_default().push(value.mantissa());
        }
    }
    let mut union = vec![terms.literals(&plain)];
    let mut groups: Vec<(i32, Vec<String>)> = mantissas.into_iter().collect();
    groups.sort_unstable();
    for (power, texts) in groups {
        let mantissas = terms.literals(&texts);
        let exponent = exponent(terms, power);
        union.push(terms.concat(&[mantissas, exponent]));
    }
    terms.union(&union)
}

/// All natural encodings whose plain decimals have at most `digits`.
fn natural_encodings(terms: &mut Terms, digits: PlainDigits) -> TermId {
    determinized(terms, NumberLanguage::Natural(digits), |terms| {
        let plain = plain_decimals(terms, digits);
        let scientific = scientific_notation(terms);
        let minus = terms.literal(b"-");
        let sign = terms.repeat(minus, 0, Some(1));
        let plain = terms.concat(&[sign, plain]);
        terms.union(&[plain, scientific])
    })
}

/// The minimal automaton of a language, from the cache of the process; the language itself if the automaton is large.
fn determinized(terms: &mut Terms, key: NumberLanguage, language: impl Fn(&mut Terms) -> TermId) -> TermId {
    let table = AUTOMATA.get(key, || {
        let mut scratch = Terms::new();
        let term = language(&mut scratch);
        scratch.determinize(term, MAX_STATES)
    });
    match table {
        Some(table) => terms.table(table),
        None => language(terms),
    }
}

/// Plain decimals without a sign.
fn plain_decimals(terms: &mut Terms, digits: PlainDigits) -> TermId {
    let digit = digit(terms);
    let first = terms.bytes(ByteSet::range(b'1', b'9'));
    let zero = terms.literal(b"0");
    let point = terms.literal(b".");
    let rest = terms.repeat(digit, 0, Some(u32::from(digits.integer) - 1));
    let positive = terms.concat(&[first, rest]);
    let integer = terms.union(&[zero, positive]);
    let fraction = terms.repeat(digit, 1, Some(u32::from(digits.fraction)));
    let fraction = terms.concat(&[point, fraction]);
    let fraction = terms.repeat(fraction, 0, Some(1));
    let bounded = terms.concat(&[integer, fraction]);
    // ECMA-262 writes the 17 significant digits of a double below 1e21, padded with zeros to 21 digits.
    let significant = terms.repeat(digit, 16, Some(16));
    let padding = terms.literal(b"0000");
    let large = terms.concat(&[first, significant, padding]);
    // At 1e-6, the 17 significant digits of a double are the 6th to the 22nd after the point.
    let leading = terms.repeat(zero, 4, Some(5));
    let significant = terms.repeat(digit, 0, Some(16));
    let small = terms.concat(&[zero, point, leading, first, significant]);
    terms.union(&[bounded, large, small])
}

/// Normalised scientific notation of values that are finite and not zero as doubles.
fn scientific_notation(terms: &mut Terms) -> TermId {
    let digit = digit(terms);
    let minus = terms.literal(b"-");
    let sign = terms.repeat(minus, 0, Some(1));
    let first = terms.bytes(ByteSet::range(b'1', b'9'));
    let point = terms.literal(b".");
    let fraction = terms.repeat(digit, 1, Some(u32::from(MAX_DIGITS)));
    let fraction = terms.concat(&[point, fraction]);
    let fraction = terms.repeat(fraction, 0, Some(1));
    let mark = exponent_mark(terms);
    let exponent_sign = terms.bytes(ByteSet::single(b'+').union(ByteSet::single(b'-')));
    let exponent_sign = terms.repeat(exponent_sign, 0, Some(1));
    let power = terms.repeat(digit, 1, Some(3));
    let notation = terms.concat(&[first, fraction, mark, exponent_sign, power]);
    let mut within = |text: &str, orders| {
        let bound = Decimal::parse(text).ok()?;
        let comparison = ScientificMagnitude(Comparison { bound: &bound, orders });
        Some(terms.table(build_dfa(&comparison, Numbers::Any)))
    };
    let bounds = (
        within(MAX_FINITE, &[Ordering::Less, Ordering::Equal]),
        within(MIN_NONZERO, &[Ordering::Greater, Ordering::Equal]),
    );
    let (Some(finite), Some(nonzero)) = bounds else { return terms.nothing() };
    let magnitude = terms.intersection(&[notation, finite, nonzero]);
    terms.concat(&[sign, magnitude])
}
