//! Property: generated grammars and their printed KBNF have the same meaning.

use grammask::Limits;
use grammask::frontends::kbnf;
use grammask::masks::brute_force;
use grammask::recognizer::reference::Reference;
use proptest::prelude::*;
use proptest::sample::Index;

proptest! {
    #![proptest_config(crate::generators::config(200))]

    #[test]
    fn printed_grammars_mean_the_same(
        sketch in crate::generators::grammar(),
        words in crate::generators::vocabulary(),
        picks in proptest::collection::vec(any::<Index>(), 1..=4),
    ) {
        let printed = sketch.kbnf();
        let (parsed, _) = kbnf::grammar(printed.as_bytes(), "start", &Limits::default())
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(parsed.to_string(), printed);

        let (built, vocabulary) = (sketch.build(), words.build());
        let (built, parsed) = (Reference::new(&built, &vocabulary), Reference::new(&parsed, &vocabulary));
        prop_assert_eq!(built.language(), parsed.language());
        let (mut built, mut parsed) = (built.chart(), parsed.chart());
        for pick in picks {
            let mask = brute_force::mask(&built, &vocabulary);
            prop_assert_eq!(&mask, &brute_force::mask(&parsed, &vocabulary));
            prop_assert_eq!(built.is_complete(), parsed.is_complete());
            let allowed: Vec<_> = mask.iter().collect();
            if allowed.is_empty() {
                break;
            }
            let token = allowed[pick.index(allowed.len())];
            prop_assert!(built.accept_token(token) && parsed.accept_token(token));
        }
    }
}
