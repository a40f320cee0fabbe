//! The bytes of all tokens in two arrays. Reading a token usually costs one cache miss.

use bytemuck::{Pod, Zeroable};

use crate::TokenId;
use crate::column::{Column, ImageReader, ImageWriter};

/// The texts of tokens `0..len`. A token with an empty text counts as one without text.
///
/// ```
/// use grammask_vocabulary::TokenTexts;
///
/// let mut texts = TokenTexts::builder();
/// texts.push(b"a");
/// texts.push_textless();
/// assert_eq!(texts.finish().iter().collect::<Vec<_>>(), [Some(&b"a"[..]), None]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenTexts {
    slots: Column<TextSlot>,
    /// The texts that do not fit into their slots, concatenated.
    long: Column<u8>,
    text_bytes: usize,
}

/// Texts to which tokens are added.
#[derive(Clone, Debug, Default)]
pub struct TokenTextsBuilder {
    slots: Vec<TextSlot>,
    long: Vec<u8>,
    text_bytes: usize,
}

/// A text of up to [`MAX_INLINE`] bytes, followed by its length. For a longer text, the last byte is [`LONG`],
/// preceded by the start in `long` (8 bytes) and the length (7 bytes), little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(16))]
struct TextSlot([u8; MAX_INLINE + 1]);

/// Maximum length of a text in its slot, in bytes. Nearly all tokens are shorter.
const MAX_INLINE: usize = 15;
/// The last byte of a slot whose text is stored elsewhere.
const LONG: u8 = u8::MAX;

impl TextSlot {
    fn short(text: &[u8]) -> Self {
        let mut slot = [0; MAX_INLINE + 1];
        slot[..text.len()].copy_from_slice(text);
        slot[MAX_INLINE] = text.len() as u8;
        Self(slot)
    }

    fn long(start: usize, length: usize) -> Self {
        let mut slot = [LONG; MAX_INLINE + 1];
        slot[..8].copy_from_slice(&(start as u64).to_le_bytes());
        slot[8..MAX_INLINE].copy_from_slice(&(length as u64).to_le_bytes()[..7]);
        Self(slot)
    }

    #[inline]
    fn text<'a>(&'a self, long: &'a [u8]) -> Option<&'a [u8]> {
        match usize::from(self.0[MAX_INLINE]) {
            0 => None,
            length @ 1..=MAX_INLINE => Some(&self.0[..length]),
            _ => Some(self.long_text(long)),
        }
    }

    #[cold]
    fn long_text<'a>(&self, long: &'a [u8]) -> &'a [u8] {
        let (start, length) = self.place();
        &long[start..start + length]
    }

    /// The start and the length of a long text.
    fn place(&self) -> (usize, usize) {
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |all, &byte| all << 8 | usize::from(byte));
        (number(&self.0[..8]), number(&self.0[8..MAX_INLINE]))
    }

    /// Whether the text is in the slot, or within the long ones.
    fn is_within(&self, long: &[u8]) -> bool {
        let (start, length) = self.place();
        usize::from(self.0[MAX_INLINE]) <= MAX_INLINE
            || start.checked_add(length).is_some_and(|end| end <= long.len())
    }
}

impl TokenTextsBuilder {
    /// So many tokens without text.
    pub(super) fn textless(tokens: usize) -> Self {
        Self { slots: vec![TextSlot::short(&[]); tokens], ..Self::default() }
    }

    /// Gives a token without text a text; `None` if it has one or does not exist.
    pub(super) fn set(&mut self, index: usize, text: &[u8]) -> Option<()> {
        if self.slots.get(index)?.0[MAX_INLINE] != 0 {
            return None;
        }
        self.slots[index] = self.slot_of(text);
        Some(())
    }

    /// Adds the next token.
    pub fn push(&mut self, text: &[u8]) {
        let slot = self.slot_of(text);
        self.slots.push(slot);
    }

