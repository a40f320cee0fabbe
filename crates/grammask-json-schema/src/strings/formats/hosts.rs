//! Host names: RFC 1123, section 2.1, and internationalised ones of RFC 5890 to RFC 5893.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use super::FormatBuilder;
use super::unicode_tables::{DUAL_OR_LEFT_JOINING, RIGHT_JOINING, RIGHT_TO_LEFT, UNSTABLE, VIRAMAS};
use crate::options::Draft;
use crate::strings::lengths::bounded;
use crate::strings::pattern::PatternError;
use grammask_automata::TermId;

/// Maximum number of characters of a name, which follows from the 255 octets of RFC 1035.
const MAX_CHARACTERS: u32 = 253;

/// Maximum number of labels of a name with characters beyond ASCII, whose labels have at most 62 octets: so the name has
/// at most 253.
const MAX_INTERNATIONAL_LABELS: u32 = 4;

/// A bound on labels whose Punycode certainly has at most 62 octets.
///
/// How many digits Punycode (RFC 3492) needs for a character depends on all others of the label, so no automaton of
/// reasonable size counts them. These bounds are the largest for which no label is longer, which a test computes.
struct PunycodeBound {
    /// The last character of such a label.
    last: char,
    /// Weight of a character beyond ASCII; one of ASCII has weight 1.
    weight: usize,
    /// Maximum weight of a label.
    max: usize,
}

const PUNYCODE_BOUNDS: [PunycodeBound; 2] = [
    PunycodeBound { last: '\u{7ff}', weight: 3, max: 51 },
    PunycodeBound { last: char::MAX, weight: 4, max: 48 },
];

/// Labels of letters, digits and hyphens. From draft 7 on, a label that begins with `xn--` must be an A-label; those
/// are excluded.
pub(super) fn hostname(builder: &mut FormatBuilder, draft: Draft) -> Result<TermId, PatternError> {
    let label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
    let label = match draft {
        Draft::Draft4 | Draft::Draft6 => builder.full(label)?,
        // The same with a lookahead against `xn--` in any case.
        _ => builder.full(&format!("(?![Xx][Nn]--){label}"))?,
    };
    let point = builder.full("\\.")?;
    let name = builder.separated(label, point, None);
    Ok(bounded(builder.terms, builder.encoding, name, 1, Some(MAX_CHARACTERS)))
}

/// Labels that are valid by RFC 5891, section 4.2, under the contextual rules of RFC 5892, appendix A, in a name that
/// satisfies the bidi rule of RFC 5893, section 2. Labels beyond ASCII satisfy a [`PunycodeBound`].
pub(super) fn idn_hostname(builder: &mut FormatBuilder) -> Result<TermId, PatternError> {
    let [ascii, short_ascii] =
        [61, 60].map(|inner| format!("[A-Za-z0-9](?:[A-Za-z0-9-]{{0,{inner}}}[A-Za-z0-9])?"));
    let ascii = builder.full(&format!("(?!..--){ascii}"))?;
    let short_ascii = builder.full(&format!("(?!..--){short_ascii}"))?;
    let label = international(builder)?;
    let label = builder.without(label, "^$|^-|-$|^..--|^\\p{M}")?;
    let label = contextual(builder, label)?;
    // The bidirectional classes of valid characters.
    let right = ranges(RIGHT_TO_LEFT);
    let left_to_right = builder.without(label, &format!("[{right}\\u0660-\\u0669]"))?;
    let left_to_right = builder.terms.union(&[short_ascii, left_to_right]);
    let (mark, number) = ("\\p{Mn}", "0-9\\u06f0-\\u06f9");
    let is_right = format!("[{right}][{right}{number}\\u0660-\\u0669{mark}\\u05f3\\u05f4\\u200c\\u200d-]*");
    let right_to_left = builder.full(&is_right)?;
    let right_to_left = builder.terms.intersection(&[label, right_to_left]);
    let right_to_left = builder.without(
        right_to_left,
        &format!("[{number}].*[\\u0660-\\u0669]|[\\u0660-\\u0669].*[{number}]|[^{right}{number}\\u0660-\\u0669{mark}]{mark}*$"),
    )?;
    let neutral = format!("{number}{mark}\\u00b7\\u0375\\u30fb\\u200c\\u200d-");
    let left_to_right_in_bidi = builder
        .without(left_to_right, &format!("^[{neutral}]|[{mark}\\u00b7\\u0375\\u30fb\\u200c\\u200d-]$"))?;
    let bidirectional = builder.terms.union(&[right_to_left, left_to_right_in_bidi]);
    let point = builder.full("[.\\u3002\\uff0e\\uff61]")?;
    let ascii = builder.separated(ascii, point, None);
    let ascii = bounded(builder.terms, builder.encoding, ascii, 1, Some(MAX_CHARACTERS));
    let [plain, bidirectional] = [left_to_right, bidirectional]
        .map(|label| builder.separated(label, point, Some(MAX_INTERNATIONAL_LABELS)));
    Ok(builder.terms.union(&[ascii, plain, bidirectional]))
}

