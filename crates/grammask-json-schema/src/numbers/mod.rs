//! Sets of numbers as languages of their JSON encodings.
//!
//! A number has many encodings, and for some constraints no finite automaton classifies all of them: the first digit's
//! place value in `123e-7` depends on both ends of the text. A set is therefore two languages: encodings whose value is
//! surely in the set, and encodings whose value is surely not. Encodings in neither language are never generated, under
//! negation either. The *classified* encodings are plain decimals with any number of trailing zeros, and normalised
//! scientific notation, `d.ddde+dd` with one nonzero digit before the point (for integers with up to 17 digits after
//! it), which covers the output of common programs. Values are compared exactly, as decimals.
//!
//! Multiples of a number other than a power of ten are classified on plain decimals only. [`Numbers::Plain`] admits
//! plain decimals only, and integers without a point. [`Numbers::Natural`] admits the classified encodings that programs
//! write; [`natural`] has the language, which is intersected with a set when its texts are emitted.

mod decimal;
mod natural;
mod number_dfa;
mod remainders;

pub(super) use decimal::{Constant, Decimal};
pub(super) use natural::PlainDigits;

use std::cmp::Ordering;
use std::fmt;

use rustc_hash::FxHashMap;

use crate::automaton_cache::AutomatonCache;
use crate::options::Numbers;
use grammask_automata::{ByteSet, Table, TermId, Terms};
use number_dfa::{AnyNumber, Comparison, PowerOfTen, build_dfa};

/// Maximum number of states for the remainders of one divisor.
const MAX_REMAINDERS: u64 = 200_000;

/// Maximum number of states of the automaton of all numbers.
const MAX_STATES: usize = 100;

/// The errors of numbers in schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberError {
    /// The text is not a JSON number.
    NotANumber,
    /// The number has more than 1,000 digits, or is beyond 1e400 or below 1e-400.
    OutOfRange,
    /// A divisor is not positive.
    NotPositive,
    /// The automaton of the divisor's remainders would have too many states.
    TooManyRemainders,
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotANumber => "this is not a JSON number",
            Self::OutOfRange => "numbers with more than 1000 digits or beyond 1e±400 are not supported",
            Self::NotPositive => "a divisor must be greater than zero",
            Self::TooManyRemainders => "the divisor has too many digits to be enforced",
        })
    }
}

impl std::error::Error for NumberError {}

/// A set of numbers: the encodings of its elements, and those of other numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NumberSet {
    /// Encodings whose value is surely in the set.
    pub(super) yes: TermId,
    /// Encodings whose value is surely not in the set.
    pub(super) no: TermId,
    /// The digits that plain decimals of the set may have, with [`Numbers::Natural`].
    pub(super) digits: PlainDigits,
}

impl NumberSet {
    fn new(yes: TermId, no: TermId) -> Self {
        Self { yes, no, digits: PlainDigits::default() }
    }

    /// All numbers, in all encodings.
    pub(super) fn any(terms: &mut Terms, numbers: Numbers) -> Self {
        let yes = match numbers {
            Numbers::Any | Numbers::Natural => all_encodings(terms),
            Numbers::Plain => classified(terms, numbers),
        };
        Self::new(yes, terms.nothing())
    }

    /// The integers. `1.0` is an integer, but not in the encodings [`Numbers::Plain`] and [`Numbers::Natural`].
    pub(super) fn integer(terms: &mut Terms, numbers: Numbers) -> Self {
        let set = Self::powers(terms, numbers, 0);
        match numbers {
            Numbers::Any => set,
            Numbers::Plain | Numbers::Natural => Self::new(without_point(terms), set.no),
        }
    }

    /// The numbers whose encoding is in `texts`. No encoding is surely outside.
    pub(super) fn of_texts(terms: &mut Terms, texts: TermId) -> Self {
        let all = all_encodings(terms);
        let yes = terms.intersection(&[all, texts]);
        Self::new(yes, terms.nothing())
    }

    /// The numbers `>= bound`.
    pub(super) fn at_least(terms: &mut Terms, numbers: Numbers, bound: &Decimal) -> Self {
        Self::less(terms, numbers, bound).not()
    }

