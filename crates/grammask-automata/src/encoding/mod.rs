//! Inverse images of languages under character-wise encodings, such as the escapes of a JSON string.
//!
//! An encoding gives each character a set of *spellings*. All spellings of all characters together are a prefix code, so
//! a byte string decodes to at most one text. The inverse image of a language is the set of all byte strings that
//! decode to one of its words. Inverse images under such a decoder commute with concatenation, union, repetition,
//! intersection and "first match", and with the complement relative to all spelled texts, as long as no character is
//! cut by the parts of a term. Terms therefore keep their structure ([`TermEncoder`]); only leaves are replaced, and
//! parts that cut characters are determinised.
//!
//! | file | contents |
//! |---|---|
//! | `base_n` | the inverse image of a regular language under base16, base32 and base64 |
//! | `decoder` | the characters of a text, read byte by byte |
//! | `indented_block` | the inverse image of a table under the removal of the prefixes of lines |
//! | `spelling_trees` | acyclic automata for the spellings of ranges of characters |
//! | `spellings` | the spellings of each encoding |
//! | `table_image` | the inverse image of a table |
//! | `term_image` | the inverse image of a term |

mod base_n;
mod decoder;
mod indented_block;
pub mod spelling_trees;
mod spellings;
mod table_image;
mod term_image;

use std::sync::Arc;

pub use base_n::BaseEncoding;
pub use decoder::DecodedByte;
pub use indented_block::BlockPrefix;
pub use term_image::TermEncoder;

/// The escapes inside a JSON string (RFC 8259, section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JsonEscapes {
    /// ASCII characters that need no escape represent themselves (`\/` is admitted as well). Others represent
    /// themselves, where JSON allows it, or are written as any escape.
    Natural,
    /// Every character may also be written as `\uXXXX`.
    Any,
    /// As `Natural`, but characters beyond ASCII are always escaped.
    Ascii,
    /// As `Natural`, but characters beyond ASCII are never escaped.
    Raw,
    /// One spelling of each character: itself, or else the short escape, or else `\uXXXX` in lower case.
    Canonical,
}

/// Which spellings of a character are admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spellings {
    /// All of them.
    Any,
    /// One of each character.
    Canonical,
}

/// The delimiter of a string or of an attribute's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quote {
    /// `'`.
    Single,
    /// `"`.
    Double,
}

impl Quote {
    /// The character.
    #[must_use]
    pub fn character(self) -> char {
        match self {
            Self::Single => '\'',
            Self::Double => '"',
        }
    }
}

/// A character-wise encoding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CharacterEncoding {
    /// Every character represents itself.
    Utf8,
    /// The inside of a JSON string.
    JsonString(JsonEscapes),
    /// The text of an XML element: the five named entities and character references. Without literal `>`, which must
    /// not follow `]]`, and without literal carriage returns, which a reader replaces.
    XmlText(Spellings),
    /// The value of an XML attribute between quotes. Tabs and line breaks are character references, because a reader
    /// replaces literal ones.
    XmlAttribute(Quote, Spellings),
    /// The inside of a Python string literal on one line: without octal escapes of one or two digits, whose end depends
    /// on the next character, and without `\N{...}` and escaped line breaks.
    PythonString(Quote, Spellings),
    /// Lines with a prefix: each line feed is followed by it. The prefix of the first line is not part of the encoding.
    LinePrefix(Arc<str>),
    /// Lines of a block with a [prefix](BlockPrefix), as code in a list item or in a quotation of Markdown: each line
    /// after a line feed begins with the prefix, which is dropped, or is blank and lacks spaces at the end of the prefix.
    /// The last line may be any beginning of the prefix, and is empty then. The prefix of the first line is not part of
    /// the encoding.
    ///
    /// This decoder is not character-wise: the spelling of a line feed depends on what follows. See
    /// [`TermEncoder::image`] and [`TermEncoder::separable_image`].
    IndentedBlock(BlockPrefix),
}

impl CharacterEncoding {
    /// An [indented block](Self::IndentedBlock); `None` if the prefix is not of at most 255 printable ASCII characters.
    #[must_use]
    pub fn indented_block(prefix: &str) -> Option<Self> {
        BlockPrefix::new(prefix).map(Self::IndentedBlock)
    }
}
