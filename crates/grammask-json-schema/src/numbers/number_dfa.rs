//! Minimal automata of the classified encodings of numbers whose value satisfies a predicate.
//!
//! The classified encodings are plain decimals and normalised scientific notation: one nonzero digit before the point,
//! an exponent of any length, and for some predicates a maximum number of digits after the point. [`build_dfa`] runs a
//! scanner of this notation and a [`NumberPredicate`] in lockstep, one state of the automaton for each pair of their
//! states.

use std::cmp::Ordering;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::decimal::Decimal;
use crate::options::Numbers;
use grammask_automata::{Table, TableBuilder, TableState};

/// Digits after the point that scientific notation needs for any double-precision number.
const DOUBLE_PRECISION_DIGITS: u8 = 17;

/// A predicate on a number's value that is evaluated digit by digit.
pub(super) trait NumberPredicate {
    /// Maximum number of digits after the point that are classified in scientific notation, if there is a maximum.
    const MAX_FRACTION_DIGITS: Option<u8> = None;

    /// Whether the predicate depends on the sign.
    const DEPENDS_ON_SIGN: bool = true;

    /// The state after some digits of a plain decimal.
    type Plain: Clone + Eq + Hash;
    /// The state after some digits of the mantissa of scientific notation.
    type Mantissa: Clone + Eq + Hash;

    fn plain(&self) -> Self::Plain;
    fn integer_digit(&self, state: &mut Self::Plain, digit: u8);
    fn fraction_digit(&self, state: &mut Self::Plain, digit: u8);
    fn accepts_plain(&self, state: &Self::Plain, negative: bool) -> bool;

    /// The state after the first digit of a mantissa.
    fn mantissa(&self, digit: u8) -> Self::Mantissa;
    fn mantissa_digit(&self, state: &mut Self::Mantissa, digit: u8);
    /// The part of the state that still matters after the last digit of the mantissa.
    fn finish_mantissa(&self, state: &Self::Mantissa) -> Self::Mantissa {
        state.clone()
    }
    /// Forgets what no longer matters of the digits of a plain decimal with this sign.
    fn forget_plain(&self, _state: &mut Self::Plain, _negative: bool) {}
    /// Forgets what no longer matters of a mantissa with this sign.
    fn forget_mantissa(&self, _state: &mut Self::Mantissa, _negative: bool) {}
    /// The number with which the exponent is to be compared.
    fn exponent(&self, state: &Self::Mantissa) -> i32;
    fn accepts_scientific(&self, state: &Self::Mantissa, exponent: Ordering, negative: bool) -> bool;
}

/// An exponent that is compared with a target as it is read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ExponentComparison {
    target: i32,
    negative: bool,
    /// Number of digits without leading zeros, at most one more than the target has.
    len: usize,
    /// The comparison of those digits with the first digits of the target.
    order: Ordering,
}

impl ExponentComparison {
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
        } else {
            self.order = Ordering::Equal;
        }
        self.len = (self.len + 1).min(target_len + 1);
    }

    /// The comparison of the exponent with its target.
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

/// The number of digits of a number's magnitude; 0 for zero.
fn digit_count(number: i32) -> usize {
    number.unsigned_abs().checked_ilog10().map_or(0, |power| power as usize + 1)
}

/// The position in the notation of a number.
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

/// A state of the automaton: the position in the notation and the states of the predicate.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ScanState<Plain, Mantissa> {
    phase: Phase,
    negative: bool,
    plain: Option<Plain>,
    /// The mantissa, and its number of digits after the point.
    mantissa: Option<(Mantissa, u8)>,
    exponent: Option<ExponentComparison>,
}

impl<Plain: Clone, Mantissa: Clone> ScanState<Plain, Mantissa> {
    fn start<P: NumberPredicate<Plain = Plain, Mantissa = Mantissa>>(predicate: &P) -> Self {
        Self {
            phase: Phase::Start,
            negative: false,
            plain: Some(predicate.plain()),
            mantissa: None,
            exponent: None,
        }
    }

