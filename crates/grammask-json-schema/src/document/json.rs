//! Parses JSON into an arena, and preserves spans, the order of members and the digits of numbers.
//!
//! Why no library: the numbers of a schema are exact decimals (`0.1` is not a binary fraction), the order of members is
//! significant, errors have spans, and input nested 100,000 deep must neither overflow the stack nor be an error. No
//! existing parser offers all four without recursion. Strict RFC 8259. Cost: linear.

use std::fmt::Write as _;

use grammask_diagnostics::{Span, closest};
use rustc_hash::FxHashMap;

/// The id of a value in a [`Document`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ValueId(u32);

impl ValueId {
    /// The value at an index of the document.
    pub(crate) fn at(index: usize) -> Self {
        // Input of 4 GiB exceeds every limit on its length.
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// The index in the document.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A JSON value; strings are decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Null,
    Boolean(bool),
    /// The digits as in the input.
    Number(Box<str>),
    String(Box<str>),
    Array(Vec<ValueId>),
    /// Members in order. Of members with equal names, the last value is kept, in the position of the first.
    Object(Vec<(Box<str>, ValueId)>),
}

/// A parsed JSON text.
#[derive(Debug)]
pub(crate) struct Document {
    values: Vec<Value>,
    spans: Vec<Span>,
    /// The enclosing array or object of each value; the root is its own parent.
    parents: Vec<ValueId>,
    /// Indices of the members by name, for the objects whose names were hashed when they were read.
    member_indices: FxHashMap<ValueId, MemberIndices>,
}

/// The index of each member of an object by its name.
type MemberIndices = FxHashMap<Box<str>, usize>;

/// A syntax error.
#[derive(Debug)]
pub(crate) struct JsonError {
    pub(crate) span: Span,
    pub(crate) message: &'static str,
}

impl Document {
    /// Parses `text`.
    pub(crate) fn parse(text: &str) -> Result<Self, JsonError> {
        // Schemas have about a value per 16 bytes.
        let capacity = (text.len() / 16).min(256);
        JsonParser {
            text,
            at: 0,
            document: Self {
                values: Vec::with_capacity(capacity),
                spans: Vec::with_capacity(capacity),
                parents: Vec::with_capacity(capacity),
                member_indices: FxHashMap::default(),
            },
        }
        .read()
    }

    /// The number of values.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// The value of the whole text.
    pub(crate) fn root(&self) -> ValueId {
        ValueId(0)
    }

    pub(crate) fn get(&self, value: ValueId) -> &Value {
        &self.values[value.index()]
    }

    pub(crate) fn span(&self, value: ValueId) -> Span {
        self.spans[value.index()]
    }

    /// The member `name` of an object. Cost: constant, whatever the number of members.
    pub(crate) fn member(&self, value: ValueId, name: &str) -> Option<ValueId> {
        let Value::Object(members) = self.get(value) else { return None };
        let index = match self.member_indices.get(&value) {
            Some(indices) => *indices.get(name)?,
            None => members.iter().position(|(key, _)| &**key == name)?,
        };
        Some(members[index].1)
    }

