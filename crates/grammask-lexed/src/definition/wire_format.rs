//! The serialised form of a [`LexedDefinition`].
//!
//! Integers are little-endian; a string is its length and its bytes; a list is its length and its members. The input
//! is not trusted: lengths are checked against the remaining bytes before memory is reserved, and unknown tags are
//! rejected.

use crate::definition::source::{
    ConflictPolicy, IndentationMeasure, IndentationSource, LexedDefinition, LexerKind, LexingRule,
    ParserKind, ProductionSource, TerminalPattern, TerminalRole, TerminalSource,
};
use crate::definition::terminal_automaton::AutomatonState;

impl LexedDefinition {
    /// Serialises the definition; `None` if grammars define some of its terminals.
    #[must_use]
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let is_delimited =
            |terminal: &TerminalSource| matches!(terminal.pattern, TerminalPattern::Delimited(_));
        if self.terminals.iter().any(is_delimited) {
            return None;
        }
        let mut bytes = DefinitionWriter(Vec::new());
        bytes.list(&self.terminals, |bytes, terminal| {
            bytes.text(&terminal.name);
            match &terminal.pattern {
                TerminalPattern::Literal(text) => bytes.kind(0).blob(text),
                TerminalPattern::Spelled { text, spellings } => bytes.kind(1).blob(text).text(spellings),
                TerminalPattern::Regex(pattern) => bytes.kind(2).text(pattern),
                TerminalPattern::Declared | TerminalPattern::Delimited(_) => bytes.kind(3),
                TerminalPattern::Automaton(states) => bytes.kind(4).automaton(states),
            };
            bytes.number(terminal.priority.cast_unsigned());
            bytes.kind(match terminal.role {
                TerminalRole::Parsed => 0,
                TerminalRole::Ignored => 1,
                TerminalRole::Refused => 2,
                TerminalRole::Reserved => 3,
                TerminalRole::Violation => 4,
            });
        });
        bytes.list(&self.productions, |bytes, production| {
            bytes.text(&production.lhs).texts(&production.rhs).number(production.priority.cast_unsigned());
        });
        bytes.text(&self.start).texts(&self.lexical_rules).texts(&self.ignored_rules);
        bytes.kind(match self.lexer {
            LexerKind::Basic => 0,
            LexerKind::Contextual => 1,
            LexerKind::Dynamic => 2,
            LexerKind::DynamicComplete => 3,
        });
        bytes.kind(match self.rule {
            LexingRule::MaximalMunch => 0,
            LexingRule::Lark => 1,
        });
        bytes.kind(match self.parser {
            ParserKind::Lalr => 0,
            ParserKind::Earley => 1,
        });
        bytes.kind(match self.conflicts {
            ConflictPolicy::Refuse => 0,
            ConflictPolicy::PreferShift => 1,
        });
        match &self.indentation {
            None => bytes.kind(0),
            Some(indentation) => {
                bytes.kind(1).text(&indentation.newline).text(&indentation.indent).text(&indentation.dedent);
                match indentation.measure {
                    IndentationMeasure::Columns { tab_length } => bytes.kind(0).number(tab_length),
                    IndentationMeasure::Python => bytes.kind(1),
                };
                bytes
                    .texts(&indentation.open)
                    .texts(&indentation.close)
                    .kind(u8::from(indentation.begins_line))
            }
        };
        bytes.blob(&self.beginning);
        bytes.list(&self.encodings, DefinitionWriter::encoding);
        let descriptions: Vec<_> = self.descriptions.iter().collect();
        bytes.list(&descriptions, |bytes, (name, description)| {
            bytes.text(name).text(description);
        });
        Some(bytes.0)
    }

    /// Reads a definition that [`to_bytes`](Self::to_bytes) wrote; `None` if the bytes are malformed.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut bytes = DefinitionReader(bytes);
        let definition = Self {
            terminals: bytes.list(DefinitionReader::terminal)?,
            productions: bytes.list(|bytes| {
                Some(ProductionSource {
                    lhs: bytes.text()?,
                    rhs: bytes.texts()?,
                    priority: bytes.number()?.cast_signed(),
                })
            })?,
            start: bytes.text()?,
            lexical_rules: bytes.texts()?,
            ignored_rules: bytes.texts()?,
            lexer: match bytes.kind()? {
                0 => LexerKind::Basic,
                1 => LexerKind::Contextual,
                2 => LexerKind::Dynamic,
                3 => LexerKind::DynamicComplete,
                _ => return None,
            },
            rule: match bytes.kind()? {
                0 => LexingRule::MaximalMunch,
                1 => LexingRule::Lark,
                _ => return None,
            },
            parser: match bytes.kind()? {
                0 => ParserKind::Lalr,
                1 => ParserKind::Earley,
                _ => return None,
            },
            conflicts: match bytes.kind()? {
                0 => ConflictPolicy::Refuse,
                1 => ConflictPolicy::PreferShift,
                _ => return None,
            },
            indentation: match bytes.kind()? {
                0 => None,
                1 => Some(bytes.indentation()?),
                _ => return None,
            },
            beginning: bytes.blob()?.to_vec(),
            encodings: bytes.list(DefinitionReader::encoding)?,
            descriptions: bytes.list(|bytes| Some((bytes.text()?, bytes.text()?)))?.into_iter().collect(),
        };
        bytes.0.is_empty().then_some(definition)
    }
}

