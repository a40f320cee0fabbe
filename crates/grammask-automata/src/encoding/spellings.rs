//! The spellings of each encoding: its literal characters, its short escapes, and its notations of code points.

use crate::encoding::spelling_trees::{
    Base, ByteTransition, CharTransition, LiteralSpellings, SpellingTrees, TreeNodeId, overlapping,
    push_transition, scalars_within_ranges,
};
use crate::encoding::{CharacterEncoding, JsonEscapes, Spellings};

/// The short escapes of JSON, by the letter after the backslash.
pub(super) const JSON_SHORT: [(u8, char); 8] = [
    (b'"', '"'),
    (b'/', '/'),
    (b'\\', '\\'),
    (b'b', '\u{8}'),
    (b'f', '\u{c}'),
    (b'n', '\n'),
    (b'r', '\r'),
    (b't', '\t'),
];

/// The short escapes of Python (Language Reference, "Escape sequences").
pub(super) const PYTHON_SHORT: [(u8, char); 10] = [
    (b'"', '"'),
    (b'\'', '\''),
    (b'\\', '\\'),
    (b'a', '\u{7}'),
    (b'b', '\u{8}'),
    (b'f', '\u{c}'),
    (b'n', '\n'),
    (b'r', '\r'),
    (b't', '\t'),
    (b'v', '\u{b}'),
];

/// The entities that every XML document has.
pub(super) const XML_ENTITIES: [(&str, char); 5] =
    [("amp;", '&'), ("apos;", '\''), ("gt;", '>'), ("lt;", '<'), ("quot;", '"')];

/// The characters of XML 1.0 (production 2).
const XML_CHARACTERS: [(u32, u32); 5] =
    [(0x9, 0xa), (0xd, 0xd), (0x20, 0xd7ff), (0xe000, 0xfffd), (0x1_0000, 0x10_ffff)];

impl CharacterEncoding {
    /// Whether every character has a spelling.
    #[must_use]
    pub fn spells_all_characters(&self) -> bool {
        match self {
            Self::Utf8
            | Self::JsonString(_)
            | Self::PythonString(..)
            | Self::LinePrefix(_)
            | Self::IndentedBlock(_) => true,
            Self::XmlText(_) | Self::XmlAttribute(..) => false,
        }
    }

    /// Whether an ASCII character represents itself.
    pub(super) fn is_literal(&self, byte: u8) -> bool {
        let character = char::from(byte);
        match self {
            Self::Utf8 => true,
            Self::JsonString(_) => byte >= 0x20 && !matches!(byte, b'"' | b'\\'),
            Self::XmlText(_) => {
                (byte >= 0x20 || matches!(byte, b'\t' | b'\n')) && !matches!(byte, b'<' | b'&' | b'>')
            }
            Self::XmlAttribute(quote, spellings) => {
                byte >= 0x20
                    && !matches!(byte, b'<' | b'&')
                    && character != quote.character()
                    && (byte != b'>' || *spellings == Spellings::Any)
            }
            Self::PythonString(quote, spellings) => match spellings {
                Spellings::Any => {
                    !matches!(byte, 0 | b'\n' | b'\r' | b'\\') && character != quote.character()
                }
                Spellings::Canonical => {
                    (0x20..0x7f).contains(&byte) && byte != b'\\' && character != quote.character()
                }
            },
            Self::LinePrefix(_) | Self::IndentedBlock(_) => byte != b'\n',
        }
    }

    /// Whether a character beyond ASCII represents itself.
    fn is_literal_beyond_ascii(&self) -> bool {
        *self != Self::JsonString(JsonEscapes::Ascii)
    }

    /// Whether a character is its own only spelling.
    #[must_use]
    pub fn is_plain(&self, character: char) -> bool {
        let is_ascii = character.is_ascii();
        let is_literal =
            if is_ascii { self.is_literal(character as u8) } else { self.is_literal_beyond_ascii() };
        is_literal
            && match self {
                Self::Utf8 | Self::LinePrefix(_) | Self::IndentedBlock(_) => true,
                Self::JsonString(JsonEscapes::Canonical) => true,
                Self::JsonString(JsonEscapes::Any) => false,
                Self::JsonString(escapes) => match character {
                    '/' => false,
                    ' '..='~' => true,
                    _ => *escapes == JsonEscapes::Raw && !is_ascii,
                },
                Self::XmlText(spellings) | Self::XmlAttribute(_, spellings) => {
                    *spellings == Spellings::Canonical && !matches!(character, '\u{fffe}' | '\u{ffff}')
                }
                Self::PythonString(_, spellings) => *spellings == Spellings::Canonical,
            }
    }