    fn step<P: NumberPredicate<Plain = Plain, Mantissa = Mantissa>>(
        &self,
        predicate: &P,
        numbers: Numbers,
        byte: u8,
    ) -> Option<Self> {
        use Phase::{Exponent as Digits, ExponentSign, Fraction, Integer, Mark, Point, Sign, Start, Zero};
        let mut next = self.clone();
        next.phase = match (self.phase, byte) {
            (Start, b'-') => {
                next.negative = P::DEPENDS_ON_SIGN;
                Sign
            }
            (Start | Sign, b'0'..=b'9') => {
                predicate.integer_digit(next.plain.as_mut()?, byte - b'0');
                if byte == b'0' {
                    Zero
                } else {
                    if numbers == Numbers::Any {
                        next.mantissa = Some((predicate.mantissa(byte - b'0'), 0));
                    }
                    Integer
                }
            }
            (Integer, b'0'..=b'9') => {
                predicate.integer_digit(next.plain.as_mut()?, byte - b'0');
                next.mantissa = None;
                Integer
            }
            (Zero | Integer, b'.') => Point,
            (Point | Fraction, b'0'..=b'9') => {
                predicate.fraction_digit(next.plain.as_mut()?, byte - b'0');
                next.mantissa = next.mantissa.filter(|(_, count)| Some(*count) != P::MAX_FRACTION_DIGITS);
                if let Some((mantissa, count)) = &mut next.mantissa {
                    predicate.mantissa_digit(mantissa, byte - b'0');
                    *count += u8::from(P::MAX_FRACTION_DIGITS.is_some());
                }
                Fraction
            }
            (Integer | Fraction, b'e' | b'E') => {
                next.mantissa = next.mantissa.map(|(mantissa, _)| (predicate.finish_mantissa(&mantissa), 0));
                next.mantissa.as_ref()?;
                next.plain = None;
                Mark
            }
            (Mark, b'+' | b'-') | (Mark | ExponentSign | Digits, b'0'..=b'9') => {
                let (mantissa, _) = next.mantissa.as_ref()?;
                let target = predicate.exponent(mantissa);
                let exponent =
                    next.exponent.get_or_insert_with(|| ExponentComparison::new(target, byte == b'-'));
                if byte.is_ascii_digit() {
                    exponent.digit(byte - b'0');
                    Digits
                } else {
                    ExponentSign
                }
            }
            _ => return None,
        };
        if let Some(plain) = &mut next.plain {
            predicate.forget_plain(plain, next.negative);
        }
        if let Some((mantissa, _)) = &mut next.mantissa {
            predicate.forget_mantissa(mantissa, next.negative);
        }
        Some(next)
    }

    fn is_accepting<P: NumberPredicate<Plain = Plain, Mantissa = Mantissa>>(&self, predicate: &P) -> bool {
        match self.phase {
            Phase::Zero | Phase::Integer | Phase::Fraction => {
                self.plain.as_ref().is_some_and(|plain| predicate.accepts_plain(plain, self.negative))
            }
            Phase::Exponent => match (&self.mantissa, &self.exponent) {
                (Some((mantissa, _)), Some(exponent)) => {
                    predicate.accepts_scientific(mantissa, exponent.cmp(), self.negative)
                }
                _ => false,
            },
            _ => false,
        }
    }
}

/// The minimal automaton of the classified encodings that `predicate` accepts.
pub(super) fn build_dfa<P: NumberPredicate>(predicate: &P, numbers: Numbers) -> Table {
    let mut builder = TableBuilder::new();
    let start = builder.add_state();
    let first = ScanState::start(predicate);
    let mut states: FxHashMap<ScanState<P::Plain, P::Mantissa>, TableState> = FxHashMap::default();
    states.insert(first.clone(), start);
    let mut stack = vec![(first, start)];
    while let Some((state, from)) = stack.pop() {
        if state.is_accepting(predicate) {
            builder.accept(from);
        }
        let mut steps = b"+-.0123456789Ee"
            .iter()
            .filter_map(|&byte| state.step(predicate, numbers, byte).map(|next| (byte, next)))
            .peekable();
        while let Some((low, next)) = steps.next() {
            let mut high = low;
            // Most digits lead to the same state as the digit before them.
            while let Some((byte, _)) = steps.next_if(|(byte, other)| *byte == high + 1 && *other == next) {
                high = byte;
            }
            let to = match states.get(&next) {
                Some(&to) => to,
                None => {
                    let to = builder.add_state();
                    states.insert(next.clone(), to);
                    stack.push((next, to));
                    to
                }
            };
            builder.transition(from, low, high, to);
        }
    }
    builder.finish(start)
}

/// Accepts every classified encoding.
pub(super) struct AnyNumber;

impl NumberPredicate for AnyNumber {
    const DEPENDS_ON_SIGN: bool = false;

    type Plain = ();
    type Mantissa = ();

    fn plain(&self) {}
    fn integer_digit(&self, (): &mut (), _: u8) {}
    fn fraction_digit(&self, (): &mut (), _: u8) {}
    fn accepts_plain(&self, (): &(), _: bool) -> bool {
        true
    }
    fn mantissa(&self, _: u8) {}
    fn mantissa_digit(&self, (): &mut (), _: u8) {}
    fn exponent(&self, (): &()) -> i32 {
        0
    }
    fn accepts_scientific(&self, (): &(), _: Ordering, _: bool) -> bool {
        true
    }
}