/// The texts of characters of labels that satisfy a [`PunycodeBound`], whatever the order of the characters.
fn international(builder: &mut FormatBuilder) -> Result<TermId, PatternError> {
    let ascii = builder.full("[a-z0-9-]")?;
    let mut characters = protocol_valid();
    characters.union(&of_ranges(&[
        ('\u{b7}', '\u{b7}'),
        ('\u{375}', '\u{375}'),
        ('\u{5f3}', '\u{5f4}'),
        ('\u{660}', '\u{669}'),
        ('\u{6f0}', '\u{6f9}'),
        ('\u{200c}', '\u{200d}'),
        ('\u{30fb}', '\u{30fb}'),
    ]));
    let mut bounded = Vec::with_capacity(PUNYCODE_BOUNDS.len());
    for bound in PUNYCODE_BOUNDS {
        let mut class = characters.clone();
        class.intersect(&of_ranges(&[('\0', bound.last)]));
        let other = builder.full(&format!("[{}]", class_source(&class)))?;
        // The texts by their maximum weight.
        let mut texts = vec![builder.terms.epsilon()];
        for max in 1..=bound.max {
            let mut alternatives =
                vec![builder.terms.epsilon(), builder.terms.concat(&[ascii, texts[max - 1]])];
            if let Some(rest) = max.checked_sub(bound.weight) {
                alternatives.push(builder.terms.concat(&[other, texts[rest]]));
            }
            texts.push(builder.terms.union(&alternatives));
        }
        bounded.push(texts[bound.max]);
    }
    Ok(builder.terms.union(&bounded))
}

/// The labels that satisfy the rules of RFC 5892, appendix A.
fn contextual(builder: &mut FormatBuilder, mut label: TermId) -> Result<TermId, PatternError> {
    let virama = ranges(VIRAMAS);
    let mut other_marks = property("M");
    other_marks.difference(&of_ranges(VIRAMAS));
    let (mark, other_marks) = ("\\p{M}", class_source(&other_marks));
    let east = "\\p{Hiragana}\\p{Katakana}\\p{Han}";
    for wrong in [
        "(?:^|[^l])\\u00b7|\\u00b7(?:[^l]|$)",
        "\\u0375(?:\\P{Greek}|$)",
        "(?:^|\\P{Hebrew})[\\u05f3\\u05f4]",
        &format!("^[^{east}]*\\u30fb[^{east}]*$"),
        "[\\u0660-\\u0669].*[\\u06f0-\\u06f9]|[\\u06f0-\\u06f9].*[\\u0660-\\u0669]",
        &format!("(?:^|[^{virama}])\\u200d"),
        // A non-joiner follows a virama, or is between letters that would join.
        &format!("(?:^|[^{DUAL_OR_LEFT_JOINING}{mark}])(?:{mark}*[{other_marks}])?\\u200c"),
        &format!("[^{virama}]\\u200c{mark}*(?:[^{DUAL_OR_LEFT_JOINING}{RIGHT_JOINING}{mark}]|$)"),
    ] {
        label = builder.without(label, wrong)?;
    }
    Ok(label)
}

/// The characters beyond ASCII that are PVALID: RFC 5892, section 3.
fn protocol_valid() -> ClassUnicode {
    let mut valid = property("L");
    for name in ["Mn", "Mc", "Nd"] {
        valid.union(&property(name));
    }
    for name in ["Lu", "Lt", "Changes_When_Casefolded", "Default_Ignorable_Code_Point", "White_Space"] {
        valid.difference(&property(name));
    }
    valid.difference(&of_ranges(UNSTABLE));
    // Blocks of combining marks for symbols and of musical symbols, old Hangul, exceptions, and characters with
    // contextual rules.
    valid.difference(&of_ranges(&[
        ('\0', '\u{7f}'),
        ('\u{20d0}', '\u{20ff}'),
        ('\u{1d100}', '\u{1d24f}'),
        ('\u{1100}', '\u{11ff}'),
        ('\u{a960}', '\u{a97f}'),
        ('\u{d7b0}', '\u{d7ff}'),
        ('\u{640}', '\u{640}'),
        ('\u{7fa}', '\u{7fa}'),
        ('\u{302e}', '\u{302f}'),
        ('\u{3031}', '\u{3035}'),
        ('\u{303b}', '\u{303b}'),
        ('\u{660}', '\u{669}'),
        ('\u{6f0}', '\u{6f9}'),
    ]));
    valid.union(&of_ranges(&[
        ('\u{df}', '\u{df}'),
        ('\u{3c2}', '\u{3c2}'),
        ('\u{6fd}', '\u{6fe}'),
        ('\u{f0b}', '\u{f0b}'),
        ('\u{3007}', '\u{3007}'),
    ]));
    valid
}

/// The characters with a Unicode property.
fn property(name: &str) -> ClassUnicode {
    match regex_syntax::parse(&format!("\\p{{{name}}}")).map(|hir| hir.into_kind()) {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        // Only reached if `regex-syntax` is built without the table of the property.
        _ => ClassUnicode::empty(),
    }
}

fn of_ranges(ranges: &[(char, char)]) -> ClassUnicode {
    ClassUnicode::new(ranges.iter().map(|&(first, last)| ClassUnicodeRange::new(first, last)))
}

/// A class as it is written between brackets.
fn class_source(class: &ClassUnicode) -> String {
    let escape = |c: char| format!("\\u{{{:x}}}", u32::from(c));
    class.iter().map(|range| format!("{}-{}", escape(range.start()), escape(range.end()))).collect()
}

fn ranges(ranges: &[(char, char)]) -> String {
    class_source(&of_ranges(ranges))
}

#[cfg(test)]
mod tests;