    /// The numbers `> bound`.
    pub(super) fn greater(terms: &mut Terms, numbers: Numbers, bound: &Decimal) -> Self {
        Self::at_most(terms, numbers, bound).not()
    }

    /// The numbers `<= bound`.
    pub(super) fn at_most(terms: &mut Terms, numbers: Numbers, bound: &Decimal) -> Self {
        Self::new(
            compared_with(terms, numbers, bound, &[Ordering::Less, Ordering::Equal]),
            compared_with(terms, numbers, bound, &[Ordering::Greater]),
        )
    }

    /// The numbers `< bound`.
    pub(super) fn less(terms: &mut Terms, numbers: Numbers, bound: &Decimal) -> Self {
        Self::new(
            compared_with(terms, numbers, bound, &[Ordering::Less]),
            compared_with(terms, numbers, bound, &[Ordering::Equal, Ordering::Greater]),
        )
    }

    /// The set of `value`.
    #[cfg(test)]
    pub(super) fn equal(terms: &mut Terms, numbers: Numbers, value: &Decimal) -> Self {
        Self::new(
            encode_values(terms, numbers, std::iter::once(value), numbers),
            compared_with(terms, numbers, value, &[Ordering::Less, Ordering::Greater]),
        )
    }

    /// The set of `constants`. Cost: sorting their texts, then linear in their total length.
    pub(super) fn one_of(terms: &mut Terms, numbers: Numbers, constants: &[Constant]) -> Self {
        let values = constants.iter().map(|constant| &constant.value);
        let all = encode_values(terms, numbers, values.clone(), Numbers::Any);
        let yes = match numbers {
            Numbers::Any => all,
            Numbers::Plain => encode_values(terms, numbers, values.clone(), Numbers::Plain),
            Numbers::Natural => natural::encode_constants(terms, constants),
        };
        let set = Self::new(yes, classified_complement(terms, numbers, all));
        match numbers {
            Numbers::Natural => set.with_digits(PlainDigits::of_values(values)),
            _ => set,
        }
    }

    /// The set, whose plain decimals may have `digits` at least.
    pub(super) fn with_digits(self, digits: PlainDigits) -> Self {
        Self { digits: self.digits.max(digits), ..self }
    }

    /// The multiples of `divisor`.
    ///
    /// # Errors
    /// If the divisor is not positive, or has too many digits.
    pub(super) fn multiple_of(
        terms: &mut Terms,
        numbers: Numbers,
        divisor: &Decimal,
    ) -> Result<Self, NumberError> {
        if divisor.is_zero() || divisor.is_negative() {
            return Err(NumberError::NotPositive);
        }
        let power = divisor.last_power();
        if divisor.digits() == [1] {
            let set = Self::powers(terms, numbers, power);
            return Ok(match numbers {
                Numbers::Natural => set.with_digits(PlainDigits::of_values(std::iter::once(divisor))),
                _ => set,
            });
        }
        // The divisor in units of its last decimal place.
        let fraction = power.min(0).unsigned_abs();
        let zeros = std::iter::repeat_n(0, power.max(0).unsigned_abs() as usize);
        let factor = divisor.digits().iter().copied().chain(zeros).try_fold(0u64, |factor, digit| {
            let factor = factor * 10 + u64::from(digit);
            (factor <= MAX_REMAINDERS).then_some(factor)
        });
        let factor = factor
            .filter(|factor| factor * (u64::from(fraction) + 1) <= MAX_REMAINDERS)
            .and_then(|factor| u32::try_from(factor).ok())
            .ok_or(NumberError::TooManyRemainders)?;
        let magnitude = terms.table(remainders::multiples(factor, fraction));
        let minus = terms.literal(b"-");
        let sign = terms.repeat(minus, 0, Some(1));
        let yes = terms.concat(&[sign, magnitude]);
        let set = Self::new(yes, classified_complement(terms, Numbers::Plain, yes));
        Ok(match numbers {
            Numbers::Natural => set.with_digits(PlainDigits::of_values(std::iter::once(divisor))),
            _ => set,
        })
    }

