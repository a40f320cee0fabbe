//! Reads the decided spellings of numbers digit by digit and judges their values.
//!
//! The decided spellings are plain decimals and normalised scientific notation (one digit that is not zero before
//! the point, an exponent of any length; for some judges only so many digits behind the point). [`explore`] walks the states of a
//! reader and of a [`Judge`] in lockstep and makes the minimal automaton of the spellings that the judge takes.

use std::cmp::Ordering;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::decimal::Decimal;
use crate::options::Numbers;
use grammask_automata::{Table, TableBuilder, TableState};

/// As many digits behind the point of scientific notation as a double-precision number needs.
const DOUBLE_PRECISION: u8 = 17;

/// What is asked of a number's value.
pub(super) trait Judge {
    /// The most digits behind the point that are decided in scientific notation, if there is a bound.
    const MOST_FRACTION: Option<u8> = None;

    /// Whether the sign matters.
    const MINDS_SIGN: bool = true;

    /// What is remembered of the digits so far, read as a plain decimal.
    type Plain: Clone + Eq + Hash;
    /// What is remembered of the digits so far, read as the mantissa of scientific notation.
    type Mantissa: Clone + Eq + Hash;

    fn plain(&self) -> Self::Plain;
    fn integer_digit(&self, state: &mut Self::Plain, digit: u8);
    fn fraction_digit(&self, state: &mut Self::Plain, digit: u8);
    fn takes_plain(&self, state: &Self::Plain, negative: bool) -> bool;

    /// The mantissa after its first digit.
    fn mantissa(&self, digit: u8) -> Self::Mantissa;
    fn mantissa_digit(&self, state: &mut Self::Mantissa, digit: u8);
    /// What still matters of a mantissa when all its digits are read.
    fn read(&self, state: &Self::Mantissa) -> Self::Mantissa {
        state.clone()
    }
    /// What the exponent is to be compared with.
    fn exponent(&self, state: &Self::Mantissa) -> i32;
    fn takes_scientific(&self, state: &Self::Mantissa, exponent: Ordering, negative: bool) -> bool;
}

/// An exponent that is compared with a target while it is read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Exponent {
    target: i32,
    negative: bool,
    /// Digits without leading zeros, up to one more than the target has.
    len: usize,
    /// Those digits compared with the first of the target.
    order: Ordering,
}

impl Exponent {
    fn new(target: i32, negative: bool) -> Self {
        Self { target, negative, len: 0, order: Ordering::Equal }
    }

    fn digit(&mut self, digit: u8) {
        if self.len == 0 && digit == 0 {
            return;
        }
        let target_len = digit_count(self.target);
        if self.len < target_len {
            let other = self.target.unsigned_abs() / 10_u32.pow((target_len - self.len - 1) as u32) % 10;
            self.order = self.order.then(u32::from(digit).cmp(&other));
        }
        self.len = (self.len + 1).min(target_len + 1);
    }

    /// The exponent compared with its target.
    fn cmp(&self) -> Ordering {
        let magnitude = self.len.cmp(&digit_count(self.target)).then(self.order);
        match (self.negative && self.len > 0, self.target < 0) {
            (false, false) => magnitude,
            (true, true) => magnitude.reverse(),
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
        }
    }
}

