//! Masks applied to logits, in the same pass as the probability that a mask leaves.
//!
//! The probability mass of a mask is the sum of the model's probabilities of the legal tokens:
//! `sum(exp(l) for legal l) / sum(exp(l))`. Both sums are accumulated block by block, relative to the largest logit so
//! far (the online softmax of Milakov and Gimelshein 2018), so each logit is read from memory once. The exponential is
//! a polynomial in single precision, which compilers vectorise; sums of eight logits are added in double precision. The
//! result equals a softmax in double precision within 1e-6.
//!
//! Other processors of logits may have excluded all legal tokens of a row, for example a minimum length where the text
//! has to end. The mask takes precedence: a row without a finite logit of a legal token gets one ([`restore`]), since
//! samplers choose any token from a row without finite logits. Finding the first finite one ends early.
//!
//! The functions are inlined into their callers, so a caller for a target feature such as AVX2 has them compiled for
//! it.

/// Number of logits of a block: the block stays in the first cache between its maximum and its sums.
const BLOCK: usize = 4096;
/// Number of logits of a block that is copied before its mask is applied, and not read if none is legal.
const COPIED_BLOCK: usize = 512;
/// Number of logits of a word of a mask, and of sums that are accumulated side by side.
const WORD: usize = 32;
/// Number of logits that a sum in single precision has at most, which bounds its rounding error.
const TERMS: usize = 8;

/// Number of words of a mask that are tested together for legal tokens.
const TESTED_WORDS: usize = 16;

/// A number that holds all values of a format of logits.
pub trait LogitValue: Copy + PartialOrd + Into<f64> {
    /// Negative infinity.
    const LOWEST: Self;

    /// The difference from the largest value, in single precision.
    fn below(self, maximum: Self) -> f32;
}

impl LogitValue for f32 {
    const LOWEST: Self = Self::NEG_INFINITY;

    #[inline(always)]
    fn below(self, maximum: Self) -> f32 {
        self - maximum
    }
}

impl LogitValue for f64 {
    const LOWEST: Self = Self::NEG_INFINITY;

    #[inline(always)]
    fn below(self, maximum: Self) -> f32 {
        (self - maximum) as f32
    }
}

/// A format of logits.
pub trait LogitFormat {
    /// How numpy stores a logit.
    type Bits: Copy;
    /// The values.
    type Value: LogitValue;
    /// Negative infinity.
    const REFUSED: Self::Bits;
    /// The logit of legal tokens of which none has a finite one, -1,000 in every format. As the logarithm of a
    /// probability it is low, so a beam that other processors have excluded loses against others; after a division by
    /// a temperature it is finite.
    const RESTORED: Self::Bits;

    /// The value of a logit.
    fn value(bits: Self::Bits) -> Self::Value;
}

/// The single precision of IEEE 754.
#[derive(Debug)]
pub enum Float32 {}

impl LogitFormat for Float32 {
    type Bits = f32;
    type Value = f32;
    const REFUSED: f32 = f32::NEG_INFINITY;
    const RESTORED: f32 = -1_000.0;

    #[inline(always)]
    fn value(bits: f32) -> f32 {
        bits
    }
}

/// The double precision of IEEE 754.
#[derive(Debug)]
pub enum Float64 {}

impl LogitFormat for Float64 {
    type Bits = f64;
    type Value = f64;
    const REFUSED: f64 = f64::NEG_INFINITY;
    const RESTORED: f64 = -1_000.0;

    #[inline(always)]
    fn value(bits: f64) -> f64 {
        bits
    }
}

/// The upper half of single precision, as bits.
#[derive(Debug)]
pub enum BFloat16 {}

impl LogitFormat for BFloat16 {
    type Bits = u16;
    type Value = f32;
    const REFUSED: u16 = 0xff80;
    const RESTORED: u16 = 0xc47a;

    #[inline(always)]
    fn value(bits: u16) -> f32 {
        f32::from_bits(u32::from(bits) << 16)
    }
}

/// The half precision of IEEE 754, as bits.
#[derive(Debug)]
pub enum Float16 {}

impl LogitFormat for Float16 {
    type Bits = u16;
    type Value = f32;
    const REFUSED: u16 = 0xfc00;
    const RESTORED: u16 = 0xe3d0;

    /// The exponent is moved by a multiplication, which subnormal numbers need anyway.
    #[inline(always)]
    fn value(bits: u16) -> f32 {
        let bits = u32::from(bits);
        let magnitude = f32::from_bits((bits & 0x7fff) << 13) * f32::from_bits(0x7780_0000);
        let special =
            if bits & 0x7c00 == 0x7c00 { 0x7f80_0000 | (bits & 0x03ff) << 13 } else { magnitude.to_bits() };
        f32::from_bits(special | (bits & 0x8000) << 16)
    }
}

