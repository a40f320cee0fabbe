//! Any text as a JSON Schema: translate, print, lower.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| grammask_fuzz::fuzzed::schema_text(text));
