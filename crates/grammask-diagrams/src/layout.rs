//! The layout of railroad diagrams: shapes with a size, composed from parts, and drawn.
//!
//! A shape is entered at its left end and left at its right end, both on its *line*; it reaches `up` px above the line
//! and `down` px below. Parts are made before the shapes that contain them, so sizes are computed at once, and drawing is a loop
//! with an explicit stack.

use std::fmt::Write;
use std::sync::Arc;

use crate::svg::{Drawing, Label, Point, escape};

/// Radius of a turn of the line, in px.
const RADIUS: i32 = 10;
/// Horizontal distance between parts of a sequence, in px.
const GAP: i32 = 14;
/// Vertical distance between lines, in px.
const SPACE: i32 = 8;
/// Half of the height of a box, in px.
const HALF_BOX: i32 = 12;
/// Distance between the border of a box and its text, in px.
const PADDING: i32 = 10;
/// Height of a note, in px.
const NOTE: i32 = 17;
/// Width after which a sequence is continued on a further line, in px.
const MAX_ROW_WIDTH: i32 = 760;
/// Maximum number of shapes in one shape. A larger one would not be read.
pub(crate) const MAX_SHAPES: usize = 1_500;

/// A shape in a [`Layout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShapeId(usize);

/// The class of a box, and its attributes.
#[derive(Clone, Debug)]
pub(crate) enum BoxKind {
    /// A terminal.
    Terminal,
    /// A reference to the rule of this name.
    Reference(Arc<str>),
    /// A reference to a rule without a definition.
    Undefined(Arc<str>),
    /// Parts that are not drawn.
    Elided,
}

#[derive(Clone, Debug)]
enum ShapeKind {
    /// A line.
    Line,
    Box(BoxKind, Label),
    /// Parts from left to right, in rows.
    Rows(Vec<Row>),
    /// Alternatives, the first one on the line and the others below.
    Alternatives(Vec<ShapeId>),
    /// A part that can be repeated, with a part and a note on the way back.
    Loop {
        body: ShapeId,
        back: Option<ShapeId>,
        note: Option<Label>,
    },
    /// A part that can be omitted.
    Optional(ShapeId),
    /// A part in a frame with a note.
    Frame {
        body: ShapeId,
        note: Label,
    },
}

/// A row of a sequence.
#[derive(Clone, Debug)]
struct Row {
    parts: Vec<ShapeId>,
    width: i32,
    up: i32,
    down: i32,
}

#[derive(Clone, Debug)]
struct Shape {
    kind: ShapeKind,
    width: i32,
    up: i32,
    down: i32,
    /// Number of shapes, itself included.
    count: usize,
}

/// The shapes of the diagrams of a grammar.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    shapes: Vec<Shape>,
}

impl Layout {
    fn add(&mut self, kind: ShapeKind, width: i32, up: i32, down: i32) -> ShapeId {
        let parts = self.parts(&kind).map(|part| self.shapes[part.0].count).sum::<usize>();
        self.shapes.push(Shape { kind, width, up, down, count: parts + 1 });
        ShapeId(self.shapes.len() - 1)
    }