/// The effect of a mask on the probabilities of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaskEffect {
    /// The probability of the legal tokens together; NaN if the softmax is undefined: a logit is NaN or positive
    /// infinity, or none is finite.
    pub mass: f64,
    /// The first token with the largest logit before the mask; `None` if there is no logit above negative infinity.
    pub preferred: Option<usize>,
}

/// Sets the logits of tokens that a mask does not admit to negative infinity, in a row or a part of one. Logits beyond
/// the mask are refused. [`restore`] follows for the whole row. Cost: one pass over the logits.
#[inline(always)]
pub fn refuse<F: LogitFormat>(logits: &mut [F::Bits], mask: &[u32]) {
    let (masked, beyond) = logits.split_at_mut(logits.len().min(mask.len() * WORD));
    for (logits, &word) in masked.chunks_mut(WORD).zip(mask) {
        for (bit, logit) in logits.iter_mut().enumerate() {
            *logit = if word & (1 << bit) != 0 { *logit } else { F::REFUSED };
        }
    }
    beyond.fill(F::REFUSED);
}

/// Gives finite logits to the legal tokens of a row if none of them has one: [`LogitFormat::RESTORED`] to those with the
/// largest logit, where NaN counts as negative infinity, and negative infinity to the others. Illegal tokens have
/// negative infinity already. Rows without legal tokens are not changed.
///
/// ```
/// use grammask::masked_logits::{Float32, refuse, restore};
///
/// let mut logits = [f32::NEG_INFINITY, 2.0, f32::NAN];
/// refuse::<Float32>(&mut logits, &[0b101]);
/// restore::<Float32>(&mut logits, &[0b101]);
/// assert_eq!(logits, [-1_000.0, f32::NEG_INFINITY, -1_000.0]);
/// ```
///
/// Cost: the words of the mask, up to the first legal token with a finite logit.
pub fn restore<F: LogitFormat>(logits: &mut [F::Bits], mask: &[u32]) {
    let mut has_highest = false;
    let has_finite = any_legal(mask, logits.len(), |token| {
        has_highest |= F::value(logits[token]).into() == f64::INFINITY;
        is_finite::<F>(logits[token])
    });
    if has_finite {
        return;
    }
    any_legal(mask, logits.len(), |token| {
        let is_largest = !has_highest || F::value(logits[token]).into() == f64::INFINITY;
        logits[token] = if is_largest { F::RESTORED } else { F::REFUSED };
        false
    });
}

fn is_finite<F: LogitFormat>(logit: F::Bits) -> bool {
    F::value(logit).into().is_finite()
}

/// Whether a legal token below a limit has a property. The tokens are tested in ascending order, up to the first with it.
#[inline(always)]
fn any_legal(mask: &[u32], limit: usize, mut has_property: impl FnMut(usize) -> bool) -> bool {
    for (part, words) in mask.chunks(TESTED_WORDS).enumerate() {
        if words.iter().fold(0, |bits, word| bits | word) == 0 {
            continue;
        }
        for (place, &word) in (part * TESTED_WORDS..).zip(words) {
            let mut rest = word;
            while rest != 0 {
                let token = place * WORD + rest.trailing_zeros() as usize;
                if token >= limit {
                    return false;
                }
                if has_property(token) {
                    return true;
                }
                rest &= rest - 1;
            }
        }
    }
    false
}

/// Copies logits, with negative infinity for tokens that a mask does not admit, as [`refuse`] and [`restore`] change a
/// row. Logits beyond the mask are refused.
/// Cost: one pass over the target, and over the blocks of logits that have a legal one.
///
/// `refuse_block` is [`refuse`] for a block of the target and its words.
///
/// ```
/// use grammask::masked_logits::{Float32, copy_legal, refuse};
///
/// let mut target = [0.0; 3];
/// copy_legal::<Float32>(&[1.0, 2.0, 3.0], &[0b0101], &mut target, refuse::<Float32>);
/// assert_eq!(target, [1.0, f32::NEG_INFINITY, 3.0]);
/// ```
///
/// # Panics
/// If the numbers of logits differ.
pub fn copy_legal<F: LogitFormat>(
    logits: &[F::Bits],
    mask: &[u32],
    target: &mut [F::Bits],
    refuse_block: impl Fn(&mut [F::Bits], &[u32]),
) {
    assert_eq!(logits.len(), target.len(), "a copy has as many logits");
    let mut words = mask.chunks(COPIED_BLOCK / WORD);
    let mut has_finite = false;
    for (target, logits) in target.chunks_mut(COPIED_BLOCK).zip(logits.chunks(COPIED_BLOCK)) {
        let words = words.next().unwrap_or_default();
        if words.iter().all(|&word| word == 0) {
            target.fill(F::REFUSED);
        } else {
            target.copy_from_slice(logits);
            refuse_block(target, words);
            has_finite = has_finite || any_legal(words, target.len(), |token| is_finite::<F>(target[token]));
        }
    }
    if !has_finite {
        restore::<F>(target, mask);
    }
}