/// How many digits a number's magnitude has; none for zero.
fn digit_count(number: i32) -> usize {
    number.unsigned_abs().checked_ilog10().map_or(0, |most| most as usize + 1)
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Phase {
    Start,
    Sign,
    Zero,
    Integer,
    Point,
    Fraction,
    Mark,
    ExponentSign,
    Exponent,
}

struct Reading<J: Judge> {
    phase: Phase,
    negative: bool,
    plain: Option<J::Plain>,
    /// The mantissa, and how many digits behind the point it has.
    mantissa: Option<(J::Mantissa, u8)>,
    exponent: Option<Exponent>,
}

/// A reading as a key.
type Key<J> =
    (Phase, bool, Option<<J as Judge>::Plain>, Option<(<J as Judge>::Mantissa, u8)>, Option<Exponent>);

impl<J: Judge> Clone for Reading<J> {
    fn clone(&self) -> Self {
        Self {
            phase: self.phase,
            negative: self.negative,
            plain: self.plain.clone(),
            mantissa: self.mantissa.clone(),
            exponent: self.exponent.clone(),
        }
    }
}

impl<J: Judge> Reading<J> {
    fn start(judge: &J) -> Self {
        Self {
            phase: Phase::Start,
            negative: false,
            plain: Some(judge.plain()),
            mantissa: None,
            exponent: None,
        }
    }

    fn key(&self) -> Key<J> {
        (self.phase, self.negative, self.plain.clone(), self.mantissa.clone(), self.exponent.clone())
    }

    fn step(&self, judge: &J, numbers: Numbers, byte: u8) -> Option<Self> {
        use Phase::{Exponent as Digits, ExponentSign, Fraction, Integer, Mark, Point, Sign, Start, Zero};
        let mut next = self.clone();
        next.phase = match (self.phase, byte) {
            (Start, b'-') => {
                next.negative = J::MINDS_SIGN;
                Sign
            }
            (Start | Sign, b'0'..=b'9') => {
                judge.integer_digit(next.plain.as_mut()?, byte - b'0');
                if byte == b'0' {
                    Zero
                } else {
                    if numbers == Numbers::Any {
                        next.mantissa = Some((judge.mantissa(byte - b'0'), 0));
                    }
                    Integer
                }
            }
            (Integer, b'0'..=b'9') => {
                judge.integer_digit(next.plain.as_mut()?, byte - b'0');
                next.mantissa = None;
                Integer
            }
            (Zero | Integer, b'.') => Point,
            (Point | Fraction, b'0'..=b'9') => {
                judge.fraction_digit(next.plain.as_mut()?, byte - b'0');
                next.mantissa = next.mantissa.filter(|(_, count)| Some(*count) != J::MOST_FRACTION);
                if let Some((mantissa, count)) = &mut next.mantissa {
                    judge.mantissa_digit(mantissa, byte - b'0');
                    *count += u8::from(J::MOST_FRACTION.is_some());
                }
                Fraction
            }
            (Integer | Fraction, b'e' | b'E') => {
                next.mantissa = next.mantissa.map(|(mantissa, _)| (judge.read(&mantissa), 0));
                next.mantissa.as_ref()?;
                next.plain = None;
                Mark
            }
            (Mark, b'+' | b'-') | (Mark | ExponentSign | Digits, b'0'..=b'9') => {
                let (mantissa, _) = next.mantissa.as_ref()?;
                let target = judge.exponent(mantissa);
                let exponent = next.exponent.get_or_insert_with(|| Exponent::new(target, byte == b'-'));
                if byte.is_ascii_digit() {
                    exponent.digit(byte - b'0');
                    Digits
                } else {
                    ExponentSign
                }
            }
            _ => return None,
        };
        Some(next)
    }

    fn is_taken(&self, judge: &J) -> bool {
        match self.phase {
            Phase::Zero | Phase::Integer | Phase::Fraction => {
                self.plain.as_ref().is_some_and(|plain| judge.takes_plain(plain, self.negative))
            }
            Phase::Exponent => match (&self.mantissa, &self.exponent) {
                (Some((mantissa, _)), Some(exponent)) => {
                    judge.takes_scientific(mantissa, exponent.cmp(), self.negative)
                }
                _ => false,
            },
            _ => false,
        }
    }
}

/// The minimal automaton of the decided spellings that `judge` takes.
pub(super) fn explore<J: Judge>(judge: &J, numbers: Numbers) -> Table {
    let mut builder = TableBuilder::new();
    let start = builder.add_state();
    let first = Reading::start(judge);
    let mut states: FxHashMap<Key<J>, TableState> = FxHashMap::default();
    states.insert(first.key(), start);
    let mut stack = vec![(first, start)];
    while let Some((reading, from)) = stack.pop() {
        if reading.is_taken(judge) {
            builder.accept(from);
        }
        for &byte in b"+-.0123456789Ee" {
            let Some(next) = reading.step(judge, numbers, byte) else { continue };
            let to = *states.entry(next.key()).or_insert_with(|| {
                let to = builder.add_state();
                stack.push((next, to));
                to
            });
            builder.transition(from, byte, byte, to);
        }
    }
    builder.finish(start)
}

/// Takes every decided spelling.
pub(super) struct Everything;

impl Judge for Everything {
    const MINDS_SIGN: bool = false;

    type Plain = ();
    type Mantissa = ();

    fn plain(&self) {}
    fn integer_digit(&self, (): &mut (), _: u8) {}
    fn fraction_digit(&self, (): &mut (), _: u8) {}
    fn takes_plain(&self, (): &(), _: bool) -> bool {
        true
    }
    fn mantissa(&self, _: u8) {}
    fn mantissa_digit(&self, (): &mut (), _: u8) {}
    fn exponent(&self, (): &()) -> i32 {
        0
    }
    fn takes_scientific(&self, (): &(), _: Ordering, _: bool) -> bool {
        true
    }
}

/// Takes the numbers that stand in one of some orders to a bound.
pub(super) struct Comparison<'d> {
    pub(super) bound: &'d Decimal,
    pub(super) wanted: &'static [Ordering],
}

