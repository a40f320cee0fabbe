//! Which values can begin with a prefix.

use grammask_automata::ByteSet;

use super::chains::ChainId;
use super::json::{FrameId, Prefix, PrefixId, Token, Value, ValueId, Values};
use super::number::NumberPhase;
use super::string::Escape;

impl Values {
    /// Whether a text of the value can begin with the prefix. May be true where none can. Cost: linear in the depth of
    /// the prefix, in the members of its open objects, and in the lengths of what is compared.
    pub(super) fn can_become(&self, prefix: PrefixId, value: ValueId) -> bool {
        let Prefix { frame, token } = self.prefix(prefix);
        if token == Token::Diverged {
            return false;
        }
        if let Token::Encoded(inner, _) = token {
            return self.can_become(inner, value);
        }
        if value == Self::ANONYMOUS || token == Token::Anonymous {
            return value == Self::ANONYMOUS && prefix == Self::EMPTY_JSON;
        }
        if let Token::Text(text) = token {
            return matches!(self.value(value), Value::Text(whole) if self.chains.begins_with(*whole, text));
        }
        if let Token::Invalid(at, text) = token {
            let Value::Other(other) = *self.value(value) else { return false };
            return matches!(self.prefix(other).token, Token::Invalid(other_at, whole)
                if other_at == at && self.chains.begins_with(whole, text));
        }
        if let Value::Other(other) = *self.value(value) {
            return self.can_become_other(prefix, other);
        }
        if frame.is_none() {
            return self.token_can_become(token, value);
        }
        // The open arrays and objects, outermost first; the values that the innermost one can become are `candidates`.
        let mut open: Vec<FrameId> = Vec::new();
        let mut next = frame;
        while let Some(id) = next {
            open.push(id);
            next = self.frame(id).parent;
        }
        let mut candidates = vec![value];
        while let Some(id) = open.pop() {
            let is_innermost = open.is_empty();
            let mut inner = Vec::new();
            for candidate in candidates {
                if self.add_inner(id, candidate, is_innermost, token, &mut inner) {
                    return true;
                }
            }
            candidates = inner;
        }
        candidates.iter().any(|&candidate| self.token_can_become(token, candidate))
    }

    /// Whether a prefix that is JSON so far can become one that is no JSON value. May be true where it cannot.
    fn can_become_other(&self, prefix: PrefixId, other: PrefixId) -> bool {
        if prefix == Self::EMPTY_JSON {
            return true;
        }
        // The last prefix of the text that is JSON so far.
        let last = match self.prefix(other).token {
            Token::Invalid(at, _) => at,
            _ => other,
        };
        match (self.prefix(prefix), self.prefix(last)) {
            // What is JSON so far does not become empty again.
            _ if last == Self::EMPTY_JSON => false,
            // Nor is an array or object begun after another value.
            (Prefix { frame: None, .. }, Prefix { frame: Some(_), .. }) => false,
            (Prefix { token: Token::String(read, _), frame: None }, Prefix { token, .. }) => match token {
                Token::String(whole, _) => self.chains.begins_with(whole, read),
                Token::Done(value) => {
                    matches!(self.value(value), Value::String(whole) if self.chains.begins_with(*whole, read))
                }
                _ => false,
            },
            _ => true,
        }
    }

    /// Bytes after which a text of the value may still begin with the prefix; all others exclude it.
    pub(super) fn next_bytes(&self, prefix: PrefixId, value: ValueId) -> ByteSet {
        let Prefix { frame, token } = self.prefix(prefix);
        match (frame, token, self.value(value)) {
            (None, Token::String(text, Escape::NONE), &Value::String(whole)) => {
                let next = self.chains.get(whole, self.chains.len(text));
                let plain = next.and_then(|byte| u8::try_from(byte).ok()).unwrap_or(b'"');
                ByteSet::single(plain).union(ByteSet::single(b'\\'))
            }
            (None, Token::String(text, escape), &Value::String(whole)) => {
                escape.next_bytes(&self.next_character(text, whole))
            }
            (None, Token::Text(text), &Value::Text(whole)) => {
                let next = self.chains.get(whole, self.chains.len(text));
                next.and_then(|byte| u8::try_from(byte).ok()).map_or(ByteSet::EMPTY, ByteSet::single)
            }
            (None, Token::None, Value::String(_)) => {
                b"\" \t\r\n".iter().fold(ByteSet::EMPTY, |bytes, &byte| bytes.union(ByteSet::single(byte)))
            }
            _ => ByteSet::ALL,
        }
    }

