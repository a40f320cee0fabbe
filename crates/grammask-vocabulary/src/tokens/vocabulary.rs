//! All tokens of a model, sorted into tokens with text, special tokens, end tokens and ids without text.

use std::collections::hash_map::Entry;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use grammask_collections::byte_set::ByteSet;

use crate::{
    SummaryCache, TokenId, TokenSet, TokenSetRef, TokenTexts, TokenTrie, TrieNode, VocabularyError, WordHash,
};

/// All tokens of a model. See the documentation of the crate.
#[derive(Debug)]
pub struct Vocabulary {
    size: usize,
    texts: TokenTexts,
    special: Vec<(Box<str>, TokenId)>,
    by_name: FxHashMap<Box<str>, TokenId>,
    first_name: FxHashMap<TokenId, usize>,
    eos: Vec<TokenId>,
    trie: TokenTrie,
    tokens_with_text: TokenSetRef,
    summaries: SummaryCache,
    fingerprint: OnceLock<u128>,
    longest_texts: OnceLock<Box<[TokenId]>>,
}

impl Vocabulary {
    /// Maximum number of ids, padding included.
    pub const MAX_SIZE: usize = 1 << 24;
    /// Maximum length of a token's text, in bytes.
    pub const MAX_TOKEN_BYTES: usize = u16::MAX as usize;
    /// Number of tokens of [`Vocabulary::tokens_of_longest_texts`].
    pub const LONGEST_TEXTS: usize = 128;
    /// Maximum total length of all texts, in bytes.
    pub const MAX_TEXT_BYTES: usize = 1 << 28;

    /// A vocabulary in which the `i`-th entry of `tokens` is the text of id `i`.
    ///
    /// `special` lists the special tokens with their ids. Several names may share an id; [`Vocabulary::name_of`] then
    /// returns the first. `eos` lists the end tokens. `size` is the number of ids including padding, usually the
    /// width of the model's logits; the default is the number of `tokens`.
    ///
    /// Costs a sort of the tokens and passes over the nodes, about 40 ms for 200,000 tokens.
    ///
    /// ```
    /// use grammask_vocabulary::{TokenId, TokenTexts, Vocabulary};
    ///
    /// let tokens: TokenTexts = [Some("a"), Some("b"), Some("ab"), None].into_iter().collect();
    /// let vocabulary = Vocabulary::new(tokens, vec![("<|end|>".to_owned(), 3)], vec![3], Some(8))?;
    /// assert_eq!(vocabulary.size(), 8);
    /// assert_eq!(vocabulary.token(TokenId(2)), Some(&b"ab"[..]));
    /// assert_eq!(vocabulary.token(TokenId(3)), None);
    /// assert_eq!(vocabulary.special("<|end|>"), Some(TokenId(3)));
    /// # Ok::<(), grammask_vocabulary::VocabularyError>(())
    /// ```
    ///
    /// # Errors
    /// When there are no tokens, when an id of `special` or `eos` is not below the size, when two ids have the same
    /// name, when `size` is below the number of tokens, or when one of the maxima above is exceeded.
    pub fn new(
        tokens: TokenTexts,
        special: Vec<(String, u32)>,
        eos: Vec<u32>,
        size: Option<usize>,
    ) -> Result<Self, VocabularyError> {
        Self::with_trie(tokens, special, eos, size, TokenTrie::new)
    }