    /// The string member `name` of an object.
    pub(crate) fn text_member(&self, value: ValueId, name: &str) -> Option<&str> {
        match self.get(self.member(value, name)?) {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The members of all objects whose values are strings.
    pub(crate) fn text_members(&self) -> impl Iterator<Item = (&str, &str)> {
        let members = self.values.iter().flat_map(|value| match value {
            Value::Object(members) => &members[..],
            _ => &[],
        });
        members.filter_map(|(name, value)| match self.get(*value) {
            Value::String(text) => Some((&**name, &**text)),
            _ => None,
        })
    }

    /// The enclosing array or object of `value`, or `None` for the root.
    pub(crate) fn parent(&self, value: ValueId) -> Option<ValueId> {
        (value != self.root()).then(|| self.parents[value.index()])
    }

    /// The JSON pointer of `value` as a URI fragment, with `#`. Cost: logarithmic in the members and items of its ancestors.
    pub(crate) fn pointer(&self, value: ValueId) -> String {
        let mut steps = Vec::new();
        let mut at = value;
        while let Some(parent) = self.parent(at) {
            steps.push(match self.get(parent) {
                Value::Object(members) => {
                    // Only the values of repeated names are out of order.
                    let found = members.binary_search_by_key(&at, |(_, child)| *child).ok();
                    let found = found.or_else(|| members.iter().position(|(_, child)| *child == at));
                    found
                        .map_or(String::new(), |index| members[index].0.replace('~', "~0").replace('/', "~1"))
                }
                Value::Array(items) => items.binary_search(&at).unwrap_or(0).to_string(),
                _ => String::new(),
            });
            at = parent;
        }
        let mut pointer = String::from("#");
        for step in steps.iter().rev() {
            let _ = write!(pointer, "/{step}");
        }
        pointer
    }

    /// The value at a JSON pointer (RFC 6901, not percent-encoded) relative to `from`.
    pub(crate) fn follow(&self, from: ValueId, pointer: &str) -> Option<ValueId> {
        let mut at = from;
        if pointer.is_empty() {
            return Some(at);
        }
        for step in pointer.strip_prefix('/')?.split('/') {
            let step = step.replace("~1", "/").replace("~0", "~");
            at = match self.get(at) {
                Value::Object(_) => self.member(at, &step)?,
                Value::Array(items) => *items.get(step.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        Some(at)
    }

    /// A pointer to a value that differs from `pointer`, which leads nowhere, in one similar name.
    pub(crate) fn similar_pointer(&self, from: ValueId, pointer: &str) -> Option<String> {
        let (mut at, mut start) = (from, 0);
        while start < pointer.len() {
            let end = pointer[start + 1..].find('/').map_or(pointer.len(), |length| start + 1 + length);
            if let Some(next) = self.follow(at, &pointer[start..end]) {
                (at, start) = (next, end);
                continue;
            }
            let Value::Object(members) = self.get(at) else { break };
            let step = pointer[start + 1..end].replace("~1", "/").replace("~0", "~");
            let name = closest(&step, members.iter().map(|(name, _)| &**name))?;
            let name = name.replace('~', "~0").replace('/', "~1");
            let similar = format!("{}/{name}{}", &pointer[..start], &pointer[end..]);
            return self.follow(from, &similar).map(|_| similar);
        }
        None
    }

    fn push(&mut self, value: Value, start: usize, parent: Option<ValueId>) -> ValueId {
        let id = ValueId::at(self.values.len());
        self.values.push(value);
        self.spans.push(Span::new(start, start));
        self.parents.push(parent.unwrap_or(id));
        id
    }
}

/// Names of an object up to which comparing each two takes less time than hashing all.
const MAX_COMPARED_NAMES: usize = 12;

/// An open array or object.
struct OpenContainer {
    value: ValueId,
    items: Vec<ValueId>,
    members: Vec<(Box<str>, ValueId)>,
    is_object: bool,
}

struct JsonParser<'t> {
    text: &'t str,
    at: usize,
    document: Document,
}

impl JsonParser<'_> {
    fn read(mut self) -> Result<Document, JsonError> {
        let mut open: Vec<OpenContainer> = Vec::new();
        let mut name: Option<Box<str>> = None;
        loop {
            // A value begins here.
            self.skip_space();
            let start = self.at;
            let parent = open.last().map(|open| open.value);
            let bytes = self.text.as_bytes();
            let value = match bytes.get(self.at) {
                Some(&bracket @ (b'{' | b'[')) => {
                    self.at += 1;
                    let value = self.document.push(Value::Null, start, parent);
                    let is_object = bracket == b'{';
                    self.skip_space();
                    let frame = OpenContainer { value, items: Vec::new(), members: Vec::new(), is_object };
                    if bytes.get(self.at) == Some(&if is_object { b'}' } else { b']' }) {
                        self.close(frame);
                        value
                    } else {
                        attach(&mut open, name.take(), value);
                        open.push(frame);
                        if is_object {
                            name = Some(self.name()?);
                        }
                        continue;
                    }
                }
                Some(b'"') => {
                    let text = self.string()?;
                    self.leaf(Value::String(text), start, parent)
                }
                Some(b'-' | b'0'..=b'9') => {
                    let number = self.number()?;
                    self.leaf(Value::Number(number), start, parent)
                }
                Some(_) => {
                    let keywords = [
                        ("null", Value::Null),
                        ("true", Value::Boolean(true)),
                        ("false", Value::Boolean(false)),
                    ];
                    let keyword =
                        keywords.into_iter().find(|(name, _)| self.text[self.at..].starts_with(name));
                    let Some((keyword, value)) = keyword else {
                        return Err(self.error("a JSON value is expected here"));
                    };
                    self.at += keyword.len();
                    self.leaf(value, start, parent)
                }
                None => return Err(self.error("a JSON value is expected here")),
            };
            attach(&mut open, name.take(), value);
            // The value has ended: a comma follows, or its container ends too.
            loop {
                self.skip_space();
                let Some(frame) = open.last() else {
                    if self.at < self.text.len() {
                        return Err(self.error("the JSON text should end here"));
                    }
                    return Ok(self.document);
                };
                let closing = if frame.is_object { b'}' } else { b']' };
                match self.text.as_bytes().get(self.at) {
                    Some(b',') => {
                        self.at += 1;
                        if frame.is_object {
                            name = Some(self.name()?);
                        }
                        break;
                    }
                    Some(&byte) if byte == closing => {
                        let frame = open.pop();
                        frame.into_iter().for_each(|frame| self.close(frame));
                    }
                    _ if frame.is_object => {
                        return Err(self.error("a comma or a closing brace is expected here"));
                    }
                    _ => return Err(self.error("a comma or a closing bracket is expected here")),
                }
            }
        }
    }

    fn leaf(&mut self, value: Value, start: usize, parent: Option<ValueId>) -> ValueId {
        let id = self.document.push(value, start, parent);
        self.document.spans[id.index()] = Span::new(start, self.at);
        id
    }

    fn close(&mut self, frame: OpenContainer) {
        self.at += 1;
        self.document.spans[frame.value.index()].end = self.at;
        self.document.values[frame.value.index()] = if frame.is_object {
            let (members, indices) = without_duplicates(frame.members);
            self.document.member_indices.extend(indices.map(|indices| (frame.value, indices)));
            Value::Object(members)
        } else {
            Value::Array(frame.items)
        };
    }

    /// Parses a name and its colon.
    fn name(&mut self) -> Result<Box<str>, JsonError> {
        self.skip_space();
        if self.text.as_bytes().get(self.at) != Some(&b'"') {
            return Err(self.error("a name in quotes is expected here"));
        }
        let name = self.string()?;
        self.skip_space();
        if self.text.as_bytes().get(self.at) != Some(&b':') {
            return Err(self.error("a colon is expected here"));
        }
        self.at += 1;
        Ok(name)
    }

    fn number(&mut self) -> Result<Box<str>, JsonError> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(self.text[start..self.at].into())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.error("a digit is expected here"));
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn string(&mut self) -> Result<Box<str>, JsonError> {
        self.at += 1;
        let mut decoded = String::new();
        loop {
            let rest = &self.text[self.at..];
            // Each of these characters is one byte.
            let plain = rest.bytes().position(|byte| byte == b'"' || byte == b'\\' || byte < b' ');
            let plain = &rest[..plain.unwrap_or(rest.len())];
            self.at += plain.len();
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    if decoded.is_empty() {
                        return Ok(plain.into());
                    }
                    decoded.push_str(plain);
                    return Ok(decoded.into());
                }
                Some(b'\\') => {
                    decoded.push_str(plain);
                    decoded.push(self.escape()?);
                }
                Some(_) => return Err(self.error("a control character must be escaped in a string")),
                None => return Err(self.error("the string is not closed")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        self.at += 1;
        let short = match self.peek() {
            Some(quoted @ (b'"' | b'\\' | b'/')) => char::from(quoted),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.code_point(),
            _ => return Err(self.error("this is not a JSON escape")),
        };
        self.at += 1;
        Ok(short)
    }

    /// `uXXXX`, or a surrogate pair of them for a character beyond U+FFFF. Half a pair is an error: no text in UTF-8 has
    /// such a character, so a value that contains it cannot be required.
    fn code_point(&mut self) -> Result<char, JsonError> {
        let backslash = self.at - 1;
        let mut code = self.unit()?;
        if (0xd800..0xdc00).contains(&code) && self.text[self.at..].starts_with("\\u") {
            self.at += 1;
            let second = self.unit()?;
            if (0xdc00..0xe000).contains(&second) {
                code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
            }
        }
        char::from_u32(code).ok_or_else(|| {
            self.at = backslash;
            self.error("this is half of a surrogate pair, not a character")
        })
    }

    fn unit(&mut self) -> Result<u32, JsonError> {
        let digits = self.text.get(self.at + 1..self.at + 5);
        let unit = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(unit) = unit.and_then(|digits| u32::from_str_radix(digits, 16).ok()) else {
            return Err(self.error("four hexadecimal digits are expected here"));
        };
        self.at += 5;
        Ok(unit)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn error(&self, message: &'static str) -> JsonError {
        let end = self.text[self.at..].chars().next().map_or(self.at, |next| self.at + next.len_utf8());
        JsonError { span: Span::new(self.at, end), message }
    }
}

/// Adds `value` to the innermost open container.
fn attach(open: &mut [OpenContainer], name: Option<Box<str>>, value: ValueId) {
    match (open.last_mut(), name) {
        (Some(frame), Some(name)) => frame.members.push((name, value)),
        (Some(frame), None) => frame.items.push(value),
        (None, _) => {}
    }
}

/// The members without earlier ones of the same name, and their indices if the names were hashed.
fn without_duplicates(
    members: Vec<(Box<str>, ValueId)>,
) -> (Vec<(Box<str>, ValueId)>, Option<MemberIndices>) {
    let is_new = |index: usize| !members[..index].iter().any(|(earlier, _)| *earlier == members[index].0);
    if members.len() <= MAX_COMPARED_NAMES && (1..members.len()).all(is_new) {
        return (members, None);
    }
    let mut indices = MemberIndices::default();
    let mut distinct: Vec<(Box<str>, ValueId)> = Vec::with_capacity(members.len());
    for (name, value) in members {
        match indices.get(&name) {
            Some(&index) => {
                let earlier: &mut (Box<str>, ValueId) = &mut distinct[index];
                earlier.1 = value;
            }
            None => {
                indices.insert(name.clone(), distinct.len());
                distinct.push((name, value));
            }
        }
    }
    (distinct, Some(indices))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_order_digits_and_pointers() {
        let document =
            Document::parse(r#" {"b": [1.50, -0e+1], "a\u00e9\ud83d\ude00\n": {}, "b": true} "#).unwrap();
        let root = document.root();
        let Value::Object(members) = document.get(root) else { panic!() };
        let names: Vec<_> = members.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["b", "aé😀\n"]);
        assert_eq!(document.get(document.member(root, "b").unwrap()), &Value::Boolean(true));
        let document = Document::parse(r#"{"x": {"a/b": [0, {"~": 1.50}]}}"#).unwrap();
        let found = document.follow(document.root(), "/x/a~1b/1/~0").unwrap();
        assert_eq!(document.get(found), &Value::Number("1.50".into()));
        assert_eq!(document.pointer(found), "#/x/a~1b/1/~0");
        assert_eq!(document.follow(document.root(), "/x/a"), None);
    }

    #[test]
    fn references_to_many_definitions_take_a_look_up_each() {
        const COUNT: usize = 20_000;
        let members: Vec<_> = (0..COUNT).map(|index| format!(r#""n{index}": {index}"#)).collect();
        let document =
            Document::parse(&format!(r#"{{"$defs": {{{}, "n5": 0}}}}"#, members.join(","))).unwrap();
        let definitions = document.member(document.root(), "$defs").unwrap();
        assert_eq!(document.member_indices[&definitions].len(), COUNT);
        for index in 0..COUNT {
            let found = document.follow(document.root(), &format!("/$defs/n{index}")).unwrap();
            let expected = if index == 5 { 0 } else { index };
            assert_eq!(document.get(found), &Value::Number(expected.to_string().into()));
        }
        assert_eq!(document.follow(document.root(), "/$defs/n20000"), None);
    }

    #[test]
    fn malformed_texts_are_errors() {
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\":1,}",
            "01",
            "1.",
            "\"\n\"",
            "\"\\x\"",
            "nul",
            "[1] 2",
            "{a:1}",
            "\"\\u12g4\"",
            "\"\\ud83d\"",
            "\"\\ud83d\\u0041\"",
            "\"\\ude00\"",
            "+1",
            "\"abc",
        ] {
            assert!(Document::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn deep_nesting_does_not_overflow_the_stack() {
        let text = "[".repeat(100_000) + &"]".repeat(100_000);
        assert!(Document::parse(&text).is_ok());
    }
}
