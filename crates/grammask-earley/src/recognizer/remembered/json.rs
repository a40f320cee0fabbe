//! Values of texts, read byte by byte.
//!
//! A *prefix* is what has been read of a value, in a canonical form: the open arrays and objects with their complete
//! items, and the string, number or literal that is being read, decoded. Two beginnings of a text with the same prefix
//! have equal values after equal continuations. Prefixes and values are interned, so a byte is a step from id to id.
//!
//! The reader does not check that a text is JSON: grammars do. A text that is not JSON becomes a value of its
//! own.

use rustc_hash::FxHashMap;

use grammask_collections::id_type;

use super::chains::{ChainId, Chains};
use super::encoded::{DecoderId, Decoders};
use super::number::{NumberPrefix, NumberValue};
use super::string::Escape;

id_type! {
    /// An interned value.
    ValueId
}
id_type! {
    /// An interned prefix.
    PrefixId
}
id_type! {
    /// An open array or object.
    FrameId
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Value {
    /// The value of an unknown text, which equals none of the values that matter (see [`super::anonymous`]).
    Anonymous,
    /// A text that is compared by its bytes, after its name.
    Text(ChainId),
    /// The decoded characters of a string, in UTF-8; surrogates without a partner as three bytes each.
    String(ChainId),
    Number(NumberValue),
    /// `true`, `false` or `null`.
    Literal(ChainId),
    /// The ids of the items.
    Array(ChainId),
    /// The names and values of the members, sorted.
    Object(Box<[(ChainId, ValueId)]>),
    /// A text that is not JSON, or no whole value.
    Other(PrefixId),
}

/// What has been read of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Prefix {
    /// The innermost open array or object.
    pub(super) frame: Option<FrameId>,
    pub(super) token: Token,
}

/// The last part of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Token {
    /// Nothing since the beginning, a bracket, a comma or a colon.
    None,
    /// An unknown text, with which no value that matters begins.
    Anonymous,
    /// An unknown text that is to be bound to a name. It is never complete.
    Unknown(UnknownText),
    /// A text that is compared by its bytes, after its name.
    Text(ChainId),
    /// A text that begins no remembered value, whatever follows.
    Diverged,
    /// An open string: its decoded characters.
    String(ChainId, Escape),
    Number(NumberPrefix),
    Literal(ChainId),
    /// A complete value.
    Done(ValueId),
    /// What follows a prefix after which the text is not JSON.
    Invalid(PrefixId, ChainId),
    /// The prefix of the decoded text.
    Encoded(PrefixId, DecoderId),
}

/// An unknown text that is to be bound to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum UnknownText {
    /// It began before the present token, all of which belongs to it. This number of tokens can spell both.
    Begun(u32),
    /// It began inside the present token, and has this number of bytes. Each is a token.
    Bytes(u32),
}

/// An open array or object with its complete parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Frame {
    pub(super) parent: Option<FrameId>,
    pub(super) is_object: bool,
    /// The items, or the indices of the members in ascending order.
    pub(super) items: ChainId,
    /// The name of the member that is being read, after its colon.
    pub(super) name: Option<ChainId>,
}

/// All values and prefixes.
#[derive(Debug)]
pub(super) struct Values {
    pub(super) chains: Chains,
    values: Vec<Value>,
    value_ids: FxHashMap<Value, ValueId>,
    prefixes: Vec<Prefix>,
    prefix_ids: FxHashMap<Prefix, PrefixId>,
    frames: Vec<Frame>,
    frame_ids: FxHashMap<Frame, FrameId>,
    /// Names and values of members.
    members: Vec<(ChainId, ValueId)>,
    member_ids: FxHashMap<(ChainId, ValueId), u32>,
    object_members: usize,
    pub(super) decoders: Vec<Decoders>,
    pub(super) decoder_ids: FxHashMap<Decoders, DecoderId>,
}

