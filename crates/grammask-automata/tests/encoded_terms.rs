//! Inverse images under encodings equal their definition: a byte string belongs to one if and only if its decoded text
//! belongs to the language. The decoders are written plainly, one per encoding.

use grammask_automata::encoding::{CharacterEncoding, JsonEscapes, Quote, Spellings, TermEncoder};
use grammask_automata::{Automata, ByteSet, TermId, Terms, regex};
use grammask_diagnostics::Limits;
use proptest::prelude::*;

/// The decoded text of an encoded one, or `None` if it is malformed. Bytes beyond ASCII represent themselves.
fn decoded(encoding: &CharacterEncoding, text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        let (unit, used) = match encoding {
            CharacterEncoding::JsonString(_) => match byte {
                b'\\' => json_escape(after)?,
                b'"' | 0..=0x1f => return None,
                _ => (vec![byte], 0),
            },
            CharacterEncoding::PythonString(quote, _) => match byte {
                b'\\' => python_escape(after)?,
                0 | b'\n' | b'\r' => return None,
                _ if char::from(byte) == quote.character() => return None,
                _ => (vec![byte], 0),
            },
            CharacterEncoding::XmlText(_) | CharacterEncoding::XmlAttribute(..) => match byte {
                b'&' => xml_reference(after)?,
                b'<' | 0..=8 | 0xb..=0x1f => return None,
                b'>' if matches!(encoding, CharacterEncoding::XmlText(_)) => return None,
                b'\t' | b'\n' if !matches!(encoding, CharacterEncoding::XmlText(_)) => return None,
                _ if matches!(encoding, CharacterEncoding::XmlAttribute(quote, _)
                    if quote.character() == char::from(byte)) =>
                {
                    return None;
                }
                _ => (vec![byte], 0),
            },
            CharacterEncoding::LinePrefix(prefix) => match byte {
                b'\n' => {
                    after.strip_prefix(prefix.as_bytes())?;
                    (vec![byte], prefix.len())
                }
                _ => (vec![byte], 0),
            },
            CharacterEncoding::IndentedBlock(prefix) => match byte {
                b'\n' => (vec![byte], dropped_prefix(prefix.text(), after)?),
                _ => (vec![byte], 0),
            },
            CharacterEncoding::Utf8 => (vec![byte], 0),
        };
        out.extend(unit);
        rest = &after[used..];
    }
    let is_canonical = matches!(
        encoding,
        CharacterEncoding::JsonString(JsonEscapes::Canonical)
            | CharacterEncoding::XmlText(Spellings::Canonical)
            | CharacterEncoding::XmlAttribute(_, Spellings::Canonical)
            | CharacterEncoding::PythonString(_, Spellings::Canonical)
    );
    (!is_canonical || canonical(encoding, &out) == text).then_some(out)
}

/// The number of bytes that are dropped at the beginning of a line.
fn dropped_prefix(prefix: &str, line: &[u8]) -> Option<usize> {
    let shared = prefix.bytes().zip(line).take_while(|(expected, byte)| expected == *byte).count();
    match line.get(shared) {
        _ if shared == prefix.len() => Some(shared),
        // The text ends.
        None => Some(shared),
        // A blank line lacks spaces only.
        Some(b'\n') if prefix[shared..].bytes().all(|byte| byte == b' ') => Some(shared),
        Some(_) => None,
    }
}

fn utf8(code: u32) -> Option<Vec<u8>> {
    char::from_u32(code).map(|character| character.to_string().into_bytes())
}

fn hex(text: &[u8], digits: usize) -> Option<u32> {
    let text = text.get(..digits)?;
    let is_hex = text.iter().all(u8::is_ascii_hexdigit);
    if is_hex { u32::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok() } else { None }
}

/// The character of an escape, and the number of bytes after the backslash.
fn json_escape(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    let short = |character: char| Some((vec![character as u8], 1));
    match text.first()? {
        b'"' => short('"'),
        b'\\' => short('\\'),
        b'/' => short('/'),
        b'b' => short('\u{8}'),
        b'f' => short('\u{c}'),
        b'n' => short('\n'),
        b'r' => short('\r'),
        b't' => short('\t'),
        b'u' => {
            let unit = hex(&text[1..], 4)?;
            if (0xd800..0xdc00).contains(&unit) {
                let low = text[5..].strip_prefix(b"\\u").and_then(|text| hex(text, 4))?;
                let is_low = (0xdc00..0xe000).contains(&low);
                let code = 0x1_0000 + ((unit - 0xd800) << 10) + low.checked_sub(0xdc00)?;
                return is_low.then(|| Some((utf8(code)?, 11)))?;
            }
            Some((utf8(unit)?, 5))
        }
        _ => None,
    }
}

