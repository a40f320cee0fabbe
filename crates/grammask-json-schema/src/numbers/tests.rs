//! Compares number sets with exact arithmetic on all short encodings.

use super::*;
use grammask_automata::Automata;

/// A value as a coefficient and a power of ten.
type ScaledInteger = (i128, i32);

/// The value of a JSON number.
fn value(text: &str) -> Option<ScaledInteger> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let places = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i32);
    let coefficient = mantissa.replace('.', "").parse::<i128>().ok()?;
    Some((coefficient, exponent - places))
}

/// Both values in units of the smaller power. On overflow, a power of ten that is greater than, and a multiple of,
/// every other value in these tests.
fn aligned(one: ScaledInteger, other: ScaledInteger) -> (i128, i128) {
    let unit = one.1.min(other.1);
    let scale = |(coefficient, power): ScaledInteger| {
        let factor = 10i128.checked_pow((power - unit).unsigned_abs());
        factor
            .and_then(|factor| coefficient.checked_mul(factor))
            .unwrap_or(coefficient.signum() * 10i128.pow(35))
    };
    (scale(one), scale(other))
}

fn is_json_number(text: &str) -> bool {
    Decimal::parse(text).is_ok()
}

fn is_plain(text: &str) -> bool {
    !text.contains(['e', 'E'])
}

/// Whether an encoding is classified with respect to bounds.
fn is_normalised(text: &str) -> bool {
    let Some((mantissa, _)) = text.split_once(['e', 'E']) else { return true };
    let mantissa = mantissa.strip_prefix('-').unwrap_or(mantissa);
    let integer = mantissa.split_once('.').map_or(mantissa, |(integer, _)| integer);
    integer.len() == 1 && integer != "0"
}

/// Whether an encoding is classified with respect to being an integer.
fn is_classified(text: &str) -> bool {
    let mantissa = text.split_once(['e', 'E']).map_or("", |(mantissa, _)| mantissa);
    is_normalised(text) && mantissa.split_once('.').is_none_or(|(_, fraction)| fraction.len() <= 17)
}

/// All JSON numbers of up to six characters of an alphabet, and some longer ones.
fn encodings() -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut last = vec![String::new()];
    for _ in 0..6 {
        last = last
            .iter()
            .flat_map(|text| "-0195.e+".chars().map(move |c| format!("{text}{c}")))
            // Only prefixes of numbers are extended.
            .filter(|text| ["", "0", "00", "1"].iter().any(|end| is_json_number(&format!("{text}{end}"))))
            .collect();
        all.extend(last.iter().filter(|text| is_json_number(text)).cloned());
    }
    for text in [
        "100",
        "100.0",
        "1e2",
        "1E+02",
        "1.00e2",
        "10e1",
        "99.99999",
        "100.00001",
        "-2.5",
        "-2.50",
        "-25e-1",
        "1.5e+16",
        "15000000000000000",
        "15000000000000000.0",
        "1e-05",
        "0.00001",
        "0.000010",
        "9.9e-06",
        "1.1e-5",
        "12345",
        "1.2345e4",
        "1.2345e+0004",
        "12345.0",
        "12346",
        "1.23456e4",
        "0.3",
        "0.30",
        "3e-1",
        "0.25",
        "7.5",
        "6",
        "1.23456789012345678e5",
        "1.234567890123456789e5",
        "-1e-9",
        "1e9",
        "3.000",
        "30",
        "33",
        "0.07",
    ] {
        all.push(text.to_owned());
        all.push(format!("-{}", text.trim_start_matches('-')));
    }
    all
}

fn constant(text: &str) -> Constant {
    Constant::new(Decimal::parse(text).unwrap(), text)
}

fn accepts(automata: &mut Automata, term: TermId, word: &str) -> bool {
    let mut state = automata.start(term).unwrap();
    for byte in word.bytes() {
        let Some(current) = state else { return false };
        state = automata.step(current, byte).unwrap();
    }
    state.is_some_and(|state| automata.is_accepting(state))
}