/// Accepts numbers whose comparison with a bound has one of some results.
pub(super) struct Comparison<'d> {
    pub(super) bound: &'d Decimal,
    pub(super) orders: &'static [Ordering],
}

/// The comparison of the digits of a magnitude so far with those of a bound.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ComparisonState {
    /// Number of digits in the current part of the number, at most one more than the bound has in that part.
    len: usize,
    /// The comparison so far; of an integer part, with the bound's first `len` digits.
    order: Ordering,
    in_fraction: bool,
}

impl Comparison<'_> {
    /// The comparison of a complete integer part with that of the bound.
    fn integer(&self, state: ComparisonState) -> Ordering {
        state.len.cmp(&self.bound.integer_len()).then(state.order)
    }

    /// Whether to accept a number whose magnitude compares to that of the bound as `magnitude`.
    fn accepts_order(&self, magnitude: Ordering, is_zero: bool, negative: bool) -> bool {
        let order = match (negative && !is_zero, self.bound.is_negative()) {
            (false, false) => magnitude,
            (true, true) => magnitude.reverse(),
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
        };
        self.orders.contains(&order)
    }
}

impl ComparisonState {
    const START: Self = Self { len: 0, order: Ordering::Equal, in_fraction: false };
}

/// The comparison of a plain decimal.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PlainComparison {
    digits: ComparisonState,
    /// Whether a nonzero digit was read.
    nonzero: bool,
}

impl NumberPredicate for Comparison<'_> {
    type Plain = PlainComparison;
    type Mantissa = ComparisonState;

    fn plain(&self) -> PlainComparison {
        PlainComparison { digits: ComparisonState::START, nonzero: false }
    }

    fn integer_digit(&self, state: &mut PlainComparison, digit: u8) {
        state.nonzero |= digit > 0;
        if !state.nonzero {
            return;
        }
        let digits = &mut state.digits;
        if digits.len < self.bound.integer_len() {
            digits.order = digits.order.then(digit.cmp(&self.bound.integer_digit(digits.len)));
        } else {
            digits.order = Ordering::Equal;
        }
        digits.len = (digits.len + 1).min(self.bound.integer_len() + 1);
    }

    fn fraction_digit(&self, state: &mut PlainComparison, digit: u8) {
        state.nonzero |= digit > 0;
        let digits = &mut state.digits;
        if !digits.in_fraction {
            *digits = ComparisonState { len: 0, order: self.integer(*digits), in_fraction: true };
        }
        digits.order = digits.order.then(digit.cmp(&self.bound.fraction_digit(digits.len)));
        let max_len = if digits.order == Ordering::Equal { self.bound.fraction_len() } else { 0 };
        digits.len = (digits.len + 1).min(max_len);
    }

    fn accepts_plain(&self, state: &PlainComparison, negative: bool) -> bool {
        let digits = state.digits;
        let (order, read) =
            if digits.in_fraction { (digits.order, digits.len) } else { (self.integer(digits), 0) };
        // The last digit of the bound is nonzero, so its unread digits are a positive value.
        let remainder = read.cmp(&self.bound.fraction_len());
        self.accepts_order(order.then(remainder), !state.nonzero, negative)
    }

    fn mantissa(&self, digit: u8) -> ComparisonState {
        let mut state = ComparisonState::START;
        self.mantissa_digit(&mut state, digit);
        state
    }

    fn mantissa_digit(&self, state: &mut ComparisonState, digit: u8) {
        let other = self.bound.digits().get(state.len).copied().unwrap_or(0);
        state.order = state.order.then(digit.cmp(&other));
        let max_len = if state.order == Ordering::Equal { self.bound.digits().len() } else { 0 };
        state.len = (state.len + 1).min(max_len);
    }

    fn finish_mantissa(&self, state: &ComparisonState) -> ComparisonState {
        let len = self.bound.digits().len();
        ComparisonState { len, order: state.order.then(state.len.cmp(&len)), ..*state }
    }

    // A number whose sign is not that of the bound is compared by its sign, and zero as if it had no digits.
    fn forget_plain(&self, state: &mut PlainComparison, negative: bool) {
        if negative != self.bound.is_negative() {
            state.digits = ComparisonState::START;
        }
    }

    fn forget_mantissa(&self, state: &mut ComparisonState, negative: bool) {
        if negative != self.bound.is_negative() {
            *state = ComparisonState::START;
        }
    }

    fn exponent(&self, _: &ComparisonState) -> i32 {
        self.bound.first_power()
    }

    fn accepts_scientific(&self, state: &ComparisonState, exponent: Ordering, negative: bool) -> bool {
        let mantissa = state.order.then(state.len.cmp(&self.bound.digits().len()));
        let order = if self.bound.is_zero() { Ordering::Greater } else { exponent.then(mantissa) };
        self.accepts_order(order, false, negative)
    }
}

