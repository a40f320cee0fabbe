//! Vocabularies as bytes: in few of them, or as an image that opens fast. Both are read several times as fast as the file
//! of a tokenizer.
//!
//! Layout: magic bytes, format version, the fingerprint (128 bits), then integers of 32 bits, little-endian: the size,
//! the number of ids without padding, the special tokens (id, length of the name, name), the end tokens, and the tokens
//! with text. These are listed in the order of the trie (by bytes, then by id), as the length of the prefix shared with
//! the previous text (16 bits), the length of the text (16 bits) and the id; the remaining bytes of all texts follow. At
//! the end is a checksum over all of these. The trie is built from the texts, whose order is checked.
//!
//! An image has another version. After the end tokens follow the arrays of the texts and the trie as they are in memory,
//! 14 times as many bytes. A file that is mapped into memory opens without copies of them, and processes share them.
//! The structure of the trie is checked, so that no method fails or does not end, whatever a file contains.
//!
//! The fingerprint is stored, since files of masks and grammars are compared with it, and computing it takes a pass over
//! the texts in the order of their ids. The checksum detects accidents, not forgeries: a forged file can contain another
//! vocabulary, or the fingerprint of another one.

use std::fmt;

use super::token_texts::TokenTextsBuilder;
use crate::column::{ImageReader, ImageWriter, SharedBytes, aligned};
use crate::saved_file::FRAME_HEAD_BYTES;
use crate::trie::{TokenTrie, TrieBuilder, shared_prefix};
use crate::{
    ByteReader, FrameDefect, TokenId, TokenTexts, Vocabulary, VocabularyError, WordHash, framed, unframed,
};

/// The magic bytes at the start of a file.
const MAGIC: &[u8; 8] = b"gmskvoc\n";
/// The version of the format. Bytes of other versions are rejected.
const VERSION: u32 = 3;
/// The version of the format of images. Those with the other order of bytes have another one.
const IMAGE_VERSION: u32 = if cfg!(target_endian = "little") { 0x100 } else { 0x200 };

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

impl From<FrameDefect> for SavedVocabularyError {
    fn from(defect: FrameDefect) -> Self {
        match defect {
            FrameDefect::Foreign => Self::Foreign,
            FrameDefect::Version(version) => Self::Version(version),
            FrameDefect::Damaged => Self::Damaged,
        }
    }
}

impl Vocabulary {
    /// The vocabulary in few bytes, without the summary cache.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.head();
        let sorted = self.trie().sorted_ids();
        add_number(&mut bytes, sorted.len());
        let mut suffixes = Vec::with_capacity(self.texts().text_bytes());
        let mut previous: &[u8] = &[];
        for &id in sorted {
            let text = self.token(id).unwrap_or_default();
            let shared = shared_prefix(previous, text);
            bytes.extend((shared as u16).to_le_bytes());
            bytes.extend((text.len() as u16).to_le_bytes());
            add_number(&mut bytes, id.index());
            suffixes.extend_from_slice(&text[shared..]);
            previous = text;
        }
        bytes.extend(suffixes);
        framed(MAGIC, VERSION, &bytes)
    }

    /// The vocabulary as an image, without the summary cache.
    #[must_use]
    pub fn to_image(&self) -> Vec<u8> {
        let mut image = ImageWriter::after(self.head(), FRAME_HEAD_BYTES);
        self.texts().write(&mut image);
        self.trie().write(&mut image);
        framed(MAGIC, IMAGE_VERSION, &image.finish())
    }

    /// What both formats begin with: all but the texts.
    fn head(&self) -> Vec<u8> {
        let mut bytes = self.fingerprint().to_le_bytes().to_vec();
        add_number(&mut bytes, self.size());
        add_number(&mut bytes, self.texts().len());
        add_number(&mut bytes, self.specials().len());
        for (name, id) in self.specials() {
            add_number(&mut bytes, id.index());
            add_number(&mut bytes, name.len());
            bytes.extend(name.as_bytes());
        }
        add_number(&mut bytes, self.eos().len());
        for id in self.eos() {
            add_number(&mut bytes, id.index());
        }
        bytes
    }

    /// The vocabulary that [`to_bytes`](Self::to_bytes) or [`to_image`](Self::to_image) wrote, in memory of its own.
    ///
    /// Costs one pass over the tokens, for `to_bytes` about half of [`Vocabulary::new`].
    ///
    /// # Errors
    /// When the bytes are damaged, of another format, or of another version of it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SavedVocabularyError> {
        match unframed(bytes, MAGIC, VERSION) {
            Ok(body) => vocabulary_of(body, VocabularyReader::listed_texts),
            Err(FrameDefect::Version(IMAGE_VERSION)) => Self::from_image(&aligned(bytes)),
            Err(defect) => Err(defect.into()),
        }
    }

    /// As [`from_bytes`](Self::from_bytes), but the arrays of an image stay where they are, so the vocabulary keeps it.
    ///
    /// # Errors
    /// As [`from_bytes`](Self::from_bytes), and when the image does not begin at a multiple of 16 bytes.
    pub fn from_image(bytes: &SharedBytes) -> Result<Self, SavedVocabularyError> {
        match unframed((**bytes).as_ref(), MAGIC, IMAGE_VERSION) {
            Ok(body) => vocabulary_of(body, |reader, _| reader.arrays(bytes)),
            Err(FrameDefect::Version(VERSION)) => Self::from_bytes((**bytes).as_ref()),
            Err(defect) => Err(defect.into()),
        }
    }
}