    fn parts<'s>(&self, kind: &'s ShapeKind) -> Box<dyn Iterator<Item = ShapeId> + 's> {
        match kind {
            ShapeKind::Line | ShapeKind::Box(..) => Box::new(std::iter::empty()),
            ShapeKind::Rows(rows) => Box::new(rows.iter().flat_map(|row| row.parts.iter().copied())),
            ShapeKind::Alternatives(parts) => Box::new(parts.iter().copied()),
            ShapeKind::Loop { body, back, .. } => Box::new([*body].into_iter().chain(*back)),
            ShapeKind::Optional(body) | ShapeKind::Frame { body, .. } => Box::new([*body].into_iter()),
        }
    }

    fn shape(&self, id: ShapeId) -> &Shape {
        &self.shapes[id.0]
    }

    /// Number of shapes of which `id` consists.
    pub(crate) fn count(&self, id: ShapeId) -> usize {
        self.shape(id).count
    }

    /// The empty text.
    pub(crate) fn line(&mut self) -> ShapeId {
        self.add(ShapeKind::Line, 2 * RADIUS, 0, 0)
    }

    /// A box with a text.
    pub(crate) fn text_box(&mut self, kind: BoxKind, text: &str) -> ShapeId {
        let label = Label::new(text);
        let width = label.width + 2 * PADDING;
        self.add(ShapeKind::Box(kind, label), width, HALF_BOX, HALF_BOX)
    }

    /// The longest prefix of `parts` that is small enough to be drawn, with a box for the others.
    fn cut(&mut self, parts: &[ShapeId]) -> Vec<ShapeId> {
        let mut total = 0;
        let drawn = parts.iter().take_while(|part| {
            total += self.count(**part);
            total + 2 <= MAX_SHAPES
        });
        let mut drawn: Vec<ShapeId> = drawn.copied().collect();
        if drawn.len() < parts.len() {
            let others = format!("… {} more", parts.len() - drawn.len());
            drawn.push(self.text_box(BoxKind::Elided, &others));
        }
        drawn
    }

    /// Parts from left to right.
    pub(crate) fn sequence(&mut self, parts: &[ShapeId]) -> ShapeId {
        match parts {
            [] => return self.line(),
            [only] => return *only,
            _ => {}
        }
        let mut rows: Vec<Row> = Vec::new();
        for part in self.cut(parts) {
            let Shape { width, up, down, .. } = *self.shape(part);
            match rows.last_mut() {
                Some(row) if row.width + GAP + width <= MAX_ROW_WIDTH => {
                    row.parts.push(part);
                    row.width += GAP + width;
                    row.up = row.up.max(up);
                    row.down = row.down.max(down);
                }
                _ => rows.push(Row { parts: vec![part], width, up, down }),
            }
        }
        let up = rows[0].up;
        if let [row] = &rows[..] {
            let (width, down) = (row.width, row.down);
            return self.add(ShapeKind::Rows(rows), width, up, down);
        }
        let width = rows.iter().map(|row| row.width).max().unwrap_or(0);
        let below = row_distances(&rows).sum::<i32>();
        let down = below + rows.last().map_or(0, |row| row.down);
        self.add(ShapeKind::Rows(rows), width + 5 * RADIUS, up, down)
    }

    /// Alternatives from top to bottom.
    pub(crate) fn alternatives(&mut self, parts: &[ShapeId]) -> ShapeId {
        match parts {
            [] => return self.line(),
            [only] => return *only,
            _ => {}
        }
        let parts = self.cut(parts);
        let width = parts.iter().map(|&part| self.shape(part).width).max().unwrap_or(0);
        let up = self.shape(parts[0]).up;
        let below: i32 = parts.windows(2).map(|pair| self.alternative_distance(pair[0], pair[1])).sum();
        let down = below + parts.last().map_or(0, |&part| self.shape(part).down);
        self.add(ShapeKind::Alternatives(parts), width + 4 * RADIUS, up, down)
    }

    /// The distance between the lines of two consecutive alternatives.
    fn alternative_distance(&self, above: ShapeId, below: ShapeId) -> i32 {
        (self.shape(above).down + SPACE + self.shape(below).up).max(2 * RADIUS)
    }

    /// A part, repeated; `back` is between consecutive repetitions.
    pub(crate) fn repeated(&mut self, body: ShapeId, back: Option<ShapeId>, note: Option<&str>) -> ShapeId {
        let Shape { width, up, .. } = *self.shape(body);
        let note = note.map(Label::new);
        let below = self.loop_distance(body, back)
            + back.map_or(0, |back| self.shape(back).down)
            + note.as_ref().map_or(0, |_| NOTE);
        let width = width
            .max(back.map_or(0, |back| self.shape(back).width))
            .max(note.as_ref().map_or(0, |note| note.width));
        self.add(ShapeKind::Loop { body, back, note }, width + 2 * RADIUS, up, below)
    }

    /// The distance between the line and the way back.
    fn loop_distance(&self, body: ShapeId, back: Option<ShapeId>) -> i32 {
        let up = back.map_or(0, |back| self.shape(back).up);
        (self.shape(body).down + SPACE + up).max(2 * RADIUS)
    }

    /// A part that can be omitted.
    pub(crate) fn optional(&mut self, body: ShapeId) -> ShapeId {
        let Shape { width, down, .. } = *self.shape(body);
        let up = self.bypass_distance(body);
        self.add(ShapeKind::Optional(body), width + 4 * RADIUS, up, down)
    }

    /// The distance between the line and the line above the part.
    fn bypass_distance(&self, body: ShapeId) -> i32 {
        (self.shape(body).up + SPACE).max(2 * RADIUS)
    }

    /// A part in a frame with a note.
    pub(crate) fn frame(&mut self, body: ShapeId, note: &str) -> ShapeId {
        let Shape { width, up, down, .. } = *self.shape(body);
        let note = Label::new(note);
        let width = width.max(note.width) + 2 * PADDING;
        self.add(ShapeKind::Frame { body, note }, width, up + SPACE + NOTE, down + SPACE)
    }

    /// The part, or a box for it if it is too large to be drawn.
    pub(crate) fn limited(&mut self, part: ShapeId) -> ShapeId {
        if self.count(part) > MAX_SHAPES {
            return self.text_box(BoxKind::Elided, "… too large to be drawn");
        }
        part
    }

    /// The diagram of a rule.
    pub(crate) fn draw(&self, rule: &str, root: ShapeId) -> String {
        let Shape { width, up, down, .. } = *self.shape(root);
        let name = Label::new(rule);
        let mut drawing = Drawing::default();
        drawing.text(Point { x: PADDING, y: 18 }, "name", &name);
        let start = Point { x: PADDING + 5, y: 18 + SPACE + 6 + up.max(HALF_BOX) };
        let y = start.y;
        let _ = write!(drawing, "<circle class=\"end\" cx=\"{}\" cy=\"{y}\" r=\"4\"/>", start.x);
        let entry = Point { x: start.x + 2 * RADIUS, y };
        drawing.path(&format!("M{} {y}H{}", start.x, entry.x));
        self.draw_shapes(&mut drawing, root, entry);
        let end = entry.x + width + 2 * RADIUS;
        drawing.path(&format!("M{} {y}H{end}", entry.x + width));
        let _ = write!(
            drawing,
            "<circle class=\"end\" cx=\"{end}\" cy=\"{y}\" r=\"4\"/><circle cx=\"{end}\" cy=\"{y}\" r=\"7\"/>"
        );
        let attributes = format!("data-diagram=\"railroad\" data-rule=\"{}\"", escape(rule));
        let title = format!("Railroad diagram of the rule {rule}");
        let width = (end + PADDING + 5).max(name.width + 2 * PADDING);
        drawing.finish(&title, &attributes, width, y + down.max(HALF_BOX) + PADDING)
    }

    fn draw_shapes(&self, drawing: &mut Drawing, root: ShapeId, at: Point) {
        let mut pending = vec![PlacedShape { shape: root, at }];
        while let Some(placed) = pending.pop() {
            let at = placed.at;
            let shape = self.shape(placed.shape);
            match &shape.kind {
                ShapeKind::Line => drawing.path(&format!("M{} {}h{}", at.x, at.y, shape.width)),
                ShapeKind::Box(kind, label) => draw_box(drawing, at, kind, label),
                ShapeKind::Rows(rows) => self.draw_rows(drawing, rows, at, &mut pending),
                ShapeKind::Alternatives(parts) => {
                    let right = at.x + shape.width;
                    self.draw_alternatives(drawing, parts, at, right, &mut pending);
                }
                ShapeKind::Loop { body, back, note } => {
                    let right = at.x + shape.width;
                    self.draw_way_back(drawing, at, right, *body, *back, &mut pending);
                    if let Some(note) = note {
                        let x = (at.x + right - note.width) / 2;
                        drawing.text(Point { x, y: at.y + shape.down - 1 }, "note", note);
                    }
                    let entry = at.x + RADIUS;
                    let exit = entry + self.shape(*body).width;
                    drawing.path(&format!("M{} {y}H{entry}M{exit} {y}H{right}", at.x, y = at.y));
                    pending.push(PlacedShape { shape: *body, at: Point { x: entry, ..at } });
                }
                ShapeKind::Optional(body) => {
                    let (width, right) = (self.shape(*body).width, at.x + shape.width);
                    let (x, y, entry) = (at.x, at.y, at.x + 2 * RADIUS);
                    let height = self.bypass_distance(*body) - 2 * RADIUS;
                    drawing.path(&format!(
                        "M{x} {y}{LEFT_UP}v-{height}{UP_RIGHT}h{width}{RIGHT_DOWN}v{height}{DOWN_RIGHT}\
                         M{x} {y}H{entry}M{} {y}H{right}",
                        entry + width
                    ));
                    pending.push(PlacedShape { shape: *body, at: Point { x: entry, y } });
                }
                ShapeKind::Frame { body, note } => {
                    let Shape { width, up, down, .. } = *self.shape(*body);
                    let (x, y, top, entry) = (at.x, at.y, at.y - up - SPACE, at.x + PADDING);
                    let (frame, height) = (shape.width, up + down + 2 * SPACE);
                    let _ = write!(
                        drawing,
                        "<rect class=\"frame\" x=\"{x}\" y=\"{top}\" width=\"{frame}\" height=\"{height}\" rx=\"4\"/>"
                    );
                    drawing.text(Point { x: x + 2, y: top - 3 }, "note", note);
                    drawing.path(&format!("M{x} {y}H{entry}M{} {y}H{}", entry + width, x + frame));
                    pending.push(PlacedShape { shape: *body, at: Point { x: entry, y } });
                }
            }
        }
    }

    fn draw_alternatives(
        &self,
        drawing: &mut Drawing,
        parts: &[ShapeId],
        at: Point,
        right: i32,
        pending: &mut Vec<PlacedShape>,
    ) {
        let Point { x, y } = at;
        let entry = x + 2 * RADIUS;
        let mut line = y;
        for (index, &shape) in parts.iter().enumerate() {
            let exit = entry + self.shape(shape).width;
            if index == 0 {
                drawing.path(&format!("M{x} {y}H{entry}M{exit} {y}H{right}"));
            } else {
                line += self.alternative_distance(parts[index - 1], shape);
                let height = line - y - 2 * RADIUS;
                let end = right - 2 * RADIUS;
                drawing.path(&format!(
                    "M{x} {y}{RIGHT_DOWN}v{height}{DOWN_RIGHT}M{exit} {line}H{end}{LEFT_UP}v-{height}{UP_RIGHT}"
                ));
            }
            pending.push(PlacedShape { shape, at: Point { x: entry, y: line } });
        }
    }

    /// The way back of a loop between `at` and `right`.
    fn draw_way_back(
        &self,
        drawing: &mut Drawing,
        at: Point,
        right: i32,
        body: ShapeId,
        back: Option<ShapeId>,
        pending: &mut Vec<PlacedShape>,
    ) {
        let (left, right) = (at.x + RADIUS, right - RADIUS);
        let way = at.y + self.loop_distance(body, back);
        let height = way - at.y - 2 * RADIUS;
        let width = back.map_or(0, |back| self.shape(back).width);
        let begin = (left + right - width) / 2;
        drawing.path(&format!(
            "M{right} {y}{RIGHT_DOWN}v{height}{DOWN_LEFT}H{end}M{begin} {way}H{left}{RIGHT_UP_BACK}v-{height}{UP_RIGHT}",
            y = at.y,
            end = begin + width
        ));
        match back {
            Some(shape) => pending.push(PlacedShape { shape, at: Point { x: begin, y: way } }),
            None => {
                let _ = write!(drawing, "<path class=\"arrow\" d=\"M{} {}l-6 4l6 4z\"/>", begin + 3, way - 4);
            }
        }
    }

    fn draw_rows(&self, drawing: &mut Drawing, rows: &[Row], at: Point, pending: &mut Vec<PlacedShape>) {
        let several = rows.len() > 1;
        let left = at.x + if several { 2 * RADIUS } else { 0 };
        let widest = rows.iter().map(|row| row.width).max().unwrap_or(0);
        let right = left + widest;
        let distances: Vec<i32> = row_distances(rows).collect();
        let mut y = at.y;
        if several {
            drawing.path(&format!("M{} {y}H{left}", at.x));
        }
        for (index, row) in rows.iter().enumerate() {
            let mut x = left;
            for (position, &part) in row.parts.iter().enumerate() {
                if position > 0 {
                    drawing.path(&format!("M{x} {y}h{GAP}"));
                    x += GAP;
                }
                pending.push(PlacedShape { shape: part, at: Point { x, y } });
                x += self.shape(part).width;
            }
            if let Some(distance) = distances.get(index) {
                // From the end of the row around to the begin of the next one.
                let way = row_way(row);
                let (first, second) = (way - 2 * RADIUS, distance - way - 2 * RADIUS);
                drawing.path(&format!(
                    "M{x} {y}H{right}{RIGHT_DOWN}v{first}{DOWN_LEFT}H{left}{LEFT_DOWN}v{second}{DOWN_RIGHT}"
                ));
                y += distance;
            } else if several {
                let end = right + RADIUS;
                let top = at.y + RADIUS;
                drawing.path(&format!("M{x} {y}H{end}{LEFT_UP}V{top}{UP_RIGHT}"));
            }
        }
    }
}