    /// As [`new`](Self::new), with a trie that `trie` makes of the texts, without those of special and end tokens.
    pub(super) fn with_trie(
        tokens: TokenTexts,
        special: Vec<(String, u32)>,
        mut eos: Vec<u32>,
        size: Option<usize>,
        trie: impl FnOnce(&TokenTexts) -> TokenTrie,
    ) -> Result<Self, VocabularyError> {
        let size = checked_size(&tokens, size)?;
        let mut by_name = FxHashMap::default();
        let mut first_name = FxHashMap::default();
        let mut names = Vec::with_capacity(special.len());
        for (name, id) in special {
            if id as usize >= size {
                return Err(VocabularyError::SpecialOutOfRange { name, id, size });
            }
            let id = TokenId(id);
            let name = name.into_boxed_str();
            match by_name.entry(name.clone()) {
                Entry::Vacant(entry) => {
                    entry.insert(id);
                    first_name.entry(id).or_insert(names.len());
                    names.push((name, id));
                }
                Entry::Occupied(entry) if *entry.get() == id => {}
                Entry::Occupied(entry) => {
                    return Err(VocabularyError::AmbiguousName {
                        name: name.into(),
                        first: entry.get().0,
                        second: id.0,
                    });
                }
            }
        }
        eos.sort_unstable();
        eos.dedup();
        if let Some(&id) = eos.iter().find(|&&id| id as usize >= size) {
            return Err(VocabularyError::EosOutOfRange { id, size });
        }
        let eos: Vec<TokenId> = eos.into_iter().map(TokenId).collect();
        let texts = tokens.without(names.iter().map(|&(_, id)| id).chain(eos.iter().copied()));
        let trie = trie(&texts);
        let mut tokens_with_text = TokenSet::new(size);
        tokens_with_text.extend(trie.sorted_ids().iter().copied());
        Ok(Self {
            size,
            texts,
            special: names,
            by_name,
            first_name,
            eos,
            trie,
            tokens_with_text: tokens_with_text.into(),
            summaries: SummaryCache::default(),
            fingerprint: OnceLock::new(),
            longest_texts: OnceLock::new(),
        })
    }

    /// A hash of the size, the texts, the special tokens and the end tokens. Costs a pass over the texts at first use.
    #[must_use]
    pub fn fingerprint(&self) -> u128 {
        *self.fingerprint.get_or_init(|| {
            let mut hash = WordHash::default();
            hash.number(self.size);
            for text in self.texts.iter() {
                match text {
                    Some(text) => hash.number(text.len() + 1).bytes(text),
                    None => hash.number(0),
                };
            }
            hash.number(self.special.len());
            for (name, id) in &self.special {
                hash.number(name.len()).bytes(name.as_bytes()).number(id.index());
            }
            for id in &self.eos {
                hash.number(id.index());
            }
            hash.finish()
        })
    }

    /// The vocabulary with its fingerprint, which was computed earlier.
    pub(super) fn with_fingerprint(self, fingerprint: u128) -> Self {
        Self { fingerprint: fingerprint.into(), ..self }
    }

    /// The summary cache, which all grammars on this vocabulary share.
    #[must_use]
    pub fn summaries(&self) -> &SummaryCache {
        &self.summaries
    }

    /// Number of ids, padding included: the width of a mask in bits.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The bytes of a token with text; `None` for special tokens, end tokens, ids without text, padding and
    /// ids that do not exist.
    #[must_use]
    pub fn token(&self, id: TokenId) -> Option<&[u8]> {
        self.texts.get(id.index())
    }

    /// The end tokens, ascending.
    #[must_use]
    pub fn eos(&self) -> &[TokenId] {
        &self.eos
    }

    /// Whether `id` is an end token.
    #[must_use]
    pub fn is_eos(&self, id: TokenId) -> bool {
        self.eos.binary_search(&id).is_ok()
    }

    /// The special token called `name`.
    #[must_use]
    pub fn special(&self, name: &str) -> Option<TokenId> {
        self.by_name.get(name).copied()
    }

    /// All names of special tokens with their ids, in the order of the constructor's argument.
    #[must_use]
    pub fn specials(&self) -> &[(Box<str>, TokenId)] {
        &self.special
    }

    /// Whether `id` is a special token.
    #[must_use]
    pub fn is_special(&self, id: TokenId) -> bool {
        self.first_name.contains_key(&id)
    }

    /// The first name of a special token.
    #[must_use]
    pub fn name_of(&self, id: TokenId) -> Option<&str> {
        self.first_name.get(&id).map(|&index| &*self.special[index].0)
    }

