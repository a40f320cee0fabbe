//! Diagrams of grammars as SVG: railroad diagrams of rules, the automaton of a terminal, and the item sets of a text.
//!
//! [`railroad`] draws each rule of a [`Grammar`](grammask_grammar::Grammar) as its author wrote it, before lowering.
//! [`automaton`] draws the DFA of a terminal or of a regular rule: its states in layers, with byte classes as readable
//! ranges. [`item_sets`] draws a table of item sets, one column per position of a text.
//!
//! The diagrams are plain SVG with text, classes and a `<style>` that follows the light or dark preference of the
//! reader. A page can restyle the classes, and finds rules by the attribute `data-rule`: the root of a diagram
//! and each reference to a rule have it.
//!
//! Nothing here recurses or reads files, and the size of a diagram is bounded: parts beyond a limit are drawn as a box
//! with an ellipsis. Diagrams are for reading, so they never influence a mask.
#![forbid(unsafe_code)]

mod automaton;
mod item_sets;
mod layout;
mod railroad;
mod svg;

pub use automaton::{AutomatonError, automaton};
pub use item_sets::{ItemSetColumn, item_sets};
pub use railroad::{RailroadDiagram, railroad};
