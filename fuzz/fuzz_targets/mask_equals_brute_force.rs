//! Grammars, vocabularies and walks: every mask of every strategy equals the one by definition.
#![no_main]

use grammask::frontends::kbnf;
use grammask_fuzz::{Scene, fuzzed};

libfuzzer_sys::fuzz_target!(|scene: Scene| {
    let Ok((grammar, _)) = kbnf::grammar(scene.grammar.as_bytes(), "start", &fuzzed::limits()) else {
        return;
    };
    fuzzed::walk(&grammar, &scene.vocabulary(), &scene.steps, scene.end);
});