    /// The complement.
    pub(super) fn not(self) -> Self {
        Self { yes: self.no, no: self.yes, digits: self.digits }
    }

    /// The numbers in every one of `sets`.
    pub(super) fn intersection(terms: &mut Terms, sets: &[Self]) -> Self {
        let [yes, no] =
            [|set: &Self| set.yes, |set: &Self| set.no].map(|side| sets.iter().map(side).collect::<Vec<_>>());
        Self {
            yes: terms.intersection(&yes),
            no: terms.union(&no),
            digits: sets.iter().fold(PlainDigits::default(), |digits, set| digits.max(set.digits)),
        }
    }

    /// The union.
    #[cfg(test)]
    pub(super) fn or(self, terms: &mut Terms, other: Self) -> Self {
        Self {
            yes: terms.union(&[self.yes, other.yes]),
            no: terms.intersection(&[self.no, other.no]),
            digits: self.digits.max(other.digits),
        }
    }

    /// The multiples of a power of ten.
    fn powers(terms: &mut Terms, numbers: Numbers, power: i32) -> Self {
        let numbers = numbers.classified();
        let [yes, no] = [true, false].map(|is_multiple| {
            let key = NumberLanguage::Powers(numbers, power, is_multiple);
            cached(terms, key, || build_dfa(&PowerOfTen { power, is_multiple }, numbers))
        });
        Self::new(yes, no)
    }
}

/// The key of a cached automaton of numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum NumberLanguage {
    /// All JSON numbers, in all encodings.
    All,
    /// All classified encodings.
    Classified(Numbers),
    /// The numbers whose comparison with the bound has one of these results.
    Compared(Numbers, Decimal, &'static [Ordering]),
    /// The multiples of a power of ten, or their complement.
    Powers(Numbers, i32, bool),
    /// The natural encodings with these digits.
    Natural(PlainDigits),
    /// The natural encodings of integers with these digits.
    NaturalInteger(PlainDigits),
}

static AUTOMATA: AutomatonCache<NumberLanguage> = AutomatonCache::new();

/// The language of `key`, built by `build` on a cache miss.
fn cached(terms: &mut Terms, key: NumberLanguage, build: impl FnOnce() -> Table) -> TermId {
    match AUTOMATA.get(key, || Some(build())) {
        Some(table) => terms.table(table),
        None => terms.nothing(),
    }
}

fn classified(terms: &mut Terms, numbers: Numbers) -> TermId {
    let numbers = numbers.classified();
    cached(terms, NumberLanguage::Classified(numbers), || build_dfa(&AnyNumber, numbers))
}

fn classified_complement(terms: &mut Terms, numbers: Numbers, term: TermId) -> TermId {
    let classified = classified(terms, numbers);
    let outside = terms.complement(term);
    terms.intersection(&[classified, outside])
}

fn compared_with(
    terms: &mut Terms,
    numbers: Numbers,
    bound: &Decimal,
    orders: &'static [Ordering],
) -> TermId {
    let numbers = numbers.classified();
    let key = NumberLanguage::Compared(numbers, bound.clone(), orders);
    cached(terms, key, || build_dfa(&Comparison { bound, orders }, numbers))
}

fn digit(terms: &mut Terms) -> TermId {
    terms.bytes(ByteSet::range(b'0', b'9'))
}

/// `-?(0|[1-9][0-9]*)`.
fn without_point(terms: &mut Terms) -> TermId {
    let digit = digit(terms);
    let digits = terms.repeat(digit, 0, None);
    let first = terms.bytes(ByteSet::range(b'1', b'9'));
    let positive = terms.concat(&[first, digits]);
    let zero = terms.literal(b"0");
    let magnitude = terms.union(&[zero, positive]);
    let minus = terms.literal(b"-");
    let sign = terms.repeat(minus, 0, Some(1));
    terms.concat(&[sign, magnitude])
}