    /// The longest tokens, longest first; of equal length the smallest ids. At most [`Vocabulary::LONGEST_TEXTS`], which
    /// are followed by one more token if there are more with text. Costs a pass over the texts at first use.
    #[must_use]
    pub fn tokens_of_longest_texts(&self) -> &[TokenId] {
        self.longest_texts.get_or_init(|| {
            let key =
                |token: &TokenId| (std::cmp::Reverse(self.token(*token).map_or(0, <[u8]>::len)), *token);
            let mut tokens = self.trie.sorted_ids().to_vec();
            if tokens.len() > Self::LONGEST_TEXTS {
                tokens.select_nth_unstable_by_key(Self::LONGEST_TEXTS, key);
                tokens.truncate(Self::LONGEST_TEXTS + 1);
            }
            tokens.sort_unstable_by_key(key);
            tokens.into()
        })
    }

    /// The tokens with exactly this text, ascending.
    #[must_use]
    pub fn ids_of(&self, text: &[u8]) -> &[TokenId] {
        self.trie.find(text).map_or(&[], |node| self.trie.tokens(node))
    }

    /// The bytes that are tokens by themselves.
    #[must_use]
    pub fn single_bytes(&self) -> ByteSet {
        let is_token = |node: &TrieNode| !self.trie.tokens(*node).is_empty();
        self.trie.children(TrieNode::ROOT).filter(is_token).map(|node| self.trie.byte(node)).collect()
    }

    /// The trie over all tokens with text.
    #[must_use]
    pub fn trie(&self) -> &TokenTrie {
        &self.trie
    }

    /// All tokens with text.
    pub fn tokens_with_text(&self) -> &TokenSetRef {
        &self.tokens_with_text
    }

    /// The texts of all ids except padding at the end.
    #[must_use]
    pub fn texts(&self) -> &TokenTexts {
        &self.texts
    }

    /// Memory of the texts and the trie, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.texts.memory_bytes() + self.trie.memory_bytes()
    }
}

