//! The bytes of all tokens in two allocations. Reading a token usually costs one cache miss.

use crate::TokenId;

/// The texts of tokens `0..len`. A token with an empty text counts as one without text.
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
    slots: Vec<TextSlot>,
    /// The texts that do not fit into their slots, concatenated.
    long: Vec<u8>,
    text_bytes: usize,
}

/// A text of up to [`MAX_INLINE`] bytes, followed by its length. For a longer text, the last byte is [`LONG`],
/// preceded by the start in `long` (8 bytes) and the length (7 bytes), little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(16))]
struct TextSlot([u8; MAX_INLINE + 1]);

/// Maximum length of a text in its slot, in bytes. Nearly all tokens are shorter.
const MAX_INLINE: usize = 15;
/// The last byte of a slot whose text is stored elsewhere.
const LONG: u8 = u8::MAX;

/// The first 16 bytes of a text, or the whole text and zeros, the first byte in the lowest bits.
///
/// With it, the slot of a text that continues a prefix of its predecessor is made in registers. A slot that is written in
/// pieces and read as a whole has no store forwarding: that took a fifth of opening a file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TextBeginning(u128);

impl TextBeginning {
    /// The beginning of the first `shared` bytes of the text, followed by the first `length` bytes of `suffix`.
    pub(super) fn followed_by(self, shared: usize, suffix: u128, length: usize) -> Self {
        let lowest = |bytes: usize| if bytes < 16 { (1_u128 << (8 * bytes)) - 1 } else { u128::MAX };
        let suffix = if shared < 16 { (suffix & lowest(length)) << (8 * shared) } else { 0 };
        Self(self.0 & lowest(shared) | suffix)
    }
}

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
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |all, &byte| all << 8 | usize::from(byte));
        let (start, length) = (number(&self.0[..8]), number(&self.0[8..MAX_INLINE]));
        &long[start..start + length]
    }
}

impl TokenTexts {
    /// No tokens.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// No tokens, with capacity for `tokens` of them.
    #[must_use]
    pub fn with_capacity(tokens: usize) -> Self {
        Self { slots: Vec::with_capacity(tokens), ..Self::default() }
    }

    /// So many tokens without text.
    pub(super) fn textless(tokens: usize) -> Self {
        Self { slots: vec![TextSlot::short(&[]); tokens], ..Self::default() }
    }

    /// Gives a token without text a text, whose beginning is given too; `None` if it has one or does not exist.
    pub(super) fn set(&mut self, index: usize, text: &[u8], beginning: TextBeginning) -> Option<()> {
        if self.slots.get(index)?.0[MAX_INLINE] != 0 {
            return None;
        }
        self.slots[index] = if text.len() <= MAX_INLINE {
            self.text_bytes += text.len();
            TextSlot((beginning.0 | (text.len() as u128) << (8 * MAX_INLINE)).to_le_bytes())
        } else {
            self.slot_of(text)
        };
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
        let mut remaining = Self::with_capacity(self.len());
        for (index, text) in self.iter().enumerate() {
            match text {
                Some(text) if excluded.binary_search(&index).is_err() => remaining.push(text),
                _ => remaining.push_textless(),
            }
        }
        remaining
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<TextSlot>() + self.long.capacity()
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
        assert_eq!(TokenTexts::new().get(0), None);
        assert_eq!(TokenTexts::new().get(usize::MAX - 1), None);
        assert_eq!(TokenTexts::new().iter().len(), 0);
    }
}