const BOUNDS: [&str; 17] = [
    "0", "1", "-1", "0.5", "-0.5", "10", "99.5", "100", "1e3", "0.001", "-2.5", "12345", "1e-5", "1.5e16",
    "0.95", "-119", "15.05",
];

/// Checks that both languages of a set contain exactly the classified encodings that they should.
fn check(
    terms: &Terms,
    name: &str,
    set: NumberSet,
    encodings: &[String],
    is_classified: impl Fn(&str) -> bool,
    is_in: impl Fn(ScaledInteger) -> bool,
) {
    let mut automata = Automata::new(terms.clone(), 1_000_000);
    for text in encodings {
        let value = value(text).unwrap();
        let (classified, inside) = (is_classified(text), is_in(value));
        assert_eq!(accepts(&mut automata, set.yes, text), classified && inside, "{text} is in {name}");
        assert_eq!(accepts(&mut automata, set.no, text), classified && !inside, "{text} is not in {name}");
    }
}

#[test]
fn bounds_are_exact() {
    let encodings = encodings();
    for numbers in [Numbers::Any, Numbers::Plain] {
        for text in BOUNDS {
            let (bound, limit) = (Decimal::parse(text).unwrap(), value(text).unwrap());
            let mut terms = Terms::new();
            let classified =
                |text: &str| if numbers == Numbers::Any { is_normalised(text) } else { is_plain(text) };
            let order = |value| {
                let (value, limit) = aligned(value, limit);
                value.cmp(&limit)
            };
            let sets: [(&str, NumberSet, &[Ordering]); 4] = [
                (
                    ">=",
                    NumberSet::at_least(&mut terms, numbers, &bound),
                    &[Ordering::Equal, Ordering::Greater],
                ),
                (">", NumberSet::greater(&mut terms, numbers, &bound), &[Ordering::Greater]),
                ("<=", NumberSet::at_most(&mut terms, numbers, &bound), &[Ordering::Equal, Ordering::Less]),
                ("<", NumberSet::less(&mut terms, numbers, &bound), &[Ordering::Less]),
            ];
            for (name, set, orders) in sets {
                let is_in = |value| orders.contains(&order(value));
                check(&terms, &format!("{name} {text}"), set, &encodings, classified, is_in);
            }
            let equal = NumberSet::equal(&mut terms, numbers, &bound);
            let listed = NumberSet::one_of(&mut terms, numbers, &[Constant::new(bound, text)]);
            if numbers == Numbers::Any {
                let is_in = |value| order(value) == Ordering::Equal;
                check(&terms, &format!("= {text}"), equal, &encodings, classified, is_in);
                check(&terms, &format!("of {text}"), listed, &encodings, classified, is_in);
            }
        }
    }
}

#[test]
fn integers_and_powers_of_ten_are_exact() {
    let encodings = encodings();
    let mut terms = Terms::new();
    let is_multiple = |value: ScaledInteger, divisor: ScaledInteger| {
        let (value, divisor) = aligned(value, divisor);
        value % divisor == 0
    };
    let integer = NumberSet::integer(&mut terms, Numbers::Any);
    check(&terms, "integer", integer, &encodings, is_classified, |value| is_multiple(value, (1, 0)));
    for text in ["1", "10", "1000", "0.1", "0.01", "1e-5"] {
        let divisor = value(text).unwrap();
        let decimal = Decimal::parse(text).unwrap();
        let set = NumberSet::multiple_of(&mut terms, Numbers::Any, &decimal).unwrap();
        check(&terms, text, set, &encodings, is_classified, |value| is_multiple(value, divisor));
    }
    for text in ["2", "3", "0.3", "2.5", "25", "0.07", "7", "20", "0.15", "11", "150"] {
        let divisor = value(text).unwrap();
        let decimal = Decimal::parse(text).unwrap();
        for numbers in [Numbers::Any, Numbers::Plain] {
            let set = NumberSet::multiple_of(&mut terms, numbers, &decimal).unwrap();
            check(&terms, text, set, &encodings, is_plain, |value| is_multiple(value, divisor));
        }
    }
}

