//! The bytes of all tokens, so that a million of them are two allocations, and to read one is to wait for memory once.

use crate::TokenId;

/// The texts of tokens `0..len`, some of which have none. An empty text is no text.
///
/// ```
/// use grammask_vocabulary::TokenTexts;
///
/// let mut texts = TokenTexts::new();
/// texts.push(b"a");
/// texts.push_textless();
/// assert_eq!(texts.iter().collect::<Vec<_>>(), [Some(&b"a"[..]), None]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenTexts {
    entries: Vec<Entry>,
    /// The texts that are too long for their entries.
    long: Vec<u8>,
    text_bytes: usize,
}

/// A text of up to [`SHORT`] bytes, and behind it its length; or [`LONG`] there, and before it where in `long` the text starts and
/// how long it is, as two numbers of eight and seven bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(16))]
struct Entry([u8; SHORT + 1]);

/// Nearly all tokens are as short.
const SHORT: usize = 15;
const LONG: u8 = u8::MAX;

impl Entry {
    fn short(text: &[u8]) -> Self {
        let mut entry = [0; SHORT + 1];
        entry[..text.len()].copy_from_slice(text);
        entry[SHORT] = text.len() as u8;
        Self(entry)
    }

    fn long(start: usize, length: usize) -> Self {
        let mut entry = [LONG; SHORT + 1];
        entry[..8].copy_from_slice(&(start as u64).to_le_bytes());
        entry[8..SHORT].copy_from_slice(&(length as u64).to_le_bytes()[..7]);
        Self(entry)
    }

    #[inline]
    fn text<'a>(&'a self, long: &'a [u8]) -> Option<&'a [u8]> {
        match usize::from(self.0[SHORT]) {
            0 => None,
            length @ 1..=SHORT => Some(&self.0[..length]),
            _ => Some(self.long_text(long)),
        }
    }

    #[cold]
    fn long_text<'a>(&self, long: &'a [u8]) -> &'a [u8] {
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |all, &byte| all << 8 | usize::from(byte));
        let (start, length) = (number(&self.0[..8]), number(&self.0[8..SHORT]));
        &long[start..start + length]
    }
}

impl TokenTexts {
    /// No tokens.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// No tokens, with room for `tokens` of them.
    #[must_use]
    pub fn with_capacity(tokens: usize) -> Self {
        Self { entries: Vec::with_capacity(tokens), ..Self::default() }
    }

    /// Adds the next token; without text if `text` is empty.
    pub fn push(&mut self, text: &[u8]) {
        self.text_bytes += text.len();
        if text.len() <= SHORT {
            return self.entries.push(Entry::short(text));
        }
        self.entries.push(Entry::long(self.long.len(), text.len()));
        self.long.extend_from_slice(text);
    }

    /// Adds a token without text.
    pub fn push_textless(&mut self) {
        self.push(&[]);
    }

    /// Number of tokens, with and without text.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no tokens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of all tokens together.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// The text of the token at `index`; `None` if it has none or does not exist.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        self.entries.get(index)?.text(&self.long)
    }

    /// The texts of all tokens in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&[u8]>> {
        self.entries.iter().map(|entry| entry.text(&self.long))
    }

    /// The same with the texts of `excluded` taken away; copies only if one of them has a text.
    pub(super) fn without(self, excluded: impl Iterator<Item = TokenId>) -> Self {
        let mut excluded: Vec<usize> =
            excluded.map(TokenId::index).filter(|&index| self.get(index).is_some()).collect();
        if excluded.is_empty() {
            return self;
        }
        excluded.sort_unstable();
        let mut kept = Self::with_capacity(self.len());
        for (index, text) in self.iter().enumerate() {
            match text {
                Some(text) if excluded.binary_search(&index).is_err() => kept.push(text),
                _ => kept.push_textless(),
            }
        }
        kept
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.long.capacity()
    }
}

impl<B: AsRef<[u8]>> FromIterator<Option<B>> for TokenTexts {
    fn from_iter<I: IntoIterator<Item = Option<B>>>(tokens: I) -> Self {
        let tokens = tokens.into_iter();
        let mut texts = Self::with_capacity(tokens.size_hint().0);
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
    fn texts_of_all_lengths() {
        let all = [0, 1, 14, 15, 16, 17, 254, 255, 256, 70_000].map(|length| vec![length as u8; length]);
        let texts: TokenTexts = all.iter().map(Some).collect();
        assert_eq!(texts.text_bytes(), all.iter().map(Vec::len).sum::<usize>());
        for (index, text) in all.iter().enumerate() {
            assert_eq!(texts.get(index), (!text.is_empty()).then_some(&text[..]));
        }
        assert!(texts.iter().eq((0..all.len()).map(|index| texts.get(index))));
    }

    #[test]
    fn nothing_is_beyond_the_end() {
        assert_eq!(TokenTexts::new().get(0), None);
        assert_eq!(TokenTexts::new().get(usize::MAX - 1), None);
        assert_eq!(TokenTexts::new().iter().len(), 0);
    }
}
