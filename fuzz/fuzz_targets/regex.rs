//! Any pattern on any text, against the DFAs of `regex-automata`. The input is the text, a zero byte and the pattern.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some(end) = input.iter().position(|&byte| byte == 0) else { return };
    if let (text, Ok(pattern)) = (&input[..end.min(24)], std::str::from_utf8(&input[end + 1..])) {
        grammask_fuzz::fuzzed::pattern(pattern, text);
    }
});
