//! `Vocabulary`: the tokens of a model.

use std::sync::Arc;

use grammask::vocabulary::{TokenId, TokenTexts, Vocabulary};
use wasm_bindgen::prelude::*;

use crate::failures::{JsResult, coded_error, invalid_argument, json, vocabulary_error};
use crate::options::options;

/// The tokens of a model; `Vocabulary` in `npm/grammask.d.ts` wraps it.
#[wasm_bindgen(js_name = Vocabulary)]
pub struct JsVocabulary {
    vocabulary: Arc<Vocabulary>,
}

#[wasm_bindgen(js_class = Vocabulary)]
impl JsVocabulary {
    /// A vocabulary of the texts that `bytes` contains one after another.
    ///
    /// `lengths` has the number of bytes of each token, -1 for a token without text; `special` is JSON, a list of pairs
    /// of a name and an id.
    ///
    /// # Errors
    /// As of `grammask::vocabulary::Vocabulary::new`.
    #[wasm_bindgen(constructor)]
    pub fn new(
        bytes: &[u8],
        lengths: &[i32],
        special: &str,
        eos: Vec<u32>,
        size: Option<u32>,
    ) -> JsResult<Self> {
        let mut texts = TokenTexts::builder_with_capacity(lengths.len());
        let mut rest = bytes;
        for &length in lengths {
            match usize::try_from(length) {
                Ok(length) => {
                    let (text, after) = rest
                        .split_at_checked(length)
                        .ok_or_else(|| invalid_argument("the tokens are longer than their bytes"))?;
                    texts.push(text);
                    rest = after;
                }
                Err(_) => texts.push_textless(),
            }
        }
        let special: Vec<(String, u32)> = options(special)?;
        let vocabulary = Vocabulary::new(texts.finish(), special, eos, size.map(|size| size as usize));
        Ok(Self { vocabulary: Arc::new(vocabulary.map_err(|error| vocabulary_error(&error))?) })
    }

    /// A vocabulary that `to_bytes` saved, here or in another binding.
    ///
    /// # Errors
    /// If the bytes are none, or damaged.
    #[wasm_bindgen(js_name = fromBytes)]
    pub fn from_bytes(saved: &[u8]) -> JsResult<Self> {
        let vocabulary = Vocabulary::from_bytes(saved);
        let vocabulary = vocabulary.map_err(|error| coded_error(error.code(), error.to_string()))?;
        Ok(Self { vocabulary: Arc::new(vocabulary) })
    }

    /// The saved vocabulary.
    #[wasm_bindgen(js_name = toBytes)]
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.vocabulary.to_bytes()
    }

    /// The number of ids.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn size(&self) -> usize {
        self.vocabulary.size()
    }

    /// The end tokens, ascending.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn eos(&self) -> Vec<u32> {
        ids(self.vocabulary.eos())
    }

    /// Pairs of a name and an id, as JSON.
    #[must_use]
    pub fn special(&self) -> String {
        let pairs: Vec<(&str, u32)> =
            self.vocabulary.specials().iter().map(|(name, id)| (&**name, id.0)).collect();
        json(&pairs)
    }

    /// The bytes of a token; `None` if it has no text, or there is no such id.
    #[must_use]
    pub fn token(&self, id: u32) -> Option<Vec<u8>> {
        let id = self.existing(id)?;
        self.vocabulary.token(id).map(<[u8]>::to_vec)
    }

    /// The name of a special token.
    #[wasm_bindgen(js_name = nameOf)]
    #[must_use]
    pub fn name_of(&self, id: u32) -> Option<String> {
        self.vocabulary.name_of(self.existing(id)?).map(str::to_owned)
    }

    /// The ids of the tokens with text, in the order of their bytes.
    #[wasm_bindgen(js_name = trieOrder)]
    #[must_use]
    pub fn trie_order(&self) -> Vec<u32> {
        ids(self.vocabulary.trie().sorted_ids())
    }

    /// The tokens of a text, each the longest that fits.
    ///
    /// # Errors
    /// If no token begins with a byte of the text.
    pub fn tokenize(&self, text: &[u8]) -> JsResult<Vec<u32>> {
        match self.vocabulary.longest_tokens(text) {
            Ok(tokens) => Ok(ids(&tokens)),
            Err(position) => Err(coded_error(
                "no-such-token",
                format!("the vocabulary has no token that begins with byte {position} of the text"),
            )),
        }
    }
}

impl JsVocabulary {
    /// The vocabulary of the core.
    pub(crate) fn shared(&self) -> Arc<Vocabulary> {
        self.vocabulary.clone()
    }

    fn existing(&self, id: u32) -> Option<TokenId> {
        ((id as usize) < self.vocabulary.size()).then_some(TokenId(id))
    }
}

/// Ids as numbers.
pub(crate) fn ids(tokens: &[TokenId]) -> Vec<u32> {
    tokens.iter().map(|id| id.0).collect()
}
