//! WebAssembly bindings of grammask: the classes of the module `engine.js`, which `npm/grammask.js` wraps. They convert
//! arguments and results, and have no algorithm.
//!
//! Numbers, bytes and strings cross the boundary as such, masks as views of the memory of the engine, and everything
//! else as JSON. Errors are thrown as a string of JSON ([`failures`]), of which `npm/grammask.js` makes a
//! `GrammaskError`.
//!
//! There is one thread. `wasm32-unknown-unknown` has no clock in the standard library: deadlines read that of the host
//! (`web-time`).

#![forbid(unsafe_code)]

mod compiled;
mod explanation;
mod failures;
mod grammar;
mod lexed_definition;
mod matcher;
mod options;
mod readings;
mod schema_options;
mod terminal_grammars;
mod vocabulary;

use wasm_bindgen::prelude::*;

/// Makes a panic, which no input should cause, an exception with its message.
#[wasm_bindgen(start)]
pub fn report_panics() {
    std::panic::set_hook(Box::new(|panic| wasm_bindgen::throw_str(&panic.to_string())));
}
