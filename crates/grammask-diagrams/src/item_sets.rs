//! The item sets of a text as a table: one column per position, one line per item.

use std::fmt::Write;

use crate::svg::{Drawing, Label, Point, escape};

/// Maximum number of drawn positions; the last ones are drawn.
const MAX_POSITIONS: usize = 60;
/// Maximum number of drawn items of a set.
const MAX_ITEMS: usize = 60;
/// Height of a line, in px.
const LINE: i32 = 19;
/// Distance between texts and lines, in px.
const PADDING: i32 = 10;
/// Height of the heading, in px.
const HEADING: i32 = 62;

/// A set of items, after a prefix of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemSetColumn {
    /// The bytes between the previous set and this one, in their notation; empty for the first set.
    pub input: String,
    /// Whether the text may be complete.
    pub is_complete: bool,
    /// The items, as dotted rules.
    pub items: Vec<String>,
}

/// The diagram of item sets: columns with the items of consecutive positions. At most 60 positions, the last ones, and 60 items of
/// each set are drawn.
#[must_use]
pub fn item_sets(columns: &[ItemSetColumn]) -> String {
    let skipped = columns.len().saturating_sub(MAX_POSITIONS);
    let mut drawing = Drawing::default();
    let title = format!("Item sets of {} positions", columns.len());
    drawing.text(Point { x: PADDING, y: 18 }, "name", &Label::new(&title));
    let mut x = PADDING;
    let mut tallest = 0;
    for (position, column) in columns.iter().enumerate().skip(skipped) {
        let heading = Label::new(&format!("{position}{}", if column.is_complete { " complete" } else { "" }));
        let input = Label::new(&column.input);
        let mut items: Vec<Label> =
            column.items.iter().take(MAX_ITEMS).map(|item| Label::new(item)).collect();
        if column.items.len() > MAX_ITEMS {
            items.push(Label::new(&format!("… {} more", column.items.len() - MAX_ITEMS)));
        }
        let widest = items.iter().chain([&heading]).map(|label| label.width).max().unwrap_or(0);
        if position > skipped {
            drawing.path(&format!("M{x} 50h{}", input.width + 2 * PADDING));
            drawing.text(Point { x: x + PADDING, y: 45 }, "", &input);
            x += input.width + 2 * PADDING;
        }
        let width = widest + 2 * PADDING;
        let height = items.len().max(1) as i32 * LINE + PADDING;
        let class = if column.is_complete { "item-set accepting" } else { "item-set" };
        let _ = write!(
            drawing,
            "<g class=\"{class}\" data-position=\"{position}\"><rect x=\"{x}\" y=\"38\" width=\"{width}\" height=\"24\"/>\
             <rect x=\"{x}\" y=\"{HEADING}\" width=\"{width}\" height=\"{height}\"/>"
        );
        drawing.text(Point { x: x + PADDING, y: 54 }, "name", &heading);
        for (line, item) in items.iter().enumerate() {
            drawing.text(Point { x: x + PADDING, y: HEADING + (line as i32 + 1) * LINE - 3 }, "", item);
        }
        drawing.raw("</g>");
        x += width;
        tallest = tallest.max(height);
    }
    let text: String = columns.iter().map(|column| &*column.input).collect();
    let attributes = format!("data-diagram=\"item-sets\" data-text=\"{}\"", escape(&text));
    drawing.finish(&title, &attributes, x.max(260) + PADDING, HEADING + tallest + PADDING)
}