fn python_escape(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    let short = |byte: u8| Some((vec![byte], 1));
    match *text.first()? {
        byte @ (b'"' | b'\'' | b'\\') => short(byte),
        b'a' => short(7),
        b'b' => short(8),
        b'f' => short(12),
        b'n' => short(10),
        b'r' => short(13),
        b't' => short(9),
        b'v' => short(11),
        b'x' => Some((utf8(hex(&text[1..], 2)?)?, 3)),
        b'u' => Some((utf8(hex(&text[1..], 4)?)?, 5)),
        b'U' => Some((utf8(hex(&text[1..], 8)?)?, 9)),
        b'0'..=b'3' => {
            let digits =
                text.get(..3).filter(|digits| digits.iter().all(|digit| (b'0'..=b'7').contains(digit)))?;
            let code = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()?;
            Some((utf8(code)?, 3))
        }
        _ => None,
    }
}

fn xml_reference(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    let end = text.iter().position(|&byte| byte == b';')?;
    let name = std::str::from_utf8(&text[..end]).ok()?;
    let code = match name {
        "amp" => '&'.into(),
        "lt" => '<'.into(),
        "gt" => '>'.into(),
        "quot" => '"'.into(),
        "apos" => '\''.into(),
        _ => {
            let number = name.strip_prefix('#')?;
            let (digits, radix) = match number.strip_prefix('x') {
                Some(digits) => (digits, 16),
                None => (number, 10),
            };
            if digits.starts_with('+') {
                return None;
            }
            u32::from_str_radix(digits, radix).ok()?
        }
    };
    let is_character = matches!(code, 9 | 10 | 13 | 0x20..=0xd7ff | 0xe000..=0xfffd | 0x1_0000..=0x10_ffff);
    is_character.then(|| Some((utf8(code)?, end + 1)))?
}

fn canonical(encoding: &CharacterEncoding, text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for &byte in text {
        let escape = match (encoding, byte) {
            (_, 0x80..) => None,
            (CharacterEncoding::JsonString(_), _) => match byte {
                b'"' => Some("\\\"".to_owned()),
                b'\\' => Some("\\\\".to_owned()),
                8 => Some("\\b".to_owned()),
                9 => Some("\\t".to_owned()),
                10 => Some("\\n".to_owned()),
                12 => Some("\\f".to_owned()),
                13 => Some("\\r".to_owned()),
                0..=31 => Some(format!("\\u00{byte:02x}")),
                _ => None,
            },
            (CharacterEncoding::PythonString(quote, _), _) => match byte {
                b'\\' => Some("\\\\".to_owned()),
                9 => Some("\\t".to_owned()),
                10 => Some("\\n".to_owned()),
                13 => Some("\\r".to_owned()),
                0..=31 | 127 => Some(format!("\\x{byte:02x}")),
                _ if char::from(byte) == quote.character() => Some(format!("\\{}", char::from(byte))),
                _ => None,
            },
            (_, b'&') => Some("&amp;".to_owned()),
            (_, b'<') => Some("&lt;".to_owned()),
            (_, b'>') => Some("&gt;".to_owned()),
            (_, 13) => Some("&#13;".to_owned()),
            (CharacterEncoding::XmlAttribute(Quote::Double, _), b'"') => Some("&quot;".to_owned()),
            (CharacterEncoding::XmlAttribute(Quote::Single, _), b'\'') => Some("&apos;".to_owned()),
            (CharacterEncoding::XmlAttribute(..), 9 | 10) => Some(format!("&#{byte};")),
            _ => None,
        };
        match escape {
            Some(escape) => out.extend(escape.bytes()),
            None => out.push(byte),
        }
    }
    out
}

