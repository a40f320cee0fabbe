//! Sets of numbers as languages of their JSON spellings.
//!
//! A number has many spellings, and for some constraints no finite automaton decides all of them: `123e-7` needs
//! both ends of its text to know the first digit's place. So a set is two languages: the spellings whose value is
//! surely in it, and those whose value is surely not. What is in neither is never generated, under negation
//! neither. The *decided* spellings are plain decimals with any zeros behind them, and normalised scientific
//! notation, `d.ddde+dd` with one digit that is not zero before the point (for integers, with at most 17 digits behind
//! it): all that common programs write. Values are compared exactly, as decimals.
//!
//! A multiple of anything but a power of ten is decided on plain decimals only. With [`Numbers::Plain`] there are
//! plain decimals only, and an integer is written without a point.

mod decimal;
mod judge;
mod remainders;

pub(super) use decimal::Decimal;

use std::cmp::Ordering;
use std::fmt;

use rustc_hash::FxHashMap;

use super::options::Numbers;
use super::ready_made::ReadyMade;
use grammask_automata::{ByteSet, Table, TermId, Terms};
use judge::{Comparison, Everything, PowerOfTen, explore};

/// Most states for the remainders of one divisor.
const MOST_REMAINDERS: u64 = 200_000;

/// Most states of the automaton of all numbers.
const MOST_STATES: usize = 100;

/// Why a number cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberError {
    /// The text is no JSON number.
    NotANumber,
    /// The number has more than 1,000 digits, or is beyond 1e400 or below 1e-400.
    OutOfRange,
    /// Only multiples of a positive number are a set.
    NotPositive,
    /// The remainders of the divisor would take too many states.
    TooManyRemainders,
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotANumber => "this is no JSON number",
            Self::OutOfRange => "numbers with more than 1000 digits or beyond 1e±400 are not supported",
            Self::NotPositive => "a divisor has to be above zero",
            Self::TooManyRemainders => "the divisor has too many digits to be enforced",
        })
    }
}

impl std::error::Error for NumberError {}

/// A set of numbers: the spellings of what is in it, and of what is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NumberSet {
    /// Spellings whose value is surely in the set.
    pub(super) yes: TermId,
    /// Spellings whose value is surely not in the set.
    pub(super) no: TermId,
}

impl NumberSet {
    /// All numbers, in all spellings.
    pub(super) fn any(terms: &mut Terms, numbers: Numbers) -> Self {
        let yes = match numbers {
            Numbers::Any => all_spellings(terms),
            Numbers::Plain => decided(terms, numbers),
        };
        Self { yes, no: terms.nothing() }
    }

    /// The integers; `1.0` is one, but is not spelled so with [`Numbers::Plain`].
    pub(super) fn integer(terms: &mut Terms, numbers: Numbers) -> Self {
        let set = Self::powers(terms, numbers, 0);
        match numbers {
            Numbers::Any => set,
            Numbers::Plain => Self { yes: without_point(terms), no: set.no },
        }
    }

    /// What is `bound` or above.
    pub(super) fn at_least(terms: &mut Terms, numbers: Numbers, bound: &Decimal) -> Self {
        Self::less(terms, numbers, bound).not()
    }

    /// What is above `bound`.
    pub(super) fn greater(terms: &mut Terms, numbers: Numbers, bound: &Decimal) -> Self {
        Self::at_most(terms, numbers, bound).not()
    }

    /// What is `bound` or below.
    pub(super) fn at_most(terms: &mut Terms, numbers: Numbers, bound: &Decimal) -> Self {
        Self {
            yes: compared(terms, numbers, bound, &[Ordering::Less, Ordering::Equal]),
            no: compared(terms, numbers, bound, &[Ordering::Greater]),
        }
    }

    /// What is below `bound`.
    pub(super) fn less(terms: &mut Terms, numbers: Numbers, bound: &Decimal) -> Self {
        Self {
            yes: compared(terms, numbers, bound, &[Ordering::Less]),
            no: compared(terms, numbers, bound, &[Ordering::Equal, Ordering::Greater]),
        }
    }

    /// Only `value`.
    #[cfg(test)]
    pub(super) fn equal(terms: &mut Terms, numbers: Numbers, value: &Decimal) -> Self {
        Self {
            yes: spelled(terms, numbers, std::slice::from_ref(value), numbers),
            no: compared(terms, numbers, value, &[Ordering::Less, Ordering::Greater]),
        }
    }

