//! Masks applied to logits, in the same pass as the probability that a mask leaves.
//!
//! The probability mass of a mask is the sum of the model's probabilities of the legal tokens:
//! `sum(exp(l) for legal l) / sum(exp(l))`. Both sums are accumulated block by block, relative to the largest logit so
//! far (the online softmax of Milakov and Gimelshein 2018), so each logit is read from memory once. The exponential is
//! a polynomial in single precision, which compilers vectorise; sums of 32 logits are added in double precision. The
//! result equals a softmax in double precision within 1e-6.

/// Number of logits of a block: the block stays in the first cache between its maximum and its sums.
const BLOCK: usize = 1024;
/// Number of logits that one word of a mask is about.
const WORD: usize = 32;

/// A logit in one of the formats of models.
pub trait Logit: Copy {
    /// The difference of two logits, in single precision.
    fn minus(self, maximum: f64) -> f32;
    /// The value.
    fn value(self) -> f64;
    /// Negative infinity.
    const REFUSED: Self;
}

impl Logit for f32 {
    fn minus(self, maximum: f64) -> f32 {
        // The maximum is a logit, so the conversion is exact.
        self - maximum as f32
    }

    fn value(self) -> f64 {
        f64::from(self)
    }

    const REFUSED: Self = f32::NEG_INFINITY;
}

impl Logit for f64 {
    fn minus(self, maximum: f64) -> f32 {
        (self - maximum) as f32
    }

    fn value(self) -> f64 {
        self
    }

    const REFUSED: Self = f64::NEG_INFINITY;
}

/// The bits of a number in bfloat16.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct BrainFloat(pub u16);

impl Logit for BrainFloat {
    fn minus(self, maximum: f64) -> f32 {
        f32::from_bits(u32::from(self.0) << 16) - maximum as f32
    }

    fn value(self) -> f64 {
        f64::from(f32::from_bits(u32::from(self.0) << 16))
    }

    const REFUSED: Self = Self(0xff80);
}

/// The bits of a number in the half precision of IEEE 754.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct HalfFloat(pub u16);

impl HalfFloat {
    /// The number in single precision: its exponent is moved by a multiplication, which subnormal numbers need anyway.
    fn single(self) -> f32 {
        let bits = u32::from(self.0);
        let magnitude = f32::from_bits((bits & 0x7fff) << 13) * f32::from_bits(0x7780_0000);
        let special =
            if bits & 0x7c00 == 0x7c00 { 0x7f80_0000 | (bits & 0x03ff) << 13 } else { magnitude.to_bits() };
        f32::from_bits(special | (bits & 0x8000) << 16)
    }
}

impl Logit for HalfFloat {
    fn minus(self, maximum: f64) -> f32 {
        self.single() - maximum as f32
    }

    fn value(self) -> f64 {
        f64::from(self.single())
    }

