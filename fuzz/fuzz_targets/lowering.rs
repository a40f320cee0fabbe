//! Any KBNF text, lowered and run against the textbook recogniser on the grammar as it was. The input is three
//! bytes and the grammar.
#![no_main]

use grammask::EndMode;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    if let Some((picks, text)) = input.split_at_checked(3) {
        let end = if picks[0] % 2 == 0 { EndMode::Eos } else { EndMode::Eager };
        grammask_fuzz::fuzzed::grammar_text(text, picks, end);
    }
});