fn encodings() -> Vec<CharacterEncoding> {
    vec![
        CharacterEncoding::Utf8,
        CharacterEncoding::JsonString(JsonEscapes::Any),
        CharacterEncoding::JsonString(JsonEscapes::Canonical),
        CharacterEncoding::XmlText(Spellings::Any),
        CharacterEncoding::XmlText(Spellings::Canonical),
        CharacterEncoding::XmlAttribute(Quote::Double, Spellings::Any),
        CharacterEncoding::XmlAttribute(Quote::Single, Spellings::Canonical),
        CharacterEncoding::PythonString(Quote::Double, Spellings::Any),
        CharacterEncoding::PythonString(Quote::Single, Spellings::Canonical),
        CharacterEncoding::LinePrefix("> ".into()),
        CharacterEncoding::LinePrefix("".into()),
        CharacterEncoding::indented_block(" ").expect("a prefix"),
        CharacterEncoding::indented_block("  ").expect("a prefix"),
        CharacterEncoding::indented_block("> ").expect("a prefix"),
        CharacterEncoding::indented_block(" >> ").expect("a prefix"),
        CharacterEncoding::indented_block(">").expect("a prefix"),
        CharacterEncoding::indented_block("").expect("a prefix"),
    ]
}

/// Pieces of encoded texts: literal characters, escapes, parts of characters and of escapes.
const PIECES: [&[u8]; 60] = [
    b"a",
    b"a",
    b"b",
    b"\"",
    b"'",
    b"\\",
    b"\n",
    b"\n> ",
    b"<",
    b">",
    b"&",
    "é".as_bytes(),
    "é".as_bytes(),
    "😀".as_bytes(),
    b"\xc3",
    b"\xa9",
    b"\xf0\x9f",
    b"\x98\x80",
    b"\\n",
    b"\\\"",
    b"\\'",
    b"\\\\",
    b"\\u000a",
    b"\\u000A",
    b"\\u0061",
    b"\\u00e9",
    b"\\u00E9",
    b"\\ud83d\\ude00",
    b"\\uD83D\\uDE00",
    b"\\ud83d",
    b"\\ude00",
    b"\\x61",
    b"\\x0a",
    b"\\xe9",
    b"\\U0001f600",
    b"\\U0001F600",
    b"\\U000000e9",
    b"\\141",
    b"\\012",
    b"\\351",
    b"\\12",
    b"&amp;",
    b"&lt;",
    b"&gt;",
    b"&quot;",
    b"&apos;",
    b"&#10;",
    b"&#xa;",
    b"&#x00A;",
    b"&#97;",
    b"&#233;",
    b"&#xE9;",
    b"&#128512;",
    b"&#x1f600;",
    b"&#0;",
    b"\\u",
    b" ",
    b"\n  ",
    b"\n",
    b"\n \n",
];

/// The shape of a random term.
#[derive(Clone, Debug)]
enum Shape {
    Word(Vec<u8>),
    Bytes(Vec<u8>),
    Pattern(&'static str),
    Words(Vec<&'static str>),
    Everything,
    Concat(Vec<Shape>),
    Union(Vec<Shape>),
    Intersection(Vec<Shape>),
    Complement(Box<Shape>),
    Repeat(Box<Shape>, u32, Option<u32>),
    FirstMatch(Box<Shape>),
}

fn shapes() -> impl Strategy<Value = Shape> {
    let word = prop::sample::select(vec![
        "a".as_bytes(),
        b"\n",
        b"\"",
        b"\\",
        "é".as_bytes(),
        "aé".as_bytes(),
        b"\xc3",
        b"\xa9",
        b"a\xc3",
        b"\xa9a",
        "😀".as_bytes(),
        b"\xf0\x9f",
        b"\x98\x80",
        b"<",
        b"&b",
        b"",
        b"\xff",
        b" ",
        b"\n a",
    ]);
    let leaf = prop_oneof![
        4 => word.prop_map(|word| Shape::Word(word.to_vec())),
        1 => prop::collection::vec(
            prop::sample::select(vec![b'a', b'b', b'\n', b'"', 0xc3, 0xa9, 0xf0]), 1..4)
            .prop_map(Shape::Bytes),
        2 => prop::sample::select(vec![".", "[^a]", "[aé]+", "(?s:.)*", "[\\x00-\\x1f]", "\\w", "[é-😀]", "a|é\n"])
            .prop_map(Shape::Pattern),
        1 => prop::collection::vec(prop::sample::select(vec!["a", "aé", "é", "\n", "a\"b", "😀"]), 2..5)
            .prop_map(Shape::Words),
        1 => Just(Shape::Everything),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            4 => prop::collection::vec(inner.clone(), 2..4).prop_map(Shape::Concat),
            2 => prop::collection::vec(inner.clone(), 2..3).prop_map(Shape::Union),
            1 => prop::collection::vec(inner.clone(), 2..3).prop_map(Shape::Intersection),
            1 => inner.clone().prop_map(|inner| Shape::Complement(Box::new(inner))),
            2 => (inner.clone(), 0_u32..2, prop::option::of(1_u32..4))
                .prop_map(|(inner, min, max)| Shape::Repeat(Box::new(inner), min, max)),
            1 => inner.prop_map(|inner| Shape::FirstMatch(Box::new(inner))),
        ]
    })
}

