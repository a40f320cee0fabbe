//! Parses regular expressions of ECMA-262, edition 2025, with the `u` flag.
//!
//! Where real schemas need it, the parser is as lenient as Annex B: a lone `]`, `}` or `{` is a literal, any
//! punctuation may be escaped, and `-` next to a class such as `\w` is a literal. Syntax of other dialects is accepted
//! where its meaning is unambiguous: `\A`, `\Z` and `\z` match at the ends of the text, `(?P<name>...)` is a group,
//! `(?i)` applies to the remainder of its group. Syntax whose meaning differs between dialects, such as `\a` or
//! `x{,3}`, is an error. Open groups are kept on an explicit stack, so nesting does not recurse.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::ast::{PatternAst, PatternNode, PatternNodeId, Polarity};
use super::classes;
use super::error::PatternError;

/// Maximum depth of nested groups.
const MAX_OPEN_GROUPS: usize = 250;

/// The supported flags.
#[derive(Clone, Copy, Default)]
struct PatternFlags {
    ignore_case: bool,
    dot_all: bool,
}

/// The kind of node that an open group becomes.
#[derive(Clone, Copy)]
enum GroupKind {
    Plain,
    LookAhead(Polarity),
    LookBehind(Polarity),
}

struct OpenGroup {
    kind: GroupKind,
    offset: usize,
    /// The flags in effect outside the group.
    flags: PatternFlags,
    branches: Vec<PatternNodeId>,
    parts: Vec<PatternNodeId>,
}

/// An element of a bracketed character class.
enum ClassElement {
    Character(char),
    Set(ClassUnicode),
}

struct PatternParser<'s> {
    source: &'s str,
    at: usize,
    nodes: Vec<(PatternNode, usize)>,
    groups: Vec<OpenGroup>,
    flags: PatternFlags,
}

/// The syntax tree of `source`.
pub(super) fn parse(source: &str) -> Result<PatternAst, PatternError> {
    let mut parser = PatternParser {
        source,
        at: 0,
        nodes: Vec::new(),
        groups: Vec::new(),
        flags: PatternFlags::default(),
    };
    parser.open(GroupKind::Plain, 0)?;
    while let Some(character) = parser.peek() {
        parser.element(character)?;
    }
    if let [_, .., unclosed] = &parser.groups[..] {
        return Err(PatternError::syntax(unclosed.offset, "the group is not closed"));
    }
    let root = parser.close();
    Ok(PatternAst::new(parser.nodes, root))
}

