//! Compiled grammars as bytes that can be kept in files, and back.
//!
//! What is saved is the definition of a lexed grammar and how it was compiled: its tables are made again faster than they
//! could be checked, but for the proof that every stack of the parser can be completed, which was found before they were
//! saved: a version that demands more of grammars needs another format.
//!
//! A file begins with a mark and the version of the format; then come a fingerprint of the vocabulary, the rest, and a
//! checksum over all of it. A file that is damaged, of another kind or version, or made for another vocabulary is refused.
//! The hash is FNV-1a with 128 bits (G. Fowler, L. C. Noll, K.-P. Vo and D. Eastlake, "The FNV Non-Cryptographic Hash
//! Algorithm"), over words of eight bytes where the original goes byte by byte, since a vocabulary has megabytes. It finds
//! accidents, not forgeries: a forged file can hold another grammar, or one whose texts come to a dead end.

use std::sync::Arc;

use crate::compiled::CompiledGrammar;
use crate::options::{CompileOptions, EndMode};
use grammask_diagnostics::{Code, Diagnostic, GrammarError, Limits};
use grammask_lexed::{LexedDefinition, LexedGrammar, PreparedGrammar};
use grammask_vocabulary::Vocabulary;

/// How files begin.
const MARK: &[u8; 8] = b"grammask";
/// The version of the format. Files of other versions are refused.
const VERSION: u32 = 2;
const HASH_BYTES: usize = size_of::<u128>();

impl CompiledGrammar {
    /// The compiled grammar as bytes, if it is a lexed one. Others compile as fast as they would load.
    #[must_use]
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let definition = self.lexed()?.definition();
        let mut bytes = MARK.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(fingerprint(self.vocabulary()).to_le_bytes());
        bytes.push(match self.options().end {
            EndMode::Eos => 0,
            EndMode::Eager => 1,
        });
        bytes.extend(definition.to_bytes());
        bytes.extend(Hash::of(&bytes).to_le_bytes());
        Some(bytes)
    }

    /// The compiled grammar that [`to_bytes`](Self::to_bytes) wrote, for the same vocabulary.
    ///
    /// # Errors
    /// `invalid-saved-grammar` if the bytes are something else or damaged; `other-vocabulary`; a limit that was passed.
    pub fn from_bytes(
        bytes: &[u8],
        vocabulary: Arc<Vocabulary>,
        limits: Limits,
    ) -> Result<Arc<Self>, GrammarError> {
        let invalid = |message: &str| Diagnostic::error(Code::InvalidSavedGrammar, message);
        let (content, checksum) =
            bytes.split_last_chunk::<HASH_BYTES>().ok_or_else(|| invalid("this is no saved grammar"))?;
        let content_after_mark =
            content.strip_prefix(MARK).ok_or_else(|| invalid("this is no saved grammar"))?;
        let (version, rest) =
            content_after_mark.split_first_chunk().ok_or_else(|| invalid("this is no saved grammar"))?;
        let version = u32::from_le_bytes(*version);
        if version != VERSION {
            let message = format!("the saved grammar has format {version}, and this version reads {VERSION}");
            return Err(invalid(&message).help("compile the grammar, and save it again").into());
        }
        if Hash::of(content) != u128::from_le_bytes(*checksum) {
            return Err(invalid("the saved grammar is damaged").help("save it again").into());
        }
        let malformed = || invalid("the saved grammar holds no grammar");
        let (saved_for, rest) = rest.split_first_chunk().ok_or_else(malformed)?;
        if u128::from_le_bytes(*saved_for) != fingerprint(&vocabulary) {
            let message = "the grammar was saved for another vocabulary";
            let help = "load it with the vocabulary that it was compiled for, or compile it again";
            return Err(Diagnostic::error(Code::OtherVocabulary, message).help(help).into());
        }
        let (&end, rest) = rest.split_first().ok_or_else(malformed)?;
        let end = match end {
            0 => EndMode::Eos,
            1 => EndMode::Eager,
            _ => return Err(malformed().into()),
        };
        let options = CompileOptions { end, limits, ..CompileOptions::default() };
        let definition = LexedDefinition::from_bytes(rest).ok_or_else(malformed)?;
        let grammar = LexedGrammar::new(&definition, &options.limits)?;
        Self::from_prepared(|limits| PreparedGrammar::without_proof(grammar, limits), vocabulary, options)
    }
}

/// A hash of all that a vocabulary is.
fn fingerprint(vocabulary: &Vocabulary) -> u128 {
    let mut hash = Hash::new();
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

/// FNV-1a over words. What has no fixed length follows its length, so what fills up the last word says nothing.
struct Hash(u128);

impl Hash {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

    fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn of(bytes: &[u8]) -> u128 {
        Self::new().number(bytes.len()).bytes(bytes).0
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
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
