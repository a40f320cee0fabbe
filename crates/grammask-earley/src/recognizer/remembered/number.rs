//! JSON numbers by value, read byte by byte.

use super::chains::{ChainId, Chains};

/// The value of a number: its significant digits times a power of ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NumberValue {
    /// False for zero.
    pub(super) is_negative: bool,
    /// The digits without zeros at either end; see [`NumberPrefix::digits`].
    pub(super) digits: ChainId,
    /// The power of ten of the last digit; 0 for zero.
    pub(super) exponent: i128,
}

/// What has been read of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NumberPrefix {
    pub(super) is_negative: bool,
    pub(super) phase: NumberPhase,
    /// The digits without zeros at either end. A run of zeros between them is one item, so a digit after any number of
    /// zeros takes constant time.
    pub(super) digits: ChainId,
    /// The zeros after them.
    pub(super) zeros: u32,
    /// The number of digits after the point.
    pub(super) scale: u32,
    exponent_is_negative: bool,
    exponent: i128,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum NumberPhase {
    Integer,
    Fraction,
    /// After the `e`.
    Exponent,
    /// After a sign or digit of the exponent.
    ExponentDigits,
}

/// Maximum of exponents. Numbers of larger exponents, with 36 digits or more, are equal if their digits are.
const MAX_EXPONENT: i128 = 10_i128.pow(36);

/// A run of `n` zeros in [`NumberPrefix::digits`] is the item `ZEROS + n`, greater than any digit.
const ZEROS: u32 = 1 << 8;

impl NumberValue {
    /// Number of digits from the first to the last one that is not zero.
    pub(super) fn digit_count(self, chains: &Chains) -> u32 {
        let digits = chains.reversed(self.digits).map(|item| item.checked_sub(ZEROS).unwrap_or(1));
        digits.fold(0, u32::saturating_add)
    }
}

/// Whether the digits of an exponent can begin so. All exponents from the maximum on count as equal.
fn can_begin(prefix: i128, exponent: i128) -> bool {
    let shorter = std::iter::successors(Some(exponent), |rest| (*rest > 0).then_some(rest / 10));
    exponent >= MAX_EXPONENT || shorter.into_iter().any(|rest| rest == prefix)
}

impl NumberPrefix {
    /// Before the first byte.
    pub(super) const EMPTY: Self = Self {
        is_negative: false,
        phase: NumberPhase::Integer,
        digits: ChainId::EMPTY,
        zeros: 0,
        scale: 0,
        exponent_is_negative: false,
        exponent: 0,
    };

    /// The number after a byte; `None` if the byte is no part of it.
    pub(super) fn step(self, byte: u8, chains: &mut Chains) -> Option<Self> {
        let mut next = self;
        match (byte, self.phase) {
            (b'-', NumberPhase::Integer) if self == Self::EMPTY => next.is_negative = true,
            (b'.', NumberPhase::Integer) => next.phase = NumberPhase::Fraction,
            (b'e' | b'E', NumberPhase::Integer | NumberPhase::Fraction) => {
                next.phase = NumberPhase::Exponent;
                if self.is_zero() {
                    next.scale = 0;
                }
                let shift = next.zeros.min(next.scale);
                (next.zeros, next.scale) = (next.zeros - shift, next.scale - shift);
            }
            (b'+' | b'-', NumberPhase::Exponent) => {
                next.phase = NumberPhase::ExponentDigits;
                // The exponent of zero has no effect.
                next.exponent_is_negative = byte == b'-' && !self.is_zero();
            }
            (b'0'..=b'9', NumberPhase::Exponent | NumberPhase::ExponentDigits) => {
                next.phase = NumberPhase::ExponentDigits;
                if !self.is_zero() {
                    let exponent = self.exponent * 10 + i128::from(byte - b'0');
                    next.exponent = exponent.min(MAX_EXPONENT);
                }
            }
            (b'0'..=b'9', _) => {
                next.scale += u32::from(self.phase == NumberPhase::Fraction);
                if byte == b'0' {
                    next.zeros += u32::from(!self.is_zero());
                } else {
                    let digits = match self.zeros {
                        0 => self.digits,
                        zeros => chains.push(self.digits, ZEROS.saturating_add(zeros)),
                    };
                    next.digits = chains.push(digits, u32::from(byte));
                    next.zeros = 0;
                }
            }
            _ => return None,
        }
        Some(next)
    }

    /// The value of the number.
    pub(super) fn value(self) -> NumberValue {
        if self.is_zero() {
            return NumberValue { is_negative: false, digits: ChainId::EMPTY, exponent: 0 };
        }
        let exponent = if self.exponent_is_negative { -self.exponent } else { self.exponent };
        NumberValue {
            is_negative: self.is_negative,
            digits: self.digits,
            exponent: exponent + i128::from(self.zeros) - i128::from(self.scale),
        }
    }

    /// Whether a number of this value can begin so. May be true where none can.
    pub(super) fn can_become(self, value: NumberValue, chains: &Chains) -> bool {
        if value.digits == ChainId::EMPTY {
            return self.is_zero();
        }
        if self.is_negative != value.is_negative {
            return false;
        }
        match self.phase {
            NumberPhase::Integer | NumberPhase::Fraction => chains.begins_with(value.digits, self.digits),
            NumberPhase::Exponent => self.digits == value.digits,
            NumberPhase::ExponentDigits => {
                let needed = value.exponent - i128::from(self.zeros) + i128::from(self.scale);
                self.digits == value.digits
                    && (needed == 0 || self.exponent_is_negative == (needed < 0))
                    && can_begin(self.exponent, needed.abs())
            }
        }
    }

    /// The prefix with the zeros that have no effect on values of at most `digits` digits left out, where only values
    /// with exponents of at most `digits` digits count. Zeros before the point have an effect if exponents follow.
    pub(super) fn saturated(self, digits: u32) -> Self {
        let mut saturated = self;
        if self.phase == NumberPhase::Integer {
            saturated.zeros = saturated.zeros.min(digits.saturating_add(1));
        }
        if self.phase == NumberPhase::Fraction {
            // Of these, zeros after the point are left out.
            let zeros = if self.is_zero() { self.scale } else { self.zeros.min(self.scale) };
            let excess = zeros.saturating_sub(digits);
            saturated.scale -= excess;
            saturated.zeros = saturated.zeros.saturating_sub(excess);
        }
        saturated
    }

    /// Whether the digits so far are zeros.
    fn is_zero(self) -> bool {
        self.digits == ChainId::EMPTY
    }
}
