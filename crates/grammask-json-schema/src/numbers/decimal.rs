//! Exact decimal numbers in JSON notation.

use std::cmp::Ordering;

use super::NumberError;

/// Maximum absolute value of the power of ten of the first digit. Every double-precision number is within.
const MAX_EXPONENT: i64 = 400;

/// Maximum number of significant digits.
const MAX_DIGITS: usize = 1000;

/// A decimal number: a sign and `0.d1d2d3... * 10^exponent`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct Decimal {
    negative: bool,
    /// Digits from 0 to 9, of which the first and the last are nonzero; empty for zero.
    digits: Vec<u8>,
    exponent: i32,
}

/// A number of `enum` or `const`.
#[derive(Clone, Debug)]
pub(in super::super) struct Constant {
    pub(super) value: Decimal,
    /// Whether the schema writes it with a point or an exponent, as programs write a float.
    pub(super) is_float: bool,
}

impl Constant {
    /// The constant `value` that a schema writes as `text`.
    pub(in super::super) fn new(value: Decimal, text: &str) -> Self {
        Self { value, is_float: text.contains(['.', 'e', 'E']) }
    }
}

impl Decimal {
    /// The value of a JSON number.
    ///
    /// # Errors
    /// If the text is not a JSON number, or its value has too many digits or is out of range.
    pub(in super::super) fn parse(text: &str) -> Result<Self, NumberError> {
        let (negative, magnitude) = match text.strip_prefix('-') {
            Some(magnitude) => (true, magnitude),
            None => (false, text),
        };
        let (mantissa, exponent) = match magnitude.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (magnitude, None),
        };
        let (integer, fraction) = match mantissa.split_once('.') {
            Some((integer, fraction)) => (integer, Some(fraction)),
            None => (mantissa, None),
        };
        let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let unsigned = exponent.map(|text| text.strip_prefix(['+', '-']).unwrap_or(text));
        if !is_digits(integer)
            || (integer.len() > 1 && integer.starts_with('0'))
            || !fraction.is_none_or(is_digits)
            || !unsigned.is_none_or(is_digits)
        {
            return Err(NumberError::NotANumber);
        }
        let mut digits: Vec<u8> =
            integer.bytes().chain(fraction.unwrap_or("").bytes()).map(|byte| byte - b'0').collect();
        let leading = digits.iter().take_while(|digit| **digit == 0).count();
        if leading == digits.len() {
            return Ok(Self { negative: false, digits: Vec::new(), exponent: 0 });
        }
        digits.drain(..leading);
        while digits.last() == Some(&0) {
            digits.pop();
        }
        // A text has far fewer than 2^62 digits, so the sum cannot overflow.
        let shift =
            unsigned.map_or(Ok(0), |text| text.parse::<i64>()).map_err(|_| NumberError::OutOfRange)?;
        let shift = if exponent.is_some_and(|text| text.starts_with('-')) { -shift } else { shift };
        let exponent = shift.saturating_add(integer.len() as i64 - leading as i64);
        if !(-MAX_EXPONENT..=MAX_EXPONENT).contains(&exponent) || digits.len() > MAX_DIGITS {
            return Err(NumberError::OutOfRange);
        }
        Ok(Self { negative, digits, exponent: exponent as i32 })
    }

    /// The number as a count, or `None` if it is negative or not an integer. Saturates index `u32::MAX`.
    pub(in super::super) fn to_count(&self) -> Option<u32> {
        if self.negative || !self.is_integer() {
            return None;
        }
        let digits = (0..self.integer_len()).map(|index| u32::from(self.integer_digit(index)));
        Some(digits.fold(0, |count: u32, digit| count.saturating_mul(10).saturating_add(digit)))
    }

    /// Whether the number is zero.
    pub(in super::super) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Whether the number is negative.
    pub(in super::super) fn is_negative(&self) -> bool {
        self.negative
    }

    /// Whether the number is an integer.
    pub(in super::super) fn is_integer(&self) -> bool {
        self.fraction_len() == 0
    }

    /// The significant digits.
    pub(super) fn digits(&self) -> &[u8] {
        &self.digits
    }

    /// The power of ten of the first significant digit.
    pub(super) fn first_power(&self) -> i32 {
        self.exponent - 1
    }

    /// The power of ten of the last significant digit.
    pub(super) fn last_power(&self) -> i32 {
        self.exponent - self.digits.len() as i32
    }

    /// The number of digits before the point; 0 if the integer part is zero.
    pub(super) fn integer_len(&self) -> usize {
        self.exponent.max(0) as usize
    }

    /// The number of digits after the point.
    pub(super) fn fraction_len(&self) -> usize {
        (self.digits.len() as i32 - self.exponent).max(0) as usize
    }

    /// The digit of this index, from 0, in the integer part.
    pub(super) fn integer_digit(&self, index: usize) -> u8 {
        self.digits.get(index).copied().unwrap_or(0)
    }

    /// The digit of this index, from 0, in the fraction.
    pub(super) fn fraction_digit(&self, index: usize) -> u8 {
        let position = self.exponent + index as i32;
        usize::try_from(position).ok().and_then(|position| self.digits.get(position)).copied().unwrap_or(0)
    }

    /// The shortest plain encoding; integers without a point.
    pub(super) fn plain(&self) -> String {
        let digit = |digit: u8| char::from(b'0' + digit);
        let mut text = String::from(if self.negative { "-" } else { "" });
        match self.integer_len() {
            0 => text.push('0'),
            length => text.extend((0..length).map(|index| digit(self.integer_digit(index)))),
        }
        if !self.is_integer() {
            text.push('.');
            text.extend((0..self.fraction_len()).map(|index| digit(self.fraction_digit(index))));
        }
        text
    }

    /// The significant digits with a point after the first, and with the sign.
    pub(super) fn mantissa(&self) -> String {
        let mut text = String::from(if self.negative { "-" } else { "" });
        for (index, digit) in self.digits.iter().enumerate() {
            if index == 1 {
                text.push('.');
            }
            text.push(char::from(b'0' + digit));
        }
        text
    }

    fn magnitude_cmp(&self, other: &Self) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            // Without zeros index either end, digit strings of equal exponent compare lexicographically.
            (false, false) => self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits)),
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.magnitude_cmp(other),
            (true, true) => other.magnitude_cmp(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_equal_in_every_notation() {
        for group in [
            &["0", "-0", "0.00", "-0.0e5", "0e999999999999999999"][..],
            &["1", "1.0", "10e-1", "0.1e1", "1E+0"],
            &["-12.5", "-1.25e1", "-1250e-2", "-12.500"],
            &["100000", "1e5", "1.0e+05"],
        ] {
            let first = Decimal::parse(group[0]).unwrap();
            for text in &group[1..] {
                assert_eq!(Decimal::parse(text), Ok(first.clone()), "{text}");
            }
        }
        assert_eq!(Decimal::parse("-12.50").map(|d| d.plain()), Ok("-12.5".to_owned()));
        assert_eq!(Decimal::parse("1.2e-3").map(|d| d.plain()), Ok("0.0012".to_owned()));
        assert_eq!(Decimal::parse("12e3").map(|d| d.plain()), Ok("12000".to_owned()));
    }

    #[test]
    fn order_is_that_of_the_values() {
        let ascending =
            ["-1e300", "-10", "-9.5", "-9.45", "-0.001", "0", "1e-300", "0.09", "0.1", "9", "10", "1e2"];
        for (index, one) in ascending.iter().enumerate() {
            for (other_index, other) in ascending.iter().enumerate() {
                let (one, other) = (Decimal::parse(one).unwrap(), Decimal::parse(other).unwrap());
                assert_eq!(one.cmp(&other), index.cmp(&other_index), "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn malformed_and_out_of_range_numbers_are_errors() {
        for text in ["", "-", "01", "1.", ".5", "1e", "1e+", "+1", "0x1", "1 ", "NaN"] {
            assert_eq!(Decimal::parse(text), Err(NumberError::NotANumber), "{text}");
        }
        for text in ["1e401", "1e-402", "1e99999999999999999999"] {
            assert_eq!(Decimal::parse(text), Err(NumberError::OutOfRange), "{text}");
        }
    }
}