/// A shape, and the left end of its line.
#[derive(Clone, Copy, Debug)]
struct PlacedShape {
    shape: ShapeId,
    at: Point,
}

/// Turns of the line, as arcs of path data: the direction before and after. The constants contain [`RADIUS`].
const RIGHT_DOWN: &str = "a10 10 0 0 1 10 10";
const DOWN_RIGHT: &str = "a10 10 0 0 0 10 10";
const DOWN_LEFT: &str = "a10 10 0 0 1 -10 10";
const LEFT_DOWN: &str = "a10 10 0 0 0 -10 10";
/// From the right to the top.
const LEFT_UP: &str = "a10 10 0 0 0 10 -10";
const UP_RIGHT: &str = "a10 10 0 0 1 10 -10";
/// From the left to the top.
const RIGHT_UP_BACK: &str = "a10 10 0 0 1 -10 -10";

fn draw_box(drawing: &mut Drawing, at: Point, kind: &BoxKind, label: &Label) {
    let (class, rule, round) = match kind {
        BoxKind::Terminal => ("terminal", None, HALF_BOX),
        BoxKind::Reference(rule) => ("reference", Some(rule), 2),
        BoxKind::Undefined(rule) => ("reference undefined", Some(rule), 2),
        BoxKind::Elided => ("elided", None, 2),
    };
    let rule = rule.map_or(String::new(), |rule| format!(" data-rule=\"{}\"", escape(rule)));
    let (width, height) = (label.width + 2 * PADDING, 2 * HALF_BOX);
    let _ = write!(
        drawing,
        "<g class=\"{class}\"{rule}><rect x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{height}\" rx=\"{round}\"/>",
        at.x,
        at.y - HALF_BOX
    );
    drawing.text(Point { x: at.x + PADDING, y: at.y + 4 }, "", label);
    drawing.raw("</g>");
}

/// The distance between the line of a row and the way back to the next one.
fn row_way(row: &Row) -> i32 {
    (row.down + SPACE).max(2 * RADIUS)
}

/// The distances between the lines of consecutive rows.
fn row_distances(rows: &[Row]) -> impl Iterator<Item = i32> {
    rows.windows(2).map(|pair| row_way(&pair[0]) + (pair[1].up + SPACE).max(2 * RADIUS))
}