    const REFUSED: Self = Self(0xfc00);
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

/// Sets the logits of tokens that a mask does not admit to negative infinity, and returns the effect of the mask.
/// Logits beyond the mask are refused. Cost: one pass over the logits.
///
/// ```
/// let mut logits = [1.0_f32, 1.0, 1.0, 1.0];
/// let effect = grammask::masked_logits::apply(&mut logits, &[0b0011]);
/// assert_eq!((effect.mass, effect.preferred), (0.5, Some(0)));
/// assert_eq!(logits[3], f32::NEG_INFINITY);
/// ```
pub fn apply<L: Logit>(logits: &mut [L], mask: &[u32]) -> MaskEffect {
    let mut sums =
        Sums { maximum: f64::NEG_INFINITY, all: 0.0, legal: 0.0, preferred: None, is_undefined: false };
    for (block, logits) in logits.chunks_mut(BLOCK).enumerate() {
        let words = mask.get(block * (BLOCK / WORD)..).unwrap_or_default();
        sums.add(logits, words, block * BLOCK);
    }
    let mass = if sums.is_undefined { f64::NAN } else { sums.legal / sums.all };
    MaskEffect { mass, preferred: sums.preferred }
}

/// The sums over the blocks so far.
struct Sums {
    /// The largest logit.
    maximum: f64,
    /// The sum of `exp(logit - maximum)`.
    all: f64,
    /// The same over legal tokens.
    legal: f64,
    preferred: Option<usize>,
    is_undefined: bool,
}

impl Sums {
    fn add<L: Logit>(&mut self, logits: &mut [L], words: &[u32], first: usize) {
        let (maximum, has_nan) = maximum_of(logits);
        self.is_undefined |= has_nan || maximum == f64::INFINITY;
        if maximum > self.maximum {
            self.preferred =
                logits.iter().position(|logit| logit.value() == maximum).map(|index| first + index);
            let factor = (self.maximum - maximum).exp();
            self.all *= factor;
            self.legal *= factor;
            self.maximum = maximum;
        }
        // While no logit is finite, each is either negative infinity, with the probability 0, or makes the softmax undefined.
        let maximum = if self.maximum.is_finite() { self.maximum } else { 0.0 };
        for (index, logits) in logits.chunks_mut(WORD).enumerate() {
            let word = words.get(index).copied().unwrap_or(0);
            let mut all = [0.0_f32; WORD];
            let mut legal = [0.0_f32; WORD];
            for (bit, logit) in logits.iter_mut().enumerate() {
                let weight = exponential(logit.minus(maximum));
                let is_legal = word & (1 << bit) != 0;
                all[bit] = weight;
                legal[bit] = if is_legal { weight } else { 0.0 };
                *logit = if is_legal { *logit } else { L::REFUSED };
            }
            self.all += f64::from(sum(&all));
            self.legal += f64::from(sum(&legal));
        }
    }
}

/// The largest logit, and whether one is NaN.
fn maximum_of<L: Logit>(logits: &[L]) -> (f64, bool) {
    const LANES: usize = 8;
    let mut largest = [f32::NEG_INFINITY; LANES];
    let mut has_nan = [false; LANES];
    for logits in logits.chunks(LANES) {
        for (lane, logit) in logits.iter().enumerate() {
            // Relative to 0, a logit in double precision is rounded: the maximum is then within a rounding error.
            let value = logit.minus(0.0);
            largest[lane] = if value > largest[lane] { value } else { largest[lane] };
            has_nan[lane] |= value.is_nan();
        }
    }
    let rounded = largest.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let is_exact = size_of::<L>() <= size_of::<f32>();
    let maximum = if is_exact {
        f64::from(rounded)
    } else {
        logits.iter().map(|logit| logit.value()).fold(f64::NEG_INFINITY, f64::max)
    };
    (maximum, has_nan.contains(&true))
}

/// The sum, by pairs: the error grows with the logarithm of the number of terms.
fn sum(terms: &[f32; WORD]) -> f32 {
    let mut lanes = [0.0_f32; 8];
    for terms in terms.chunks_exact(8) {
        for (lane, term) in lanes.iter_mut().zip(terms) {
            *lane += term;
        }
    }
    ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))
}

/// `exp(x)` for `x <= 0` with a relative error below 3e-7; 0 below -87, where single precision has subnormal numbers.
///
/// `x = n ln 2 + r` with a whole `n` and `|r| <= ln 2 / 2` (Cody and Waite 1980), and a Taylor polynomial of degree 7 for
/// `exp(r)`, whose error there is below 1e-8.
#[inline]
fn exponential(x: f32) -> f32 {
    /// Adding 1.5 * 2^23 rounds to a whole number, which is then in the low bits.
    const ROUND: f32 = 12_582_912.0;
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let clamped = if x > -87.0 { x } else { -87.0 };
    let shifted = clamped * std::f32::consts::LOG2_E + ROUND;
    let whole = shifted - ROUND;
    let r = clamped - whole * LN_2_HIGH - whole * LN_2_LOW;
    let mut polynomial = 1.0 / 5_040.0;
    for coefficient in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        polynomial = polynomial * r + coefficient;
    }
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(1_f32.to_bits()));
    if x > -87.0 { polynomial * power } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::{HalfFloat, exponential};

    #[test]
    fn the_exponential_is_exact_to_single_precision() {
        for step in 0..87_000 {
            let x = -step as f32 / 1_000.0;
            let exact = f64::from(x).exp();
            assert!((f64::from(exponential(x)) - exact).abs() <= 3e-7 * exact, "{x}");
        }
        assert_eq!((exponential(0.0), exponential(-1e30), exponential(f32::NEG_INFINITY)), (1.0, 0.0, 0.0));
    }

    #[test]
    fn half_precision_is_converted() {
        for (bits, value) in
            [(0x3c00, 1.0), (0xc000, -2.0), (0x0001, 5.960_464_5e-8), (0x7bff, 65_504.0), (0x0000, 0.0)]
        {
            assert_eq!(HalfFloat(bits).single(), value);
        }
        assert_eq!(HalfFloat(0xfc00).single(), f32::NEG_INFINITY);
        assert!(HalfFloat(0x7e00).single().is_nan());
    }
}