impl Default for Values {
    fn default() -> Self {
        let mut values = Self {
            chains: Chains::default(),
            values: Vec::new(),
            value_ids: FxHashMap::default(),
            prefixes: Vec::new(),
            prefix_ids: FxHashMap::default(),
            frames: Vec::new(),
            frame_ids: FxHashMap::default(),
            members: Vec::new(),
            member_ids: FxHashMap::default(),
            object_members: 0,
            decoders: Vec::new(),
            decoder_ids: FxHashMap::default(),
        };
        values.intern(Prefix { frame: None, token: Token::None });
        values.intern(Prefix { frame: None, token: Token::Diverged });
        values.intern(Prefix { frame: None, token: Token::Anonymous });
        values.intern_value(Value::Anonymous);
        values
    }
}

/// Names of texts are items of their chains, after those of bytes.
const FIRST_NAME: u32 = 256;

impl Values {
    /// The empty prefix of JSON values.
    pub(super) const EMPTY_JSON: PrefixId = PrefixId(0);
    /// The prefix of texts that begin no remembered value.
    pub(super) const DIVERGED: PrefixId = PrefixId(1);
    /// What has been read of an anonymous value.
    pub(super) const ANONYMOUS_PREFIX: PrefixId = PrefixId(2);
    /// An anonymous value.
    pub(super) const ANONYMOUS: ValueId = ValueId(0);

    /// The empty prefix of texts with a name.
    pub(super) fn empty_named(&mut self, name: u16) -> PrefixId {
        let text = self.chains.push(ChainId::EMPTY, FIRST_NAME + u32::from(name));
        self.intern(Prefix { frame: None, token: Token::Text(text) })
    }

    /// The name of a value that is compared by its bytes. Cost: linear in its length.
    pub(super) fn name(&self, id: ValueId) -> Option<u16> {
        let &Value::Text(text) = self.value(id) else { return None };
        let name = self.chains.get(text, 0)?.checked_sub(FIRST_NAME)?;
        u16::try_from(name).ok()
    }

    /// Whether a value, compared by its bytes, is a prefix of a text.
    pub(super) fn is_prefix(&self, value: ValueId, text: PrefixId) -> bool {
        match (self.value(value), self.prefix(text).token) {
            (&Value::Text(value), Token::Text(text)) => self.chains.begins_with(text, value),
            (_, Token::Encoded(inner, _)) => self.is_prefix(value, inner),
            _ => false,
        }
    }

    /// The prefix of an unknown text.
    pub(super) fn unknown(&mut self, text: UnknownText) -> PrefixId {
        self.intern(Prefix { frame: None, token: Token::Unknown(text) })
    }

