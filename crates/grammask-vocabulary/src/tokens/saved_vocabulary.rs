//! Vocabularies as files, which open several times as fast as the file of a tokenizer.
//!
//! Layout: magic bytes, format version, the fingerprint (128 bits), then integers of 32 bits, little-endian: the size,
//! the number of ids without padding, the special tokens (id, length of the name, name), the end tokens, and the tokens
//! with text. These are listed in the order of the trie (by bytes, then by id), as the length of the prefix shared with
//! the previous text (16 bits), the length of the text (16 bits) and the id; the remaining bytes of all texts follow. At
//! the end is a checksum over all of these.
//!
//! The trie is built from the texts, and not stored: with the order given, that takes about as long as reading and
//! checking its arrays, and a file cannot contain an inconsistent trie. The order is checked while it is read. The
//! fingerprint is stored, since files of masks and grammars are compared with it, and computing it takes a pass over the
//! texts in the order of their ids. The checksum detects accidents, not forgeries: a forged file can contain another
//! vocabulary, or the fingerprint of another one.

use std::fmt;

use super::token_texts::TextBeginning;
use crate::trie::{TrieBuilder, shared_prefix};
use crate::{
    ByteReader, FrameDefect, TokenId, TokenTexts, Vocabulary, VocabularyError, WordHash, framed, unframed,
};

/// The magic bytes at the start of a file.
const MAGIC: &[u8; 8] = b"gmskvoc\n";
/// The version of the format. Files of other versions are rejected.
const VERSION: u32 = 2;

/// Why bytes are not a saved vocabulary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SavedVocabularyError {
    /// The bytes do not begin like a saved vocabulary.
    Foreign,
    /// The format has another version.
    Version(u32),
    /// The checksum or the contents are wrong.
    Damaged,
    /// The contents are not those of a vocabulary.
    Invalid(VocabularyError),
}

impl SavedVocabularyError {
    /// The stable identifier that programs match on.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "invalid-saved-vocabulary"
    }
}

impl fmt::Display for SavedVocabularyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => {
                f.write_str("this is no saved vocabulary; read files of tokenizers with Vocabulary.from_file")
            }
            Self::Version(version) => write!(
                f,
                "the saved vocabulary has format {version}, and this version reads {VERSION}; read the file of the \
                 tokenizer, and save the vocabulary again"
            ),
            Self::Damaged => f.write_str("the saved vocabulary is damaged; save it again"),
            Self::Invalid(error) => write!(f, "the saved vocabulary is invalid: {error}"),
        }
    }
}

impl std::error::Error for SavedVocabularyError {}

impl Vocabulary {
    /// The vocabulary as bytes, without the summary cache.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // Numbers of ids, names and bytes of a vocabulary are below 2^32.
        let mut bytes = self.fingerprint().to_le_bytes().to_vec();
        let number = |bytes: &mut Vec<u8>, number: usize| bytes.extend((number as u32).to_le_bytes());
        number(&mut bytes, self.size());
        number(&mut bytes, self.texts().len());
        number(&mut bytes, self.specials().len());
        for (name, id) in self.specials() {
            number(&mut bytes, id.index());
            number(&mut bytes, name.len());
            bytes.extend(name.as_bytes());
        }
        number(&mut bytes, self.eos().len());
        for id in self.eos() {
            number(&mut bytes, id.index());
        }
        let sorted = self.trie().sorted_ids();
        number(&mut bytes, sorted.len());
        let mut suffixes = Vec::with_capacity(self.texts().text_bytes());
        let mut previous: &[u8] = &[];
        for &id in sorted {
            let text = self.token(id).unwrap_or_default();
            let shared = shared_prefix(previous, text);
            bytes.extend((shared as u16).to_le_bytes());
            bytes.extend((text.len() as u16).to_le_bytes());
            number(&mut bytes, id.index());
            suffixes.extend_from_slice(&text[shared..]);
            previous = text;
        }
        bytes.extend(suffixes);
        framed(MAGIC, VERSION, &bytes)
    }

    /// The vocabulary that [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// Costs one pass over the tokens, about half of [`Vocabulary::new`].
    ///
    /// # Errors
    /// When the bytes are damaged, of another format, or of another version of it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SavedVocabularyError> {
        let body = unframed(bytes, MAGIC, VERSION).map_err(|defect| match defect {
            FrameDefect::Foreign => SavedVocabularyError::Foreign,
            FrameDefect::Version(version) => SavedVocabularyError::Version(version),
            FrameDefect::Damaged => SavedVocabularyError::Damaged,
        })?;
        let mut reader = VocabularyReader(ByteReader::new(body));
        reader.vocabulary().ok_or(SavedVocabularyError::Damaged)?.map_err(SavedVocabularyError::Invalid)
    }
}