/// As [`refuse`] and [`restore`], and returns the effect of the mask. Cost: one pass over the logits, with an
/// exponential for each.
///
/// ```
/// use grammask::masked_logits::{Float32, measure};
///
/// let mut logits = [1.0_f32, 1.0, 1.0, 1.0];
/// let effect = measure::<Float32>(&mut logits, &[0b0011]);
/// assert_eq!((effect.mass, effect.preferred), (0.5, Some(0)));
/// assert_eq!(logits[3], f32::NEG_INFINITY);
/// ```
#[inline(always)]
pub fn measure<F: LogitFormat>(logits: &mut [F::Bits], mask: &[u32]) -> MaskEffect {
    Sums::<F, false>::of(logits, mask)
}

/// As [`measure`], with fused multiplications and additions: faster where the target has instructions for them, and
/// much slower elsewhere.
#[inline(always)]
pub fn measure_fused<F: LogitFormat>(logits: &mut [F::Bits], mask: &[u32]) -> MaskEffect {
    Sums::<F, true>::of(logits, mask)
}

/// The sums over the blocks so far.
struct Sums<F: LogitFormat, const FUSED: bool> {
    /// The largest logit.
    maximum: F::Value,
    /// The first token with this logit.
    preferred: Option<usize>,
    /// The sum of `exp(logit - maximum)`.
    all: f64,
    /// The same over legal tokens.
    legal: f64,
}

impl<F: LogitFormat, const FUSED: bool> Sums<F, FUSED> {
    #[inline(always)]
    fn of(logits: &mut [F::Bits], mask: &[u32]) -> MaskEffect {
        let mut sums = Self { maximum: F::Value::LOWEST, preferred: None, all: 0.0, legal: 0.0 };
        for (block, logits) in logits.chunks_mut(BLOCK).enumerate() {
            let words = mask.get(block * (BLOCK / WORD)..).unwrap_or_default();
            sums.add(logits, words, block * BLOCK);
        }
        restore::<F>(logits, mask);
        // Without a logit above negative infinity, the sums have what the exponential returns for the least numbers.
        let mass = if sums.preferred.is_some() { sums.legal / sums.all } else { f64::NAN };
        MaskEffect { mass, preferred: sums.preferred }
    }

    #[inline(always)]
    fn add(&mut self, logits: &mut [F::Bits], words: &[u32], first: usize) {
        let maximum = maximum_of::<F>(logits);
        if maximum > self.maximum {
            let place = logits.iter().position(|&logit| F::value(logit) == maximum);
            self.preferred = place.map(|index| first + index);
            let factor = (self.maximum.into() - maximum.into()).exp();
            self.all *= factor;
            self.legal *= factor;
            self.maximum = maximum;
        }
        if self.preferred.is_none() {
            // Each logit of the block is negative infinity, whose probability is 0, or NaN.
            self.all += logits
                .iter()
                .map(|&logit| F::value(logit).into())
                .filter(|value| value.is_nan())
                .sum::<f64>();
            refuse::<F>(logits, words);
            return;
        }
        let maximum = self.maximum;
        let mut all = [0.0_f64; WORD];
        let mut legal = [0.0_f64; WORD];
        for (index, logits) in logits.chunks_mut(WORD * TERMS).enumerate() {
            let words = words.get(index * TERMS..).unwrap_or_default();
            let mut part = WordSums::default();
            for (index, logits) in logits.chunks_mut(WORD).enumerate() {
                let word = words.get(index).copied().unwrap_or(0);
                if let Ok(logits) = <&mut [F::Bits; WORD]>::try_from(&mut *logits) {
                    part.add::<F, FUSED>(logits, word, maximum);
                    continue;
                }
                let mut padded = [F::REFUSED; WORD];
                padded[..logits.len()].copy_from_slice(logits);
                part.add::<F, FUSED>(&mut padded, word, maximum);
                logits.copy_from_slice(&padded[..logits.len()]);
            }
            for bit in 0..WORD {
                all[bit] += f64::from(part.all[bit]);
                legal[bit] += f64::from(part.legal[bit]);
            }
        }
        self.all += sum(all);
        self.legal += sum(legal);
    }
}

