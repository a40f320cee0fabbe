//! Names of hosts: RFC 1123, section 2.1, and internationalised ones of RFC 5890 to RFC 5893.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

use super::Maker;
use super::unicode_tables::{JOIN_BEFORE_ONLY, JOIN_BEHIND, RIGHT_TO_LEFT, UNSTABLE, VIRAMAS};
use crate::options::Draft;
use crate::strings::lengths::bounded;
use crate::strings::pattern::PatternError;
use grammask_automata::TermId;

/// Most characters of a name.
const MOST_CHARACTERS: u32 = 253;

/// Labels of letters, digits and hyphens. From draft 7 on what begins with `xn--` has to be an A-label; those are left
/// out.
pub(super) fn hostname(maker: &mut Maker, draft: Draft) -> Result<TermId, PatternError> {
    let label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
    let label = match draft {
        Draft::Draft4 | Draft::Draft6 => maker.full(label)?,
        // The same, where `xn--` is told apart letter by letter.
        _ => maker.full(&format!("(?![Xx][Nn]--){label}"))?,
    };
    let point = maker.full("\\.")?;
    let name = maker.separated(label, point);
    Ok(bounded(maker.terms, maker.spelling, name, 1, Some(MOST_CHARACTERS)))
}

/// Labels that are valid by RFC 5891, section 4.2, with the contextual rules of RFC 5892, appendix A, in a name that
/// follows the bidi rule of RFC 5893, section 2.
pub(super) fn idn_hostname(maker: &mut Maker) -> Result<TermId, PatternError> {
    let valid = protocol_valid();
    let written = written(&valid);
    let ascii = maker.full("[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")?;
    let context = "\\u00b7\\u0375\\u05f3\\u05f4\\u30fb\\u200c\\u200d\\u0660-\\u0669\\u06f0-\\u06f9";
    let other = maker.full(&format!("[a-z0-9{written}{context}-]{{1,63}}"))?;
    let label = maker.terms.union(&[ascii, other]);
    let label = maker.without(label, "^-|-$|^..--|^\\p{M}")?;
    let label = contextual(maker, label)?;
    // The bidirectional classes, as far as valid characters have them.
    let right = ranges(RIGHT_TO_LEFT);
    let left_to_right = maker.without(label, &format!("[{right}\\u0660-\\u0669]"))?;
    let (mark, number) = ("\\p{Mn}", "0-9\\u06f0-\\u06f9");
    let is_right = format!("[{right}][{right}{number}\\u0660-\\u0669{mark}\\u05f3\\u05f4\\u200c\\u200d-]*");
    let right_to_left = maker.full(&is_right)?;
    let right_to_left = maker.terms.intersection(&[label, right_to_left]);
    let right_to_left = maker.without(
        right_to_left,
        &format!("[{number}].*[\\u0660-\\u0669]|[\\u0660-\\u0669].*[{number}]|[^{right}{number}\\u0660-\\u0669{mark}]{mark}*$"),
    )?;
    let neutral = format!("{number}{mark}\\u00b7\\u0375\\u30fb\\u200c\\u200d-");
    let beside = maker
        .without(left_to_right, &format!("^[{neutral}]|[{mark}\\u00b7\\u0375\\u30fb\\u200c\\u200d-]$"))?;
    let bidirectional = maker.terms.union(&[right_to_left, beside]);
    let point = maker.full("[.\\u3002\\uff0e\\uff61]")?;
    let plain = maker.separated(left_to_right, point);
    let bidirectional = maker.separated(bidirectional, point);
    let name = maker.terms.union(&[plain, bidirectional]);
    Ok(bounded(maker.terms, maker.spelling, name, 1, Some(MOST_CHARACTERS)))
}

/// The labels that follow the rules of RFC 5892, appendix A.
fn contextual(maker: &mut Maker, mut label: TermId) -> Result<TermId, PatternError> {
    let virama = ranges(VIRAMAS);
    let mut other_marks = property("M");
    other_marks.difference(&of_ranges(VIRAMAS));
    let (mark, other_marks) = ("\\p{M}", written(&other_marks));
    let east = "\\p{Hiragana}\\p{Katakana}\\p{Han}";
    for wrong in [
        "(?:^|[^l])\\u00b7|\\u00b7(?:[^l]|$)",
        "\\u0375(?:\\P{Greek}|$)",
        "(?:^|\\P{Hebrew})[\\u05f3\\u05f4]",
        &format!("^[^{east}]*\\u30fb[^{east}]*$"),
        "[\\u0660-\\u0669].*[\\u06f0-\\u06f9]|[\\u06f0-\\u06f9].*[\\u0660-\\u0669]",
        &format!("(?:^|[^{virama}])\\u200d"),
        // A non-joiner stands behind a virama, or between letters that would join.
        &format!("(?:^|[^{JOIN_BEHIND}{mark}])(?:{mark}*[{other_marks}])?\\u200c"),
        &format!("[^{virama}]\\u200c{mark}*(?:[^{JOIN_BEHIND}{JOIN_BEFORE_ONLY}{mark}]|$)"),
    ] {
        label = maker.without(label, wrong)?;
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
    // Blocks of marks for symbols and of musical signs; old Hangul; the exceptions; what has rules of its own.
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

/// The characters with a property of Unicode.
fn property(name: &str) -> ClassUnicode {
    match regex_syntax::parse(&format!("\\p{{{name}}}")).map(|hir| hir.into_kind()) {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        // Names above are of properties with many characters; without its table one would be empty.
        _ => ClassUnicode::empty(),
    }
}

fn of_ranges(ranges: &[(char, char)]) -> ClassUnicode {
    ClassUnicode::new(ranges.iter().map(|&(first, last)| ClassUnicodeRange::new(first, last)))
}

/// A class as it stands between brackets.
fn written(class: &ClassUnicode) -> String {
    let escape = |c: char| format!("\\u{{{:x}}}", u32::from(c));
    class.iter().map(|range| format!("{}-{}", escape(range.start()), escape(range.end()))).collect()
}

fn ranges(ranges: &[(char, char)]) -> String {
    written(&of_ranges(ranges))
}