/// Validates the tokens and the requested size, and returns the size of the vocabulary.
fn checked_size(tokens: &TokenTexts, size: Option<usize>) -> Result<usize, VocabularyError> {
    if tokens.is_empty() {
        return Err(VocabularyError::NoTokens);
    }
    let padded = size.unwrap_or(tokens.len());
    if padded < tokens.len() {
        return Err(VocabularyError::SizeTooSmall { size: padded, tokens: tokens.len() });
    }
    if padded > Vocabulary::MAX_SIZE {
        return Err(VocabularyError::TooManyTokens { size: padded });
    }
    if tokens.text_bytes() > Vocabulary::MAX_TEXT_BYTES {
        return Err(VocabularyError::TooMuchText { bytes: tokens.text_bytes() });
    }
    let too_long = tokens.iter().enumerate().find_map(|(id, text)| {
        text.filter(|text| text.len() > Vocabulary::MAX_TOKEN_BYTES).map(|text| (id, text.len()))
    });
    match too_long {
        Some((id, bytes)) => Err(VocabularyError::TokenTooLong { id, bytes }),
        None => Ok(padded),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(tokens: &[&str]) -> TokenTexts {
        tokens.iter().map(Some).collect()
    }

    fn special(entries: &[(&str, u32)]) -> Vec<(String, u32)> {
        entries.iter().map(|&(name, id)| (name.to_owned(), id)).collect()
    }

    #[test]
    fn sorts_ids_into_classes() {
        let tokens = [Some("a"), Some("<eot>"), Some(""), None, Some("\n"), Some("a")].into_iter().collect();
        let names = special(&[("<eot>", 1), ("<pad>", 6), ("<also pad>", 6)]);
        let vocabulary = Vocabulary::new(tokens, names, vec![4, 1, 4], Some(9)).unwrap();
        let with_text: Vec<u32> = (0..9).filter(|&id| vocabulary.token(TokenId(id)).is_some()).collect();
        assert_eq!(with_text, [0, 5]);
        assert_eq!(vocabulary.eos(), [TokenId(1), TokenId(4)]);
        assert!(vocabulary.is_eos(TokenId(4)) && !vocabulary.is_special(TokenId(4)));
        assert!(vocabulary.is_special(TokenId(6)) && !vocabulary.is_eos(TokenId(6)));
        assert_eq!(vocabulary.special("<also pad>"), Some(TokenId(6)));
        assert_eq!(vocabulary.name_of(TokenId(6)), Some("<pad>"));
        assert_eq!(vocabulary.name_of(TokenId(0)), None);
        assert_eq!(vocabulary.special("a"), None);
        assert_eq!(vocabulary.ids_of(b"a"), [TokenId(0), TokenId(5)]);
        assert_eq!(vocabulary.ids_of(b"<eot>"), []);
        assert_eq!(vocabulary.ids_of(b""), []);
        assert_eq!(vocabulary.token(TokenId(u32::MAX)), None);
        assert_eq!(vocabulary.trie().sorted_ids(), [TokenId(0), TokenId(5)]);
    }

    #[test]
    fn rejects_invalid_arguments() {
        let refused = |tokens, names, eos: &[u32], size| {
            Vocabulary::new(tokens, names, eos.to_vec(), size).unwrap_err()
        };
        assert_eq!(refused(texts(&[]), vec![], &[], Some(4)), VocabularyError::NoTokens);
        assert_eq!(
            refused(texts(&["a", "b"]), vec![], &[], Some(1)),
            VocabularyError::SizeTooSmall { size: 1, tokens: 2 }
        );
        assert_eq!(
            refused(texts(&["a"]), vec![], &[1], None),
            VocabularyError::EosOutOfRange { id: 1, size: 1 }
        );
        assert_eq!(
            refused(texts(&["a"]), special(&[("<s>", 7)]), &[], None),
            VocabularyError::SpecialOutOfRange { name: "<s>".to_owned(), id: 7, size: 1 }
        );
        assert_eq!(
            refused(texts(&["a", "b"]), special(&[("<s>", 0), ("<s>", 1)]), &[], None),
            VocabularyError::AmbiguousName { name: "<s>".to_owned(), first: 0, second: 1 }
        );
        assert_eq!(
            refused(texts(&["a", &"b".repeat(65_536)]), vec![], &[], None),
            VocabularyError::TokenTooLong { id: 1, bytes: 65_536 }
        );
        assert_eq!(
            refused(texts(&["a"]), vec![], &[], Some(usize::MAX)),
            VocabularyError::TooManyTokens { size: usize::MAX }
        );
    }

    #[test]
    fn lists_the_longest_tokens() {
        let words: Vec<String> = (0..300_usize).map(|length| "b".repeat(length * 7 % 300)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let vocabulary = Vocabulary::new(texts(&words), vec![], vec![], None).unwrap();
        let lengths =
            vocabulary.tokens_of_longest_texts().iter().map(|&id| vocabulary.token(id).unwrap().len());
        assert!(lengths.eq((300 - 129..300).rev()));
        let vocabulary = Vocabulary::new(texts(&["a", "bb", "cc"]), vec![], vec![], None).unwrap();
        assert_eq!(vocabulary.tokens_of_longest_texts(), [TokenId(1), TokenId(2), TokenId(0)]);
    }

    #[test]
    fn takes_the_longest_token_and_a_name_twice() {
        let tokens = texts(&[&"b".repeat(65_535)]);
        let names = special(&[("<s>", 1), ("<s>", 1)]);
        let vocabulary = Vocabulary::new(tokens, names, vec![], Some(2)).unwrap();
        assert_eq!(vocabulary.specials().len(), 1);
        assert_eq!(vocabulary.trie().len(), 65_536);
    }

    #[test]
    fn is_shared_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Vocabulary>();
    }
}
