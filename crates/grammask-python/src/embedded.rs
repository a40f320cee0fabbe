//! Embedded vocabularies, so that nothing is downloaded at run time: those of OpenAI's tiktoken (MIT), in the packed form
//! that `vocabularies/pack.py` describes and writes. Texts are tokenized by the crate `tiktoken-rs`.

use std::sync::OnceLock;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use tiktoken_rs::{CoreBPE, O200K_BASE_PAT_STR, Rank};

use crate::forks::OutsideForks;

/// A vocabulary in the extension module.
struct EmbeddedVocabulary {
    packed: &'static [u8],
    /// The special tokens, in the order of their ids.
    special: &'static [(&'static str, Rank)],
    /// The expression that divides a text into pieces, which are tokenized one by one.
    pieces: &'static str,
    encoder: OnceLock<CoreBPE>,
}

static O200K_BASE: EmbeddedVocabulary = EmbeddedVocabulary {
    packed: include_bytes!("../vocabularies/o200k_base.packed"),
    special: &[("<|endoftext|>", 199_999), ("<|endofprompt|>", 200_018)],
    pieces: O200K_BASE_PAT_STR,
    encoder: OnceLock::new(),
};

static CL100K_BASE: EmbeddedVocabulary = EmbeddedVocabulary {
    packed: include_bytes!("../vocabularies/cl100k_base.packed"),
    special: &[
        ("<|endoftext|>", 100_257),
        ("<|fim_prefix|>", 100_258),
        ("<|fim_middle|>", 100_259),
        ("<|fim_suffix|>", 100_260),
        ("<|endofprompt|>", 100_276),
    ],
    pieces: r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    encoder: OnceLock::new(),
};

impl EmbeddedVocabulary {
    fn named(name: &str) -> PyResult<&'static Self> {
        match name {
            "o200k_base" => Ok(&O200K_BASE),
            "cl100k_base" => Ok(&CL100K_BASE),
            _ => Err(PyKeyError::new_err(format!(
                "there is no embedded vocabulary {name:?}; there are \"o200k_base\" and \"cl100k_base\""
            ))),
        }
    }

    /// The texts of the tokens by id, without special tokens; about 10 ms for 200,000 tokens.
    fn tokens(&self) -> Vec<Vec<u8>> {
        unpacked(self.packed).unwrap_or_default()
    }

    /// The tokenizer, which is made on first use, in about 0.1 s.
    fn encoder(&self) -> &CoreBPE {
        self.encoder.get_or_init(|| {
            let ranks = self.tokens().into_iter().zip(0..).collect();
            let special = self.special.iter().map(|&(name, id)| (name.to_owned(), id)).collect();
            CoreBPE::new(ranks, special, self.pieces).expect("the expressions of tiktoken are valid")
        })
    }
}

/// The tokens of a packed vocabulary, by id; none if it is damaged.
fn unpacked(packed: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut bytes = packed.iter().copied();
    let mut length = [0; 4];
    for byte in &mut length {
        *byte = bytes.next()?;
    }
    let length = u32::from_le_bytes(length) as usize;
    let mut in_byte_order = Vec::with_capacity(length);
    let mut token = Vec::new();
    for _ in 0..length {
        let halves = bytes.next()?;
        let mut read_length = |half: u8| {
            let above = if half == 15 { bytes.next()? } else { 0 };
            Some(usize::from(half) + usize::from(above))
        };
        let (shared, rest) = (read_length(halves >> 4)?, read_length(halves & 15)?);
        token.truncate(shared);
        token.extend(bytes.by_ref().take(rest));
        in_byte_order.push(token.clone());
    }
    let width = usize::BITS - length.checked_sub(1)?.leading_zeros();
    let mut tokens = vec![Vec::new(); length];
    let (mut bits, mut available) = (0_u64, 0);
    for token in in_byte_order {
        while available < width {
            bits |= u64::from(bytes.next()?) << available;
            available += 8;
        }
        *tokens.get_mut((bits & ((1 << width) - 1)) as usize)? = token;
        (bits, available) = (bits >> width, available - width);
    }
    Some(tokens)
}

/// Return the tokens and the special tokens of a vocabulary that is embedded in the extension module.
///
/// Args:
///     name: ``"o200k_base"`` or ``"cl100k_base"``.
///
/// Raises:
///     KeyError: No such vocabulary is embedded.
///
/// Cost: some 20 ms.
#[pyfunction]
pub(crate) fn embedded_vocabulary<'py>(
    py: Python<'py>,
    name: &str,
) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyDict>)> {
    let vocabulary = EmbeddedVocabulary::named(name)?;
    let mut tokens: Vec<_> = vocabulary.tokens().into_iter().map(Some).collect();
    let special = PyDict::new(py);
    for &(name, id) in vocabulary.special {
        special.set_item(name, id)?;
        tokens.resize(id as usize, None);
        tokens.push(Some(name.as_bytes().to_vec()));
    }
    let tokens = tokens.iter().map(|token| token.as_ref().map(|text| PyBytes::new(py, text)));
    Ok((PyList::new(py, tokens.collect::<Vec<_>>())?, special))
}

/// Tokenize a text with the tokenizer of an embedded vocabulary, without special tokens.
///
/// Args:
///     name: As for ``embedded_vocabulary``.
///     text: The text.
///
/// Raises:
///     KeyError: No such vocabulary is embedded.
#[pyfunction]
pub(crate) fn encode_ordinary(py: Python<'_>, name: &str, text: &str) -> PyResult<Vec<u32>> {
    let vocabulary = EmbeddedVocabulary::named(name)?;
    Ok(py.outside_forks(|| vocabulary.encoder().encode_ordinary(text)))
}