impl AutomatonState {
    /// Serialises an automaton.
    #[must_use]
    pub fn automaton_to_bytes(states: &[Self]) -> Vec<u8> {
        let mut bytes = DefinitionWriter(Vec::new());
        bytes.automaton(states);
        bytes.0
    }

    /// Reads an automaton that [`automaton_to_bytes`](Self::automaton_to_bytes) wrote; `None` if the bytes are
    /// malformed.
    #[must_use]
    pub fn automaton_from_bytes(bytes: &[u8]) -> Option<Vec<Self>> {
        let mut bytes = DefinitionReader(bytes);
        let states = bytes.automaton()?;
        bytes.0.is_empty().then_some(states)
    }
}

pub(super) struct DefinitionWriter(Vec<u8>);

impl DefinitionWriter {
    pub(super) fn kind(&mut self, kind: u8) -> &mut Self {
        self.0.push(kind);
        self
    }

    fn number(&mut self, number: u32) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn length(&mut self, length: usize) -> &mut Self {
        self.0.extend((length as u64).to_le_bytes());
        self
    }

    fn blob(&mut self, bytes: &[u8]) -> &mut Self {
        self.length(bytes.len()).0.extend(bytes);
        self
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.blob(text.as_bytes())
    }

    fn list<T>(&mut self, members: &[T], mut write: impl FnMut(&mut Self, &T)) -> &mut Self {
        self.length(members.len());
        for member in members {
            write(self, member);
        }
        self
    }

    fn texts(&mut self, texts: &[String]) -> &mut Self {
        self.list(texts, |bytes, text| {
            bytes.text(text);
        })
    }

    fn automaton(&mut self, states: &[AutomatonState]) -> &mut Self {
        self.list(states, |bytes, state| {
            bytes.kind(u8::from(state.accepting)).list(&state.edges, |bytes, &(low, high, target)| {
                bytes.kind(low).kind(high).number(target);
            });
        })
    }
}

pub(super) struct DefinitionReader<'a>(&'a [u8]);

