//! Values of encoded texts: each byte passes through decoders, outermost first, and the decoded bytes are read as usual.

use std::sync::Arc;

use grammask_automata::encoding::{CharacterEncoding, DecodedByte};
use grammask_collections::id_type;

use super::chains::ChainId;
use super::json::{Prefix, PrefixId, Token, Values};

id_type! {
    /// An interned state of decoders.
    DecoderId
}

/// The state of the decoders of one value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Decoders {
    encodings: Arc<[CharacterEncoding]>,
    /// For each encoding the bytes of a spelling that is not complete.
    incomplete: Box<[ChainId]>,
}

impl Values {
    /// The prefix of a value through encodings, outermost first.
    pub(super) fn encoded(&mut self, prefix: PrefixId, encodings: &Arc<[CharacterEncoding]>) -> PrefixId {
        if encodings.is_empty() {
            return prefix;
        }
        let incomplete = vec![ChainId::EMPTY; encodings.len()].into();
        let decoder = self.intern_decoders(Decoders { encodings: encodings.clone(), incomplete });
        self.intern(Prefix { frame: None, token: Token::Encoded(prefix, decoder) })
    }

    /// The prefix after one more byte of an encoded text.
    pub(super) fn step_encoded(&mut self, inner: PrefixId, decoder: DecoderId, byte: u8) -> PrefixId {
        let mut state = self.decoders[decoder.index()].clone();
        let mut bytes = vec![byte];
        for (encoding, incomplete) in state.encodings.iter().zip(&mut state.incomplete) {
            let mut decoded = Vec::with_capacity(bytes.len());
            for byte in bytes {
                let mut before: Vec<u8> = self.chains.reversed(*incomplete).map(|byte| byte as u8).collect();
                before.reverse();
                match encoding.decode_byte(&before, byte) {
                    DecodedByte::Incomplete => {
                        if !is_redundant(encoding, &before, byte) {
                            *incomplete = self.chains.push(*incomplete, u32::from(byte));
                        }
                        continue;
                    }
                    DecodedByte::Itself => decoded.push(byte),
                    DecodedByte::Character(character) => {
                        decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                    }
                    DecodedByte::CharacterBefore(character) => {
                        decoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                        *incomplete = self.chains.push(ChainId::EMPTY, u32::from(byte));
                        continue;
                    }
                }
                *incomplete = ChainId::EMPTY;
            }
            bytes = decoded;
        }
        let inner = bytes.into_iter().fold(inner, |inner, byte| self.step(inner, byte));
        let decoder = self.intern_decoders(state);
        self.intern(Prefix { frame: None, token: Token::Encoded(inner, decoder) })
    }

    /// Whether no spelling is incomplete.
    pub(super) fn is_between_characters(&self, decoder: DecoderId) -> bool {
        self.decoders[decoder.index()].incomplete.iter().all(|&incomplete| incomplete == ChainId::EMPTY)
    }

    fn intern_decoders(&mut self, state: Decoders) -> DecoderId {
        let Self { decoders, decoder_ids, .. } = self;
        *decoder_ids.entry(state).or_insert_with_key(|state| {
            decoders.push(state.clone());
            DecoderId::new(decoders.len() - 1)
        })
    }
}

/// Whether a byte of an incomplete spelling leaves its state as it is: character references of XML have any number of
/// leading zeros, which would be as many states.
fn is_redundant(encoding: &CharacterEncoding, incomplete: &[u8], byte: u8) -> bool {
    matches!(encoding, CharacterEncoding::XmlText(_) | CharacterEncoding::XmlAttribute(..))
        && byte == b'0'
        && matches!(incomplete, b"&#0" | b"&#x0")
}
