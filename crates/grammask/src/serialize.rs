//! Serialisation of compiled grammars.
//!
//! The format holds the definition of a lexed grammar and its compile options. Tables are rebuilt, which is faster than
//! validating stored ones. The proof that every stack of the parser can be completed is not repeated: it held when the
//! grammar was saved, so a release with stronger requirements on grammars needs a new format version.
//!
//! Layout: magic bytes, format version, fingerprint of the vocabulary, end mode, definition, checksum over all of
//! these. A file that is damaged, of another format or version, or saved for another vocabulary is rejected. The hash
//! detects accidents, not forgeries: a forged file can hold another grammar, or one whose texts reach a dead end.

use std::sync::Arc;

use crate::compiled::CompiledGrammar;
use crate::options::{CompileOptions, EndMode};
use grammask_diagnostics::{Code, Diagnostic, GrammarError, Limits};
use grammask_lexed::{LexedDefinition, LexedGrammar, PreparedGrammar};
use grammask_vocabulary::{FrameDefect, Vocabulary, framed, unframed};

/// The magic bytes at the start of a file.
const MAGIC: &[u8; 8] = b"grammask";
/// The version of the format. Files of other versions are rejected.
const VERSION: u32 = 8;

/// The bit of the end mode for grammars that the proof refines, and that are therefore proved again.
const IS_REFINED: u8 = 2;

impl CompiledGrammar {
    /// The compiled grammar as bytes; `None` for context-free grammars, which compile as fast as they would load, and for
    /// those with a lexer that have delimited terminals.
    #[must_use]
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let definition = self.lexed()?.definition();
        let mut body = self.vocabulary().fingerprint().to_le_bytes().to_vec();
        body.push(end_mode_byte(self.options().end) | if self.is_refined() { IS_REFINED } else { 0 });
        body.extend(definition.to_bytes()?);
        Some(framed(MAGIC, VERSION, &body))
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
        let body = unframed(bytes, MAGIC, VERSION).map_err(|defect| {
            invalid(&describe_defect(defect, "grammar", VERSION)).help("compile it, and save it again")
        })?;
        let malformed = || invalid("the saved grammar holds no grammar");
        let (saved_for, body) = body.split_first_chunk().ok_or_else(malformed)?;
        if u128::from_le_bytes(*saved_for) != vocabulary.fingerprint() {
            let message = "the grammar was saved for another vocabulary";
            let help = "load it with the vocabulary that it was compiled for, or compile it again";
            return Err(Diagnostic::error(Code::OtherVocabulary, message).help(help).into());
        }
        let (&end, definition) = body.split_first().ok_or_else(malformed)?;
        let is_refined = end & IS_REFINED != 0;
        let end = match end & !IS_REFINED {
            0 => EndMode::Eos,
            1 => EndMode::Eager,
            _ => return Err(malformed().into()),
        };
        let options = CompileOptions { end, limits, ..CompileOptions::default() };
        let definition = LexedDefinition::from_bytes(definition).ok_or_else(malformed)?;
        let grammar = LexedGrammar::new(&definition, &options.limits)?;
        let prepare = if is_refined { PreparedGrammar::new } else { PreparedGrammar::without_proof };
        Self::from_prepared(|limits| prepare(grammar, limits), vocabulary, options)
    }
}

/// The byte of an end mode in files.
pub(crate) fn end_mode_byte(end: EndMode) -> u8 {
    match end {
        EndMode::Eos => 0,
        EndMode::Eager => 1,
    }
}

/// The message about a file with saved `contents`, whose format has a version, that has no frame.
pub(crate) fn describe_defect(defect: FrameDefect, contents: &str, version: u32) -> String {
    match defect {
        FrameDefect::Foreign => format!("this is no saved {contents}"),
        FrameDefect::Version(other) => {
            format!("the saved {contents} has format {other}, and this version reads {version}")
        }
        FrameDefect::Damaged => format!("the saved {contents} is damaged"),
    }
}