    /// Only `values`. Cost: sorting their texts, and then linear in them.
    pub(super) fn one_of(terms: &mut Terms, numbers: Numbers, values: &[Decimal]) -> Self {
        let yes = spelled(terms, numbers, values, numbers);
        let all = spelled(terms, numbers, values, Numbers::Any);
        Self { yes, no: decided_outside(terms, numbers, all) }
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
            return Ok(Self::powers(terms, numbers, power));
        }
        // The divisor in units of the last place that counts.
        let fraction = power.min(0).unsigned_abs();
        let zeros = std::iter::repeat_n(0, power.max(0).unsigned_abs() as usize);
        let factor = divisor.digits().iter().copied().chain(zeros).try_fold(0u64, |factor, digit| {
            let factor = factor * 10 + u64::from(digit);
            (factor <= MOST_REMAINDERS).then_some(factor)
        });
        let factor = factor
            .filter(|factor| factor * (u64::from(fraction) + 1) <= MOST_REMAINDERS)
            .and_then(|factor| u32::try_from(factor).ok())
            .ok_or(NumberError::TooManyRemainders)?;
        let magnitude = terms.table(remainders::multiples(factor, fraction));
        let minus = terms.literal(b"-");
        let sign = terms.repeat(minus, 0, Some(1));
        let yes = terms.concat(&[sign, magnitude]);
        Ok(Self { yes, no: decided_outside(terms, Numbers::Plain, yes) })
    }

    /// All other numbers.
    pub(super) fn not(self) -> Self {
        Self { yes: self.no, no: self.yes }
    }

    /// The numbers in both sets.
    pub(super) fn and(self, terms: &mut Terms, other: Self) -> Self {
        Self { yes: terms.intersection(&[self.yes, other.yes]), no: terms.union(&[self.no, other.no]) }
    }

    /// The numbers in any of both sets.
    #[cfg(test)]
    pub(super) fn or(self, terms: &mut Terms, other: Self) -> Self {
        Self { yes: terms.union(&[self.yes, other.yes]), no: terms.intersection(&[self.no, other.no]) }
    }

    /// The multiples of a power of ten.
    fn powers(terms: &mut Terms, numbers: Numbers, power: i32) -> Self {
        let [yes, no] = [true, false].map(|is_multiple| {
            let subject = Subject::Powers(numbers, power, is_multiple);
            known(terms, subject, || explore(&PowerOfTen { power, is_multiple }, numbers))
        });
        Self { yes, no }
    }
}

/// What a ready-made automaton of numbers is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Subject {
    /// All JSON numbers.
    All,
    /// All decided spellings.
    Decided(Numbers),
    /// What stands in one of these orders to a bound.
    Compared(Numbers, Decimal, &'static [Ordering]),
    /// The multiples of a power of ten, or what is none.
    Powers(Numbers, i32, bool),
}

static KNOWN: ReadyMade<Subject> = ReadyMade::new();

/// The language of `subject`, made by `make` if it is not known.
fn known(terms: &mut Terms, subject: Subject, make: impl FnOnce() -> Table) -> TermId {
    match KNOWN.get(subject, || Some(make())) {
        Some(table) => terms.table(table),
        None => terms.nothing(),
    }
}

fn decided(terms: &mut Terms, numbers: Numbers) -> TermId {
    known(terms, Subject::Decided(numbers), || explore(&Everything, numbers))
}

fn decided_outside(terms: &mut Terms, numbers: Numbers, term: TermId) -> TermId {
    let decided = decided(terms, numbers);
    let outside = terms.complement(term);
    terms.intersection(&[decided, outside])
}

fn compared(terms: &mut Terms, numbers: Numbers, bound: &Decimal, wanted: &'static [Ordering]) -> TermId {
    let subject = Subject::Compared(numbers, bound.clone(), wanted);
    known(terms, subject, || explore(&Comparison { bound, wanted }, numbers))
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

/// Every JSON number: RFC 8259, section 6.
fn all_spellings(terms: &mut Terms) -> TermId {
    known(terms, Subject::All, || {
        let mut scratch = Terms::new();
        let all = every_number(&mut scratch);
        scratch.determinize(all, MOST_STATES).unwrap_or_else(|| explore(&Everything, Numbers::Any))
    })
}

fn every_number(terms: &mut Terms) -> TermId {
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

/// The decided spellings of `values`, integers without a point if `points` is [`Numbers::Plain`].
fn spelled(terms: &mut Terms, numbers: Numbers, values: &[Decimal], points: Numbers) -> TermId {
    let mut integers = Vec::new();
    let mut fractions = Vec::new();
    // The mantissas with as many digits for each power of ten.
    let mut mantissas: FxHashMap<(i32, usize), Vec<String>> = FxHashMap::default();
    for value in values {
        let plain = value.plain();
        if value.is_zero() {
            integers.push("-0".to_owned());
        }
        if value.is_integer() { &mut integers } else { &mut fractions }.push(plain);
        let digits = value.digits();
        if numbers == Numbers::Any && !value.is_zero() {
            let mut text = String::from(if value.is_negative() { "-" } else { "" });
            for (index, digit) in digits.iter().enumerate() {
                if index == 1 {
                    text.push('.');
                }
                text.push(char::from(b'0' + digit));
            }
            mantissas.entry((value.first_power(), digits.len())).or_default().push(text);
        }
    }
    let zero = terms.literal(b"0");
    let point = terms.literal(b".");
    let mut union = Vec::new();
    let integers = terms.literals(&integers);
    union.push(match points {
        Numbers::Plain => integers,
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

/// `e` and the spellings of an exponent.
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
