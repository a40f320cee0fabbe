//! The character classes of ECMA-262, section 22.2.2.9, and classes by Unicode property.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// The characters of `ranges`, which include their ends.
pub(super) fn of_ranges(ranges: &[(char, char)]) -> ClassUnicode {
    ClassUnicode::new(ranges.iter().map(|&(first, last)| ClassUnicodeRange::new(first, last)))
}

/// One character.
pub(super) fn single(character: char) -> ClassUnicode {
    of_ranges(&[(character, character)])
}

/// Every character.
pub(super) fn all() -> ClassUnicode {
    of_ranges(&[('\0', char::MAX)])
}

/// `\d`: the ASCII digits.
pub(super) fn digit() -> ClassUnicode {
    of_ranges(&[('0', '9')])
}

/// `\w`: ASCII letters and digits and the underscore.
pub(super) fn word() -> ClassUnicode {
    of_ranges(&[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')])
}

/// `\s`: WhiteSpace and LineTerminator.
pub(super) fn space() -> ClassUnicode {
    of_ranges(&[
        ('\t', '\r'),
        (' ', ' '),
        ('\u{a0}', '\u{a0}'),
        ('\u{1680}', '\u{1680}'),
        ('\u{2000}', '\u{200a}'),
        ('\u{2028}', '\u{2029}'),
        ('\u{202f}', '\u{202f}'),
        ('\u{205f}', '\u{205f}'),
        ('\u{3000}', '\u{3000}'),
        ('\u{feff}', '\u{feff}'),
    ])
}

/// `.`: every character but line terminators.
pub(super) fn dot() -> ClassUnicode {
    complement(of_ranges(&[('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')]))
}

pub(super) fn complement(mut class: ClassUnicode) -> ClassUnicode {
    class.negate();
    class
}

pub(super) fn intersection(one: &ClassUnicode, other: &ClassUnicode) -> ClassUnicode {
    let mut both = one.clone();
    both.intersect(other);
    both
}

/// The characters with a property, such as `L`, `Script=Greek` or `Alphabetic`; `None` if Unicode does not have it.
pub(super) fn property(name: &str) -> Option<ClassUnicode> {
    let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if name.is_empty() || !name.splitn(2, '=').all(is_name) {
        return None;
    }
    let hir = regex_syntax::Parser::new().parse(&format!("\\p{{{name}}}")).ok()?;
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(class)) => Some(class),
        HirKind::Literal(literal) => std::str::from_utf8(&literal.0).ok()?.chars().next().map(single),
        _ => None,
    }
}