    /// The unknown text of a prefix; `None` for other prefixes.
    pub(super) fn unknown_text(&self, text: PrefixId) -> Option<UnknownText> {
        match self.prefix(text).token {
            Token::Unknown(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes of a text with a name.
    pub(super) fn named_text(&self, text: PrefixId) -> Option<Vec<u8>> {
        match self.prefix(text).token {
            Token::Text(text) => Some(self.named_bytes(text)),
            _ => None,
        }
    }

    /// The bytes of a value with a name.
    pub(super) fn named_text_of_value(&self, value: ValueId) -> Option<Vec<u8>> {
        match *self.value(value) {
            Value::Text(text) => Some(self.named_bytes(text)),
            _ => None,
        }
    }

    fn named_bytes(&self, text: ChainId) -> Vec<u8> {
        let mut bytes: Vec<u8> =
            self.chains.reversed(text).filter_map(|item| u8::try_from(item).ok()).collect();
        bytes.reverse();
        bytes
    }

    /// Length of a text with a name, in bytes.
    pub(super) fn named_length(&self, text: PrefixId) -> usize {
        match self.prefix(text).token {
            Token::Text(text) => (self.chains.len(text) as usize).saturating_sub(1),
            Token::Encoded(inner, _) => self.named_length(inner),
            _ => 0,
        }
    }

    /// Length of a value with a name, in bytes.
    pub(super) fn named_length_of_value(&self, value: ValueId) -> usize {
        match *self.value(value) {
            Value::Text(text) => (self.chains.len(text) as usize).saturating_sub(1),
            _ => 0,
        }
    }

    pub(super) fn prefix(&self, id: PrefixId) -> Prefix {
        self.prefixes[id.index()]
    }

    pub(super) fn value(&self, id: ValueId) -> &Value {
        &self.values[id.index()]
    }

    pub(super) fn frame(&self, id: FrameId) -> Frame {
        self.frames[id.index()]
    }

    /// The name and the value of a member.
    pub(super) fn member(&self, index: u32) -> (ChainId, ValueId) {
        self.members[index as usize]
    }

    /// The prefix after one more byte.
    pub(super) fn step(&mut self, id: PrefixId, byte: u8) -> PrefixId {
        if id == Self::ANONYMOUS_PREFIX {
            return id;
        }
        let Prefix { frame, token } = self.prefix(id);
        let next = match token {
            Token::Diverged => return id,
            Token::Unknown(UnknownText::Begun(_)) => return id,
            Token::Unknown(UnknownText::Bytes(bytes)) => Some(Token::Unknown(UnknownText::Bytes(bytes + 1))),
            Token::Encoded(inner, decoder) => return self.step_encoded(inner, decoder, byte),
            Token::Text(text) => Some(Token::Text(self.chains.push(text, u32::from(byte)))),
            Token::Invalid(at, text) => Some(Token::Invalid(at, self.chains.push(text, u32::from(byte)))),
            Token::String(text, escape) => Some(self.step_string(text, escape, byte)),
            Token::Number(number) => number.step(byte, &mut self.chains).map(Token::Number),
            Token::Literal(text) if byte.is_ascii_lowercase() => {
                Some(Token::Literal(self.chains.push(text, u32::from(byte))))
            }
            Token::Literal(_) | Token::None | Token::Anonymous | Token::Done(_) => None,
        };
        let next = match next {
            Some(token) => Some(Prefix { frame, token }),
            None => self.step_structure(Prefix { frame, token }, byte),
        };
        let next = next.unwrap_or_else(|| {
            let text = self.chains.push(ChainId::EMPTY, u32::from(byte));
            Prefix { frame: None, token: Token::Invalid(id, text) }
        });
        self.intern(next)
    }

    /// The prefix after more bytes. As steps, without those between the characters of a string.
    pub(super) fn read(&mut self, mut id: PrefixId, bytes: &[u8]) -> PrefixId {
        let plain = |&byte: &u8| byte != b'"' && byte != b'\\';
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            if let Prefix { frame, token: Token::String(text, Escape::NONE) } = self.prefix(id)
                && let length = rest.iter().take_while(|byte| plain(byte)).count()
                && length > 1
            {
                let (now, after) = rest.split_at(length);
                let push = |text, &byte: &u8| self.chains.push(text, u32::from(byte));
                let text = now.iter().fold(text, push);
                id = self.intern(Prefix { frame, token: Token::String(text, Escape::NONE) });
                rest = after;
                continue;
            }
            id = self.step(id, byte);
            rest = after;
        }
        id
    }

    /// The value of a text.
    pub(super) fn finish(&mut self, id: PrefixId) -> ValueId {
        let Prefix { frame, token } = self.prefix(id);
        let value = match (frame, token) {
            (_, Token::Encoded(inner, _)) => return self.finish(inner),
            (None, Token::Text(text)) => Value::Text(text),
            (None, token) => match self.finish_token(token) {
                Some(value) => return value,
                None => Value::Other(id),
            },
            (Some(_), _) => Value::Other(id),
        };
        self.intern_value(value)
    }

    /// Whether a text is one of a known value.
    pub(super) fn is_complete(&mut self, id: PrefixId, value: ValueId) -> bool {
        let Prefix { frame, token } = self.prefix(id);
        match (self.value(value), frame, token) {
            (_, _, Token::Encoded(inner, decoder)) => {
                self.is_between_characters(decoder) && self.is_complete(inner, value)
            }
            (&Value::Other(other), _, _) => other == id,
            (&Value::Text(whole), _, Token::Text(text)) => text == whole,
            (_, None, token) => self.finish_token(token) == Some(value),
            (_, Some(_), _) => false,
        }
    }

    /// Estimated memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.chains.memory_bytes()
            + self.values.capacity() * size_of::<Value>()
            + self.value_ids.capacity() * (size_of::<(Value, ValueId)>() + 1)
            + self.prefixes.capacity() * size_of::<Prefix>()
            + self.prefix_ids.capacity() * (size_of::<(Prefix, PrefixId)>() + 1)
            + self.frames.capacity() * size_of::<Frame>()
            + self.frame_ids.capacity() * (size_of::<(Frame, FrameId)>() + 1)
            + (self.members.capacity() + 2 * self.object_members) * size_of::<(ChainId, ValueId)>()
            + self.decoders.capacity() * 2 * (size_of::<Decoders>() + 16)
            + self.member_ids.capacity() * (size_of::<((ChainId, ValueId), u32)>() + 1)
    }

    /// A byte between or after values; `None` if the text is not JSON.
    fn step_structure(&mut self, Prefix { frame, token }: Prefix, byte: u8) -> Option<Prefix> {
        let done = self.finish_token(token);
        let token = match done {
            Some(value) => Token::Done(value),
            None if token == Token::None => token,
            None => return None,
        };
        let open = |token| Some(Prefix { frame, token });
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => open(token),
            b',' => {
                let frame = self.with_item(frame?, done?)?;
                Some(Prefix { frame: Some(self.intern_frame(frame)), token: Token::None })
            }
            b':' => {
                let own = self.frame(frame?);
                let &Value::String(name) = self.value(done?) else { return None };
                if !own.is_object || own.name.is_some() {
                    return None;
                }
                let frame = self.intern_frame(Frame { name: Some(name), ..own });
                Some(Prefix { frame: Some(frame), token: Token::None })
            }
            b']' | b'}' => {
                let mut own = self.frame(frame?);
                if own.is_object != (byte == b'}') {
                    return None;
                }
                match done {
                    Some(value) => own = self.with_item(frame?, value)?,
                    None if own.items == ChainId::EMPTY && own.name.is_none() => {}
                    None => return None,
                }
                let value = match own.is_object {
                    false => Value::Array(own.items),
                    true => {
                        let members = self.chains.reversed(own.items).map(|index| self.member(index));
                        let mut members: Vec<(ChainId, ValueId)> = members.collect();
                        members.sort_unstable();
                        Value::Object(members.into())
                    }
                };
                let value = self.intern_value(value);
                Some(Prefix { frame: own.parent, token: Token::Done(value) })
            }
            _ if token != Token::None => None,
            b'"' => open(Token::String(ChainId::EMPTY, Escape::NONE)),
            b'-' | b'0'..=b'9' => {
                NumberPrefix::EMPTY.step(byte, &mut self.chains).map(Token::Number).and_then(open)
            }
            b'a'..=b'z' => {
                let text = self.chains.push(ChainId::EMPTY, u32::from(byte));
                open(Token::Literal(text))
            }
            b'[' | b'{' => {
                let is_object = byte == b'{';
                let new = Frame { parent: frame, is_object, items: ChainId::EMPTY, name: None };
                Some(Prefix { frame: Some(self.intern_frame(new)), token: Token::None })
            }
            _ => None,
        }
    }