/// Accepts the scientific notations whose magnitudes another predicate accepts, and no plain decimal: these need a state
/// for each digit of a bound, several hundred next to the least double.
pub(super) struct ScientificMagnitude<P>(pub(super) P);

impl<P: NumberPredicate> NumberPredicate for ScientificMagnitude<P> {
    const MAX_FRACTION_DIGITS: Option<u8> = P::MAX_FRACTION_DIGITS;
    const DEPENDS_ON_SIGN: bool = false;

    type Plain = ();
    type Mantissa = P::Mantissa;

    fn plain(&self) {}
    fn integer_digit(&self, (): &mut (), _: u8) {}
    fn fraction_digit(&self, (): &mut (), _: u8) {}
    fn accepts_plain(&self, (): &(), _: bool) -> bool {
        false
    }
    fn mantissa(&self, digit: u8) -> P::Mantissa {
        self.0.mantissa(digit)
    }
    fn mantissa_digit(&self, state: &mut P::Mantissa, digit: u8) {
        self.0.mantissa_digit(state, digit);
    }
    fn finish_mantissa(&self, state: &P::Mantissa) -> P::Mantissa {
        self.0.finish_mantissa(state)
    }
    fn forget_mantissa(&self, state: &mut P::Mantissa, negative: bool) {
        self.0.forget_mantissa(state, negative);
    }
    fn exponent(&self, state: &P::Mantissa) -> i32 {
        self.0.exponent(state)
    }
    fn accepts_scientific(&self, state: &P::Mantissa, exponent: Ordering, _: bool) -> bool {
        self.0.accepts_scientific(state, exponent, false)
    }
}

/// Accepts the multiples of a power of ten, or the other numbers.
pub(super) struct PowerOfTen {
    pub(super) power: i32,
    pub(super) is_multiple: bool,
}

/// The digit counts that determine whether a plain decimal is a multiple of a power of ten.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct DigitCounts {
    nonzero: bool,
    /// Trailing zeros of the integer part, at most as many as are needed.
    zeros: u32,
    /// Digits after the point.
    fraction: u32,
    /// Digits after the point up to the last nonzero one, at most one more than a multiple may have.
    significant: u32,
}

impl PowerOfTen {
    fn max_fraction_digits(&self) -> u32 {
        self.power.min(0).unsigned_abs()
    }

    fn min_trailing_zeros(&self) -> u32 {
        self.power.max(0).unsigned_abs()
    }
}

/// The digit counts of a mantissa that determine whether a number is a multiple of a power of ten.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct MantissaDigits {
    /// Digits after the point.
    fraction: i32,
    /// Digits after the point up to the last nonzero one.
    significant: i32,
}

impl NumberPredicate for PowerOfTen {
    const MAX_FRACTION_DIGITS: Option<u8> = Some(DOUBLE_PRECISION_DIGITS);
    const DEPENDS_ON_SIGN: bool = false;

    type Plain = DigitCounts;
    type Mantissa = MantissaDigits;

    fn plain(&self) -> DigitCounts {
        DigitCounts { nonzero: false, zeros: 0, fraction: 0, significant: 0 }
    }

    fn integer_digit(&self, state: &mut DigitCounts, digit: u8) {
        state.nonzero |= digit > 0;
        state.zeros = if digit == 0 { (state.zeros + 1).min(self.min_trailing_zeros()) } else { 0 };
    }

    fn fraction_digit(&self, state: &mut DigitCounts, digit: u8) {
        state.fraction = (state.fraction + 1).min(self.max_fraction_digits() + 1);
        if digit > 0 {
            state.nonzero = true;
            state.significant = state.fraction;
        }
    }

    fn accepts_plain(&self, state: &DigitCounts, _: bool) -> bool {
        let is_multiple = !state.nonzero
            || (state.zeros >= self.min_trailing_zeros() && state.significant <= self.max_fraction_digits());
        is_multiple == self.is_multiple
    }

    fn mantissa(&self, _: u8) -> MantissaDigits {
        MantissaDigits { fraction: 0, significant: 0 }
    }

    fn mantissa_digit(&self, state: &mut MantissaDigits, digit: u8) {
        state.fraction += 1;
        if digit > 0 {
            state.significant = state.fraction;
        }
    }

    fn finish_mantissa(&self, state: &MantissaDigits) -> MantissaDigits {
        MantissaDigits { fraction: state.significant, ..*state }
    }

    fn exponent(&self, state: &MantissaDigits) -> i32 {
        // The last nonzero digit is `significant` places below the first.
        self.power + state.significant
    }

    fn accepts_scientific(&self, _: &MantissaDigits, exponent: Ordering, _: bool) -> bool {
        (exponent != Ordering::Less) == self.is_multiple
    }
}