#[test]
fn plain_integers_have_no_point() {
    let mut terms = Terms::new();
    let integer = NumberSet::integer(&mut terms, Numbers::Plain);
    let two = Decimal::parse("2").unwrap();
    let equal = NumberSet::equal(&mut terms, Numbers::Plain, &two);
    let listed = NumberSet::one_of(&mut terms, Numbers::Plain, &[Constant::new(two, "2")]);
    let mut automata = Automata::new(terms, 10_000);
    for (set, name) in [(integer, "integer"), (equal, "equal"), (listed, "listed")] {
        assert!(accepts(&mut automata, set.yes, "2"), "{name}");
        assert!(!accepts(&mut automata, set.yes, "2.0") && !accepts(&mut automata, set.no, "2.0"), "{name}");
        assert!(accepts(&mut automata, set.no, "2.5") && !accepts(&mut automata, set.yes, "2.5"), "{name}");
        assert!(!accepts(&mut automata, set.yes, "2e0") && !accepts(&mut automata, set.no, "2e0"), "{name}");
    }
}

#[test]
fn any_contains_all_encodings() {
    let mut terms = Terms::new();
    let any = NumberSet::any(&mut terms, Numbers::Any);
    let plain = NumberSet::any(&mut terms, Numbers::Plain);
    let mut automata = Automata::new(terms, 10_000);
    for text in encodings() {
        assert!(accepts(&mut automata, any.yes, &text), "{text}");
        assert_eq!(accepts(&mut automata, plain.yes, &text), is_plain(&text), "{text}");
    }
    for text in ["", "-", "01", "1.", ".1", "1e", "+1", "1e+", "--1", "1.e5"] {
        assert!(!accepts(&mut automata, any.yes, text), "{text}");
    }
}

#[test]
fn set_operations_preserve_unclassified_encodings() {
    let mut encodings = encodings();
    encodings.retain(|text| !is_normalised(text) || is_classified(text));
    let mut terms = Terms::new();
    let bound = |text: &str| Decimal::parse(text).unwrap();
    let low = NumberSet::at_least(&mut terms, Numbers::Any, &bound("-1"));
    let high = NumberSet::less(&mut terms, Numbers::Any, &bound("95"));
    let integer = NumberSet::integer(&mut terms, Numbers::Any);
    let both = NumberSet::intersection(&mut terms, &[low, high, integer]);
    let is_integer = |value: ScaledInteger| aligned(value, (1, 0)).0 % aligned(value, (1, 0)).1 == 0;
    let is_between = |value: ScaledInteger| {
        let ((low, one), (high, limit)) = (aligned(value, (-1, 0)), aligned(value, (95, 0)));
        low >= one && high < limit
    };
    check(&terms, "and", both, &encodings, is_classified, |value| is_between(value) && is_integer(value));
    let either = NumberSet::intersection(&mut terms, &[low, high]).not().or(&mut terms, integer);
    check(&terms, "or", either, &encodings, is_classified, |value| !is_between(value) || is_integer(value));
    let none = NumberSet::intersection(&mut terms, &[high, high.not()]);
    let mut automata = Automata::new(terms, 10_000);
    assert_eq!(automata.start(none.yes), Ok(None));
}

#[test]
fn floats_in_the_notation_of_python_and_javascript_are_classified() {
    let mut terms = Terms::new();
    let set = NumberSet::at_most(&mut terms, Numbers::Any, &Decimal::parse("1e100").unwrap());
    let mut automata = Automata::new(terms, 10_000);
    for text in
        ["5e-324", "2.2250738585072014e-308", "1e-05", "1e-7", "0.0001", "1.5e+16", "1e+22", "-0.0", "1e22"]
    {
        assert!(accepts(&mut automata, set.yes, text), "{text}");
    }
    assert!(accepts(&mut automata, set.no, "1.7976931348623157e+308"));
}