    /// The frame with a complete item or member.
    fn with_item(&mut self, frame: FrameId, value: ValueId) -> Option<Frame> {
        let frame = self.frame(frame);
        let item = match (frame.is_object, frame.name) {
            (false, _) => value.as_u32(),
            (true, Some(name)) => {
                let next = self.members.len() as u32;
                let index = *self.member_ids.entry((name, value)).or_insert(next);
                if index == next {
                    self.members.push((name, value));
                }
                index
            }
            (true, None) => return None,
        };
        let items = match frame.is_object {
            false => self.chains.push(frame.items, item),
            // The order of members has no effect on the value.
            true => {
                let mut members: Vec<u32> = self.chains.reversed(frame.items).chain([item]).collect();
                members.sort_unstable();
                members.into_iter().fold(ChainId::EMPTY, |chain, member| self.chains.push(chain, member))
            }
        };
        Some(Frame { items, name: None, ..frame })
    }

    /// The value of a token that can end.
    fn finish_token(&mut self, token: Token) -> Option<ValueId> {
        let value = match token {
            Token::Done(value) => return Some(value),
            Token::Anonymous => return Some(Self::ANONYMOUS),
            Token::Number(number) => Value::Number(number.value()),
            Token::Literal(text) => Value::Literal(text),
            Token::None
            | Token::Text(_)
            | Token::Diverged
            | Token::Unknown(_)
            | Token::String(..)
            | Token::Invalid(..)
            | Token::Encoded(..) => {
                return None;
            }
        };
        Some(self.intern_value(value))
    }

