//! Property: the passes on the intermediate representation preserve the language, by the textbook recogniser before and
//! after them. (`matcher_equals_oracle` tests the passes on productions through the engine.)

use grammask::grammar::Grammar;
use grammask::lowering::{flatten_operators, group_definitions};
use grammask::masks::brute_force;
use grammask::recognizer::reference::Reference;
use grammask::vocabulary::Vocabulary;
use proptest::prelude::*;
use proptest::sample::Index;

proptest! {
    #![proptest_config(crate::generators::config(200))]

    #[test]
    fn grouping_definitions_keeps_the_language(
        sketch in crate::generators::grammar(),
        words in crate::generators::vocabulary(),
        picks in proptest::collection::vec(any::<Index>(), 1..=4),
    ) {
        let before = sketch.build();
        let after = group_definitions(before.clone());
        let mut defined: Vec<_> = after.definitions().iter().map(|definition| definition.lhs).collect();
        defined.sort_unstable();
        prop_assert!(defined.windows(2).all(|pair| pair[0] != pair[1]), "a nonterminal has two definitions");
        mean_the_same(&before, &after, &words.build(), &picks)?;
    }

    #[test]
    fn flattening_operators_keeps_the_language(
        sketch in crate::generators::grammar(),
        words in crate::generators::vocabulary(),
        picks in proptest::collection::vec(any::<Index>(), 1..=4),
    ) {
        let before = group_definitions(sketch.build());
        let after = flatten_operators(before.clone());
        mean_the_same(&before, &after, &words.build(), &picks)?;
    }
}

fn mean_the_same(
    before: &Grammar,
    after: &Grammar,
    vocabulary: &Vocabulary,
    picks: &[Index],
) -> Result<(), TestCaseError> {
    let (before, after) = (Reference::new(before, vocabulary), Reference::new(after, vocabulary));
    prop_assert_eq!(before.language(), after.language());
    let (mut before, mut after) = (before.chart(), after.chart());
    for pick in picks {
        let mask = brute_force::mask(&before, vocabulary);
        prop_assert_eq!(&mask, &brute_force::mask(&after, vocabulary));
        prop_assert_eq!(before.is_complete(), after.is_complete());
        let allowed: Vec<_> = mask.iter().collect();
        if allowed.is_empty() {
            break;
        }
        let token = *pick.get(&allowed);
        prop_assert!(before.accept_token(token) && after.accept_token(token));
    }
    Ok(())
}
