//! Inverse images of languages of bytes under the encodings base16, base32 and base64 (RFC 4648).
//!
//! A character holds some bits of one or two bytes, so the encoding is not character-wise. The image is an automaton
//! whose states are a state of the decoded language, the bits that do not yet make a byte, and the position within a
//! group of characters. Padding is required, and the bits that it leaves over are zero (RFC 4648, sections 3.2 and 3.5).

use rustc_hash::FxHashMap;

use crate::{Automata, Table, TableBuilder, TableState, TermId, Terms};
use grammask_diagnostics::LimitExceeded;

/// An encoding of bytes by characters of ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BaseEncoding {
    /// Two digits for each byte, in upper case.
    Base16,
    /// Eight characters for five bytes.
    Base32,
    /// As base32, with the digits and the letters up to V in their order.
    Base32Hex,
    /// Four characters for three bytes.
    Base64,
    /// As base64, with `-` and `_` in place of `+` and `/`.
    Base64Url,
}

/// A position in an encoded text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct BitPosition {
    /// The state of the decoded language after the bytes so far.
    decoded: TableState,
    /// The number of bits after these bytes, less than 8.
    bits: u32,
    /// These bits.
    value: u32,
    /// The number of characters in the group.
    characters: usize,
}

impl BaseEncoding {
    /// The encoding called `name` in JSON Schema's `contentEncoding`.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "base16" => Self::Base16,
            "base32" => Self::Base32,
            "base32hex" => Self::Base32Hex,
            "base64" => Self::Base64,
            "base64url" => Self::Base64Url,
            _ => return None,
        })
    }

    /// The characters by their values.
    fn alphabet(self) -> &'static [u8] {
        match self {
            Self::Base16 => b"0123456789ABCDEF",
            Self::Base32 => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
            Self::Base32Hex => b"0123456789ABCDEFGHIJKLMNOPQRSTUV",
            Self::Base64 => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
            Self::Base64Url => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
        }
    }

    /// The number of characters in a group that encodes whole bytes.
    fn group(self) -> usize {
        match self {
            Self::Base16 => 2,
            Self::Base32 | Self::Base32Hex => 8,
            Self::Base64 | Self::Base64Url => 4,
        }
    }

    /// The encodings of the words of `term`.
    ///
    /// Cost: for base64 up to 85 states of 64 transitions for each state of the term.
    ///
    /// # Errors
    /// If there are more than `max_states` states.
    pub fn image(self, terms: &mut Terms, term: TermId, max_states: usize) -> Result<TermId, LimitExceeded> {
        if Automata::new(terms.clone(), max_states).start(term)?.is_none() {
            return Ok(terms.nothing());
        }
        let exceeded = || LimitExceeded::new("automaton_states", max_states);
        let table = terms.determinize(term, max_states).ok_or_else(exceeded)?;
        let image = self.table_image(&table, max_states).ok_or_else(exceeded)?;
        Ok(terms.table(image))
    }

    /// The encodings of the words of a table; `None` if there are more than `max_states` states.
    fn table_image(self, table: &Table, max_states: usize) -> Option<Table> {
        let alphabet = self.alphabet();
        let bits_per_character = alphabet.len().trailing_zeros();
        let mut builder = TableBuilder::new();
        // By number of characters of padding: the end of a text after them.
        let padding: Vec<TableState> = (0..self.group()).map(|_| builder.add_state()).collect();
        builder.accept(padding[0]);
        for count in 1..padding.len() {
            builder.transition(padding[count], b'=', b'=', padding[count - 1]);
        }
        let first = BitPosition { decoded: table.start()?, bits: 0, value: 0, characters: 0 };
        let start = builder.add_state();
        let mut states: FxHashMap<BitPosition, TableState> = FxHashMap::from_iter([(first, start)]);
        let mut stack = vec![(first, start)];
        while let Some((at, from)) = stack.pop() {
            if at.bits < bits_per_character && at.value == 0 && table.is_accepting(at.decoded) {
                match at.characters {
                    0 => builder.accept(from),
                    characters => {
                        builder.transition(from, b'=', b'=', padding[self.group() - characters - 1]);
                    }
                }
            }
            for (value, &character) in (0..).zip(alphabet) {
                let (mut bits, mut held) =
                    (at.bits + bits_per_character, (at.value << bits_per_character) | value);
                let mut decoded = at.decoded;
                if bits >= 8 {
                    bits -= 8;
                    let byte = (held >> bits) as u8;
                    held &= (1 << bits) - 1;
                    match table.next(decoded, byte) {
                        Some(next) => decoded = next,
                        None => continue,
                    }
                }
                let characters = (at.characters + 1) % self.group();
                let next = BitPosition { decoded, bits, value: held, characters };
                let to = *states.entry(next).or_insert_with(|| {
                    let to = builder.add_state();
                    stack.push((next, to));
                    to
                });
                builder.transition(from, character, character, to);
            }
            if states.len() > max_states {
                return None;
            }
        }
        Some(builder.finish(start))
    }
}