    /// A byte inside a string.
    fn step_string(&mut self, text: ChainId, escape: Escape, byte: u8) -> Token {
        if escape == Escape::NONE && byte == b'"' {
            return Token::Done(self.intern_value(Value::String(text)));
        }
        let (text, escape, closes) = escape.step(byte, text, &mut self.chains);
        if closes {
            return Token::Done(self.intern_value(Value::String(text)));
        }
        Token::String(text, escape)
    }

    pub(super) fn intern(&mut self, prefix: Prefix) -> PrefixId {
        let Self { prefixes, prefix_ids, .. } = self;
        *prefix_ids.entry(prefix).or_insert_with(|| {
            prefixes.push(prefix);
            PrefixId::new(prefixes.len() - 1)
        })
    }

    fn intern_frame(&mut self, frame: Frame) -> FrameId {
        let Self { frames, frame_ids, .. } = self;
        *frame_ids.entry(frame).or_insert_with(|| {
            frames.push(frame);
            FrameId::new(frames.len() - 1)
        })
    }

    fn intern_value(&mut self, value: Value) -> ValueId {
        if let Some(&id) = self.value_ids.get(&value) {
            return id;
        }
        if let Value::Object(members) = &value {
            self.object_members += members.len();
        }
        let id = ValueId::new(self.values.len());
        self.values.push(value.clone());
        self.value_ids.insert(value, id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value_of(values: &mut Values, text: &str) -> ValueId {
        let end = text.bytes().fold(Values::EMPTY_JSON, |prefix, byte| values.step(prefix, byte));
        values.finish(end)
    }

    #[test]
    fn equal_values_are_equal_whatever_their_spelling() {
        let classes: [&[&str]; 14] = [
            &["1", "1.0", "10e-1", "0.1E1", "1e0", "1e+00", " 1 ", "0.001e3"],
            &["0", "-0", "0.00", "0e17", "-0.0e-5"],
            &["-1", "-1.0", "-10E-1"],
            &["100", "1e2", "1E+2", "0.1e3", "100.000"],
            &["101"],
            &["\"\""],
            &[r#""a/b""#, r#""\u0061\/b""#, r#""a\u002Fb""#, r#""a\u002fb""#],
            &["\"\u{1f600}\"", r#""\ud83d\ude00""#, r#""\uD83D\uDE00""#],
            &[r#""\ud83d""#],
            &[r#""\ud83d\ud83d""#],
            &["true"],
            &["[1, [], {}]", "[1.0,[ ],{ }]"],
            &[r#"{"a": 1, "b": [2]}"#, r#"{"b":[2.0],"\u0061":1}"#],
            &[r#"{"a": 1, "b": [3]}"#],
        ];
        let mut values = Values::default();
        let ids: Vec<Vec<ValueId>> = classes
            .iter()
            .map(|class| class.iter().map(|text| value_of(&mut values, text)).collect())
            .collect();
        for (number, class) in ids.iter().enumerate() {
            assert!(class.iter().all(|&id| id == class[0]), "{:?} {class:?}", classes[number]);
            assert!(!matches!(values.value(class[0]), Value::Other(_)), "{:?}", classes[number]);
            assert!(ids[..number].iter().all(|other| other[0] != class[0]), "{:?}", classes[number]);
        }
    }

    #[test]
    fn texts_that_are_not_json_differ() {
        let mut values = Values::default();
        let texts =
            ["", "a]", "[1", "[1,]", "{1:2}", "\"a", "1 1", "[}", "{\"a\"}", "1..2", "ab cd", "ab ce"];
        let ids: Vec<ValueId> = texts.iter().map(|text| value_of(&mut values, text)).collect();
        for (number, id) in ids.iter().enumerate() {
            assert!(matches!(values.value(*id), Value::Other(_)), "{:?}", texts[number]);
            assert!(!ids[..number].contains(id), "{:?}", texts[number]);
        }
    }
}