/// Sums in single precision of at most `TERMS` weights, by the bit of the word that the logit has.
#[derive(Default)]
struct WordSums {
    all: [f32; WORD],
    legal: [f32; WORD],
}

impl WordSums {
    #[inline(always)]
    fn add<F: LogitFormat, const FUSED: bool>(
        &mut self,
        logits: &mut [F::Bits; WORD],
        word: u32,
        maximum: F::Value,
    ) {
        for (bit, logit) in logits.iter_mut().enumerate() {
            let weight = exponential::<FUSED>(F::value(*logit).below(maximum));
            let is_legal = word & (1 << bit) != 0;
            self.all[bit] += weight;
            self.legal[bit] += if is_legal { weight } else { 0.0 };
            *logit = if is_legal { *logit } else { F::REFUSED };
        }
    }
}

/// The largest logit that is not NaN.
#[inline(always)]
fn maximum_of<F: LogitFormat>(logits: &[F::Bits]) -> F::Value {
    let larger = |value: F::Value, largest: F::Value| if value > largest { value } else { largest };
    let mut lanes = [F::Value::LOWEST; WORD];
    let (words, rest) = logits.as_chunks::<WORD>();
    for word in words {
        for bit in 0..WORD {
            lanes[bit] = larger(F::value(word[bit]), lanes[bit]);
        }
    }
    let rest = rest.iter().map(|&logit| F::value(logit));
    lanes.into_iter().chain(rest).fold(F::Value::LOWEST, |largest, value| larger(value, largest))
}

/// The sum, by pairs.
#[inline(always)]
fn sum(mut terms: [f64; WORD]) -> f64 {
    let mut half = WORD / 2;
    while half > 0 {
        for index in 0..half {
            terms[index] += terms[index + half];
        }
        half /= 2;
    }
    terms[0]
}

/// `exp(x)` for `x <= 0` with a relative error below 4e-7, and at least `exp(-87)`, below which single precision has
/// subnormal numbers. NaN for NaN.
///
/// `x = n ln 2 + r` with a whole `n` and `|r| <= ln 2 / 2` (Cody and Waite 1980), and a polynomial of degree 5 for `exp(r)`.
#[inline(always)]
fn exponential<const FUSED: bool>(x: f32) -> f32 {
    /// Adding 1.5 * 2^23 rounds to a whole number, which is then in the low bits.
    const ROUND: f32 = 12_582_912.0;
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let times_plus = |a: f32, b: f32, c: f32| if FUSED { a.mul_add(b, c) } else { a * b + c };
    let clamped = if x < -87.0 { -87.0 } else { x };
    let shifted = times_plus(clamped, std::f32::consts::LOG2_E, ROUND);
    let whole = shifted - ROUND;
    let r = times_plus(whole, -LN_2_LOW, times_plus(whole, -LN_2_HIGH, clamped));
    let mut polynomial = COEFFICIENTS[0];
    for coefficient in &COEFFICIENTS[1..] {
        polynomial = times_plus(polynomial, r, *coefficient);
    }
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(1_f32.to_bits()));
    // Unlike an addition to the exponent, the multiplication keeps NaN.
    polynomial * power
}

/// The coefficients of the polynomial, from that of the highest degree on: `(exp(r) - 1) / r` interpolated in double
/// precision at five Chebyshev nodes. Relative error of `exp(r)`: 2.1e-7.
const COEFFICIENTS: [f32; 6] = [0.008_363_17, 0.041_875_65, 0.166_665_78, 0.499_993_7, 1.0, 1.0];

#[cfg(test)]
mod tests {
    use super::{Float16, LogitFormat, exponential};

    #[test]
    fn the_exponential_is_exact_to_single_precision() {
        for step in 0..87_000 {
            let x = -step as f32 / 1_000.0;
            let exact = f64::from(x).exp();
            for value in [exponential::<false>(x), exponential::<true>(x)] {
                assert!((f64::from(value) - exact).abs() <= 4e-7 * exact, "{x}");
            }
        }
        assert_eq!(exponential::<false>(0.0), 1.0);
        assert!(exponential::<false>(-1e30) < 1e-37 && exponential::<false>(f32::NEG_INFINITY) < 1e-37);
        assert!(exponential::<false>(f32::NAN).is_nan());
    }

    #[test]
    fn half_precision_is_converted() {
        for (bits, value) in
            [(0x3c00, 1.0), (0xc000, -2.0), (0x0001, 5.960_464_5e-8), (0x7bff, 65_504.0), (0x0000, 0.0)]
        {
            assert_eq!(Float16::value(bits), value);
        }
        assert_eq!(Float16::value(0xfc00), f32::NEG_INFINITY);
        assert!(Float16::value(0x7e00).is_nan());
    }
}
