//! The bytes of all tokens in one buffer, so that a million of them are two allocations.

use super::TokenId;

/// The texts of tokens `0..len`, some of which have none. An empty text is no text.
///
/// ```
/// use grammask::vocabulary::TokenTexts;
///
/// let mut texts = TokenTexts::new();
/// texts.push(b"a");
/// texts.push_textless();
/// assert_eq!(texts.iter().collect::<Vec<_>>(), [Some(&b"a"[..]), None]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenTexts {
    bytes: Vec<u8>,
    /// Where each text starts, and at the end where the last one ends.
    bounds: Vec<usize>,
}

impl Default for TokenTexts {
    fn default() -> Self {
        Self::new()
    }
}

impl TokenTexts {
    /// No tokens.
    #[must_use]
    pub fn new() -> Self {
        Self { bytes: Vec::new(), bounds: vec![0] }
    }

    /// No tokens, with room for `tokens` of them that have `bytes` bytes together.
    #[must_use]
    pub fn with_capacity(tokens: usize, bytes: usize) -> Self {
        let mut bounds = Vec::with_capacity(tokens.saturating_add(1));
        bounds.push(0);
        Self { bytes: Vec::with_capacity(bytes), bounds }
    }

    /// Adds the next token; without text if `text` is empty.
    pub fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.bounds.push(self.bytes.len());
    }

    /// Adds a token without text.
    pub fn push_textless(&mut self) {
        self.bounds.push(self.bytes.len());
    }

    /// Number of tokens, with and without text.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Whether there are no tokens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all tokens together.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The text of the token at `index`; `None` if it has none or does not exist.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let start = *self.bounds.get(index)?;
        let end = *self.bounds.get(index + 1)?;
        (start < end).then(|| &self.bytes[start..end])
    }

    /// The texts of all tokens in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&[u8]>> {
        self.bounds.windows(2).map(|bound| (bound[0] < bound[1]).then(|| &self.bytes[bound[0]..bound[1]]))
    }

    /// The same with the texts of `excluded` taken away; copies only if one of them has a text.
    pub(super) fn without(self, excluded: impl Iterator<Item = TokenId>) -> Self {
        let mut excluded: Vec<usize> =
            excluded.map(TokenId::index).filter(|&index| self.get(index).is_some()).collect();
        if excluded.is_empty() {
            return self;
        }
        excluded.sort_unstable();
        let mut kept = Self::with_capacity(self.len(), self.text_bytes());
        for (index, text) in self.iter().enumerate() {
            match text {
                Some(text) if excluded.binary_search(&index).is_err() => kept.push(text),
                _ => kept.push_textless(),
            }
        }
        kept
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.bounds.capacity() * size_of::<usize>()
    }
}

impl<B: AsRef<[u8]>> FromIterator<Option<B>> for TokenTexts {
    fn from_iter<I: IntoIterator<Item = Option<B>>>(tokens: I) -> Self {
        let tokens = tokens.into_iter();
        let mut texts = Self::with_capacity(tokens.size_hint().0, 0);
        for token in tokens {
            match token {
                Some(text) => texts.push(text.as_ref()),
                None => texts.push_textless(),
            }
        }
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_texts_away() {
        let texts: TokenTexts = [Some("a"), Some("bc"), None, Some("d")].into_iter().collect();
        let same = texts.clone().without([TokenId(2), TokenId(9)].into_iter());
        assert_eq!(same, texts);
        let fewer = texts.without([TokenId(3), TokenId(1), TokenId(1)].into_iter());
        assert_eq!(fewer.iter().collect::<Vec<_>>(), [Some(&b"a"[..]), None, None, None]);
        assert_eq!(fewer.text_bytes(), 1);
    }

    #[test]
    fn nothing_is_beyond_the_end() {
        assert_eq!(TokenTexts::new().get(0), None);
        assert_eq!(TokenTexts::new().get(usize::MAX - 1), None);
        assert_eq!(TokenTexts::new().iter().len(), 0);
    }
}