    /// The slot of a new text, which is stored in `long` if the slot has no room for it.
    fn slot_of(&mut self, text: &[u8]) -> TextSlot {
        self.text_bytes += text.len();
        if text.len() <= MAX_INLINE {
            return TextSlot::short(text);
        }
        let start = self.long.len();
        self.long.extend_from_slice(text);
        TextSlot::long(start, text.len())
    }

    /// Adds a token without text.
    pub fn push_textless(&mut self) {
        self.push(&[]);
    }

    /// Number of tokens so far, with and without text.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "only for messages")]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Total length of all texts so far, in bytes.
    pub(super) fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// The texts of the tokens.
    #[must_use]
    pub fn finish(self) -> TokenTexts {
        TokenTexts { slots: self.slots.into(), long: self.long.into(), text_bytes: self.text_bytes }
    }
}

impl TokenTexts {
    /// No tokens yet.
    #[must_use]
    pub fn builder() -> TokenTextsBuilder {
        Self::builder_with_capacity(0)
    }

    /// No tokens yet, with capacity for `tokens` of them.
    #[must_use]
    pub fn builder_with_capacity(tokens: usize) -> TokenTextsBuilder {
        TokenTextsBuilder { slots: Vec::with_capacity(tokens), ..TokenTextsBuilder::default() }
    }

    /// Adds the arrays to an image.
    pub(super) fn write(&self, image: &mut ImageWriter) {
        image.column(&self.slots);
        image.column(&self.long);
    }

    /// The texts in an image; `None` if they are inconsistent.
    pub(super) fn read(image: &mut ImageReader<'_>) -> Option<Self> {
        let mut texts = Self { slots: image.column()?, long: image.column()?, text_bytes: 0 };
        if !texts.slots.iter().all(|slot| slot.is_within(&texts.long)) {
            return None;
        }
        texts.text_bytes = texts.iter().flatten().map(<[u8]>::len).sum();
        Some(texts)
    }

    /// Number of tokens, with and without text.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are no tokens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Total length of all texts, in bytes.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// The text of the token at `index`; `None` if it has none or does not exist.
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        self.slots.get(index)?.text(&self.long)
    }

    /// The texts of all tokens in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&[u8]>> {
        self.slots.iter().map(|slot| slot.text(&self.long))
    }

    /// The texts without those of `excluded`. Copies only if one of these has a text.
    pub(super) fn without(self, excluded: impl Iterator<Item = TokenId>) -> Self {
        let mut excluded: Vec<usize> =
            excluded.map(TokenId::index).filter(|&index| self.get(index).is_some()).collect();
        if excluded.is_empty() {
            return self;
        }
        excluded.sort_unstable();
        let mut remaining = Self::builder_with_capacity(self.len());
        for (index, text) in self.iter().enumerate() {
            match text {
                Some(text) if excluded.binary_search(&index).is_err() => remaining.push(text),
                _ => remaining.push_textless(),
            }
        }
        remaining.finish()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&self.slots[..]) + self.long.len()
    }
}

impl<B: AsRef<[u8]>> FromIterator<Option<B>> for TokenTextsBuilder {
    fn from_iter<I: IntoIterator<Item = Option<B>>>(tokens: I) -> Self {
        let tokens = tokens.into_iter();
        let mut texts = TokenTexts::builder_with_capacity(tokens.size_hint().0);
        for token in tokens {
            match token {
                Some(text) => texts.push(text.as_ref()),
                None => texts.push_textless(),
            }
        }
        texts
    }
}

impl<B: AsRef<[u8]>> FromIterator<Option<B>> for TokenTexts {
    fn from_iter<I: IntoIterator<Item = Option<B>>>(tokens: I) -> Self {
        tokens.into_iter().collect::<TokenTextsBuilder>().finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_texts() {
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
        let none = TokenTexts::builder().finish();
        assert_eq!(none.get(0), None);
        assert_eq!(none.get(usize::MAX - 1), None);
        assert_eq!(none.iter().len(), 0);
    }
}