/// Adds a number. Numbers of ids, names and bytes of a vocabulary are below 2^32.
fn add_number(bytes: &mut Vec<u8>, number: usize) {
    bytes.extend((number as u32).to_le_bytes());
}

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

/// Reads the body of a file, whose texts and trie `texts` reads, given the number of ids.
fn vocabulary_of<'a>(
    body: &'a [u8],
    texts: impl FnOnce(&mut VocabularyReader<'a>, usize) -> Option<(TokenTexts, TokenTrie)>,
) -> Result<Vocabulary, SavedVocabularyError> {
    let vocabulary = VocabularyReader(ByteReader::new(body)).vocabulary(texts);
    vocabulary.ok_or(SavedVocabularyError::Damaged)?.map_err(SavedVocabularyError::Invalid)
}

/// Reads the body of a file. All methods return `None` for bytes that no vocabulary has.
struct VocabularyReader<'a>(ByteReader<'a>);

impl<'a> VocabularyReader<'a> {
    /// Reads the vocabulary.
    fn vocabulary(
        &mut self,
        texts: impl FnOnce(&mut Self, usize) -> Option<(TokenTexts, TokenTrie)>,
    ) -> Option<Result<Vocabulary, VocabularyError>> {
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
        let (texts, trie) = texts(self, id_count)?;
        if !self.0.is_at_end() || texts.len() != id_count {
            return None;
        }
        let has_text = |id: u32| texts.get(id as usize).is_some();
        if special.iter().any(|&(_, id)| has_text(id)) || eos.iter().any(|&id| has_text(id)) {
            return None;
        }
        let vocabulary = Vocabulary::with_trie(texts, special, eos, Some(size), |_| trie);
        Some(vocabulary.map(|vocabulary| vocabulary.with_fingerprint(fingerprint)))
    }

    /// Reads the texts as a list in the order of the trie, and checks that order.
    fn listed_texts(&mut self, id_count: usize) -> Option<(TokenTexts, TokenTrie)> {
        let count = self.0.count(SavedToken::BYTES)?;
        let (records, _) = self.0.take(count * SavedToken::BYTES)?.as_chunks();
        // Each byte that is left begins a node.
        let mut trie = TrieBuilder::with_capacity(count, self.0.remaining());
        let mut texts = TokenTextsBuilder::textless(id_count);
        let mut text = Vec::new();
        let mut previous = None;
        for &record in records {
            let SavedToken { shared, length, id } = SavedToken::new(record);
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
            texts.set(id as usize, &text)?;
            trie.push(shared, suffix, TokenId(id));
            previous = Some(id);
        }
        Some((texts.finish(), trie.finish()))
    }