fn term(terms: &mut Terms, shape: &Shape) -> TermId {
    let many = |terms: &mut Terms, parts: &[Shape]| -> Vec<TermId> {
        parts.iter().map(|part| term(terms, part)).collect()
    };
    match shape {
        Shape::Word(word) => terms.literal(word),
        Shape::Bytes(bytes) => {
            let mut set = ByteSet::EMPTY;
            bytes.iter().for_each(|&byte| set.insert(byte));
            terms.bytes(set)
        }
        Shape::Pattern(pattern) => regex::term(terms, pattern, &Limits::default()).expect("it is a pattern"),
        Shape::Words(words) => terms.literals(words),
        Shape::Everything => terms.anything(),
        Shape::Concat(parts) => {
            let parts = many(terms, parts);
            terms.concat(&parts)
        }
        Shape::Union(parts) => {
            let parts = many(terms, parts);
            terms.union(&parts)
        }
        Shape::Intersection(parts) => {
            let parts = many(terms, parts);
            terms.intersection(&parts)
        }
        Shape::Complement(part) => {
            let part = term(terms, part);
            terms.complement(part)
        }
        Shape::Repeat(part, min, max) => {
            let part = term(terms, part);
            terms.repeat(part, *min, *max)
        }
        Shape::FirstMatch(part) => {
            let part = term(terms, part);
            terms.first_match(part)
        }
    }
}

fn contains(automata: &mut Automata, term: TermId, text: &[u8]) -> bool {
    let mut state = automata.start(term).expect("small");
    for &byte in text {
        state = state.and_then(|state| automata.step(state, byte).expect("small"));
    }
    state.is_some_and(|state| automata.is_accepting(state))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]
    #[test]
    fn images_equal_their_definition(
        shape in shapes(),
        texts in prop::collection::vec(prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..4), 60),
    ) {
        let mut terms = Terms::new();
        let plain = term(&mut terms, &shape);
        for encoding in encodings() {
            let mut encoder = TermEncoder::new(encoding.clone(), &Limits::default());
            let image = encoder.image(&mut terms, plain).expect("small");
            let separable = match encoding {
                CharacterEncoding::IndentedBlock(_) => Some(encoder.separable_image(&mut terms, plain).expect("small")),
                _ => None,
            };
            let mut automata = Automata::new(terms.clone(), 100_000);
            for text in &texts {
                let text = text.concat();
                let expected =
                    decoded(&encoding, &text).is_some_and(|text| contains(&mut automata, plain, &text));
                prop_assert_eq!(
                    contains(&mut automata, image, &text),
                    expected,
                    "{:?} {:?} {:?}",
                    encoding,
                    shape,
                    String::from_utf8_lossy(&text)
                );
                if let (CharacterEncoding::IndentedBlock(prefix), Some(separable)) = (&encoding, separable) {
                    let last_line = text.iter().rposition(|&byte| byte == b'\n').map(|at| &text[at + 1..]);
                    let is_short = last_line.is_some_and(|line| line.len() < prefix.len());
                    prop_assert_eq!(contains(&mut automata, separable, &text), expected && !is_short);
                }
            }
        }
    }
}

/// Every boundary of a notation of code points.
const CHARACTERS: [u32; 34] = [
    0, 7, 8, 9, 10, 11, 13, 0x1f, 0x20, 0x22, 0x26, 0x27, 0x3c, 0x3e, 0x5c, 0x61, 0x7e, 0x7f, 0x80, 0xff,
    0x100, 0x1ff, 0x7ff, 0x800, 0xfff, 0x1000, 0xd7ff, 0xe000, 0xfffd, 0xfffe, 0xffff, 0x1_0000, 0xf_ffff,
    0x10_ffff,
];