/// The digits of a magnitude so far compared with those of a bound.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Compared {
    /// Digits of the part of the number that is being read, up to one more than the bound has there.
    len: usize,
    /// The digits so far; for the integer part, of as many digits of the bound.
    order: Ordering,
    in_fraction: bool,
}

impl Comparison<'_> {
    /// The integer part that is read, compared with that of the bound.
    fn integer(&self, state: Compared) -> Ordering {
        state.len.cmp(&self.bound.integer_len()).then(state.order)
    }

    /// Whether a number is wanted whose magnitude stands in `magnitude` to that of the bound.
    fn wants(&self, magnitude: Ordering, is_zero: bool, negative: bool) -> bool {
        let order = match (negative && !is_zero, self.bound.is_negative()) {
            (false, false) => magnitude,
            (true, true) => magnitude.reverse(),
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
        };
        self.wanted.contains(&order)
    }
}

impl Judge for Comparison<'_> {
    /// The comparison, and whether a digit that is not zero was read.
    type Plain = (Compared, bool);
    type Mantissa = Compared;

    fn plain(&self) -> (Compared, bool) {
        (Compared { len: 0, order: Ordering::Equal, in_fraction: false }, false)
    }

    fn integer_digit(&self, (state, nonzero): &mut (Compared, bool), digit: u8) {
        *nonzero |= digit > 0;
        if !*nonzero {
            return;
        }
        if state.len < self.bound.integer_len() {
            state.order = state.order.then(digit.cmp(&self.bound.integer_digit(state.len)));
        }
        state.len = (state.len + 1).min(self.bound.integer_len() + 1);
    }

    fn fraction_digit(&self, (state, nonzero): &mut (Compared, bool), digit: u8) {
        *nonzero |= digit > 0;
        if !state.in_fraction {
            *state = Compared { len: 0, order: self.integer(*state), in_fraction: true };
        }
        state.order = state.order.then(digit.cmp(&self.bound.fraction_digit(state.len)));
        let most = if state.order == Ordering::Equal { self.bound.fraction_len() } else { 0 };
        state.len = (state.len + 1).min(most);
    }

    fn takes_plain(&self, &(state, nonzero): &(Compared, bool), negative: bool) -> bool {
        let (order, read) =
            if state.in_fraction { (state.order, state.len) } else { (self.integer(state), 0) };
        // What is left of the bound is not zero.
        let rest = read.cmp(&self.bound.fraction_len());
        self.wants(order.then(rest), !nonzero, negative)
    }

    fn mantissa(&self, digit: u8) -> Compared {
        let mut state = Compared { len: 0, order: Ordering::Equal, in_fraction: false };
        self.mantissa_digit(&mut state, digit);
        state
    }

    fn mantissa_digit(&self, state: &mut Compared, digit: u8) {
        let other = self.bound.digits().get(state.len).copied().unwrap_or(0);
        state.order = state.order.then(digit.cmp(&other));
        let most = if state.order == Ordering::Equal { self.bound.digits().len() } else { 0 };
        state.len = (state.len + 1).min(most);
    }

    fn exponent(&self, _: &Compared) -> i32 {
        self.bound.first_power()
    }

    fn takes_scientific(&self, state: &Compared, exponent: Ordering, negative: bool) -> bool {
        let mantissa = state.order.then(state.len.cmp(&self.bound.digits().len()));
        let order = if self.bound.is_zero() { Ordering::Greater } else { exponent.then(mantissa) };
        self.wants(order, false, negative)
    }
}

