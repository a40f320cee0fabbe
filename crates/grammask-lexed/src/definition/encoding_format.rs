//! The serialised form of encodings.

use crate::definition::wire_format::{DefinitionReader, DefinitionWriter};
use grammask_automata::encoding::{BlockPrefix, CharacterEncoding, JsonEscapes, Quote, Spellings};

impl DefinitionWriter {
    /// Writes an encoding: its kind, and its options.
    pub(super) fn encoding(&mut self, encoding: &CharacterEncoding) {
        match encoding {
            CharacterEncoding::Utf8 => self.kind(0),
            CharacterEncoding::JsonString(escapes) => self.kind(1).kind(match escapes {
                JsonEscapes::Natural => 0,
                JsonEscapes::Any => 1,
                JsonEscapes::Ascii => 2,
                JsonEscapes::Raw => 3,
                JsonEscapes::Canonical => 4,
            }),
            CharacterEncoding::XmlText(spellings) => self.kind(2).spellings(*spellings),
            CharacterEncoding::XmlAttribute(quote, spellings) => {
                self.kind(3).quote(*quote).spellings(*spellings)
            }
            CharacterEncoding::PythonString(quote, spellings) => {
                self.kind(4).quote(*quote).spellings(*spellings)
            }
            CharacterEncoding::LinePrefix(prefix) => self.kind(5).text(prefix),
            CharacterEncoding::IndentedBlock(prefix) => self.kind(6).text(prefix.text()),
        };
    }

    fn spellings(&mut self, spellings: Spellings) -> &mut Self {
        self.kind(match spellings {
            Spellings::Any => 0,
            Spellings::Canonical => 1,
        })
    }

    fn quote(&mut self, quote: Quote) -> &mut Self {
        self.kind(match quote {
            Quote::Single => 0,
            Quote::Double => 1,
        })
    }
}

impl DefinitionReader<'_> {
    /// Reads an encoding.
    pub(super) fn encoding(&mut self) -> Option<CharacterEncoding> {
        Some(match self.kind()? {
            0 => CharacterEncoding::Utf8,
            1 => CharacterEncoding::JsonString(match self.kind()? {
                0 => JsonEscapes::Natural,
                1 => JsonEscapes::Any,
                2 => JsonEscapes::Ascii,
                3 => JsonEscapes::Raw,
                4 => JsonEscapes::Canonical,
                _ => return None,
            }),
            2 => CharacterEncoding::XmlText(self.spellings()?),
            3 => CharacterEncoding::XmlAttribute(self.quote()?, self.spellings()?),
            4 => CharacterEncoding::PythonString(self.quote()?, self.spellings()?),
            5 => CharacterEncoding::LinePrefix(self.text()?.into()),
            6 => CharacterEncoding::IndentedBlock(BlockPrefix::new(&self.text()?)?),
            _ => return None,
        })
    }

    fn spellings(&mut self) -> Option<Spellings> {
        match self.kind()? {
            0 => Some(Spellings::Any),
            1 => Some(Spellings::Canonical),
            _ => None,
        }
    }

    fn quote(&mut self) -> Option<Quote> {
        match self.kind()? {
            0 => Some(Quote::Single),
            1 => Some(Quote::Double),
            _ => None,
        }
    }
}