    /// The canonical spelling of an ASCII character that does not represent itself; `None` if it has none.
    fn canonical_escape(&self, byte: u8) -> Option<String> {
        let short = |table: &[(u8, char)]| {
            let escape = table.iter().find(|(_, character)| *character == char::from(byte));
            escape.map(|&(letter, _)| format!("\\{}", char::from(letter)))
        };
        match self {
            Self::JsonString(_) => Some(short(&JSON_SHORT).unwrap_or_else(|| format!("\\u{byte:04x}"))),
            Self::XmlText(_) | Self::XmlAttribute(..) => {
                let entity = XML_ENTITIES.iter().find(|(_, character)| *character == char::from(byte));
                match byte {
                    _ if entity.is_some() => entity.map(|(name, _)| format!("&{name}")),
                    b'\t' | b'\n' | b'\r' => Some(format!("&#{byte};")),
                    _ => None,
                }
            }
            Self::PythonString(..) => match byte {
                b'"' | b'\'' | b'\\' | b'\n' | b'\r' | b'\t' => short(&PYTHON_SHORT),
                _ => Some(format!("\\x{byte:02x}")),
            },
            Self::LinePrefix(prefix) => (byte == b'\n').then(|| format!("\n{prefix}")),
            Self::IndentedBlock(prefix) => (byte == b'\n').then(|| format!("\n{prefix}")),
            Self::Utf8 => None,
        }
    }
}

impl SpellingTrees {
    /// The transitions from which each spelling of a character reaches the target of its transition, in ascending
    /// order.
    pub(super) fn character_edges(
        &mut self,
        encoding: &CharacterEncoding,
        literals: LiteralSpellings,
        transitions: &[CharTransition],
    ) -> Vec<ByteTransition> {
        let mut edges = Vec::new();
        Self::push_ascii(&mut edges, transitions, |byte| encoding.is_literal(byte));
        if encoding.is_literal_beyond_ascii() && literals == LiteralSpellings::WholeCharacters {
            match encoding {
                CharacterEncoding::XmlText(_) | CharacterEncoding::XmlAttribute(..) => {
                    let transitions = scalars_within_ranges(transitions, &XML_CHARACTERS);
                    self.push_utf8(&mut edges, &transitions);
                }
                _ => self.push_utf8(&mut edges, transitions),
            }
        }
        match encoding {
            CharacterEncoding::Utf8 => {}
            CharacterEncoding::JsonString(escapes) if *escapes != JsonEscapes::Canonical => {
                let inner = self.after_json_backslash(*escapes, transitions);
                self.push_node(&mut edges, b'\\', inner);
            }
            CharacterEncoding::PythonString(_, Spellings::Any) => {
                let inner = self.after_python_backslash(transitions);
                self.push_node(&mut edges, b'\\', inner);
            }
            CharacterEncoding::XmlText(Spellings::Any)
            | CharacterEncoding::XmlAttribute(_, Spellings::Any) => {
                let inner = self.after_ampersand(transitions);
                self.push_node(&mut edges, b'&', inner);
            }
            _ => {
                let mut words = Vec::new();
                for byte in (0..=0x7f).filter(|&byte| !encoding.is_literal(byte)) {
                    let code = u32::from(byte);
                    if let [transition] = overlapping(transitions, code, code)
                        && let Some(escape) = encoding.canonical_escape(byte)
                    {
                        words.push((escape.into_bytes(), transition.target));
                    }
                }
                match encoding {
                    // The prefix may be long, so it is not built by recursion.
                    CharacterEncoding::LinePrefix(prefix) => {
                        for (_, target) in words {
                            let target = self.chain(prefix.as_bytes(), target);
                            push_transition(&mut edges, b'\n', b'\n', target);
                        }
                    }
                    _ => {
                        let words = self.words(words);
                        edges.extend(words);
                    }
                }
            }
        }
        edges.sort_unstable_by_key(|edge| edge.low);
        edges
    }

