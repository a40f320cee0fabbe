//! Serialisation of compiled grammars.
//!
//! The format holds the definition of a lexed grammar and its compile options. Tables are rebuilt, which is faster than
//! validating stored ones. The proof that every stack of the parser can be completed is not repeated: it held when the
//! grammar was saved, so a release with stronger requirements on grammars needs a new format version.
//!
//! Layout: magic bytes, format version, fingerprint of the vocabulary, end mode, definition, checksum over all of
//! these. A file that is damaged, of another format or version, or saved for another vocabulary is rejected. The hash
//! is FNV-1a with 128 bits (G. Fowler, L. C. Noll, K.-P. Vo and D. Eastlake, "The FNV Non-Cryptographic Hash
//! Algorithm") over 64-bit words instead of bytes, since a vocabulary has megabytes. It detects accidents, not
//! forgeries: a forged file can hold another grammar, or one whose texts reach a dead end.

use std::sync::Arc;

use crate::compiled::CompiledGrammar;
use crate::options::{CompileOptions, EndMode};
use grammask_diagnostics::{Code, Diagnostic, GrammarError, Limits};
use grammask_lexed::{LexedDefinition, LexedGrammar, PreparedGrammar};
use grammask_vocabulary::Vocabulary;

/// The magic bytes at the start of a file.
const MAGIC: &[u8; 8] = b"grammask";
/// The version of the format. Files of other versions are rejected.
const VERSION: u32 = 5;
const HASH_BYTES: usize = size_of::<u128>();

impl CompiledGrammar {
    /// The compiled grammar as bytes; `None` for context-free grammars, which compile as fast as they would load.
    #[must_use]
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let definition = self.lexed()?.definition();
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(fingerprint(self.vocabulary()).to_le_bytes());
        bytes.push(match self.options().end {
            EndMode::Eos => 0,
            EndMode::Eager => 1,
        });
        bytes.extend(definition.to_bytes());
        bytes.extend(WordHash::of(&bytes).to_le_bytes());
        Some(bytes)
    }

    /// The compiled grammar that [`to_bytes`](Self::to_bytes) wrote, for the same vocabulary.
    ///
    /// # Errors
    /// `invalid-saved-grammar` if the bytes are damaged or of another format; `other-vocabulary`; an exceeded limit.
    pub fn from_bytes(
        bytes: &[u8],
        vocabulary: Arc<Vocabulary>,
        limits: Limits,
    ) -> Result<Arc<Self>, GrammarError> {
        let invalid = |message: &str| Diagnostic::error(Code::InvalidSavedGrammar, message);
        let (content, checksum) =
            bytes.split_last_chunk::<HASH_BYTES>().ok_or_else(|| invalid("this is no saved grammar"))?;
        let content_after_magic =
            content.strip_prefix(MAGIC).ok_or_else(|| invalid("this is no saved grammar"))?;
        let (version, body) =
            content_after_magic.split_first_chunk().ok_or_else(|| invalid("this is no saved grammar"))?;
        let version = u32::from_le_bytes(*version);
        if version != VERSION {
            let message = format!("the saved grammar has format {version}, and this version reads {VERSION}");
            return Err(invalid(&message).help("compile the grammar, and save it again").into());
        }
        if WordHash::of(content) != u128::from_le_bytes(*checksum) {
            return Err(invalid("the saved grammar is damaged").help("save it again").into());
        }
        let malformed = || invalid("the saved grammar holds no grammar");
        let (saved_for, body) = body.split_first_chunk().ok_or_else(malformed)?;
        if u128::from_le_bytes(*saved_for) != fingerprint(&vocabulary) {
            let message = "the grammar was saved for another vocabulary";
            let help = "load it with the vocabulary that it was compiled for, or compile it again";
            return Err(Diagnostic::error(Code::OtherVocabulary, message).help(help).into());
        }
        let (&end, definition) = body.split_first().ok_or_else(malformed)?;
        let end = match end {
            0 => EndMode::Eos,
            1 => EndMode::Eager,
            _ => return Err(malformed().into()),
        };
        let options = CompileOptions { end, limits, ..CompileOptions::default() };
        let definition = LexedDefinition::from_bytes(definition).ok_or_else(malformed)?;
        let grammar = LexedGrammar::new(&definition, &options.limits)?;
        Self::from_prepared(|limits| PreparedGrammar::without_proof(grammar, limits), vocabulary, options)
    }
}

/// A hash of a vocabulary: its size, texts, special tokens and end tokens.
fn fingerprint(vocabulary: &Vocabulary) -> u128 {
    let mut hash = WordHash::new();
    hash.number(vocabulary.size());
    for text in vocabulary.texts().iter() {
        match text {
            Some(text) => hash.number(text.len() + 1).bytes(text),
            None => hash.number(0),
        };
    }
    hash.number(vocabulary.specials().len());
    for (name, id) in vocabulary.specials() {
        hash.number(name.len()).bytes(name.as_bytes()).number(id.index());
    }
    for id in vocabulary.eos() {
        hash.number(id.index());
    }
    hash.0
}

/// FNV-1a over 64-bit words. The length of variable-length data precedes it, so the padding of the last word is
/// unambiguous.
struct WordHash(u128);

impl WordHash {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

    fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn of(bytes: &[u8]) -> u128 {
        Self::new().number(bytes.len()).bytes(bytes).0
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        let (words, remainder) = bytes.as_chunks();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        if !remainder.is_empty() {
            let mut last = [0; 8];
            last[..remainder.len()].copy_from_slice(remainder);
            self.word(u64::from_le_bytes(last));
        }
        self
    }

    fn number(&mut self, number: usize) -> &mut Self {
        self.word(number as u64)
    }

    fn word(&mut self, word: u64) -> &mut Self {
        self.0 = (self.0 ^ u128::from(word)).wrapping_mul(Self::PRIME);
        self
    }
}