impl PatternParser<'_> {
    fn remaining(&self) -> &str {
        &self.source[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.remaining().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.at += character.len_utf8();
        Some(character)
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.remaining().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    fn add(&mut self, node: PatternNode, offset: usize) -> PatternNodeId {
        self.nodes.push((node, offset));
        PatternNodeId::new(self.nodes.len() - 1)
    }

    fn group(&mut self) -> &mut OpenGroup {
        self.groups.last_mut().expect("the group of the whole pattern is closed last")
    }

    fn open(&mut self, kind: GroupKind, offset: usize) -> Result<(), PatternError> {
        if self.groups.len() > MAX_OPEN_GROUPS {
            return Err(PatternError::too_large(offset));
        }
        let flags = self.flags;
        self.groups.push(OpenGroup { kind, offset, flags, branches: Vec::new(), parts: Vec::new() });
        Ok(())
    }

    fn end_branch(&mut self) {
        let group = self.group();
        let offset = group.offset;
        let parts = std::mem::take(&mut group.parts);
        let branch = match parts[..] {
            [only] => only,
            _ => self.add(PatternNode::Concat(parts), offset),
        };
        self.group().branches.push(branch);
    }

    /// Closes the innermost group and returns its node.
    fn close(&mut self) -> PatternNodeId {
        self.end_branch();
        let group = self.groups.pop().expect("a group is open");
        self.flags = group.flags;
        let body = match group.branches[..] {
            [only] => only,
            _ => self.add(PatternNode::Alternation(group.branches), group.offset),
        };
        match group.kind {
            GroupKind::Plain => body,
            GroupKind::LookAhead(sense) => self.add(PatternNode::LookAhead(sense, body), group.offset),
            GroupKind::LookBehind(sense) => self.add(PatternNode::LookBehind(sense, body), group.offset),
        }
    }

    fn element(&mut self, character: char) -> Result<(), PatternError> {
        let offset = self.at;
        self.at += character.len_utf8();
        let node = match character {
            '|' => {
                self.end_branch();
                return Ok(());
            }
            '(' => return self.open_group(offset),
            ')' => {
                if self.groups.len() == 1 {
                    return Err(PatternError::syntax(offset, "no group is open here"));
                }
                let start = self.group().offset;
                let node = self.close();
                return self.quantified(node, start);
            }
            '^' => self.add(PatternNode::Start, offset),
            '$' => self.add(PatternNode::End, offset),
            '.' => {
                let class = if self.flags.dot_all { classes::all() } else { classes::dot() };
                self.add(PatternNode::Class(class), offset)
            }
            '[' => {
                let class = self.brackets(offset)?;
                self.add(PatternNode::Class(class), offset)
            }
            '\\' => self.escape(offset)?,
            '*' | '+' | '?' => return Err(PatternError::syntax(offset, "there is nothing to repeat")),
            '{' => match self.counts(offset)? {
                Some(_) => return Err(PatternError::syntax(offset, "there is nothing to repeat")),
                None => self.character('{', offset),
            },
            _ => self.character(character, offset),
        };
        self.quantified(node, offset)
    }

    fn character(&mut self, character: char, offset: usize) -> PatternNodeId {
        let class = self.folded(classes::single(character));
        self.add(PatternNode::Class(class), offset)
    }

    fn folded(&self, mut class: ClassUnicode) -> ClassUnicode {
        if self.flags.ignore_case {
            class.case_fold_simple();
        }
        class
    }

    /// Adds `node` to the innermost group, with the quantifier that follows it, if there is one.
    fn quantified(&mut self, node: PatternNodeId, offset: usize) -> Result<(), PatternError> {
        let at = self.at;
        let counts = match self.peek() {
            Some('*') => Some((0, None)),
            Some('+') => Some((1, None)),
            Some('?') => Some((0, Some(1))),
            _ => None,
        };
        let counts = match counts {
            Some(counts) => {
                self.at += 1;
                Some(counts)
            }
            None if self.eat("{") => {
                let counts = self.counts(at)?;
                if counts.is_none() {
                    self.at = at;
                }
                counts
            }
            None => None,
        };
        let Some((min, max)) = counts else {
            if !matches!(&self.nodes[node.index()].0, PatternNode::Concat(parts) if parts.is_empty()) {
                self.group().parts.push(node);
            }
            return Ok(());
        };
        let is_assertion = matches!(
            self.nodes[node.index()].0,
            PatternNode::Start | PatternNode::End | PatternNode::WordBoundary(_)
        );
        // A group that contains nothing but an assertion may be repeated.
        if is_assertion && !self.source[..at].ends_with(')') {
            return Err(PatternError::syntax(at, "an assertion cannot be repeated"));
        }
        // Laziness changes which match is preferred, not which texts match.
        self.eat("?");
        if matches!(self.peek(), Some('*' | '+' | '?')) {
            return Err(PatternError::syntax(self.at, "there is nothing to repeat"));
        }
        let repeat = self.add(PatternNode::Repeat { body: node, min, max }, offset);
        self.group().parts.push(repeat);
        Ok(())
    }

    /// Parses the counts of a quantifier and its `}`, after the `{`. `None` if the `{` is a literal.
    fn counts(&mut self, offset: usize) -> Result<Option<(u32, Option<u32>)>, PatternError> {
        let length = self.remaining().bytes().take_while(|byte| matches!(byte, b'0'..=b'9' | b',')).count();
        let text = &self.remaining()[..length];
        if !self.remaining()[length..].starts_with('}') {
            return Ok(None);
        }
        let (low, high) = match text.split_once(',') {
            Some((low, high)) => (low, Some(high)),
            None => (text, None),
        };
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if low.is_empty() && high.is_some_and(is_number) {
            let message = "`{,n}` means different things in different dialects; write {0,n} or \\{";
            return Err(PatternError::syntax(offset, message));
        }
        if !is_number(low) || high.is_some_and(|high| !high.is_empty() && !is_number(high)) {
            return Ok(None);
        }
        let number = |text: &str| text.parse::<u32>().map_err(|_| PatternError::too_large(offset));
        let min = number(low)?;
        let max = match high {
            None => Some(min),
            Some("") => None,
            Some(high) => Some(number(high)?),
        };
        if max.is_some_and(|max| min > max) {
            return Err(PatternError::syntax(offset, "the counts of the repetition are out of order"));
        }
        self.at += length + 1;
        Ok(Some((min, max)))
    }

    fn open_group(&mut self, offset: usize) -> Result<(), PatternError> {
        if !self.eat("?") {
            return self.open(GroupKind::Plain, offset);
        }
        for (mark, kind) in [
            (":", GroupKind::Plain),
            ("=", GroupKind::LookAhead(Polarity::Positive)),
            ("!", GroupKind::LookAhead(Polarity::Negative)),
            ("<=", GroupKind::LookBehind(Polarity::Positive)),
            ("<!", GroupKind::LookBehind(Polarity::Negative)),
        ] {
            if self.eat(mark) {
                return self.open(kind, offset);
            }
        }
        if self.eat("<") || self.eat("P<") {
            let name_length = self.remaining().find('>');
            let name = name_length.map(|length| &self.remaining()[..length]).unwrap_or_default();
            let is_name = name
                .chars()
                .all(|character| character.is_alphanumeric() || character == '_' || character == '$');
            if name.is_empty() || !is_name {
                return Err(PatternError::syntax(offset, "the name of the group is not well formed"));
            }
            self.at += name.len() + 1;
            return self.open(GroupKind::Plain, offset);
        }
        if self.eat("P=") {
            return Err(back_reference(offset));
        }
        self.flags(offset)
    }

    /// `(?i)`, `(?i:`, `(?-i:` and the like, after the question mark.
    fn flags(&mut self, offset: usize) -> Result<(), PatternError> {
        let mut flags = self.flags;
        let mut value = true;
        loop {
            match self.next() {
                Some('i') => flags.ignore_case = value,
                Some('s') => flags.dot_all = value,
                Some('u') if value => {}
                Some('-') if value => value = false,
                Some(':') => {
                    self.open(GroupKind::Plain, offset)?;
                    self.flags = flags;
                    return Ok(());
                }
                Some(')') => {
                    self.flags = flags;
                    return Ok(());
                }
                Some('m') => {
                    return Err(PatternError::unsupported(offset, "the flag `m` is not supported"));
                }
                _ => return Err(PatternError::syntax(offset, "the group has no known form")),
            }
        }
    }

    /// Parses an escape outside a bracketed class, after the backslash.
    fn escape(&mut self, offset: usize) -> Result<PatternNodeId, PatternError> {
        let node = match self.peek() {
            Some('b') | Some('B') if self.flags.ignore_case => {
                let message = "word boundaries that ignore case are not supported";
                return Err(PatternError::unsupported(offset, message));
            }
            Some('b') => PatternNode::WordBoundary(Polarity::Positive),
            Some('B') => PatternNode::WordBoundary(Polarity::Negative),
            Some('A') => PatternNode::Start,
            Some('Z' | 'z') => PatternNode::End,
            Some('1'..='9' | 'k') => return Err(back_reference(offset)),
            _ => {
                let class = match self.class_escape(offset)? {
                    ClassElement::Character(character) => self.folded(classes::single(character)),
                    ClassElement::Set(class) => class,
                };
                return Ok(self.add(PatternNode::Class(class), offset));
            }
        };
        self.at += 1;
        Ok(self.add(node, offset))
    }

    /// Parses an escape, after the backslash, that denotes a character or a set of characters.
    fn class_escape(&mut self, offset: usize) -> Result<ClassElement, PatternError> {
        let Some(character) = self.next() else {
            return Err(PatternError::syntax(offset, "a backslash cannot end a pattern"));
        };
        let set = |class| Ok(ClassElement::Set(class));
        Ok(ClassElement::Character(match character {
            'd' => return set(classes::digit()),
            'D' => return set(classes::complement(classes::digit())),
            'w' => return set(self.folded(classes::word())),
            'W' => return set(classes::complement(self.folded(classes::word()))),
            's' => return set(classes::space()),
            'S' => return set(classes::complement(classes::space())),
            'p' | 'P' => {
                let class = self.property(offset)?;
                let class = if character == 'P' { classes::complement(class) } else { class };
                return set(self.folded(class));
            }
            't' => '\t',
            'n' => '\n',
            'v' => '\u{b}',
            'f' => '\u{c}',
            'r' => '\r',
            '0' if !self.peek().is_some_and(|next| next.is_ascii_digit()) => '\0',
            'c' => match self.next() {
                Some(letter @ ('a'..='z' | 'A'..='Z')) => char::from(letter as u8 % 32),
                _ => return Err(PatternError::syntax(offset, "`\\c` needs a letter")),
            },
            'x' => self.hex(2, offset)?.and_then(char::from_u32).ok_or_else(|| invalid_hex(offset))?,
            'u' => self.unicode_escape(offset)?,
            _ if character.is_ascii_alphanumeric() => {
                return Err(PatternError::syntax(
                    offset,
                    format!("`\\{character}` is not an escape of ECMA-262"),
                ));
            }
            _ => character,
        }))
    }

    fn property(&mut self, offset: usize) -> Result<ClassUnicode, PatternError> {
        let name = match (self.remaining().strip_prefix('{'), self.remaining().find('}')) {
            (Some(_), Some(end)) => {
                let name = self.remaining()[1..end].to_owned();
                self.at += end + 1;
                name
            }
            _ => {
                return Err(PatternError::syntax(
                    offset,
                    "the name of a property is in braces, as in \\p{L}",
                ));
            }
        };
        classes::property(&name)
            .ok_or_else(|| PatternError::syntax(offset, format!("Unicode has no property `{name}`")))
    }

    /// The value of exactly `count` hexadecimal digits, or `None` if fewer follow.
    fn hex(&mut self, count: usize, offset: usize) -> Result<Option<u32>, PatternError> {
        let Some(digits) = self.remaining().get(..count) else { return Ok(None) };
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let value = u32::from_str_radix(digits, 16).map_err(|_| invalid_hex(offset))?;
        self.at += count;
        Ok(Some(value))
    }

    fn unicode_escape(&mut self, offset: usize) -> Result<char, PatternError> {
        if self.eat("{") {
            let length = self.remaining().find('}').ok_or_else(|| invalid_hex(offset))?;
            let digits = &self.remaining()[..length];
            let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            let value = u32::from_str_radix(digits, 16).ok().filter(|_| is_hex);
            self.at += length + 1;
            let value = value.filter(|value| *value <= 0x10_ffff).ok_or_else(|| invalid_hex(offset))?;
            return char::from_u32(value).ok_or_else(|| lone_surrogate(offset));
        }
        let first = self.hex(4, offset)?.ok_or_else(|| invalid_hex(offset))?;
        if let Some(character) = char::from_u32(first) {
            return Ok(character);
        }
        if first < 0xdc00 && self.eat("\\u") {
            let second = self.hex(4, offset)?.unwrap_or(0);
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).expect("a pair of surrogates is a character"));
            }
        }
        Err(lone_surrogate(offset))
    }

    /// Parses a bracketed class after its opening bracket.
    fn brackets(&mut self, offset: usize) -> Result<ClassUnicode, PatternError> {
        let negated = self.eat("^");
        let mut class = ClassUnicode::empty();
        loop {
            if self.eat("]") {
                break;
            }
            let at = self.at;
            let first = self.class_element(offset)?;
            let is_range = self.remaining().starts_with('-') && !self.remaining().starts_with("-]");
            match first {
                ClassElement::Character(first) if is_range => {
                    self.at += 1;
                    match self.class_element(offset)? {
                        ClassElement::Character(last) if last < first => {
                            return Err(PatternError::syntax(at, "the range of characters is out of order"));
                        }
                        ClassElement::Character(last) => class.push(ClassUnicodeRange::new(first, last)),
                        ClassElement::Set(set) => {
                            class.union(&classes::of_ranges(&[(first, first), ('-', '-')]));
                            class.union(&set);
                        }
                    }
                }
                ClassElement::Character(first) => class.push(ClassUnicodeRange::new(first, first)),
                ClassElement::Set(set) => class.union(&set),
            }
        }
        let class = self.folded(class);
        Ok(if negated { classes::complement(class) } else { class })
    }

    fn class_element(&mut self, offset: usize) -> Result<ClassElement, PatternError> {
        let at = self.at;
        match self.next() {
            None => Err(PatternError::syntax(offset, "the class is not closed")),
            Some('\\') if self.eat("b") => Ok(ClassElement::Character('\u{8}')),
            Some('\\') => self.class_escape(at),
            Some(character) => Ok(ClassElement::Character(character)),
        }
    }
}

fn invalid_hex(offset: usize) -> PatternError {
    PatternError::syntax(offset, "the escape needs hexadecimal digits of a code point")
}

fn lone_surrogate(offset: usize) -> PatternError {
    let message = "half of a surrogate pair is not a character; write the range of characters that is meant";
    PatternError::unsupported(offset, message)
}

fn back_reference(offset: usize) -> PatternError {
    PatternError::unsupported(offset, "a back-reference is not regular; write the alternatives out")
}