impl<'a> DefinitionReader<'a> {
    pub(super) fn kind(&mut self) -> Option<u8> {
        let (&kind, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(kind)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.kind()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*number))
    }

    /// A length, at most the number of remaining bytes, because every member takes at least one byte.
    fn length(&mut self) -> Option<usize> {
        let (length, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        usize::try_from(u64::from_le_bytes(*length)).ok().filter(|&length| length <= rest.len())
    }

    fn blob(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        let (blob, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(blob)
    }

    pub(super) fn text(&mut self) -> Option<String> {
        std::str::from_utf8(self.blob()?).ok().map(str::to_owned)
    }

    fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.length()?;
        // Not reserved in advance: a member takes more memory than its serialised form.
        let mut members = Vec::new();
        for _ in 0..length {
            members.push(read(self)?);
        }
        Some(members)
    }

    fn texts(&mut self) -> Option<Vec<String>> {
        self.list(Self::text)
    }

    fn terminal(&mut self) -> Option<TerminalSource> {
        Some(TerminalSource {
            name: self.text()?,
            pattern: match self.kind()? {
                0 => TerminalPattern::Literal(self.blob()?.to_vec()),
                1 => TerminalPattern::Spelled { text: self.blob()?.to_vec(), spellings: self.text()? },
                2 => TerminalPattern::Regex(self.text()?),
                3 => TerminalPattern::Declared,
                4 => TerminalPattern::Automaton(self.automaton()?),
                _ => return None,
            },
            priority: self.number()?.cast_signed(),
            role: match self.kind()? {
                0 => TerminalRole::Parsed,
                1 => TerminalRole::Ignored,
                2 => TerminalRole::Refused,
                3 => TerminalRole::Reserved,
                4 => TerminalRole::Violation,
                _ => return None,
            },
        })
    }

    fn indentation(&mut self) -> Option<IndentationSource> {
        Some(IndentationSource {
            newline: self.text()?,
            indent: self.text()?,
            dedent: self.text()?,
            measure: match self.kind()? {
                0 => IndentationMeasure::Columns { tab_length: self.number()? },
                1 => IndentationMeasure::Python,
                _ => return None,
            },
            open: self.texts()?,
            close: self.texts()?,
            begins_line: self.flag()?,
        })
    }

    fn automaton(&mut self) -> Option<Vec<AutomatonState>> {
        self.list(|bytes| {
            let accepting = bytes.flag()?;
            let edges = bytes.list(|bytes| Some((bytes.kind()?, bytes.kind()?, bytes.number()?)))?;
            Some(AutomatonState { accepting, edges })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use grammask_automata::encoding::{CharacterEncoding, JsonEscapes, Quote, Spellings};

    fn definition() -> LexedDefinition {
        let terminal = |name: &str, pattern, priority, role| TerminalSource {
            name: name.to_owned(),
            pattern,
            priority,
            role,
        };
        LexedDefinition {
            terminals: vec![
                terminal("A", TerminalPattern::Literal(b"a\xff".to_vec()), -3, TerminalRole::Parsed),
                terminal(
                    "IF",
                    TerminalPattern::Spelled { text: b"if".to_vec(), spellings: "(?i:if)".to_owned() },
                    i32::MAX,
                    TerminalRole::Refused,
                ),
                terminal("Öx", TerminalPattern::Regex("[ö]+x".to_owned()), 0, TerminalRole::Violation),
                terminal("Ö", TerminalPattern::Regex("[ö]+".to_owned()), 0, TerminalRole::Ignored),
                terminal(
                    "B",
                    TerminalPattern::Automaton(vec![
                        AutomatonState { accepting: false, edges: vec![(0, 9, 1), (11, 255, 0)] },
                        AutomatonState { accepting: true, edges: Vec::new() },
                    ]),
                    0,
                    TerminalRole::Parsed,
                ),
                terminal("INDENT", TerminalPattern::Declared, 0, TerminalRole::Parsed),
            ],
            productions: vec![
                ProductionSource { lhs: "s".to_owned(), rhs: Vec::new(), priority: i32::MIN },
                ProductionSource {
                    lhs: "s".to_owned(),
                    rhs: vec!["A".to_owned(), "s".to_owned()],
                    priority: 1,
                },
            ],
            start: "s".to_owned(),
            lexical_rules: vec!["s".to_owned(), "t".to_owned()],
            ignored_rules: vec!["c".to_owned()],
            lexer: LexerKind::DynamicComplete,
            rule: LexingRule::Lark,
            parser: ParserKind::Earley,
            conflicts: ConflictPolicy::PreferShift,
            indentation: Some(IndentationSource {
                newline: "NL".to_owned(),
                indent: "INDENT".to_owned(),
                dedent: "DEDENT".to_owned(),
                measure: IndentationMeasure::Columns { tab_length: 8 },
                open: vec!["LPAR".to_owned()],
                close: Vec::new(),
                begins_line: true,
            }),
            beginning: b"```\n".to_vec(),
            encodings: vec![
                CharacterEncoding::Utf8,
                CharacterEncoding::JsonString(JsonEscapes::Canonical),
                CharacterEncoding::XmlText(Spellings::Any),
                CharacterEncoding::XmlAttribute(Quote::Single, Spellings::Canonical),
                CharacterEncoding::PythonString(Quote::Double, Spellings::Any),
                CharacterEncoding::LinePrefix("> ".into()),
                CharacterEncoding::indented_block(" > ").expect("a prefix"),
            ],
            descriptions: [("B".to_owned(), "a b".to_owned())].into(),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let plain = LexedDefinition { indentation: None, ..definition() };
        for definition in [definition(), plain, LexedDefinition::default()] {
            assert_eq!(
                definition.to_bytes().and_then(|bytes| LexedDefinition::from_bytes(&bytes)),
                Some(definition)
            );
        }
    }

    #[test]
    fn parts_and_damaged_bytes_are_refused_or_read_as_something_else() {
        let bytes = definition().to_bytes().expect("no grammar defines a terminal");
        for length in 0..bytes.len() {
            assert_eq!(LexedDefinition::from_bytes(&bytes[..length]), None);
        }
        assert_eq!(LexedDefinition::from_bytes(&[&bytes[..], b"x"].concat()), None);
        for position in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut damaged = bytes.clone();
                damaged[position] = value;
                let read = LexedDefinition::from_bytes(&damaged);
                assert!(read != Some(definition()) || damaged == bytes);
            }
        }
    }
}