/// All JSON numbers: RFC 8259, section 6.
fn all_encodings(terms: &mut Terms) -> TermId {
    cached(terms, NumberLanguage::All, || {
        let mut scratch = Terms::new();
        let all = json_number(&mut scratch);
        scratch.determinize(all, MAX_STATES).unwrap_or_else(|| build_dfa(&AnyNumber, Numbers::Any))
    })
}

fn json_number(terms: &mut Terms) -> TermId {
    let integer = without_point(terms);
    let digit = digit(terms);
    let digits = terms.repeat(digit, 1, None);
    let point = terms.literal(b".");
    let fraction = terms.concat(&[point, digits]);
    let fraction = terms.repeat(fraction, 0, Some(1));
    let exponent = exponent_mark(terms);
    let sign = terms.bytes(ByteSet::single(b'+').union(ByteSet::single(b'-')));
    let sign = terms.repeat(sign, 0, Some(1));
    let exponent = terms.concat(&[exponent, sign, digits]);
    let exponent = terms.repeat(exponent, 0, Some(1));
    terms.concat(&[integer, fraction, exponent])
}

fn exponent_mark(terms: &mut Terms) -> TermId {
    terms.bytes(ByteSet::single(b'e').union(ByteSet::single(b'E')))
}

/// The classified encodings of `values`, integers without a point if `points` is [`Numbers::Plain`].
fn encode_values<'v>(
    terms: &mut Terms,
    numbers: Numbers,
    values: impl Iterator<Item = &'v Decimal>,
    points: Numbers,
) -> TermId {
    let mut integers = Vec::new();
    let mut fractions = Vec::new();
    // The mantissas by exponent and number of digits.
    let mut mantissas: FxHashMap<(i32, usize), Vec<String>> = FxHashMap::default();
    for value in values {
        let plain = value.plain();
        if value.is_zero() {
            integers.push("-0".to_owned());
        }
        if value.is_integer() { &mut integers } else { &mut fractions }.push(plain);
        let digits = value.digits();
        if numbers.classified() == Numbers::Any && !value.is_zero() {
            mantissas.entry((value.first_power(), digits.len())).or_default().push(value.mantissa());
        }
    }
    let zero = terms.literal(b"0");
    let point = terms.literal(b".");
    let mut union = Vec::new();
    let integers = terms.literals(&integers);
    union.push(match points {
        Numbers::Plain | Numbers::Natural => integers,
        Numbers::Any => {
            let zeros = terms.repeat(zero, 1, None);
            let zeros = terms.concat(&[point, zeros]);
            let zeros = terms.repeat(zeros, 0, Some(1));
            terms.concat(&[integers, zeros])
        }
    });
    let fractions = terms.literals(&fractions);
    let zeros = terms.repeat(zero, 0, None);
    union.push(terms.concat(&[fractions, zeros]));
    let mut groups: Vec<((i32, usize), Vec<String>)> = mantissas.into_iter().collect();
    groups.sort_unstable();
    for ((power, len), texts) in groups {
        let mantissas = terms.literals(&texts);
        let zeros = if len == 1 {
            let zeros = terms.repeat(zero, 1, None);
            let zeros = terms.concat(&[point, zeros]);
            terms.repeat(zeros, 0, Some(1))
        } else {
            terms.repeat(zero, 0, None)
        };
        let exponent = exponent(terms, power);
        union.push(terms.concat(&[mantissas, zeros, exponent]));
    }
    terms.union(&union)
}

/// `e` and the encodings of an exponent.
fn exponent(terms: &mut Terms, power: i32) -> TermId {
    let mark = exponent_mark(terms);
    let plus = terms.literal(b"+");
    let minus = terms.literal(b"-");
    let sign = match power {
        0 => terms.union(&[plus, minus]),
        1.. => plus,
        _ => minus,
    };
    let sign = if power < 0 { sign } else { terms.repeat(sign, 0, Some(1)) };
    let zero = terms.literal(b"0");
    let zeros = terms.repeat(zero, 0, None);
    let digits = terms.literal(power.unsigned_abs().to_string().as_bytes());
    terms.concat(&[mark, sign, zeros, digits])
}

#[cfg(test)]
mod tests;