    /// Adds the values that can be at the current position of an open array or object, if that is a part of `value`.
    /// True if no value has begun there.
    fn add_inner(
        &self,
        frame: FrameId,
        value: ValueId,
        is_innermost: bool,
        token: Token,
        inner: &mut Vec<ValueId>,
    ) -> bool {
        let frame = self.frame(frame);
        let has_begun = !is_innermost || token != Token::None;
        match self.value(value) {
            Value::Array(items) if !frame.is_object && self.chains.begins_with(*items, frame.items) => {
                let read = self.chains.len(frame.items);
                let item = self.chains.get(*items, read);
                if !has_begun {
                    // After a comma, an item follows.
                    return read == 0 || item.is_some();
                }
                inner.extend(item.map(|item| ValueId::new(item as usize)));
                false
            }
            Value::Object(members) if frame.is_object => {
                let Some(rest) = self.rest_of(members, frame.items) else { return false };
                match frame.name {
                    Some(name) => {
                        let before = inner.len();
                        inner.extend(
                            rest.iter().filter(|&&(other, _)| other == name).map(|&(_, value)| value),
                        );
                        inner.len() > before && !has_begun
                    }
                    // After a comma, a member follows.
                    None if !has_begun => frame.items == ChainId::EMPTY || !rest.is_empty(),
                    None => rest.iter().any(|&(name, _)| self.token_can_become_string(token, name)),
                }
            }
            _ => false,
        }
    }

    /// The members of an object without those that have been read; `None` if some of these are not among them.
    fn rest_of(&self, members: &[(ChainId, ValueId)], read: ChainId) -> Option<Vec<(ChainId, ValueId)>> {
        let mut rest = members.to_vec();
        for index in self.chains.reversed(read) {
            let position = rest.binary_search(&self.member(index)).ok()?;
            rest.remove(position);
        }
        Some(rest)
    }

    fn token_can_become(&self, token: Token, value: ValueId) -> bool {
        match (token, self.value(value)) {
            (Token::None, _) => true,
            (Token::Done(done), _) => done == value,
            (Token::String(..), Value::String(whole)) => self.token_can_become_string(token, *whole),
            (Token::Number(number), Value::Number(whole)) => number.can_become(*whole, &self.chains),
            (Token::Literal(text), Value::Literal(whole)) => self.chains.begins_with(*whole, text),
            _ => false,
        }
    }

    fn token_can_become_string(&self, token: Token, whole: ChainId) -> bool {
        match token {
            Token::String(text, escape) => {
                if escape == Escape::NONE || !self.chains.begins_with(whole, text) {
                    return self.chains.begins_with(whole, text);
                }
                escape.can_precede(&self.next_character(text, whole))
            }
            Token::Done(value) => matches!(self.value(value), Value::String(text) if *text == whole),
            _ => false,
        }
    }

    /// The bytes of a string after what has been read of it, at most those of one character.
    fn next_character(&self, read: ChainId, whole: ChainId) -> Vec<u8> {
        let length = self.chains.len(read);
        let next = (length..length.saturating_add(4)).map_while(|at| self.chains.get(whole, at));
        next.filter_map(|byte| u8::try_from(byte).ok()).collect()
    }

    /// The prefix without what has no effect on values whose numbers have at most `max_digits` digits, which is called
    /// inside a number only.
    pub(super) fn saturated(&self, prefix: PrefixId, max_digits: impl FnOnce() -> u32) -> Prefix {
        let Prefix { frame, token } = self.prefix(prefix);
        match token {
            Token::Number(number) => Prefix { frame, token: Token::Number(number.saturated(max_digits())) },
            _ => Prefix { frame, token },
        }
    }

    /// Whether the last byte of a prefix belongs to the exponent of a number.
    pub(super) fn is_in_exponent(&self, prefix: PrefixId) -> bool {
        match self.prefix(prefix).token {
            Token::Encoded(inner, _) => self.is_in_exponent(inner),
            token => matches!(token, Token::Number(number) if number.phase >= NumberPhase::Exponent),
        }
    }