#[test]
fn large_lists_and_divisors_are_fast() {
    let values: Vec<Constant> =
        (0..100_000).map(|number| constant(&format!("{}.{}", number % 1000, number))).collect();
    let mut terms = Terms::new();
    let set = NumberSet::one_of(&mut terms, Numbers::Any, &values);
    let large = Decimal::parse("99991").unwrap();
    let multiple = NumberSet::multiple_of(&mut terms, Numbers::Any, &large).unwrap();
    let mut automata = Automata::new(terms, 10_000);
    assert!(accepts(&mut automata, set.yes, "999.999990") && accepts(&mut automata, set.yes, "9.9999999e+2"));
    assert!(accepts(&mut automata, set.no, "999.99998"));
    assert!(accepts(&mut automata, multiple.yes, "299973") && accepts(&mut automata, multiple.no, "299974"));
    let mut terms = Terms::new();
    for (text, error) in [
        ("1000001", NumberError::TooManyRemainders),
        ("0.00000123457", NumberError::TooManyRemainders),
        ("0", NumberError::NotPositive),
        ("-1", NumberError::NotPositive),
    ] {
        let divisor = Decimal::parse(text).unwrap();
        assert_eq!(NumberSet::multiple_of(&mut terms, Numbers::Any, &divisor), Err(error), "{text}");
    }
}

/// The definition of natural encodings, without automata.
fn is_natural(text: &str) -> bool {
    if !is_json_number(text) || !is_normalised(text) {
        return false;
    }
    let magnitude = text.strip_prefix('-').unwrap_or(text);
    let is_finite_nonzero = text.parse::<f64>().is_ok_and(|double| double.is_finite() && double != 0.0);
    let (mantissa, exponent) = magnitude.split_once(['e', 'E']).unwrap_or((magnitude, ""));
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if !exponent.is_empty() {
        return fraction.len() <= 20
            && exponent.trim_start_matches(['+', '-']).len() <= 3
            && is_finite_nonzero;
    }
    let large = integer.len() == 21 && integer.ends_with("0000") && fraction.is_empty();
    let significant = fraction.trim_start_matches('0');
    let zeros = fraction.len() - significant.len();
    let small = integer == "0" && (4..=5).contains(&zeros) && (1..=17).contains(&significant.len());
    (integer.len() <= 20 && fraction.len() <= 20) || large || small
}

#[test]
fn natural_encodings_are_those_of_the_definition() {
    let mut encodings = encodings();
    let digits = "123456789012345678901234567890";
    let zeros = "0".repeat(30);
    for count in 1..=30 {
        let (digits, zeros) = (&digits[..count], &zeros[..count]);
        for text in [
            digits.to_owned(),
            format!("0.{digits}"),
            format!("{digits}.{digits}"),
            format!("1.{zeros}"),
            format!("1{zeros}"),
            format!("12345678901234567{zeros}"),
            format!("0.{zeros}12345678901234567"),
            format!("0.{zeros}123456789012345678"),
            format!("1.{digits}e5"),
            format!("1e{zeros}1"),
            format!("-2.{digits}E-{zeros}7"),
        ] {
            encodings.push(text);
        }
    }
    for text in [
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "1.79769313486231580793e308",
        "1.79769313486231580794e308",
        "1e309",
        "9e308",
        "1e308",
        "5e-324",
        "2.47032822920623272088e-324",
        "2.47032822920623272089e-324",
        "2e-324",
        "1e-325",
        "1e999",
        "1e-999",
    ] {
        encodings.push(text.to_owned());
        encodings.push(format!("-{text}"));
    }
    let mut terms = Terms::new();
    let any = NumberSet::any(&mut terms, Numbers::Natural);
    let integer = NumberSet::integer(&mut terms, Numbers::Natural);
    let any = any.natural_texts(&mut terms, any.digits);
    let integer = integer.natural_texts(&mut terms, integer.digits);
    let mut automata = Automata::new(terms, 100_000);
    for text in encodings {
        assert_eq!(accepts(&mut automata, any, &text), is_natural(&text), "{text}");
        let is_natural_integer = is_natural(&text) && !text.contains(['.', 'e', 'E']);
        assert_eq!(accepts(&mut automata, integer, &text), is_natural_integer, "{text}");
    }
}