#[test]
fn every_notation_of_a_character_spells_it_and_no_other() {
    let mut spellings: Vec<Vec<u8>> = Vec::new();
    for code in CHARACTERS.into_iter().chain([0xd800, 0xdfff, 0x11_0000]) {
        spellings.extend(utf8(code));
        for text in [
            format!("\\u{code:04x}"),
            format!("\\u{code:04X}"),
            format!("\\U{code:08x}"),
            format!("\\U{code:08X}"),
            format!("\\x{code:02x}"),
            format!("\\{code:03o}"),
            format!("&#{code};"),
            format!("&#000{code};"),
            format!("&#x{code:x};"),
            format!("&#x00{code:X};"),
            format!("&#0x{code:X};"),
        ] {
            spellings.push(text.into_bytes());
        }
        if let Some(character) = char::from_u32(code) {
            let mut units = [0; 2];
            let units = character.encode_utf16(&mut units);
            spellings
                .push(units.iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>().into_bytes());
        }
    }
    for encoding in encodings() {
        let mut terms = Terms::new();
        let mut encoder = TermEncoder::new(encoding.clone(), &Limits::default());
        let any = regex::term(&mut terms, "(?s:.)", &Limits::default()).expect("a pattern");
        let any = encoder.image(&mut terms, any).expect("small");
        let single: Vec<(u32, TermId)> = CHARACTERS
            .into_iter()
            .map(|code| {
                let plain = terms.literal(&utf8(code).expect("it is a character"));
                (code, encoder.image(&mut terms, plain).expect("small"))
            })
            .collect();
        let mut automata = Automata::new(terms, 100_000);
        let is_xml = matches!(encoding, CharacterEncoding::XmlText(_) | CharacterEncoding::XmlAttribute(..));
        for spelling in &spellings {
            let text = decoded(&encoding, spelling)
                .filter(|text| !is_xml || !matches!(&text[..], b"\xef\xbf\xbe" | b"\xef\xbf\xbf"));
            let is_one = text
                .as_ref()
                .is_some_and(|text| std::str::from_utf8(text).is_ok_and(|text| text.chars().count() == 1));
            assert_eq!(
                contains(&mut automata, any, spelling),
                is_one,
                "{encoding:?} {}",
                String::from_utf8_lossy(spelling)
            );
            for &(code, image) in &single {
                let expected = text.as_ref().is_some_and(|text| Some(text) == utf8(code).as_ref());
                assert_eq!(
                    contains(&mut automata, image, spelling),
                    expected,
                    "{encoding:?} {code:x} {}",
                    String::from_utf8_lossy(spelling)
                );
            }
        }
    }
}

#[test]
fn nested_encodings_compose_and_stay_small() {
    let mut terms = Terms::new();
    let json = CharacterEncoding::JsonString(JsonEscapes::Any);
    let plain = terms.literal("é\n\"".as_bytes());
    let once = TermEncoder::new(json.clone(), &Limits::default()).image(&mut terms, plain).expect("small");
    let twice = TermEncoder::new(json, &Limits::default()).image(&mut terms, once).expect("small");
    let mut automata = Automata::new(terms, 100_000);
    for (text, expected) in [
        (r#"é\\n\\\""#, true),
        (r#"\\u00e9\\u000a\\u0022"#, true),
        (r#"\u005cu00\u0065\u0039\u005c\u006e\\\""#, true),
        (r#"\u00e9\u005cn\\\u0022"#, true),
        (r#"é\n\\\""#, false),
        (r#"é\\n\""#, false),
    ] {
        assert_eq!(contains(&mut automata, twice, text.as_bytes()), expected, "{text}");
    }
    assert!(automata.len() < 2_000, "{}", automata.len());
}

#[test]
fn counted_repetitions_stay_counted() {
    let mut terms = Terms::new();
    let plain = regex::term(&mut terms, "[^x]{0,100000}", &Limits::default()).expect("a pattern");
    let json = CharacterEncoding::JsonString(JsonEscapes::Any);
    let before = terms.len();
    let _ = TermEncoder::new(json, &Limits::default()).image(&mut terms, plain).expect("small");
    assert!(terms.len() < before + 10);
}