/// Takes the multiples of a power of ten, or what is none.
pub(super) struct PowerOfTen {
    pub(super) power: i32,
    pub(super) is_multiple: bool,
}

/// What decides about multiples of powers of ten.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Places {
    nonzero: bool,
    /// Zeros at the end of the integer part, up to as many as are needed.
    zeros: u32,
    /// Digits behind the point.
    fraction: u32,
    /// Digits behind the point up to the last that is not zero, up to one more than there may be.
    significant: u32,
}

impl PowerOfTen {
    fn most_fraction(&self) -> u32 {
        self.power.min(0).unsigned_abs()
    }

    fn fewest_zeros(&self) -> u32 {
        self.power.max(0).unsigned_abs()
    }
}

impl Judge for PowerOfTen {
    const MOST_FRACTION: Option<u8> = Some(DOUBLE_PRECISION);
    const MINDS_SIGN: bool = false;

    type Plain = Places;
    /// Digits behind the point, and those up to the last that is not zero.
    type Mantissa = (i32, i32);

    fn plain(&self) -> Places {
        Places { nonzero: false, zeros: 0, fraction: 0, significant: 0 }
    }

    fn integer_digit(&self, state: &mut Places, digit: u8) {
        state.nonzero |= digit > 0;
        state.zeros = if digit == 0 { (state.zeros + 1).min(self.fewest_zeros()) } else { 0 };
    }

    fn fraction_digit(&self, state: &mut Places, digit: u8) {
        state.fraction = (state.fraction + 1).min(self.most_fraction() + 1);
        if digit > 0 {
            state.nonzero = true;
            state.significant = state.fraction;
        }
    }

    fn takes_plain(&self, state: &Places, _: bool) -> bool {
        let is_multiple = !state.nonzero
            || (state.zeros >= self.fewest_zeros() && state.significant <= self.most_fraction());
        is_multiple == self.is_multiple
    }

    fn mantissa(&self, _: u8) -> (i32, i32) {
        (0, 0)
    }

    fn mantissa_digit(&self, state: &mut (i32, i32), digit: u8) {
        state.0 += 1;
        if digit > 0 {
            state.1 = state.0;
        }
    }

    fn read(&self, &(_, significant): &(i32, i32)) -> (i32, i32) {
        (significant, significant)
    }

    fn exponent(&self, state: &(i32, i32)) -> i32 {
        // The last digit that is not zero stands so many places below the first.
        self.power + state.1
    }

    fn takes_scientific(&self, _: &(i32, i32), exponent: Ordering, _: bool) -> bool {
        (exponent != Ordering::Less) == self.is_multiple
    }
}
