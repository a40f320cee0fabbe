//! The remaining budget of a text.

/// Number of tokens that a text may still have, its end token included.
///
/// A budget is *ample* in a state if every token that is legal without a budget is also legal with it. Tokens can
/// lengthen a text's shortest completion only by a bounded number of steps, so an ample budget stays ample for a number
/// of tokens that is known in advance: until it falls below `ample_from`. Nothing is checked before that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TokensLeft {
    tokens: u32,
    /// The smallest number of tokens that is known to be ample.
    ample_from: u32,
}

impl TokensLeft {
    /// No budget.
    pub(crate) const UNLIMITED: Self = Self { tokens: u32::MAX, ample_from: 0 };

    /// A budget of `tokens`, ample down to `ample_from`. More than 2^32 - 2 tokens are reduced to that number.
    pub(crate) fn new(tokens: u32, ample_from: u32) -> Self {
        Self { tokens: tokens.min(u32::MAX - 1), ample_from }
    }

    /// Number of tokens; `None` without a budget.
    pub(crate) fn tokens(self) -> Option<u32> {
        (!self.is_unlimited()).then_some(self.tokens)
    }

    #[inline]
    pub(crate) fn is_unlimited(self) -> bool {
        self.tokens == u32::MAX
    }

    /// The number of tokens if it is not known to be ample.
    #[inline]
    pub(crate) fn scarce(self) -> Option<u32> {
        (self.tokens < self.ample_from).then_some(self.tokens)
    }

    /// The budget without the differences that do not matter for masks.
    pub(crate) fn of_mask(self) -> Self {
        self.scarce().map_or(Self::UNLIMITED, |tokens| Self::new(tokens, u32::MAX))
    }

    /// The budget after a token, if it is known to be ample then.
    #[inline]
    pub(crate) fn spend_ample(self) -> Option<Self> {
        if self.is_unlimited() {
            return Some(self);
        }
        let tokens = self.tokens.checked_sub(1).filter(|&tokens| tokens >= self.ample_from)?;
        Some(Self { tokens, ..self })
    }
}