    /// Whether zeros before the point were left out of a prefix.
    pub(super) fn has_fewer_integer_zeros(&self, saturated: Prefix, prefix: PrefixId) -> bool {
        match (saturated.token, self.prefix(prefix).token) {
            (Token::Number(own), Token::Number(other)) if own.phase == NumberPhase::Integer => {
                own.zeros < other.zeros
            }
            _ => false,
        }
    }

    /// The maximum number of digits of the numbers in a value, or that their exponents shift them by.
    pub(super) fn digits(&self, value: ValueId) -> u32 {
        let mut max = 0;
        let mut stack = vec![value];
        while let Some(value) = stack.pop() {
            match self.value(value) {
                Value::Number(number) => {
                    let shift = u32::try_from(number.exponent.unsigned_abs()).unwrap_or(u32::MAX / 2);
                    max = max.max(number.digit_count(&self.chains).saturating_add(shift));
                }
                Value::Array(items) => {
                    stack.extend(self.chains.reversed(*items).map(|item| ValueId::new(item as usize)));
                }
                Value::Object(members) => stack.extend(members.iter().map(|&(_, value)| value)),
                Value::Anonymous
                | Value::Text(_)
                | Value::String(_)
                | Value::Literal(_)
                | Value::Other(_) => {}
            }
        }
        max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_beginning_of_a_text_can_become_its_value() {
        let texts = [
            "",
            "a]",
            "[1",
            "[b1]",
            "[1,]",
            "{1:2}",
            "\"a",
            "\"ab\"c",
            "\"ab\",",
            "1 1",
            "[}",
            "1..2",
            "[\"a\"]",
            "{\"a\": [1.0, null]}",
            "true",
        ];
        let mut values = Values::default();
        for text in texts {
            let mut prefixes = vec![Values::EMPTY_JSON];
            for byte in text.bytes() {
                prefixes.push(values.step(prefixes[prefixes.len() - 1], byte));
            }
            let value = values.finish(prefixes[prefixes.len() - 1]);
            assert!(prefixes.iter().all(|&prefix| values.can_become(prefix, value)), "{text:?}");
        }
    }

    #[test]
    fn other_bytes_than_the_next_ones_exclude_a_value() {
        let mut values = Values::default();
        let texts = [
            r#"""#,
            r#""ab""#,
            r#""\n\u0007u""#,
            r#""\\\"/""#,
            r#""b\u0062""#,
            "\"\u{e9}\u{1f600}\"",
            r#""\ud83dx""#,
            "12",
            "true",
        ];
        let spellings = [
            r#"  "a\u0062""#,
            r#""\u000a\u0007\u0075""#,
            r#""\\\"\/""#,
            r#""\u00e9\ud83d\ude00""#,
            r#""\u00E9\uD83D\uDE00""#,
            r#""\u0062b""#,
            r#""\ud83d\u0078""#,
            r#""\b\t""#,
            "12",
            "true",
        ];
        let wholes: Vec<ValueId> = texts
            .iter()
            .map(|text| {
                let end = values.read(Values::EMPTY_JSON, text.as_bytes());
                values.finish(end)
            })
            .collect();
        let mut excluded = 0;
        for spelling in spellings {
            let mut prefix = Values::EMPTY_JSON;
            for &read in spelling.as_bytes() {
                for &whole in &wholes {
                    if !values.can_become(prefix, whole) {
                        continue;
                    }
                    let next = values.next_bytes(prefix, whole);
                    for byte in next.complement().iter() {
                        let after = values.step(prefix, byte);
                        assert!(!values.can_become(after, whole), "{spelling}: {byte} after {prefix:?}");
                        excluded += 1;
                    }
                }
                prefix = values.step(prefix, read);
            }
        }
        assert!(excluded > 10_000, "{excluded}");
    }

    #[test]
    fn a_string_cannot_become_another_text_that_is_not_json() {
        let mut values = Values::default();
        let string = values.read(Values::EMPTY_JSON, b"\"a");
        for text in ["[b1]", "\"b\"c", "\"b", "1 1"] {
            let prefix = text.bytes().fold(Values::EMPTY_JSON, |prefix, byte| values.step(prefix, byte));
            let value = values.finish(prefix);
            assert!(!values.can_become(string, value), "{text:?}");
        }
    }
}
