//! Diagrams as SVG.

use grammask::diagrams::{self, ItemSetColumn};
use grammask::grammar::Grammar;
use pyo3::prelude::*;

/// Pairs of a rule and its railroad diagram.
pub(crate) fn railroad_diagrams(grammar: &Grammar) -> Vec<(String, String)> {
    let drawn = diagrams::railroad(grammar);
    drawn.into_iter().map(|diagram| (diagram.rule.to_string(), diagram.svg)).collect()
}

/// Input, whether the text may be complete, and items.
type ColumnTuple = (String, bool, Vec<String>);

/// Draw item sets as an SVG element, one column per position of a text.
///
/// Args:
///     columns: The notation of the bytes between the previous set and this one, whether the text may be complete, and
///         the items.
#[pyfunction]
pub(crate) fn item_sets_diagram(columns: Vec<ColumnTuple>) -> String {
    let column = |(input, is_complete, items)| ItemSetColumn { input, is_complete, items };
    diagrams::item_sets(&columns.into_iter().map(column).collect::<Vec<_>>())
}