#[test]
fn natural_sets_are_the_natural_encodings_of_the_classified_ones() {
    let encodings = encodings();
    let bound = |text: &str| Decimal::parse(text).unwrap();
    let mut terms = Terms::new();
    for (low, high) in [("-1", "9.5"), ("0.001", "95"), ("-119", "1e-5")] {
        let [natural, any] = [Numbers::Natural, Numbers::Any].map(|numbers| {
            let above = NumberSet::at_least(&mut terms, numbers, &bound(low));
            let below = NumberSet::less(&mut terms, numbers, &bound(high));
            let both = NumberSet::intersection(&mut terms, &[above, below]);
            [both, both.not()]
        });
        for (natural, any) in natural.into_iter().zip(any) {
            let texts = natural.natural_texts(&mut terms, natural.digits);
            let mut automata = Automata::new(terms.clone(), 100_000);
            for text in &encodings {
                let expected = accepts(&mut automata, any.yes, text) && is_natural(text);
                assert_eq!(accepts(&mut automata, texts, text), expected, "{text} in [{low}, {high})");
            }
        }
    }
}

#[test]
fn constants_have_the_notation_of_the_schema() {
    for (written, texts) in [
        ("1", &["1"][..]),
        ("1.0", &["1", "1.0", "1e0", "1E+00"]),
        ("0", &["0"]),
        ("0.0", &["0", "-0", "0.0", "-0.0"]),
        ("-0.5", &["-0.5", "-5e-1", "-5e-01"]),
        ("1e22", &["10000000000000000000000", "10000000000000000000000.0", "1e+22", "1e22", "1E22"]),
        ("0.00000012", &["0.00000012", "1.2e-7", "1.2e-07"]),
        ("123456789012345678901234567890", &["123456789012345678901234567890"]),
    ] {
        let mut terms = Terms::new();
        let set = NumberSet::one_of(&mut terms, Numbers::Natural, &[constant(written)]);
        let natural = set.natural_texts(&mut terms, set.digits);
        let mut automata = Automata::new(terms, 100_000);
        for text in texts {
            assert!(accepts(&mut automata, natural, text), "{text} is {written}");
            assert!(!accepts(&mut automata, set.no, text), "{text} is not outside of {written}");
        }
        for text in ["2", "1.00", "1.0e0", "0.50", "0.00", "10e0"] {
            assert!(!accepts(&mut automata, natural, text), "{text} is not written for {written}");
        }
    }
}

#[test]
fn bounds_raise_the_digits_of_natural_encodings() {
    let long = "1".repeat(30);
    for (written, accepted, refused) in [
        (long.as_str(), long.clone(), "1".repeat(31)),
        ("1e29", "1".repeat(20), "1".repeat(22)),
        ("0.1111111111111111111111111", format!("0.{}", "1".repeat(25)), format!("0.{}", "1".repeat(26))),
    ] {
        let mut terms = Terms::new();
        let bound = Decimal::parse(written).unwrap();
        let set = NumberSet::at_most(&mut terms, Numbers::Natural, &bound)
            .with_digits(PlainDigits::written(written));
        let natural = set.natural_texts(&mut terms, set.digits);
        let mut automata = Automata::new(terms, 100_000);
        assert!(accepts(&mut automata, natural, &accepted), "{accepted} <= {written}");
        assert!(!accepts(&mut automata, natural, &refused), "{refused} <= {written}");
    }
}
