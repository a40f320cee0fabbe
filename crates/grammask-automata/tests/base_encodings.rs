//! Images of languages of bytes under base16, base32 and base64 equal their definition: an encoder that is written plainly.

use grammask_automata::encoding::BaseEncoding;
use grammask_automata::{Automata, TermId, Terms, regex};
use grammask_diagnostics::Limits;
use proptest::prelude::*;

const ALL: [(BaseEncoding, &str, usize); 5] = [
    (BaseEncoding::Base16, "0123456789ABCDEF", 2),
    (BaseEncoding::Base32, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 8),
    (BaseEncoding::Base32Hex, "0123456789ABCDEFGHIJKLMNOPQRSTUV", 8),
    (BaseEncoding::Base64, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 4),
    (BaseEncoding::Base64Url, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", 4),
];

/// The encoded form of `bytes`, bit by bit.
fn encoded(alphabet: &str, group: usize, bytes: &[u8]) -> String {
    let width = alphabet.len().trailing_zeros() as usize;
    let mut bits: Vec<u8> =
        bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
    bits.resize(bits.len().next_multiple_of(width), 0);
    let value = |digits: &[u8]| digits.iter().fold(0, |value, &bit| value * 2 + usize::from(bit));
    let mut text: String =
        bits.chunks(width).map(|digits| char::from(alphabet.as_bytes()[value(digits)])).collect();
    while !text.len().is_multiple_of(group) {
        text.push('=');
    }
    text
}

fn contains(terms: &Terms, term: TermId, text: &[u8]) -> bool {
    let mut automata = Automata::new(terms.clone(), 100_000);
    let mut state = automata.start(term).unwrap();
    for &byte in text {
        state = state.and_then(|state| automata.step(state, byte).unwrap());
    }
    state.is_some_and(|state| automata.is_accepting(state))
}

proptest! {
    #[test]
    fn images_hold_the_encodings_of_words_only(
        which in 0..ALL.len(),
        pattern in prop::sample::select(vec![
            "(?s-u:.*)", "[a-c]*é", "", "(ab|\\x00)*", "(?s-u:.){4}", "a{2,5}|bcd", "(?-u:\\xff\\xfe)*",
        ]),
        bytes in prop::collection::vec(prop::sample::select(vec![0, b'a', b'b', b'c', b'd', 0xc3, 0xa9, 0xff, 0xfe]), 0..8),
        changed in prop::option::of((0usize..12, any::<u8>())),
    ) {
        let (encoding, alphabet, group) = ALL[which];
        let mut terms = Terms::new();
        let term = regex::term(&mut terms, pattern, &Limits::default()).unwrap();
        let image = encoding.image(&mut terms, term, 10_000).unwrap();
        let text = encoded(alphabet, group, &bytes);
        prop_assert_eq!(contains(&terms, image, text.as_bytes()), contains(&terms, term, &bytes), "{}", text);
        // A changed text belongs to the image only if it is the encoding of another word.
        if let Some((at, character)) = changed && at < text.len() {
            let mut other = text.into_bytes();
            other[at] = character;
            let decoded = decodings(alphabet, group, &other);
            let expected = decoded.is_some_and(|bytes| contains(&terms, term, &bytes));
            prop_assert_eq!(contains(&terms, image, &other), expected);
        }
    }
}

/// The bytes whose encoding is `text`, found by decoding leniently and encoding again.
fn decodings(alphabet: &str, group: usize, text: &[u8]) -> Option<Vec<u8>> {
    let width = alphabet.len().trailing_zeros() as usize;
    let mut bits: Vec<u8> = Vec::new();
    for &character in text.iter().filter(|&&character| character != b'=') {
        let value = alphabet.bytes().position(|other| other == character)?;
        bits.extend((0..width).rev().map(|bit| (value >> bit & 1) as u8));
    }
    let bytes: Vec<u8> =
        bits.chunks_exact(8).map(|digits| digits.iter().fold(0, |value, &bit| value << 1 | bit)).collect();
    (encoded(alphabet, group, &bytes).as_bytes() == text).then_some(bytes)
}

#[test]
fn known_texts() {
    // RFC 4648, section 10.
    let mut terms = Terms::new();
    for (plain, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
        let term = terms.literal(plain.as_bytes());
        let image = BaseEncoding::Base64.image(&mut terms, term, 1000).unwrap();
        assert!(contains(&terms, image, text.as_bytes()), "{plain}");
    }
    let nothing = terms.nothing();
    assert_eq!(BaseEncoding::Base64.image(&mut terms, nothing, 10), Ok(nothing));
    let term = regex::term(&mut terms, "[a-z]{40}", &Limits::default()).unwrap();
    assert!(BaseEncoding::Base64.image(&mut terms, term, 100).is_err());
}
