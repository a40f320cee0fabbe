//! Any bytes as a KBNF grammar: parse, print, lower.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &[u8]| grammask_fuzz::fuzzed::kbnf_text(text));