    /// The arrays that are the rest of an image.
    fn arrays(&mut self, image: &SharedBytes) -> Option<(TokenTexts, TokenTrie)> {
        let end = (**image).as_ref().len() - WordHash::BYTES;
        let mut arrays = ImageReader::after(image, end - self.0.remaining());
        let texts = TokenTexts::read(&mut arrays)?;
        if texts.text_bytes() > Vocabulary::MAX_TEXT_BYTES {
            return None;
        }
        let trie = TokenTrie::read(&mut arrays, texts.len())?;
        self.0.take(self.0.remaining())?;
        (arrays.position() == end).then_some((texts, trie))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{TrieNode, WhichNodes};

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

    /// Both formats of a vocabulary.
    fn formats(vocabulary: &Vocabulary) -> [Vec<u8>; 2] {
        [vocabulary.to_bytes(), vocabulary.to_image()]
    }

    #[test]
    fn every_damage_is_an_error() {
        for bytes in formats(&small()) {
            assert_equal(&small(), &Vocabulary::from_bytes(&bytes).unwrap());
            assert_equal(&small(), &Vocabulary::from_image(&aligned(&bytes)).unwrap());
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
            outdated[MAGIC.len() + 1] = 0;
            assert_eq!(Vocabulary::from_bytes(&outdated).unwrap_err(), SavedVocabularyError::Version(9));
        }
        assert_eq!(Vocabulary::from_bytes(b"{}").unwrap_err(), SavedVocabularyError::Foreign);
    }

    /// Reads bytes with a correct checksum, if they have the structure of a vocabulary.
    fn forged(content: &[u8]) -> Option<Vocabulary> {
        Vocabulary::from_bytes(&[content, &WordHash::of(content).to_le_bytes()].concat()).ok()
    }

    /// Other contents, each with one other byte or two that are exchanged.
    fn forgeries(content: &[u8]) -> impl Iterator<Item = Vec<u8>> {
        (MAGIC.len() + 4..content.len()).flat_map(|position| {
            let byte = content[position];
            let values = [0, 1, 2, 5, 64, 255, byte ^ 1, byte.wrapping_add(1), byte << 1];
            let changed = values.map(|value| {
                let mut forged = content.to_vec();
                forged[position] = value;
                forged
            });
            let mut exchanged = content.to_vec();
            exchanged.swap(position, (position + 1).min(content.len() - 1));
            changed.into_iter().chain([exchanged])
        })
    }

    #[test]
    fn forged_lists_hold_consistent_vocabularies() {
        let bytes = small().to_bytes();
        let content = &bytes[..bytes.len() - WordHash::BYTES];
        for read in forgeries(content).filter_map(|content| forged(&content)) {
            let special = read.specials().iter().map(|(name, id)| (name.to_string(), id.0)).collect();
            let eos = read.eos().iter().map(|id| id.0).collect();
            let made = Vocabulary::new(read.texts().clone(), special, eos, Some(read.size()));
            assert_equal(&read, &made.unwrap());
        }
        assert!((MAGIC.len() + 4..content.len()).all(|length| forged(&content[..length]).is_none()));
    }

    #[test]
    fn no_method_fails_on_forged_images() {
        let bytes = small().to_image();
        let content = &bytes[..bytes.len() - WordHash::BYTES];
        for read in forgeries(content).filter_map(|content| forged(&content)) {
            let trie = read.trie();
            for node in (0..trie.len() as u32).map(TrieNode) {
                let children: Vec<_> = trie.children(node).collect();
                let by_byte: Vec<_> = (0..=u8::MAX).filter_map(|byte| trie.child(node, byte)).collect();
                assert_eq!(children, by_byte);
                for child in children {
                    assert_eq!(trie.child(node, trie.byte(child)), Some(child));
                    assert_eq!(trie.depth(child), trie.depth(node) + 1);
                }
                assert!(trie.subtree_tokens(node).len() >= trie.tokens(node).len());
                let _ = trie.bytes_below(node);
            }
            assert_eq!(trie.heights().len(), trie.len());
            assert_eq!((0..=u8::MAX).map(|byte| trie.edges_over(byte).len()).sum::<usize>(), trie.len() - 1);
            let _ = read.tokens_of_longest_texts();
            for characters in [trie.characters_of_nodes(), trie.characters_of_tokens()] {
                assert!(characters.within(1, 2).len() <= 8);
            }
            trie.set_bits(0..trie.len(), WhichNodes::All, &mut vec![0; trie.len()]);
            assert!(read.texts().iter().count() <= read.size());
        }
        assert!((MAGIC.len() + 4..content.len()).all(|length| forged(&content[..length]).is_none()));
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
            for bytes in formats(&made) {
                let read = Vocabulary::from_bytes(&bytes).unwrap();
                assert_equal(&made, &read);
                prop_assert_eq!(read.fingerprint(), made.fingerprint());
                prop_assert_eq!(read.to_bytes(), made.to_bytes());
            }
        }
    }
}
