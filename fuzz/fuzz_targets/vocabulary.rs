//! Any parts as a vocabulary.
#![no_main]

type Parts = (Vec<Option<Vec<u8>>>, Vec<(String, u8)>, Vec<u8>, Option<u16>);

libfuzzer_sys::fuzz_target!(|parts: Parts| {
    let (tokens, special, eos, size) = parts;
    let special = special.into_iter().map(|(name, id)| (name, u32::from(id))).collect();
    let eos = eos.into_iter().map(u32::from).collect();
    grammask_fuzz::fuzzed::vocabulary(&tokens, special, eos, size.map(usize::from));
});