/// Reads the body of a file.
struct VocabularyReader<'a>(ByteReader<'a>);

/// A token with text, as the file has it.
struct SavedToken {
    shared: usize,
    length: usize,
    id: u32,
}

impl SavedToken {
    /// Length of a record, in bytes.
    const BYTES: usize = 8;

    fn new([a, b, c, d, id @ ..]: [u8; Self::BYTES]) -> Self {
        Self {
            shared: usize::from(u16::from_le_bytes([a, b])),
            length: usize::from(u16::from_le_bytes([c, d])),
            id: u32::from_le_bytes(id),
        }
    }
}

/// The number of tokens whose places in [`TokenTexts`] are read ahead of their use. These places are in random order;
/// reads that directly follow each other overlap, and others wait for the memory one by one: without it, opening a file
/// of 200,000 tokens takes 1.2 times as long (`benches/vocabulary_loading.py`).
const READ_AHEAD: usize = 32;

impl VocabularyReader<'_> {
    /// Reads the vocabulary; `None` for bytes that no vocabulary has.
    fn vocabulary(&mut self) -> Option<Result<Vocabulary, VocabularyError>> {
        let fingerprint = u128::from_le_bytes(self.0.take(WordHash::BYTES)?.try_into().ok()?);
        let size = self.0.number()? as usize;
        let id_count = self.0.number()? as usize;
        if id_count > size || size > Vocabulary::MAX_SIZE {
            return None;
        }
        let mut special = Vec::new();
        for _ in 0..self.0.count(8)? {
            let id = self.0.number()?;
            let length = self.0.count(1)?;
            special.push((String::from_utf8(self.0.take(length)?.to_vec()).ok()?, id));
        }
        let eos = (0..self.0.count(4)?).map(|_| self.0.number()).collect::<Option<Vec<u32>>>()?;
        let count = self.0.count(SavedToken::BYTES)?;
        let (records, _) = self.0.take(count * SavedToken::BYTES)?.as_chunks();
        let (texts, trie) = self.texts(records, id_count)?;
        if !self.0.is_at_end() {
            return None;
        }
        let has_text = |id: u32| texts.get(id as usize).is_some();
        if special.iter().any(|&(_, id)| has_text(id)) || eos.iter().any(|&id| has_text(id)) {
            return None;
        }
        let vocabulary = Vocabulary::with_trie(texts, special, eos, Some(size), |_| trie.finish());
        Some(vocabulary.map(|vocabulary| vocabulary.with_fingerprint(fingerprint)))
    }

    /// Reads the texts of tokens, and checks that they are in the order of a trie.
    fn texts(
        &mut self,
        records: &[[u8; SavedToken::BYTES]],
        id_count: usize,
    ) -> Option<(TokenTexts, TrieBuilder)> {
        // Each byte that is left begins a node.
        let mut trie = TrieBuilder::with_capacity(records.len(), self.0.remaining());
        let mut texts = TokenTexts::textless(id_count);
        let mut text = Vec::new();
        let mut beginning = TextBeginning::default();
        let mut previous = None;
        for batch in records.chunks(READ_AHEAD) {
            if batch.iter().any(|&record| texts.get(SavedToken::new(record).id as usize).is_some()) {
                return None;
            }
            for &record in batch {
                let SavedToken { shared, length, id } = SavedToken::new(record);
                let ahead = self.0.peek_16();
                let suffix = self.0.take(length.checked_sub(shared)?)?;
                let is_ascending = match (suffix.first(), text.get(shared..)?) {
                    (Some(byte), [before, ..]) => byte > before,
                    (Some(_), []) => true,
                    (None, []) => previous.is_some_and(|previous| previous < id),
                    (None, _) => false,
                };
                if !is_ascending || length == 0 || texts.text_bytes() + length > Vocabulary::MAX_TEXT_BYTES {
                    return None;
                }
                text.truncate(shared);
                text.extend_from_slice(suffix);
                beginning = beginning.followed_by(shared, ahead, suffix.len());
                texts.set(id as usize, &text, beginning)?;
                trie.push(shared, suffix, TokenId(id));
                previous = Some(id);
            }
        }
        Some((texts, trie))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn assert_equal(one: &Vocabulary, other: &Vocabulary) {
        assert_eq!((one.size(), one.eos(), one.specials()), (other.size(), other.eos(), other.specials()));
        assert_eq!(one.texts().len(), other.texts().len());
        for id in (0..one.size() as u32).map(TokenId) {
            assert_eq!(one.token(id), other.token(id));
            assert_eq!(one.name_of(id), other.name_of(id));
        }
        assert_eq!(one.tokens_with_text().words(), other.tokens_with_text().words());
        assert!(one.trie().has_equal_arrays(other.trie()));
    }

    fn small() -> Vocabulary {
        let tokens = ["a", "ab", "", "b", "ab", "<s>", "\u{e4}", "abc"].map(Some).into_iter().collect();
        let special = vec![("<s>".to_owned(), 5), ("<end>".to_owned(), 2)];
        Vocabulary::new(tokens, special, vec![2, 9], Some(11)).unwrap()
    }

    #[test]
    fn every_damage_is_an_error() {
        let bytes = small().to_bytes();
        assert_equal(&small(), &Vocabulary::from_bytes(&bytes).unwrap());
        assert_eq!(Vocabulary::from_bytes(&bytes).unwrap().fingerprint(), small().fingerprint());
        for length in 0..bytes.len() {
            assert!(Vocabulary::from_bytes(&bytes[..length]).is_err());
        }
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Vocabulary::from_bytes(&damaged).is_err());
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(Vocabulary::from_bytes(&longer).unwrap_err(), SavedVocabularyError::Damaged);
        let mut outdated = bytes.clone();
        outdated[MAGIC.len()] = 9;
        assert_eq!(Vocabulary::from_bytes(&outdated).unwrap_err(), SavedVocabularyError::Version(9));
        assert_eq!(Vocabulary::from_bytes(b"{}").unwrap_err(), SavedVocabularyError::Foreign);
    }

    /// Bytes with a correct checksum are read without a panic, and what is read equals the vocabulary of its tokens.
    fn read_forged(content: &[u8]) {
        let bytes = [content, &WordHash::of(content).to_le_bytes()].concat();
        if let Ok(read) = Vocabulary::from_bytes(&bytes) {
            let special = read.specials().iter().map(|(name, id)| (name.to_string(), id.0)).collect();
            let eos = read.eos().iter().map(|id| id.0).collect();
            assert_equal(
                &read,
                &Vocabulary::new(read.texts().clone(), special, eos, Some(read.size())).unwrap(),
            );
        }
    }

    #[test]
    fn forged_files_hold_consistent_vocabularies() {
        let bytes = small().to_bytes();
        let content = &bytes[..bytes.len() - WordHash::BYTES];
        for position in MAGIC.len() + 4..content.len() {
            for value in [0, 1, 2, 5, 64, 255, content[position] ^ 1, content[position].wrapping_add(1)] {
                let mut forged = content.to_vec();
                forged[position] = value;
                read_forged(&forged);
            }
        }
        for length in MAGIC.len() + 4..content.len() {
            read_forged(&content[..length]);
        }
    }

    proptest! {
        #[test]
        fn a_saved_vocabulary_is_read_again(
            tokens in prop::collection::vec(
                prop::option::weighted(
                    0.9,
                    prop::collection::vec(prop::sample::select(&[0, b'a', b'b', 0xc3, 0xa4, 255][..]), 0..20),
                ),
                1..40,
            ),
            eos in prop::collection::vec(0_u32..40, 0..3),
            names in prop::collection::btree_map("[a-z]{0,3}", 0_u32..40, 0..4),
        ) {
            let texts: TokenTexts = tokens.iter().map(Option::as_ref).collect();
            let made = Vocabulary::new(texts, names.into_iter().collect(), eos, Some(tokens.len().max(45))).unwrap();
            let bytes = made.to_bytes();
            let read = Vocabulary::from_bytes(&bytes).unwrap();
            assert_equal(&made, &read);
            prop_assert_eq!(read.fingerprint(), made.fingerprint());
            prop_assert_eq!(read.to_bytes(), bytes);
        }
    }
}
