//! Diagrams of grammars as SVG.
//!
//! [`railroad`] draws each rule of a [`Grammar`](grammask_grammar::Grammar) as its author wrote it, before lowering.
//!
//! The diagrams are plain SVG with text, classes and a `<style>` that follows the light or dark preference of the
//! reader. A page can restyle the classes, and finds rules by the attribute `data-rule`: the root of a diagram
//! and each reference to a rule have it.
//!
//! Nothing here recurses or reads files, and the size of a diagram is bounded: parts beyond a limit are drawn as a box
//! with an ellipsis. Diagrams are for reading, so they never influence a mask.
#![forbid(unsafe_code)]

mod layout;
mod railroad;
mod svg;

pub use railroad::{RailroadDiagram, railroad};