    fn push_node(&mut self, edges: &mut Vec<ByteTransition>, byte: u8, inner: Vec<ByteTransition>) {
        if let Some(target) = self.sorted_node(inner) {
            push_transition(edges, byte, byte, target);
        }
    }

    /// The transitions after a backslash in a JSON string.
    fn after_json_backslash(
        &mut self,
        escapes: JsonEscapes,
        transitions: &[CharTransition],
    ) -> Vec<ByteTransition> {
        let mut edges = short_escapes(&JSON_SHORT, transitions);
        let escapable: &[(u32, u32)] = match escapes {
            JsonEscapes::Any => &[(0, 0x10_ffff)],
            JsonEscapes::Natural | JsonEscapes::Ascii => {
                &[(0, 0x1f), (0x22, 0x22), (0x5c, 0x5c), (0x7f, 0x10_ffff)]
            }
            JsonEscapes::Raw | JsonEscapes::Canonical => {
                &[(0, 0x1f), (0x22, 0x22), (0x5c, 0x5c), (0x7f, 0x7f)]
            }
        };
        if let Some(target) = self.after_u(&scalars_within_ranges(transitions, escapable)) {
            push_transition(&mut edges, b'u', b'u', target);
        }
        edges
    }

    /// The transitions after a backslash in a Python string.
    fn after_python_backslash(&mut self, transitions: &[CharTransition]) -> Vec<ByteTransition> {
        let mut edges = short_escapes(&PYTHON_SHORT, transitions);
        edges.extend(self.octal_digits(transitions));
        if let Some(target) = self.hex_digits(2, 0, transitions) {
            push_transition(&mut edges, b'x', b'x', target);
        }
        let scalars = scalars_within_ranges(transitions, &[(0, 0x10_ffff)]);
        if let Some(target) = self.hex_digits(4, 0, &scalars) {
            push_transition(&mut edges, b'u', b'u', target);
        }
        // `\U` has eight digits, of which the first two are zeros, and the next two are at most 10.
        let mut planes = Vec::new();
        for plane in 0..=16_u32 {
            if let Some(target) = self.hex_digits(4, plane << 16, &scalars) {
                planes.push((format!("{plane:04x}").into_bytes(), target));
                let upper = format!("{plane:04X}").into_bytes();
                if planes.last().is_some_and(|(lower, _)| *lower != upper) {
                    planes.push((upper, target));
                }
            }
        }
        if !planes.is_empty() {
            let planes = self.words(planes);
            self.push_node(&mut edges, b'U', planes);
        }
        edges
    }

    /// The transitions after an ampersand in XML.
    fn after_ampersand(&mut self, transitions: &[CharTransition]) -> Vec<ByteTransition> {
        let entities = XML_ENTITIES.iter().filter_map(|&(name, character)| {
            let code = u32::from(character);
            let [transition] = overlapping(transitions, code, code) else { return None };
            Some((name.as_bytes().to_vec(), transition.target))
        });
        let entities: Vec<(Vec<u8>, TreeNodeId)> = entities.collect();
        let mut edges = self.words(entities);
        let characters = scalars_within_ranges(transitions, &XML_CHARACTERS);
        let mut references = Vec::new();
        if let Some(hexadecimal) = self.number(Base::Hexadecimal, &characters) {
            push_transition(&mut references, b'x', b'x', hexadecimal);
        }
        if let Some(decimal) = self.number(Base::Decimal, &characters) {
            references.extend(self.number_edges(decimal));
        }
        self.push_node(&mut edges, b'#', references);
        edges
    }
}

/// The transitions of short escapes: one letter each.
fn short_escapes(table: &[(u8, char)], transitions: &[CharTransition]) -> Vec<ByteTransition> {
    let mut edges = Vec::new();
    for &(letter, character) in table {
        if let [transition] = overlapping(transitions, character.into(), character.into()) {
            push_transition(&mut edges, letter, letter, transition.target);
        }
    }
    edges
}
